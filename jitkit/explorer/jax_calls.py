"""a run -> its calls of JAX's jit: the same data that `calls` has for ours, from JAX's own logs

JAX's dispatcher is C++, which Python's hooks do not see. So while a run is recorded, `jax.jit` hands out functions that
note their calls. `jax.monitoring` says how long tracing, lowering and compiling took. JAX's log says why a call missed,
by the option `jax_explain_cache_misses`, in JAX's sentences. Functions that were jitted before are not seen.

JAX: jax/_src/monitoring.py:register_event_duration_secs_listener
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import logging
import sys
import threading
import time
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..misses import cached, short_text
from ..misses.differences import Difference
from . import jax_advice, jax_words, real_jax
from .calls import Call, Recording, file_of, in_a_line, lines_of

_STAGES = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}


class JaxMiss(NamedTuple):
    """A call that missed, in JAX's words."""

    number: int
    reason: str
    happened: str
    sentences: tuple[str, ...]
    closest: int | None = None
    differences: tuple[Difference, ...] = ()

    def lines(self) -> list[str]:
        """Return the sentences, one a line."""
        return list(self.sentences)


class Watched:
    """A function made by `jax.jit` that notes its calls, and otherwise behaves like the function itself."""

    def __init__(self, recorder: _Recorder, jitted: Any) -> None:
        self._recorder = recorder
        self.jitted = jitted
        self.misses = 0
        self.seen: list[jax_words.Seen] = []
        functools.update_wrapper(self, jitted)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, and note the call."""
        return self._recorder.call(self, args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.jitted, name)


@contextlib.contextmanager
def recording() -> Iterator[Recording]:
    """Record the calls that this thread makes in the block, of functions that `jax.jit` makes in the block."""
    jax: Any = importlib.import_module("jax")
    monitoring = importlib.import_module("jax.monitoring")
    recorder = _Recorder(jax)
    make, explains, log = jax.jit, jax.config.jax_explain_cache_misses, logging.getLogger("jax")
    others = [*log.handlers, *logging.getLogger().handlers]
    said = _Said(recorder.said)
    _leave_this_file_out()
    monitoring.register_event_duration_secs_listener(recorder.hear)
    for other in others:
        other.addFilter(_tells_of_no_miss)
    log.addHandler(said)
    jax.config.update("jax_explain_cache_misses", True)
    jax.jit = recorder.jit
    try:
        yield recorder.found
    finally:
        jax.jit = make
        jax.config.update("jax_explain_cache_misses", explains)
        log.removeHandler(said)
        for other in others:
            other.removeFilter(_tells_of_no_miss)
        monitoring.unregister_event_duration_listener(recorder.hear)


@functools.cache
def _leave_this_file_out() -> None:
    """Tell JAX that this file is not the user's code. Otherwise all calls would seem to come from the one line here
    that calls the function, and JAX would suspect that this line defines functions again and again.
    """
    importlib.import_module("jax.extend.source_info_util").register_exclusion(__file__)


class _Said(logging.Handler):
    """Keeps what JAX logs about misses."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__()
        self.texts = texts
        self.places: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        if not _tells_of_no_miss(record):
            self.texts.append(jax_words.without_false_repeats(record.getMessage(), self.places))


def _tells_of_no_miss(record: logging.LogRecord) -> bool:
    return "CACHE MISS" not in record.getMessage()


class _Recorder:
    """Stands in for `jax.jit`; notes the calls of its functions, with what JAX says about them."""

    def __init__(self, jax: Any) -> None:
        self.jax = jax
        self.make = jax.jit
        self.found = Recording()
        self.said: list[str] = []
        self.stages: list[tuple[str, float, str]] = []  # stage, seconds, function
        self.thread = threading.get_ident()
        self.is_inside = False

    def jit(self, *args: Any, **kwargs: Any) -> Any:
        """Stand in for `jax.jit`. Return a decorator if no function is given."""
        made = self.make(*args, **kwargs)
        if hasattr(made, "lower"):
            return Watched(self, made)
        return lambda fun: Watched(self, made(fun))

    def hear(self, event: str, seconds: float, **details: Any) -> None:
        if self.is_inside and event in _STAGES:
            self.stages.append((_STAGES[event], seconds, str(details.get("fun_name", ""))))

    def call(self, watched: Watched, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function, wait for its result and return it, and note the call. A call within another call or a trace,
        or by another thread, is not noted.
        """
        is_traced = any(isinstance(leaf, self.jax.core.Tracer) for leaf in self.jax.tree.leaves((args, kwargs)))
        if self.is_inside or is_traced or threading.get_ident() != self.thread:
            return watched.jitted(*args, **kwargs)
        self.said.clear()
        self.stages.clear()
        self.is_inside = True
        start, error = time.perf_counter(), None
        try:
            return self.jax.block_until_ready(watched.jitted(*args, **kwargs))
        except BaseException as raised:
            error = in_a_line(raised)
            raise
        finally:
            self.is_inside = False
            self.found.note(self._noted(watched, start, time.perf_counter() - start, args, kwargs, error))

    def _noted(self, watched: Watched, start: float, seconds: float, args: Any, kwargs: Any, error: str | None) -> Call:
        name = getattr(watched.jitted, "__name__", type(watched.jitted).__name__)
        stages: dict[str, float] = {}
        for stage, each, function in self.stages:
            if function in (name, f"jit({name})"):
                stages[stage] = stages.get(stage, 0.0) + each
        miss, jaxpr, types_ = None, None, None
        if error is not None:
            types_ = self.jax.tree.map(self._type, (args, kwargs))
        elif stages:
            watched.misses += 1
            happened = {"trace": "traced", "compile": "compiled"}
            did = [word for stage, word in happened.items() if stage in stages]
            types_ = self.jax.tree.map(self._type, (args, kwargs))
            seen = jax_words.Seen(watched.misses, {}, {})
            with contextlib.suppress(Exception):  # without a second trace there is no jaxpr to show
                traced = watched.jitted.trace(*types_[0], **types_[1]).jaxpr
                jaxpr = lines_of(str(traced))
                seen = _seen(watched, traced, *types_)
            miss = _miss(watched, seen, " and ".join(did), jax_words.sentences(self.said, name))
        rest = max(seconds - sum(stages.values()), 0.0)
        told: list[tuple[str, float]] = [
            (stage, stages[stage]) for stage in ("trace", "lower", "compile") if stage in stages
        ]
        file = file_of(inspect.unwrap(watched.jitted))
        told.append(("failed" if error else "run", rest))
        return Call(watched.jitted, name, file, _call_site(), start, told, miss, jaxpr, types_, error)

    def _type(self, leaf: Any) -> Any:
        """Return the type of an array, and any other leaf unchanged. The recording keeps types, because arrays may be
        large, and donated ones are gone.
        """
        if not isinstance(leaf, self.jax.Array):
            return leaf
        return self.jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, weak_type=leaf.weak_type)


def _miss(watched: Watched, seen: jax_words.Seen, did: str, sentences: tuple[str, ...]) -> JaxMiss:
    """Return a miss, with the number of the earlier miss that JAX's sentences refer to; add `seen` to the function's
    misses.
    """
    closest = jax_words.spoken_of(sentences, seen, watched.seen)
    told = jax_advice.with_advice(sentences, seen, watched.seen)
    watched.seen.append(seen)
    reason = "first call" if seen.number == 1 else jax_words.kind(sentences, seen, closest)
    return JaxMiss(seen.number, reason, did, told, closest.number if closest else None)


def _seen(watched: Watched, traced: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> jax_words.Seen:
    """Return the arguments of a call, as text. An argument is static if the jaxpr has no leaf of it."""
    names = getattr(traced.jaxpr.debug_info, "arg_names", None) or ()
    types_ = {
        name: aval.str_short(True) + (jax_words.WEAK if getattr(aval, "weak_type", False) else "")
        for name, aval in zip(names, traced.in_avals, strict=False)
    }
    leading = {name.partition("[")[0].partition(".")[0] for name in types_}
    signature = inspect.signature(inspect.unwrap(watched.jitted))
    passed = signature.bind(*args, **kwargs).arguments
    statics = {name: str(value) for name, value in passed.items() if name not in leading}
    codes = {
        name: jax_words.Code(body, short_text.static_text(passed[name]))
        for name in statics
        if (body := cached.body_of(passed[name]))
    }
    return jax_words.Seen(watched.misses, types_, statics, list(signature.parameters), codes)


def _call_site() -> str:
    """Return the innermost line that is neither JAX's nor this package's; "" if there is none."""
    frame: Any = sys._getframe(1)
    while frame is not None and real_jax.is_machinery(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""
