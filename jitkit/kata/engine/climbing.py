"""a package + programs -> plain data: runs in the process that judges one rung of the ladder, beside the learner's package

The ladder judges a whole package by its results. Its programs take `(jk, rng)`, the package and a random generator, and return a result;
another process runs the same program with `jitkit`. This module is loaded by its path (`worker`), without jitkit: in the process of a
learner's package, neither jitkit nor jax can be imported, and `xla` is ours.

    @program("07", "...")      collects a program;   raised(f, *args, parts=[...])  is the error that a call raises, or else its result
    jaxpr(closed)              a jaxpr: compared up to names
    counted(f, *args, compiled=1, executed=1, copied=0)      the result, and the counts of what XLA did during the call
    text(jk, f, *args)         `lower(f, *args)`, compared by running it

`behind` has functions for programs that test a package's own compiler, such as `own(jk, f)`; `drawing` those that draw random functions.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import pathlib
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, ModuleType
from typing import Any

import numpy as np

Plain = dict[str, Any]


@dataclasses.dataclass
class Program:
    """A program of a rung: the sentence that a learner reads, and the misconceptions that it refutes."""

    rung: str
    name: str
    sentence: str
    against: tuple[str, ...]
    run: Callable[[Any, Any], Any]
    hidden: bool  # whether it does not run on each save, since it is slow
    tolerance: float | None  # relative tolerance of floating-point results, if the usual one is too narrow


collected: list[Program] = []


def program(
    rung: str, sentence: str, *, against: Sequence[str] = (), hidden: bool = False, tolerance: float | None = None
) -> Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]:
    """Return a decorator that makes a function a program of a rung; for the arguments see `Program`."""

    def collect(run: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        name = f"{rung}_{run.__name__}"
        collected.append(Program(rung, name, sentence, tuple(against), run, hidden, tolerance))
        return run

    return collect


@functools.cache
def compiled(path: str, source: str) -> CodeType:
    """Return the code of a file of programs. The file is compiled once; a process that waits for a save compiles it beforehand."""
    return compile(source, path, "exec")


def load_programs(files: Sequence[Sequence[str]]) -> list[Program]:
    """Return the programs in some files, each a path and a source."""
    sys.modules["climbing"] = sys.modules[__name__]
    for name in ("behind", "drawing") if __package__ else ():  # a grader has this file alone, and brings both itself
        sys.modules[name] = importlib.import_module(f".{name}", __package__)
    collected.clear()
    for path, source in files:
        exec(compiled(path, source), {"__name__": "programs", "__file__": path})
    found = list(collected)
    collected.clear()
    return found


# --- what programs say ----------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Raised:
    """An error that a call ended in; `parts` are words that its message must have."""

    error: BaseException
    parts: Sequence[str] = ()


def raised(function: Callable[..., Any], *args: Any, parts: Sequence[str] = ()) -> Any:
    """Call the function and return the error that it raises, as `Raised`; if it does not raise, return its result."""
    try:
        return function(*args)
    except Exception as error:
        return Raised(error, parts)


@dataclasses.dataclass
class Jaxpr:
    """A jaxpr, to be compared as a program."""

    closed: Any


def jaxpr(closed: Any) -> Jaxpr:
    """Return a jaxpr that is compared as a program: by equations, types, and parameters that are programs; not by variables' names."""
    return Jaxpr(closed)


class NotAProgramError(TypeError):
    """Raised if what a package's `make_jaxpr` returned cannot be read as a program."""


@dataclasses.dataclass
class Text:
    """StableHLO text, and the arguments to run it on."""

    text: str
    arguments: Sequence[Any]


def text(jk: Any, f: Callable[..., Any], *args: Any) -> Text:
    """Return the StableHLO of a function, with a parameter for each argument: `lower(f, *args)` in a learner's package."""
    lowered = jk.lower(f, *args) if "xla" in sys.modules else jk.jit(f, keep_unused=True).lower(*args).as_text()
    return Text(lowered, [np.asarray(jk.numpy.asarray(x)) for x in args])


def counted(
    f: Callable[..., Any],
    *args: Any,
    compiled: int | None = None,
    executed: int | None = None,
    copied: int | None = None,
) -> dict[str, Any]:
    """Return a dict with the result of `f(*args)`, and counts: how many programs XLA compiled and executed, and how many arrays were
    copied to XLA. The keyword arguments are the expected counts; if one is None, it is left out. If jitkit runs the program (there is no
    module `xla`), return the expected counts.
    """
    machine: Any = sys.modules.get("xla")
    expected = {"compiled": compiled, "executed": executed, "copied": copied}
    before = {name: getattr(machine, name, 0) for name in expected}
    found = {"result": f(*args)}
    for name, number in expected.items():
        if number is not None:
            found[_COUNTED[name]] = getattr(machine, name) - before[name] if machine is not None else number
    return found


_COUNTED = {"compiled": "programs compiled", "executed": "programs executed by XLA", "copied": "arrays copied to XLA"}


# --- results as plain data --------------------------------------------------------------------------------------------


def to_plain(value: Any, plain: ModuleType, run: Callable[[str, Sequence[Any]], Sequence[Any]]) -> Plain:
    """Return a result as plain data, by the module `plain`; `run` runs StableHLO. Raise NotAProgramError for a jaxpr that is not one."""
    if isinstance(value, Raised):
        return dict(plain.to_plain(plain.Raised(value.error, value.parts)))
    if isinstance(value, Text):
        return dict(plain.to_plain(plain.Stablehlo(str(value.text), value.arguments), run))
    if isinstance(value, Jaxpr):
        try:
            return JaxprReader(plain).read(value.closed)
        except (AttributeError, TypeError) as error:
            raise NotAProgramError(f"what `make_jaxpr` returned cannot be read as a program: {error}") from None
    if type(value) in (list, tuple):
        return {"is": type(value).__name__, "items": [to_plain(x, plain, run) for x in value]}
    if type(value) is dict:
        items = [[to_plain(k, plain, run), to_plain(v, plain, run)] for k, v in value.items()]
        return {"is": "dict", "items": items}
    return dict(plain.to_plain(_numbers(value)))


def _numbers(value: Any) -> Any:
    if hasattr(value, "dtype") and hasattr(value, "shape") and not isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        return array if array.dtype.kind != "O" else value
    return value


class JaxprReader:
    """Reads a jaxpr by the attributes that JAX gives it: `jaxpr.invars`, `eqn.primitive.name`, `var.aval`."""

    def __init__(self, plain: ModuleType) -> None:
        self.plain = plain
        self.numbers: dict[int, int] = {}

    def read(self, closed: Any) -> Plain:
        """Return inputs, constants with their values, equations and outputs as plain data."""
        inner = getattr(closed, "jaxpr", closed)
        inputs = [self.binder(v) for v in inner.invars]
        constants = [self.binder(v) for v in getattr(inner, "constvars", ())]
        return {
            "is": "jaxpr",
            "inputs": inputs,
            "constants": constants,
            "values": [self.plain.to_plain(np.asarray(x)) for x in getattr(closed, "consts", ())],
            "equations": [self.equation(eqn) for eqn in inner.eqns],
            "outputs": [self.atom(v) for v in inner.outvars],
        }

    def equation(self, eqn: Any) -> Plain:
        """Return the plain data of an equation, with only those parameters that are programs: others are not compared."""
        operands = [self.atom(v) for v in eqn.invars]
        params = [[str(k), found] for k, v in sorted(eqn.params.items()) if (found := self.param(v)) is not None]
        return {
            "primitive": str(eqn.primitive.name),
            "operands": operands,
            "params": params,
            "results": [self.binder(v) for v in eqn.outvars],
            "effects": [],
            "line": None,
        }

    def param(self, value: Any) -> Any:
        """Return the plain data of a program; for a sequence with a program, a list with None for other items; else None."""
        if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
            return JaxprReader(self.plain).read(value)
        if isinstance(value, (tuple, list)) and any(hasattr(x, "eqns") or hasattr(x, "jaxpr") for x in value):
            return [self.param(x) for x in value]
        return None

    def binder(self, var: Any) -> Plain:
        """Give a variable that is bound here the next number, and return it as plain data."""
        number = self.numbers[id(var)] = len(self.numbers)
        return {"var": number, "type": _type(var.aval)}

    def atom(self, x: Any) -> Plain:
        """Return the plain data of an operand or an output, a variable or a literal. An unbound variable gets the number -1."""
        if hasattr(x, "val"):
            return {"literal": self.plain.to_plain(np.asarray(x.val)), "type": _type(x.aval)}
        return {"var": self.numbers.get(id(x), -1), "type": _type(x.aval)}


def _type(aval: Any) -> str:
    weak = "*" if getattr(aval, "weak_type", False) and np.dtype(aval.dtype).kind != "b" else ""
    return f"{np.dtype(aval.dtype).name}{weak}[{','.join(map(str, aval.shape))}]"


# --- the package ------------------------------------------------------------------------------------------------------

_FORBIDDEN = {
    "jax": "your package imports jax: the point of the climb is to write it. `xla` is the way to the machine.",
    "jitkit": "your package imports jitkit: it is what you are compared with. `xla` is the way to the machine.",
    "torch": "your package imports torch: `xla` is the way to the machine.",
}


class Refusal(importlib.abc.MetaPathFinder):
    """Refuses to import jax and other packages; finds `cc.py` beside the file `machine`. `executables`: the folder of compiled code."""

    def __init__(self, machine: str, executables: str = "") -> None:
        self.compiler = str(pathlib.Path(machine).parent / "cc.py")
        self.executables = executables

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Raise ImportError for a refused package. Return our spec for `cc`, and None for any other, which Python's finders may find."""
        top = name.partition(".")[0]
        if top in _FORBIDDEN:
            raise ImportError(_FORBIDDEN[top], name=name)
        if name != "cc" or not pathlib.Path(self.compiler).is_file():
            return None
        loader = CompilerLoader("cc", self.compiler)
        loader.executables = self.executables
        return importlib.util.spec_from_file_location("cc", self.compiler, loader=loader)


class CompilerLoader(importlib.machinery.SourceFileLoader):
    """Loads `cc.py`, and makes its `translate` keep compiled code in the folder `executables`, for later saves."""

    executables = ""

    def exec_module(self, module: ModuleType) -> None:
        """Run the file, and wrap its `translate` in a cache on disk."""
        super().exec_module(module)
        if self.executables:
            cc: Any = module
            executables = importlib.import_module(".executables", __package__)
            cc.translate = executables.remembering(pathlib.Path(self.executables), cc)


def import_package(folder: str, name: str, machine: str, executables: str = "") -> ModuleType:
    """Import a learner's package from its folder, with our `xla`, without jax and jitkit. `executables` is the folder of machine code."""
    for known in [m for m in sys.modules if m.partition(".")[0] in _FORBIDDEN]:
        del sys.modules[known]
    sys.path.insert(0, folder)
    sys.meta_path.insert(0, Refusal(machine, executables))
    if "xla" not in sys.modules:
        load_machine(machine)
    xla: Any = sys.modules["xla"]
    xla.compiled = xla.executed = 0
    if executables:
        keep_executables(xla, pathlib.Path(executables))
    return importlib.import_module(name)


def load_machine(path: str) -> Any:
    """Import the file `path` as the module `xla`, and return it."""
    spec = importlib.util.spec_from_file_location("xla", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {path}")
    module = sys.modules["xla"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def keep_executables(xla: Any, folder: pathlib.Path) -> None:
    """Make `xla` compile each StableHLO text only once: later it takes the executable from memory, or from an earlier save in `folder`."""
    # imported only here, since a grader has this file alone, and keeps nothing
    executables = importlib.import_module(".executables", __package__)

    @functools.cache
    def find_or_translate(text: str, translate: Callable[[str], Any] = xla.translate) -> Any:
        jaxlib_file, load = loader(xla)
        return executables.remembered(folder, text, jaxlib_file, load, lambda: translate(text))

    xla.translate = find_or_translate


def loader(xla: Any) -> tuple[str, Callable[[bytes], Any]]:
    """Return jaxlib's file, and the function that turns machine code into an executable."""
    jaxlib, client, device, _ = xla.machine()
    return jaxlib.__file__, lambda data: device.client.deserialize_executable(data, [device], client.CompileOptions())


def load_ahead(folder: str, is_wanted: Callable[[], bool]) -> None:
    """After `warm_up`, load the last save's executables from `folder`, until `is_wanted` says that a request has come."""
    if folder and "xla" in sys.modules:
        executables = importlib.import_module(".executables", __package__)
        executables.load_ahead(pathlib.Path(folder), *loader(sys.modules["xla"]), is_wanted)


def warm_up(path: str) -> None:
    """Load the ladder's `xla`, and let it compile something: this takes a quarter of a second, for which no save should wait."""
    xla = load_machine(path)
    module = (
        "module @m {\n  func.func public @main(%a: tensor<f32>) -> (tensor<f32>) {\n    return %a : tensor<f32>\n  }\n}"
    )
    np.asarray(xla.compile(module)([xla.put(np.float32(0))])[0])


def told(error: BaseException, folder: str) -> dict[str, Any]:
    """Return an error at import as a dict: its class, its message, and the learner's line, or None if no line is known."""
    inside = str(pathlib.Path(folder).resolve())
    if isinstance(error, SyntaxError) and error.filename:
        return {"class": type(error).__name__, "text": str(error.msg), "line": [error.filename, error.lineno or 1]}
    frames = list(_frames(error, inside)) or _null_bytes(error, folder)
    return {
        "class": type(error).__name__,
        "text": _no_such_file(error) or _said(error) or type(error).__name__,
        "line": frames[-1] if frames else None,
    }


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # the learner's class may raise anything
        return f"{type(error).__name__}, whose message cannot be printed"


def _no_such_file(error: BaseException) -> str:
    """Return a sentence if `from . import core` failed because there is no core.py (Python reports a circular import); else ""."""
    if not isinstance(error, ImportError):
        return ""
    asked = re.match(r"cannot import name '(\w+)' from", str(error))
    init = pathlib.Path(error.path or "")
    if asked is None or init.name != "__init__.py":
        return ""
    if any(path.exists() for path in (init.with_name(asked[1]), init.with_name(f"{asked[1]}.py"))):
        return ""
    file = f"{init.parent.name}/{asked[1]}.py"
    return f"{error.name} has no {asked[1]}: there is no {file}, and nothing in __init__.py is called so, or not yet."


def _null_bytes(error: BaseException, folder: str) -> list[list[Any]]:
    """If Python refused a null byte, return the file and line of the first one in each file, which the error does not say; else []."""
    if not isinstance(error, (SyntaxError, ValueError)) or "null bytes" not in str(error):
        return []
    texts = ((path, path.read_bytes()) for path in sorted(pathlib.Path(folder).rglob("*.py")))
    return [[str(path), text[: text.index(0)].count(b"\n") + 1] for path, text in texts if 0 in text]


def maker_of(error: BaseException, package: Any) -> list[list[Any]]:
    """Return the place of the package's `make_jaxpr`, if the error says that its result is not a program; else []."""
    maker = getattr(package, "make_jaxpr", None)
    code = getattr(inspect.unwrap(maker), "__code__", None) if callable(maker) else None
    return [[code.co_filename, code.co_firstlineno]] if isinstance(error, NotAProgramError) and code else []


def _frames(error: BaseException, inside: str) -> Iterator[list[Any]]:
    for frame in traceback.extract_tb(error.__traceback__):
        if not frame.filename.startswith("<") and str(pathlib.Path(frame.filename).resolve()).startswith(inside):
            yield [frame.filename, frame.lineno]
