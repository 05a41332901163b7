"""The maps are true: what a docstring names between backticks exists, and the plate of a room names all that is in it.

A name must be found where a reader would look for it: in the docstring's module, among the names that jitkit defines, in JAX, numpy or
Python. An expression (`x @ w + b`) is not checked, except for the functions that it calls.
"""

from __future__ import annotations

import ast
import builtins
import functools
import gc
import importlib
import keyword
import pathlib
import re
import sys
import tomllib
from collections.abc import Iterator
from types import CodeType, FunctionType, TracebackType

import all_rooms
import jax
import jaxlib.xla_client
import numpy as np

from jitkit.base import options
from jitkit.core import Primitive

ROOT = pathlib.Path(__file__).parents[1]
# Generated files have docstrings of the reference, without the code that these are about.
GENERATED = re.compile(r"exercises\.py$")
HOUSE = [
    path
    for folder in ("jitkit", "grading", "labs")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not GENERATED.search(path.name)
]
ROOMS = sorted(path.parent for path in HOUSE if path.name == "__init__.py")
FILES = {
    path.name for path in ROOT.rglob("*") if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
}

QUOTED = re.compile(r"(?<!`)`([^`]+)`(?!`)")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
FILE = re.compile(r"/?[\w/]+\.(?:pyi?|md|toml|ipynb|json|html)")
DIALECT = re.compile(r"(?:stablehlo|chlo|func)\.\w+")
FORMULA = re.compile(r"[a-zA-Z](?:_?\d)?|NAME")  # a variable in a formula, or in a program of the docstring
OF_OTHERS = {
    "GpuTargetConfigProto": "XLA's", "op_name": "HLO's", "lapack_spotrf_ffi": "LAPACK's", "potrf": "LAPACK's",
}  # fmt: skip

# --- what a docstring says --------------------------------------------------------------------------------------------


@functools.cache
def tree_of(path: pathlib.Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each docstring of a module."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node, clean=False)
            if text is not None:
                yield node.body[0].lineno, text


def names_in(quoted: str) -> Iterator[str]:
    """Yield the names in a piece of code: the code itself, if it is a name; else the functions that it calls."""
    code = " ".join(quoted.split())
    if DOTTED.fullmatch(code) or FILE.fullmatch(code):
        yield code
        return
    try:
        tree = ast.parse(code, mode="eval")
    except SyntaxError:  # it is a type, a command or a shape
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and DOTTED.fullmatch(ast.unparse(node.func)):
            yield ast.unparse(node.func)


# --- what there is ----------------------------------------------------------------------------------------------------


def names_of_code(tree: ast.AST) -> set[str]:
    """Return every name in the code of a module: what it defines, takes, reads and passes, and what is a name in its
    strings.
    """
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=other):
                found |= {*name.split("."), other or ""}
            case ast.Constant(value=str(text)) if len(text.split()) < 4:
                found |= {text, *re.findall(r"\w+", text)}
    return found


@functools.cache
def defined() -> dict[str, set[str]]:
    """Return the rooms, modules, functions, classes and constants of jitkit, each with the names inside it."""
    found: dict[str, set[str]] = {}

    def add(owner: str, name: str) -> None:
        found.setdefault(owner, set()).add(name)
        found.setdefault(name, set())

    def enter(owner: str, body: list[ast.stmt], in_class: bool) -> None:
        for node in body:
            match node:
                case ast.FunctionDef(name=name):
                    add(owner, name)
                    for each in ast.walk(node) if in_class else ():
                        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store):
                            add(owner, each.attr)
                case ast.ClassDef(name=name, body=inner):
                    add(owner, name)
                    enter(name, inner, True)
                case ast.Assign(targets=targets):
                    for target in targets:
                        for each in ast.walk(target):
                            if isinstance(each, ast.Name):
                                add(owner, each.id)
                case ast.AnnAssign(target=ast.Name(id=name)):
                    add(owner, name)
                case ast.ImportFrom(names=names):
                    for alias in names:
                        add(owner, alias.asname or alias.name)
                case ast.If(body=inner, orelse=other) | ast.Try(body=inner, orelse=other):
                    enter(owner, [*inner, *other], in_class)

    for path in HOUSE:
        is_room = path.stem == "__init__"
        module = path.parent.name if is_room else path.stem
        add((path.parent.parent if is_room else path.parent).name, module)
        enter(module, tree_of(path).body, False)
        stub = path.with_suffix(".pyi")
        if stub.exists():
            enter(module, tree_of(stub).body, False)
    return found


@functools.cache
def words() -> set[str]:
    """Return names that are not definitions: primitives, parameters, options, environment variables, extras, StableHLO's operations."""
    all_rooms.enter()
    found = {each.name for each in gc.get_objects() if isinstance(each, Primitive)}
    found |= {each.arg for path in HOUSE for each in ast.walk(tree_of(path)) if isinstance(each, ast.arg)}
    found |= {f"{prefix}{option}" for option in options.OPTIONS for prefix in ("", "jax_")}
    found |= set(OF_OTHERS)
    found |= set(re.findall(r"(?:JITKIT|JAX)_\w+", (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")))
    found |= set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    for path in HOUSE:
        found |= set(DIALECT.findall(path.read_text(encoding="utf-8")))
    return found


@functools.cache
def written() -> set[str]:
    """Return the words and parts of paths in the strings of jitkit. Some are files that it makes, or finds on a user's
    machine.
    """
    strings = (each for path in HOUSE for each in ast.walk(tree_of(path)) if isinstance(each, ast.Constant))
    return {word for each in strings if isinstance(each.value, str) for word in re.split(r"[/\s]", each.value)}


LIBRARIES = (builtins, jax, jax.numpy, jax.lax, jax.nn, jax.random, jax.tree_util, jax.core, np, jaxlib.xla_client)
TYPES = (str, list, dict, set, tuple, type, int, float, complex, Exception, np.ndarray, jax.Array)
TYPES += (CodeType, FunctionType, TracebackType)
ALIASES = {"jnp": "jax.numpy", "np": "numpy", "lax": "jax.lax", "jitkit": "jax", "jk": "jax"}


@functools.cache
def is_elsewhere(name: str) -> bool:
    """Return whether Python, numpy or JAX has this name."""
    if keyword.iskeyword(name) or keyword.issoftkeyword(name) or name in sys.stdlib_module_names:
        return True
    first, *rest = name.split(".")
    for place in (*LIBRARIES, *TYPES):
        if has(place, [first, *rest]):
            return True
    path = [*ALIASES.get(first, first).split("."), *rest]
    for cut in range(len(path), 0, -1):
        try:
            module = importlib.import_module(".".join(path[:cut]))
        except ImportError:
            continue
        return has(module, path[cut:])
    return False


def has(place: object, names: list[str]) -> bool:
    for name in names:
        if not hasattr(place, name):
            return False
        place = getattr(place, name)
    return True


def resolves(name: str, here: set[str]) -> bool:
    """Return whether a name exists for a reader of a module whose code has the names `here`."""
    if FILE.fullmatch(name):
        file = name.rpartition("/")[2]
        return (
            file in FILES
            or file.partition(".")[0] in {*sys.stdlib_module_names, "NAME", "NN_name"}
            or file in written()
        )
    first, *rest = name.split(".")
    if FORMULA.fullmatch(first):
        return not rest or resolves(".".join(rest), here)
    if rest and rest[-1] == "NAME":
        return resolves(".".join([first, *rest[:-1]]), here)
    if name in here or name in words():
        return True
    if first in ("jitkit", "grading") and rest:
        first, *rest = rest
    if {first, *rest} <= here:
        return True
    if first in defined():
        owner = first
        while rest and rest[0] in defined()[owner]:
            owner, *rest = rest
        if not rest:
            return True
    return is_elsewhere(name)


def test_names_in_docstrings_exist():
    lies: dict[str, list[str]] = {}
    looked_at = 0
    for path in HOUSE:
        here = names_of_code(tree_of(path))
        for line, text in docstrings(tree_of(path)):
            for name in (name for quoted in QUOTED.findall(text) for name in names_in(quoted)):
                looked_at += 1
                if not resolves(name, here):
                    lies.setdefault(name, []).append(f"{path.relative_to(ROOT)}:{line}")
    assert lies == {}
    assert looked_at > 3000


# --- what a plate lists -----------------------------------------------------------------------------------------------


def test_a_plate_names_every_file_of_its_room():
    """In the order of reading, which no test can know."""
    left_out = {}
    for room in ROOMS:
        plate = ast.get_docstring(tree_of(room / "__init__.py")) or ""
        files = {path.stem for path in room.glob("*.py")} | {path.name for path in room.glob("*/") if path in ROOMS}
        missing = {file for file in files if not re.search(rf"(?<![\w.]){file}(?!\w)", plate)} - {
            "__init__",
            "__main__",
        }
        if missing:
            left_out[str(room.relative_to(ROOT))] = sorted(missing)
    assert left_out == {}


def test_a_row_of_a_plate_is_a_file_of_its_room():
    """A row is indented: a name or several, two spaces, what they are."""
    strangers = {}
    for room in ROOMS:
        plate = ast.get_docstring(tree_of(room / "__init__.py")) or ""
        rows = re.findall(r"(?m)^    (\w[\w/]*(?:, \w[\w/]*)*)(?:,$|  +\S)", plate)
        for name in (name for row in rows for name in row.split(", ")):
            if not any(path.exists() for path in (room / f"{name}.py", room / name / "__init__.py")):
                strangers.setdefault(str(room.relative_to(ROOT)), []).append(name)
    assert strangers == {}
