"""request -> frames: the process in which a learner's functions run.

It is started as a script, by its path, so that it begins without jitkit: `python -I worker.py PRELOAD...`. It imports what it
is told to (modules that no submission changes, which is most of the time that a check takes), says `ready`, and waits. A
request is one line of JSON; then it puts the submission in place, imports jitkit and runs the checks, one after the other:

    {"root": "/where/jitkit/is", "files": {path: {"source": ..., "exercises": [...]}}, "targets": {target: path},
     "checks": {"path": ..., "source": ...}, "wanted": [names of checks], "seed": 0}

A frame is one line of JSON, too, on a stream that nobody else can write to by accident:

    {"is": "ready"} | {"is": "imported"} | {"is": "import failed", "error": ..., "output": ...}
    {"is": "begin", "check": name} | {"is": "result", "check": name, "value": ..., "output": ..., "seconds": ...} | {"is": "done"}

What the learner's functions print goes to a file, and from there, up to a limit, into the frame of the check. Whatever ends this
process early is seen by the one that started it (`running`).
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import os
import pathlib
import sys
import tempfile
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import IO, Any

_LONGEST_OUTPUT = 10_000  # characters of a check's output that are shown
_MOST_OUTPUT = 50_000_000  # bytes that may be written to a file
_MEMORY = 6 << 30  # bytes of address space, of which XLA takes two without using them


def main(preload: list[str]) -> int:
    """Serve one request, and end."""
    frames = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        return _answer(preload, frames, output)


def _answer(preload: list[str], frames: IO[str], output: IO[str]) -> int:
    os.dup2(output.fileno(), 1)
    os.dup2(output.fileno(), 2)
    sys.stdout = sys.stderr = io.TextIOWrapper(
        os.fdopen(os.dup(1), "wb", 0), encoding="utf-8", errors="replace", write_through=True
    )
    _limit_resources()
    for name in preload:
        with contextlib.suppress(ImportError):
            _preload(name)
    _send(frames, {"is": "ready"})
    line = sys.stdin.readline()
    if not line:
        return 0  # nobody wants this process any more
    _serve(json.loads(line), frames, output)
    _send(frames, {"is": "done"})
    return 0


def _serve(request: dict[str, Any], frames: IO[str], output: IO[str]) -> None:
    sys.path.insert(0, request["root"])
    splice = _load_beside("splice")
    with _mark(output) as printed:
        try:
            files = {
                path: splice.LearnerFile.parse(item["source"], path, item["exercises"])
                for path, item in request["files"].items()
            }
            functions = {
                splice.Target.parse(target): files[path] for target, path in request["targets"].items()
            }
            splice.install(splice.Submission(functions))
            jitkit = importlib.import_module("jitkit")
            checking = importlib.import_module("jitkit.kata.checking")
            plain = importlib.import_module("jitkit.kata.plain")
            for path in request[
                "files"
            ]:  # equations are to name the line of the program, not the learner's function
                sys.modules["jitkit.source_info"]._own_file[path] = True
            checks = {
                c.name: c
                for c in checking.load_checks(request["checks"]["source"], request["checks"]["path"])
            }
        except BaseException as error:
            _send(frames, {"is": "import failed", "error": _told(error, splice), "output": printed()})
            return
    _send(frames, {"is": "imported"})
    for name in request["wanted"]:
        _send(frames, {"is": "begin", "check": name})
        with _mark(output) as printed:
            start = time.perf_counter()
            value = _run(checks[name].program, jitkit, plain, name, request["seed"])
            seconds = time.perf_counter() - start
            _send(
                frames,
                {"is": "result", "check": name, "value": value, "output": printed(), "seconds": seconds},
            )


def _run(program: Any, jitkit: ModuleType, plain: ModuleType, name: str, seed: int) -> Any:
    """The plain data of what a check's program returns, or of what it ends in."""
    rng = importlib.import_module("numpy").random.default_rng([seed, zlib.crc32(name.encode())])
    try:
        return plain.to_plain(program(jitkit, rng))
    except BaseException as error:
        return plain.to_plain(plain.Raised(error))


def _told(error: BaseException, splice: ModuleType) -> dict[str, Any]:
    """An error that came before the first check: its class, its text, and the line that it is about."""
    line: list[Any] | None = None
    if isinstance(error, splice.SpliceError) and error.file:
        line = [error.file, error.line]
    else:
        frames = traceback.extract_tb(error.__traceback__)
        line = [frames[-1].filename, frames[-1].lineno] if frames else None
    return {"class": type(error).__name__, "text": str(error), "line": line}


def _load_beside(name: str) -> ModuleType:
    """A module of this folder, without the package that it belongs to: that would import jitkit."""
    path = pathlib.Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"_jitkit_{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _preload(name: str) -> None:
    """Import a module ahead of the request; `jax` with its backend, which takes as long again."""
    module = importlib.import_module(name)
    if name == "jax":
        module.devices()


def _send(frames: IO[str], frame: dict[str, Any]) -> None:
    frames.write(json.dumps(frame) + "\n")
    frames.flush()


@contextlib.contextmanager
def _mark(output: IO[str]) -> Iterator[Callable[[], str]]:
    """Within the block, the function that is yielded reads what was printed in it. The file begins anew each time."""
    os.ftruncate(1, 0)
    os.lseek(1, 0, os.SEEK_SET)

    def printed() -> str:
        size = os.lseek(1, 0, os.SEEK_CUR)
        output.seek(0)
        text = output.read(_LONGEST_OUTPUT)
        return text if size <= _LONGEST_OUTPUT else f"{text}\n... {size:,} bytes in all"

    yield printed


def _limit_resources() -> None:
    """Where the system can: a file that grows without end, or memory that does, ends in an error, not in a full disk."""
    try:
        resource: Any = importlib.import_module("resource")
    except ImportError:  # Windows
        return
    for what, most in ((resource.RLIMIT_FSIZE, _MOST_OUTPUT), (resource.RLIMIT_AS, _MEMORY)):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (most, resource.getrlimit(what)[1]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
