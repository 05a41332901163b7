"""Runs a program with `jitkit` and with `jax`: what it returns, or raises, must be the same.

    @same_as_jax
    def test_a_new_shape_is_traced_anew(jax, jnp):
        log = []
        f = jax.jit(lambda x: log.append(x.shape) or x)
        f(jnp.ones(2)), f(jnp.ones(3)), f(jnp.ones(2))
        return log, f._cache_size()

The program runs twice, with the two pairs of modules as `jax` and `jnp`. It returns plain data; arrays in it are compared by type and
value, tracers by type, exceptions by class and first line.
"""

from __future__ import annotations

import collections
import contextlib
import inspect
import re
import types
import warnings

import jax
import jax.flatten_util
import jax.numpy
import numpy as np

import jitkit
import jitkit.numpy
from jitkit.core import ShapedArray, Tracer

JAX_VERSION = tuple(int(part) for part in jax.__version__.split(".")[:2])

OURS = (jitkit, jitkit.numpy)
THEIRS = (jax, jax.numpy)


def same_as_jax(program):
    """Make a test of a program `program(jax, jnp, ...)`: it must give with jitkit what it gives with JAX."""

    def test(**kwargs):
        theirs = outcome(program, *THEIRS, **kwargs)
        ours = outcome(program, *OURS, **kwargs)
        found = difference(ours, theirs)
        assert found is None, found

    rest = list(inspect.signature(program).parameters.values())[2:]
    test.__signature__ = inspect.Signature([p.replace(kind=p.KEYWORD_ONLY) for p in rest])
    test.__name__ = program.__name__
    test.__qualname__ = program.__qualname__
    test.__module__ = program.__module__
    test.__doc__ = program.__doc__
    return test


def difference(ours, theirs, where="the result"):
    """Return the first place where two pieces of plain data differ, in words; None when they are equal."""
    if type(ours) is type(theirs) and isinstance(ours, list | tuple | dict) and len(ours) == len(theirs):
        pairs = zip(ours, theirs, strict=True)
        if isinstance(ours, dict):
            if list(ours) != list(theirs):
                return f"{where} has the keys {list(ours)}, and in JAX {list(theirs)}"
            pairs = zip(ours.values(), theirs.values(), strict=True)
        for i, (a, b) in enumerate(pairs):
            found = difference(a, b, f"{where}[{list(ours)[i]!r}]" if isinstance(ours, dict) else f"{where}[{i}]")
            if found:
                return found
    return None if ours == theirs else f"{where} is\n{ours}\nand in JAX\n{theirs}"


def outcome(program, /, *modules, **kwargs):
    """Return what the program returns, as plain data. An error that it raises is not caught."""
    return plain(program(*modules, **kwargs))


def raised(function, *args, **kwargs):
    """Return the class and the first line of the error that a call raises; if it raises none, "nothing was raised" and its
    result.
    """
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        return plain(error)
    return "nothing was raised", result


def warned(function, *args, **kwargs):
    """Return the first lines of the warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*args, **kwargs)
    return [plain(w.message) for w in caught]


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_NAMES = [
    (re.compile(r"DynamicJaxprTracer|JitTracer"), "Tracer"),
    (
        re.compile(
            r"jaxlib\._jax\.ArrayImpl|jaxlib\._jax\.Array|jaxlib\.xla_extension\.ArrayImpl|jitkit\.runtime\.array\.Array|ArrayImpl"
        ),
        "Array",
    ),
    (re.compile(r"PjitFunction of "), ""),
]


def words(text):
    """Return a sentence without addresses, and without the names of classes that JAX does not show to users, which cannot be
    the same.
    """
    text = _ADDRESS.sub("", text)
    for pattern, name in _NAMES:
        text = pattern.sub(name, text)
    return text


def aval_text(aval):
    weak = "~" if getattr(aval, "weak_type", False) else ""
    return f"{weak}{np.dtype(aval.dtype).name}{list(aval.shape)}"


def plain(x):
    """Return a value as plain data, with the plain data of its parts if it is a container; of an unknown class its repr, as `words`."""
    if isinstance(x, BaseException):
        return type(x).__name__, words(str(x).split("\n")[0])
    if isinstance(x, (Tracer, jax.core.Tracer)):
        return "tracer", aval_text(x.aval)
    if isinstance(x, (jax.Array, jitkit.Array)):
        return "array", aval_text(x.aval), np.asarray(x).tobytes()
    if isinstance(x, (ShapedArray, jax.core.ShapedArray)):
        return "aval", aval_text(x)
    if isinstance(x, (jitkit.ShapeDtypeStruct, jax.ShapeDtypeStruct)):
        return "struct", aval_text(x)
    if isinstance(x, np.ndarray | np.generic):
        return type(x).__name__, str(x.dtype), x.shape, x.tobytes()
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x).__name__, [plain(item) for item in x]
    if isinstance(x, list | tuple | collections.deque):
        return type(x)([plain(item) for item in x])
    if isinstance(x, float | complex):
        return repr(x)  # as text, nan equals nan, and 0.0 differs from -0.0
    if isinstance(x, str | bytes | int | bool | type(None) | types.EllipsisType | type):
        return x
    return words(repr(x))


@contextlib.contextmanager
def both_with(**options):
    """Set options of the same name in both systems, until the block ends."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(jitkit.config.override(**options))
        for name, value in options.items():
            stack.enter_context(getattr(jax, name)(value))
        yield
