"""Changes the shape of arrays: broadcast, reshape, squeeze, transpose, reverse.

XLA turns most of them into another way to read the same memory rather than into copies.

JAX: jax/_src/lax/lax.py:broadcast_in_dim
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import core
from ..base import edits
from ..core import Primitive, ShapedArray
from ..interpreters import batching
from ..interpreters.ad_rules import deflinear
from ..interpreters.batching import AxisData, Vals, moveaxis, register_batcher, shifted, shifted_by_numpy
from ..interpreters.mlir import LoweringContext, register_lowering
from ..interpreters.partial_eval import DynamicJaxprTrace, DynamicJaxprTracer, staging_rules
from ..jaxpr import pp_eqn_rules
from ..jaxpr.printer import hide_params
from .convert import asarray
from .reduction import reduce_sum
from .utils import canonicalize_axis, canonicalize_shape, check_shapelike, is_array

# --- broadcast_in_dim ----------------------------------------------------------------------------------
broadcast_in_dim_p = Primitive("broadcast_in_dim")
pp_eqn_rules[broadcast_in_dim_p] = hide_params("shape", broadcast_dimensions=())


@broadcast_in_dim_p.def_abstract_eval
def _(x: ShapedArray, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]) -> ShapedArray:
    check_shapelike("broadcast_in_dim", "shape", shape)
    check_shapelike("broadcast_in_dim", "broadcast_dimensions", broadcast_dimensions)
    if x.ndim != len(broadcast_dimensions):
        raise TypeError(
            "broadcast_in_dim broadcast_dimensions must have length equal to operand ndim; "
            f"got broadcast_dimensions {broadcast_dimensions} for operand ndim {x.ndim}."
        )
    if len(shape) < x.ndim:
        raise TypeError(
            "broadcast_in_dim target broadcast shape must have equal or higher rank to the operand shape; "
            f"got operand ndim {x.ndim} and target broadcast ndim {len(shape)}."
        )
    if not set(broadcast_dimensions) <= set(range(len(shape))):
        raise TypeError(
            "broadcast_in_dim broadcast_dimensions must be a subset of output dimensions, "
            f"got {broadcast_dimensions} for operand ndim {x.ndim} and shape {shape}."
        )
    if any(size not in (1, shape[axis]) for size, axis in zip(x.shape, broadcast_dimensions, strict=True)):
        raise TypeError(
            "broadcast_in_dim operand dimension sizes must either be 1, or be equal to their corresponding "
            f"dimensions in the target broadcast shape; got operand of shape {x.shape}, "
            f"target broadcast shape {shape}, broadcast_dimensions {broadcast_dimensions} "
        )
    if len(set(broadcast_dimensions)) != len(broadcast_dimensions):
        raise TypeError(
            "broadcast_in_dim broadcast_dimensions must not contain duplicates, "
            f"got broadcast_dimensions {broadcast_dimensions}"
        )
    return x.update(shape=shape)


def _stage_broadcast(trace: DynamicJaxprTrace, operands: list[DynamicJaxprTracer], params: dict[str, Any]) -> Any:
    """Staging rule: return the operand if it has the shape, else NotImplemented: then the equation is recorded. It is
    always recorded in `linear_transpose`, for which JAX has another trace.
    """
    (x,) = operands
    if trace.debug_info.traced_for == "linear_transpose":
        return NotImplemented
    out = broadcast_in_dim_p.abstract_eval(x.aval, **params)
    return x if out.shape == x.shape else NotImplemented


staging_rules[broadcast_in_dim_p] = _stage_broadcast


@register_lowering(broadcast_in_dim_p)
def _(ctx: LoweringContext, x: str, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]) -> str:
    dims = ", ".join(map(str, broadcast_dimensions))
    return ctx.emit_op(f"stablehlo.broadcast_in_dim {x}, dims = [{dims}]", ctx.avals_in, ctx.avals_out[0])


def _transpose_broadcast(
    ct: Any, x: Any, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> list[Any]:
    """Transpose rule: sum the cotangent over the axes along which the operand was repeated."""
    ones = [i for i, size in enumerate(x.aval.shape) if size == 1]
    kept = [axis for i, axis in enumerate(broadcast_dimensions) if i not in ones]
    return [expand_dims(reduce_sum(ct, [axis for axis in range(len(shape)) if axis not in kept]), ones)]


deflinear(broadcast_in_dim_p, _transpose_broadcast)


def broadcast_in_dim(operand: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> Any:
    """Return `operand`, repeated along new axes, and along axes of size 1.

    Args:
      operand: an array or scalar.
      shape: the shape of the result.
      broadcast_dimensions: for each axis of `operand`, its axis in the result.

    Raises:
      TypeError: the arguments do not fit together. But if `broadcast_dimensions` is empty, an array with as many axes as
        `shape` is returned unchanged, even if its sizes differ.
    """
    if np.ndim(operand) == len(shape) and not len(broadcast_dimensions) and is_array(operand):
        return asarray(operand)
    dimensions = tuple(broadcast_dimensions)
    return broadcast_in_dim_p.bind(operand, shape=tuple(shape), broadcast_dimensions=dimensions)


batching.broadcasting.broadcast_in_dim = broadcast_in_dim


@register_batcher(broadcast_in_dim_p)
def _(
    axis: AxisData, vals: Vals, dims: Sequence[int], *, shape: Sequence[int], broadcast_dimensions: Sequence[int]
) -> Any:
    x = moveaxis(vals[0], dims[0], 0)
    return broadcast_in_dim(x, (axis.size, *shape), (0, *shifted_by_numpy(broadcast_dimensions, 0))), 0


def broadcast(operand: Any, sizes: Sequence[int]) -> Any:
    """Return `operand`, repeated along new axes of these sizes, in front of its own."""
    if len(sizes) == 0:
        return asarray(operand)
    dimensions = tuple(range(len(sizes), len(sizes) + np.ndim(operand)))
    return broadcast_in_dim(operand, tuple(sizes) + np.shape(operand), dimensions)


def broadcast_to(operand: Any, shape: Sequence[int]) -> Any:
    """Return `operand`, broadcast to `shape` by NumPy's rules. Raise ValueError where it does not fit."""
    old_shape, shape = np.shape(operand), tuple(shape)
    if old_shape == shape:
        return asarray(operand)
    if len(shape) < len(old_shape):
        raise ValueError(
            f"Cannot broadcast to shape with fewer dimensions: arr_shape={old_shape} {shape=}{edits.FEWER_AXES}"
        )
    lead = len(shape) - len(old_shape)
    if any(old not in (1, new) for old, new in zip(old_shape, shape[lead:], strict=True)):
        aval = core.get_aval(operand)
        raise ValueError(
            "Incompatible types for broadcasting: "
            f"input type={'~' if aval.weak_type else ''}{aval.str_short()} "
            f"and requested type={aval.update(shape=shape).str_short()}{edits.BROADCAST_TO}"
        )
    return broadcast_in_dim(operand, shape, tuple(range(lead, len(shape))))


def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """Return `arr`, broadcast to the shape of `like_arr`."""
    return broadcast_to(arr, np.shape(like_arr))


def broadcast_to_rank(x: Any, rank: int) -> Any:
    """Return x with axes of size 1 in front, up to `rank` axes."""
    ndim = np.ndim(x)
    return asarray(x) if ndim == rank else broadcast(x, (1,) * (rank - ndim))


# --- reshape -------------------------------------------------------------------------------------------
reshape_p = Primitive("reshape")


@reshape_p.def_abstract_eval
def _(x: ShapedArray, *, new_sizes: tuple[int, ...], dimensions: Any, sharding: None) -> ShapedArray:
    if any(size < 0 for size in new_sizes):
        raise TypeError(f"reshape new_sizes must all be positive, got {new_sizes}.")
    if dimensions is not None and sorted(dimensions) != list(range(x.ndim)):
        raise TypeError(
            "reshape dimensions must be a permutation of operand dimensions, "
            f"got dimensions {dimensions} for shape {x.shape}."
        )
    if math.prod(new_sizes) != x.size:
        raise TypeError(f"reshape total size must be unchanged, got {new_sizes=} for shape {x.shape}.")
    return x.update(shape=new_sizes)


@register_lowering(reshape_p)
def _(ctx: LoweringContext, x: str, *, new_sizes: tuple[int, ...], dimensions: Any, sharding: None) -> str:
    aval: ShapedArray = ctx.avals_in[0]
    if dimensions is not None:
        permuted = aval.update(shape=[aval.shape[axis] for axis in dimensions])
        x, aval = _write_transpose(ctx, x, aval, dimensions, permuted), permuted
    return ctx.reshape(x, aval, new_sizes)


def _transpose_reshape(ct: Any, x: Any, *, new_sizes: tuple[int, ...], dimensions: Any, sharding: None) -> list[Any]:
    if dimensions is None:
        return [reshape(ct, x.aval.shape)]
    permuted = reshape(ct, [x.aval.shape[axis] for axis in dimensions])
    return [transpose(permuted, np.argsort(dimensions))]


deflinear(reshape_p, _transpose_reshape)


@register_batcher(reshape_p)
def _(
    axis: AxisData, vals: Vals, dims: Sequence[int], *, new_sizes: Sequence[int], dimensions: Any, sharding: None
) -> Any:
    x = moveaxis(vals[0], dims[0], 0)
    order = None if dimensions is None else (0, *shifted(dimensions, 0))
    return reshape(x, (axis.size, *new_sizes), order), 0


def reshape(operand: Any, new_sizes: Any, dimensions: Sequence[int] | None = None) -> Any:
    """Return the same elements in row-major order in another shape; with `dimensions`, transpose by them first.

    Raises:
      TypeError: the number of elements differs, `new_sizes` is not a shape, or `dimensions` not a permutation of the axes.
    """
    sizes = canonicalize_shape(new_sizes)
    if dimensions is not None:
        dimensions = tuple(map(operator.index, dimensions))
        if dimensions == tuple(range(np.ndim(operand))):
            dimensions = None
    if sizes and np.shape(operand) == sizes and dimensions is None and is_array(operand):
        return asarray(operand)
    return reshape_p.bind(operand, new_sizes=sizes, dimensions=dimensions, sharding=None)


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """Return the array with the axes from `start_dimension` to before `stop_dimension`, by default to the last, merged into
    one. Raise ValueError if stop is before start.
    """
    shape = operand.shape
    low, high, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if high < low:
        axes = f"{shape}[{start_dimension}:{stop_dimension}]"
        raise ValueError(f"Invalid dimension range passed to collapse: {axes}")
    return reshape(operand, (*shape[:low], math.prod(shape[low:high]), *shape[high:]))


# --- squeeze, expand_dims ------------------------------------------------------------------------------
squeeze_p = Primitive("squeeze")


@squeeze_p.def_abstract_eval
def _(x: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    if len(set(dimensions)) != len(dimensions):
        raise ValueError(f"dimensions are not unique: {dimensions}")
    if any(not 0 <= axis < x.ndim for axis in dimensions):
        raise ValueError(f"dimensions outside range [0, ndim): {dimensions}")
    if any(x.shape[axis] != 1 for axis in dimensions):
        raise ValueError(
            "cannot select an axis to squeeze out which has size not equal to one, "
            f"got shape={x.shape} and {dimensions=}{edits.SQUEEZED}"
        )
    return x.update(shape=[size for axis, size in enumerate(x.shape) if axis not in dimensions])


@register_lowering(squeeze_p)
def _(ctx: LoweringContext, x: str, *, dimensions: tuple[int, ...]) -> str:
    return ctx.reshape(x, ctx.avals_in[0], ctx.avals_out[0].shape)


deflinear(squeeze_p, lambda ct, x, dimensions: [expand_dims(ct, dimensions)])


@register_batcher(squeeze_p)
def _(axis: AxisData, vals: Vals, dims: Sequence[int], *, dimensions: Sequence[int]) -> Any:
    return squeeze(moveaxis(vals[0], dims[0], 0), shifted(dimensions, 0)), 0


def squeeze(array: Any, dimensions: Sequence[int]) -> Any:
    """Return `array` without these axes. Raise ValueError for axes of a size other than 1, out of range, or repeated."""
    ndim = np.ndim(array)
    axes = tuple(sorted(canonicalize_axis(axis, ndim) for axis in dimensions))
    if not axes and is_array(array):
        return asarray(array)
    return squeeze_p.bind(array, dimensions=axes)


def expand_dims(array: Any, dimensions: Sequence[int]) -> Any:
    """Return `array` with new axes of size 1 at these positions of the result. Raise ValueError for repeated positions,
    or out of range.
    """
    if len(set(dimensions)) != len(dimensions):
        raise ValueError(f"repeated axis in lax.expand_dims: {dimensions}")
    ndim = np.ndim(array) + len(dimensions)
    new = [canonicalize_axis(axis, ndim) for axis in dimensions]
    if len(set(new)) != len(new):
        raise ValueError(f"repeated axis in lax.expand_dims: {new}")
    shape = list(np.shape(array))
    for axis in sorted(new):
        shape.insert(axis, 1)
    return broadcast_in_dim(array, shape, [axis for axis in range(ndim) if axis not in new])


# --- transpose -----------------------------------------------------------------------------------------
transpose_p = Primitive("transpose")


@transpose_p.def_abstract_eval
def _(x: ShapedArray, *, permutation: tuple[int, ...]) -> ShapedArray:
    if sorted(permutation) != list(range(x.ndim)):
        raise TypeError(
            "transpose permutation isn't a permutation of operand dimensions, "
            f"got permutation {permutation} for operand shape {x.shape}."
        )
    return x.update(shape=[x.shape[axis] for axis in permutation])


@register_lowering(transpose_p)
def _(ctx: LoweringContext, x: str, *, permutation: tuple[int, ...]) -> str:
    return _write_transpose(ctx, x, ctx.avals_in[0], permutation, ctx.avals_out[0])


deflinear(transpose_p, lambda ct, x, permutation: [transpose(ct, np.argsort(permutation))])


@register_batcher(transpose_p)
def _(axis: AxisData, vals: Vals, dims: Sequence[int], *, permutation: Sequence[int]) -> Any:
    [x], [dim] = vals, dims
    return transpose(x, (dim, *shifted(permutation, dim))), 0


def _write_transpose(ctx: LoweringContext, x: str, aval: ShapedArray, axes: Sequence[int], out: ShapedArray) -> str:
    return ctx.emit_op(f"stablehlo.transpose {x}, dims = [{', '.join(map(str, axes))}]", [aval], out)


def transpose(operand: Any, permutation: Sequence[int] | np.ndarray[Any, Any]) -> Any:
    """Return `operand` with its axes permuted: axis i of the result is axis `permutation[i]` of `operand`. Raise
    TypeError if `permutation` is not a permutation of all axes.
    """
    axes = tuple(operator.index(axis) for axis in permutation)
    if axes == tuple(range(np.ndim(operand))) and is_array(operand):
        return asarray(operand)
    return transpose_p.bind(operand, permutation=axes)


# --- rev -----------------------------------------------------------------------------------------------
rev_p = Primitive("rev")


@rev_p.def_abstract_eval
def _(x: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    check_shapelike("rev", "dimensions", dimensions)
    if len(set(dimensions)) != len(dimensions):
        raise TypeError(f"rev dimensions must be unique, got {dimensions}.")
    if any(axis >= x.ndim for axis in dimensions):
        raise TypeError(
            f"rev dimensions must all be less than operand ndim, got dimensions {dimensions} for operand ndim {x.ndim}."
        )
    return x


@register_lowering(rev_p)
def _(ctx: LoweringContext, x: str, *, dimensions: tuple[int, ...]) -> str:
    return ctx.emit("stablehlo.reverse", [x], f", dims = [{', '.join(map(str, dimensions))}]")


deflinear(rev_p, lambda ct, x, dimensions: [rev(ct, dimensions)])


@register_batcher(rev_p)
def _(axis: AxisData, vals: Vals, dims: Sequence[int], *, dimensions: Sequence[int]) -> Any:
    [x], [dim] = vals, dims
    return rev(x, shifted(dimensions, dim)), dim


def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """Return the array with its elements reversed along these axes. Raise TypeError for negative, repeated, or too large ones."""
    return rev_p.bind(operand, dimensions=tuple(dimensions))
