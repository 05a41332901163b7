"""Folders and zips as courses and learning platforms hand them over, and which student each submission belongs to.
Nothing is run.
"""

from __future__ import annotations

import datetime
import io
import json
import tarfile
import zipfile

import pytest

from grading.grader.handed_over import entries, unpacked
from grading.grader.intake import read_submission
from grading.grader.policy import read_policy
from grading.grader.records import Person
from grading.grader.roster import Names, Student, read_roster
from jitkit.kata.engine.manifest import all_labs

LABS = all_labs()
RELU = "def relu(x):\n    return jnp.maximum(x, 0)\n"
ROSTER = (
    Student("al123", "Ann Lee", "ann@x.edu"),
    Student("br9", "Bob Ray-Jones", "bob@x.edu", canvas_id="777"),
    Student("cm", "Ok, Cem", "cem@x.edu", moodle_id="Participant 99"),
    Student("twin1", "Sam Twin"),
    Student("twin2", "Sam Twin"),
)


def write(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(RELU, encoding="utf-8")


def found_in(folder, tmp_path, roster=ROSTER, known=()):
    return {e.student: e for e in entries(folder, tmp_path / "put together", roster, known)}


@pytest.mark.parametrize(
    ("names", "id"),
    [
        (("al123",), "al123"), (("ann@x.edu",), "al123"), (("ann",), "al123"), (("Ann Lee",), "al123"), (("leeann",), "al123"),
        (("Lee, Ann",), "al123"), (("rayjonesbob",), "br9"), (("canvas 777",), "br9"), (("moodle 99",), "cm"), (("Cem Ok",), "cm"),
        (("Sam Twin",), ""), (("nobody",), ""), (("",), ""), (("canvas ",), ""), (("nobody", "CM"), "cm"),
    ],
)  # fmt: skip
def test_a_name_of_a_platforms_is_one_students_or_nobodys(names, id):
    assert Names(ROSTER).whose(*names) == id


def test_the_flat_files_of_canvas_are_put_together_by_the_user(tmp_path):
    folder = tmp_path / "canvas"
    write(
        folder, "leeann_12345_98765_00_hello.py", "leeann_12345_98766_02_jaxpr-1.py", "rayjonesbob_LATE_777_98767_00_hello.ipynb",
        "zedzoe_888_98768_00_hello-3.py", "course.toml",
    )  # fmt: skip
    found = found_in(folder, tmp_path)
    assert sorted(found) == ["al123", "br9", "zedzoe"]
    assert sorted(p.name for p in found["al123"].path.iterdir()) == ["00_hello.py", "02_jaxpr.py"]
    assert [p.name for p in found["zedzoe"].path.iterdir()] == ["00_hello.py"]
    assert found["al123"].person == Person("al123", "canvas", "12345", "", "")
    assert read_submission(found["al123"].path, LABS)["exercises"]["00.1"]["status"] == "ready"
    again = found_in(folder, tmp_path)
    assert sorted(p.name for p in again["al123"].path.iterdir()) == ["00_hello.py", "02_jaxpr.py"]
    known = [Person("Zoe of last week", "canvas", "888", "", ""), Person("leeann", "canvas", "12345", "", "")]
    assert sorted(found_in(folder, tmp_path, (), known)) == ["Zoe of last week", "leeann", "rayjonesbob"]


def test_files_that_are_only_called_alike_are_students_of_their_own(tmp_path):
    write(tmp_path / "in", "ann_2026_10_hello.py", "bob_2026_10_hello.py")
    assert sorted(found_in(tmp_path / "in", tmp_path, ())) == ["ann_2026_10_hello", "bob_2026_10_hello"]


def test_two_users_of_canvas_with_one_name_stay_two(tmp_path):
    write(tmp_path / "in", "samtwin_1_10_00_hello.py", "samtwin_2_11_00_hello.py")
    assert len(found_in(tmp_path / "in", tmp_path)) == 2


METADATA = """\
---
submission_123:
  :submitters:
  - :name: Ann Lee
    :sid: '555'
    :email: ann@x.edu
  - :name: "Zo\\u00e9: Zed"
    :sid: "9"
    :email: zoe@x.edu
  :created_at: 2026-10-01 12:34:56.500000000 Z
  :score: 1.0
  :history:
  - :created_at: 1999-01-01 00:00:00 Z
submission_124:
  :submitters:
  - :name: O'Nobody
    :sid:
    :email:
  :created_at: 2026-10-01T12:34:56+02:00
submission_gone:
  :submitters:
  - :name: Gone
"""


def test_gradescope_says_who_and_when(tmp_path):
    folder = tmp_path / "assignment_1_export"
    write(folder, "submission_123/00_hello.py", "submission_124/00_hello.py", "submission_125/00_hello.py")
    (folder / "submission_metadata.yml").write_text(METADATA, encoding="utf-8")
    found = found_in(folder, tmp_path)
    assert sorted(found) == ["O'Nobody", "Zo\u00e9: Zed", "al123", "submission_125"]
    assert found["al123"].path == found["Zo\u00e9: Zed"].path == folder / "submission_123"
    then = datetime.datetime(2026, 10, 1, 12, 34, 56, tzinfo=datetime.UTC).timestamp()
    assert found["al123"].handed_in == then + 0.5
    assert found["O'Nobody"].handed_in == then - 7200
    assert found["al123"].person == Person("al123", "gradescope", "555", "Ann Lee", "ann@x.edu")


def test_the_folders_of_moodle_have_its_numbers(tmp_path):
    folder = tmp_path / "moodle"
    write(
        folder, "Ann Lee_41_assignsubmission_file/00_hello.py", "Ann Lee_41_assignsubmission_onlinetext/onlinetext.html",
        "Someone_99_assignsubmission_file_/00_hello.py", "Zed Zoe_43_assignsubmission_file_00_hello.py",
    )  # fmt: skip
    found = found_in(folder, tmp_path)
    assert sorted(found) == ["Zed Zoe", "al123", "cm"]
    assert found["al123"].path == folder / "Ann Lee_41_assignsubmission_file"
    assert found["cm"].person == Person("cm", "moodle", "99", "Someone", "")
    assert [p.name for p in found["Zed Zoe"].path.iterdir()] == ["00_hello.py"]


def test_nobody_takes_anothers_place_in_moodle_by_the_name_of_a_file(tmp_path):
    """Without folders a file's name comes after the participant's number, and the student's own name before it."""
    folder = tmp_path / "moodle"
    mine, thiefs = (
        "Someone_99_assignsubmission_file_00_hello.py",
        "Ann Lee_41_assignsubmission_file_a_99_assignsubmission_file_00_hello.py",
    )
    write(folder, mine, thiefs, "X_99_assignsubmission_file_42_assignsubmission_file/00_hello.py")
    (folder / thiefs).write_text("def relu(x):\n    return 0\n", encoding="utf-8")
    found = found_in(folder, tmp_path)
    assert len(found) == 3
    assert (found["cm"].path / "00_hello.py").read_text(encoding="utf-8") == RELU
    assert {e.person.number for e in found.values() if e.person is not None} == {"99", "42"}


def test_who_hands_in_nothing_but_a_table_is_a_student_who_is_told(tmp_path):
    write(tmp_path / "moodle", "Zed Zoe_43_assignsubmission_file_data.csv", "roster.csv")
    assert sorted(found_in(tmp_path / "moodle", tmp_path)) == ["Zed Zoe"]


@pytest.mark.parametrize(
    ("names", "students"),
    [
        (["ann/00_hello/exercises.py"], ["al123"]),
        (["ann/00_hello.py"], ["al123"]),
        (["class/ann/00_hello/exercises.py", "class/bob/00_hello.py"], ["al123", "bob"]),
        (["class/ann/00_hello.py"], ["al123"]),
        (["Ann Lee_41_assignsubmission_file_/00_hello.py"], ["al123"]),
    ],
)
def test_a_zip_of_one_student_is_that_students(tmp_path, names, students):
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        for name in names:
            archive.writestr(name, RELU)
    folder = unpacked(tmp_path / "class.zip", tmp_path / "unpacked", labs=LABS)
    assert sorted(found_in(folder, tmp_path, ROSTER[:1])) == students


def test_a_roster_may_have_what_platforms_call_a_student_and_errors_name_the_line(tmp_path):
    (tmp_path / "r.csv").write_text("student,email,name,canvas_id\nann,a@x,Ann,7\n\n,b@x,Bob,8\n", encoding="utf-8")
    (tmp_path / "course.toml").write_text('roster = "r.csv"\n', encoding="utf-8")
    with pytest.raises(Exception, match=r"r\.csv:4: there is no name of a student"):
        read_policy(tmp_path / "course.toml", LABS)
    (tmp_path / "r.csv").write_text("student,email,name,canvas_id\nann,a@x,Ann,7\n", encoding="utf-8")
    assert read_roster(tmp_path / "r.csv") == (Student("ann", "Ann", "a@x", "7"),)


WRONG = RELU.replace("0", "1")


def archive(path, members):
    """Write an archive; each member is a pair: the path as the archive stores it, and a text."""
    if path.suffix == ".tar":
        with tarfile.open(path, "w") as file:
            for name, text in members:
                info = tarfile.TarInfo(name)
                info.size = len(text)
                file.addfile(info, io.BytesIO(text.encode()))
    else:
        with zipfile.ZipFile(path, "w") as file:
            for name, text in members:
                info = zipfile.ZipInfo("-")
                info.filename = name
                file.writestr(info, text)
    return path


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("ending", ["zip", "tar"])
@pytest.mark.parametrize("again", ["a.py", "./a.py", "b/../a.py", ".//a.py", ".\\a.py"])
def test_an_archive_with_two_contents_of_one_path_is_looked_at_by_a_person(ending, again, tmp_path):
    """Programs that unpack it take the last one, or ask; the grader does not take the first one silently."""
    read = read_submission(archive(tmp_path / f"ann.{ending}", [("a.py", WRONG), (again, RELU)]), LABS)
    assert read["status"] == "INVALID"
    assert "twice, with different contents" in read["sentence"] or "outside of it" in read["sentence"]
    same = read_submission(archive(tmp_path / f"bob.{ending}", [("a.py", RELU), ("./a.py", RELU)]), LABS)
    assert same["exercises"]["00.1"]["status"] == "ready"
    assert same["labs"]["00"]["files"] == ["a.py"]


@pytest.mark.parametrize("name", ["exercises_old.py", "exercises.bak.py", "scratch.py", "lab-Copy1.ipynb"])
def test_the_file_that_was_handed_out_counts_before_drafts_beside_it(name, tmp_path):
    """A draft gets a flag, as a copy of the folder does. Only two of the files that were handed out may contradict each other."""
    cell = {"cell_type": "code", "metadata": {}, "source": WRONG, "outputs": [], "execution_count": None}
    notebook = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    write(tmp_path / "ann", "00_hello/exercises.py")
    (tmp_path / "ann" / "00_hello" / name).write_text(notebook if name.endswith("ipynb") else WRONG, encoding="utf-8")
    item = read_submission(tmp_path / "ann", LABS)["exercises"]["00.1"]
    assert (item["status"], item["path"]) == ("ready", "00_hello/exercises.py")
    told = f"`relu` is also in 00_hello/{name}, in another version; 00_hello/exercises.py was graded"
    assert told in item["flags"]
    (tmp_path / "ann" / "00_hello" / "lab.ipynb").write_text(notebook, encoding="utf-8")
    read = read_submission(tmp_path / "ann", LABS)
    assert read["status"] == "INVALID"
    assert "00_hello/exercises.py and 00_hello/lab.ipynb" in read["sentence"]


def test_a_stub_beside_a_written_draft_is_not_a_silent_0(tmp_path):
    (tmp_path / "ann" / "00_hello").mkdir(parents=True)
    (tmp_path / "ann" / "00_hello" / "exercises.py").write_text("def relu(x):\n    raise NotImplementedError\n")
    (tmp_path / "ann" / "00_hello" / "mine.py").write_text(RELU)
    item = read_submission(tmp_path / "ann", LABS)["exercises"]["00.1"]
    assert (item["status"], item["path"]) == ("ready", "00_hello/mine.py")
