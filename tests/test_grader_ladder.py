"""Packages from scratch: found and parsed, run in the jail without jax and jitkit, compared with what jitkit computes."""

from __future__ import annotations

import ast

import pytest
import tails
from grader_catalogue import grade_only

from grading.__main__ import main
from grading.grader import rungs
from grading.grader.bubblewrap import JailError
from grading.grader.files import Invalid
from grading.grader.selftest import self_test
from grading.grader.shipped_code import ENTRY, reduced
from grading.grader.sources import Source
from grading.grader.standing import Standing
from grading.grader.store import Store
from jitkit.kata.ladder.rungs import machine_file, prefix, solution_file, solution_text
from jitkit.kata.ladder.wrong import wrong_versions

TEXT = solution_file().read_text(encoding="utf-8")
LADDER = rungs.ladder()
RUNGS = (*LADDER.exercises, *rungs.ladder(behind=True).exercises)
ALL_RUNGS = " ".join(rung.id for rung in LADDER.exercises)


@pytest.fixture(scope="session")
def jail():
    try:
        assert self_test() == []
    except JailError as error:
        pytest.skip(f"needs bubblewrap: {error}")


def sources(*paths, text="import xla\n"):
    return [Source(path, text if path.endswith(".py") and "xla" not in path else "", "", {}, ()) for path in paths]


@pytest.mark.parametrize(
    ("paths", "name", "files"),
    [
        (("myjax.py", "xla.py", "test_ladder.py"), "myjax", ["myjax.py"]),
        (("work/mine.py", "work/xla.py"), "mine", ["mine.py"]),
        (("myjax/__init__.py", "myjax/deep/core.py"), "myjax", ["myjax/__init__.py", "myjax/deep/core.py"]),
        (("myjax.py", "helpers.py", "xla.py"), "myjax", ["helpers.py", "myjax.py"]),
        (("ann.py",), "ann", ["ann.py"]),
    ],
)  # fmt: skip
def test_a_package_is_found_by_its_name_or_by_the_machine_beside_it(paths, name, files):
    given = sources(*paths)
    found = rungs.find_package(given)
    assert (found.name, sorted(found.texts), found.sources) == (name, files, given)


def test_answers_to_a_lab_beside_a_package_are_none_of_its_files():
    texts = {
        "myjax.py": "import xla\nfrom own import f\n",
        "own.py": "def relu(x): ...\n",
        "hello.py": "def relu(x): ...\n",
        "exercises.py": "def relu(x): ...\n",
        "more.py": "x = 1\n",
    }
    given = [Source(path, text, "", {}, ()) for path, text in texts.items()]
    found = rungs.find_package(given, {"relu"})
    assert sorted(found.texts) == ["more.py", "myjax.py", "own.py"]
    assert [s.path for s in given if s not in found.sources] == ["hello.py", "exercises.py"]


def test_two_packages_are_a_sentence_and_a_file_of_a_lab_is_none():
    with pytest.raises(Invalid, match="a/myjax and b/myjax"):
        rungs.find_package(sources("a/myjax.py", "b/myjax.py"))
    assert rungs.find_package(sources("hello.py", text="def relu(x):\n    return x\n")) is None


def submit(folder, name, text):
    (folder / name).mkdir(parents=True)
    (folder / name / "myjax.py").write_text(text, encoding="utf-8")
    (folder / name / "xla.py").write_bytes(machine_file().read_bytes())


def graded(tmp_path, packages):
    for name, text in packages.items():
        submit(tmp_path / "in", name, text)
    words = ["grade", tmp_path / "in", "--out", tmp_path / "out", "--quiet", "--workers", "2"]
    assert main([*map(str, words)]) == 0
    with Store(tmp_path / "out") as store:
        records = Standing.of(store).records
    found = {}
    for r in records:
        assert r.grade.lab in rungs.NAMES
        found.setdefault(r.grade.student, {})[r.grade.exercise] = r
    return found


@pytest.mark.parametrize("numbers", tails.keeping(["01 03 06", ALL_RUNGS], "01 03 06", mark=pytest.mark.rest))
@pytest.mark.usefixtures("jail")
def test_a_prefix_has_the_points_of_its_rungs_and_whoever_imports_jax_has_none(tmp_path, monkeypatch, numbers):
    """Among some rungs, or all: a package of five students is tried on each, and so is the reference, twice."""
    grade_only(monkeypatch, *numbers.split())
    submit(
        tmp_path / "in",
        "names",
        "from plain import a\nfrom inside import b\nfrom trace import c\n" + prefix(TEXT, "01"),
    )
    for name, bound in (("plain", "a"), ("inside", "b"), ("trace", "c"), ("numpy", "d")):  # our modules' names
        (tmp_path / "in" / "names" / f"{name}.py").write_text(f"{bound} = 1\n", encoding="utf-8")
    found = graded(
        tmp_path,
        {
            "three": prefix(TEXT, "03"),
            "empty": '"""Nothing."""\n',
            "jax": "from jax import *\nfrom jax import lax, numpy\n",
            "looks": "import os, sys\nfor name in ('jax', 'jitkit'):\n    try:\n        __import__(name)\n    except ImportError:\n"
            "        continue\n    raise SystemExit(name)\n" + prefix(TEXT, "01"),
            "no Python": "def f(:\n",
        },
    )
    full = {id: r.points == r.max for id, r in found["three"].items()}
    assert list(full) == numbers.split()
    assert all(full[id] for id in full if id <= "03")
    assert not any(full[rung.id] for rung in LADDER.exercises[5:] if rung.id in full)
    assert not any(r.points for name in ("empty", "jax", "no Python") for r in found[name].values())
    assert all("uses jax" in r.flags for r in found["jax"].values())
    assert all(found[name]["01"].points == found[name]["01"].max for name in ("looks", "names"))
    assert found["no Python"]["01"].grade.checks[0]["line"] == ["myjax.py", 1]


def test_a_copy_of_the_solution_is_flagged():
    def flags(text):
        package = rungs.Found("myjax", {"myjax.py": text}, [])
        return [f for f in rungs.package_items(package, LADDER.exercises)["01"]["flags"] if "word for word" in f]

    (copied,) = flags(TEXT)
    own = "\ndef f(x):\n    return [" + ", ".join(f"x[{i}]" for i in range(30)) + "]\n"
    (partly,) = flags(prefix(TEXT, "03") + own)
    count, of = (int(word) for word in partly.split() if word.isdigit())
    assert copied.split()[0] == copied.split()[3]
    assert of == count + 1 < int(copied.split()[0])
    assert flags(own) == []


@pytest.mark.tail
@pytest.mark.usefixtures("jail")
def test_the_solution_has_all_points_and_a_wrong_version_of_each_rung_has_not(tmp_path):
    packages = {"solution": solution_text()}
    by_number = {rung.number: rung for rung in rungs.all_rungs()}
    for number, rung in by_number.items():
        packages[f"wrong {number}"] = wrong_versions(rung)[0].applied(solution_text(), rung)
    found = graded(tmp_path, packages)
    assert all(r.points == r.max for r in found["solution"].values())
    for number in by_number:
        record = found[f"wrong {number}"][number]
        assert record.points < record.max, number


@pytest.mark.parametrize("rung", RUNGS, ids=[rung.id for rung in RUNGS])
def test_a_program_travels_alone_without_its_name_and_its_sentence(rung):
    files = rungs.program_files(rung)
    assert files[0].checks
    for file, c in [(each, c) for each in files for c in each.checks]:
        text = ast.unparse(reduced(file.source, c.name.removeprefix(file.prefix), strip=True))
        assert f"def {ENTRY}(jk, rng)" in text
        assert c.sentence not in text
        assert "@program" not in text
