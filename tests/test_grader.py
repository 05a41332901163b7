"""The grader: each submission of the catalogue, the jail, the store, resumed and repeated batches."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unicodedata
import zlib

import hypothesis
import numpy as np
import pytest
from grader_catalogue import GREEDY, RIGHT, THEMES, Row, grade_only, points_of, row, write, wrong
from tails import keeping

from grading.__main__ import main
from grading.authoring.generate import by_class, imports_of_lab
from grading.grader import shipped_code
from grading.grader.bubblewrap import JailError
from grading.grader.records import NAMES
from grading.grader.selftest import self_test
from grading.grader.standing import Standing
from grading.grader.store import Store, StoreError
from grading.grader.verdict import FIXED_ALONE, endless_import
from grading.shared import ROOT
from jitkit.kata.engine.assessor import Assessor
from jitkit.kata.engine.manifest import all_labs
from jitkit.kata.engine.mutants import in_its_class, load_mutants, mutant_source
from jitkit.kata.engine.reference import reference_function
from jitkit.kata.engine.running import LearnerSource

LABS = all_labs()


@pytest.fixture(scope="session")
def jail():
    try:
        leaks = self_test()
    except JailError as error:
        pytest.skip(f"needs bubblewrap: {error}")
    assert leaks == [], "a jail that can be made holds"


jailed = pytest.mark.usefixtures("jail")


def command(*words):
    return main([str(word) for word in words])


def graded(tmp_path, rows, *options, limits="seconds = 20"):
    """Return the records of a batch of rows, by the row's name."""
    write(tmp_path / "in", rows)
    (tmp_path / "in" / "course.toml").write_text(f"[limits]\n{limits}\n", encoding="utf-8")
    assert command("grade", tmp_path / "in", "--out", tmp_path / "out", "--quiet", *options) == 0
    with Store(tmp_path / "out") as store:
        records = Standing.of(store).records
    found = {}
    for record in records:
        found.setdefault(record.grade.student, []).append(record)
    return found


@jailed
def test_the_jail_holds_for_an_ordinary_user(tmp_path):
    """In a namespace whose user may do nothing special, as whoever runs the tests may be root. Root's processes are never counted."""
    command = ["bwrap", "--unshare-user", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL", "--bind", "/", "/"]
    command += ["--dev-bind", "/dev", "/dev", "--proc", "/proc", sys.executable, "-c"]
    program = (
        "import json, os; from grading.grader.selftest import self_test; print(os.getuid(), json.dumps(self_test()))"
    )
    done = subprocess.run([*command, program], capture_output=True, text=True, cwd=ROOT, check=False)
    if "Creating new namespace failed" in done.stderr or "setting up uid map" in done.stderr:
        pytest.skip(f"needs bubblewrap within bubblewrap: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    user, _, leaks = done.stdout.partition(" ")
    assert user == "1000"
    assert set(json.loads(leaks)) <= ({"it may start any number of processes"} if os.getuid() == 0 else set())


@jailed
@pytest.mark.parametrize("every", keeping([8, 1], 8, mark=pytest.mark.rest))
def test_every_submission_of_the_catalogue_gets_what_it_should(tmp_path, every):
    rows = [r for theme in THEMES.values() for r in theme[::every]]
    records = graded(tmp_path, rows, "--lab", "00")
    assert not [text for r in rows if (text := wrong(r, records[unicodedata.normalize("NFC", r.name)]))]


@jailed
@pytest.mark.tail
def test_bombs_and_loops_meet_their_limits_and_leave_nothing(tmp_path):
    records = graded(tmp_path, GREEDY, "--lab", "00", limits="seconds = 4\nsubmission_seconds = 60")
    assert not [text for r in GREEDY if (text := wrong(r, records[r.name]))]


def test_without_a_jail_nothing_is_graded_unless_told_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    (tmp_path / "in").mkdir()
    assert command("grade", tmp_path / "in", "--out", tmp_path / "out") == 1
    said = capsys.readouterr().err
    assert "bubblewrap is not installed" in said
    assert "--unsandboxed" in said
    assert not (tmp_path / "out").exists()


# --- honest work --------------------------------------------------------------------------------------------------


def written(folder, lab, sources):
    """Write a student's file of a lab; `sources` has the texts of functions by exercise."""
    texts = by_class([text for target_sources in sources.values() for text in target_sources])
    (folder / lab.name).mkdir(parents=True)
    text = f"{imports_of_lab(lab)}\n\n\n" + "\n\n\n".join(texts) + "\n"
    (folder / lab.name / "exercises.py").write_text(text, encoding="utf-8")


def solution(exercise):
    return [in_its_class(t, reference_function(t).source) for t in exercise.targets]


def with_mutant(exercise, m):
    """Return the reference's functions of an exercise, one of them a mutant."""
    wrong_one = next(t for t in exercise.targets if m.target in ("", t.name))
    return [
        mutant_source(m, t, reference_function(t).source)
        if t == wrong_one
        else in_its_class(t, reference_function(t).source)
        for t in exercise.targets
    ]


def state_of_learners(seed, name):
    """Return the state with which the learner's engine begins to draw numbers for a check."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())]).bit_generator.state


def missed(labs, tmp_path, every):
    """Return texts for what is wrong: the reference must get all points, stubs none, and a mutant must fail a check that is
    against its misconception. Of the mutants of a lab, the first is tried, and then every `every`th one.
    """
    folder, expected = tmp_path / "in", {}
    for lab in labs:
        shutil.copytree(
            lab.folder,
            folder / "stubs" / lab.name,
            ignore=shutil.ignore_patterns("checks.py", "mutants.py", "experiment.py"),
        )
        written(folder / "reference", lab, {e.id: solution(e) for e in lab.exercises})
        path = lab.folder / "mutants.py"
        mutants = load_mutants(path.read_text(encoding="utf-8"), str(path))
        for i, m in enumerate([m for m in mutants if m.exercise in {e.id for e in lab.exercises}][::every]):
            written(folder / f"mutant {lab.number} {i}", lab, {m.exercise: with_mutant(lab.exercise(m.exercise), m)})
            expected[f"mutant {lab.number} {i}"] = m
    options = [word for lab in labs for word in ("--lab", lab.number)]
    assert command("grade", folder, "--out", tmp_path / "out", "--quiet", "--workers", "2", *options) == 0
    with Store(tmp_path / "out") as store:
        records = Standing.of(store).records
    found = []
    for r in records:
        if r.grade.student == "reference" and r.points != r.max:
            found.append(
                f"the reference's {r.grade.exercise} has {r.points}: {[c for c in r.grade.checks if c['status'] != 'PASS'][:1]}"
            )
        if r.grade.student == "stubs" and r.points != 0:
            found.append(f"the stub of {r.grade.exercise} has {r.points}")
        m = expected.get(r.grade.student)
        if m is not None and r.grade.exercise == m.exercise:
            failed = [c for c in r.grade.checks if c["status"] != "PASS"]
            if not any(m.misconception in c["against"] for c in failed):
                found.append(f"{m.exercise} {m.name} ({m.misconception}) fails {[c['name'] for c in failed]}")
    assert len({r.grade.student for r in records}) == 2 + len(expected), "all of them are graded"
    return found


@jailed
def test_the_import_of_the_functions_has_a_limit_and_a_sentence_of_its_own(tmp_path):
    """It computes for longer than a check may, and is right; or it does not end, or ends the process."""
    long = "import time\n\ndef waited(end):\n    while time.process_time() < end:\n        pass\n    return 0\n\nX = waited({})\n\n"
    rows = [
        row("long", long.format(3) + RIGHT.replace("0)", "X)"), flags=()),
        row("endless", long.format("float('inf')") + RIGHT.replace("0)", "X)"), points=0.0),
        row("exits", "import os\n\nX = os._exit(3)\n\n" + RIGHT.replace("0)", "X)"), points=0.0),
    ]
    records = graded(tmp_path, rows, "--lab", "00", limits="seconds = 4\nimport_seconds = 8")
    told = {name: {check["sentence"] for check in found[0].grade.checks} for name, found in records.items()}
    assert points_of(records["long"][0]) == 1.0
    assert told["endless"] == {endless_import(8)}
    assert all("while your functions were imported, with exit code 3" in sentence for sentence in told["exits"])


@jailed
def test_an_answer_that_returns_anything_has_no_points_for_checks_whose_result_is_always_the_same(
    tmp_path, monkeypatch
):
    """01.3 is right if it asks nobody, among other things: whoever returns a constant asks nobody."""
    (exercise,) = (e for lab in LABS for e in lab.exercises if e.id == "01.3")
    (right,) = solution(exercise)
    one_lattice = right.replace("upper_bounds(x64)", "upper_bounds(False)")
    assert one_lattice != right
    texts = {"anything": "def least_upper_bound(x64, *nodes):\n    return None\n", "one lattice": one_lattice}
    rows = [Row(name, {"01_tracer/exercises.py": text}) for name, text in texts.items()]
    grade_only(monkeypatch, "01.3")
    records = graded(tmp_path, rows, "--lab", "01")
    (nothing,), (most,) = ([r for r in records[name] if r.grade.exercise == "01.3"] for name in texts)
    assert nothing.points == 0.0
    assert {c["status"] for c in nothing.grade.checks} == {"FAIL", "CRASH"}
    assert FIXED_ALONE in {c["sentence"] for c in nothing.grade.checks}
    assert 0.5 < most.points < most.max
    assert FIXED_ALONE not in {c["sentence"] for c in most.grade.checks}


@jailed
def test_a_right_answer_is_run_once_wherever_its_lines_are_and_a_wrong_one_at_each_place(tmp_path, monkeypatch):
    (exercise,) = (e for lab in LABS for e in lab.exercises if e.id == "00.1")
    ((target, right),) = zip(exercise.targets, solution(exercise), strict=True)
    wrong_one = f"def {target.name}(x):\n    raise ValueError('no')\n"
    keeps = f"memory = []\n\n\n{right}\n"
    texts = {"right": right, "wrong": wrong_one, "keeps": keeps.replace(":\n", ":\n    memory.append(1)\n", 1)}
    rows = [
        Row(f"{name} {lines}", {"00_hello/exercises.py": "# a comment\n" * lines + text + f"# {lines}\n"})
        for name, text in texts.items()
        for lines in (0, 3)
    ]
    grade_only(monkeypatch, "00.1")
    records = {name: found[0] for name, found in graded(tmp_path, rows, "--lab", "00").items()}
    results = {name: len({r.grade.result for n, r in records.items() if n.startswith(name)}) for name in texts}
    assert results == {"right": 1, "wrong": 2, "keeps": 2}
    assert {name: r.points for name, r in records.items() if "wrong" not in name} == dict.fromkeys(
        ("right 0", "right 3", "keeps 0", "keeps 3"), 1.0
    )
    places = [{c["line"][1] for c in records[f"wrong {lines}"].grade.checks if c["line"]} for lines in (0, 3)]
    assert places == [{2}, {5}]


@jailed
@pytest.mark.parametrize("exercises", keeping([1, None], 1, mark=pytest.mark.rest))
def test_the_reference_has_all_points_stubs_none_and_a_mutant_misses_what_it_believes(tmp_path, monkeypatch, exercises):
    """In the first exercise of a lab, and in all of them."""
    [lab] = [lab for lab in LABS if lab.number == "02"]
    lab = lab._replace(exercises=lab.exercises[:exercises])
    grade_only(monkeypatch, *(e.id for e in lab.exercises))
    assert not missed([lab], tmp_path, every=20)


@jailed
@pytest.mark.tail
@pytest.mark.parametrize("lab", LABS, ids=[lab.name for lab in LABS])
def test_every_mutant_misses_what_it_believes(lab, tmp_path):
    assert not missed([lab], tmp_path, every=1)


@jailed
@pytest.mark.tail
@pytest.mark.parametrize("lab", LABS, ids=[lab.name for lab in LABS])
def test_honest_work_has_the_verdicts_that_the_learner_sees(lab, tmp_path, monkeypatch):
    """The public checks, by the learner's engine and by the grader, for a mutant of each exercise. One that asks JAX is said to,
    and does not even run where there is none. Both draw the same numbers, as the learner's engine draws them: with others, a wrong
    answer may be right by chance, or end in an error.
    """
    monkeypatch.setattr(shipped_code, "generator_state", state_of_learners)
    path = lab.folder / "mutants.py"
    mutants = {m.exercise: m for m in load_mutants(path.read_text(encoding="utf-8"), str(path))}
    written(tmp_path / "in" / "ann", lab, {e.id: with_mutant(e, mutants[e.id]) for e in lab.exercises})
    assert command("grade", tmp_path / "in", "--out", tmp_path / "out", "--quiet", "--lab", lab.number) == 0
    with Store(tmp_path / "out") as store:
        records = {r.grade.exercise: r for r in Standing.of(store).records}
        seed = int(store.meta("seed"))
    file = tmp_path / "in" / "ann" / lab.name / "exercises.py"
    source = LearnerSource(str(file), file.read_text(encoding="utf-8"), lab.names)
    assessor = Assessor()
    for e in lab.exercises:
        theirs = assessor.assess(lab, e, source, seed=seed, draw=seed)  # grading draws more programs
        grade = records[e.id].grade
        public = [c["status"] for c in grade.checks if not c["hidden"]]
        if "uses jax" in grade.flags:
            assert "PASS" not in public, e.id
            assert "FAIL" in {NAMES[r.status] for r in theirs.results}, e.id
            continue
        own = [NAMES[r.status] for r in theirs.results]
        # the grader runs more random programs than a save does, so it may find more
        more = [r.check.drawn and own[i] == "PASS" and public[i] == "FAIL" for i, r in enumerate(theirs.results)]
        # and a check with a fixed result does not count if no other check passes
        told = [c["sentence"] for c in grade.checks if not c["hidden"]]
        more = [found or sentence == FIXED_ALONE for found, sentence in zip(more, told, strict=True)]
        assert [own[i] if more[i] else public[i] for i in range(len(own))] == own, e.id


# --- batches that are interrupted, repeated, mixed ------------------------------------------------------------------


def grades_of(out):
    with Store(out) as store:
        records = Standing.of(store).records
        assert len({(g.student, g.submission, g.exercise) for g in store.grades()}) == len(list(store.grades())), (
            "nothing is doubled"
        )
    return {(r.grade.student, r.grade.exercise): (points_of(r), r.grade.outcome) for r in records}


MIXED = [r for rows in THEMES.values() for r in rows if r.points is not None]


@jailed
@pytest.mark.tail
def test_a_grader_that_was_killed_goes_on_and_neither_loses_nor_doubles_a_grade(tmp_path):
    write(tmp_path / "in", [r._replace(name=f"{i:02} {r.name}") for i, r in enumerate(MIXED[:12])])
    words = [sys.executable, "-m", "grading", "grade", str(tmp_path / "in"), "--lab", "00", "--quiet", "--out"]
    process = subprocess.Popen(
        [*words, str(tmp_path / "out")], cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    for _ in range(1200):
        time.sleep(0.1)
        with contextlib.suppress(StoreError, sqlite3.Error), Store(tmp_path / "out") as store:
            if len(list(store.grades())) >= 3:
                break
    process.kill()
    process.wait()
    before = grades_of(tmp_path / "out")
    assert command("grade", tmp_path / "in", "--out", tmp_path / "out", "--quiet", "--lab", "00", "--workers", "3") == 0
    after = grades_of(tmp_path / "out")
    assert 3 <= len(before) < len(after) == 12
    assert before.items() <= after.items()


@jailed
@pytest.mark.parametrize("times", keeping([2, 5], 2, mark=pytest.mark.rest))
def test_a_grader_that_is_killed_at_any_moment_neither_loses_nor_doubles_a_grade(tmp_path, times):
    """SIGKILL while it starts, reads, runs and writes; each time it goes on where it was."""
    rows = [r._replace(name=f"{i:02} {r.name}") for i, r in enumerate(MIXED[:8])]
    write(tmp_path / "in", rows)
    words = [str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--lab", "00", "--quiet", "--workers", "2"]
    whole = [sys.executable, "-m", "grading", "grade", *words]
    chance = random.Random(tmp_path.name)
    before: dict = {}
    for _ in range(times):
        process = subprocess.Popen(whole, cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0.5, 5.0))
        process.kill()
        process.wait()
        with contextlib.suppress(StoreError):  # the process was killed before it made a store
            after = grades_of(tmp_path / "out")
            assert before.items() <= after.items(), "what was written stays"
            before = after
    assert command("grade", *words) == 0
    after = grades_of(tmp_path / "out")
    assert before.items() <= after.items()
    assert {student: points for (student, _), (points, _) in after.items()} == {r.name: r.points for r in rows}


@jailed
@pytest.mark.tail
@hypothesis.given(
    order=hypothesis.strategies.randoms(use_true_random=False), workers=hypothesis.strategies.integers(1, 4)
)
@hypothesis.settings(max_examples=4, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
def test_grades_depend_neither_on_the_order_nor_on_the_number_of_workers(order, workers):
    rows = order.sample(MIXED, 12)
    with tempfile.TemporaryDirectory() as folder:
        tmp_path = pathlib.Path(folder)
        numbered = [r._replace(name=f"{i:02} {r.name}") for i, r in enumerate(rows)]
        records = graded(tmp_path, numbered, "--lab", "00", "--workers", str(workers))
        assert not [text for r in numbered if (text := wrong(r, records[unicodedata.normalize("NFC", r.name)]))]


@jailed
def test_a_mended_check_is_graded_again_and_an_old_grade_stands_until_then(tmp_path, capsys):
    write(tmp_path / "in", [MIXED[0]])
    assert command("grade", tmp_path / "in", "--out", tmp_path / "out", "--quiet", "--lab", "00") == 0
    first = grades_of(tmp_path / "out")
    assert command("regrade", tmp_path / "out", "--quiet", "--changed", "--lab", "00") == 0
    assert grades_of(tmp_path / "out") == first
    with Store(tmp_path / "out") as store:
        assert len(list(store.grades())) == 1  # no second row, since the verdict is known
    assert command("report", tmp_path / "out", "--explain", MIXED[0].name, "00.1") == 0
    assert "Replayed now: the same verdicts." in capsys.readouterr().out
    assert command("export", tmp_path / "out", "--to", "json") == 0
    data = json.loads(capsys.readouterr().out)["grades"][0]
    checks = data.pop("checks")
    assert data == {
        "student": "right", "lab": "00", "exercise": "00.1", "points": 1.0, "max": 1.0, "outcome": "OK", "flags": [], "counts": 1.0,
        "by_hand": None,
    }  # fmt: skip
    assert {c["status"] for c in checks} == {"PASS"}
    assert round(sum(c["points"] for c in checks), 2) == round(sum(c["max"] for c in checks), 2) == 1.0


def test_without_walls_every_export_says_so(tmp_path, capsys):
    write(tmp_path / "in", [MIXED[0]])
    assert command("grade", tmp_path / "in", "--out", tmp_path / "out", "--lab", "00", "--unsandboxed") == 0
    assert "WARNING" in capsys.readouterr().err
    for kind in ("json", "csv", "canvas", "junit"):
        assert command("export", tmp_path / "out", "--to", kind) == 0
        assert "graded without a sandbox" in capsys.readouterr().out
    assert grades_of(tmp_path / "out") == {("right", "00.1"): (1.0, "OK")}
