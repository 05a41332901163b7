"""`scipy.stats` of samples, of parts of a whole and of counts: values, programs, gradients and refusals as JAX's."""

from __future__ import annotations

import jax
import jax.scipy.stats
import numpy as np
import pytest
from lax_oracle import JAXPRS_ARE_OURS, error_of
from tails import one_in

import jitkit

POINTS = np.float32([[0.5, -1, 2, 0.7, 1.5], [1, 0.2, -0.3, 2, 0.1]])
WEIGHTS = np.float32([1, 2, 3, 1, 1])

CALLS = [
    "stats.dirichlet.logpdf(jnp.array([0.2, 0.3, 0.5]), w[:3])",
    "stats.dirichlet.pdf(jnp.array([[0.2, 0.3], [0.8, 0.6]]), w[1:3])",
    "stats.dirichlet.pdf(jnp.array([0.2, 0.3]), w[:3])",
    "stats.multinomial.logpmf(np.array([1, 2, 3]), 6, w[:3] / 6)",
    "stats.multinomial.pmf(np.array([1, 2, 3]), np.array([6, 7]), w[:3] / 6)",
    "stats.mode(jnp.round(x))",
    "stats.mode(jnp.round(x), axis=None, keepdims=True)",
    "stats.mode(x[:0], axis=0)",
    *(f"stats.rankdata(jnp.round(x), {method!r})" for method in ("average", "min", "max", "dense", "ordinal")),
    "stats.rankdata(x, axis=1)",
    "stats.rankdata(x.at[0, 1].set(jnp.nan))",
    "stats.sem(x)",
    "stats.sem(x.at[0, 1].set(jnp.nan), None, nan_policy='omit')",
    "stats.sem(x, ddof=0, keepdims=True)",
    "stats.gaussian_kde(x)(x[:, :2] + 0.5)",
    "stats.gaussian_kde(x, 'silverman', w).logpdf(x[:, :2] + 0.5)",
    "stats.gaussian_kde(x[0], 0.5).integrate_box_1d(0.0, 1.0)",
    "stats.gaussian_kde(x).integrate_gaussian(w[:2], jnp.eye(2))",
    "stats.gaussian_kde(x).integrate_kde(stats.gaussian_kde(x[:, :3]))",
    "stats.gaussian_kde(x, lambda kde: kde.neff / 3)",
    "stats.gaussian_kde(x).resample(jax.random.key(3), (4,))",
    "jax.jit(lambda kde, p: kde.pdf(p))(stats.gaussian_kde(x), x[:, 0])",
]
REFUSALS = [
    "stats.dirichlet.pdf(w, x)",
    "stats.dirichlet.pdf(w, w[:2])",
    "stats.multinomial.pmf(w, 3, w)",
    "stats.mode(x, nan_policy='omit')",
    "stats.mode(x, nan_policy='raise')",
    "stats.mode(x, nan_policy='many')",
    "stats.rankdata(x, 'many')",
    "stats.rankdata(x, nan_policy='raise')",
    "stats.sem(x, nan_policy='raise')",
    "stats.gaussian_kde(1.0)",
    "stats.gaussian_kde(x * 1j)",
    "stats.gaussian_kde(x, 'many')",
    "stats.gaussian_kde(x, weights=w[:3])",
    "stats.gaussian_kde(x)(w)",
    "stats.gaussian_kde(x).integrate_box_1d(0.0, 1.0)",
    "stats.gaussian_kde(x).integrate_gaussian(w, jnp.eye(2))",
    "stats.gaussian_kde(x).integrate_kde(stats.gaussian_kde(x[0]))",
    "stats.gaussian_kde(x).set_bandwidth(2)",
]


def function(library, code):
    """Return the call as a function of points and weights."""
    names = {"jnp": library.numpy, "stats": library.scipy.stats, "jax": library, "np": np}
    return lambda x, w: eval(code, names, {"x": library.numpy.asarray(x), "w": library.numpy.asarray(w)})


def slopes(library, code):
    """Return a function that computes the gradient of the sum of all float32 results."""

    def total(x, w):
        leaves = library.tree.leaves(function(library, code)(x, w))
        return sum(leaf.sum() for leaf in leaves if leaf.dtype == np.float32)

    return library.grad(total, (0, 1))


@pytest.mark.skipif(not JAXPRS_ARE_OURS, reason="needs jax < 0.11, whose programs these are")
@pytest.mark.parametrize(
    "code", [code for code in CALLS if "rankdata" not in code]
)  # JAX shares fewer jaxprs in `rankdata`
def test_programs_are_printed_as_in_jax(code):
    found = [
        str(library.make_jaxpr(lambda x, w, lib=library: function(lib, code)(x, w))(POINTS, WEIGHTS))
        for library in (jitkit, jax)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("code", one_in(3, CALLS))  # equal jaxprs are equal programs
def test_values_and_gradients_are_those_of_jax(code):
    found = [
        library.tree.leaves(
            library.jit(lambda x, w, lib=library: (function(lib, code)(x, w), slopes(lib, code)(x, w)))(POINTS, WEIGHTS)
        )
        for library in (jitkit, jax)
    ]
    for ours, theirs in zip(*found, strict=True):
        assert ours.aval.str_short() == theirs.aval.str_short()
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("code", REFUSALS)
def test_what_jax_refuses_is_refused_in_its_words(code):
    ours, theirs = (error_of(function(library, code), POINTS, WEIGHTS) for library in (jitkit, jax))
    assert theirs is not None
    assert ours == theirs


def test_an_estimate_is_a_tree_of_its_arrays():
    kde = jitkit.scipy.stats.gaussian_kde(POINTS, weights=WEIGHTS)
    leaves, tree = jitkit.tree.flatten(kde)
    again = jitkit.tree.unflatten(tree, leaves)
    assert [leaf.shape for leaf in leaves] == [(), (2, 5), (5,), (2, 2), (2, 2)]
    assert (again.d, again.n) == (2, 5)
    assert again.weights is kde.weights
