"""The standing grades, exports, pages, the course's policy, and the store. No test here runs a submission."""

from __future__ import annotations

import ast
import contextlib
import csv
import datetime
import io
import json
import os
import pathlib
import signal
import sqlite3
import time
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grading.__main__ import main
from grading.authoring.verify import check_files
from grading.grader import exports, gradebooks, handed_over, report, similarity
from grading.grader.files import file_name
from grading.grader.jail import ProtocolError, parse_object
from grading.grader.points import split
from grading.grader.policy import check_names, read_policy
from grading.grader.records import Grade, HandIn, Person, Provenance, Result
from grading.grader.roster import PolicyError
from grading.grader.shipped_code import ENTRY, CheckFile, reduced
from grading.grader.standing import UNSANDBOXED, Standing, standing
from grading.grader.store import Store, StoreError
from grading.grader.tables import cell
from grading.grader.verdict import outcome_of
from jitkit.kata.engine.manifest import all_labs
from jitkit.kata.engine.statuses import Status

LABS = all_labs()
EVIL = "=cmd|' /C calc'!A0<script>alert(1)</script>\x07"


def check(status="PASS", hidden=False, **more):
    base = {
        "name": "values",
        "hidden": hidden,
        "about": "What is true.",
        "against": ["a belief"],
        "status": status,
        "line": None,
    }
    return base | {"sentence": "", "seconds": 0.1} | more


def result(key, *checks):
    return Provenance(key, "00.1", "", "", "", "", "", ""), Result("OK", "", checks, 0.5)


def result_of(key, points):
    """Return a result with two checks that is worth this many points: 0, 0.5 or 1."""
    return result(key, check("PASS" if points else "FAIL"), check("PASS" if points == 1.0 else "FAIL"))


def grade(student, submission="s1", points=1.0, outcome="OK", key="r1", exercise="00.1", **more):
    lab = exercise and "00"
    return Grade(student, submission, 0.0, "/in", lab, exercise, outcome, "", points, 1.0, result=key)._replace(**more)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path, write=True) as made:
        yield made


def records(store, policy=None):
    return standing(store.grades(), policy or read_policy(store.folder / "none.toml", LABS))


# --- the store --------------------------------------------------------------------------------------------------


def test_rows_of_the_store_are_never_changed_and_never_doubled(store):
    for _ in range(2):
        store.add([result("r1", check())], [grade("ann"), grade("bob", exercise=None, outcome="INVALID", key="")])
    assert len(list(store.grades())) == 2
    for statement in ("UPDATE grades SET points = 9", "DELETE FROM results", "DELETE FROM grades"):
        with pytest.raises(sqlite3.Error, match="only added to"):
            store.database.execute(statement)


def test_a_path_that_is_no_text_is_kept_as_far_as_it_is(store):
    store.add([], [grade("ann", path="/in/\udcff", sentence="\ud800")])
    assert [g.path for g in store.grades()] == ["/in/?"]


def test_two_graders_do_not_write_to_one_store(store):
    with pytest.raises(StoreError, match="another grader"):
        Store(store.folder, write=True)
    Store(store.folder).close()  # reading needs no lock


@pytest.mark.parametrize(("version", "words"), [(99, "a later version"), (0, "an older version")])
def test_a_store_of_another_version_is_left_as_it_is(tmp_path, version, words):
    with contextlib.closing(sqlite3.connect(tmp_path / "grades.sqlite")) as database:
        database.execute("CREATE TABLE grades (x)")
        database.execute(f"PRAGMA user_version = {version}")
        database.commit()
    with pytest.raises(StoreError, match=words):
        Store(tmp_path, write=True)


def test_a_store_that_is_no_database_is_a_sentence(tmp_path):
    (tmp_path / "grades.sqlite").write_bytes(b"no" * 1000)
    with pytest.raises(StoreError, match="cannot be used"):
        Store(tmp_path, write=True)


@pytest.mark.parametrize("killed", [False, True])
def test_a_store_that_may_only_be_read_is_read_with_all_that_a_killed_grader_left(tmp_path, monkeypatch, killed):
    with Store(tmp_path, write=True) as first:
        first.add([result("r1", check())], [grade("ann")])
        kept = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    if killed:  # the files as they were while the grader ran: the row is in the WAL
        assert kept["grades.sqlite-wal"]
        for name, data in kept.items():
            (tmp_path / name).write_bytes(data)
    before = sorted((p.name, p.read_bytes()) for p in tmp_path.iterdir())
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with Store(tmp_path) as store:
        assert [r.points for r in records(store)] == [1.0]
    assert sorted((p.name, p.read_bytes()) for p in tmp_path.iterdir()) == before, "nothing is written there"


def test_a_full_disk_loses_nothing_that_was_written(store):
    store.add([result("r1", check())], [grade("ann")])
    store.database.execute(f"PRAGMA max_page_count = {store.database.execute('PRAGMA page_count').fetchone()[0]}")
    with pytest.raises(StoreError, match="full"):
        store.add([result("r2", check(sentence="x" * 100_000))], [grade("bob", key="r2")])
    assert [g.student for g in store.grades()] == ["ann"]


# --- what stands ------------------------------------------------------------------------------------------------


def test_a_fault_of_ours_replaces_no_grade_and_is_no_zero(store):
    store.add([], [grade("ann", outcome="INFRA", points=None, key="")])
    assert [r.points for r in records(store)] == [None]
    store.add([result("r1", check())], [grade("ann")])
    store.add([], [grade("ann", outcome="INFRA", points=None, key="again")])
    assert [(r.points, r.grade.outcome) for r in records(store)] == [(1.0, "OK")]


def test_the_last_submission_counts_or_the_best(store, tmp_path):
    store.add([result("r1", check())], [grade("ann", "s1", 1.0), grade("ann", "s2", 0.5, key="r2")])
    assert [r.points for r in records(store)] == [0.5]
    (tmp_path / "course.toml").write_text('attempts = "best"\n', encoding="utf-8")
    assert [r.points for r in records(store, read_policy(tmp_path / "course.toml", LABS))] == [1.0]


def test_a_clock_that_was_set_back_makes_no_older_submission_the_last(store, monkeypatch):
    for year, name, points in (("2027", "s1", 1.0), ("1999", "s2", 0.5)):
        monkeypatch.setattr(time, "strftime", lambda form, year=year: f"{year}-01-01T00:00:00+0000")
        store.add([result_of(name, points)], [grade("ann", name, points, key=name)])
    assert [g.at[:4] for g in store.grades()] == ["2027", "1999"]
    assert [r.points for r in records(store)] == [0.5]


def handin(student, submission="s1", digest=None, at=0.0, lab="00", taken=(), passed=()):
    return HandIn(student, submission, lab, at, digest or submission, tuple(taken), tuple(passed))


def stands_by_handins(store, text=""):
    (store.folder / "course.toml").write_text(text, encoding="utf-8")
    return standing(store.grades(), read_policy(store.folder / "course.toml", LABS), LABS, store.handins())


@pytest.mark.parametrize("attempts", ["last", "best"])
def test_going_back_to_an_earlier_version_counts(store, attempts):
    """Good, bad, good again to the letter: the third hand-in is the last, and its time is its own."""
    due = 'timezone = "UTC"\n[late]\npercent_a_day = 10\n[lab.00]\ndue = 1970-01-01T00:01:00\n'
    for name, points, at in (("good", 1.0, 10.0), ("bad", 0.5, 20.0), ("good", 1.0, 90.0)):
        store.add([result_of(name, points)], [grade("ann", name, points, key=name)], [handin("ann", name, at=at)])
    assert len(list(store.grades())) == 2
    assert [(h.submission, h.handed_in) for h in store.handins()] == [("good", 10.0), ("bad", 20.0), ("good", 90.0)]
    (record,) = stands_by_handins(store, f'attempts = "{attempts}"\n{due}')
    assert (record.grade.submission, record.grade.handed_in) == ("good", 90.0 if attempts == "last" else 10.0)
    assert record.points == (0.9 if attempts == "last" else 1.0)
    store.add([], [], [handin("ann", "good", at=90.0)])
    assert len(store.handins()) == 3, "the same once more, unchanged, is not a hand-in"
    store.add([], [], [handin("ann", "bad", at=20.0)], again=True)
    assert len(store.handins()) == 3, "nor is what `regrade` finds where it was"


def test_who_goes_on_with_another_lab_hands_in_the_first_one_when_it_was_first_seen(store):
    """The files of lab 00 are the same, and have the time of a copy."""
    for name, at in (("october", 10.0), ("november", 5e6)):
        store.add([result("r", check())], [grade("ann", name, key="r")], [handin("ann", name, "same", at)])
    (record,) = stands_by_handins(store)
    assert (record.grade.submission, record.grade.handed_in) == ("november", 10.0)


def test_a_submission_that_cannot_be_run_is_over_when_the_one_before_is_handed_in_again(store):
    store.add([], [grade("ann")], [handin("ann")])
    store.add([], [grade("ann", "s2", 0.0, "INVALID", "", None)], [handin("ann", "s2", lab=None)])
    assert [r.flags for r in stands_by_handins(store)] == [("a later submission could not be run",)]
    store.add([], [grade("ann")], [handin("ann")])
    assert [r.flags for r in stands_by_handins(store)] == [()]


def test_a_submission_that_cannot_be_run_may_be_of_each_lab_that_was_not_handed_in_since(store):
    """It is seen at lab 00 also when lab 02 is handed in after it, and not at lab 02."""
    for name, lab in (("s1", "00"), ("s2", "02"), ("s3", None), ("s4", "02")):
        row = grade("ann", name, exercise=lab and f"{lab}.1", lab=lab, outcome="OK" if lab else "INVALID")
        store.add([], [row], [handin("ann", name, lab=lab)])
    flagged = [(r.grade.lab, bool(r.flags)) for r in stands_by_handins(store)]
    assert flagged == [("00", True), ("02", False)]


def test_a_submission_that_cannot_be_run_leaves_the_older_grade_with_a_flag(store):
    store.add([], [grade("ann"), grade("ann", "s2", 0.0, "INVALID", "", None)])
    (record,) = records(store)
    assert (record.points, record.flags) == (1.0, ("a later submission could not be run",))


def test_lateness_and_the_weight_of_a_lab_are_in_the_points(store, tmp_path):
    (tmp_path / "course.toml").write_text(
        'timezone = "Europe/Zurich"\n[late]\npercent_a_day = 10\nmost_days = 3\n[lab.00]\ndue = 2027-03-01T23:59:00\npoints = 20\n',
        encoding="utf-8",
    )
    policy = read_policy(tmp_path / "course.toml", LABS)
    due = policy.of_lab["00"].due.timestamp()
    for hours, factor in ((0, 1.0), (1, 0.9), (25, 0.8), (24 * 4, 0.0)):
        store.add([], [grade(f"{hours}", handed_in=due + 3600 * hours)])
        (record,) = (r for r in standing(store.grades(), policy, LABS) if r.grade.student == f"{hours}")
        assert (record.points, record.max) == (pytest.approx(20 * factor), 20.0)


# --- the policy -------------------------------------------------------------------------------------------------


COURSE_ERRORS = [
    ("\nlabz = []\n", 2, "is it `lab"),
    ('labs = ["99"]\n', 1, "there is no lab '99'"),
    ('\n\nattempts = "first"\n', 3, "best"),
    ("[late]\npercent_a_day = 200\n", 2, "from 0 to 100"),
    ("[late]\ngrace_minutes = -1\n", 2, "0 or more"),
    ("[late]\ngrace_minutes = inf\n", 2, "should be a number, and is inf"),
    ("[lab.00]\npoints = true\n", 2, "should be a number, and is True"),
    ("[lab.00]\n\ndue = 5\n", 3, "should be a date with a time, and is 5"),
    ("[lab.00]\ncanvas_id = 'x'\n", 2, "should be a whole number"),
    ('timezone = "Mars/Olympus"\n', 1, "time zone"),
    ("[limits]\nseconds = -1\n", 2, "more than 0"),
    ("\nrandom_programs = 0\n", 2, "from 1 to 1000"),
    ("random_programs = 1001\n", 1, "from 1 to 1000"),
    ("labs = []\nrandom_programs = 2.5\n", 2, "should be a whole number"),
    ("[limits]\nfresh_process = 1\n", 2, "should be true or false"),
    ("[lab.00]\ndue = 2027-01-01T00:00:00\n[student.ann]\nlab.00.due = 5\n", 4, "should be a date with a time"),
    ("[student.ann.lab.00]\ndue = 2027-01-01T00:00:00\n[student.bob.lab.00]\n\ndew = 5\n", 5, "is it `due`"),
    ("[student.ann]\n[student.ann.lab.77]\ndue = 2027-01-01T00:00:00\n", 2, "there is no lab '77'"),
    ("[student.ann]\nmore_days = -1\n", 2, "0 or more"),
    ("[student.ann]\n\nlab.77.due = 2027-01-01T00:00:00\n", 3, "there is no lab '77'"),
    ('[exercise."00.1"]\nweights = { values = -1 }\n', 2, "`values` must be 0 or more"),
    ("[student]\nann = 3\n", 2, "`ann` should be a table, and is 3"),
    ('[exercise."00.9"]\npoints = 1\n', 1, "there is no exercise '00.9'; is it"),
    ('[exercise."00.1"]\npoints = -1\n', 2, "0 or more"),
    ('[exercise."00.1"]\n\nweights = { valeus = 2 }\n', 3, "has no check 'valeus'; it has values"),
    ('[exercise."00.1".weights]\nvalues = 1\ntraced = "x"\n', 3, "`traced` should be a number, and is 'x'"),
    ('requests = "q.csv"\n', 1, "first line must name"),
]


@pytest.mark.parametrize(("text", "line", "words"), COURSE_ERRORS)
def test_an_error_in_a_course_names_its_line(tmp_path, text, line, words):
    path = tmp_path / "course.toml"
    path.write_text(text, encoding="utf-8")
    (tmp_path / "q.csv").write_text("who,exercise\n", encoding="utf-8")
    with pytest.raises(PolicyError, match=words) as caught:
        read_policy(path, LABS)
    file = "q.csv" if "requests" in text else "course.toml"
    assert f"{file}:{line}:" in str(caught.value)


def test_checks_that_all_weigh_nothing_are_an_error(tmp_path):
    weights = ", ".join(f"{name} = 0" for name in check_names(LABS[0], LABS[0].exercises[0]))
    (tmp_path / "course.toml").write_text(f'[exercise."00.1"]\nweights = {{ {weights} }}\n', encoding="utf-8")
    with pytest.raises(PolicyError, match=r"course\.toml:2: no check of 00\.1 weighs anything"):
        read_policy(tmp_path / "course.toml", LABS)


def test_a_student_has_more_time_and_everybody_some_minutes(tmp_path):
    (tmp_path / "r.csv").write_text("student,name\nann,Ann\nbob,Bob\ncem,Cem\n", encoding="utf-8")
    (tmp_path / "course.toml").write_text(
        'roster = "r.csv"\n[late]\npercent_a_day = 10\ngrace_minutes = 15\n[lab.00]\ndue = 2027-03-01T12:00:00\n'
        '[student."ann"]\nmore_days = 2\n[student.bob]\nlab.00.due = 2027-03-02T12:00:00\n',
        encoding="utf-8",
    )
    policy = read_policy(tmp_path / "course.toml", LABS)
    due = policy.of_lab["00"].due.timestamp()
    hours = {"cem": (0.25, 0.3, 30), "bob": (24.25, 24.3, 54), "ann": (48.25, 48.3, 78)}
    for student, times in hours.items():
        assert [policy.factor(student, "00", due + 3600 * h) for h in times] == [1.0, 0.9, 0.8], student
    (tmp_path / "course.toml").write_text('roster = "r.csv"\n\n[student.Ann]\nmore_days = 2\n', encoding="utf-8")
    with pytest.raises(PolicyError, match=r"course\.toml:3: 'Ann' is not on the roster; is it 'ann'\?"):
        read_policy(tmp_path / "course.toml", LABS)


def test_weights_and_points_of_a_course_share_out_what_a_lab_counts(store):
    (store.folder / "course.toml").write_text(
        '[exercise."00.1"]\npoints = 10\nweights = { values = 3, traced = 0 }\n', encoding="utf-8"
    )
    names = check_names(LABS[0], LABS[0].exercises[0])
    store.add([result("r1", *(check("PASS" if n == "values" else "FAIL", name=n) for n in names))], [grade("ann")])
    (record,) = standing(store.grades(), read_policy(store.folder / "course.toml", LABS), LABS)
    others = len(names) - 2
    assert (record.points, record.max) == (pytest.approx(30 / (3 + others), abs=0.01), 10.0)
    assert [p.max for n, p in zip(names, record.parts, strict=True) if n == "traced"] == [0.0]


@pytest.mark.parametrize("wanted", [True, False])
def test_a_course_may_want_a_process_for_each_check(tmp_path, wanted):
    (tmp_path / "course.toml").write_text(f"[limits]\nfresh_process = {str(wanted).lower()}\n", encoding="utf-8")
    assert read_policy(tmp_path / "course.toml", LABS).limits.fresh_process is wanted


def test_a_course_may_want_more_random_programs(tmp_path):
    assert read_policy(tmp_path / "course.toml", LABS).limits.random_programs == 20
    (tmp_path / "course.toml").write_text("random_programs = 300\n", encoding="utf-8")
    assert read_policy(tmp_path / "course.toml", LABS).limits.random_programs == 300


def test_a_roster_has_each_student_once(tmp_path):
    (tmp_path / "course.toml").write_text('roster = "r.csv"\n', encoding="utf-8")
    (tmp_path / "r.csv").write_text("student,name\nann,Ann\nZo\u00e9,Z\nZoe\u0301,Z\n", encoding="utf-8")
    with pytest.raises(PolicyError, match=r"r\.csv:4: .* is there twice"):
        read_policy(tmp_path / "course.toml", LABS)


def test_entries_are_students_each_once(tmp_path):
    for name in ("ann.zip", "Zo\u00e9.py", "hello.ipynb", "course.toml", ".DS_Store"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "ann").mkdir()
    assert [e.student for e in handed_over.entries(tmp_path)] == ["Zo\u00e9", "ann", "ann (2)", "hello"]


# --- exports ----------------------------------------------------------------------------------------------------


@pytest.fixture
def class_(store):
    failed = check("FAIL", name=EVIL, sentence=EVIL, where="result", expected="1", actual="2", output="noise")
    secret = check(
        "FAIL", hidden=True, about="Hidden sentence.", sentence="input 0.123", where="r", expected="0.123", actual="2"
    )
    store.add(
        [result("r1", check(), failed, secret)],
        [grade(EVIL, points=0.328125), grade("bob", "s2", 0.0, "INVALID", "", None, sentence=EVIL)],
    )
    return records(store)


def stands(class_, folder=pathlib.Path("none"), sandbox="bubblewrap"):
    return Standing(folder, class_, read_policy(pathlib.Path("none.toml"), LABS), LABS, sandbox)


def test_json_has_the_records_and_nothing_else(class_):
    data = json.loads(exports.to_json(stands(class_)))
    assert list(data) == ["grades"]
    assert [list(g) for g in data["grades"]] == [
        ["student", "lab", "exercise", "points", "max", "outcome", "flags", "counts", "by_hand", "checks"]
    ] * 2
    assert data["grades"][1] | {"max": 0} == {
        "student": "bob", "lab": None, "exercise": None, "points": None, "max": 0, "outcome": "INVALID", "flags": [], "counts": 1.0,
        "by_hand": None, "checks": [],
    }  # fmt: skip


def test_the_page_for_instructors_has_a_line_for_every_format():
    page = (pathlib.Path(__file__).parents[1] / "docs" / "instructors.md").read_text(encoding="utf-8")
    assert "\n".join(exports.lines_of_formats()) in page


@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
def test_tables_run_no_formula_and_say_where_there_was_no_jail(class_, sandbox):
    standing = stands(class_, sandbox=sandbox)
    for text in (exports.to_csv(standing), gradebooks.to_canvas(standing)):
        cells = [cell for line in csv.reader(io.StringIO(text)) for cell in line]
        assert not [c for c in cells if c.lstrip()[:1] in "=+-@" and c.strip()]
        assert not [c for c in cells if not c.isprintable()]
        assert (UNSANDBOXED in text) == (sandbox == "none")
    assert (UNSANDBOXED in exports.to_junit(standing)) == (sandbox == "none")
    assert (UNSANDBOXED in exports.to_json(standing)) == (sandbox == "none")
    assert (UNSANDBOXED in gradebooks.gradescope_results(class_, standing.warning)) == (sandbox == "none")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("\t\r =1", "   '=1"),
        ("\uff1dcmd()", "'\uff1dcmd()"),
        ("ann;=cmd()", "ann;'=cmd()"),
        ("a; -1; b", "a; '-1; b"),
        ("x = 1, y = 2", "x = 1, y = 2"),
        ("O'Brien-Lee", "O'Brien-Lee"),
    ],
)
def test_no_cell_is_a_formula_wherever_a_spreadsheet_divides_a_line(text, shown):
    assert cell(text) == shown


def test_junit_is_xml_whatever_names_are(class_):
    root = ElementTree.fromstring(exports.to_junit(stands(class_)))
    assert [(s.get("tests"), s.get("failures")) for s in root] == [("3", "2"), ("1", "1")]


def test_hidden_checks_are_not_in_what_students_see_of_junit(store):
    secret = check("FAIL", hidden=True, name="secret", sentence="input 0.123")
    store.add(
        [result("r1", check(), secret), result("r2", secret)],
        [
            grade("ann"),
            grade("ann", exercise="00.2", key="r2"),
            grade("bob", "s2", 0.0, "INVALID", "", None, sentence="no"),
        ],
    )
    now = stands(records(store))
    shown, all_ = (ElementTree.fromstring(f(now)) for f in (exports.to_junit_for_students, exports.to_junit))
    assert [(s.get("name"), [c.get("name") for c in s]) for s in shown] == [
        ("ann 00.1", ["values"]), ("bob submission", ["submission"]),
    ]  # fmt: skip
    assert "0.123" not in exports.to_junit_for_students(now)
    assert [s.get("tests") for s in all_] == ["2", "1", "1"]


ROSTER = """\
student,name,email,canvas_id,sis_id,login,moodle_id
ann,Ann Lee,ann@x.edu,,S1,alee,
bob,Bob Ray,bob@x.edu,77,,,99
cem,Cem Ok,,,,,
"""


def test_who_never_handed_in_is_in_the_exports_and_ids_are_what_platforms_know(store, tmp_path):
    (tmp_path / "r.csv").write_text(ROSTER, encoding="utf-8")
    (tmp_path / "course.toml").write_text('roster = "r.csv"\n[lab.00]\ncanvas_id = 4711\n', encoding="utf-8")
    store.add([result("r1", check())], [grade("ann"), grade("dee", "s2")])
    store.meet([Person("ann", "canvas", "12345", "leeann", ""), Person("dee", "moodle", "31", "Dee Da", "dee@x.edu")])
    policy = read_policy(tmp_path / "course.toml", LABS)
    now = Standing(
        store.folder, standing(store.grades(), policy, LABS), policy, LABS, "x", (), (), tuple(store.people())
    )
    assert [s.id for s in now.missing] == ["bob", "cem"]
    rows = list(csv.DictReader(io.StringIO(gradebooks.to_canvas(now))))
    assert [list(r.values()) for r in rows[1:]] == [
        ["Ann Lee", "12345", "S1", "alee", "", "1"],
        ["Dee Da", "", "", "dee", "", "1"],
        ["Bob Ray", "77", "", "", "", ""],
        ["Cem Ok", "", "", "cem", "", ""],
    ]
    assert list(rows[0]) == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Lab 00 (4711)"]
    gradebooks.to_moodle(now, tmp_path / "moodle")
    (file,) = (tmp_path / "moodle").iterdir()
    with file.open(encoding="utf-8", newline="") as stream:
        moodle = [list(r.values()) for r in csv.DictReader(stream)]
    at = now.records[0].grade.at
    assert moodle == [
        ["ann", "Ann Lee", "ann@x.edu", "1", "1", at, "00.1: 1 of 1"],
        ["Participant 31", "Dee Da", "dee@x.edu", "1", "1", at, "00.1: 1 of 1"],
        ["Participant 99", "Bob Ray", "bob@x.edu", "", "1", "", ""],
        ["cem", "Cem Ok", "", "", "1", "", ""],
    ]
    assert json.loads(exports.to_json(now))["never_handed_in"] == ["bob", "cem"]
    left = [r["student"] for r in csv.DictReader(io.StringIO(exports.to_csv(now))) if r["outcome"] == "NEVER HANDED IN"]
    assert left == ["bob", "cem"]


def test_moodles_worksheets_are_read_as_moodle_reads_them(store):
    """mod/assign/feedback/offline/importgradeslib.php refuses a file without these three columns, and looks for a participant of the
    worksheet's own assignment: each assignment numbers its participants anew.
    """
    (store.folder / "r.csv").write_text("student,name,email,moodle_id\nann,Ann Lee,ann@x,7\nbob,Bob Ray,b@x,8\n")
    (store.folder / "course.toml").write_text('roster = "r.csv"\n')
    of_labs = {"00": "/in/Ann Lee_31_assignsubmission_file", "02": f"/g/put together/x/{file_name('moodle 52')}"}
    for lab, path in of_labs.items():
        store.add([result("r1", check())], [grade("ann", f"s{lab}", lab=lab, exercise=f"{lab}.1", path=path)])
    gradebooks.to_moodle(
        stands(records(store, read_policy(store.folder / "course.toml", LABS)), store.folder), store.folder / "m"
    )
    found = {}
    for lab in of_labs:
        with (store.folder / "m" / f"lab_{lab}.csv").open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert {"Identifier", "Grade", "Last modified (grade)"} <= set(rows[0])
        assert datetime.datetime.strptime(rows[0]["Last modified (grade)"], "%Y-%m-%dT%H:%M:%S%z").year > 2000
        found[lab] = rows[0]["Identifier"]
    assert found == {"00": "Participant 31", "02": "Participant 52"}


def test_text_that_no_file_can_hold_is_exported_with_question_marks(store):
    odd = "a\ud800b\uffffc\x00d"
    failed = check("FAIL", sentence=odd, where="result", expected="1", actual=odd, output=odd)
    store.add([result("r1", failed)], [grade("ann")])
    made = stands(records(store), store.folder)
    (failure,) = ElementTree.fromstring(exports.to_junit(made)).iter("failure")
    assert failure.get("message") == "a?b?c?d"
    gradebooks.to_gradescope(made, store.folder / "gradescope")
    (file,) = (store.folder / "gradescope").iterdir()
    assert "a?b\uffff" in json.loads(file.read_text(encoding="utf-8"))["tests"][0]["output"]
    report.write_report(store.folder, made)
    for name in ("json", "csv", "canvas", "junit"):
        exports.export(name, made, store.folder / name)


def test_gradescope_sums_to_the_points_and_hides_what_is_hidden(class_):
    data = json.loads(gradebooks.gradescope_results([r for r in class_ if r.grade.student == EVIL], ""))
    assert data["score"] == 0.33
    assert [t["score"] for t in data["tests"]] == [0.33, 0.0, 0.0]
    assert [t["max_score"] for t in data["tests"]] == [0.33, 0.34, 0.33]
    (secret,) = (t for t in data["tests"] if "Hidden" in t["name"])
    assert secret["output"] == "FAIL"


@given(st.integers(0, 10**6), st.lists(st.integers(0, 50) | st.floats(0, 9), max_size=30))
def test_parts_are_whole_and_add_up_and_equal_weights_are_a_cent_apart_at_most(total, weights):
    parts = split(total, weights)
    assert sum(parts) == (total if any(weights) else 0)
    assert all(p >= 0 for p in parts)
    assert all(abs(p - total * w / sum(weights)) < 1.001 for p, w in zip(parts, weights, strict=True) if sum(weights))


def in_cents(values):
    return sum(round(100 * float(v)) for v in values)


@pytest.mark.parametrize(("days", "due"), [(0, 20.0), (2, 16.0)])
@pytest.mark.parametrize("failed", [0, 1])
def test_what_a_lab_counts_is_what_its_tests_sum_to_in_every_format(store, days, due, failed):
    """Twenty points for the exercises of a lab that 20 is no multiple of; each fails none or one of its three checks."""
    lab = LABS[3]
    (store.folder / "course.toml").write_text(
        f"[late]\npercent_a_day = 10\n[lab.{lab.number}]\npoints = 20\ndue = 1970-01-01T00:00:00\n", encoding="utf-8"
    )
    checks = [check("FAIL" if i < failed else "PASS", name=f"c{i}") for i in range(3)]
    rows = [grade("ann", exercise=id, lab=lab.number, handed_in=86_400.0 * days) for id in lab.ids]
    store.add([result("r1", *checks)], rows)
    policy = read_policy(store.folder / "course.toml", LABS)
    own = standing(store.grades(), policy, LABS)
    now = Standing(store.folder, own, policy, LABS, "bubblewrap")
    data = json.loads(gradebooks.gradescope_results(own, ""))
    whole = in_cents([data["score"]])
    assert in_cents(t["max_score"] for t in data["tests"]) == in_cents(r.max for r in own) == 2000
    assert whole == (100 * due if not failed else pytest.approx(100 * due * 2 / 3, abs=4))
    assert in_cents(t["score"] for t in data["tests"]) == in_cents(r.points for r in own) == whole
    records_ = json.loads(exports.to_json(now))["grades"]
    assert (
        in_cents(c["points"] for r in records_ for c in r["checks"]) == in_cents(r["points"] for r in records_) == whole
    )
    assert in_cents(row["points"] for row in csv.DictReader(io.StringIO(exports.to_csv(now)))) == whole
    assert (
        in_cents(list(csv.DictReader(io.StringIO(gradebooks.to_canvas(now))))[1][f"Lab {lab.number}"].split()) == whole
    )


def test_pages_show_markup_as_text_and_feedback_no_hidden_input(class_, tmp_path):
    report.write_report(tmp_path, stands(class_))
    pages = {p.parent.name: p.read_text(encoding="utf-8") for p in tmp_path.rglob("*.html")}
    assert len(pages) == 3
    assert {name: text.count("<script") for name, text in pages.items() if "<script" in text} == {tmp_path.name: 1}
    feedback = (tmp_path / "feedback" / f"{file_name(EVIL)}.html").read_text(encoding="utf-8")
    assert "Hidden sentence." in feedback
    assert "0.123" not in feedback
    assert "expected: 1" in feedback
    assert "0.123" in (tmp_path / "students" / f"{file_name(EVIL)}.html").read_text(encoding="utf-8")


def test_students_are_told_what_was_taken_and_what_was_passed_over(store, tmp_path):
    passed = [[f"notes{EVIL}.docx", "only files that end in .py or .ipynb are read"]]
    store.add([result("r1", check())], [grade("ann")], [handin("ann", taken=["00_hello/exercises.py"], passed=passed)])
    now = Standing(store.folder, records(store), read_policy(tmp_path / "no", LABS), LABS, "x", tuple(store.handins()))
    report.write_report(tmp_path, now)
    page = (tmp_path / "feedback" / f"{file_name('ann')}.html").read_text(encoding="utf-8")
    data = json.loads(gradebooks.gradescope_results(now.records, "", now.last_handins()["ann"]))
    for text in (page, data["output"]):
        assert "00_hello/exercises.py" in text
        assert "only files that end in .py or .ipynb are read" in text
    assert "<script" not in page


# --- formats ----------------------------------------------------------------------------------------------------


def test_a_format_is_one_row(class_, store, monkeypatch, capsys, tmp_path):
    """A new row is a choice, has its line in the help, and is what is written: nothing else knows the formats."""
    row = exports.Export("the number of records", text=lambda standing: f"{len(standing.records)} records\n")
    monkeypatch.setitem(exports.EXPORTS, "count", row)
    place = tmp_path / "given"
    there = exports.Export("a file of its own", write=lambda standing, path: f"at {path}", default="DIR/mine")
    monkeypatch.setitem(exports.EXPORTS, "mine", there)
    words = ["export", str(store.folder), "--to"]
    assert main([*words, "count"]) == 0
    assert main([*words, "mine"]) == main([*words, "mine", "--output", str(place)]) == 0
    assert capsys.readouterr().out == f"2 records\nat {store.folder}/mine\nat {place}\n"
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    said = capsys.readouterr().out
    assert "count          the number of records (the screen)\n  mine           a file of its own (DIR/mine)" in said
    with pytest.raises(SystemExit) as ended:
        main([*words, "cuont"])
    assert ended.value.code == 2
    assert "'count', 'mine'" in capsys.readouterr().err


def test_a_store_of_the_version_before_is_read_and_its_exports_are_the_same(tmp_path):
    """`grades_of_before` was graded and exported by the grader as it was when verdicts were dicts; since then, suites
    of JUnit have got the attributes `skipped` and `time`, which `jitkit check` gave before, and the table more columns; and a
    submission that could not be run has no mark yet, where it had 0."""
    kept = pathlib.Path(__file__).with_name("grades_of_before")
    (tmp_path / "old").mkdir()
    with contextlib.closing(sqlite3.connect(tmp_path / "old" / "grades.sqlite")) as database:
        database.executescript((kept / "store.sql").read_text(encoding="utf-8"))
        database.commit()
    for name, file in (("csv", "grades.csv"), ("junit", "junit.xml")):
        assert main(["export", str(tmp_path / "old"), "--to", name, "--output", str(tmp_path / file)]) == 0
    assert (tmp_path / "junit.xml").read_text(encoding="utf-8") == (kept / "junit.xml").read_text(encoding="utf-8")
    now, before = (
        list(csv.reader(io.StringIO((place / "grades.csv").read_text(encoding="utf-8")))) for place in (tmp_path, kept)
    )
    for row in before:
        if row[2] == "" and row[5] == "INVALID":
            row[3] = ""
    assert [row[: len(before[0])] for row in now] == before
    assert main(["report", str(tmp_path / "old"), "--explain", "crash", "00.1"]) == 0
    assert main(["report", str(tmp_path / "old")]) == 0
    with Store(tmp_path / "old", write=True) as store:
        assert store.handins() == []
        store.add([result("r1", check())], [grade("ann")], [handin("ann")])
        assert len(list(store.grades())) == 7
        assert len(store.handins()) == 1


def test_pairs_that_read_alike_are_named_and_common_code_is_not(store):
    def row(student, grams):
        return grade(student, student, grams=tuple(grams), key=student)

    common, own = list(range(1000, 1100)), list(range(40))
    rows = [row(f"s{i}", [*common, *range(10_000 + 100 * i, 10_040 + 100 * i)]) for i in range(20)]
    store.add([], [*rows, row("ann", [*common, *own]), row("bob", [*common, *own[:30], *range(50, 60)])])
    assert [(p.one, p.other, p.exercises) for p in similarity.similar(records(store))] == [("ann", "bob", ("00.1",))]


# --- frames and checks ------------------------------------------------------------------------------------------


def framed(text):
    data = text.encode()
    return len(data).to_bytes(8, "big") + data


GOOD = framed('{"value": {"is": "int", "value": "1"}, "output": "", "printed": 0}')


@pytest.mark.parametrize(
    "data",
    [
        GOOD + b"x", GOOD + GOOD, GOOD[:-1], b"\0" * 8, framed("[]"), framed("{}"), framed('{"value": 1, "output": ""}'),
        framed('{"value": {"is": "code"}, "output": ""}'), framed('{"value": {"is": "int", "value": NaN}, "output": ""}'),
        framed('{"value": {"is": "list", "items": [1]}, "output": ""}'), framed("[" * 100_000), framed("1" * 10_000),
        framed('{"value": {"is": "array", "shape": [-1], "dtype": "float32", "data": ""}, "output": ""}'),
        framed('{"value": ' + '{"is": "list", "items": [' * 70 + "]}" * 70 + ', "output": ""}'), b"\x80\x04pickle",
    ],
)  # fmt: skip
def test_whatever_is_no_frame_of_plain_data_breaks_the_protocol(data):
    assert outcome_of("c", GOOD, "", 0, False, 1.0, 0.1).trouble == ""
    assert outcome_of("c", data, "", 0, False, 1.0, 0.1).trouble == "proto"


@pytest.mark.parametrize("status", [None, 0, 9, 0xFF, 0x7F, -5, 1 << 80])
def test_a_status_that_a_worker_made_up_is_a_crash_like_others(status):
    assert outcome_of("c", b"", "", status, False, 1.0, 0.1).trouble == "crash"


def test_a_check_whose_threads_met_the_limit_together_is_out_of_time_however_short_that_was_by_the_clock():
    """Four threads compute six seconds in two; then the kernel kills the process, which ignores the signal before."""
    assert outcome_of("c", b"", "", signal.SIGKILL, False, 10.0, 1.6, limited=True).trouble == Status.TIME
    assert outcome_of("c", b"", "", signal.SIGKILL, False, 10.0, 1.6).trouble == Status.CRASH
    assert outcome_of("c", b"", "", signal.SIGKILL, True, 10.0, 1.6, limited=True).trouble == Status.LIMIT


def test_an_import_without_end_has_one_sentence_whoever_ends_it():
    """On a busy machine the limit of the system may come before the grader looks."""
    by_clock = outcome_of("c", b"", "import", None, False, 1.0, 9.0, imports=6.0)
    by_system = outcome_of("c", b"", "died", signal.SIGXCPU, False, 1.0, 9.0, imports=6.0)
    assert by_clock == by_system


def test_json_is_an_object_or_an_error():
    with pytest.raises(ProtocolError):
        parse_object(b'{"a": Infinity}')


@pytest.mark.parametrize("lab", LABS, ids=[lab.name for lab in LABS])
def test_a_check_travels_alone_without_its_name_its_sentence_and_the_words_of_messages(lab):
    for path in check_files(lab):
        file = CheckFile.read(path)
        for c in file.checks:
            text = ast.unparse(reduced(file.source, c.name, strip=True))
            assert f"def {ENTRY}(jk, rng)" in text
            others = {other.name for other in file.checks} - {c.name}
            assert not [name for name in others if f"def {name}(jk" in text]
            assert c.sentence not in text
            assert f"def {c.name}(" not in text


def test_a_file_that_cannot_be_written_and_a_lab_that_is_none_are_sentences(tmp_path, capsys):
    with Store(tmp_path / "grades", write=True):
        pass
    place = tmp_path / "nowhere" / "grades.csv"
    assert main(["export", str(tmp_path / "grades"), "--to", "csv", "--output", str(place)]) == 1
    assert f"{place} cannot be written: No such file or directory" in capsys.readouterr().err
    (tmp_path / "in").mkdir()
    assert main(["grade", str(tmp_path / "in"), "--out", str(tmp_path / "new"), "--lab", "99"]) == 2
    assert "there is no lab '99'" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
