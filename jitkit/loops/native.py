"""C -> machine code in this process: runs the machine's C compiler, and loads the library with ctypes

The compiler is the option `cc` (`JITKIT_CC`), else `cc`, `clang` or `gcc`, else the package `ziglang` (`pip install
ziglang`). `-fno-math-errno` and `-fno-trapping-math` change no result: they only give up `errno` and traps. A product
may be added without rounding in between (`-ffp-contract=fast`), as in XLA. There is no `-ffast-math`.

JAX: jax/_src/compiler.py:backend_compile_and_load
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from ..base import config, errors

FLAGS = (
    "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-fwrapv", "-fno-strict-aliasing",
    "-fopenmp-simd", "-w",
    # gcc prefers vectors half as wide as AVX-512's registers; with vectors of full width SELU of 10**6 numbers takes 0.72 of the time
    *(("-mprefer-vector-width=512",) if platform.machine() in ("x86_64", "AMD64") else ()),
)  # fmt: skip
_COMPILERS = ("cc", "clang", "gcc")
_COMPLAINT = re.compile(r"program\.c:(\d+)")


def command() -> list[str]:
    """Return the command of the C compiler. If there is none, raise JaxRuntimeError that says what to install."""
    asked = config.value("cc")
    if asked:
        return shlex.split(asked)
    for name in _COMPILERS:
        if found := shutil.which(name):
            return [found]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise errors.JaxRuntimeError(
        'jit(f, backend="c") needs a C compiler, and there is none: no cc, clang or gcc on the PATH, and no package ziglang.\n'
        "Install one of them, for example with `pip install ziglang`, or leave `backend` out: XLA compiles the function."
    )


@functools.cache
def fingerprint(compiler: tuple[str, ...]) -> str:
    """Return all that machine code depends on besides the text and the processor: the compiler's command, its version,
    and the flags.
    """
    version = _run([*compiler, "--version"]).stdout.splitlines()
    return f"{' '.join(compiler)} {version[0] if version else ''} {' '.join(FLAGS)}"


def compiled(text: str) -> bytes:
    """Compile a program, and return its library. If that fails, raise JaxRuntimeError with the compiler's message, the
    line of C and the line of Python.
    """
    libraries: list[tuple[str, ...]] = [("-lm",)]
    if (
        sys.platform == "linux"
    ):  # linking without start-up code and libc, which this process has, takes a ninth of the time
        libraries.insert(0, ("-nostdlib", "-lm", "-lgcc"))
    return _compiled(text, ("-shared", "-fPIC"), "program.so", libraries)


def assembly(text: str, flags: Sequence[str] = ()) -> str:
    """Return the program in assembly language. With `-g1` among the flags, each instruction names its line of C. Raise
    JaxRuntimeError if the C compiler refuses the text.
    """
    return _compiled(text, ("-S", *flags), "program.s", [()]).decode()


def _compiled(text: str, mode: Sequence[str], result: str, libraries: Sequence[Sequence[str]]) -> bytes:
    """Return the compiler's output for a C text, with the first of these libraries that it finds. Raise JaxRuntimeError
    if it fails with all of them.
    """
    compiler = command()
    with tempfile.TemporaryDirectory(prefix="jitkit-", ignore_cleanup_errors=True) as folder:
        path, made = os.path.join(folder, "program.c"), os.path.join(folder, result)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        arguments = [*compiler, *FLAGS, *mode, "-o", made, path]
        done = _run([*arguments, *libraries[0]])
        for each in libraries[1:]:
            if done.returncode:
                done = _run([*arguments, *each])
        if done.returncode:
            raise errors.JaxRuntimeError(_failure(compiler, done, text))
        with open(made, "rb") as library:
            return library.read()


def _run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:  # `subprocess.run` also ends the compiler if Ctrl-C ends the wait for it
        return subprocess.run(
            arguments, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False
        )
    except OSError as error:
        raise errors.JaxRuntimeError(
            f"the C compiler {arguments[0]} cannot be run: {error}\n"
            "The option `cc` (JITKIT_CC) names the compiler; without it, cc, clang or gcc is used."
        ) from None


def _failure(compiler: Sequence[str], done: subprocess.CompletedProcess[str], text: str) -> str:
    """Return the compiler's message, its line of C, and the line of Python for which that C was written."""
    said = "\n".join((done.stderr or done.stdout).strip().splitlines()[:20])
    message = f"{' '.join(compiler)} failed with exit status {done.returncode}:\n{said}"
    if match := _COMPLAINT.search(said):
        lines = text.splitlines()
        number = int(match[1])
        if 0 < number <= len(lines):
            message += f"\n\nline {number} of the C text:\n  {lines[number - 1].strip()}"
            if place := python_line(lines, number):
                message += f"\nwhich is for {place}"
    return f"{message}\nThis is a fault of jitkit's, or of the compiler's; leave `backend` out, and XLA compiles the function."


def python_line(lines: Sequence[str], number: int) -> str:
    """Return the operation and the Python line of a line of C (numbered from 1): the text of the last comment up to
    that line; "" if there is none.
    """
    for line in reversed(lines[:number]):
        if match := re.search(r"// (\w+  \S+:\d+)(?:  \S+)?$", line):
            return " ".join(match[1].split())
    return ""


def loaded(library: bytes) -> Any:
    """Load a library into this process for good, and return its function `run`. Raise JaxRuntimeError if that fails."""
    folder = tempfile.mkdtemp(prefix="jitkit-")
    path = os.path.join(folder, "program.dll" if os.name == "nt" else "program.so")
    try:
        with open(path, "wb") as file:
            file.write(library)
        run = ctypes.CDLL(path).run
    except OSError as error:
        raise errors.JaxRuntimeError(f"what the C compiler made cannot be loaded: {error}") from None
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(folder)  # the library stays mapped in memory; Windows keeps the file
    run.argtypes, run.restype = [ctypes.c_void_p] * 3, None
    return run
