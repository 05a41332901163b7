"""a learner's function + the module it goes into -> the function, with imports of its own for names that mean something
else in the module

A learner's `import jitkit.numpy as np` stands beside the function, and the module around the exercise may have another
`np`, which is numpy. Such an import is put into the function itself, where it hides the module's: the function means
what its author wrote, and the reference around it does not change. Built-in functions are treated in the same way: in a
module that defines its own `max`, a learner's `max` is Python's, unless they imported another. If the function calls the
function of another exercise, which is mostly in another module, that is imported in the same way.

If the module has the same thing under the same name, the import is left out.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import functools
import os
from collections.abc import Iterable, Iterator, Mapping

from .submission import Function, LearnerFile, SpliceError, globals_used, names_bound, names_used, tree_of

_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # .../jitkit
_PACKAGE = "jitkit"


def source_path(module: str, package_folder: str) -> str:
    """Return the file of a module of the reference, without importing it; `package_folder` is `.../jitkit`."""
    parts = module.split(".")[1:]
    plain = os.path.join(package_folder, *parts)
    return f"{plain}.py" if os.path.isfile(f"{plain}.py") else os.path.join(plain, "__init__.py")


# --- what a name means --------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def meanings(source: str, module: str) -> Mapping[str, str]:
    """Return the top-level names of a reference module, each with its origin: `jitkit.core.primitive.Primitive`."""
    tree = tree_of(source)
    found = {name: f"{module}.{name}" for name in names_bound(tree)}
    is_folder = source_path(module, _PACKAGE_FOLDER).endswith("__init__.py")
    found.update(_imported(tree, module if is_folder else module.rpartition(".")[0]))
    return found


def _imported(node: ast.AST, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the names that a module's imports bind, with their meanings. `folder` is the package that a leading `.`
    stands for.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            for alias in child.names:
                yield _bound_by(alias), _meaning(child, alias, folder)
        elif isinstance(child, ast.stmt) and not isinstance(child, Function | ast.ClassDef) and not _for_types(child):
            yield from _imported(child, folder)


def _for_types(node: ast.stmt) -> bool:
    """Whether a statement is an `if TYPE_CHECKING:`, whose names do not exist when the module runs."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in names_used(node.test)


def _bound_by(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _meaning(node: ast.Import | ast.ImportFrom, alias: ast.alias, folder: str = "") -> str:
    if isinstance(node, ast.Import):
        return alias.name if alias.asname else alias.name.partition(".")[0]
    parts = folder.split(".")
    above = parts[: len(parts) - node.level + 1] if node.level else []
    return ".".join([*above, *filter(None, [node.module]), alias.name])


@functools.lru_cache(maxsize=4096)
def origin(meaning: str) -> str:
    """Return the dotted name of the place where `meaning`, also a dotted name, is defined. A name outside of jitkit is
    returned unchanged.
    """
    for _ in range(20):  # a name may be re-exported by several modules in turn; today by at most three
        module, _, name = meaning.rpartition(".")
        behind = _names_handed_on(module).get(name, meaning)
        if behind == meaning:
            break
        meaning = behind
    return meaning


@functools.lru_cache(maxsize=256)
def _names_handed_on(module: str) -> Mapping[str, str]:
    """Return the names of a module of the reference, with the names in its stub (`base.late_rooms`); an empty result if there is no
    such module.
    """
    if module.partition(".")[0] != _PACKAGE:
        return {}
    path = source_path(module, _PACKAGE_FOLDER)
    found: dict[str, str] = {}
    for each in (path, path + "i"):
        with contextlib.suppress(OSError), open(each, encoding="utf-8") as file:
            found.update(meanings(file.read(), module))
    return found


def is_other(node: ast.Import | ast.ImportFrom, alias: ast.alias, known: Mapping[str, str]) -> bool:
    """Whether a learner's import gives a name another meaning than the module gives it."""
    there, theirs = known.get(_bound_by(alias)), _meaning(node, alias)
    return there is not None and there != theirs and origin(there) != origin(theirs)


def stays_outside(node: ast.Import | ast.ImportFrom, alias: ast.alias, known: Mapping[str, str]) -> bool:
    """Whether a learner's import belongs at the top of a module that has `known` names: it adds a new name, or is an
    `import os.path`, which may add to an `os` that is there.
    """
    if _bound_by(alias) not in known:
        return True
    return isinstance(node, ast.Import) and "." in alias.name and not alias.asname and not is_other(node, alias, known)


# --- what a function brings along -----------------------------------------------------------------------------------


def with_own_names(function: Function, file: LearnerFile, known: Mapping[str, str]) -> Function:
    """Return a learner's function for a module that has `known` names: for each name that it uses and that means something else in
    the module, an import is added at its beginning. If there is no such name, return the same function.

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
    """Return the imports that `with_own_names` puts into a function."""
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
    """Return the names that mean one thing in the learner's file, by an import or as a builtin, and another in the reference's
    module; each with an import that gives it the learner's meaning.
    """
    found: dict[str, ast.stmt] = {}
    bound = {name for node in file.tree.body for name in names_bound(node)}
    for name in (known.keys() & vars(builtins).keys()) - bound:
        statement = ast.ImportFrom("builtins", [ast.alias(name)], 0)
        found[name] = ast.fix_missing_locations(ast.copy_location(statement, file.tree.body[0]))
    for node in file.tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                found.pop(_bound_by(alias), None)
                if is_other(node, alias, known):
                    found[_bound_by(alias)] = reduced = copy.copy(node)
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
    """Return the names of a module that have another meaning in the learner's file."""
    return _other_imports(file, known).keys()
