"""The names of `jax.profiler`: annotations, which name what is in a profile. jitkit takes no profiles, so they name nothing

JAX: jax/_src/profiler.py:TraceAnnotation
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from .base import missing_names


class TraceAnnotation(contextlib.nullcontext[None]):
    """A name for what runs in the block, in the profile of whoever takes one."""

    def __init__(self, name: str, **metadata: Any) -> None:
        super().__init__()


class StepTraceAnnotation(TraceAnnotation):
    """The same for a step of a training loop."""


def annotate_function(func: Callable[..., Any], name: str | None = None, **metadata: Any) -> Callable[..., Any]:
    """A function whose calls have a name in the profile of whoever takes one: the function."""
    return func


_NO_PROFILES = (
    "jitkit takes no profiles. `jitkit bench` measures, `python -m jitkit.as_jax --explain` says what tracing and compiling cost; for a "
    "profile of the compiled program run it on JAX."
)


def start_trace(log_dir: Any, **options: Any) -> NoReturn:
    """Would begin a profile. NotImplementedError."""
    raise NotImplementedError(_NO_PROFILES)


def stop_trace() -> NoReturn:
    """Would end a profile. RuntimeError, as in JAX where none was begun."""
    raise RuntimeError("No profile started")


def trace(log_dir: Any, **options: Any) -> NoReturn:
    """Would take a profile of a block. NotImplementedError."""
    raise NotImplementedError(_NO_PROFILES)


missing_names.explain("profiler", sys.modules[__name__])
