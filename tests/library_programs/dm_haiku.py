"""dm-haiku: a network of layers that is turned into a pair of pure functions, and a step of gradient descent."""

import haiku as hk
import jax
import jax.numpy as jnp


def forward(x, is_training):
    x = hk.Conv2D(4, 3, stride=2)(x)
    x = hk.BatchNorm(create_scale=True, create_offset=True, decay_rate=0.9)(x, is_training)
    x = hk.Flatten()(jax.nn.relu(x))
    x = hk.dropout(hk.next_rng_key(), 0.2, x) if is_training else x
    return hk.nets.MLP([16, 5])(x)


network = hk.transform_with_state(forward)
images = jax.random.normal(jax.random.key(1), (4, 8, 8, 3))
labels = jnp.array([0, 3, 4, 1])
params, state = network.init(jax.random.PRNGKey(42), images, True)


def loss(params, state, key):
    logits, state = network.apply(params, state, key, images, True)
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)), state


(value, state), grads = jax.jit(jax.value_and_grad(loss, has_aux=True))(params, state, jax.random.PRNGKey(7))
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
result = value, params, state, network.apply(params, state, None, images, False)[0]
