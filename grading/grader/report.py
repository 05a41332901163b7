"""what stands -> pages: one for the class, one for each student, and feedback that may be handed out

Pages are plain HTML without a script; whatever comes from a submission is text in them, since a page is `Markup`, which escapes.
"""

from __future__ import annotations

import collections
import datetime
import html
import pathlib
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from jitkit.kata.engine.manifest import Lab
from jitkit.kata.engine.statuses import Status

from .files import file_name
from .records import NAMES, PASS, GradeStatus
from .similarity import similar
from .standing import Record, Standing, totals
from .store import HandIn
from .tables import told

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}"
    "table{border-collapse:collapse}td,th{padding:.2rem .7rem;text-align:left;border-bottom:1px solid #ccc;vertical-align:top}"
    "td.n{text-align:right}pre{white-space:pre-wrap;background:#f4f4f4;padding:.5rem;overflow-wrap:anywhere}"
    ".bar{background:#3571a3;height:1rem}.warn{background:#fff3cd;padding:.5rem}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}pre{background:#282828}.warn{background:#554400}}"
)

_UNUSUAL = {NAMES[status] for status in (Status.PROTO, Status.LIMIT, Status.TIME)}  # a person should look
_WRONG = {NAMES[status] for status in (Status.FAIL, Status.CRASH)}


class Markup(str):
    """HTML. Pages are made of nothing else, and `markup` alone makes it: of text it makes text, whoever wrote that."""

    __slots__ = ()


def markup(form: str, *values: object) -> Markup:
    """Puts values into HTML, in the order of its `{}`; what is not Markup is escaped."""
    return Markup(form.format(*(v if isinstance(v, Markup) else _escaped(v) for v in values)))


def joined(parts: Iterable[Markup]) -> Markup:
    """One after the other."""
    return Markup("".join(parts))


def _escaped(text: object) -> str:
    return html.escape("".join(c if c.isprintable() or c == "\n" else "�" for c in str(text)))


def write_report(folder: pathlib.Path, standing: Standing) -> pathlib.Path:
    """Writes `index.html`, a page for each student for the instructor, and `feedback/` for students; returns the first."""
    handins = standing.last_handins()
    pages, feedback = folder / "students", folder / "feedback"
    pages.mkdir(parents=True, exist_ok=True)
    feedback.mkdir(parents=True, exist_ok=True)
    for student, own in standing.by_student().items():
        for place, everything in ((pages, True), (feedback, False)):
            page = student_page(student, own, standing, everything, handins.get(student, ()))
            (place / _page_name(student)).write_text(page, encoding="utf-8")
    index = folder / "index.html"
    index.write_text(class_page(standing), encoding="utf-8")
    return index


def _page_name(student: str) -> str:
    return f"{file_name(student)}.html"


def student_page(
    student: str, records: Sequence[Record], standing: Standing, everything: bool, handins: Sequence[HandIn] = ()
) -> Markup:
    """A student's verdicts. Without `everything`, hidden checks are told by their sentence and verdict only, and no flag is."""
    parts = [markup("<h1>{}</h1>", student), _warned(standing.warning), markup("<p>{}</p>", _points(records))]
    for r in records:
        g = r.grade
        title = g.exercise if g.exercise is not None else "The submission"
        parts.append(markup("<h2>{}: {} of {}</h2>", title, _number(r.points), _number(r.max)))
        if g.outcome != GradeStatus.OK or g.sentence:
            parts.append(markup("<p>{}: {}</p>", g.outcome, g.sentence))
        if everything and r.flags:
            parts.append(markup("<p class=warn>A person should look: {}</p>", "; ".join(r.flags)))
        if g.checks and not g.sentence:
            parts.append(_table(("verdict", "check"), (_check_row(c, everything) for c in g.checks)))
    if handins:
        parts.append(_taken(handins, standing.policy.timezone))
    return _page(student, parts)


def _taken(handins: Sequence[HandIn], zone: datetime.tzinfo) -> Markup:
    """What was taken of the last hand-in of each lab, and what was passed over."""
    rows = (
        markup(
            "<tr><td>{}<td>{}<td>{}",
            h.lab or "",
            "; ".join(h.taken) or "nothing",
            datetime.datetime.fromtimestamp(h.handed_in, zone).strftime("%Y-%m-%d %H:%M %Z"),
        )
        for h in handins
    )
    passed = dict.fromkeys(pair for h in handins[-1:] for pair in h.passed)
    over = _table(("passed over", "why"), (markup("<tr><td>{}<td>{}", path, why) for path, why in passed))
    return markup("<h2>What was handed in</h2>{}{}", _table(("lab", "taken", "written"), rows), over)


def _check_row(check: dict[str, Any], everything: bool) -> Markup:
    row = markup("<tr><td>{}<td>{}{}", check["status"], check["about"], " (hidden)" if check["hidden"] else "")
    if check["status"] == PASS or (check["hidden"] and not everything):
        return row
    return markup("{}<pre>{}</pre>", row, told(check | {"hidden": False} if everything else check))


def class_page(standing: Standing) -> Markup:
    """The overview."""
    records = standing.records
    sums = totals(records)
    numbers = sorted({lab for found in sums.values() for lab in found})
    names = {s.id: s.name for s in standing.policy.roster}
    rows = (
        markup(
            "<tr><td>{}<td>{}{}", _link(student), names.get(student, ""), joined(_cell(found.get(n)) for n in numbers)
        )
        for student, found in sums.items()
    )
    parts = [
        markup("<h1>The class</h1>{}", _warned(standing.warning)),
        markup("<p>{} students, {} labs.</p>", len(sums), len(numbers)),
        markup("<h2>Points</h2>{}", _histogram(sums)),
        markup("<h2>What needs a person's eye</h2>{}", _eye(records)),
        markup("<h2>The hardest exercises</h2>{}", _hardest(records, standing.labs)),
        markup("<h2>What the class believes</h2>{}", _misconceptions(records)),
        markup("<h2>Submissions that read alike</h2>{}", _alike(records)),
        markup("<h2>Students</h2>{}", _table(("student", "name", *numbers), rows)),
    ]
    return _page("The class", parts)


def _cell(points: tuple[float | None, float] | None) -> Markup:
    return markup("<td class=n>{}", _number(points[0] if points is not None else None))


def _link(student: str) -> Markup:
    return markup('<a href="students/{}">{}</a>', _page_name(student), student)


def _table(head: Iterable[str], rows: Iterable[Markup], instead: str = "") -> Markup:
    """A table; `instead` stands there where it has no row."""
    body = joined(rows)
    if not body:
        return markup("<p>{}</p>", instead)
    return markup("<table><tr>{}{}</table>", joined(markup("<th>{}", name) for name in head), body)


def _histogram(sums: dict[str, dict[str, tuple[float | None, float]]]) -> Markup:
    parts = []
    for found in sums.values():
        points, most = sum(p or 0.0 for p, _ in found.values()), sum(m for _, m in found.values())
        parts.append(points / most if most else 0.0)
    if not parts:
        return markup("<p>There are none.</p>")
    bins = collections.Counter(min(9, int(10 * part)) for part in parts)
    most = max(bins.values())
    form = "<tr><td>{}&ndash;{} %<td class=n>{}<td><div class=bar style='width:{}rem'></div>"
    rows = (markup(form, 10 * i, 10 * i + 10, bins[i], f"{20 * bins[i] / most:.1f}") for i in range(10))
    median = f"{100 * statistics.median(parts):.0f}"
    return markup("<table>{}</table><p>Median {} % of the points that could be had.</p>", joined(rows), median)


def _eye(records: Iterable[Record]) -> Markup:
    rows = []
    for r in records:
        reasons = [*r.flags]
        if r.grade.outcome != GradeStatus.OK:
            reasons.append(f"{r.grade.outcome}: {r.grade.sentence}")
        reasons += sorted({f"{c['status']} in {c['name']}" for c in r.grade.checks if c["status"] in _UNUSUAL})[:3]
        if reasons:
            link = _link(r.grade.student)
            rows.append(markup("<tr><td>{}<td>{}<td>{}", link, r.grade.exercise or "", "; ".join(reasons)))
    return _table(("student", "exercise", "why"), rows, "Nothing.")


def _hardest(records: Iterable[Record], labs: Sequence[Lab]) -> Markup:
    titles = {e.id: e.title for lab in labs for e in lab.exercises}
    parts: dict[str, list[float]] = {}
    for r in records:
        if r.grade.exercise is not None and r.points is not None and r.max:
            parts.setdefault(r.grade.exercise, []).append(r.points / r.max)
    means = sorted((statistics.fmean(found), id) for id, found in parts.items())[:10]
    form = "<tr><td>{} {}<td class=n>{} %"
    rows = (markup(form, id, titles.get(id, ""), f"{100 * mean:.0f}") for mean, id in means)
    return _table(("exercise", "mean"), rows, "None yet.")


def _misconceptions(records: Iterable[Record]) -> Markup:
    """A check that fails is against a misconception; one check is no proof that it is this one."""
    count: collections.Counter[tuple[str, str]] = collections.Counter()
    for r in records:
        if r.grade.sentence:
            continue
        failed = (c for c in r.grade.checks if c["status"] in _WRONG)
        believed = dict.fromkeys(text for c in failed for text in c["against"])
        count.update((r.grade.exercise or "", text) for text in believed)
    rows = (markup("<tr><td class=n>{}<td>{}<td>{}", n, id, text) for (id, text), n in count.most_common(20))
    return _table(("students", "exercise", "fail a check against"), rows, "Nothing stands out.")


def _alike(records: Sequence[Record]) -> Markup:
    form = "<tr><td>{}<td>{}<td>{}<td class=n>{} %"
    pairs = similar(records)[:50]
    rows = [markup(form, p.one, p.other, ", ".join(p.exercises), f"{100 * p.alike:.0f}") for p in pairs]
    note = "Runs of tokens with names made equal, without those that many have. It is a reason to look, and no proof."
    table = _table(("one", "other", "exercises", "shared"), rows, "None.")
    return markup("<p>{}</p>{}", note, table) if rows else table


def _points(records: Sequence[Record]) -> str:
    if any(r.points is None for r in records):
        return "Not all of it has a score yet: the grader had a fault."
    return f"{sum(r.points or 0.0 for r in records):g} of {sum(r.max for r in records):g} points."


def _warned(warning: str) -> Markup:
    return markup("<p class=warn>{}</p>", warning) if warning else Markup()


def _number(value: float | None) -> Markup:
    return markup("&ndash;") if value is None else markup("{}", f"{value:g}")


def _page(title: str, parts: Iterable[Markup]) -> Markup:
    head = (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        "<title>{}</title><style>{}</style>{}\n"
    )
    return markup(head, title, Markup(_STYLE), joined(parts))
