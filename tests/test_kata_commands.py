"""The learner's commands, as a learner uses them: what they say, what they leave behind, and how they end."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import types
import xml.etree.ElementTree as ElementTree

import pytest
from kata_workspace import FRAGILE, LABS, LISTS, MERGE, PARTITION, SIGN, SPLIT, SWAPPED, learner

from jitkit.kata.command import cli
from jitkit.kata.engine import assessor, checking, comparison, manifest, running, verdicts
from jitkit.kata.engine.plain import to_plain
from jitkit.kata.engine.statuses import Status
from jitkit.kata.workspace.workspace import Workspace

__all__ = ["learner"]  # a fixture

# --- start ------------------------------------------------------------------------------------------------------


def test_start_makes_a_folder_for_each_lab_and_a_guide(learner):
    names = {path.relative_to(learner.root).as_posix() for path in learner.root.rglob("*") if path.is_file()}
    assert {"README.md", "90_lists/README.md", "90_lists/exercises.py", "91_smooth/exercises.py"} <= names
    assert "90_lists/checks.py" not in names
    assert "90 Lists" in (learner.root / "README.md").read_text(encoding="utf-8")


def test_start_again_leaves_what_is_written_and_puts_back_what_is_missing(learner):
    learner.write(merge_lists=MERGE)
    learner.smooth.unlink()
    (learner.root / "90_lists" / "README.md").write_text("my notes", encoding="utf-8")
    before = learner.lists.read_bytes()
    shown = learner("start")
    assert "put back: 91_smooth/exercises.py" in shown
    assert learner.lists.read_bytes() == before
    assert (learner.root / "90_lists" / "README.md").read_text(encoding="utf-8") == "my notes"
    assert "up to date" in learner("start")


def test_an_upgrade_renews_texts_and_appends_new_exercises_to_a_file_that_is_theirs(learner, tmp_path, monkeypatch):
    newer = tmp_path / "newer"
    shutil.copytree(LABS, newer)
    older = tmp_path / "older"
    shutil.copytree(LABS, older)
    lab = older / "90_lists"
    stubs = (lab / "exercises.py").read_text(encoding="utf-8")
    (lab / "exercises.py").write_text(stubs[: stubs.index("# --- 90.2")].rstrip() + "\n", encoding="utf-8")
    toml = (lab / "lab.toml").read_text(encoding="utf-8")
    (lab / "lab.toml").write_text(toml[: toml.rindex("[[exercise]]")], encoding="utf-8")
    (lab / "README.md").write_text("# An older text\n", encoding="utf-8")
    root = tmp_path / "other"
    monkeypatch.setenv("JITKIT_LABS", str(older))
    learner("start", root)
    file = root / "90_lists" / "exercises.py"
    theirs = file.read_text(encoding="utf-8").replace('raise NotImplementedError("90.1")', "return 1  # mine")
    file.write_bytes(theirs.replace("\n", "\r\n").encode())
    monkeypatch.setenv("JITKIT_LABS", str(newer))
    shown = learner("start", root)
    assert "renewed: " in shown
    assert "90.2 added at the end of" in shown
    now = file.read_bytes().decode()
    assert now.startswith(theirs.replace("\n", "\r\n").rstrip())
    assert "\n\r\n\r\n# --- 90.2" in now
    assert "def split_list" in now
    assert "\n" not in now.replace("\r\n", "")
    assert "up to date" in learner("start", root)
    assert (root / "90_lists" / "README.md").read_text(encoding="utf-8").startswith("# 90 Lists")


def test_an_exercise_that_was_deleted_does_not_come_back_by_itself(learner):
    text = learner.lists.read_text(encoding="utf-8")
    learner.lists.write_text(text[: text.index("# --- 90.2")], encoding="utf-8")
    assert "up to date" in learner("start")
    shown = learner("check", "90.2", status=1)
    assert "There is no function `partition_list`" in shown


def test_start_does_not_take_a_file_for_a_folder(learner):
    assert "is a file" in learner("start", learner.lists, status=1)


def test_start_writes_into_a_folder_with_other_things_only_when_told_to(learner, tmp_path):
    root = tmp_path / "a thesis"
    root.mkdir()
    (root / ".git").mkdir()
    notes = root / "README.md"
    notes.write_text("my own", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    shown = " ".join(learner("start", root, status=1).split())
    assert "a thesis has other things in it. Choose a new folder, or an empty one;" in shown
    assert f'`jitkit start --into-existing "{root}"`.' in shown
    assert sorted(tmp_path.rglob("*")) == before
    learner("start", "--into-existing", root)
    assert notes.read_text(encoding="utf-8") == "my own"
    assert (root / "90_lists" / "exercises.py").is_file()
    assert "up to date" in learner("start", root), "it is a workspace now"


@pytest.mark.parametrize("inside", [[], [".git"]])
def test_start_takes_an_empty_folder(learner, tmp_path, inside):
    root = tmp_path / "empty"
    root.mkdir()
    for name in inside:
        (root / name).mkdir()
    assert "2 labs" in learner("start", root)


def test_start_without_a_folder_looks_before_it_writes_too(learner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jitkit-labs").mkdir()
    (tmp_path / "jitkit-labs" / "mine.txt").write_text("mine", encoding="utf-8")
    assert "start --into-existing jitkit-labs" in " ".join(learner("start", status=1).split())


# --- outside, and wrong words -----------------------------------------------------------------------------------


def test_outside_of_a_workspace_every_verb_says_what_to_do(learner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for verb in ("watch", "check", "status", "hint", "show", "export"):
        shown = learner(verb, *(["x"] if verb == "export" else []), status=1)
        assert shown == (
            "jitkit: this folder is not a workspace, nor inside of one. Make one with `jitkit start my-labs`, then `cd my-labs`.\n"
        )
    assert "jitkit start my-labs" in learner()


@pytest.mark.parametrize(
    ("what", "part"),
    [
        ("90.7", "Lab 90 has 90.1, 90.2"),
        ("07", "There are: 90_lists, 91_smooth"),
        ("nothing.py", "there is no file nothing.py"),
        ("README.md", "is not a file of a lab"),
    ],
)
def test_what_is_not_there_is_wrong_usage_and_names_what_is(learner, what, part):
    assert part in learner("check", what, status=2)


# --- check ------------------------------------------------------------------------------------------------------


def test_a_stub_is_to_do_and_not_a_failure_among_all(learner):
    assert "`merge_lists` is still to be written" in learner("check", "90.1", status=1)
    assert "you have not written anything yet" in learner("check", status=1)


def test_a_right_answer_passes_and_says_why_and_what_is_next(learner):
    learner.write(merge_lists=MERGE)
    shown = learner("check", "90.1")
    assert "✓ PASS  90.1 Merge lists" in shown
    assert "yours: 90.1; reference: the rest" in shown
    assert "why: The mask has one entry" in shown
    assert "next: 90.2 Split a list" in shown
    assert "lab 90: 1 of 2  90.1✓ 90.2○" in shown


def test_a_wrong_answer_shows_the_first_difference_whole(learner):
    learner.write(merge_lists="def merge_lists(mask, unchosen, chosen):\n    print('hello')\n    return 3 * mask\n")
    shown = learner("check", "90.1", status=1)
    assert "✗ FAIL  90.1 Merge lists" in shown
    assert "✗ fail: Items come in the order of the mask." in shown
    assert "A number is expected, and a truth value came.\n      in result[0]" in shown
    assert "      expected  10\n      yours     True\n" in shown
    assert "      90_lists/exercises.py:18\n        def merge_lists(mask, unchosen, chosen):" in shown
    assert "printed:\n        hello" in shown
    assert "next: jitkit hint 90.1; all of it: .jitkit/last/90.1.txt" in shown
    full = (learner.root / ".jitkit" / "last" / "90.1.txt").read_text(encoding="utf-8")
    assert "--- expected\n[0] 10" in full


def test_an_error_shows_the_learners_own_line(learner):
    learner.write(merge_lists="def merge_lists(mask, unchosen, chosen):\n    x = 1\n    return x / 0\n")
    shown = learner("check", "90.1", status=1)
    assert "✗ error: Items come in the order of the mask." in shown
    assert "The program ended in a ZeroDivisionError." in shown
    assert "      90_lists/exercises.py:20\n        return x / 0" in shown


def test_a_verdict_shows_the_call_and_points_at_the_function_that_was_called(learner):
    learner.write(partition_list=PARTITION, split_list=SPLIT.replace("*parts, rest", "rest, *parts"))
    shown = learner("check", "90.2", status=1)
    assert "call      split_list([" in shown
    line = learner.lists.read_text(encoding="utf-8").splitlines().index("def split_list(items, sizes):") + 1
    assert f"90_lists/exercises.py:{line}" in shown
    learner.write(split_list=SPLIT, partition_list=PARTITION.replace("if not m]", "if m]"))
    shown = learner("check", "90.2", status=1)
    assert "call      partition_list([" in shown
    assert learner.report("90.2").verdict.first_failure.call.startswith("partition_list([")


def call_shown(right, value, *calls):
    """Return the call that a verdict shows. Each of `calls` is the text of a call, and the value that it returned."""
    check = checking.Check("90.1", "f", "It is so.", (), lambda jk, rng: None, None, False)
    right, value = (to_plain(part) for part in (right, value))
    result = verdicts.CheckResult(
        check, Status.FAIL, "", comparison.first_difference(right, value), None, "", 0.0, value, right
    )
    seen = tuple(running.Call(text, 1, to_plain(returned)) for text, returned in calls)
    return assessor.with_call(result, running.Outcome("f", value, calls=seen)).call


def test_a_verdict_shows_the_call_of_several_that_gave_what_is_wrong(learner):
    first, second, third = calls = [("f(1)", 1), ("f(2)", 2), ("f(3)", 3)]
    assert call_shown([1, 0, 3], [1, 2, 3], *calls) == "f(2)"
    assert call_shown([[(1, "a"), (0, "b")], [(3, "c")]], [[(1, "a"), (2, "b")], [(3, "c")]], *calls) == "f(2)"
    assert call_shown([[(1,), ()], [(3,)]], [[(1,), (2,)], [(3,)]], *calls) == "f(2)"
    assert call_shown([0, "x", "y", "z"], [1, "x", "y", "z"], *calls) == "f(1)"
    assert call_shown([(0, 5), "y", "z", "w"], [(4, 5), "y", "z", "w"], first, ("f(2)", (4, 5)), third) == "f(2)"
    assert call_shown(["x", 5], ["y", 5], *calls) == "f(3)  # the last call"
    assert call_shown(["x", 5], ["y", 5], second) == "f(2)"
    assert call_shown(1, checking.raised({}.pop, "a"), *calls) == "f(3)"


def test_a_jaxpr_that_differs_is_shown_with_its_equation_and_with_numbers(learner):
    learner.write_sign(SIGN.replace("+ 1", "- 1"))
    shown = learner("check", "91", status=1)
    assert "There is `sub` where `add` should be." in shown
    assert "expected  c:f32[3] = add b 1.0:f32[]" in shown
    assert "For float32[3] [2., 3., 4.] it should compute float32[3] [0.6666667, 0.75" in shown


def test_functions_that_passed_run_with_others_and_changed_ones_do_not(learner):
    learner.write(**LISTS)
    assert "yours: 90.2; reference: the rest" in learner("check", "90.2")
    assert "yours: 90.1 90.2; reference: the rest" in learner("check", "90.1")
    learner.write(partition_list=PARTITION.replace("return", "mask = list(mask)\n    return"))
    assert "yours: 90.1; reference: the rest" in learner("check", "90.1")
    assert "1 pass, 1 changed" in learner("status")


def test_a_passing_function_that_breaks_another_is_named_and_set_aside(learner):
    learner.write(merge_lists=FRAGILE, partition_list=PARTITION, split_list=SPLIT)
    learner("check", "90.1")
    shown = " ".join(learner("check", "90.2").split())
    assert "It passes with the reference in the place of your 90.1" in shown
    assert "fails with your 90.1: The program ended in an IndexError." in shown
    assert "yours: 90.2; reference in place of your 90.1, with which others fail" in shown
    assert "reference in place of your 90.1" in learner("check", "90.2")  # from the last verdict, without another run
    shown = " ".join(learner("check", "90.1").split())
    assert "It passes its own checks, but 90.2 fails with it" in shown
    assert "90.1!" in shown
    learner.write(merge_lists=MERGE)
    learner("check", "90.1")
    assert "yours: 90.1 90.2; reference: the rest" in learner("check", "90.2")


def test_a_suspicion_ends_when_anything_changes_that_it_rests_on(learner):
    learner.write(merge_lists=FRAGILE, partition_list=PARTITION, split_list=SPLIT)
    learner("check", "90.1")
    learner("check", "90.2")
    merge = learner.workspace.exercise("90.1")[1]
    assert "90.2 fails with it" in learner.workspace.look().suspicion(merge)
    learner.write(partition_list=PARTITION.replace("return", "mask = list(mask)\n    return"))
    assert not learner.workspace.look().suspicion(merge)


def test_after_a_pass_the_checks_draw_other_numbers(learner):
    learner.write(**LISTS)
    reports = [learner.report("90.1") for _ in range(2)]
    assert [report.passed for report in reports] == [True, True]
    first, second = (report.verdict.results[0].value for report in reports)
    assert first != second
    learner.write(merge_lists=SWAPPED)
    reports = [learner.report("90.1") for _ in range(2)]
    # a failure can be reproduced
    assert reports[0].verdict.results[0].value == reports[1].verdict.results[0].value


def test_what_a_passing_function_prints_is_shown(learner):
    learner.write(merge_lists=MERGE.replace("    sizes =", "    print('here we are')\n    sizes ="))
    assert "here we are" in learner("check", "90.1")


def test_check_of_a_file_or_a_lab_or_all_counts(learner):
    learner.write(**LISTS)
    assert "2 of 2 exercises pass" in learner("check", learner.lists)
    assert "2 of 2 exercises pass" in learner("check")
    learner.write(merge_lists=SWAPPED)
    assert "1 of 2 exercises pass; not yet: 90.1" in learner("check", "90", status=1)


def test_json_and_junit_say_the_same_as_the_text(learner, tmp_path):
    learner.write(merge_lists=SWAPPED)
    file = tmp_path / "report.xml"
    data = json.loads(learner("check", "90", "--json", "--junit", file, status=1))
    assert data["status"] == "fail"
    first, second = data["exercises"]
    assert (first["id"], first["status"], second["status"]) == ("90.1", "fail", "todo")
    assert [c["status"] for c in first["checks"]] == ["fail", "pass", "fail"]
    assert first["checks"][0]["expected"].startswith("10")
    suites = ElementTree.parse(file).getroot()
    assert [s.get("failures") for s in suites] == ["2", "0"]
    assert [s.get("skipped") for s in suites] == ["0", "1"]
    assert suites[0][0].get("name") == "order_of_the_mask"
    assert "expected: 10" in suites[0][0][0].text


def test_hidden_checks_run_on_request_only(learner, tmp_path):
    hidden = tmp_path / "hidden.py"
    hidden.write_text(
        "from jitkit.kata.checking import check\n\n\n@check('90.1', 'Nothing to merge.', hidden=True)\n"
        "def nothing(jk, rng):\n    return jk.base.util.merge_lists([True], [], [3])\n",
        encoding="utf-8",
    )
    learner.write(merge_lists=FRAGILE)
    learner("check", "90.1")
    assert "✗ error: Nothing to merge." in learner("check", "90.1", "--hidden", hidden, status=1)
    assert "1 fail, 1 to do" in learner("status")  # it no longer passes, since the checks have changed
    assert "there is no file" in learner("check", "90.1", "--hidden", "gone.py", status=2)


# --- hint, show, reset, status ----------------------------------------------------------------------------------


def test_hints_go_one_step_further_and_the_third_knows_the_learners_bug(learner):
    learner.write(merge_lists=SWAPPED)
    assert "hint 1 of 4, a question\n\n  Which list does the first True take from?" in learner("hint", "90.1")
    assert "hint 2 of 4, the idea" in learner("hint", "90.1")
    third = " ".join(learner("hint").split())
    assert "as if you believed that True comes from the first list. Which list is called `chosen`?" in third
    assert "    for flag in mask:\n        ..." in learner("hint")
    assert "hint 3 of 4" in learner("hint")  # after all hints, show the one that fits the present bug
    assert "hint 2 of 4, the idea" in learner("hint", "90.1", "--step", "2")
    assert learner.state.of("90.1").hints == 4


def test_the_third_hint_without_a_mutant_names_the_first_check_that_fails(learner):
    learner.write(merge_lists="def merge_lists(mask, unchosen, chosen):\n    return 7\n")
    for _ in range(2):
        learner("hint", "90.1")
    assert "Fix this first: Items come in the order of the mask. A list is expected" in " ".join(
        learner("hint", "90.1").split()
    )


def test_the_third_hint_asks_for_an_attempt_where_there_is_none(learner):
    for _ in range(2):
        learner("hint", "90.2")
    assert "still to be written" in learner("hint", "90.2")


def test_the_solution_opens_after_a_pass_or_by_giving_up_which_is_kept(learner):
    assert "opens when yours passes" in learner("show", "90.1", "--solution", status=1)
    assert "The mask has one entry" in learner("show", "90.1", "--solution", "--give-up")
    assert learner.state.of("90.1").gave_up
    assert "In JAX" not in learner("show", "90.1", "--solution")
    learner.write(**LISTS)
    learner("check", "90.2")
    shown = learner("show", "90.2", "--solution")
    assert "jitkit.base.util:partition_list" in shown
    assert "rest = rest[size:]" in shown
    assert "in JAX: jax/_src/util.py:split_list" in shown
    assert not learner.state.of("90.2").gave_up


def test_show_tells_the_task_and_the_programs_of_its_checks(learner):
    shown = learner("show", "90.1")
    assert "Put two lists together" in shown
    assert "- The result is a list." in shown
    learner.write_sign(SIGN.replace("+ 1", "- 1"))
    shown = learner("show", "91.1", "--jaxpr")
    assert "expected:\n    { lambda" in shown
    assert "= sub b 1.0:f32[]" in shown
    assert "no check of 91.1 returns StableHLO" in learner("show", "91.1", "--hlo", status=2)


def test_show_tells_what_an_exercise_may_use_and_all_of_a_helper(learner):
    task = " ".join(learner("show", "91.1").split())
    assert "You may use" in task
    assert "ensure_arraylike(name: str, x: Any) -> Any" in task
    helper = learner("show", "ensure_arraylike")
    assert "from jitkit.numpy.util import ensure_arraylike" in helper
    assert "90.1 asks you to write it" in learner("show", "merge_lists")
    assert "return [next" not in learner("show", "merge_lists")
    assert "do you mean ensure_arraylike?" in learner("show", "ensure_array", status=2)


def test_a_member_of_a_class_that_a_stub_imports_is_a_helper_too(learner, monkeypatch):
    monkeypatch.delenv("JITKIT_LABS")
    member = learner("show", "LoweringContext.convert")
    assert "LoweringContext.convert(x: str, aval: Any, dtype: Any) -> str" in member
    assert "from jitkit.interpreters.mlir import LoweringContext" in member
    assert "Return for each of `args` its position in the call." in learner("show", "Arguments.dynamic_positions")
    trace = learner("show", "BatchTrace")
    assert ".wrap(val: Any, dim: Dim) -> Any" in trace, "an exercise's class, which no stub imports"
    assert ".ancestors()" in trace, "what it inherits"
    assert ".axis: AxisData" in trace, "a value of each instance"
    both = " ".join(learner("show", "Program").split())
    assert "from jitkit.targets.hlo import Program; this is what lab 13 means" in both
    assert "what lab 04 and lab 05 mean" in both
    known = Workspace.look
    for lab, first in (("05", "what lab 04 and lab 05 mean"), ("13", "what lab 13 means")):
        at = types.SimpleNamespace(current=lambda lab=lab: (types.SimpleNamespace(number=lab), None))
        monkeypatch.setattr(Workspace, "look", lambda self, at=at: at)
        assert re.findall(r"this is (what lab [^;]*? means?)", " ".join(learner("show", "Program").split()))[0] == first
    monkeypatch.setattr(Workspace, "look", known)
    assert "Program._kernel(instruction: Instruction) -> Kernel" in learner("show", "Program._kernel")
    assert "no stub imports LoweringContext.conver" in learner("show", "LoweringContext.conver", status=2)


def test_the_experiment_runs_with_their_functions_and_keeps_guess_and_plot(learner):
    learner.write(**LISTS)
    learner("check", "90.1")
    shown = learner("show", "90", "--plot", "--guess", "2", "--quick")
    assert "You said: in proportion" in shown
    assert "each turn is written down" in shown
    assert learner.state.predictions == {"90": "in proportion"}
    assert (learner.root / ".jitkit" / "plots" / "90.png").read_bytes().startswith(b"\x89PNG")
    assert "--guess 1 is the first" in learner("show", "90", "--plot", "--guess", "9", status=1)
    assert "has no experiment" in learner("show", "91", "--plot", status=1)


def test_reset_brings_the_stub_back_and_keeps_the_rest_and_a_backup(learner):
    learner.write(**LISTS)
    learner.lists.write_bytes(learner.lists.read_bytes().replace(b"\n", b"\r\n"))
    before = learner.lists.read_bytes()
    shown = learner("reset", "90.2")
    now = learner.lists.read_bytes().decode()
    assert now.count("raise NotImplementedError") == 2
    assert MERGE.replace("\n", "\r\n") in now
    assert "\n" not in now.replace("\r\n", "")
    (backup,) = (learner.root / ".jitkit" / "backups").iterdir()
    assert backup.read_bytes() == before
    assert backup.name in shown
    learner("reset", "90")
    assert learner.lists.read_text(encoding="utf-8") == (LABS / "90_lists" / "exercises.py").read_text(encoding="utf-8")
    assert len(list((learner.root / ".jitkit" / "backups").iterdir())) == 2


def test_reset_works_on_a_file_that_is_no_python_by_its_headings(learner):
    learner.write(merge_lists=MERGE)
    text = learner.lists.read_text(encoding="utf-8").replace("def partition_list(", "def def partition_list((")
    learner.lists.write_text(text, encoding="utf-8")
    learner("reset", "90.2")
    assert "1 to do" not in learner("check", "90.1")
    assert "def def" not in learner.lists.read_text(encoding="utf-8")
    text = text.replace("# --- 90.2", "# 90.2")
    learner.lists.write_text(text, encoding="utf-8")
    assert "jitkit reset 90" in learner("reset", "90.2", status=1)
    assert learner.lists.read_text(encoding="utf-8") == text


def test_reset_appends_the_stub_of_a_deleted_exercise(learner):
    text = learner.lists.read_text(encoding="utf-8")
    learner.lists.write_text(text[: text.index("# --- 90.2")] + "mine = 1\n", encoding="utf-8")
    learner("reset", "90.2")
    now = learner.lists.read_text(encoding="utf-8")
    assert "mine = 1\n\n\n# --- 90.2" in now
    assert "def split_list" in now


def test_status_has_a_line_for_each_lab_and_says_where_the_learner_is(learner):
    learner.write(**LISTS)
    learner("check", "90.1")
    shown = learner("status")
    assert "90 Lists                    ✓○  1 pass, 1 unchecked" in shown
    assert "91 Smooth                   ○  1 to do" in shown
    assert "1 of 3 exercises run with your functions" in shown
    assert "You are at 90.1" in shown


def test_comments_and_empty_lines_do_not_undo_a_pass_and_a_changed_helper_does(learner):
    helped = "def merge_lists(mask, unchosen, chosen):\n    return helper(mask, unchosen, chosen)\n"
    learner.write(merge_lists=helped)
    text = learner.lists.read_text(encoding="utf-8") + "\n\n" + MERGE.replace("merge_lists", "helper")
    learner.lists.write_text(text, encoding="utf-8")
    learner("check", "90.1")
    learner.lists.write_text("# a comment\n\n" + text, encoding="utf-8")
    assert "1 pass" in learner("status")
    learner.lists.write_text(text.replace("iter(unchosen), iter(chosen)", "iter(chosen), iter(unchosen)"), "utf-8")
    assert "1 changed" in learner("status")


# --- export -----------------------------------------------------------------------------------------------------


def test_export_hands_over_a_jitkit_that_runs_and_passes_the_references_tests(learner, tmp_path):
    helped = "def merge_lists(mask, unchosen, chosen):\n    return _mine(mask, unchosen, chosen)\n"
    learner.write(**(LISTS | {"merge_lists": helped}))
    text = learner.lists.read_text(encoding="utf-8") + "\n\n# mine\n" + MERGE.replace("merge_lists", "_mine")
    learner.lists.write_text(text, encoding="utf-8")
    learner.write_sign("def soft_sign(x):\n    return x / (jnp.abs(x) + 1) * 1000\n")
    learner("check", status=1)
    folder = tmp_path / "my jit"
    assert "3 functions of yours (90.1 90.2)" in learner("export", folder)
    util = (folder / "jitkit" / "base" / "util.py").read_text(encoding="utf-8")
    assert MERGE.replace("merge_lists", "_mine") in util
    assert PARTITION in util
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert "| 90.1 | Merge lists | `jitkit.base.util:merge_lists` | mine |" in readme
    assert "| `jitkit.nn.functions:soft_sign` | reference |" in readme
    assert (folder / "tests" / "test_jit.py").is_file()
    assert not (folder / "tests" / "test_structure.py").exists()
    assert not (folder / "tests" / "targets").exists()  # these tests need compilers of 450 MB
    assert "not tail and not words" in (folder / "pyproject.toml").read_text(encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "tests/test_util.py", "-p", "no:cacheprovider"],
        cwd=folder, capture_output=True, text=True, check=False, env=_without_path(),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "is there already" in learner("export", folder, status=1)


def _without_path():
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


# --- the installation -------------------------------------------------------------------------------------------


def test_the_labs_of_a_clone_are_found(monkeypatch):
    monkeypatch.delenv("JITKIT_LABS", raising=False)
    assert manifest.labs_folder() == pathlib.Path(cli.__file__).parents[3] / "labs"
    assert manifest.tests_folder() == pathlib.Path(__file__).parent


def test_check_starts_its_process_before_it_imports_what_judges_and_shows():
    program = (
        "import sys, jitkit.kata.command.cli, jitkit.kata.verbs.check\n"
        "print([name for name in ('numpy', 'email', 'xml', 'ml_dtypes', 'jitkit.kata.engine.assessor') if name in sys.modules])\n"
        "import jitkit.kata.verbs.checked\n"
        "print([name for name in ('statistics', 'xml', 'jitkit.bench.notebook', 'jitkit.runtime') if name in sys.modules])\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["[]", "[]"]
