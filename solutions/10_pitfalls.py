"""10 Pitfalls: the solutions, as the reference has them, and why."""

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


# --- 10.1 Measure honestly ----------------------------------------------------------------------------------
# Each call is timed by itself and to its end, so that the first one can be reported apart, and one bad try
# does not matter. Waiting once after the loop would give an honest sum; but the calls would overlap, and that
# measures throughput, not the time of one call.
#
# Usual mistakes:
#   - Waiting after the clock was read: the time is as short as without waiting.
#   - `result.block_until_ready()`: right for one array; a tuple or a dict that a function returns has no such
#     method.
#   - Taking the mean: one interruption of a tenth of a second outweighs a thousand calls.
#
# In JAX: jax/_src/api.py:block_until_ready


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


# --- 10.2 A jit in a loop -----------------------------------------------------------------------------------
# `step` is made once in a call of `descend`, so all its steps share one program. The rate is data: as a
# static argument it would be compiled in, and each new rate would be a new program. x and the rates are
# brought to one type before the loop, at no cost; else the key would change when the first result, a float32
# array, goes back in.
#
# Usual mistakes:
#   - Making the rate static: then there is no error about a tracer any more, but each value of the rate needs
#     a program of its own.
#   - Jitting `gradient` only: one trace, but the step's other operations run one by one, each a program of
#     its own.
#   - Leaving x as it was passed: then there are two programs, one for the first step and one for all others.
#
# In JAX: jax/_src/api.py:jit


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


# --- 10.3 Buckets -------------------------------------------------------------------------------------------
# Padding trades a little arithmetic for a bounded number of programs. Done with numpy before the call, it
# needs no compilation itself. The program masks, since it has both the numbers and the length; and it uses
# `where`, so that the padding may be anything.
#
# Usual mistakes:
#   - Dividing by `x.shape[0]`, the padded length.
#   - Relying on zeros: they change no sum, but their distance from the mean is not zero.
#   - Padding to the longest row of each list: the next list has another longest row.
#   - Padding with `jnp.pad` or `jnp.concatenate`: eager operations on a new shape each time, which compile as
#     well.
#
# In JAX: jax/_src/numpy/lax_numpy.py:where


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


# --- 10.4 Chosen by a mask ----------------------------------------------------------------------------------
# A program has fixed shapes, so a choice among values can become a mask, a permutation or a number, but never
# a length. `where` takes one of two values and ignores the other, so infinities and nans among the elements
# that are not chosen do no harm. The number of chosen elements is data; outside of the program, numpy can cut
# off the unused places with `values[:count]`.
#
# Usual mistakes:
#   - Multiplying by weights of 1 and 0: 0 times infinity is nan. (With a mask of truth values it happens to
#     go well, since XLA turns that product into a select. `where` is a select from the start.)
#   - Dividing by the number of chosen elements when it is 0.
#   - Sorting the values: the task asks for the first ones in order, not for the largest ones.
#
# In JAX: jax/_src/numpy/lax_numpy.py:nonzero


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


# --- 10.5 A global that changes -----------------------------------------------------------------------------
# Only the arguments are in the key. If a global changes, nobody notices, and there is no error: the old
# program runs, and is fast. If everything is static, changes are noticed, but each new temperature compiles a
# program. The temperature is converted to a float, as 1 and 1.0 have different types.
#
# Usual mistakes:
#   - Making both static: as many programs as temperatures.
#   - Using a traced argument in `if in_logs`: that is a TracerBoolConversionError.
#   - A new jitted closure for each entry, or in each sweep: the results are right, and the cache never has a
#     hit.
#
# In JAX: jax/_src/api.py:jit


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


# --- 10.6 A tracer that gets away ---------------------------------------------------------------------------
# The pure function is the program, and the object keeps its results between calls. As `observed` is a
# function of the module and not of an instance, all instances share its program. The assignment happens after
# the call has succeeded, so an error leaves the object unchanged.
#
# Usual mistakes:
#   - Counting with a Python number, `self.count + 1` outside of the program: its type is weak, the count of
#     the program is not.
#   - Jitting a bound method, as in `jax.jit(self.step)(x)`: each mention makes a new method object, whose
#     programs go when it goes.
#   - Looking for tracers by their name or their methods: an array has the same methods; `isinstance(x,
#     Tracer)` is exact.
#
# In JAX: jax/_src/core.py:leaked_tracer_error


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


# --- 10.7 Which argument? -----------------------------------------------------------------------------------
# Keys of a dict are in the tree of the arguments, and the tree is in the key of the call: a program that
# takes and returns its log compiles again whenever the log grows. The first `rate` is an int, which makes
# only two programs in all, and one if each rate is converted to a float. The losses stay arrays, so that
# Python can hand over the next step while the device is still busy with this one.
#
# Usual mistakes:
#   - Blaming the arguments whose values change most: `rate` and `x` have new values at every step, but values
#     are not in the key.
#   - Making the log static: a dict has no hash; and if it had one, each log would be another value, so
#     another program.
#   - `float(loss)` in the loop: it waits for each step before the next one can begin.
#
# In JAX: jax/_src/interpreters/partial_eval.py:diff_tracing_cache_keys


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


# --- 10.8 Which of these compiles twice? --------------------------------------------------------------------
# Two values make one key when Python calls them equal: trees of one structure are equal, a frozen dataclass
# compares its fields, an ordinary object is equal to itself only. A dict's keys are sorted when it is
# flattened, so their order does not count. A list is not a tuple, since the function may ask. An argument
# that was left out and one that is `None` give two trees: the latter is a node without leaves.
#
# Usual mistakes:
#   - Taking a Python number for a constant of the program: it is data, with the type of Python numbers.
#   - Making new settings at each call, of a class without `__eq__`: each object needs a program of its own.
#   - Passing a list as a static value: a list can change, so it has no hash and cannot be in a key.
#
# In JAX: jax/_src/pjit.py:_infer_params


def in_another_order() -> int:
    """How many programs does this compile?

        difference = jax.jit(lambda pair: pair["a"] - pair["b"])
        difference({"a": x, "b": 2.0})
        difference({"b": 2.0, "a": x})

    x is a numpy array of float32, of shape (3,).
    """
    return 1


def list_or_tuple() -> int:
    """How many programs does this compile?

        difference = jax.jit(lambda pair: pair[0] - pair[1])
        difference([x, 2.0])
        difference((x, 2.0))
        difference([2.0 * x, 3.0])

    x is a numpy array of float32, of shape (3,).
    """
    return 2


def with_a_bias() -> int:
    """How many programs does this compile?

        layer = jax.jit(lambda x, bias=None: 2.0 * x if bias is None else 2.0 * x + bias)
        layer(x)
        layer(x, x)
        layer(x, None)

    x is a numpy array of float32, of shape (3,).
    """
    return 3


def step_by_step() -> int:
    """How many programs does this compile?

        power = jax.jit(lambda x, n: x * n)
        for n in range(3):
            power(x, n)
        power(x, 2.5)

    x is a numpy array of float32, of shape (3,).
    """
    return 2


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
    return 2


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
    return 3


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
    return 1


# --- 10.9 And which of these? -------------------------------------------------------------------------------
# `jit(double)` three times is one function with one cache, so a `jit` in a loop does no harm by itself; a
# function that is made anew in the loop does. Bound methods of one object are even equal, and would share a
# program if one of them were kept; here each is gone before the next one is made. Python's `if` and `for` are
# fine where they ask about shapes, which are known and in the key: another shape is traced again and may take
# another branch.
#
# Usual mistakes:
#   - Believing that a changed variable is noticed: nobody looks again, and the old program gives the old
#     result.
#   - Believing that every Python `if` in a traced function is an error.
#   - `float(loss)` in a loop, for a progress bar: it makes Python wait for the device at every step.
#
# In JAX: jax/_src/util.py:weakref_lru_cache


def jitted_in_a_loop() -> int:
    """How many programs does this compile?

        def double(x):
            return x * 2.0

        for _ in range(3):
            jax.jit(double)(x)

    x is a numpy array of float32, of shape (3,).
    """
    return 1


def partials() -> int:
    """How many programs does this compile?

        def scaled(scale, x):
            return x * scale

        for _ in range(3):
            jax.jit(functools.partial(scaled, 2.0))(x)

    x is a numpy array of float32, of shape (3,).
    """
    return 3


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
    return 3


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
    return 2


def closed_over() -> int:
    """How many programs does this compile?

        scale = 2.0
        scaled = jax.jit(lambda x: x * scale)
        scaled(x)
        scale = 3.0
        scaled(x)

    x is a numpy array of float32, of shape (3,).
    """
    return 1


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
    return 3
