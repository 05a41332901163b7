"""05 jit and its cache: the solutions, as the reference has them, and why."""

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


# --- 05.1 The key -------------------------------------------------------------------------------------------
# Avals are interned, so that comparing two keys compares a few addresses. The short form is there for speed
# alone: the dispatcher makes it from the arguments as they come, without flattening anything, and finds its
# entry in a microsecond. Both functions must agree with those that look keys up; that is why there is one
# place where each form is made.
#
# Usual mistakes:
#   - Leaving the tree out: `f((x, y))` finds what was compiled for `f([x, y])`.
#   - Leaving weak types out: `x + 1.0` keeps the float16 of x, and `x + np.float32(1)` does not.
#   - The short form for a call with static arguments: it does not say which.
#
# In JAX: jax/_src/pjit.py:_infer_params


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
        return (config.local.state.options, tree, api_util.static_key(arguments.statics), *avals)


class Jitted:
    def key_of_call(self, arguments: Arguments, tree: PyTreeDef, keys: Sequence[Any]) -> tuple[Any, ...]:
        """The key under which the entry of a call is in the table, and under which the dispatcher looks it up:

            (options, key of leaf, key of leaf, ...)                           all leaves, none static
            (options, tree, static values, key of leaf, key of leaf, ...)      everything else

        The first form is that of most calls, and is made without flattening anything. `tree` is then the very
        `flat_tree` of as many leaves: trees are interned. `options` is `config.local.state.key`, the static values are
        `api_util.static_key(arguments.statics)`, and `keys` are those of the leaves, in order.
        """
        options = config.local.state.key
        if not arguments.statics and tree is flat_tree(len(keys)):
            return (options, *keys)
        return (options, tree, api_util.static_key(arguments.statics), *keys)


# --- 05.2 Trace once ----------------------------------------------------------------------------------------
# Two functions of one source may close over different values, and Python cannot compare those cheaply: so
# plain functions are known by identity. (A callable that says itself what it is equal to, such as a frozen
# dataclass with a `__call__`, is taken at its word: two equal ones share a program, in JAX too, also where a
# field that is not compared differs.) The table must not keep functions alive, since each holds its
# executables: a program that makes closures for a week would fill its memory. What is traced is marked while
# it is, because a function that calls itself with the same types would otherwise be traced until Python's
# stack ends.
#
# Usual mistakes:
#   - Looking functions up by name or code: `lambda x: x * scale` with another scale is another program.
#   - Remembering a failure: what raised once may work the next time.
#   - A value in the table that refers to its key: then a weak table keeps it all the same.
#
# In JAX: jax/_src/util.py:weakref_lru_cache


class Traceable:
    def traced(
        self, arguments: Arguments, tree: PyTreeDef, avals: Sequence[Any], names: tuple[str, ...]
    ) -> tuple[TracedCall, bool]:
        """The function traced for the types of a call, and whether it was traced now.

        Calls with one `trace_key` share what was traced, whichever `jit` of the function they come from. So Python runs the
        function, which is what `trace_now` does, once for all of them:

            f(x), then f(y) with y like x          what was traced, and True; the same object, and False
            f(x), again after f raised an error    f runs again: of a failure nothing is kept
            f calls itself, with the same key      RecursionError with the name of f, at once
            f calls itself, with another key       is traced like any other call

        A counter-example: f uses a tracer of a function around it. When that one is traced anew, the key is the same, and
        what was kept has a tracer in it whose trace has ended. It is not current any more, and f is traced again.

        `cache.traces` has what is kept, by key, and no more than its limit: what goes in goes through `cache.remember_trace`.
        """
        key = self.trace_key(arguments, tree, avals)
        known = self.cache.traces.get(key)
        if known is not None and known.is_current():
            return known, False
        with self.cache.tracing(key, self.name):
            traced = self.trace_now(arguments, tree, avals, names)
        self.cache.remember_trace(key, traced)
        return traced, True


def cache_of(fun: Callable[..., Any]) -> FunctionCache:
    """The cache of a function: `cache_of(f) is cache_of(f)`, so that all that is made by `jit(f)` shares it.

    Another function has another one, though its source may be the same: it may close over other values. When nobody
    has the function any more, its cache goes with it: `_caches`, where they all are, refers to functions weakly. Such a
    table says TypeError of a callable that cannot be hashed or weakly referenced; that one gets a new cache each time,
    and can be jitted all the same.

    Threads may ask at the same time: `_caches` is read and written under `_caches_lock`.
    """
    with _caches_lock:
        try:
            cache = _caches.get(fun)
            if cache is None:
                cache = _caches[fun] = FunctionCache()
        except TypeError:
            cache = FunctionCache()
    return cache


# --- 05.3 A bounded memory ----------------------------------------------------------------------------------
# An LRU does well where what was used lately is used again, which is how loops over a few shapes behave. It
# does badly for a loop over one shape more than fit: each call then drops what the next one needs.
# Executables are counted apart from entries, because several entries may run one.
#
# Usual mistakes:
#   - A touch that assigns to the key that is there: a dict keeps its old place.
#   - Dropping the entry and keeping its record: the stories of misses then compare with calls that nobody
#     remembers.
#   - Putting back, in a touch, what was dropped in the meantime.
#
# In JAX: jax/_src/util.py:weakref_lru_cache


class Table:
    def insert(self, key: tuple[Any, ...], entry: Entry, record: CallRecord) -> None:
        """Add an entry, with the record of its call, to a table that keeps those used last.

        `entries` are in the order of their use, the latest last. There are never more than the option `jit_cache_size` says
        (which anybody may lower): one or more. What goes is what was not used for the longest time, and its record goes with it:

            room for 3; inserted a, b, c; touched a; inserted d          entries: c, a, d
            then room for 1; inserted e                                  entries: e

        To touch takes time at each warm call, so it is done only if the table is `crowded`, and that is decided here: one
        with room for `EXACT_LRU_SIZE` or less is so from its first entry on, a larger one when it is more than half full:

            room for 64, 1 entry          crowded
            room for 100, 50 entries      not
            room for 100, 51 entries      crowded

        Afterwards the key is none that `failed`, even if it was; and where there are more `executables` than room, those that
        no entry runs are gone (`drop_unused_executables`). Other threads use the table: all of this is done under `lock`.
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

    def touch(self, key: tuple[Any, ...], entry: Entry) -> None:
        """Make an entry the most recently used. Called at a hit, once the table is crowded; another thread may have dropped the
        entry since it was found, and what was dropped does not come back.
        """
        with self.lock:
            if self.entries.pop(key, None) is not None:
                self.entries[key] = entry


# --- 05.4 A miss --------------------------------------------------------------------------------------------
# These lines are `jit`: all the labs before are called from here. The three caches on the way (traces,
# executables, entries) have keys that tell less and less apart the more expensive the step is, so that the
# expensive one is done least often. The entry comes last: whoever finds it finds it whole, and a step that
# fails leaves nothing behind.
#
# Usual mistakes:
#   - Compiling for each key: a numpy array in the first call and an array in the second cost two
#     compilations.
#   - Giving the types to `Entry`: then nobody copies host values to the device.
#   - Inserting first and compiling then: another thread may run what is not there.
#
# In JAX: jax/_src/pjit.py:_run_python_pjit


class Jitted:
    def make_entry(
        self, start: float, key: tuple[Any, ...], arguments: Arguments, tree: PyTreeDef, keys: Sequence[Any]
    ) -> Entry:
        """The entry for a key that is new. What other keys needed before is not done again:

            f(x), x of numpy                        traced and compiled
            f(device_put(x))                        neither: another key, of the same type
            f(device_put(x, device))                compiled: results have to stay on that device
            f(x), after f.trace(x)                  compiled

        It is in the table when it is returned, and not before it is whole: a step that raises an error leaves no entry behind,
        and the next call tries again.

        Tracing looks at types, which `avals_of(keys)` are; where a leaf is, on the host or on a device, the program's placement
        and the entry have to know. The record to insert is what `note_miss` returns, which is told when the call began, and
        what of it all was done now. With the option `debug_key_reuse`, and only then, what the entry runs looks after the
        random keys: `checked` of `interpreters.key_reuse`, for a "jit-compiled function".

        Args:
          start: when the call began.
          tree, keys: the tree of the dynamic arguments, and the keys of their leaves.
        """
        avals = avals_of(keys)
        names = api_util.argument_names(self.fun, arguments)
        traced, was_traced = self.traced(arguments, tree, avals, names)
        placement = self.placement(keys, arguments, traced, avals, names)
        executable, was_compiled = self.compiled(self.program(traced, tree, self.donated(arguments)), placement)
        record = self.note_miss(start, arguments, tree, keys, names, was_traced, was_compiled)
        entry = Entry(executable, traced.out_tree, keys)
        if config.local.state.options.debug_key_reuse:
            key_reuse = late_rooms.import_room("jitkit.interpreters.key_reuse")
            entry.run = key_reuse.checked(entry.run, traced.jaxpr, "jit-compiled function")
        self.table.insert(key, entry, record)
        return entry

    def compiled(self, program: Program, placement: Placement) -> tuple[Executable, bool]:
        """A program compiled for these places, and whether that was done now.

        The table's `executables` are kept by what makes a difference to XLA, `(jaxpr, donated, placement)`: two keys may need
        one program. A compilation that fails leaves nothing there.
        """
        slot = (program.jaxpr, program.donated, placement)
        executable = self.table.executables.get(slot)
        if executable is not None:
            return executable, False
        executable = self.table.executables[slot] = compile_program(program, placement)
        return executable, True


# --- 05.5 Why did it miss? ----------------------------------------------------------------------------------
# JAX logs the closest key, too (`jax_explain_cache_misses`), because the one before is often from another
# part of the program. One leaf gives one difference of type, the first: whoever changed the shape knows that,
# and what else is different with it would only hide it.
#
# Usual mistakes:
#   - Comparing with the latest call.
#   - Reporting that a value has moved when its type is another, too: it had to be traced in any case.
#   - Changing the mind at a tie: then the oldest one wins.
#
# In JAX: jax/_src/interpreters/partial_eval.py:diff_tracing_cache_keys


def changed_leaves(leaves: Iterable[tuple[str, Any, Any]]) -> Iterator[Change]:
    """The differences between the leaves of two calls, from `(path, key before, key now)` of each.

    A key is an aval, or has one (`aval_of`), and avals and keys are interned. Of a leaf is told what costs most:

        key before             key now                kinds, and sizes above 1
        f32[2]                 f32[3]                 shape
        f32[2]                 i32[3]                 shape, of size 2: its dtype goes with it
        OnHost of f32[2]       f32[2]                 host
        OnHost of f32[2]       i32[2]                 dtype, and not a word of the host
        f32[2]                 Placed on c, f32[2]    device
        OnHost of f32[2]       Placed on c, f32[2]    device
        Placed on c, f32[2]    Placed on d, i32[2]    dtype; and device: two changes, in this order
        Placed on c, f32[2]    Placed on c, i32[2]    dtype: it is where it was

    `kinds_of_types` says what differs between two types, the first of it first; `sharding_of`, where a key is placed: two places
    that are equal are one.
    """
    for path, before, now in leaves:
        if before is now:
            continue
        old, new = aval_of(before), aval_of(now)
        if old is not new:
            kinds = kinds_of_types(old, new)
            yield Change(kinds[0], path, before, now, len(kinds))
        if isinstance(before, Placed) or isinstance(now, Placed):
            if sharding_of(before) != sharding_of(now):
                yield Change("device", path, before, now)
        elif old is new:
            yield Change("host", path, before, now)


def distance(old: CallRecord, new: CallRecord, weight: int) -> tuple[int, ...]:
    """How far two calls are from each other: the sizes of their changes, summed for each weight from the greatest, `TRACES`,
    down to `weight`, in a tuple. So one reason to trace is more than any number of reasons to compile:

        x of another shape and dtype, y of another shape; down to `TRACES`            (3,)
        y on another device, x not on the host any more; down to `DISPATCHES`         (0, 1, 1)
        the same                                                                      (0, 0, 0)

    `changes(old, new, weight)` are those that count.
    """
    counts = [0] * (TRACES + 1 - weight)
    for change in changes(old, new, weight):
        counts[TRACES - change.weight] += change.size
    return tuple(counts)


def closest(
    records: Sequence[CallRecord], record: CallRecord, weight: int
) -> tuple[CallRecord | None, tuple[int, ...]]:
    """The record that is nearest to `record`, by the `distance` down to this weight, and its distance; `(None, ())` when there
    are no records.

    Of thousands, only those are compared that `latest_first` finds worth it. Of several that are equally near, it is the one
    that comes first there: the latest.
    """
    best: CallRecord | None = None
    fewest: tuple[int, ...] = ()
    for candidate in latest_first(records, record):
        counts = distance(candidate, record, weight)
        if best is None or counts < fewest:
            best, fewest = candidate, counts
            if not any(counts):
                break
    return best, fewest


# --- 05.6 A jit in a jit ------------------------------------------------------------------------------------
# That all calls of a signature carry one jaxpr object is what lets lowering write one function for them (lab
# 04). The parameter `inline` is a decision of whoever wrote the function: XLA inlines what it likes in any
# case, but only equations that are there can be seen by other transformations.
#
# Usual mistakes:
#   - Tracing the inner function at each call: a hundred layers are a hundred traces.
#   - Leaving the outer tracer among the constants: the inner program then refers to variables of another one.
#   - As many `donated_invars` as arguments, when there are closed-over operands before them.
#
# In JAX: jax/_src/pjit.py:jit_p


class Jitted:
    def nested_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NestedCall:
        """How to record a call with these arguments, which is remembered: by `remember_nested`, under the `trace_key`.

        What was traced for their `signature` before, by any call, is not traced again (`traced_alone`). The equation says of each
        leaf whether it is donated:

            jit(f, donate_argnums=1)(x, y)      (False, True)
            jit(f)(x, y)                        (False, False)

        Where `jit` was told places (`self.is_placed`), the call is told (`NestedCall.place`) what
        `self.shardings(arguments, traced, avals)` says.
        """
        arguments, tree, avals = self.signature(args, kwargs)
        traced = self.traced_alone(arguments, tree, avals)
        donated = api_util.donated_leaves(self.options.spec, arguments) or (False,) * len(avals)
        call = NestedCall(traced, donated, self.options.inline, self.options.keep_unused, self.name)
        if self.is_placed:
            call.place(*self.shardings(arguments, traced, avals))
        self.table.remember_nested(self.trace_key(arguments, tree, avals), call)
        return call


class NestedCall:
    def __init__(
        self, traced: TracedCall, donated: tuple[bool, ...], inline: Inline, keep_unused: bool, name: str
    ) -> None:
        """What the equations of the call will have: `params`, the dict of their parameters, and `outer`, the operands before the
        arguments. An example, where the only argument is donated, x is a tracer of the function around, and a an array:

            closed over    the parameter `jaxpr`           `outer`    the parameter `donated_invars`
            nothing        as it was traced                ()         (True,)
            a              as it was traced: it has a      ()         (True,)
            x              its first input is x            (x,)       (False, True)
            x and a        its first inputs are x and a    (x, a)     (False, False, True)

        A tracer is no value, so it must not stay among a jaxpr's constants: `convert_constvars_jaxpr` makes inputs of them all.
        The parameters are in the order of their names: `donated_invars`, `inline`, `jaxpr`, `keep_unused`, `name`.
        """
        jaxpr = traced.jaxpr
        self.out_tree = traced.out_tree  # the structure of the result
        self.outer: Sequence[Any] = ()  # the operands before the arguments
        if any(isinstance(const, Tracer) for const in jaxpr.consts):
            self.outer, jaxpr = jaxpr.consts, convert_constvars_jaxpr(jaxpr)
        # those of the equation
        self.params: dict[str, Any] = {
            "donated_invars": (False,) * len(self.outer) + donated,
            "inline": inline,
            "jaxpr": jaxpr,
            "keep_unused": keep_unused,
            "name": name,
        }

    def bind(self, leaves: Sequence[Any]) -> Any:
        """Record the call on these arguments, as one equation, and return what the function returns, in its tree.

        `jit_p` gives the results as a list. Of a function that is to be inlined early it records what the function does instead.
        """
        return tree_unflatten(self.out_tree, jit_p.bind(*self.outer, *leaves, **self.params))


# --- 05.7 The warm path -------------------------------------------------------------------------------------
# That is the whole of a warm call after its look-up: three steps, and no question about types. It does not
# wait for numbers either: `execute` hands the work over and returns buffers that will be filled. A call of 5
# us can begin a computation of a second, and whoever reads the result waits (lab 10).
#
# Usual mistakes:
#   - Flattening, looking up types or making functions at each call.
#   - Returning a tuple of one for a single result.
#   - Taking as many arguments as leaves for a sign that they are the same: with a constant before them and
#     one left out, the numbers agree.
#
# In JAX: jax/_src/interpreters/pxla.py:ExecuteReplicated


def runner(executable: Executable, out_tree: PyTreeDef, leaf_keys: Sequence[Any]) -> Callable[[Leaves], Any]:
    """The function that runs `executable` on the leaves of a call whose keys are `leaf_keys`, and returns the results in
    their tree.

    It is made once for a signature and called at every hit, so that what the keys decide is decided here: `buffers_runner` gives
    the function from leaves to the buffers of the results. Of each of these an `Array` is made, with its aval and key
    (`out_avals`, `out_keys`); `compile_put_together(out_tree)` gives a function that makes the tree of them. The tree of a
    single result is `LEAF`.
    """
    avals, keys = executable.out_avals, executable.out_keys
    run = buffers_runner(executable, leaf_keys)
    if out_tree is not LEAF:
        put_together = compile_put_together(out_tree)
        return lambda leaves: put_together(arrays(run(leaves), avals, keys))
    (aval,), (key,) = avals, keys
    if len(leaf_keys) != 1 or not takes_buffers_as_they_are(executable, leaf_keys):
        return lambda leaves: Array(run(leaves)[0], aval, key)
    execute, handlers = executable.execute, executable.handlers

    def run_one(leaves: Leaves) -> Any:  # shorter by a function and a list
        x = leaves[0]
        buffers = execute([x._buf if type(x) is Array else x]).consume_with_handlers(handlers)
        return Array(buffers[0], aval, key)

    return run_one


def takes_buffers_as_they_are(executable: Executable, leaf_keys: Sequence[Any]) -> bool:
    """Whether the buffers of the leaves, in their order, are what `executable.execute` takes: the shortest way there is.

    They are not where a leaf is `OnHost` and has no buffer yet, nor where the program takes some of the leaves only (`kept` are
    the positions of those that it takes), or constants before them (`consts`); nor where it is `committed` to devices, to which
    leaves may have to be moved, or `has_effects`, whose tokens go in beside the leaves.
    """
    return (
        not executable.committed
        and not executable.has_effects
        and not executable.consts
        and executable.kept == list(range(len(leaf_keys)))
        and not any(isinstance(key, OnHost) for key in leaf_keys)
    )


# --- 05.8 A key that forgets --------------------------------------------------------------------------------
# A program that was found is run, and its result has the type that was compiled: the array that you passed
# has nothing to say any more. In a real `jit` the key is all that stands between a call and such a result.
# That is why it has the dtype in it, and the weak type, and the tree, and every option that a rule reads.
#
# Usual mistakes:
#   - Tracing at each call, to find out whether the program fits: then nothing is gained by keeping it.
#   - Using `key(x)` of the numpy array that came: a list or a number has no dtype; make it an Array first.
#
# In JAX: jax/_src/pjit.py:_cpp_pjit


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
    programs: dict[Hashable, Executable] = {}

    def call(x: Any) -> Any:
        x = jax.device_put(x)
        found = key(x)
        if found not in programs:
            jaxpr = jax.make_jaxpr(fun)(x)
            program = Program("small", jaxpr, tree_structure(((0,), {})), tree_structure(0), keep_unused=True)
            programs[found] = compile_program(program, default_placement())
        executable = programs[found]
        return executable.wrap(executable.run([*executable.consts, x._buf]))[0]

    return call
