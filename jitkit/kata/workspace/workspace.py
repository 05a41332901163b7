"""a folder -> the labs in it: the learner's files, and the files that we keep

my-labs/
  README.md                  the guide
  02_jaxpr/README.md         a lab's text
  02_jaxpr/exercises.py      the learner's file: `start` only appends to it; `reset`, and a notebook's `check`, change it after a backup
  02_jaxpr/lab.ipynb         the same as a notebook, where the lab has one
  .jitkit/                   state.json, backups/, expected/, plots/, last/
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import pathlib
import time
from collections.abc import Iterator
from typing import NamedTuple

from ..engine.manifest import Exercise, Lab, all_labs, nearest
from ..engine.running import LearnerSource, parsed
from ..engine.statuses import Status
from ..engine.submission import SpliceError, is_stub
from ..engine.toml_table import ManifestError
from ..engine.verdicts import Verdict
from ..problems import Problem, WrongUsage
from .state import Progress, State, StateFile

KEPT = ".jitkit"


class Workspace:
    """The learner's folder.

    Attributes:
      root: the folder.
      labs: all labs that this jitkit has.
      kept: the folder `.jitkit` in it.
      state: the file with the learner's progress.
    """

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.labs = labs_or_problem()
        self.kept = root / KEPT
        self.state = StateFile(self.kept)

    @classmethod
    def find(cls, start: pathlib.Path | None = None) -> Workspace:
        """Return the workspace that a folder is in. Raise Problem if it is in none."""
        start = (start or pathlib.Path.cwd()).absolute()
        for folder in (start, *start.parents):
            if (folder / KEPT).is_dir():
                return cls(folder)
        raise Problem(
            "this folder is not a workspace, nor inside of one. Make one with `jitkit start my-labs`, then `cd my-labs`."
        )

    # --- files ------------------------------------------------------------------------------------------------

    def file_of(self, lab: Lab) -> pathlib.Path:
        """Return the learner's file of a lab."""
        return self.root / lab.name / "exercises.py"

    def has(self, lab: Lab) -> bool:
        """Return whether the learner has this lab."""
        return self.file_of(lab).exists()

    def relative(self, path: str | os.PathLike[str]) -> str:
        """Return a path in the form that is shown: relative to the current folder, else to the workspace, else as it is."""
        for base in (pathlib.Path.cwd(), self.root):
            try:
                return str(pathlib.Path(path).relative_to(base))
            except ValueError:
                continue
        return str(path)

    def place(self, path: str, line: int) -> str:
        """Return a line of a file in the form that is shown: `02_jaxpr/exercises.py:31`."""
        return f"{self.relative(path)}:{line}"

    def hint(self, id: str) -> str:
        """Return the command for the next hint."""
        return f"jitkit hint {id}"

    def run_with(self, id: str, path: pathlib.Path) -> str:
        """Return the command that runs a program with the functions of an exercise that does not pass."""
        return f"jitkit run --with {id} {self.relative(path)}"

    def source(self, lab: Lab) -> LearnerSource | Verdict:
        """Return the learner's file, or, as a verdict on the lab's first exercise, why it cannot be read."""
        path = self.file_of(lab)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return _unreadable(lab, path, f"There is no {self.relative(path)}. `jitkit start` puts missing labs back.")
        except OSError as error:
            return _unreadable(lab, path, f"{self.relative(path)} cannot be read: {error.strerror}.")
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            sentence = f"The file is not in UTF-8: byte {data[error.start]:#x} in line {line}. Save it as UTF-8."
            return _unreadable(lab, path, sentence, line)
        return LearnerSource(str(path), text, lab.targets)

    def backup(self, path: pathlib.Path) -> pathlib.Path:
        """Copy a file to a folder in which nothing is ever deleted, and return the copy. Raise Problem if that is impossible."""
        folder = self.kept / "backups"
        name = f"{path.parent.name}-{path.stem}-{time.strftime('%Y%m%d-%H%M%S')}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            copy = next(
                candidate
                for n in range(1000)
                if not (candidate := folder / f"{name}{f'-{n}' if n else ''}{path.suffix}").exists()
            )
            copy.write_bytes(path.read_bytes())
        except OSError as error:
            raise Problem(
                f"no backup could be written to {folder} ({error.strerror}), so nothing was changed."
            ) from None
        return copy

    # --- labs and exercises -----------------------------------------------------------------------------------

    def lab(self, number: str) -> Lab:
        """Return the lab with a number, or with a folder of this name. Raise WrongUsage if there is none."""
        for lab in self.labs:
            if number in (lab.number, lab.name):
                return lab
        raise WrongUsage(f"there is no lab {number}. There are: {', '.join(lab.name for lab in self.labs) or 'none'}.")

    def exercise(self, id: str) -> tuple[Lab, Exercise]:
        """Return the exercise with an id. Raise WrongUsage if there is none."""
        lab = self.lab(id.partition(".")[0])
        if id not in lab.ids:
            near = nearest(id, lab.ids)
            raise WrongUsage(
                f"there is no exercise {id}{f'; do you mean {near}?' if near else '.'} Lab {lab.number} has "
                f"{', '.join(lab.ids)}."
            )
        return lab, lab.exercise(id)

    def look(self) -> Look:
        """Read the learner's files and the saved state, once."""
        sources = {lab.number: self.source(lab) for lab in self.labs if self.has(lab)}
        return Look(self.labs, self.state.read(), sources)


class Look(NamedTuple):
    """The learner's functions in a workspace, and what is remembered about them, at one moment."""

    labs: tuple[Lab, ...]
    state: State
    sources: dict[str, LearnerSource | Verdict]  # by the lab's number; only of labs that are there

    def source(self, exercise: Exercise) -> LearnerSource | Verdict | None:
        """Return the file that an exercise is in, or a verdict that says why it cannot be read; None if there is no such file."""
        return self.sources.get(exercise.lab)

    def fingerprint(self, exercise: Exercise) -> str:
        """Return a hash of the functions of an exercise and what they use; "" if they are not written yet, or cannot be read."""
        source = self.source(exercise)
        return fingerprint(source, exercise) if isinstance(source, LearnerSource) else ""

    def standing(self, exercise: Exercise) -> Status:
        """Return PASS, FAIL, STALE, NEW, or TODO, also for a file that cannot be read. A pass holds only as long as the functions are those
        that passed.
        """
        known = self.state.exercises.get(exercise.id, Progress())
        now = self.fingerprint(exercise)
        if not now:
            return Status.TODO
        if now == known.passed:
            return Status.PASS
        if now == known.failed:
            return Status.FAIL
        return Status.STALE if known.passed or known.failed else Status.NEW

    def passes(self, exercise: Exercise) -> bool:
        """Return whether an exercise passed and has not changed since. If it never passed, its file is not parsed,
        which would take 10 ms.
        """
        passed = self.state.exercises.get(exercise.id, Progress()).passed
        return bool(passed) and self.fingerprint(exercise) == passed

    def suspicion(self, exercise: Exercise) -> str:
        """Return why the reference stands in for the learner's function of an exercise that passed: another exercise failed with this
        function. Return "" if nothing is known against the function, or if any function that ran then has changed since.
        """
        known = self.state.exercises.get(exercise.id, Progress())
        if not known.suspect or not known.suspect == known.passed == self.fingerprint(exercise):
            return ""
        exercises = {e.id: e for _, e in self.exercises()}
        for part in known.ground.split():
            id, _, then = part.partition("=")
            if id not in exercises or self.fingerprint(exercises[id]) != then:
                return ""
        return known.blame

    def exercises(self) -> Iterator[tuple[Lab, Exercise]]:
        """Return all exercises of the labs that are there, in order."""
        return ((lab, e) for lab in self.labs if lab.number in self.sources for e in lab.exercises)

    def current(self) -> tuple[Lab, Exercise]:
        """Return the exercise that the learner is at: the one that was worked on last, or else the first that has not passed; if all have
        passed, the first. Raise Problem if there is none.
        """
        known = {e.id: (lab, e) for lab, e in self.exercises()}
        if self.state.current in known:
            return known[self.state.current]
        unpassed = (item for item in known.values() if not self.passes(item[1]))
        found = next(unpassed, None) or next(iter(known.values()), None)
        if found is None:
            raise Problem("there is no lab here. `jitkit start` puts them in this folder.")
        return found

    def after(self, exercise: Exercise) -> tuple[Lab, Exercise] | None:
        """Return the next exercise after this one that has not passed, or else the first that has not; None if all have
        passed.
        """
        items = list(self.exercises())
        place = next((i for i, (_, e) in enumerate(items) if e.id == exercise.id), -1)
        return next((x for x in items[place + 1 :] + items[: place + 1] if not self.passes(x[1])), None)


def labs_or_problem() -> tuple[Lab, ...]:
    """Return all labs. Raise Problem if a manifest cannot be read."""
    try:
        return all_labs()
    except ManifestError as error:
        raise Problem(f"a lab's manifest cannot be read. {error}") from None


@functools.lru_cache(maxsize=1024)
def fingerprint(source: LearnerSource, exercise: Exercise) -> str:
    """Return a hash of the functions of an exercise, and of the helpers and imports that they use, as Python sees them: comments
    and empty lines do not count. Return "" if a function is a stub or missing, or the file is not Python.
    """
    try:
        file = parsed(source)
        functions = [file.find(target) for target in exercise.targets]
    except SpliceError:
        return ""
    if any(map(is_stub, functions)):
        return ""
    methods = {id(m): m for target in exercise.targets for m in file.helping_methods(target)}
    helpers = file.helpers([target.name for target in exercise.targets])
    text = "\n".join(map(ast.unparse, (*functions, *methods.values(), *helpers)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _unreadable(lab: Lab, path: pathlib.Path, sentence: str, line: int = 1) -> Verdict:
    return Verdict(lab.exercises[0], Status.BROKEN, (), sentence, (str(path), line))
