"""How exact an elementwise function is to be: what `exp(x, accuracy=...)` and its like take.

A compiler may have several programs for one function, fast ones and exact ones. `AccuracyMode` chooses between those that it has,
`Tolerance` says which error is allowed; a compiler that cannot keep it refuses the program. XLA's CPU compiler has one program for each
function, and reads neither.

JAX: jax/_src/lax/lax.py:AccuracyMode
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Any


class AccuracyMode(enum.Enum):
    """The most exact program of the compiler's, or the one that it takes by itself."""

    HIGHEST = 1
    DEFAULT = 2


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """The error that is allowed: absolute, relative, and in units in the last place.

    Raises:
      ValueError: where one is negative, or none is given.
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
    """The attribute of a StableHLO operation that is asked for this; nothing for None, and for the compiler's own choice."""
    if accuracy is None or accuracy is AccuracyMode.DEFAULT:
        return ""
    if isinstance(accuracy, AccuracyMode):
        return f" {{result_accuracy = {_OF_RESULT}<mode = {_OF_RESULT}_mode<{accuracy.name}>>}}"
    if isinstance(accuracy, Tolerance):
        parts = f"atol = {accuracy.atol:e}, rtol = {accuracy.rtol:e}, ulps = {accuracy.ulps}"
        return f" {{result_accuracy = {_OF_RESULT}<{parts}, mode = {_OF_RESULT}_mode<TOLERANCE>>}}"
    raise NotImplementedError(f"Accuracy {accuracy} not supported")


_OF_RESULT = "#stablehlo.result_accuracy"
