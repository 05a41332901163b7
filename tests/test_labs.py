"""The labs as they are handed out: complete, fresh, and without their answers. `python -m grading verify` proves the rest."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest

from grading import verify
from jitkit.kata.engine.manifest import all_labs
from jitkit.kata.engine.verdicts import checks_of
from jitkit.kata.mutants import load_mutants

ROOT = pathlib.Path(__file__).parents[1]
LABS = all_labs(ROOT / "labs")
every_lab = pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)


def mutants_of(lab):
    path = lab.folder / "mutants.py"
    return load_mutants(path.read_text(encoding="utf-8"), str(path))


def test_there_are_as_many_labs_and_exercises_as_is_written():
    assert [lab.number for lab in LABS] == [f"{i:02}" for i in range(13)]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"Thirteen labs, {sum(len(lab.exercises) for lab in LABS)} exercises" in text


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
def test_no_line_of_a_solution_is_in_what_learners_get(lab):
    assert [str(f) for exercise in lab.exercises for f in verify.leaked_lines(lab, exercise)] == []


@every_lab
def test_checks_and_mutants_belong_to_exercises(lab):
    checks = checks_of(lab, None, verify.hidden_checks(lab))
    assert {check.exercise for check in checks} == set(lab.ids)
    assert {mutant.exercise for mutant in mutants_of(lab)} == set(lab.ids)
    names = [check.name for check in checks]
    assert len(names) == len(set(names))


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
