"""rlax: errors of Q-learning and double Q-learning, a lambda return, V-trace and a policy gradient."""

import jax
import jax.numpy as jnp
import rlax

q = jax.random.normal(jax.random.key(0), (6, 4))
actions = jnp.array([0, 3, 2, 1, 1, 0])
rewards = jnp.array([1.0, -1.0, 0.5, 0.0, 2.0, 0.1])
discounts = jnp.full(6, 0.9)
errors = jax.vmap(rlax.q_learning)(q, actions, rewards, discounts, q[::-1])
double = jax.vmap(rlax.double_q_learning)(q, actions, rewards, discounts, q[::-1], q + 1.0)
returns = jax.jit(rlax.lambda_returns)(rewards, discounts, q[:, 0], 0.8)
vtrace = rlax.vtrace_td_error_and_advantage(q[:, 0], q[:, 1], rewards, discounts, jnp.exp(0.1 * q[:, 2]))
gradient = jax.grad(lambda logits: rlax.policy_gradient_loss(logits, actions, errors, jnp.ones(6)))(q)
sample = rlax.epsilon_greedy(0.3).sample(jax.random.key(1), q)
result = errors, double, returns, tuple(vtrace), gradient, sample
