"""Operators, methods and properties of arrays, and what is accepted as an array: `jitkit` against JAX."""

from __future__ import annotations

import operator
import warnings

import jax
import jax.numpy
import numpy as np
import pytest
from numpy_oracle import check

import jitkit
import jitkit.numpy as jnp
from jitkit.base import config

SMALL = np.float32([0.1, 0.5, 0.9, 0.25])
INTS = np.int32([1, 2, 3])
BOOLS = np.array([True, False, True])
COMPLEX = np.complex64([1 + 2j, -3 - 1j])
OPERATORS = [
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift",
    "eq", "ne", "lt", "le", "gt", "ge",
]  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_and_their_reflections_agree_with_jax(name):
    function = getattr(operator, name)
    bits = name in ("and_", "or_", "xor", "lshift", "rshift")
    rows = [
        ("integers", lambda jnp, x, y: function(x, y), INTS, INTS[::-1].copy()),
        ("integers and a Python int", lambda jnp, x: function(x, 2), INTS),
        ("reflected", lambda jnp, x: function(2, x), INTS),
        ("reflected, with numpy", lambda jnp, x: function(INTS, x), INTS),
    ]
    if not bits:
        rows += [
            ("floats", lambda jnp, x, y: function(x, y), SMALL, SMALL),
            ("floats and a Python float", lambda jnp, x: function(x, 2.5), SMALL),
        ]
    if name not in ("sub", "truediv", "floordiv", "mod", "pow", "lshift", "rshift"):
        rows.append(("bools", lambda jnp, x, y: function(x, y), BOOLS, BOOLS))
    check(rows)


def test_the_other_operators_agree_with_jax():
    check(
        [
            ("divmod", lambda jnp, x: divmod(x, 2), INTS),
            ("reflected divmod", lambda jnp, x: divmod(7, x), INTS),
            ("negation", lambda jnp, x: -x, SMALL),
            ("plus", lambda jnp, x: +x, SMALL),
            ("abs", lambda jnp, x: abs(x), SMALL),
            ("inversion", lambda jnp, x: ~x, INTS),
            ("round", lambda jnp, x: round(x), SMALL),
            ("round to a digit", lambda jnp, x: round(x, 1), SMALL),
            ("several", lambda jnp, x: ((x + 1) * 2 - x / 3) ** 2 @ x, SMALL),
        ]
    )


def test_methods_and_properties_agree_with_jax():
    check(
        [
            ("parts", lambda jnp, x: (x.real, x.imag, x.conj(), x.conjugate()), COMPLEX),
            ("parts of floats", lambda jnp, x: (x.real, x.imag), SMALL),
            ("sizes", lambda jnp, x: x * x.ndim * x.size * x.nbytes * x.itemsize * x.shape[0], SMALL),
            ("ndim, shape, size", lambda jnp, x: x * jnp.ndim(x) * jnp.shape(x)[0] * jnp.size(x), SMALL),
            ("all and any", lambda jnp, x: (x.all(), x.any()), BOOLS),
            ("clip and round", lambda jnp, x: (x.clip(0, 1), x.round(1)), SMALL),
            ("view of the same size", lambda jnp, x: x.view(np.int32), SMALL),
            ("view of bytes", lambda jnp, x: x.view(np.uint8), SMALL),
            ("view of something larger", lambda jnp, x: x.view(np.float32), np.uint8([1, 2, 3, 4])),
            ("view as complex", lambda jnp, x: x.view(np.complex64), SMALL),
            ("view of complex", lambda jnp, x: x.view(np.float32), COMPLEX),
            ("view of bools", lambda jnp, x: x.view(np.uint8), BOOLS),
            ("a dtype found by promotion", lambda jnp, x: x.astype(jnp.result_type(x, jnp.float32)), INTS),
        ]
    )


def test_membership_is_answered_eagerly():
    assert 2 in jnp.array(INTS)
    assert 7 not in jnp.array(INTS)


def test_tracers_and_arrays_are_instances_of_ndarray():
    seen = []
    jitkit.jit(lambda x: seen.append((isinstance(x, jnp.ndarray), isinstance(x, jitkit.Array))) or x)(1.0)
    assert seen == [(True, True)]
    assert isinstance(jnp.ones(3), jnp.ndarray)
    assert not isinstance(np.ones(3), jnp.ndarray)


@pytest.mark.parametrize("function", ["sin", "sum", "reshape", "where", "dot", "sort", "cumsum"])
def test_functions_take_arrays_of_numpy_and_of_jax(function):
    extra = {"reshape": ((2, 2),), "where": (1.0, 2.0), "dot": (SMALL,)}.get(function, ())
    expected = getattr(jax.numpy, function)(SMALL, *extra)
    for value in (SMALL, jax.numpy.asarray(SMALL), jnp.asarray(SMALL)):
        got = getattr(jnp, function)(value, *extra)
        of_numpy = function == "reshape" and type(value) is np.ndarray  # then numpy itself reshapes it, as in JAX
        assert type(got) is (np.ndarray if of_numpy else jitkit.Array)
        np.testing.assert_allclose(got, expected, rtol=1e-6)
        traced = jitkit.jit(lambda value=value: getattr(jnp, function)(value, *extra))()
        np.testing.assert_allclose(traced, expected, rtol=1e-6)


def test_objects_with_a_jax_array_method_are_converted():
    class Wrapped:
        def __jax_array__(self):
            return jnp.arange(3)

    assert jnp.asarray(Wrapped()).tolist() == [0, 1, 2]
    assert jnp.array(Wrapped(), dtype=float).dtype == np.float32
    assert jnp.linalg.vector_norm(Wrapped(), ord=1) == 3  # in JAX this function is not jitted
    with pytest.raises(ValueError, match="Triggering __jax_array__"):
        jnp.flatnonzero(Wrapped())  # it calls `ravel`, which is jitted in JAX


def test_is_it_a_scalar_or_complex_is_answered_as_jax_answers():
    for value in (1, 2.5, 1j, np.float32(1), np.ones(()), np.ones(3), "a", True):
        assert jnp.isscalar(value) == jax.numpy.isscalar(value)
    for value in (1, 1j, np.complex64(1), np.ones(3), COMPLEX, [1, 2j], True, None):
        assert jnp.iscomplexobj(value) == jax.numpy.iscomplexobj(value)


# --- rank promotion --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("traced", [False, True])
def test_rank_promotion_can_be_an_error(traced):
    def program(library):
        x, y = library.numpy.ones((2, 3)), library.numpy.ones(3)
        return library.jit(lambda a, b: a + b)(x, y) if traced else x + y

    with (
        jax.numpy_rank_promotion("raise"),
        pytest.raises(ValueError, match="Operands could not be broadcast") as theirs,
    ):
        program(jax)
    with (
        config.override(numpy_rank_promotion="raise"),
        pytest.raises(ValueError, match="Operands could not be broadcast") as ours,
    ):
        program(jitkit)
    assert str(ours.value).split("https:")[0] == str(theirs.value).split("https:")[0]


def test_rank_promotion_can_be_a_warning():
    with config.override(numpy_rank_promotion="warn"):
        with pytest.warns(
            UserWarning, match=r"Following NumPy automatic rank promotion for add on shapes \(2, 3\) \(3,\)"
        ):
            jitkit.make_jaxpr(lambda a, b: a + b)(np.ones((2, 3)), np.ones(3))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            jitkit.make_jaxpr(lambda a, b: a + b)(np.ones((2, 3)), np.ones(()))
