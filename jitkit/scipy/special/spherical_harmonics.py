"""Spherical harmonics: waves on a sphere, of a degree n and an order m.

A harmonic is an associated Legendre function of cos(theta), times exp(i m phi). The Legendre functions of all degrees
up to the largest one make a table [order, degree, point]: its diagonal and the one beside it are products, and a
recurrence goes on from two degrees to the next.

JAX: jax/_src/scipy/special.py:sph_harm_y
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...core import dtypes
from ...core.tracer import concrete_or_error
from ...pjit.jit import jit

_FIRST = 0.5  # divided by the root of pi: the value of the harmonic of degree 0


def _recurrence(most: int, dtype: Any) -> tuple[Any, Any]:
    """Return the factors by which the recurrence multiplies the functions of the degree before, and of the degree
    before that. They are two tables [difference, order, degree], which are 0 unless the difference is degree - order.
    """
    orders = jnp.arange(most + 1, dtype=dtype)
    m, n = jnp.meshgrid(orders, jnp.arange(most + 1, dtype=dtype), indexing="ij")
    squares, orders_squared, double, before = n * n, m * m, 2.0 * n, (n - 1.0) * (n - 1.0)
    one = jnp.sqrt((4.0 * squares - 1.0) / (squares - orders_squared))
    two = jnp.sqrt(((double + 1.0) * (before - orders_squared)) / ((double - 3.0) * (squares - orders_squared)))
    above, far_above = jnp.triu_indices(most + 1, 1), jnp.triu_indices(most + 1, 2)
    zeros = jnp.zeros((most + 1, most + 1), dtype=dtype)
    one, two = zeros.at[above].set(one[above]), zeros.at[far_above].set(two[far_above])
    i, j, k = jnp.ogrid[: most + 1, : most + 1, : most + 1]
    diagonals = (i + j - k == 0).astype(dtype)
    return jnp.einsum("jk,ijk->ijk", one, diagonals), jnp.einsum("jk,ijk->ijk", two, diagonals)


@functools.partial(jit, static_argnums=(0, 2))
def _gen_associated_legendre(l_max: int, x: Any, is_normalized: bool) -> Any:
    """Return the Legendre functions of numbers x, normalised, as a table [order, degree, number]. `is_normalized` changes nothing."""
    table = jnp.zeros((l_max + 1, l_max + 1, x.shape[0]), dtype=x.dtype)
    counts, from_0 = jnp.arange(1, l_max + 1, dtype=x.dtype), jnp.arange(l_max, dtype=x.dtype)
    first = _FIRST / jnp.sqrt(np.pi)
    on, beside = jnp.cumprod(-1 * jnp.sqrt(1.0 + 0.5 / counts)), jnp.sqrt(2.0 * from_0 + 3.0)
    table = table.at[(0, 0)].set(first)
    sines = jnp.cumprod(jnp.broadcast_to(jnp.sqrt(1.0 - x * x), (l_max, x.shape[0])), axis=0)
    diagonal = first * jnp.einsum("i,ij->ij", on, sines)
    rows, columns = jnp.diag_indices(l_max + 1)
    table = table.at[(rows[1:], columns[1:])].set(diagonal)
    next_one = jnp.einsum("ij,ij->ij", jnp.einsum("i,j->ij", beside, x), table[jnp.diag_indices(l_max)])
    table = table.at[(rows[:l_max], columns[:l_max] + 1)].set(next_one)
    one_before, two_before = _recurrence(l_max, x.dtype)

    def next_degree(i: Any, table: Any) -> Any:
        one, two = one_before[i], two_before[i]
        from_one = jnp.einsum("ij,ijk->ijk", one, jnp.einsum("ijk,k->ijk", jnp.roll(table, shift=1, axis=1), x))
        return table + (from_one - jnp.einsum("ij,ijk->ijk", two, jnp.roll(table, shift=2, axis=1)))

    table = table.astype(dtypes.result_type(table, x, one_before))
    return lax.fori_loop(lower=2, upper=l_max + 1, body_fun=next_degree, init_val=table) if l_max > 1 else table


@functools.partial(jit, static_argnums=(4,))
def _sph_harm(n: Any, m: Any, theta: Any, phi: Any, n_max: int) -> Any:
    cosine = jnp.cos(theta)
    legendre = _gen_associated_legendre(n_max, cosine, True)
    height = legendre.at[abs(m), n, jnp.arange(len(n))].get(mode="clip")
    angle = abs(m) * phi
    wave = lax.complex(jnp.cos(angle), jnp.sin(angle))
    harmonics = lax.complex(height * jnp.real(wave), height * jnp.imag(wave))
    return jnp.where(m < 0, (-1.0) ** abs(m) * jnp.conjugate(harmonics), harmonics)


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, diff_n: int | None = None, n_max: int | None = None) -> Any:
    """Return the spherical harmonics of degrees n and orders m in directions, as a vector of complex numbers.

    Args:
      n: the degrees, a vector of ints, not negative.
      m: the orders, ints of absolute value at most n.
      theta: the polar angles, from 0 to pi.
      phi: the azimuthal angles, from 0 to 2 pi.
      diff_n: must be None; SciPy has derivatives here.
      n_max: the largest degree, by default that in `n`; it must be given in a trace. A larger n counts as this one.

    Raises:
      NotImplementedError: if `diff_n` is given.
    """
    if diff_n is not None:
        raise NotImplementedError("The 'diff_n' argument to jax.scipy.special.sph_harm_y is not supported.")
    if jnp.isscalar(theta):
        theta = jnp.array([theta])
    if n_max is None:
        n_max = np.max(n)
    most = concrete_or_error(
        int,
        n_max,
        "The `n_max` argument of `jnp.scipy.special.sph_harm` must be statically specified to use `sph_harm` within JAX transformations.",
    )
    return _sph_harm(n, m, theta, phi, most)
