"""Windows of arrays in `jitkit.lax` against `jax.lax`: slice, dynamic_slice, dynamic_update_slice, gather,
and the scatters.
"""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest
from lax_oracle import EACH_DTYPE, assert_same, assert_same_error, edge_values, error_of, x64
from tails import one_row_in

import jitkit
from jitkit import lax


def numbers(shape, dtype=np.float32):
    return np.random.default_rng(0).integers(0, 99, shape).astype(dtype)


TABLE = numbers((5, 7))
CUBE = numbers((3, 4, 5))


def agree(programs):
    return pytest.mark.parametrize("program", [pytest.param(program, id=name) for name, program in programs.items()])


# --- slice --------------------------------------------------------------------------------------------------


@agree({
    "a window": lambda lax_, x: lax_.slice(x, (1, 2), (4, 7)),
    "all of it": lambda lax_, x: lax_.slice(x, (0, 0), (5, 7)),
    "nothing": lambda lax_, x: lax_.slice(x, (2, 7), (2, 7)),
    "lists": lambda lax_, x: lax_.slice(x, [1, 2], [4, 7], [1, 3]),
    "steps of one": lambda lax_, x: lax_.slice(x, (1, 2), (4, 7), (1, 1)),
    "long steps": lambda lax_, x: lax_.slice(x, (1, 0), (5, 7), (3, 10)),
    "numpy integers": lambda lax_, x: lax_.slice(x, np.array([1, 2]), np.array([4, 7])),
    "one axis": lambda lax_, x: lax_.slice_in_dim(x, 1, 4),
    "one axis from the end": lambda lax_, x: lax_.slice_in_dim(x, -3, -1, axis=1),
    "one axis, all of it": lambda lax_, x: lax_.slice_in_dim(x, None, None, axis=-1),
    "one axis with steps": lambda lax_, x: lax_.slice_in_dim(x, 0, None, 3, axis=1),
    "an index": lambda lax_, x: lax_.index_in_dim(x, 2),
    "an index from the end": lambda lax_, x: lax_.index_in_dim(x, -1, axis=1, keepdims=False),
})  # fmt: skip
def test_slices_of_a_table_agree(program):
    assert_same(program, TABLE)


@pytest.mark.parametrize("dtype", EACH_DTYPE)
def test_slices_keep_every_dtype(dtype):
    values = edge_values(dtype)
    assert_same(
        lambda lax_, x: [lax_.slice(x, (1,), (2,)), lax_.dynamic_slice(x, (1,), (1,)), lax_.slice_in_dim(x, 0, 2)],
        values,
    )


def test_slices_of_scalars_and_of_weakly_typed_arrays_agree():
    assert_same(
        lambda lax_, x: [lax_.slice(x, (), ()), lax_.dynamic_slice(x, (), ()), lax_.dynamic_update_slice(x, x, ())],
        np.float32(3),
    )
    assert_same(
        lambda lax_, x: [
            lax_.slice(lax_.broadcast(x, (4,)), (1,), (3,)),
            lax_.dynamic_slice(lax_.broadcast(x, (4,)), (1,), (2,)),
        ],
        2.5,
    )


@agree({
    "too few indices": lambda lax_, x: lax_.slice(x, (1,), (4, 7)),
    "too few limits": lambda lax_, x: lax_.slice(x, (1, 2), (4,)),
    "a limit beyond the end": lambda lax_, x: lax_.slice(x, (1, 2), (4, 8)),
    "a negative start": lambda lax_, x: lax_.slice(x, (-1, 2), (4, 7)),
    "a negative limit": lambda lax_, x: lax_.slice(x, (0, 0), (-1, 7)),
    "limits before starts": lambda lax_, x: lax_.slice(x, (3, 3), (2, 2)),
    "too few steps": lambda lax_, x: lax_.slice(x, (0, 0), (2, 2), (2,)),
    "negative steps": lambda lax_, x: lax_.slice(x, (0, 0), (2, 2), (1, -1)),
    "float indices": lambda lax_, x: lax_.slice(x, (0.0, 0), (2, 2)),
    "an index beyond the end": lambda lax_, x: lax_.index_in_dim(x, 5),
    "an index before the start": lambda lax_, x: lax_.index_in_dim(x, -8, axis=1),
})  # fmt: skip
def test_slices_that_do_not_fit_are_refused(program):
    """Run eagerly, too, where JAX clamps some of them without a word."""
    expected = error_of(jax.make_jaxpr(lambda x: program(jax.lax, x)), TABLE)
    assert expected is not None
    assert error_of(jitkit.make_jaxpr(lambda x: program(lax, x)), TABLE) == expected
    assert error_of(lambda x: program(lax, x), TABLE) == expected


def test_eager_slices_from_different_corners_are_compiled_once(count):
    x = lax.add(TABLE, np.float32(0))
    lax.slice(x, (0, 0), (2, 2))
    with count() as n:
        for i in range(1, 4):
            np.testing.assert_array_equal(lax.slice(x, (i, i), (i + 2, i + 2)), TABLE[i : i + 2, i : i + 2])
    assert n.compiles == 0


# --- dynamic_slice, dynamic_update_slice --------------------------------------------------------------------


@pytest.mark.parametrize("index", [0, 1, 3, 4, 100, -1, -3, -5, -100])
def test_corners_out_of_range_are_moved_and_negative_ones_count_from_the_end(index):
    def program(lax_, x, i):
        return [
            lax_.dynamic_slice(x, (i, 0), (2, 3)),
            lax_.dynamic_slice(x, (i, i), (2, 3)),
            lax_.dynamic_slice(x, (i, -2), (2, 3)),
            lax_.dynamic_slice_in_dim(x, i, 2, axis=1),
            lax_.dynamic_slice_in_dim(x, i, 2, axis=-1, allow_negative_indices=False),
            lax_.dynamic_index_in_dim(x, i),
            lax_.dynamic_index_in_dim(x, i, axis=1, keepdims=False),
            lax_.dynamic_update_slice(x, window, (i, i)),
            lax_.dynamic_update_slice_in_dim(x, rows, i, axis=0),
            lax_.dynamic_update_index_in_dim(x, row, i, axis=0),
            lax_.dynamic_update_index_in_dim(x, column, i, axis=1),
        ]

    window, rows, row, column = -TABLE[:2, :3], -TABLE[:2], -TABLE[0], -TABLE[:, :1]
    assert_same(program, TABLE, np.array(index, np.int32))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32])
def test_corners_have_any_integer_dtype(dtype):
    assert_same(
        lambda lax_, x, i: [lax_.dynamic_slice(x, (i, i), (2, 3)), lax_.dynamic_slice_in_dim(x, i, 3, axis=1)],
        TABLE,
        dtype(1),
    )


def test_corners_are_sequences_of_scalars_or_one_array():
    corner = np.array([1, -2], np.int32)
    assert_same(lambda lax_, x, i: lax_.dynamic_slice(x, i, (2, 3)), TABLE, corner)
    assert_same(lambda lax_, x, i: lax_.dynamic_update_slice(x, TABLE[:2, :2], i), TABLE, corner)
    assert_same(lambda lax_, x: lax_.dynamic_slice(x, corner, (2, 3)), TABLE)
    assert_same(lambda lax_, x: lax_.dynamic_slice(x, [np.int8(1), np.int8(-2)], (2, 3)), TABLE)
    assert_same(lambda lax_, x: lax_.dynamic_slice(x, (1, -9), np.array([2, 3])), TABLE)


def test_a_weakly_typed_corner_agrees():
    assert_same(
        lambda lax_, x, i: [lax_.dynamic_slice(x, (i, 0), (2, 3)), lax_.dynamic_slice_in_dim(x, i, 2)], TABLE, 1
    )


@pytest.mark.parametrize("allow", [False, True, (True, False), [False, True]])
def test_negative_corners_can_be_ruled_out_for_each_axis(allow):
    assert_same(
        lambda lax_, x, i: lax_.dynamic_slice(x, (i, i), (2, 3), allow_negative_indices=allow),
        TABLE,
        np.array(-2, np.int32),
    )
    assert_same(lambda lax_, x: lax_.dynamic_slice(x, (1, 2), (2, 3), allow_negative_indices=allow), TABLE)


def test_windows_and_indices_in_64_bits_agree():
    table = TABLE.astype(np.float64)
    with x64():
        assert_same(
            lambda lax_, x, i: [lax_.dynamic_slice(x, (i, i), (2, 3)), lax_.dynamic_slice(x, (1, -3), (2, 3))],
            table,
            np.array(-2),
        )
        assert_same(
            lambda lax_, x, i: lax_.dynamic_update_slice_in_dim(x, lax_.slice(x, (0, 0), (2, 7)), i, 0),
            table,
            np.array(3),
        )
        rows = np.array([[1], [9]])
        assert_same(
            lambda lax_, x, i: lax_.gather(x, i, gather_numbers(lax_, (1,), (0,), (0,)), (1, 7), mode="fill"),
            table,
            rows,
        )
        assert_same(
            lambda lax_, x, i: lax_.scatter_add(
                x, i, lax_.slice(x, (0, 0), (2, 7)), scatter_numbers(lax_, (1,), (0,), (0,)), mode="clip"
            ),
            table,
            rows,
        )


def test_windows_of_empty_arrays_and_empty_windows_agree():
    empty = np.zeros((0, 3), np.float32)
    assert_same(
        lambda lax_, x, i: [lax_.dynamic_slice(x, (i, i), (0, 2)), lax_.dynamic_update_slice(x, x, (i, i))],
        empty,
        np.int32(1),
    )
    assert_same(lambda lax_, x, i: lax_.dynamic_slice(x, (i, i), (0, 2)), TABLE, np.int32(1))


@agree({
    "a corner too short": lambda lax_, x: lax_.dynamic_slice(x, (1,), (2, 3)),
    "a corner too long": lambda lax_, x: lax_.dynamic_slice(x, (1, 1, 1), (2, 3)),
    "a window larger than the array": lambda lax_, x: lax_.dynamic_slice(x, (0, 0), (2, 8)),
    "a negative size": lambda lax_, x: lax_.dynamic_slice(x, (0, 0), (2, -1)),
    "float sizes": lambda lax_, x: lax_.dynamic_slice(x, (0, 0), (2.0, 1)),
    "float indices": lambda lax_, x: lax_.dynamic_slice(x, (0.5, 0.5), (2, 1)),
    "indices of two dtypes": lambda lax_, x: lax_.dynamic_slice(x, (np.int8(0), np.int32(0)), (2, 1)),
    "an index that is no scalar": lambda lax_, x: lax_.dynamic_slice(x, (np.array([1]), np.array([1])), (2, 1)),
    "a negative index that is not allowed": lambda lax_, x: lax_.dynamic_slice(x, (0, -1), (2, 1), allow_negative_indices=False),
    "a table of indices": lambda lax_, x: lax_.dynamic_slice(x, np.zeros((2, 2), np.int32), (2, 1)),
    "an update of another rank": lambda lax_, x: lax_.dynamic_update_slice(x, TABLE[0], (0, 0)),
    "an update of another dtype": lambda lax_, x: lax_.dynamic_update_slice(x, np.zeros((1, 1), np.int32), (0, 0)),
    "an update that is larger": lambda lax_, x: lax_.dynamic_update_slice(x, np.zeros((1, 8), np.float32), (0, 0)),
    "float corners of updates": lambda lax_, x: lax_.dynamic_update_slice(x, x, (0.0, 0.0)),
})  # fmt: skip
def test_dynamic_slices_that_do_not_fit_are_refused(program):
    assert_same_error(program, TABLE)


# --- gather -------------------------------------------------------------------------------------------------


def gather_numbers(lax_, offset, collapsed, index_map, operand_batching=(), indices_batching=()):
    return lax_.GatherDimensionNumbers(offset, collapsed, index_map, operand_batching, indices_batching)


GATHERS = {
    "rows": (TABLE, [[0], [3], [-1], [5], [4]], ((1,), (0,), (0,)), (1, 7)),
    "columns": (TABLE, [[0], [6], [9]], ((0,), (1,), (1,)), (5, 1)),
    "elements": (TABLE, [[0, 1], [4, 6], [5, 0], [0, -1]], ((), (0, 1), (0, 1)), (1, 1)),
    "elements by column and row": (TABLE, [[0, 1], [6, 4], [5, 5]], ((), (0, 1), (1, 0)), (1, 1)),
    "windows": (TABLE, [[0, 1], [4, 5], [3, 4], [-1, 2]], ((1, 2), (), (0, 1)), (2, 3)),
    "windows that come first": (TABLE, [[0, 1], [4, 5]], ((0, 1), (), (0, 1)), (2, 3)),
    "a table of indices": (CUBE, [[[0], [1]], [[2], [7]]], ((1, 3), (1,), (1,)), (3, 1, 5)),
    "nothing": (TABLE, np.zeros((0, 1)), ((1,), (0,), (0,)), (1, 7)),
    "of nothing": (TABLE[:, :0], [[0], [9]], ((1,), (0,), (0,)), (1, 0)),
    "all at one place": (TABLE, [0, 0], ((0, 1), (), (0, 1)), (5, 7)),
    "batches": (CUBE, [[[0], [1]], [[3], [4]], [[-1], [2]]], ((2,), (1,), (1,), (0,), (0,)), (1, 1, 5)),
}


@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds", None])
@pytest.mark.parametrize("name", GATHERS)
def test_gathers_agree_in_every_mode_in_and_out_of_bounds(name, mode):
    operand, indices, dims, sizes = GATHERS[name]
    assert_same(
        lambda lax_, x, i: lax_.gather(x, i, gather_numbers(lax_, *dims), sizes, mode=mode),
        operand,
        np.array(indices, np.int32),
    )


@pytest.mark.parametrize("dtype", EACH_DTYPE)
def test_what_stands_for_rows_out_of_bounds_depends_on_the_dtype(dtype):
    values = edge_values(dtype)[:2]
    assert_same(
        lambda lax_, x, i: lax_.gather(x, i, gather_numbers(lax_, (), (0,), (0,)), (1,), mode="fill"),
        values, np.array([[0], [1], [2], [-1]], np.int8),
    )  # fmt: skip


@pytest.mark.parametrize("fill_value", [0, -1, 2.5, True, np.float32(7)])
def test_a_fill_value_can_be_given(fill_value):
    for operand in (TABLE, TABLE.astype(np.int16)):
        assert_same(
            lambda lax_, x, i: lax_.gather(x, i, gather_numbers(lax_, (1,), (0,), (0,)), (1, 7), mode="fill", fill_value=fill_value),
            operand, np.array([[1], [50]], np.uint8),
        )  # fmt: skip


def test_promises_about_indices_are_recorded():
    assert_same(
        lambda lax_, x, i: lax_.gather(
            x, i, gather_numbers(lax_, (1,), (0,), (0,)), [1, 7],
            unique_indices=True, indices_are_sorted=True, mode=lax_.GatherScatterMode.CLIP,
        ),
        TABLE, np.array([[1], [2]], np.int32),
    )  # fmt: skip


GATHERS_REFUSED = {
    "float indices": (TABLE, np.zeros((2, 1), np.float32), ((1,), (0,), (0,)), (1, 7)),
    "a scalar index": (TABLE, np.int32(0), ((0,), (0,), (0,)), (1, 7)),
    "an index vector of another size": (TABLE, np.zeros((2, 2), np.int32), ((1,), (0,), (0,)), (1, 7)),
    "unsorted offset_dims": (TABLE, np.zeros((2, 2), np.int32), ((2, 1), (), (0, 1)), (1, 7)),
    "repeated offset_dims": (TABLE, np.zeros((2, 2), np.int32), ((1, 1), (), (0, 1)), (1, 7)),
    "offset_dims out of range": (TABLE, np.zeros((2, 1), np.int32), ((2,), (0,), (0,)), (1, 7)),
    "start_index_map out of range": (TABLE, np.zeros((2, 1), np.int32), ((1,), (0,), (2,)), (1, 7)),
    "repeated start_index_map": (TABLE, np.zeros((2, 2), np.int32), ((), (0, 1), (0, 0)), (1, 1)),
    "collapsed_slice_dims out of range": (TABLE, np.zeros((2, 1), np.int32), ((1,), (2,), (0,)), (1, 7)),
    "unsorted collapsed_slice_dims": (TABLE, np.zeros((2, 2), np.int32), ((), (1, 0), (0, 1)), (1, 1)),
    "too few sizes": (TABLE, np.zeros((2, 1), np.int32), ((1,), (0,), (0,)), (1,)),
    "too few offsets": (TABLE, np.zeros((2, 1), np.int32), ((), (0,), (0,)), (1, 7)),
    "a window larger than the array": (TABLE, np.zeros((2, 1), np.int32), ((1,), (0,), (0,)), (1, 8)),
    "a collapsed axis of size 2": (TABLE, np.zeros((2, 1), np.int32), ((1,), (0,), (0,)), (2, 7)),
    "batches along the index vector": (CUBE, np.zeros((3, 2, 1), np.int32), ((2,), (1,), (1,), (0,), (2,)), (1, 1, 5)),
    "batches of other sizes": (CUBE, np.zeros((2, 3, 1), np.int32), ((2,), (1,), (1,), (0,), (0,)), (1, 1, 5)),
    "batches that are collapsed too": (CUBE, np.zeros((3, 2, 1), np.int32), ((2,), (0,), (1,), (0,), (0,)), (1, 1, 5)),
    "batches of one side only": (CUBE, np.zeros((3, 2, 1), np.int32), ((2,), (1,), (1,), (0,), ()), (1, 1, 5)),
    "batches of size 2": (CUBE, np.zeros((3, 2, 1), np.int32), ((2,), (1,), (1,), (0,), (0,)), (2, 1, 5)),
}


@pytest.mark.parametrize("name", GATHERS_REFUSED)
def test_gathers_that_do_not_fit_are_refused(name):
    operand, indices, dims, sizes = GATHERS_REFUSED[name]
    assert_same_error(lambda lax_, x, i: lax_.gather(x, i, gather_numbers(lax_, *dims), sizes), operand, indices)


def test_an_unknown_mode_is_refused():
    index = np.zeros((2, 1), np.int32)
    assert_same_error(
        lambda lax_, x, i: lax_.gather(x, i, gather_numbers(lax_, (1,), (0,), (0,)), (1, 7), mode="wrap"), TABLE, index
    )


# --- scatter ------------------------------------------------------------------------------------------------

SCATTER_FUNCTIONS = ["scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"]

SCATTERS = {
    "rows": (TABLE, [[0], [3], [-1], [5], [2]], (5, 7), ((1,), (0,), (0,))),
    "columns": (TABLE, [[0], [6], [9]], (5, 3), ((0,), (1,), (1,))),
    "elements": (TABLE, [[0, 1], [4, 6], [5, 0], [0, -1]], (4,), ((), (0, 1), (0, 1))),
    "windows": (TABLE, [[0, 1], [4, 5], [2, 4], [-1, 2]], (4, 2, 3), ((1, 2), (), (0, 1))),
    "nothing": (TABLE, np.zeros((0, 1)), (0, 7), ((1,), (0,), (0,))),
    "into nothing": (TABLE[:0], [[0]], (1, 7), ((1,), (0,), (0,))),
    "one window": (TABLE, [1, 2], (2, 3), ((0, 1), (), (0, 1))),
    "batches": (CUBE, [[[0], [1]], [[3], [4]], [[-1], [2]]], (3, 2, 5), ((2,), (1,), (1,), (0,), (0,))),
}


def scatter_numbers(lax_, window, inserted, to_operand, operand_batching=(), indices_batching=()):
    return lax_.ScatterDimensionNumbers(window, inserted, to_operand, operand_batching, indices_batching)


@pytest.mark.parametrize(
    ("name", "mode"), one_row_in(2, list(itertools.product(SCATTERS, ("clip", "drop", "promise_in_bounds"))))
)
def test_scatters_agree_in_every_mode_in_and_out_of_bounds(name, mode):
    operand, indices, update_shape, dims = SCATTERS[name]

    def program(lax_, x, i, updates):
        return [
            getattr(lax_, function)(x, i, updates, scatter_numbers(lax_, *dims), mode=mode)
            for function in SCATTER_FUNCTIONS
        ]

    if mode == "clip":  # if clipped windows overlap, a plain scatter may store either value
        assert_same(
            lambda lax_, *xs: program(lax_, *xs)[1:], operand, np.array(indices, np.int32), numbers(update_shape)
        )
    else:
        assert_same(program, operand, np.array(indices, np.int32), numbers(update_shape))


@pytest.mark.parametrize("dtype", EACH_DTYPE)
def test_scatters_combine_edge_values_of_each_dtype(dtype):
    values = edge_values(dtype)
    names = SCATTER_FUNCTIONS if dtype != "bool" else ["scatter", "scatter_min", "scatter_max"]
    indices = np.arange(len(values), dtype=np.int32)[:, None]
    program = [
        lambda lax_, x, i, u, name=name: getattr(lax_, name)(x, i, u, scatter_numbers(lax_, (), (0,), (0,)))
        for name in names
    ]
    assert_same(lambda lax_, *xs: [p(lax_, *xs) for p in program], values, indices, values[::-1])


def test_updates_of_one_place_are_all_combined():
    indices = np.array([[1], [1], [0], [1]], np.int32)
    for name in SCATTER_FUNCTIONS[1:]:
        assert_same(
            lambda lax_, x, i, u, name=name: getattr(lax_, name)(x, i, u, scatter_numbers(lax_, (), (0,), (0,))),
            np.array([1, 2, 3], np.float32), indices, np.array([2, 4, 8, 16], np.float32),
        )  # fmt: skip


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint32])
def test_indices_of_scatters_have_any_integer_dtype(dtype):
    big = numbers((300,))
    for mode in ("clip", "drop"):
        assert_same(
            lambda lax_, x, i, u, mode=mode: lax_.scatter_add(x, i, u, scatter_numbers(lax_, (), (0,), (0,)), mode=mode),
            big, np.array([[1], [127]], dtype), numbers((2,)),
        )  # fmt: skip


def test_two_scatters_by_one_function_share_its_jaxpr():
    dims = (1,), (0,), (0,)
    index = np.array([[1], [2]], np.int32)
    assert_same(
        lambda lax_, x, i, u: lax_.scatter_add(lax_.scatter_add(x, i, u, scatter_numbers(lax_, *dims)), i, u, scatter_numbers(lax_, *dims)),
        TABLE, index, TABLE[:2],
    )  # fmt: skip


def test_a_function_is_applied_to_the_elements_that_are_named():
    def program(lax_, x, i):
        dims = scatter_numbers(lax_, (1,), (0,), (0,))
        return lax_.scatter_apply(
            x, i, lambda y: lax_.mul(lax_.neg(y), np.float32(2)), dims, update_shape=(2, 7), unique_indices=True
        )

    assert_same(program, TABLE, np.array([[1], [3]], np.int32))


def test_promises_about_scattered_indices_are_recorded():
    assert_same(
        lambda lax_, x, i, u: lax_.scatter(
            x, i, u, scatter_numbers(lax_, (1,), (0,), (0,)), indices_are_sorted=True, unique_indices=True, mode=lax_.GatherScatterMode.CLIP
        ),
        TABLE, np.array([[1], [2]], np.int32), TABLE[:2],
    )  # fmt: skip


SCATTERS_REFUSED = {
    "float indices": (np.zeros((2, 1), np.float32), TABLE[:2], ((1,), (0,), (0,))),
    "updates of another dtype": (np.zeros((2, 1), np.int32), TABLE[:2].astype(np.int32), ((1,), (0,), (0,))),
    "a scalar index": (np.int32(0), TABLE[0], ((0,), (0,), (0,))),
    "updates of another rank": (np.zeros((2, 1), np.int32), TABLE[0], ((1,), (0,), (0,))),
    "unsorted update_window_dims": (np.zeros((2, 2), np.int32), np.zeros((2, 1, 1), np.float32), ((2, 1), (), (0, 1))),
    "repeated update_window_dims": (np.zeros((2, 2), np.int32), np.zeros((2, 1, 1), np.float32), ((1, 1), (), (0, 1))),
    "update_window_dims out of range": (np.zeros((2, 1), np.int32), TABLE[:2], ((2,), (0,), (0,))),
    "inserted_window_dims out of range": (np.zeros((2, 1), np.int32), TABLE[:2], ((1,), (2,), (0,))),
    "an index vector of another size": (np.zeros((2, 2), np.int32), TABLE[:2], ((1,), (0,), (0,))),
    "windows of another rank": (np.zeros((2, 1), np.int32), TABLE[:2], ((1,), (), (0,))),
    "operand axes out of range": (np.zeros((2, 1), np.int32), TABLE[:2], ((1,), (0,), (2,))),
    "repeated operand axes": (np.zeros((2, 2), np.int32), np.zeros((2, 1), np.float32), ((1,), (0,), (0, 0))),
    "windows larger than the array": (np.zeros((2, 1), np.int32), np.zeros((2, 8), np.float32), ((1,), (0,), (0,))),
    "more updates than indices": (np.zeros((2, 1), np.int32), TABLE[:3], ((1,), (0,), (0,))),
    "batches along the index vector": (np.zeros((5, 1), np.int32), np.zeros((5,), np.float32), ((), (1,), (1,), (0,), (1,))),
    "batches of other sizes": (np.zeros((4, 1), np.int32), np.zeros((4,), np.float32), ((), (1,), (1,), (0,), (0,))),
    "batches of one side only": (np.zeros((5, 1), np.int32), np.zeros((5,), np.float32), ((), (1,), (1,), (0,), ())),
    "batches that are inserted too": (np.zeros((5, 1), np.int32), np.zeros((5,), np.float32), ((), (0,), (1,), (0,), (0,))),
}  # fmt: skip


@pytest.mark.parametrize("name", SCATTERS_REFUSED)
def test_scatters_that_do_not_fit_are_refused(name):
    indices, updates, dims = SCATTERS_REFUSED[name]
    assert_same_error(
        lambda lax_, x, i, u: lax_.scatter(x, i, u, scatter_numbers(lax_, *dims)), TABLE, indices, updates
    )
    assert_same_error(
        lambda lax_, x, i, u: lax_.scatter_add(x, i, u, scatter_numbers(lax_, *dims)), TABLE, indices, updates
    )


def test_an_update_function_that_uses_a_traced_value_from_outside_is_refused():
    def program(lax_, x, i, y):
        return lax_.scatter_apply(
            x, i, lambda z: lax_.add(z, y), scatter_numbers(lax_, (1,), (0,), (0,)), update_shape=(2, 7)
        )

    args = TABLE, np.zeros((2, 1), np.int32), np.float32(1)
    expected = error_of(jax.make_jaxpr(lambda *xs: program(jax.lax, *xs)), *args)
    assert expected is not None
    assert error_of(jitkit.make_jaxpr(lambda *xs: program(lax, *xs)), *args) == expected
