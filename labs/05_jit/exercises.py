"""05 jit and its cache: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 05.1` helps, one step further each
time. You may add helpers and imports: functions, classes, constants. Other statements at the top are not run. The
parameters stay as they are: other code calls these functions. A class has only those methods that are yours to write;
the others are the reference's.
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
from jitkit.misses.record import CallRecord, Change, TRACES, aval_of, changes, kinds_of_types, latest_first, sharding_of
from jitkit.pjit.calling import LEAF, Leaves, buffers_runner
from jitkit.pjit.compilation_cache import EXACT_LRU_SIZE, Entry, FunctionCache, TracedCall, _caches, _caches_lock
from jitkit.pjit.jit_call import Inline, jit_p
from jitkit.pjit.jitted import flat_tree
from jitkit.pjit.tracing import avals_of
from jitkit.runtime import OnHost, Placed
from jitkit.runtime.array import Array
from jitkit.signature import api_util
from jitkit.signature.api_util import Arguments
from jitkit.tree_util import PyTreeDef, tree_structure, tree_unflatten
from jitkit.tree_util.compiled import compile_put_together


# --- 05.1 The key (2 points) --------------------------------------------------------------------------------
# When may a call use what was made for another one? When both have the same key. Make it: of everything that
# leads to another program, and of nothing else.


class Traceable:
    def trace_key(self, arguments: Arguments, tree: PyTreeDef, avals: Sequence[Any]) -> tuple[Any, ...]:
        """What decides how the function is traced, as a tuple that can be hashed: two calls with one key share a jaxpr.

        Whatever may lead Python another way, or to other types, is in it, and nothing else:

            f(1.0), f(2.0)                             one key: numbers are not seen while tracing
            f(x), f(x) with x on another device        one key: the same program may run there
            f(1.0), f(1)                               two
            f((x, y)), f([x, y])                       two
            power(x, 2), power(x, 3), n being static   two
            f(x), and f(x) under another `default_matmul_precision`    two: options are read while tracing

        The options of this thread are `config.local.state.options`; the static arguments, as a part of a key, are
        `api_util.static_key(arguments.statics)`.
        """
        raise NotImplementedError("05.1")


class Jitted:
    def key_of_call(self, arguments: Arguments, tree: PyTreeDef, keys: Sequence[Any]) -> tuple[Any, ...]:
        """The key under which the entry of a call is in the table, and under which the dispatcher looks it up:

            (options, key of leaf, key of leaf, ...)                           no static argument, every other one a leaf
            (options, tree, static values, key of leaf, key of leaf, ...)      everything else

        The first form is that of most calls, and is made without flattening anything. `tree` is then the very
        `flat_tree` of as many leaves: trees are interned. `options` is `config.local.state.key`, the static values are
        `api_util.static_key(arguments.statics)`, and `keys` are those of the leaves, in order.
        """
        raise NotImplementedError("05.1")


# --- 05.2 Trace once (3 points) -----------------------------------------------------------------------------
# Trace a function when there is something new about the call, and only then. And keep what was traced as long
# as the function lives, not longer.


class Traceable:
    def traced(
        self, arguments: Arguments, tree: PyTreeDef, avals: Sequence[Any], names: tuple[str, ...]
    ) -> tuple[TracedCall, bool]:
        """The function traced for these types, and whether it was traced now: if not, it was in the cache.

        What was traced is kept in `cache.traces`, by its `trace_key`. It is good for as long as it `is_current`: a jaxpr
        that closed over values of an outer trace is worth nothing when that has ended. Tracing (`trace_now`) is
        done within `cache.tracing(key, name)`, which finds out when a function calls itself without end, and what it
        gives is handed to `cache.remember_trace`. When it raises an error, nothing is kept.
        """
        raise NotImplementedError("05.2")


def cache_of(fun: Callable[..., Any]) -> FunctionCache:
    """The cache of a function: the same one for every `jit` of it, for as long as the function lives.

    The table of all caches, `_caches`, knows functions weakly, and is used under `_caches_lock`. A callable that cannot
    be hashed or weakly referenced (then it says TypeError) gets a cache of its own each time.
    """
    raise NotImplementedError("05.2")


# --- 05.3 A bounded memory (3 points) -----------------------------------------------------------------------
# A function that sees a new shape in every call must not fill the memory. Keep the entries that were used
# last.


class Table:
    def insert(self, key: tuple[Any, ...], entry: Entry, record: CallRecord) -> None:
        """Add an entry with the record of its call, and drop the least recently used ones, with theirs, beyond the limit.

        `entries` are in the order of their use, the latest last. The limit is the option `jit_cache_size`, or 1 if that is
        less. From here on the table is `crowded`, so that hits are noted (`touch`): a small one, of a limit up to
        `EXACT_LRU_SIZE`, at once; a larger one when it is more than half full. A key that is inserted has not `failed`.
        When there are more `executables` than the limit, `drop_unused_executables` looks through them.
        """
        raise NotImplementedError("05.3")

    def touch(self, key: tuple[Any, ...], entry: Entry) -> None:
        """Make an entry the most recently used, if the table still has its key. Called at hits once the table is crowded."""
        raise NotImplementedError("05.3")


# --- 05.4 A miss (3 points) ---------------------------------------------------------------------------------
# A call with a new key. Go through all the stages, as far as they are needed, and leave an entry behind, so
# that the next call finds it.


class Jitted:
    def make_entry(
        self, start: float, key: tuple[Any, ...], arguments: Arguments, tree: PyTreeDef, keys: Sequence[Any]
    ) -> Entry:
        """Trace, lower and compile for the key of a call, as far as that was not done for another key; insert the entry into
        the table, and return it.

        `tree` is that of the dynamic arguments, `keys` those of their leaves. `start` is when the call began: it goes
        to `note_miss`, which leaves the story of the miss and returns the record to insert. Nothing is inserted when
        a step raises an error. With the option `debug_key_reuse`, what the entry runs looks after the random keys:
        `checked` of `pjit.key_reuse`, for a "jit-compiled function".
        """
        raise NotImplementedError("05.4")

    def compiled(self, program: Program, placement: Placement) -> tuple[Executable, bool]:
        """A program compiled for these places, and whether that was done now.

        Different keys may need the same program: an array that is in the host's memory and one on the device have
        different keys and one type. So the table keeps its `executables` by `(jaxpr, donated, placement)`, and what is
        there is not compiled again (`compile_program`).
        """
        raise NotImplementedError("05.4")


# --- 05.5 Why did it miss? (3 points) -----------------------------------------------------------------------
# A slow call that should have been fast: which argument is to blame? Compare it with the nearest call that is
# known.


def changed_leaves(leaves: Iterable[tuple[str, Any, Any]]) -> Iterator[Change]:
    """The differences between the leaves of two calls, from `(path, key before, key now)` of each.

    A key is an aval, or has one (`aval_of`); avals and keys are interned. A leaf may differ in two ways: its type has
    changed, and that is one `Change`, whose kind is the first of `kinds_of_types`, and whose size is how many they
    are; and, when one of the keys is `Placed`, its place, as `sharding_of` tells it: kind "device". When none
    is, and the type is the same, it may have been `OnHost` in one of the calls only: kind "host".
    """
    raise NotImplementedError("05.5")


def distance(old: CallRecord, new: CallRecord, weight: int) -> tuple[int, ...]:
    """In how many places two calls differ: with the greatest weight, `TRACES`, with the next, down to `weight`. So
    distances compare as tuples do: one reason to trace is worse than any number of reasons to compile.

    A `Change` counts with its `size`; `changes(old, new, weight)` are those that count.
    """
    raise NotImplementedError("05.5")


def closest(
    records: Sequence[CallRecord], record: CallRecord, weight: int
) -> tuple[CallRecord | None, tuple[int, ...]]:
    """The record that is nearest to `record`, by the `distance` down to this weight, and its distance. Of several, the
    latest: they are compared in the order of `latest_first`, until one is not different at all. `(None, ())` when there
    are no records.
    """
    raise NotImplementedError("05.5")


# --- 05.6 A jit in a jit (3 points) -------------------------------------------------------------------------
# Under a trace nothing runs: a call of a jitted function becomes one equation, with the function's program as
# a parameter. Work out what to record, once, and record it as often as it is called.


class Jitted:
    def nested_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NestedCall:
        """How to record a call with these arguments; remembered in the table (`remember_nested`, by the `trace_key`).

        The function is traced for their `signature`, as far as that was not done before (`traced_alone`). Which leaves are
        donated is kept in the equation: `donated_leaves`, or False for each when there are none.

        Raises:
          NotImplementedError: `jit` was told where arguments or results are to be placed. It names the function.
        """
        raise NotImplementedError("05.6")


class NestedCall:
    def __init__(
        self, traced: TracedCall, donated: tuple[bool, ...], inline: Inline, keep_unused: bool, name: str
    ) -> None:
        """`params` are what the equations of the call will have, in the order of their names; its operands are `outer`, the
        tracers that the function closed over, and then the arguments. When there are such tracers among the constants
        of the jaxpr, all of its constants become arguments (`convert_constvars_jaxpr`), the first ones, which are not donated.
        """
        raise NotImplementedError("05.6")

    def bind(self, leaves: Sequence[Any]) -> Any:
        """Record the call on these arguments, or what the function does; return the tree of its results."""
        raise NotImplementedError("05.6")


# --- 05.7 The warm path (2 points) --------------------------------------------------------------------------
# What a call does whose key is known. It takes a few microseconds, so whatever can be known from the keys is
# worked out before, once: write what is made at the miss and runs at every hit.


def runner(executable: Executable, out_tree: PyTreeDef, leaf_keys: Sequence[Any]) -> Callable[[Leaves], Any]:
    """The function that runs `executable` on the leaves of a call whose keys are `leaf_keys`, and returns the results in
    their tree.

    It is made once for a signature and called at every hit, so that what the keys decide is decided here: `buffers_runner` gives
    the function from leaves to the buffers of the results. Of each of these an `Array` is made, with its aval and key
    (`out_avals`, `out_keys`); `compile_put_together(out_tree)` gives a function that makes the tree of them. The tree of a
    single result is `LEAF`.
    """
    raise NotImplementedError("05.7")


def takes_buffers_as_they_are(executable: Executable, leaf_keys: Sequence[Any]) -> bool:
    """Whether the buffers of the leaves, in their order, are what `executable.execute` takes: the shortest way there is.

    They are not where a leaf is `OnHost` and has no buffer yet, nor where the program takes some of the leaves only (`kept` are
    the positions of those that it takes), or constants before them (`consts`); nor where it is `committed` to devices, to which
    leaves may have to be moved, or `has_effects`, whose tokens go in beside the leaves.
    """
    raise NotImplementedError("05.7")


# --- 05.8 A key that forgets (3 points) ---------------------------------------------------------------------
# All stages in a few lines, with a key that is handed to you, good or bad. Then give it a bad one, and look
# at what comes out. (It is a sandbox: an executable looks at the number of bytes, so nothing is read that is
# not the array's.)


def jit_by(key: Callable[[Any], Hashable], fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`fun`, a function from one array to one array, jitted: calls with one `key(x)` run one program, and that is compiled for the
    first of them. Nobody asks whether the others fit.

    With a good key this is `jit`. With one that forgets the dtype, the bytes of an int32 array are taken for floats:

        >>> double = jit_by(lambda x: x.shape, lambda x: x + x)
        >>> double(np.float32([1.5, 2.5]))
        Array([3., 5.], dtype=float32)
        >>> double(np.int32([1069547520, 1078530011]))
        Array([3.       , 6.2831855], dtype=float32)

    The bytes of these two numbers are those of the floats 1.5 and pi. There is no error, since an executable looks at
    the number of bytes and at nothing else: where that is another, XLA refuses.

    The stages: `jax.make_jaxpr(fun)(x)` traces. A `Program` is the name, the jaxpr, the tree of the arguments,
    `tree_structure(((0,), {}))`, and that of the result, `tree_structure(0)`; with `keep_unused=True` it takes its argument even if
    nothing reads it. `compile_program` compiles it for a `default_placement()`. The executable that it gives has `run`, from
    buffers to buffers, a list of each, those of its `consts` before the argument's; and `wrap`, from buffers to Arrays.
    `jax.device_put(x)` is an Array, and its buffer is its `_buf`.
    """
    raise NotImplementedError("05.8")
