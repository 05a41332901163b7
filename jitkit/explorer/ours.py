"""function + types -> Subject: a traced function of jitkit's, with everything that the page needs

JAX: jax/_src/stages.py:Traced
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..base import config, traceback_util
from ..base.source_info import SourceInfo
from ..base.util import scopes_of
from ..compiler.program import lower_program
from ..interpreters.partial_eval import DynamicJaxprTrace
from ..jaxpr import DebugInfo, Jaxpr, JaxprEqn, Literal, Var
from ..jaxpr.printer import JaxprPpSettings, pp_toplevel_jaxpr
from ..loops.source import write as write_c
from ..pjit.function import is_jitted
from ..pjit.jit import jit
from . import equations
from .equation import Equation, Place, file_in
from .listing import Listing, owners
from .subject import Failure, Subject, argument, cut_short


class _OurDialect:
    """Implements `Dialect` for our jaxprs."""

    def inside(self, value: Any) -> Any:
        return value if isinstance(value, Jaxpr) else None

    def with_equations(self, value: Any, eqns: list[Any]) -> Any:
        return value.replace(eqns=eqns)

    def marked(self, eqn: Any, params: dict[str, Any], mark: str) -> Any:
        known: SourceInfo = eqn.source_info
        source = SourceInfo(known.code, known.instruction, (*known.name_stack, mark))
        return eqn.replace(params=params, source_info=source)

    def place(self, eqn: Any) -> Place | None:
        return _place(eqn.source_info)

    def names(self, eqn: Any) -> str:
        return "/".join(scopes_of(eqn.source_info.name_stack))

    def is_library_s(self, inner: Any) -> bool:
        file = file_in(inner.debug_info.func_src_info)
        return bool(file) and traceback_util.is_own_file(file)

    def is_literal(self, atom: Any) -> bool:
        return isinstance(atom, Literal)


def _place(source: SourceInfo) -> Place | None:
    position = source.position
    if position is None:
        return None
    return Place(position.file, position.line, position.function, source.code)


def jaxpr_listing(jaxpr: Jaxpr) -> Listing:
    """Return the lines of `print(jaxpr)`, each with its equation."""
    lines: list[str] = []
    begun: list[int | None] = []
    also: list[list[int]] = []  # the equations of a short jaxpr, which is printed on one line
    for line in pp_toplevel_jaxpr(jaxpr, JaxprPpSettings()).lines():
        lines.append(" " * line.indent + "".join(words for words, _, _ in line.pieces))
        found = [about for _, _, about in line.pieces if isinstance(about, JaxprEqn)]
        marks = [n for eqn in found for n in equations.numbers_in("/".join(eqn.source_info.name_stack))[:1]]
        begun.append(marks[0] if marks else None)
        also.append(marks[1:])
    listing = Listing("jaxpr")
    for text, number, more in zip(lines, owners(lines, begun), also, strict=True):
        listing.add(text, [] if number is None else [number, *more])
    return listing


def subject(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> Subject:
    """Trace `function`, jitted or not, for these arguments or types, and return it as a Subject. If its code raises, the
    subject has a `Failure` and the equations up to there.
    """
    jitted: Any = function if is_jitted(function) else jit(function)
    plain = inspect.unwrap(function)
    name = getattr(function, "__name__", type(function).__name__)
    try:
        with config.override(traceback_filtering="off"):
            traced = jitted.trace(*args, **(kwargs or {}))
    except (Exception, SystemExit) as error:
        return _failed(plain, name, error)
    program, name = traced._program, traced.fun_name
    marked, found = equations.numbered(program.jaxpr, _OurDialect())
    program = program._replace(jaxpr=marked)
    arguments = _arguments(marked.debug_info, marked.invars)

    def stablehlo(platform: str) -> str:
        module, _ = lower_program(program, platform)
        if module.host_callbacks:
            raise NotImplementedError(
                f"{name} calls back into this Python process while it runs (`debug.print`, `debug.callback`, ...): it is not "
                "compiled for another process. What it is lowered to is shown."
            )
        return module.text(debug_info=True)

    def shown(platform: str) -> str:
        return lower_program(program, platform)[0].text(debug_info=True)

    listing = jaxpr_listing(marked)
    constants = [f"{v.aval.str_short()}" for v in marked.constvars]
    c = functools.partial(write_c, name, marked)
    return Subject("jitkit", name, plain, arguments, found, listing, stablehlo, shown, constants, c=c)


def _arguments(debug_info: DebugInfo, invars: Sequence[Var]) -> list[str]:
    names = debug_info.safe_arg_names(len(invars))
    return [argument(n or f"argument {i}", v.aval) for i, (n, v) in enumerate(zip(names, invars, strict=True))]


def _failed(function: Callable[..., Any], name: str, error: BaseException) -> Subject:
    """Return the subject of a function that raised while it was traced: the failure, and the equations that the
    outermost trace recorded before it.
    """
    trace: DynamicJaxprTrace | None = None
    place: Place | None = None
    link = error.__traceback__
    while link is not None:
        frame = link.tb_frame
        found = frame.f_locals.get("trace")
        if trace is None and isinstance(found, DynamicJaxprTrace):
            trace = found
        if not traceback_util.is_own_file(frame.f_code.co_filename):
            place = Place(frame.f_code.co_filename, link.tb_lineno, frame.f_code.co_qualname, frame.f_code)
        link = link.tb_next
    numbered: list[Equation] = []
    listing = Listing("jaxpr")
    arguments: list[str] = []
    if trace is not None:
        arguments = _arguments(trace.debug_info, trace.invars)
        partial = Jaxpr(trace.consts, trace.invars, [], trace.eqns)
        marked, numbered = equations.numbered(partial, _OurDialect())
        listing = cut_short(jaxpr_listing(marked), numbered)
    failure = Failure("tracing", type(error).__name__, str(error), place)
    return Subject("jitkit", name, function, arguments, numbered, listing, None, None, [], failure)
