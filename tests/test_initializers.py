"""`nn.initializers` against JAX's: the same weights for the same key, and the same errors."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from lax_oracle import JAX_VERSION
from tails import one_in
from twin import OURS, THEIRS, difference, plain, raised, same_as_jax

import jitkit

MAKERS = {
    "zeros": lambda i: i.zeros,
    "ones": lambda i: i.ones,
    "constant": lambda i: i.constant(-7),
    "constant of a row": lambda i: i.constant(np.float32([1, 2, 3])),
    "uniform": lambda i: i.uniform(10.0),
    "normal": lambda i: i.normal(),
    "truncated_normal": lambda i: i.truncated_normal(0.5, lower=-1),
    "glorot_uniform": lambda i: i.glorot_uniform(),
    "glorot_normal": lambda i: i.glorot_normal(),
    "xavier_uniform": lambda i: i.xavier_uniform(),
    "xavier_normal": lambda i: i.xavier_normal(),
    "lecun_uniform": lambda i: i.lecun_uniform(),
    "lecun_normal": lambda i: i.lecun_normal(),
    "he_uniform": lambda i: i.he_uniform(),
    "he_normal": lambda i: i.he_normal(in_axis=0, out_axis=-1),
    "kaiming_uniform": lambda i: i.kaiming_uniform(),
    "kaiming_normal": lambda i: i.kaiming_normal(),
    "variance_scaling": lambda i: i.variance_scaling(3, "fan_out", "normal"),
    "variance_scaling of geometric means": lambda i: i.variance_scaling(2.0, "fan_geo_avg", "uniform"),
    "variance_scaling of several axes": lambda i: i.variance_scaling(
        1.0, "fan_in", "normal", in_axis=(0,), out_axis=[1], batch_axis=-1
    ),
}
CALLS = {
    "a matrix": ((4, 3), {}),
    "a window": ((3, 2, 4, 3), {}),
    "float16": ((2, 3), {"dtype": "float16"}),
    "bfloat16": ((2, 3), {"dtype": "bfloat16"}),
}
COMPLEX = ["normal", "glorot_uniform", "glorot_normal", "variance_scaling", "zeros"]


def weights(jax, jnp, name, shape, **options):
    return MAKERS[name](jax.nn.initializers)(jax.random.key(42), shape, **options)


def compare(name, shape, **options):
    ours, theirs = (weights(*modules, name, shape, **options) for modules in (OURS, THEIRS))
    if JAX_VERSION < (0, 11):
        assert difference(plain(ours), plain(theirs)) is None
    else:  # later versions compute `erf_inv` with other last bits
        assert difference(plain(ours)[:2], plain(theirs)[:2]) is None
        np.testing.assert_allclose(np.float32(ours), np.float32(theirs), rtol=1e-2 if ours.itemsize < 4 else 1e-5)


@pytest.mark.parametrize("kind", one_in(3, list(CALLS)))
@pytest.mark.parametrize("name", MAKERS)
def test_weights_are_the_same_to_the_last_bit(name, kind):
    shape, options = CALLS[kind]
    compare(name, shape, **options)


@pytest.mark.parametrize("name", ["zeros", "ones", "constant", "uniform", "normal", "truncated_normal"])
def test_no_weights_are_weights(name):
    compare(name, (0, 3))


@pytest.mark.parametrize("name", ["glorot_uniform", "he_normal", "variance_scaling"])
def test_the_variance_of_no_weights_is_that_of_jax(name):
    """An error up to JAX 0.10, of a class and with words that Python chooses."""
    ours, theirs = (raised(weights, *modules, name, (0, 3)) for modules in (OURS, THEIRS))
    assert ours[0] == theirs[0]
    if theirs[0] == "nothing was raised":
        assert difference(plain(ours[1]), plain(theirs[1])) is None


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_weights_are_the_same(name):
    ours, theirs = (weights(*modules, name, (2, 3), dtype="complex64") for modules in (OURS, THEIRS))
    assert (ours.dtype, ours.weak_type, ours.shape) == (theirs.dtype, theirs.weak_type, theirs.shape)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("name", ["uniform", "normal", "truncated_normal", "he_normal", "glorot_uniform"])
def test_the_programs_that_make_weights_are_those_of_jax(name):
    def traced(jax, jnp):
        key = jax.random.key(0)
        init = MAKERS[name](jax.nn.initializers)
        return str(jax.make_jaxpr(lambda key: init(key, (2, 3)))(key))

    assert traced(*OURS) == traced(*THEIRS)
    assert traced(*OURS).count("random_bits") + traced(*OURS).count("jit[") > 0


@same_as_jax
def test_what_cannot_be_scaled_is_refused(jax, jnp):
    make, key = jax.nn.initializers.variance_scaling, jax.random.key(0)
    return (
        raised(make(1.0, "fan", "normal"), key, (2, 3)),
        raised(make(1.0, "fan_in", "gamma"), key, (2, 3)),
        raised(make(1.0, "fan_in", "normal"), key, (3,)),
        raised(make(1.0, "fan_in", "normal"), key, ()),
    )


@same_as_jax
def test_a_network_of_initialised_layers_runs(jax, jnp):
    init = jax.nn.initializers.glorot_normal()
    keys = jax.random.split(jax.random.key(1), 3)
    layers = [init(key, shape) for key, shape in zip(keys, [(3, 4), (4, 4), (4, 2)], strict=True)]

    @jax.jit
    def run(layers, x):
        for w in layers:
            x = jax.nn.relu(x @ w)
        return x.shape

    return jax.tree.map(jnp.shape, layers), run(layers, jnp.ones(3))


@same_as_jax
def test_orthogonal_weights_are_those_of_jax(jax, jnp):
    wide, tall = jax.nn.initializers.orthogonal(2.0, 0), jax.nn.initializers.orthogonal()
    kernel = jax.nn.initializers.delta_orthogonal()
    key = jax.random.key(1)
    return wide(key, (3, 2, 2)), tall(key, (2, 3)), tall(key, (2, 0)), kernel(key, (3, 2, 2, 3)), kernel(key, (3, 2, 2))


@same_as_jax
def test_shapes_that_cannot_be_orthogonal_are_refused_in_the_words_of_jax(jax, jnp):
    def refusal(init, shape):
        try:
            init(jax.random.key(1), shape)
        except ValueError as error:
            return str(error)

    one, kernel = jax.nn.initializers.orthogonal(), jax.nn.initializers.delta_orthogonal()
    return [refusal(one, (3,)), refusal(kernel, (2, 2)), refusal(kernel, (3, 2, 1))]


def test_every_initializer_of_jax_has_its_name_here():
    def names(module):
        return {name for name in dir(module) if not name.startswith("_")}

    assert names(jax.nn.initializers) <= names(jitkit.nn.initializers)
    assert isinstance(jitkit.nn.initializers.he_normal(), jitkit.nn.initializers.Initializer)
