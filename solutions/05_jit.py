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
# Avals are interned, so that comparing two keys compares a few addresses. The short form is for speed: the
# dispatcher makes it from the arguments as they come, without flattening anything, and finds its entry in a
# microsecond. The dispatcher's code that looks up a call (`jitkit/pjit/lookup.py`) and `key_of_call`, under
# whose key the program is stored, must make the same key; a check compares them.
#
# Usual mistakes:
#   - Leaving the tree out: `f((x, y))` finds what was compiled for `f([x, y])`.
#   - Leaving weak types out: `x + 1.0` keeps the float16 of x, and `x + np.float32(1)` does not.
#   - Using the short form for a call with static arguments: it does not say which argument is static.
#
# In JAX: jax/_src/pjit.py:_infer_params


class Traceable:
    def trace_key(self, arguments: Arguments, tree: PyTreeDef, avals: Sequence[Any]) -> tuple[Any, ...]:
        """Return what decides how the function is traced, as a hashable tuple: two calls with one key share a jaxpr.

        It contains everything that may change which equations are recorded, or their types, and nothing else:

            f(1.0), f(2.0)                             one key: numbers are not seen while tracing
            f(x), f(x) with x on another device        one key: the same program may run there
            f(1.0), f(1)                               two keys
            f((x, y)), f([x, y])                       two keys
            power(x, 2), power(x, 3), n being static   two keys
            f(x), and f(x) under another `default_matmul_precision`    two keys: options are read while tracing

        The options of this thread are `config.local.state.options`; the static arguments, as a part of a key, are
        `api_util.static_key(arguments.statics)`.
        """
        return (config.local.state.options, tree, api_util.static_key(arguments.statics), *avals)


class Jitted:
    def key_of_call(self, arguments: Arguments, tree: PyTreeDef, keys: Sequence[Any]) -> tuple[Any, ...]:
        """Return the key under which the entry of a call is in the table, and under which the dispatcher looks it up:

            (options, key of leaf, key of leaf, ...)                           all leaves, none static
            (options, tree, static values, key of leaf, key of leaf, ...)      everything else

        Most calls have the first form, whose key is made without flattening. `tree` is then `flat_tree(len(keys))`, the
        same object: trees are interned. `options` is `config.local.state.key`, the static values are
        `api_util.static_key(arguments.statics)`, and `keys` are those of the leaves, in order.
        """
        options = config.local.state.key
        if not arguments.statics and tree is flat_tree(len(keys)):
            return (options, *keys)
        return (options, tree, api_util.static_key(arguments.statics), *keys)


# --- 05.2 Trace once ----------------------------------------------------------------------------------------
# Two functions with the same source may close over different values, and Python cannot compare those cheaply;
# so plain functions are compared by identity. (A callable with an `__eq__` of its own, such as a frozen
# dataclass with a `__call__`, is believed: two equal ones share a program, even if a field that is not
# compared differs. JAX does the same.) The table must not keep functions alive, since each holds its
# executables: a program that makes closures for a week would fill its memory. A signature is marked while it
# is being traced, because a function that calls itself with the same types would otherwise be traced until
# Python's stack overflows.
#
# Usual mistakes:
#   - Looking functions up by name or code: `lambda x: x * scale` with another scale is another program.
#   - Remembering a failure: a function that raised once may work the next time.
#   - Putting a value into the weak table that refers to its key: then the key is never freed.
#
# In JAX: jax/_src/util.py:weakref_lru_cache


class Traceable:
    def traced(
        self, arguments: Arguments, tree: PyTreeDef, avals: Sequence[Any], names: tuple[str, ...]
    ) -> tuple[TracedCall, bool]:
        """Return the function traced for the types of a call, and whether it was traced now.

        Calls with one `trace_key` share a trace, even if they come from different `jit`s of the function: `trace_now`,
        which runs the Python function, is called once for all of them:

            f(x), then f(y) with y like x          (traced, True); then (the same object, False)
            f(x), again after f raised an error    f runs again: a failure is not kept
            f calls itself, with the same key      RecursionError with the name of f, at once
            f calls itself, with another key       is traced like any other call

        One exception: f closes over a tracer of an enclosing function. When that function is traced again, the key is
        the same, but the kept jaxpr holds a tracer whose trace has ended. It is not current any more, so trace f again.

        `cache.traces` maps keys to kept traces; `cache.remember_trace` adds one, and keeps their number within its limit.
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


# --- 05.3 A bounded memory ----------------------------------------------------------------------------------
# An LRU cache works well for loops over a few shapes, which use again what they used lately. It works badly
# for a loop over one shape more than fits: each call then drops the entry that the next one needs.
# Executables are counted apart from entries, because several entries may run the same one.
#
# Usual mistakes:
#   - Assigning to a key that is there already: the dict leaves it in its old place.
#   - Dropping the entry and keeping its record: `explain` then compares with calls that are not in the cache
#     any more.
#   - A touch that puts back an entry which was dropped in the meantime.
#
# In JAX: jax/_src/util.py:weakref_lru_cache


class Table:
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

    def touch(self, key: tuple[Any, ...], entry: Entry) -> None:
        """Make an entry the most recently used. `touch` is called at a hit, once the table is crowded. Another thread
        may have dropped the entry since it was found; do not put it back.
        """
        with self.lock:
            if self.entries.pop(key, None) is not None:
                self.entries[key] = entry


# --- 05.4 A miss --------------------------------------------------------------------------------------------
# These lines are `jit`: they call what you wrote in all the labs before. There are three caches on the way
# (traces, executables, entries). The more expensive a step is, the less its key distinguishes, so that the
# expensive step is done least often. The entry is inserted last: whoever finds it finds it complete, and a
# step that fails leaves no entry behind (but a trace that was made is kept).
#
# Usual mistakes:
#   - Compiling for each key: then a numpy array in one call and a jitkit array in the next cost two
#     compilations.
#   - Giving the types to `Entry`: then nobody copies host values to the device.
#   - Inserting the entry before it is compiled: another thread may find it and try to run it.
#
# In JAX: jax/_src/pjit.py:_run_python_pjit


class Jitted:
    def make_entry(
        self, start: float, key: tuple[Any, ...], arguments: Arguments, tree: PyTreeDef, keys: Sequence[Any]
    ) -> Entry:
        """Make the entry for a new key. Do not trace or compile again what was traced or compiled for another key:

            f(x), where x is a numpy array          trace and compile
            f(device_put(x))                        neither: another key, but the same type
            f(device_put(x, device))                compile: results have to stay on that device
            f(x), after f.trace(x)                  compile

        Insert it in the table only when it is complete: a step that raises leaves no entry behind, and the next call
        tries again.

        Tracing needs the types only, `avals_of(keys)`; the placement and the entry need the keys, which say where each
        leaf is. Call `note_miss` with the start time and whether tracing and compiling happened now; insert the record that
        it returns. With the option `debug_key_reuse`, and only then, replace the entry's `run` by `checked(entry.run, traced.jaxpr,
        "jit-compiled function")`, a function of the module `late_rooms.import_room("jitkit.interpreters.key_reuse")`.

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
        """Return a program compiled for these places, and whether it was compiled now.

        The table's `executables` have the key `(jaxpr, donated, placement)`, which is all that matters to XLA: several entries may share
        an executable. A compilation that fails leaves nothing there.
        """
        slot = (program.jaxpr, program.donated, placement)
        executable = self.table.executables.get(slot)
        if executable is not None:
            return executable, False
        executable = self.table.executables[slot] = compile_program(program, placement)
        return executable, True


# --- 05.5 Why did it miss? ----------------------------------------------------------------------------------
# JAX logs the closest key, too (`jax_explain_cache_misses`), because the call before is often from another
# part of the program. For each leaf only the first difference of type is reported: if the shape has changed,
# further differences of the same leaf would only hide that.
#
# Usual mistakes:
#   - Comparing with the latest call, instead of the nearest one.
#   - Reporting that a value has moved when its type has changed, too: the function had to be traced in any
#     case.
#   - Replacing the best record by one that is equally near: then the oldest one wins.
#
# In JAX: jax/_src/interpreters/partial_eval.py:diff_tracing_cache_keys


def changed_leaves(leaves: Iterable[tuple[str, Any, Any]]) -> Iterator[Change]:
    """Yield the differences between the leaves of two calls, from `(path, key before, key now)` of each.

    A key is an aval, or has one (`aval_of`); avals and keys are interned, but two `Placed` may be on equal places. For each
    leaf, report what costs most:

        key before             key now                kinds, and sizes above 1
        f32[2]                 f32[3]                 shape
        f32[2]                 i32[3]                 shape, of size 2: its dtype goes with it
        OnHost of f32[2]       f32[2]                 host
        OnHost of f32[2]       i32[2]                 dtype; host is not mentioned
        f32[2]                 Placed on c, f32[2]    device
        OnHost of f32[2]       Placed on c, f32[2]    device
        Placed on c, f32[2]    Placed on d, i32[2]    dtype, then device: two changes
        Placed on c, f32[2]    Placed on c, i32[2]    dtype: the device is the same

    `kinds_of_types` lists what differs between two types, in order: the first is the change's kind. `sharding_of` says
    where a key is placed; compare places with `==`. A Change has both keys, as they came, for `before` and `now`.
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
    """Return how far apart two calls are: the sizes of their changes, summed for each weight, in a tuple from the
    greatest, `TRACES`, down to `weight`. So one reason to trace outweighs any number of reasons to compile:

        x of another shape and dtype, y of another shape; down to `TRACES`            (3,)
        y on another device, x not on the host any more; down to `DISPATCHES`         (0, 1, 1)
        the same                                                                      (0, 0, 0)

    `changes(old, new, weight)` gives the changes that count.
    """
    counts = [0] * (TRACES + 1 - weight)
    for change in changes(old, new, weight):
        counts[TRACES - change.weight] += change.size
    return tuple(counts)


def closest(
    records: Sequence[CallRecord], record: CallRecord, weight: int
) -> tuple[CallRecord | None, tuple[int, ...]]:
    """Return the record nearest to `record` by the `distance` down to this weight, and that distance; `(None, ())` when
    there are no records.

    Only the records that `latest_first` selects are compared. Of several that are equally near, take the first in
    the order of `latest_first`: the latest.
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
# All calls of a signature carry the same jaxpr object, so lowering can write one function for them (lab 04).
# The author of a function decides about `inline`: XLA inlines what it likes in any case, but other
# transformations only see equations that are in the outer program.
#
# Usual mistakes:
#   - Tracing the inner function at each call: a hundred layers are a hundred traces.
#   - Leaving the outer tracer among the constants: the inner program then refers to variables of another one.
#   - Giving `donated_invars` as many entries as there are arguments, when closed-over operands stand before
#     them.
#
# In JAX: jax/_src/pjit.py:jit_p


class Jitted:
    def nested_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NestedCall:
        """Return how to record a call with these arguments, and remember it: by `remember_nested`, under the
        `trace_key`.

        A `signature` that any call has traced before is not traced again (`traced_alone`). The equation says which
        leaves are donated:

            jit(f, donate_argnums=1)(x, y)      (False, True)
            jit(f)(x, y)                        (False, False)

        If `jit` was given shardings (`self.is_placed`), pass `self.shardings(arguments, traced, avals)` to
        `NestedCall.place`.
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
        """Prepare what every equation of the call has: `params`, the dict of its parameters, and `outer`, the operands
        before the arguments. In this example the only argument is donated, x is a tracer of the enclosing function, and
        `a` is an array:

            closed over    the parameter `jaxpr`           `outer`    the parameter `donated_invars`
            nothing        the traced one, unchanged       ()         (True,)
            a              unchanged: a is a constant      ()         (True,)
            x              its first input is x            (x,)       (False, True)
            x and a        its first inputs are x and a    (x, a)     (False, False, True)

        A tracer is not a value, so it must not stay among a jaxpr's constants: `convert_constvars_jaxpr` turns them all
        into inputs. The parameters are in the order of their names: `donated_invars`, `inline`, `jaxpr`, `keep_unused`,
        `name`. Keep `out_tree`, the structure of the result, too. The class has `__slots__` for these three, and so no
        other attributes.
        """
        jaxpr = traced.jaxpr
        self.out_tree = traced.out_tree  # the structure of the result
        self.outer: Sequence[Any] = ()  # the operands before the arguments
        if any(isinstance(const, Tracer) for const in jaxpr.consts):
            self.outer, jaxpr = jaxpr.consts, convert_constvars_jaxpr(jaxpr)
        # the parameters of the equation
        self.params: dict[str, Any] = {
            "donated_invars": (False,) * len(self.outer) + donated,
            "inline": inline,
            "jaxpr": jaxpr,
            "keep_unused": keep_unused,
            "name": name,
        }

    def bind(self, leaves: Sequence[Any]) -> Any:
        """Record the call on these arguments, as one equation, and return what the function returns, in its tree.

        `jit_p.bind` returns the results as a list. If the function is to be inlined while tracing (`Inline.JAX_EARLY`),
        `jit_p.bind` itself records the function's equations, in place of the call.
        """
        return tree_unflatten(self.out_tree, jit_p.bind(*self.outer, *leaves, **self.params))


# --- 05.7 The warm path -------------------------------------------------------------------------------------
# After its look-up a warm call does three things: it gathers buffers, executes, and wraps the results. It
# asks nothing about types. It does not wait for numbers either: `execute` hands the work over and returns
# buffers that will be filled later. A call of 5 us can start a computation of a second; whoever reads the
# result waits for it (lab 10).
#
# Usual mistakes:
#   - Flattening, looking up types or making functions at each call.
#   - Returning a tuple of one for a single result.
#   - Concluding from equal counts that the executable takes exactly the leaves: with a constant in front and
#     one leaf left out, the counts are equal, too.
#
# In JAX: jax/_src/interpreters/pxla.py:ExecuteReplicated


def runner(executable: Executable, out_tree: PyTreeDef, leaf_keys: Sequence[Any]) -> Callable[[Leaves], Any]:
    """Return the function that runs `executable` on the leaves of a call whose keys are `leaf_keys`, and returns the
    results in their tree.

    It is made once per signature and called at every hit, so decide here whatever depends on the keys only.
    `buffers_runner` gives the function from leaves to the buffers of the results. Each buffer becomes an `Array` with
    its aval and key (`out_avals`, `out_keys`); `compile_put_together(out_tree)` gives a function that makes the tree of
    them. The tree of a single result is `LEAF`.
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

    def run_one(leaves: Leaves) -> Any:  # saves a function call and a list
        x = leaves[0]
        buffers = execute([x._buf if type(x) is Array else x]).consume_with_handlers(handlers)
        return Array(buffers[0], aval, key)

    return run_one


def takes_buffers_as_they_are(executable: Executable, leaf_keys: Sequence[Any]) -> bool:
    """Whether `executable.execute` takes the buffers of the leaves, in their order, and nothing else: the fastest case.

    This is not so if a leaf is `OnHost` and has no buffer yet; if the program takes only some of the leaves (`kept` lists
    their positions), or takes constants before them (`consts`); if it is `committed` to devices, to which leaves may have
    to be moved; or if it `has_effects`, whose tokens are further arguments.
    """
    return (
        not executable.committed
        and not executable.has_effects
        and not executable.consts
        and executable.kept == list(range(len(leaf_keys)))
        and not any(isinstance(key, OnHost) for key in leaf_keys)
    )


# --- 05.8 A key that forgets --------------------------------------------------------------------------------
# The program that was found runs, and its result has the type that was compiled, whatever array you passed.
# In a real `jit` only the key prevents such results. That is why it contains the dtype, the weak type, the
# tree, and every option that a rule reads.
#
# Usual mistakes:
#   - Tracing at each call to find out whether the program fits: then the cache is useless.
#   - Calling `key` with what the caller passed: a list or a number has no dtype, so make an Array of it
#     first.
#
# In JAX: jax/_src/pjit.py:_cpp_pjit


def jit_by(key: Callable[[Any], Hashable], fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return `fun`, a function from one array to one array, jitted: calls with equal `key(x)` run one program, which is compiled for
    the first of them. Nothing checks whether it fits the others.

    Whatever the caller passes, `key` gets an Array, `jax.device_put(x)`. With a good key this is `jit`. With one that
    forgets the dtype, the bytes of an int32 array are taken for floats:

        >>> double = jit_by(lambda x: x.shape, lambda x: x + x)
        >>> double(np.float32([1.5, 2.5]))
        Array([3., 5.], dtype=float32)
        >>> double(np.int32([1069547520, 1078530011]))
        Array([3.       , 6.2831855], dtype=float32)

    The bytes of these two numbers are those of the floats 1.5 and pi. There is no error, since an executable only looks at
    the number of bytes: if that differs, XLA refuses.

    The stages: `jax.make_jaxpr(fun)(x)` traces. A `Program` is the name, the jaxpr, the tree of the arguments,
    `tree_structure(((0,), {}))`, and that of the result, `tree_structure(0)`; with `keep_unused=True` it takes its argument even if
    nothing reads it. `compile_program` compiles it for a `default_placement()`, and returns an executable. The executable's
    `run` takes one list of buffers, those in its `consts` first and then the argument's, and returns the list of the results'
    buffers; its `wrap` makes Arrays of these. `jax.device_put(x)` is an Array, and its buffer is its `_buf`.
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
