"""buffers -> buffers, of a program that does more than compute them

Running a program with effects. XLA runs such programs when their operands are there, like all others, and a print is
nobody's operand. Two kinds of tokens say what else has to be waited for:

- for each ordered effect, the array without elements that the last program with this effect returned: the next one takes
  it as an argument, and so comes after. On another device it is moved there, as an array would be;
- for each device, PJRT's token of the last program with any effect: it is ready when that program has ended.

`effects_barrier` waits for both, and so does Python before it exits. Threads have tokens of their own, so nothing
orders their effects. What failed was told to whoever ran it: it leaves no token.

The tokens that users make (`lax.create_token`) are values: outside of programs a `Token` holds such an array, too.

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
from ..core import abstract_token
from ..core.effects import Effect

_NEW = np.zeros(0, np.bool_)  # what a token is on its way into a program


class Token:
    """A token outside of programs: it is ready when what it stands for has happened."""

    def __init__(self, buf: runtime.Buffer) -> None:
        self._buf = buf

    def block_until_ready(self) -> None:
        """Wait until what the token stands for has happened."""
        runtime.wait_for(self._buf)

    def as_argument(self) -> np.ndarray[Any, Any]:
        """What a program is given for it, once it is ready."""
        self.block_until_ready()
        return _NEW


core.aval_of_type[Token] = lambda token: abstract_token
core.not_arrays.add(Token)


class _Tokens(threading.local):
    """What the programs that a thread started have left to be waited for."""

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
    """Run an executable that takes a token for each ordered effect, and after them `buffers`.

    `handlers` make buffers of its results, and `place(x, aval)` puts a token where the program is.
    """
    taken = [place(_tokens.latest.get(effect, _NEW), abstract_token) for effect in ordered]
    returned, running, results = runtime.execute_with_tokens(loaded, [*taken, *buffers], len(taken), handlers)
    _tokens.latest.update(zip(ordered, returned, strict=True))
    _tokens.running.update(running)
    _wait_at_exit()
    return results


def effects_barrier() -> None:
    """Wait until everything that this thread's programs print, or do otherwise, has happened.

    JaxRuntimeError when some of it failed.
    """
    pending = [*_tokens.latest.values(), *_tokens.running.values()]
    _tokens.latest.clear()
    _tokens.running.clear()
    for token in pending:
        runtime.wait_for(token)


@functools.cache
def _wait_at_exit() -> None:
    # At the first effect, when jax is imported: what is registered later is called earlier, while devices still live.
    atexit.register(effects_barrier)
