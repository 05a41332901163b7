"""jraph: two graphs in a batch with padding, and a graph network, jitted and differentiated."""

import jax
import jax.numpy as jnp
import jraph


def graph(key, nodes, edges):
    keys = jax.random.split(key, 4)
    return jraph.GraphsTuple(
        nodes=jax.random.normal(keys[0], (nodes, 3)),
        edges=jax.random.normal(keys[1], (edges, 2)),
        senders=jax.random.randint(keys[2], (edges,), 0, nodes),
        receivers=jax.random.randint(keys[3], (edges,), 0, nodes),
        globals=jnp.ones((1, 1)),
        n_node=jnp.array([nodes]),
        n_edge=jnp.array([edges]),
    )


batched = jraph.batch([graph(jax.random.key(0), 4, 5), graph(jax.random.key(1), 3, 6)])
padded = jraph.pad_with_graphs(batched, n_node=10, n_edge=16, n_graph=3)
network = jraph.GraphNetwork(
    update_edge_fn=lambda edges, sent, received, globals_: jnp.tanh(
        edges + sent.sum(-1, keepdims=True) - received[:, :2]
    ),
    update_node_fn=lambda nodes, sent, received, globals_: nodes + received.sum(-1, keepdims=True),
    update_global_fn=lambda nodes, edges, globals_: globals_ + nodes.mean(-1, keepdims=True),
)
updated = jax.jit(network)(padded)
softmax = jraph.segment_softmax(padded.edges[:, 0], padded.receivers, num_segments=10)
gradient = jax.grad(lambda nodes: network(padded._replace(nodes=nodes)).globals.sum())(padded.nodes)
result = updated, softmax, gradient, jraph.get_graph_padding_mask(padded)
