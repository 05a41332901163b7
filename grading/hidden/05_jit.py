"""The checks of lab 05 that are used in grading only."""

from __future__ import annotations

import collections
import types

import numpy as np

from jitkit.kata.checking import check, module


def logged(log):
    def f(*args, **kwargs):
        log.append(1)
        return args

    return f


def floats(rng, *shape):
    return rng.normal(size=shape).astype("float32")


@check("05.1", "An array on a device, and one that was put there by name, are traced like one of numpy.", hidden=True)
def arrays_on_devices(jk, rng):
    log, x = [], floats(rng, int(rng.integers(3, 9)))
    f = jk.jit(logged(log))
    found = []
    values = [each for n in range(3) for each in (x[n:], jk.device_put(x[n:]), jk.device_put(x[n:], jk.devices()[0]))]
    for each in (values[i] for i in rng.permutation(len(values))):
        f.trace(each)
        found.append(len(log))
    return found


@check("05.1", "A sequence of calls of many kinds, by position and by keyword.", hidden=True)
def many_calls(jk, rng):
    log, found = [], []
    f = jk.jit(logged(log), static_argnames=("mode",))
    x = floats(rng, 4)
    calls = [
        ((x,), {}), ((x, x), {}), ((x,), {"mode": "a"}), ((x,), {"mode": "b"}), ((x, (x, None)), {}),
        ((x,), {"y": x}), ((x[:2],), {"mode": "a"}), ((x,), {"mode": ("a",)}), ((x.astype("float16"),), {}),
    ]  # fmt: skip
    calls = [calls[i] for i in rng.permutation(len(calls))]
    for args, kwargs in [*calls, *(calls[i] for i in rng.permutation(len(calls)))]:
        f.trace(*args, **kwargs)
        found.append(len(log))
    jitted = f._jitted
    keys = []
    for args, kwargs in calls:
        arguments, tree, avals = jitted.signature(args, kwargs)
        keys.append(jitted.key_of_call(arguments, tree, avals))
    return found, len(set(keys)), [len(key) for key in keys]


@check("05.2", "Nested functions, closures and errors, in turn.", hidden=True)
def tracing(jk, rng):
    log, scales = [], floats(rng, 2)

    @jk.jit
    def inner(x):
        log.append("inner")
        return x * scales[0]

    def outer(x, y):
        log.append("outer")

        @jk.jit
        def local(z):
            log.append("local")
            return inner(z) + y

        return local(x) + local(y) - inner(x)

    f = jk.jit(outer)
    f.trace(1.0, 2.0)
    programs = [f.trace(1.0, 2.0).jaxpr, jk.make_jaxpr(outer)(1.0, 2.0), f.trace(scales, 2.0).jaxpr]
    return programs, collections.Counter(log)


@check("05.3", "A long story of hits and misses.", hidden=True)
def long_story(jk, rng):
    table = module(jk, "pjit.compilation_cache").Table()
    misses = 0
    with module(jk, "base.config").override(jit_cache_size=5):
        for key in rng.integers(9, size=60):
            entry = table.entries.get((int(key),))
            if entry is None:
                misses += 1
                entry = types.SimpleNamespace(executable=object())
                table.executables[misses] = entry.executable
                table.insert((int(key),), entry, misses)
            elif table.crowded:
                table.touch((int(key),), entry)
    return misses, [key for (key,) in table.entries], sorted(table.records.values()), sorted(table.executables)


@check("05.4", "Static values, trees, host and device: what each call needs.", hidden=True)
def misses(jk, rng):
    x = floats(rng, 3)
    f = jk.jit(lambda pair, n: {"out": pair[0] * n, "rest": pair[1:]}, static_argnums=1)
    found, counts = [], []
    for args in [((x, x), 2), ((x, x), 3), ((jk.device_put(x), x), 2), ((x, 1.0), 2), ((x, x), 2)]:
        with module(jk, "base.stage_log").listen() as events:
            found.append(f(*args))
        counts.append(sorted(event.stage for event in events))
    stories = [(miss.reason, miss.traced, miss.compiled) for miss in jk.explain(f).misses]
    return found, counts, stories, f._cache_size()


@check("05.5", "The story of many misses.", hidden=True)
def stories(jk, rng):
    f = jk.jit(lambda x, options, n: x, static_argnums=2)
    x = floats(rng, 4)
    a, b = ("abcdef"[i] for i in rng.permutation(6)[:2])
    n = int(rng.integers(9))
    calls = [
        (x, {a: 1.0, b: x}, n), (x[1:], {a: 1.0, b: x}, n), (x, {a: 1, b: x[1:]}, n),
        (x[2:], {a: np.float32(1), b: x}, n + 1), (x, {a: 1.0}, n), (x[1:], {a: 1.0, b: x[2:]}, n),
    ]  # fmt: skip
    for args in calls:
        f.trace(*args)
    return [
        (miss.reason, miss.closest, [(d.kind, d.argument) for d in miss.differences]) for miss in jk.explain(f).misses
    ]


@check("05.6", "Calls in calls that close over each other's values.", hidden=True)
def nested(jk, rng):
    table = floats(rng, 3)

    def outer(x, y):
        @jk.jit
        def middle(a, b):
            inner = jk.jit(lambda c: {"sum": c + x, "rest": (c * a, table)}, donate_argnums=0)
            first = inner(b)
            return inner(first["sum"])["rest"], first

        twice = jk.jit(lambda z: z * 2, inline=True)
        return middle(twice(x), y), middle(y, x)

    return jk.make_jaxpr(outer)(table, floats(rng, 3))


@check("05.7", "A step with parameters in a tree, some of them donated, and a constant.", hidden=True, tolerance=1e-5)
def steps_of_training(jk, rng):
    table = rng.normal(size=6000).astype("float32")
    params = {"w": rng.normal(size=4).astype("float32"), "b": [jk.numpy.ones(4), 2.0]}

    def step(params, unread, rate):
        new = jk.tree.map(lambda p: p - rate * 0.1 * p, params)
        return new, (new["w"] * table[:4]).sum()

    jitted, losses = jk.jit(step, donate_argnums=0), []
    for rate in rng.uniform(size=5).tolist():
        params, loss = jitted(params, np.ones(3), rate)
        losses.append(loss)
    return params, losses


@check("05.8", "Two of them know nothing of each other; keys may be anything that can be hashed.", hidden=True)
def two_small_jits(jk, rng):
    jit_by = module(jk, "kata.subjects.small_jit").jit_by
    x = rng.normal(size=4).astype("float32")
    twice = jit_by(lambda x: ("twice", x.dtype.name), lambda x: x * 2)
    half = jit_by(lambda x: frozenset([x.shape]), lambda x: x / 2)
    return [f(y) for y in (x, x.view("int32")) for f in (twice, half)]
