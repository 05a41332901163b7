"""The infix operators, indexing and array methods that Array and Tracer share.

`x + y` means the same whether x is an array or a tracer: `numpy.add(x, y)`. But numpy stands on top of the
house and arrays near its ground, so the operators are open here, and `numpy.array_methods` fills each when it is first
asked for. That is also why a closed-over Array that meets a traced index reaches the current trace: both
share one `__getitem__`.

JAX: jax/_src/numpy/array_methods.py:_set_array_base_attributes
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ..base import errors, late_rooms
from ..base.traceback_util import filter_traceback


class _Open:
    """An operator or a method before anybody has asked for it: the descriptor that fills it, and then stands there no more."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        late_rooms.import_room(late_rooms.fillers["operators"]).fill(self.name)
        return getattr(owner if instance is None else instance, self.name)


class Operators:
    """Base of Array and Tracer. What is open below is set by `install_binary`, `install_comparison`, `install_unary`,
    `install_method` and `install_property`.
    """

    __slots__ = ()

    aval: Any  # what both of them know of the value

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
    "_iterate", "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "byteswap", "choose", "clip", "compress",
    "conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal", "dot", "flatten", "max", "mean", "min", "nonzero", "prod",
    "ptp", "ravel", "repeat", "reshape", "round", "searchsorted", "sort", "squeeze", "std", "sum", "swapaxes", "take",
    "to_device", "trace", "transpose", "var", "view", "T", "mT", "real", "imag", "at", "nbytes", "itemsize", "flat",
)  # fmt: skip
for _name in (*(f"__{n}__" for b in _BINARY for n in (b, f"r{b}")), *(f"__{n}__" for n in _OTHERS), *_NAMED):
    setattr(Operators, _name, _Open(_name))

# Whether `x <op> other` is ours to answer, by the exact type of `other`; `core` says so for a type that is
# met first.
_takes_part: dict[type, bool] = {}
_containers = (list, tuple, set, frozenset, dict)


class _Question:
    """Slot for `core.is_array_type`: this module stands below `core`."""

    is_array_type: Callable[[type], bool]


question = _Question()


def takes_part(other: Any, symbol: str, left: Any, right: Any) -> bool:
    """Whether an operand is an array or a scalar. A container is an error: numpy would convert it silently,
    and slowly.
    """
    if isinstance(other, _containers):
        raise TypeError(
            f"unsupported operand type(s) for {symbol}: {type(left).__name__!r} and {type(right).__name__!r}"
        )
    if about := errors.about_value_of_jax(other):  # an Array is a constant for JAX's tracer, which answers then
        if all(hasattr(x, "_trace") for x in (left, right)):
            kinds = f"{type(left).__name__!r} and {type(right).__name__!r}"
            raise TypeError(f"unsupported operand type(s) for {symbol}: {kinds}{about}")
        return False
    # A scalar of numpy that no array can hold, such as a date, is refused by what the operator calls.
    answer = _takes_part[type(other)] = isinstance(other, np.generic) or question.is_array_type(type(other))
    return answer


def install_binary(name: str, symbol: str, function: Callable[[Any, Any], Any]) -> None:
    """Let `self <symbol> other` be `function(self, other)`, and `other <symbol> self` its reflected form."""
    _set(f"__{name}__", forward_method(symbol, function), function)
    _set(f"__r{name}__", reflected_method(symbol, function), function)


def install_comparison(name: str, symbol: str, function: Callable[[Any, Any], Any]) -> None:
    """Let `self <symbol> other` be `function(self, other)`; Python reflects a comparison by the opposite one."""
    _set(f"__{name}__", forward_method(symbol, function), function)


def forward_method(symbol: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The method that Python calls first for `self <symbol> other`, such as `__sub__`."""

    def forward(self: Any, other: Any) -> Any:
        t = type(other)
        if _takes_part[t] if t in _takes_part else takes_part(other, symbol, self, other):
            try:
                return function(self, other)
            except BaseException as error:
                filter_traceback(error)
                raise
        # Parameters of other libraries give an array. (JAX's tracers have this name, too, and None.)
        give = getattr(other, "__jax_array__", None)
        return NotImplemented if give is None else forward(self, give())

    return forward


def reflected_method(symbol: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The method that Python calls for `other <symbol> self`, such as `__rsub__`, when `other` stands on the left
    and does not know what to do with an array.

    It returns `function` of the two operands, in the order in which they are written; what that raises leaves
    through `filter_traceback`, which takes out the frames of this library.

    `takes_part(other, symbol, left, right)` tells whether `other` is an array or a scalar, and raises the
    TypeError for a container. For an `other` that takes no part the method returns NotImplemented, as Python asks
    of such methods. The answers are remembered in `_takes_part`, by the type of `other`.
    """

    def backward(self: Any, other: Any) -> Any:
        t = type(other)
        if _takes_part[t] if t in _takes_part else takes_part(other, symbol, other, self):
            try:
                return function(other, self)
            except BaseException as error:
                filter_traceback(error)
                raise
        return NotImplemented

    return backward


def install_unary(name: str, function: Callable[[Any], Any]) -> None:
    """Let the operator method `__name__` be `function(self)`."""
    _fill(f"__{name}__", function)


def install_method(name: str, function: Callable[..., Any]) -> None:
    """Let `x.name(...)` be `function(x, ...)`."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    _set(name, method, function)


def install_property(name: str, function: Callable[[Any], Any]) -> None:
    """Let `x.name` be `function(x)`."""
    _fill(name, property(function, doc=function.__doc__))


def _set(name: str, method: Callable[..., Any], function: Callable[..., Any]) -> None:
    method.__name__ = name
    method.__qualname__ = f"Operators.{name}"
    method.__doc__ = function.__doc__
    vars(method)["__wrapped__"] = function  # whose parameters `help` and editors show
    _fill(name, method)


def _fill(name: str, attribute: Any) -> None:
    assert name in vars(Operators), f"{name} is filled, so it must have been open"
    setattr(Operators, name, attribute)
