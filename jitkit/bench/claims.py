"""The claims of five tutorials on jit, and the programs that measure them, for jitkit and JAX alike.

Where a tutorial does not say how large its arrays were, the size chosen here is in the name of the claim.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import programs
from .libraries import Library, wait
from .timing import Action

TURNS = 20  # of the loops, as in JAX's tutorial


class Side(NamedTuple):
    """One way to do it: its name, the seconds that were published, and how to make what is measured.

    `prepare` gives an action to be repeated; with `is_once`, one that does everything anew in each round, and
    returns the seconds itself.
    """

    name: str
    published: float | None
    prepare: Callable[[Library], Callable[[], Any]]
    is_once: bool = False


class Claim(NamedTuple):
    """The first of the sides takes so many times longer than the last. `reason` is told where that is no longer so."""

    name: str
    sides: tuple[Side, ...]
    reason: str

    @property
    def factor(self) -> float | None:
        """How many times, as published."""
        slow, fast = self.sides[0].published, self.sides[-1].published
        return slow / fast if slow is not None and fast is not None else None


# --- the programs ---------------------------------------------------------------------------------------------


def _selu_eagerly(library: Library) -> Action:
    x = library.array(np.arange(1_000_000, dtype=np.int32))
    selu = programs.selu(library.np)
    return lambda: wait(selu(x))


def _selu_jitted(library: Library) -> Action:
    x = library.array(np.arange(1_000_000, dtype=np.int32))
    selu = library.jit(programs.selu(library.np))
    return lambda: wait(selu(x))


def _affine(w: Any, x: Any, b: Any) -> Any:
    return w @ x + b


def _affine_data(library: Library) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    shapes = ((16, 16), (16,), (16,))
    w, x, b = (library.array(rng.standard_normal(shape, dtype=np.float32)) for shape in shapes)
    return w, x, b


def _affine_eagerly(library: Library) -> Action:
    data = _affine_data(library)
    return lambda: wait(_affine(*data))


def _affine_jitted(library: Library) -> Action:
    data, affine = _affine_data(library), library.jit(_affine)
    return lambda: wait(affine(*data))


def useless(x: Any) -> Any:
    """A thousand multiplications that nobody reads."""
    for _ in range(1000):
        _ = x * 2.0
    return x + 1.0


def _small(library: Library) -> Any:
    return library.array(np.arange(10, dtype=np.float32))


def _useless_eagerly(library: Library) -> Action:
    x = _small(library)
    return lambda: wait(useless(x))


def _useless_jitted(library: Library) -> Action:
    x, jitted = _small(library), library.jit(useless)
    return lambda: wait(jitted(x))


def _useless_first(library: Library) -> Callable[[], float]:
    x = _small(library)
    return lambda: _seconds(lambda: wait(library.jit(lambda v: useless(v))(x)))  # new each time


def _useless_eagerly_once(library: Library) -> Callable[[], float]:
    x = _small(library)
    return lambda: _seconds(lambda: wait(useless(x)))


def _seconds(action: Action) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def body(previous: Any) -> Any:
    """One turn of JAX's tutorial."""
    return previous + 1


def _loop(make_step: Callable[[], Callable[[Any], Any]]) -> Any:
    i: Any = 0
    for _ in range(TURNS):
        i = make_step()(i)
    return wait(10 + i)


def _loop_of_lambdas(library: Library) -> Callable[[], float]:
    return lambda: _seconds(lambda: _loop(lambda: library.jit(lambda v: body(v))))


def _loop_of_partials(library: Library) -> Callable[[], float]:
    return lambda: _seconds(lambda: _loop(lambda: library.jit(functools.partial(body))))


def _loop_of_the_function(library: Library) -> Callable[[], float]:
    return lambda: _seconds(lambda: _loop(lambda: library.jit(body)))


_lengths = itertools.count(11)  # none of them twice


def _new_lengths(library: Library) -> Callable[[], float]:
    jitted = library.jit(programs.add_one(library.np))

    def call_with_three_lengths() -> float:
        arrays = [np.zeros(next(_lengths), np.float32) for _ in range(3)]
        return _seconds(lambda: [wait(jitted(x)) for x in arrays]) / len(arrays)

    return call_with_three_lengths


def _one_length(library: Library) -> Action:
    jitted, x = library.jit(programs.add_one(library.np)), np.zeros(10, np.float32)
    return lambda: wait(jitted(x))


def _numpy_add(library: Library) -> Action:
    x, y = np.arange(10, dtype=np.float32), np.ones(10, np.float32)
    return lambda: x + y


def _eager_add(library: Library) -> Action:
    x, y = _small(library), library.array(np.ones(10, np.float32))
    return lambda: wait(x + y)


def first_half(x: Any) -> Any:
    """One function of two."""
    return x * 2.0 + 1.0


def second_half(x: Any) -> Any:
    """The other one."""
    return x * x - 3.0


def _two_jits(library: Library) -> Action:
    x = library.array(np.ones(1_000_000, np.float32))
    first, second = library.jit(first_half), library.jit(second_half)
    return lambda: wait(second(first(x)))


def _one_jit(library: Library) -> Action:
    x = library.array(np.ones(1_000_000, np.float32))
    both = library.jit(lambda v: second_half(first_half(v)))
    return lambda: wait(both(x))


CLAIMS = (
    Claim(
        "SELU of 1,000,000 numbers",
        (Side("op by op", 2.76e-3, _selu_eagerly), Side("jitted", 1.01e-3, _selu_jitted)),
        "Fusion saves traffic to memory, so that the factor is that of this machine's caches and cores.",
    ),
    Claim(
        "W @ x + b, 16 by 16",
        (Side("op by op", 26.1e-6, _affine_eagerly), Side("jitted", 7.62e-6, _affine_jitted)),
        "What jit saves here is one dispatch of two. Dispatch of eager operations has become several times faster since "
        "(in JAX it moved from Python to C++), so there is less to save.",
    ),
    Claim(
        "1,000 useless multiplications",
        (Side("op by op", 81.9e-3, _useless_eagerly), Side("jitted, warm", 8.7e-6, _useless_jitted)),
        "The multiplications cost nothing once compiled, now as then: XLA, and before it the tracer, drop what nobody reads. "
        "Eager dispatch has become faster, which makes the factor smaller.",
    ),
    Claim(
        "... and their first call",
        (
            Side("jitted, first call", 800e-3, _useless_first, True),
            Side("op by op", 81.9e-3, _useless_eagerly_once, True),
        ),
        "Dead equations are dropped before the compiler sees them, which then has one addition to compile; what is left "
        "of the first call is tracing.",
    ),
    Claim(
        f"jit in a loop of {TURNS} turns",
        (
            Side("of a lambda", 218e-3, _loop_of_lambdas, True),
            Side("of a partial", 227e-3, _loop_of_partials, True),
            Side("of the function", 2.28e-3, _loop_of_the_function, True),
        ),
        "Each lambda is still traced and compiled anew; the compiler has become faster, jit itself has not.",
    ),
    Claim(
        "... in another tutorial",
        (
            Side("of a new function", 203e-3, _loop_of_lambdas, True),
            Side("of the function", 15.2e-3, _loop_of_the_function, True),
        ),
        "Each new function is still traced and compiled anew.",
    ),
    Claim(
        "arrays of random lengths",
        (Side("a new length", 4.55e-3, _new_lengths, True), Side("one length", 7.3e-6, _one_length)),
        "Each length is still a program of its own. The published mean has lengths in it that were met before; here each "
        "one is new.",
    ),
    Claim(
        "x + y of 10 numbers",
        (Side("op by op", 7.27e-6, _eager_add), Side("numpy", 1.17e-6, _numpy_add)),
        "numpy is still the fastest way to add ten numbers: no dispatch to a device, no waiting.",
    ),
    Claim(
        "two functions of 1,000,000 numbers",
        (Side("a jit for each", None, _two_jits), Side("one jit around both", None, _one_jit)),
        "One jit saves a pass over memory and a call; where caches are large and calls are fast there is little to save.",
    ),
)
