"""`jitkit bench eager`: the same six programs op by op and jitted, with jitkit and with JAX, and with numpy and numba.

The warm calls take turns in rounds; the first calls are made apart, each from empty caches. A first call compiles each
operation if the program runs op by op, and the whole program if it is jitted. If numba is left out, a footnote says why.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import numba_programs, programs, timing
from .benchmark import Benchmark, Step
from .libraries import LIBRARIES, Library, wait
from .tables import Column, Line
from .timing import Action, Spread
from .words import duration, times

SIDES = ("jitkit eager", "jitkit jit", "JAX eager", "JAX jit", "numpy", "numba")
TURNS = 1000  # the loop of scalars has this many turns


class Program(NamedTuple):
    """A program with its data in numpy. `eager` takes a library and makes the function to call op by op, `jitted` the
    one to jit; in most programs both are the same. `compiled` is numba's version. `remark` is for the reader.
    """

    name: str
    eager: Callable[[Any], Callable[..., Any]]
    jitted: Callable[[Any], Callable[..., Any]]
    compiled: Callable[..., Any] | None
    data: Callable[[], tuple[Any, ...]]
    remark: str = ""

    def label(self, side: str) -> str:
        """Return the name of a side. In the loop over a scalar numpy is called "Python", since it supplies only the numbers there."""
        return "Python" if side == "numpy" and self.remark else side


class _Numpy(NamedTuple):
    """Supplies from numpy all that programs need of a library."""

    np: Any = np


def _of_numpy(make: Callable[[Any], Callable[..., Any]]) -> Callable[[Any], Callable[..., Any]]:
    return lambda library: make(library.np)


def _same(
    name: str, make: Callable[[Any], Callable[..., Any]], compiled: Any, data: Callable[[], tuple[Any, ...]]
) -> Program:
    return Program(name, _of_numpy(make), _of_numpy(make), compiled, data)


def _normal(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def _bodies() -> tuple[Any, Any]:
    masses = np.random.default_rng(1).uniform(0.5, 2.0, 300).astype(np.float32)
    return _normal(300, 3), masses


def loop_compiled(x: Any) -> Any:
    """Compute the logistic loop on one number; for numba, so the constants are float32."""
    rate, one = np.float32(3.7), np.float32(1.0)
    for _ in range(TURNS):
        x = rate * x * (one - x)
    return x


PROGRAMS = (
    _same("SELU of 1,000,000 numbers", programs.selu, numba_programs.selu, lambda: (_normal(1_000_000),)),
    _same(
        "a network of two dense layers, 256 wide",
        programs.network,
        None,
        lambda: programs.network_data(256, 256, 256, 256),
    ),
    Program(
        f"a loop over a scalar, {TURNS:,} turns",
        lambda library: programs.logistic_steps(library.np, TURNS),
        lambda library: programs.logistic_loop(library.lax, TURNS),
        loop_compiled,
        lambda: (np.float32(0.3),),
        "Jitted it is a `fori_loop`. Op by op it is a loop in Python, and so it is for numpy, whose loop is over a numpy scalar.",
    ),
    _same("a stencil, 1,000 by 1,000", programs.stencil, numba_programs.stencil, lambda: (_normal(1000, 1000),)),
    _same(
        "a reduction: deviation of 1,000,000 numbers",
        programs.deviation,
        numba_programs.deviation,
        lambda: (_normal(1_000_000),),
    ),
    _same("n-body, 300 bodies", programs.n_body, numba_programs.n_body, _bodies),
)


class Effort(NamedTuple):
    """How long to measure a program."""

    rounds: int
    batch: float  # seconds of each side's batch of calls in a round
    seconds: float  # after this time no new round begins
    firsts: int  # how often first calls are made


FULL = Effort(rounds=201, batch=0.003, seconds=12.0, firsts=5)
QUICK = Effort(rounds=15, batch=0.001, seconds=1.0, firsts=1)


class Compared(NamedTuple):
    """A measured program: for each side that was measured, its warm call and its first call. numpy has no first call,
    because it compiles nothing.
    """

    program: Program
    warm: dict[str, Spread]
    first: dict[str, Spread]

    @property
    def speed_up(self) -> float:
        """How many times longer a warm call takes op by op than jitted, with jitkit."""
        return self.warm["jitkit eager"].median / self.warm["jitkit jit"].median

    @property
    def pays_after(self) -> int | None:
        """After how many calls jit has saved as much time as its first call took; None if it saves nothing."""
        saved = self.warm["jitkit eager"].median - self.warm["jitkit jit"].median
        return int(self.first["jitkit jit"].median / saved) + 1 if saved > 0 else None


def actions_of(program: Program) -> dict[str, Callable[[], Action]]:
    """Return, for each side that is measured, a function that makes a new call, for which nothing is compiled yet."""
    data = program.data()
    made: dict[str, Callable[[], Action]] = {}
    for library, name in zip(LIBRARIES, ("jitkit", "JAX"), strict=True):
        made[f"{name} eager"] = functools.partial(_eager, program, library, data)
        made[f"{name} jit"] = functools.partial(_jitted, program, library, data)
    made["numpy"] = lambda: functools.partial(program.eager(_Numpy()), *data)
    njit = numba_programs.find_njit()
    if program.compiled is not None and njit is not None:
        made["numba"] = lambda: functools.partial(njit(program.compiled), *data)
    return made


def _on_device(library: Library, data: Any) -> tuple[Any, ...]:
    return tuple(library.trees.tree_map(library.array, part) for part in data)


def _eager(program: Program, library: Library, data: tuple[Any, ...]) -> Action:
    function, arrays = program.eager(library), _on_device(library, data)
    return lambda: wait(function(*arrays))


def _jitted(program: Program, library: Library, data: tuple[Any, ...]) -> Action:
    function, arrays = library.jit(program.jitted(library)), _on_device(library, data)
    return lambda: wait(function(*arrays))


def measure_program(program: Program, effort: Effort) -> Compared:
    """Return the measurements of all sides: first calls from empty caches, then warm calls in turns."""
    makers = actions_of(program)
    first: dict[str, list[float]] = {name: [] for name in makers if name != "numpy"}
    for order in timing.orders(first, effort.firsts):
        for name in order:
            first[name].append(_first_call(makers[name]))
    warm = timing.measure(
        {name: make() for name, make in makers.items()}, rounds=effort.rounds, batch=effort.batch, limit=effort.seconds
    )
    return Compared(
        program,
        {name: Spread.of(seconds) for name, seconds in warm.items()},
        {name: Spread.of(seconds) for name, seconds in first.items()},
    )


def _first_call(make: Callable[[], Action]) -> float:
    action = make()
    for library in LIBRARIES:
        library.clear_caches()
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


class Eager(Benchmark):
    """The benchmark: all programs, or those whose name contains a word."""

    name = "eager"
    title = "Six programs, op by op and jitted, with jitkit, JAX, numpy and numba"
    how = (
        "eager is op by op: each operation is a program, called from Python. jit compiles the whole; a warm call finds it "
        "compiled. First calls begin with empty caches and end with the result; numpy has nothing to compile. numba's programs "
        "are loops over elements, compiled by njit with its default options, for one core; XLA uses all. Medians over rounds "
        "whose order is drawn by chance."
    )
    columns = (Column("", 10, "<"), *[Column(side, max(len(side), 8)) for side in SIDES])
    figure_module = "jitkit.bench.eager_figure"
    efforts = (FULL, QUICK)

    def all_steps(self) -> list[Step]:
        """Return one step for each program."""
        return [Step(program.name, functools.partial(measure_program, program, self.effort)) for program in PROGRAMS]

    def lines(self, result: Compared) -> list[Line]:
        """Return lines with the warm calls, the first calls, and jit's saving."""

        def cells(name: str, spreads: dict[str, Spread]) -> tuple[str, ...]:
            return (name, *[duration(spreads[side].median) if side in spreads else "-" for side in SIDES])

        group, remark = result.program.name, result.program.remark
        return [
            Line(group, cells("warm call", result.warm)),
            Line(group, cells("first call", result.first), (worth(result), *([remark] if remark else []))),
        ]

    def summary(self, results: Sequence[Compared]) -> list[str]:
        """Return a sentence that says how many times as fast jitted calls are, at least and at most."""
        factors = sorted(result.speed_up for result in results)
        return [
            f"With jitkit a jitted call is {times(factors[0])} to {times(factors[-1])} as fast as the same op by op."
        ]

    def footnotes(self) -> list[str]:
        """Return sentences that say why cells of numba are empty."""
        if numba_programs.find_njit() is None:
            return [f"numba: {numba_programs.MISSING}."]
        without = ", ".join(program.name for program in PROGRAMS if program.compiled is None)
        return [f"numba was not measured on {without}: {numba_programs.BLAS}."]

    def row_data(self, result: Compared) -> dict[str, Any]:
        """Return warm and first calls of all sides."""
        return {
            "program": result.program.name,
            "warm": {name: spread._asdict() for name, spread in result.warm.items()},
            "first": {name: spread._asdict() for name, spread in result.first.items()},
            "speed-up of jit": result.speed_up,
            "pays after calls": result.pays_after,
        }


def worth(result: Compared) -> str:
    """Return a sentence: how many times as fast jit is, and after how many warm calls it has saved the time of the first one."""
    calls = result.pays_after
    if calls is None:
        return "With jitkit, jit saves nothing here."
    return (
        f"With jitkit, jit is {times(result.speed_up)} as fast as op by op. After {calls:,} warm calls it has saved as much time "
        "as its first call takes."
    )
