"""`jitkit bench kata`: from a save to the verdict, as a learner feels it

The benchmark makes a workspace, runs `jitkit watch` in it, and saves the reference's functions into a lab's file, a little
different each time, as an editor would. The clock runs from the save until the verdict's last line is printed. It
also measures `jitkit check` from a cold start.

With `--only processor` it has a row for each exercise: the processor time of a save, which depends less than the clock
on other programs on the machine. `--only "processor 05"` has the rows of a lab.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jitkit.bench.benchmark import Benchmark, Step
from jitkit.bench.tables import Column, Line
from jitkit.bench.words import duration

from ..engine.manifest import Exercise, Lab, all_labs
from ..engine.processes import Process, Spare
from ..engine.reference import reference_function
from ..engine.source_edit import replace_functions
from ..problems import Problem
from ..workspace.judge import Judge
from ..workspace.stubs import stubs_text
from ..workspace.workspace import Workspace

_PAUSE = 2.5  # seconds between two saves, about as long as a learner leaves at least
_LONGEST = 120.0

# What a learner is promised, in seconds: watching, and from a cold start; without XLA, and with it.
_WATCHING = {False: 0.120, True: 0.300}
_COLD = {False: 0.7, True: 1.3}


_GROUPS = {
    "save": "from a save to the verdict",
    "cold": "jitkit check, from a cold start",
    "processor": "from a save to the verdict, processor time",
}


class Felt(NamedTuple):
    """The times of one exercise, in seconds."""

    exercise: str
    title: str
    way: str  # "save", "cold" or "processor"
    seconds: tuple[float, ...]
    limit: float

    @property
    def worst(self) -> float:
        """The 95th percentile."""
        return float(np.percentile(self.seconds, 95))


class SaveToVerdict(Benchmark):
    """Measures the time from a save to the verdict, for exercises whose checks compile something, and for others."""

    name = "kata"
    title = "From a save to the verdict: `jitkit watch`, and `jitkit check` from a cold start"
    how = (
        "Each save is of a real file, with a pause after it; the clock stops when the verdict is printed. The 95th percentile is "
        "what counts: a verdict that is late once in ten times is a late one."
    )
    columns = (
        Column("", 30, "<"),
        Column("runs", 4, ">", 2),
        Column("median", 8),
        Column("95 %", 8),
        Column("promised", 8, ">", 1),
    )
    figure_module = "jitkit.kata.speed.save_to_verdict_figure"

    def all_steps(self) -> list[Step]:
        """Return two steps for each of two or four exercises, half of them with XLA: saves, and a cold check. With `only`, add
        the processor time of every exercise.
        """
        known = [(lab, e) for lab in all_labs() for e in lab.exercises]
        steps = []
        for uses_xla in (False, True):
            of_kind = [item for item in known if item[1].uses_xla == uses_xla]
            for lab, exercise in (of_kind[:1] + of_kind[len(of_kind) // 2 :][:1])[: 1 if self.quick else 2]:
                kind = "with XLA" if uses_xla else "without XLA"
                steps.append(
                    Step(f"save {exercise.id} {kind}", _Measurement(lab, exercise, 5 if self.quick else 30).saves)
                )
                steps.append(
                    Step(f"cold {exercise.id} {kind}", _Measurement(lab, exercise, 2 if self.quick else 5).cold)
                )
        if self.only:  # for all exercises this would take ten minutes
            of_all = [(e.id, _Measurement(lab, e, 2 if self.quick else 6)) for lab, e in known]
            steps += [Step(f"processor {id}", measurement.processor) for id, measurement in of_all]
        return steps

    def lines(self, result: Felt) -> list[Line]:
        """Return the row of the table for a result."""
        good = result.worst <= result.limit
        cells = (
            f"{result.exercise} {result.title}"[:30],
            str(len(result.seconds)),
            duration(float(np.median(result.seconds))),
            duration(result.worst),
            duration(result.limit),
        )
        return [Line(_GROUPS[result.way], cells, () if good else ("longer than promised",), good)]

    def row_data(self, result: Felt) -> dict[str, Any]:
        """Return a result as data for JSON, with the seconds of each run."""
        return {
            "exercise": result.exercise,
            "way": result.way,
            "seconds": list(result.seconds),
            "p95": result.worst,
            "promised": result.limit,
        }

    def summary(self, results: Sequence[Felt]) -> list[str]:
        """Return a sentence that says how many rows are as fast as promised."""
        good = sum(result.worst <= result.limit for result in results)
        return [f"{good} of {len(results)} rows are as fast as promised."]


class _Measurement:
    def __init__(self, lab: Lab, exercise: Exercise, count: int) -> None:
        self.lab = lab
        self.exercise = exercise
        self.count = count

    def saves(self) -> Felt:
        """Return the times from saves to their verdicts, while `watch` runs."""
        with _workspace() as root, _watching(root) as lines:
            file = root / self.lab.name / "exercises.py"
            seconds = []
            for turn in range(-2, self.count):  # the first two also compute the reference's results, and do not count
                text = self.text(turn)
                while not lines.empty():
                    lines.get()
                start = time.perf_counter()
                file.write_text(text, encoding="utf-8")
                _wait_for(lines, f"lab {self.lab.number}:")
                if turn >= 0:
                    seconds.append(time.perf_counter() - start)
                time.sleep(_PAUSE)
        return self.felt("save", seconds, _WATCHING)

    def processor(self) -> Felt:
        """Return the processor times of saves that are checked as in `watch`: of this process, and of the spare process
        that runs the check. Raise Problem if a check of the reference's functions does not pass.
        """
        with _workspace() as root, contextlib.closing(_Noted()) as spare:
            workspace = Workspace.find(root)
            judge = Judge(workspace, spare)
            seconds = []
            for turn in range(-2, self.count):
                (root / self.lab.name / "exercises.py").write_text(self.text(turn), encoding="utf-8")
                spare.taken.clear()
                start = time.process_time()
                report = judge.check(self.lab, self.exercise)
                if turn >= 0:
                    seconds.append(time.process_time() - start + sum(process.worked for process in spare.taken))
                if not report.passed:
                    raise Problem(f"{self.exercise.id} does not pass with the reference's functions.")
                judge.prepare(self.lab, self.exercise)
                spare.settle()
        return self.felt("processor", seconds, _WATCHING)

    def cold(self) -> Felt:
        """Return the times of `jitkit check`, started anew each time."""
        with _workspace() as root:
            (root / self.lab.name / "exercises.py").write_text(self.text(0), encoding="utf-8")
            command = [sys.executable, "-m", "jitkit.kata", "check", self.exercise.id]
            seconds = []
            for turn in range(-1, self.count):
                start = time.perf_counter()
                subprocess.run(command, cwd=root, env=_environment(), capture_output=True, check=False)
                if turn >= 0:
                    seconds.append(time.perf_counter() - start)
        return self.felt("cold", seconds, _COLD)

    def felt(self, way: str, seconds: Sequence[float], limits: dict[bool, float]) -> Felt:
        return Felt(self.exercise.id, self.exercise.title, way, tuple(seconds), limits[self.exercise.uses_xla])

    def text(self, turn: int) -> str:
        """Return the lab's file with the exercise solved, a little different each time."""
        solved = {}
        for target in self.exercise.targets:
            function = reference_function(target)
            lines = function.source.rstrip("\n").splitlines()
            first = len(lines) - 1 - ((function.node.end_lineno or 0) - function.node.body[0].lineno)
            margin = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
            lines.insert(first, f"{margin}turn = {turn}")
            solved[target.name] = "\n".join(lines) + "\n"
        return replace_functions(stubs_text(self.lab), solved)


class _Noted(Spare):
    """Keeps processes ready, and notes which ones were taken."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[Process] = []

    def take(self, uses_xla: bool) -> Process | None:
        process = super().take(uses_xla)
        self.taken += [process] if process is not None else []
        return process

    def settle(self) -> None:
        """Wait until the spare processes have prepared all that they can."""
        for process in (*self.waiting[False], *self.waiting[True]):
            while (process.next_frame(_LONGEST) or {"is": "prepared"})["is"] != "prepared":
                pass


@contextlib.contextmanager
def _workspace() -> Iterator[pathlib.Path]:
    with tempfile.TemporaryDirectory(prefix="jitkit-", ignore_cleanup_errors=True) as folder:
        root = pathlib.Path(folder) / "labs"
        command = [sys.executable, "-m", "jitkit.kata", "start", str(root)]
        subprocess.run(command, env=_environment(), capture_output=True, check=True)
        yield root


@contextlib.contextmanager
def _watching(root: pathlib.Path) -> Iterator[queue.SimpleQueue[str]]:
    """Within the block, run `jitkit watch` in a folder; yield a queue of the lines that it prints."""
    command = [sys.executable, "-m", "jitkit.kata", "watch"]
    process = subprocess.Popen(
        command, cwd=root, env=_environment(), text=True, encoding="utf-8", errors="replace",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen() -> None:
        for line in process.stdout or ():
            lines.put(line)

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        _wait_for(lines, "q quit")
        yield lines
    finally:
        process.terminate()
        process.wait()
        listener.join()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def _wait_for(lines: queue.SimpleQueue[str], words: str) -> None:
    give_up = time.monotonic() + _LONGEST
    with contextlib.suppress(queue.Empty):
        while words not in lines.get(timeout=max(give_up - time.monotonic(), 0.0)):
            pass
        return
    raise Problem(f"`jitkit watch` did not come to a verdict within {_LONGEST:.0f} seconds.")


def _environment() -> dict[str, str]:
    package = pathlib.Path(__file__).resolve().parents[3]
    path = os.pathsep.join(filter(None, [str(package), os.environ.get("PYTHONPATH", "")]))
    return os.environ | {"PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
