"""distreqx: samples and densities of distributions that are equinox's modules."""

import jax
import jax.numpy as jnp
from distreqx import bijectors, distributions

key = jax.random.key(1234)
mu, sigma = jnp.array([-1.0, 0.0, 1.0]), jnp.array([0.1, 0.2, 0.3])
diagonal = distributions.MultivariateNormalDiag(mu, sigma)
samples = diagonal.sample(key)
behind = distributions.Transformed(distributions.Normal(jnp.array(0.0), jnp.array(1.0)), bijectors.Tanh())
many = jax.jit(jax.vmap(distributions.Gamma(jnp.array(2.0), jnp.array(3.0)).sample))(jax.random.split(key, 6))
result = (
    samples,
    diagonal.log_prob(samples),
    jax.grad(diagonal.log_prob)(samples),
    behind.sample_and_log_prob(key),
    many,
)
