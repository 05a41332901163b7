"""A program's text -> HTML for notebooks: highlighted, in a frame that scrolls, with remarks under the pointer.

A notebook calls an object's `_repr_mimebundle_`, and shows the richest form that it can. `RichDisplay` implements it:
the HTML, and the `repr` for where HTML is not shown. This module handles text only: regular expressions split StableHLO
and HLO into tokens, well enough for colours; `html`, beside the printer of jaxprs, splits jaxprs.

The output goes into another page. So it has its own style and no scripts, keeps the page's font and background, and
escapes all words. `!important` keeps lines whole: JupyterLab's rules would break program texts in the middle of a word.
Colours are from Okabe and Ito's palette, which colour-blind readers tell apart. Their contrast with the background is
at least 4.5 where the theme is known (JupyterLab, VS Code), elsewhere 4.3 on black and on white. Operations are bold
and parameters slanted, so that nothing depends on colour alone.

Long programs are cut, and the last line says so, with the way to the rest.

JAX: jax/_src/pretty_printer.py:Doc
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from . import source_info

MAX_LINES = 500
MAX_COLUMNS = 2000  # a longer piece of text, such as a constant, is cut
_MAX_REMARK = 300  # characters of a quoted line in a remark


class RichDisplay:
    """A class whose objects notebooks show as HTML, and other displays as their `repr`."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        raise NotImplementedError

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, str]:
        """Return the forms by MIME type (IPython's protocol): those in `include`, without those in `exclude`."""
        forms = {"text/plain": lambda: repr(self), "text/html": self._repr_html_}
        return {
            mime: form()
            for mime, form in forms.items()
            if (include is None or mime in include) and mime not in (exclude or ())
        }


def escape(text: str) -> str:
    """Return words, escaped for HTML. (The module `html` would take 1.3 ms to import.)"""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


class Piece(NamedTuple):
    """Some words of a line: `kind` is one of `KINDS` or empty, `remark` is shown under the pointer."""

    words: str
    kind: str = ""
    remark: str = ""


# The kinds of pieces and their look: a colour, by its name in `_THEMES`, and a style that works without colours.
KINDS = {
    "keyword": "color:var(--jk-keyword)",
    "operation": "color:var(--jk-operation);font-weight:bold",
    "variable": "",
    "type": "color:var(--jk-type)",
    "parameter": "color:var(--jk-parameter);font-style:italic",
    "text": "color:var(--jk-keyword)",
    "aside": "opacity:.7",
}

# keyword, operation, type, parameter: green, blue, vermilion, purple. The first theme is for unknown pages.
_THEMES = {
    ".jitkit-code": ("#008a66", "#007ec7", "#c85800", "#b25b93"),
    "[data-jp-theme-light=true] .jitkit-code,.vscode-light .jitkit-code": ("#007a5a", "#0072b2", "#b34e00", "#a3507f"),
    "[data-jp-theme-light=false] .jitkit-code,.vscode-dark .jitkit-code": ("#2fbf96", "#56b4e9", "#f0913a", "#dc95bd"),
}
_COLORS = ("keyword", "operation", "type", "parameter")


def _style() -> str:
    rules = [
        ".jitkit-code pre{white-space:pre!important;word-break:normal!important;overflow-wrap:normal!important}",
        ".jitkit-code pre{max-height:36em!important;overflow:auto!important;scrollbar-color:auto}",
        ".jitkit-code pre{margin:.3em 0;line-height:1.35;color:inherit;background:none}",
        # Styled bars do not fade away, as some systems' do: so it is visible that there is more text.
        ".jitkit-code pre::-webkit-scrollbar{width:11px;height:11px}",
        ".jitkit-code pre::-webkit-scrollbar-track,.jitkit-code pre::-webkit-scrollbar-corner{background:#8883}",
        ".jitkit-code pre::-webkit-scrollbar-thumb{background:#888;border-radius:5px}",
        ".jitkit-code [title]:hover{text-decoration:underline dotted;cursor:help}",
    ]
    for selector, tones in _THEMES.items():
        colors = ";".join(f"--jk-{name}:{tone}" for name, tone in zip(_COLORS, tones, strict=True))
        rules.append(f"{selector}{{{colors}}}")
    rules += [f".jitkit-code .jk-{kind}{{{look}}}" for kind, look in KINDS.items() if look]
    return f"<style>{''.join(rules)}</style>"


# --- the frame ----------------------------------------------------------------------------------------------


def frame(title: str, lines: Iterable[Iterable[Piece]], whole: str, note: str = "") -> str:
    """Return lines as HTML, at most `MAX_LINES` of them; if there are more, a sentence below says how many.

    `title` is above, `note` below; `whole` is the code that shows everything. All of `lines` is read, to count them.
    """
    shown: list[str] = []
    count = 0
    for line in lines:
        count += 1
        if count <= MAX_LINES:
            shown.append("".join(map(_painted, line)))
    head = f"<div><b>{escape(title)}</b></div>" if title else ""
    sentences = [*([cut_sentence(count, whole)] if count > MAX_LINES else ()), *([note] if note else ())]
    tail = "".join(f"<div>{escape(sentence)}</div>" for sentence in sentences)
    return box("\n".join(shown), head, tail)


def box(markup: str, above: str = "", below: str = "") -> str:
    """Return HTML whose lines stay whole, in a frame that scrolls."""
    return f'<div class="jitkit-code">{_style()}{above}<pre>{markup}</pre>{below}</div>'


def cut_sentence(count: int, whole: str) -> str:
    """Return the sentence below a cut text: how many of its `count` lines are shown, and where all are (`whole`)."""
    return f"These are the first {MAX_LINES} of {count} lines. All of them: {whole}"


def plain_text(text: str, whole: str) -> str:
    """Return a text for terminals; a long one is cut, as `frame` does."""
    text = text.rstrip("\n")
    lines = text.split("\n", MAX_LINES)
    if len(lines) <= MAX_LINES:
        return text
    count = MAX_LINES + 1 + lines.pop().count("\n")
    return "\n".join([*lines, cut_sentence(count, whole)])


def _painted(piece: Piece) -> str:
    words, kind, remark = piece
    if len(words) > MAX_COLUMNS:
        words = f"{words[:MAX_COLUMNS]}[and {len(words) - MAX_COLUMNS} more characters]"
    words = escape(words)
    if remark:
        note = escape(remark).replace("\n", "&#10;")
        return f'<span class="jk-{kind}" title="{note}">{words}</span>'
    return f'<span class="jk-{kind}">{words}</span>' if kind and KINDS[kind] else words


# --- text in lines: StableHLO, HLO --------------------------------------------------------------------------

_STABLEHLO = r"""
    (?P<aside>      \bloc\((?:[^()"]|"[^"]*"|\([^()]*\))*\) | ^\#loc.*$ )
  | (?P<operation>  "?\b(?:stablehlo|chlo|sdy|func)\.\w+"? | \b(?:module|return|call)\b )
  | (?P<text>       "(?:[^"\\]|\\.)*" )
  | (?P<variable>   %\w+(?:\#\d+)? )
  | (?P<keyword>    @\w+ | @"[^"]*" | \^\w+ )
  | (?P<type>       !?\b\w*(?:tensor|token|tuple)\b(?:<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>)? | \b[if](?:1|8|16|32|64)\b )
  | (?P<parameter>  \b[a-zA-Z][\w.]*(?=\ =\ ) )
"""

_HLO = r"""
    (?P<keyword>    \b(?:HloModule|ENTRY|ROOT)\b )
  | (?P<text>       "(?:[^"\\]|\\.)*" )
  | (?P<variable>   %[\w.\-]+ )
  | (?P<type>       \b(?:pred|token|bf16|[suc]\d+|f\d+\w*)\[[\d,<=]*\](?:\{[^{}]*\})? )
  | (?P<parameter>  \b\w+(?==) )
  | (?P<operation>  \b[a-z][\w\-]*(?=\() )
"""


def stablehlo_lines(text: str) -> Iterator[list[Piece]]:
    """Iterate over the lines of StableHLO, split into pieces."""
    return _lines(text, _STABLEHLO)


def hlo_lines(text: str) -> Iterator[list[Piece]]:
    """Iterate over the lines of HLO, split into pieces. The end of an operation's line (`metadata`, `backend_config`),
    most of the text, becomes the remark on the operation.
    """
    return _lines(text, _HLO, _without_asides)


def entry_first(text: str) -> str:
    """Return HLO with the entry computation first. XLA writes it last, after everything that it calls."""
    head, *computations = text.rstrip("\n").split("\n\n")
    computations.sort(key=lambda computation: not computation.startswith("ENTRY "))
    return "\n\n".join([head, *computations])


_ASIDE = r", (?:metadata|backend_config)=\{"
_METADATA = r'metadata=\{op_name="(?P<name>[^"]*)"(?:[^"}]*source_file="(?P<file>(?:[^"\\]|\\.)*)" source_line=(?P<line>\d+))?[^}]*\}'


def _without_asides(line: str) -> tuple[str, str]:
    """Return the operation in a line of HLO, and its metadata in words."""
    found = re.search(_ASIDE, line)
    if found is None:
        return line, ""
    aside = line[found.start() + 2 :]
    metadata = re.match(_METADATA, aside)
    if metadata is None:
        return line[: found.start()], aside[:_MAX_REMARK]
    told = [metadata["name"], aside[metadata.end() :].removeprefix(", ")[:_MAX_REMARK]]
    if metadata["line"]:
        file, number = metadata["file"], int(metadata["line"])
        told[1:1] = [f"at {source_info.place(file, number)}", linecache.getline(file, number).strip()]
    return line[: found.start()], "\n".join(filter(None, told))


def _whole(line: str) -> tuple[str, str]:
    return line, ""


def _lines(text: str, language: str, split: Callable[[str], tuple[str, str]] = _whole) -> Iterator[list[Piece]]:
    """Yield each line in pieces, and lines beyond MAX_LINES without any. The remark on a variable is the line that last
    defined it; `split` splits a line into the shown part and the remark on its operation.
    """
    tokens = re.compile(language, re.VERBOSE)
    definitions: dict[str, str] = {}
    for number, line in enumerate(text.rstrip("\n").split("\n")):
        if number >= MAX_LINES:
            yield []  # counted, not shown
            continue
        shown, about = split(line)
        yield list(_pieces(shown, tokens, definitions.get, about))
        defined = re.match(_DEFINED, shown)
        if defined:
            definitions[defined[1]] = shown.strip()[:_MAX_REMARK]


_DEFINED = r"\s*(?:ROOT )?(%[\w.\-]+)(?::\d+)? = "


def _pieces(line: str, tokens: re.Pattern[str], definition: Callable[[str], str | None], about: str) -> Iterator[Piece]:
    end = 0
    for token in tokens.finditer(line):
        if token.start() > end:
            yield Piece(line[end : token.start()])
        kind, words = token.lastgroup or "", token[0]
        remark = definition(words.partition("#")[0]) if kind == "variable" else None
        if kind == "operation":
            remark, about = about, ""
        yield Piece(words, kind, remark or "")
        end = token.end()
    yield Piece(line[end:])
