"""Runs programs on JAX itself, each in a fork of one process that has imported JAX: the import takes three quarters of a second."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import subprocess
import sys

_SERVER = """
import json, os, runpy, sys
import jax.numpy

for line in sys.stdin:
    folder, *sys.argv = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(folder)
        for stream in (1, 2):
            os.dup2(os.open(f"{sys.argv[0]}.{stream}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        sys.path[0] = os.path.dirname(sys.argv[0])
        runpy.run_path(sys.argv[0], run_name="__main__")
        sys.exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@functools.cache
def _server() -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "ignore", "-c", _SERVER]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def on_jax(program: pathlib.Path, *arguments: str, cwd: pathlib.Path) -> tuple[int, str, str]:
    """Run a program that says `import jax`. Return its exit status, its stdout and its stderr. Warnings are ignored."""
    if not hasattr(os, "fork"):
        command = [sys.executable, "-W", "ignore", str(program), *arguments]
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)
        return done.returncode, done.stdout, done.stderr
    server = _server()
    assert server.stdin is not None, "it is a pipe"
    assert server.stdout is not None, "it is a pipe"
    print(json.dumps([str(cwd), str(program), *arguments]), file=server.stdin, flush=True)
    status = int(server.stdout.readline())
    printed, said = (pathlib.Path(f"{program}.{stream}").read_text(encoding="utf-8") for stream in (1, 2))
    return status, printed, said
