"""imports of a learner's file that do not say what they bind -> plain imports of the names that the file uses

Functions move from a learner's file into modules of the reference, and take imports along, name by name. So `from
jitkit.numpy import *` becomes an import of the names that the file uses. A `try` around imports becomes the imports if
their modules are certainly there. An `if TYPE_CHECKING:` with imports is left out, since annotations are never
evaluated. Imports that cannot be decided without running the file stay as they are.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import os
import sys
from collections.abc import Iterable, Sequence

from .name_origins import PACKAGE_FOLDER, meanings, names_handed_on, source_path
from .names import names_bound, walk

# Modules outside of jitkit that may be imported to learn their names: their import changes nothing.
_ASKED = frozenset({
    "abc", "builtins", "cmath", "collections", "collections.abc", "contextlib", "copy", "dataclasses", "enum", "functools", "itertools",
    "math", "numbers", "numpy", "operator", "types", "typing",
})  # fmt: skip
_IMPORTS = ast.Import | ast.ImportFrom
_MISSING = {"ImportError", "ModuleNotFoundError", "Exception"}


def plain_imports(tree: ast.Module) -> ast.Module:
    """Return the tree of a learner's file, with plain imports at its top. The tree is changed in place."""
    if any(isinstance(node, ast.Try | ast.If) or is_star(node) for node in tree.body):
        body = [part for node in tree.body for part in _plain(node)]
        if any(is_star(node) for node in body):
            used = {n.id for n in walk(tree) if isinstance(n, ast.Name)}
            body = [part for node in body for part in _named(node, used)]
        tree.body = body
    return tree


def is_star(node: ast.stmt) -> bool:
    """Return whether a statement is a `from module import *`."""
    return isinstance(node, ast.ImportFrom) and node.names[0].name == "*"


def _plain(node: ast.stmt) -> Sequence[ast.stmt]:
    """Return the statements to put in place of one: for a `try` around imports that certainly succeed, the imports and the `else`; for an
    `if TYPE_CHECKING:` with imports, the `else`; for any other statement, itself.
    """
    if isinstance(node, ast.If) and all(isinstance(part, _IMPORTS) for part in node.body):
        return node.orelse if ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING") else [node]
    if not isinstance(node, ast.Try) or node.finalbody:
        return [node]
    imports = all(isinstance(part, _IMPORTS) and _is_there(part) for part in node.body)
    return [*node.body, *node.orelse] if imports and all(map(_is_for_imports, node.handlers)) else [node]


def _is_for_imports(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return all(kind is None or (isinstance(kind, ast.Name) and kind.id in _MISSING) for kind in kinds)


def _is_there(node: ast.Import | ast.ImportFrom) -> bool:
    """Return whether an import certainly succeeds: from Python's own library, from numpy or from jitkit."""
    if isinstance(node, ast.Import):
        return all(_module_is_there(alias.name) for alias in node.names)
    if node.level or node.module is None or not _module_is_there(node.module):
        return False
    if node.module.partition(".")[0] != "jitkit" or is_star(node):
        return True
    given = names_handed_on(node.module)
    return all(alias.name in given or _module_is_there(f"{node.module}.{alias.name}") for alias in node.names)


def _module_is_there(module: str) -> bool:
    root = module.partition(".")[0]
    if root == "jitkit":
        return os.path.isfile(source_path(module, PACKAGE_FOLDER))
    return root == "numpy" or root in sys.stdlib_module_names


def _named(node: ast.stmt, used: set[str]) -> Sequence[ast.stmt]:
    """Return a `from module import *` as an import of those names in `used` that the module has; [] if it has none of them. Return any
    other statement unchanged, also a star of a module whose names are not known.
    """
    if not isinstance(node, ast.ImportFrom) or not is_star(node):
        return [node]
    given = _given_by_star(node.module or "") if not node.level else None
    if given is None:
        return [node]
    names = [ast.copy_location(ast.alias(name), node.names[0]) for name in sorted(used.intersection(given))]
    return [ast.copy_location(ast.ImportFrom(node.module, names, 0), node)] if names else []


def _given_by_star(module: str) -> Iterable[str] | None:
    """Return the names that `from module import *` binds; None if that cannot be known here."""
    if module in _ASKED:
        found = importlib.import_module(module)
        return getattr(found, "__all__", [name for name in vars(found) if not name.startswith("_")])
    if module.partition(".")[0] != "jitkit" or not _module_is_there(module):
        return None
    path = source_path(module, PACKAGE_FOLDER)
    if os.path.isfile(f"{path}i"):  # a package with late rooms: its star gives what its stub names
        with open(f"{path}i", encoding="utf-8") as stub:
            return [name for name in meanings(stub.read(), module) if not name.startswith("_")]
    return [name for name in names_handed_on(module) if not name.startswith("_")]


def stars_needed(
    tree: ast.Module, used: Iterable[str], known: Iterable[str]
) -> Sequence[tuple[ast.ImportFrom, list[str]]]:
    """Return the remaining `from module import *` statements, each with the names of `used` that come from nowhere else; [] if there are
    no such names.

    Args:
      known: the names of the module into which the functions go.
    """
    stars = [node for node in tree.body if isinstance(node, ast.ImportFrom) and is_star(node)]
    if not stars:
        return []
    bound = {name for node in tree.body for name in names_bound(node)}
    missing = sorted(set(used) - bound - set(known) - vars(builtins).keys())
    return [(star, missing) for star in stars] if missing else []
