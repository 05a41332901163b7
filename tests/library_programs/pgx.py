"""pgx: a batch of random games of tic-tac-toe and of Go, jitted, to their end or for some moves."""

import jax
import jax.numpy as jnp
import pgx


def play(name, moves, batch):
    env = pgx.make(name)
    init, step = jax.jit(jax.vmap(env.init)), jax.jit(jax.vmap(env.step))
    state = init(jax.random.split(jax.random.PRNGKey(42), batch))
    key, rewards = jax.random.PRNGKey(0), 0.0
    for _ in range(moves):
        if (state.terminated | state.truncated).all():
            break
        key, inside = jax.random.split(key)
        action = jax.random.categorical(inside, jnp.where(state.legal_action_mask, 0.0, -jnp.inf), axis=-1)
        state = step(state, action)
        rewards += state.rewards
    return state.observation, state.rewards, rewards, state.current_player


result = play("tic_tac_toe", 9, 16), play("go_9x9", 6, 4)
