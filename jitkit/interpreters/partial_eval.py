"""function + avals -> Jaxpr

Tracing calls the function once, on tracers instead of arrays, while a `DynamicJaxprTrace` is the current trace. Each
`Primitive.bind` ends in `process_primitive`, which gets the avals of the results from the primitive's shape rule,
records one equation, and returns new tracers. When the function returns, the equations *are* the program.

Whatever Python does in between (prints, loops, `if`s on shapes, appends to lists) happens once, now, and leaves no
equation.

Values that do not come in as arguments become constants of the jaxpr: scalars as literals inside the equations, arrays
as `constvars`. A tracer of an *outer* trace is such a constant, too; the caller turns it into an argument of the inner
jaxpr.

Two simplifications make jaxprs equal JAX's: converting a scalar literal to another dtype gives a literal, and an
operation that changes nothing (a conversion to the same type, a broadcast to the same shape) returns its operand.

JAX: jax/_src/interpreters/partial_eval.py:DynamicJaxprTrace
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import core
from ..base import config, edits, errors, late_rooms, missing_names, source_info
from ..base.util import NameStack
from ..core import Primitive, dtypes
from ..core.effects import Effect, no_effects
from ..core.operators import Operators
from ..core.trace import Trace
from ..core.tracer import Tracer
from ..jaxpr import DebugInfo, Jaxpr, JaxprEqn, Literal, Var
from ..tree_util import tree_flatten, tree_unflatten

_PARTIAL = "jitkit.interpreters.partial_values"
_HANDED_ON = ("JaxprTracer", "PartialVal", "trace_to_jaxpr_nounits", "trace_to_jaxpr_dynamic", "dce_jaxpr", "dce_jaxpr_consts")  # fmt: skip
late_rooms.hand_on(__name__, **{name: f"{_PARTIAL}:{name}" for name in _HANDED_ON})
missing_names.explain("interpreters.partial_eval", sys.modules[__name__])

# Rules of primitives that may leave no equation: rule(trace, operand tracers, params) returns the result, or
# NotImplemented if the operation is to be recorded like any other.
StagingRule = Callable[["DynamicJaxprTrace", "list[DynamicJaxprTracer]", dict[str, Any]], Any]
staging_rules: dict[Primitive, StagingRule] = {}  # rules of primitives that may leave no equation


class DynamicJaxprTracer(Tracer):
    """A value of the function being traced; in the jaxpr it is `atom`, a variable or literal."""

    __slots__ = ("atom", "source_info")

    _trace: DynamicJaxprTrace

    def __init__(
        self, trace: DynamicJaxprTrace, aval: Any, atom: Var | Literal, source: source_info.SourceInfo
    ) -> None:
        self._trace = trace
        self.aval = aval
        self.atom = atom
        self.source_info = source

    def __repr__(self) -> str:
        return f"JitTracer({self.aval})"

    def _origin_msg(self) -> str:
        return describe_origin(self)

    def _static_name(self) -> str:
        positions, _ = _progenitors(self._trace, self.atom)
        names = self._trace.debug_info.arg_names
        numbers = [i for i in positions if i < len(names) and getattr(self._trace.invars[i].aval, "shape", None) == ()]
        return next((names[i] for i in numbers if names[i].isidentifier()), "")


class DynamicJaxprTrace(Trace):
    """Records what a function does, equation by equation, while it is the current trace."""

    __slots__ = ("consts", "constvar_of_id", "debug_info", "eqns", "invars")

    def __init__(self, parent: Trace | None, debug_info: DebugInfo) -> None:
        super().__init__(parent)
        self.writer = self
        self.debug_info = debug_info
        self.invars: list[Var] = []  # the variables of the arguments, in order
        self.eqns: list[JaxprEqn] = []  # the recorded equations, in order
        self.consts: dict[Var, Any] = {}  # the value of each constant
        self.constvar_of_id: dict[int, Var] = {}  # a constant's variable, by the `id` of the object

    def new_arg(self, aval: Any) -> DynamicJaxprTracer:
        """Return the tracer of one more argument, of the type `aval`: it stands for a fresh variable, which goes to the
        end of `invars`. It has no source line: its source is `source_info.UNKNOWN`.
        """
        var = Var(aval)
        self.invars.append(var)
        return DynamicJaxprTracer(self, aval, var, source_info.UNKNOWN)

    def lift(self, x: Any) -> Var | Literal:
        """Return the atom that stands in an equation for x, a value that is not a tracer of this trace.

        `literal_form(x)` is how a scalar is written, and None for everything else. A scalar becomes a Literal of that
        value and of x's aval.

        Everything else, such as an array or a tracer of another trace, becomes a constant: a fresh variable, whose value
        `consts` keeps. If the same object came before, return its variable: `constvar_of_id` finds it by the object's
        `id`.

        Raise UnexpectedTracerError for a tracer that outlived its trace (`check_lives`).
        """
        if isinstance(x, Tracer):
            check_lives(x)
        elif (value := literal_form(x)) is not None:
            return Literal(value, core.get_aval(x))
        var = self.constvar_of_id.get(id(x))
        if var is None:
            var = Var(core.aval_of_constant(x))
            self.constvar_of_id[id(x)] = var
            self.consts[var] = x  # keeps x alive, and so its id unique
        return var

    def constant(self, x: Any) -> DynamicJaxprTracer:
        """Return a tracer of a constant, even for a scalar, which could be a literal."""
        atom = self.lift(x)
        if isinstance(atom, Literal):
            atom = self.constvar_of_id.setdefault(id(x), Var(atom.aval))
            self.consts[atom] = x
        return DynamicJaxprTracer(self, atom.aval, atom, source_info.UNKNOWN)

    def stand_in(self, x: Any) -> DynamicJaxprTracer:
        """Return a tracer of a constant without a value, such as a ShapeDtypeStruct: it can be traced, but lowering raises an error."""
        atom = self.lift(x)
        return DynamicJaxprTracer(self, atom.aval, atom, source_info.UNKNOWN)

    def note(self, args: Sequence[Any]) -> None:
        """Make a variable for each constant among a library function's arguments, in their order: so the order of the
        constvars does not depend on which argument the function converts first.
        """
        for x in args:
            if type(x) is DynamicJaxprTracer:
                if x._trace is not self:
                    self.lift(x)
            elif isinstance(x, (Operators, np.ndarray)):
                self.lift(x)

    def to_tracer(self, x: Any) -> DynamicJaxprTracer:
        """Return a tracer of this trace for any value."""
        if type(x) is DynamicJaxprTracer and x._trace is self:
            return x
        atom = self.lift(x)
        return DynamicJaxprTracer(self, atom.aval, atom, source_info.current())

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

    def literal(self, value: Any, aval: Any) -> DynamicJaxprTracer:
        """Return a tracer for a scalar known while tracing."""
        return DynamicJaxprTracer(self, aval, Literal(value, aval), source_info.current())

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

    def end(self) -> None:
        """End the trace, and release its constants: the jaxpr owns them now."""
        self.alive = False
        self.writer = None  # `writer` is the trace itself: a reference cycle, which would keep it alive
        self.consts = {}
        self.constvar_of_id = {}


def check_lives(tracer: Tracer) -> None:
    """Raise UnexpectedTracerError if the tracer leaked: its trace has ended."""
    if not tracer._trace.alive:
        raise core.escaped_tracer_error(tracer)


def literal_form(x: Any) -> Any:
    """Return how the scalar x is written in an equation, or None if x must be a constant: an array with axes, or any
    jitkit Array. (A numpy array without axes counts as a scalar.) A Python number is not converted: `0.1` is printed as
    `0.1`, and becomes a float32 when the equation is lowered or run.
    """
    t = type(x)
    if t in dtypes.python_scalar_types:
        if t is int:
            dtypes.check_int_fits(x, dtypes.canonical_scalar_dtype(t))
        return x
    if isinstance(x, np.generic) or (isinstance(x, np.ndarray) and x.ndim == 0):
        return np.asarray(x, dtypes.canonicalize_dtype(x.dtype))[()]
    return literal_form(dtypes.plain_number(x)) if dtypes.is_number_of_subclass(x) else None


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


def rename_inputs(debug_info: DebugInfo) -> None:
    """Replace the `debug_info` of the current trace if it records a jaxpr. Error messages name the inputs by it, and a
    transformation learns these names only after tracing has begun.
    """
    trace = core.current_trace()
    if isinstance(trace, DynamicJaxprTrace):
        trace.debug_info = debug_info


class empty_name_stack:
    """Ignore, within the block, the `named_scope`s around it: a jaxpr has only the scopes inside of its function."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        state = config.local.state
        self._before, state.name_stack = state.name_stack, NameStack()

    def __exit__(self, *error: object) -> None:
        config.local.state.name_stack = self._before


def with_stand_ins(values: Sequence[Any]) -> Sequence[Any]:
    """Return the values, with tracers of the current trace in place of those without data, such as a ShapeDtypeStruct."""
    trace = core.current_trace()
    if not isinstance(trace, DynamicJaxprTrace):
        return values
    return [trace.stand_in(x) if type(x) in core.aval_without_value else x for x in values]


def with_stand_ins_in(tree: Any) -> Any:
    """Return the tree, with tracers of the current trace in place of leaves without data, such as a ShapeDtypeStruct."""
    if not isinstance(core.current_trace(), DynamicJaxprTrace):
        return tree
    leaves, treedef = tree_flatten(tree)
    if not any(type(x) in core.aval_without_value for x in leaves):
        return tree  # rebuild a user's nodes only if needed
    return tree_unflatten(treedef, with_stand_ins(leaves))


def check_results(outs: Sequence[Any], debug_info: DebugInfo) -> None:
    """Raise TypeError if a traced function returned something that is not an array. The message gives its place in the
    tree of results, from `debug_info.result_paths`.
    """
    for i, x in enumerate(outs):
        if core.is_array_value(x):
            continue
        paths = debug_info.result_paths
        where = (
            f" at output component {paths[i].removeprefix('result')}"
            if paths and len(paths) > i and paths[i] != "result"
            else ""
        )
        raise TypeError(
            f"function {debug_info.func_src_info} traced for {debug_info.traced_for} returned a value of "
            f"type {type(x)}{where}, "
            f"which is not a valid JAX type{edits.RETURN_ARRAYS}"
        )


def check_no_leaks(trace: Any, traced_for: str = "") -> None:
    """Raise the error for leaked tracers if a tracer of the finished trace is still referenced. Its message says what
    the function was traced for: `traced_for`, or if that is empty, what the trace's `debug_info` says.
    """
    if not _living_tracers(trace):
        return
    gc.collect()
    leaked = _living_tracers(trace)
    if leaked:
        raise errors.leaked_tracer_error(traced_for or trace.debug_info.traced_for, leaked)


def _living_tracers(trace: Trace) -> list[Tracer]:
    return [x for x in gc.get_referrers(trace) if isinstance(x, Tracer)]


# --- where a tracer comes from, for errors ------------------------------------------------------------------


def describe_origin(tracer: DynamicJaxprTracer) -> str:
    """Return the sentences that end every concretisation error: which function was traced, and on which of its
    arguments the value depends; if on none, which operations made it a tracer.
    """
    trace = tracer._trace
    debug_info = trace.debug_info
    who, purpose = debug_info.func_src_info, debug_info.traced_for
    origin = f"\nThe error occurred while tracing the function {who} for {purpose}. "
    positions, makers = _progenitors(trace, tracer.atom)
    if positions:
        names = [debug_info.arg_names[i] if i < len(debug_info.arg_names) else "unknown" for i in positions]
        s = "s" * (len(names) > 1)
        what = f"the value{s} of the argument{s} {_listed(names)}"
        return f"{origin}This concrete value was not available in Python because it depends on {what}."
    if makers:
        shown = "\n\n".join(
            f"  operation {eqn}\n    from line {source_info.summarize(eqn.source_info)}" for eqn in makers[:5]
        )
        more = "\n\n(Additional originating lines are not shown.)" if len(makers) > 5 else ""
        return f"{origin}This value became a tracer due to JAX operations on these lines:\n\n{shown}{more}"
    return origin.rstrip()


def _listed(names: list[str]) -> str:
    """Return `a`, `a and b` or `a, b, and c`."""
    *most, last = names
    return f"{', '.join(most)}{',' * (len(most) > 1)} and {last}" if most else last


def _progenitors(trace: DynamicJaxprTrace, atom: Var | Literal) -> tuple[list[int], list[JaxprEqn]]:
    """Walk back from `atom`. Return the positions of the arguments that it depends on, and the equations on the way
    that read only constants and literals.
    """
    if isinstance(atom, Literal):
        return [], []
    active: set[Any] = {atom}
    on_the_way = []
    for eqn in reversed(trace.eqns):
        if any(var in active for var in eqn.outvars):
            on_the_way.append(eqn)
            active.update(x for x in eqn.invars if isinstance(x, Var))
    positions = [i for i, var in enumerate(trace.invars) if var in active]
    makers = [
        eqn for eqn in reversed(on_the_way) if all(isinstance(x, Literal) or x in trace.consts for x in eqn.invars)
    ]
    return positions, makers
