"""Solves systems of linear equations, and inverts matrices.

JAX: jax/_src/numpy/linalg.py:solve
"""

from __future__ import annotations

import math
import operator
from typing import Any

from ... import lax
from ...base import edits
from ...pjit.jit import jit
from ..diagonals import eye
from ..promotion import promote_dtypes_inexact
from ..shaping import moveaxis
from ..util import ensure_arraylike, ensure_arraylikes
from ..vectorizing import vectorize

# --- solve, inv -----------------------------------------------------------------------------------------------------------


@jit
def solve(a: Any, b: Any) -> Any:
    """Return the x for which a @ x = b; inf and nan if the matrix has no inverse.

    Args:
      a: square matrices, of shape [..., m, m].
      b: one vector, of shape [m], or matrices [..., m, n]. Batches are broadcast.

    Raises:
      ValueError: for other shapes.
    """
    a, b = ensure_arraylikes("jnp.linalg.solve", a, b)
    a, b = promote_dtypes_inexact(a, b)
    if a.ndim < 2:
        raise ValueError(f"left hand array must be at least two dimensional; got a.shape={a.shape!r}")
    if b.ndim > 1 and a.ndim == b.ndim + 1 and a.shape[-1] == b.shape[-1] != b.shape[-2]:
        raise ValueError(
            f"Invalid shapes for solve: {a.shape}, {b.shape}. Prior to JAX v0.5.0, this would have been treated as a batched "
            "1-dimensional solve. To recover this behavior, use solve(a, b[..., None]).squeeze(-1)."
        )
    signature = "(m,m),(m)->(m)" if b.ndim == 1 else "(m,m),(m,n)->(m,n)"
    try:
        return vectorize(lax.linalg.solve, signature=signature)(a, b)
    except ValueError as error:
        if a.shape[-1] != a.shape[-2]:
            error.args = (f"{error}{edits.SQUARE}",)
        elif a.shape[-1] != b.shape[-1 if b.ndim == 1 else -2]:
            error.args = (f"{error}{edits.ROWS_OF_B}",)
        raise


@jit
def inv(a: Any) -> Any:
    """Return the inverses of square matrices; inf and nan if there is none. Raise ValueError for other shapes."""
    a = ensure_arraylike("jnp.linalg.inv", a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Argument to inv must have shape [..., n, n], got {a.shape}.{edits.SQUARE}")
    return solve(a, lax.broadcast(eye(a.shape[-1], dtype=a.dtype), a.shape[:-2]))


def tensorinv(a: Any, ind: int = 2) -> Any:
    """Return the inverse of an array, taken as a matrix: its first `ind` axes are the rows. Raise ValueError unless
    that matrix is square and `ind` positive.
    """
    a = ensure_arraylike("tensorinv", a)
    ind = operator.index(ind)
    if ind <= 0:
        raise ValueError(f"ind must be a positive integer; got {ind=}")
    rows, columns = a.shape[:ind], a.shape[ind:]
    if math.prod(rows) != math.prod(columns):
        raise ValueError(
            "tensorinv is only possible when the product of the first `ind` dimensions equals that of the remaining "
            f"dimensions. got arr.shape={a.shape!r} with {ind=}."
        )
    return inv(a.reshape(math.prod(rows), math.prod(columns))).reshape(*columns, *rows)


def tensorsolve(a: Any, b: Any, axes: tuple[int, ...] | None = None) -> Any:
    """Return the x for which tensordot(a, x, x.ndim) = b, after moving the `axes` of a to its end. Raise ValueError if
    shapes do not fit.
    """
    a, b = ensure_arraylikes("tensorsolve", a, b)
    if axes is not None:
        a = moveaxis(a, axes, len(axes) * (a.ndim - 1,))
    shape = a.shape[b.ndim :]
    if a.shape[: b.ndim] != b.shape:
        raise ValueError(
            "After moving axes to end, leading shape of a must match shape of b. got a.shape="
            f"{a.shape}, b.shape={b.shape}"
        )
    if b.size != math.prod(shape):
        raise ValueError(
            "Input arrays must have prod(a.shape[:b.ndim]) == prod(a.shape[b.ndim:]); got a.shape="
            f"{a.shape}, b.ndim={b.ndim}."
        )
    return solve(a.reshape(b.size, math.prod(shape)), b.ravel()).reshape(shape)
