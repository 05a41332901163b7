"""function -> what in it is JAX's, and which imports to change, if a function of jitkit is needed.

People who come from JAX bring functions that JAX has jitted, or that call `jax.numpy`, which refuses our tracers. A
traceback would not explain that: they need to read which lines to change, and how.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def made_by_jax(function: Callable[..., Any]) -> bool:
    """Return whether a function is JAX's: one of its own, or one that `jax.jit`, `jax.vmap` or `jax.grad` returned."""
    function = getattr(function, "__func__", function)
    code = getattr(function, "__globals__", {}).get("__name__", type(function).__module__)
    return _is_of_jax(code)


def names_of_jax(function: Callable[..., Any]) -> list[str]:
    """Return the names by which a function, or one inside it, calls JAX: `jnp`, a jitted function, its own imports."""
    function = inspect.unwrap(function)
    known = getattr(function, "__globals__", {})
    code = getattr(function, "__code__", None)
    names = dict.fromkeys(name for part in _codes(code) for name in part.co_names) if code else {}
    return [name for name in names if (_comes_from_jax(known[name]) if name in known else _is_of_jax(name))]


def imports_to_change(file: str) -> list[str]:
    """Return, for each line of a file that imports JAX, the line to write instead: `line 1: import jitkit as jax`; []
    if the file cannot be read.
    """
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    changed = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name == "jax" or (name.name.startswith("jax.") and name.asname is None):
                    changed.append(f"line {node.lineno}: import jitkit as {name.asname or 'jax'}")
                elif name.name.startswith("jax."):
                    changed.append(f"line {node.lineno}: import jitkit{name.name[3:]} as {name.asname}")
        elif isinstance(node, ast.ImportFrom) and _is_of_jax(node.module or ""):
            names = ", ".join(f"{n.name} as {n.asname}" if n.asname else n.name for n in node.names)
            changed.append(f"line {node.lineno}: from jitkit{(node.module or '')[3:]} import {names}")
    return list(dict.fromkeys(changed))


def imports_jax(file: Path) -> bool:
    """Return whether a file imports JAX."""
    return bool(imports_to_change(str(file)))


def sentence(function: Callable[..., Any], file: str) -> str:
    """Return a sentence: that a function, found in `file`, is JAX's, and what to change, there or where it was written."""
    name = getattr(function, "__name__", "it")
    names = names_of_jax(function)
    calls = f"calls JAX ({', '.join(names)})" if names and not made_by_jax(function) else "is a function of JAX's"
    lines = imports_to_change(file)
    if not lines and not made_by_jax(function):
        file = inspect.unwrap(function).__code__.co_filename
        lines = imports_to_change(file)
    change = (
        f"Change the imports of {Path(file).name}:\n" + "\n".join(f"    {line}" for line in lines)
        if lines
        else "Where it is written, change the imports: `import jitkit as jax`, `import jitkit.numpy as jnp`."
    )
    return f"{name} {calls}, and jitkit compiles functions of its own, under JAX's names. {change}"


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _comes_from_jax(value: Any) -> bool:
    if isinstance(value, types.ModuleType):
        return _is_of_jax(value.__name__)
    return _is_of_jax(type(value).__module__) or (
        callable(value) and _is_of_jax(getattr(value, "__module__", None) or "")
    )


def _is_of_jax(module: str) -> bool:
    return module.partition(".")[0] in ("jax", "jaxlib")
