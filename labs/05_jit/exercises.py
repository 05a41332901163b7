"""05 jit and its cache: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 05.1` helps, one
step further each time. You may add helpers and imports: functions, classes, constants. Other
statements at the top are not run. The parameters stay as they are: other code calls these
functions. A class has only those methods that are yours to write; the others are the
reference's.
"""

from __future__ import annotations

import jitkit as jax
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

from jitkit.base import config, late_rooms
from jitkit.compiler.compiler import Executable
from jitkit.compiler.placement import Placement, default_placement
from jitkit.compiler.program import Program, compile_program
from jitkit.core import Tracer
from jitkit.jaxpr import convert_constvars_jaxpr
from jitkit.misses.record import (
    CallRecord, Change, TRACES, aval_of, changes, kinds_of_types, latest_first, sharding_of,
)
from jitkit.pjit.calling import LEAF, Leaves, arrays, buffers_runner
from jitkit.pjit.compilation_cache import (
    EXACT_LRU_SIZE, Entry, FunctionCache, TracedCall, _caches, _caches_lock,
)
from jitkit.pjit.jit_call import Inline, jit_p
from jitkit.pjit.lookup import flat_tree
from jitkit.pjit.tracing import avals_of
from jitkit.runtime import OnHost, Placed
from jitkit.runtime.array import Array
from jitkit.signature import api_util
from jitkit.signature.api_util import Arguments
from jitkit.tree_util import PyTreeDef, tree_structure, tree_unflatten
from jitkit.tree_util.compiled import compile_put_together


# --- 05.1 The key (2 points) --------------------------------------------------------------------------------
# When may a call use the program of another one? When both have the same key. Make the key of everything that
# leads to another program, and of nothing else.


class Traceable:
    def trace_key(
        self, arguments: Arguments, tree: PyTreeDef, avals: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Return what decides how the function is traced, as a hashable tuple: two calls with one
        key share a jaxpr.

        It contains everything that may change which equations are recorded, or their types, and
        nothing else:

            f(1.0), f(2.0)                             one key: numbers are not seen while tracing
            f(x), f(x) with x on another device        one key: the same program may run there
            f(1.0), f(1)                               two keys
            f((x, y)), f([x, y])                       two keys
            power(x, 2), power(x, 3), n being static   two keys
            f(x), and f(x) under another `default_matmul_precision`    two keys: options are read while tracing

        The options of this thread are `config.local.state.options`; the static arguments, as a part
        of a key, are `api_util.static_key(arguments.statics)`.
        """
        raise NotImplementedError("05.1")


class Jitted:
    def key_of_call(
        self, arguments: Arguments, tree: PyTreeDef, keys: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Return the key under which the entry of a call is in the table, and under which the
        dispatcher looks it up:

            (options, key of leaf, key of leaf, ...)                           all leaves, none static
            (options, tree, static values, key of leaf, key of leaf, ...)      everything else

        Most calls have the first form, whose key is made without flattening. `tree` is then
        `flat_tree(len(keys))`, the same object: trees are interned. `options` is
        `config.local.state.key`, the static values are `api_util.static_key(arguments.statics)`,
        and `keys` are those of the leaves, in order.
        """
        raise NotImplementedError("05.1")


# --- 05.2 Trace once (3 points) -----------------------------------------------------------------------------
# Trace a function only when something about the call is new. Keep the trace as long as the function lives,
# and not longer.


class Traceable:
    def traced(
        self, arguments: Arguments, tree: PyTreeDef, avals: Sequence[Any], names: tuple[str, ...]
    ) -> tuple[TracedCall, bool]:
        """Return the function traced for the types of a call, and whether it was traced now.

        Calls with one `trace_key` share a trace, even if they come from different `jit`s of the
        function: `trace_now`, which runs the Python function, is called once for all of them:

            f(x), then f(y) with y like x          (traced, True); then (the same object, False)
            f(x), again after f raised an error    f runs again: a failure is not kept
            f calls itself, with the same key      RecursionError with the name of f, at once
            f calls itself, with another key       is traced like any other call

        One exception: f closes over a tracer of an enclosing function. When that function is traced
        again, the key is the same, but the kept jaxpr holds a tracer whose trace has ended. It is
        not current any more, so trace f again.

        `cache.traces` maps keys to kept traces; `cache.remember_trace` adds one, and keeps their
        number within its limit.
        """
        raise NotImplementedError("05.2")


def cache_of(fun: Callable[..., Any]) -> FunctionCache:
    """Return the cache of a function: `cache_of(f) is cache_of(f)`, so that every `jit(f)` shares
    it.

    Another function gets another cache, even with the same source: it may close over other values.
    A cache goes when the last reference to its function goes: `_caches` holds the functions weakly.
    `_caches` raises TypeError for a callable that cannot be hashed or weakly referenced: for such a
    callable return a new cache each time, so that it can be jitted, too.

    Threads may call this at the same time: read and write `_caches` under `_caches_lock`.
    """
    raise NotImplementedError("05.2")


# --- 05.3 A bounded memory (3 points) -----------------------------------------------------------------------
# A function that sees a new shape in every call must not fill the memory. Keep the entries that were used
# last.
#
# `entries` are in the order of their use, the latest last, and never more than the option `jit_cache_size`
# (one or more; it may be lowered at any time). The least recently used go, with their records. With room for
# 3: after a, b, c are inserted, a is touched and d is inserted, the entries are c, a, d. Then with room for
# 1: after e is inserted, only e is left.
#
# Touching costs time at each warm call, so it is done only while the table is `crowded`, and `insert` decides
# that: with room for `EXACT_LRU_SIZE` or less, from the first entry on; in a larger table, when it is more
# than half full. So a table with room for 64 is crowded with 1 entry; one with room for 100 is not with 50
# entries, and is with 51.
#
# After `insert` the key is not in `failed`; and if there are more `executables` than room, those that no
# entry runs are dropped (`drop_unused_executables`). Other threads use the table: do all of this under
# `lock`.


class Table:
    def insert(self, key: tuple[Any, ...], entry: Entry, record: CallRecord) -> None:
        """Add an entry with its record, and drop the least recently used ones beyond the option
        `jit_cache_size`.

        Hits are noted (`touch`) only while the table is `crowded`: a table with room for
        `EXACT_LRU_SIZE` entries or less always is, a larger one if it is more than half full.
        Remove the key from `failed`. If there are more `executables` than entries may be, drop the
        executables that no entry runs. Do all of this under `lock`, since other threads use the
        table.
        """
        raise NotImplementedError("05.3")

    def touch(self, key: tuple[Any, ...], entry: Entry) -> None:
        """Make an entry the most recently used. `touch` is called at a hit, once the table is
        crowded. Another thread may have dropped the entry since it was found; do not put it back.
        """
        raise NotImplementedError("05.3")


# --- 05.4 A miss (3 points) ---------------------------------------------------------------------------------
# A call has a new key. Go through all the stages that are needed, and leave an entry behind, so that the next
# call finds it.


class Jitted:
    def make_entry(
        self,
        start: float,
        key: tuple[Any, ...],
        arguments: Arguments,
        tree: PyTreeDef,
        keys: Sequence[Any],
    ) -> Entry:
        """Make the entry for a new key. Do not trace or compile again what was traced or compiled
        for another key:

            f(x), where x is a numpy array          trace and compile
            f(device_put(x))                        neither: another key, but the same type
            f(device_put(x, device))                compile: results have to stay on that device
            f(x), after f.trace(x)                  compile

        Insert it in the table only when it is complete: a step that raises leaves no entry behind,
        and the next call tries again.

        Tracing needs the types only, `avals_of(keys)`; the placement and the entry need the keys,
        which say where each leaf is. Call `note_miss` with the start time and whether tracing and
        compiling happened now; insert the record that it returns. With the option
        `debug_key_reuse`, and only then, replace the entry's `run` by
        `checked(entry.run, traced.jaxpr, "jit-compiled function")`, a function of the module
        `late_rooms.import_room("jitkit.interpreters.key_reuse")`.

        Args:
          start: when the call began.
          tree, keys: the tree of the dynamic arguments, and the keys of their leaves.
        """
        raise NotImplementedError("05.4")

    def compiled(self, program: Program, placement: Placement) -> tuple[Executable, bool]:
        """Return a program compiled for these places, and whether it was compiled now.

        The table's `executables` have the key `(jaxpr, donated, placement)`, which is all that
        matters to XLA: several entries may share an executable. A compilation that fails leaves
        nothing there.
        """
        raise NotImplementedError("05.4")


# --- 05.5 Why did it miss? (3 points) -----------------------------------------------------------------------
# A call that should have been fast was slow. Which argument is to blame? Compare the call with the nearest
# one that is known.


def changed_leaves(leaves: Iterable[tuple[str, Any, Any]]) -> Iterator[Change]:
    """Yield the differences between the leaves of two calls, from `(path, key before, key now)` of
    each.

    A key is an aval, or has one (`aval_of`); avals and keys are interned, but two `Placed` may be
    on equal places. For each leaf, report what costs most:

        key before             key now                kinds, and sizes above 1
        f32[2]                 f32[3]                 shape
        f32[2]                 i32[3]                 shape, of size 2: its dtype goes with it
        OnHost of f32[2]       f32[2]                 host
        OnHost of f32[2]       i32[2]                 dtype; host is not mentioned
        f32[2]                 Placed on c, f32[2]    device
        OnHost of f32[2]       Placed on c, f32[2]    device
        Placed on c, f32[2]    Placed on d, i32[2]    dtype, then device: two changes
        Placed on c, f32[2]    Placed on c, i32[2]    dtype: the device is the same

    `kinds_of_types` lists what differs between two types, in order: the first is the change's kind.
    `sharding_of` says where a key is placed; compare places with `==`. A Change has both keys, as
    they came, for `before` and `now`.
    """
    raise NotImplementedError("05.5")


def distance(old: CallRecord, new: CallRecord, weight: int) -> tuple[int, ...]:
    """Return how far apart two calls are: the sizes of their changes, summed for each weight, in a
    tuple from the greatest, `TRACES`, down to `weight`. So one reason to trace outweighs any number
    of reasons to compile:

        x of another shape and dtype, y of another shape; down to `TRACES`            (3,)
        y on another device, x not on the host any more; down to `DISPATCHES`         (0, 1, 1)
        the same                                                                      (0, 0, 0)

    `changes(old, new, weight)` gives the changes that count.
    """
    raise NotImplementedError("05.5")


def closest(
    records: Sequence[CallRecord], record: CallRecord, weight: int
) -> tuple[CallRecord | None, tuple[int, ...]]:
    """Return the record nearest to `record` by the `distance` down to this weight, and that
    distance; `(None, ())` when there are no records.

    Only the records that `latest_first` selects are compared. Of several that are equally near,
    take the first in the order of `latest_first`: the latest.
    """
    raise NotImplementedError("05.5")


# --- 05.6 A jit in a jit (3 points) -------------------------------------------------------------------------
# Under a trace nothing runs: a call of a jitted function becomes one equation, with the function's program as
# a parameter. Work out once what to record, and record it at each call.


class Jitted:
    def nested_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NestedCall:
        """Return how to record a call with these arguments, and remember it: by `remember_nested`,
        under the `trace_key`.

        A `signature` that any call has traced before is not traced again (`traced_alone`). The
        equation says which leaves are donated:

            jit(f, donate_argnums=1)(x, y)      (False, True)
            jit(f)(x, y)                        (False, False)

        If `jit` was given shardings (`self.is_placed`), pass
        `self.shardings(arguments, traced, avals)` to `NestedCall.place`.
        """
        raise NotImplementedError("05.6")


class NestedCall:
    def __init__(
        self,
        traced: TracedCall,
        donated: tuple[bool, ...],
        inline: Inline,
        keep_unused: bool,
        name: str,
    ) -> None:
        """Prepare what every equation of the call has: `params`, the dict of its parameters, and
        `outer`, the operands before the arguments. In this example the only argument is donated, x
        is a tracer of the enclosing function, and `a` is an array:

            closed over    the parameter `jaxpr`           `outer`    the parameter `donated_invars`
            nothing        the traced one, unchanged       ()         (True,)
            a              unchanged: a is a constant      ()         (True,)
            x              its first input is x            (x,)       (False, True)
            x and a        its first inputs are x and a    (x, a)     (False, False, True)

        A tracer is not a value, so it must not stay among a jaxpr's constants:
        `convert_constvars_jaxpr` turns them all into inputs. The parameters are in the order of
        their names: `donated_invars`, `inline`, `jaxpr`, `keep_unused`, `name`. Keep `out_tree`,
        the structure of the result, too. The class has `__slots__` for these three, and so no other
        attributes.
        """
        raise NotImplementedError("05.6")

    def bind(self, leaves: Sequence[Any]) -> Any:
        """Record the call on these arguments, as one equation, and return what the function
        returns, in its tree.

        `jit_p.bind` returns the results as a list. If the function is to be inlined while tracing
        (`Inline.JAX_EARLY`), `jit_p.bind` itself records the function's equations, in place of the
        call.
        """
        raise NotImplementedError("05.6")


# --- 05.7 The warm path (2 points) --------------------------------------------------------------------------
# Write what a call does when its key is known. A hit takes a few microseconds, so everything that follows
# from the keys is worked out once, at the miss. Write the function that is made at the miss and runs at every
# hit.


def runner(
    executable: Executable, out_tree: PyTreeDef, leaf_keys: Sequence[Any]
) -> Callable[[Leaves], Any]:
    """Return the function that runs `executable` on the leaves of a call whose keys are
    `leaf_keys`, and returns the results in their tree.

    It is made once per signature and called at every hit, so decide here whatever depends on the
    keys only. `buffers_runner` gives the function from leaves to the buffers of the results. Each
    buffer becomes an `Array` with its aval and key (`out_avals`, `out_keys`);
    `compile_put_together(out_tree)` gives a function that makes the tree of them. The tree of a
    single result is `LEAF`.
    """
    raise NotImplementedError("05.7")


def takes_buffers_as_they_are(executable: Executable, leaf_keys: Sequence[Any]) -> bool:
    """Whether `executable.execute` takes the buffers of the leaves, in their order, and nothing
    else: the fastest case.

    This is not so if a leaf is `OnHost` and has no buffer yet; if the program takes only some of
    the leaves (`kept` lists their positions), or takes constants before them (`consts`); if it is
    `committed` to devices, to which leaves may have to be moved; or if it `has_effects`, whose
    tokens are further arguments.
    """
    raise NotImplementedError("05.7")


# --- 05.8 A key that forgets (3 points) ---------------------------------------------------------------------
# Write all stages in a few lines, with a key function that is passed to you, good or bad. Then give it a bad
# one, and look at what comes out. (It is safe: the executable checks the number of bytes, so it reads nothing
# beyond the array.)


def jit_by(key: Callable[[Any], Hashable], fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return `fun`, a function from one array to one array, jitted: calls with equal `key(x)` run
    one program, which is compiled for the first of them. Nothing checks whether it fits the others.

    Whatever the caller passes, `key` gets an Array, `jax.device_put(x)`. With a good key this is
    `jit`. With one that forgets the dtype, the bytes of an int32 array are taken for floats:

        >>> double = jit_by(lambda x: x.shape, lambda x: x + x)
        >>> double(np.float32([1.5, 2.5]))
        Array([3., 5.], dtype=float32)
        >>> double(np.int32([1069547520, 1078530011]))
        Array([3.       , 6.2831855], dtype=float32)

    The bytes of these two numbers are those of the floats 1.5 and pi. There is no error, since an
    executable only looks at the number of bytes: if that differs, XLA refuses.

    The stages: `jax.make_jaxpr(fun)(x)` traces. A `Program` is the name, the jaxpr, the tree of the
    arguments, `tree_structure(((0,), {}))`, and that of the result, `tree_structure(0)`; with
    `keep_unused=True` it takes its argument even if nothing reads it. `compile_program` compiles it
    for a `default_placement()`, and returns an executable. The executable's `run` takes one list of
    buffers, those in its `consts` first and then the argument's, and returns the list of the
    results' buffers; its `wrap` makes Arrays of these. `jax.device_put(x)` is an Array, and its
    buffer is its `_buf`.
    """
    raise NotImplementedError("05.8")
