"""the syntax tree of a learner's file -> the names that its parts read and bind"""

from __future__ import annotations

import ast
import functools
import threading
from collections.abc import Iterable, Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef

_one_at_a_time = threading.Lock()


def tree_of(source: str, filename: str = "<unknown>") -> ast.Module:
    """Return the syntax tree of a text. Only one thread parses at a time: Python 3.11 has one counter of depth for all threads, and
    if two of them parse at once, one of them sometimes ends in a SystemError.

    Raises:
      SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse`; the last two for deep nesting.
    """
    with _one_at_a_time:
        return ast.parse(source, filename)


def walk(node: ast.AST) -> list[ast.AST]:
    """Return the same nodes as `ast.walk`, in a third of the time."""
    found = [node]
    for each in found:  # the list grows meanwhile
        for value in vars(each).values():
            if isinstance(value, ast.AST):
                found.append(value)
            elif isinstance(value, list):
                found += [part for part in value if isinstance(part, ast.AST)]
    return found


def names_used(node: ast.AST) -> set[str]:
    """Return the names in a statement, those that it reads and those that it assigns."""
    return {n.id for n in walk(node) if isinstance(n, ast.Name)}


@functools.lru_cache(maxsize=1024)
def globals_used(node: ast.stmt) -> frozenset[str]:
    """Return the free names of a function, which belong neither to it nor to a function, lambda or comprehension in it: `y` in
    `def f(x): return [x + y for z in x]`. (So if a notebook also has `x = f(3.0)`, this does not count as a helper of f.)
    For any other statement, return all names in it.
    """
    return frozenset(_free(node)) if isinstance(node, Function) else frozenset(names_used(node))


def _free(node: ast.AST) -> set[str]:
    """Return the free variables of a node: names that it uses and does not bind."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, Function | ast.Lambda):
        args = node.args
        parts = [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]
        body = node.body if isinstance(node.body, list) else [node.body]
        inside = _free_in(body)
        own = {part.arg for part in parts} | {name for child in body for name in names_bound(child)}
        own -= {name for child in body for name in _declared(child)}
        outside = [*args.defaults, *args.kw_defaults, *(part.annotation for part in parts)]
        outside += [*getattr(node, "decorator_list", ()), getattr(node, "returns", None)]
        return (inside - own) | _free_in([part for part in outside if part is not None])
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        first = _free(node.generators[0].iter)  # the first iterable is computed outside of the comprehension
        own = {name for each in node.generators for name in names_bound(each.target)}
        return first | (_free_in(ast.iter_child_nodes(node)) - own)
    if isinstance(node, ast.ExceptHandler) and node.name:
        return _free_in(ast.iter_child_nodes(node)) - {node.name}
    return _free_in(ast.iter_child_nodes(node))


def _free_in(nodes: Iterable[ast.AST]) -> set[str]:
    return {name for node in nodes for name in _free(node)}


def _declared(node: ast.AST) -> Iterator[str]:
    """Yield the names that a part of a function declares as global or nonlocal."""
    if isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names
    elif not isinstance(node, Function | ast.ClassDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _declared(child)


def names_bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement, or the body of a module, binds in its own scope."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return
    for child in ast.iter_child_nodes(node):
        yield from names_bound(child)
