"""Computes products and powers of matrices, which are in the last two axes, and their parts.

JAX: jax/_src/numpy/linalg.py:multi_dot
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

from ... import lax
from ...pjit.jit import jit
from .. import contractions, diagonals
from ..diagonals import eye
from ..einsums import einsum
from ..promotion import broadcast_to
from ..util import ensure_arraylike, ensure_arraylikes
from .systems import inv


@jit(static_argnames=("n",))
def matrix_power(a: Any, n: int) -> Any:
    """Return the n-th power of square matrices, for a negative n that of the inverse. Raise TypeError unless the
    matrices are square and n is an integer.
    """
    a = ensure_arraylike("jnp.linalg.matrix_power", a)
    if a.ndim < 2:
        raise TypeError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if a.shape[-2] != a.shape[-1]:
        raise TypeError("Last 2 dimensions of the array must be square")
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError(f"exponent must be an integer, got {n}") from error
    if n == 0:
        return broadcast_to(eye(a.shape[-2], dtype=a.dtype), a.shape)
    power, n = (inv(a), -n) if n < 0 else (a, n)
    if n == 3:
        return power @ power @ power
    result = None
    while True:  # a, a^2, a^4, ...: multiply those whose bit is set in n
        n, bit = divmod(n, 2)
        if bit:
            result = power if result is None else result @ power
        if n == 0:
            return result
        power = power @ power


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Any:
    """Return the product of several matrices, in an order with few multiplications: the best one for up to four
    operands; for more, the one that `einsum` finds with optimize="auto". The first and the last operand may be vectors.
    Raise ValueError for fewer than two operands, or shapes that do not fit.
    """
    arrays = ensure_arraylikes("jnp.linalg.multi_dot", *arrays)
    if len(arrays) < 2:
        raise ValueError(f"multi_dot requires at least two arrays; got len(arrays)={len(arrays)}")
    shapes = [x.shape for x in arrays]
    ends = arrays[0].ndim in (1, 2) and arrays[-1].ndim in (1, 2)
    if not ends or any(x.ndim != 2 for x in arrays[1:-1]):
        raise ValueError(
            "multi_dot: input arrays must all be two-dimensional, except for the first and last array which may be 1 or 2 "
            f"dimensional. Got array shapes {shapes}"
        )
    if any(a[-1] != b[0] for a, b in itertools.pairwise(shapes)):
        raise ValueError(
            "multi_dot: last dimension of each array must match first dimension of following array. Got array shapes "
            f"{shapes}"
        )
    labels = [(i, i + 1) if x.ndim == 2 else (i + 1,) if i == 0 else (i,) for i, x in enumerate(arrays)]
    interleaved = itertools.chain.from_iterable(zip(arrays, labels, strict=True))
    return einsum(*interleaved, optimize="auto", precision=precision)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return the cross products of vectors with three elements along `axis`. Raise ValueError for other sizes."""
    x1, x2 = ensure_arraylikes("jnp.linalg.outer", x1, x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they have "
            f"{x1.shape[axis]=} and {x2.shape[axis]=}"
        )
    return contractions.cross(x1, x2, axis=axis)


def outer(x1: Any, x2: Any, /) -> Any:
    """Return the matrix of the products of each element of one vector with each of the other. Raise ValueError unless
    both have one axis.
    """
    x1, x2 = ensure_arraylikes("jnp.linalg.outer", x1, x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are {x1.ndim=} {x2.ndim=}")
    return x1[:, None] * x2[None, :]


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Return the sum over `axis` of conj(x1) * x2."""
    x1, x2 = ensure_arraylikes("jnp.linalg.vecdot", x1, x2)
    return contractions.vecdot(x1, x2, axis=axis, precision=precision, preferred_element_type=preferred_element_type)


def matmul(x1: Any, x2: Any, /, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Return `x1 @ x2`."""
    x1, x2 = ensure_arraylikes("jnp.linalg.matmul", x1, x2)
    return contractions.matmul(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Return the sum of products over several axes, as `jitkit.numpy.tensordot`."""
    x1, x2 = ensure_arraylikes("jnp.linalg.tensordot", x1, x2)
    return contractions.tensordot(x1, x2, axes=axes, precision=precision, preferred_element_type=preferred_element_type)


def matrix_transpose(x: Any, /) -> Any:
    """Return the transposes of matrices. Raise ValueError for fewer than two axes."""
    x = ensure_arraylike("jnp.linalg.matrix_transpose", x)
    ndim = x.ndim
    if ndim < 2:
        raise ValueError(f"matrix_transpose requires at least 2 dimensions; got {ndim=}")
    return lax.transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """Return the diagonals of matrices, `offset` places to the right of the main diagonal."""
    x = ensure_arraylike("jnp.linalg.diagonal", x)
    return diagonals.diagonal(x, offset=offset, axis1=-2, axis2=-1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """Return the sums of the diagonals of matrices, `offset` places to the right of the main diagonal."""
    x = ensure_arraylike("jnp.linalg.trace", x)
    return diagonals.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)
