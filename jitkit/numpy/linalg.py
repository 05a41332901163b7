"""`jitkit.numpy.linalg`: norms, and the array API's names for products and parts of matrices. No decompositions.

JAX: jax/_src/numpy/linalg.py:norm
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..lax.utils import canonicalize_axis
from ..pjit.jit import fused, jit
from . import contractions, diagonals, reductions
from .arithmetic import power
from .promotion import promote_dtypes_inexact
from .ufuncs import abs as abs_
from .ufuncs import conj, constant, real, sqrt
from .util import ensure_arraylike, ensure_arraylikes


@jit(static_argnames=("ord", "axis", "keepdims"))
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors along one axis, or of matrices along two; of all elements when neither `ord` nor `axis` is given.

    Args:
      ord: for vectors a number p, 2 by default: the sum of |x|**p, to the power 1/p; inf, -inf and 0 are the largest
        |x|, the smallest, and how many are not 0. For matrices "fro" (the default), the root of the sum of squares;
        1, -1, inf and -inf, the largest and smallest sums of |x| over columns and over rows.

    Raises:
      ValueError: for another `ord`.
      NotImplementedError: for those that need singular values (2, -2 and "nuc" of matrices).
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


@fused(static_argnames=("axis", "keepdims", "ord"))
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of vectors along `axis`, or of all elements; `ord` as for `norm`."""
    x = ensure_arraylike("jnp.linalg.vector_norm", x)
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
        raise NotImplementedError(
            f"jitkit.numpy.linalg.norm: ord={ord!r} of a matrix needs singular values, which are not implemented."
        )
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
    """The norm of matrices in the last two axes; `ord` as for `norm`."""
    return norm(ensure_arraylike("jnp.linalg.matrix_norm", x), ord=ord, keepdims=keepdims, axis=(-2, -1))


# --- products, and parts of matrices, which lie in the last two axes -----------------------------------------------------


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The vector perpendicular to two vectors of three elements. ValueError for other sizes."""
    x1, x2 = ensure_arraylikes("jnp.linalg.outer", x1, x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they have "
            f"{x1.shape[axis]=} and {x2.shape[axis]=}"
        )
    return contractions.cross(x1, x2, axis=axis)


def outer(x1: Any, x2: Any, /) -> Any:
    """All products of an element of one vector with one of the other. ValueError unless both have one axis."""
    x1, x2 = ensure_arraylikes("jnp.linalg.outer", x1, x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are {x1.ndim=} {x2.ndim=}")
    return x1[:, None] * x2[None, :]


def vecdot(
    x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None, preferred_element_type: Any = None
) -> Any:
    """The sum over `axis` of conj(x1) * x2."""
    x1, x2 = ensure_arraylikes("jnp.linalg.vecdot", x1, x2)
    return contractions.vecdot(
        x1, x2, axis=axis, precision=precision, preferred_element_type=preferred_element_type
    )


def matmul(x1: Any, x2: Any, /, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """`x1 @ x2`."""
    x1, x2 = ensure_arraylikes("jnp.linalg.matmul", x1, x2)
    return contractions.matmul(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


def tensordot(
    x1: Any, x2: Any, /, *, axes: Any = 2, precision: Any = None, preferred_element_type: Any = None
) -> Any:
    """The sum of products over several axes, as `jitkit.numpy.tensordot`."""
    x1, x2 = ensure_arraylikes("jnp.linalg.tensordot", x1, x2)
    return contractions.tensordot(
        x1, x2, axes=axes, precision=precision, preferred_element_type=preferred_element_type
    )


def matrix_transpose(x: Any, /) -> Any:
    """Rows for columns. ValueError for fewer than two axes."""
    x = ensure_arraylike("jnp.linalg.matrix_transpose", x)
    ndim = x.ndim
    if ndim < 2:
        raise ValueError(f"matrix_transpose requires at least 2 dimensions; got {ndim=}")
    return lax.transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of matrices."""
    x = ensure_arraylike("jnp.linalg.diagonal", x)
    return diagonals.diagonal(x, offset=offset, axis1=-2, axis2=-1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sums of the diagonals of matrices."""
    x = ensure_arraylike("jnp.linalg.trace", x)
    return diagonals.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)
