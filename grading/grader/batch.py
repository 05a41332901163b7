"""a folder of submissions -> grades in the store: threads that grade, one that writes, and a line of progress"""

from __future__ import annotations

import atexit
import concurrent.futures
import gc
import importlib
import pathlib
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TextIO

from ..shared import ROOT
from .bubblewrap import JailError
from .grade import Graded, Grader
from .handed_over import Entry
from .leftovers import sweep
from .records import GradeStatus
from .rungs import labs_and_ladder
from .store import Store
from .trials import Settings
from .workers import Workers

PATIENCE = 30  # seconds: a scheduler has to answer within this time


class Tally(NamedTuple):
    """The counts of a batch."""

    submissions: int  # how many there were
    invalid: int  # how many of them are invalid
    infra: int  # how many of them met a fault of ours
    seconds: float
    troubles: tuple[str, ...]  # a sentence for each fault


def run(
    store: Store,
    grader: Grader,
    submissions: Sequence[Entry],
    only: Sequence[str] = (),
    threads: int = 2,
    show: Callable[[int, int, float], None] = lambda done, count, seconds: None,
    again: bool = False,
) -> Tally:
    """Grade all submissions, write rows as they come, and return the counts. A verdict that is already in the store is
    not computed again.

    Args:
      only: the numbers of the labs to grade; if it is empty, all labs.
      show: called after each submission, with the number that is done, the number of all, and the seconds so far.
      again: these submissions were graded before; they are graded again from the same place.
    """
    began = time.monotonic()
    invalid = infra = done = 0
    troubles: list[str] = []
    idle: queue.SimpleQueue[Workers] = queue.SimpleQueue()
    of_all_threads = [grader.workers() for _ in range(threads)]
    for workers in of_all_threads:
        idle.put(workers)

    def work(entry: Entry) -> Graded:
        workers = idle.get()
        try:
            return grader.grade(workers, entry.student, entry.path, only, store.result, entry.handed_in)
        finally:
            idle.put(workers)

    gc.collect()
    gc.freeze()  # the labs' trees are many objects, and stay: at each collection it would take long to look through them
    try:
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            for graded in _as_completed(pool, work, submissions, 2 * threads):
                store.add(graded.results, graded.grades, graded.handins, again)
                done += 1
                invalid += any(row.exercise is None and row.outcome == GradeStatus.INVALID for row in graded.grades)
                infra += any(row.outcome == GradeStatus.INFRA for row in graded.grades)
                troubles += [f"{graded.student}: {text}" for text in graded.troubles]
                show(done, len(submissions), time.monotonic() - began)
    finally:
        gc.unfreeze()
        for workers in of_all_threads:
            workers.close()
        sweep()  # again at the end: at the start, what a grader had just left was too young to be removed
    return Tally(done, invalid, infra, time.monotonic() - began, tuple(troubles))


def _as_completed(
    pool: concurrent.futures.Executor, work: Callable[[Entry], Graded], items: Sequence[Entry], ahead: int
) -> Iterator[Graded]:
    """Yield results as they come. At most `ahead` submissions are in work at a time, so memory stays flat."""
    rest = iter(items)
    waiting: set[concurrent.futures.Future[Graded]] = set()
    try:
        while True:
            for entry in rest:
                waiting.add(pool.submit(work, entry))
                if len(waiting) >= ahead:
                    break
            if not waiting:
                return
            finished, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in finished:
                yield future.result()
    finally:
        for future in waiting:
            future.cancel()


class Progress:
    """Shows progress: one line, redrawn, in a terminal; elsewhere a line now and then; nothing with `quiet`."""

    def __init__(self, stream: TextIO | Any = None, quiet: bool = False) -> None:
        self.stream = stream or sys.stderr
        self.quiet = quiet
        self.interactive = self.stream.isatty()
        self.last = 0.0
        self.first: tuple[int, float] | None = (
            None  # `done` and `seconds` of the first call; the time before it went into the reference's results, too
        )

    def __call__(self, done: int, count: int, seconds: float) -> None:
        """Show the progress."""
        if self.quiet:
            return
        first, began = self.first = self.first or (done, seconds)
        text = f"{done} of {count} submissions" if done < count else f"{done} submissions in {duration(seconds)}"
        if first < done < count:
            text += f", {duration((seconds - began) / (done - first) * (count - done))} left"
        if self.interactive:
            filled = 30 * done // count
            bar = "#" * filled + "-" * (30 - filled)
            self.stream.write(f"\r[{bar}] {text}\x1b[K" + ("\n" if done == count else ""))
        elif done == count or seconds - self.last >= 10:
            self.last = seconds
            self.stream.write(text + "\n")
        self.stream.flush()


def duration(seconds: float) -> str:
    """Return a duration: `3 min 20 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


# --- on other machines ------------------------------------------------------------------------------------------------


def run_on_dask(
    store: Store,
    grader: Grader,
    submissions: Sequence[Entry],
    only: Sequence[str],
    address: str,
    show: Callable[[int, int, float], None],
    again: bool = False,
) -> Tally:
    """Grade on the workers of a Dask scheduler. The workers must read submissions at the same paths (a shared folder), and have
    jitkit and bubblewrap installed.

    All verdicts are computed, also those that are in the store already. If a worker is lost, its task may run twice: rows with equal
    keys become one. A submission whose task is lost, or raises an error, counts as INFRA and gets no row; the next `grade` grades it.

    Raise JailError if Dask is not installed, or no scheduler answers.
    """
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise JailError('Dask is not installed; in your clone: pip install -e ".[dask]"') from None
    began = time.monotonic()
    invalid = infra = done = 0
    troubles: list[str] = []
    try:
        client = distributed.Client(address, timeout=PATIENCE)
    except (OSError, TimeoutError) as error:
        raise JailError(f"no scheduler answers at {address}: {error}") from None
    with client:
        settings = grader.settings
        tasks = {
            client.submit(
                grade_elsewhere,
                settings,
                str(e.path.absolute()),
                e.student,
                list(only),
                e.handed_in,
                key=f"jitkit-{store.meta('seed_id')}-{e.student}-{time.time_ns()}",
            ): e.student
            for e in submissions
        }
        for future, graded in distributed.as_completed(list(tasks), with_results=True, raise_errors=False):
            done += 1
            if future.status != "finished":
                # the task's workers were lost again and again, or the scheduler was; or the task raised an error, as
                # where a worker has no jitkit
                infra += 1
                troubles.append(
                    f"{tasks[future]}: its task was lost, or it raised an error ({future.status}). Grade again."
                )
            else:
                store.add(graded.results, graded.grades, graded.handins, again)
                invalid += any(row.exercise is None and row.outcome == GradeStatus.INVALID for row in graded.grades)
                infra += any(row.outcome == GradeStatus.INFRA for row in graded.grades)
                troubles += [f"{graded.student}: {text}" for text in graded.troubles]
            show(done, len(submissions), time.monotonic() - began)
    return Tally(done, invalid, infra, time.monotonic() - began, tuple(troubles))


_elsewhere: dict[Settings, tuple[Grader, queue.SimpleQueue[Workers]]] = {}
_making = threading.Lock()


def grade_elsewhere(
    settings: Settings, path: str, student: str, only: list[str], handed_in: float | None = None
) -> Graded:
    """Grade one submission in a process of a Dask worker, which keeps its jails for the next submission."""
    with _making:
        if settings not in _elsewhere:
            _elsewhere[settings] = Grader(labs_and_ladder(ROOT / "labs"), settings), queue.SimpleQueue()
        grader, idle = _elsewhere[settings]
    try:
        workers = idle.get_nowait()
    except queue.Empty:
        workers = grader.workers()
        atexit.register(workers.close)
    try:
        return grader.grade(workers, student, pathlib.Path(path), only, None, handed_in)
    finally:
        idle.put(workers)
