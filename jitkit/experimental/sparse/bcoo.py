"""BCOO: a sparse array as its entries and their coordinates; conversions, sums and products

`data[i]` stands at `indices[i]`. Entries at one place are added; one whose place is outside the array counts as 0, so
an array may have room for more entries. All operations have shapes that do not depend on values, and so work under
`jit`, unless the number of entries (`nse`) has to be counted.

JAX: jax/experimental/sparse/bcoo.py:BCOO
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import core, lax
from ... import numpy as jnp
from ...tree_util import register_pytree_node_class
from . import products
from .base import JAXSparse, refuse

_TRACED_NSE = (
    "The error arose for the nse argument of bcoo_fromdense. In order for BCOO.fromdense() to be used in traced/compiled code, you must "
    "pass a concrete value to the nse (number of stored elements) argument."
)


class SparseInfo(NamedTuple):
    """The shape of a sparse array, and the known facts on the order of its entries."""

    shape: tuple[int, ...]
    indices_sorted: bool = False  # whether the entries are known to be in the order of their coordinates
    unique_indices: bool = False  # whether no two entries are known to be at one place


@register_pytree_node_class
class BCOO(JAXSparse):
    """A sparse array of entries, `data` of shape [nse, ...], at the coordinates `indices` of shape [nse, n_sparse].

        M = BCOO.fromdense(jnp.array([[0., 2., 0.], [1., 0., 4.]]))      # BCOO(float32[2, 3], nse=3)
        M @ jnp.ones(3)                                                  # [2. 5.]

    Axes beyond the first n_sparse are dense: each entry has them in full. `indices_sorted` and `unique_indices` promise that
    the entries are in the order of their coordinates, and no two at one place. `@` multiplies with dense and
    sparse arrays, `*` element by element with these and with numbers; `+` and `-` add and subtract two sparse arrays.

    Raises:
      ValueError: if the shapes do not fit each other.
      NotImplementedError: for indices of shape [batch, nse, n_sparse]: there are no batch dimensions.
    """

    def __init__(
        self, args: tuple[Any, Any], *, shape: Sequence[int], indices_sorted: bool = False, unique_indices: bool = False
    ) -> None:
        self.data, self.indices = map(jnp.asarray, args)
        self.shape = tuple(map(operator.index, shape))
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        if self.indices.ndim != 2:
            refuse(f"BCOO with {self.indices.ndim - 2} batch dimensions")
        if self.data.shape != (self.nse, *self.shape[self.n_sparse :]):
            raise ValueError(
                f"Invalid data.shape={self.data.shape} for nse={self.nse}, n_batch=0, n_dense={len(self.shape) - self.n_sparse}"
            )

    @property
    def nse(self) -> int:
        """The number of stored entries."""
        return int(self.indices.shape[-2])

    @property
    def n_batch(self) -> int:
        """The number of batch dimensions: 0."""
        return int(self.indices.ndim) - 2

    @property
    def n_sparse(self) -> int:
        """The number of axes that have coordinates."""
        return int(self.indices.shape[-1])

    @property
    def n_dense(self) -> int:
        """The number of axes that each entry has."""
        return int(self.data.ndim) - 1 - self.n_batch

    def parts(self) -> dict[str, int]:
        """Return the numbers that the array's text shows."""
        return {"nse": self.nse, **({"n_dense": self.n_dense} if self.n_dense else {})}

    def with_data(self, data: Any) -> BCOO:
        """Return an array with other entries at the same places."""
        return BCOO(
            (data, self.indices),
            shape=self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    def columns(self) -> tuple[Any, ...]:
        """Return the coordinates, an array [nse] for each sparse axis."""
        return tuple(self.indices[:, i] for i in range(self.n_sparse))

    # --- conversions ---

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0, n_batch: int = 0
    ) -> BCOO:
        """Return the sparse array of a dense one: see `bcoo_fromdense`."""
        return bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCOO:
        """Return the sparse array of a matrix of `scipy.sparse`. Raise NotImplementedError for dense or batch dimensions."""
        if n_dense != 0 or n_batch != 0:
            raise NotImplementedError("BCOO.fromscipy with nonzero n_dense/n_batch")
        mat = mat.tocoo()
        indices = jnp.column_stack((mat.row, mat.col)).astype(index_dtype or np.int32)
        return cls((jnp.asarray(mat.data), indices), shape=mat.shape)

    def todense(self) -> Any:
        """Return the dense array."""
        return bcoo_todense(self)

    def astype(self, dtype: Any) -> BCOO:
        """Return the array with entries of another dtype."""
        return self.with_data(self.data.astype(dtype))

    def sort_indices(self) -> BCOO:
        """Return the array with its entries in the order of their coordinates."""
        *columns, order = lax.sort((*self.columns(), jnp.arange(self.nse)), num_keys=self.n_sparse)
        indices = jnp.stack(columns, axis=1) if columns else self.indices
        return BCOO(
            (self.data[order], indices), shape=self.shape, indices_sorted=True, unique_indices=self.unique_indices
        )

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """Return the array with entries at one place added, in order, and with `remove_zeros` without those that are 0.
        The number of entries depends on values, so under `jit` it must be given as `nse`; entries beyond it are dropped.
        """
        bounds = jnp.array(self.shape[: self.n_sparse], dtype=self.indices.dtype)
        outside = (self.indices >= bounds).any(-1, keepdims=True)
        if remove_zeros:
            outside = outside | (self.data == 0).all(tuple(range(1, self.data.ndim)))[:, None]
        placed = jnp.where(outside, bounds, self.indices)
        indices, where = jnp.unique(placed, axis=0, return_inverse=True, size=self.nse, fill_value=bounds)
        if nse is None:
            inside = (indices < bounds).all(-1).sum()
            nse = known_number(inside, "nse argument of sum_duplicates.")
        data = jnp.zeros((nse, *self.data.shape[1:]), self.data.dtype).at[where.ravel()].add(self.data, mode="drop")
        room = nse - self.nse
        indices = (
            jnp.concatenate([indices, jnp.broadcast_to(bounds, (room, self.n_sparse))]) if room > 0 else indices[:nse]
        )
        return BCOO((data, indices), shape=self.shape, indices_sorted=True, unique_indices=True)

    # --- arithmetic ---

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """Return the array with its axes in this order, by default reversed."""
        return bcoo_transpose(self, permutation=range(self.ndim)[::-1] if axes is None else axes)

    @property
    def T(self) -> BCOO:
        """The array with its axes reversed."""
        return self.transpose()

    def sum(self, axis: int | Sequence[int] | None = None) -> Any:
        """Return the sum over all axes, a dense number, or over some, a sparse array."""
        axes = range(self.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
        total = bcoo_reduce_sum(self, axes=sorted({operator.index(each) % self.ndim for each in axes}))
        return total if total.shape else total.data.sum()

    def __neg__(self) -> BCOO:
        return self.with_data(-self.data)

    def __pos__(self) -> BCOO:
        return self

    def __abs__(self) -> BCOO:
        if not self.unique_indices:
            refuse("abs of a BCOO array whose indices are not known to be unique")
        return self.with_data(abs(self.data))

    def __mul__(self, other: Any) -> BCOO:
        if isinstance(other, JAXSparse):
            rank = max(self.ndim, other.ndim)
            return bcoo_multiply_sparse(_with_leading_axes(self, rank), _with_leading_axes(other, rank))
        return self.with_data(_times_dense(self, jnp.asarray(other) if np.ndim(other) else other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> BCOO:
        if isinstance(other, JAXSparse) or np.ndim(other):
            refuse("a quotient of a sparse array and an array")
        return self.with_data(self.data / other)

    def __add__(self, other: Any) -> BCOO:
        if not isinstance(other, BCOO):
            refuse("a sum of a sparse and a dense array")
        if self.shape != other.shape:
            raise NotImplementedError("Addition between sparse matrices of different shapes.")
        dtype = jnp.promote_types(self.dtype, other.dtype)
        data = lax.concatenate([self.data.astype(dtype), other.data.astype(dtype)], 0)
        return BCOO((data, lax.concatenate([self.indices, other.indices], 0)), shape=self.shape)

    def __sub__(self, other: Any) -> BCOO:
        return self + -other if isinstance(other, BCOO) else self.__add__(other)

    def __matmul__(self, other: Any) -> Any:
        other = other if isinstance(other, BCOO) else jnp.asarray(todense(other))
        _check_matmul(self, other)
        return bcoo_dot_general(self, other, dimension_numbers=(([self.ndim - 1], [max(other.ndim - 2, 0)]), ([], [])))

    def __rmatmul__(self, other: Any) -> Any:
        other = jnp.asarray(other)
        _check_matmul(other, self)
        contracted = [max(self.ndim - 2, 0)], [other.ndim - 1]
        product = bcoo_dot_general(self, other, dimension_numbers=(contracted, ([], [])))
        return lax.transpose(product, (*range(self.ndim - 1, product.ndim), *range(self.ndim - 1)))

    def tree_flatten(self) -> tuple[tuple[Any, Any], dict[str, Any]]:
        """Return the arrays, and the rest of the parts as metadata."""
        return (self.data, self.indices), SparseInfo(self.shape, self.indices_sorted, self.unique_indices)._asdict()

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: tuple[Any, Any]) -> BCOO:
        """Return the array from the parts that `tree_flatten` returned."""
        made = object.__new__(cls)
        made.data, made.indices = children
        vars(made).update(aux_data)
        return made


def _check_matmul(left: Any, right: Any) -> None:
    """Raise NotImplementedError unless both operands have one or two axes, none of them dense, TypeError if the sizes differ."""
    for each in (left, right):
        if each.ndim not in (1, 2) or (isinstance(each, BCOO) and each.n_dense):
            refuse(f"a matrix product with an array of {each.ndim} axes, or with dense axes,")
    if left.shape[-1] != right.shape[max(right.ndim - 2, 0)]:
        raise TypeError(
            f"dot_general requires contracting dimensions to have the same shape, got {left.shape[-1:]} and "
            f"{right.shape[max(right.ndim - 2, 0) :][:1]}.\n`@` of {left.shape} and {right.shape}: the last axis of the first has to be as "
            "long as the first axis of the second."
        )


def _with_leading_axes(mat: Any, ndim: int) -> Any:
    """Return the array with axes of size 1 in front, `ndim` axes in all."""
    more = ndim - mat.ndim
    return BCOO((mat.data, jnp.pad(mat.indices, ((0, 0), (more, 0)))), shape=(*[1] * more, *mat.shape)) if more else mat


def _times_dense(mat: BCOO, v: Any) -> Any:
    """Return the entries, each multiplied by the element at its place in a dense array, which is broadcast to the same
    shape. Raise NotImplementedError if that is impossible.
    """
    if np.ndim(v) == 0:
        return mat.data * v
    if v.shape == mat.shape:
        return mat.data * v.at[mat.columns()].get(mode="fill", fill_value=0)
    if lax.broadcast_shapes(v.shape, mat.shape) != mat.shape:
        raise NotImplementedError(
            "multiplication between sparse and dense is only implemented for cases where the output shape matches the sparse matrix "
            f"shape. Got shape={mat.shape}, v.shape={v.shape}"
        )
    v = lax.expand_dims(v, range(mat.ndim - v.ndim))
    return mat.data * v[tuple(0 if size == 1 else each for each, size in zip(mat.columns(), v.shape, strict=False))]


def known_number(x: Any, why: str) -> int:
    """Return a number of entries. For a traced one, raise ConcretizationTypeError with a sentence that says why it is needed."""
    return int(core.concrete_or_error(int if isinstance(x, core.Tracer) else operator.index, x, why))


# --- functions ------------------------------------------------------------------------------------------------


def bcoo_fromdense(
    mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32
) -> BCOO:
    """Return the sparse array of a dense one, its entries in row-major order.

    Args:
      nse: the number of entries; by default it is counted, but under `jit` it must be given. If fewer elements are not 0, the
        other entries have indices outside the array; if more are not 0, the last of them are left out.
      index_dtype: the dtype of the coordinates.
      n_dense: how many of the last axes are dense.
      n_batch: 0. Raise NotImplementedError for another number.
    """
    if n_batch:
        refuse(f"BCOO with {n_batch} batch dimensions")
    mat = jnp.asarray(mat)
    n_sparse = mat.ndim - n_dense
    mask = mat != 0
    if n_dense:
        mask = mask.any([-(i + 1) for i in range(n_dense)])
    size = known_number(mask.sum() if nse is None else nse, _TRACED_NSE)
    if n_sparse:
        places = jnp.nonzero(mask, size=size, fill_value=mask.shape)
        indices = jnp.moveaxis(jnp.array(places, index_dtype), 0, 1)
        data = mat.at[tuple(indices[:, i] for i in range(n_sparse))].get(mode="fill", fill_value=0)
    else:
        indices = jnp.zeros((size, 0), index_dtype)
        data = jnp.broadcast_to(mat, (size, *mat.shape))
    is_entry = jnp.arange(size) < mask.sum()
    data = jnp.where(is_entry[(slice(None), *[None] * n_dense)], data, jnp.zeros((), mat.dtype))
    return BCOO((data, indices), shape=mat.shape, indices_sorted=True, unique_indices=True)


def bcoo_todense(mat: BCOO) -> Any:
    """Return the dense array."""
    columns = mat.columns()
    data = mat.data if columns else mat.data.sum(0, dtype=mat.dtype)
    return jnp.zeros(mat.shape, mat.dtype).at[columns].add(data)


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """Return the array with its axes in another order, in which the sparse axes still come before the dense ones. Raise
    NotImplementedError for any other order, TypeError if `permutation` is not a permutation of the axes.
    """
    order = [operator.index(axis) for axis in permutation]
    if sorted(order) != list(range(mat.ndim)):
        raise TypeError(
            f"transpose permutation isn't a permutation of operand dimensions, got permutation {tuple(order)} for shape {mat.shape}."
        )
    sparse, dense = order[: mat.n_sparse], order[mat.n_sparse :]
    if any(axis >= mat.n_sparse for axis in sparse):
        raise NotImplementedError("bcoo_transpose: permutation of sparse and dense dimensions among each other.")
    data = lax.transpose(mat.data, (0, *(axis - mat.n_sparse + 1 for axis in dense)))
    return BCOO(
        (data, mat.indices[:, jnp.array(sparse, np.int32)]),
        shape=[mat.shape[axis] for axis in order],
        indices_sorted=mat.indices_sorted and sparse == sorted(sparse),
        unique_indices=mat.unique_indices,
    )


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """Return the product of two sparse arrays, element by element; an axis of size 1 is broadcast."""
    product: BCOO = products.multiply(lhs, rhs)
    return product


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """Return the sum over some axes. Coordinates along a sparse axis are dropped, so several entries may be at one place."""
    data = mat.data.sum(tuple(axis - mat.n_sparse + 1 for axis in axes if axis >= mat.n_sparse))
    if mat.n_sparse:
        inside = (mat.indices < jnp.array(mat.shape[: mat.n_sparse], mat.indices.dtype)).all(-1)
        data = jnp.where(inside[(slice(None), *[None] * (data.ndim - 1))], data, jnp.zeros((), data.dtype))
    kept = [axis for axis in range(mat.n_sparse) if axis not in axes]
    indices = mat.indices[:, np.array(kept, np.int32)] if kept else jnp.zeros((mat.nse, 0), mat.indices.dtype)
    return BCOO((data, indices), shape=[size for axis, size in enumerate(mat.shape) if axis not in axes])


def bcoo_dot_general(
    lhs: BCOO, rhs: Any, *, dimension_numbers: Any, preferred_element_type: Any = None, out_sharding: Any = None
) -> Any:
    """Return the product of a sparse array and another one, summed over pairs of axes, as `lax.dot_general` does: dense
    if the other array is dense, in `preferred_element_type`, or else in their common dtype. Raise NotImplementedError if
    the sparse array has dense axes, or for batch axes. `out_sharding` is not used, nor `preferred_element_type` if both are sparse.
    """
    if lhs.n_dense:
        refuse("bcoo_dot_general with dense axes")
    (of_lhs, of_rhs), (lhs_batch, _) = dimension_numbers
    if len(lhs_batch):
        refuse("bcoo_dot_general with batch axes")
    if isinstance(rhs, BCOO):
        return products.dot(lhs, rhs, (of_lhs, of_rhs))
    dtype = preferred_element_type or jnp.promote_types(lhs.dtype, rhs.dtype)
    columns = lhs.columns()
    rest_of_rhs = [axis for axis in range(rhs.ndim) if axis not in of_rhs]
    rhs = lax.transpose(rhs, (*of_rhs, *rest_of_rhs)).astype(dtype)
    kept = [axis for axis in range(lhs.ndim) if axis not in of_lhs]
    out = jnp.zeros((*(lhs.shape[axis] for axis in kept), *rhs.shape[len(of_rhs) :]), dtype)
    data = lhs.data.astype(dtype)
    if of_lhs:
        rows = rhs.at[tuple(columns[axis] for axis in of_lhs)].get(mode="fill", fill_value=0)
        terms = lax.dot_general(data, rows, (([], []), ([0], [0])), preferred_element_type=preferred_element_type)
    else:
        terms = lax.dot_general(data, rhs, (([], []), ([], [])), preferred_element_type=preferred_element_type)
    if kept:
        return out.at[tuple(columns[axis] for axis in kept)].add(terms)
    return terms.sum(tuple(range(terms.ndim - out.ndim)), dtype=dtype)


def todense(arr: Any) -> Any:
    """Return a dense array for a sparse or a dense one."""
    return arr.todense() if isinstance(arr, JAXSparse) else jnp.asarray(arr)
