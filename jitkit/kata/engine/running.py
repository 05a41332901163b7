"""a submission + checks -> an outcome for each check

This module sends a process its request, and reads the answers. If a check takes too long, or the process dies or sends something that it
should not, this is an outcome with a sentence. After a check that ended its process, another process goes on with the next check.
"""

from __future__ import annotations

import contextlib
import functools
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .processes import Process, Spare
from .statuses import Status
from .submission import LearnerFile, Target

if TYPE_CHECKING:  # these modules import numpy; `jitkit check` starts its process before it imports numpy itself
    from .plain import Plain

NOT_TRIED = "It was not tried: a check before it did not end."
_START_SECONDS = 60.0
_LONGEST_REPLAYED = 4.0  # seconds: a check that took longer is not run again to record calls


class LearnerSource(NamedTuple):
    """A file of a learner: its source, and the exercises that may be in it, as targets or as dotted names."""

    path: str
    source: str
    exercises: frozenset[str]


@functools.lru_cache(maxsize=64)
def parsed(source: LearnerSource) -> LearnerFile:
    """Return a learner's file, parsed once. Raise SpliceError as `LearnerFile.parse` does."""
    return LearnerFile.parse(source.source, source.path, source.exercises)


class Climb(NamedTuple):
    """What a job on the ladder has instead of functions: a package, and files of programs, each a path and a source."""

    package: Mapping[str, str]  # folder, name, machine (the path of `xla.py`), perhaps executables; empty for jitkit
    programs: tuple[tuple[str, str], ...]


class Job(NamedTuple):
    """What is to be run: the functions to be spliced, each with the file that it is in, and the checks."""

    files: tuple[LearnerSource, ...]
    targets: Mapping[Target, str]  # target -> the path of the file with its function
    checks_path: str
    checks_source: str
    wanted: tuple[str, ...]
    seed: int = 0
    uses_xla: bool = False
    seconds: float = 20.0  # one check, or the import, may take this long
    is_experiment: bool = False  # whether `checks_source` is an experiment, whose `measure` is wanted, and not checks
    quick: bool = False  # whether an experiment measures fewer and smaller things
    climb: Climb | None = None
    executables: str = ""  # the folder where compiled programs are kept; "": nowhere
    draw: int = 0  # the seed of random programs
    graded: bool = False  # whether to run as many random programs as in grading
    hurried: float = 0.0  # processor seconds after which no other random program begins; 0: all of them run


class Outcome(NamedTuple):
    """The outcome of a check: the plain data of its result, or what went wrong."""

    check: str
    value: Plain | None
    trouble: str = ""  # a Status, or ""
    sentence: str = ""
    line: tuple[str, int] | None = None
    output: str = ""
    seconds: float = 0.0
    calls: tuple[Call, ...] = ()  # calls of the learner's functions, if the check was run again to see them
    misses: str = ""  # what `explain` says about these calls
    imported: bool = True  # in grading: whether the functions had been imported; if not, all checks end the same way


class Call(NamedTuple):
    """A call of a learner's function: the call as it is written, the line where the function begins, and the returned value."""

    text: str
    line: int
    result: Plain | None = None


class Replay(NamedTuple):
    """A request to run a failing check again, and to record calls of the functions `names` of the learner's `file`."""

    failing: Callable[[list[Outcome]], str | None]  # the outcomes so far -> the check to run, or None
    file: str
    names: tuple[str, ...]


class Stopped(Exception):
    """Raised when a run is stopped, because nobody wants its outcomes any more."""


class Stop:
    """Stops a run from another thread."""

    def __init__(self) -> None:
        self.is_set = False
        self.processes: set[Process] = set()

    def set(self) -> None:
        """End the processes that run; `run` raises Stopped."""
        self.is_set = True
        for process in tuple(self.processes):
            process.kill()


def run(job: Job, spare: Spare | None = None, stop: Stop | None = None, replay: Replay | None = None) -> list[Outcome]:
    """Return an outcome for each wanted check, in their order. An error of the learner's functions is an outcome, and is not raised;
    Stopped is raised if `stop` is set. With `replay`, the outcome of the check that `replay.failing` names has the calls of the
    learner's functions, if the check could be run again.
    """
    outcomes: list[Outcome] = []
    rest = list(job.wanted)
    stop = stop or Stop()
    while rest:
        machine = job.climb.package.get("machine", "") if job.climb is not None and job.uses_xla else ""
        process = spare.take(job.uses_xla) if spare is not None else None
        process = process or Process(job.uses_xla, machine, optimised=job.is_experiment)
        with contextlib.closing(process):
            stop.processes.add(process)
            found = [] if stop.is_set else list(_converse(process, job, rest, replay is not None))
            if replay is not None and found and not found[-1].trouble:
                found = _with_calls(process, job, outcomes + found, replay)[len(outcomes) :]
            stop.processes.discard(process)
        if stop.is_set:
            raise Stopped
        if not found:  # what the process had prepared does not suit
            spare = spare and spare.unprepared
            continue
        outcomes += found
        rest = rest[len(found) :]
        if found[-1].trouble == Status.IMPORT:  # the import would fail again
            outcomes += [found[-1]._replace(check=name) for name in rest]
            rest = []
        elif found[-1].trouble == Status.TIME:  # the others are not tried; on the ladder, only those of the same rung
            left = [name for name in rest if process.imported and _rung(job, name) != _rung(job, found[-1].check)]
            outcomes += [Outcome(name, None, Status.TIME, NOT_TRIED) for name in rest if name not in left]
            rest = left
    of = {outcome.check: outcome for outcome in outcomes}  # a rung's hidden programs stand behind all other rungs'
    return [of[name] for name in job.wanted]


def _rung(job: Job, check: str) -> str:
    """Return the number of a check's rung on the ladder; "" in the labs."""
    return check.partition("_")[0] if job.climb is not None else ""


def _with_calls(process: Process, job: Job, outcomes: list[Outcome], replay: Replay) -> list[Outcome]:
    """Return the outcomes. The one that `replay.failing` names gets the calls of the learner's functions, unless its check took
    longer than `_LONGEST_REPLAYED`, or the process does not answer.
    """
    name = replay.failing(outcomes)
    place = next((i for i, outcome in enumerate(outcomes) if outcome.check == name), None)
    if place is None or outcomes[place].trouble or outcomes[place].seconds > _LONGEST_REPLAYED:
        return outcomes
    process.send({"do": "replay", "check": name, "file": replay.file, "names": list(replay.names)})
    try:
        frame = process.next_frame(job.seconds)
    except TimeoutError:
        return outcomes
    if frame is None or frame["is"] != "calls":
        return outcomes
    calls = tuple(Call(item["call"], item["line"], item.get("result")) for item in frame["calls"])
    outcomes[place] = outcomes[place]._replace(calls=calls, misses=frame["misses"])
    return outcomes


def _converse(process: Process, job: Job, wanted: Sequence[str], stays: bool = False) -> Iterator[Outcome]:
    """Yield the outcomes of the checks as they come, until the process is done, has ended, or takes too long. Yield nothing if it
    answers `again`. With `stays`, a process that is done waits for one more request. If it ends after one check and before it begins
    the next, no check is to blame.
    """
    process.send(_request(job, wanted) | ({"stays": True} if stays else {}))
    current = wanted[0]
    began = time.monotonic()
    limit = began + _START_SECONDS + job.seconds
    while True:
        try:
            frame = process.next_frame(limit - time.monotonic())
        except TimeoutError:
            if not current:
                return
            trouble, what = Status.TIME, "It was still running"
            if job.climb is not None and not process.imported:
                trouble, what = Status.IMPORT, "Your package was still being imported"
            sentence = f"{what} after {job.seconds:g} seconds, and was stopped."
            yield Outcome(current, None, trouble, sentence, _line_of_package(process, job))
            return
        match frame:
            case {"is": "ready" | "prepared"}:
                limit = time.monotonic() + job.seconds
            case {"is": "imported"}:
                process.imported = True
            case {"is": "import failed", "error": error, "output": output}:
                sentence = _told(error) if job.climb is None else _told_of_package(error)
                yield Outcome(current, None, Status.IMPORT, sentence, _line(error["line"]), output)
                return
            case {"is": "begin", "check": name}:
                current = name
                limit = time.monotonic() + job.seconds
            case {"is": "result", "check": name, "value": value, "output": output, "seconds": seconds} if (
                name == current
            ):
                yield _limited(Outcome(name, value, output=output, seconds=seconds), _own_places(job))
                current = ""
                limit = time.monotonic() + job.seconds
            case {"is": "done", "modules": modules, "processor": seconds}:
                process.worked = seconds
                _imported_by.setdefault((job.checks_path, job.wanted), {}).update(dict.fromkeys(modules))
                return
            case {"is": "again"}:
                return
            case _ if not current:
                return
            case _ if job.climb is not None and not process.imported:
                sentence = _how_it_ended(process, "while your package was imported")
                yield Outcome(current, None, Status.IMPORT, sentence, _line_of_package(process, job))
                return
            case _:
                yield Outcome(current, None, Status.CRASH, _how_it_ended(process), _line_of_package(process, job))
                return


def _limited(outcome: Outcome, own: Sequence[str]) -> Outcome:
    """Return the outcome, with a trouble if its value is an error because a limit was met, or because a package imported something
    forbidden. The trouble has the learner's line, except for too much output.
    """
    value = outcome.value or {}
    lines = [
        _line(line) for line in value.get("lines", ()) if any(place and line[0].startswith(place) for place in own)
    ]
    line = lines[-1] if lines else None
    if value.get("is") == "error" and value["class"] == "MemoryError":
        return outcome._replace(
            trouble=Status.LIMIT, sentence="It asked for more memory than a check may have (6 GiB).", line=line
        )
    if value.get("is") == "error" and value["class"] == "OSError" and "File too large" in value["text"]:
        return outcome._replace(trouble=Status.LIMIT, sentence="It printed more than a check may print (50 MB).")
    if value.get("is") == "error" and value.get("uncaught") and _is_refused(value):
        return outcome._replace(trouble=Status.CRASH, sentence=str(value["text"]), line=line)
    return outcome


def _is_refused(error: Mapping[str, Any]) -> bool:
    return error["class"] == "ImportError" and str(error["text"]).startswith("your package imports")


def _how_it_ended(process: Process, when: str = "in the middle of the check") -> str:
    try:
        code = process.exit_code()
    except subprocess.TimeoutExpired:
        return f"The process closed its connection {when}."
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
        return f"The process died {when}, of {name}."
    return f"The process ended {when}, with exit code {code}: something called `exit`, or closed its streams."


def _line_of_package(process: Process, job: Job) -> tuple[str, int] | None:
    return next((line for place in _own_places(job) if place and (line := process.line_in(place)) is not None), None)


def _own_places(job: Job) -> list[str]:
    """Return the learner's own places: on the ladder the folder with their package, in the labs their files."""
    return [job.climb.package.get("folder", "")] if job.climb is not None else [file.path for file in job.files]


def _told(error: dict[str, Any]) -> str:
    if error["class"] == "SpliceError":
        return str(error["text"])
    return f"jitkit could not be imported with your functions in it: {error['class']}: {error['text']}"


def _told_of_package(error: dict[str, Any]) -> str:
    if _is_refused(error):
        return str(error["text"])
    return f"Your package cannot be imported: {error['class']}: {error['text']}"


def _line(line: Sequence[Any] | None) -> tuple[str, int] | None:
    return (line[0], line[1]) if line else None


def _request(job: Job, wanted: Sequence[str]) -> dict[str, Any]:
    if job.climb is not None:
        package, programs = job.climb
        return {"do": "climb", "package": package, "programs": programs, "wanted": list(wanted), "seed": job.seed}
    return {
        "do": "measure" if job.is_experiment else "run",
        **_functions(job),
        "checks": {"path": job.checks_path, "source": job.checks_source},
        "wanted": list(wanted),
        "seed": job.seed,
        "draw": job.draw,
        "graded": job.graded,
        "hurried": job.hurried,
        "quick": job.quick,
        "executables": job.executables,
    }


_imported_by: dict[tuple[str, tuple[str, ...]], dict[str, None]] = {}  # checks -> modules that they imported themselves


def request_ahead(job: Job, own: Iterable[Target] | None = None) -> dict[str, Any]:
    """Return the request for what a process can do before the functions of a job are final: import jitkit, or compile the programs
    of a rung. `own` are those functions of the job that are still being written.
    """
    if job.climb is not None:
        what: dict[str, Any] = {"programs": job.climb.programs, "checks": None}
    else:
        checks = {"path": job.checks_path, "source": job.checks_source}
        what = {
            "checks": checks,
            "own": list(map(str, job.targets if own is None else own)),
            "modules": list(_imported_by.get((job.checks_path, job.wanted), ())),
        }
    return {"do": "prepare", **_functions(job), **what, "executables": job.executables}


def _functions(job: Job) -> dict[str, Any]:
    return {
        "files": {f.path: {"source": f.source, "exercises": sorted(f.exercises)} for f in job.files},
        "targets": {str(target): path for target, path in job.targets.items()},
    }
