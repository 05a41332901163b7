"""`jitkit bench`: measures, and shows results as they come: as a table, as JSON, as figures for slides."""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jitkit.bench import tables
from jitkit.bench.benchmark import Benchmark
from jitkit.bench.eager import Eager
from jitkit.bench.machine import busy, in_words
from jitkit.bench.peers import Peers
from jitkit.bench.peers_growth import Growth
from jitkit.bench.peers_loops import Loops
from jitkit.bench.pitfalls import BY_NAME
from jitkit.bench.pitfalls.measured import Pitfalls
from jitkit.bench.pitfalls.source import sources
from jitkit.bench.scaling import Scaling
from jitkit.bench.seeds import Seeds

from ..problems import INTERRUPTED, OK, Problem, WrongUsage
from ..screens.terminal import Screen
from ..speed.save_to_verdict import SaveToVerdict


def run(arguments: argparse.Namespace) -> int:
    """Measure, and show the results. Return 0 whether targets are met or not: a benchmark measures, it does not judge. Return 130 if
    Ctrl-C interrupted it. Raise WrongUsage if no row has the name that was asked for, and Problem if the results cannot be saved.
    """
    benchmark = make_benchmark(arguments)
    steps = benchmark.steps()
    if not steps:
        names = "".join(f"\n  {step.name}" for step in benchmark.all_steps())
        raise WrongUsage(f"no row is called {arguments.only!r}; there are:{names}")
    if arguments.save is not None:
        prepare(arguments.save)
    progress, screen = Screen.of(sys.stderr), Screen.of(sys.stdout)
    remark = busy(benchmark.machine)
    if remark and arguments.json:
        progress.line(remark, "yellow")
    if not arguments.json:
        if arguments.name is not None:
            show_sources(screen, arguments.name)
        show_head(screen, benchmark)
    start = time.monotonic()
    results: list[Any] = []
    was_interrupted = False
    try:
        for step in steps:
            with progress.progress(f"measuring {step.name}"):
                results.append(step.measure())
            if not arguments.json:
                show_row(screen, benchmark, results)
    except KeyboardInterrupt:
        was_interrupted = True
    finish(screen, progress, benchmark, results, arguments, time.monotonic() - start)
    if was_interrupted:
        measured = (
            f"{len(results)} of {len(steps)} measured, and they are above" if results else "nothing was measured yet"
        )
        progress.line(f"interrupted: {measured}")
    return INTERRUPTED if was_interrupted else OK


def make_benchmark(arguments: argparse.Namespace) -> Benchmark:
    """Return the benchmark that the command line names.

    Raises:
      WrongUsage: a name where none is taken, or one that does not exist.
    """
    options: dict[str, Any] = {"quick": arguments.quick, "only": arguments.only or ""}
    if arguments.name is not None and arguments.what != "pitfalls":
        raise WrongUsage(f"`jitkit bench {arguments.what}` takes no name; choose rows with --only {arguments.name}")
    if arguments.what == "pitfalls":
        try:
            return Pitfalls(**options, name=arguments.name)
        except LookupError as error:
            raise WrongUsage(str(error.args[0])) from error
    kinds: dict[str, type[Benchmark]] = {
        "seeds": Seeds,
        "peers": Peers,
        "eager": Eager,
        "scaling": Scaling,
        "growth": Growth,
        "loops": Loops,
        "kata": SaveToVerdict,
    }
    return kinds[arguments.what](**options)


def prepare(folder: Path) -> None:
    """Make the folder for the results, before anything is measured. Raise Problem when nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise Problem(f"cannot write to {folder}: {error.strerror}. Choose another folder with --save DIR.") from error


def finish(
    screen: Screen,
    progress: Screen,
    benchmark: Benchmark,
    results: Sequence[Any],
    arguments: argparse.Namespace,
    seconds: float,
) -> None:
    """Show the results, and save them if the arguments ask for that."""
    data = json.dumps(benchmark.as_data(results), indent=2)
    if arguments.json:
        print(data)
    else:
        show_summary(screen, benchmark, results, seconds)
    if arguments.save is not None and results:
        saved, remark = save(arguments.save, benchmark, results, data, seconds)
        out = progress if arguments.json else screen
        out.line(f"Saved: {', '.join(str(path) for path in saved)}")
        if remark:
            out.text(remark)
    elif not arguments.json and results:
        screen.text("--save DIR keeps table, JSON and figures for slides, light and dark.", 0, "dim")


# --- on the screen --------------------------------------------------------------------------------------------


def show_sources(screen: Screen, name: str) -> None:
    """Show the two programs of a pitfall, and what a `yield` in them means."""
    pitfall = BY_NAME[name]
    for title, text in zip((f"{pitfall.title}: slow", "mended"), sources(pitfall), strict=True):
        screen.heading(title[0].upper() + title[1:])
        screen.code(text)
    screen.line()
    screen.text("Each `yield` ends a call, whose time is taken; a bare one ends the preparation.", 0, "dim")


def show_head(screen: Screen, benchmark: Benchmark) -> None:
    """Show the title, the machine, and the names of the columns."""
    screen.line()
    screen.text(benchmark.title, 0, "bold")
    for i, line in enumerate(in_words(benchmark.machine)):
        screen.text(line, 0, *(("yellow",) if i == 2 else ()))
    screen.line()
    kept = tables.fitting(benchmark.columns, screen.width - 1)
    screen.line(tables.head(benchmark.columns, kept), "dim")


def show_row(screen: Screen, benchmark: Benchmark, results: Sequence[Any]) -> None:
    """Show the lines of the latest result, each with its notes below it; above them the name of its group, if it is
    new.
    """
    group = benchmark.lines(results[-2])[-1].group if len(results) > 1 else None
    kept = tables.fitting(benchmark.columns, screen.width - 1)
    for line in benchmark.lines(results[-1]):
        if line.group != group:
            screen.line(line.group, "bold")
        group = line.group
        shown, last = tables.row(benchmark.columns, line.cells, kept), line.cells[-1]
        if line.is_good is not None and shown.endswith(last):
            shown = shown[: -len(last)] + screen.style(last, "green" if line.is_good else "yellow")
        screen.line(shown)
        for note in line.notes:
            screen.text(note, 4, "dim")


def show_summary(screen: Screen, benchmark: Benchmark, results: Sequence[Any], seconds: float) -> None:
    """Show what all rows say together, and how to read the table."""
    appendix = benchmark.appendix(results)
    if appendix is not None:
        screen.line()
        for row in tables.text(appendix.columns, appendix.lines, screen.width - 1).splitlines():
            screen.line(row)
        screen.text(appendix.remark, tables.INDENT, "dim")
    screen.line()
    for sentence in benchmark.summary(results) if results else ():
        screen.text(sentence, 0, "bold")
    left_out = len(benchmark.columns) - len(tables.fitting(benchmark.columns, screen.width - 1))
    if left_out:
        screen.text("Columns that did not fit are in the JSON (--json).")
    screen.text(f"{benchmark.how} Measured in {seconds:.0f} s, on this machine only.")
    for footnote in benchmark.footnotes():
        screen.text(footnote, 0, "dim")


# --- in files -------------------------------------------------------------------------------------------------


def save(
    folder: Path, benchmark: Benchmark, results: Sequence[Any], data: str, seconds: float
) -> tuple[list[Path], str]:
    """Write table, data and figures. Return the paths, and a remark if there are no figures, else ""."""
    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    screen = Screen(text, width=100, interactive=False, color=False, unicode=True)
    show_head(screen, benchmark)
    for i in range(len(results)):
        show_row(screen, benchmark, results[: i + 1])
    show_summary(screen, benchmark, results, seconds)
    paths = [folder / f"{benchmark.name}.txt", folder / f"{benchmark.name}.json"]
    paths[0].write_text(text.getvalue(), encoding="utf-8")
    paths[1].write_text(data + "\n", encoding="utf-8")
    try:
        drawings = benchmark.drawings(results)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "matplotlib":
            raise
        return paths, "No figures: matplotlib is not installed (`pip install matplotlib`)."
    for name, drawing in drawings.items():
        paths += drawing.save(folder, name)
    return paths, ""
