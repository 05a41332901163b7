"""a folder -> the package in it, and the learner's progress

The folder has the learner's package, the given `xla.py` (for reading: programs run with our own copy of it), `ladder/`
with the pages, and `.jitkit/`, which keeps progress as in the labs.
"""

from __future__ import annotations

import os
import pathlib
import sys
import time

from ..problems import Problem
from ..workspace.state import StateFile
from .climber import Package, RungVerdict
from .rungs import Rung, all_rungs, given_files, ladder_folder

KEPT = ".jitkit"
_MARK = "ladder"  # the file in `.jitkit` that has the package's name
# names that a package cannot have: another module has them
_TAKEN = sys.stdlib_module_names | {
    "numpy",
    "ml_dtypes",
    "jaxlib",
    "xla",
    "cc",
    "climbing",
    "behind",
    "drawing",
    "jax",
    "jitkit",
    "torch",
}


class Place:
    """A folder of the ladder: it has a package that is written from scratch. Displays take it as `screens.display.Places`, since it
    has `kept`, `relative` and `place`.
    """

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.kept = root / KEPT
        self.state = StateFile(self.kept)
        self._name = ""  # the name when it was last read

    @classmethod
    def find(cls, start: pathlib.Path | None = None) -> Place | None:
        """Return the folder of the ladder that `start`, or the current folder, is in; None if the nearest workspace is not one."""
        here = (start or pathlib.Path.cwd()).absolute()
        nearest = next((f for f in (here, *here.parents) if (f / KEPT).is_dir()), None)
        return cls(nearest) if nearest is not None and (nearest / KEPT / _MARK).is_file() else None

    @classmethod
    def make(cls, root: pathlib.Path, name: str) -> Place:
        """Make `root` a folder of the ladder, with a package of this name. Raise OSError if it cannot be written."""
        (root / KEPT).mkdir(parents=True, exist_ok=True)
        (root / KEPT / _MARK).write_text(name + "\n", encoding="utf-8")
        (root / KEPT / ".gitignore").write_text(
            "executables/\nexpected/\n", encoding="utf-8"
        )  # git ignores what can be made again
        return cls(root)

    @property
    def name(self) -> str:
        """The package's name. If the file that has it is gone, the name that was read before; raise FileNotFoundError if there is none."""
        try:
            self._name = (self.kept / _MARK).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            if not self._name:
                raise
        return self._name

    def restore(self) -> None:
        """Make `.jitkit` again if it was deleted while the package ran, and say that progress is counted anew. Raise Problem if the
        package itself is gone.
        """
        if not self.package_is_there:
            raise Problem(f"your package is gone from {self.root}: {self.name} was deleted while it ran.")
        if not (self.kept / _MARK).is_file():
            self.make(self.root, self.name)
            self.state.messages.append(f"{KEPT} was deleted while your package ran. Your progress is counted anew.")

    @property
    def package_is_there(self) -> bool:
        """Whether there is a file or a folder of its name."""
        return any((self.root / name).exists() for name in (f"{self.name}.py", self.name))

    @property
    def package(self) -> Package:
        """The learner's package. Raise Problem if it is not there or cannot be read, or if its name is another module's or cannot be
        imported.
        """
        package = Package(self.root, self.name)
        if not self.name.isidentifier() or self.name in _TAKEN:
            why = "is the name of another module" if self.name in _TAKEN else "is not a name that Python can import"
            raise Problem(
                f"{self.relative(self.kept / _MARK)} says that your package is called {self.name!r}, which {why}. Call it "
                "something else, myjax say, there and in the folder."
            )
        if not package.files:
            if (self.root / f"{self.name}.py").is_dir():
                raise Problem(
                    f"{self.name}.py in {self.root} is a folder. A package of many files is a folder {self.name}/, without .py, with "
                    "an __init__.py in it."
                )
            others = [p.name for p in package.beside] + [
                f"{p.parent.name}/" for p in sorted(self.root.glob("*/__init__.py"))
            ]
            seen = f" There is {', '.join(others)}: was it renamed?" if others else ""
            raise Problem(
                f"there is no {self.name}.py and no {self.name}/__init__.py in {self.root}.{seen} Name it so again, or write the new "
                f"name into {self.relative(self.kept / _MARK)}."
            )
        closed = next((path for path in package.files if not os.access(path, os.R_OK)), None)
        if closed is not None:
            raise Problem(f"{self.relative(closed)} cannot be read: you have no permission to. Nothing was checked.")
        return package

    def messages(self) -> list[str]:
        """Return messages for the learner that do not belong to a verdict. If progress cannot be kept, say so only
        once.
        """
        found = [*dict.fromkeys(self.state.messages)]
        self.state.messages.clear()
        one, many = f"{self.name}.py", self.root / self.name / "__init__.py"
        for given in given_files():
            path = self.root / given.name
            if path.is_file() and path.read_bytes() != given.read_bytes():
                found.append(
                    f"{path.name} in this folder is not the one that was given. Verdicts use the given one; `jitkit reset {path.stem}` "
                    "puts it back."
                )
        pages = [self.root / "ladder" / f"{rung.folder.name}.md" for rung in all_rungs()]
        if missing := [self.relative(page) for page in pages if not page.is_file()]:
            others = f" and {len(missing) - 1} more pages are" if len(missing) > 1 else " is"
            found.append(f"{missing[0]}{others} not there: `jitkit start --from-scratch .` puts them back.")
        if (self.root / one).is_file() and many.is_file():
            found.append(
                f"There is {one}, and a folder {self.name}/ besides: Python imports the folder, and nothing in {one} counts."
            )
        return found

    # --- progress -------------------------------------------------------------------------------------------------

    def passed(self, rung: Rung) -> bool:
        """Return whether a rung passed when it was last run."""
        return bool(self.state.read().of(rung.number).passed)

    def was_reached(self, rung: Rung) -> bool:
        """Return whether a rung has passed at some time, and has not been begun again since."""
        return self.passed(rung) or _when(rung) in self.state.read().given

    def current(self) -> Rung:
        """Return the first rung that does not pass; the last one if all do."""
        state = self.state.read()
        return next((r for r in all_rungs() if not state.of(r.number).passed), all_rungs()[-1])

    def furthest(self) -> Rung:
        """Return the highest rung that was reached, or the current one if that is higher. (If a rung fails again, those above it are
        still run.)
        """
        state = self.state.read()
        reached = [rung for rung in all_rungs() if _when(rung) in state.given]
        return max([self.current(), *reached], key=lambda rung: rung.number)

    def record(self, verdicts: list[RungVerdict], fingerprint: str) -> list[str]:
        """Remember verdicts, and return a sentence for each rung that fell. If the package cannot be imported, remember nothing."""
        fallen: list[str] = []
        self.restore()
        if not any(verdict.ran for verdict in verdicts):
            return fallen
        is_empty = self.package.is_untouched
        with self.state.edit() as state:
            is_new = is_empty and not any(state.of(v.rung.number).passed for v in verdicts)
            for verdict in verdicts:
                known, number = state.of(verdict.rung.number), verdict.rung.number
                if verdict.passed:
                    known.passed = fingerprint
                    state.given[_when(verdict.rung)] = time.strftime("%H:%M:%S")
                else:
                    failure = verdict.first_failure
                    if known.passed and failure is not None:
                        since = state.given.get(_when(verdict.rung), "the last time")
                        broke = "left nothing of it." if is_empty else f'broke "{failure.check.sentence}"'
                        fallen.append(
                            f"Rung {number} {verdict.rung.title} fell: it passed at {since}, and a save since then {broke}"
                        )
                    known.passed, known.failed = "", "" if is_new else fingerprint
                    if is_empty:  # the learner has begun the package again
                        state.given.pop(_when(verdict.rung), None)
        return fallen

    # --- names for people -----------------------------------------------------------------------------------------

    def relative(self, path: str | os.PathLike[str]) -> str:
        """Return a path in the form that is shown; for a rung's programs, the learner's copy."""
        if pathlib.Path(path).name == "programs.py" and pathlib.Path(path).parent.parent == ladder_folder():
            return f"ladder/{pathlib.Path(path).parent.name}_programs.py"
        try:
            return str(pathlib.Path(path).relative_to(self.root))
        except ValueError:
            return str(path)

    def place(self, path: str, line: int) -> str:
        """Return a line of a file in the form that is shown."""
        return f"{self.relative(path)}:{line}"

    def backup(self, path: pathlib.Path) -> pathlib.Path:
        """Copy a file to the folder of backups, and return the path of the copy."""
        target = self.kept / "backups" / f"{path.stem}-{time.strftime('%Y%m%d-%H%M%S')}{path.suffix}"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
        return target


def _when(rung: Rung) -> str:
    """Return the key under which the time of a rung's last pass is kept."""
    return f"rung {rung.number}"
