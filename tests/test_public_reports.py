"""Programs after public reports on JAX and its libraries, of the kinds that nobody here had written: values, programs, warnings, errors."""

import numpy as np
import pytest

from tests.twin import same_as_jax


def near(x):
    """What is compared of numbers that XLA fuses in one way for JAX's eager calls, and in another for ours."""
    return np.asarray(x).round(4)


def error_of(function):
    """The class and the first line of what `function()` raises."""
    try:
        return function()
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]


# --- numbers that were wrong, or refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["hfft", "ihfft"])
@same_as_jax
def test_the_norm_of_hermitian_transforms_is_that_of_their_direction(jax, jnp, name, norm):
    x = np.array([1.0, 2.0, 3.5, -4.0], "float32")
    f = getattr(jnp.fft, name)
    return f(x, norm=norm), f(x, n=5, norm=norm), near(jax.grad(lambda x: abs(f(x, norm=norm)).sum())(x))


@same_as_jax
def test_weighted_quantiles(jax, jnp):
    rng = np.random.default_rng(0)
    a, w = rng.normal(size=(3, 4, 5)).astype("float32"), rng.uniform(size=(3, 4, 5)).astype("float32")
    bad = np.where(w < 0.1, -1, w)

    def of(q, axis, weights, keepdims=False):
        return jnp.quantile(a, jnp.asarray(q), axis=axis, method="inverted_cdf", weights=weights, keepdims=keepdims)

    return [
        [
            of(q, axis, weights, keepdims)
            for axis, weights in ((None, w), (0, w[:, 0, 0]), ((2, 0), w[:, 0].T), (1, bad))
        ]
        for q in (0.3, [0.0, 0.5, 1.0])
        for keepdims in (False, True)
    ] + [
        jnp.percentile(a, 40.0, method="inverted_cdf"),
        jax.grad(lambda a: of(0.4, None, None))(a),
        str(jax.make_jaxpr(lambda a, w: jnp.quantile(a, 0.5, axis=(0, 1), method="inverted_cdf", weights=w))(a, w)),
    ]


@pytest.mark.parametrize(
    ("options", "weights"),
    [
        ({}, np.ones(3)),
        ({"method": "inverted_cdf"}, np.ones(2)),
        ({"method": "inverted_cdf"}, np.ones(3, complex)),
        ({"method": "inverted_cdf", "axis": 0}, np.ones(2)),
    ],
)
@same_as_jax
def test_weights_that_do_not_fit_are_refused(jax, jnp, options, weights):
    return error_of(lambda: jnp.quantile(np.arange(3.0), 0.5, weights=weights, **options))


@pytest.mark.parametrize("name", ["gamma", "loggamma"])
@same_as_jax
def test_gamma_functions_of_complex_numbers(jax, jnp, name):
    f = getattr(jax.scipy.special, name)
    z = np.array([1 + 1j, -1.5 + 2j, -3.2 - 0.1j, 0.25 - 4j, 7 + 0.5j, 0, -2, np.nan], "complex64")
    slopes = jax.jvp(f, (z,), (np.ones_like(z),))[1]
    return near(f(z)), near(jax.jit(f)(z)), near(jax.vmap(f)(z)), near(slopes), str(jax.make_jaxpr(f)(z))


@same_as_jax
def test_sums_and_products_as_bools(jax, jnp):
    x = jnp.arange(4.0)
    both = [f(x, dtype=bool) for f in (jnp.sum, jnp.prod, jnp.nansum, jnp.nanprod)]
    more = [jnp.trace(jnp.ones((2, 2)), dtype=bool), x.sum(dtype=bool), jnp.sum(x, dtype=bool, where=x > 5)]
    return both, more, str(jax.make_jaxpr(lambda x: jnp.prod(x, dtype=bool, initial=True, keepdims=True))(x))


@pytest.mark.parametrize("n", [4, 5, 4.5, 3.25, np.float32(2.5)])
@same_as_jax
def test_frequencies_of_a_length_with_a_fraction(jax, jnp, n):
    return jnp.fft.rfftfreq(n), jnp.fft.rfftfreq(n, 0.5)


@pytest.mark.parametrize("axis", [None, 1, (0, 1), [0, 1], (), (0, 0), (0, -2), (0, 5), 1.0])
@same_as_jax
def test_the_size_along_axes(jax, jnp, axis):
    return error_of(lambda: jnp.size(jnp.ones((2, 3)), axis=axis))


# --- programs that were not JAX's -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "axis"), [((2, 3), (3,), -1), ((2, 3), (4, 1, 3), -1), ((3, 2), (3, 4, 2), 0), ((5, 3), (2, 3), -1)]
)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@same_as_jax
def test_vecdot_of_unequal_ranks_broadcasts_nothing(jax, jnp, a, b, axis, dtype):
    a, b = np.ones(a, dtype), np.ones(b, "float32")

    def f(a, b):
        return jnp.vecdot(a, b, axis=axis)

    return error_of(lambda: str(jax.make_jaxpr(f)(a, b))), error_of(lambda: f(a, b))


@pytest.mark.parametrize("power", [0, 1, 2, 3, np.int32(3), np.int8(-2)])
@same_as_jax
def test_second_derivatives_of_powers_by_ints(jax, jnp, power):
    f = jax.grad(jax.grad(lambda x: jax.lax.pow(x, power)))
    return str(jax.make_jaxpr(f)(2.0)), f(2.0), f(0.0)


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (0, 2), (300, 2), (2, 3, 4), (2, 2, 2, 2)], ids=str)
@same_as_jax
def test_one_array_is_stacked_by_one_equation_for_all_rows(jax, jnp, name, shape):
    stack = getattr(jnp, name)
    x = np.arange(np.prod(shape, dtype=int), dtype="float32").reshape(shape)

    def program():
        return str(jax.make_jaxpr(stack)(x)), stack(x), stack(jnp.asarray(x))

    return error_of(program)
