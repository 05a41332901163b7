"""Random programs of the labs: they run, real JAX computes the same results, and a failing one is shortened.

Learners' functions are judged by jitkit. So jitkit is compared with JAX on programs of each writer that a lab uses.
"""

from __future__ import annotations

import ast

import jax
import numpy as np
import pytest

import jitkit
from jitkit.kata.engine import random_programs as engine_programs
from jitkit.kata.engine import shortening
from jitkit.kata.engine.assessor import Assessor
from jitkit.kata.engine.choices import Choices, shorter
from jitkit.kata.engine.fewer_lines import fewer_lines
from jitkit.kata.engine.manifest import all_labs
from jitkit.kata.engine.mutants import in_its_class
from jitkit.kata.engine.plain import Raised
from jitkit.kata.engine.random_programs import random_programs, whole
from jitkit.kata.engine.reference import reference_function
from jitkit.kata.engine.running import LearnerSource
from jitkit.kata.engine.statuses import Status
from jitkit.kata.programs import texts, trees
from jitkit.kata.programs.transformed import differentiated, mapped, plain
from jitkit.signature import api_util, argument_spec

WRITERS = {
    "axes of size 1": plain("unary stretched twice numbered binary"),
    "vmap": mapped("unary binary scaled reduction moved constant cast product jit branches scan counted repeated"),
    "derivatives": differentiated("unary binary scaled reduction moved constant product jit branches scan counted"),
    "derivatives of float16": differentiated("unary binary reduction", dtypes=("float32", "float16")),
}


def by_jax(text):
    """Return the leaves of a program's result with real JAX. The last expression must be a call, which is compiled."""
    names = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "np": np}
    tree = ast.parse(text)
    call = tree.body.pop().value
    exec(compile(tree, "<program>", "exec"), names)
    fun, *arguments = (eval(ast.unparse(part), names) for part in (call.func, *call.args))
    return [np.asarray(leaf) for leaf in jax.tree.leaves(jax.jit(fun)(*arguments))]


@pytest.mark.parametrize("name", WRITERS)
def test_random_programs_compute_what_jax_computes(name):
    rng = np.random.default_rng([7, len(name)])
    for ran in random_programs(jitkit, rng, WRITERS[name], 5):
        assert not isinstance(ran.value, Raised), f"{ran.text}\n{ran.value.error!r}"
        *leaves, _ = ran.value
        for ours, theirs in zip(leaves, by_jax(ran.text), strict=True):
            assert ours.dtype == theirs.dtype, ran.text
            tolerance = 2e-2 if ours.dtype == "float16" else 2e-4
            np.testing.assert_allclose(
                ours.astype("float64"), theirs.astype("float64"), rtol=tolerance, atol=tolerance, err_msg=ran.text
            )


def test_hardly_any_program_ends_in_an_error():
    for write in WRITERS.values():
        found = random_programs(jitkit, np.random.default_rng(5), write, 60)
        errors = [f"{ran.text}\n{ran.value.error!r}" for ran in found if isinstance(ran.value, Raised)]
        assert len(errors) <= 1, errors[0]


def test_the_same_choices_write_the_same_program():
    for write in WRITERS.values():
        drawn = Choices.drawn(np.random.default_rng(3))
        text = write(drawn)
        assert write(Choices(drawn.made)) == text


def test_the_plainest_choices_are_a_program_and_shorter_ones_lead_there():
    for write in WRITERS.values():
        plain, drawn = write(Choices([])), Choices.drawn(np.random.default_rng(4))
        ast.parse(whole(plain))
        before = write(drawn)
        others = {write(Choices(made)) for made in shorter(drawn.made)}
        assert min(map(len, others)) < len(before)
        assert plain.count("\n") <= min(text.count("\n") for text in others)


CHECK = """
from jitkit.kata.checking import check, of_trees, random_programs


@check("03.3", "Programs.", drawn=True)
def programs_3(jk, rng):
    return random_programs(jk, rng, of_trees.trees("flatten"), 12, by_numpy=False)
"""


def test_a_program_that_shows_a_difference_is_made_short_and_can_be_run(tmp_path, monkeypatch):
    """The mistake: three children come in the wrong order."""
    monkeypatch.setattr(shortening, "_SECONDS", 60.0)
    (lab,) = (lab for lab in all_labs() if lab.number == "03")
    exercise = lab.exercise("03.3")
    texts = [in_its_class(target, reference_function(target).source) for target in exercise.targets]
    right = "children, data = node_type.flatten(tree)\n"
    assert texts[0].count(right) == 1
    texts[0] = texts[0].replace(right, right + "    children = children[::-1] if len(children) == 3 else children\n")
    imports = (lab.folder / "exercises.py").read_text("utf-8").split("\n\n\n")[0].splitlines()
    header = "\n".join(imports[imports.index("from __future__ import annotations") :])
    checks = tmp_path / "checks.py"
    checks.write_text(CHECK, encoding="utf-8")
    file = LearnerSource("exercises.py", "\n\n\n".join([header, *texts]) + "\n", lab.targets)
    verdict = Assessor().assess(lab, exercise, file, checks_file=checks)
    (result,) = verdict.results
    assert result.status == Status.FAIL, result.sentence
    assert result.difference is not None
    shown = [line for line in result.program.splitlines() if line and not line.startswith(("import", "from"))]
    assert len(shown) <= 12, result.program
    names = {}
    printed = []
    exec(result.program, names | {"print": printed.append})
    assert f"{printed[0]!r}" == result.difference.expected


def test_in_a_hurry_a_check_runs_as_many_programs_as_there_is_time_for():
    (lab,) = (lab for lab in all_labs() if lab.number == "03")
    exercise = lab.exercise("03.3")
    texts = [in_its_class(target, reference_function(target).source) for target in exercise.targets]
    imports = (lab.folder / "exercises.py").read_text("utf-8").split("\n\n\n")[0].splitlines()
    header = "\n".join(imports[imports.index("from __future__ import annotations") :])
    file = LearnerSource("exercises.py", "\n\n\n".join([header, *texts]) + "\n", lab.targets)
    counts, assessor = [], Assessor()
    for hurried in (-1.0, 60.0, 0.0):  # no time at all: a processor's clock may stand still for a few programs
        verdict = assessor.assess(lab, exercise, file, hurried=hurried)
        assert verdict.status == Status.PASS, verdict
        (drawn,) = (result for result in verdict.results if result.check.drawn)
        counts.append(len(drawn.value["items"]))
    assert counts == [2, 24, 24]


def test_checks_of_random_programs_share_their_time(monkeypatch):
    monkeypatch.setattr(engine_programs, "_seconds", [])
    for wanted in (["plain"], ["plain", "one"], ["one@3", "other", "plain"]):
        engine_programs.hurry({"one", "other"}, hurried=0.5, wanted=wanted, do="run")
    assert engine_programs._seconds == [0.5, 0.5, 0.25]


def test_the_numbers_of_a_constant_are_read_from_its_text():
    assert texts.read("dense<[1, -2]>", "int16", (2,)) == "0100feff"
    assert texts.read("dense<1.5>", "float32", (2,)) == "0000c03f" * 2
    assert texts.read('dense<"0x0A00">', "uint16", (1,)) == "0a00"
    assert texts.read("(0x3F800000, 0.0)", "complex64") == "0000803f00000000"
    assert texts.read("dense<>", "bool", (0, 3)) == ""
    for choices in ([0] * 9, [3, 4, 1, 5], [6, 1, 2, 50, 9, 2, 1, 1]):  # it writes what was drawn
        names = {"np": np}
        exec(texts.constants(Choices(choices)).rpartition("\n")[0], names)
        x = names["x"]
        assert names["found"][-2][1] == np.asarray(x, order="C").tobytes().hex()


def test_an_argument_that_is_named_twice_is_static_once():
    spec = argument_spec.ArgumentSpec((), ("n", "n"), (), ())
    assert [where for where, _ in api_util.split_call(spec, (1.0,), {"n": 2}).statics] == ["n"]


def test_lines_that_nothing_reads_go_and_classes_stay_whole():
    text = trees.trees("flatten")(Choices([1, 2, 0, 3]))
    first, *others = fewer_lines(text)
    assert "class Point" not in first
    assert all(ast.parse(other) for other in others)
    plain = "x = 1\ny = x\ndef f(a):\n    b = a\n    return a\nz = 3\nf(z)"
    assert next(fewer_lines(plain)) == "def f(a):\n    return a\nz = 3\nf(z)"
