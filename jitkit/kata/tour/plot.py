"""The tour's figures as one slide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jitkit.bench.plotting import BLUE, GREEN, GREY, INK, ORANGE, VERMILION, bare, figure

from ..screens.terminal import duration
from .clock import Times
from .pitfall import TURNS, Loop


def save(path: Path, times: Times, loops: list[Loop], losses: list[float], where: str) -> None:
    """Write the slide: times of a call, what `jit` in a loop costs, and the loss of the network that learns, from left to
    right; `where` names the machine.
    """
    with figure(path) as made:
        left, middle, right = made.subplots(1, 3)
        _plot_times(left, times)
        _plot_loops(middle, loops)
        _plot_losses(right, losses)
        made.suptitle("jitkit: compile once, run many times", fontsize=20, fontweight="bold", x=0.02, ha="left")
        made.supxlabel(where, fontsize=10, color=GREY, x=0.98, ha="right")


def _plot_times(axes: Any, times: Times) -> None:
    calls = (
        ("numpy", times.numpy.median, GREY),
        ("op by op", times.eager.median, ORANGE),
        ("jitted:\nfirst call", times.first, VERMILION),
        ("jitted:\nwarm call", times.jitted.median, BLUE),
    )
    for i, (_, seconds, color) in enumerate(calls):
        axes.barh(i, seconds * 1e3, height=0.6, color=color)
        axes.annotate(duration(seconds), (seconds * 1e3, i), xytext=(6, 0), textcoords="offset points", va="center")
    axes.set_xlim(0, max(seconds for _, seconds, _ in calls) * 1e3 * 1.25)
    _finish(axes, [name for name, _, _ in calls], "time of a call (ms)", "SELU on 1,000,000 numbers")


def _plot_loops(axes: Any, loops: list[Loop]) -> None:
    for i, loop in enumerate(loops):
        axes.barh(i, loop.seconds * 1e3, height=0.6, color=GREEN if loop.compiles == 1 else VERMILION)
        times = "once" if loop.compiles == 1 else f"{loop.compiles} times"
        axes.annotate(
            f"{duration(loop.seconds)}\ncompiled {times}",
            (loop.seconds * 1e3, i),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=INK,
        )
    axes.set_xlim(0, max(loop.seconds for loop in loops) * 1e3 * 1.6)
    _finish(
        axes, [f"jit of\n{loop.name}" for loop in loops], "time of the loop (ms)", f"jit in a loop of {TURNS} turns"
    )


def _plot_losses(axes: Any, losses: list[float]) -> None:
    axes.plot(range(1, len(losses) + 1), losses, color=BLUE, linewidth=2.5)
    axes.set_ylim(0, max(losses) * 1.05)
    axes.set_xlabel("step")
    axes.set_ylabel("loss")
    axes.set_title("two layers learn")
    bare(axes)


def _finish(axes: Any, labels: list[str], quantity: str, title: str) -> None:
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set_xlabel(quantity)
    axes.set_title(title)
    bare(axes)
