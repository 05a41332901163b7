"""course.toml -> what a course wants: who, until when, how points are counted

    labs = ["00", "02"]                 which labs are graded; all of them without it
    roster = "roster.csv"               columns student, name, email, and more; the first is what submissions are called
    requests = "requests.csv"           columns student, exercise, request, answer: who asks for another look
    timezone = "Europe/Zurich"
    attempts = "last"                   or "best": which of several submissions counts, lab by lab

    [late]
    grace_minutes = 15                  nothing is late until then
    percent_a_day = 10                  taken off the points of a lab for each day that has begun since it was due
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
    canvas_id = 4711                    of its assignment, for Canvas' gradebook

    [exercise."05.3"]
    points = 4                          its part in the lab, instead of lab.toml's
    weights = { values = 2, traced = 0 }    of its checks, each of which weighs 1 otherwise

    [student."ann"]
    more_days = 7                       whatever is due is due so much later for this student
    lab.05.due = 2027-04-01T12:00:00

Everything may be left out. What is not known is an error, with its line.
"""

from __future__ import annotations

import datetime
import difflib
import math
import pathlib
import re
import tomllib
import types
import zoneinfo
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from jitkit.kata.engine.manifest import Exercise, Lab

from ..shared import hidden_checks
from .jail import Limits
from .roster import PolicyError, Request, Student, read_requests, read_roster
from .rungs import Ladder, program_files
from .shipped_code import CheckFile

FILE = "course.toml"
_NUMBER = (int, float)
# What a table may have, by its name; a table of tables is called `lab.*`.
_KEYS: dict[str, dict[str, Any]] = {
    "": {
        "labs": list, "roster": str, "requests": str, "timezone": str, "attempts": str, "late": dict, "limits": dict, "lab": dict,
        "exercise": dict, "student": dict,
    },
    "late": {"percent_a_day": _NUMBER, "most_days": int, "grace_minutes": _NUMBER},
    "limits": {
        "seconds": _NUMBER, "memory_mb": int, "processes": int, "submission_seconds": _NUMBER, "fresh_process": bool,
    },
    "lab.*": {"due": datetime.datetime, "points": _NUMBER, "extra": bool, "canvas_id": int},
    "exercise.*": {"points": _NUMBER, "weights": dict},
    "student.*": {"more_days": _NUMBER, "lab": dict},
    "student.*.lab.*": {"due": datetime.datetime},
}  # fmt: skip
_KINDS = {
    list: "list", str: "text", dict: "table", int: "whole number", bool: "truth value", datetime.datetime: "date with a time",
    _NUMBER: "number",
}  # fmt: skip


class LabPolicy(NamedTuple):
    """What holds for one lab."""

    due: datetime.datetime | None = None
    points: float | None = None
    extra: bool = False
    canvas_id: int | None = None


class ExercisePolicy(NamedTuple):
    """What holds for one exercise: its part in the lab, and what its checks weigh."""

    points: float | None = None
    weights: Mapping[str, float] = types.MappingProxyType({})


class Extension(NamedTuple):
    """What holds for one student: days more for everything, and other dates for labs."""

    more_days: float = 0.0
    due: Mapping[str, datetime.datetime] = types.MappingProxyType({})


class Policy(NamedTuple):
    """What a course wants."""

    labs: tuple[str, ...] = ()
    roster: tuple[Student, ...] = ()
    requests: tuple[Request, ...] = ()
    timezone: datetime.tzinfo = datetime.UTC
    attempts: str = "last"
    percent_a_day: float = 0.0
    most_days: int | None = None
    grace_minutes: float = 0.0
    limits: Limits = Limits()
    submission_seconds: float = 900.0
    of_lab: Mapping[str, LabPolicy] = types.MappingProxyType({})
    of_exercise: Mapping[str, ExercisePolicy] = types.MappingProxyType({})
    of_student: Mapping[str, Extension] = types.MappingProxyType({})

    def due(self, student: str, lab: str) -> datetime.datetime | None:
        """When a lab is due for a student; None for a lab that never is."""
        theirs = self.of_student.get(student, Extension())
        due = self.of_lab.get(lab, LabPolicy()).due
        if lab in theirs.due:
            return theirs.due[lab]
        return due + datetime.timedelta(days=theirs.more_days) if due is not None else None

    def factor(self, student: str, lab: str, handed_in: float) -> float:
        """What is left of the points of a lab that was handed in at a time (in seconds since 1970)."""
        due = self.due(student, lab)
        late = handed_in - due.timestamp() if due is not None else 0.0
        if late <= 60 * self.grace_minutes:
            return 1.0
        days = math.ceil(late / 86_400)
        if self.most_days is not None and days > self.most_days:
            return 0.0
        return max(0.0, 1.0 - days * self.percent_a_day / 100)

    def is_extra(self, lab: str) -> bool:
        """Whether a lab counts on top."""
        return self.of_lab.get(lab, LabPolicy()).extra

    def points(self, exercise: Exercise) -> float:
        """The part of an exercise in its lab."""
        own = self.of_exercise.get(exercise.id, ExercisePolicy()).points
        return exercise.points if own is None else own


def read_policy(path: pathlib.Path, labs: Collection[Lab]) -> Policy:
    """The policy in a file; the usual one where there is no file."""
    if not path.is_file():
        return Policy()
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PolicyError(f"{path}: {error}") from None
    reader = _Reader(path, text, labs)
    reader.table((), "", data)
    zone = reader.zone(data.get("timezone", "UTC"))
    attempts = data.get("attempts", "last")
    if attempts not in ("last", "best"):
        raise reader.error(("attempts",), f'`attempts` is "last" or "best", not {attempts!r}')
    late, limits = data.get("late", {}), data.get("limits", {})
    reader.table(("late",), "late", late)
    reader.table(("limits",), "limits", limits)
    percent = float(late.get("percent_a_day", 0.0))
    if not 0 <= percent <= 100:
        raise reader.error(("late", "percent_a_day"), "`percent_a_day` is from 0 to 100")
    reader.at_least_0(("late",), late, "most_days", "grace_minutes")
    for key, value in limits.items():
        if key != "fresh_process" and value <= 0:
            raise reader.error(("limits", key), f"`{key}` is more than 0")
    usual = Limits()
    roster = read_roster(path.parent / data["roster"]) if "roster" in data else ()
    ids = [e.id for lab in labs for e in lab.exercises]
    return Policy(
        labs=tuple(reader.lab(number, ("labs",)) for number in data.get("labs", ())),
        roster=roster,
        requests=read_requests(path.parent / data["requests"], roster, ids) if "requests" in data else (),
        timezone=zone,
        attempts=attempts,
        percent_a_day=percent,
        most_days=late.get("most_days"),
        grace_minutes=float(late.get("grace_minutes", 0.0)),
        limits=usual._replace(
            seconds=float(limits.get("seconds", usual.seconds)),
            memory=int(limits["memory_mb"]) << 20 if "memory_mb" in limits else usual.memory,
            processes=int(limits.get("processes", usual.processes)),
            fresh_process=limits.get("fresh_process", usual.fresh_process),
        ),
        submission_seconds=float(limits.get("submission_seconds", 900.0)),
        of_lab={
            reader.lab(number, ("lab", number)): reader.of_lab(("lab", number), item, zone)
            for number, item in data.get("lab", {}).items()
        },
        of_exercise={id: reader.of_exercise(id, item) for id, item in data.get("exercise", {}).items()},
        of_student={id: reader.of_student(id, item, zone, roster) for id, item in data.get("student", {}).items()},
    )


_Path = tuple[str, ...]


class _Reader:
    def __init__(self, path: pathlib.Path, text: str, labs: Collection[Lab]) -> None:
        self.path = path
        self.lines = text.splitlines()
        self.labs = {lab.number: lab for lab in labs}

    def error(self, where: _Path, sentence: str) -> PolicyError:
        """An error at the line where a key is, which is known by the keys of its tables and its own."""
        best, depth, section = 1, 0, _Path()
        for i, text in enumerate(self.lines, 1):
            header = re.fullmatch(r"\s*\[(.+)\]\s*(#.*)?", text)
            left, equals, _ = text.partition("=")
            if header:
                section = here = _keys(f"[{header[1]}]")
            elif equals:
                here = section + _keys(f"{left}=0")
            else:
                continue
            if depth < len(here) <= len(where) and here == where[: len(here)]:
                best, depth = i, len(here)
        return PolicyError(f"{self.path}:{best}: {sentence}")

    def table(self, where: _Path, name: str, data: Any) -> None:
        """See that the keys of a table are known, and their values of the right types."""
        if not isinstance(data, dict):
            raise self.error(where, f"`{where[-1]}` is a table")
        for key, value in data.items():
            if key not in _KEYS[name]:
                near = difflib.get_close_matches(key, _KEYS[name], n=1)
                raise self.error(
                    (*where, key), f"`{key}` is not known here" + (f"; is it `{near[0]}`?" if near else "")
                )
            kinds: Any = _KEYS[name][key]
            wrong = not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool)
            if wrong or (isinstance(value, float) and not math.isfinite(value)):
                raise self.error((*where, key), f"`{key}` is {value!r}, which is no {_KINDS[kinds]}")

    def at_least_0(self, where: _Path, data: Mapping[str, Any], *keys: str) -> None:
        """See that numbers of a table are not negative."""
        for key in keys:
            if data.get(key) is not None and data[key] < 0:
                raise self.error((*where, key), f"`{key}` is 0 or more")

    def lab(self, number: Any, where: _Path) -> str:
        """The number of a lab."""
        if number not in self.labs:
            raise self.error(where, f"there is no lab {number!r}; the labs are {', '.join(sorted(self.labs))}")
        return str(number)

    def of_lab(self, where: _Path, item: Any, zone: datetime.tzinfo) -> LabPolicy:
        """A table `[lab.05]`."""
        self.table(where, "lab.*", item)
        self.at_least_0(where, item, "points")
        points = item.get("points")
        return LabPolicy(
            _in_zone(item.get("due"), zone),
            float(points) if points is not None else None,
            item.get("extra", False),
            item.get("canvas_id"),
        )

    def of_exercise(self, id: str, item: Any) -> ExercisePolicy:
        """A table `[exercise."05.3"]`."""
        where = ("exercise", id)
        exercises = {e.id: (lab, e) for lab in self.labs.values() for e in lab.exercises}
        if id not in exercises:
            near = difflib.get_close_matches(id, exercises, n=1)
            raise self.error(where, f"there is no exercise {id!r}" + (f"; is it {near[0]!r}?" if near else ""))
        self.table(where, "exercise.*", item)
        self.at_least_0(where, item, "points")
        weights = item.get("weights", {})
        known = check_names(*exercises[id]) if weights else ()
        for name, weight in weights.items():
            place = (*where, "weights", name)
            if name not in known:
                raise self.error(place, f"{id} has no check {name!r}; it has {', '.join(known)}")
            if isinstance(weight, bool) or not isinstance(weight, _NUMBER) or not 0 <= weight < math.inf:
                raise self.error(place, f"the weight of `{name}` is {weight!r}, which is no number from 0 on")
        if known and not sum(weights.get(name, 1.0) for name in known):
            raise self.error((*where, "weights"), f"no check of {id} weighs anything")
        return ExercisePolicy(item.get("points"), weights)

    def of_student(self, id: str, item: Any, zone: datetime.tzinfo, roster: Collection[Student]) -> Extension:
        """A table `[student."ann"]`."""
        where = ("student", id)
        ids = [s.id for s in roster]
        if ids and id not in ids:
            near = difflib.get_close_matches(id, ids, n=1)
            raise self.error(where, f"{id!r} is not on the roster" + (f"; is it {near[0]!r}?" if near else ""))
        self.table(where, "student.*", item)
        self.at_least_0(where, item, "more_days")
        due = {}
        for number, own in item.get("lab", {}).items():
            place = (*where, "lab", number)
            self.table(place, "student.*.lab.*", own)
            if (then := _in_zone(own.get("due"), zone)) is not None:
                due[self.lab(number, place)] = then
        return Extension(float(item.get("more_days", 0.0)), due)

    def zone(self, name: str) -> datetime.tzinfo:
        """A time zone by its name."""
        try:
            return zone_of(name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            raise self.error(("timezone",), f"there is no time zone {name!r}: one is called Europe/Zurich") from None


def _keys(text: str) -> _Path:
    """The keys of a header or of a line of TOML, outermost first; nothing where it is neither."""
    try:
        data: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return ()
    keys = []
    while isinstance(data, dict) and data:
        key, data = next(iter(data.items()))
        keys.append(key)
    return tuple(keys)


def _in_zone(time: datetime.datetime | None, zone: datetime.tzinfo) -> datetime.datetime | None:
    """A time of course.toml, which is in the course's zone unless it names one."""
    return time.replace(tzinfo=zone) if time is not None and time.tzinfo is None else time


def check_names(lab: Lab, exercise: Exercise) -> list[str]:
    """The names of the checks of an exercise, the hidden ones last."""
    ladder = isinstance(lab, Ladder)
    read = (CheckFile.read(path) for path in (lab.folder / "checks.py", hidden_checks(lab)))
    return [check.name for file in (program_files(exercise) if ladder else read) for check in file.of(exercise.id)]


def zone_of(name: str) -> datetime.tzinfo:
    """A time zone by its name; what is not known is zoneinfo's error."""
    return datetime.UTC if name == "UTC" else zoneinfo.ZoneInfo(name)


def name_of(zone: datetime.tzinfo) -> str:
    """The name of a time zone, for `zone_of`."""
    return zone.key if isinstance(zone, zoneinfo.ZoneInfo) else "UTC"


def chosen_labs(labs: Iterable[Lab], policy: Policy, only: Collection[str]) -> list[Lab]:
    """The labs that are graded."""
    return [lab for lab in labs if (not policy.labs or lab.number in policy.labs) and (not only or lab.number in only)]
