"""The arguments of `python -m jitkit.as_jax` -> what to run, and what to report at the end

JAX: jax/_src/config.py:Config.parse_flags_with_absl
"""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import sys
from collections.abc import Sequence

from ..base.late_rooms import import_room
from . import finding, programs

_USAGE = "python -m jitkit.as_jax [--explain] [--explore DIR] (FILE | -m MODULE | -c CODE | -) [ARGUMENTS ...]"


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """Parse our own options; everything after the program's name belongs to the program. Exit with status 2 for wrong options."""
    parser = argparse.ArgumentParser(
        prog="python -m jitkit.as_jax",
        usage=_USAGE,
        description="Run a program that was written for JAX, unmodified, on jitkit.",
        allow_abbrev=False,
    )
    add_reports(parser)
    parser.add_argument("-m", dest="module", metavar="MODULE", help="run a module of the path, as `python -m` does")
    parser.add_argument("-c", dest="code", metavar="CODE", help="run a string, as `python -c` does")
    parser.add_argument("file", metavar="FILE", nargs="?", help="the program; - for the standard input")
    own, rest = _split(words)
    found = parser.parse_args(own)
    found.arguments = rest
    if found.file is None and found.module is None and found.code is None:
        parser.error("say what to run: FILE, -m MODULE, -c CODE, or - for the standard input")
    return found


def add_reports(parser: argparse.ArgumentParser) -> None:
    """Add the options for reports at the end."""
    parser.add_argument(
        "--explain",
        action="store_true",
        help="at the end: each jitted function, what it was traced and compiled for, and how long that took, the slowest first",
    )
    parser.add_argument(
        "--explore",
        metavar="DIR",
        type=_folder,
        help="at the end: the Explorer's page of each jitted function, and an index of them, in DIR",
    )


def _folder(word: str) -> pathlib.Path:
    """Return the path of a folder, which need not exist yet. Raise ArgumentTypeError if it, or a folder above it, is a file."""
    path = pathlib.Path(word)
    for each in (path, *path.parents):
        if each.exists() and not each.is_dir():
            raise argparse.ArgumentTypeError(f"{each} is a file, and the pages need a folder")
    return path


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return our own arguments, which end with the program's name, and the program's arguments. (argparse would take a
    program's `-m` or `--explain` for ours.)
    """
    place = 0
    while place < len(words):
        word = words[place]
        if word in ("-m", "-c"):
            place += 2
            break
        if word.startswith(("-m", "-c")) or not word.startswith("-") or word == "-":
            place += 1
            break
        place += 2 if word == "--explore" else 1
    return list(words[:place]), list(words[place:])


def run(what: argparse.Namespace) -> None:
    """Install jitkit as JAX (`finding.install`), run the program, and write the reports that were requested, even if
    the program ends with an error.
    """
    finding.install()
    watch = import_room("jitkit.as_jax.explaining").Watch() if what.explain else None
    exploring = import_room("jitkit.as_jax.exploring") if what.explore else None
    ended = contextlib.ExitStack()
    recorded = ended.enter_context(exploring.calls.recording()) if exploring is not None else None
    try:
        if what.module is not None:
            programs.run_module(what.module, what.arguments)
        elif what.code is not None:
            programs.run_code(what.code, what.arguments)
        elif what.file == "-":
            programs.run_input(what.arguments)
        else:
            programs.run_file(what.file, what.arguments)
    except programs.NoProgram as problem:
        print(f"{sys.executable}: {problem}", file=sys.stderr)
        sys.exit(problem.status)
    finally:
        ended.close()
        if (watch or exploring) and sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
        if watch is not None:
            print(*watch.lines(), sep="\n", file=sys.stderr)
        if exploring is not None:
            program = what.file or what.module or "program"
            for page in exploring.write_pages(recorded, program, what.explore):
                print(f"jitkit: {page}", file=sys.stderr)
