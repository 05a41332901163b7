"""Random numbers from keys, with JAX's names: the same key gives the same bits, here and in JAX.

    key = random.key(0)
    key, subkey = random.split(key)
    x = random.normal(subkey, (3,))

`prng` says what a key is, `threefry2x32` how bits come from it, `keys` what a user does with keys; the
samplers are in `uniform`, `continuous` and `discrete`.

JAX: jax/_src/random/core.py:key
"""

from __future__ import annotations

from .continuous import normal as normal
from .continuous import truncated_normal as truncated_normal
from .keys import PRNGKey as PRNGKey
from .keys import clone as clone
from .keys import fold_in as fold_in
from .keys import key as key
from .keys import key_data as key_data
from .keys import key_dtype as key_dtype
from .keys import key_impl as key_impl
from .keys import split as split
from .keys import wrap_key_data as wrap_key_data
from .uniform import bernoulli as bernoulli
from .uniform import bits as bits
from .uniform import rademacher as rademacher
from .uniform import randint as randint
from .uniform import uniform as uniform
