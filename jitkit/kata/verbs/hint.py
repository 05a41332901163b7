"""`jitkit hint`: shows the next hint of an exercise each time."""

from __future__ import annotations

import argparse
import sys

from ..engine.manifest import Exercise, Lab
from ..problems import OK
from ..screens.display import show_messages
from ..screens.terminal import Screen
from ..workspace.hint_steps import STEPS, hint
from ..workspace.judge import Judge
from ..workspace.workspace import Workspace

_OWN_BUG = 2  # the step that looks at the code as it is now


def run(arguments: argparse.Namespace) -> int:
    """Show the next hint of an exercise, or the one that `--step` names; without an id, of the exercise that the learner is at."""
    screen = Screen.of(sys.stdout)
    workspace = Workspace.find()
    lab, exercise = workspace.exercise(arguments.id) if arguments.id else workspace.look().current()
    show_next_hint(screen, Judge(workspace), lab, exercise, arguments.step)
    show_messages(screen, workspace)
    return OK


def show_next_hint(screen: Screen, judge: Judge, lab: Lab, exercise: Exercise, wanted: int | None = None) -> None:
    """Show the next step. After the last step, show the one on the learner's own bug again, for the code as it is now.
    `wanted` is a step to read again, counted from 1.
    """
    workspace = judge.workspace
    shown = workspace.state.read().of(exercise.id).hints
    step = wanted - 1 if wanted is not None else shown if shown < len(STEPS) else _OWN_BUG
    with screen.progress("looking at what yours does"):
        text = hint(judge, lab, exercise, step)
    with workspace.state.edit() as state:  # a hint counts only when it is shown
        known = state.of(exercise.id)
        known.hints = max(known.hints, step + 1)
        state.current = exercise.id
    screen.line()
    screen.line(f"{exercise.id} {exercise.title}: hint {step + 1} of {len(STEPS)}, {STEPS[step]}", "bold")
    screen.line()
    if step == len(STEPS) - 1:
        for line in text.strip("\n").splitlines():
            screen.line(f"    {line}")
    else:
        screen.text(text, 2)
    screen.line()
    if max(shown, step + 1) < len(STEPS):
        screen.text(f"jitkit hint {exercise.id} again: {STEPS[max(shown, step + 1)]}.", 2, "dim")
    else:
        screen.text(
            f"Those were all the hints. From now on, jitkit hint {exercise.id} looks at what yours does; --step 1 to "
            f"4 shows a hint again; jitkit show {exercise.id} --solution --give-up shows the solution.",
            2,
            "dim",
        )
