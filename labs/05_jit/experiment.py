"""Every call of three loops, timed: a function jitted once, a lambda in the loop, a `functools.partial` in the loop."""

from __future__ import annotations

import functools
import time

import numpy as np


def measure(jk, quick: bool) -> dict[str, list[float]]:
    """Return the microseconds of each call. Half-way, the array gets another shape."""
    count = 8 if quick else 40
    jk.block_until_ready(jk.jit(lambda x: -x)(np.ones(3, np.float32)))  # XLA is loaded at the first call of all
    named = jk.jit(step)
    loops = {
        "jitted once (us)": lambda: named,
        "lambda in the loop (us)": lambda: jk.jit(lambda x: x * np.float32(2) + np.float32(1)),
        "partial in the loop (us)": lambda: jk.jit(functools.partial(step)),
    }
    found: dict[str, list[float]] = {"call": [float(i + 1) for i in range(count)]}
    for label, function_of_this_turn in loops.items():
        found[label] = []
        for i in range(count):
            x = np.ones(100 if i < count // 2 else 101, np.float32)
            start = time.perf_counter()
            jk.block_until_ready(function_of_this_turn()(x))
            found[label].append((time.perf_counter() - start) * 1e6)
    return found


def step(x):
    """Compute the function that all three loops jit."""
    return x * np.float32(2) + np.float32(1)


def plot(data: dict[str, list[float]], axes) -> None:
    """Draw a point for each call, with the time on a logarithmic axis."""
    marks = {
        "jitted once (us)": ("o", "#0072B2", "a function jitted once"),
        "lambda in the loop (us)": ("^", "#D55E00", "a lambda in the loop"),
        "partial in the loop (us)": ("x", "#CC79A7", "a functools.partial in the loop"),
    }
    calls = data["call"]
    axes.axvline(len(calls) // 2 + 0.5, color="#888888", linestyle=":", label="the array gets another shape")
    for column, (marker, color, label) in marks.items():
        axes.scatter(calls, data[column], marker=marker, color=color, label=label, s=30)
    axes.set_yscale("log")
    axes.set_xlabel("call")
    axes.set_ylabel("time of the call, in microseconds")
    axes.set_title("What is new is compiled, and a function in a loop is always new")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize="small")
