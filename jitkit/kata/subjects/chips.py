"""Programs, and what the compilers of several chips make of them: functions of lab 13.

Where a program was mended, its docstring has the version to mend.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jitkit as jax
import jitkit.numpy as jnp
from jitkit import lax
from jitkit.tree_util import tree_leaves


def least_bytes(fun: Callable[..., Any], *args: Any) -> int:
    """Return how many bytes a compiled `fun(*args)` must move at least: it reads each of its arguments once and writes each result once.

    Arguments and results are trees of arrays, or of numbers, which are arrays of no axes. What lies between them can stay where
    numbers are computed. Nothing is compiled, and nothing is run.

    Args:
      *args: arrays, or `ShapeDtypeStruct`s in their place.
    """
    types = jax.eval_shape(lambda *args: (args, fun(*args)), *args)
    return sum(x.size * x.dtype.itemsize for x in tree_leaves(types))


def polynomial(x: Any, coefficients: Any) -> Any:
    """Return the polynomial `c[0] * x**(n-1) + ... + c[n-2] * x + c[n-1]` of each element of x.

    Compiled, it has no loop on any chip, and it is one kernel on a CPU and on a GPU: x is read once, and the result is written once.

    The version to mend:

        def step(i, y):
            return y * x + coefficients[i]

        return lax.fori_loop(0, len(coefficients), step, jnp.zeros_like(x))

    Args:
      x: of float32 and any shape.
      coefficients: of float32, shape (n,), with n from 1 to 16.

    Returns:
      An array like x.
    """
    y = jnp.zeros_like(x)
    for i in range(coefficients.shape[0]):
        y = y * x + coefficients[i]
    return y


def roughness(x: Any) -> Any:
    """Return the sum of the squared differences between each element of x and the one before it.

    Compiled, it has no loop on any chip. The version to mend:

        def step(i, total):
            return total + (x[i] - x[i - 1]) ** 2

        return lax.fori_loop(1, len(x), step, jnp.float32(0))

    Args:
      x: of float32, shape (n,), with n from 2 on.
    """
    return jnp.sum((x[1:] - x[:-1]) ** 2)


def decayed(x: Any, rate: Any) -> Any:
    """Return the running sum that forgets: `y[0] = x[0]`, and `y[i] = rate * y[i - 1] + x[i]`.

    Compiled, it has no loop on any chip, and for n elements no more than some multiple of log(n) steps that wait for each other. The
    version to mend:

        def step(y, element):
            y = rate * y + element
            return y, y

        return lax.scan(step, jnp.float32(0), x)[1]

    Args:
      x: of float32, shape (n,), with n from 1 on.
      rate: a number from 0 to 1: data.

    Returns:
      An array like x.
    """

    def after(first: Any, second: Any) -> Any:  # y -> a * y + b, and then another such step
        (a, b), (c, d) = first, second
        return a * c, c * b + d

    return lax.associative_scan(after, (jnp.full_like(x, rate), x))[1]
