"""The Explorer's page in a real Chromium: links both ways, the address, the keyboard, print, small and dark, and what axe-core says."""

from __future__ import annotations

import json
import os
import pathlib
import re
import runpy
import shutil

import pytest

import jitkit
import jitkit.numpy as jnp
from jitkit import lax
from jitkit.explorer import bundle, calls
from jitkit.explorer.api import exploration, subject_of

sync_api = pytest.importorskip("playwright.sync_api", reason="needs a browser: pip install -e '.[browser]'")
ROOT = pathlib.Path(__file__).parents[1]
CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: Chromium on the PATH, or CHROMIUM=/its/path"),
    # playwright leaves its loop's sockets to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


def spec(*shape):
    return jitkit.ShapeDtypeStruct(shape, "float32")


@jitkit.jit
def step(w, x):
    hidden = jnp.tanh(x @ w)
    jnp.sin(x)  # nothing reads it
    twice = jnp.exp(hidden) + jnp.exp(hidden)

    def body(carry, row):
        return carry + row, carry * 2.0

    total, _ = lax.scan(body, jnp.zeros(4), twice)
    return total.sum()


def other(data, name):
    """Return the same target under another name, as if there were two compilers here."""
    return data | {"targets": [*data["targets"], data["targets"][0] | {"name": name}]}


@pytest.fixture(scope="module")
def data():
    with calls.recording() as found:
        step(jnp.ones((8, 4)), jnp.ones((3, 8)))
        for _ in range(4):
            step(jnp.ones((8, 4)), jnp.ones((3, 8)))
        step(jnp.ones((8, 4)), jnp.ones((5, 8)))
    subject = subject_of(step, (spec(8, 4), spec(5, 8)), {})
    missing = {
        "name": "tpu:v9",
        "chip": "none",
        "code": "none",
        "reason": "missing",
        "error": "not installed:\n    pip install it",
    }
    made = exploration(subject, ["cpu"], seen=calls.as_data(found.of("step"), "of a test"), keep=False).data
    made = other(made, "cpu:again")
    return made | {"targets": [*made["targets"], missing]}


@pytest.fixture(scope="module")
def file(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "step.html"
    path.write_text(bundle.page(data), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def opened(browser):
    """Yield a function that opens a page. At the end, check that the browser reported no error and made no request to a
    network.
    """
    complaints = []
    contexts = []

    def opening(path, address="", width=1400, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: None if request.url.startswith(("file:", "data:")) else complaints.append(request.url),
        )
        page.goto(f"{path.as_uri()}{address}")
        page.wait_for_selector("html[data-ready]")
        return page

    yield opening
    for context in contexts:
        context.close()
    assert complaints == []


ALL = "#show=python,jaxpr,stablehlo,hlo,beside,lines,machine,calls"


def settle(page):
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def marked(page, pane, kind="hit"):
    """Return the rows of a pane that are marked, of those that are drawn."""
    return {
        int(row)
        for row in page.eval_on_selector_all(f"#pane-{pane} .row.{kind}", "rows => rows.map(row => row.dataset.row)")
    }


def expected(listing, numbers):
    return {row for row, own in enumerate(listing["equations"]) if set(own) & numbers}


def inside(data, numbers):
    found = set(numbers)
    for number, each in enumerate(data["equations"]):
        parent = each["parent"]
        while parent is not None:
            if parent in numbers:
                found.add(number)
            parent = data["equations"][parent]["parent"]
    return found


# --- links ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["python", "jaxpr", "stablehlo", "hlo"])
def test_each_line_of_each_pane_lights_up_what_it_is_linked_to(opened, file, data, start):
    page = opened(file, "#show=python,jaxpr,stablehlo,hlo", height=3000)
    listings = {name: data[name] for name in ("python", "jaxpr", "stablehlo")} | {"hlo": data["targets"][0]["hlo"]}
    asked = 0
    for row, numbers in enumerate(listings[start]["equations"]):
        if not numbers:
            continue
        page.dispatch_event(f"#{start}-{row} code", "mouseover")
        settle(page)
        whole = inside(data, set(numbers))
        for name, listing in listings.items():
            drawn = page.eval_on_selector_all(f"#pane-{name} .row", "rows => rows.map(row => Number(row.dataset.row))")
            there = {each for each in marked(page, name) if each < len(listing["lines"])}
            assert there == expected(listing, whole) & set(drawn), (start, row, name)
        asked += 1
    assert asked >= 6


def test_a_guess_looks_like_one(opened, file, data):
    page = opened(file, "#show=python,hlo", height=3000)
    guesses = {int(row): set(numbers) for row, numbers in data["targets"][0]["hlo"]["guesses"].items()}
    row, numbers = next(iter(guesses.items()))
    number = min(numbers)
    line = next(i for i, own in enumerate(data["python"]["equations"]) if number in own)
    page.dispatch_event(f"#python-{line} code", "mouseover")
    settle(page)
    assert row in marked(page, "hlo", "guess")
    assert row not in marked(page, "hlo")
    assert page.inner_text(f"#hlo-{row} .mark") == "○"
    assert "guess" in page.inner_text(f"#hlo-{row} .note")


def test_what_is_gone_is_listed_linked_and_said(opened, file, data):
    page = opened(file, "#show=python,jaxpr,hlo", height=3000)
    sine = next(n for n, each in enumerate(data["equations"]) if each["primitive"] == "sin")
    line = next(i for i, own in enumerate(data["python"]["equations"]) if own == [sine])
    page.click(f"#python-{line} code")
    settle(page)
    row = page.locator("#pane-hlo .row.gone.hit")
    assert "dead code: no result depends on it" in row.inner_text()
    assert page.inner_text("#pane-hlo .row.gone.hit .gutter") == str(data["python"]["numbers"][line])
    assert "cpu: Dropped before XLA: dead code" in page.inner_text("#pane-jaxpr .row.hit")
    # on both targets
    assert page.inner_text("#story").count("dropped before XLA: dead code: no result depends on it") == 1
    heads = page.locator("#pane-hlo .row.head").all_inner_texts()
    for kind, title in (("removed", "Removed by XLA"), ("dropped", "Dropped before XLA")):
        count = sum(fate["fate"] == kind for fate in data["targets"][0]["fates"].values())
        assert sum(f"{title}: {count} of {len(data['equations'])} equations" in head for head in heads) == 1


def with_fates(data, *fates):
    """Return the page's data with targets of these fates."""
    own = data["targets"][0]
    return data | {
        "targets": [own | {"name": f"chip{i}", "fates": each, "rounded": {}} for i, each in enumerate(fates)]
    }


def fate(kind, rule, why="", sure=True, **more):
    return {"fate": kind, "rule": rule, "why": why, "sure": sure, **more}


def written(data, tmp_path):
    path = tmp_path / "other.html"
    path.write_text(bundle.page(data), encoding="utf-8")
    return path


def test_what_has_no_trace_is_a_guess_and_has_its_line(opened, data, tmp_path):
    unknown = with_fates(data, {"1": fate("unknown", "unknown", "nobody knows", sure=False)})
    page = opened(written(unknown, tmp_path), "#show=hlo", height=3000)
    row = page.locator("#pane-hlo .row.fate")
    assert "nobody knows; a guess" in row.inner_text()
    assert row.locator(".gutter").inner_text() == str(data["equations"][1]["line"])
    assert page.locator("#pane-hlo .row.gone").count() == 0


def test_the_summary_counts_all_that_is_gone_once_and_hides_none_of_few(opened, data, tmp_path):
    """What is the same on all targets is said once, and what is not, by target."""
    same = {str(n): fate("removed", "merged", "merged into something") for n in range(8)}
    one = same | {"8": fate("removed", "changes nothing", "x + 0.0 is x"), "9": fate("unknown", "unknown", sure=False)}
    two = same | {
        "8": fate("removed", "changes nothing", "x + 0.0 is x"),
        "9": fate("renamed", "renamed", "is now b.1"),
    }
    three = with_fates(data, one, two)
    three["targets"][1]["rounded"] = {"0": "bf16"}
    page = opened(written(three, tmp_path))
    lines = page.locator(".summary li").all_inner_texts()
    [removed] = [line for line in lines if line.startswith("Removed by XLA")]
    equations = data["equations"]
    assert removed.startswith(f"Removed by XLA on all 2 targets, 9 equations of {len(equations)}: ")
    assert "more" not in removed
    assert all(equations[n]["primitive"] in removed for n in range(9))
    assert f"{equations[8]['primitive']} (line {equations[8]['line']}): x + 0.0 is x" in removed
    [differing] = [line for line in lines if line.startswith("Different by target")]
    assert differing.startswith("Different by target, 1 equation; ")
    cells = page.locator(".summary table.fates tbody td")
    assert cells.all_inner_texts() == ["no trace, cause unknown ?", "under another name"]
    assert cells.nth(1).get_attribute("title") == "is now b.1"
    first = equations[0]
    said = f"result of {first['primitive']} (line {first['line']}): {first['results'].partition('[')[0]} on chip0, bf16 on chip1."
    [types] = [line for line in lines if line.startswith("Other types than in the program")]
    assert types.endswith(said)
    assert lines[-1] == differing  # the line that says least about the differences comes last


def test_the_search_field_goes_from_row_to_row_and_opens_what_is_folded(opened, file, data):
    page = opened(file, "#show=python,hlo")
    page.keyboard.press("/")
    page.keyboard.type("PARAMETER(")
    lines = data["targets"][0]["hlo"]["lines"]
    rows = [row for row, line in enumerate(lines) if "parameter(" in line]
    assert len(rows) > 1
    assert page.inner_text(".search output") == f"{len(rows)} rows, Enter"
    for at, row in [*enumerate(rows), (0, rows[0])]:  # after the last row it wraps around
        page.keyboard.press("Enter")
        assert page.inner_text(".search output") == f"{at + 1} of {len(rows)}: Optimised HLO"
        assert page.locator(f"#hlo-{row}").is_visible()
    page.keyboard.press("Shift+Enter")
    assert page.inner_text(".search output") == f"{len(rows)} of {len(rows)}: Optimised HLO"
    page.keyboard.press("Escape")
    assert page.inner_text(".search output") == ""
    page.fill(".search input", "of no row at all")
    assert page.inner_text(".search output") == "nothing"


def test_the_head_of_a_target_names_each_quantity(opened, file, data):
    told = data["targets"][0]["by_line"]
    meta = opened(file, "#show=hlo").inner_text("#pane-hlo .meta")
    assert f"{told['kernels']} kernels: " in meta
    assert "B read and written by kernels" in meta
    assert "the compiler's own estimate: " in meta


def test_bars_by_line_have_one_scale(opened, data, tmp_path):
    one, two, _ = data["targets"]
    half = two | {
        "by_line": two["by_line"]
        | {"lines": [each | {"bytes": each["bytes"] // 2} for each in two["by_line"]["lines"]]}
    }
    page = opened(written(data | {"targets": [one, half]}, tmp_path), "#show=lines")
    most = max(each["bytes"] for each in one["by_line"]["lines"])
    widths = page.eval_on_selector_all("#pane-lines .share", "all => all.map(each => parseFloat(each.style.width))")
    rows = sorted(one["by_line"]["lines"], key=lambda each: (each["row"] is None, each["row"]))
    asked = [100 * each["bytes"] / share / most for each in rows for share in (1, 2)]
    assert max(widths) == 100
    assert sorted(widths) == pytest.approx(sorted(asked), abs=0.2)


def test_the_story_says_the_links_in_words_and_goes_there(opened, file):
    page = opened(file, "#show=python")
    page.click("#pane-python .row:has-text('jnp.tanh') code")
    settle(page)
    story = page.inner_text("#story")
    assert "jaxpr: 2 equations" in story
    assert "dot_general, tanh" in story
    page.click("#story button:has-text('dot_general')")
    settle(page)
    assert page.is_visible("#pane-jaxpr .row.hit")


# --- the address, the keyboard --------------------------------------------------------------------------------


def test_a_pinned_line_and_the_tabs_survive_a_reload(opened, file):
    page = opened(file)
    page.click("nav [data-pane=stablehlo]")
    page.click("#pane-python .row:has-text('twice = ') code")
    page.click("#pane-hlo [role=tab]:has-text('cpu:again')")
    settle(page)
    before = page.evaluate("location.hash"), page.inner_text("#story"), marked(page, "hlo")
    assert "pin=python." in before[0]
    page.reload()
    page.wait_for_selector("html[data-ready]")
    settle(page)
    assert (page.evaluate("location.hash"), page.inner_text("#story"), marked(page, "hlo")) == before
    assert page.get_attribute("#pane-hlo [role=tab]:has-text('cpu:again')", "aria-selected") == "true"
    page.keyboard.press("Escape")
    settle(page)
    assert "pin" not in page.evaluate("location.hash")
    assert marked(page, "hlo") == set()


def test_back_returns_to_the_row_that_was_pinned_before(opened, file):
    page = opened(file, "#show=python,hlo")
    before = page.evaluate("history.length")
    page.click("#pane-python .row:has-text('twice = ') code")
    first = page.evaluate("location.hash")
    page.click("#pane-python .row:has-text('jnp.tanh') code")
    page.keyboard.press("Escape")
    assert page.evaluate("history.length") == before + 3
    for pinned in ("jnp.tanh", "twice = "):
        page.go_back()
        page.wait_for_selector(f"#pane-python .row.pinned:has-text('{pinned}')")
    assert page.evaluate("location.hash") == first
    page.go_back()
    page.wait_for_selector("#pane-python .row.pinned", state="detached")
    page.go_forward()
    page.wait_for_selector("#pane-python .row.pinned:has-text('twice = ')")


@pytest.mark.parametrize(
    ("width", "address"), [(1400, "#show=hlo&pin=python.5"), (400, "#pin=stablehlo.3"), (1400, "#pin=machine.2")]
)
def test_an_address_with_a_pinned_row_shows_it(opened, file, width, address):
    page = opened(file, address, width=width)
    settle(page)
    pane = address.rpartition("pin=")[2].partition(".")[0]
    assert page.is_visible(f"#pane-{pane} .row.pinned")


def test_the_arrows_alone_are_enough(opened, file, data):
    page = opened(file, "#show=python,jaxpr,stablehlo,hlo")
    target = next(i for i, line in enumerate(data["python"]["lines"]) if "twice = " in line)
    for _ in range(target):
        page.keyboard.press("ArrowDown")
    settle(page)
    assert page.get_attribute("#scroll-python", "aria-activedescendant") == f"python-{target}"
    assert "exp" in page.inner_text("#story")
    assert page.inner_text("#pane-jaxpr .row.hit code").strip().endswith(tuple("abcdefghijklmnopqrstuvwxyz"))
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowUp")
    settle(page)
    assert f"pin=python.{target}" in page.evaluate("location.hash")
    page.focus("#scroll-hlo")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    settle(page)
    assert page.get_attribute("#hlo-0", "aria-expanded") == "false"
    rows = page.locator("#pane-hlo .row").count()
    page.keyboard.press("ArrowRight")
    settle(page)
    assert page.locator("#pane-hlo .row").count() > rows


def test_folding_by_the_mouse_hides_what_is_inside(opened, file, data):
    page = opened(file, "#show=hlo", height=3000)
    row = next(int(r) for r, note in data["targets"][0]["hlo"]["notes"].items() if note.startswith("fusion of"))
    assert page.is_visible(f"#hlo-{row + 1}")
    page.click(f"#hlo-{row} .fold")
    assert not page.is_visible(f"#hlo-{row + 1}")
    assert "lines folded" in page.inner_text(f"#hlo-{row} .note")


# --- calls ----------------------------------------------------------------------------------------------------


def test_the_calls_tell_why_and_show_the_first_difference(opened, file):
    page = opened(file)
    words = page.inner_text("#pane-calls")
    assert "#2 to #5" in words
    assert "4 calls" in words
    assert "Why call #6 missed" in words
    assert "float32[5,8]" in words
    first = page.locator("#pane-calls .first-difference")
    assert first.is_visible()
    assert page.locator("#pane-calls del").count()
    page.click("#pane-calls button:has-text('miss') >> nth=0")
    assert "Why call #1 missed" in page.inner_text("#pane-calls")
    assert "show the program of call #6, not of this one" in page.inner_text("#pane-calls .which")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert "Why call #1 missed" in page.inner_text("#pane-calls")


@pytest.mark.parametrize("width", [400, 1400])
def test_a_miss_s_reason_and_both_jaxprs_are_in_view_where_it_is_clicked(opened, file, width):
    page = opened(file, "#show=python,hlo,calls" if width > 400 else "#show=calls", width=width, height=800)
    page.click("#pane-calls button:has-text('miss') >> nth=1")
    settle(page)
    body = page.locator("#pane-calls .body").bounding_box()
    why = page.locator("#pane-calls .why .sentence").bounding_box()
    assert body["y"] <= why["y"] < body["y"] + body["height"] - 20
    for column in ("was", "is"):
        cell = page.locator(f"#pane-calls .diff td.{column} >> nth=0").bounding_box()
        assert cell["x"] >= body["x"]
        assert cell["x"] + cell["width"] <= body["x"] + body["width"] + 1, column
    assert page.locator("#pane-calls .diff th >> nth=1").is_visible()
    assert (
        page.evaluate(
            "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('#pane-calls .body'))"
        )
        <= 1
    )


def test_the_page_says_which_call_s_program_it_shows(opened, file, data, tmp_path):
    page = opened(file, "#show=jaxpr,stablehlo,hlo,machine,calls")
    assert data["calls"]["shown"] == 6
    for place in (
        "#top .of-call",
        ".summary summary",
        *(f"#pane-{name} .meta" for name in ("jaxpr", "stablehlo", "hlo", "machine")),
    ):
        assert "program of call #6" in page.inner_text(place), place
    assert "The other panes show the program of this call." in page.inner_text("#pane-calls .which")
    page.click("#pane-calls button:has-text('miss') >> nth=0")
    # the click changes nothing, and the page says why
    assert "program of call #6" in page.inner_text("#top .of-call")
    none = written(data | {"calls": data["calls"] | {"shown": None}}, tmp_path)
    assert "not that of a call" in opened(none, "#show=calls").inner_text("#pane-calls .which")


def test_a_call_stands_beside_its_line_of_python(opened, file):
    page = opened(file, "#show=calls")
    assert "step(jnp.ones((8, 4)), jnp.ones((5, 8)))" in page.inner_text("#pane-calls tr.chosen .where code")
    page = opened(file, "#show=calls", width=400)
    assert "step(jnp.ones((8, 4)), jnp.ones((5, 8)))" in page.inner_text("#pane-calls .why .from code")


# --- by line, and in short ---


def test_a_miss_by_several_arguments_names_them(opened, data, tmp_path):
    entries = [dict(each) for each in data["calls"]["entries"]]
    [last] = [each for each in entries if each["number"] == 6]
    arguments = [f"  {name}: float32[3] before, float32[5] now" for name in "uvwxy"]
    last["sentences"] = [last["sentences"][0], arguments[0], "    Pad it.", *arguments[1:]]
    path = tmp_path / "several.html"
    path.write_text(bundle.page(data | {"calls": data["calls"] | {"entries": entries}}), encoding="utf-8")
    words = opened(path).inner_text(".summary")
    assert (
        f"call #6 missed (new signature): {'; '.join(each.strip() for each in arguments[:3])}; and 2 more. Pad it. In its jaxpr"
        in words
    )


def test_the_table_tells_what_each_line_became_and_leads_there(opened, file, data):
    page = opened(file, "#show=lines")
    sine = page.locator("#pane-lines tr:has-text('jnp.sin(x)')")
    assert set(sine.locator("td.none").all_inner_texts()) == {"no kernel"}
    [row] = [i for i, text in enumerate(data["python"]["lines"]) if "jnp.tanh" in text]
    [told] = [each for each in data["targets"][0]["by_line"]["lines"] if each["row"] == row]
    cell = page.locator("#pane-lines tr:has-text('jnp.tanh') td:nth-child(3)")
    assert cell.inner_text().startswith(f"{len(told['kernels'])} kernel")
    cell.locator("button").click()
    settle(page)
    assert set(told["kernels"]) <= marked(page, "hlo")
    assert f"pin=python.{row}" in page.evaluate("location.hash")
    last = page.inner_text("#pane-lines tbody tr >> nth=-1")
    assert "of no line" in last
    assert "by the compiler's own estimate" in last
    page.click("text=most bytes first")
    largest = max(data["targets"][0]["by_line"]["lines"], key=lambda each: each["bytes"])
    assert page.inner_text("#pane-lines tbody tr >> nth=0").split()[0] == str(data["python"]["numbers"][largest["row"]])


def test_the_summary_answers_why_a_call_missed_what_is_gone_and_where_targets_differ(opened, file):
    page = opened(file, height=640)
    words = page.inner_text(".summary")
    assert "6 calls, 2 of them missed the cache (call #1 as the first one)." in words
    assert re.search(r"sin \(line \d+\)[^:;]*: dead code, no result depends on it", words)
    assert "have as many kernels for each line, as all targets" in words  # both targets have the same kernels
    missed = "call #6 missed (new signature): x: float32[3,8] before, float32[5,8] now."
    assert f"{missed} No edit is needed" in words  # more rows
    assert re.search(r"In its jaxpr, against that of #1, \d+ of \d+ lines have other types or numbers\.", words)
    page.click(".summary button:has-text('call #1')")
    assert "Why call #1 missed" in page.inner_text("#pane-calls")
    why, pane = page.locator("#pane-calls .why .sentence").bounding_box(), page.locator("#pane-calls").bounding_box()
    assert pane["y"] <= why["y"] < pane["y"] + pane["height"] - 20  # in view
    page.click("#pane-hlo [role=tab]:has-text('cpu:again')")
    page.click(".summary button:has-text('Removed by XLA')")
    settle(page)
    assert "Removed by XLA" in page.inner_text("#pane-hlo .row.head.cursor")
    page.click(".summary button:has-text('By line')")
    assert page.is_visible("#pane-lines table")


@pytest.mark.parametrize("width", [400, 1400])
def test_the_summary_cuts_no_line_in_half(opened, file, width):
    page = opened(file, width=width)
    page.evaluate("document.querySelector('.summary').open = true")
    scrolls = set()
    for height in (*range(120, 1400, 80), 2000, 2800):
        page.set_viewport_size({"width": width, "height": height})
        settle(page)
        hidden, halves = page.evaluate("""() => {
            const box = document.querySelector(".summary");
            const range = document.createRange();
            range.selectNodeContents(box);
            const end = box.getBoundingClientRect().top + box.clientHeight;
            const lines = [...range.getClientRects()].filter(({ height }) => height < 30);
            return [box.scrollHeight > box.clientHeight + 1, lines.filter(({ top, bottom }) => top < end - 3 && bottom > end + 3).length];
        }""")
        assert halves == 0, height
        scrolls.add(hidden)
    assert scrolls == {True, False}


def test_lines_that_targets_differ_in_are_marked_and_shown_side_by_side(opened, data, tmp_path):
    one, two, missing = data["targets"]
    lines = [{**each, "kernels": each["kernels"] * 2} if each["kernels"] else each for each in two["by_line"]["lines"]]
    other_ = two | {"by_line": two["by_line"] | {"lines": lines}}
    path = tmp_path / "differing.html"
    path.write_text(bundle.page(data | {"targets": [one, other_, missing]}), encoding="utf-8")
    page = opened(path, "#show=python,lines")
    first = next(each for each in lines if each["kernels"] and each["row"] is not None)
    number, count = data["python"]["numbers"][first["row"]], len(first["kernels"])
    said = f"(a kernel of several lines counts at each of them) for lines {number} ({count // 2} and {count})"
    assert said in page.inner_text(".summary")
    assert page.locator("#pane-lines tr.differs").count() == sum(
        bool(each["kernels"]) and each["row"] is not None for each in lines
    )
    page.locator(".summary li:has-text('have different numbers') button >> nth=0").click()
    settle(page)
    assert page.is_visible("#pane-beside .row.hit")
    assert page.is_visible("#pane-hlo .row.hit")
    assert not page.is_visible("#pane-lines")


# --- passes, help, and columns ---------------------------------------------------------------------------------


def test_what_a_pass_did_is_linked_and_operations_of_hlo_explain_themselves(opened, file):
    page = opened(file, "#show=python,hlo,passes")
    page.hover("#pane-python .row:has-text('twice = ') code")
    settle(page)
    assert page.locator("#pane-passes .row.hit").count() > 0
    titles = page.locator("#pane-hlo .row:has-text(' fusion(') code").evaluate_all("all => all.map(each => each.title)")
    assert titles
    assert all(title.startswith("fusion: several operations as one kernel") for title in titles)
    page.click("#pane-hlo [data-target='tpu:v9']")
    settle(page)
    assert "pip install it" in page.inner_text("#pane-passes")


def test_a_column_is_dragged_wider_and_a_double_click_makes_all_the_same(opened, file):
    page = opened(file, "#show=python,hlo", width=1400, height=800)
    width = "document.querySelector('#pane-python').getBoundingClientRect().width"
    before, box = page.evaluate(width), page.locator("#pane-python .grip").bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 202, box["y"] + 200, steps=4)
    page.mouse.up()
    assert page.evaluate(width) == pytest.approx(before + 200, abs=3)
    page.dblclick("#pane-python .grip")
    assert page.evaluate(width) == pytest.approx(before, abs=1)


# --- looks ----------------------------------------------------------------------------------------------------


def test_on_a_phone_one_pane_at_a_time_and_nothing_sticks_out(opened, file):
    page = opened(file, "#show=python", width=400, height=800)
    for name in ("jaxpr", "stablehlo", "hlo", "lines", "passes", "machine", "calls", "python"):
        page.click(f"nav [data-pane={name}]")
        settle(page)
        assert page.locator(".pane:visible").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.click("#pane-python .row:has-text('twice = ') code")
    settle(page)
    page.click("#story button >> nth=1")
    settle(page)
    assert page.is_visible("#pane-jaxpr .row.hit")


def test_it_is_light_or_dark_as_the_reader_has_set_it(opened, file):
    ground = {}
    for scheme in ("light", "dark"):
        page = opened(file, color_scheme=scheme)
        ground[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
    light, dark = (sum(map(int, re.findall(r"\d+", ground[scheme])[:3])) for scheme in ("light", "dark"))
    assert light > 600
    assert dark < 150
    page = opened(file, "#theme=light", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == ground["light"]


def test_it_is_readable_without_colour(opened, file):
    page = opened(file, "#show=python,jaxpr", forced_colors="active")
    page.click("#pane-python .row:has-text('twice = ') code")
    settle(page)
    assert page.inner_text("#pane-python .row.pinned .mark") == "◆"
    assert set(page.locator("#pane-jaxpr .row.hit .mark").all_inner_texts()) == {"●"}
    gutter = page.inner_text("#pane-python .row.pinned .gutter")
    assert {text.rstrip("+") for text in page.locator("#pane-jaxpr .row.hit .gutter").all_inner_texts()} == {gutter}


def test_it_prints_whole(opened, file, data):
    page = opened(file, "#show=python,jaxpr,stablehlo,hlo")
    page.emulate_media(media="print")
    settle(page)
    assert page.locator("#pane-stablehlo .row").count() == len(data["stablehlo"]["lines"])
    assert page.locator("#pane-hlo .row").count() >= len(data["targets"][0]["hlo"]["lines"])
    assert not page.is_visible("#top nav")
    assert page.evaluate("document.documentElement.scrollHeight") > 900
    assert page.pdf().startswith(b"%PDF")
    page.emulate_media(media="screen")
    settle(page)
    assert page.is_visible("#top nav")


_BROUGHT = ROOT / "docs" / "_build" / "npm" / "node_modules" / "axe-core" / "axe.min.js"  # `make test-docs` installs it
AXE = next(filter(pathlib.Path.is_file, [pathlib.Path(os.environ.get("AXE", "no/axe.min.js")), _BROUGHT]), None)


@pytest.mark.skipif(
    AXE is None, reason="needs a browser and axe-core: AXE=/path/to/axe.min.js, or that of make test-docs"
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_axe_finds_nothing_serious(opened, file, scheme, width):
    page = opened(file, ALL + "&pin=python.5", width=width, color_scheme=scheme)
    settle(page)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run()")["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    assert [(each["id"], [node["html"][:200] for node in each["nodes"]][:3]) for each in serious] == []


# --- bad input, large input -----------------------------------------------------------------------------------


def test_a_target_that_is_not_there_says_how_to_get_it(opened, file):
    page = opened(file, "#show=hlo&target=tpu:v9")
    assert "pip install it" in page.inner_text("#pane-hlo")


def test_hostile_names_are_shown_and_not_obeyed(opened, tmp_path):
    names = {"jnp": jnp}
    exec(compile("def f(x):\n    return jnp.sin(x)", "</script><img src=x onerror=alert(1)>.py", "exec"), names)
    names["f"].__name__ = names["f"].__qualname__ = "<script>alert(1)</script>"
    path = exploration(subject_of(names["f"], (spec(3),), {}), ["cpu"], keep=False).save(tmp_path / "x.html")
    page = opened(path)
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    assert page.inner_text("h1") == "<script>alert(1)</script>"
    assert "<img src=x onerror=alert(1)>" in page.inner_text("#pane-python")


def test_a_line_says_what_python_reads(opened, tmp_path):
    """No character of two halves is torn, none turns the order around, or is not seen."""
    (tmp_path / "odd.py").write_text(
        'import jitkit.numpy as jnp\n\ndef f(x):\n    face = "\U0001f600"; y = jnp.sin(x)  # sine\n'
        '    note = "\u202eabc\u2066"\n    return y\n',
        encoding="utf-8",
    )
    names = runpy.run_path(str(tmp_path / "odd.py"))
    page = opened(exploration(subject_of(names["f"], (spec(3),), {}), [], keep=False).save(tmp_path / "x.html"))
    words = page.eval_on_selector_all(
        "#pane-python .row code span", "all => all.map((one) => [one.className, one.textContent])"
    )
    assert ["text", '"\U0001f600"'] in words
    assert ["comment", "# sine"] in words
    assert ["text", '"⟨U+202E⟩abc⟨U+2066⟩"'] in words


def test_a_function_that_failed_shows_where_and_how_far(opened, tmp_path):
    def f(x):
        y = jnp.sin(x)
        return y if y.sum() > 0 else -y

    path = exploration(subject_of(f, (spec(3),), {}), []).save(tmp_path / "f.html")
    small = opened(path, width=400, height=800)
    assert small.evaluate("document.documentElement.scrollWidth") <= 400
    assert small.is_visible(".failure")
    page = opened(path)
    assert "TracerBoolConversionError" in page.inner_text(".failure")
    assert page.evaluate("(box => box.scrollHeight <= box.clientHeight)(document.querySelector('.failure pre'))")
    assert page.inner_text(".signature") == "(x: float32[3])"
    buttons = page.eval_on_selector_all("nav [data-pane]", "all => all.map(each => each.dataset.pane)")
    assert buttons == ["python", "jaxpr"]  # the other panes are empty
    assert "if y.sum() > 0" in page.inner_text("#pane-python .row.error")
    assert "sin" in page.inner_text("#pane-jaxpr")
    assert not page.is_visible("#pane-stablehlo")


def test_what_a_kernel_costs_is_in_view_and_why_it_is_alone_is_said(opened, data, tmp_path):
    path = tmp_path / "loop.html"
    path.write_text(bundle.page(data), encoding="utf-8")
    page = opened(path, "#show=python,jaxpr,hlo", width=1200)
    [cpu, *_] = data["targets"]
    pair = next(each for each in cpu["apart"] if each["rule"] == "loop")
    assert "Not fused" in page.inner_text(".summary")
    page.click(f"#hlo-{pair['second']} .mark")
    assert pair["why"] in page.inner_text("#story")
    notes = page.eval_on_selector_all(
        "#pane-hlo .row.box .note",
        "all => all.map(each => each.getBoundingClientRect().right - each.closest('.scroll').getBoundingClientRect().right)",
    )
    assert notes
    assert max(notes) <= 0
    page.click(".summary >> text=Not fused")
    assert "Not fused:" in page.inner_text("#pane-hlo .row.cursor")


def test_in_a_notebook_s_frame_it_works_as_well(opened, file, tmp_path, data):
    shown = tmp_path / "notebook.html"
    frame = exploration(subject_of(step, (spec(8, 4), spec(5, 8)), {}), [])._repr_html_()
    shown.write_text(f"<!doctype html><html data-ready><title>n</title><body>{frame}")
    page = opened(shown)
    inner = page.frame_locator("iframe")
    inner.locator("#pane-python .row:has-text('twice = ') code").click()
    inner.locator("#story dt").first.wait_for()
    assert "exp" in inner.locator("#story").inner_text()


def test_ten_thousand_equations_stay_usable(opened, tmp_path):
    """Eight megabytes, two seconds, fifty frames a second: `docs/explorer.md` has what was measured; here, with room for a busy machine."""

    def f(x):
        for i in range(5000):
            x = jnp.sin(x) * (1.0 + i)
        return x

    made = exploration(subject_of(f, (spec(64),), {}), [], keep=False).data
    assert len(made["equations"]) == 10_000
    path = tmp_path / "large.html"
    path.write_text(bundle.page(made), encoding="utf-8")
    assert 'data-packed="deflate"' in path.read_text(encoding="utf-8")
    assert path.stat().st_size <= 2_000_000  # with four targets, a page has five times as much data
    page = opened(path)
    assert page.evaluate("performance.now()") < 8000
    assert page.locator("#pane-jaxpr .row").count() < 200
    page.evaluate("document.getElementById('scroll-jaxpr').scrollTop = 1e9")
    settle(page)
    page.wait_for_selector("#jaxpr-10000")
    assert json.loads(page.evaluate("JSON.stringify(document.getElementById('scroll-jaxpr').scrollWidth > 0)"))
