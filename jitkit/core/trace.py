"""What decides about the operations of a function: its trace, and which trace is the current one.

A *trace* decides what the operations of a function do while the function is called in a special way. The one
that `jit` uses writes an equation down for each (`interpreters/partial_eval`); differentiation and batching
are further ones. This module does not know how many kinds there are. The *current trace* of the thread is the
one that receives operations; None means that they run at once.

JAX: jax/_src/core.py:Trace
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

from ..base import config


class Trace:
    """What happens to the operations of a function while it is called in a special way.

    `alive` turns False when the trace ends; a tracer that is met afterwards has leaked. `writer` is the innermost trace, of this
    one and those around it, that writes equations down; None where operations are computed in the end.
    """

    __slots__ = ("__weakref__", "alive", "parent", "writer")

    splits = False  # does it leave some operations to the trace around, and others to another one?

    def __init__(self, parent: Trace | None) -> None:
        self.parent = parent  # the trace around it, or None
        self.writer: Any = None if parent is None else parent.writer
        self.alive = True

    def process_primitive(self, primitive: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Receive one application of a `Primitive`; operands may be tracers of this or an outer trace, or
        concrete values.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say what to do with {primitive}")

    def note(self, args: Sequence[Any]) -> Callable[[Any], Any] | None:
        """Hear of the arguments of a library function before it runs; and what to make of its result, if anything."""
        return None

    @property
    def main(self) -> Trace:
        """What tells the trace's own tracers from others, for libraries that compare it: in JAX a tag, here the trace."""
        return self

    @property
    def keeps_calls(self) -> bool:
        """Whether a call that is to be inlined is one operation here all the same."""
        return False

    @property
    def writes_down(self) -> bool:
        """Whether operations end in a jaxpr, this one's or that of one around it; elsewhere they are computed."""
        return self.writer is not None

    def in_words(self) -> str:
        """What the function is transformed by, for reports; empty where it is only traced."""
        return ""

    def ancestors(self) -> Iterator[Trace]:
        """The traces around this one, from the inside out."""
        trace = self.parent
        while trace is not None:
            yield trace
            trace = trace.parent

    def end(self) -> None:
        """Close the trace: its tracers are dead from now on."""
        self.alive = False


def current_trace() -> Trace | None:
    """The calling thread's trace, or None while it runs eagerly."""
    trace: Trace | None = config.local.state.trace
    return trace


class set_current_trace:
    """Make `trace` the thread's current trace inside the block; the one before comes back however the block
    ends.
    """

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
    """In the block, what is known is computed while tracing and not recorded; what depends on a traced value still is."""

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
    """Whether no trace is active in this thread."""
    return config.local.state.trace is None
