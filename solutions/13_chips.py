"""13 Three chips: the solutions, as the reference has them, and why."""

from __future__ import annotations

import jitkit as jax
import jitkit.numpy as jnp
from collections.abc import Callable
from typing import Any

from jitkit import lax
from jitkit.targets.hlo import Loop, _FREE, _TRIPS, _WALKED, called
from jitkit.tree_util import tree_leaves


# --- 13.1 What runs -----------------------------------------------------------------------------------------
# A kernel is launched, reads memory and writes it; other instructions only give names to values. One walk
# serves all chips, since all use HLO; the programs differ.
#
# Usual mistakes:
#   - Counting the insides of fusions: then fusing changes nothing, and every program has as many kernels as
#     operations.
#   - Counting `while` itself: it is the loop around kernels.
#   - Counting a computation again for each of its callers: the list says what there is, not how often it
#     runs.
#
# In JAX: jax/_src/stages.py:Compiled.as_text


class Program:
    def walk(self, computation: str, seen: set[str]) -> None:
        """Add the kernels and loops of a computation, in order, and of the computations that it runs as written.

        A `while` is a loop: its attributes (`rest`) may say how often it runs, as `"known_trip_count":{"n":"10"}`. If an
        instruction is in `_WALKED`, walk through the computations to which it refers (`called`); ignore a name that no
        computation has. All other instructions are kernels (`self._kernel(instruction)`), except instructions that cost
        nothing (`_FREE`), and those that end the work of another one (`...-update`, `...-done`). Do not walk a computation
        twice: it is counted once.

        Args:
          seen: the names of the computations that were walked. Add this one.
        """
        if computation in seen:
            return
        seen.add(computation)
        for instruction in self.computations.get(computation, ()):
            if instruction.opcode == "while":
                trips = _TRIPS.search(instruction.rest)
                self.loops.append(Loop(instruction.name, int(trips[1]) if trips else None))
            if instruction.opcode in _WALKED:
                for name in called(instruction):
                    self.walk(name, seen)
            elif instruction.opcode not in _FREE and not instruction.opcode.endswith(("-update", "-done")):
                self.kernels.append(self._kernel(instruction))


# --- 13.2 The least -----------------------------------------------------------------------------------------
# A number of bytes says little by itself. Compared with the least number, it says how far a program is from
# one fusion. Python numbers are arguments, too, with four bytes each: so the function that is given to
# `eval_shape` returns its arguments together with the results, and the types of both come from there.
#
# Usual mistakes:
#   - Four bytes for every element: bfloat16 has two, and a bool one.
#   - Counting intermediate values: fusion keeps them out of memory.
#
# In JAX: jax/_src/api.py:eval_shape


def least_bytes(fun: Callable[..., Any], *args: Any) -> int:
    """Return how many bytes a compiled `fun(*args)` must move at least: it reads each of its arguments once and writes each result once.

    Arguments and results are trees of arrays, or of numbers, which are arrays of no axes. What lies between them can stay where
    numbers are computed. Nothing is compiled, and nothing is run.

    Args:
      *args: arrays, or `ShapeDtypeStruct`s in their place.
    """
    types = jax.eval_shape(lambda *args: (args, fun(*args)), *args)
    return sum(x.size * x.dtype.itemsize for x in tree_leaves(types))


# --- 13.3 One fusion ----------------------------------------------------------------------------------------
# Unrolled, the program is longer and the machine code shorter: one pass, y in a register. The price is in
# compile time, which grows with the number of turns: for sixteen it is nothing, for a thousand a loop is
# better (lab 08).
#
# Usual mistakes:
#   - `lax.scan` over the coefficients: the same loop by another name.
#   - Making one array of all powers and multiplying it by the coefficients: then an array n times as large as
#     x goes through memory.
#
# In JAX: jax/_src/lax/control_flow/loops.py:fori_loop


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


# --- 13.4 A loop of scalars ---------------------------------------------------------------------------------
# A turn of a loop costs microseconds of waiting on any accelerator, and a TPU computes with registers of 8 by
# 128 numbers: one number uses a thousandth of it. Twice the arithmetic in log(n) wide steps is far cheaper.
#
# Usual mistakes:
#   - `jnp.roll` for the neighbour: the first element gets the last one as its neighbour.
#   - Dividing by powers of the rate and summing up: correct on paper, but infinite in float32 after some
#     forty steps.
#
# In JAX: jax/_src/lax/control_flow/loops.py:associative_scan


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
