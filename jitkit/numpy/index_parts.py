"""Parses an index into parts.

An index is a tuple of ints, slices, None, `...`, integer arrays and masks. Each becomes a `Part`, with the axes that it
consumes. Masks are then replaced by the positions of their true elements. The number of these is part of the result's
shape, so a traced mask is an error.

JAX: jax/_src/numpy/indexing.py:NDIndexer
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import core
from ..base import edits, errors
from ..core import dtypes
from .creation import asarray
from .util import is_array


class Kind(enum.Enum):
    """The kind of one part of an index."""

    NEW_AXIS = enum.auto()
    SLICE = enum.auto()
    ELLIPSIS = enum.auto()
    INTEGER = enum.auto()  # a Python or numpy int
    ARRAY = enum.auto()  # an integer array, of any rank, or a tracer of one
    BOOLEAN = enum.auto()


class Part(NamedTuple):
    """One part of an index, and the axes of the array that it consumes."""

    index: Any
    kind: Kind
    axes: tuple[int, ...]


_FULL = slice(None)


# --- parsing ---------------------------------------------------------------------------------------------------------


def _kind_of(index: Any) -> Kind:
    if index is None:
        return Kind.NEW_AXIS
    if index is Ellipsis:
        return Kind.ELLIPSIS
    if isinstance(index, slice):
        return Kind.SLICE
    if isinstance(index, bool | np.bool_):
        return Kind.BOOLEAN
    if isinstance(index, int | np.integer):
        return Kind.INTEGER
    if isinstance(index, np.ndarray) or is_array(index):
        return _kind_of_dtype(index.dtype)
    if isinstance(index, str):
        raise TypeError(
            f"JAX does not support string indexing; got idx={index!r}\nColumns with names are a dict of arrays, which jit takes, too."
        )
    if isinstance(index, Sequence):
        return _kind_of_dtype(asarray(index).dtype) if index else Kind.ARRAY
    if isinstance(index, float | complex | np.generic):
        raise TypeError(
            f"Indexer must have integer or boolean type, got indexer with type {np.dtype(type(index))}{edits.INTEGER_INDEX}"
        )
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or boolean arrays are valid indices. "
        f"Got {index}{errors.about_value_of_jax(index)}"
    )


def _kind_of_dtype(dtype: Any) -> Kind:
    if dtype == np.bool_:
        return Kind.BOOLEAN
    if not dtypes.issubdtype(dtype, np.integer):
        raise TypeError(
            f"Indexer must have integer or boolean type, got indexer with type {dtype}{edits.INTEGER_INDEX}"
        )
    return Kind.ARRAY


_CONSUMED = {Kind.NEW_AXIS: 0, Kind.ELLIPSIS: 0, Kind.SLICE: 1, Kind.INTEGER: 1, Kind.ARRAY: 1}


def parse(index: Any, shape: tuple[int, ...]) -> list[Part]:
    """Return the parts of an index of an array of this shape.

    Raises:
      IndexError: for too many parts, and several ellipses.
      TypeError: for lists in place of a tuple, arrays that are neither integers nor bools, and objects that are not indices.
    """
    indices = index_as_tuple(index)
    kinds = [_kind_of(i) for i in indices]
    consumed = [np.ndim(i) if kind is Kind.BOOLEAN else _CONSUMED[kind] for i, kind in zip(indices, kinds, strict=True)]
    if kinds.count(Kind.ELLIPSIS) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if sum(consumed) > len(shape):
        raise IndexError(
            f"Too many indices: array is {len(shape)}-dimensional, but {sum(consumed)} were indexed\nIts shape is {tuple(shape)}."
        )
    if Kind.ELLIPSIS in kinds:
        consumed[kinds.index(Kind.ELLIPSIS)] = len(shape) - sum(consumed)
    parts = []
    axis = 0
    for i, kind, count in zip(indices, kinds, consumed, strict=True):
        parts.append(Part(i, kind, tuple(range(axis, axis + count))))
        axis += count
    return parts


def index_as_tuple(index: Any) -> tuple[Any, ...]:
    """Return the parts of an index as a tuple. Raise TypeError for a list, since numpy would guess what it means."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, Sequence) and not isinstance(index, str):
        several = any(map(_has_axes_or_is_special, index))
        instead = "tuple(seq)" if several else "array(seq)"
        raise TypeError(
            f"Using a non-tuple sequence for multidimensional indexing is not allowed; use `arr[{instead}]` instead of "
            "`arr[seq]`. See https://github.com/jax-ml/jax/issues/4564 for more information."
        )
    return (index,)


def _has_axes_or_is_special(i: Any) -> bool:
    if isinstance(i, np.ndarray) or is_array(i):
        return np.ndim(i) != 0
    return isinstance(i, Sequence | slice) or i is Ellipsis or i is None


def expand_ellipsis(parts: list[Part], rank: int) -> list[Part]:
    """Return the parts without an ellipsis: `...`, and missing parts at the end, become full slices, one for each axis."""
    expanded: list[Part] = []
    for part in parts:
        if part.kind is Kind.ELLIPSIS:
            expanded += [Part(_FULL, Kind.SLICE, (axis,)) for axis in part.axes]
        else:
            expanded.append(part)
    covered = sum(len(part.axes) for part in parts)
    return expanded + [Part(_FULL, Kind.SLICE, (axis,)) for axis in range(covered, rank)]


def expand_masks(parts: list[Part], shape: tuple[int, ...]) -> list[Part]:
    """Return the parts with masks replaced by the positions of their true elements, one integer array per axis. A mask
    without axes stays a mask.

    Raises:
      NonConcreteBooleanIndexError: for a traced mask.
      IndexError: for a mask of another size than its axes. (A size of 0 fits any axis.)
    """
    expanded: list[Part] = []
    for position, part in enumerate(parts):
        if part.kind is not Kind.BOOLEAN:
            expanded.append(part)
            continue
        if isinstance(part.index, core.Tracer):
            raise errors.NonConcreteBooleanIndexError(part.index.aval.str_short(), part.index._origin_msg())
        mask = np.asarray(part.index)
        if mask.ndim == 0:
            expanded.append(Part(bool(mask), Kind.BOOLEAN, ()))
            continue
        expected = [shape[axis] for axis in part.axes]
        if not all(have in (0, want) for have, want in zip(mask.shape, expected, strict=True)):
            raise IndexError(
                f"boolean index did not match shape of indexed array in index {position}: got {mask.shape}, expected {expected}"
                "\nA mask must have the sizes of the axes that it selects from. Make it from that array, as in `x[x > 0]`."
            )
        expanded += [Part(i, Kind.ARRAY, (axis,)) for i, axis in zip(np.where(mask), part.axes, strict=True)]
    return expanded


def is_known_slice(s: slice) -> bool:
    """Return whether no entry of a slice is traced."""
    return not (isinstance(s.start, core.Tracer) or isinstance(s.stop, core.Tracer) or isinstance(s.step, core.Tracer))


def slice_indices(s: slice, size: int) -> tuple[int, int, int]:
    """Return a slice's start, stop and step for an axis, as `slice.indices`. Raise the TypeError of comparing an entry
    of a wrong kind, or of converting it to an int.
    """
    try:
        return s.indices(size)
    except TypeError:
        if s.step is not None:
            bool(s.step > 0)
        for x in (s.start, s.stop, s.step):
            if x is not None:
                bool(x >= 0)
                operator.index(x)
        raise


def index_dtype(shape: Sequence[int]) -> np.dtype[Any]:
    """Return the dtype of positions in an array of this shape: int32, or int64 if an axis is too long for it."""
    return np.dtype("int64" if any(size > np.iinfo(np.int32).max for size in shape) else "int32")
