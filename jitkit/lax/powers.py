"""Computes powers whose exponent is an array, or an integer known while tracing.

`pow` is one operation of XLA, which takes logarithms; `integer_pow` is a handful of multiplications.

JAX: jax/_src/lax/lax.py:pow_p
"""

from __future__ import annotations

from typing import Any

from ..base import edits
from ..core import Primitive, ShapedArray
from ..interpreters.batching import defvectorized
from ..interpreters.mlir import LoweringContext, register_lowering
from .elementwise_rules import INEXACT, INTEGER, NUMBER, check_operand, nary_primitive
from .utils import is_a

# --- pow -----------------------------------------------------------------------------------------------


def _pow_dtype(x: ShapedArray, y: ShapedArray) -> Any:
    if x.dtype == y.dtype or is_a(y.dtype, *INTEGER):
        return x.dtype
    raise TypeError(
        "the first argument to pow must have an inexact dtype (float or complex), and the second argument "
        "must have an inexact or integer dtype, and two inexact dtypes must match, "
        f"but got {x.dtype} and {y.dtype} respectively."
    )


def _lower_pow(ctx: LoweringContext, x: str, y: str) -> str:
    return ctx.emit("stablehlo.power", [x, ctx.convert(y, ctx.avals_in[1], ctx.avals_in[0].dtype)])


pow_p = nary_primitive("pow", (INEXACT, NUMBER), _lower_pow, _pow_dtype, one_dtype=False)


def pow(x: Any, y: Any) -> Any:
    """Return x to the power of y, elementwise; scalars broadcast.

    Args:
      x: floats or complex.
      y: of x's dtype, or integers.

    Raises:
      TypeError: for other dtypes, or shapes that do not fit.
    """
    return pow_p.bind(x, y)


# --- integer_pow ---------------------------------------------------------------------------------------
integer_pow_p = Primitive("integer_pow")
defvectorized(integer_pow_p)


@integer_pow_p.def_abstract_eval
def _(x: ShapedArray, *, y: int) -> ShapedArray:
    check_operand("integer_pow", NUMBER, x)
    if y < 0 and is_a(x.dtype, *INTEGER):
        weak = "~" if x.weak_type else ""
        raise TypeError(
            f"Integers cannot be raised to negative powers, got integer_pow({weak}{x.str_short()}, {y}){edits.FLOAT_POWER}"
        )
    return x


@register_lowering(integer_pow_p)
def _(ctx: LoweringContext, x: str, *, y: int) -> str:
    # Repeated squaring: x**11 is x * x**2 * x**8.
    power: str | None = None
    left = -y if y < 0 else y
    while left:
        if left & 1:
            power = x if power is None else ctx.emit("stablehlo.multiply", [power, x])
        left >>= 1
        if left:
            x = ctx.emit("stablehlo.multiply", [x, x])
    if y > 0 and power is not None:
        return power
    one = ctx.splat(1, ctx.avals_in[0])
    return one if power is None else ctx.emit("stablehlo.divide", [one, power])


def integer_pow(x: Any, y: int) -> Any:
    """Return x to the power of a Python int, by multiplications, elementwise.

    Raises:
      TypeError: for bools, and for integers to a negative power.
    """
    return integer_pow_p.bind(x, y=y)


def reciprocal(x: Any) -> Any:
    """Return 1 / x, elementwise. Raise TypeError for integers and bools."""
    return integer_pow(x, -1)
