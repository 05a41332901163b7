"""12 vmap: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 12.1` helps, one
step further each time. You may add helpers and imports: functions, classes, constants. Other
statements at the top are not run. The parameters stay as they are: other code calls these
functions. A class has only those methods that are yours to write; the others are the
reference's.
"""

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


# --- 12.1 One operation for all elements (3 points) ---------------------------------------------------------
# Write the trace of vmap: the function believes that it handles one element, and each of its operations is
# done for all of them.


class BatchTrace:
    def process_primitive(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """Do for all elements what `primitive` does to one, by operations of the outer trace,
        `self.parent`.

        Each operand is a batch of this trace, with an axis, or the same for all elements
        (`self.unwrap` says which). The rule `primitive_batchers[primitive]` is called as
        `rule(self.axis, vals, dims, **params)`, and returns the result and its batch axis, lists of
        both for a primitive of `multiple_results`; wrap each result again.

        If no operand is a batch, bind the primitive as it is, and wrap nothing. But `higher_order`
        primitives may hide a batch axis or its name inside of a jaxpr: always call their rules.

        Raises:
          NotImplementedError: there is no rule.
        """
        raise NotImplementedError("12.1")


# --- 12.2 Elementwise (3 points) ----------------------------------------------------------------------------
# Write the rule of add, mul, select and all other elementwise operations: bring the operands' batch axes to
# one place, and do no more.


def broadcast_batcher(
    primitive: Primitive, axis: AxisData, vals: Sequence[Any], dims: Sequence[Dim], **params: Any
) -> Any:
    """Batching rule of elementwise operations on operands of one shape, or scalars. (Such an
    operation broadcasts scalars and axes of size 1, and nothing else.)

    If all batches have one shape and one batch axis, and every other operand is a scalar, bind the
    operation as it is; the result has the same batch axis. (An operand that is not a batch may be a
    Python number: `np.ndim` and `np.shape` take those, too.) Otherwise move all batch axes to the
    front, and give an operand that is not a batch an axis of size 1 there, unless it is a scalar. A
    batch of scalars then has one axis, and needs axes of size 1 behind it, to have as many as the
    others (`with_axes_behind`). Nothing is repeated in memory.

    Returns:
      The result and its batch axis; for a primitive of `multiple_results` a list of each.
    """
    raise NotImplementedError("12.2")


def moveaxis(x: Any, source: int, destination: int) -> Any:
    """Return x with axis `source` moved to position `destination`, and the others in their order
    (`x.transpose(axes)`). If nothing moves, return x itself.
    """
    raise NotImplementedError("12.2")


def move_to(x: Any, dim: Dim, destination: int, size: int) -> Any:
    """Return x with its batch axis moved from `dim` to `destination`; if `dim` is None, broadcast
    along a new axis of this size.
    """
    raise NotImplementedError("12.2")


# --- 12.3 Reductions (2 points) -----------------------------------------------------------------------------
# Write the rule of sum, max and argmax: in the batch the reduced axes have other numbers, and the batch axis
# may end up in another place.


def reduction_batcher(
    primitive: Primitive,
    axis: AxisData,
    vals: Sequence[Any],
    dims: Sequence[int],
    *,
    axes: Sequence[int],
    **params: Any,
) -> Any:
    """Return the batched result of an operation that reduces one operand along `axes`, numbered as
    in an element.

    In the batch these axes may have other numbers (`shifted_by_numpy`). Each reduced axis before
    the batch axis lowers the number of the batch axis by one. Raise IndexError if the element does
    not have one of the axes.

    Returns:
      The result, and its batch axis.
    """
    raise NotImplementedError("12.3")


def shifted(axes: Sequence[int], dim: int) -> list[int]:
    """Return the numbers of an element's axes in the batch: `[0, 3]` for `[0, 2]`, if the batch
    axis, `dim`, is 1.
    """
    raise NotImplementedError("12.3")


# --- 12.4 dot_general (3 points) ----------------------------------------------------------------------------
# Write the rule of the product. A product of batches is again a product, with other dimension numbers: for
# two batches, and for one.


def batched_dimension_numbers(
    lhs_ndim: int, rhs_ndim: int, lhs_dim: Dim, rhs_dim: Dim, dimension_numbers: DotDimensionNumbers
) -> tuple[DotDimensionNumbers, int]:
    """Return the dimension numbers of a product of batches, and which axis of the product is the
    batch axis.

    `lhs_ndim` and `rhs_ndim` count the axes of the operands, batch axes included; `lhs_dim` and
    `rhs_dim` are their batch axes, None for an operand that is not a batch. At least one of them
    is.
    """
    raise NotImplementedError("12.4")


# --- 12.5 vmap (4 points) -----------------------------------------------------------------------------------
# Write what users call: which axis of each leaf is mapped on the way in, and where the batch axis goes on the
# way out.


def call_on_batches(
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_axes: Any,
    out_axes: Any,
    axis_name: Hashable = None,
    axis_size: int | None = None,
) -> Any:
    """Call `fun` once for all elements of its arguments; return its result, a tree, with the batch
    axes where `out_axes` says.

    The arguments are a tree, `(args, kwargs)`. Each of its leaves has an axis that is mapped over,
    or None (`axis_of_each_argument`), and these axes have one size (`mapped_size`). An axis may be
    negative: -1 is the last one of that very leaf. `batch(fun, axis, vals, dims)` calls `fun`,
    which takes and returns flat lists, on these values; it returns the results, and the batch axis
    of each. `moved` puts these axes into place.
    """
    raise NotImplementedError("12.5")


def moved(
    axis: AxisData, outs: Sequence[Any], dims: Sequence[Dim], tree: PyTreeDef, out_axes: Any
) -> list[Any]:
    """Return the results with their batch axes where `out_axes` wants them.

    Args:
      axis: the mapped axis: its size, and its name or None.
      outs, dims: the leaves of the result, as the outer trace knows them, and the batch axis of
        each; None for one that is the same for all elements.
      tree: the tree of the result.
      out_axes: a tree of axes that may end above the leaves: `axis_of_each_leaf` gives one for
        each. An int is a position among the axes of the result, from the end if negative; a leaf
        that is not a batch is broadcast to it (`move_to`). None is for a leaf that is not a batch,
        which is returned unchanged.

    Raises:
      TypeError: a leaf is not an array (`core.is_array_value`).
      ValueError: a position that the result does not have; or None for a batch
        (`not_the_same_for_all` makes the error).
    """
    raise NotImplementedError("12.5")


# --- 12.6 cond becomes select (4 points) --------------------------------------------------------------------
# With a predicate for each element, one branch is not enough: all run, and `select` picks. With one predicate
# for all elements it stays a cond.


def batch_cond(axis: AxisData, vals: Vals, dims: Dims, *, branches: tuple[Jaxpr, ...]) -> Any:
    """Batching rule of `cond`, whose first operand is the index of a branch, and whose others are
    the branches' operands.

    With one index for all elements one branch runs, on batches: bind a `cond` again. All branches
    must agree on which results are batches: if a result is a batch in one branch, make it a batch
    in all. With an index for each element all branches run, for all elements (`batch_jaxpr_if`,
    `eval_jaxpr`), and `select_case` takes each element's result from the branch that its index
    names.

    A branch may divide by zero for elements that do not take it. No derivative may flow back
    through these elements, so the operands of a branch go through `stop_gradient` at elements that
    take another one. A branch that writes (`io_callback`) would write for all elements: refuse such
    branches (`refuse_effects`), as in JAX also if there is one index for all elements.

    All batch axes of branches' operands and results, and of the rule's results, come first.

    Returns:
      The results, and 0 for each that is a batch, None for each that is not.
    """
    raise NotImplementedError("12.6")


# --- 12.7 scan over a batch (4 points) ----------------------------------------------------------------------
# Batch a scan: it becomes one scan, whose step is batched, and whose carry is a batch where it has to be.


def batch_scan(
    axis: AxisData,
    vals: Vals,
    dims: Dims,
    *,
    jaxpr: Jaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> Any:
    """Batching rule of `scan`: one scan whose step does for batches what the step of `jaxpr` does
    for elements.

    In a step, batch axes come first (`batched_step`). In the scan's constants and carry they come
    first, too; in `xs` and ys the scan's axis comes before the batch axis. `batched_carry` says
    which parts of the carry are batches: make them batches from the start (`move_to`), and as
    outputs. Do not make anything else a batch.

    Returns:
      The results, the carry and then the ys; and the batch axis of each, None for one that is not a
      batch.
    """
    raise NotImplementedError("12.7")


def batched_carry(
    jaxpr: Jaxpr,
    axis: AxisData,
    consts: Sequence[bool],
    carry: Sequence[bool],
    xs: Sequence[bool] = (),
) -> list[bool]:
    """Return, for each part of a loop's carry, whether it is a batch: parts that start as batches,
    and parts that become batches in some step, perhaps through other parts.

    Args:
      jaxpr: the jaxpr of a step; its first outputs are the carry.
        `batch_jaxpr_if(jaxpr, axis, inputs, musts)[1]` says which of its outputs are batches, if
        `inputs` marks the inputs that are, and `musts` the outputs that are made batches anyway.
      consts, carry, xs: for each input of the jaxpr, whether it is a batch before the first step.
    """
    raise NotImplementedError("12.7")
