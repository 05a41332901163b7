"""Whatever a learner's functions and files do, there is a verdict with a sentence: never a hang, never a traceback of ours."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
from kata_workspace import LISTS, MERGE, learner

from jitkit.kata.engine.splice import splice_source
from jitkit.kata.engine.statuses import Status
from jitkit.kata.engine.submission import LearnerFile, SpliceError, Submission, Target
from jitkit.kata.screens import terminal
from jitkit.kata.workspace import judge

__all__ = ["learner"]  # a fixture

HEAD = "def merge_lists(mask, unchosen, chosen):\n"


def body(text):
    return HEAD + "".join(f"    {line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    ("text", "word", "sentence"),
    [
        ("while True: pass", "too long", "It was still running after 1 seconds, and was stopped."),
        ("return input()", "error", "The program ended in a RuntimeError."),
        pytest.param("breakpoint()", "error", "The program ended in a RuntimeError.", marks=pytest.mark.tail),
        ("import os\nos._exit(3)", "error", "with exit code 3: something called `exit`"),
        pytest.param(
            "import sys\nsys.exit('bye')", "error", "The program ended in a SystemExit.", marks=pytest.mark.tail
        ),
        pytest.param(
            "return merge_lists(mask, chosen, unchosen)",
            "error",
            "The program ended in a RecursionError.",
            marks=pytest.mark.tail,
        ),
        pytest.param(
            "raise KeyboardInterrupt", "error", "The program ended in a KeyboardInterrupt.", marks=pytest.mark.tail
        ),
        ("raise type('My', (Exception,), {'__str__': lambda e: 1 / 0})", "error", "The program ended in a My."),
        ("import os\nos.close(0)\nos.close(1)\nos.close(2)\nreturn 3", "error", "closed its streams"),
        pytest.param("x = []\nx.append(x)\nreturn x", "error", "RecursionError", marks=pytest.mark.tail),
        pytest.param("return iter([])", "fail", "list_iterator came", marks=pytest.mark.tail),
        ("return 10 ** 10000", "fail", "number of 33220 bits came"),
        pytest.param("return [float('nan'), '\\ud800']", "fail", "expected", marks=pytest.mark.tail),
    ],
    ids=str,
)
def test_what_a_function_does_is_a_verdict_with_a_sentence(learner, monkeypatch, text, word, sentence):
    monkeypatch.setattr(judge, "_SECONDS", 1.0)
    learner.write(merge_lists=body(text))
    verdict = learner.report("90.1").verdict
    first = verdict.first_failure
    assert verdict.status == "fail"
    assert sentence in first.sentence
    shown = learner("check", "90.1", status=1)
    assert f"✗ {word}" in shown
    assert "Traceback" not in shown


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX: asks a process for its stack by a signal")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("if not mask:\n    return []\nwhile True:\n    mask = mask[:]\nreturn mask", "mask = mask[:]"),
        ("def ends(n):\n    while n: n = 1\nfor each in mask:\n    ends(1)\nreturn []", "while n: n = 1"),
        ("import time\nwhile True: time.sleep(0.01)", "while True: time.sleep(0.01)"),
    ],
    ids=str,
)
def test_an_endless_loop_is_shown_at_its_line(learner, monkeypatch, text, line):
    monkeypatch.setattr(judge, "_SECONDS", 1.0)
    learner.write(merge_lists=body(text))
    first = learner.report("90.1").verdict.first_failure
    assert first.status == Status.TIME, first
    written = [each.strip() for each in learner.lists.read_text(encoding="utf-8").splitlines()]
    assert first.line == (str(learner.lists), written.index(line) + 1) or (  # between two lines of the loop
        "[:]" in line and first.line == (str(learner.lists), written.index(line))
    )


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and limits")
@pytest.mark.parametrize(
    ("text", "word", "sentence"),
    [
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "error", "of SIGSEGV"),
        ("x = bytearray(7 << 30)", "too much", "more memory than a check may have (6 GiB)"),
        ("while True: print('x' * 1_000_000)", "too much", "more than a check may print (50 MB)"),
    ],
    ids=str,
)
def test_what_the_system_has_to_stop_is_a_verdict_too(learner, text, word, sentence):
    learner.write(merge_lists=body(text))
    shown = learner("check", "90.1", status=1)
    assert f"✗ {word}" in shown
    assert sentence in " ".join(shown.split())
    if "bytearray" in text:
        line = learner.lists.read_text(encoding="utf-8").splitlines().index("    x = bytearray(7 << 30)") + 1
        assert learner.report("90.1").verdict.first_failure.line == (str(learner.lists), line)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and limits")
def test_a_check_whose_command_was_killed_does_not_run_forever(learner):
    learner.write(
        merge_lists=body("import resource\nprint('most', *resource.getrlimit(resource.RLIMIT_CPU)[:1])\nreturn 3")
    )
    assert "most 1800" in learner("check", "90.1", status=1)


def test_what_is_printed_is_shown_in_part_and_does_not_end_the_check(learner):
    learner.write(merge_lists=MERGE.replace("    sources", "    print('line\\n' * 3000)\n    sources"))
    assert "✓ PASS" in learner("check", "90.1")
    learner.write(merge_lists=MERGE.replace("    sources", "    print('line\\n' * 3000)\n    chosen = []\n    sources"))
    shown = learner("check", "90.1", status=1)
    assert "more lines in the file below" in shown
    assert shown.count("        line\n") == 12
    learner.write(merge_lists=MERGE.replace("    sources", "    print('line' * 3000)\n    chosen = []\n    sources"))
    shown = learner("check", "90.1", status=1)  # a long line becomes many lines on a screen
    assert "more lines in the file below" in shown
    assert sum("lineline" in line for line in shown.splitlines()) == 12


def test_after_a_check_that_dies_the_others_are_run(learner):
    learner.write(
        merge_lists=MERGE.replace("    sources", "    import os\n    if len(mask) > 4: os._exit(1)\n    sources")
    )
    assert [r.status for r in learner.report("90.1").verdict.results] == ["crash", "pass", "pass"]


def test_an_error_while_jitkit_is_imported_names_the_learners_line(learner):
    text = learner.lists.read_text(encoding="utf-8") + "\n\nONE = 1 / 0\n"
    learner.lists.write_text(text, encoding="utf-8")
    learner.write(merge_lists=MERGE.replace("    sources", "    ONE\n    sources"))
    shown = learner("check", "90.1", status=1)
    assert "jitkit could not be imported with your functions in it: ZeroDivisionError" in " ".join(shown.split())
    line = learner.lists.read_text(encoding="utf-8").splitlines().index("ONE = 1 / 0") + 1
    assert f"90_lists/exercises.py:{line}" in shown


# --- files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"def merge_lists(mask:\n    return 1\n", "'(' was never closed"),
        (b"", "There is no function `merge_lists` in this file."),
        (b"def merged_lists(mask, unchosen, chosen):\n    return 1\n", "Is it `merged_lists` now?"),
        (HEAD.encode() + b"    return '\xe4'\n", "not in UTF-8: byte 0xe4 in line 2"),
        (HEAD.encode() + b"\tif mask:\n        return 1\n", "inconsistent use of tabs"),
        (b"x = '\0'\n", "null bytes"),
        (b"def merge_lists(mask):\n    return 1\n", "`merge_lists` is called as `merge_lists(mask, unchosen, chosen)`"),
        (b"T = 3\n" + HEAD.encode() + b"    return T\n", "has a `T` of its own"),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(learner, data, sentence):
    learner.lists.write_bytes(data)
    shown = " ".join(learner("check", "90.1", status=1).split())
    assert sentence in shown
    assert "exercises.py:0" not in shown
    assert "90_lists/exercises.py:" in shown or not data
    assert learner.lists.read_bytes() == data
    assert "90 Lists" in learner("status")


@pytest.mark.parametrize(
    "change", [lambda s: s.replace("\n", "\r\n"), lambda s: s.replace("    ", "\t"), lambda s: f"\ufeff{s}"]
)
def test_line_ends_tabs_and_byte_order_marks_are_taken_as_they_are(learner, change):
    learner.write(merge_lists=MERGE)
    text = change(learner.lists.read_text(encoding="utf-8"))
    learner.lists.write_bytes(text.encode("utf-8"))
    assert "✓ PASS" in learner("check", "90.1")
    assert learner.lists.read_bytes() == text.encode("utf-8")


def test_a_missing_lab_is_named_with_the_command_that_puts_it_back(learner):
    learner.lists.unlink()
    assert "`jitkit start` puts missing labs back" in " ".join(learner("check", "90", status=1).split())
    learner("start")
    assert learner.lists.is_file()


def test_headings_and_imports_that_were_edited_away_are_not_needed(learner):
    learner.lists.write_text("import operator\n" + "\n\n".join(LISTS.values()), encoding="utf-8")
    assert "2 of 2 exercises pass" in learner("check", "90")


def test_two_files_of_a_learner_may_not_put_different_helpers_into_one_module(tmp_path):
    reference = "def f(): pass\ndef g(): pass\n"
    one = LearnerFile.parse("def help(): return 1\ndef f(): return help()\n", "one.py", ["f"])
    two = LearnerFile.parse("def help(): return 2\ndef g(): return help()\n", "two.py", ["g"])
    both = Submission({Target("m", ("f",)): one, Target("m", ("g",)): two})
    with pytest.raises(SpliceError, match="Two of your files have a `help` each"):
        splice_source(reference, "m.py", "m", both)


# --- terminals ---------------------------------------------------------------------------------------------------


def _command(learner, *arguments, **environment):
    root = pathlib.Path(__file__).parents[1]
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    return subprocess.run(
        [sys.executable, "-m", "jitkit.kata", *arguments],
        capture_output=True, check=False, cwd=learner.root, env=env | {"PYTHONPATH": str(root)} | environment,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_a_console_that_has_only_ascii_gets_ascii(learner):
    learner.write(merge_lists=body("print('ä ✓')\nreturn []"))
    done = _command(learner, "check", "90.1", PYTHONIOENCODING="ascii", TERM="dumb")
    assert done.returncode == 1, done.stderr
    shown = done.stdout.decode("ascii")
    assert "x FAIL  90.1 Merge lists" in shown
    assert "+ pass" not in shown or "x fail" in shown
    assert "\x1b" not in shown


def test_colour_is_only_added_and_only_where_it_is_wanted(learner):
    learner.write(merge_lists=body("return []"))
    plain = _command(learner, "check", "90.1", NO_COLOR="1").stdout.decode()
    coloured = _command(learner, "check", "90.1", FORCE_COLOR="1").stdout.decode()
    assert "\x1b" not in plain
    assert "\x1b[" in coloured


def test_sixty_columns_are_enough(learner, monkeypatch):
    real = terminal.Screen.of.__func__
    monkeypatch.setattr(
        terminal.Screen,
        "of",
        classmethod(lambda cls, stream, environment=None: _narrow(real(cls, stream, environment))),
    )
    learner.write(merge_lists=body("return [1] * 100"))
    for arguments in (("check", "90.1"), ("status",), ("show", "90.1"), ("hint", "90.1")):
        shown = learner(*arguments, status=int(arguments[0] == "check"))
        assert max(map(len, shown.splitlines())) <= 60, shown


def _narrow(screen):
    screen._width = 60
    return screen


def test_a_bug_of_ours_is_a_sentence_with_a_file_to_be_sent(learner, monkeypatch):
    def fail(*args, **kwargs):
        raise KeyError("what")

    monkeypatch.setattr("jitkit.kata.workspace.workspace.Workspace.look", fail)
    shown = learner("status", status=3)
    assert "KeyError: 'what'" in shown
    assert "a bug of ours" in shown
    assert "Traceback" not in shown
    file = pathlib.Path(shown.split("with the file ")[1].split(".txt")[0] + ".txt")
    assert "Traceback" in file.read_text(encoding="utf-8")
    file.unlink()
