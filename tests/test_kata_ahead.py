"""A waiting process imports jitkit before it gets a learner's functions: these then do the same as with splicing."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import pathlib
import subprocess
import sys

import pytest

from jitkit.kata.engine import exchange, replay, running
from jitkit.kata.engine.manifest import all_labs
from jitkit.kata.engine.processes import Nursery, Process, Spare
from jitkit.kata.engine.reference import reference_function
from jitkit.kata.engine.running import Job, LearnerSource, run
from jitkit.kata.engine.submission import Target

ROOT = pathlib.Path(__file__).parents[1]
TARGETS = [str(t) for lab in all_labs() for e in lab.exercises for t in e.targets]
MERGE, REGISTER = "jitkit.base.util:merge_lists", "jitkit.tree_util.registry:register"
LATE_ROOMS = (
    "lax",
    "numpy",
    "derivatives",
    "nn",
    "random",
    "interpreters",
    "custom_derivatives",
    "misses",
    "pjit",
    "scipy",
)
CHECKS = '''
from jitkit.kata.checking import check, module

@check("1", "What can be seen of a function.")
def seen(jk, rng):
    merge = module(jk, "base.util").merge_lists
    return merge.__name__, merge.__doc__, merge([True], [], [3]), merge([False], [1], [])

@check("1", "What else there is.")
def printed(jk, rng):
    return jk.make_jaxpr(lambda x: x + 1)(1.0)
'''  # fmt: skip
PLAIN = 'def merge_lists(mask, unchosen, chosen):\n    """Mine."""\n    return [*unchosen, *chosen]\n'
HEAD = "def merge_lists(mask, unchosen, chosen):\n    "


def job(text, target=MERGE, **options):
    file = LearnerSource("mine.py", text, frozenset(TARGETS))
    return Job((file,), {Target.parse(target): "mine.py"}, "checks.py", CHECKS, ("seen", "printed"), **options)


@pytest.fixture
def started(monkeypatch):
    """Return a list to which each process is added that starts from now on."""
    found = []
    start = Process.__init__
    monkeypatch.setattr(Process, "__init__", lambda self, *a, **k: (found.append(self), start(self, *a, **k))[1])
    return found


def told(outcomes):
    return [(o.check, o.value, o.trouble, o.sentence, o.line, o.output) for o in outcomes]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (PLAIN, 1),
        ("import jitkit.numpy as np\nK = 3\ndef half(x):\n    return np.abs(x[0]) / K\n" + HEAD + "return half(mask)\n", 1),
        ("import math as TypeVar\n" + HEAD + "return TypeVar.floor(2.5)\n", 1),
        (HEAD + "print('here'); raise ValueError('no')\n", 1),
        ("K = 1 / 0\n" + HEAD + "return K\n", 1),  # a helper that raises while it is put in place
        ("def partition_list(x):\n    return x\n" + HEAD + "return partition_list(mask)\n", 1),  # refused: the module's name
        ("def merge_lists(mask, unchosen):\n    return mask\n", 2),  # spliced by another process
        ("def merge_lists(mask, unchosen, chosen=()):\n    return mask\n", 2),
        ("@print\n" + HEAD + "return mask\n", 2),
        ("def other(x):\n    return x\n", 1),
    ],
)  # fmt: skip
def test_functions_that_are_put_in_place_afterwards_do_what_spliced_ones_do(text, count, started):
    spare = Spare()
    try:
        spare.prepare(False, running.request_ahead(job(PLAIN)))
        ahead = run(job(text), spare)
        assert len(started) == count
        assert told(ahead) == told(run(job(text)))
    finally:
        spare.close()


def test_functions_that_were_called_already_are_spliced(started):
    reference = reference_function(Target.parse(REGISTER)).source
    spare = Spare()
    try:
        spare.prepare(False, running.request_ahead(job(PLAIN)))  # it prepares for another exercise
        one, _ = run(job(reference, REGISTER), spare)
        assert one.value is not None
        assert len(started) == 2
        spare.prepare(False, running.request_ahead(job(reference, REGISTER)))
        run(job(reference, REGISTER), spare)
        assert len(started) == 3
    finally:
        spare.close()


def test_which_functions_are_called_while_jitkit_is_imported_is_known():
    program = (
        "import importlib, json, sys; names = json.loads(sys.argv[3])\n"
        "sys.path.insert(0, sys.argv[1] + '/jitkit/kata/engine'); import worker; del sys.path[0]\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "exchange, Target = worker._load_beside('exchange'), worker._load_beside('submission').Target\n"
        "none = worker._load_beside('submission').Submission({})\n"
        "def called(rooms):\n"
        "    load = lambda: [importlib.import_module(f'jitkit.{room}') for room in rooms]\n"
        "    ahead = exchange.Ahead(load, sys.argv[1] + '/jitkit', none)\n"
        "    there = [n for n in names if n.partition(':')[0] in sys.modules]\n"
        "    return [len(there), [n for n in there if ahead.function(Target.parse(n)) is None]]\n"
        "print(json.dumps([called(exchange.OF_EVERY_PROGRAM), called(json.loads(sys.argv[2]))]))\n"
    )
    files = [path for room in LATE_ROOMS for path in sorted((ROOT / "jitkit" / room).rglob("*.py"))]
    rooms = [
        ".".join(path.relative_to(ROOT / "jitkit").with_suffix("").parts).removesuffix(".__init__") for path in files
    ]
    command = [sys.executable, "-E", "-c", program, str(ROOT), json.dumps(rooms), json.dumps(TARGETS)]
    (count, at_once), (more, later) = json.loads(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )
    assert 50 < count < more
    assert sorted(at_once) == sorted(exchange.CALLED_AT_IMPORT)
    assert set(later) - set(at_once) == set(exchange.CALLED_LATER)


def test_what_is_called_at_import_is_in_place_before_where_another_exercise_is_written(started):
    register = reference_function(Target.parse(REGISTER)).source
    spare = Spare()
    try:
        for text, count in ((register, 2), (register.replace("\n", "\n\n", 1), 3)):
            mine = job(PLAIN)
            other = LearnerSource("other.py", register, frozenset(TARGETS))
            mine = mine._replace(
                files=(*mine.files, other), targets=mine.targets | {Target.parse(REGISTER): "other.py"}
            )
            spare.prepare(False, running.request_ahead(mine, [Target.parse(MERGE)]))
            changed = mine._replace(files=(mine.files[0], other._replace(source=text)))
            assert told(run(changed, spare)) == told(run(changed))
            assert len(started) == count
            started.clear()
    finally:
        spare.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX")
def test_copies_of_one_process_run_what_processes_of_their_own_run(started):
    """Those that print, raise, exit, die and hang, too."""
    texts = [
        PLAIN,
        HEAD + "print('here'); raise ValueError('no')\n",
        HEAD + "import os; os._exit(3)\n",
        HEAD + "import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n",
        HEAD + "while True: pass\n",
    ]
    jobs = [job(text, seconds=1.0) for text in texts]
    jobs.append(jobs[0]._replace(files=(), targets={}))  # the reference
    with contextlib.closing(Nursery()) as nursery, concurrent.futures.ThreadPoolExecutor(3) as pool:
        copied = list(pool.map(lambda each: told(run(each, nursery)), jobs))
        assert started == []
        parent = nursery.process
    assert copied == [told(run(each)) for each in jobs]
    assert [outcomes[0][2] for outcomes in copied] == ["", "", "crash", "crash", "time", ""]
    assert parent.poll() == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX")
def test_a_failure_in_a_copy_is_seen_call_by_call():
    wrong = job(HEAD + "return [1]\n")
    replay = running.Replay(lambda outcomes: "seen", "mine.py", ("merge_lists",))
    with contextlib.closing(Nursery()) as nursery:
        seen, _ = run(wrong, nursery, replay=replay)
    assert [call.text for call in seen.calls] == [call.text for call in run(wrong, replay=replay)[0].calls]
    assert len(seen.calls) > 1


def test_calls_beyond_those_that_are_kept_do_not_change_their_results(monkeypatch):
    monkeypatch.setattr(replay, "_MOST_CALLS", 3)
    recorder = replay.Recorder(__file__, ["_doubled"])
    with recorder.listening():
        for i in range(5):
            _doubled(i)
    assert [each["call"] for each in recorder.calls] == ["_doubled(0)", "_doubled(1)", "_doubled(2)"]
    assert recorder.results == [0, 2, 4]


def _doubled(x):
    return 2 * x
