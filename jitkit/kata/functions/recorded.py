"""a script that is run -> the calls of its jitted functions: of a named one, or of all"""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jitkit import runtime
from jitkit.explorer import calls, index, jax_calls
from jitkit.pjit.function import is_jitted

from ..problems import Problem
from .sample_call import names_in


class Run(NamedTuple):
    """A script that was run."""

    script: str
    names: dict[str, Any]  # its top-level names
    calls: list[calls.Call]  # the calls that were recorded
    more: int  # how many further calls there were
    error: BaseException | None  # the error that it ended with, if any
    of_jax: bool  # whether the calls are those of JAX's `jit`

    @property
    def ended(self) -> str | None:
        """Return `train.py ended with ValueError: ...`, or None if it ended without an error."""
        return None if self.error is None else f"{self.script} ended with {calls.in_a_line(self.error)}"


def run_script(script: str, of_jax: bool) -> Run:
    """Run a script as Python does, and record the calls of functions that jitkit, or JAX, has jitted. Raise Problem if
    there is no such file.
    """
    if not Path(script).is_file():
        raise Problem(f"there is no file {script!r}")
    if of_jax:
        runtime.jax()  # imports JAX quietly, as in `load_function`
    before, path = sys.argv, sys.path[:]
    sys.argv = [script]
    sys.path.insert(0, str(Path(script).resolve().parent))
    names: dict[str, Any] = {}
    error: BaseException | None = None
    try:
        with jax_calls.recording() if of_jax else calls.recording() as found:
            try:
                names = runpy.run_path(script, run_name="__main__")
            except (Exception, SystemExit) as stopped:
                error = None if isinstance(stopped, SystemExit) and not stopped.code else stopped
                tops = [
                    each for each, _ in traceback.walk_tb(stopped.__traceback__) if each.f_code.co_name == "<module>"
                ]
                names = dict(tops[0].f_globals) if tops else {}
    finally:
        sys.argv = before
        sys.path[:] = path
    return Run(script, names, found.calls, found.more, error, of_jax)


def report_end(run: Run) -> None:
    """Print which error a script ended with, if any."""
    if run.error is not None:
        print(f"jitkit: {run.script} ended with {type(run.error).__name__}: {run.error}", file=sys.stderr)


def calls_of(where: str, script: str, of_jax: bool) -> tuple[Callable[..., Any], list[calls.Call], Run]:
    """Run a script, and return the function that `FILE:FUNCTION` names, its calls, and the run. If the name stands for no function
    that jitkit has jitted, return the function of the last of the calls. Raise Problem if there is no such file or no call.
    """
    file, name = names_in(where)
    if not Path(file).is_file():
        raise Problem(f"there is no file {file!r}")
    run = run_script(script, of_jax)
    asked = _found_there(name, run.names, file)
    own = [call for call in run.calls if call.jitted is getattr(asked, "jitted" if of_jax else "_jitted", run)]
    if not own:
        short = name.rpartition(".")[2]
        own = [c for c in run.calls if c.name == short and Path(c.file).resolve() == Path(file).resolve()]
    if not own:
        said = f" It ended with {type(run.error).__name__}: {run.error}" if run.error else ""
        others = sorted({call.name for call in run.calls if call.name.isidentifier()})
        there = f" Jitted functions that it called: {', '.join(others)}." if others else ""
        by = " of JAX's" if of_jax else ""
        raise Problem(f"{script} was run, and did not call a jitted {name}{by} of {file}.{said}{there}")
    report_end(run)
    return asked if asked is not None and not of_jax and is_jitted(asked) else own[-1].function, own, run


def _found_there(name: str, names: dict[str, Any], file: str) -> Any:
    """Return the object that a name stands for after the run, in the script or in a module that was imported from the
    file; None if there is none. `jit(grad(loss))` is found by its variable: its function is called `loss`.
    """
    modules = [getattr(module, "__dict__", {}) for module in list(sys.modules.values())]
    there = [names, *(each for each in modules if _is_from(file, each.get("__file__")))]
    first, *rest = name.split(".")
    found: Any = next((each[first] for each in there if first in each), None)
    for part in rest:
        found = getattr(found, part, None)
    return getattr(found, "__func__", found)


def _is_from(file: str, path: Any) -> bool:
    return isinstance(path, str) and Path(path).resolve() == Path(file).resolve()


def functions_of(run: Run) -> list[index.Function]:
    """Return the user's functions that a run has called, the most expensive first, under the script's names. Raise
    Problem if there are none.
    """
    named = {id(jitted): name for name, value in run.names.items() for jitted in _jitted(value)}
    found = index.functions(run.calls, named)
    if not found:
        said = f" It ended with {type(run.error).__name__}: {run.error}" if run.error else ""
        raise Problem(
            f"{run.script} was run, and called no function that {'JAX' if run.of_jax else 'jitkit'} has jitted.{said}"
            + ("" if run.of_jax else " If it imports jax, add --jax.")
        )
    return found


def _jitted(value: Any) -> Iterator[Any]:
    """Yield the object that stands for a value in recorded calls, if the value is a jitted function; else yield nothing."""
    made = getattr(value, "_jitted", None) if is_jitted(value) else None
    of_jax = value.jitted if isinstance(value, jax_calls.Watched) else None
    yield from (each for each in (made, of_jax) if each is not None)


def last_arguments(found: list[calls.Call], name: str) -> tuple[int, tuple[Any, ...], dict[str, Any]]:
    """Return the number (from 1) and the arguments, by position and by keyword, of the latest call that was traced without an
    error. If no call was, take the latest whose arguments are known. Raise Problem if there is none.
    """
    asked = [each for each in found if each.miss is not None and each.error is None] or found
    known = [(number, *each.arguments) for number, each in enumerate(found, 1) if each.arguments and each in asked]
    if not known:
        raise Problem(f"no call of {name} was traced in this run. Give its types: --shapes")
    return known[-1]
