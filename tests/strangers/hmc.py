"""Bayesian logistic regression: Hamiltonian Monte Carlo and random walks, several chains at once."""

from collections import namedtuple
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
from jax.flatten_util import ravel_pytree
from jax.scipy.stats import norm

State = namedtuple("State", "q logp accepted")

kx, kw, ky = jr.split(jr.PRNGKey(42), 3)
X = jr.normal(kx, (40, 3))
y = jr.bernoulli(ky, jax.nn.sigmoid(X @ jr.normal(kw, (3,)) + 0.5))


def logposterior(theta):
    logits = X @ theta["w"] + theta["b"]
    prior = norm.logpdf(theta["w"], 0, 2).sum() + norm.logpdf(theta["b"], 0, 5)
    return prior + jnp.sum(jnp.where(y, jax.nn.log_sigmoid(logits), jax.nn.log_sigmoid(-logits)))


flat, unravel = ravel_pytree({"w": jnp.zeros(3), "b": 0.0})
logp = lambda q: logposterior(unravel(q))


def leapfrog(q, p, eps, n):
    def step(_, qp):
        q, p = qp
        p = p + 0.5 * eps * jax.grad(logp)(q)
        q = q + eps * p
        return q, p + 0.5 * eps * jax.grad(logp)(q)

    return jax.lax.fori_loop(0, n, step, (q, p))


def hmc_kernel(state, key, eps=0.15, n=5):
    k1, k2 = jr.split(key)
    p = jr.normal(k1, state.q.shape)
    q1, p1 = leapfrog(state.q, p, eps, n)
    logp1 = logp(q1)
    delta = logp1 - state.logp - 0.5 * (p1 @ p1 - p @ p)
    accept = jnp.log(jr.uniform(k2)) < delta
    return jax.lax.cond(accept, lambda: State(q1, logp1, True), lambda: state._replace(accepted=False)), state.q


def rwm_kernel(state, key, scale=0.4):
    k1, k2 = jr.split(key)
    proposal = state.q + scale * jr.normal(k1, state.q.shape)
    logp1 = logp(proposal)
    accept = logp1 - state.logp > -jr.exponential(k2)
    new = State(proposal, logp1, accept)
    return jax.tree_util.tree_map(partial(jnp.where, accept), new, state._replace(accepted=accept)), state.q


@partial(jax.jit, static_argnums=0)
def sample(kernel, key):
    def chain(key):
        k0, k1 = jr.split(key)
        q = flat + 0.1 * jr.normal(k0, flat.shape)
        last, samples = jax.lax.scan(kernel, State(q, logp(q), False), jr.split(k1, 25))
        return last, jax.vmap(unravel)(samples)

    return jax.vmap(chain)(jr.split(key, 3))


def rhat(x):
    n, between = x.shape[1], jnp.var(x.mean(1), ddof=1)
    within = jnp.mean(jnp.var(x, axis=1, ddof=1))
    return jnp.sqrt(((n - 1) / n * within + between) / within)


result = []
for kernel in (hmc_kernel, rwm_kernel):
    last, draws = sample(kernel, jr.PRNGKey(0))
    result.append((last, draws, rhat(draws["b"]), jnp.percentile(draws["w"], jnp.array([5, 50, 95]), axis=(0, 1))))
