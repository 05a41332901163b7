"""arguments -> exit status: the command `jitkit`.

Exit status: 0, done; 1, the thing to judge or to measure failed, or something is missing on this machine; 2, wrong
usage; 3, a bug of ours; 130, interrupted. A verb's modules are imported when the verb is used, so that `jitkit --help`
answers at once.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..problems import OK, versions
from .guard import guarded


class Verb(NamedTuple):
    """A verb of the command line: its help, the function that adds its arguments to a parser, and the function that runs
    it, as "module:function".
    """

    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    target: str


def _tour_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output",
        metavar="DIR",
        type=Path,
        default=Path("jitkit-tour"),
        help="the folder for the plot and the full texts (default: %(default)s)",
    )


BENCHMARKS = {
    "seeds": "what four tutorials on jit claim, measured again",
    "peers": "jitkit beside JAX, in one process",
    "eager": "six programs op by op and jitted, with numpy and numba",
    "pitfalls": "what recompiles and why, each beside its fix",
    "scaling": "how costs grow with size, with fitted slopes",
    "growth": "how jitkit's time beside JAX's changes as programs grow",
    "loops": "our own compiler beside XLA, six programs",
    "kata": "the time from a save to the verdict",
}


def _benchmark(name: str) -> str:
    if name not in BENCHMARKS:
        near = difflib.get_close_matches(name, BENCHMARKS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise argparse.ArgumentTypeError(
            f"there is no benchmark called {name!r}{hint} There are: {', '.join(BENCHMARKS)}"
        )
    return name


def _seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        if (seconds := float(text)) >= 0:
            return seconds
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")


def _bench_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "benchmarks:\n" + "\n".join(f"  {name:10}{text}" for name, text in BENCHMARKS.items())
    parser.add_argument("what", metavar="BENCHMARK", type=_benchmark, help="one of the names below")
    parser.add_argument("name", nargs="?", metavar="NAME", help="with pitfalls: the one to show and measure")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: rougher figures, sooner")
    parser.add_argument("--only", metavar="WORD", help="measure only the rows whose name contains this")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--save", metavar="DIR", type=Path, help="also write table, JSON and figures to this folder")


def _add_target(parser: argparse.ArgumentParser, *more: str) -> None:
    names = ", ".join([*importlib.import_module("jitkit.targets.table").TARGETS, *more])
    parser.add_argument("--target", metavar="NAME", action="append", help=f"{names}; may be repeated (default: all)")


def _targets_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "function",
        metavar="FILE:FUNCTION",
        nargs="?",
        help="the function to compile (default: a small layer that comes with jitkit)",
    )
    parser.add_argument(
        "--shapes", metavar="TYPES", nargs="+", help="the types of its arguments, such as f32[1024,1024],f32[8]"
    )
    _add_target(parser)
    parser.add_argument(
        "--time-limit", metavar="SECONDS", type=_seconds, help="limit of one compilation (default: 300)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")


def _explore_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "function",
        metavar="FILE[:FUNCTION]",
        help="the function to explore, such as model.py:loss. If you name only a file, it is run: this makes a "
        "folder with a page for each jitted function that it calls, and an index",
    )
    parser.add_argument(
        "--shapes",
        metavar="TYPES",
        nargs="+",
        help="the types of its arguments, such as f32[1024,1024],f32[8]; a tree as '{\"w\": f32[8,16]}'",
    )
    parser.add_argument(
        "--static",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a static argument and its value, such as n=3; may be repeated",
    )
    _add_target(parser, "c (our own compiler)")
    parser.add_argument(
        "--calls",
        metavar="SCRIPT",
        nargs="?",
        const="",
        help="run SCRIPT (default: the file itself), and show the function's calls: which missed the cache, why, and what "
        "became different. The types are then those of the last miss",
    )
    parser.add_argument(
        "--against",
        metavar="[FILE:]FUNCTION",
        help="another version of the function, for the same arguments: one page shows both, and how their figures and jaxprs differ",
    )
    parser.add_argument("--jax", action="store_true", help="the function uses JAX itself, and JAX traces it")
    parser.add_argument(
        "--watch",
        action="store_true",
        help="show the page in a browser, and make it anew whenever a file of the program is saved",
    )
    # where one run of --watch writes its report
    parser.add_argument("--report", metavar="FILE", type=Path, help=argparse.SUPPRESS)
    parser.add_argument(
        "--output",
        "-o",
        metavar="FILE",
        type=Path,
        help="the page, or a folder for it (default: FUNCTION.html; of a file alone, the folder FILE-explored)",
    )
    parser.add_argument("--json", action="store_true", help="print the page's data (docs/explorer.md) instead")
    parser.add_argument(
        "--time-limit", metavar="SECONDS", type=_seconds, help="limit of one compilation (default: 100)"
    )


def _no_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no arguments to a verb."""


def _start_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        metavar="DIR",
        type=Path,
        nargs="?",
        help="the folder to make (default: the current workspace, or jitkit-labs)",
    )
    parser.add_argument(
        "--into-existing",
        action="store_true",
        help="use a folder that has other files in it: the labs are put beside them, and nothing is overwritten",
    )
    parser.add_argument(
        "--from-scratch",
        action="store_true",
        help="instead of labs, begin an empty package, and write your own JAX rung by rung",
    )
    parser.add_argument(
        "--at", metavar="RUNG", help="with --from-scratch: begin at this rung, with the solution of those below it"
    )


def _check_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what", metavar="WHAT", nargs="?", help="02, 02.3, or a lab's file (default: everything that you have written)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--junit", metavar="FILE", type=Path, help="also write a JUnit report")
    parser.add_argument(
        "--hidden",
        metavar="FILE",
        default="never",
        help="for instructors: run the checks of this file, too (default: %(default)s)",
    )


def _hint_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", nargs="?", help="02.3 (default: the exercise you are at)")
    parser.add_argument(
        "--step", type=int, choices=range(1, 5), help="read one of the four (on the ladder: three) again"
    )


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id",
        metavar="WHAT",
        nargs="?",
        help="an exercise (02.3), a lab (02), or a helper's name (ShapedArray); default: the exercise you are at",
    )
    parser.add_argument(
        "--jaxpr", action="store_true", help="show the jaxprs in its checks, the expected ones and yours"
    )
    parser.add_argument("--hlo", action="store_true", help="show the StableHLO in its checks")
    parser.add_argument(
        "--solution", action="store_true", help="show the reference's function, why it is so, and where JAX does it"
    )
    parser.add_argument("--give-up", action="store_true", help="with --solution: show it before yours passes")
    parser.add_argument("--plot", action="store_true", help="run the lab's experiment with your functions")
    parser.add_argument("--guess", metavar="N", type=int, help="with --plot: the number of the option that you expect")
    parser.add_argument("--quick", action="store_true", help="with --plot: measure less, and sooner")
    parser.add_argument("--report", action="store_true", help="on the ladder: measure what your package can do")


def _reset_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="an exercise (02.3) or a whole lab (02)")


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--as-jax", action="store_true", help="give the program jitkit where it imports jax")
    parser.add_argument(
        "--explain",
        action="store_true",
        help="with --as-jax: at the end, say what each jitted function was compiled for",
    )
    parser.add_argument(
        "--explore",
        metavar="DIR",
        type=Path,
        help="with --as-jax: at the end, write the Explorer's page of each to DIR",
    )
    parser.add_argument(
        "--with", metavar="ID", dest="unfinished", help="use the functions of this exercise though they do not pass"
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="a Python program")
    parser.add_argument("arguments", metavar="ARGUMENTS", nargs=argparse.REMAINDER, help="its arguments")


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", type=Path, help="a folder that does not exist yet, or is empty")


VERBS = {
    "tour": Verb(
        "follow one function through every stage of the JIT, on this machine",
        _tour_arguments,
        "jitkit.kata.tour.tour:run",
    ),
    "start": Verb(
        "make a workspace with the labs, or add new labs to the current one",
        _start_arguments,
        "jitkit.kata.verbs.start:run",
    ),
    "watch": Verb("check an exercise whenever it is saved", _no_arguments, "jitkit.kata.verbs.watch:run"),
    "check": Verb(
        "check an exercise, a lab, or all that you have written", _check_arguments, "jitkit.kata.verbs.check:run"
    ),
    "hint": Verb("give one more hint each time", _hint_arguments, "jitkit.kata.verbs.hint:run"),
    "show": Verb(
        "show the task, a helper, programs, the plot or the solution", _show_arguments, "jitkit.kata.verbs.show:run"
    ),
    "run": Verb("run a program with your finished functions in place", _run_arguments, "jitkit.kata.verbs.run:run"),
    "python": Verb(
        "open a Python prompt with your finished functions in place", _no_arguments, "jitkit.kata.verbs.run:python"
    ),
    "reset": Verb(
        "restore the stub, and keep a backup of your function", _reset_arguments, "jitkit.kata.verbs.reset:run"
    ),
    "status": Verb("say where you are, with a line for each lab", _no_arguments, "jitkit.kata.verbs.status:run"),
    "export": Verb("write your own jitkit, as a complete package", _export_arguments, "jitkit.kata.verbs.export:run"),
    "targets": Verb(
        "compile a function for CPU, GPU and TPU, and show kernels, memory and fused lines",
        _targets_arguments,
        "jitkit.kata.verbs.targets:run",
    ),
    "explore": Verb(
        "write a page about a function that links source, jaxpr, StableHLO, HLO of each chip, and calls",
        _explore_arguments,
        "jitkit.kata.verbs.explore:run",
    ),
    "bench": Verb(
        "measure jitkit beside JAX, what tutorials claim, pitfalls, growth",
        _bench_arguments,
        "jitkit.kata.verbs.bench:run",
    ),
}

_EPILOG = """\
examples:
  jitkit tour                   every stage, then the clock, in under a minute
  jitkit start my-labs          build it yourself: labs, in a folder of yours
  jitkit                        in there: a verdict whenever you save
  jitkit start --from-scratch   from an empty file: your own JAX, by rungs
  jitkit explore m.py:f --calls a page: what jit did to f, line by line
  jitkit targets                one program on CPU, GPU and TPU, ahead of time
  jitkit bench peers --quick    is it as fast as jax.jit? measured here, now
  jitkit bench pitfalls lambda  why does jit in a loop compile every time?

exit status:
  0 done, 1 failed or something is missing, 2 wrong usage, 3 a bug in jitkit
"""


def make_parser(argv: Iterable[str] = VERBS) -> argparse.ArgumentParser:
    """Return the parser of the command line. It has the arguments only of those verbs that `argv` contains."""
    used = set(argv)
    parser = argparse.ArgumentParser(
        prog="jitkit",
        description="jitkit is jax.jit, rebuilt in plain Python, to be read and to be written again.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the versions of everything involved, and exit")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    for name, verb in VERBS.items():
        own = verbs.add_parser(name, help=verb.help, description=verb.help[0].upper() + verb.help[1:] + ".")
        if name in used:
            verb.add_arguments(own)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit status. Wrong usage and `--help` raise SystemExit, as argparse does."""
    words = sys.argv[1:] if argv is None else argv
    parser = make_parser(words)
    if unknown := _unknown_verb(words):
        parser.error(unknown)
    arguments = parser.parse_args(words)  # if the words make no sense, this exits with status 2
    if arguments.version:
        print(versions())
        return OK
    if arguments.verb is None:
        if _is_in_workspace(Path.cwd()):
            return guarded(lambda: _run(VERBS["watch"], arguments))
        parser.print_help()
        print("\nThis folder is not a workspace. To build the JIT yourself: jitkit start my-labs")
        return OK
    return guarded(lambda: _run(VERBS[arguments.verb], arguments))


def _unknown_verb(argv: Sequence[str]) -> str:
    """Return the message for a first word that is not a verb, else "". (argparse would list all verbs, and suggests one
    only from Python 3.14 on.)
    """
    if not argv or argv[0].startswith("-") or argv[0] in VERBS:
        return ""
    near = difflib.get_close_matches(argv[0], VERBS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(VERBS)}"
    return f"there is no verb {argv[0]!r}; {hint}"


def _is_in_workspace(folder: Path) -> bool:
    return any((parent / ".jitkit").is_dir() for parent in (folder, *folder.parents))


_ON_THE_LADDER = ("check", "watch", "hint", "show", "status", "reset", "export")


def _is_on_ladder(folder: Path) -> bool:
    nearest = next((parent for parent in (folder, *folder.parents) if (parent / ".jitkit").is_dir()), None)
    return nearest is not None and (nearest / ".jitkit" / "ladder").is_file()


def _run(verb: Verb, arguments: argparse.Namespace) -> int:
    module, function = verb.target.split(":")
    name = arguments.verb or "watch"
    if getattr(arguments, "from_scratch", False) or (name in _ON_THE_LADDER and _is_on_ladder(Path.cwd())):
        module, function = "jitkit.kata.verbs.on_the_ladder", name
    status: int = getattr(importlib.import_module(module), function)(arguments)
    return status
