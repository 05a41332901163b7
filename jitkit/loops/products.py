"""`dot_general` -> a tiled matrix product, or a plain sum of products

Large products of floats use a C function, `GEMM`. While it runs along the summed axis, it keeps a tile of 6 x 16
results (6 x 8 of float64) in registers, and a panel of the right operand, as wide as the tile, in the L1 cache. Smaller
products, and products of integers, are ordinary loops over all axes, with the operands as expressions.

JAX: jax/_src/lax/lax.py:dot_general
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .formulas import c_type
from .language import Atom, Constant, Op, Value
from .nests import Index, Nest, Place
from .writer import Later, Writer, rule


class View(NamedTuple):
    """An operand in memory, with a stride for each axis."""

    place: Place
    strides: tuple[int, ...]
    offset: int = 0


@rule("dot_general")
def _dot_general(writer: Writer, op: Op) -> None:
    """Write a `dot_general`: a sum over the contracting axes. The result has the batch axes, then the free axes of the
    left operand, then those of the right one.
    """
    left, right = op.ins
    (out,) = op.outs
    (sum_l, sum_r), (batch_l, batch_r) = op.params["dimension_numbers"]
    free_l = [k for k in range(len(left.shape)) if k not in (*sum_l, *batch_l)]
    free_r = [k for k in range(len(right.shape)) if k not in (*sum_r, *batch_r)]
    m, n, k = (int(np.prod([x.shape[i] for i in axes])) for x, axes in ((left, free_l), (right, free_r), (left, sum_l)))
    place = writer.aims.pop(out, None) or writer.allocate(out.aval)
    writer.where[out] = place
    is_large = min(m, k) >= 4 and n >= 8 and out.aval.dtype.kind == "f"
    is_large = is_large and left.aval.dtype == right.aval.dtype == out.aval.dtype
    of_left, of_right = ([*batch_l], free_l, [*sum_l]), ([*batch_r], free_r, [*sum_r])
    (_tiled if is_large else _plain)(writer, op, place, of_left, of_right)


Axes = tuple[list[int], list[int], list[int]]  # the batch axes, the free axes, and the axes to sum over


def _plain(writer: Writer, op: Op, place: Place, of_left: Axes, of_right: Axes) -> None:
    """Add up products in the loop order batch, left, summed, right; with the summed axis innermost if the right operand
    has no free axis.
    """
    left, right = (_settled(writer, x) for x in op.ins)
    ctype, dtype = c_type(op.outs[0].aval), op.outs[0].aval.dtype
    batches, lefts, summed = ([left.shape[i] for i in axes] for axes in of_left)
    rights = [right.shape[i] for i in of_right[1]]
    combine = "{0} | {1}" if dtype == np.bool_ else "{0} + {1}"
    times = "{0} & {1}" if dtype == np.bool_ else f"({ctype}){{0}}*({ctype}){{1}}"
    at_b, at_l = len(batches), len(batches) + len(lefts)
    at_s = at_l + len(summed)
    is_innermost = not rights

    def body(nest: Nest, index: Index) -> None:
        b, in_left, in_sum, in_right = index[:at_b], index[at_b:at_l], index[at_l:at_s], index[at_s:]
        names = []
        for x, axes, free in ((left, of_left, in_left), (right, of_right, in_right)):
            where = dict(zip([*axes[0], *axes[1], *axes[2]], (*b, *free, *in_sum), strict=True))
            names.append(writer.emit(nest, x, tuple(where[axis] for axis in range(len(x.shape)))))
        product = times.format(*names)
        nest.flops += 2
        nest.sources[f"{op.name}  {op.line}"] = None
        if is_innermost and summed:
            total = nest.fold("or" if dtype == np.bool_ else "sum", dtype, ctype, product, f"{op.name}  {op.line}")
            target = nest.access(place, (*b, *in_left, *in_right), True)
            nest.loop.after.append(f"{target} = {combine.format(target, total)};")
        else:
            target = nest.access(place, (*b, *in_left, *in_right), True)
            nest.loop.body.append(f"{target} = {combine.format(target, product)};")

    place.buffer.pinned = True
    writer.nest(place.shape, lambda nest, index: nest.store(place, index, "0"))
    shape = (*batches, *lefts, *summed, *rights)
    writer.nest(shape, lambda nest, index: body(nest, index if len(shape) != 1 else ("i0",)), flat=False, alone=True)


def _settled(writer: Writer, x: Atom) -> Atom:
    """Return the operand, stored in memory (unless it is a constant), because it is going to be read many times."""
    if isinstance(x, Value) and isinstance(writer.where[x], Later):
        writer.place(x)
    return x


def _tiled(writer: Writer, op: Op, place: Place, of_left: Axes, of_right: Axes) -> None:
    left, right = (_view(writer, x) for x in op.ins)
    batches, lefts, summed = ([op.ins[0].shape[i] for i in axes] for axes in of_left)
    rights = [op.ins[1].shape[i] for i in of_right[1]]
    strides = _dense(place.shape)
    in_m = [(s, left.strides[a], c) for s, a, c in zip(lefts, of_left[1], strides[len(batches) :], strict=False)]
    in_n = [
        (s, right.strides[a], c)
        for s, a, c in zip(rights, of_right[1], strides[len(batches) + len(lefts) :], strict=False)
    ]
    in_k = [(s, left.strides[a], right.strides[b]) for s, a, b in zip(summed, of_left[2], of_right[2], strict=True)]
    in_b = [
        (s, left.strides[a], right.strides[b], c)
        for s, a, b, c in zip(batches, of_left[0], of_right[0], strides, strict=False)
    ]
    in_m, in_n, in_k = _merged(in_m), _merged(in_n), _merged(in_k)
    (m, am, cm), (n, bn, cn), (k, ak, bk) = in_m.pop(), in_n.pop(), in_k.pop()
    # Axes that cannot be merged with their neighbours become outer loops.
    around = [*in_b]
    around += [(size, a, 0, c) for size, a, c in in_m]
    around += [(size, 0, b, c) for size, b, c in in_n]
    around += [(size, a, b, 0) for size, a, b in in_k]
    writer.nest(place.shape, lambda nest, index: nest.store(place, index, "0"))
    text, ctype = [], c_type(op.outs[0].aval)
    for number, (size, *_) in enumerate(around):
        text.append(f"for (i64 j{number} = 0; j{number} < {size}; j{number}++) ")

    def pointer(place: Place, which: int, offset: int = 0) -> str:
        terms = [f"j{i}*{each[which]}" for i, each in enumerate(around) if each[which]]
        return " + ".join(
            [place.buffer.name, *([place.base] if place.base else []), *([str(offset)] * bool(offset)), *terms]
        )

    a, b, c = pointer(left.place, 1, left.offset), pointer(right.place, 2, right.offset), pointer(place, 3)
    call = f"gemm_{ctype}({m}, {n}, {k}, {a}, {am}, {ak}, {b}, {bk}, {bn}, {c}, {cm}, {cn});  // {op.name}  {op.line}"
    writer.text("".join([*text, call.rstrip()]), left.place, right.place, place)
    flops = 2 * m * n * k * int(np.prod([each[0] for each in around]))
    moved = sum(x.aval.size * x.aval.dtype.itemsize for x in (*op.ins, *op.outs))
    writer.add_cost(flops, moved)


def _merged(axes: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Merge neighbouring axes that are contiguous in both operands. Return the size and both strides of each; for no
    axis, one of size 1.
    """
    merged: list[tuple[int, int, int]] = []
    for size, x, y in axes:
        if size == 1:
            continue
        if merged and merged[-1][1:] == (x * size, y * size):
            merged[-1] = (merged[-1][0] * size, x, y)
        else:
            merged.append((size, x, y))
    return merged or [(1, 1, 1)]


def _dense(shape: Sequence[int]) -> list[int]:
    """Return the strides of a dense array."""
    return (
        [int(s) for s in itertools.accumulate((*shape[:0:-1],), lambda a, b: a * b, initial=1)][::-1] if shape else []
    )


def _view(writer: Writer, x: Atom) -> View:
    """Return an operand in memory. A transpose, squeeze, slice or broadcast of an array is a view of that array; any
    other operand is stored first if it is not in memory.
    """
    if isinstance(x, Constant):
        return View(writer.place(x), ())
    found = writer.where[x]
    if isinstance(found, Place):
        return View(found, tuple(_dense(found.shape)))
    op = found.op
    inner = op.ins[0] if op.ins else None
    if op.name in _VIEWS and isinstance(inner, Value):
        base = _view(writer, inner)
        strides, offset = _VIEWS[op.name](op, base.strides)
        return View(base.place, tuple(strides), base.offset + offset)
    place = writer.place(x)
    return View(place, tuple(_dense(place.shape)))


def _of_transpose(op: Op, strides: Sequence[int]) -> tuple[list[int], int]:
    return [strides[axis] for axis in op.params["permutation"]], 0


def _of_squeeze(op: Op, strides: Sequence[int]) -> tuple[list[int], int]:
    gone = {axis % len(strides) for axis in op.params["dimensions"]}
    return [stride for axis, stride in enumerate(strides) if axis not in gone], 0


def _of_slice(op: Op, strides: Sequence[int]) -> tuple[list[int], int]:
    steps = op.params["strides"] or (1,) * len(strides)
    offset = sum(start * stride for start, stride in zip(op.params["start_indices"], strides, strict=True))
    return [stride * step for stride, step in zip(strides, steps, strict=True)], offset


def _of_broadcast(op: Op, strides: Sequence[int]) -> tuple[list[int], int]:
    found = [0] * len(op.params["shape"])
    sizes = op.ins[0].shape
    for axis, size, stride in zip(op.params["broadcast_dimensions"], sizes, strides, strict=True):
        found[axis] = stride if size == op.params["shape"][axis] else 0
    return found, 0


_VIEWS = {"transpose": _of_transpose, "squeeze": _of_squeeze, "slice": _of_slice, "broadcast_in_dim": _of_broadcast}

GEMM = """enum { TALL = 6, DEEP = 256 };
static void gemm_TYPE(i64 m, i64 n, i64 k, const TYPE *a, i64 am, i64 ak, const TYPE *b, i64 bk, i64 bn, TYPE *c, i64 cm, i64 cn) {
  typedef TYPE row __attribute__((vector_size(64)));
  enum { WIDE = 64/sizeof(TYPE) };
  row panel[DEEP];
  for (i64 n0 = 0; n0 < n; n0 += WIDE) for (i64 k0 = 0; k0 < k; k0 += DEEP) {
    i64 wide = n - n0 < WIDE ? n - n0 : WIDE, deep = k - k0 < DEEP ? k - k0 : DEEP;
    for (i64 p = 0; p < deep; p++) for (i64 j = 0; j < WIDE; j++)  /* what is beyond the edge is 0 */
      panel[p][j] = j < wide ? b[(k0 + p)*bk + (n0 + j)*bn] : 0;
    for (i64 m0 = 0; m0 < m; m0 += TALL) {
      i64 tall = m - m0 < TALL ? m - m0 : TALL;
      const TYPE *x[TALL];
      for (i64 i = 0; i < TALL; i++) x[i] = a + (m0 + (i < tall ? i : 0))*am + k0*ak;
      row y0 = {0}, y1 = {0}, y2 = {0}, y3 = {0}, y4 = {0}, y5 = {0};
      for (i64 p = 0; p < deep; p++) {
        row q = panel[p];
        y0 += x[0][p*ak]*q; y1 += x[1][p*ak]*q; y2 += x[2][p*ak]*q;
        y3 += x[3][p*ak]*q; y4 += x[4][p*ak]*q; y5 += x[5][p*ak]*q;
      }
      row y[TALL] = {y0, y1, y2, y3, y4, y5};
      for (i64 i = 0; i < tall; i++) for (i64 j = 0; j < wide; j++) c[(m0 + i)*cm + (n0 + j)*cn] += y[i][j];
    }
  }
}
"""
