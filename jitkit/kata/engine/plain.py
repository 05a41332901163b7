"""value -> plain data: the result of a check, as JSON can write it

A check runs a small program with a learner's functions in it and returns a result. Another process, which the learner's
functions cannot reach, compares it. So the result is sent as plain data: dicts of strings, numbers and lists, each with
its kind under "is". Objects are read by the name of their type and by their slots. Their methods are called as little
as possible, since the learner may be writing one of them.

    np.float32([1, 2])     {"is": "array", "dtype": "float32", "shape": [2], "weak": false, "data": "0000803f00000040"}
    TypeError("no")        {"is": "error", "class": "TypeError", "bases": [...], "text": "no", "lines": [...]}
    a program that ran     {"is": "program", "text": "jnp.sin(2.0)", "choices": [0, 3], "value": ...}
    a jaxpr                {"is": "jaxpr", "inputs": ..., "constants": ..., "values": ..., "equations": ..., "outputs": ...}
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

Plain = dict[str, Any]

_MOST_ITEMS = 100_000
_LONGEST_TEXT = 1_000_000
_MOST_BITS = 10_000


class Stablehlo:
    """StableHLO text, to be compared by running it on `arguments` (numpy arrays)."""

    def __init__(self, text: str, arguments: Sequence[Any]) -> None:
        self.text = text
        self.arguments = list(arguments)


class Raised:
    """An error that a part of a check's program raised. `parts` are words that its message must have."""

    def __init__(self, error: BaseException, parts: Sequence[str] = ()) -> None:
        self.error = error
        self.parts = list(parts)


def raised(function: Callable[..., Any], *args: Any, parts: Sequence[str] = (), **kwargs: Any) -> Any:
    """Return the error that `function(*args, **kwargs)` raises, as a `Raised` with `parts`; if it does not raise, return its result."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return Raised(error, parts)


class Ran:
    """A random program: its source, the choices by which it was written, and its result, or the error that it ended in (`Raised`)."""

    def __init__(self, text: str, choices: Sequence[int], value: Any) -> None:
        self.text = text
        self.choices = list(choices)
        self.value = value


class Unordered:
    """Several values, whose order does not matter."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.items = list(items)


def to_plain(value: Any, run_stablehlo: Callable[[str, Sequence[Any]], Sequence[Any]] | None = None) -> Plain:
    """Return the plain data of a value that a check returned. A value of a type that `_Writer` does not know becomes
    `{"is": "object"}`, with its type.

    With `run_stablehlo`, StableHLO is run, and its results are added, or XLA's error.
    """
    return _Writer(run_stablehlo).write(value)


def array_of(data: Plain) -> np.ndarray[Any, Any]:
    """Return the numpy array for `{"is": "array"}`; for float0, of bools. Raise ValueError if bytes, shape and dtype do not fit together,
    TypeError for an unknown dtype.
    """
    name = data["dtype"]
    dtype = np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)
    if not dtype.itemsize:  # float0, whose elements have no bytes
        return np.zeros(data["shape"], bool)
    return np.frombuffer(bytes.fromhex(data["data"]), dtype).reshape(data["shape"])


class _Writer:
    """Writes plain data, and counts the parts: after `_MOST_ITEMS`, each further part becomes an object with a reason. For a value
    that contains itself, `write` raises RecursionError.
    """

    def __init__(self, run_stablehlo: Callable[[str, Sequence[Any]], Sequence[Any]] | None) -> None:
        self.count = 0
        self.run_stablehlo = run_stablehlo

    def write(self, value: Any) -> Plain:
        self.count += 1
        if self.count > _MOST_ITEMS:
            return {"is": "object", "type": "more parts than a result can have"}
        kind = type(value)
        if kind in _SCALARS:
            return _SCALARS[kind](value)
        if kind is np.ndarray:
            return _array(value, weak=False)
        if issubclass(kind, np.generic):
            return _array(np.asarray(value), weak=False) | {"scalar": True}
        if kind in (list, tuple):
            return {"is": kind.__name__, "items": [self.write(x) for x in value]}
        if kind is dict:
            return {"is": "dict", "items": [[self.write(k), self.write(v)] for k, v in value.items()]}
        if kind is Unordered:
            return {"is": "unordered", "items": [self.write(x) for x in value.items]}
        if kind is Stablehlo:
            return self.stablehlo(value)
        if kind is Raised:
            return _error(value)
        if kind is Ran:
            result = self.write(value.value)
            return {"is": "program", "text": _text(value.text), "choices": value.choices, "value": result}
        return self.write_ours(value, f"{kind.__module__}.{kind.__qualname__}")

    def stablehlo(self, value: Stablehlo) -> Plain:
        """Return the plain data of StableHLO text; if it is run, with its results or XLA's error."""
        arguments = [self.write(x) for x in value.arguments]
        data: Plain = {"is": "stablehlo", "text": _text(value.text), "arguments": arguments}
        if self.run_stablehlo is not None:
            try:
                results = self.run_stablehlo(value.text, value.arguments)
            except Exception as error:  # XLA's error, in its words
                data["refused"] = _text(str(error))
            else:
                data["results"] = [self.write(x) for x in results]
        return data

    def write_ours(self, value: Any, name: str) -> Plain:
        """Return the plain data of a value of one of jitkit's types; for any other type, `{"is": "object"}`."""
        if name == "jitkit.runtime.array.Array":
            return _array(np.asarray(value._buf), weak=bool(value.aval.weak_type))
        if name == "jitkit.core.avals.ShapedArray":
            return {"is": "type", "text": _type(value)}
        if name == "jitkit.jaxpr.language.Jaxpr":
            return _JaxprWriter(self).write(value)
        if name == "jitkit.tree_util.treedef.PyTreeDef":
            return {"is": "tree", "text": _text(repr(value))}
        return {"is": "object", "type": name}


class _JaxprWriter:
    """Numbers the variables of a jaxpr in the order in which they are met."""

    def __init__(self, writer: _Writer) -> None:
        self.writer = writer
        self.numbers: dict[int, int] = {}

    def write(self, jaxpr: Any) -> Plain:
        """Return inputs, constants with their values, equations and outputs as plain data."""
        inputs = [self.binder(var) for var in jaxpr.invars]
        constants = [self.binder(var) for var in jaxpr.constvars]
        equations = [self.equation(eqn) for eqn in jaxpr.eqns]
        return {
            "is": "jaxpr",
            "inputs": inputs,
            "constants": constants,
            "values": [self.writer.write(x) for x in jaxpr.consts],
            "equations": equations,
            "outputs": [self.atom(x) for x in jaxpr.outvars],
        }

    def equation(self, eqn: Any) -> Plain:
        """Return the plain data of an equation, with the line of Python that it came from, or None."""
        operands = [self.atom(x) for x in eqn.invars]
        params = sorted((str(k), self.param(v)) for k, v in _written_out(eqn).items())
        position = eqn.source_info.position
        return {
            "primitive": str(eqn.primitive.name),
            "operands": operands,
            "params": [list(item) for item in params],
            "results": [self.binder(var) for var in eqn.outvars],
            "effects": sorted(map(str, eqn.effects)),
            "line": [position.file, position.line] if position is not None else None,
        }

    def binder(self, var: Any) -> Plain:
        """Give a variable that is bound here the next number, and return it as plain data."""
        number = self.numbers[id(var)] = len(self.numbers)
        return {"var": number, "type": _type(var.aval)}

    def atom(self, x: Any) -> Plain:
        """Return the plain data of an operand or an output, a variable or a literal; a variable that nothing binds has the number -1."""
        if type(x).__name__ == "Literal":
            return {"literal": self.writer.write(x.val), "type": _type(x.aval)}
        return {"var": self.numbers.get(id(x), -1), "type": _type(x.aval)}

    def param(self, value: Any) -> Any:
        """Return the plain data of a parameter: inner jaxprs are written out, everything else is what `repr` returns."""
        if type(value).__name__ == "Jaxpr":
            return _JaxprWriter(self.writer).write(value)
        if isinstance(value, tuple) and any(type(x).__name__ == "Jaxpr" for x in value):
            return [self.param(x) for x in value]
        return _text(repr(value))


def _written_out(eqn: Any) -> dict[str, Any]:
    """Return the parameters of an equation. If the `strides` of a slice are None, write ones in their place."""
    params = dict(eqn.params)
    if eqn.primitive.name == "slice" and params.get("strides") is None:
        params["strides"] = (1,) * len(params["start_indices"])
    return params


def _array(value: np.ndarray[Any, Any], weak: bool) -> Plain:
    if value.dtype.kind in "OUSMm":
        return {"is": "object", "type": f"numpy array of {value.dtype}"}
    return {
        "is": "array",
        "dtype": value.dtype.name,
        "shape": list(value.shape),
        "weak": weak,
        "data": np.ascontiguousarray(value).tobytes().hex(),
    }


def _int(x: int) -> Plain:
    if x.bit_length() > _MOST_BITS:  # Python refuses to print such a number
        return {"is": "object", "type": f"number of {x.bit_length()} bits"}
    return {"is": "int", "value": str(x)}


def _error(raised: Raised) -> Plain:
    error = raised.error
    frames = traceback.extract_tb(error.__traceback__)
    return {
        "is": "error",
        "class": type(error).__name__,
        "bases": [base.__name__ for base in type(error).__mro__],
        "text": _text(said(error)),
        "parts": raised.parts,
        "lines": [[frame.filename, frame.lineno] for frame in frames],
    }


def said(error: BaseException) -> str:
    """Return the message of an error of any class, whose `__str__` may fail."""
    try:
        return str(error)
    except Exception as other:
        return f"a message that cannot be printed: __str__ of {type(error).__name__} raised {type(other).__name__}"


def _type(aval: Any) -> str:
    """Return a type as text, `float32[3]`, with a star if it is weak. This does not use the aval's own printer, which may be the
    learner's.
    """
    dtype = aval.dtype
    name = _name(dtype) if isinstance(dtype, np.dtype) else getattr(dtype, "name", str(dtype))
    return f"{name}{'*' if aval.weak_type else ''}[{','.join(map(str, aval.shape))}]"


@functools.lru_cache(maxsize=256)
def _name(dtype: np.dtype[Any]) -> str:
    """Return a dtype's name. It is cached: `str` of a dtype takes 9 microseconds, a fifth of the time of writing a
    jaxpr.
    """
    return dtype.name


def _text(text: str) -> str:
    return (
        text
        if len(text) <= _LONGEST_TEXT
        else f"{text[:_LONGEST_TEXT]} ... and {len(text) - _LONGEST_TEXT} characters more"
    )


_SCALARS: dict[type, Callable[[Any], Plain]] = {
    type(None): lambda x: {"is": "None"},
    bool: lambda x: {"is": "bool", "value": x},
    int: _int,
    float: lambda x: {"is": "float", "value": x.hex()},
    complex: lambda x: {"is": "complex", "value": [x.real.hex(), x.imag.hex()]},
    str: lambda x: {"is": "str", "value": _text(x)},
}
