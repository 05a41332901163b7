"""Lists the possible outcomes of a check, an exercise or a rung.

JSON and the state of a workspace contain their values; a store of grades contains their names (`grading/grader/records.py`).
"""

from __future__ import annotations

import enum


class Status(enum.StrEnum):
    """Names the outcome of a check, an exercise or a rung. `Status.PASS == "pass"`: a status equals its string in files."""

    PASS = "pass"
    FAIL = "fail"  # another value than the reference's
    CRASH = "crash"  # an error where the reference has none, or the end of the process
    TIME = "time"  # more time than a check may take
    LIMIT = "limit"  # more memory, output or files than a check may take
    IMPORT = "import"  # jitkit with the learner's functions, or the learner's package, cannot be imported
    PROTO = "proto"  # an answer that breaks the rules of the sandbox
    TODO = "todo"  # a stub
    BROKEN = "broken"  # the file cannot be read as Python, or a function is not there
    NEW = "new"  # written, and never checked
    STALE = "stale"  # checked, and changed since
