"""`python -m grading grade | report | mark | export | regrade | serve-gradescope | image`"""

from __future__ import annotations

import argparse
import contextlib
import getpass
import os
import pathlib
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from jitkit.kata.engine.manifest import Lab, nearest

from ..shared import ROOT
from . import batch, container, exports, gradescope, handed_over
from .anonymous import anonymous
from .bubblewrap import JailError
from .explain import explain
from .files import Invalid
from .grade import Grader
from .jail import BUBBLEWRAP, NONE
from .leftovers import sweep
from .policy import FILE, chosen_labs, name_of, read_policy
from .report import write_report
from .roster import PolicyError
from .rungs import labs_and_ladder
from .selftest import self_test
from .standing import Standing
from .store import Store, StoreError
from .tables import ExportError, table
from .trials import Settings

ERRORS = (StoreError, PolicyError, JailError, Invalid, ExportError)
_REFUSED = """\
{why}
Nothing was graded: without a jail a submission can do what you can. Repair the jail (docs/instructors.md), use the image that
`python -m grading image` describes, or, if you trust every one of these submissions, pass `--unsandboxed`."""


def add_parsers(commands: Any) -> None:
    """Add the commands of the grader to the command line. The `run` of parsed arguments is the function that runs the command."""
    grade = commands.add_parser("grade", help="grade a folder of submissions, in a sandbox")
    grade.add_argument(
        "submissions",
        type=pathlib.Path,
        metavar="SUBMISSIONS",
        help="a folder or zip that contains a folder, archive or file for each student",
    )
    grade.add_argument("--out", type=pathlib.Path, required=True, metavar="DIR", help="where the grades are kept")
    _how(grade)
    grade.set_defaults(run=_grade)
    report = commands.add_parser("report", help="write pages about the class and each student, and feedback")
    report.add_argument("grades", type=pathlib.Path, metavar="DIR")
    report.add_argument(
        "--explain",
        nargs=2,
        metavar=("STUDENT", "EXERCISE"),
        help="show instead how one verdict was reached, such as ann 05.3",
    )
    report.add_argument(
        "--anonymous",
        action="store_true",
        help="write pages without names to report-anonymous/; anonymous.csv has the names",
    )
    report.set_defaults(run=_report)
    mark = commands.add_parser("mark", help="change a mark by hand, or comment on it; what was graded stays beside it")
    mark.add_argument("grades", type=pathlib.Path, metavar="DIR")
    mark.add_argument("student", metavar="STUDENT")
    mark.add_argument("exercise", metavar="EXERCISE", help="05.3; a rung of the ladder is 05")
    mark.add_argument("--points", type=float, metavar="P", help="the new points, which lateness does not reduce")
    mark.add_argument(
        "--reason", default="", metavar="TEXT", help="the reason, which --points and --withdraw need; students see it"
    )
    mark.add_argument("--comment", metavar="TEXT", help="a sentence for the student; it replaces an earlier one")
    mark.add_argument("--withdraw", action="store_true", help="let the graded points count again")
    mark.set_defaults(run=_mark)
    export = commands.add_parser(
        "export",
        help="export the grades for other programs",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(["formats:", *(f"  {line}" for line in exports.lines_of_formats())]),
    )
    export.add_argument("grades", type=pathlib.Path, metavar="DIR")
    export.add_argument(
        "--to", required=True, choices=exports.EXPORTS, metavar="FORMAT", help="one of the formats below"
    )
    export.add_argument(
        "--output", type=pathlib.Path, metavar="PATH", help="where to write (default: the place in the format's line)"
    )
    export.set_defaults(run=_export)
    regrade = commands.add_parser("regrade", help="grade again what a corrected check affects")
    regrade.add_argument("grades", type=pathlib.Path, metavar="DIR")
    regrade.add_argument(
        "--changed",
        action="store_true",
        help="grade only what has changed (this is the default: equal verdicts are kept)",
    )
    _how(regrade)
    regrade.set_defaults(run=_regrade)
    serve = commands.add_parser("serve-gradescope", help="write an autograder for Gradescope")
    serve.add_argument("folder", type=pathlib.Path, metavar="DIR")
    serve.add_argument("--lab", action="append", default=[], metavar="NN")
    serve.add_argument(
        "--unsandboxed", action="store_true", help="grade without a jail: only Gradescope's container protects you"
    )
    serve.set_defaults(run=_serve_gradescope)
    image = commands.add_parser("image", help="write a Containerfile for an image in which the grader runs")
    image.add_argument("folder", type=pathlib.Path, metavar="DIR")
    image.set_defaults(run=_image)


def _how(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lab", action="append", default=[], metavar="NN", help="grade only this lab; may be repeated")
    parser.add_argument(
        "--course", type=pathlib.Path, metavar="course.toml", help="the file with roster, due dates, points and limits"
    )
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 2, help="how many submissions are graded at the same time"
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing unless something fails")
    parser.add_argument("--unsandboxed", action="store_true", help="run submissions as you, without a jail")
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="let the workers of this Dask scheduler grade (in a clone: pip install -e '.[dask]')",
    )


# --- grading ------------------------------------------------------------------------------------------------------------


def _grade(arguments: argparse.Namespace) -> int:
    if not arguments.submissions.exists():
        raise Invalid(f"there is no {arguments.submissions}")
    policy_file = arguments.course or next(
        (f for f in (arguments.submissions / FILE, arguments.out / FILE) if f.is_file()), arguments.submissions / FILE
    )
    _check_labs(arguments.lab, labs_and_ladder(ROOT / "labs"))
    program = _container(arguments)
    if program is not None:
        place, out = arguments.submissions.absolute(), arguments.out.absolute()
        words = ["grade", str(place), "--out", str(out), "--course", str(policy_file.absolute()), *_options(arguments)]
        course = [policy_file.absolute().parent] if policy_file.is_file() else []
        return container.grade(program, words, [place, *course], out)
    backend = _backend(arguments)
    labs = labs_and_ladder(ROOT / "labs")
    policy = read_policy(policy_file, labs)
    with Store(arguments.out, write=True) as store:
        place = arguments.out / "unpacked" / arguments.submissions.stem
        folder = handed_over.unpacked(arguments.submissions, place, policy.timezone, labs)
        target = arguments.out / "put together"
        found = handed_over.entries(folder, target, policy.roster, store.people(), policy.timezone)
        store.meet([e.person for e in found if e.person is not None])
        return _run(store, found, policy_file, arguments, backend)


def _regrade(arguments: argparse.Namespace) -> int:
    with Store(arguments.grades) as store:
        places = sorted({pathlib.Path(g.path).parent for g in store.grades()} - {arguments.grades.absolute()})
        course = arguments.course or pathlib.Path(store.meta("policy") or FILE)
    program = _container(arguments)
    if program is not None:
        words = ["regrade", str(arguments.grades.absolute()), *_options(arguments)]
        words += ["--course", str(course.absolute())] if course.is_file() else []
        read = [p for p in (*places, course.absolute().parent) if p.is_dir()]
        return container.grade(program, words, read, arguments.grades)
    backend = _backend(arguments)
    with Store(arguments.grades, write=True) as store:
        paths: dict[tuple[str, str], None] = {}
        for g in store.grades():
            paths[g.student, g.path] = None
        found = [handed_over.Entry(student, pathlib.Path(path)) for student, path in paths]
        gone = [entry for entry in found if not entry.path.exists()]
        for entry in gone:
            print(f"{entry.student}: {entry.path} is not there any more; the old grade stands.", file=sys.stderr)
        policy_file = arguments.course or pathlib.Path(store.meta("policy") or FILE)
        left = [e for e in found if e not in gone]
        return _run(store, left, policy_file, arguments, backend, again=True) or int(bool(gone))


def _container(arguments: argparse.Namespace) -> str | None:
    """Return the engine of the container in which the grader runs if there is no bubblewrap; None if the grader runs in none."""
    here = arguments.unsandboxed or arguments.scheduler or shutil.which("bwrap") is not None
    return None if here else container.engine()


def _options(arguments: argparse.Namespace) -> list[str]:
    """Return the options of `_how` as words of a command for a container: all but `--course`, `--unsandboxed` and `--scheduler`."""
    words = [word for lab in arguments.lab for word in ("--lab", lab)]
    words += ["--workers", str(arguments.workers)]
    return [*words, "--quiet"] if arguments.quiet else words


def _backend(arguments: argparse.Namespace) -> str:
    """Return BUBBLEWRAP if the jail holds, NONE if the user asked for no jail. Raise JailError otherwise."""
    if arguments.unsandboxed:
        print("WARNING: submissions run as you, without a jail around them. Every export will say so.", file=sys.stderr)
        return NONE
    try:
        leaks = self_test()
    except JailError as error:
        raise JailError(_REFUSED.format(why=f"There is no jail: {error}.")) from None
    if leaks:
        raise JailError(_REFUSED.format(why=f"The jail has holes: in it, {'; '.join(leaks)}."))
    return BUBBLEWRAP


def _run(
    store: Store,
    found: Sequence[handed_over.Entry],
    policy_file: pathlib.Path,
    arguments: argparse.Namespace,
    backend: str,
    again: bool = False,
) -> int:
    sweep()
    everything = labs_and_ladder(ROOT / "labs")
    policy = read_policy(policy_file, everything)
    _check_labs(arguments.lab, everything)
    labs = chosen_labs(everything, policy, arguments.lab)
    if policy.roster:
        known = {s.id for s in policy.roster}
        for entry in found:
            if entry.student not in known:
                print(f"{entry.student}: is not on the roster; graded all the same.", file=sys.stderr)
    if not found:
        print("there are no submissions.", file=sys.stderr)
        return 1
    settings = Settings(
        int(store.meta("seed")),
        store.meta("seed_id"),
        policy.limits,
        policy.submission_seconds,
        backend,
        name_of(policy.timezone),
    )
    store.set_meta("policy", str(policy_file.absolute()) if policy_file.is_file() else "")
    if store.meta("sandbox") != NONE:
        store.set_meta("sandbox", backend)
    grader = Grader(everything, settings, store.expected, store.add_expected)
    progress = batch.Progress(sys.stderr, arguments.quiet)
    numbers = [lab.number for lab in labs]
    if arguments.scheduler:
        tally = batch.run_on_dask(store, grader, found, numbers, arguments.scheduler, progress, again)
    else:
        tally = batch.run(store, grader, found, numbers, max(1, arguments.workers), progress, again)
    for trouble in tally.troubles:
        print(f"INFRA {trouble}", file=sys.stderr)
    if not arguments.quiet:
        words = [f"{tally.submissions} submissions"]
        words += [f"{tally.invalid} of them INVALID"] if tally.invalid else []
        words += [f"{tally.infra} not graded, through a fault of ours: grade again"] if tally.infra else []
        print(f"{'; '.join(words)}. next: python -m grading report {store.folder}")
    return int(tally.infra > 0)


def _check_labs(wanted: Sequence[str], labs: Sequence[Lab]) -> None:
    for number in wanted:
        if number not in {lab.number for lab in labs}:
            raise LookupError(f"there is no lab {number!r}; the labs are {', '.join(lab.number for lab in labs)}")


# --- what was graded ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _sentences() -> Iterator[None]:
    """Within the block, turn an OSError that names a file into an ExportError, which says that the file cannot be written."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            raise
        raise ExportError(f"{error.filename} cannot be written: {error.strerror}") from None


def _report(arguments: argparse.Namespace) -> int:
    if arguments.explain:
        student, exercise = arguments.explain
        return explain(student, exercise, arguments.grades)
    with Store(arguments.grades) as store, _sentences():
        standing = Standing.of(store)
        if arguments.anonymous:
            standing, names = anonymous(standing, store.meta("seed"))
            page = write_report(arguments.grades / "report-anonymous", standing)
            (arguments.grades / "anonymous.csv").write_text(
                table([("student", "called"), *names.items()]), encoding="utf-8"
            )
        else:
            page = write_report(arguments.grades / "report", standing)
    print(f"{page}: the class. {page.parent / 'feedback'}: a page for each student, to be handed out.")
    return 0


def _mark(arguments: argparse.Namespace) -> int:
    with Store(arguments.grades, write=True) as store:
        standing = Standing.of(store)
        exercises = standing.titles
        if arguments.student not in standing.students:
            near = nearest(arguments.student, standing.students)
            raise LookupError(f"there is no student {arguments.student!r}" + (f"; is it {near!r}?" if near else ""))
        if arguments.exercise not in exercises:
            raise LookupError(f"there is no exercise {arguments.exercise!r}")
        before = next((m for m in reversed(standing.marks) if m[1:3] == (arguments.student, arguments.exercise)), None)
        points, reason, comment = arguments.points, arguments.reason.strip(), arguments.comment
        if points is not None and not 0 <= points < float("inf"):
            raise ExportError(f"--points is {points:g}, and must be a number from 0 on")
        if (points is not None or arguments.withdraw) and not reason:
            raise ExportError("a change of a mark needs a reason: --reason TEXT")
        if points is None and comment is None and not arguments.withdraw:
            raise ExportError("say --points P, --comment TEXT or --withdraw")
        if points is None and not arguments.withdraw and before is not None:
            points, reason = before.points, reason or before.reason
        comment = comment if comment is not None else before.comment if before is not None else ""
        store.mark(arguments.student, arguments.exercise, points, reason, comment, getpass.getuser())
        records = Standing.of(store).records
    now = next(
        (r for r in records if (r.grade.student, r.grade.exercise) == (arguments.student, arguments.exercise)), None
    )
    print(
        f"{arguments.student} {arguments.exercise}: "
        + ("noted." if now is None or now.points is None else f"{now.points:g} of {now.max:g} points. {now.by_hand}")
    )
    return 0


def _export(arguments: argparse.Namespace) -> int:
    with Store(arguments.grades) as store, _sentences():
        exports.export(arguments.to, Standing.of(store), arguments.output)
    return 0


# --- where else it runs ---------------------------------------------------------------------------------------------------


def _serve_gradescope(arguments: argparse.Namespace) -> int:
    path = gradescope.write_gradescope(arguments.folder, arguments.lab, arguments.unsandboxed)
    print(
        f"{path}: upload it as the autograder of an assignment. It contains the setup.sh and run_autograder that lie beside it."
    )
    return 0


def _image(arguments: argparse.Namespace) -> int:
    path = gradescope.write_recipe(arguments.folder)
    engine = container.engine() or container.ENGINES[0]
    print(f"{path}\nnext, in {ROOT.name}/: {engine} build -f {path.absolute()} -t jitkit-grader .")
    return 0
