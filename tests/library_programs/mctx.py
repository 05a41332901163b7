"""mctx: a search by Gumbel MuZero, and one by MuZero, with a model that is a matrix."""

import jax
import jax.numpy as jnp
import mctx

ACTIONS, FEATURES = 4, 8
weights = jax.random.normal(jax.random.key(3), (FEATURES + ACTIONS, FEATURES + ACTIONS + 2))


def recurrent_fn(params, key, action, embedding):
    out = jnp.tanh(jnp.concatenate([embedding, jax.nn.one_hot(action, ACTIONS)], -1) @ params)
    step = mctx.RecurrentFnOutput(
        reward=out[:, 0], discount=jnp.full_like(out[:, 0], 0.9), prior_logits=out[:, 2 : 2 + ACTIONS], value=out[:, 1]
    )
    return step, out[:, -FEATURES:]


root = mctx.RootFnOutput(
    prior_logits=jax.random.normal(jax.random.key(0), (3, ACTIONS)),
    value=jnp.array([0.1, -0.2, 0.3]),
    embedding=jax.random.normal(jax.random.key(1), (3, FEATURES)),
)
gumbel = jax.jit(lambda key: mctx.gumbel_muzero_policy(weights, key, root, recurrent_fn, num_simulations=16))
muzero = mctx.muzero_policy(weights, jax.random.PRNGKey(5), root, recurrent_fn, num_simulations=8)
searched = gumbel(jax.random.PRNGKey(4))
result = (
    searched.action,
    searched.action_weights,
    searched.search_tree.node_values,
    muzero.action,
    muzero.action_weights,
)
