"""Runs the grader in a container (Docker or Podman) that has bubblewrap, if the machine has none, as on macOS and Windows

The container is not a jail for submissions: the jail is made inside of it, and tested there, as on any Linux. The
container can read the submissions and the policy, and write the folder of grades. The image is built from this clone,
once for each state of it.
"""

from __future__ import annotations

import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence

from ..shared import ROOT
from .bubblewrap import JailError
from .gradescope import sources, write_recipe

# bubblewrap makes namespaces in the container, which the engine's filters would refuse. Before a submission runs, the grader's jail drops
# all capabilities, and sets a filter of its own.
_RIGHTS = (
    "--network", "none", "--cap-add", "SYS_ADMIN", "--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined",
    "--security-opt", "systempaths=unconfined",
)  # fmt: skip


ENGINES = ("docker", "podman")  # in the order in which they are looked for


def engine() -> str | None:
    """Return the first of `ENGINES` that is installed, or None."""
    return next((name for name in ENGINES if shutil.which(name) is not None), None)


def image_name() -> str:
    """Return the name of the image for this clone as it is now."""
    digest = hashlib.sha256()
    for path in sources():
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return f"jitkit-grader:{digest.hexdigest()[:12]}"


def run_command(
    program: str, image: str, words: Sequence[str], read: Iterable[pathlib.Path], write: pathlib.Path
) -> list[str]:
    """Return the command that grades in a container. Folders have the same paths in the container as outside, because the store
    remembers them.

    Args:
      words: the command and options of `python -m grading`.
      read, write: what the container may read, and the folder that it may write.
    """
    command = [program, "run", "--rm", "--init", *_RIGHTS]
    if sys.stderr.isatty():
        command.append("--tty")
    for path in dict.fromkeys(path.absolute() for path in read):
        command += ["--mount", f"type=bind,source={path},target={path},readonly"]
    command += ["--mount", f"type=bind,source={write.absolute()},target={write.absolute()}"]
    return [*command, image, *words]


def grade(program: str, words: Sequence[str], read: Sequence[pathlib.Path], write: pathlib.Path) -> int:
    """Run a command of the grader's in a container, and return its exit status. The image is built if it does not
    exist.

    Raises:
      JailError: the engine does not answer, or cannot build the image; or a path has a comma or a quote.
    """
    if odd := next((p for p in (*read, write) if "," in str(p) or '"' in str(p)), None):
        raise JailError(f"{program} does not take a path with a comma or a quote: {odd}")
    image = image_name()
    if subprocess.run([program, "image", "inspect", image], capture_output=True, check=False).returncode:
        print(f"bubblewrap is not installed: {program} builds an image that has it, once.", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:  # a copy of what the image needs, without the clone's other files
            for path in sources():
                copy = pathlib.Path(folder, path.relative_to(ROOT))
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
            recipe = write_recipe(pathlib.Path(folder))
            command = [program, "build", "--file", str(recipe), "--tag", image, folder]
            built = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if built.returncode:
            raise JailError(f"{program} could not build the image: is it running? What it printed is above")
    write.mkdir(parents=True, exist_ok=True)
    return subprocess.run(run_command(program, image, words, read, write), check=False).returncode
