"""Computes Spence's function, the dilogarithm.

It is a quotient of polynomials near 1, with the coefficients of Cephes (S. Moshier, spence.c); its functional equations
bring other numbers there.

JAX: jax/_src/scipy/special.py:spence
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as jnp
from ...core import dtypes

# the numerator and the denominator, from the highest power on
_NEAR_1 = (
    (4.6512858607399003e-05, 0.007315890452380947, 0.13384763957830903, 0.8796913117545303, 2.7114985119655346,
     4.256971560081218, 3.297713409852251, 1.0),
    (0.0006909904889125533, 0.02540437639325444, 0.2829748606025681, 1.4117259775183106, 3.6380053334513707,
     5.03278880143317, 3.547713409852251, 1.0),
)  # fmt: skip


def _near_1(w: Any) -> Any:
    above, below = (jnp.array(each, dtype=w.dtype) for each in _NEAR_1)
    return -w * jnp.polyval(above, w) / jnp.polyval(below, w)


def _of_positive(x: Any) -> Any:
    is_inverted = x > 2.0
    x = jnp.piecewise(x, [is_inverted], [lambda x: 1.0 / x, lambda x: x])
    is_above, is_below = x > 1.5, x < 0.5
    is_inverted = is_inverted | is_above
    w = jnp.piecewise(x, [is_above, is_below], [lambda x: 1.0 / x - 1.0, lambda x: -x, lambda x: x - 1.0])
    y = _near_1(w)
    y = jnp.where(is_below, np.pi**2 / 6.0 - jnp.log(x) * jnp.log(1.0 - x) - y, y)
    return jnp.where(is_inverted, -0.5 * jnp.log(x) ** 2 - y, y)


def spence(x: Any) -> Any:
    """Return the integral of log(t) / (1 - t) from 1 to x; nan for negative x. Raise TypeError unless x is in float32 or float64."""
    x = jnp.asarray(x)
    dtype = dtypes.dtype(x)
    if dtype not in (np.float32, np.float64):
        raise TypeError(f"x.dtype={dtype} is not supported, see docstring for supported types.")
    return jnp.piecewise(x, [x < 0.0, x == 1.0, x == 0.0], [np.nan, 0, np.pi**2 / 6, _of_positive])
