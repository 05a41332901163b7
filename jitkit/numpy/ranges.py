"""Makes ranges of numbers, and grids of them.

JAX: jax/_src/numpy/lax_numpy.py:arange
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import core, lax, runtime
from ..base.jax_version import since
from ..core import dtypes
from ..lax.placing import placed as put
from ..lax.utils import canonicalize_axis
from ..pjit.jit import jit
from .arithmetic import log10, power
from .creation import asarray, empty, full, placed
from .promotion import broadcast_to, convert
from .ufuncs import sign as sign_
from .util import check_arraylike_or_none, concrete_index, ensure_arraylikes


def _placed(x: Any, device: Any) -> Any:
    """Return x on this device; None leaves x where it is. (If the move is recorded, its equation has a sharding, not the device.)"""
    return put(x, runtime.single_device_sharding(device) if hasattr(device, "client") else device)


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None, *, device: Any = None) -> Any:
    """Return start, start + step, ..., all before `stop`; `arange(n)` is 0, ..., n - 1. The arguments must be known
    while tracing.

    Raises:
      ConcretizationTypeError: for a traced argument.
      TracerArrayConversionError, TracerBoolConversionError: for arrays within a trace, if the length needs arithmetic with
        them: it is recorded, so its result is not known.
      ValueError: for an argument that is not a real scalar.
    """
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "arange")
    check_arraylike_or_none("arange", start, stop, step)
    names = ("stop" if stop is None and step is None else "start", "stop", "step")
    start, stop, step = (_known(x, name) for x, name in zip((start, stop, step), names, strict=True))
    if dtype is None:
        dtype = dtypes.result_type(start, *[x for x in (stop, step) if x is not None])
    if stop is None:
        start, stop = 0, start
    if step is not None:
        narrow = dtypes.issubdtype(dtype, np.floating) and dtypes.finfo(dtype).bits < 32
        working = np.dtype("float32") if narrow else dtype
        steps = lax.mul(lax.convert_element_type(step, working), _count_up(working, (stop - start) / step))
        return _placed(
            lax.convert_element_type(lax.add(lax.convert_element_type(start, working), steps), dtype), device
        )
    if start == 0:
        return _placed(_count_up(dtype, stop), device)
    length = stop - start
    return _placed(lax.add(lax.convert_element_type(start, dtype), _count_up(dtype, length)), device)


def _known(x: Any, name: str) -> Any:
    if x is None:
        return None
    x = core.concrete_or_error(
        lambda value: value, core.value_if_known(x), f"It arose in the jnp.arange argument '{name}'"
    )
    if np.ndim(x) != 0:
        raise ValueError(f"jax.numpy.arange: arguments must be scalars; got {name}={x}")
    if np.iscomplexobj(x):
        raise ValueError(
            "Passing complex start/stop/step to jnp.arange is no longer supported starting in JAX v0.10.0."
        )
    return x


def _count_up(dtype: Any, length: Any) -> Any:
    return lax.broadcasted_iota(dtype, (max(0, int(np.ceil(length))),), 0)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Return `num` values at equal distances from `start` to `stop`, which is the last one unless `endpoint` is False.

    Arrays of starts and stops give arrays of such rows, along a new `axis`. With `retstep`, return the pair of values
    and distance; the distance is nan for no values, and for one with `endpoint`. Raise ValueError for a negative `num`.
    """
    num = concrete_index(num, "'num' argument of jnp.linspace")
    axis = concrete_index(axis, "'axis' argument of jnp.linspace")
    result = _linspace(start, stop, num, endpoint, retstep, dtype, axis)
    if device is None:
        return result
    return (placed(result[0], device), result[1]) if retstep else placed(result, device)


@jit(static_argnames=("num", "endpoint", "retstep", "dtype", "axis"))
def _linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0
) -> Any:
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    start, stop = ensure_arraylikes("linspace", start, stop)
    dtype, working = _range_dtypes("linspace", dtype, start, stop)
    start, stop = convert(start, working), convert(stop, working)
    shape = list(lax.broadcast_shapes(start.shape, stop.shape))
    first, last = broadcast_to(start, shape), broadcast_to(stop, shape)
    axis = len(shape) + axis + 1 if axis < 0 else axis
    with_axis = [*shape[:axis], 1, *shape[axis:]]
    if num > 1:
        intervals = num - 1 if endpoint else num
        distance = (stop - start) / working.type(intervals)
        out = _interpolate(first, last, intervals, with_axis, axis)
        if endpoint:  # exactly `stop`, however the others are rounded
            out = lax.concatenate([out, lax.expand_dims(last, (axis,))], canonicalize_axis(axis, out.ndim))
    elif num == 1:
        distance = asarray(np.nan if endpoint else stop - start, dtype=working)
        out = first.reshape(with_axis)
    else:
        distance = full((), np.nan, working)
        out = empty([*shape[:axis], 0, *shape[axis:]], dtype)
    if dtypes.issubdtype(dtype, np.integer) and not dtypes.issubdtype(out.dtype, np.integer):
        out = lax.floor(out)
    result = convert(out, dtype)
    return (result, distance) if retstep else result


def _interpolate(first: Any, last: Any, intervals: int, shape: list[int], axis: int) -> Any:
    """Return first * (1 - t) + last * t for t = 0, 1/n, ..., (n-1)/n: monotone, unlike first + t * (last - first).
    Since JAX 0.12 the second product is (last / n) * i, whose last bit may differ.
    """
    working = first.dtype
    real = dtypes.finfo(working).dtype
    along = [1] * len(shape)
    along[axis] = intervals
    i, n = lax.iota(real, intervals).reshape(along), np.dtype(real).type(intervals)
    t = convert(i / n, working)
    if since(0, 12):
        return first.reshape(shape) * (1 - t) + (last.reshape(shape) / working.type(n)) * convert(i, working)
    return first.reshape(shape) * (1 - t) + last.reshape(shape) * t


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    """Return `num` values from base**start to base**stop, each a constant factor times the one before. Without
    `endpoint`, the last is one factor before base**stop.
    """
    num = concrete_index(num, "'num' argument of jnp.logspace")
    axis = concrete_index(axis, "'axis' argument of jnp.logspace")
    return _logspace(start, stop, num, endpoint, base, dtype, axis)


@jit(static_argnames=("num", "endpoint", "dtype", "axis"))
def _logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    dtype, working = _range_dtypes("logspace", dtype, start, stop)
    start, stop = (convert(x, working) for x in ensure_arraylikes("logspace", start, stop))
    exponents = linspace(start, stop, num, endpoint=endpoint, axis=axis)
    return lax.convert_element_type(power(base, exponents), dtype)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """Return `num` values from `start` to `stop`, each a constant factor times the one before. If `start` or `stop` is
    0, or they are real with different signs, some or all values are nan.
    """
    num = concrete_index(num, "'num' argument of jnp.geomspace")
    axis = concrete_index(axis, "'axis' argument of jnp.geomspace")
    return _geomspace(start, stop, num, endpoint, dtype, axis)


@jit(static_argnames=("num", "endpoint", "dtype", "axis"))
def _geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    dtype, working = _range_dtypes("geomspace", dtype, start, stop)
    start, stop = (convert(x, working) for x in ensure_arraylikes("geomspace", start, stop))
    sign = sign_(start)
    sizes = logspace(log10(start / sign), log10(stop / sign), num, endpoint=endpoint, base=10.0, dtype=working, axis=0)
    result = sign * sizes
    axis = canonicalize_axis(axis, result.ndim)
    if axis != 0:
        result = lax.transpose(result, (*range(1, axis + 1), 0, *range(axis + 1, result.ndim)))
    return lax.convert_element_type(result, dtype)


def _range_dtypes(name: str, dtype: Any, start: Any, stop: Any) -> tuple[Any, Any]:
    """Return the dtype of a range of numbers, and the floating point dtype in which it is computed."""
    if dtype is None:
        dtype = dtypes.to_inexact_dtype(dtypes.result_type(start, stop))
    else:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, name)
    return dtype, dtypes.to_inexact_dtype(dtype)


# --- grids -----------------------------------------------------------------------------------------------------------


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Any] | tuple[Any, ...]:
    """Return the coordinates of a grid, one array for each axis, from the one-dimensional arrays of coordinates along
    the axes: a tuple, up to JAX 0.10 a list.

    `indexing="xy"`, the default, swaps the first two axes. With `sparse`, each array has size 1 along the other axes.
    Raise ValueError for another `indexing`, `copy=False`, or arrays that are not one-dimensional.
    """
    args = ensure_arraylikes("meshgrid", *xi)
    if not copy:
        raise ValueError("jax.numpy.meshgrid only supports copy=True")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for indexing are 'xy' and 'ij', got {indexing}")
    if any(a.ndim != 1 for a in args):
        raise ValueError(f"Arguments to jax.numpy.meshgrid must be 1D, got shapes {[a.shape for a in args]}")
    exchanged = indexing == "xy" and len(args) >= 2
    if exchanged:
        args[0], args[1] = args[1], args[0]
    sizes = [a.shape[0] for a in args]
    output = [
        lax.broadcast_in_dim(a, [n if i == j or not sparse else 1 for j, n in enumerate(sizes)], (i,))
        for i, a in enumerate(args)
    ]
    if exchanged:
        output[0], output[1] = output[1], output[0]
    return tuple(output) if since(0, 11) else output


def indices(dimensions: Sequence[int], dtype: Any = None, sparse: bool = False) -> Any:
    """Return the index of every position along each axis: an array with a new first axis, or with `sparse` a tuple of
    arrays that broadcast against each other.
    """
    dtype = dtypes.check_and_canonicalize_user_dtype(int if dtype is None else dtype, "indices")
    shape = tuple(concrete_index(d, "dimensions argument of jnp.indices") for d in dimensions)
    output = []
    for i, n in enumerate(shape):
        sizes = tuple(n if i == j else 1 for j in range(len(shape))) if sparse else shape
        output.append(lax.broadcast_in_dim(lax.iota(dtype, n), sizes, (i,)))
    if sparse:
        return tuple(output)
    return lax.stack(output) if output else asarray(np.array([], dtype))


def ix_(*args: Any) -> tuple[Any, ...]:
    """Return one-dimensional arrays of positions, reshaped to broadcast against each other: the index of a grid. Raise
    ValueError for other shapes, NotImplementedError for bools.
    """
    arrays = ensure_arraylikes("ix", *args)
    output = []
    for i, a in enumerate(arrays):
        if a.ndim != 1:
            raise ValueError(f"Arguments to jax.numpy.ix_ must be 1-dimensional, got shape {a.shape}")
        if a.dtype == np.bool_:
            raise NotImplementedError("Boolean arguments to jax.numpy.ix_ are not implemented")
        sizes = tuple(a.shape[0] if i == j else 1 for j in range(len(arrays)))
        output.append(lax.broadcast_in_dim(a, sizes, (i,)))
    return tuple(output)
