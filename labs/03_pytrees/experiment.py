"""Measures what a leaf costs: a model's parameters in one array, and in as many arrays as there are numbers."""

from __future__ import annotations

import time


def measure(jk, quick: bool) -> dict[str, list[float]]:
    """Measure a step on n parameters, and flattening and unflattening them: microseconds, the least of several tries."""
    sizes = [1, 3, 10, 30, 100, 300] if quick else [1, 3, 10, 30, 100, 300, 1000]
    rows = [times(jk, n) for n in sizes]
    return {
        "parameters": [float(n) for n in sizes],
        "a call, one array (us)": [row[0] for row in rows],
        "a call, a dict of arrays (us)": [row[1] for row in rows],
        "tree_flatten of the dict (us)": [row[2] for row in rows],
        "tree_unflatten of the dict (us)": [row[3] for row in rows],
    }


def times(jk, n: int) -> tuple[float, float, float, float]:
    """Return the times for n parameters, in microseconds."""
    tree_flatten, tree_unflatten = jk.tree_util.tree_flatten, jk.tree_util.tree_unflatten
    step = jk.jit(lambda params: jk.tree_util.tree_map(lambda x: x * 0.5, params))
    one = jk.numpy.ones(n)
    many = {f"w{i}": jk.numpy.ones(()) for i in range(n)}
    leaves, structure = tree_flatten(many)
    return (
        least(lambda: jk.block_until_ready(step(one))),
        least(lambda: jk.block_until_ready(step(many))),
        least(lambda: tree_flatten(many)),
        least(lambda: tree_unflatten(structure, leaves)),
    )


def least(call) -> float:
    """Return the shortest of the times that 9 calls take, in microseconds, after two that are not measured."""
    call()
    call()
    elapsed = []
    for _ in range(9):
        start = time.perf_counter()
        call()
        elapsed.append(time.perf_counter() - start)
    return min(elapsed) * 1e6


def plot(data: dict[str, list[float]], axes) -> None:
    """Draw four lines over the number of parameters, both axes logarithmic."""
    n = data["parameters"]
    styles = [("s--", "#0072B2"), ("o-", "#D55E00"), ("v:", "#009E73"), ("^:", "#CC79A7")]
    labels = [key for key in data if key != "parameters"]
    for label, (style, color) in zip(labels, styles, strict=True):
        axes.loglog(n, data[label], style, color=color, label=label.removesuffix(" (us)"))
    axes.set_xlabel("numbers in the model")
    axes.set_ylabel("time, in microseconds")
    axes.set_title("A call pays for each leaf, not for each number")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend()
