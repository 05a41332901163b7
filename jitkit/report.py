"""What happened in the pipeline: stages that ran and how long they took, for logs and for whoever listens.

Each stage reports here. With `log_compiles` a line is logged, as JAX does it; listeners (the tour,
benchmarks, tests) get every event and count them.

JAX: jax/_src/dispatch.py:log_elapsed_time
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple

from . import config

logger = logging.getLogger("jitkit")


class Event(NamedTuple):
    """One stage that ran: "tracing", "lowering", "compilation" or "disk cache hit"; for which function;
    how many seconds.
    """

    stage: str
    function: str
    seconds: float


_listeners: list[Callable[[Event], None]] = []


def log_stage(stage: str, function: str, seconds: float) -> None:
    """Report that a stage is done."""
    if _listeners:
        event = Event(stage, function, seconds)
        for listener in _listeners:
            listener(event)
    if config.value("log_compiles"):
        text = {
            "tracing": f"Finished tracing + transforming {function} for jit in {seconds:.9f} sec",
            "lowering": f"Finished jaxpr to MLIR module conversion jit({function}) in {seconds:.9f} sec",
            "compilation": f"Finished XLA compilation of jit({function}) in {seconds:.9f} sec",
        }.get(stage, f"{stage}: {function} in {seconds:.9f} sec")
        logger.warning(text)


@contextlib.contextmanager
def listen() -> Iterator[list[Event]]:
    """Collect the events of the block, of all threads: `with listen() as events: ...`."""
    events: list[Event] = []
    _listeners.append(events.append)
    try:
        yield events
    finally:
        _listeners.remove(events.append)
