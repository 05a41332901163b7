"""a student's code -> what a person should look at: names that honest answers do not need, and likeness with others"""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import io
import keyword
import re
import sys
import tokenize
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jitkit.kata.engine.names import tree_of, walk
from jitkit.kata.engine.reference import reference_function
from jitkit.kata.engine.submission import LearnerFile, Target

_GRAM = 12  # the number of tokens in a run
_DOTTED = re.compile(r"\w+(\.\w+)*")
_TELLING = 60  # the number of syntax nodes; functions with fewer look the same whoever writes them

_USUAL_IN_A_PACKAGE = frozenset(
    {
        "__closure__",
        "__code__",
        "__traceback__",
        "compile",
        "inspect",
        "sys",
        "tb_frame",
        "tb_next",
        "threading",
        "traceback",
        "vars",
    }
)

# Below are names by which code can look around, reach out of the process or into others, write code, or get at JAX itself.
# Of Python's modules, only `_USUAL_MODULES` are not suspicious: the others may run a string as code, or import what a string names.
_USUAL_MODULES = frozenset(
    {
        "__future__", "abc", "array", "ast", "base64", "binascii", "bisect", "calendar", "cmath", "collections", "colorsys", "contextlib",
        "contextvars", "copy", "dataclasses", "datetime", "decimal", "difflib", "enum", "fractions", "functools", "graphlib", "hashlib",
        "heapq", "html", "io", "itertools", "json", "keyword", "logging", "math", "numbers", "operator", "platform", "pprint", "queue",
        "random", "re", "reprlib", "statistics", "string", "struct", "textwrap", "time", "token", "tokenize", "types", "typing",
        "unicodedata", "warnings", "weakref", "zlib",
    }
)  # fmt: skip
_SUSPECT_MODULES = (sys.stdlib_module_names | {"cffi", "imp", "jax", "jaxlib", "numba"}) - _USUAL_MODULES
_SUSPECT_NAMES = frozenset(
    {
        "FileIO", "ForwardRef", "__bases__", "__builtins__", "__closure__", "__code__", "__globals__", "__import__",
        "__loader__", "__mro__", "__reduce__", "__self__", "__spec__", "__subclasses__", "__traceback__", "_exit",
        "_getframe", "breakpoint", "compile", "cr_frame", "ctypeslib", "dictConfig", "eval", "exec", "exit", "f2py",
        "f_back", "f_globals", "f_locals", "fileConfig", "get_ipython", "get_type_hints", "gi_frame", "globals",
        "input", "kata", "meta_path", "modules", "open", "quit", "setprofile", "settrace", "tb_frame", "tb_next",
        "vars",
    }
)  # fmt: skip
# Suspicious modules that code may also reach as attributes of other modules, such as `warnings.sys`.
_SUSPECT_ANYWHERE = frozenset(
    {
        "asyncio", "builtins", "ctypes", "fcntl", "gc", "importlib", "linecache", "pkgutil", "runpy", "timeit",
        "jaxlib", "marshal", "os", "posix", "socket", "subprocess", "sys",
    }
)  # fmt: skip


def flags_of(functions: Mapping[Target, LearnerFile], nodes: Sequence[ast.AST]) -> list[str]:
    """Return flags, each a reason for a person to look at an exercise's functions: `"uses eval"`, for each suspicious name that the
    reference's modules do not use; and `"the reference's, word for word"`, if the functions are too long to be equal by chance. `nodes`
    has the functions and their helpers.
    """
    used = sorted(_suspects(nodes).difference(*map(_suspects_of_reference, functions)))
    flags = [f"uses {name}" for name in used]
    if sum(map(_size, functions)) > _TELLING and all(is_ours(f, t) for t, f in functions.items()):
        flags.append("the reference's, word for word")
    return flags


def keeps_state(nodes: Sequence[ast.AST]) -> bool:
    """Return whether code may keep something from one call to the next.

    Code may keep something if it has a module variable or a default value that is not a constant (an expression of literals, tuples,
    names, attributes and operators counts as one); `global`, `setattr` or `delattr`; an attribute that begins with two
    underscores; a decorator that remembers, such as `cache`; a module-level statement other than a function, an assignment or
    an import; or if a function stores into an object that is neither its parameter nor its local variable.
    """
    for top in nodes:
        if isinstance(top, ast.FunctionDef):
            inside = walk(top)
            scopes = [n for n in inside if isinstance(n, ast.FunctionDef | ast.Lambda)]
            defaults = [d for scope in scopes for d in (*scope.args.defaults, *scope.args.kw_defaults) if d is not None]
            if not all(map(_is_constant, defaults)) or any(map(_reaches_out, inside)) or _stores_elsewhere(inside):
                return True
        elif isinstance(top, ast.Assign | ast.AnnAssign):
            if top.value is not None and not _is_constant(top.value):
                return True
        elif not isinstance(top, ast.Import | ast.ImportFrom):
            return True
    return False


def _is_constant(node: ast.AST) -> bool:
    kinds = (
        ast.Constant,
        ast.Tuple,
        ast.UnaryOp,
        ast.BinOp,
        ast.Name,
        ast.Attribute,
        ast.operator,
        ast.unaryop,
        ast.expr_context,
    )
    return all(isinstance(n, kinds) for n in walk(node))


def _reaches_out(node: ast.AST) -> bool:
    dunder = isinstance(node, ast.Attribute) and node.attr.startswith("__")
    remembers = isinstance(node, ast.FunctionDef) and any(
        word in ast.unparse(d) for d in node.decorator_list for word in ("cache", "memo", "single")
    )
    teller = isinstance(node, ast.Name) and node.id in ("setattr", "delattr")
    return isinstance(node, ast.Global) or dunder or remembers or teller


def _stores_elsewhere(nodes: Sequence[ast.AST]) -> bool:
    """Return whether a function with these syntax nodes assigns to an attribute or item of an object that is neither a
    parameter nor a local variable: `TABLE[k] = v`, `make().x = 1`.
    """
    own = {n.arg for n in nodes if isinstance(n, ast.arg)}
    own |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in nodes:
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            root: ast.expr = node
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            if not isinstance(root, ast.Name) or root.id not in own:
                return True
    return False


def of_package(trees: Sequence[ast.AST], solution: frozenset[str]) -> list[str]:
    """Return what a person should look at in a whole package. Less is suspicious there than in a function: a package may call
    `xla.compile`, or look at frames for its errors.

    Args:
      solution: the longer functions of the reference's package.
    """
    flags = [f"uses {name}" for name in sorted(_suspects(trees) - _USUAL_IN_A_PACKAGE)]
    own = longer_functions(trees)
    if copied := own & solution:
        flags.append(f"{len(copied)} of its {len(own)} longer functions are the reference's, word for word")
    return flags


def longer_functions(trees: Sequence[ast.AST]) -> frozenset[str]:
    """Return the functions that are so long that two people would not write them alike: their syntax trees as strings,
    without decorators and docstrings.
    """
    functions = (n for tree in trees for n in walk(tree) if isinstance(n, ast.FunctionDef))
    return frozenset(_bare(f) for f in functions if len(list(walk(f))) > _TELLING)


def warm_up(targets: Iterable[Target]) -> None:
    """Compute what all forks of a process need, before it forks."""
    for target in targets:
        _bare_reference(target), _suspects_of_reference(target), _size(target)


def _suspects(nodes: Sequence[ast.AST]) -> set[str]:
    found: set[str] = set()
    for top in nodes:
        for node in walk(top):
            match node:
                case ast.Import(names=names):
                    found |= _of_imports(a.name for a in names)
                case ast.ImportFrom(module=module, names=names):
                    found |= _of_imports(f"{module or ''}.{a.name}" for a in names)
                case ast.Name(id=name) | ast.Attribute(attr=name):
                    found |= {name} & (_SUSPECT_NAMES | _SUSPECT_ANYWHERE)
                case ast.Constant(value=str() as value):
                    found |= _of_text(value)
    return found


def _of_text(text: str) -> set[str]:
    """Return the suspicious names in a string that code may use to look something up, such as `"f.__globals__"`."""
    if not _DOTTED.fullmatch(text):
        return set()
    first, *rest = text.split(".")
    found = {first} & {"jax", "jaxlib"} | {text} & _SUSPECT_NAMES
    return found | {part for part in rest if part.startswith("__")} & _SUSPECT_NAMES


def _of_imports(modules: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for name in modules:
        first, *rest = name.split(".")
        found |= {first} & _SUSPECT_MODULES | set(rest) & (_SUSPECT_NAMES | _SUSPECT_ANYWHERE) - {"kata"}
        if f"{name}.".startswith("jitkit.kata."):
            found.add("jitkit.kata")
    return found


def is_ours(file: LearnerFile, target: Target) -> bool:
    """Return whether a function equals the reference's, apart from decorators and docstring."""
    return _bare(file.find(target)) == _bare_reference(target)


@functools.cache
def _bare_reference(target: Target) -> str:
    return _bare(reference_function(target).node)


@functools.cache
def _suspects_of_reference(target: Target) -> frozenset[str]:
    return frozenset(_suspects([tree_of(reference_function(target).module_source)]))


@functools.cache
def _size(target: Target) -> int:
    return len(list(walk(reference_function(target).node)))


def _bare(function: ast.AST) -> str:
    node: Any = copy.copy(function)
    if isinstance(node, ast.FunctionDef):
        node.decorator_list = []
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(node)


def grams(source: str) -> list[int]:
    """Return hashes of the runs of `_GRAM` tokens in a source. All names count as one token, and so do all numbers: renaming changes
    nothing. The hashes are sorted, without duplicates, at most 2,000.
    """
    kinds: list[str] = []
    with contextlib.suppress(tokenize.TokenError, SyntaxError, IndentationError):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.NAME:
                kinds.append(token.string if keyword.iskeyword(token.string) else "n")
            elif token.type == tokenize.NUMBER:
                kinds.append("0")
            elif token.type == tokenize.OP:
                kinds.append(token.string)
    grams = {zlib.crc32(" ".join(kinds[i : i + _GRAM]).encode()) for i in range(max(0, len(kinds) - _GRAM + 1))}
    return sorted(grams)[:2000]
