"""What a submission can make the grader do is bounded: time, programs that XLA runs, names that an archive has."""

from __future__ import annotations

import zipfile

import pytest

from grading.grader import batch
from grading.grader.grade import Course, Settings
from jitkit.kata.engine.manifest import all_labs

LABS = all_labs()


@pytest.fixture(scope="module")
def course():
    return Course(LABS[:1], Settings(1, "test"))


def program(text, **more):
    return {"is": "stablehlo", "text": text, "arguments": [], **more}


def several(*programs):
    return {"is": "list", "items": list(programs)}


def test_no_more_programs_are_run_than_the_right_answer_has(course, monkeypatch):
    ran = []
    monkeypatch.setattr(
        course, "_run_program", lambda bench, text, arguments, deadline: ran.append(text) or {"results": []}
    )
    right = several(program("a", results=[1]), program("b", results=[2]))
    value = several(program("a"), *(program(f"x{i}", results=["forged"]) for i in range(1000)))
    assert course.run_programs(None, value, right) == 0
    assert ran == ["x0"], "equal text is not run again, and what is too much is not run at all"
    first, second, *rest = value["items"]
    assert (first["results"], second["results"]) == ([1], [])
    assert all("results" not in p and "refused" in p for p in rest)


def test_programs_that_come_to_no_end_are_few(course, monkeypatch):
    ran = []
    monkeypatch.setattr(course, "_run_program", lambda bench, text, arguments, deadline: ran.append(text))
    right = several(*(program(f"a{i}") for i in range(10)))
    value = several(*(program(f"x{i}") for i in range(10)))
    assert course.run_programs(None, value, right) == 2
    assert len(ran) == 2
    assert course.run_programs(None, value, right, tries=0) == 0
    assert course.run_programs(None, value, right, deadline=0.0) == 0
    assert len(ran) == 2


def test_after_a_submissions_time_no_worker_is_started(course):
    exercise = course.labs[0].exercises[0]
    outcomes = course.outcomes(None, exercise, {}, False, deadline=0.0)
    assert [o.trouble for o in outcomes] == ["time"] * len(course.checks(exercise))


def test_an_odd_name_in_a_zip_of_a_class_is_left_out_and_the_others_are_graded(tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        archive.writestr("ann/hello.py", "x = 1\n")
        archive.writestr("../bob.py", "x = 1\n")
        archive.writestr("C:carl.py", "x = 1\n")
    folder = batch.unpacked(tmp_path / "class.zip", tmp_path / "unpacked")
    assert [e.student for e in batch.entries(folder if (folder / "ann").exists() else folder.parent)] == [
        "ann"
    ]
    said = capsys.readouterr().err
    assert "bob.py" in said
    assert "C:carl.py" in said
    assert not (tmp_path / "bob.py").exists()


def test_a_folder_with_a_name_like_a_table_is_a_submission(tmp_path):
    (tmp_path / "ann.csv").mkdir()
    (tmp_path / "roster.csv").write_text("student\n", encoding="utf-8")
    assert [e.student for e in batch.entries(tmp_path)] == ["ann.csv"]
