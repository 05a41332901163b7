"""`timed`, `compare`, `misses`: the stopwatches of `jitkit bench` for one's own functions, with figures inline.

    from jitkit.bench import timed, compare, misses

    timed(jax.jit(f), x)                      the first call and the warm one, apart
    compare({"op by op": f, "jit": jax.jit(f)}, x)    in turns
    misses(jax.jit(f), [x, x[:5], x])         which calls miss the cache, and why

Each gives an object that prints as a table, and in a notebook shows the table and the figure; `.rows` are the data,
`.figure("dark")` is a matplotlib figure.
"""

from __future__ import annotations

import abc
import base64
import html
import importlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import jitkit
from jitkit.base import stage_log

from . import tables, timing
from .calls import Calls, watch
from .tables import Column, Line
from .timing import Spread
from .words import duration, quartiles, times

_STAGES = {"tracing": "trace", "lowering": "lower", "compilation": "compile"}


class Shown(abc.ABC):
    """The result of `timed`, `compare` or `misses`: a table, a figure, and both in HTML."""

    title: str
    columns: tuple[Column, ...]

    @property
    @abc.abstractmethod
    def lines(self) -> list[Line]:
        """The rows of the table as text."""

    @property
    @abc.abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """The rows as plain data; times are in seconds."""

    @abc.abstractmethod
    def drawing(self) -> Any:
        """The figure before it is drawn, a `plotting.Drawing`. Raise ModuleNotFoundError without matplotlib."""

    def figure(self, ground: str = "light") -> Any:
        """Return the figure, on a "light" or "dark" ground. Raise ModuleNotFoundError if matplotlib is not installed,
        ValueError for another ground.
        """
        themes = {theme.name: theme for theme in importlib.import_module(".plotting", __package__).THEMES}
        if ground not in themes:
            raise ValueError(f"the ground of a figure is one of {', '.join(themes)}, not {ground!r}")
        return self.drawing().figure(themes[ground])

    def __str__(self) -> str:
        return f"{self.title}\n{tables.text(self.columns, self.lines)}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        table = f"<p>{html.escape(self.title)}</p>{tables.as_html(self.columns, self.lines)}"
        try:
            drawing, themes = self.drawing(), importlib.import_module(".plotting", __package__).THEMES
        except ModuleNotFoundError:
            return f"{table}<p>No figure: matplotlib is not installed.</p>"
        pictures = "".join(
            f'<img class="jitkit-{theme.name}"{"" if i == 0 else _HIDDEN} alt="{html.escape(self.title)}" '
            f'src="data:image/png;base64,{base64.b64encode(drawing.png(theme)).decode()}"/>'
            for i, theme in enumerate(themes)
        )
        return f"{table}{_ON_DARK_PAGES}{pictures}"


# The HTML has both figures, and the page's theme shows one: the light one if the theme is unknown, or styles are removed.
_HIDDEN = ' style="display:none"'
_DARK = "[data-jp-theme-light=false] .jitkit-{0},.vscode-dark .jitkit-{0}{{display:{1}!important}}"
_ON_DARK_PAGES = f"<style>{_DARK.format('light', 'none')}{_DARK.format('dark', 'inline')}</style>"


class Timing(Shown):
    """The first call, with the stages that ran in it, and the warm call."""

    columns = (Column("", 28, "<"), Column("time", 8), Column("quartiles", 15, ">", 1))

    def __init__(self, name: str, first: float, stages: dict[str, float], warm: Spread) -> None:
        self.title = f"{name}: the first call and the warm one"
        self.name = name
        self.first = first
        self.stages = stages
        self.warm = warm

    @property
    def lines(self) -> list[Line]:
        """The first call, its stages, the warm call."""
        compiled = "first call" if self.stages else "first call (was compiled before)"
        parts = [Line("", (f"  {stage}", duration(seconds), "")) for stage, seconds in self.stages.items()]
        warm = Line("", ("warm call", duration(self.warm.median), quartiles(self.warm)))
        return [Line("", (compiled, duration(self.first), "")), *parts, warm]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row: seconds of the first call, of its stages, of the warm one."""
        return [{"name": self.name, "first": self.first, **self.stages, "warm": self.warm._asdict()}]

    def drawing(self) -> Any:
        """Return a drawing with a point for the first call, for each of its stages, and for the warm call."""
        return _figures().timing(self.title, self.first, self.stages, self.warm)


class Comparison(Shown):
    """Warm calls of several functions, measured in turns. `ratios` compare each function's time with the first
    function's, within rounds.
    """

    columns = (Column("", 28, "<"), Column("time", 8), Column("quartiles", 15, ">", 1), Column("ratio", 6))

    def __init__(self, spreads: dict[str, Spread], ratios: dict[str, Spread]) -> None:
        self.title = "Warm calls, in turns"
        self.spreads = spreads
        self.ratios = ratios

    @property
    def lines(self) -> list[Line]:
        """One line for each function."""
        return [
            Line("", (name, duration(s.median), quartiles(s), times(self.ratios[name].median)))
            for name, s in self.spreads.items()
        ]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for each function: its spread, and the ratio of its time to that of the first one."""
        return [
            {"name": name, "seconds": spread._asdict(), "ratio": self.ratios[name]._asdict()}
            for name, spread in self.spreads.items()
        ]

    def drawing(self) -> Any:
        """Return a drawing with a point for each function."""
        return _figures().comparison(self.title, self.spreads, self.ratios)


class Misses(Shown):
    """The calls of a program: how long each took, which missed the cache, and why."""

    columns = (Column("call", 4), Column("time", 8), Column("traced", 6), Column("compiled", 8), Column("why", 24, "<"))

    def __init__(self, name: str, calls: Calls) -> None:
        self.name = name
        self.calls = calls
        missed = sum(bool(call.why) for call in calls.calls)
        self.title = f"{name}: {missed} of {len(calls.calls)} calls missed the cache"

    @property
    def lines(self) -> list[Line]:
        """One line for each call, with what `explain` says below it."""
        return [
            Line(
                "",
                (str(call.number), duration(call.seconds), str(call.traces), str(call.compiles), call.why or "-"),
                tuple(line.strip() for miss in call.misses for line in miss.lines()),
            )
            for call in self.calls.calls
        ]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row a call."""
        return [
            {
                "call": call.number,
                "seconds": call.seconds,
                "traces": call.traces,
                "compiles": call.compiles,
                "why": call.why,
                "misses": [miss.as_dict() for miss in call.misses],
            }
            for call in self.calls.calls
        ]

    def drawing(self) -> Any:
        """Return a drawing of the time of each call against its number."""
        return _figures().misses(self.title, self.name, self.calls)


def timed(function: Callable[..., Any], *args: Any, rounds: int = 51, **kwargs: Any) -> Timing:
    """Return the times of a function's first call and of a warm one, each with the wait for its result.

    `timed` makes the first call itself. Its stages are those of jitkit that ran in it; there are none if the function
    was called like this before, or is not jitkit's. The warm call is the median of `rounds` batches of some
    milliseconds.
    """
    with stage_log.listen() as events:
        start = time.perf_counter()
        jitkit.block_until_ready(function(*args, **kwargs))
        first = time.perf_counter() - start
    stages: dict[str, float] = {}
    for event in events:
        if event.stage in _STAGES:
            name = _STAGES[event.stage]
            stages[name] = stages.get(name, 0.0) + event.seconds
    warm = _measure({"warm": function}, args, kwargs, rounds)["warm"]
    return Timing(_name(function), first, stages, Spread.of(warm))


def compare(
    functions: Mapping[str, Callable[..., Any]] | Sequence[Callable[..., Any]],
    *args: Any,
    rounds: int = 51,
    **kwargs: Any,
) -> Comparison:
    """Return the times of warm calls of several functions, called with the same arguments, in turns.

    Args:
      functions: by name, or in a list, to be named by their own names. They may be jitkit's, JAX's or numpy's.
      args, kwargs: the arguments of each call.
      rounds: how many turns, of some milliseconds, each function has.

    Raises:
      ValueError: if there are no functions.
    """
    named = dict(functions) if isinstance(functions, Mapping) else _named(functions)
    if not named:
        raise ValueError("compare takes at least one function, by name: compare({'jit': jax.jit(f)}, x)")
    seconds = _measure(named, args, kwargs, rounds)
    base = next(iter(seconds.values()))
    spreads = {name: Spread.of(values) for name, values in seconds.items()}
    return Comparison(spreads, {name: timing.ratio(values, base) for name, values in seconds.items()})


def misses(program: Callable[..., Any] | Iterator[Any], inputs: Iterable[Any] = ()) -> Misses:
    """Call a function with each input in turn. Return how long each call took, and why it missed the cache, if it did.
    An error of a function is raised; an error of a generator ends the calls, and is not raised.

    Args:
      program: a function, or a generator that makes calls itself, and yields the result of each.
      inputs: the arguments of the calls; a tuple is several arguments.
    """
    if isinstance(program, Iterator):
        return Misses(getattr(program, "__name__", "program"), watch(program))

    def calls() -> Iterator[Any]:
        for given in inputs:
            yield program(*given) if isinstance(given, tuple) else program(given)

    seen = watch(calls())
    if seen.error is not None:
        raise seen.error
    return Misses(_name(program), seen)


def _figures() -> Any:
    return importlib.import_module(".notebook_figures", __package__)


def _measure(
    functions: Mapping[str, Callable[..., Any]], args: tuple[Any, ...], kwargs: dict[str, Any], rounds: int
) -> dict[str, list[float]]:
    def caller(function: Callable[..., Any]) -> Callable[[], Any]:
        return lambda: jitkit.block_until_ready(function(*args, **kwargs))

    actions = {name: caller(function) for name, function in functions.items()}
    return timing.measure(actions, rounds=rounds, batch=0.003)


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _named(functions: Sequence[Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    named: dict[str, Callable[..., Any]] = {}
    for function in functions:
        name = _name(function)
        named[name if name not in named else f"{name} ({len(named) + 1})"] = function
    return named
