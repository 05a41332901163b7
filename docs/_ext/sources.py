"""[text](../jitkit/pjit/jitted.py#jit) -> a link to the line where `jit` is written, in a page that shows the file

Pages in the repository point at files beside them, and at a function in a file by its name. Here such a link leads to a page of the
site: of a module's source, with a line for each line, or of what was made from the file (a lab's text). Names are looked up in the file
when the site is built, so a link does not go stale when lines move; a name or a file that is not there is a warning, and so fails
the build.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from generated import write
from places import ROOT, line_of, with_links
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

_logger = logging.getLogger(__name__)


class _Source(SphinxRole):
    """`label <path/in/the/repository.py#name>`."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        match = re.fullmatch(r"(.*?)\s*<([^#>]+)(?:#(.+))?>", self.text, re.DOTALL)
        label, place, name = match.groups() if match else (self.text, *self.text.partition("#")[::2])
        path = ROOT / place
        line = line_of(path, name) if name and path.is_file() else None
        if not path.is_file() or (name and line is None):
            _logger.warning("there is no %s in the repository", self.text, location=self.get_location())
            return [nodes.literal(text=label)], []
        self.env.note_dependency(str(path))  # a line that moves makes the page again
        wanted = vars(self.env).setdefault("source_files", set())
        wanted.add(place)
        address = self.env.app.builder.get_relative_uri(self.env.docname, page_of(place)) + (
            f"#L-{line}" if line else ""
        )
        return [nodes.reference("", "", nodes.literal(text=label), refuri=address, internal=True)], []


def page_of(place: str) -> str:
    """The page that shows a file."""
    return "source/" + place.removesuffix(".py").removesuffix(".md")


def _pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "jitkit").rglob("*.py")}
    lexer = PythonLexer(stripnl=False)
    for place in sorted(files | vars(app.env).get("source_files", set())):
        text = (ROOT / place).read_text(encoding="utf-8")
        formatter = HtmlFormatter(linenos="inline", lineanchors="L", anchorlinenos=True, wrapcode=True)
        shown = highlight(text, lexer, formatter) if place.endswith(".py") else f"<pre>{html.escape(text)}</pre>"
        body = f'<h1>{html.escape(place)}</h1>\n<div class="source-of-file" tabindex="0" role="region" aria-label="source">{shown}</div>'
        yield page_of(place), {"parents": [], "title": place, "body": body}, "page.html"


def _write_changelog(app: Sphinx) -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    write("changelog.md", text.replace("](docs/", "](../"))


def _read(app: Sphinx, page: str, source: list[str]) -> None:
    source[0] = with_links(source[0], page)


def _merge(app: Sphinx, env: Any, docnames: set[str], other: Any) -> None:
    vars(env).setdefault("source_files", set()).update(vars(other).get("source_files", ()))


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_role("source", _Source())
    app.connect("builder-inited", _write_changelog)
    app.connect("source-read", _read, priority=400)  # before blocks become cells
    app.connect("env-merge-info", _merge)
    app.connect("html-collect-pages", _pages)
    return {"parallel_read_safe": True}
