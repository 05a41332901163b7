"""Machine code + buffers -> buffers

Runs our programs through the same interface as XLA's: `execute_sharded` takes the inputs' buffers, and returns an
object that gives the results' buffers. The GIL is released while a program runs. The workspace of a call is kept for
the next call; concurrent threads have one each. The memory of a large result (up to 256 MiB) is kept, too, when nothing
holds the result any more: the system clears memory that it hands out, which takes as long as writing it (SELU of 10**6 numbers:
1.4 ms with new memory, 1.0 ms with kept memory).

JAX: jax/_src/interpreters/pxla.py:ExecuteReplicated
"""

from __future__ import annotations

import ctypes
import re
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import runtime
from ..core import ShapedArray
from . import native
from .source import Source

_LEAST, _MOST = 1 << 18, 1 << 28  # bytes of results whose memory is kept for later ones; malloc itself keeps less
_SPARE = 2  # at most this many pieces of memory are kept for each result


class MemoryStats(NamedTuple):
    """The bytes that a program takes, under XLA's names."""

    argument_size_in_bytes: int
    output_size_in_bytes: int
    temp_size_in_bytes: int
    generated_code_size_in_bytes: int
    alias_size_in_bytes: int = 0


class Loaded:
    """A compiled C program, ready to run; `loops` is the number of its loops."""

    def __init__(
        self,
        source: Source,
        library: bytes,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
        sharding: runtime.Sharding,
        committed: bool,
        donated: Sequence[int],
    ) -> None:
        self.text = source.text
        self.loops = source.loops
        self.costs = source.costs
        self._in_avals, self._out_avals = list(in_avals), list(out_avals)
        self._sharding, self._committed, self._donated = sharding, committed, list(donated)
        self._code_size = len(library)
        self._workspace = source.workspace
        self._run = native.loaded(library)
        self._free: list[np.ndarray[Any, Any]] = []
        self._spare: list[list[np.ndarray[Any, Any]]] = [[] for _ in self._out_avals]
        self._pointers = ctypes.c_void_p * max(len(self._in_avals), 1), ctypes.c_void_p * max(len(self._out_avals), 1)

    def execute_sharded(self, buffers: Sequence[runtime.Buffer]) -> Results:
        """Return the results for buffers that are on this machine's processor."""
        of_ins, of_outs = self._pointers
        ins = of_ins(*[runtime.address(buffer) for buffer in buffers])
        outs = [_memory(aval, spare) for aval, spare in zip(self._out_avals, self._spare, strict=True)]
        try:
            work = self._free.pop()
        except IndexError:
            work = runtime.aligned((self._workspace,), np.dtype(np.uint8))
        self._run(ins, of_outs(*[x.ctypes.data for x in outs]), work.ctypes.data)
        self._free.append(work)
        for i in self._donated:
            buffers[i].delete()
        return Results(
            [
                runtime.put(x, aval, self._sharding, self._committed)
                for x, aval in zip(outs, self._out_avals, strict=True)
            ]
        )

    def assembly(self) -> str:
        """Return the program in assembly language."""
        return native.assembly(self.text)

    def memory(self) -> MemoryStats:
        """Return the memory that the program takes."""
        ins, outs = (sum(a.size * a.dtype.itemsize for a in avals) for avals in (self._in_avals, self._out_avals))
        return MemoryStats(ins, outs, self._workspace, self._code_size)


def _memory(aval: ShapedArray, spare: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Return memory for a result: a piece from `spare`, which an earlier result used, or a new one. Every view of the
    memory holds its lease; when the last view is gone, the piece goes back into `spare`. For a result of less than
    `_LEAST` or more than `_MOST` bytes, the memory is always new, and is not kept.
    """
    size = aval.size * aval.dtype.itemsize
    if not _LEAST <= size <= _MOST:
        return runtime.aligned(aval.shape, aval.dtype)
    runtime.let_go()
    try:
        block = spare.pop()
    except IndexError:
        block = runtime.aligned((size,), np.dtype(np.uint8))
    lease = (ctypes.c_char * size).from_address(block.ctypes.data)
    weakref.finalize(lease, _keep, block, spare).atexit = False
    return np.frombuffer(memoryview(lease), aval.dtype).reshape(aval.shape)


def _keep(block: np.ndarray[Any, Any], spare: list[np.ndarray[Any, Any]]) -> None:
    if len(spare) < _SPARE:
        spare.append(block)


class Results:
    """The results of a run, with the method that jaxlib's results have."""

    def __init__(self, buffers: list[runtime.Buffer]) -> None:
        self._buffers = buffers

    def consume_with_handlers(self, handlers: Sequence[Any]) -> list[runtime.Buffer]:
        """Return the buffers of the results; `handlers`, which XLA's results need, are not used."""
        return self._buffers


def without_notes(text: str) -> str:
    """Return C without comments, so that it does not depend on the function's place in its file."""
    return re.sub(r" *//.*", "", text)
