"""Reduces over windows that move along an array, as pooling does.

JAX: jax/_src/lax/windowed_reductions.py:reduce_window
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import core, tree_util
from ..core import Primitive, ShapedArray, dtypes
from ..interpreters.batching import AxisData, Dims, Vals, bdim_at_front, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering, type_of
from ..jaxpr import Jaxpr
from .convolution_shapes import dilate_shape, padtype_to_pads
from .elementwise import add, max, min
from .generic_reduction import trace_reducer
from .reducers import integer_array, remembered, scalar_reducer
from .reduction import max_identity, min_identity, sum_identity
from .utils import Shape, check_shapelike, is_a

Padding = Sequence[tuple[int, int]]

# --- the shape rule ---------------------------------------------------------------------------------------------------------


def reduce_window_shape_tuple(
    operand_shape: Any,
    window_dimensions: Any,
    window_strides: Any,
    padding: Padding,
    base_dilation: Any = None,
    window_dilation: Any = None,
) -> Shape:
    """Return how many positions a window has along each axis."""
    if base_dilation is not None:
        operand_shape = dilate_shape(operand_shape, base_dilation)
    if window_dilation is not None:
        window_dimensions = dilate_shape(window_dimensions, window_dilation)
    padded = [size + before + after for size, (before, after) in zip(operand_shape, padding, strict=True)]
    sizes = zip(padded, window_dimensions, window_strides, strict=True)
    return tuple([0 if size < window else (size - window) // stride + 1 for size, window, stride in sizes])


def window_shape(
    operand: ShapedArray,
    window_dimensions: Any,
    window_strides: Any,
    padding: Padding,
    base_dilation: Any,
    window_dilation: Any,
) -> Shape:
    """Return the shape of a reduction over windows. Raise TypeError for parameters that do not fit the operand's rank,
    and for sizes and strides below 1.
    """
    check_shapelike("reduce_window", "window_dimensions", window_dimensions, positive=True)
    check_shapelike("reduce_window", "window_strides", window_strides, positive=True)
    check_shapelike("reduce_window", "base_dilation", base_dilation)
    check_shapelike("reduce_window", "window_dilation", window_dilation)
    if operand.ndim != len(window_dimensions):
        raise TypeError(
            "reduce_window got the wrong number of window_dimensions for operand: got operand shape "
            f"{operand.shape} with window_dimensions {window_dimensions}."
        )
    others = {"window_strides": window_strides, "base_dilation": base_dilation, "window_dilation": window_dilation}
    for name, value in others.items():
        if len(value) != len(window_dimensions):
            raise TypeError(
                f"reduce_window got inconsistent {name} and window_dimensions: got {name} {value} and "
                f"window_dimensions {window_dimensions}."
            )
    return reduce_window_shape_tuple(
        operand.shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )


# --- reduce_window_sum, reduce_window_max, reduce_window_min --------------------------------------------------------------


def _define(
    name: str, combine: Callable[[Any, Any], Any], identity: Callable[[Any], Any], numbers_only: bool = False
) -> Primitive:
    primitive = Primitive(name)

    @primitive.def_abstract_eval
    def _(x: ShapedArray, **window: Any) -> ShapedArray:
        if numbers_only and not is_a(x.dtype, np.number):
            raise TypeError(f"operand to reduce_window_sum must have a number dtype, got {x.dtype.name}")
        return x.update(shape=window_shape(x, **window))

    @register_lowering(primitive)
    def _(ctx: LoweringContext, x: str, **window: Any) -> str:
        scalar = ctx.avals_in[0].update(shape=())
        reducer = scalar_reducer(combine, scalar)
        start = ctx.constant(identity(scalar.dtype))
        return _emit(ctx, [x], [start], reducer, **window)[0]

    @register_batcher(primitive)
    def rule(axis: AxisData, vals: Vals, dims: Sequence[int], **window: Any) -> Any:
        return primitive.bind(vals[0], **with_batch(window, dims[0])), dims[0]

    return primitive


def with_batch(window: dict[str, Any], dim: int) -> dict[str, Any]:
    """Return the window's parameters for arrays with a batch axis at `dim`, along which the window has size 1."""
    return {name: (*value[:dim], (0, 0) if name == "padding" else 1, *value[dim:]) for name, value in window.items()}


def _emit(
    ctx: LoweringContext,
    operands: Sequence[str],
    inits: Sequence[str],
    reducer: Jaxpr,
    window_dimensions: Any,
    window_strides: Any,
    padding: Padding,
    base_dilation: Any,
    window_dilation: Any,
) -> list[str]:
    scalars = [aval.update(shape=()) for aval in ctx.avals_out]
    types_in = [type_of(aval) for aval in (*ctx.avals_in[: len(operands)], *scalars)]
    rows = ", ".join(f"[{before}, {after}]" for before, after in padding)
    pads = f"dense<[{rows}]> : tensor<{len(padding)}x2xi64>" if len(padding) else "dense<> : tensor<0x2xi64>"
    attributes = (
        f"base_dilations = {integer_array(base_dilation)}, padding = {pads}, "
        f"window_dilations = {integer_array(window_dilation)}, window_dimensions = {integer_array(window_dimensions)}, "
        f"window_strides = {integer_array(window_strides)}"
    )
    return ctx.emit_regions(
        f'"stablehlo.reduce_window"({", ".join([*operands, *inits])}) <{{{attributes}}}>',
        [([*scalars, *scalars], lambda *args: list(zip(ctx.inline(reducer, args), scalars, strict=True)))],
        f"({', '.join(types_in)}) -> ({', '.join(map(type_of, ctx.avals_out))})",
        len(operands),
    )


reduce_window_sum_p = _define("reduce_window_sum", add, sum_identity, numbers_only=True)
reduce_window_max_p = _define("reduce_window_max", max, max_identity)
reduce_window_min_p = _define("reduce_window_min", min, min_identity)

# --- reduce_window: by any function -----------------------------------------------------------------------------------------

reduce_window_p = Primitive("reduce_window", multiple_results=True, pure_shape_rule=False)


@reduce_window_p.def_abstract_eval
def _(*avals: ShapedArray, jaxpr: Jaxpr, consts: tuple[()], **window: Any) -> list[ShapedArray]:
    operands, inits = avals[: len(avals) // 2], avals[len(avals) // 2 :]
    if any(x.dtype != init.dtype for x, init in zip(operands, inits, strict=True)):
        raise TypeError(
            "reduce_window got inconsistent dtypes for operands and init_values: got operand dtypes "
            f"{[x.dtype for x in operands]} and init_value dtypes {[init.dtype for init in inits]}."
        )
    if any(init.ndim for init in inits):
        raise TypeError(
            "reduce_window expected init_values to be scalars but init_values have shapes "
            f"{[init.shape for init in inits]}."
        )
    shape = window_shape(operands[0], **window)
    return [ShapedArray(shape, x.dtype) for x in operands]


@register_lowering(reduce_window_p)
def _(ctx: LoweringContext, *values: str, jaxpr: Jaxpr, consts: tuple[()], **window: Any) -> list[str]:
    if jaxpr.effects:
        raise NotImplementedError("Cannot lower effectful `reduce_window`.")
    count = len(values) // 2
    return _emit(ctx, values[:count], values[count:], jaxpr, **window)


@register_batcher(reduce_window_p)
def _(axis: AxisData, vals: Vals, dims: Dims, *, jaxpr: Jaxpr, consts: tuple[()], **window: Any) -> Any:
    count = len(vals) // 2
    if any(dim is not None for dim in dims[count:]):
        raise NotImplementedError("reduce_window batching is not implemented for initial values")
    operands = [bdim_at_front(x, dim, axis.size) for x, dim in zip(vals[:count], dims[:count], strict=True)]
    window = with_batch(window, 0)
    return reduce_window_p.bind(*operands, *vals[count:], jaxpr=jaxpr, consts=consts, **window), [0] * count


_PLAIN: dict[Callable[..., Any], tuple[Callable[[Any], Any], Primitive]] = {
    add: (sum_identity, reduce_window_sum_p),
    max: (max_identity, reduce_window_max_p),
    min: (min_identity, reduce_window_min_p),
}


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Any,
    window_strides: Sequence[int] | None = None,
    padding: str | Padding = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Return the elements of a window folded to one, for each position of the window.

    Args:
      operand: an array, or a tree of arrays of one shape.
      init_value: the neutral element, a scalar, or a tree of them; it is also the padding.
      computation: an associative function of two scalars (or trees of them) that returns one.
      window_dimensions, window_strides: the window's size along each axis, and how far it moves (1 by default).
      padding: pairs of how much to add before and after each axis; or "VALID" (nothing), "SAME", "SAME_LOWER".
      base_dilation, window_dilation: distances between neighbours in the array, and in the window.

    Returns:
      An array, or a tree of arrays. `x` of shape [n, h, w, c], pooled by its greatest in 2 x 2: `reduce_window(x, -jnp.inf,
      lax.max, (1, 2, 2, 1), (1, 2, 2, 1))`.

    Raises:
      ValueError: the trees differ, or have no arrays.
      TypeError: sizes or ranks do not fit; dtypes differ, unless `computation` is `add`, `max` or `min` with its neutral
        element.
      RuntimeError: the name of a padding is unknown.
    """
    operands, tree = tree_util.tree_flatten(operand)
    inits, init_tree = tree_util.tree_flatten(init_value)
    if tree != init_tree:
        raise ValueError(f"Operands must have the same tree structure as init_values: {tree} vs. {init_tree}")
    if not operands:
        raise ValueError("reduce_window must have at least one operand.")
    ones = (1,) * len(window_dimensions)
    if isinstance(padding, str):
        dilated = dilate_shape(window_dimensions, window_dilation) if window_dilation else window_dimensions
        padding = padtype_to_pads(operands[0].shape, dilated, window_strides or [], padding)
    window = {
        "window_dimensions": tuple(window_dimensions),
        "window_strides": tuple(window_strides or ones),
        "padding": tuple([(before, after) for before, after in padding]),
        "base_dilation": tuple(base_dilation or ones),
        "window_dilation": tuple(window_dilation or ones),
    }
    plain = _plain(computation, inits)
    if plain is not None:
        return plain.bind(operand, **window)
    avals = tuple(core.get_aval(init) for init in inits)
    jaxpr, out_tree = remembered(computation, (avals, init_tree), lambda: trace_reducer(computation, avals, init_tree))
    if tree != out_tree:
        raise ValueError(
            f"reduce_window output must have the same tree structure as the operands {tree} vs. {out_tree}"
        )
    outs = reduce_window_p.bind(*operands, *inits, jaxpr=jaxpr, consts=tuple(jaxpr.consts), **window)
    return tree_util.tree_unflatten(out_tree, outs)


def _plain(computation: Callable[..., Any], inits: Sequence[Any]) -> Primitive | None:
    """Return the window primitive for a reduction by this function from its identity (`reduce_window_max` for `lax.max`
    from -inf), or None.
    """
    if len(inits) != 1 or not core.is_concrete(inits[0]) or np.shape(inits[0]) != ():
        return None
    try:
        identity, primitive = _PLAIN[computation]
    except (KeyError, TypeError):
        return None
    return primitive if np.equal(np.asarray(inits[0]), identity(dtypes.dtype(inits[0]))) else None
