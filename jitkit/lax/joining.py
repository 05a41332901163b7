"""Joins and splits arrays: concatenate, stack, tile, pad; split, unstack.

JAX: jax/_src/lax/lax.py:concatenate
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import edits
from ..core import Primitive, ShapedArray, tracer
from ..interpreters.ad_rules import Zero, deflinear, instantiate_zeros, is_undefined, no_cotangents
from ..interpreters.batching import AxisData, Dims, Vals, moveaxis, register_batcher, shifted
from ..interpreters.mlir import LoweringContext, register_lowering
from ..runtime import array
from .convert import asarray
from .creation import full_like
from .elementwise import sub
from .reduction import reduce_sum
from .selection import select
from .shaping import broadcast, broadcast_in_dim, reshape
from .slicing import slice, slice_p
from .utils import canonicalize_axis, check_same_dtypes, constant_like, is_array

# --- concatenate ---------------------------------------------------------------------------------------
concatenate_p = Primitive("concatenate")


@concatenate_p.def_abstract_eval
def _(*operands: ShapedArray, dimension: int) -> ShapedArray:
    shapes = [x.shape for x in operands]
    listed = ", ".join(map(str, shapes))
    if len({len(shape) for shape in shapes}) != 1:
        raise TypeError(f"Cannot concatenate arrays with different numbers of dimensions: got {listed}.{edits.RANKS}")
    if not 0 <= dimension < len(shapes[0]):
        raise TypeError(f"concatenate dimension out of bounds: dimension {dimension} for shapes {listed}.")
    before, after = shapes[0][:dimension], shapes[0][dimension + 1 :]
    if any((shape[:dimension], shape[dimension + 1 :]) != (before, after) for shape in shapes):
        raise TypeError(
            "Cannot concatenate arrays with shapes that differ in dimensions other than the one being "
            f"concatenated: concatenating along dimension {dimension} for shapes {listed}.{edits.JOINED}"
        )
    check_same_dtypes("concatenate", *operands)
    total = sum(shape[dimension] for shape in shapes)
    return ShapedArray((*before, total, *after), operands[0].dtype, all(x.weak_type for x in operands))


@register_lowering(concatenate_p)
def _(ctx: LoweringContext, *operands: str, dimension: int) -> str:
    return _emit_concatenate(ctx, operands, ctx.avals_in, dimension)


def _transpose_concatenate(ct: Any, *operands: Any, dimension: int) -> list[Any]:
    shapes = [x.aval.shape if is_undefined(x) else x.shape for x in operands]
    return split(ct, [shape[dimension] for shape in shapes], dimension)


deflinear(concatenate_p, _transpose_concatenate)


@register_batcher(concatenate_p)
def _(axis: AxisData, vals: Vals, dims: Dims, *, dimension: int) -> Any:
    return concatenate(_all_at_front(axis, vals, dims), dimension + 1), 0


def _all_at_front(axis: AxisData, vals: Vals, dims: Dims) -> list[Any]:
    return [
        broadcast(x, (axis.size,)) if dim is None else moveaxis(x, dim, 0) for x, dim in zip(vals, dims, strict=True)
    ]


def _emit_concatenate(ctx: LoweringContext, names: Sequence[str], avals: Sequence[ShapedArray], axis: int) -> str:
    """Write a concatenation; return the result's name. At most sixteen arrays are joined at a time, since XLA's
    compilers slow down on operations of very many operands.
    """
    while True:
        joined = []
        for i in range(0, len(names), 16):
            parts = avals[i : i + 16]
            total = sum(part.shape[axis] for part in parts)
            out = parts[0].update(shape=(*parts[0].shape[:axis], total, *parts[0].shape[axis + 1 :]))
            text = f"stablehlo.concatenate {', '.join(names[i : i + 16])}, dim = {axis}"
            joined.append((ctx.emit_op(text, parts, out), out))
        if len(joined) == 1:
            return joined[0][0]
        names, avals = [name for name, _ in joined], [aval for _, aval in joined]


def concatenate(operands: Any, dimension: int) -> Any:
    """Return the concatenation of arrays of one dtype, whose shapes differ along `dimension` only.

    Raises:
      ValueError: without arrays.
      TypeError: for other shapes, different dtypes, or a `dimension` out of range. A single array is returned without checks.
    """
    if len(operands) == 0:
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    if len(operands) == 1 and is_array(operands[0]):
        return asarray(operands[0])
    return concatenate_p.bind(*operands, dimension=dimension)


# --- stack, unstack ------------------------------------------------------------------------------------
stack_p = Primitive("stack")
unstack_p = Primitive("unstack", multiple_results=True)


@stack_p.def_abstract_eval
def _(*operands: ShapedArray, axis: int) -> ShapedArray:
    shapes = [x.shape for x in operands]
    listed = ", ".join(map(str, shapes))
    if len({len(shape) for shape in shapes}) != 1:
        raise ValueError(f"Cannot stack arrays with different numbers of dimensions: got {listed}.{edits.RANKS}")
    if len(set(shapes)) != 1:
        raise ValueError(f"All input arrays must have the same shape. Got {listed}.{edits.STACKED}")
    check_same_dtypes("stack", *operands)
    shape = (*shapes[0][:axis], len(shapes), *shapes[0][axis:])
    return ShapedArray(shape, operands[0].dtype, all(x.weak_type for x in operands))


@register_lowering(stack_p)
def _(ctx: LoweringContext, *operands: str, axis: int) -> str:
    old: ShapedArray = ctx.avals_in[0]
    new = old.update(shape=(*old.shape[:axis], 1, *old.shape[axis:]))
    dims = [i for i in range(new.ndim) if i != axis]
    names = [ctx.broadcast_in_dim(x, old, new.shape, dims) for x in operands]
    return _emit_concatenate(ctx, names, [new] * len(names), axis)


@unstack_p.def_abstract_eval
def _(x: ShapedArray, *, axis: int) -> list[ShapedArray]:
    return [x.update(shape=(*x.shape[:axis], *x.shape[axis + 1 :]))] * x.shape[axis]


@register_lowering(unstack_p)
def _(ctx: LoweringContext, x: str, *, axis: int) -> list[str]:
    parts = _emit_split(ctx, x, ctx.avals_in[0], [1] * len(ctx.avals_out), axis)
    return [ctx.reshape(name, aval, ctx.avals_out[0].shape) for name, aval in parts]


array.unstacking.rows = functools.partial(unstack_p.bind, axis=0)


def _transpose_unstack(cts: list[Any], x: Any, *, axis: int) -> list[Any]:
    if all(type(ct) is Zero for ct in cts):
        return no_cotangents([x])
    return [stack_p.bind(*map(instantiate_zeros, cts), axis=axis)]


deflinear(stack_p, lambda ct, *operands, axis: unstack_p.bind(ct, axis=axis))
deflinear(unstack_p, _transpose_unstack)


@register_batcher(stack_p)
def _(batch: AxisData, vals: Vals, dims: Sequence[int], *, axis: int) -> Any:
    if len(set(dims)) == 1:
        dim = dims[0]
        return stack_p.bind(*vals, axis=axis + (axis > dim)), dim + (axis <= dim)
    return stack_p.bind(*_all_at_front(batch, vals, dims), axis=axis + 1), 0


@register_batcher(unstack_p)
def _(batch: AxisData, vals: Vals, dims: Sequence[int], *, axis: int) -> Any:
    [x], [dim], [gone] = vals, dims, shifted([axis], dims[0])
    parts = unstack_p.bind(x, axis=gone)
    return parts, [dim - (gone < dim)] * len(parts)


def stack(operands: Sequence[Any], axis: int = 0) -> Any:
    """Return arrays of one shape and dtype, stacked along a new axis.

    Raises:
      IndexError: without arrays.
      ValueError: for different shapes, and for an axis out of range.
      TypeError: for different dtypes.
    """
    arrays = [asarray(x) for x in operands]
    return stack_p.bind(*arrays, axis=canonicalize_axis(axis, arrays[0].ndim + 1))


def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """Return the arrays that `stack` would join to x. Raise ValueError for an axis out of range."""
    x = asarray(x)
    return tuple(unstack_p.bind(x, axis=canonicalize_axis(axis, x.ndim)))


tracer.unstacking.unstack = unstack

# --- split ---------------------------------------------------------------------------------------------
split_p = Primitive("split", multiple_results=True)


@split_p.def_abstract_eval
def _(x: ShapedArray, *, sizes: tuple[int, ...], axis: int) -> list[ShapedArray]:
    if any(size < 0 for size in sizes):
        raise ValueError(f"Sizes passed to split must be nonnegative, got {list(sizes)}")
    if x.shape[axis] != sum(sizes):
        shape = list(x.shape)
        raise ValueError(f"Sum of sizes {sum(sizes)} must be equal to dimension {axis} of the operand shape {shape}")
    return [x.update(shape=(*x.shape[:axis], size, *x.shape[axis + 1 :])) for size in sizes]


@register_lowering(split_p)
def _(ctx: LoweringContext, x: str, *, sizes: tuple[int, ...], axis: int) -> list[str]:
    return [name for name, _ in _emit_split(ctx, x, ctx.avals_in[0], sizes, axis)]


def _transpose_split(cts: list[Any], x: Any, *, sizes: tuple[int, ...], axis: int) -> list[Any]:
    if all(type(ct) is Zero for ct in cts):
        return no_cotangents([x])
    return [concatenate([instantiate_zeros(ct) for ct in cts], axis)]


deflinear(split_p, _transpose_split)


@register_batcher(split_p)
def _(batch: AxisData, vals: Vals, dims: Sequence[int], *, sizes: Sequence[int], axis: int) -> Any:
    [x], [dim] = vals, dims
    return split(x, sizes, *shifted([axis], dim)), [dim] * len(sizes)


def _emit_split(
    ctx: LoweringContext, x: str, aval: ShapedArray, sizes: Sequence[int], axis: int
) -> list[tuple[str, ShapedArray]]:
    parts = []
    start = 0
    for size in sizes:
        ranges = [f"0:{n}" for n in aval.shape]
        ranges[axis] = f"{start}:{start + size}"
        out = aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis + 1 :]))
        parts.append((ctx.emit_op(f"stablehlo.slice {x} [{', '.join(ranges)}]", [aval], out), out))
        start += size
    return parts


def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """Return pieces of these sizes along an axis. Raise ValueError for negative sizes, another sum, or an axis out of range."""
    operand = asarray(operand)
    pieces: list[Any] = split_p.bind(operand, sizes=tuple(sizes), axis=canonicalize_axis(axis, operand.ndim))
    return pieces


# --- tile ----------------------------------------------------------------------------------------------
tile_p = Primitive("tile")


@tile_p.def_abstract_eval
def _(x: ShapedArray, *, reps: tuple[int, ...]) -> ShapedArray:
    if x.ndim != len(reps):
        raise TypeError(f"reps length must be equal to the ndim of x, got len(reps)={len(reps)} and x.ndim={x.ndim}.")
    if min(reps, default=0) < 0:
        raise ValueError(f"tile cannot repeat an axis a negative number of times, got reps={reps}.")
    return x.update(shape=[size * count for size, count in zip(x.shape, reps, strict=True)])


@register_lowering(tile_p)
def _(ctx: LoweringContext, x: str, *, reps: tuple[int, ...]) -> str:
    aval: ShapedArray = ctx.avals_in[0]
    spaced = aval.update(shape=[n for size in aval.shape for n in (1, size)])
    repeated = aval.update(shape=[n for pair in zip(reps, aval.shape, strict=True) for n in pair])
    x = ctx.reshape(x, aval, spaced.shape)
    x = ctx.broadcast_in_dim(x, spaced, repeated.shape, range(spaced.ndim))
    return ctx.reshape(x, repeated, ctx.avals_out[0].shape)


def _transpose_tile(ct: Any, x: Any, *, reps: tuple[int, ...]) -> list[Any]:
    pairs = [n for pair in zip(reps, x.aval.shape, strict=True) for n in pair]
    return [reduce_sum(reshape(ct, pairs), range(0, len(pairs), 2))]


deflinear(tile_p, _transpose_tile)


@register_batcher(tile_p)
def _(axis: AxisData, vals: Vals, dims: Sequence[int], *, reps: Sequence[int]) -> Any:
    [x], [dim] = vals, dims
    return tile(x, (*reps[:dim], 1, *reps[dim:])), dim


def tile(operand: Any, reps: Sequence[int]) -> Any:
    """Return `operand`, repeated `reps[i]` times along axis i. Raise TypeError without a count for each axis,
    ValueError for a negative count.
    """
    return tile_p.bind(operand, reps=tuple(reps))


# --- pad -----------------------------------------------------------------------------------------------
pad_p = Primitive("pad")


@pad_p.def_abstract_eval
def _(x: ShapedArray, padding_value: ShapedArray, *, padding_config: Any) -> ShapedArray:
    if padding_value.ndim != 0:
        raise ValueError(f"padding_value must be a scalar; got np.shape(padding_value)={padding_value.shape}")
    if len(padding_config) != x.ndim:
        raise ValueError(
            "length of padding_config must equal the number of axes of operand, "
            f"got padding_config {padding_config} for operand shape {x.shape}"
        )
    if any(interior < 0 for _, _, interior in padding_config):
        raise ValueError(f"interior padding in padding_config must be nonnegative, got padding_config {padding_config}")
    shape = tuple(
        low + high + (0 if size == 0 else size + (size - 1) * interior)
        for (low, high, interior), size in zip(padding_config, x.shape, strict=True)
    )
    if any(size < 0 for size in shape):
        raise ValueError(
            f"Dimension size after padding is not at least 0, got result shape {shape}, "
            f"for padding_config {padding_config} and operand shape {x.shape}"
        )
    if x.dtype != padding_value.dtype:
        raise TypeError(f"pad operand and padding_value must be same dtype: got {x.dtype} and {padding_value.dtype}.")
    return ShapedArray(shape, x.dtype, x.weak_type and padding_value.weak_type)


@register_lowering(pad_p)
def _(ctx: LoweringContext, x: str, padding_value: str, *, padding_config: Any) -> str:
    low, high, interior = zip(*padding_config, strict=True) if padding_config else ((), (), ())
    lists = ", ".join(
        f"{name} = [{', '.join(map(str, sizes))}]"
        for name, sizes in (("low", low), ("high", high), ("interior", interior))
    )
    return ctx.emit("stablehlo.pad", [x, padding_value], f", {lists}", signature=True)


def _transpose_pad(ct: Any, x: Any, padding_value: Any, *, padding_config: Any) -> list[Any]:
    """Transpose rule: the operand's cotangent is cut out of the result's; the padding value's is the sum of the rest."""
    of_operand = None
    if is_undefined(x) or is_undefined(padding_value):
        low, high, interior = np.array(padding_config, int).reshape(-1, 3).T
        cut = pad(ct, constant_like(ct, 0), list(zip(-low, -high, 0 * interior, strict=True)))
        of_operand = slice(cut, tuple(0 * low), cut.shape, tuple(interior + 1))
    if not is_undefined(padding_value):
        return [of_operand, None]
    axes = range(len(padding_config))
    rest = sub(reduce_sum(ct, axes), reduce_sum(of_operand, axes))
    return [of_operand if is_undefined(x) else None, rest]


deflinear(pad_p, _transpose_pad)


@register_batcher(pad_p)
def _(axis: AxisData, vals: Vals, dims: Dims, *, padding_config: Sequence[Sequence[int]]) -> Any:
    """Batching rule: pad the batch. If each element has its own padding value, select it afterwards at the padding's positions."""
    (x, padding_value), (dim, value_dim) = vals, dims
    if dim is None:
        x, dim = broadcast(x, (axis.size,)), 0
    padding_config = (*padding_config[:dim], (0, 0, 0), *padding_config[dim:])
    if value_dim is None:
        return pad(x, padding_value, padding_config), dim
    padded = pad(x, full_like(x, 0, shape=()), padding_config)
    inside = pad(full_like(x, True, np.bool_), False, padding_config)
    return select(inside, padded, broadcast_in_dim(padding_value, padded.shape, (dim,))), dim


def pad(operand: Any, padding_value: Any, padding_config: Sequence[Sequence[int]]) -> Any:
    """Return `operand` with elements added at the ends of its axes, and in between.

    Args:
      operand: an array.
      padding_value: a scalar of its dtype.
      padding_config: for each axis, how many go before it, after it, and between each two elements. Negative numbers before
        and after take elements away.

    Raises:
      ValueError: for a configuration that does not fit.
      TypeError: for different dtypes.
    """
    return pad_p.bind(operand, padding_value, padding_config=tuple(map(tuple, padding_config)))


# --- slice: a window is cut out, and its transpose fills with zeros what was left out ----------------------------------


def _transpose_slice(
    ct: Any, x: Any, *, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None
) -> list[Any]:
    shape, starts = x.aval.shape, start_indices
    if strides is None or all(step == 1 for step in strides):
        high, interior = np.subtract(shape, limit_indices), (0,) * len(shape)
    else:
        sizes = np.array(ct.shape, int)
        ends = np.add(starts, np.where(sizes == 0, 0, 1 + (sizes - 1) * strides))
        high, interior = np.subtract(shape, ends), tuple(np.subtract(strides, 1))
    return [pad(ct, constant_like(ct, 0), list(zip(starts, high, interior, strict=True)))]


deflinear(slice_p, _transpose_slice)
