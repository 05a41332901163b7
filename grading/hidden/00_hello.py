"""The checks of lab 00 that are used in grading only."""

from __future__ import annotations

from jitkit.kata.checking import check


@check("00.1", "Arrays of three axes, and half precision, go the same way.", hidden=True)
def three_axes(jk, rng):
    x = rng.normal(size=(3, 2, 4))
    return jk.nn.relu(x.astype("float32")), jk.nn.relu(x.astype("float16"))
