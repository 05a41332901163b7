"""a module of the reference -> its names, and where each is defined; nothing is imported"""

from __future__ import annotations

import ast
import contextlib
import functools
import os
from collections.abc import Iterator, Mapping

from .names import Function, names_bound, names_used, tree_of

PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # .../jitkit
_PACKAGE = "jitkit"


def source_path(module: str, package_folder: str) -> str:
    """Return the file of a module of the reference, without importing it; `package_folder` is `.../jitkit`."""
    parts = module.split(".")[1:]
    plain = os.path.join(package_folder, *parts)
    return f"{plain}.py" if os.path.isfile(f"{plain}.py") else os.path.join(plain, "__init__.py")


@functools.lru_cache(maxsize=256)
def meanings(source: str, module: str) -> Mapping[str, str]:
    """Return the top-level names of a reference module, each with its origin: `jitkit.core.primitive.Primitive`."""
    tree = tree_of(source)
    found = {name: f"{module}.{name}" for name in names_bound(tree)}
    is_folder = source_path(module, PACKAGE_FOLDER).endswith("__init__.py")
    found.update(_imported(tree, module if is_folder else module.rpartition(".")[0]))
    return found


def _imported(node: ast.AST, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the names that a module's imports bind, with their meanings; not those of imports in a function, a class, or an
    `if TYPE_CHECKING:`. `folder` is the package that a leading `.` stands for.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            for alias in child.names:
                yield bound_by(alias), meaning_of(child, alias, folder)
        elif isinstance(child, ast.stmt) and not isinstance(child, Function | ast.ClassDef) and not _for_types(child):
            yield from _imported(child, folder)


def _for_types(node: ast.stmt) -> bool:
    """Return whether a statement is an `if TYPE_CHECKING:`, whose names do not exist when the module runs."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in names_used(node.test)


def bound_by(alias: ast.alias) -> str:
    """Return the name that an import binds."""
    return alias.asname or alias.name.partition(".")[0]


def meaning_of(node: ast.Import | ast.ImportFrom, alias: ast.alias, folder: str = "") -> str:
    """Return the meaning of a name that an import binds, as a dotted name. `folder` is the package that a leading `.` stands for."""
    if isinstance(node, ast.Import):
        return alias.name if alias.asname else alias.name.partition(".")[0]
    parts = folder.split(".")
    above = parts[: len(parts) - node.level + 1] if node.level else []
    return ".".join([*above, *filter(None, [node.module]), alias.name])


@functools.lru_cache(maxsize=4096)
def origin(meaning: str) -> str:
    """Return the dotted name of the place where `meaning`, also a dotted name, is defined. A name outside jitkit is
    returned unchanged.
    """
    for _ in range(20):  # a name may be re-exported by several modules in turn; today by at most three
        module, _, name = meaning.rpartition(".")
        behind = names_handed_on(module).get(name, meaning)
        if behind == meaning:
            break
        meaning = behind
    return meaning


@functools.lru_cache(maxsize=256)
def names_handed_on(module: str) -> Mapping[str, str]:
    """Return the top-level names of a module of the reference, and of its stub (`base.late_rooms`), each with its
    origin as in `meanings`; {} if there is no such module.
    """
    if module.partition(".")[0] != _PACKAGE:
        return {}
    path = source_path(module, PACKAGE_FOLDER)
    found: dict[str, str] = {}
    for each in (path, path + "i"):
        with contextlib.suppress(OSError), open(each, encoding="utf-8") as file:
            found.update(meanings(file.read(), module))
    return found
