"""`jitkit check`: verdicts on an exercise, a lab, a file, or all that is written; for people, programs and test
reports.

The process that will run the learner's functions starts first. Meanwhile this one imports the modules that judge and
show (`checked`), and numpy.
"""

from __future__ import annotations

import argparse
import contextlib
import pathlib
from collections.abc import Iterator

from jitkit.base.late_rooms import import_room

from ..engine.manifest import Exercise, Lab
from ..engine.processes import for_one_command
from ..problems import WrongUsage
from ..workspace.workspace import Workspace


def run(arguments: argparse.Namespace) -> int:
    """Check, and show the verdicts. Return 0 if everything that the command line names passes, otherwise 1."""
    with contextlib.closing(for_one_command()) as spare:
        workspace = workspace_of(arguments.what)
        wanted = list(chosen(workspace, arguments.what))
        for _, exercise in wanted[:1]:
            spare.prepare(exercise.uses_xla)
        status: int = import_room("jitkit.kata.verbs.checked").check(arguments, spare, workspace, wanted)
        return status


def workspace_of(what: str | None) -> Workspace:
    """Return the workspace that the file `what` is in; if `what` is not a file, the one of the current folder."""
    path = pathlib.Path(what) if what is not None else None
    return Workspace.find(path.absolute().parent if path is not None and path.is_file() else None)


def chosen(workspace: Workspace, what: str | None) -> Iterator[tuple[Lab, Exercise]]:
    """Yield the exercises that a word of the command line means: `02.3`, `02`, `02_jaxpr`, a file or a folder of the
    workspace. Without a word, yield all exercises of the labs that are there. Raise WrongUsage for any other word.
    """
    if what is None:
        yield from workspace.look().exercises()
        return
    path = pathlib.Path(what)
    if path.exists():
        lab = next((lab for lab in workspace.labs if _is_of(path, workspace, lab)), None)
        if lab is None:
            raise WrongUsage(
                f"{what} is not a file of a lab. Check an exercise (02.3), a lab (02), or its exercises.py."
            )
        yield from ((lab, e) for e in lab.exercises)
    elif "." in what and not what.endswith(".py"):
        yield workspace.exercise(what)
    elif what.endswith(".py"):
        raise WrongUsage(f"there is no file {what}.")
    else:
        lab = workspace.lab(what)
        yield from ((lab, e) for e in lab.exercises)


def _is_of(path: pathlib.Path, workspace: Workspace, lab: Lab) -> bool:
    folder = workspace.root / lab.name
    return path.absolute() in (folder, workspace.file_of(lab))
