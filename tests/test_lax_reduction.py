"""Reductions of `jitkit.lax` against those of `jax.lax`: plain, `argmax` and `argmin`, cumulative, and with functions
of the user.
"""

from __future__ import annotations

import gc
import weakref

import jax
import numpy as np
import pytest
from lax_oracle import (
    EACH_DTYPE,
    EACH_DTYPE_X64,
    accepted_by_jax,
    assert_same,
    assert_same_error,
    edge_values,
    error_of,
    x64,
)

import jitkit
from jitkit import lax

REDUCTIONS = ["reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or", "reduce_xor"]
CUMULATIVE = ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"]


def apply_all(names, *args, **params):
    return lambda lax_, x: [getattr(lax_, name)(x, *args, **params) for name in names]


def check_all(names, x, *args, **params):
    """Check that the reductions that JAX accepts agree with JAX, and that the others raise the same errors."""
    accepted = [name for name in names if accepted_by_jax(apply_all([name], *args, **params), x)]
    if accepted:
        assert_same(apply_all(accepted, *args, **params), x, labels=accepted, eager=False)
    for name in names:
        if name not in accepted:
            assert_same_error(apply_all([name], *args, **params), x)


def numbers(shape, dtype=np.float32):
    return np.random.default_rng(0).integers(0, 9, shape).astype(dtype)


# --- plain reductions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", EACH_DTYPE)
def test_reductions_agree_on_edge_values_of_each_dtype(dtype):
    values = edge_values(dtype)
    check_all(REDUCTIONS, values, (0,))
    check_all(REDUCTIONS, np.stack([values, values[::-1]]), (0,))


@pytest.mark.parametrize("dtype", EACH_DTYPE_X64)
def test_reductions_agree_in_64_bits(dtype):
    with x64():
        check_all(REDUCTIONS, edge_values(dtype), (0,))


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((), ()),
        ((3,), ()),
        ((0,), (0,)),
        ((3, 0), (0,)),
        ((3, 0), (1,)),
        ((2, 3, 4), (1,)),
        ((2, 3, 4), (2, 0)),
        ((2, 3, 4), [0, 1, 2]),
    ],
)
def test_any_axes_of_any_shape_can_be_reduced(shape, axes):
    check_all(REDUCTIONS[:4], numbers(shape), axes)
    check_all(REDUCTIONS[4:], numbers(shape, np.uint8), axes)
    check_all(REDUCTIONS[2:], numbers(shape, np.bool_), axes)


@pytest.mark.parametrize("axes", [(2,), (-1,), (0, 0), (0, 3)])
def test_axes_out_of_range_or_named_twice_are_refused(axes):
    for name in REDUCTIONS[:4]:
        assert_same_error(apply_all([name], axes), numbers((2, 3)))


def test_reductions_of_weakly_typed_arrays_stay_weak_but_for_those_of_bits():
    assert_same(lambda lax_, x: [getattr(lax_, name)(lax_.broadcast(x, (3,)), (0,)) for name in REDUCTIONS], 2)


def test_reduced_nans_and_infinities_agree():
    values = np.array([[np.nan, 1, -np.inf], [2, np.inf, -np.inf], [-0.0, 0.0, 5]], np.float32)
    for axes in ((0,), (1,), (0, 1)):
        assert_same(apply_all(REDUCTIONS[:4], axes), values)


# --- argmin, argmax -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", EACH_DTYPE[:-1])
def test_positions_of_extremes_agree_on_edge_values_of_each_dtype(dtype):
    values = edge_values(dtype)
    assert_same(lambda lax_, x: [lax_.argmin(x, 0, np.int32), lax_.argmax(x, 0, np.int32)], values)


@pytest.mark.parametrize("index_dtype", [np.int8, np.uint8, np.int32, np.uint32])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_positions_have_the_dtype_asked_for_and_the_first_of_equals_wins(index_dtype, axis):
    assert_same(
        lambda lax_, x: [lax_.argmin(x, axis, index_dtype), lax_.argmax(x, axis, index_dtype)], numbers((3, 4, 5))
    )


@pytest.mark.parametrize(
    ("values", "axis", "index_dtype"),
    [
        (numbers((3, 4)), -1, np.int32),
        (numbers((3, 4)), 2, np.int32),
        (numbers((3, 0)), 1, np.int32),
        (numbers((3, 4)), 0, np.float32),
        (numbers((3, 4)), 0, np.bool_),
        (numbers((3, 4)), 0, None),
    ],
)
def test_positions_along_no_axis_or_of_no_integer_dtype_are_refused(values, axis, index_dtype):
    assert_same_error(lambda lax_, x: lax_.argmax(x, axis, index_dtype), values)
    assert_same_error(lambda lax_, x: lax_.argmin(x, axis, index_dtype), values)


def test_positions_along_an_axis_of_an_empty_array_agree():
    assert_same(lambda lax_, x: lax_.argmax(x, 0, np.int32), numbers((3, 0)))


# --- cumulative reductions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", EACH_DTYPE)
def test_cumulative_reductions_agree_in_each_dtype(dtype):
    values = edge_values(dtype)[:6]
    names = CUMULATIVE if "float" in dtype or dtype == "bool" else CUMULATIVE[:4]
    check_all(names, values)
    check_all(names, np.stack([values, values[::-1]]), 1, reverse=True)


@pytest.mark.parametrize(
    ("shape", "axis"), [((7,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 4), 1), ((0,), 0), ((3, 0), 1), ((3, 0), 0)]
)
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative_reductions_agree_along_any_axis_in_both_directions(shape, axis, reverse):
    check_all(CUMULATIVE, numbers(shape), axis, reverse=reverse)


@pytest.mark.parametrize("axis", [-1, 2])
def test_a_cumulative_reduction_along_no_axis_is_refused(axis):
    for name in CUMULATIVE:
        assert_same_error(apply_all([name], axis), numbers((3, 4)))


def test_a_cumulative_log_sum_of_exponentials_does_not_overflow():
    values = np.array([1000.0, -np.inf, 1000.0, -1000.0, np.inf, np.inf, np.nan], np.float32)
    assert_same(apply_all(["cumlogsumexp"]), values)
    assert_same(apply_all(["cumlogsumexp"]), np.array([1 + 2j, 3 - 3j, -1 + 3j], np.complex64))


def test_a_cumulative_log_sum_of_integers_is_refused_when_it_is_compiled():
    expected = error_of(jax.jit(lambda x: jax.lax.cumlogsumexp(x)), numbers((3,), np.int32))
    assert (
        error_of(jitkit.jit(lambda x: lax.cumlogsumexp(x)), numbers((3,), np.int32)).split(":")[0]
        == expected.split(":")[0]
    )


# --- reduce: any function -----------------------------------------------------------------------------------

MONOIDS = {
    "add": (0, np.float32), "mul": (1, np.float32), "max": (-np.inf, np.float32), "min": (np.inf, np.float32),
    "bitwise_or": (0, np.int32), "bitwise_and": (-1, np.int32), "bitwise_xor": (0, np.uint8),
}  # fmt: skip


@pytest.mark.parametrize("name", MONOIDS)
def test_reduce_with_a_known_function_is_the_reduction_that_has_its_own_primitive(name):
    init, dtype = MONOIDS[name]
    init = np.array(init).astype(dtype)[()]
    assert_same(lambda lax_, x: lax_.reduce(x, init, getattr(lax_, name), (0,)), numbers((3, 4), dtype))


def multiply_and_count(xs, ys):
    lax_ = lax if isinstance(xs["count"], jitkit.core.Tracer) else jax.lax
    return {"product": lax_.mul(xs["product"], ys["product"]), "count": lax_.add(xs["count"], ys["count"])}


PROGRAMS_OF_REDUCE = {
    "a known function from another start": lambda lax_, x: lax_.reduce(x, np.float32(10), lax_.add, (0,)),
    "a known function from a traced start": lambda lax_, x: lax_.reduce(x, lax_.reduce_max(x, (0, 1)), lax_.add, (0,)),
    "a lambda": lambda lax_, x: lax_.reduce(x, np.float32(1), lambda a, b: lax_.mul(a, lax_.abs(b)), (1,)),
    "a Python scalar to start from": lambda lax_, x: lax_.reduce(x, 1.0, lambda a, b: lax_.mul(a, b), (1,)),
    "a pair": lambda lax_, x: lax_.reduce(
        (x, x), (np.float32(0), np.float32(1)), lambda a, b: (lax_.add(a[0], b[0]), lax_.mul(a[1], b[1])), (0,)),
    "two dtypes": lambda lax_, x: lax_.reduce(
        (x, lax_.convert_element_type(x, np.int32)), (np.float32(0), np.int32(0)),
        lambda a, b: (lax_.add(a[0], b[0]), lax_.max(a[1], b[1])), (0, 1)),
    "a constant in the function": lambda lax_, x: lax_.reduce(x, np.float32(0), lambda a, b: lax_.add(a, lax_.mul(b, np.float32(1))), (0,)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS_OF_REDUCE)
def test_reduce_with_any_function_agrees(name):
    assert_same(PROGRAMS_OF_REDUCE[name], numbers((3, 4)))


def test_reduce_takes_trees_of_arrays_and_returns_such_a_tree():
    def program(lax_, x):
        out = lax_.reduce(
            {"product": x, "count": x}, {"product": np.float32(1), "count": np.float32(0)}, multiply_and_count, (0,)
        )
        assert set(out) == {"product", "count"}
        return [out["product"], out["count"]]

    assert_same(program, numbers((3, 4)))


def test_reductions_in_64_bits_agree():
    with x64():
        assert_same(
            lambda lax_, x: [lax_.argmax(x, 0, np.int64), lax_.argmin(x, 0, "int32")], numbers((5,), np.float64)
        )
        assert_same(lambda lax_, x: lax_.reduce(x, 0.0, lambda a, b: lax_.mul(a, b), (0,)), numbers((5,), np.float64))
        assert_same(lambda lax_, x: lax_.cumsum(x), numbers((5,), np.int64))


def test_two_reductions_by_one_function_share_its_jaxpr():
    def program(lax_, x):
        def combine(a, b):
            return lax_.add(lax_.mul(a, b), a)

        return [lax_.reduce(x, np.float32(0), combine, (i,)) for i in (0, 1)]

    assert_same(program, numbers((3, 4)))


def test_a_reducer_that_dies_is_not_kept_alive():
    def reduce_and_drop_the_reducer():
        def combine(a, b):
            return lax.add(a, lax.mul(b, b))

        jitkit.make_jaxpr(lambda x: lax.reduce(x, np.float32(0), combine, (0,)))(numbers((3,)))
        return weakref.ref(combine)

    dropped = reduce_and_drop_the_reducer()
    gc.collect()
    assert dropped() is None


REFUSED_BY_REDUCE = {
    "trees that differ": lambda lax_, x: lax_.reduce((x, x), (np.float32(0),), lambda a, b: a, (0,)),
    "a start that is no scalar": lambda lax_, x: lax_.reduce(x, x, lambda a, b: lax_.add(a, b), (0,)),
    "a start of another dtype": lambda lax_, x: lax_.reduce(x, np.int32(0), lambda a, b: lax_.mul(a, b), (0,)),
}


@pytest.mark.parametrize("name", REFUSED_BY_REDUCE)
def test_reduce_refuses_what_does_not_fit(name):
    assert_same_error(REFUSED_BY_REDUCE[name], numbers((3, 4)))


REFUSED_WHEN_JAX_LOWERS = {
    "a reducer of another dtype": lambda lax_, x: lax_.reduce(
        x, np.float32(0), lambda a, b: lax_.convert_element_type(a, np.int32), (0,)),
    "a reducer of another shape": lambda lax_, x: lax_.reduce(x, np.float32(0), lambda a, b: lax_.broadcast(a, (2,)), (0,)),
    "a reducer that returns two": lambda lax_, x: lax_.reduce(x, np.float32(0), lambda a, b: (a, b), (0,)),
    "a reducer that returns nothing": lambda lax_, x: lax_.reduce(x, np.float32(0), lambda a, b: None, (0,)),
    "operands of two shapes": lambda lax_, x: lax_.reduce(
        (x, lax_.reduce_sum(x, (1,))), (np.float32(0), np.float32(0)), lambda a, b: (lax_.mul(a[0], b[0]), a[1]), (0,)),
    "a negative axis": lambda lax_, x: lax_.reduce(x, np.float32(0), lambda a, b: lax_.mul(a, b), (-1,)),
    "a negative axis of bits": lambda lax_, x: lax_.reduce_or(lax_.gt(x, x), (-1,)),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED_WHEN_JAX_LOWERS)
def test_what_jax_refuses_only_when_it_lowers_is_refused_as_early_as_it_is_seen(name):
    program = REFUSED_WHEN_JAX_LOWERS[name]
    theirs = error_of(jax.jit(lambda x: program(jax.lax, x)), numbers((3, 4)))
    ours = error_of(jitkit.make_jaxpr(lambda x: program(lax, x)), numbers((3, 4)))
    assert theirs.startswith("ValueError")
    assert ours.startswith("ValueError")


def test_a_reducer_that_uses_a_traced_value_from_outside_is_refused():
    def program(lax_, x, y):
        return lax_.reduce(x, np.float32(0), lambda a, b: lax_.add(a, lax_.mul(b, y)), (0,))

    args = numbers((3, 4)), np.float32(2)
    expected = error_of(jax.make_jaxpr(lambda *xs: program(jax.lax, *xs)), *args)
    assert expected.startswith("NotImplementedError")
    assert error_of(jitkit.make_jaxpr(lambda *xs: program(lax, *xs)), *args) == expected
