"""The programs that the exercises of lab 05 must run like the reference."""

from __future__ import annotations

import collections
import contextlib
import functools
import gc
import threading
import types
import weakref

import numpy as np

from jitkit.kata.checking import check, module, of_arrays, of_calls, of_mended, raised, random_programs


def logged(log):
    """Return a function that notes each time that Python runs it, which is when it is traced."""

    def f(*args, **kwargs):
        log.append(1)
        return args, kwargs

    return f


def traces(jk, calls, **options):
    """Return how often a function has been traced after each of these calls."""
    log = []
    f = jk.jit(logged(log), **options)
    found = []
    for args, kwargs in calls:
        f.trace(*args, **kwargs)
        found.append(len(log))
    return found


def floats(rng, *shape):
    return rng.normal(size=shape).astype("float32")


def shuffled(rng, values):
    return [values[i] for i in rng.permutation(len(values))]


def firsts(values):
    """Return, for each value, the position of the first value that equals it: this shows which are the same."""
    return [values.index(value) for value in values]


# --- 05.1 The key -----------------------------------------------------------------------------------------------------


def key_of(jk, jitted, *args, **kwargs):
    arguments, tree, avals = jitted._jitted.signature(args, kwargs)
    return jitted._jitted.key_of_call(arguments, tree, avals)


@check("05.1", "The numbers in arrays are not part of a key.", against=["the key has the values of arrays"])
def other_numbers(jk, rng):
    x, y = floats(rng, 2, 4)
    calls = [((x,), {}), ((y,), {}), ((x, 1.5), {}), ((y, float(rng.normal())), {}), ((x, y), {}), ((y, x), {})]
    return traces(jk, shuffled(rng, 2 * calls))


@check(
    "05.1",
    "Shape, dtype and weak type are part of a key.",
    against=["types of one size are one type", "weak types do not matter", "the kind of a dtype is enough"],
)
def other_types(jk, rng):
    n = int(rng.integers(2, 9))
    arrays = [np.ones((n, 6)), np.ones((6 * n,)), np.ones((6 * n,), "int32"), 1.0, np.float32(1), 1, True]
    arrays += [np.ones(6 * n, kind) for kind in ("float16", "int8", "uint8")]
    calls = [((x.astype("float32") if getattr(x, "dtype", 0) == "float64" else x,), {}) for x in arrays]
    turned = [((1.0, arrays[2]), {}), ((arrays[2], 1.0), {}), ((arrays[2], arrays[2]), {}), ((1.0, 1.0), {})]
    return traces(jk, shuffled(rng, 2 * calls) + shuffled(rng, 2 * turned))


@check(
    "05.1",
    "The values of static arguments are part of a key.",
    against=["static values are not part of a key", "a hash is as good as the value"],
)
def static_values(jk, rng):
    n, x = int(rng.integers(9)), floats(rng, 3)
    calls = shuffled(
        rng, 2 * [((x, n), {}), ((x, n + 1), {}), ((x, float(n)), {}), ((x, n + 0.5), {}), ((x, -1), {}), ((x, -2), {})]
    )
    f = jk.jit(lambda x, n: x * n, static_argnums=1)
    keys = [key_of(jk, f, *args) for args, _ in calls]
    log, found = [], []
    g = jk.jit(lambda x, mode: (log.append(1), x)[1], static_argnums=1)
    for mode in shuffled(rng, 3 * [Mode(), Mode(), Mode()]):
        g.trace(x, mode)
        found.append(len(log))
    return traces(jk, calls, static_argnums=1), firsts(keys), found


class Mode:
    """A static value that equals only itself, even if another one prints the same."""

    def __repr__(self):
        return "mode"


@check(
    "05.1",
    "If two static values change places, the key changes; in another jit of the function, or another thread, it is the same.",
    against=["static values have no order", "a jit has traces of its own", "a thread has traces of its own"],
)
def same_and_not_the_same(jk, rng):
    log, x = [], floats(rng, 3)
    a, b = (int(n) for n in rng.permutation(9)[:2])
    call = logged(log)
    f, found = jk.jit(call, static_argnums=(1, 2)), []
    for n, m in shuffled(rng, 3 * [(a, b), (b, a), (a, a), (b, b)]):
        f.trace(x, n, m)
        found.append(len(log))
    one, other = jk.jit(call), jk.jit(call, keep_unused=True)
    one.trace(x)
    other.trace(x)
    thread = threading.Thread(target=one.trace, args=(x,))
    thread.start()
    thread.join()
    return found, len(log)


@check("05.1", "The same leaves in another tree have another key.", against=["only the leaves count"])
def trees(jk, rng):
    x, y = floats(rng, 2, 3)
    calls = [((x, y), {}), (((x, y),), {}), (([x, y],), {}), (({"a": x, "b": y},), {}), ((x,), {"y": y})]
    calls = shuffled(rng, 2 * calls)
    f = jk.jit(lambda *args, **kwargs: args)
    return traces(jk, calls), firsts([key_of(jk, f, *args, **kwargs) for args, kwargs in calls])


@check(
    "05.1",
    "Options are part of a key, since they decide what is written down.",
    against=["options do not change a program"],
)
def options(jk, rng):
    n = int(rng.integers(2, 9))
    x = floats(rng, n, n)
    f = jk.jit(lambda x: x @ x)
    before = f.trace(x).jaxpr
    with jk.default_matmul_precision("highest"):
        keys = key_of(jk, f, x)
        after = f.trace(x).jaxpr
    is_key_of_both = keys == key_of(jk, f, x)

    def outer(x):  # the same while another function is traced
        with jk.default_matmul_precision("highest"):
            precise = f(x)
        return f(x) - precise

    return before, after, is_key_of_both, jk.make_jaxpr(outer)(x)


@check(
    "05.1",
    "A call whose arguments are all leaves has a short key, which needs no tree.",
    against=["every key has a tree"],
)
def forms(jk, rng):
    options = module(jk, "base.config").local.state.key
    x, n = floats(rng, int(rng.integers(2, 9))), int(rng.integers(9))
    f, g = jk.jit(lambda *args: args), jk.jit(lambda n, *args: args, static_argnums=0)
    leaves = shuffled(rng, [x, 2.0, *[1] * int(rng.integers(6))])
    keys = [key_of(jk, f, *leaves), key_of(jk, f, tuple(leaves)), key_of(jk, g, n, *leaves), key_of(jk, f)]
    where = next(i for i, leaf in enumerate(leaves) if leaf is x) - len(leaves)
    return [len(key) for key in keys], [key[0] is options for key in keys], keys[0][where] is keys[1][where]


@check("05.1", "The dispatcher builds the same key: each part has its place, and the keys of the leaves come last.")
def order_of_parts(jk, rng):
    g = jk.jit(lambda x, n, y: x, static_argnums=1)
    arguments, tree, keys = g._jitted.signature((floats(rng, 2), int(rng.integers(9)), (1.0, 2)), {})
    options, statics = module(jk, "base.config").local.state.key, jk.signature.api_util.static_key(arguments.statics)
    key = g._jitted.key_of_call(arguments, tree, keys)
    parts = shuffled(rng, [options, tree, statics, *keys])
    return [[i for i, p in enumerate(parts) if part is p or part == p] for part in key]


@check(
    "05.1",
    "A call without arrays has a key, too, with its static values and its trees.",
    against=["without leaves, the key is empty"],
)
def calls_without_leaves(jk, rng):
    a, b = (int(n) for n in rng.permutation(9)[:2])
    f, g = jk.jit(lambda n: n * 2.0, static_argnums=0), jk.jit(lambda *args: args)
    calls = shuffled(rng, 2 * [(f, a), (f, b), (g,), (g, None), (g, ()), (g, [])])
    return firsts([(one is f, key_of(jk, one, *args)) for one, *args in calls])


@check(
    "05.1",
    "The place of a leaf belongs to the key of a call, and not to the key of a trace.",
    against=["the key of an array is its type"],
)
def where_leaves_are(jk, rng):
    runtime = module(jk, "runtime")
    f, g = jk.jit(lambda x, y: x), jk.jit(lambda x, y, n: x, static_argnums=2)
    x = floats(rng, int(rng.integers(2, 9)))
    found = []
    for jitted, args in ((f, (x, x)), (g, (x, x, 2))):
        arguments, tree, avals = jitted._jitted.signature(args, {})
        first, second = ((aval, runtime.on_host(aval)) for aval in avals[:2])
        places = shuffled(rng, 2 * [[a, b] for a in first for b in second])
        keys = [jitted._jitted.key_of_call(arguments, tree, keys) for keys in places]
        same = [[a is b for a, b in zip(key[-2:], k, strict=True)] for key, k in zip(keys, places, strict=True)]
        found.append((firsts(keys), same))
    return found


# --- 05.2 Trace once --------------------------------------------------------------------------------------------------


@check("05.2", "A function is traced once for a signature.", against=["each call traces"])
def once(jk, rng):
    x = floats(rng, int(rng.integers(2, 9)))
    return traces(jk, shuffled(rng, [((each,), {}) for n in range(len(x)) for each in (x[n:], x[n:] + 1)]))


@check("05.2", "Two jits of one function share what was traced.", against=["a cache belongs to a jit"])
def two_jits(jk, rng):
    log, found = [], []
    f = logged(log)
    for n in shuffled(rng, 2 * [1, 2, 3]):
        jk.jit(f).trace(floats(rng, n))
        found.append(len(log))
    return found


@check(
    "05.2",
    "Two functions have two caches, though their source is the same.",
    against=["functions of one source are one function"],
)
def two_functions(jk, rng):
    x, scales = floats(rng, 3), [float(s) for s in rng.normal(size=3)]
    return [jk.jit(lambda x, s=scale: x * s).trace(x).jaxpr for scale in scales]


@check(
    "05.2",
    "A function that nobody uses any more is freed.",
    against=["a cache keeps its functions"],
    fixed="alive, and then freed",
)
def functions_die(jk, rng):
    f = jk.jit(logged(log := []))
    f.trace(floats(rng, 3))
    alive = weakref.ref(f.__wrapped__)
    before = alive() is not None
    del f
    gc.collect()
    return before, alive() is not None, len(log)


@check("05.2", "A callable without a hash can be jitted.", against=["every callable has a hash"])
def no_hash(jk, rng):
    class Scale:
        __hash__ = None

        def __init__(self, scale):
            self.scale = scale

        def __call__(self, x):
            return x * self.scale

    return jk.jit(Scale(float(rng.normal()))).trace(floats(rng, 3)).jaxpr


@check(
    "05.2",
    "A wrapper, a method and a partial function are functions of their own, and each keeps its trace.",
    against=[
        "a wrapper shares the cache of the function that it wraps",
        "a bound method shares the cache of its function",
        "a partial function shares the cache of the function inside",
    ],
)
def functions_of_functions(jk, rng):
    cache_of, a, b = module(jk, "pjit.compilation_cache").cache_of, *rng.normal(size=2).tolist()

    def scaled(scale, x):
        return x * scale

    @functools.wraps(scaled)
    def wrapped(x):
        return scaled(a, x) + 1

    class Scale:
        def __init__(self, scale):
            self.scale = scale

        def __call__(self, x):
            return x * self.scale

        def apply(self, x):
            return x * self.scale

    methods = [Scale(a).apply, Scale(b).apply]
    functions = [scaled, wrapped, functools.partial(scaled, a), functools.partial(scaled, b), *methods, Scale(a)]
    functions = shuffled(rng, 2 * functions)
    caches = [cache_of(function) for function in functions]
    return firsts([id(cache) for cache in caches]), [
        cache is cache_of(f) for cache, f in zip(caches, functions, strict=True)
    ]


@check(
    "05.2",
    "A trace is kept wherever it was made, and whatever the function closes over.",
    against=["a trace within another trace is not kept", "a trace with constants is not kept"],
)
def kept_traces(jk, rng):
    log, found, table = [], [], jk.numpy.asarray(floats(rng, 1))

    def f(x):
        log.append(1)
        return x * table

    jitted = jk.jit(f)
    calls = [jk.make_jaxpr(lambda x: jitted(x) + 1), jitted.trace, jk.make_jaxpr(jitted), jitted.trace]
    for call, n in shuffled(rng, [(call, n) for call in calls for n in (2, 3, 4)]):
        call(floats(rng, n))
        found.append(len(log))
    return found


@check("05.2", "After an error, the next call tries again.", against=["a trace that failed is kept"])
def errors(jk, rng):
    log, x, tries = [], floats(rng, 3), int(rng.integers(2, 9))

    def f(x):
        log.append(1)
        if len(log) <= tries:
            raise ValueError(f"not yet, {len(log)}")
        return x

    jitted = jk.jit(f)
    return [raised(jitted.trace, x, parts=["not yet"]) for _ in range(tries)], jitted.trace(x).jaxpr, len(log)


@check(
    "05.2",
    "A trace that closed over values of an outer trace is valid only until the outer trace ends.",
    against=["what was traced is good for ever"],
)
def closures(jk, rng):
    seen, log, times = [], [], int(rng.integers(2, 7))

    @jk.jit
    def inner(y):
        log.append(1)
        return y * seen[-1]

    def program():
        def outer(x):
            seen.append(x)
            return sum(inner(x) for _ in range(times))

        return jk.make_jaxpr(outer)(float(rng.normal()))

    return program(), program(), len(log)


@check(
    "05.2",
    "A function that calls itself without end is stopped at once.",
    against=["a function that calls itself comes to an end", "every function is called f"],
    fixed="an error of fixed words",
)
def recursion(jk, rng):
    log = []

    @jk.jit
    def f(x):
        log.append(1)
        return f(x) if len(log) < 9 else x

    def descend(x):
        return g(x)

    g = jk.jit(descend)
    mine = raised(g.trace, floats(rng, 3), parts=["Recursively calling descend: while it is traced"])
    return raised(f.trace, floats(rng, 3), parts=["Recursively calling f: while it is traced"]), len(log), mine


@check(
    "05.2",
    "A function may call itself for another signature, such as a smaller static number.",
    against=["a function that is being traced may not be called"],
)
def calls_itself(jk, rng):
    log = []

    def power(x, n):
        log.append(n)
        return x if n == 1 else x * jitted(x, n - 1)

    def halves(x):
        return x[0] if x.size == 1 else jk.numpy.sin(again(x[: x.size // 2]))

    jitted, again = jk.jit(power, static_argnums=1), jk.jit(halves)
    n = int(rng.integers(2, 6))
    program = jitted.trace(float(rng.normal()), n).jaxpr
    return program, log, again.trace(floats(rng, 8)).jaxpr


@check(
    "05.2",
    "Traces are kept under their `trace_key`, with all of its parts.",
    against=["the types alone decide about the program"],
)
def found_by_the_key(jk, rng):
    x, n = floats(rng, 2, 2), int(rng.integers(9))
    calls = [((x, n), {}), ((x, n + 1), {}), (((x,), n), {}), (([x], n), {})]
    found = traces(jk, shuffled(rng, 2 * calls), static_argnums=1)
    f = jk.jit(lambda x: x @ x)
    kept = f.trace(x).jaxpr
    with jk.default_matmul_precision("highest"):
        return found, kept, f.trace(x).jaxpr


@check("05.2", "The number of kept traces has a limit.", against=["there is room for all traces"])
def limited_traces(jk, rng):
    log, limit = [], int(rng.integers(2, 6))
    f = jk.jit(logged(log))
    with limited(jk, limit):
        for n in (1, 2, 3, 4, 5, 5, 4, 3, 1):
            f.trace(floats(rng, n))
    return len(log), len(f._jitted.cache.traces)


@check("05.2", "Errors inside of the function name its parameters.")
def names_of_parameters(jk, rng):
    i = int(rng.integers(6))

    def f(u, v, w, x, y, z):
        return x if (u, v, w, x, y, z)[i] > 0 else -x

    return raised(jk.jit(f).trace, *rng.normal(size=6).tolist(), parts=[f"of the argument {'uvwxyz'[i]}"])


@check(
    "05.2",
    "The result says whether the function was traced now; a trace that was found does not count.",
    against=["a trace counts as new only the first time"],
)
def traced_now(jk, rng):
    f = jk.jit(logged([]))
    n = int(rng.integers(2, 9))
    found = []
    for size in shuffled(rng, 2 * [n, n + 1, n + 2, n + 3]):
        arguments, tree, avals = f._jitted.signature((floats(rng, size),), {})
        found.append(f._jitted.traced(arguments, tree, avals, ("args[0]",))[1])
    arguments, tree, avals = f._jitted.signature((floats(rng, n),), {})
    kept = f._jitted.cache.traces[f._jitted.trace_key(arguments, tree, avals)]
    is_current, old = type(kept).is_current, kept
    type(kept).is_current = lambda self: self is not old and is_current(self)
    try:
        again = [f._jitted.traced(arguments, tree, avals, ("args[0]",)) for _ in range(2)]
    finally:
        type(kept).is_current = is_current
    return found, [(traced is old, now) for traced, now in again]


class Lock:
    """Stands for a lock, and counts how often somebody had it."""

    def __init__(self):
        self.is_held, self.count = False, 0

    def __enter__(self):
        self.is_held, self.count = True, self.count + 1

    def __exit__(self, *error):
        self.is_held = False


@check("05.2", "The table of all caches is used under its lock.", fixed="the lock is held, or it is not")
def locked(jk, rng):
    caches = module(jk, "pjit.compilation_cache")
    kept, lock = caches._caches_lock, Lock()
    caches._caches_lock = lock
    try:
        return caches.cache_of(lambda: rng) is None, lock.count > 0
    finally:
        caches._caches_lock = kept


@check(
    "05.2",
    "If another thread makes the cache while this one waits for the lock, there is still one cache.",
    against=["only writing needs the lock"],
)
def two_at_once(jk, rng):
    caches = module(jk, "pjit.compilation_cache")
    kept, waiting, found = caches._caches_lock, [], []

    class Slow(Lock):
        def __enter__(self):
            super().__enter__()
            if waiting:  # another thread was first
                caches._caches[waiting.pop()] = other

    caches._caches_lock = Slow()
    try:
        for waits in shuffled(rng, 4 * [True, False]):
            f, other = functools.partial(floats, rng), caches.FunctionCache()
            waiting[:] = [f] if waits else []
            found.append(caches.cache_of(f) is other)
        return found
    finally:
        caches._caches_lock = kept


# --- 05.3 A bounded memory --------------------------------------------------------------------------------------------


class Entries:
    """Fills a table with stand-ins for entries, so that nothing is compiled."""

    def __init__(self, jk):
        self.table = module(jk, "pjit.compilation_cache").Table()

    def insert(self, *keys, executable=None):
        """Insert a stand-in under each of these keys."""
        for key in keys:
            entry = types.SimpleNamespace(executable=executable or object())
            self.table.insert((key,), entry, f"record of {key}")

    def touch(self, key):
        """Touch an entry, as a hit does."""
        self.table.touch((key,), self.table.entries.get((key,), "gone"))

    def keys(self):
        """Return the keys, in the order of the table."""
        return [key for (key,) in self.table.entries]


def limited(jk, limit):
    return module(jk, "base.config").override(jit_cache_size=limit)


@check("05.3", "The entries used last are kept.", against=["a cache keeps everything"])
def bounded(jk, rng):
    entries, keys = Entries(jk), [int(k) for k in rng.permutation(9)]
    with limited(jk, 4):
        entries.insert(*keys)
    kept = entries.keys()
    with limited(jk, 2):  # less room than before
        entries.insert(10)
    return kept, entries.keys(), list(entries.table.records.values())


@check(
    "05.3",
    "A touch makes an entry the most recently used one.",
    against=["the entry that was inserted first goes first"],
)
def hits(jk, rng):
    entries, keys = Entries(jk), [int(k) for k in rng.permutation(6)]
    with limited(jk, 4):
        entries.insert(*keys[:4])
        entries.touch(keys[0])
        entries.touch(keys[2])
        entries.insert(*keys[4:])
    return entries.keys()


@check(
    "05.3",
    "When an entry is dropped, its record is dropped, too.",
    against=["records may stay when their entries go", "records are dropped in an order of their own"],
)
def records(jk, rng):
    entries, keys = Entries(jk), [int(k) for k in rng.permutation(6)]
    with limited(jk, 3):
        entries.insert(*keys[:3])
        entries.touch(keys[0])
        entries.insert(*keys[3:5])
        before = sorted(entries.table.records.values())
        entries.insert(keys[5])
    return before, sorted(entries.table.records.values())


@check(
    "05.3",
    "If a key is inserted again, the new entry and the new record replace the old ones.",
    against=["the first record of a key stays"],
)
def inserted_again(jk, rng):
    entries, keys = Entries(jk), [int(k) for k in rng.permutation(4)]
    newer = types.SimpleNamespace(executable=object())
    with limited(jk, 4):
        entries.insert(*keys[:3])
        entries.table.insert((keys[0],), newer, f"new record of {keys[0]}")
        entries.insert(keys[3])
    return entries.table.entries[(keys[0],)] is newer, sorted(entries.table.records.values())


@check("05.3", "A touch does not bring back a dropped entry.", against=["a touch puts an entry into the table"])
def touched_too_late(jk, rng):
    entries, (a, b, c) = Entries(jk), (int(k) for k in rng.permutation(3))
    with limited(jk, 2):
        entries.insert(a, b)
        entry = entries.table.entries[(a,)]
        entries.insert(c)
        entries.table.touch((a,), entry)
    return entries.keys()


@check(
    "05.3",
    "A large table that is half empty does not order its entries at a touch, and nor does one whose limit was raised.",
    against=["the order matters from the beginning", "a crowded table stays crowded"],
)
def crowded(jk, rng):
    small, large = Entries(jk), Entries(jk)
    size = 2 * int(rng.integers(50, 90))
    found = []
    least = module(jk, "pjit.compilation_cache").EXACT_LRU_SIZE
    with limited(jk, least):
        small.insert(1)
        without_room = small.table.crowded
    with limited(jk, size):
        small.insert(2)
        for key in range(size):
            large.insert(key)
            found.append(large.table.crowded)
    told = {"one entry, and no more room": without_room, "two, when there is room for a hundred": small.table.crowded}
    return told, sum(found), found[0], found[-1]


@check(
    "05.3",
    "An executable that no entry runs any more is dropped as soon as there are more executables than room.",
    against=[
        "an executable is freed by itself",
        "there may be as many executables as entries",
        "a record stays as long as its executable",
    ],
)
def unused_executables(jk, rng):
    entries, limit = Entries(jk), int(rng.integers(2, 7))
    shared = [object() for _ in range(5)]
    with limited(jk, limit):
        for i, executable in enumerate(shared):
            entries.table.executables[i] = executable
            entries.insert(2 * i, 2 * i + 1, executable=executable)
    few = Entries(jk)
    with limited(jk, 9):  # there is room: they stay, though no entry runs them
        few.table.executables.update({i: object() for i in range(5)})
        few.insert(1)
    many = Entries(jk)
    with limited(jk, limit):
        for i in range(limit + 4):
            many.table.executables[i] = object()
            many.insert(i, executable=many.table.executables[i])
    records = [sorted(each.table.records) for each in (entries, many)]
    records.append(sorted(many.table.executables))
    return sorted(entries.table.executables), entries.keys(), sorted(few.table.executables), records


@check(
    "05.3",
    "A key that is inserted no longer counts as failed.",
    against=["a key that failed once counts as failed for ever", "after a success, no key has failed"],
    fixed="the key is out of the one table and in the other",
)
def failures(jk, rng):
    entries, key = Entries(jk), int(rng.integers(9))
    for other in (key, key + 1, key + 2):
        entries.table.remember_failure((other,))
    entries.insert(key)
    return [(other,) in entries.table.failed for other in (key, key + 1, key + 2)], len(entries.table.signatures())


@check("05.3", "Entries and records are changed under the table's lock.")
def under_the_lock(jk, rng):
    entries, key, lock = Entries(jk), int(rng.integers(9)), Lock()
    seen = []

    class Watched(type(entries.table.entries)):
        def __setitem__(self, key, value):
            seen.append(lock.is_held)
            super().__setitem__(key, value)

    entries.table.lock, entries.table.entries = lock, Watched()
    entries.insert(key, key + 1)
    entries.touch(key)
    return all(seen), len(seen) >= 2, entries.keys()


# --- 05.4 A miss ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def counted(jk, counts):
    """At the end of the block, append to `counts` a dict that says how often each stage ran in it."""
    with module(jk, "base.stage_log").listen() as events:
        yield
    counts.append(dict(sorted(collections.Counter(event.stage for event in events).items())))


def run(jk, f, *calls):
    """Return the results of some calls, and which stages each call needed."""
    found, counts = [], []
    for args in calls:
        with counted(jk, counts):
            found.append(f(*args))
    return found, counts


@check(
    "05.4",
    "The first call compiles, the second one runs.",
    against=["a compiled program is found without being entered", "an entry needs only the types"],
)
def hit(jk, rng):
    x, y = floats(rng, 2, 3)
    f = jk.jit(lambda x: {"sum": x.sum(), "both": (x, -x)})
    return run(jk, f, (x,), (y,)), len(jk.explain(f).misses), f._cache_size()


@check(
    "05.4",
    "An array in the host's memory and one on the device need one program.",
    against=["each key has an executable of its own"],
)
def host_and_device(jk, rng):
    x = floats(rng, int(rng.integers(2, 9)))
    f = jk.jit(lambda x: x * 2 - 1)
    found = run(jk, f, (x,), (jk.device_put(x),), (x,))
    return found, f._cache_size(), [(miss.traced, miss.compiled) for miss in jk.explain(f).misses]


@check(
    "05.4",
    "If an argument is committed to a device, results stay there, and that needs another executable.",
    against=["a program is the same everywhere", "placement follows from types"],
)
def committed(jk, rng):
    x = floats(rng, 3)
    f = jk.jit(lambda x: x * 2 - 1)
    return run(jk, f, (x,), (jk.device_put(x, jk.devices()[0]),))


@check(
    "05.4", "The entry knows which arguments it has to bring to the device.", against=["arguments are on the device"]
)
def arguments_on_the_host(jk, rng):
    x, y = floats(rng, 2, 3)
    f = jk.jit(lambda x, n, y: (x * n, y))
    return run(jk, f, (x, 2, jk.device_put(y)), (y, 3, jk.device_put(x)))


@check(
    "05.4",
    "The result has the tree that the function returns, and not that of the arguments.",
    against=["the result has the tree of the arguments"],
)
def result_trees(jk, rng):
    x = floats(rng, 3)
    return jk.jit(lambda pair: {"difference": pair[0] - pair[1], "pair": pair})((x, x[0]))


@check("05.4", "What was traced before is only compiled.", against=["compiling counts as tracing"])
def traced_before(jk, rng):
    x = floats(rng, 3)
    f = jk.jit(lambda x: x + x)
    f.trace(x)
    return run(jk, f, (x,)), [(miss.reason, miss.traced, miss.compiled) for miss in jk.explain(f).misses]


@check(
    "05.4",
    "A program is found by its jaxpr, by what is donated, and by where it runs.",
    fixed="kinds of things, which are the same for every call",
    against=["nothing is donated", "after `f.trace(x)`, x is not donated"],
)
def places_of_executables(jk, rng):
    f = jk.jit(lambda x: x * 2, donate_argnums=0)
    x = jk.device_put(floats(rng, int(rng.integers(2, 9))))
    f.trace(x)
    f(x)
    [slot] = f._jitted.table.executables
    jaxpr, donated, placement = slot
    return type(jaxpr).__name__, donated, type(placement).__name__, x.is_deleted()


@check("05.4", "What fails to compile is not in the table, and the next call tries again.")
def failed_compilations(jk, rng):
    jitted = module(jk, "pjit.jitted")
    f, x = jk.jit(lambda x: x * 2), floats(rng, 3)
    compile_program, word = jitted.compile_program, f"no {rng.integers(99)}"

    def refuses(*args):
        raise ValueError(word)

    jitted.compile_program = refuses
    try:
        refused = raised(f, x, parts=[word])
    finally:
        jitted.compile_program = compile_program
    return refused, f._cache_size(), len(f._jitted.table.executables), f(x)


@check(
    "05.4",
    "With the option `debug_key_reuse`, the entry checks the random keys at each run.",
    against=["random keys are always checked", "after `f.trace(key)`, random keys are not checked"],
)
def key_reuse(jk, rng):
    n = int(rng.integers(9))
    f = jk.jit(lambda key: jk.random.bits(key, (0, n)))  # uses the key up, and is compiled in little time
    with jk.debug_key_reuse(True):
        key = jk.random.key(int(rng.integers(99)))
        f.trace(key)
        f(key)
        watched = type(raised(f, key)).__name__
    return watched, [np.asarray(f(key)) for _ in range(2)]


@check("05.4", "The record of a miss starts when the call began, and has the arguments' names.")
def told_to_the_story(jk, rng):
    def f(x, rate):
        return x * rate

    jitted, told = jk.jit(f)._jitted, []
    note_miss = type(jitted).note_miss

    def listen(self, start, *rest):
        told.append((start, *rest[3:]))
        return note_miss(self, start, *rest)

    start = float(rng.integers(1000))
    arguments, tree, avals = jitted.signature((floats(rng, 3), 2.0), {})
    key = jitted.key_of_call(arguments, tree, avals)
    type(jitted).note_miss = listen
    try:
        entry = jitted.make_entry(start, key, arguments, tree, avals)
    finally:
        type(jitted).note_miss = note_miss
    return told, jitted.table.entries.get(key) is entry, len(jitted.table.records)


@check("05.4", "An error while tracing names the argument that it is about.")
def names_in_errors(jk, rng):
    i = int(rng.integers(5))
    f = jk.jit(lambda u, v, w, x, y: [x] * int((u, v, w, x, y)[i]))
    return raised(f, *rng.integers(9, size=5).tolist(), parts=[f"of the argument {'uvwxy'[i]}"])


# --- 05.5 Why did it miss? --------------------------------------------------------------------------------------------


def stories(jk, f, *calls):
    """Return, for each miss of some calls, the reason, the miss that it is compared with, and the differences."""
    for args in calls:
        f.trace(*args)
    return [
        (miss.reason, miss.closest, [(d.kind, d.argument) for d in miss.differences]) for miss in jk.explain(f).misses
    ]


def record(jk, number, keys):
    """Return the record of a call that has, for each key, an argument that is a leaf."""
    calls, leaf = module(jk, "misses.record"), jk.tree_util.tree_structure(0)
    options = module(jk, "base.config").local.state.options
    arguments = tuple(
        calls.Argument(name, False, None, leaf, (key,), (name,)) for name, key in zip("xyzw", keys, strict=False)
    )
    return calls.CallRecord(number, True, options, None, arguments, ())


def named(rng, *calls):
    """Return the arguments of each call: a dict of its leaves. The keys, and so the names of leaves, are drawn once for all calls."""
    names = shuffled(rng, "abcdefgh")
    return [(dict(zip(names, leaves, strict=False)),) for leaves in calls]


def aval(jk, *shape, dtype="float32"):
    return jk.core.ShapedArray(shape, np.dtype(dtype))


@check("05.5", "A new shape is reported as the difference, under the name of the argument.")
def a_new_shape(jk, rng):
    n = int(rng.integers(2, 9))
    f = jk.jit(lambda params, x: x)
    x = floats(rng, n)
    (params,), (shorter,) = named(rng, (x, x), (x[1:], x))
    return stories(jk, f, (params, x), (shorter, x), (params, x[1:]))


@check(
    "05.5",
    "A leaf whose shape and dtype have changed has one difference: the shape.",
    against=["each part of a type is a difference"],
)
def one_difference(jk, rng):
    x = floats(rng, int(rng.integers(2, 9)))
    return stories(jk, jk.jit(lambda x: x), *named(rng, (x, x), (x[1:].astype("int32"), x)))


@check("05.5", "A Python number has another type than numpy's.", against=["types can differ only in shape and dtype"])
def weak_types(jk, rng):
    x = floats(rng, 2)
    return stories(jk, jk.jit(lambda x: x), *named(rng, (1.0, np.float32(1), x), (np.float32(1), 1.0, x)))


@check(
    "05.5",
    "A call is compared with the one that is nearest, not with the one before.",
    against=["a call is compared with the one before"],
)
def the_nearest(jk, rng):
    x = floats(rng, 4)
    return stories(jk, jk.jit(lambda x: x), *named(rng, (x, x), (x[1:], x[2:]), (x, x[1:]), (x[2:], x[2:])))


@check(
    "05.5",
    "Of several calls that are equally near, the latest counts.",
    against=["of several calls that are equally near, the first one counts"],
)
def the_latest_of_several(jk, rng):
    x = floats(rng, 4)
    return stories(jk, jk.jit(lambda x: x), *named(rng, (x, x), (x, x[1:]), (x, x[2:])))


@check(
    "05.5",
    "One reason to trace is worse than any number of reasons to compile, or to dispatch.",
    against=["all differences weigh the same"],
)
def weights(jk, rng):
    on_host, calls = module(jk, "runtime").on_host, module(jk, "misses.record")
    a, b = aval(jk, int(rng.integers(2, 9))), aval(jk)
    number, more = int(rng.integers(1, 99)), int(rng.integers(3))
    now = record(jk, number + 2, [a, a, *[a] * more])
    known = [record(jk, number, [on_host(a)] * (2 + more)), record(jk, number + 1, [a, b, *[a] * more])]
    nearest, counts = calls.closest(known, now, calls.DISPATCHES)
    return nearest.number, counts, [calls.distance(old, now, weight) for old in known for weight in (0, 1, 2)]


@check(
    "05.5",
    "A value that was on the host, and is on a device now, is a difference, unless its type has changed, too.",
    against=["it does not matter where a value is", "a new type on a new place is two differences"],
)
def places(jk, rng):
    on_host, calls = module(jk, "runtime").on_host, module(jk, "misses.record")
    a, b = aval(jk, int(rng.integers(2, 9))), aval(jk, dtype="int32")
    pairs = [("x", on_host(a), a), ("y", a, a), ("z", a, on_host(a)), ("u", on_host(a), b), ("v", a, b)]
    pairs = shuffled(rng, pairs)
    return told(calls.changed_leaves(pairs), pairs)


@check(
    "05.5",
    "A call without a difference is the nearest; of two calls that differ in type, the one with fewer other differences is nearer.",
    against=["a distance is one number", "a call without a difference is left out"],
)
def ties(jk, rng):
    runtime, calls = module(jk, "runtime"), module(jk, "misses.record")
    n, number = int(rng.integers(2, 9)), int(rng.integers(99))
    a, b = aval(jk, n), aval(jk, n + 1)
    host_a, host_b = runtime.on_host(a), runtime.on_host(b)
    now, found = record(jk, number + 9, [a, a, a]), []
    cases = [
        [[b, host_a, a], [b, a, a], [b, host_a, host_a]],
        [[a, a, host_a], [a, a, a], [b, a, a]],
        [[host_b, a, a], [b, a, host_a]],
    ]
    for case in cases:
        known = [record(jk, number + i, keys) for i, keys in enumerate(shuffled(rng, case))]
        nearest, far = calls.closest(known, now, calls.DISPATCHES)
        found.append((nearest.number, far))
    return found


@check(
    "05.5", "Two types may differ in several ways; each of them counts.", against=["every changed leaf counts the same"]
)
def sizes(jk, rng):
    calls, n = module(jk, "misses.record"), int(rng.integers(2, 9))
    a, b, c = aval(jk, n), aval(jk, n, dtype="int32"), aval(jk, n + 1, dtype="int32")
    number = int(rng.integers(1, 99))
    now = record(jk, number + 3, [a, a])
    known = [record(jk, number + i, keys) for i, keys in enumerate(([b, b], [c, a], [c, b]))]
    distances = [calls.distance(old, now, calls.TRACES) for old in shuffled(rng, known)]
    nearest, counts = calls.closest(known[:2], now, calls.TRACES)
    far, most = calls.closest(known[2:], now, calls.COMPILES)
    return distances, nearest.number, counts, far.number, most, calls.closest([], now, calls.TRACES)


@check(
    "05.5", "`latest_first` says which records are compared, and in which order.", against=["all calls are compared"]
)
def worth_it(jk, rng):
    calls, a, b = module(jk, "misses.record"), aval(jk, int(rng.integers(2, 9))), aval(jk)
    number = int(rng.integers(99))
    known = [record(jk, number + i, keys) for i, keys in enumerate([[a, b], [b, b], [a, a], [b, a]])]
    now, kept = record(jk, number + 9, [a, a]), calls.latest_first
    found = []
    for order in shuffled(rng, ([0, 1, 3], [1, 3, 0], [3, 1])):
        calls.latest_first = lambda records, record, order=order: [records[i] for i in order]
        try:
            found.append(calls.closest(known, now, calls.TRACES)[0].number)
        finally:
            calls.latest_first = kept
    return found


def told(changes, leaves):
    """Return changes as plain data. For each side of a change: 0 if it has the leaf's earlier key, 1 if it has the present one."""
    keys = {name: (before, now) for name, before, now in leaves}
    return [(c.kind, c.name, keys[c.name].index(c.before), keys[c.name].index(c.now), c.size) for c in changes]


@check(
    "05.5",
    "A value that has to be on a device differs when it has to be on another one, or when it may be anywhere.",
    against=["it does not matter where a value is", "a value that was on the host cannot differ in its device"],
)
def devices(jk, rng):
    runtime, calls = module(jk, "runtime"), module(jk, "misses.record")
    a, b = aval(jk, int(rng.integers(2, 9))), aval(jk, dtype="int32")
    n = int(rng.integers(9))
    one, equal, other = ((number, "a place") for number in (n, n, n + 1))
    here, again, there = runtime.Placed(a, one), runtime.Placed(a, equal), runtime.Placed(a, other)
    leaves = [
        ("x", a, here), ("y", here, a), ("z", here, there), ("u", here, again), ("v", b, here),
        ("w", here, runtime.on_host(a)), ("s", runtime.Placed(b, equal), here),
        ("h", runtime.on_host(a), here), ("i", runtime.on_host(b), here),
    ]  # fmt: skip
    leaves = shuffled(rng, leaves)
    return told(calls.changed_leaves(leaves), leaves)


# --- 05.6 A jit in a jit ----------------------------------------------------------------------------------------------


@check(
    "05.6",
    "A nested call is one equation.",
    against=["a nested call is written out", "each call needs a trace of its own"],
)
def one_equation(jk, rng):
    inner = jk.jit(lambda x, y: (x - y, x * 2))
    x, y = floats(rng, 2, int(rng.integers(2, 9)))
    return jk.make_jaxpr(lambda x, y: inner(y, x)[0] + 1)(x, y)


@check(
    "05.6",
    "All calls of a signature have one jaxpr, and are remembered under their `trace_key`.",
    against=["each nested call has to be prepared anew", "a nested call is remembered under its types"],
)
def one_jaxpr(jk, rng):
    log = []

    @jk.jit
    def inner(x):
        log.append(1)
        return jk.numpy.sin(x)

    times = int(rng.integers(2, 7))
    program = jk.make_jaxpr(lambda x, y: inner(x) + sum(inner(y) for _ in range(times)) + inner(inner(x)))(1.0, 2.0)
    jaxprs = [id(eqn.params["jaxpr"]) for eqn in program.eqns if eqn.primitive.name == "jit"]
    inner.trace(floats(rng, 3))
    jk.make_jaxpr(inner)(floats(rng, 3))
    key = inner._jitted.trace_key(*inner._jitted.signature((1.0,), {}))
    return len(log), len(jaxprs), len(set(jaxprs)), len(inner._jitted.table.nested), key in inner._jitted.table.nested


@check(
    "05.6",
    "What the function closed over of the outer trace comes first among the operands.",
    against=["a closed-over tracer is a constant", "of the closed-over values, only the tracers become inputs"],
)
def closed_over_tracers(jk, rng):
    table = floats(rng, 3)

    def outer(x, y):
        return jk.jit(lambda z: z * y - x + table)(x), jk.jit(lambda z: (z + table) * y)(x)

    return jk.make_jaxpr(outer)(table, 1.0)


@check(
    "05.6",
    "Arrays from outside stay constants of the inner program.",
    against=["every constant becomes an argument", "arrays that were closed over become inputs, too"],
)
def closed_over_arrays(jk, rng):
    table = floats(rng, int(rng.integers(2, 9)))
    inner = jk.jit(lambda x: x + table)
    program = jk.make_jaxpr(lambda x: inner(x) * 2.0)(table)
    return program, len(program.eqns[0].invars), len(program.eqns[0].params["jaxpr"].consts)


@check(
    "05.6",
    "Which arguments are donated is kept in the equation.",
    against=["donation is for the outermost jit", "nothing is donated in a nested call"],
)
def donated(jk, rng):
    x, which = floats(rng, 3), rng.integers(2, size=2).tolist()

    def outer(x, y):
        return jk.jit(lambda a, b: (a * y, b), donate_argnums=which[0])(x, y)

    eqn = jk.make_jaxpr(outer)(x, x).eqns[0]
    whole = jk.jit(lambda a, b: a, donate_argnums=which[1], keep_unused=True)
    other = jk.make_jaxpr(lambda x: whole(x, x))(x).eqns[0]
    keys = ("donated_invars", "inline", "keep_unused", "name")
    return [{key: str(e.params[key]) for key in keys} for e in (eqn, other)], len(eqn.invars), list(eqn.params)


@check("05.6", "The equation says where arguments are to be placed, but only if `jit` was given shardings.")
def placed(jk, rng):
    told, call = [], module(jk, "pjit.jit_call").NestedCall
    place = call.place

    def noted(self, ins, outs):
        told.append([sharding is None for sharding in ins])
        place(self, ins, outs)

    call.place = noted
    try:
        here = jk.numpy.zeros(()).sharding  # `jk.sharding` would import all of JAX
        plain = jk.jit(lambda x, y: (x * 2, y))
        places = [((None, here), (here, None), (here, here))[i] for i in rng.permutation(3)]
        inner = [jk.jit(lambda x, y: (x * 2, y), in_shardings=place) for place in places]
        eqns = [jk.make_jaxpr(lambda x, y, f=f: f(y, x))(*floats(rng, 2)).eqns[0] for f in (plain, *inner)]
    finally:
        call.place = place
    return told, [[sharding is None for sharding in eqn.params.get("in_shardings", ())] for eqn in eqns]


@check(
    "05.6",
    "With `inline`, the equations themselves are recorded, also of a function that closed over a tracer.",
    against=["an inlined function closes over nothing"],
)
def inlined(jk, rng):
    inner = jk.jit(lambda x: jk.numpy.sin(x) * 2.0, inline=jk.Inline.JAX_EARLY)

    def closes_over(x):
        return jk.jit(lambda y: y * x - y, inline=jk.Inline.JAX_EARLY)(x + 1.0)

    x = floats(rng, int(rng.integers(2, 9)))
    return jk.make_jaxpr(lambda x: inner(x) - inner(-x))(x), jk.make_jaxpr(closes_over)(x)


@check(
    "05.6",
    "The call returns what the function returns.",
    against=["a call returns a list", "a result without leaves is None"],
)
def result_of_a_call(jk, rng):
    a, b = shuffled(rng, "abcdefgh")[:2]
    results = [
        lambda x: {a: x, b: (x + 1, None)},
        lambda x: (x,),
        lambda x: [{a: x}],
        lambda x: (),
        lambda x: {b: None},
        lambda x: None,
    ]
    inner = [jk.jit(result) for result in shuffled(rng, results)]
    trees = []

    def outer(x):
        found = [f(x) for f in inner]
        trees.extend(jk.tree_util.tree_structure(result) for result in found)
        return found

    return jk.make_jaxpr(outer)(float(rng.normal())), trees


@check(
    "05.6",
    "A call without results is an equation, too; and a function without a name may be called.",
    against=["without results nothing is recorded", "every function has a `__name__`"],
)
def calls_of_all_kinds(jk, rng):
    def scaled(scale, x):
        return x * scale

    silent, partial = jk.jit(lambda x: ()), jk.jit(functools.partial(scaled, float(rng.normal())))
    program = jk.make_jaxpr(lambda x: (silent(x), partial(x))[1])(floats(rng, int(rng.integers(2, 9))))
    return [eqn.primitive.name for eqn in program.eqns], [eqn.params["name"] for eqn in program.eqns][1:], program


@check("05.6", "Static arguments stay Python values.")
def static_arguments(jk, rng):
    n = int(rng.integers(2, 5))
    power = jk.jit(lambda x, n: x**n, static_argnums=1)
    return jk.make_jaxpr(lambda x: power(x, n) + power(x, n + 1))(floats(rng, 3))


# --- 05.7 The warm path -------------------------------------------------------------------------------------------


def calls_of(jk, f, *calls):
    """Return the results of a jitted function for some calls, each made three times: a miss and two hits."""
    jitted = jk.jit(f)
    return [[jitted(*args) for _ in range(3)] for args in calls]


@check("05.7", "A single result is an array, and not a list of one.", against=["results are a list"], tolerance=1e-6)
def single_result(jk, rng):
    x, y = jk.device_put(floats(rng, 2, 3))
    return calls_of(jk, lambda x, y: x - 2 * y, (x, y), (y, x))


@check(
    "05.7",
    "Several results come in their tree, each with its type.",
    against=[
        "results are a list",
        "all results have the same type",
        "all results have the aval of the first",
        "a tuple of one result is that result",
        "a program takes all leaves",
    ],
)
def tree_of_results(jk, rng):
    x = jk.device_put(floats(rng, 3))
    found = calls_of(jk, lambda x: {"sum": (x.sum(), [x > 0]), "none": None, "half": x.astype("float16")}, (x,))
    avals = [leaf.aval for leaf in jk.tree.leaves(found[0][2])]
    return found, avals, calls_of(jk, lambda x: (x,), (x,)), calls_of(jk, lambda x: [], (x,))


@check(
    "05.7",
    "A result can be passed to the next call: it has the key of its type.",
    against=["a result needs no key until it is asked for", "all results have the key of the first"],
    fixed="kinds of things, which are the same for every call",
)
def results_go_on(jk, rng):
    x = jk.device_put(floats(rng, 3))
    jitted = jk.jit(lambda x: (x * 2, x.sum()))
    for _ in range(3):
        x, total = jitted(x)
    placed = jk.jit(lambda x: (x * 2, x.sum()))(jk.device_put(floats(rng, 3), jk.devices()[0]))
    one = jk.jit(lambda x: -x)(placed[0])
    kinds = [(type(y.aval).__name__, type(y._key).__name__, y.committed) for y in (*placed, one, x, total)]
    own = [str(getattr(y._key, "aval", y._key)) == str(y.aval) for y in (*placed, one, x, total)]
    return jitted._cache_size(), kinds, own


@check(
    "05.7",
    "What depends on the keys alone is computed once, and not at every hit.",
    against=["each call has a runner of its own"],
)
def made_once(jk, rng):
    calling, made = module(jk, "pjit.calling"), []
    buffers_runner = calling.buffers_runner

    def noting(executable, leaf_keys):
        made.append(len(leaf_keys))
        return buffers_runner(executable, leaf_keys)

    xs = list(jk.device_put(floats(rng, int(rng.integers(2, 7)), 3)))
    calling.buffers_runner = noting
    try:
        for f in (jk.jit(lambda *xs: sum(xs)), jk.jit(lambda *xs: [sum(xs)])):
            for _ in range(3):
                f(*xs)
    finally:
        calling.buffers_runner = buffers_runner
    return made


@check(
    "05.7",
    "A call with leaves on the host, with constants, or with arguments that nobody reads takes the longer way.",
    against=[
        "a program takes exactly the leaves",
        "if the counts are equal, the arguments are the leaves",
        "every leaf has a buffer",
        "a call with one leaf passes one buffer",
    ],
    tolerance=1e-6,
)
def other_ways(jk, rng):
    x, y = floats(rng, 2, 4)
    table = floats(rng, 5000)
    found = calls_of(jk, lambda x, y: x * 2 - y, (x, jk.device_put(y)), (3.0, 1))
    found += calls_of(jk, lambda x: x * 2, (x,), (2.5,), (jk.device_put(x)._buf,), (jk.device_put(x),))
    found += calls_of(jk, lambda x: x + jk.numpy.max(table), (x,), (jk.device_put(x),))
    unread = jk.device_put(x), jk.device_put(y)
    return found, calls_of(jk, lambda x, y: y + jk.numpy.max(table), unread), calls_of(jk, lambda x, y: y, unread)


class OfPaper:
    """Stands for an executable: it has the attributes of one, and cannot run."""

    def __init__(self, kept, consts=(), committed=False, has_effects=False):
        self.kept, self.consts = list(kept), list(consts)
        self.committed, self.has_effects = committed, has_effects


@check(
    "05.7",
    "`takes_buffers_as_they_are` is true only if the leaves' buffers, in order, are all that the program takes.",
    against=[
        "a program takes exactly the leaves",
        "if the counts are equal, the arguments are the leaves",
        "every leaf has a buffer",
    ],
)
def shortest_way(jk, rng):
    runtime = module(jk, "runtime")
    aval = jk.core.ShapedArray((int(rng.integers(1, 9)),), np.dtype("float32"))
    on_host = module(jk, "runtime.argument_keys").key_of(floats(rng, *aval.shape))
    takes = module(jk, "pjit.calling").takes_buffers_as_they_are
    executables = [
        OfPaper([0, 1]), OfPaper([1]), OfPaper([0]), OfPaper([1], consts=["a constant"]), OfPaper([0, 1], consts=["a constant"]),
        OfPaper([0, 1], committed=True), OfPaper([0, 1], has_effects=True), OfPaper([]),
    ]  # fmt: skip
    executables = shuffled(rng, executables)
    found = [[bool(takes(e, keys)) for e in executables] for keys in ([aval, aval], [aval, on_host], [on_host, aval])]
    return isinstance(on_host, runtime.OnHost), found, bool(takes(OfPaper([]), []))


@check(
    "05.7",
    "Each call runs the program, also one without results, and makes results of its own.",
    against=["without results there is nothing to run"],
)
def each_call_runs(jk, rng):
    seen, x = [], jk.device_put(floats(rng, 3))
    silent = jk.jit(lambda x: jk.debug.callback(lambda x: seen.append(float(x[0])), x, ordered=True))
    double = jk.jit(lambda x: x * 2)
    results = [double(x) for _ in range(3)]
    returned = [silent(each) for each in (x, x + 1, x)]
    jk.effects_barrier()
    return seen, returned, [a is b for a in results for b in results], results[-1]


# --- 05.8 A key that forgets --------------------------------------------------------------------------------------


def jit_by(jk, key, fun):
    return module(jk, "kata.subjects.small_jit").jit_by(key, fun)


@check(
    "05.8",
    "With a good key, the jitted function computes what the function computes.",
    against=["one program is enough for all calls", "the key is computed from what was passed"],
    tolerance=1e-6,
)
def good_key(jk, rng):
    jitted = jit_by(jk, lambda x: x.aval, lambda x: jk.numpy.sin(x) * 2)
    return [jitted(x) for x in (floats(rng, 3), floats(rng, 2, 2), floats(rng, 3), 2, np.float16(1.5), floats(rng, 3))]


@check(
    "05.8",
    "The function is compiled once for each key.",
    against=["the function is traced at each call, to be sure", "one program is enough for all calls"],
)
def compiled_for_each_key(jk, rng):
    found = []
    jitted = jit_by(jk, lambda x: x.ndim, lambda x: x * 2)
    for x in shuffled(rng, [floats(rng, 3), floats(rng, 3), floats(rng, 2, 2), floats(rng, 2, 2)]):
        with jk.base.stage_log.listen() as events:
            jitted(x)
        found.append(sum(event.stage == "compilation" for event in events))
    return found


@check(
    "05.8",
    "Keys are compared, not their hashes or texts; and the program of each is kept.",
    against=[
        "the hash of a key is enough",
        "the text of a key is enough",
        "it is enough to keep the latest program",
        "the hash of a key is enough",
        "the text of a key is enough",
        "it is enough to keep the latest program",
    ],
)
def keys_that_look_alike(jk, rng):
    found = []
    for pair in ((-1, -2), (1, "1")):
        keys = dict(zip(("float32", "int32"), shuffled(rng, list(pair)), strict=True))
        doubled = jit_by(jk, lambda x, keys=keys: keys[str(x.dtype)], lambda x: x + x)
        calls = [floats(rng, 3), rng.integers(99, size=3, dtype="int32"), floats(rng, 3), np.int32([7, 8, 9])]
        with jk.base.stage_log.listen() as events:
            results = [doubled(x) for x in calls]
        found.append((results, sum(event.stage == "compilation" for event in events)))
    return found


@check(
    "05.8",
    "With a key that forgets the dtype, the bytes are taken for what the first array was.",
    against=[
        "the function is traced at each call, to be sure",
        "each call's result has the type of its argument",
        "the executable converts numbers",
    ],
)
def forgets_dtype(jk, rng):
    double = jit_by(jk, lambda x: x.shape, lambda x: x + x)
    numbers = floats(rng, 3)
    return double(floats(rng, 3)), double(numbers.view("int32")), double(numbers.view("uint32"))


@check(
    "05.8",
    "With a key that leaves out the numbers in the array, every result is right.",
    against=["the key has the values of arrays"],
)
def forgets_everything(jk, rng):
    f = jit_by(jk, lambda x: None, lambda x: x * x)
    with jk.base.stage_log.listen() as events:
        found = [f(float(x)) for x in rng.normal(size=3)]
    return found, sum(event.stage == "compilation" for event in events)


@check(
    "05.8",
    "Constants are passed before the argument, also if the program does not read the argument.",
    against=["all constants are in the program's text"],
    tolerance=1e-5,
)
def with_constants(jk, rng):
    table = floats(rng, 5000)
    reads = jit_by(jk, lambda x: x.aval, lambda x: x + jk.numpy.max(table))
    return reads(floats(rng, 3)), jit_by(jk, lambda x: x.aval, lambda x: jk.numpy.max(table))(floats(rng, 3))


@check(
    "05.8",
    "`key` is called with an Array, whatever was passed.",
    against=["`key` can be called with whatever was passed"],
)
def asked_about(jk, rng):
    asked = {}  # a dict, since the key may be asked for once or twice in each call
    f = jit_by(jk, lambda x: asked.setdefault((type(x).__name__, str(x.aval)), x.aval), lambda x: x.reshape(-1, 1))
    return [f(x) for x in (1.5, floats(rng, 2), jk.device_put(floats(rng, 3)))], asked


# --- What learners wrote ------------------------------------------------------------------------------------------


@check(
    "05.1",
    "Two classes of the same name are different kinds of nodes.",
    against=["trees that print alike are the same"],
)
def classes_of_one_name(jk, rng):
    def made(cls):
        jk.tree_util.register_pytree_node(cls, lambda p: ((p.x,), None), lambda _, x: cls(*x))
        return cls

    class P:
        def __init__(self, x):
            self.x = x

    first, x = P, floats(rng, 3)
    second = type("P", (), {"__init__": P.__init__, "__qualname__": P.__qualname__, "__module__": P.__module__})
    calls = [((cls(x),), {}) for cls in map(made, (first, second))]
    return traces(jk, shuffled(rng, 2 * calls))


@check(
    "05.2",
    "Each callable without a hash has a cache of its own.",
    against=["all callables without a hash can share a cache"],
)
def several_without_a_hash(jk, rng):
    class Scale:
        __hash__ = None

        def __init__(self, scale):
            self.scale = scale

        def __call__(self, x):
            return x * self.scale

    x = floats(rng, 3)
    return [jk.jit(Scale(float(scale))).trace(x).jaxpr for scale in floats(rng, 3)]


# --- Programs that nobody wrote before ----------------------------------------------------------------------------

NEW = "Random programs, new ones at each save."


@check("05.1", NEW, drawn=True)
def programs_1(jk, rng):
    return random_programs(jk, rng, of_calls.calls(), 10, by_numpy=False)


@check("05.2", NEW, drawn=True)
def programs_2(jk, rng):
    return random_programs(jk, rng, of_calls.functions, 10, by_numpy=False)


@check("05.3", NEW, drawn=True)
def programs_3(jk, rng):
    return random_programs(jk, rng, of_calls.tables, 30, by_numpy=False)


@check("05.4", NEW, drawn=True, tolerance=1e-4)
def programs_4(jk, rng):
    return random_programs(jk, rng, of_calls.calls(runs=True), 2, graded=20, by_numpy=False)


@check("05.5", NEW, drawn=True)
def programs_5(jk, rng):
    return random_programs(jk, rng, of_calls.misses, 10, by_numpy=False)


@check("05.6", NEW, drawn=True)
def programs_6(jk, rng):
    return random_programs(
        jk, rng, of_arrays.plain("jit unary binary constant jit", way="jax.make_jaxpr(f)({args})"), 4, by_numpy=False
    )


@check("05.7", NEW, drawn=True, tolerance=1e-4)
def programs_7(jk, rng):
    return random_programs(jk, rng, of_calls.warm, 2, graded=20, by_numpy=False)


@check("05.8", NEW, drawn=True, tolerance=1e-5)
def programs_8(jk, rng):
    return random_programs(jk, rng, of_mended.keyed, 6, graded=20, by_numpy=False)
