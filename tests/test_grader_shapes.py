"""Right answers in unusual but honest forms: the grader agrees with the workspace, and both say why if they cannot take an answer."""

from __future__ import annotations

import ast
import json
import subprocess
import sys

import pytest
from grader_catalogue import grade_only, points_of
from test_grader import solution

from grading.__main__ import main
from grading.authoring.generate import by_class, imports_of_lab
from grading.grader.answers import Answers
from grading.grader.bubblewrap import JailError
from grading.grader.files import Found
from grading.grader.selftest import self_test
from grading.grader.sources import source_of
from grading.grader.standing import Standing
from grading.grader.store import Store
from grading.shared import ROOT
from jitkit.kata.engine.assessor import Assessor
from jitkit.kata.engine.exchange import patch
from jitkit.kata.engine.manifest import all_labs
from jitkit.kata.engine.reference import reference_function
from jitkit.kata.engine.running import LearnerSource
from jitkit.kata.engine.statuses import Status
from jitkit.kata.engine.submission import LearnerFile

LAB = next(lab for lab in all_labs() if lab.number == "02")
EXERCISE = LAB.exercise("02.4")
IMPORTS = imports_of_lab(LAB)
FUNCTION = "\n\n\n".join(by_class(solution(EXERCISE)))
LOOP = "    for eqn, dead in"
DEFINED = "def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any)"


def changed(text, *pairs):
    for before, after in pairs:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


def answer(*pairs, imports=IMPORTS, before=""):
    return f"{imports}\n\n\n{before}{changed(FUNCTION, *pairs)}\n"


GUARDED = "try:\n    from jitkit import core\nexcept ImportError:\n    core = None\nelse:\n    HAS_CORE = True\n"
LOGGED = """import functools

def logged(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapped


@logged
"""
FOR_TYPES = "import typing\n\nif typing.TYPE_CHECKING:\n    from collections.abc import Callable, Iterable, Sequence\n"

RIGHT = {
    "stars of the course's modules": answer(
        imports="from typing import *\nfrom collections.abc import *\nfrom jitkit.jaxpr import *\nfrom jitkit.core import *\n"
    ),
    "two stars with the same name": answer(
        (LOOP, f"    assert callable(sqrt) and callable(maximum)\n{LOOP}"),
        imports=f"from math import *\nfrom jitkit.numpy import *\n{IMPORTS}",
    ),
    "a name from a higher room": answer(
        (LOOP, f"    assert callable(maximum)\n{LOOP}"), imports=f"from jitkit.numpy import maximum\n{IMPORTS}"
    ),
    "a helper with a name from a higher room": answer(
        (LOOP, f"    helped()\n{LOOP}"),
        imports=f"from jitkit.numpy import maximum\n{IMPORTS}",
        before="def helped():\n    return maximum\n\n\n",
    ),
    "imports under a try": answer(
        (LOOP, f"    assert core is not None and HAS_CORE\n{LOOP}"),
        imports=changed(IMPORTS, ("from jitkit import core\n", GUARDED)),
    ),
    "imports for types": answer(imports=FOR_TYPES + "from typing import Any\nfrom jitkit.jaxpr import *\n"),
    "more parameters": answer(
        ("consts: Sequence[Any], *args: Any)", "consts: Sequence[Any], *args: Any, verbose: bool = False)")
    ),
    "a decorator": answer(("def eval_jaxpr", f"{LOGGED}def eval_jaxpr")),
}  # fmt: skip
TOLD = {
    "a star that nobody can look up": (
        answer(
            (LOOP, f"    assert callable(maximum)\n{LOOP}"), imports=f"from jax.numpy import *\n{IMPORTS}"
        ),
        "Name them: `from jax.numpy import maximum`.",
    ),
    "another thing under a try": (
        answer(
            imports=changed(IMPORTS, ("from jitkit.jaxpr import", "from jitkit.jaxpr import Var as Other\nfrom jitkit.jaxpr import"))
            + "\ntry:\n    import missing_here as Atom\nexcept ImportError:\n    Atom = Other\n"
        ),
        "Import it without `try`.",
    ),
    "a parameter without a default": (answer(("jaxpr: Jaxpr, consts", "jaxpr: Jaxpr, more, consts")), "Give it its parameters back"),
    "a static method that is none": (answer(("def eval_jaxpr", "@staticmethod\ndef eval_jaxpr")), "Take it away."),
}  # fmt: skip


@pytest.fixture(scope="module")
def engine():
    return Assessor()


def in_the_workspace(engine, text):
    source = LearnerSource("02_jaxpr/exercises.py", text, LAB.names)
    return engine.assess(LAB, EXERCISE, source, seed=3, draw=3)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_answer_of_an_unusual_shape_passes_in_the_workspace(engine, name):
    verdict = in_the_workspace(engine, RIGHT[name])
    assert verdict.status is Status.PASS, verdict.first_failure


@pytest.mark.parametrize("name", TOLD)
def test_what_cannot_be_taken_has_a_sentence_in_the_workspace(engine, name):
    text, sentence = TOLD[name]
    failure = in_the_workspace(engine, text).first_failure
    assert failure is not None
    assert sentence in failure.sentence


@pytest.fixture(scope="module")
def jail():
    try:
        leaks = self_test()
    except JailError as error:
        pytest.skip(f"needs bubblewrap: {error}")
    assert leaks == []


@pytest.mark.usefixtures("jail")
def test_the_grader_says_what_the_workspace_says(tmp_path, monkeypatch):
    grade_only(monkeypatch, EXERCISE.id)
    texts = RIGHT | {name: text for name, (text, _) in TOLD.items()}
    for name, text in texts.items():
        (tmp_path / "in" / name / LAB.name).mkdir(parents=True)
        (tmp_path / "in" / name / LAB.name / "exercises.py").write_text(text, encoding="utf-8")
    (tmp_path / "in" / "course.toml").write_text("random_programs = 2\n", encoding="utf-8")
    assert main(["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--quiet", "--lab", "02"]) == 0
    with Store(tmp_path / "out") as store:
        records = {r.grade.student: r for r in Standing.of(store).records if r.grade.exercise == "02.4"}
    for name in RIGHT:
        assert points_of(records[name]) == records[name].max, name
    for name, (_, sentence) in TOLD.items():
        assert sentence in str(records[name].grade), name


def test_a_star_of_another_file_is_told_as_such(tmp_path, monkeypatch):
    grade_only(monkeypatch, EXERCISE.id)
    mine = "from mine import *\n" + answer((LOOP, f"    helped()\n{LOOP}"))
    for name, text in (("exercises.py", mine), ("mine.py", "def helped():\n    return 1\n")):
        (tmp_path / "in" / "ann" / LAB.name).mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / "ann" / LAB.name / name).write_text(text, encoding="utf-8")
    words = ["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--quiet", "--lab", "02", "--unsandboxed"]
    assert main(words) == 0
    with Store(tmp_path / "out") as store:
        (record,) = [r for r in Standing.of(store).records if r.grade.exercise == "02.4"]
    assert record.grade.outcome == "INVALID"
    assert "Other files do not come along" in str(record.grade)


def test_an_import_from_an_old_place_goes_into_a_function_that_needs_another_meaning():
    """The new place has no line of its own, and a tree without lines cannot be compiled."""
    text = answer((LOOP, f"    assert Jaxpr2 is not None and Place\n{LOOP}"), imports=OLD + IMPORTS)
    file = LearnerFile.parse(text, "exercises.py", LAB.targets)
    changed_code = patch(dict.fromkeys(EXERCISE.targets, file))
    assert changed_code is not None
    assert all(n.lineno for node in file.tree.body for n in ast.walk(node) if isinstance(n, ast.alias))


OLD = "from jitkit.jaxpr_printer import pp_aval as Place\nfrom jitkit.jaxpr_check import Place as Jaxpr2\n"


def test_an_error_of_the_grader_while_it_reads_is_told_as_its_own():
    program = "import sys; from grading.grader import intake; intake.read_submission = lambda *a: 1 / 0; intake.serve(sys.argv[1])"
    request = json.dumps({"path": ".", "only": [], "whole": [], "zone": "UTC"})
    words = [sys.executable, "-c", program, str(ROOT / "labs")]
    done = subprocess.run(words, input=request.encode() + b"\n", capture_output=True, cwd=ROOT, check=True)
    read = json.loads(done.stdout[8:])
    assert read["status"] == "INVALID"
    assert "its own fault: ZeroDivisionError" in read["sentence"]


def test_a_module_of_a_package_of_ones_own_brings_its_tables_and_imports():
    """Those that the reference's module lacks; relative imports, too."""
    [target] = EXERCISE.targets
    more = "import fractions\nfrom ..base import util as own_util\n_OF_TYPES = {kind: own_util for kind in fractions.Fraction(1)}\n"
    module = reference_function(target).module_source.replace(LOOP, f"    _OF_TYPES.get(Primitive)\n{LOOP}")
    found = source_of(Found("mine/jitkit/jaxpr/language.py", f"{module}\n\n{more}".encode()), [LAB])
    answers = Answers([found], [LAB])
    assert answers.exercise(LAB, EXERCISE)["status"] == "ready"
    helpers = answers.candidate(LAB, target).helpers([target.name])
    assert [ast.unparse(node) for node in helpers] == [
        "import fractions",
        "from jitkit.base import util as own_util",
        "_OF_TYPES = {kind: own_util for kind in fractions.Fraction(1)}",
    ]
