"""a lab -> lab.ipynb: its text, and for each exercise a cell to write in and a cell that checks

The notebook for nbgrader (`course`) is made of the same parts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from jitkit.kata.engine.manifest import Exercise, Lab

from .cells import Cell, code, markdown, notebook_text

BUILD, USE, PREDICT = "What to build", "What you may use", "Predict"

_HOW = """\
This is lab {number} as a notebook. Write each function in the cell that has its stub, run the cell, and then the one below it:
`check` runs the same programs as `jitkit check {first}`, with your function in a `jitkit` of its own. Helpers and imports may stand
in any cell. What you have not written yet comes from the reference. `hint("{first}")` helps, one step further each time.

In a workspace of `jitkit start`, what passes here goes into `exercises.py`, where there is only the stub, and what passes there is in
place here. Run `from jitkit.kata import mine` in a kernel that has just been started, and its jitkit has all of your functions.
Missing Jupyter? `pip install "jitkit[notebook]"`.
"""


class Text(NamedTuple):
    """The sections of a lab's README: those before the exercises, the one with the question, and those after it."""

    before: tuple[str, ...]
    question: tuple[str, ...]
    after: tuple[str, ...]

    @classmethod
    def of(cls, lab: Lab, readme: str = "") -> Text:
        """Cut at the headings of the second level. `readme` is the text where it is to be another than that of the file."""
        path = lab.folder / "README.md"
        if not readme:
            readme = path.read_text(encoding="utf-8") if path.is_file() else f"# {lab.number} {lab.title}\n\n{lab.summary}\n"
        sections = sections_of(readme)
        begun = [i for i, text in enumerate(sections) if text.startswith((f"## {BUILD}", f"## {USE}"))]
        place = max(begun, default=len(sections) - 1) + 1
        rest = sections[place:]
        question = tuple(text for text in rest if text.startswith(f"## {PREDICT}"))
        return cls(tuple(sections[:place]), question, tuple(text for text in rest if text not in question))


def sections_of(text: str) -> list[str]:
    """A text, cut before each heading of the second level."""
    return re.split(r"^(?=## )", text, flags=re.MULTILINE)


def lab_notebook(lab: Lab, imports: str, stubs: dict[str, str], readme: str = "") -> str:
    """The file `lab.ipynb`.

    Args:
      imports: what the stubs need.
      stubs: the stubs of each exercise, by id.
      readme: the lab's text, where it is to be another than that of the file.
    """
    text = Text.of(lab, readme)
    setup = "\n\n".join(
        part for part in (imports, "from jitkit.kata.notebook import check, experiment, hint") if part
    )
    cells = [
        *(markdown(f"text-{i}", section) for i, section in enumerate(text.before, 1)),
        markdown("how", _HOW.format(number=lab.number, first=lab.ids[0] if lab.ids else lab.number)),
        code("setup", f"from __future__ import annotations\n\n{setup}"),
    ]
    for exercise in lab.exercises:
        cells += [
            markdown(cell_id("task", exercise), task_text(exercise)),
            code(cell_id("write", exercise), stubs[exercise.id]),
            code(cell_id("check", exercise), f'check("{exercise.id}")'),
        ]
    return notebook_text([*cells, *closing_cells(lab, text)])


def closing_cells(lab: Lab, text: Text) -> list[Cell]:
    """The question and the experiment, and what the text says after it."""
    cells = [markdown(f"question-{i}", section) for i, section in enumerate(text.question, 1)]
    if lab.experiment is not None:
        options = "\n".join(f"{i}. {option}" for i, option in enumerate(lab.experiment.options, 1))
        cells += [
            markdown("prediction", f"**Your prediction.** {lab.experiment.question}\n\n{options}"),
            code(
                "experiment", f'guess = None  # the number of your answer\nexperiment("{lab.number}", guess)'
            ),
        ]
    return [*cells, *(markdown(f"after-{i}", section) for i, section in enumerate(text.after, 1))]


def task_text(exercise: Exercise) -> str:
    """What is to be written, with the hints that are the same for everyone, folded."""
    points = "1 point" if exercise.points == 1 else f"{exercise.points} points"
    question, concept, skeleton = exercise.hints
    return "\n\n".join(
        [
            f"## {exercise.id} {exercise.title} ({points})",
            exercise.task,
            _folded("A question", question),
            _folded("The idea", concept),
            _folded("A skeleton", f"```python\n{skeleton}\n```"),
        ]
    )


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def cell_id(kind: str, exercise: Exercise, name: str = "") -> str:
    """`check-02-4-operands_in_order`, shortened where it is too long for an id."""
    return "-".join(part for part in (kind, exercise.id.replace(".", "-"), name) if part)[:64]
