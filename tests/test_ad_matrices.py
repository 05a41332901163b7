"""Derivatives of matrices that are taken apart, of windows and of general reductions, against JAX's.

Printed to the letter where both are written with the same operations; by value where JAX solves systems with a primitive of its
own, and where the matrices are such that a naive formula divides by zero.
"""

from __future__ import annotations

import jax
import jax.numpy
import numpy as np
import pytest
from lax_oracle import JAXPRS_ARE_OURS

import jitkit
import jitkit.numpy

RANDOM = np.random.RandomState(1)
SQUARE = RANDOM.randn(3, 3).astype("f")
POSITIVE = SQUARE @ SQUARE.T + 3 * np.eye(3, dtype="f")
STACK = np.stack([POSITIVE, POSITIVE + np.eye(3, dtype="f")])
TALL, WIDE = RANDOM.randn(4, 2).astype("f"), RANDOM.randn(2, 4).astype("f")
COMPLEX = (SQUARE + 1j * RANDOM.randn(3, 3)).astype("F")
IMAGE = RANDOM.randn(5, 6).astype("f")

# The sum of squares of each is differentiated in reverse, for a matrix and under vmap for a stack of them.
PRINTED = [
    (POSITIVE, "la.cholesky(x)"),
    (POSITIVE, "la.eigh(x)[0]"),
    (SQUARE, "la.lu(x)[0]"),
    (TALL, "la.lu(x)[0]"),
    (WIDE, "la.lu(x)[0]"),
    (SQUARE, "la.qr(x)[1]"),
    (TALL, "la.qr(x, full_matrices=False)[0]"),
    (WIDE, "la.qr(x, full_matrices=False)[0]"),
    (TALL, "la.qr(x, pivoting=True, full_matrices=False)[1]"),
    (SQUARE, "la.svd(x, compute_uv=False)"),
    (TALL, "la.svd(x, full_matrices=False)[0]"),
    (WIDE, "la.svd(x, full_matrices=False)[2]"),
    (POSITIVE, "la.triangular_solve(x, x[:2])"),
    (POSITIVE, "la.triangular_solve(x, x, left_side=True, lower=True, transpose_a=True)"),
    (POSITIVE, "la.triangular_solve(x, x[:, :1], left_side=True, unit_diagonal=True)"),
    (IMAGE, "lax.reduce_window(x, 0.0, lax.add, (3, 2), (2, 1), 'SAME')"),
    (IMAGE, "lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 2), [(1, 1), (0, 0)], (2, 1), (1, 2))"),
    (IMAGE, "lax.reduce_window(x, -jnp.inf, lax.max, (2, 3), (2, 2), [(1, 0), (0, 2)])"),
    (IMAGE, "lax.reduce_window(x, jnp.inf, lax.min, (2, 2), (1, 1), 'VALID', (2, 1))"),
    (IMAGE, "lax.reduce(x, np.float32(1), lambda a, b: a * b + 0 * a, (0,))"),
    (IMAGE[:0], "lax.reduce(x, np.float32(1), lambda a, b: a * b + 0 * a, (0,))"),
    (IMAGE, "lax.bessel_i1e(x) + lax.bessel_i0e(x)"),
    (POSITIVE, "jnp.linalg.inv(x)"),
    (POSITIVE, "jnp.linalg.solve(x, x[:, 0])"),
    (STACK, "jnp.linalg.solve(x, x[..., :1])"),
    (STACK, "jnp.linalg.slogdet(x)[1]"),
    (POSITIVE, "jnp.linalg.matrix_power(x, -2)"),
    (SQUARE, "jnp.linalg.eigvals(x).real"),
]

FORWARD = [
    (TALL, "jnp.linalg.pinv(x)"),
    (TALL.T, "jnp.linalg.pinv(x)"),
    (STACK, "jnp.linalg.pinv(x)"),
    (POSITIVE, "jnp.linalg.pinv(x, hermitian=True)"),
    (COMPLEX @ COMPLEX.conj().T + 3 * np.eye(3, dtype="F"), "la.cholesky(x)"),
    (COMPLEX + COMPLEX.conj().T, "la.eigh(x)"),
    (COMPLEX, "la.qr(x)"),
    (COMPLEX, "la.svd(x, full_matrices=False)"),
    (COMPLEX, "la.triangular_solve(x, x, conjugate_a=True)"),
    (IMAGE, "lax.reduce_window(x, 1.0, lambda a, b: a * b, (2, 2), (1, 1), 'VALID')"),
    (IMAGE, "lax.reduce((x, x * 2), (np.float32(1), np.float32(0)), lambda a, b: (a[0] * b[0], a[1] + b[1]), (1,))"),
]

# Derivatives that JAX writes with other operations, or that are compared at singular matrices.
BY_VALUE = [
    (POSITIVE, "jnp.linalg.inv(x)"),
    (POSITIVE, "jnp.linalg.solve(x, x[:, 0])"),
    (STACK, "jnp.linalg.solve(x, x[..., :1])"),
    (STACK, "jnp.linalg.slogdet(x)[1]"),
    (STACK, "jnp.linalg.det(jnp.tile(x, (1, 2, 2)) + jnp.eye(6))"),
    (POSITIVE, "jnp.linalg.matrix_power(x, -2)"),
    (POSITIVE, "jnp.linalg.lstsq(x, x[:, :1])[0]"),
    (SQUARE, "jnp.linalg.eigvals(x).real"),
    (SQUARE, "la.eig(x, enable_eigvec_derivs=True)[2].real"),
    (TALL, "la.qr(x)[0]"),
    (np.ones((4, 4), "f"), "jnp.linalg.det(x)"),
    (np.diag([1, 2, 0, 3]).astype("f"), "jnp.linalg.det(x)"),
    (np.ones((4, 4), "f"), "lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 1), 'VALID')"),
    (IMAGE, "lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), 'SAME')"),
    (IMAGE * 9, "lax.bessel_i1e(x) * lax.bessel_i0e(x)"),
    (np.array([0, 1e-9, -1e-9, 8, -8, 1e9], "f"), "lax.bessel_i1e(x) + lax.bessel_i0e(x)"),
]


def function(library, source):
    """Return the function of x whose body is `source`, and the function that sums the squares of its result."""
    names = {"jax": library, "jnp": library.numpy, "lax": library.lax, "la": library.lax.linalg, "np": np}
    f = eval(f"lambda x: {source}", names)
    return f, lambda x: (f(x) ** 2).sum()


def same_print(made, *args):
    ours, theirs = (str(library.make_jaxpr(made(library))(*args)) for library in (jitkit, jax))
    if JAXPRS_ARE_OURS:
        assert blank(ours) == blank(theirs)


def blank(text):
    """Return the text without addresses of functions, which `reduce` prints."""
    return " ".join(word for word in text.split() if not word.startswith("0x"))


@pytest.mark.parametrize(("x", "source"), PRINTED, ids=[source for _, source in PRINTED])
def test_a_gradient_is_printed_as_in_jax(x, source):
    same_print(lambda library: library.grad(function(library, source)[1]), x)
    same_print(lambda library: library.vmap(library.grad(function(library, source)[1])), np.stack([x, x]))


@pytest.mark.parametrize(("x", "source"), FORWARD, ids=[source for _, source in FORWARD])
def test_a_tangent_is_printed_as_in_jax(x, source):
    same_print(lambda library: lambda x: library.jvp(function(library, source)[0], (x,), (x * 2,)), x)


def test_gradients_that_are_written_otherwise_have_the_values_of_jax():
    def gradients(library):
        def of_all(*xs):
            pairs = zip(xs, BY_VALUE, strict=True)
            return [library.grad(function(library, source)[1])(x) for x, (_, source) in pairs]

        return library.jit(of_all)(*[x for x, _ in BY_VALUE])

    for (_, source), ours, theirs in zip(BY_VALUE, gradients(jitkit), gradients(jax), strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=2e-4, atol=2e-4, err_msg=source)


@pytest.mark.parametrize(
    ("x", "source"),
    [
        (SQUARE, "la.eig(x)[1].real"),
        (TALL, "la.svd(x)[0]"),
        (IMAGE, "lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 1), 'VALID', (1, 1), (2, 1))"),
        (IMAGE, "lax.reduce(x[:, 0], x[0, 0], lambda a, b: a * b, (0,))"),
        (IMAGE, "lax.reduce_window(x, x[0, 0], lambda a, b: a * b, (2, 2), (1, 1), 'VALID')"),
    ],
)
def test_what_has_no_derivative_is_refused_as_in_jax(x, source):
    said = []
    for library in (jitkit, jax):
        with pytest.raises((NotImplementedError, TypeError)) as caught:
            library.grad(function(library, source)[1])(x)
        said.append((caught.type, str(caught.value).split("\n")[0]))
    assert said[0] == said[1]
