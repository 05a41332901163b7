"""PPO on a cart-pole that is written in JAX: everything, environments and updates, is one program."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Env(NamedTuple):
    x: jax.Array
    steps: jax.Array


class Transition(NamedTuple):
    obs: jax.Array
    action: jax.Array
    reward: jax.Array
    done: jax.Array
    value: jax.Array
    logp: jax.Array


N_ENVS, N_STEPS, GAMMA, LAMBDA, CLIP = 4, 16, 0.99, 0.95, 0.2


def reset(key):
    return Env(jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05), jnp.int32(0))


def env_step(key, env, action):
    x, v, th, w = env.x
    force = jnp.where(action == 1, 10.0, -10.0)
    c, s = jnp.cos(th), jnp.sin(th)
    temp = (force + 0.05 * w**2 * s) / 1.1
    acc = (9.8 * s - c * temp) / (0.5 * (4.0 / 3.0 - 0.1 * c**2 / 1.1))
    new = jnp.array([x + 0.02 * v, v + 0.02 * (temp - 0.05 * acc * c / 1.1), th + 0.02 * w, w + 0.02 * acc])
    done = (jnp.abs(new[0]) > 2.4) | (jnp.abs(new[2]) > 0.2) | (env.steps >= 200)
    nxt = jax.tree.map(lambda a, b: jax.lax.select(done, a, b), reset(key), Env(new, env.steps + 1))
    return nxt, nxt.x, 1.0, done


def init(key):
    init_fn, k = jax.nn.initializers.orthogonal(jnp.sqrt(2.0)), jax.random.split(key, 3)
    return {
        "body": (init_fn(k[0], (4, 16)), jnp.zeros(16)),
        "pi": (0.01 * init_fn(k[1], (16, 2)), jnp.zeros(2)),
        "v": (init_fn(k[2], (16, 1)), jnp.zeros(1)),
    }


def network(params, obs):
    h = jnp.tanh(obs @ params["body"][0] + params["body"][1])
    dense = lambda name: h @ params[name][0] + params[name][1]
    return jax.nn.log_softmax(dense("pi")), dense("v").squeeze(-1)


def rollout(params, env, key):
    def step(carry, key):
        env, obs = carry
        k1, k2 = jax.random.split(key)
        logits, value = network(params, obs)
        action = jax.random.categorical(k1, logits)
        logp = jnp.take_along_axis(logits, action[:, None], 1)[:, 0]
        env, new_obs, reward, done = jax.vmap(env_step)(jax.random.split(k2, N_ENVS), env, action)
        return (env, new_obs), Transition(obs, action, reward, done, value, logp)

    (env, obs), traj = jax.lax.scan(step, (env, env.x), jax.random.split(key, N_STEPS))
    return env, traj, network(params, obs)[1]


def gae(traj, last_value):
    def back(carry, t):
        advantage, next_value = carry
        delta = t.reward + GAMMA * next_value * (1 - t.done) - t.value
        advantage = delta + GAMMA * LAMBDA * (1 - t.done) * advantage
        return (advantage, t.value), advantage

    _, advantages = jax.lax.scan(back, (jnp.zeros_like(last_value), last_value), traj, reverse=True, unroll=4)
    return advantages, advantages + traj.value


def loss_fn(params, batch):
    traj, adv, target = batch
    logits, value = network(params, traj.obs)
    ratio = jnp.exp(jnp.take_along_axis(logits, traj.action[:, None], 1)[:, 0] - traj.logp)
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    policy = -jnp.minimum(ratio * adv, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * adv).mean()
    clipped = traj.value + jnp.clip(value - traj.value, -CLIP, CLIP)
    value_loss = 0.5 * jnp.maximum((value - target) ** 2, (clipped - target) ** 2).mean()
    entropy = -(jnp.exp(logits) * logits).sum(-1).mean()
    return policy + 0.5 * value_loss - 0.01 * entropy, (policy, value_loss, entropy)


@partial(jax.jit, donate_argnums=(0, 1))
def train(params, env, key):
    def iteration(carry, key):
        params, env = carry
        k1, k2 = jax.random.split(key)
        env, traj, last = rollout(params, env, k1)
        batch = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (traj, *gae(traj, last)))

        def epoch(params, key):
            order = jax.random.permutation(key, N_ENVS * N_STEPS)
            shuffled = jax.tree.map(lambda x: x[order].reshape(2, -1, *x.shape[1:]), batch)

            def update(params, minibatch):
                (loss, aux), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, minibatch)
                return jax.tree.map(lambda p, g: p - 0.05 * g, params, grads), (loss, aux)

            return jax.lax.scan(update, params, shuffled)

        params, losses = jax.lax.scan(epoch, params, jax.random.split(k2, 2))
        return (params, env), (losses, traj.done.sum())

    return jax.lax.scan(iteration, (params, env), jax.random.split(key, 3))


key = jax.random.PRNGKey(3)
env = jax.vmap(reset)(jax.random.split(key, N_ENVS))
result = train(init(key), env, key)
