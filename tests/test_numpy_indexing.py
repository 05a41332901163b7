"""x[index], x.at[index], take: `jitkit.numpy` against `jax.numpy`, for every kind of index, known or traced."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from numpy_oracle import check
from tails import one_in

import jitkit
import jitkit.numpy as jnp

VECTOR = np.arange(5, dtype=np.float32)
MATRIX = np.arange(12, dtype=np.float32).reshape(3, 4)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
POSITIONS = np.int32([0, 2, 1, 3])
ROWS = np.array([True, False, True])

STATIC = {
    "1": 1,
    "-1": -1,
    "1:": slice(1, None),
    "::-1": slice(None, None, -1),
    "::2": slice(None, None, 2),
    "::-2": slice(None, None, -2),
    "None, 1": (None, 1),
    "..., 1:2": (..., slice(1, 2)),
    ":": slice(None),
    "()": (),
    "1, 2": (1, 2),
    "1, 1:3": (1, slice(1, 3)),
    "1, None, ::2": (1, None, slice(None, None, 2)),
    "...": ...,
    "None": None,
    "5:9": slice(5, 9),
    "3:1": slice(3, 1),
    "::2, 1": (slice(None, None, 2), 1),
    "out of bounds": 10,
    "a numpy int": np.int32(1),
}
ARRAYS = {
    "array": np.array([0, 2]),
    "list in a tuple": ([0, 2],),
    "two arrays": (np.array([0, 1]), np.array([1, 0])),
    "arrays around None": (np.array([0, 1]), None, np.array([1, 0])),
    ":, array": (slice(None), np.array([1, 0])),
    "int, array": (1, np.array([1, 0])),
    "two-dimensional": np.array([[0, 1], [1, 2]]),
    "True": True,
    "False": False,
    "mask of rows": ROWS,
    "mask of elements": np.arange(12).reshape(3, 4) % 2 == 0,
    ":, mask": (slice(None), np.array([True, False, True, False])),
    "mask, None": (ROWS, None),
    "array, ::-1": (np.array([0, 1]), slice(None, None, -1)),
    "negative": np.array([-1, -3]),
    "unsigned": np.uint8([1, 2]),
    "empty": np.array([], int),
    "1:, array": (slice(1, None), np.array([0, 3])),
    "array, 1:3": (np.array([0, 1]), slice(1, 3)),
}
IN_THREE = {
    "ints": (2 - 1, 1),
    "..., -1": (..., -1),
    "1, ..., ::-1": (1, ..., slice(None, None, -1)),
    "arrays around a slice": (np.array([0, 1]), slice(None), np.array([1, 0])),
    "arrays, slice": (np.array([0, 1]), np.array([1, 0]), slice(None)),
    ":, array, 1": (slice(None), np.array([1, 0]), 1),
    "1, :, array": (1, slice(None), np.array([1, 0])),
    "mask of two axes": np.arange(6).reshape(2, 3) % 2 == 0,
    ":, mask, None": (slice(None), np.array([True, False, True]), None),
}


@pytest.mark.parametrize("index", one_in(2, [*STATIC, *ARRAYS]))
def test_reading_and_updating_by_a_known_index_agrees_with_jax(index):
    known = {**STATIC, **ARRAYS}[index]
    check(
        [
            ("get", lambda jnp, x: x[known], MATRIX),
            *[
                (f"get {mode}", lambda jnp, x, mode=mode: x.at[known].get(mode=mode), MATRIX)
                for mode in ("clip", "fill", "promise_in_bounds")
            ],
            ("set", lambda jnp, x: x.at[known].set(2), MATRIX),
            ("add", lambda jnp, x: x.at[known].add(1.5), MATRIX),
            ("set, clipping", lambda jnp, x: x.at[known].set(2, mode="clip"), MATRIX),
        ],
        eager=index in STATIC,
    )


@pytest.mark.parametrize("index", IN_THREE)
def test_three_axes_are_indexed_as_jax_indexes_them(index):
    known = IN_THREE[index]
    check([("get", lambda jnp, x: x[known], CUBE), ("multiply", lambda jnp, x: x.at[known].multiply(2), CUBE)])


def test_traced_indices_agree_with_jax():
    check(
        [
            ("x[i] of a matrix", lambda jnp, x, i: x[i], MATRIX, 1),
            ("x[i] of a vector", lambda jnp, x, i: x[i], VECTOR, 1),
            ("x[-i]", lambda jnp, x, i: x[-i], VECTOR, 1),
            ("x[i, 1:]", lambda jnp, x, i: x[i, 1:], MATRIX, 1),
            ("x[i, :, None]", lambda jnp, x, i: x[i, :, None], MATRIX, 1),
            ("x[i, ::2]", lambda jnp, x, i: x[i, ::2], MATRIX, 1),
            ("x[i, ::-1]", lambda jnp, x, i: x[i, ::-1], MATRIX, 1),
            ("x[unsigned]", lambda jnp, x, i: x[i], VECTOR, np.uint8(1)),
            ("x[int16]", lambda jnp, x, i: x[i], VECTOR, np.int16(1)),
            ("x[i, i]", lambda jnp, x, i: x[i, i], MATRIX, 1),
            ("x[i, 2]", lambda jnp, x, i: x[i, 2], MATRIX, np.int32(1)),
            ("x[array]", lambda jnp, x, i: x[i], VECTOR, POSITIONS),
            ("x[array, array]", lambda jnp, x, i: x[i, i], MATRIX, POSITIONS % 3),
            ("x[array, 0]", lambda jnp, x, i: x[i, 0], MATRIX, POSITIONS % 3),
            ("x[array, i]", lambda jnp, x, i: x[i, i[0]], MATRIX, POSITIONS % 3),
            ("x[:, array]", lambda jnp, x, i: x[:, i], MATRIX, POSITIONS),
            ("x[..., array, None]", lambda jnp, x, i: x[..., i, None], MATRIX, POSITIONS),
            ("x[int8s]", lambda jnp, x, i: x[i], MATRIX, np.int8([1, -2, 2])),
            ("closed over", lambda jnp, i: jnp.array(MATRIX)[i], 1),
            ("closed over and computed", lambda jnp, i: (jnp.array(VECTOR) * 2)[i], POSITIONS),
        ]
    )


@pytest.mark.parametrize("name", ["set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max"])
def test_updates_agree_with_jax(name):
    check(
        [
            *[
                (f"{name} at {kind}", lambda jnp, x, i: getattr(x.at[i], name)(2.0), VECTOR, i)
                for kind, i in (("a scalar", 1), ("an array", POSITIONS), ("int8s", np.int8([1, -2, 2])))
            ],
            (f"{name} of an array", lambda jnp, x, i: getattr(x.at[i], name)(x[i]), VECTOR, POSITIONS),
            (
                f"{name} of integers",
                lambda jnp, x, i: getattr(x.at[i], name)(2),
                np.arange(5, dtype=np.int32),
                POSITIONS,
            ),
            (
                f"{name}, dropping",
                lambda jnp, x, i: getattr(x.at[i], name)(2, mode="drop", unique_indices=True),
                VECTOR,
                np.array([1, 9]),
            ),
        ]
    )


def test_updates_convert_and_broadcast_as_jax_does():
    check(
        [
            ("apply", lambda jnp, x, i: x.at[i].apply(jnp.sin), VECTOR, 1),
            ("apply at an array", lambda jnp, x, i: x.at[i].apply(lambda y: y * 2), VECTOR, POSITIONS),
            ("broadcast", lambda jnp, x, y: x.at[1:].set(y), MATRIX, POSITIONS.astype(np.float32)),
            (
                "negative out of bounds",
                lambda jnp, x, i: x.at[i].set(0, wrap_negative_indices=False),
                VECTOR,
                np.array([-1, 2]),
            ),
            ("a float into integers", lambda jnp, x: x.at[0].set(1.5), POSITIONS),
            ("True into bools", lambda jnp, x: x.at[0].set(True), VECTOR > 2),
            (
                "get with a fill value",
                lambda jnp, x, i: x.at[i].get(mode="fill", fill_value=-1),
                VECTOR,
                np.array([1, 9]),
            ),
            ("get of integers out of bounds", lambda jnp, x, i: x.at[i].get(mode="fill"), POSITIONS, np.array([1, 9])),
            ("into bfloat16", lambda jnp, x: x.at[0].add(2), np.array([1.5, 2], ml_dtypes.bfloat16)),
            ("a weakly typed value", lambda jnp, x, y: x.at[0].set(y), VECTOR, 3),
        ]
    )


def test_take_agrees_with_jax():
    beyond = np.array([1, 9, -1])
    check(
        [
            *[
                (f"take {mode}", lambda jnp, x, i, mode=mode: jnp.take(x, i, mode=mode), VECTOR, beyond)
                for mode in (None, "fill", "clip", "wrap")
            ],
            ("take along an axis", lambda jnp, x, i: jnp.take(x, i, axis=1), MATRIX, POSITIONS),
            ("take one", lambda jnp, x: jnp.take(x, 2), MATRIX),
            ("take as a method", lambda jnp, x, i: x.take(i, 0), MATRIX, POSITIONS % 3),
            ("take a matrix of positions", lambda jnp, x, i: jnp.take(x, i, axis=-1), MATRIX, POSITIONS.reshape(2, 2)),
            ("take_along_axis", lambda jnp, x, i: jnp.take_along_axis(x, i[None, :], 1), MATRIX, POSITIONS),
            (
                "take_along_axis of rows",
                lambda jnp, x, i: jnp.take_along_axis(x, i, 0),
                MATRIX,
                np.int32([[0, 1, 2, 0]]),
            ),
            (
                "take_along_axis of columns",
                lambda jnp, x, i: jnp.take_along_axis(x, i, -1),
                MATRIX,
                np.int32([[0, 1], [2, 3], [0, 0]]),
            ),
            ("take_along_axis of all", lambda jnp, x, i: jnp.take_along_axis(x, i, None), MATRIX, POSITIONS),
            ("take_along_axis by argsort", lambda jnp, x: jnp.take_along_axis(x, jnp.argsort(x, 1), 1), MATRIX),
            (
                "take_along_axis of three axes",
                lambda jnp, x, i: jnp.take_along_axis(x, i, 1),
                CUBE,
                np.int32([[[0], [2]]]),
            ),
        ]
    )


def unpacked_and_added(jnp, x):
    a, b, c = x
    return a + b + c


def test_iteration_and_unpacking_agree_with_jax():
    check(
        [
            ("iteration", lambda jnp, x: list(x), VECTOR),
            ("unpacking", unpacked_and_added, MATRIX),
            ("len", lambda jnp, x: x[len(x) - 1], VECTOR),
        ]
    )


def test_positions_agree_with_jax():
    counted = np.int32([0, 5, 11, -1, 20])
    check(
        [
            ("unravel_index", lambda jnp, x: jnp.unravel_index(x, (3, 4)), counted),
            ("unravel_index of one axis", lambda jnp, x: jnp.unravel_index(x, 12), counted),
            ("diag_indices", lambda jnp: jnp.diag_indices(3)),
        ]
    )


def test_argwhere_finds_the_positions_of_what_is_not_zero():
    values = np.int32([[0, 1, 0], [2, 0, 3]])
    assert jnp.argwhere(values).tolist() == np.argwhere(values).tolist()
    assert jnp.argwhere(jnp.int32(3)).shape == np.argwhere(np.int32(3)).shape
    assert jitkit.jit(lambda x: jnp.argwhere(x, size=3))(values).tolist() == np.argwhere(values).tolist()


def test_argwhere_writes_the_equations_that_jax_writes():
    check(
        [
            (
                "positions where a matrix is positive",
                lambda jnp, x: jnp.argwhere(x > 0, size=3, fill_value=-1),
                MATRIX - 9,
            ),
            ("positions where a vector is not zero", lambda jnp, x: jnp.argwhere(x, size=4), VECTOR),
            ("positions where a scalar is not zero", lambda jnp, x: jnp.argwhere(x, size=1), np.int32(3)),
        ]
    )
