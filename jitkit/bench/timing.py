"""functions -> seconds: stopwatches that compare fairly.

A machine does not stand still: clocks change, neighbours come and go. So things that are compared are
measured in turns, a batch of one, a batch of the other, many rounds, and what is reported is the median over
the rounds and the spread (the quartiles). A ratio is the median of the ratios *within* rounds: what slows
both down in the same moment leaves it alone.

Whoever comes after somebody that has just filled the caches with other data is slower for it, so no order is fair
to all. Each round has an order of its own, drawn by chance, from a seed that is always the same.

A batch is long enough for the clock, the loop around the calls costs the same for everybody, and the garbage
collector waits. Computing is asynchronous, so whoever is measured must wait for the result: `wait` is called
on the last result of each batch, inside of the measured time.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import math
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

Action = Callable[[], Any]
Key = TypeVar("Key")  # what names a thing that is measured


class Spread(NamedTuple):
    """The middle of some measurements, and the quartiles around it."""

    median: float
    low: float
    high: float
    rounds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of at least one value."""
        if len(values) < 2:
            return cls(values[0], values[0], values[0], len(values))
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(statistics.median(values), low, high, len(values))


def no_wait(result: Any) -> None:
    """For functions that are done when they return."""


@contextlib.contextmanager
def quiet_collector() -> Iterator[None]:
    """Collect garbage now, and not by itself before the block ends; what is alive now is not looked at again
    in between. What somebody had set aside before, with `gc.freeze()`, stays aside.
    """
    was_enabled, was_frozen = gc.isenabled(), gc.get_freeze_count() > 0
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        if not was_frozen:
            gc.unfreeze()
        if was_enabled:
            gc.enable()


Clock = Callable[[], float]


def batch_seconds(action: Action, loops: int, wait: Callable[[Any], Any], clock: Clock | None = None) -> float:
    """The time of `loops` calls, and of waiting for the last one, by call."""
    calls = itertools.repeat(None, loops)
    result = None
    clock = clock or time.perf_counter
    start = clock()
    for _ in calls:
        result = action()
    wait(result)
    return (clock() - start) / loops


def loops_for(action: Action, seconds: float, wait: Callable[[Any], Any] = no_wait) -> int:
    """How many calls take about this long: at least one."""
    loops = 1
    while True:
        took = batch_seconds(action, loops, wait) * loops
        if took >= seconds / 2:
            return max(1, round(loops * seconds / took))
        loops = max(loops * 2, min(loops * 100, int(loops * seconds / max(took, 1e-9))))


LEAST_ROUNDS = 15  # whatever the clock says: with fewer, chance alone takes both quartiles to one side now and then

LEAST_ONCE = 5  # the same for what takes so long that it is done once a turn


def orders(names: Iterable[Key], rounds: int) -> Iterator[list[Key]]:
    """Who has a turn when: for each round all the names, in an order drawn by chance. Over many rounds everyone comes
    after everyone else, and first, about equally often.
    """
    chance = random.Random(20_180_101)
    order = list(names)
    for _ in range(rounds):
        chance.shuffle(order)
        yield list(order)


def measure(
    actions: Mapping[str, Action],
    *,
    rounds: int,
    batch: float,
    wait: Callable[[Any], Any] = no_wait,
    limit: float = math.inf,
    clock: Clock | None = None,
) -> dict[str, list[float]]:
    """Seconds per call of several actions, measured in turns: one value a round for each.

    Args:
      actions: what to measure, by name. Each is called without arguments; the first calls are not measured.
      rounds: how many times everyone has a turn, at most; the order is another one in every round.
      batch: about how many seconds one turn takes; an action that takes longer is called once a turn.
      wait: called on the last result of a turn, inside of the measured time: `block_until_ready`, say.
      limit: after how many seconds no other round is begun, once there are a few.
      clock: of the turns; by default the clock on the wall. `time.process_time` is the time of all threads of this process alone.
    """
    for action in actions.values():
        wait(action())
    with quiet_collector():
        loops = {  # the most of three: an interruption makes a call look longer than it is
            name: max(loops_for(action, batch, wait) for _ in range(3)) for name, action in actions.items()
        }
        seconds: dict[str, list[float]] = {name: [] for name in actions}
        start = time.monotonic()
        for i, order in enumerate(orders(actions, rounds)):
            if i >= LEAST_ROUNDS and time.monotonic() - start > limit:
                break
            for name in order:
                seconds[name].append(batch_seconds(actions[name], loops[name], wait, clock))
            if i % 50 == 49:
                gc.collect()
    return seconds


def measure_once(
    acts: Mapping[Key, Callable[[], float]], rounds: int, limit: float = math.inf
) -> dict[Key, list[float]]:
    """Seconds of acts that take their own time, in turns: one value a round for each. The first turn is for warming
    up; the limit is that of `measure`.
    """
    measured: dict[Key, list[float]] = {name: [] for name in acts}
    for act in acts.values():
        act()
    with quiet_collector():
        start = time.monotonic()
        for i, order in enumerate(orders(acts, rounds)):
            if i >= LEAST_ONCE and time.monotonic() - start > limit:
                break
            for name in order:
                measured[name].append(acts[name]())
            gc.collect()
    return measured


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """How many times longer ours takes than theirs: the spread of the ratios within rounds."""
    return Spread.of([a / b for a, b in zip(ours, theirs, strict=True)])
