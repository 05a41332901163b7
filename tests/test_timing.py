"""The stopwatches of `jitkit bench`: fair turns, medians, spread."""

from __future__ import annotations

import collections
import gc
import itertools

import pytest

from jitkit.bench import timing
from jitkit.bench.timing import Spread


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that only moves when `clock.sleep` is called."""

    class Clock:
        now = 0.0

        def sleep(self, seconds):
            self.now += seconds

    made = Clock()
    monkeypatch.setattr(timing.time, "perf_counter", lambda: made.now)
    monkeypatch.setattr(timing.time, "monotonic", lambda: made.now)
    return made


def test_a_spread_is_the_median_and_the_quartiles():
    assert Spread.of([5.0, 1.0, 2.0, 4.0, 3.0]) == Spread(3.0, 2.0, 4.0, 5)
    assert Spread.of([7.0]) == Spread(7.0, 7.0, 7.0, 1)


def test_a_ratio_is_taken_within_rounds():
    """The machine became ten times slower in the third round, for both."""
    assert timing.ratio([1.0, 1.1, 10.0], [2.0, 2.2, 20.0]) == Spread(0.5, 0.5, 0.5, 3)


def test_ratios_of_unequal_rounds_are_refused():
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        timing.ratio([1.0, 2.0], [1.0])


@pytest.mark.parametrize("each", [1e-6, 1e-3, 0.5])
def test_a_batch_is_about_as_long_as_asked(clock, each):
    loops = timing.loops_for(lambda: clock.sleep(each), 0.01)
    assert loops == max(1, round(0.01 / each))


def test_what_is_measured_is_the_time_of_a_call(clock):
    seconds = timing.measure(
        {"slow": lambda: clock.sleep(3e-3), "fast": lambda: clock.sleep(1e-3)}, rounds=4, batch=0.01
    )
    assert seconds["slow"] == pytest.approx([3e-3] * 4)
    assert seconds["fast"] == pytest.approx([1e-3] * 4)


def recorded(clock, rounds, names="abc", **options):
    """Return the order of turns in each round. An action takes a second, so a turn is one call."""
    turns = []

    def action(name):
        def act():
            turns.append(name)
            clock.sleep(1.0)

        return act

    timing.measure({name: action(name) for name in names}, rounds=rounds, batch=0.1, **options)
    played = turns[4 * len(names) :]  # without the first call, and three more that measure its length
    return ["".join(played[i : i + len(names)]) for i in range(0, len(played), len(names))]


def test_everyone_has_a_turn_in_every_round_and_the_order_is_the_same_in_every_run(clock):
    rounds = recorded(clock, 20)
    assert all(sorted(turns) == ["a", "b", "c"] for turns in rounds)
    assert len(rounds) == 20
    assert rounds == recorded(clock, 20)


def test_no_one_comes_after_the_same_neighbour_or_first_more_often_than_others():
    """In an order that goes round, b always comes after a, and meets the caches as a has left them."""
    orders = list(timing.orders("abcd", 600))
    follows = collections.Counter(itertools.chain.from_iterable(itertools.pairwise(o) for o in orders))
    assert len(follows) == 12
    assert all(100 <= count <= 200 for count in follows.values())  # about 150 each if the order is fair
    assert all(120 <= count <= 180 for count in collections.Counter(o[0] for o in orders).values())


def test_whoever_leaves_the_caches_cold_slows_both_sides_of_a_ratio_alike(clock):
    """ "jitkit" and "jax" cost the same; whoever comes after "numpy" pays double. One behind the other in a fixed order
    it is always the same who does.
    """
    before = [""]

    def action(name):
        def act():
            clock.sleep(2.0 if before[0] == "numpy" else 1.0)
            before[0] = name

        return act

    names = ("jitkit", "jax", "numpy")
    measured = timing.measure({name: action(name) for name in names}, rounds=301, batch=0.1)
    assert timing.ratio(measured["jitkit"], measured["jax"]).median == 1.0
    assert sum(measured["jitkit"]) == pytest.approx(sum(measured["jax"]), rel=0.08)


def test_what_takes_long_ends_when_the_limit_is_over_but_not_before_there_are_quartiles(clock):
    assert len(recorded(clock, 100, limit=60.0)) == 21  # 3 seconds a round
    assert len(recorded(clock, 100, limit=1.0)) == timing.LEAST_ROUNDS
    taken = timing.measure_once({"a": lambda: clock.sleep(1.0) or 1.0}, 100, limit=30.0)
    assert len(taken["a"]) == 31
    taken = timing.measure_once({"a": lambda: clock.sleep(1.0) or 1.0}, 100, limit=1.0)
    assert len(taken["a"]) == timing.LEAST_ONCE


def test_waiting_for_the_result_is_inside_of_the_measured_time(clock):
    seconds = timing.measure({"a": lambda: 5.0}, rounds=2, batch=0.1, wait=clock.sleep)
    assert all(value > 0 for value in seconds["a"])


def test_a_batch_waits_once_for_its_last_result(clock):
    numbers = itertools.count()
    waited = []
    timing.batch_seconds(lambda: next(numbers), 5, waited.append)
    assert waited == [4]


def test_the_garbage_collector_waits_and_comes_back():
    gc.unfreeze()  # undo the freeze in conftest.py
    try:
        assert gc.isenabled()
        with timing.quiet_collector():
            assert not gc.isenabled()
            assert gc.get_freeze_count() > 0
        assert gc.isenabled()
        assert gc.get_freeze_count() == 0
    finally:
        gc.freeze()


def test_what_was_set_aside_before_stays_aside():
    gc.freeze()
    with timing.quiet_collector():
        pass
    assert gc.get_freeze_count() > 0


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    try:
        with timing.quiet_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
