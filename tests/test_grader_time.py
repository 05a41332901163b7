"""The time of a check: waiting for a processor does not count, so a busy machine costs nothing; endless sleep or computation is
stopped.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import subprocess
import sys
import threading
import time
import types

import pytest

from grading.grader import time_limits
from grading.grader.bubblewrap import JailError
from grading.grader.grade import Grader
from grading.grader.inside.zygote import seconds_of_waiting
from grading.grader.jail import Limits
from grading.grader.patience import Clock
from grading.grader.selftest import self_test
from grading.grader.shipped_code import generator_state
from grading.grader.time_limits import Time
from grading.grader.trials import How, Settings
from jitkit.kata.engine.manifest import all_labs

counts_waiting = pytest.mark.skipif(not os.path.isfile("/proc/self/schedstat"), reason="needs /proc")


@pytest.fixture
def pipe():
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def worker(look):
    """Return a worker whose zygote reports these figures: its processor seconds, and how long each thread waited for a processor."""
    return types.SimpleNamespace(pid=1, loaded=False, zygote=types.SimpleNamespace(look=lambda pid, own: look()))


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(time_limits, "_LOOK", 0.02)


def test_what_sleeps_is_over_by_the_clock(quick, pipe):
    began = time.monotonic()
    assert not Time(worker(lambda: (0.0, {})), 0.2).is_ready(pipe[0])
    assert 0.2 <= time.monotonic() - began < 20


def test_waiting_for_a_processor_does_not_count(quick, pipe):
    began = time.monotonic()
    allowed = Time(worker(lambda: (0.0, {"7": time.monotonic() - began})), 0.1)
    answers = threading.Timer(0.6, os.write, (pipe[1], b"x"))
    answers.start()
    assert allowed.is_ready(pipe[0])
    answers.join()
    assert allowed.waited > 0.3


def test_who_waits_for_ever_is_over_some_time(quick, pipe, monkeypatch):
    monkeypatch.setattr(time_limits, "_LONGEST", 4.0)
    began = time.monotonic()
    assert not Time(worker(lambda: (0.0, {"7": 1e3 * time.monotonic()})), 0.1).is_ready(pipe[0])
    assert time.monotonic() - began >= 0.4


def test_many_threads_that_wait_for_each_other_do_not_stop_the_time(quick, pipe):
    """Forty threads that wake at one moment, and compute for a moment, waited for longer than the clock went."""
    began = time.monotonic()
    allowed = Time(worker(lambda: (0.0, dict.fromkeys(range(40), (time.monotonic() - began) / 10))), 0.1)
    assert not allowed.is_ready(pipe[0])
    assert allowed.waited <= (time.monotonic() - began) / 10 + 1e-6


def test_a_thread_that_waits_after_another_one_is_waited_for(quick, pipe):
    began = time.monotonic()

    def look():
        now = time.monotonic() - began
        return 0.0, {"1": min(now, 0.3), "2": max(0.0, now - 0.3)}

    allowed = Time(worker(look), 0.1)
    answers = threading.Timer(0.6, os.write, (pipe[1], b"x"))
    answers.start()
    assert allowed.is_ready(pipe[0])
    answers.join()
    assert allowed.waited > 0.4


def test_what_many_processes_compute_together_is_limited(quick, pipe):
    began = time.monotonic()
    assert not Time(worker(lambda: (3.1, {})), 60.0, computes=3.0).is_ready(pipe[0])
    assert time.monotonic() - began < 30


def test_a_submissions_clock_stands_while_it_waits_for_what_is_no_fault_of_its_own():
    clock = Clock()
    began = clock.now()
    with clock.stands():
        time.sleep(0.3)
        clock.forgive(0.1)  # time that is forgiven inside the block is not subtracted twice
    assert clock.now() - began < 0.2
    clock.forgive(100.0)
    assert clock.now() < began


# --- on a processor that others use, too --------------------------------------------------------------------------------------


@contextlib.contextmanager
def busy(count):
    """Within the block, this process and all that it starts share one processor with `count` processes that compute."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    others = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield others
    finally:
        os.sched_setaffinity(0, before)
        for other in others:
            other.kill()
            other.wait()


@counts_waiting
def test_what_could_run_and_has_no_processor_waits_and_what_sleeps_does_not():
    with busy(3) as others:
        deadline = time.monotonic() + 120
        while (waited := sum(seconds_of_waiting(others[0].pid).values())) < 0.5 and time.monotonic() < deadline:
            time.sleep(0.1)
        sleeper = subprocess.Popen(["sleep", "600"])
        time.sleep(1.0)
        slept = sum(seconds_of_waiting(sleeper.pid).values())
        sleeper.kill()
        sleeper.wait()
    assert waited >= 0.5
    assert slept < 0.5


@pytest.fixture(scope="module")
def course():
    try:
        assert self_test() == []
    except JailError as error:
        pytest.skip(f"needs bubblewrap: {error}")
    return Grader([lab for lab in all_labs() if lab.number == "06"], Settings(1, "test"))


def asked(course, body, limits, alone):
    """Run a check with this body, in a jail of its own (`alone`) or in a shared one; return its outcome."""
    exercise = course.labs[0].exercises[0]
    workers = course.workers()
    image, kind = course.image(workers, exercise, course._reference_item(exercise), How(False, reference=True))
    code = compile(f"import time\ndef runs(jitkit, rng):\n    {body}\n    return 1", "/checks.py", "exec")
    check = {"code": code, "name": "runs", "path": "/checks.py", "state": generator_state(1, "runs")}
    try:
        with workers.zygote(*kind).start(limits, 1.0, alone) as started:
            assert started.load(image, 20.0) == {"is": "imported"}
            with busy(7):
                _put_beside(started)
                began = time.monotonic()
                data, trouble = started.ask(marshal.dumps(check), limits.seconds, 2 * limits.seconds)
                return trouble, b'"is": "int"' in data, time.monotonic() - began
    finally:
        workers.close()


def _put_beside(started):
    """Let all processes of a jail run on this process's only processor."""
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            if os.getpgid(int(name)) == os.getpgid(started.zygote.process.pid) or _is_below(
                int(name), started.zygote.process.pid
            ):
                os.sched_setaffinity(int(name), os.sched_getaffinity(0))


def _is_below(pid, top):
    while pid > 1:
        if pid == top:
            return True
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            pid = int(file.read().rpartition(")")[2].split()[1])
    return False


# A control group gives the jail half of a processor, whatever else runs. The check's limit also covers the import
# before it, so this leaves room for the import.
COMPUTES = "end = time.process_time() + 1.4\n    while time.process_time() < end: pass"


@counts_waiting
@pytest.mark.parametrize("alone", [True, False])
def test_an_honest_check_has_its_time_on_a_busy_machine(course, alone):
    trouble, answered, took = asked(course, COMPUTES, Limits(seconds=2.0), alone)
    assert (trouble, answered) == ("", True)
    assert took > 2.0, "by the clock it took longer than it may"


@counts_waiting
def test_an_endless_sleep_ends_on_a_busy_machine(course):
    trouble, answered, took = asked(course, "time.sleep(600)", Limits(seconds=2.0), True)
    assert (trouble, answered) == ("time", False)
    assert took < 100
