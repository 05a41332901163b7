"""02 Jaxprs: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 02.1` helps, one
step further each time. You may add helpers and imports: functions, classes, constants. Other
statements at the top are not run. The parameters stay as they are: other code calls these
functions. A class has only those methods that are yours to write; the others are the
reference's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from jitkit import core
from jitkit.base import config, source_info
from jitkit.core import Primitive
from jitkit.core.effects import Effect, no_effects
from jitkit.interpreters.partial_eval import (
    DynamicJaxprTracer, check_no_leaks, check_results, empty_name_stack, staging_rules,
)
from jitkit.jaxpr import (
    Atom, DebugInfo, Jaxpr, JaxprEqn, Literal, Var, dce_rules, keep_or_drop, last_uses,
    literal_value,
)
from jitkit.jaxpr.check import Place, result_types, same_type
from jitkit.jaxpr.printer import pp_aval


# --- 02.1 Write one equation down (3 points) ----------------------------------------------------------------
# A trace begins with a tracer for each argument. Then operations arrive, and each becomes an equation. Make
# the variables, the equation, and the tracers that stand for the results.


class DynamicJaxprTrace:
    def new_arg(self, aval: Any) -> DynamicJaxprTracer:
        """Return the tracer of one more argument, of the type `aval`: it stands for a fresh
        variable, which goes to the end of `invars`. It has no source line: its source is
        `source_info.UNKNOWN`.
        """
        raise NotImplementedError("02.1")

    def emit(
        self, primitive: Primitive, atoms: list[Var | Literal], params: dict[str, Any], out: Any
    ) -> Any:
        """Append one equation, `fresh variables = primitive[params] atoms`, to `eqns`; return a
        tracer for each result.

        `out` is the aval of the result; if the primitive has `multiple_results`, `out` is a list of
        avals, and a list of tracers is returned. Equation and tracers have the line that runs now,
        `source_info.current()`. The effects of the equation are `primitive.effects(params)`, or
        `no_effects` if `primitive.effects` is None.
        """
        raise NotImplementedError("02.1")


# --- 02.2 Close the program (3 points) ----------------------------------------------------------------------
# The function has returned. Make one program of the inputs, the equations, the constants and what came back.


class DynamicJaxprTrace:
    def to_jaxpr(self, outs: Sequence[Any], debug_info: DebugInfo) -> Jaxpr:
        """Return the finished jaxpr, with the values `outs` as its outputs: tracers, or whatever
        `to_tracer` takes.

        Its constants, with their values in `consts`, are the trace's constants that an equation or
        an output reads, in the order in which they came. Its effects are the union of its
        equations' effects.
        """
        raise NotImplementedError("02.2")


# --- 02.3 Trace a function (3 points) -----------------------------------------------------------------------
# Call a function on tracers, under a new trace, and return the program. Leave everything as it was, also when
# the function raises an error.


def trace_to_jaxpr(
    fun: Callable[..., Sequence[Any]], avals: Sequence[Any], debug_info: DebugInfo
) -> Jaxpr:
    """Call `fun`, which takes and returns flat lists, on tracers of the given avals, and return the
    jaxpr of what it does.

    The function runs once, under a new trace inside of the current one, with an `empty_name_stack`.
    Its results must be arrays (`check_results`). The jaxpr's `consts` may hold tracers of outer
    traces.

    Whether `fun` returns or raises, end the new trace (`Trace.end`), and make the trace before it
    the current one again. An error of `fun` passes through. With the option `check_tracer_leaks`,
    call `check_no_leaks` on the trace that ended: it finds tracers that are referenced from
    anywhere, even from a variable of this function.
    """
    raise NotImplementedError("02.3")


# --- 02.4 Run a jaxpr (3 points) ----------------------------------------------------------------------------
# A jaxpr is a program: run it, by binding each of its primitives to the values of its operands.


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Any]:
    """Run a jaxpr, equation by equation, by binding each primitive: under a trace this records,
    without one it computes.

    `consts` and `args` are the values of `constvars` and `invars`. `literal_value` gives the value
    of a literal. Return the results as a list. Raise TypeError for a wrong number of values; say
    how many there should be.

    Release a value after its last use: `last_uses` has, for each equation, the variables that are
    not needed after it.
    """
    raise NotImplementedError("02.4")


# --- 02.5 Three laws (3 points) -----------------------------------------------------------------------------
# When is a jaxpr well-formed? `check_jaxpr` goes through its places, and asks eleven rules about each. Write
# three of them, as generators of messages.


def unbound_reads(place: Place) -> Iterator[str]:
    """Yield `Variable 'x' not defined` for each variable that is read at this place and not bound
    before. Another rule (R4) is about atoms that are not variables.
    """
    raise NotImplementedError("02.5")


def second_bindings(place: Place) -> Iterator[str]:
    """Yield `Variable 'x' already bound` for each variable bound at this place that was bound
    before, or twice here.
    """
    raise NotImplementedError("02.5")


def ill_typed_results(place: Place) -> Iterator[str]:
    """Yield `Value for variable 'x' inconsistently typed as f32[3] for let-binder of type i32[3]`
    for each variable that an equation binds to a result of another type.

    The primitive's shape rule gives the types of the results (`result_types`); `pp_aval` prints a
    type. There are as many variables as results: `R8` comes before. A place that is not an equation
    has no results.
    """
    raise NotImplementedError("02.5")


# --- 02.6 Dead code (3 points) ------------------------------------------------------------------------------
# Only some results of a program are wanted. Find the equations that are needed for them.


def live_equations(
    eqns: Sequence[JaxprEqn], outputs: Iterable[Var]
) -> tuple[list[JaxprEqn], set[Var]]:
    """Return what is left of some equations, in order, if only the variables `outputs` are wanted.
    Also return all live variables: the outputs, and the variables that the remaining equations
    read. Leave `outputs` as it is.

    For each equation call its rule, `dce_rules[primitive]`, or `keep_or_drop` for primitives
    without one, with a list that says for each result whether it is live, and with the equation.
    The rule returns a list that says for each operand whether it is needed, and what is left of the
    equation, or None.
    """
    raise NotImplementedError("02.6")


# --- 02.7 An operation arrives (2 points) -------------------------------------------------------------------
# `process_primitive` holds everything together: `bind` (01.1) hands an operation over, and `lift` (01.5), the
# shape rule (01.2) and `emit` (02.1) do their parts. This is tracing.


class DynamicJaxprTrace:
    def process_primitive(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """Record one operation: every `Primitive.bind` of the traced function ends here. Return a
        tracer, or a list of them.

        An argument is a tracer of this trace (`x._trace is self`), with its `atom`; or anything
        else, even a tracer of another trace, and then `lift` gives the atom. Call the primitive's
        shape rule, `abstract_eval`, with the avals of the arguments and the parameters, and return
        what `emit` returns.

        A few primitives leave no equation where they would change nothing. They have a rule in
        `staging_rules`: `rule(self, tracers, params)`, with a tracer for each argument
        (`to_tracer`), gives the result, or NotImplemented for an application that is recorded like
        any other.
        """
        raise NotImplementedError("02.7")
