"""standing grades -> pages: one for the class, one for each student, and feedback that may be handed out

The pages are made from jinja2 templates, in `pages/`, which escape all strings. Students' pages have no script. The page of the class
has one, which sorts and filters its table; the page contains the script's hash, so that a browser does not run any other.
"""

from __future__ import annotations

import base64
import collections
import datetime
import functools
import hashlib
import importlib
import pathlib
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jitkit.kata.engine.statuses import Status

from . import figures
from .files import file_name
from .records import NAMES, PASS, GradeStatus, HandIn
from .roster import Student
from .similarity import similar
from .standing import Record, Standing, most_of_labs, totals
from .tables import ExportError, told

_PAGES = pathlib.Path(__file__).with_name("pages")
_UNUSUAL = {NAMES[status] for status in (Status.PROTO, Status.LIMIT)}  # statuses at which a person should look
_SLOW = NAMES[Status.TIME]
_WORD_FOR_WORD = "word for word"
_MOST_PAIRS = 50  # at most this many pairs of similar submissions are shown
_COLORS = {"alarm": "bad", "unmarked": "bad", "late": "warn"}  # of the labels ("chips") on a page, by their kind
_MOST_NAMED = 3  # at most this many exercises are named beside a remark
_FILTERS = {
    "alarm": "to look at",
    "late": "late",
    "alike": "alike",
    "by-hand": "by hand",
    "unmarked": "no mark yet",
    "missing": "never handed in",
}


class View(NamedTuple):
    """The standing grades, and the data that all pages need; `most_of` has the maximum points of each lab that anybody has handed in."""

    standing: Standing
    students: Mapping[str, Student]
    titles: Mapping[str, str]
    most_of: Mapping[str, float]

    @classmethod
    def of(cls, standing: Standing) -> View:
        """Return a view of the standing grades."""
        return cls(standing, standing.students, standing.titles, most_of_labs(totals(standing.records)))


class Group(NamedTuple):
    """A remark, with the students and the exercises that it is about."""

    reason: str
    students: Mapping[str, list[str]]


@functools.cache
def _templates() -> Any:
    """Return the templates. Raise ExportError if jinja2 is not installed."""
    try:
        jinja2: Any = importlib.import_module("jinja2")
    except ImportError:
        raise ExportError(
            'pages need jinja2, which is not installed; in your clone: pip install -e ".[grader]"'
        ) from None

    def clean(value: Any) -> Any:
        """Return a string with U+FFFD in place of unprintable characters except line feeds. Return HTML, and any other value, unchanged."""
        if not isinstance(value, str) or hasattr(value, "__html__"):
            return value
        return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in value)

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PAGES), autoescape=True, finalize=clean, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    made.globals["page_name"] = page_name
    return made


def write_report(folder: pathlib.Path, standing: Standing) -> pathlib.Path:
    """Write `index.html`, a page about each student for the instructor, and `feedback/` for students; return the path of `index.html`.
    Raise ExportError if jinja2 is not installed.
    """
    view, handins = View.of(standing), standing.all_handins()
    pages, feedback = folder / "students", folder / "feedback"
    pages.mkdir(parents=True, exist_ok=True)
    feedback.mkdir(parents=True, exist_ok=True)
    for student, own in standing.by_student().items():
        for place, everything in ((pages, True), (feedback, False)):
            page = student_page(student, own, view, everything, handins.get(student, ()))
            (place / page_name(student)).write_text(page, encoding="utf-8")
    index = folder / "index.html"
    index.write_text(class_page(view), encoding="utf-8")
    return index


def page_name(student: str) -> str:
    """Return the name of a student's page."""
    return f"{file_name(student)}.html"


def _number(value: float | None) -> str:
    return "\u2013" if value is None else f"{value:g}"


# --- a student ------------------------------------------------------------------------------------------------------------


def student_page(
    student: str, records: Sequence[Record], view: View, everything: bool, handins: Sequence[HandIn] = ()
) -> str:
    """Return a student's page. Without `everything`, it shows only the sentence and the verdict of hidden checks, and
    no flags.
    """
    standing = view.standing
    labs: dict[str, list[Record]] = {}
    for r in records:
        if r.grade.lab is not None:
            labs.setdefault(r.grade.lab, []).append(r)
    titles = {lab.number: lab.title for lab in standing.labs}
    points = [r.points for r in records if r.grade.exercise is not None]
    fault = any(r.points is None and r.grade.outcome == GradeStatus.INFRA for r in records)
    shown = [
        {
            "number": lab, "title": titles.get(lab, ""), "when": _when(student, lab, own, standing, handins),
            "points": _number(_sum(r.points for r in own)), "max": _number(_sum(r.max for r in own)),
            "exercises": [_exercise(r, view, everything) for r in own],
        }
        for lab, own in labs.items()
    ]  # fmt: skip
    absent = {
        lab: points for lab, points in view.most_of.items() if lab not in labs and not standing.policy.is_extra(lab)
    }
    own = [r.max for r in records if r.grade.exercise is not None and not standing.policy.is_extra(r.grade.lab or "")]
    most = _sum([*own, *absent.values()])
    zone = standing.policy.timezone
    rows = [
        {"when": _time(h.handed_in, zone), "lab": h.lab or "nothing was run", "taken": "; ".join(h.taken) or "nothing"}
        for h in reversed(handins)
    ]
    return str(
        _templates().get_template("student.html").render(
            title=student, name=view.students[student].name if student in view.students else "", warning=standing.warning,
            script_hash="", everything=everything, total=_number(_sum(points)), most=_number(most), labs=shown,
            absent=[_absent(student, lab, points, view) for lab, points in absent.items()] if labs else [],
            fault=fault, said=list(dict.fromkeys(_of_all(r, zone) for r in records if r.grade.exercise is None or _is_older(r))),
            next=_next_step(records, view), handins=rows,
            passed=dict.fromkeys(pair for h in handins[-1:] for pair in h.passed),
        )
    )  # fmt: skip


def _is_older(record: Record) -> bool:
    return any(flag.startswith("a later submission") for flag in record.flags)


def _of_all(record: Record, zone: datetime.tzinfo) -> str:
    """Return the sentence about a submission as a whole."""
    g = record.grade
    if g.exercise is None:
        when = f" (handed in {_time(g.handed_in, zone)})" if g.handed_in else ""
        return f"{g.outcome}{when}: {g.sentence}"
    return f"A later submission could not be run. In lab {g.lab} these are the points of the submission before it."


def _absent(student: str, lab: str, points: float, view: View) -> str:
    """Return a sentence about a lab of which the student has handed in nothing that was graded."""
    standing = view.standing
    due = standing.policy.due(student, lab)
    title = next((known.title for known in standing.labs if known.number == lab), "")
    when = f", due {due.astimezone(standing.policy.timezone):%Y-%m-%d %H:%M %Z}" if due is not None else ""
    return f"Lab {lab}, {title} ({points:g} points{when}): you have handed in nothing yet that could be graded."


def _sum(values: Iterable[float | None]) -> float | None:
    found = list(values)
    return None if any(v is None for v in found) else round(sum(v or 0.0 for v in found), 2)


def _time(seconds: float, zone: datetime.tzinfo) -> str:
    return datetime.datetime.fromtimestamp(seconds, zone).strftime("%Y-%m-%d %H:%M %Z") if seconds else ""


def _span(seconds: float) -> str:
    """Return a time as words, `2 days 1 hour`: whole days and hours; below an hour, minutes, rounded up."""
    hours, rest = divmod(int(seconds), 3600)
    parts = [(hours // 24, "day"), (hours % 24, "hour"), (0 if hours else -(-rest // 60), "minute")]
    return " ".join(f"{n} {name}{'s' * (n > 1)}" for n, name in parts if n)


def _when(student: str, lab: str, records: Sequence[Record], standing: Standing, handins: Sequence[HandIn]) -> str:
    """Return when a lab was handed in and due, which attempt it was, and how many points remain after lateness; "" if no time is known."""
    zone = standing.policy.timezone
    own = [h for h in handins if h.lab == lab]
    due = standing.policy.due(student, lab)
    if not records[0].grade.handed_in:
        return ""
    words = [f"Handed in {_time(records[0].grade.handed_in, zone)}"]
    if len(own) > 1:
        counts = "the best one counts" if standing.policy.attempts == "best" else "the last one counts"
        words.append(f"{len(own)} times in all, {counts}")
    if due is not None:
        words.append(f"due {due.astimezone(zone):%Y-%m-%d %H:%M %Z}")
    late = records[0].late
    if late and due is not None:
        after = _span(records[0].grade.handed_in - due.timestamp())
        full = _sum(
            p.max for r in records for p, c in zip(r.parts, r.grade.checks, strict=False) if c["status"] == PASS
        )
        words.append(f"{after} {late} of the {full:g} points of what passed")
    return "; ".join(words) + "."


def _exercise(record: Record, view: View, everything: bool) -> dict[str, Any]:
    standing = view.standing
    g = record.grade
    passed = sum(c["status"] == PASS for c in g.checks)
    right = bool(g.checks) and passed == len(g.checks)
    what = f"{passed} of {len(g.checks)} pass" if g.checks else str(g.outcome)
    lines = [
        {
            "status": c["status"], "passed": c["status"] == PASS, "about": c["about"], "hidden": c["hidden"],
            "told": _told(c, everything), "points": _number(p.points), "max": _number(p.max),
        }
        for c, p in zip(g.checks, record.parts, strict=False)
    ]  # fmt: skip
    marks = [m for m in standing.marks if (m.student, m.exercise) == (g.student, g.exercise)]
    return {
        "id": g.exercise, "title": view.titles.get(g.exercise or "", ""), "points": _number(record.points), "max": _number(record.max),
        "checks": "by hand" if record.mark is not None and not g.checks else what, "color": "good" if right else "bad" if g.checks else "",
        "by_hand": record.by_hand, "sentence": f"{g.outcome}: {g.sentence}" if g.outcome != GradeStatus.OK else g.sentence,
        "flags": [f for f in record.flags if f != record.late], "rows": [] if g.sentence else lines,
        "requests": [r for r in standing.policy.requests if (r.student, r.exercise) == (g.student, g.exercise)],
        "history": [f"{m.at[:10]} {m.by}: {'as graded' if m.points is None else f'{m.points:g}'} ({m.reason}) {m.comment}" for m in marks],
    }  # fmt: skip


def _told(check: dict[str, Any], everything: bool) -> str:
    if check["status"] == PASS or (check["hidden"] and not everything):
        return ""
    return told(check | {"hidden": False} if everything else check)


def _next_step(records: Sequence[Record], view: View) -> str:
    """Return what a student may do next: a sentence about the first exercise that does not pass. Skip exercises that
    were marked by hand, or on which the grader had a fault; return "" if no exercise is left.
    """
    for r in records:
        g = r.grade
        failed = sum(c["status"] != PASS for c in g.checks)
        if g.exercise is not None and (failed or not g.checks) and r.mark is None and g.outcome != GradeStatus.INFRA:
            title = view.titles.get(g.exercise, "")
            what = f"{failed} of {len(g.checks)} checks do not pass yet" if g.checks else "it could not be run"
            if g.lab is not None and g.lab.isdigit():
                return f"{g.exercise} ({title}), {what}. `jitkit check {g.exercise}` shows them, and `jitkit hint {g.exercise}` helps."
            return f"rung {g.exercise} ({title}), {what}."
    return ""


# --- the class ------------------------------------------------------------------------------------------------------------


def class_page(view: View) -> str:
    """Return the page of the class as HTML: points by student, what a person should look at, and figures. Raise ExportError without
    jinja2.
    """
    standing, records = view.standing, view.standing.records
    by_student = standing.by_student()
    sums = totals(records)
    most_of = most_of_labs(sums)
    labs = list(most_of)
    most = _sum(points for lab, points in most_of.items() if not standing.policy.is_extra(lab)) or 0.0
    pairs = similar(records)[:_MOST_PAIRS]
    alike = {name for p in pairs for name in (p.one, p.other)}
    open_ = [r for r in standing.policy.requests if not r.answer and not _is_answered(r.student, r.exercise, standing)]
    asks = {r.student for r in open_}
    script = (_PAGES / "table.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    names = {id: s.name for id, s in view.students.items()}
    rows: list[dict[str, Any]] = []
    for id in view.students:
        own = by_student.get(id, [])
        found = sums.get(id, {})
        total = _sum(points for points, _ in found.values()) if found else None
        kinds = _kinds(own, id in alike, id in asks)
        part = total / most if total is not None and most else None
        rows.append({
            "id": id, "name": names[id], "there": bool(own), "total": _number(total) if found else "",
            "why": "; ".join(r.grade.sentence for r in own if r.grade.exercise is None),
            "part": "" if part is None else f"{part:.4f}", "percent": "" if part is None else f"{100 * part:.0f}",
            "labs": [_number(found[lab][0]) if lab in found else "" for lab in labs], "kinds": list(kinds),
            "handed_in": _time(max((r.grade.handed_in for r in own), default=0.0), standing.policy.timezone)[:16],
            "chips": [{"text": text, "color": _COLORS.get(k, "soft")} for k, text in kinds.items()],
        })  # fmt: skip
    parts = figures.of_class(standing)
    kinds_there = {kind for row in rows for kind in row["kinds"]}
    return str(
        _templates().get_template("class.html").render(
            title="The class", warning=standing.warning, script_hash=f"'sha256-{digest}'",
            names=names, course=f"Points: {'the best' if standing.policy.attempts == 'best' else 'the last'} hand-in of each lab. ",
            now=datetime.datetime.now(standing.policy.timezone).strftime("%Y-%m-%d %H:%M %Z"), rows=rows,
            missing=len(standing.missing),
            median=statistics.median(parts) if parts else None, looked_at=sum("alarm" in row["kinds"] for row in rows),
            filters=[(value, text) for value, text in _FILTERS.items() if value in kinds_there], labs=labs, most=_number(most),
            lab_titles={lab.number: lab.title for lab in standing.labs}, most_of={k: _number(v) for k, v in most_of.items()},
            alarms=_groups(records, _alarms), slow=_groups(records, _slow), copies=_groups(records, _copies),
            late=_groups(records, lambda r: [r.late] if r.late else []),
            requests=standing.policy.requests, marks=standing.marks, pairs=pairs, bins=_bins(parts), lab_figures=figures.of_labs(standing),
            hardest=sorted(figures.of_exercises(standing), key=lambda s: s.mean)[:10], checks=figures.of_checks(standing)[:15],
            beliefs=figures.beliefs(records),
        )
    )  # fmt: skip


def _is_answered(student: str, exercise: str, standing: Standing) -> bool:
    return any((m.student, m.exercise) == (student, exercise) for m in standing.marks)


def _kinds(records: Sequence[Record], alike: bool, asks: bool) -> dict[str, str]:
    """Return the kinds of remarks about a student (keys of `_FILTERS`), each with a few words that the table shows.

    Args:
      alike: whether the student is in one of the pairs that are shown.
      asks: whether a request of the student's is open.
    """
    if not records:
        return {"missing": "never handed in"}
    found = {}
    reasons = [text for r in records for text in _alarms(r)]
    if reasons or asks:
        found["alarm"] = (
            "asks for another look" if asks and not reasons else f"{len(dict.fromkeys(reasons))} to look at"
        )
    unmarked = [r.grade.exercise or "" for r in records if r.mark is None and r.grade.outcome == GradeStatus.INVALID]
    if unmarked:
        more = f" and {len(unmarked) - _MOST_NAMED} more" if len(unmarked) > _MOST_NAMED else ""
        found["unmarked"] = f"no mark for {', '.join(unmarked[:_MOST_NAMED])}{more}" if all(unmarked) else "no mark yet"
    if any(r.late for r in records):
        found["late"] = "late"
    if alike or any(_copies(r) for r in records):
        found["alike"] = "alike"
    if any(r.mark is not None for r in records):
        found["by-hand"] = "by hand"
    return found


def _alarms(record: Record) -> list[str]:
    """Return the reasons why a person should look at a record, except lateness and code that is the reference's word for word,
    which have their own parts of the page.
    """
    g = record.grade
    found = [f for f in record.flags if f != record.late and _WORD_FOR_WORD not in f]
    if g.outcome != GradeStatus.OK:
        found.append(f"{g.outcome}: {g.sentence}")
    found += sorted({f"{c['status']} in a check" for c in g.checks if c["status"] in _UNUSUAL})
    return found


def _slow(record: Record) -> list[str]:
    return [c["about"] for c in record.grade.checks if c["status"] == _SLOW]


def _copies(record: Record) -> list[str]:
    return [f for f in record.flags if _WORD_FOR_WORD in f]


def _groups(records: Iterable[Record], reasons: Any) -> list[Group]:
    """Group records by their remarks, `reasons(record)`, the rarest remark first. A group has its students, each with their exercises."""
    found: dict[str, dict[str, list[str]]] = {}
    for r in records:
        for reason in reasons(r):
            own = found.setdefault(reason, {}).setdefault(r.grade.student, [])
            if r.grade.exercise is not None:
                own.append(r.grade.exercise)
    return [
        Group(reason, students) for reason, students in sorted(found.items(), key=lambda item: (len(item[1]), item[0]))
    ]


def _bins(parts: Sequence[float]) -> list[dict[str, Any]]:
    """Return the number of students in each tenth of the points, with the width of its bar; [] without students."""
    if not parts:
        return []
    count = collections.Counter(max(0, min(9, int(10 * part))) for part in parts)
    return [{"count": count[i], "width": f"{100 * count[i] / max(count.values()):.1f}"} for i in range(10)]
