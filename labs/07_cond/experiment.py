"""`cond` and `where`, when the branch that is not taken becomes more and more expensive."""

from __future__ import annotations

import time


def measure(jk, quick: bool) -> dict[str, list[float]]:
    """Measure calls while the false branch does more and more products of matrices: microseconds, the least of several."""
    products = [1, 4, 16] if quick else [1, 2, 4, 8, 16, 32]
    size, tries = 96, 20 if quick else 50
    x = jk.numpy.ones((size, size)) / size
    return {
        "matrix products in the false branch": [float(n) for n in products],
        "cond (us)": [least(jk.jit(with_cond(jk, n)), x, tries) for n in products],
        "where (us)": [least(jk.jit(with_where(jk, n)), x, tries) for n in products],
    }


def with_cond(jk, n: int):
    """Return a jitted choice. The predicate is true for our `x`, but the program does not know that."""
    return lambda x: jk.lax.cond(x[0, 0] > 0, cheap, lambda x: expensive(x, n), x)


def with_where(jk, n: int):
    return lambda x: jk.numpy.where(x[0, 0] > 0, cheap(x), expensive(x, n))


def cheap(x):
    return x + 1


def expensive(x, n: int):
    y = x
    for _ in range(n):
        y = y @ x
    return y


def least(run, x, tries: int) -> float:
    """Return the shortest time of a call, in microseconds."""
    times = []
    run(x).block_until_ready()
    for _ in range(tries):
        start = time.perf_counter()
        run(x).block_until_ready()
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


def plot(data: dict[str, list[float]], axes) -> None:
    """Draw two lines over the work of the branch that is not taken, both axes logarithmic."""
    products, cond, where = data.values()
    axes.loglog(products, where, "s--", color="#D55E00", label="jnp.where: both are computed")
    axes.loglog(products, cond, "o-", color="#0072B2", label="lax.cond: one is computed")
    axes.set_xlabel("matrix products in the branch that is not taken")
    axes.set_ylabel("time of a call, in microseconds")
    axes.set_title("A cond jumps over the other branch")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend()
