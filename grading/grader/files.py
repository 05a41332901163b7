"""a student's folder, archive or file -> the texts in it that may be answers; nothing is run, nothing is unpacked to disk

Everything here may raise `Invalid`, with the sentence that the student reads.
"""

from __future__ import annotations

import hashlib
import io
import os
import pathlib
import re
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from typing import IO, NamedTuple

_MOST_FILES = 5_000
_LONGEST = {".py": 4 << 20, ".ipynb": 32 << 20}  # bytes of a file that is read; a notebook brings its pictures along
_MOST_BYTES = 64 << 20  # of all of them, unpacked
_LONGEST_ARCHIVE = 256 << 20
_READ = tuple(_LONGEST)
_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")
_UNOPENED = (".rar", ".7z")  # archives that the standard library cannot read
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
    """A submission, or a part of it, that is not run. The message is for its author."""


class Found(NamedTuple):
    """A file: its path in the submission, and its bytes."""

    path: str
    data: bytes


def _longest(name: str) -> int:
    """How many bytes a file of this name may have."""
    return next((size for ending, size in _LONGEST.items() if name.lower().endswith(ending)), _MOST_BYTES)


def is_archive(name: str) -> bool:
    """Whether a file of this name is opened, and not read."""
    return name.lower().endswith(_ARCHIVES)


def stem(name: str) -> str:
    """A name without the ending of an archive or of a source."""
    for ending in sorted((*_ARCHIVES, *_UNOPENED, *_READ), key=len, reverse=True):
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return name


def read_files(path: pathlib.Path) -> list[Found]:
    """All files that may have answers in them, sorted by their paths."""
    budget = _Budget()
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode):
        found = list(_of_folder(path, budget))
    elif stat.S_ISREG(mode):
        found = list(_of_file(path, path.name, budget, 0))
    else:
        raise Invalid(f"{shown(path.name)} is neither a file nor a folder: links and devices are not followed.")
    if not found and budget.unopened:
        name = shown(budget.unopened[0])
        raise Invalid(f"{name} is an archive of a kind that is not opened here. Hand in a zip, or the files.")
    return sorted(found)


class _Budget:
    """What a submission may still bring."""

    def __init__(self) -> None:
        self.files = 0
        self.bytes = 0
        self.unopened: list[str] = []

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
    size = path.stat().st_size
    if is_archive(name):
        if size > _LONGEST_ARCHIVE:
            raise Invalid(f"{shown(name)} has {size:,} bytes; an archive may have {_LONGEST_ARCHIVE:,}.")
        yield from _of_archive(path.read_bytes(), name, budget, depth)
        return
    budget.count(name, size)
    if name.lower().endswith(_READ):
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            yield Found(name, file.read(_longest(name) + 1))


def _of_archive(data: bytes, name: str, budget: _Budget, depth: int) -> Iterator[Found]:
    if depth > 1:
        raise Invalid(f"{shown(name)} is an archive in an archive in an archive.")
    prefix = stem(name) + "/" if depth or "/" in name else ""
    try:
        members = _zip(data, budget) if zipfile.is_zipfile(io.BytesIO(data)) else _tar(data, budget)
        for member, content in members:
            path = safe_path(member)
            if _SKIPPED.intersection(path.parts):
                continue
            if is_archive(member):
                yield from _of_archive(content(), prefix + path.as_posix(), budget, depth + 1)
            elif member.lower().endswith(_READ):
                yield Found(prefix + path.as_posix(), content())
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        EOFError,
        OSError,
        ValueError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise Invalid(f"{shown(name)} cannot be unpacked: {type(error).__name__}: {shown(str(error))}") from None


class _Content:
    """Reads a member, no further than it said it goes."""

    def __init__(self, stream: IO[bytes], name: str, size: int) -> None:
        self.stream, self.name, self.size = stream, name, size

    def __call__(self) -> bytes:
        most = _longest(self.name)
        data = self.stream.read(most + 1)
        if len(data) > most:
            raise Invalid(f"{shown(self.name)} is longer than {most:,} bytes.")
        return data


def _zip(data: bytes, budget: _Budget) -> Iterator[tuple[str, _Content]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise Invalid(f"{shown(info.filename)} in the archive is a link or a device.")
            safe_path(info.filename)
            if info.is_dir():
                continue
            budget.count(info.filename, info.file_size)
            with archive.open(info) as stream:
                yield info.filename, _Content(stream, info.filename, info.file_size)


def _tar(data: bytes, budget: _Budget) -> Iterator[tuple[str, _Content]]:
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
                yield info.name, _Content(stream, info.name, info.size)


def safe_path(name: str) -> pathlib.PurePosixPath:
    """A name in an archive as a path below it. Invalid for one that leads elsewhere."""
    path = pathlib.PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in (path.parts or ("",))[0] or "\0" in name:
        raise Invalid(f"{shown(name)} in the archive would lie outside of it.")
    return path


def file_name(student: str) -> str:
    """A name for a student's file: what a path may have of the student's, and a hash that keeps names apart."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", student)[:40]
    return f"{plain}-{hashlib.sha256(student.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def shown(text: str) -> str:
    """A text of a student's as it may stand in a sentence: printable, and not long."""
    plain = "".join(c if c.isprintable() else "?" for c in text)
    return plain if len(plain) <= 200 else plain[:200] + "..."
