"""equations -> Listing: the Python that wrote them

The pane shows the user's functions that wrote equations, each as a whole, the explored function first. If there is no
source (a prompt, `exec`), it shows the numbers of the lines, so that the links work. If the file has changed since the
code was compiled, the pane says so, because lines may have moved.

JAX: jax/_src/source_info_util.py:user_frames
"""

from __future__ import annotations
import __future__

import ast
import dataclasses
import functools
import importlib
import inspect
import linecache
import operator
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any

from ..base.source_info import cell
from .equation import Equation, Place
from .listing import MOST_COLUMNS, Listing

_lexers = importlib.import_module("pygments.lexers.python")  # not by `import`: pygments has no types for mypy
Token = importlib.import_module("pygments.token").Token

_FEATURES = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)

# Pygments' type of a token -> the colour it gets; the first type that fits counts
_PAINT = (
    (Token.Comment, "comment"), (Token.Literal.String, "text"), (Token.Literal.Number, "number"),
    (Token.Keyword, "keyword"), (Token.Operator.Word, "keyword"), (Token.Name.Function, "operation"),
    (Token.Name.Class, "operation"), (Token.Name.Decorator, "parameter"), (Token.Name.Builtin, "type"),
)  # fmt: skip


@dataclasses.dataclass
class Source:
    """The Python pane. For each row, `numbers` has the number of its line (None for a heading or an empty row), and `colours` the
    lengths and kinds of its tokens. `sentences` has remarks.
    """

    listing: Listing
    numbers: list[int | None] = dataclasses.field(default_factory=list)
    colours: list[list[tuple[int, str]]] = dataclasses.field(default_factory=list)
    sentences: list[str] = dataclasses.field(default_factory=list)

    def as_data(self) -> dict[str, Any]:
        """Return the pane as plain data, as `docs/explorer.md` describes it."""
        return self.listing.as_data() | {"numbers": self.numbers, "colours": self.colours, "sentences": self.sentences}

    def row(self, line: str, number: int | None, numbers: Sequence[int], colours: list[tuple[int, str]]) -> None:
        """Add a line."""
        self.listing.add(line, numbers)
        self.numbers.append(number)
        self.colours.append(colours)


def source(function: Callable[..., Any], equations: Sequence[Equation], more: Sequence[Place] = ()) -> Source:
    """Return the source of a function, and of the functions that contain its equations and `more` places."""
    at: dict[str, dict[int, list[int]]] = {}
    codes: dict[str, list[CodeType]] = {}
    own = _place_of(function)
    places: list[tuple[int | None, Place]] = [(None, own)] if own else []
    places += [(number, each.place) for number, each in enumerate(equations) if each.place]
    for number, place in [*places, *((None, place) for place in more)]:
        numbers = at.setdefault(place.file, {}).setdefault(place.line, [])
        numbers += [] if number is None else [number]
        if isinstance(place.code, CodeType):
            codes.setdefault(place.file, []).append(place.code)
    found = Source(Listing("python"))
    for file, by_line in at.items():
        linecache.checkcache(file)
        lines = [line.rstrip("\n") for line in linecache.getlines(file) or _from_loader(file)]
        heading = cell(file) or file
        changed = bool(lines) and _changed("\n".join(lines) + "\n", file, codes.get(file, []))
        if not lines or (changed and file.startswith("<")):  # `<string>` may be any text, that of `python -c` above all
            found.row(f"{heading}: its source is not available", None, [], [])
            found.sentences.append(_no_source(heading, file))
            for line, numbers in sorted(by_line.items()):
                found.row(f"line {line}", line, numbers, [])
            continue
        if changed:
            found.sentences.append(f"{heading} has changed since it was imported: its lines may not be those that ran.")
        short = heading if heading != file else os.path.basename(file)
        found.row(short, None, [], [])
        for first, last in _blocks(lines, sorted(by_line)):
            found.row("", None, [], [])
            painted = _painted("\n".join(lines[first - 1 : last]))
            for line, colours in zip(range(first, last + 1), painted, strict=False):
                found.row(lines[line - 1], line, by_line.get(line, []), colours)
    return found


def _from_loader(file: str) -> list[str]:
    """Return the source of a module without a file of its own, as in a zip, from the loader that imported it."""
    module = next((each for each in list(sys.modules.values()) if getattr(each, "__file__", None) == file), None)
    return linecache.getlines(file, vars(module)) if module else []


def _no_source(heading: str, file: str) -> str:
    if os.path.isabs(file):
        return f"{heading} is not there any more, or cannot be read: the numbers of its lines stand here."
    return (
        f"{heading}: Python keeps no source of what is typed at its prompt or passed to exec. Write the function to a file, or "
        "into a notebook, to see it here."
    )


def _place_of(function: Callable[..., Any]) -> Place | None:
    plain: Any = inspect.unwrap(function)
    code = getattr(plain, "__code__", None) or getattr(getattr(plain, "func", None), "__code__", None)
    if code is None:  # an object that can be called, such as a module of equinox's
        code = getattr(vars(type(plain)).get("__call__"), "__code__", None)
    return Place(code.co_filename, code.co_firstlineno, code.co_qualname, code) if isinstance(code, CodeType) else None


def _blocks(lines: Sequence[str], wanted: Sequence[int]) -> list[tuple[int, int]]:
    """Return the parts of a file around these lines, each as its first and last line: the function around a line; if
    there is none, the statement; else three lines before and after. Adjacent parts are merged.
    """
    try:
        tree: ast.Module | None = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError):
        tree = None
    parts = []
    for line in wanted:
        around = _around(tree, line) if tree else None
        parts.append(around or (max(1, line - 3), min(len(lines), line + 3)))
    merged: list[tuple[int, int]] = []
    for first, last in sorted(set(parts)):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(merged[-1][1], last)
        elif first <= len(lines):
            merged.append((first, min(last, len(lines))))
    return merged


def _around(tree: ast.Module, line: int) -> tuple[int, int] | None:
    """Return the first and last line of the innermost function around a line, with its decorators; outside of functions, of the
    statement; None if there is neither.
    """
    found: tuple[int, int] | None = None
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt):
            continue
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(each.lineno for each in decorators)])
        last = node.end_lineno or node.lineno
        if first <= line <= last:
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            if is_function or (found is None and not isinstance(node, ast.ClassDef)):
                found = first, last
    return found


def _painted(text: str) -> list[list[tuple[int, str]]]:
    """Return the tokens of each line, as lengths and kinds."""
    rows: list[list[tuple[int, str]]] = [[]]
    for kind, words in _lexers.PythonLexer(stripnl=False, ensurenl=False).get_tokens(text):
        paint = next((name for token, name in _PAINT if kind in token), "")
        for i, part in enumerate(words.split("\n")):
            if i:
                rows.append([])
            if part and rows[-1] and rows[-1][-1][1] == paint:
                rows[-1][-1] = rows[-1][-1][0] + len(part), paint
            elif part:
                rows[-1].append((min(len(part), MOST_COLUMNS), paint))
    return rows


def _changed(text: str, file: str, codes: Sequence[CodeType]) -> bool:
    """Return whether a source differs from the text from which these code objects were compiled."""
    if not codes:
        return False
    # features of `__future__` -> the code that the text compiles to with them (text in `exec` inherits its caller's features)
    there: dict[int, set[CodeType]] = {}
    try:
        for code in codes:
            features = code.co_flags & _FEATURES
            if features not in there:
                # IPython compiles a cell statement by statement. As a whole, the cell may have other code: a call of a
                # module's function differs if the same text imports the module.
                tree = compile(text, file, "exec", ast.PyCF_ONLY_AST | features, dont_inherit=True)
                parts = [ast.Module([part], []) for part in tree.body] if cell(file) else [tree]
                compiled = [compile(part, file, "exec", features, dont_inherit=True) for part in parts]
                there[features] = {each for code in compiled for each in _codes(code)}
            if code not in there[features]:
                return True
    except (SyntaxError, ValueError):
        return True
    return False


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
