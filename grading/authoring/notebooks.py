"""a lab -> lab.ipynb: its text, and for each exercise a cell to write in and a cell that checks

What follows `>>>`, in the text or in an exercise's docstring, becomes a cell, with its output below. Lines of code have
at most `WIDTH` characters, which JupyterLab shows on a screen of 1280 pixels.

The notebook for nbgrader (`nbgrader_course`) has the same parts.
"""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from jitkit.kata.engine.manifest import Exercise, Lab
from jitkit.kata.engine.names import tree_of

from ..shared import cell_id
from .cells import Cell, code, markdown, notebook_text

WIDTH = 100

BUILD, USE, PREDICT = "What to build", "What you may use", "Predict"

_HOW = """\
This is lab {number} as a notebook. Write each function in the cell that has its stub, run the cell, and then the one below it:
`check` runs the same programs as `jitkit check {first}`, with your function in a `jitkit` of its own. Helpers and imports may stand
in any cell. What you have not written yet comes from the reference. `hint("{first}")` helps, one step further each time.

In a workspace of `jitkit start`, what passes here goes into `exercises.py`, where there is only the stub, and what passes there is in
place here. Run `from jitkit.kata import mine` in a kernel that has just been started, and its jitkit has all of your functions.
Missing Jupyter? `pip install jupyterlab`.
"""


class Text(NamedTuple):
    """The sections of a lab's README: those before the exercises, those that ask for a prediction, and all others."""

    before: tuple[str, ...]
    question: tuple[str, ...]
    after: tuple[str, ...]

    @classmethod
    def of(cls, lab: Lab, readme: str = "") -> Text:
        """Return the sections of a README, cut at its headings of the second level. `readme` is used instead of the
        file's text; without a file, the lab's title and summary are the text.
        """
        path = lab.folder / "README.md"
        if not readme:
            readme = (
                path.read_text(encoding="utf-8") if path.is_file() else f"# {lab.number} {lab.title}\n\n{lab.summary}\n"
            )
        sections = sections_of(readme)
        begun = [i for i, text in enumerate(sections) if text.startswith((f"## {BUILD}", f"## {USE}"))]
        place = max(begun, default=len(sections) - 1) + 1
        rest = sections[place:]
        question = tuple(text for text in rest if text.startswith(f"## {PREDICT}"))
        return cls(tuple(sections[:place]), question, tuple(text for text in rest if text not in question))


def sections_of(text: str) -> list[str]:
    """Return the sections of a Markdown text, which is cut before each heading of the second level."""
    return re.split(r"^(?=## )", text, flags=re.MULTILINE)


def lab_notebook(lab: Lab, imports: str, stubs: dict[str, str], readme: str = "") -> str:
    """Return the file `lab.ipynb`.

    Args:
      imports: the text of the imports that the stubs need.
      stubs: the stubs of each exercise, by id.
      readme: the text to use instead of the lab's README.md; "" for the file's text.
    """
    text = Text.of(lab, readme)
    setup = "\n\n".join(part for part in (imports, "from jitkit.kata.notebook import check, experiment, hint") if part)
    cells = [
        *(cell for i, section in enumerate(text.before, 1) for cell in with_examples(f"text-{i}", section)),
        markdown("how", _HOW.format(number=lab.number, first=lab.ids[0] if lab.ids else lab.number)),
        code("setup", f"from __future__ import annotations\n\n{setup}"),
    ]
    for exercise in lab.exercises:
        stub = stubs[exercise.id]
        cells += [
            markdown(cell_id("task", exercise), task_text(exercise)),
            code(cell_id("write", exercise), stub),
            *examples_of(cell_id("try", exercise), stub, setup),
            code(cell_id("check", exercise), f'check("{exercise.id}")'),
        ]
    return notebook_text([*cells, *closing_cells(lab, text)])


# --- examples -------------------------------------------------------------------------------------------------------

_TRANSCRIPT = re.compile(r"^```python\n(>>> .*?)^```\n", re.MULTILINE | re.DOTALL)
_ERROR = re.compile(r"^[A-Za-z.]*Error: ", re.MULTILINE)
_NOT_EVERYWHERE = 'target="'  # an example that contains this compiles for a chip whose compiler may not be installed
_USUAL_NAMES = {
    "jax": "import jitkit as jax", "jnp": "import jitkit.numpy as jnp", "np": "import numpy as np", "lax": "from jitkit import lax",
}  # fmt: skip


def with_examples(id: str, section: str) -> Iterator[Cell]:
    """Yield the cells of a section. Its transcripts become cells, too, unless they call a function that is still to be
    written.
    """
    parts = _TRANSCRIPT.split(section)  # text, transcript, text, and so on
    for i, part in enumerate(parts):
        name = f"{id}-{i}" if i else id
        if i % 2 and not is_of_an_exercise(part):
            yield from transcript_cells(name, part)
        elif part.strip():
            yield markdown(name, f"```python\n{part}```" if i % 2 else part)


def is_of_an_exercise(transcript: str) -> bool:
    """Return whether an example begins with the call of a function that is not a builtin. Nothing before the call defines or imports
    the function, so the exercise asks for it.
    """
    called = re.match(r">>> (\w+)\(", transcript)
    return called is not None and called[1] not in dir(builtins)


def transcript_cells(id: str, transcript: str, before: str = "", may_raise: bool = False) -> Iterator[Cell]:
    """Yield a cell for each output of a transcript, with the statements before it, and one for statements after the last
    output. `before` stands at the start of the first cell.

    A cell that raises an error stops a run of all cells, unless it has a tag. A cell gets the tag if its output is an
    error, if it needs another chip's compiler, or with `may_raise`.
    """
    statements, shown = [before] if before else [], list[str]()
    pieces: list[tuple[str, str]] = []
    for line in [*transcript.splitlines(), ">>> "]:
        if line.startswith(">>> ") or (not shown and line.startswith("...")):
            if shown:
                pieces.append(("\n".join(statements), "\n".join(shown).rstrip() + "\n"))
                statements, shown = [], []
            statements.append(line[4:])
        else:
            shown.append(line)
    rest = "\n".join(statements).strip("\n")
    for i, (text, output) in enumerate([*pieces, (rest, "")] if rest else pieces):
        tags = {"tags": ["raises-exception"]} if may_raise or _ERROR.search(output) or _NOT_EVERYWHERE in text else None
        yield code(f"{id}-{i}" if i else id, text, tags, output)


def examples_of(id: str, stub: str, setup: str) -> Iterator[Cell]:
    """Yield the examples in an exercise's docstrings as cells. The first one has the imports that they need and `setup` lacks."""
    found = "\n".join(
        block
        for node in ast.walk(tree_of(stub))
        if isinstance(node, ast.FunctionDef)
        for paragraph in (ast.get_docstring(node) or "").split("\n\n")
        if (block := textwrap.dedent(paragraph)).startswith(">>> ")
    )
    if found:
        names = [name for name in _USUAL_NAMES if re.search(rf"\b{name}\b", found)]
        missing = [line for name in names if (line := _USUAL_NAMES[name]) not in setup]
        # the cells raise as long as the exercise is a stub
        yield from transcript_cells(id, found, "\n".join(missing), may_raise=True)


def closing_cells(lab: Lab, text: Text) -> list[Cell]:
    """Return the cells below the exercises: the sections with a question, the lab's experiment if it has one, and all later sections."""
    cells = [markdown(f"question-{i}", section) for i, section in enumerate(text.question, 1)]
    if lab.experiment is not None:
        options = "\n".join(f"{i}. {option}" for i, option in enumerate(lab.experiment.options, 1))
        cells += [
            markdown("prediction", f"**Your prediction.** {lab.experiment.question}\n\n{options}"),
            code("experiment", f'guess = None  # the number of your answer\nexperiment("{lab.number}", guess)'),
        ]
    return [*cells, *(markdown(f"after-{i}", section) for i, section in enumerate(text.after, 1))]


def task_text(exercise: Exercise) -> str:
    """Return the task of an exercise, followed by its three hints (question, idea, skeleton), each folded."""
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
