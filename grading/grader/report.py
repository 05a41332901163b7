"""what stands -> pages: one for the class, one for each student, and feedback that may be handed out

Pages are plain HTML without a script; whatever comes from a submission is text in them.
"""

from __future__ import annotations

import collections
import hashlib
import html
import pathlib
import re
import statistics
from collections.abc import Iterable, Sequence

from jitkit.kata.engine.manifest import Lab

from .exports import UNSANDBOXED, told
from .policy import Policy
from .similarity import similar
from .standing import Record, totals

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}"
    "table{border-collapse:collapse}td,th{padding:.2rem .7rem;text-align:left;border-bottom:1px solid #ccc;vertical-align:top}"
    "td.n{text-align:right}pre{white-space:pre-wrap;background:#f4f4f4;padding:.5rem;overflow-wrap:anywhere}"
    ".bar{background:#3571a3;height:1rem}.warn{background:#fff3cd;padding:.5rem}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}pre{background:#282828}.warn{background:#554400}}"
)


def write_report(
    folder: pathlib.Path, records: Sequence[Record], labs: Sequence[Lab], policy: Policy, sandbox: str
) -> pathlib.Path:
    """Write `index.html`, a page for each student for the instructor, and `feedback/` for students; returns the first."""
    pages, feedback = folder / "students", folder / "feedback"
    pages.mkdir(parents=True, exist_ok=True)
    feedback.mkdir(parents=True, exist_ok=True)
    names = {s.id: s.name for s in policy.roster}
    by_student: dict[str, list[Record]] = {}
    for record in records:
        by_student.setdefault(record.grade.student, []).append(record)
    for student, own in by_student.items():
        name = file_name(student)
        (pages / name).write_text(student_page(student, own, sandbox, everything=True), encoding="utf-8")
        (feedback / name).write_text(student_page(student, own, sandbox, everything=False), encoding="utf-8")
    index = folder / "index.html"
    index.write_text(class_page(by_student, records, labs, names, sandbox), encoding="utf-8")
    return index


def file_name(student: str) -> str:
    """A page's name: of the student's, what a path may have, and a hash that keeps names apart."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", student)[:40]
    return f"{plain}-{hashlib.sha256(student.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}.html"


def student_page(student: str, records: Sequence[Record], sandbox: str, everything: bool) -> str:
    """A student's verdicts. Without `everything`, hidden checks are told by their sentence and verdict only, and no flag is."""
    parts = [f"<h1>{_text(student)}</h1>", _warning(sandbox)]
    parts.append(f"<p>{_points(records)}</p>")
    for r in records:
        g = r.grade
        title = g.exercise if g.exercise is not None else "The submission"
        parts.append(f"<h2>{_text(title)}: {_number(r.points)} of {_number(r.max)}</h2>")
        if g.outcome != "OK" or g.sentence:
            parts.append(f"<p>{_text(g.outcome)}: {_text(g.sentence)}</p>")
        if everything and r.flags:
            parts.append(f"<p class=warn>A person should look: {_text('; '.join(r.flags))}</p>")
        if g.checks and not g.sentence:
            rows = "".join(
                f"<tr><td>{_text(c['status'])}<td>{_text(c['about'])}{' (hidden)' if c['hidden'] else ''}"
                + _detail(c, everything)
                for c in g.checks
            )
            parts.append(f"<table><tr><th>verdict<th>check{rows}</table>")
    return _page(student, parts)


def _detail(check: dict[str, object], everything: bool) -> str:
    if check["status"] == "PASS" or (check["hidden"] and not everything):
        return ""
    shown = dict(check) | {"hidden": False} if everything else check
    return f"<pre>{_text(told(shown))}</pre>"


def class_page(
    by_student: dict[str, list[Record]],
    records: Sequence[Record],
    labs: Sequence[Lab],
    names: dict[str, str],
    sandbox: str,
) -> str:
    """The overview."""
    sums = totals(records)
    numbers = sorted({lab for found in sums.values() for lab in found})
    parts = ["<h1>The class</h1>", _warning(sandbox), f"<p>{len(by_student)} students, {len(numbers)} labs.</p>"]
    parts += ["<h2>Points</h2>", _histogram(sums)]
    parts += ["<h2>What needs a person's eye</h2>", _eye(records)]
    parts += [
        "<h2>The hardest exercises</h2>",
        _hardest(records, labs),
        "<h2>What the class believes</h2>",
        _misconceptions(records),
    ]
    parts += ["<h2>Submissions that read alike</h2>", _alike(records), "<h2>Students</h2>"]
    head = "".join(f"<th>{_text(n)}" for n in numbers)
    rows = []
    for student in by_student:
        cells = "".join(f"<td class=n>{_number(sums[student].get(n, (None, 0.0))[0])}" for n in numbers)
        link = f'<a href="students/{file_name(student)}">{_text(student)}</a>'
        rows.append(f"<tr><td>{link}<td>{_text(names.get(student, ''))}{cells}")
    parts.append(f"<table><tr><th>student<th>name{head}{''.join(rows)}</table>")
    return _page("The class", parts)


def _histogram(sums: dict[str, dict[str, tuple[float | None, float]]]) -> str:
    parts = []
    for found in sums.values():
        points, most = sum(p or 0.0 for p, _ in found.values()), sum(m for _, m in found.values())
        parts.append(points / most if most else 0.0)
    if not parts:
        return "<p>There are none.</p>"
    bins = collections.Counter(min(9, int(10 * part)) for part in parts)
    most = max(bins.values())
    rows = "".join(
        f"<tr><td>{10 * i}&ndash;{10 * i + 10} %<td class=n>{bins[i]}<td><div class=bar style='width:{20 * bins[i] / most:.1f}rem'></div>"
        for i in range(10)
    )
    return f"<table>{rows}</table><p>Median {100 * statistics.median(parts):.0f} % of the points that could be had.</p>"


def _eye(records: Iterable[Record]) -> str:
    rows = []
    for r in records:
        reasons = [*r.flags]
        if r.grade.outcome != "OK":
            reasons.append(f"{r.grade.outcome}: {r.grade.sentence}")
        reasons += sorted(
            {f"{c['status']} in {c['name']}" for c in r.grade.checks if c["status"] in ("PROTO", "LIMIT", "TIME")}
        )[:3]
        if reasons:
            link = f'<a href="students/{file_name(r.grade.student)}">{_text(r.grade.student)}</a>'
            rows.append(f"<tr><td>{link}<td>{_text(r.grade.exercise or '')}<td>{_text('; '.join(reasons))}")
    return f"<table><tr><th>student<th>exercise<th>why{''.join(rows)}</table>" if rows else "<p>Nothing.</p>"


def _hardest(records: Iterable[Record], labs: Sequence[Lab]) -> str:
    titles = {e.id: e.title for lab in labs for e in lab.exercises}
    parts: dict[str, list[float]] = {}
    for r in records:
        if r.grade.exercise is not None and r.points is not None and r.max:
            parts.setdefault(r.grade.exercise, []).append(r.points / r.max)
    means = sorted((statistics.fmean(found), id) for id, found in parts.items())[:10]
    rows = "".join(f"<tr><td>{id} {_text(titles.get(id, ''))}<td class=n>{100 * mean:.0f} %" for mean, id in means)
    return f"<table><tr><th>exercise<th>mean{rows}</table>" if rows else "<p>None yet.</p>"


def _misconceptions(records: Iterable[Record]) -> str:
    """A check that fails is against a misconception; one check is no proof that it is this one."""
    count: collections.Counter[tuple[str, str]] = collections.Counter()
    for r in records:
        if r.grade.sentence:
            continue
        believed = {text for c in r.grade.checks if c["status"] in ("FAIL", "CRASH") for text in c["against"]}
        count.update((r.grade.exercise or "", text) for text in believed)
    rows = "".join(f"<tr><td class=n>{n}<td>{id}<td>{_text(text)}" for (id, text), n in count.most_common(20))
    return (
        f"<table><tr><th>students<th>exercise<th>fail a check against{rows}</table>"
        if rows
        else "<p>Nothing stands out.</p>"
    )


def _alike(records: Sequence[Record]) -> str:
    pairs = similar(records)[:50]
    if not pairs:
        return "<p>None.</p>"
    rows = "".join(
        f"<tr><td>{_text(p.one)}<td>{_text(p.other)}<td>{', '.join(p.exercises)}<td class=n>{100 * p.alike:.0f} %"
        for p in pairs
    )
    note = "<p>Runs of tokens with names made equal, without those that many have. It is a reason to look, and no proof.</p>"
    return f"{note}<table><tr><th>one<th>other<th>exercises<th>shared{rows}</table>"


def _points(records: Sequence[Record]) -> str:
    if any(r.points is None for r in records):
        return "Not all of it has a score yet: the grader had a fault."
    return f"{sum(r.points or 0.0 for r in records):g} of {sum(r.max for r in records):g} points."


def _warning(sandbox: str) -> str:
    return f"<p class=warn>{UNSANDBOXED}</p>" if sandbox == "none" else ""


def _number(value: float | None) -> str:
    return "&ndash;" if value is None else f"{value:g}"


def _text(text: object) -> str:
    plain = "".join(c if c.isprintable() or c == "\n" else "�" for c in str(text))
    return html.escape(plain)


def _page(title: str, parts: Sequence[str]) -> str:
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{_text(title)}</title><style>{_STYLE}</style>{''.join(parts)}\n"
    )
