"""a function's syntax tree -> its mutants: the same function with one thing wrong

Each row names an operator and the changes that it makes:

    negate       negates a condition, or drops its `not`; exchanges `and` and `or`, `all` and `any`, `min` and `max`, True and False,
                 and a comparison with its opposite (`in` and `not in`, `<` and `>=`)
    off by one   adds one to a whole number; exchanges `<` and `<=`, or `>` and `>=`; leaves out a bound of a slice
    drop         leaves out a statement, a branch, a returned value, an operand, a condition of a comprehension, a keyword or a starred
                 argument
    swap         exchanges two neighbours: arguments, names of keywords, items, values of a dict, operands
    part         shows a loop or a comprehension only the first item, or all but the first; replaces `break` by `continue`
    do nothing   puts the argument of `sorted`, `reversed`, `set` or `abs` in place of the call

The error in a `raise` is left alone: checks compare its class, and only those words that the exercise asks for.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

from jitkit.kata.engine.names import tree_of

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Mutation(NamedTuple):
    """A function with one thing wrong: its source, and the change, `a < b -> a <= b`. No two mutants of a function have one change."""

    source: str
    change: str


_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_NEIGHBOUR: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
}  # fmt: skip
_OTHER_NAME = {"all": "any", "any": "all", "min": "max", "max": "min"}
_DOES_NOTHING = ("sorted", "reversed", "set", "abs")


def mutations(function: Function) -> list[Mutation]:
    """Return all mutants of a function, each once, in the order of the places that they change."""
    seen = {ast.unparse(_bare(function))}
    found: dict[str, str] = {}
    for place, new in _changes(function):
        tree = copy.deepcopy(function)
        old = _exchanged(tree, place, new)
        try:
            source = ast.unparse(ast.fix_missing_locations(_bare(tree)))
            tree_of(source)
        except (ValueError, SyntaxError, AttributeError):  # the changed tree is not valid Python
            continue
        if source in seen:
            continue
        seen.add(source)
        change = f"{_told(old)} -> {_told(new)}"
        number = sum(known.partition(" #")[0] == change for known in found)
        found[change if not number else f"{change} #{number + 1}"] = source
    return [Mutation(source, change) for change, source in found.items()]


def _bare(function: Function) -> Function:
    """Return a function without its docstring, with its decorators."""
    bare = copy.copy(function)
    if ast.get_docstring(function) is not None:
        bare.body = function.body[1:] or [ast.Pass()]
    return bare


Place = tuple[Any, ...]  # fields and indices that lead from the function to a node
Change = tuple[Place, "ast.AST | list[ast.stmt]"]


def _changes(function: Function) -> Iterator[Change]:
    start = 1 if ast.get_docstring(function) is not None else 0
    for i in range(start, len(function.body)):
        yield from _in(function.body[i], ("body", i))


def _in(node: ast.AST, place: Place) -> Iterator[Change]:
    """Yield the changes that a mutation may make in a node, then those in its parts."""
    for change in _of_node(node):
        yield place, change
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list") or isinstance(node, ast.JoinedStr):
            continue
        if isinstance(node, ast.Raise) and isinstance(value, ast.Call):
            continue  # leave an error as it is: checks compare its class, and few of its words
        if isinstance(node, ast.keyword) and node.arg == "strict":
            continue
        if isinstance(value, ast.AST):
            yield from _in(value, (*place, name))
        elif isinstance(value, list):
            for i, part in enumerate(value):
                if isinstance(part, ast.Tuple) and (_is_membership(node) or _is_call_of(node, "isinstance")):
                    continue  # the order of the tuple in `in (...)` and `isinstance` does not matter
                if isinstance(part, ast.AST):
                    yield from _in(part, (*place, name, i))


def _of_node(node: ast.AST) -> Iterator[Any]:
    for of in (_of_statement, _of_condition, _of_comparison, _of_call, _of_loop, _of_constant, _of_operands):
        yield from of(node)


def _of_statement(node: ast.AST) -> Iterator[Any]:
    match node:
        case ast.If():
            yield node.body
            yield node.orelse or [ast.Pass()]
        case ast.Try():
            yield node.body
        case ast.With():
            yield node.body
        case ast.Return(value=value) if value is not None:
            yield ast.Return(ast.Constant(None))
        case ast.stmt() if not isinstance(node, ast.FunctionDef | ast.Return | ast.Pass | ast.Nonlocal):
            yield [ast.Pass()]


def _of_condition(node: ast.AST) -> Iterator[Any]:
    match node:
        case ast.If(test=test) | ast.While(test=test):
            yield _with(node, test=_negated(test))
        case ast.IfExp():
            yield _with(node, test=_negated(node.test))
            yield node.body
            yield node.orelse
        case ast.comprehension(ifs=[_, *_]):
            for i, test in enumerate(node.ifs):
                yield _with(node, ifs=[*node.ifs[:i], _negated(test), *node.ifs[i + 1 :]])
                yield _with(node, ifs=[*node.ifs[:i], *node.ifs[i + 1 :]])
        case ast.BoolOp(values=values):
            yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
            for i in range(len(values)):
                rest = [*values[:i], *values[i + 1 :]]
                yield rest[0] if len(rest) == 1 else _with(node, values=rest)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand


def _of_comparison(node: ast.AST) -> Iterator[Any]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        kind = type(node.ops[0])
        for other in (_OPPOSITE.get(kind), _NEIGHBOUR.get(kind)):
            if other is not None:
                yield _with(node, ops=[other()])


def _of_call(node: ast.AST) -> Iterator[Any]:
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Name) and node.func.id in _OTHER_NAME:
        yield _with(node, func=ast.Name(_OTHER_NAME[node.func.id], ast.Load()))
    if isinstance(node.func, ast.Name) and node.func.id in _DOES_NOTHING and len(node.args) == 1:
        yield node.args[0]
    for i, keyword in enumerate(node.keywords):
        if keyword.arg == "strict":  # do not mutate `zip(strict=True)`: no caller passes lists of different lengths
            continue
        yield _with(node, keywords=[k for k in node.keywords if k is not keyword])
        if isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, bool):
            continue
        for other in node.keywords[i + 1 : i + 2]:
            if keyword.arg and other.arg:
                swapped = [_with(keyword, arg=other.arg), _with(other, arg=keyword.arg)]
                yield _with(node, keywords=[*node.keywords[:i], *swapped, *node.keywords[i + 2 :]])
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in (*_OTHER_NAME, "isinstance"):
        yield from (_with(node, args=args) for args in _swapped(node.args))
    for i, arg in enumerate(node.args):
        if isinstance(arg, ast.Starred):
            yield _with(node, args=[*node.args[:i], *node.args[i + 1 :]])


def _of_loop(node: ast.AST) -> Iterator[Any]:
    match node:
        case ast.For(iter=iterable) | ast.comprehension(iter=iterable):
            yield _with(node, iter=_of_list(iterable, None, 1))
            yield _with(node, iter=_of_list(iterable, 1, None))
    if isinstance(node, ast.Break):
        yield ast.Continue()


def _of_constant(node: ast.AST) -> Iterator[Any]:
    match node:
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Slice(lower=lower, upper=upper):
            if lower is not None:
                yield _with(node, lower=None)
            if upper is not None:
                yield _with(node, upper=None)


def _of_operands(node: ast.AST) -> Iterator[Any]:
    match node:
        case ast.BinOp():
            if not _is_commutative(node):
                yield _with(node, left=node.right, right=node.left)
            yield node.left
            yield node.right
        case ast.Tuple(elts=items, ctx=ast.Load()) | ast.List(elts=items, ctx=ast.Load()):
            yield from (_with(node, elts=swapped) for swapped in _swapped(items))
            for i, item in enumerate(items):
                if isinstance(item, ast.Starred):
                    yield _with(node, elts=[*items[:i], *items[i + 1 :]])
        case ast.Dict(keys=[_, _, *_]):
            for values in _swapped(node.values):
                yield _with(node, values=values)


# --- parts of trees -----------------------------------------------------------------------------------------------


def _with(node: Any, **fields: Any) -> Any:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _is_membership(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn)


def _is_call_of(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _is_commutative(node: ast.BinOp) -> bool:
    """Return whether swapping the operands changes nothing: for `*` and `&`, and for `+` if an operand is a whole number or a length
    (other operands of `+` may be lists or strings).
    """
    if isinstance(node.op, ast.Mult | ast.BitAnd):
        return True
    parts = (node.left, node.right)
    is_number = any(isinstance(p, ast.Constant) and type(p.value) is int for p in parts)
    is_length = any(_is_call_of(p, "len") for p in parts)
    return isinstance(node.op, ast.Add) and (is_number or is_length)


def _negated(test: ast.expr) -> ast.expr:
    return (
        test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else ast.UnaryOp(ast.Not(), test)
    )


def _of_list(iterable: ast.expr, start: int | None, stop: int | None) -> ast.expr:
    bounds = [None if n is None else ast.Constant(n) for n in (start, stop)]
    listed = ast.Call(ast.Name("list", ast.Load()), [iterable], [])
    return ast.Subscript(listed, ast.Slice(*bounds), ast.Load())


def _swapped(items: list[Any]) -> Iterator[list[Any]]:
    for i in range(len(items) - 1):
        if not isinstance(items[i], ast.Starred) and not isinstance(items[i + 1], ast.Starred):
            yield [*items[:i], items[i + 1], items[i], *items[i + 2 :]]


def _exchanged(tree: Any, place: Place, new: Any) -> Any:
    """Put `new`, a node or several statements, in the place of a node of the tree; return the node that was there."""
    *way, last = place
    parent = tree
    for step in way:
        parent = parent[step] if isinstance(step, int) else getattr(parent, step)
    if not isinstance(last, int):
        old = getattr(parent, last)
        setattr(parent, last, new)
        return old
    old = parent[last]
    parent[last : last + 1] = copy.deepcopy(new) if isinstance(new, list) else [new]
    return old


def _told(node: Any) -> str:
    """Return the first line of a node's source; of several statements, the first line of the first."""
    if isinstance(node, list):
        node = node[0]
    if isinstance(node, ast.comprehension):
        tests = "".join(f" if {ast.unparse(t)}" for t in node.ifs)
        return f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}{tests}"
    return ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).partition("\n")[0]
