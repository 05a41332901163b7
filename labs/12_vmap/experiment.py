"""A small layer for B vectors: a loop over a jitted function, beside one jitted vmap of it."""

from __future__ import annotations

import time

import numpy as np

_SIZE = 32


def measure(jk, quick: bool) -> dict[str, list[float]]:
    """Measure the time for all B elements: milliseconds, the least of a few tries."""
    batches = [1, 10, 100, 1000] if quick else [1, 3, 10, 30, 100, 300, 1000, 3000]
    tries = 2 if quick else 5
    rng = np.random.default_rng(0)
    w = jk.numpy.asarray(rng.normal(size=(_SIZE, _SIZE)).astype("float32"))

    def layer(w, x):
        return jk.numpy.tanh(w @ x).sum()

    one, together = jk.jit(layer), jk.jit(jk.vmap(layer, in_axes=(None, 0)))
    loop_times, vmap_times = [], []
    for size in batches:
        xs = rng.normal(size=(size, _SIZE)).astype("float32")
        rows = [jk.numpy.asarray(row) for row in xs]
        batch = jk.numpy.asarray(xs)
        loop_times.append(least(lambda rows=rows: [one(w, row) for row in rows][-1], tries))
        vmap_times.append(least(lambda batch=batch: together(w, batch), tries))
    return {
        "B": [float(size) for size in batches],
        "loop over B calls (ms)": loop_times,
        "one call of vmap (ms)": vmap_times,
    }


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
    """Draw two lines over B, both axes logarithmic."""
    sizes, loop_times, vmap_times = data.values()
    axes.loglog(sizes, loop_times, "s--", color="#D55E00", label="a loop: B calls")
    axes.loglog(sizes, vmap_times, "o-", color="#0072B2", label="vmap: one call")
    axes.set_xlabel("B, the number of vectors")
    axes.set_ylabel("time for all of them, in milliseconds")
    axes.set_title("A call for each, or one for all")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend()
