"""SELU -> explorer/selu.html: the Explorer's page of the function that the front page begins with

It is one file of its own, which the front page shows in a frame. Targets whose compilers are not installed say how to get them.
"""

from __future__ import annotations

from typing import Any

from generated import GENERATED

import jitkit

_PROGRAM = """
import jitkit.numpy as jnp


def selu(x, alpha=1.67, lmbda=1.05):
    return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)
"""


def _write(app: Any) -> None:
    folder = GENERATED / "extra" / "explorer"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder.parent.parent / "selu.py"  # a file, so that the page can show its lines
    source.write_text(_PROGRAM.lstrip(), encoding="utf-8")
    names: dict[str, Any] = {"__name__": "selu"}
    exec(compile(source.read_text(encoding="utf-8"), str(source), "exec", dont_inherit=True), names)
    jitkit.explore(names["selu"], jitkit.ShapeDtypeStruct((1000,), "float32")).save(folder / "selu.html")


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}
