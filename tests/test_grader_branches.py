"""Branches of a zygote: a branch prepares once what all workers of an exercise need, and has nothing that they do not have."""

from __future__ import annotations

import json
import marshal
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

from grading.grader.branches import Branch
from grading.grader.bubblewrap import NUMPY, JailError
from grading.grader.inside import first_programs
from grading.grader.jail import NONE, Limits, Zygote
from grading.grader.shipped_code import ShippedCode
from grading.grader.workers import Workers
from jitkit.kata.engine.manifest import all_labs

ROOT = pathlib.Path(__file__).resolve().parents[1]
LABS = [lab for lab in all_labs() if lab.number in ("00", "01")]


@pytest.fixture(scope="module")
def workers():
    """Yield workers without a jail, since no student's code runs."""
    made = Workers(ShippedCode(LABS), LABS[0].folder.parent, NONE)
    yield made
    made.close()


def exercise(id):
    return next(e for lab in LABS for e in lab.exercises if e.id == id)


def test_an_exercise_has_one_branch_and_another_one_has_its_own(workers):
    relu = workers.zygote(NUMPY, True, exercise("00.1"))
    assert isinstance(relu, Branch)
    assert workers.zygote(NUMPY, True, exercise("00.1")) is relu
    assert workers.zygote(NUMPY, True, exercise("01.4")) is not relu
    assert workers.zygote(NUMPY, True) is not relu


CHECK = """
def tried(jk, rng):
    return jk.eval_shape(jk.nn.relu, rng.normal(size=3)).shape
"""


def test_a_worker_of_a_branch_has_all_functions_but_those_of_the_exercise(workers):
    """What a student's function may look at is the memory that the branch has left to its worker."""
    code = compile(CHECK, "checks.py", "exec")
    state = np.random.default_rng(0).bit_generator.state
    request = marshal.dumps({"code": code, "path": "checks.py", "name": "tried", "state": state})
    for id, missing in (("00.1", True), ("01.4", False)):
        with workers.zygote(NUMPY, True, exercise(id)).start(Limits(), alone=True) as worker:
            assert worker.load({"fills": []}, 60.0) == {"is": "imported"}
            data, trouble = worker.ask(request, 60.0)
        assert trouble == ""
        assert (b"No module named 'jitkit_holes'" in data) == missing, data  # what an empty hole does


def test_a_branch_that_cannot_be_made_is_a_fault_of_ours(workers):
    with pytest.raises(JailError, match="did not start: KeyError"):
        Branch(workers.zygote(NUMPY, True), [("no such hole", marshal.dumps(workers.zygote.__code__))])
    again = Branch(workers.zygote(NUMPY, True), [])
    again.close()
    gone = Zygote(workers.shipped.base, NUMPY, NONE, True)
    gone.close()
    with pytest.raises(JailError):
        Branch(gone, [])


ALL = """
import os
import numpy, jitkit
from grading.grader.inside import first_programs
for program in first_programs._programs():
    program()
first_programs.run_first_programs()
print(len(os.listdir("/proc/self/task")))
"""


def test_the_first_programs_run_to_their_end_where_no_function_is_missing_and_start_no_thread():
    alone = {"OPENBLAS_NUM_THREADS": "1"}  # as in a jail
    done = subprocess.run(
        [sys.executable, "-c", ALL], cwd=ROOT, env=os.environ | alone, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1"]


def test_a_process_with_threads_serves_nobody(monkeypatch):
    monkeypatch.setattr(first_programs.os, "listdir", lambda path: ["1", "2"])
    monkeypatch.setattr(first_programs, "_programs", lambda: iter(()))
    with pytest.raises(RuntimeError, match="started a thread"):
        first_programs.run_first_programs()


EARLY = """
import json, sys
sys.path.insert(0, "grading/grader")
from inside.imports import ImageFinder, import_early
texts = json.loads(sys.argv[1])
modules = {name: (f"/{name}.py", name == "room", compile(text, name, "exec")) for name, text in texts.items()}
import_early(modules)
print(json.dumps(sorted(name for name in sys.modules if name.startswith("room"))))
sys.meta_path.insert(0, ImageFinder(modules | {"room.asked": ("/room/asked.py", False, compile("value = 1", "asked", "exec"))}))
import room.two
print(room.two.value, room.log)
"""


def test_a_branch_without_jitkit_imports_what_does_not_need_the_exercise_and_runs_nothing_twice():
    """Not what imports it, directly or by others, in a circle, or under a try; and not before a function is called."""
    texts = {
        "room": "log = []",
        "room.alone": "import room; room.log.append('alone')",
        "room.later": "import room.alone\ndef later():\n    import room.asked",
        "room.one": "import room; room.log.append('one'); from room.asked import value",
        "room.two": "import room; room.log.append('two'); import room.under; from room.asked import value",
        "room.under": "import room; room.log.append('under'); import room.two",
        "room.suppressed": "try:\n    import room.asked\nexcept ImportError:\n    pass",
    }
    command = [sys.executable, "-c", EARLY, json.dumps(texts)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    early, after = done.stdout.splitlines()
    assert json.loads(early) == ["room", "room.alone", "room.later"]
    assert after == "1 ['alone', 'two', 'under']"


IMPORTED = """
def tried(jk, rng):
    import sys
    early = sorted(name for name in sys.modules if name.partition(".")[0] == "jitkit")
    return early, float(jk.nn.relu(-1.0))
"""


def test_a_worker_that_imports_jitkit_finds_the_modules_that_do_not_need_the_exercise(workers):
    relu = exercise("00.1")
    code = compile(IMPORTED, "checks.py", "exec")
    state = np.random.default_rng(0).bit_generator.state
    request = marshal.dumps({"code": code, "path": "checks.py", "name": "tried", "state": state})
    (module,) = {target.module for target in relu.targets}
    spliced = {module: workers.shipped.modules[module]}
    image = {"modules": workers.shipped.rest({}, relu), "spliced": marshal.dumps(spliced)}
    found = {}
    for kind in (None, relu):
        with workers.zygote(NUMPY, False, kind).start(Limits(), alone=True) as worker:
            assert worker.load(image, 60.0) == {"is": "imported"}
            data, trouble = worker.ask(request, 60.0)
        assert trouble == ""
        found[kind] = set(re.findall(rb'"(jitkit[\w.]*)"', data))
    assert found[None] < found[relu]
    assert module.encode() in found[None]  # it is imported in the check
