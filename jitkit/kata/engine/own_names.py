"""a learner's function + the module it goes into -> the function, with imports of its own for names that mean something
else in the module

A learner's `import jitkit.numpy as np` stands beside the function, and the module around the exercise may have another
`np`, which is numpy. Such an import is put into the function itself, where it hides the module's: the function means
what its author wrote, and the reference around it does not change. Built-in functions are treated in the same way: in a
module that defines its own `max`, a learner's `max` is Python's, unless the learner's file binds it. If the function calls a
function of another exercise, which is mostly in another module, an import of that function is put in, too.

An import from a room (a package of jitkit) that the module does not import from is put into the function, too: at the
top of the module it would come too early, since that room may be imported later.

If the module has the same thing under the same name, the import is left out.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterable, Mapping

from .name_origins import bound_by, meaning_of, origin
from .names import Function, globals_used, names_bound, names_used
from .submission import LearnerFile, SpliceError


def is_other(node: ast.Import | ast.ImportFrom, alias: ast.alias, known: Mapping[str, str]) -> bool:
    """Return whether a learner's import gives a name another meaning than the module gives it."""
    there, theirs = known.get(bound_by(alias)), meaning_of(node, alias)
    return there is not None and there != theirs and origin(there) != origin(theirs)


def stays_outside(
    node: ast.Import | ast.ImportFrom, alias: ast.alias, file: LearnerFile, known: Mapping[str, str]
) -> bool:
    """Return whether a learner's import belongs at the top of a module that has `known` names. It belongs there if the name is
    new, unless the import `_comes_later`; or if it is like `import os.path`, which may add a submodule to an `os`
    that the module has.
    """
    if bound_by(alias) not in known:
        return not _comes_later(node, alias, file, known)
    return isinstance(node, ast.Import) and "." in alias.name and not alias.asname and not is_other(node, alias, known)


def _comes_later(
    node: ast.Import | ast.ImportFrom, alias: ast.alias, file: LearnerFile, known: Mapping[str, str]
) -> bool:
    """Return whether a learner imports a name that is needed only when functions run, from a room that the module does
    not import from.
    """
    if (
        not isinstance(node, ast.ImportFrom)
        or (node.module or "").partition(".")[0] != "jitkit"
        or bound_by(alias) in known
    ):
        return False
    rooms = {".".join(meaning.split(".")[:2]) for meaning in known.values()}
    room = ".".join(meaning_of(node, alias).split(".")[:2])
    return room not in rooms and bound_by(alias) not in _needed_at_once(file.tree)


def _needed_at_once(node: ast.AST) -> set[str]:
    """Return the names that are read when a module, or a part of it, is imported: those outside of function bodies."""
    if isinstance(node, Function):
        parts: list[ast.AST] = [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
        return {name for part in parts for name in names_used(part)}
    if isinstance(node, ast.Name):
        return {node.id}
    return {name for child in ast.iter_child_nodes(node) for name in _needed_at_once(child)}


# --- what a function brings along -----------------------------------------------------------------------------------


def with_own_names(function: Function, file: LearnerFile, known: Mapping[str, str]) -> Function:
    """Return a learner's function for a module that has `known` names. If it uses names that the module lacks or gives another
    meaning, imports of these names are added at the beginning of its body. If there are no such names, return the same function.

    Raises:
      SpliceError: such a name is used in a default value, or in a decorator.
    """
    imports = own_imports(function, file, known)
    if not imports:
        return function
    result = copy.deepcopy(function)
    result.body[first_statement(result) : first_statement(result)] = imports
    return result


def first_statement(function: Function) -> int:
    """Return the position of the first statement after a function's docstring."""
    return 0 if ast.get_docstring(function, clean=False) is None else 1


def own_imports(function: Function, file: LearnerFile, known: Mapping[str, str]) -> list[ast.stmt]:
    """Return the imports that `with_own_names` puts into a function. Raise SpliceError if a decorator or a default value, which is
    outside of the body, needs one of them.
    """
    used = globals_used(function)
    theirs = {name: own for name, own in _other_imports(file, known).items() if name in used}
    theirs |= {name: _of_a_sibling(name, file) for name in used & file.homes.keys() - known.keys()}
    outside = [*function.decorator_list, *function.args.defaults, *filter(None, function.args.kw_defaults)]
    for name in sorted(theirs.keys() & {name for part in outside for name in names_used(part)}):
        raise name_is_taken(name, known, file.path, function.lineno)
    in_body = {name for statement in function.body for name in names_used(statement)}
    return [copy.deepcopy(own) for name, own in sorted(theirs.items()) if name in in_body]


def _of_a_sibling(name: str, file: LearnerFile) -> ast.stmt:
    """Return the import of a function of another exercise that is in another module: the learner's function, or else
    the reference's.
    """
    statement = ast.ImportFrom(file.homes[name], [ast.alias(name)], 0)
    return ast.fix_missing_locations(ast.copy_location(statement, file.tree.body[0]))


def _other_imports(file: LearnerFile, known: Mapping[str, str]) -> dict[str, ast.stmt]:
    """Return the imports to put into a learner's functions, by name: those whose name has another meaning in the reference's
    module, and those for which `_comes_later` is true. A builtin whose name the module defines anew gets an import from `builtins`.
    """
    found: dict[str, ast.stmt] = {}
    bound = {name for node in file.tree.body for name in names_bound(node)}
    for name in (known.keys() & vars(builtins).keys()) - bound:
        statement = ast.ImportFrom("builtins", [ast.alias(name)], 0)
        found[name] = ast.fix_missing_locations(ast.copy_location(statement, file.tree.body[0]))
    for node in file.tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                found.pop(bound_by(alias), None)
                if is_other(node, alias, known) or _comes_later(node, alias, file, known):
                    found[bound_by(alias)] = reduced = copy.copy(node)
                    reduced.names = [alias]
    return found


def name_is_taken(name: str, known: Mapping[str, str], path: str, line: int) -> SpliceError:
    """Return the error for a learner's import that cannot be put into the module, since its name is taken."""
    return SpliceError(
        f"`{name}` is `{known[name]}` in the module around this exercise, and something else in your file. Import yours by another name.",
        path,
        line,
    )


def other_names(file: LearnerFile, known: Mapping[str, str]) -> Iterable[str]:
    """Return the names of `_other_imports`: for these a function or a helper may need an import of its own."""
    return _other_imports(file, known).keys()
