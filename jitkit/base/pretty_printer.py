"""document -> text: a tree of words and possible line breaks becomes lines of at most 80 columns

A document says where a line *may* be broken. A `group` is printed on one line if all of it fits on the rest of the
current line; otherwise its own breaks become newlines, and the groups inside it are tried in the same way. `nest`
indents the lines that begin inside it.

Lindig's algorithm finds out whether a group fits by walking through it, which is quadratic in deep documents. Here
every document knows its width on one line, so the test is one comparison, and formatting is one loop over an explicit
stack: linear, and of any depth.

`Doc.lines` yields lines of pieces, and `_paint` turns the pieces into a string. For other painters (HTML in notebooks),
a piece also says what it is `about`.

Sources: Wadler, "A prettier printer" (1998); Lindig, "Strictly Pretty" (2000); Hafiz, "Strictly Annotated" (2021).

JAX: jax/_src/pretty_printer.py:Doc
"""

from __future__ import annotations

import builtins
import enum
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple


class Color(enum.IntEnum):
    """Colours of a terminal, by their SGR codes as foreground; a background is ten more."""

    BLACK = 30
    RED = 31
    GREEN = 32
    YELLOW = 33
    BLUE = 34
    MAGENTA = 35
    CYAN = 36
    WHITE = 37
    RESET = 39


class Intensity(enum.IntEnum):
    """Weights of a terminal's letters, by their SGR codes."""

    BRIGHT = 1
    DIM = 2
    NORMAL = 22


class Style(NamedTuple):
    """How a piece of text looks."""

    foreground: Color = Color.RESET
    background: Color = Color.RESET
    intensity: Intensity = Intensity.NORMAL


_PLAIN = Style()
_ANNOTATION = Style(intensity=Intensity.DIM)


# --- documents: made with the functions below, never changed, free to be shared -----------------------------


class Doc:
    """A document. `width` is the number of columns it takes when no break in it becomes a newline."""

    __slots__ = ("width",)

    width: int

    def __add__(self, other: Doc) -> Doc:
        return _Concat((self, other))

    def __str__(self) -> str:
        return self.format()

    def format(self, width: int = 80, *, use_color: bool | None = None, annotation_prefix: str = " # ") -> str:
        """Return the document as text, in lines of at most `width` columns where its breaks allow it. `use_color=None`
        means colours if standard output is a terminal or a notebook and the environment has no NO_COLOR.
        """
        lines = list(self.lines(width))
        return _paint(lines, annotation_prefix, can_use_color() if use_color is None else use_color)

    def lines(self, width: int = 80) -> Iterator[Line]:
        """Yield the lines of the document, before they are painted."""
        return _layout(self, width)


class _Text(Doc):
    __slots__ = ("about", "annotation", "text")

    def __init__(self, text: str, annotation: str | None, about: object) -> None:
        self.text = text
        self.annotation = annotation
        self.about = about
        self.width = _columns(text)


class _Break(Doc):
    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text
        self.width = _columns(text)


class _Concat(Doc):
    __slots__ = ("children",)

    def __init__(self, children: Sequence[Doc]) -> None:
        self.children = children
        self.width = sum([child.width for child in children])


class _Group(Doc):
    __slots__ = ("child",)

    def __init__(self, child: Doc) -> None:
        self.child = child
        self.width = child.width


class _Nest(Doc):
    __slots__ = ("child", "indent")

    def __init__(self, indent: int, child: Doc) -> None:
        self.indent = indent
        self.child = child
        self.width = child.width


class _Color(Doc):
    __slots__ = ("background", "child", "foreground", "intensity")

    def __init__(
        self, child: Doc, foreground: Color | None, background: Color | None, intensity: Intensity | None
    ) -> None:
        self.child = child
        self.foreground = foreground
        self.background = background
        self.intensity = intensity
        self.width = child.width

    def over(self, style: Style) -> Style:
        """Return the combination of this style with `style`, the style around it."""
        return Style(
            self.foreground or style.foreground, self.background or style.background, self.intensity or style.intensity
        )


def _columns(text: str) -> int:
    # JAX counts UTF-8 bytes. Terminals do not, but line breaks must be where JAX's are.
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


_NIL = _Concat(())


def nil() -> Doc:
    """Return the empty document."""
    return _NIL


def text(text: str, annotation: str | None = None, about: object = None) -> Doc:
    """Return a document of words, without breaks. The annotation, a remark, goes to the end of the line; all stand in
    one column. `about` is for painters that show more than words.
    """
    return _Text(text, annotation, about)


def concat(children: Iterable[Doc]) -> Doc:
    """Return documents, concatenated."""
    return _Concat(tuple(children))


def brk(text: str = " ") -> Doc:
    """Return a break: a newline or `text`, as the innermost group decides. Outside of any group it is a newline."""
    return _Break(text)


def group(doc: Doc) -> Doc:
    """Return `doc` with all breaks as their text if it fits on the line, else with its own breaks as newlines."""
    return _Group(doc)


def nest(n: int, doc: Doc) -> Doc:
    """Return `doc` with the lines that begin inside it indented by `n` columns."""
    return _Nest(n, doc)


def color(
    child: Doc, foreground: Color | None = None, background: Color | None = None, intensity: Intensity | None = None
) -> Doc:
    """Return `child` in another style; None keeps the outer one."""
    return _Color(child, foreground, background, intensity)


def keyword(doc: Doc) -> Doc:
    """Return `doc` in the style of a keyword."""
    return color(doc, foreground=Color.BLUE, intensity=Intensity.BRIGHT)


def type_annotation(doc: Doc) -> Doc:
    """Return `doc` in the style of a type."""
    return color(doc, foreground=Color.MAGENTA, intensity=Intensity.NORMAL)


def join(sep: Doc, docs: Iterable[Doc]) -> Doc:
    """Return `docs`, concatenated, with `sep` between each two."""
    parts: list[Doc] = []
    for doc in docs:
        parts.append(doc)
        parts.append(sep)
    return _Concat(tuple(parts[:-1]))


# --- layout: where the lines end ----------------------------------------------------------------------------


class Line(NamedTuple):
    """A line: `pieces` are words, their style, and what they are about; `width` its columns, with the indentation."""

    indent: int
    pieces: list[tuple[str, Style, object]]
    width: int
    annotations: list[str]


def _layout(doc: Doc, width: int) -> Iterator[Line]:
    start = column = 0
    pieces: list[tuple[str, Style, object]] = []
    annotations: list[str] = []
    # Still to be printed, the next on top: (indentation, are breaks flat?, style, document)
    stack = [(0, False, _PLAIN, doc)]
    while stack:
        indent, flat, style, doc = stack.pop()
        if isinstance(doc, _Text):
            pieces.append((doc.text, style, doc.about))
            column += doc.width
            if doc.annotation is not None:
                annotations.append(doc.annotation)
        elif isinstance(doc, _Concat):
            stack.extend([(indent, flat, style, child) for child in reversed(doc.children)])
        elif isinstance(doc, _Break):
            if flat:
                pieces.append((doc.text, style, None))
                column += doc.width
            else:
                yield Line(start, pieces, column, annotations)
                pieces, annotations = [], []
                start = column = indent
        elif isinstance(doc, _Group):
            # A group inside of a flat one is flat, since the outer one's width counted it.
            stack.append((indent, flat or column + doc.width <= width, style, doc.child))
        elif isinstance(doc, _Nest):
            stack.append((indent + doc.indent, flat, style, doc.child))
        elif isinstance(doc, _Color):
            stack.append((indent, flat, doc.over(style), doc.child))
    yield Line(start, pieces, column, annotations)


# --- painting: lines as a string ----------------------------------------------------------------------------


def can_use_color() -> bool:
    """Return whether standard output shows colours and the user has not disabled them (https://no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    get_ipython = getattr(builtins, "get_ipython", None)
    if get_ipython is not None:
        shell = type(get_ipython())
        if shell.__name__ == "ZMQInteractiveShell" or "colab" in shell.__module__:
            return True
    return sys.stdout is not None and sys.stdout.isatty()


def _paint(lines: Sequence[Line], annotation_prefix: str, use_color: bool) -> str:
    edge = max(line.width for line in lines)  # the column where annotations begin, in every line
    remark = f"\x1b[{Intensity.DIM}m%s\x1b[{Intensity.NORMAL}m" if use_color else "%s"
    out: list[str] = []
    current = _PLAIN
    for line in lines:
        parts = [" " * line.indent]
        for words, style, _ in line.pieces:
            if use_color and style is not current:
                parts.append(_escape(current, style))
                current = style
            parts.append(words)
        if use_color and (line.annotations or line is lines[-1]):
            parts.append(_escape(current, _PLAIN))
            current = _PLAIN
        out.append("".join(parts))
        for row, annotation in enumerate(line.annotations):
            gap = " " * (edge if row else edge - line.width)
            tail = remark % f"{gap}{annotation_prefix}{annotation}"
            if row:
                out.append(tail)
            else:
                out[-1] += tail
    return "\n".join(out)


def _escape(old: Style, new: Style) -> str:
    """Return the escape sequence from one style to another: like JAX's, only the differences."""
    codes = (new.foreground, new.background + 10, new.intensity)
    changed = [str(int(code)) for code, before, after in zip(codes, old, new, strict=True) if before != after]
    return f"\x1b[{';'.join(changed)}m" if changed else ""
