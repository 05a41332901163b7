"""The stopwatches of `jitkit bench`: fair turns, medians, spread."""

from __future__ import annotations

import gc
import itertools

import pytest

from jitkit.bench import timing
from jitkit.bench.timing import Spread


@pytest.fixture
def clock(monkeypatch):
    """A clock that only moves when `clock.sleep` is called."""

    class Clock:
        now = 0.0

        def sleep(self, seconds):
            self.now += seconds

    made = Clock()
    monkeypatch.setattr(timing.time, "perf_counter", lambda: made.now)
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


def test_everyone_has_a_turn_in_every_round_and_the_first_one_changes(clock):
    turns = []

    def action(name):
        def act():
            turns.append(name)
            clock.sleep(1.0)

        return act

    timing.measure({name: action(name) for name in "abc"}, rounds=3, batch=0.1)
    assert "".join(turns[-9:]) == "abcbcacab"


def test_waiting_for_the_result_is_inside_of_the_measured_time(clock):
    seconds = timing.measure({"a": lambda: 5.0}, rounds=2, batch=0.1, wait=clock.sleep)
    assert all(value > 0 for value in seconds["a"])


def test_a_batch_waits_once_for_its_last_result(clock):
    numbers = itertools.count()
    waited = []
    timing.batch_seconds(lambda: next(numbers), 5, waited.append)
    assert waited == [4]


def test_the_garbage_collector_waits_and_comes_back():
    assert gc.isenabled()
    with timing.quiet_collector():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    try:
        with timing.quiet_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
