"""a submission -> for each exercise its functions, spliced into jitkit as code, or why not; nothing of it is run

It is done in a process of its own, which forks one for each submission, with limits of memory and time: a file that ends the
parser ends nothing else. What comes out is a frame of JSON: texts for people, code as bytes that only a worker reads.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import os
import pathlib
import resource
import signal
import struct
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from jitkit.kata.engine.manifest import Lab, nearest

from . import holes, rungs, suspicion
from .answers import INVALID, MISSING, Answers
from .files import Invalid, read_files
from .sources import DEFINES, hint_of, source_of

_SECONDS, _MEMORY, _LONGEST_FRAME = 30, 2 << 30, 64 << 20


def read_submission(
    path: pathlib.Path, labs: Sequence[Lab], only: Iterable[str] = (), whole: Collection[str] = ()
) -> dict[str, Any]:
    """What is in a submission, as data for JSON.

    Args:
      only: the numbers of the labs that are asked for; all of them without it.
      whole: the exercises whose modules are wanted as code, and not only their functions.
    """
    digest = hashlib.sha256(
        f"{path.name} {path.lstat().st_size} {path.lstat().st_mtime_ns}".encode("utf-8", "surrogateescape")
    ).hexdigest()[:24]
    base: dict[str, Any] = {"exercises": {}, "flags": [], "handed_in": newest(path)}
    try:
        found = read_files(path)
        digest = hashlib.sha256(
            b"".join(f.path.encode("utf-8", "surrogateescape") + b"\0" + hashlib.sha256(f.data).digest() for f in found)
        ).hexdigest()[:24]
        if not found:
            raise Invalid("There is no Python file and no notebook in it.")
        sources, problems = [], []
        for file in found:
            try:
                sources.append(source_of(file, labs))
            except Invalid as error:
                problems.append((file.path, str(error)))
    except Invalid as error:
        return base | {"status": INVALID, "sentence": str(error), "digest": digest}
    base["digest"] = digest
    wanted = set(only)
    exercises: dict[str, dict[str, Any]] = {}
    try:
        answers = {t.name for lab in labs for e in lab.exercises for t in e.targets}
        package = rungs.find_package(sources, answers) if not wanted or rungs.NAME in wanted else None
    except Invalid as error:
        package = None
        problems.append((f"{rungs.NAME}/", str(error)))
    if package is not None:
        sources = [s for s in sources if s not in package.sources]
    reader = Answers(sources, labs, whole)
    for lab in labs:
        if wanted and lab.number not in wanted:
            continue
        if lab.number == rungs.NAME:
            exercises |= rungs.package_items(package, lab.exercises) if package is not None else {}
            continue
        hurt = [(p, s) for p, s in problems if hint_of(p, labs) in (lab.number, "")]
        present = reader.has(lab)
        if not present and not any(hint_of(p, labs) == lab.number for p, _ in hurt):
            continue
        for exercise in lab.exercises:
            item = reader.exercise(lab, exercise)
            if hurt and item["status"] == MISSING:
                item |= {"status": INVALID, "sentence": hurt[0][1]}
            exercises[exercise.id] = item
    flags = sorted({flag for source in sources for flag in source.flags})
    if not exercises:
        names = {n for s in sources for n in DEFINES.findall(s.text)}
        asked = [lab for lab in labs if not wanted or lab.number in wanted]
        known = {t.path[-1] for lab in asked for e in lab.exercises for t in e.targets}
        near = next(
            (f"; is `{n}` to be `{nearest(n, known)}`?" for n in sorted(names - known) if nearest(n, known)), "."
        )
        if names & known:
            name = min(names & known)
            near = f" but `{name}`, in a file that is named after another lab: name it after its own."
        sentence = problems[0][1] if problems else f"None of the functions of the labs is in it{near}"
        return base | {"status": INVALID, "sentence": sentence, "flags": flags}
    if all(item["status"] == INVALID for item in exercises.values()):
        sentence = next(iter(exercises.values()))["sentence"]
        return base | {"status": INVALID, "sentence": sentence, "flags": flags}
    return base | {"status": "OK", "sentence": "", "exercises": exercises, "flags": flags}


def newest(path: pathlib.Path) -> float:
    """When the newest file of a submission was written."""
    times = [path.lstat().st_mtime] if not path.is_dir() else []
    for place, _, names in os.walk(path):
        times += [os.lstat(os.path.join(place, name)).st_mtime for name in names[:1000]]
    return max(times, default=0.0)


# --- the process ----------------------------------------------------------------------------------------------------------


def serve(labs_folder: str) -> int:
    """Requests are lines of JSON, answers frames. Each submission is read by a fork."""
    labs = rungs.labs_and_ladder(pathlib.Path(labs_folder))
    targets = [target for lab in labs for exercise in lab.exercises for target in exercise.targets]
    suspicion.warm_up(targets)
    holes.warm_up(targets)
    gc.disable()  # a fork ends before there is much to collect; to look for it, it would copy what it shares with us
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
            data = json.dumps(
                {"status": INVALID, "sentence": _DIED, "exercises": {}, "flags": [], "digest": f"ended {signal_}"}
            ).encode()
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
        data = read_submission(pathlib.Path(request["path"]), labs, request["only"], request["whole"])
        with open(pipe, "wb") as stream:
            stream.write(json.dumps(data).encode("utf-8", "replace"))
        os._exit(0)
    except (MemoryError, RecursionError):
        os._exit(9)
    except OSError as error:
        sentence = f"It cannot be read: {error.strerror}."
        with contextlib.suppress(OSError), open(pipe, "wb") as stream:
            stream.write(
                json.dumps(
                    {
                        "status": "INFRA",
                        "sentence": sentence,
                        "exercises": {},
                        "flags": [],
                        "digest": "",
                        "handed_in": 0.0,
                    }
                ).encode()
            )
        os._exit(0)
    finally:
        os._exit(1)


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1]))
