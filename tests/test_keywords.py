"""Keywords that few programs give: what they do, or the error with which they are refused, is JAX's."""

from __future__ import annotations

import inspect
import warnings

import jax
import numpy as np
import pytest
from twin import raised

import jitkit

OF_ACCURACY = ["cbrt", "cos", "exp", "exp2", "expm1", "log", "log1p", "logistic", "rsqrt", "sin", "sqrt", "tan", "tanh"]
ACCURACIES = {
    "highest": lambda lax: lax.AccuracyMode.HIGHEST,
    "default": lambda lax: lax.AccuracyMode.DEFAULT,
    "tolerance": lambda lax: lax.Tolerance(atol=1e-3, rtol=2e-3, ulps=4),
    "none": lambda lax: None,
}
UFUNCS = (
    *("add", "subtract", "multiply", "maximum", "minimum", "logaddexp", "logaddexp2"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor"),
)
both = pytest.mark.parametrize("lib", [jax, jitkit], ids=["jax", "jitkit"])


def lowered_attribute(lib, name, accuracy):
    """Return the accuracy in the last operation that has one in the lowered text, and the function's value."""
    function = lib.jit(lambda x: getattr(lib.lax, name)(x, accuracy=accuracy(lib.lax)))
    lines = [line for line in function.lower(0.5).as_text().splitlines() if "result_accuracy" in line]
    return [line.split("{", 1)[1].split("}", 1)[0] for line in lines][-1:], np.asarray(function(0.5))


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_the_accuracy_that_is_asked_for_reaches_the_compiler(accuracy):
    for name in OF_ACCURACY:
        ours, theirs = (lowered_attribute(lib, name, ACCURACIES[accuracy]) for lib in (jitkit, jax))
        assert ours == theirs, name


@pytest.mark.parametrize("accuracy", ["highest", "default", "none"])  # JAX prints the address of a Tolerance
def test_derivatives_keep_the_accuracy(accuracy):
    for name in OF_ACCURACY:

        def printed(lib, name=name):
            asked = ACCURACIES[accuracy](lib.lax)
            return str(
                lib.make_jaxpr(lambda x: lib.jvp(lambda x: getattr(lib.lax, name)(x, accuracy=asked), (x,), (x,)))(0.5)
            )

        assert printed(jitkit) == printed(jax), name


@both
def test_accuracies_that_make_no_sense_are_refused(lib):
    with pytest.raises(ValueError, match=r"^Tolerances must be non-negative"):
        lib.lax.Tolerance(rtol=-1.0)
    with pytest.raises(ValueError, match=r"^At least one of atol, rtol, or ulps must be set"):
        lib.lax.Tolerance()
    with pytest.raises(NotImplementedError, match=r"^Accuracy 3 not supported"):
        lib.jit(lambda x: lib.lax.exp(x, accuracy=3))(1.0)


@both
def test_out_and_where_of_elementwise_functions_are_refused_by_name(lib):
    for name in UFUNCS:
        function = getattr(lib.numpy, name)
        for option in ("out", "where"):
            with pytest.raises(NotImplementedError, match=f"^{option} argument of <jnp.ufunc '{name}'>"):
                function(1, 2, **{option: np.array(1)})
        function(1, 2, out=None, where=None)
    with pytest.raises(NotImplementedError, match=r"^where argument of <jnp.ufunc 'negative'>"):
        lib.numpy.negative(1, where=True)


@both
def test_operands_have_the_names_that_they_have_in_jax(lib):
    lax, x, half = lib.lax, np.float32([1.5, 2.0]), np.float32(0.5)
    assert np.allclose(lax.igamma(a=x, x=half), lax.igamma(x, half))
    assert np.allclose(lax.igammac(x=half, a=x), lax.igammac(x, half))
    assert np.allclose(lax.igamma_grad_a(a=x, x=half), lax.igamma_grad_a(x, half))
    assert np.allclose(lax.zeta(x=x, q=half), lax.zeta(x, half))
    assert np.allclose(lax.polygamma(m=np.float32(1), x=x), lax.polygamma(np.float32(1), x))
    assert np.array_equal(lax.nextafter(x1=x, x2=half), lax.nextafter(x, half))
    assert lib.numpy.issubdtype(arg1=np.int32, arg2=np.integer)
    assert lax.broadcast_like(arr=half, like_arr=x).shape == (2,)
    with lib.enable_x64(new_val=True):
        assert lib.numpy.arange(2).dtype == "int64"


@pytest.mark.parametrize("padding", ["SAME", "VALID", [(0, 0)], [(1, 2)], [(2, 0)]])
def test_transposed_convolutions_take_the_padding_of_the_convolution(padding):
    x, kernel = np.arange(10, dtype=np.float32).reshape(1, 5, 2), np.arange(18, dtype=np.float32).reshape(3, 2, 3)
    ours, theirs = (
        np.asarray(lib.lax.conv_transpose(x, kernel, (2,), padding, use_consistent_padding=True))
        for lib in (jitkit, jax)
    )
    assert np.array_equal(ours, theirs)


@both
def test_a_matrix_of_ones_on_the_diagonal_has_a_device(lib):
    assert lib.numpy.eye(2, device=lib.devices()[0]).committed


@both
def test_memory_that_speaks_dlpack_goes_to_a_device(lib):
    memory = np.arange(3, dtype=np.float32)
    given = lib.numpy.from_dlpack(memory, copy=None, device=lib.devices()[0])
    assert given.committed
    assert np.array_equal(given, memory)


def test_devices_of_a_process_are_found_by_its_number():
    def outcomes(lib):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            old = [d.id for d in lib.local_devices(host_id=0)]
        found = [d.id for d in lib.local_devices(0, "cpu")]
        return found, old, [str(w.message) for w in caught], raised(lambda: lib.local_devices(process_index=3))

    assert outcomes(jitkit) == outcomes(jax)


@both
def test_methods_of_arrays_show_the_parameters_of_their_functions(lib):
    x = lib.numpy.ones((2, 2))
    assert list(inspect.signature(x.sum).parameters)[:2] == ["axis", "dtype"]
    assert "side" in inspect.signature(x.searchsorted).parameters
    assert np.array_equal(x.at[0].divide(2.0, mode="drop", unique_indices=True)[0], [0.5, 0.5])
    assert np.array_equal(x.at[0].power(2.0, indices_are_sorted=True), x)
