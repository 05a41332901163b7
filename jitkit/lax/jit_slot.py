"""Slot for `jit`, which stands above this folder: two functions of lax are compiled as a whole, and appear in
jaxprs as one call.

JAX: jax/_src/lax/slicing.py:dynamic_index_in_dim
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


class _Slot:
    """`pjit` fills it. Until then the functions run as plain Python."""

    jit: Callable[..., Any] | None = None


slot = _Slot()


def jitted(*static_argnames: str) -> Callable[[_F], Callable[..., Any]]:
    """Decorator: `jit` with these static arguments, applied when the function is first called."""

    def decorate(fun: _F) -> Callable[..., Any]:
        compiled: list[Callable[..., Any]] = []

        @functools.wraps(fun)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not compiled:
                if slot.jit is None:
                    return fun(*args, **kwargs)
                compiled.append(slot.jit(fun, static_argnames=static_argnames))
            return compiled[0](*args, **kwargs)

        return call

    return decorate
