"""pitfall -> the text of its programs, as a learner reads them: with the definitions that they use, without annotations."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from typing import Any

from .pair import Pitfall


def sources(pitfall: Pitfall) -> tuple[str, str]:
    """Return the slow program and the mended one, each with the definitions of its module that it uses."""
    return _with_definitions(pitfall.slow), _with_definitions(pitfall.mended)


def _with_definitions(program: Callable[..., Any]) -> str:
    source = inspect.getsource(sys.modules[program.__module__])
    tree = ast.parse(source)
    wanted = _used(program, tree)
    lines = source.splitlines()
    found = [node for node in tree.body if wanted & _names(node)]
    return "\n\n".join(_without_annotations("\n".join(lines[_first(node) - 1 : node.end_lineno])) for node in found)


def _first(node: ast.stmt) -> int:
    """Return the first line of a statement; decorators belong to it."""
    decorators = node.decorator_list if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else []
    return min([node.lineno, *[decorator.lineno for decorator in decorators]])


def _names(node: ast.stmt) -> set[str]:
    """Return the names that a function, a class or an assignment without annotation defines; none for other statements."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    return set()


def _used(program: Callable[..., Any], tree: ast.Module) -> set[str]:
    """Return the name of the program, and the names of its module that it uses, directly or through others."""
    nodes = {name: node for node in tree.body for name in _names(node)}
    wanted: set[str] = set()
    pending = [program.__name__]
    while pending:
        name = pending.pop()
        if name in nodes and name not in wanted:
            wanted.add(name)
            pending += [node.id for node in ast.walk(nodes[name]) if isinstance(node, ast.Name)]
    return wanted


def _without_annotations(text: str) -> str:
    lines = text.splitlines()
    cuts: list[tuple[int, int, int]] = []  # what to cut out: a line, the first byte, and the end
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arg) and node.annotation is not None:
            cuts.append((node.lineno, node.col_offset + len(node.arg), _end(node.annotation)))
        elif isinstance(node, ast.FunctionDef) and node.returns is not None:
            arrow = lines[node.returns.lineno - 1].rindex(" -> ", 0, node.returns.col_offset)
            cuts.append((node.returns.lineno, arrow, _end(node.returns)))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            cuts.append((node.lineno, _end(node.target), _end(node.annotation)))
    for line, start, end in sorted(cuts, reverse=True):
        lines[line - 1] = lines[line - 1][:start] + lines[line - 1][end:]
    return "\n".join(lines)


def _end(node: ast.expr) -> int:
    if node.end_col_offset is None:
        raise ValueError(f"this was not parsed from text: {ast.dump(node)}")
    return node.end_col_offset
