"""The labs as they are handed out: complete, fresh, and without their answers. `python -m grading verify` proves the rest."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import jitkit as jax
import jitkit.numpy as jnp
from grading.authoring import verify
from jitkit.kata.engine.assessor import checks_of
from jitkit.kata.engine.manifest import all_labs
from jitkit.kata.engine.mutants import Mutant, load_mutants, mutant_source
from jitkit.kata.engine.reference import reference_function
from jitkit.kata.engine.submission import Target
from jitkit.kata.subjects import pitfalls, quiz

ROOT = pathlib.Path(__file__).parents[1]
LABS = all_labs(ROOT / "labs")
every_lab = pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)


def mutants_of(lab):
    path = lab.folder / "mutants.py"
    return load_mutants(path.read_text(encoding="utf-8"), str(path))


def test_there_are_as_many_labs_and_exercises_as_is_written():
    assert [lab.number for lab in LABS] == [f"{i:02}" for i in range(15)]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"Fifteen labs, {sum(len(lab.exercises) for lab in LABS)} exercises" in text


@every_lab
def test_what_is_generated_is_what_the_generator_writes_now(lab):
    assert [str(finding) for finding in verify.staleness(lab)] == []


@every_lab
def test_every_exercise_has_its_checks_hidden_ones_and_mutants(lab):
    mutants = mutants_of(lab)
    for exercise in lab.exercises:
        own = [mutant for mutant in mutants if mutant.exercise == exercise.id]
        assert [str(finding) for finding in verify.shortages(lab, exercise, own)] == []


@every_lab
def test_every_exercise_has_eight_wrong_answers_no_two_of_which_are_the_same_program(lab):
    for exercise in lab.exercises:
        targets = {target.name: target for target in exercise.targets}
        answers = set()
        for answer in (mutant for mutant in mutants_of(lab) if mutant.exercise == exercise.id):
            target = targets[answer.target or exercise.targets[0].name]
            source = mutant_source(answer, target, reference_function(target).source)
            answers.add((target.name, ast.unparse(ast.parse(source))))
        assert len(answers) >= 8, exercise.id


@pytest.mark.parametrize(
    "doc", ['"""Say `x + 1`: return x + 1."""', '"""Say\n\n    return x + 1\n    """', "'no text'"]
)
def test_an_edit_replaces_code_and_not_the_words_of_a_docstring(doc):
    """A docstring that says what the code says does not make a wrong answer ambiguous; code that occurs twice does."""
    target = Target.parse("jitkit.util:f")
    wrong = Mutant("00.1", "", "", "", 1, ("return x + 1", "return x"), "", "")
    reference = f"def f(x):\n    {doc}\n    return x + 1\n"
    assert mutant_source(wrong, target, reference) == f"def f(x):\n    {doc}\n    return x\n"
    with pytest.raises(ValueError, match="occurs 2 times in the code"):
        mutant_source(wrong, target, reference + "    return x + 1\n")


@every_lab
def test_no_line_of_a_solution_is_in_what_learners_get(lab):
    assert [str(f) for exercise in lab.exercises for f in verify.leaked_lines(lab, exercise)] == []


@every_lab
def test_checks_and_mutants_belong_to_exercises(lab):
    checks = checks_of(lab, None, verify.hidden_checks(lab))
    assert {check.exercise for check in checks} == set(lab.ids)
    assert {mutant.exercise for mutant in mutants_of(lab)} == set(lab.ids)
    names = [check.name for check in checks]
    assert len(names) == len(set(names))


def test_few_checks_say_that_what_is_right_is_the_same_on_all_seeds():
    """`python -m grading verify` proves that the others depend on it, and these do not."""
    checks = [check for lab in LABS for check in checks_of(lab, None, verify.hidden_checks(lab))]
    fixed = [check.name for check in checks if check.fixed]
    assert len(checks) > 700
    assert len(fixed) <= 73


@every_lab
def test_a_lab_has_a_text_with_a_picture_and_its_experiment(lab):
    text = (lab.folder / "README.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {lab.number} ")
    assert "In JAX" in text
    pictures = list(lab.folder.glob("*.svg"))
    assert pictures
    assert all(f"({picture.name})" in text for picture in pictures)
    assert (lab.experiment is not None) == (lab.folder / "experiment.py").is_file()


@every_lab
def test_the_places_in_jax_that_a_lab_names_are_there(lab):
    jax_folder = pathlib.Path(importlib.util.find_spec("jax").origin).parent.parent
    for exercise in lab.exercises:
        path, _, name = exercise.jax.partition(":")
        source = (jax_folder / path).read_text(encoding="utf-8")
        assert name.partition(".")[0] in source, exercise.jax


def indented_parts(docstring):
    """Return the indented blocks of a function's docstring, each a text."""
    blocks = [[]]
    for line in inspect.cleandoc(docstring).splitlines():  # Python 3.13 and later clean docstrings themselves
        if line.startswith(4 * " ") or (not line and blocks[-1]):
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return [textwrap.dedent("\n".join(block)).strip() for block in blocks if block]


def test_the_quiz_asks_about_the_programs_that_its_checks_run():
    path = ROOT / "labs" / "10_pitfalls" / "checks.py"
    source = path.read_text(encoding="utf-8")
    asked = {name for name, f in vars(quiz).items() if inspect.isfunction(f)}
    for node in ast.parse(source).body:
        programs = [n for n in getattr(node, "body", ()) if isinstance(n, ast.FunctionDef) and n.name == "program"]
        names = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)} & asked
        if programs and names:
            (name,), lines = names, source.splitlines()
            body = lines[programs[0].lineno : programs[0].end_lineno]
            assert indented_parts(getattr(quiz, name).__doc__)[0] == textwrap.dedent("\n".join(body))
            asked.remove(name)
    assert not asked


def test_the_explanation_that_a_pitfall_hands_over_is_that_of_its_program():
    program, explained = indented_parts(pitfalls.to_blame.__doc__)
    definition, _, calls = program.replace(", ...]", "]").partition("\n\n")
    names = {"jax": jax, "jnp": jnp, "x": np.ones(2, np.float32)}
    jax.clear_caches()
    exec(compile(f"{definition}\n{calls}", "fit.py", "exec"), names)
    told = str(jax.explain(names["step"]))
    reasons = [line for line in explained.splitlines() if line.startswith(" ")]
    assert len(reasons) == 12
    assert [line for line in told.splitlines() if line.startswith(" ")] == reasons


_RUNS_CHECKS = """
import json, sys
import numpy as np
import jitkit
from jitkit.kata.engine.assessor import checks_of
from jitkit.kata.engine.manifest import all_labs

for lab in all_labs():
    for check in checks_of(lab, None):
        if not next(e for e in lab.exercises if e.id == check.exercise).uses_xla and "jax" not in sys.modules:
            check.program(jitkit, np.random.default_rng(0))
            if "jax" in sys.modules:
                print(check.exercise, check.name)
"""


def test_an_exercise_that_says_it_does_without_xla_loads_no_jax():
    """It is 0.3 s from each save to the verdict, where 0.15 are promised."""
    done = subprocess.run([sys.executable, "-c", _RUNS_CHECKS], capture_output=True, text=True, check=True)
    assert done.stdout == ""


@pytest.mark.parametrize("lab", all_labs(), ids=lambda lab: lab.number)
def test_a_table_of_helpers_has_no_bar_within_its_code(lab):
    rows = [
        line for line in (lab.folder / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `")
    ]
    assert rows or lab.number == "00"
    assert [row for row in rows if "|" in row.split("`")[1]] == []


def test_what_learners_decorate_their_functions_with_is_imported_in_their_file():
    lab = next(lab for lab in all_labs() if lab.number == "10")
    assert "from functools import partial\n" in (lab.folder / "exercises.py").read_text(encoding="utf-8")
