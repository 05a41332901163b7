"""Makes the errors for arguments that cannot be used: which one, why, and the edit that fixes it.

JAX: jax/_src/pjit.py:_infer_input_type
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..base import edits, errors, traceback_util


def not_an_array(fun: Callable[..., Any], name: str, x: Any, error: Exception) -> Exception:
    """Return the error for the argument `name`, of a type that cannot be traced, or an int that does not fit."""
    if isinstance(error, OverflowError):
        return OverflowError(
            "An overflow was encountered while parsing an argument to a jitted computation, whose argument "
            "path is "
            f"{name}. Got {type(x)} with value {x}\n"
            "It does not fit the 32-bit integers that are the default. Pass a float, or enable 64-bit types: "
            "`jitkit.config.update('jax_enable_x64', True)`."
        )
    if hasattr(x, "__jax_array__") and not errors.about_value_of_jax(x):
        return ValueError(
            "Triggering __jax_array__() during abstractification is no longer supported. To avoid this error, either "
            "explicitly convert your object using jax.numpy.array(), or register your object as a pytree.\n"
            f"It was passed as {name}, and is of type {type(x)}."
        )
    if isinstance(x, np.generic) and not isinstance(x, np.str_):
        return TypeError(
            f"Argument '{x}' of type {type(x)} is not a valid JAX type.\n"
            f"It was passed as {name}. {_instead_of(fun, x, name)}"
        )
    return TypeError(
        f"Error interpreting argument to {fun} as an abstract array. The problematic value is of type "
        f"{type(x)} and was "
        f"passed to the function at path {name}.\n"
        "This typically means that a jit-wrapped function was called with a non-array argument, and this "
        "argument was "
        "not marked as static using the static_argnums or static_argnames parameters of "
        f"jit.\n{_instead_of(fun, x, name)}"
    )


def _instead_of(fun: Callable[..., Any], x: Any, name: str) -> str:
    if about := errors.about_value_of_jax(x):
        return about.lstrip()
    if isinstance(x, Iterator):
        return (
            f"It yields its values one at a time. Make an array of them first: `jnp.array(list({name}))`, for example."
        )
    code = getattr(fun, "__code__", None)
    if code is not None and traceback_util.is_own_file(code.co_filename):
        return f"{name} must be an array or a number here."  # the user cannot make an argument of jitkit's own function static
    if isinstance(x, str):
        return f"A string is not an array. If {name} selects a variant of the function, {_made_static(fun, name)}."
    if isinstance(x, (set, frozenset)):
        return f"A set is not a pytree, because it has no order. Pass {name} as a sorted list or a tuple."
    if callable(x) and hasattr(x, "__name__"):  # an object that can be called may well hold arrays
        return f"A function is not an array. Use it in the function without passing it, or {_made_static(fun, name)}."
    if isinstance(x, np.generic):
        return f"Arrays hold numbers: convert {name} to one first."
    how = "register its class as a pytree (`jitkit.tree_util.register_dataclass`)"
    if not dataclasses.is_dataclass(x):
        how = (
            "make its class a dataclass with a field for each array, and register it (`@jitkit.tree_util.register_dataclass` above "
            "`@dataclasses.dataclass`)"
        )
    return f"If {name} holds arrays, {how}; if it is a setting, {_made_static(fun, name)}."


def _made_static(fun: Callable[..., Any], name: str) -> str:
    if not name.isidentifier():
        return "pass it as an argument of its own that is static"
    function = getattr(fun, "__name__", "f")
    return f"make it static: jit({function if function.isidentifier() and function[0] != '_' else 'f'}, static_argnames={name!r})"


def unhashable_static(value: Any, error: Exception) -> ValueError:
    """Return the error for a static argument without a hash."""
    return ValueError(
        "Non-hashable static arguments are not supported. An error occurred while trying to hash an object "
        "of type "
        f"{type(value)}, {value}. The error was:\nTypeError: {str(error).removesuffix(edits.NO_HASH)}\n\n"
        "A static argument is part of the key under which compiled code is found, so it needs a hash. "
        f"{_hashable_instead(value)}"
    )


def incomparable_static(values: Iterable[Any], error: Exception) -> Exception:
    """Return the error for static arguments if one of them cannot be compared; `error` itself if all can be."""
    for value in values:
        try:
            bool(value == value)
        except Exception as refusal:
            return _incomparable(type(value), refusal)
    return error


def _incomparable(kind: type, error: Exception) -> ValueError:
    return ValueError(
        "static arguments should be comparable using __eq__."
        f"The following error was raised when comparing two objects of types {kind} and {kind}. "
        f"The error was:\n{type(error).__name__}: {error}\n\n"
        "A static argument is part of the key under which compiled code is found: two with the same hash are "
        "compared, and `==` must return True or False. Write `__eq__` so that it does, or pass something else "
        "that identifies the value."
    )


def mutated_static(function: str, where: int | str, value: Any) -> ValueError:
    """Return the error for a static argument whose hash has changed since it was first passed."""
    return ValueError(
        f"Static argument {where!r} of {function} was mutated: {value!r} has another hash than when it was "
        "first "
        "passed. A static argument is part of the key under which compiled code is found, so it must not "
        "change. "
        "Make a new object instead, for example with `dataclasses.replace` on a frozen dataclass."
    )


def _hashable_instead(value: Any) -> str:
    if isinstance(value, list):
        return "Pass a tuple instead of a list."
    if isinstance(value, dict):
        return "Pass a tuple of its items (`dict(...)` makes a dict of it again), or a frozen dataclass, instead of a dict."
    if isinstance(value, set):
        return "Pass a frozenset instead of a set."
    if hasattr(value, "shape"):
        size = " A size or a setting is passed as a Python number: `int(n)`." if value.shape == () else ""
        return f"Do not mark arrays as static: pass them as ordinary arguments.{size}"
    parts = vars(value) if hasattr(value, "__dict__") else {}
    arrays = [name for name, part in parts.items() if hasattr(part, "shape")]
    if arrays:
        return (
            f"Its {arrays[0]} is an array, which has no hash. Do not mark the object as static: register its class "
            "as a pytree (`jitkit.tree_util.register_dataclass`), so that it is traced."
        )
    unhashable = [name for name, part in parts.items() if isinstance(part, list | dict | set)]
    if unhashable:
        return f"Its {unhashable[0]} is a {type(parts[unhashable[0]]).__name__}, which has no hash: make it a tuple or a frozenset."
    return "Give its class `__hash__` and `__eq__`, for example with `@dataclass(frozen=True)`."
