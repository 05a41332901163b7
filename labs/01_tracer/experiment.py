"""How long tracing takes, and running, for arrays of ten numbers up to a million."""

from __future__ import annotations

import time


def measure(jk, quick: bool) -> dict[str, list[float]]:
    """Measure one function on longer and longer arrays: microseconds, the least of several tries."""
    sizes = [10**exponent for exponent in range(1, 6 if quick else 7)]
    return {
        "elements": [float(n) for n in sizes],
        "trace (us)": [time_of_tracing(jk, n) for n in sizes],
        "run (us)": [time_of_running(jk, n, 3 if quick else 9) for n in sizes],
    }


def time_of_tracing(jk, n: int) -> float:
    """Measure the time of tracing, each time of a new function: one that was traced before is not traced again."""
    argument = jk.ShapeDtypeStruct((n,), "float32")
    functions = [jk.jit(make_function(jk)) for _ in range(9)]
    return least(lambda: functions.pop().trace(argument), 9)


def time_of_running(jk, n: int, tries: int) -> float:
    """Measure how long the compiled function runs, until its result is there."""
    run, x = jk.jit(make_function(jk)), jk.numpy.ones(n, "float32")
    jk.block_until_ready(run(x))
    return least(lambda: jk.block_until_ready(run(x)), tries)


def make_function(jk):
    def f(x):
        for _ in range(3):
            x = jk.numpy.sin(x) * 0.5 + x
        return x

    return f


def least(call, tries: int) -> float:
    """Return the shortest of the times that some calls take, in microseconds."""
    times = []
    for _ in range(tries):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


def plot(data: dict[str, list[float]], axes) -> None:
    """Draw two lines over the number of elements, both axes logarithmic."""
    n = data["elements"]
    axes.loglog(n, data["trace (us)"], "o-", color="#0072B2", label="trace (once per shape)")
    axes.loglog(n, data["run (us)"], "s--", color="#D55E00", label="run (each call)")
    axes.set_xlabel("elements of the array")
    axes.set_ylabel("time, in microseconds")
    axes.set_title("Tracing does not see the numbers")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend()
