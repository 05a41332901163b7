"""What is explored: a function that was traced, ours or JAX's

JAX: jax/_src/stages.py:Traced
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ..loops.source import Source
from .equation import Equation, Place
from .listing import Listing


@dataclasses.dataclass
class Failure:
    """An error of the function, and where in it: the page shows how far it came."""

    stage: str
    kind: str
    text: str
    place: Place | None = None


@dataclasses.dataclass
class Subject:
    """A traced function.

    `stablehlo(platform)` is its StableHLO with locations, to be compiled; `shown(platform)` the same to be read, where it cannot
    be compiled elsewhere. `c()` is what our own compiler writes, which JAX's functions have not. All are None when tracing failed.
    `constants` are the types of the arrays that it closes over.
    """

    library: str
    name: str
    function: Callable[..., Any]
    arguments: list[str]
    equations: list[Equation]
    jaxpr: Listing
    stablehlo: Callable[[str], str] | None
    shown: Callable[[str], str] | None
    constants: list[str]
    failure: Failure | None = None
    c: Callable[[], Source] | None = None

    @property
    def signature(self) -> str:
        """`loss(w: float32[8], x: float32[8])`."""
        return f"{self.name}({', '.join(self.arguments)})"


def argument(name: str, aval: Any) -> str:
    """`scale: float32[] (weak type)`."""
    return f"{name}: {aval.str_short()}{' (weak type)' if getattr(aval, 'weak_type', False) else ''}"


def cut_short(jaxpr: Listing, found: list[Equation]) -> Listing:
    """A jaxpr that an error ended, as far as it came: where its results would stand it says so, and no equation is dead yet."""
    for equation in found:
        equation.live = True
    if jaxpr.lines:
        last = jaxpr.lines[-1]
        jaxpr.lines[-1] = last[: len(last) - len(last.lstrip())] + "... the error came here"
        jaxpr.equations[-1] = []
    return jaxpr
