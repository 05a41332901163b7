"""The CSV files beside course.toml: who is in the course, and who asks for another look. Errors name the line.

student,name,email,canvas_id,sis_id,login,moodle_id       only the first column is needed: what submissions are called
student,exercise,request,answer                           a request is open until it has an answer, or a change or comment by hand
"""

from __future__ import annotations

import csv
import pathlib
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple


class PolicyError(Exception):
    """Raised if a course.toml, or a file that it names, has a fault. The message has the file, the line, and the reason."""


class Student(NamedTuple):
    """A line of the roster: the id, and what learning platforms call the student."""

    id: str
    name: str = ""
    email: str = ""
    canvas_id: str = ""
    sis_id: str = ""
    login: str = ""
    moodle_id: str = ""


class Request(NamedTuple):
    """A student's request to look at an exercise again, and the answer, if there is one."""

    student: str
    exercise: str
    request: str
    answer: str


def read_roster(path: pathlib.Path) -> tuple[Student, ...]:
    """Return the students in a CSV file. Raise PolicyError for a line without a student, or with the student of an
    earlier line.
    """
    students: dict[str, Student] = {}
    for line, cells in _rows(path, ("student",)):
        id = unicodedata.normalize("NFC", cells["student"])
        if not id or id in students:
            said = f"{id!r} is there twice" if id else "there is no name of a student"
            raise PolicyError(f"{path}:{line}: {said}")
        students[id] = Student(id, *(cells.get(column, "") for column in Student._fields[1:]))
    return tuple(students.values())


def read_requests(path: pathlib.Path, roster: Sequence[Student], exercises: Collection[str]) -> tuple[Request, ...]:
    """Return the requests in a CSV file, in order. Raise PolicyError for an exercise that does not exist, a line without a student, or
    a student who is not on the roster, if there is one.
    """
    known = {s.id for s in roster}
    found = []
    for line, cells in _rows(path, Request._fields[:3]):
        request = Request(
            unicodedata.normalize("NFC", cells["student"]), *(cells.get(c, "") for c in Request._fields[1:])
        )
        if request.exercise not in exercises:
            raise PolicyError(f"{path}:{line}: there is no exercise {request.exercise!r}")
        if not request.student or (known and request.student not in known):
            raise PolicyError(f"{path}:{line}: {request.student!r} is not on the roster")
        found.append(request)
    return tuple(found)


def _rows(path: pathlib.Path, needed: Sequence[str]) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the rows of a table that are not empty: the line's number, and the cells by column. Raise PolicyError if the file cannot be
    read, a needed column is missing, or the first needed one is not the first column.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            columns = [c.strip() for c in next(reader, [])]
            if columns[:1] != list(needed[:1]) or not set(needed) <= set(columns):
                words = ", ".join(f"`{c}`" for c in needed)
                raise PolicyError(
                    f"{path}:1: the first line must name the columns {words}, and begin with `{needed[0]}`"
                )
            for row in reader:
                if any(row):
                    cells = (row[i].strip() if i < len(row) else "" for i in range(len(columns)))
                    yield reader.line_num, dict(zip(columns, cells, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise PolicyError(f"{path}: it cannot be read: {error}") from None


class Names:
    """Finds the student to whom a platform's name belongs: by the id, the platform's own number, the address, the login, or the
    name.
    """

    def __init__(self, roster: Sequence[Student]) -> None:
        found: dict[str, set[str]] = {}
        for s in roster:
            keys = {
                s.id,
                s.email,
                s.email.partition("@")[0],
                s.login,
                s.sis_id,
                _plain(s.name),
                _plain(s.name, turned=True),
            }
            for key in (
                *keys,
                _plain(s.id),
                f"canvas {s.canvas_id}",
                f"moodle {s.moodle_id.removeprefix('Participant ')}",
            ):
                if key.strip() not in ("", "canvas", "moodle"):
                    found.setdefault(key, set()).add(s.id)
        self.found = {key: next(iter(ids)) for key, ids in found.items() if len(ids) == 1}
        self.ids = {s.id for s in roster}

    def whose(self, *names: str) -> str:
        """Return the id of the student to whom one of the names belongs: the first name that is an id, or else the
        first that belongs to exactly one student on the roster. Return "" if there is none.
        """
        for name in names:
            if name in self.ids:
                return name
        return next((id for name in names if (id := self.found.get(name) or self.found.get(_plain(name)))), "")


def _plain(name: str, turned: bool = False) -> str:
    """Return Canvas' form of a name: small letters without separators; with `turned`, the last name first."""
    last, comma, first = name.partition(",")
    words = f"{first} {last}".split() if comma else name.split()
    words = words[-1:] + words[:-1] if turned else words
    return re.sub(r"[\W_]", "", unicodedata.normalize("NFC", "".join(words)).casefold())
