"""Programs that an earlier run of the tests has compiled are found, and nothing else is."""

from __future__ import annotations

import os

import kept_programs
import numpy as np

import jitkit
from jitkit import runtime

TEXT = jitkit.jit(lambda x: x * 3 + 1).lower(np.arange(3.0, dtype=np.float32)).as_text()


def compiled_by(folder, text=TEXT):
    """Return the executable of the program, and whether it was compiled for that."""
    devices, calls = jitkit.devices(), []

    def compile():
        calls.append(text)
        return runtime.compile_text(TEXT, devices)

    executable = kept_programs.kept(folder, text, lambda data: runtime.deserialize(data, devices), compile)
    return executable, bool(calls)


def test_a_program_is_compiled_once_and_found_by_its_text(tmp_path):
    first, was_compiled = compiled_by(tmp_path)
    again, is_compiled = compiled_by(tmp_path)
    assert (was_compiled, is_compiled) == (True, False)
    assert kept_programs.bytes_of[id(again)] == first.serialize(), "what was found can be handed on"
    assert compiled_by(tmp_path, TEXT + "\n")[1]


def test_a_damaged_program_and_one_of_another_machine_are_compiled_again(tmp_path, monkeypatch):
    compiled_by(tmp_path)
    [path] = tmp_path.iterdir()
    path.write_bytes(b"damaged")
    assert compiled_by(tmp_path)[1]
    assert not compiled_by(tmp_path)[1]
    monkeypatch.setattr(kept_programs, "build", lambda: "another machine")
    assert compiled_by(tmp_path)[1]


def test_programs_that_hold_addresses_and_those_of_a_run_without_a_folder_are_not_kept(tmp_path):
    assert all(compiled_by(None)[1] for _ in range(2))
    assert all(compiled_by(tmp_path, TEXT + "// a callback")[1] for _ in range(2))
    assert not any(tmp_path.iterdir())


def test_programs_that_were_used_longest_ago_are_deleted(tmp_path):
    for age, name in enumerate("abc"):
        (tmp_path / name).write_bytes(b"0123456789")
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    kept_programs.prune(tmp_path, most=25)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
