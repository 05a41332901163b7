"""the syntax tree of a learner's file -> the names that its parts read and bind"""

from __future__ import annotations

import ast
import functools
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

_one_at_a_time = threading.Lock()


def tree_of(source: str | bytes, filename: str = "<unknown>") -> ast.Module:
    """Return the syntax tree of Python source. Only one thread parses at a time: Python 3.11 has one counter of depth for all threads, and
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
        found += _children(each)
    return found


def _children(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for value in vars(node).values():
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
    """Return the free names of a function: those that are local neither to it nor to a function, class or the like in it, as `y` in
    `def f(x): return [x + y for z in x]`. (So if a notebook also has `x = f(3.0)`, this statement is not taken for a helper of f.)
    For any other statement, return the names that it reads or assigns in its own scope, and the free names of functions and the like in it.
    """
    declared = {name for part in walk(node) if isinstance(part, ast.Global) for name in part.names}
    return frozenset(_used([node]) | declared)


def names_bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement, or a module, binds in its own scope: outside functions, classes, lambdas and
    comprehensions in it. Yield also names declared `global` or `nonlocal`. Leave out names of `except ... as`, which
    end with the handler.
    """
    for part in _in_scope([node]):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id
        elif isinstance(part, Function | ast.ClassDef):
            yield part.name
        elif isinstance(part, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in part.names)
        elif isinstance(part, ast.MatchAs | ast.MatchStar | ast.MatchMapping):
            name = part.rest if isinstance(part, ast.MatchMapping) else part.name
            yield from [name] if name else ()
        elif isinstance(part, _COMPREHENSIONS):
            yield from _assigned_from_inside(part)


def _assigned_from_inside(comprehension: ast.AST) -> Iterator[str]:
    """Yield the names to which `:=` in a comprehension assigns: they belong to the scope around it."""
    for part in _in_scope(_parts(comprehension)[2]):
        if isinstance(part, ast.NamedExpr):
            yield part.target.id
        elif isinstance(part, _COMPREHENSIONS):
            yield from _assigned_from_inside(part)


def _used(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that these nodes read or assign in their own scope, and the free names of the scopes inside them."""
    found = set[str]()
    for part in _in_scope(nodes):
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif _is_scope(part):
            found |= _free(part)
    return found


def _free(scope: Any) -> set[str]:
    """Return the names that a scope uses and does not bind; not those of its decorators, default values and the like, which are computed
    outside of it.
    """
    _, typed, inside = _parts(scope)
    types = {part.name for part in getattr(scope, "type_params", ())}
    if isinstance(scope, ast.ClassDef):
        free = _free_in_class(inside)
    elif isinstance(scope, _COMPREHENSIONS):
        free = _used(inside) - {name for each in scope.generators for name in names_bound(each.target)}
    elif isinstance(scope, _FUNCTIONS):
        free = _used(inside) - _locals(inside) - {part.arg for part in _parameters(scope)} | _declared(inside)
    else:
        free = set()  # of `type X[T] = ...`, all is in `typed`
    return (free | _used(typed)) - types


def _locals(body: Sequence[ast.AST]) -> set[str]:
    """Return the names that belong to a function because its body binds or deletes them."""
    found = {name for part in body for name in names_bound(part)}
    for part in _in_scope(body):
        if isinstance(part, ast.ExceptHandler) and part.name:
            found.add(part.name)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Del):
            found.add(part.id)
    return found


def _declared(body: Iterable[ast.AST]) -> set[str]:
    return {name for part in _in_scope(body) if isinstance(part, ast.Global | ast.Nonlocal) for name in part.names}


def _free_in_class(body: Sequence[ast.AST]) -> set[str]:
    """Return the free names of the body of a class. Its methods do not see its names. Before the class binds a name, as in `x = x`, it
    reads the name of the scope around it.
    """
    found, bound = _declared(body), set[str]()
    for statement in body:
        parts, before = _in_scope([statement]), set(bound)
        bound |= _locals([statement])
        known = before if isinstance(statement, ast.Assign | ast.AnnAssign) else bound
        found |= {n.id for n in parts if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} - known
        found |= {name for part in parts if _is_scope(part) for name in _free(part)} - {"__class__"}
    return found


def _in_scope(nodes: Iterable[ast.AST]) -> list[ast.AST]:
    """Return the nodes and those inside them, without the scopes of functions, classes, lambdas and comprehensions there."""
    found = list(nodes)
    for each in found:  # the list grows meanwhile
        found += _parts(each)[0] if _is_scope(each) else _children(each)
    return found


def _is_scope(node: ast.AST) -> bool:
    return isinstance(node, (*_FUNCTIONS, ast.ClassDef, *_COMPREHENSIONS)) or hasattr(node, "type_params")


def _parts(scope: Any) -> tuple[Sequence[ast.AST], Sequence[ast.AST], Sequence[ast.AST]]:
    """Return the parts of a function, class, lambda, comprehension or `type` statement: those evaluated in the
    enclosing scope, those that see only its type parameters, and those in its own scope.
    """
    types = getattr(scope, "type_params", [])
    if isinstance(scope, _COMPREHENSIONS):
        first = scope.generators[0]
        others = [part for part in _children(scope) if part is not first]
        return [first.iter], [], [*others, first.target, *first.ifs]
    if isinstance(scope, ast.ClassDef):
        typed = [*types, *scope.bases, *scope.keywords]
        return (scope.decorator_list, typed, scope.body) if types else ([*scope.decorator_list, *typed], [], scope.body)
    if not isinstance(scope, _FUNCTIONS):  # `type X[T] = ...`
        return [scope.name], [*types, scope.value], []
    args = scope.args
    around = [*getattr(scope, "decorator_list", ()), *args.defaults, *filter(None, args.kw_defaults)]
    annotations = [*(part.annotation for part in _parameters(scope)), getattr(scope, "returns", None)]
    typed = [*types, *filter(None, annotations)]
    inside = scope.body if isinstance(scope.body, list) else [scope.body]
    return (around, typed, inside) if types else ([*around, *typed], [], inside)


def _parameters(function: Any) -> list[ast.arg]:
    args = function.args
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]
