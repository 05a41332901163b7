"""signature -> executable

A table per function and set of `jit` options maps the key of a call to an `Entry` that runs it. A key is a tuple:

    (options, key of leaf, key of leaf, ...)                  positional arguments that are all arrays
    (options, treedef, static values, key of leaf, ...)       everything else

where the key of a leaf is its aval (interned, so comparing is comparing addresses), or its aval and place. A key must
distinguish everything that could lead to another program: XLA's executables check only the byte size of their
arguments, so a key that is too coarse silently returns garbage. A key that is too fine only costs time.

A table belongs to a function, and does not keep it alive: when the last reference to the function goes, so do its
executables. A table is an LRU of `config.jit_cache_size` entries. One thread makes the first call of a signature, while
others wait for it.

JAX: jax/_src/util.py:weakref_lru_cache
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base import config
from ..compiler.compiler import Executable, explain_failure, not_to_be_run
from ..core import dtypes
from ..interpreters import replaying
from ..jaxpr import Jaxpr
from ..misses import origin as function_origin
from ..misses.explain import MissLog
from ..misses.record import SEARCHED, CallRecord
from ..runtime.array import Array
from ..tree_util import PyTreeDef, tree_leaves
from .calling import Direct, direct, runner_of_all

EXACT_LRU_SIZE = 64  # a table of this size or less orders entries at every hit; a larger one if it is over half full


class TracedCall(NamedTuple):
    """The result of tracing a function for a signature: its jaxpr, and the tree of its result."""

    jaxpr: Jaxpr
    out_tree: PyTreeDef

    def is_current(self) -> bool:
        """Return whether the traces of all tracers that the jaxpr closed over are active."""
        return all_alive(self.jaxpr.consts)


def all_alive(values: Sequence[Any]) -> bool:
    """Return whether no tracer among the values belongs to an ended trace."""
    return all(trace.alive for x in values if (trace := getattr(x, "_trace", None)) is not None)


class Entry:
    """Runs calls of one signature by `executable`: `run` takes the leaves of a call with the entry's keys, and returns the
    result in its tree. `direct` has what the dispatcher needs to run `executable` itself, or is None. `is_warm` says
    whether the first run succeeded, None before it. (If it failed, JAX checks the arguments of all later calls.)
    """

    __slots__ = ("direct", "executable", "is_warm", "run")

    def __init__(self, executable: Executable, out_tree: PyTreeDef, leaf_keys: Sequence[Any]) -> None:
        self.executable = executable
        self.is_warm: bool | None = None  # before the first run
        run = runner_of_all(executable, out_tree, leaf_keys)
        if executable.donates:
            run = _without_views(run)
        options = config.local.state.run_options  # the entry's key includes these options
        if options.no_execution:
            run = _refused(executable.name)
        is_checked = options.debug_nans or options.debug_infs
        # the function that runs a call: it takes the leaves, and returns the result in its tree
        self.run = _checked(run, executable.name, options) if is_checked else run
        is_plain = not (executable.donates or options.no_execution or is_checked or options.debug_key_reuse)
        self.direct = direct(executable, out_tree, leaf_keys) if is_plain else None


def _without_views(run: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
    """Return `run` for a program with donated arguments: it first drops our numpy views of them, since XLA copies
    memory that is in use instead of reusing it.
    """

    def run_without_views(leaves: Sequence[Any]) -> Any:
        for x in leaves:
            if type(x) is Array:
                x._view = None
        return run(leaves)

    return run_without_views


def _refused(name: str) -> Callable[[Sequence[Any]], Any]:
    """Return a `run` that raises, for the option `no_execution`."""

    def run(leaves: Sequence[Any]) -> Any:
        raise not_to_be_run(name)

    return run


def _checked(run: Callable[[Sequence[Any]], Any], name: str, options: config.Options) -> Callable[[Sequence[Any]], Any]:
    """Return `run` for `debug_nans` and `debug_infs`: it raises FloatingPointError if a result has a nan, or an infinity."""
    tests = [("nan", np.isnan)] * options.debug_nans + [("inf", np.isinf)] * options.debug_infs

    def run_and_check(leaves: Sequence[Any]) -> Any:
        result = run(leaves)
        for x in tree_leaves(result):
            for kind, test in tests if dtypes.issubdtype(x.dtype, np.inexact) else ():
                if bool(test(np.asarray(x)).any()):
                    raise FloatingPointError(f"invalid value ({kind}) encountered in {name}")
        return result

    return run_and_check


_NOTHING_QUICK: tuple[Any, dict[Any, Direct]] = (object(), {})


class Table:
    """The entries of one function under one set of `jit` options: an LRU."""

    __slots__ = (
        "__weakref__", "crowded", "entries", "executables", "failed", "lock", "nested", "pending", "quick", "records",
    )  # fmt: skip

    def __init__(self) -> None:
        self.entries: dict[tuple[Any, ...], Entry] = {}  # key -> entry, the most recently used last
        self.nested: dict[tuple[Any, ...], Any] = {}  # key -> how a call under a trace is recorded
        self.records: dict[tuple[Any, ...], CallRecord] = {}  # key -> the record of the call that made the entry
        # (jaxpr, donation, placement) -> executable: several entries may share one
        self.executables: dict[Any, Executable] = {}
        self.failed: dict[tuple[Any, ...], None] = {}  # keys of first calls that raised
        self.pending: dict[tuple[Any, ...], _Pending] = {}
        self.lock = threading.RLock()  # reentrant: dropping a value may run a destructor, which may call the function
        self.crowded = False  # whether `touch` has to note each hit (see `insert`)
        # The dispatcher runs these calls without looking up an entry. The pair has the options for which this holds,
        # and a dict from the key of the only argument (the shape and dtype of a numpy array; `()` without an argument)
        # to what is run.
        self.quick: tuple[Any, dict[Any, Direct]] = _NOTHING_QUICK

    def touch(self, key: tuple[Any, ...], entry: Entry) -> None:
        """Make an entry the most recently used. `touch` is called at a hit, once the table is crowded. Another thread
        may have dropped the entry since it was found; do not put it back.
        """
        with self.lock:
            if self.entries.pop(key, None) is not None:
                self.entries[key] = entry

    def insert(self, key: tuple[Any, ...], entry: Entry, record: CallRecord) -> None:
        """Add an entry with its record, and drop the least recently used ones beyond the option `jit_cache_size`.

        Hits are noted (`touch`) only while the table is `crowded`: a table with room for `EXACT_LRU_SIZE` entries or less
        always is, a larger one if it is more than half full. Remove the key from `failed`. If there are more `executables`
        than entries may be, drop the executables that no entry runs. Do all of this under `lock`, since other threads use
        the table.
        """
        limit = config.value("jit_cache_size")
        with self.lock:
            self.failed.pop(key, None)
            self.entries[key] = entry
            self.records[key] = record
            while len(self.entries) > limit:
                oldest = next(iter(self.entries))
                del self.entries[oldest], self.records[oldest]
            self.crowded = len(self.entries) > (0 if limit <= EXACT_LRU_SIZE else limit // 2)
            if len(self.executables) > limit:
                self.drop_unused_executables()

    def remember_executable(self, slot: tuple[Any, ...], executable: Executable) -> None:
        """Add an executable that was compiled ahead of time. If there are too many, first drop those that no entry runs."""
        with self.lock:
            if len(self.executables) >= config.value("jit_cache_size"):
                self.drop_unused_executables()
            self.executables[slot] = executable

    def drop_unused_executables(self) -> None:
        """Keep only the executables that an entry runs."""
        used = {id(entry.executable) for entry in self.entries.values()}
        self.executables = {slot: e for slot, e in self.executables.items() if id(e) in used}

    def remember_nested(self, key: tuple[Any, ...], call: Any) -> None:
        """Remember how a call under a trace is recorded; forget the oldest if there are too many."""
        with self.lock:
            self.nested[key] = call
            if len(self.nested) > config.value("jit_cache_size"):
                del self.nested[next(iter(self.nested))]

    def remember_failure(self, key: tuple[Any, ...]) -> None:
        """Remember the key of a first call that raised; forget the oldest if there are too many."""
        with self.lock:
            self.failed[key] = None
            if len(self.failed) > config.value("jit_cache_size"):
                del self.failed[next(iter(self.failed))]

    def signatures(self) -> list[tuple[Any, ...]]:
        """Return the keys of the entries and of the calls that failed."""
        with self.lock:
            return [*self.entries, *self.failed]

    def clear(self) -> None:
        """Forget everything but the first calls in progress."""
        with self.lock:
            self.entries.clear()
            self.failed.clear()
            self.nested.clear()
            self.records.clear()
            self.executables.clear()
            self.crowded = False
            self.quick = _NOTHING_QUICK

    def slow_if_crowded(self) -> None:
        """If the table is crowded, so that hits have to be noted, make the dispatcher look up each entry again."""
        if self.crowded:
            self.quick = _NOTHING_QUICK

    def make_quick(self, options: Any, key: Any, entry: Entry) -> None:
        """Let the dispatcher itself run an entry for calls whose only argument has this `key` (see `quick`), if it has a `direct`."""
        with self.lock:
            if entry.direct is not None and not self.crowded and self.entries:
                if self.quick[0] is not options:
                    self.quick = (options, {})  # set in one step, since other threads read both together
                self.quick[1][key] = entry.direct

    @contextlib.contextmanager
    def first_call(self, key: tuple[Any, ...], function: str) -> Iterator[bool]:
        """Yield True in the one thread that makes an entry; in any other thread, wait until it is done, and yield
        False. Raise RecursionError if this thread is making it already.
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
        except Exception:
            self.remember_failure(key)
            raise
        finally:
            with self.lock:
                del self.pending[key]
            mine.done.set()


class _Pending:
    """A first call in progress."""

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
    """Everything cached for one function: its traces, a `Table` per set of `jit` options, and the log of its misses."""

    __slots__ = ("__weakref__", "being_traced", "misses", "records", "tables", "traces")

    def __init__(self) -> None:
        self.traces: dict[tuple[Any, ...], TracedCall] = {}
        self.records: dict[tuple[Any, ...], CallRecord] = {}  # key of a trace -> the record of the call that made it
        self.misses = MissLog()
        self.being_traced: set[tuple[Any, ...]] = set()
        self.tables: dict[Any, Table] = {}

    def table(self, jit_options: Any) -> Table:
        """Return the table for a set of `jit` options."""
        return self.tables.setdefault(jit_options, Table())

    def remember_trace(self, key: tuple[Any, ...], traced: TracedCall) -> None:
        """Remember a traced call; forget the oldest if there are too many."""
        self.traces[key] = traced
        while len(self.traces) > config.value("jit_cache_size"):
            oldest = next(iter(self.traces))
            del self.traces[oldest]
            self.records.pop(oldest, None)

    def remember_record(self, key: tuple[Any, ...], record: CallRecord) -> None:
        """Keep the record of the call that made a trace, as long as the trace."""
        if key in self.traces:
            self.records[key] = record

    def known_records(self, table: Table) -> list[CallRecord]:
        """Return the records of calls whose trace is cached, or whose entry is in the table, the oldest first. If there
        are more than `record.SEARCHED`, return only the latest, at least one more than that.
        """
        records = [*_latest(self.records), *_latest(table.records)]
        by_number = {record.number: record for record in records}
        return [by_number[number] for number in sorted(by_number)]

    @contextlib.contextmanager
    def tracing(self, key: tuple[Any, ...], function: str) -> Iterator[None]:
        """Mark a signature in the block as being traced by this thread. Raise RecursionError if it is already: the
        function calls itself without end.
        """
        mark = (threading.get_ident(), *key)
        if mark in self.being_traced:
            raise _endless_recursion(function)
        self.being_traced.add(mark)
        try:
            yield
        finally:
            self.being_traced.discard(mark)

    def clear(self, tables: Iterable[Table] | None = None) -> None:
        """Forget the traces, and everything in these tables; without `tables`, in all of them. Keep the log of misses."""
        self.traces.clear()
        self.records.clear()
        self.misses.cleared()
        for table in self.tables.values() if tables is None else tables:
            table.clear()


def _latest(records: dict[Any, CallRecord]) -> list[CallRecord]:
    return list(itertools.islice(reversed(records.values()), SEARCHED + 1))


_caches: weakref.WeakKeyDictionary[Any, FunctionCache] = weakref.WeakKeyDictionary()  # function -> its cache
_caches_lock = threading.Lock()  # hold it to read or change `_caches`
_clearable: weakref.WeakSet[Any] = weakref.WeakSet()


def cache_of(fun: Callable[..., Any]) -> FunctionCache:
    """Return the cache of a function: `cache_of(f) is cache_of(f)`, so that every `jit(f)` shares it.

    Another function gets another cache, even with the same source: it may close over other values. A cache goes when
    the last reference to its function goes: `_caches` holds the functions weakly. `_caches` raises TypeError for a
    callable that cannot be hashed or weakly referenced: for such a callable return a new cache each time, so that it can
    be jitted, too.

    Threads may call this at the same time: read and write `_caches` under `_caches_lock`.
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
    """Forget the traces and executables of all functions that can be hashed, and the executables of eager operations."""
    with _caches_lock:
        caches = list(_caches.values())
    for cache in [*caches, *_clearable]:
        cache.clear()


def forget_history() -> None:
    """Call `clear_caches`, and forget all misses: for measurements that are repeated in one process."""
    clear_caches()
    with _caches_lock:
        caches = list(_caches.values())
    for cache in caches:
        cache.misses.forget()
    function_origin.forget_counts()


def register_clearable(cache: Any) -> None:
    """Make `clear_caches` call `cache.clear()`, too."""
    _clearable.add(cache)


register_clearable(replaying.known)


def run_entry(entry: Entry, leaves: Sequence[Any]) -> Any:
    """Return an entry's result for a call's leaves, and set `is_warm`. If the run fails, raise the error of `explain_failure`."""
    try:
        result = entry.run(leaves)
    except (RuntimeError, ValueError) as error:
        entry.is_warm = bool(entry.is_warm)
        in_cpp = entry.is_warm and entry.executable.is_pure
        raise explain_failure(error, leaves, entry.executable.consts, entry.is_warm, in_cpp) from None
    if entry.is_warm is None:
        entry.is_warm = True
    return result
