"""BCSR: a sparse matrix as its entries in the order of rows, their columns, and where each row begins

The entries of row i are `data[indptr[i]:indptr[i + 1]]`, and `indices` has their columns. Operations use the BCOO array
with the same entries.

JAX: jax/experimental/sparse/bcsr.py:BCSR
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from ... import numpy as jnp
from ...tree_util import register_pytree_node_class
from .base import JAXSparse, refuse
from .bcoo import BCOO, SparseInfo, bcoo_dot_general, bcoo_fromdense, known_number

_TRACED_NSE = (
    "The error arose for the nse argument of bcsr_fromdense. In order for BCSR.fromdense() to be used in traced/compiled code, you must "
    "pass a concrete value to the nse (number of stored elements) argument."
)


@register_pytree_node_class
class BCSR(JAXSparse):
    """A sparse matrix of entries, `data` of shape [nse, ...], in the columns `indices` [nse], with the bounds of the
    rows in `indptr` [rows + 1].

        M = BCSR.fromdense(jnp.array([[0., 2., 0.], [1., 0., 4.]]))      # BCSR(float32[2, 3], nse=3)
        M @ jnp.ones(3)                                                  # [2. 5.]

    Axes after the second are dense. `@` multiplies with dense arrays, from both sides.

    Raises:
      ValueError: if the shapes do not fit each other.
      NotImplementedError: for batch dimensions.
    """

    def __init__(
        self,
        args: tuple[Any, Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        self.shape = tuple(map(operator.index, shape))
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        if self.indices.ndim != 1:
            refuse(f"BCSR with {self.indices.ndim - 1} batch dimensions")
        if self.indptr.shape != (self.shape[0] + 1,):
            raise ValueError("indptr shape must match the matrix shape plus 1.")
        if self.data.shape != (self.nse, *self.shape[2:]):
            raise ValueError(
                f"Invalid data.shape={self.data.shape} for nse={self.nse}, n_batch=0, n_dense={len(self.shape) - 2}"
            )

    n_batch, n_sparse = 0, 2

    @property
    def nse(self) -> int:
        """The number of stored entries."""
        return int(self.indices.shape[-1])

    @property
    def n_dense(self) -> int:
        """The number of axes that each entry has."""
        return int(self.data.ndim) - 1

    def parts(self) -> dict[str, int]:
        """Return the numbers that the array's text shows."""
        return {"nse": self.nse, **({"n_dense": self.n_dense} if self.n_dense else {})}

    def with_data(self, data: Any) -> BCSR:
        """Return a matrix with other entries at the same places."""
        return BCSR(
            (data, self.indices, self.indptr),
            shape=self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0, n_batch: int = 0
    ) -> BCSR:
        """Return the sparse matrix of a dense one: see `bcsr_fromdense`."""
        return bcsr_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """Return the matrix of a BCOO array, whose entries are sorted first if they may be unsorted. Raise
        NotImplementedError unless it has two sparse axes.
        """
        if arr.n_sparse != 2:
            raise NotImplementedError(f"BSCR.from_bcoo requires n_sparse=2; got arr.n_sparse={arr.n_sparse}")
        arr = arr if arr.indices_sorted else arr.sort_indices()
        rows, columns = arr.columns()
        return cls((arr.data, columns, _bounds(rows, arr.shape[0], arr.indices.dtype)), shape=arr.shape)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCSR:
        """Return the matrix of one of `scipy.sparse`. Raise NotImplementedError for dense or batch dimensions,
        ValueError unless it has two axes.
        """
        if n_dense != 0 or n_batch != 0:
            raise NotImplementedError("BCSR from_scipy_sparse with nonzero n_dense/n_batch.")
        if mat.ndim != 2:
            raise ValueError(f"BCSR from_scipy_sparse requires 2D array; {mat.ndim}D is given.")
        mat = mat.tocsr()
        indices, indptr = (jnp.asarray(part).astype(index_dtype or np.int32) for part in (mat.indices, mat.indptr))
        return cls((jnp.asarray(mat.data), indices, indptr), shape=mat.shape)

    def to_bcoo(self) -> BCOO:
        """Return the BCOO array with the same entries."""
        rows = jnp.cumsum(jnp.zeros_like(self.indices).at[self.indptr].add(1)) - 1
        return BCOO((self.data, jnp.stack([rows, self.indices], axis=1)), shape=self.shape)

    def todense(self) -> Any:
        """Return the dense array."""
        return self.to_bcoo().todense()

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """Return the matrix with entries at one place added, and sorted: see `BCOO.sum_duplicates`."""
        return BCSR.from_bcoo(self.to_bcoo().sum_duplicates(nse, remove_zeros))

    def transpose(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise NotImplementedError, as JAX does: transpose the result of `to_bcoo`."""
        raise NotImplementedError("Transpose is not implemented.")

    @property
    def T(self) -> NoReturn:
        """Raise NotImplementedError, as JAX does."""
        self.transpose()

    def __matmul__(self, other: Any) -> Any:
        return self.to_bcoo() @ other

    def __rmatmul__(self, other: Any) -> Any:
        return other @ self.to_bcoo()

    def tree_flatten(self) -> tuple[tuple[Any, Any, Any], dict[str, Any]]:
        """Return the arrays, and the rest of the parts as metadata."""
        info = SparseInfo(self.shape, self.indices_sorted, self.unique_indices)
        return (self.data, self.indices, self.indptr), info._asdict()

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: tuple[Any, Any, Any]) -> BCSR:
        """Return the matrix from the parts that `tree_flatten` returned."""
        made = object.__new__(cls)
        made.data, made.indices, made.indptr = children
        vars(made).update(aux_data)
        return made


def _bounds(rows: Any, count: int, dtype: Any) -> Any:
    """Return the start of each of `count` rows, and the end of the last, for the sorted rows of entries."""
    ends = jnp.cumsum(jnp.bincount(rows, length=count).astype(dtype))
    return jnp.zeros(count + 1, dtype).at[1:].set(ends)


def bcsr_fromdense(
    mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32
) -> BCSR:
    """Return the sparse matrix of a dense one; arguments are those of `bcoo_fromdense`. Raise ValueError unless it has
    two sparse axes.
    """
    mat = jnp.asarray(mat)
    if mat.ndim - n_dense - n_batch != 2:
        raise ValueError("bcsr_fromdense: must have 2 sparse dimensions.")
    if nse is None:
        nse = known_number((mat != 0).any(tuple(range(2, mat.ndim))).sum(), _TRACED_NSE)
    return BCSR.from_bcoo(bcoo_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype))


def bcsr_todense(mat: BCSR) -> Any:
    """Return the dense array."""
    return mat.todense()


def bcsr_dot_general(
    lhs: BCSR,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: None = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return the product of a sparse matrix and a dense array: see `bcoo_dot_general`. `precision` and `out_sharding` are not used."""
    return bcoo_dot_general(
        lhs.to_bcoo(), rhs, dimension_numbers=dimension_numbers, preferred_element_type=preferred_element_type
    )
