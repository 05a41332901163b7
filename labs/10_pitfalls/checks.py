"""The programs that the exercises of lab 10 must run like the reference."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import itertools
import operator
import sys
import types

import numpy as np

from jitkit.kata.checking import check, module, of_mended, raised, random_programs, run_by_numpy


def mended(jk):
    """Return the module of the exercises."""
    return module(jk, "kata.subjects.pitfalls")


CONVERSIONS = ("stage", "convert_element_type")  # programs of `jnp.asarray` and `astype`


def programs_of(events, conversions=False):
    """Return the names of the programs that were compiled, without programs that only make an array."""
    names = [event.function for event in events if event.stage == "compilation"]
    return names if conversions else [name for name in names if name not in CONVERSIONS]


def counted(jk, program):
    """Run a program from empty caches. Return its result, how many functions were traced, and the names of the compiled programs."""
    jk.clear_caches()
    known = jk.explain().misses
    with jk.base.stage_log.listen() as events:
        result = program()
    fresh = [miss for miss in jk.explain().misses if not any(miss is other for other in known)]
    return result, sum(miss.traced for miss in fresh), programs_of(events)


def compiled_since(jk, program, conversions=False):
    """Run a program; return the names of the programs that it compiles in addition to the cached ones."""
    with jk.base.stage_log.listen() as events:
        program()
    return programs_of(events, conversions)


def at_most(most, number, what):
    """Return a text for a number: one text for all numbers from 1 to `most`; otherwise the number itself."""
    allowed = "1" if most == 1 else f"1 to {most}"
    return f"{what}: {allowed if 1 <= number <= most else number}"


def few(most, programs, what):
    """Return `at_most` of the number of compiled programs; if there are too many, or none, print their names."""
    if not 1 <= len(programs) <= most:
        told(programs)
    return at_most(most, len(programs), what)


def exactly(number, programs, what):
    """Return how many programs were compiled; if it is not the right number, print their names."""
    if len(programs) != number:
        told(programs)
    return {what: len(programs)}


def told(programs):
    """Print what was compiled, and how often."""
    times = [name if n == 1 else f"{name}, {n} times" for name, n in collections.Counter(programs).items()]
    print("compiled:", "; ".join(times) or "nothing. (Is the function jitted?)")


@contextlib.contextmanager
def reading(jk, notes=None):
    """Within the block, note "read" each time that a program asks for the numbers of an array, or waits for arrays."""
    notes, kind = [] if notes is None else notes, jk.Array
    names = [
        n
        for n in ("__float__", "__int__", "__bool__", "__array__", "item", "tolist", "block_until_ready")
        if hasattr(kind, n)
    ]
    before = {name: kind.__dict__.get(name) for name in names}
    executing = module(jk, "runtime.executing")
    of_tree = executing.block_until_ready

    def noting(method):
        @functools.wraps(method)
        def read(*args, **kwargs):
            notes.append("read")
            return method(*args, **kwargs)

        return read

    try:
        for name in names:
            setattr(kind, name, noting(getattr(kind, name)))
        executing.block_until_ready = noting(of_tree)
        yield notes
    finally:
        executing.block_until_ready = of_tree
        for name, method in before.items():
            if method is None:
                delattr(kind, name)
            else:
                setattr(kind, name, method)


def step_by_step(jk, function, *args):
    """Return the results of a function, whose operations numpy computes one by one: compiled, a product of 0 and nan may become 0."""
    return run_by_numpy(jk.make_jaxpr(function)(*args), *args)


# --- 10.1 Measure honestly ----------------------------------------------------------------------------------------


class Machine:
    """A simulated clock and device. A call puts work into the device's queue and returns; the first call also compiles."""

    def __init__(self, compile=0.0, work=0.5, slow_call=None, works=()):
        self.now = self.free = 0.0
        self.compile, self.work, self.slow_call, self.works = compile, work, slow_call, works
        self.received = []

    def clock(self):
        """Return the time in seconds."""
        return self.now

    def call(self, *args):
        """Put work into the queue, and return its result, which is pending."""
        self.received.append(args)
        self.now += 0.001 + (self.compile if len(self.received) == 1 else 0.0)
        count = len(self.received)
        work = self.works[count - 1] if count <= len(self.works) else self.work
        work += 60.0 if count == self.slow_call else 0.0
        self.free = max(self.free, self.now) + work
        return Pending(self, self.free)


class Pending:
    """A result that is ready at a certain time of the simulated clock."""

    def __init__(self, machine, ready):
        self.machine, self.ready = machine, ready

    def block_until_ready(self):
        """Set the clock to the time at which the result is ready, if that is later."""
        self.machine.now = max(self.machine.now, self.ready)
        return self

    def __array__(self, dtype=None, copy=None):
        """Wait until the result is ready, and return 0: reading it takes as long as waiting for it."""
        self.block_until_ready()
        return np.zeros((), dtype)


@check(
    "10.1",
    "A call is over when its result has been computed, not when the call returns.",
    against=["dispatch time is run time", "waiting once, at the end, is the same"],
    tolerance=1e-6,
)
def waits(jk, rng):
    machine = Machine(work=float(rng.uniform(0.1, 0.9)))
    return mended(jk).call_seconds(machine.call, tries=5, clock=machine.clock)


@check(
    "10.1",
    "The first call compiles. It is reported by itself, and does not affect the typical time.",
    against=["the first call is typical", "the first call is one of the tries"],
    tolerance=1e-6,
)
def the_first_call(jk, rng):
    machine = Machine(compile=float(rng.uniform(2.0, 9.0)))
    return mended(jk).call_seconds(machine.call, tries=1, clock=machine.clock)


@check(
    "10.1",
    "One try that was interrupted for a minute changes nothing.",
    against=["the mean is typical"],
    tolerance=1e-6,
)
def one_bad_try(jk, rng):
    machine = Machine(slow_call=int(rng.integers(2, 9)), work=float(rng.uniform(0.25, 1.0)))
    return mended(jk).call_seconds(machine.call, tries=9, clock=machine.clock)


@check(
    "10.1",
    "The typical time is the median: for an even number of tries, the mean of the two in the middle.",
    tolerance=1e-6,
    against=["the fastest try is typical", "one of the times is always in the middle"],
)
def medians(jk, rng):
    tries = [int(n) for n in rng.permutation([4, 5])]
    machines = [Machine(works=rng.uniform(0.1, 9.0, size=1 + n).tolist()) for n in tries]
    return [mended(jk).call_seconds(m.call, tries=n, clock=m.clock) for n, m in zip(tries, machines, strict=False)]


@check(
    "10.1",
    "A function may return a tree of results, and the stopwatch waits for all of them.",
    against=["a result is one array"],
    tolerance=1e-6,
)
def trees(jk, rng):
    machine, other = Machine(work=float(rng.uniform(1.0, 2.0))), Machine()
    other.__dict__ = machine.__dict__  # two objects with one clock and one queue
    results = [
        lambda: {"small": machine.call(), "large": [other.call()]},
        lambda: {"large": machine.call(), "small": (other.call(),)},
    ]
    return [mended(jk).call_seconds(f, tries=4, clock=machine.clock) for f in results]


@check(
    "10.1",
    "The function is called once more than `tries` says, each time with the arguments.",
    against=["one more call for warming up does no harm"],
)
def calls(jk, rng):
    machine, n = Machine(), int(rng.integers(2, 9))
    mended(jk).call_seconds(machine.call, n, "text", tries=n, clock=machine.clock)
    return machine.received


# --- 10.2 A jit in a loop -----------------------------------------------------------------------------------------


def parabola(turns):
    """Return the gradient of x**2 / 2, as a function that notes each time that Python runs it."""

    def gradient(x):
        turns.append(None)
        return x * 1.0

    return gradient


@check(
    "10.2",
    "Each rate is used once, in its turn. The x that the caller passed is still there afterwards.",
    against=[
        "every step uses the first rate",
        "x becomes a float by itself",
        "without rates, x is returned as it came",
        "a float16 is exact enough for a rate",
        "equal rates are used once",
        "the caller does not use x any more",
    ],
    tolerance=1e-5,
)
def descent(jk, rng):
    x = jk.numpy.asarray(rng.normal(size=4).astype("float32"))
    rates = rng.uniform(0.1, 0.5, size=6).tolist()
    rates.append(rates[int(rng.integers(6))])
    # the order of the rates makes a difference, and so do their last digits
    bent = mended(jk).descend(lambda x: jk.numpy.sin(3.0 * x) - 50.0, x, rates)
    return bent, x, mended(jk).descend(parabola([]), [1, 2, 3], [])


@check(
    "10.2",
    "The gradient is traced once, however many steps there are.",
    against=["two lambdas with the same code are the same function"],
    fixed="as many programs for any numbers",
)
def traced_once(jk, rng):
    turns, x = [], rng.normal(size=4).astype("float32")
    mended(jk).descend(parabola(turns), x, [0.25] * 6)
    return at_most(1, len(turns), "runs of `gradient` in 6 steps")


@check(
    "10.2",
    "A new rate needs no new program.",
    against=["static is a cure-all", "two lambdas with the same code are the same function", "the rate is static"],
    fixed="as many programs for any numbers",
)
def other_rates(jk, rng):
    turns, x = [], rng.normal(size=4).astype("float32")
    mended(jk).descend(parabola(turns), x, rng.uniform(0.1, 0.5, size=6).tolist())
    return at_most(1, len(turns), "runs of `gradient` in 6 steps, each with another rate")


@check(
    "10.2",
    "The whole step is in one program: nothing runs beside it, operation by operation.",
    against=["jitting the costly part is enough", "numpy may compute what is left of a step"],
    fixed="as many programs for any numbers",
)
def one_program(jk, rng):
    x = rng.normal(size=4).astype("float32")
    with reading(jk) as notes:
        result, _, programs = counted(jk, lambda: mended(jk).descend(parabola([]), x, [0.5, 0.25, 0.125]))
    return {
        "programs": few(1, programs, "compiled programs, beside conversions"),
        "numbers read for numpy": len(notes),
        "an array of jax": isinstance(result, jk.Array),
    }


@check(
    "10.2",
    "x may begin as a number or a list; the first step and the second one share a program even so.",
    against=["the type of the first x does not matter"],
    tolerance=1e-5,
)
def first_types(jk, rng):
    found = []
    for x in (
        1,
        float(rng.normal()),
        [1, 2, 3],
        np.arange(3),
        rng.normal(size=3),
        rng.normal(size=3).astype("float16"),
    ):
        turns = []
        found.append(mended(jk).descend(parabola(turns), x, [0.5, 0.25, 0.125]))
        found.append(at_most(1, len(turns), f"runs of `gradient`, with {x!r} as the first x"))
    return found


@check(
    "10.2",
    "Rates may be ints, floats and numpy numbers, all in one list.",
    against=["1 and 1.0 are the same to jit", "ints and floats are one type to jit"],
    fixed="as many programs for any numbers",
)
def types_of_rates(jk, rng):
    turns, x = [], rng.normal(size=4).astype("float32")
    rates = [0.5, 1, np.float64(0.25), np.float32(0.25), np.int32(1)]
    mended(jk).descend(parabola(turns), x, [rates[i] for i in rng.permutation(5)])
    return at_most(1, len(turns), "runs of `gradient` for rates of five types")


# --- 10.3 Buckets -------------------------------------------------------------------------------------------------


@check(
    "10.3",
    "A bucket is the least power of two with room for the row, and has 8 places or more.",
    against=[
        "a bucket must be larger than its row",
        "the next multiple of 8 will do",
        "a float16 or float32 is exact enough for the logarithm of a length",
    ],
)
def buckets(jk, rng):
    lengths = [1, 7, 8, 9, 16, 17, 64, 65, 1024, int(rng.integers(100, 4000)), 2 ** int(rng.integers(11, 28)) + 1]
    return {n: mended(jk).bucket_size(n) for n in lengths}


@check(
    "10.3",
    "The variance is that of the first n numbers; zeros after them do not count.",
    against=[
        "zeros do not change the variance",
        "the length of x is the number of its elements",
        "the divisor of the variance is n - 1",
    ],
    tolerance=1e-4,
)
def zeros_after(jk, rng):
    x = np.zeros(16, "float32")
    x[:5] = rng.normal(size=5) + 3.0
    return mended(jk).variance_of_first(x, 5)


@check(
    "10.3",
    "What is in the padding does not matter: it may be nan. A nan among the numbers that are used makes the variance nan.",
    against=["zeros do not change the variance", "multiplying by 0 makes everything 0"],
    tolerance=1e-4,
)
def nans_after(jk, rng):
    x = np.full(16, np.nan, "float32")
    x[:5] = rng.normal(size=5)
    variance, bad = mended(jk).variance_of_first, x.copy()
    bad[int(rng.integers(5))] = np.nan  # one of the five numbers that count
    return variance(x, 5), step_by_step(jk, variance, x, 5), variance(bad, 5)


@check(
    "10.3",
    "Numbers that are far from zero, and near to each other, keep their variance.",
    tolerance=1e-3,
    against=["the variance is best computed as mean(x²) - mean(x)²"],
)
def far_from_zero(jk, rng):
    x = np.zeros(16, "float32")
    x[:3] = 1e4 + rng.choice(9, size=3, replace=False)
    return mended(jk).variance_of_first(x, 3)


@check(
    "10.3",
    "Equal numbers have exactly the variance 0, and numbers near to each other a small one.",
    against=[
        "the count needs an added 1e-6",
        "the variance needs an added 1e-6",
        "the count needs an added 1e-6",
        "the variance needs an added 1e-6",
    ],
)
def nothing_added(jk, rng):
    variance, step = mended(jk).variance_of_first, int(rng.integers(1, 9))
    equal, near = np.zeros((2, 8), "float32")
    equal[:4] = rng.integers(50, 100)
    near[:2] = 3.0 - step / 1024, 3.0 + step / 1024  # all exact in float32, so that a millionth is seen
    return [float(variance(equal, 4)) * 1e10, float(variance(near, 2)) * 1024**2]


@check(
    "10.3",
    "Rows of many lengths have their variances, each its own; and the caller's rows are as they were.",
    against=[
        "every call gets the length of the last row",
        "only one of several rows of the same length counts",
        "the caller's rows may grow",
        "the caller's rows may be changed",
        "no row is longer than 1024",
    ],
    tolerance=1e-4,
)
def many_lengths(jk, rng):
    rows = [rng.normal(size=n).astype("float32") for n in (3, 12, 8, 1, 3)]
    lists = [row.tolist() for row in rows]
    long = rng.normal(size=1500).astype("float32") + np.float32(3) * (np.arange(1500) > 1024)
    return mended(jk).variances(rows), mended(jk).variances(lists), lists, rows, mended(jk).variances([long])


@check(
    "10.3",
    "Exactly the first n of some thousand numbers count.",
    tolerance=1e-4,
    against=["a float16 is exact enough for the number of elements"],
)
def thousands(jk, rng):
    n = 2051 + 4 * int(rng.integers(400))
    x = np.full(4096, np.nan, "float32")
    x[:n] = rng.normal(size=n)
    return step_by_step(jk, mended(jk).variance_of_first, x, n)


@check(
    "10.3",
    "There is one program for each bucket, also for the next list of rows, and whatever the rows' dtypes are.",
    against=[
        "jit handles any shape",
        "padding to the longest row is enough",
        "the next multiple of 8 will do",
        "static is a cure-all",
        "the caller will jit the function",
        "each row may keep its own dtype",
    ],
    fixed="as many programs for any numbers",
)
def few_programs(jk, rng):
    ones = np.ones(32, "float32")
    mended(jk).variances([ones[:8], ones[:16]])
    kinds = [list, np.int32, lambda x: np.asarray(x).tolist()]  # rows may be of any type of number
    lists = rng.permutation([*range(1, 9), *range(17, 33)]).reshape(8, 3)
    programs = compiled_since(
        jk,
        lambda: [
            mended(jk).variances([kind(ones[:n]) for kind, n in zip(kinds, lengths, strict=True)]) for lengths in lists
        ],
    )
    return few(
        1, programs, "compiled programs for lengths up to 32, in eight lists, where those for 8 and 16 are there"
    )


@check(
    "10.3",
    "Nothing else is compiled: the padding is numpy's.",
    against=["padding with jnp costs nothing"],
    fixed="as many programs for any numbers",
)
def padding_compiles_nothing(jk, rng):
    rows = [[float(i)] * int(n) for i, n in enumerate(rng.permutation([*range(9, 16)]))]
    mended(jk).variances([np.ones(16)])
    programs = compiled_since(jk, lambda: mended(jk).variances(rows), conversions=True)
    return exactly(0, programs, "programs compiled for lengths up to 16, beside the one")


# --- 10.4 Chosen by a mask ----------------------------------------------------------------------------------------


@check(
    "10.4",
    "The mean is that of the chosen elements: their sum, divided by their number.",
    against=[
        "the mean is over all elements",
        "a mask is an index like any other",
        "`>` and `>=` are the same",
        "the mean of a matrix is a row",
        "a threshold is finite",
    ],
    tolerance=1e-5,
)
def means(jk, rng):
    x = rng.normal(size=(3, 4)).astype("float32")
    return [mended(jk).mean_above(x, t) for t in (0.0, -9.0, float(np.median(x[0])), float(x[1, 1]), -np.inf, np.inf)]


@check(
    "10.4",
    "Where nothing is chosen, the mean is 0.",
    against=["something is always chosen"],
    fixed="the mean of nothing is 0",
)
def nothing_chosen(jk, rng):
    return mended(jk).mean_above(rng.normal(size=(3, 4)).astype("float32"), 100.0)


@check(
    "10.4",
    "An infinity that is not chosen does no harm; one that is chosen is the mean.",
    against=["multiplying by 0 makes everything 0"],
    tolerance=1e-5,
)
def infinities(jk, rng):
    x = rng.normal(size=(3, 4)).astype("float32")
    x.flat[rng.permutation(x.size)[:2]] = -np.inf, 2.0  # two places, whatever the seed
    mean = mended(jk).mean_above
    return mean(x, 0.0), step_by_step(jk, mean, x, 0.0), mean(-x, -1.0)


@check(
    "10.4",
    "The mean may be of thousands of elements, and of an array without an axis.",
    against=["a count fits into a byte", "a float16 is exact enough for a count", "x always has an axis 0"],
    tolerance=1e-5,
)
def of_many_and_of_one(jk, rng):
    x = rng.uniform(1.0, 2.0, size=(3, 2051 + 4 * int(rng.integers(400)))).astype("float32")
    x[:2] = -1.0
    return [step_by_step(jk, mended(jk).mean_above, of, 0.0) for of in (x, x[2, 0], x[0, 0])]


@check(
    "10.4",
    "The mean of one element is exactly that element, however small, and however near to the threshold.",
    against=[
        "adding 1e-6 to a divisor changes nothing",
        "a sum may begin with 1e-6",
        "an element must be greater by 1e-6",
        "adding 1e-6 to a divisor changes nothing",
        "a sum may begin with 1e-6",
        "an element must be greater by 1e-6",
    ],
    tolerance=0.5,
)
def of_one_element(jk, rng):
    x = (rng.normal(size=12) * 1e-3).astype("float32")
    k, largest = int(rng.integers(12)), np.float32(rng.uniform(5e-3, 9e-3))
    x[k] = largest
    means = [mended(jk).mean_above(x, float(t)) for t in (np.nextafter(largest, np.float32(0)), largest - 1e-4)]
    differs = [(float(mean) / float(largest) - 1) * 1e6 for mean in means]
    return {"the element": float(largest) * 1e3, "differs from the element, in millionths of it": differs}


@check(
    "10.4",
    "There is one program, whatever the threshold is and however many elements are chosen.",
    against=["a mask is an index like any other", "the caller will jit the function"],
    fixed="as many programs for any numbers",
)
def one_trace_for_all(jk, rng):
    x = rng.normal(size=12).astype("float32")
    thresholds = rng.normal(size=5).tolist()

    def of_one(name, *size):
        function = getattr(mended(jk), name)
        programs = counted(jk, lambda: [function(x, t, *size) for t in thresholds])[2]
        calls_python = "callback" in str(jk.make_jaxpr(lambda x, t: function(x, t, *size))(x, 0.5))
        return few(1, programs, f"compiled programs of `{name}` for 5 thresholds"), calls_python

    return of_one("mean_above"), of_one("first_above", 3)


@check(
    "10.4",
    "The first chosen elements come in their own order.",
    against=[
        "the first chosen elements are the largest ones",
        "a mask is an index like any other",
        "the elements that are not chosen are finite",
        "an element that is 0 is never chosen",
    ],
)
def first_ones(jk, rng):
    x = rng.normal(size=12).astype("float32")
    x[:3] = 2.0, 1.0, 3.0
    infinite, zeros = np.full(5, -np.inf, "float32"), np.zeros(5, "float32")
    infinite[int(rng.integers(5))] = np.inf
    zeros[int(rng.integers(3))] = rng.uniform(1, 2)
    first = mended(jk).first_above
    alone = step_by_step(jk, lambda x, t: first(x, t, 3), infinite, 0.5)
    return [first(x, t, 3) for t in (0.5, 1.0)], first(infinite, 0.5, 3), alone, first(zeros, -1.0, 3)


@check(
    "10.4",
    "Unused places are 0; the count is that of all chosen elements, not only of those that fit.",
    against=[
        "the unused places may hold anything",
        "the count is that of the elements that fit",
        "an element that is hardly greater may be left out",
        "only the returned elements are counted",
    ],
)
def too_few_and_too_many(jk, rng):
    x = -1.0 - rng.uniform(size=12).astype("float32")
    few = x.copy()
    few[int(rng.integers(3, 12))] = 5.0
    first = mended(jk).first_above
    return first(few, 0.0, 3), first(-x, 0.0, 3), first(few, float(np.nextafter(np.float32(5), np.float32(0))), 3)


# --- 10.5 A global that changes -----------------------------------------------------------------------------------


def swept(jk, rng, schedule):
    """Return the results of `sweep`, for logits of one shape."""
    return mended(jk).sweep(rng.normal(size=4).astype("float32"), schedule)


def compiled_after(jk, rng, first, schedule):
    """Return the names of the programs that a sweep compiles after a first one has run."""
    swept(jk, rng, first)
    return compiled_since(jk, lambda: swept(jk, rng, schedule))


@check(
    "10.5",
    "Each temperature gives its own probabilities; at a very low one, the largest probability is 1.",
    against=[
        "a changed global is seen",
        "exp never overflows",
        "the sum of the exponentials needs an added 1e-6",
        "the result is divided by the temperature",
        "a temperature is positive",
    ],
    tolerance=1e-5,
)
def temperatures(jk, rng):
    certain = mended(jk).sweep(rng.permutation(4).astype("float32"), [(0.001, False)])[0]
    missing = {"missing of the largest probability, in millionths": (1 - float(np.asarray(certain).max())) * 1e6}
    return swept(jk, rng, [(t, False) for t in (*rng.uniform(0.5, 5.0, size=4), 0.001, -2.0)]), missing


@check(
    "10.5",
    "With `in_logs`, the logarithms of the probabilities are returned, exact also for a probability near 0.",
    against=[
        "a changed global is seen",
        "the logarithm of softmax is as good as log_softmax",
        "the softmax needs an added 1e-6",
        "the logarithm needs an added 1e-6",
        "the logarithm may be taken of the softmax",
        "a temperature always has the same result",
    ],
    tolerance=1e-5,
)
def logarithms(jk, rng):
    schedule = [(float(t), i % 2 == 1) for i, t in enumerate(rng.uniform(0.5, 5.0, size=4))]
    (t, in_logs), *_ = schedule
    return swept(jk, rng, [*schedule, (0.001, True), (t, not in_logs)])


@check(
    "10.5",
    "A new temperature needs no new program.",
    against=["static is a cure-all", "a new closure for each setting is cheap"],
    fixed="as many programs for any numbers",
)
def traces_for_temperatures(jk, rng):
    first, *others = [(float(t), False) for t in rng.uniform(0.5, 5.0, size=6)]
    return exactly(0, compiled_after(jk, rng, [first], others), "programs compiled for 5 more temperatures")


@check(
    "10.5",
    "Two programs are enough, one for probabilities and one for logarithms, in any order, and the next sweep uses them, too.",
    against=["static is a cure-all", "a new closure for each setting is cheap", "an `if` works on any argument"],
    fixed="as many programs for any numbers",
)
def traces_for_both(jk, rng):
    schedule = [(float(t), bool(i % 2)) for i, t in enumerate(rng.uniform(0.5, 5.0, size=8))]
    schedules = [schedule, [schedule[i] for i in rng.permutation(8)]]
    logits = rng.normal(size=4).astype("float32")
    _, _, programs = counted(jk, lambda: [mended(jk).sweep(logits, s) for s in schedules])
    return exactly(2, programs, "compiled programs for two sweeps of both kinds")


@check(
    "10.5",
    "Temperatures may be ints and floats.",
    against=["1 and 1.0 are the same to jit"],
    fixed="as many programs for any numbers",
)
def types_of_temperatures(jk, rng):
    first = [(float(rng.uniform(0.5, 5.0)), False)]
    others = [(2, False), (0.5, False), (np.float32(4.0), False), (np.int32(3), False)]
    return exactly(0, compiled_after(jk, rng, first, others), "programs compiled for temperatures of other types")


# --- 10.6 A tracer that gets away ---------------------------------------------------------------------------------


def found_while_tracing(jk, make_state):
    """Return the result of `leaks` for a state that contains a traced value."""
    found = []

    def f(x):
        found.append(mended(jk).leaks(make_state(x)))
        return x

    jk.make_jaxpr(f)(1.0)
    return found


@check(
    "10.6",
    "A tracer is found wherever it is in the tree, and its path is given, in the order of the leaves.",
    against=[
        "a leaked tracer is at the top of the tree",
        "paths are sorted",
        "a tuple is one leaf",
        "the root of the tree has no path",
        "the attributes of any object are part of the tree",
    ],
)
def nested(jk, rng):
    mean, deep, count = (f"{name}{rng.integers(99)}" for name in ("mean", "deep", "count"))
    row = [1.0] * 12
    places = [int(i) for i in (rng.integers(2, 10), rng.integers(10, 12))]

    def in_a_row(x):
        return [x if i in places else number for i, number in enumerate(row)]

    trees = (
        lambda x: {mean: [1.0, x * 2.0, {deep: x}], count: x, "n": 3},
        in_a_row,
        lambda x: x,
        lambda x: [(1.0, x), {deep: (x,)}],
        lambda x: types.SimpleNamespace(**{mean: x}),
    )
    return [found_while_tracing(jk, tree) for tree in trees]


@check(
    "10.6",
    "Arrays and numbers are not leaks, even in the middle of a trace.",
    against=["whatever has a shape and a dtype is a tracer", "whatever cannot be read is a tracer"],
)
def no_leaks(jk, rng):
    class TracerOfBullets:
        _trace = None

    row = rng.normal(size=3).astype("float32")
    array = jk.device_put(row)
    deleted = jk.device_put(row)
    deleted.delete()
    others = [TracerOfBullets(), jk.ShapeDtypeStruct((2,), "int32"), deleted]
    beside = [row, array, 2.0, None, "text", *others]
    i = int(rng.integers(len(beside)))
    return found_while_tracing(jk, lambda x: [*beside[:i], x, *beside[i:]])


def updated(jk, rows):
    """Return a RunningMean that has taken these rows, and the results of its updates."""
    mean = mended(jk).RunningMean(rows[0].shape)
    return mean, [mean.update(row) for row in rows]


@check(
    "10.6",
    "Every observation counts: mean, count and distances are right after several.",
    against=[
        "what a traced function assigns is assigned at every call",
        "the distance is from the old mean",
        "the mean is divided by the old count",
        "nan is not an observation",
    ],
    tolerance=1e-5,
)
def observations(jk, rng):
    rows = rng.normal(size=(5, 3)).astype("float32")
    rows[3, int(rng.integers(3))] = np.nan
    mean, distances = updated(jk, rows)
    return [*distances, mean.mean, mean.count]


@check(
    "10.6",
    "The first observation is the mean, to the last digit: its distance is 0.",
    against=["the number of observations needs an added 1e-6", "the number of observations needs an added 1e-6"],
)
def the_first_observation(jk, rng):
    x = (rng.normal(size=3) * 100).astype("float32")
    mean, _, distance = mended(jk).observed(np.zeros(3, "float32"), np.int32(0), x)
    return mean, {"distance, in millionths": (np.asarray(distance) * 1e6).tolist()}


@check(
    "10.6",
    "`observed` is compiled, once for all observations, and gives the mean, the count and the distance.",
    against=["the caller will jit the function"],
    tolerance=1e-5,
)
def one_observation(jk, rng):
    means, rows = rng.normal(size=(2, 4, 3)).astype("float32")
    given = list(zip(means, np.arange(4, dtype="int32"), rows, strict=True))
    results, _, programs = counted(jk, lambda: [mended(jk).observed(*x) for x in given])
    return results, few(1, programs, "compiled programs of `observed` for 4 observations")


@check(
    "10.6",
    "After an update there is no tracer in the object.",
    against=["what a traced function assigns is assigned at every call"],
    fixed="none of them",
)
def state_without_tracers(jk, rng):
    mean, _ = updated(jk, rng.normal(size=(1, 3)).astype("float32"))
    return {name: isinstance(value, jk.core.Tracer) for name, value in sorted(vars(mean).items())}


@check(
    "10.6",
    "One trace serves all updates of all objects.",
    against=["each object needs a program of its own", "a Python number will do to begin with"],
    fixed="as many programs for any numbers",
)
def traces_of_updates(jk, rng):
    rows = rng.normal(size=(4, 3)).astype("float32")
    _, traces, _ = counted(jk, lambda: [updated(jk, rows) for _ in range(3)])
    return at_most(1, traces, "traces for 12 updates of 3 objects")


@check(
    "10.6",
    "An update that fails leaves the object as it was.",
    against=[
        "state may change before the result is there",
        "the first observation may have any shape",
        "an observation only needs as many elements as the mean",
    ],
    tolerance=1e-5,
)
def all_or_nothing(jk, rng):
    mean, _ = updated(jk, rng.normal(size=(2, 3)).astype("float32"))
    new, square = mended(jk).RunningMean((3,)), mended(jk).RunningMean((2, 2))
    errors = [raised(each.update, rng.normal(size=4).astype("float32")) for each in (mean, new, square)]
    return errors, [(each.mean, each.count) for each in (mean, new, square)]


# --- 10.7 Which argument? -----------------------------------------------------------------------------------------


def as_it_was(jk, x, rates, held):
    """Run the loop in `to_blame`'s docstring, but pass the arguments that `held` names with their first values in every call. Return how
    many programs are compiled.
    """

    @jk.jit
    def step(x, rate, log):
        loss = jk.numpy.sum(x * x)
        return x - rate * 2.0 * x, {**log, f"loss {len(log)}": loss}

    def program():
        now, first = x, {"x": x, "rate": rates[0], "log": {}}
        log = {}
        for rate in rates:
            given = {"x": now, "rate": rate, "log": log}
            now, log = step(**given | {name: first[name] for name in held & first.keys()})

    return len(counted(jk, program)[2])


@check(
    "10.7",
    "With the first argument that you name kept constant, hardly anything is compiled after the first step.",
    against=["a new value of an argument is a new key", "the first difference is the reason"],
    fixed="as many programs for any numbers",
)
def every_step(jk, rng):
    x, rates = rng.normal(size=3).astype("float32"), [1, *rng.uniform(0.1, 0.5, size=3).tolist()]
    always, _ = mended(jk).to_blame()
    return {"kept constant": always, "programs for 4 steps": as_it_was(jk, x, rates, {always})}


@check(
    "10.7",
    "With both arguments that you name kept constant, one program is left.",
    against=[
        "a new value of an argument is a new key",
        "the first difference is the reason",
        "the input is always to blame",
    ],
    fixed="as many programs for any numbers",
)
def once(jk, rng):
    x, rates = rng.normal(size=3).astype("float32"), [1, *rng.uniform(0.1, 0.5, size=3).tolist()]
    named = mended(jk).to_blame()
    return {"kept constant": list(named), "programs for 4 steps": as_it_was(jk, x, rates, set(named))}


@check(
    "10.7",
    "The result is complete: the last x, and each loss under its name. The caller's x is still there.",
    against=[
        "the loss is computed after the step",
        "the loss is that of the last step",
        "the caller does not use x any more",
        "loss 10 comes after loss 1",
    ],
    tolerance=1e-5,
)
def fitted(jk, rng):
    x = jk.numpy.asarray(rng.normal(size=(2, 3)).astype("float32"))
    rates = rng.uniform(0.1, 0.4, size=int(rng.integers(11, 14))).tolist()
    return mended(jk).fit(x, rates), mended(jk).fit(x, [])[1], x


@check(
    "10.7",
    "One program is enough for ints, floats and numpy numbers in one list.",
    against=[
        "1 and 1.0 are the same to jit",
        "the log can be passed to the step and returned",
        "each step may define its own function",
        "the caller will jit the function",
    ],
    fixed="as many programs for any numbers",
)
def programs_of_fit(jk, rng):
    x = rng.normal(size=3).astype("float32")
    rates = [1, float(rng.uniform()), np.float32(0.25), np.int32(1), np.float64(0.5)]
    return few(1, counted(jk, lambda: mended(jk).fit(x, rates))[2], "compiled programs for 5 steps, beside conversions")


@check(
    "10.7",
    "`fit` does not wait for losses: nobody reads a number of one before it is over.",
    against=["a float is as good as an array", "waiting for each loss costs nothing"],
)
def reads_nothing(jk, rng):
    x = rng.normal(size=3).astype("float32")
    with reading(jk) as notes:
        _, log = mended(jk).fit(x, rng.uniform(0.1, 0.4, size=int(rng.integers(2, 7))).tolist())
    return {"numbers read": notes, "losses": [isinstance(loss, jk.Array) for loss in log.values()]}


# --- 10.8 and 10.9 Which of these compiles twice? -----------------------------------------------------------------


def proven(jk, rng, predict, program):
    """Return what was predicted about a program, and what is true. `program` is the program in the docstring of `predict`."""
    said = predict()
    assert hasattr(said, "__index__"), f"`{predict.__name__}` should return a number"
    said, x = operator.index(said), rng.normal(size=3).astype("float32")
    _, _, programs = counted(jk, lambda: program(jk, x))
    return {"programs that are compiled": len(programs), "programs that you predict": said}


def quiz(jk):
    """Return the module of the quiz."""
    return module(jk, "kata.subjects.quiz")


@check(
    "10.8",
    "The prediction is right for calls with two dicts of the same content.",
    against=["the order of keys is in the tree"],
)
def dicts(jk, rng):
    def program(jax, x):
        difference = jax.jit(lambda pair: pair["a"] - pair["b"])
        difference({"a": x, "b": 2.0})
        difference({"b": 2.0, "a": x})

    return proven(jk, rng, quiz(jk).in_another_order, program)


@check(
    "10.8",
    "The prediction is right for calls with a list, a tuple, and a list of other numbers.",
    against=["a list is as good as a tuple", "each call has its numbers"],
)
def containers(jk, rng):
    def program(jax, x):
        difference = jax.jit(lambda pair: pair[0] - pair[1])
        difference([x, 2.0])
        difference((x, 2.0))
        difference([2.0 * x, 3.0])

    return proven(jk, rng, quiz(jk).list_or_tuple, program)


@check(
    "10.8",
    "The prediction is right for calls with an argument that is left out, an array, or None.",
    against=["what is left out is None"],
)
def optional(jk, rng):
    def program(jax, x):
        layer = jax.jit(lambda x, bias=None: 2.0 * x if bias is None else 2.0 * x + bias)
        layer(x)
        layer(x, x)
        layer(x, None)

    return proven(jk, rng, quiz(jk).with_a_bias, program)


@check(
    "10.8",
    "The prediction is right for calls with Python numbers: three ints and a float.",
    against=["each call has its numbers", "an int is as good as a float"],
)
def numbers(jk, rng):
    def program(jax, x):
        power = jax.jit(lambda x, n: x * n)
        for n in range(3):
            power(x, n)
        power(x, 2.5)

    return proven(jk, rng, quiz(jk).step_by_step, program)


@check(
    "10.8",
    "The prediction is right for calls with static tuples, and a static list.",
    against=["a list is as good as a tuple"],
)
def static_sizes(jk, rng):
    def program(jax, x):
        repeated = jax.jit(lambda x, shape: x + np.ones(shape, np.float32), static_argnums=1)
        repeated(x, (2, 3))
        repeated(x, (2, 3))
        repeated(x, (1, 3))
        with contextlib.suppress(ValueError):
            repeated(x, [2, 3])

    return proven(jk, rng, quiz(jk).sizes, program)


@check(
    "10.8",
    "The prediction is right for calls with static objects of an ordinary class.",
    against=["objects that look alike are equal"],
)
def static_objects(jk, rng):
    def program(jax, x):
        class Settings:
            def __init__(self, scale):
                self.scale = scale

        scaled = jax.jit(lambda x, settings: x * settings.scale, static_argnums=1)
        for _ in range(3):
            scaled(x, Settings(2.0))

    return proven(jk, rng, quiz(jk).settings, program)


@check(
    "10.8",
    "The prediction is right for calls with static objects of a frozen dataclass.",
    against=["every object is itself only"],
)
def static_dataclasses(jk, rng):
    def program(jax, x):
        @dataclasses.dataclass(frozen=True)
        class Settings:
            scale: float

        scaled = jax.jit(lambda x, settings: x * settings.scale, static_argnums=1)
        for _ in range(3):
            scaled(x, Settings(2.0))

    sys.modules.setdefault(__name__, types.ModuleType(__name__))  # where `dataclass` looks up the annotation
    return proven(jk, rng, quiz(jk).frozen_settings, program)


@check(
    "10.9",
    "The prediction is right for calls of one function that is jitted three times.",
    against=["each jit has a cache of its own"],
)
def same_function(jk, rng):
    def program(jax, x):
        def double(x):
            return x * 2.0

        for _ in range(3):
            jax.jit(double)(x)

    return proven(jk, rng, quiz(jk).jitted_in_a_loop, program)


@check(
    "10.9",
    "The prediction is right for calls of `functools.partial` objects of one function.",
    against=["the code is the same, so it is one function"],
)
def partials_of_one(jk, rng):
    def program(jax, x):
        def scaled(scale, x):
            return x * scale

        for _ in range(3):
            jax.jit(functools.partial(scaled, 2.0))(x)

    return proven(jk, rng, quiz(jk).partials, program)


@check(
    "10.9",
    "The prediction is right for calls of a method of one object.",
    against=["the code is the same, so it is one function"],
)
def methods_of_one(jk, rng):
    def program(jax, x):
        class Model:
            def apply(self, x):
                return x * 2.0

        model = Model()
        for _ in range(3):
            jax.jit(model.apply)(x)

    return proven(jk, rng, quiz(jk).bound_methods, program)


@check(
    "10.9",
    "The prediction is right for calls of a function with an `if` and a `for` over the shape.",
    against=["an `if` in a traced function is an error"],
)
def by_shape(jk, rng):
    def program(jax, x):
        @jax.jit
        def folded(x):
            if x.ndim > 1:
                x = x[0]
            for i in range(len(x)):
                x = x + i
            return x

        folded(x)
        folded(-x)
        folded(np.stack([x, x]))

    return proven(jk, rng, quiz(jk).pythons_if_and_for, program)


@check(
    "10.9",
    "The prediction is right for calls of a function that reads a variable from outside, which changes.",
    against=["a changed variable is seen"],
)
def from_outside(jk, rng):
    def program(jax, x):
        scale = 2.0
        scaled = jax.jit(lambda x: x * scale)
        scaled(x)
        scale = 3.0
        scaled(x)

    return proven(jk, rng, quiz(jk).closed_over, program)


@check(
    "10.9",
    "The prediction is right for losses that are converted to floats in the loop, and for losses that are kept as arrays.",
    against=["float costs nothing"],
)
def losses(jk, rng):
    notes = []

    def program(jax, x):
        step = jax.jit(lambda x: (x * 0.5, (x * x).sum()))
        losses = []
        for _ in range(3):
            x, loss = step(x)
            losses.append(float(loss))
        for _ in range(2):
            x, loss = step(x)
            losses.append(loss)

    said = int(quiz(jk).waits())
    with noting_calls(jk, notes), reading(jk, notes):
        program(jk, rng.normal(size=3).astype("float32"))
    waited = sum(before == "read" and now == "called" for before, now in itertools.pairwise(notes))
    return {"calls that wait for the one before": waited, "calls that you predict": said}


@contextlib.contextmanager
def noting_calls(jk, notes):
    """Within the block, note "called" at each call of a function that was jitted in it."""
    jit = jk.jit

    def noting(function):
        jitted = jit(function)

        def call(*args):
            notes.append("called")
            return jitted(*args)

        return call

    jk.jit = noting
    try:
        yield
    finally:
        jk.jit = jit


# --- Programs that nobody wrote before ----------------------------------------------------------------------------

NEW = "Random programs, new ones at each save."


@check("10.1", NEW, drawn=True)
def programs_1(jk, rng):
    return random_programs(jk, rng, of_mended.stopwatch, 6, graded=20, by_numpy=False)


@check("10.2", NEW, drawn=True, tolerance=0.0001)
def programs_2(jk, rng):
    return random_programs(jk, rng, of_mended.descent, 6, graded=20, by_numpy=False)


@check("10.3", NEW, drawn=True, tolerance=0.001)
def programs_3(jk, rng):
    return random_programs(jk, rng, of_mended.buckets, 6, graded=20, by_numpy=False)


@check("10.4", NEW, drawn=True, tolerance=1e-05)
def programs_4(jk, rng):
    return random_programs(jk, rng, of_mended.masks, 6, graded=20, by_numpy=False)


@check("10.5", NEW, drawn=True, tolerance=0.0001)
def programs_5(jk, rng):
    return random_programs(jk, rng, of_mended.temperatures, 6, graded=20, by_numpy=False)


@check("10.6", NEW, drawn=True, tolerance=1e-05)
def programs_6(jk, rng):
    return random_programs(jk, rng, of_mended.tracers, 6, graded=20, by_numpy=False)


@check("10.7", NEW, drawn=True, tolerance=0.0001)
def programs_7(jk, rng):
    return random_programs(jk, rng, of_mended.fits, 6, graded=20, by_numpy=False)
