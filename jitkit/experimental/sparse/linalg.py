"""`spsolve`: a system of linear equations with a sparse matrix, solved by scipy

JAX: jax/experimental/sparse/linalg.py:spsolve
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

from ... import core, lax
from ... import numpy as jnp
from ...base import missing_names
from ...core import Primitive, ShapedArray
from ...interpreters.ad_rules import defjvp_without_result, primitive_transposes
from ...interpreters.mlir import lower_fun, register_lowering
from ...lax.callback import pure_callback

spsolve_p = Primitive("spsolve")


@spsolve_p.def_abstract_eval
def _(data: ShapedArray, indices: ShapedArray, indptr: ShapedArray, b: ShapedArray, *, tol: float, reorder: int) -> Any:
    if data.dtype != b.dtype:
        raise ValueError(f"data types do not match: data.dtype={data.dtype!r} b.dtype={b.dtype!r}")
    if not (jnp.issubdtype(indices.dtype, jnp.integer) and jnp.issubdtype(indptr.dtype, jnp.integer)):
        raise ValueError(
            f"index arrays must be integer typed; got indices.dtype={indices.dtype!r} indptr.dtype={indptr.dtype!r}"
        )
    shapes = f"data.shape={data.shape} indices.shape={indices.shape} indptr.shape={indptr.shape}"
    if any(x.ndim != 1 for x in (data, indices, indptr, b)):
        raise ValueError(f"Arrays must be one-dimensional. Got {shapes} b.shape={b.shape}")
    if indptr.size != b.size + 1 or data.shape != indices.shape:
        raise ValueError(f"Invalid CSR buffer sizes: {shapes}")
    if reorder not in (0, 1, 2, 3):
        raise ValueError(f"reorder={reorder!r} not valid, must be one of [1, 2, 3, 4]")
    return b


def _in_scipy(data: Any, indices: Any, indptr: Any, b: Any) -> Any:
    sparse, linalg = importlib.import_module("scipy.sparse"), importlib.import_module("scipy.sparse.linalg")
    data, indices, indptr, b = map(np.asarray, (data, indices, indptr, b))
    matrix = sparse.csr_matrix((data, indices, indptr), shape=(b.size, b.size))
    return linalg.spsolve(matrix, b).astype(b.dtype)


def _solve(data: Any, indices: Any, indptr: Any, b: Any, *, tol: float, reorder: int) -> Any:
    return pure_callback(_in_scipy, core.typeof(b), data, indices, indptr, b)


register_lowering(spsolve_p, lower_fun(_solve, multiple_results=False))


def _rows(indices: Any, indptr: Any) -> Any:
    """Return the row of each entry."""
    return jnp.cumsum(jnp.zeros_like(indices).at[indptr].add(1)) - 1


def _tangent_of_matrix(data_dot: Any, data: Any, indices: Any, indptr: Any, b: Any, **how: Any) -> Any:
    """Return the tangent of the solution x for a tangent dM of the entries: -M^-1 (dM x)."""
    solution = spsolve(data, indices, indptr, b, **how)
    product = jnp.zeros_like(b).at[_rows(indices, indptr)].add(data_dot * solution[indices])
    return -spsolve(data, indices, indptr, product, **how)


def _tangent_of_right_hand_side(b_dot: Any, data: Any, indices: Any, indptr: Any, b: Any, **how: Any) -> Any:
    return spsolve(data, indices, indptr, b_dot, **how)


defjvp_without_result(spsolve_p, _tangent_of_matrix, None, None, _tangent_of_right_hand_side)


def _transpose(ct: Any, data: Any, indices: Any, indptr: Any, b: Any, **how: Any) -> Any:
    """Transpose rule: solve with the transposed matrix, which has the entries of the matrix, sorted by column."""
    row, column, entries = lax.sort((indices, _rows(indices, indptr), data), num_keys=2)
    counts = jnp.cumsum(jnp.bincount(row, length=indptr.size - 1)).astype(indptr.dtype)
    starts = jnp.zeros_like(indptr).at[1:].set(counts)
    return [None, None, None, spsolve(entries, column, starts, ct, **how)]


primitive_transposes[spsolve_p] = _transpose


def spsolve(data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6, reorder: int = 1) -> Any:
    """Return the solution of M x = b, of b's shape [n] and dtype, for a square matrix M of n rows: `data` are its
    entries, `indices` their columns, and the entries of row i are `data[indptr[i]:indptr[i + 1]]`. scipy computes it on
    the host; there is no batching rule.

    Args:
      tol, reorder: for JAX on GPUs; not used.

    Raises:
      ValueError: if dtypes or shapes do not fit, or `reorder` is not 0, 1, 2 or 3.
    """
    return spsolve_p.bind(*map(jnp.asarray, (data, indices, indptr, b)), tol=tol, reorder=reorder)


missing_names.explain("experimental.sparse.linalg", sys.modules[__name__])
