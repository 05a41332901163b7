"""`jitkit reset`: puts the stub back, and the learner's version into a backup."""

from __future__ import annotations

import argparse
import sys

from ..engine.manifest import Exercise, Lab
from ..engine.source_edit import replace_functions
from ..engine.submission import LearnerFile, SpliceError
from ..problems import OK, Problem
from ..screens.terminal import Screen
from ..workspace.stubs import section, section_place, stub_of, stubs_text, with_sections
from ..workspace.workspace import Workspace


def run(arguments: argparse.Namespace) -> int:
    """Put back the stubs of an exercise, or of a lab; if the lab's file is gone, all stubs of the lab. Keep a copy of the
    learner's file. Raise Problem if the file cannot be written.
    """
    screen = Screen.of(sys.stdout)
    workspace = Workspace.find()
    if "." in arguments.id:
        lab, exercise = workspace.exercise(arguments.id)
        exercises = [exercise]
    else:
        lab = workspace.lab(arguments.id)
        exercises = list(lab.exercises)
    path = workspace.file_of(lab)
    backup = workspace.backup(path) if path.exists() else None
    if backup is None or len(exercises) == len(lab.exercises) > 1:
        text, newline = stubs_text(lab), "\n"
    else:
        data = path.read_bytes()
        newline = "\r\n" if b"\r\n" in data else "\n"
        source = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
        text = with_stub(lab, exercises[0], source)
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.replace("\n", newline).encode("utf-8"))
    except OSError as error:
        raise Problem(f"{path} cannot be written: {error.strerror}. It is as it was.") from None
    screen.line(f"{arguments.id}: the stub is back in {workspace.relative(path)}.")
    if backup is not None:
        screen.line(f"What you had is in {workspace.relative(backup)}.")
    return OK


def with_stub(lab: Lab, exercise: Exercise, source: str) -> str:
    """Return a learner's file with the stubs of an exercise in place of its functions. Raise Problem if the file is not Python and
    has lost the exercise's heading.
    """
    stubs = stubs_text(lab)
    try:
        functions = LearnerFile.parse(source, "", ()).functions
    except SpliceError as error:
        start, end = section_place(source, exercise.id)
        if not end:
            raise Problem(
                f"the file is not valid Python at line {error.line} ({error}), and the heading of {exercise.id} is "
                f"not in it. Fix that line first, or restore all of the lab's stubs: `jitkit reset {lab.number}`."
            ) from None
        return source[:start] + section(stubs, exercise.id) + "\n\n" + source[end:]
    there = {target.name: stub_of(lab, target) for target in exercise.targets if target.name in functions}
    if len(there) < len(exercise.targets):
        return with_sections(lab, source, [exercise])
    return replace_functions(source, there, own_decorators=False)
