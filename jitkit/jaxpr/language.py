"""Defines the small typed language that traced functions become, and runs its programs.

    { lambda ; a:f32[3]. let b:f32[3] = sin a; c:f32[3] = mul b 2.0:f32[] in (c,) }

A jaxpr is a list of equations in order. Each applies one primitive to atoms (variables and literals) and binds fresh
variables to the results; parameters, such as an axis or an inner jaxpr, are known without running. Every variable has
one type, its aval, and is bound once.

Variables have no names: the printer (`printer`) makes them up. `check` has the rules for which jaxprs are well-formed,
and which two are the same program.

Inputs come in two kinds: `invars` are what the caller passes; `constvars` stand for arrays that the function closed
over, whose values are `consts`. JAX long had two classes: Jaxpr, and ClosedJaxpr for a Jaxpr with its consts. Here, as
in later JAX, there is one: a jaxpr is *closed* when every constvar has its const, and `.jaxpr` returns the jaxpr
itself, so code written for either works.

JAX: jax/_src/core.py:Jaxpr
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from ..base import config
from ..base.late_rooms import Slots
from ..base.rich_display import RichDisplay
from ..base.source_info import UNKNOWN, SourceInfo
from ..core import Primitive
from ..core.default_types import python_scalar_types
from ..core.effects import Effect, Effects, no_effects

_T = TypeVar("_T")

# --- the language -------------------------------------------------------------------------------------------


class Var:
    """A variable: it has a type. Two variables are equal only if they are the same object."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval  # its type

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval.str_short()}"


class DropVar(Var):
    """A result that is not read: printed as `_`, in inner jaxprs, too."""

    __slots__ = ()


class Literal:
    """A scalar written into the program, with its type; `val` is a Python or numpy scalar, or an Array."""

    __slots__ = ("aval", "val")

    def __init__(self, val: Any, aval: Any) -> None:
        self.val = val
        self.aval = aval

    def __repr__(self) -> str:
        return f"Literal({self.val})"


Atom = Var | Literal


def _as_recorded(atom: Atom | None, x: Any) -> Any:
    """Return operand x. A Python number becomes a numpy scalar of the dtype of `atom`, the equation's own operand,
    unless that dtype has 64 bits.
    """
    if type(x) not in python_scalar_types or atom is None or atom.aval.is_wide:
        return x
    return atom.aval.dtype.type(x)


class JaxprEqn:
    """One application of a primitive: `outvars = primitive[params] invars`."""

    __slots__ = ("effects", "invars", "outvars", "params", "primitive", "source_info")

    def __init__(
        self,
        invars: list[Atom],
        outvars: list[Var],
        primitive: Primitive,
        params: dict[str, Any],
        effects: Effects = no_effects,
        source_info: SourceInfo = UNKNOWN,
    ) -> None:
        self.invars = invars
        self.outvars = outvars
        self.primitive = primitive
        self.params = params
        self.effects = effects
        self.source_info = source_info

    def replace(self, **changes: Any) -> JaxprEqn:
        """Return the same equation with some parts replaced, by name."""
        return JaxprEqn(**{name: getattr(self, name) for name in JaxprEqn.__slots__} | changes)

    def perform(self, rule: Callable[..., Any], *operands: Any) -> Any:
        """Return `rule(*operands, **params)`, for example of `primitive.bind`. The equations that it records get this
        equation's source line. Python numbers keep the types from the time when the equation was recorded, perhaps in
        x64 mode.
        """
        state, source = config.local.state, self.source_info
        if state.knows_x64:
            if not state.options.enable_x64 and self._is_wide():
                with config.override(enable_x64=True):
                    return self.perform(rule, *operands)
            if state.options.enable_x64 and not python_scalar_types.isdisjoint(map(type, operands)):
                atoms = [*[None] * (len(operands) - len(self.invars)), *self.invars]
                operands = tuple(map(_as_recorded, atoms, operands))
        if state.trace is None or source is UNKNOWN:
            return rule(*operands, **self.params)
        before, state.source = state.source, source
        try:
            return rule(*operands, **self.params)
        finally:
            state.source = before

    def _is_wide(self) -> bool:
        """Return whether an operand or a result has a dtype that only x64 mode has."""
        is_wide = False
        for x in self.outvars:  # loops: `any` of a generator costs four times as much
            is_wide |= x.aval.is_wide
        for y in self.invars:
            is_wide |= y.aval.is_wide
        return is_wide

    def __repr__(self) -> str:
        return printing.eqn_to_text(self)


class DebugInfo(NamedTuple):
    """Says where a jaxpr comes from, and names its inputs and outputs, for messages and printing.

    `traced_for` is the transformation ("jit", "scan", ...); `func_src_info` reads "f at /path/file.py:12", or only "f";
    `arg_names` has a path for each input ("x", "params['w']"), empty where there is none; `result_paths` one for each
    output. Both are empty when unknown.
    """

    traced_for: str
    func_src_info: str
    arg_names: tuple[str, ...] = ()
    result_paths: tuple[str, ...] = ()

    @property
    def func_name(self) -> str:
        """The function's name, without its place."""
        return self.func_src_info.split(" ")[0]

    def safe_arg_names(self, count: int) -> tuple[str, ...]:
        """Return a name for each of `count` inputs: empty strings if they are unknown, or another number."""
        return self.arg_names if len(self.arg_names) == count else ("",) * count

    def safe_result_paths(self, count: int) -> tuple[str, ...]:
        """Return a path for each of `count` outputs: empty strings if they are unknown, or another number."""
        return self.result_paths if len(self.result_paths) == count else ("",) * count

    def filter(self, used_inputs: Sequence[bool], used_outputs: Sequence[bool]) -> DebugInfo:
        """Return the names for a jaxpr with only some of the inputs and outputs."""
        return self._replace(
            arg_names=tuple(selected(self.safe_arg_names(len(used_inputs)), used_inputs)),
            result_paths=tuple(selected(self.safe_result_paths(len(used_outputs)), used_outputs)),
        )

    def with_unknown_names(self) -> DebugInfo:
        """Return a DebugInfo for a jaxpr with other inputs and outputs, of unknown names."""
        return self._replace(arg_names=(), result_paths=())


_UNKNOWN_FUNCTION = DebugInfo("unknown", "<unknown>")
_PARTS = ("constvars", "invars", "outvars", "eqns", "effects", "debug_info", "consts")


class Jaxpr(RichDisplay):
    """A program: `{ lambda constvars; invars. let eqns in outvars }`, with the values of its constvars if it is closed.

    A jaxpr never changes: `replace` makes another one. Jaxprs hash and compare by identity; `check.jaxprs_equal` says
    whether two are the same program.
    """

    __slots__ = ("__weakref__", *_PARTS)

    def __init__(
        self,
        constvars: Iterable[Var],
        invars: Iterable[Var],
        outvars: Iterable[Atom],
        eqns: Iterable[JaxprEqn],
        effects: Effects = no_effects,
        debug_info: DebugInfo = _UNKNOWN_FUNCTION,
        consts: Iterable[Any] = (),
    ) -> None:
        self.constvars = list(constvars)  # the variables of the constants
        self.invars = list(invars)  # the variables of the arguments
        self.outvars = list(outvars)  # the returned atoms: variables and literals
        self.eqns = list(eqns)  # the equations, in order
        self.effects = effects
        self.debug_info = debug_info
        self.consts = list(consts)

    @property
    def jaxpr(self) -> Jaxpr:
        """The jaxpr itself: for code that expects JAX's ClosedJaxpr."""
        return self

    @property
    def literals(self) -> list[Any]:
        """JAX's older name for `consts`."""
        return self.consts

    @property
    def in_avals(self) -> list[Any]:
        """The types of the inputs."""
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[Any]:
        """The types of the outputs."""
        return [v.aval for v in self.outvars]

    def replace(self, **changes: Any) -> Jaxpr:
        """Return the same jaxpr with some parts replaced, by name. If inputs or outputs are replaced, their names are
        unknown, unless `debug_info` is given, too.
        """
        parts = {name: getattr(self, name) for name in _PARTS} | changes
        if "debug_info" not in changes and (parts["invars"], parts["outvars"]) != (self.invars, self.outvars):
            parts["debug_info"] = self.debug_info.with_unknown_names()
        return Jaxpr(**parts)

    def pretty_print(
        self,
        *,
        source_info: bool = False,
        print_shapes: bool = True,
        custom_pp_eqn_rules: bool = True,
        name_stack: bool = False,
        print_effects: bool = False,
        width: int = 80,
        use_color: bool | None = None,
    ) -> str:
        """Return the jaxpr as text, as JAX writes it.

        `source_info` and `name_stack` append to each equation where it comes from; `print_shapes=False` leaves out
        types; `custom_pp_eqn_rules=False` shows all parameters; `print_effects` appends the jaxpr's effects;
        `use_color=None` colours on terminals (see `pretty_printer`).
        """
        return printing.jaxpr_to_text(
            self,
            width,
            use_color,
            source_info=source_info,
            print_shapes=print_shapes,
            custom_pp_eqn_rules=custom_pp_eqn_rules,
            name_stack=name_stack,
            print_effects=print_effects,
        )

    def __repr__(self) -> str:
        return self.pretty_print()

    def _repr_html_(self) -> str:
        return printing.jaxpr_to_html(self)


class _Printer(Slots):
    """Slot for the text of jaxprs and equations. `printer` and `html` fill it."""

    jaxpr_to_text: Callable[..., str]
    eqn_to_text: Callable[[JaxprEqn], str]
    jaxpr_to_html: Callable[..., str]
    pp_call: Callable[..., Any]


printing = _Printer()
# How a primitive is printed, in place of `printer.pp_eqn_plain`: equation, context, settings -> Doc.
PpEqnRule = Callable[[JaxprEqn, Any, Any], Any]
pp_eqn_rules: dict[Primitive, PpEqnRule] = {}


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """Yield the jaxprs among the parameters of an equation, bare or in a tuple."""
    for value in params.values():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Jaxpr):
                yield item


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """Yield the jaxprs in the parameters of all equations, but not those inside of them."""
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def selected(items: Iterable[_T], keep: Iterable[bool]) -> list[_T]:
    """Return the items for which `keep` is true."""
    return [item for item, is_kept in zip(items, keep, strict=True) if is_kept]


def join_effects(eqns: Iterable[JaxprEqn]) -> Effects:
    """Return the union of the equations' effects: the effects of their jaxpr."""
    return set[Effect]().union(*[eqn.effects for eqn in eqns])


# --- running ------------------------------------------------------------------------------------------------


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


def literal_value(literal: Literal) -> Any:
    """Return the value of a literal in a form that keeps its type: a weak one as a Python scalar."""
    value = literal.val
    return value.item() if literal.aval.weak_type and hasattr(value, "item") else value


def last_uses(jaxpr: Jaxpr) -> list[set[Var]]:
    """Return for each equation the variables that it reads or binds, and that neither a later equation nor an output
    reads. For a jaxpr with only one equation, return an empty set for it.
    """
    if len(jaxpr.eqns) == 1:
        return [set()]  # `eval_jaxpr` ends after this equation, and then releases all values
    needed = {atom for atom in jaxpr.outvars if isinstance(atom, Var)}
    dead_after: list[set[Var]] = []
    for eqn in reversed(jaxpr.eqns):
        seen_here = {*eqn.outvars, *(atom for atom in eqn.invars if isinstance(atom, Var))}
        dead_after.append(seen_here - needed)
        needed |= seen_here
    return dead_after[::-1]


def jaxpr_as_fun(jaxpr: Jaxpr, *args: Any) -> Callable[..., list[Any]]:
    """Return a closed jaxpr as a function of its inputs; `args` are values for the first of them."""
    return functools.partial(eval_jaxpr, jaxpr, jaxpr.consts, *args)
