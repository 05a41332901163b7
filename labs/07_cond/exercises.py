"""07 cond and switch: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 07.1` helps, one
step further each time. You may add helpers and imports: functions, classes, constants. Other
statements at the top are not run. The parameters stay as they are: other code calls these
functions. A class has only those methods that are yours to write; the others are the
reference's.
"""

from __future__ import annotations

import numpy as np
from collections.abc import Callable, Sequence
from typing import Any

from jitkit import core
from jitkit.base import config
from jitkit.core import abstract_token
from jitkit.core.effects import no_effects, ordered_effects
from jitkit.interpreters.mlir import LoweringContext, type_of
from jitkit.jaxpr import Jaxpr
from jitkit.lax import clamp, convert_element_type
from jitkit.lax.control_flow.agreement import same_type, structure_error, type_error
from jitkit.lax.control_flow.common import Body, Traced, avals_of, trace_body, with_consts_of_all
from jitkit.lax.control_flow.conditionals import (
    NOT_GIVEN, all_operands, bind_branches, check_index, cond_with_two_operands, region_of,
    truth_of,
)
from jitkit.tree_util import tree_flatten, tree_unflatten


# --- 07.1 cond (2 points) -----------------------------------------------------------------------------------
# Write the function that users call: check what was passed, make an index of the predicate, and hand both
# functions to `choose`.


def cond(
    pred: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: Any = NOT_GIVEN,
) -> Any:
    """Return `true_fun(*operands)` if `pred` else `false_fun(*operands)`; only one of the two runs,
    except under `vmap` with a `pred` for each element: then both run, and `select_n` chooses
    (`batch_cond`).

    Both functions are traced, even if `pred` is concrete, and the program decides when it runs:

        >>> jax.make_jaxpr(lambda x: cond(x > 0, jnp.sin, jnp.cos, x))(1.0)
        { lambda ; a:f32[]. let
            b:bool[] = gt a 0.0:f32[]
            c:i32[] = convert_element_type[new_dtype=int32 weak_type=False] b
            d:f32[] = cond[
              branches=(
                { lambda ; e:f32[]. let f:f32[] = cos e in (f,) }
                { lambda ; g:f32[]. let h:f32[] = sin g in (h,) }
              )
            ] c a
          in (d,) }

    Only if jit is disabled and the predicate is concrete does Python choose: then it calls one
    function. Otherwise `choose` makes the equation. It takes a dict from the names that messages
    use to the functions, `true_fun` first; in the equation it puts the branch of `false_fun` first,
    since False is 0.

    Args:
      pred: a scalar; a number is true if it is not 0 (`truth_of`).
      true_fun, false_fun: functions of the operands, which return trees of one structure and of
        arrays of the same types. If one is not callable, the call may have the old form
        (`cond_with_two_operands`).
      operands: trees of arrays. Values that the functions close over are passed to the equation,
        too.
      operand: a single operand, by keyword (`all_operands`).

    Raises:
      TypeError: `pred` is not a real scalar, a function is not callable, or they return different
        structures or types.
    """
    raise NotImplementedError("07.1")


# --- 07.2 switch (2 points) ---------------------------------------------------------------------------------
# Choose among several functions by an index, which may be any integer when the program runs.


def switch(
    index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = NOT_GIVEN
) -> Any:
    """Return `branches[index](*operands)`. An index below 0 chooses the first branch, one that is
    too large the last.

    All branches are traced (`choose`, where messages call the i-th `branch i`), and one runs, as
    for `cond`. A device cannot raise an error in the middle of a program, so every index is clamped
    to the numbers of branches:

        [switch(i, [f, g, h], x) for i in (-5, 0, 1, 2, 9)]       f(x), f(x), g(x), h(x), h(x)

    The program has to clamp it, since Python can only clamp an index that is known while tracing.
    With a single branch there is no choice, and no equation is written. If jit is disabled and the
    index has a value, Python chooses.

    Args:
      index: an integer scalar (`check_index` raises for all else).
      branches: functions of the operands, which return trees of one structure and of arrays of the
        same types.
      operands: trees of arrays.
      operand: a single operand, by keyword (`all_operands`).

    Raises:
      TypeError: `index` is not an integer scalar, or a branch is not callable, or they return
        different structures or types.
      ValueError: there are no branches.
    """
    raise NotImplementedError("07.2")


# --- 07.3 All branches, one equation (4 points) -------------------------------------------------------------
# Trace the functions, see that they agree, give them the same inputs, and write the equation.


def choose(
    what: str, index: Any, functions: dict[str, Callable[..., Any]], operands: tuple[Any, ...]
) -> Any:
    """Return the result of the function that `index` chooses, for these operands: trace all
    functions, and write one equation.

    Each function is traced (`trace_body`, of a `Body`) for the operands' tree and types, in the
    given order; then all of them must agree (`check_branches`). The result is a tree of the
    structure that they return.

    The branches of an equation take the same inputs: first the constants of all functions, in their
    order, each of them once (the same object is the same constant), then the leaves of `operands`.
    `with_consts_of_all` gives a branch these inputs.

    Args:
      what: `cond` or `switch`. Messages use it, and the functions are traced for it. In an equation
        of `cond`, the branch for False is the first.
      index: an int32 scalar within bounds.
      functions: a dict from the names that messages use to the functions; for `cond` the one for
        True comes first.
      operands: the arguments of the functions, trees of arrays.
    """
    raise NotImplementedError("07.3")


# --- 07.4 Branches agree (2 points) -------------------------------------------------------------------------
# The code after a cond is compiled once, for one type. Refuse branches that return different structures or
# types.


def check_branches(
    what: str, names: Sequence[str], bodies: Sequence[Body], traced: Sequence[Traced]
) -> None:
    """Raise TypeError unless every branch returns what the first one does: a tree of the same
    structure, with leaves of the same types (`same_type`, which ignores weakness).

        (f32[2], i32[])   and   (f32[2], i32[])     agree
        (f32[2], i32[])   and   [f32[2], i32[]]     differ in structure, though not in a single leaf
        (f32[2], i32[])   and   (f32[2], f32[])     differ in type
        (f32[2], i32[])   and   (f32[3],)           differ in structure: do not mention types

    The error is about the first branch that differs.
    `structure_error(what, i, names, bodies, traced)` and `type_error`, with the same parameters,
    make the error for the i-th branch.
    """
    raise NotImplementedError("07.4")


# --- 07.5 case (3 points) -----------------------------------------------------------------------------------
# Write the equation as StableHLO: one operation, with a region for each branch.


def lower_cond(
    ctx: LoweringContext, index: str, *args: str, branches: tuple[Jaxpr, ...]
) -> list[str]:
    """Write one operation `stablehlo.case`, whose i-th region is the i-th branch; return the names
    of its results.

    `index` and `args` are names in the text: the name of the scalar that chooses, and the names of
    the branches' operands. `ctx.avals_in` has their types, that of `index` first; `ctx.avals_out`
    has the types of the equation's results. A region of `case` has no arguments of its own: it may
    use every name from around it.

    For each branch, `region_of(ctx, jaxpr, args, scope, ordered)` returns the function that writes
    its region; `ctx.emit_regions` takes this function and the types of the region's arguments. The
    scope of the i-th branch is `cond/branch_i_fun`. `ctx.emit_regions` also takes the operation up
    to its regions, `"stablehlo.case"(%0)`, and its signature,
    `(tensor<i32>) -> (tensor<f32>, tensor<3xi1>)`, where `type_of(aval)` writes a type.

    `ordered` are the ordered effects (`ordered_effects`) of all branches together: a branch without
    one of the effects passes its token through. The operation returns a token for each effect (of
    the type `abstract_token`), then the results of the equation. `ctx.take_tokens` takes the tokens
    and returns the rest.
    """
    raise NotImplementedError("07.5")
