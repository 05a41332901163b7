"""course.toml -> what a course wants: who, until when, how points are counted

    labs = ["00", "02"]                 which labs are graded; all of them without it
    roster = "roster.csv"               columns student, name, email, and more; `student` is what submissions are called
    requests = "requests.csv"           columns student, exercise, request, answer: who asks for another look
    timezone = "Europe/Zurich"
    attempts = "last"                   or "best": which of several submissions counts, lab by lab
    random_programs = 20                how many programs a check of random programs draws (some checks: two or three times this)

    [late]
    grace_minutes = 15                  nothing is late until then
    percent_a_day = 10                  taken off the points of a lab for each day that has begun since it was due
    most_days = 5                       a lab that is later than that gets no points

    [limits]
    seconds = 10                        the time that a check may take
    import_seconds = 10                 the time that importing a student's functions may take
    memory_mb = 3072                    the address space that a process may have
    processes = 128                     how many processes and threads a check may have
    submission_seconds = 900            the time after which no other check of a submission begins
    fresh_process = false               the checks of an exercise share a process; by default each check has its own

    [lab.05]
    due = 2027-03-01T23:59:00
    points = 20                         the points of the lab; by default the sum of its exercises
    extra = true                        its points are a bonus, and not in the total
    canvas_id = 4711                    the number of its assignment in Canvas' gradebook

    [exercise."05.3"]
    points = 4                          instead of lab.toml's; if the lab has `points`, the exercise's weight in them
    weights = { values = 2, traced = 0 }    the weights of its checks, which are 1 otherwise

    [student."ann"]
    more_days = 7                       for this student, every lab is due this many days later
    lab.05.due = 2027-04-01T12:00:00    the date of this lab for this student, without `more_days`

Every key may be left out. An unknown key is an error, and the message names its line.
"""

from __future__ import annotations

import datetime
import math
import pathlib
import types
import zoneinfo
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from jitkit.kata.engine.manifest import Exercise, Lab
from jitkit.kata.engine.toml_table import ManifestError, TomlTable, near

from ..shared import hidden_checks
from .jail import Limits
from .roster import PolicyError, Request, Student, read_requests, read_roster
from .rungs import Ladder, program_files
from .shipped_code import CheckFile

FILE = "course.toml"
_MOST_PROGRAMS = 1000
_T = TypeVar("_T")
_D = TypeVar("_D")


class LabPolicy(NamedTuple):
    """The settings of one lab."""

    due: datetime.datetime | None = None  # None: it is never due
    points: float | None = None  # None: the sum of its exercises
    extra: bool = False  # whether its points are a bonus
    canvas_id: int | None = None


class ExercisePolicy(NamedTuple):
    """The settings of one exercise."""

    points: float | None = None  # its part of the lab's points; None: what lab.toml says
    weights: Mapping[str, float] = types.MappingProxyType({})  # by the names of checks; any other check has weight 1


class Extension(NamedTuple):
    """The extensions of one student: `more_days` for every lab that is not in `due`; a lab in `due` has the date given there."""

    more_days: float = 0.0
    due: Mapping[str, datetime.datetime] = types.MappingProxyType({})


class Policy(NamedTuple):
    """The settings of a course; the module's docstring explains them."""

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
        """Return when a lab is due for a student; None if it never is."""
        theirs = self.of_student.get(student, Extension())
        due = self.of_lab.get(lab, LabPolicy()).due
        if lab in theirs.due:
            return theirs.due[lab]
        return due + datetime.timedelta(days=theirs.more_days) if due is not None else None

    def factor(self, student: str, lab: str, handed_in: float) -> float:
        """Return the share of the points that remains for a lab that was handed in at a time (in seconds since 1970)."""
        due = self.due(student, lab)
        late = handed_in - due.timestamp() if due is not None else 0.0
        if late <= 60 * self.grace_minutes:
            return 1.0
        days = math.ceil(late / 86_400)
        if self.most_days is not None and days > self.most_days:
            return 0.0
        return max(0.0, 1.0 - days * self.percent_a_day / 100)

    def is_extra(self, lab: str) -> bool:
        """Return whether the points of a lab are a bonus."""
        return self.of_lab.get(lab, LabPolicy()).extra

    def points(self, exercise: Exercise) -> float:
        """Return the points of an exercise in its lab."""
        own = self.of_exercise.get(exercise.id, ExercisePolicy()).points
        return exercise.points if own is None else own


def read_policy(path: pathlib.Path, labs: Collection[Lab]) -> Policy:
    """Return the policy in a file, or the default policy if there is no file. Raise PolicyError if the file makes no sense."""
    if not path.is_file():
        return Policy()
    try:
        with TomlTable.of_file(path) as course:
            return _policy(course, path.parent, labs)
    except ManifestError as error:
        raise PolicyError(str(error)) from None


def _policy(course: TomlTable, folder: pathlib.Path, labs: Collection[Lab]) -> Policy:
    usual = Policy()
    attempts = course.get("attempts", str, usual.attempts)
    if attempts not in ("last", "best"):
        raise course.error(f'`attempts` must be "last" or "best", not {attempts!r}', "attempts")
    numbers, exercises = [lab.number for lab in labs], {e.id: (lab, e) for lab in labs for e in lab.exercises}
    programs = course.get("random_programs", int, usual.limits.random_programs)
    if not 1 <= programs <= _MOST_PROGRAMS:
        raise course.error(f"`random_programs` must be from 1 to {_MOST_PROGRAMS}", "random_programs")
    zone, roster_file, requests_file = _zone(course), course.get("roster", str, ""), course.get("requests", str, "")
    roster = read_roster(folder / roster_file) if roster_file else ()
    with course.table("late") as late:
        percent = late.get("percent_a_day", float, usual.percent_a_day)
        if not 0 <= percent <= 100:
            raise late.error("`percent_a_day` must be from 0 to 100", "percent_a_day")
        grace, most_days = _at_least_0(late, "grace_minutes", float, 0.0), _at_least_0(late, "most_days", int, None)
    with course.table("limits") as limits:
        memory = _more_than_0(limits, "memory_mb", int, usual.limits.memory >> 20)
        limits_of_checks = usual.limits._replace(
            seconds=float(_more_than_0(limits, "seconds", float, usual.limits.seconds)),
            import_seconds=float(_more_than_0(limits, "import_seconds", float, usual.limits.import_seconds)),
            memory=memory << 20,
            processes=_more_than_0(limits, "processes", int, usual.limits.processes),
            fresh_process=limits.get("fresh_process", bool, usual.limits.fresh_process),
            random_programs=programs,
        )
        seconds = _more_than_0(limits, "submission_seconds", float, usual.submission_seconds)
    return Policy(
        labs=tuple(_lab(number, numbers, course, "labs") for number in course.get("labs", list, [])),
        roster=roster,
        requests=read_requests(folder / requests_file, roster, exercises) if requests_file else (),
        timezone=zone,
        attempts=attempts,
        percent_a_day=float(percent),
        most_days=most_days,
        grace_minutes=float(grace),
        limits=limits_of_checks,
        submission_seconds=float(seconds),
        of_lab={_lab(number, numbers, table): _of_lab(table, zone) for number, table in course.named("lab")},
        of_exercise={id: _of_exercise(id, table, exercises) for id, table in course.named("exercise")},
        of_student={id: _of_student(id, table, zone, numbers, roster) for id, table in course.named("student")},
    )


def _at_least_0(table: TomlTable, key: str, kind: type[_T], default: _D) -> _T | _D:
    value: Any = table.get(key, kind, default)
    if value is not None and value < 0:
        raise table.error(f"`{key}` must be 0 or more", key)
    found: _T | _D = value
    return found


def _more_than_0(table: TomlTable, key: str, kind: type[_T], default: _T) -> _T:
    value: Any = table.get(key, kind, default)
    if value <= 0:
        raise table.error(f"`{key}` must be more than 0", key)
    found: _T = value
    return found


def _lab(number: Any, numbers: Collection[str], table: TomlTable, *keys: str) -> str:
    """Return the number of a lab. Raise ManifestError, which names the place in the file, if there is no such lab."""
    if number not in numbers:
        raise table.error(f"there is no lab {number!r}; the labs are {', '.join(sorted(numbers))}", *keys)
    return str(number)


def _of_lab(table: TomlTable, zone: datetime.tzinfo) -> LabPolicy:
    """Read a table `[lab.05]`."""
    with table:
        points = _at_least_0(table, "points", float, None)
        return LabPolicy(
            _due(table, zone),
            float(points) if points is not None else None,
            table.get("extra", bool, False),
            table.get("canvas_id", int, None),
        )


def _of_exercise(id: str, table: TomlTable, exercises: Mapping[str, tuple[Lab, Exercise]]) -> ExercisePolicy:
    """Read a table `[exercise."05.3"]`. Raise ManifestError for an unknown exercise or check, and if all weights are 0."""
    if id not in exercises:
        raise table.error(f"there is no exercise {id!r}" + near(id, exercises))
    with table:
        points, weights = _at_least_0(table, "points", float, None), table.table("weights")
        known = check_names(*exercises[id]) if weights.data else []
        for name in weights.data:
            if name not in known:
                raise weights.error(f"{id} has no check {name!r}; it has {', '.join(known)}", name)
            _at_least_0(weights, name, float, 1.0)
        if known and not sum(weights.data.get(name, 1.0) for name in known):
            raise table.error(f"no check of {id} weighs anything", "weights")
        return ExercisePolicy(points, weights.data)


def _of_student(
    id: str, table: TomlTable, zone: datetime.tzinfo, numbers: Collection[str], roster: Collection[Student]
) -> Extension:
    """Read a table `[student."ann"]`. Raise ManifestError if there is a roster without this student."""
    ids = [s.id for s in roster]
    if ids and id not in ids:
        raise table.error(f"{id!r} is not on the roster" + near(id, ids))
    with table:
        due = {}
        for number, lab in table.named("lab"):
            with lab:
                if (then := _due(lab, zone)) is not None:
                    due[_lab(number, numbers, lab)] = then
        return Extension(float(_at_least_0(table, "more_days", float, 0.0)), due)


def _due(table: TomlTable, zone: datetime.tzinfo) -> datetime.datetime | None:
    """Return the date in a table, in the course's time zone unless the date names one; None if the table has no date."""
    time = table.get("due", datetime.datetime, None)
    return time.replace(tzinfo=zone) if time is not None and time.tzinfo is None else time


def _zone(course: TomlTable) -> datetime.tzinfo:
    name = course.get("timezone", str, "UTC")
    try:
        return zone_of(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        raise course.error(f"there is no time zone {name!r}: one is called Europe/Zurich", "timezone") from None


def check_names(lab: Lab, exercise: Exercise) -> list[str]:
    """Return the names of the checks of an exercise, the hidden ones last."""
    ladder = isinstance(lab, Ladder)
    read = (CheckFile.read(path) for path in (lab.folder / "checks.py", hidden_checks(lab)))
    return [check.name for file in (program_files(exercise) if ladder else read) for check in file.of(exercise.id)]


def zone_of(name: str) -> datetime.tzinfo:
    """Return a time zone by its name. Raise zoneinfo.ZoneInfoNotFoundError or ValueError for an unknown name."""
    return datetime.UTC if name == "UTC" else zoneinfo.ZoneInfo(name)


def name_of(zone: datetime.tzinfo) -> str:
    """Return the name of a time zone, for `zone_of`."""
    return zone.key if isinstance(zone, zoneinfo.ZoneInfo) else "UTC"


def chosen_labs(labs: Iterable[Lab], policy: Policy, only: Collection[str]) -> list[Lab]:
    """Return the labs that the policy names, or all if it names none. If `only` is not empty, leave out those that are not in it."""
    return [lab for lab in labs if (not policy.labs or lab.number in policy.labs) and (not only or lab.number in only)]
