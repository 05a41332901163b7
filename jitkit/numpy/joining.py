"""Joins, splits and repeats arrays: concatenate, stack, split, tile, repeat.

JAX: jax/_src/numpy/lax_numpy.py:concatenate
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import core, lax
from ..base import edits
from ..base.jax_version import since
from ..interpreters.vmap import vmap
from ..lax.utils import canonicalize_axis, index_tuple
from ..pjit.jit import inlined, jit
from .creation import array, asarray, full, zeros
from .cumulative import cumsum
from .promotion import broadcast_to, promote_dtypes
from .shaping import atleast_1d, atleast_2d, atleast_3d, expand_dims, ravel, roll
from .taking import take
from .util import check_arraylike, concrete_index, ensure_arraylike, ensure_arraylikes, is_array

_ARRAY_AS_DTYPE = ValueError(
    "Passing an array as a dtype argument is no longer supported; instead of dtype=arr use dtype=arr.dtype."
)
Arrays = Any  # a sequence of arrays, or one array whose first axis is that sequence


def _is_one_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) or is_array(x)


# --- joining ---------------------------------------------------------------------------------------------------------


def concatenate(arrays: Arrays, axis: int | None = 0, dtype: Any = None) -> Any:
    """Return the arrays, concatenated along `axis`; if `axis` is None, they are flattened first. Their dtypes are
    promoted, unless `dtype` is given.

    Raises:
      ValueError: for no arrays, for an axis out of range, and for scalars, unless `axis` is None.
      TypeError: shapes differ in another axis.
    """
    if _is_one_array(arrays):
        return _concatenate_rows(asarray(arrays, dtype=dtype), axis)
    operands = ensure_arraylikes("concatenate", *arrays)
    if not operands:
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        return concatenate([ravel(a) for a in operands], axis=0, dtype=dtype)
    if operands[0].ndim == 0:
        raise ValueError(f"Zero-dimensional arrays cannot be concatenated.{edits.OF_A_LIST}")
    axis = canonicalize_axis(axis, operands[0].ndim)
    operands = promote_dtypes(*operands) if dtype is None else [asarray(a, dtype=dtype) for a in operands]
    return lax.concatenate(operands, axis)


def _concatenate_rows(arr: Any, axis: int | None) -> Any:
    """Return the subarrays of the first axis, concatenated by a reshape. Raise ValueError for no subarrays, or scalars."""
    if arr.ndim == 0 or arr.shape[0] == 0:
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        return lax.reshape(arr, (arr.size,))
    if arr.ndim == 1:
        raise ValueError(f"Zero-dimensional arrays cannot be concatenated.{edits.OF_A_LIST}")
    axis = canonicalize_axis(axis, arr.ndim - 1)
    shape = (*arr.shape[1 : axis + 1], arr.shape[0] * arr.shape[axis + 1], *arr.shape[axis + 2 :])
    return lax.reshape(arr, shape, [*range(1, axis + 1), 0, *range(axis + 1, arr.ndim)])


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Any:
    """Return `concatenate(arrays, axis)`."""
    check_arraylike("concat", *arrays)
    return concatenate(arrays, axis=axis)


@jit(static_argnames=("axis",))
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Return `arr`, followed by `values` along `axis`; if `axis` is None, both are flattened first."""
    return concatenate([arr, values], axis=axis) if axis is not None else concatenate([ravel(arr), ravel(values)], 0)


def stack(arrays: Arrays, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """Return arrays of one shape, stacked along a new axis. Raise ValueError for no arrays, different shapes, or an axis out of range;
    NotImplementedError if `out` is given.
    """
    _refuse_an_array("stack", axis, TypeError("Only integer scalar arrays can be converted to a scalar index."))
    if not len(arrays):
        raise ValueError("Need at least one array to stack.")
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.stack is not supported.{edits.NO_OUT}")
    if _is_one_array(arrays):
        axis = canonicalize_axis(axis, arrays.ndim)
        return concatenate(expand_dims(arrays, axis + 1), axis=axis, dtype=dtype)
    operands = ensure_arraylikes("stack", *arrays)
    operands = promote_dtypes(*operands) if dtype is None else [asarray(a, dtype=dtype) for a in operands]
    return lax.stack(operands, axis=axis)


def vstack(tup: Arrays, dtype: Any = None) -> Any:
    """Return arrays, concatenated along the first axis: one-dimensional ones become rows first."""
    _refuse_an_array("vstack", dtype, _ARRAY_AS_DTYPE)
    return concatenate(_each("vstack", atleast_2d, tup), axis=0, dtype=dtype)


def hstack(tup: Arrays, dtype: Any = None) -> Any:
    """Return arrays, concatenated along the second axis, or the only one."""
    _refuse_an_array("hstack", dtype, _ARRAY_AS_DTYPE)
    arrays = _each("hstack", atleast_1d, tup)
    rank = arrays.ndim - 1 if _is_one_array(arrays) else arrays[0].ndim
    return concatenate(arrays, axis=0 if rank == 1 else 1, dtype=dtype)


def dstack(tup: Arrays, dtype: Any = None) -> Any:
    """Return arrays, concatenated along the third axis, after `atleast_3d`."""
    _refuse_an_array("dstack", dtype, _ARRAY_AS_DTYPE)
    return concatenate(_each("dstack", atleast_3d, tup), axis=2, dtype=dtype)


def column_stack(tup: Arrays) -> Any:
    """Return arrays, concatenated as columns: one-dimensional ones become columns first."""
    return concatenate(_each("column_stack", _as_columns, tup), axis=1)


def _as_columns(x: Any) -> Any:
    x = asarray(x)
    return atleast_2d(x).T if x.ndim < 2 else x


def _refuse_an_array(name: str, given: Any, error: Exception) -> None:
    """Raise an error like `error`, with advice added, if `given`, the argument after the sequence of arrays, is an
    array with axes: `jnp.stack(x, y)`.
    """
    if isinstance(getattr(given, "ndim", None), int) and given.ndim:
        raise type(error)(f"{error}{edits.OF_ONE_SEQUENCE.format(name)}")


def _each(name: str, function: Callable[[Any], Any], arrays: Arrays) -> Any:
    """Return `function` of each array. For the rows of one array, call it under `vmap`, so that one equation serves all."""
    if _is_one_array(arrays):
        return vmap(function)(arrays)
    check_arraylike(name, *arrays)
    return [function(x) for x in arrays]


@jit
def block(arrays: Any) -> Any:
    """Return nested lists of blocks, joined to one array: the innermost lists along the last axis, their results along
    the axis before, and so on. Raise ValueError for tuples, empty lists, and lists of different depths.
    """
    return _block(arrays)[0]


def _block(xs: Any) -> tuple[Any, int]:
    if isinstance(xs, tuple):
        raise ValueError(f"jax.numpy.block does not allow tuples, got {xs}")
    if not isinstance(xs, list):
        return asarray(xs), 1
    if not xs:
        raise ValueError("jax.numpy.block does not allow empty list arguments")
    parts, depths = zip(*map(_block, xs), strict=True)
    if any(depth != depths[0] for depth in depths):
        raise ValueError("Mismatched list depths in jax.numpy.block")
    rank = max(depths[0], *[x.ndim for x in parts])
    parts = tuple(x if x.ndim >= rank else lax.broadcast(x, (1,) * (rank - x.ndim)) for x in parts)
    return concatenate(parts, axis=-depths[0]), depths[0] + 1


# --- splitting -------------------------------------------------------------------------------------------------------


def _split(name: str, ary: Any, indices_or_sections: Any, axis: int) -> list[Any]:
    ary = ensure_arraylike(name, ary)
    axis = concrete_index(axis, f"in jax.numpy.{name} argument `axis`")
    size = ary.shape[axis]
    if isinstance(indices_or_sections, tuple | list) or np.ndim(indices_or_sections) > 0:
        cuts = [concrete_index(cut, f"in jax.numpy.{name} argument 1") for cut in indices_or_sections]
        if since(0, 11):  # as in NumPy: negative ones count from the end, and one beyond it gives an empty part
            cuts = np.clip([cut + size if cut < 0 else cut for cut in cuts], 0, size).tolist()
        sizes: Any = np.diff([0, *cuts, size])
    else:
        sections = core.concrete_or_error(
            int, core.value_if_known(indices_or_sections), f"in jax.numpy.{name} argument 1"
        )
        part, rest = divmod(size, sections)
        if rest and name != "array_split":
            raise ValueError(f"array split does not result in an equal division: rest is {rest}{edits.UNEQUAL_PARTS}")
        sizes = [part + 1] * rest + [part] * (sections - rest)
    shown: Any = [np.int64(n) for n in sizes]  # jaxprs show the type of these
    return list(lax.split(ary, shown, axis=axis))


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Return a list of the parts of `ary` along `axis`: n equal ones for an int, or those between the positions of a
    list. Raise ValueError if n does not divide the size.
    """
    return _split("split", ary, indices_or_sections, axis)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Return a list of parts, like `split`. If n does not divide the size, the first parts are larger by one."""
    return _split("array_split", ary, indices_or_sections, axis)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Return a list of parts along the first axis, as `split` does, with its errors."""
    return _split("vsplit", ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Return a list of parts along the second axis, or the only one, as `split` does, with its errors."""
    ary = ensure_arraylike("hsplit", ary)
    return _split("hsplit", ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Return a list of parts along the third axis, as `split` does, with its errors."""
    return _split("dsplit", ary, indices_or_sections, 2)


@inlined(static_argnames=("axis",))
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """Return the subarrays along `axis`, as a tuple."""
    return tuple(lax.unstack(ensure_arraylike("unstack", x), axis=axis))


# --- repeating -------------------------------------------------------------------------------------------------------


def tile(A: Any, reps: int | Sequence[int]) -> Any:
    """Return the whole array, repeated along its last axes: `reps` has a number for each of them, or is a number for
    the last. The array gets new axes in front if `reps` is longer than its shape.
    """
    A = ensure_arraylike("tile", A)
    each: Any = reps if isinstance(reps, Sequence) or np.ndim(reps) else (reps,)
    times = tuple(map(operator.index, each))
    times = (1,) * (A.ndim - len(times)) + times
    if len(times) > A.ndim:
        A = lax.expand_dims(A, tuple(range(len(times) - A.ndim)))
    return lax.tile(A, times)


def repeat(a: Any, repeats: Any, axis: int | None = None, *, total_repeat_length: int | None = None) -> Any:
    """Return the array (flattened, if `axis` is None) with each element along `axis` repeated `repeats` times: an int,
    or an int for each element. A traced `repeats` needs its sum, `total_repeat_length`, as a Python int.

    Raises:
      ConcretizationTypeError: for traced `repeats` without `total_repeat_length`.
      ValueError: for `repeats` that are neither one number nor one for each element.
    """
    check_arraylike("repeat", a, *([] if isinstance(repeats, int) else [repeats]))
    a = asarray(a)
    if axis is None:
        a, axis = a.ravel(), 0
    axis = concrete_index(axis, "'axis' argument of jnp.repeat()")
    if a.ndim:
        axis = canonicalize_axis(axis, a.ndim)
    if total_repeat_length is None:
        repeats = core.concrete_or_error(
            np.asarray,
            repeats,
            "When jit-compiling jnp.repeat, the total number of repeats must be static. To fix this, either specify a "
            "static value for `repeats`, or pass a static value to `total_repeat_length`.",
        )
        if a.ndim == 0:
            return _repeat_number(a, np.ravel(repeats), int(np.sum(repeats)))
        if repeats.ndim == 0:
            times = int(repeats) if repeats.dtype == bool else operator.index(repeats[()])
            return _repeat_all(a, times, axis)
        repeats = np.broadcast_to(np.ravel(repeats), [a.shape[axis]])
        total_repeat_length = int(np.sum(repeats))
    elif a.ndim == 0:
        return _repeat_number(a, ravel(repeats), total_repeat_length)
    else:
        repeats = broadcast_to(ravel(repeats), [a.shape[axis]])
    if total_repeat_length == 0:
        return array([], dtype=a.dtype).reshape((*a.shape[:axis], 0, *a.shape[axis + 1 :]))
    if a.shape[axis] == 0:
        return a
    # Ones where the next element begins; their running sum is the element's number.
    starts = cumsum(roll(repeats, shift=1).at[0].set(0))
    begins = zeros([total_repeat_length], dtype="int32").at[starts].add(1)
    return take(a, cumsum(begins) - 1, axis=axis)


def _repeat_number(a: Any, repeats: Any, times: int) -> Any:
    if repeats.shape != (1,):
        raise ValueError(
            "`repeat` with a scalar parameter `a` is only implemented for scalar values of the parameter `repeats`."
        )
    return full([times], a)


def _repeat_all(a: Any, times: int, axis: int) -> Any:
    """Return the array with each element repeated the same number of times, by a broadcast."""
    shape = [*a.shape[: axis + 1], times, *a.shape[axis + 1 :]]
    spread = lax.broadcast_in_dim(a, shape, [i for i in range(len(shape)) if i != axis + 1])
    return spread.reshape((*a.shape[:axis], a.shape[axis] * times, *a.shape[axis + 1 :]))


@jit(static_argnames=("new_shape",))
def resize(a: Any, new_shape: Any) -> Any:
    """Return an array of `new_shape`, filled with the elements in row-major order, repeated, or with zeros if there are
    none. Raise ValueError for negative sizes.
    """
    check_arraylike("resize", a)
    new_shape = index_tuple(new_shape)
    if any(n < 0 for n in new_shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    flat = ravel(a)
    size = int(np.prod(new_shape))
    if flat.size == 0 or size == 0:
        return full(new_shape, 0, flat.dtype)
    return tile(flat, -(-size // flat.size))[:size].reshape(new_shape)
