"""Provides the parts of derivative rules: symbolic zeros, sums of tangents, and the tables of rules.

A JVP rule takes primals and their tangents, and returns the result and its tangent:

    primitive_jvps[sin_p] = lambda primals, tangents: (sin(x), mul(t, cos(x)))

A transpose rule, of an operation that is linear in some operands, takes the cotangent of the result and the operands,
and returns a cotangent for each linear one:

    primitive_transposes[mul_p] = lambda ct, x, y: [mul(ct, y), None]       # x is an UndefinedPrimal

The functions below make such rules from a formula for each operand (`defjvp`), or from knowing that an operation is
linear (`deflinear`) or bilinear (`defbilinear`). Rules run under the outer trace, so they are written with the
functions of `lax`, and can be differentiated in turn.

A tangent that is known to be zero while tracing (of a constant, an integer, a rounded number) is a `Zero`: a type
without an array. What would be multiplied by it is never computed.

JAX: jax/_src/ad_util.py:Zero
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import core
from ..base.late_rooms import Slots
from ..core import Primitive, ShapedArray, dtypes
from . import mlir
from .batching import AxisData, Dims, Vals, move_to, register_batcher
from .replaying import static_marks

JvpRule = Callable[..., tuple[Any, Any]]
TransposeRule = Callable[..., Sequence[Any]]
# A share: what one operand contributes to the tangent of the result. It is called as (tangent of the operand, result,
# *operands, **params).
Share = Callable[..., Any]

primitive_jvps: dict[Primitive, JvpRule] = {}
primitive_transposes: dict[Primitive, TransposeRule] = {}

# --- zeros ------------------------------------------------------------------------------------------------------------


class Zero:
    """A tangent or cotangent that is known to be zero, of this type."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    @staticmethod
    def from_primal_value(x: Any) -> Zero:
        """Return the zero tangent of a value."""
        return zero_tangent(x)

    def instantiate(self) -> Any:
        """Return the tangent as an array."""
        return instantiate_zeros(self)

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


def tangent_aval(aval: Any) -> Any:
    """Return the type of the tangents of values of this type: `aval.to_tangent_aval()`; for a token, the token's own type."""
    return aval.to_tangent_aval() if isinstance(aval, ShapedArray) else aval


def zero_tangent(x: Any) -> Zero:
    """Return the zero tangent of a value."""
    return Zero(tangent_aval(core.typeof(x)))


class _Zeros(Slots):
    """Holds `zeros_like_aval`. `lax` stores it here, because this module cannot import `lax`, which imports it."""

    like_aval: Callable[[Any], Any]


zeros = _Zeros()


def instantiate_zeros(tangent: Any) -> Any:
    """Return the tangent as an array: zeros for a Zero."""
    if type(tangent) is not Zero:
        return tangent
    if tangent.aval.dtype == dtypes.float0 and (not tangent.aval.shape or core.current_trace() is None):
        return np.zeros(tangent.aval.shape, dtypes.float0)  # a float0 array has nothing to compute
    return zeros.like_aval(tangent.aval)


def is_float0(x: Any) -> bool:
    """Return whether x is the tangent of an integer: a float0 array, without bytes."""
    return getattr(x, "dtype", None) == dtypes.float0


def unless_float0(tangent: Any) -> Any:
    """Return the tangent, or a Zero in the place of a float0."""
    return Zero(core.get_aval(tangent)) if type(tangent) is not Zero and is_float0(tangent) else tangent


# --- sums -------------------------------------------------------------------------------------------------------------

add_any_p = Primitive("add_any")
mlir.register_lowering(add_any_p)(lambda ctx, x, y: ctx.emit("stablehlo.add", [x, y]))


@add_any_p.def_abstract_eval
def _(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    assert x.shape == y.shape, f"two tangents of one value have one shape, not {x} and {y}"
    if x.dtype != y.dtype:  # a user's rule may return another dtype
        raise TypeError(
            f"lax.add requires arguments to have the same dtypes, got {x.dtype.name}, {y.dtype.name}. (Tip: jnp.add is a similar "
            "function that does automatic type promotion on inputs)."
        )
    return x


@register_batcher(add_any_p)
def _(axis: AxisData, vals: Vals, dims: Dims) -> Any:
    """Batching rule: broadcast an operand without a batch axis, even a scalar, since both operands must have one shape."""
    (x, y), (x_dim, y_dim) = vals, dims
    place = y_dim if y_dim is not None else x_dim
    assert place is not None, "the rule is asked where an operand is a batch"
    return add_any_p.bind(move_to(x, x_dim, place, axis.size), move_to(y, y_dim, place, axis.size)), place


def add_tangents(x: Any, y: Any) -> Any:
    """Return the sum of two tangents; a Zero adds no operation."""
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else add_any_p.bind(x, y)


# --- rules from less --------------------------------------------------------------------------------------------------


def defjvp(primitive: Primitive, *shares: Share | None) -> None:
    """Define a JVP rule: the tangent of the result is the sum of a share for each operand. None is for an operand that
    contributes nothing. A share is not called if the operand's tangent is a Zero.
    """
    primitive_jvps[primitive] = functools.partial(sum_of_shares, primitive, shares)


def defjvp_without_result(primitive: Primitive, *shares: Share | None) -> None:
    """Define a JVP rule from shares without the result, `share(tangent, *operands, **params)`, as in JAX's `defjvp`."""
    defjvp(primitive, *[share and _without_result(share) for share in shares])


def _without_result(share: Share) -> Share:
    return lambda tangent, out, *operands, **params: share(tangent, *operands, **params)


def sum_of_shares(
    primitive: Primitive, shares: Sequence[Share | None], primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """JVP rule of an operation whose tangent is a sum of one share per operand: return the result and its tangent.

    Args:
      shares: one for each operand: `share(tangent, result, *primals, **params)` is the tangent if only this operand
        changes; None for an operand that contributes nothing.
      primals: the operands; `primitive.bind` takes them, with `params`.
      tangents: the operands' tangents. Do not call the share of a `Zero`.

    The tangent is the sum of the shares (`add_tangents`). If no share is called, it is `zero_tangent(result)`.
    """
    out = primitive.bind(*primals, **params)
    parts = [
        share(t, out, *primals, **params)
        for share, t in zip(shares, tangents, strict=True)
        if share is not None and type(t) is not Zero
    ]
    return out, functools.reduce(add_tangents, parts, zero_tangent(out))


def defjvp_zero(*primitives: Primitive) -> None:
    """Define zero tangents for primitives whose results are integers or step functions."""
    for primitive in primitives:
        primitive_jvps[primitive] = functools.partial(_no_change, primitive)


def _no_change(primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    out = primitive.bind(*primals, **params)
    return out, [zero_tangent(x) for x in out] if primitive.multiple_results else zero_tangent(out)


def deflinear(primitive: Primitive, transpose: TransposeRule) -> None:
    """Define a primitive as linear in all operands together: the tangent is the operation on the tangents.

    `transpose(ct, *operands, **params)` is not called for a cotangent that is Zero.
    """
    primitive_jvps[primitive] = functools.partial(_of_tangents, primitive)
    primitive_transposes[primitive] = functools.partial(_transposed, transpose)


def deflinear_without_operands(primitive: Primitive, transpose: TransposeRule) -> None:
    """Define a linear primitive by `transpose(ct, **params)`, without the operands, as in JAX's `deflinear`."""
    deflinear(primitive, lambda ct, *operands, **params: transpose(ct, **params))


def _of_tangents(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    out = primitive.bind(*primals, **params)
    return out, primitive.bind(*map(instantiate_zeros, tangents), **params)


def _transposed(transpose: TransposeRule, ct: Any, *operands: Any, **params: Any) -> Sequence[Any]:
    return no_cotangents(operands) if type(ct) is Zero else transpose(ct, *operands, **params)


def defbilinear(primitive: Primitive, transpose_left: Callable[..., Any], transpose_right: Callable[..., Any]) -> None:
    """Define a primitive as linear in each of two operands, given the other.

    `transpose_left(ct, x, y, **params)` returns the cotangent of x, which is an UndefinedPrimal; `transpose_right` returns
    the cotangent of y.
    """

    def transpose(ct: Any, x: Any, y: Any, **params: Any) -> list[Any]:
        if is_undefined(x):
            return [transpose_left(ct, x, y, **params), None]
        return [None, transpose_right(ct, x, y, **params)]

    defjvp(
        primitive,
        lambda g, out, x, y, **params: primitive.bind(g, y, **params),
        lambda g, out, x, y, **params: primitive.bind(x, g, **params),
    )
    primitive_transposes[primitive] = functools.partial(_transposed, transpose)


# --- transposition ----------------------------------------------------------------------------------------------------


class UndefinedPrimal:
    """Stands for a linear operand in a transpose rule: it has a type and no value."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"


def is_undefined(x: Any) -> bool:
    """Return whether an operand of a transpose rule is linear: an UndefinedPrimal."""
    return type(x) is UndefinedPrimal


def no_cotangents(operands: Sequence[Any]) -> list[Any]:
    """Return a transpose rule's answer if the result's cotangent is Zero: a Zero for each linear operand, None for the others."""
    return [Zero(x.aval) if is_undefined(x) else None for x in operands]


static_marks[Zero] = lambda zero: (Zero, zero.aval)
static_marks[UndefinedPrimal] = lambda undefined: (UndefinedPrimal, undefined.aval)
deflinear(add_any_p, lambda ct, x, y: [ct, ct])
