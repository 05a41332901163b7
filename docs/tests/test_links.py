"""Everything that a page of the site points at is there: pages, anchors, images, scripts. Without a network."""

from __future__ import annotations

import functools
import html
import json
import re
from html.parser import HTMLParser
from urllib.parse import parse_qsl, unquote

# Sphinx's page of all names, and its search, have no content of their own.
_MADE_BY_SCRIPTS = {"genindex.html", "search.html"}


class _Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.bare_images, self.headings = set(), [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.ids |= {named[key] for key in ("id", "name") if named.get(key)}
        self.links += [named[key] for key in ("href", "src") if named.get(key)]
        if tag == "img" and not (named.get("alt") or "").strip() and named.get("role") != "presentation":
            self.bare_images.append(named.get("src"))
        if tag == "h1":
            self.headings.append(tag)


@functools.cache
def read(path):
    return _Page(path.read_text(encoding="utf-8"))


def pages(site):
    """All but the Explorer's, which is a program that has tests of its own."""
    return [
        path for path in sorted(site.rglob("*.html")) if path.relative_to(site).parts[0] not in ("_static", "explorer")
    ]


def has(path, anchor, site):
    """Whether a page has an anchor. That of an Explorer's page says what is shown, and which row is pinned."""
    if path.resolve().parent != site.resolve() / "explorer":
        return anchor in read(path).ids
    text = path.read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script [^>]*id="model">(.*?)</script>', text, re.DOTALL)[1])
    asked = dict(parse_qsl(anchor))
    pane, row = asked["pin"].split(".")
    shown = asked["show"].split(",")
    return pane in shown and all(f'["{name}", ' in text for name in shown) and int(row) < len(data[pane]["lines"])


def test_every_link_leads_somewhere(site):
    broken = []
    for page in pages(site):
        for link in read(page).links:
            address, _, anchor = link.partition("#")
            if re.match(r"(https?|mailto|data|javascript):", link):
                continue
            target = page if not address else page.parent / unquote(address.partition("?")[0])
            if not target.is_file() or (anchor and target.suffix == ".html" and not has(target, unquote(anchor), site)):
                broken.append((page.name, link))
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(site):
    """A page opens from disk, on a train."""
    loading = re.compile(r'<(?:script|link|img)\b[^>]*\b(?:src|href)="(?:https?:)?//[^"]*"')
    assert [(page.name, loading.findall(page.read_text(encoding="utf-8"))[0]) for page in pages(site)
            if loading.search(page.read_text(encoding="utf-8"))] == []  # fmt: skip


def test_every_page_has_one_heading_and_every_image_words(site):
    for page in pages(site):
        assert len(read(page).headings) == 1 or page.name in _MADE_BY_SCRIPTS, page
        assert read(page).bare_images == [], page


def shown_lines(page):
    """The lines of a source that a page of the site shows, with their numbers."""
    text = page.read_text(encoding="utf-8").partition('class="source-of-file"')[2]
    parts = re.split(r'<a id="L-(\d+)"[^>]*></a>', text)[1:]
    numbered = r'^<a href="#L-\d+"><span class="linenos">\s*\d+</span></a>'
    return {int(line): html.unescape(re.sub(r"<[^>]*>", "", re.sub(numbered, "", code))).rstrip("\n")
            for line, code in zip(parts[::2], parts[1::2], strict=True)}  # fmt: skip


def defined_at(lines, number):
    """The names that a line defines, each with the classes and functions around it: `Jitted.call`."""
    code = lines[number]
    indent = len(code) - len(code.lstrip())
    match = re.match(r"\s*(?:async )?(?:def|class) (\w+)", code)
    targets = re.match(r"\s*([\w, ]+?)\s*(?::[^=]*)?=(?!=)", code)
    names = [match[1]] if match else re.split(r",\s*", targets[1]) if targets else []
    around = []
    for line in reversed([lines[each] for each in range(1, number)]):
        depth = len(line) - len(line.lstrip())
        if line.strip() and depth < indent:
            outer = re.match(r"\s*(?:def|class) (\w+)", line)
            around[:0] = [outer[1]] if outer else []
            indent = depth
    return [".".join([*around, name]) for name in names]


def test_links_into_the_code_end_at_the_line_where_the_name_is(site):
    """The page as it is written names what it links to; the line that the site's link ends at defines just that."""
    asked = re.findall(
        r"\]\(\.\./([\w/]+)\.py#([\w.]+)\)", (site.parents[1] / "reading.md").read_text(encoding="utf-8")
    )
    text = (site / "reading.html").read_text(encoding="utf-8")
    links = re.findall(r'href="source/([\w/]+)\.html#L-(\d+)"><code', text)
    assert len(asked) > 20
    assert [place for place, _ in links] == [place for place, _ in asked]
    for (place, name), (_, line) in zip(asked, links, strict=True):
        assert name in defined_at(shown_lines(site / "source" / f"{place}.html"), int(line)), (place, line)


def test_no_program_of_a_page_has_failed(site):
    """Cells that have to fail are on the page about errors, and end in the error that they name."""
    failed = {page.name for page in pages(site) if 'class="output traceback' in page.read_text(encoding="utf-8")}
    assert failed == {"errors.html"}
    text = (site / "errors.html").read_text(encoding="utf-8")
    named = re.findall(r"# raises (\w+)", text)
    ended = re.findall(r'<div class="output traceback.*?<pre>.*?(\w+Error)', text, re.DOTALL)
    assert named == ended
