"""The normal distribution of vectors: their mean, and the covariance of their elements.

JAX: jax/_src/scipy/stats/multivariate_normal.py:logpdf
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ... import lax
from ...numpy import einsum, log, square, vectorize
from ...numpy.promotion import promote_dtypes_inexact


def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Any:
    """Return the logarithm of the probability density.

    Args:
      x: vectors along the last axis; if `mean` is a number, numbers.
      mean: a vector, vectors, or a number.
      cov: n by n matrices in the last two axes; a number is the variance of each element.

    Raises:
      ValueError: if the covariance is not n by n.
      NotImplementedError: for `allow_singular`.
    """
    if allow_singular is not None:
        raise NotImplementedError("allow_singular argument of multivariate_normal.logpdf")
    x, mean, cov = promote_dtypes_inexact(x, mean, cov)
    if not mean.shape:
        return -1 / 2 * square(x - mean) / cov - 1 / 2 * (log(2 * np.pi) + log(cov))
    n = mean.shape[-1]
    if not cov.shape:
        y = x - mean
        return -1 / 2 * einsum("...i,...i->...", y, y) / cov - n / 2 * (log(2 * np.pi) + log(cov))
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise ValueError("multivariate_normal.logpdf got incompatible shapes")
    root = lax.linalg.cholesky(cov)
    solve = functools.partial(lax.linalg.triangular_solve, lower=True, transpose_a=True)
    y = vectorize(solve, signature="(n,n),(n)->(n)")(root, x - mean)
    return (
        -1 / 2 * einsum("...i,...i->...", y, y)
        - n / 2 * log(2 * np.pi)
        - log(root.diagonal(axis1=-1, axis2=-2)).sum(-1)
    )


def pdf(x: Any, mean: Any, cov: Any) -> Any:
    """Return the probability density."""
    return lax.exp(logpdf(x, mean, cov))
