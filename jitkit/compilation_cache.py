"""signature -> executable

What was compiled for a function, and under which signatures. One table per function and set of `jit` options
maps the key of a call to an `Entry` that runs it. A key is a tuple:

    (options, key of leaf, key of leaf, ...)                  positional arguments that are all arrays
    (options, treedef, static values, key of leaf, ...)       everything else

where the key of a leaf is its aval (interned, so comparing is comparing addresses), or its aval and place. A
key must tell apart whatever could lead to another program: XLA's executables check nothing but the size in
bytes of their arguments, so a key that is too coarse returns garbage in silence. A key that is too fine costs
time only.

Tables belong to functions and know them weakly: when the last reference to a function goes, so do its
executables. A table is an LRU of `config.jit_cache_size` entries. The first call of a signature is made by
one thread, while others wait for it.

JAX: jax/_src/util.py:weakref_lru_cache
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import config
from .array import Array
from .compiler import Executable, explain_failure
from .explain import CallRecord, MissLog
from .jaxpr import Jaxpr
from .runtime import OnHost
from .tree_util import PyTreeDef, tree_structure, tree_unflatten

_LEAF = tree_structure(0)
_EXACT_LRU_SIZE = 64  # a table this small orders its entries at every hit; a larger one from half its size on


class TracedCall(NamedTuple):
    """What tracing a function for a signature gave: its jaxpr, and the tree of its result."""

    jaxpr: Jaxpr
    out_tree: PyTreeDef

    def is_current(self) -> bool:
        """Whether the tracers of enclosing traces that the jaxpr closed over, if any, still live."""
        return all(
            trace.alive
            for const in self.jaxpr.consts
            if (trace := getattr(const, "_trace", None)) is not None
        )


class Entry:
    """How to run one signature: `run` takes the leaves of a call whose keys are the entry's, and returns
    the result's tree.
    """

    __slots__ = ("executable", "run")

    def __init__(self, executable: Executable, out_tree: PyTreeDef, leaf_keys: Sequence[Any]) -> None:
        self.executable = executable
        self.run = _runner(executable, out_tree, leaf_keys)


def _runner(
    executable: Executable, out_tree: PyTreeDef, leaf_keys: Sequence[Any]
) -> Callable[[Sequence[Any]], Any]:
    """The function of a warm call: gather buffers, execute, wrap. Nothing is checked, the key has said it
    all.

    Functions of one argument have a shorter way: 1.04x jax.jit instead of 1.13x for an array, 1.2x instead of
    1.5x for a host value."""
    if out_tree is not _LEAF:
        gather, call = _gatherer(executable, leaf_keys)
        avals, keys = executable.out_avals, executable.out_keys
        return lambda leaves: tree_unflatten(out_tree, [*map(Array, call(gather(leaves)), avals, keys)])
    (aval,), (key,) = executable.out_avals, executable.out_keys
    simple = (
        not executable.committed and not executable.consts and executable.kept == list(range(len(leaf_keys)))
    )
    if not simple or len(leaf_keys) != 1:
        gather, call = _gatherer(executable, leaf_keys)
        return lambda leaves: Array(call(gather(leaves))[0], aval, key)
    if isinstance(leaf_keys[0], OnHost):
        dispatcher, dtype = executable.host_dispatcher(), executable.arg_avals[0].dtype
        if leaf_keys[0].aval.weak_type:  # only Python scalars are weak, and need no conversion
            return lambda leaves: Array(dispatcher(leaves[0])[0], aval, key)

        def run_on_host_value(leaves: Sequence[Any]) -> Any:
            x = leaves[0]
            value = x if type(x) is np.ndarray and x.dtype is dtype else _as_host_value(x, dtype)
            return Array(dispatcher(value)[0], aval, key)

        return run_on_host_value
    execute, handlers = executable.execute, executable.handlers

    def run_on_array(leaves: Sequence[Any]) -> Any:
        x = leaves[0]
        return Array(
            execute([x._buf if type(x) is Array else x]).consume_with_handlers(handlers)[0], aval, key
        )

    return run_on_array


def _gatherer(
    executable: Executable, leaf_keys: Sequence[Any]
) -> tuple[Callable[[Sequence[Any]], list[Any]], Callable[[list[Any]], Sequence[Any]]]:
    """A function from the leaves of a call to the list that is passed to the program, and the function
    that runs the program on it.
    """
    avals, place, kept, consts = executable.arg_avals, executable.place, executable.kept, executable.consts
    if executable.committed:  # uncommitted arguments follow the committed ones
        return lambda leaves: [*consts, *[place(leaves[i], avals[i]) for i in kept]], executable.run
    on_host = [isinstance(key, OnHost) for key in leaf_keys]
    if any(on_host):
        plan = [(i, avals[i].dtype if on_host[i] and not avals[i].weak_type else None) for i in kept]

        def gather(leaves: Sequence[Any]) -> list[Any]:
            return [
                *consts,
                *[
                    _as_buffer(leaves[i]) if dtype is None else _as_host_value(leaves[i], dtype)
                    for i, dtype in plan
                ],
            ]

        dispatcher = executable.host_dispatcher()
        return gather, lambda values: dispatcher(*values)
    if not consts and kept == list(range(len(leaf_keys))):
        return lambda leaves: [x._buf if type(x) is Array else x for x in leaves], executable.run
    return lambda leaves: [*consts, *[_as_buffer(leaves[i]) for i in kept]], executable.run


def _as_buffer(x: Any) -> Any:
    return x._buf if type(x) is Array else x


def _as_host_value(x: Any, dtype: np.dtype[Any]) -> Any:
    """A host value in the dtype of the program: nobody else checks what an executable is given."""
    if isinstance(x, np.ndarray):
        return x if x.dtype == dtype and type(x) is np.ndarray else np.asarray(x, dtype)
    return dtype.type(x)


class Table:
    """The entries of one function under one set of `jit` options: an LRU, with the story of its misses."""

    __slots__ = ("__weakref__", "crowded", "entries", "executables", "lock", "misses", "pending", "records")

    def __init__(self) -> None:
        self.entries: dict[tuple[Any, ...], Entry] = {}
        self.records: dict[tuple[Any, ...], CallRecord] = {}
        self.executables: dict[
            Any, Executable
        ] = {}  # by jaxpr, donation and placement: entries may share one
        self.misses = MissLog()
        self.pending: dict[tuple[Any, ...], _Pending] = {}
        self.lock = threading.Lock()
        self.crowded = False

    def touch(self, key: tuple[Any, ...], entry: Entry) -> None:
        """Make an entry the most recently used. Called at hits once the table is crowded."""
        with self.lock:
            if self.entries.pop(key, None) is not None:
                self.entries[key] = entry

    def insert(self, key: tuple[Any, ...], entry: Entry, record: CallRecord) -> None:
        """Add an entry, and drop the least recently used ones beyond the limit."""
        limit = max(1, config.value("jit_cache_size"))
        with self.lock:
            self.entries[key] = entry
            self.records[key] = record
            while len(self.entries) > limit:
                oldest = next(iter(self.entries))
                del self.entries[oldest], self.records[oldest]
            self.crowded = len(self.entries) > (0 if limit <= _EXACT_LRU_SIZE else limit // 2)
            used = (
                {id(e.executable) for e in self.entries.values()} if len(self.executables) > limit else None
            )
            if used is not None:
                self.executables = {k: e for k, e in self.executables.items() if id(e) in used}

    def clear(self) -> None:
        """Forget all entries; the story of the misses stays."""
        with self.lock:
            self.entries.clear()
            self.records.clear()
            self.executables.clear()
            self.crowded = False

    @contextlib.contextmanager
    def first_call(self, key: tuple[Any, ...], function: str) -> Iterator[bool]:
        """Be the one thread that makes an entry: yields True for it, False for a thread that waited until
        it was made.
        """
        mine = _Pending()
        with self.lock:
            pending = self.pending.setdefault(key, mine)
        if pending is not mine:
            if pending.thread == threading.get_ident():
                raise _endless_recursion(function)
            pending.done.wait()
            yield False
            return
        try:
            yield True
        finally:
            with self.lock:
                del self.pending[key]
            mine.done.set()


class _Pending:
    """A first call that is under way."""

    __slots__ = ("done", "thread")

    def __init__(self) -> None:
        self.done = threading.Event()
        self.thread = threading.get_ident()


def _endless_recursion(function: str) -> RecursionError:
    return RecursionError(
        f"Recursively calling {function}: while it is traced it calls itself with arguments of the same "
        "types, so tracing "
        "would never end. Use `lax.while_loop` or `lax.fori_loop`, or make the argument that ends the "
        "recursion static."
    )


class FunctionCache:
    """Everything cached for one function: what it was traced to, and a `Table` per set of `jit` options."""

    __slots__ = ("__weakref__", "being_traced", "tables", "traces")

    def __init__(self) -> None:
        self.traces: dict[tuple[Any, ...], TracedCall] = {}
        self.being_traced: set[tuple[Any, ...]] = set()
        self.tables: dict[Any, Table] = {}

    def table(self, jit_options: Any) -> Table:
        """The table for a set of `jit` options."""
        return self.tables.setdefault(jit_options, Table())

    def remember_trace(self, key: tuple[Any, ...], traced: TracedCall) -> None:
        """Keep a traced call; the oldest goes when there are too many."""
        self.traces[key] = traced
        while len(self.traces) > max(1, config.value("jit_cache_size")):
            del self.traces[next(iter(self.traces))]

    @contextlib.contextmanager
    def tracing(self, key: tuple[Any, ...], function: str) -> Iterator[None]:
        """Mark a signature as being traced by this thread. RecursionError when it is: the function calls
        itself without end.
        """
        mark = (threading.get_ident(), *key)
        if mark in self.being_traced:
            raise _endless_recursion(function)
        self.being_traced.add(mark)
        try:
            yield
        finally:
            self.being_traced.discard(mark)

    def clear(self) -> None:
        """Forget everything."""
        self.traces.clear()
        for table in self.tables.values():
            table.clear()


_caches: weakref.WeakKeyDictionary[Any, FunctionCache] = weakref.WeakKeyDictionary()
_caches_lock = threading.Lock()
_clearable: weakref.WeakSet[Any] = weakref.WeakSet()


def cache_of(fun: Callable[..., Any]) -> FunctionCache:
    """The cache of a function: the same one for every `jit` of it, for as long as the function lives.

    A callable that cannot be hashed or weakly referenced gets a cache of its own each time.
    """
    with _caches_lock:
        try:
            cache = _caches.get(fun)
            if cache is None:
                cache = _caches[fun] = FunctionCache()
        except TypeError:
            cache = FunctionCache()
    return cache


def clear_caches() -> None:
    """Forget every trace and executable of every function, and those of eager operations."""
    with _caches_lock:
        caches = list(_caches.values())
    for cache in [*caches, *_clearable]:
        cache.clear()


def register_clearable(cache: Any) -> None:
    """Let `clear_caches` call `cache.clear()`, too."""
    _clearable.add(cache)


def run_entry(entry: Entry, leaves: Sequence[Any]) -> Any:
    """Run an entry on leaves of all kinds; a failure is told in terms of the arguments."""
    try:
        return entry.run(leaves)
    except (RuntimeError, ValueError) as error:
        raise explain_failure(error, leaves) from None
