"""`jitkit hint`: one step further each time."""

from __future__ import annotations

import argparse
import sys

from ..cli import OK
from ..engine.manifest import Exercise, Lab
from ..screens.display import show_messages
from ..screens.terminal import Screen
from ..workspace.course import Course
from ..workspace.workspace import Workspace
from .hints import STEPS, hint


def run(arguments: argparse.Namespace) -> int:
    """Show the next hint of an exercise, or of the one that the learner is at."""
    screen = Screen.of(sys.stdout)
    workspace = Workspace.find()
    lab, exercise = workspace.exercise(arguments.id) if arguments.id else workspace.look().current()
    show_next_hint(screen, Course(workspace), lab, exercise)
    show_messages(screen, workspace)
    return OK


def show_next_hint(screen: Screen, course: Course, lab: Lab, exercise: Exercise) -> None:
    """One step further than the last time; after the last step, that one again."""
    workspace = course.workspace
    with workspace.state.edit() as state:
        known = state.of(exercise.id)
        step = min(known.hints, len(STEPS) - 1)
        known.hints = step + 1
        state.current = exercise.id
    with screen.progress("looking at what yours does"):
        text = hint(course, lab, exercise, step)
    screen.line()
    screen.line(f"{exercise.id} {exercise.title}: hint {step + 1} of {len(STEPS)}, {STEPS[step]}", "bold")
    screen.line()
    if step == len(STEPS) - 1:
        for line in text.strip("\n").splitlines():
            screen.line(f"    {line}")
    else:
        screen.text(text, 2)
    screen.line()
    if step + 1 < len(STEPS):
        screen.text(f"jitkit hint {exercise.id} again: {STEPS[step + 1]}.", 2, "dim")
    else:
        screen.text(
            f"That was the last one. jitkit show {exercise.id} --solution --give-up ends the riddle.",
            2,
            "dim",
        )
