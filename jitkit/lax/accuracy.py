"""How exact an elementwise function must be: the argument of `exp(x, accuracy=...)` and others.

A compiler may have several implementations of one function. `AccuracyMode` chooses one, `Tolerance` says which error is
allowed; a compiler that cannot keep it refuses the program. XLA's CPU compiler ignores both: it has one implementation.

JAX: jax/_src/lax/lax.py:AccuracyMode
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Any


class AccuracyMode(enum.Enum):
    """Which implementation of an elementwise function the compiler takes: its most exact one, or its default."""

    HIGHEST = 1
    DEFAULT = 2


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """The allowed error: absolute, relative, and in units in the last place.

    Raises:
      ValueError: if one of these is negative, or none is given.
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        given = (self.atol, self.rtol, self.ulps)
        if any(part < 0 for part in given):
            raise ValueError("Tolerances must be non-negative.")
        if not any(given):
            raise ValueError("At least one of atol, rtol, or ulps must be set.")


def accuracy_attribute(accuracy: Any) -> str:
    """Return the accuracy attribute of a StableHLO operation as text; empty for None and `AccuracyMode.DEFAULT`. Raise
    NotImplementedError for anything but an `AccuracyMode` or a `Tolerance`.
    """
    if accuracy is None or accuracy is AccuracyMode.DEFAULT:
        return ""
    if isinstance(accuracy, AccuracyMode):
        return f" {{result_accuracy = {_OF_RESULT}<mode = {_OF_RESULT}_mode<{accuracy.name}>>}}"
    if isinstance(accuracy, Tolerance):
        parts = f"atol = {accuracy.atol:e}, rtol = {accuracy.rtol:e}, ulps = {accuracy.ulps}"
        return f" {{result_accuracy = {_OF_RESULT}<{parts}, mode = {_OF_RESULT}_mode<TOLERANCE>>}}"
    raise NotImplementedError(f"Accuracy {accuracy} not supported")


_OF_RESULT = "#stablehlo.result_accuracy"
