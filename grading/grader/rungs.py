"""Makes the ladder a lab for the grader: its exercises are the rungs, and one package of a student answers all of them

A package is parsed like any other submission, and imported in a jail. The process in the jail has numpy, jaxlib and the given
`xla.py` (and `cc.py`), and neither jax nor jitkit. In another process, jitkit runs the same programs, and the results are compared.
"""

from __future__ import annotations

import ast
import base64
import functools
import hashlib
import marshal
import pathlib
import re
from collections.abc import Collection, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from jitkit.kata.engine.manifest import Exercise, Lab, all_labs
from jitkit.kata.engine.names import tree_of
from jitkit.kata.engine.submission import LearnerFile, SpliceError
from jitkit.kata.ladder.climber import Climber, reached
from jitkit.kata.ladder.rungs import FIRST_BEHIND, all_rungs, ladder_folder, prefix, solution_text

from ..shared import HIDDEN_BEHIND, HIDDEN_RUNGS
from . import suspicion
from .files import Invalid
from .records import Item, ItemStatus
from .records import item as empty_item
from .shipped_code import CheckFile, Modules
from .sources import DEFINES, Source

NAME, BEHIND = "from_scratch", "behind_the_door"
NAMES = (NAME, BEHIND)
POINTS = 5  # a rung is worth this much

_USUAL_NAME = "myjax"
_NO_PACKAGE = frozenset({"xla", "cc", "conftest", "setup", "exercises"})
_ASKS_FOR_C = re.compile(r"^\s*(import cc\b|from cc import)", re.MULTILINE)
_ASKS_FOR_THE_MACHINE = re.compile(r"^\s*(import xla\b|from xla import)", re.MULTILINE)


class Rung(Exercise):
    """A rung as an exercise, for which no function is taken out of jitkit."""

    @property
    def lab(self) -> str:
        """The name of the ladder, or of its part behind the door."""
        return BEHIND if self.is_behind else NAME

    @property
    def is_behind(self) -> bool:
        """Whether the rung is behind the door: its programs need a C compiler."""
        return self.id >= FIRST_BEHIND


class Ladder(Lab):
    """The ladder as a lab, or its part behind the door."""

    @property
    def number(self) -> str:
        """The ladder's name among the labs."""
        return self.exercises[0].lab


def ladder(behind: bool = False) -> Ladder:
    """Return the rungs, in order: those of the package from scratch, or those `behind` the door, whose programs need a C compiler."""
    rungs = tuple(
        Rung(r.number, r.title, (), POINTS, r.names, ("", "", ""), "", (), r.jax, True)
        for r in all_rungs()
        if r.is_behind == behind
    )
    return Ladder(ladder_folder(), "Behind the door" if behind else "From scratch", "", "", 0, None, rungs)


def labs_and_ladder(folder: pathlib.Path) -> tuple[Lab, ...]:
    """Return all that can be graded: the labs, then the ladder in its two parts."""
    return (*all_labs(folder), ladder(), ladder(behind=True))


def program_files(exercise: Exercise) -> tuple[CheckFile, ...]:
    """Return the programs of a rung, the hidden ones last."""
    rung = next(r for r in all_rungs() if r.number == exercise.id)
    hidden = [
        (str(path), path.read_text(encoding="utf-8")) for path in (*HIDDEN_RUNGS, HIDDEN_BEHIND) if path.is_file()
    ]
    found = []
    known: set[str] = set()
    for path, source in (("", ""), *hidden):  # first the rung's own programs, also those too slow to run at each save
        checks = [c for c in Climber(hidden=[(path, source)]).checks([rung]) if c.name not in known]
        known |= {c.name for c in checks}
        found.append(CheckFile(source or rung.programs[1], tuple(checks), f"{exercise.id}_"))
    return tuple(found)


def solution(exercise: Exercise) -> Item:
    """Return the reference's package up to a rung, as an item of the intake."""
    text = prefix(solution_text(), exercise.id)
    return _item({f"{_USUAL_NAME}.py": text}, _USUAL_NAME)


@functools.cache
def _solution() -> frozenset[str]:
    return suspicion.longer_functions([tree_of(solution_text())])


# --- a student's package ------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """A package in a submission."""

    name: str
    texts: dict[str, str]  # path -> the source of one of its files, or of a file beside them
    sources: list[Source]  # all files of its folder that belong to it


def find_package(sources: Sequence[Source], answers: Collection[str] = ()) -> Found | None:
    """Return the package in a submission; None if there is none. Raise Invalid if there are several.

    The package is the one called `myjax`; or else the one beside an `xla.py`; or else the one that imports `xla`. `answers` has the
    names of the labs' functions: a file that defines one, and that the package does not import, belongs to the labs.
    """
    python = {PurePosixPath(s.path): s for s in sources if s.path.endswith(".py") and not s.hint and not s.module}
    machines = {path.parent for path in python if path.name == "xla.py"}
    folders = {path.parent for path in python if path.name == "__init__.py"}
    roots = {folder for folder in folders if folder.parent not in folders}
    tops: dict[tuple[PurePosixPath, str], dict[PurePosixPath, str]] = {}
    for path, source in python.items():
        root = next((r for r in roots if r in path.parents), path.with_suffix(""))
        if root.name not in _NO_PACKAGE and not root.name.startswith("test"):
            tops.setdefault((root.parent, root.name), {})[path] = source.text
    for is_one in (
        lambda top: top[1] == _USUAL_NAME,
        lambda top: top[0] in machines,
        lambda top: any(map(_ASKS_FOR_THE_MACHINE.search, tops[top].values())),
    ):
        chosen = [top for top in tops if is_one(top)]
        if len(chosen) > 1:
            names = " and ".join(sorted(f"{place / name}" for place, name in chosen))
            raise Invalid(f"There are several packages from scratch in it: {names}. Call yours {_USUAL_NAME}.")
        if chosen:
            place, name = chosen[0]
            texts = {
                str(path.relative_to(place)): text
                for top, files in tops.items()
                if top[0] == place
                for path, text in files.items()
            }
            near = {top[1]: files for top, files in tops.items() if top[0] == place}
            imported = reached(name, {top: files.values() for top, files in near.items()})
            of_package = {path for top in imported for path in near[top]}
            beside = {
                path
                for path in python.keys() - of_package
                if set(DEFINES.findall(python[path].text)).intersection(answers)
            }
            own = [s for path, s in python.items() if place in path.parents and path not in beside]
            return Found(name, {p: t for p, t in texts.items() if place / p not in beside}, own)
    return None


def asks_for_c(package: Found) -> bool:
    """Return whether a package imports `cc`: then the rungs behind the door are graded, which are about a compiler of one's own."""
    return any(map(_ASKS_FOR_C.search, package.texts.values()))


def package_items(package: Found, rungs: Sequence[Exercise]) -> dict[str, Item]:
    """Return an item for each rung, all with the same package. Only the first has the hashes that are compared with those of
    other students (`grams`).
    """
    item = _item(package.texts, package.name)
    return {rung.id: item if i == 0 else item | {"grams": []} for i, rung in enumerate(rungs)}


def _item(texts: dict[str, str], name: str) -> Item:
    item = empty_item(ItemStatus.READY)
    item.update({"path": name, "files": sorted(texts)})
    modules: Modules = {}
    trees: list[ast.AST] = []
    for path, text in texts.items():
        parts = PurePosixPath(path).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        try:
            trees.append(LearnerFile.parse(text, path, ()).tree)
            code = compile(text, path, "exec", dont_inherit=True)
        except SpliceError as error:
            return item | {"status": ItemStatus.BROKEN, "sentence": str(error), "line": [error.file, error.line]}
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return item | {
                "status": ItemStatus.BROKEN,
                "sentence": f"Python cannot compile it: {error}",
                "line": [path, 1],
            }
        modules[".".join(parts[:-1] if is_package else parts)] = path, is_package, code
    digest = hashlib.sha256("\0".join(f"{p}\0{t}" for p, t in sorted(texts.items())).encode("utf-8", "surrogatepass"))
    own = digest.hexdigest()[:24]
    return item | {
        "package": base64.b64encode(marshal.dumps({"name": name, "modules": modules})).decode("ascii"),
        "digest": own,
        "code": own,
        "flags": suspicion.of_package(trees, _solution()),
        "grams": suspicion.grams("\n".join(texts.values())),
    }
