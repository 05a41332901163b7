"""`jitkit explore`: makes a page of one function, which links all its forms from source to machine code; or of all
functions of a run
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jitkit
from jitkit import runtime
from jitkit.explorer import calls, index, own_c
from jitkit.explorer.api import Exploration, exploration, file_name, save, subject_of
from jitkit.explorer.beside import figures
from jitkit.explorer.model import versions
from jitkit.explorer.real_jax import made_by_jax
from jitkit.pjit.function import is_jitted
from jitkit.pjit.jit import jit
from jitkit.targets import TARGETS, Target

from ..functions import of_jax
from ..functions.compiled import choose
from ..functions.recorded import Run, calls_of, functions_of, last_arguments, report_end, run_script
from ..functions.sample_call import check_bound, load_function, parse_arguments, parse_static
from ..problems import FAILED, OK, Problem, WrongUsage
from ..screens.terminal import Screen, duration
from .explore_again import explore_again


class Explored(NamedTuple):
    """The exit status, the pages, and the files that were written, beginning with the one to open. The status is 1 if a function cannot
    be traced, a compiler refused it, or the script ended with an error.
    """

    status: int
    pages: list[Exploration]
    written: list[Path]


def run(arguments: argparse.Namespace) -> int:
    """Explore once, or after each save; return the exit status."""
    if arguments.watch:
        return explore_again(arguments)
    if arguments.report is None:
        return explore(arguments).status
    if arguments.jax:
        runtime.jax()
    sys.stdin.readline()  # a process that was started before a save waits here until the save
    explored = explore(arguments)
    arguments.report.write_text(json.dumps(report(arguments, explored)), encoding="utf-8")
    return explored.status


def report(arguments: argparse.Namespace, explored: Explored) -> dict[str, Any]:
    """Return the data for the watcher: the files that were written, the files of the program, and figures of the first page."""
    installed = [os.path.realpath(each) for each in {sys.prefix, sys.base_prefix, *jitkit.__path__}]
    modules = [getattr(each, "__file__", None) or "" for each in list(sys.modules.values())]
    files = {os.path.realpath(each) for each in (*modules, arguments.calls or "") if each.endswith(".py")}
    data = [page.data for page in explored.pages[:1]] * 2
    return {
        "pages": [str(each.resolve()) for each in explored.written],
        "files": sorted(each for each in files if not each.startswith(tuple(f"{root}{os.sep}" for root in installed))),
        "figures": {f"{where} {what}".strip(): number for where, what, number, _ in figures(*data)} if data else {},
    }


def explore(arguments: argparse.Namespace) -> Explored:
    """Explore one function, or with a file alone every function of a run: write the pages, and say where they are. Raise WrongUsage for
    options that exclude each other, and for a function that uses JAX's names without `--jax`.
    """
    if ":" not in arguments.function and Path(arguments.function).is_file() and not arguments.shapes:
        return explore_run(arguments)
    if arguments.against and (arguments.json or arguments.calls is not None):
        raise WrongUsage("--against takes neither --json nor --calls: it compares two programs.")
    start = time.perf_counter()
    chosen = choose(arguments.target or [*TARGETS, own_c.NAME], own_c.TARGET)
    file, _, name = arguments.function.rpartition(":")
    args = parse_arguments(",".join(arguments.shapes)) if arguments.shapes else ()
    kwargs = parse_static(arguments.static)
    seen: dict[str, Any] | None = None
    has_died = False
    if arguments.calls is not None:
        # What the script prints is not a part of the page's data.
        with contextlib.redirect_stdout(sys.stderr) if arguments.json else contextlib.nullcontext():
            function, found, ran = calls_of(arguments.function, arguments.calls or file, arguments.jax)
        seen = calls.as_data(found, f"of {ran.script}, which was run", ran.ended)
        has_died = ran.error is not None
        if not args and not kwargs:
            latest, args, kwargs = last_arguments(found, name)
            seen["shown"] = latest
    else:
        function = load_function(arguments.function)
    if seen is None:
        check_bound(function, args, kwargs)
    is_jax = arguments.jax or made_by_jax(function)
    if not is_jax and of_jax.names_of_jax(function) and not is_jitted(function):
        raise WrongUsage(f"{of_jax.sentence(function, file)}\nOr explore it as JAX's own, with --jax.")
    if is_jax:
        runtime.jax()
    function = with_static(function, arguments.static and kwargs, is_jax)
    page = compiled(function, args, kwargs, is_jax, name, chosen, arguments.time_limit, seen)
    other = another(arguments, file, args, kwargs, [each.name for each in chosen]) if arguments.against else None
    if arguments.json:
        print(json.dumps(page.data))
    written = [] if arguments.json else [write(page, other, arguments.output, time.perf_counter() - start)]
    return Explored(FAILED if has_failed(page) or has_died else OK, [page], written)


def compiled(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    is_jax: bool,
    name: str,
    chosen: Sequence[Target],
    time_limit: float | None,
    seen: dict[str, Any] | None,
) -> Exploration:
    """Make the page of a function, under a name. Meanwhile the terminal says which compiler it waits for."""
    waiting = dict.fromkeys(each.name for each in chosen)
    with Screen.of(sys.stderr).progress(
        lambda: f"compiling {name} for {', '.join(list(waiting))}" if waiting else f"linking {name}"
    ):
        subject = subject_of(function, args, kwargs, is_jax)
        # show the name from the command line: the function's own may differ, and a partial has none
        subject.name = name
        return exploration(subject, [*waiting], time_limit, seen, answered=waiting.pop)


def has_failed(page: Exploration) -> bool:
    """Return whether the function could not be traced, or an installed compiler did not compile it."""
    refused = [each for each in page.data["targets"] if each.get("reason", "missing") != "missing"]
    return bool(page.data["failure"] or refused)


def explore_run(arguments: argparse.Namespace) -> Explored:
    """Run a script; write a page for each function that it called, and an index of them, into a folder. Raise WrongUsage for an option
    that needs one function, Problem if the pages cannot be written.
    """
    if arguments.json or arguments.against or arguments.static or arguments.calls:
        raise WrongUsage(
            f"--json, --against, --static and --calls SCRIPT need one function: {arguments.function}:FUNCTION. "
            "Without a function, the file is run, and each function that it calls gets a page."
        )
    start = time.perf_counter()
    chosen = choose(arguments.target or [*TARGETS, own_c.NAME], own_c.TARGET)
    script = arguments.function
    folder = arguments.output or Path(f"{file_name(Path(script).stem)}-explored")
    if folder.exists() and not folder.is_dir():
        raise Problem(f"{folder} is a file. The pages of a run need a folder: --output FOLDER")
    run = run_script(script, arguments.jax)
    found = functions_of(run)
    report_end(run)
    rows: list[tuple[index.Function, str | None, str]] = []
    pages: list[Exploration] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for function, address in zip(found, index.addresses(found, file_name), strict=True):
            page, said = page_of(function, run, chosen, arguments.time_limit)
            if page is not None:
                page.save(folder / address)
                pages.append(page)
            rows.append((function, None if page is None else address, said))
        where = index.write(folder, index.page(script, rows, versions(), run.more, run.ended))
    except OSError as error:
        said = str(error) if isinstance(error, FileExistsError) else f"{folder} cannot be written ({error.strerror})."
        raise Problem(f"{said} Name another folder: --output FOLDER") from None
    screen = Screen.of(sys.stdout)
    screen.line(
        f"{where}  ({len(pages)} {'page' if len(pages) == 1 else 'pages'} beside it, {duration(time.perf_counter() - start)})",
        "bold",
    )
    for each, _, said in rows:
        calls_said = f"{len(each.calls)} call{'s' * (len(each.calls) != 1)}"
        misses_said = f"{len(each.misses)} miss{'es' * (len(each.misses) != 1)}"
        failed_said = f", {len(each.failed)} failed" if each.failed else ""
        screen.text(f"{each.name}: {calls_said}, {misses_said}{failed_said}{'; ' if said else ''}{said}", 2)
    written = [where, *(folder / address for _, address, _ in rows if address is not None)]
    return Explored(FAILED if run.error is not None or any(map(has_failed, pages)) else OK, pages, written)


def page_of(
    function: index.Function, run: Run, chosen: Sequence[Target], time_limit: float | None
) -> tuple[Exploration | None, str]:
    """Return the page of a function of a run, and a remark about it, or "". The page is for the types of the function's
    last miss, or of its last call if all failed; it is None if all calls were hits.
    """
    if not any(call.arguments is not None for call in function.calls):
        return None, "no call of it was traced in this run"
    seen = calls.as_data(function.calls, f"of {run.script}, which was run", run.ended)
    seen["shown"], args, kwargs = last_arguments(function.calls, function.name)
    last = function.calls[seen["shown"] - 1]
    page = compiled(last.function, args, kwargs, run.of_jax, function.name, chosen, time_limit, seen)
    failure = page.data["failure"]
    errors = [each for each in page.data["targets"] if each.get("reason", "missing") != "missing"]
    refused = "; ".join(f"{each['name']}: {each['error'].splitlines()[0]}" for each in errors)
    again = " again" if last.error is None else ""
    return page, f"could not be traced{again}: {failure['type']}" if failure else refused


def with_static(function: Callable[..., Any], static: dict[str, Any], is_jax: bool) -> Callable[..., Any]:
    """Return the function with these arguments as static values; a jitted function already knows its static arguments."""
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
    """Return the page of the function with which the first one is compared. This function is in the same file as the first unless
    the command line names another file.
    """
    where = arguments.against if ":" in arguments.against else f"{file}:{arguments.against}"
    function = load_function(where)
    check_bound(function, args, kwargs)
    is_jax = arguments.jax or made_by_jax(function)
    subject = subject_of(with_static(function, arguments.static and kwargs, is_jax), args, kwargs, is_jax)
    subject.name = where.rpartition(":")[2] if where.rpartition(":")[0] == file else where
    return exploration(subject, targets, arguments.time_limit)


def write(page: Exploration, other: Exploration | None, output: Path | None, seconds: float) -> Path:
    """Write the page, or the page of two functions; print its place and content, and return its path. Raise Problem if
    it cannot be written.
    """
    try:
        where = page.save(output) if other is None else save(page.against(other), output, page.data["function"])
    except FileExistsError as error:
        raise Problem(f"{error} Name another file: --output FILE.html") from None
    except OSError as error:
        raise Problem(
            f"the page cannot be written ({error.strerror or error}). Name a folder that can be written: --output FOLDER/FILE.html"
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
    return where
