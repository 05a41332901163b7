"""Gradescope's scripts, run in a folder of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile

from grading.grader import gradescope


def autograded(tmp_path, monkeypatch, submission, bwrap=None):
    """Run Gradescope's scripts for a submission, in a temporary folder; return what they write. `bwrap` is the text of
    a fake bubblewrap.
    """
    gradescope.write_gradescope(tmp_path / "zip", ["00"], False)
    text = (tmp_path / "zip" / "run_autograder").read_text(encoding="utf-8")
    # in this order, since the temporary folder may lie below /tmp
    places = {"/tmp/": f"{tmp_path}/", "/autograder": tmp_path / "autograder", "/opt/jitkit/bin/python": sys.executable}
    for path, place in places.items():
        text = text.replace(path, str(place))
    (tmp_path / "run").write_text(text, encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "zip" / "autograder.zip") as archive:
        archive.extractall(tmp_path / "autograder" / "source")
    (tmp_path / "autograder" / "submission").mkdir()
    (tmp_path / "autograder" / "submission" / "00_hello.py").write_text(submission, encoding="utf-8")
    if bwrap is not None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "bwrap").write_text(f"#!/bin/sh\n{bwrap}\n", encoding="utf-8")
        (tmp_path / "bin" / "bwrap").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    done = subprocess.run(["bash", str(tmp_path / "run")], capture_output=True, text=True, check=True)
    return json.loads((tmp_path / "autograder" / "results" / "results.json").read_text(encoding="utf-8")), done.stdout


def test_a_platform_that_refuses_namespaces_gives_nobody_a_zero(tmp_path, monkeypatch):
    """As in a container that may make none: no score, a sentence for the student, the reason for the instructor."""
    refuses = "echo 'bwrap: No permissions to create new namespace' >&2; exit 1"
    results, said = autograded(tmp_path, monkeypatch, "def relu(x):\n    return jnp.maximum(x, 0)\n", refuses)
    assert "score" not in results
    assert results["tests"] == []
    assert "no score" in results["output"]
    assert results["stdout_visibility"] == "hidden"
    assert "No permissions to create new namespace" in said
    assert "Nothing was graded" in said
