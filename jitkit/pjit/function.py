"""dispatcher -> what `jit` returns: the dispatcher with a `repr` of its own

A dispatcher is a plain Python function, and prints like one; JAX says `<PjitFunction of <function f at 0x...>>`, and so
do we. A class of our own with `__call__` would cost 0.2 us in each call, a tenth of a warm call, since Python enters a
second frame; a subclass of `functools.partial` calls from C, in 0.02 to 0.04 us. Binding it as a method in Python would
cost 0.3 us more, so a class with a jitted function as a method keeps the bare dispatcher.

JAX: jax/_src/pjit.py:_cpp_pjit
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .stages import Lowered, Traced

_OWN = frozenset({"trace", "lower", "eval_shape", "clear_cache", "_cache_size", "_jitted"})


def is_jitted(function: Callable[..., Any]) -> bool:
    """Return whether `jit` has returned this very function. A wrapper made by `functools.wraps` has the attributes of
    the jitted function inside, but is another function.
    """
    jitted = getattr(function, "_jitted", None)
    return jitted is not None and getattr(function, "__wrapped__", None) is jitted.fun


def unbound(function: Callable[..., Any], args: Sequence[Any]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Unbind a jitted function, ours or JAX's, that is bound as a method: return the function, and the arguments with
    the object first. Return any other function and its arguments unchanged. (As in JAX, a bound method's attributes,
    such as `trace`, do not know the object.)
    """
    if isinstance(function, types.MethodType):
        inner: Any = function.__func__
        if is_jitted(inner) or (hasattr(inner, "trace") and not hasattr(inner, "_jitted")):
            return inner, (function.__self__, *args)
    return function, tuple(args)


class PjitFunction(functools.partial[Any]):
    """A jitted function. The attributes that `jit` adds, such as `lower`, are on the dispatcher: from its own
    `__dict__`, `functools.wraps` would copy them to a wrapper, which has another program.
    """

    eval_shape: Callable[..., Any]

    def __init__(self, dispatch: Callable[..., Any]) -> None:
        functools.update_wrapper(self, dispatch, updated=())
        vars(self).update({name: value for name, value in vars(dispatch).items() if name not in _OWN})
        self.__wrapped__: Any = vars(dispatch)["__wrapped__"]  # what the user wrote

    def __getattr__(self, name: str) -> Any:
        if name in _OWN:
            return vars(self.func)[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __repr__(self) -> str:
        try:
            return f"<PjitFunction of {self.__wrapped__!r}>"
        except Exception:  # from the function's own `__repr__`, which may do anything
            return "<PjitFunction>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __set_name__(self, owner: type, name: str) -> None:
        setattr(owner, name, self.func)

    def __reduce__(self) -> str:
        return str(vars(self)["__qualname__"])  # pickles by name, as functions do


class Wrapped(Protocol):
    """The function that `jit` returns; it can also be stopped after any stage."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's result; compile it first if no call had this signature."""

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Return the function, traced for the signature of these arguments, which may be `ShapeDtypeStruct`s."""

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Return the function, traced and lowered for the signature of these arguments."""

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Return the shapes and dtypes of the result, without computing."""

    def clear_cache(self) -> None:
        """Forget everything compiled and traced for the function."""

    def _cache_size(self) -> int: ...
