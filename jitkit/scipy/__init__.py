"""`jitkit.scipy`: functions with scipy's names. Special functions, and distributions.

Comes in: arrays. Goes out: arrays, made of `jitkit.numpy` and `jitkit.lax`. In the order of
reading:

    special                  error functions, gamma and beta functions, entropies, the normal distribution
    log_beta, normal_tail, complex_gamma    where the plain formulas lose their digits
    stats                    distributions, which are made of these

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
