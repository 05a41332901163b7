"""The names of `jax.profiler`: annotations of profiles. jitkit takes no profiles, so they have no effect

JAX: jax/_src/profiler.py:TraceAnnotation
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from .base import missing_names


class TraceAnnotation(contextlib.nullcontext[None]):
    """A block, which has no effect here; in JAX it names, in a profile, what runs in it."""

    def __init__(self, name: str, **metadata: Any) -> None:
        super().__init__()


class StepTraceAnnotation(TraceAnnotation):
    """A block, which has no effect here; in JAX it names, in a profile, a step of a training loop."""


def annotate_function(func: Callable[..., Any], name: str | None = None, **metadata: Any) -> Callable[..., Any]:
    """Return the function unchanged; in JAX its calls get a name in a profile."""
    return func


_NO_PROFILES = (
    "jitkit takes no profiles. `jitkit bench` measures, `python -m jitkit.as_jax --explain` says what tracing and compiling cost; for a "
    "profile of the compiled program run it on JAX."
)


def start_trace(log_dir: Any, **options: Any) -> NoReturn:
    """Raise NotImplementedError; in JAX it begins a profile."""
    raise NotImplementedError(_NO_PROFILES)


def stop_trace() -> NoReturn:
    """Raise RuntimeError, as in JAX where no profile was begun."""
    raise RuntimeError("No profile started")


def trace(log_dir: Any, **options: Any) -> NoReturn:
    """Raise NotImplementedError; in JAX it takes a profile of a block."""
    raise NotImplementedError(_NO_PROFILES)


missing_names.explain("profiler", sys.modules[__name__])
