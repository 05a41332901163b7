"""jaxopt: a ridge regression by L-BFGS, the derivative of its solution, and a projected gradient."""

import jax
import jax.numpy as jnp
import jaxopt

x = jax.random.normal(jax.random.key(0), (20, 4))
y = x @ jnp.array([1.0, -1.0, 2.0, 0.5]) + 0.1


def ridge(w, l2):
    return jnp.mean((x @ w - y) ** 2) + l2 * jnp.sum(w**2)


solver = jaxopt.LBFGS(ridge, maxiter=20)
solution = solver.run(jnp.zeros(4), l2=0.1)
derivative = jax.jacobian(lambda l2: solver.run(jnp.zeros(4), l2=l2).params)(0.1)
simplex = jaxopt.ProjectedGradient(
    lambda w: jnp.mean((x @ w - y) ** 2), jaxopt.projection.projection_simplex, maxiter=30
)
root = jaxopt.Bisection(lambda t: t**3 - t - 2.0, lower=1.0, upper=2.0).run().params
result = solution.params, solution.state.value, derivative, simplex.run(jnp.full(4, 0.25)).params, root
