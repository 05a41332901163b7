"""`jitkit.nn` against `jax.nn`."""

from __future__ import annotations

import jax
import ml_dtypes
import numpy as np
import pytest
from numpy_oracle import accepted, check, check_error, nn_of

import jitkit

ACTIVATIONS = [
    "identity", "relu", "relu6", "squareplus", "softplus", "sparse_plus", "soft_sign", "sigmoid",
    "sparse_sigmoid", "silu", "swish", "mish", "log_sigmoid", "elu", "leaky_relu", "hard_tanh", "celu",
    "selu", "gelu", "hard_sigmoid", "hard_silu", "hard_swish", "log1mexp", "tanh", "glu",
]  # fmt: skip
OVER_AXES = ["logmeanexp", "logsumexp", "log_softmax", "softmax", "standardize"]
OPERANDS = {
    "floats": np.float32([-3, -1, -0.5, 0, 0.5, 3]),
    "a matrix": np.float32([[1, 2], [3, -4]]),
    "integers": np.int32([1, 2]),
    "a Python float": 0.5,
    "bfloat16": np.array([1.5, -2], ml_dtypes.bfloat16),
}
SMALL = np.float32([0.1, 0.5, 0.9, 0.25])
MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
MASK = np.array([True, False, True])


@pytest.mark.parametrize("kind", OPERANDS)
def test_functions_agree_with_jax(kind):
    rows = [
        (f"{name} of {kind}", lambda jnp, x, name=name: getattr(nn_of(jnp), name)(x), OPERANDS[kind])
        for name in ACTIVATIONS + OVER_AXES
    ]
    good = [row for row in rows if accepted(row)]
    check(good, eager=kind == "floats")
    for row in rows:
        if row not in good and "glu of a Python" not in row[0]:
            check_error(row)


@pytest.mark.parametrize("name", OVER_AXES)
def test_functions_over_an_axis_agree_with_jax(name):
    check(
        [
            (f"{name} over the first axis", lambda jnp, x: getattr(nn_of(jnp), name)(x, axis=0), MATRIX),
            (f"{name} where", lambda jnp, x, m: getattr(nn_of(jnp), name)(x, axis=1, where=m), MATRIX, MASK),
        ]
    )


def test_functions_with_parameters_agree_with_jax():
    check(
        [
            ("logsumexp of weights", lambda jnp, x, b: nn_of(jnp).logsumexp(x, b=b), SMALL, SMALL - np.float32(0.25)),
            (
                "logsumexp with a sign",
                lambda jnp, x, b: nn_of(jnp).logsumexp(x, b=b, return_sign=True),
                SMALL,
                SMALL - np.float32(0.25),
            ),
            ("logsumexp keeping axes", lambda jnp, x: nn_of(jnp).logsumexp(x, axis=1, keepdims=True), MATRIX),
            ("logsumexp of complex numbers", lambda jnp, x: nn_of(jnp).logsumexp(x), np.complex64([1 + 2j, -3])),
            ("gelu, exactly", lambda jnp, x: nn_of(jnp).gelu(x, approximate=False), SMALL),
            ("elu", lambda jnp, x: nn_of(jnp).elu(x, 2.0), SMALL),
            ("leaky_relu", lambda jnp, x: nn_of(jnp).leaky_relu(x, 0.25), SMALL),
            ("celu", lambda jnp, x: nn_of(jnp).celu(x, 2.0), SMALL),
            ("standardize, stable", lambda jnp, x: nn_of(jnp).standardize(x, algorithm="stable"), MATRIX),
        ]
    )


def test_one_hot_agrees_with_jax():
    check(
        [
            ("one_hot", lambda jnp, x: nn_of(jnp).one_hot(x, 4), np.int32([0, 3, 5])),
            (
                "one_hot along the first axis",
                lambda jnp, x: nn_of(jnp).one_hot(x, 4, axis=0, dtype=int),
                np.int32([0, 3, 5]),
            ),
            ("one_hot of one", lambda jnp: nn_of(jnp).one_hot(2, 4)),
            ("one_hot of a list", lambda jnp: nn_of(jnp).one_hot([1, 2], 4)),
        ]
    )


@pytest.mark.parametrize("axis", ["i", ("i",), "j", (), (0, 1), None])
@pytest.mark.parametrize("num_classes", [3, 4])
def test_each_element_of_a_named_axis_computes_its_part_of_one_hot(axis, num_classes):
    def outcome(lib):
        def program(x):
            return lib.vmap(lambda _: lib.nn.one_hot(x, num_classes, axis=axis), axis_name="i")(np.ones(3))

        try:
            return str(lib.make_jaxpr(program)(np.int32([0, 2, 5]))), np.asarray(program(np.int32([0, 2, 5]))).tolist()
        except Exception as error:
            return type(error).__name__, str(error).splitlines()[0]

    assert outcome(jitkit) == outcome(jax)


def test_smooth_functions_of_a_weakly_typed_complex_number_are_weakly_typed():
    for name in ("softplus", "mish", "log_sigmoid"):
        ours, theirs = (lib.make_jaxpr(getattr(lib.nn, name))(1.5j) for lib in (jitkit, jax))
        assert str(ours) == str(theirs)
        assert ours.out_avals[0].weak_type == theirs.out_avals[0].weak_type


def test_every_function_of_jax_nn_is_there_but_for_those_that_need_a_gpu_or_random_numbers():
    missing = {name for name in dir(jax.nn) if not name.startswith("_")} - set(dir(jitkit.nn))
    assert missing == {"get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"}
