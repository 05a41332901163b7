"""The command `jitkit`: what it prints, and the status it ends with."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import weakref

import pytest

import jitkit
from jitkit.kata import problems
from jitkit.kata.command import cli

ROOT = pathlib.Path(__file__).parents[1]


def run(*arguments, **options):
    """Run `jitkit` in a process of its own; return the process."""
    return subprocess.run(
        [sys.executable, "-m", "jitkit", *arguments], capture_output=True, text=True, cwd=ROOT, check=False, **options
    )


def test_without_a_verb_it_shows_what_there_is(capsys):
    assert cli.main([]) == 0
    shown = capsys.readouterr().out
    assert all(verb in shown for verb in cli.VERBS)


def test_the_version_names_everything_involved(capsys):
    assert cli.main(["--version"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"jitkit {jitkit.__version__} (jax ")
    assert "jaxlib " in shown
    assert "numpy " in shown
    assert f"Python {sys.version.split()[0]}" in shown


@pytest.mark.parametrize("arguments", [["--help"], *([verb, "--help"] for verb in cli.VERBS)])
def test_help_fits_80_columns_and_ends_well(arguments, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    assert end.value.code == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("word", "said"),
    [("tuor", "; did you mean 'tour'?"), ("targts", "; did you mean 'targets'?"), ("fly", "; there are: tour, start,")],
)
def test_a_verb_that_there_is_not_is_told_from_the_one_that_was_meant(word, said, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main([word])
    assert end.value.code == problems.USAGE
    assert f"jitkit: error: there is no verb {word!r}{said}" in capsys.readouterr().err


# jitkit is in no package index: a command without a path would install somebody else's package of this name.
FROM_AN_INDEX = re.compile(
    r"(?:pip install|pipx install|uv add)(?: [^\n`.]*)?[ \"']jitkit(?:\[[\w,-]+\])?(?=[\s\"'`.,)]|$)"
)


def test_nothing_tells_to_install_jitkit_from_an_index():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    texts = [name for name in listed.split("\0") if name.endswith((".py", ".md", ".toml", ".ipynb", "Makefile"))]
    files = [ROOT / name for name in texts if name != "tests/test_cli.py"]
    assert files
    said = {path.name: FROM_AN_INDEX.findall(path.read_text(encoding="utf-8")) for path in files if path.is_file()}
    assert {name: found for name, found in said.items() if found} == {}
    assert FROM_AN_INDEX.search('`pip install "jitkit[tpu]"`.')
    assert FROM_AN_INDEX.search("pip install jitkit\n")


@pytest.mark.parametrize("arguments", [["fly"], ["tour", "--altitude"], ["bench"], ["bench", "friends"]])
def test_wrong_usage_ends_with_2_and_shows_the_usage(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    assert end.value.code == problems.USAGE == 2
    assert "usage: jitkit" in capsys.readouterr().err


@pytest.mark.parametrize("verb", list(cli.VERBS))
def test_every_verb_has_a_function(verb):
    module, function = cli.VERBS[verb].target.split(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_a_problem_of_the_user_is_told_in_one_line(capsys):
    def action():
        raise problems.Problem("the folder is full")

    assert cli.guarded(action) == problems.FAILED == 1
    assert capsys.readouterr().err == "jitkit: the folder is full\n"


def test_a_bug_of_ours_says_so_and_ends_with_3(capsys):
    def action():
        raise KeyError("what")

    assert cli.guarded(action) == problems.OUR_BUG == 3
    shown = capsys.readouterr().err
    assert "KeyError: 'what'" in shown
    assert "a bug of ours" in shown
    assert f"jitkit {jitkit.__version__}" in shown


@pytest.mark.parametrize("text", ["-1", "nan", "soon"])
@pytest.mark.parametrize("verb", ["targets", "explore"])
def test_a_time_limit_is_a_number_of_seconds(verb, text, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main([verb, f"--time-limit={text}"])
    assert end.value.code == problems.USAGE
    assert f"argument --time-limit: {text!r} is not a number of seconds" in capsys.readouterr().err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs POSIX: a device that is full, as Linux has one")
def test_a_full_disk_is_no_bug_of_ours():
    with open("/dev/full", "w") as full:
        printing = (
            "from jitkit.kata.command import cli; import sys; sys.exit(cli.guarded(lambda: print('x' * 99999) or 0))"
        )
        done = subprocess.run(
            [sys.executable, "-c", printing], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == problems.FAILED
    assert done.stderr == "jitkit: there is no space left to write to: [Errno 28] No space left on device\n"


@pytest.mark.parametrize("name", ["jax", "jaxlib.xla_client", "matplotlib.figure"])
def test_a_missing_library_is_named_with_the_command_that_installs_it(name, capsys):
    def action():
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    assert cli.guarded(action) == problems.FAILED
    assert f"-m pip install {name.split('.')[0]}" in capsys.readouterr().err


def test_a_missing_module_of_our_own_is_our_bug(capsys):
    def action():
        raise ModuleNotFoundError("No module named 'jitkit.kata.gone'", name="jitkit.kata.gone")

    assert cli.guarded(action) == problems.OUR_BUG
    assert "jitkit.kata.gone" in capsys.readouterr().err


def test_an_interrupt_ends_as_shells_expect(capsys):
    def action():
        raise KeyboardInterrupt

    assert cli.guarded(action) == 130
    assert "interrupted" in capsys.readouterr().err


def test_an_interrupt_in_a_callback_of_the_interpreters_is_not_lost(capsys, heard_interrupts):
    """Importing a module runs such a callback, in which Python can raise nothing."""

    def callback(_):
        raise KeyboardInterrupt

    def action():
        something = set()
        watcher = weakref.ref(something, callback)
        del something
        time.sleep(30)
        return watcher

    before = sys.unraisablehook
    assert cli.guarded(action) == 130
    assert sys.unraisablehook is before
    assert capsys.readouterr().err.strip() == "interrupted"


def test_a_benchmark_that_does_not_exist_is_answered_with_the_nearest(capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["bench", "scalling"])
    assert end.value.code == problems.USAGE
    shown = capsys.readouterr().err
    assert "no benchmark called 'scalling'; did you mean 'scaling'? There are: seeds, peers," in shown


def test_a_row_that_does_not_exist_is_wrong_usage_that_lists_those_that_do(capsys):
    assert cli.main(["bench", "peers", "--only", "warp drive"]) == 2
    assert "eight arrays" in capsys.readouterr().err


def test_bench_prints_plain_json_on_request():
    done = run("bench", "peers", "--quick", "--only", "one array", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    (row,) = data["rows"]
    assert row["name"] == "one array"
    assert row["ratio"]["low"] <= row["ratio"]["median"] <= row["ratio"]["high"]
    assert row["verdict"] in ("met", "missed", "not resolved")
    assert data["machine"]["jitkit"] == jitkit.__version__


def test_a_reader_that_leaves_early_is_no_error():
    program = f"{sys.executable!r} -m jitkit.kata --help | head -n 1" if os.name == "posix" else ""
    if not program:
        pytest.skip("needs POSIX: a pipe that is closed early")
    done = subprocess.run(["sh", "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout.startswith("usage: jitkit")
    assert done.stderr == ""


def test_help_does_not_wait_for_jax():
    program = (
        "import sys; from jitkit.kata.command import cli; cli.main([]); print({'jax', 'matplotlib'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_arguments_have_defaults_that_say_where_things_go():
    arguments = cli.make_parser().parse_args(["tour"])
    assert isinstance(arguments, argparse.Namespace)
    assert arguments.output == pathlib.Path("jitkit-tour")
