"""Holes: the jitkit that a zygote imports has no answers in it, and filling a hole does the same as splicing."""

from __future__ import annotations

import ast
import importlib.util
import pathlib
import re
import types

import pytest

from grading.grader import holes
from grading.grader.bubblewrap import NUMPY
from grading.grader.inside.imports import Holes
from grading.grader.shipped_code import ShippedCode
from grading.grader.workers import Workers
from grading.shared import hidden_checks
from jitkit.kata.engine.manifest import all_labs
from jitkit.kata.engine.name_origins import source_path
from jitkit.kata.engine.reference import PACKAGE, reference_function
from jitkit.kata.engine.splice import splice_source
from jitkit.kata.engine.submission import LearnerFile, SpliceError, Submission, Target

LABS = all_labs()
TARGETS = [t for lab in LABS for e in lab.exercises for t in e.targets]
NAMES = frozenset(t.name for t in TARGETS)
RELU = Target.parse("jitkit.nn.functions:relu")


def answer(text, target=RELU):
    return {target: LearnerFile.parse(text, "own.py", NAMES)}


@pytest.fixture(scope="module")
def shipped():
    return ShippedCode(LABS)


def codes_of(module):
    for const in module.co_consts:
        if isinstance(const, types.CodeType):
            yield const
            yield from codes_of(const)


def test_a_worker_has_each_module_that_a_check_asks_for(shipped):
    files = [path for lab in LABS for path in (lab.folder / "checks.py", hidden_checks(lab)) if path.is_file()]
    asked = {
        name for path in files for name in re.findall(r'module\(jk, "([\w.]+)"\)', path.read_text(encoding="utf-8"))
    }
    assert "kata.subjects.c_by_hand" in asked
    assert {f"jitkit.{name}" for name in asked} - shipped.modules.keys() == set()


def test_most_functions_of_exercises_can_be_holes_and_a_hole_has_nothing_of_the_reference(shipped):
    assert len(shipped.codes) > 0.8 * len([t for t in TARGETS if not t.module.startswith(holes.LATE)])
    modules = shipped.with_holes(())
    for target, reference in shipped.codes.items():
        code = modules[target.module][2]
        found = [c for c in codes_of(code) if c.co_qualname == target.name and "called" in c.co_names]
        assert found, target
        for hole in found:
            assert set(hole.co_names) <= {"__import__", "called", "NotImplementedError"}
            assert set(hole.co_consts) <= {None, holes.TABLE, str(target)}
            assert hole.co_varnames[: hole.co_argcount] == reference.co_varnames[: reference.co_argcount]
    assert not [name for name in modules if name.startswith(holes.LATE) and name in shipped.taken]


def test_what_checks_are_written_with_is_sent_with_all_that_it_imports(shipped):
    of_checks = [name for name in shipped.modules if name.startswith("jitkit.kata.") and name not in shipped.taken]
    missing = []
    for name in of_checks:
        source = pathlib.Path(source_path(name, str(PACKAGE)))
        package = name if source.name == "__init__.py" else name.rpartition(".")[0]
        for node in ast.parse(source.read_text("utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.level:
                base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
                inner = [f"{base}.{alias.name}" for alias in node.names]
                wanted = [base, *(each for each in inner if pathlib.Path(source_path(each, str(PACKAGE))).is_file())]
                missing += [(name, each) for each in wanted if each not in shipped.modules]
    assert "jitkit.kata.programs.trees" in of_checks
    assert not missing


def test_what_is_sent_for_an_exercise_is_the_reference_of_all_others(shipped):
    exercise = next(e for lab in LABS for e in lab.exercises if RELU in e.targets)
    sent = {name for name, _ in shipped.fills(exercise, ())}
    assert sent == {str(t) for t in shipped.codes} - {str(t) for t in exercise.targets}
    kept = next(iter(sent))
    assert kept not in {name for name, _ in shipped.fills(exercise, {kept})}


def test_code_that_is_put_into_a_hole_is_what_splicing_makes_there():
    text = (
        '"""Mine."""\nfrom operator import truediv as lax\nK = 3\n\ndef half(x):\n    return lax(x, K)\n\n'
        'def relu(x):\n    """Doc."""\n    return [lax(half(y), 1) for y in x]\n'
    )
    functions = answer(text)
    patch = holes.patch(functions)
    code = patch["functions"][str(RELU)]
    source = reference_function(RELU).module_source
    spliced = splice_source(source, "/m.py", RELU.module, Submission(functions))
    same = holes.function_code(spliced, RELU, "own.py", 8)
    assert same is not None
    assert (code.co_code, code.co_names, code.co_firstlineno, code.co_filename, list(code.co_lines())) == (
        same.co_code, same.co_names, same.co_firstlineno, same.co_filename, list(same.co_lines()),
    )  # fmt: skip
    table = Holes("holes")

    @table.keep(str(RELU))
    def relu(x):
        raise NotImplementedError

    for _, helper in patch["helpers"]:
        exec(helper, globals())
    table.fill(patch["functions"].items())
    assert relu.__doc__ == "Doc."
    assert relu([3, 6]) == [1, 2]


def test_a_method_is_compiled_in_its_class():
    target = next(t for t in TARGETS if len(t.path) == 2 and not t.module.startswith(holes.LATE))
    reference = reference_function(target)
    args = ", ".join(a.arg for a in reference.node.args.args)
    text = f"class {target.path[0]}:\n    def {target.path[1]}({args}):\n        return self.__secret\n"
    patch = holes.patch(answer(text, target))
    if patch is not None:  # `patch` allows only the reference's parameters
        code = patch["functions"][str(target)]
        assert code.co_qualname == target.name
        assert f"_{target.path[0].lstrip('_')}__secret" in code.co_names


@pytest.mark.parametrize(
    "text",
    [
        "def relu(x, y):\n    return x\n", "def relu(x=1):\n    return x\n", "async def relu(x):\n    return x\n",
        "@print\ndef relu(x):\n    return x\n", "def relu(*, x):\n    return x\n",
    ],
)  # fmt: skip
def test_what_an_exchange_of_code_cannot_say_is_spliced(text):
    assert holes.patch(answer("def relu(x):\n    return x\n")) is not None
    assert holes.patch(answer(text)) is None


def test_a_helper_of_a_name_that_the_module_has_is_refused_as_by_splicing():
    name = next(
        n
        for n in sorted(holes.meanings(reference_function(RELU).module_source, RELU.module))
        if n.islower() and n != "relu"
    )
    with pytest.raises(SpliceError, match="of its own"):
        holes.patch(answer(f"def {name}():\n    pass\n\ndef relu(x):\n    return {name}() or x\n"))


def test_what_is_called_while_jitkit_is_imported_is_found_out(shipped):
    """Without a jail, since no code of a student's is run: the reference is imported once, and then with holes."""
    workers = Workers(shipped, LABS[0].folder.parent, "none")
    try:
        kept = workers.kept()
        assert kept < {str(t) for t in shipped.codes}
        assert not workers.zygote(NUMPY, True).called
    finally:
        workers.close()
