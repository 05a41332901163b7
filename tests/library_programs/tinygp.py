"""tinygp: the likelihood of a Gaussian process, its gradient, and a prediction; one whose cost is linear."""

import jax
import jax.numpy as jnp
from tinygp import GaussianProcess, kernels

x = jnp.sort(jax.random.uniform(jax.random.key(0), (20,), maxval=10.0))
y = jnp.sin(x) + 0.1 * jax.random.normal(jax.random.key(1), (20,))


def build(params):
    kernel = jnp.exp(params["amplitude"]) * kernels.Matern52(scale=jnp.exp(params["scale"])) + 0.1 * kernels.ExpSquared(
        2.0
    )
    return GaussianProcess(kernel, x, diag=0.01)


params = {"amplitude": jnp.array(0.1), "scale": jnp.array(0.5)}
value, grads = jax.jit(jax.value_and_grad(lambda p: -build(p).log_probability(y)))(params)
_, conditioned = build(params).condition(y, jnp.linspace(0, 10, 5))
linear = GaussianProcess(kernels.quasisep.Matern32(scale=1.5), x, diag=0.01)
result = (
    value,
    grads,
    conditioned.loc,
    conditioned.variance,
    linear.log_probability(y),
    linear.sample(jax.random.key(2)),
)
