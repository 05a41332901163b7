"""Tools for instructors that need nothing but jitkit: notebooks, courses, new labs."""

from __future__ import annotations

import ast
import contextlib
import functools
import json
import os
import re
import tempfile

import pytest
from kata_workspace import SWAPPED

from grading import __main__ as commands
from grading import shared
from grading.authoring import cells, generate, nbgrader_course, notebooks, verify
from grading.authoring.new import NewLabError, new_lab
from grading.authoring.notebooks import WIDTH
from jitkit.kata.engine.assessor import Assessor
from jitkit.kata.engine.checking import Check
from jitkit.kata.engine.manifest import all_labs
from jitkit.kata.engine.mutants import load_mutants
from jitkit.kata.engine.processes import Forks
from jitkit.kata.engine.running import Job, run
from jitkit.kata.engine.submission import LearnerFile, is_stub
from jitkit.kata.screens import notebook

LABS = all_labs(generate.ROOT / "labs")
every_lab = pytest.mark.parametrize("lab", LABS, ids=[lab.name for lab in LABS])
_SOLUTION = re.compile(r"^( *)### BEGIN SOLUTION\n.*?### END SOLUTION$", re.MULTILINE | re.DOTALL)
_HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS\n.*?### END HIDDEN TESTS\n?", re.DOTALL)


def code_of(notebook):
    """Return the texts of a notebook's code cells, by id."""
    data = json.loads(notebook)
    return {cell["id"]: "".join(cell["source"]) for cell in data["cells"] if cell["cell_type"] == "code"}


# --- notebooks --------------------------------------------------------------------------------------------------


@every_lab
def test_a_labs_notebook_has_a_stub_and_a_check_for_each_exercise(lab):
    text = generate.generated_files(lab)[lab.folder / "lab.ipynb"]
    code = code_of(text)
    for exercise in lab.exercises:
        number = exercise.id.replace(".", "-")
        assert code[f"check-{number}"] == f'check("{exercise.id}")'
        written = LearnerFile.parse(code[f"write-{number}"], "", lab.names)
        assert all(is_stub(written.find(target)) for target in exercise.targets)
    assert ("experiment" in code) == (lab.experiment is not None)


def test_no_id_of_a_notebook_is_drawn():
    once, twice = (generate.generated_files(LABS[5])[LABS[5].folder / "lab.ipynb"] for _ in range(2))
    assert once == twice


@every_lab
def test_lines_of_code_fit_on_a_screen_of_1280_pixels(lab):
    code = code_of(generate.generated_files(lab)[lab.folder / "lab.ipynb"])
    lines = [line for id, text in code.items() if id == "setup" or id.startswith("write-") for line in text.split("\n")]
    prose = [line for line in lines if not line.startswith(" " * 8)]  # without tables and examples, which may be wider
    assert max(map(len, prose)) <= WIDTH
    assert max(map(len, lines)) <= WIDTH + 11


def test_examples_of_texts_and_docstrings_are_cells_with_their_output():
    lab = next(lab for lab in LABS if lab.number == "07")
    cells = json.loads(generate.generated_files(lab)[lab.folder / "lab.ipynb"])["cells"]
    by_id = {cell["id"]: cell for cell in cells}
    assert not any(">>> " in "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    [first, tried] = by_id["text-1-1"], by_id["try-07-1"]
    assert "".join(first["source"]).endswith("jax.jit(f)(1.0)")
    assert first["outputs"][0]["text"][1].startswith("TracerBoolConversionError")
    assert first["metadata"] == tried["metadata"] == {"tags": ["raises-exception"]}
    assert "".join(tried["source"]).splitlines() == [
        "import jitkit as jax",
        "import jitkit.numpy as jnp",
        "jax.make_jaxpr(lambda x: cond(x > 0, jnp.sin, jnp.cos, x))(1.0)",
    ]


@every_lab
def test_cells_before_the_first_task_run_from_top_to_bottom(lab, capsys):
    cells = json.loads(generate.generated_files(lab)[lab.folder / "lab.ipynb"])["cells"]
    names: dict[str, object] = {}
    for cell in cells:
        if cell["id"].startswith("text-") and cell["cell_type"] == "code":
            with contextlib.suppress(*[Exception] if cell["metadata"].get("tags") else []):
                exec("".join(cell["source"]), names)


def test_an_ellipsis_in_an_output_is_no_line_of_code():
    found = list(notebooks.transcript_cells("a", ">>> f(\n...     1)\n2\n...\n3\n>>> x = 4\n"))
    assert [("".join(c["source"]), [o["text"] for o in c["outputs"]]) for c in found] == [
        ("f(\n    1)", [[cells.NOT_RUN, "2\n", "...\n", "3\n"]]),
        ("x = 4", []),
    ]


@pytest.mark.parametrize(
    ("stub", "narrow"),
    [
        ('def f(x):\n    """One line."""', 'def f(x):\n    """One line."""'),
        ('def f(x):\n    """One line that is longer."""', 'def f(x):\n    """One line that\n    is longer.\n    """'),
        (
            'def f(first: int, second: int) -> int:\n    """One.\n\n        f(1, 2)     no sentence\n    """',
            'def f(\n    first: int,\n    second: int,\n) -> int:\n    """One.\n\n        f(1, 2)     no sentence\n    """',
        ),
        (
            'def f(x, y):\n    """One.\n\n    Args:\n      x, y: of `f ( x )` here.\n      z: two\n        three.\n    """',
            (
                'def f(x, y):\n    """One.\n\n    Args:\n      x, y: of\n        `f ( x )`\n        here.\n'
                '      z: two\n        three.\n    """'
            ),
        ),
    ],
)
def test_sentences_and_signatures_of_a_stub_are_made_narrow(stub, narrow):
    assert generate.narrowed(stub, 20 if "One line" in stub or "Args" in stub else 24) == narrow


def test_a_notebook_is_in_the_form_of_nbformat_4_5():
    data = json.loads(cells.notebook_text([cells.markdown("a", "# A\n\ntext\n"), cells.code("b", "x = 1\n")]))
    assert (data["nbformat"], data["nbformat_minor"]) == (4, 5)
    assert data["cells"] == [
        {"cell_type": "markdown", "id": "a", "metadata": {}, "source": ["# A\n", "\n", "text"]},
        {"cell_type": "code", "execution_count": None, "id": "b", "metadata": {}, "outputs": [], "source": ["x = 1"]},
    ]  # fmt: skip


@pytest.mark.parametrize("ids", [("a", "a"), ("a", "no spaces"), ("a", "x" * 65)])
def test_ids_of_cells_are_unique_and_plain(ids):
    with pytest.raises(ValueError, match=r"the id"):
        cells.notebook_text([cells.code(id, "") for id in ids])


# --- a course ---------------------------------------------------------------------------------------------------

source_notebook = functools.cache(nbgrader_course.source_notebook)


@every_lab
def test_what_is_left_of_a_source_notebook_are_stubs_and_no_hidden_check(lab):
    notebook = source_notebook(lab)
    assert nbgrader_course.CANARY in notebook
    code = {
        id: _HIDDEN.sub("", _SOLUTION.sub(r"\1raise NotImplementedError()", text))
        for id, text in code_of(notebook).items()
    }
    for exercise in lab.exercises:
        left = LearnerFile.parse(code[f"write-{exercise.id.replace('.', '-')}"], "", lab.names)
        assert all(is_stub(left.find(target)) for target in exercise.targets)
    assert nbgrader_course.CANARY not in "".join(code.values())
    assert {text.count("\n") for id, text in code.items() if id.startswith("hidden")} <= {1, 0}


@every_lab
def test_solutions_and_cells_with_points_are_python_and_sum_up_to_the_points(lab):
    points = {}
    for cell in json.loads(source_notebook(lab))["cells"]:
        nbgrader = cell["metadata"].get("nbgrader", {})
        if cell["cell_type"] == "code":
            ast.parse("".join(cell["source"]))
        if "points" in nbgrader:
            assert nbgrader["grade"]
            assert nbgrader["locked"]
            number = "-".join(cell["id"].split("-")[1:3]).replace("-", ".")
            points[number] = points.get(number, 0) + nbgrader["points"]
    assert points == {exercise.id: exercise.points for exercise in lab.exercises}


@pytest.mark.parametrize(("points", "count"), [(1, 3), (2, 4), (3, 11), (1, 1)])
def test_points_are_shared_out_equally_and_lose_nothing_in_floating_point(points, count):
    parts = shared.shares(points, count)
    assert len(parts) == count
    assert sum(parts) == points
    assert max(parts) - min(parts) <= 1 / 64


def test_a_course_that_is_built_again_keeps_its_configuration(tmp_path):
    nbgrader_course.build(tmp_path, LABS[:1])
    config, notebook = (tmp_path / "nbgrader_config.py", tmp_path / "source" / LABS[0].name / f"{LABS[0].name}.ipynb")
    config.write_text("mine", encoding="utf-8")
    notebook.write_text("changed", encoding="utf-8")
    written = nbgrader_course.build(tmp_path, LABS[:1])
    assert config not in written
    assert config.read_text(encoding="utf-8") == "mine"
    assert nbgrader_course.leaks(tmp_path) == [notebook]


# --- many submissions -------------------------------------------------------------------------------------------

WHAT_THEY_DO = """
import os
from jitkit.kata.checking import check

@check("1", "It changes what others would see.")
def changes(jk, rng):
    jk.left_behind = True
    return jk.jit(lambda x: x + 1)(1.0)

@check("1", "It ends its process.")
def exits(jk, rng):
    os._exit(3)

@check("1", "It looks for what others have left.")
def looks(jk, rng):
    return hasattr(jk, "left_behind")

@check("1", "It does not end.")
def loops(jk, rng):
    while True:
        pass
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX: copies of a process")
def test_a_process_whose_copies_answer_is_lent_again_unless_a_copy_does_not_end():
    job = Job((), {}, "checks.py", WHAT_THEY_DO, ("changes", "exits", "looks"))
    with contextlib.closing(Forks()) as forks:
        changed, ended, looked = run(job, forks)
        assert (changed.trouble, changed.value["is"]) == ("", "array")
        assert (ended.trouble, ended.sentence.partition(":")[0]) == (
            "crash", "The process ended in the middle of the check, with exit code 3",
        )  # fmt: skip
        assert looked.value == {"is": "bool", "value": False}
        (lent,) = forks.idle
        (looped,) = run(job._replace(wanted=("loops",), seconds=1.0), forks)
        (looked,) = run(job._replace(wanted=("looks",)), forks)
        assert (looped.trouble, looked.trouble) == ("time", "")
        assert lent.process.poll() is not None
        assert lent not in forks.idle


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX: copies of a process")
def test_copies_of_a_process_that_imported_jitkit_take_functions_and_other_copies_those_that_the_import_calls(tmp_path):
    (lab,) = [lab for lab in all_labs() if lab.number == "03"]
    with contextlib.closing(Forks()) as forks:
        prover = verify._Prover(lab, Assessor(tmp_path), forks, tmp_path)
        prover.prepare()
        for exercise, others in zip(lab.exercises[:2], (0, 1), strict=True):
            found = prover.verdict(exercise, {})
            assert {result.status for result in found.results} == {"pass"}
            [one] = prover.verdict(exercise, {}, wanted=lambda c, first=found.results[0].check: c == first).results
            assert one.value == found.results[0].value
            assert prover.planted(exercise) == []
            assert len(forks.others) == others


def test_a_wrong_answer_may_fail_by_what_an_earlier_check_has_left(tmp_path):
    """Alone, the check that is against it passes: the table of answers by type is empty then."""
    (lab,) = [lab for lab in all_labs() if lab.number == "01"]
    [wrong] = [
        mutant
        for mutant in load_mutants((lab.folder / "mutants.py").read_text(encoding="utf-8"), "mutants.py")
        if mutant.misconception == "the type of `self` decides whether `other` is an operand"
    ]
    with contextlib.closing(Forks()) as forks:
        prover = verify._Prover(lab, Assessor(tmp_path), forks, tmp_path)
        prover.prepare()
        [exercise] = [exercise for exercise in lab.exercises if exercise.id == wrong.exercise]
        assert prover.mutant(exercise, wrong) == []
        assert prover.mutant(exercise, wrong._replace(misconception="nobody's")) != []


# --- a new lab --------------------------------------------------------------------------------------------------


def test_a_new_lab_is_proven_from_the_start(tmp_path, monkeypatch):
    folder, written = new_lab("20_sorting", tmp_path)
    names = {path.name for path in folder.iterdir()}
    assert names == {"lab.toml", "README.md", "checks.py", "mutants.py", "exercises.py", "lab.ipynb"}
    assert {tmp_path / "grading" / "hidden" / "20_sorting.py", tmp_path / "solutions" / "20_sorting.py"} < set(written)
    (lab,) = all_labs(tmp_path / "labs")
    assert (lab.title, lab.ids) == ("Sorting", ("20.1",))
    monkeypatch.setattr(verify, "ROOT", tmp_path)
    monkeypatch.setattr(shared, "HIDDEN", tmp_path / "grading" / "hidden")
    with contextlib.closing(Forks()) as forks:
        assert verify.verify(lab, Assessor(), forks, workers=1) == []


def test_a_lab_whose_checks_draw_nothing_is_not_proven(tmp_path, monkeypatch):
    folder, _ = new_lab("20_sorting", tmp_path)
    for path in (folder / "checks.py", tmp_path / "grading" / "hidden" / "20_sorting.py"):
        text = re.sub(r"rng\.integers\(0, 100, size=.*\)\.tolist\(\)", "range(9)", path.read_text(encoding="utf-8"))
        text = text.partition("def cuts")[0].replace("check, random_programs", "check")
        path.write_text(text.replace("int(rng.integers(1, 4))", "2"), encoding="utf-8")
        assert "rng." not in path.read_text(encoding="utf-8")
    (lab,) = all_labs(tmp_path / "labs")
    monkeypatch.setattr(verify, "ROOT", tmp_path)
    monkeypatch.setattr(shared, "HIDDEN", tmp_path / "grading" / "hidden")
    with contextlib.closing(Forks()) as forks:
        found = verify.verify(lab, Assessor(), forks, workers=1)
    assert [(finding.exercise, finding.proof) for finding in found] == [("20.1", "checks"), *[("20.1", "drawn")] * 4]
    assert "or `no_programs` in lab.toml says why not" in found[0].sentence
    said = verify.shortages(lab, lab.exercises[0]._replace(no_programs="It asks for a prediction."), [])
    assert not any("no_programs" in str(finding) for finding in said)


def test_a_check_says_why_what_is_right_is_the_same_on_all_seeds_and_only_then():
    check = Check("20.1", "sizes", "Sizes are kept.", (), lambda jk, rng: None, None, False)
    fixed = check._replace(fixed="there is one size")
    assert "on all seeds" in verify.not_drawn(check, [1, 1, 1])
    assert "depends on the seed" in verify.not_drawn(fixed, [1, 2, 1])
    assert verify.not_drawn(check, [1, 2, 1]) == verify.not_drawn(fixed, [1, 1, 1]) == ""
    assert verify.not_drawn(check._replace(drawn=True), [1, 1, 1]) == ""  # random programs may agree


@pytest.mark.parametrize("name", ["sorting", "2_sorting", "20_", "20_Sorting", "00_other"])
def test_a_new_lab_needs_a_number_that_is_free_and_a_name(name):
    with pytest.raises(NewLabError, match=r"a number and a name|there is a lab"):
        new_lab(name, generate.ROOT)


def test_commands_that_make_no_sense_end_with_a_sentence(capsys, tmp_path):
    assert commands.main(["new", "sorting"]) == 1
    assert "such as 20_sorting" in capsys.readouterr().err
    assert commands.main(["build", str(tmp_path), "77"]) == 2
    assert "there is no lab or exercise '77'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# --- cells with points ------------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Return the function `written(source)`: it writes a file in place of a notebook, and returns the `check` that the
    file would call.
    """
    monkeypatch.setenv("JITKIT_LABS", str(generate.ROOT / "tests" / "kata_labs"))
    monkeypatch.setattr(notebook, "_passed", {})

    def call(source):
        path = tmp_path / "cells.py"
        path.write_text(source, encoding="utf-8")
        names = {"__file__": str(path), "check": notebook.check}
        exec("def run(*args):\n    return check(*args)", names)
        return names["run"]

    return call


def test_a_cell_with_points_fails_with_the_verdict_on_its_own_check(written):
    shown = written(SWAPPED)("90.1")
    shown.require("too_short")
    with pytest.raises(AssertionError, match="Items come in the order of the mask") as caught:
        shown.require("order_of_the_mask")
    assert "The result is a list" not in str(caught.value)
    assert caught.value._render_traceback_() == str(caught.value).splitlines()
    with pytest.raises(LookupError, match="no check 'mask'"):
        shown.require("mask")


def test_a_stub_fails_every_cell_with_points(written):
    shown = written('def merge_lists(mask, unchosen, chosen):\n    raise NotImplementedError("90.1")\n')("90.1")
    for name in ("order_of_the_mask", "too_short", "kind_of_the_result"):
        with pytest.raises(AssertionError, match="is still to be written"):
            shown.require(name)


def test_checks_that_come_as_text_take_the_place_of_the_labs_and_leave_nothing_behind(written, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    hidden = 'from jitkit.kata.checking import check\n\n@check("90.1", "No items.", hidden=True)\ndef none(jk, rng):\n'
    shown = written(SWAPPED)("90.1", f"{hidden}    return jk.base.util.merge_lists([], [], [])\n")
    shown.require("none")
    assert [result.check.name for result in shown.report.verdict.results] == ["none"]
    assert [path.name for path in tmp_path.iterdir()] == ["cells.py"]
    assert notebook._passed == {}


def test_what_is_saved_below_a_cell_says_whose_it_is():
    outputs = cells.code("a", "1 + 1", output="2\n")["outputs"]
    assert outputs[0]["text"] == [cells.NOT_RUN, "2\n"]
    assert cells.code("a", "1 + 1")["outputs"] == []
