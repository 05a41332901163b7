"""Searches sorted arrays: `searchsorted`, by one of three methods, and `digitize`.

The method "scan" is a binary search: a loop of log2(n) steps, with all queries side by side. "sort" sorts the queries
together with the array, and reads their positions. "compare_all" compares every query with every element.

JAX: jax/_src/numpy/hijax.py:_searchsorted_impl
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import core, lax
from ..core import dtypes
from ..interpreters.vmap import vmap
from ..pjit.jit import jit
from .creation import zeros_like
from .index_parts import index_dtype
from .promotion import promote_dtypes, where
from .ufuncs import constant
from .util import ensure_arraylikes


@jit(static_argnames=("side", "method"))
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan") -> Any:
    """Return the positions at which to insert the elements of `v` into the sorted one-dimensional `a`, before equal
    ones or after ("right").

    Args:
      sorter: indices that sort `a`, if it is not sorted.
      method: "scan", a binary search; "scan_unrolled", the same without a loop; "sort", for many queries;
        "compare_all", for very few elements.

    Returns:
      Positions of the shape of `v`, in int32 (int64 for a very long `a`). nan comes last.

    Raises:
      ValueError: for another number of axes of `a`, an unknown side or method.
    """
    a, v, *order = ensure_arraylikes("searchsorted", a, v, *([] if sorter is None else [sorter]))
    if a.ndim != 1:
        raise ValueError("a should be 1-dimensional")
    a, v = promote_dtypes(a, v)
    if order:
        a = a[order[0]]
    if side not in ("left", "right"):
        raise ValueError(f"invalid argument {side=}, expected 'left' or 'right'")
    if method not in ("compare_all", "scan", "scan_unrolled", "sort"):
        raise ValueError(
            f"invalid argument {method=}, expected one of ['compare_all', 'scan', 'scan_unrolled', 'sort']"
        )
    dtype = index_dtype(a.shape)
    if method == "compare_all":
        return _searchsorted_compare_all_impl(a, v, side, dtype)
    if method == "sort":
        return _searchsorted_sort_impl(a, v, side, dtype)
    return _searchsorted_scan_impl(a, v, side, dtype, method == "scan_unrolled")


@jit(static_argnames=("side", "dtype", "unrolled"))
def _searchsorted_scan_impl(a: Any, v: Any, side: str, dtype: Any, unrolled: bool) -> Any:
    """Return the position of each query, by bisection. `vmap` maps the bisection over each axis of `v` in turn."""
    (n,) = a.shape
    if n == 0:
        return lax.full(v.shape, 0, dtype)
    if v.ndim:
        return vmap(functools.partial(_searchsorted_scan_impl, a, side=side, dtype=dtype, unrolled=unrolled))(v)
    goes_left = _comes_before_or_is if side == "left" else _comes_before

    def halve(bounds: Any, _: None) -> Any:
        low, high = bounds
        middle = low + (high - low) // 2  # low + high might overflow
        left = goes_left(v, lax.squeeze(lax.dynamic_slice(a, (middle,), (1,)), (0,)))
        return (lax.select(left, low, middle), lax.select(left, middle, high)), None

    unsigned = np.dtype("uint64" if dtypes.iinfo(dtype).bits == 64 else "uint32")
    start = tuple(unsigned.type(bound) for bound in (0, n))
    steps = math.ceil(math.log2(n + 1))
    (_, high), _ = lax.scan(halve, start, None, length=steps, unroll=steps if unrolled else 1)
    return lax.convert_element_type(high, dtype)


@jit(static_argnames=("side", "dtype"))
def _searchsorted_sort_impl(a: Any, v: Any, side: str, dtype: Any) -> Any:
    """Return each query's position in `a`: its rank among `a` and the queries, minus its rank among the queries alone."""
    both = [v.ravel(), a] if side == "left" else [a, v.ravel()]
    ranks = _ranks(lax.concatenate(both, 0))
    ranks = ranks[: v.size] if side == "left" else ranks[a.size :]
    return lax.convert_element_type(lax.reshape(lax.sub(ranks, _ranks(v.ravel())), v.shape), dtype)


def _ranks(x: Any) -> Any:
    """Return the rank of each element in sorted order; equal ones keep their order."""
    positions = lax.iota(np.int32, len(x))
    ranks = lax.full_like(positions, 0)
    return ranks.at[lax.sort_key_val(x, positions)[1]].set(positions)


@jit(static_argnames=("side", "dtype"))
def _searchsorted_compare_all_impl(a: Any, v: Any, side: str, dtype: Any) -> Any:
    """Return the number of elements before each query."""
    comes_first = _comes_before if side == "left" else _comes_before_or_is
    return vmap(comes_first, in_axes=(0, None))(a, v).sum(axis=0, dtype=dtype)


# --- the order that sorting has --------------------------------------------------------------------------------------


def _comes_before(x: Any, y: Any) -> Any:
    """Return whether x < y; nan is greater than everything, and all zeros are equal."""
    return _compare(lax.lt_to_p.bind, x, y)


def _comes_before_or_is(x: Any, y: Any) -> Any:
    """Return whether x comes before y, or both are equal."""
    return _compare(lax.le_to_p.bind, x, y)


def _compare(compare: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Return the comparison of x and y; of complex numbers by their real parts, then by their imaginary parts."""
    pairs = list(zip(_sort_keys(x), _sort_keys(y), strict=True))
    *first, (x, y) = pairs
    result = compare(x, y)
    for x, y in first:
        result = lax.bitwise_or(lax.lt_to_p.bind(x, y), lax.bitwise_and(lax.eq_to_p.bind(x, y), result))
    return result


def _sort_keys(x: Any) -> list[Any]:
    """Return the keys to compare: the number, or its two parts, with one kind of zero and of nan."""
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return [_with_one_zero_and_nan(lax.real(x)), _with_one_zero_and_nan(lax.imag(x))]
    return [_with_one_zero_and_nan(x)] if dtypes.issubdtype(x.dtype, np.floating) else [x]


def _with_one_zero_and_nan(x: Any) -> Any:
    result = lax.select(lax.eq(x, constant(x, 0)), lax.full_like(x, 0), x)
    return lax.select(lax.ne(x, x), lax.full_like(result, np.nan), result)


# --- bins ------------------------------------------------------------------------------------------------------------


@jit(static_argnames=("right", "method"))
def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Any:
    """Return the bin of each element of `x`; `bins` are the edges, in ascending or descending order.

    Bin 0 is before the first edge, bin n after the last of n edges. An edge belongs to the bin of larger numbers, or
    with `right` to the bin of smaller ones. `method` is as for `searchsorted`. Raise ValueError unless `bins` has one
    axis.
    """
    x, edges = ensure_arraylikes("digitize", x, bins)
    right = core.concrete_or_error(bool, right, "right argument of jnp.digitize()")
    if edges.ndim != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array; got {bins=}")
    if edges.shape[0] == 0:
        return zeros_like(x, dtype=np.int32)
    side = "left" if right else "right"
    method = "scan" if method is None else method
    return where(
        edges[-1] >= edges[0],
        searchsorted(edges, x, side=side, method=method),
        edges.shape[0] - searchsorted(edges[::-1], x, side=side, method=method),
    )
