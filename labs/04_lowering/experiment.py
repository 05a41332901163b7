"""A chain of elementwise operations on a million numbers: numpy, jitkit operation by operation, one jitted function."""

from __future__ import annotations

import time

import numpy as np


def measure(jk, quick: bool) -> dict[str, list[float]]:
    """Measure chains of more and more operations: milliseconds, the least of several tries."""
    lengths = [1, 4, 10] if quick else [1, 2, 4, 6, 8, 10]
    tries = 3 if quick else 9
    numbers = np.linspace(0.0, 1.0, 1_000_000, dtype=np.float32)
    x = jk.numpy.asarray(numbers)
    found: dict[str, list[float]] = {
        "operations": [float(n) for n in lengths],
        "numpy (ms)": [],
        "one by one (ms)": [],
        "jit (ms)": [],
    }
    for n in lengths:
        jitted = jk.jit(chain, static_argnums=1)
        found["numpy (ms)"].append(least(lambda n=n: chain(numbers, n), tries))
        found["one by one (ms)"].append(least(lambda n=n: jk.block_until_ready(chain(x, n)), tries))
        found["jit (ms)"].append(least(lambda n=n, f=jitted: jk.block_until_ready(f(x, n)), tries))
    return found


def chain(x, n: int):
    """Compute `n` operations, a product and a sum in turn, in float32; x may be an array of any library."""
    for i in range(n):
        x = x * np.float32(1.01) if i % 2 == 0 else x + np.float32(0.1)
    return x


def least(call, tries: int) -> float:
    """Return the shortest of the times that some calls take, in milliseconds, after one that does not count."""
    call()
    times = []
    for _ in range(tries):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def plot(data: dict[str, list[float]], axes) -> None:
    """Draw three lines over the number of operations."""
    n = data["operations"]
    axes.plot(n, data["numpy (ms)"], "s--", color="#D55E00", label="numpy")
    axes.plot(n, data["one by one (ms)"], "^-.", color="#CC79A7", label="jitkit, operation by operation")
    axes.plot(n, data["jit (ms)"], "o-", color="#0072B2", label="jitkit, one jitted function")
    axes.set_xlabel("operations in the chain")
    axes.set_ylabel("time, in milliseconds")
    axes.set_ylim(bottom=0)
    axes.set_title("Fused, a million numbers are read and written once")
    axes.grid(True, alpha=0.3)
    axes.legend()
