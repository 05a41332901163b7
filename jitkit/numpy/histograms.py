"""Histograms over several dimensions: histogram2d, histogramdd.

JAX: jax/_src/numpy/lax_numpy.py:histogramdd
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .creation import asarray
from .editing import ravel_multi_index
from .promotion import promote_dtypes_inexact
from .ranges import ix_
from .samples import histogram_bin_edges
from .searching import searchsorted
from .selection import bincount, where
from .shaping import diff, reshape, transpose
from .util import ensure_arraylike, ensure_arraylikes


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Sequence[Any] | None = None,  # numpy's name
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Any, Any, Any]:
    """Return the number of points in each bin of a grid, and the edges along x and y. Arguments are as for
    `histogramdd`, but `bins` of more than two numbers are the edges along both.
    """
    x, y = ensure_arraylikes("histogram2d", x, y)
    try:
        count = len(bins)
    except TypeError:
        count = 1
    if count not in (1, 2):
        edges = asarray(bins)
        bins = [edges, edges]
    counts, both = histogramdd(transpose(asarray([x, y])), bins, range, weights, density)
    return counts, both[0], both[1]


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Sequence[Any] | None = None,  # numpy's name
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Any, list[Any]]:
    """Return the number of points (or the sum of their weights) in each bin of a grid, and a list of the edges.

    Args:
      sample: a point in each row.
      bins: their number, or for each dimension their number or edges, as for `histogram_bin_edges`.
      range: for each dimension a pair, or None.
      density: divide by the sum and by the volumes of the bins, so that the integral is 1.

    Raises:
      ValueError: bins or ranges are not one for each dimension, or weights not one for each point.
    """
    if weights is None:
        (sample,) = promote_dtypes_inexact(ensure_arraylike("histogramdd", sample))
    else:
        sample, weights = ensure_arraylikes("histogramdd", sample, weights)
        if weights.shape != sample.shape[:1]:
            raise ValueError("should have one weight for each sample.")
        sample, weights = promote_dtypes_inexact(sample, weights)
    N, D = sample.shape
    if range is not None and (len(range) != D or any(r is not None and np.shape(r)[0] != 2 for r in range)):
        raise ValueError(f"For sample.shape={(N, D)}, range must be a sequence of {D} pairs or Nones; got {range=}")
    try:
        of_dimensions = list(bins)
    except TypeError:
        of_dimensions = [bins] * D
    if len(of_dimensions) != D:
        raise ValueError("should be a bin for each dimension.")
    places, edges = [], []
    for i, each in enumerate(of_dimensions):
        edges.append(histogram_bin_edges(sample[:, i], each, None if range is None else range[i], weights))
        place = searchsorted(edges[i], sample[:, i], side="right")
        places.append(where(sample[:, i] == edges[i][-1], place - 1, place))
    shape = tuple(len(each) + 1 for each in edges)
    widths = [diff(each) for each in edges]
    counts = bincount(ravel_multi_index(tuple(places), shape, mode="clip"), weights, length=math.prod(shape))
    counts = reshape(counts, shape)[(slice(1, -1),) * D]
    if density:
        counts = counts.astype(sample.dtype)
        counts = counts / counts.sum()
        for width in ix_(*widths):
            counts = counts / width
    return counts, edges
