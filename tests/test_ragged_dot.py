"""Products of rows in groups: values, dtypes, derivatives, batches, jaxprs and errors beside JAX's"""

from __future__ import annotations

import numpy as np
import pytest
from twin import same_as_jax

from jitkit import lax, vmap

_RNG = np.random.default_rng(0)
X, Y = (_RNG.normal(size=shape).astype(np.float32) for shape in ((8, 4), (3, 4, 5)))
SIZES = np.array([2, 3, 1], np.int32)  # the last two rows are in no group


def _kept(lax):
    return lax.RaggedDotDimensionNumbers((([2], [2]), ([0], [0])), [1], [1])


@same_as_jax
def test_rows_behind_the_last_group_give_zero(jax, jnp):
    out = jax.lax.ragged_dot(X, Y, SIZES)
    return out, jax.make_jaxpr(jax.lax.ragged_dot)(X, Y, SIZES), float(abs(out[6:]).max())


@same_as_jax
def test_dtypes_and_what_is_preferred(jax, jnp):
    half = jnp.asarray(X, jnp.bfloat16), jnp.asarray(Y, jnp.bfloat16)
    return [jax.lax.ragged_dot(*half, SIZES), jax.lax.ragged_dot(*half, SIZES, preferred_element_type=jnp.float32)]


@same_as_jax
def test_derivatives_are_ragged_products(jax, jnp):
    def loss(x, y):
        return (jax.lax.ragged_dot(x, y, SIZES) ** 2).sum()

    return [
        jax.grad(loss, (0, 1))(X, Y),
        jax.jvp(lambda x, y: jax.lax.ragged_dot(x, y, SIZES), (X, Y), (X, Y)),
        jax.make_jaxpr(jax.grad(loss, (0, 1)))(X, Y),
    ]


@same_as_jax
def test_a_batch_has_group_sizes_for_each_element(jax, jnp):
    sizes = np.stack([SIZES, SIZES[::-1]])
    return jax.vmap(jax.lax.ragged_dot)(np.stack([X, X + 1]), np.stack([Y, Y - 1]), sizes)


def test_a_batch_of_rows_alone_is_the_products_of_its_elements():
    """JAX asks for three batches."""
    rows = np.stack([X, X + 1], 1)
    found = vmap(lax.ragged_dot, (1, None, None))(rows, Y, SIZES)
    np.testing.assert_allclose(found, [lax.ragged_dot(X, Y, SIZES), lax.ragged_dot(X + 1, Y, SIZES)], rtol=1e-5)


@same_as_jax
def test_the_ragged_axis_may_be_kept_contracted_or_a_batch_axis(jax, jnp):
    lax = jax.lax
    numbers = lax.RaggedDotDimensionNumbers
    b, c = np.stack([X, 2 * X]), np.stack([Y, Y - 1])
    three, other = np.ones((3, 6, 7), np.float32), np.arange(42, dtype=np.float32).reshape(3, 7, 2)
    return [
        lax.ragged_dot_general(b, c, SIZES, _kept(lax)),
        lax.ragged_dot_general(b, c, np.array([[1, 2, 5], [4, 4, 0]]), _kept(lax)),
        lax.ragged_dot_general(X, X, SIZES, numbers((([0], [0]), ([], [])), [0], [])),
        lax.ragged_dot_general(b, c[:, 0], np.array([1, 1]), numbers((([2], [1]), ([0], [0])), [0], [])),
        lax.ragged_dot_general(
            three, other, np.array([[1, 2], [3, 4], [0, 7]]), numbers((([0, 2], [0, 1]), ([], [])), [2], [])
        ),
    ]


@pytest.mark.parametrize(
    "call",
    [
        lambda lax: lax.ragged_dot(X, Y[:2], SIZES),
        lambda lax: lax.ragged_dot(X, Y, SIZES * 1.0),
        lambda lax: lax.ragged_dot(X, Y[:, :3], SIZES),
        lambda lax: lax.ragged_dot(X, Y, np.int32(3)),
        lambda lax: lax.ragged_dot_general(np.stack([X, X]), np.stack([Y, Y]), np.ones((3, 3), int), _kept(lax)),
        lambda lax: lax.ragged_dot_general(
            X, Y, SIZES, lax.RaggedDotDimensionNumbers((([1], [1]), ([], [])), [0], [1])
        ),
        lambda lax: lax.ragged_dot_general(
            X, Y, SIZES, lax.RaggedDotDimensionNumbers((([1], [1]), ([], [])), [2], [0])
        ),
        lambda lax: lax.ragged_dot_general(
            X, Y, SIZES, lax.RaggedDotDimensionNumbers((([0], [0]), ([], [])), [0], [1])
        ),
    ],
)
@same_as_jax
def test_what_does_not_fit_is_refused_as_by_jax(jax, jnp, call):
    with pytest.raises((TypeError, KeyError)) as error:
        call(jax.lax)
    return error.value
