"""Derivatives of reductions over windows.

A sum is linear: its transpose gives each cotangent to all elements of its window. This is again a sum over windows: of
the cotangents, with a zero between them for each element that the strides skipped. The maximum of a window has the
tangent of the element where it was found. So two primitives select by one array and read another:
`select_and_gather_add` takes, for each window, the element at the selected position, and `select_and_scatter_add`, its
transpose, adds to it. Among equal elements the first is selected.

JAX: jax/_src/lax/windowed_reductions.py:_select_and_scatter_add
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import Primitive, ShapedArray
from ..interpreters.ad import jvp_jaxpr
from ..interpreters.ad_rules import (
    Zero,
    defjvp,
    deflinear,
    instantiate_zeros,
    is_undefined,
    no_cotangents,
    primitive_jvps,
    primitive_transposes,
)
from ..interpreters.batching import AxisData, Dims, Vals, bdim_at_front, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering, type_of
from ..jaxpr import jaxpr_as_fun
from .convolution_shapes import dilate_shape
from .elementwise import add, ge, ge_p, le, le_p
from .joining import pad
from .reducers import inline_function, integer_array, scalar_reducer
from .reduction import max_identity, min_identity
from .selection import select
from .slicing import slice
from .utils import constant_like
from .windows import (
    Padding,
    reduce_window,
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_p,
    reduce_window_sum_p,
    window_shape,
    with_batch,
)

# --- sums -------------------------------------------------------------------------------------------------------------------


def _transpose_sum(
    ct: Any,
    x: Any,
    *,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> list[Any]:
    shape, ones = x.aval.shape, (1,) * x.aval.ndim
    window = dilate_shape(window_dimensions, window_dilation)
    before = np.subtract(window, [low for low, _ in padding]) - 1
    total = np.add(dilate_shape(shape, base_dilation), window) - 1
    after = total - dilate_shape(ct.shape, window_strides) - before
    holes = [(low, high, stride - 1) for low, high, stride in zip(before, after, window_strides, strict=True)]
    spread = reduce_window_sum_p.bind(
        pad(ct, constant_like(ct, 0), holes),
        window_dimensions=tuple(window_dimensions),
        window_strides=tuple(base_dilation),
        padding=((0, 0),) * len(shape),
        base_dilation=ones,
        window_dilation=tuple(window_dilation),
    )
    assert spread.shape == shape, f"the cotangent of {x.aval} is of its shape, not {spread.shape}"
    return [spread]


deflinear(reduce_window_sum_p, _transpose_sum)

# --- select_and_gather_add: for each window, the element of `source` at the place that is selected in `operand` -------------

select_and_gather_add_p = Primitive("select_and_gather_add")
select_and_scatter_add_p = Primitive("select_and_scatter_add")


@select_and_gather_add_p.def_abstract_eval
def _(source: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **window: Any) -> ShapedArray:
    if source.shape != operand.shape:
        raise TypeError(
            f"select_and_gather_add tangents and operand shapes must match, got {source.shape} and {operand.shape}."
        )
    return source.update(shape=window_shape(operand, **window), weak_type=False)


@register_lowering(select_and_gather_add_p)
def _(ctx: LoweringContext, source: str, operand: str, *, select_prim: Primitive, **window: Any) -> str:
    """Lowering rule: reduce pairs (element of `operand`, element of `source`). `select_prim` compares the operand's
    elements, and the selected pair's element of `source` is the result.
    """
    dtype = ctx.avals_in[1].dtype
    start = np.array(-np.inf if select_prim is ge_p else np.inf, dtype), np.array(0, dtype)

    def chosen(x: Any, y: Any) -> Any:
        is_first = select_prim.bind(x[0], y[0])
        return tuple(select(is_first, *both) for both in zip(x, y, strict=True))

    def reduced(source: Any, operand: Any) -> list[Any]:
        return [reduce_window((operand, source), start, chosen, **window)[1]]

    return inline_function(ctx, reduced, [source, operand], ctx.avals_in)[0]


def _gather_add(source: Any, operand: Any, **params: Any) -> Any:
    return select_and_gather_add_p.bind(source, operand, **params)


def _transpose_gather(
    ct: Any, source: Any, x: Any, *, base_dilation: Sequence[int], window_dilation: Sequence[int], **params: Any
) -> list[Any]:
    assert is_undefined(source), "select_and_gather_add is linear in what it takes from"
    if any(step != 1 for step in window_dilation):
        raise NotImplementedError(
            "VJP not implemented for select_and_gather (MaxPool) with window dilation, "
            f"got window_dilation={window_dilation}."
        )
    if type(ct) is Zero:
        return no_cotangents((source, x))
    has_holes = any(step != 1 for step in base_dilation)
    if has_holes:
        x = pad(x, _never(params["select_prim"], x.dtype), [(0, 0, step - 1) for step in base_dilation])
    out = select_and_scatter_add_p.bind(ct, x, **params)
    return [slice(out, (0,) * out.ndim, out.shape, base_dilation) if has_holes else out, None]


def _never(select_prim: Primitive, dtype: Any) -> Any:
    """Return a value that loses each comparison by `select_prim`: it fills holes and margins."""
    return (max_identity if select_prim is ge_p else min_identity)(dtype)


primitive_transposes[select_and_gather_add_p] = _transpose_gather

# --- select_and_scatter_add: zeros, with each element of `source` added at the place that is selected in its window ---------


@select_and_scatter_add_p.def_abstract_eval
def _(source: ShapedArray, operand: ShapedArray, **params: Any) -> ShapedArray:
    return operand.update(dtype=source.dtype, weak_type=False)


@register_lowering(select_and_scatter_add_p)
def _(
    ctx: LoweringContext,
    source: str,
    operand: str,
    *,
    select_prim: Primitive,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
) -> str:
    """Lowering rule. XLA's compilers for CPUs and GPUs do not support padding in this operation: add it before, and cut
    it off after.
    """
    source_aval, aval = ctx.avals_in
    sides = [(low, high, 0) for low, high in padding]
    edge = _never(select_prim, aval.dtype)
    [padded] = inline_function(ctx, lambda x: [pad(x, edge, sides)], [operand], [aval])
    sizes = [low + size + high for size, (low, high) in zip(aval.shape, padding, strict=True)]
    padded_aval, scalar = aval.update(shape=tuple(sizes)), aval.update(shape=())
    is_selected = scalar_reducer(ge if select_prim is ge_p else le, scalar)
    total = scalar_reducer(add, scalar)
    zero = ctx.constant(np.zeros((), aval.dtype))
    no_pads = f"dense<0> : tensor<{len(sizes)}x2xi64>"
    [spread] = ctx.emit_regions(
        f'"stablehlo.select_and_scatter"({padded}, {source}, {zero}) <{{padding = {no_pads}, '
        f"window_dimensions = {integer_array(window_dimensions)}, window_strides = {integer_array(window_strides)}}}>",
        [
            ([scalar, scalar], lambda *args: [(ctx.inline(is_selected, args)[0], is_selected.out_avals[0])]),
            ([scalar, scalar], lambda *args: [(ctx.inline(total, args)[0], scalar)]),
        ],
        f"({', '.join(map(type_of, (padded_aval, source_aval, scalar)))}) -> {type_of(padded_aval)}",
        1,
    )
    first = [low for low, _ in padding]
    last = [low + size for low, size in zip(first, aval.shape, strict=True)]
    return inline_function(ctx, lambda x: [slice(x, first, last)], [spread], [padded_aval])[0]


def _transpose_scatter(ct: Any, source: Any, x: Any, **params: Any) -> list[Any]:
    assert is_undefined(source), "select_and_scatter_add is linear in what it puts"
    if type(ct) is Zero:
        return no_cotangents((source, x))
    ones = (1,) * x.ndim
    return [_gather_add(ct, x, **params, base_dilation=ones, window_dilation=ones), None]


primitive_transposes[select_and_scatter_add_p] = _transpose_scatter

# --- what both have in common -----------------------------------------------------------------------------------------------


def _of_source(primitive: Primitive) -> None:
    """Define a primitive as linear in its first operand; the second one's tangent counts as zero. A batch axis comes first."""
    defjvp(primitive, lambda g, out, source, x, **params: primitive.bind(g, x, **params), None)

    @register_batcher(primitive)
    def rule(axis: AxisData, vals: Vals, dims: Dims, *, select_prim: Primitive, **window: Any) -> Any:
        source, operand = (bdim_at_front(x, dim, axis.size) for x, dim in zip(vals, dims, strict=True))
        return primitive.bind(source, operand, select_prim=select_prim, **with_batch(window, 0)), 0


_of_source(select_and_gather_add_p)
_of_source(select_and_scatter_add_p)
defjvp(reduce_window_max_p, lambda g, out, x, **window: _gather_add(g, x, select_prim=ge_p, **window))
defjvp(reduce_window_min_p, lambda g, out, x, **window: _gather_add(g, x, select_prim=le_p, **window))

# --- reduce_window: by any function -----------------------------------------------------------------------------------------


def _jvp_reduce_window(
    primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: Any, consts: tuple[()], **window: Any
) -> tuple[list[Any], list[Any]]:
    """JVP rule: reduce pairs of a primal and its tangent over the same windows, with the JVP of the user's function.
    Raise TypeError if initial values have tangents.
    """
    count = len(primals) // 2
    if any(type(t) is not Zero for t in tangents[count:]):
        raise TypeError("reduce_window jvp does not support non-zero init_value_tangent.")
    starts = [instantiate_zeros(t) for t in tangents[count:]]
    of_pairs = jaxpr_as_fun(jvp_jaxpr(jaxpr, (True,) * len(tangents), True)[0])

    def computation(left: Any, right: Any) -> Any:
        return of_pairs(*left[:count], *right[:count], *left[count:], *right[count:])

    operands = [*primals[:count], *map(instantiate_zeros, tangents[:count])]
    outs = reduce_window(operands, [*primals[count:], *starts], computation, **window)
    return outs[:count], outs[count:]


primitive_jvps[reduce_window_p] = _jvp_reduce_window
