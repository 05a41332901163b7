"""`jitkit bench peers`: jitkit measured beside JAX, as a table, as JSON, as a plot."""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
from pathlib import Path

from jitkit.bench import peers
from jitkit.bench.peers import Effort, Result, Row

from .cli import Problem
from .plotting import BLUE, GREY, INK, VERMILION, bare, figure
from .terminal import Screen, duration


def run(arguments: argparse.Namespace) -> int:
    """Measure, and show. Returns 0 whether targets are met or not: a benchmark measures, it does not
    judge.
    """
    effort = peers.QUICK if arguments.quick else peers.FULL
    rows = [
        row
        for row in peers.ROWS
        if arguments.only is None or arguments.only.lower() in f"{row.group}: {row.name}".lower()
    ]
    if not rows:
        raise Problem(
            f"no row is called {arguments.only!r}; there are: {', '.join(row.name for row in peers.ROWS)}"
        )
    progress = Screen.of(sys.stderr)
    screen = Screen.of(sys.stdout)
    start = time.monotonic()
    results: list[Result] = []
    if not arguments.json:
        show_head(screen, effort)
    for row in rows:
        with progress.progress(f"measuring {row.group}: {row.name}"):
            results.append(peers.measure_row(row, effort))
        if not arguments.json:
            show_row(screen, results)
    data = json.dumps(peers.as_data(results, effort), indent=2)
    if arguments.json:
        print(data)
    else:
        show_summary(screen, results, time.monotonic() - start)
    if arguments.save is not None:
        saved = save(arguments.save, results, data, effort, time.monotonic() - start)
        (progress if arguments.json else screen).line(f"Saved: {', '.join(str(path) for path in saved)}")
    return 0


_COLUMNS = "  {:<24}{:>8}{:>10}  {:>5} {:<11} {:>6}  {}"


def show_head(screen: Screen, effort: Effort) -> None:
    """The title, the machine, and the names of the columns."""
    m = peers.machine()
    screen.line()
    screen.line("jitkit beside JAX, in one process, in turns", "bold")
    screen.line(f"{m['processor']}, {m['cores']} cores, {m['system']}, device {m['device']}")
    screen.line(
        f"Python {m['python']}, jitkit {m['jitkit']}, jax {m['jax']}, {m['date']}; medians of "
        f"{effort.processes} to {effort.rounds} rounds"
    )
    if m["load"] is not None and m["load"] > m["cores"]:
        screen.text(
            f"The machine is busy (load {m['load']} on {m['cores']} cores): what follows is rough.",
            0,
            "yellow",
        )
    screen.line()
    screen.line(_COLUMNS.format("", "jitkit", "jax", "ratio", "quartiles", "target", "").rstrip(), "dim")


def show_row(screen: Screen, results: list[Result]) -> None:
    """The line of the latest result, under the name of its group when that is new."""
    result = results[-1]
    if len(results) < 2 or results[-2].row.group != result.row.group:
        screen.line(result.row.group, "bold")
    quartiles = f"({result.ratio.low:.2f}-{result.ratio.high:.2f})"
    word = screen.style("met", "green") if result.met else screen.style("missed", "yellow")
    screen.line(
        _COLUMNS.format(
            result.row.name,
            duration(result.ours.median),
            duration(result.theirs.median),
            f"{result.ratio.median:.2f}",
            quartiles,
            f"{result.row.target:.2f}",
            word,
        )
    )


def show_summary(screen: Screen, results: list[Result], seconds: float) -> None:
    """How many targets were met, and how to read the table."""
    met = sum(result.met for result in results)
    screen.line()
    screen.text(
        f"{met} of {len(results)} targets met. A ratio is jitkit's time over JAX's, the median over rounds; "
        "below 1 jitkit is faster. Half of the rounds were between the quartiles: differences within them "
        f"mean nothing. Measured in {seconds:.0f} s, on this machine only."
    )


def save(folder: Path, results: list[Result], data: str, effort: Effort, seconds: float) -> list[Path]:
    """Write the table, the data and the plot. Returns where."""
    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    screen = Screen(text, width=80, interactive=False, color=False, unicode=True)
    show_head(screen, effort)
    for i in range(len(results)):
        show_row(screen, results[: i + 1])
    show_summary(screen, results, seconds)
    paths = [folder / "peers.txt", folder / "peers.json", folder / "peers.png"]
    paths[0].write_text(text.getvalue(), encoding="utf-8")
    paths[1].write_text(data + "\n", encoding="utf-8")
    plot(paths[2], results)
    return paths


def plot(path: Path, results: list[Result]) -> None:
    """The ratios with their quartiles, each beside its target."""
    with figure(path, height=2.2 + 0.36 * len(results)) as made:
        axes = made.subplots()
        for i, result in enumerate(results):
            ratio = result.ratio
            color = BLUE if result.met else VERMILION
            axes.barh(i, ratio.median, height=0.62, color=color)
            axes.plot([ratio.low, ratio.high], [i, i], color=INK, linewidth=1.5)
            axes.plot([result.row.target] * 2, [i - 0.42, i + 0.42], color=INK, linewidth=2.5)
            axes.text(
                max(ratio.high, result.row.target) + 0.02,
                i,
                f"{ratio.median:.2f}  {'met' if result.met else 'missed'}",
                va="center",
            )
        axes.axvline(1.0, color=GREY, linestyle="--", linewidth=1)
        axes.set_yticks(range(len(results)), [_label(result.row) for result in results])
        axes.invert_yaxis()
        axes.set_xlim(0, max(max(r.ratio.high, r.row.target) for r in results) + 0.22)
        axes.set_xlabel(
            "time of jitkit / time of JAX (less is better; thick mark: target; thin line: quartiles)"
        )
        axes.set_title("jitkit beside JAX, in one process")
        bare(axes)


def _label(row: Row) -> str:
    return f"{row.group.split(',')[0].split(' of ')[0]}: {row.name}"
