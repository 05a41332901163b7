"""`jitkit.scipy.interpolate`: interpolates between values on a grid.

JAX: jax/_src/third_party/scipy/interpolate.py:RegularGridInterpolator
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np

from ..base import missing_names
from ..numpy import asarray, broadcast_arrays, empty, searchsorted, where, zeros
from ..numpy.promotion import promote_dtypes_inexact
from ..numpy.util import check_arraylike
from ..tree_util import register_pytree_node


class RegularGridInterpolator:
    """Interpolates between values on a grid of N axes; a pytree, so that it can be an argument of a compiled function.

    Args:
      points: N vectors, each increasing: the positions of the values along each axis.
      values: an array, whose first N axes are the axes of the grid.
      method: "linear" or "nearest".
      bounds_error: must be False, since compiled code cannot raise; True raises NotImplementedError.
      fill_value: the result at points outside the grid; None extrapolates.

    Raises:
      ValueError: for more points than axes of `values`, an unknown method, or a complex fill value for real values.
    """

    def __init__(
        self, points: Any, values: Any, method: str = "linear", bounds_error: bool = False, fill_value: Any = np.nan
    ) -> None:
        self.method, self.bounds_error = _known(method), bounds_error
        if bounds_error:
            raise NotImplementedError("`bounds_error` takes no effect under JIT")
        check_arraylike("RegularGridInterpolator", values)
        if len(points) > values.ndim:
            raise ValueError(f"there are {len(points)} point arrays, but values has {values.ndim} dimensions")
        (values,) = promote_dtypes_inexact(values)
        if fill_value is not None:
            check_arraylike("RegularGridInterpolator", fill_value)
            fill_value = asarray(fill_value)
            if not np.can_cast(fill_value.dtype, values.dtype, casting="same_kind"):
                raise ValueError("fill_value must be either 'None' or of a type compatible with values")
        self.fill_value = fill_value
        check_arraylike("RegularGridInterpolator", *points)
        self.grid = tuple(asarray(each) for each in points)
        self.values = values

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """Return the values at points: the last axis of `xi` has their N coordinates, or it is a tuple of N arrays.
        Raise ValueError for another number of coordinates, or an unknown method.
        """
        method = self.method if method is None else _known(method)
        n_axes = len(self.grid)
        xi = _points(xi, n_axes)
        if xi.shape[-1] != n_axes:
            raise ValueError(
                f"the requested sample points xi have dimension {xi.shape[1]}, but this RegularGridInterpolator has dimension {n_axes}"
            )
        shape = xi.shape
        indices, distances, is_outside = self._cells(xi.reshape(-1, shape[-1]).T)
        found = self._linear(indices, distances) if method == "linear" else self._nearest(indices, distances)
        if not self.bounds_error and self.fill_value is not None:
            rows = is_outside.reshape(found.shape[:1] + (1,) * (found.ndim - 1))
            found = where(rows, self.fill_value, found)
        return found.reshape(shape[:-1] + self.values.shape[n_axes:])

    def _cells(self, xi: Any) -> tuple[list[Any], list[Any], Any]:
        """Return, axis by axis, the cell of each point, and the point's place in it; and which points are outside the
        grid (with `bounds_error`, none).
        """
        indices, distances = [], []
        is_outside = zeros((xi.shape[1],), dtype=bool)
        for x, grid in zip(xi, self.grid, strict=True):
            i = searchsorted(grid, x) - 1
            i = where(i < 0, 0, i)
            i = where(i > grid.size - 2, grid.size - 2, i)
            indices.append(i)
            distances.append((x - grid[i]) / (grid[i + 1] - grid[i]))
            if not self.bounds_error:
                is_outside += x < grid[0]
                is_outside += x > grid[-1]
        return indices, distances, is_outside

    def _linear(self, indices: list[Any], distances: list[Any]) -> Any:
        """Return the sums of the values at the corners of each cell, weighted by their nearness."""
        rest = (slice(None), *[None] * (self.values.ndim - len(indices)))
        total = asarray(0.0)
        for corner in itertools.product(*[[i, i + 1] for i in indices]):
            weight = asarray(1.0)
            for edge, i, distance in zip(corner, indices, distances, strict=True):
                weight *= where(edge == i, 1 - distance, distance)
            total += self.values[corner] * weight[rest]
        return total

    def _nearest(self, indices: list[Any], distances: list[Any]) -> Any:
        nearer = [where(distance <= 0.5, i, i + 1) for i, distance in zip(indices, distances, strict=True)]
        return self.values[tuple(nearer)]


def _known(method: str) -> str:
    if method not in ("linear", "nearest"):
        raise ValueError(f"method {method!r} is not defined")
    return method


def _points(points: Any, n_axes: int) -> Any:
    """Return points, an array or a tuple of coordinates, as an array whose last axis has the coordinates."""
    if isinstance(points, tuple) and len(points) == 1:
        (points,) = points
    if isinstance(points, tuple):
        coordinates = broadcast_arrays(*points)
        points = empty((*coordinates[0].shape, len(points)), dtype=float)
        for i, each in enumerate(coordinates):
            points = points.at[..., i].set(each)
        return points
    check_arraylike("_ndim_coords_from_arrays", points)
    points = asarray(points)
    return points.reshape(-1, n_axes) if points.ndim == 1 else points


register_pytree_node(
    RegularGridInterpolator,
    lambda each: ((each.grid, each.values, each.fill_value), (each.method, each.bounds_error)),
    lambda how, parts: RegularGridInterpolator(*parts[:2], *how, *parts[2:]),
)
missing_names.explain("scipy.interpolate", sys.modules[__name__])
