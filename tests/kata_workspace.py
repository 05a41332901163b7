"""Makes a workspace of two small labs, and writes in it what a learner may write."""

from __future__ import annotations

import atexit
import json
import os
import pathlib

import pytest

from jitkit.kata.command import cli
from jitkit.kata.engine.assessor import Assessor
from jitkit.kata.engine.processes import Nursery
from jitkit.kata.engine.running import Outcome
from jitkit.kata.engine.source_edit import replace_functions
from jitkit.kata.workspace import workspace
from jitkit.kata.workspace.judge import Judge

LABS = pathlib.Path(__file__).with_name("kata_labs")

MERGE = """\
def merge_lists(mask, unchosen, chosen):
    sizes = len(mask) - sum(mask), sum(mask)
    assert sizes == (len(unchosen), len(chosen)), (
        f"a mask of {sizes[0]} False and {sizes[1]} True for {len(unchosen)} and {len(chosen)} items"
    )
    sources = iter(unchosen), iter(chosen)
    return [next(sources[flag]) for flag in mask]
"""
SWAPPED = MERGE.replace("iter(unchosen), iter(chosen)", "iter(chosen), iter(unchosen)").replace(
    "next(sources[flag])", "next(sources[flag], -1)"
)
# It passes the checks of 90.1, but raises an error if `unchosen` is empty, which happens in the checks of 90.2.
FRAGILE = MERGE.replace("    sources =", "    unchosen[0]\n    sources =")
PARTITION = """\
def partition_list(mask, items):
    assert len(mask) == len(items), f"a mask of {len(mask)} for {len(items)} items"
    return [x for m, x in zip(mask, items) if not m], [x for m, x in zip(mask, items) if m]
"""
SPLIT = """\
def split_list(items, sizes):
    parts, rest = [], list(items)
    for size in sizes:
        parts.append(rest[:size])
        rest = rest[size:]
    return [*parts, rest]
"""
LISTS = {"merge_lists": MERGE, "partition_list": PARTITION, "split_list": SPLIT}
SIGN = "def soft_sign(x):\n    x = ensure_arraylike('soft_sign', x)\n    return x / (jnp.abs(x) + 1)\n"


class Learner:
    """A learner who works in a folder: calling it runs a command of `jitkit` there."""

    def __init__(self, root, capsys):
        self.root = root
        self.capsys = capsys
        self.lists = root / "90_lists" / "exercises.py"
        self.smooth = root / "91_smooth" / "exercises.py"

    def __call__(self, *arguments, status=0):
        """Run a command; return what it wrote to both streams. Its exit code must be `status`."""
        self.capsys.readouterr()
        ended = cli.main([str(x) for x in arguments])
        shown = self.capsys.readouterr()
        assert ended == status, shown
        return shown.out + shown.err

    def write(self, **functions):
        """Write functions of lab 90 in their places."""
        text = self.lists.read_text(encoding="utf-8")
        self.lists.write_text(replace_functions(text, functions), encoding="utf-8")

    def write_text_of_both(self):
        """Write both exercises of lab 90 in one save: the first is wrong, the second is right, with another text than
        before.
        """
        again = (
            PARTITION.replace("for m, x in", "for m, x  in").replace("items), f", "items) , f") + "    return None\n"
        )
        self.lists.write_text(f"{SWAPPED}\n\n{again}\n\n{SPLIT}", encoding="utf-8")

    def write_sign(self, function):
        text = self.smooth.read_text(encoding="utf-8")
        self.smooth.write_text(replace_functions(text, {"soft_sign": function}), encoding="utf-8")

    @property
    def workspace(self):
        return workspace.Workspace(self.root)

    @property
    def state(self):
        return self.workspace.state.read()

    def report(self, id):
        """Return the report of a check, as data."""
        place = self.workspace
        return Judge(place).check(*place.exercise(id))


_KNOWN: dict[str, str] = {}  # the reference's results by their key, which names everything that they depend on


def share_results(monkeypatch):
    """Let the workspaces of this process share the reference's results, each of which takes a process to compute. On the ladder, a rung
    that passes for the first time runs again with a random seed: here the seed is the same each time.
    """
    read, write = Assessor.read, Assessor.write

    def read_or_known(self, key):
        return read(self, key) or [Outcome(*item) for item in json.loads(_KNOWN.get(key, "[]"))]

    def write_and_know(self, key, outcomes):
        _KNOWN[key] = json.dumps([(o.check, o.value, o.trouble, o.sentence) for o in outcomes])
        write(self, key, outcomes)

    monkeypatch.setattr(Assessor, "read", read_or_known)
    monkeypatch.setattr(Assessor, "write", write_and_know)
    monkeypatch.setattr("jitkit.kata.verbs.on_the_ladder.random.randrange", lambda start, stop: start)


def give_results(kept):
    """Put the shared results into a workspace's folder `.jitkit`, for commands that are started as processes."""
    folder = kept / "expected"
    folder.mkdir(exist_ok=True)
    for key, text in _KNOWN.items():
        (folder / f"{key}.json").write_text(text, encoding="utf-8")


class _OfAllCommands(Nursery):
    """A nursery that `jitkit check` leaves open, for the next command of this process."""

    def close(self):
        """Do nothing: it ends with this process."""


_nurseries: list[_OfAllCommands] = []


def share_nursery(monkeypatch):
    """Let all commands of this process copy one process, instead of starting one each. Without `fork` there is nothing to share."""
    if hasattr(os, "fork"):
        if not _nurseries:
            _nurseries.append(_OfAllCommands())
            _nurseries[0].prepare(uses_xla=True)
            atexit.register(Nursery.close, _nurseries[0])
        monkeypatch.setattr("jitkit.kata.verbs.check.for_one_command", lambda: _nurseries[0])


@pytest.fixture
def learner(tmp_path, monkeypatch, capsys):
    """Return a new workspace, in a folder whose name has spaces and more, as the current folder."""
    share_results(monkeypatch)
    share_nursery(monkeypatch)
    monkeypatch.setenv("JITKIT_LABS", str(LABS))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "meine Übungen 研究"
    assert cli.main(["start", str(root)]) == 0
    monkeypatch.chdir(root)
    return Learner(root, capsys)
