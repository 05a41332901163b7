"""`sort`, `sort_key_val` and `top_k` of `jitkit.lax` against those of `jax.lax`."""

from __future__ import annotations

import numpy as np
import pytest
from lax_oracle import EACH_DTYPE, EACH_DTYPE_X64, NARROW_DTYPES, assert_same, assert_same_error, edge_values, x64


def shuffled(values, seed=0):
    return np.random.default_rng(seed).permutation(values)


def numbers(shape, dtype=np.float32, below=5):
    return np.random.default_rng(0).integers(0, below, shape).astype(dtype)


# --- sort ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", EACH_DTYPE + NARROW_DTYPES)
def test_edge_values_of_each_dtype_are_sorted_into_one_order(dtype):
    assert_same(lambda lax_, x: lax_.sort(x), shuffled(edge_values(dtype)))


@pytest.mark.parametrize("dtype", EACH_DTYPE_X64)
def test_edge_values_of_64_bits_are_sorted_into_one_order(dtype):
    with x64():
        assert_same(lambda lax_, x: lax_.sort(x), shuffled(edge_values(dtype)))


def test_both_zeros_are_equal_and_all_nans_come_last_in_a_stable_sort():
    values = np.array([np.nan, 0.0, -0.0, -np.nan, -1.0, 0.0, np.inf, -0.0, -np.inf], np.float32)
    positions = np.arange(len(values), dtype=np.int32)
    assert_same(lambda lax_, x, i: lax_.sort((x, i)), values, positions)


@pytest.mark.parametrize(
    ("shape", "dimension"),
    [((5,), 0), ((3, 4), 0), ((3, 4), -1), ((2, 3, 4), 1), ((2, 3, 4), -3), ((0,), 0), ((3, 0), 1)],
)
@pytest.mark.parametrize("is_stable", [True, False])
def test_any_axis_can_be_sorted(shape, dimension, is_stable):
    assert_same(lambda lax_, x: lax_.sort(x, dimension=dimension, is_stable=is_stable), numbers(shape))


@pytest.mark.parametrize("num_keys", [1, 2, 3])
def test_several_arrays_move_together_in_the_order_of_the_first_ones(num_keys):
    operands = (
        numbers((4, 6), np.int8, 3),
        numbers((4, 6), np.float32, 3),
        numbers((4, 6), np.bool_, 2),
        numbers((4, 6), np.uint16),
    )
    assert_same(lambda lax_, *xs: lax_.sort(xs, dimension=0, num_keys=num_keys), *operands)
    assert_same(lambda lax_, *xs: lax_.sort(list(xs), num_keys=num_keys), *operands)


def test_complex_numbers_are_keys_by_their_real_then_their_imaginary_parts():
    values = np.array([1 + 2j, 1 - 1j, 0 + 5j, complex(np.nan, 0), complex(1, np.nan), -0.0 + 1j], np.complex64)
    assert_same(lambda lax_, x, y: lax_.sort((x, y), num_keys=2), values, np.arange(6, dtype=np.float32))


def test_keys_take_their_values_with_them():
    assert_same(lambda lax_, k, v: lax_.sort_key_val(k, v), numbers((3, 8)), numbers((3, 8), np.int32, 100))
    assert_same(
        lambda lax_, k, v: lax_.sort_key_val(k, v, dimension=0, is_stable=False),
        numbers((8, 3)),
        numbers((8, 3), np.int32, 100),
    )


def test_a_weakly_typed_array_stays_weak_when_it_is_sorted():
    assert_same(lambda lax_, x: lax_.sort(lax_.broadcast(x, (3,))), 2.5)


REFUSED_BY_SORT = {
    "no array": lambda lax_, x: lax_.sort(()),
    "more keys than arrays": lambda lax_, x: lax_.sort((x, x), num_keys=3),
    "no key": lambda lax_, x: lax_.sort((x, x), num_keys=0),
    "two keys of one array": lambda lax_, x: lax_.sort(x, num_keys=2),
    "an axis out of range": lambda lax_, x: lax_.sort(x, dimension=2),
    "a negative axis out of range": lambda lax_, x: lax_.sort_key_val(x, x, dimension=-3),
    "a scalar": lambda lax_, x: lax_.sort(lax_.reduce_sum(x, (0, 1))),
    "different shapes": lambda lax_, x: lax_.sort((x, lax_.transpose(x, (1, 0)))),
}


@pytest.mark.parametrize("name", REFUSED_BY_SORT)
def test_sort_refuses_what_does_not_fit(name):
    assert_same_error(REFUSED_BY_SORT[name], numbers((3, 4)))


# --- top_k --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", EACH_DTYPE[:-1])
def test_the_greatest_edge_values_of_each_dtype_are_found(dtype):
    values = shuffled(edge_values(dtype))
    assert_same(lambda lax_, x: lax_.top_k(x, 2), values)
    assert_same(lambda lax_, x: lax_.top_k(x, len(values)), values)


@pytest.mark.parametrize(
    ("shape", "k", "axis"),
    [((5,), 2, 0), ((3, 4), 3, -1), ((3, 4), 2, 0), ((4, 4), 2, 0), ((2, 3, 4), 2, 1), ((3, 4), 0, 1)],
)
def test_the_greatest_along_any_axis_are_found_and_of_equals_the_first(shape, k, axis):
    assert_same(lambda lax_, x: lax_.top_k(x, k, axis=axis), numbers(shape))


def test_top_k_returns_a_list_as_in_jax():
    def program(lax_, x):
        found = lax_.top_k(x, 1)
        assert type(found) is list
        return found

    assert_same(program, numbers((4,)))


REFUSED_BY_TOP_K = {
    "a negative k": lambda lax_, x: lax_.top_k(x, -1),
    "more than there are": lambda lax_, x: lax_.top_k(x, 5),
    "an axis out of range": lambda lax_, x: lax_.top_k(x, 1, axis=2),
    "a scalar": lambda lax_, x: lax_.top_k(lax_.reduce_sum(x, (0, 1)), 1),
    "complex numbers": lambda lax_, x: lax_.top_k(lax_.complex(x, x), 1),
}


@pytest.mark.parametrize("name", REFUSED_BY_TOP_K)
def test_top_k_refuses_what_does_not_fit(name):
    assert_same_error(REFUSED_BY_TOP_K[name], numbers((3, 4)))


# --- approx_max_k, approx_min_k -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("name", ["approx_max_k", "approx_min_k"])
@pytest.mark.parametrize(("shape", "k", "axis"), [((5,), 2, 0), ((3, 40), 3, -1), ((30, 4), 2, 0), ((2, 30, 4), 2, -2)])
def test_without_a_tpu_the_greatest_and_the_least_are_exact(name, dtype, shape, k, axis):
    values = np.random.default_rng(0).permutation(np.prod(shape)).reshape(shape).astype(dtype)
    assert_same(lambda lax_, x: getattr(lax_, name)(x, k, axis), values)


def test_more_than_k_elements_come_as_they_are_found():
    values = np.random.default_rng(0).permutation(12000).reshape(3, 4000).astype(np.float32)
    assert_same(lambda lax_, x: lax_.approx_max_k(x, 3, aggregate_to_topk=False), values)
    assert_same(lambda lax_, x: lax_.approx_min_k(x, 3, 1, 0.5, 100000, False), values)


REFUSED_BY_APPROX_MAX_K = {
    "no element": lambda lax_, x: lax_.approx_max_k(x, 0),
    "more than there are": lambda lax_, x: lax_.approx_max_k(x, 5),
    "an axis out of range": lambda lax_, x: lax_.approx_min_k(x, 1, 2),
    "a scalar": lambda lax_, x: lax_.approx_max_k(lax_.reduce_sum(x, (0, 1)), 1),
    "complex numbers": lambda lax_, x: lax_.approx_min_k(lax_.complex(x, x), 1),
    "ints": lambda lax_, x: lax_.approx_max_k(lax_.convert_element_type(x, np.int32), 1),
}


@pytest.mark.parametrize("name", REFUSED_BY_APPROX_MAX_K)
def test_approx_max_k_refuses_what_does_not_fit(name):
    assert_same_error(REFUSED_BY_APPROX_MAX_K[name], numbers((3, 4)))
