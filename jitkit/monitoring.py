"""Tells a program's listeners what happens, under the names of `jax.monitoring`: that a function is traced, lowered and
compiled

    jax.monitoring.register_event_duration_secs_listener(lambda event, seconds, **about: print(event, seconds, about))

A program may record events of its own. A stage of the pipeline is recorded when it ends: the time of its beginning, as a
scalar, its duration and its time span. (JAX records the beginning at once.) The tracing of a function that is called
while another is traced is part of that trace, and is not recorded by itself.

JAX: jax/_src/monitoring.py:record_event_duration_secs
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from .base import config, missing_names, stage_log

Listener = Callable[..., Any]
_events: list[Listener] = []
_durations: list[Listener] = []
_time_spans: list[Listener] = []
_scalars: list[Listener] = []


def record_event(event: str, **kwargs: str | int) -> None:
    """Call each listener of events with the event's name and the keywords."""
    for listener in _events:
        listener(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Call each listener of durations with the event's name, its seconds, and the keywords."""
    for listener in _durations:
        listener(event, duration, **kwargs)


def record_event_time_span(event: str, start_time: float, end_time: float, **kwargs: str | int) -> None:
    """Call each listener of time spans with the event's name, its beginning and end (`time.time()`), and the keywords."""
    for listener in _time_spans:
        listener(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float, **kwargs: str | int) -> None:
    """Call each listener of scalars with the event's name, the number, and the keywords."""
    for listener in _scalars:
        listener(event, value, **kwargs)


def register_event_listener(callback: Listener) -> None:
    """Make `record_event` call a function, `callback(event, **kwargs)`."""
    _add(_events, callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """Make `record_event_duration_secs` call a function, `callback(event, duration, **kwargs)`."""
    _add(_durations, callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """Make `record_event_time_span` call a function, `callback(event, start_time, end_time, **kwargs)`."""
    _add(_time_spans, callback)


def register_scalar_listener(callback: Listener) -> None:
    """Make `record_scalar` call a function, `callback(event, value, **kwargs)`."""
    _add(_scalars, callback)


def unregister_event_listener(callback: Listener) -> None:
    """Undo `register_event_listener`. Raise AssertionError for a function that is not registered."""
    _remove(_events, callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    """Undo `register_event_duration_secs_listener`. Raise AssertionError for a function that is not registered."""
    _remove(_durations, callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    """Undo `register_event_time_span_listener`. Raise AssertionError for a function that is not registered."""
    _remove(_time_spans, callback)


def unregister_scalar_listener(callback: Listener) -> None:
    """Undo `register_scalar_listener`. Raise AssertionError for a function that is not registered."""
    _remove(_scalars, callback)


def clear_event_listeners() -> None:
    """Forget the listeners of events, durations and time spans; those of scalars stay, as in JAX 0.10."""
    for listeners in (_events, _durations, _time_spans):
        listeners.clear()


def _add(listeners: list[Listener], callback: Listener) -> None:
    stage_log.add_listener(_record_stage)
    listeners.append(callback)


def _remove(listeners: list[Listener], callback: Listener) -> None:
    assert callback in listeners, f"{callback!r} was registered, so it can be unregistered"
    listeners.remove(callback)


# --- what jitkit records ------------------------------------------------------------------------------------------------

_STAGES = {
    "tracing": "/jax/core/compile/jaxpr_trace_duration",
    "lowering": "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "compilation": "/jax/core/compile/backend_compile_duration",
}


def _record_stage(stage: stage_log.Event) -> None:
    if stage.stage not in _STAGES or (stage.stage == "tracing" and config.local.state.trace is not None):
        return
    event, end = _STAGES[stage.stage], time.time()
    name = stage.function if stage.stage == "tracing" else f"jit({stage.function})"
    record_scalar(event, end - stage.seconds, fun_name=name)
    record_event_duration_secs(event, stage.seconds, fun_name=name)
    record_event_time_span(event, end - stage.seconds, end, fun_name=name)


missing_names.explain("monitoring", sys.modules[__name__])
