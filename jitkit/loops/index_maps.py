"""Operations that only move elements: an element of the result is an element of the operand, at another index

A broadcast reads with stride 0, a transpose changes the order of the indices, a slice adds to them. These operations
have no loop and store nothing: they are part of the loop that reads their result.

JAX: jax/_src/lax/lax.py:broadcast_in_dim
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .formulas import c_type
from .language import Op
from .nests import FLAT, Emitter, Index, Nest

IndexMap = Callable[[Emitter, Nest, Op, Index], str]


class NeedsAxes(Exception):
    """Raised if one flat loop over all elements does not work, because an index for each axis is needed."""


def _by_axes(move: Callable[[Op, Any], Index]) -> IndexMap:
    """Return a map from the index of the result to the index of its only operand."""

    def read(writer: Emitter, nest: Nest, op: Op, index: Index) -> str:
        x = op.ins[0]
        if index is FLAT and x.shape:
            raise NeedsAxes
        return writer.emit(nest, x, move(op, index) if x.shape else ())

    return read


def plus(index: str, offset: int) -> str:
    """Return the text of `index + offset`, shortened if possible."""
    if index == "0":
        return str(offset)
    return f"({index} {'+' if offset > 0 else '-'} {abs(offset)})" if offset else index


def broadcast_index(op: Op, index: Any) -> Index:
    """Return the index in the operand for an index of the result of `broadcast_in_dim`.

    Axis k of the operand is axis `op.params["broadcast_dimensions"][k]` of the result. If an axis has one element in the operand, and
    more in the result, this element is read for all of them: its index is `"0"`.

    Args:
      index: an expression of C for each axis of the result, such as `("i0", "(i1 + 2)")`.

    Returns:
      An expression for each axis of the operand, `op.ins[0]`.
    """
    shape = op.params["shape"]
    sizes = zip(op.params["broadcast_dimensions"], op.ins[0].shape, strict=True)
    return tuple(index[axis] if size == shape[axis] else "0" for axis, size in sizes)


def _reshape(op: Op, index: Any) -> Index:
    """Return the index in the operand of a reshape that only adds or removes axes of size 1. (Other reshapes are views of memory.)"""
    parts = [part for part, size in zip(index, op.outs[0].shape, strict=True) if size != 1]
    return tuple(parts.pop(0) if size != 1 else "0" for size in op.ins[0].shape)


def _squeeze(op: Op, index: Any) -> Index:
    parts, gone = list(index), {axis % len(op.ins[0].shape) for axis in op.params["dimensions"]}
    return tuple("0" if axis in gone else parts.pop(0) for axis in range(len(op.ins[0].shape)))


def transpose_index(op: Op, index: Any) -> Index:
    """Return the index in the operand for an index of the result of `transpose`: axis k of the result is axis
    `op.params["permutation"][k]` of the operand.
    """
    order = list(op.params["permutation"])
    return tuple(index[order.index(axis)] for axis in range(len(order)))


def slice_index(op: Op, index: Any) -> Index:
    """Return the index in the operand for an index of the result of `slice`: element i along an axis is element `start + i * stride` of
    the operand, with `op.params["start_indices"]` and `op.params["strides"]`, which is None if every stride is 1.

    A returned expression may become a factor, or a part of a sum: put parentheses around a sum.
    """
    starts = op.params["start_indices"]
    strides = op.params["strides"] or (1,) * len(starts)
    steps = (i if s == 1 or i == "0" else f"({i}*{s})" for i, s in zip(index, strides, strict=True))
    return tuple(plus(i, start) for i, start in zip(steps, starts, strict=True))


def rev_index(op: Op, index: Any) -> Index:
    """Return the index in the operand for an index of the result of `rev`: along the axes `op.params["dimensions"]` the last element
    comes first.
    """
    turned = op.params["dimensions"]
    sizes = op.ins[0].shape
    return tuple(f"({sizes[k] - 1} - {i})" if k in turned else i for k, i in enumerate(index))


def _iota(writer: Emitter, nest: Nest, op: Op, index: Index) -> str:
    if index is FLAT:
        raise NeedsAxes
    aval, i = op.outs[0].aval, index[op.params["dimension"]]
    return nest.variable((op.outs[0], index), c_type(aval), f"({c_type(aval)}){i}", [i], f"iota  {op.line}".rstrip())


def _zero(writer: Emitter, nest: Nest, op: Op, index: Index) -> str:
    return "0"


def _dynamic_slice(writer: Emitter, nest: Nest, op: Op, index: Index) -> str:
    x, *starts = op.ins
    if index is FLAT:
        raise NeedsAxes
    where = []
    for i, start, size, whole in zip(index, starts, op.params["slice_sizes"], x.shape, strict=True):
        where.append(f"({i} + {clamped(writer, nest, start, whole - size)})" if whole != size else i)
    return writer.emit(nest, x, tuple(where))


def clamped(writer: Emitter, nest: Nest, start: Any, most: int) -> str:
    """Return a name in C for `start`, clamped to 0..`most` so that the window fits."""
    name = writer.emit(nest, start, ())
    known = nest.outer_names.get((name, most))
    low = "" if start.aval.dtype.kind == "u" else f"{name} < 0 ? 0 : "
    largest = f"(i64){name}" if start.aval.dtype != np.uint64 else name
    return known or nest.variable((name, most), "i64", f"{low}{largest} > {most} ? {most} : {largest}", [], "")


def _tile(op: Op, index: Any) -> Index:
    sizes = (1,) * (len(op.outs[0].shape) - len(op.ins[0].shape)) + tuple(op.ins[0].shape)
    parts = [f"({i} % {size})" if size != 1 else "0" for i, size in zip(index, sizes, strict=True)]
    return tuple(parts[len(parts) - len(op.ins[0].shape) :])


INDEX_MAPS: dict[str, IndexMap] = {
    "broadcast_in_dim": _by_axes(broadcast_index), "squeeze": _by_axes(_squeeze), "transpose": _by_axes(transpose_index),
    "slice": _by_axes(slice_index), "rev": _by_axes(rev_index), "tile": _by_axes(_tile), "iota": _iota, "dynamic_slice": _dynamic_slice,
    "expand": _by_axes(_reshape),
    "empty": _zero,
    "empty2": _zero,
}  # fmt: skip
