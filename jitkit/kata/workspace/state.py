"""a learner's progress <-> `.jitkit/state.json`

One plain file, which may be read, and deleted: it remembers which exercises passed (as hashes of the functions), how
many hints were shown, and where the learner is. The file contains nothing that the learner wrote. It is replaced in one step,
under a lock, so that an interrupt or a second terminal cannot leave half of it. If the file cannot be read, it is put
aside, with a message, and a new one is begun; parts that make no sense are left out.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import time
from collections.abc import Iterator
from typing import Any

from ...base.whole_file import replace, write_whole

VERSION = 1
_LONGEST_WAIT = 5.0  # seconds to wait for the lock; after that its owner counts as dead
_NAP = 0.02


@dataclasses.dataclass
class Progress:
    """What is known about one exercise."""

    passed: str = ""  # the fingerprint of the function that passed last; on the ladder, that of the package
    failed: str = ""  # the fingerprint of the function that failed last
    suspect: str = ""  # the fingerprint of a function that passed, and made another exercise fail
    ground: str = ""  # the fingerprints, by id, of all that ran when the other exercise failed: `01.1=... 01.2=...`
    blame: str = ""  # a sentence: which other exercise failed with it, and what shows how
    passes: int = 0  # how often it passed: from this comes the seed of its checks
    drawn: int = 0  # verdicts that no random program decided: from this comes the seed of random programs
    found: bool = False  # whether a random program decided the last verdict
    hints: int = 0  # how many hints were shown
    gave_up: bool = False  # whether the learner has asked for the solution without a pass


@dataclasses.dataclass
class State:
    """What is known about a learner. On the ladder, exercises are rungs."""

    current: str = ""  # the exercise that the learner is at
    exercises: dict[str, Progress] = dataclasses.field(default_factory=dict)
    predictions: dict[str, str] = dataclasses.field(default_factory=dict)  # lab -> the learner's answer to its question
    offered: list[str] = dataclasses.field(default_factory=list)  # the exercises whose stubs the learner has been given
    # file that the learner has been given -> its hash; on the ladder, rung -> the time of its last pass
    given: dict[str, str] = dataclasses.field(default_factory=dict)

    def of(self, id: str) -> Progress:
        """Return the progress of an exercise, which may be changed."""
        return self.exercises.setdefault(id, Progress())

    def to_json(self) -> dict[str, Any]:
        """Return the state as plain data, with the version of the format."""
        return {"version": VERSION, **dataclasses.asdict(self)}

    @classmethod
    def from_json(cls, data: Any) -> State:
        """Return the state in plain data; parts of a wrong type are left out. Raise ValueError if nothing can be read."""
        if not isinstance(data, dict) or not isinstance(data.get("version"), int):
            raise ValueError("it is not a state that jitkit wrote")
        if data["version"] > VERSION:
            raise ValueError("a newer jitkit wrote it")
        return cls(
            current=_typed(data.get("current"), str, ""),
            exercises={id: _progress(item) for id, item in _typed(data.get("exercises"), dict, {}).items()},
            predictions=_texts(data.get("predictions")),
            offered=[id for id in _typed(data.get("offered"), list, []) if isinstance(id, str)],
            given=_texts(data.get("given")),
        )


def _progress(item: Any) -> Progress:
    data = _typed(item, dict, {})
    kept = {
        field.name: data[field.name]
        for field in dataclasses.fields(Progress)
        if type(data.get(field.name)) is type(field.default)
    }
    return Progress(**kept)


def _texts(value: Any) -> dict[str, str]:
    return {key: text for key, text in _typed(value, dict, {}).items() if isinstance(text, str)}


def _typed(value: Any, kind: type, otherwise: Any) -> Any:
    return value if isinstance(value, kind) else otherwise


class StateFile:
    """The file that has the learner's progress in a workspace.

    Attributes:
      messages: sentences for the learner, each shown once: that the file cannot be read or written, or was put aside.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.path = folder / "state.json"
        self.lock = folder / "lock"
        self.messages: list[str] = []
        self.unwritten: State | None = None  # if nothing can be written, only this run remembers

    def read(self) -> State:
        """Return the state; an empty one if there is no file, or if it cannot be read, which also leaves a message. Nothing is raised."""
        if self.unwritten is not None:
            return self.unwritten
        try:
            return State.from_json(json.loads(self.path.read_text(encoding="utf-8")))
        except (FileNotFoundError, NotADirectoryError):
            return State()
        except OSError as error:
            self.messages.append(f"{self.path} cannot be read: {error.strerror}.")
            return State()
        except (ValueError, RecursionError) as error:
            self.put_aside(str(error))
            return State()

    @contextlib.contextmanager
    def edit(self) -> Iterator[State]:
        """Yield the state, which the block may change, and write it when the block ends without an error."""
        with self.locked():
            state = self.read()
            yield state
            self.write(state)

    def write(self, state: State) -> None:
        """Replace the file in one step. If it cannot be written, say so once, and remember the state in this process only."""
        text = json.dumps(state.to_json(), indent=1) + "\n"
        try:
            write_whole(self.path, text.encode("utf-8"), make_folder=True)
        except OSError as error:
            if self.unwritten is None:
                self.messages.append(
                    f"Progress cannot be written to {self.folder} ({error.strerror}): it will be forgotten when this ends."
                )
            self.unwritten = state

    def put_aside(self, why: str) -> None:
        """Rename a file that cannot be read, so that a new one can be written."""
        backup = self.folder / "backups" / f"state-{time.strftime('%Y%m%d-%H%M%S')}.json"
        try:
            backup.parent.mkdir(parents=True, exist_ok=True)
            replace(self.path, backup)
            where = f"It is kept as {backup}."
        except OSError:
            where = "It could not be moved."
        self.messages.append(
            f"The record of your progress could not be read: {why}. {where} Your files are as they were: `jitkit check` finds "
            "out anew what passes."
        )

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Within the block, keep other processes of ours away from the file. If no lock can be made, go on without one."""
        held = self.acquire()
        try:
            yield
        finally:
            if held:
                with contextlib.suppress(OSError):
                    self.lock.unlink()

    def acquire(self) -> bool:
        """Make the lock file, which exists as long as its owner writes: for milliseconds. If it is still there after `_LONGEST_WAIT`,
        take it over. Return whether the lock is ours: False if no file can be made.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return False
        give_up = time.monotonic() + _LONGEST_WAIT
        while time.monotonic() < give_up:
            try:
                os.close(os.open(self.lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                return True
            except FileExistsError:
                time.sleep(_NAP)
            except OSError:
                return False
        return True  # its owner was killed: we take the lock over, and remove it
