"""Treats arrays as sets: unique, isin, union1d, setdiff1d.

The number of distinct elements depends on values, so under `jit` it must be given, as `size`.

JAX: jax/_src/numpy/setops.py:unique
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from .. import core, lax
from ..core import dtypes
from ..lax.elementwise_rules import scalar_like
from ..lax.utils import canonicalize_axis
from ..pjit.jit import jit
from . import reductions
from .creation import empty, full, full_like, ones, zeros
from .cumulative import cumsum
from .float_parts import isnan
from .joining import append, concatenate
from .promotion import promote_dtypes
from .ranges import arange
from .searching import searchsorted
from .selection import nonzero, where
from .shaping import diff, moveaxis, ravel
from .sorting import lexsort
from .util import ensure_arraylike, ensure_arraylikes

_SIZE_HINT = (
    "To make jnp.unique() compatible with JIT and other transforms, you can specify a concrete value for the size argument, "
    "which will determine the output size."
)


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,  # numpy's name; the elements always are
) -> Any:
    """Return the distinct elements in ascending order, or the distinct slices along `axis`; on request also the first
    position of each (`return_index`), every element's place among the distinct ones (`return_inverse`), and how often
    each occurs (`return_counts`).

    Args:
      size: how many to return, so that the function can be traced: the least ones if there are more; if there are fewer, the
        rest is `fill_value`, by default the least element.
      equal_nan: whether all nans are one value.
      sorted: changes nothing: the elements are always in order.

    Raises:
      ConcretizationTypeError: for a traced array without `size`.
      ValueError: for an array without elements, if `size` is not 0 and no `fill_value` is given.
    """
    arr = ensure_arraylike("unique", ar)
    if size is None:
        arr = _known(arr, f"The error arose for the first argument of jnp.unique(). {_SIZE_HINT}")
    else:
        size = operator.index(_known(size, f"The error arose for the size argument of jnp.unique(). {_SIZE_HINT}"))
    shape = arr.shape
    along = 0 if axis is None else canonicalize_axis(axis, arr.ndim)
    flat = arr.flatten() if axis is None else arr
    if flat.shape[along] == 0 and size and fill_value is None:
        raise ValueError("jnp.unique: for zero-sized input with nonzero size argument, fill_value must be specified")
    aux, mask, perm = _unique_sorted_mask(flat, along, equal_nan)
    unknown = f"The error arose in jnp.unique(). {_SIZE_HINT}"  # for a traced array
    first = _known(mask, unknown) if size is None else nonzero(mask, size=size)[0]
    results = [moveaxis(_filled(aux[first] if aux.size else aux, mask, size, fill_value), 0, along)]
    if return_index:
        results.append(perm[first] if aux.size else perm)
    if return_inverse:
        results.append(_inverse(mask, perm) if aux.size else zeros(flat.shape[along], dtype=int))
    if return_counts:
        if aux.size:
            results.append(_counts(mask, size))
        else:
            n = flat.shape[along]
            results.append(full((1,), n, dtype=int) if n else empty(0, dtype=int))
    if return_inverse and axis is None:
        place = 2 if return_index else 1
        results[place] = results[place].reshape(shape)
    return tuple(results) if len(results) > 1 else results[0]


def _known(x: Any, context: str) -> Any:
    """Return the value of x, without its tangent. If x has no value, raise ConcretizationTypeError with `context`."""
    return core.concrete_or_error(lambda value: value, core.value_if_known(x), context)


@jit(static_argnames=("axis", "equal_nan"))
def _unique_sorted_mask(ar: Any, axis: int, equal_nan: bool) -> tuple[Any, Any, Any]:
    """Return the slices, sorted; for each whether it is the first of equal ones; and the positions that the slices had."""
    aux = moveaxis(ar, axis, 0)
    if dtypes.issubdtype(aux.dtype, np.complexfloating):  # nan in one part: make both nan
        aux = where(isnan(aux), scalar_like(aux, np.nan), aux)
    size, *rest = aux.shape
    if math.prod(rest) == 0:
        size = 1
        perm = zeros(1, dtype=int)
    else:
        perm = lexsort(aux.reshape(size, math.prod(rest)).T[::-1])
    aux = aux[perm]
    if not aux.size:
        return aux, zeros(size, dtype=bool), perm
    first = ones(size, dtype=bool)
    differs = _not_equal(aux[1:], aux[:-1], equal_nan and dtypes.issubdtype(aux.dtype, np.inexact))
    return aux, first.at[1:].set(reductions.any(differs, tuple(range(1, aux.ndim)))), perm


def _not_equal(x: Any, y: Any, equal_nan: bool) -> Any:
    return lax.ne(x, y) & ~(isnan(x) & isnan(y)) if equal_nan else lax.ne(x, y)


def _filled(values: Any, mask: Any, size: int | None, fill_value: Any) -> Any:
    """Return the values, with `fill_value` at the positions without a distinct value; if it is None, the values as they are."""
    if size is None or fill_value is None:
        return values
    fill = lax.asarray(fill_value).astype(values.dtype)
    if not values.shape[0]:
        return full_like(values, fill, shape=(size, *values.shape[1:]))
    valid = lax.expand_dims(arange(size) < mask.sum(), tuple(range(1, values.ndim)))
    return where(valid, values, fill)


def _inverse(mask: Any, perm: Any) -> Any:
    number = cumsum(mask) - 1
    return zeros(mask.shape, dtype=int).at[perm].set(number)


def _counts(mask: Any, size: int | None) -> Any:
    """Return how often each distinct value occurs: the distances between first positions, and from the last of them to the end."""
    if size is None:
        return diff(append(nonzero(mask)[0], mask.size))
    first = nonzero(mask, size=size + 1)[0]
    return diff(first.at[1:].set(where(first[1:], first[1:], mask.size)))


def unique_of_size(ar: Any, fill_value: Any = None, return_index: bool = False) -> tuple[Any, ...]:
    """Return the distinct elements of the vector `ar` in ascending order, filled up to the size of `ar` with
    `fill_value` (None: the least element); with `return_index`, the first position of each; and the number of distinct
    elements.
    """
    size = ar.size
    aux, mask, perm = _unique_sorted_mask(ar, 0, True)
    first = nonzero(mask, size=size)[0]
    values = moveaxis(_filled(aux[first] if aux.size else aux, mask, size, fill_value), 0, 0)
    positions = (perm[first] if aux.size else perm,) if return_index else ()
    return (values, *positions, mask.sum())


class _UniqueAllResult(NamedTuple):
    """The result of `unique_all`."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class _UniqueCountsResult(NamedTuple):
    """The result of `unique_counts`."""

    values: Any
    counts: Any


class _UniqueInverseResult(NamedTuple):
    """The result of `unique_inverse`."""

    values: Any
    inverse_indices: Any


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> _UniqueAllResult:
    """Return all results of `unique`, as a named tuple; nans are distinct. `size` and `fill_value` are as for `unique`."""
    x = ensure_arraylike("unique_all", x)
    return _UniqueAllResult(
        *unique(
            x,
            return_index=True,
            return_inverse=True,
            return_counts=True,
            equal_nan=False,
            size=size,
            fill_value=fill_value,
        )
    )


def unique_counts(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> _UniqueCountsResult:
    """Return the distinct elements and how often each occurs, as a named tuple; nans are distinct. `size` and
    `fill_value` are as for `unique`.
    """
    x = ensure_arraylike("unique_counts", x)
    return _UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_inverse(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> _UniqueInverseResult:
    """Return the distinct elements, and each element's position among them, as a named tuple; nans are distinct. `size`
    and `fill_value` are as for `unique`.
    """
    x = ensure_arraylike("unique_inverse", x)
    return _UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return the distinct elements; nans are distinct. `size` and `fill_value` are as for `unique`."""
    return unique(ensure_arraylike("unique_values", x), equal_nan=False, size=size, fill_value=fill_value)


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, method: str = "auto"
) -> Any:
    """Return for each element whether it is among `test_elements` (with `invert`: whether it is not).

    `method` is "compare_all" (also "auto"), whose memory grows like the product of the sizes, or "binary_search" or
    "sort", whose memory grows like their sum. `assume_unique` promises that neither array has an element twice; only
    "sort" uses this. Raise ValueError for another method.
    """
    element, test_elements = ensure_arraylikes("isin", element, test_elements)
    found = _in1d(element, test_elements, invert=invert, method=method, assume_unique=assume_unique)
    return found.reshape(element.shape)


@jit(static_argnames=("assume_unique", "invert", "method"))
def _in1d(ar1: Any, ar2: Any, invert: bool, method: str = "auto", assume_unique: bool = False) -> Any:
    values, tested = (x.ravel() for x in promote_dtypes(*ensure_arraylikes("in1d", ar1, ar2)))
    if values.size == 0 or tested.size == 0:
        return (ones if invert else zeros)(values.shape, dtype=bool)
    if method in ("auto", "compare_all"):
        pairs = values[:, None], tested[None, :]
        return (pairs[0] != pairs[1]).all(-1) if invert else (pairs[0] == pairs[1]).any(-1)
    if method == "binary_search":
        tested = lax.sort(tested)
        nearest = tested[searchsorted(tested, values)]
        return values != nearest if invert else values == nearest
    if method == "sort":
        return _in1d_by_sorting(values, tested, invert, assume_unique)
    raise ValueError(f"{method=} is not implemented; options are 'compare_all', 'binary_search', 'sort', and 'auto'")


def _in1d_by_sorting(values: Any, tested: Any, invert: bool, assume_unique: bool) -> Any:
    """Return for each of `values` whether it is among `tested` (with `invert`, whether it is not), by sorting all together."""
    inverse: Any = slice(None)
    if not assume_unique:
        values, inverse = unique(values, size=len(values), return_inverse=True, fill_value=tested.max())
    both = concatenate([values, tested])
    ordered, places = lax.sort_key_val(both, arange(values.size + tested.size))
    start = (ones if invert else zeros)(values.shape, bool)
    equal = operator.ne if invert else operator.eq
    return start.at[places[:-1]].set(equal(ordered[1:], ordered[:-1]), mode="drop")[inverse]


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return the distinct elements of both arrays in ascending order; `size` and `fill_value` are as for `unique`."""
    ar1, ar2 = ensure_arraylikes("union1d", ar1, ar2)
    if size is None:
        ar1, ar2 = (_known(x, "The error arose in union1d()") for x in (ar1, ar2))
    else:
        size = _known(size, "The error arose in union1d()")
    return unique(concatenate((ar1, ar2), axis=None), size=size, fill_value=fill_value)


def setdiff1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Any:
    """Return the distinct elements of `ar1` that are not in `ar2`, in ascending order.

    Args:
      assume_unique: promises that `ar1` has no element twice; then the elements keep their order.
      size: how many to return, so that the function can be traced; missing ones are `fill_value`, by default 0.

    Raises:
      ConcretizationTypeError: for traced arrays without `size`.
    """
    ar1, ar2 = ensure_arraylikes("setdiff1d", ar1, ar2)
    if size is None:
        ar1 = _known(ar1, "The error arose in setdiff1d()")
    else:
        size = operator.index(_known(size, "The error arose in setdiff1d()"))
    values, others = ravel(ar1), ravel(ar2)
    fill = full_like(values, 0 if fill_value is None else fill_value, shape=())
    if values.size == 0:
        return full_like(values, fill, shape=size or 0)
    if not assume_unique:
        values = unique(values, size=size and values.size)
    mask = _in1d(values, others, invert=True, assume_unique=assume_unique)
    if size is None:
        return values[mask]
    if not assume_unique:  # `unique` has filled up `values` with its first element: do not take these copies
        count = values.size + 1 - (values == values[0]).sum()
        mask = where(arange(values.size) < count, mask, False)
    return where(arange(size) < mask.sum(), values[where(mask, size=size)], fill)
