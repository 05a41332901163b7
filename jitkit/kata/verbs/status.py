"""`jitkit status`: shows a line for each lab, with a sign for each exercise, and whose functions are in use."""

from __future__ import annotations

import argparse
import sys

from ..engine.statuses import Status
from ..problems import OK
from ..screens.display import MARKS, glyph_of, show_messages
from ..screens.terminal import Screen
from ..workspace.judge import bindings
from ..workspace.workspace import Workspace


def run(arguments: argparse.Namespace) -> int:
    """Show where the learner is. Nothing is run: an exercise that was changed since it passed is shown as changed."""
    screen = Screen.of(sys.stdout)
    workspace = Workspace.find()
    look = workspace.look()
    show_messages(screen, workspace)
    if not look.sources:
        screen.text("There is no lab here. `jitkit start` puts them in this folder.")
        return OK
    screen.line()
    for lab in look.labs:
        if lab.number not in look.sources:
            continue
        standings = [look.standing(e) for e in lab.exercises]
        done = sum(s == Status.PASS for s in standings)
        glyphs = "".join(glyph_of(look, e) for e in lab.exercises)
        words = [
            f"{standings.count(s)} {MARKS[s][1]}"
            for s in (Status.PASS, Status.FAIL, Status.STALE, Status.NEW, Status.TODO)
            if standings.count(s)
        ]
        color = "green" if done == len(standings) else "dim" if done == 0 else "yellow"
        screen.line(f"  {lab.number} {lab.title:24} {glyphs}  {', '.join(words)}", color)
    yours = list(dict.fromkeys(binding.exercise.id for binding in bindings(look)))
    total = sum(1 for _ in look.exercises())
    screen.line()
    screen.text(f"{len(yours)} of {total} exercises run with your functions; the reference stands in for the rest.", 2)
    hints = sum(progress.hints for progress in look.state.exercises.values())
    if hints:
        screen.text(f"Hints read: {hints}. They cost nothing.", 2, "dim")
    lab, exercise = look.current()
    screen.text(f"You are at {exercise.id} {exercise.title}, in {workspace.relative(workspace.file_of(lab))}.", 2)
    return OK
