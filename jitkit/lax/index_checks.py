"""Defines what gather and scatter share: the modes for an index out of bounds, and checks of lists of axes.

JAX: jax/_src/lax/slicing.py:GatherScatterMode
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Sequence

from ..core import ShapedArray


class GatherScatterMode(enum.Enum):
    """What to do with an index out of bounds.

    CLIP: move it to the nearest place where the whole window fits. FILL_OR_DROP: a gathered window becomes a fill
    value, a scattered one is dropped, if any part of it is out of bounds. PROMISE_IN_BOUNDS: nothing; the caller
    promises that there is none. (If there is one, XLA clips in gather and drops in scatter.) ONE_HOT: here the same as
    PROMISE_IN_BOUNDS.
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()
    ONE_HOT = enum.auto()

    @staticmethod
    def from_any(mode: str | GatherScatterMode | None) -> GatherScatterMode:
        """Return a mode from its name: "clip", "fill" or "drop" (also for None), "promise_in_bounds" or "one_hot";
        return a mode itself. Raise ValueError for another name.
        """
        if isinstance(mode, GatherScatterMode):
            return mode
        if mode not in _MODES:
            raise ValueError(f'Unknown gather mode "{mode}"')
        return _MODES[mode]


_MODES: dict[str | None, GatherScatterMode] = {
    "clip": GatherScatterMode.CLIP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    None: GatherScatterMode.FILL_OR_DROP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
    "one_hot": GatherScatterMode.ONE_HOT,
}


class AxisChecks:
    """Checks of the lists of axes of one operation; each raises a TypeError that names the list."""

    def __init__(self, op: str) -> None:
        self.op = op

    def sorted(self, name: str, axes: Sequence[int]) -> None:
        """Check that the axes ascend."""
        if any(later < earlier for earlier, later in itertools.pairwise(axes)):
            raise TypeError(f"{name} in {self.op} op must be sorted; got {axes}")

    def distinct(self, name: str, axes: Sequence[int]) -> None:
        """Check that each axis occurs once."""
        if len(set(axes)) != len(axes):
            raise TypeError(f"{name} in {self.op} op must not repeat; got: {axes}.")

    def in_range(self, name: str, axes: Sequence[int], rank: int) -> None:
        """Check that the axes are at least 0 and less than `rank`."""
        for axis in axes:
            if not 0 <= axis < rank:
                raise TypeError(f"Invalid {name} set in {self.op} op; valid range is [0, {rank}); got: {axis}.")

    def ascending(self, name: str, axes: Sequence[int], rank: int) -> None:
        """Check that the axes ascend, occur once, and are at least 0 and less than `rank`."""
        self.sorted(name, axes)
        self.distinct(name, axes)
        self.in_range(name, (axes[0], axes[-1]) if axes else (), rank)

    def disjoint(self, name: str, axes: Sequence[int], other_name: str, other_axes: Sequence[int]) -> None:
        """Check that no axis is in both lists."""
        if not set(axes).isdisjoint(other_axes):
            raise TypeError(f"{name} and {other_name} in {self.op} op must be disjoint; got: {axes} and {other_axes}.")

    def batching(
        self,
        operand: ShapedArray,
        indices: ShapedArray,
        operand_axes: Sequence[int],
        name: str,
        indices_axes: Sequence[int],
    ) -> tuple[int, ...]:
        """Check that operand and indices have equally many batch axes, of the same sizes, and that the index vector is
        not one of them. Return the sizes.
        """
        op, vector_axis = self.op.capitalize(), indices.ndim - 1
        self.distinct(name, indices_axes)
        self.in_range(name, indices_axes, indices.ndim)
        if vector_axis in indices_axes:
            raise TypeError(
                f"{op} op cannot have the index vector dimension as a batching dimension; got {indices_axes}."
            )
        if len(operand_axes) != len(indices_axes):
            gap = "" if self.op == "gather" else " "  # JAX's messages differ in a space
            raise TypeError(
                f"{op} op requires equal numbers of operand_batching_dims and {name}, "
                f"got {operand_axes} and{gap}{indices_axes}."
            )
        sizes = tuple(operand.shape[axis] for axis in operand_axes)
        other_sizes = tuple(indices.shape[axis] for axis in indices_axes)
        if sizes != other_sizes:
            raise TypeError(
                f"{op} op requires operand batching dimensions and indices batching dimensions to have the same "
                f"shape, got {sizes} and {other_sizes}."
            )
        return sizes


def dimension_list(**axes: Sequence[int]) -> str:
    """Return the nonempty lists as StableHLO's attributes: `offset_dims = [1], start_index_map = [0]`."""
    return ", ".join(f"{name} = {[*map(int, values)]}" for name, values in axes.items() if len(values))
