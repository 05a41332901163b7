"""Programs that had fallen into a pitfall of jit, mended: the functions of lab 10.

Each docstring has the version to mend. `jitkit.bench.pitfalls` measures many more such pairs.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import jitkit as jax
import jitkit.numpy as jnp
from jitkit.core import Tracer
from jitkit.tree_util import keystr, tree_flatten_with_path

LEARNERS_DECORATE = True  # learners decide what is jitted, and how (see `kata.engine.splice`)

# --- a stopwatch that does not lie --------------------------------------------------------------------------------


def call_seconds(
    function: Callable[..., Any], *args: Any, tries: int = 9, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, float]:
    """Return how long `function(*args)` takes: the first time, and typically.

    A call counts as over when everything that it returns (an array, or a tree of them) is there. It is called `1 + tries`
    times, and nothing else is timed than each of these calls.

    The version to mend:

        start = clock()
        for _ in range(tries):
            result = function(*args)
        return (clock() - start) / tries

    Args:
      clock: gives the time, in seconds.

    Returns:
      The seconds of the first call, and the median of those of the `tries` calls after it.
    """
    seconds = []
    for _ in range(1 + tries):
        start = clock()
        jax.block_until_ready(function(*args))
        seconds.append(clock() - start)
    return seconds[0], statistics.median(seconds[1:])


# --- a function that is made anew at every step -------------------------------------------------------------------


def descend(gradient: Callable[[Any], Any], x: Any, rates: Sequence[float]) -> Any:
    """Do gradient descent: for each of the rates in turn, x becomes `x - rate * gradient(x)`.

    The whole step is one program, and one program is enough: `gradient` is traced once in a call of `descend`, whatever the
    rates are (floats, ints, numpy's), and whether x is a number, a list of numbers or an array of any dtype.

    The version to mend:

        for rate in rates:
            x = jax.jit(lambda x: x - rate * gradient(x))(x)
        return x

    Returns:
      An array of float32, whatever x was. The caller's x is still there: it is not donated.
    """

    @jax.jit
    def step(x: Any, rate: Any) -> Any:
        return x - rate * gradient(x)

    x = np.asarray(x, np.float32)
    for rate in rates:
        x = step(x, float(rate))
    return x


# --- a new length every time --------------------------------------------------------------------------------------


def bucket_size(n: int) -> int:
    """Return the size that n numbers are padded to: the least power of two that is n or more, and at least 8."""
    return max(8, 1 << (n - 1).bit_length())


@jax.jit
def variance_of_first(x: Any, n: Any) -> Any:
    """Return the variance (the mean of the squared distances from the mean) of the first n numbers of x.

    Compiled: decorate it with `jit`.

    Args:
      x: numbers of float32, of shape (size,). Those from place n on are padding and may be anything, nan too.
      n: how many are used: data, not static. At least 1.
    """
    is_used = jnp.arange(x.shape[0]) < n
    mean = jnp.sum(jnp.where(is_used, x, 0.0)) / n
    return jnp.sum(jnp.where(is_used, (x - mean) ** 2, 0.0)) / n


def variances(rows: Sequence[Any]) -> list[Any]:
    """Return the variance of each row, as a list of float32 scalars. Rows may have different lengths.

    For all lengths up to 64 there are four programs, for all up to 1024 eight.

    The version to mend:

        @jax.jit
        def variance(row):
            return jnp.mean((row - jnp.mean(row)) ** 2)

        return [variance(np.asarray(row, np.float32)) for row in rows]

    Args:
      rows: lists or arrays of one axis, none of them empty. They stay as they are.
    """
    results = []
    for row in rows:
        padded = np.zeros(bucket_size(len(row)), np.float32)
        padded[: len(row)] = row
        results.append(variance_of_first(padded, len(row)))
    return results


# --- a shape that depends on values -------------------------------------------------------------------------------


@jax.jit
def mean_above(x: Any, threshold: Any) -> Any:
    """Return the mean of the elements of x that are greater than the threshold; 0 where there are none.

    Compiled: decorate it with `jit`. The version to mend, which `jit` refuses, as it cannot know the shape of `chosen`:

        chosen = x[x > threshold]
        return jnp.mean(chosen) if len(chosen) else 0.0

    Args:
      x: of float32 and any shape. It may have infinities in it.
      threshold: a number.
    """
    is_chosen = x > threshold
    total = jnp.sum(jnp.where(is_chosen, x, 0.0))
    return total / jnp.maximum(jnp.sum(is_chosen), 1)


@partial(jax.jit, static_argnames="size")
def first_above(x: Any, threshold: Any, size: int) -> tuple[Any, Any]:
    """Return the first `size` elements of x that are greater than the threshold, and how many such there are in all.

    Compiled: decorate it with `jit`. Is one of its arguments static? The version to mend, which `jit` refuses:

        chosen = x[x > threshold]
        return chosen[:size], len(chosen)

    Args:
      x: of float32, shape (n,). It may have infinities in it.
      size: at most n.

    Returns:
      An array of shape (size,): the chosen elements in their order, then zeros; and their number, an int32.
    """
    is_chosen = x > threshold
    order = jnp.argsort(~is_chosen, stable=True)[:size]  # False, which is chosen, before True
    return jnp.where(is_chosen[order], x[order], 0.0), jnp.sum(is_chosen)


# --- a global that changes ----------------------------------------------------------------------------------------


@partial(jax.jit, static_argnames="in_logs")
def probabilities(logits: Any, temperature: Any, in_logs: bool) -> Any:
    """Return the softmax of `logits / temperature`, or its logarithm (`jax.nn.log_softmax`) if `in_logs`.

    Compiled: decorate it with `jit`. Two programs are enough, one for either value of `in_logs`: what decides the program is
    static, what it computes with is data.
    """
    function = jax.nn.log_softmax if in_logs else jax.nn.softmax
    return function(logits / temperature)


def sweep(logits: Any, schedule: Sequence[tuple[float, bool]]) -> list[Any]:
    """Return the `probabilities` for each `(temperature, in_logs)` of the schedule.

    All sweeps over logits of one shape share the two programs. One temperature may be an int, another a float or numpy's.

    The version to mend, whose results are wrong from the second on:

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
    return [probabilities(logits, float(temperature), in_logs=in_logs) for temperature, in_logs in schedule]


# --- a tracer that gets away --------------------------------------------------------------------------------------


def leaks(state: Any) -> list[str]:
    """Return the places of a tree where a tracer is, as `keystr` writes their paths, in the order of the leaves.

    What a program keeps from call to call must have none: a tracer stands for a value only while its function is traced.
    """
    leaves, _ = tree_flatten_with_path(state)
    return [keystr(path) for path, leaf in leaves if isinstance(leaf, Tracer)]


@jax.jit
def observed(mean: Any, count: Any, x: Any) -> tuple[Any, Any, Any]:
    """Take one more observation: return the new mean, the new count, and the distance of x from the new mean.

    Compiled: decorate it with `jit`.

    The new mean is `mean + (x - mean) / count`, with the new count.
    """
    count = count + 1
    mean = mean + (x - mean) / count
    return mean, count, x - mean


class RunningMean:
    """The mean of the arrays that it was given so far.

    Attributes:
      mean: an array of float32, of the shape of the observations.
      count: how many there were, an int32.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.mean: Any = np.zeros(shape, np.float32)
        self.count: Any = np.int32(0)

    def update(self, x: Any) -> Any:
        """Take x, of float32, into `self.mean` and `self.count`, and return its distance from the new mean.

        One program serves all instances of one shape. When x cannot be used, `self` stays as it was.

        The version to mend keeps tracers in `self`, on which the next call stumbles:

            @partial(jax.jit, static_argnums=0)
            def update(self, x):
                self.count = self.count + 1
                self.mean = self.mean + (x - self.mean) / self.count
                return x - self.mean
        """
        self.mean, self.count, distance = observed(self.mean, self.count, x)
        return distance


# --- one argument is to blame -------------------------------------------------------------------------------------


def to_blame() -> tuple[str, str]:
    """The program below compiles at every step, ten thousand steps long. Which argument of `step` is to blame for that? And which
    other one was to blame once, and would not be again?

        @jax.jit
        def step(x, rate, log):
            loss = jnp.sum(x * x)
            return x - rate * 2.0 * x, {**log, f"loss {len(log)}": loss}

        log = {}
        for rate in [1, 0.5, 0.25, 0.125, ...]:
            x, log = step(x, rate, log)

    What `explain(step)` tells, after four steps:

        #1 fit.py:11:17 (fit): traced and compiled, 87.7 ms
            The first call of step.

        #2 fit.py:11:17 (fit): traced and compiled, 31.8 ms
            A new signature. Against the closest in the cache, that of #1:
              rate: int32[] of a Python int before, float32[] of a Python float now
                Python's int and float have different types: write 1.0 for 1 in every call, to share one entry.
              log['loss 0'] is new
                Pass the same keys in every call, to share one entry: what is missing may be zeros.

        #3 fit.py:11:17 (fit): traced and compiled, 35.6 ms
            A new signature. Against the closest in the cache, that of #2:
              log['loss 1'] is new
                Pass the same keys in every call, to share one entry: what is missing may be zeros.

        #4 fit.py:11:17 (fit): traced and compiled, 38.5 ms
            A new signature. Against the closest in the cache, that of #3:
              log['loss 2'] is new
                Pass the same keys in every call, to share one entry: what is missing may be zeros.

    Returns:
      Their names: `("x", "rate")`, if it were these.
    """
    return "log", "rate"


def fit(x: Any, rates: Sequence[float]) -> tuple[Any, dict[str, Any]]:
    """Run the program of `to_blame`, mended: a call of `fit` compiles one program, however many rates there are and of whatever
    type of number.

    No step waits for the loss of the one before it: the losses in the log are arrays, and whoever wants to read them waits.

    Args:
      x: of float32, any shape. It is not donated.

    Returns:
      The last x, and the log: the loss before the first step as "loss 0", before the second as "loss 1", and so on.
    """

    @jax.jit
    def step(x: Any, rate: Any) -> tuple[Any, Any]:
        return x - rate * 2.0 * x, jnp.sum(x * x)

    log = {}
    for i, rate in enumerate(rates):
        x, log[f"loss {i}"] = step(x, float(rate))
    return x, log
