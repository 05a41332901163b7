"""reduce: folds axes of several arrays together, with any function of scalars.

The function, `computation(accumulated, elements)`, must be associative and have the initial values as neutral elements:
XLA folds in any order and uses them any number of times. A function with a primitive of its own (add from 0, max from
the least value, ...) uses that.

JAX: jax/_src/lax/lax.py:reduce
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import core, tree_util
from ..core import Primitive, ShapedArray, dtypes
from ..interpreters.batching import AxisData, Dims, Vals, bdim_at_front, register_batcher, shifted
from ..interpreters.mlir import LoweringContext, register_lowering
from ..jaxpr import Jaxpr
from .convert import _convert_element_type
from .elementwise import add, bitwise_and, bitwise_or, bitwise_xor, max, min, mul
from .reducers import reducer_jaxpr, remembered
from .reduction import (
    and_identity,
    emit_reduce,
    max_identity,
    min_identity,
    prod_identity,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_xor,
    sum_identity,
    without_axes,
)

# The function, `computation`, is a parameter beside its jaxpr, because JAX prints it; tests blank out its address.
reduce_p = Primitive("reduce", multiple_results=True, pure_shape_rule=False)


@reduce_p.def_abstract_eval
def _(*avals: ShapedArray, computation: Any, jaxpr: Jaxpr, dimensions: tuple[int, ...]) -> list[ShapedArray]:
    operands, inits = list(avals[: len(avals) // 2]), list(avals[len(avals) // 2 :])
    if any(init.shape != () for init in inits):
        raise ValueError(f"reduce found non-scalar initial value: {[init.shape for init in inits]}")
    shapes = [without_axes(operand, dimensions) for operand in operands]
    if [operand.dtype for operand in operands] != [init.dtype for init in inits]:
        raise TypeError(
            "reduce operand dtypes should match corresponding initial value dtypes, "
            f"got operands={operands} and initial_values={inits}"
        )
    if len({operand.shape for operand in operands}) > 1:
        raise ValueError(f"reduce operands must have equal shapes, got {[operand.shape for operand in operands]}")
    if [aval.strip_weak_type() for aval in jaxpr.out_avals] != [init.strip_weak_type() for init in inits]:
        raise ValueError(
            f"reduce computation must return what it takes, got {jaxpr.out_avals} for initial values of types {inits}"
        )
    return [
        ShapedArray(shape, operand.dtype, operand.weak_type and init.weak_type)
        for shape, operand, init in zip(shapes, operands, inits, strict=True)
    ]


@register_lowering(reduce_p)
def _(ctx: LoweringContext, *values: str, computation: Any, jaxpr: Jaxpr, dimensions: tuple[int, ...]) -> list[str]:
    if jaxpr.effects:
        raise NotImplementedError("Cannot lower effectful `reduce`.")
    count = len(values) // 2
    return emit_reduce(
        ctx, values[:count], values[count:], dimensions, ctx.avals_out, lambda *args: ctx.inline(jaxpr, args)
    )


@register_batcher(reduce_p)
def _(axis: AxisData, vals: Vals, dims: Dims, *, dimensions: Sequence[int], **params: Any) -> Any:
    count = len(vals) // 2
    if any(dim is not None for dim in dims[count:]):
        raise NotImplementedError("reduce: under vmap, initial values must be the same for all elements")
    operands = [bdim_at_front(x, dim, axis.size) for x, dim in zip(vals[:count], dims[:count], strict=True)]
    return reduce_p.bind(*operands, *vals[count:], dimensions=tuple(shifted(dimensions, 0)), **params), [0] * count


_Monoid = tuple[Callable[[Any], np.ndarray[Any, Any]], Callable[[Any, Sequence[int]], Any]]
_MONOIDS: dict[Callable[..., Any], _Monoid] = {
    add: (sum_identity, reduce_sum), mul: (prod_identity, reduce_prod),
    max: (max_identity, reduce_max), min: (min_identity, reduce_min),
}  # fmt: skip
_MONOIDS_OF_BITS: dict[Callable[..., Any], _Monoid] = {
    bitwise_or: (sum_identity, reduce_or), bitwise_and: (and_identity, reduce_and),
    bitwise_xor: (sum_identity, reduce_xor),
}  # fmt: skip


def _plain_reduction(
    computation: Callable[..., Any], inits: Sequence[Any]
) -> Callable[[Any, Sequence[int]], Any] | None:
    """Return the function that does this reduction by a primitive, such as `reduce_sum` for `add` from 0; None if there
    is none, or the initial value is traced.
    """
    if len(inits) != 1 or not core.is_concrete(inits[0]) or np.shape(inits[0]) != ():
        return None
    dtype = dtypes.dtype(inits[0])
    integral = dtype == np.bool_ or dtypes.issubdtype(dtype, np.integer)
    monoids = _MONOIDS | _MONOIDS_OF_BITS if integral else _MONOIDS
    try:
        identity, reduction = monoids[computation]
    except (KeyError, TypeError):
        return None
    return reduction if np.equal(np.asarray(inits[0]), identity(dtype)) else None


def reduce(operands: Any, init_values: Any, computation: Callable[[Any, Any], Any], dimensions: Sequence[int]) -> Any:
    """Return arrays with some of their axes folded by a function of scalars.

    Args:
      operands: an array, or a tree of arrays of one shape.
      init_values: the neutral element, a scalar; or a tree of them, like `operands`.
      computation: takes two trees of scalars like `operands`, returns one. Associative.
      dimensions: the axes to fold.

    Returns:
      An array, or a tree of arrays, without these axes.

    Raises:
      ValueError: the trees or the operands' shapes differ, an initial value is not a scalar, or `computation` does not return
        what it takes.
      TypeError: an initial value's dtype is not its operand's. This is not checked if `computation` has a primitive of its
        own, such as `add` from 0.
      NotImplementedError: `computation` uses a traced value from outside.
    """
    flat_operands, operand_tree = tree_util.tree_flatten(operands)
    flat_inits, init_tree = tree_util.tree_flatten(init_values)
    if operand_tree != init_tree:
        raise ValueError(f"Operands must have the same tree structure as init_values: {operand_tree} vs. {init_tree}")
    plain = _plain_reduction(computation, flat_inits)
    if plain is not None:
        weak = dtypes.is_weakly_typed(flat_operands[0]) and dtypes.is_weakly_typed(flat_inits[0])
        return _convert_element_type(plain(flat_operands[0], dimensions), weak_type=weak)
    avals = tuple(core.get_aval(init) for init in flat_inits)
    jaxpr, out_tree = remembered(computation, (avals, init_tree), lambda: trace_reducer(computation, avals, init_tree))
    outs = reduce_p.bind(
        *flat_operands, *flat_inits, computation=computation, jaxpr=jaxpr, dimensions=tuple(dimensions)
    )
    return tree_util.tree_unflatten(out_tree, outs)


def trace_reducer(computation: Callable[[Any, Any], Any], avals: Sequence[Any], tree: Any) -> tuple[Jaxpr, Any]:
    """Trace a function of two trees of scalars; return its jaxpr, and the tree of its result."""
    out_tree: Any = None

    def flat_computation(*args: Any) -> list[Any]:
        nonlocal out_tree
        halves = args[: len(avals)], args[len(avals) :]
        outs, out_tree = tree_util.tree_flatten(computation(*(tree_util.tree_unflatten(tree, half) for half in halves)))
        return outs

    return reducer_jaxpr(flat_computation, [*avals, *avals], "reduce comp", computation), out_tree
