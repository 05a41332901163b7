"""The grader: each submission of the catalogue, the jail, the store, resumed and repeated batches."""

from __future__ import annotations

import shutil
import unicodedata

import pytest
from grader_catalogue import GREEDY, THEMES, wrong, write

from grading.grader import commands
from grading.grader.commands import _standing
from grading.grader.jail import JailError
from grading.grader.selftest import self_test
from grading.grader.store import Store


def why_no_jail():
    try:
        return "; ".join(self_test())
    except JailError as error:
        return str(error)


NO_JAIL = why_no_jail() if shutil.which("bwrap") is not None else "bubblewrap is not installed"
jailed = pytest.mark.skipif(bool(NO_JAIL), reason=f"needs bubblewrap: {NO_JAIL}")


def command(*words):
    return commands_main([str(word) for word in words])


def commands_main(words):
    from grading.__main__ import main

    return main(words)


def graded(tmp_path, rows, *options, limits="seconds = 20"):
    """The records of a batch of rows, by the row's name."""
    write(tmp_path / "in", rows)
    (tmp_path / "in" / "course.toml").write_text(f"[limits]\n{limits}\n", encoding="utf-8")
    assert command("grade", tmp_path / "in", "--out", tmp_path / "out", "--quiet", *options) == 0
    with Store(tmp_path / "out") as store:
        records = _standing(store)[0]
    found = {}
    for record in records:
        found.setdefault(record.grade.student, []).append(record)
    return found


@jailed
@pytest.mark.parametrize("theme", THEMES)
def test_every_submission_of_the_catalogue_gets_what_it_should(theme, tmp_path):
    rows = THEMES[theme]
    records = graded(tmp_path, rows, "--lab", "00")
    assert not [text for r in rows if (text := wrong(r, records[unicodedata.normalize("NFC", r.name)]))]


@jailed
@pytest.mark.tail
def test_bombs_and_loops_meet_their_limits_and_leave_nothing(tmp_path):
    records = graded(tmp_path, GREEDY, "--lab", "00", limits="seconds = 4\nsubmission_seconds = 60")
    assert not [text for r in GREEDY if (text := wrong(r, records[r.name]))]


@jailed
def test_the_jail_holds_what_the_self_test_tries():
    assert self_test() == []


def test_without_a_jail_nothing_is_graded_unless_told_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    (tmp_path / "in").mkdir()
    assert command("grade", tmp_path / "in", "--out", tmp_path / "out") == 1
    said = capsys.readouterr().err
    assert "bubblewrap is not installed" in said
    assert "--unsandboxed" in said
    assert not (tmp_path / "out").exists()
    assert commands.NAMES[0] == "grade"
