"""10 Pitfalls: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 10.1` helps, one step further each
time. You may add helpers and imports: functions, classes, constants. Other statements at the top are not run. The
parameters stay as they are: other code calls these functions. A class has only those methods that are yours to write;
the others are the reference's.
"""

from __future__ import annotations

import jitkit as jax
import jitkit.numpy as jnp
import numpy as np
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from jitkit.core import Tracer
from jitkit.tree_util import keystr, tree_flatten_with_path


# --- 10.1 Measure honestly (2 points) -----------------------------------------------------------------------
# A stopwatch for jitted functions. The one in the docstring says that everything takes microseconds, or, on
# the first day, that it takes seconds. Write one that tells the first call from the others, and that waits.


def call_seconds(
    function: Callable[..., Any], *args: Any, tries: int = 9, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, float]:
    """How long `function(*args)` takes: the first time, and typically.

    A call counts as over when everything that it returns (an array, or a tree of them) is there. It is called `1 + tries`
    times, and nothing else is timed than each of these calls.

    The program as it was:

        start = clock()
        for _ in range(tries):
            result = function(*args)
        return (clock() - start) / tries

    Args:
      clock: gives the time, in seconds.

    Returns:
      The seconds of the first call, and the median of those of the `tries` calls after it.
    """
    raise NotImplementedError("10.1")


# --- 10.2 A jit in a loop (2 points) ------------------------------------------------------------------------
# Gradient descent that compiles at every step. Make it trace `gradient` once, whatever the rates are and
# whatever x is.


def descend(gradient: Callable[[Any], Any], x: Any, rates: Sequence[float]) -> Any:
    """Gradient descent: for each of the rates in turn, x becomes `x - rate * gradient(x)`.

    The whole step is one program, and one program is enough: `gradient` is traced once in a call of `descend`, whatever the
    rates are (floats, ints, numpy's), and whether x is a number, a list of numbers or an array of any dtype.

    The program as it was:

        for rate in rates:
            x = jax.jit(lambda x: x - rate * gradient(x))(x)
        return x

    Returns:
      An array of float32, whatever x was.
    """
    raise NotImplementedError("10.2")


# --- 10.3 Buckets (3 points) --------------------------------------------------------------------------------
# Rows of any length, each of which compiles its own program. Pad them to a few sizes, and let the program
# know how many numbers are real.


def bucket_size(n: int) -> int:
    """The size that n numbers are padded to: the least power of two that is n or more, and at least 8."""
    raise NotImplementedError("10.3")


def variance_of_first(x: Any, n: Any) -> Any:
    """The variance (the mean of the squared distances from the mean) of the first n numbers of x.

    Compiled: decorate it with `jit`.

    Args:
      x: numbers of float32, of shape (size,). Those from place n on are padding and may be anything, nan too.
      n: how many are used: data, not static. At least 1.
    """
    raise NotImplementedError("10.3")


def variances(rows: Sequence[Any]) -> list[Any]:
    """The variance of each row, of which any may have another length, as a list of float32 scalars.

    For all lengths up to 64 there are four programs, for all up to 1024 eight.

    The program as it was:

        @jax.jit
        def variance(row):
            return jnp.mean((row - jnp.mean(row)) ** 2)

        return [variance(np.asarray(row, np.float32)) for row in rows]

    Args:
      rows: lists or arrays of one axis, none of them empty.
    """
    raise NotImplementedError("10.3")


# --- 10.4 Chosen by a mask (3 points) -----------------------------------------------------------------------
# `x[x > threshold]` has a length that depends on numbers, which nobody knows while tracing. Compute the same
# without ever having such an array.


def mean_above(x: Any, threshold: Any) -> Any:
    """The mean of the elements of x that are greater than the threshold; 0 where there are none.

    Compiled: decorate it with `jit`. The program as it was, which `jit` refuses, as it cannot know the shape of `chosen`:

        chosen = x[x > threshold]
        return jnp.mean(chosen) if len(chosen) else 0.0

    Args:
      x: of float32 and any shape. It may have infinities in it.
      threshold: a number.
    """
    raise NotImplementedError("10.4")


def first_above(x: Any, threshold: Any, size: int) -> tuple[Any, Any]:
    """The first `size` elements of x that are greater than the threshold, and how many such there are in all.

    Compiled: decorate it with `jit`. Is one of its arguments static? The program as it was, which `jit` refuses:

        chosen = x[x > threshold]
        return chosen[:size], len(chosen)

    Args:
      x: of float32, shape (n,).
      size: at most n.

    Returns:
      An array of shape (size,): the chosen elements in their order, then zeros; and their number, an int32.
    """
    raise NotImplementedError("10.4")


# --- 10.5 A global that changes (2 points) ------------------------------------------------------------------
# The traced function reads its settings from a global dict: once, while it is traced. Turn what changes into
# arguments, and decide for each whether it is static.


def probabilities(logits: Any, temperature: Any, in_logs: bool) -> Any:
    """The softmax of `logits / temperature`, or its logarithm (`jax.nn.log_softmax`) if `in_logs`.

    Compiled: decorate it with `jit`. Two programs are enough, one for either value of `in_logs`: what decides the program is
    static, what it computes with is data.
    """
    raise NotImplementedError("10.5")


def sweep(logits: Any, schedule: Sequence[tuple[float, bool]]) -> list[Any]:
    """Probabilities at several temperatures: the `probabilities` of each `(temperature, in_logs)` of the schedule.

    All sweeps over logits of one shape share the two programs. One temperature may be an int, another a float or numpy's.

    The program as it was, whose results are wrong from the second on:

        settings = {}

        @jax.jit
        def probabilities(logits):
            function = jax.nn.log_softmax if settings["in_logs"] else jax.nn.softmax
            return function(logits / settings["temperature"])

        for settings["temperature"], settings["in_logs"] in schedule:
            results.append(probabilities(logits))

    Args:
      logits: of float32, shape (n,).

    Returns:
      An array like `logits` for each entry of the schedule.
    """
    raise NotImplementedError("10.5")


# --- 10.6 A tracer that gets away (3 points) ----------------------------------------------------------------
# A traced method that assigns to self keeps tracers, and what it counts, it counts once. Write what finds
# them; then make state an argument and a result.


def leaks(state: Any) -> list[str]:
    """The places of a tree where a tracer is, as `keystr` writes their paths, in the order of the leaves.

    What a program keeps from call to call must have none: a tracer stands for a value only while its function is traced.
    """
    raise NotImplementedError("10.6")


def observed(mean: Any, count: Any, x: Any) -> tuple[Any, Any, Any]:
    """One more observation: the new mean, the new count, and the distance of x from the new mean.

    Compiled: decorate it with `jit`.

    The new mean is `mean + (x - mean) / count`, with the new count.
    """
    raise NotImplementedError("10.6")


class RunningMean:
    def update(self, x: Any) -> Any:
        """Take x, of float32, into `self.mean` and `self.count`, and return its distance from the new mean.

        One program serves all instances of one shape. When x cannot be used, `self` stays as it was.

        The program as it was. It kept tracers in `self`, on which the next call stumbles:

            @partial(jax.jit, static_argnums=0)
            def update(self, x):
                self.count = self.count + 1
                self.mean = self.mean + (x - self.mean) / self.count
                return x - self.mean
        """
        raise NotImplementedError("10.6")
