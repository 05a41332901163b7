"""Python's standard library in the jail, where the system's files are not."""

from __future__ import annotations

import contextlib
import json
import marshal
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

import pytest

from grading.grader.bubblewrap import JAX, JAXLIB, NUMPY, JailError, User
from grading.grader.jail import Limits, Zygote
from grading.shared import ROOT

# `antigravity` opens a web page; a jail lacks the others: modules for windows, for making environments, for old code
_LEFT_OUT = {"antigravity", "idlelib", "tkinter", "_tkinter", "turtle", "turtledemo", "lib2to3", "ensurepip"}
_IMPORT_ALL = """
import contextlib, importlib, io, json, sys
def imported(names):
    found = {}
    for name in names:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                importlib.import_module(name)
        except BaseException as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found
"""
_USED = """
import sqlite3
tables = sqlite3.connect(":memory:")
tables.execute("create table t (x)")
tables.execute("insert into t values (2)")
assert list(tables.execute("select x * 3 from t")) == [(6,)]
import bz2, lzma, ssl, uuid, zlib
for module in (bz2, lzma, zlib):
    assert module.decompress(module.compress(b"abc")) == b"abc"
ssl.create_default_context()
uuid.uuid4()
"""


def outside():
    """Return which modules of the standard library can be imported outside of a jail."""
    names = sorted(sys.stdlib_module_names - _LEFT_OUT)
    program = f"{_IMPORT_ALL}\nprint(json.dumps(imported({names!r})))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True)
    fails = json.loads(done.stdout.splitlines()[-1])
    return [name for name in names if name not in fails]


@pytest.mark.parametrize("packages", [NUMPY, JAX, JAXLIB])
def test_every_module_of_the_standard_library_can_be_imported_in_a_jail(packages):
    names = outside()
    assert len(names) > 200
    text = f"{_IMPORT_ALL}\nraise ImportError(json.dumps(imported({names!r})))\n"
    assert json.loads(said(packages, text)) == {}


def test_what_needs_a_library_of_the_systems_works_there():
    assert said(NUMPY, f"{_USED}\nraise ImportError('done')\n") == "done"


def test_jax_is_there_for_who_imports_it_where_an_exercise_compiles():
    text = "import jax\nraise ImportError(str(float(jax.jit(jax.nn.relu)(2.0))))\n"
    assert said(JAX, text) == "2.0"
    assert said(NUMPY, "try:\n    import jax\nexcept ImportError:\n    raise ImportError('it is not')\n") == "it is not"


def test_no_two_graders_of_a_machine_have_workers_of_one_user():
    """The system limits the processes of a user as a whole: the fork bombs of one batch made honest checks of another one crash."""
    own = User()
    if os.getuid() != 0 or sys.platform != "linux":
        assert own.number == -1, "they run as we do"
        return
    text = "from grading.grader.bubblewrap import User; print(User().number)"
    said = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    again = User()
    assert own.number >= 61_000
    assert own.number not in (again.number, int(said))
    with contextlib.closing(again), contextlib.closing(own), socket.socket(socket.AF_UNIX) as other:
        name = own.place.getsockname()
        with pytest.raises(OSError, match="in use"):
            other.bind(name)
        own.close()
        other.bind(name)


def ask_until_the_end(worker):
    """Ask for a check. The test ends the worker meanwhile, and may read an answer that was for this thread."""
    with contextlib.suppress(Exception):
        worker.ask(marshal.dumps({}), 30.0)


@pytest.mark.parametrize("alone", [True, False])
def test_where_memory_runs_out_the_kernel_ends_a_check_first_and_a_zygote_before_the_grader(alone):
    """An ordinary user cannot make a control group, so many processes of a worker together may fill a machine's memory. The kernel
    takes the largest one, which may be the zygote: a check's processes can give back what they have of its memory.
    """
    code = compile("import time\ntime.sleep(60)\n", "/jitkit/__init__.py", "exec")
    try:
        zygote = Zygote({"jitkit": ("/jitkit/__init__.py", True, code)}, NUMPY)
    except JailError as error:
        pytest.skip(f"needs bubblewrap: {error}")
    try:
        with zygote.start(Limits(), alone=alone) as worker:
            if alone:
                assert worker.load({}, 60.0) == {"is": "imported"}
                threading.Thread(target=ask_until_the_end, args=(worker,), daemon=True).start()
                time.sleep(1.0)
            parents = {}
            for place in pathlib.Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            family = {zygote.process.pid}
            while grown := {pid for pid, parent in parents.items() if parent in family} - family:
                family |= grown
            own = {pid: int(pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text()) for pid in family}
    finally:
        zygote.close()
    of_jail = [500, 500, 1000] if alone else [500, 1000]  # zygote, worker, and the student's process
    assert sorted(own.values())[-len(of_jail) :] == of_jail
    assert int(pathlib.Path("/proc/self/oom_score_adj").read_text()) < 500


def said(packages, text):
    """Import this text as `jitkit` in a jail, where it must raise an ImportError; return the error's message."""
    code = compile(text, "/jitkit/__init__.py", "exec")
    try:
        zygote = Zygote({"jitkit": ("/jitkit/__init__.py", True, code)}, packages)
    except JailError as error:
        pytest.skip(f"needs bubblewrap: {error}")
    try:
        with zygote.start(Limits()) as worker:
            frame = worker.load({}, 60.0)
    finally:
        zygote.close()
    assert frame is not None, "the worker lives"
    name, _, rest = frame["text"].partition(": ")
    assert name == "ImportError", frame["text"]
    return rest
