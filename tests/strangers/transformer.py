"""A small GPT: layers in a scan with remat, AdamW by hand, and generation with a cache of keys and values."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

TEXT = "to be or not to be that is the question whether tis nobler in the mind to suffer "
CHARS = sorted(set(TEXT))
IDS = jnp.array([CHARS.index(c) for c in TEXT])
V, D, H, L, T = len(CHARS), 16, 2, 2, 12


class Block(NamedTuple):
    ln1: jax.Array
    qkv: jax.Array
    proj: jax.Array
    ln2: jax.Array
    up: jax.Array
    down: jax.Array


def init(key):
    ks = iter(jax.random.split(key, 8))
    w = lambda *s, scale=0.02: scale * jax.random.truncated_normal(next(ks), -2, 2, s)
    blocks = Block(
        ln1=jnp.ones((L, D)),
        qkv=w(L, D, 3, H, D // H),
        proj=w(L, H, D // H, D, scale=0.02 / math.sqrt(2 * L)),
        ln2=jnp.ones((L, D)),
        up=w(L, D, 4 * D),
        down=w(L, 4 * D, D, scale=0.02 / math.sqrt(2 * L)),
    )
    return {"wte": w(V, D), "wpe": w(T, D), "blocks": blocks, "ln_f": jnp.ones(D)}


def norm(x, g):
    x = x.astype(jnp.float32)
    return g * (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def attend(q, k, v, mask):
    scores = jnp.einsum("bthd,bshd->bhts", q, k) / math.sqrt(q.shape[-1])
    probs = jax.nn.softmax(jnp.where(mask, scores, jnp.finfo(scores.dtype).min), axis=-1)
    return jnp.einsum("bhts,bshd->bthd", probs, v)


def block(x, p: Block):
    mask = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
    q, k, v = jnp.moveaxis(jnp.einsum("btd,dnhk->btnhk", norm(x, p.ln1), p.qkv), 2, 0)
    x = x + jnp.einsum("bthk,hkd->btd", attend(q, k, v, mask), p.proj)
    return x + jax.nn.gelu(norm(x, p.ln2) @ p.up) @ p.down, None


def forward(params, tokens):
    x = params["wte"][tokens] + params["wpe"][: tokens.shape[-1]]
    x, _ = jax.lax.scan(jax.checkpoint(block), x, params["blocks"])
    return norm(x, params["ln_f"]) @ params["wte"].T


def loss_fn(params, tokens):
    logp = jax.nn.log_softmax(forward(params, tokens[:, :-1]))
    return -jnp.take_along_axis(logp, tokens[:, 1:, None], axis=-1).mean()


def adamw(params, grads, state, lr=3e-3, b1=0.9, b2=0.95, eps=1e-8, wd=0.1):
    step = state["step"] + 1
    mu = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state["mu"], grads)
    nu = jax.tree.map(lambda n, g: b2 * n + (1 - b2) * g**2, state["nu"], grads)

    def new(p, m, n):
        return p - lr * (m / (1 - b1**step) / (jnp.sqrt(n / (1 - b2**step)) + eps) + wd * p * (p.ndim > 1))

    return jax.tree.map(new, params, mu, nu), {"mu": mu, "nu": nu, "step": step}


@jax.jit
def train_step(carry, key):
    params, state = carry
    starts = jax.random.randint(key, (4,), 0, IDS.size - T)
    tokens = jax.vmap(lambda s: jax.lax.dynamic_slice(IDS, (s,), (T,)))(starts)
    loss, grads = jax.value_and_grad(loss_fn)(params, tokens)
    clip = jnp.minimum(1.0, 1.0 / jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(grads))))
    return adamw(params, jax.tree.map(lambda g: g * clip, grads), state), loss


@jax.jit
def generate(params, prompt, key):
    cache = jnp.zeros((L, 2, 1, T, H, D // H))

    def step(carry, i):
        tokens, cache, key = carry
        x = (params["wte"][tokens[i]] + params["wpe"][i])[None, None]
        for n in range(L):
            p = jax.tree.map(lambda a, n=n: a[n], params["blocks"])
            q, k, v = jnp.moveaxis(jnp.einsum("btd,dnhk->btnhk", norm(x, p.ln1), p.qkv), 2, 0)
            cache = jax.lax.dynamic_update_slice(cache, jnp.stack([k, v])[None], (n, 0, 0, i, 0, 0))
            x = x + jnp.einsum("bthk,hkd->btd", attend(q, *cache[n], jnp.arange(T) <= i), p.proj)
            x = x + jax.nn.gelu(norm(x, p.ln2) @ p.up) @ p.down
        key, sub = jax.random.split(key)
        logits = (norm(x, params["ln_f"]) @ params["wte"].T)[0, 0]
        top, where = jax.lax.top_k(logits / 0.8, 5)
        chosen = where[jax.random.categorical(sub, top)]
        tokens = tokens.at[i + 1].set(jnp.where(i + 1 < prompt.size, tokens[i + 1], chosen), mode="drop")
        return (tokens, cache, key), logits

    tokens = jnp.zeros(T, int).at[: prompt.size].set(prompt)
    (tokens, _, _), logits = jax.lax.scan(step, (tokens, cache, key), jnp.arange(T))
    return tokens, logits


params = init(jax.random.key(0))
zeros = jax.tree.map(jnp.zeros_like, params)
carry = params, {"mu": zeros, "nu": zeros, "step": 0}
losses = []
for i in range(4):
    carry, loss = train_step(carry, jax.random.fold_in(jax.random.key(1), i))
    losses.append(loss)
tokens, logits = generate(carry[0], IDS[:5], jax.random.key(2))
print("".join(CHARS[i] for i in tokens))
result = losses, carry, tokens, logits
