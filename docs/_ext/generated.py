"""What the generators share: pages that are written only when they change, and things that are made once"""

from __future__ import annotations

import pathlib
import time

DOCS = pathlib.Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
GENERATED = DOCS / "generated"


def write(place: str, text: str) -> None:
    """A page below `generated/`. One that is the same already keeps its date, so that Sphinx does not read it again."""
    path = GENERATED / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def is_fresh(made: pathlib.Path, *sources: pathlib.Path) -> bool:
    """Whether what was measured and drawn is there, and newer than what it was made from."""
    return made.is_file() and all(source.stat().st_mtime < made.stat().st_mtime for source in sources)


def today() -> str:
    """When it was measured."""
    return time.strftime("%Y-%m-%d")
