"""buffers -> buffers, for a program with effects

XLA runs any program as soon as its operands are there, and a print is not an operand of anything. So programs with
effects need two kinds of tokens:

- for each ordered effect, an empty array that the last program with this effect returned: the next one takes it as an
  argument, and so runs after it. It is moved between devices like any array;
- for each device, PJRT's token of the last program with any effect: it is ready when that program has ended.

`effects_barrier` waits for both, and so does the main thread before Python exits. Each thread has its own tokens, so
effects of two threads are not ordered. A program that fails raises its error, and leaves no token.

Users' tokens (`lax.create_token`) are values: outside of programs a `Token` holds such an array, too.

JAX: jax/_src/dispatch.py:RuntimeTokenSet
"""

from __future__ import annotations

import atexit
import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import core, runtime
from ..base import traceback_util
from ..core import abstract_token
from ..core.effects import Effect

_NEW = np.zeros(0, np.bool_)  # an empty array: a token for which nothing has to wait


class Token:
    """A token as a value in Python, outside any program. It is ready when its effect has happened."""

    def __init__(self, buf: runtime.Buffer) -> None:
        self._buf = buf

    def block_until_ready(self) -> None:
        """Wait until the token's effect has happened."""
        runtime.wait_for(self._buf)

    def as_argument(self) -> np.ndarray[Any, Any]:
        """Wait until the token is ready; return the empty array that stands for it as an argument of a program."""
        self.block_until_ready()
        return _NEW


core.aval_of_type[Token] = lambda token: abstract_token
core.not_arrays.add(Token)


class _Tokens(threading.local):
    """A thread's latest tokens, for `effects_barrier`: one for each ordered effect, and one for each device that ran a
    program with effects.
    """

    def __init__(self) -> None:
        self.latest: dict[Effect, runtime.Buffer] = {}
        self.running: dict[runtime.Device, Any] = {}


_tokens = _Tokens()


def run(
    loaded: Any,
    buffers: Sequence[runtime.Buffer],
    handlers: Sequence[Any],
    ordered: Sequence[Effect],
    place: Callable[[Any, Any], runtime.Buffer],
) -> list[runtime.Buffer]:
    """Return the result buffers of an executable that takes a token for each ordered effect before `buffers`.

    `handlers` make buffers of its results, and `place(x, aval)` puts a token on the program's devices.
    """
    taken = [place(_tokens.latest.get(effect, _NEW), abstract_token) for effect in ordered]
    returned, running, results = runtime.execute_with_tokens(loaded, [*taken, *buffers], len(taken), handlers)
    _tokens.latest.update(zip(ordered, returned, strict=True))
    _tokens.running.update(running)
    _wait_at_exit()
    return results


@traceback_util.api_boundary
def effects_barrier() -> None:
    """Wait until all effects of this thread's programs, such as prints, have happened. Raise JaxRuntimeError if one failed."""
    pending = [*_tokens.latest.values(), *_tokens.running.values()]
    _tokens.latest.clear()
    _tokens.running.clear()
    for token in pending:
        runtime.wait_for(token)


@functools.cache
def _wait_at_exit() -> None:
    # Registered at the first effect, after jax is imported: what is registered last runs first, while devices still
    # live.
    atexit.register(effects_barrier)
