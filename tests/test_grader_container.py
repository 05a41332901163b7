"""Without bubblewrap the grader runs in a container: its command lines, given to an engine that only writes them down."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

from grading.__main__ import main
from grading.grader import container
from grading.grader.records import Grade, GradeStatus
from grading.grader.store import Store

FAKE = """#!{python}
import json, os, sys
with open(os.environ["SAID"], "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
sys.exit({{"image": {inspect}, "build": {build}, "run": {run}}}[sys.argv[1]])
"""


@pytest.fixture
def docker(tmp_path, monkeypatch):
    """Return a function that puts a fake container engine on the PATH, which writes its command lines down."""

    def make(name="docker", inspect=0, build=0, run=0):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(FAKE.format(python=sys.executable, inspect=inspect, build=build, run=run), encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent))
        monkeypatch.setenv("SAID", str(tmp_path / "said"))
        (tmp_path / "in" / "ann").mkdir(parents=True)
        return lambda: [json.loads(line) for line in (tmp_path / "said").read_text(encoding="utf-8").splitlines()]

    return make


def words(tmp_path):
    return ["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--lab", "00", "--quiet", "--workers", "3"]


@pytest.mark.parametrize("name", ["docker", "podman"])
def test_a_container_reads_the_submissions_writes_the_grades_and_has_no_network(docker, tmp_path, name):
    said = docker(name)
    assert main(words(tmp_path)) == 0
    inspected, run = said()
    assert inspected == ["image", "inspect", container.image_name()]
    at = run.index(container.image_name())
    options, inside = run[:at], run[at + 1 :]
    mounts = [options[i + 1] for i, word in enumerate(options) if word == "--mount"]
    folder, out = tmp_path / "in", tmp_path / "out"
    assert mounts == [f"type=bind,source={folder},target={folder},readonly", f"type=bind,source={out},target={out}"]
    assert options[options.index("--network") + 1] == "none"
    assert "--privileged" not in options
    assert inside[:4] == ["grade", str(folder), "--out", str(out)]
    assert inside[-5:] == ["--lab", "00", "--workers", "3", "--quiet"]
    assert "--unsandboxed" not in inside


def test_the_image_is_built_once_from_this_clone(docker, tmp_path):
    said = docker(inspect=1)
    assert main(words(tmp_path)) == 0
    assert [line[0] for line in said()] == ["image", "build", "run"]
    build = said()[1]
    assert build[build.index("--tag") + 1] == container.image_name()


def test_an_engine_that_does_not_run_and_a_container_that_fails_are_told(docker, tmp_path, capsys):
    docker(inspect=1, build=1)
    assert main(words(tmp_path)) == 1
    assert "docker could not build the image" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_exit_status_is_the_containers(docker, tmp_path):
    docker(run=1)
    assert main(words(tmp_path)) == 1


def test_a_course_beside_and_grading_again_are_mounted(docker, tmp_path):
    said = docker()
    (tmp_path / "policy").mkdir()
    course = tmp_path / "policy" / "course.toml"
    course.write_text("", encoding="utf-8")
    assert main([*words(tmp_path), "--course", str(course)]) == 0
    assert f"type=bind,source={course.parent},target={course.parent},readonly" in said()[-1]
    row = Grade("ann", "s", 0.0, str(tmp_path / "in" / "ann"), "00", "00.1", GradeStatus.OK, "", 1.0, 1.0)
    with Store(tmp_path / "out", write=True) as store:
        store.add([], [row])
    assert main(["regrade", str(tmp_path / "out")]) == 0
    run = said()[-1]
    assert run[run.index(container.image_name()) + 1 :][:2] == ["regrade", str(tmp_path / "out")]
    assert f"type=bind,source={tmp_path / 'in'},target={tmp_path / 'in'},readonly" in run


def test_where_bubblewrap_is_no_container_is_asked(docker, tmp_path, monkeypatch):
    docker()
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr("grading.grader.commands.self_test", lambda: ["here"])
    assert main(words(tmp_path)) == 1
    assert not (tmp_path / "said").exists()


def test_docker_is_asked_before_podman_and_both_commands_ask_the_same(monkeypatch, tmp_path, capsys):
    for there, expected in ((("podman", "docker"), "docker"), (("podman",), "podman"), ((), "docker")):
        monkeypatch.setattr(shutil, "which", lambda name, there=there: name if name in there else None)
        assert container.engine() == (expected if there else None)
        assert main(["image", str(tmp_path)]) == 0
        assert f": {expected} build -f" in capsys.readouterr().out
