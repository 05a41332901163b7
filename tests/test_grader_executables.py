"""Executables of the reference's programs: an equal program finds and decrypts them, and no other one does."""

from __future__ import annotations

import hashlib
import marshal
import os
import pathlib
import signal
import subprocess
import sys
import time
import types

import numpy as np
import pytest

from grading.grader.bubblewrap import JailError
from grading.grader.grade import Grader
from grading.grader.inside import warmth
from grading.grader.inside.executables import Executables, seal
from grading.grader.inside.zygote import seconds_of_processor
from grading.grader.jail import Limits
from grading.grader.reused import reused
from grading.grader.selftest import self_test
from grading.grader.shipped_code import generator_state
from grading.grader.stablehlo import Programs
from grading.grader.trials import How, Settings
from grading.shared import ROOT
from jitkit.kata.engine.manifest import all_labs

TEXT = """module @jit_f {
  func.func public @main(%arg0: tensor<2xf32> loc("x")) -> (tensor<2xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.add %arg0, %arg0 : tensor<2xf32> loc(#loc0)
    return %0 : tensor<2xf32>
  }
}
#loc0 = loc(fused["jit(f)/add", "/checks.py":3:4])
"""


class Runtime:
    """Stands in for `jitkit.runtime`: notes what it compiles."""

    def __init__(self):
        self.compiled = []

    def compile_text(self, text, owners, options=()):
        self.compiled.append(text)
        return f"code of {text}"

    def serialize(self, loaded):
        return loaded.encode()

    def deserialize(self, data, owners, options=()):
        return f"loaded {data.decode()}"


@pytest.fixture
def made(monkeypatch):
    """Return the function `made(sealed, keeps)`, which installs `Executables` and returns them with their runtime."""

    def make(sealed, keeps=False):
        runtime = Runtime()
        executables = Executables(sealed, keeps)
        executables.runtime, executables.compile = runtime, runtime.compile_text
        return executables, runtime

    return make


def test_an_equal_program_is_not_compiled_again_wherever_its_lines_are(made):
    reference, _ = made({}, keeps=True)
    reference.compile_text(TEXT, [])
    student, runtime = made(reference.made)
    elsewhere = TEXT.replace('"/checks.py":3:4', '"mine.py":70:1').replace('loc("x")', 'loc("y")')
    assert student.compile_text(elsewhere, []) == f"loaded code of {TEXT}"
    assert runtime.compiled == []
    assert student.made is None, "a student's process keeps nothing for others"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (TEXT.replace("add", "multiply"), ()),
        (TEXT.replace('"result"', '" loc(other)"'), ()),  # `loc` in a string of the program is not a location
        (TEXT, (("xla_cpu_enable_fast_math", True),)),
    ],
)
def test_another_program_is_compiled(made, text, options):
    reference, _ = made({}, keeps=True)
    reference.compile_text(TEXT, [])
    student, runtime = made(reference.made)
    assert student.compile_text(text, [], options) == f"code of {text}"
    assert runtime.compiled == [text]


def test_what_is_sealed_is_told_neither_by_itself_nor_by_its_name(made):
    reference, _ = made({}, keeps=True)
    reference.compile_text(TEXT, [])
    ((name, data),) = reference.made.items()
    assert b"stablehlo" not in data
    assert b"tensor" not in seal(data, bytes.fromhex(name))
    assert seal(seal(b"\0\0 begins with nothing", b"key"), b"key") == b"\0\0 begins with nothing"


@pytest.fixture(scope="module")
def course():
    try:
        assert self_test() == []
    except JailError as error:
        pytest.skip(f"needs bubblewrap: {error}")
    return Grader([lab for lab in all_labs() if lab.number == "05"], Settings(1, "test"))


def test_the_reference_compiles_nothing_where_it_has_what_it_made(course):
    """In a jail: the programs of an exercise are all found again, and its checks pass with them."""
    exercise = next(e for lab in course.labs for e in lab.exercises if e.id == "05.4")
    workers = course.workers()
    try:
        expected = course.expected(workers, exercise)
        assert len(expected["executables"]) > 3
        again: dict[str, dict[str, str]] = {}
        item = course._reference_item(exercise)
        outcomes = course.outcomes(workers, exercise, item, How.of(expected), made=again)
        results = course.judge(workers, course.checks(exercise), outcomes, expected, ())
    finally:
        workers.close()
    assert set(again) == {check.name for _, check in course.checks(exercise)}
    assert not any(again.values())
    assert {r.status for r in results} == {"pass"}


def test_a_check_that_has_to_see_xla_compile_does_not_take_the_executables_from_the_other_checks():
    """In a jail: one check of 04.7 keeps programs in a folder, which XLA refuses for an executable that was loaded."""
    (lab,) = (lab for lab in all_labs() if lab.number == "04")
    grader = Grader([lab], Settings(1, "test"))
    exercise, workers = lab.exercise("04.7"), grader.workers()
    try:
        expected = grader.expected(workers, exercise)
    finally:
        workers.close()
    assert len(expected["executables"]) > 15  # including the executables of random programs


def test_what_is_used_again_leaves_out_all_that_a_failing_check_made():
    made = {"one": {"a": "00", "b": "01"}, "two": {"b": "01", "c": "02"}, "three": {}}
    assert reused(made, ()) == {"a": "00", "b": "01", "c": "02"}
    assert reused(made, {"two", "three", "other"}) == {"a": "00"}
    assert reused(made, set(made)) == {}


def test_a_worker_tells_the_time_of_a_processor_that_it_used(course):
    exercise = course.labs[0].exercises[0]
    workers = course.workers()
    image, kind = course.image(workers, exercise, course._reference_item(exercise), How(False, reference=True))
    spins = {
        "code": compile("def spins(jitkit, rng):\n    while True: pass", "/checks.py", "exec"),
        "name": "spins", "path": "/checks.py", "state": generator_state(1, "spins"),
    }  # fmt: skip
    try:
        with workers.zygote(*kind).start(Limits()) as worker:
            assert worker.load(image, 20.0) == {"is": "imported"}
            assert worker.ask(marshal.dumps(spins), 1.0)[1] == "time"
    finally:
        workers.close()
    assert worker.processor > 0


def test_a_check_in_grading_runs_as_many_random_programs_as_the_course_wants(course):
    """In a jail. Where a wrong answer shows in few of them, the check has twice as many as the others."""
    limits = Limits(random_programs=60)
    labs = [lab for lab in all_labs() if lab.number in ("03", "05")]
    grader = Grader(labs, course.settings._replace(limits=limits))
    exercises = {e.id: e for lab in labs for e in lab.exercises}
    workers = grader.workers()
    try:
        for id, name, count in (("05.3", "programs_3", 60), ("03.1", "programs_1", 120)):
            assert len(grader.expected(workers, exercises[id])["values"][name]["items"]) == count
    finally:
        workers.close()


STARTS = """
import os, time
if os.fork() == 0:
    while True:
        pass
time.sleep(600)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_the_time_of_a_processor_is_that_of_all_that_a_process_started():
    """However little of it a busy machine gives."""
    process = subprocess.Popen([sys.executable, "-S", "-c", STARTS], start_new_session=True)
    try:
        deadline = time.monotonic() + 120
        while (used := seconds_of_processor(process.pid)) < 0.3 and time.monotonic() < deadline:
            time.sleep(0.05)
        own = pathlib.Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[11]
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert used >= 0.3
    assert int(own) / os.sysconf("SC_CLK_TCK") < 0.3, "it sleeps: what spins is its child"
    assert seconds_of_processor(process.pid) == 0.0


def test_nothing_of_a_students_can_be_kept_for_others():
    """The one caller that has executables made is the one that runs the reference."""
    sources = pathlib.Path(__file__).parents[1].joinpath("grading", "grader").rglob("*.py")
    callers = [p.name for p in sources if "made=" in p.read_text(encoding="utf-8")]
    assert callers == ["grade.py"]


class Answering:
    """Stands in for `Workers`: each program gets the next of these frames as its answer."""

    def __init__(self, *frames):
        self.frames = list(frames)

    def kept(self):
        return frozenset()

    def zygote(self, packages, imported):
        return self

    def start(self, limits):
        return self

    def load(self, image, seconds):
        return self.frames.pop(0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.fixture
def programs():
    return Programs(types.SimpleNamespace(fills=lambda exercise, kept: []), Limits())


def test_what_a_program_computes_is_found_out_once_and_what_was_refused_again(programs):
    workers = Answering({"refused": "no memory"}, {"results": [1]})
    found = [programs.known_or_run(workers, TEXT, [], float("inf")) for _ in range(3)]
    assert found == [{"refused": "no memory"}, {"results": [1]}, {"results": [1]}]
    assert workers.frames == []


def test_a_machine_that_cannot_run_programs_is_no_fault_of_the_students(programs):
    workers = Answering({"is": "broken", "text": "OSError: no"}, {"results": [1]})
    with pytest.raises(JailError, match="OSError: no"):
        programs.known_or_run(workers, TEXT, [], float("inf"))
    assert programs.known_or_run(workers, TEXT, [], float("inf")) == {"results": [1]}


_WARM = """
import os, sys
import numpy, jaxlib._jax, jaxlib.xla_client
from grading.grader.inside.warmth import warm_up
warm_up()
pid = os.fork()
if pid == 0:
    client = jaxlib.xla_client.make_cpu_client()
    os._exit(len(client.local_devices()))
print(len(os.listdir("/proc/self/task")), "jax" in sys.modules, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def test_a_process_that_has_used_xla_before_it_forks_has_no_thread_left_and_no_jax():
    alone = {"OPENBLAS_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", _WARM], env=os.environ | alone, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1", "False", "1"]


@pytest.mark.filterwarnings("ignore:os.fork")  # JAX warns of forks, if another test has imported it
def test_where_a_thread_is_left_the_process_that_forks_does_not_use_xla(monkeypatch):
    tried = []
    monkeypatch.setattr(warmth, "_compiled_in_a_fork", lambda: b"")
    monkeypatch.setattr(warmth, "_leaves_no_thread", lambda program: tried.append(program) or False)
    warmth.warm_up()
    assert tried == [], "a fork has tried it, and this process has not"


def test_the_state_of_a_checks_generator_is_made_by_a_hash():
    """Numpy's SeedSequence by itself can be run backwards, from the state to the seed."""
    state = generator_state(5, "runs")
    assert state == generator_state(5, "runs")
    others = [generator_state(6, "runs"), generator_state(5, "stops"), generator_state(51, "uns")]
    assert all(other["state"] != state["state"] for other in others)
    mixed = int(hashlib.sha256(b"5 runs").hexdigest(), 16)
    assert state == np.random.default_rng(mixed).bit_generator.state
