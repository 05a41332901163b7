"""13 Three chips: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 13.1` helps, one
step further each time. You may add helpers and imports: functions, classes, constants. Other
statements at the top are not run. The parameters stay as they are: other code calls these
functions. A class has only those methods that are yours to write; the others are the
reference's.
"""

from __future__ import annotations

import jitkit as jax
import jitkit.numpy as jnp
from collections.abc import Callable
from typing import Any

from jitkit import lax
from jitkit.targets.hlo import Loop, _FREE, _TRIPS, _WALKED, called
from jitkit.tree_util import tree_leaves


# --- 13.1 What runs (3 points) ------------------------------------------------------------------------------
# Read an optimised program: which of its instructions run on their own, and which loops are left. `Program`
# has parsed the text; walk through its computations.


class Program:
    def walk(self, computation: str, seen: set[str]) -> None:
        """Add the kernels and loops of a computation, in order, and of the computations that it
        runs as written.

        A `while` is a loop: its attributes (`rest`) may say how often it runs, as
        `"known_trip_count":{"n":"10"}`. If an instruction is in `_WALKED`, walk through the
        computations to which it refers (`called`); ignore a name that no computation has. All other
        instructions are kernels (`self._kernel(instruction)`), except instructions that cost
        nothing (`_FREE`), and those that end the work of another one (`...-update`, `...-done`). Do
        not walk a computation twice: it is counted once.

        Args:
          seen: the names of the computations that were walked. Add this one.
        """
        raise NotImplementedError("13.1")


# --- 13.2 The least (2 points) ------------------------------------------------------------------------------
# Every program must at least read its arguments and write its results, once each. How many bytes is that?


def least_bytes(fun: Callable[..., Any], *args: Any) -> int:
    """Return how many bytes a compiled `fun(*args)` must move at least: it reads each of its
    arguments once and writes each result once.

    Arguments and results are trees of arrays, or of numbers, which are arrays of no axes. What lies
    between them can stay where numbers are computed. Nothing is compiled, and nothing is run.

    Args:
      *args: arrays, or `ShapeDtypeStruct`s in their place.
    """
    raise NotImplementedError("13.2")


# --- 13.3 One fusion (3 points) -----------------------------------------------------------------------------
# A polynomial is computed by `fori_loop`: that is correct and short, but it goes through memory for every
# coefficient. Make it one kernel.


def polynomial(x: Any, coefficients: Any) -> Any:
    """Return the polynomial `c[0] * x**(n-1) + ... + c[n-2] * x + c[n-1]` of each element of x.

    Compiled, it has no loop on any chip, and it is one kernel on a CPU and on a GPU: x is read
    once, and the result is written once.

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
    raise NotImplementedError("13.3")


# --- 13.4 A loop of scalars (4 points) ----------------------------------------------------------------------
# Two programs go through an array element by element. A TPU computes a thousand numbers at a time, and here
# it gets one. Write both for whole arrays.


def roughness(x: Any) -> Any:
    """Return the sum of the squared differences between each element of x and the one before it.

    Compiled, it has no loop on any chip. The version to mend:

        def step(i, total):
            return total + (x[i] - x[i - 1]) ** 2

        return lax.fori_loop(1, len(x), step, jnp.float32(0))

    Args:
      x: of float32, shape (n,), with n from 2 on.
    """
    raise NotImplementedError("13.4")


def decayed(x: Any, rate: Any) -> Any:
    """Return the running sum that forgets: `y[0] = x[0]`, and `y[i] = rate * y[i - 1] + x[i]`.

    Compiled, it has no loop on any chip, and for n elements no more than some multiple of log(n)
    steps that wait for each other. The version to mend:

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
    raise NotImplementedError("13.4")
