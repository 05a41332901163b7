"""functions -> seconds: stopwatches that compare fairly.

A machine does not stand still: clocks change, neighbours come and go. So functions are compared in turns, a batch of
one, a batch of the other, in many rounds. The report is the median over the rounds and the quartiles. A ratio is the
median of the ratios *within* rounds: anything that slows both at the same moment does not change it.

A function that runs after another finds the caches full of other data, and is slower, so no fixed order is fair. Each
round has its own order, drawn at random from a constant seed.

A batch is long enough for the clock's resolution, the loop around the calls costs the same for all, and the garbage
collector waits. Computation is asynchronous, so each function must wait for its result: `wait` is called on the last
result of each batch, inside the measured time.
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
Key = TypeVar("Key")  # the name of a measured thing


class Spread(NamedTuple):
    """The median of some measurements, with the quartiles."""

    median: float
    low: float  # the lower quartile
    high: float  # the upper quartile
    rounds: int  # the number of measurements

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of at least one value."""
        if len(values) < 2:
            return cls(values[0], values[0], values[0], len(values))
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(statistics.median(values), low, high, len(values))


def no_wait(result: Any) -> None:
    """Do nothing: the `wait` for functions that return a finished result."""


@contextlib.contextmanager
def quiet_collector() -> Iterator[None]:
    """Collect garbage now, and prevent collections until the block ends. Objects that are alive now are not scanned in
    the meantime. Objects that a program has set aside with `gc.freeze()` stay aside.
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
    """Return the seconds per call of `loops` calls of an action, by this clock, or else the wall's; `wait` is called on the
    last result, inside the measured time.
    """
    calls = itertools.repeat(None, loops)
    result = None
    clock = clock or time.perf_counter
    start = clock()
    for _ in calls:
        result = action()
    wait(result)
    return (clock() - start) / loops


def loops_for(action: Action, seconds: float, wait: Callable[[Any], Any] = no_wait) -> int:
    """Return how many calls of an action, with one `wait` at the end, take about this many seconds; at least one."""
    loops = 1
    while True:
        took = batch_seconds(action, loops, wait) * loops
        if took >= seconds / 2:
            return max(1, round(loops * seconds / took))
        loops = max(loops * 2, min(loops * 100, int(loops * seconds / max(took, 1e-9))))


# at least this many rounds, even past `limit`: with fewer, chance may put both quartiles of a ratio on one side of 1
LEAST_ROUNDS = 15

LEAST_ONCE = 5  # the same for `measure_once`


def orders(names: Iterable[Key], rounds: int) -> Iterator[list[Key]]:
    """Yield the order of the names in each round, drawn at random from a constant seed. Over many rounds each name comes
    first, and comes right after each other name, about equally often.
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
    """Measure several actions in turns, and return the seconds per call: one value a round for each.

    Args:
      actions: the actions by name. Each is called without arguments; the first calls are not measured.
      rounds: how many turns each has, at most; the order of each round is drawn at random.
      batch: about how many seconds one turn takes; a slower action is called once a turn.
      wait: called on the last result of a turn, inside the measured time, such as `block_until_ready`.
      limit: after how many seconds no new round begins, once there are `LEAST_ROUNDS`.
      clock: the clock, by default the wall's. `time.process_time` counts the time of all threads of this process alone.
    """
    for action in actions.values():
        wait(action())
    with quiet_collector():
        loops = {  # the greatest of three numbers: an interruption makes a call seem longer than it is
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
    """Return the values of functions that measure themselves, called in turns: one value a round for each. A first turn
    warms up and does not count. After `limit` seconds no new round begins, once there are `LEAST_ONCE`.
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
    """Return how many times as long ours takes as theirs: the spread of the ratios within rounds."""
    return Spread.of([a / b for a, b in zip(ours, theirs, strict=True)])
