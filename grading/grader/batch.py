"""a folder of submissions -> grades in the store: threads that work, one that writes, and a line that says how far it is"""

from __future__ import annotations

import atexit
import concurrent.futures
import datetime
import errno
import gc
import hashlib
import importlib
import os
import pathlib
import queue
import shutil
import sys
import threading
import time
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TextIO

from ..shared import ROOT
from . import files
from .bubblewrap import JailError
from .grade import Graded, Grader
from .records import GradeStatus
from .rungs import labs_and_ladder
from .store import Store
from .trials import Settings
from .workers import Workers

PATIENCE = 30  # seconds until a scheduler answers
_HIDDEN_NAMES = (".", "~", "__MACOSX")


class Entry(NamedTuple):
    """A submission: whose, and where."""

    student: str
    path: pathlib.Path


class Tally(NamedTuple):
    """What a batch came to."""

    submissions: int
    invalid: int
    infra: int
    seconds: float
    troubles: tuple[str, ...]


def entries(folder: pathlib.Path) -> list[Entry]:
    """The submissions in a folder, by the students' names, each once. A name of an LMS's is taken as it is."""
    found: dict[str, Entry] = {}
    for path in sorted(folder.iterdir(), key=lambda p: os.fsencode(p.name)):
        ours = path.name == "course.toml" or path.suffix == ".csv"
        if path.name.startswith(_HIDDEN_NAMES) or (ours and path.is_file()):
            continue
        name = path.name if path.is_dir() and not path.is_symlink() else files.stem(path.name)
        student = student_name(name)
        number = 2
        while student in found:  # `ann.zip` beside `ann/`, or names that differ in what cannot be seen
            student = f"{student_name(name)} ({number})"
            number += 1
        found[student] = Entry(student, path)
    return list(found.values())


def student_name(name: str) -> str:
    """A name as it is kept: composed, printable."""
    text = unicodedata.normalize("NFC", os.fsencode(name).decode("utf-8", "replace"))
    return "".join(c if c.isprintable() else "�" for c in text).strip() or "(no name)"


def unpacked(path: pathlib.Path, target: pathlib.Path, zone: datetime.tzinfo = datetime.UTC) -> pathlib.Path:
    """The folder of submissions; a zip of an LMS's is unpacked below `target`: one entry a student. Invalid where it is none.

    Args:
      zone: where the clock of the zip is, unless it says so.
    """
    if path.is_dir():
        return path
    try:
        with path.open(
            "rb"
        ) as file:  # another zip of this name has a folder of its own: what was handed in then is not in it
            target = target / hashlib.file_digest(file, "sha256").hexdigest()[:8]
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            if len(infos) > 200_000 or sum(i.file_size for i in infos) > 16 << 30:
                raise files.Invalid(f"{path} is larger unpacked than submissions of a class are")
            target.mkdir(parents=True, exist_ok=True)
            for info in infos:
                try:
                    _unpack(archive, info, target, zone)
                except _ODD as error:  # one odd file is no reason to grade nobody
                    if isinstance(error, OSError) and error.errno not in _OF_A_NAME:
                        raise
                    said = getattr(error, "strerror", None) or str(error)
                    print(f"{path}: {files.shown(info.filename)} is left out: {files.shown(said)}", file=sys.stderr)
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise files.Invalid(f"{path} cannot be read as a folder or a zip of submissions: {error}") from None
    inside = [p for p in target.iterdir() if not p.name.startswith(_HIDDEN_NAMES)]
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else target


# what is odd about one file of a zip: its path, its bytes, a password, its date
_ODD = (files.Invalid, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OverflowError, OSError)
_OF_A_NAME = (errno.ENAMETOOLONG, errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.EINVAL, errno.EILSEQ)


def _unpack(archive: zipfile.ZipFile, info: zipfile.ZipInfo, target: pathlib.Path, zone: datetime.tzinfo) -> None:
    """One file of a zip, whole or not at all, with the time that it says."""
    place = target / files.safe_path(info.filename)
    if info.is_dir() or (info.external_attr >> 16) & 0o170000 & ~0o100000:
        return
    # whose it is is known, whatever it is
    target.joinpath(*place.relative_to(target).parts[:-1][:1]).mkdir(exist_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(info) as source, place.open("wb") as copy:
        try:
            shutil.copyfileobj(source, copy, 1 << 20)
        except BaseException:
            place.unlink()
            raise
    if then := files.time_of(info, zone):
        os.utime(place, (then, then))


def run(
    store: Store,
    grader: Grader,
    submissions: Sequence[Entry],
    only: Sequence[str] = (),
    threads: int = 2,
    show: Callable[[int, int, float], None] = lambda done, count, seconds: None,
    again: bool = False,
) -> Tally:
    """Grade all of them. What is in the store already is not done again; rows are written as they come.

    Args:
      again: these are submissions that were graded before, where they were then.
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
            return grader.grade(workers, entry.student, entry.path, only, store.result)
        finally:
            idle.put(workers)

    gc.collect()
    gc.freeze()  # the labs' trees are many objects, and stay: to look through them again and again takes long
    try:
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            for graded in _as_completed(pool, work, submissions, 2 * threads):
                store.add(graded.results, graded.grades, graded.handins, again)
                done += 1
                invalid += any(
                    row["exercise"] is None and row["outcome"] == GradeStatus.INVALID for row in graded.grades
                )
                infra += any(row["outcome"] == GradeStatus.INFRA for row in graded.grades)
                troubles += [f"{graded.student}: {text}" for text in graded.troubles]
                show(done, len(submissions), time.monotonic() - began)
    finally:
        gc.unfreeze()
        for workers in of_all_threads:
            workers.close()
    return Tally(done, invalid, infra, time.monotonic() - began, tuple(troubles))


def _as_completed(
    pool: concurrent.futures.Executor, work: Callable[[Entry], Graded], items: Sequence[Entry], ahead: int
) -> Iterator[Graded]:
    """Results as they come, with only so many asked for ahead: memory stays flat."""
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
    """A line that is drawn anew in a terminal; elsewhere a line now and then; with `quiet` nothing."""

    def __init__(self, stream: TextIO | Any = None, quiet: bool = False) -> None:
        self.stream = stream or sys.stderr
        self.quiet = quiet
        self.interactive = self.stream.isatty()
        self.last = 0.0

    def __call__(self, done: int, count: int, seconds: float) -> None:
        """Say how far it is."""
        if self.quiet:
            return
        left = seconds / done * (count - done)
        text = (
            f"{done} of {count} submissions, {duration(left)} left"
            if done < count
            else f"{done} submissions in {duration(seconds)}"
        )
        if self.interactive:
            filled = 30 * done // count
            bar = "#" * filled + "-" * (30 - filled)
            self.stream.write(f"\r[{bar}] {text}\x1b[K" + ("\n" if done == count else ""))
        elif done == count or seconds - self.last >= 10:
            self.last = seconds
            self.stream.write(text + "\n")
        self.stream.flush()


def duration(seconds: float) -> str:
    """`3 min 20 s`."""
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
    """The same on the workers of a Dask scheduler. They read submissions at the
    same paths (a shared folder), and have jitkit and bubblewrap.

    A task may be run twice, when a worker was lost: equal keys are one row. What a scheduler has lost is INFRA, and done by the
    next `grade`.
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
                key=f"jitkit-{store.meta('seed_id')}-{e.student}-{time.time_ns()}",
            ): e.student
            for e in submissions
        }
        for future, graded in distributed.as_completed(list(tasks), with_results=True, raise_errors=False):
            done += 1
            if future.status != "finished":  # its worker again and again, or the scheduler, is gone
                infra += 1
                troubles.append(f"{tasks[future]}: its task was lost ({future.status}). Grade again.")
                continue
            store.add(graded.results, graded.grades, graded.handins, again)
            invalid += any(row["exercise"] is None and row["outcome"] == GradeStatus.INVALID for row in graded.grades)
            infra += any(row["outcome"] == GradeStatus.INFRA for row in graded.grades)
            troubles += [f"{graded.student}: {text}" for text in graded.troubles]
            show(done, len(submissions), time.monotonic() - began)
    return Tally(done, invalid, infra, time.monotonic() - began, tuple(troubles))


_elsewhere: dict[Settings, tuple[Grader, queue.SimpleQueue[Workers]]] = {}
_making = threading.Lock()


def grade_elsewhere(settings: Settings, path: str, student: str, only: list[str]) -> Graded:
    """One submission, in a process of a Dask worker, whose jails stay for the next."""
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
        return grader.grade(workers, student, pathlib.Path(path), only)
    finally:
        idle.put(workers)
