"""jitkit with holes -> jitkit with a student's functions in them, in a process that has imported it already

Importing jitkit costs more than most checks do, and each exercise of each student has a process of its own. So a zygote imports jitkit
once, without the bodies of the functions that exercises ask for: these functions are *holes*. A worker puts code into them
(`function.__code__ = code`): the student's for the graded exercise, the reference's for all others. Decorators, registries and other
modules hold the functions, and so see the new code.

The result is the same as when functions are spliced in before the import (`jitkit.kata.engine.splice`), except for
functions that are called while jitkit is imported. `RECORD` finds these, and they keep the reference's body. If an
exercise asks for one of them, or needs more than an exchange of code, its functions are spliced in, and jitkit is
imported anew. A default value, an additional method or a closure needs more; `patch` then returns None.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from types import CodeType
from typing import Any

from jitkit.kata.engine import exchange
from jitkit.kata.engine.exchange import LATE, flags_of_module, function_code
from jitkit.kata.engine.name_origins import meanings
from jitkit.kata.engine.names import Function, tree_of
from jitkit.kata.engine.reference import reference_function
from jitkit.kata.engine.submission import LearnerFile, Target, defines

EMPTY, RECORD = "empty", "record"
TABLE = "jitkit_holes"  # the module in the zygote that knows the functions


def with_holes(source: str, path: str, targets: Mapping[Target, str]) -> CodeType:
    """Return the code of a module that registers the functions of exercises in `TABLE`.

    Args:
      targets: the kind of hole for each function. A hole that is called notes this; then an EMPTY one raises an error, and a RECORD one
        does what the function does.
    """
    tree = tree_of(source, path)
    for target, how in targets.items():
        function = _find(tree, target)
        function.decorator_list.append(_call("keep", target))
        called: list[ast.stmt] = [ast.Expr(_call("called", target))]
        if how == EMPTY:
            function.body = [*called, ast.Raise(ast.Name("NotImplementedError", ast.Load()))]
        else:
            function.body = [*called, *function.body]
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def _find(tree: ast.Module, target: Target) -> Function:
    node: Any = tree
    for name in target.path:
        node = next(child for child in node.body if defines(child, name))
    assert isinstance(node, Function), f"{target} is a function"
    return node


def _call(name: str, target: Target) -> ast.Call:
    """Return the syntax tree of `__import__("jitkit_holes").name("module:function")`, which binds no name in the module."""
    table = ast.Call(ast.Name("__import__", ast.Load()), [ast.Constant(TABLE)], [])
    return ast.Call(ast.Attribute(table, name, ast.Load()), [ast.Constant(str(target))], [])


def patch(functions: Mapping[Target, LearnerFile]) -> dict[str, Any] | None:
    """Return the code that is put into the holes of an exercise (`exchange.patch`); None if exchanging code is not enough.
    Functions of modules that only checks import (`LATE`) are left out: they are not holes.
    """
    return exchange.patch({target: file for target, file in functions.items() if not target.module.startswith(LATE)})


def warm_up(targets: Iterable[Target]) -> None:
    """Compute what all forks of a process need, before it forks."""
    for target in targets:
        source = reference_function(target).module_source
        flags_of_module(source), meanings(source, target.module)


def reference_codes(
    modules: Mapping[str, tuple[str, bool, CodeType]], targets: Iterable[Target]
) -> dict[Target, CodeType]:
    """Return the reference's code of the functions that can be holes: functions without closures, in modules that are imported with the
    rest of jitkit.

    Args:
      modules: the reference's modules by name, each with the path that it was given, whether it is a package, and its code.
    """
    found = {}
    for target in targets:
        if not target.module.startswith(LATE):
            path, _, module = modules[target.module]
            node = reference_function(target).node
            line = min(n.lineno for n in (node, *node.decorator_list))
            code = function_code(module, target, path, line)
            if code is not None and not code.co_freevars:
                found[target] = code
    return found
