"""`python -m grading generate | verify | build | new`"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from jitkit.kata.engine.assessor import Assessor
from jitkit.kata.engine.manifest import Lab, all_labs
from jitkit.kata.engine.processes import Forks
from jitkit.kata.engine.toml_table import ManifestError

from ..shared import ROOT
from . import nbgrader_course
from .generate import GenerateError, stale_files, write_generated
from .mutate import LEAST_KILLED
from .new import NewLabError, new_lab
from .verify import mutated, verify
from .verify_ladder import verify_ladder

ERRORS = (ManifestError, GenerateError, NewLabError, nbgrader_course.ReleaseError)


def add_parsers(commands: Any) -> None:
    """Add the commands of authors to the command line. The `run` of parsed arguments is the function that runs the command."""
    generate = commands.add_parser("generate", help="write what is made from the labs' manifests")
    generate.add_argument("labs", nargs="*", default=[], metavar="LAB", help="a number (02); all labs without it")
    generate.add_argument("--check", action="store_true", help="write nothing; exit with 1 if something is not fresh")
    generate.set_defaults(run=_generate)
    proofs = commands.add_parser("verify", help="prove the exercises: stubs, solutions, mutants")
    proofs.add_argument(
        "labs",
        nargs="*",
        default=[],
        metavar="LAB",
        help="a number (02), an exercise (02.3), `ladder`, a rung (ladder:07); all without it",
    )
    proofs.add_argument("--workers", type=int, default=os.cpu_count() or 2, help="how many run at the same time")
    proofs.add_argument(
        "--mutate", action="store_true", help="try automatic mutants, and nothing else: 97 in 100 must be killed"
    )
    proofs.add_argument(
        "--sample", type=int, default=0, metavar="N", help="with --mutate: N mutants of each exercise (0: all)"
    )
    proofs.set_defaults(run=_verify_or_mutate)
    build = commands.add_parser("build", help="write a course for nbgrader")
    build.add_argument(
        "folder", type=pathlib.Path, metavar="DIR", help="the course's folder; run again later to renew it"
    )
    build.add_argument("labs", nargs="*", default=[], metavar="LAB", help="a number (02); all labs without it")
    build.add_argument(
        "--release", action="store_true", help="also make the students' version, and check that it contains no answer"
    )
    build.set_defaults(run=_build)
    new = commands.add_parser("new", help="write the skeleton of a lab of your own")
    new.add_argument("name", metavar="NN_NAME", help="a number and a name, such as 20_sorting")
    new.set_defaults(run=_new)


def _chosen(names: Sequence[str]) -> list[tuple[Lab, str | None]]:
    labs = {lab.number: lab for lab in all_labs(ROOT / "labs")}
    if not names:
        return [(lab, None) for lab in labs.values()]
    chosen: list[tuple[Lab, str | None]] = []
    for name in names:
        number = name[:2]
        if number not in labs or (len(name) > 2 and name not in labs[number].ids and name != labs[number].name):
            raise LookupError(f"there is no lab or exercise {name!r}; the labs are {', '.join(labs) or 'none'}")
        chosen.append((labs[number], name if name in labs[number].ids else None))
    return chosen


def _generate(arguments: argparse.Namespace) -> int:
    only_check, stale = arguments.check, 0
    for lab, _ in _chosen(arguments.labs):
        found = stale_files(lab) if only_check else write_generated(lab)
        for path in found:
            print(f"{'not fresh' if only_check else 'written'}: {path.relative_to(ROOT)}")
        stale += len(found)
    return 1 if only_check and stale else 0


def _build(arguments: argparse.Namespace) -> int:
    folder = arguments.folder
    labs = [lab for lab, _ in _chosen(arguments.labs)]
    written = nbgrader_course.build(folder, labs)
    print(f"{folder}: {len(written)} files of {len(labs)} labs. nbgrader's commands are run in there.")
    if arguments.release:
        nbgrader_course.release(folder, labs)
        print(f"{folder / 'release'}: what students get. No answer is in it.")
    else:
        print(f"next: nbgrader generate_assignment {labs[0].name}" if labs else "there are no labs")
    return 0


def _new(arguments: argparse.Namespace) -> int:
    folder, written = new_lab(arguments.name, ROOT)
    for path in written:
        print(f"written: {path.relative_to(ROOT)}")
    number = folder.name[:2]
    print(
        f"It is a whole lab of one exercise, to be changed into yours: docs/labs.md says how. After each change:\n"
        f"    python -m grading generate {number}\n    python -m grading verify {number}"
    )
    return 0


def _verify_or_mutate(arguments: argparse.Namespace) -> int:
    if arguments.mutate:
        return _mutate(arguments.labs, arguments.workers, arguments.sample)
    return _verify(arguments.labs, arguments.workers)


def _verify(names: Sequence[str], workers: int) -> int:
    rungs = [name.partition(":")[2] for name in names if name.startswith("ladder")]
    labs = [name for name in names if not name.startswith("ladder")]
    count = 0
    if rungs or not names:
        start = time.perf_counter()
        found = verify_ladder(workers, [n for n in rungs if n])
        count += len(found)
        said = f"{len(found)} findings" if found else "proven"
        print(f"ladder: {said} ({time.perf_counter() - start:.0f} s)", flush=True)
        for finding in found:
            print(f"  {finding}", flush=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Forks()) as forks:
        assessor = Assessor(pathlib.Path(folder))  # what one proof has compiled serves the next
        for lab, exercise in _chosen(labs) if labs or not names else []:
            start = time.perf_counter()
            findings = verify(lab, assessor, forks, workers, exercise)
            count += len(findings)
            said = f"{len(findings)} findings" if findings else "proven"
            print(f"{exercise or lab.name}: {said} ({time.perf_counter() - start:.0f} s)", flush=True)
            for finding in findings:
                print(f"  {finding}", flush=True)
    return 1 if count else 0


def _mutate(names: Sequence[str], workers: int, sample: int) -> int:
    made = killed = stale = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Forks()) as forks:
        assessor = Assessor(pathlib.Path(folder))
        for lab, only in _chosen(names):
            for exercise, score in mutated(lab, assessor, forks, workers, only, sample):
                made += score.made
                killed += score.made - len(score.survivors)
                stale += len(score.stale)
                print(f"{exercise.id}: {score.made - len(score.survivors)} of {score.made} killed", flush=True)
                for survivor in score.survivors:
                    print(f"  survives: {survivor}")
                for change in score.stale:
                    print(f"  listed as equivalent, and not made any more: {change}")
    share = killed / made if made else 1.0
    print(f"{killed} of {made} mutants killed: {share:.1%}; {LEAST_KILLED:.0%} are asked for")
    return 0 if share >= LEAST_KILLED and not stale else 1
