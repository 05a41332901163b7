"""Jaxpr -> HTML: the printer's text in colours, with a tooltip that says where each variable comes from

JAX prints jaxprs for terminals only.

JAX: jax/_src/core.py:pp_toplevel_jaxpr
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator

from ..base import pretty_printer as pp
from ..base import source_info
from ..base.rich_display import Piece, frame
from ..core import ShapedArray
from . import language
from .language import Jaxpr, JaxprEqn, Var, jaxprs_in_params
from .printer import JaxprPpSettings, ParamName, pp_toplevel_jaxpr


def jaxpr_to_html(jaxpr: Jaxpr, title: str = "", whole: str = "print(jaxpr)") -> str:
    """Return a jaxpr as HTML, with `title` above it. A long one is cut; `whole` is the code that shows all of it."""
    return frame(title, _lines(jaxpr), whole)


def _lines(jaxpr: Jaxpr) -> Iterator[Iterator[Piece]]:
    origins = _Origins(jaxpr)
    for line in pp_toplevel_jaxpr(jaxpr, JaxprPpSettings()).lines():
        yield _pieces(line, origins)


def _pieces(line: pp.Line, origins: _Origins) -> Iterator[Piece]:
    yield Piece(" " * line.indent)
    for words, style, about in line.pieces:
        if isinstance(about, Var):
            yield Piece(words, "variable", f"{words}: {about.aval.str_short()}\n{origins.of(about)}")
        elif isinstance(about, JaxprEqn):
            yield Piece(words, "operation", _place(about))
        elif isinstance(about, ShapedArray):
            yield Piece(words, "type")
        elif isinstance(about, ParamName):
            yield Piece(words, "parameter")
        else:
            yield Piece(words, "keyword" if style.intensity is pp.Intensity.BRIGHT else "")


class _Origins:
    """Says where the variables of a jaxpr, and of the jaxprs inside it, come from. The words are made on demand."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self._makers: dict[Var, JaxprEqn | str] = {}
        waiting, seen = [jaxpr], {jaxpr}
        while waiting:
            current = waiting.pop()
            self._makers.update(dict.fromkeys(current.constvars, "an array from outside of the function"))
            names = current.debug_info.safe_arg_names(len(current.invars))
            for var, name in zip(current.invars, names, strict=True):
                self._makers[var] = f"argument {name} of {current.debug_info.func_src_info}"
            for eqn in current.eqns:
                self._makers.update(dict.fromkeys(eqn.outvars, eqn))
                inner = [j for j in jaxprs_in_params(eqn.params) if j not in seen]
                seen.update(inner)
                waiting += inner

    def of(self, var: Var) -> str:
        """Return the origin of a variable: an argument, or an equation with its line."""
        maker = self._makers.get(var, "")
        return maker if isinstance(maker, str) else f"{maker.primitive.name}, {_place(maker)}"


def _place(eqn: JaxprEqn) -> str:
    """Return an equation's source position, and the text of that line."""
    position = eqn.source_info.position
    if position is None:
        return "not from a line of yours"
    line = linecache.getline(position.file, position.line).strip()
    return f"at {source_info.summarize(eqn.source_info)}\n{line}".rstrip()


language.printing.jaxpr_to_html = jaxpr_to_html
