"""`jitkit show`: shows the task of an exercise, the programs in its checks, a helper, the lab's plot, or, after a pass, the solution."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from ..engine.assessor import checks_of
from ..engine.manifest import Exercise, Lab, nearest
from ..engine.mutants import in_its_class
from ..engine.parts import names_of_parts, parts_named, parts_of, parts_of_class
from ..engine.plain import Plain
from ..engine.reference import reference_function
from ..engine.statuses import Status
from ..problems import OK, Problem, WrongUsage
from ..screens.display import MARKS, full_text, hanging, show_messages
from ..screens.experiment import show_experiment
from ..screens.terminal import Screen
from ..workspace.judge import Judge
from ..workspace.workspace import Workspace, labs_or_problem


def run(arguments: argparse.Namespace) -> int:
    """Show a task, a solution, programs or a plot, or a part of jitkit. `--report` is for the ladder: raise
    WrongUsage in a workspace, and Problem in any other folder.
    """
    if arguments.report:
        try:
            Workspace.find()
        except Problem:
            raise Problem(
                "--report is about a package of the ladder, and there is none in this folder: `jitkit start "
                "--from-scratch` begins one."
            ) from None
        raise WrongUsage(
            "--report is about a package of the ladder (`jitkit start --from-scratch`), and here are labs: "
            "`jitkit show --plot` measures what you wrote, and `jitkit status` says how far you are."
        )
    screen = Screen.of(sys.stdout)
    if arguments.id is not None and not arguments.id[:1].isdigit():
        return _part(screen, arguments.id)
    workspace = Workspace.find()
    if arguments.plot:
        return _plot(screen, workspace, arguments)
    if arguments.id is not None and "." not in arguments.id:
        lab = workspace.lab(arguments.id)
        exercises = list(lab.exercises)
    else:
        lab, exercise = workspace.exercise(arguments.id) if arguments.id else workspace.look().current()
        exercises = [exercise]
    for exercise in exercises:
        if arguments.solution:
            show_solution(screen, workspace, exercise, arguments.give_up)
        elif arguments.jaxpr or arguments.hlo:
            show_programs(screen, workspace, lab, exercise, "jaxpr" if arguments.jaxpr else "stablehlo")
        else:
            show_task(screen, workspace, lab, exercise)
    show_messages(screen, workspace)
    return OK


def _current_lab() -> str:
    """Return the number of the lab that the workspace is at; "" outside of a workspace."""
    try:
        return Workspace.find().look().current()[0].number
    except Problem:
        return ""


def _plot(screen: Screen, workspace: Workspace, arguments: argparse.Namespace) -> int:
    number = (arguments.id or workspace.look().current()[0].number).partition(".")[0]
    ask = sys.stdin.readline if sys.stdin is not None and sys.stdin.isatty() else None
    show_experiment(screen, workspace, workspace.lab(number), arguments.guess, ask, arguments.quick)
    return OK


def _part(screen: Screen, name: str) -> int:
    """Show a helper, with its whole docstring, and return the exit status. Raise WrongUsage for a name that no stub imports."""
    labs = labs_or_problem()
    found = parts_named(name, labs)
    if not found:
        near = nearest(name, names_of_parts(labs))
        raise WrongUsage(
            f"no stub imports {name}{f'; do you mean {near}?' if near else '.'} `jitkit show 02.3` has the parts of an exercise."
        )
    at = _current_lab()
    for part in sorted(found, key=lambda part: at not in part.labs):  # helpers of the current lab come first
        exercise = next((e for lab in labs for e in lab.exercises for t in e.targets if t.name == part.name), None)
        screen.line()
        hanging(screen, "", f"{part.name}{part.signature}", "bold")
        asked = f"; {exercise.id} asks you to write it" if exercise is not None else ""
        meant = (
            f"; this is what lab {' and lab '.join(part.labs)} mean{'s' * (len(part.labs) == 1)}"
            if len(found) > 1
            else ""
        )
        screen.line(f"  {part.line}{asked}{meant}", "dim")
        screen.line()
        for line in (part.docstring or part.sentence).splitlines():
            screen.line(f"  {line}")
        for method in parts_of_class(part.value):
            screen.line()
            hanging(screen, "  .", f"{method.name.rpartition('.')[2]}{method.signature}")
            if method.sentence:
                screen.text(method.sentence, 6, "dim")
    return OK


def show_parts(screen: Screen, lab: Lab, exercise: Exercise) -> None:
    """Show the helpers that an exercise may use, by name."""
    parts = parts_of(exercise.targets, lab.names)
    if parts:
        screen.line("  You may use, among others (all of it: jitkit show NAME):")
    for part in parts:
        hanging(screen, "    ", f"{part.name}{part.signature}")
        screen.text(part.sentence, 8, "dim")


def show_task(screen: Screen, workspace: Workspace, lab: Lab, exercise: Exercise) -> None:
    """Show what to write, where, and what is checked."""
    look = workspace.look()
    glyph, word, color = MARKS[look.standing(exercise)]
    screen.line()
    screen.line(f"{glyph} {word}  {exercise.id} {exercise.title}", "bold", color)
    screen.text(exercise.task, 2)
    screen.line()
    names = ", ".join(target.name for target in exercise.targets)
    screen.text(f"{names}, in {workspace.relative(workspace.file_of(lab))}; {lab.name}/README.md tells the idea.", 2)
    screen.line("  What is checked:")
    for check in checks_of(lab, exercise.id):
        hanging(screen, "    - ", check.sentence)
    show_parts(screen, lab, exercise)


def show_solution(screen: Screen, workspace: Workspace, exercise: Exercise, give_up: bool) -> None:
    """Show the reference's functions, and the reasons. Before a pass raise Problem, unless the learner gives up; that
    is remembered.
    """
    look = workspace.look()
    known = look.state.of(exercise.id)
    if not (known.passed or known.gave_up or give_up):
        raise Problem(
            f"the solution of {exercise.id} opens when yours passes, or with `jitkit show {exercise.id} --solution --give-up`. "
            f"`jitkit hint {exercise.id}` goes one step further."
        )
    if give_up and not known.passed and not known.gave_up:
        with workspace.state.edit() as state:
            state.of(exercise.id).gave_up = True
    screen.line()
    screen.line(f"{exercise.id} {exercise.title}: as the reference has it", "bold")
    for target in exercise.targets:
        screen.line()
        screen.line(f"  {target}", "dim")
        for line in in_its_class(target, reference_function(target).source).splitlines():
            screen.line(f"    {line}")
    screen.line()
    hanging(screen, "  why: ", exercise.why)
    screen.line()
    screen.line("  usual mistakes:")
    for mistake in exercise.mistakes:
        hanging(screen, "    - ", mistake)
    screen.line()
    screen.line(f"  in JAX: {exercise.jax}")


def show_programs(screen: Screen, workspace: Workspace, lab: Lab, exercise: Exercise, kind: str) -> None:
    """Show the jaxprs, or the StableHLO, that the checks of an exercise return: of a check that passes, the learner's; of any
    other, the reference's and the learner's. Raise Problem if the checks cannot run, WrongUsage if they return none.
    """
    with screen.progress("running the checks"):
        report = Judge(workspace).check(lab, exercise)
    if not report.verdict.results:
        raise Problem(f"{exercise.id}: {report.verdict.sentence}")
    shown = False
    for result in report.verdict.results:
        ours = list(_programs(result.expected, kind)) if result.expected is not None else []
        theirs = list(_programs(result.value, kind)) if result.value is not None else []
        if not ours and not theirs:
            continue
        shown = True
        screen.line()
        hanging(screen, f"{MARKS[result.status][0]} ", result.check.sentence, "bold")
        if result.status == Status.PASS:
            _show_texts(screen, "yours", theirs)
        else:
            _show_texts(screen, "expected", ours)
            _show_texts(screen, "yours", theirs)
    if not shown:
        what = "jaxpr" if kind == "jaxpr" else "StableHLO"
        raise WrongUsage(f"no check of {exercise.id} returns {what}.")


def _show_texts(screen: Screen, name: str, texts: list[str]) -> None:
    for text in texts:
        screen.line(f"  {name}:", "dim")
        for line in text.splitlines():
            screen.line(f"    {line}")


def _programs(value: Plain, kind: str) -> Iterator[str]:
    """Yield the texts of all programs of a kind in a result. A string with StableHLO in it counts as a program."""
    if value["is"] == kind:
        yield full_text(value)
    items = value.get("items", ())
    if value["is"] == "dict":
        items = [item for _, item in items]
    for item in items:
        yield from _programs(item, kind)
    if kind == "stablehlo" and value["is"] == "str" and "stablehlo." in value["value"]:
        yield str(value["value"])
