"""Products of two sparse arrays: element by element, and over pairs of axes

Each pair of entries is a candidate for an entry of the result. So the work is the product of the two numbers of
entries, as in JAX. The result has room for as many entries as there may be.

JAX: jax/experimental/sparse/bcoo.py:bcoo_multiply_sparse
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from .base import refuse


def multiply(lhs: Any, rhs: Any) -> Any:
    """Return the product of two BCOO arrays, element by element; an axis of size 1 is broadcast. The result has lhs.nse
    * rhs.nse entries. Raise TypeError if the numbers of axes differ, NotImplementedError if those of dense axes differ.
    """
    if lhs.ndim != rhs.ndim:
        raise TypeError(
            f"bcoo_multiply_sparse: arrays must have same number of dimensions, got {lhs.shape}, {rhs.shape}"
        )
    if lhs.n_dense != rhs.n_dense:
        raise NotImplementedError(
            f"bcoo_multiply_sparse: arrays with differing numbers of dense dimensions: {lhs}, {rhs}"
        )
    sizes = zip(lhs.shape[: lhs.n_sparse], rhs.shape[: rhs.n_sparse], strict=True)
    compared = np.array([axis for axis, pair in enumerate(sizes) if 1 not in pair], int)
    same_place = (lhs.indices[:, None, compared] == rhs.indices[None, :, compared]).all(-1)
    pairs = jnp.nonzero(same_place, size=lhs.nse * rhs.nse, fill_value=(lhs.nse, rhs.nse))
    data, places = [], []
    for x, chosen in zip((lhs, rhs), pairs, strict=True):
        data.append(x.data.at[chosen].get(mode="fill", fill_value=0))
        places.append(x.indices.at[chosen].get(mode="fill", fill_value=max(x.shape, default=0)))
    return type(lhs)((data[0] * data[1], jnp.maximum(*places)), shape=lax.broadcast_shapes(lhs.shape, rhs.shape))


def dot(lhs: Any, rhs: Any, contracting: tuple[Sequence[int], Sequence[int]]) -> Any:
    """Return the sum of products of two BCOO arrays over pairs of axes. Its axes are those of `lhs`, then those of
    `rhs`, without the pairs; each place has one entry, in order. Raise NotImplementedError for dense axes.
    """
    if lhs.n_dense or rhs.n_dense:
        refuse("bcoo_dot_general with dense axes")
    kept = [
        [axis for axis in range(x.ndim) if axis not in axes] for x, axes in zip((lhs, rhs), contracting, strict=True)
    ]
    summed, inside, rest = [], [], []
    for x, axes, others in zip((lhs, rhs), contracting, kept, strict=True):
        summed.append(x.indices[:, np.array(axes, int)])
        inside.append((summed[-1] < np.array([x.shape[axis] for axis in axes], x.indices.dtype)).all(-1))
        rest.append(x.indices[:, np.array(others, int)])
    fits = (summed[0][:, None] == summed[1][None, :]).all(-1) & inside[0][:, None] & inside[1][None, :]
    data = jnp.where(fits, lhs.data[:, None] * rhs.data[None, :], 0).ravel()
    pair = (lhs.nse, rhs.nse)
    columns = [
        jnp.broadcast_to(rest[0][:, None], (*pair, len(kept[0]))),
        jnp.broadcast_to(rest[1][None], (*pair, len(kept[1]))),
    ]
    places = jnp.concatenate(columns, -1).reshape(data.size, -1)
    shape = [x.shape[axis] for x, axes in zip((lhs, rhs), kept, strict=True) for axis in axes]
    nse = math.prod(x.nse for x, axes in zip((lhs, rhs), kept, strict=True) if axes)
    product = type(lhs)((data, places), shape=shape).sum_duplicates(nse=min(nse, math.prod(shape)), remove_zeros=False)
    return type(lhs)((product.data, product.indices), shape=shape)
