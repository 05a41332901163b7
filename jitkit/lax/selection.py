"""Choosing between values: `select_n`, which takes its case element by element, and `clamp`.

Both sides of a choice are computed; a branch that is not taken costs what it costs (`cond` is for that).

JAX: jax/_src/lax/lax.py:select_n
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import Primitive, ShapedArray
from ..interpreters.mlir import LoweringContext, rank_polymorphic, register_lowering
from .elementwise_rules import ANY, BITS, check_operands, compare, one_op
from .elementwise_rules import select as emit_select
from .utils import check_same_dtypes, is_a

# --- select_n ------------------------------------------------------------------------------------------
select_n_p = Primitive("select_n")


@select_n_p.def_abstract_eval
def _(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    if any(case.shape != cases[0].shape for case in cases):
        shapes = ", ".join(str(case.shape) for case in cases)
        raise TypeError(f"select cases must have the same shapes, got [{shapes}].")
    if which.shape and which.shape != cases[0].shape:
        raise TypeError(
            "select `which` must be scalar or have the same shape as cases, "
            f"got `which` shape {which.shape} but case shape {cases[0].shape}."
        )
    check_same_dtypes("select", *cases)
    if not is_a(which.dtype, *BITS):
        raise TypeError(f"select `which` must be boolean or integer type, got {which.dtype}.")
    if which.dtype == np.bool_ and len(cases) > 2:
        raise TypeError("select with boolean `which` cannot have > 2 cases.")
    return cases[0].update(weak_type=all(case.weak_type for case in cases))


@register_lowering(select_n_p)
def _(ctx: LoweringContext, which: str, *cases: str) -> str:
    chooser, aval = ctx.avals_in[0], ctx.avals_out[0]

    def choose(first: int, among: tuple[str, ...]) -> str:
        """Halve the cases, the first of which has the number `first`, until one is left."""
        if len(among) == 1:
            return among[0]
        if chooser.dtype == np.bool_:
            return emit_select(ctx, which, among[1], among[0], chooser.shape, aval)
        half = len(among) // 2
        below = compare(ctx, "LT", which, ctx.splat(first + half, chooser), chooser)
        lower, upper = choose(first, among[:half]), choose(first + half, among[half:])
        return emit_select(ctx, below, lower, upper, chooser.shape, aval)

    return choose(0, cases)


def select_n(which: Any, *cases: Any) -> Any:
    """The elements of the case whose number is in `which`; a number out of range takes the nearest case.

    Args:
      which: bools (for two cases, False takes the first) or integers; a scalar, or of the cases' shape.
      cases: arrays of one shape and dtype.

    Raises:
      ValueError: without cases.
      TypeError: for other shapes or dtypes.
    """
    if not cases:
        raise ValueError("select_n() must have at least one case")
    return select_n_p.bind(which, *cases)


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """The elements of `on_true` where `pred`, of `on_false` elsewhere: `select_n` in the other order."""
    return select_n_p.bind(pred, on_false, on_true)


# --- clamp ---------------------------------------------------------------------------------------------
clamp_p = Primitive("clamp")
register_lowering(clamp_p)(one_op("stablehlo.clamp"))
rank_polymorphic.add(clamp_p)


@clamp_p.def_abstract_eval
def _(min: ShapedArray, operand: ShapedArray, max: ShapedArray) -> ShapedArray:
    for name, bound in (("min", min), ("max", max)):
        if bound.shape and bound.shape != operand.shape:
            raise TypeError(
                f"clamp requires {name}.shape == operand.shape or {name}.shape == (), "
                f"got {name}.shape={bound.shape}, operand.shape={operand.shape}."
            )
    check_operands("clamp", (ANY, ANY, ANY), min, operand, max)
    check_same_dtypes("clamp", min, operand, max)
    return operand.update(weak_type=min.weak_type and operand.weak_type and max.weak_type)


def clamp(min: Any, x: Any, max: Any) -> Any:
    """x, but not below `min` and not above `max`, elementwise.

    Args:
      min: of x's dtype; a scalar, or of x's shape.
      x: numbers or bools.
      max: as `min`.

    Raises:
      TypeError: for other shapes, or different dtypes.
    """
    return clamp_p.bind(min, x, max)
