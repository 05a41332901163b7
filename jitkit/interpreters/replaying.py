"""rule + types of its operands -> the equations it writes, written again without running it

A model repeats a few layers: for the same operations on the same types, a library function or a JVP rule writes the same
few equations as the last time. So we do to rules what `jit` does to functions. `Replayed(rule)` runs the rule when
a key comes for the first time. The second time it runs the rule on stand-in tracers, to record its equations. Then, and
from then on, it writes these equations with other variables: a microsecond each, where the rule takes ten.

The key has the options, the parameters, and each operand's type: an array's aval, or a Python number's value, which
goes into the equations. A rule is simply run if its arguments cannot be in a key, or if it does more than write
equations of pure primitives (it closes over an array, it warns), or if operations are computed immediately.

Under a `PartialTrace` a rule writes operations on primals to the outer trace, those on tangents to the trace of tangents.
If the outer trace is a transformation, too, the equation is bound there, and its rule may be replayed in turn.

JAX: jax/_src/linear_util.py:cache
"""

from __future__ import annotations

import enum
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import core
from ..base import config, source_info
from ..core import Primitive
from ..core.effects import Effects
from ..core.tracer import Tracer
from ..jaxpr import DebugInfo, JaxprEqn, Literal, Var, literal_value
from ..runtime.array import Array
from .partial_eval import DynamicJaxprTrace, DynamicJaxprTracer

_LIMIT = 8192  # if there are more keys, all are forgotten
is_on = True  # False if a user's functions replace jitkit's own (as in the labs): then each call must reach them
_NEVER, _ONCE, _LATER = "never", "once", "later"  # how often a key came; in a key: the operand is a tangent
_PACKAGE = __name__.split(".")[0]
_INFO = DebugInfo("replay", "<rule>")


class _Step(NamedTuple):
    """One equation of a recording. It names its operands by their places: indices into the list of all values."""

    is_later: bool  # an equation on tangents, which goes to their trace
    primitive: Primitive
    places: tuple[int, ...]
    params: dict[str, Any]
    effects: Effects
    avals: tuple[Any, ...]


class _Constant(NamedTuple):
    """A part of a rule's result that is not an array: a Zero, None, an axis."""

    value: Any


class _Recording(NamedTuple):
    """A rule's steps, in order, and its result, made from the values in their places. The operands have the first
    places, then come the literals, then the results of the steps.
    """

    steps: tuple[_Step, ...]
    literals: tuple[Literal, ...]
    result: Callable[[list[Any]], Any]
    read: tuple[int, ...]  # the operands that the steps read, in the order of their first use
    shown: tuple[int, ...]  # the values in the result


class NotKeyed(Exception):
    """Raised for an argument whose type does not decide what a rule does with it, and for a rule that cannot be recorded."""


# For an argument that is not an array, by its exact type: the function that makes its part of the key.
static_marks: dict[type, Callable[[Any], Any]] = {
    type(None): lambda x: None,
    type: lambda x: x,
    str: lambda x: x,
    bool: lambda x: (bool, x),
    int: lambda x: (int, x),
    float: lambda x: (float, x or repr(x)),  # 0.0 and -0.0 are equal, but differ here
    complex: lambda x: (complex, repr(x)),
}
_families: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (np.dtype, lambda x: x),
    (enum.Enum, lambda x: x),
    (np.generic, lambda x: (x.dtype, x.tobytes())),
)
_arrays: set[type] = {Array}  # and the types of tracers seen so far


class Replayed:
    """A rule or library function, replayed for arguments with which it would write the same equations again."""

    __slots__ = ("rule",)

    def __init__(self, rule: Callable[..., Any]) -> None:
        self.rule = rule

    def __call__(self, *args: Any, **params: Any) -> Any:
        """Return `rule(*args, **params)` under the current trace. If all arguments are arrays, lists of them, or values
        of types in `static_marks`, the rule is replayed from the second time on that a key comes.
        """
        state = config.local.state
        trace = state.trace
        writer = trace.writer if trace is not None and is_on else None
        if writer is None:
            return self.rule(*args, **params)
        later = trace.tangents if trace.splits else None
        operands: list[Any] = []
        marks: list[Any] = [self.rule, state.options, later is None]
        try:
            _read(args, operands, marks, writer, later)
            if params:
                marks += params.items()
                marks += map(_types_in, params.values())
            key = tuple(marks)
            recording = known.recordings.get(key, _NEVER)
        except (TypeError, NotKeyed):
            return self.rule(*args, **params)
        if recording is _NEVER:
            known.note(key, _ONCE)
        elif recording is _ONCE:
            recording = known.note(key, _record(self.rule, args, params, trace))
        if type(recording) is not _Recording:
            return self.rule(*args, **params)
        return _replay(recording, operands, trace)


def replayed(primitive: Primitive, rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of a primitive, in a `Replayed` if the primitive's shape rule is pure."""
    return Replayed(rule) if primitive.pure_shape_rule else rule


class _Known:
    """Maps keys to recordings: None for a rule that cannot be replayed, `_ONCE` for a key that came once."""

    def __init__(self) -> None:
        self.recordings: dict[Any, Any] = {}

    def note(self, key: Any, found: Any) -> Any:
        """Remember a recording, None or `_ONCE` for a key, and return it."""
        if len(self.recordings) >= _LIMIT:
            self.clear()
        self.recordings[key] = found
        return found

    def clear(self) -> None:
        """Forget all recordings."""
        self.recordings.clear()


known = _Known()


# --- the key ----------------------------------------------------------------------------------------------------------


def _read(args: Sequence[Any], operands: list[Any], marks: list[Any], writer: Any, later: Any) -> None:
    """Append the arrays among the arguments to `operands`, and each argument's part of the key to `marks`."""
    for x in args:
        t = type(x)
        if t is DynamicJaxprTracer:
            atom = x.atom
            if type(atom) is Literal and x._trace is writer:
                marks += (Literal, atom.aval, _static_mark(atom.val))
            else:
                marks.append(atom.aval)
                if x._trace is later:
                    marks.append(_LATER)
            operands.append(x)
        elif t is list or t is tuple:
            marks += (t, len(x))
            _read(x, operands, marks, writer, later)
        elif t in static_marks:
            marks.append(static_marks[t](x))
        elif t in _arrays:
            marks.append(x.aval)
            operands.append(x)
        elif isinstance(x, Tracer):
            _arrays.add(t)
            marks.append(x.aval)
            operands.append(x)
        else:
            marks.append(_static_mark(x))


def _types_in(x: Any) -> Any:
    """Return the types of the values in a parameter. They go into the key, since 1, True and np.int64(1) are equal but
    print differently.
    """
    t = type(x)
    return tuple(map(_types_in, x)) if t is tuple else t


def _static_mark(x: Any) -> Any:
    t = type(x)
    if t not in static_marks:
        found = next((mark for family, mark in _families if isinstance(x, family)), None)
        if found is None:
            raise NotKeyed
        static_marks[t] = found
    return static_marks[t](x)


# --- recording --------------------------------------------------------------------------------------------------------


def _record(rule: Callable[..., Any], args: Sequence[Any], params: dict[str, Any], trace: Any) -> _Recording | None:
    """Run a rule on stand-in tracers; return its recording, or None if it cannot be replayed."""
    if not _is_own(rule):
        return None
    values = DynamicJaxprTrace(None, _INFO)
    tangents = DynamicJaxprTrace(values, _INFO)
    stand_ins: list[DynamicJaxprTracer] = []
    state = config.local.state
    state.warned = False
    try:
        with core.set_current_trace(type(trace)(values, tangents) if trace.splits else values), source_info.nowhere():
            result = rule(*[_stand_in(x, trace, values, tangents, stand_ins) for x in args], **params)
        return None if state.warned else _recording(values, tangents, stand_ins, result)
    except Exception:  # the rule raises again when it is really called
        return None
    finally:
        tangents.end()
        values.end()


def _stand_in(
    x: Any, trace: Any, values: DynamicJaxprTrace, tangents: DynamicJaxprTrace, made: list[DynamicJaxprTracer]
) -> Any:
    """Return an argument with stand-in tracers in place of its arrays; append them to `made`."""
    t = type(x)
    if t is list or t is tuple:
        return t([_stand_in(each, trace, values, tangents, made) for each in x])
    if t in static_marks:
        return x
    if t is DynamicJaxprTracer and type(x.atom) is Literal and x._trace is trace.writer:
        made.append(values.literal(x.atom.val, x.atom.aval))
    else:
        made.append((tangents if trace.splits and x._trace is trace.tangents else values).new_arg(x.aval))
    return made[-1]


def _is_own(rule: Any) -> bool:
    """Return whether a rule, and every function in it, is the library's own. A user's rule may have side effects."""
    if isinstance(rule, functools.partial):
        return all(map(_is_own, (rule.func, *rule.args, *rule.keywords.values())))
    if isinstance(rule, (tuple, list)):
        return all(map(_is_own, rule))
    if not callable(rule):
        return True
    cells = getattr(rule, "__closure__", None) or ()
    return getattr(rule, "__module__", "").startswith(_PACKAGE) and all(_is_own(cell.cell_contents) for cell in cells)


def _recording(
    values: DynamicJaxprTrace, tangents: DynamicJaxprTrace, stand_ins: Sequence[DynamicJaxprTracer], result: Any
) -> _Recording:
    """Return the recording: the equations of two traces as steps, and the result. Raise NotKeyed or KeyError for a
    value that is neither an argument nor made from the arguments, NotKeyed also for a primitive whose shape rule is not
    pure.
    """
    given = {id(x): i for i, x in enumerate(stand_ins)}
    if values.consts:
        raise NotKeyed
    places: dict[Any, int] = {x.atom: i for i, x in enumerate(stand_ins)}
    operands = [x for trace in (values, tangents) for eqn in trace.eqns for x in eqn.invars]
    literals = tuple([_checked(x) for x in dict.fromkeys(operands) if type(x) is Literal])
    place_of_literal: dict[Any, int] = {x: len(stand_ins) + i for i, x in enumerate(literals)}
    steps: list[_Step] = []
    count = len(stand_ins) + len(literals)
    for trace in (values, tangents):
        for var, residual in trace.consts.items():
            if not isinstance(residual, DynamicJaxprTracer) or residual._trace is not values:
                raise NotKeyed
            places[var] = places[residual.atom]
        for eqn in trace.eqns:
            if not eqn.primitive.pure_shape_rule:
                raise NotKeyed
            read = tuple([places[x] if type(x) is Var else place_of_literal[x] for x in eqn.invars])
            avals = tuple([var.aval for var in eqn.outvars])
            steps.append(_Step(trace is tangents, eqn.primitive, read, eqn.params, eqn.effects, avals))
            for var in eqn.outvars:
                places[var] = count
                count += 1
    first_read = dict.fromkeys(i for step in steps for i in step.places if i < len(stand_ins))
    shown: dict[int, None] = {}
    tree = _shown(result, given, places, shown)
    return _Recording(tuple(steps), literals, _getter(tree), tuple(first_read), tuple(shown))


def _shown(x: Any, given: dict[int, int], places: dict[Any, int], found: dict[int, None]) -> Any:
    """Return a result with places in place of tracers, and note them in `found`. `given` maps the id of each argument
    to its place. Raise NotKeyed if the result contains a tracer that stands for an argument, and is not the argument
    itself.
    """
    t = type(x)
    if t is list or t is tuple:
        return t([_shown(each, given, places, found) for each in x])
    if t is not DynamicJaxprTracer:
        _static_mark(x)
        return _Constant(x)
    place = given.get(id(x), places[x.atom])
    if place < len(given) and id(x) not in given:  # another tracer that stands for an argument
        raise NotKeyed
    found[place] = None
    return place


def _checked(literal: Any) -> Literal:
    """Return the literal; raise NotKeyed if it holds an Array, or would get another type when it is bound."""
    if core.get_aval(literal_value(literal)) is not literal.aval or isinstance(literal.val, Array):
        raise NotKeyed
    checked: Literal = literal
    return checked


# --- replaying --------------------------------------------------------------------------------------------------------


def _replay(recording: _Recording, operands: list[Any], trace: Any) -> Any:
    """Write the recorded equations again for these operands; return the rule's result."""
    source = source_info.current(4)
    write = _write if trace is trace.writer else _write_in_parts
    return recording.result(write(recording, operands, trace, source))


def _write(recording: _Recording, operands: list[Any], trace: DynamicJaxprTrace, source: Any) -> list[Any]:
    """Write all steps to one trace. Return a list with the values of the result in their places; places that the result
    does not need have no tracers.
    """
    atoms: list[Any] = operands.copy()
    for place in recording.read:
        x = operands[place]
        atoms[place] = x.atom if type(x) is DynamicJaxprTracer and x._trace is trace else trace.lift(x)
    atoms += recording.literals
    write = trace.eqns.append
    for _, primitive, places, params, effects, avals in recording.steps:
        invars = [atoms[place] for place in places]
        outvars: list[Var] = []
        for aval in avals:
            var = Var(aval)
            outvars.append(var)
            atoms.append(var)
        write(JaxprEqn(invars, outvars, primitive, params, effects, source))
    for place in recording.shown:
        var, is_made = atoms[place], place >= len(operands)
        atoms[place] = DynamicJaxprTracer(trace, var.aval, var, source) if is_made else operands[place]
    return atoms


def _write_in_parts(recording: _Recording, operands: list[Any], trace: Any, source: Any) -> list[Any]:
    """Give each step to its trace; return the values in their places."""
    values: list[Any] = [*operands, *recording.literals]
    if trace.splits:
        with core.set_current_trace(trace.parent):
            _write_to(trace.parent, trace.tangents, recording.steps, values, source)
    else:
        _write_to(trace, None, recording.steps, values, source)
    return values


def _write_to(around: Any, later: Any, steps: Sequence[_Step], values: list[Any], source: Any) -> None:
    """Give steps on tangents to the trace `later`, the others to the current one, `around`; append results to the values."""
    is_direct = around is around.writer
    for is_later, primitive, places, params, effects, avals in steps:
        if not is_later and not is_direct:
            bound = [literal_value(x) if type(x := values[place]) is Literal else x for place in places]
            out = primitive.bind(*bound, **params)
            values += out if primitive.multiple_results else [out]
            continue
        target = later if is_later else around
        invars: list[Any] = []
        for place in places:
            x = values[place]
            if type(x) is DynamicJaxprTracer and x._trace is target:
                invars.append(x.atom)
            else:
                invars.append(x if type(x) is Literal else target.lift(x))
        outvars: list[Var] = []
        for aval in avals:
            var = Var(aval)
            outvars.append(var)
            values.append(DynamicJaxprTracer(target, aval, var, source))
        target.eqns.append(JaxprEqn(invars, outvars, primitive, params, effects, source))


def _getter(shown: Any) -> Callable[[list[Any]], Any]:
    """Return the function that makes a result from the values: `shown` is its tree of places."""
    t = type(shown)
    if t is int or (t is tuple and len(shown) > 1 and all(type(each) is int for each in shown)):
        return operator.itemgetter(*shown) if t is tuple else operator.itemgetter(shown)
    if t is _Constant:
        return lambda values: shown.value
    parts = [_getter(each) for each in shown]
    return lambda values: t([part(values) for part in parts])
