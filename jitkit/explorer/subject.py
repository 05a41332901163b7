"""Defines `Subject`: a function, ours or JAX's, that was traced for the Explorer

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
    """An error that the function raised while it was traced, and where: the page shows how far tracing came."""

    stage: str
    kind: str
    text: str
    place: Place | None = None


@dataclasses.dataclass
class Subject:
    """A traced function.

    `stablehlo(platform)` returns its StableHLO with locations, for a compiler; `shown(platform)` returns the same to be
    read, even where `stablehlo` raises NotImplementedError because no other process can compile it. `c()` returns the C
    of our own compiler, which JAX's functions do not have. All are None if tracing failed. `constants` are the types of
    the arrays that it closes over.
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
        """The function's name with the names and types of its arguments: `loss(w: float32[8], x: float32[8])`."""
        return f"{self.name}({', '.join(self.arguments)})"


def argument(name: str, aval: Any) -> str:
    """Return an argument's name and type, as in `scale: float32[] (weak type)`."""
    return f"{name}: {aval.str_short()}{' (weak type)' if getattr(aval, 'weak_type', False) else ''}"


def cut_short(jaxpr: Listing, found: list[Equation]) -> Listing:
    """Mark a jaxpr whose tracing ended with an error, and return it: its last line says so, in place of the results.
    All equations in `found` count as live, since the results are unknown.
    """
    for equation in found:
        equation.live = True
    if jaxpr.lines:
        last = jaxpr.lines[-1]
        jaxpr.lines[-1] = last[: len(last) - len(last.lstrip())] + "... the error came here"
        jaxpr.equations[-1] = []
    return jaxpr
