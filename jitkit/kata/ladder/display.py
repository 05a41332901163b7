"""verdicts of rungs -> what a terminal shows, and what `--json` prints"""

from __future__ import annotations

from collections.abc import Sequence

from ..engine.running import NOT_TRIED
from ..engine.statuses import Status
from ..engine.verdicts import CheckResult
from ..screens.display import MARKS, hanging, show_failure, show_line, show_output, show_program
from ..screens.terminal import Screen
from .climber import RungVerdict
from .place import Place
from .rungs import all_rungs
from .wrong import beliefs

_NOT_RUN = ("○", "not run", "dim")


def show_verdicts(screen: Screen, place: Place, verdicts: Sequence[RungVerdict], fallen: Sequence[str]) -> None:
    """Show messages, a line for each rung, and the next step; below the first rung that does not pass, its programs and
    the first difference, unless nothing is written. If the package cannot be imported, show why in place of the rungs.
    """
    screen.line()
    for message in place.messages():
        screen.text(message, 0, "yellow")
    if fallen:
        screen.text(told_of(fallen), 0, "red")
    failed = next((v for v in verdicts if not v.passed), None)
    if failed is not None and not failed.ran:
        show_not_imported(screen, place, failed)
        return
    red, is_empty = status_of_red(place, fallen), place.package.is_untouched
    for verdict in verdicts:
        glyph, word, color = MARKS[Status.PASS if verdict.passed else red]
        good = sum(r.status == Status.PASS for r in verdict.results)
        screen.line(
            f"{glyph} {word}  {verdict.rung.number} {verdict.rung.title}: {good} of {len(verdict.results)} programs",
            color,
        )
        if verdict is failed and not is_empty:
            show_rung(screen, place, verdict)
    screen.line()
    if failed is not None and is_empty:
        page, file = f"ladder/{failed.rung.folder.name}.md", place.relative(place.package.files[0])
        screen.text(
            f"{file} has no code any more. Bring back what you had, in your editor or from where you keep versions; "
            f"or begin again, with {page}."
            if fallen
            else f"Nothing is written yet in {file}. Begin with {page}.",
            2,
        )
    elif failed is None:
        done = verdicts[-1].rung
        above = next((r for r in all_rungs() if r.number > done.number), None)
        if above is not None:
            screen.text(
                f"next: {above.number} {above.title}, ladder/{above.folder.name}.md (about {above.size} lines)", 2
            )
        else:
            screen.text(
                "All rungs pass: it is a JAX, and it is yours. `jitkit show --report` says what it can do.", 2, "bold"
            )
    else:
        screen.text(f"next: jitkit hint {failed.rung.number}", 2)


def told_of(fallen: Sequence[str]) -> str:
    """Return the remark on rungs that fell: a sentence on the lowest one, and how many others fell."""
    first, *others = fallen
    if not others:
        return first
    return f"{first} {len(others)} {'rung' if len(others) == 1 else 'rungs'} above fell with it."


def status_of_red(place: Place, fallen: Sequence[str]) -> Status:
    """Return the status of a rung that does not pass: "to do" if nothing is written, and nothing fell with this save;
    otherwise failed.
    """
    return Status.TODO if place.package.is_untouched and not fallen else Status.FAIL


def show_not_imported(screen: Screen, place: Place, verdict: RungVerdict) -> None:
    """Show why the package cannot be imported, in place of the rungs."""
    failure = verdict.results[0]
    screen.text(failure.sentence, 0, "red")
    show_line(screen, failure.line, place)
    show_output(screen, failure.output)
    screen.line()
    screen.text("No rung could be checked. What passed is not forgotten: fix this, and all are checked again.", 2)


def show_rung(screen: Screen, place: Place, verdict: RungVerdict) -> None:
    """Show the programs of a rung that does not pass; below the first that fails, the difference, a question about each belief that may be
    behind it, the output, and the program's text.
    """
    failure = verdict.first_failure
    for result in verdict.results:
        glyph, word, color = _NOT_RUN if result.sentence == NOT_TRIED else MARKS[result.status]
        hanging(screen, f"    {glyph} {word}: ", result.check.sentence, color)
        if result is failure:
            show_failure(screen, result, place)
            if result.status == Status.FAIL or (result.status == Status.CRASH and not _is_unwritten(result)):
                versions = beliefs(verdict)
                if versions:
                    screen.line()
                for version in versions:
                    screen.text(f"Ask yourself: {version.question}", 6, "yellow")
            show_output(screen, result.output)
            path, _ = verdict.rung.programs
            line = result.check.program.__code__.co_firstlineno
            show_program(screen, result, f"the program, {place.place(path, line)}, where `jk` is your package:")


def _is_unwritten(result: CheckResult) -> bool:
    """Return whether a program ended because a name is missing: then the rung is probably not written yet."""
    said = result.difference.actual if result.difference is not None else ""
    return said.startswith(
        ("AttributeError", "NameError", "KeyError", "ImportError", "NotImplementedError", "ModuleNotFoundError")
    )


def data_of(place: Place, verdicts: Sequence[RungVerdict], fallen: Sequence[str]) -> dict[str, object]:
    """Return the data that `jitkit check --json` prints."""
    return {
        "workspace": str(place.root),
        "package": place.name,
        "status": Status.PASS if all(v.passed for v in verdicts) else status_of_red(place, fallen),
        "messages": [*place.messages(), *fallen],
        "rungs": [
            {
                "rung": v.rung.number,
                "title": v.rung.title,
                "status": Status.PASS if v.passed else status_of_red(place, fallen),
                "programs": [
                    {
                        "name": r.check.name,
                        "status": r.status,
                        "program": r.check.sentence,
                        "sentence": r.sentence,
                        "where": r.difference.where if r.difference is not None else "",
                        "expected": r.difference.expected if r.difference is not None else "",
                        "actual": r.difference.actual if r.difference is not None else "",
                        "line": place.place(*r.line) if r.line is not None and r.line[0] else "",
                        "output": r.output,
                        "seconds": round(r.seconds, 4),
                    }
                    for r in v.results
                ],
            }
            for v in verdicts
        ],
    }
