"""the source of a program -> sources with fewer lines, some of which may still show the same difference"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .names import names_bound, tree_of

_MOST_PASSES = 20


def fewer_lines(text: str) -> Iterator[str]:
    """Yield the program without unused definitions, if it has any; then, for each statement that may be left out, the program
    without the statement.
    """
    plain = _without_unused(text)
    if plain != text:
        yield plain
    for first, last, _ in _statements(plain):
        yield _without_unused(_cut(plain, first, last))


def _cut(text: str, first: int, last: int) -> str:
    lines = text.splitlines()
    return "\n".join([*lines[: first - 1], *lines[last:]])


def _statements(text: str) -> list[tuple[int, int, ast.stmt]]:
    """Return the statements that may be left out, each with its first and last line. These may not: the last statement of the
    program, the only statement of a body, the statements of a class (Python calls its methods without naming them), each
    `return`, and a body on the line of its header.
    """
    tree = tree_of(text)
    found = []
    for node in (node for node in ast.walk(tree) if not isinstance(node, ast.ClassDef)):
        for body in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            if not isinstance(body, list) or not body or not isinstance(body[0], ast.stmt):
                continue
            if body[0].lineno == getattr(node, "lineno", 0) or (len(body) == 1 and node is not tree):
                continue
            for part in body[:-1] if node is tree else body:
                first = min([part.lineno, *(d.lineno for d in getattr(part, "decorator_list", ()))])
                if not isinstance(part, ast.Return):
                    found.append((first, part.end_lineno or part.lineno, part))
    return sorted(found, key=lambda each: each[0])


def _without_unused(text: str) -> str:
    """Return the program without definitions and assignments that nothing reads. These statements are cut one by one, since each cut may
    make others unused, and at most `_MOST_PASSES`.
    """
    for _ in range(_MOST_PASSES):
        read = {n.id for n in ast.walk(tree_of(text)) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        unused = [
            (first, last)
            for first, last, part in _statements(text)
            if _binds_only_names(part) and not read.intersection(names_bound(part))
        ]
        if not unused:
            break
        text = _cut(text, *unused[0])
    return text


def _binds_only_names(node: ast.stmt) -> bool:
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
        return True
    return isinstance(node, ast.Assign) and all(isinstance(n, ast.Name | ast.Tuple) for n in node.targets)
