"""Elementwise functions of `jitkit.numpy` against `jax.numpy`: every function with operands of every kind."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from numpy_oracle import accepted, check, check_error
from tails import one_in

UNARY = [
    "negative", "positive", "sign", "floor", "ceil", "trunc", "rint", "abs", "absolute", "fabs", "exp",
    "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "cbrt", "sin", "cos", "tan", "arcsin",
    "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "asin", "acos", "atan",
    "asinh", "acosh", "atanh", "square", "reciprocal", "deg2rad", "rad2deg", "degrees", "radians", "sinc",
    "real", "imag", "conj", "conjugate", "isnan", "isfinite", "isinf", "isposinf", "isneginf", "signbit",
    "spacing", "modf", "frexp", "round", "around", "nan_to_num", "logical_not", "invert", "bitwise_not",
    "bitwise_invert", "bitwise_count",
]  # fmt: skip
BINARY = [
    "add", "subtract", "multiply", "divide", "true_divide", "float_power", "arctan2", "atan2", "nextafter",
    "minimum", "maximum", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
    "logical_and", "logical_or", "logical_xor", "power", "pow", "floor_divide", "mod", "remainder", "fmod",
    "divmod", "hypot", "heaviside", "copysign", "logaddexp", "logaddexp2", "fmin", "fmax", "bitwise_and",
    "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift",
    "ldexp",
]  # fmt: skip

FLOATS = np.float32([0.5, -1.25, 2, 0, -0.0, np.inf, -np.inf, np.nan, 3.75])
SMALL = np.float32([0.1, 0.5, 0.9, 0.25])
INTS = np.int32([3, -4, 0, 7, -1])
NONZERO = np.int32([2, 3, -2, -7, 5])
COMPLEX = np.complex64([1 + 2j, -3 - 1j, 0.5j, 2])
BFLOATS = np.array([1.5, 2, -3], ml_dtypes.bfloat16)
BOOLS = np.array([True, False, True])
MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3) + 1

OPERANDS = {
    "floats": FLOATS,
    "small floats": SMALL,
    "integers": INTS,
    "unsigned integers": np.uint8([3, 200, 0, 7]),
    "bools": BOOLS,
    "complex numbers": COMPLEX,
    "bfloat16": BFLOATS,
    "a Python int": 3,
    "a Python float": 0.5,
}
PAIRS = {
    "floats": (SMALL, SMALL[::-1].copy()),
    "integers": (INTS, NONZERO),
    "integers and floats": (INTS, NONZERO.astype(np.float32)),
    "floats and a Python int": (SMALL, 2),
    "a Python float and floats": (2.5, SMALL),
    "integers and a Python float": (INTS, 2.5),
    "integers and a Python int": (INTS, 2),
    "two Python scalars": (3, 2.5),
    "bools": (BOOLS, BOOLS[::-1].copy()),
    "bools and a Python int": (BOOLS, 1),
    "unsigned and signed": (np.uint8([3, 200, 0, 7]), INTS[:4]),
    "uint32 and int32": (np.uint32([1, 2]), np.int32([3, -4])),
    "int8 and int16": (np.int8([1, 2, 3]), np.int16([4, -5, 6])),
    "bfloat16 and a Python float": (BFLOATS, 2.5),
    "bfloat16 and float16": (BFLOATS, np.float16([1.5, 2, -3])),
    "different ranks": (MATRIX, MATRIX[0]),
    "different ranks, the other way": (MATRIX[0], MATRIX),
    "an axis of one": (MATRIX[:1], MATRIX),
    "complex numbers": (COMPLEX, COMPLEX[::-1].copy()),
    "complex numbers and a Python int": (COMPLEX, 2),
    "floats and a numpy scalar": (SMALL, np.float32(2)),
}


def calling(name):
    return lambda jnp, *xs: getattr(jnp, name)(*xs)


# The kinds of operand that are run: equal jaxprs compute the same, and tests of lax run their lowering.
RUN = {"floats", "integers", "bfloat16", "integers and floats", "unsigned and signed", "different ranks"}
RUN_EAGERLY = {"floats", "integers and floats", "two Python scalars"}


def check_rows(rows, kind):
    """Check that rows that JAX accepts agree with JAX, and that the others raise the same errors."""
    good = [row for row in rows if accepted(row)]
    check(good, run=kind in RUN | RUN_EAGERLY, eager=kind in RUN_EAGERLY)
    for row in rows:
        if row not in good:
            check_error(row)


@pytest.mark.parametrize("kind", OPERANDS)
def test_functions_of_one_operand_agree_with_jax(kind):
    check_rows([(f"{name} of {kind}", calling(name), OPERANDS[kind]) for name in UNARY], kind)


@pytest.mark.parametrize("kind", one_in(3, list(PAIRS)))
def test_functions_of_two_operands_agree_with_jax(kind):
    check_rows([(name, calling(name), *PAIRS[kind]) for name in BINARY], kind)


@pytest.mark.parametrize(
    "name", [name for name in BINARY if "shift" not in name and "bitwise" not in name and name != "ldexp"]
)
def test_closed_over_scalars_become_literals(name):
    function = calling(name)
    check(
        [
            (name, lambda jnp, x: function(jnp, x, 2), SMALL),
            (name, lambda jnp, x: function(jnp, x, 2.5), 3),
            (name, lambda jnp, x: function(jnp, 2, x), NONZERO),
            (name, lambda jnp, x: function(jnp, x, SMALL), SMALL),
            (name, lambda jnp, x: function(jnp, jnp.array(SMALL), x), SMALL),
        ],
        run=False,
    )


@pytest.mark.parametrize("name", ["sin", "exp", "negative", "sqrt", "floor", "isnan", "log2", "square"])
def test_functions_of_a_constant_are_recorded(name):
    check([(name, lambda jnp: calling(name)(jnp, 0.5)), (name, lambda jnp: calling(name)(jnp, SMALL))])


def test_powers_with_a_known_integer_are_integer_powers():
    check(
        [
            *[(f"power {n}", lambda jnp, x, n=n: x**n, SMALL) for n in (2, 0, -1, 3, 1, 2.0, True)],
            ("power of integers", lambda jnp, x: x**2, INTS),
            ("power of bools", lambda jnp, x: jnp.power(x, 2), BOOLS),
            ("power by an array", lambda jnp, x: x ** jnp.array(2), SMALL),
            ("two to the power", lambda jnp, x: 2**x, SMALL),
            *[
                (f"to a float as it is written, of {kind}", lambda jnp, x: (x**0.1, jnp.power(0.1, x)), x)
                for kind, x in (("a float", 0.5), ("an int", 2), ("floats", SMALL), ("integers", NONZERO))
            ],
            ("integers to integers", lambda jnp, x, y: x**y, INTS, np.abs(NONZERO)),
        ]
    )


def test_ldexp_scales_by_powers_of_two():
    check([("ldexp", lambda jnp, x, y: jnp.ldexp(x, y), SMALL, np.int32([1, 2, -3, 4]))])


def test_where_agrees_with_jax():
    check(
        [
            ("where", lambda jnp, x: jnp.where(x > 0, x, 0.0), FLOATS),
            ("where of numbers", lambda jnp, x: jnp.where(x, 1, 0), SMALL),
            ("where of one bool", lambda jnp, x: jnp.where(True, x, 0), SMALL),
            ("where of a traced bool", lambda jnp, c, x: jnp.where(c, x, 2), True, 2.5),
            ("where broadcasts", lambda jnp, c, x, y: jnp.where(c, x, y), BOOLS, MATRIX, MATRIX[0]),
            ("where of narrow integers", lambda jnp, c, x: jnp.where(c, x, 2), BOOLS, np.int8([1, -2, 3])),
            ("where of two Python scalars", lambda jnp, c: jnp.where(c, 1, 2.5), BOOLS),
            ("where of bfloat16", lambda jnp, x: jnp.where(x > 1, x, 2.5), BFLOATS),
            ("where of nothing", lambda jnp, x: jnp.where(x > 1, x, 2), np.zeros((0, 2), np.float32)),
            ("select", lambda jnp, x: jnp.select([x > 1, x > 0.3], [x, x * 2], 0), SMALL),
        ]
    )


def test_clip_and_round_agree_with_jax():
    check(
        [
            ("clip", lambda jnp, x: jnp.clip(x, 0, 1), SMALL),
            ("clip from below", lambda jnp, x: jnp.clip(x, min=0.25), SMALL),
            ("clip from above", lambda jnp, x: jnp.clip(x, max=0.25), SMALL),
            ("clip of integers", lambda jnp, x: jnp.clip(x, 0, 2.5), INTS),
            ("clip by arrays", lambda jnp, x, y: jnp.clip(x, y, y + 1), SMALL, SMALL),
            ("clip by nothing", lambda jnp, x: jnp.clip(x), SMALL),
            ("round", lambda jnp, x: jnp.round(x, 1), SMALL),
            ("round before the point", lambda jnp, x: jnp.round(x * 100, -1), SMALL),
            ("round of float16", lambda jnp, x: jnp.round(x, 1), np.float16([1.25, -3.75])),
            ("nan_to_num with values", lambda jnp, x: jnp.nan_to_num(x, nan=1.0, posinf=2, neginf=3), FLOATS),
        ]
    )


def test_closeness_agrees_with_jax():
    check(
        [
            ("isclose", lambda jnp, x, y: jnp.isclose(x, y), SMALL, SMALL + np.float32(1e-6)),
            ("isclose", lambda jnp, x: jnp.isclose(x, x, equal_nan=True), FLOATS),
            ("allclose", lambda jnp, x: jnp.allclose(x, x), FLOATS),
            ("array_equal", lambda jnp, x: jnp.array_equal(x, x), SMALL),
            ("array_equal of two shapes", lambda jnp, x, y: jnp.array_equal(x, y), SMALL, MATRIX),
            ("array_equal of nan", lambda jnp, x: jnp.array_equal(x, x, equal_nan=True), FLOATS),
            ("array_equiv", lambda jnp, x: jnp.array_equiv(x, x[:1]), SMALL),
        ]
    )


def test_angles_and_parts_agree_with_jax():
    check(
        [
            *[("angle", lambda jnp, x: jnp.angle(x), x) for x in (COMPLEX, SMALL, INTS, 0.5)],
            ("angle in degrees", lambda jnp, x: jnp.angle(x, deg=True), COMPLEX),
            *[("iscomplex", lambda jnp, x: (jnp.iscomplex(x), jnp.isreal(x)), x) for x in (COMPLEX, SMALL)],
        ]
    )


def test_a_weak_truth_value_stays_weak_alone():
    check(
        [
            ("not", lambda jnp, x: ~(x > 0), 0.5),
            ("invert", lambda jnp, x: (jnp.invert(x > 0), jnp.logical_not(x > 0), jnp.logical_not(x)), 0.5),
            ("and", lambda jnp, x: (x > 0) & (x < 1), 0.5),
        ]
    )
