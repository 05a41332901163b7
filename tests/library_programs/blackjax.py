"""blackjax: a hundred steps of NUTS for the place and width of a sample."""

import blackjax
import jax
import jax.numpy as jnp
import jax.scipy.stats as stats
import numpy as np

observed = np.random.RandomState(0).normal(10, 20, size=1_000)


def logdensity_fn(x):
    return jnp.sum(stats.norm.logpdf(observed, x["loc"], x["scale"]))


nuts = blackjax.nuts(logdensity_fn, 1e-3, jnp.array([1.0, 1.0]))
state = nuts.init({"loc": 1.0, "scale": 2.0})
step = jax.jit(nuts.step)
key = jax.random.key(0)
steps = []
for i in range(100):
    state, info = step(jax.random.fold_in(key, i), state)
    steps.append(info.num_integration_steps)
result = state, steps
