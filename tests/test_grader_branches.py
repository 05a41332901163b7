"""Branches of a zygote: a branch prepares once what all workers of an exercise need, and has nothing that they do not have."""

from __future__ import annotations

import marshal
import os
import pathlib
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
