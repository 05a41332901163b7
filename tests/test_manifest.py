"""`lab.toml` and `rung.toml`: errors for missing, wrong and unknown keys name their place."""

from __future__ import annotations

import pathlib
import shutil

import pytest

from jitkit.kata.engine.manifest import read_lab
from jitkit.kata.engine.toml_table import ManifestError, line_of
from jitkit.kata.ladder import rungs

LABS = pathlib.Path(__file__).parents[1] / "labs"


def said_of(tmp_path, before, after, lab="05_jit"):
    """Return the text of a changed `lab.toml`, and the error's message about it."""
    folder = tmp_path / lab
    folder.mkdir()
    text = (LABS / lab / "lab.toml").read_text(encoding="utf-8")
    assert before in text
    text = text.replace(before, after, 1)
    (folder / "lab.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ManifestError) as error:
        read_lab(folder)
    return text, str(error.value).removeprefix(f"{folder / 'lab.toml'}:")


# A change of lab 05's manifest, the beginning of the line that the error must name, and words of the message.
ERRORS = [
    (
        "uses_xla = true",
        "use_xla = true",
        "use_xla",
        ", exercise 05.{n}: `use_xla` is not known here; is it `uses_xla`?",
    ),
    (
        "uses_xla = true",
        'uses_xla = "no"',
        "uses_xla",
        ", exercise 05.{n}: `uses_xla` should be true or false, and is 'no'",
    ),
    ('id = "05.1"\ntitle =', 'id = "05.1"\nname =', "[[exercise]]", ", exercise 05.1: `title` should be a text"),
    (
        'id = "05.2"\ntitle =',
        'id = "05.2"\ntitle = 3 #',
        "title = 3",
        ", exercise 05.2: `title` should be a text, and is 3",
    ),
    ("points =", "points = -1 #", "points = -1", ", exercise 05.{n}: `points` should be a positive whole number"),
    ("minutes =", "weight = 3\nminutes =", "weight", ": `weight` is not known here"),
    ("right =", "right = 9 #", "right = 9", ", [experiment]: `right` should be the number of an option"),
    ("[experiment]", "[experiments]", "[experiments]", ": `experiments` is not known here; is it `experiment`?"),
]


@pytest.mark.parametrize(("before", "after", "line", "sentence"), ERRORS)
def test_what_a_manifest_has_that_is_wrong_is_told_with_its_line_and_place(tmp_path, before, after, line, sentence):
    text, said = said_of(tmp_path, before, after)
    number = next(i for i, each in enumerate(text.splitlines(), 1) if each.startswith(line))
    start, _, end = sentence.partition("{n}")
    assert said.startswith(f"{number}{start}")
    assert said.endswith(end)


def test_keys_in_texts_of_several_lines_are_no_keys():
    text = 'hint = """\nseconds = 1\n[limits]\n"""\n[limits]\n"seconds" = 2\n[[a]]\nx = 1\n[[a]]\nx.y = 1\n'
    places = ("hint",), ("limits",), ("limits", "seconds"), ("a", 1, "x"), ("a", 2, "x"), ("a", 2, "z"), ("b",)
    assert [line_of(text, place) for place in places] == [1, 5, 6, 8, 10, 9, 1]


def test_a_manifest_that_is_no_toml_is_told_with_its_line(tmp_path):
    assert "line 1" in said_of(tmp_path, "title = ", "title ")[1]


def test_a_rung_says_what_its_manifest_lacks(tmp_path, monkeypatch):
    name = "01_one_door"
    shutil.copytree(LABS / "from_scratch" / name, tmp_path / "from_scratch" / name)
    file = tmp_path / "from_scratch" / name / "rung.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("size =", "sise ="), encoding="utf-8")
    monkeypatch.setenv("JITKIT_LABS", str(tmp_path))
    with pytest.raises(ManifestError) as error:
        rungs.all_rungs.__wrapped__()
    assert str(error.value) == f"{file}:1: `size` should be a positive whole number"
