"""`jitkit.scipy`: functions with scipy's names. Special functions, and distributions.

Comes in: arrays. Goes out: arrays, made of `jitkit.numpy` and `jitkit.lax`. `special` first, then `stats`, which is made of it.

JAX: jax/_src/scipy/special.py:erf
"""

from __future__ import annotations

from . import special as special
from . import stats as stats
