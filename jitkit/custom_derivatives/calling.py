"""call of a function with a rule -> its results, under any transformation

Without a transformation the function itself is called. Under `vmap` it is called once for all elements, with a rule for
batches. Under a derivative the rule is called instead. While tracing, the call is recorded as an equation that has
both. JVP rules and VJP rules differ only in their `Ways`.

JAX: jax/_src/custom_derivatives.py:custom_jvp
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from itertools import compress, islice
from typing import Any, NamedTuple

from .. import core
from ..core import Primitive
from ..interpreters import mlir, partial_eval
from ..interpreters.ad import DualTrace
from ..interpreters.ad_linearize import PartialTrace
from ..interpreters.ad_rules import Zero
from ..interpreters.batching import BatchTrace, batch
from ..jaxpr import DebugInfo, JaxprEqn, dce_jaxpr, eval_jaxpr, jaxpr_as_fun
from ..signature import api_util
from ..tree_util import PyTreeDef, as_built, tree_flatten, tree_unflatten

FlatFun = Callable[..., list[Any]]
Values = Sequence[Any]
# The function's result tree and avals, once it has been traced; the rule's results must agree.
Results = list[tuple[PyTreeDef, list[Any]]]


class CustomCall(Primitive):
    """The primitive of calls whose parameter `call_jaxpr` is the function.

    As in JAX, evaluating such an equation under a trace traces its jaxpr again. So each equation has its own jaxpr, and
    a printed program does not share them.
    """

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(name, multiple_results=True, pure_shape_rule=False)
        self.effects = lambda params: params["call_jaxpr"].effects
        self.def_abstract_eval(lambda *avals, call_jaxpr, **params: call_jaxpr.out_avals)
        mlir.register_lowering(self)(lambda ctx, *args, call_jaxpr, **params: ctx.lower_region(call_jaxpr, args))

    def bind(self, *args: Any, **params: Any) -> Any:
        """Return the results. Without a trace, run a function with effects operation by operation, so that a check in it can raise."""
        trace, jaxpr = core.current_trace(), params["call_jaxpr"]
        if trace is None and jaxpr.effects:
            return eval_jaxpr(jaxpr, jaxpr.consts, *args)
        if isinstance(trace, partial_eval.DynamicJaxprTrace):
            again = partial_eval.trace_to_jaxpr(jaxpr_as_fun(jaxpr), list(map(core.typeof, args)), jaxpr.debug_info)
            params["call_jaxpr"] = again
        return super().bind(*args, **params)

    def record(self, *args: Any, **params: Any) -> Any:
        """Bind the primitive with a jaxpr that has just been traced: it is not traced again."""
        return super().bind(*args, **params)


class Ways(NamedTuple):
    """How each transformation treats a rule: one `Ways` for JVP rules and one for VJP rules."""

    batched: Callable[[Any, BatchTrace, Values, Values, list[Any]], Any]
    """(rule, trace, values, their batch axes, a list for the results' batch axes that is filled later) -> the rule for batches"""
    with_tangents: Callable[[Any, Values, Values], tuple[list[Any], list[Any], PyTreeDef]]
    """(rule, primals, tangents) -> the results, their tangents, and the tree that both have"""
    record: Callable[[Any, core.Trace, FlatFun, Values, DebugInfo], list[Any]]
    """(rule, trace, function, leaves, what is known of the function) -> the results of an equation for the call"""


class _Call(NamedTuple):
    """What the functions below share of one call, in every transformation."""

    ways: Ways
    info: DebugInfo
    out_trees: list[PyTreeDef]  # the trees of the results: the function or its rule, whichever is called, adds one


def call_with_rule(
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    statics: dict[int, Any],
    make_rule: Callable[[list[Any], PyTreeDef], Any],
    ways: Ways,
    traced_for: str,
) -> Any:
    """Return the result of `fun`, or of its rule if one is needed. `make_rule` makes the rule from the leaves and the
    tree of the arguments that are not `statics`.
    """
    differentiated = tuple(x for i, x in enumerate(args) if i not in statics)
    leaves, in_tree = tree_flatten(partial_eval.with_stand_ins_in(differentiated))
    call = _Call(ways, DebugInfo(traced_for, api_util.source_of(fun)), [])

    def flat_fun(*leaves: Any) -> list[Any]:
        values = iter(tree_unflatten(in_tree, leaves))
        out = fun(*[statics[i] if i in statics else next(values) for i in range(len(args))])
        outs, out_tree = tree_flatten(out)
        call.out_trees.append(out_tree)
        return outs

    outs = _call_flat(call, flat_fun, make_rule(leaves, in_tree), leaves)
    return tree_unflatten(call.out_trees[0], outs)


def _call_flat(call: _Call, fun: FlatFun, rule: Any, leaves: Values) -> list[Any]:
    trace = core.current_trace()
    if trace is None:
        return fun(*core.with_dtypes(leaves))
    if isinstance(trace, PartialTrace) and not any(map(trace.is_tangent, leaves)):
        with core.set_current_trace(trace.parent):  # inside another function's rule, behave as in the outer trace
            return _call_flat(call, fun, rule, leaves)
    if isinstance(trace, BatchTrace):
        return _call_on_batches(trace, call, fun, rule, leaves)
    if isinstance(trace, DualTrace):
        return _differentiate(trace, call, fun, rule, leaves)
    outs = call.ways.record(rule, trace, fun, leaves, call.info)
    rule.results.append((call.out_trees[0], list(map(core.typeof, outs))))
    return outs


def _call_on_batches(trace: BatchTrace, call: _Call, fun: FlatFun, rule: Any, leaves: Values) -> list[Any]:
    """Batch a call: call the function once, on whole batches in the outer trace, with the rule for batches."""
    pairs = [trace.unwrap(x) for x in leaves]
    vals, dims = [val for val, _ in pairs], [dim for _, dim in pairs]
    out_dims: list[Any] = []

    def of_element(*leaves: Any) -> list[Any]:
        outs = fun(*leaves)
        rule.results.append((call.out_trees[-1], list(map(core.typeof, outs))))
        return outs

    def on_batches(*vals: Any) -> list[Any]:
        outs, out_dims[:] = batch(of_element, trace.axis, vals, dims, trace.tag)
        return outs

    batched = call.ways.batched(rule, trace, vals, dims, out_dims)
    with core.set_current_trace(trace.parent):
        outs = _call_flat(call, on_batches, batched, vals)
    return list(map(trace.wrap, outs, out_dims))


def _differentiate(trace: DualTrace, call: _Call, fun: FlatFun, rule: Any, leaves: Values) -> list[Any]:
    """Return the results of the rule, which replaces the function while a derivative is taken."""
    primals, tangents = trace.pairs(leaves)
    known = 0 if trace.writer is None else len(trace.writer.consts)
    if all(type(t) is Zero for t in tangents):
        with core.set_current_trace(trace.parent):
            unchanged = _call_flat(call, fun, rule, primals)
        _check_closures(trace, known)
        return unchanged

    def flat_rule(primals: Values, tangents: Values) -> tuple[list[Any], list[Any]]:
        outs, out_tangents, out_tree = call.ways.with_tangents(rule, primals, tangents)
        _check_closures(trace, known)
        call.out_trees.append(out_tree)
        return outs, out_tangents

    outs, out_tangents = trace.by_rule(flat_rule, True, primals, tangents, {})
    return list(map(trace.with_tangent, outs, out_tangents))


def _check_closures(trace: DualTrace, known: int) -> None:
    """Raise UnexpectedTracerError if a function or its rule closes over a tracer of `trace`: the outer program, which
    had `known` constants before, would take the tracer as a constant, and its tangent would be lost.
    """
    consts = [] if trace.writer is None else trace.writer.consts.values()
    for x in islice(consts, known, None):
        if isinstance(x, core.Tracer) and x._trace is trace:
            raise core.escaped_tracer_error(x)


def check_results(
    results: Results, outs: Values, out_tree: PyTreeDef, must: Callable[[str], str], rule: str, function: str
) -> None:
    """Raise TypeError if the first result of a rule has another tree or other types than the function's result (if
    these are known).

    `must` makes the start of the message from the kind of difference (the tree, the types); `rule` and `function` are
    their names.
    """
    if not results:
        return
    (expected_tree, expected), avals = results[0], list(map(core.typeof, outs))
    if out_tree != expected_tree:
        what, end, respect = "container/pytree structure", ".", "of the same container/pytree structure"
    elif [(a.shape, a.dtype) for a in avals] != [(a.shape, a.dtype) for a in expected]:
        what, end, respect = "shapes/dtypes of", "", "with leaves of the same shape/dtype"
    else:
        return
    given, wanted = (
        str(as_built(tree, [a.str_short() for a in leaves])).replace("'", "")
        for tree, leaves in ((out_tree, avals), (expected_tree, expected))
    )
    raise TypeError(
        f"{must(respect)}, but instead the {rule} output's first element had {what}:\n    {given}\n"
        f"while the {function} had output {what}:\n    {wanted}{end}"
    )


def fields_of(rule: Any, kind: type) -> dict[str, Any]:
    """Return the fields of `rule` that the class `kind` declares, without caches: another rule can be made from them."""
    return {f.name: getattr(rule, f.name) for f in dataclasses.fields(kind) if f.name not in ("results", "memo")}


# --- calls whose results are read only in part -----------------------------------------------------------------------


def dce_of_call(
    used_results: list[bool], eqn: JaxprEqn, rule: str, part_of: Callable[[Any, tuple[bool, ...]], Any]
) -> tuple[list[bool], JaxprEqn | None]:
    """Eliminate dead code of a call whose rule is its parameter `rule`: the function and the rule return fewer results.

    All operands stay: the rule may read one that the function no longer reads.
    """
    if not any(used_results) and not eqn.effects:
        return [False] * len(eqn.invars), None
    used = tuple(used_results)
    call_jaxpr, _ = dce_jaxpr(eqn.params["call_jaxpr"], used, instantiate=True)
    params = eqn.params | {"call_jaxpr": call_jaxpr, rule: part_of(eqn.params[rule], used)}
    outvars = list(compress(eqn.outvars, used))
    return [True] * len(eqn.invars), eqn.replace(outvars=outvars, params=params, effects=call_jaxpr.effects)


# --- the arguments of a call -----------------------------------------------------------------------------------------


def numbers_of(
    fun: Callable[..., Any], argnums: Sequence[int] | None, argnames: Sequence[str] | str
) -> tuple[int, ...]:
    """Return the sorted positions of arguments given by position or by name. Raise TypeError for positions that are not
    ints, or names that are not strings.
    """
    argnames = (argnames,) if isinstance(argnames, str) else tuple(argnames)
    for name in argnames:
        if not isinstance(name, str):
            raise TypeError(f"argument is not a string: {name}")
    positions = () if argnums is None else map(operator.index, argnums)
    names = list(inspect.signature(fun).parameters) if argnames else []
    return tuple(sorted({names.index(name) for name in argnames if name in names}.union(positions)))


def arguments_at(positions: Sequence[int], args: tuple[Any, ...]) -> dict[int, Any]:
    """Return the arguments at these positions, which are not differentiated, as a dict by position. Raise IndexError if
    the call lacks one of them.
    """
    try:
        return {i: args[i] for i in positions}
    except IndexError:
        given = f"nondiff_argnums={tuple(positions)}, and the call has {len(args)} arguments"
        raise IndexError(f"tuple index out of range\n\nThe function has {given}; they are counted from 0.") from None


def by_position(
    decorator: str, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """Return the arguments of a decorated function in the order of its parameters, defaults filled in. Raise TypeError
    if they do not fit, or if one passed by keyword has no position.
    """
    try:
        signature = None if isinstance(fun, functools.partial) else api_util.signature_of(fun)
        if signature is None:
            signature = inspect.signature(lambda *args, **kwargs: None)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        unplaced = [name for name in bound.kwargs if name in kwargs]
        if unplaced:
            names = ", ".join(unplaced)
            raise TypeError(f"The following keyword arguments could not be resolved to positions: {names}")
    except TypeError as error:
        raise TypeError(
            f"The input arguments to the {decorator}-decorated function {api_util.name_of(fun)} could not be resolved to "
            f"positional-only arguments. Binding failed with the error:\n{error}"
        ) from error
    return bound.args


def method_of_function(decorated: Any, name: str) -> Any:
    """Return `defvjp`, `defjvp` or `def_vmap` of the decorated function, if that function is itself decorated: so the
    outer object can set both rules. Used as `__getattr__` of decorated functions. Raise AttributeError for other names.
    """
    if name.startswith("def"):
        return getattr(decorated.fun, name)
    raise AttributeError(f"{type(decorated).__name__!r} object has no attribute {name!r}")
