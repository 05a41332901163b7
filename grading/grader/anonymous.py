"""standing grades -> standing grades without names, for somebody who should judge the work and not the student

Each student is called by six letters and digits, which are different in each folder of grades. The student's own names
are removed from what the student wrote or printed; names of other people in it stay, since they are not known here.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable

from .standing import Record, Standing


def anonymous(standing: Standing, secret: str) -> tuple[Standing, dict[str, str]]:
    """Return the grades under other names, made with `secret`, and the new name of each student, by id."""
    names = {
        id: "student " + hmac.digest(secret.encode(), id.encode("utf-8", "replace"), hashlib.sha256).hex()[:6]
        for id in standing.students
    }
    hide = {id: _hider(id, s.name, s.email) for id, s in standing.students.items()}

    def shown(record: Record) -> Record:
        student = record.grade.student
        without = hide[student]
        checks = tuple({k: without(v) if isinstance(v, str) else v for k, v in c.items()} for c in record.grade.checks)
        grade = record.grade._replace(
            student=names[student], sentence=without(record.grade.sentence), checks=checks, path=""
        )
        return record._replace(grade=grade, flags=tuple(map(without, record.flags)))

    handins = []
    for h in standing.handins:
        without = hide.get(h.student, str)
        passed = tuple((without(path), without(why)) for path, why in h.passed)
        taken = tuple(map(without, h.taken))
        handins.append(h._replace(student=names.get(h.student, "student"), taken=taken, passed=passed))
    marks = tuple(m._replace(student=names.get(m.student, "student")) for m in standing.marks)
    policy = standing.policy
    policy = policy._replace(
        roster=tuple(s._replace(id=names.get(s.id, "student"), name="", email="") for s in policy.roster),
        requests=tuple(r._replace(student=names.get(r.student, "student")) for r in policy.requests),
        of_student={names.get(id, "student"): own for id, own in policy.of_student.items()},
    )
    records = sorted(
        map(shown, standing.records), key=lambda r: (r.grade.student, r.grade.lab or "", r.grade.exercise or "")
    )
    return standing._replace(records=records, policy=policy, handins=tuple(handins), marks=marks, people=()), names


def _hider(*names: str) -> Callable[[str], str]:
    """Return a function that replaces these names in a string by `...`, and each of their words, whatever their case. Names and words
    of one or two characters stay.
    """
    words = {word for name in names for word in (name, *re.split(r"[\W_]+", name)) if len(word) > 2}
    if not words:
        return str
    longest = sorted(words, key=len, reverse=True)
    pattern = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, longest))})(?![^\W_])", re.IGNORECASE)
    return lambda text: pattern.sub("...", text)
