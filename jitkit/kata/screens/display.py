"""report -> the text that a learner reads

It shows the first difference in full: the sentence of the failing check, the expected and the actual value, numbers,
the learner's own line, and the next step. Everything else (both results in full) goes to a file.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import linecache
import os
import pathlib
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from ..engine.comparison import describe
from ..engine.jaxpr_comparison import program_text
from ..engine.manifest import Exercise
from ..engine.plain import Plain
from ..engine.statuses import Status
from ..engine.verdicts import CheckResult, Verdict
from ..engine.witness import witness
from ..workspace.judge import Report
from ..workspace.workspace import Look, Workspace
from .terminal import Screen

# A glyph, a word, and a colour that repeats them.
MARKS: dict[Status, tuple[str, str, str]] = {
    Status.PASS: ("✓", "pass", "green"),
    Status.FAIL: ("✗", "fail", "red"),
    Status.CRASH: ("✗", "error", "red"),
    Status.IMPORT: ("✗", "error", "red"),
    Status.TIME: ("✗", "too long", "red"),
    Status.LIMIT: ("✗", "too much", "red"),
    Status.BROKEN: ("✗", "broken", "red"),
    Status.TODO: ("○", "to do", "dim"),
    Status.NEW: ("○", "unchecked", "yellow"),
    Status.STALE: ("○", "changed", "yellow"),
}
_CONTEXT = 2  # lines of a value that are shown before the first that differs
_MOST_LINES = 40  # each side of a difference shows at most this many lines; the file has all
_MOST_OUTPUT = 12  # at most this many lines of what the learner printed are shown
_MOST_OF_A_PROGRAM = 20  # at most this many lines of a check's program are shown


class Places(Protocol):
    """The places of files, in the learner's words: in a workspace, or a notebook."""

    kept: pathlib.Path

    def relative(self, path: str | os.PathLike[str]) -> str:
        """Return a path in the form that is shown."""

    def place(self, path: str, line: int) -> str:
        """Return a line of a file in the form that is shown."""


class Desk(Places, Protocol):
    """Places that can also give hints."""

    def hint(self, id: str) -> str:
        """Return the command for the next hint."""

    def run_with(self, id: str, path: pathlib.Path) -> str:
        """Return the command that runs a program with the functions of an exercise that does not pass; "" if there is none."""


def show_report(screen: Screen, report: Report, places: Desk) -> None:
    """Show the verdict on one exercise. If a check fails, also write the verdict in full to a file (`write_dump`)."""
    verdict = report.verdict
    failure = verdict.first_failure
    glyph, word, color = MARKS[verdict.status]
    screen.line()
    title = f"{glyph} {word.upper()}  {verdict.exercise.id} {verdict.exercise.title}"
    screen.line(title, "bold", color)
    if verdict.results:
        screen.text(whose(report), 2, "dim")
    if verdict.sentence:
        screen.text(verdict.sentence, 2)
        show_line(screen, verdict.line, places)
    for result in verdict.results:
        glyph, word, color = MARKS[result.status]
        lead = f"  {glyph} {word}: "
        hanging(screen, lead, result.check.sentence, color)
        if result is failure:
            show_failure(screen, result, places)
            if result.line is None or result.line[0] != verdict.file:
                show_line(screen, verdict.line, places)
            show_output(screen, result.output)
            show_program(screen, result) if not result.program else show_random_program(screen, report, result, places)
    if verdict.status == Status.PASS:
        show_output(screen, next((r.output for r in verdict.results if r.output.strip()), ""))
    for sentence in filter(None, (report.blame, report.suspicion)):
        screen.text(sentence, 2, "yellow")
    if failure is not None:
        dump = write_dump(report, places.kept / "last")
        where = f"; all of it: {places.relative(dump)}" if dump is not None else ""
        screen.line()
        screen.line(f"  next: {places.hint(verdict.exercise.id)}{where}")


def whose(report: Report) -> str:
    """Return in words which exercises ran with the learner's functions, and which of them the reference replaced, because other
    exercises fail with them: `yours: 02.1; reference in place of your 02.2, with which others fail; reference: the rest`.
    """
    parts = [f"yours: {' '.join(report.yours) or 'none'}"]
    if report.suspects:
        parts.append(f"reference in place of your {' '.join(report.suspects)}, with which others fail")
    return "; ".join([*parts, "reference: the rest"])


def hanging(screen: Screen, lead: str, text: str, *styles: str) -> None:
    """Show a paragraph whose first line begins with `lead`; its other lines are indented by the width of `lead`."""
    lines = textwrap.wrap(text, max(screen.width - 1 - len(lead), 20), break_on_hyphens=False) or [""]
    for before, line in zip(itertools.chain([lead], itertools.repeat(" " * len(lead))), lines, strict=False):
        screen.line(before + line, *styles)


# --- one failing check --------------------------------------------------------------------------------------------


def show_failure(screen: Screen, result: CheckResult, places: Places) -> None:
    """Show a failed check: the first difference, with the call and example numbers if they are known, the words of
    `explain` on the cache misses, and the line of the failure.
    """
    difference = result.difference
    if result.sentence:
        screen.line()
        screen.text(result.sentence, 6, "bold")
    if difference is not None:
        if difference.where != "result":
            screen.text(f"in {difference.where}", 6, "dim")
        screen.line()
        if result.call:
            show_side(screen, "call", [result.call], "bold")
        expected, actual = both_sides(difference.expected, difference.actual)
        show_side(screen, "expected", expected, "green")
        show_side(screen, "yours", actual, "red")
        numbers = numbers_of(result)
        if numbers:
            screen.line()
            screen.text(numbers, 6)
    if result.misses:
        screen.line()
        screen.line("      what `explain` says of these calls:", "dim")
        lines = result.misses.splitlines()
        for line in lines[:_MOST_OUTPUT]:
            for piece in _pieces(line, max(screen.width - 9, 20)):
                screen.line(f"        {piece}")
        if len(lines) > _MOST_OUTPUT:
            screen.line(f"        ({_more(len(lines) - _MOST_OUTPUT)})", "dim")
    show_line(screen, result.line, places)


def both_sides(expected: str, actual: str) -> tuple[list[str], list[str]]:
    """Return two strings as lines, from shortly before their first difference."""
    one, other = expected.splitlines() or [""], actual.splitlines() or [""]
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    start = max(same - _CONTEXT, 0)
    skipped = [f"(the first {start} lines are the same)"] if start else []
    return [*skipped, *one[start:]], [*skipped, *other[start:]]


def show_side(screen: Screen, name: str, lines: Sequence[str], color: str) -> None:
    """Show lines beside a name, such as `expected`, at most `_MOST_LINES`. A line that is too long for the screen continues on the next."""
    lead = f"      {name:10}"
    room = max(screen.width - 1 - len(lead), 20)
    shown = [piece for line in lines for piece in _pieces(line, room)]
    if len(shown) > _MOST_LINES:
        shown = [*shown[:_MOST_LINES], f"({_more(len(shown) - _MOST_LINES)} in the file below)"]
    for i, line in enumerate(shown):
        screen.line((lead if i == 0 else " " * len(lead)) + line, color)


def _more(count: int) -> str:
    return f"{count} more line{'s' * (count != 1)}"


def _pieces(line: str, room: int) -> list[str]:
    """Return a line, cut into pieces that fit, at spaces if possible. Escape characters become `?`."""
    line = line.replace("\x1b", "?")
    return textwrap.wrap(
        line, room, subsequent_indent="  ", break_on_hyphens=False, drop_whitespace=False, replace_whitespace=False
    ) or [""]


def numbers_of(result: CheckResult) -> str:
    """Return a sentence with example numbers for which the two jaxprs of a result differ; "" if none are found."""
    pair = _first_jaxprs(result.expected, result.value)
    return witness(*pair) if pair is not None else ""


def _first_jaxprs(expected: Plain | None, actual: Plain | None) -> tuple[Plain, Plain] | None:
    """Return the expected and the actual jaxpr, if the result is a jaxpr, or a list in which one differs; else None."""
    if expected is None or actual is None or expected["is"] != actual["is"]:
        return None
    if expected["is"] == "jaxpr":
        return expected, actual
    if expected["is"] in ("list", "tuple"):
        pairs = zip(expected["items"], actual["items"], strict=False)
        found = (_first_jaxprs(*pair) for pair in pairs if pair[0] != pair[1])
        return next((pair for pair in found if pair is not None), None)
    return None


def show_line(screen: Screen, line: tuple[str, int] | None, places: Places) -> None:
    """Show a place, and the text of its line; nothing if it is None."""
    if line is None or not line[0]:
        return
    path, number = line
    linecache.checkcache(path)
    text = linecache.getline(path, number).strip()
    is_program = pathlib.Path(path).name == "checks.py"
    where = f"checks.py:{number} (the program of the check)" if is_program else places.place(path, number)
    screen.line()
    screen.line(f"      {where}", "cyan")
    if text:
        for piece in _pieces(text, max(screen.width - 9, 20)):
            screen.line(f"        {piece}", "cyan")


def show_program(
    screen: Screen,
    result: CheckResult,
    title: str = "the program of the check, where `jk` is jitkit with your functions in it:",
) -> None:
    """Show the program of a check: how it calls the learner's functions, and its result; nothing if its source cannot be read."""
    try:
        lines = textwrap.dedent(inspect.getsource(result.check.program)).splitlines()
    except OSError:
        return
    start = next((i for i, line in enumerate(lines) if line.startswith("def ")), 0)
    screen.line()
    screen.text(title, 6, "dim")
    for line in lines[start : start + _MOST_OF_A_PROGRAM]:
        for piece in _pieces(line, max(screen.width - 9, 20)):
            screen.line(f"        {piece}", "dim")
    if len(lines) - start > _MOST_OF_A_PROGRAM:
        screen.line("        ...", "dim")


def show_random_program(screen: Screen, report: Report, result: CheckResult, places: Desk) -> None:
    """Show the random program that makes a difference, without its imports, and how to run it from a file, which is written if possible."""
    path = places.kept / "last" / f"{report.exercise.id}.py"
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(result.program, encoding="utf-8")
    screen.line()
    screen.text("a program that nobody wrote before, and the shortest like it that shows the difference:", 6, "dim")
    lines = [line for line in result.program.splitlines() if line and not line.startswith(("import", "from"))]
    for line in lines[:_MOST_OF_A_PROGRAM]:
        for piece in _pieces(line, max(screen.width - 9, 20)):
            screen.line(f"        {piece}", "dim")
    if len(lines) > _MOST_OF_A_PROGRAM:
        screen.line("        ...", "dim")
    run = places.run_with(report.exercise.id, path)
    if run:
        screen.line(f"      with your function: {run}", "dim")


def show_output(screen: Screen, output: str) -> None:
    """Show what the learner's functions printed in a check."""
    if not output.strip():
        return
    width = max(screen.width - 9, 20)
    lines = [piece for line in output.rstrip("\n").splitlines() for piece in _pieces(line, width)]
    screen.line()
    screen.line("      printed:", "dim")
    for line in lines[:_MOST_OUTPUT]:
        screen.line(f"        {line}")
    if len(lines) > _MOST_OUTPUT:
        screen.line(f"        ({_more(len(lines) - _MOST_OUTPUT)} in the file below)", "dim")


# --- progress -----------------------------------------------------------------------------------------------------


def show_progress(screen: Screen, look: Look, lab_number: str) -> None:
    """Show, in one line, which exercises of the lab pass, and how much of the course."""
    items = list(look.exercises())
    mine = [exercise for lab, exercise in items if lab.number == lab_number]
    if not mine:
        return
    done = sum(map(look.passes, mine))
    all_done = sum(look.passes(exercise) for _, exercise in items)
    glyphs = " ".join(f"{exercise.id}{glyph_of(look, exercise)}" for exercise in mine)
    screen.line()
    screen.line(f"  lab {lab_number}: {done} of {len(mine)}  {glyphs}")
    bar = screen.bar(all_done / len(items), 20) if all_done else ""
    screen.line(f"  all labs: {all_done} of {len(items)}  {bar}", "dim")


def glyph_of(look: Look, exercise: Exercise) -> str:
    """Return the state of an exercise as one character: `!` if it passes and another exercise fails with it."""
    return "!" if look.suspicion(exercise) else MARKS[look.standing(exercise)][0]


def show_messages(screen: Screen, workspace: Workspace) -> None:
    """Show the messages of the learner's state file, once."""
    for message in workspace.state.messages:
        screen.text(message, 0, "yellow")
    workspace.state.messages.clear()


# --- in a file ----------------------------------------------------------------------------------------------------


def write_dump(report: Report, folder: pathlib.Path) -> pathlib.Path | None:
    """Write everything about a verdict to a file, as text, and return its path; None if it cannot be written."""
    path = folder / f"{report.exercise.id}.txt"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(dump_lines(report.verdict)) + "\n", encoding="utf-8", errors="replace")
    except OSError:
        return None
    return path


def dump_lines(verdict: Verdict) -> Iterable[str]:
    """Yield the lines of a verdict in full."""
    yield f"{verdict.exercise.id} {verdict.exercise.title}: {verdict.status} {verdict.sentence}".rstrip()
    for result in verdict.results:
        yield f"\n=== {result.check.name}: {result.status}. {result.check.sentence}"
        if result.status == Status.PASS:
            continue
        yield result.sentence
        yield from filter(None, (result.call and f"call: {result.call}", result.misses))
        for name, value in (("expected", result.expected), ("yours", result.value)):
            if value is not None:
                yield f"--- {name}"
                yield full_text(value)
        if result.difference is not None and result.difference.frames:
            yield "--- where the error came from, outermost first"
            yield from (f"{path}:{line}" for path, line in result.difference.frames)
        if result.output:
            yield "--- printed"
            yield result.output


def full_text(value: Plain) -> str:
    """Return plain data as text, in full: a jaxpr as jitkit prints it, StableHLO and strings without quotes, the items
    of a list on a line each.
    """
    if value["is"] == "jaxpr":
        return program_text(value)
    if value["is"] in ("stablehlo", "str"):
        return str(value.get("text", value.get("value", "")))
    if value["is"] in ("list", "tuple"):
        return "\n".join(f"[{i}] {full_text(item)}" for i, item in enumerate(value["items"]))
    return describe(value)


def as_data(report: Report, places: Places) -> Mapping[str, object]:
    """Return a report as data: what `check --json` prints."""
    verdict = report.verdict
    return {
        "id": verdict.exercise.id,
        "title": verdict.exercise.title,
        "status": verdict.status,
        "sentence": verdict.sentence,
        "line": _place(verdict.line, places),
        "points": verdict.exercise.points,
        "passed": verdict.passed,
        "yours": list(report.yours),
        "blame": report.blame,
        "checks": [
            {
                "name": result.check.name,
                "status": result.status,
                "check": result.check.sentence,
                "sentence": result.sentence,
                "call": result.call,
                "where": result.difference.where if result.difference is not None else "",
                "expected": result.difference.expected if result.difference is not None else "",
                "actual": result.difference.actual if result.difference is not None else "",
                "line": _place(result.line, places),
                "output": result.output,
                "seconds": round(result.seconds, 4),
            }
            for result in verdict.results
        ],
    }


def _place(line: tuple[str, int] | None, places: Places) -> str:
    return places.place(*line) if line is not None and line[0] else ""
