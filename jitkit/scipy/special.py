"""`jitkit.scipy.special`: error functions, gamma and beta functions, entropies, the normal distribution.

JAX: jax/_src/scipy/special.py:erf
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import lax
from ..core import dtypes
from ..core.tracer import concrete_or_error
from ..custom_derivatives import custom_jvp
from ..nn import functions
from ..numpy import arange, asarray, expand_dims, isnan, select, signbit, where, zeros_like
from ..numpy import sum as sum_
from ..numpy.promotion import promote_inexact
from ..numpy.ufuncs import constant
from ..numpy.util import as_array
from ..pjit.jit import jit
from . import complex_gamma
from .log_beta import log_beta
from .normal_tail import DEGREE_OF_TAIL, log_of_tail, quantile


def promoted(name: str, *args: Any) -> list[Any]:
    """The arguments as arrays of one type that has fractions, and of one rank."""
    return list(map(as_array, promote_inexact(name, *args)[1]))


def refuse_complex(name: str, x: Any) -> None:
    """ValueError for complex numbers."""
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        raise ValueError(f"{name} does not support complex-valued inputs.")


# --- incomplete gamma and beta functions --------------------------------------------------------------------------------------


def gammainc(a: Any, x: Any) -> Any:
    """The part of the integral of t**(a - 1) exp(-t) over positive t that lies below x."""
    return lax.igamma(*promoted("gammainc", a, x))


def gammaincc(a: Any, x: Any) -> Any:
    """1 - gammainc(a, x), exact where that is small."""
    return lax.igammac(*promoted("gammaincc", a, x))


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The part of the integral of t**(a - 1) (1 - t)**(b - 1) over t from 0 to 1 that lies below x."""
    a, b, x = promoted("betainc", a, b, x)
    refuse_complex("betainc", x)
    return lax.betainc(a, b, x)


# --- error functions, and what is like them -----------------------------------------------------------------------------------


def erf(x: Any) -> Any:
    """The error function, 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    return lax.erf(*promoted("erf", x))


def erfc(x: Any) -> Any:
    """1 - erf(x), exact where that is small."""
    return lax.erfc(*promoted("erfc", x))


def erfinv(x: Any) -> Any:
    """The inverse of erf."""
    return lax.erf_inv(*promoted("erfinv", x))


def expit(x: Any) -> Any:
    """1 / (1 + exp(-x)), the logistic function."""
    return lax.logistic(*promoted("expit", x))


@custom_jvp
def logit(x: Any) -> Any:
    """log(x / (1 - x)), the inverse of `expit`."""
    (x,) = promoted("logit", x)
    return lax.log(lax.div(x, lax.sub(constant(x, 1), x)))


logit.defjvps(lambda g, ans, x: lax.div(g, lax.mul(x, lax.sub(constant(x, 1), x))))


def i0e(x: Any) -> Any:
    """exp(-|x|) I0(x), of Bessel's modified I0."""
    return lax.bessel_i0e(*promoted("i0e", x))


def i0(x: Any) -> Any:
    """Bessel's modified function of the first kind, of order 0."""
    (x,) = promoted("i0", x)
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i0e(x))


def i1e(x: Any) -> Any:
    """exp(-|x|) I1(x), of Bessel's modified I1."""
    return lax.bessel_i1e(*promoted("i1e", x))


def i1(x: Any) -> Any:
    """Bessel's modified function of the first kind, of order 1."""
    (x,) = promoted("i1", x)
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i1e(x))


# --- gamma functions ----------------------------------------------------------------------------------------------------------


def gammaln(x: Any) -> Any:
    """log |gamma(x)|."""
    return lax.lgamma(*promoted("gammaln", x))


def loggamma(x: Any) -> Any:
    """log gamma(x); of a float, nan where gamma is negative. Of a complex number, the branch that SciPy takes."""
    (x,) = promoted("loggamma", x)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return complex_gamma.loggamma(x)
    log = lax.lgamma(x)
    return where(x > 0, log, np.nan)


@jit
def gammasgn(x: Any) -> Any:
    """The sign of gamma(x); nan where it has none, at negative integers."""
    (x,) = promoted("gammasgn", x)
    refuse_complex("gammasgn", x)
    scalar, below = x.dtype.type, lax.floor(x)
    is_negative = x < 0
    pole = (is_negative & (x == below)) | isnan(x)
    negative = (is_negative & (below % 2 != 0)) | ((x == 0) & signbit(x))
    return select([pole, negative], [scalar(np.nan), scalar(-1.0)], scalar(1.0))


def gamma(x: Any) -> Any:
    """The gamma function: (x - 1)! between the integers."""
    (x,) = promoted("gamma", x)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return complex_gamma.gamma(x)
    return gammasgn(x) * lax.exp(lax.lgamma(x))


def betaln(a: Any, b: Any) -> Any:
    """log(B(a, b)), the logarithm of the beta function of positive numbers."""
    return log_beta(*promoted("betaln", *promoted("betaln", a, b)))


def beta(a: Any, b: Any) -> Any:
    """The beta function, gamma(a) gamma(b) / gamma(a + b)."""
    a, b = promoted("beta", a, b)
    refuse_complex("beta", a)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * lax.exp(betaln(a, b))


def factorial(n: Any, exact: bool = False) -> Any:
    """n!, as a float; 0 for negative numbers."""
    if exact:
        raise NotImplementedError("factorial with exact=True")
    (n,) = promoted("factorial", n)
    return where(n < 0, 0, lax.exp(lax.lgamma(n + 1)))


def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the gamma function of `d` dimensions."""
    d = concrete_or_error(int, d, "d argument of multigammaln")
    a, dimensions = promoted("multigammaln", a, d)
    quarter = lax.mul(constant(a, 0.25), dimensions)
    shift = lax.mul(lax.mul(quarter, lax.sub(dimensions, constant(a, 1))), lax.log(constant(a, np.pi)))
    halves = lax.div(arange(d, dtype=dimensions.dtype), constant(a, 2))
    terms = gammaln(expand_dims(a, axis=-1) - expand_dims(halves, axis=tuple(range(a.ndim))))
    return sum_(terms, axis=-1) + shift


def digamma(x: Any) -> Any:
    """The derivative of log gamma(x)."""
    return lax.digamma(*promoted("digamma", x))


def polygamma(n: Any, x: Any) -> Any:
    """Derivative number n of digamma(x). ValueError unless n is of an integer type."""
    if not dtypes.issubdtype(dtypes.dtype(n), np.integer):
        raise ValueError(f"Argument `n` to polygamma must be of integer type. Got dtype {dtypes.dtype(n)}.")
    n, x = promoted("polygamma", n, x)
    refuse_complex("polygamma", x)
    return lax.polygamma(n, x)


# --- x log x, and entropies ---------------------------------------------------------------------------------------------------


@custom_jvp
def xlogy(x: Any, y: Any) -> Any:
    """x log(y), and 0 where x is."""
    x, y = promoted("xlogy", x, y)
    return where((x != 0.0) | isnan(y), lax.mul(x, lax.log(y)), zeros_like(x))


@xlogy.defjvp
def _xlogy_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    out = xlogy(x, y)
    return out, (dx * lax.log(y) + dy * x / y).astype(out.dtype)


@custom_jvp
def xlog1py(x: Any, y: Any) -> Any:
    """x log(1 + y), and 0 where x is."""
    x, y = promoted("xlog1py", x, y)
    return where((x != 0.0) | isnan(y), lax.mul(x, lax.log1p(y)), zeros_like(x))


@xlog1py.defjvp
def _xlog1py_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    out = xlog1py(x, y)
    return out, (dx * lax.log1p(y) + dy * x / (1 + y)).astype(out.dtype)


@custom_jvp
def _xlogx(x: Any) -> Any:
    return xlogy(x, x)


@_xlogx.defjvp
def _xlogx_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    return _xlogx(x), dx * (lax.log(x) + 1)


def entr(x: Any) -> Any:
    """-x log(x), and minus infinity where x < 0."""
    (x,) = promoted("entr", x)
    refuse_complex("entr", x)
    return lax.select(lax.lt(x, constant(x, 0)), lax.full_like(x, -np.inf), lax.neg(_xlogx(x)))


def rel_entr(p: Any, q: Any) -> Any:
    """p log(p / q) where both are positive, 0 where p = 0 <= q, infinity elsewhere."""
    p, q = promoted("rel_entr", p, q)
    refuse_complex("rel_entr", p)
    zero = constant(p, 0.0)
    positive = lax.bitwise_and(lax.gt(p, zero), lax.gt(q, zero))
    nothing = lax.bitwise_and(lax.eq(p, zero), lax.ge(q, zero))
    safe_p, safe_q = where(positive, p, 1), where(positive, q, 1)
    inside = lax.sub(_xlogx(safe_p), xlogy(safe_p, safe_q))
    return where(positive, inside, where(nothing, zero, np.inf))


def kl_div(p: Any, q: Any) -> Any:
    """`rel_entr(p, q) - p + q`."""
    p, q = promoted("kl_div", p, q)
    refuse_complex("kl_div", p)
    return rel_entr(p, q) - p + q


# --- sums of exponentials ------------------------------------------------------------------------------------------------------

logsumexp = functions.logsumexp


def softmax(x: Any, /, *, axis: Any = None) -> Any:
    """exp(x) divided by its sum along `axis`, or over all of x."""
    return functions.softmax(x, axis=axis)


def log_softmax(x: Any, /, *, axis: Any = None) -> Any:
    """The logarithm of `softmax`."""
    return functions.log_softmax(x, axis=axis)


# --- the normal distribution --------------------------------------------------------------------------------------------------


def ndtr(x: Any) -> Any:
    """The part of a normal distribution that is below x. TypeError for other types than float32 and float64."""
    x = asarray(x)
    _check_float("x", x.dtype)
    return _ndtr(x)


def _check_float(name: str, dtype: Any) -> None:
    if dtype not in (np.float32, np.float64):
        raise TypeError(f"{name}.dtype={dtype} is not supported, see docstring for supported types.")


def _ndtr(x: Any) -> Any:
    """By erf in the middle, where it is exact; by erfc outside, where 1 - erf would not be."""
    scalar = x.dtype.type
    half_root = scalar(0.5) * np.sqrt(2.0, dtype=scalar)
    w = x * half_root
    size = lax.abs(w)
    is_inner, inner = lax.lt(size, half_root), scalar(1.0) + lax.erf(w)
    outer = lax.select(lax.gt(w, scalar(0.0)), scalar(2.0) - lax.erfc(size), lax.erfc(size))
    return scalar(0.5) * lax.select(is_inner, inner, outer)


def ndtri(p: Any) -> Any:
    """The inverse of `ndtr`. TypeError for other types than float32 and float64."""
    dtype = dtypes.dtype(p)
    _check_float("x", dtype)
    return quantile(p, dtype.type)


_LOWER = {"float64": np.array(-20, np.float64), "float32": np.array(-10, np.float32)}
_UPPER = {"float64": np.array(8, np.float64), "float32": np.array(5, np.float32)}


def _log_ndtr(x: Any, series_order: int = DEGREE_OF_TAIL) -> Any:
    """log ndtr(x), by a series of `series_order` terms where x is far below 0."""
    if not isinstance(series_order, int):
        raise TypeError("series_order must be a Python integer.")
    if series_order < 0:
        raise ValueError("series_order must be non-negative.")
    if series_order > 30:
        raise ValueError("series_order must be <= 30.")
    x = asarray(x)
    if x.dtype.name not in _LOWER:
        raise TypeError(f"x.dtype={np.dtype(x.dtype)} is not supported.")
    lower, upper = _LOWER[x.dtype.name], _UPPER[x.dtype.name]
    is_above = lax.gt(x, upper)
    part = _ndtr(where(is_above, -x, lax.max(x, lower)))
    above = -part  # log(1 - part), nearly
    below = where(lax.gt(x, lower), lax.log(part), log_of_tail(lax.min(x, lower), series_order))
    return where(is_above, above, below)


_log_ndtr.__name__ = _log_ndtr.__qualname__ = "log_ndtr"
log_ndtr = custom_jvp(_log_ndtr, nondiff_argnums=(1,))


@log_ndtr.defjvp
def _log_ndtr_jvp(series_order: int, primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    out = log_ndtr(x, series_order)
    log_density = lax.sub(lax.mul(constant(x, -0.5), lax.square(x)), constant(x, math.log(math.sqrt(2 * math.pi))))
    return out, lax.mul(dx, lax.exp(lax.sub(log_density, out)))
