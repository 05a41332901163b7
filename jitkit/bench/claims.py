"""The claims of four tutorials on jit, their sources, and the programs that measure them, for jitkit and JAX alike.

Programs and sizes are the tutorials' own, unless the remark on the claim says otherwise.
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

TURNS = 20  # the loops have this many turns in JAX's tutorial


class Source(NamedTuple):
    """A tutorial: its author, its title, its address (empty if unknown), and a remark."""

    author: str
    title: str
    address: str
    remark: str = ""

    def __str__(self) -> str:
        parts = (f"{self.author}, {self.title}", self.address, self.remark and f"({self.remark})")
        return " ".join(part for part in parts if part)


JAX = Source(
    "The JAX authors",
    "Just-in-time compilation",
    "https://docs.jax.dev/en/latest/jit-compilation.html",
    "measured anew whenever the page is built",
)
MCKINNEY = Source(
    "Alex McKinney",
    "On Learning JAX - A Framework for High Performance Machine Learning (2023)",
    "https://afmck.in/posts/2023-05-22-jax-post/",
)
JONES = Source(
    "Andy Jones (Princeton)",
    "Just-in-time compilation and JAX (2021)",
    "https://andrewcharlesjones.github.io/journal/jax-jit.html",
    "a plot, without numbers",
)
NAIN = Source(
    "Aakash Kumar Nain",
    "TF_JAX_Tutorials - Part 7 (JIT in JAX) (2021)",
    "https://www.kaggle.com/aakashnain/tf-jax-tutorials-part-7-jit-in-jax",
)
SOURCES = (JAX, MCKINNEY, JONES, NAIN)  # cited by their number in this list


class Side(NamedTuple):
    """One of the ways that a claim compares. `prepare` makes the action to measure, which is repeated in batches; with
    `is_once` it runs once a round, does everything anew, and returns the seconds itself.
    """

    name: str
    published: float | None  # seconds
    prepare: Callable[[Library], Callable[[], Any]]
    is_once: bool = False


class Claim(NamedTuple):
    """A claim: the first of the sides takes `factor` times as long as the last. `remark` says how this measurement
    differs from the source's, and what has changed since.
    """

    name: str
    source: Source
    sides: tuple[Side, ...]
    remark: str

    @property
    def title(self) -> str:
        """The name, with the number of the source."""
        return f"{self.name} [{SOURCES.index(self.source) + 1}]"

    @property
    def factor(self) -> float | None:
        """The published factor; None if there is none."""
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


def _affine(w: Any, b: Any, x: Any) -> Any:
    return x @ w + b


def _affine_data(library: Library) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    w, b, x = (library.array(rng.standard_normal(shape, dtype=np.float32)) for shape in ((4, 2), (2,), (4,)))
    return w, b, x


def _affine_eagerly(library: Library) -> Action:
    data = _affine_data(library)
    return lambda: wait(_affine(*data))


def _affine_jitted(library: Library) -> Action:
    data, affine = _affine_data(library), library.jit(_affine)
    return lambda: wait(affine(*data))


def useless(jnp: Any) -> Callable[[Any], Any]:
    """Return a new function of a thousand multiplications, each of the previous product. Nobody reads the result."""

    def useless(x: Any) -> Any:
        y = jnp.copy(x)
        for _ in range(1000):
            x = x * x
        return y

    return useless


def _small(library: Library) -> Any:
    return library.array(np.linspace(0.1, 0.9, 4, dtype=np.float32))


def _useless_eagerly(library: Library) -> Action:
    x, function = _small(library), useless(library.np)
    return lambda: wait(function(x))


def _useless_jitted(library: Library) -> Action:
    x, jitted = _small(library), library.jit(useless(library.np))
    return lambda: wait(jitted(x))


def _useless_first(library: Library) -> Callable[[], float]:
    x = _small(library)
    return lambda: _seconds(lambda: wait(library.jit(useless(library.np))(x)))


def _useless_eagerly_once(library: Library) -> Callable[[], float]:
    x, function = _small(library), useless(library.np)
    return lambda: _seconds(lambda: wait(function(x)))


def _seconds(action: Action) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def body(previous: Any) -> Any:
    """Compute one turn of the loop in JAX's tutorial."""
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


def cube(x: Any) -> Any:
    """Return x cubed, for the claim about arrays of random lengths."""
    return x * x * x


_lengths = itertools.count(11)  # lengths of arrays, none of them twice


def _new_lengths(library: Library) -> Callable[[], float]:
    jitted = library.jit(cube)

    def call_with_three_lengths() -> float:
        arrays = [np.zeros(next(_lengths), np.float32) for _ in range(3)]
        return _seconds(lambda: [wait(jitted(x)) for x in arrays]) / len(arrays)

    return call_with_three_lengths


def _one_length(library: Library) -> Action:
    jitted, x = library.jit(cube), _small(library)
    return lambda: wait(jitted(x))


_LEFT, _RIGHT = np.array([0, 2, 4, 6], np.int32), np.array([1, 2, 3, 4], np.int32)


def _numpy_dot(library: Library) -> Action:
    return lambda: _LEFT @ _RIGHT


def _eager_dot(library: Library) -> Action:
    x, y = library.array(_LEFT), library.array(_RIGHT)
    return lambda: wait(x @ y)


def added(a: Any, b: Any) -> Any:
    """Add two numbers."""
    return a + b


def _numbers(library: Library) -> tuple[Any, Any]:
    return library.array(np.float32(1.0)), library.array(np.float32(2.0))


def _add_eagerly(library: Library) -> Action:
    a, b = _numbers(library)
    return lambda: wait(added(a, b))


def _add_jitted(library: Library) -> Action:
    (a, b), jitted = _numbers(library), library.jit(added)
    return lambda: wait(jitted(a, b))


def first_half(x: Any) -> Any:
    """Compute the first of two steps."""
    return x * 2.0 + 1.0


def second_half(x: Any) -> Any:
    """Compute the second of two steps."""
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
        JAX,
        (Side("op by op", 2.76e-3, _selu_eagerly), Side("jitted", 1.01e-3, _selu_jitted)),
        "Fusion saves traffic to memory, so that the factor is that of the machine's caches and cores.",
    ),
    Claim(
        "x @ W + b, W of 4 by 2",
        MCKINNEY,
        (Side("op by op", 26.1e-6, _affine_eagerly), Side("jitted", 7.62e-6, _affine_jitted)),
        "What jit saves here is one dispatch of two. In JAX, dispatch of eager operations has moved from Python to C++ since.",
    ),
    Claim(
        "1,000 useless multiplications",
        MCKINNEY,
        (Side("op by op", 81.9e-3, _useless_eagerly), Side("jitted, warm", 8.7e-6, _useless_jitted)),
        "The multiplications cost nothing once compiled, now as then: XLA, and before it the tracer, drop what nobody reads. "
        "So the factor is that of a thousand eager dispatches over one call. A draft of the article has 17.6 ms and 5.6 µs.",
    ),
    Claim(
        "... and their first call",
        MCKINNEY,
        (
            Side("jitted, first call", 800e-3, _useless_first, True),
            Side("op by op", 81.9e-3, _useless_eagerly_once, True),
        ),
        "Dead equations are dropped before the compiler sees them, which then has one copy to compile; what is left of the "
        "first call is tracing a thousand equations and compiling next to nothing. A draft of the article has 1.09 s.",
    ),
    Claim(
        f"jit in a loop of {TURNS} turns",
        JAX,
        (
            Side("of a lambda", 218e-3, _loop_of_lambdas, True),
            Side("of a partial", 227e-3, _loop_of_partials, True),
            Side("of the function", 2.28e-3, _loop_of_the_function, True),
        ),
        "Each lambda is traced and compiled anew, now as then. The factor grows with the number of turns.",
    ),
    Claim(
        "arrays of random lengths",
        MCKINNEY,
        (Side("a new length", 4.55e-3, _new_lengths, True), Side("one length", 7.3e-6, _one_length)),
        "Not the same: the published mean is over 1,000 calls with lengths up to 1,000, many of them met before, and has the "
        "making of each array in it. Here every length is new, and the arrays are there: nearly all of it is tracing and compiling.",
    ),
    Claim(
        "x @ y of 4 numbers",
        MCKINNEY,
        (Side("op by op", 7.27e-6, _eager_dot), Side("numpy", 1.17e-6, _numpy_dot)),
        "Now as then numpy is the fastest way to do little: no dispatch to a device, no waiting.",
    ),
    Claim(
        "a + b of two numbers",
        JONES,
        (Side("op by op", None, _add_eagerly), Side("jitted", None, _add_jitted)),
        "The plot shows the jitted one to be faster. One operation is one call either way; that jit saved something was "
        "eager dispatch, which was in Python.",
    ),
    Claim(
        "two functions of 1,000,000 numbers",
        NAIN,
        (Side("a jit for each", None, _two_jits), Side("one jit around both", None, _one_jit)),
        "The notebook jits a matrix product and an activation, each for itself, and does not measure one jit around both. Here "
        "the two are elementwise, so that there is a pass over memory to be saved.",
    ),
)
