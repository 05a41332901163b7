"""flax.linen: a network with layers of convolution, norms and dropout, and an attention."""

import flax.linen as nn
import jax
import jax.numpy as jnp


class Network(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.relu(nn.Conv(4, (3, 3))(x))
        x = nn.avg_pool(x, (2, 2), (2, 2))
        x = nn.BatchNorm(use_running_average=not train)(x)
        x = x.reshape(x.shape[0], -1, 4)
        x = nn.LayerNorm()(x + nn.MultiHeadDotProductAttention(2, dropout_rate=0.0)(x, x))
        x = nn.Dropout(0.3, deterministic=not train)(x)
        return nn.Dense(5)(x.mean(1))


x = jax.random.normal(jax.random.key(0), (3, 8, 8, 2))
model = Network()
variables = model.init({"params": jax.random.key(1), "dropout": jax.random.key(2)}, x, train=True)


@jax.jit
def loss(params, stats):
    out, updates = model.apply(
        {"params": params, "batch_stats": stats},
        x,
        train=True,
        rngs={"dropout": jax.random.key(3)},
        mutable=["batch_stats"],
    )
    return jnp.mean(out**2), updates


(value, updates), grads = jax.value_and_grad(loss, has_aux=True)(variables["params"], variables["batch_stats"])
result = (
    value,
    updates,
    grads,
    model.apply(variables, x, train=False),
    nn.tabulate(model, jax.random.key(0))(x, train=False),
)
