"""gaussian_kde: a density estimated from a sample, the mean of normal densities around its points.

The bandwidth, by which the covariance of the sample is scaled, falls as the sample grows: by Scott's or Silverman's
rule, as n to the power of -1 / (d + 4) in d dimensions.

JAX: jax/_src/scipy/stats/kde.py:gaussian_kde
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ... import numpy as jnp
from ... import random
from ...core import dtypes
from ...interpreters.vmap import vmap
from ...numpy.promotion import promote_dtypes_inexact
from ...numpy.util import check_arraylike
from ...pjit.jit import jit
from ...tree_util import register_pytree_node_class
from .. import linalg, special


@register_pytree_node_class
@dataclass(frozen=True, init=False, slots=True)
class gaussian_kde:
    """Estimates the density from which a sample was drawn; a pytree, so that it can be an argument of a compiled
    function.

    Args:
      dataset: n points as the columns of a d by n matrix, or a vector of n numbers.
      bw_method: "scott" (the default), "silverman", a number, or a function of the estimate that gives one.
      weights: the weights of the points, equal by default.

    Raises:
      NotImplementedError: for complex points.
      ValueError: for fewer than two numbers, other weights than one for each point, or another `bw_method`.
    """

    neff: Any  # the number of points that, with equal weights, would be as informative
    dataset: Any  # the points, as the columns of a matrix
    weights: Any  # of the points; their sum is 1
    covariance: Any  # of each normal density: the sample's, scaled by the square of the bandwidth
    inv_cov: Any  # its inverse

    def __init__(
        self, dataset: Any, bw_method: str | float | Callable[[Any], Any] | None = None, weights: Any = None
    ) -> None:
        check_arraylike("gaussian_kde", dataset)
        dataset = jnp.atleast_2d(dataset)
        if dtypes.issubdtype(dataset.dtype, np.complexfloating):
            raise NotImplementedError("gaussian_kde does not support complex data")
        if not dataset.size > 1:
            raise ValueError("`dataset` input should have multiple elements.")
        d, n = dataset.shape
        if weights is None:
            (dataset,) = promote_dtypes_inexact(dataset)
            weights = jnp.full(n, 1.0 / n, dtype=dataset.dtype)
        else:
            check_arraylike("gaussian_kde", weights)
            dataset, weights = promote_dtypes_inexact(dataset, weights)
            weights = jnp.atleast_1d(weights)
            weights /= jnp.sum(weights)
            if weights.ndim != 1:
                raise ValueError("`weights` input should be one-dimensional.")
            if len(weights) != n:
                raise ValueError("`weights` input should be of length n")
        neff = 1 / jnp.sum(weights**2)
        self._set(dataset=dataset, weights=weights, neff=neff)
        if bw_method is None or bw_method == "scott":
            factor = jnp.power(neff, -1.0 / (d + 4))
        elif bw_method == "silverman":
            factor = jnp.power(neff * (d + 2) / 4.0, -1.0 / (d + 4))
        elif jnp.isscalar(bw_method) and not isinstance(bw_method, str):
            factor = bw_method
        elif callable(bw_method):
            factor = bw_method(self)
        else:
            raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar, or a callable.")
        covariance = jnp.atleast_2d(jnp.cov(dataset, rowvar=1, bias=False, aweights=weights))
        inverse = jnp.linalg.inv(covariance)
        self._set(covariance=covariance * factor**2, inv_cov=inverse / factor**2)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def tree_flatten(self) -> tuple[Any, None]:
        """Return the arrays of the estimate as children, without metadata."""
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, _: None, children: Any) -> Any:
        """Return an estimate of these arrays."""
        kde = cls.__new__(cls)
        kde._set(**dict(zip(("neff", "dataset", "weights", "covariance", "inv_cov"), children, strict=True)))
        return kde

    @property
    def d(self) -> int:
        """The number of dimensions."""
        d: int = self.dataset.shape[0]
        return d

    @property
    def n(self) -> int:
        """The number of points."""
        n: int = self.dataset.shape[1]
        return n

    def evaluate(self, points: Any) -> Any:
        """Return the density at each of the columns of `points`. Raise ValueError for points of another dimension than
        the sample's, NotImplementedError for complex ones.
        """
        check_arraylike("evaluate", points)
        return self._at(points, False)

    def __call__(self, points: Any) -> Any:
        """Return `evaluate(points)`."""
        return self.evaluate(points)

    def pdf(self, x: Any) -> Any:
        """Return `evaluate(x)`."""
        return self.evaluate(x)

    def logpdf(self, x: Any) -> Any:
        """Return the logarithm of the density at each of the columns of `x`. Raise errors as `evaluate` does."""
        check_arraylike("logpdf", x)
        return self._at(x, True)

    def integrate_gaussian(self, mean: Any, cov: Any) -> Any:
        """Return the integral of the density times the density of the normal distribution with this mean and
        covariance. Raise ValueError if these have another dimension.
        """
        mean = jnp.atleast_1d(jnp.squeeze(mean))
        cov = jnp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise ValueError(f"mean does not have dimension {self.d}")
        if cov.shape != (self.d, self.d):
            raise ValueError(f"covariance does not have dimension {self.d}")
        chol, scale = self._of_sum(cov)
        return _convolved(chol, scale, self.dataset, self.weights, mean)

    @jit
    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """Return the probability of the numbers between `low` and `high`. Raise ValueError if the points have more than
        one dimension, or the limits are not scalars.
        """
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        if np.ndim(low) != 0 or np.ndim(high) != 0:
            raise ValueError("the limits of integration in integrate_box_1d must be scalars")
        sigma = jnp.squeeze(jnp.sqrt(self.covariance))
        low = jnp.squeeze((low - self.dataset) / sigma)
        high = jnp.squeeze((high - self.dataset) / sigma)
        return jnp.sum(self.weights * (special.ndtr(high) - special.ndtr(low)))

    def integrate_kde(self, other: Any) -> Any:
        """Return the integral of the product of this density and another `gaussian_kde`'s. Raise ValueError for
        different dimensions.
        """
        if other.d != self.d:
            raise ValueError("KDEs are not the same dimensionality")
        chol, scale = self._of_sum(other.covariance)
        few, many = (self, other) if self.n < other.n else (other, self)
        of_one = partial(_convolved, chol, scale, many.dataset, many.weights)
        return jnp.sum(vmap(of_one, in_axes=1)(few.dataset) * few.weights)

    @jit(static_argnames=("shape",))
    def resample(self, key: Any, shape: Any = ()) -> Any:
        """Return points drawn from the estimate, as an array of shape `(d, *shape)`."""
        ind_key, eps_key = random.split(key)
        chosen = random.choice(ind_key, self.n, shape=shape, p=self.weights)
        noise = random.multivariate_normal(
            eps_key, jnp.zeros(self.d, self.covariance.dtype), self.covariance, shape=shape, dtype=self.dataset.dtype
        ).T
        return self.dataset[:, chosen] + noise

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Any:
        """Raise NotImplementedError: there is only `integrate_box_1d`."""
        raise NotImplementedError("only 1D box integrations are supported; use `integrate_box_1d`")

    def set_bandwidth(self, bw_method: Any = None) -> Any:
        """Raise NotImplementedError: the bandwidth is chosen when the estimate is made."""
        raise NotImplementedError("dynamically changing the bandwidth method is not supported")

    def _of_sum(self, cov: Any) -> tuple[Any, Any]:
        """Return the Cholesky factor of the sum of this covariance and `cov`, and the height of the normal density with that sum."""
        chol = linalg.cho_factor(self.covariance + cov)
        return chol, 1.0 / (jnp.sqrt(2 * np.pi) ** self.d * jnp.prod(jnp.diag(chol[0])))

    def _at(self, points: Any, in_log: bool) -> Any:
        if dtypes.issubdtype(dtypes.dtype(points), np.complexfloating):
            raise NotImplementedError("gaussian_kde does not support complex coordinates")
        points = jnp.atleast_2d(points)
        d, m = points.shape
        if d != self.d:
            if d != 1 or m != self.d:
                raise ValueError(f"points have dimension {d}, dataset has dimension {self.d}")
            points = jnp.reshape(points, (self.d, 1))
        return _gaussian_kernel_eval(in_log, self.dataset.T, self.weights[:, None], points.T, self.inv_cov)[:, 0]


def _convolved(chol: Any, scale: Any, target: Any, weights: Any, mean: Any) -> Any:
    """Return the sum of the weighted normal densities around the columns of `target` at `mean`."""
    diff = target - mean[:, None]
    alpha = linalg.cho_solve(chol, diff)
    arg = 0.5 * jnp.sum(diff * alpha, axis=0)
    return scale * jnp.sum(jnp.exp(-arg) * weights)


@jit(static_argnums=0)
def _gaussian_kernel_eval(in_log: bool, points: Any, values: Any, xi: Any, precision: Any) -> Any:
    """Return, for each row of `xi`, the sum of `values` times normal densities around `points`; or the logarithm of the
    sum. Raise ValueError for sizes that do not fit.
    """
    points, values, xi, precision = promote_dtypes_inexact(points, values, xi, precision)
    d = points.shape[1]
    if xi.shape[1] != d:
        raise ValueError("points and xi must have same trailing dim")
    if precision.shape != (d, d):
        raise ValueError("precision matrix must match data dims")
    whitening = linalg.cholesky(precision, lower=True)
    points = jnp.dot(points, whitening)
    xi = jnp.dot(xi, whitening)
    log_scale = jnp.sum(jnp.log(jnp.diag(whitening))) - 0.5 * d * jnp.log(2 * np.pi)

    def kernel(x: Any, point: Any, value: Any) -> Any:
        arg = log_scale - 0.5 * jnp.sum(jnp.square(point - x))
        return jnp.log(value) + arg if in_log else value * jnp.exp(arg)

    reduce = special.logsumexp if in_log else jnp.sum

    def at(x: Any) -> Any:
        return reduce(vmap(kernel, in_axes=(None, 0, 0))(x, points, values), axis=0)

    return vmap(at)(xi)
