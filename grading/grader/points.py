"""points in cents: shares add up, in every format

A lab's points are shared among its exercises, an exercise's among its checks, and the points left after lateness among
the checks that passed. Shares are whole cents, so that a student who adds them up gets the same number.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence


def cents(points: float) -> int:
    """Return points as whole cents; half a cent counts as one."""
    return math.floor(100 * points + 0.5)


def split(total: int, weights: Sequence[float]) -> list[int]:
    """Split a whole number in proportion to weights; the parts are whole and sum to it. A part with weight 0 is 0; if all
    weights are 0, so are all parts.
    """
    whole = sum(weights)
    if not whole:
        return [0] * len(weights)
    edges = [0]
    so_far = 0.0
    for weight in weights:
        so_far += weight
        edges.append(math.floor(total * so_far / whole + 0.5))
    return [after - before for before, after in itertools.pairwise(edges)]
