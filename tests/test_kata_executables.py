"""Programs that one save compiled are reused by the next save."""

from __future__ import annotations

import contextlib
import pathlib

import numpy as np
import pytest

import jitkit as jk
from jitkit import runtime
from jitkit.kata.engine.assessor import Assessor
from jitkit.kata.engine.executables import MachineCode, keep_executables
from jitkit.kata.engine.manifest import all_labs
from jitkit.kata.engine.processes import Forks
from jitkit.kata.engine.running import LearnerSource
from jitkit.kata.engine.statuses import Status

SOLUTION = pathlib.Path(__file__).parents[1] / "solutions" / "10_pitfalls.py"


def counting(monkeypatch, folder):
    """Use a folder of executables; return a list to which each text is added that XLA compiles from now on."""
    texts, compile_text = [], runtime.compile_text

    def compiled(text, *rest):
        texts.append(text)
        return compile_text(text, *rest)

    monkeypatch.setattr(runtime, "compile_text", compiled)
    keep_executables(folder)
    return texts


def test_a_program_is_compiled_once_wherever_it_stands_in_its_file(monkeypatch, tmp_path):
    texts = counting(monkeypatch, tmp_path)
    x = np.arange(3.0, dtype="float32")
    f, on_another_line = (lambda x: x * 2.0 - 1.0), (lambda x: x * 2.0 - 1.0)
    np.testing.assert_array_equal(jk.jit(f)(x), [-1, 1, 3])
    with jk.base.stage_log.listen() as events:
        np.testing.assert_array_equal(jk.jit(on_another_line)(x), [-1, 1, 3])
    assert len(texts) == 1
    assert sum(event.stage == "compilation" for event in events) == 1  # a hit is counted, too
    np.testing.assert_array_equal(jk.jit(lambda x: x * 2.0 - 3.0)(x), [-3, -1, 1])
    assert len(texts) == 2


def test_a_program_that_keeps_machine_code_itself_can_load_it_again(monkeypatch, tmp_path):
    """It has to keep what was compiled, since what XLA writes of a loaded executable ends in NOT_FOUND."""
    counting(monkeypatch, tmp_path / "kept")
    before = jk.base.config.value("compilation_cache_dir")
    try:
        for folder in (None, str(tmp_path / "own"), str(tmp_path / "own")):
            jk.config.update("compilation_cache_dir", folder)
            jk.clear_caches()
            found = jk.jit(lambda x: jk.numpy.cos(x) * 2.5 + x)(np.float32([1, 2, 3]))
            np.testing.assert_allclose(np.asarray(found), np.cos([1, 2, 3]) * 2.5 + [1, 2, 3], rtol=1e-5)
    finally:
        jk.config.update("compilation_cache_dir", before)


def test_machine_code_that_is_damaged_is_made_again(monkeypatch, tmp_path):
    texts = counting(monkeypatch, tmp_path)
    for _ in range(2):
        np.testing.assert_array_equal(jk.jit(lambda x: x * 5.0)(np.ones(2, "float32")), [5, 5])
        [file] = tmp_path.iterdir()
        file.write_bytes(b"damaged")
    assert len(texts) == 2


def test_what_was_not_asked_for_lately_goes(tmp_path):
    code = MachineCode(tmp_path / "kept")
    code.most = 4
    assert code.is_there()
    for name in "abcde":
        (code.folder / name).touch()
    assert code.is_there()
    assert len(list(code.folder.iterdir())) == 2
    (tmp_path / "file").touch()
    assert not MachineCode(tmp_path / "file" / "kept").is_there()


def test_the_second_verdict_on_an_exercise_compiles_nothing_new(tmp_path):
    [(lab, exercise)] = [(lab, e) for lab in all_labs() for e in lab.exercises if e.id == "10.3"]
    assessor, kept = Assessor(tmp_path), tmp_path / "executables"
    found = []
    for margin in ("", "# moved\n"):
        source = LearnerSource("exercises.py", margin + SOLUTION.read_text(encoding="utf-8"), lab.names)
        assert assessor.assess(lab, exercise, source).status == Status.PASS
        found.append({path.name: path.stat().st_ino for path in kept.iterdir()})
    assert found[0] == found[1] != {}


@pytest.fixture(scope="module")
def forks():
    """Return processes whose copies run the functions of all rows of a test."""
    with contextlib.closing(Forks()) as found:
        yield found


@pytest.mark.parametrize("damaged", ["{}", "[]", "null", "[["])
def test_results_of_the_reference_that_are_damaged_are_computed_again(damaged, tmp_path, forks):
    [(lab, exercise)] = [(lab, e) for lab in all_labs() for e in lab.exercises if e.id == "00.1"]
    source = LearnerSource("exercises.py", (SOLUTION.parent / "00_hello.py").read_text(encoding="utf-8"), lab.names)
    assert Assessor(tmp_path).assess(lab, exercise, source, spare=forks).status == Status.PASS
    files = list(tmp_path.glob("*.json"))
    assert files
    for path in files:
        path.write_text(damaged, encoding="utf-8")
    assert Assessor(tmp_path).assess(lab, exercise, source, spare=forks).status == Status.PASS
