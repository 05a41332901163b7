"""A course for nbgrader, taken by three students: what nbgrader itself makes of it, from the release to the exported marks."""

from __future__ import annotations

import csv
import datetime
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from kata_workspace import MERGE, PARTITION, SPLIT

from grading.authoring import nbgrader_course
from grading.grader import gradebooks
from grading.grader.policy import check_names, read_policy
from grading.grader.records import Grade, GradeStatus
from grading.grader.shipped_code import CheckFile
from grading.grader.standing import Standing, standing
from grading.grader.store import Store
from grading.shared import hidden_checks, shares
from jitkit.kata.engine.manifest import all_labs

ROOT = pathlib.Path(__file__).parents[1]

if importlib.util.find_spec("nbgrader") is None:
    pytest.skip('needs nbgrader: pip install -e ".[nbgrader]"', allow_module_level=True)
nbformat, nbclient = map(importlib.import_module, ("nbformat", "nbclient"))

RELU = "def relu(x):\n    return jnp.maximum(x, 0)\n"
FLOATS = "def relu(x):\n    return jnp.maximum(x, 0.0)\n"  # right for floats, and wrong for integers


class Course:
    """A course in a folder, with nbgrader's commands."""

    def __init__(self, folder, labs):
        self.folder = folder
        self.labs = labs

    def __call__(self, *command, status=0):
        """Run a command of nbgrader; return its output."""
        beside = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ.get("PATH", "")])
        paths = {"PATH": beside, "PYTHONPATH": str(ROOT), "JITKIT_LABS": str(self.labs)}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *map(str, command)],
            cwd=self.folder, env=kept | paths, capture_output=True, text=True, timeout=900, check=False,
        )  # fmt: skip
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def submit(self, student, assignment, **functions):
        """Hand the released notebook in, with these functions in place of the stubs that have their names."""
        name = f"{assignment}.ipynb"
        notebook = json.loads((self.folder / "release" / assignment / name).read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            text = "".join(cell["source"])
            if cell["metadata"].get("nbgrader", {}).get("solution"):
                for function, source in functions.items():
                    text = re.sub(
                        rf"^def {function}\(.*?NotImplementedError\(\)$",
                        lambda _, s=source: s,
                        text,
                        flags=re.MULTILINE | re.DOTALL,
                    )
                cell["source"] = text.splitlines(keepends=True)
        path = self.folder / "submitted" / student / assignment / name
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(notebook), encoding="utf-8")
        return path


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Return a course that was released, handed in by three students, and graded, with feedback and marks."""
    labs = tmp_path_factory.mktemp("labs")
    shutil.copytree(ROOT / "tests" / "kata_labs" / "90_lists", labs / "90_lists")
    shutil.copytree(ROOT / "labs" / "00_hello", labs / "00_hello")
    taken = Course(tmp_path_factory.mktemp("course"), labs)
    chosen = all_labs(labs)
    nbgrader_course.build(taken.folder, chosen)
    nbgrader_course.release(taken.folder, chosen)
    taken.submit("blank", "90_lists")
    taken.submit("half", "90_lists", merge_lists=MERGE)
    taken.submit("full", "90_lists", merge_lists=MERGE, partition_list=PARTITION, split_list=SPLIT)
    taken.submit("half", "00_hello", relu=FLOATS)
    taken.submit("full", "00_hello", relu=RELU)
    for lab in chosen:
        taken("autograde", lab.name, "--create")
        taken("generate_feedback", lab.name)
    taken("export", "--to", "grades.csv")
    return taken


def marks(graded):
    """Return the exported score and highest score, by student and assignment."""
    with open(graded.folder / "grades.csv", encoding="utf-8", newline="") as file:
        return {
            (row["student_id"], row["assignment"]): (row["score"], row["max_score"]) for row in csv.DictReader(file)
        }


def test_a_stub_scores_nothing(graded):
    score, most = map(float, marks(graded)["blank", "90_lists"])
    assert (score, most) == (0.0, sum(e.points for e in all_labs(graded.labs)[1].exercises))


def test_the_solution_has_full_marks(graded):
    for assignment in ("90_lists", "00_hello"):
        score, most = map(float, marks(graded)["full", assignment])
        assert score == most


def test_half_of_the_work_has_a_part_of_the_marks(graded):
    score, _ = map(float, marks(graded)["half", "90_lists"])
    assert score == all_labs(graded.labs)[1].exercises[0].points
    score, most = map(float, marks(graded)["half", "00_hello"])
    assert 0 < score < most  # one exercise, some of whose checks pass


def test_no_answer_is_in_what_students_get(graded):
    assert len(nbgrader_course.leaks(graded.folder / "source")) == 2
    for folder in ("release", "feedback"):
        assert any((graded.folder / folder).rglob("*.*"))
        assert nbgrader_course.leaks(graded.folder / folder) == []
    released = (graded.folder / "release" / "00_hello" / "00_hello.ipynb").read_text(encoding="utf-8")
    assert "jnp.maximum(x, 0)" not in released
    assert "three_axes(jk" not in released


def test_an_answer_in_the_release_is_found(graded, tmp_path):
    shutil.copytree(graded.folder / "source", tmp_path / "release")
    assert [path.suffix for path in nbgrader_course.leaks(tmp_path / "release")] == [".ipynb", ".ipynb"]


def test_feedback_has_the_verdict_of_a_failing_check(graded):
    page = next((graded.folder / "feedback" / "half" / "00_hello").glob("*.html")).read_text(encoding="utf-8")
    assert "Integers stay integers." in page
    assert "int32" in page
    assert "three_axes(jk" not in page


def test_validate_accepts_the_solution_and_says_what_a_stub_fails(graded):
    full = graded("validate", graded.folder / "submitted" / "full" / "90_lists" / "90_lists.ipynb")
    assert "Success" in full
    blank = graded("validate", graded.folder / "submitted" / "blank" / "90_lists" / "90_lists.ipynb")
    assert "failed" in blank
    assert "is still to be written" in blank


@pytest.mark.parametrize("lab", all_labs(ROOT / "labs"), ids=lambda lab: lab.name)
def test_the_notebook_for_learners_runs_from_its_first_cell_to_its_last(lab):
    """As it comes, with nothing written in it."""
    text = (lab.folder / "lab.ipynb").read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    assert nbformat.writes(notebook) + "\n" == text
    resources = {"metadata": {"path": str(ROOT)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    shown = [output["data"]["text/plain"] for output in outputs if "data" in output]
    assert [
        output["ename"] for output in outputs if output.output_type == "error" and output["ename"] == "NameError"
    ] == []
    # nbgrader wraps lines, so join them
    assert sum("still to be written" in " ".join(output.split()) for output in shown) == len(lab.exercises)
    assert any("Guess first" in output for output in shown) == (lab.experiment is not None)


@pytest.mark.filterwarnings("ignore:Object of type <Submitted")  # nbgrader's own
def test_points_of_the_grader_are_those_of_the_gradebooks_own_cells(graded, tmp_path):
    """A lab that counts 10 in the course, and 1 in the gradebook; late by five days; with one mark that was changed by hand."""
    for name in ("nbgrader_config.py", "gradebook.db"):
        shutil.copy(graded.folder / name, tmp_path / name)
    (tmp_path / "course.toml").write_text(
        "[late]\npercent_a_day = 10\n[lab.00]\npoints = 10\ndue = 2026-10-10T00:00:00\n", encoding="utf-8"
    )
    labs = all_labs(ROOT / "labs")[:1]
    policy = read_policy(tmp_path / "course.toml", labs)
    names = check_names(labs[0], labs[0].exercises[0])
    hidden = {c.name for c in CheckFile.read(hidden_checks(labs[0])).checks}
    checks = [
        {"name": n, "hidden": n in hidden, "about": "", "status": "PASS" if i else "FAIL", "against": [], "sentence": "",
         "line": None, "seconds": 0.1}
        for i, n in enumerate(names)
    ]  # fmt: skip
    days = {"ontime": -1, "late": 5, "mended": 5}
    due = policy.of_lab["00"].due.timestamp()
    with Store(tmp_path / "grades", write=True) as store:
        for student, number in days.items():
            at = due + 86_400 * number
            row = Grade(student, student, at, "/in", "00", "00.1", GradeStatus.OK, "", 0.8, 1.0, result="r")
            store.add([], [row])
        store.database.execute(
            "INSERT INTO results VALUES ('r','00.1','','','','','','','OK','',?,0.1,'')", [json.dumps(checks)]
        )
        store.mark("mended", "00.1", 7.5, "the check was wrong", "", "me")
        records = standing(store.grades(), policy, labs, (), store.marks())
    part = 1 - 1 / len(names)
    points = {"ontime": 10 * part, "late": 5 * part, "mended": 7.5}  # the grader rounds to cents
    assert {r.grade.student: r.points for r in records} == pytest.approx(points, abs=0.005)
    gradebooks.to_nbgrader(
        Standing(tmp_path / "grades", records, policy, labs, "bubblewrap"), tmp_path / "gradebook.db"
    )
    course = Course(tmp_path, graded.labs)
    course("export", "--to", "grades.csv")
    with open(tmp_path / "grades.csv", encoding="utf-8", newline="") as file:
        rows = {r["student_id"]: r for r in csv.DictReader(file) if r["assignment"] == "00_hello"}
    kept = 1 - shares(1, len(names))[0]  # nbgrader's cells have points in 64ths
    for student, score, penalty in (("ontime", kept, 0.0), ("late", kept / 2, kept / 2), ("mended", 0.75, kept / 2)):
        row = rows[student]
        assert float(row["max_score"]) == 1.0
        assert float(row["score"]) == pytest.approx(score, abs=0.01), student
        assert float(row["late_submission_penalty"]) == pytest.approx(penalty, abs=0.01)
        when = datetime.datetime.fromisoformat(row["timestamp"]).replace(tzinfo=datetime.UTC)
        assert when.timestamp() == due + 86_400 * days[student]
