"""Random vectors, and counts of successes, against JAX: the same bits for the same key, the same jaxprs and refusals."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from lax_oracle import JAX_VERSION, describe, error_of
from tails import some_of

import jitkit

COV = np.array([[2, 0.5], [0.5, 1]], "f")

SAMPLES = """
dirichlet(key, np.array([0.1, 2, 3], "f"))
dirichlet(key, np.array([0.1, 2, 3], "f"), (4,))
dirichlet(key, np.arange(1, 4), (2,), "float16")
multivariate_normal(key, np.zeros(2, "f"), COV)
multivariate_normal(key, np.zeros((3, 2), "f"), COV, (5, 3), method="eigh")
multivariate_normal(key, np.zeros(2, "f"), COV, method="svd")
orthogonal(key, 3)
orthogonal(key, 2, (2,), m=4)
orthogonal(key, 3, dtype="complex64", m=2)
binomial(key, 10, 0.3, (5,))
binomial(key, np.array([5, 1000, -1, np.inf, np.nan, 7.5]), np.array([0.9, 0.3, 0.3, 0.4, 0.5, -1], "f"))
multinomial(key, 100, np.array([0.2, 0.3, 0.5], "f"))
multinomial(key, np.array([5, 9]), np.array([[0.2, 0.3, 0.5], [0, 1, 0]], "f"), dtype=int)
""".strip().splitlines()

REFUSALS = """
dirichlet(key, 2.0)
dirichlet(key, np.ones(3), (2,), int)
dirichlet(key, np.ones((2, 3)), (3,))
multivariate_normal(key, 1.0, COV)
multivariate_normal(key, np.ones(2), 1.0)
multivariate_normal(key, np.ones(3), COV)
multivariate_normal(key, np.ones(2), COV, method="x")
multivariate_normal(key, np.ones(2), COV, dtype=int)
multivariate_normal(key, np.ones((3, 2)), COV, (4,))
binomial(key, 3, 0.5, dtype=int)
binomial(key, np.ones(3), 0.5, (2,))
orthogonal(key, 2.5)
orthogonal(3, 2)
""".strip().splitlines()


def program(library, text):
    return lambda key: eval(f"random.{text}", {"random": library.random, "key": key, "np": np, "COV": COV})


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_random_vectors_and_counts_have_the_bits_of_jax():
    computed = some_of(SAMPLES, 2)  # equal jaxprs compute the same

    def everything(library):
        return lambda key: [program(library, text)(key) for text in computed]

    if JAX_VERSION < (0, 11):  # later versions of JAX inline later, in bodies of loops, too
        for text in SAMPLES:
            if not text.startswith("orthogonal"):  # it takes a diagonal, which JAX computes by other operations
                ours, theirs = (lib.make_jaxpr(program(lib, text))(lib.random.key(3)) for lib in (jitkit, jax))
                assert str(ours) == str(theirs), text
    ours, theirs = (lib.jit(everything(lib))(lib.random.key(3)) for lib in (jitkit, jax))
    for text, a, b in zip(computed, ours, theirs, strict=True):
        assert describe(a) == describe(b), text
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-6, atol=2e-6, err_msg=text)


def test_parameters_that_jax_refuses_are_refused_in_its_words():
    for text in REFUSALS:
        theirs, ours = (error_of(program(lib, text), lib.random.key(3)) for lib in (jax, jitkit))
        assert theirs is not None, text
        assert ours == theirs, text


def test_the_columns_of_an_orthogonal_matrix_are_orthogonal():
    q = np.asarray(jitkit.random.orthogonal(jitkit.random.key(0), 3))
    np.testing.assert_allclose(q.T @ q, np.eye(3), atol=1e-6)
