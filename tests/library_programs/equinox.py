"""equinox: a module that is a tree, its gradient, a step by optax, and a layer with state."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax


class Linear(eqx.Module):
    weight: jax.Array
    bias: jax.Array

    def __init__(self, in_size, out_size, key):
        wkey, bkey = jax.random.split(key)
        self.weight = jax.random.normal(wkey, (out_size, in_size))
        self.bias = jax.random.normal(bkey, (out_size,))

    def __call__(self, x):
        return self.weight @ x + self.bias


@eqx.filter_jit
@eqx.filter_value_and_grad
def loss(model, x, y):
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)


x = jax.random.normal(jax.random.key(1), (8, 3))
y = jnp.sin(x[:, :2])
model = Linear(3, 2, jax.random.key(0))
deep = eqx.nn.MLP(3, 2, 16, 2, key=jax.random.key(2))
optimizer = optax.adam(1e-2)
state = optimizer.init(eqx.filter(deep, eqx.is_array))
losses = []
for _ in range(10):
    value, grads = loss(deep, x, y)
    updates, state = optimizer.update(grads, state, deep)
    deep = eqx.apply_updates(deep, updates)
    losses.append(value)
norm, norm_state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(3, axis_name="batch", mode="batch")
normed, norm_state = jax.vmap(norm, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(x, norm_state)
result = loss(model, x, y)[0], jax.tree.leaves(loss(model, x, y)[1]), losses, eqx.filter(deep, eqx.is_array), normed
