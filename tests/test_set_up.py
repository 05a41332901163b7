"""From `git clone` to the first line of output, on machines that have everything, and on machines that lack something."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import tails

ROOT = pathlib.Path(__file__).parents[1]
SHELL = shutil.which("sh")

pytestmark = pytest.mark.skipif(os.name != "posix" or not SHELL, reason="needs POSIX: the Makefile and its scripts")

OLD = 'case "$*" in *exit*) exit 1;; *print*) echo 3.9;; *) echo Python 3.9.2;; esac'
BROKEN = "echo 'pyenv: command not found'; exit 127"  # pyenv's shim for a version that is not active
# A Python as Debian has it without python3-venv: of a good version, and without ensurepip.
WITHOUT_VENV = 'case "$*" in *version_info*) exit 0;; --version) echo Python 3.12.1;; *) exit 1;; esac'


@pytest.fixture
def machine(tmp_path):
    """Return a machine with nothing but a few commands on its PATH, and a way to put Pythons there."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for command in ("rm", "mkdir", "cp", "dirname", "mktemp", "tee", "tail", "grep"):
        (bin_folder / command).symlink_to(shutil.which(command))

    class Machine:
        folder = tmp_path / "a clone"
        bin = bin_folder

        def python(self, name, script):
            path = bin_folder / name
            path.write_text(f"#!{SHELL}\n{script}\n")
            path.chmod(0o755)

        def set_up(self, *pythons):
            self.folder.mkdir(exist_ok=True)
            return subprocess.run(
                [SHELL, str(ROOT / ".ci" / "venv"), ".venv", ".", *pythons],
                cwd=self.folder,
                text=True,
                capture_output=True,
                env={"PATH": str(bin_folder)},
                check=False,
            )

    return Machine()


def test_without_python_it_says_which_versions_do(machine):
    done = machine.set_up()
    assert done.returncode == 1
    assert "jitkit needs Python 3.11, 3.12, 3.13 or 3.14." in done.stderr
    assert "make PYTHON=" in done.stderr


def test_an_old_python_is_named_with_its_version(machine):
    machine.python("python3", OLD)
    done = machine.set_up()
    assert done.returncode == 1
    assert "python3 is 3.9" in done.stderr


def test_a_name_that_does_not_run_is_passed_over(machine):
    machine.python("python3", BROKEN)
    done = machine.set_up()
    assert done.returncode == 1
    assert "needs Python 3.11" in done.stderr
    assert "command not found" not in done.stderr


def test_a_python_without_its_venv_package_names_the_command_that_installs_it(machine):
    machine.python("python3", WITHOUT_VENV)
    done = machine.set_up()
    assert done.returncode == 1
    assert "sudo apt-get install python3-venv" in done.stderr
    assert not (machine.folder / ".venv").exists()


def test_the_python_that_was_asked_for_is_the_only_one_tried(machine):
    machine.python("python3", WITHOUT_VENV)
    machine.python("old", OLD)
    done = machine.set_up("old")
    assert "old is 3.9" in done.stderr
    assert "python3-venv" not in done.stderr


# A fake Python. It makes environments whose pip writes down its arguments, or fails.
MAKES_VENV = """
case "$*" in
  *version_info*|*ensurepip*) exit 0;;
  --version) echo Python 3.12.1;;
  "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && echo made >> made.log;;
  "-m pip --version") exit 0;;
  "-m pip install"*) echo "$*" >> pip.log; exit ${PIP_STATUS:-0};;
esac
"""


def test_a_python_with_everything_is_used_also_in_a_path_with_spaces(machine):
    machine.python("python3.12", MAKES_VENV)
    done = machine.set_up()
    assert done.returncode == 0, done.stderr
    assert (machine.folder / "pip.log").read_text().endswith("-e .\n")


def test_a_second_call_keeps_the_environment_and_brings_it_up_to_date(machine):
    machine.python("python3", MAKES_VENV)
    machine.set_up()
    machine.set_up()
    assert (machine.folder / "made.log").read_text() == "made\n"
    assert len((machine.folder / "pip.log").read_text().splitlines()) == 2


def test_an_environment_that_was_left_half_made_is_made_again(machine):
    machine.python("python3", MAKES_VENV)
    (machine.folder / ".venv" / "bin").mkdir(parents=True)
    (machine.folder / ".venv" / "bin" / "python").symlink_to("/nowhere/python3")
    done = machine.set_up()
    assert done.returncode == 0, done.stderr
    assert (machine.folder / "made.log").read_text() == "made\n"


def test_when_pip_fails_the_set_up_fails_and_says_what_it_needs(machine):
    machine.python("python3", MAKES_VENV.replace("${PIP_STATUS:-0}", "1"))
    done = machine.set_up()
    assert done.returncode == 1
    assert "Without a network" in done.stderr


@pytest.fixture
def clone(tmp_path):
    """Return a folder, with a space in its path, that has the files of a clone that make needs."""
    folder = tmp_path / "my clone"
    shutil.copytree(ROOT / ".ci", folder / ".ci")
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    return folder


def make(folder, *arguments):
    if not shutil.which("make"):
        pytest.skip("needs POSIX: make")
    return subprocess.run(["make", *arguments], cwd=folder, text=True, capture_output=True, check=False)


def test_make_alone_lists_the_targets(clone):
    done = make(clone)
    assert done.returncode == 0
    assert all(
        f"make {target} " in done.stdout for target in ("tour", "test", "test-all", "lint", "fuzz", "bench", "clean")
    )


def test_make_sets_up_once_and_again_when_the_project_changes(clone):
    (clone / ".ci" / "venv").write_text(
        '#!/bin/sh\nmkdir -p "$1/bin" && echo "$2" >> set-up.log\n'
        'printf "#!/bin/sh\\nexit 0\\n" > "$1/bin/python" && chmod +x "$1/bin/python"\n'
    )
    for _ in range(2):
        assert make(clone, "tour").returncode == 0
    assert (clone / "set-up.log").read_text() == ".\n"
    newer = (clone / "pyproject.toml").stat().st_mtime + 10
    os.utime(clone / "pyproject.toml", (newer, newer))
    make(clone, "tour")
    assert (clone / "set-up.log").read_text() == ".\n.\n"


def test_an_interrupted_set_up_is_done_again(clone):
    (clone / ".ci" / "venv").write_text('#!/bin/sh\nmkdir -p "$1" && echo "$2" >> set-up.log; exit 1\n')
    for _ in range(2):
        assert make(clone, "tour").returncode != 0
    assert (clone / "set-up.log").read_text() == ".\n.\n"


def test_the_python_of_make_may_have_a_space_in_its_path(clone):
    (clone / ".ci" / "venv").write_text('#!/bin/sh\nprintf "%s\\n" "$3" > chosen; exit 1\n')
    make(clone, "tour", "PYTHON=/a place/python3")
    assert (clone / "chosen").read_text() == "/a place/python3\n"


def test_the_scripts_can_be_run():
    assert os.access(ROOT / ".ci" / "venv", os.X_OK)
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_the_version_is_the_same_everywhere():
    """pyproject.toml, the package and the changelog must agree."""
    program = "import jitkit; print(jitkit.__version__)"
    version = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True
    ).stdout.strip()
    assert f'\nversion = "{version}"\n' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"\n## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def run_ci(machine, clone, status=0, **environment):
    """Run CI with a `make` that prints the same for each target and ends with this status; return the output."""
    machine.python(
        "make",
        "echo 'Found 3 errors.'\n"
        "echo '=== 1 failed, 4419 passed in 255.25s (0:04:15) ==='\n"
        f"echo 'make: *** [test] Error 1' >&2\nexit {status}",
    )
    return subprocess.run(
        [shutil.which("bash"), str(clone / ".ci" / "run")],
        env={"PATH": str(machine.bin), "PYENV_ROOT": "/nowhere", "HOME": "/nowhere"} | environment,
        text=True,
        capture_output=True,
        check=False,
    )


def test_what_decides_is_run_in_two_parts_with_nothing_between_them():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'"-m={tails.MAKE_TEST}"' in project
    targets = (ROOT / "Makefile").read_text(encoding="utf-8").split("\n\n")
    [first] = [text for text in targets if text.startswith("test:")]
    [rest] = [text for text in targets if text.startswith("test-rest:")]
    assert " -m " not in first.replace("-m pytest", "")
    assert f" -m '{tails.MAKE_TEST_REST}' " in rest
    assert {tails.MAKE_TEST, tails.MAKE_TEST_REST} == {
        f"{tails.WITHOUT_TAILS} and {part}" for part in ("rest", "not rest")
    }
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.findall(r"make (test(?:-rest)?) 2>&1", ci) == ["test", "test-rest"]


@pytest.mark.parametrize("status", [0, 2])
def test_ci_ends_with_the_closing_line_of_pytest_and_its_status(machine, clone, status):
    done = run_ci(machine, clone, status)
    assert done.returncode == status
    assert "Python 3.13" in done.stdout
    assert done.stdout.splitlines()[-1] == "=== 1 failed, 4419 passed in 255.25s (0:04:15) ==="


def test_ci_begins_nothing_that_decides_nothing_when_its_time_is_over(machine, clone):
    done = run_ci(machine, clone, JITKIT_CI_MINUTES="0")
    assert done.returncode == 0
    assert done.stdout.count("not run: 0 minutes were over.") == 4
    assert done.stdout.splitlines()[-1].endswith("255.25s (0:04:15) ===")


@pytest.mark.parametrize(("cut_off", "status"), [("test-tails", 0), ("test", 124), ("test-rest", 124), ("verify", 124)])
def test_ci_says_what_was_cut_off_and_fails_where_that_decides(machine, clone, cut_off, status):
    machine.python("timeout", f'case "$5" in {cut_off}) exit 124;; esac\nshift 3\nexec "$@"')
    done = run_ci(machine, clone)
    assert done.returncode == status
    assert ("Tails: cut off after 15 minutes." in done.stdout) == (cut_off == "test-tails")
    assert "nbgrader: === 1 failed" in done.stdout
