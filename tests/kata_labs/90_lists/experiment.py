"""Plots how the number of equations grows with the length of a loop."""

from __future__ import annotations


def measure(jk, quick):
    """Return the lengths of some loops, and the number of equations of each."""

    def loop(n):
        def f(x):
            for _ in range(n):
                x = x * 2.0
            return x

        return f

    lengths = [1.0, 2.0, 3.0]
    return {"length": lengths, "equations": [float(len(jk.make_jaxpr(loop(int(n)))(1.0).eqns)) for n in lengths]}


def plot(data, axes):
    """Draw one line."""
    axes.plot(*data.values())
