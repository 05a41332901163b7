"""FILE:FUNCTION and shapes -> a function and arguments to trace it with

model.py:loss  f32[1024,1024],f32[8]
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from jitkit import ShapeDtypeStruct, runtime
from jitkit.core import dtypes
from jitkit.random.keys import key_dtype

from ..problems import Problem, WrongUsage
from . import of_jax

_KINDS = [
    np.dtype(kind)
    for kind in (
        "float32", "float16", ml_dtypes.bfloat16, "float64", "int8", "int16", "int32", "int64", "uint8", "uint16",
        "uint32", "uint64", "bool", "complex64", "complex128",
    )
]  # fmt: skip
_SHORT = {dtypes.short_dtype_name(dtype): dtype for dtype in _KINDS}
_KEYS = {"key": key_dtype()} | {each.name: each for each in map(key_dtype, ("threefry2x32", "rbg", "unsafe_rbg"))}
_DTYPES = _SHORT | _KEYS | {dtype.name: dtype for dtype in _KINDS}
_DTYPE = r"[a-z]\w*(?:<\w+>)?"  # the part in angle brackets is for random keys: key<fry>
_SHAPE = re.compile(rf"(?P<dtype>{_DTYPE})(?:\[(?P<sizes>[\d, ]*)\])?")


def parse_shapes(text: str) -> list[ShapeDtypeStruct]:
    """Return arguments without values for a string such as `f32[2,3],i32[]`. Raise WrongUsage if it cannot be read."""
    found = []
    for part in re.split(r"[,\s]+(?![^\[]*\])", text.strip()):
        match = _SHAPE.fullmatch(part)
        if not match:
            raise WrongUsage(f"{part!r} is not a type such as f32[1024,8] (or f32[] for a single number)")
        name = match["dtype"]
        if name not in _DTYPES:
            raise WrongUsage(
                f"{name!r} in {part!r} is not a dtype; there are {', '.join(_SHORT)}, and key for random keys"
            )
        sizes = [int(size) for size in (match["sizes"] or "").split(",") if size.strip()]
        found.append(ShapeDtypeStruct(sizes, _DTYPES[name]))
    return found


def parse_arguments(text: str) -> tuple[Any, ...]:
    """Return arguments without values, trees of types, for a string such as `{"w": f32[8,16], "b": f32[16]}, (f32[8], i32[])`: Python's
    dictionaries, lists and tuples. The quotes around keys may be left out. Raise WrongUsage if the string cannot be read.
    """
    if not re.search(r"[{(]|(?:^|[\s,])\[", text):
        return tuple(parse_shapes(text))
    found: list[ShapeDtypeStruct] = []

    def numbered(match: re.Match[str]) -> str:
        found.extend(parse_shapes(match[0]))
        return str(len(found) - 1)

    quoted = re.sub(r"(?<=[{,])\s*([A-Za-z_]\w*)\s*:", r'"\1":', text)
    plain = re.sub(rf"(?<![\w\"']){_DTYPE}\[[\d, ]*\]", numbered, quoted)
    try:
        read = ast.literal_eval(f"({plain},)")
    except (SyntaxError, ValueError):
        raise WrongUsage(
            f"{text!r} is not a tree of types. Write it as Python does, and quote it for the shell: --shapes "
            '\'{"w": f32[8,16], "b": f32[16]}\' f32[4,8]'
        ) from None
    return tuple(_with_types(each, found) for each in read)


def _with_types(tree: Any, types: Sequence[ShapeDtypeStruct]) -> Any:
    if isinstance(tree, dict):
        return {key: _with_types(value, types) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(_with_types(value, types) for value in tree)
    if tree is None:
        return None
    if type(tree) is not int or not 0 <= tree < len(types):
        raise WrongUsage(f"{tree!r} is not a type such as f32[8]. A value is given by name: --static n={tree!r}")
    return types[tree]


def parse_static(given: Sequence[str]) -> dict[str, Any]:
    """Return the values to trace the function with, by name: `{"n": 3}` for `n=3`. Raise WrongUsage if Python cannot read one."""
    found = {}
    for each in given:
        name, equals, text = each.partition("=")
        try:
            if not equals or not name.isidentifier():
                raise ValueError
            found[name] = ast.literal_eval(text)
        except (SyntaxError, ValueError):
            raise WrongUsage(
                f"{each!r} is not NAME=VALUE, with a value as Python writes it: n=3, mode=\"'same'\""
            ) from None
    return found


def check_bound(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Raise WrongUsage, which says how to give arguments, if `args` is empty and the function cannot be called with `kwargs` alone."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        if not args:
            name = getattr(function, "__name__", "the function")
            raise WrongUsage(
                f"{name}{signature}: {error}. Give their types: --shapes f32[8,16],f32[16]; a tree as '{{\"w\": f32[8,16]}}', "
                "a value that is not an array as --static n=3. Or let --calls find the types in a run."
            ) from None


def load_function(where: str) -> Callable[..., Any]:
    """Return the function that `FILE:FUNCTION` or `FILE:OBJECT.METHOD` names. Raise WrongUsage if there is no
    such file, and Problem if it cannot be imported, or has no such function (with the names of those it has).
    """
    file, name = names_in(where)
    path = Path(file)
    if not path.is_file():
        raise WrongUsage(f"there is no file {file!r}")
    try:
        tree = ast.parse(path.read_bytes(), filename=file)
    except (SyntaxError, ValueError) as error:
        raise Problem(f"{file} is not Python: {error}") from None
    if of_jax.imports_jax(path):
        runtime.jax()  # imports JAX quietly; otherwise it reports its search for accelerators
    module = _run(path)
    function = functools.reduce(lambda found, part: getattr(found, part, None), name.split("."), module)
    if not callable(function):
        there = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        listed = f"It has {', '.join(there)}." if there else "It defines none outside of classes."
        raise Problem(f"{file} has no function {name!r}. {listed}")
    found: Callable[..., Any] = function
    return found


def names_in(where: str) -> tuple[str, str]:
    """Return the two parts of `model.py:net.loss`: the file, and the dotted name of the function in it. Raise WrongUsage if
    there is no colon or no such name.
    """
    file, colon, name = where.rpartition(":")
    if not colon or not all(part.isidentifier() for part in name.split(".")):
        raise WrongUsage(f"{where!r} does not name a function. Write the file, a colon and the function: model.py:loss")
    return file, name


def _run(path: Path) -> Any:
    """Import a file, with its folder on the path and its name as the only argument, as Python does for a script; return the module.
    A module of a package is imported as such, so that it can import its neighbours. The folder stays on the path: functions may
    import when they are called. Raise Problem, with the line, if the import fails.
    """
    folder, name = path.resolve().parent, path.stem
    while (folder / "__init__.py").is_file():
        folder, name = folder.parent, f"{folder.name}.{name}"
    arguments, sys.argv = sys.argv, [str(path)]
    sys.path.insert(0, str(folder))
    try:
        if "." in name:
            module = importlib.import_module(name)
            if getattr(module, "__file__", None) and path.samefile(module.__file__ or ""):
                return module
        return _alone(path)
    except (Exception, SystemExit) as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).resolve() == path.resolve()]
        where = f", line {frames[-1].lineno}" if frames else ""
        relative = isinstance(error, ImportError) and "relative import" in str(error)
        mend = f". Relative imports work in packages: put an __init__.py into {path.parent}" if relative else ""
        raise Problem(f"{path} could not be imported{where}: {type(error).__name__}: {error}{mend}") from None
    finally:
        sys.argv = arguments


def _alone(path: Path) -> Any:
    """Import a file that is not part of a package, under its own module name; return the module."""
    spec = importlib.util.spec_from_file_location(f"_jitkit_target_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError("its name has to end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def shapes_needed(function: Callable[..., Any], given: Sequence[Any], line: int | None = None) -> str:
    """Return a sentence that says with which types a function was called, and how `--shapes` gives other types. `line` is the
    line of the function's file that raised, if it is known; then the sentence names it.
    """
    types = ", ".join(f"{s.dtype.name}{list(s.shape)}" for s in given) or "no arguments"
    name = getattr(function, "__name__", "the function")
    if line is not None:
        return f"{name} was called with {types}, and raised at line {line}; --shapes gives other types."
    return f"{name} was called with {types}. Give a type for each array: --shapes f32[1024,1024],f32[8]"
