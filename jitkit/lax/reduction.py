"""Reductions fold an axis with an operation that has a neutral element, or search it for its least or greatest element.

The seven plain ones are rows of one table: operation, neutral element, and accepted dtypes. XLA may fold in any order,
so sums of floats differ in their last bits between targets. `argmin` and `argmax` fold pairs (value, position).

JAX: jax/_src/lax/lax.py:_unary_reduce_lower
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import Primitive, ShapedArray, dtypes
from ..interpreters.batching import defreducer
from ..interpreters.mlir import LoweringContext, register_lowering
from ..interpreters.mlir_text import type_of
from ..jaxpr import pp_eqn_rules
from ..jaxpr.printer import show_params_since
from .elementwise import bitwise_and, bitwise_or, eq, gt, lt, max, min, ne
from .reducers import inline_function, integer_array, scalar_reducer
from .selection import select

# --- neutral elements ---------------------------------------------------------------------------------------


def sum_identity(dtype: Any) -> np.ndarray[Any, Any]:
    """Return 0 (False for bools), also the neutral element of `or` and `xor`."""
    return np.array(0, dtype)


def prod_identity(dtype: Any) -> np.ndarray[Any, Any]:
    """Return 1, the identity of a product, in this dtype."""
    return np.array(1, dtype)


def and_identity(dtype: Any) -> np.ndarray[Any, Any]:
    """Return the identity of `and`: the number with all bits set; True for bools."""
    return np.array(-1).astype(dtype)


def max_identity(dtype: Any) -> np.ndarray[Any, Any]:
    """Return the neutral element of `max`, an array without axes: the least value of the dtype. That is -inf, or the
    lowest finite value where there is no infinity (`dtypes.supports_inf`); the least integer; False for bools.
    """
    if dtypes.issubdtype(dtype, np.inexact):
        return np.array(-np.inf if dtypes.supports_inf(dtype) else dtypes.finfo(dtype).min, dtype)
    return np.array(dtypes.iinfo(dtype).min if dtypes.issubdtype(dtype, np.integer) else False, dtype)


def min_identity(dtype: Any) -> np.ndarray[Any, Any]:
    """Return the greatest value of the dtype: inf, or the greatest finite value without an infinity; True for bools."""
    if dtypes.issubdtype(dtype, np.inexact):
        return np.array(np.inf if dtypes.supports_inf(dtype) else dtypes.finfo(dtype).max, dtype)
    return np.array(dtypes.iinfo(dtype).max if dtypes.issubdtype(dtype, np.integer) else True, dtype)


# --- shape rules --------------------------------------------------------------------------------------------


def _reduced_shape(operand: ShapedArray, axes: tuple[int, ...]) -> tuple[int, ...]:
    if len(axes) != len(set(axes)):
        raise ValueError(f"duplicate value in 'axes' of reduction: {axes}")
    if not all(0 <= axis < operand.ndim for axis in axes):
        weak = "~" if operand.weak_type else ""
        raise ValueError(f"reduction axes {axes} contains out-of-bounds indices for {weak}{operand.str_short()}.")
    return tuple(size for axis, size in enumerate(operand.shape) if axis not in axes)


def without_axes(operand: ShapedArray, axes: tuple[int, ...]) -> list[int]:
    """Return the sizes of the axes that are not reduced. Raise ValueError for a negative or repeated axis, and
    IndexError, as in JAX's older rules, for an axis beyond the end.
    """
    if len(set(axes)) != len(axes) or any(axis < 0 for axis in axes):
        raise ValueError(f"reduction axes must be distinct and nonnegative, got {axes}")
    shape: list[int] = np.delete(operand.shape, axes).tolist()
    return shape


def _any_dtype(name: str, operand: ShapedArray, axes: tuple[int, ...]) -> ShapedArray:
    return operand.update(shape=_reduced_shape(operand, axes))


def _numbers_only(name: str, operand: ShapedArray, axes: tuple[int, ...]) -> ShapedArray:
    out = operand.update(shape=_reduced_shape(operand, axes))
    if not dtypes.issubdtype(operand.dtype, np.number):
        raise TypeError(f"{name} does not accept dtype {operand.dtype.name}. Accepted dtypes are subtypes of number.")
    return out


def _bits_only(name: str, operand: ShapedArray, axes: tuple[int, ...]) -> ShapedArray:
    if operand.dtype != np.bool_ and not np.issubdtype(operand.dtype, np.integer):
        raise TypeError(f"logical reduction requires operand dtype bool or int, got {operand.dtype}.")
    return ShapedArray(without_axes(operand, axes), operand.dtype)


# --- reduce_sum and its kin ---------------------------------------------------------------------------------


def _define_reduction(
    name: str,
    op: str,
    identity: Callable[[Any], np.ndarray[Any, Any]],
    shape_rule: Callable[[str, ShapedArray, tuple[int, ...]], ShapedArray],
    complex_op: Callable[[Any, Any], Any] | None = None,
) -> Primitive:
    """Return a new primitive, a reduction by the StableHLO operation `op`, or for complex numbers, which StableHLO does
    not order, by a region of `complex_op`, if given.
    """
    primitive = Primitive(name)
    defreducer(primitive)

    @functools.cache
    def starts(dtype: Any) -> tuple[ShapedArray, Any]:
        return ShapedArray((), dtype), identity(dtype)[()]

    @primitive.def_abstract_eval
    def _(operand: ShapedArray, *, axes: tuple[int, ...], out_sharding: None = None) -> ShapedArray:
        return shape_rule(name, operand, axes)

    @register_lowering(primitive)
    def _(ctx: LoweringContext, x: str, *, axes: tuple[int, ...], out_sharding: None = None) -> str:
        scalar, identity_of_dtype = starts(ctx.avals_in[0].dtype)
        init = ctx.splat(identity_of_dtype, scalar)
        if complex_op is not None and dtypes.issubdtype(scalar.dtype, np.complexfloating):
            reducer = scalar_reducer(complex_op, scalar)
            [out] = emit_reduce(ctx, [x], [init], axes, ctx.avals_out, lambda *args: ctx.inline(reducer, args))
            return out
        text = f"stablehlo.reduce({x} init: {init}) applies stablehlo.{op} across dimensions = {[*map(int, axes)]}"
        return ctx.emit_op(text, (ctx.avals_in[0], scalar), ctx.avals_out[0])

    return primitive


def emit_reduce(
    ctx: LoweringContext,
    operands: Sequence[str],
    inits: Sequence[str],
    axes: Sequence[int],
    avals_out: Sequence[ShapedArray],
    reducer: Callable[..., Sequence[str]],
) -> list[str]:
    """Write `"stablehlo.reduce"`, which folds one or several arrays of one shape together, along `axes`; return the
    names of the results.

        %4:2 = "stablehlo.reduce"(%2, %3, %0, %1) <{dimensions = array<i64: 1>}> ({region}) : (...) -> (...)

    Args:
      operands: names of the arrays, whose types are the first of `ctx.avals_in`.
      inits: names of as many scalars, of the operands' dtypes: the neutral elements, which XLA may fold in any
        number of times.
      axes: the axes to fold. The results do not have them.
      avals_out: the types of the results.
      reducer: `reducer(*accumulated, *elements)` writes how two scalars become one, for each of the arrays, and
        returns the names. It is called while the region is written (`emit_regions`), on the names of the region's
        arguments.
    """
    scalars = [aval.update(shape=()) for aval in avals_out]
    types_in = [type_of(aval) for aval in (*ctx.avals_in[: len(operands)], *scalars)]
    types_out = [type_of(aval) for aval in avals_out]
    return ctx.emit_regions(
        f'"stablehlo.reduce"({", ".join([*operands, *inits])}) <{{dimensions = {integer_array(axes)}}}>',
        [([*scalars, *scalars], lambda *args: list(zip(reducer(*args), scalars, strict=True)))],
        f"({', '.join(types_in)}) -> ({', '.join(types_out)})",
        len(operands),
    )


reduce_sum_p = _define_reduction("reduce_sum", "add", sum_identity, _numbers_only)
reduce_prod_p = _define_reduction("reduce_prod", "multiply", prod_identity, _numbers_only)
reduce_max_p = _define_reduction("reduce_max", "maximum", max_identity, _any_dtype, complex_op=max)
reduce_min_p = _define_reduction("reduce_min", "minimum", min_identity, _any_dtype, complex_op=min)
pp_eqn_rules[reduce_max_p] = pp_eqn_rules[reduce_min_p] = show_params_since(0, 11, out_sharding=None)
reduce_and_p = _define_reduction("reduce_and", "and", and_identity, _bits_only)
reduce_or_p = _define_reduction("reduce_or", "or", sum_identity, _bits_only)
reduce_xor_p = _define_reduction("reduce_xor", "xor", sum_identity, _bits_only)


def reduce_sum(operand: Any, axes: Sequence[int]) -> Any:
    """Return the sum over `axes` of an array of numbers, in its dtype; 0 for no elements. Raise ValueError for an axis that is
    negative, repeated or too large, TypeError for bools.
    """
    return reduce_sum_p.bind(operand, axes=tuple(axes), out_sharding=None)


def reduce_prod(operand: Any, axes: Sequence[int]) -> Any:
    """Return the product over `axes` of an array of numbers, in its dtype; 1 for no elements. Raise as `reduce_sum` does."""
    return reduce_prod_p.bind(operand, axes=tuple(axes))


def reduce_max(operand: Any, axes: Sequence[int]) -> Any:
    """Return the greatest element over `axes`; nan if there is one; the dtype's least value for no elements. Complex
    numbers are ordered lexicographically. Raise ValueError for an axis that is negative, repeated or too large.
    """
    return reduce_max_p.bind(operand, axes=tuple(axes))


def reduce_min(operand: Any, axes: Sequence[int]) -> Any:
    """Return the least element over `axes`; nan if there is one; the dtype's greatest value for no elements. Complex
    numbers are ordered lexicographically. Raise ValueError for an axis that is negative, repeated or too large.
    """
    return reduce_min_p.bind(operand, axes=tuple(axes))


def reduce_and(operand: Any, axes: Sequence[int]) -> Any:
    """Return the bitwise `and` over `axes` of an array of bools or integers; True, or all bits set, for no elements. Raise
    TypeError for another dtype, ValueError for an axis that is negative or repeated, IndexError for one that is too large.
    """
    return reduce_and_p.bind(operand, axes=tuple(axes))


def reduce_or(operand: Any, axes: Sequence[int]) -> Any:
    """Return the bitwise `or` over `axes` of an array of bools or integers; False, or 0, for no elements. Raise as `reduce_and` does."""
    return reduce_or_p.bind(operand, axes=tuple(axes))


def reduce_xor(operand: Any, axes: Sequence[int]) -> Any:
    """Return the bitwise `xor` over `axes` of an array of bools or integers; False, or 0, for no elements. Raise as `reduce_and` does."""
    return reduce_xor_p.bind(operand, axes=tuple(axes))


# --- argmin and argmax: the position of the extreme ---------------------------------------------------------


def _define_arg_reduction(
    name: str, better: Callable[[Any, Any], Any], identity: Callable[[Any], np.ndarray[Any, Any]]
) -> Primitive:
    """Return a new primitive, the search for the element that is `better` than all others. A nan wins over everything;
    among equals the first wins.
    """
    primitive = Primitive(name)
    defreducer(primitive)

    @primitive.def_abstract_eval
    def _(operand: ShapedArray, *, axes: tuple[int], index_dtype: Any) -> ShapedArray:
        [axis] = axes
        if not 0 <= axis < operand.ndim:
            raise ValueError(f"Invalid axis {axis} for operand shape {operand.shape}")
        if operand.shape[axis] < 1:
            raise ValueError(
                f"argmin and argmax require non-empty reduced dimension. operand.shape={operand.shape} {axis=}"
            )
        if not dtypes.issubdtype(index_dtype, np.integer):
            raise TypeError(f"index_dtype must be an integer type, but got {np.dtype(index_dtype).name}")
        return ShapedArray(operand.shape[:axis] + operand.shape[axis + 1 :], index_dtype)

    def pick(value: Any, index: Any, best: Any, best_index: Any) -> tuple[Any, Any]:
        take_value = bitwise_or(better(value, best), ne(value, value))  # only a nan differs from itself
        take_index = bitwise_or(take_value, bitwise_and(eq(value, best), lt(index, best_index)))
        return select(take_value, value, best), select(take_index, index, best_index)

    @register_lowering(primitive)
    def _(ctx: LoweringContext, x: str, *, axes: tuple[int], index_dtype: Any) -> str:
        values = ctx.avals_in[0]
        positions = ShapedArray(values.shape, index_dtype)
        iota = ctx.emit_text(f"stablehlo.iota dim = {axes[0]} : {type_of(positions)}")
        inits = [ctx.constant(identity(values.dtype)), ctx.constant(0, index_dtype)]
        [out] = ctx.avals_out
        pair = [ShapedArray((), values.dtype), ShapedArray((), index_dtype)]
        ctx.avals_in = [values, positions]
        _, index = emit_reduce(
            ctx,
            [x, iota],
            inits,
            axes,
            [out.update(dtype=values.dtype), out],
            lambda *args: inline_function(ctx, pick, args, [*pair, *pair]),
        )
        return index

    return primitive


argmin_p = _define_arg_reduction("argmin", lt, min_identity)
argmax_p = _define_arg_reduction("argmax", gt, max_identity)


def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """Return the index of the least element along `axis`, as `index_dtype`. A nan counts as least; among equals the
    first wins. Raise ValueError for an axis that is negative, too large, or empty.
    """
    index_dtype = dtypes.check_and_canonicalize_user_dtype(index_dtype, "argmin")
    return argmin_p.bind(operand, axes=(axis,), index_dtype=index_dtype)


def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """Return the index of the greatest element along `axis`, as `index_dtype`. A nan counts as greatest; among equals
    the first wins. Raise ValueError for an axis that is negative, too large, or empty.
    """
    index_dtype = dtypes.check_and_canonicalize_user_dtype(index_dtype, "argmax")
    return argmax_p.bind(operand, axes=(axis,), index_dtype=index_dtype)
