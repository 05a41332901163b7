"""submissions -> pairs that read alike

Each exercise is a set of hashes of runs of twelve tokens, with names made equal (`suspicion.grams`). Runs that many students have
are ignored. If two submissions share most of the runs that remain, that is a reason to look, not a proof.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Sequence
from typing import NamedTuple

from .standing import Record

_FEWEST = 20  # an exercise with fewer runs than this is not compared
_COMMON = 0.2  # a run that a larger share of the class has is ignored
_ALIKE = 0.7  # functions of two students that share this part of their runs, or more, are similar


class Pair(NamedTuple):
    """Two students whose functions are similar, and the exercises. In each exercise we take the student with fewer runs of
    tokens, and the share of these runs that the other has, too; `alike` is the mean of these shares.
    """

    one: str
    other: str
    exercises: tuple[str, ...]
    alike: float


def similar(records: Sequence[Record]) -> list[Pair]:
    """Return the pairs, sorted by the number of exercises in which they are similar, then by `alike`; the largest first."""
    by_exercise: dict[str, dict[str, frozenset[int]]] = {}
    for r in records:
        if r.grade.exercise is not None and r.grade.grams:
            by_exercise.setdefault(r.grade.exercise, {})[r.grade.student] = frozenset(r.grade.grams)
    found: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for exercise, grams in by_exercise.items():
        count = collections.Counter(itertools.chain.from_iterable(grams.values()))
        most = max(2, _COMMON * len(grams))
        telling = {s: frozenset(g for g in own if count[g] <= most) for s, own in grams.items()}
        holders: dict[int, list[str]] = {}
        for student, own in telling.items():
            for gram in own:
                holders.setdefault(gram, []).append(student)
        shared: collections.Counter[tuple[str, str]] = collections.Counter()
        for students in holders.values():
            shared.update(itertools.combinations(sorted(students), 2))
        for (one, other), number in shared.items():
            smaller = min(len(telling[one]), len(telling[other]))
            if smaller >= _FEWEST and number / smaller >= _ALIKE:
                found.setdefault((one, other), []).append((exercise, number / smaller))
    pairs = [
        Pair(one, other, tuple(e for e, _ in items), sum(part for _, part in items) / len(items))
        for (one, other), items in found.items()
    ]
    return sorted(pairs, key=lambda p: (-len(p.exercises), -p.alike, p.one, p.other))
