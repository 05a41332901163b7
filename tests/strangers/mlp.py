"""A multilayer perceptron on handwritten-like digits, with momentum and minibatches."""

import time
from functools import partial

import jax.numpy as jnp
import numpy as np
import numpy.random as npr
from jax import grad, jit, random, vmap
from jax.scipy.special import logsumexp


def init_random_params(scale, layer_sizes, key):
    keys = random.split(key, len(layer_sizes) - 1)
    return [
        (scale * random.normal(k, (m, n)), jnp.zeros(n)) for k, m, n in zip(keys, layer_sizes[:-1], layer_sizes[1:])
    ]


def predict(params, image):
    activations = image
    for w, b in params[:-1]:
        activations = jnp.maximum(jnp.dot(activations, w) + b, 0.0)
    final_w, final_b = params[-1]
    logits = jnp.dot(activations, final_w) + final_b
    return logits - logsumexp(logits)


batched_predict = vmap(predict, in_axes=(None, 0))


def one_hot(x, k, dtype=jnp.float32):
    return jnp.array(x[:, None] == jnp.arange(k), dtype)


def loss(params, batch):
    inputs, targets = batch
    return -jnp.mean(jnp.sum(batched_predict(params, inputs) * targets, axis=1))


@jit
def accuracy(params, batch):
    inputs, targets = batch
    target_class = jnp.argmax(targets, axis=1)
    predicted_class = jnp.argmax(batched_predict(params, inputs), axis=1)
    return jnp.mean(predicted_class == target_class)


@partial(jit, static_argnames="mass")
def update(params, velocity, batch, step_size=0.1, mass=0.9):
    grads = grad(loss)(params, batch)
    velocity = [(mass * vw - step_size * dw, mass * vb - step_size * db) for (vw, vb), (dw, db) in zip(velocity, grads)]
    return [(w + vw, b + vb) for (w, b), (vw, vb) in zip(params, velocity)], velocity


rng = npr.RandomState(0)
centers = rng.randn(10, 36)
labels = rng.randint(0, 10, size=512)
images = (centers[labels] + 0.8 * rng.randn(512, 36)).astype("float32")
train = images[:384], np.asarray(one_hot(labels[:384], 10))
test = images[384:], np.asarray(one_hot(labels[384:], 10))


def data_stream(batch_size=64):
    while True:
        perm = rng.permutation(384)
        for i in range(0, 384, batch_size):
            idx = perm[i : i + batch_size]
            yield train[0][idx], train[1][idx]


batches = data_stream()
params = init_random_params(0.1, [36, 32, 16, 10], random.PRNGKey(0))
velocity = [(jnp.zeros_like(w), jnp.zeros_like(b)) for w, b in params]
history = []
for epoch in range(3):
    start_time = time.time()
    for _ in range(6):
        params, velocity = update(params, velocity, next(batches))
    epoch_time = time.time() - start_time
    history.append((accuracy(params, train), accuracy(params, test)))
    assert epoch_time >= 0

result = params, history, loss(params, test)
