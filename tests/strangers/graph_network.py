"""Message passing on a batch of graphs, a recurrent network over time, and an Ising model: structures of one's own."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import register_dataclass, register_pytree_node_class


@partial(register_dataclass, data_fields=["nodes", "senders", "receivers", "graph"], meta_fields=["n_graphs"])
@dataclasses.dataclass
class Graphs:
    nodes: jax.Array
    senders: jax.Array
    receivers: jax.Array
    graph: jax.Array
    n_graphs: int


@register_pytree_node_class
class LSTM:
    def __init__(self, wx, wh, b):
        self.wx, self.wh, self.b = wx, wh, b

    @classmethod
    def create(cls, key, n_in, n):
        k1, k2 = jax.random.split(key)
        return cls(
            jax.random.normal(k1, (n_in, 4 * n)) * 0.3, jax.random.normal(k2, (n, 4 * n)) * 0.3, jnp.zeros(4 * n)
        )

    def __call__(self, carry, x):
        h, c = carry
        i, f, g, o = jnp.split(x @ self.wx + h @ self.wh + self.b, 4, axis=-1)
        c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    def tree_flatten(self):
        return (self.wx, self.wh, self.b), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)


def message_passing(params, g: Graphs):
    n = g.nodes.shape[0]
    messages = jax.nn.swish(jnp.concatenate([g.nodes[g.senders], g.nodes[g.receivers]], -1) @ params["message"])
    scores = jax.nn.leaky_relu(messages @ params["attention"], 0.2)
    top = jax.ops.segment_max(scores, g.receivers, n)
    weights = jnp.exp(scores - top[g.receivers])
    weights = weights / (jax.ops.segment_sum(weights, g.receivers, n)[g.receivers] + 1e-9)
    gathered = jax.ops.segment_sum(weights[:, None] * messages, g.receivers, num_segments=n)
    return dataclasses.replace(g, nodes=g.nodes + gathered)


def readout(params, g):
    for _ in range(2):
        g = message_passing(params, g)
    return jax.ops.segment_sum(g.nodes, g.graph, g.n_graphs) @ params["out"]


@jax.jit
def graph_loss(params, g, labels):
    logits = readout(params, g)
    return -jnp.sum(jax.nn.one_hot(labels, 2) * jax.nn.log_softmax(logits)) / g.n_graphs


rng = np.random.default_rng(0)
g = Graphs(
    jnp.asarray(rng.standard_normal((9, 4)), jnp.float32),
    rng.integers(0, 9, 20),
    rng.integers(0, 9, 20),
    np.repeat([0, 1, 2], 3),
    3,
)
keys = jax.random.split(jax.random.PRNGKey(0), 4)
params = {
    "message": 0.3 * jax.random.normal(keys[0], (8, 4)),
    "attention": jax.random.normal(keys[1], (4,)),
    "out": jax.random.normal(keys[2], (4, 2)),
}
graph_grads = jax.value_and_grad(graph_loss)(params, g, jnp.array([0, 1, 1]))

cell = LSTM.create(keys[3], 2, 5)
series = jnp.sin(jnp.arange(10.0)[:, None, None] + jnp.arange(3.0)[None, :, None] * jnp.ones(2))


@jax.jit
def fit(cell, series):
    def loss(cell):
        zeros = jnp.zeros((3, 5))
        _, hs = jax.lax.scan(cell, (zeros, zeros), series[:-1])
        return jnp.mean((hs[..., :2] - series[1:]) ** 2)

    value, grads = jax.value_and_grad(loss)(cell)
    return jax.tree.map(lambda p, d: p - 0.1 * jnp.clip(d, -1, 1), cell, grads), value


cell, first = fit(cell, series)
cell, second = fit(cell, series)


@partial(jax.jit, static_argnames=("sweeps",))
def ising(key, beta, *, sweeps=6, n=8):
    checkers = (np.indices((n, n)).sum(0) % 2).astype(bool)
    spins = jax.random.choice(key, jnp.array([-1, 1], jnp.int8), (n, n))

    def sweep(spins, key):
        for color, k in zip((checkers, ~checkers), jax.random.split(key)):
            field = sum(jnp.roll(spins, s, axis=a) for s in (-1, 1) for a in (0, 1))
            flip = jax.random.uniform(k, (n, n)) < jnp.exp(-2.0 * beta * spins * field)
            spins = jnp.where(color & flip, -spins, spins)
        return spins, spins.mean()

    return jax.lax.scan(sweep, spins, jax.random.split(key, sweeps))


result = (
    graph_grads,
    cell,
    (first, second),
    ising(jax.random.PRNGKey(9), 0.44),
    jax.vmap(lambda b: ising(keys[0], b)[1])(jnp.array([0.1, 0.6])),
)
