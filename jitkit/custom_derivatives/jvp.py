"""Functions with a derivative rule of their own: the decorator `custom_jvp`, and its primitive.

    b:f32[3] = custom_jvp_call[name=f call_jaxpr={ lambda ; c:f32[3]. let ... } jvp=f_jvp symbolic_zeros=False] a

Called eagerly, such a function is what it was before it was decorated. Under a trace it is one equation, which keeps
the function as a jaxpr and the rule as the user wrote it: transformations that differentiate read the rule, all others
read the jaxpr. Lowering writes the equations of the jaxpr in place.

JAX: jax/_src/custom_derivatives.py:custom_jvp
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, NamedTuple

from .. import core
from ..base import traceback_util
from ..base.jax_version import since
from ..core import Tracer
from ..interpreters import mlir, partial_eval
from ..interpreters.ad_linearize import PartialTrace, partial_eval_rules
from ..interpreters.ad_rules import (
    Zero,
    add_tangents,
    instantiate_zeros,
    primitive_jvps,
    primitive_transposes,
    tangent_aval,
    zero_tangent,
)
from ..interpreters.ad_transpose import backward_pass
from ..interpreters.batching import (
    AxisData,
    BatchTrace,
    Dims,
    Vals,
    batch,
    batch_jaxpr,
    move_to,
    register_batcher,
)
from ..jaxpr import (
    DebugInfo,
    Jaxpr,
    JaxprEqn,
    convert_constvars_jaxpr,
    dce_jaxpr,
    dce_rules,
    eval_jaxpr,
    pp_eqn_rules,
)
from ..jaxpr import printer as jaxpr_printer
from ..lax import stop_gradient
from ..lax.control_flow import solves
from ..signature import api_util
from ..tree_util import PyTreeDef, tree_flatten, tree_map, tree_structure, tree_unflatten
from .calling import (
    CustomCall,
    FlatFun,
    Results,
    Ways,
    by_position,
    call_with_rule,
    check_results,
    dce_of_call,
    method_of_function,
    numbers_of,
)

# --- the primitive ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class JvpRule:
    """The rule of one call: `jvp(*static_args, primals, tangents)`, the two being trees like `in_tree`.

    Hashed by identity: it is part of an equation, and static arguments need not be hashable.
    """

    name: str  # of the function
    jvp: Callable[..., Any]
    static_args: tuple[Any, ...]
    in_tree: PyTreeDef
    symbolic_zeros: bool
    results: Results = dataclasses.field(default_factory=list, kw_only=True)
    memo: dict[Any, _TracedRule] = dataclasses.field(default_factory=dict, kw_only=True)

    def __call__(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any], PyTreeDef]:
        """The results and their tangents, flat, and the tree of either. TypeError for a rule that returns anything else
        than two of a tree, with leaves of types that belong together.
        """
        show = SymbolicZero.show if self.symbolic_zeros else instantiate_zeros
        pair = self.jvp(
            *self.static_args,
            tree_unflatten(self.in_tree, primals),
            tree_unflatten(self.in_tree, list(map(show, tangents))),
        )
        rule = f"Custom JVP rule {self} for function {self.name} must produce"
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise TypeError(
                f"{rule} a pair (list or tuple of length two) representing primal and tangent outputs, but got {pair}."
            )
        (outs, out_tree), (out_tangents, tangent_tree) = map(tree_flatten, pair)
        if out_tree != tangent_tree:
            raise TypeError(
                f"{rule} primal and tangent outputs with equal container (pytree) structures, but got {out_tree} and "
                f"{tangent_tree} respectively."
            )
        check_results(
            self.results,
            outs,
            out_tree,
            lambda respect: (
                f"{rule} a pair (list or tuple of length two) where the first element represents the primal output "
                f"(equal in value to the output of the custom_jvp-decorated function {self.name}, and in particular {respect})"
            ),
            "JVP rule",
            f"custom_jvp-decorated function {self.name}",
        )
        out_tangents = [Zero(t.aval) if type(t) is SymbolicZero else t for t in out_tangents]
        _check_tangents([core.typeof(x) for x in outs], out_tangents)
        return outs, out_tangents, out_tree

    def in_jaxpr(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The results and their tangents, flat, where the call is part of a program: the rule is traced, once for each set of
        tangents that are there, and what it did is computed.
        """
        if not self.symbolic_zeros:
            tangents = list(map(instantiate_zeros, tangents))
        moving = tuple(type(t) is not Zero for t in tangents)
        jaxpr, zeros = self.traced(tuple(map(core.typeof, primals)), moving)
        found = eval_jaxpr(jaxpr, jaxpr.consts, *primals, *compress(tangents, moving))
        made = iter(found[len(zeros) :])
        return found[: len(zeros)], [next(made) if zero is None else zero for zero in zeros]

    def traced(self, avals: tuple[Any, ...], moving: tuple[bool, ...]) -> _TracedRule:
        """The rule as a jaxpr, for arguments of these types, of which those that are `moving` have a tangent."""
        if (avals, moving) not in self.memo:
            self.memo[avals, moving] = self._trace(avals, moving)
        return self.memo[avals, moving]

    def _trace(self, avals: tuple[Any, ...], moving: tuple[bool, ...]) -> _TracedRule:
        count, of_tangents = len(avals), [tangent_aval(aval) for aval in avals]
        zeros: list[Zero | None] = []

        def pairs(*leaves: Any) -> list[Any]:
            given = iter(leaves[count:])
            tangents = [next(given) if m else Zero(aval) for m, aval in zip(moving, of_tangents, strict=True)]
            outs, out_tangents, _ = self(leaves[:count], tangents)
            zeros[:] = [t if type(t) is Zero else None for t in out_tangents]
            return [*outs, *(t for t in out_tangents if type(t) is not Zero)]

        info = DebugInfo("custom_jvp jvp", api_util.source_of(self.jvp))
        jaxpr = partial_eval.trace_to_jaxpr(pairs, [*avals, *compress(of_tangents, moving)], info)
        return _TracedRule(jaxpr, tuple(zeros))

    def __str__(self) -> str:
        return api_util.name_of(self.jvp)


class _TracedRule(NamedTuple):
    """What a rule does, from values and those tangents that are there; the results' tangents that are not, else None."""

    jaxpr: Jaxpr
    zeros: tuple[Zero | None, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class BatchedJvpRule(JvpRule):
    """A rule for batches: `inner` is asked for one element of them."""

    inner: JvpRule
    axis: AxisData
    dims: Dims  # of the arguments
    out_dims: list[Any]  # of the results; empty until the function, or its rule, has been called
    tag: object = None  # of the trace whose tracers the rule may close over

    def __call__(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any], PyTreeDef]:
        """Results and tangents, with the axis of each pair at one place."""
        if not self.symbolic_zeros:
            tangents = list(map(instantiate_zeros, tangents))
        moving = [type(t) is not Zero for t in tangents]
        made: list[Any] = []

        def on_elements(*leaves: Any) -> list[Any]:
            count, given = len(self.dims), iter(leaves[len(self.dims) :])
            of_element = [
                next(given) if m else Zero(without_axis(t.aval, dim))
                for m, t, dim in zip(moving, tangents, self.dims, strict=True)
            ]
            outs, out_tangents, out_tree = self.inner(leaves[:count], of_element)
            made[:] = out_tree, [type(t) is not Zero for t in out_tangents]
            return [*outs, *(t for t in out_tangents if type(t) is not Zero)]

        vals = [*primals, *compress(tangents, moving)]
        vals, found = batch(on_elements, self.axis, vals, [*self.dims, *compress(self.dims, moving)], self.tag)
        out_tree, nonzero = made
        rest = iter(zip(vals[len(nonzero) :], found[len(nonzero) :], strict=True))
        pairs = [next(rest) if nz else (None, None) for nz in nonzero]
        if not self.out_dims:
            both = zip(found, pairs, strict=False)
            self.out_dims[:] = [dim if dim is not None else of_tangent for dim, (_, of_tangent) in both]
        outs = [self._moved(x, dim, to) for x, dim, to in zip(vals, found, self.out_dims, strict=False)]
        out_tangents = [
            self._moved(t, dim, to) if nz else zero_tangent(out)
            for nz, (t, dim), to, out in zip(nonzero, pairs, self.out_dims, outs, strict=True)
        ]
        return outs, out_tangents, out_tree

    def _moved(self, x: Any, dim: Any, to: Any) -> Any:
        return x if to is None else move_to(x, dim, to, self.axis.size)


def batched_rule(
    rule: JvpRule, axis: AxisData, dims: Dims, out_dims: list[Any], tag: object = None
) -> BatchedJvpRule:
    """The rule for batches."""
    return BatchedJvpRule(**_as_in(rule), inner=rule, axis=axis, dims=tuple(dims), out_dims=out_dims, tag=tag)


@dataclasses.dataclass(frozen=True, eq=False)
class PartOfJvpRule(JvpRule):
    """A rule of which some results are read: what only the others need is left out of what it computes."""

    inner: JvpRule
    used: tuple[bool, ...]

    def __call__(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any], PyTreeDef]:
        """The results that are read, and their tangents, as two lists."""
        return *self.in_jaxpr(primals, tangents), tree_structure([0] * sum(self.used))

    def _trace(self, avals: tuple[Any, ...], moving: tuple[bool, ...]) -> _TracedRule:
        jaxpr, zeros = self.inner.traced(avals, moving)
        of_tangents = [u for u, zero in zip(self.used, zeros, strict=True) if zero is None]
        left, _ = dce_jaxpr(jaxpr, [*self.used, *of_tangents], instantiate=True)
        return _TracedRule(left, tuple(compress(zeros, self.used)))


def part_of_rule(rule: JvpRule, used: tuple[bool, ...]) -> PartOfJvpRule:
    """The rule, of whose results only some are read."""
    return PartOfJvpRule(**_as_in(rule), inner=rule, used=used)


def _as_in(rule: JvpRule) -> dict[str, Any]:
    """The fields of a rule that is made of this one; but for what is known of its own results."""
    fields = {field.name: getattr(rule, field.name) for field in dataclasses.fields(JvpRule)}
    return {name: value for name, value in fields.items() if name not in ("results", "memo")}


def without_axis(aval: Any, dim: Any) -> Any:
    """The aval of one element of a batch along the axis `dim`."""
    return aval if dim is None else aval.update(shape=aval.shape[:dim] + aval.shape[dim + 1 :])


class SymbolicZero:
    """What a rule with `symbolic_zeros` gets as a tangent that is known to be zero: a shape and a dtype."""

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the zeros that there are not."""
        shape: tuple[int, ...] = self.aval.shape
        return shape

    @property
    def dtype(self) -> Any:
        """Of the zeros that there are not."""
        return self.aval.dtype

    @staticmethod
    def show(tangent: Any) -> Any:
        """A tangent, as the rule gets it."""
        return SymbolicZero(tangent.aval) if type(tangent) is Zero else tangent

    def __repr__(self) -> str:
        return "SymbolicZero"


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """A zero tangent for each leaf of a tree of values: an array, or, with `symbolic_zeros`, an object that says that it is zero."""

    def zero(x: Any) -> Any:
        tangent = zero_tangent(x)
        return SymbolicZero(tangent.aval) if symbolic_zeros else instantiate_zeros(tangent)

    return tree_map(zero, val)


def _check_tangents(avals: Sequence[Any], tangents: Sequence[Any]) -> None:
    pairs = []
    for aval, t in zip(avals, tangents, strict=True):
        expected, given = tangent_aval(aval), t.aval if type(t) is Zero else core.typeof(t)
        pairs.append((aval.strip_weak_type(), expected.strip_weak_type(), given.strip_weak_type()))
    different = [each for each in pairs if each[1] != each[2]]
    message = "Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes"
    if different and len(pairs) == 1:
        aval, expected, given = (x.str_short() for x in pairs[0])
        raise TypeError(f"{message}. Expected {expected} (tangent type of {aval}) but got {given}.")
    if different:
        listed = "\n".join(
            f"  primal {aval.str_short()} with tangent {given.str_short()}, expecting tangent {expected}"
            for aval, expected, given in different
        )
        raise TypeError(f"{message}, but got:\n{listed}")


custom_jvp_call_p = CustomCall("custom_jvp_call")


@custom_jvp_call_p.def_abstract_eval
def _(*avals: Any, call_jaxpr: Jaxpr, **params: Any) -> list[Any]:
    return call_jaxpr.out_avals


@mlir.register_lowering(custom_jvp_call_p)
def _(ctx: mlir.LoweringContext, *args: str, call_jaxpr: Jaxpr, **params: Any) -> list[str]:
    return ctx.lower_region(call_jaxpr, args)


@register_batcher(custom_jvp_call_p, even_unmapped=True)
def _(
    axis: AxisData,
    vals: Vals,
    dims: Dims,
    *,
    call_jaxpr: Jaxpr,
    jvp_jaxpr_fun: JvpRule,
    num_consts: int,
    **params: Any,
) -> Any:
    """The function is batched as a jaxpr, its rule when it is asked: tangents are batches where their values are."""
    on_batches, out_dims = batch_jaxpr(call_jaxpr, axis, dims)
    rule = batched_rule(jvp_jaxpr_fun, axis, dims[num_consts:], list(out_dims))
    outs = custom_jvp_call_p.bind(
        *vals, call_jaxpr=on_batches, jvp_jaxpr_fun=rule, num_consts=num_consts, **params
    )
    return outs, out_dims


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, jvp_jaxpr_fun: JvpRule, num_consts: int, **params: Any
) -> tuple[list[Any], list[Any]]:
    """What the rule says of the arguments; of values that the function closed over it knows nothing."""
    return jvp_jaxpr_fun.in_jaxpr(primals[num_consts:], tangents[num_consts:])


def _transpose(cts: Sequence[Any], *operands: Any, call_jaxpr: Jaxpr, **params: Any) -> list[Any]:
    """For a function of tangents that was called in another rule, and is linear."""
    return backward_pass(call_jaxpr, call_jaxpr.consts, operands, cts)


def _dce(used_results: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    return dce_of_call(used_results, eqn, "jvp_jaxpr_fun", part_of_rule)


def _partial_eval(trace: PartialTrace, *operands: Any, call_jaxpr: Jaxpr, **params: Any) -> list[Any]:
    """Where a part is computed now and a part later, of a derivative or of a loop, nobody will ask for the rule any more. Since
    JAX 0.12 the call stays one.
    """
    if since(0, 12):
        with core.set_current_trace(trace.tangents):
            outs: list[Any] = custom_jvp_call_p.bind(*operands, call_jaxpr=call_jaxpr, **params)
        return outs
    return eval_jaxpr(call_jaxpr, call_jaxpr.consts, *operands)


primitive_jvps[custom_jvp_call_p] = _jvp
partial_eval_rules[custom_jvp_call_p] = _partial_eval
dce_rules[custom_jvp_call_p] = _dce
primitive_transposes[custom_jvp_call_p] = _transpose


def _pp(eqn: JaxprEqn, context: Any, settings: Any) -> Any:
    """The function's name first, and its rule by name only."""
    params = {"name": eqn.params["call_jaxpr"].debug_info.func_name, "call_jaxpr": eqn.params["call_jaxpr"]}
    params["jvp"] = eqn.params["jvp_jaxpr_fun"]
    if eqn.params["num_consts"]:
        params["num_consts"] = eqn.params["num_consts"]
    params["symbolic_zeros"] = eqn.params["symbolic_zeros"]
    return jaxpr_printer.pp_eqn_plain(eqn, context, settings, params)


pp_eqn_rules[custom_jvp_call_p] = _pp


# --- the decorator ---------------------------------------------------------------------------------------------------


class custom_jvp:
    """Give a function a rule for its derivative: how a small change of the arguments changes the results.

        @custom_jvp
        def f(x, y):
            return jnp.sin(x) * y

        @f.defjvp
        def f_jvp(primals, tangents):
            (x, y), (dx, dy) = primals, tangents
            return f(x, y), jnp.cos(x) * dx * y + jnp.sin(x) * dy

    Args:
      fun: the function. Keyword arguments of a call are passed on by position.
      nondiff_argnums, nondiff_argnames: arguments that are not differentiated, and may be any Python values. The rule
        gets them before the other two.
    """

    __name__: str

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = numbers_of(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    __getattr__ = method_of_function

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule: `jvp(*nondiff_args, primals, tangents)` returns the results and their tangents.

        `primals` and `tangents` are tuples with an entry for each argument. With `symbolic_zeros`, a tangent that is
        known to be zero is passed as an object that says so. Returns `jvp`: this is a decorator, too.
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set the rule by parts, one for each argument: `jvp(tangent, result, *primals)` is what its tangent adds to
        the result's; None where that is nothing. TypeError with `nondiff_argnums`.
        """
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            out = self(*primals)
            parts = [
                part(tangent, out, *primals) if part else tree_map(zero_tangent, out)
                for tangent, part in zip(tangents, jvps, strict=False)
            ]
            total = tree_map(lambda *each: functools.reduce(add_tangents, each), *parts)
            return out, total

        self.defjvp(jvp)

    @traceback_util.api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; under a trace, record the call with the rule.

        AttributeError where there is no rule yet; TypeError for arguments that do not fit.
        """
        name, jvp = api_util.name_of(self.fun), self.jvp
        if jvp is None:
            raise AttributeError(f"No JVP defined for custom_jvp function {name} using defjvp.")
        args = by_position("custom_jvp", self.fun, args, kwargs)
        if core.current_trace() is None:
            leaves, out_tree = tree_flatten(self.fun(*args))
            return tree_unflatten(out_tree, leaves)  # in containers of its own, as under a trace
        statics = {i: tree_map(_undifferentiated, args[i]) for i in self.nondiff_argnums if i < len(args)}

        def rule(leaves: list[Any], in_tree: PyTreeDef) -> JvpRule:
            return JvpRule(name, jvp, tuple(statics.values()), in_tree, self.symbolic_zeros)

        return call_with_rule(self.fun, args, statics, rule, _WAYS, "custom_jvp fun")


def _record(
    rule: JvpRule, trace: core.Trace, fun: FlatFun, leaves: Sequence[Any], info: DebugInfo
) -> list[Any]:
    trace.note(leaves)
    jaxpr = partial_eval.trace_to_jaxpr(fun, [core.get_aval(x) for x in leaves], info)
    outs: list[Any] = custom_jvp_call_p.record(
        *jaxpr.consts,
        *leaves,
        call_jaxpr=convert_constvars_jaxpr(jaxpr),
        jvp_jaxpr_fun=rule,
        num_consts=len(jaxpr.consts),
        symbolic_zeros=rule.symbolic_zeros,
    )
    return outs


def _batched(rule: JvpRule, trace: BatchTrace, vals: Vals, dims: Dims, out_dims: list[Any]) -> JvpRule:
    return batched_rule(rule, trace.axis, dims, out_dims, trace.tag)


_WAYS = Ways(_batched, lambda rule, primals, tangents: rule(primals, tangents), _record)


def _undifferentiated(x: Any) -> Any:
    """A value that the rule does not differentiate: marked so, where it is traced."""
    return stop_gradient(x) if isinstance(x, Tracer) else x


solves.derivatives.custom_jvp = custom_jvp
