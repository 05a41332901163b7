"""02 Jaxprs: the solutions, as the reference has them, and why."""

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


# --- 02.1 Write one equation down ---------------------------------------------------------------------------
# That is all that tracing is. Nothing is compared with what was written before: the same operation twice
# gives two equations, and XLA, which sees the whole program, merges them. Each equation keeps the position of
# the user's line, since nobody could find that out later.
#
# Usual mistakes:
#   - Using a variable again because its type is the same.
#   - Returning a list for a primitive with one result, or a tracer for one with `multiple_results`.
#   - Forgetting the effects: then a print looks as if it were not needed.
#
# In JAX: jax/_src/interpreters/partial_eval.py:DynamicJaxprTrace


class DynamicJaxprTrace:
    def new_arg(self, aval: Any) -> DynamicJaxprTracer:
        """Return the tracer of one more argument, of the type `aval`: it stands for a fresh variable, which goes to the
        end of `invars`. It has no source line: its source is `source_info.UNKNOWN`.
        """
        var = Var(aval)
        self.invars.append(var)
        return DynamicJaxprTracer(self, aval, var, source_info.UNKNOWN)

    def emit(self, primitive: Primitive, atoms: list[Var | Literal], params: dict[str, Any], out: Any) -> Any:
        """Append one equation, `fresh variables = primitive[params] atoms`, to `eqns`; return a tracer for each result.

        `out` is the aval of the result; if the primitive has `multiple_results`, `out` is a list of avals, and a list of
        tracers is returned. Equation and tracers have the line that runs now, `source_info.current()`. The effects of
        the equation are `primitive.effects(params)`, or `no_effects` if `primitive.effects` is None.
        """
        source = source_info.current(3)  # skip three frames: this function, `process_primitive`, and `bind`
        effects = no_effects if primitive.effects is None else primitive.effects(params)
        if not primitive.multiple_results:
            var = Var(out)
            self.eqns.append(JaxprEqn(atoms, [var], primitive, params, effects, source))
            return DynamicJaxprTracer(self, out, var, source)
        outvars = [Var(aval) for aval in out]
        self.eqns.append(JaxprEqn(atoms, outvars, primitive, params, effects, source))
        return [DynamicJaxprTracer(self, var.aval, var, source) for var in outvars]


# --- 02.2 Close the program ---------------------------------------------------------------------------------
# Constants are kept apart from inputs because the caller does not pass them: their values travel with the
# program. Arguments stay even if nobody reads them, since the caller passes them in any case. To get rid of
# them one calls dead code elimination, which is told which outputs are needed.
#
# Usual mistakes:
#   - Collecting the constants before the outputs: an array that is only returned is a constant, too.
#   - Making constants inputs: then every caller would have to know them.
#   - Taking each output for the result of an equation.
#
# In JAX: jax/_src/interpreters/partial_eval.py:JaxprStackFrame


class DynamicJaxprTrace:
    def to_jaxpr(self, outs: Sequence[Any], debug_info: DebugInfo) -> Jaxpr:
        """Return the finished jaxpr, with the values `outs` as its outputs: tracers, or whatever `to_tracer` takes.

        Its constants, with their values in `consts`, are the trace's constants that an equation or an output reads, in
        the order in which they came. Its effects are the union of its equations' effects.
        """
        outvars = [self.to_tracer(x).atom for x in outs]
        used: set[Any] = {atom for eqn in self.eqns for atom in eqn.invars if type(atom) is Var}
        used.update(atom for atom in outvars if type(atom) is Var)
        consts = {var: value for var, value in self.consts.items() if var in used}
        effects = set[Effect]().union(*(eqn.effects for eqn in self.eqns if eqn.effects))
        return Jaxpr(list(consts), self.invars, outvars, self.eqns, effects, debug_info, tuple(consts.values()))


# --- 02.3 Trace a function ----------------------------------------------------------------------------------
# The function is called once, and nobody looks into it. So everything that Python does in it happens once,
# now: loops are unrolled, prints print, an `if` on a shape takes one branch. The parent of the new trace is
# the current one, because functions that are traced call functions that are traced.
#
# Usual mistakes:
#   - Ending the trace after the `with`, without `finally`: after an error, its tracers count as alive.
#   - Calling the function on arrays of zeros: then nothing in the program depends on an argument.
#   - Making a trace without a parent.
#
# In JAX: jax/_src/interpreters/partial_eval.py:trace_to_jaxpr_dynamic


def trace_to_jaxpr(fun: Callable[..., Sequence[Any]], avals: Sequence[Any], debug_info: DebugInfo) -> Jaxpr:
    """Call `fun`, which takes and returns flat lists, on tracers of the given avals, and return the jaxpr of what it
    does.

    The function runs once, under a new trace inside of the current one, with an `empty_name_stack`. Its results
    must be arrays (`check_results`). The jaxpr's `consts` may hold tracers of outer traces.

    Whether `fun` returns or raises, end the new trace (`Trace.end`), and make the trace before it the current one again.
    An error of `fun` passes through. With the option `check_tracer_leaks`, call `check_no_leaks` on the trace that ended:
    it finds tracers that are referenced from anywhere, even from a variable of this function.
    """
    trace = DynamicJaxprTrace(core.current_trace(), debug_info)
    try:
        with core.set_current_trace(trace), empty_name_stack():
            outs = fun(*[trace.new_arg(aval) for aval in avals])
            check_results(outs, debug_info)
            jaxpr = trace.to_jaxpr(outs, debug_info)
        del outs
    finally:
        trace.end()
    if config.value("check_tracer_leaks"):
        check_no_leaks(trace)
    return jaxpr


# --- 02.4 Run a jaxpr ---------------------------------------------------------------------------------------
# To run a jaxpr, it is enough to bind its primitives one by one. Since `bind` asks the current trace what to
# do, the same loop computes when nothing is traced, and under a trace it records: so it inlines one program
# into another. It drops values that nothing reads any more, since an array may be a gigabyte.
#
# Usual mistakes:
#   - Reading `eqn.invars` as values: they are variables, and some of them literals.
#   - Forgetting that a primitive with `multiple_results` gives a list even for one result.
#   - Converting results to numpy: under a trace there is nothing to convert.
#
# In JAX: jax/_src/core.py:eval_jaxpr


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Any]:
    """Run a jaxpr, equation by equation, by binding each primitive: under a trace this records, without one it
    computes.

    `consts` and `args` are the values of `constvars` and `invars`. `literal_value` gives the value of a literal. Return
    the results as a list. Raise TypeError for a wrong number of values; say how many there should be.

    Release a value after its last use: `last_uses` has, for each equation, the variables that are not needed after it.
    """
    if len(consts) != len(jaxpr.constvars) or len(args) != len(jaxpr.invars):
        raise TypeError(
            f"the jaxpr takes {len(jaxpr.constvars)} constants and {len(jaxpr.invars)} arguments, "
            f"got {len(consts)} and {len(args)}"
        )
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom: Atom) -> Any:
        return literal_value(atom) if isinstance(atom, Literal) else env[atom]

    for eqn, dead in zip(jaxpr.eqns, last_uses(jaxpr), strict=True):
        results = eqn.perform(eqn.primitive.bind, *map(read, eqn.invars))
        env.update(zip(eqn.outvars, results if eqn.primitive.multiple_results else [results], strict=True))
        for var in dead:
            del env[var]
    return [read(atom) for atom in jaxpr.outvars]


# --- 02.5 Three laws ----------------------------------------------------------------------------------------
# Every variable is bound once, before it is read. So an equation depends on nothing but the equations that
# bind what it reads (and, if it has an ordered effect, on the one before with this effect). The types are
# redundant, since the shape rules of the primitives give them again. So the check finds a wrong type right
# after the transformation that wrote it, before XLA sees it.
#
# Usual mistakes:
#   - Looking for variables by their names or types: two variables of one type are different variables.
#   - Taking a literal for an unbound variable.
#   - Overlooking a variable that one equation binds twice.
#
# In JAX: jax/_src/core.py:check_jaxpr


def unbound_reads(place: Place) -> Iterator[str]:
    """Yield `Variable 'x' not defined` for each variable that is read at this place and not bound before. Another rule
    (R4) is about atoms that are not variables.
    """
    for atom in place.reads:
        if isinstance(atom, Var) and atom not in place.bound:
            yield f"Variable '{place.name(atom)}' not defined"


def second_bindings(place: Place) -> Iterator[str]:
    """Yield `Variable 'x' already bound` for each variable bound at this place that was bound before, or twice here."""
    here: set[Var] = set()
    for var in place.binds:
        if var in place.bound or var in here:
            yield f"Variable '{place.name(var)}' already bound"
        here.add(var)


def ill_typed_results(place: Place) -> Iterator[str]:
    """Yield `Value for variable 'x' inconsistently typed as f32[3] for let-binder of type i32[3]` for each variable
    that an equation binds to a result of another type.

    The primitive's shape rule gives the types of the results (`result_types`); `pp_aval` prints a type. There are as
    many variables as results: `R8` comes before. A place that is not an equation has no results.
    """
    if place.eqn:
        for var, aval in zip(place.binds, result_types(place.eqn), strict=True):
            if not same_type(var.aval, aval):
                yield (
                    f"Value for variable '{place.name(var)}' inconsistently typed as {pp_aval(aval)} "
                    f"for let-binder of type {pp_aval(var.aval)}"
                )


# --- 02.6 Dead code -----------------------------------------------------------------------------------------
# One pass from the end is enough, because every variable is bound before it is read: when you reach an
# equation, you have seen everything that could need it. The reference has a shorter way for the plain case,
# one live result and no rule, since nearly every equation of a long program is like that.
#
# Usual mistakes:
#   - Going forward: whether a result is needed is known only later.
#   - Making the operands of a dropped equation live.
#   - Dropping prints: they have no results that anybody could read, but they have an effect.
#
# In JAX: jax/_src/interpreters/partial_eval.py:dce_jaxpr


def live_equations(eqns: Sequence[JaxprEqn], outputs: Iterable[Var]) -> tuple[list[JaxprEqn], set[Var]]:
    """Return what is left of some equations, in order, if only the variables `outputs` are wanted. Also return all live
    variables: the outputs, and the variables that the remaining equations read. Leave `outputs` as it is.

    For each equation call its rule, `dce_rules[primitive]`, or `keep_or_drop` for primitives without one, with a list
    that says for each result whether it is live, and with the equation. The rule returns a list that says for each operand
    whether it is needed, and what is left of the equation, or None.
    """
    live = set(outputs)
    left: list[JaxprEqn] = []
    for eqn in reversed(eqns):
        if len(eqn.outvars) == 1 and eqn.outvars[0] in live and eqn.primitive not in dce_rules:
            for atom in eqn.invars:
                if type(atom) is Var:
                    live.add(atom)
            left.append(eqn)  # what `keep_or_drop` would do, in a fifth of the time
            continue
        rule = dce_rules.get(eqn.primitive, keep_or_drop)
        needed, rest = rule([var in live for var in eqn.outvars], eqn)
        live.update(x for x, kept in zip(eqn.invars, needed, strict=True) if kept and isinstance(x, Var))
        if rest is not None:
            left.append(rest)
    return left[::-1], live


# --- 02.7 An operation arrives ------------------------------------------------------------------------------
# This function runs once for each operation of a traced program, and it computes no value: types go in, a
# type comes out, an equation is written. What Python does between two calls of it leaves nothing in the
# program. Everything else in this lab is the frame around these lines.
#
# Usual mistakes:
#   - Lifting a tracer of this trace: then the function's own values become constants.
#   - Taking the atom of any tracer: that of an outer trace is a variable of another program.
#   - Handing values to the shape rule: it gets types, also of constants.
#
# In JAX: jax/_src/interpreters/partial_eval.py:DynamicJaxprTrace


class DynamicJaxprTrace:
    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Record one operation: every `Primitive.bind` of the traced function ends here. Return a tracer, or a list of
        them.

        An argument is a tracer of this trace (`x._trace is self`), with its `atom`; or anything else, even a tracer of
        another trace, and then `lift` gives the atom. Call the primitive's shape rule, `abstract_eval`, with the avals of the arguments
        and the parameters, and return what `emit` returns.

        A few primitives leave no equation where they would change nothing. They have a rule in `staging_rules`:
        `rule(self, tracers, params)`, with a tracer for each argument (`to_tracer`), gives the result, or
        NotImplemented for an application that is recorded like any other.
        """
        if primitive in staging_rules:
            tracers = [self.to_tracer(x) for x in args]
            result = staging_rules[primitive](self, tracers, params)
            if result is not NotImplemented:
                return result
        atoms: list[Var | Literal] = []
        avals: list[Any] = []
        for x in args:
            atom = x.atom if type(x) is DynamicJaxprTracer and x._trace is self else self.lift(x)
            atoms.append(atom)
            avals.append(atom.aval)
        return self.emit(primitive, atoms, params, primitive.abstract_eval(*avals, **params))
