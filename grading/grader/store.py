"""The store of grades: one SQLite file, to which rows are only added (except in `meta`, the settings, which may change)

- `results` has verdicts on code: the same functions, checks, seed, versions and limits have one verdict, even if
  several students handed them in.
- `grades` says whose each verdict is: a row for a student, a submission and an exercise (without an exercise, if the
  submission could not be run at all).
- `handins` says what a student handed in for each lab, and when. A row is added if it differs from the student's row
  before it, so going back to an earlier version is a hand-in, too.
- `marks` says what was changed by hand, by whom, and why; the last row of a student and an exercise counts.
- `people` says what learning platforms call a student.
- `expected` has the reference's results.

Rows are ordered by their numbers, never by a clock. If a store of an older grader lacks a table, it is added at the
next write; until then it reads as empty. Only one process writes: it holds a lock on a file beside the store. Reading
does not need the lock.
"""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import secrets
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from .records import Grade, GradeStatus, HandIn, Mark, Person, Provenance, Result

VERSION = 1

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS expected (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS results (
    key TEXT PRIMARY KEY, exercise TEXT NOT NULL, code TEXT NOT NULL, checks_version TEXT NOT NULL, seed_id TEXT NOT NULL,
    versions TEXT NOT NULL, limits TEXT NOT NULL, sandbox TEXT NOT NULL, status TEXT NOT NULL, sentence TEXT NOT NULL,
    checks TEXT NOT NULL, seconds REAL NOT NULL, at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS grades (
    id INTEGER PRIMARY KEY AUTOINCREMENT, student TEXT NOT NULL, submission TEXT NOT NULL, handed_in REAL NOT NULL, path TEXT NOT NULL,
    lab TEXT, exercise TEXT, outcome TEXT NOT NULL, sentence TEXT NOT NULL, points REAL, max REAL NOT NULL, flags TEXT NOT NULL,
    result TEXT NOT NULL, grams TEXT NOT NULL, at TEXT NOT NULL, UNIQUE (student, submission, exercise, outcome, result));
CREATE INDEX IF NOT EXISTS by_student ON grades (student, exercise);
CREATE TABLE IF NOT EXISTS handins (
    id INTEGER PRIMARY KEY AUTOINCREMENT, student TEXT NOT NULL, submission TEXT NOT NULL, lab TEXT, handed_in REAL NOT NULL,
    digest TEXT NOT NULL, taken TEXT NOT NULL, passed TEXT NOT NULL, at TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS handins_by_student ON handins (student, lab);
CREATE TABLE IF NOT EXISTS marks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, student TEXT NOT NULL, exercise TEXT NOT NULL, points REAL, reason TEXT NOT NULL,
    comment TEXT NOT NULL, by TEXT NOT NULL, at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS people (
    id INTEGER PRIMARY KEY AUTOINCREMENT, student TEXT NOT NULL, platform TEXT NOT NULL, number TEXT NOT NULL, name TEXT NOT NULL,
    email TEXT NOT NULL, at TEXT NOT NULL, UNIQUE (student, platform, number, name, email));
"""
_OF_GRADES = Grade._fields[: Grade._fields.index("id")]
_OF_HANDINS = HandIn._fields[: HandIn._fields.index("id")]
_GRADES = f"""
SELECT {", ".join(f"g.{column}" for column in _OF_GRADES)}, g.id, r.checks, r.seconds, g.at
FROM grades g LEFT JOIN results r ON r.key = g.result WHERE ? IS NULL OR g.student = ? ORDER BY g.id
"""
_APPEND_ONLY = "".join(
    f"CREATE TRIGGER IF NOT EXISTS {table}_no_{what} BEFORE {what} ON {table} BEGIN SELECT RAISE(ABORT, '{table} is only added to'); END;"
    for table in ("results", "grades", "expected", "handins", "marks", "people")
    for what in ("UPDATE", "DELETE")
)


class StoreError(Exception):
    """Raised if a store cannot be used, with the reason."""


class Store:
    """The file in a folder of grades.

    Args:
      folder: the folder of grades. With `write` it is made if it is missing; without, StoreError is raised if it has no store.
      write: whether this process writes. StoreError is raised if another process does.
    """

    def __init__(self, folder: pathlib.Path, write: bool = False) -> None:
        self.folder = folder
        self.path = folder / "grades.sqlite"
        self.lock = -1
        self.copy: tempfile.TemporaryDirectory[str] | None = None
        self.one = threading.RLock()  # threads read, and one of them writes, on one connection
        if write:
            self._lock()
        elif not self.path.is_file():
            raise StoreError(
                f"there are no grades in {folder}: `python -m grading grade SUBMISSIONS --out {folder}` makes them"
            )
        try:
            self.database = self._connected(write)
            self._open(write)
        except sqlite3.Error as error:
            self.close()
            raise StoreError(f"{self.path} cannot be used: {error}") from None
        except StoreError:
            self.close()
            raise

    def _lock(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.folder.chmod(0o700)  # the seed and the hidden checks' verdicts are in there
            self.lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(f"{self.folder} cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self.lock)
            raise StoreError(
                f"another grader writes to {self.folder} now: wait for it, or grade into another folder"
            ) from None

    def _connected(self, write: bool) -> sqlite3.Connection:
        """Return a connection. SQLite reads a file in WAL mode only if we may write into the folder. If we may not, tell SQLite that
        nobody else writes; if a killed grader has left rows in the WAL, open a copy.
        """
        path = self.path
        options = ""
        if not write and not os.access(self.folder, os.W_OK):
            options = "?immutable=1"
            wal = path.with_name(f"{path.name}-wal")
            if wal.is_file() and wal.stat().st_size:
                self.copy = tempfile.TemporaryDirectory(prefix="jitkit-grades-")
                for file in (path, wal):
                    shutil.copyfile(file, pathlib.Path(self.copy.name, file.name))
                path, options = pathlib.Path(self.copy.name, path.name), ""
        where = f"{path.absolute().as_uri()}{options}"
        return sqlite3.connect(where, uri=True, timeout=30.0, isolation_level=None, check_same_thread=False)

    def _open(self, write: bool) -> None:
        version = int(self.database.execute("PRAGMA user_version").fetchone()[0])
        tables = self.database.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").fetchone()[0]
        if version > VERSION or (tables and not version):
            what = "a later version" if version > VERSION else "an older version, or something else"
            raise StoreError(f"{self.path} was written by {what}: it is left as it is. Grade into a new folder.")
        if not write:
            self.database.execute("PRAGMA query_only = 1")
            return
        self.database.execute("PRAGMA journal_mode = WAL")
        self.database.execute("PRAGMA synchronous = FULL")
        self.database.executescript(_SCHEMA + _APPEND_ONLY + f"PRAGMA user_version = {VERSION};")
        new = [("seed", str(secrets.randbits(62))), ("seed_id", secrets.token_hex(4))]
        self.database.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", new)
        os.chmod(self.path, 0o600)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and let others write."""
        if hasattr(self, "database"):
            self.database.close()
        if self.copy is not None:
            self.copy.cleanup()
            self.copy = None
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1

    # --- reading ----------------------------------------------------------------------------------------------------

    def meta(self, key: str) -> str:
        """Return a setting: `seed`, `seed_id`, `sandbox`, `policy`; "" if it is not set."""
        row = self._row("SELECT value FROM meta WHERE key = ?", key)
        return str(row[0]) if row else ""

    def expected(self, key: str) -> Any:
        """Return the reference's results for an exercise (see `Grader.expected`), as `add_expected` keeps them under this key; None if
        there are none.
        """
        row = self._row("SELECT value FROM expected WHERE key = ?", key)
        return json.loads(row[0]) if row else None

    def result(self, key: str) -> Result | None:
        """Return the verdict on code that is kept under this key (`Grader.keys`), or None."""
        row = self._row(f"SELECT {', '.join(Result._fields)} FROM results WHERE key = ?", key)
        return Result(GradeStatus(row[0]), row[1], tuple(json.loads(row[2])), row[3]) if row else None

    def provenance(self, key: str) -> dict[str, str]:
        """Return everything on which a verdict depends, by column; an empty dict if there is no such verdict."""
        names = (*Provenance._fields[1:], "at")
        row = self._row(f"SELECT {', '.join(names)} FROM results WHERE key = ?", key)
        return dict(zip(names, row, strict=True)) if row else {}

    def _row(self, query: str, *values: Any) -> Any:
        with self.one:
            return self.database.execute(query, values).fetchone()

    def grades(self, student: str | None = None) -> Iterator[Grade]:
        """Yield all rows, or those of one student, in the order in which they were written."""
        for row in self.database.execute(_GRADES, [student, student]):
            g = Grade._make(row)
            texts: Any = g.flags, g.grams, g.checks or "[]"
            flags, grams, checks = (tuple(json.loads(text)) for text in texts)
            yield g._replace(flags=flags, grams=grams, checks=checks, seconds=g.seconds or 0.0)

    def handins(self) -> list[HandIn]:
        """Return the hand-ins, in the order in which they were seen."""
        rows = [HandIn._make(row) for row in self._rows("handins", HandIn._fields)]
        texts: Any = [(row.taken, row.passed) for row in rows]
        return [
            row._replace(taken=tuple(json.loads(taken)), passed=tuple((path, why) for path, why in json.loads(passed)))
            for row, (taken, passed) in zip(rows, texts, strict=True)
        ]

    def marks(self) -> list[Mark]:
        """Return the changes by hand, in order."""
        return [Mark._make(row) for row in self._rows("marks", Mark._fields)]

    def people(self) -> list[Person]:
        """Return what learning platforms call students, in the order in which these names were seen."""
        return [Person._make(row) for row in self._rows("people", Person._fields)]

    def _rows(self, table: str, columns: Sequence[str]) -> list[Any]:
        """Return the rows of a table; [] if it is missing, as it may be in a store of an older grader."""
        if not self._row("SELECT 1 FROM sqlite_master WHERE name = ?", table):
            return []
        return self.database.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY id").fetchall()

    # --- writing ----------------------------------------------------------------------------------------------------

    def set_meta(self, key: str, value: str) -> None:
        """Set a setting."""
        self.database.execute(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", [key, value]
        )

    def add_expected(self, key: str, value: Any) -> None:
        """Keep the reference's results for an exercise under a key (see `expected`); what is there stays."""
        with self.one:
            self.database.execute("INSERT OR IGNORE INTO expected VALUES (?, ?)", [key, json.dumps(value)])

    def add(
        self,
        results: Sequence[tuple[Provenance, Result]],
        grades: Sequence[Grade],
        handins: Sequence[HandIn] = (),
        again: bool = False,
    ) -> None:
        """Add all rows of a submission, or none; rows that exist stay. Raise StoreError if they cannot be written.

        Args:
          handins: the hand-ins. A row that equals the last one of this student and lab is not added, unless the student
            has since handed in something of which nothing could be run.
          again: whether the submission was graded again from its old place. Then it counts as a hand-in only if it
            differs from all earlier ones.
        """
        now = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        with self.one:
            try:
                self.database.execute("BEGIN IMMEDIATE")
                for provenance, result in results:
                    self._insert("results", {**provenance._asdict(), **result._asdict(), "at": now})
                for grade in grades:
                    if grade.exercise is not None or not self._is_known(grade):
                        self._insert("grades", {name: getattr(grade, name) for name in _OF_GRADES} | {"at": now})
                for handin in handins:
                    if self._is_a_handin(handin, again):
                        self._insert("handins", {name: getattr(handin, name) for name in _OF_HANDINS} | {"at": now})
                self.database.execute("COMMIT")
            except sqlite3.Error as error:
                if self.database.in_transaction:
                    self.database.execute("ROLLBACK")
                sentence = (
                    f"{self.path} cannot be written: {error}. What was written before is there; grade again to go on."
                )
                raise StoreError(sentence) from None

    def mark(self, student: str, exercise: str, points: float | None, reason: str, comment: str, by: str) -> None:
        """Note that a person changed a grade by hand; for the arguments see `Mark`."""
        now = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        row = Mark(0, student, exercise, points, reason, comment, by, now)._asdict()
        del row["id"]
        self._insert("marks", row)

    def meet(self, people: Sequence[Person]) -> None:
        """Note what learning platforms call students; what is noted already is not added again."""
        now = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        for person in people:
            self._insert("people", {**person._asdict(), "at": now})

    def _is_a_handin(self, row: HandIn, again: bool) -> bool:
        """Return whether a row is a new hand-in: it differs from the student's last one of this lab, or the student has since
        handed in something of which nothing could be run. With `again`: its submission differs from all earlier ones of this lab.
        """
        query = "SELECT submission, digest, handed_in FROM handins WHERE student = ? AND lab IS ? ORDER BY id DESC"
        rows = self.database.execute(query, [row.student, row.lab]).fetchall()
        if again:
            return all(submission != row.submission for submission, _, _ in rows)
        if not rows or rows[0] != (row.submission, row.digest, row.handed_in):
            return True
        # The last hand-in of this lab was the same. It counts again if a later submission could not be run at all (lab
        # NULL).
        query = "SELECT lab FROM handins WHERE student = ? AND (lab IS ? OR lab IS NULL) ORDER BY id DESC LIMIT 1"
        return bool(self._row(query, row.student, row.lab)[0] != row.lab)

    def _is_known(self, row: Grade) -> bool:
        """Return whether this row, which has no exercise, is in the table already. UNIQUE does not find out: in SQL a NULL
        differs from any other NULL.
        """
        query = "SELECT 1 FROM grades WHERE student = ? AND submission = ? AND exercise IS NULL AND outcome = ?"
        return self._row(query, row.student, row.submission, row.outcome) is not None

    def _insert(self, table: str, row: Mapping[str, Any]) -> None:
        marks = ", ".join("?" * len(row))
        values = [json.dumps(x) if isinstance(x, tuple) else x for x in row.values()]
        # a file's name need not be valid Unicode
        values = [x.encode("utf-8", "replace").decode() if isinstance(x, str) else x for x in values]
        self.database.execute(f"INSERT OR IGNORE INTO {table} ({', '.join(row)}) VALUES ({marks})", values)
