"""attention -> explorer/attention.html: the Explorer's page that the front page shows

It is one file of its own, which the front page shows in a frame. Targets whose compilers are not installed say how to get them.
"""

from __future__ import annotations

from typing import Any

from generated import GENERATED

import jitkit

_PROGRAM = """
import jitkit as jax
import jitkit.numpy as jnp


def attention(x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    scores = q @ k.T / jnp.sqrt(64.0)
    weights = jax.nn.softmax(scores)
    return weights @ v
"""


def _write(app: Any) -> None:
    folder = GENERATED / "extra" / "explorer"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder.parent.parent / "attention.py"  # a file, so that the page can show its lines
    source.write_text(_PROGRAM.lstrip(), encoding="utf-8")
    names: dict[str, Any] = {"__name__": "attention"}
    exec(compile(source.read_text(encoding="utf-8"), str(source), "exec", dont_inherit=True), names)
    types = [jitkit.ShapeDtypeStruct(shape, "float32") for shape in ((128, 64), (64, 64), (64, 64), (64, 64))]
    jitkit.explore(names["attention"], *types).save(folder / "attention.html")


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}
