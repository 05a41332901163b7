"""attention -> explorer/attention.html: the Explorer's page that the front page shows

It is one file of its own, which the front page shows in a frame. Targets whose compilers are not installed say how to get them.
"""

from __future__ import annotations

import pathlib
from typing import Any

from generated import GENERATED

import jitkit


def _write(app: Any) -> None:
    folder = GENERATED / "extra" / "explorer"
    folder.mkdir(parents=True, exist_ok=True)
    source = pathlib.Path(__file__).parents[1] / "attention.py"
    names: dict[str, Any] = {"__name__": "attention"}
    exec(compile(source.read_text(encoding="utf-8"), str(source), "exec", dont_inherit=True), names)
    types = [jitkit.ShapeDtypeStruct(shape, "float32") for shape in ((128, 64), (64, 64), (64, 64), (64, 64))]
    jitkit.explore(names["attention"], *types).save(folder / "attention.html")


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}
