"""Chooses between values: `select_n`, which selects element by element, and `clamp`.

Both sides of a choice are computed, also the one not taken (`cond` avoids that).

JAX: jax/_src/lax/lax.py:select_n
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import Primitive, ShapedArray
from ..interpreters.batching import AxisData, Dims, Vals, bdim_at_front, broadcasting, moveaxis, register_batcher
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
        """Write the choice between the cases `among`, numbered from `first` on, by halving them; return the result's name."""
        if len(among) == 1:
            return among[0]
        if chooser.dtype == np.bool_:
            return emit_select(ctx, which, among[1], among[0], chooser.shape, aval)
        half = len(among) // 2
        below = compare(ctx, "LT", which, ctx.splat(first + half, chooser), chooser)
        lower, upper = choose(first, among[:half]), choose(first + half, among[half:])
        return emit_select(ctx, below, lower, upper, chooser.shape, aval)

    return choose(0, cases)


@register_batcher(select_n_p)
def _(axis: AxisData, vals: Vals, dims: Dims) -> Any:
    """Batching rule: batch the operands. If all batch axes are at one position, none is moved; one choice for all
    elements stays a scalar.
    """
    (which, *cases), (which_dim, *case_dims) = vals, dims
    if set(case_dims) == {which_dim}:
        return select_n(_for_each_of(which, cases[0].shape, which_dim), *cases), which_dim
    places = [dim for dim in case_dims if dim is not None]
    if np.ndim(which) == 0 and len(places) == len(cases) and len({case.shape for case in cases}) == 1:
        moved = [moveaxis(x, dim, places[0]) for x, dim in zip(cases, places, strict=True)]
        return select_n(which, *moved), places[0]
    if np.ndim(which):
        which = bdim_at_front(which, which_dim, axis.size)
    if any(map(np.ndim, cases)):
        cases = [bdim_at_front(x, d, axis.size) for x, d in zip(cases, case_dims, strict=True)]
    if 0 < np.ndim(which) < np.ndim(cases[0]):
        which = _for_each_of(which, cases[0].shape, 0)
    elif np.ndim(which) > np.ndim(cases[0]) == 0:
        cases = [_fill(x, which.shape) for x in cases]
    return select_n(which, *cases), 0


def _for_each_of(x: Any, shape: Sequence[int], dim: Any) -> Any:
    """Return x, with one scalar for each element of the batch, broadcast to a batch of this shape along `dim`. Return x
    itself if it has as many axes: the primitive checks its shape.
    """
    return x if np.ndim(x) == len(shape) else broadcasting.broadcast_in_dim(x, shape, [dim])


def select_n(which: Any, *cases: Any) -> Any:
    """Return the elements of the case whose number is in `which`; a number out of range takes the nearest case.

    Args:
      which: bools (for two cases, False takes the first) or integers; a scalar, or of the cases' shape.
      cases: arrays of one shape and dtype.

    Raises:
      ValueError: without cases.
      TypeError: for other shapes or dtypes, and for bools with more than two cases.
    """
    if not cases:
        raise ValueError("select_n() must have at least one case")
    return select_n_p.bind(which, *cases)


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """Return the elements of `on_true` where `pred`, of `on_false` elsewhere: `select_n` in the other order."""
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


@register_batcher(clamp_p)
def _(axis: AxisData, vals: Vals, dims: Dims) -> Any:
    """Batching rule: batch the operand. Scalar bounds that are the same for all elements stay scalars."""
    (low, x, high), (low_dim, dim, high_dim) = vals, dims
    if dim is not None and (np.ndim(low), np.ndim(high)) == (0, 0):
        return clamp_p.bind(low, x, high), dim
    if low_dim == dim == high_dim and (np.shape(low) == x.shape == np.shape(high) or low.ndim == high.ndim == 1):
        return clamp_p.bind(_for_each_of(low, x.shape, dim), x, _for_each_of(high, x.shape, dim)), dim
    operands = (low, low_dim), (high, high_dim), (x, dim)
    low, high, x = (bdim_at_front(y, d, axis.size) if np.ndim(y) else y for y, d in operands)
    if np.ndim(x):
        low, high = (y if np.ndim(y) else _fill(y, x.shape) for y in (low, high))
        low, high = (_for_each_of(y, x.shape, 0) for y in (low, high))
    else:
        x = _fill(x, (axis.size,))
    return clamp_p.bind(low, x, high), 0


def _fill(x: Any, shape: Sequence[int]) -> Any:
    return broadcasting.broadcast_in_dim(x, shape, ())


def clamp(min: Any, x: Any, max: Any) -> Any:
    """Return x, but not below `min` and not above `max`, elementwise.

    Args:
      x: numbers or bools.
      min, max: of x's dtype; scalars, or of x's shape.

    Raises:
      TypeError: for other shapes, or different dtypes.
    """
    return clamp_p.bind(min, x, max)
