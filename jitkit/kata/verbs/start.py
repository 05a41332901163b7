"""`jitkit start` makes a workspace; in a workspace it adds the new parts of this version, and does not change the learner's work."""

from __future__ import annotations

import argparse
import hashlib
import pathlib
import sys
from collections.abc import Iterator
from typing import NamedTuple

from ..engine.manifest import Lab
from ..engine.submission import LearnerFile, SpliceError
from ..problems import OK, Problem, WrongUsage
from ..screens.display import show_messages
from ..screens.terminal import Screen
from ..workspace.guide import guide_text
from ..workspace.state import State
from ..workspace.stubs import missing_exercises, with_sections
from ..workspace.workspace import KEPT, Workspace

_DEFAULT = "jitkit-labs"
_LEFT_TO_OTHERS = ("lab.toml", "checks.py", "mutants.py", "experiment.py")  # learners get no copy: commands read them
_NOTHING = (".git", ".DS_Store")  # a folder with nothing but these counts as empty
_IGNORED = "# what jitkit can make again\nexpected/\nlast/\nlock\n*.part\n"


class Change(NamedTuple):
    """Something that was done to a file."""

    path: pathlib.Path
    what: str


def run(arguments: argparse.Namespace) -> int:
    """Make a workspace, or bring one up to date. Raise WrongUsage for `--at`, which is for the ladder, and Problem if the workspace
    cannot be written.
    """
    if arguments.at is not None:
        raise WrongUsage("--at is about the ladder: `jitkit start --from-scratch --at 19 my-jax`.")
    screen = Screen.of(sys.stdout)
    root, is_new = _root(arguments.folder, arguments.into_existing)
    try:
        (root / KEPT).mkdir(parents=True, exist_ok=True)
        workspace = Workspace(root)
        if not workspace.labs:
            raise Problem("this jitkit has no labs in it.")
        changes = list(update(workspace))
    except OSError as error:
        raise Problem(f"{error.filename or root} cannot be written: {error.strerror}. Choose another folder.") from None
    show_messages(screen, workspace)
    if is_new:
        exercises = sum(len(lab.exercises) for lab in workspace.labs)
        screen.line(f"{root}: {len(workspace.labs)} labs, {exercises} exercises.", "bold")
        first = workspace.labs[0]
        screen.text(f"Begin with {first.name}/README.md, and write in {first.name}/exercises.py. Then:")
        screen.line(f"    cd {_quoted(root)}")
        screen.line("    jitkit")
        return OK
    for change in changes:
        screen.line(f"  {change.what}: {workspace.relative(change.path)}")
    screen.line("Nothing else is new, and what you wrote is as it was." if changes else "Everything is up to date.")
    return OK


def _root(folder: pathlib.Path | None, into_existing: bool) -> tuple[pathlib.Path, bool]:
    """Return the workspace's folder, and whether it has to be made. Raise Problem for a file, or a folder with other things in it."""
    if folder is None:
        here = pathlib.Path.cwd()
        known = next((f for f in (here, *here.parents) if (f / KEPT).is_dir()), None)
        if known is not None:
            return known, False
        folder = pathlib.Path(_DEFAULT)
    root = folder.expanduser().absolute()
    if root.exists() and not root.is_dir():
        raise Problem(f"{root} is a file. Choose a folder.")
    is_new = not (root / KEPT).is_dir()
    if is_new and not into_existing and _has_other_things(root):
        raise Problem(
            f"{root} has other things in it. Choose a new folder, or an empty one; or, to have the labs beside what is "
            f"there, `jitkit start --into-existing {_quoted(folder)}`."
        )
    return root, is_new


def _has_other_things(root: pathlib.Path) -> bool:
    try:
        return root.is_dir() and any(path.name not in _NOTHING for path in root.iterdir())
    except OSError as error:
        raise Problem(f"{root} cannot be read: {error.strerror}. Choose another folder.") from None


def _quoted(path: pathlib.Path) -> str:
    text = str(path)
    return f'"{text}"' if " " in text else text


def update(workspace: Workspace) -> Iterator[Change]:
    """Write missing files, renew files that the learner has not changed, append stubs of new exercises; yield each change."""
    with workspace.state.edit() as state:
        ignore = workspace.kept / ".gitignore"
        if not ignore.exists():
            ignore.write_text(_IGNORED, encoding="utf-8")
        yield from _given(workspace, state, workspace.root / "README.md", guide_text(workspace.labs).encode())
        for lab in workspace.labs:
            folder = workspace.root / lab.name
            folder.mkdir(exist_ok=True)
            for source in _files(lab):
                path = folder / source.relative_to(lab.folder)
                path.parent.mkdir(parents=True, exist_ok=True)
                yield from _given(workspace, state, path, source.read_bytes())
            yield from _new_exercises(workspace, state, lab)
            state.offered = list(dict.fromkeys([*state.offered, *lab.ids]))


def _files(lab: Lab) -> Iterator[pathlib.Path]:
    """Yield the files of a lab that a learner gets: its text and pictures, the stubs, the notebook."""
    for path in sorted(lab.folder.rglob("*")):
        hidden = any(part.startswith((".", "__")) for part in path.relative_to(lab.folder).parts)
        if path.is_file() and path.name not in _LEFT_TO_OTHERS and not hidden:
            yield path


def _given(workspace: Workspace, state: State, path: pathlib.Path, data: bytes) -> Iterator[Change]:
    """Write a file of ours, unless the learner has changed it; yield the change, if there is one."""
    key = path.relative_to(workspace.root).as_posix()
    new = hashlib.sha256(data).hexdigest()[:16]
    if not path.exists():
        path.write_bytes(data)
        yield Change(path, "put back" if key in state.given else "new")
    else:
        now = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        if now == new:
            state.given[key] = new
            return
        if now != state.given.get(key):
            return  # the learner has changed this file
        path.write_bytes(data)
        yield Change(path, "renewed")
    state.given[key] = new


def _new_exercises(workspace: Workspace, state: State, lab: Lab) -> Iterator[Change]:
    """Append to the learner's file the stubs of exercises that the learner has not been given yet; yield the change, if there is one. A
    file that is not UTF-8 stays as it is. Raise Problem if a file of Python would not be Python any more.
    """
    path = workspace.file_of(lab)
    try:
        source = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return  # `check` says what is wrong with it
    missing = [e for e in missing_exercises(lab, source) if e.id not in state.offered]
    if not missing:
        return
    newline = "\r\n" if "\r\n" in source else "\n"
    text = with_sections(lab, source.replace("\r\n", "\n"), missing)
    if not _is_python(text) and _is_python(source):
        raise Problem(f"the new exercises could not be added to {path}. It is as it was; please report this.")
    path.write_bytes(text.replace("\n", newline).encode("utf-8"))
    yield Change(path, f"{' '.join(e.id for e in missing)} added at the end of")


def _is_python(text: str) -> bool:
    try:
        LearnerFile.parse(text, "", ())
    except SpliceError:
        return False
    return True
