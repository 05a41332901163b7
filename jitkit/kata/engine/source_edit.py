"""source + functions -> source: replaces functions in a file's source, and leaves every other line unchanged

`reset` uses this on a learner's file, and `export` on the reference's modules.
"""

from __future__ import annotations

import ast
import itertools
import textwrap
from collections.abc import Mapping, Sequence

from .name_origins import meanings
from .names import Function, tree_of
from .own_names import first_statement, own_imports
from .splice import added_decorators, added_statements, learners_decorate
from .submission import LearnerFile, Target


def function_text(source: str, function: Function, decorators: Sequence[ast.expr] = ()) -> str:
    """Return the lines of a function, moved to the left margin. Only its last decorators, `decorators`, are kept. If moving the lines
    would change a string in them, the function is written anew (`ast.unparse`), without comments.
    """
    first = min([function.lineno, *(decorator.lineno for decorator in decorators)])
    lines = source.splitlines(keepends=True)[first - 1 : function.end_lineno]
    if function.col_offset == 0:
        return "".join(lines)
    margins = {line[: function.col_offset] for line in lines if line.strip()}
    if len(margins) == 1 and not next(iter(margins)).strip() and not _has_open_text(function):
        return "".join(line[function.col_offset :] if line.strip() else line for line in lines)
    plain = type(function)(**dict(ast.iter_fields(function)))
    plain.decorator_list = list(decorators)
    return ast.unparse(ast.fix_missing_locations(plain)) + "\n"


def with_imports(text: str, imports: Sequence[ast.stmt]) -> str:
    """Return the source of a function at the left margin, with imports at the beginning of its body."""
    if not imports:
        return text
    function = tree_of(text).body[0]
    assert isinstance(function, Function), "the text is a function's"
    first = function.body[first_statement(function)]
    line = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", ()))])
    written = text.splitlines(keepends=True)[line - 1].encode()
    before, rest = written[: first.col_offset].decode(), written[first.col_offset :].decode()
    between = "; " if before.strip() else f"\n{before}"  # `def f(x): return x` on one line
    put = between.join(ast.unparse(statement) for statement in imports)
    return edit_lines(text, [(line - 1, line, f"{before}{put}{between}{rest}")])


def _has_open_text(function: Function) -> bool:
    """Return whether a string other than the docstring spans several lines: indenting those lines would change it."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(function)
        if isinstance(node, Function | ast.ClassDef) and node.body and isinstance(node.body[0], ast.Expr)
    }
    texts = (n for n in ast.walk(function) if isinstance(n, ast.Constant | ast.JoinedStr))
    return any(n.lineno != n.end_lineno and id(n) not in docstrings for n in texts)


def replace_functions(source: str, replacements: Mapping[str, str], own_decorators: bool = True) -> str:
    """Return the source with functions, by their dotted names, replaced by sources that begin with `def` at the left
    margin.

    Args:
      own_decorators: whether a replaced function's decorators stay.

    Raise KeyError for a name that is not in the source.
    """
    functions = LearnerFile.parse(source, "", ()).functions
    edits = []
    for name, text in replacements.items():
        function = functions[name]
        first = function.lineno
        if not own_decorators and function.decorator_list:
            first = function.decorator_list[0].lineno
        edits.append((first - 1, function.end_lineno or first, _indented(text, function)))
    return edit_lines(source, edits)


def edit_lines(source: str, edits: Sequence[tuple[int, int, str]]) -> str:
    """Return the source with lines `[start, end)`, counted from 0, replaced by strings. The edits may not overlap."""
    lines = source.splitlines(keepends=True)
    for start, end, text in sorted(edits, reverse=True):
        lines[start:end] = [text if text.endswith("\n") or not text else text + "\n"]
    return "".join(lines)


def _indented(text: str, function: Function) -> str:
    if function.col_offset == 0:
        return text
    tree = tree_of(text).body[0]
    if isinstance(tree, Function) and _has_open_text(tree):
        text = ast.unparse(tree) + "\n"
    return textwrap.indent(text, " " * function.col_offset)


def insert_before_function(source: str, name: str, text: str) -> str:
    """Return the source with another source inserted before the top-level statement that contains the function with this dotted name, and
    before the comments above that statement.
    """
    tree = tree_of(source)
    top = name.partition(".")[0]
    node = next(n for n in tree.body if getattr(n, "name", None) == top)
    decorators = getattr(node, "decorator_list", [])
    line = min([node.lineno, *(d.lineno for d in decorators)]) - 1
    lines = source.splitlines()
    comments = itertools.takewhile(lambda i: lines[i].startswith("#"), range(line - 1, -1, -1))
    line -= sum(1 for _ in comments)
    return edit_lines(source, [(line, line, text.rstrip("\n") + "\n\n\n")])


def splice_text(text: str, reference: str, file: LearnerFile, targets: Sequence[Target]) -> str:
    """Return a module's source with functions of a learner's file put in. The helpers that these functions use stand before the
    first of them.

    `reference` is the module's source before any functions were put in: a method that it has is not added. Raise SpliceError if
    the file has no such function, a decorator does not fit, or a helper has a name that the module has.
    """
    module = LearnerFile.parse(reference, "", ())
    there = module.functions
    known = set(there)
    theirs = learners_decorate(module.tree)
    names = meanings(reference, targets[0].module)
    replacements: dict[str, str] = {}
    for target in targets:
        functions = [file.find(target)]
        for method in file.helping_methods(target):
            name = ".".join((*target.path[:-1], method.name))
            if name not in known:
                known.add(name)
                functions.append(method)
        texts = []
        for f in functions:
            own = f.decorator_list if theirs or f is not functions[0] else added_decorators(f, there[target.name])
            texts.append(with_imports(function_text(file.source, f, own), own_imports(f, file, names)))
        replacements[target.name] = "\n".join(texts)
    text = replace_functions(text, replacements, own_decorators=not theirs)
    statements = added_statements(names, file, targets)
    if not statements:
        return text
    first = min((target.name for target in targets), key=lambda name: _line_of(text, name))
    return insert_before_function(text, first, "\n\n\n".join(_statement_text(file.source, s) for s in statements))


def _line_of(text: str, name: str) -> int:
    return LearnerFile.parse(text, "", ()).functions[name].lineno


def _statement_text(source: str, statement: ast.stmt) -> str:
    """Return a helper as it is written in the source. An import is written anew, since some of its names may have
    been left out.
    """
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return ast.unparse(statement)
    decorators = getattr(statement, "decorator_list", [])
    start = min([statement.lineno, *(d.lineno for d in decorators)])
    return "".join(source.splitlines(keepends=True)[start - 1 : statement.end_lineno]).rstrip("\n")
