"""optax: a linear model, fitted by Adam with a schedule and clipping."""

import jax
import jax.numpy as jnp
import optax


def loss(params, x, y):
    return optax.l2_loss(x @ params["w"] + params["b"], y).mean()


optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(0.1, 50)))
params = {"w": jnp.zeros(3), "b": jnp.zeros(())}
state = optimizer.init(params)
x = jax.random.normal(jax.random.key(0), (32, 3))
y = x @ jnp.array([1.0, -2.0, 0.5]) + 0.3


@jax.jit
def step(params, state):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state, value


losses = []
for _ in range(50):
    params, state, value = step(params, state)
    losses.append(value)
result = params, state, losses
