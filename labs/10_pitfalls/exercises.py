"""10 Pitfalls: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 10.1` helps, one
step further each time. You may add helpers and imports: functions, classes, constants. Other
statements at the top are not run. The parameters stay as they are: other code calls these
functions. A class has only those methods that are yours to write; the others are the
reference's.
"""

from __future__ import annotations

import jitkit as jax
import jitkit.numpy as jnp
import numpy as np
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from jitkit.core import Tracer
from jitkit.tree_util import keystr, tree_flatten_with_path


# --- 10.1 Measure honestly (2 points) -----------------------------------------------------------------------
# Write a stopwatch for jitted functions. The one in the docstring reads the clock before any result is ready,
# and counts the first call among the others, although it compiles. Write one that waits, and that measures
# the first call apart from the rest.


def call_seconds(
    function: Callable[..., Any],
    *args: Any,
    tries: int = 9,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, float]:
    """Return how long `function(*args)` takes: the first time, and typically.

    A call counts as over when everything that it returns (an array, or a tree of them) is there. It
    is called `1 + tries` times, and nothing else is timed than each of these calls.

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
    raise NotImplementedError("10.1")


# --- 10.2 A jit in a loop (2 points) ------------------------------------------------------------------------
# This gradient descent compiles at every step. Make it trace `gradient` once, whatever the rates are and
# whatever x is.


def descend(gradient: Callable[[Any], Any], x: Any, rates: Sequence[float]) -> Any:
    """Do gradient descent: for each of the rates in turn, x becomes `x - rate * gradient(x)`.

    The whole step is one program, and one program is enough: `gradient` is traced once in a call of
    `descend`, whatever the rates are (floats, ints, numpy's), and whether x is a number, a list of
    numbers or an array of any dtype.

    The version to mend:

        for rate in rates:
            x = jax.jit(lambda x: x - rate * gradient(x))(x)
        return x

    Returns:
      An array of float32, whatever x was. The caller's x is still there: it is not donated.
    """
    raise NotImplementedError("10.2")


# --- 10.3 Buckets (3 points) --------------------------------------------------------------------------------
# Each new length of a row compiles its own program. Pad the rows to a few sizes, and tell the program how
# many numbers are real.


def bucket_size(n: int) -> int:
    """Return the size that n numbers are padded to: the least power of two that is n or more, and
    at least 8.
    """
    raise NotImplementedError("10.3")


def variance_of_first(x: Any, n: Any) -> Any:
    """Return the variance (the mean of the squared distances from the mean) of the first n numbers
    of x.

    Compiled: decorate it with `jit`.

    Args:
      x: numbers of float32, of shape (size,). Those from place n on are padding and may be
        anything, nan too.
      n: how many are used: data, not static. At least 1.
    """
    raise NotImplementedError("10.3")


def variances(rows: Sequence[Any]) -> list[Any]:
    """Return the variance of each row, as a list of float32 scalars. Rows may have different
    lengths.

    For all lengths up to 64 there are four programs, for all up to 1024 eight.

    The version to mend:

        @jax.jit
        def variance(row):
            return jnp.mean((row - jnp.mean(row)) ** 2)

        return [variance(np.asarray(row, np.float32)) for row in rows]

    Args:
      rows: lists or arrays of one axis, none of them empty. They stay as they are.
    """
    raise NotImplementedError("10.3")


# --- 10.4 Chosen by a mask (3 points) -----------------------------------------------------------------------
# The length of `x[x > threshold]` depends on numbers, which nobody knows while tracing. Compute the same
# result without making such an array.


def mean_above(x: Any, threshold: Any) -> Any:
    """Return the mean of the elements of x that are greater than the threshold; 0 where there are
    none.

    Compiled: decorate it with `jit`. The version to mend, which `jit` refuses, as it cannot know
    the shape of `chosen`:

        chosen = x[x > threshold]
        return jnp.mean(chosen) if len(chosen) else 0.0

    Args:
      x: of float32 and any shape. It may have infinities in it.
      threshold: a number.
    """
    raise NotImplementedError("10.4")


def first_above(x: Any, threshold: Any, size: int) -> tuple[Any, Any]:
    """Return the first `size` elements of x that are greater than the threshold, and how many such
    there are in all.

    Compiled: decorate it with `jit`. Is one of its arguments static? The version to mend, which
    `jit` refuses:

        chosen = x[x > threshold]
        return chosen[:size], len(chosen)

    Args:
      x: of float32, shape (n,). It may have infinities in it.
      size: at most n.

    Returns:
      An array of shape (size,): the chosen elements in their order, then zeros; and their number,
      an int32.
    """
    raise NotImplementedError("10.4")


# --- 10.5 A global that changes (2 points) ------------------------------------------------------------------
# The traced function reads its settings from a global dict: once, while it is traced. Turn what changes into
# arguments, and decide for each whether it is static.


def probabilities(logits: Any, temperature: Any, in_logs: bool) -> Any:
    """Return the softmax of `logits / temperature`, or its logarithm (`jax.nn.log_softmax`) if
    `in_logs`.

    Compiled: decorate it with `jit`. Two programs are enough, one for either value of `in_logs`:
    what decides the program is static, what it computes with is data.
    """
    raise NotImplementedError("10.5")


def sweep(logits: Any, schedule: Sequence[tuple[float, bool]]) -> list[Any]:
    """Return the `probabilities` for each `(temperature, in_logs)` of the schedule.

    All sweeps over logits of one shape share the two programs. One temperature may be an int,
    another a float or numpy's.

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
    raise NotImplementedError("10.5")


# --- 10.6 A tracer that gets away (3 points) ----------------------------------------------------------------
# A traced method that assigns to self keeps tracers, and its counter counts once. Write a function that finds
# the tracers; then make state an argument and a result.


def leaks(state: Any) -> list[str]:
    """Return the places of a tree where a tracer is, as `keystr` writes their paths, in the order
    of the leaves.

    What a program keeps from call to call must have none: a tracer stands for a value only while
    its function is traced.
    """
    raise NotImplementedError("10.6")


def observed(mean: Any, count: Any, x: Any) -> tuple[Any, Any, Any]:
    """Take one more observation: return the new mean, the new count, and the distance of x from the
    new mean.

    Compiled: decorate it with `jit`.

    The new mean is `mean + (x - mean) / count`, with the new count.
    """
    raise NotImplementedError("10.6")


class RunningMean:
    def update(self, x: Any) -> Any:
        """Take x, of float32, into `self.mean` and `self.count`, and return its distance from the
        new mean.

        One program serves all instances of one shape. When x cannot be used, `self` stays as it
        was.

        The version to mend keeps tracers in `self`, on which the next call stumbles:

            @partial(jax.jit, static_argnums=0)
            def update(self, x):
                self.count = self.count + 1
                self.mean = self.mean + (x - self.mean) / self.count
                return x - self.mean
        """
        raise NotImplementedError("10.6")


# --- 10.7 Which argument? (3 points) ------------------------------------------------------------------------
# You get a slow program, and what `explain` says about it. Read it: which argument makes the program compile
# at every step, and which one did so once? (The checks run the program with these arguments kept constant,
# and count compilations.) Then fix the program.


def to_blame() -> tuple[str, str]:
    """The program below compiles at every step, ten thousand steps long. Which argument of `step`
    is to blame for that? And which other one was to blame once, and would not be again?

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
    raise NotImplementedError("10.7")


def fit(x: Any, rates: Sequence[float]) -> tuple[Any, dict[str, Any]]:
    """Run the program of `to_blame`, mended: a call of `fit` compiles one program, however many
    rates there are and of whatever type of number.

    No step waits for the loss of the one before it: the losses in the log are arrays, and whoever
    wants to read them waits.

    Args:
      x: of float32, any shape. It is not donated.

    Returns:
      The last x, and the log: the loss before the first step as "loss 0", before the second as
      "loss 1", and so on.
    """
    raise NotImplementedError("10.7")


# --- 10.8 Which of these compiles twice? (2 points) ---------------------------------------------------------
# This is a quiz about the key of a call. Each docstring has a program; say how many programs it compiles,
# before you try. The checks run it and count. (`x` is a numpy array, float32[3].)


def in_another_order() -> int:
    """How many programs does this compile?

        difference = jax.jit(lambda pair: pair["a"] - pair["b"])
        difference({"a": x, "b": 2.0})
        difference({"b": 2.0, "a": x})

    x is a numpy array of float32, of shape (3,).
    """
    raise NotImplementedError("10.8")


def list_or_tuple() -> int:
    """How many programs does this compile?

        difference = jax.jit(lambda pair: pair[0] - pair[1])
        difference([x, 2.0])
        difference((x, 2.0))
        difference([2.0 * x, 3.0])

    x is a numpy array of float32, of shape (3,).
    """
    raise NotImplementedError("10.8")


def with_a_bias() -> int:
    """How many programs does this compile?

        layer = jax.jit(lambda x, bias=None: 2.0 * x if bias is None else 2.0 * x + bias)
        layer(x)
        layer(x, x)
        layer(x, None)

    x is a numpy array of float32, of shape (3,).
    """
    raise NotImplementedError("10.8")


def step_by_step() -> int:
    """How many programs does this compile?

        power = jax.jit(lambda x, n: x * n)
        for n in range(3):
            power(x, n)
        power(x, 2.5)

    x is a numpy array of float32, of shape (3,).
    """
    raise NotImplementedError("10.8")


def sizes() -> int:
    """How many programs does this compile? (One of the calls raises an error.)

        repeated = jax.jit(lambda x, shape: x + np.ones(shape, np.float32), static_argnums=1)
        repeated(x, (2, 3))
        repeated(x, (2, 3))
        repeated(x, (1, 3))
        with contextlib.suppress(ValueError):
            repeated(x, [2, 3])

    x is a numpy array of float32, of shape (3,).
    """
    raise NotImplementedError("10.8")


def settings() -> int:
    """How many programs does this compile?

        class Settings:
            def __init__(self, scale):
                self.scale = scale

        scaled = jax.jit(lambda x, settings: x * settings.scale, static_argnums=1)
        for _ in range(3):
            scaled(x, Settings(2.0))

    x is a numpy array of float32, of shape (3,).
    """
    raise NotImplementedError("10.8")


def frozen_settings() -> int:
    """How many programs does this compile?

        @dataclasses.dataclass(frozen=True)
        class Settings:
            scale: float

        scaled = jax.jit(lambda x, settings: x * settings.scale, static_argnums=1)
        for _ in range(3):
            scaled(x, Settings(2.0))

    x is a numpy array of float32, of shape (3,).
    """
    raise NotImplementedError("10.8")


# --- 10.9 And which of these? (2 points) --------------------------------------------------------------------
# The quiz goes on: which function is called, what Python does while tracing, and what waits for the device.


def jitted_in_a_loop() -> int:
    """How many programs does this compile?

        def double(x):
            return x * 2.0

        for _ in range(3):
            jax.jit(double)(x)

    x is a numpy array of float32, of shape (3,).
    """
    raise NotImplementedError("10.9")


def partials() -> int:
    """How many programs does this compile?

        def scaled(scale, x):
            return x * scale

        for _ in range(3):
            jax.jit(functools.partial(scaled, 2.0))(x)

    x is a numpy array of float32, of shape (3,).
    """
    raise NotImplementedError("10.9")


def bound_methods() -> int:
    """How many programs does this compile?

        class Model:
            def apply(self, x):
                return x * 2.0

        model = Model()
        for _ in range(3):
            jax.jit(model.apply)(x)

    x is a numpy array of float32, of shape (3,).
    """
    raise NotImplementedError("10.9")


def pythons_if_and_for() -> int:
    """How many programs does this compile? (No call raises an error.)

        @jax.jit
        def folded(x):
            if x.ndim > 1:
                x = x[0]
            for i in range(len(x)):
                x = x + i
            return x

        folded(x)
        folded(-x)
        folded(np.stack([x, x]))

    x is a numpy array of float32, of shape (3,).
    """
    raise NotImplementedError("10.9")


def closed_over() -> int:
    """How many programs does this compile?

        scale = 2.0
        scaled = jax.jit(lambda x: x * scale)
        scaled(x)
        scale = 3.0
        scaled(x)

    x is a numpy array of float32, of shape (3,).
    """
    raise NotImplementedError("10.9")


def waits() -> int:
    """How many of the five calls of `step` begin only when the result of the call before is there?

        step = jax.jit(lambda x: (x * 0.5, (x * x).sum()))
        losses = []
        for _ in range(3):
            x, loss = step(x)
            losses.append(float(loss))
        for _ in range(2):
            x, loss = step(x)
            losses.append(loss)

    x is a numpy array of float32, of shape (3,).
    """
    raise NotImplementedError("10.9")
