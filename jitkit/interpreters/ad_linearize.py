"""function + values -> values + a linear jaxpr

To linearise, run the function on its primals, and record the operations on tangents as a jaxpr that is linear in the
tangents of the arguments. Its constants are the residuals: computed values by which tangents are multiplied.

A JVP rule (`ad_rules`) has operations on primals and on tangents. It runs under a `PartialTrace`, which separates them:
an operation without a tangent is done now, under the outer trace; any other is recorded. So `mul(t, cos(x))` computes
`cos(x)` now, and records one multiplication.

A jaxpr is linearised to two (`linearize_jaxpr`): the first computes results and residuals, the second tangents. If a
residual is an input of the first jaxpr, that jaxpr does not return it: the caller passes the input on (it is
*forwarded*).

JAX: jax/_src/interpreters/ad.py:LinearizeTrace
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, ClassVar, NamedTuple

from .. import core
from ..base.jax_version import since
from ..core import Primitive, Trace
from ..jaxpr import (
    DebugInfo,
    Jaxpr,
    JaxprEqn,
    Var,
    convert_constvars_jaxpr,
    dce_jaxpr,
    dce_rules,
    in_order_of_need,
    jaxpr_as_fun,
    remembered,
)
from .ad import DualTrace, DualTracer
from .ad_rules import JvpRule, Zero, instantiate_zeros, is_float0, tangent_aval, unless_float0, zero_tangent
from .partial_eval import DynamicJaxprTrace, DynamicJaxprTracer, empty_name_stack

# The linearisation of one operation: its results, and a function from the tangents of its operands (some may be Zero)
# to the tangents of its results, which is called under the trace that records tangents.
Linearized = tuple[Any, Callable[..., Any]]
LinearizeRule = Callable[..., Linearized]
# rule(nonzero, *primals, **params), for primitives that are not linearised through their JVP rule.
linearize_rules: dict[Primitive, LinearizeRule] = {}
# rule(trace, *operands, **params) -> results, for primitives that can compute some results now although an operand is a
# tangent
partial_eval_rules: dict[Primitive, Callable[..., Any]] = {}


class LinearizeTracer(DualTracer):
    """A pair whose tangent is recorded, so that it has a type and no value. As in JAX it is printed as a GradTracer."""

    __slots__ = ()

    def __repr__(self) -> str:
        tangent = core.get_aval(self.tangent).str_short(short_dtypes=True)
        return f"GradTracer(primal={self.primal!s}, typeof(tangent)={tangent})"


class LinearizeTrace(DualTrace):
    """The trace that computes primals, and records operations on tangents in another trace, `tangents`."""

    __slots__ = ("tangents",)

    tracer: ClassVar[type[DualTracer]] = LinearizeTracer

    def __init__(self, parent: Trace | None, tangents: DynamicJaxprTrace) -> None:
        super().__init__(parent)
        self.tangents = tangents

    @property
    def keeps_calls(self) -> bool:
        """Whether the call of a library function stays one operation: True if no outer trace records equations, or since JAX 0.12.
        The called function then adds up the cotangents of each of its arguments.
        """
        return self.writer is None or since(0, 12)

    def in_words(self) -> str:
        """Return the names of the transformations that use this trace."""
        return "grad or linearize"

    def new_arg(self, primal: Any, tangent: Any) -> Any:
        """Return an argument of the function: a pair of `primal` and a new, recorded tangent of the aval `tangent`; for
        an integer, which has no tangent, the primal alone.
        """
        recorded = self.tangents.new_arg(tangent)
        return primal if is_float0(recorded) else self.with_tangent(primal, recorded)

    def with_tangent(self, primal: Any, tangent: Any) -> Any:
        """Return a tracer for the pair, or the primal alone if the tangent is a Zero. A recorded float0, such as the
        tangent of an integer that a `custom_vjp` function returns, stays: its `bwd` must be called.
        """
        return primal if type(tangent) is Zero else self.tracer(self, primal, tangent)

    def differentiate(
        self, primitive: Primitive, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> tuple[Any, Any]:
        """Return results and tangents, by the primitive's linearize rule, or else by its JVP rule."""
        rule = linearize_rules.get(primitive)
        if rule is None:
            return self._by_jvp_rule(primitive, primals, tangents, params)
        with core.set_current_trace(self.parent):
            out, linear = rule([type(t) is not Zero for t in tangents], *primals, **params)
        with core.set_current_trace(self.tangents):
            return out, linear(*tangents)

    def _by_jvp_rule(
        self, primitive: Primitive, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> tuple[Any, Any]:
        """Return results and tangents by the JVP rule, with a Zero in place of each float0."""
        tangents = list(map(unless_float0, tangents))
        if any(type(t) is not Zero for t in tangents):
            return super().differentiate(primitive, primals, tangents, params)
        with core.set_current_trace(self.parent):
            out = primitive.bind(*primals, **params)
        return out, list(map(zero_tangent, out)) if primitive.multiple_results else zero_tangent(out)

    def by_rule(
        self,
        rule: JvpRule,
        multiple_results: bool,
        primals: Sequence[Any],
        tangents: Sequence[Any],
        params: dict[str, Any],
    ) -> tuple[Any, Any]:
        """Return results and tangents by a JVP rule under a `PartialTrace`, with a Zero for a tangent that depends on
        no operand's tangent. Raise ValueError if the rule computes a result from tangents.
        """
        trace = PartialTrace(self.parent, self.tangents)
        with core.set_current_trace(trace):
            out, tangent = rule(primals, tangents, **params)
        if any(map(trace.is_tangent, out if multiple_results else [out])):
            raise ValueError(
                "Linearization failed to produce known values for all output primals. This is typically caused by "
                "attempting to differentiate a function uses an operation that does not support reverse-mode autodiff."
            )
        if multiple_results:
            return out, [trace.unless_known(x, t) for x, t in zip(out, tangent, strict=True)]
        return out, trace.unless_known(out, tangent)


class PartialTrace(Trace):
    """The trace of a JVP rule: records operations on tangents, and does the others now."""

    __slots__ = ("tangents",)

    splits = True

    def __init__(self, parent: Trace | None, tangents: DynamicJaxprTrace) -> None:
        super().__init__(parent)
        self.tangents = tangents

    def is_tangent(self, x: Any) -> bool:
        """Return whether x is an unknown tangent."""
        return type(x) is DynamicJaxprTracer and x._trace is self.tangents

    def unless_known(self, primal: Any, tangent: Any) -> Any:
        """Return the tangent that a rule computed, or a Zero if it depends on no operand's tangent."""
        return tangent if self.is_tangent(tangent) else zero_tangent(primal)

    def process_primitive(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Return the results of one operation of a JVP rule. If no operand is a tangent, bind it now under the outer trace,
        `self.parent`; else record it (`self.write_down`), since tangents have no values yet.
        """
        if any(map(self.is_tangent, args)):
            return self.write_down(primitive, args, params)
        with core.set_current_trace(self.parent):
            return primitive.bind(*args, **params)

    def write_down(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Record an operation on tangents; return its results. If the primitive has a rule in `partial_eval_rules` or
        `dce_rules`, results that depend on no tangent are computed now.
        """
        if primitive in partial_eval_rules:
            return partial_eval_rules[primitive](self, *args, **params)
        with core.set_current_trace(self.tangents):
            written = primitive.bind(*args, **params)
        if primitive in dce_rules:
            return [
                x if k is None else k for x, k in zip(written, self._known_part(primitive, args, params), strict=True)
            ]
        return written

    def _known_part(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> list[Any]:
        """Compute now the results of an operation, such as a loop, that depend on no tangent. Return a list with them,
        and None for the others.
        """
        invars = [Var(core.get_aval(x)) for x in args]
        outvars = [Var(aval) for aval in primitive.abstract_eval(*[v.aval for v in invars], **params)]
        eqn = JaxprEqn(list(invars), outvars, primitive, params)
        rule, count = dce_rules[primitive], len(outvars)
        unknown = [self.is_tangent(x) for x in args]

        def needs_tangents(wanted: list[bool]) -> bool:
            return any(u and needed for u, needed in zip(unknown, rule(wanted, eqn)[0], strict=True))

        known = [not needs_tangents([i == k for k in range(count)]) for i in range(count)]
        needed, rest = rule(known, eqn)
        if rest is None:
            return [None] * count
        with core.set_current_trace(self.parent):
            values = iter(rest.primitive.bind(*compress(args, needed), **rest.params))
        return [next(values) if k else None for k in known]

    def note(self, args: Sequence[Any]) -> None:
        """Call the outer trace's `note` with the arguments of a library function that are not tangents."""
        if self.parent is not None:
            self.parent.note([x for x in args if not self.is_tangent(x)])


# --- functions --------------------------------------------------------------------------------------------------------


class LinearProgram(NamedTuple):
    """The linear part of a linearised function: a closed jaxpr from the tangents of the arguments to the nonzero
    tangents of the results. `nonzero` says for each result whether its tangent is among them.
    """

    jaxpr: Jaxpr
    nonzero: tuple[bool, ...]


def linearize(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], debug_info: DebugInfo, aux: list[Any] | None = None
) -> tuple[list[Any], LinearProgram]:
    """Call `fun` once on primals, and record what it does to tangents.

    It takes two traces inside of the current one: a `DynamicJaxprTrace` for tangents, and a `LinearizeTrace` for the
    function. The function's arguments are pairs of a primal and a tangent, which is a new argument of the first trace
    (`trace.new_arg(value, type of its tangent)`). `finish` makes the program from the recorded equations. End both
    traces when the call ends, also by an error.

    Args:
      fun: takes values, and returns a list of them.
      primals: its arguments.
      debug_info: names for the program.
      aux: a list into which `fun` may put more values. They lose their tangents.

    Returns:
      The results of `fun`, and the program for tangents.
    """
    parent = core.current_trace()
    tangent_trace = DynamicJaxprTrace(parent, debug_info)
    trace = LinearizeTrace(parent, tangent_trace)
    try:
        tracers = [trace.new_arg(x, tangent_aval(core.get_aval(x))) for x in primals]
        with core.set_current_trace(trace):
            outs, tangents = trace.pairs(fun(*tracers))
        if aux is not None:
            aux[:] = map(trace.strip, aux)
        return outs, finish(tangent_trace, tangents, debug_info)
    finally:
        trace.end()
        tangent_trace.end()


def finish(trace: DynamicJaxprTrace, tangents: Sequence[Any], debug_info: DebugInfo) -> LinearProgram:
    """Return the linear program: the recorded equations, without dead code, that compute the tangents that are not Zero."""
    written = trace.to_jaxpr([t for t in tangents if type(t) is not Zero], debug_info.with_unknown_names())
    jaxpr, _ = dce_jaxpr(written, True, instantiate=True)
    return LinearProgram(jaxpr, tuple(type(t) is not Zero for t in tangents))


# --- jaxprs -----------------------------------------------------------------------------------------------------------


class LinearizedJaxpr(NamedTuple):
    """The two halves of a jaxpr. `primal` returns its outputs, then `num_residuals` residuals. `tangent` takes all
    residuals and the tangents of the nonzero inputs, and returns the tangents of the `nonzero` outputs. `forwarded` has
    for each residual its number among the jaxpr's consts and inputs, or None if `primal` returns it.
    """

    primal: Jaxpr
    num_residuals: int
    nonzero: tuple[bool, ...]
    forwarded: tuple[int | None, ...]
    tangent: Jaxpr

    def residuals(self, sources: Sequence[Any], computed: Sequence[Any]) -> list[Any]:
        """Return all residuals: the forwarded ones from `sources` (the consts and inputs), the others from `computed`."""
        rest = iter(computed)
        return [next(rest) if i is None else sources[i] for i in self.forwarded]


@remembered
def linearize_jaxpr(
    jaxpr: Jaxpr,
    nonzero: tuple[bool, ...],
    instantiate: tuple[bool, ...] | bool = False,
    forward: tuple[bool, ...] | bool = True,
) -> LinearizedJaxpr:
    """Linearise a jaxpr: return two jaxprs, one for its results and residuals, and one for tangents.

    `nonzero` says which inputs have a tangent, `instantiate` which outputs get one even if it is Zero, and `forward`
    which consts and inputs may be forwarded as residuals.
    """
    info = jaxpr.debug_info
    primal_trace = DynamicJaxprTrace(core.current_trace(), info)
    tangent_trace = DynamicJaxprTrace(primal_trace, info)
    trace = LinearizeTrace(primal_trace, tangent_trace)
    always = (instantiate,) * len(jaxpr.outvars) if isinstance(instantiate, bool) else instantiate
    try:
        inputs = [primal_trace.new_arg(aval) for aval in jaxpr.in_avals]
        tracers = [
            trace.with_tangent(x, tangent_trace.new_arg(tangent_aval(x.aval))) if nz else x
            for x, nz in zip(inputs, nonzero, strict=True)
        ]
        with core.set_current_trace(trace), empty_name_stack():
            outs, tangents = trace.pairs(jaxpr_as_fun(jaxpr)(*tracers))
            tangents = [instantiate_zeros(t) if i else t for t, i in zip(tangents, always, strict=True)]
        sources = [*jaxpr.consts, *inputs]
        may = (forward,) * len(sources) if isinstance(forward, bool) else forward
        allowed = {id(x): i for i, (x, allowed) in enumerate(zip(sources, may, strict=True)) if allowed}
        return _two_jaxprs(primal_trace, tangent_trace, outs, tangents, allowed, info, prune=True)
    finally:
        for each in (trace, tangent_trace, primal_trace):
            each.end()


def _two_jaxprs(
    first: DynamicJaxprTrace,
    second: DynamicJaxprTrace,
    outs: Sequence[Any],
    tangents: Sequence[Any],
    sources: dict[int, int],
    info: DebugInfo,
    prune: bool,
) -> LinearizedJaxpr:
    """Make two jaxprs from two traces. The first returns `outs` and the residuals: the values of the first trace that
    the second reads, except for consts and inputs (`sources`: id -> number). `prune` removes dead code in the first.
    """
    written, nonzero = finish(second, tangents, info)
    if not prune:
        written = in_order_of_need(written)
    forwarded = tuple(sources.get(id(x)) for x in written.consts)
    residuals = [x for x, place in zip(written.consts, forwarded, strict=True) if place is None]
    computed = first.to_jaxpr([*outs, *residuals], info.with_unknown_names())
    primal = dce_jaxpr(computed, True, instantiate=True)[0] if prune else computed
    return LinearizedJaxpr(primal, len(residuals), nonzero, forwarded, convert_constvars_jaxpr(written))


@remembered
def split_jaxpr(
    jaxpr: Jaxpr, unknown: tuple[bool, ...], instantiate: tuple[bool, ...] = (), forward: tuple[bool, ...] | bool = True
) -> LinearizedJaxpr:
    """Split a jaxpr with `unknown` inputs in two. The first (`primal`) goes from the known inputs to the known outputs
    and the residuals, the second (`tangent`) from the residuals and the unknown inputs to the unknown outputs, which
    `nonzero` marks.

    `instantiate` says which outputs to treat as unknown, `forward` which consts and inputs may be forwarded as
    residuals. The numbers in `forwarded` count the consts, then the known inputs.
    """
    info = jaxpr.debug_info
    known_trace = DynamicJaxprTrace(core.current_trace(), info)
    unknown_trace = DynamicJaxprTrace(known_trace, info)
    trace = PartialTrace(known_trace, unknown_trace)
    try:
        inputs = [
            (unknown_trace if u else known_trace).new_arg(aval) for aval, u in zip(jaxpr.in_avals, unknown, strict=True)
        ]
        with core.set_current_trace(trace), empty_name_stack():
            outs = jaxpr_as_fun(jaxpr)(*inputs)
        always = instantiate or (False,) * len(outs)
        is_later = [inst or trace.is_tangent(x) for x, inst in zip(outs, always, strict=True)]
        known = [x for x, after in zip(outs, is_later, strict=True) if not after]
        later = [x if after else zero_tangent(x) for x, after in zip(outs, is_later, strict=True)]
        values = [x for x in [*jaxpr.consts, *inputs] if not trace.is_tangent(x)]
        may = (forward,) * (len(jaxpr.consts) + len(inputs)) if isinstance(forward, bool) else forward
        allowed = {id(x) for x, allowed in zip([*jaxpr.consts, *inputs], may, strict=True) if allowed}
        sources = {id(x): i for i, x in enumerate(values) if id(x) in allowed}
        return _two_jaxprs(known_trace, unknown_trace, known, later, sources, info, prune=False)
    finally:
        for each in (trace, unknown_trace, known_trace):
            each.end()
