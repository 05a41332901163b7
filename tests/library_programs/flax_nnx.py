"""flax.nnx: a network that is an object, trained by optax."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Model(nnx.Module):
    def __init__(self, in_size, hidden, out_size, rngs):
        self.linear = nnx.Linear(in_size, hidden, rngs=rngs)
        self.norm = nnx.BatchNorm(hidden, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.out = nnx.Linear(hidden, out_size, rngs=rngs)

    def __call__(self, x):
        return self.out(self.dropout(nnx.relu(self.norm(self.linear(x)))))


model = Model(2, 16, 3, nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
x = jax.random.normal(jax.random.key(0), (8, 2))
y = jnp.ones((8, 3))


@nnx.jit
def step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(lambda model: jnp.mean((model(x) - y) ** 2))(model)
    optimizer.update(model, grads)
    return loss


losses = [step(model, optimizer, x, y) for _ in range(5)]
model.eval()
result = losses, model(x), nnx.to_pure_dict(nnx.state(model, nnx.Param))
