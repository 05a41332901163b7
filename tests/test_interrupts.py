"""Ctrl-C while XLA compiles: the process reacts at once, and ends by the signal, without a crash.

The programs of these tests run in processes of their own, and interrupt themselves.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import tomllib

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX: a process that sends itself Ctrl-C")

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
START = """
import os, signal, sys, threading, time
import numpy as np
import jitkit as jk
from jitkit import lax
from jitkit.runtime import compiling

signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell runs in the background ignores it

def interrupt(*seconds):
    for s in seconds:
        timer = threading.Timer(s, os.kill, (os.getpid(), signal.SIGINT))
        timer.daemon = True
        timer.start()
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a fresh Python; its status is that of the shell, which adds 128 to a signal's number."""
    done = subprocess.run(
        [sys.executable, "-c", START + textwrap.dedent(program)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    done.returncode = 128 - done.returncode if done.returncode < 0 else done.returncode
    return done


@pytest.mark.parametrize("seconds", [0.02, 0.15])
def test_a_compilation_that_is_interrupted_ends_before_the_process_does(seconds):
    done = run(
        f"""
        def f(x):
            for i in range(12):
                x = lax.sort(lax.sin(x) @ x) * np.float32(i)
            return x

        lowered = jk.jit(f).lower(np.ones((30, 30), np.float32))
        jk.devices()
        interrupt({seconds})
        try:
            lowered.compile()
            time.sleep(60)  # on a machine that compiles in no time
        except KeyboardInterrupt:
            print("interrupted")
            raise
        """
    )
    assert (done.returncode, done.stdout) == (130, "interrupted\n"), done.stderr


def test_a_compilation_in_a_daemon_thread_ends_before_the_process_does():
    done = run(
        """
        def f(x):
            for i in range(40):
                x = lax.sort(lax.sin(x) @ x) * np.float32(i)
            return x

        lowered = jk.jit(f).lower(np.ones((30, 30), np.float32))
        jk.devices()
        threading.Thread(target=lowered.compile, daemon=True).start()
        time.sleep(0.2)
        print("end")
        """
    )
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr


SLOW = """
def slow():
    time.sleep({})
    print("compiled")

start = time.perf_counter()
try:
    interrupt({})
    compiling._waited_for(slow)
except KeyboardInterrupt:
    print("interrupted after", round(time.perf_counter() - start))
"""


def test_an_interrupt_while_jaxlib_is_imported_is_heard_when_it_is_there():
    """Its C++ modules, interrupted as they make their classes, would end the process."""
    done = run(
        """
        import importlib

        first, real = [], importlib.import_module

        def import_module(name, package=None):
            if name == "jaxlib._jax" and not first:
                first.append(name)
                os.kill(os.getpid(), signal.SIGINT)
            return real(name, package)

        importlib.import_module = import_module
        try:
            jk.runtime.gate()
        except KeyboardInterrupt:
            print(first, "jaxlib._jax" in sys.modules)
        print(len(jk.devices()) > 0, signal.getsignal(signal.SIGINT) is signal.default_int_handler)
        """
    )
    assert (done.returncode, done.stdout) == (0, "['jaxlib._jax'] True\nTrue True\n"), done.stderr


def test_the_wait_at_exit_is_for_what_was_left_and_says_so_when_it_is_long():
    done = run(SLOW.format(2, 0.1))
    assert done.stdout == "interrupted after 0\ncompiled\n"
    assert "jitkit waits for XLA" in done.stderr
    assert done.returncode == 0


def test_a_second_interrupt_ends_the_wait():
    done = run(SLOW.format(600, "0.1, 2.0"))
    assert (done.returncode, done.stdout) == (130, "interrupted after 0\n")


def test_what_the_compiler_raises_comes_back_from_the_thread():
    done = run(
        """
        def fails():
            raise jk.errors.JaxRuntimeError(threading.current_thread().name)

        try:
            compiling._waited_for(fails)
        except jk.errors.JaxRuntimeError as error:
            print(error)
        print(compiling._waited_for(lambda: 3), len(compiling._compiling))
        """
    )
    assert done.stdout == "jitkit compiles\n3 0\n"


@pytest.mark.parametrize(
    "module", ["jitkit.kata.command.cli", "argparse", "difflib", "jitkit.kata.verbs.explore", "jitkit.explorer.api"]
)
def test_the_command_ends_quietly_while_it_is_imported(module):
    """As the script `jitkit` starts it; before it there are Python's own start and `import jitkit`."""
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        where, function = tomllib.load(file)["project"]["scripts"]["jitkit"].split(":")
    done = run(
        f"""
        import importlib

        class Interrupting:
            def find_spec(self, name, path=None, target=None):
                if name == {module!r}:
                    os.kill(os.getpid(), signal.SIGINT)

        sys.modules.pop({module!r}, None)
        sys.meta_path.insert(0, Interrupting())
        entry = importlib.import_module({where!r})
        sys.argv = ["jitkit", "explore", "no.py:f"]
        sys.exit(entry.{function}())
        """
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "interrupted")


def test_the_command_goes_on_where_ctrl_c_is_ignored():
    """As under `nohup`, and as shells start what runs in the background."""
    done = run(
        """
        from jitkit.kata import __main__ as entry

        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.argv = ["jitkit", "--version"]
        status = entry.main()
        os.kill(os.getpid(), signal.SIGINT)
        sys.exit(status)
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("jitkit ")
