"""`jitkit watch`: shows, on each save, the verdict on the exercise that changed

It sleeps until a file is written or a key is pressed (`workspace.changes`), and then looks at the files' times. It reads a file when the
save is complete. The exercise is the one whose functions or helpers have changed, and stays the same until another one changes. While
the learner reads the verdict, a process prepares for the next one.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import contextlib
import functools
import sys
import time
from collections.abc import Callable

from ..engine.manifest import Exercise, Lab
from ..engine.processes import Spare
from ..engine.running import LearnerSource, Stop, Stopped, parsed
from ..engine.statuses import Status
from ..engine.submission import SpliceError
from ..problems import OK, Problem
from ..screens.display import MARKS, show_messages, show_progress, show_report
from ..screens.experiment import show_experiment
from ..screens.keys import ENTER, keys_of
from ..screens.terminal import Screen
from ..workspace.changes import Changes, Stamp, stamp
from ..workspace.judge import Judge, Report
from ..workspace.workspace import Look, Workspace, fingerprint
from .checked import show_passed
from .hint import show_next_hint
from .show import show_task

_SETTLE = 0.005  # seconds to wait after a file has changed: an editor may write it in two steps
_KEYS = "h hint · s show · Enter check again · n next · p plot · q quit"

_ERASE = ("\x7f", "\x08")


def run(arguments: argparse.Namespace) -> int:
    """Watch until the learner presses `q` or Ctrl-C; return the exit status."""
    screen = Screen.of(sys.stdout)
    workspace = Workspace.find()
    with contextlib.closing(Watch(workspace, screen)) as watch, keys_of(sys.stdin, watch.changes) as next_key:
        return watch.run(next_key)


class Watch:
    """The loop: waits for saves and keys, and shows verdicts."""

    def __init__(self, workspace: Workspace, screen: Screen) -> None:
        self.workspace = workspace
        self.screen = screen
        self.spare = Spare()
        self.judge = Judge(workspace, self.spare)
        self.pool = concurrent.futures.ThreadPoolExecutor(1)  # checks run beside the loop, one at a time
        self.beside = concurrent.futures.ThreadPoolExecutor(1)  # the thread that prepares the next check
        self.running: concurrent.futures.Future[Report] | None = None
        self.stop = Stop()
        self.preparing: concurrent.futures.Future[None] | None = None
        self.look = workspace.look()
        self.changes = Changes(lambda: {workspace.file_of(lab).parent for lab in workspace.labs})
        self.stamps = self.read_stamps()
        self.lab, self.exercise = self.look.current()
        self.waiting: list[tuple[Lab, Exercise]] = []  # exercises of the same save, to be checked after this one
        self.earlier: list[Report] = []  # the verdicts on exercises of this save that were checked already
        self.next_key: Callable[[], str] = lambda: ENTER

    def close(self) -> None:
        """End what runs."""
        self.stop.set()
        self.pool.shutdown(wait=True, cancel_futures=True)
        self.beside.shutdown(wait=True, cancel_futures=True)
        self.spare.close()
        self.changes.close()

    def run(self, next_key: Callable[[], str]) -> int:
        """Run until `q`, or an interrupt."""
        self.next_key = next_key
        self.begin()
        while True:
            changed = self.changed_labs()
            if changed:
                self.on_save(changed)
            key = next_key()
            if key == "q":
                return OK
            if key:
                self.on_key(key)
            if self.running is not None and self.running.done():
                self.show(self.running)
            if not changed:
                self.changes.wait()

    # --- what happens ---------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Say where the learner is, and give a first verdict if something is already written."""
        files = self.workspace.relative(self.workspace.file_of(self.lab))
        self.screen.line()
        self.screen.text(f"Watching. You are at {self.exercise.id} {self.exercise.title}, in {files}.", 0, "bold")
        show_messages(self.screen, self.workspace)
        if self.look.fingerprint(self.exercise):
            self.start_check()
        else:
            show_task(self.screen, self.workspace, self.lab, self.exercise)
            self.footer()
            self.prepare()

    def on_save(self, labs: list[Lab]) -> None:
        """Find the exercises that a save is about, and check the first; the others wait."""
        before, self.look = self.look, self.workspace.look()
        changed = [lab for lab in labs if any(_written(before, e) != _written(self.look, e) for e in lab.exercises)]
        # after this save, check the current exercise even if nothing changed
        at = [lab for lab in labs if self.exercise in lab.exercises] or labs
        meant = [x for lab in changed or at[:1] for x in exercises_meant(before, self.look, lab, self.exercise)]
        (self.lab, self.exercise), *self.waiting = meant
        self.start_check()

    def on_key(self, key: str) -> None:
        """Do what a key stands for; ignore any other key."""
        actions = {
            "h": lambda: show_next_hint(self.screen, self.judge, self.lab, self.exercise),
            "s": lambda: show_task(self.screen, self.workspace, self.lab, self.exercise),
            "n": self.next_exercise,
            "p": self.plot,
            ENTER: self.start_check,
        }
        action = actions.get(key.lower() if key != ENTER else key)
        if action is None:
            return
        try:
            self.wait_for_spare()
            action()
        except Problem as problem:
            self.screen.text(str(problem), 2, "yellow")
        except (OSError, RuntimeError, ValueError) as error:  # a bug of ours: watching goes on
            self.screen.text(f"That did not work, which is a bug of ours: {error}", 2, "yellow")
        if key != ENTER:
            self.footer()
            self.prepare()

    def next_exercise(self) -> None:
        """Go on to the next exercise, when the learner says so."""
        found = self.workspace.look().after(self.exercise)
        if found is None:
            self.screen.text("All labs are done.", 2)
            return
        self.lab, self.exercise = found
        with self.workspace.state.edit() as state:
            state.current = self.exercise.id
        show_task(self.screen, self.workspace, self.lab, self.exercise)

    def plot(self) -> None:
        """Run the lab's experiment; `ask` reads the learner's answer to its question."""
        show_experiment(self.screen, self.workspace, self.lab, None, self.ask, False)
        while self.next_key():  # keys typed meanwhile are dropped, so that the result stays on the screen
            pass

    def ask(self) -> str:
        """Return a line that the learner types, key by key up to Enter, and show what is typed."""
        line, is_typed = "", sys.stdin is not None and sys.stdin.isatty()
        while True:
            key = self.next_key()
            if key and not is_typed:  # a pipe gives only the first letter of a line
                return key
            if key == ENTER:
                self.screen.line()
                return line
            if key in _ERASE:
                line = line[:-1]
                self.screen.echo("\b \b")
            elif key.isprintable():
                line += key
                self.screen.echo(key)
            if not key:
                self.changes.wait()

    # --- checks -----------------------------------------------------------------------------------------------------

    def start_check(self) -> None:
        """Begin a check, and stop one that still runs."""
        self.earlier = []
        self.stop.set()
        self.stop = Stop()
        self.check()

    def check(self) -> None:
        """Let another thread check the exercise; it wakes the loop at the end."""
        self.running = self.pool.submit(self.judge.check, self.lab, self.exercise, self.stop)
        self.running.add_done_callback(lambda done: self.changes.wake())

    def show(self, done: concurrent.futures.Future[Report]) -> None:
        """Take a verdict. If exercises of the same save wait, check the next one; else show the verdicts on this save, and prepare the
        next check.
        """
        self.running = None
        try:
            report = done.result()
        except (Stopped, concurrent.futures.CancelledError):
            return
        if self.waiting:
            self.earlier.append(report)
            (self.lab, self.exercise), *self.waiting = self.waiting
            self.check()
            return
        # the failure to fix comes last
        reports = sorted([*self.earlier, report], key=lambda report: not report.passed)
        self.earlier = []
        if self.screen.interactive:
            self.screen.clear()
        for report in reports:
            show_report(self.screen, report, self.workspace)
        self.lab, self.exercise = report.lab, report.exercise
        show_messages(self.screen, self.workspace)
        if report.passed:
            show_passed(self.screen, self.workspace, report)
        self.look = self.workspace.look()
        self.show_others(report)
        show_progress(self.screen, self.look, report.lab.number)
        self.footer()
        self.prepare()

    def show_others(self, report: Report) -> None:
        """Name exercises of the lab that had passed and have changed, perhaps through a function that they call."""
        stale = [
            e.id
            for e in report.lab.exercises
            if self.look.standing(e) == Status.STALE and self.look.state.of(e.id).passed
        ]
        if stale:
            self.screen.line()
            ids = " ".join(stale)
            self.screen.text(
                f"{MARKS[Status.STALE][0]} {ids} had passed, and changed since: jitkit check {report.lab.number}", 2
            )

    def footer(self) -> None:
        """Show the keys."""
        self.screen.line()
        self.screen.line(_KEYS, "dim")

    def prepare(self) -> None:
        """Prepare the next check, in the other thread."""
        self.preparing = self.beside.submit(self.judge.prepare, self.lab, self.exercise)

    def wait_for_spare(self) -> None:
        """Stop a running check. Wait until it has ended, and the preparation of the next check, too; then this thread
        can use the judge.
        """
        if self.running is not None:
            self.stop.set()
            concurrent.futures.wait([self.running])
            self.running = None
        if self.preparing is not None:
            concurrent.futures.wait([self.preparing])

    # --- files ------------------------------------------------------------------------------------------------------

    def read_stamps(self) -> dict[str, Stamp | None]:
        """Return, by the lab's number, a stamp of its file that changes with a save."""
        return {lab.number: stamp(self.workspace.file_of(lab)) for lab in self.workspace.labs}

    def changed_labs(self) -> list[Lab]:
        """Return the labs whose file was saved since the last call. Wait until the save is complete, at most a second."""
        now = self.read_stamps()
        if now == self.stamps:
            return []
        give_up = time.monotonic() + 1.0
        while time.monotonic() < give_up:
            time.sleep(_SETTLE)
            settled = self.read_stamps()
            if settled == now and all(stamp is None or stamp[1] for stamp in now.values()):
                break
            now = settled
        changed = [lab for lab in self.workspace.labs if now[lab.number] != self.stamps[lab.number]]
        self.stamps = now
        return changed


def exercises_meant(before: Look, now: Look, lab: Lab, current: Exercise) -> list[tuple[Lab, Exercise]]:
    """Return the exercises that a save of a lab's file is about: those that changed and are written, `current` first; if only stubs
    changed, one of these. If none changed, or the file is not Python, return `current`, or, if that is in another lab, the
    first exercise that has not passed.
    """
    changed = [e for e in lab.exercises if _written(before, e) != _written(now, e)]
    written = [e for e in changed if now.fingerprint(e)] or [e for e in changed if e == current] or changed[:1]
    if written:
        return [(lab, e) for e in sorted(written, key=lambda e: e != current)]
    if current in lab.exercises:
        return [(lab, current)]
    return [(lab, next((e for e in lab.exercises if not now.passes(e)), lab.exercises[0]))]


def _written(look: Look, exercise: Exercise) -> str:
    """Return a text that changes with an exercise's functions: their fingerprint, or the text of the stubs; "" if the
    file cannot be read.
    """
    source = look.source(exercise)
    return _written_in(source, exercise) if isinstance(source, LearnerSource) else ""


@functools.lru_cache(maxsize=256)
def _written_in(source: LearnerSource, exercise: Exercise) -> str:
    known = fingerprint(source, exercise)
    if known:
        return known
    try:
        file = parsed(source)
        return "".join(ast.dump(file.find(target)) for target in exercise.targets)
    except SpliceError:
        return ""
