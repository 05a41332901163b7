"""What derivative rules are made of: symbolic zeros, sums of tangents, and the tables in which rules stand.

A rule for the forward direction takes values and their tangents, and returns results and theirs:

    primitive_jvps[sin_p] = lambda primals, tangents: (sin(x), mul(t, cos(x)))

A rule for the reverse direction, of an operation that is linear in some operands, takes the cotangent of the result and
the operands, and returns a cotangent for each linear one:

    primitive_transposes[mul_p] = lambda ct, x, y: [mul(ct, y), None]       # x is an UndefinedPrimal

The functions below make such rules from less: from a formula for each operand (`defjvp`), or from the promise that an
operation is linear (`deflinear`) or bilinear (`defbilinear`). Rules run under the trace around the derivative's, so
they are written with the functions of `lax`, and are differentiated in turn.

A tangent that is zero for a reason that is known while tracing (a constant, an integer, a rounded number) is a `Zero`:
no array, only its type. What it is multiplied by is never computed.

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
# One operand's share of a tangent: (its tangent, the result, *operands, **params) -> tangent of the result.
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
        """The tangent of a value that does not change."""
        return zero_tangent(x)

    def instantiate(self) -> Any:
        """The tangent as an array."""
        return instantiate_zeros(self)

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


def tangent_aval(aval: Any) -> Any:
    """The type of a small change of a value, `ShapedArray.to_tangent_aval`; that of a token is its own."""
    return aval.to_tangent_aval() if isinstance(aval, ShapedArray) else aval


def zero_tangent(x: Any) -> Zero:
    """The tangent of a value that does not change."""
    return Zero(tangent_aval(core.typeof(x)))


class _Zeros(Slots):
    """Slot for `lax.zeros_like_aval`."""

    like_aval: Callable[[Any], Any]


zeros = _Zeros()


def instantiate_zeros(tangent: Any) -> Any:
    """The tangent as an array: where it is a Zero, one of zeros."""
    if type(tangent) is not Zero:
        return tangent
    if tangent.aval.dtype == dtypes.float0 and (not tangent.aval.shape or core.current_trace() is None):
        return np.zeros(tangent.aval.shape, dtypes.float0)  # nothing to compute
    return zeros.like_aval(tangent.aval)


def is_float0(x: Any) -> bool:
    """Whether x is the tangent of an integer: an array of no bytes."""
    return getattr(x, "dtype", None) == dtypes.float0


# --- sums -------------------------------------------------------------------------------------------------------------

add_any_p = Primitive("add_any")
mlir.register_lowering(add_any_p)(lambda ctx, x, y: ctx.emit("stablehlo.add", [x, y]))


@add_any_p.def_abstract_eval
def _(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    assert x.shape == y.shape, f"two tangents of one value have one shape, not {x} and {y}"
    if x.dtype != y.dtype:  # what a rule of the user's returned
        raise TypeError(
            f"lax.add requires arguments to have the same dtypes, got {x.dtype.name}, {y.dtype.name}. (Tip: jnp.add is a similar "
            "function that does automatic type promotion on inputs)."
        )
    return x


@register_batcher(add_any_p)
def _(axis: AxisData, vals: Vals, dims: Dims) -> Any:
    """Operands are of one type: what is no batch is broadcast, also if it is a scalar."""
    (x, y), (x_dim, y_dim) = vals, dims
    place = y_dim if y_dim is not None else x_dim
    assert place is not None, "the rule is asked where an operand is a batch"
    return add_any_p.bind(move_to(x, x_dim, place, axis.size), move_to(y, y_dim, place, axis.size)), place


def add_tangents(x: Any, y: Any) -> Any:
    """The sum, for which a Zero costs nothing."""
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else add_any_p.bind(x, y)


# --- rules from less --------------------------------------------------------------------------------------------------


def defjvp(primitive: Primitive, *shares: Share | None) -> None:
    """The tangent of the result is the sum of a share for each operand; None for one that contributes nothing.

    A share is only asked where the operand's tangent is no Zero.
    """
    primitive_jvps[primitive] = functools.partial(sum_of_shares, primitive, shares)


def defjvp_without_result(primitive: Primitive, *shares: Share | None) -> None:
    """The same where a share is not told the result: `share(tangent, *operands, **params)`, as JAX's `defjvp` has it."""
    defjvp(primitive, *[share and _without_result(share) for share in shares])


def _without_result(share: Share) -> Share:
    return lambda tangent, out, *operands, **params: share(tangent, *operands, **params)


def sum_of_shares(
    primitive: Primitive, shares: Sequence[Share | None], primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """The rule for pairs of an operation to whose tangent each operand contributes a share of its own: the result and its
    tangent.

    Args:
      shares: one for each operand: `share(tangent, result, *primals, **params)` is what a change of this operand alone does
        to the result; None for an operand that contributes nothing.
      primals: the operands, which `primitive.bind` takes, with `params`.
      tangents: theirs. For one that is a `Zero`, no share is asked.

    The tangent is the sum of the shares (`add_tangents`). Where there are none, it is `zero_tangent(result)`.
    """
    out = primitive.bind(*primals, **params)
    parts = [
        share(t, out, *primals, **params)
        for share, t in zip(shares, tangents, strict=True)
        if share is not None and type(t) is not Zero
    ]
    return out, functools.reduce(add_tangents, parts, zero_tangent(out))


def defjvp_zero(*primitives: Primitive) -> None:
    """The results do not change a little: they are integers, or steps."""
    for primitive in primitives:
        primitive_jvps[primitive] = functools.partial(_no_change, primitive)


def _no_change(primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    out = primitive.bind(*primals, **params)
    return out, [zero_tangent(x) for x in out] if primitive.multiple_results else zero_tangent(out)


def deflinear(primitive: Primitive, transpose: TransposeRule) -> None:
    """The operation is linear in all operands together: the tangent is the operation on the tangents.

    `transpose(ct, *operands, **params)` is not asked for a cotangent that is Zero.
    """
    primitive_jvps[primitive] = functools.partial(_of_tangents, primitive)
    primitive_transposes[primitive] = functools.partial(_transposed, transpose)


def deflinear_without_operands(primitive: Primitive, transpose: TransposeRule) -> None:
    """The same where `transpose(ct, **params)` is not told the operands, as JAX's `deflinear` has it."""
    deflinear(primitive, lambda ct, *operands, **params: transpose(ct, **params))


def _of_tangents(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    out = primitive.bind(*primals, **params)
    return out, primitive.bind(*map(instantiate_zeros, tangents), **params)


def _transposed(transpose: TransposeRule, ct: Any, *operands: Any, **params: Any) -> Sequence[Any]:
    return no_cotangents(operands) if type(ct) is Zero else transpose(ct, *operands, **params)


def defbilinear(primitive: Primitive, transpose_left: Callable[..., Any], transpose_right: Callable[..., Any]) -> None:
    """The operation is linear in each of two operands, given the other.

    `transpose_left(ct, x, y, **params)` is the cotangent of x, an UndefinedPrimal; `transpose_right` that of y.
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
    """Stands for an operand in which an operation is linear, when it is transposed: it has a type and no value."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"


def is_undefined(x: Any) -> bool:
    """Whether an operand of an operation that is transposed is one of the linear ones."""
    return type(x) is UndefinedPrimal


def no_cotangents(operands: Sequence[Any]) -> list[Any]:
    """The answer of a transpose rule to a cotangent that is Zero."""
    return [Zero(x.aval) if is_undefined(x) else None for x in operands]


static_marks[Zero] = lambda zero: (Zero, zero.aval)
static_marks[UndefinedPrimal] = lambda undefined: (UndefinedPrimal, undefined.aval)
deflinear(add_any_p, lambda ct, x, y: [ct, ct])
