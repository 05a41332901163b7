"""Checks jaxprs: whether one is well-formed, and whether two are the same program.

`RULES` is a table: each rule has a number, a sentence, and a function that finds violations at a place of a jaxpr.
Places are where inputs are bound, the equations, and where outputs are read. `check_jaxpr` walks through them in order
with the set of variables bound so far, and the error names the rule.

Everything after tracing relies on these rules: `eval_jaxpr` never meets an unbound variable, a lowering knows the type
of each result, dead code elimination sees all effects, and a jaxpr in a parameter can be moved anywhere.

Weak types are not compared: they only affect promotion, which is done before an equation is written.

JAX: jax/_src/core.py:check_jaxpr
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base import pretty_printer as pp
from ..base import source_info
from ..base.errors import JaxprTypeError
from ..core import aval_of_constant, dtypes, get_aval
from ..core.effects import Effects, no_effects
from .language import Atom, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params, join_effects
from .printer import JaxprPpContext, JaxprPpSettings, pp_aval, pp_eqn, pp_lambda


class Place(NamedTuple):
    """A place of a jaxpr, with the atoms that are read there, and the variables that are bound."""

    jaxpr: Jaxpr
    position: int  # the equation's number; -1 at the inputs, the number of equations at the outputs
    eqn: JaxprEqn | None  # None at the inputs and the outputs
    reads: Sequence[Atom]  # what is read here
    binds: Sequence[Var]  # the variables that get their values here
    bound: set[Var]  # the variables bound before this place
    checked: set[Jaxpr]  # the jaxprs known to be well-formed

    def name(self, var: Var) -> str:
        """Return the name that the printer gives the variable."""
        return _names(self.jaxpr).name(var)


class Rule(NamedTuple):
    """One rule. `violations` yields a message for each violation at a place, JAX's if JAX has the rule."""

    number: str
    law: str
    violations: Callable[[Place], Iterator[str]]


def check_jaxpr(jaxpr: Jaxpr, checked: set[Jaxpr] | None = None) -> None:
    """Raise JaxprTypeError unless the jaxpr and all jaxprs inside obey `RULES`. Jaxprs in `checked` are
    not checked again; the ones that are checked now are added to it.
    """
    checked = set() if checked is None else checked
    bound: set[Var] = set()
    for place in _places(jaxpr, bound, checked):
        for rule in RULES:
            for message in rule.violations(place):
                raise JaxprTypeError(_report(rule, message, place))
        bound.update(place.binds)
    checked.add(jaxpr)


def _places(jaxpr: Jaxpr, bound: set[Var], checked: set[Jaxpr]) -> Iterator[Place]:
    yield Place(jaxpr, -1, None, [], jaxpr.constvars + jaxpr.invars, bound, checked)
    for position, eqn in enumerate(jaxpr.eqns):
        yield Place(jaxpr, position, eqn, eqn.invars, eqn.outvars, bound, checked)
    yield Place(jaxpr, len(jaxpr.eqns), None, jaxpr.outvars, [], bound, checked)


# --- the rules ----------------------------------------------------------------------------------------------


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


def _ill_typed_literal(place: Place) -> Iterator[str]:
    for atom in place.reads:
        if isinstance(atom, Literal) and not _literal_fits(atom):
            yield f"Literal value {atom.val} does not match its type annotation {pp_aval(atom.aval)}"


def _literal_fits(literal: Literal) -> bool:
    val, aval = literal.val, literal.aval
    if aval.shape != ():
        return False
    if type(val) in _KINDS:  # x64 mode changes a Python scalar's width, but not its kind
        return dtypes.issubdtype(aval.dtype, _KINDS[type(val)])
    try:
        found = get_aval(val)
    except TypeError:
        return False
    return found.shape == () and aval.dtype in (found.dtype, getattr(val, "dtype", None))


_KINDS: dict[type, type] = {bool: np.bool_, int: np.integer, float: np.floating, complex: np.complexfloating}


def _not_an_atom(place: Place) -> Iterator[str]:
    for atom in place.reads:
        if not isinstance(atom, Var | Literal):
            yield f"Operand {atom!r} is neither a variable nor a literal"
    for var in place.binds:
        if not isinstance(var, Var):
            yield f"Only variables can be bound, not {var!r}"


def _ill_typed_const(place: Place) -> Iterator[str]:
    consts, constvars = place.jaxpr.consts, place.jaxpr.constvars
    if place.position >= 0 or not consts:
        return
    if len(consts) != len(constvars):
        yield f"Jaxpr has {_count(constvars, 'constvar')} and {_count(consts, 'const')}"
        return
    for const, var in zip(consts, constvars, strict=True):
        if not same_type(aval_of_constant(const), var.aval):
            yield (
                f"Constant of type {pp_aval(aval_of_constant(const))} given for constvar '{place.name(var)}' "
                f"of type {pp_aval(var.aval)}"
            )


def _ill_formed_jaxpr(place: Place) -> Iterator[str]:
    for inner in jaxprs_in_params(place.eqn.params) if place.eqn else ():
        if len(inner.consts) != len(inner.constvars):
            yield (
                f"Jaxpr in a parameter is not closed: it has {_count(inner.constvars, 'constvar')} "
                f"and {_count(inner.consts, 'const')}"
            )
        elif inner not in place.checked:
            try:
                check_jaxpr(inner, place.checked)
            except JaxprTypeError as error:
                yield str(error)


# errors that a shape rule raises on purpose, and errors that it may run into if its input makes no sense
_REFUSALS = (TypeError, ValueError, NotImplementedError, LookupError, AttributeError, AssertionError)


def _refused_operands(place: Place) -> Iterator[str]:
    if place.eqn:
        try:
            result_types(place.eqn)
        except _REFUSALS as error:
            yield f"Primitive {place.eqn.primitive} does not accept these operands and parameters: {error}"


def _miscounted_results(place: Place) -> Iterator[str]:
    if place.eqn:
        results = result_types(place.eqn)
        if len(results) != len(place.binds):
            yield (
                f"Primitive {place.eqn.primitive} gives {_count(results, 'result')}, "
                f"but the equation binds {_count(place.binds, 'variable')}"
            )


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


def _wrong_effects(place: Place) -> Iterator[str]:
    if place.eqn:
        rule = place.eqn.primitive.effects
        inferred = rule(place.eqn.params) if rule else no_effects
        if place.eqn.effects != inferred:
            yield (
                "Inferred effects do not match equation effects. "
                f"Equation effects: {_set(place.eqn.effects)}. Inferred effects: {_set(inferred)}"
            )


def _hidden_or_invented_effect(place: Place) -> Iterator[str]:
    known = place.jaxpr.effects
    for effect in (place.eqn.effects if place.eqn else no_effects) - known:
        yield (f"Equation effect not present in jaxpr effects. Equation effect: {effect}. Jaxpr effects: {_set(known)}")
    if place.position == len(place.jaxpr.eqns):
        for effect in known - join_effects(place.jaxpr.eqns):
            yield f"Jaxpr effect {effect} is not the effect of any equation"


RULES = (
    Rule("R1", "every variable is bound before it is read", unbound_reads),
    Rule("R2", "no variable is bound twice", second_bindings),
    Rule("R3", "a literal is a scalar of the type written beside it", _ill_typed_literal),
    Rule("R4", "operands are variables or literals, results are variables", _not_an_atom),
    Rule("R5", "consts are as many as constvars, and of their types", _ill_typed_const),
    Rule("R6", "jaxprs in parameters are closed, and obey these rules", _ill_formed_jaxpr),
    Rule("R7", "the primitive accepts the operands and parameters", _refused_operands),
    Rule("R8", "an equation binds a variable to each result", _miscounted_results),
    Rule("R9", "a variable has the type of the result it is bound to", ill_typed_results),
    Rule("R10", "the effects of an equation are those of its primitive", _wrong_effects),
    Rule("R11", "the effects of a jaxpr are those of its equations", _hidden_or_invented_effect),
)


def result_types(eqn: JaxprEqn) -> list[Any]:
    """Return the avals of an equation's results, from the avals of its operands."""
    out = eqn.primitive.abstract_eval(*[atom.aval for atom in eqn.invars], **eqn.params)
    return list(out) if eqn.primitive.multiple_results else [out]


def same_type(a: Any, b: Any) -> bool:
    """Return whether two avals agree up to weakness."""
    return bool(a.strip_weak_type() == b.strip_weak_type())


def _count(items: Sequence[Any], noun: str) -> str:
    return f"{len(items)} {noun}" if len(items) == 1 else f"{len(items)} {noun}s"


def _set(effects: Effects) -> str:
    return f"{{{', '.join(sorted(map(str, effects)))}}}"


# --- the message --------------------------------------------------------------------------------------------


def _names(jaxpr: Jaxpr) -> JaxprPpContext:
    """Return the names that variables get when the whole jaxpr is printed."""
    context = JaxprPpContext(jaxpr)
    pp_lambda(jaxpr, context, JaxprPpSettings())
    return context


def _report(rule: Rule, message: str, place: Place) -> str:
    """Return the report: what is wrong, by which rule, and where: the equation, the user's line, and the jaxpr around it."""
    context, settings = _names(place.jaxpr), JaxprPpSettings()
    parts = [message, f"rule {rule.number}: {rule.law}"]
    if place.eqn:
        equation = pp.nest(2, pp.text("  ") + pp_eqn(place.eqn, context, settings))
        parts += [f"in equation {place.position} of {len(place.jaxpr.eqns)}:", equation.format(use_color=False)]
        if place.eqn.source_info.position is not None:
            parts.append(f"from source: {source_info.summarize(place.eqn.source_info)}")
    surroundings = pp_lambda(place.jaxpr, context, settings, around=max(place.position, 0))
    parts += ["while checking jaxpr:", surroundings.format(use_color=False)]
    return "\n\n".join(parts)


# --- sameness -----------------------------------------------------------------------------------------------


def jaxprs_equal(a: Jaxpr, b: Jaxpr) -> bool:
    """Return whether two jaxprs are the same program, up to the identity of variables and source lines. The order of
    equations counts. Literals and consts are compared bit by bit, primitives by name.
    """
    if a is b:
        return True
    if len(a.eqns) != len(b.eqns) or a.effects != b.effects:
        return False
    partner: dict[Var, Var] = {}  # a's variable -> b's corresponding one

    def bind(ours: list[Var], theirs: list[Var]) -> bool:
        partner.update(zip(ours, theirs, strict=False))
        return [v.aval for v in ours] == [v.aval for v in theirs]

    def same(ours: list[Any], theirs: list[Any]) -> bool:
        return len(ours) == len(theirs) and all(map(same_atom, ours, theirs))

    def same_atom(x: Atom, y: Atom) -> bool:
        if isinstance(x, Var):
            return partner.get(x) is y
        return isinstance(y, Literal) and bool(x.aval == y.aval) and _values_equal(x.val, y.val)

    return (
        _values_equal(tuple(a.consts), tuple(b.consts))
        and bind(a.constvars, b.constvars)
        and bind(a.invars, b.invars)
        and all(
            p.primitive.name == q.primitive.name
            and p.effects == q.effects
            and same(p.invars, q.invars)
            and p.params.keys() == q.params.keys()
            and all(_values_equal(value, q.params[name]) for name, value in p.params.items())
            and bind(p.outvars, q.outvars)
            for p, q in zip(a.eqns, b.eqns, strict=True)
        )
        and same(a.outvars, b.outvars)
    )


def _values_equal(x: Any, y: Any) -> bool:
    """Return whether two parameters or constants are equal. `==` does not suffice for jaxprs, arrays and nans, and tuples of them."""
    if x is y:
        return True
    if isinstance(x, Jaxpr) or isinstance(y, Jaxpr):
        return isinstance(x, Jaxpr) and isinstance(y, Jaxpr) and jaxprs_equal(x, y)
    if isinstance(x, tuple) and isinstance(y, tuple):
        return len(x) == len(y) and all(map(_values_equal, x, y))
    if _is_number(x) and _is_number(y):
        p, q = np.asarray(x), np.asarray(y)
        return bool(p.dtype == q.dtype) and p.shape == q.shape and p.tobytes() == q.tobytes()
    return bool(x == y)


def _is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex)) or (hasattr(x, "dtype") and hasattr(x, "shape"))
