"""steps -> results -> table, data, figures: the common part of the benchmarks of `jitkit bench`.

A benchmark is a list of steps that are measured in turn, each with one result. So a table grows while it is measured,
and an interrupted one is smaller, not lost.
"""

from __future__ import annotations

import abc
import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .machine import busy, machine
from .tables import Column, Line


class Step(NamedTuple):
    """A step of a benchmark: its name, and the function that measures it."""

    name: str
    measure: Callable[[], Any]


class Appendix(NamedTuple):
    """A second table, below the first, and a remark on it."""

    columns: tuple[Column, ...]
    lines: list[Line]
    remark: str = ""


class Benchmark(abc.ABC):
    """A subcommand of `jitkit bench`.

    `title` stands over the table, `how` below it: how to read it. `figure_module` has a function `drawings(results,
    where)` that gives figures by name; it is imported at first use, because it needs matplotlib.
    """

    name: str
    title: str
    how: str
    columns: tuple[Column, ...]
    figure_module: str
    efforts: tuple[Any, ...] = ()  # how long to measure: usually, and with `--quick`

    def __init__(self, *, quick: bool = False, only: str = "") -> None:
        self.quick = quick
        self.only = only

    @functools.cached_property
    def machine(self) -> dict[str, Any]:
        """Return a description of the machine, and how busy it was at the first call. Call this before measuring, which
        makes the machine busy.
        """
        return machine()

    @abc.abstractmethod
    def all_steps(self) -> list[Step]:
        """Return everything that can be measured, in order."""

    def steps(self) -> list[Step]:
        """Return the steps to measure: those whose name contains the string `only`."""
        return [step for step in self.all_steps() if self.only.lower() in step.name.lower()]

    @abc.abstractmethod
    def lines(self, result: Any) -> list[Line]:
        """Return a result as rows of the table, all in one group."""

    @abc.abstractmethod
    def row_data(self, result: Any) -> dict[str, Any]:
        """Return a result as plain data, in seconds and bytes throughout."""

    def summary(self, results: Sequence[Any]) -> list[str]:
        """Return sentences that sum up all results."""
        return []

    def appendix(self, results: Sequence[Any]) -> Appendix | None:
        """Return a second table, if there is more to say."""
        return None

    def footnotes(self) -> list[str]:
        """Return the lines below everything else, such as sources."""
        return []

    @property
    def effort(self) -> Any:
        """How long to measure, in the form that the benchmark's functions take."""
        return self.efforts[self.quick]

    def as_data(self, results: Sequence[Any]) -> dict[str, Any]:
        """Return all the results as plain data. `complete` says whether every step was measured."""
        return {
            "benchmark": self.name,
            "machine": self.machine,
            "effort": self.effort._asdict() if self.efforts else {},
            "complete": len(results) == len(self.steps()),
            "rows": [self.row_data(result) for result in results],
        }

    def drawings(self, results: Sequence[Any]) -> dict[str, Any]:
        """Return the figures, as `plotting.Drawing`s, by name. Raise ModuleNotFoundError if matplotlib is not installed."""
        known = self.machine
        where = (
            f"{known['processor']}, {known['cores']} cores · jitkit {known['jitkit']}, jax {known['jax']}, "
            f"Python {known['python']} · {known['date']}"
        )
        if busy(known):
            where += f"\n{busy(known)}"
        module = importlib.import_module(self.figure_module)
        made: dict[str, Any] = module.drawings(results, where)
        return made
