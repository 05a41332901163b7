"""program -> answer: runs a compiler in its own process, with a time limit

A compiler for another machine starts threads, takes over signals, writes to the terminal, refuses to be loaded twice,
and may end its process. None of this may happen to the user's process. So each platform gets its own process, with its
own environment, which reads programs from its standard input, a line of JSON each, and answers with a line each. A
timeout, or a process that has ended, is an ordinary error, and the next program gets a new process.

JAX: jax/_src/compiler.py:backend_compile_and_load
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pathlib
import queue
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from . import table
from .program import TargetProgram
from .table import Target, TargetError

_NOT_REGISTERED = re.compile(r"No FFI handler registered for (\S+)")
PROGRAM = ["-m", "jitkit.targets.worker"]
TIME_LIMIT = 300.0  # seconds: a program that takes longer is stuck, or too large to wait for by default


class Compilers:
    """The compilers, each started at first use, and kept until the block ends. `time_limit` is in seconds for each program;
    None means `TIME_LIMIT`.

    with Compilers() as compilers:
        program = compilers.compile("f", text, find("tpu:v5e"))
    """

    def __init__(self, time_limit: float | None = None) -> None:
        self.time_limit = TIME_LIMIT if time_limit is None else time_limit
        self._workers: dict[str, _Worker] = {}
        self._abandoned = False

    def __enter__(self) -> Compilers:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._workers.values():
            worker.stop()
        self._workers.clear()

    def abandon(self) -> None:
        """End all processes of compilers, also those for which `compile` waits in another thread, and each that
        `compile` starts later. To `compile` this looks like a crash.
        """
        self._abandoned = True
        for worker in list(self._workers.values()):
            worker.kill()

    def compile(self, name: str, text: str, target: Target, options: Sequence[tuple[str, Any]] = ()) -> TargetProgram:
        """Compile StableHLO text for a target, and return the program. `name` is the function's, for the result and for errors;
        `options` are XLA's own debug options, names and values. Raise TargetError if the compiler is missing, refuses,
        takes too long or crashes.
        """
        obstacle = table.obstacle(target)
        if obstacle is not None:
            raise obstacle
        worker = self._workers.get(target.platform)
        if worker is None:
            worker = self._workers[target.platform] = _Worker(target)
        if self._abandoned:  # checked once the worker is stored: either this kills it, or `abandon` does
            worker.kill()
        try:
            answer = worker.ask({"target": target.name, "text": text, "options": list(options)}, self.time_limit)
        except _Timeout:
            self._drop(target)
            raise TargetError(
                "timeout",
                f"The compiler for {target.name} had not finished {name!r} after {self.time_limit:g} s, and was stopped. "
                "Give it more with `time_limit=SECONDS` (of a command: `--time-limit SECONDS`), or a smaller program.",
            ) from None
        except _Ended as end:
            last_words = self._drop(target)
            raise TargetError("crashed", _crash_text(name, target, end.status, last_words)) from None
        if "error" in answer:
            raise TargetError("refused", _refusal_text(name, target, answer["error"].rstrip()))
        return TargetProgram(name, target, answer)

    def _drop(self, target: Target) -> str:
        return self._workers.pop(target.platform).stop()


def _refusal_text(name: str, target: Target, error: str) -> str:
    """Return a sentence that says why a compiler refused the program. If the program calls a routine unknown to the
    compiler, name it; otherwise quote the compiler.
    """
    routine = _NOT_REGISTERED.search(error)
    if routine is None:
        return f"The compiler for {target.name} refused {name!r}:\n{error}"
    calls = f"{name!r} calls {routine[1]}, which is no part of the compiler for {target.name}: it is a routine of a library."
    if _is_of_jax(routine[1]) and not table.has_operations():
        package = table.operations().replace("_", "-")
        return f"{calls} JAX's package of operations for CUDA describes it to the compiler: install {package} (`pip install {package}`)."
    return (
        f"{calls} The framework that wrote the call registers it only in processes of its own. So the program cannot be compiled "
        "for this target here."
    )


def _is_of_jax(routine: str) -> bool:
    """Return whether a routine's name shows that it is in JAX's package of operations for CUDA."""
    return routine.startswith(("cusolver_", "cuhybrid_", "cusparse_", "cu_"))


def _crash_text(name: str, target: Target, status: int | None, last_words: str) -> str:
    said = f" Its last words:\n{last_words}" if last_words else " It said nothing."
    how = f"was ended by signal {-status}" if status and status < 0 else f"ended with status {status}"
    return (
        f"The compiler for {target.name} ({table.compiler_of(target)}) {how} while it compiled {name!r}. "
        f"This process is not affected.{said}"
    )


class _Timeout(Exception):
    """The worker did not answer in time."""


class _Ended(Exception):
    """The worker's process has ended, with an exit status; a negative one is a signal."""

    def __init__(self, status: int | None) -> None:
        super().__init__(status)
        self.status = status


class _Worker:
    """A process that runs `jitkit.targets.worker` for one platform."""

    def __init__(self, target: Target) -> None:
        # Importing these two costs more than all of jitkit's modules that a first call needs.
        subprocess, tempfile = importlib.import_module("subprocess"), importlib.import_module("tempfile")
        self._folder = tempfile.TemporaryDirectory(prefix="jitkit-", ignore_cleanup_errors=True)
        folder = pathlib.Path(self._folder.name)
        self._noise = folder / "stderr.txt"
        dumps = folder / "dumps"
        dumps.mkdir()
        with open(self._noise, "wb") as noise:
            self._process = subprocess.Popen(
                [sys.executable, *PROGRAM, target.platform, str(dumps)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=noise,
                cwd=folder,
                env=environment(target, dumps, os.environ),
                encoding="utf-8",
            )
        self._answers: queue.Queue[str] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")  # the end

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Return the worker's answer to one request (`worker.answer`). Raise _Timeout if none came in `seconds`, _Ended if the
        process has ended.
        """
        with contextlib.suppress(OSError):  # a process that has ended is noticed below
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            raise _Timeout from None
        if not line:
            raise _Ended(self._process.wait())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def kill(self) -> None:
        """Kill the process; a thread that waits for its answer notices."""
        self._process.kill()

    def stop(self) -> str:
        """Stop the process, and return the last eight lines of its standard error, indented."""
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self.kill()
        self._process.wait()
        self._listener.join()
        self._process.stdout.close()
        lines = self._noise.read_text(encoding="utf-8", errors="replace").splitlines()
        self._folder.cleanup()
        return "\n".join(f"    {line[:300]}" for line in lines[-8:])


def environment(target: Target, dumps: pathlib.Path, ours: Mapping[str, str]) -> dict[str, str]:
    """Return a worker's environment: this process's (`ours`), without settings for accelerators of this machine, and with
    those that the target's compiler needs; libtpu writes its code into the folder `dumps`. The worker imports jitkit and
    jaxlib from where this process does.
    """
    env = {k: v for k, v in ours.items() if not k.startswith(("JAX_", "JITKIT_", "TPU_", "LIBTPU_", "XLA_"))}
    home = pathlib.Path(__file__).parents[2]
    env |= {
        "PYTHONPATH": os.pathsep.join([str(home), *(path for path in sys.path if path)]),
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "CUDA_VISIBLE_DEVICES": "",
        **dict.fromkeys(
            ("TMPDIR", "TEMP", "TMP"), str(dumps.parent)
        ),  # this folder is deleted with the process, which may be killed at any time
    }
    if target.platform == "tpu":
        env |= {
            "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # otherwise only one process on this machine may load it at a time
            "TPU_SKIP_MDS_QUERY": "1",  # do not look for a data centre
            "TPU_WORKER_HOSTNAMES": "localhost",
            "TPU_STDERR_LOG_LEVEL": "3",
            "LIBTPU_INIT_ARGS": (
                f"--xla_jf_dump_to={dumps} --xla_jf_dump_llo_text=true --xla_jf_dump_llo_pass_label_regex=final_bundles"
            ),
        }
    if target.platform == "gpu":
        # Otherwise another CUDA toolkit on the PATH would be used instead of the one installed with the plugin.
        env["PATH"] = f"{table.toolkit()}{os.sep}bin"
    return env
