"""What a submission can make the grader do is bounded: time, programs that XLA runs, names that an archive has."""

from __future__ import annotations

import ast
import zipfile

import pytest

from grading.grader import batch, signs
from grading.grader.grade import Course
from grading.grader.trials import How, Settings
from jitkit.kata.engine.manifest import all_labs
from jitkit.kata.engine.running import Outcome

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
        course.programs, "run_one", lambda bench, text, arguments, deadline: ran.append(text) or {"results": []}
    )
    right = several(program("a", results=[1]), program("b", results=[2]))
    value = several(program("a"), *(program(f"x{i}", results=["forged"]) for i in range(1000)))
    assert course.programs.run(None, value, right) == 0
    assert ran == ["x0"], "equal text is not run again, and what is too much is not run at all"
    first, second, *rest = value["items"]
    assert (first["results"], second["results"]) == ([1], [])
    assert all("results" not in p and "refused" in p for p in rest)


def test_equal_programs_on_equal_arguments_are_run_once_and_no_end_is_not_remembered(course, monkeypatch):
    ran = []
    ends = {"results": [{"is": "int"}]}

    def run_one(bench, text, arguments, deadline):
        ran.append((text, arguments))
        return None if text == "endless" else ends

    monkeypatch.setattr(course.programs, "run_one", run_one)
    for _ in range(2):
        for text, arguments in (("once", [1]), ("once", [2]), ("endless", [])):
            right, value = several(program("r") | {"arguments": arguments}), several(program(text))
            course.programs.run(None, value, right)
            assert value["items"][0].get("results") == (None if text == "endless" else ends["results"])
    assert ran == [("once", [1]), ("once", [2]), ("endless", []), ("endless", [])]


def test_programs_that_come_to_no_end_are_few(course, monkeypatch):
    ran = []
    monkeypatch.setattr(course.programs, "run_one", lambda bench, text, arguments, deadline: ran.append(text))
    right = several(*(program(f"a{i}") for i in range(10)))
    value = several(*(program(f"x{i}") for i in range(10)))
    assert course.programs.run(None, value, right) == 2
    assert len(ran) == 2
    assert course.programs.run(None, value, right, tries=0) == 0
    assert course.programs.run(None, value, right, deadline=0.0) == 0
    assert len(ran) == 2


def test_after_a_submissions_time_no_worker_is_started(course):
    exercise = course.labs[0].exercises[0]
    outcomes = course.outcomes(None, exercise, {}, How(False), deadline=0.0)
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


@pytest.mark.parametrize(("flags", "runs"), [([], [False, True]), (["uses jax"], [False])])
def test_an_honest_answer_that_compiles_where_the_reference_does_not_is_run_with_xla(
    course, monkeypatch, flags, runs
):
    exercise = course.labs[0].exercises[0]
    ran = []

    def outcomes(bench, exercise, item, how, *rest):
        ran.append(how.uses_xla)
        missing = {"is": "error", "class": "ModuleNotFoundError", "text": "No module named 'jax'"}
        value = {"is": "None"} if how.uses_xla else missing
        return [Outcome(check.name, value) for _, check in course.checks(exercise)]

    monkeypatch.setattr(course, "outcomes", outcomes)
    monkeypatch.setattr(course, "can_be_patched", lambda *_: True)
    values = {check.name: {"is": "None"} for _, check in course.checks(exercise)}
    monkeypatch.setattr(course, "expected", lambda *_: {"xla": False, "patched": True, "executables": {}, "values": values})
    item = {"status": "ready", "flags": flags, "files": [], "modules": "", "patch": "x"}
    result = course.result(None, exercise, item, None, float("inf"), lambda: False)
    assert ran == runs
    assert all((c["status"] == "PASS") == (not flags) for c in result["checks"])


@pytest.mark.parametrize(
    ("text", "keeps"),
    [
        ("def f(x, n=0, *, name='a'):\n    y = [n]\n    y[0] = x\n    y.append(1)\n    return y", False),
        ("class A:\n    def f(self, x):\n        self.x = x\n        self.seen[x] = 1", True),  # a class of one's own may hold anything
        ("def f(self, x):\n    self.x = x\n    self.seen[x] = 1", False),
        ("LIMIT = 2 * 3", False),
        ("seen = {}", True),
        ("def f(x, seen=[]):\n    return seen", True),
        ("def f(x):\n    seen[x] = 1", True),
        ("def f(x):\n    f.calls = 1", True),
        ("def f(x):\n    global n\n    n = 1", True),
        ("def f(x):\n    x.__class__.n = 1", True),
        ("@functools.lru_cache\ndef f(x):\n    return x", True),
        ("for i in range(3):\n    print(i)", True),
    ],
)
def test_what_may_keep_something_between_calls_is_seen_by_reading(text, keeps):
    assert signs.keeps_state(ast.parse(text).body) == keeps


def test_what_fails_together_is_run_alone_and_that_verdict_counts(course, monkeypatch):
    exercise = course.labs[0].exercises[0]
    names = [check.name for _, check in course.checks(exercise)]
    right, wrong = {"is": "None"}, {"is": "bool", "value": True}
    alone = []
    together = [right, wrong, wrong, right, right]  # the process ended after these
    monkeypatch.setattr(
        course,
        "together",
        lambda bench, e, item, how, checks, deadline: [
            Outcome(c.name, v) for (_, c), v in zip(checks, together, strict=False)
        ],
    )

    def outcomes(bench, e, item, how, deadline, ask, wanted, ended):
        alone.extend(c.name for _, c in wanted)
        return [Outcome(c.name, wrong if c.name == names[1] else right) for _, c in wanted]

    monkeypatch.setattr(course, "outcomes", outcomes)
    expected = {"xla": False, "patched": True, "together": names, "executables": {}, "values": dict.fromkeys(names, right)}
    item = {"flags": [], "files": [], "keeps": False}
    verdicts = course.verdicts(None, exercise, item, expected)
    assert [v.check.name for v in verdicts] == names
    assert [v.status == "pass" for v in verdicts] == [n != names[1] for n in names]
    assert alone == [names[1], names[2], *names[5:]]
    alone.clear()
    course.verdicts(None, exercise, item | {"keeps": True}, expected)
    assert alone == names, "whose code keeps something has a process for each check"
