"""Twenty-one programs that are written in the same way for JAX and for jitkit: `programs(jax)` returns them for either."""

from __future__ import annotations


def programs(jax):
    """Return functions by name, each with the types of its arguments. `jax` is JAX or jitkit."""
    jnp, lax, nn, random = jax.numpy, jax.lax, jax.nn, jax.random

    def f32(*shape):
        return jax.ShapeDtypeStruct(shape, "float32")

    def i32(*shape):
        return jax.ShapeDtypeStruct(shape, "int32")

    def selu(x, alpha=1.67, lmbda=1.05):
        return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

    def softmax(x):
        shifted = x - x.max(axis=-1, keepdims=True)
        powers = jnp.exp(shifted)
        return powers / powers.sum(axis=-1, keepdims=True)

    def norm(x, gain, bias):
        mean = x.mean(axis=-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
        return (x - mean) * lax.rsqrt(variance + 1e-6) * gain + bias

    def network(params, x):
        hidden = jnp.tanh(x @ params["w1"] + params["b1"])
        return hidden @ params["w2"] + params["b2"]

    weights = {"w1": f32(8, 16), "b1": f32(16), "w2": f32(16, 4), "b2": f32(4)}

    def loss(params, x, y):
        error = network(params, x) - y
        return (error**2).mean()

    def update(params, x, y):
        slopes = jax.grad(loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, slopes)

    def cross_entropy(logits, labels):
        log_p = nn.log_softmax(logits)
        chosen = jnp.take_along_axis(log_p, labels[:, None], axis=1)
        return -chosen.mean()

    def attention(q, k, v):
        scores = jnp.einsum("bqd,bkd->bqk", q, k) / jnp.sqrt(jnp.float32(q.shape[-1]))
        mask = jnp.tril(jnp.ones((q.shape[1], k.shape[1]), bool))
        scores = jnp.where(mask, scores, -1e9)
        return jnp.einsum("bqk,bkd->bqd", softmax(scores), v)

    def block(params, x):
        y = norm(x, params["gain"], params["bias"])
        x = x + attention(y @ params["q"], y @ params["k"], y @ params["v"]) @ params["o"]
        y = norm(x, params["gain"], params["bias"])
        return x + nn.gelu(y @ params["up"]) @ params["down"]

    square = {name: f32(8, 8) for name in "qkvo"}
    of_block = {**square, "gain": f32(8), "bias": f32(8), "up": f32(8, 32), "down": f32(32, 8)}

    def block_loss(params, x):
        return (block(params, x) ** 2).mean()

    def recurrent(params, xs):
        def step(h, x):
            h = jnp.tanh(x @ params["x"] + h @ params["h"])
            return h, h.sum()

        last, sums = lax.scan(step, jnp.zeros(8), xs)
        return last.sum() + sums.mean()

    of_rnn = {"x": f32(4, 8), "h": f32(8, 8)}

    def newton(x):
        def unfinished(state):
            guess, i = state
            return (jnp.abs(guess * guess - x) > 1e-4) & (i < 20)

        def better(state):
            guess, i = state
            return 0.5 * (guess + x / guess), i + 1

        return lax.while_loop(unfinished, better, (x, 0))[0]

    def choose(x):
        return lax.cond(x.sum() > 0, lambda v: jnp.sin(v), lambda v: v * 2.0, x)

    def one_of(i, x):
        return lax.switch(i, [lambda v: v + 1.0, lambda v: v * v, jnp.cos], x)

    def powers(x):
        return lax.fori_loop(0, 5, lambda i, v: v * x + i, x)

    def distances(xs, ys):
        def between(x, y):
            return jnp.sqrt(((x - y) ** 2).sum() + 1e-9)

        return jax.vmap(jax.vmap(between, (None, 0)), (0, None))(xs, ys)

    def convolve(x, kernel):
        out = lax.conv_general_dilated(x, kernel, (1, 1), "SAME")
        return nn.relu(out).mean(axis=(2, 3))

    def histogram(x, weights):
        places = jnp.clip((x * 10).astype("int32"), 0, 9)
        return jnp.zeros(10).at[places].add(weights)

    def best(x):
        order = jnp.argsort(x)
        return x[order][:3], jnp.argmax(x), jnp.cumsum(x)

    def dropout(key, x):
        kept = random.bernoulli(key, 0.9, x.shape)
        return jnp.where(kept, x / 0.9, 0.0)

    def spectrum(x):
        return jnp.abs(jnp.fft.rfft(x)) ** 2

    key = jax.ShapeDtypeStruct((2,), "uint32")
    return {
        "selu": (selu, (f32(1000),)),
        "softmax": (softmax, (f32(32, 10),)),
        "norm": (norm, (f32(32, 16), f32(16), f32(16))),
        "network": (network, (weights, f32(32, 8))),
        "update": (update, (weights, f32(32, 8), f32(32, 4))),
        "cross_entropy": (cross_entropy, (f32(32, 10), i32(32))),
        "attention": (attention, (f32(2, 6, 8), f32(2, 6, 8), f32(2, 6, 8))),
        "block": (block, (of_block, f32(2, 6, 8))),
        "block_gradient": (jax.grad(block_loss), (of_block, f32(2, 6, 8))),
        "recurrent": (recurrent, (of_rnn, f32(10, 4))),
        "recurrent_gradient": (jax.grad(recurrent), (of_rnn, f32(10, 4))),
        "newton": (newton, (f32(),)),
        "choose": (choose, (f32(5),)),
        "one_of": (one_of, (i32(), f32(5))),
        "powers": (powers, (f32(4),)),
        "distances": (distances, (f32(5, 3), f32(7, 3))),
        "convolve": (convolve, (f32(2, 3, 8, 8), f32(4, 3, 3, 3))),
        "histogram": (histogram, (f32(50), f32(50))),
        "best": (best, (f32(20),)),
        "dropout": (dropout, (key, f32(100))),
        "spectrum": (spectrum, (f32(64),)),
    }
