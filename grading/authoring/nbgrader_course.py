"""labs -> a course for nbgrader: nbgrader_config.py, and a source notebook for each lab

A source notebook has the reference's functions between `### BEGIN SOLUTION` and `### END SOLUTION`, and a cell with
points for each check. A hidden check is between `### BEGIN HIDDEN TESTS` and `### END HIDDEN TESTS`. nbgrader cuts both
out when it makes the release. Every such part contains a canary, a line that no student may see: `leaks` looks for it.

Each cell with points asks for one check of a verdict, so an exercise half of whose checks pass gets half of its points.
`jitkit.kata.notebook` runs the checks, with the student's functions in a process of its own, and compares with the
installed jitkit.
"""

from __future__ import annotations

import ast
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from jitkit.kata.engine.assessor import checks_of
from jitkit.kata.engine.checking import Check
from jitkit.kata.engine.manifest import Exercise, Lab
from jitkit.kata.engine.mutants import in_its_class
from jitkit.kata.engine.names import tree_of
from jitkit.kata.engine.reference import reference_function
from jitkit.kata.engine.submission import Target

from ..shared import cell_id, hidden_checks, shares
from .cells import Cell, code, markdown, notebook_text
from .generate import GenerateError, by_class, imports_of_lab
from .notebooks import Text, closing_cells, task_text

CANARY = "jitkit canary 7f3a9c51d2e8: no student may see this line"
_PICTURES = (".svg", ".png", ".jpg", ".gif")
_SECONDS = 600  # a cell may take this long: it runs all checks of an exercise, and each of them has a limit of its own

_CONFIG = '''\
"""nbgrader's configuration of this course. It is yours: building the course again leaves it as it is."""

import pathlib

from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbgrader.preprocessors import ClearHiddenTests, GetGrades

c = get_config()

c.CourseDirectory.course_id = "jitkit"
c.CourseDirectory.root = str(pathlib.Path(__file__).resolve().parent)
c.ExecutePreprocessor.timeout = {seconds}  # for a cell; a check that does not end is stopped after 20 seconds

# Feedback shows which hidden checks failed, by their verdicts, and not how they are written.
c.GenerateFeedback.preprocessors = [GetGrades, ClearHiddenTests, CSSHTMLHeaderPreprocessor]
'''


class ReleaseError(Exception):
    """Raised if a release cannot be made, or contains an answer."""


# --- the course ---------------------------------------------------------------------------------------------------


def build(folder: pathlib.Path, labs: Sequence[Lab]) -> list[pathlib.Path]:
    """Write the course, and return the files. Source notebooks and pictures are renewed; a configuration that exists is
    kept.
    """
    written = []
    config = folder / "nbgrader_config.py"
    if not config.exists():
        folder.mkdir(parents=True, exist_ok=True)
        config.write_text(_CONFIG.format(seconds=_SECONDS), encoding="utf-8")
        written.append(config)
    for lab in labs:
        source = folder / "source" / lab.name
        source.mkdir(parents=True, exist_ok=True)
        notebook = source / f"{lab.name}.ipynb"
        notebook.write_text(source_notebook(lab), encoding="utf-8")
        written.append(notebook)
        for picture in sorted(lab.folder.iterdir()):
            if picture.suffix in _PICTURES:
                shutil.copyfile(picture, source / picture.name)
                written.append(source / picture.name)
    return written


def release(folder: pathlib.Path, labs: Sequence[Lab]) -> None:
    """Let nbgrader make the students' version, and check that it contains no answer. Raise ReleaseError if one of the
    two fails.
    """
    for lab in labs:
        command = [sys.executable, "-m", "nbgrader", "generate_assignment", lab.name, "--force"]
        done = subprocess.run(command, cwd=folder, env=_environment(), capture_output=True, text=True, check=False)
        if "No module named nbgrader" in done.stderr:
            raise ReleaseError('nbgrader is not installed; in your clone: pip install -e ".[nbgrader]"')
        if done.returncode:
            raise ReleaseError(f"nbgrader could not make the release of {lab.name}:\n{done.stderr}")
    found = leaks(folder / "release")
    if found:
        raise ReleaseError(f"an answer is in {', '.join(map(str, found))}: hand out nothing of it")


def _environment() -> dict[str, str]:
    """Return an environment in which nbgrader finds the programs that are installed beside it."""
    beside = str(pathlib.Path(sys.executable).parent)
    return os.environ | {"PATH": os.pathsep.join([beside, os.environ.get("PATH", "")])}


def leaks(folder: pathlib.Path) -> list[pathlib.Path]:
    """Return the files below a folder that contain the canary."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [path for path in files if CANARY.encode() in path.read_bytes()]


# --- one notebook -------------------------------------------------------------------------------------------------


def source_notebook(lab: Lab) -> str:
    """Return the instructor's notebook of a lab."""
    text = Text.of(lab)
    setup = "\n\n".join(
        part for part in (imports_of_lab(lab), "from jitkit.kata.notebook import check, experiment") if part
    )
    cells = [
        *(markdown(f"text-{i}", section) for i, section in enumerate(text.before, 1)),
        code("setup", f"from __future__ import annotations\n\n{setup}", _read_only("setup")),
    ]
    for exercise in lab.exercises:
        cells += exercise_cells(lab, exercise)
    return notebook_text([*cells, *closing_cells(lab, text)])


def exercise_cells(lab: Lab, exercise: Exercise) -> list[Cell]:
    """Return the cells of an exercise: the task, the solution, a cell that runs the public checks, and for each check a cell with
    its points. Raise GenerateError if two checks have one name.
    """
    checks = checks_of(lab, exercise.id, hidden_checks(lab))
    marks = dict(zip((c.name for c in checks), shares(exercise.points, len(checks)), strict=True))
    if len(marks) < len(checks):
        raise GenerateError(f"{exercise.id}: two checks have one name")
    task, write, run = (cell_id(kind, exercise) for kind in ("task", "write", "run"))
    variable = f"verdict_{exercise.id.replace('.', '_')}"
    cells = [
        markdown(task, task_text(exercise), _read_only(task)),
        code(write, solution_text(exercise), _metadata(write, solution=True)),
        code(run, f'{variable} = check("{exercise.id}")\n{variable}', _read_only(run)),
    ]
    hidden_text = hidden_source(lab, exercise)
    for c in checks:
        id = cell_id("hidden" if c.hidden else "check", exercise, c.name)
        metadata = _metadata(id, grade=True, locked=True, points=marks[c.name])
        if c.hidden:
            first = c.name == next(other.name for other in checks if other.hidden)
            cells.append(code(id, hidden_cell(exercise, c, hidden_text if first else None), metadata))
        else:
            cells.append(code(id, f'# {c.sentence}\n{variable}.require("{c.name}")', metadata))
    return cells


def solution_text(exercise: Exercise) -> str:
    """Return the source of the reference's functions, with their bodies between nbgrader's marks. Raise GenerateError for a body on the
    line of its `def`.
    """
    return "\n\n\n".join(by_class([_marked(target) for target in exercise.targets]))


def _marked(target: Target) -> str:
    source = reference_function(target).source
    function = tree_of(source).body[0]
    assert isinstance(function, ast.FunctionDef), f"`{target}` is a function"
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body or body[0].lineno == function.lineno:
        raise GenerateError(f"`{target}` has no body on lines of its own")
    lines = source.splitlines()
    first = min([body[0].lineno, *(d.lineno for d in getattr(body[0], "decorator_list", ()))])
    head, rest = lines[: first - 1], lines[first - 1 :]
    while head and head[-1].strip().startswith("#"):  # a comment on the first statement belongs to the solution
        rest.insert(0, head.pop())
    marked = [*head, "    ### BEGIN SOLUTION", f"    # {CANARY}", *rest, "    ### END SOLUTION"]
    return in_its_class(target, "\n".join(marked))


def hidden_cell(exercise: Exercise, check: Check, text: str | None) -> str:
    """Return a cell with points for a hidden check. The cell of an exercise's first hidden check contains the source (`text`) of
    all of them, and runs them.
    """
    variable = f"hidden_{exercise.id.replace('.', '_')}"
    run = [f'{variable} = check("{exercise.id}", {_quoted(text)})'] if text is not None else []
    lines = [
        "# One more check, in grading only.",
        "### BEGIN HIDDEN TESTS",
        f"# {CANARY}",
        f"# {check.sentence}",
        *run,
        f'{variable}.require("{check.name}")',
        "### END HIDDEN TESTS",
    ]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """Return a Python expression for a string of several lines, in a readable form."""
    return repr(text) if "'''" in text else f"r'''\n{text}'''"


def hidden_source(lab: Lab, exercise: Exercise) -> str:
    """Return the file of hidden checks, without those of other exercises; "" if there is no such file."""
    path = hidden_checks(lab)
    if not path.is_file():
        return ""
    tree = tree_of(path.read_text(encoding="utf-8"))
    others = {c.name for c in checks_of(lab, None, path) if c.exercise != exercise.id and c.hidden}
    body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    tree.body = [node for node in body if not (isinstance(node, ast.FunctionDef) and node.name in others)]
    return ast.unparse(tree) + "\n"


# --- nbgrader's metadata ------------------------------------------------------------------------------------------


def _read_only(id: str) -> dict[str, Any]:
    return _metadata(id, locked=True)


def _metadata(
    id: str, *, grade: bool = False, solution: bool = False, locked: bool = False, points: float | None = None
) -> dict[str, Any]:
    nbgrader: dict[str, Any] = {
        "schema_version": 3,
        "grade_id": id,
        "grade": grade,
        "solution": solution,
        "locked": locked,
        "task": False,
    }
    if points is not None:
        nbgrader["points"] = points
    return {"nbgrader": nbgrader}
