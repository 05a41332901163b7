"""Jaxpr -> text, exactly as JAX prints it.

    { lambda ; a:f32[]. let b:f32[] = sin a; _:f32[] = cos a in (b,) }

Variables get their names while they are printed, in the order in which the printer meets them: a to z, ba to bz, and
on. Variables of an inner jaxpr get the next names, so that a name means one thing in the whole text; only the jaxpr of
a *call* uses the names of its operands and results. Results of the outermost jaxpr that are not read are `_`.

An inner jaxpr that is used twice, or has more than ten equations, is printed once, above the rest: `let name = { ... }
in`. Where it is used, only its name is printed. `pp_eqn_rules` has printing rules of primitives: most hide parameters
that say nothing new.

JAX: jax/_src/core.py:pp_toplevel_jaxpr
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base import pretty_printer as pp
from ..base import source_info
from ..base.jax_version import since
from ..base.util import garbage_collection_paused, scopes_of
from . import language
from .language import Atom, DropVar, Jaxpr, JaxprEqn, Literal, PpEqnRule, Var, jaxprs_in_params, pp_eqn_rules


class JaxprPpSettings(NamedTuple):
    """What to print; see `Jaxpr.pretty_print`."""

    print_shapes: bool = True
    source_info: bool = False
    name_stack: bool = False
    custom_pp_eqn_rules: bool = True
    print_effects: bool = False


class ParamName(str):
    """The name of a parameter, with its text, such as `axis=`; it tells a painter (`html`) how to colour it."""

    __slots__ = ()


# --- names --------------------------------------------------------------------------------------------------


class JaxprPpContext:
    """The names given so far: to variables, and to jaxprs that are printed above the rest."""

    def __init__(self, jaxpr: Jaxpr | None = None, shared_jaxprs: dict[Jaxpr, str] | None = None) -> None:
        self.shared_jaxprs = shared_jaxprs or {}
        self.var_names: dict[Var, str] = {} if jaxpr is None else dict.fromkeys(_unused_results(jaxpr), "_")
        taken = set(self.shared_jaxprs.values())
        self._fresh_names = (name for name in map(_letters, itertools.count()) if name not in taken)

    def name(self, var: Var) -> str:
        """Return the variable's name, a new one if it has none yet."""
        name = self.var_names.get(var)
        if name is None:
            name = self.var_names[var] = "_" if type(var) is DropVar else next(self._fresh_names)
        return name

    def suggest_same_var_names(self, for_vars: Sequence[Atom], like_vars: Sequence[Atom]) -> None:
        """Give unnamed variables the names of their counterparts, one to one."""
        if len(for_vars) != len(like_vars):
            return  # an ill-formed call, to be shown in an error message
        used: set[Var] = set()
        for var, like in zip(for_vars, like_vars, strict=True):
            if not isinstance(var, Var) or not isinstance(like, Var):
                continue  # literals have no names
            if like not in used and var not in self.var_names:
                used.add(like)
                self.var_names[var] = self.name(like)


def _letters(n: int) -> str:
    """Return a number in base 26 with letters as digits, from 0 on: a ... z, ba, bb, ..."""
    rest, digit = divmod(n, 26)
    return (_letters(rest) if rest else "") + chr(ord("a") + digit)


def _unused_results(jaxpr: Jaxpr) -> Iterator[Var]:
    used = {atom for atom in jaxpr.outvars if isinstance(atom, Var)}
    for eqn in reversed(jaxpr.eqns):
        yield from (var for var in eqn.outvars if var not in used)
        used.update(atom for atom in eqn.invars if isinstance(atom, Var))


def name_shared_jaxprs(jaxpr: Jaxpr) -> dict[Jaxpr, str]:
    """Return the inner jaxprs that are printed above `jaxpr`, in order, each with the name of its function."""
    uses: Counter[Jaxpr] = Counter()
    visits: Counter[Jaxpr] = Counter()
    names: dict[Jaxpr, str] = {}
    queue = deque([jaxpr])
    while queue:
        current = queue.popleft()
        long = current is not jaxpr and len(current.eqns) > 10
        uses[current] += 2 if long else 1
        visits[current] += 1
        if visits[current] > 2:
            continue  # everything inside has already been counted twice
        for eqn in current.eqns:
            name = eqn.params.get("name")
            for inner in jaxprs_in_params(eqn.params):
                queue.append(inner)
                if name is not None:
                    names.setdefault(inner, str(name).strip("<>"))  # <lambda> becomes lambda
    shared: dict[Jaxpr, str] = {}
    taken: Counter[str] = Counter()
    for inner, count in uses.items():
        if count > 1:
            name = names.get(inner, "jaxpr")
            unique = f"{name}{taken[name]}" if taken[name] else name
            taken.update({name, unique})
            shared[inner] = unique
    return shared


# --- the pieces ---------------------------------------------------------------------------------------------


def pp_atom(atom: Atom, context: JaxprPpContext) -> pp.Doc:
    """Return a variable's name, or a literal with its type."""
    if isinstance(atom, Var):
        return pp.text(context.name(atom), about=atom)
    if not isinstance(atom, Literal):
        return pp.text(repr(atom))  # an ill-formed jaxpr, to be shown in an error message
    value = str(np.asarray(atom.val).item()) if np.shape(atom.val) == () else "[...]"
    typed = getattr(atom.aval, "dtype", None) is not None
    return pp.text(value) + pp.text(":" + pp_aval(atom.aval), about=atom.aval) if typed else pp.text(value)


def pp_aval(aval: Any) -> str:
    """Return a type in short form: f32[3]."""
    short: str = aval.str_short(short_dtypes=True)
    return short


def pp_type(atom: Atom) -> pp.Doc:
    """Return the type to write after a variable where it is bound; nothing for a literal."""
    if not isinstance(atom, Var):
        return pp.nil()
    return pp.type_annotation(pp.text(":" + pp_aval(atom.aval), about=atom.aval))


def pp_vars(atoms: Sequence[Atom], context: JaxprPpContext, *, separator: str = "", types: bool = False) -> pp.Doc:
    """Return atoms in a row; with `types`, which is for variables where they are bound, each followed by its type."""
    docs = [pp_atom(atom, context) for atom in atoms]
    if types:
        docs = [doc + pp_type(atom) for doc, atom in zip(docs, atoms, strict=True)]
    return pp.nest(2, pp.group(pp.join(pp.text(separator) + pp.group(pp.brk()), docs)))


def pp_param(name: str, value: Any, context: JaxprPpContext, settings: JaxprPpSettings) -> pp.Doc:
    """Return `name=value`; a jaxpr in full, or by name if it is shared."""
    doc: pp.Doc
    if isinstance(value, Jaxpr):
        doc = pp_jaxpr(value, context, settings)
    elif type(value) is tuple and all(isinstance(item, Jaxpr) for item in value):
        doc = pp_block("(", [pp_jaxpr(item, context, settings) for item in value], ")")
    elif isinstance(value, frozenset):
        doc = pp.text(f"frozenset({{{', '.join(map(repr, sorted(value)))}}})")
    else:
        # Addresses differ from run to run, so they are blanked out.
        doc = pp.text(re.sub(r" at 0x([0-9a-fA-F]+)", lambda m: " at 0x" + "X" * len(m[1]), str(value)))
    return pp.text(f"{name}=", about=ParamName(name)) + doc


def pp_block(opening: str, docs: Sequence[pp.Doc], closing: str) -> pp.Doc:
    """Return documents in brackets: on one line, or each on its own."""
    inside = pp.concat([pp.text(opening), pp.brk(""), pp.join(pp.brk(), docs)])
    return pp.group(pp.concat([pp.nest(2, inside), pp.brk(""), pp.text(closing)]))


# --- equations ----------------------------------------------------------------------------------------------


def pp_eqn(eqn: JaxprEqn, context: JaxprPpContext, settings: JaxprPpSettings) -> pp.Doc:
    """Return an equation, by the printing rule of its primitive."""
    rule = pp_eqn_rules.get(eqn.primitive) if settings.custom_pp_eqn_rules else None
    return (rule or pp_eqn_plain)(eqn, context, settings)


def pp_eqn_plain(
    eqn: JaxprEqn, context: JaxprPpContext, settings: JaxprPpSettings, params: dict[str, Any] | None = None
) -> pp.Doc:
    """Return `results = primitive[params] operands`, with all parameters sorted by name, or with `params` in their order."""
    if params is None:
        params = dict(sorted(eqn.params.items()))
    position = _position(eqn) if settings.source_info else None
    scope = f"[{'/'.join(scopes_of(eqn.source_info.name_stack))}]" if settings.name_stack else None
    # Variables get their names in the order of printing: results first, then parameters, then operands.
    results = pp_vars(eqn.outvars, context, types=settings.print_shapes)
    brackets = [pp_param(name, value, context, settings) for name, value in params.items()]
    operands = pp_vars(eqn.invars, context)
    parts = [results, pp.text(" = ", annotation=position)] if eqn.outvars else []
    parts.append(pp.text(eqn.primitive.name, scope, about=eqn))
    if brackets:
        parts.append(pp_block("[", brackets, "]"))
    parts += [pp.text(" "), operands]
    return pp.concat(parts)


def _position(eqn: JaxprEqn) -> str:
    return source_info.summarize(eqn.source_info) if eqn.source_info.position is not None else ""


def hide_params(*always: str, **defaults: Any) -> PpEqnRule:
    """Return a printing rule that leaves out parameters: some always, others if they have their usual value."""

    def rule(eqn: JaxprEqn, context: JaxprPpContext, settings: JaxprPpSettings) -> pp.Doc:
        shown = {
            name: value
            for name, value in sorted(eqn.params.items())
            if name not in always and not (name in defaults and value == defaults[name])
        }
        return pp_eqn_plain(eqn, context, settings, shown)

    return rule


def show_params_since(major: int, minor: int, **later: Any) -> PpEqnRule:
    """Return a printing rule that adds the parameters that JAX has since this release; in jitkit each has one value,
    given in `later`.
    """

    def rule(eqn: JaxprEqn, context: JaxprPpContext, settings: JaxprPpSettings) -> pp.Doc:
        shown = eqn.params | later if since(major, minor) else eqn.params
        return pp_eqn_plain(eqn, context, settings, dict(sorted(shown.items())))

    return rule


def pp_call(
    eqn: JaxprEqn, context: JaxprPpContext, settings: JaxprPpSettings, params: dict[str, Any] | None = None
) -> pp.Doc:
    """Return the document of a call of the jaxpr in the parameter `jaxpr`, whose variables get the names of the call's
    operands and results. `name` comes first, then the other parameters, or those in `params`, if given.
    """
    params = eqn.params if params is None else params
    inner = eqn.params["jaxpr"]
    if inner not in context.shared_jaxprs:
        context.suggest_same_var_names(inner.invars, eqn.invars)
        context.suggest_same_var_names(inner.outvars, eqn.outvars)
    first = {"name": params["name"]} if "name" in params else {}
    return pp_eqn_plain(eqn, context, settings, first | dict(sorted(params.items())))


# --- jaxprs -------------------------------------------------------------------------------------------------


def pp_toplevel_jaxpr(jaxpr: Jaxpr, settings: JaxprPpSettings) -> pp.Doc:
    """Return a jaxpr, as printed, below the inner jaxprs that are used twice or are long."""
    context = JaxprPpContext(jaxpr, name_shared_jaxprs(jaxpr))
    parts: list[pp.Doc] = []
    for shared, name in context.shared_jaxprs.items():
        parts += [pp.text(f"let {name} = "), pp_lambda(shared, context, settings), pp.text(" in"), pp.brk()]
    return pp.concat([*parts, pp_lambda(jaxpr, context, settings)])


def pp_jaxpr(jaxpr: Jaxpr, context: JaxprPpContext, settings: JaxprPpSettings) -> pp.Doc:
    """Return a jaxpr, as printed where it is used: only its name, if it is printed above."""
    name = context.shared_jaxprs.get(jaxpr)
    return pp_lambda(jaxpr, context, settings) if name is None else pp.text(name)


def pp_lambda(jaxpr: Jaxpr, context: JaxprPpContext, settings: JaxprPpSettings, around: int | None = None) -> pp.Doc:
    """Return `{ lambda constvars ; invars. let eqns in outvars }`; with `around`, only the equations near this position."""
    constvars = pp_vars(jaxpr.constvars, context, types=settings.print_shapes)
    invars = pp_vars(jaxpr.invars, context, types=settings.print_shapes)
    start, stop = (0, len(jaxpr.eqns)) if around is None else (max(around - 10, 0), around + 10)
    eqns = [pp_eqn(eqn, context, settings) for eqn in jaxpr.eqns[start:stop]]
    if start > 0:
        eqns.insert(0, pp.text("..."))
    if stop < len(jaxpr.eqns):
        eqns.append(pp.text("..."))
    outvars = pp_vars(jaxpr.outvars, context, separator=",")
    tail = [pp.text("("), outvars, pp.text(",)" if len(jaxpr.outvars) == 1 else ")")]
    if settings.print_effects:
        tail.append(pp.text(f" : {{ {', '.join(map(str, jaxpr.effects))} }}"))
    parts = [
        pp.text("{ "), pp.keyword(pp.text("lambda ")), constvars, pp.text("; "), invars, pp.text(". "),
        pp.keyword(pp.text("let")), pp.nest(2, pp.brk() + pp.join(pp.brk("; "), eqns)), pp.brk(),
        pp.keyword(pp.text("in ")), *tail,
    ]  # fmt: skip
    return pp.group(pp.nest(2, pp.concat(parts)) + pp.text(" }"))


def _jaxpr_to_text(jaxpr: Jaxpr, width: int, use_color: bool | None, **settings: bool) -> str:
    with garbage_collection_paused():
        return pp_toplevel_jaxpr(jaxpr, JaxprPpSettings(**settings)).format(width, use_color=use_color)


def _eqn_to_text(eqn: JaxprEqn) -> str:
    return pp_eqn(eqn, JaxprPpContext(), JaxprPpSettings()).format()


language.printing.jaxpr_to_text = _jaxpr_to_text
language.printing.eqn_to_text = _eqn_to_text
language.printing.pp_call = pp_call
