"""`jitkit explore`: one function, and a page on which all that jit made of it is linked."""

from __future__ import annotations

import argparse
import contextlib
import json
import runpy
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jitkit import runtime
from jitkit.explorer import calls, jax_calls
from jitkit.explorer.api import Exploration, exploration, save, subject_of
from jitkit.explorer.real_jax import made_by_jax
from jitkit.pjit.function import is_jitted
from jitkit.pjit.jit import jit
from jitkit.targets import TARGETS

from ..functions import of_jax
from ..functions.compiled import choose
from ..functions.sample_call import check_bound, load_function, names_in, parse_arguments, parse_static
from ..problems import FAILED, OK, Problem, WrongUsage
from ..screens.terminal import Screen, duration


def run(arguments: argparse.Namespace) -> int:
    """Trace, compile, write the page. Returns 1 when the function cannot be traced, or a compiler refused it."""
    start = time.perf_counter()
    chosen = choose(arguments.target or TARGETS)
    file, _, name = arguments.function.rpartition(":")
    args = parse_arguments(",".join(arguments.shapes)) if arguments.shapes else ()
    kwargs = parse_static(arguments.static)
    seen: dict[str, Any] | None = None
    if arguments.calls is not None:
        # What the script prints is not a part of the page's data.
        with contextlib.redirect_stdout(sys.stderr) if arguments.json else contextlib.nullcontext():
            function, found = watch(arguments.function, arguments.calls or file, arguments.jax)
        seen = calls.as_data(found, f"of {arguments.calls or file}, which was run")
        if not args and not kwargs:
            latest, args, kwargs = last_arguments(found, name)
            seen["shown"] = latest
    else:
        function = load_function(arguments.function)
    if seen is None:
        check_bound(function, args, kwargs)
    if arguments.against and (arguments.json or arguments.calls is not None):
        raise WrongUsage("--against takes neither --json nor --calls: it compares two programs.")
    is_jax = arguments.jax or made_by_jax(function)
    if not is_jax and of_jax.names_of_jax(function) and not is_jitted(function):
        raise WrongUsage(f"{of_jax.sentence(function, file)}\nOr explore it as JAX's own, with --jax.")
    if is_jax:
        runtime.jax()
    waiting = dict.fromkeys(each.name for each in chosen)
    with Screen.of(sys.stderr).progress(
        lambda: f"compiling {name} for {', '.join(list(waiting))}" if waiting else f"linking {name}"
    ):
        subject = subject_of(with_static(function, arguments.static and kwargs, is_jax), args, kwargs, is_jax)
        subject.name = (
            name  # as it was asked for: a lambda, a partial or another name of a function have their own, or none
        )
        page = exploration(subject, [*waiting], arguments.time_limit, seen, answered=waiting.pop)
        other = another(arguments, file, args, kwargs, [each.name for each in chosen]) if arguments.against else None
    if arguments.json:
        print(json.dumps(page.data))
    else:
        write(page, other, arguments.output, time.perf_counter() - start)
    refused = [each for each in page.data["targets"] if each.get("reason", "missing") != "missing"]
    return FAILED if page.data["failure"] or refused else OK


def with_static(function: Callable[..., Any], static: dict[str, Any], is_jax: bool) -> Callable[..., Any]:
    """The function, for which these arguments are values; one that is jitted knows its own."""
    if not static or is_jitted(function) or made_by_jax(function):
        return function
    return (
        runtime.jax().jit(function, static_argnames=tuple(static))
        if is_jax
        else jit(function, static_argnames=tuple(static))
    )


def another(
    arguments: argparse.Namespace, file: str, args: tuple[Any, ...], kwargs: dict[str, Any], targets: list[str]
) -> Exploration:
    """The page of the function that the first one is compared with: of the same file where no other is named."""
    where = arguments.against if ":" in arguments.against else f"{file}:{arguments.against}"
    function = load_function(where)
    check_bound(function, args, kwargs)
    is_jax = arguments.jax or made_by_jax(function)
    subject = subject_of(with_static(function, arguments.static and kwargs, is_jax), args, kwargs, is_jax)
    subject.name = where.rpartition(":")[2] if where.rpartition(":")[0] == file else where
    return exploration(subject, targets, arguments.time_limit)


def write(page: Exploration, other: Exploration | None, output: Path | None, seconds: float) -> None:
    """Write the page, or that of two, and say where it is and what is on it. Problem where it cannot be written."""
    try:
        where = page.save(output) if other is None else save(page.against(other), output, page.data["function"])
    except FileExistsError as error:
        raise Problem(f"{error} Name another file: --output FILE.html") from None
    except OSError as error:
        raise Problem(
            f"the page cannot be written ({error.strerror or error}). Name a folder that can be: --output FOLDER/FILE.html"
        ) from None
    screen = Screen.of(sys.stdout)
    failure = page.data["failure"]
    if failure:
        first, *_ = failure["text"].splitlines() or [""]
        screen.text(f"{page.data['function']} could not be traced. {failure['type']}: {first}", 0, "red")
    there = [each["name"] for each in page.data["targets"] if "error" not in each]
    absent = [each["name"] for each in page.data["targets"] if each.get("reason") == "missing"]
    screen.line(f"{where}  ({where.stat().st_size / 1e6:.2f} MB, {duration(seconds)})", "bold")
    if there:
        screen.text(f"compiled for {', '.join(there)}", 2)
    if absent:
        screen.text(f"not installed: {', '.join(absent)}; their tabs say how to get them", 2, "dim")
    for each in page.data["targets"]:
        if each.get("reason", "missing") != "missing":
            screen.text(f"{each['name']}: {each['error'].splitlines()[0]}", 2, "red")


def watch(where: str, script: str, of_jax: bool) -> tuple[Callable[..., Any], list[calls.Call]]:
    """Run a script, and record the calls of the function, jitted by jitkit or by JAX. Problem when it was not called."""
    file, name = names_in(where)
    for each in (file, script):
        if not Path(each).is_file():
            raise Problem(f"there is no file {each!r}")
    if of_jax:
        runtime.jax()  # as it does for a function that is imported
    before, path = sys.argv, sys.path[:]
    sys.argv = [script]
    sys.path.insert(0, str(Path(script).resolve().parent))
    names: dict[str, Any] = {}
    stopped: BaseException | None = None
    try:
        with jax_calls.recording() if of_jax else calls.recording() as found:
            try:
                names = runpy.run_path(script, run_name="__main__")
            except (Exception, SystemExit) as error:
                stopped = error
    finally:
        sys.argv = before
        sys.path[:] = path
    asked = _found_there(name, names, file)
    own = [call for call in found.calls if call.jitted is getattr(asked, "jitted" if of_jax else "_jitted", found)]
    if not own:
        own = [call for call in found.of(name.rpartition(".")[2]) if Path(call.file).resolve() == Path(file).resolve()]
    if not own:
        said = f" It ended with {type(stopped).__name__}: {stopped}" if stopped and not _is_fine(stopped) else ""
        others = sorted({call.name for call in found.calls if call.name.isidentifier()})
        there = f" Jitted functions that it called: {', '.join(others)}." if others else ""
        by = " of JAX's" if of_jax else ""
        raise Problem(f"{script} was run, and did not call a jitted {name}{by} of {file}.{said}{there}")
    if stopped and not _is_fine(stopped):
        print(f"jitkit: {script} ended with {type(stopped).__name__}: {stopped}", file=sys.stderr)
    if of_jax:
        return own[-1].jitted, own
    return asked if asked is not None and is_jitted(asked) else own[-1].jitted.make_dispatcher(), own


def _found_there(name: str, names: dict[str, Any], file: str) -> Any:
    """The object that a name stands for after the run, in the script or in the module that was imported from the file; None
    where there is none. `jit(grad(loss))` is known by it, and not by the name of its function, which is that of `loss`.
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


def _is_fine(error: BaseException) -> bool:
    return isinstance(error, SystemExit) and not error.code


def last_arguments(found: list[calls.Call], name: str) -> tuple[int, tuple[Any, ...], dict[str, Any]]:
    """The number of the latest call that was traced, and its arguments."""
    known = [(number, *call.arguments) for number, call in enumerate(found, 1) if call.arguments is not None]
    if not known:
        raise Problem(f"no call of {name} was traced in this run. Give its types: --shapes")
    return known[-1]
