"""cond, switch: one of several functions runs, chosen by a value that is known only when the program runs.

All branches are traced, and one of them runs. The branches of an equation take the same operands: if one of them closed
over a value, all of them take it. A result that is the same operand in every branch is left out of the equation.

In StableHLO the equation is a `case`, whose regions see the values around them and have no arguments. Where the platform
chooses (`platform_dependent`), only the branch for the program's platform is written, and no `case`.

JAX: jax/_src/lax/control_flow/conditionals.py:cond
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import core
from ...base import config, edits, traceback_util
from ...base.errors import JaxprTypeError
from ...core import Primitive, ShapedArray, abstract_token, dtypes
from ...core.effects import Effect, io_effect, no_effects, ordered_effects, ordered_io_effect
from ...interpreters.batching import AxisData, Dims, Vals, batch_jaxpr_if, bdim_at_front, moveaxis, register_batcher
from ...interpreters.mlir import LoweringContext, register_lowering, type_of
from ...jaxpr import Jaxpr, JaxprEqn, dce_jaxpr, dce_rules, eval_jaxpr, forwarded_inputs, keep_outputs
from ...tree_util import tree_flatten, tree_unflatten
from ..convert import asarray, convert_element_type
from ..elementwise import eq
from ..ordering import stop_gradient
from ..selection import clamp, select_n
from ..shaping import broadcast_in_dim
from .agreement import check_branches, check_operands, same_type
from .common import Body, avals_of, trace_body, with_consts_of_all

# for each branch of a choice between platforms, the names of its platforms; None means all other platforms
Platforms = tuple[tuple[str, ...] | None, ...]

cond_p = Primitive("cond", multiple_results=True, pure_shape_rule=False)
cond_p.effects = lambda params: set[Effect]().union(*(branch.effects for branch in params["branches"]))


@cond_p.def_abstract_eval
def _(
    index: ShapedArray, *operands: Any, branches: tuple[Jaxpr, ...], branches_platforms: Platforms | None = None
) -> list[Any]:
    if index.shape != () or index.dtype != np.int32:
        raise JaxprTypeError(f"cond called with index of type {index} instead of int32[]")
    for i, branch in enumerate(branches):
        check_operands(f"cond branch {i}", branch.in_avals, operands)
        types, expected = branch.out_avals, branches[0].out_avals
        if len(types) != len(expected) or not all(map(same_type, types, expected)):
            raise JaxprTypeError(f"cond branches 0 and {i} have mismatching output types: {expected} vs {types}")
    return branches[0].out_avals


@register_lowering(cond_p)
def _(ctx: LoweringContext, index: str, *args: str, branches: Any, branches_platforms: Any = None) -> list[str]:
    """Lowering rule: write a `case`; if the branches are for platforms, write only the branch for this platform."""
    if branches_platforms is None:
        return lower_cond(ctx, index, *args, branches=branches)
    place = branch_for(ctx.module.platform, branches_platforms)
    return ctx.lower_region(branches[place], args, f"cond/branch_{place}_fun")


def branch_for(platform: str, platforms: Platforms) -> int:
    """Return the number of the branch for the platform of a program; raise NotImplementedError if there is none."""
    name = {"gpu": "cuda"}.get(platform, platform)
    for place, names in enumerate(platforms):
        if names is None or name in names:
            return place
    raise NotImplementedError(
        f"MLIR translation rule for primitive 'platform_index(platforms={platforms})' not found for platform {name}\n"
        f"`lax.platform_dependent` got no function for it: pass `{name}=...`, or a `default`."
    )


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


def region_of(
    ctx: LoweringContext, jaxpr: Jaxpr, args: Sequence[str], scope: str, ordered: Sequence[Effect]
) -> Callable[[], list[tuple[str, Any]]]:
    """Return a function that writes a jaxpr as a region, and returns the names and types that the region yields: the
    tokens of the ordered effects, then the outputs. The region uses the names `args` from outside. Each region of an
    operation begins with the current tokens.
    """
    tokens = [ctx.tokens[effect] for effect in ordered]

    def write() -> list[tuple[str, Any]]:
        ctx.take_tokens(ordered, tokens)
        outs = ctx.lower_region(jaxpr, args, scope)
        last = [(ctx.tokens[effect], abstract_token) for effect in ordered]
        return [*last, *zip(outs, jaxpr.out_avals, strict=True)]

    return write


@register_batcher(cond_p, even_unmapped=True)
def _(axis: AxisData, vals: Vals, dims: Dims, *, branches: tuple[Jaxpr, ...], branches_platforms: Any = None) -> Any:
    """Batching rule: batch a `cond`. If the branches are for platforms, one of them runs for all elements, and nothing is selected."""
    if branches_platforms is None:
        return batch_cond(axis, vals, dims, branches=branches)
    index, *operands = (x if dim is None else moveaxis(x, dim, 0) for x, dim in zip(vals, dims, strict=True))
    is_batch = [dim is not None for dim in dims[1:]]
    outs_are = [any(flags) for flags in zip(*(batch_jaxpr_if(b, axis, is_batch)[1] for b in branches), strict=True)]
    batched = tuple(batch_jaxpr_if(branch, axis, is_batch, outs_are)[0] for branch in branches)
    outs = cond_p.bind(index, *operands, branches=batched, branches_platforms=branches_platforms)
    return outs, [0 if batch else None for batch in outs_are]


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


def refuse_effects(branches: Sequence[Jaxpr]) -> None:
    """Raise NotImplementedError if a branch has IO effects: batched, it would also perform them for elements that take another branch."""
    if any(effect in branch.effects for branch in branches for effect in (io_effect, ordered_io_effect)):
        raise NotImplementedError("IO effect not supported in vmap-of-cond.")


def select_case(which: Any, *cases: Any) -> Any:
    """Return a batch whose i-th element is `cases[which[i]][i]` (`select_n`): `which` has one axis, of int32 or, for two cases, bools."""
    shape = np.shape(cases[0])
    return select_n(which if len(shape) == 1 else broadcast_in_dim(which, shape, [0]), *cases)


def _dce(used_results: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """DCE rule: keep the operands that a branch reads for the used results; drop a `cond` without used results and effects."""
    if not any(used_results) and not eqn.effects:
        return [False] * len(eqn.invars), None
    branches = eqn.params["branches"]
    uses = [dce_jaxpr(branch, used_results)[1] for branch in branches]
    used = [any(column) for column in zip(*uses, strict=True)]
    pruned = tuple(dce_jaxpr(branch, used_results, instantiate=used)[0] for branch in branches)
    params = eqn.params | {"branches": pruned}
    used = [True, *used]  # the index
    left = eqn.replace(
        invars=[x for x, kept in zip(eqn.invars, used, strict=True) if kept],
        outvars=[x for x, kept in zip(eqn.outvars, used_results, strict=True) if kept],
        params=params,
        effects=cond_p.effects(params) if cond_p.effects else no_effects,
    )
    return used, left


dce_rules[cond_p] = _dce


class _NotGiven:
    def __repr__(self) -> str:
        return "<no operand>"


NOT_GIVEN = _NotGiven()


@traceback_util.api_boundary
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


def cond_with_two_operands(pred: Any, *rest: Any) -> Any:
    """Return `cond(pred, x, true_fun, y, false_fun)`, a call as in JAX's first versions; raise TypeError for any other call."""
    if len(rest) == 4 and callable(rest[1]) and callable(rest[3]):
        x, true_fun, y, false_fun = rest
        return cond(pred, lambda x, _: true_fun(x), lambda _, y: false_fun(y), x, y)
    raise TypeError(f"lax.cond: true_fun and false_fun arguments should be callable.{edits.TWO_FUNCTIONS}")


def all_operands(operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    """Return the positional operands, or the single one given by keyword. Raise TypeError for both at once."""
    if operand is NOT_GIVEN:
        return operands
    if operands:
        raise TypeError(
            f"if 'operand' keyword is passed then no positional operands can be passed, got operand={operand!r} "
            f"and positional operands {operands}"
        )
    return (operand,)


def truth_of(pred: Any) -> Any:
    """Return the predicate as a bool, concrete or traced. Raise TypeError unless it is a scalar bool, integer or float."""
    if pred is None:
        raise TypeError("cond predicate is None\nPass True or False, a number, or a scalar array.")
    if isinstance(pred, Sequence) or np.ndim(pred) != 0:
        kind = f"type {type(pred)}" if isinstance(pred, Sequence) else f"shape {np.shape(pred)}."
        raise TypeError(
            f"Pred must be a scalar, got {pred} of {kind}\n"
            "One branch is taken for the whole array: reduce the condition with `.all()` or `.any()`. "
            "To choose element by element, use `jnp.where`."
        )
    try:
        dtype = dtypes.result_type(pred)
    except TypeError as error:
        raise TypeError(f"Pred type must be either boolean or number, got {pred}.") from error
    if dtype.kind == "b":
        return pred
    if dtype.kind not in "iuf":
        raise TypeError(f"Pred type must be either boolean or number, got {dtype}.")
    return pred != 0


@traceback_util.api_boundary
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


def check_index(index: Any) -> None:
    """Raise TypeError unless the index is an integer scalar, concrete or traced."""
    if np.ndim(index) != 0:
        raise TypeError(
            f"Branch index must be scalar, got {index} of shape {np.shape(index)}.\n"
            "One branch is taken for the whole array. To choose element by element, use `jnp.where` or `lax.select_n`."
        )
    try:
        dtype = dtypes.result_type(index)
    except TypeError as error:
        raise TypeError(f"Index type must be an integer, got {index}.") from error
    if dtype.kind not in "iu":
        raise TypeError(
            f"Index type must be an integer, got {index} as {dtype}\n"
            "Convert it: `index.astype(jnp.int32)`. For two branches and a condition, use `lax.cond`."
        )


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


def bind_branches(index: Any, branches: Sequence[Jaxpr], inputs: Sequence[Any], **params: Any) -> list[Any]:
    """Write the equation of `cond`; return a list of its results. `inputs` are the operands after the index. If a result is
    the same input in all branches, return this input: the equation does not compute it. `params` are further parameters.
    """
    sources = list(zip(*map(forwarded_inputs, branches), strict=True))
    passed = [places[0] if len(set(places)) == 1 else None for places in sources]
    computed_only = [keep_outputs(branch, tuple(place is None for place in passed)) for branch in branches]
    computed = iter(cond_p.bind(index, *inputs, branches=tuple(computed_only), **params))
    return [next(computed) if place is None else asarray(inputs[place]) for place in passed]
