"""Defines the infix operators, indexing and array methods that Array and Tracer share.

`x + y` means the same whether x is an array or a tracer: `numpy.add(x, y)`. But `numpy` is one of the top rooms and
arrays are near the bottom, so the operators are empty here, and `numpy.array_methods` fills each at first use. Because
both classes share `__getitem__`, a traced function can also index an Array that it closes over by a tracer.

JAX: jax/_src/numpy/array_methods.py:_set_array_base_attributes
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ..base import edits, errors, late_rooms
from ..base.traceback_util import filter_traceback


class _Open:
    """A descriptor in the place of an operator or method. At its first use, the real one replaces it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        late_rooms.import_room(late_rooms.fillers["operators"]).fill(self.name)
        return getattr(owner if instance is None else instance, self.name)


class Operators:
    """The base of Array and Tracer, whose methods `install_binary`, `install_comparison`, `install_unary`,
    `install_method` and `install_property` fill in.
    """

    __slots__ = ()

    aval: Any  # Arrays and Tracers have one

    def __delitem__(self, index: Any) -> None:
        raise AttributeError(f"__delitem__{edits.DELETED}")

    def __copy__(self) -> Any:
        return cast(Any, self).copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return cast(Any, self).copy()


_BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift",
)  # fmt: skip
_OTHERS = (
    "eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert", "getitem", "setitem", "contains", "round",
)  # fmt: skip
_NAMED = (
    "__array_namespace__", "_iterate", "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype",
    "byteswap", "choose", "clip", "compress", "conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal", "dot",
    "flatten", "max", "mean", "min", "nonzero", "prod", "ptp", "ravel", "repeat", "reshape", "round", "searchsorted",
    "sort", "squeeze", "std", "sum", "swapaxes", "take", "to_device", "trace", "transpose", "var", "view", "T", "mT",
    "real", "imag", "at", "nbytes", "itemsize", "flat",
)  # fmt: skip
for _name in (*(f"__{n}__" for b in _BINARY for n in (b, f"r{b}")), *(f"__{n}__" for n in _OTHERS), *_NAMED):
    setattr(Operators, _name, _Open(_name))

# exact type of `other` -> whether we answer `x <op> other`; `core` decides for a new type
_takes_part: dict[type, bool] = {}
_containers = (list, tuple, set, frozenset, dict)


class _Question:
    """Holds `core.is_array_type`. A module above this one stores it here."""

    is_array_type: Callable[[type], bool]


question = _Question()


def takes_part(other: Any, symbol: str, left: Any, right: Any) -> bool:
    """Return whether an operand is an array or a scalar. Raise TypeError for a container, which numpy would convert
    silently and slowly, and if a tracer of ours meets one of JAX's.
    """
    if isinstance(other, _containers):
        raise TypeError(
            f"unsupported operand type(s) for {symbol}: {type(left).__name__!r} and {type(right).__name__!r}"
            f"{edits.OF_A_SEQUENCE if isinstance(other, list | tuple) else edits.OF_A_TREE if isinstance(other, dict) else ''}"
        )
    if about := errors.about_value_of_jax(other):  # for JAX's tracer an Array is a constant: let JAX answer
        if all(hasattr(x, "_trace") for x in (left, right)):
            kinds = f"{type(left).__name__!r} and {type(right).__name__!r}"
            raise TypeError(f"unsupported operand type(s) for {symbol}: {kinds}{about}")
        return False
    # The operator itself raises the error for a numpy scalar that no array can hold, such as a date.
    answer = _takes_part[type(other)] = isinstance(other, np.generic) or question.is_array_type(type(other))
    return answer


def install_binary(name: str, symbol: str, function: Callable[[Any, Any], Any]) -> None:
    """Make `self <symbol> other` call `function(self, other)`, and `other <symbol> self` the reflected form."""
    _set(f"__{name}__", forward_method(symbol, function), function)
    _set(f"__r{name}__", reflected_method(symbol, function), function)


def install_comparison(name: str, symbol: str, function: Callable[[Any, Any], Any]) -> None:
    """Make `self <symbol> other` call `function(self, other)`. For `other < self`, Python calls `self > other`."""
    _set(f"__{name}__", forward_method(symbol, function), function)


def forward_method(symbol: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the method that Python calls first for `self <symbol> other`, such as `__sub__`."""

    def forward(self: Any, other: Any) -> Any:
        t = type(other)
        if _takes_part[t] if t in _takes_part else takes_part(other, symbol, self, other):
            try:
                return function(self, other)
            except BaseException as error:
                filter_traceback(error)
                raise
        # A parameter of another library may have this method: use the array that it returns. (In JAX's tracers it is None.)
        give = getattr(other, "__jax_array__", None)
        return NotImplemented if give is None else forward(self, give())

    return forward


def reflected_method(symbol: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the method that Python calls for `other <symbol> self`, such as `__rsub__`, when `other` is on the left
    and does not know what to do with an array.

    The method returns `function` of the two operands, in the order in which they are written. Errors pass through
    `filter_traceback`, which removes this library's frames.

    `takes_part(other, symbol, left, right)` says whether `other` is an array or a scalar, and raises the TypeError for
    a container. `_takes_part` caches the answers by the type of `other`. If `other` is neither, but has a method
    `__jax_array__` (in JAX's tracers that attribute is None), the method's result takes its place. For anything else
    the result is NotImplemented, as Python requires.
    """

    def backward(self: Any, other: Any) -> Any:
        t = type(other)
        if _takes_part[t] if t in _takes_part else takes_part(other, symbol, other, self):
            try:
                return function(other, self)
            except BaseException as error:
                filter_traceback(error)
                raise
        give = getattr(other, "__jax_array__", None)
        return NotImplemented if give is None else backward(self, give())

    return backward


def install_unary(name: str, function: Callable[[Any], Any]) -> None:
    """Make the operator method `__name__` call `function(self)`."""
    _fill(f"__{name}__", function)


def install_method(name: str, function: Callable[..., Any]) -> None:
    """Make `x.name(...)` call `function(x, ...)`."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    _set(name, method, function)


def install_property(name: str, function: Callable[[Any], Any]) -> None:
    """Make `x.name` call `function(x)`."""
    _fill(name, property(function, doc=function.__doc__))


def _set(name: str, method: Callable[..., Any], function: Callable[..., Any]) -> None:
    method.__name__ = name
    method.__qualname__ = f"Operators.{name}"
    method.__doc__ = function.__doc__
    vars(method)["__wrapped__"] = function  # `help` and editors show its parameters
    _fill(name, method)


def _fill(name: str, attribute: Any) -> None:
    assert name in vars(Operators), f"{name} is filled, so it must have been open"
    setattr(Operators, name, attribute)
