"""The processes that a thread of a batch works with, and the gate that lets a check run with nothing beside it"""

from __future__ import annotations

import contextlib
import json
import pathlib
import struct
import subprocess
import sys
import threading
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from jitkit.kata.engine.manifest import Exercise

from .branches import Branch
from .bubblewrap import JAXLIB, NUMPY, JailError
from .holes import RECORD
from .jail import Zygote
from .records import Reading
from .shipped_code import ShippedCode


class Gate:
    """Admits many threads at once, or one alone. While a thread waits to be alone, no other thread enters."""

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.inside = 0
        self.waiting = 0  # how many threads wait until they can run alone
        self.alone_ = False

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """Within the block, be inside of the gate, perhaps with others."""
        with self.condition:
            self.condition.wait_for(lambda: not self.alone_ and not self.waiting)
            self.inside += 1
        try:
            yield
        finally:
            with self.condition:
                self.inside -= 1
                self.condition.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Within the block, be alone inside of the gate. The thread must be inside already."""
        with self.condition:
            self.inside -= 1
            self.waiting += 1
            self.condition.notify_all()  # another thread may wait for us to leave
            self.condition.wait_for(lambda: not self.alone_ and self.inside == 0)
            self.waiting -= 1
            self.alone_ = True
        try:
            yield
        finally:
            with self.condition:
                self.alone_ = False
                self.inside += 1
                self.condition.notify_all()


class Workers:
    """The processes that one thread works with: an intake, and a jail for each kind of exercise. They start on first
    use.
    """

    def __init__(self, shipped: ShippedCode, labs: pathlib.Path, backend: str, zone: str = "UTC") -> None:
        self.shipped = shipped
        self.labs = labs
        self.backend = backend
        self.zone = zone
        self.zygotes: dict[tuple[str, bool], Zygote] = {}
        self.branches: dict[tuple[str, bool, str], Branch] = {}
        self.reader: subprocess.Popen[bytes] | None = None

    def zygote(self, packages: str, imported: bool, exercise: Exercise | None = None) -> Zygote:
        """Return the jail with these packages, which is started on first use; with an exercise, return the jail's branch for
        it. `imported` says whether jitkit, with holes, is already imported in the jail. JAXLIB means the jail for packages from
        scratch, which has the ladder's modules and not jitkit.
        """
        key = packages, imported
        while key not in self.zygotes:
            base = self.shipped.with_holes(self.kept()) if imported and packages != JAXLIB else self.shipped.base
            if packages == JAXLIB:
                base = self.shipped.ladder
            zygote = Zygote(base, packages, self.backend, imported)
            if zygote.called:  # a function was called that a plain import does not call, so it cannot be a hole
                zygote.close()
                self.shipped.kept = self.kept() | zygote.called
                continue
            self.zygotes[key] = zygote
        if exercise is None:
            return self.zygotes[key]
        name = packages, imported, exercise.id
        if name not in self.branches:
            fills = self.shipped.fills(exercise, self.kept()) if imported else []
            modules = None if imported else self.shipped.rest({}, exercise)
            self.branches[name] = Branch(self.zygotes[key], fills, modules)
        return self.branches[name]

    def kept(self) -> frozenset[str]:
        """Return the functions that are called while jitkit is imported, which cannot be holes. They are found once for all threads."""
        with self.shipped.lock:
            if self.shipped.kept is None:
                zygote = Zygote(self.shipped.with_holes((), RECORD), NUMPY, self.backend, True)
                zygote.close()
                self.shipped.kept = frozenset(zygote.called)
            return self.shipped.kept

    def renew(self) -> None:
        """End the jails, because one of them does not answer; new ones start at the next use."""
        while self.branches:
            self.branches.popitem()[1].close()
        while self.zygotes:
            self.zygotes.popitem()[1].close()

    def read(self, path: pathlib.Path, only: Sequence[str], whole: Collection[str] = ()) -> Reading:
        """Read a submission: see `intake.read_submission`. Raise JailError if two intake processes in turn end without an answer."""
        for attempt in range(2):
            if self.reader is None:
                command = [sys.executable, "-m", "grading.grader.intake", str(self.labs)]
                root = str(pathlib.Path(__file__).resolve().parents[2])
                self.reader = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root, start_new_session=True
                )
            try:
                request = {"path": str(path.absolute()), "only": list(only), "whole": list(whole), "zone": self.zone}
                return self._ask(request)
            except (OSError, EOFError):
                self._close_reader()
                if attempt:
                    raise JailError("the intake process ends") from None
        raise AssertionError("the loop returns or raises")

    def _ask(self, request: dict[str, Any]) -> Reading:
        assert self.reader is not None, "it was started"
        assert self.reader.stdin is not None, "it has a pipe for requests"
        assert self.reader.stdout is not None, "it has a pipe for answers"
        self.reader.stdin.write(json.dumps(request).encode() + b"\n")
        self.reader.stdin.flush()
        head = self.reader.stdout.read(8)
        if len(head) < 8:
            raise EOFError
        found: Reading = json.loads(self.reader.stdout.read(struct.unpack(">Q", head)[0]))
        return found

    def _close_reader(self) -> None:
        if self.reader is not None:
            self.reader.kill()
            self.reader.wait()
            for stream in (self.reader.stdin, self.reader.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
            self.reader = None

    def close(self) -> None:
        """End all processes."""
        self.renew()
        self._close_reader()
