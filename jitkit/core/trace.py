"""Defines traces, which decide what the operations of a function do, and each thread's current trace.

The trace of `jit` records an equation for each operation (`interpreters/partial_eval`); differentiation and batching
have traces of their own. The *current trace* of the thread receives operations; None means that they run immediately.

JAX: jax/_src/core.py:Trace
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

from ..base import config


class Trace:
    """Decides what the operations of a function do while a transformation calls it.

    `alive` becomes False when the trace ends; a tracer used afterwards has leaked. `writer` is the innermost trace,
    among this one and its ancestors, that records equations, or None.
    """

    __slots__ = ("__weakref__", "alive", "parent", "writer")

    splits = False  # whether it leaves some operations to the outer trace, and records the others in another trace

    def __init__(self, parent: Trace | None) -> None:
        self.parent = parent  # the outer trace, or None
        self.writer: Any = None if parent is None else parent.writer
        self.alive = True

    def process_primitive(self, primitive: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Return the results that this trace gives an application of a `Primitive`. Operands may be tracers of this
        trace or an outer one, or concrete values. Subclasses define this method; here it raises NotImplementedError.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say what to do with {primitive}")

    def note(self, args: Sequence[Any]) -> Callable[[Any], Any] | None:
        """Tell the trace a library function's arguments, before the function runs. Return a function for its result, or None."""
        return None

    @property
    def main(self) -> Trace:
        """The trace itself: libraries compare it to recognise the trace's tracers. (In JAX it is a tag.)"""
        return self

    @property
    def keeps_calls(self) -> bool:
        """Whether a call that would be inlined stays one operation in this trace. It does if no trace records
        equations: the call then runs as one compiled program, as in JAX, and its values have the bits of that program.
        """
        return self.writer is None

    @property
    def writes_down(self) -> bool:
        """Whether operations become equations of a jaxpr, of this trace or an outer one. If not, they are computed immediately."""
        return self.writer is not None

    def in_words(self) -> str:
        """Return the transformation's name, for reports; an empty string if the function is only traced."""
        return ""

    def ancestors(self) -> Iterator[Trace]:
        """Iterate over the outer traces, from the inside out."""
        trace = self.parent
        while trace is not None:
            yield trace
            trace = trace.parent

    def end(self) -> None:
        """End the trace: its tracers are dead from now on."""
        self.alive = False


def current_trace() -> Trace | None:
    """Return the calling thread's trace, or None while it runs eagerly."""
    trace: Trace | None = config.local.state.trace
    return trace


class set_current_trace:
    """Make `trace` the thread's current trace inside the block. At its end restore the previous one, also after an error."""

    __slots__ = ("_before", "_state", "_trace")

    def __init__(self, trace: Trace | None) -> None:
        self._trace = trace

    def __enter__(self) -> None:
        state = self._state = config.local.state
        self._before = state.trace
        state.trace = self._trace
        state.refresh_key()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._state.trace = self._before
        self._state.refresh_key()


class ensure_compile_time_eval(set_current_trace):
    """Compute operations of the block on known values immediately, even while tracing; record operations on traced values as usual."""

    __slots__ = ("_was",)

    def __init__(self) -> None:
        super().__init__(None)

    def __enter__(self) -> None:
        super().__enter__()
        self._was, self._state.compile_time = self._state.compile_time, True

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._state.compile_time = self._was
        super().__exit__(kind, value, traceback)


def trace_state_clean() -> bool:
    """Return whether no trace is active in this thread."""
    return config.local.state.trace is None
