"""Pages in a real browser: on a phone and on a desk, light and dark, from disk, and for whoever cannot see them."""

from __future__ import annotations

import re

import pytest

PAGES = (
    "index.html", "using.html", "reading.html", "errors.html", "configuration.html", "targets.html", "a_jit_in_one_sitting.html",
    "generated/pitfalls.html", "generated/labs/index.html", "generated/labs/12_vmap.html", "generated/api/index.html",
    "generated/api/jitkit.tree_util.html", "source/jitkit/pjit/jitted.html", "parity.html", "benchmarks.html", "instructors.html",
)  # fmt: skip
# of one kind of line; minutes of axe
LONG = {"parity.html", "a_jit_in_one_sitting.html", "source/jitkit/pjit/jitted.html"}
WIDTHS = {"phone": (400, 850), "desk": (1400, 1000)}
looks = pytest.mark.parametrize(("width", "scheme"), [(w, s) for w in WIDTHS for s in ("light", "dark")])


@pytest.fixture
def opened(browser, site):
    """A function that opens a page of the site from disk, and notes what its console says."""
    contexts = []

    def open_page(name, width="desk", scheme="light"):
        size = dict(zip(("width", "height"), WIDTHS[width], strict=True))
        context = browser.new_context(viewport=size, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.said = []
        page.on(
            "console", lambda message: page.said.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("requestfailed", lambda request: page.said.append(request.url))
        path, _, anchor = name.partition("#")
        page.goto(f"{(site / path).as_uri()}#{anchor}")
        return page

    yield open_page
    for context in contexts:
        context.close()


@looks
@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_without_a_complaint_and_is_no_wider_than_the_screen(name, width, scheme, opened):
    page = opened(name, width, scheme)
    assert page.said == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    broken = "[...document.images].filter(i => i.offsetParent && i.complete && !i.naturalWidth).map(i => i.src)"
    assert page.evaluate(broken) == []


@pytest.mark.parametrize(("width", "scheme"), [("phone", "light"), ("desk", "dark")])
@pytest.mark.parametrize("name", [name for name in PAGES if name not in LONG])
def test_axe_finds_nothing_serious(name, width, scheme, opened, axe):
    page = opened(name, width, scheme)
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    serious = [
        (v["id"], v["nodes"][0]["html"][:160], len(v["nodes"])) for v in found if v["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_it_is_dark_where_the_reader_wants_it_dark(opened):
    ground = "getComputedStyle(document.body).backgroundColor"
    brightness = {}
    for scheme in ("light", "dark"):
        numbers = re.findall(r"\d+", opened("index.html", "desk", scheme).evaluate(ground))
        brightness[scheme] = sum(map(int, numbers[:3]))
    assert brightness["dark"] < 200 < 600 < brightness["light"]


def test_figures_of_pitfalls_change_with_the_ground(opened):
    for scheme in ("light", "dark"):
        page = opened("generated/pitfalls.html", "desk", scheme)
        shown = page.evaluate("[...document.querySelectorAll('img.plot')].filter(i => i.offsetParent).map(i => i.src)")
        assert len(shown) > 30
        assert all(source.endswith(f"-{scheme}.png") for source in shown)


def test_search_finds_a_page_from_disk(opened):
    page = opened("index.html")
    page.fill("input[name=q]", "TracerBoolConversionError")
    page.press("input[name=q]", "Enter")
    page.wait_for_selector("#search-results a")
    assert page.locator("#search-results a", has_text="Errors, explained").count() >= 1
    assert page.said == []


def arrives(page, anchor, least, most):
    """Wait until what has this anchor is between two heights: the theme scrolls there smoothly."""
    top = f"document.getElementById({anchor!r}).getBoundingClientRect().top"
    page.wait_for_function(f"{least} < {top} && {top} < {most}")


def test_an_address_in_a_message_leads_to_its_section(opened):
    page = opened("errors.html#keyreuseerror", "phone")
    arrives(page, "keyreuseerror", -10, 200)


def test_a_link_into_the_code_shows_its_line(opened):
    page = opened("reading.html")
    page.click("a[href*='source/jitkit/core/primitive']:has-text('Primitive.bind')")
    page.wait_for_url("**/primitive.html#L-*")
    arrives(page, page.url.partition("#")[2], 0, 900)
    assert "def bind" in page.evaluate("document.getElementById(location.hash.slice(1)).parentElement.innerText")


def test_the_plot_of_an_experiment_is_folded_until_it_is_wanted(opened):
    page = opened("generated/labs/12_vmap.html", "phone")
    image = page.locator("img[src*=experiment]")
    assert not image.is_visible()
    page.click("summary")
    assert image.is_visible()
