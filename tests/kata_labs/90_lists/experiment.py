"""Equations against the length of a loop."""

from __future__ import annotations


def measure(jk, quick):
    """Trace loops of growing length."""

    def loop(n):
        def f(x):
            for _ in range(n):
                x = x * 2.0
            return x

        return f

    lengths = [1.0, 2.0, 3.0]
    return {"length": lengths, "equations": [float(len(jk.make_jaxpr(loop(int(n)))(1.0).eqns)) for n in lengths]}


def plot(data, axes):
    """One line."""
    axes.plot(*data.values())
