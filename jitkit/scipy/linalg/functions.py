"""Computes the exponential of matrices, and its derivative.

The matrix is halved until its norm is small; a quotient of polynomials of it (Pade's) is then squared, once for each halving:
Higham, "The scaling and squaring method for the matrix exponential revisited", SIAM J. Matrix Anal. Appl. 26 (2005).

JAX: jax/_src/scipy/linalg.py:expm
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ...derivatives.linear_maps import jvp
from ...numpy import arange, array, asarray, digitize, dot, eye, floor, full_like, log2, maximum, vectorize
from ...numpy import linalg as numpy_linalg
from ...numpy.promotion import promote_dtypes_inexact
from ...pjit.jit import jit
from .factoring import solve_triangular

# --- expm ---------------------------------------------------------------------------------------------------------------------

# The numerators of Pade's approximants of exp, by degree: Higham, table 2.3 and equation (2.7). The denominators have the same
# coefficients with alternating signs.
_PADE = {
    3: (120, 60, 12, 1),
    5: (30240, 15120, 3360, 420, 30, 1),
    7: (17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1),
    9: (17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90, 1),
    13: (
        64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
        670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
    ),
}  # fmt: skip
# For each approximant, the largest 1-norm for which it is accurate (table 2.3), the last one by itself: degree 13, or in 32 bits 7.
_LIMITS = {
    64: (
        (1.495585217958292e-002, 2.539398330063230e-001, 9.504178996162932e-001, 2.097847961257068e000),
        5.371920351148152,
    ),
    32: ((4.258730016922831e-001, 1.880152677804762e000), 3.925724783138660),
}


@jit(static_argnames=("upper_triangular", "max_squarings"))
def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:  # scipy's name
    """Return the exponential of square matrices, the sum of A^k / k!; nan if it would take more squarings than
    `max_squarings`. `upper_triangular` promises that A is an upper triangle, which takes less time. Raise ValueError
    for matrices that are not square, TypeError for floats of 16 bits.
    """
    (a,) = promote_dtypes_inexact(A)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Expected A to be a (batched) square matrix, got A.shape={a.shape!r}.")
    if a.ndim > 2:
        of_one = functools.partial(expm, upper_triangular=upper_triangular, max_squarings=max_squarings)
        return vectorize(of_one, signature="(n,n)->(n,n)")(a)
    p, q, n_squarings = _calc_P_Q(asarray(a))

    def compute(operands: Any) -> Any:
        _, p, q = operands
        quotient = solve_triangular(q, p) if upper_triangular else numpy_linalg.solve(q, p)
        return _squaring(quotient, n_squarings, max_squarings)

    return lax.cond(n_squarings > max_squarings, lambda xs: full_like(xs[0], np.nan), compute, (a, p, q))


@jit
def _calc_P_Q(A: Any) -> tuple[Any, Any, Any]:  # jaxprs show JAX's name
    """Return numerator and denominator of the approximant, and the number of halvings of A. Raise ValueError unless A
    is a square matrix, TypeError for other dtypes than 32- and 64-bit floats and their complex ones.
    """
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError("expected A to be a square matrix")
    norm = numpy_linalg.norm(A, 1)
    if A.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise TypeError(f"A.dtype={A.dtype} is not supported.")
    limits, last = _LIMITS[64 if A.dtype.name in ("float64", "complex128") else 32]
    n_squarings = maximum(0, floor(log2(norm / last)))
    A = A / 2 ** n_squarings.astype(A.dtype)
    index = digitize(norm, array(limits, dtype=norm.dtype))
    degrees = [3, 5, 7, 9, 13][: len(limits) + 1]
    odd, even = lax.switch(index, [functools.partial(_pade, _PADE[degree]) for degree in degrees], A)
    return odd + even, -odd + even, n_squarings


def _precise_dot(a: Any, b: Any) -> Any:
    return dot(a, b, precision=lax.Precision.HIGHEST)


def _pade(coefficients: Sequence[int], a: Any) -> tuple[Any, Any]:
    """Return the sums of the odd and of the even terms of the numerator, a polynomial of the matrix `a`."""
    b = [float(c) for c in coefficients]
    degree = len(b) - 1
    one = eye(a.shape[0], a.shape[1], dtype=a.dtype)
    powers = [one, _precise_dot(a, a)]  # the powers of a squared
    while len(powers) <= min(degree // 2, 4 if degree == 9 else 3):
        powers.append(_precise_dot(powers[-1], powers[1]))

    def terms(first: int, top: int) -> Any:
        """Return the sum of the powers of a squared up to `top`, the highest first. The coefficients are every second
        one from `first`.
        """
        total = b[first + 2 * top] * powers[top]
        for k in range(top - 1, -1, -1):
            total = total + b[first + 2 * k] * powers[k]
        return total

    if degree < 13:
        return _precise_dot(a, terms(1, degree // 2)), terms(0, degree // 2)
    odd, even = (_with_high_terms(b, first, powers) for first in (1, 0))
    return _precise_dot(a, odd), even


def _with_high_terms(b: Sequence[float], first: int, powers: Sequence[Any]) -> Any:
    """Return the sum of every second term of the approximant of degree 13, from the term `first`. The sixth power of
    `a` is factored out of the terms of higher powers.
    """
    high = b[first + 12] * powers[3] + b[first + 10] * powers[2] + b[first + 8] * powers[1]
    total = _precise_dot(powers[3], high)
    for k in (3, 2, 1, 0):
        total = total + b[first + 2 * k] * powers[k]
    return total


@jit(static_argnums=2)
def _squaring(R: Any, n_squarings: Any, max_squarings: int) -> Any:
    def once_more(r: Any, i: Any) -> tuple[Any, None]:
        return lax.cond(i < n_squarings, lambda x: _precise_dot(x, x), lambda x: x, r), None

    result, _ = lax.scan(once_more, R, arange(max_squarings, dtype=n_squarings.dtype))
    return result


@jit(static_argnames=("method", "compute_expm"))
def expm_frechet(A: Any, E: Any, *, method: str | None = None, compute_expm: bool = True) -> Any:  # scipy's names
    """Return `expm(A)` and its derivative in the direction E; without `compute_expm`, the derivative alone. `method`
    does nothing. Raise ValueError for matrices that are not square, or of different shapes.
    """
    a, e = asarray(A), asarray(E)
    for name, x, last in (("A", a, 1), ("E", e, -1)):
        if x.ndim < 2 or x.shape[-2] != x.shape[last]:
            raise ValueError(f"expected {name} to be a (batched) square matrix, got {name}.shape={x.shape}")
    if a.shape != e.shape:
        raise ValueError(f"expected A and E to be the same shape, got A.shape={a.shape} E.shape={e.shape}")
    value, derivative = jvp(functools.partial(expm, upper_triangular=False, max_squarings=16), (a,), (e,))
    return (value, derivative) if compute_expm else derivative
