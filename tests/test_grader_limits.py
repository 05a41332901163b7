"""What a submission can make the grader do is bounded: time, programs that XLA runs, names that an archive has."""

from __future__ import annotations

import ast
import contextlib
import datetime
import io
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import types
import zipfile
import zoneinfo

import pytest

from grading.__main__ import main
from grading.grader import batch, bubblewrap, commands, handed_over, in_memory, leftovers, records, suspicion, trials
from grading.grader.grade import Grader
from grading.grader.inside import walls, worker
from grading.grader.intake import read_submission
from grading.grader.patience import TooLongError, patience
from grading.grader.records import GradeStatus
from grading.grader.trials import How, Settings
from grading.grader.workers import Gate
from grading.shared import ROOT
from jitkit.kata.engine import run_stablehlo
from jitkit.kata.engine.manifest import all_labs
from jitkit.kata.engine.running import Outcome
from jitkit.kata.engine.statuses import Status

LABS = all_labs()


@pytest.fixture(scope="module")
def course():
    return Grader(LABS[:1], Settings(1, "test"))


def program(text, **more):
    return {"is": "stablehlo", "text": text, "arguments": [], **more}


def several(*programs):
    return {"is": "list", "items": list(programs)}


def test_no_more_programs_are_run_than_the_right_answer_has(course, monkeypatch):
    ran = []
    monkeypatch.setattr(
        course.programs, "run_one", lambda workers, text, arguments, deadline: ran.append(text) or {"results": []}
    )
    right = several(program("a", results=[1]), program("b", results=[2]))
    value = several(program("a"), *(program(f"x{i}", results=["forged"]) for i in range(1000)))
    assert course.programs.run(None, value, right) == 0
    assert ran == ["x0"], "equal text is not run again, and what is too much is not run at all"
    first, second, *rest = value["items"]
    assert (first["results"], second["results"]) == ([1], [])
    assert all("results" not in p and "refused" in p for p in rest)


def test_equal_programs_on_equal_arguments_are_run_once_and_no_end_is_not_remembered(course, monkeypatch):
    ran = []
    ends = {"results": [{"is": "int"}]}

    def run_one(workers, text, arguments, deadline):
        ran.append((text, arguments))
        return None if text == "endless" else ends

    monkeypatch.setattr(course.programs, "run_one", run_one)
    for _ in range(2):
        for text, arguments in (("once", [1]), ("once", [2]), ("endless", [])):
            right, value = several(program("r") | {"arguments": arguments}), several(program(text))
            course.programs.run(None, value, right)
            assert value["items"][0].get("results") == (None if text == "endless" else ends["results"])
    assert ran == [("once", [1]), ("once", [2]), ("endless", []), ("endless", [])]


def test_programs_that_come_to_no_end_are_few(course, monkeypatch):
    ran = []
    monkeypatch.setattr(course.programs, "run_one", lambda workers, text, arguments, deadline: ran.append(text))
    right = several(*(program(f"a{i}") for i in range(10)))
    value = several(*(program(f"x{i}") for i in range(10)))
    assert course.programs.run(None, value, right) == 2
    assert len(ran) == 2
    assert course.programs.run(None, value, right, tries=0) == 0
    assert course.programs.run(None, value, right, deadline=0.0) == 0
    assert len(ran) == 2


def test_after_a_submissions_time_no_worker_is_started(course):
    exercise = course.labs[0].exercises[0]
    outcomes = course.outcomes(None, exercise, {}, How(False), deadline=0.0)
    assert [o.trouble for o in outcomes] == ["time"] * len(course.checks(exercise))


def test_an_odd_name_in_a_zip_of_a_class_is_left_out_and_the_others_are_graded(tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        archive.writestr("ann/hello.py", "x = 1\n")
        archive.writestr("../bob.py", "x = 1\n")
        archive.writestr("C:carl.py", "x = 1\n")
    folder = handed_over.unpacked(tmp_path / "class.zip", tmp_path / "unpacked")
    assert [e.student for e in handed_over.entries(folder if (folder / "ann").exists() else folder.parent)] == ["ann"]
    said = capsys.readouterr().err
    assert "bob.py" in said
    assert "C:carl.py" in said
    assert not (tmp_path / "bob.py").exists()


def test_an_odd_file_in_a_zip_of_a_class_is_left_out_and_the_others_are_graded(tmp_path, capsys):
    odd = ["eve/" + "x" * 300, "fay", "fay/hello.py", "gil/hello.py", "hal/" + 1000 * "a/" + "x.py"]
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        for name in ("ann/hello.py", *odd, "zoe/hello.py"):
            archive.writestr(name, f"x = 'in {name[:3]}'\n")
    data = (tmp_path / "class.zip").read_bytes()
    (tmp_path / "class.zip").write_bytes(data.replace(b"x = 'in gil'", b"x = 'IN gil'"))  # this breaks its checksum
    folder = handed_over.unpacked(tmp_path / "class.zip", tmp_path / "unpacked")
    assert [e.student for e in handed_over.entries(folder)] == ["ann", "eve", "fay", "gil", "hal", "zoe"]
    assert [p.parent.name for p in sorted(folder.glob("*/hello.py"))] == ["ann", "zoe"]
    said = capsys.readouterr().err
    assert [line.count("left out") for line in said.splitlines()] == [1, 1, 1, 1]
    assert "fay/hello.py is left out: " in said
    assert "gil/hello.py is left out: Bad CRC" in said


def broken_zip(name, method):
    """Return a zip whose one file cannot be unpacked, although its sizes are right."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr(name, b"def relu(x):\n    return x\n" * 100)
    data = bytearray(stream.getvalue())
    at = data.index(name.encode()) + len(name) + (0 if method == zipfile.ZIP_DEFLATED else 12)
    data[at : at + 12] = b"\xff" * 12
    return bytes(data)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_bytes_that_cannot_be_unpacked_are_the_files_fault_whatever_packed_them(method, tmp_path, capsys):
    (tmp_path / "ann.zip").write_bytes(broken_zip("00_hello/exercises.py", method))
    read = read_submission(tmp_path / "ann.zip", LABS)
    assert read["status"] == "INVALID"
    assert read["sentence"].startswith("ann.zip cannot be unpacked: ")
    (tmp_path / "class.zip").write_bytes(broken_zip("ann/hello.py", method))
    handed_over.unpacked(tmp_path / "class.zip", tmp_path / "unpacked")
    assert "ann/hello.py is left out: " in capsys.readouterr().err


def test_a_path_that_is_too_long_is_the_submissions_fault(tmp_path):
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "hello.py").write_text("def relu(x):\n    return x\n")
    above = os.getcwd()
    try:
        os.chdir(tmp_path / "ann")
        for _ in range(30):
            os.mkdir("d" * 200)
            os.chdir("d" * 200)
        pathlib.Path("x.py").write_text("x = 1\n")
    finally:
        os.chdir(above)
    read = read_submission(tmp_path / "ann", LABS)
    assert (read["status"], "longer than a path may be" in read["sentence"]) == ("INVALID", True)


def test_a_later_zip_of_a_name_has_nothing_of_the_one_before(tmp_path):
    folders = []
    for names in (("ann/old.py", "bob/hello.py"), ("ann/new.py", "bob/hello.py")):
        with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
            for name in names:
                archive.writestr(name, "x = 1\n")
        folders.append(handed_over.unpacked(tmp_path / "class.zip", tmp_path / "unpacked"))
        assert handed_over.unpacked(tmp_path / "class.zip", tmp_path / "unpacked") == folders[-1]
    assert [[p.name for p in (folder / "ann").iterdir()] for folder in folders] == [["old.py"], ["new.py"]]


def test_what_is_read_of_a_submission_has_a_length(tmp_path):
    (tmp_path / "hello.py").write_text("def relu(x):\n    return x\n", encoding="utf-8")
    small = "import sys; from grading.grader import intake; intake._LONGEST_FRAME = 300; intake.serve(sys.argv[1])"
    request = json.dumps({"path": str(tmp_path / "hello.py"), "only": ["00"], "whole": [], "zone": "UTC"}) + "\n"
    command = [sys.executable, "-c", small, str(LABS[0].folder.parent)]
    told = subprocess.run(command, input=request.encode(), capture_output=True, check=True, cwd=ROOT).stdout
    found = json.loads(told[8:])
    assert found["status"] == GradeStatus.INVALID
    assert "more time or memory" in found["sentence"]


def test_a_result_that_is_too_large_to_be_told_is_the_programs_fault(monkeypatch):
    def frame(data):
        if "results" in data:
            raise MemoryError
        return json.dumps(data).encode()

    sent = []
    monkeypatch.setattr(run_stablehlo, "run_stablehlo", lambda text, arguments: [])
    monkeypatch.setattr(worker, "_frame", frame)
    worker._run_program(types.SimpleNamespace(sendall=sent.append), {"program": "", "arguments": []})
    assert json.loads(sent[0]) == {"refused": "MemoryError"}


def test_copies_of_a_function_are_named_up_to_a_number(tmp_path):
    (tmp_path / LABS[0].name).mkdir()
    (tmp_path / LABS[0].name / "exercises.py").write_text("def relu(x):\n    return x\n", encoding="utf-8")
    for n in range(50):
        (tmp_path / f"a{n}.py").write_text(f"def relu(x):\n    return {n}\n", encoding="utf-8")
    flags = read_submission(tmp_path, LABS)["exercises"]["00.1"]["flags"]
    assert len(flags) == 11
    assert flags[-1] == "and 40 more of these"


def test_code_that_means_something_else_has_another_verdict(tmp_path):
    """The same lines, in a file that hides `abs`, which the module around the exercise hides, too."""
    lab = next(lab for lab in LABS if lab.number == "11")
    text = (ROOT / "solutions" / f"{lab.name}.py").read_text(encoding="utf-8")
    digests = []
    for more in ("", "if True:\n    abs = None\n"):
        path = tmp_path / f"{lab.name}.py"
        path.write_text(text + more, encoding="utf-8")
        digests.append(read_submission(path, [lab])["exercises"]["11.4"]["digest"])
    assert digests[0] != digests[1]


@pytest.mark.parametrize(
    "text",
    ["import jitkit.kata.engine.plain", "from jitkit.kata.engine.plain import to_plain", "from jitkit import kata"],
)
def test_the_courses_own_code_is_no_part_of_an_answer(text):
    assert suspicion._suspects([ast.parse(text)]) == {"jitkit.kata"}
    assert not suspicion._suspects(
        [ast.parse(text.replace("jitkit.kata.", "jitkit.katana.").replace("import kata", "import katana"))]
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("warnings.sys.modules['x']", {"sys", "modules"}),
        ("numpy.f2py.os.getpid()", {"f2py", "os"}),
        ("import numpy.f2py, numpy.linalg\nfrom numpy import ctypeslib", {"f2py", "ctypeslib"}),
        ("import site, shelve, xml.sax\nfrom encodings import search_function", {"site", "shelve", "xml", "encodings"}),
        ("import typing\ntyping.ForwardRef('print(1)')", {"ForwardRef"}),
        ("import dataclasses, functools, itertools, math, re, statistics, weakref", set()),
        ("jitkit.kata.engine.plain.to_plain", {"kata"}),
        ("io.FileIO(5, 'w')", {"FileIO"}),
        ("x.at[0].set(posits.system)", set()),
        ("pkgutil.resolve_name('jax.tree_util')", {"pkgutil", "jax"}),
        ("import timeit\ntimeit.timeit('import o' + 's')", {"timeit"}),
        ("import asyncio, linecache, pydoc", {"asyncio", "linecache", "pydoc"}),
        ("operator.attrgetter('f.__globals__')", {"__globals__"}),
        ("raise ValueError('jax.jit has no such argument')", set()),
    ],
)
def test_what_is_reached_by_way_of_another_module_is_flagged(text, found):
    assert suspicion._suspects([ast.parse(text)]) == found


def test_no_answer_of_ours_uses_what_is_flagged(tmp_path):
    for path in sorted((ROOT / "solutions").glob("[0-9]*.py")):
        items = read_submission(path, LABS)["exercises"].values()
        assert not [flag for item in items for flag in item["flags"] if flag.startswith("uses ")], path.name


def test_what_was_handed_out_is_not_written_and_nothing_of_it_seems_to_be(tmp_path):
    """The stubs of all labs, as `jitkit start` lays them out: no exercise has an answer somewhere else."""
    for lab in LABS:
        shutil.copytree(lab.folder, tmp_path / lab.name, ignore=shutil.ignore_patterns("checks.py", "mutants.py"))
    read = read_submission(tmp_path, LABS)
    assert {item["status"] for item in read["exercises"].values()} == {"todo"}
    assert len(read["exercises"]) == sum(len(lab.exercises) for lab in LABS)
    assert {path.rpartition("/")[2] for path, _ in read["passed"]} <= {"lab.ipynb"}, (
        "what is the course's own is not told"
    )


def test_a_folder_with_a_name_like_a_table_is_a_submission(tmp_path):
    (tmp_path / "ann.csv").mkdir()
    (tmp_path / "roster.csv").write_text("student\n", encoding="utf-8")
    assert [e.student for e in handed_over.entries(tmp_path)] == ["ann.csv"]


def zipped(path, name, when, extra=b""):
    info = zipfile.ZipInfo(name, when)
    info.extra = extra
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(info, "def relu(x):\n    return x\n")


ZURICH = zoneinfo.ZoneInfo("Europe/Zurich")
THEN = datetime.datetime(2026, 11, 10, 23, 30, tzinfo=ZURICH).timestamp()


@pytest.mark.parametrize("machine", ["UTC", "America/Los_Angeles", "Europe/Zurich"])
def test_times_in_a_zip_are_the_courses_and_never_the_machines(tmp_path, monkeypatch, machine):
    monkeypatch.setenv("TZ", machine)
    time.tzset()
    unix = struct.pack("<HHBi", 0x5455, 5, 1, int(THEN))
    ntfs = struct.pack("<HHIHHQQQ", 0x000A, 32, 0, 1, 24, *[int((THEN + 11_644_473_600) * 1e7)] * 3)
    zipped(tmp_path / "class.zip", "ann/00_hello.py", (2026, 11, 10, 23, 30, 0))
    zipped(tmp_path / "class.zip", "bob/00_hello.py", (2026, 11, 11, 9, 0, 0), unix)
    zipped(tmp_path / "class.zip", "cyd/00_hello.py", (2026, 11, 11, 9, 0, 0), ntfs)
    zipped(tmp_path / "class.zip", "dan/00_hello.py", (1980, 0, 0, 0, 0, 0))
    folder = handed_over.unpacked(tmp_path / "class.zip", tmp_path / "unpacked", ZURICH)
    read = {e.student: read_submission(e.path, LABS, ["00"], (), ZURICH) for e in handed_over.entries(folder)}
    assert {s: r["labs"]["00"]["handed_in"] for s, r in read.items() if s != "dan"} == dict.fromkeys(
        ("ann", "bob", "cyd"), THEN
    )
    assert set(read) == {"ann", "bob", "cyd", "dan"}, "an odd date leaves nobody out"
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("said", ["-1e15", "nan", "-inf", "inf", "-62135596805", "315532800", "1e11"])
def test_a_time_that_cannot_be_is_that_of_the_archive(tmp_path, said):
    """A page and a table have to write it as a date; and nobody is early since an archive says 1980."""
    text = b"def relu(x):\n    return x\n"
    info = tarfile.TarInfo("00_hello.py")
    info.size, info.pax_headers = len(text), {"mtime": said}
    with tarfile.open(tmp_path / "ann.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info, io.BytesIO(text))
    os.utime(tmp_path / "ann.tar", (THEN, THEN))
    assert read_submission(tmp_path / "ann.tar", LABS)["labs"]["00"]["handed_in"] == THEN


def test_a_file_whose_clock_was_ahead_is_of_now(tmp_path):
    (tmp_path / "00_hello.py").write_text("def relu(x):\n    return x\n", encoding="utf-8")
    os.utime(tmp_path / "00_hello.py", (1 << 33, 1 << 33))
    before = time.time()
    assert before <= read_submission(tmp_path, LABS)["labs"]["00"]["handed_in"] <= time.time()


def test_an_archive_with_a_password_is_a_sentence(tmp_path):
    zipped(tmp_path / "ann.zip", "00_hello.py", (2026, 11, 10, 23, 30, 0))
    data = bytearray((tmp_path / "ann.zip").read_bytes())
    data[data.rindex(b"PK\1\2") + 8] |= 1
    (tmp_path / "ann.zip").write_bytes(data)
    assert "has a password" in read_submission(tmp_path / "ann.zip", LABS)["sentence"]


def test_a_labs_time_is_that_of_its_files_that_were_taken(tmp_path):
    """Work on another lab, a note and a stub's notebook that was opened make nobody late; what an archive holds is not newer than it."""
    stub = json.dumps({"cells": [{"cell_type": "code", "source": "def relu(x):\n    raise NotImplementedError\n"}]})
    files = {
        "00_hello/exercises.py": ("def relu(x):\n    return x\n", 1000),
        "00_hello/lab.ipynb": (stub, 3000),
        "02_jaxpr/exercises.py": ("def eval_jaxpr(*args):\n    return args\n", 4000),
        ".DS_Store": ("", 5000),
    }
    for name, (text, when) in files.items():
        place = tmp_path / "ann" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        os.utime(place, (when, when))
    read = read_submission(tmp_path / "ann", LABS)
    assert {lab: r["handed_in"] for lab, r in read["labs"].items()} == {"00": 1000, "02": 4000}
    assert read["labs"]["00"]["files"] == ["00_hello/exercises.py"]
    zipped(tmp_path / "bob.zip", "00_hello.py", (2026, 11, 10, 23, 30, 0))
    os.utime(tmp_path / "bob.zip", (9000, 9000))
    assert read_submission(tmp_path / "bob.zip", LABS)["labs"]["00"]["handed_in"] == 9000


def test_what_cannot_be_read_was_handed_in_when_its_newest_file_was_written(tmp_path):
    """The folder's own time is when the grader put the files of one student together."""
    (tmp_path / "ann").mkdir()
    for name, then in (("00_hello.zip", 5000), ("notes.txt", 4000)):
        (tmp_path / "ann" / name).write_bytes(b"PK no")
        os.utime(tmp_path / "ann" / name, (then, then))
    read = read_submission(tmp_path / "ann", LABS)
    assert (read["status"], read["handed_in"]) == ("INVALID", 5000)


def test_a_batch_sweeps_at_its_end_too_since_what_is_less_than_a_minute_old_stays_at_its_start(tmp_path, monkeypatch):
    swept = []
    for module in (commands, batch):
        monkeypatch.setattr(module, "sweep", lambda name=module.__name__: swept.append(name))
    (tmp_path / "in" / "ann").mkdir(parents=True)
    (tmp_path / "in" / "ann" / "hello.py").write_text("def relu(x):\n    raise NotImplementedError\n")
    words = ["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--lab", "00", "--quiet", "--unsandboxed"]
    assert main(words) == 0
    assert swept == ["grading.grader.commands", "grading.grader.batch"]


def test_how_long_it_takes_is_not_reckoned_from_the_first_which_waits_for_the_reference():
    stream = io.StringIO()
    progress = batch.Progress(stream)
    for done, seconds in ((1, 60.0), (2, 80.0), (3, 100.0)):
        progress(done, 3, seconds)
    assert stream.getvalue().splitlines() == [
        "1 of 3 submissions",
        "2 of 3 submissions, 20 s left",
        "3 submissions in 1 min 40 s",
    ]


@pytest.mark.parametrize(("flags", "runs"), [([], [False, True]), (["uses jax"], [False])])
def test_an_honest_answer_that_compiles_where_the_reference_does_not_is_run_with_xla(course, monkeypatch, flags, runs):
    exercise = course.labs[0].exercises[0]
    ran = []

    def outcomes(workers, exercise, item, how, *rest):
        ran.append(how.uses_xla)
        missing = {"is": "error", "class": "ModuleNotFoundError", "text": "No module named 'jax'"}
        value = {"is": "None"} if how.uses_xla else missing
        return [Outcome(check.name, value) for _, check in course.checks(exercise)]

    monkeypatch.setattr(course, "outcomes", outcomes)
    monkeypatch.setattr(course, "can_be_patched", lambda *_: True)
    values = {check.name: {"is": "None"} for _, check in course.checks(exercise)}
    monkeypatch.setattr(
        course, "expected", lambda *_: {"xla": False, "patched": True, "executables": {}, "values": values}
    )
    item = records.item("ready") | {"flags": flags, "patch": "x"}
    result = course.result(None, exercise, item, None, float("inf"), lambda: False)
    assert ran == runs
    assert result.sentence == ("" if flags else trials.RUN_WITH_JAX), "which is a flag"
    assert all((c["status"] == "PASS") == (not flags) for c in result.checks)


@pytest.mark.parametrize(
    ("text", "keeps"),
    [
        ("def f(x, n=0, *, name='a'):\n    y = [n]\n    y[0] = x\n    y.append(1)\n    return y", False),
        (
            "class A:\n    def f(self, x):\n        self.x = x\n        self.seen[x] = 1",
            True,
        ),  # an instance of an own class may hold anything
        ("def f(self, x):\n    self.x = x\n    self.seen[x] = 1", False),
        ("LIMIT = 2 * 3", False),
        ("seen = {}", True),
        ("def f(x, seen=[]):\n    return seen", True),
        ("def f(x):\n    seen[x] = 1", True),
        ("def f(x):\n    f.calls = 1", True),
        ("def f(x):\n    global n\n    n = 1", True),
        ("def f(x):\n    x.__class__.n = 1", True),
        ("@functools.lru_cache\ndef f(x):\n    return x", True),
        ("for i in range(3):\n    print(i)", True),
    ],
)
def test_what_may_keep_something_between_calls_is_seen_by_reading(text, keeps):
    assert suspicion.keeps_state(ast.parse(text).body) == keeps


def test_if_one_check_fails_together_each_is_run_alone_and_only_that_counts(course, monkeypatch):
    """Else a wrong answer could be one program in its first try, and another one in its second."""
    exercise = course.labs[0].exercises[0]
    names = [check.name for _, check in course.checks(exercise)]
    right, wrong = {"is": "None"}, {"is": "bool", "value": True}
    alone = []
    together = [right, wrong, wrong, right, right]  # the process ended after these
    monkeypatch.setattr(
        course,
        "together",
        lambda workers, e, item, how, checks, deadline: [
            Outcome(c.name, v) for (_, c), v in zip(checks, together, strict=False)
        ],
    )

    def outcomes(workers, e, item, how, deadline, ask, wanted, ended):
        alone.extend(c.name for _, c in wanted)
        return [Outcome(c.name, wrong if c.name == names[1] else right) for _, c in wanted]

    monkeypatch.setattr(course, "outcomes", outcomes)
    expected = {
        "xla": False,
        "patched": True,
        "together": names,
        "executables": {},
        "values": dict.fromkeys(names, right),
    }
    item = {"flags": [], "files": [], "keeps": False}
    limits = course.settings.limits._replace(fresh_process=False)
    monkeypatch.setattr(course, "settings", course.settings._replace(limits=limits))
    verdicts = course.verdicts(None, exercise, item, expected)
    assert [v.check.name for v in verdicts] == names
    assert [v.status == "pass" for v in verdicts] == [n != names[1] for n in names]
    assert alone == names[1:], "the first one had the process for itself"
    alone.clear()
    together[:] = [right] * len(names)
    assert all(v.status == "pass" for v in course.verdicts(None, exercise, item, expected))
    assert alone == []
    course.verdicts(None, exercise, item | {"keeps": True}, expected)
    assert alone == names, "whose code keeps something has a process for each check"
    alone.clear()
    limits = course.settings.limits._replace(fresh_process=True)
    monkeypatch.setattr(course, "settings", course.settings._replace(limits=limits))
    course.verdicts(None, exercise, item, expected)
    assert alone == names, "so has all code, where the course does not say otherwise"


def test_a_jail_has_no_folder_of_a_disk_where_it_could_be_told_what_others_have_read(tmp_path, monkeypatch):
    """But for the system's, which the zygote takes away before it starts a worker. Without room in memory they are bound as they are."""
    if shutil.which("bwrap") is None:
        pytest.skip("needs bubblewrap")
    (tmp_path / "memory").mkdir()
    monkeypatch.setattr(in_memory, "MEMORY", tmp_path / "memory")
    monkeypatch.setattr(in_memory, "_copies", {})
    monkeypatch.setattr(in_memory, "_ROOM", 0)
    for room, copied in ((0, True), (1 << 60, False)):
        in_memory.folder.cache_clear()
        monkeypatch.setattr(in_memory, "_ROOM", room)
        words = bubblewrap.bubblewrap(tmp_path, bubblewrap.NUMPY, {})
        bound = [words[i + 1 : i + 3] for i, word in enumerate(words) if word == "--ro-bind"]
        system = set(bubblewrap._system()) | {"/jail/base"}
        others = {path for path, place in bound if place not in system}
        assert others
        assert all(path.startswith(str(tmp_path / "memory")) for path in others) == copied
    in_memory.folder.cache_clear()


def test_what_a_killed_grader_left_is_swept_and_what_a_living_one_has_is_not(tmp_path, monkeypatch):
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    dead = int(done.stdout)
    names = [f"jitkit-zygote-{dead}-abc", f"jitkit-zygote-{os.getpid()}-abc", f"other-{dead}-abc", "jitkit-zygote-abc"]
    for folder in ("tmp", "shm", "groups", "groups/pids", "groups/memory"):
        (tmp_path / folder).mkdir()
    (tmp_path / "shm" / f"jitkit-copies-{dead}-abc").mkdir()
    os.utime(tmp_path / "shm" / f"jitkit-copies-{dead}-abc", (1, 1))
    for name in names:
        (tmp_path / "tmp" / name / "deep").mkdir(parents=True)
        os.utime(tmp_path / "tmp" / name, (1, 1))
    for name in (f"jitkit-{dead}-1", f"jitkit-{os.getpid()}-1"):
        (tmp_path / "groups" / "pids" / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(leftovers, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(leftovers, "MEMORY", tmp_path / "shm")
    assert leftovers.sweep() == 3
    assert list((tmp_path / "shm").iterdir()) == []
    assert {p.name for p in (tmp_path / "tmp").iterdir()} == set(names[1:])
    assert [p.name for p in (tmp_path / "groups" / "pids").iterdir()] == [f"jitkit-{os.getpid()}-1"]


def test_who_waits_for_being_alone_has_the_next_turn():
    gate, turns, asked, holds = Gate(), [], threading.Event(), threading.Event()

    def alone():
        with gate.shared():
            asked.set()
            with gate.alone():
                turns.append("alone")

    def newcomer():
        with gate.shared():
            turns.append("newcomer")

    threads = [threading.Thread(target=alone), threading.Thread(target=newcomer)]
    with gate.shared():
        threads[0].start()
        assert asked.wait(10)
        while not gate.waiting:
            holds.wait(0.001)
        threads[1].start()
        holds.wait(0.05)  # enough time for the newcomer to enter, if the gate let it
        assert turns == []
    for thread in threads:
        thread.join(10)
    assert turns == ["alone", "newcomer"]


@pytest.mark.parametrize(("processor", "again"), [(4.9, False), (2.0, True), (21.0, False)])
def test_what_computed_all_the_time_is_not_tried_again_alone(course, monkeypatch, processor, again):
    exercise = course.labs[0].exercises[0]
    first = course.checks(exercise)[:1]
    asked = []

    def worker(workers, kind, image, checks, *rest, compiled=None):
        asked.append(course.gate.alone_)
        return [Outcome(c.name, None, "time", "It was still running.", seconds=10.0) for _, c in checks], processor

    monkeypatch.setattr(course, "image", lambda *rest: ({}, ("numpy", False)))
    monkeypatch.setattr(course, "_with_one_worker", worker)
    with course.gate.shared():
        course.outcomes(None, exercise, {}, How(False), alone=lambda: True, wanted=first)
    assert asked == [False, True][: 1 + again]


def test_a_verdict_takes_a_second_of_a_processor_at_most_and_the_next_one_is_as_usual():
    """Two sets of as many values as a set may have, in opposite orders: each is compared with each."""
    judge = trials.Trials(LABS[:1], Settings(1, "x"))
    judge.programs = types.SimpleNamespace(run=lambda *_: 0)
    checks = judge.checks(LABS[0].exercises[0])[:2]
    name = checks[0][1].name
    items = [
        {"is": "list", "items": [{"is": "str", "value": "x" * 5}] * 9 + [{"is": "int", "value": str(i)}]}
        for i in range(2000)
    ]
    right = {"is": "unordered", "items": items}
    wrong = {"is": "unordered", "items": items[::-1]}
    small = {"is": "int", "value": "3"}
    expected = {"values": {name: right, checks[1][1].name: small}, "xla": False}
    outcomes = [Outcome(name, wrong), Outcome(checks[1][1].name, small)]
    began = time.thread_time()
    results = judge.judge(None, checks, outcomes, expected, ())
    assert [r.status for r in results] == [Status.PROTO, Status.PASS]
    assert "in a second" in results[0].sentence
    assert time.thread_time() - began < 3


def test_a_short_answer_that_is_long_to_print_is_in_time_too(monkeypatch):
    """An array of float0 has no bytes: an answer of 16 kB was printed for two seconds."""
    judge = trials.Trials(LABS[:1], Settings(1, "x"))
    judge.programs = types.SimpleNamespace(run=lambda *_: 0)
    monkeypatch.setattr(trials, "_VERDICT_SECONDS", 0.1)
    checks = judge.checks(LABS[0].exercises[0])[:1]
    name = checks[0][1].name
    bare = {"is": "array", "shape": [7] * 5, "dtype": "void", "weak": False, "data": ""}
    outcome = Outcome(name, {"is": "list", "items": [bare] * 150})
    (result,) = judge.judge(None, checks, [outcome], {"values": {name: {"is": "int", "value": "3"}}}, ())
    assert (result.status, "in a second" in result.sentence) == (Status.PROTO, True)


def test_what_is_in_time_is_not_ended_and_an_error_of_its_own_comes_through():
    with patience(0.2):
        made = sum(range(1000))
    time.sleep(0.3)
    assert made == 499_500
    with pytest.raises(KeyError), patience(5):
        raise KeyError("own")
    with pytest.raises(TooLongError), patience(0.05):
        while True:
            made += 1


def test_who_hands_in_a_link_in_a_zip_of_the_class_is_a_student_who_is_told(tmp_path, capsys):
    """Without an entry the student would be one who never handed in."""
    link = zipfile.ZipInfo("bob/00_hello/exercises.py")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        archive.writestr("ann/00_hello/exercises.py", "x = 1")
        archive.writestr(link, "/etc/passwd")
    folder = handed_over.unpacked(tmp_path / "class.zip", tmp_path / "unpacked")
    assert [e.student for e in handed_over.entries(folder)] == ["ann", "bob"]
    assert "bob/00_hello/exercises.py is left out: it is a link or a device" in capsys.readouterr().err
    assert read_submission(folder / "bob", LABS, ())["status"] == GradeStatus.INVALID


def refused_by(program, machine, number, *arguments):
    """Run a filter of system calls as Linux does, for a call with these arguments; return what it answers."""
    lines = list(struct.iter_unpack("HBBI", program))
    data = struct.pack(f"<IIQ{len(arguments)}Q", number, machine, 0, *arguments) + bytes(56)
    at, value = 0, 0
    while True:
        code, yes, no, k = lines[at]
        match code:
            case 0x20:
                value = struct.unpack_from("<I", data, k)[0]
                at += 1
                continue
            case 0x06:
                return k
            case 0x15:
                true = value == k
            case 0x35:
                true = value >= k
            case 0x45:
                true = bool(value & k)
            case _:
                raise AssertionError(f"an instruction of no known kind: {code:#x}")
        at += 1 + (yes if true else no)


@pytest.mark.parametrize(("machine", "last"), [("x86_64", 334), ("aarch64", 294)])
def test_a_system_call_that_the_filter_does_not_know_is_not_there(machine, last, monkeypatch):
    """Linux gives new calls numbers in gaps, too: uretprobe became 335 on x86_64 in Linux 6.11."""
    monkeypatch.setattr(os, "uname", lambda: types.SimpleNamespace(machine=machine))
    walls.system_call_filter.cache_clear()
    try:
        for program in (walls.system_call_filter(), walls.system_call_filter(True)):
            answers = {n: refused_by(program, walls._FORBIDDEN[machine][0], n) for n in range(1000)}
            assert {answers[n] for n in (*range(last + 1, 424), *range(443, 1000))} == {0x00050026}
            assert answers[{"x86_64": 1, "aarch64": 64}[machine]] == 0x7FFF0000, "write is allowed"
            assert {answers[n] for n in walls._FORBIDDEN[machine][7][-3:]} == {0x00050001}
            shared = {"x86_64": (206, 213, 291, 162, 306), "aarch64": (0, 20, 81, 267)}[machine]
            assert {answers[n] for n in shared} == {0x00050001}, "limited numbers that processes of all workers share"
            own = walls._FORBIDDEN[machine]
            for command, answer in ((1031, 0x00050001), (1030, 0x7FFF0000)):  # F_SETPIPE_SZ, F_DUPFD_CLOEXEC
                assert refused_by(program, own[0], own[2], 7, command) == answer
    finally:
        walls.system_call_filter.cache_clear()


class Lost:
    status = "lost"


def test_the_last_line_of_a_batch_elsewhere_counts_tasks_that_are_lost(monkeypatch):
    """Progress is shown for each task that is over, so also if the last one was lost. Dask is not needed for this."""
    shown = []

    class Client(contextlib.nullcontext):
        def __init__(self, *_, **__):
            super().__init__()
            self.submit = lambda *_, **__: Lost()

    fake = types.SimpleNamespace(
        Client=Client, as_completed=lambda futures, **_: ((future, None) for future in futures)
    )
    monkeypatch.setitem(sys.modules, "distributed", fake)
    store, grader = types.SimpleNamespace(meta=lambda _: "seed"), types.SimpleNamespace(settings=None)
    entries = [handed_over.Entry(name, pathlib.Path(name)) for name in ("ann", "bob")]
    tally = batch.run_on_dask(store, grader, entries, (), "tcp://nowhere", lambda *told: shown.append(told[:2]))
    assert shown == [(1, 2), (2, 2)]
    assert (tally.submissions, tally.infra) == (2, 2)
