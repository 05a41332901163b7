"""Owen's T: the probability that X > h and 0 < Y < a X, for independent standard normal variables X and Y.

The integral is a sum over thirteen points, for a up to 1; for a larger a, T of 1 / a gives it. Patefield and Tandy,
"Fast and accurate calculation of Owen's T function", J. Stat. Soft. 5 (2000), method T5.

JAX: jax/_src/scipy/special.py:owens_t
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...custom_derivatives import custom_jvp
from ...numpy.ufuncs import constant
from ..arguments import promoted

_POINTS = (
    0.0035082039676451716, 0.031279042338030756, 0.08526682628321945, 0.16245071730812277, 0.25851196049125436,
    0.3680755384069753, 0.485010929056047, 0.6027751415261857, 0.7147788421775323, 0.814755109887601,
    0.8971102975594897, 0.9572380808594426, 0.991788329746297,
)  # fmt: skip
_WEIGHTS = (
    0.018831438115323503, 0.01856708624397765, 0.018042093461223385, 0.017263829606398752, 0.016243219975989858,
    0.014994592034116705, 0.013535474469662087, 0.011886351605820165, 0.010070377242777432, 0.008113054574229958,
    0.006041900952847024, 0.0038862217010742057, 0.001679303108454609,
)  # fmt: skip


def _by_points(h: Any, a: Any) -> Any:
    points = jnp.expand_dims(np.array(_POINTS), tuple(range(a.ndim)))
    r = jnp.square(a)[..., None] * points
    heights = jnp.exp(-0.5 * jnp.square(h)[..., None] * (1.0 + r)) / (1.0 + r)
    return a * (heights @ np.array(_WEIGHTS))


@custom_jvp
def _owens_t_impl(h: Any, a: Any) -> Any:
    h, size = jnp.abs(h), jnp.abs(a)
    root_2 = constant(h, np.sqrt(2))
    x = h / root_2
    a_inside = jnp.where(size <= 1.0, size, jnp.reciprocal(size))
    h_inside = jnp.where(size <= 1.0, h, size * h)
    found = _by_points(h_inside, a_inside)
    found = jnp.where(h_inside == 0.0, jnp.arctan(a_inside) / (2 * np.pi), found)
    found = jnp.where(a_inside == 1.0, 0.125 * lax.erfc(-h_inside / root_2) * lax.erfc(h_inside / root_2), found)
    tail, tail_of_product = lax.erfc(x), lax.erfc(size * x)
    found = jnp.where(
        size > 1.0,
        jnp.where(
            size * h <= 0.67,
            0.25 - 0.25 * lax.erf(x) * lax.erf(size * x) - found,
            0.25 * (tail + tail_of_product - tail * tail_of_product) - found,
        ),
        found,
    )
    found = lax.sign(a) * found
    return jnp.where(jnp.isnan(a) | jnp.isnan(h), jnp.full_like(found, jnp.nan), found)


@_owens_t_impl.defjvp
def _owens_t_jvp(primals: Any, tangents: Any) -> Any:
    (h, a), (h_dot, a_dot) = primals, tangents
    found = _owens_t_impl(h, a)
    root_2 = constant(h, np.sqrt(2))
    by_h = -lax.exp(-0.5 * lax.square(h)) * lax.erf(a * h / root_2) / (2.0 * constant(h, np.sqrt(2.0 * np.pi)))
    by_a = lax.exp(-0.5 * (lax.square(a) + 1.0) * lax.square(h)) / (2.0 * np.pi * (lax.square(a) + 1.0))
    return found, (by_h * h_dot + by_a * a_dot).astype(found.dtype)


def owens_t(h: Any, a: Any) -> Any:
    """Return Owen's T of real h and a: the integral of exp(-h**2 (1 + t**2) / 2) / (2 pi (1 + t**2)) from 0 to a."""
    h, a = promoted("owens_t", h, a)
    return _owens_t_impl(h, a)
