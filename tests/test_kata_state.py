"""The state of a workspace is one file. It survives interrupts, several terminals at once, and damage."""

from __future__ import annotations

import json
import multiprocessing
import os
import time

import pytest
from kata_workspace import LISTS, learner

from jitkit.kata.engine.running import parsed
from jitkit.kata.workspace import judge, state, workspace
from jitkit.kata.workspace.state import Progress, State, StateFile

__all__ = ["learner"]  # a fixture


@pytest.fixture
def file(tmp_path):
    return StateFile(tmp_path / ".jitkit")


def test_what_was_written_is_read(file):
    with file.edit() as known:
        known.current = "90.1"
        known.of("90.1").hints = 2
        known.predictions["90"] = "in proportion"
    assert StateFile(file.folder).read() == State("90.1", {"90.1": Progress(hints=2)}, {"90": "in proportion"})
    assert not list(file.folder.glob("*.part"))
    assert not file.lock.exists()


def test_an_error_in_the_middle_changes_nothing_and_frees_the_lock(file):
    with file.edit() as known:
        known.current = "90.1"
    with pytest.raises(KeyboardInterrupt), file.edit() as known:
        known.current = "90.2"
        raise KeyboardInterrupt
    assert file.read().current == "90.1"
    assert not file.lock.exists()


def test_what_an_interrupted_write_leaves_behind_does_no_harm(file):
    with file.edit() as known:
        known.current = "90.1"
    (file.folder / "state.1.part").write_text('{"version": 1, "curr', encoding="utf-8")
    assert file.read().current == "90.1"
    assert file.messages == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Expecting value"),
        ('{"version": 1, "current": ', "Expecting value"),
        ("[]", "not a state that jitkit wrote"),
        ('{"version": 99}', "a newer jitkit wrote it"),
        ("\x00\xff", "Expecting value"),
        ("[" * 100_000, ""),
    ],
)
def test_a_file_that_cannot_be_read_is_put_aside_with_a_message(file, text, why):
    file.folder.mkdir()
    file.path.write_text(text, encoding="utf-8")
    assert file.read() == State()
    (message,) = file.messages
    assert why in message
    (backup,) = (file.folder / "backups").iterdir()
    assert backup.read_text(encoding="utf-8") == text
    assert str(backup) in message
    with file.edit() as known:
        known.current = "90.1"
    assert StateFile(file.folder).read().current == "90.1"


def test_parts_that_make_no_sense_are_left_out_and_the_others_kept(file):
    file.folder.mkdir()
    data = {
        "version": 1,
        "current": 7,
        "exercises": {"90.1": {"hints": "three", "passed": "abc", "more": 1}, "90.2": None},
        "predictions": {"90": 3, "91": "yes"},
        "offered": ["90.1", 2],
        "something": "else",
    }
    file.path.write_text(json.dumps(data), encoding="utf-8")
    assert file.read() == State("", {"90.1": Progress(passed="abc"), "90.2": Progress()}, {"91": "yes"}, ["90.1"])
    assert file.messages == []


def _count_up(folder, times):
    for _ in range(times):
        with StateFile(folder).edit() as known:
            known.of("90.1").hints += 1


def test_two_terminals_at_once_lose_nothing(file):
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=_count_up, args=(file.folder, 20)) for _ in range(2)]
    for process in others:
        process.start()
    _count_up(file.folder, 20)
    for process in others:
        process.join(60)
    assert file.read().of("90.1").hints == 60


def test_a_lock_whose_owner_died_is_taken_over(file, monkeypatch):
    monkeypatch.setattr(state, "_LONGEST_WAIT", 0.1)
    file.folder.mkdir()
    file.lock.touch()
    with file.edit() as known:
        known.current = "90.1"
    assert file.read().current == "90.1"
    assert not file.lock.exists()


def test_where_nothing_can_be_written_it_is_said_once_and_remembered_meanwhile(tmp_path):
    (tmp_path / "not a folder").touch()
    file = StateFile(tmp_path / "not a folder")
    for _ in range(2):
        with file.edit() as known:
            known.of("90.1").hints += 1
    assert file.read().of("90.1").hints == 2
    (message,) = file.messages
    assert "cannot be written" in message


def test_a_damaged_record_costs_nothing_that_a_check_cannot_find_out(learner):
    learner.write(**LISTS)
    learner("check", "90")
    (learner.root / ".jitkit" / "state.json").write_text("{", encoding="utf-8")
    shown = " ".join(learner("status").split())
    assert "The record of your progress could not be read" in shown
    assert "Your files are as they were" in shown
    assert "2 unchecked" in shown
    learner("check", "90")
    assert "2 pass" in learner("status")


def test_a_folder_that_is_read_only_still_gives_verdicts(learner, monkeypatch):
    learner.write(**LISTS)

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr("pathlib.Path.write_text", refuse)
    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    shown = learner("check", "90.1")
    assert "✓ PASS" in shown
    assert "it will be forgotten when this ends" in " ".join(shown.split())


def test_a_lock_that_cannot_be_made_keeps_nobody_waiting(learner, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(state.os, "open", refuse)
    start = time.monotonic()
    with learner.workspace.state.edit() as known:
        known.current = "91.1"
    assert time.monotonic() - start < state._LONGEST_WAIT
    assert learner.state.current == "91.1"


def test_only_files_with_a_pass_are_parsed_to_find_what_has_passed(learner, monkeypatch):
    learner.write(**LISTS)
    looked = learner.workspace.look()
    read = []
    monkeypatch.setattr(workspace, "parsed", lambda source: read.append(source.path) or parsed(source))
    exercise = next(e for _, e in looked.exercises())
    assert list(judge.bindings(looked)) == []
    assert not looked.passes(exercise)
    assert read == []
    looked.state.of(exercise.id).passed = "another text"
    assert not looked.passes(exercise)
    assert read == [looked.source(exercise).path]
