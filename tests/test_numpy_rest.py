"""Names of numpy that fewer programs use (windows, bits, sets, quantiles without nan, putting): beside JAX's."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from twin import JAX_VERSION, raised, same_as_jax

INTS, OTHERS = np.int32([3, 1, 1, 2, 7]), np.int32([2, 3, 3, 9])
WITH_NAN = np.float32([[0, np.nan, 2], [3, 4, 5]])


@same_as_jax
def test_windows_of_each_length_are_those_of_jax(jax, jnp):
    names = "bartlett", "blackman", "hamming", "hanning"
    values = [getattr(jnp, name)(size) for name in names for size in (0, 1, 2, 5)]
    programs = [str(jax.make_jaxpr(functools.partial(getattr(jnp, name), 4))()) for name in names]
    return values, programs, jnp.kaiser(5, 2.0), jnp.kaiser(1, 2.0), raised(jax.jit(jnp.hamming), 3)


@same_as_jax
def test_the_derivative_of_i0_is_that_of_jax_at_zero_too(jax, jnp):
    slopes = [jax.grad(jnp.i0)(x) for x in (0.0, 1.5, -2.0)]
    return (
        # JAX 0.11 has another derivative rule, by the Bessel function of order 1
        slopes if JAX_VERSION < (0, 11) else [round(float(x), 5) for x in slopes],
        JAX_VERSION < (0, 11) and str(jax.make_jaxpr(jnp.i0)(1.0)),
        raised(jnp.i0, 1j),
        jnp.i0(jnp.arange(3)),
    )


@same_as_jax
def test_bits_are_packed_and_unpacked_as_in_jax(jax, jnp):
    a = jnp.array([1, 0, 3, 0, 0, 1, 1, 0, 1, 1])
    packed = [jnp.packbits(a), jnp.packbits(a, bitorder="little"), jnp.packbits(a.reshape(2, 5), axis=0)]
    u = jnp.array([[3, 255], [7, 0]], "uint8")
    bits = [
        jnp.unpackbits(u),
        jnp.unpackbits(u, axis=0, count=5),
        jnp.unpackbits(u, axis=1, count=20, bitorder="little"),
    ]
    refused = [raised(jnp.packbits, jnp.ones(3)), raised(jnp.packbits, a, bitorder="x"), raised(jnp.unpackbits, a)]
    programs = [str(jax.make_jaxpr(jnp.packbits)(a)), str(jax.make_jaxpr(lambda u: jnp.unpackbits(u, count=50))(u))]
    return packed, bits, refused, programs


@same_as_jax
def test_elements_are_put_and_placed_as_in_jax(jax, jnp):
    a, places = jnp.arange(6).reshape(2, 3), jnp.array([0, 7, -1])
    put = [jnp.put(a, places, jnp.array([10, 20]), mode, inplace=False) for mode in (None, "clip", "wrap")]
    placed = jnp.place(a, a > 2, jnp.array([9, 8]), inplace=False)
    along = [jnp.put_along_axis(a, jnp.array([[0], [2]]), 7, axis=axis, inplace=False) for axis in (1, -1)]
    along.append(jnp.put_along_axis(a, jnp.array([0, 5]), 7, axis=None, inplace=False))
    refused = [
        raised(jnp.put, a, 0, 1),
        raised(jnp.put, a, 0, 1, "raise", inplace=False),
        raised(jnp.put, a, 0, 1, "x", inplace=False),
        raised(jnp.place, a, a > 2, [1]),
        raised(jnp.place, a, a[0] > 1, jnp.array([1]), inplace=False),
        raised(jnp.place, a, a > 1, jnp.array([]), inplace=False),
        raised(jnp.put_along_axis, a, 0, 1, 1),
        raised(jnp.put_along_axis, a, jnp.array([0]), 1, 1, inplace=False),
        raised(jnp.put_along_axis, a, jnp.array([[0]]), jnp.ones(3), 1, inplace=False),
    ]
    programs = [
        JAX_VERSION < (0, 12)  # JAX 0.12 has a primitive for nonzero
        and str(jax.make_jaxpr(lambda a: jnp.place(a, a > 1, jnp.array([1, 2]), inplace=False))(a)),
        str(jax.make_jaxpr(lambda a, i: jnp.put(a, i, 7, inplace=False))(a, places)),
    ]
    return put, placed, along, refused, programs


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "nearest", "midpoint", "inverted_cdf", "foo"])
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
@same_as_jax
def test_quantiles_without_nan_are_those_of_jax(jax, jnp, method, axis):
    a, q = jnp.asarray(WITH_NAN), jnp.array([0.2, 0.7])

    def quantile(a):
        return jnp.nanquantile(a, q, axis=axis, method=method, keepdims=True)

    return raised(quantile, a), raised(lambda: str(jax.make_jaxpr(quantile)(a)))


@same_as_jax
def test_medians_and_percentiles_without_nan_are_those_of_jax(jax, jnp):
    a = jnp.asarray(WITH_NAN)
    weighted = jnp.nanpercentile(a, jnp.array([20, 30]), axis=0, weights=jnp.ones((2, 3)), method="inverted_cdf")
    refused = [raised(jnp.nanquantile, a, 0.5, overwrite_input=True), raised(jnp.nanquantile, a * 1j, 0.5)]
    none = jnp.nanmedian(jnp.full(2, jnp.nan))
    return jnp.nanmedian(a), jax.grad(jnp.nanmedian)(a[0]), weighted, refused, none


@same_as_jax
def test_what_two_sets_have_in_common_or_not_is_that_of_jax(jax, jnp):
    a, b = jnp.asarray(INTS), jnp.asarray(OTHERS)
    first, second = jnp.array([1, 2]), jnp.array([2, 5])
    common = [
        jnp.intersect1d(a, b, return_indices=True),
        jnp.intersect1d(a, b, size=4, return_indices=True),
        jnp.intersect1d(a, b, size=4, fill_value=-1),
        jnp.intersect1d(first, second, assume_unique=True, return_indices=True, size=2),
        jnp.intersect1d(a[:0], b),
    ]
    alone = [
        jnp.setxor1d(a, b),
        jnp.setxor1d(a, b, size=6, fill_value=0),
        jnp.setxor1d(first, second, assume_unique=True, size=2),
        jnp.setxor1d(a[:0], b[:0]),
    ]
    distinct = [jnp.unique_all(a), jnp.unique_counts(a, size=7), jnp.unique_inverse(a), jnp.unique_values(b)]
    refused = [raised(jax.jit(jnp.intersect1d), a, b), raised(jax.jit(jnp.setxor1d), a, b), raised(jnp.unique_all, [1])]
    return common, alone, distinct, refused


@same_as_jax
def test_histograms_of_several_variables_are_those_of_jax(jax, jnp):
    x, y = jnp.array([0.1, 0.5, 0.9, 0.3]), jnp.array([1.0, 2.0, 3.0, 2.5])
    sample = jnp.stack([x, y, x], 1)
    counts = [
        jnp.histogram2d(x, y, bins=2),
        jnp.histogram2d(x, y, bins=(2, 3), range=[(0, 1), None], density=True),
        jnp.histogram2d(x, y, bins=jnp.array([0.0, 0.4, 1.0, 4.0])),
        jnp.histogram2d(x, y, bins=[2, jnp.array([0.0, 2.0, 3.0])], weights=x),
        jnp.histogramdd(sample, bins=2, density=True, weights=x),
    ]
    refused = [
        raised(jnp.histogramdd, sample, bins=[1, 2]),
        raised(jnp.histogramdd, sample, range=[(0, 1)]),
        raised(jnp.histogramdd, sample, weights=x[:2]),
        raised(jnp.histogram2d, x, y, bins=[2]),
    ]
    return counts, refused


@same_as_jax
def test_phases_products_and_orders_are_those_of_jax(jax, jnp):
    p = jnp.array([0.0, 3.0, 6.5, -3.0, 2.0])
    unwrapped = [jnp.unwrap(p), jnp.unwrap(p.reshape(1, 5), axis=1, discont=4.0), jnp.unwrap(INTS + 5, period=6)]
    products = [jnp.matvec(jnp.ones((2, 3, 4)), jnp.ones(4)), jnp.vecmat(jnp.ones(3) * 1j, jnp.ones((3, 4)))]
    rest = [
        jnp.cumulative_prod(jnp.arange(1, 4), include_initial=True),
        jnp.extract(jnp.array([[1, 0], [1, 1]]), jnp.arange(4), size=2),
        jnp.mask_indices(3, jnp.tril, 1, size=4),
        jnp.sort_complex(jnp.array([3, 1])),
        jnp.frombuffer(b"\x00\x01", "uint8"),
        jnp.fromstring("1,2", sep=","),
    ]
    refused = [
        raised(jnp.unwrap, p * 1j),
        raised(jnp.matvec, jnp.ones((2, 3)), jnp.ones(4)),
        raised(jnp.cumulative_prod, 1.0),
        raised(jnp.cumulative_prod, jnp.ones((2, 2))),
        raised(jnp.fromfile, "name"),
        raised(jnp.fromiter, [1]),
    ]
    return unwrapped, products, rest, refused, str(jax.make_jaxpr(jnp.unwrap)(p))


@same_as_jax
def test_xlas_generator_gives_the_bits_that_it_gives_jax(jax, jnp):
    lax, key = jax.lax, jnp.arange(4, dtype="uint32")
    bits = [lax.rng_bit_generator(key, (3,), algorithm=each) for each in lax.RandomAlgorithm]
    bits.append(jax.vmap(lambda k: lax.rng_bit_generator(k, (2,), "uint8"))(jnp.stack([key, key + 1])))
    refused = [
        raised(lax.rng_bit_generator, key, (3,), "int32"),
        raised(lax.rng_uniform, 0.0, 1, (3,)),
        raised(lax.rng_uniform, jnp.ones(2), jnp.ones(2), (3,)),
    ]
    drawn = lax.rng_uniform(2.0, 3.0, (100,))
    programs = [
        str(jax.make_jaxpr(lambda k: lax.rng_bit_generator(k, (3,)))(key)),
        str(jax.make_jaxpr(lambda: lax.rng_uniform(0.0, 1.0, (3,)))()),
    ]
    return bits, refused, drawn.shape, bool(((drawn >= 2) & (drawn <= 3)).all()), programs


# --- numpy's ufuncs have methods ----------------------------------------------------------------------------------------------

FOLDS = "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor", "add"


@pytest.mark.parametrize("name", ["add", "multiply", "subtract", "minimum", "maximum", "logaddexp", "logaddexp2"])
@same_as_jax
def test_methods_of_ufuncs_are_those_of_jax(jax, jnp, name):
    f, x = getattr(jnp, name), jnp.arange(6.0).reshape(2, 3)
    index, places = (jnp.array([0, 0]), jnp.array([1, 1])), jnp.array([0, 2, 1])
    calls = [
        lambda x: f.reduce(x, axis=1, keepdims=True),
        lambda x: f.reduce(x, axis=None),
        lambda x: f.reduce(x, initial=2.0, where=x > 1),
        lambda x: f.reduce(x, where=x > 1),
        lambda x: f.accumulate(x, axis=1),
        lambda x: f.at(x, index, 2.0, inplace=False),
        lambda x: f.reduceat(x, places, axis=1),
        lambda x: f.outer(x[0], x[1]),
        lambda x: f.at(x, 0, 1.0),
    ]
    values = [raised(call, x) for call in calls]
    programs = [raised(lambda call=call: str(jax.make_jaxpr(call)(x))) for call in calls]
    return f.nin, f.nout, f.nargs, f.identity, isinstance(f, jnp.ufunc), values, programs


@pytest.mark.parametrize("name", FOLDS)
@same_as_jax
def test_folds_of_bits_and_truths_are_those_of_jax(jax, jnp, name):
    f, x = getattr(jnp, name), jnp.arange(6).reshape(2, 3)
    folds = [f.reduce(x), f.reduce(x.astype("uint8"), axis=None, keepdims=True), f.reduce(x > 1)]
    masked = raised(lambda: f.reduce(x, where=x > 1))
    return folds, masked, raised(f.reduce, x * 1.0), f.accumulate(x), raised(f.reduce, [1, 2])


@same_as_jax
def test_ufuncs_of_functions_of_scalars_are_those_of_jax(jax, jnp):
    x = jnp.arange(4)
    f = jnp.frompyfunc(lambda a, b: a * b + 1, 2, 1, identity=1)
    several = jnp.frompyfunc(lambda a: (a, a * 2), 1, 2)
    values = [f(x, x), f.reduce(x), f.accumulate(x), f.outer(x, x), f.at(x, jnp.array([0, 0, 1]), 2, inplace=False)]
    values += [f.reduceat(x, jnp.array([0, 2])), f.reduce(x, where=x > 1, initial=3), f.reduce(x[:0]), several(x)]
    refused = [raised(f, x, x, out=1), raised(several.reduce, x), raised(f, [1], x), raised(f.reduce, x, (0,))]
    return repr(f), f.nin, values, refused, f == jnp.frompyfunc(lambda a, b: a, 2, 1), str(jax.make_jaxpr(f)(x, x))
