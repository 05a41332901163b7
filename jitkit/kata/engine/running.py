"""a submission + checks -> an outcome for each check

Starts the process in which a learner's functions run (`worker`), gives it its request, and listens. A check that takes too
long, a process that dies, one that says what it should not: each is an outcome with a sentence. After a check that ended
its process, another process goes on with the next one.

`Spare` keeps a process ready which has imported what no submission changes, so that a check begins at once. `Forks` has
processes that answer in copies of themselves, for those who run hundreds of submissions.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import importlib.metadata
import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from . import stacks
from .plain import Plain
from .submission import LearnerFile, Target

_PRELOAD = ("numpy.random", "ml_dtypes")
_PRELOAD_WITH_XLA = (*_PRELOAD, "jax.devices")
_PRELOAD_TO_FORK = (*_PRELOAD, "jax")
NOT_TRIED = "It was not tried: a check before it did not end."
_START_SECONDS = 60.0
_LONGEST_REPLAYED = 4.0  # seconds of a check that is run again

# An interrupt at the keyboard is for the one who talks to the learner, and it ends the others.
_IN_A_GROUP_OF_ITS_OWN: dict[str, Any] = (
    {"start_new_session": True} if os.name == "posix" else {"creationflags": 0x200}  # CREATE_NEW_PROCESS_GROUP
)


class LearnerSource(NamedTuple):
    """A file of a learner: its text, and the names of all exercises that may be in it."""

    path: str
    source: str
    exercises: frozenset[str]


@functools.lru_cache(maxsize=64)
def parsed(source: LearnerSource) -> LearnerFile:
    """A learner's file, parsed once. SpliceError where it is no Python."""
    return LearnerFile.parse(source.source, source.path, source.exercises)


class Climb(NamedTuple):
    """What a rung of the ladder needs in the place of functions: a package, and files of programs, each a path and a text."""

    package: Mapping[str, str]  # folder, name, machine (the path of `xla.py`); empty for jitkit itself
    programs: tuple[tuple[str, str], ...]


class Job(NamedTuple):
    """What is to be run: the functions to be spliced, by the file they are in, and the checks."""

    files: tuple[LearnerSource, ...]
    targets: Mapping[Target, str]  # the path of the file
    checks_path: str
    checks_source: str
    wanted: tuple[str, ...]
    seed: int = 0
    uses_xla: bool = False
    seconds: float = 20.0  # for one check, or for the import
    is_experiment: bool = False  # `checks` is an experiment, whose `measure` is wanted
    quick: bool = False  # of an experiment: fewer, smaller
    climb: Climb | None = None
    executables: str = ""  # the folder where those of programs are kept


class Outcome(NamedTuple):
    """What became of one check: the plain data of its result, or what went wrong."""

    check: str
    value: Plain | None
    trouble: str = ""  # "crash", "time", "limit", "import", or nothing
    sentence: str = ""
    line: tuple[str, int] | None = None
    output: str = ""
    seconds: float = 0.0
    calls: tuple[Call, ...] = ()  # of the learner's functions, where it was run again to see them
    misses: str = ""  # what `explain` says of them


class Call(NamedTuple):
    """A call of a function of the learner's, as text; the line where the function begins; and what it returned."""

    text: str
    line: int
    result: Plain | None = None


class Replay(NamedTuple):
    """Which check to run again: `failing` says so of the outcomes so far, or None; and whose calls are wanted."""

    failing: Callable[[list[Outcome]], str | None]
    file: str
    names: tuple[str, ...]


class Stopped(Exception):
    """Somebody does not want the outcomes any more."""


class Stop:
    """What a run can be stopped with, from another thread."""

    def __init__(self) -> None:
        self.is_set = False
        self.process: Process | None = None

    def set(self) -> None:
        """End the process that runs, if there is one; `run` raises Stopped."""
        self.is_set = True
        process = self.process
        if process is not None:
            process.kill()


def run(job: Job, spare: Spare | None = None, stop: Stop | None = None, replay: Replay | None = None) -> list[Outcome]:
    """An outcome for each wanted check, in order. It never raises for what the learner's functions do; Stopped when `stop` is
    set. With `replay`, the first check that fails has the calls of the learner's functions with it."""
    outcomes: list[Outcome] = []
    rest = list(job.wanted)
    stop = stop or Stop()
    while rest:
        machine = job.climb.package.get("machine", "") if job.climb is not None and job.uses_xla else ""
        process = spare.take(job.uses_xla) if spare is not None else None
        process = process or Process(job.uses_xla, machine, optimised=job.is_experiment)
        with contextlib.closing(process):
            stop.process = process
            found = [] if stop.is_set else list(_converse(process, job, rest, replay is not None))
            if replay is not None and found and not found[-1].trouble:
                found = _with_calls(process, job, outcomes + found, replay)[len(outcomes) :]
            stop.process = None
        if stop.is_set:
            raise Stopped
        outcomes += found
        rest = rest[len(found) :]
        if found[-1].trouble == "import":  # it would fail again
            return outcomes + [found[-1]._replace(check=name) for name in rest]
        if found[-1].trouble == "time":  # a learner has waited long enough, for all checks or for those of a rung
            left = [name for name in rest if process.imported and _rung(job, name) != _rung(job, found[-1].check)]
            outcomes += [Outcome(name, None, "time", NOT_TRIED) for name in rest if name not in left]
            rest = left
    return outcomes


def _rung(job: Job, check: str) -> str:
    """What a check belongs to, of those that are run together: on the ladder its rung."""
    return check.partition("_")[0] if job.climb is not None else ""


class Process:
    """A worker that has been started.

    Args:
      uses_xla: it starts XLA, ahead of its request.
      machine: for the ladder, the path of its `xla.py`, which is loaded in the place of jax.
      optimised: XLA takes its time to compile, as for users; what is checked is what programs compute.
    """

    forks = False  # whether a copy of it answers
    imported = False  # whether what is to be checked could be

    def __init__(self, uses_xla: bool, machine: str = "", optimised: bool = False) -> None:
        preload = _PRELOAD_TO_FORK if self.forks else _PRELOAD
        worker = str(pathlib.Path(__file__).with_name("worker.py"))
        # without the environment's options and the folder of the script on the path; packages of the user stay
        python = [sys.executable, "-E", "-P", "-X", "utf8"]
        of_kind = (*_PRELOAD, machine) if machine else _PRELOAD_WITH_XLA if uses_xla else preload
        command = [*python, worker, *of_kind]
        self.stacks = stacks.new_file()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stacks,
            env=_environment(optimised),
            **_IN_A_GROUP_OF_ITS_OWN,
        )
        self.frames: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self) -> None:
        stream = self.process.stdout
        for line in stream or ():
            try:
                self.frames.put(json.loads(line))
            except ValueError:
                break
        self.frames.put(None)

    def next_frame(self, seconds: float) -> dict[str, Any] | None:
        """The next frame, or None when the process has ended. TimeoutError after so many seconds."""
        try:
            return self.frames.get(timeout=max(seconds, 0.0))
        except queue.Empty:
            raise TimeoutError from None

    def exit_code(self) -> int:
        """What it ended with. TimeoutExpired when it did not."""
        return self.process.wait(1.0)

    def send(self, request: dict[str, Any]) -> None:
        """Hand it a request. A process that is gone says so when it is listened to."""
        with contextlib.suppress(OSError, ValueError):
            stream = self.process.stdin
            if stream is not None:
                stream.write(json.dumps(request).encode() + b"\n")
                stream.flush()

    def line_in(self, folder: str) -> tuple[str, int] | None:
        """Where in a folder of the learner's it is, or was when a signal ended it. None where that is not known."""
        if self.process.poll() is None:
            stacks.ask(self.process.pid, self.stacks)
        return stacks.innermost(self.stacks, folder)

    def kill(self) -> None:
        """End it, with everything it started."""
        with contextlib.suppress(OSError):
            if os.name == "posix":
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()

    def close(self) -> None:
        """End it, and forget it. Nobody waits for the system to put away what it had."""
        self.kill()
        threading.Thread(target=self._put_away).start()

    def _put_away(self) -> None:
        self.process.wait()
        self.listener.join(1.0)  # longer only where something that it started got away and holds the stream
        self.stacks.close()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None and not self.listener.is_alive():
                with contextlib.suppress(OSError):
                    stream.close()


class Spare:
    """Keeps a process of each kind ready. On the ladder, `machine` is the path of its `xla.py`."""

    def __init__(self, machine: str = "") -> None:
        self.waiting: dict[bool, Process] = {}
        self.machine = machine

    def prepare(self, uses_xla: bool, job: Job | None = None) -> None:
        """Start a process to be taken later. It compiles ahead what the functions of `job` change, or its programs."""
        if uses_xla not in self.waiting:
            process = self.waiting[uses_xla] = Process(uses_xla, self.machine if uses_xla else "")
            if job is not None:
                programs, folder = (job.climb.programs, job.executables) if job.climb is not None else ((), "")
                process.send({"do": "prepare", **_functions(job), "programs": programs, "executables": folder})

    def take(self, uses_xla: bool) -> Process | None:
        """The process that waits, if it still does; another one is to be prepared when there is time."""
        process = self.waiting.pop(uses_xla, None)
        if process is not None and process.process.poll() is not None:
            process.close()
            return None
        return process

    def close(self) -> None:
        """End the processes that wait."""
        for process in self.waiting.values():
            process.close()
        self.waiting.clear()


class _Forking(Process):
    """A worker whose copies answer, one after the other."""

    forks = True

    def __init__(self, owner: Forks) -> None:
        super().__init__(uses_xla=False)
        self.owner = owner
        self.ended: int | None = None  # the code of the copy that answered last

    def next_frame(self, seconds: float) -> dict[str, Any] | None:
        frame = super().next_frame(seconds)
        if frame is not None and frame["is"] == "ended":
            self.ended = int(frame["code"])
            return None
        return frame

    def exit_code(self) -> int:
        return super().exit_code() if self.ended is None else self.ended

    def send(self, request: dict[str, Any]) -> None:
        self.ended = None
        super().send(request | {"in_a_fork": True})

    def close(self) -> None:
        """Give it back when its copy has ended; end it where that does not."""
        limit = time.monotonic() + 1.0
        with contextlib.suppress(TimeoutError):
            while self.ended is None and self.next_frame(limit - time.monotonic()) is not None:
                pass
        if self.ended is None or self.process.poll() is not None:
            super().close()
        else:
            self.owner.idle.append(self)


class Forks(Spare):
    """Has a process for each of those who ask at the same time, and lends it again and again. Without `fork` (Windows) there
    is none, and each run starts its own."""

    def __init__(self) -> None:
        super().__init__()
        self.idle: collections.deque[_Forking] = collections.deque()

    def take(self, uses_xla: bool) -> Process | None:
        """A process that nobody uses; XLA is started in its copy, if at all."""
        if not hasattr(os, "fork"):
            return None
        with contextlib.suppress(IndexError):
            return self.idle.pop()
        return _Forking(self)

    def close(self) -> None:
        """End all that are not lent."""
        while self.idle:
            Process.close(self.idle.pop())


def _with_calls(process: Process, job: Job, outcomes: list[Outcome], replay: Replay) -> list[Outcome]:
    """The outcomes, of which the one that fails first has its calls, if the process still tells them."""
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
    """The outcomes up to the end of the process; with `stays`, it waits for one more request then."""
    process.send(_request(job, wanted) | ({"stays": True} if stays else {}))
    current = wanted[0]
    began = time.monotonic()
    limit = began + _START_SECONDS + job.seconds
    while True:
        try:
            frame = process.next_frame(limit - time.monotonic())
        except TimeoutError:
            trouble, what = "time", "It was still running"
            if job.climb is not None and not process.imported:
                trouble, what = "import", "Your package was still being imported"
            sentence = f"{what} after {job.seconds:g} seconds, and was stopped."
            yield Outcome(current, None, trouble, sentence, _line_of_package(process, job))
            return
        match frame:
            case {"is": "ready"}:
                limit = time.monotonic() + job.seconds
            case {"is": "imported"}:
                process.imported = True
            case {"is": "import failed", "error": error, "output": output}:
                sentence = _told(error) if job.climb is None else _told_of_package(error)
                yield Outcome(current, None, "import", sentence, _line(error["line"]), output)
                return
            case {"is": "begin", "check": name}:
                current = name
                limit = time.monotonic() + job.seconds
            case {"is": "result", "check": name, "value": value, "output": output, "seconds": seconds} if (
                name == current
            ):
                yield _limited(Outcome(name, value, output=output, seconds=seconds), _folder(job))
                limit = time.monotonic() + job.seconds
            case {"is": "done"}:
                return
            case _ if job.climb is not None and not process.imported:
                sentence = _how_it_ended(process, "while your package was imported")
                yield Outcome(current, None, "import", sentence, _line_of_package(process, job))
                return
            case _:
                yield Outcome(current, None, "crash", _how_it_ended(process), _line_of_package(process, job))
                return


def _limited(outcome: Outcome, folder: str) -> Outcome:
    """A result that says that a limit was met, or what a package may not import."""
    value = outcome.value or {}
    if value.get("is") == "error" and value["class"] == "MemoryError":
        return outcome._replace(trouble="limit", sentence="It asked for more memory than a check may have (6 GiB).")
    if value.get("is") == "error" and value["class"] == "OSError" and "File too large" in value["text"]:
        return outcome._replace(trouble="limit", sentence="It printed more than a check may print (50 MB).")
    if value.get("is") == "error" and value.get("uncaught") and _is_refused(value):
        line = next((_line(line) for line in reversed(value["lines"]) if folder and line[0].startswith(folder)), None)
        return outcome._replace(trouble="crash", sentence=str(value["text"]), line=line)
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
    return process.line_in(_folder(job)) if _folder(job) else None


def _folder(job: Job) -> str:
    """The folder with the learner's package, on the ladder."""
    return job.climb.package.get("folder", "") if job.climb is not None else ""


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
        "quick": job.quick,
        "executables": job.executables,
    }


def _functions(job: Job) -> dict[str, Any]:
    return {
        "files": {f.path: {"source": f.source, "exercises": sorted(f.exercises)} for f in job.files},
        "targets": {str(target): path for target, path in job.targets.items()},
    }


# A program is compiled in a tenth of the time (8 ms for 90), and computes the same. Without the newer emitters it is half of what it
# is with them, where a release has the older ones; others end at the name of the option.
_OLDER_EMITTERS = tuple(map(int, importlib.metadata.version("jaxlib").split(".")[:2])) < (0, 11)
CHEAP_COMPILES = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_parallel_codegen_split_count=1"
    + (" --xla_cpu_use_fusion_emitters=false" if _OLDER_EMITTERS else "")
)


def _environment(optimised: bool) -> dict[str, str]:
    """The environment of a worker: nothing that changes what jitkit does, and the CPU, whatever else there is."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JITKIT_", "JAX_", "XLA_", "PYTHON"))}
    kept |= {} if optimised else {"XLA_FLAGS": CHEAP_COMPILES}
    return kept | {"JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
