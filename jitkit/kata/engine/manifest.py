"""labs/NN_name/lab.toml -> Lab, with its exercises

A lab is a folder: `lab.toml` says what its exercises are, `README.md` is its text, `checks.py` holds the programs that an
exercise must run like the reference, `mutants.py` plausible wrong answers. An exercise takes one function, or a few, out
of the reference (`targets`); everything else that learners see is generated from these files.
"""

from __future__ import annotations

import difflib
import functools
import os
import pathlib
import re
from collections.abc import Iterable
from typing import NamedTuple

from .submission import Target
from .toml_table import ManifestError, TomlTable

_ID = re.compile(r"\d\d\.\d")
_FOLDER = re.compile(r"(\d\d)_\w+")


class Exercise(NamedTuple):
    """One exercise of a lab."""

    id: str  # "02.3"
    title: str
    targets: tuple[Target, ...]
    points: int
    task: str  # what to write, in a sentence or a few paragraphs
    hints: tuple[str, str, str]  # a question, the concept, a skeleton; `hint_steps` adds one before the skeleton
    why: str  # shown with the solution: the reasons
    mistakes: tuple[str, ...]
    jax: str  # where JAX does it: "jax/_src/core.py:eval_jaxpr"
    uses_xla: bool  # whether its checks compile anything
    no_programs: str = ""  # why none of its checks is made of random programs

    @property
    def lab(self) -> str:
        """The number of its lab: `02`."""
        return self.id.partition(".")[0]


class Experiment(NamedTuple):
    """The experiment at the end of a lab: a question to be answered before its plot is drawn."""

    question: str
    options: tuple[str, ...]
    answer: str  # what to see in the plot, and why
    right: int  # the number of the right option, from 1

    def verdict_on(self, guess: str) -> str:
        """Return a sentence that says whether a guess was right, and what the right answer is."""
        right = self.options[self.right - 1]
        return f"You said: {guess}. {'That is right.' if guess == right else f'It is not so, but: {right}.'}"


class Lab(NamedTuple):
    """A lab: its folder and what `lab.toml` says."""

    folder: pathlib.Path
    title: str
    stage: str
    summary: str
    minutes: int
    experiment: Experiment | None
    exercises: tuple[Exercise, ...]

    @property
    def number(self) -> str:
        """The number in the folder's name: `02`."""
        return self.folder.name.partition("_")[0]

    @property
    def name(self) -> str:
        """The folder's name: `02_jaxpr`."""
        return self.folder.name

    def exercise(self, id: str) -> Exercise:
        """Return an exercise. Raise KeyError if the lab has none of this id."""
        return {e.id: e for e in self.exercises}[id]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of its exercises, in order."""
        return tuple(e.id for e in self.exercises)

    @property
    def names(self) -> frozenset[str]:
        """The dotted names of all functions that its exercises take out of the reference."""
        return frozenset(target.name for e in self.exercises for target in e.targets)

    @property
    def targets(self) -> frozenset[str]:
        """All functions that its exercises take out, each with its module: `jitkit.jaxpr.language:eval_jaxpr`."""
        return frozenset(str(target) for e in self.exercises for target in e.targets)


def labs_folder() -> pathlib.Path:
    """Return the folder of the labs: `JITKIT_LABS` if it is set, else that of the installation, else that of the clone."""
    chosen = os.environ.get("JITKIT_LABS")
    if chosen:
        return pathlib.Path(chosen)
    here = pathlib.Path(__file__).resolve().parents[1]
    installed = here / "labs"
    return installed if installed.is_dir() else here.parents[1] / "labs"


def tests_folder() -> pathlib.Path:
    """Return the folder of the reference's tests: that of the installation, else that of the clone."""
    here = pathlib.Path(__file__).resolve().parents[1]
    installed = here / "reference_tests"
    return installed if installed.is_dir() else here.parents[1] / "tests"


def all_labs(folder: pathlib.Path | None = None) -> tuple[Lab, ...]:
    """Return every lab, by number; () if there is no such folder. Raise ManifestError if one cannot be read."""
    return _labs_in(folder or labs_folder())


@functools.cache
def _labs_in(folder: pathlib.Path) -> tuple[Lab, ...]:
    if not folder.is_dir():
        return ()
    folders = sorted(
        path for path in folder.iterdir() if _FOLDER.fullmatch(path.name) and (path / "lab.toml").is_file()
    )
    return tuple(map(read_lab, folders))


def nearest(word: str, words: Iterable[str]) -> str:
    """Return the nearest of the known `words`, or "" if none is near."""
    return next(iter(difflib.get_close_matches(word, list(words), n=1)), "")


def read_lab(folder: pathlib.Path) -> Lab:
    """Return the lab in a folder. Raise ManifestError if there is a fault in its `lab.toml`."""
    file = folder / "lab.toml"
    with TomlTable.of_file(file) as table:
        lab = Lab(
            folder, table.text("title"), table.text("stage"), table.text("summary"), table.number("minutes"),
            next(map(_experiment, table.tables("experiment")), None), tuple(map(_exercise, table.tables("exercise"))),
        )  # fmt: skip
    _check(lab, file)
    return lab


def _experiment(table: TomlTable) -> Experiment:
    with table:
        found = Experiment(table.text("question"), table.texts("options"), table.text("answer"), table.number("right"))
        if found.right > len(found.options):
            raise table.error("`right` should be the number of an option", "right")
    return found


def _exercise(table: TomlTable) -> Exercise:
    with table:
        hints = table.texts("hints")
        if len(hints) != 3:
            raise table.error("`hints` must be three texts: a question, the concept, a skeleton", "hints")
        return Exercise(
            id=table.text("id"),
            title=table.text("title"),
            targets=tuple(_target(table, text) for text in table.texts("targets")),
            points=table.number("points"),
            task=table.text("task"),
            hints=(hints[0], hints[1], hints[2]),
            why=table.text("why"),
            mistakes=table.texts("mistakes"),
            jax=table.text("jax"),
            uses_xla=table.get("uses_xla", bool, False),
            no_programs=table.get("no_programs", str, ""),
        )


def _target(table: TomlTable, text: str) -> Target:
    try:
        return Target.parse(text)
    except ValueError as error:
        raise table.error(str(error), "targets") from None


def _check(lab: Lab, file: pathlib.Path) -> None:
    names = [target.name for e in lab.exercises for target in e.targets]
    for id in lab.ids:
        if not _ID.fullmatch(id) or not id.startswith(lab.number):
            raise ManifestError(f"{file}: the id {id!r} should be like {lab.number}.1")
    if len(set(lab.ids)) < len(lab.ids) or len(set(names)) < len(names):
        raise ManifestError(f"{file}: an id, or a target's name, occurs twice")
