"""The elementwise primitives of `jitkit.lax` against those of `jax.lax`."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from lax_oracle import (
    EACH_DTYPE,
    EACH_DTYPE_X64,
    NARROW_DTYPES,
    accepted_by_jax,
    assert_same,
    assert_same_error,
    dtype_of,
    edge_values,
    pairs,
    x64,
)  # fmt: skip
from tails import keeping, one_in

import jitkit

UNARY = [
    "neg", "sign", "floor", "ceil", "is_finite", "abs", "exp", "exp2", "expm1", "log", "log1p", "logistic", "sin",
    "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sqrt", "rsqrt",
    "cbrt", "square", "real", "imag", "conj", "bitwise_not", "population_count", "clz", "erf", "erfc", "erf_inv",
    "lgamma", "digamma", "bessel_i0e", "bessel_i1e", "round", "reciprocal", "stop_gradient",
]  # fmt: skip
BINARY = [
    "add", "sub", "mul", "mulhi", "div", "rem", "max", "min", "atan2", "nextafter", "complex", "zeta", "polygamma",
    "pow", "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right_arithmetic",
    "shift_right_logical", "eq", "ne", "ge", "gt", "le", "lt",
]  # fmt: skip
# The rows to run with types of 8 bits and fewer: XLA on CPU has no kernels for the others, though shape rules accept
# them.
NARROW_UNARY = [
    "neg", "sign", "floor", "ceil", "abs", "exp", "log", "sin", "cos", "tanh", "sqrt", "square", "bitwise_not",
]  # fmt: skip
NARROW_BINARY = [
    "add", "sub", "mul", "div", "max", "min", "bitwise_and", "bitwise_or", "bitwise_xor", "eq", "ne", "ge", "gt", "le", "lt",
]  # fmt: skip
TOTAL_ORDER = ["eq_to_p", "le_to_p", "lt_to_p"]


def applying(names):
    return lambda lax, *xs: [getattr(lax, name)(*xs) for name in names]


def check_rows(names, *operands):
    """Check that rows that JAX accepts for these operands agree with JAX, and that the others raise the same errors."""
    accepted = [name for name in names if accepted_by_jax(applying([name]), *operands)]
    assert_same(applying(accepted), *operands, labels=accepted, eager=False)
    for name in names:
        if name not in accepted:
            assert_same_error(applying([name]), *operands)


# --- every row, every dtype ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", EACH_DTYPE)
def test_unary_operations_agree_on_edge_values(dtype):
    check_rows(UNARY, edge_values(dtype))


@pytest.mark.parametrize("dtype", EACH_DTYPE_X64)
def test_unary_operations_agree_on_edge_values_of_64_bits(dtype):
    with x64():
        check_rows(UNARY, edge_values(dtype))


@pytest.mark.parametrize("dtype", EACH_DTYPE)
def test_binary_operations_agree_on_pairs_of_edge_values(dtype):
    check_rows(BINARY, *pairs(edge_values(dtype)))


@pytest.mark.parametrize("dtype", EACH_DTYPE_X64)
def test_binary_operations_agree_on_pairs_of_edge_values_of_64_bits(dtype):
    with x64():
        check_rows(BINARY, *pairs(edge_values(dtype)))


@pytest.mark.parametrize("dtype", NARROW_DTYPES)
def test_operations_agree_on_dtypes_of_8_bits_and_fewer(dtype):
    values = edge_values(dtype)
    check_rows(NARROW_UNARY, values)
    check_rows(NARROW_BINARY, *pairs(values))


@pytest.mark.parametrize("name", one_in(4, UNARY))
def test_unary_operations_agree_when_called_eagerly(name):
    for dtype in ("float32", "int32", "complex64"):
        x = np.ones((2, 3), dtype_of(dtype))
        if accepted_by_jax(applying([name]), x):
            assert_same(applying([name]), x, labels=[name])


@pytest.mark.parametrize("name", one_in(4, BINARY))
def test_binary_operations_agree_when_called_eagerly(name):
    dtype = "int32" if name.startswith(("mulhi", "bitwise", "shift")) else "float32"
    x = np.full((2, 3), 2, dtype)
    assert_same(applying([name]), x, x)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "float16", "float32"])
def test_comparisons_in_the_total_order_agree(dtype):
    def program(lax, x, y):
        return [getattr(lax, name).bind(x, y) for name in TOTAL_ORDER]

    assert_same(program, *pairs(edge_values(dtype)), labels=TOTAL_ORDER, eager=False)


def test_the_total_order_puts_minus_zero_below_zero_and_nan_at_the_end():
    zeros = jitkit.lax.lt_to_p.bind(np.float32([-0.0, 1.0]), np.float32([0.0, np.nan]))
    assert np.asarray(zeros).tolist() == [True, True]


# --- shapes and weak types -----------------------------------------------------------------------------------

SHAPES = [
    ((), ()), ((), (3,)), ((3,), ()), ((2, 3), (2, 3)), ((2, 1), (1, 3)), ((2, 3), (1, 1)), ((0,), ()), ((0,), (1,)),
    ((0, 3), (0, 3)), ((1, 1, 1), (2, 0, 4)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_scalars_and_axes_of_size_one_broadcast(shapes):
    x, y = (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for shape in shapes)
    assert_same(applying(["add", "pow", "max", "lt", "complex"]), x, y)


def test_python_scalars_are_literals_beside_arrays_of_their_dtype():
    x = np.float32([1, 2])

    def program(lax, x):
        return [
            lax.add(x, 1.0),
            lax.mul(2.0, x),
            lax.pow(x, 2),
            lax.pow(x, 0.5),
            lax.clamp(0.0, x, 1.5),
            lax.max(x, np.float32(1)),
        ]

    assert_same(program, x)


@pytest.mark.parametrize(
    "scalars", one_in(2, [(1.5, 2.0), (True, False), (3, 4), (1j, 2j), (np.float32(1), 2.0)]), ids=str
)
def test_results_are_weakly_typed_when_all_operands_are(scalars):
    names = [name for name in BINARY if accepted_by_jax(applying([name]), *scalars)]
    assert_same(applying(names), *scalars, labels=names, eager=False)
    names = [name for name in UNARY if accepted_by_jax(applying([name]), scalars[0])]
    assert_same(applying(names), scalars[0], labels=names, eager=False)


def test_weakly_typed_scalars_agree_when_called_eagerly():
    assert_same(applying(["add", "lt"]), 1, 2)
    assert_same(applying(["sin", "is_finite", "round"]), 0.5)


def test_dtypes_of_python_scalars_are_wide_in_x64_mode():
    with x64():
        assert_same(applying(["add", "div", "lt"]), 1.5, 2.5)
        assert_same(applying(["add", "div", "lt"]), 3, 2)


BAD_OPERANDS = [
    ("add", np.float32([1]), 1),
    ("add", np.float32([1]), np.float16([1])),
    ("mul", np.int8([1]), np.uint8([1])),
    ("eq", np.float32([1]), 1),
    ("bitwise_and", np.int32([1]), True),
    ("nextafter", 1.0, 1),
    ("atan2", np.float32([1]), np.complex64([1])),
    ("shift_left", np.int32([1]), np.uint32([1])),
    ("add", np.ones((2, 3), np.float32), np.ones((2, 2), np.float32)),
    ("add", np.ones((2, 3), np.float32), np.ones(3, np.float32)),
    ("lt", np.ones((4, 1), np.float32), np.ones((3, 2), np.int32)),
    ("pow", np.float32([1]), np.float16([1])),
    ("pow", np.int32([1]), np.int32([1])),
    ("pow", np.float32([1]), True),
    ("pow", np.float32([1, 2]), np.int32([1, 2, 3])),
    ("complex", np.float16([1]), np.float16([1])),
    ("complex", 1, 2),
    ("mulhi", 1.0, 2.0),
]


@pytest.mark.parametrize("case", BAD_OPERANDS, ids=lambda case: f"{case[0]}-{np.shape(case[1])}-{np.shape(case[2])}")
def test_operands_that_do_not_fit_are_refused_in_jax_words(case):
    name, *operands = case
    assert_same_error(applying([name]), *operands)


# --- powers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "complex64", "int32", "uint8"])
def test_integer_pow_agrees_for_every_small_exponent(dtype):
    exponents = [y for y in range(-9, 18) if y >= 0 or "int" not in dtype]
    values = edge_values(dtype)

    def program(lax, x):
        return [lax.integer_pow(x, y) for y in exponents]

    assert_same(program, values, labels=exponents, eager=False)


def test_integer_pow_multiplies_as_often_as_jax():
    def text(system, y):
        lowered = system.jit(lambda x: system.lax.integer_pow(x, y)).lower(np.ones(3, np.float32))
        return lowered.as_text()

    for y in (0, 1, 2, 3, 7, 11, 64, -1, -6):
        for op in ("stablehlo.multiply", "stablehlo.divide", "stablehlo.constant"):
            assert text(jitkit, y).count(op) == text(jax, y).count(op), y


def test_integer_pow_of_scalars_is_weakly_typed_and_eager():
    assert_same(lambda lax, x: lax.integer_pow(x, 3), 2)
    assert_same(lambda lax, x: lax.reciprocal(x), 4.0)


@pytest.mark.parametrize("case", [(np.int32([2]), -1), (2, -3), (True, 2), (np.bool_([True]), 1)], ids=str)
def test_integer_pow_refuses_bools_and_integers_to_negative_powers(case):
    assert_same_error(lambda lax, x: lax.integer_pow(x, case[1]), case[0])


@pytest.mark.parametrize("base", ["float32", "float16", "complex64"])
@pytest.mark.parametrize("exponent", ["int32", "uint8", "int8"])
def test_pow_takes_integer_exponents(base, exponent):
    values, exponents = edge_values(base), np.array([0, 1, 2, 3, 5], exponent)
    x, y = np.repeat(values, len(exponents)), np.tile(exponents, len(values))
    assert_same(applying(["pow"]), x, y)
    assert_same(lambda lax, x: lax.pow(x, np.int8(3)), x, eager=False)


# --- round, clamp, select ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["AWAY_FROM_ZERO", "TO_NEAREST_EVEN"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_halves_are_rounded_by_either_method(method, dtype):
    assert_same(lambda lax, x: lax.round(x, getattr(lax.RoundingMethod, method)), edge_values(dtype))
    assert_same(lambda lax, x: lax.round(x, lax.RoundingMethod[method].value), edge_values(dtype), eager=False)


def test_an_unknown_rounding_method_is_refused():
    assert_same_error(lambda lax, x: lax.round(x, 5), np.float32([1]))


# without optimisations, XLA cannot clamp bools
@pytest.mark.parametrize(
    "dtype", keeping(["bool", "int32", "uint8", "bfloat16", "float32"], "int32", "uint8", "bfloat16")
)
def test_clamp_agrees_with_scalar_bounds_and_with_arrays(dtype):
    values = edge_values(dtype)
    low, high = values.dtype.type(0), values.dtype.type(1)
    assert_same(lambda lax, x: lax.clamp(low, x, high), values)
    assert_same(lambda lax, x, y: lax.clamp(y, x, high), *pairs(values), eager=False)
    assert_same(lambda lax, x, y: lax.clamp(y, x, y), *pairs(values), eager=False)


def test_clamp_of_weakly_typed_scalars_is_weakly_typed():
    assert_same(lambda lax, x: lax.clamp(1, x, 5), 7)
    assert_same(lambda lax, x: lax.clamp(1, x, 5), np.int32(7))


@pytest.mark.parametrize("case", [
    (np.float32([0, 1]), np.float32([0, 1, 2]), 1.0), (0.0, np.float32([1]), np.float32([1, 2])),
    (0, np.float32([1]), 1), (np.float32([[1]]), np.float32([1]), 2),
], ids=str)  # fmt: skip
def test_bounds_that_do_not_fit_are_refused(case):
    assert_same_error(lambda lax, *xs: lax.clamp(*xs), *case)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "bfloat16", "complex64"])
def test_select_agrees_with_a_predicate_per_element_and_with_one_for_all(dtype):
    x, y = pairs(edge_values(dtype))
    which = np.arange(len(x)) % 3 == 0
    assert_same(lambda lax, *xs: lax.select(*xs), which, x, y)
    assert_same(lambda lax, x, y: [lax.select(True, x, y), lax.select(False, x, y)], x, y, eager=False)
    assert_same(lambda lax, p, x, y: lax.select(p, x, y), np.bool_(True), x, y)


@pytest.mark.parametrize("count", range(1, 8))
@pytest.mark.parametrize("dtype", ["int32", "int8", "uint8"])
def test_select_n_takes_the_case_of_each_number_and_the_nearest_out_of_range(count, dtype):
    numbers = np.array([0, 1, 2, 3, 4, 5, 6, 7, 100, -1 if "u" not in dtype else 255], dtype)
    cases = [np.full(len(numbers), i, np.float32) for i in range(count)]
    assert_same(lambda lax, which, *cases: lax.select_n(which, *cases), numbers, *cases, eager=False)
    assert_same(lambda lax, *cases: lax.select_n(np.array(2, dtype), *cases), *cases, eager=False)


def test_select_n_with_bools_takes_one_or_two_cases():
    which, x, y = np.array([True, False]), np.float32([1, 2]), np.float32([3, 4])
    assert_same(lambda lax, *xs: lax.select_n(*xs), which, x, y)
    assert_same(lambda lax, which, x: lax.select_n(which, x), which, x)
    assert_same(lambda lax, which: lax.select_n(which, 1.0, 2.0), np.bool_(True))


@pytest.mark.parametrize("case", [
    (np.float32([1]),), (True, 1.0, 2), (np.float32([1]), np.float32([1]), np.float32([2])),
    (np.bool_([True]), *[np.float32([1])] * 3), (np.bool_([True, False]), np.float32([1]), np.float32([1])),
    (True, np.float32([1]), np.float32([1, 2])), (1.5, 1.0, 2.0),
], ids=str)  # fmt: skip
def test_cases_that_do_not_fit_are_refused(case):
    assert_same_error(lambda lax, *xs: lax.select_n(*xs), *case)


# --- what the table says of itself ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in UNARY + BINARY if name != "stop_gradient"])
def test_every_operation_is_named_and_documented(name):
    function = getattr(jitkit.lax, name)
    assert function.__name__ == name
    assert "TypeError" in function.__doc__


def test_stop_gradient_takes_pytrees():
    tree = {"a": np.float32([1]), "b": (np.float32(2), None)}
    stopped = jitkit.lax.stop_gradient(tree)
    assert np.asarray(stopped["a"]).tolist() == [1.0]
    assert stopped["b"][1] is None


@pytest.mark.parametrize("other", ["one", [1.0], None, {1: 2}], ids=repr)
def test_operands_that_are_no_arrays_are_refused_in_jax_words(other):
    assert_same_error(lambda lax, x: lax.add(x, other), np.float32([1]))
    assert_same_error(lambda lax, x: lax.add(other, x), np.float32([1]))
    assert_same_error(lambda lax: lax.sin(other))


def test_a_python_int_that_does_not_fit_is_refused():
    assert_same_error(lambda lax, x: lax.add(x, 2**40), np.int32([1]))
