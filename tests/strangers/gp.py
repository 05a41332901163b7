"""Gaussian process regression: hyperparameters by BFGS, predictions with uncertainty."""

import jax
import jax.numpy as jnp
from jax import grad, jit, vmap
from jax.scipy.linalg import cho_factor, cho_solve, solve_triangular
from jax.scipy.optimize import minimize

softplus = lambda x: jnp.logaddexp(x, 0.0)


def cov_map(cov_func, xs, xs2=None):
    if xs2 is None:
        return vmap(lambda x: vmap(lambda y: cov_func(x, y))(xs))(xs)
    return vmap(lambda x: vmap(lambda y: cov_func(x, y))(xs))(xs2).T


def exp_quadratic(x1, x2):
    return jnp.exp(-jnp.sum((x1 - x2) ** 2))


def periodic(x1, x2):
    return jnp.exp(-2 * jnp.sum(jnp.sin(jnp.pi * jnp.abs(x1 - x2)) ** 2))


def kernel(params, x, x2=None):
    amp, length, noise = softplus(params[:3])
    k = amp * cov_map(exp_quadratic, x / length, None if x2 is None else x2 / length)
    k = k + softplus(params[3]) * cov_map(periodic, x, x2)
    return k + (noise + 1e-4) * jnp.eye(len(x)) if x2 is None else k


@jit
def neg_log_likelihood(params, x, y):
    chol, lower = cho_factor(kernel(params, x), lower=True)
    alpha = cho_solve((chol, lower), y)
    return 0.5 * y @ alpha + jnp.log(jnp.diag(chol)).sum() + 0.5 * len(x) * jnp.log(2 * jnp.pi)


@jit
def predict(params, x, y, new):
    chol = jnp.linalg.cholesky(kernel(params, x))
    alpha = solve_triangular(chol, y, lower=True)
    v = solve_triangular(chol, kernel(params, x, new), lower=True)
    covariance = kernel(params, new) - v.T @ v
    return v.T @ alpha, jnp.sqrt(jnp.diagonal(covariance))


key = jax.random.PRNGKey(0)
x = jnp.sort(jax.random.uniform(key, (12, 1), minval=-1, maxval=2), axis=0)
y = jnp.sin(3 * x[:, 0]) + 0.1 * jax.random.normal(key, (12,))
start = jnp.array([0.5, 0.0, -2.0, -1.0])
gradient = jit(grad(neg_log_likelihood))(start, x, y)
found = minimize(neg_log_likelihood, start, args=(x, y), method="BFGS", options={"maxiter": 4})
new = jnp.linspace(-1, 2, 9)[:, None]
result = gradient, found.x, found.fun, found.nit, predict(found.x, x, y, new)
