"""`lab.toml` and `rung.toml`: what is missing, of a wrong type or not known is told with its place."""

from __future__ import annotations

import pathlib
import shutil

import pytest

from jitkit.kata.engine.manifest import read_lab
from jitkit.kata.engine.toml_table import ManifestError
from jitkit.kata.ladder import rungs

LABS = pathlib.Path(__file__).parents[1] / "labs"


def said_of(tmp_path, before, after, lab="05_jit"):
    """What is said of a lab in whose `lab.toml` something was changed."""
    folder = tmp_path / lab
    folder.mkdir()
    text = (LABS / lab / "lab.toml").read_text(encoding="utf-8")
    assert before in text
    (folder / "lab.toml").write_text(text.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(ManifestError) as error:
        read_lab(folder)
    return str(error.value).removeprefix(f"{folder / 'lab.toml'}")


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("uses_xla = true", "use_xla = true", ", exercise 05.{n}: `use_xla` is not known here; is it `uses_xla`?"),
        ("uses_xla = true", 'uses_xla = "no"', ", exercise 05.{n}: `uses_xla` should be true or false"),
        ('id = "05.1"\ntitle =', 'id = "05.1"\nname =', ", exercise 05.1: `title` should be a text"),
        ("points =", "points = -1 #", ", exercise 05.{n}: `points` should be a positive whole number"),
        ("minutes =", "weight = 3\nminutes =", ": `weight` is not known here"),
        ("right =", "right = 9 #", ", [experiment]: `right` should be the number of an option"),
        ("[experiment]", "[experiments]", ": `experiments` is not known here; is it `experiment`?"),
    ],
)
def test_what_a_manifest_has_that_is_wrong_is_told_with_its_place(tmp_path, before, after, sentence):
    said = said_of(tmp_path, before, after)
    start, _, end = sentence.partition("{n}")
    assert said.startswith(start)
    assert said.endswith(end)


def test_a_manifest_that_is_no_toml_is_told_with_its_line(tmp_path):
    assert "line 1" in said_of(tmp_path, "title = ", "title ")


def test_a_rung_says_what_its_manifest_lacks(tmp_path, monkeypatch):
    name = "01_one_door"
    shutil.copytree(LABS / "from_scratch" / name, tmp_path / "from_scratch" / name)
    file = tmp_path / "from_scratch" / name / "rung.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("size =", "sise ="), encoding="utf-8")
    monkeypatch.setenv("JITKIT_LABS", str(tmp_path))
    with pytest.raises(ManifestError) as error:
        rungs.all_rungs.__wrapped__()
    assert str(error.value) == f"{file}: `size` should be a positive whole number"
