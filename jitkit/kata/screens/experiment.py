"""a lab's experiment.py + the learner's functions -> a plot of the learner's own JIT on their own machine

First the learner predicts the result, if somebody can be asked. Then the experiment's `measure` runs in a new process with
the learner's functions in place, and its `plot` draws the numbers.
"""

from __future__ import annotations

import importlib
import pathlib
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

from ..engine import running
from ..engine.comparison import describe
from ..engine.manifest import Experiment, Lab
from ..engine.plain import Plain
from ..engine.running import Job, LearnerSource
from ..engine.submission import Target
from ..problems import Problem
from ..workspace.judge import bindings
from ..workspace.workspace import Workspace
from .terminal import Screen

_SECONDS = 180.0


def show_experiment(
    screen: Screen, workspace: Workspace, lab: Lab, guess: int | None, ask: Callable[[], str] | None, quick: bool
) -> pathlib.Path:
    """Ask, measure, draw, and describe the plot; return its path.

    Args:
      guess: the number of an option, from 1, if it is already known.
      ask: reads the learner's answer; None if nobody can be asked.

    Raises:
      Problem: the lab has no experiment, `guess` is not the number of an option, or the experiment failed.
    """
    experiment = lab.experiment
    path = lab.folder / "experiment.py"
    if experiment is None or not path.is_file():
        raise Problem(f"lab {lab.number} has no experiment.")
    screen.line()
    screen.line(f"{lab.number} {lab.title}: the experiment", "bold")
    said = predict(screen, workspace, lab, experiment, guess, ask)
    with screen.progress("measuring your functions"):
        functions = [(binding.source, binding.target) for binding in bindings(workspace.look())]
        data = measure(lab, functions, quick)
    target = workspace.kept / "plots" / f"{lab.number}.png"
    with screen.progress("drawing"):
        draw(lab, data, target)
    screen.line()
    if said is not None:
        screen.text(experiment.verdict_on(said), 2, "cyan")
    screen.text(experiment.answer, 2)
    screen.line()
    screen.line(f"  plot: {workspace.relative(target)}", "bold")
    return target


def predict(
    screen: Screen,
    workspace: Workspace,
    lab: Lab,
    experiment: Experiment,
    guess: int | None,
    ask: Callable[[], str] | None,
) -> str | None:
    """Show the question, and ask it unless an answer is known, or nobody can be asked. Keep and return the answer; None if there is
    none. Raise Problem if `guess` is not the number of an option.
    """
    screen.line()
    screen.text(experiment.question, 2)
    for i, option in enumerate(experiment.options, 1):
        screen.line(f"    {i}  {option}")
    known = workspace.state.read().predictions.get(lab.number)
    if guess is None and ask is not None and known is None:
        screen.line("  Your guess, a number (Enter goes on without one):")
        text = ask().strip()
        guess = int(text) if text.isdecimal() and 1 <= int(text) <= len(experiment.options) else None
    if guess is not None:
        if not 1 <= guess <= len(experiment.options):
            raise Problem(f"there are {len(experiment.options)} options: --guess 1 is the first.")
        known = experiment.options[guess - 1]
        with workspace.state.edit() as state:
            state.predictions[lab.number] = known
    if known is not None:
        screen.line(f"  You said: {known}", "cyan")
    return known


def measure(lab: Lab, functions: Sequence[tuple[LearnerSource, Target]], quick: bool) -> dict[str, list[float]]:
    """Return what the experiment's `measure` returns with these functions of the learner's: lists of numbers, by name. An item that is
    not a number becomes nan. Raise Problem if `measure` fails or does not return a dict.
    """
    path = lab.folder / "experiment.py"
    files = {source.path: source for source, _ in functions}
    job = Job(
        tuple(files.values()),
        {target: source.path for source, target in functions},
        str(path),
        path.read_text(encoding="utf-8"),
        ("measure",),
        uses_xla=True,
        seconds=_SECONDS,
        is_experiment=True,
        quick=quick,
    )
    (outcome,) = running.run(job)
    if outcome.value is None or outcome.value["is"] != "dict":
        value = describe(outcome.value) if outcome.value is not None else outcome.sentence
        raise Problem(f"the experiment of lab {lab.number} did not end well. {value}")
    return {describe(key).strip("'"): list(map(_number, series["items"])) for key, series in outcome.value["items"]}


def _number(item: Plain) -> float:
    return float(describe(item)) if item["is"] in ("int", "float") else float("nan")


def draw(lab: Lab, data: dict[str, list[float]], target: pathlib.Path | BinaryIO) -> None:
    """Call the experiment's `plot`, and save the picture as PNG. Raise Problem if it cannot be written."""
    path = lab.folder / "experiment.py"
    figure_module = importlib.import_module("matplotlib.figure")
    names: dict[str, Any] = {"__name__": "experiment", "__file__": str(path)}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    figure = figure_module.Figure(figsize=(8.0, 4.5), layout="constrained")
    names["plot"](data, figure.subplots())
    try:
        if isinstance(target, pathlib.Path):
            target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(target, dpi=150, format="png")
    except OSError as error:
        raise Problem(f"{target} cannot be written: {error.strerror}.") from None
