"""Checks whose results are jaxprs: nothing is compiled."""

from __future__ import annotations

from jitkit.kata.checking import check


@check("91.1", "Its jaxpr is the reference's.")
def its_jaxpr(jk, rng):
    return jk.make_jaxpr(jk.nn.soft_sign)(rng.normal(size=3).astype("float32"))
