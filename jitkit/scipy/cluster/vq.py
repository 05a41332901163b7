"""Finds the nearest point of a code book: a step of k-means.

JAX: jax/_src/scipy/cluster/vq.py:vq
"""

from __future__ import annotations

import operator
from typing import Any

from ...interpreters.vmap import vmap
from ...numpy import argmin
from ...numpy.linalg import norm
from ...numpy.promotion import promote_dtypes_inexact
from ...numpy.util import check_arraylike


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """Return for each observation the number of the nearest row of the code book, and its distance.

    `obs` is an array of M rows, `code_book` one of K rows of the same length; a vector counts as rows of one number.
    `check_finite` has no effect, as in JAX. Raise ValueError for arrays of different ranks, or of more than two axes.
    """
    check_arraylike("scipy.cluster.vq.vq", obs, code_book)
    obs, code_book = promote_dtypes_inexact(obs, code_book)
    if obs.ndim != code_book.ndim:
        raise ValueError("Observation and code_book should have the same rank")
    if obs.ndim == 1:
        obs, code_book = obs[..., None], code_book[..., None]
    if obs.ndim != 2:
        raise ValueError("ndim different than 1 or 2 are not supported")
    distances = vmap(lambda row: norm(row[None] - code_book, axis=-1))(obs)
    nearest = argmin(distances, axis=-1)
    return nearest, vmap(operator.getitem)(distances, nearest)
