"""the pages' texts -> _static/search_context.js: what a search shows below each result

The theme's search finds pages, from disk too, and shows their titles. What stands around the words, and in which section, is in this
file, by page: `[anchor, title, text]` of each section. A browser loads it on the page of a search only.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

from docutils import nodes

_LONGEST = 6_000  # characters of one section
_NOT_SHOWN = ("source/", "search", "genindex")  # listings of files, which have no sections


def sections_of(tree: Any) -> list[tuple[str, str, str]]:
    """The sections of a page with their own text, without that of the sections in them."""
    found = []
    for section in tree.findall(nodes.section):
        title = section.next_node(nodes.title)
        parts = [part for part in section.children if not isinstance(part, nodes.section | nodes.title)]
        text = " ".join(" ".join(part.astext().split()) for part in parts if not isinstance(part, nodes.raw))
        found.append((section["ids"][0], title.astext() if title else "", text[:_LONGEST]))
    return found


def _write(app: Any, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    names = sorted(name for name in app.env.found_docs if not name.startswith(_NOT_SHOWN))
    texts = {name: sections_of(app.env.get_doctree(name)) for name in names}
    path = pathlib.Path(app.outdir) / "_static" / "search_context.js"
    path.write_text(f"window.siteTexts = {json.dumps(texts, ensure_ascii=False)};\n", encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}
