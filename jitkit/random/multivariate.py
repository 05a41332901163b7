"""Draws vectors and matrices: on a simplex, normal with a covariance, orthogonal.

JAX: jax/_src/random/core.py:multivariate_normal
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from .. import core, lax
from .. import numpy as jnp
from ..base import config
from ..core import dtypes
from ..lax.utils import canonicalize_shape, refuse_sharding
from ..numpy.promotion import promote_dtypes_inexact
from ..pjit.jit import jit
from .arguments import Shape, check_shape, floating_dtype
from .gamma import loggamma
from .keys import check_key
from .normal import normal

# --- dirichlet ----------------------------------------------------------------------------------------------------------


def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Draw vectors of positive numbers whose sum is 1: gamma variables with the parameters `alpha`, divided by their
    sum.

    Args:
      alpha: positive parameters, along the last axis.
      shape: of the result without the last axis; by default that of `alpha` without the last axis.
      dtype: a float dtype, by default the default float.

    Raises:
      ValueError: for a scalar `alpha`, a shape that does not fit, and a dtype that is not a float.
    """
    refuse_sharding("dirichlet", out_sharding)
    key, _ = check_key("dirichlet", key)
    dtype = floating_dtype("dirichlet", dtype)
    return _dirichlet(key, alpha, None if shape is None else canonicalize_shape(shape), dtype)


@functools.partial(jit, static_argnums=(2, 3))
def _dirichlet(key: Any, alpha: Any, shape: Shape | None, dtype: Any) -> Any:
    if not np.ndim(alpha) >= 1:
        raise ValueError(f"dirichlet requires alpha.ndim >= 1, got alpha.ndim == {np.ndim(alpha)}")
    if shape is None:
        shape = np.shape(alpha)[:-1]
    else:
        check_shape("dirichlet", shape, np.shape(alpha)[:-1])
    alpha = lax.convert_element_type(alpha, dtype)
    # Logarithms, since the numbers for a small alpha may be too small for a float; then a softmax.
    logs = loggamma(key, alpha, shape + np.shape(alpha)[-1:], dtype)
    largest = jnp.max(logs, -1, initial=-np.inf, keepdims=True)
    sizes = jnp.exp(jnp.subtract(logs, lax.stop_gradient(largest)))
    return sizes / jnp.sum(sizes, -1, keepdims=True)


# --- multivariate_normal ------------------------------------------------------------------------------------------------


def multivariate_normal(
    key: Any,
    mean: Any,
    cov: Any,
    shape: Any = None,
    dtype: Any = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Any:
    """Draw vectors from the normal distribution with these means and covariances.

    Args:
      mean: vectors, of n numbers along the last axis.
      cov: symmetric n by n matrices with no negative eigenvalue, in the last two axes.
      shape: of the result without the last axis; by default the shape to which means and covariances broadcast.
      dtype: a float dtype, by default that of the parameters.
      method: how to find a matrix A with A A^T = cov: `cholesky`, which takes positive eigenvalues only; `eigh`; or `svd`.

    Raises:
      ValueError: for shapes that do not fit, an unknown method, and a dtype that is not a float.
    """
    refuse_sharding("multivariate_normal", out_sharding)
    key, _ = check_key("multivariate_normal", key)
    mean, cov = promote_dtypes_inexact(mean, cov)
    if method not in {"svd", "eigh", "cholesky"}:
        raise ValueError("method must be one of {'svd', 'eigh', 'cholesky'}")
    dtype = mean.dtype if dtype is None else dtypes.check_and_canonicalize_user_dtype(dtype)
    if not dtypes.issubdtype(dtype, np.floating):
        raise ValueError(f"dtype argument to `multivariate_normal` must be a float dtype, got {dtype}")
    return _multivariate_normal(key, mean, cov, None if shape is None else canonicalize_shape(shape), dtype, method)


@functools.partial(jit, static_argnums=(3, 4, 5))
def _multivariate_normal(key: Any, mean: Any, cov: Any, shape: Shape | None, dtype: Any, method: str) -> Any:
    if not np.ndim(mean) >= 1:
        raise ValueError(f"multivariate_normal requires mean.ndim >= 1, got mean.ndim == {np.ndim(mean)}")
    if not np.ndim(cov) >= 2:
        raise ValueError(f"multivariate_normal requires cov.ndim >= 2, got cov.ndim == {np.ndim(cov)}")
    n = mean.shape[-1]
    if cov.shape[-2:] != (n, n):
        raise ValueError(
            f"multivariate_normal requires cov.shape == (..., n, n) for n={n}, but got cov.shape == {cov.shape}."
        )
    if shape is None:
        shape = lax.broadcast_shapes(mean.shape[:-1], cov.shape[:-2])
    else:
        check_shape("normal", shape, mean.shape[:-1], cov.shape[:-2])
    if method == "svd":
        u, s, _ = jnp.linalg.svd(cov)
        factor = u * jnp.sqrt(s[..., None, :])
    elif method == "eigh":
        w, v = jnp.linalg.eigh(cov)
        factor = v * jnp.sqrt(w[..., None, :])
    else:
        factor = jnp.linalg.cholesky(cov)
    samples = normal(key, shape + mean.shape[-1:], dtype)
    with config.override(numpy_rank_promotion="allow"):
        return mean + jnp.einsum("...ij,...j->...i", factor, samples)


# --- orthogonal ---------------------------------------------------------------------------------------------------------


def orthogonal(
    key: Any, n: int, shape: Any = (), dtype: Any = None, m: int | None = None, *, out_sharding: Any = None
) -> Any:
    """Draw matrices whose rows or columns, whichever are fewer, are orthogonal unit vectors; all such matrices are
    equally likely.

    Args:
      n: the number of rows.
      shape: of the result without the last two axes.
      dtype: a float or complex dtype, by default the default float.
      m: the number of columns, by default n.

    Raises:
      ValueError: for a negative n or m, and for another dtype.
    """
    refuse_sharding("orthogonal", out_sharding)
    shape = canonicalize_shape(shape)
    key, _ = check_key("orthogonal", key)
    dtype = dtypes.check_and_canonicalize_user_dtype(float if dtype is None else dtype)
    where = "The error occurred in jax.random.orthogonal()"
    n = core.concrete_or_error(operator.index, n, where)
    m = core.concrete_or_error(operator.index, n if m is None else m, where)
    if n < 0 or m < 0:
        raise ValueError(f"negative dimensions are not allowed, got {n} and {m}")
    return _orthogonal(key, n, m, shape, dtype)


@functools.partial(jit, static_argnums=(1, 2, 3, 4))
def _orthogonal(key: Any, n: int, m: int, shape: Shape, dtype: Any) -> Any:
    q, r = jnp.linalg.qr(normal(key, (*shape, max(n, m), min(n, m)), dtype))
    # q depends on the signs in r. If all of them are positive, every q is equally likely.
    q = q * jnp.expand_dims(jnp.sign(jnp.linalg.diagonal(r)), -2)
    return q.mT if n < m else q
