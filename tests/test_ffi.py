"""Calls of compiled functions (`jitkit.ffi`) beside `jax.ffi`'s: LAPACK's, which come with jaxlib"""

from __future__ import annotations

import importlib
import os

import jaxlib.lapack
import numpy as np
import pytest
from twin import same_as_jax

import jitkit
import jitkit.numpy as jnp
from jitkit import ffi

A = np.array([[4, 1, 0], [1, 3, 0.5], [0, 0.5, 2]], np.float32)
PARAMS = {"input_layouts": [[1, 0]], "output_layouts": [[1, 0], []], "input_output_aliases": {0: 0}}
LOWER = {"uplo": np.uint8(ord("L"))}


def _factor(jax, **more):
    types = (jax.ShapeDtypeStruct((3, 3), np.float32), jax.ShapeDtypeStruct((), np.int32))
    return importlib.import_module(f"{jax.__name__}.ffi").ffi_call("lapack_spotrf_ffi", types, **{**PARAMS, **more})


@pytest.fixture(autouse=True)
def lapack():
    """Compile a program with LAPACK: the first one registers LAPACK's functions."""
    jitkit.numpy.linalg.cholesky(A)


@same_as_jax
def test_a_compiled_function_is_called_alone_and_in_a_program(jax, jnp):
    call = _factor(jax)
    return [
        call(A, **LOWER),
        jax.jit(lambda x: call(x + 1, **LOWER)[0] * 2)(A),
        jnp.tril(call(A, **LOWER)[0]) @ jnp.tril(call(A, **LOWER)[0]).T,
    ]


@same_as_jax
def test_the_equation_says_what_is_called(jax, jnp):
    def text(f):
        return str(jax.make_jaxpr(f)(A))

    return text(lambda x: _factor(jax)(x, **LOWER)), text(
        lambda x: _factor(jax, has_side_effect=True)(x, n=2, text="a")
    )


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled"])
@same_as_jax
def test_a_batch_is_a_call_for_each_element(jax, jnp, method):
    call = _factor(jax, vmap_method=method)
    return jax.vmap(lambda x: call(x, **LOWER), in_axes=1)(np.stack([A, 2 * A], 1))


@pytest.mark.parametrize("method", ["expand_dims", "broadcast_all", "legacy_vectorized"])
@same_as_jax
def test_a_batch_is_one_call_of_a_function_that_takes_batches(jax, jnp, method):
    call = _factor(jax, vmap_method=method)
    return jax.vmap(lambda x: call(x, **LOWER))(np.stack([A, 2 * A, A + 1]))


@same_as_jax
def test_what_does_not_fit_is_refused_as_by_jax(jax, jnp):
    found = []
    for call in (
        lambda: jax.grad(lambda x: _factor(jax)(x, **LOWER)[0].sum())(A),
        lambda: jax.vmap(lambda x: _factor(jax)(x, **LOWER))(np.stack([A, A])),
        lambda: _factor(jax, vmap_method="one"),
        lambda: _factor(jax, input_layouts=[])(A),
        lambda: _factor(jax, output_layouts=[None])(A),
        lambda: _factor(jax, input_output_aliases={1: 0})(A),
        lambda: _factor(jax, input_output_aliases={0: 1})(A),
        lambda: _factor(jax, output_layouts=None)(A),
        lambda: _factor(jax)(A, uplo=[1]),
        lambda: _factor(jax, legacy_backend_config="x"),
    ):
        with pytest.raises((ValueError, TypeError, NotImplementedError)) as error:
            call()
        found.append(error.value)
    return found


def test_a_function_is_registered_under_a_name_of_its_own():
    capsule = jaxlib.lapack._lapack.registrations()["lapack_spotrf_ffi"]
    ffi.register_ffi_target("test_ffi.factor", capsule, platform="cpu")
    types = (jitkit.ShapeDtypeStruct((3, 3), np.float32), jitkit.ShapeDtypeStruct((), np.int32))
    found, info = ffi.ffi_call("test_ffi.factor", types, **PARAMS)(A, **LOWER)
    assert int(info) == 0
    np.testing.assert_allclose(jnp.tril(found), np.linalg.cholesky(A), rtol=1e-5)


def test_the_headers_are_where_they_are_said_to_be():
    assert os.path.exists(os.path.join(ffi.include_dir(), "xla", "ffi", "api", "ffi.h"))


def test_attributes_that_differ_deep_inside_are_two_programs():
    f = jitkit.jit(lambda x, which: _factor(jitkit)(x, table=which.table, **LOWER), static_argnums=1)

    class Which:
        def __init__(self, middle, other=1):
            numbers = np.zeros(3000, np.int32)
            numbers[1500] = middle
            self.table = {"inner": {"numbers": numbers, "other": other}}

    texts = {f.lower(A, Which(*args)).as_text() for args in ((1,), (2,), (2, True), (2, 1.0))}
    assert len(texts) == 4
    keys = [jitkit.make_jaxpr(f, static_argnums=1)(A, Which(*args)).eqns[0].params["jaxpr"].eqns[0].params["attributes"]
            for args in ((1,), (1,), (2,), (2, True))]  # fmt: skip
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    with pytest.raises(TypeError, match="Non-hashable keyword argument to ffi_call table"):
        _factor(jitkit)(A, table={"a": {1, 2}})
