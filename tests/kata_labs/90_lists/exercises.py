"""90 Lists: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 90.1` helps, one step further each
time. You may add helpers and imports. The parameters stay as they are: other code calls these functions.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitkit.base.util import T, T1, T2


# --- 90.1 Merge lists (1 point) -----------------------------------------------------------------------------
# Put two lists together, as a mask says.


def merge_lists(mask: Sequence[bool], unchosen: Sequence[T1], chosen: Sequence[T2]) -> list[T1 | T2]:
    """The inverse of `partition_list`."""
    raise NotImplementedError("90.1")


# --- 90.2 Split a list (2 points) ---------------------------------------------------------------------------
# Two ways to take a list apart.


def partition_list(mask: Sequence[bool], items: Sequence[T]) -> tuple[list[T], list[T]]:
    """Split `items` into those whose mask is False and those whose mask is True."""
    raise NotImplementedError("90.2")


def split_list(items: Sequence[T], sizes: Sequence[int]) -> list[list[T]]:
    """Cut `items` into lists of the given sizes, and one of what is left."""
    raise NotImplementedError("90.2")
