"""`jitkit.random` beside `jax.random`: the same bits from the same keys, the same jaxprs, the same refusals."""

from __future__ import annotations

import warnings

import jax
import numpy as np
import pytest
from lax_oracle import JAXPRS_ARE_OURS

import jitkit

OURS, THEIRS = jitkit.random, jax.random
SEEDS = (0, 1, 42, -1, -7, 2**31 - 1, 2**31, 2**32 - 1, 2**40 + 3, -(2**35))
SHAPES = ((), (1,), (5,), (0,), (3, 4), (2, 0, 3), (2, 3, 4), (1001,))


def seen(x):
    """What is seen of an array: its type, and its elements; of keys, what they are made of."""
    if "key<" in str(x.dtype):
        random = THEIRS if isinstance(x, jax.Array) and not isinstance(x, jitkit.Array) else OURS
        return str(x.dtype), x.shape, np.asarray(random.key_data(x)).tobytes()
    return str(x.dtype), bool(x.weak_type), x.shape, np.asarray(x).tobytes()


def both(program, seed=0, style="key"):
    """The program's results with a key of this style, and the jaxprs of a function of the key."""
    results, jaxprs = [], []
    for package, random in ((jitkit, OURS), (jax, THEIRS)):
        key = getattr(random, style)(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            eager = program(random, key)
            results.append([[seen(x) for x in package.tree_util.tree_leaves(eager)]])
            jitted = package.jit(lambda k, random=random: program(random, k))(key)
            results[-1].append([seen(x) for x in package.tree_util.tree_leaves(jitted)])
            jaxprs.append(str(package.make_jaxpr(lambda k, random=random: program(random, k))(key)))
    return results, jaxprs


def assert_same_random(program, seed=0, style="key"):
    (ours, theirs), (our_jaxpr, their_jaxpr) = both(program, seed, style)
    assert ours == theirs
    if JAXPRS_ARE_OURS:
        assert our_jaxpr == their_jaxpr


# --- samplers -----------------------------------------------------------------------------------------------

SAMPLERS = {
    "bits": lambda r, k, shape: r.bits(k, shape),
    "uniform": lambda r, k, shape: r.uniform(k, shape),
    "normal": lambda r, k, shape: r.normal(k, shape),
    "truncated_normal": lambda r, k, shape: r.truncated_normal(k, -2.0, 1.5, shape),
    "bernoulli": lambda r, k, shape: r.bernoulli(k, 0.3, shape),
    "randint": lambda r, k, shape: r.randint(k, shape, -3, 40),
    "rademacher": lambda r, k, shape: r.rademacher(k, shape),
}
every_sampler = pytest.mark.parametrize("name", SAMPLERS)


@every_sampler
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("style", ["key", "PRNGKey"])
def test_a_sampler_gives_the_bits_of_jax_in_every_shape(name, shape, style):
    assert_same_random(lambda r, k: SAMPLERS[name](r, k, shape), style=style)
