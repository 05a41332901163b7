"""distrax: samples, logarithms of densities, a divergence, and a distribution behind a bijector."""

import distrax
import jax
import jax.numpy as jnp

mu, sigma = jnp.array([-1.0, 0.0, 1.0]), jnp.array([0.1, 0.2, 0.3])
diagonal = distrax.MultivariateNormalDiag(mu, sigma)
samples, log_probs = diagonal.sample_and_log_prob(seed=jax.random.PRNGKey(1234), sample_shape=(4,))
normal, other = distrax.Normal(0.0, 1.0), distrax.Normal(0.5, 2.0)
categorical = distrax.Categorical(logits=mu)
behind = distrax.Transformed(normal, distrax.Lambda(jnp.tanh))
chain = distrax.Chain([distrax.ScalarAffine(1.0, 2.0), distrax.Tanh()])
gradient = jax.grad(lambda x: diagonal.log_prob(x))(mu + 0.05)
sampled = jax.jit(lambda key: categorical.sample(seed=key, sample_shape=(6,)))(jax.random.PRNGKey(0))
result = (
    samples, log_probs, normal.kl_divergence(other), categorical.entropy(), sampled, gradient,
    behind.log_prob(jnp.array(0.3)), chain.forward_and_log_det(jnp.array(0.7)),
)  # fmt: skip
