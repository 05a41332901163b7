"""function + tangents -> tangents

Derivatives, in three steps that are each a program of their own.

*Forward* (`jvp`). The function runs once, on pairs of a value and its tangent, which says how much the value changes
when the arguments change by theirs. Each operation has a rule for pairs (`ad_rules`), and `JVPTrace` asks for it. A
value without a tangent, a constant or a tracer of another trace, is left to the trace around.

*Linearise* (`ad_linearize`). Values are computed now, and tangents written down: what was multiplied by a tangent, the
residuals, is known, and what is left is a jaxpr that is linear in the tangents of the arguments.

*Transpose* (`ad_transpose`). A linear program is run backwards: from the cotangents of its results, what each of them
counts, follow those of its arguments. A value that was used twice gets two cotangents, which are added.

`grad` is the three of them. That is why there is no rule for the reverse direction of `sin`: there is one for pairs,
and a transpose of `mul`. Operations with jaxprs in them (`jit`, `cond`, `scan`) have rules that make a jaxpr of pairs,
or two jaxprs, of values and of tangents, and transpose the second.

The invariant of all traces here: a value belongs to the trace if its tracer says so, and is a constant otherwise; rules
run under the trace around. So derivatives nest: those of the inner are operations of the outer.

Real JAX adds references that are differentiated in place, types of a user's own with tangent types, and shardings.

JAX: jax/_src/interpreters/ad.py:JVPTrace
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

from .. import core
from ..base import late_rooms, missing_names
from ..core import Primitive, Trace, Tracer
from ..jaxpr import Jaxpr, jaxpr_as_fun, remembered
from ..runtime import array
from . import partial_eval
from .ad_rules import JvpRule, Zero, instantiate_zeros, is_float0, primitive_jvps, tangent_aval, zero_tangent
from .replaying import replayed

_RULES = "jitkit.interpreters.ad_rules"
late_rooms.hand_on(
    __name__, JVPTracer="jitkit.interpreters.ad:DualTracer",
    UndefinedPrimal=f"{_RULES}:UndefinedPrimal", add_tangents=f"{_RULES}:add_tangents", defbilinear=f"{_RULES}:defbilinear",
    defjvp=f"{_RULES}:defjvp_without_result", defjvp2=f"{_RULES}:defjvp",
    deflinear=f"{_RULES}:deflinear_without_operands", deflinear2=f"{_RULES}:deflinear",
    is_undefined_primal=f"{_RULES}:is_undefined", primitive_transposes=f"{_RULES}:primitive_transposes",
)  # fmt: skip


class DualTracer(Tracer):
    """A value with a tangent.

    Where the value is concrete, `if x > 0`, `int(x)`, `range(n)` and `x.item()` ask it. `float(x)` and `complex(x)` are refused, as
    they would drop the tangent without a word; what those others give has none.
    """

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: Trace, primal: Any, tangent: Any) -> None:
        super().__init__(trace, core.get_aval(primal))
        self.primal = primal
        self.tangent = tangent

    def to_concrete_value(self) -> Any:
        """The array behind all tangents, or None where the value is traced."""
        x: Any = self
        while isinstance(x, DualTracer):
            x = x.primal
        return None if isinstance(x, Tracer) else x

    def of_arrays(self) -> DualTracer:
        """The same, with an Array in the place of a number of Python's or numpy's; within another trace it stays what it is."""
        if self._trace.parent is not None or type(self.primal) is array.Array:
            return self
        return DualTracer(self._trace, array.as_array(self.primal), array.as_array(self.tangent))

    def __bool__(self) -> bool:
        x = self.to_concrete_value()
        return super().__bool__() if x is None else bool(x)

    def __int__(self) -> int:
        x = self.to_concrete_value()
        return super().__int__() if x is None else int(x)

    def __index__(self) -> int:
        x = self.to_concrete_value()
        return super().__index__() if x is None else operator.index(x)


class DualTrace(Trace):
    """What the two traces of derivatives share: values are pairs, and a constant's tangent is zero."""

    __slots__ = ()

    def pair(self, x: Any) -> tuple[Any, Any]:
        """A value as its primal and its tangent, which is a Zero for what is none of this trace."""
        if isinstance(x, DualTracer) and x._trace is self:
            return x.primal, x.tangent
        if isinstance(x, Tracer):
            partial_eval.check_lives(x)
        return x, zero_tangent(x)

    def pairs(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Values as a list of their primals and one of their tangents."""
        pairs = [self.pair(x) for x in values]
        return [primal for primal, _ in pairs], [tangent for _, tangent in pairs]

    def strip(self, x: Any) -> Any:
        """The value without its tangent."""
        return x.primal if isinstance(x, DualTracer) and x._trace is self else x

    def with_tangent(self, primal: Any, tangent: Any) -> Any:
        """A value for the function that is differentiated: bare, if it does not change."""
        return primal if type(tangent) is Zero or is_float0(tangent) else DualTracer(self, primal, tangent)

    def process_primitive(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """What an operation of the function becomes: its operands are of this trace, pairs of a value and a tangent, or not.

        Where no operand has a tangent (all are `Zero`), it is an operation of the trace around, `self.parent`, on the values. Else
        `self.differentiate` gives the results and their tangents, lists of them for a primitive of `multiple_results`, and
        each result is paired with its own (`with_tangent`).
        """
        primals, tangents = self.pairs(args)
        if all(type(t) is Zero for t in tangents):
            with core.set_current_trace(self.parent):
                return primitive.bind(*primals, **params)
        out, tangent = self.differentiate(primitive, primals, tangents, params)
        if primitive.multiple_results:
            return [self.with_tangent(x, t) for x, t in zip(out, tangent, strict=True)]
        return self.with_tangent(out, tangent)

    def differentiate(
        self, primitive: Primitive, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> tuple[Any, Any]:
        """The results of a primitive and their tangents, of which some are not Zero: by the rule for pairs."""
        return self.by_rule(jvp_rule(primitive), primitive.multiple_results, primals, tangents, params)

    def by_rule(
        self,
        rule: JvpRule,
        multiple_results: bool,
        primals: Sequence[Any],
        tangents: Sequence[Any],
        params: dict[str, Any],
    ) -> tuple[Any, Any]:
        """What a rule for pairs makes of values and tangents."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to use rules for pairs")

    def note(self, args: Sequence[Any]) -> Callable[[Any], Any] | None:
        """Pass on what the trace around wants to know."""
        if self.parent is not None:
            self.parent.note([self.strip(x) for x in args])
        return None


def jvp_rule(primitive: Primitive) -> JvpRule:
    """The rule for pairs; NotImplementedError where there is none."""
    if primitive not in primitive_jvps:
        raise NotImplementedError(f"Differentiation rule for '{primitive}' not implemented")
    return replayed(primitive, primitive_jvps[primitive])


# --- forward ----------------------------------------------------------------------------------------------------------


class JVPTrace(DualTrace):
    """The trace that computes tangents beside values."""

    __slots__ = ()

    @property
    def keeps_calls(self) -> bool:
        """As the trace around has it."""
        return self.parent is not None and self.parent.keeps_calls

    def note(self, args: Sequence[Any]) -> Callable[[Any], Any]:
        """Pass on what the trace around wants to know. A result that is one of the arguments is an Array, as from JAX, where the function
        is a jitted one.
        """
        super().note(args)
        return lambda out: out.of_arrays() if isinstance(out, DualTracer) and id(out) in map(id, args) else out

    def in_words(self) -> str:
        """The transformation's name."""
        return "jvp"

    def by_rule(
        self,
        rule: JvpRule,
        multiple_results: bool,
        primals: Sequence[Any],
        tangents: Sequence[Any],
        params: dict[str, Any],
    ) -> tuple[Any, Any]:
        """Run the rule under the trace around."""
        with core.set_current_trace(self.parent):
            return rule(primals, tangents, **params)


def jvp(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any], aux: list[Any] | None = None
) -> tuple[list[Any], list[Any]]:
    """Call `fun` once, on values with tangents; return its results, and their tangents, of which some may be Zero.

    It is called under a `JVPTrace` around which is the current trace. The trace ends when the call has, also by an error:
    whoever uses its tracers later is told so.

    Args:
      fun: takes values, and returns a list of them.
      primals, tangents: its arguments, and how each changes; Zero for one that does not.
      aux: a list into which `fun` may put more values. Those lose their tangents.
    """
    trace = JVPTrace(core.current_trace())
    try:
        with core.set_current_trace(trace):
            outs = fun(*[trace.with_tangent(x, t) for x, t in zip(primals, tangents, strict=True)])
        if aux is not None:
            aux[:] = map(trace.strip, aux)
        return trace.pairs(outs)
    finally:
        trace.end()


@remembered
def jvp_jaxpr(
    jaxpr: Jaxpr, nonzero: tuple[bool, ...], instantiate: tuple[bool, ...] | bool
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """The jaxpr of pairs: from the inputs, then the tangents of those that are `nonzero`, to the outputs, then those
    tangents of them that are not Zero; and which these are.

    Args:
      jaxpr: closed.
      nonzero: for each input, whether it has a tangent. The others do not change.
      instantiate: for each output, or for all of them, whether its tangent is to be an array in any case
        (`instantiate_zeros`), and then counts as not Zero.
    """
    count, avals = len(jaxpr.invars), jaxpr.in_avals
    always = (instantiate,) * len(jaxpr.outvars) if isinstance(instantiate, bool) else instantiate
    nonzero_out: list[bool] = []

    def pairs(*values: Any) -> list[Any]:
        tangents = with_zeros(values[count:], nonzero, avals)
        outs, out_tangents = jvp(jaxpr_as_fun(jaxpr), values[:count], tangents)
        made = [instantiate_zeros(t) if inst else t for t, inst in zip(out_tangents, always, strict=True)]
        nonzero_out.extend(type(t) is not Zero for t in made)
        return [*outs, *(t for t in made if type(t) is not Zero)]

    in_avals = [*avals, *(tangent_aval(aval) for aval, nz in zip(avals, nonzero, strict=True) if nz)]
    made = partial_eval.trace_to_jaxpr(pairs, in_avals, jaxpr.debug_info.with_unknown_names())
    return made, tuple(nonzero_out)


def with_zeros(tangents: Sequence[Any], nonzero: Sequence[bool], avals: Sequence[Any]) -> list[Any]:
    """A tangent for each value of these types, from those that are `nonzero`."""
    given = iter(tangents)
    return [next(given) if nz else Zero(tangent_aval(aval)) for nz, aval in zip(nonzero, avals, strict=True)]


missing_names.explain("interpreters.ad", sys.modules[__name__])
