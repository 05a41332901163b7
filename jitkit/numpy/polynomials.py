"""Computes with polynomials, as arrays of coefficients, the highest power first: products, derivatives, roots, fits.

JAX: jax/_src/numpy/polynomial.py:roots
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..core.tracer import concrete_or_error, value_if_known
from ..lax.utils import canonicalize_axis
from ..pjit.jit import jit
from . import linalg
from .arithmetic import power
from .contractions import dot, outer
from .convolving import convolve
from .creation import array, asarray, empty, full, ones, zeros
from .diagonals import diag
from .promotion import promote_dtypes, promote_dtypes_inexact, where
from .ranges import arange
from .reductions import all as all_
from .reductions import argmin
from .shaping import atleast_1d, expand_dims, roll
from .ufuncs import abs as abs_
from .ufuncs import constant, maximum, sqrt, true_divide
from .util import ensure_arraylike, ensure_arraylikes

# --- roots and coefficients ---------------------------------------------------------------------------------------------------


@jit
def _roots_no_zeros(p: Any) -> Any:
    """Return all roots, as the eigenvalues of the companion matrix. If the first coefficient is 0, some are nan."""
    if p.size < 2:
        return array([], dtype=dtypes.to_complex_dtype(p.dtype))
    companion = diag(ones((p.size - 2,), p.dtype), -1)
    return linalg.eigvals(companion.at[0, :].set(-p[1:] / p[0]))


@jit
def _roots_with_zeros(p: Any, num_leading_zeros: Any) -> Any:
    """Return all roots, and a nan for each leading zero at the end."""
    p = where(len(p) == num_leading_zeros, 1.0, p)  # if all are zero, every root becomes nan below; 1.0 avoids 0 / 0
    found = _roots_no_zeros(roll(p, -num_leading_zeros))
    found = lax.sort_key_val(found == 0, found)[1]
    return where(arange(found.size) < found.size - num_leading_zeros, found, complex(np.nan, np.nan))


def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """Return the roots of the polynomial with coefficients `p`, complex and unordered.

    Leading zeros are removed, which needs their values. Without `strip_zeros` each leading zero gives a root nan, and
    the function can be traced.

    Raises:
      ConcretizationTypeError: for a tracer, with `strip_zeros`.
      ValueError: for more than one axis.
    """
    p = atleast_1d(promote_dtypes_inexact(ensure_arraylike("roots", p))[0])
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    if p.size < 2:
        return array([], dtype=dtypes.to_complex_dtype(p.dtype))
    num_leading_zeros = where(all_(p == 0), len(p), argmin(p == 0))
    if not strip_zeros:
        return _roots_with_zeros(p, num_leading_zeros)
    context = (
        "The error occurred in the jnp.roots() function. To use this within a JIT-compiled context, pass strip_zeros=False, but "
        "be aware that leading zeros will result in some returned roots being set to NaN."
    )
    return _roots_no_zeros(p[concrete_or_error(int, num_leading_zeros, context) :])


@jit
def poly(seq_of_zeros: Any) -> Any:
    """Return the polynomial with these roots and the first coefficient 1; for no roots, the scalar 1. For a square
    matrix, return its characteristic polynomial. Raise ValueError for other shapes.
    """
    zeros_of_it = atleast_1d(promote_dtypes_inexact(ensure_arraylike("poly", seq_of_zeros))[0])
    if zeros_of_it.ndim == 2 and zeros_of_it.shape[0] == zeros_of_it.shape[1] != 0:
        zeros_of_it = linalg.eigvals(zeros_of_it)
    if zeros_of_it.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    dtype = zeros_of_it.dtype
    if not len(zeros_of_it):
        return ones((), dtype=dtype)
    product = ones((1,), dtype=dtype)
    for k in range(len(zeros_of_it)):
        product = convolve(product, array([1, -zeros_of_it[k]], dtype=dtype), mode="full")
    return product


@jit(static_argnames=("N", "increasing"))
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:  # numpy's name
    """Return the Vandermonde matrix: N powers of each element of `x` as a row, in descending order unless `increasing`.
    Raise ValueError unless `x` is a vector and N is 0 or more.
    """
    x = ensure_arraylike("vander", x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array")
    count = x.shape[0] if N is None else concrete_or_error(operator.index, N, "'N' argument of jnp.vander()")
    if count < 0:
        raise ValueError("N must be nonnegative")
    exponents = lax.iota(x.dtype, count)
    if not increasing:
        exponents = lax.sub(constant(exponents, count - 1), exponents)
    return power(x[..., None], expand_dims(exponents, tuple(range(x.ndim))))


@jit(static_argnames=("deg", "rcond", "full", "cov"))
def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """Return the polynomial of degree `deg` that fits the points best, by least squares.

    Args:
      y: values at x; a matrix gives a polynomial for each column.
      rcond: singular values below this share of the largest one count as 0.
      full: whether to return also residuals, rank, singular values and rcond.
      w: weights of the points.
      cov: whether to return also the covariances of the coefficients, unless `full`; "unscaled" for weights that are known to be right.

    Raises:
      TypeError: for arrays of other shapes.
      ValueError: for a negative degree, and with `cov` if there are not more points than coefficients.
    """
    arrays = ensure_arraylikes("polyfit", *([x, y] if w is None else [x, y, w]))
    x, y = arrays[:2]
    deg = concrete_or_error(int, deg, "deg must be int")
    order = deg + 1
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    if rcond is None:
        rcond = len(x) * float(dtypes.finfo(x.dtype).eps)
    rcond = concrete_or_error(float, rcond, "rcond must be float")
    powers, values = vander(x, order), y
    if w is not None:
        (weights,) = promote_dtypes_inexact(arrays[2])
        if weights.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if weights.shape[0] != y.shape[0]:
            raise TypeError("expected w and y to have the same length")
        powers = powers * weights[:, None]
        values = values * (weights[:, None] if values.ndim == 2 else weights)
    scale = sqrt((powers * powers).sum(axis=0))
    powers = powers / scale[None, :]
    found, residuals, rank, singular = linalg.lstsq(powers, values, rcond)
    found = (found.T / scale[None, :]).T if found.ndim > 1 else found / scale
    if full:
        return found, residuals, rank, singular, asarray(rcond)
    if not cov:
        return found
    covariance = linalg.inv(dot(powers.T, powers))
    covariance = covariance / outer(scale, scale)
    if cov == "unscaled":
        factor = array(1.0)
    else:
        if len(x) <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = residuals / (len(x) - order)
    if y.ndim == 1:
        return found, covariance * atleast_1d(factor)[None]
    return found, covariance[:, :, None] * atleast_1d(factor)[None, None, :]


# --- sums and products --------------------------------------------------------------------------------------------------------


@jit
def polyadd(a1: Any, a2: Any) -> Any:
    """Return the sum of two polynomials."""
    a1, a2 = promote_dtypes(*ensure_arraylikes("polyadd", a1, a2))
    longer, shorter = (a1, a2) if a2.shape[0] <= a1.shape[0] else (a2, a1)
    return longer.at[-shorter.shape[0] :].add(shorter)


@jit
def polysub(a1: Any, a2: Any) -> Any:
    """Return the difference of two polynomials."""
    a1, a2 = promote_dtypes(*ensure_arraylikes("polysub", a1, a2))
    return polyadd(a1, -a2)


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """Return the product of two polynomials. With `trim_leading_zeros`, which cannot be traced, remove leading zeros first."""
    a1, a2 = promote_dtypes_inexact(*ensure_arraylikes("polymul", a1, a2))
    if trim_leading_zeros and (len(a1) > 1 or len(a2) > 1):
        a1, a2 = trim_zeros(a1, trim="f"), trim_zeros(a2, trim="f")
    a1, a2 = (x if len(x) else zeros(1, dtype=x.dtype) for x in (a1, a2))
    return convolve(a1, a2, mode="full")


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """Return quotient and remainder of two polynomials. With `trim_leading_zeros`, which cannot be traced, remove
    leading near-zeros of the remainder.
    """
    u, v = promote_dtypes_inexact(*ensure_arraylikes("polydiv", u, v))
    m, n = len(u) - 1, len(v) - 1
    scale = 1.0 / v[0]
    quotient = zeros(max(m - n + 1, 1), dtype=u.dtype)
    for k in range(m - n + 1):
        d = scale * u[k]
        quotient = quotient.at[k].set(d)
        u = u.at[k : k + n + 1].add(-d * v)
    return quotient, _without_small(u, sqrt(dtypes.finfo(u.dtype).eps)) if trim_leading_zeros else u


def _without_small(x: Any, tolerance: Any) -> Any:
    x = concrete_or_error(asarray, x, "Error arose in the `filt` argument of trim_zeros_tol()")
    is_small = abs_(x) < tolerance
    return empty(0, x.dtype) if all_(is_small) else x[int(argmin(is_small)) :]


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Return an array without the zeros at its front ("f") and back ("b"), along `axis` or all axes. The function
    cannot be traced. Raise ValueError for an axis given twice.
    """
    filt = ensure_arraylike("trim_zeros", filt)
    concrete_or_error(lambda x: x, value_if_known(filt), "Error arose in the `filt` argument of trim_zeros()")
    axes = range(filt.ndim) if axis is None else [canonicalize_axis(i, filt.ndim) for i in np.atleast_1d(axis)]
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis: {axis}")
    sides = trim.lower()
    if not axes or not ("f" in sides or "b" in sides):
        return filt

    def kept(along: int) -> slice:
        if along not in axes:
            return slice(None)
        used = filt.any(axis=[i for i in range(filt.ndim) if i != along])
        if not used.any():
            return slice(0, 0)
        end = filt.shape[along]
        return slice(
            int(used.argmax()) if "f" in sides else None, end - int(used[::-1].argmax()) if "b" in sides else None
        )

    return filt[tuple(kept(along) for along in range(filt.ndim))]


# --- integrals and derivatives ------------------------------------------------------------------------------------------------


@jit(static_argnames=("m",))
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """Return the m-th antiderivative of p; `k` has the constants of integration, one for all or one for each. Raise
    ValueError for a negative m, or another number of constants.
    """
    m = concrete_or_error(operator.index, m, "'m' argument of jnp.polyint")
    p, k = promote_dtypes_inexact(*ensure_arraylikes("polyint", p, 0 if k is None else k))
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    k = atleast_1d(k)
    if len(k) == 1:
        k = full((m,), k[0])
    if k.shape != (m,):
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or m.")
    if m == 0:
        return p
    grid = arange(len(p) + m, dtype=p.dtype)[None] - arange(m, dtype=p.dtype)[:, None]
    factors = maximum(1, grid).prod(0)[::-1]
    return true_divide(lax.concatenate((p, k), 0), factors)


@jit(static_argnames=("m",))
def polyder(p: Any, m: int = 1) -> Any:
    """Return the m-th derivative of a polynomial. Raise ValueError for a negative m."""
    p = ensure_arraylike("polyder", p)
    m = concrete_or_error(operator.index, m, "'m' argument of jnp.polyder")
    (p,) = promote_dtypes_inexact(p)
    if m < 0:
        raise ValueError("Order of derivative must be positive")
    if m == 0:
        return p
    factors = (arange(m, len(p), dtype=p.dtype)[None] - arange(m, dtype=p.dtype)[:, None]).prod(0)
    return p[:-m] * factors[::-1]
