"""Reports what happened in the pipeline: stages that ran and how long they took, for logs and listeners.

With `log_compiles` a line is logged for each stage, as in JAX; listeners (the tour, benchmarks, tests) get every event.

JAX: jax/_src/dispatch.py:log_elapsed_time
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import config

if TYPE_CHECKING:
    import logging


class Event(NamedTuple):
    """One stage that ran ("tracing", "lowering", "compilation" or "disk cache hit"), for which function, and how many seconds."""

    stage: str
    function: str
    seconds: float


_listeners: list[Callable[[Event], None]] = []


def log_stage(stage: str, function: str, seconds: float) -> None:
    """Report to all listeners, and to the log, that a stage is done."""
    if _listeners:
        event = Event(stage, function, seconds)
        for listener in _listeners:
            listener(event)
    if stage == "tracing" and config.local.state.trace is not None:
        return  # this trace is part of an outer one, whose log line includes it
    text = _TEXTS.get(stage, stage + ": {function} in {seconds:.9f} sec")
    _log(lambda: text.format(function=function, seconds=seconds))


_TEXTS = {
    "tracing": "Finished tracing {function} for jit in {seconds:.9f} sec",
    "lowering": "Finished jaxpr to MLIR module conversion jit({function}) in {seconds:.9f} sec",
    "compilation": "Finished XLA compilation of jit({function}) in {seconds:.9f} sec",
}


def log_compiling(function: str, avals: Sequence[Any], sharding: Any) -> None:
    """Log that a program is about to be lowered: the types of its arguments, and their shardings, if any are given."""
    places = ["UnspecifiedValue" if sharding is None else repr(sharding)] * len(avals)
    types, mapping = tuple(avals), _tuple_text(places)
    _log(lambda: f"Compiling jit({function}) with global shapes and types {types}. Argument mapping: {mapping}.")


def _tuple_text(items: Sequence[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def logger() -> logging.Logger:
    """Return the logger `jitkit`. `logging` is imported only here: it takes as long as ten of our modules."""
    found: logging.Logger = importlib.import_module("logging").getLogger("jitkit")
    return found


def _log(text: Callable[[], str]) -> None:
    """Log as JAX does: as a warning with `log_compiles`, because the user asked for it; otherwise as a debug message."""
    asked = config.value("log_compiles")
    if not asked and "logging" not in sys.modules:
        return  # `logging` is not imported, so no debug messages are wanted
    level = 30 if asked else 10  # logging.WARNING, logging.DEBUG
    if logger().isEnabledFor(level):
        logger().log(level, "%s", text())


def log_compiles(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Log each trace, lowering and compilation in the block; `JITKIT_LOG_COMPILES=1` does so everywhere."""
    return config.override(log_compiles=new_val)


def add_listener(listener: Callable[[Event], None]) -> None:
    """Call a function with each event from now on. A second time changes nothing."""
    if listener not in _listeners:
        _listeners.append(listener)


@contextlib.contextmanager
def listen() -> Iterator[list[Event]]:
    """Collect the events of the block, of all threads: `with listen() as events: ...`."""
    events: list[Event] = []
    _listeners.append(events.append)
    try:
        yield events
    finally:
        _listeners.remove(events.append)
