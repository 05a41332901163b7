"""Reductions that numpy has only as methods of its ufuncs, such as `bitwise_and.reduce` and `logical_xor.reduce`.

JAX: jax/_src/numpy/reductions.py:_reduce_bitwise_and
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from .reductions import Kind, reduction, to_bool


def _integers_only(x: Any) -> Any:
    if x.dtype != np.bool_ and not dtypes.issubdtype(x.dtype, np.integer):
        raise ValueError(f"integer argument required; got dtype={x.dtype}")
    return x


_OR, _AND = (lax.reduce_or, lax.bitwise_or), (lax.reduce_and, lax.bitwise_and)
_XOR = (lax.reduce_xor, lax.bitwise_xor)
_FOLDS = {
    "max": Kind("max", lax.reduce_max, lax.max, -np.inf, has_identity=False, of_all="pmax"),
    "min": Kind("min", lax.reduce_min, lax.min, np.inf, has_identity=False, of_all="pmin"),
    **{
        f"reduce_bitwise_{name}": Kind(f"reduce_bitwise_{name}", *how, start, prepare=_integers_only)
        for name, how, start in (("and", _AND, -1), ("or", _OR, 0), ("xor", _XOR, 0))
    },
    **{
        f"reduce_logical_{name}": Kind(f"reduce_logical_{name}", *how, start, prepare=to_bool)
        for name, how, start in (("and", _AND, True), ("or", _OR, False), ("xor", _XOR, False))
    },
}


def fold_of(name: str) -> Callable[..., Any]:
    """Return the function that a ufunc's `reduce` calls; `name` is its name in errors."""
    kind = _FOLDS[name]

    def fold(a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        return reduction(kind, a, axis, dtype, keepdims=keepdims, initial=initial, where=where)

    return fold
