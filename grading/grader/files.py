"""a student's folder, archive or file -> the files in it that may contain answers; nothing is run, nothing is unpacked to
disk

The functions here that read a submission may raise `Invalid`; its message is the sentence that the student reads.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import hashlib
import io
import itertools
import os
import pathlib
import re
import stat
import struct
import tarfile
import time
import zipfile
from collections.abc import Iterator
from typing import IO, NamedTuple

FIRST = 946_684_800.0  # the year 2000: an earlier time is not believed (tools that make archives reproducible write 1980, or 1970)
_MOST_FILES = 5_000
_LONGEST = {".py": 4 << 20, ".ipynb": 32 << 20}  # bytes of a file that is read; a notebook brings its pictures along
_MOST_BYTES = 64 << 20  # all files together, unpacked
_LONGEST_ARCHIVE = 256 << 20  # bytes of an archive, packed
_READ = tuple(_LONGEST)
_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")
_UNOPENED = (".rar", ".7z")  # archives that the standard library cannot read
_MOST_LOOKED_INTO, _LONGEST_LOOK = 64, 1 << 20  # unread files in which functions are looked for, and bytes of each
_DEFINED = re.compile(rb"\bdef[ \t]+([A-Za-z_]\w*)")
_SKIPPED = frozenset(
    {
        ".jitkit",
        "__pycache__",
        ".ipynb_checkpoints",
        "__MACOSX",
        ".git",
        ".venv",
        "venv",
        "node_modules",
        "site-packages",
    }
)


class Invalid(Exception):
    """Raised for a submission, or a part of one, that is not run. Its author reads the message."""


class Found(NamedTuple):
    """A file: its path in the submission, its bytes, and when it was written (seconds since 1970; 0 if that is not known)."""

    path: str
    data: bytes
    time: float = 0.0


class Passed(NamedTuple):
    """A file or folder that is not read, the reason, and the functions that it seems to contain."""

    path: str
    why: str
    functions: frozenset[str] = frozenset()


class Files(NamedTuple):
    """The contents of a submission: the files that are read, sorted by path, and those that are not."""

    found: list[Found]
    passed: list[Passed]


def _longest(name: str) -> int:
    """Return how many bytes a file of this name may have."""
    return next((size for ending, size in _LONGEST.items() if name.lower().endswith(ending)), _MOST_BYTES)


def _may_be_a_source(name: str) -> bool:
    """Return whether a file that is not read may be a source under another name: one that ends in `.txt`, has no ending, or has a source's
    ending somewhere in it, as exercises.py.bak does.
    """
    last = pathlib.PurePosixPath(name).name.lower()
    return last.endswith(".txt") or "." not in last.lstrip(".") or any(ending in last for ending in _READ)


def is_archive(name: str) -> bool:
    """Return whether a file of this name is an archive, which is opened."""
    return name.lower().endswith(_ARCHIVES)


def stem(name: str) -> str:
    """Return a name without the ending of an archive or of a source."""
    for ending in sorted((*_ARCHIVES, *_UNOPENED, *_READ), key=len, reverse=True):
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return name


def read_files(path: pathlib.Path, zone: datetime.tzinfo = datetime.UTC) -> Files:
    """Return the files that may contain answers, and the files that are passed over. Raise Invalid for a submission that is not read.

    Args:
      zone: the time zone of archives that do not name one.
    """
    budget = _Budget(zone)
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode):
        try:
            found = list(_of_folder(path, budget))
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            raise Invalid("A path in it is longer than a path may be. Hand in the files of the labs only.") from None
    elif stat.S_ISREG(mode):
        found = list(_of_file(path, path.name, budget, 0))
    else:
        raise Invalid(f"{shown(path.name)} is neither a file nor a folder: links and devices are not followed.")
    if not found and budget.unopened:
        name = shown(budget.unopened[0])
        raise Invalid(f"{name} is an archive that the grader cannot open. Hand in a zip, or the files.")
    return Files(_each_once(found), budget.passed)


def _each_once(found: list[Found]) -> list[Found]:
    """Return the files, sorted by path. Raise Invalid if one path has two contents: an archive may have a member twice, and may write its
    path in several ways.
    """
    kept: dict[str, Found] = {}
    for file in sorted(found):
        if kept.setdefault(file.path, file).data != file.data:
            raise Invalid(f"{shown(file.path)} is in the archive twice, with different contents. Hand in one of them.")
    return list(kept.values())


def functions_in(data: bytes) -> frozenset[str]:
    """Return the names after `def` in a file's bytes, also in UTF-16 and in a notebook's strings; only names of ASCII are found."""
    return frozenset(name.decode("ascii") for name in _DEFINED.findall(data.replace(b"\0", b"")))


class _Budget:
    """Counts the files and bytes of a submission, raises Invalid if they are too many, and collects what is passed over."""

    def __init__(self, zone: datetime.tzinfo) -> None:
        self.zone = zone
        self.files = 0
        self.bytes = 0
        self.looked_into = 0
        self.unopened: list[str] = []
        self.passed: list[Passed] = []

    def skip(self, name: str, stream: IO[bytes] | None) -> None:
        """Note a file that is not read. If it may be a source under another name, look for functions in it."""
        if name.lower().endswith(_UNOPENED):
            self.passed.append(Passed(name, "an archive that the grader cannot open"))
            return
        functions: frozenset[str] = frozenset()
        if stream is not None and _may_be_a_source(name) and self.looked_into < _MOST_LOOKED_INTO:
            self.looked_into += 1
            functions = functions_in(stream.read(_LONGEST_LOOK))
        self.passed.append(Passed(name, "only files that end in .py or .ipynb are read", functions))

    def skip_folder(self, name: str) -> None:
        """Note a folder that is not read."""
        self.passed.append(Passed(f"{name}/", "folders of this name have no answers in them"))

    def count(self, name: str, size: int) -> None:
        self.files += 1
        if self.files > _MOST_FILES:
            raise Invalid(f"There are more than {_MOST_FILES:,} files in it. Hand in the files of the labs only.")
        if name.lower().endswith(_UNOPENED):
            self.unopened.append(name)
        if name.lower().endswith(_READ):
            if size > _longest(name):
                raise Invalid(f"{shown(name)} has {size:,} bytes; a file of answers may have {_longest(name):,}.")
            self.bytes += size
        if self.bytes > _MOST_BYTES:
            raise Invalid(f"Unpacked it is more than {_MOST_BYTES:,} bytes. Hand in the files of the labs only.")


def _of_folder(folder: pathlib.Path, budget: _Budget) -> Iterator[Found]:
    for place, folders, names in os.walk(folder):
        for name in sorted(_SKIPPED.intersection(folders)):
            budget.skip_folder(pathlib.Path(place, name).relative_to(folder).as_posix())
        folders[:] = sorted(d for d in folders if d not in _SKIPPED)
        for name in (*folders, *sorted(names)):
            path = pathlib.Path(place, name)
            relative = path.relative_to(folder).as_posix()
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                continue
            if not stat.S_ISREG(mode):
                raise Invalid(f"{shown(relative)} is a link or a device. Put a copy of the file there.")
            yield from _of_file(path, relative, budget, 0)


def _of_file(path: pathlib.Path, name: str, budget: _Budget, depth: int) -> Iterator[Found]:
    size, written = path.stat().st_size, time_of_file(path.stat())
    if is_archive(name):
        if size > _LONGEST_ARCHIVE:
            raise Invalid(f"{shown(name)} has {size:,} bytes; an archive may have {_LONGEST_ARCHIVE:,}.")
        yield from _of_archive(path.read_bytes(), name, budget, depth, written)
        return
    budget.count(name, size)
    if name.lower().endswith(_READ):
        with _opened(path) as file:
            yield Found(name, file.read(_longest(name) + 1), written)
    elif _may_be_a_source(name) and os.access(path, os.R_OK):
        with _opened(path) as file:
            budget.skip(name, file)
    else:
        budget.skip(name, None)


def _opened(path: pathlib.Path) -> IO[bytes]:
    return open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")


def _of_archive(data: bytes, name: str, budget: _Budget, depth: int, newest: float) -> Iterator[Found]:
    """Yield the files of an archive. A member whose time is after the archive's, or before the year 2000, gets the archive's time.
    Raise Invalid if the archive cannot be unpacked, is too large, or is nested too deep.
    """
    if depth > 1:
        raise Invalid(f"{shown(name)} is an archive in an archive in an archive.")
    prefix = stem(name) + "/" if depth or "/" in name else ""
    try:
        members = _zip(data, budget) if zipfile.is_zipfile(io.BytesIO(data)) else _tar(data, budget)
        skipped: set[str] = set()
        for member, content, said in members:
            path = safe_path(member)
            written = said if FIRST <= said <= newest else newest
            if _SKIPPED.intersection(path.parts):
                inside = next(i for i, part in enumerate(path.parts) if part in _SKIPPED)
                skipped.add("/".join(path.parts[: inside + 1]))
            elif is_archive(member):
                yield from _of_archive(content(), prefix + path.as_posix(), budget, depth + 1, written)
            elif member.lower().endswith(_READ):
                yield Found(prefix + path.as_posix(), content(), written)
            else:
                budget.skip(prefix + path.as_posix(), content.stream)
        for folder in sorted(skipped):
            budget.skip_folder(prefix + folder)
    except Invalid:
        raise
    except Exception as error:  # zipfile, tarfile and what they unpack with have no common class of errors
        raise Invalid(f"{shown(name)} cannot be unpacked: {type(error).__name__}: {shown(str(error))}") from None


class _Content:
    """Reads a member of an archive. The call raises Invalid if there are more bytes than a file of this name may have."""

    def __init__(self, stream: IO[bytes], name: str, size: int) -> None:
        self.stream, self.name, self.size = stream, name, size

    def __call__(self) -> bytes:
        most = _longest(self.name)
        data = self.stream.read(most + 1)
        if len(data) > most:
            raise Invalid(f"{shown(self.name)} is longer than {most:,} bytes.")
        return data


def _zip(data: bytes, budget: _Budget) -> Iterator[tuple[str, _Content, float]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise Invalid(f"{shown(info.filename)} in the archive is a link or a device.")
            safe_path(info.filename)
            if info.is_dir():
                continue
            if info.flag_bits & 1:
                raise Invalid(f"{shown(info.filename)} in the archive has a password. Hand in an archive without one.")
            budget.count(info.filename, info.file_size)
            with archive.open(info) as stream:
                yield info.filename, _Content(stream, info.filename, info.file_size), time_of(info, budget.zone)


def time_of_file(status: os.stat_result) -> float:
    """Return the time of a file in seconds since 1970; the present time if the file's is in the future."""
    return max(0.0, min(status.st_mtime, time.time()))


def newest_time(path: pathlib.Path) -> float:
    """Return the time of a file, or of the newest file in a folder: the time of a submission that cannot be read. The folder's own time,
    which is when it was unpacked, counts only if the folder is empty.
    """
    inside = (os.path.join(place, name) for place, _, names in os.walk(path) for name in names)
    times = []
    for name in itertools.islice(inside, _MOST_FILES):
        with contextlib.suppress(OSError):  # a path may be too long
            times.append(time_of_file(os.lstat(name)))
    return max(times, default=time_of_file(path.lstat()))


def time_of(info: zipfile.ZipInfo, zone: datetime.tzinfo) -> float:
    """Return when a zip's member was last written, in seconds since 1970. Use its UTC time if the zip has one, else
    read its local time in `zone`; return 0 if the date is impossible.
    """
    extra = info.extra
    while len(extra) >= 4:  # APPNOTE.TXT 4.5: a list of an id, a length, and data
        kind, size = struct.unpack("<HH", extra[:4])
        part, extra = extra[4 : 4 + size], extra[4 + size :]
        if kind == 0x5455 and len(part) >= 5 and part[0] & 1:  # Info-ZIP's, by Unix' clock
            return float(struct.unpack("<i", part[1:5])[0])
        if kind == 0x000A and len(part) >= 16 and part[4:6] == b"\1\0":  # NTFS': 100 ns since 1601
            return int.from_bytes(part[8:16], "little") / 1e7 - 11_644_473_600
    try:
        return datetime.datetime(*info.date_time, tzinfo=zone).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def _tar(data: bytes, budget: _Budget) -> Iterator[tuple[str, _Content, float]]:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r|*") as archive:
        unpacked = 0
        for info in archive:
            unpacked += info.size
            if unpacked > 4 * _MOST_BYTES:
                raise Invalid(f"Unpacked it is more than {4 * _MOST_BYTES:,} bytes.")
            safe_path(info.name)
            if info.isdir():
                continue
            if not info.isfile():
                raise Invalid(f"{shown(info.name)} in the archive is a link or a device.")
            budget.count(info.name, info.size)
            stream = archive.extractfile(info)
            if stream is not None:
                yield info.name, _Content(stream, info.name, info.size), float(info.mtime)


def safe_path(name: str) -> pathlib.PurePosixPath:
    """Return the path of an archive's member, relative to the archive. Raise Invalid if it leads out of the archive."""
    path = pathlib.PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in (path.parts or ("",))[0] or "\0" in name:
        raise Invalid(f"{shown(name)} in the archive would lie outside of it.")
    return path


def file_name(student: str) -> str:
    """Return a name for a student's file: the characters of the student's id that a path may contain, and a hash that
    keeps names apart.
    """
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", student)[:40]
    return f"{plain}-{hashlib.sha256(student.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def shown(text: str) -> str:
    """Return a student's string in a form that a sentence can quote: printable, and not long."""
    plain = "".join(c if c.isprintable() else "?" for c in text)
    return plain if len(plain) <= 200 else plain[:200] + "..."
