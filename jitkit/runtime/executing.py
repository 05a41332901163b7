"""loaded executable + buffers -> buffers

`execute_sharded` runs ordinary programs, and `result_handlers` turn the results into buffers. Programs with effects
also return tokens. jaxlib's own dispatcher copies arguments that are still on the host and runs the program.

JAX: jax/_src/interpreters/pxla.py:ExecuteReplicated
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import core
from ..base import config
from ..core import abstract_token
from .beside_jax import jaxlib_has_x64
from .buffers import Buffer, put
from .devices import Device, Sharding, in_device_memory, single_device_sharding
from .jaxlib import explained, gate


def result_handlers(avals: Sequence[Any], shardings: Sequence[Sharding], committed: bool) -> list[Any]:
    """Return, for each result, a function that makes a buffer of the executable's output, without checking its aval. A
    result whose sharding has another memory than its devices' own is copied to that memory.
    """
    g = gate()
    extra = {"_skip_checks": True} if g.skip_checks else {}
    handlers = []
    for aval, sharding in zip(map(core.physical_aval, avals), shardings, strict=True):
        written = in_device_memory(sharding)
        handler = g.ext.array_result_handler(aval, written, committed=committed, **extra)
        handlers.append(handler if written is sharding else functools.partial(_moved, handler, aval, sharding))
    return handlers


def _moved(handler: Callable[[Any], Buffer], aval: Any, sharding: Sharding, parts: Any) -> Buffer:
    return put(handler(parts), aval, sharding, True)


def execute_with_tokens(
    loaded: Any, buffers: Sequence[Buffer], tokens: int, handlers: Sequence[Any]
) -> tuple[list[Buffer], dict[Device, Any], list[Buffer]]:
    """Run an executable whose first `tokens` results are tokens. Return these; for each device a further token, on
    which `wait_for` waits until the program has ended; and the other results.
    """
    results = loaded.execute_sharded(list(buffers), with_tokens=True)
    owners = loaded.local_devices()
    first = single_device_sharding(owners[0])
    of_token = result_handlers([abstract_token], [first], False) if len(owners) == 1 else [_on_first_device]
    returned = results.consume_with_handlers(of_token * tokens, strict=False)
    running = results.consume_token()
    ends = {device: running.get_token(i) for i, device in enumerate(owners)}
    return returned, ends, results.consume_with_handlers(list(handlers))


def _on_first_device(buffers: Sequence[Buffer]) -> Buffer:
    return buffers[0]


def wait_for(token: Any) -> None:
    """Wait until a token is ready: the token of an effect, or that of a device. Raise JaxRuntimeError if its program failed."""
    try:
        token.block_until_ready()
    except RuntimeError as error:
        raise explained(error) from None


def host_dispatcher(
    name: str,
    execute: Callable[[list[Any]], list[Buffer]],
    executable: Any,
    *,
    count: int,
    sharding: Sharding,
    out_avals: Sequence[Any],
) -> Callable[..., Any]:
    """Return jaxlib's C++ dispatcher for one executable on one device. It takes buffers and numpy values, and returns
    buffers, a single one without a list.

    Copying a host value from Python costs 2.8 us, half of a warm call; this dispatcher copies faster. At the first call
    of each combination of argument kinds it calls `execute`, which runs the program the ordinary way. Arrays must have
    the program's dtypes.
    """
    g = gate()
    registry = g.ext.pytree.default_registry()
    _, out_tree = registry.flatten(tuple(range(len(out_avals))) if len(out_avals) != 1 else 0)
    fast = _FastPath(
        xla_executable=executable,
        out_pytree_def=out_tree,
        in_shardings=[sharding] * count,
        out_shardings=[sharding] * len(out_avals),
        out_avals=[core.physical_aval(aval) for aval in out_avals],
        out_committed=[False] * len(out_avals),
        kept_var_bitvec=[True] * count,
        in_device_local_layouts=[None] * count,
        const_args=[],
    )

    x64 = config.x64()

    def cache_miss(*args: Any) -> tuple[Any, Any, bool]:
        # jaxlib reads JAX's x64 switch to decide how C++ converts a Python float. If it differs from ours, let Python
        # run the program each time.
        agreed = jaxlib_has_x64() == x64
        results = execute(list(args))
        return results[0] if len(results) == 1 else tuple(results), fast if agreed else None, False

    def shard(x: Any, to: Sharding, layout: Any) -> Buffer:
        return put(x, core.get_aval(x), to, True)

    dispatcher: Callable[..., Any] = g.ext.pjit(
        name, cache_miss, cache_miss, [], [], _CacheKey(), registry, shard, g.ext.PjitFunctionCache(capacity=64)
    )
    return dispatcher


class _FastPath(NamedTuple):
    """Tells jaxlib's dispatcher, after a miss, how to run the program without calling Python again."""

    xla_executable: Any
    out_pytree_def: Any
    in_shardings: list[Any]
    out_shardings: list[Any]
    out_avals: list[Any]
    out_committed: list[bool]
    kept_var_bitvec: list[bool]
    in_device_local_layouts: list[Any]
    const_args: list[Any]


class _CacheKey:
    """Distinguishes one dispatcher's entries from another's, by identity."""


def block_until_ready(buffers: Sequence[Buffer]) -> None:
    """Wait until all of these are computed. Raise JaxRuntimeError if a program failed."""
    if buffers:
        try:
            gate().ext.batched_block_until_ready(list(buffers))
        except RuntimeError as error:
            raise explained(error) from None
