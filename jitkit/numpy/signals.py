"""Makes windows for sampled signals (hanning, kaiser), and takes the jumps out of phases (unwrap).

JAX: jax/_src/numpy/window_functions.py:blackman
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import core, lax
from ..core import dtypes
from ..custom_derivatives.jvp import custom_jvp
from ..derivatives.linear_maps import jvp
from ..pjit.jit import jit
from .arithmetic import mod
from .cumulative import cumsum
from .joining import concatenate
from .promotion import promote_dtypes, promote_dtypes_inexact, where
from .shaping import diff
from .ufuncs import abs as abs_
from .ufuncs import cos, sqrt
from .util import ensure_arraylike

# --- windows ------------------------------------------------------------------------------------------------------------


def _positions(name: str, M: int) -> tuple[int, Any]:
    """Return the size of a window as an int, and the numbers below it as floats, or None for less than two samples."""
    size = core.concrete_or_error(int, core.value_if_known(M), f"M argument of jnp.{name}")
    return size, None if size <= 1 else lax.iota(dtypes.default_float_dtype(), size)


def _single(size: int) -> Any:
    return lax.full((size,), 1, dtypes.default_float_dtype())


def blackman(M: int) -> Any:
    """Return a window of M samples: a constant and two cosines, whose sum is nearly 0 at both ends."""
    size, n = _positions("blackman", M)
    if n is None:
        return _single(size)
    return 0.42 - 0.5 * cos(2 * np.pi * n / (size - 1)) + 0.08 * cos(4 * np.pi * n / (size - 1))


def bartlett(M: int) -> Any:
    """Return a window of M samples: a triangle, which is 0 at both ends."""
    size, n = _positions("bartlett", M)
    return _single(size) if n is None else 1 - abs_(2 * n + 1 - size) / (size - 1)


def hamming(M: int) -> Any:
    """Return a window of M samples: a cosine, which is 0.08 at both ends."""
    size, n = _positions("hamming", M)
    return _single(size) if n is None else 0.54 - 0.46 * cos(2 * np.pi * n / (size - 1))


def hanning(M: int) -> Any:
    """Return a window of M samples: a cosine, which is 0 at both ends."""
    size, n = _positions("hanning", M)
    return _single(size) if n is None else 0.5 * (1 - cos(2 * np.pi * n / (size - 1)))


def kaiser(M: int, beta: Any) -> Any:
    """Return a window of M samples, I0(beta * sqrt(1 - t**2)) / I0(beta) for t from -1 to 1: the greater beta, the narrower."""
    size, n = _positions("kaiser", M)
    if n is None:
        return _single(size)
    middle = 0.5 * (size - 1)
    return i0(beta * sqrt(1 - ((n - middle) / middle) ** 2)) / i0(beta)


@jit
def i0(x: Any) -> Any:
    """Return the modified Bessel function of the first kind, of order 0. Raise ValueError for complex numbers."""
    (x,) = promote_dtypes_inexact(ensure_arraylike("i0", x))
    if not dtypes.issubdtype(x.dtype, np.floating):
        raise ValueError(f"Unsupported input type to jax.numpy.i0: {x.dtype}")
    return _i0(x)


@custom_jvp
def _i0(x: Any) -> Any:
    size = lax.abs(x)
    return lax.mul(lax.exp(size), lax.bessel_i0e(size))


@_i0.defjvp
def _i0_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """JVP rule: differentiate the formula; at 0, where `abs` has no derivative, the tangent is 0."""
    out, tangent = jvp(_i0.fun, primals, tangents)
    return out, where(primals[0] == 0, 0.0, tangent)


# --- phases -------------------------------------------------------------------------------------------------------------


@jit(static_argnames=("axis",))
def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * np.pi) -> Any:
    """Return phases without jumps: where neighbours along an axis differ by `discont` or more (half a period by
    default), all that follow are moved by a multiple of the period. Raise ValueError for complex numbers.
    """
    p = ensure_arraylike("unwrap", p)
    p, period = promote_dtypes(p, period)
    if dtypes.issubdtype(p.dtype, np.complexfloating):
        raise ValueError("jnp.unwrap does not support complex inputs.")
    if p.shape[axis] == 0:
        return p
    discont = period / 2 if discont is None else discont
    half = period // 2 if dtypes.issubdtype(p.dtype, np.integer) else period / 2
    step = diff(p, axis=axis)
    wrapped = mod(step + half, period) - half
    wrapped = where((wrapped == -half) & (step > 0), half, wrapped)
    correction = where(abs_(step) < discont, 0, wrapped - step)
    first, others = lax.slice_in_dim(p, 0, 1, axis=axis), lax.slice_in_dim(p, 1, None, axis=axis)
    return concatenate((first, others + cumsum(correction, axis=axis)), axis=axis)
