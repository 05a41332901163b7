"""`jitkit.scipy`: functions with scipy's names. Special functions, and distributions.

Comes in: arrays. Goes out: arrays, made of `jitkit.numpy` and `jitkit.lax`. `special` first, then `stats`, which is made of it.

JAX: jax/_src/scipy/special.py:erf
"""

from __future__ import annotations

import sys

from ..base import missing_names
from . import special as special
from . import stats as stats

for _name, _module in {
    "scipy": sys.modules[__name__], "scipy.special": special, "scipy.stats": stats,
    "scipy.stats.norm": stats.norm,
}.items():  # fmt: skip
    missing_names.explain(_name, _module)
