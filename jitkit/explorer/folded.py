"""numbers as operands -> the number that all elements of a result equal; and branches that are never taken

A compiler computes results that depend on no argument. If all elements of an operand are one known number, this module
does the same for the primitives that make lengths, indices and conditions: so it is known which branch of a `cond`
runs.

JAX: jax/_src/lax/control_flow/conditionals.py:cond
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .equation import Dialect

_COMPUTED: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
}  # fmt: skip
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


def computed(primitive: str, eqn: Any, numbers: Sequence[Any]) -> Any:
    """Return the result of an equation on known numbers, for some primitives; None if it is not known."""
    if not numbers or None in numbers or len(eqn.outvars) != 1:
        return None
    given, made = (getattr(getattr(atom.aval, "dtype", None), "kind", "") for atom in (eqn.invars[0], eqn.outvars[0]))
    if primitive in _COMPARED and given in "biuf":
        return bool(_COMPARED[primitive](*numbers))
    kind: Any = getattr(getattr(eqn.outvars[0].aval, "dtype", None), "type", None)
    with np.errstate(all="ignore"):
        if primitive in _COMPUTED and made in "iuf":
            return _COMPUTED[primitive](*map(kind, numbers)).item()
        if primitive == "reduce_sum" and made in "iu":
            each_of = eqn.invars[0].aval.size // max(1, eqn.outvars[0].aval.size)
            return converted(numbers[0] * each_of, eqn.outvars[0].aval.dtype)
    return None


def converted(number: Any, dtype: Any) -> Any:
    """Return a number converted to a dtype, as a Python number; None if it does not fit, or for another dtype, such as that of keys."""
    if getattr(dtype, "kind", "") not in "biufV" or not hasattr(dtype, "type"):
        return None
    with np.errstate(all="ignore"):
        try:
            return dtype.type(number).item()
        except (TypeError, ValueError, OverflowError, AttributeError):
            return None


def untaken(eqn: Any, index: Any, dialect: Dialect) -> list[Any]:
    """Return the jaxprs of the branches that a `cond` with this index never takes; [] if the index is not known."""
    branches = [inner for each in eqn.params.get("branches", ()) if (inner := dialect.inside(each)) is not None]
    if str(eqn.primitive.name) != "cond" or index is None or not branches:
        return []
    taken = branches[min(max(int(index), 0), len(branches) - 1)]
    return [each for each in branches if each is not taken]
