"""optimistix: a fixed point by Newton's method, its derivative, a least-squares problem and a minimum."""

import jax
import jax.numpy as jnp
import optimistix as optx

dt = jnp.array(0.1)


def fixed(y0):
    return optx.fixed_point(lambda y, args: y0 + jnp.tanh(y) * dt, optx.Newton(rtol=1e-5, atol=1e-5), y0).value


def residuals(y, args):
    return jnp.array([10.0 * (y[1] - y[0] ** 2), 1.0 - y[0]])


least = optx.least_squares(residuals, optx.LevenbergMarquardt(rtol=1e-5, atol=1e-5), jnp.array([-1.2, 1.0]))
lowest = optx.minimise(lambda y, args: jnp.sum((y - 2.0) ** 2 + y**4), optx.BFGS(rtol=1e-5, atol=1e-5), jnp.ones(3))
root = optx.root_find(
    lambda y, args: y**3 - y - 2.0,
    optx.Bisection(rtol=1e-5, atol=1e-5),
    jnp.array(1.5),
    options={"lower": 1.0, "upper": 2.0},
)
result = fixed(jnp.array(1.0)), jax.grad(fixed)(jnp.array(1.0)), least.value, lowest.value, root.value
