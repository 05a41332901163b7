"""07 cond and switch: the solutions, as the reference has them, and why."""

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


# --- 07.1 cond ----------------------------------------------------------------------------------------------
# `cond` is `switch` between two, with a predicate in place of the index; everything after this function is
# shared. A number is compared with 0 before it becomes an index: 2 is true, and there is no branch 2. The
# predicate is not looked at while tracing, even when it could be: a program that depends on what happened to
# be known would be hard to reason about, and `if` is there for choices that are made while tracing.
#
# Usual mistakes:
#   - Using `if pred:`: it is an error for a tracer, and loses the other branch for a known value.
#   - Converting a number to int32 and using it as the index.
#   - Passing the functions in the order false, true: `choose` reverses the branches itself, and messages list
#     the functions in the order in which you pass them.
#
# In JAX: jax/_src/lax/control_flow/conditionals.py:cond


def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any, operand: Any = NOT_GIVEN
) -> Any:
    """Return `true_fun(*operands)` if `pred` else `false_fun(*operands)`; only one of the two runs, except under `vmap`
    with a `pred` for each element: then both run, and `select_n` chooses (`batch_cond`).

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

    Only if jit is disabled and the predicate is concrete does Python choose: then it calls one function. Otherwise
    `choose` makes the equation. It takes a dict from the names that messages use to the functions, `true_fun` first; in
    the equation it puts the branch of `false_fun` first, since False is 0.

    Args:
      pred: a scalar; a number is true if it is not 0 (`truth_of`).
      true_fun, false_fun: functions of the operands, which return trees of one structure and of arrays of the
        same types. If one is not callable, the call may have the old form (`cond_with_two_operands`).
      operands: trees of arrays. Values that the functions close over are passed to the equation, too.
      operand: a single operand, by keyword (`all_operands`).

    Raises:
      TypeError: `pred` is not a real scalar, a function is not callable, or they return different structures or types.
    """
    if not callable(true_fun) or not callable(false_fun):
        return cond_with_two_operands(pred, true_fun, false_fun, *operands)
    operands = all_operands(operands, operand)
    pred = truth_of(pred)
    if config.local.state.options.disable_jit and core.is_concrete(pred):
        return (true_fun if pred else false_fun)(*operands)
    index = convert_element_type(pred, np.int32)
    return choose("cond", index, {"true_fun": true_fun, "false_fun": false_fun}, operands)


# --- 07.2 switch --------------------------------------------------------------------------------------------
# Clamping is what `lax.dynamic_slice` does too, and for the same reason: there is nobody to tell. The clamp
# is part of the program (an equation before the `cond`), as the index is data. A single branch leaves nothing
# to choose, so no equation is written. The index is checked all the same, so that a call does not become an
# error when a second branch is added.
#
# Usual mistakes:
#   - Raising for an index that is out of bounds: it works with `disable_jit` only.
#   - Using Python's rules for lists: -1 is not the last branch.
#   - Clamping to `len(branches)`.
#
# In JAX: jax/_src/lax/control_flow/conditionals.py:switch


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = NOT_GIVEN) -> Any:
    """Return `branches[index](*operands)`. An index below 0 chooses the first branch, one that is too large the last.

    All branches are traced (`choose`, where messages call the i-th `branch i`), and one runs, as for `cond`. A device cannot
    raise an error in the middle of a program, so every index is clamped to the numbers of branches:

        [switch(i, [f, g, h], x) for i in (-5, 0, 1, 2, 9)]       f(x), f(x), g(x), h(x), h(x)

    The program has to clamp it, since Python can only clamp an index that is known while tracing. With a single branch there
    is no choice, and no equation is written. If jit is disabled and the index has a value, Python chooses.

    Args:
      index: an integer scalar (`check_index` raises for all else).
      branches: functions of the operands, which return trees of one structure and of arrays of the same types.
      operands: trees of arrays.
      operand: a single operand, by keyword (`all_operands`).

    Raises:
      TypeError: `index` is not an integer scalar, or a branch is not callable, or they return different
        structures or types.
      ValueError: there are no branches.
    """
    if not all(callable(branch) for branch in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    operands = all_operands(operands, operand)
    check_index(index)
    branches = tuple(branches)  # an iterator can be read only once
    if len(branches) < 2:
        if not branches:
            raise ValueError("Empty branch sequence\n`switch` calls one of its branches: pass at least one.")
        return branches[0](*operands)
    last = np.array(len(branches) - 1, np.int32)
    index = clamp(np.array(0, np.int32), convert_element_type(index, np.int32), last)
    if config.local.state.options.disable_jit and core.is_concrete(index):
        return branches[int(index)](*operands)
    names = {f"branch {i}": branch for i, branch in enumerate(branches)}
    return choose("switch", index, names, operands)


# --- 07.3 All branches, one equation ------------------------------------------------------------------------
# A jaxpr in an equation closes over nothing: whatever it needs is an operand, so that later stages (dead
# code, gradients, lowering) need only look at the equation. The branches need one signature because their
# equation has one list of operands and one of results. Agreement is checked before the equation is made: its
# shape rule would find the same disagreement, but it does not know true_fun and false_fun, and could not say
# how to mend them.
#
# Usual mistakes:
#   - Calling one of the functions: only the running program knows which one.
#   - Passing the constants of all branches one after the other: an array that two branches use would be
#     passed twice.
#   - Reversing the functions before they are traced: side effects of tracing, and messages, come in the order
#     in which the user wrote them.
#
# In JAX: jax/_src/lax/control_flow/conditionals.py:switch


def choose(what: str, index: Any, functions: dict[str, Callable[..., Any]], operands: tuple[Any, ...]) -> Any:
    """Return the result of the function that `index` chooses, for these operands: trace all functions, and write one equation.

    Each function is traced (`trace_body`, of a `Body`) for the operands' tree and types, in the given order; then all of
    them must agree (`check_branches`). The result is a tree of the structure that they return.

    The branches of an equation take the same inputs: first the constants of all functions, in their order, each of them once
    (the same object is the same constant), then the leaves of `operands`. `with_consts_of_all` gives a branch these inputs.

    Args:
      what: `cond` or `switch`. Messages use it, and the functions are traced for it. In an equation of `cond`, the branch
        for False is the first.
      index: an int32 scalar within bounds.
      functions: a dict from the names that messages use to the functions; for `cond` the one for True comes first.
      operands: the arguments of the functions, trees of arrays.
    """
    args, in_tree = tree_flatten(operands)
    avals = avals_of(args)
    bodies = [Body(function, function, what) for function in functions.values()]
    traced = [trace_body(body, in_tree, avals) for body in bodies]
    check_branches(what, list(functions), bodies, traced)
    consts = list({id(x): x for t in traced for x in t.consts}.values())
    branches = [with_consts_of_all(t, k, traced, consts) for k, t in enumerate(traced)]
    if what == "cond":
        branches.reverse()  # False is 0
    outs = bind_branches(index, branches, [*consts, *args])
    return tree_unflatten(traced[0].out_tree, outs)


# --- 07.4 Branches agree ------------------------------------------------------------------------------------
# XLA compiles one program, in which the result of a branch has a place of a fixed size. JAX could convert one
# branch to the type of the other. It leaves that to the user, who may not have meant it: an int32 and a
# float32 branch are more often a mistake than intended. The message can afford to be long, since the check is
# quick and the error is rare.
#
# Usual mistakes:
#   - Comparing leaves only: a list and a tuple, or two dicts with different keys, have the same ones.
#   - Comparing avals with `==`: `1.0` and a strong float32 differ in weakness.
#   - Stopping after the second branch: a later one may differ, too.
#
# In JAX: jax/_src/lax/control_flow/conditionals.py:_check_branch_outputs


def check_branches(what: str, names: Sequence[str], bodies: Sequence[Body], traced: Sequence[Traced]) -> None:
    """Raise TypeError unless every branch returns what the first one does: a tree of the same structure, with leaves of
    the same types (`same_type`, which ignores weakness).

        (f32[2], i32[])   and   (f32[2], i32[])     agree
        (f32[2], i32[])   and   [f32[2], i32[]]     differ in structure, though not in a single leaf
        (f32[2], i32[])   and   (f32[2], f32[])     differ in type
        (f32[2], i32[])   and   (f32[3],)           differ in structure: do not mention types

    The error is about the first branch that differs. `structure_error(what, i, names, bodies, traced)` and `type_error`,
    with the same parameters, make the error for the i-th branch.
    """
    first = traced[0]
    for i, other in enumerate(traced):
        if other.out_tree != first.out_tree:
            raise structure_error(what, i, names, bodies, traced)
        pairs = zip(first.jaxpr.out_avals, other.jaxpr.out_avals, strict=True)
        if not all(same_type(one, two) for one, two in pairs):
            raise type_error(what, i, names, bodies, traced)


# --- 07.5 case ----------------------------------------------------------------------------------------------
# StableHLO uses regions for code that may not run, or may run several times; `while` has them too. They may
# read every name from around them, so operands need not be passed. If the branches were written before the
# operation, the result would be the same, and both would always run: that is `where`. The index is within
# bounds already, since `switch` clamped it, so it does not matter that `case` takes the last branch for all
# other values.
#
# Usual mistakes:
#   - Writing the branches first, and a select after them.
#   - Listing the operands beside the index: a case has one operand.
#   - Returning tokens only from branches that print: then the types of the regions differ.
#
# In JAX: jax/_src/lax/control_flow/conditionals.py:_cond_lowering


def lower_cond(ctx: LoweringContext, index: str, *args: str, branches: tuple[Jaxpr, ...]) -> list[str]:
    """Write one operation `stablehlo.case`, whose i-th region is the i-th branch; return the names of its results.

    `index` and `args` are names in the text: the name of the scalar that chooses, and the names of the branches' operands.
    `ctx.avals_in` has their types, that of `index` first; `ctx.avals_out` has the types of the equation's results. A region
    of `case` has no arguments of its own: it may use every name from around it.

    For each branch, `region_of(ctx, jaxpr, args, scope, ordered)` returns the function that writes its region;
    `ctx.emit_regions` takes this function and the types of the region's arguments. The scope of the i-th branch is
    `cond/branch_i_fun`. `ctx.emit_regions` also takes the operation up to its regions, `"stablehlo.case"(%0)`, and its
    signature, `(tensor<i32>) -> (tensor<f32>, tensor<3xi1>)`, where `type_of(aval)` writes a type.

    `ordered` are the ordered effects (`ordered_effects`) of all branches together: a branch without one of the effects
    passes its token through. The operation returns a token for each effect (of the type `abstract_token`), then the
    results of the equation. `ctx.take_tokens` takes the tokens and returns the rest.
    """
    ordered = ordered_effects(no_effects.union(*(branch.effects for branch in branches)))
    out_avals = [abstract_token] * len(ordered) + list(ctx.avals_out)
    regions = [region_of(ctx, branch, args, f"cond/branch_{i}_fun", ordered) for i, branch in enumerate(branches)]
    outs = ctx.emit_regions(
        f'"stablehlo.case"({index})',
        [([], region) for region in regions],
        f"({type_of(ctx.avals_in[0])}) -> ({', '.join(map(type_of, out_avals))})",
        len(out_avals),
    )
    return ctx.take_tokens(ordered, outs)
