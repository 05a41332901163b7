"""`jitkit.numpy` against `jax.numpy` with 64-bit types: where widths are chosen, and constants are written with more digits."""

from __future__ import annotations

import jax
import jax.numpy
import numpy as np
import pytest
from lax_oracle import x64
from numpy_oracle import check, nn_of

import jitkit
import jitkit.numpy

FLOATS = np.array([0.1, 0.5, 0.9, 0.25])
INTS = np.array([3, -4, 0, 7])
MATRIX = np.arange(12.0).reshape(3, 4)

ELEMENTWISE = [
    "sin", "log10", "deg2rad", "rad2deg", "signbit", "spacing", "isinf", "round", "nan_to_num", "sqrt", "floor",
    "rint", "negative", "square", "reciprocal", "conj", "abs",
]  # fmt: skip
REDUCTIONS = [
    "sum", "mean", "var", "std", "max", "argmax", "cumsum", "any", "median", "nansum", "count_nonzero", "ptp",
]  # fmt: skip


@pytest.mark.parametrize("operand", [FLOATS, INTS, FLOATS.astype(np.float32), 0.5, 3], ids=repr)
def test_functions_of_one_operand_agree_with_jax_in_x64_mode(operand):
    with x64():
        check(
            [(name, lambda jnp, x, name=name: getattr(jnp, name)(x), operand) for name in ELEMENTWISE + REDUCTIONS],
            run=False,
        )


def test_two_operands_agree_with_jax_in_x64_mode():
    pairs = [
        (FLOATS, INTS),
        (FLOATS.astype(np.float32), FLOATS),
        (INTS, 2),
        (INTS, 2.5),
        (3, 2.5),
        (np.uint32([1]), np.int32([2])),
    ]
    with x64():
        check(
            [
                (name, lambda jnp, x, y, name=name: getattr(jnp, name)(x, y), x, y)
                for name in (
                    "add",
                    "true_divide",
                    "floor_divide",
                    "remainder",
                    "power",
                    "maximum",
                    "where",
                    "less",
                    "copysign",
                )
                for x, y in pairs
                if name != "where"
            ],
            run=False,
        )


def test_creation_and_indexing_agree_with_jax_in_x64_mode():
    with x64():
        check(
            [
                ("array", lambda jnp: (jnp.array([1, 2]), jnp.array([1.5]), jnp.array(1), jnp.array(np.float32(1)))),
                ("arange", lambda jnp: (jnp.arange(3), jnp.arange(0, 1, 0.5), jnp.arange(3, dtype="int32"))),
                ("fills", lambda jnp: (jnp.zeros(2), jnp.ones(2, int), jnp.full(2, 1.5), jnp.eye(2))),
                ("tri_wide", lambda jnp: jnp.tri(2)),
                ("tril", lambda jnp, x: (jnp.tril(x), jnp.triu(x, 1), jnp.diag(x), jnp.trace(x)), MATRIX),
                ("a float64 index", lambda jnp, x, i: (x[i], x[i, 1:], x.at[i].set(1)), MATRIX, 1),
                ("int64 indices", lambda jnp, x, i: (x[i], x.at[i].add(1), jnp.take(x, i)), FLOATS, INTS % 4),
                ("take_along_axis", lambda jnp, x, i: jnp.take_along_axis(x, i, 1), MATRIX, np.array([[0], [1], [2]])),
                ("argsort", lambda jnp, x: (jnp.argsort(x), jnp.sort(x), jnp.argmin(x)), FLOATS),
                ("roll by a traced place", lambda jnp, x, s: jnp.roll(x, s.astype(int)), FLOATS, np.int64(1)),
                ("matmul", lambda jnp, x, y: (x @ x.T, jnp.einsum("ij,j", x, y), jnp.dot(x, 2)), MATRIX, FLOATS),
                ("repeat", lambda jnp, x: jnp.repeat(x, 2), FLOATS),
                ("pad", lambda jnp, x: (jnp.pad(x, 1), jnp.pad(x, 1, mode="edge")), FLOATS),
                ("one_hot", lambda jnp, i: nn_of(jnp).one_hot(i, 4), INTS),
                ("leaky_relu", lambda jnp, x: (nn_of(jnp).leaky_relu(x), nn_of(jnp).selu(x)), FLOATS),
            ]
        )


# --- arrays of 64 bits that outlive their block of x64 mode -------------------------------------------------------------

NARROWED = [
    "sum", "prod", "max", "min", "mean", "std", "var", "ptp", "median", "average", "cumsum", "cumprod", "trace",
    "nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanstd", "nanvar", "nancumsum", "all", "any", "count_nonzero",
]  # fmt: skip
KEPT = [
    "sort", "unique", "negative", "square", "sqrt", "sin", "cos", "log1p", "deg2rad", "radians", "trunc", "isreal",
    "logical_not", "flip", "transpose", "abs", "argsort", "diff",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Explicitly requested dtype")  # both libraries warn, in different places
@pytest.mark.parametrize("dtype", ["float64", "int64", "uint64", "complex128"])
def test_arrays_that_outlive_their_block_have_the_types_that_jax_gives_them(dtype):
    found = []
    for lib, np_ in ((jitkit, jitkit.numpy), (jax, jax.numpy)):
        with lib.enable_x64(True):
            x = np_.asarray(np.arange(1, 13).reshape(3, 4), dtype)
        assert x.dtype == dtype
        found.append({name: result_type(lib, getattr(np_, name), x) for name in NARROWED + KEPT})
    ours, theirs = found
    assert ours == theirs


def result_type(lib, function, x):
    """Return the dtype and shape of a function's result, or the class of its error."""
    try:
        result = function(x) if function.__name__ == "unique" else lib.eval_shape(function, x)
        return str(result.dtype), result.shape
    except (TypeError, ValueError) as error:
        return type(error).__name__


@pytest.mark.filterwarnings("ignore:Explicitly requested dtype")
def test_their_values_are_those_of_jax_too():
    results = []
    for lib, np_ in ((jitkit, jitkit.numpy), (jax, jax.numpy)):
        with lib.enable_x64(True):
            x = np_.asarray([[1.0, 1e-9, -0.0], [2.5, float("nan"), 1e300]])
        results.append([np.asarray(f(x)).tobytes() for f in (np_.nansum, np_.sort, np_.deg2rad, np_.cumsum)])
    assert results[0] == results[1]
