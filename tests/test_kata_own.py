"""A learner's own programs run with those of their functions that pass; a message names the functions that are not in
place.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from kata_workspace import MERGE, PARTITION, SIGN, SPLIT, SWAPPED, learner

__all__ = ["learner"]  # a fixture

WRONG = "def partition_list(mask, items):\n    return items, items\n"
PROGRAM = """\
import sys
from jitkit.base import util
import jitkit
print(sys.argv[1:], __name__, util.merge_lists.__code__.co_filename.endswith("exercises.py"))
print(util.partition_list.__code__.co_filename.endswith("exercises.py"), jitkit.nn.soft_sign(1.0))
"""


def jitkit(root, *arguments, given=None):
    command = [sys.executable, "-m", "jitkit.kata", *arguments]
    done = subprocess.run(command, cwd=root, input=given, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_run_has_what_passes_in_place_and_says_what_is_not(learner):
    learner.write(merge_lists=MERGE, partition_list=WRONG, split_list=SPLIT)
    learner.write_sign(SIGN)
    (learner.root / "mine.py").write_text(PROGRAM)
    status, printed, said = jitkit(learner.root, "run", "mine.py", "a", "--b")
    assert status == 0, said
    assert printed.splitlines() == ["['a', '--b'] __main__ True", "False 0.5"]
    assert "yours: 90.1 91.1; reference: the rest" in said
    assert "not in place: 90.2 does not pass: jitkit check 90.2" in said


def test_a_file_that_is_no_python_is_named_and_the_others_are_in_place(learner):
    learner.write_sign(SIGN)
    learner.lists.write_text("def merge_lists(:\n")
    (learner.root / "mine.py").write_text(PROGRAM)
    status, printed, said = jitkit(learner.root, "run", "mine.py")
    assert (status, printed.splitlines()[0]) == (0, "[] __main__ False")
    assert "yours: 91.1" in said
    assert "all of 90_lists. 90_lists/exercises.py:1: invalid syntax" in " ".join(said.split())


def test_a_programs_end_is_its_own(learner):
    program = learner.root / "mine.py"
    program.write_text("import sys; sys.exit(7)\n")
    assert jitkit(learner.root, "run", "mine.py")[0] == 7
    program.write_text("def f():\n    return 1 / 0\nf()\n")
    status, _, said = jitkit(learner.root, "run", "mine.py")
    assert status == 1
    assert "ZeroDivisionError" in said
    assert "in_place" not in said
    assert "line 2, in f" in said
    program.write_text("def f(:\n")
    status, _, said = jitkit(learner.root, "run", "mine.py")
    assert status == 1
    assert "SyntaxError" in said
    assert "in_place" not in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [(("run", "nowhere.py"), "there is no file nowhere.py"), (("run", "90_lists"), "90_lists is a folder")],
)
def test_what_cannot_be_run_is_wrong_usage(learner, arguments, sentence):
    assert sentence in learner(*arguments, status=2)


def test_outside_of_a_workspace_run_finds_the_programs_own(learner, tmp_path, monkeypatch):
    program = learner.root / "mine.py"
    program.write_text("print('ran')\n")
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    assert jitkit(outside, "run", str(program))[:2] == (0, "ran\n")
    (outside / "other.py").write_text("print('ran')\n")
    status, printed, said = jitkit(outside, "run", "other.py")
    assert (status, printed) == (1, "")
    assert "not a workspace" in said
    assert "not a workspace" in jitkit(outside, "python", given="")[2]


def test_an_exercise_that_is_half_written_says_what_is_missing(learner):
    learner.write(partition_list=PARTITION)
    said = jitkit(learner.root, "python", given="")[2]
    assert "yours: none" in said
    assert "90.2 is not complete. `split_list` is still to be written." in said
    assert "90.1" not in said


def test_what_is_piped_into_python_is_run_with_them(learner):
    learner.write(merge_lists=MERGE)
    program = "from jitkit.base import util\nprint(util.merge_lists.__code__.co_filename)\n"
    status, printed, _ = jitkit(learner.root, "python", given=program)
    assert status == 0
    assert printed.strip().endswith("exercises.py")


MINE = """\
import jitkit as jax
from jitkit.base import util
from jitkit.base.util import merge_lists
from jitkit.kata import mine
print(util.merge_lists.__code__.co_filename.endswith("exercises.py"), merge_lists is util.merge_lists)
print(mine.functions, mine.left_out)
print(jax.jit(lambda x: x + 1)(1))
"""


def test_mine_renews_what_a_notebook_has_imported(learner):
    learner.write(merge_lists=MERGE, partition_list=WRONG, split_list=SPLIT)
    done = subprocess.run([sys.executable, "-c", MINE], cwd=learner.root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].endswith("yours: 90.1; reference: the rest")
    assert lines[2:] == [
        "True True",
        "('jitkit.base.util:merge_lists',) ('90.2 does not pass: jitkit check 90.2',)",
        "2",
    ]


def test_mine_within_run_does_nothing_a_second_time(learner):
    learner.write(merge_lists=MERGE, partition_list=WRONG, split_list=SPLIT)
    (learner.root / "p.py").write_text(MINE)
    status, printed, said = jitkit(learner.root, "run", "p.py")
    assert status == 0, said
    assert said.count("reference: the rest") == 1
    assert printed.splitlines() == [
        "True True",
        "('jitkit.base.util:merge_lists',) ('90.2 does not pass: jitkit check 90.2',)",
        "2",
    ]


def test_functions_that_cannot_be_imported_together_are_a_sentence(learner):
    """Each passed by itself; then a helper's value raises."""
    text = "import os\nlimit = int(os.environ.get('LIMIT', '3'))\n\n\n" + MERGE.replace(
        "iter(unchosen)", "iter(unchosen[:limit * 99])"
    )
    learner.lists.write_text(text + "\n\n" + PARTITION)
    assert "PASS" in learner("check", "90.1")
    command = [sys.executable, "-c", "from jitkit.kata import mine"]
    environment = os.environ | {"LIMIT": "three"}
    done = subprocess.run(command, cwd=learner.root, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1
    assert "ImportError: jitkit cannot be imported with your functions in it" in done.stderr
    assert "exercises.py:2" in done.stderr
    assert "invalid literal" in done.stderr
    (learner.root / "p.py").write_text("print('ran')\n")
    done = subprocess.run(
        [sys.executable, "-m", "jitkit.kata", "run", "p.py"],
        cwd=learner.root, capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 1
    assert "exercises.py:2" in done.stderr
    assert "ran" not in done.stdout


def test_a_wrong_answer_is_never_in_place(learner):
    learner.write(merge_lists=SWAPPED)
    (learner.root / "mine.py").write_text(PROGRAM)
    _, printed, said = jitkit(learner.root, "run", "mine.py")
    assert printed.startswith("[] __main__ False")
    assert "90.1 does not pass" in said


WITH = """\
from jitkit.base import util
print(util.partition_list.__code__.co_filename.endswith("exercises.py"), util.partition_list([True, False], "ab"))
"""


def test_with_an_exercise_that_does_not_pass_its_functions_are_in_place(learner):
    learner.write(merge_lists=MERGE, partition_list=WRONG, split_list=SPLIT)
    (learner.root / "mine.py").write_text(WITH)
    status, printed, said = jitkit(learner.root, "run", "--with", "90.2", "mine.py")
    assert (status, printed) == (0, "True ('ab', 'ab')\n"), said
    assert "yours: 90.1 90.2; reference: the rest" in said
    assert "not in place" not in said
    assert jitkit(learner.root, "run", "mine.py")[1] == "False (['b'], ['a'])\n", "without it the reference runs"


def test_with_an_exercise_that_cannot_be_in_place_says_why(learner):
    (learner.root / "mine.py").write_text(WITH)
    status, printed, said = jitkit(learner.root, "run", "--with", "90.2", "mine.py")
    assert (status, printed) == (1, "")
    assert "90.2 cannot be put in place: jitkit check 90.2 says why." in " ".join(said.split())
    status, _, said = jitkit(learner.root, "run", "--with", "90.7", "mine.py")
    assert status == 2, said
    assert "90.7" in said
