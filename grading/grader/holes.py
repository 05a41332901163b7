"""jitkit with holes -> a student's functions in them, in a process that has imported it already

To import jitkit costs more than what most checks do, and each exercise of each student has a process of its own. So a zygote imports
all of it once, without the bodies of the functions that exercises ask for: those are holes. A worker puts code into them
(`function.__code__ = code`): the reference's, but for the exercise that is graded, which has the student's. Decorators, registries and
other modules hold the functions, and see what is put there.

That comes to the same as splicing before the import (`jitkit.kata.engine.splice`), but for functions that are called while jitkit is
imported; `RECORD` finds out which, and they keep the reference's body. An exercise that asks for one of those, and what an exchange
of code cannot say (`patch` gives None: a default value, a method beside, a closure), is spliced and imported afresh.
"""

from __future__ import annotations
import __future__

import ast
import functools
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType
from typing import Any

from jitkit.kata.engine.own_names import meanings, with_own_names
from jitkit.kata.engine.reference import reference_function
from jitkit.kata.engine.splice import added_statements
from jitkit.kata.engine.submission import Function, LearnerFile, Target, defines, tree_of

EMPTY, RECORD = "empty", "record"
TABLE = "jitkit_holes"  # the module of the zygote's that knows the functions
LATE = "jitkit.kata."  # what nothing of jitkit imports: it is not there before the student's is


def with_holes(source: str, path: str, targets: Mapping[Target, str]) -> CodeType:
    """The code of a module that hands its exercises' functions to `TABLE`.

    Args:
      targets: what becomes of each function: EMPTY, it has no body; RECORD, it says when it is called.
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
    """`__import__("jitkit_holes").name("module:function")`: no module need have names of ours."""
    table = ast.Call(ast.Name("__import__", ast.Load()), [ast.Constant(TABLE)], [])
    return ast.Call(ast.Attribute(table, name, ast.Load()), [ast.Constant(str(target))], [])


def function_code(module: CodeType, target: Target, path: str, line: int) -> CodeType | None:
    """The code of a function in that of its module: of this name, from this line of this file."""
    return next(
        (c for c in _codes(module) if (c.co_qualname, c.co_filename, c.co_firstlineno) == (target.name, path, line)),
        None,
    )  # fmt: skip


def _codes(code: CodeType) -> Iterator[CodeType]:
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield const
            yield from _codes(const)


def patch(functions: Mapping[Target, LearnerFile]) -> dict[str, Any] | None:
    """What is put into the holes of an exercise: `functions`, code by target, after `helpers`, code to be run in modules.
    None where that would not come to the same as splicing, or splicing would refuse it.

    Raises:
      SpliceError: a helper has a name that the module uses.
    """
    codes: dict[str, CodeType] = {}
    helpers: list[tuple[str, CodeType]] = []
    places: dict[str, set[str]] = {}
    for target, file in functions.items():
        if target.module.startswith(LATE):
            continue
        written, reference = file.find(target), reference_function(target)
        if (
            written.decorator_list or file.helping_methods(target)
            or type(written) is not type(reference.node) or _parameters(written) != _parameters(reference.node)
        ):  # fmt: skip
            return None
        own = with_own_names(written, file, meanings(reference.module_source, target.module))
        code = _compiled(own, target, file.path, _flags(reference.module_source))
        if code.co_freevars:
            return None
        codes[str(target)] = code
        places.setdefault(target.module, set()).add(file.path)
    for module, paths in places.items():
        if len(paths) > 1:
            return None
        targets = [t for t in functions if t.module == module]
        file, source = functions[targets[0]], reference_function(targets[0]).module_source
        statements = added_statements(meanings(source, module), file, targets)
        if statements:
            code = compile(ast.Module(statements, []), file.path, "exec", _flags(source), dont_inherit=True)
            helpers.append((module, code))
    return {"functions": codes, "helpers": helpers}


def _compiled(function: Function, target: Target, path: str, flags: int) -> CodeType:
    """The code of a function, in classes of the names that its own stands in."""
    node: ast.stmt = function
    for name in reversed(target.path[:-1]):
        node = ast.copy_location(ast.ClassDef(name, [], [], [node], []), function)
        if sys.version_info >= (3, 12):
            node.type_params = []
    module = compile(ast.Module([node], []), path, "exec", flags, dont_inherit=True)
    code = function_code(module, target, path, function.lineno)
    assert code is not None, f"{target} was compiled just now"
    return code


def _parameters(function: Function) -> str:
    """Names, kinds and default values."""
    args = function.args
    several = [[arg.arg for arg in kind] for kind in (args.posonlyargs, args.args, args.kwonlyargs)]
    rest = [arg and arg.arg for arg in (args.vararg, args.kwarg)]
    defaults = [default and ast.dump(default) for default in (*args.defaults, None, *args.kw_defaults)]
    return repr((several, rest, defaults))


def warm_up(targets: Iterable[Target]) -> None:
    """Find out beforehand what all forks of a process need."""
    for target in targets:
        source = reference_function(target).module_source
        _flags(source), meanings(source, target.module)


@functools.lru_cache(maxsize=64)
def _flags(source: str) -> int:
    """The compiler's flags of a module: what it imports from the future."""
    imports = [n for n in tree_of(source).body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    names = {alias.name for node in imports for alias in node.names}
    return functools.reduce(int.__or__, (getattr(__future__, name).compiler_flag for name in names), 0)


def reference_codes(
    modules: Mapping[str, tuple[str, bool, CodeType]], targets: Iterable[Target]
) -> dict[Target, CodeType]:
    """The reference's code of those functions that can be holes: no closures, and imported with the rest of jitkit.

    Args:
      modules: the reference's, by name: the path that each was given, whether it is a package, and its code.
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
