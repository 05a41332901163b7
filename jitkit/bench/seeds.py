"""`jitkit bench seeds`: what five tutorials on jit claim to have measured, measured again, with jitkit and with JAX.

The published times are other machines', and older versions'. So each claim is taken as what it wants to teach: that
one way is so many times faster than another. It holds when the logarithm of the factor is at least half of what was
published; where it does not, the reason is told. Where a tutorial does not say how large its arrays were, the size
chosen here is in the name of the claim.
"""

from __future__ import annotations

import functools
import itertools
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import programs, timing
from .benchmark import Benchmark, Step
from .libraries import LIBRARIES, OURS, THEIRS, Library, wait
from .tables import Column, Line
from .timing import Action, Spread
from .words import duration, quartiles, times

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


class Measured(NamedTuple):
    """A claim with what was measured: for each side, the spread for each library; and factors within rounds."""

    claim: Claim
    spreads: tuple[dict[str, Spread], ...]
    factors: dict[str, Spread]

    def verdict(self, library: Library) -> str:
        """`holds`, `holds, but less so` or `no longer holds`, with this library today."""
        return verdict(self.claim.factor, self.factors[library.name].median)


def verdict(published: float | None, measured: float) -> str:
    """What is left of a claim: `holds`, `holds, but less so`, `no longer holds`."""
    if measured < 1.1:
        return "no longer holds"
    is_half = published is None or math.log(measured) >= math.log(published) / 2
    return "holds" if is_half else "holds, but less so"


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


# --- measuring them -------------------------------------------------------------------------------------------


class Effort(NamedTuple):
    """How long to measure: rounds of batches of so many seconds, and rounds of what is done anew each time."""

    rounds: int
    batch: float
    once: int


FULL = Effort(rounds=201, batch=0.004, once=15)
QUICK = Effort(rounds=15, batch=0.003, once=2)


def measure_claim(claim: Claim, effort: Effort) -> Measured:
    """Every side with both libraries, in turns."""
    seconds: dict[tuple[str, str], list[float]] = {}
    repeated: dict[tuple[str, str], Action] = {}
    once: dict[tuple[str, str], Callable[[], float]] = {}
    for side, library in itertools.product(claim.sides, LIBRARIES):
        (once if side.is_once else repeated)[side.name, library.name] = side.prepare(library)
    if repeated:
        names = {f"{side}/{library}": (side, library) for side, library in repeated}
        actions = {name: repeated[key] for name, key in names.items()}
        measured = timing.measure(actions, rounds=effort.rounds, batch=effort.batch)
        seconds |= {names[name]: values for name, values in measured.items()}
    if once:
        seconds |= timing.measure_once(once, effort.once)
    spreads = tuple(
        {library.name: Spread.of(seconds[side.name, library.name]) for library in LIBRARIES}
        for side in claim.sides
    )
    factors = {}
    for library in LIBRARIES:
        slow, fast = (seconds[side.name, library.name] for side in (claim.sides[0], claim.sides[-1]))
        if len(slow) == len(fast):
            factors[library.name] = timing.ratio(slow, fast)
        else:  # one of them was not repeated: no common rounds
            middle = Spread.of(fast).median
            factors[library.name] = Spread.of([value / middle for value in slow])
    return Measured(claim, spreads, factors)


class Seeds(Benchmark):
    """All claims, or those whose name contains a word."""

    name = "seeds"
    title = "What five tutorials on jit measured, and what is measured here"
    how = (
        "A claim is a factor: how many times faster its last line is than its first. It holds when that is at least the "
        "square root of what was published. Medians over rounds in turns, each result waited for; `jax` is the JAX "
        "installed here, beside jitkit in one process."
    )
    columns = (
        Column("", 21, "<"),
        Column("published", 9),
        Column("jitkit", 8),
        Column("quartiles", 13, ">", 2),
        Column("jax", 8, ">"),
        Column("quartiles", 13, ">", 3),
    )
    figure_module = "jitkit.bench.seeds_figure"

    @property
    def _effort(self) -> Effort:
        return QUICK if self.quick else FULL

    def all_steps(self) -> list[Step]:
        """One step a claim."""
        return [Step(claim.name, functools.partial(measure_claim, claim, self._effort)) for claim in CLAIMS]

    def lines(self, result: Measured) -> list[Line]:
        """A line for each side; the verdict under the last."""
        lines = []
        for side, spreads in zip(result.claim.sides, result.spreads, strict=True):
            ours, theirs = spreads[OURS.name], spreads[THEIRS.name]
            cells = (
                side.name,
                "-" if side.published is None else duration(side.published),
                duration(ours.median),
                quartiles(ours),
                duration(theirs.median),
                quartiles(theirs),
            )
            lines.append(Line(result.claim.name, cells))
        lines[-1] = lines[-1]._replace(notes=tuple(conclusion(result)))
        return lines

    def summary(self, results: Sequence[Measured]) -> list[str]:
        """How many claims hold."""
        holding = sum(result.verdict(OURS) == "holds" for result in results)
        return [f"{holding} of {len(results)} claims hold with jitkit, on this machine."]

    def row_data(self, result: Measured) -> dict[str, Any]:
        """The sides, the factors, the verdicts."""
        claim = result.claim
        sides = [
            {"name": side.name, "published": side.published, **{n: s._asdict() for n, s in spreads.items()}}
            for side, spreads in zip(claim.sides, result.spreads, strict=True)
        ]
        return {
            "claim": claim.name,
            "sides": sides,
            "published factor": claim.factor,
            "factors": {name: spread._asdict() for name, spread in result.factors.items()},
            "verdicts": {library.name: result.verdict(library) for library in LIBRARIES},
            "reason": claim.reason if result.verdict(OURS) != "holds" else None,
        }

    def effort(self) -> dict[str, Any]:
        """Rounds, seconds of a batch."""
        return self._effort._asdict()


def conclusion(result: Measured) -> list[str]:
    """The factors and the verdict in words, and the reason where it is not that the claim holds."""
    claim = result.claim
    published = "" if claim.factor is None else f"published {times(claim.factor)}, "
    factors = ", ".join(f"{name} {times(spread.median)}" for name, spread in result.factors.items())
    ours, theirs = result.verdict(OURS), result.verdict(THEIRS)
    words = ours if ours == theirs else f"{ours} (with JAX: {theirs})"
    sentences = [f"{published}{factors}: {words}."]
    return sentences if ours == theirs == "holds" else [*sentences, claim.reason]
