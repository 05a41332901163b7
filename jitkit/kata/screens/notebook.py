"""a notebook's cells -> verdict: `check("02.3")` checks the functions that were defined above

    from jitkit.kata.notebook import check, experiment, hint
    check("02.3")

A notebook counts as one file: all cells that were run, in this order. Later definitions replace earlier ones, and
helpers and imports come along from any cell. Outside a notebook, the calling file is checked.

In a workspace, a notebook and the lab's `exercises.py` share their state. A function that passes in the notebook counts
as passed, and is written into the file if the file has only its stub; if the file has another version, that one counts in
the workspace. A function that passes in the file is in place in the notebook. Hints are counted together.
"""

from __future__ import annotations

import inspect
import io
import itertools
import linecache
import os
import pathlib
import sys
import tempfile
import traceback
from collections.abc import Collection, Iterator
from typing import Any

from ..engine.assessor import Assessor
from ..engine.manifest import Exercise, Lab, all_labs, nearest
from ..engine.names import tree_of
from ..engine.running import LearnerSource, parsed
from ..engine.source_edit import splice_text
from ..engine.statuses import Status
from ..engine.submission import LearnerFile, SpliceError, Target, is_stub
from ..problems import Problem
from ..workspace.hint_steps import STEPS, Checker, hint_text
from ..workspace.judge import Report, bindings
from ..workspace.workspace import Workspace, fingerprint
from .cells import Hint, Plot, Question, Shown, Unknown
from .experiment import draw, measure

_CELLS = "<notebook>"  # the path under which the cells count as a file
_passed: dict[str, str] = {}  # exercise that passed in this kernel -> the source with which it passed
_hints: dict[str, int] = {}  # exercise -> how many hints this kernel has shown, if there is no workspace
_assessor: list[Assessor] = []
_raised: dict[int, int] = {}  # the lines at which cells raised, by the cell's number


class Notebook:
    """The cells that were run, as one file; a place in it is a cell and a line.

    Args:
      cells: pairs of a name, such as `In[3]`, and Python source.
      path: the path under which the cells count as a file.
      undefined: the names that were not defined because their cell raised before, with the cell's name.
    """

    def __init__(self, cells: list[tuple[str, str]], path: str, undefined: dict[str, str] | None = None) -> None:
        self.path = path
        self.undefined = undefined or {}
        self.kept = pathlib.Path(tempfile.gettempdir()) / f"jitkit-notebook-{os.getpid()}"
        self.cells: list[tuple[int, str]] = []  # the first line, counted from 1, and the name
        lines: list[str] = []
        for name, text in cells:
            self.cells.append((len(lines) + 1, name))
            lines += text.splitlines()
        self.source = "\n".join(lines) + "\n"
        # keep the source here, so that tracebacks and verdicts can show its lines
        linecache.cache[path] = (len(self.source), None, self.source.splitlines(keepends=True), path)

    def relative(self, path: str | os.PathLike[str]) -> str:
        """Return a path in the form that is shown."""
        return str(path)

    def hint(self, id: str) -> str:
        """Return the command for the next hint."""
        return f'hint("{id}")'

    def run_with(self, id: str, path: pathlib.Path) -> str:
        """Return no command: a notebook shows the program itself, and its cells define the functions."""
        return ""

    def place(self, path: str, line: int) -> str:
        """Return a line in the form that is shown: `In[3], line 2`; in another file, `path:2`."""
        if path != self.path:
            return f"{path}:{line}"
        start, name = next((cell for cell in reversed(self.cells) if cell[0] <= line), (1, path))
        return f"{name}, line {line - start + 1}"


def check(id: str, checks: str | None = None) -> Shown:
    """Return the verdict on an exercise whose functions are defined in this notebook. Raise LookupError if there is no
    such exercise.

    Args:
      checks: the text of a `checks.py` that replaces the lab's, in grading.
    """
    frame = inspect.currentframe()
    notebook = _notebook(frame.f_back.f_globals if frame is not None and frame.f_back is not None else {})
    lab, exercise = _find(id)
    source = LearnerSource(notebook.path, notebook.source, lab.targets)
    workspace = _workspace() if checks is None and notebook.path == _CELLS else None
    report = _report(lab, exercise, source, workspace, checks, notebook.undefined)
    note = " ".join(
        _not_reached(target, notebook.undefined) for target in exercise.targets if target.name in notebook.undefined
    )
    if report.passed and checks is None:
        _passed[id] = fingerprint(source, exercise)
        note = " ".join(filter(None, [note, _share(workspace, lab, exercise, source) if workspace is not None else ""]))
    return Shown(report, notebook, note)


def hint(id: str, step: int | None = None) -> Hint:
    """Return the next hint on an exercise, one step further each time; after the last, the third again, which looks at what
    this notebook defines. Raise LookupError if there is no such exercise or step.

    Args:
      step: one of the four to read again, counted from 1.
    """
    frame = inspect.currentframe()
    notebook = _notebook(frame.f_back.f_globals if frame is not None and frame.f_back is not None else {})
    lab, exercise = _find(id)
    if step is not None and step not in range(1, len(STEPS) + 1):
        raise Unknown(f"there are {len(STEPS)} hints: step=1 is the first")
    workspace = _workspace() if notebook.path == _CELLS else None
    shown = workspace.state.read().of(id).hints if workspace is not None else _hints.get(id, 0)
    place = step - 1 if step is not None else shown if shown < len(STEPS) else STEPS.index("what yours does")
    source = LearnerSource(notebook.path, notebook.source, lab.targets)
    text = hint_text(Checker(_the_assessor(), lambda: _report(lab, exercise, source, workspace)), lab, exercise, place)
    _hints[id] = max(shown, place + 1)
    if workspace is not None:
        with workspace.state.edit() as state:
            state.of(id).hints = _hints[id]
    return Hint(f"{id} {exercise.title}: hint {place + 1} of {len(STEPS)}, {STEPS[place]}", text)


def _report(
    lab: Lab,
    exercise: Exercise,
    source: LearnerSource,
    workspace: Workspace | None,
    checks: str | None = None,
    undefined: Collection[str] = (),
) -> Report:
    """Return the verdict on what a notebook defines, together with the learner's other functions."""
    others = _passed_functions(lab, source, exercise)
    elsewhere = bindings(workspace.look(), exercise) if workspace is not None else ()
    here = {target for _, target in others}
    theirs = [(binding.source, binding.target) for binding in elsewhere if binding.target not in here]
    with tempfile.TemporaryDirectory() as folder:  # checks used in grading are stored nowhere
        checks_file = None if checks is None else pathlib.Path(folder) / "checks.py"
        if checks_file is not None and checks is not None:
            checks_file.write_text(checks, encoding="utf-8")
        verdict = _the_assessor().assess(lab, exercise, source, [*others, *theirs], checks_file=checks_file)
    if verdict.status == Status.BROKEN and source.path == _CELLS and _is_missing(source, exercise):
        names = ", ".join(f"`{target.name}`" for target in exercise.targets)
        first = any(target.name in undefined for target in exercise.targets)
        sentence = (
            f"{names} is not defined yet." if first else f"Run the cell above first: {names} is to be defined in it."
        )
        verdict = verdict._replace(sentence=sentence, line=None)
    targets = {target for _, target in [*others, *theirs]}
    ids = {e.id for known in all_labs() for e in known.exercises if targets.intersection(e.targets)} | {exercise.id}
    return Report(lab, verdict, tuple(sorted(ids)))


def _not_reached(target: Target, undefined: dict[str, str]) -> str:
    """Return a sentence about a function that was not defined, because its cell raised an error before it."""
    cell = undefined[target.name]
    return f"{cell} raised before it came to `{target.name}`, so nothing of it counts: fix the cell, and run it again."


def _the_assessor() -> Assessor:
    if not _assessor:
        _assessor.append(Assessor(seconds=20.0))
    return _assessor[0]


def _is_missing(source: LearnerSource, exercise: Exercise) -> bool:
    """Return whether none of an exercise's functions was defined yet."""
    try:
        functions = parsed(source).functions
    except SpliceError:
        return False
    return not any(target.name in functions for target in exercise.targets)


def _workspace() -> Workspace | None:
    """Return the workspace that the notebook is in; None if it is in none, or in a folder of the ladder."""
    try:
        found = Workspace.find()
    except Problem:
        return None
    return None if (found.kept / "ladder").is_file() else found


def _share(workspace: Workspace, lab: Lab, exercise: Exercise, source: LearnerSource) -> str:
    """Put the functions of an exercise that passes into the lab's `exercises.py`, if that has only stubs of them, and
    count the exercise as passed in the workspace, unless the file has another version. Return a sentence that reports
    this.
    """
    path = workspace.file_of(lab)
    name = workspace.relative(path)
    known = workspace.source(lab)
    try:
        if not isinstance(known, LearnerSource):
            return f"{name} cannot be read, and stays as it is: what passes here counts in this notebook."
        file = parsed(known)
        theirs = [file.find(target) for target in exercise.targets]
        if fingerprint(known, exercise) != fingerprint(source, exercise):
            if not all(map(is_stub, theirs)):
                return f"{name} has another version of {exercise.id}, which stays as it is: that one counts in the workspace."
            text = splice_text(known.source, known.source, parsed(source), list(exercise.targets))
            workspace.backup(path)
            path.write_text(text, encoding="utf-8")
    except (SpliceError, Problem, OSError) as error:
        return f"It could not be put into {name}, and counts in this notebook: {error}"
    look = workspace.look()
    now = look.fingerprint(exercise)
    if not now:
        return f"It could not be put into {name}, and counts in this notebook."
    with workspace.state.edit() as state:
        progress = state.of(exercise.id)
        progress.passed, progress.failed, progress.passes = now, "", progress.passes + 1
        state.current = exercise.id
    return f"It is in {name}, too, and counts as passed."


def experiment(number: str, guess: int | None = None, quick: bool = False) -> Plot | Question:
    """Return the plot of a lab's experiment, run with the lab's functions that passed in this notebook. `guess` is the number of
    the option that you expect; without it, return the question. Raise LookupError if the lab has no experiment.
    """
    frame = inspect.currentframe()
    notebook = _notebook(frame.f_back.f_globals if frame is not None and frame.f_back is not None else {})
    lab = next((lab for lab in all_labs() if lab.number == number), None)
    if lab is None or lab.experiment is None:
        raise Unknown(f"there is no experiment of a lab {number}")
    options = lab.experiment.options
    if guess is None:
        return Question(lab.experiment, f"experiment({number!r}, guess=1)")
    source = LearnerSource(notebook.path, notebook.source, lab.targets)
    data = measure(lab, _passed_functions(lab, source, None), quick)
    stream = io.BytesIO()
    draw(lab, data, stream)
    said = f"{lab.experiment.verdict_on(options[guess - 1])} " if 1 <= guess <= len(options) else ""
    return Plot(stream.getvalue(), said + lab.experiment.answer)


def _find(id: str) -> tuple[Lab, Exercise]:
    known = {e.id: (lab, e) for lab in all_labs() for e in lab.exercises}
    if id not in known:
        near = f"0{id}" if f"0{id}" in known else nearest(id, known)
        raise Unknown(f"there is no exercise {id!r}{f'; do you mean {near!r}?' if near else ''}")
    return known[id]


def _passed_functions(lab: Lab, source: LearnerSource, but: Exercise | None) -> list[tuple[LearnerSource, Target]]:
    """Return the functions of this lab's other exercises that passed in this notebook, and have not changed since."""
    return [
        (source, target)
        for e in lab.exercises
        if e != but and _passed.get(e.id) and _passed[e.id] == fingerprint(source, e)
        for target in e.targets
    ]


def _notebook(names: dict[str, Any]) -> Notebook:
    """Return the cells that ran in this kernel, or outside one the calling file. Raise LookupError if there is no file either."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    if shell is not None:
        undefined: dict[str, str] = {}
        return Notebook(list(_cells(shell, undefined)), _CELLS, undefined)
    file = names.get("__file__")
    if file is None:
        raise Unknown("there is no notebook here, and no file, whose functions could be checked")
    text = pathlib.Path(file).read_text(encoding="utf-8")
    return Notebook([(pathlib.Path(file).name, text)], str(file))


def _note_raised(result: Any) -> None:
    """Note where a cell raised, if it did; IPython calls this after each cell."""
    trace = result.error_in_exec.__traceback__ if isinstance(result.error_in_exec, BaseException) else None
    lines = [
        line
        for frame, line in traceback.walk_tb(trace)
        if frame.f_code.co_name == "<module>" and "In" in frame.f_globals
    ]
    if lines and getattr(getattr(result, "info", None), "store_history", True):  # other cells are not stored in `In`
        _raised[result.execution_count] = lines[0]


def _reached(text: str, line: int) -> str:
    """Return the source of a cell before the statement at `line`; the whole source if there is no such statement."""
    first = next((s.lineno for s in tree_of(text).body if (s.end_lineno or s.lineno) >= line), None)
    return text if first is None else "".join(text.splitlines(keepends=True)[: first - 1])


def _defined(text: str) -> set[str]:
    """Return the functions that a cell defines, under the names of targets: `f`, `C.f`."""
    return set(LearnerFile.parse(text, "", ()).functions)


def _cells(shell: Any, undefined: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the cells that are Python without IPython's magics; other cells do not define functions. A cell that raised an error ends
    before the statement that did; names that later statements would define go to `undefined`, until a later cell defines them.
    """
    for number, cell in zip(itertools.count(1), shell.user_ns.get("In", [])[1:], strict=False):
        text = shell.input_transformer_manager.transform_cell(cell)
        try:
            tree_of(text)
        except (SyntaxError, ValueError):
            continue
        name = f"In[{number}]"
        reached = _reached(text, _raised[number]) if number in _raised else text
        for function in _defined(reached):
            undefined.pop(function, None)
        undefined.update(dict.fromkeys(_defined(text) - _defined(reached), name))
        yield name, reached


if (_shell := getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()) is not None:
    _shell.events.register("post_run_cell", _note_raised)
