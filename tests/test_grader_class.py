"""A class in which one submission in ten is hostile, and whose grader is killed twice: each student gets the same grade
as alone, in any order.

JITKIT_CLASS says how many students it has, else 40.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time
from xml.etree import ElementTree

import pytest
from grader_class import HALF, half_of, write_class

from grading.__main__ import main
from grading.grader import handed_over, leftovers
from grading.grader.bubblewrap import JailError
from grading.grader.files import file_name
from grading.grader.grade import Grader
from grading.grader.policy import read_policy
from grading.grader.selftest import self_test
from grading.grader.standing import Standing
from grading.grader.store import Store, StoreError
from grading.grader.trials import Settings
from grading.shared import ROOT
from jitkit.kata.engine.manifest import all_labs

NUMBERS = ["00", "01"]
LABS = [lab for lab in all_labs() if lab.number in NUMBERS]
COUNT = int(os.environ.get("JITKIT_CLASS", "40"))
# points of ten: `late` is three days late, and `partly` passes five of seven checks
POINTS = {"right": 10.0, "late": 7.0, "partly": 7.14, "stub": 0.0, "wrong": 0.0, "unreadable": None}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    try:
        assert self_test() == []
    except JailError as error:
        pytest.skip(f"needs bubblewrap: {error}")
    return tmp_path_factory.mktemp("class")


def verdict(grade, checks, hostile):
    """Return what must be the same in each run. For a hostile submission these are not the checks' statuses: a fork bomb, say,
    may hit one limit or another.
    """
    return grade.outcome, grade.points, None if hostile else [c["status"] for c in checks]


def alone(path, settings, kinds):
    """Grade one student after the other, the last one first, without results of the others; return the verdicts by student and
    exercise.
    """
    grader = Grader(LABS, settings)
    workers, found = grader.workers(), {}
    try:
        for entry in reversed(handed_over.entries(path)):
            graded = grader.grade(workers, entry.student, entry.path, NUMBERS)
            checks = {provenance.key: result.checks for provenance, result in graded.results}
            hostile = kinds[entry.student].startswith("hostile")
            for g in graded.grades:
                found[entry.student, g.exercise] = verdict(g, checks.get(g.result, ()), hostile)
    finally:
        workers.close()
    return found


def descendants(pid):
    """Return the processes that a process has started, with all that these have started."""
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_bytes().rpartition(b")")[2].split()[1])
    family = {pid}
    while grown := {child for child, parent in parents.items() if parent in family} - family:
        family |= grown
    return family - {pid}


def count_of(out):
    with contextlib.suppress(StoreError, sqlite3.Error), Store(out) as store:
        return len({g.student for g in store.grades()})
    return 0


def graded_until(words, out, wanted, tmp):
    """Grade in a process, and kill it when `wanted` submissions have grades. Check that no process that it started
    survives.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "grading", *words],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp)},
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and count_of(out) < wanted:
        time.sleep(0.05)
    started = descendants(process.pid)
    process.kill()
    process.wait()
    assert started, "it was killed in the middle"
    deadline = time.monotonic() + 20
    while alive := {pid for pid in started if pathlib.Path(f"/proc/{pid}").exists()}:
        assert time.monotonic() < deadline, alive
        time.sleep(0.05)
    return process.pid


@pytest.mark.tail
def test_a_class_with_hostile_students_and_a_grader_that_is_killed_twice_has_the_grades_of_each_alone(
    folder, monkeypatch, capsys
):
    kinds = write_class(folder / "in", COUNT)
    tmp = folder / "tmp"
    tmp.mkdir()
    out = folder / "out"
    words = ["grade", str(folder / "in"), "--out", str(out), "--quiet", *(f"--lab={number}" for number in NUMBERS)]
    killed = [graded_until(words, out, COUNT * part // 3, tmp) for part in (1, 2)]
    assert COUNT // 3 <= count_of(out) < COUNT
    monkeypatch.setattr(leftovers, "_AGE", -1.0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp))
    assert main(words) == 0
    assert list(tmp.iterdir()) == [], "what the killed ones left was swept"
    groups = [p.name for pid in killed for p in leftovers.GROUPS.glob(f"**/jitkit-{pid}-*")]
    assert groups == []
    with Store(out) as store:
        standing = Standing.of(store)
        settings = Settings(
            int(store.meta("seed")), "alone", read_policy(folder / "in" / "course.toml", all_labs()).limits
        )
    together = {(r.grade.student, r.grade.exercise): r for r in standing.records}
    assert len(standing.records) == len(together)
    assert {name for name, _ in together} == set(kinds)
    expected = alone(folder / "in", settings, kinds)
    found = {key: verdict(r.grade, r.grade.checks, kinds[key[0]].startswith("hostile")) for key, r in together.items()}
    assert found == expected
    written = half_of("01")[1]
    halves = {e.id: e.id in written for e in LABS[1].exercises}
    for (name, exercise), r in together.items():
        if exercise in halves:
            assert r.points == (r.max if halves[exercise] else 0.0), (name, exercise)
        else:
            assert r.points == POINTS.get(kinds[name], 0.0), (name, kinds[name])
    assert {exercise for _, exercise in together} == {None, "00.1", *halves}
    assert len({name for name, exercise in together if exercise in halves}) == -(-COUNT // HALF)
    assert {True, False} == set(halves.values())
    assert [s.id for s in standing.missing] == ["never"]
    every_format_sums_to(standing, out, capsys)


def as_number(text):
    return float(text) if text else None


def added(pairs):
    """Return the sum of points for each name; None for a name without any number."""
    found = {}
    for name, points in pairs:
        before = found.setdefault(name, None)
        found[name] = before if points is None else round((before or 0.0) + points, 2)
    return found


def every_format_sums_to(standing, out, capsys):
    """Check that all export formats give each student the same points, to the cent."""
    own = {}
    for r in standing.records:
        own[r.grade.student] = r.points if r.points is None else round(own.get(r.grade.student, 0.0) + r.points, 2)

    def exported(kind, *more):
        assert main(["export", str(out), "--to", kind, *map(str, more)]) == 0
        return capsys.readouterr().out

    capsys.readouterr()
    data = json.loads(exported("json"))["grades"]
    assert added((g["student"], g["points"]) for g in data) == own
    for g in data:
        if g["checks"]:
            assert round(sum(c["points"] for c in g["checks"]), 2) == g["points"]
    rows = list(csv.DictReader(io.StringIO(exported("csv"))))
    assert added((r["student"], as_number(r["points"])) for r in rows if r["student"] != "never") == own
    canvas = list(csv.DictReader(io.StringIO(exported("canvas"))))[1:]
    # nothing of an INVALID submission was run: its cell is empty, since a person decides
    invalid = {r.grade.student for r in standing.records if r.grade.outcome == "INVALID"}
    assert invalid == {name for name, points in own.items() if points is None}
    by_name = {f"Student {name[1:]}": points for name, points in own.items()}
    cells = [(r["Student"], as_number(r[f"Lab {lab}"])) for r in canvas for lab in NUMBERS if r["Student"] in by_name]
    assert added(cells) == by_name
    exported("moodle", "--output", out / "moodle")
    moodle = []
    for number in NUMBERS:
        with (out / "moodle" / f"lab_{number}.csv").open(encoding="utf-8", newline="") as stream:
            moodle += [r for r in csv.DictReader(stream) if r["Full name"] in by_name]
    assert added((r["Full name"], as_number(r["Grade"])) for r in moodle) == by_name
    why = [r["Feedback comments"] for r in moodle if r["Full name"] in {f"Student {name[1:]}" for name in invalid}]
    assert len(why) == len(NUMBERS) * len(invalid)
    assert all("is not in UTF-8" in text for text in why)
    exported("gradescope", "--output", out / "gradescope")
    for name, points in own.items():
        result = json.loads((out / "gradescope" / f"{file_name(name)}.json").read_text(encoding="utf-8"))
        assert result["score"] == (points or 0.0), name
        assert round(sum(t["score"] for t in result["tests"]), 2) == (points or 0.0)
    students = ElementTree.fromstring(exported("junit-students"))
    assert len(list(students.iter("testsuite"))) == len(standing.records)
    exported("statistics")
    assert main(["report", str(out)]) == 0
