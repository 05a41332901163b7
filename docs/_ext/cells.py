"""A page of Markdown -> the same page, with its programs as cells that are run

A page says `programs: run` in its front matter. Its blocks of ```python then are cells of one notebook, in their order, and what they
print stands below them; in the repository they stay blocks that every reader of Markdown highlights. A block of ```pycon is a session
that was typed once; it is not run here.

A cell that has to fail says so in its first line: `# raises TracerBoolConversionError`.
"""

from __future__ import annotations

import re
from typing import Any

_RUN = re.compile(r"\A---\n(?:[^\n]*\n)*?programs: run\n")
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_RAISES = re.compile(r"# raises (\w+)\n")
_NOTEBOOK = "file_format: mystnb\nkernelspec:\n  name: python3\n"
_FIRST = "```{code-cell} python\n:tags: [remove-cell]\n%xmode Minimal\n```\n\n"  # errors without the kernel's frames


def with_cells(text: str) -> str:
    """The page with its programs as cells, or as it is when it does not ask for it."""
    if not _RUN.match(text):
        return text
    front, page = text.split("\n---\n", 1)
    return f"{front.replace('programs: run', _NOTEBOOK.strip(), 1)}\n---\n{_FIRST}{_BLOCK.sub(_cell, page)}"


def _cell(block: re.Match[str]) -> str:
    program = block[1]
    tags = ":tags: [raises-exception]\n" if _RAISES.match(program) else ""
    return f"```{{code-cell}} python\n{tags}{program}```"


def _read(app: Any, page: str, source: list[str]) -> None:
    source[0] = with_cells(source[0])


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True}
