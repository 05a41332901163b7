"""Sparse arrays of zeros and of ones on a diagonal

JAX: jax/experimental/sparse/api.py:eye
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from .base import refuse
from .bcoo import BCOO, bcoo_fromdense


def _of_format(name: str, sparse_format: str, n_batch: int) -> None:
    if sparse_format != "bcoo" or n_batch:
        refuse(f"{name} with sparse_format={sparse_format!r}, n_batch={n_batch}")


def empty(
    shape: Sequence[int],
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    *,
    nse: int = 0,
    n_batch: int = 0,
    n_dense: int = 0,
) -> BCOO:
    """Return a sparse array of zeros, with room for `nse` entries. Raise NotImplementedError for another format, or batch dimensions."""
    _of_format("empty", sparse_format, n_batch)
    shape = tuple(shape)
    sparse = shape[: len(shape) - n_dense]
    data = jnp.zeros((nse, *shape[len(sparse) :]), dtype)
    indices = jnp.full((nse, len(sparse)), jnp.array(sparse, np.int32), index_dtype)
    return BCOO((data, indices), shape=shape, indices_sorted=True, unique_indices=True)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    *,
    n_batch: int = 0,
    n_dense: int = 0,
) -> BCOO:
    """Return the sparse matrix with ones on the k-th diagonal, above the main one if k is positive. Raise
    NotImplementedError as `empty` does.
    """
    _of_format("eye", sparse_format, n_batch)
    columns = N if M is None else M
    size = min(N, columns - k) if k > 0 else min(N + k, columns)
    if size <= 0:
        return empty((N, columns), dtype, index_dtype, n_dense=n_dense)
    if n_dense:
        return bcoo_fromdense(jnp.eye(N, columns, k, dtype=dtype), n_dense=n_dense, index_dtype=index_dtype)
    place = jnp.arange(size, dtype=index_dtype)
    below, above = (np.array(max(shift, 0), place.dtype) for shift in (-k, k))
    indices = jnp.column_stack([place + below, place + above])
    return BCOO((jnp.ones(size, dtype), indices), shape=(N, columns), indices_sorted=True, unique_indices=True)
