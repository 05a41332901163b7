"""Buffers -> bytes: the lifetime of each buffer, and its place in the workspace

A buffer lives from the first step that uses it to the last. A buffer that was written before a loop of control flow and
is used in it lives to the end of the loop. Two buffers whose lives do not overlap may share bytes. A buffer that only
one nest uses, always within one outer iteration, needs one row. A buffer that is never read needs no bytes, and is not
written.

JAX: jax/_src/interpreters/pxla.py:lower_sharding_computation
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from .nests import Access, Buffer, Nest

LINE = 64  # bytes of a cache line: each buffer begins at one


@dataclasses.dataclass
class Plan:
    """The places of buffers: their offsets in the workspace, which of them keep only one row, and which are never read."""

    offsets: dict[Buffer, int]
    size: int
    rows: set[Buffer]
    unread: set[Buffer]


def plan_of(buffers: Sequence[Buffer], nests: Sequence[Nest], regions: Sequence[tuple[int, int]]) -> Plan:
    """Return a plan of the buffers of the workspace, which `nests` use. `regions` are as in `whole_regions`."""
    uses: dict[Buffer, list[tuple[Nest, Access]]] = {}
    for nest in nests:
        for access in nest.accesses:
            uses.setdefault(access.buffer, []).append((nest, access))
    rows = {x for x in buffers if not x.pinned and _one_row_does(uses.get(x, []))}
    unread = {x for x in buffers if not x.pinned and not any(not access.is_write for _, access in uses.get(x, []))}
    lives: dict[Buffer, tuple[int, int]] = {}
    for x in buffers:
        times = [*x.times, *(nest.time for nest, _ in uses.get(x, []))]
        if times and x not in unread:
            lives[x] = whole_regions(min(times), max(times), regions)
    for x, life in lives.items():
        both = [life, *(lives[other] for other in x.partners if other in lives)]
        lives[x] = min(a for a, _ in both), max(b for _, b in both)
    sizes = {x: _rounded(uses[x][0][1].last * x.dtype.itemsize if x in rows else x.nbytes) for x in lives}
    offsets = placed(lives, sizes)
    return Plan(offsets, max((offsets[x] + sizes[x] for x in offsets), default=0), rows, unread)


def placed(lives: dict[Buffer, tuple[int, int]], sizes: dict[Buffer, int]) -> dict[Buffer, int]:
    """Place buffers in one piece of memory, so that buffers that live at the same time share no bytes.

    The buffers are placed in the order in which their lives begin; if several begin together, the largest is placed first. Each
    buffer gets the lowest offset at which it fits: between two placed buffers whose lives meet its own, or behind them.

    Args:
      lives: the first and the last step that uses each buffer, both included: two lives meet if they have a step in common.
      sizes: the number of bytes of each buffer.

    Returns:
      The offset of each buffer, in bytes.
    """
    offsets: dict[Buffer, int] = {}
    for x in sorted(lives, key=lambda each: (lives[each][0], -sizes[each])):
        at = 0
        for low, high in sorted((offsets[y], offsets[y] + sizes[y]) for y in offsets if meet(lives[y], lives[x])):
            if at + sizes[x] <= low:
                break
            at = max(at, high)
        offsets[x] = at
    return offsets


def meet(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Return whether two lives have a step in common."""
    return a[0] <= b[1] and b[0] <= a[1]


def _rounded(size: int) -> int:
    return max(-(-size // LINE), 1) * LINE


def whole_regions(first: int, last: int, regions: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Extend a life to the end of each loop that it enters from outside: the next iteration reads the buffer again.

    Args:
      first, last: the steps that the life begins and ends with.
      regions: the first and last step of each loop of control flow. One lies inside of another, or they have no step in common.

    Returns:
      The first step and the last one. (A life that begins within a loop is not extended: each iteration writes the buffer anew.)
    """
    return first, max([last, *(end for begin, end in regions if first < begin <= last <= end)])


def _one_row_does(found: Sequence[tuple[Nest, Access]]) -> bool:
    if not found:
        return False
    nest, access = found[0]
    return len(nest.shape) > 1 and all(
        other is nest and (each.outer, each.last) == (access.outer, access.last) for other, each in found
    )
