"""`jitkit run FILE` and `jitkit python`: run a program, or a prompt, with the learner's finished functions in place"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from ..engine import in_place
from ..problems import Problem, WrongUsage
from ..screens.terminal import Screen
from ..workspace.finished import Own, own_functions, request_of
from ..workspace.workspace import Workspace

_PROMPT = "Python with these. `jitkit` and `jnp`, which is `jitkit.numpy`, are imported; Ctrl-D ends it."


def run(arguments: argparse.Namespace) -> int:
    """Run a file, and return its exit status. With `--as-jax` outside a workspace, only the reference is in place.
    Raise WrongUsage if the file cannot be read, or an option is given that needs `--as-jax`.
    """
    path: pathlib.Path = arguments.file
    if path.is_dir():
        raise WrongUsage(f"{path} is a folder. Name a file of Python.")
    if not path.is_file():
        raise WrongUsage(f"there is no file {path}.")
    try:
        path.open("rb").close()
    except OSError as error:
        raise WrongUsage(f"{path} cannot be read: {error.strerror}.") from None
    program = [str(path), *arguments.arguments]
    if not arguments.as_jax:
        if arguments.explain or arguments.explore:
            raise WrongUsage("--explain and --explore work with --as-jax only.")
        return _start(program, unfinished=arguments.unfinished)
    options = [
        *(["--explain"] * arguments.explain),
        *(["--explore", str(arguments.explore)] if arguments.explore else []),
    ]
    try:
        _workspace(program)
    except Problem:
        return _call([sys.executable, "-m", "jitkit.as_jax", *options, *program])
    return _start(program, options, arguments.unfinished)


def python(arguments: argparse.Namespace) -> int:
    """Start a prompt; or, if standard input is not a terminal, run the program in it."""
    return _start([])


def _start(program: Sequence[str], as_jax: Sequence[str] | None = None, unfinished: str | None = None) -> int:
    screen = Screen.of(sys.stderr)
    workspace = _workspace(program)
    with screen.progress("checking what you have written since"):
        own = own_functions(workspace, workspace.exercise(unfinished)[1] if unfinished is not None else None)
    say(screen, own)
    prompts = not program and sys.stdin is not None and sys.stdin.isatty()
    if prompts:
        screen.text(_PROMPT, 0, "dim")
    status = start(["-i"] if prompts else [], own, program, as_jax)
    if status == in_place.CANNOT:
        raise Problem("each of them passed by itself. Change one of them, or `jitkit check` them all again.")
    return status


def _workspace(program: Sequence[str]) -> Workspace:
    """Return the workspace that the current folder is in, or else the one that the program is in."""
    try:
        return Workspace.find()
    except Problem:
        if not program:
            raise
        return Workspace.find(pathlib.Path(program[0]).absolute().parent)


def say(screen: Screen, own: Own) -> None:
    """Print which functions are the learner's."""
    screen.text(f"jitkit: {own.summary}", 0, "dim")
    for sentence in own.left_out:
        screen.text(f"not in place: {sentence}", 2, "yellow")


def start(options: Sequence[str], own: Own, program: Sequence[str], as_jax: Sequence[str] | None = None) -> int:
    """Start the process, wait, and return its status. `as_jax` are the options of `jitkit.as_jax` if that runs the program, else
    None.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False, encoding="utf-8") as file:
        json.dump(request_of(own) | {"as_jax": as_jax}, file)
    command = [sys.executable, *options, str(pathlib.Path(in_place.__file__)), file.name, *program]
    try:
        return _call(command)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(file.name)


def _call(command: Sequence[str]) -> int:
    """Run a process to its end, and return its status. Ctrl-C interrupts the program in it, not this process."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code = subprocess.call(command)
    finally:
        signal.signal(signal.SIGINT, before)
    return code if code >= 0 else 128 - code
