"""course.toml -> what a course wants: who, until when, how points are counted

    labs = ["00", "02"]                 which labs are graded; all of them without it
    roster = "roster.csv"               columns student, name, email; the first is what submissions are called
    timezone = "Europe/Zurich"
    attempts = "last"                   or "best": which of several submissions counts, lab by lab

    [late]
    percent_a_day = 10                  taken off the points of a lab for each day that has begun
    most_days = 5                       later than that counts nothing

    [limits]
    seconds = 10                        of a check
    memory_mb = 3072
    submission_seconds = 900
    fresh_process = false               those of an exercise share one; without it each check has its own

    [lab.05]
    due = 2027-03-01T23:59:00
    points = 20                         what the lab counts; the sum of its exercises without it
    extra = true                        counts on top, and not in the total

Everything may be left out. What is not known is an error, with its line.
"""

from __future__ import annotations

import csv
import datetime
import difflib
import math
import pathlib
import re
import tomllib
import types
import unicodedata
import zoneinfo
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from jitkit.kata.engine.manifest import Lab

from .jail import Limits

FILE = "course.toml"
_KEYS: dict[str, dict[str, Any]] = {
    "": {"labs": list, "roster": str, "timezone": str, "attempts": str, "late": dict, "limits": dict, "lab": dict},
    "late": {"percent_a_day": (int, float), "most_days": int},
    "limits": {
        "seconds": (int, float),
        "memory_mb": int,
        "processes": int,
        "submission_seconds": (int, float),
        "fresh_process": bool,
    },
    "lab": {"due": datetime.datetime, "points": (int, float), "extra": bool},
}


class PolicyError(Exception):
    """A course.toml, or a roster, that does not say what it must: the file, the line, and why."""


class Student(NamedTuple):
    """A line of the roster."""

    id: str
    name: str
    email: str


class LabPolicy(NamedTuple):
    """What holds for one lab."""

    due: datetime.datetime | None = None
    points: float | None = None
    extra: bool = False


class Policy(NamedTuple):
    """What a course wants."""

    labs: tuple[str, ...] = ()
    roster: tuple[Student, ...] = ()
    timezone: datetime.tzinfo = datetime.UTC
    attempts: str = "last"
    percent_a_day: float = 0.0
    most_days: int | None = None
    limits: Limits = Limits()
    submission_seconds: float = 900.0
    of_lab: Mapping[str, LabPolicy] = types.MappingProxyType({})

    def factor(self, lab: str, handed_in: float) -> float:
        """What is left of the points of a lab that was handed in at a time (in seconds since 1970)."""
        due = self.of_lab.get(lab, LabPolicy()).due
        if due is None:
            return 1.0
        late = handed_in - due.timestamp()
        if late <= 0:
            return 1.0
        days = math.ceil(late / 86_400)
        if self.most_days is not None and days > self.most_days:
            return 0.0
        return max(0.0, 1.0 - days * self.percent_a_day / 100)


def read_policy(path: pathlib.Path, labs: Collection[Lab]) -> Policy:
    """The policy in a file; the usual one where there is no file."""
    if not path.is_file():
        return Policy()
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PolicyError(f"{path}: {error}") from None
    reader = _Reader(path, text, {lab.number for lab in labs})
    reader.table("", data)
    zone = reader.zone(data.get("timezone", "UTC"))
    attempts = data.get("attempts", "last")
    if attempts not in ("last", "best"):
        raise reader.error("attempts", f'`attempts` is "last" or "best", not {attempts!r}')
    late, limits = data.get("late", {}), data.get("limits", {})
    reader.table("late", late)
    reader.table("limits", limits)
    percent = float(late.get("percent_a_day", 0.0))
    if not 0 <= percent <= 100:
        raise reader.error("percent_a_day", "`percent_a_day` is from 0 to 100")
    for key, value in limits.items():
        if key != "fresh_process" and value <= 0:
            raise reader.error(key, f"`{key}` is more than 0")
    usual = Limits()
    return Policy(
        labs=tuple(reader.lab(number, "labs") for number in data.get("labs", ())),
        roster=reader.roster(data["roster"]) if "roster" in data else (),
        timezone=zone,
        attempts=attempts,
        percent_a_day=percent,
        most_days=late.get("most_days"),
        limits=usual._replace(
            seconds=float(limits.get("seconds", usual.seconds)),
            memory=int(limits["memory_mb"]) << 20 if "memory_mb" in limits else usual.memory,
            processes=int(limits.get("processes", usual.processes)),
            fresh_process=limits.get("fresh_process", usual.fresh_process),
        ),
        submission_seconds=float(limits.get("submission_seconds", 900.0)),
        of_lab={
            reader.lab(number, f"[lab.{number}]"): reader.of_lab(item, zone)
            for number, item in data.get("lab", {}).items()
        },
    )


class _Reader:
    def __init__(self, path: pathlib.Path, text: str, labs: Collection[str]) -> None:
        self.path = path
        self.lines = text.splitlines()
        self.labs = labs

    def error(self, key: str, sentence: str) -> PolicyError:
        """An error at the line where a key is, as far as one has it."""
        word = re.compile(rf"(^|[\s\[.{{,\"']){re.escape(key.strip('[]').split('.')[-1])}\b")
        line = next((i for i, text in enumerate(self.lines, 1) if word.search(text.partition("#")[0])), 1)
        return PolicyError(f"{self.path}:{line}: {sentence}")

    def table(self, name: str, data: Any) -> None:
        """See that the keys are known, and their values of the right types."""
        if not isinstance(data, dict):
            raise self.error(name, f"`{name}` is a table")
        for key, value in data.items():
            if key not in _KEYS[name]:
                near = difflib.get_close_matches(key, _KEYS[name], n=1)
                raise self.error(key, f"`{key}` is not known here" + (f"; is it `{near[0]}`?" if near else ""))
            kinds: Any = _KEYS[name][key]
            if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
                raise self.error(key, f"`{key}` is {value!r}, which is no {_kind(kinds)}")

    def lab(self, number: Any, where: str) -> str:
        """The number of a lab."""
        if number not in self.labs:
            raise self.error(where, f"there is no lab {number!r}; the labs are {', '.join(sorted(self.labs))}")
        return str(number)

    def of_lab(self, item: Any, zone: datetime.tzinfo) -> LabPolicy:
        """A table `[lab.05]`."""
        self.table("lab", item)
        due = item.get("due")
        points = item.get("points")
        if points is not None and points < 0:
            raise self.error("points", "`points` is 0 or more")
        return LabPolicy(
            due.replace(tzinfo=zone) if due is not None and due.tzinfo is None else due,
            float(points) if points is not None else None,
            item.get("extra", False),
        )

    def zone(self, name: str) -> datetime.tzinfo:
        """A time zone by its name."""
        try:
            return zone_of(name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            raise self.error("timezone", f"there is no time zone {name!r}: one is called Europe/Zurich") from None

    def roster(self, name: str) -> tuple[Student, ...]:
        """The students in a CSV file."""
        path = self.path.parent / name
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                rows = list(csv.reader(file))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise self.error("roster", f"the roster {name} cannot be read: {error}") from None
        if not rows or rows[0][:1] != ["student"]:
            raise PolicyError(f"{path}:1: the first line names the columns, and the first of them is `student`")
        columns = {column: i for i, column in enumerate(rows[0])}
        students: dict[str, Student] = {}
        for line, row in enumerate(rows[1:], 2):
            if not any(row):
                continue
            cells = {column: row[i].strip() if i < len(row) else "" for column, i in columns.items()}
            id = unicodedata.normalize("NFC", cells["student"])
            if not id or id in students:
                raise PolicyError(
                    f"{path}:{line}: " + (f"{id!r} is there twice" if id else "there is no name of a student")
                )
            students[id] = Student(id, cells.get("name", ""), cells.get("email", ""))
        return tuple(students.values())


def zone_of(name: str) -> datetime.tzinfo:
    """A time zone by its name; what is not known is zoneinfo's error."""
    return datetime.UTC if name == "UTC" else zoneinfo.ZoneInfo(name)


def name_of(zone: datetime.tzinfo) -> str:
    """The name of a time zone, for `zone_of`."""
    return zone.key if isinstance(zone, zoneinfo.ZoneInfo) else "UTC"


def _kind(kinds: Any) -> str:
    words = {
        list: "list",
        str: "text",
        dict: "table",
        int: "whole number",
        bool: "truth value",
        datetime.datetime: "date with a time",
    }
    return words.get(kinds, "number") if not isinstance(kinds, tuple) else "number"


def chosen_labs(labs: Iterable[Lab], policy: Policy, only: Collection[str]) -> list[Lab]:
    """The labs that are graded."""
    return [lab for lab in labs if (not policy.labs or lab.number in policy.labs) and (not only or lab.number in only)]
