"""function + tangents -> tangents

Derivatives take three steps, each a transformation of its own.

*Forward* (`jvp`). The function runs once, on pairs of a primal and its tangent: how much the primal changes when the
arguments change by their tangents. `JVPTrace` calls the JVP rule of each operation (`ad_rules`). If no operand has a
tangent (constants, tracers of another trace), the operation is left to the outer trace.

*Linearise* (`ad_linearize`). Primals are computed now, and operations on tangents are recorded. The values that
tangents are multiplied by, the residuals, are known, so the recorded jaxpr is linear in the arguments' tangents.

*Transpose* (`ad_transpose`). A linear program is run backwards, from the cotangents of its results to the cotangents of
its arguments. A value that was used twice gets two cotangents, which are added.

`grad` does all three. So `sin` needs no reverse-mode rule: it has a JVP rule, and `mul` has a transpose rule.
Operations with jaxprs in them (`jit`, `cond`, `scan`) have rules that make a jaxpr of primals and tangents, or two
jaxprs, and transpose the second.

The invariant of all traces here: a value belongs to the trace if its tracer says so, and is a constant otherwise; rules
run under the outer trace. So derivatives nest: the outer one differentiates the operations of the inner one's rules.

Real JAX adds references that are differentiated in place, types of a user's own with tangent types, and shardings.

JAX: jax/_src/interpreters/ad.py:JVPTrace
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, cast

import numpy as np

from .. import core
from ..base import config, late_rooms, missing_names
from ..core import Primitive, Trace, Tracer
from ..jaxpr import Jaxpr, jaxpr_as_fun, remembered
from ..runtime import array
from . import partial_eval
from .ad_rules import JvpRule, Zero, instantiate_zeros, is_float0, primitive_jvps, tangent_aval, zero_tangent
from .replaying import replayed

_RULES = "jitkit.interpreters.ad_rules"
late_rooms.hand_on(
    __name__, LinearizeTracer="jitkit.interpreters.ad_linearize:LinearizeTracer",
    UndefinedPrimal=f"{_RULES}:UndefinedPrimal", add_tangents=f"{_RULES}:add_tangents", defbilinear=f"{_RULES}:defbilinear",
    defjvp=f"{_RULES}:defjvp_without_result", defjvp2=f"{_RULES}:defjvp",
    deflinear=f"{_RULES}:deflinear_without_operands", deflinear2=f"{_RULES}:deflinear",
    is_undefined_primal=f"{_RULES}:is_undefined", primitive_transposes=f"{_RULES}:primitive_transposes",
)  # fmt: skip


class DualTracer(Tracer):
    """A primal with its tangent.

    If the primal is concrete, `if x > 0`, `int(x)`, `range(n)` and `x.item()` use it: their results have no tangent.
    `float(x)` and `complex(x)` are refused, since they would silently drop the tangent.
    """

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: Trace, primal: Any, tangent: Any) -> None:
        super().__init__(trace, core.get_aval(primal))
        self.primal = primal
        self.tangent = tangent

    def to_concrete_value(self) -> Any:
        """Return the innermost primal, or None if it is traced."""
        x: Any = self
        while isinstance(x, DualTracer):
            x = x.primal
        return None if isinstance(x, Tracer) else x

    def converted(self) -> DualTracer:
        """Return the pair with Arrays in place of Python's or numpy's numbers; within another trace, return the pair itself."""
        if self._trace.parent is not None or type(self.primal) is type(self.tangent) is array.Array:
            return self
        return type(self)(self._trace, *(array.as_array(_as_before(self, x)) for x in (self.primal, self.tangent)))

    def __bool__(self) -> bool:
        x = self.to_concrete_value()
        return super().__bool__() if x is None else bool(x)

    def __int__(self) -> int:
        x = self.to_concrete_value()
        return super().__int__() if x is None else int(x)

    def __index__(self) -> int:
        x = self.to_concrete_value()
        return super().__index__() if x is None else operator.index(x)


class JVPTracer(DualTracer):
    """A pair whose tangent is computed beside the primal."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"JVPTracer(primal={self.primal!s}, tangent={self.tangent!s})"

    def converted(self) -> DualTracer:
        """Return the pair converted to its own type, a conversion that JAX does not skip. A pair with a traced primal
        stays as it is. If the primal is known, numbers become Arrays, and the tangent gets the primal's weak type.
        """
        if self.to_concrete_value() is None:
            return self
        pair, trace = super().converted(), cast(JVPTrace, self._trace)
        return type(self)(trace, pair.primal, trace.as_weak_as(pair.aval, pair.tangent))


def _as_before(x: Any, part: Any) -> Any:
    """Return `part`, the primal or tangent of x. If it is a Python or numpy number, and x64 mode was switched since x
    was made, return it as an array with the dtype of x.
    """
    is_number = isinstance(x, DualTracer) and not isinstance(part, Tracer | Zero)
    return array.from_host(part, x.aval) if is_number and core.get_aval(part).dtype != x.aval.dtype else part


class DualTrace(Trace):
    """The base of `JVPTrace` and `LinearizeTrace`: values are pairs of primal and tangent; a constant's tangent is zero."""

    __slots__ = ("x64",)

    tracer: ClassVar[type[DualTracer]] = JVPTracer

    def __init__(self, parent: Trace | None) -> None:
        super().__init__(parent)
        self.x64 = config.x64()

    def pair(self, x: Any) -> tuple[Any, Any]:
        """Return the primal and the tangent of a value; the tangent of a value that is not of this trace is a Zero."""
        if isinstance(x, DualTracer) and x._trace is self:
            return x.primal, x.tangent
        if isinstance(x, Tracer):
            partial_eval.check_lives(x)
            return x, Zero(tangent_aval(x.aval))
        return x, zero_tangent(x)

    def pairs(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return a list of the primals, and a list of the tangents."""
        primals, tangents = [], []
        for x in values:
            primal, tangent = self.pair(x)
            primals.append(primal)
            tangents.append(tangent)
        if config.x64() is not self.x64:
            return list(map(_as_before, values, primals)), list(map(_as_before, values, tangents))
        return primals, tangents

    def strip(self, x: Any) -> Any:
        """Return the primal of a pair of this trace; return any other value unchanged."""
        return x.primal if isinstance(x, DualTracer) and x._trace is self else x

    def with_tangent(self, primal: Any, tangent: Any) -> Any:
        """Return a tracer for the pair, or the primal alone if the tangent is a Zero or a float0."""
        return primal if type(tangent) is Zero or is_float0(tangent) else self.tracer(self, primal, tangent)

    def process_primitive(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Return the results of one operation, with their tangents. Operands are tracers of this trace, pairs of a primal and
        a tangent, or values that do not change.

        If all tangents are `Zero`, bind the primitive on the primals under the outer trace, `self.parent`. Otherwise
        `self.differentiate` gives the results and their tangents (lists for a primitive of `multiple_results`);
        pair each result with its tangent (`with_tangent`).
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
        """Return the results of a primitive and their tangents by its JVP rule. Some tangent is not Zero."""
        return self.by_rule(jvp_rule(primitive), primitive.multiple_results, primals, tangents, params)

    def by_rule(
        self,
        rule: JvpRule,
        multiple_results: bool,
        primals: Sequence[Any],
        tangents: Sequence[Any],
        params: dict[str, Any],
    ) -> tuple[Any, Any]:
        """Return the results and their tangents, by a JVP rule. Subclasses define this method; here it raises NotImplementedError."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to use JVP rules")

    def note(self, args: Sequence[Any]) -> Callable[[Any], Any] | None:
        """Call the outer trace's `note` with the primals of a library function's arguments. Return None."""
        if self.parent is not None:
            self.parent.note([self.strip(x) for x in args])
        return None


def jvp_rule(primitive: Primitive) -> JvpRule:
    """Return the JVP rule of a primitive; raise NotImplementedError if it has none."""
    if primitive not in primitive_jvps:
        raise NotImplementedError(f"Differentiation rule for '{primitive}' not implemented")
    return replayed(primitive, primitive_jvps[primitive])


# --- forward ----------------------------------------------------------------------------------------------------------


class JVPTrace(DualTrace):
    """The trace that computes tangents beside primals."""

    __slots__ = ()

    @property
    def keeps_calls(self) -> bool:
        """Whether the call of a library function stays one operation: as in the outer trace; without one, True."""
        return self.parent is None or bool(self.parent.keeps_calls)

    def note(self, args: Sequence[Any]) -> Callable[[Any], Any]:
        """Call the outer trace's `note` with the primals of a library function's arguments, and give each tangent the
        weak type of its primal. Return a function to call with the library function's result, which undoes this change.
        It returns the result with Arrays in place of Python and numpy numbers: in JAX the function is jitted, so it
        returns new Arrays.
        """
        super().note(args)
        parts = [part for x in args for part in (x if isinstance(x, list | tuple) else (x,))]
        mine = [x for x in parts if type(x) is JVPTracer and x._trace is self]
        changed = [(x, x.tangent) for x in mine if core.get_aval(x.tangent).weak_type != x.aval.weak_type]
        for x, tangent in changed:
            x.tangent = self.as_weak_as(x.aval, tangent)
        within = bool(changed) and self.is_within_a_trace()
        given = {id(x.tangent): tangent if within else x.tangent for x, tangent in changed}

        def finish(out: Any) -> Any:
            if type(out) is JVPTracer and id(out.tangent) in given:  # the result has the tangent of an argument
                out = JVPTracer(out._trace, out.primal, given[id(out.tangent)])
            for x, tangent in changed:
                x.tangent = tangent
            return DualTracer.converted(out) if isinstance(out, DualTracer) else out

        return finish

    def as_weak_as(self, aval: Any, tangent: Any) -> Any:
        """Return the tangent with the weak type of `aval`, without recording an equation. Within an outer trace, a
        number becomes a Python or numpy number, which is written as a literal; an array would become a constant.

        Return the tangent unchanged if it is a batch, an array within an outer trace, or an array that is committed to a
        device.
        """
        if isinstance(tangent, DualTracer):
            return type(tangent)(tangent._trace, self.as_weak_as(aval, tangent.primal), tangent.tangent)
        known = core.get_aval(tangent).update(weak_type=aval.weak_type)
        if type(tangent) is partial_eval.DynamicJaxprTracer:
            return partial_eval.DynamicJaxprTracer(tangent._trace, known, tangent.atom, tangent.source_info)
        if isinstance(tangent, Tracer):
            return tangent
        if self.is_within_a_trace():
            return as_number(known, tangent)
        x = array.as_array(tangent)
        known = x.aval.update(weak_type=aval.weak_type)
        # an array that is committed to a device (its key is not its aval) keeps its type
        return array.Array(x._buf, known, known) if x._key is x.aval else x

    def is_within_a_trace(self) -> bool:
        """Return whether an outer trace other than a JVPTrace is active: it would record an array that is made here as a constant."""
        outer = self.parent
        while isinstance(outer, JVPTrace):
            outer = outer.parent
        return outer is not None

    def in_words(self) -> str:
        """Return the transformation's name."""
        return "jvp"

    def by_rule(
        self,
        rule: JvpRule,
        multiple_results: bool,
        primals: Sequence[Any],
        tangents: Sequence[Any],
        params: dict[str, Any],
    ) -> tuple[Any, Any]:
        """Return the results and their tangents: run the rule under the outer trace."""
        with core.set_current_trace(self.parent):
            return rule(primals, tangents, **params)


def as_number(aval: Any, x: Any) -> Any:
    """Return the number x as a Python number if the aval is weak, else as a numpy scalar. Return x itself if it is an
    array, or if the Python number would have another dtype.
    """
    value = partial_eval.literal_form(x)
    if value is None:
        return x
    number = np.asarray(value, aval.dtype)[()]
    return number if not aval.weak_type else number.item() if core.get_aval(number.item()).dtype == aval.dtype else x


def jvp(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any], aux: list[Any] | None = None
) -> tuple[list[Any], list[Any]]:
    """Call `fun` once, on primals with tangents; return its results and their tangents, some of which may be Zero.

    `fun` is called under a `JVPTrace` inside of the current trace. End that trace when the call ends, also by an error, so
    that later use of its tracers is an error.

    Args:
      fun: takes values, and returns a list of them.
      primals, tangents: its arguments, and how each changes; Zero for one that does not.
      aux: a list into which `fun` may put more values. They lose their tangents.
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
    """Return the JVP of a jaxpr: its inputs are the primals, then the tangents of the `nonzero` inputs; its outputs are
    the primals, then the tangents that are not Zero. Also return, for each output, whether it has a tangent.

    Args:
      jaxpr: with a value for each of its constants (`consts`).
      nonzero: for each input, whether it has a tangent. The others do not change.
      instantiate: for each output, or for all, whether a Zero tangent becomes an array (`instantiate_zeros`), and so
        counts as nonzero.
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
    """Return a tangent for each aval: the next of `tangents` where `nonzero` is True, else a Zero."""
    given = iter(tangents)
    return [next(given) if nz else Zero(tangent_aval(aval)) for nz, aval in zip(nonzero, avals, strict=True)]


missing_names.explain("interpreters.ad", sys.modules[__name__])
