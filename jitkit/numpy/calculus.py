"""Differentiates, integrates and interpolates functions given by samples: gradient, trapezoid, interp, ediff1d.

JAX: jax/_src/numpy/lax_numpy.py:gradient
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..lax.utils import canonicalize_axis, index_tuple
from ..pjit.jit import jit
from .creation import asarray
from .joining import concatenate
from .promotion import promote_dtypes_inexact
from .searching import searchsorted
from .selection import clip, where
from .shaping import diff, moveaxis, ravel
from .ufuncs import abs as abs_
from .util import check_arraylike, ensure_arraylike, ensure_arraylikes

# --- derivatives and integrals ---------------------------------------------------------------------------------------


@jit(static_argnames=("axis", "edge_order"))
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int | None = None) -> Any:
    """Return derivatives along `axis`, or along each axis if it is None: central differences inside, one-sided ones at
    the ends. For one axis, return an array; for several, or none, a list of arrays.

    Args:
      varargs: the distance of samples, or their positions along an axis: one for all axes, or one for each. 1 by default.

    Raises:
      ValueError: an axis has fewer than 2 samples, or not as many as there are positions.
      TypeError: more or fewer distances than axes.
      NotImplementedError: with `edge_order`.
    """
    if edge_order is not None:
        raise NotImplementedError("The 'edge_order' argument to jnp.gradient is not supported.")
    check_arraylike("gradient", f, *varargs)
    a, *spacing = promote_dtypes_inexact(f, *varargs)
    axes = tuple(range(a.ndim) if axis is None else (canonicalize_axis(i, a.ndim) for i in index_tuple(axis)))
    if not axes:
        return []
    if min(a.shape[i] for i in axes) < 2:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least 2 elements are required."
        )
    if len(spacing) <= 1:
        spacing = (spacing or [1.0]) * len(axes)
    elif len(spacing) != len(axes):
        raise TypeError(f"Invalid number of spacing arguments {len(spacing)} for {axis=}")
    derivatives = [_derivative(a, h, i) for i, h in zip(axes, spacing, strict=True)]
    return derivatives[0] if len(axes) == 1 else derivatives


def _derivative(a: Any, h: Any, axis: int) -> Any:
    """Return the derivative along one axis; `h` is the samples' distance, or a vector of their positions. Raise
    ValueError for another `h`.
    """

    def part(x: Any, start: int | None, stop: int | None) -> Any:
        return lax.slice_in_dim(x, start, stop, axis=axis)

    first = part(a, 1, 2) - part(a, 0, 1)
    last = part(a, -1, None) - part(a, -2, -1)
    if np.ndim(h) == 0:
        inner = (part(a, 2, None) - part(a, None, -2)) * 0.5 / h
        last = last / h
        first = first / h
    elif np.ndim(h) == 1:
        if len(h) != a.shape[axis]:
            raise ValueError(
                "Spacing arrays must have the same length as the dimension along which the gradient is calculated."
            )
        h = h.reshape([len(h) if i == axis else 1 for i in range(a.ndim)])
        first = first / (part(h, 1, 2) - part(h, 0, 1))
        last = last / (part(h, -1, None) - part(h, -2, -1))
        before = part(h, 1, -1) - part(h, 0, -2)
        after = part(h, 2, None) - part(h, 1, -1)
        # The derivative of the parabola through three neighbours (Fornberg 1988).
        w0 = -after / (before * (before + after))
        w1 = (after - before) / (before * after)
        w2 = before / (after * (before + after))
        inner = w0 * part(a, 0, -2) + w1 * part(a, 1, -1) + w2 * part(a, 2, None)
    else:
        raise ValueError("Spacing arrays must be 1D arrays or scalars.")
    return concatenate((first, inner, last), axis=axis)


@jit(static_argnames=("axis",))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Return the integral along an axis by the trapezoidal rule. `x` are the samples' positions; without `x`, `dx` is
    their distance, or an array of distances.
    """
    if x is None:
        (samples,) = promote_dtypes_inexact(ensure_arraylike("trapezoid", y))
        widths = asarray(dx)
        if widths.ndim > 0:
            widths = moveaxis(lax.expand_dims(widths, range(samples.ndim - widths.ndim)), axis, -1)
    else:
        samples, positions = promote_dtypes_inexact(*ensure_arraylikes("trapezoid", y, x))
        widths = diff(positions) if positions.ndim == 1 else moveaxis(diff(positions, axis=axis), axis, -1)
    samples = moveaxis(samples, axis, -1)
    if widths.ndim == 0 or widths.shape[-1] == 1:  # one width: all samples but the outer ones count twice
        width = widths if widths.ndim == 0 else widths[..., 0]
        return width * (samples.sum(-1) - 0.5 * (samples[..., 0] + samples[..., -1]))
    return 0.5 * (widths * (samples[..., 1:] + samples[..., :-1])).sum(-1)


@jit
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Return the differences of neighbours in the flattened array, with `to_begin` before and `to_end` after them."""
    arr = ensure_arraylike("ediff1d", ary).ravel()
    pieces = [lax.sub(arr[1:], arr[:-1])]
    for piece, place in ((to_begin, 0), (to_end, 1)):
        if piece is not None:
            piece = ravel(ensure_arraylike("ediff1d", piece).astype(arr.dtype))
            pieces = [concatenate((piece, *pieces) if place == 0 else (*pieces, piece))]
    return pieces[0]


# --- interpolation ---------------------------------------------------------------------------------------------------


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Return the values at x of the piecewise linear function through the points (xp, fp). `xp` must increase.

    Args:
      left, right: values before the first and after the last point, by default the first and last of `fp`;
        "extrapolate" continues the outer lines.
      period: of the function; then `xp` need not increase, and `left` and `right` are ignored.

    Raises:
      ValueError: `xp` and `fp` are not two vectors of one length, `x` is complex, or `left` or `right` is another text.
    """
    static = [name for name, end in (("left", left), ("right", right)) if end is None or isinstance(end, str)]
    if period is None:
        static.append("period")
    return jit(_interp, static_argnames=static)(x, xp, fp, left, right, period)


def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    x, xp, fp = ensure_arraylikes("interp", x, xp, fp)
    if xp.shape != fp.shape or xp.ndim != 1:
        raise ValueError("xp and fp must be one-dimensional arrays of equal size")
    x, xp = promote_dtypes_inexact(x, xp)
    (fp,) = promote_dtypes_inexact(fp)
    for name, end in (("left", left), ("right", right)):
        if isinstance(end, str) and end != "extrapolate":
            raise ValueError(f"the only valid string value of `{name}` is 'extrapolate', but got: {end!r}")
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        raise ValueError("jnp.interp: complex x values not supported.")
    if period is not None:
        x, xp, fp = _unrolled(x, xp, fp, period)
    i = clip(searchsorted(xp, x, side="right"), 1, len(xp) - 1)
    rise = fp[i] - fp[i - 1]
    run = xp[i] - xp[i - 1]
    distance = x - xp[i - 1]
    vertical = lax.abs(run) <= np.spacing(np.finfo(xp.dtype).eps)  # a division by 0 would spoil gradients
    f = where(vertical, fp[i - 1], fp[i - 1] + (distance / where(vertical, 1, run)) * rise)
    if not isinstance(left, str):
        edge = fp[0] if left is None else left
        f = where(x < xp[0], edge, f) if period is None else f
    if not isinstance(right, str):
        edge = fp[-1] if right is None else right
        f = where(x > xp[-1], edge, f) if period is None else f
    return f


def _unrolled(x: Any, xp: Any, fp: Any, period: Any) -> Sequence[Any]:
    """Return `x` and `xp` modulo the period, and `fp`. `xp` is sorted, with `fp` in the same order, and both get one
    more point at either end, from the neighbouring periods. Raise ValueError unless the period is a scalar.
    """
    if np.ndim(period) != 0:
        raise ValueError(f"period must be a scalar; got {period}")
    period = abs_(period)
    x = x % period
    xp, fp = lax.sort_key_val(xp % period, fp)
    return (x, concatenate([xp[-1:] - period, xp, xp[:1] + period]), concatenate([fp[-1:], fp, fp[:1]]))
