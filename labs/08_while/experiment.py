"""How long a loop takes until it is compiled: in Python, which unrolls it, and as `fori_loop`."""

from __future__ import annotations

import time


def measure(jk, quick: bool) -> dict[str, list[float]]:
    """Measure how long it takes from a function to its executable, in milliseconds: the least of one or two tries."""
    turns, tries = ([1, 8, 64], 1) if quick else ([1, 4, 16, 64, 256], 2)
    time_of(jk, in_python(jk, 2))  # the first one starts the compiler
    return {
        "turns of the loop": [float(n) for n in turns],
        "for _ in range(n) (ms)": [least(jk, in_python, n, tries) for n in turns],
        "lax.fori_loop(0, n, ...) (ms)": [least(jk, in_the_program, n, tries) for n in turns],
    }


def in_python(jk, n: int):
    def f(x):
        for _ in range(n):
            x = step(jk, x)
        return x

    return f


def in_the_program(jk, n: int):
    return lambda x: jk.lax.fori_loop(0, n, lambda i, x: step(jk, x), x)


def step(jk, x):
    return jk.numpy.sin(x) + 0.5 * x[::-1]


def least(jk, make, n: int, tries: int) -> float:
    """Return the least time of several functions that `make` makes: a function that was traced is not traced again."""
    return min(time_of(jk, make(jk, n)) for _ in range(tries))


def time_of(jk, function) -> float:
    """Return the time of tracing, lowering and compiling together, in milliseconds."""
    start = time.perf_counter()
    jk.jit(function).lower(jk.ShapeDtypeStruct((16,), "float32")).compile()
    return (time.perf_counter() - start) * 1e3


def plot(data: dict[str, list[float]], axes) -> None:
    """Draw two lines over the number of turns, both axes logarithmic."""
    turns, python, fori = data.values()
    axes.loglog(turns, python, "s--", color="#D55E00", label="for _ in range(n)")
    axes.loglog(turns, fori, "o-", color="#0072B2", label="lax.fori_loop(0, n, ...)")
    axes.set_xlabel("turns of the loop, n")
    axes.set_ylabel("time until compiled, in milliseconds")
    axes.set_title("Each turn of an unrolled loop is compiled")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend()
