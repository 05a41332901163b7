"""labs/from_scratch/NN_name -> Rung, with its page, its programs and its hints

A rung is a folder: `rung.toml` has its title and hints, `page.md` is its text, `programs.py` has the programs that a package must run
like jitkit, and `wrong.py` plausible wrong versions of it. The solutions are the prefixes of one text, `solutions/from_scratch.py` and,
below it, `solutions/behind_the_door.py`: cut after section N, it passes rungs 1 to N. The rungs of the second file do not need the first
file's sections after 11, or after 14 if they compile loops: each of them says which rung it `needs`.
"""

from __future__ import annotations

import functools
import pathlib
import re
from collections.abc import Callable
from typing import NamedTuple

from ..engine.manifest import labs_folder
from ..engine.toml_table import TomlTable

_FOLDER = re.compile(r"(\d\d)_\w+")
_SECTION = re.compile(r"^# === (\d\d) ", re.MULTILINE)
FIRST_WITH_XLA = "06"
FIRST_BEHIND = "19"  # from this rung on, learners write the compiler, too
OPENS_BEHIND = "11"  # the last rung below 19 that rung 19 needs


class Rung(NamedTuple):
    """A rung of the ladder."""

    folder: pathlib.Path
    title: str
    size: int  # roughly how many lines of code it takes
    names: str  # the public names that are new
    hints: tuple[str, ...]
    jax: str  # where JAX does it
    needs: str = ""  # for a rung of the second file: the last rung of the first file that it builds upon

    @property
    def number(self) -> str:
        """The number in the folder's name: `07`."""
        return self.folder.name.partition("_")[0]

    @property
    def page(self) -> str:
        """The text of its page."""
        return (self.folder / "page.md").read_text(encoding="utf-8")

    @property
    def programs(self) -> tuple[str, str]:
        """The path and the source of its programs."""
        path = self.folder / "programs.py"
        return str(path), path.read_text(encoding="utf-8")

    @property
    def is_behind(self) -> bool:
        """Whether the learner's own compiler runs its programs."""
        return self.number >= FIRST_BEHIND

    @property
    def uses_xla(self) -> bool:
        """Whether its programs compile anything."""
        return self.number >= FIRST_WITH_XLA


def ladder_folder() -> pathlib.Path:
    """Return the folder of the rungs."""
    return labs_folder() / "from_scratch"


def machine_file() -> pathlib.Path:
    """Return the `xla.py` that is given."""
    return ladder_folder() / "xla.py"


def given_files() -> tuple[pathlib.Path, ...]:
    """Return the files that are given: `xla.py`, and the C compiler's, `cc.py`."""
    return machine_file(), ladder_folder() / "cc.py"


def rungs_up_to(number: str, reached: Callable[[Rung], bool]) -> list[Rung]:
    """Return the rungs to run for one rung: this one, and all below it. If it `needs` another rung, skip rungs between
    the two that are neither `is_behind` nor `reached`.
    """
    [needs] = [rung.needs for rung in all_rungs() if rung.number == number]
    return [
        rung
        for rung in all_rungs()
        if rung.number <= number and (not needs or rung.number <= needs or rung.is_behind or reached(rung))
    ]


@functools.cache
def all_rungs() -> tuple[Rung, ...]:
    """Return every rung, from the ground up. Raise ManifestError if one cannot be read."""
    folders = sorted(path for path in ladder_folder().iterdir() if _FOLDER.fullmatch(path.name))
    return tuple(map(_read, folders))


def _read(folder: pathlib.Path) -> Rung:
    with TomlTable.of_file(folder / "rung.toml") as table:
        return Rung(
            folder,
            table.text("title"),
            table.number("size"),
            table.text("names"),
            table.texts("hints"),
            table.text("jax"),
            table.get("needs", str, ""),
        )


def solution_file() -> pathlib.Path:
    """Return the file whose prefixes are the solutions: in a clone, or beside the labs of an installation."""
    return labs_folder().parent / "solutions" / "from_scratch.py"


def behind_file() -> pathlib.Path:
    """Return the second file of the ladder's solution, whose sections continue those of the first."""
    return solution_file().with_name("behind_the_door.py")


def solution_text() -> str:
    """Return both files as one package: the sections of the second stand below the first, and only its import of `cc`
    is kept.
    """
    second = behind_file().read_text(encoding="utf-8")
    heading, _, rest = second[_begin(second, FIRST_BEHIND) :].partition("\n")
    return f"{solution_file().read_text(encoding='utf-8')}\n{heading}\nimport cc\n\n{rest}"


def _begin(text: str, number: str) -> int:
    return next(m.start() for m in _SECTION.finditer(text) if m[1] == number)


def prefix(text: str, number: str) -> str:
    """Return the solutions in a source from its beginning to the end of the section of this rung."""
    return next((text[: m.start()] for m in _SECTION.finditer(text) if m[1] > number), text)


def below(rung: Rung) -> str:
    """Return the solution with which a rung can be begun: all rungs below it, except those that it does not need. For
    the first rung return "".
    """
    text = solution_text()
    if not rung.is_behind:
        return text[: _begin(text, rung.number)] if rung.number > all_rungs()[0].number else ""
    others = [other.number for other in all_rungs() if other.is_behind and other.number < rung.number]
    return prefix(text, rung.needs) + "".join(section(text, number) for number in others)


def section(text: str, number: str) -> str:
    """Return the section of this rung in a source of solutions."""
    return text[_begin(text, number) : len(prefix(text, number))]
