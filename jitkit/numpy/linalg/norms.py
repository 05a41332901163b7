"""Computes norms of vectors and of matrices, ranks and condition numbers.

JAX: jax/_src/numpy/linalg.py:norm
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import dtypes
from ...lax.utils import canonicalize_axis
from ...pjit.jit import inlined, jit
from .. import reductions
from ..arithmetic import power
from ..float_parts import isnan
from ..promotion import promote_dtypes_inexact
from ..selection import where
from ..shaping import expand_dims, moveaxis
from ..ufuncs import abs as abs_
from ..ufuncs import conj, constant, real, sqrt
from ..util import ensure_arraylike
from .decompositions import svd, svdvals
from .systems import inv


@jit(static_argnames=("ord", "axis", "keepdims"))
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the norm of vectors along one axis, or of matrices along two; of all elements if neither `ord` nor `axis`
    is given.

    Args:
      ord: of vectors: a number p (2 by default): the sum of |x|**p, to the power 1/p; inf, -inf: the largest and the
        smallest |x|; 0: the number of elements that are not 0.
        Of matrices: "fro" (the default): the root of the sum of |x|**2; 1, -1: the largest and the smallest sum of |x|
          over a column; inf, -inf: the same over a row; 2, -2: the largest and the smallest singular value; "nuc": the
          sum of the singular values.

    Raises:
      ValueError: for another `ord`, and for more than two axes.
    """
    x = ensure_arraylike("jnp.linalg.norm", x)
    (x,) = promote_dtypes_inexact(x)
    if axis is None and ord is None:
        return sqrt(reductions.sum(real(x * conj(x)), keepdims=keepdims))
    if axis is None:
        axes = tuple(range(x.ndim))
    else:
        axes = tuple(canonicalize_axis(i, x.ndim) for i in (axis if isinstance(axis, tuple) else (axis,)))
    if len(axes) == 1:
        return vector_norm(x, ord=2 if ord is None else ord, axis=axes, keepdims=keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, axes[0], axes[1], keepdims)
    given = axes if axis is None else axis
    raise ValueError(
        f"Improper number of axes for norm: axis={given}. Pass one axis to compute a vector-norm, or two axes to compute "
        "a matrix-norm."
    )


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """Return the norm of vectors along `axis`, or of all elements; `ord` is as for `norm`. Raise ValueError if it is a string."""
    return _vector_norm(ensure_arraylike("jnp.linalg.vector_norm", x), axis=axis, keepdims=keepdims, ord=ord)


@inlined(static_argnames=("axis", "keepdims", "ord"))
def _vector_norm(x: Any, *, axis: Any, keepdims: bool, ord: Any) -> Any:
    if ord is None or ord == 2:
        return sqrt(reductions.sum(real(x * conj(x)), axis=axis, keepdims=keepdims))
    if ord == np.inf:
        return reductions.amax(abs_(x), axis=axis, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return reductions.amin(abs_(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return reductions.sum(x != 0, dtype=dtypes.finfo(x.dtype).dtype, axis=axis, keepdims=keepdims)
    if ord == 1:  # |x|**1 has no derivative at 0 that is a number
        return reductions.sum(abs_(x), axis=axis, keepdims=keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid order '{ord}' for vector norm.")
    sizes = abs_(x)
    exponent = constant(sizes, ord)
    total = reductions.sum(sizes**exponent, axis=axis, keepdims=keepdims)
    return power(total, constant(sizes, 1.0 / exponent))


def _matrix_norm(x: Any, ord: Any, row_axis: int, column_axis: int, keepdims: bool) -> Any:
    axes = (row_axis, column_axis)
    if ord is None or ord in ("f", "fro"):
        return sqrt(reductions.sum(real(x * conj(x)), axis=axes, keepdims=keepdims))
    if ord in (2, -2, "nuc"):
        s = svd(moveaxis(x, axes, (-2, -1)), compute_uv=False)
        if ord == 2:
            found = reductions.amax(s, axis=-1, initial=0)
        else:
            found = reductions.amin(s, axis=-1) if ord == -2 else reductions.sum(s, axis=-1)
        return expand_dims(found, axes) if keepdims else found
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError(f"Invalid order '{ord}' for matrix norm.")
    summed, compared = axes if abs(ord) == 1 else axes[::-1]
    if not keepdims and compared > summed:
        compared -= 1
    sums = reductions.sum(abs_(x), axis=summed, keepdims=keepdims)
    if ord > 0:
        return reductions.amax(sums, axis=compared, keepdims=keepdims, initial=0)
    return reductions.amin(sums, axis=compared, keepdims=keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Return the norm of matrices in the last two axes; `ord` is as for `norm`."""
    return norm(ensure_arraylike("jnp.linalg.matrix_norm", x), ord=ord, keepdims=keepdims, axis=(-2, -1))


@jit(static_argnames=("hermitian",))
def matrix_rank(M: Any, rtol: Any = None, *, hermitian: bool = False, tol: Any = None) -> Any:  # numpy's names
    """Return the number of singular values greater than `rtol` (or `tol`), an absolute bound, as in JAX. By default the
    bound is the largest singular value times the greater size of the matrix times eps. For a vector, return 0 if it is
    zero, else 1. `hermitian` promises that the matrix is Hermitian. Raise ValueError if both bounds are given.
    """
    M = ensure_arraylike("jnp.linalg.matrix_rank", M)
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank: only one of tol or rtol may be specified.")
    limit = rtol if tol is None else tol
    (M,) = promote_dtypes_inexact(M)
    if M.ndim < 2:
        return (M != 0).any().astype(np.int32)
    s = svd(M, full_matrices=False, compute_uv=False, hermitian=hermitian)
    if limit is None:
        limit = s.max(-1) * np.max(M.shape[-2:]).astype(s.dtype) * dtypes.finfo(s.dtype).eps
    return reductions.sum(s > expand_dims(limit, np.ndim(limit)), axis=-1)


@jit(static_argnames=("p",))
def cond(x: Any, p: Any = None) -> Any:
    """Return the condition number of a matrix: its norm times the norm of its inverse; `p` is the `ord` of `norm`, 2 if
    None. Raise ValueError for fewer than two axes, an empty matrix, and one that is not square unless p is 2 or -2.
    """
    x = ensure_arraylike("cond", x)
    if x.ndim < 2:
        raise ValueError(f"jnp.linalg.cond: input array must be at least 2D; got arr.shape={x.shape!r}")
    if 0 in x.shape[-2:]:
        raise ValueError(f"jnp.linalg.cond: input array must not be empty; got arr.shape={x.shape!r}")
    if p is None or p == 2:
        s = svdvals(x)
        return s[..., 0] / s[..., -1]
    if p == -2:
        s = svdvals(x)
        ratio = s[..., -1] / s[..., 0]
    else:
        if x.shape[-2] != x.shape[-1]:
            raise ValueError(f"jnp.linalg.cond: for {p=}, array must be square; got arr.shape={x.shape!r}")
        ratio = norm(x, ord=p, axis=(-2, -1)) * norm(inv(x), ord=p, axis=(-2, -1))
    return where(isnan(ratio) & ~isnan(x).any(axis=(-2, -1)), np.inf, ratio)
