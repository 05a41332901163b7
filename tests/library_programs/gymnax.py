"""gymnax: an episode of a pendulum in a loop of `scan`, of many poles in a batch, and a gradient through a step."""

import gymnax
import jax
import jax.numpy as jnp

key = jax.random.key(0)
env, params = gymnax.make("Pendulum-v1")


def step(carry, key):
    obs, state = carry
    act, go = jax.random.split(key)
    obs, state, reward, *_ = env.step(go, state, env.action_space(params).sample(act), params)
    return (obs, state), reward


last, rewards = jax.jit(lambda keys: jax.lax.scan(step, env.reset(key, params), keys))(jax.random.split(key, 20))
poles, settings = gymnax.make("CartPole-v1")
keys = jax.random.split(key, 8)
obs, states = jax.vmap(poles.reset, in_axes=(0, None))(keys, settings)
moved = jax.vmap(poles.step, in_axes=(0, 0, 0, None))(keys, states, jnp.arange(8) % 2, settings)
smooth = env.with_transition_gradients()
_, start = smooth.reset(key, params)
gradient = jax.grad(lambda action: smooth.step(key, start, action, params)[1].theta_dot)(jnp.array([0.5]))
result = last, rewards, moved[:4], gradient
