"""`jitkit` in a folder of the ladder: a function for each verb that means another thing there."""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import random
import sys

from ..engine.processes import Spare
from ..engine.statuses import Status
from ..ladder import abilities, guide
from ..ladder.climber import SECONDS, Climber, RungVerdict
from ..ladder.display import data_of, show_verdicts
from ..ladder.place import Place
from ..ladder.rungs import Rung, all_rungs, below, given_files, machine_file, rungs_up_to, section, solution_text
from ..problems import FAILED, OK, Problem, WrongUsage
from ..screens.display import MARKS
from ..screens.keys import ENTER, keys_of
from ..screens.terminal import Screen
from ..workspace.changes import Changes

_SEEDS = 1 << 16
_OTHER_NUMBERS = (
    "Rung {number} {title} gives right results for the first numbers, which are always the same, but not for others "
    "or in other programs, which are drawn by chance. Compute the results; do not remember them."
)


def here() -> Place:
    """Return the folder of the ladder that we are in. Raise Problem if we are in none."""
    found = Place.find()
    if found is None:
        raise Problem("this folder has no ladder in it. Make one that has with `jitkit start --from-scratch my-jax`.")
    return found


# --- start -------------------------------------------------------------------------------------------------------------


def start(arguments: argparse.Namespace) -> int:
    """Make a folder of the ladder, or complete one. An existing package and README.md stay; the given files and the pages are
    written anew. Raise Problem for a folder with other things in it, or that cannot be written, and for `--at` with a package;
    WrongUsage for an unknown rung.
    """
    screen = Screen.of(sys.stdout)
    root = (arguments.folder or pathlib.Path("my-jax")).expanduser().absolute()
    known = Place.find(root) if root.is_dir() else None
    at = _rung(arguments.at) if arguments.at is not None else all_rungs()[0]
    if arguments.at is not None and known is not None and known.package_is_there:
        raise Problem(
            f"{known.root} has a package already: {known.name}. Choose a new folder to begin at rung {at.number}."
        )
    was_one = all(
        (root / name).exists() for name in ("xla.py", "test_ladder.py", "ladder")
    )  # a folder of the ladder that has lost its `.jitkit`
    if known is None and root.is_dir() and any(root.iterdir()) and not was_one:
        raise Problem(f"{root} has other things in it. Choose a new folder, or an empty one.")
    try:
        place = known or Place.make(root, "myjax")
        has_package = place.package_is_there
        first = place.root / f"{place.name}.py"
        if not has_package:
            first.write_text(below(at) or guide.FIRST_FILE.format(name=place.name), encoding="utf-8")
        for given in given_files():
            (place.root / given.name).write_bytes(given.read_bytes())
        (place.root / "test_ladder.py").write_text(guide.TESTS, encoding="utf-8")
        if not (place.root / "README.md").exists():
            (place.root / "README.md").write_text(guide.README.format(name=place.name), encoding="utf-8")
        (place.root / "ladder").mkdir(exist_ok=True)
        for rung in all_rungs():
            (place.root / "ladder" / f"{rung.folder.name}.md").write_text(rung.page, encoding="utf-8")
            (place.root / "ladder" / f"{rung.folder.name}_programs.py").write_text(rung.programs[1], encoding="utf-8")
    except OSError as error:
        raise Problem(f"{error.filename or root} cannot be written: {error.strerror}. Choose another folder.") from None
    package = "an empty package" if at == all_rungs()[0] else f"the solution of the rungs below {at.number}"
    package = "your package as it was" if has_package else package
    screen.line(f"{place.root}: {package}, the machine, and {len(all_rungs())} rungs.", "bold")
    screen.text(f"Begin with {place.relative(place.root / 'ladder' / (at.folder.name + '.md'))}. Then:")
    screen.line(f"    cd {place.root}")
    screen.line("    jitkit")
    return OK


# --- check -------------------------------------------------------------------------------------------------------------


def check(arguments: argparse.Namespace) -> int:
    """Check a rung, and those below it (`rungs_up_to`). Return 0 if all of them pass, otherwise 1. Raise WrongUsage for a JUnit report,
    which pytest writes here.
    """
    place, screen = here(), Screen.of(sys.stdout)
    rung = _rung(arguments.what) if arguments.what else place.furthest()
    with contextlib.closing(Spare(str(machine_file()))) as spare:
        verdicts, fallen = _climb(place, rung, spare)
    if arguments.junit is not None:
        raise WrongUsage("on the ladder, the JUnit report is pytest's: pytest --junit-xml=FILE.")
    if arguments.json:
        print(json.dumps(data_of(place, verdicts, fallen), indent=2))
    else:
        show_verdicts(screen, place, verdicts, fallen)
    return OK if all(v.passed for v in verdicts) else FAILED


def _rung(word: str) -> Rung:
    number = word.zfill(2) if word.isdigit() else word.partition("_")[0]
    found = next((r for r in all_rungs() if r.number == number), None)
    if found is None:
        raise WrongUsage(f"there is no rung {word!r}: they are 01 to {all_rungs()[-1].number}.")
    return found


def _up_to(place: Place, rung: Rung) -> list[Rung]:
    return rungs_up_to(rung.number, place.was_reached)


def _climb(place: Place, rung: Rung, spare: Spare | None) -> tuple[list[RungVerdict], list[str]]:
    """Run a rung and those below it (`rungs_up_to`); remember and return the verdicts, with sentences about rungs that fell. A rung that
    passes for the first time runs once more, with other numbers and more random programs: the answers may be hard-coded.
    """
    package, climber = place.package, Climber(place.kept)
    verdicts = climber.climb(package, _up_to(place, rung), spare=spare)
    new = [v.rung for v in verdicts if v.passed and not place.passed(v.rung)]
    if new:
        thorough = Climber(place.kept, seconds=3 * SECONDS, is_thorough=True)
        again = {v.rung: v for v in thorough.climb(package, new, seed=random.randrange(1, _SEEDS)) if not v.passed}
        verdicts = [again.get(v.rung, v) for v in verdicts]
        place.state.messages += [_OTHER_NUMBERS.format(number=r.number, title=r.title) for r in list(again)[:1]]
    return verdicts, place.record(verdicts, package.fingerprint())


# --- watch -------------------------------------------------------------------------------------------------------------


def watch(arguments: argparse.Namespace) -> int:
    """Check, on each save, the furthest rung that the learner has reached, and those below it (`rungs_up_to`)."""
    place, screen = here(), Screen.of(sys.stdout)
    rung = place.current()
    screen.line(f"Watching {place.name}. You are at {rung.number} {rung.title}: ladder/{rung.folder.name}.md", "bold")
    with (
        contextlib.closing(Changes(lambda: _folders(place))) as changes,
        keys_of(sys.stdin, changes) as next_key,
        contextlib.closing(Spare(str(machine_file()))) as spare,
    ):
        seen = ""
        while True:
            key = next_key()
            if key == "q":
                return OK
            if key in ("h", "s"):
                (show_hint if key == "h" else show_page)(screen, place, place.current())
            now = _fingerprint(place)
            if now != seen or key == ENTER:
                seen = now
                try:
                    verdicts, fallen = _climb(place, place.furthest(), spare)
                    show_verdicts(screen, place, verdicts, fallen)
                except Problem as problem:
                    screen.text(str(problem), 2, "yellow")
                screen.line("h hint · s show · Enter check again · q quit", "dim")
                Climber(place.kept).prepare(spare, _up_to(place, place.furthest()))
            changes.wait()


def _folders(place: Place) -> set[pathlib.Path]:
    """Return the folders of the package's files; set() while it cannot be read."""
    try:
        return {place.package.folder, *(file.parent for file in place.package.files)}
    except (Problem, OSError):
        return set()


def _fingerprint(place: Place) -> str:
    try:
        return place.package.fingerprint()
    except (Problem, OSError) as error:  # a file that is being replaced, perhaps
        return str(error)


# --- hint, show, status, reset -------------------------------------------------------------------------------------------


def hint(arguments: argparse.Namespace) -> int:
    """Show the next hint of a rung, or one to read again. Raise WrongUsage for a `--step` that the rung does not have."""
    place = here()
    rung = _rung(arguments.id) if arguments.id else place.current()
    if arguments.step is not None and arguments.step > len(rung.hints):
        raise WrongUsage(f"on the ladder a rung has {len(rung.hints)} hints: --step 1 to {len(rung.hints)}.")
    show_hint(Screen.of(sys.stdout), place, rung, arguments.step)
    return OK


def show_hint(screen: Screen, place: Place, rung: Rung, wanted: int | None = None) -> None:
    """Show the next step; after the last one, show that again. `wanted` is a step to read again, counted from 1."""
    with place.state.edit() as state:
        known = state.of(rung.number)
        step = wanted - 1 if wanted is not None else min(known.hints, len(rung.hints) - 1)
        known.hints = max(known.hints, step + 1)
    screen.line()
    screen.line(f"{rung.number} {rung.title}: hint {step + 1} of {len(rung.hints)}", "bold")
    for line in rung.hints[step].splitlines():
        screen.line(f"  {line}")
    screen.line()
    more = f"jitkit hint {rung.number} again: hint {known.hints + 1}." if known.hints < len(rung.hints) else (
        f"Those were all the hints; --step 1 to {len(rung.hints)} shows one again. jitkit show {rung.number} "
        "--solution --give-up shows the solution."
    )  # fmt: skip
    screen.text(more, 2, "dim")
    for message in place.messages():
        screen.text(message, 2, "yellow")


def show(arguments: argparse.Namespace) -> int:
    """Show a rung's page, its solution, or the report on the package. Raise Problem for the solution of a rung that does not pass,
    unless the learner gives up.
    """
    place, screen = here(), Screen.of(sys.stdout)
    if arguments.report:
        return abilities.run(place, screen)
    rung = _rung(arguments.id) if arguments.id else place.current()
    if not arguments.solution:
        show_page(screen, place, rung)
        return OK
    if not place.passed(rung):
        if not arguments.give_up:
            raise Problem(
                f"the solution opens when yours passes, or with --give-up: jitkit show {rung.number} --solution --give-up"
            )
        with place.state.edit() as state:
            state.of(rung.number).gave_up = True
    print(section(solution_text(), rung.number))
    return OK


def show_page(screen: Screen, place: Place, rung: Rung) -> None:
    """Show the text of a rung."""
    screen.line()
    for line in rung.page.splitlines():
        screen.line(line)


def status(arguments: argparse.Namespace) -> int:
    """Show a line for each rung, without running anything."""
    place, screen = here(), Screen.of(sys.stdout)
    state, now = place.state.read(), _fingerprint(place)
    screen.line()
    for rung in all_rungs():
        known = state.of(rung.number)
        word = (
            Status.PASS
            if known.passed == now
            else Status.STALE
            if known.passed
            else Status.FAIL
            if known.failed
            else Status.TODO
        )
        glyph, said, color = MARKS[word]
        more = f", hints read: {known.hints}" if known.hints else ""
        screen.line(
            f"  {glyph} {rung.number} {rung.title:28} {said}{more}{', solution seen' if known.gave_up else ''}", color
        )
    screen.line()
    current = place.current()
    screen.text(f"You are at {current.number} {current.title}: ladder/{current.folder.name}.md", 2)
    for message in place.messages():
        screen.text(message, 2, "yellow")
    return OK


def export(arguments: argparse.Namespace) -> int:
    """Raise WrongUsage: `export` makes a package from the labs of a workspace, and on the ladder the learner writes the
    package.
    """
    raise WrongUsage("on the ladder there is nothing to export: your package is whole as it stands.")


def reset(arguments: argparse.Namespace) -> int:
    """Restore the given `xla` or `cc`. Raise WrongUsage for another name, since rungs have no stubs to restore, and
    Problem if the file cannot be written.
    """
    place, screen = here(), Screen.of(sys.stdout)
    given = {file.stem: file for file in given_files()}.get(arguments.id)
    if given is None:
        raise WrongUsage(
            "on the ladder, all files but xla.py and cc.py are yours: `jitkit reset xla` or `cc` puts one of these back."
        )
    path = place.root / given.name
    try:
        kept = place.backup(path) if path.is_file() else None
        path.write_bytes(given.read_bytes())
    except OSError as error:
        raise Problem(
            f"{place.relative(error.filename or path)} cannot be written: {error.strerror}. Verdicts use the given {given.name} anyway."
        ) from None
    screen.line(
        f"{given.name} is again as it was given." + (f" What you had is in {place.relative(kept)}." if kept else "")
    )
    return OK
