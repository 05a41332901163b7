"""Products of matrices and vectors: sums of products by `dot_general`, the others elementwise.

The result has the promoted dtype of both operands, which `dot_general` gets in their own dtypes: XLA multiplies mixed
types.

JAX: jax/_src/numpy/tensor_contractions.py:matmul
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .. import core, lax
from ..base import edits
from ..base.jax_version import since
from ..core import dtypes
from ..lax.utils import canonicalize_axis, refuse_sharding
from ..pjit.jit import inlined, jit
from .creation import array, zeros_like
from .promotion import promote_dtypes
from .shaping import moveaxis
from .ufuncs import conj
from .util import check_arraylike, ensure_arraylikes
from .vectorizing import vectorize

_STATIC = ("precision", "preferred_element_type")


def result_type_of(name: str, preferred_element_type: Any, *operands: Any) -> tuple[Any, bool]:
    """Return the dtype of a product, `preferred_element_type` or the promoted one, and whether it is weak."""
    if preferred_element_type is None:
        return dtypes.result_type(*operands, return_weak_type_flag=True)
    return dtypes.check_and_canonicalize_user_dtype(preferred_element_type, name), False


@inlined(static_argnames=(*_STATIC, "out_sharding"))
def dot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None) -> Any:
    """Return the sums of products over the last axis of `a` and the second to last (or only) axis of `b`; with a
    scalar, the products. Raise TypeError if the two axes differ in size.
    """
    refuse_sharding("dot", out_sharding)
    a, b = ensure_arraylikes("dot", a, b)
    dtype, weak_type = result_type_of("dot", preferred_element_type, a, b)
    if a.ndim == 0 or b.ndim == 0:
        contracted: Any = ((), ())
    else:
        contracted = ((a.ndim - 1,), (max(b.ndim - 2, 0),))
    result = lax.dot_general(a, b, (contracted, ((), ())), precision=precision, preferred_element_type=dtype)
    return lax._convert_element_type(result, dtype, weak_type)


@inlined(static_argnames=(*_STATIC, "out_sharding"))
def matmul(
    a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None
) -> Any:
    """Return `a @ b`: matrices in the last two axes, batches in the others, which broadcast; an operand of one axis is
    a vector.

    Raises:
      ValueError: for scalars, and batches that do not broadcast.
      TypeError: the sizes of the contracted axes differ.
    """
    refuse_sharding("matmul", out_sharding)
    a, b = ensure_arraylikes("matmul", a, b)
    for i, x in enumerate((a, b)):
        if x.ndim < 1:
            raise ValueError(
                f"matmul input operand {i} must have ndim at least 1, but it has ndim {x.ndim}{edits.A_NUMBER}"
            )
    dtype, weak_type = result_type_of("matmul", preferred_element_type, a, b)
    batches = _match_batches(a, b)
    # dot_general puts the batch axes first, then the other axes of a, then of b; matmul keeps their order
    order = np.argsort([*batches.shared, *batches.of_a, *batches.of_b])
    a = lax.squeeze(a, batches.squeezed_a)
    b = lax.squeeze(b, batches.squeezed_b)
    contracted = ((a.ndim - 1,), (max(b.ndim - 2, 0) if batches.b_is_matrix else b.ndim - 1,))
    result = lax.dot_general(
        a, b, (contracted, (batches.axes_a, batches.axes_b)), precision=precision, preferred_element_type=dtype
    )
    result = lax.transpose(result, order)
    if batches.new_axes:
        result = lax.expand_dims(result, batches.new_axes)
    return lax._convert_element_type(result, dtype, weak_type)


class _Batches:
    """Says how the leading axes of two operands of matmul correspond. Axes of the result: `shared`, `of_a`, `of_b` and `new_axes`."""

    def __init__(self, b_is_matrix: bool) -> None:
        self.b_is_matrix = b_is_matrix
        self.shared: list[int] = []
        self.of_a: list[int] = []
        self.of_b: list[int] = []
        self.new_axes: list[int] = []  # axes of size 1 in both operands, which are removed first, and inserted again
        self.squeezed_a: list[int] = []
        self.squeezed_b: list[int] = []
        self.axes_a: list[int] = []  # axes of the operands, after axes of size 1 were removed
        self.axes_b: list[int] = []

    def squeeze_a(self) -> None:
        """Remove the next axis of a, which has size 1."""
        self.squeezed_a.append(len(self.shared) + len(self.of_a) + len(self.squeezed_a))

    def squeeze_b(self) -> None:
        """Remove the next axis of b, which has size 1."""
        self.squeezed_b.append(len(self.shared) + len(self.of_b) + len(self.squeezed_b))


def _match_batches(a: Any, b: Any) -> _Batches:
    shape_a, shape_b = a.shape[:-2], b.shape[:-2]
    rank = max(len(shape_a), len(shape_b))
    batches = _Batches(b.ndim > 1)
    pairs = zip((None,) * (rank - len(shape_a)) + shape_a, (None,) * (rank - len(shape_b)) + shape_b, strict=True)
    for i, (size_a, size_b) in enumerate(pairs):
        if size_a is None:
            batches.of_b.append(i)
        elif size_b is None:
            batches.of_a.append(i)
        elif size_a == 1 and size_b == 1:
            batches.squeeze_a()
            batches.squeeze_b()
            batches.new_axes.append(i)
        elif size_a == 1:
            batches.of_b.append(i)
            batches.squeeze_a()
        elif size_b == 1:
            batches.of_a.append(i)
            batches.squeeze_b()
        elif size_a == size_b:
            batches.axes_a.append(len(batches.shared) + len(batches.of_a))
            batches.axes_b.append(len(batches.shared) + len(batches.of_b))
            batches.shared.append(i)
        else:
            raise ValueError(
                f"Incompatible types for matmul arguments: {_shown(a)} and {_shown(b)}\nAll axes but the last two "
                "are batch axes: their sizes must be equal, or one of them 1. If only one operand has a batch, "
                "use `vmap`, or add an axis to the other with `x[None]`."
            )
    if a.ndim > 1:
        batches.of_a.append(rank)
    if b.ndim > 1:
        batches.of_b.append(rank + (a.ndim > 1))
    return batches


def _shown(x: Any) -> str:
    short: str = core.get_aval(x).str_short()
    return short


@inlined(static_argnames=_STATIC)
def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Return the sum of conj(a) * b over all elements. Raise TypeError if their numbers of elements differ."""
    a, b = ensure_arraylikes("vdot", a, b)
    if dtypes.issubdtype(a.dtype, np.complexfloating):
        a = conj(a)
    return dot(a.ravel(), b.ravel(), precision=precision, preferred_element_type=preferred_element_type)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Return the sums of conj(x1) * x2 over `axis`; the other axes broadcast. Raise ValueError if the axis differs in size."""
    x1, x2 = ensure_arraylikes("jnp.vecdot", x1, x2)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"axes must match; got shapes {x1.shape} and {x2.shape} with {axis=}")
    of_two = functools.partial(vdot, precision=precision, preferred_element_type=preferred_element_type)
    return vectorize(of_two, signature="(n),(n)->()")(moveaxis(x1, axis, -1), moveaxis(x2, axis, -1))


def tensordot(
    a: Any,
    b: Any,
    axes: Any = 2,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return the sums of products over several axes. `axes` is an int n, for the last n of `a` and the first n of `b`,
    or a pair: an axis of each, or a list of axes of each.

    Raise TypeError for other `axes`, or if the axes differ in size; ValueError for an axis out of range.
    """
    refuse_sharding("tensordot", out_sharding)
    a, b = ensure_arraylikes("tensordot", a, b)
    dtype, weak_type = result_type_of("tensordot", preferred_element_type, a, b)
    contracted = _contracted_axes(a, b, axes)
    result = lax.dot_general(a, b, (contracted, ((), ())), precision=precision, preferred_element_type=dtype)
    return lax._convert_element_type(result, dtype, weak_type)


def _contracted_axes(a: Any, b: Any, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if type(axes) is int:
        if axes > min(a.ndim, b.ndim):
            raise TypeError(f"Number of tensordot axes (axes {axes}) exceeds input ranks ({a.shape} and {b.shape})")
        return tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    if not isinstance(axes, tuple | list) or len(axes) != 2:
        raise TypeError("tensordot axes argument must be an int, a pair of ints, or a pair of lists/tuples of ints.")
    of_a, of_b = axes
    if isinstance(of_a, int) and isinstance(of_b, int):
        return (canonicalize_axis(of_a, a.ndim),), (canonicalize_axis(of_b, b.ndim),)
    if not isinstance(of_a, tuple | list) or not isinstance(of_b, tuple | list):
        raise TypeError(f"tensordot requires both axes lists to be either ints, tuples or lists, got {of_a} and {of_b}")
    if len(of_a) != len(of_b):
        raise TypeError(f"tensordot requires axes lists to have equal length, got {of_a} and {of_b}.")
    return tuple(canonicalize_axis(i, a.ndim) for i in of_a), tuple(canonicalize_axis(i, b.ndim) for i in of_b)


@inlined(static_argnames=_STATIC)
def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Return the sums of products over the last axes of both; with a scalar, the products."""
    a, b = ensure_arraylikes("inner", a, b)
    if a.ndim == 0 or b.ndim == 0:
        if preferred_element_type is not None:
            a, b = a.astype(preferred_element_type), b.astype(preferred_element_type)
        return a * b
    return tensordot(a, b, (-1, -1), precision=precision, preferred_element_type=preferred_element_type)


@inlined
def outer(a: Any, b: Any, out: None = None) -> Any:
    """Return the products of each element of `a` with each of `b`, as a matrix. Raise NotImplementedError if `out` is given."""
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.outer is not supported.{edits.NO_OUT}")
    check_arraylike("outer", a, b)
    a, b = promote_dtypes(a, b)
    return a.ravel()[:, None] * b.ravel()[None, :]


@jit
def kron(a: Any, b: Any) -> Any:
    """Return the Kronecker product: every element of `a` times the whole of `b`, in one array."""
    check_arraylike("kron", a, b)
    a, b = promote_dtypes(a, b)
    rank = max(a.ndim, b.ndim)
    a = lax.expand_dims(a, range(rank - a.ndim)) if a.ndim < rank else a
    b = lax.expand_dims(b, range(rank - b.ndim)) if b.ndim < rank else b
    product = lax.mul(lax.expand_dims(a, range(1, 2 * rank, 2)), lax.expand_dims(b, range(0, 2 * rank, 2)))
    return product.reshape(tuple(m * n for m, n in zip(a.shape, b.shape, strict=True)))


@jit(static_argnames=("axisa", "axisb", "axisc", "axis"))
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """Return the cross product of vectors of three elements. Up to JAX 0.11 they may have two: if both do, the result
    is the third component only; beside a vector of three, the third element counts as 0.

    The vectors are along `axisa` and `axisb`, the result's along `axisc`; or all along `axis`. Raise ValueError for
    another number of elements.
    """
    check_arraylike("cross", a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if since(0, 12) and not a.shape[-1] == b.shape[-1] == 3:
        raise ValueError("Dimension must be 3 for cross product")
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError("Dimension must be either 2 or 3 for cross product")
    if a.shape[-1] == 2 and b.shape[-1] == 2:
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    a0, a1 = a[..., 0], a[..., 1]
    a2 = a[..., 2] if a.shape[-1] == 3 else zeros_like(a0)
    b0, b1 = b[..., 0], b[..., 1]
    b2 = b[..., 2] if b.shape[-1] == 3 else zeros_like(b0)
    return moveaxis(array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]), 0, axisc)


# --- products of vectors and matrices in batches -----------------------------------------------------------------------


@jit
def matvec(x1: Any, x2: Any, /) -> Any:
    """Return the products of matrices and vectors: the last two axes of `x1`, the last of `x2`; those before broadcast."""
    return vectorize(matmul, signature="(n,m),(m)->(n)")(*ensure_arraylikes("matvec", x1, x2))


@jit
def vecmat(x1: Any, x2: Any, /) -> Any:
    """Return the products of conjugated vectors and matrices: the last axis of `x1`, the last two of `x2`; those before broadcast."""
    x1, x2 = ensure_arraylikes("matvec", x1, x2)
    return vectorize(matmul, signature="(n),(n,m)->(m)")(conj(x1), x2)
