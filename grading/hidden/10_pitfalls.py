"""The checks of lab 10 that are used in grading only."""

from __future__ import annotations

import numpy as np

from jitkit.kata.checking import check, module


def mended(jk):
    """Return the module of the exercises."""
    return module(jk, "kata.subjects.pitfalls")


@check(
    "10.1",
    "A function that does nothing in the background is timed, too; and two bad tries of seven do not matter.",
    hidden=True,
    tolerance=1e-6,
)
def at_once(jk, rng):
    times = [5.0, *(0.25 + 0.1 * float(t) for t in rng.uniform(size=7))]
    times[2] = times[5] = 100.0
    now, calls = [0.0], iter(times)

    def function(step):
        now[0] += next(calls) * step

    return mended(jk).call_seconds(function, 2.0, tries=7, clock=lambda: now[0])


@check("10.2", "Rates and x of any kind, in a longer descent.", hidden=True, tolerance=1e-4)
def a_longer_descent(jk, rng):
    turns = []
    center = rng.normal(size=3).astype("float32")

    def gradient(x):
        turns.append(None)
        return jk.numpy.tanh(x - center) * 2.0

    x = mended(jk).descend(gradient, [1, 2, 3], np.linspace(0.5, 0.01, 20))
    return x, len(turns) == 1


@check("10.3", "Lists of rows that come one after the other.", hidden=True, tolerance=1e-4)
def lists_of_rows(jk, rng):
    results = []
    for _ in range(3):
        rows = [(rng.normal(size=n) * 3.0 + 7.0).tolist() for n in rng.integers(1, 200, size=4)]
        results.append(mended(jk).variances(rows))
    return results, [mended(jk).bucket_size(n) for n in (2, 31, 32, 33, 5000)]


@check("10.4", "Half of many, none of many, all of many.", hidden=True, tolerance=1e-5)
def other_masks(jk, rng):
    x = rng.normal(size=40).astype("float32")
    x[3] = -np.inf
    above = [mended(jk).mean_above(x.reshape(2, 4, 5), t) for t in (0.5, 50.0, -50.0)]
    return above, [mended(jk).first_above(x, t, n) for t, n in ((0.5, 7), (50.0, 3), (-50.0, 40))]


@check("10.5", "Both kinds in turns, and the traces of a second sweep are its own.", hidden=True, tolerance=1e-5)
def two_sweeps(jk, rng):
    logits, found = rng.normal(size=6).astype("float32"), []
    for _ in range(2):
        schedule = [(float(t), i % 3 == 0) for i, t in enumerate(rng.uniform(0.1, 3.0, size=6))]
        found.append(mended(jk).sweep(logits, schedule))
    return found


@check("10.6", "Matrices, and two objects in turns.", hidden=True, tolerance=1e-5)
def two_objects(jk, rng):
    a, b = mended(jk).RunningMean((2, 3)), mended(jk).RunningMean(())
    distances = []
    for _ in range(3):
        distances.append(a.update(rng.normal(size=(2, 3)).astype("float32")))
        distances.append(b.update(np.float32(rng.normal())))
    return distances, a.mean, a.count, b.mean, b.count, mended(jk).leaks([vars(a), {"b": vars(b)}])


@check("10.7", "Other shapes, and rates by a generator's numbers, in two fits.", hidden=True, tolerance=1e-4)
def two_fits(jk, rng):
    found = [mended(jk).to_blame()]
    for shape in ((), (2, 1, 3)):
        x = rng.normal(size=shape).astype("float32")
        x, log = mended(jk).fit(x, [2, *rng.uniform(0.1, 0.4, size=4), np.float32(0.1)])
        found += [x, *log.items(), [type(loss).__name__ for loss in log.values()]]
    return found


def predictions(jk, *names):
    """Return what the quiz's functions return."""
    quiz = module(jk, "kata.subjects.quiz")
    return {name: int(getattr(quiz, name)()) for name in names}


@check("10.8", "All predictions.", hidden=True)
def all_of_arguments(jk, rng):
    names = "in_another_order", "list_or_tuple", "with_a_bias", "step_by_step", "sizes", "settings", "frozen_settings"
    return predictions(jk, *names)


@check("10.9", "All predictions.", hidden=True)
def all_of_functions(jk, rng):
    names = "jitted_in_a_loop", "partials", "bound_methods", "pythons_if_and_for", "closed_over", "waits"
    return predictions(jk, *names)
