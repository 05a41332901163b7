"""The incomplete gamma and beta functions, their derivatives, and those of samples of the gamma distribution, against JAX."""

from __future__ import annotations

import importlib

import jax
import jax.scipy.stats
import numpy as np
from lax_oracle import JAXPRS_ARE_OURS
from tails import some_of
from twin import OURS, THEIRS, plain, raised, same_as_jax

import jitkit

EDGES = np.meshgrid(
    np.array([0, 0.1, 0.5, 1, 2, 5, 10, 100, -1, np.nan, 1e-3], np.float32),
    np.array([0, 1e-5, 0.2, 0.5, 1, 3, 7, 49, 120, -1, np.nan, np.inf], np.float32),
)


def special(jax):
    return importlib.import_module(f"{jax.__name__}.scipy.special")


def with_its_bits(program):
    """Return a test: a program gives the same bits as with JAX 0.10, whose expansions we use, and close values with
    later versions.
    """

    def test():
        theirs, ours = program(*THEIRS), program(*OURS)
        if JAXPRS_ARE_OURS:
            assert plain(ours) == plain(theirs)
        numbers = [[x for x in jax.tree.leaves(tree) if not isinstance(x, str)] for tree in (ours, theirs)]
        for a, b in zip(*numbers, strict=True):
            narrow = np.asarray(b).dtype == np.float16
            np.testing.assert_allclose(
                np.asarray(a), np.asarray(b), rtol=1e-2 if narrow else 2e-3, atol=1e-3 if narrow else 1e-6
            )

    test.__name__ = program.__name__
    return test


@with_its_bits
def test_values_at_the_edges(jax, jnp):
    a, x = EDGES
    with np.errstate(all="ignore"):
        return [
            [f(a.astype(dtype), x.astype(dtype)) for f in (special(jax).gammainc, special(jax).gammaincc)]
            for dtype in ("float32", "float16")
        ]


@with_its_bits
def test_derivatives_at_the_edges(jax, jnp):
    a, x = map(jnp.asarray, EDGES)
    return jax.lax.igamma_grad_a(a, x), jax.lax.random_gamma_grad(a, x)


@with_its_bits
def test_programs(jax, jnp):
    a, x = np.float32([0.3, 1.0, 8.0]), np.float32([0.2, 3.0, 7.0])
    gammainc, gammaincc = special(jax).gammainc, special(jax).gammaincc
    return [
        jax.vmap(jax.grad(gammainc, (0, 1)))(a, x),
        jax.vmap(jax.grad(gammaincc, (0, 1)))(a, x),
        gammainc(2, x),
        str(jax.make_jaxpr(gammainc)(2.0, x)),
        str(jax.make_jaxpr(jax.grad(gammaincc, (0, 1)))(2.0, 1.0)),
        str(jax.make_jaxpr(jax.vmap(gammainc, (0, None)))(a, 1.0)),
    ]


def test_both_parts_are_all_of_it_and_doubles_agree_with_scipy():
    scipy = importlib.import_module("scipy.special")  # it comes with jax
    rng = np.random.default_rng(0)
    with jitkit.enable_x64(True):
        a, x = rng.gamma(2.0, 3.0, 200), rng.gamma(2.0, 3.0, 200)
        below, above = special(jitkit).gammainc(a, x), special(jitkit).gammaincc(a, x)
        np.testing.assert_allclose(below, scipy.gammainc(a, x), rtol=1e-12)
        np.testing.assert_allclose(above, scipy.gammaincc(a, x), rtol=1e-10)
        step = 1e-6
        slope = (scipy.gammainc(a + step, x) - scipy.gammainc(a - step, x)) / (2 * step)
        np.testing.assert_allclose(jitkit.lax.igamma_grad_a(a, x), slope, rtol=1e-5, atol=1e-9)


SHAPES = np.float32([0, 1e-40, 0.01, 0.1, 1, 3.3, 100, -1, np.inf, np.nan])
POINTS = np.float32([0, 1e-30, 0.2, 0.5, 0.999, 1, -0.1, 1.1, np.inf, np.nan])


@with_its_bits
def test_incomplete_beta_at_the_edges(jax, jnp):
    edges = np.meshgrid(SHAPES, SHAPES, POINTS)
    with np.errstate(all="ignore"):
        return [special(jax).betainc(*(v.astype(dtype) for v in edges)) for dtype in ("float32", "float16")]


@with_its_bits
def test_programs_of_incomplete_beta(jax, jnp):
    a, b, x = np.float32([0.3, 1.0, 8.0]), np.float32([5.0, 3.0, 0.7]), np.float32([0.2, 0.6, 0.9])
    betainc = special(jax).betainc
    return [
        jax.vmap(jax.grad(betainc, 2))(a, b, x),
        jax.vmap(jax.grad(jax.scipy.stats.beta.logcdf))(x, a, b),
        betainc(2, b, 0.3),
        jax.vmap(betainc, (0, None, None))(a, 2.0, 0.3),
        str(jax.make_jaxpr(betainc)(2.0, b, 0.3)),
        str(jax.make_jaxpr(jax.grad(betainc, 2))(2.0, 1.0, 0.3)),
    ]


@same_as_jax
def test_incomplete_beta_has_no_derivative_by_its_shapes(jax, jnp):
    return raised(jax.grad(special(jax).betainc, 1), 2.0, 1.0, 0.3)


def test_incomplete_beta_of_doubles_agrees_with_scipy():
    scipy = importlib.import_module("scipy.special")  # it comes with jax
    rng = np.random.default_rng(0)
    with jitkit.enable_x64(True):
        a, b, x = rng.gamma(2.0, 3.0, 200), rng.gamma(2.0, 3.0, 200), rng.uniform(size=200)
        np.testing.assert_allclose(special(jitkit).betainc(a, b, x), scipy.betainc(a, b, x), rtol=1e-10)


@with_its_bits
def test_samples_move_with_their_parameter(jax, jnp):
    key, random = jax.random.key(3), jax.random
    slopes = [
        lambda: jax.grad(lambda a: random.gamma(key, a, (4,)).sum())(0.7),
        lambda: jax.jit(jax.grad(lambda a: random.gamma(key, a, (4,)).sum()))(2.7),
        lambda: jax.grad(lambda a: random.loggamma(key, a, (4,)).sum())(0.3),
        lambda: jax.grad(lambda a: random.beta(key, a, 2.0, (4,)).sum())(0.3),
        lambda: jax.jacobian(lambda a: random.dirichlet(key, a))(jnp.array([0.3, 1.0, 2.0])),
        lambda: jax.grad(lambda a: random.t(key, a, (4,)).sum())(3.3),
        lambda: jax.vmap(jax.grad(lambda a: random.gamma(key, a)))(jnp.array([0.3, 1.0, 2.0])),
        lambda: jax.grad(lambda a: random.gamma(key, a * 2).sum())(jnp.ones((2, 2))),
    ]
    return [slope() for slope in some_of(slopes)]
