"""`jitkit.scipy.ndimage`: interpolates between the elements of arrays.

JAX: jax/_src/scipy/ndimage.py:map_coordinates
"""

from __future__ import annotations

import functools
import itertools
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import lax
from ..base import missing_names
from ..core import dtypes
from ..numpy import abs as abs_
from ..numpy import asarray, clip, floor, floor_divide, where
from ..pjit.jit import jit


def _mirror(index: Any, size: int) -> Any:
    """Return an index, mirrored at the middle of the first and of the last element until it is inside."""
    last = size - 1
    return abs_((index + last) % (2 * last) - last)


_OUTSIDE: dict[str, Callable[[Any, int], Any]] = {  # What an index outside of an axis means.
    "constant": lambda index, size: index,
    "nearest": lambda index, size: clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size,
    "mirror": _mirror,
    "reflect": lambda index, size: floor_divide(_mirror(2 * index + 1, 2 * size + 1) - 1, 2),
}


def _rounded(x: Any) -> Any:
    return x if dtypes.issubdtype(x.dtype, np.integer) else lax.round(x)


def _nearest(coordinate: Any) -> list[tuple[Any, Any]]:
    return [(_rounded(coordinate).astype(np.int32), coordinate.dtype.type(1))]


def _neighbours(coordinate: Any) -> list[tuple[Any, Any]]:
    """Return the two indices around a coordinate, and the weight of each."""
    below = floor(coordinate)
    part = coordinate - below
    rest = 1 - part
    index = below.astype(np.int32)
    return [(index, rest), (index + 1, part)]


@jit(static_argnums=(2, 3, 4))
def _map_coordinates(input: Any, coordinates: Sequence[Any], order: int, mode: str, cval: Any) -> Any:
    array, places = asarray(input), [asarray(each) for each in coordinates]
    cval = asarray(cval, array.dtype)
    if len(coordinates) != array.ndim:
        raise ValueError(f"coordinates must be a sequence of length input.ndim, but {len(coordinates)} != {array.ndim}")
    if mode not in _OUTSIDE:
        raise NotImplementedError(
            f"jax.scipy.ndimage.map_coordinates does not yet support mode {mode}. Currently supported modes are {set(_OUTSIDE)}."
        )
    if order not in (0, 1):
        raise NotImplementedError("jax.scipy.ndimage.map_coordinates currently requires order<=1")
    along_axes = []
    for coordinate, size in zip(places, array.shape, strict=False):
        nodes = []
        for index, weight in _neighbours(coordinate) if order else _nearest(coordinate):
            fixed = _OUTSIDE[mode](index, size)
            nodes.append((fixed, (index >= 0) & (index < size) if mode == "constant" else True, weight))
        along_axes.append(nodes)
    terms = []
    for corner in itertools.product(*along_axes):
        indices, inside, weights = zip(*corner, strict=True)
        if all(each is True for each in inside):
            value = array[indices]
        else:
            is_inside = functools.reduce(operator.and_, inside)
            value = where(is_inside, array[indices], cval)
        terms.append(functools.reduce(operator.mul, weights) * value)
    result = functools.reduce(operator.add, terms)
    if dtypes.issubdtype(array.dtype, np.integer):
        result = _rounded(result)
    return result.astype(array.dtype)


def map_coordinates(input: Any, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: Any = 0.0) -> Any:
    """Return `input` at coordinates that may lie between its elements.

    Args:
      coordinates: an array for each axis of `input`, all of the shape of the result.
      order: 0, the nearest element; 1, linear between neighbours.
      mode: the values outside: "constant" (`cval`), "nearest", "wrap", or mirrored at the middle of the last element
        ("mirror") or at its edge ("reflect").

    Raises:
      ValueError: if there are not as many coordinates as axes.
      NotImplementedError: for other orders and modes, of which scipy has some.
    """
    return _map_coordinates(input, coordinates, order, mode, cval)


missing_names.explain("scipy.ndimage", sys.modules[__name__])
