"""function + some known values -> its results: values where known, and a jaxpr for the rest

Operations whose operands are all known are done immediately, in the outer trace; the others are recorded. A loop or a
jitted function is one operation here: all its results are unknown if one operand is. (JAX looks inside.)

Libraries with interpreters of their own call `trace_to_jaxpr_nounits` for this, or `trace_to_jaxpr_dynamic`, where all
values are unknown.

JAX: jax/_src/interpreters/partial_eval.py:trace_to_jaxpr_nounits
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import core
from ..core import Primitive, Trace
from ..jaxpr import DebugInfo, Jaxpr, Literal, Var, pruning
from ..jaxpr.language import selected
from .partial_eval import (
    DynamicJaxprTrace,
    DynamicJaxprTracer,
    check_results,
    empty_name_stack,
    literal_form,
    trace_to_jaxpr,
)

JaxprTracer = DynamicJaxprTracer  # JAX's name for the tracers of unknown values


class PartialVal(tuple[Any, Any]):
    """A known value, `(None, value)`, or an unknown one of known type, `(aval, None)`."""

    @classmethod
    def known(cls, value: Any) -> PartialVal:
        """Return a known value."""
        return cls((None, value))

    @classmethod
    def unknown(cls, aval: Any) -> PartialVal:
        """Return an unknown value of this type."""
        return cls((aval, None))

    def is_known(self) -> bool:
        """Return whether the value is known."""
        return self[0] is None


class _PartialTrace(DynamicJaxprTrace):
    """A trace that records the operations that depend on an unknown argument, and does all others immediately."""

    __slots__ = ()

    def __init__(self, parent: Trace | None, debug_info: DebugInfo) -> None:
        super().__init__(parent, debug_info)
        # operations on known values are recorded by the outer trace, if at all
        self.writer = None if parent is None else parent.writer

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Bind the primitive in the outer trace if no operand is a tracer of this trace; else record an equation."""
        if any(_is_of(self, x) for x in args):
            return super().process_primitive(primitive, args, params)
        with core.set_current_trace(self.parent):
            return primitive.bind(*args, **params)

    def lift(self, x: Any) -> Var | Literal:
        """Return the atom for a value that is not a tracer of this trace. If the outer trace records, a numpy scalar becomes a
        literal of the outer trace, and a constant of this one. So the jaxpr of this trace takes it as an operand, as in JAX.
        """
        if isinstance(x, np.generic) and isinstance(self.writer, DynamicJaxprTrace):
            return super().lift(self.writer.literal(literal_form(x), core.get_aval(x)))
        return super().lift(x)


def _is_of(trace: _PartialTrace, x: Any) -> bool:
    return type(x) is DynamicJaxprTracer and x._trace is trace


def trace_to_jaxpr_nounits(
    fun: Any, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[PartialVal], Sequence[Any]]:
    """Call `fun` (a wrapped function, as `linear_util` makes them) on flat arguments, some of which are known. Return a
    jaxpr from the unknown arguments to the unknown results, a PartialVal for each result, and the jaxpr's constants. A
    result that `instantiate` marks counts as unknown.
    """
    debug_info = getattr(fun, "debug_info", None) or DebugInfo("trace_to_jaxpr_nounits", "fun")
    return trace_the_rest(fun.call_wrapped, pvals, debug_info, instantiate)


def trace_the_rest(
    fun: Callable[..., Sequence[Any]],
    pvals: Sequence[PartialVal],
    debug_info: DebugInfo,
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Jaxpr, list[PartialVal], Sequence[Any]]:
    """Do what `trace_to_jaxpr_nounits` does, for a function that is not wrapped. Raise TypeError for a result that is not an array."""
    trace = _PartialTrace(core.current_trace(), debug_info)
    try:
        with core.set_current_trace(trace), empty_name_stack():
            outs = fun(*[value if aval is None else trace.new_arg(aval) for aval, value in pvals])
            check_results(outs, debug_info)
            asked = instantiate if isinstance(instantiate, Sequence) else [instantiate] * len(outs)
            outs = [trace.to_tracer(x) if ask else x for x, ask in zip(outs, asked, strict=True)]
            unknown = [x for x in outs if _is_of(trace, x)]
            jaxpr = trace.to_jaxpr(unknown, debug_info)
        found = [PartialVal.unknown(x.aval) if _is_of(trace, x) else PartialVal.known(x) for x in outs]
    finally:
        trace.end()
    return jaxpr, found, jaxpr.consts


def trace_to_jaxpr_dynamic(fun: Any, in_avals: Sequence[Any]) -> tuple[Jaxpr, list[Any], Sequence[Any]]:
    """Call a wrapped function of flat lists on tracers of these avals. Return the jaxpr, its outputs' avals, and the
    values of its constvars.
    """
    debug_info = getattr(fun, "debug_info", None) or DebugInfo("trace_to_jaxpr_dynamic", "fun")
    jaxpr = trace_to_jaxpr(fun.call_wrapped, in_avals, debug_info)
    return jaxpr, [x.aval for x in jaxpr.outvars], jaxpr.consts


def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: bool | Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """Return the result of `pruning.dce_jaxpr`, but keep all constvars: callers have their values beside the jaxpr."""
    return pruning.dce_jaxpr(jaxpr.replace(consts=()), used_outputs, instantiate)


def dce_jaxpr_consts(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool], list[bool]]:
    """Eliminate dead code, also among the constvars. Return the jaxpr, and two lists: whether each constvar, and each
    input, is still there. `instantiate` marks those that stay even if unused: a bool for all, or a list with a bool for
    each constvar, then for each input.
    """
    count = len(jaxpr.constvars)
    of_inputs = instantiate if isinstance(instantiate, bool) else instantiate[count:]
    pruned, used_inputs = dce_jaxpr(jaxpr, used_outputs, of_inputs)
    read = {x for eqn in pruned.eqns for x in eqn.invars if isinstance(x, Var)} | set(pruned.outvars)
    asked = [instantiate] * count if isinstance(instantiate, bool) else instantiate[:count]
    used_consts = [keep or var in read for var, keep in zip(jaxpr.constvars, asked, strict=True)]
    return pruned.replace(constvars=selected(jaxpr.constvars, used_consts)), used_consts, used_inputs
