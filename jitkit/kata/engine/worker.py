"""request -> frames: the process in which a learner's functions run.

The worker is a script, started by its path so that it begins without jitkit: `python worker.py PRELOAD...`. It imports these modules,
reads the code of the reference's modules without running it (`reference_code`), says `ready`, and waits. Requests are lines of JSON. A
`prepare` names functions and checks, or programs of the ladder, that will probably be wanted: jitkit is imported, if functions can be put
in place afterwards (`exchange`), or code is compiled. `run` puts functions in place, and runs checks, one after the other:

    {"do": "run", "files": {path: {"source": ..., "exercises": [...]}}, "targets": {target: path},
     "checks": {"path": ..., "source": ...}, "wanted": [names of checks], "seed": 0, "executables": folder, "in_a_fork": false}

With `in_a_fork`, a copy (a fork) of this process answers. When the copy has ended, this process sends `ended` and waits for the next
request: so hundreds of submissions share one import. XLA's client is not shared: a copy lacks its threads. `--nursery`: see `copies`.

A frame is one line of JSON, too, on a stream that nobody else can write to by accident:

    {"is": "ready"} | {"is": "prepared"} | {"is": "imported"} | {"is": "import failed", "error": ..., "output": ...}
    {"is": "begin", "check": name} | {"is": "result", "check": name, "value": ..., "output": ..., "seconds": ...}
    {"is": "done", "modules": [those of jitkit that checks imported], "processor": processor seconds since the request}
    {"is": "ended", "code": ...} | {"is": "calls", "calls": [...], "misses": ...}
    {"is": "again"}: jitkit was imported already, and these functions cannot be put in place any more; ask another process

With `stays` the process waits after `done` for one more request: a check is run again, to see how functions are called (`replay`).

An experiment runs in the same way: `{"do": "measure", ...}` calls its `measure` in place of checks. For a rung of the ladder,
`{"do": "climb", ...}` imports a package, and runs the rung's programs (`climbing`).

What the learner's functions print goes to a file, and from there, up to a limit, into the frame of the check.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import importlib
import importlib.util
import io
import json
import os
import pathlib
import re
import select
import sys
import tempfile
import time
import traceback
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from types import ModuleType
from typing import IO, Any

_PACKAGE = pathlib.Path(__file__).resolve().parents[2]
_BESIDE = "_jitkit_engine"
_LONGEST_OUTPUT = 10_000  # characters of a check's output that are shown
_MOST_OUTPUT = 50_000_000  # bytes: no file may become larger than this
_SMALL_PROGRAM = """
func.func public @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %arg0, %arg0 : tensor<3xf32>
  return %0 : tensor<3xf32>
}
"""
_MOST_REPLAYED = 200  # at most this many calls are recorded of a check that is run again
_MEMORY = 6 << 30  # bytes of address space; XLA reserves 2 GiB of it without using them
_PROCESSOR = 1800  # seconds of processor time: ends an endless loop even if the command that waited for it was killed


def main(preload: list[str]) -> int:
    """Serve requests until this process itself has answered one other than a `prepare`, or the input ends. Return 0."""
    _limit_resources()
    builtins.input = _nobody_types
    sys.breakpointhook = _nobody_debugs
    sys.path.insert(0, str(_PACKAGE.parent))
    if preload[0] == "--nursery":  # a nursery is used at once, so it does not read code that may not be needed
        _load_ahead(preload[1:])
        _load_beside("copies").make_copies(_serve)
        os._exit(0)
    reference_code = _load_beside("reference_code")
    sys.meta_path.insert(0, reference_code.ReferenceCode(_PACKAGE))
    return _serve(os.dup(1), 2, [*reference_code.STANDARD_LIBRARY, *preload])


def _serve(frames: int, stacks: int, preload: Sequence[str] = ()) -> int:
    with _streams(frames, stacks) as (sending, output):
        _load_ahead(preload)
        _send(sending, {"is": "ready", "pid": os.getpid()})
        return _answer(sending, output)


@contextlib.contextmanager
def _streams(frames: int, stacks: int) -> Iterator[tuple[IO[str], IO[str]]]:
    """Yield the stream of frames, and the file that takes what is printed from now on."""
    with (
        os.fdopen(frames, "w", encoding="utf-8") as sending,
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output,
    ):
        _load_beside("stacks").write_to(stacks)
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        raw = os.fdopen(os.dup(1), "wb", 0)
        sys.stdout = sys.stderr = io.TextIOWrapper(raw, encoding="utf-8", errors="replace", write_through=True)
        yield sending, output


def _load_ahead(modules: Sequence[str]) -> None:
    for name in modules:
        with contextlib.suppress(ImportError):
            _preload(name)
    gc.collect()
    gc.freeze()  # the collector now skips these objects: scanning them would take a fifth of the time of importing jitkit


def _answer(frames: IO[str], output: IO[str]) -> int:
    splice = _load_beside("splice")
    known: dict[Any, Any] = {}
    ahead: Any = None
    for line in sys.stdin:  # if the input ends without a `run`, this process is no longer needed
        request = json.loads(line)
        for path, source in request.get("programs", ()):  # copies need not compile them again
            _load_beside("climbing").compiled(path, source)
        if request["do"] == "prepare":
            with contextlib.suppress(splice.SpliceError, ValueError):
                ahead = _load_beside("exchange").prepared(request, _submission(request, splice), _PACKAGE, known)
            _load_beside("climbing").load_ahead(request.get("executables", ""), _is_asked)
            _send(frames, {"is": "prepared"})
            continue
        kind = _Climb if request["do"] == "climb" else _Session
        session = kind(request, splice, known, ahead, frames, output)
        if not request.get("in_a_fork"):
            session.answer()
            break
        child = os.fork()
        if not child:
            session.answer()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        _send(frames, {"is": "ended", "code": os.waitstatus_to_exitcode(status)})
    return 0


def _submission(request: dict[str, Any], splice: ModuleType) -> Any:
    """Return the functions of a request. Raise SpliceError for a file that cannot be parsed, ValueError for a bad target."""
    files = {
        path: splice.LearnerFile.parse(item["source"], path, item["exercises"])
        for path, item in request["files"].items()
    }
    return splice.Submission({splice.Target.parse(t): files[path] for t, path in request["targets"].items()})


class _Session:
    """Answers one request, a `run` or a `measure`."""

    def __init__(
        self, request: dict[str, Any], splice: ModuleType, known: Any, ahead: Any, frames: IO[str], output: IO[str]
    ) -> None:
        self.request = request
        self.splice = splice
        self.known = known
        self.ahead = ahead
        self.frames = frames
        self.output = output
        self.programs: dict[str, Callable[[Any, Any], Any]] = {}
        self.drawn: set[str] = set()  # the names of checks that run random programs

    def answer(self) -> None:
        """Send all frames of the answer."""
        before: Collection[str] = ()
        began = time.process_time()
        if self.imports():
            before = set(sys.modules)
            self.run()
        modules = [name for name in sys.modules if re.match(r"jitkit\.(?!kata\.)", name) and name not in before]
        _send(self.frames, {"is": "done", "modules": modules, "processor": time.process_time() - began})
        if self.request.get("stays"):
            self.replay()

    def imports(self) -> bool:
        """Put the functions in place and import jitkit; if that fails, send a frame and return False."""
        with _mark(self.output) as printed:
            try:
                submission = _submission(self.request, self.splice)
                rest = submission.without(sys.modules)
                self.splice.install(rest, self.known)
                if self.ahead is None:
                    _load_beside("exchange").import_jitkit(self.request)
                elif not self.ahead.put(submission):
                    _send(self.frames, {"is": "again"})
                    return False
                # now, so that an error in one of these modules is reported before the first check
                for name in sorted(rest.modules - sys.modules.keys()):
                    importlib.import_module(name)
                self.jitkit, self.plain = sys.modules["jitkit"], sys.modules["jitkit.kata.engine.plain"]
                for path in self.request["files"]:  # hide them: an equation names the line of the check's program
                    importlib.import_module("jitkit.base.source_info")._hidden_file[path] = True
                self.programs = self.load_programs(**self.request["checks"])
            except BaseException as error:
                told = _told(error, self.splice, self.request["files"])
                _send(self.frames, {"is": "import failed", "error": told, "output": printed()})
                return False
        _send(self.frames, {"is": "imported"})
        return True

    def load_programs(self, source: str, path: str) -> dict[str, Callable[[Any, Any], Any]]:
        """Return the programs to run, by name."""
        if self.request["do"] == "measure":
            names: dict[str, Any] = {"__name__": "experiment", "__file__": path}
            exec(compile(source, path, "exec"), names)
            return {"measure": lambda jk, rng: names["measure"](jk, self.request["quick"])}
        checking = importlib.import_module("jitkit.kata.engine.checking")
        found = checking.load_checks(source, path)
        self.drawn = {check.name for check in found if check.drawn}
        if self.request["graded"]:
            importlib.import_module("jitkit.kata.engine.random_programs").grade()
        if self.request["hurried"]:
            importlib.import_module("jitkit.kata.engine.random_programs").hurry(self.drawn, **self.request)
        return {check.name: check.program for check in found}

    def run(self) -> None:
        """Run each wanted program, with a frame before and a frame after it."""
        for name in self.request["wanted"]:
            _send(self.frames, {"is": "begin", "check": name})
            with _mark(self.output) as printed:
                start = time.perf_counter()
                value = self.value(name)
                seconds = time.perf_counter() - start
                result = {"is": "result", "check": name, "value": value, "output": printed(), "seconds": seconds}
                _send(self.frames, result)

    def replay(self) -> None:
        """Answer one more request, if one comes: `{"do": "replay", "check": ..., "file": ..., "names": [...]}` asks how the check
        calls the functions `names` of the file.
        """
        line = sys.stdin.readline()
        if not line:
            return
        request = json.loads(line)
        replay = importlib.import_module("jitkit.kata.engine.replay")
        recorder, misses = replay.replayed(
            self.jitkit, lambda: self.run_program(request["check"]), request["file"], request["names"]
        )
        calls = recorder.calls
        for call, result in zip(calls[:_MOST_REPLAYED], recorder.results, strict=False):
            call["result"] = self.plain.to_plain(result)
        told = "\n".join(line for miss in misses for line in (f"{miss.function}: {miss.happened}", *miss.lines()))
        _send(
            self.frames, {"is": "calls", "calls": calls[:_MOST_REPLAYED] + calls[_MOST_REPLAYED:][-1:], "misses": told}
        )

    def run_program(self, name: str) -> Any:
        """Run a check's program with its random generator, and return its result. The name `name@3,1,2` stands for the random program
        that these choices make, `name@=x + 1` for the program `x + 1`.
        """
        name, _, choices = name.partition("@")
        if choices.startswith("="):
            return self.programs[name](self.jitkit, choices[1:])
        if choices:
            given = list(map(int, choices.split(",")))
            return self.programs[name](
                self.jitkit, importlib.import_module("jitkit.kata.engine.choices").Choices(given)
            )
        seed = [self.request["draw" if name in self.drawn else "seed"], zlib.crc32(name.encode())]
        return self.programs[name](self.jitkit, importlib.import_module("numpy").random.default_rng(seed))

    def value(self, name: str) -> Any:
        """Return the plain data of a check's result, or of the error that its program ends in."""
        try:
            return self.plain.to_plain(self.run_program(name), _run_stablehlo)
        except BaseException as error:
            return self.plain.to_plain(self.plain.Raised(error)) | {"uncaught": True}


class _Climb(_Session):
    """Runs programs of the ladder, with a learner's package, or with jitkit."""

    def imports(self) -> bool:
        """Import the package; if that fails, send a frame and return False."""
        package = self.request["package"]
        self.climbing, self.plain = _load_beside("climbing"), _load_beside("plain")
        with _mark(self.output) as printed:
            try:
                self.jitkit = self.climbing.import_package(**package) if package else importlib.import_module("jitkit")
                loaded = self.climbing.load_programs(self.request["programs"])
                self.programs = {program.name: program.run for program in loaded}
            except BaseException as error:
                told = self.climbing.told(error, package["folder"] if package else str(_PACKAGE))
                _send(self.frames, {"is": "import failed", "error": told, "output": printed()})
                return False
        _send(self.frames, {"is": "imported"})
        return True

    def value(self, name: str) -> Any:
        """Return the plain data of a program's result, or of the error that it ends in."""
        numpy = importlib.import_module("numpy")
        rng = numpy.random.default_rng([self.request["seed"], zlib.crc32(name.encode())])
        run = _run_on_machine if self.request["package"] else _run_stablehlo
        try:
            return self.climbing.to_plain(self.programs[name](self.jitkit, rng), self.plain, run)
        except BaseException as error:
            found = self.plain.to_plain(self.plain.Raised(error))
            return found | {"uncaught": True, "lines": [*found["lines"], *self.climbing.maker_of(error, self.jitkit)]}


def _run_on_machine(text: str, arguments: Any) -> Any:
    """Return what a program computes with the ladder's `xla`, in a process that cannot import jitkit."""
    xla = importlib.import_module("xla")
    numpy = importlib.import_module("numpy")
    return [numpy.array(x) for x in xla.compile(text)([xla.put(x) for x in arguments])]


def _run_stablehlo(text: str, arguments: Any) -> Any:
    """Compile StableHLO that a check returned, and return what it computes."""
    return importlib.import_module("jitkit.kata.engine.run_stablehlo").run_stablehlo(text, arguments)


def _is_asked() -> bool:
    """Return whether a request has come. Always False on Windows, which cannot look into pipes."""
    return sys.platform != "win32" and bool(select.select([sys.stdin], [], [], 0)[0])


def _nobody_types(prompt: object = "") -> str:
    raise RuntimeError(
        "`input` waits for somebody who types, and in a check nobody does: give the value in the program."
    )


def _nobody_debugs(*args: Any, **kwargs: Any) -> None:
    raise RuntimeError(
        "`breakpoint` waits for somebody at a debugger, and in a check nobody is: print, and read it in the verdict."
    )


def _told(error: BaseException, splice: ModuleType, own: Any) -> dict[str, Any]:
    """Return an error that was raised before the first check: its class, its message, and its line, if possible the learner's."""
    line: list[Any] | None = None
    if isinstance(error, splice.SpliceError) and error.file:
        line = [error.file, error.line]
    else:
        files = sorted(own)
        found = traceback.extract_tb(error.__traceback__)
        frames = [list(splice.original_position(frame.filename, frame.lineno or 0, files)) for frame in found]
        line = next((frame for frame in reversed(frames) if frame[0] in own), frames[-1] if frames else None)
    return {"class": type(error).__name__, "text": str(error), "line": line}


def _load_beside(name: str) -> ModuleType:
    """Load a module of this folder. It, and the modules of the folder that it imports, get a package of another name, since importing the
    real package would import jitkit.
    """
    if _BESIDE not in sys.modules:
        package = sys.modules[_BESIDE] = ModuleType(_BESIDE)
        package.__path__ = [str(pathlib.Path(__file__).parent)]
    return importlib.import_module(f"{_BESIDE}.{name}")


def _preload(name: str) -> None:
    """Import a module before a request comes. For the name `xla`, import jaxlib and compile a first program, which takes as long as three
    later ones. If the name is a path, it is the file of the ladder's `xla`.
    """
    if name.endswith(".py"):
        _load_beside("climbing").warm_up(name)
        return
    module = importlib.import_module("jaxlib.xla_client" if name == "xla" else name)
    if name == "xla":
        client = module.make_cpu_client()
        client.compile_and_load(_SMALL_PROGRAM, client.local_devices()[:1], module.CompileOptions())


def _send(frames: IO[str], frame: dict[str, Any]) -> None:
    frames.write(json.dumps(frame) + "\n")
    frames.flush()


@contextlib.contextmanager
def _mark(output: IO[str]) -> Iterator[Callable[[], str]]:
    """Yield a function that returns the output printed within the block so far. Each block begins with an empty file."""
    os.ftruncate(1, 0)
    os.lseek(1, 0, os.SEEK_SET)

    def printed() -> str:
        size = os.lseek(1, 0, os.SEEK_CUR)
        output.seek(0)
        text = output.read(_LONGEST_OUTPUT)
        return text if size <= _LONGEST_OUTPUT else f"{text}\n... {size:,} bytes in all"

    yield printed


def _limit_resources() -> None:
    """Limit this process's files, memory and time, if the system can: endless growth becomes an error before the machine is full."""
    try:
        resource: Any = importlib.import_module("resource")
    except ImportError:  # Windows
        return
    limits = {resource.RLIMIT_FSIZE: _MOST_OUTPUT, resource.RLIMIT_AS: _MEMORY, resource.RLIMIT_CPU: _PROCESSOR}
    for what, most in limits.items():
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (most, resource.getrlimit(what)[1]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
