"""a submission -> for each exercise its functions, spliced into jitkit as code, or why not; nothing of the submission is run

The intake runs in a process of its own, which forks a process for each submission, with limits of memory and time: a file that
kills the parser harms nothing else. The result is a frame of JSON: sentences for people, and code as bytes that only a
worker reads.
"""

from __future__ import annotations

import contextlib
import datetime
import gc
import hashlib
import json
import os
import pathlib
import resource
import signal
import struct
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from jitkit.kata.engine.manifest import Exercise, Lab, nearest

from . import holes, rungs, suspicion
from .answers import Answers
from .files import Files, Invalid, Passed, functions_in, newest_time, read_files, shown
from .passed_over import elsewhere
from .policy import zone_of
from .records import GradeStatus, Item, ItemStatus, LabRead, Reading, reading
from .sources import DEFINES, Source, hint_of, source_of, was_handed_out

_MOST_PASSED = 60  # at most this many files of a submission that were passed over are named
# Reading one submission may take this many processor seconds, and bytes of memory; its answer may have this many bytes.
_SECONDS, _MEMORY, _LONGEST_FRAME = 30, 2 << 30, 64 << 20


def read_submission(
    path: pathlib.Path,
    labs: Sequence[Lab],
    only: Iterable[str] = (),
    whole: Collection[str] = (),
    zone: datetime.tzinfo = datetime.UTC,
) -> Reading:
    """Read a submission, and return it as data for JSON.

    Args:
      only: the numbers of the labs to read; by default all.
      whole: the exercises for which the code of whole modules is needed, and not only of their functions.
      zone: the time zone of archives that do not name one.
    """
    status = path.lstat()
    digest = _digest(f"{path.name} {status.st_size} {status.st_mtime_ns}".encode("utf-8", "surrogateescape"))
    newest = newest_time(path)
    try:
        files = read_files(path, zone)
        if files.found:
            newest = max(file.time for file in files.found)
            named = (
                f.path.encode("utf-8", "surrogateescape") + b"\0" + hashlib.sha256(f.data).digest() for f in files.found
            )
            digest = _digest(b"".join(named))
        elif own := next((f for f in files.passed if f.functions), None):
            raise Invalid(f"It contains no Python file and no notebook. {shown(own.path)}: {own.why}.")
        else:
            raise Invalid("It contains no Python file and no notebook.")
    except Invalid as error:
        return reading(GradeStatus.INVALID, str(error), digest, newest)
    return _Submission(files, labs, frozenset(only), whole).reading(digest, newest)


class _Submission:
    """The files of a submission, and what was found in them."""

    def __init__(self, files: Files, labs: Sequence[Lab], only: frozenset[str], whole: Collection[str]) -> None:
        self.labs = [lab for lab in labs if not only or lab.number in only]
        self.files = files
        self.sources: list[Source] = []
        self.unreadable: list[Passed] = []  # each with the sentence that its author reads
        for file in files.found:
            try:
                self.sources.append(source_of(file, labs))
            except Invalid as error:
                self.unreadable.append(Passed(file.path, str(error), functions_in(file.data)))
        self.package: rungs.Found | None = None
        if any(lab.number in rungs.NAMES for lab in self.labs):
            answers = {t.name for lab in labs for e in lab.exercises for t in e.targets}
            try:
                self.package = rungs.find_package(self.sources, answers)
            except Invalid as error:
                self.unreadable.append(Passed(f"{rungs.NAME}/", str(error)))
        own = self.package.sources if self.package is not None else []
        self.reader = Answers([s for s in self.sources if s not in own], labs, whole)
        self.all_labs = labs

    def reading(self, digest: str, newest: float) -> Reading:
        """Return the result of reading the submission. Its status is INVALID if no file is about a lab, or every item is INVALID."""
        items = {lab.number: found for lab in self.labs if (found := self.of_lab(lab))}
        read = reading(GradeStatus.OK, "", digest, newest)
        read["exercises"] = {id: item for of_lab in items.values() for id, item in of_lab.items()}
        read["labs"] = {number: self.taken(number, of_lab, newest) for number, of_lab in items.items()}
        read["passed"] = self.passed_over(read["labs"])
        read["flags"] = sorted({flag for source in self.sources for flag in source.flags})
        if not items:
            read.update({"status": GradeStatus.INVALID, "sentence": self.why_nothing()})
        elif all(item["status"] == ItemStatus.INVALID for item in read["exercises"].values()):
            sentence = next(iter(read["exercises"].values()))["sentence"]
            read.update({"status": GradeStatus.INVALID, "sentence": sentence, "exercises": {}})
        return read

    def of_lab(self, lab: Lab) -> dict[str, Item]:
        """Return the item of each exercise of a lab; an empty dict if no file is about the lab."""
        if lab.number in rungs.NAMES:
            is_there = self.package is not None and (lab.number == rungs.NAME or rungs.asks_for_c(self.package))
            return rungs.package_items(self.package, lab.exercises) if self.package is not None and is_there else {}
        hurt = [p for p in self.unreadable if hint_of(p.path, self.all_labs) in (lab.number, "")]
        named = any(hint_of(p.path, self.all_labs) == lab.number for p in self.unreadable)
        if not self.reader.has(lab) and not named:
            return {}
        return {exercise.id: self.of_exercise(lab, exercise, hurt) for exercise in lab.exercises}

    def of_exercise(self, lab: Lab, exercise: Exercise, hurt: Sequence[Passed]) -> Item:
        """Return the item of an exercise: INVALID instead of MISSING or TODO if a file that was passed over may contain the answer."""
        item = self.reader.exercise(lab, exercise)
        if item["status"] not in (ItemStatus.MISSING, ItemStatus.TODO):
            return item
        own = next((p for p in hurt if hint_of(p.path, self.all_labs) == lab.number), None)
        if own is None and item["status"] == ItemStatus.MISSING:
            own = next(iter(hurt), None)
        sentence = (
            own.why if own is not None else elsewhere(self.reader, lab, exercise, self.unreadable, self.files.passed)
        )
        return item | {"status": ItemStatus.INVALID, "sentence": sentence} if sentence else item

    def taken(self, number: str, items: Mapping[str, Item], newest: float) -> LabRead:
        """Return the files whose functions were taken for a lab (if nothing is written, those with its stubs), the newest one's
        time, and a hash of what was read.
        """
        written = {path for item in items.values() for path in item["files"]}
        stubs = {item["path"] for item in items.values()} - {""}
        if self.package is not None and number in rungs.NAMES:
            own = list(self.package.sources)
        else:
            own = [s for s in self.sources if s.path in (written or stubs)]
        told = json.dumps([(id, item["status"], item["code"]) for id, item in sorted(items.items())])
        return {
            "files": sorted(s.path for s in own),
            "handed_in": max((s.time for s in own), default=newest),
            "digest": _digest(told.encode()),
        }

    def passed_over(self, labs: Mapping[str, LabRead]) -> list[list[str]]:
        """Return the files that were not taken, each with the reason, without those that we handed out. If there are more than
        `_MOST_PASSED`, a last row says how many more.
        """
        taken = {path for lab in labs.values() for path in lab["files"]}
        found = [[shown(p.path), p.why] for p in self.unreadable]
        found += [[shown(p.path), p.why] for p in self.files.passed if not was_handed_out(p.path, None, self.all_labs)]
        rest = [s for s in self.sources if s.path not in taken]
        handed_out = {s.path for s in rest if _is_untouched(s, self.all_labs)}
        found += [[s.path, "no function was taken from it"] for s in rest if s.path not in handed_out]
        more = [["...", f"and {len(found) - _MOST_PASSED} more"]] if len(found) > _MOST_PASSED else []
        return sorted(found[:_MOST_PASSED]) + more

    def why_nothing(self) -> str:
        """Return a sentence for a submission without a file that is about a lab."""
        if self.unreadable:
            return self.unreadable[0].why
        names = {n for s in self.sources for n in DEFINES.findall(s.text)}
        known = {t.path[-1] for lab in self.labs for e in lab.exercises for t in e.targets}
        if names & known:
            name = min(names & known)
            where = "in a file that is named after another lab: name it after its own"
            return f"It has none of the labs' functions but `{name}`, {where}."
        for source in self.sources:
            for name, why in source.unread.items():
                return f"`{name}` is in {source.path}, {why}; that was not read."
        for file in self.files.passed:
            if file.functions & known:
                return f"`{min(file.functions & known)}` seems to be in {shown(file.path)}: {file.why}."
        near = next(
            (f"; should `{n}` be called `{nearest(n, known)}`?" for n in sorted(names - known) if nearest(n, known)),
            ".",
        )
        return f"It has none of the labs' functions{near}"


def _is_untouched(source: Source, labs: Sequence[Lab]) -> bool:
    """Return whether a file equals the one that was handed out. A notebook counts as untouched if it has no functions: its file differs
    anyway, since it has outputs.
    """
    if source.path.endswith(".ipynb"):
        return not source.unread and not source.broken and "def " not in source.text
    return was_handed_out(source.path, source.text, labs)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:24]


# --- the process ----------------------------------------------------------------------------------------------------------


def serve(labs_folder: str) -> int:
    """Read requests, lines of JSON, and answer with frames. A fork reads each submission; if the fork dies, or its answer is too long,
    the submission is INVALID. Return 0 at the end of the input.
    """
    labs = rungs.labs_and_ladder(pathlib.Path(labs_folder))
    targets = [target for lab in labs for exercise in lab.exercises for target in exercise.targets]
    suspicion.warm_up(targets)
    holes.warm_up(targets)
    gc.disable()  # a fork ends before there is much garbage; a collection would copy the memory that the fork shares with us
    for line in sys.stdin.buffer:
        request = json.loads(line)
        ours, theirs = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(ours)
            _answer(request, labs, theirs)
        os.close(theirs)
        with open(ours, "rb") as stream:
            data = stream.read(_LONGEST_FRAME + 1)
        _, status = os.waitpid(pid, 0)
        if status or not data or len(data) > _LONGEST_FRAME:
            signal_ = os.waitstatus_to_exitcode(status)
            data = json.dumps(reading(GradeStatus.INVALID, _DIED, f"ended {signal_}")).encode()
        sys.stdout.buffer.write(struct.pack(">Q", len(data)) + data)
        sys.stdout.buffer.flush()
    return 0


_DIED = "Reading it took more time or memory than any honest file does: nothing of it was run."


def _answer(request: dict[str, Any], labs: Sequence[Lab], pipe: int) -> None:
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(2 * _SECONDS)
        zone = zone_of(request["zone"])
        data = read_submission(pathlib.Path(request["path"]), labs, request["only"], request["whole"], zone)
        with open(pipe, "wb") as stream:
            stream.write(json.dumps(data).encode("utf-8", "replace"))
        os._exit(0)
    except (MemoryError, RecursionError):
        os._exit(9)
    except OSError as error:
        sentence = f"It cannot be read: {error.strerror}."
        with contextlib.suppress(OSError), open(pipe, "wb") as stream:
            stream.write(json.dumps(reading(GradeStatus.INFRA, sentence)).encode())
        os._exit(0)
    except Exception as error:  # an error of ours: the student did nothing wrong, and a person looks at the submission
        sentence = (
            f"The grader failed when it read this, which is its own fault: {type(error).__name__}: {shown(str(error))}"
        )
        with contextlib.suppress(OSError), open(pipe, "wb") as stream:
            stream.write(json.dumps(reading(GradeStatus.INVALID, sentence)).encode())
        os._exit(0)
    finally:
        os._exit(1)


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1]))
