"""Imports jaxlib at the first buffer, device or executable: `gate()`.

jaxlib alone is enough; JAX is imported only for programs that need it (see `beside_jax`). XLA's errors are converted to
our classes.

JAX: jax/_src/xla_bridge.py:get_backend
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..base import config, errors, traceback_util
from . import beside_jax, python_halves


class _Gate(NamedTuple):
    ext: Any  # jaxlib._jax
    xla_client: Any
    runtime_error: type[Exception]
    skip_checks: bool  # whether `array_result_handler` has the argument `_skip_checks`, as jaxlib <= 0.11 has


_opening = threading.Lock()


def gate() -> _Gate:
    """Return jaxlib's modules; import them the first time."""
    with _opening:
        return _open()


@functools.cache
def _open() -> _Gate:
    with _interrupts_after():
        return _imported()


@contextlib.contextmanager
def _interrupts_after() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block: interrupting the import of C++ modules ends the process."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(*came[0])


def _imported() -> _Gate:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # as JAX does: shows XLA's warnings, not its information
    ext = importlib.import_module("jaxlib._jax")
    xla_client = importlib.import_module("jaxlib.xla_client")
    beside_jax.watch_for_jax()
    if beside_jax.is_here():
        beside_jax.jax()
    else:
        python_halves.complete(ext, xla_client)
    for direction in DIRECTIONS:
        guard(ext.guard_lib.global_state(), direction, config.read(f"transfer_guard_{direction}"))
    config.when_updated["transfer_guard"] = _guard_process
    skip = "_skip_checks" in (inspect.getdoc(ext.array_result_handler) or "")
    return _Gate(ext, xla_client, ext.JaxRuntimeError, skip)


# --- guards of transfers ------------------------------------------------------------------------------------------

DIRECTIONS = ("host_to_device", "device_to_device", "device_to_host")
# functions to call before a guard is set: each drops constants that are kept on a device, since a guard would not see their use
before_guards: list[Callable[[], None]] = []


def guard(state: Any, direction: str, level: str | None) -> None:
    """Set the level of transfers in one direction, in jaxlib's state of a thread or of the process. None removes it."""
    for forget in before_guards if level not in (None, "allow") else ():
        forget()
    levels = importlib.import_module("jaxlib._jax").guard_lib.TransferGuardLevel
    setattr(state, direction, level and getattr(levels, level.upper()))


def _guard_process(name: str, level: str | None) -> None:
    """Set the level of a transfer guard for the whole process. `config.update` calls this."""
    guard(gate().ext.guard_lib.global_state(), name.removeprefix("transfer_guard_"), level)


def explicit_transfers(kind: str) -> contextlib.AbstractContextManager[None]:
    """Return a context in which copies count as explicit ones of the given kind, "device_put" or "device_get"."""
    is_guarded = any(config.value(f"transfer_guard_{direction}") for direction in DIRECTIONS)
    return _explicit(f"explicit_{kind}") if is_guarded else contextlib.nullcontext()


@contextlib.contextmanager
def _explicit(mark: str) -> Iterator[None]:
    state = gate().ext.guard_lib.thread_local_state()
    before = getattr(state, mark)
    setattr(state, mark, True)
    try:
        yield
    finally:
        setattr(state, mark, before)


# --- facts of XLA's compiler --------------------------------------------------------------------------------------


def approximate_size(size: int, rank: int, k: int, recall: float, override: int) -> int:
    """Return how many elements XLA's ApproxTopK finds on its way to the `k` greatest ones of `size`."""
    found: int = gate().ext.approx_top_k_reduction_output_size(size, rank, k, recall, False, override)[0]
    return found


# --- errors ---------------------------------------------------------------------------------------------------


def deleted_error(aval: Any) -> RuntimeError:
    """Return the error for an array whose buffer was donated or deleted."""
    return RuntimeError(f"Array has been deleted with shape={aval.str_short()}.\n{_WHERE_IT_WENT}")


_WHERE_IT_WENT = (
    "Its memory was given away: it was passed to a function with `donate_argnums`/`donate_argnames`, or deleted by "
    "`.delete()`. Use the result of that call instead, or do not donate an argument that is needed afterwards."
)


def explained(error: Exception) -> Exception:
    """Return an error of XLA as our class, and a ValueError as a ValueError, both with advice if a deleted array was
    used, and with the traceback of a callback's error. Return any other error unchanged.
    """
    text = traceback_util.filter_text(str(error), "called_by_xla")
    if "deleted or donated" in text:
        text = f"{text}\n{_WHERE_IT_WENT}"
    if isinstance(error, gate().runtime_error):
        return errors.JaxRuntimeError(text)
    return ValueError(text) if type(error) is ValueError else error
