"""What authors and graders both need: where the clone and the hidden checks are, how points are divided, how cells are named"""

from __future__ import annotations

import pathlib

from jitkit.kata.engine.manifest import Exercise, Lab

ROOT = pathlib.Path(__file__).resolve().parents[1]
HIDDEN = ROOT / "grading" / "hidden"
HIDDEN_RUNGS = (HIDDEN / "from_scratch.py", HIDDEN / "drawn_from_scratch.py")
HIDDEN_BEHIND = HIDDEN / "behind_the_door.py"  # hidden programs of the rungs whose compiler the learner writes


def hidden_checks(lab: Lab) -> pathlib.Path:
    """Return the path of a lab's hidden checks, which need not exist."""
    return HIDDEN / f"{lab.name}.py"


def shares(points: int, count: int) -> list[float]:
    """Return the points of each of `count` checks of an exercise: multiples of 1/64, whose sum as floats is exactly `points`."""
    each, more = divmod(64 * points, count)
    return [(each + (i < more)) / 64 for i in range(count)]


def cell_id(kind: str, exercise: Exercise, name: str = "") -> str:
    """Return the id of a notebook's cell, such as `check-02-4-operands_in_order`; at most its first 64 characters."""
    return "-".join(part for part in (kind, exercise.id.replace(".", "-"), name) if part)[:64]
