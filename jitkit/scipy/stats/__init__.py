"""`jitkit.scipy.stats`: distributions, each in a module of its own, with scipy's names for what is asked of it.

Comes in: points, or parts of the whole, and parameters. Goes out: densities, parts, points: `logpdf pdf cdf logcdf sf logsf ppf
isf`, as far as they are here.

JAX: jax/_src/scipy/stats/norm.py:logpdf
"""

from __future__ import annotations

from . import expon as expon
from . import norm as norm
from . import uniform as uniform
