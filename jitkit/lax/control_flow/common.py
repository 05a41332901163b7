"""Turns a user's function into a jaxpr, the parameter of an equation, for `cond`, `while_loop` and `scan`.

Such a jaxpr closes over nothing. Values that the function closed over, arrays and tracers of outer traces, are
*hoisted*: they become operands of the equation and the jaxpr's first inputs.

A function is traced once for each combination of types, as long as it lives. So two equations can share a jaxpr, and an
eager loop finds its compiled program again. What is derived from jaxprs here is cached for the same reason.

JAX: jax/_src/interpreters/partial_eval.py:trace_to_jaxpr
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from ... import core
from ...base import config, edits, errors, traceback_util
from ...base.jax_version import since
from ...core import Primitive
from ...interpreters import partial_eval
from ...interpreters.batching import AxisData, batch_jaxpr_if
from ...interpreters.mlir import LoweringContext, register_lowering
from ...jaxpr import Atom, DebugInfo, Jaxpr, Var, convert_constvars_jaxpr, remembered
from ...pjit import compilation_cache
from ...signature import api_util
from ...signature.api_util import Arguments
from ...tree_util import PyTreeDef, keystr, note_keys, skeleton, tree_flatten, tree_flatten_with_path, tree_leaves

# --- tracing ------------------------------------------------------------------------------------------------


def _as_they_are(*args: Any) -> tuple[Any, ...]:
    return args


class Body(NamedTuple):
    """A function to be traced for an equation.

    `fun` is called on trees. `user` is the user's function: `fun` itself, or a function that `fun` calls. Messages name
    `user`, and traces are cached as long as it lives. `view` turns the arguments of `fun` into those of `user`.
    `traced_for` says what `fun` is traced for, such as "scan"; `statics` are values that `fun` was made with. Both are
    part of the cache's key.
    """

    fun: Callable[..., Any]
    user: Callable[..., Any]
    traced_for: str
    view: Callable[..., tuple[Any, ...]] = _as_they_are
    statics: Hashable = ()


class Traced(NamedTuple):
    """A traced function: its jaxpr, whose first inputs stand for `consts`, and the tree of its result."""

    jaxpr: Jaxpr
    consts: tuple[Any, ...]
    out_tree: PyTreeDef

    def is_current(self) -> bool:
        """Return whether the traces of all tracers that the function closed over are active."""
        return all(x._trace.alive for x in self.consts if isinstance(x, core.Tracer))


class _Memory:
    """Maps each user's function to its traces."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all traces."""
        self.known: weakref.WeakKeyDictionary[Any, dict[Any, Traced]] = weakref.WeakKeyDictionary()

    def of(self, user: Callable[..., Any]) -> dict[Any, Traced]:
        """Return the dict of this function's traces, to add new ones to. For a function that cannot be a key, it is
        empty and not kept.
        """
        try:
            return self.known.setdefault(user, {})
        except TypeError:  # it cannot be hashed or weakly referenced
            return {}


_memory = _Memory()
compilation_cache.register_clearable(_memory)


def trace_body(body: Body, in_tree: PyTreeDef, avals: Sequence[Any]) -> Traced:
    """Return the function as a jaxpr, traced now or from the cache, for arguments of these types; `in_tree` is the tree
    of the tuple of arguments.
    """
    known = _memory.of(body.user)
    key = (body.traced_for, body.statics, in_tree.exact, tuple(avals), config.local.state.options)
    traced = known.get(key)
    if traced is None or not traced.is_current():
        traced = known[key] = trace_anew(body, in_tree, avals)
    return traced


def trace_anew(body: Body, in_tree: PyTreeDef, avals: Sequence[Any]) -> Traced:
    """Return the function as a jaxpr, traced now. Call this instead of `trace_body` if the trace depends on something
    that the cache's key lacks: if `body.fun` is `functools.partial(solve, f)` and `body.user` is `solve`, the key lacks
    `f`.
    """
    out_trees: list[PyTreeDef] = []
    info = DebugInfo(body.traced_for, api_util.source_of(body.user), _argument_names(body, in_tree))

    def flat_fun(*leaves: Any) -> list[Any]:
        nonlocal info
        args = in_tree.unflatten(leaves)
        if not in_tree.is_plain:  # the user's nodes name their own children
            note_keys(args)
            info = info._replace(arg_names=_argument_names(body, in_tree))
            partial_eval.rename_inputs(info)
        try:
            result = body.fun(*args)
        except TypeError as error:
            if is_call_of_ours(error):
                error.args = (f"{error}{edits.HOW_IT_IS_CALLED}",)
            raise
        outs, out_tree = tree_flatten(result)
        out_trees.append(out_tree)
        if not all(core.is_array_type(type(x)) for x in outs):
            paths = [f"result{keystr(path)}" for path, _ in tree_flatten_with_path(result)[0]]
            partial_eval.check_results(outs, info._replace(result_paths=tuple(paths)))
        return outs

    jaxpr = partial_eval.trace_to_jaxpr(flat_fun, avals, info)
    if jaxpr.debug_info is not info:
        jaxpr = jaxpr.replace(debug_info=jaxpr.debug_info._replace(arg_names=info.arg_names))
    return Traced(convert_constvars_jaxpr(jaxpr), tuple(jaxpr.consts), out_trees[0])


def is_call_of_ours(error: TypeError) -> bool:
    """Return whether Python raised this TypeError because a user's function does not take the arguments with which this
    package called it, and the error has not been explained yet.
    """
    frame, text = error.__traceback__, str(error)
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    is_ours = frame is not None and traceback_util.is_own_file(frame.tb_frame.f_code.co_filename)
    return is_ours and "positional argument" in text and edits.HOW_IT_IS_CALLED not in text


def _argument_names(body: Body, in_tree: PyTreeDef) -> tuple[str, ...]:
    """Return each input's name, in terms of the user's parameters; an empty one if it is not an argument of the user's function."""
    places = [object() for _ in range(in_tree.num_leaves)]  # compared by address: static values may be anything
    args = body.view(*skeleton(in_tree, places))
    names = api_util.argument_names(body.user, Arguments(args, {}, (), len(args)))
    name_of_input = {id(leaf): name for leaf, name in zip(tree_leaves(args), names, strict=True)}
    return tuple(name_of_input.get(id(place), "") for place in places)


def avals_of(leaves: Sequence[Any]) -> list[Any]:
    """Return the types of values; raise TypeError for a value that is not an array."""
    try:
        return [core.get_aval(x) for x in partial_eval.with_stand_ins(leaves)]
    except TypeError:
        bad = next(x for x in leaves if not core.is_array_value(x))
        if core.is_array_type(type(bad)):
            raise  # an array of text or objects
        kind = str(type(bad)) if isinstance(bad, str) else f"'{type(bad)}'"
        order = edits.FUNCTION_FIRST * callable(bad)
        raise TypeError(
            f"Argument '{bad}' of type {kind} is not a valid JAX type{errors.about_value_of_jax(bad)}\n"
            "Carries and operands must be trees of arrays. The function can use other values, such as a text, "
            f"without getting them as an argument.{order or edits.NOT_AN_ITERATOR * hasattr(bad, '__next__')}"
        ) from None


# --- making jaxprs of jaxprs --------------------------------------------------------------------------------


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


# --- a jaxpr, run inside of a lowering ----------------------------------------------------------------------

eval_jaxpr_p = Primitive("eval_jaxpr", multiple_results=True, pure_shape_rule=False)
eval_jaxpr_p.effects = lambda params: params["jaxpr"].effects


@eval_jaxpr_p.def_abstract_eval
def _(*avals: Any, jaxpr: Jaxpr) -> list[Any]:
    return jaxpr.out_avals


@register_lowering(eval_jaxpr_p)
def _(ctx: LoweringContext, *args: str, jaxpr: Jaxpr) -> list[str]:
    return ctx.lower_region(jaxpr, args, "eval_jaxpr" if since(0, 11) else "closed_call", own_lines=True)


# --- branches that take the constants of all ----------------------------------------------------------------


def with_consts_of_all(branch: Traced, k: int, traced: Sequence[Traced], consts: Sequence[Any]) -> Jaxpr:
    """Return the jaxpr of `branch`, the k-th one, with `consts`, the constants of all branches, as its first inputs."""
    if not consts:
        return branch.jaxpr
    position = {id(x): i for i, x in enumerate(branch.consts)}
    places = tuple(position.get(id(x)) for x in consts)
    repeated = any(branch is earlier for earlier in traced[:k])
    return _widen(branch.jaxpr, places, tuple(avals_of(consts)), repeated, k, tuple(map(id, consts)))


@remembered
def _widen(jaxpr: Jaxpr, places: tuple[int | None, ...], avals: tuple[Any, ...], repeated: bool, *_: Any) -> Jaxpr:
    """Return the jaxpr with an input for each constant of all branches. `places` has for each constant the number of
    the jaxpr's own input, or None if only other branches use it. A branch that came before in the equation (`repeated`)
    gets new variables for the constants. (The other arguments are only cache keys: they decide, as in JAX, which
    branches share a jaxpr.)
    """
    count = sum(place is not None for place in places)
    consts = [
        Var(aval) if place is None or repeated else jaxpr.invars[place]
        for place, aval in zip(places, avals, strict=True)
    ]
    fresh = {jaxpr.invars[place]: var for place, var in zip(places, consts, strict=True) if place is not None}
    names = jaxpr.debug_info.safe_arg_names(len(jaxpr.invars))[count:]
    parts: dict[str, Any] = {}
    if repeated:
        parts["eqns"] = [eqn.replace(invars=_renamed(eqn.invars, fresh)) for eqn in jaxpr.eqns]
        parts["outvars"] = _renamed(jaxpr.outvars, fresh)
    return jaxpr.replace(
        invars=consts + jaxpr.invars[count:],
        debug_info=jaxpr.debug_info._replace(arg_names=("",) * len(consts) + names),
        **parts,
    )


def _renamed(atoms: Sequence[Atom], names: dict[Var, Var]) -> list[Atom]:
    return [names.get(atom, atom) if isinstance(atom, Var) else atom for atom in atoms]
