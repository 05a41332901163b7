"""A scan that does 1 step in a trip of its loop, 2, 4, up to 32: the time to compile it, and to run it."""

from __future__ import annotations

import time

_STEPS = 1024


def measure(jk, quick: bool) -> dict[str, list[float]]:
    """Return, for each unrolling, the milliseconds to compile (once) and to run (the least of a few tries)."""
    unrolls = [1, 4, 16] if quick else [1, 2, 4, 8, 16, 32]
    tries = 5 if quick else 20
    xs = jk.numpy.ones(_STEPS)
    compiled(jk, 2, xs)  # the first one starts the compiler
    compile_times, run_times = [], []
    for unroll in unrolls:
        start = time.perf_counter()
        run = compiled(jk, unroll, xs)
        compile_times.append((time.perf_counter() - start) * 1e3)
        run_times.append(least(run, xs, tries))
    return {
        "steps in a trip": [float(unroll) for unroll in unrolls],
        "compile (ms)": compile_times,
        "run (ms)": run_times,
    }


def compiled(jk, unroll: int, xs):
    """Trace, lower and compile a recurrence over the elements of `xs`."""

    def f(xs):
        return jk.lax.scan(lambda c, x: (0.5 * c + x, c * c), xs[0], xs, unroll=unroll)

    return jk.jit(f).lower(xs).compile()


def least(run, xs, tries: int) -> float:
    """Return the shortest time of a call, in milliseconds."""
    times = []
    for _ in range(tries):
        start = time.perf_counter()
        run(xs)[1].block_until_ready()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def plot(data: dict[str, list[float]], axes) -> None:
    """Draw two lines over the number of steps in a trip, both axes logarithmic."""
    unrolls, compile_times, run_times = data.values()
    axes.loglog(unrolls, compile_times, "s--", color="#D55E00", label="compile (once)")
    axes.loglog(unrolls, run_times, "o-", color="#0072B2", label="run (each call)")
    axes.set_xlabel(f"steps in one trip of the loop, of {_STEPS}")
    axes.set_ylabel("time, in milliseconds")
    axes.set_title("Unrolling: its cost is sure, its gain is not")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend()
