"""Statistics of a sample: its most frequent value, the ranks of its elements, the standard error of its mean.

JAX: jax/_src/scipy/stats/_core.py:mode
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...core import dtypes
from ...interpreters.vmap import vmap
from ...lax.utils import canonicalize_axis
from ...numpy.util import check_arraylike
from ...pjit.jit import jit
from ..arguments import promoted


class ModeResult(NamedTuple):
    """The result of `mode`."""

    mode: Any
    count: Any


def _check_nan_policy(function: str, nan_policy: str) -> None:
    """Raise ValueError for an unknown policy, NotImplementedError for one that is not "propagate"."""
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(f"Illegal nan_policy value {nan_policy!r}; expected one of {{'propagate', 'omit', 'raise'}}")
    if nan_policy == "omit":
        raise NotImplementedError(f"Logic for `nan_policy` of {nan_policy} is not implemented")
    if nan_policy == "raise":
        raise NotImplementedError(
            f"In order to best JIT compile `{function}`, we cannot know whether `x` contains nans. "
            f"Please check if nans exist in `x` outside of the `{function}` function."
        )


@jit(static_argnames=["axis", "nan_policy", "keepdims"])
def mode(a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """Return the most frequent value along `axis` (the least, if there are several), and its count; of all elements if
    `axis` is None; nan and 0 for no elements. Raise ValueError for an unknown `nan_policy`, NotImplementedError for
    scipy's "omit" and "raise".
    """
    check_arraylike("mode", a)
    x = jnp.atleast_1d(a)
    _check_nan_policy("mode", nan_policy)
    if axis is not None:
        axis = canonicalize_axis(axis, x.ndim)
    kept = [(size, axis is None or i == axis) for i, size in enumerate(x.shape)]
    shape = tuple(1 if is_reduced else size for size, is_reduced in kept if keepdims or not is_reduced)
    if axis is None:
        axis, x = 0, x.ravel()

    def of_a_vector(x: Any) -> tuple[Any, Any]:
        if x.size == 0:
            return jnp.array(np.nan, dtypes.default_float_dtype()), jnp.array(0, dtypes.default_float_dtype())
        values, counts = jnp.unique(x, return_counts=True, size=x.size)
        return values[jnp.argmax(counts)], counts.max()

    x = jnp.moveaxis(x, axis, 0)
    x = x.reshape(x.shape[0], math.prod(x.shape[1:]))
    values, counts = vmap(of_a_vector, in_axes=1)(x)
    return ModeResult(values.reshape(shape), counts.reshape(shape))


@jit(static_argnames=["method", "axis", "nan_policy"])
def rankdata(a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> Any:
    """Return the ranks of the elements along `axis`, from 1 on; if `axis` is None, of all elements, as a vector. If one
    element is nan, all ranks along the axis are nan.

    Args:
      method: the rank of equal elements: the "average", "min" or "max" of their ranks; the number of different elements up to
        them ("dense"); or ranks in their original order ("ordinal").

    Raises:
      ValueError: for another method, or an unknown `nan_policy`.
      NotImplementedError: for scipy's `nan_policy` "omit" and "raise".
    """
    check_arraylike("rankdata", a)
    _check_nan_policy("rankdata", nan_policy)
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f"unknown method '{method}'")
    if axis is not None:
        return jnp.apply_along_axis(rankdata, axis, a, method)
    a = jnp.ravel(a)
    dtype = dtypes.default_float_dtype()

    def ranks(a: Any) -> Any:
        in_order, places = lax.sort_key_val(a, jnp.arange(a.size))
        place_of = jnp.empty_like(places).at[places].set(jnp.arange(places.size, dtype=places.dtype))
        if method == "ordinal":
            return (place_of + 1).astype(dtype)
        is_first = jnp.concatenate([jnp.array([True]), in_order[1:] != in_order[:-1]])
        dense = is_first.cumsum()[place_of]
        if method == "dense":
            return dense.astype(dtype)
        before = jnp.nonzero(is_first, size=in_order.size + 1, fill_value=is_first.size)[0].astype(dtype)
        if method == "max":
            return before[dense]
        if method == "min":
            return before[dense - 1] + 1
        return 0.5 * (before[dense] + before[dense - 1] + 1)

    return lax.cond(jnp.any(jnp.isnan(a)), lambda a: jnp.full_like(a, jnp.nan, dtype), ranks, a)


@jit(static_argnames=["axis", "nan_policy", "keepdims"])
def sem(a: Any, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    """Return the standard error of the mean along `axis`, or of all elements if it is None.

    Args:
      ddof: subtracted from the number of elements by which the variance is divided.
      nan_policy: "propagate", or "omit" for the standard error of the elements that are not nan.

    Raises:
      ValueError: for another policy.
    """
    (b,) = promoted("sem", a)
    if nan_policy == "propagate":
        size = b.size if axis is None else b.shape[axis]
        return b.std(axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(size).astype(b.dtype)
    if nan_policy == "omit":
        count = (~jnp.isnan(b)).sum(axis, keepdims=keepdims)
        return jnp.nanstd(b, axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(count).astype(b.dtype)
    raise ValueError(f"{nan_policy} is not supported")
