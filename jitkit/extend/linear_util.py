"""Functions wrapped in layers of transformations, each of which may return something beside the result

A layer is a generator: it is called with the arguments, yields the inner function's arguments, is sent the inner
function's result, and yields the wrapped function's result. In the newer form (`transformation2`) it is a function that
takes the inner function.

JAX: jax/_src/linear_util.py:WrappedFun
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from ..base import missing_names


class StoreException(Exception):
    """A value was read before any call stored it, or was stored twice."""


class Store:
    """Holds one value, which a layer stores when it is called."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: list[Any] = []

    def store(self, value: Any) -> None:
        """Store the value. Raise StoreException if one is stored already."""
        if self._values:
            raise StoreException("Store occupied")
        self._values.append(value)

    @property
    def val(self) -> Any:
        """Return the value. Raise StoreException if none is stored yet."""
        if not self._values:
            raise StoreException("Store empty: the wrapped function has not been called")
        return self._values[0]

    def __bool__(self) -> bool:
        return bool(self._values)


class WrappedFun:
    """A function, and the layers around it. `f` is the innermost function, `params` its keyword arguments."""

    __slots__ = ("__weakref__", "_call", "debug_info", "f", "params")

    def __init__(
        self, f: Callable[..., Any], call: Callable[..., Any], params: dict[str, Any], debug_info: Any
    ) -> None:
        self.f, self._call, self.params, self.debug_info = f, call, params, debug_info

    @property
    def __name__(self) -> str:
        return str(getattr(self.f, "__name__", "<unnamed wrapped function>"))

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's result, through all layers."""
        return self._call(*args, **kwargs)

    def wrap(self, layer: Callable[..., Any]) -> WrappedFun:
        """Return this function with one more layer, `layer(inside, *args, **kwargs)`, around it."""
        return WrappedFun(self.f, functools.partial(layer, self._call), self.params, self.debug_info)

    def __repr__(self) -> str:
        return f"Wrapped function: {self.__name__}"


def wrap_init(f: Callable[..., Any], params: dict[str, Any] | None = None, *, debug_info: Any = None) -> WrappedFun:
    """Return a function as a WrappedFun without a transformation."""
    given = params or {}
    return WrappedFun(f, functools.partial(f, **given) if given else f, given, debug_info)


def transformation(generator: Callable[..., Iterator[Any]], fun: WrappedFun | None = None, *given: Any) -> Any:
    """Wrap a layer, a generator, around a function; without the function, return a decorator that does so."""
    if fun is None:
        return functools.partial(transformation, generator)

    def layer(inside: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        running = generator(*given, *args, **kwargs)
        inner_args, inner_kwargs = next(running)
        return _sent(running, inside(*inner_args, **inner_kwargs))

    return fun.wrap(layer)


def transformation_with_aux(generator: Callable[..., Iterator[Any]], fun: WrappedFun | None = None, *given: Any) -> Any:
    """Wrap a generator around a function, as `transformation` does. The generator yields last a pair of the result and another
    value. Return the wrapped function, and a function that returns the other value once the wrapped function was called.
    """
    if fun is None:
        return functools.partial(transformation_with_aux, generator)
    store = Store()

    def layer(inside: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        running = generator(*given, *args, **kwargs)
        inner_args, inner_kwargs = next(running)
        out, beside = _sent(running, inside(*inner_args, **inner_kwargs))
        store.store(beside)
        return out

    return fun.wrap(layer), lambda: store.val


def _sent(running: Any, value: Any) -> Any:
    """Send a value to a generator, close it, and return what it yielded."""
    out = running.send(value)
    running.close()
    return out


def transformation2(function: Callable[..., Any], fun: WrappedFun | None = None, *given: Any) -> Any:
    """Wrap a layer, `function(inside, *given, *args)`, around a function; without the function, return a decorator."""
    if fun is None:
        return functools.partial(transformation2, function)
    return fun.wrap(lambda inside, *args, **kwargs: function(inside, *given, *args, **kwargs))


def transformation_with_aux2(function: Callable[..., Any], fun: WrappedFun | None = None, *given: Any) -> Any:
    """Wrap a layer, `function(inside, store, *given, *args)`, around a function. Return the wrapped function, and a
    function that returns the value that the layer stored once the wrapped function was called.
    """
    if fun is None:
        return functools.partial(transformation_with_aux2, function)
    store = Store()
    return fun.wrap(lambda inside, *args, **kwargs: function(inside, store, *given, *args, **kwargs)), lambda: store.val


def merge_linear_aux(one: Callable[[], Any], other: Callable[[], Any]) -> tuple[bool, Any]:
    """Return whether the first of two layers, and not the second, has stored a value; and the value. Raise
    StoreException if neither or both have.
    """
    try:
        first = one()
    except StoreException:
        return False, other()
    try:
        other()
    except StoreException:
        return True, first
    raise StoreException("both stores occupied")


def cache(call: Callable[..., Any], **how: Any) -> Callable[..., Any]:
    """Decorator: cache the results of `call(fun, *args)` as long as the WrappedFun `fun` lives."""
    kept: weakref.WeakKeyDictionary[WrappedFun, dict[Any, Any]] = weakref.WeakKeyDictionary()

    @functools.wraps(call)
    def remembered(fun: WrappedFun, *args: Any) -> Any:
        results = kept.setdefault(fun, {})
        if args not in results:
            results[args] = call(fun, *args)
        return results[args]

    return remembered


missing_names.explain("extend.linear_util", sys.modules[__name__])
