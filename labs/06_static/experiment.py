"""Measures what it costs to call a function with many values of an argument, if the argument is static and if it is not."""

from __future__ import annotations

import time


def measure(jk, quick: bool) -> dict[str, list[float]]:
    """Measure, for each call, the time so far, and how many programs were traced so far."""
    count = 12 if quick else 30
    static = run(jk, count, static_argnums=1)
    dynamic = run(jk, count)
    return {
        "calls": [float(i) for i in range(count + 1)],
        "n is static (ms)": static[0],
        "n is an argument (ms)": dynamic[0],
        "n is static (programs)": static[1],
        "n is an argument (programs)": dynamic[1],
    }


def run(jk, count: int, **options) -> tuple[list[float], list[float]]:
    """Return the milliseconds and the number of programs after each call."""
    traced = []

    def f(x, n):
        traced.append(n)
        return jk.numpy.sin(x) * n + x

    jitted, x = jk.jit(f, **options), jk.numpy.ones(100)
    jk.block_until_ready(jk.jit(jk.numpy.cos)(x))  # XLA has started before the clock does
    start, elapsed, programs = time.perf_counter(), [0.0], [0.0]
    for i in range(count):
        jk.block_until_ready(jitted(x, i / 10))
        elapsed.append((time.perf_counter() - start) * 1e3)
        programs.append(float(len(traced)))
    return elapsed, programs


def plot(data: dict[str, list[float]], axes) -> None:
    """Draw two lines over the number of calls; the legend says how many programs were made."""
    for name, style, color in (("n is static", "o-", "#D55E00"), ("n is an argument", "s--", "#0072B2")):
        made = int(data[f"{name} (programs)"][-1])
        label = f"{name}: {made} program{'s' if made > 1 else ''}"
        axes.plot(data["calls"], data[f"{name} (ms)"], style, color=color, label=label, markersize=4)
    axes.set_xlabel("calls, each with another n")
    axes.set_ylabel("time so far, in milliseconds")
    axes.set_title("A static argument makes a program for each value")
    axes.grid(True, alpha=0.3)
    axes.legend()
