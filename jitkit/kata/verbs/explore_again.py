"""`jitkit explore --watch`: makes the page anew whenever a file of the program is saved, in a browser that follows

Each page is made in a new process, without earlier imports. The process is started before the save, imports modules that
never change, and waits. If there is a save while a process runs, the process is ended. The watched files are those that
the program imported, except installed packages.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..problems import OK, WrongUsage
from ..screens.live import Live
from ..screens.terminal import Screen, duration
from ..workspace.changes import Changes, Stamp, stamp

_WRONG_USAGE = 2
_SETTLE = 0.02  # seconds to wait after a file has changed: an editor may write it in two steps
_TO_END = 2.0  # seconds in which a process that is interrupted ends its compilers


class Outcome(NamedTuple):
    """The result of one run: exit status, output, seconds; the pages, the files of the program, the figures."""

    status: int
    text: str
    seconds: float
    pages: list[pathlib.Path]
    files: list[pathlib.Path]
    figures: dict[str, int]


def explore_again(arguments: argparse.Namespace) -> int:
    """Explore, show the page, and do so again after each save, until Ctrl-C. Return the exit status, at once if the command line is
    wrong. Raise WrongUsage with `--json`.
    """
    if arguments.json:
        raise WrongUsage("--watch shows pages in a browser, and --json prints: take one of them.")
    file = pathlib.Path(arguments.function.rpartition(":")[0] or arguments.function)
    written = [file, *([pathlib.Path(arguments.calls)] if arguments.calls else [])]
    screen = Screen.of(sys.stdout)
    with Live(f"{arguments.function}, live") as live, contextlib.closing(_Watch(words_of(arguments), written)) as watch:
        try:
            return watch.run(live, screen)
        except KeyboardInterrupt:
            screen.line()
            return OK


def words_of(arguments: argparse.Namespace) -> list[str]:
    """Return the command line without `--watch`."""
    words = ["explore", arguments.function]
    words += ["--shapes", *arguments.shapes] if arguments.shapes else []
    words += [f"--static={each}" for each in arguments.static]
    words += [f"--target={each}" for each in arguments.target or ()]
    words += ["--calls" if not arguments.calls else f"--calls={arguments.calls}"] * (arguments.calls is not None)
    words += [f"--against={arguments.against}"] * bool(arguments.against)
    words += ["--jax"] * arguments.jax
    words += [f"--output={arguments.output}"] * bool(arguments.output)
    return [*words, *([f"--time-limit={arguments.time_limit}"] if arguments.time_limit is not None else [])]


class _Watch:
    """The loop: waits for saves, and shows pages."""

    def __init__(self, words: list[str], files: list[pathlib.Path]) -> None:
        self.words = words
        self.named = files
        self.files = files
        self.changes = Changes(lambda: {file.absolute().parent for file in self.files})
        self.stamps = self.read_stamps()
        self.pool = concurrent.futures.ThreadPoolExecutor(1)
        self.process = _Process(words)
        self.running: concurrent.futures.Future[Outcome] | None = None
        self.before: dict[str, int] = {}

    def close(self) -> None:
        """End what runs."""
        self.process.end()
        self.pool.shutdown(wait=True, cancel_futures=True)
        self.changes.close()

    def run(self, live: Live, screen: Screen) -> int:
        """Run until Ctrl-C, or end after the first time if the command line is wrong."""
        is_first = True
        self.start(live)
        while True:
            if self.has_changed():
                self.start(live)
            if self.running is not None and self.running.done():
                outcome, self.running = self.running.result(), None
                if is_first and outcome.status == _WRONG_USAGE and not outcome.pages:
                    print(outcome.text, file=sys.stderr)
                    return _WRONG_USAGE
                if is_first:
                    screen.line(f"{live.address}  shows it. Edit and save: it follows. Ctrl-C ends it.", "bold")
                is_first = False
                self.show(outcome, live, screen)
            self.changes.wait()

    def start(self, live: Live) -> None:
        """Start a new run; end the one that still runs, whose result does not matter any more."""
        if self.running is not None:
            self.process.end()
            concurrent.futures.wait([self.running])
            self.process = _Process(self.words)
        live.say("compiling ...", "running")
        self.running = self.pool.submit(self.process.run)
        self.running.add_done_callback(lambda done: self.changes.wake())

    def show(self, outcome: Outcome, live: Live, screen: Screen) -> None:
        """Show a page, and say what has changed; or show the error above the previous page."""
        self.process = _Process(self.words)
        at = time.strftime("%H:%M:%S")
        if not outcome.pages:
            live.say(outcome.text, "failed")
            screen.line(f"{at}  {outcome.text}", "red")
            return
        self.files = [*dict.fromkeys([*self.named, *outcome.files])]
        self.stamps = {**self.read_stamps(), **self.stamps}  # a file that was saved meanwhile counts as changed
        said = f"{at}  {outcome.text if outcome.status else changed_figures(self.before, outcome.figures)}"
        self.before = outcome.figures
        live.show(outcome.pages, said, "failed" if outcome.status else "done")
        screen.line(f"{said}  ({duration(outcome.seconds)})", *(["red"] if outcome.status else []))

    # --- files ------------------------------------------------------------------------------------------------------

    def read_stamps(self) -> dict[pathlib.Path, Stamp | None]:
        """Return for each file a stamp (times, size, inode) that changes when the file is saved; None if there is no such file."""
        return {file: stamp(file) for file in self.files}

    def has_changed(self) -> bool:
        """Return whether a file has been saved, completely, since the last time."""
        now = self.read_stamps()
        if now == self.stamps:
            return False
        while True:
            time.sleep(_SETTLE)
            settled = self.read_stamps()
            if settled == now:
                break
            now = settled
        self.stamps = now
        return True


class _Process:
    """A process that has imported what never changes, and waits for the start."""

    def __init__(self, words: Sequence[str]) -> None:
        self.report = pathlib.Path(tempfile.mkstemp(suffix=".json")[1])
        kind: dict[str, Any] = {"start_new_session": True} if os.name == "posix" else {}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jitkit.kata", *words, f"--report={self.report}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace",
            env=os.environ | {"PYTHONIOENCODING": "utf-8"}, **kind,
        )  # fmt: skip

    def run(self) -> Outcome:
        """Start the work, and wait for the result."""
        start = time.perf_counter()
        text, _ = self.process.communicate("\n")
        seconds = time.perf_counter() - start
        try:
            told = json.loads(self.report.read_text(encoding="utf-8") or "{}")
        except (OSError, ValueError):
            told = {}
        self.report.unlink(missing_ok=True)
        pages, files = (list(map(pathlib.Path, told.get(each, ()))) for each in ("pages", "files"))
        return Outcome(self.process.returncode, text.strip(), seconds, pages, files, told.get("figures", {}))

    def end(self) -> None:
        """End the process, and its compilers (on Windows, only the process)."""
        if self.process.poll() is None and os.name == "posix":
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_TO_END)
        self.process.kill()
        self.process.wait()
        self.report.unlink(missing_ok=True)


def changed_figures(before: dict[str, int], now: dict[str, int]) -> str:
    """Return in words the figures that changed, `cpu kernels: 5 -> 3`; all figures, if there were none before."""
    if not before:
        return ", ".join(f"{name}: {number:,}" for name, number in now.items())
    others = [f"{name}: {before[name]:,} -> {now[name]:,}" for name in now if before.get(name, now[name]) != now[name]]
    return ", ".join(others) or "no figure has changed"
