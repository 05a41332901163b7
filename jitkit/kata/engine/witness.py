"""two jaxprs -> numbers on which they disagree

A jaxpr in plain data can be run with numpy if its primitives are plain arithmetic. If both jaxprs can, a verdict has an example beside
the equations: inputs, the expected result, and the learner's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from .comparison import describe
from .plain import Plain, array_of, to_plain

_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "abs": np.abs, "add": np.add, "add_any": np.add, "and": np.bitwise_and, "ceil": np.ceil, "copy": np.copy, "cos": np.cos,
    "cosh": np.cosh, "div": np.divide, "eq": np.equal, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "floor": np.floor,
    "ge": np.greater_equal, "gt": np.greater, "le": np.less_equal, "log": np.log, "log1p": np.log1p, "lt": np.less,
    "max": np.maximum, "min": np.minimum, "mul": np.multiply, "ne": np.not_equal, "neg": np.negative, "not": np.invert,
    "or": np.bitwise_or, "pow": np.power, "rem": np.fmod, "sign": np.sign, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt,
    "square": np.square, "sub": np.subtract, "tan": np.tan, "tanh": np.tanh,
}  # fmt: skip
_MOST_ELEMENTS = 10_000


class _Unknown(Exception):
    """Raised for a primitive, a type or a literal that `witness` cannot compute with numpy."""


def witness(expected: Plain, actual: Plain) -> str:
    """Return a sentence with inputs for which two jaxprs give different results, and both results. Return "" if the results agree,
    or if numpy cannot run one of the jaxprs.
    """
    try:
        inputs = [_input(i, binder["type"]) for i, binder in enumerate(expected["inputs"])]
        with np.errstate(all="ignore"):
            ours, theirs = _run(expected, inputs), _run(actual, inputs)
    except (_Unknown, KeyError, ValueError, TypeError, ZeroDivisionError):
        return ""
    for one, other in zip(ours, theirs, strict=False):
        same = one.shape == other.shape and one.dtype == other.dtype
        if not same or not np.allclose(one, other, rtol=1e-5, equal_nan=True):
            given = f"For {', '.join(map(_told, inputs))} it should compute" if inputs else "It should compute"
            return f"{given} {_told(one)}, and computes {_told(other)}."
    return ""


def _run(jaxpr: Plain, inputs: list[Any]) -> list[Any]:
    values = {binder["var"]: x for binder, x in zip(jaxpr["inputs"], inputs, strict=True)}
    for binder, constant in zip(jaxpr["constants"], jaxpr["values"], strict=False):
        values[binder["var"]] = array_of(constant)

    def read(atom: Plain) -> Any:
        if "literal" not in atom:
            return values[atom["var"]]
        literal = atom["literal"]
        number = array_of(literal) if literal["is"] == "array" else _number(literal)
        return np.asarray(number, _dtype(atom["type"]))

    for eqn in jaxpr["equations"]:
        results = _bind(eqn["primitive"], dict(map(tuple, eqn["params"])), list(map(read, eqn["operands"])))
        for binder, result in zip(eqn["results"], results, strict=True):
            values[binder["var"]] = np.asarray(result).astype(_dtype(binder["type"]))
    return [read(atom) for atom in jaxpr["outputs"]]


def _bind(primitive: str, params: dict[str, Any], operands: list[Any]) -> list[Any]:
    inner = params.get("jaxpr")
    if isinstance(inner, dict) and primitive in ("jit", "pjit", "closed_call"):
        return _run(inner, operands)
    if primitive in _ARITHMETIC:
        return [_ARITHMETIC[primitive](*operands)]
    if primitive == "integer_pow":
        return [operands[0] ** int(params["y"])]
    if primitive == "convert_element_type":
        return operands  # the caller converts to the variable's type
    if primitive == "select_n" and len(operands) == 3:
        return [np.where(operands[0], operands[2], operands[1])]
    raise _Unknown(primitive)


def _input(i: int, type: str) -> Any:
    """Return small numbers with few digits for an input. They differ from input to input. Raise _Unknown for a large array."""
    dtype, shape = _dtype(type), _shape(type)
    size = int(np.prod(shape))
    if size > _MOST_ELEMENTS:
        raise _Unknown(type)
    return (np.arange(size) % 7 + 2 + 3 * i).reshape(shape).astype(dtype)


def _dtype(type: str) -> np.dtype[Any]:
    name = type.partition("[")[0].rstrip("*")
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


def _shape(type: str) -> tuple[int, ...]:
    inside = type.partition("[")[2].rstrip("]")
    return tuple(int(n) for n in inside.split(",")) if inside else ()


def _number(literal: Plain) -> Any:
    if literal["is"] == "float":
        return float.fromhex(literal["value"])
    if literal["is"] in ("int", "bool"):
        return int(literal["value"])
    raise _Unknown(literal["is"])


def _told(array: Any) -> str:
    return describe(to_plain(np.asarray(array)))
