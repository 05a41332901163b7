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
# When may a call use what was made for another one? When both have the same key. Make it: of everything that
# leads to another program, and of nothing else.


class Traceable:
    def trace_key(
        self, arguments: Arguments, tree: PyTreeDef, avals: Sequence[Any]
    ) -> tuple[Any, ...]:
        """What decides how the function is traced, as a tuple that can be hashed: two calls with
        one key share a jaxpr.

        Whatever may lead Python another way, or to other types, is in it, and nothing else:

            f(1.0), f(2.0)                             one key: numbers are not seen while tracing
            f(x), f(x) with x on another device        one key: the same program may run there
            f(1.0), f(1)                               two
            f((x, y)), f([x, y])                       two
            power(x, 2), power(x, 3), n being static   two
            f(x), and f(x) under another `default_matmul_precision`    two: options are read while tracing

        The options of this thread are `config.local.state.options`; the static arguments, as a part
        of a key, are `api_util.static_key(arguments.statics)`.
        """
        raise NotImplementedError("05.1")


class Jitted:
    def key_of_call(
        self, arguments: Arguments, tree: PyTreeDef, keys: Sequence[Any]
    ) -> tuple[Any, ...]:
        """The key under which the entry of a call is in the table, and under which the dispatcher
        looks it up:

            (options, key of leaf, key of leaf, ...)                           all leaves, none static
            (options, tree, static values, key of leaf, key of leaf, ...)      everything else

        The first form is that of most calls, and is made without flattening anything. `tree` is
        then the very `flat_tree` of as many leaves: trees are interned. `options` is
        `config.local.state.key`, the static values are `api_util.static_key(arguments.statics)`,
        and `keys` are those of the leaves, in order.
        """
        raise NotImplementedError("05.1")


# --- 05.2 Trace once (3 points) -----------------------------------------------------------------------------
# Trace a function when there is something new about the call, and only then. And keep what was traced as long
# as the function lives, not longer.


class Traceable:
    def traced(
        self, arguments: Arguments, tree: PyTreeDef, avals: Sequence[Any], names: tuple[str, ...]
    ) -> tuple[TracedCall, bool]:
        """The function traced for the types of a call, and whether it was traced now.

        Calls with one `trace_key` share what was traced, whichever `jit` of the function they come
        from. So Python runs the function, which is what `trace_now` does, once for all of them:

            f(x), then f(y) with y like x          what was traced, and True; the same object, and False
            f(x), again after f raised an error    f runs again: of a failure nothing is kept
            f calls itself, with the same key      RecursionError with the name of f, at once
            f calls itself, with another key       is traced like any other call

        A counter-example: f uses a tracer of a function around it. When that one is traced anew,
        the key is the same, and what was kept has a tracer in it whose trace has ended. It is not
        current any more, and f is traced again.

        `cache.traces` has what is kept, by key, and no more than its limit: what goes in goes
        through `cache.remember_trace`.
        """
        raise NotImplementedError("05.2")


def cache_of(fun: Callable[..., Any]) -> FunctionCache:
    """The cache of a function: `cache_of(f) is cache_of(f)`, so that all that is made by `jit(f)`
    shares it.

    Another function has another one, though its source may be the same: it may close over other
    values. When nobody has the function any more, its cache goes with it: `_caches`, where they all
    are, refers to functions weakly. Such a table says TypeError of a callable that cannot be hashed
    or weakly referenced; that one gets a new cache each time, and can be jitted all the same.

    Threads may ask at the same time: `_caches` is read and written under `_caches_lock`.
    """
    raise NotImplementedError("05.2")


# --- 05.3 A bounded memory (3 points) -----------------------------------------------------------------------
# A function that sees a new shape in every call must not fill the memory. Keep the entries that were used
# last.


class Table:
    def insert(self, key: tuple[Any, ...], entry: Entry, record: CallRecord) -> None:
        """Add an entry, with the record of its call, to a table that keeps those used last.

        `entries` are in the order of their use, the latest last. There are never more than the
        option `jit_cache_size` says (which anybody may lower): one or more. What goes is what was
        not used for the longest time, and its record goes with it:

            room for 3; inserted a, b, c; touched a; inserted d          entries: c, a, d
            then room for 1; inserted e                                  entries: e

        To touch takes time at each warm call, so it is done only if the table is `crowded`, and
        that is decided here: one with room for `EXACT_LRU_SIZE` or less is so from its first entry
        on, a larger one when it is more than half full:

            room for 64, 1 entry          crowded
            room for 100, 50 entries      not
            room for 100, 51 entries      crowded

        Afterwards the key is none that `failed`, even if it was; and where there are more
        `executables` than room, those that no entry runs are gone (`drop_unused_executables`).
        Other threads use the table: all of this is done under `lock`.
        """
        raise NotImplementedError("05.3")

    def touch(self, key: tuple[Any, ...], entry: Entry) -> None:
        """Make an entry the most recently used. Called at a hit, once the table is crowded; another
        thread may have dropped the entry since it was found, and what was dropped does not come
        back.
        """
        raise NotImplementedError("05.3")


# --- 05.4 A miss (3 points) ---------------------------------------------------------------------------------
# A call with a new key. Go through all the stages, as far as they are needed, and leave an entry behind, so
# that the next call finds it.


class Jitted:
    def make_entry(
        self,
        start: float,
        key: tuple[Any, ...],
        arguments: Arguments,
        tree: PyTreeDef,
        keys: Sequence[Any],
    ) -> Entry:
        """The entry for a key that is new. What other keys needed before is not done again:

            f(x), x of numpy                        traced and compiled
            f(device_put(x))                        neither: another key, of the same type
            f(device_put(x, device))                compiled: results have to stay on that device
            f(x), after f.trace(x)                  compiled

        It is in the table when it is returned, and not before it is whole: a step that raises an
        error leaves no entry behind, and the next call tries again.

        Tracing looks at types, which `avals_of(keys)` are; where a leaf is, on the host or on a
        device, the program's placement and the entry have to know. The record to insert is what
        `note_miss` returns, which is told when the call began, and what of it all was done now.
        With the option `debug_key_reuse`, and only then, what the entry runs looks after the random
        keys: `checked` of `interpreters.key_reuse`, for a "jit-compiled function".

        Args:
          start: when the call began.
          tree, keys: the tree of the dynamic arguments, and the keys of their leaves.
        """
        raise NotImplementedError("05.4")

    def compiled(self, program: Program, placement: Placement) -> tuple[Executable, bool]:
        """A program compiled for these places, and whether that was done now.

        The table's `executables` are kept by what makes a difference to XLA,
        `(jaxpr, donated, placement)`: two keys may need one program. A compilation that fails
        leaves nothing there.
        """
        raise NotImplementedError("05.4")


# --- 05.5 Why did it miss? (3 points) -----------------------------------------------------------------------
# A slow call that should have been fast: which argument is to blame? Compare it with the nearest call that is
# known.


def changed_leaves(leaves: Iterable[tuple[str, Any, Any]]) -> Iterator[Change]:
    """The differences between the leaves of two calls, from `(path, key before, key now)` of each.

    A key is an aval, or has one (`aval_of`), and avals and keys are interned. Of a leaf is told
    what costs most:

        key before             key now                kinds, and sizes above 1
        f32[2]                 f32[3]                 shape
        f32[2]                 i32[3]                 shape, of size 2: its dtype goes with it
        OnHost of f32[2]       f32[2]                 host
        OnHost of f32[2]       i32[2]                 dtype, and not a word of the host
        f32[2]                 Placed on c, f32[2]    device
        OnHost of f32[2]       Placed on c, f32[2]    device
        Placed on c, f32[2]    Placed on d, i32[2]    dtype; and device: two changes, in this order
        Placed on c, f32[2]    Placed on c, i32[2]    dtype: it is where it was

    `kinds_of_types` says what differs between two types, the first of it first; `sharding_of`,
    where a key is placed: two places that are equal are one.
    """
    raise NotImplementedError("05.5")


def distance(old: CallRecord, new: CallRecord, weight: int) -> tuple[int, ...]:
    """How far two calls are from each other: the sizes of their changes, summed for each weight
    from the greatest, `TRACES`, down to `weight`, in a tuple. So one reason to trace is more than
    any number of reasons to compile:

        x of another shape and dtype, y of another shape; down to `TRACES`            (3,)
        y on another device, x not on the host any more; down to `DISPATCHES`         (0, 1, 1)
        the same                                                                      (0, 0, 0)

    `changes(old, new, weight)` are those that count.
    """
    raise NotImplementedError("05.5")


def closest(
    records: Sequence[CallRecord], record: CallRecord, weight: int
) -> tuple[CallRecord | None, tuple[int, ...]]:
    """The record that is nearest to `record`, by the `distance` down to this weight, and its
    distance; `(None, ())` when there are no records.

    Of thousands, only those are compared that `latest_first` finds worth it. Of several that are
    equally near, it is the one that comes first there: the latest.
    """
    raise NotImplementedError("05.5")


# --- 05.6 A jit in a jit (3 points) -------------------------------------------------------------------------
# Under a trace nothing runs: a call of a jitted function becomes one equation, with the function's program as
# a parameter. Work out what to record, once, and record it as often as it is called.


class Jitted:
    def nested_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NestedCall:
        """How to record a call with these arguments, which is remembered: by `remember_nested`,
        under the `trace_key`.

        What was traced for their `signature` before, by any call, is not traced again
        (`traced_alone`). The equation says of each leaf whether it is donated:

            jit(f, donate_argnums=1)(x, y)      (False, True)
            jit(f)(x, y)                        (False, False)

        Where `jit` was told places (`self.is_placed`), the call is told (`NestedCall.place`) what
        `self.shardings(arguments, traced, avals)` says.
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
        """What the equations of the call will have: `params`, the dict of their parameters, and
        `outer`, the operands before the arguments. An example, where the only argument is donated,
        x is a tracer of the function around, and a an array:

            closed over    the parameter `jaxpr`           `outer`    the parameter `donated_invars`
            nothing        as it was traced                ()         (True,)
            a              as it was traced: it has a      ()         (True,)
            x              its first input is x            (x,)       (False, True)
            x and a        its first inputs are x and a    (x, a)     (False, False, True)

        A tracer is no value, so it must not stay among a jaxpr's constants:
        `convert_constvars_jaxpr` makes inputs of them all. The parameters are in the order of their
        names: `donated_invars`, `inline`, `jaxpr`, `keep_unused`, `name`.
        """
        raise NotImplementedError("05.6")

    def bind(self, leaves: Sequence[Any]) -> Any:
        """Record the call on these arguments, as one equation, and return what the function
        returns, in its tree.

        `jit_p` gives the results as a list. Of a function that is to be inlined early it records
        what the function does instead.
        """
        raise NotImplementedError("05.6")


# --- 05.7 The warm path (2 points) --------------------------------------------------------------------------
# What a call does whose key is known. It takes a few microseconds, so whatever can be known from the keys is
# worked out before, once: write what is made at the miss and runs at every hit.


def runner(
    executable: Executable, out_tree: PyTreeDef, leaf_keys: Sequence[Any]
) -> Callable[[Leaves], Any]:
    """The function that runs `executable` on the leaves of a call whose keys are `leaf_keys`, and
    returns the results in their tree.

    It is made once for a signature and called at every hit, so that what the keys decide is decided
    here: `buffers_runner` gives the function from leaves to the buffers of the results. Of each of
    these an `Array` is made, with its aval and key (`out_avals`, `out_keys`);
    `compile_put_together(out_tree)` gives a function that makes the tree of them. The tree of a
    single result is `LEAF`.
    """
    raise NotImplementedError("05.7")


def takes_buffers_as_they_are(executable: Executable, leaf_keys: Sequence[Any]) -> bool:
    """Whether the buffers of the leaves, in their order, are what `executable.execute` takes: the
    shortest way there is.

    They are not where a leaf is `OnHost` and has no buffer yet, nor where the program takes some of
    the leaves only (`kept` are the positions of those that it takes), or constants before them
    (`consts`); nor where it is `committed` to devices, to which leaves may have to be moved, or
    `has_effects`, whose tokens go in beside the leaves.
    """
    raise NotImplementedError("05.7")


# --- 05.8 A key that forgets (3 points) ---------------------------------------------------------------------
# All stages in a few lines, with a key that is handed to you, good or bad. Then give it a bad one, and look
# at what comes out. (It is a sandbox: an executable looks at the number of bytes, so nothing is read that is
# not the array's.)


def jit_by(key: Callable[[Any], Hashable], fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`fun`, a function from one array to one array, jitted: calls with one `key(x)` run one
    program, and that is compiled for the first of them. Nobody asks whether the others fit.

    With a good key this is `jit`. With one that forgets the dtype, the bytes of an int32 array are
    taken for floats:

        >>> double = jit_by(lambda x: x.shape, lambda x: x + x)
        >>> double(np.float32([1.5, 2.5]))
        Array([3., 5.], dtype=float32)
        >>> double(np.int32([1069547520, 1078530011]))
        Array([3.       , 6.2831855], dtype=float32)

    The bytes of these two numbers are those of the floats 1.5 and pi. There is no error, since an
    executable looks at the number of bytes and at nothing else: where that is another, XLA refuses.

    The stages: `jax.make_jaxpr(fun)(x)` traces. A `Program` is the name, the jaxpr, the tree of the
    arguments, `tree_structure(((0,), {}))`, and that of the result, `tree_structure(0)`; with
    `keep_unused=True` it takes its argument even if nothing reads it. `compile_program` compiles it
    for a `default_placement()`. The executable that it gives has `run`, from buffers to buffers, a
    list of each, those of its `consts` before the argument's; and `wrap`, from buffers to Arrays.
    `jax.device_put(x)` is an Array, and its buffer is its `_buf`.
    """
    raise NotImplementedError("05.8")
