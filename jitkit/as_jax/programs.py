"""FILE, -m MODULE or -c CODE -> the program, run as Python runs it: as `__main__`, with its arguments, traceback and exit status

JAX: jax/_src/traceback_util.py:filter_traceback
"""

from __future__ import annotations

import codecs
import importlib.machinery
import io
import os
import pathlib
import pkgutil
import re
import runpy
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, cast


class NoProgram(Exception):
    """Raised if there is nothing to run. The message and the exit status are Python's."""

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.status = status


def run_file(path: str, arguments: Sequence[str]) -> None:
    """Run a file, or a folder or an archive with a `__main__.py`, as `python PATH ARGUMENTS` does. Raise NoProgram if there is none."""
    sys.argv = [path, *arguments]
    if pkgutil.get_importer(path) is not None:
        folder = os.path.abspath(path)
        _first_on_path(folder)
        spec = importlib.machinery.PathFinder.find_spec("__main__", [folder])
        if spec is None:
            raise NoProgram(f"can't find '__main__' module in {folder!r}")
        _run_spec(spec)
        return
    if not os.path.isfile(path):
        raise NoProgram(f"can't open file {os.path.join(os.getcwd(), path)!r}: [Errno 2] {os.strerror(2)}", 2)
    _first_on_path(os.path.dirname(os.path.realpath(path)))
    path = os.path.join(os.getcwd(), path)  # like Python's, `__file__` keeps a `./`
    if path.endswith(".pyc"):
        compiled = importlib.machinery.SourcelessFileLoader("__main__", path)
        program = _as_main(path, None, compiled)
        _run(lambda: exec(cast(types.CodeType, compiled.get_code("__main__")), vars(program)))
        return
    program = _as_main(path, None, importlib.machinery.SourceFileLoader("__main__", path))
    _run_source(pathlib.Path(path).read_bytes(), path, program)


def run_module(name: str, arguments: Sequence[str]) -> None:
    """Run a module, or a package with a `__main__`, as `python -m NAME ARGUMENTS` does. Raise NoProgram if there is none,
    and the module's own error if its source is wrong, or a package that contains it raises one.
    """
    sys.argv = ["-m", *arguments]
    _first_on_path(os.getcwd())
    found: list[Any] = []
    _run(lambda: found.extend(vars(runpy)["_get_module_details"](name, NoProgram)))
    _, spec, code = found
    sys.argv[0] = spec.origin
    _run_code_of(spec, code)


def _run_spec(spec: importlib.machinery.ModuleSpec) -> None:
    get_code: Callable[[str], types.CodeType | None] | None = getattr(spec.loader, "get_code", None)
    code = get_code(spec.name) if get_code else None
    if code is None:
        raise NoProgram(f"No code object available for {spec.name}")
    _run_code_of(spec, code)


def _run_code_of(spec: importlib.machinery.ModuleSpec, code: types.CodeType) -> None:
    program = _as_main(spec.origin, spec, spec.loader)
    program.__package__ = spec.parent
    _run(lambda: exec(code, vars(program)))


def _run_source(source: str | bytes, name: str, program: types.ModuleType) -> None:
    """Compile a program, without the `from __future__` imports of this module, and run it."""

    def compile_and_run() -> None:
        if isinstance(source, bytes):
            _check_encoding(source, name)
        exec(compile(source, name, "exec", dont_inherit=True), vars(program))

    _run(compile_and_run)


_DECLARATION = re.compile(rb"(?:[ \t\f]*(?:#[^\r\n]*)?\r?\n)?[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]+)")  # PEP 263


def _check_encoding(source: bytes, name: str) -> None:
    """Raise SyntaxError, in Python's words, if a file is not in the encoding that it declares, or not in UTF-8 if it declares none.

    `compile` lets such bytes pass in comments, and says something else of them in other places.
    """
    declared = _DECLARATION.match(source.removeprefix(codecs.BOM_UTF8))
    encoding = declared[1].decode() if declared else "utf-8"
    try:
        source.decode(encoding)
    except UnicodeDecodeError as error:
        if declared is None:
            line = source.count(b"\n", 0, error.start) + 1
            raise SyntaxError(_NOT_UTF_8.format(source[error.start], name, line)) from None
        if codecs.lookup(encoding).name != "utf-8":  # otherwise `compile` says where the byte is, as Python does
            raise SyntaxError(f"encoding problem: {encoding}") from None
    except LookupError:
        raise SyntaxError(f"encoding problem: {encoding}") from None


_NOT_UTF_8 = (
    "Non-UTF-8 code starting with '\\x{:02x}' in file {} on line {}, but no encoding declared; "
    "see https://peps.python.org/pep-0263/ for details"
)


def run_code(code: str, arguments: Sequence[str]) -> None:
    """Run source text, as `python -c CODE ARGUMENTS` does."""
    sys.argv = ["-c", *arguments]
    _first_on_path("")
    program = _as_main(None, None, importlib.machinery.BuiltinImporter)
    _run_source(code, "<string>", program)


def run_input(arguments: Sequence[str]) -> None:
    """Run the standard input, as `python - ARGUMENTS` does."""
    sys.argv = ["-", *arguments]
    _first_on_path("")
    program = _as_main("<stdin>", None, importlib.machinery.SourceFileLoader("__main__", "<stdin>"))
    source = sys.stdin.buffer.read() if isinstance(sys.stdin, io.TextIOWrapper) else sys.stdin.read()
    _run_source(source, "<stdin>", program)


def _first_on_path(folder: str) -> None:
    """Replace the first folder of Python's path, which is that of `python -m jitkit.as_jax`, by the program's folder,
    unless `safe_path` is set.
    """
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _as_main(file: str | None, spec: Any, loader: Any) -> types.ModuleType:
    """Make a new `__main__`, which pickle and multiprocessing find under that name, too."""
    program = sys.modules["__main__"] = types.ModuleType("__main__")
    vars(program).update(__spec__=spec, __loader__=loader, __builtins__=sys.modules["builtins"])
    if sys.version_info < (3, 14):
        program.__annotations__ = {}
    if file is not None:
        vars(program).update(__file__=file, __cached__=None)
    return program


def _run(program: Callable[[], Any]) -> None:
    """Run the program. An exception goes on to the interpreter, which ends the process as usual; its printed traceback
    begins in the program.
    """
    try:
        program()
    except (SystemExit, NoProgram):
        raise
    except BaseException:
        chosen = sys.excepthook

        def show(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> None:
            sys.excepthook = chosen
            inside = _in_program(trace)
            chosen(kind, error.with_traceback(inside), inside)

        sys.excepthook = show
        raise


def _in_program(trace: types.TracebackType | None) -> types.TracebackType | None:
    """Return a traceback without the frames of this package: those around the program, and those of its module finder.
    Return None if no frame is left.
    """
    kept = []
    while trace is not None:
        if os.path.dirname(trace.tb_frame.f_code.co_filename) != _HERE:
            kept.append(trace)
        elif trace.tb_frame.f_code.co_filename == __file__:
            kept.clear()
        trace = trace.tb_next
    inside = None
    for each in reversed(kept):
        each.tb_next, inside = inside, each
    return inside


_HERE = os.path.dirname(__file__)
