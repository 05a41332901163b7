"""12 vmap: the solutions, as the reference has them, and why."""

from __future__ import annotations

import numpy as np
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from jitkit import core
from jitkit.base import edits
from jitkit.base.util import split_list
from jitkit.core import Primitive
from jitkit.interpreters.batching import (
    AxisData, Dim, Dims, Vals, batch, batch_jaxpr_if, bdim_at_front, broadcast, higher_order,
    primitive_batchers, shifted_by_numpy, with_axes_behind,
)
from jitkit.interpreters.vmap import (
    axis_of_each_argument, axis_of_each_leaf, mapped_size, not_the_same_for_all,
)
from jitkit.jaxpr import Jaxpr, eval_jaxpr
from jitkit.lax import DotDimensionNumbers, eq, stop_gradient
from jitkit.lax.control_flow.conditionals import cond_p, refuse_effects, select_case
from jitkit.lax.control_flow.scanning import batched_step, scan_p
from jitkit.tree_util import PyTreeDef, tree_flatten, tree_unflatten


# --- 12.1 One operation for all elements --------------------------------------------------------------------
# No loop is written, so no compiler has to remove one. Nesting works by itself: the operations of a rule go
# to the enclosing trace, and if that is another vmap it batches them, too. In the same way `grad`, `jit` and
# `vmap` combine in any order; none of them knows about the others.
#
# Usual mistakes:
#   - Asking for the type of the tracer: a batch of an outer vmap is a BatchTracer, too.
#   - Broadcasting what is not a batch: a thousand copies of one weight.
#   - Assuming the same axis for all results.
#
# In JAX: jax/_src/interpreters/batching.py:BatchTrace


class BatchTrace:
    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Do for all elements what `primitive` does to one, by operations of the outer trace, `self.parent`.

        Each operand is a batch of this trace, with an axis, or the same for all elements (`self.unwrap` says which).
        The rule `primitive_batchers[primitive]` is called as `rule(self.axis, vals, dims, **params)`, and returns the
        result and its batch axis, lists of both for a primitive of `multiple_results`; wrap each result again.

        If no operand is a batch, bind the primitive as it is, and wrap nothing. But `higher_order` primitives may hide
        a batch axis or its name inside of a jaxpr: always call their rules.

        Raises:
          NotImplementedError: there is no rule.
        """
        vals, dims = [], []
        for x in args:
            val, dim = self.unwrap(x)
            vals.append(val)
            dims.append(dim)
        with core.set_current_trace(self.parent):
            if primitive not in higher_order and dims.count(None) == len(dims):
                return primitive.bind(*vals, **params)
            rule = primitive_batchers.get(primitive)
            if rule is None:
                raise NotImplementedError(f"Batching rule for '{primitive}' not implemented")
            out, out_dim = rule(self.axis, vals, dims, **params)
        if primitive.multiple_results:
            return [self.wrap(x, dim) for x, dim in zip(out, out_dim, strict=True)]
        return self.wrap(out, out_dim)


# --- 12.2 Elementwise ---------------------------------------------------------------------------------------
# The axis moves as late as possible: a chain of elementwise operations on batches with their axis at the end
# has no transpose in it at all. XLA would remove many superfluous transposes, but not all, and each has to be
# traced and compiled.
#
# Usual mistakes:
#   - Leaving it to numpy's broadcasting, which aligns axes from the end: a batch of three scalars beside rows
#     of three is added along the rows.
#   - Repeating what is the same for all elements.
#   - Passing the inverse permutation to `transpose`: that is right only for swaps of two axes.
#
# In JAX: jax/_src/interpreters/batching.py:broadcast_batcher


def broadcast_batcher(
    primitive: Primitive, axis: AxisData, vals: Sequence[Any], dims: Sequence[Dim], **params: Any
) -> Any:
    """Batching rule of elementwise operations on operands of one shape, or scalars. (Such an operation broadcasts scalars and
    axes of size 1, and nothing else.)

    If all batches have one shape and one batch axis, and every other operand is a scalar, bind the operation as it is;
    the result has the same batch axis. (An operand that is not a batch may be a Python number: `np.ndim` and `np.shape`
    take those, too.) Otherwise move all batch axes to the front, and give an operand that is not a batch an axis of
    size 1 there, unless it is a scalar. A batch of scalars then has one axis, and needs axes of size 1 behind it, to
    have as many as the others (`with_axes_behind`). Nothing is repeated in memory.

    Returns:
      The result and its batch axis; for a primitive of `multiple_results` a list of each.
    """
    dim = next(d for d in dims if d is not None)
    shape = vals[dims.index(dim)].shape
    for x, d in zip(vals, dims, strict=True):
        if (d != dim or x.shape != shape) and np.ndim(x):
            break
    else:
        out = primitive.bind(*vals, **params)
        return (out, [dim] * len(out)) if primitive.multiple_results else (out, dim)
    vals = [bdim_at_front(x, d, 1) if np.ndim(x) else x for x, d in zip(vals, dims, strict=True)]
    rank = max(map(np.ndim, vals))
    vals = [x if d is None else with_axes_behind(x, rank) for x, d in zip(vals, dims, strict=True)]
    out = primitive.bind(*vals, **params)
    return (out, [0] * len(out)) if primitive.multiple_results else (out, 0)


def moveaxis(x: Any, source: int, destination: int) -> Any:
    """Return x with axis `source` moved to position `destination`, and the others in their order (`x.transpose(axes)`).
    If nothing moves, return x itself.
    """
    if source == destination:
        return x
    axes = [axis for axis in range(np.ndim(x)) if axis != source]
    axes.insert(destination, source)
    return x.transpose(axes)


def move_to(x: Any, dim: Dim, destination: int, size: int) -> Any:
    """Return x with its batch axis moved from `dim` to `destination`; if `dim` is None, broadcast along a new axis of this size."""
    return broadcast(x, size, destination) if dim is None else moveaxis(x, dim, destination)


# --- 12.3 Reductions ----------------------------------------------------------------------------------------
# Most rules are like this: no arithmetic, only axis numbers. Mistakes are silent where sizes happen to be
# equal, since then another axis of the same size is reduced without an error. So test with sizes that differ,
# and also with equal ones.
#
# Usual mistakes:
#   - Forgetting that the batch axis may have another place in the *result* than in the operand.
#   - `>` instead of `>=`: the axis of the element whose number equals that of the batch axis moves, too.
#   - Moving the batch axis to the front first: correct, but a needless transpose.
#
# In JAX: jax/_src/interpreters/batching.py:reducer_batcher


def reduction_batcher(
    primitive: Primitive,
    axis: AxisData,
    vals: Sequence[Any],
    dims: Sequence[int],
    *,
    axes: Sequence[int],
    **params: Any,
) -> Any:
    """Return the batched result of an operation that reduces one operand along `axes`, numbered as in an element.

    In the batch these axes may have other numbers (`shifted_by_numpy`). Each reduced axis before the batch axis lowers
    the number of the batch axis by one. Raise IndexError if the element does not have one of the axes.

    Returns:
      The result, and its batch axis.
    """
    [x], [dim] = vals, dims
    if any(axis >= x.ndim - 1 for axis in axes):
        element = [size for axis, size in enumerate(x.shape) if axis != dim]
        raise IndexError(f"reduction axes {tuple(axes)} contains out-of-bounds indices for shape {tuple(element)}")
    kept = dim - sum(reduced < dim for reduced in axes)
    return primitive.bind(x, axes=shifted_by_numpy(axes, dim), **params), kept


def shifted(axes: Sequence[int], dim: int) -> list[int]:
    """Return the numbers of an element's axes in the batch: `[0, 3]` for `[0, 2]`, if the batch axis, `dim`, is 1."""
    return [axis + (axis >= dim) for axis in axes]


# --- 12.4 dot_general ---------------------------------------------------------------------------------------
# This is where vmap pays off. A thousand products of a matrix and a vector read the matrix a thousand times;
# one product of two matrices reads it once, and the hardware is built for it. Keeping the axis is only
# bookkeeping.
#
# Usual mistakes:
#   - Keeping both axes: that computes the product of every element with every other.
#   - Broadcasting the operand that is not a batch, to have two batches.
#   - Counting the place among all axes of the operand, contracted ones included.
#
# In JAX: jax/_src/lax/lax.py:_dot_general_batch_rule


def batched_dimension_numbers(
    lhs_ndim: int, rhs_ndim: int, lhs_dim: Dim, rhs_dim: Dim, dimension_numbers: DotDimensionNumbers
) -> tuple[DotDimensionNumbers, int]:
    """Return the dimension numbers of a product of batches, and which axis of the product is the batch axis.

    `lhs_ndim` and `rhs_ndim` count the axes of the operands, batch axes included; `lhs_dim` and `rhs_dim` are their
    batch axes, None for an operand that is not a batch. At least one of them is.
    """
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    if lhs_dim is not None:
        lhs_contract, lhs_batch = tuple(shifted(lhs_contract, lhs_dim)), tuple(shifted(lhs_batch, lhs_dim))
    if rhs_dim is not None:
        rhs_contract, rhs_batch = tuple(shifted(rhs_contract, rhs_dim)), tuple(shifted(rhs_batch, rhs_dim))
    if lhs_dim is not None and rhs_dim is not None:
        contract, batch = (lhs_contract, rhs_contract), ((lhs_dim, *lhs_batch), (rhs_dim, *rhs_batch))
        return (contract, batch), 0
    if lhs_dim is not None:
        kept = [a for a in range(lhs_ndim) if a not in (*lhs_contract, *lhs_batch)]
        place = len(lhs_batch) + kept.index(lhs_dim)
    else:
        assert rhs_dim is not None, "the rule is asked where an operand is a batch"
        kept = [a for a in range(rhs_ndim) if a not in (*rhs_contract, *rhs_batch)]
        place = lhs_ndim - len(lhs_contract) + kept.index(rhs_dim)
    return ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch)), place


# --- 12.5 vmap ----------------------------------------------------------------------------------------------
# `in_axes` is a tree that may end above the leaves: this one rule covers 0, (0, None) and a dict of dicts.
# Negative axes are resolved for each leaf, as they mean different axes of different arrays. Whether a result
# is the same for all elements depends on the program, not on values: it has no batch axis if no mapped value
# reached it.
#
# Usual mistakes:
#   - Taking the mapped size from the first leaf: the others may differ, or have none.
#   - Counting `out_axes` among the axes of the element, not of the result: `out_axes=-1` is one off.
#   - Dropping the batch axis where `out_axes` is None.
#
# In JAX: jax/_src/api.py:vmap


def call_on_batches(
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_axes: Any,
    out_axes: Any,
    axis_name: Hashable = None,
    axis_size: int | None = None,
) -> Any:
    """Call `fun` once for all elements of its arguments; return its result, a tree, with the batch axes where
    `out_axes` says.

    The arguments are a tree, `(args, kwargs)`. Each of its leaves has an axis that is mapped over, or None
    (`axis_of_each_argument`), and these axes have one size (`mapped_size`). An axis may be negative: -1 is the last one
    of that very leaf. `batch(fun, axis, vals, dims)` calls `fun`, which takes and returns flat lists, on these values;
    it returns the results, and the batch axis of each. `moved` puts these axes into place.
    """
    leaves, in_tree = tree_flatten((args, kwargs))
    dims = axis_of_each_argument(in_tree, in_axes)
    axis = AxisData(axis_name, mapped_size(fun, in_tree, leaves, dims, axis_size))
    dims = [None if dim is None else dim % np.ndim(x) for x, dim in zip(leaves, dims, strict=True)]
    out_trees: list[PyTreeDef] = []

    def flat_fun(*leaves: Any) -> list[Any]:
        args, kwargs = tree_unflatten(in_tree, leaves)
        outs, out_tree = tree_flatten(fun(*args, **kwargs))
        out_trees.append(out_tree)
        return outs

    outs, out_dims = batch(flat_fun, axis, leaves, dims)
    return tree_unflatten(out_trees[0], moved(axis, outs, out_dims, out_trees[0], out_axes))


def moved(axis: AxisData, outs: Sequence[Any], dims: Sequence[Dim], tree: PyTreeDef, out_axes: Any) -> list[Any]:
    """Return the results with their batch axes where `out_axes` wants them.

    Args:
      axis: the mapped axis: its size, and its name or None.
      outs, dims: the leaves of the result, as the outer trace knows them, and the batch axis of each; None for one that
        is the same for all elements.
      tree: the tree of the result.
      out_axes: a tree of axes that may end above the leaves: `axis_of_each_leaf` gives one for each. An int is a
        position among the axes of the result, from the end if negative; a leaf that is not a batch is broadcast to it
        (`move_to`). None is for a leaf that is not a batch, which is returned unchanged.

    Raises:
      TypeError: a leaf is not an array (`core.is_array_value`).
      ValueError: a position that the result does not have; or None for a batch (`not_the_same_for_all` makes the
        error).
    """
    wanted = axis_of_each_leaf("vmap out_axes", out_axes, tree)
    results = []
    for i, (x, dim, to) in enumerate(zip(outs, dims, wanted, strict=True)):
        if not core.is_array_value(x):
            raise TypeError(
                f"Output from batched function {x!r} with type {type(x)} is not a valid JAX type{edits.RETURN_ARRAYS}"
            )
        if to is not None:
            rank = np.ndim(x) + (dim is None)
            if not -rank <= to < rank:
                raise ValueError(
                    f"axis {to} is out of bounds for array of dimension {rank}\nout_axes={to} says where the batch goes in the "
                    f"result, which has {rank} ax{'is' if rank == 1 else 'es'} with it: {', '.join(map(str, range(rank)))}."
                )
            x = move_to(x, dim, to % rank, axis.size)
        elif dim is not None:
            raise not_the_same_for_all(axis, tree, i, dim)
        results.append(x)
    return results


# --- 12.6 cond becomes select -------------------------------------------------------------------------------
# A cond saves the work of the branch that is not taken; under vmap it does not, since some element may take
# it. So if a cond guards an expensive step in a `while_loop`, every step is expensive under vmap, and XLA
# cannot help. This is the commonest surprise with vmap, and not a bug: machines that do the same to all
# elements are fast because they do the same to all elements.
#
# Usual mistakes:
#   - Using select in both cases: then the expensive branch runs although nobody takes it.
#   - Batching only that branch whose results are batches.
#   - Forgetting the gradient: values are right, and training ends in nan.
#
# In JAX: jax/_src/lax/control_flow/conditionals.py:_cond_batching_rule


def batch_cond(axis: AxisData, vals: Vals, dims: Dims, *, branches: tuple[Jaxpr, ...]) -> Any:
    """Batching rule of `cond`, whose first operand is the index of a branch, and whose others are the branches'
    operands.

    With one index for all elements one branch runs, on batches: bind a `cond` again. All branches must agree on which
    results are batches: if a result is a batch in one branch, make it a batch in all. With an index for each element all
    branches run, for all elements (`batch_jaxpr_if`, `eval_jaxpr`), and `select_case` takes each element's result from
    the branch that its index names.

    A branch may divide by zero for elements that do not take it. No derivative may flow back through these elements, so
    the operands of a branch go through `stop_gradient` at elements that take another one. A branch that writes
    (`io_callback`) would write for all elements: refuse such branches (`refuse_effects`), as in JAX also if there is one
    index for all elements.

    All batch axes of branches' operands and results, and of the rule's results, come first.

    Returns:
      The results, and 0 for each that is a batch, None for each that is not.
    """
    refuse_effects(branches)
    (index, *operands), (index_dim, *operand_dims) = vals, dims
    if index_dim is None:
        is_batch = [dim is not None for dim in operand_dims]
        operands = [x if dim is None else moveaxis(x, dim, 0) for x, dim in zip(operands, operand_dims, strict=True)]
        each = [batch_jaxpr_if(branch, axis, is_batch)[1] for branch in branches]
        outs_are = [any(flags) for flags in zip(*each, strict=True)]
        batched = tuple(batch_jaxpr_if(branch, axis, is_batch, outs_are)[0] for branch in branches)
        return cond_p.bind(index, *operands, branches=batched), [0 if batch else None for batch in outs_are]
    index, *operands = (bdim_at_front(x, dim, axis.size) for x, dim in zip(vals, dims, strict=True))
    results = []
    for i, branch in enumerate(branches):
        on_batches, _ = batch_jaxpr_if(branch, axis, [True] * len(operands), True)
        is_taken = eq(index, np.int32(i))
        safe = [select_case(is_taken, stop_gradient(x), x) for x in operands]
        results.append(eval_jaxpr(on_batches, on_batches.consts, *safe))
    outs = [select_case(index, *cases) for cases in zip(*results, strict=True)]
    return outs, [0] * len(outs)


# --- 12.7 scan over a batch ---------------------------------------------------------------------------------
# All elements take their steps together, so a scan over a thousand sequences has as many steps as over one.
# What is the same for all, such as a counter or the weights of a network, stays unbatched and is computed
# once in each step. Which parts are batches follows from the program, never from the values.
#
# Usual mistakes:
#   - Making all of the carry a batch, to be on the safe side: correct, but a thousand counters count the
#     same.
#   - Looking at the step only once: a part may become a batch through another one, a step later.
#   - Putting the batch axis in front of the axis that is scanned.
#
# In JAX: jax/_src/lax/control_flow/loops.py:_scan_batching_rule


def batch_scan(
    axis: AxisData, vals: Vals, dims: Dims, *, jaxpr: Jaxpr, num_consts: int, num_carry: int, **params: Any
) -> Any:
    """Batching rule of `scan`: one scan whose step does for batches what the step of `jaxpr` does for elements.

    In a step, batch axes come first (`batched_step`). In the scan's constants and carry they come first, too; in `xs` and
    ys the scan's axis comes before the batch axis. `batched_carry` says which parts of the carry are batches: make them
    batches from the start (`move_to`), and as outputs. Do not make anything else a batch.

    Returns:
      The results, the carry and then the ys; and the batch axis of each, None for one that is not a batch.
    """
    consts, carry, xs = split_list([dim is not None for dim in dims], [num_consts, num_carry])
    carry = batched_carry(jaxpr, axis, consts, carry, xs)
    num_ys = len(jaxpr.outvars) - num_carry
    is_batch = [*consts, *carry, *xs]
    step, out_is_batch = batched_step(jaxpr, axis, is_batch, [*carry, *[False] * num_ys])
    places = [0] * (num_consts + num_carry) + [1] * len(xs)
    operands = [
        move_to(x, dim, to, axis.size) if batch else x
        for x, dim, to, batch in zip(vals, dims, places, is_batch, strict=True)
    ]
    outs = scan_p.bind(*operands, jaxpr=step, num_consts=num_consts, num_carry=num_carry, **params)
    places = [0] * num_carry + [1] * num_ys
    return outs, [to if batch else None for to, batch in zip(places, out_is_batch, strict=True)]


def batched_carry(
    jaxpr: Jaxpr, axis: AxisData, consts: Sequence[bool], carry: Sequence[bool], xs: Sequence[bool] = ()
) -> list[bool]:
    """Return, for each part of a loop's carry, whether it is a batch: parts that start as batches, and parts that become batches in
    some step, perhaps through other parts.

    Args:
      jaxpr: the jaxpr of a step; its first outputs are the carry. `batch_jaxpr_if(jaxpr, axis, inputs, musts)[1]` says which of
        its outputs are batches, if `inputs` marks the inputs that are, and `musts` the outputs that are made batches anyway.
      consts, carry, xs: for each input of the jaxpr, whether it is a batch before the first step.
    """
    now = list(carry)
    while True:
        musts = [*now, *[False] * (len(jaxpr.outvars) - len(now))]
        outs = batch_jaxpr_if(jaxpr, axis, [*consts, *now, *xs], musts)[1]
        after = [before or out for before, out in zip(now, outs, strict=False)]
        if after == now:
            return now
        now = after
