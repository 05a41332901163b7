"""Cumulative reductions: element i of the result is the sum (product, maximum, ...) of the first i + 1 elements.

For XLA each is a `reduce_window`: the window is as long as the axis, and padding on one side makes it grow from one
element to all. That would be quadratic work; XLA rewrites it to a tree of logarithmic depth.

JAX: jax/_src/lax/control_flow/loops.py:cumred_reduce_window_impl
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.late_rooms import Slots
from ..core import Primitive, ShapedArray, dtypes
from ..interpreters import ad
from ..interpreters.ad_rules import deflinear, primitive_jvps
from ..interpreters.batching import AxisData, Vals, register_batcher, shifted
from ..interpreters.mlir import LoweringContext, register_lowering, type_of
from .control_flow.derived import associative_scan
from .elementwise import abs, add, complex, exp, imag, log1p, lt, max, min, mul, ne, neg, real, rem, sub
from .reducers import scalar_reducer
from .reduction import max_identity, min_identity, prod_identity, sum_identity
from .selection import select
from .utils import scalar_of_type


def logaddexp(x1: Any, x2: Any) -> Any:
    """Return log(exp(x1) + exp(x2)) without overflow, for floats or complex numbers of one dtype; the imaginary part is
    in [-pi, pi). Raise ValueError for other dtypes.
    """
    greater = max(x1, x2)
    dtype = greater.dtype
    if dtypes.issubdtype(dtype, np.floating):
        delta = sub(x1, x2)
        infinite_or_nan = ne(delta, delta)  # inf - inf is nan, and there the plain sum is right
        return select(infinite_or_nan, add(x1, x2), add(greater, log1p(exp(neg(abs(delta))))))
    if dtypes.issubdtype(dtype, np.complexfloating):
        delta = sub(add(x1, x2), mul(greater, scalar_of_type(greater, 2)))
        out = add(greater, log1p(exp(delta)))
        return complex(real(out), _wrap_between_pi(imag(out)))
    raise ValueError(f"logaddexp requires floating-point or complex inputs; got {dtype}")


def _wrap_between_pi(angle: Any) -> Any:
    pi, two_pi, zero = (scalar_of_type(angle, value) for value in (math.pi, 2 * math.pi, 0))
    turned = rem(add(angle, pi), two_pi)
    return sub(select(lt(turned, zero), add(turned, two_pi), turned), pi)


def _define_cumulative(
    name: str, combine: Callable[[Any, Any], Any], identity: Callable[[Any], np.ndarray[Any, Any]]
) -> Primitive:
    primitive = Primitive(name)

    @primitive.def_abstract_eval
    def _(operand: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        if axis < 0:
            raise ValueError("XLA operations do not allow negative axes")
        if axis >= operand.ndim:
            raise ValueError(f"axis {axis} is out of bounds for array of shape {operand.shape}")
        if not dtypes.issubdtype(operand.dtype, np.number):
            raise TypeError(
                f"{name} does not accept dtype {operand.dtype.name}. Accepted dtypes are subtypes of number."
            )
        return operand

    @register_lowering(primitive)
    def _(ctx: LoweringContext, x: str, *, axis: int, reverse: bool) -> str:
        [aval] = ctx.avals_in
        length = aval.shape[axis]
        if length == 0:
            return x
        scalar = ShapedArray((), aval.dtype)
        init = ctx.constant(identity(aval.dtype))
        reducer = scalar_reducer(combine, scalar)
        window, ones = [1] * aval.ndim, ", ".join(["1"] * aval.ndim)
        window[axis] = length
        padding = [[0, 0] for _ in aval.shape]
        padding[axis] = [0, length - 1] if reverse else [length - 1, 0]
        attributes = (
            f"base_dilations = array<i64: {ones}>, window_dilations = array<i64: {ones}>, "
            f"window_strides = array<i64: {ones}>, "
            f"window_dimensions = array<i64: {', '.join(map(str, window))}>, "
            f"padding = dense<{padding}> : tensor<{aval.ndim}x2xi64>"
        )
        [out] = ctx.emit_regions(
            f'"stablehlo.reduce_window"({x}, {init}) <{{{attributes}}}>',
            [([scalar, scalar], lambda *args: [(ctx.inline(reducer, args)[0], scalar)])],
            f"({type_of(aval)}, {type_of(scalar)}) -> {type_of(aval)}",
            1,
        )
        return out

    @register_batcher(primitive)
    def _(batch: AxisData, vals: Vals, dims: Sequence[int], *, axis: int, reverse: bool) -> Any:
        [axis] = shifted([axis], dims[0])
        return primitive.bind(vals[0], axis=axis, reverse=reverse), dims[0]

    return primitive


def _minus_infinity(dtype: Any) -> np.ndarray[Any, Any]:
    return np.array(-np.inf, dtype)


cumsum_p = _define_cumulative("cumsum", add, sum_identity)
cumprod_p = _define_cumulative("cumprod", mul, prod_identity)
cummax_p = _define_cumulative("cummax", max, max_identity)
cummin_p = _define_cumulative("cummin", min, min_identity)
cumlogsumexp_p = _define_cumulative("cumlogsumexp", logaddexp, _minus_infinity)


deflinear(cumsum_p, lambda ct, x, axis, reverse: [cumsum(ct, axis, not reverse)])


def differentiate_as_tree(primitive: Primitive, combine: Callable[[Any, Any], Any]) -> None:
    """Define the primitive's JVP rule: differentiate `associative_scan`, which computes the same."""

    def jvp(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> tuple[Any, Any]:
        def by_tree(x: Any) -> list[Any]:
            return [associative_scan(combine, x, reverse=reverse, axis=axis)]

        [out], [tangent] = ad.jvp(by_tree, primals, tangents)
        return out, tangent

    primitive_jvps[primitive] = jvp


class _Combining(Slots):
    """A slot for `logaddexp` with its derivative. `numpy.log_sums` fills it."""

    logaddexp: Callable[[Any, Any], Any]


combining = _Combining()


def _logaddexp(x: Any, y: Any) -> Any:
    return combining.logaddexp(x, y)


differentiate_as_tree(cumprod_p, mul)
differentiate_as_tree(cummax_p, max)
differentiate_as_tree(cummin_p, min)
differentiate_as_tree(cumlogsumexp_p, _logaddexp)


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Return the running sum of numbers along `axis`, with `reverse` from the end, in the same dtype. Raise ValueError
    for a negative axis.
    """
    return cumsum_p.bind(operand, axis=int(axis), reverse=bool(reverse))


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Return the running product of numbers along `axis`, with `reverse` from the end, in the same dtype. Raise
    ValueError for a negative axis.
    """
    return cumprod_p.bind(operand, axis=int(axis), reverse=bool(reverse))


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Return the running maximum of numbers along `axis`, with `reverse` from the end. Raise ValueError for a negative axis."""
    return cummax_p.bind(operand, axis=int(axis), reverse=bool(reverse))


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Return the running minimum of numbers along `axis`, with `reverse` from the end. Raise ValueError for a negative axis."""
    return cummin_p.bind(operand, axis=int(axis), reverse=bool(reverse))


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Return the running log(sum(exp(...))) of floats or complex numbers along `axis`, with `reverse` from the end.
    Raise ValueError for a negative axis.
    """
    return cumlogsumexp_p.bind(operand, axis=int(axis), reverse=bool(reverse))
