"""The files of a Gradescope autograder, and the Containerfile of an image in which the grader runs

Gradescope runs `setup.sh` once, when it makes the image of an assignment. For each submission it runs `run_autograder`
in a new container, and reads `/autograder/results/results.json`. The self-test finds out whether bubblewrap can make a
jail in the container.
"""

from __future__ import annotations

import pathlib
import shlex
import tomllib
import zipfile
from collections.abc import Iterator

from jitkit.kata.ladder.rungs import solution_file

from ..shared import ROOT

_SETUP = """\
#!/usr/bin/env bash
# Run once, when Gradescope makes the image of the assignment.
set -euo pipefail
apt-get update
apt-get install -y --no-install-recommends bubblewrap python3 python3-venv
python=python3
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then  # Ubuntu 22.04
  apt-get install -y --no-install-recommends python3.11 python3.11-venv
  python=python3.11
fi
"$python" -m venv /opt/jitkit
/opt/jitkit/bin/pip install --no-cache-dir {needs}
"""

_RUN = """\
#!/usr/bin/env bash
# Run for each submission. What is graded, and how, is said here: change it to what the assignment is.
set -uo pipefail
cd /autograder/source/jitkit
rm -rf /tmp/in /tmp/grades && mkdir -p /tmp/in /autograder/results
cp -rP /autograder/submission /tmp/in/student
if /opt/jitkit/bin/python -m grading grade /tmp/in --out /tmp/grades --quiet {labs}{unsandboxed} > /tmp/said 2>&1 \\
   && /opt/jitkit/bin/python -m grading export /tmp/grades --to gradescope --output /tmp/out >> /tmp/said 2>&1; then
  cp /tmp/out/*.json /autograder/results/results.json
else
  cat /tmp/said  # for instructors: students do not see what a script prints
  /opt/jitkit/bin/python - <<'END' > /autograder/results/results.json
import json
print(json.dumps({{"output": "The grader had a fault. This is no score.", "stdout_visibility": "hidden", "tests": []}}))
END
fi
"""

_DOCKERFILE = """\
# The grader in an image: docker build -f Containerfile -t jitkit-grader . (or podman), in the top folder of a clone.
#
#   docker run --rm --network none --security-opt seccomp=unconfined --security-opt apparmor=unconfined --cap-add SYS_ADMIN \\
#     -v "$PWD/submissions:/in:ro" -v "$PWD/grades:/grades" jitkit-grader grade /in --out /grades
#
# bubblewrap makes namespaces in the container: for that it needs SYS_ADMIN, and docker's seccomp filter and AppArmor must be off.
# The grader's jail drops all capabilities and sets a seccomp filter of its own before a submission runs; a self-test refuses to
# go on if that does not work.
FROM python:3.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*
WORKDIR /jitkit
COPY pyproject.toml README.md LICENSE CHANGELOG.md pytest_jitkit.py ./
COPY jitkit jitkit
COPY grading grading
COPY labs labs
COPY solutions/from_scratch.py solutions/from_scratch.py
RUN pip install --no-cache-dir {needs}
ENV PYTHONPATH=/jitkit
ENTRYPOINT ["python", "-m", "grading"]
"""

_LEFT_OUT = (
    ".git",
    ".venv",
    ".venv-",
    "__pycache__",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
    "tests",
    "dist",
    "build",
)


def write_gradescope(folder: pathlib.Path, labs: list[str], unsandboxed: bool) -> pathlib.Path:
    """Write `setup.sh`, `run_autograder` and `autograder.zip`, which is uploaded; return the zip."""
    folder.mkdir(parents=True, exist_ok=True)
    words = "".join(f"--lab {lab} " for lab in labs)
    run = _RUN.format(labs=words, unsandboxed="--unsandboxed" if unsandboxed else "")
    for name, text in (("setup.sh", _SETUP.format(needs=_needs())), ("run_autograder", run)):
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    path = folder / "autograder.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("setup.sh", "run_autograder"):
            archive.write(folder / name, name)
        for file in sources():
            archive.write(file, f"jitkit/{file.relative_to(ROOT)}")
    return path


def write_recipe(folder: pathlib.Path) -> pathlib.Path:
    """Write `Containerfile`, from which the image of the grader is built; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "Containerfile"
    path.write_text(_DOCKERFILE.format(needs=_needs()), encoding="utf-8")
    return path


def _needs() -> str:
    """Return the arguments of pip that name the packages to install. jitkit itself runs from its folder, because an installation would
    bring the tests, too.
    """
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return " ".join(shlex.quote(need) for need in data["project"]["dependencies"])


def sources() -> Iterator[pathlib.Path]:
    """Yield the files of a clone that the grader needs."""
    for top in ("jitkit", "grading", "labs"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.is_file() and not any(part.startswith(_LEFT_OUT) for part in path.relative_to(ROOT).parts):
                yield path
    yield solution_file()  # the ladder's reference is run to check the grader; no jail has this file
    for name in ("pyproject.toml", "README.md", "LICENSE", "pytest_jitkit.py", "CHANGELOG.md"):
        if (ROOT / name).is_file():
            yield ROOT / name
