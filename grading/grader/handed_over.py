"""a folder or a zip, as a course or a learning platform hands it over -> submissions, each with its student

    ann/, bob.zip, cem.py                                            a course's own: an entry for each student
    leeann_LATE_12345_98765_00_hello-1.py                            Canvas: a file with the user's number, one of several
    submission_123/ beside submission_metadata.yml                   Gradescope: who handed it in, and when
    Ann Lee_12345_assignsubmission_file/                             Moodle: with the participant's number

The roster says which student a name belongs to (`Names`). If it does not, a platform's name belongs to the student who had the
same number on this platform before; if nobody had it, to a student of this name. One student's files are copied into a folder
below `target`, a folder of the grader's; the folder that was handed over does not change.
"""

from __future__ import annotations

import datetime
import errno
import hashlib
import json
import os
import pathlib
import re
import shutil
import stat
import sys
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from jitkit.kata.engine.manifest import Lab

from . import files
from .records import Person
from .roster import Names, Student
from .sources import hint_of

_HIDDEN_NAMES = (".", "~", "__MACOSX")
_METADATA = "submission_metadata.yml"
_CANVAS = re.compile(r"(?P<name>[^_]+)_(?:LATE_)?(?P<number>\d+)_\d+_(?P<file>.+)", re.DOTALL)
_AGAIN = re.compile(r"-\d+(?=\.\w+$|$)")  # Canvas' suffix for a file that was handed in again
_MOODLE = re.compile(
    r"(?P<name>.+)_(?P<number>\d+)_assignsubmission_(?P<kind>file|onlinetext)_?(?P<file>.*)", re.DOTALL
)
_PARTICIPANT = re.compile(r"_\d+_assignsubmission(?=_)")
_PUT_TOGETHER = re.compile(r"moodle_(?P<number>\d+)-[0-9a-f]{8}")  # `file_name` of a participant


def participant(path: str) -> str:
    """Return the number of Moodle's participant whose submission lies at a path; "" if it does not come from Moodle. Moodle numbers the
    participants of each assignment anew.
    """
    name = pathlib.PurePath(path).name
    found = _MOODLE.fullmatch(name) or _PUT_TOGETHER.fullmatch(name)
    return found["number"] if found is not None else ""


class Entry(NamedTuple):
    """A submission: its student and its path; when it was handed in and what the platform calls the student, if a
    platform says so.
    """

    student: str
    path: pathlib.Path
    handed_in: float | None = None
    person: Person | None = None


def entries(
    folder: pathlib.Path,
    target: pathlib.Path | None = None,
    roster: Sequence[Student] = (),
    known: Iterable[Person] = (),
    zone: datetime.tzinfo = datetime.UTC,
) -> list[Entry]:
    """Return the submissions in a folder, sorted by the names of their files or folders. If several students handed in one submission
    together, return an entry for each of them.

    Args:
      target: the folder below which one student's files are put together.
      known: which student had which number on which platform before.
      zone: the time zone of times that do not name one.
    """
    place = _Place(folder, target, roster, known)
    metadata = folder / _METADATA
    if metadata.is_file():
        place.gradescope(_submitters(metadata, zone))
    loose: dict[tuple[str, str, str], list[tuple[pathlib.Path, str]]] = {}  # (platform, number, name) -> files
    from_canvas = _is_canvas(folder)
    for path in _visible(folder):
        canvas = _CANVAS.fullmatch(path.name) if from_canvas and not path.is_dir() else None
        moodle = _of_moodle(path)
        if moodle is not None:
            name = "" if path.is_dir() else moodle["file"]
            if moodle["kind"] == "file":
                loose.setdefault(("moodle", moodle["number"], moodle["name"]), []).append((path, name))
        elif canvas is not None:
            name = _AGAIN.sub("", canvas["file"])
            loose.setdefault(("canvas", canvas["number"], canvas["name"]), []).append((path, name))
        elif path not in place.taken:
            place.own(path)
    for (platform, number, name), found in loose.items():
        place.together(platform, number, name, found)
    return sorted(place.found.values(), key=lambda e: os.fsencode(e.path.name))


def _of_moodle(path: pathlib.Path) -> re.Match[str] | None:
    """Return the parts of a path that Moodle has named; None if Moodle has not named it, or if a file's name has two participants'
    numbers. Students choose the names of their files, and some their own names: nobody can tell which of two numbers Moodle has written.
    """
    found = _MOODLE.fullmatch(path.name)
    if found is not None and path.is_dir():
        return found if not found["file"] else None
    return found if len(_PARTICIPANT.findall(path.name)) == 1 else None


def _is_canvas(folder: pathlib.Path) -> bool:
    """Return whether the files' names have Canvas' form, in which a number stands for one user. If two users have the same
    number, the number is something else, such as a year, and the names do not come from Canvas.
    """
    found = {(m["number"], m["name"]) for p in _visible(folder) if (m := _CANVAS.fullmatch(p.name))}
    return len({number for number, _ in found}) == len(found)


def _visible(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yield the entries of a folder that may be submissions, in order."""
    for path in sorted(folder.iterdir(), key=lambda p: os.fsencode(p.name)):
        ours = path.name in ("course.toml", _METADATA) or (path.suffix == ".csv" and _of_moodle(path) is None)
        if not path.name.startswith(_HIDDEN_NAMES) and not (ours and path.is_file()):
            yield path


class _Place:
    """A folder of submissions, and the submissions found in it.

    Attributes:
      folder: the folder that was handed over.
      target: the folder below which each student's files are copied into a folder; None: nothing is copied.
      known: the student to whom a platform gave a number, by platform and number.
      found: the submissions, by the students' names.
      taken: the folders that Gradescope's metadata has accounted for.
    """

    def __init__(
        self, folder: pathlib.Path, target: pathlib.Path | None, roster: Sequence[Student], known: Iterable[Person]
    ) -> None:
        self.folder = folder
        self.target = target
        if target is not None:
            self.target = target / hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:8]
        self.names = Names(roster)
        self.known = {(p.platform, p.number): p.student for p in known if p.number}
        self.found: dict[str, Entry] = {}
        self.taken: set[pathlib.Path] = set()

    def add(
        self, student: str, path: pathlib.Path, handed_in: float | None = None, person: Person | None = None
    ) -> None:
        """Add a submission. If the student already has a submission, add a number to the student's name."""
        name, number = student, 2
        while name in self.found:  # `ann.zip` beside `ann/`, or names that differ in unprintable characters only
            name, number = f"{student} ({number})", number + 1
        self.found[name] = Entry(name, path, handed_in, person and person._replace(student=name))

    def own(self, path: pathlib.Path) -> None:
        """Add a file or folder that comes from no platform; its name is the student's."""
        name = path.name if path.is_dir() and not path.is_symlink() else files.stem(path.name)
        student = student_name(name)
        self.add(self.names.whose(student) or student, path)

    def whose(self, platform: str, number: str, name: str, email: str = "") -> str:
        """Return the student to whom a platform's number, name or address belongs. If it belongs to nobody known, return the name,
        with the number if another student has this name.
        """
        name = student_name(name)
        found = self.names.whose(f"{platform} {number}", number, email, name) or self.known.get((platform, number), "")
        if found:
            return found
        others = {student for (_, n), student in self.known.items() if n != number}
        return name if name not in others else f"{name} {number}"

    def together(self, platform: str, number: str, name: str, found: Sequence[tuple[pathlib.Path, str]]) -> None:
        """Copy the files of one student of a platform into one folder, under the names that the student gave them, and add this folder
        as a submission. A single folder is added as it is; so is the first file if there is no `target`.
        """
        student = self.whose(platform, number, name)
        self.known[platform, number] = student
        person = Person(student, platform, number, student_name(name) if platform == "moodle" else "", "")
        path = found[0][0]
        if self.target is not None and not (len(found) == 1 and path.is_dir()):
            path = self.target / files.file_name(f"{platform} {number}")
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir(parents=True)
            for file, own in found:
                copy = path / (own or file.name)
                while copy.exists():  # two files of one name: the intake decides between them
                    copy = copy.with_name(f"other {copy.name}")
                if stat.S_ISREG(file.lstat().st_mode):
                    shutil.copy2(file, copy)
                elif file.is_symlink():
                    copy.symlink_to(os.readlink(file))
                else:
                    shutil.copytree(file, copy, symlinks=True)
        self.add(student, path, None, person)

    def gradescope(self, submitters: dict[str, _Submission]) -> None:
        """Add the folders of Gradescope's export, each once for every student who handed it in."""
        for name, submission in submitters.items():
            path = self.folder / name
            if not path.is_dir() or not submission.people:
                continue
            self.taken.add(path)
            for said in submission.people:
                number, email, called = (said.get(key, "") for key in ("sid", "email", "name"))
                student = self.whose("gradescope", number or email, called or email or number, email)
                self.known["gradescope", number or email] = student
                person = Person(student, "gradescope", number or email, student_name(called) if called else "", email)
                self.add(student, path, submission.handed_in, person)


class _Submission(NamedTuple):
    """What Gradescope says about a submission."""

    people: list[dict[str, str]]  # of each student `sid`, `name` and `email`, if they are given
    handed_in: float | None  # seconds since 1970


def _submitters(path: pathlib.Path, zone: datetime.tzinfo) -> dict[str, _Submission]:
    """Return who handed in what, by the names of folders. This reads those parts of YAML that Gradescope writes there."""
    found: dict[str, _Submission] = {}
    name, key = "", ""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if top := re.fullmatch(r"([\w-]+):\s*", line):
            name, key = top[1], ""
            found[name] = _Submission([], None)
        elif name and (own := re.fullmatch(r"  :(\w+):\s*(.*)", line)):
            key = own[1]
            if key == "created_at":
                found[name] = found[name]._replace(handed_in=_time(_scalar(own[2]), zone))
        elif name and key == "submitters" and (part := re.fullmatch(r"\s*(- |  )\s*:(\w+):\s*(.*)", line)):
            if part[1] == "- ":
                found[name].people.append({})
            if found[name].people:
                found[name].people[-1][part[2]] = _scalar(part[3])
    return found


def _scalar(text: str) -> str:
    """Return the string that a one-line scalar of YAML stands for; "" for null."""
    text = text.strip()
    if text.startswith('"'):
        try:
            value: Any = json.loads(text)
        except ValueError:
            return text.strip('"')
        return value if isinstance(value, str) else text
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return "" if text in ("null", "~") else text


def _time(text: str, zone: datetime.tzinfo) -> float | None:
    """Return a time in Gradescope's form, `2026-10-01 12:34:56.789000000 Z`, in seconds since 1970; None for another form."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?\s*(Z|[+-]\d\d:?\d\d)?", text)
    if found is None:
        return None
    try:
        then = datetime.datetime.fromisoformat(f"{found[1]}T{found[2]}{found[4] or ''}")
    except ValueError:
        return None
    then = then if then.tzinfo is not None else then.replace(tzinfo=zone)
    return then.timestamp() + float(found[3] or 0)


def student_name(name: str) -> str:
    """Return a name as the store keeps it: in Unicode's composed form (NFC), with U+FFFD for each unprintable character; `(no name)` if
    nothing is left.
    """
    text = unicodedata.normalize("NFC", os.fsencode(name).decode("utf-8", "replace"))
    return "".join(c if c.isprintable() else "�" for c in text).strip() or "(no name)"


# --- a zip of the class -------------------------------------------------------------------------------------------------


def unpacked(
    path: pathlib.Path, target: pathlib.Path, zone: datetime.tzinfo = datetime.UTC, labs: Sequence[Lab] = ()
) -> pathlib.Path:
    """Return the folder of submissions: `path` itself, or if this is a zip, the folder below `target` into which it is unpacked. If the
    zip has nothing but one folder, return this folder, unless it is one student's. A file that cannot be unpacked is left out, and named
    on stderr. Raise Invalid if `path` is neither a folder nor a zip, or would be too large unpacked.

    Args:
      zone: the time zone of the zip's times, unless the zip names it.
      labs: a folder that contains one of these is a student's, and not the class's.
    """
    if path.is_dir():
        return path
    try:
        with path.open("rb") as file:
            # another zip of this name gets another folder, without what was handed in before
            target = target / hashlib.file_digest(file, "sha256").hexdigest()[:8]
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            if len(infos) > 200_000 or sum(i.file_size for i in infos) > 16 << 30:
                raise files.Invalid(f"{path} is larger unpacked than submissions of a class are")
            target.mkdir(parents=True, exist_ok=True)
            for info in infos:
                try:
                    _unpack(archive, info, target, zone)
                except (
                    Exception
                ) as error:  # one odd file (its path, bytes, password, date) is no reason to grade nobody
                    if isinstance(error, OSError) and error.errno not in _OF_A_FILE:
                        raise
                    said = getattr(error, "strerror", None) or str(error)
                    print(f"{path}: {files.shown(info.filename)} is left out: {files.shown(said)}", file=sys.stderr)
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise files.Invalid(f"{path} cannot be read as a folder or a zip of submissions: {error}") from None
    inside = [p for p in target.iterdir() if not p.name.startswith(_HIDDEN_NAMES)]
    whole = len(inside) == 1 and inside[0].is_dir() and not _MOODLE.fullmatch(inside[0].name)
    return inside[0] if whole and not _is_a_students(inside[0], labs) else target


def _is_a_students(folder: pathlib.Path, labs: Sequence[Lab]) -> bool:
    """Return whether a folder is one student's submission: it contains a file or folder named after a lab, or an `exercises` file."""
    return any(hint_of(p.name, labs) or p.name.startswith("exercises.") for p in folder.iterdir())


# The `errno` of errors that are about one file's name, or about its bytes (None, as bz2 has it). Any other is about the disk.
_OF_A_FILE = (None, errno.ENAMETOOLONG, errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.EINVAL, errno.EILSEQ)


def _unpack(archive: zipfile.ZipFile, info: zipfile.ZipInfo, target: pathlib.Path, zone: datetime.tzinfo) -> None:
    """Write one file of a zip, whole or not at all, with its time. Raise Invalid for a link or a device."""
    place = target / files.safe_path(info.filename)
    if info.is_dir():
        return
    # make the top folder first: so its student has an entry even if the file cannot be written
    target.joinpath(*place.relative_to(target).parts[:-1][:1]).mkdir(exist_ok=True)
    if (info.external_attr >> 16) & 0o170000 & ~0o100000:
        raise files.Invalid("it is a link or a device")
    place.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(info) as source, place.open("wb") as copy:
        try:
            shutil.copyfileobj(source, copy, 1 << 20)
        except BaseException:
            place.unlink()
            raise
    then = files.time_of(info, zone)
    if then < files.FIRST:  # no time given: a file in the zip is not newer than the zip
        then = pathlib.Path(archive.filename or ".").stat().st_mtime
    os.utime(place, (then, then))
