"""The gradient of a function of n numbers: in reverse, forward along each direction, and by finite differences."""

from __future__ import annotations

import time

import numpy as np


def measure(jk, quick: bool) -> dict[str, list[float]]:
    """Measure whole gradients, in milliseconds, the least of a few tries, and the largest error of finite differences."""
    sizes = [10, 100, 1000] if quick else [10, 100, 300, 1000, 3000]
    tries = 3 if quick else 7
    np_ = jk.numpy

    def f(x):
        return np_.sum(np_.sin(x) * np_.roll(x, 1))

    value, reverse = jk.jit(f), jk.jit(jk.grad(f))
    forward = jk.jit(lambda x, t: jk.jvp(f, (x,), (t,))[1])
    results: dict[str, list[float]] = {
        "n": [float(n) for n in sizes],
        "the function (ms)": [],
        "reverse (ms)": [],
        "forward, n times (ms)": [],
        "differences, n times (ms)": [],
        "error of differences": [],
    }
    rng = np.random.default_rng(0)
    for n in sizes:
        x = jk.numpy.asarray(rng.normal(size=n).astype("float32"))
        step = jk.numpy.asarray(np.eye(1, n, dtype="float32")[0])
        exact, base = np.asarray(reverse(x)), float(value(x))
        nudged = float(value(x + 1e-3 * step))
        one_forward = least(lambda x=x, step=step: forward(x, step), tries)
        one_value = least(lambda x=x: value(x), tries)
        results["the function (ms)"].append(one_value)
        results["reverse (ms)"].append(least(lambda x=x: reverse(x), tries))
        results["forward, n times (ms)"].append(n * one_forward)
        results["differences, n times (ms)"].append((n + 1) * one_value)
        results["error of differences"].append(abs((nudged - base) / 1e-3 - float(exact[0])))
    return results


def least(call, tries: int) -> float:
    """Return the shortest time of a call, in milliseconds."""
    call().block_until_ready()
    times = []
    for _ in range(tries):
        start = time.perf_counter()
        call().block_until_ready()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def plot(data: dict[str, list[float]], axes) -> None:
    """Draw four lines over n, both axes logarithmic."""
    styles = [(":", "#555555"), ("o-", "#0072B2"), ("s--", "#E69F00"), ("^-.", "#D55E00")]
    names = [name for name in data if name.endswith("(ms)")]
    for name, (style, color) in zip(names, styles, strict=True):
        axes.loglog(data["n"], data[name], style, color=color, label=name.removesuffix(" (ms)"))
    axes.set_xlabel("n, the number of arguments of the function")
    axes.set_ylabel("time of a whole gradient, in milliseconds")
    axes.set_title("One sweep back answers for all n directions")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend()
