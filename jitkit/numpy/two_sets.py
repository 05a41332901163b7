"""Finds the elements that are in both of two arrays, or in one of them only: intersect1d, setxor1d.

As for `unique`, the number of elements depends on values: under `jit` it must be given, as `size`.

JAX: jax/_src/numpy/setops.py:intersect1d
"""

from __future__ import annotations

from typing import Any

from .. import lax
from ..core import dtypes
from ..pjit.jit import jit
from .creation import full, ones, zeros
from .joining import concatenate
from .promotion import promote_dtypes
from .ranges import arange
from .selection import nonzero, where
from .sets import unique, unique_of_size
from .shaping import ravel
from .sorting import sort
from .util import ensure_arraylikes


def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """Return the distinct elements that are in both arrays, in ascending order; with `return_indices` also the first
    position of each in `ar1` and in `ar2`.

    Args:
      assume_unique: promises that neither array has an element twice.
      size: how many to return, so that the function can be traced. If there are fewer, the rest is `fill_value`, by default
        the least of them, and positions of the rest are the sizes of the arrays.
    """
    ar1, ar2 = map(ravel, promote_dtypes(*ensure_arraylikes("intersect1d", ar1, ar2)))
    if size is not None:
        return _intersect1d_size(
            ar1, ar2, return_indices=return_indices, size=size, fill_value=fill_value, assume_unique=assume_unique
        )
    first1 = first2 = arange(0)
    count = ar1.size
    if not assume_unique and return_indices:
        (ar1, first1), (ar2, first2) = (unique(x, return_index=True) for x in (ar1, ar2))
        count = ar1.size
    elif not assume_unique:
        ar1, ar2 = unique(ar1), unique(ar2)
    both, is_twice, places = _intersect1d_sorted_mask(ar1, ar2, return_indices)
    found = both[:-1][is_twice]
    if not return_indices:
        return found
    places1, places2 = places[:-1][is_twice], places[1:][is_twice] - count
    return (found, places1, places2) if assume_unique else (found, first1[places1], first2[places2])


@jit(static_argnames=("return_indices",))
def _intersect1d_sorted_mask(ar1: Any, ar2: Any, return_indices: bool) -> tuple[Any, Any, Any]:
    """Return the elements of both arrays, sorted; for each but the last, whether the next one equals it; and with
    `return_indices` the elements' positions in both arrays, one after the other.
    """
    both = concatenate((ar1, ar2))
    places = None
    if return_indices:
        both, places = lax.sort_key_val(both, lax.broadcasted_iota(dtypes.default_int_dtype(), both.shape, 0))
    else:
        both = sort(both)
    return both, both[1:] == both[:-1], places


@jit(static_argnames=("fill_value", "assume_unique", "size", "return_indices"))
def _intersect1d_size(ar1: Any, ar2: Any, fill_value: Any, assume_unique: bool, size: int, return_indices: bool) -> Any:
    if assume_unique:
        first1, count1 = arange(ar1.size), full((), ar1.size)
        first2, _ = arange(ar2.size), full((), ar2.size)
        both = concatenate([ar1, ar2])
        both, places = lax.sort([both, arange(both.size)], is_stable=True, num_keys=1)
        is_there = ones(both.size, dtype=bool)
    else:
        ar1, first1, count1 = unique_of_size(ar1, fill_value=0, return_index=True)
        ar2, first2, count2 = unique_of_size(ar2, fill_value=0, return_index=True)
        both = _one_behind_the_other(ar1, ar2, count1)
        is_there = arange(both.size) < count1 + count2
        _, both, places = lax.sort([~is_there, both, arange(both.size)], is_stable=True, num_keys=2)
    is_twice = (both[1:] == both[:-1]) & is_there[1:]
    count = is_twice.sum()
    if both.size:
        chosen = nonzero(is_twice, size=size, fill_value=both.size)[0]
        values = both.at[chosen].get(mode="fill", fill_value=0)
    else:
        chosen, values = arange(0), zeros(size, both.dtype)
    values = _filled(values, count, fill_value)
    if not return_indices:
        return values
    found1 = _or_end(places.at[chosen].get(mode="fill", fill_value=ar1.size), count, ar1.size)
    found2 = places.at[chosen + 1].get(mode="fill", fill_value=ar2.size) - count1
    found2 = _or_end(found2, count, ar2.size)
    if not assume_unique:
        found1 = first1.at[found1].get(mode="fill", fill_value=first1.size)
        found2 = first2.at[found2].get(mode="fill", fill_value=first2.size)
    return values, found1, found2


def _or_end(places: Any, count: Any, end: int) -> Any:
    return where(arange(len(places)) < count, places, end)


def _one_behind_the_other(ar1: Any, ar2: Any, count1: Any) -> Any:
    both = zeros(ar1.size + ar2.size, dtype=dtypes.result_type(ar1, ar2))
    both = lax.dynamic_update_slice(both, ar1, (0,))
    return lax.dynamic_update_slice(both, ar2, (count1,))


def _filled(values: Any, count: Any, fill_value: Any) -> Any:
    """Return the first `count` values, and in place of the others `fill_value`, by default the least value."""
    if fill_value is not None:
        return where(arange(len(values)) < count, values, fill_value)
    values = where(arange(len(values)) < count, values, values.max())
    return where(arange(len(values)) < count, values, values.min())


def setxor1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Any:
    """Return the distinct elements that are in exactly one of the arrays, in ascending order. For other arguments see `intersect1d`."""
    ar1, ar2 = promote_dtypes(*map(ravel, ensure_arraylikes("setxor1d", ar1, ar2)))
    if size is not None:
        return _setxor1d_size(ar1, ar2, fill_value=fill_value, assume_unique=assume_unique, size=size)
    if not assume_unique:
        ar1, ar2 = unique(ar1), unique(ar2)
    both = concatenate((ar1, ar2))
    if both.size == 0:
        return both
    both = sort(both)
    differs = concatenate((True, both[1:] != both[:-1], True), axis=None)
    return both[differs[1:] & differs[:-1]]


@jit(static_argnames=("assume_unique", "size"))
def _setxor1d_size(ar1: Any, ar2: Any, fill_value: Any, *, assume_unique: bool, size: int) -> Any:
    if assume_unique:
        concatenate([ar1, ar2])  # unused: JAX's program has it
        both = sort(concatenate([ar1, ar2]))
        differs = concatenate((bool(both.size), both[1:] != both[:-1], True), axis=None)
    else:
        (ar1, count1), (ar2, count2) = (unique_of_size(ravel(x)) for x in (ar1, ar2))
        both = _one_behind_the_other(ar1, ar2, count1)
        count = count1 + count2
        is_there = arange(both.size + 1) < count + 1
        _, both = lax.sort([~is_there[1:], both], is_stable=True, num_keys=2)
        neighbours = concatenate((bool(both.size), both[1:] != both[:-1], False), axis=None)
        differs = is_there & neighbours.at[count].set(True)
    is_single = differs[1:] & differs[:-1]
    count = is_single.sum()
    if both.size:
        chosen = nonzero(is_single, size=size, fill_value=len(both))[0]
        values = both.at[chosen].get(mode="fill", fill_value=0)
    else:
        values = zeros(size, both.dtype)
    return _filled(values, count, fill_value)
