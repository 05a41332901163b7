"""Rearranging, joining, splitting, padding, sorting: `jitkit.numpy` against `jax.numpy`."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from numpy_oracle import check, check_error

import jitkit
import jitkit.numpy

VECTOR = np.arange(5, dtype=np.float32)
MATRIX = np.arange(12, dtype=np.float32).reshape(3, 4)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
INTS = np.int32([0, 2, 1, 3])
BOOLS = VECTOR > 2


@pytest.mark.parametrize("shape", [(4, 3), (12,), -1, (2, -1), (1, 12, 1), (3, 4)], ids=str)
def test_reshape_agrees_with_jax(shape):
    check(
        [
            ("reshape", lambda jnp, x: jnp.reshape(x, shape), MATRIX),
            ("reshape as a method", lambda jnp, x: x.reshape(shape), MATRIX),
            ("reshape by columns", lambda jnp, x: jnp.reshape(x, shape, order="F"), MATRIX),
        ]
    )


def test_other_axes_agree_with_jax():
    check(
        [
            ("sizes as arguments", lambda jnp, x: x.reshape(2, 6), MATRIX),
            ("ravel", lambda jnp, x: jnp.ravel(x), MATRIX),
            ("ravel by columns", lambda jnp, x: x.ravel("F"), MATRIX),
            ("flatten", lambda jnp, x: x.flatten(), MATRIX),
            ("ravel of a vector", lambda jnp, x: x.ravel(), VECTOR),
            ("T", lambda jnp, x: x.T, MATRIX),
            ("T of a vector", lambda jnp, x: x.T, VECTOR),
            ("mT", lambda jnp, x: x.mT, CUBE),
            ("transpose", lambda jnp, x: jnp.transpose(x, (2, 0, 1)), CUBE),
            ("transpose as a method", lambda jnp, x: x.transpose(1, 0, 2), CUBE),
            ("swapaxes", lambda jnp, x: x.swapaxes(0, -1), CUBE),
            ("moveaxis", lambda jnp, x: jnp.moveaxis(x, 0, -1), CUBE),
            ("moveaxis of two", lambda jnp, x: jnp.moveaxis(x, (0, 1), (-1, 0)), CUBE),
            ("rollaxis", lambda jnp, x: jnp.rollaxis(x, 2), CUBE),
            ("permute_dims", lambda jnp, x: jnp.permute_dims(x, (1, 0)), MATRIX),
            ("matrix_transpose", lambda jnp, x: jnp.matrix_transpose(x), CUBE),
            ("squeeze", lambda jnp, x: jnp.squeeze(x[None]), VECTOR),
            ("squeeze of an axis", lambda jnp, x: x[None, :, None].squeeze(0), VECTOR),
            ("expand_dims", lambda jnp, x: jnp.expand_dims(x, (0, 2)), VECTOR),
            ("expand_dims at the end", lambda jnp, x: jnp.expand_dims(x, -1), MATRIX),
            ("broadcast_to", lambda jnp, x: jnp.broadcast_to(x, (3, 5)), VECTOR),
            ("broadcast_to a length", lambda jnp, x: jnp.broadcast_to(x, 3), 2.0),
            ("broadcast_arrays", lambda jnp, x, y: jnp.broadcast_arrays(x, y, 1.0), MATRIX, MATRIX[0]),
        ]
    )


@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d"])
def test_missing_axes_are_added_as_jax_adds_them(name):
    check(
        [
            *[(name, lambda jnp, x: getattr(jnp, name)(x), x) for x in (1.0, VECTOR, MATRIX, CUBE)],
            (name, lambda jnp, x, y: getattr(jnp, name)(x, y), VECTOR, 2),
        ]
    )


def test_other_orders_agree_with_jax():
    check(
        [
            ("flip", lambda jnp, x: jnp.flip(x), MATRIX),
            ("flip of an axis", lambda jnp, x: jnp.flip(x, 1), MATRIX),
            ("fliplr", lambda jnp, x: jnp.fliplr(x), MATRIX),
            ("flipud", lambda jnp, x: jnp.flipud(x), MATRIX),
            *[(f"rot90 {k}", lambda jnp, x, k=k: jnp.rot90(x, k), MATRIX) for k in range(4)],
            ("roll", lambda jnp, x: jnp.roll(x, 1), VECTOR),
            ("roll of all elements", lambda jnp, x: jnp.roll(x, 2), MATRIX),
            ("roll along an axis", lambda jnp, x: jnp.roll(x, -1, axis=1), MATRIX),
            ("roll along two axes", lambda jnp, x: jnp.roll(x, (1, 2), axis=(0, 1)), MATRIX),
            ("roll by a numpy scalar", lambda jnp, x: jnp.roll(x, np.int64(2)), VECTOR),
            ("roll by a traced shift", lambda jnp, x, s: jnp.roll(x, s), VECTOR, 1),
            ("roll by two traced shifts", lambda jnp, x, s: jnp.roll(x, s, axis=(0, 1)), MATRIX, INTS[:2]),
            ("diff", lambda jnp, x: jnp.diff(x), MATRIX),
            ("diff twice", lambda jnp, x: jnp.diff(x, 2, axis=0), MATRIX),
            ("diff with ends", lambda jnp, x: jnp.diff(x, prepend=0, append=x[:1]), VECTOR),
            ("diff of bools", lambda jnp, x: jnp.diff(x), BOOLS),
            ("diff of bools with a weak end", lambda jnp, x: jnp.diff(x, prepend=0), BOOLS),
        ]
    )


def test_joining_agrees_with_jax():
    check(
        [
            ("concatenate", lambda jnp, x, y: jnp.concatenate([x, y]), VECTOR, INTS),
            ("concatenate along an axis", lambda jnp, x: jnp.concatenate((x, x), axis=1), MATRIX),
            ("concatenate all elements", lambda jnp, x: jnp.concatenate([x, x], axis=None), MATRIX),
            ("concatenate the rows of one array", lambda jnp, x: jnp.concatenate(x), MATRIX),
            ("concatenate in a dtype", lambda jnp, x: jnp.concatenate([x, x], dtype=int), VECTOR),
            ("concatenate one", lambda jnp, x: jnp.concatenate([x]), VECTOR),
            ("concat", lambda jnp, x: jnp.concat([x, x]), VECTOR),
            ("append", lambda jnp, x: jnp.append(x, 1), VECTOR),
            ("stack", lambda jnp, x: jnp.stack([x, x]), VECTOR),
            ("stack along the last axis", lambda jnp, x: jnp.stack([x, x * 2], axis=-1), MATRIX),
            ("stack of several dtypes", lambda jnp, x, y: jnp.stack([x, y, y]), INTS.astype(np.float32), INTS),
            ("stack of the rows of one array", lambda jnp, x: jnp.stack(x, axis=1), CUBE),
            *[
                (name, lambda jnp, x, name=name: getattr(jnp, name)([x, x]), x)
                for name in ("vstack", "hstack", "dstack", "column_stack")
                for x in (VECTOR, MATRIX)
            ],
            ("block", lambda jnp, x: jnp.block([[x, x], [x, x]]), MATRIX),
        ]
    )


def test_splitting_and_repeating_agree_with_jax():
    check(
        [
            ("split", lambda jnp, x: jnp.split(x, 2, 1), MATRIX),
            ("split at positions", lambda jnp, x: jnp.split(x, [1, 3], axis=1), MATRIX),
            ("array_split", lambda jnp, x: jnp.array_split(x, 3), VECTOR),
            ("vsplit", lambda jnp, x: jnp.vsplit(x, 3), MATRIX),
            ("hsplit", lambda jnp, x: jnp.hsplit(x, 2), MATRIX),
            ("dsplit", lambda jnp, x: jnp.dsplit(x, 2), CUBE),
            ("unstack", lambda jnp, x: jnp.unstack(x), MATRIX),
            ("tile", lambda jnp, x: jnp.tile(x, (2, 2)), VECTOR),
            ("tile of a matrix", lambda jnp, x: jnp.tile(x, 3), MATRIX),
            ("tile of a scalar", lambda jnp, x: jnp.tile(x, 2), 1.0),
            ("repeat", lambda jnp, x: jnp.repeat(x, 2), VECTOR),
            ("repeat along an axis", lambda jnp, x: jnp.repeat(x, 2, axis=1), MATRIX),
            ("repeat as a method", lambda jnp, x: x.repeat(3), MATRIX),
            ("repeat each so often", lambda jnp, x: jnp.repeat(x, np.array([1, 2, 0, 1, 1])), VECTOR),
            (
                "repeat each a traced number of times",
                lambda jnp, x, n: jnp.repeat(x, n, total_repeat_length=6),
                VECTOR,
                np.int32([1, 2, 0, 1, 1]),
            ),
            ("repeat a number along an axis", lambda jnp, x: jnp.repeat(x, 2, axis=0), 1.0),
            ("repeat a number up to a length", lambda jnp, x: jnp.repeat(x, 2, axis=5, total_repeat_length=3), 1.0),
            ("resize", lambda jnp, x: jnp.resize(x, (3, 4)), VECTOR),
        ]
    )


MODES = [
    ("constant", {}),
    ("constant", {"constant_values": 2.5}),
    ("constant", {"constant_values": (1, 2)}),
    ("edge", {}),
    ("wrap", {}),
    ("reflect", {}),
    ("symmetric", {}),
    ("reflect", {"reflect_type": "odd"}),
    ("linear_ramp", {"end_values": 3}),
    ("maximum", {}),
    ("minimum", {}),
    ("mean", {}),
    ("median", {}),
    ("mean", {"stat_length": 1}),
    ("empty", {}),
]


@pytest.mark.parametrize(("mode", "options"), MODES, ids=str)
def test_padding_agrees_with_jax(mode, options):
    widths = [1, ((1, 2), (0, 3)), (2, 1)]
    check(
        [
            *[
                (f"pad {mode} {width}", lambda jnp, x, width=width: jnp.pad(x, width, mode=mode, **options), MATRIX)
                for width in widths
            ],
            (f"pad {mode} of integers", lambda jnp, x: jnp.pad(x, 1, mode, **options), INTS),
        ],
        eager=False,
    )


def test_sorting_agrees_with_jax():
    kinds = [
        MATRIX,
        INTS,
        BOOLS,
        np.array([1.5, 2, -3], ml_dtypes.bfloat16),
        np.complex64([1 + 2j, 1 - 1j, 0.5j]),
        np.float32([0.5, 0.0, -0.0, np.inf, np.nan, -np.inf]),
    ]
    check(
        [
            *[
                (f"{name} of {x.dtype}", lambda jnp, x, name=name, options=options: getattr(jnp, name)(x, **options), x)
                for name in ("sort", "argsort")
                for x in kinds
                for options in ({}, {"descending": True})
            ],
            ("sort along the first axis", lambda jnp, x: jnp.sort(x, axis=0), MATRIX),
            ("sort of all elements", lambda jnp, x: jnp.sort(x, axis=None), MATRIX),
            ("sort as a method", lambda jnp, x: x.sort(), VECTOR),
            ("argsort as a method", lambda jnp, x: x.argsort(), VECTOR),
            ("argsort, unstable", lambda jnp, x: jnp.argsort(x, stable=False), VECTOR),
            ("lexsort", lambda jnp, x, y: jnp.lexsort((x, y)), INTS, INTS % 2),
        ],
        eager=False,
    )


@pytest.mark.parametrize("side", ["left", "right"])
def test_searching_agrees_with_jax(side):
    edges = np.float32([0, 1, 1, 2, np.inf, np.nan])
    values = np.float32([-1, 0, -0.0, 0.5, 1, 2, 3, np.inf, np.nan, -np.inf])

    def searching(**options):
        return lambda jnp, a, v: jnp.searchsorted(a, v, side=side, **options)

    rows = [
        (f"searchsorted {kind} by {method}", searching(method=method), a, v)
        for method in ("scan", "scan_unrolled", "sort", "compare_all")
        for kind, a, v in (
            ("for floats", edges, values),
            ("for a number", VECTOR, 2.5),
            ("for a matrix", np.arange(7), np.int32([[0, 3], [6, 9]])),
            ("of nothing", edges[:0], values),
            ("for complex numbers", np.complex64([0, 1j, 1, 2 - 1j]), np.complex64([1, 1j, np.nan])),
        )
        if not (kind in ("for a number", "of nothing") and method == "compare_all")
    ]
    check(
        [
            *rows,
            ("searching for a number in all", searching(method="compare_all"), VECTOR, 2.5),
            ("searchsorted by a sorter", lambda jnp, a, i: jnp.searchsorted(a, 2, sorter=i), VECTOR, np.arange(4)),
            (
                "digitize",
                lambda jnp, x, bins: jnp.digitize(x, bins, right=side == "right"),
                VECTOR,
                np.float32([1, 2.5, 3]),
            ),
            ("digitize without bins", lambda jnp, x: jnp.digitize(x, jnp.zeros(0)), VECTOR),
        ],
        eager=False,
    )


def test_searching_refuses_what_jax_refuses():
    check_error(("a matrix", lambda jnp, x: jnp.searchsorted(x, 1), MATRIX))
    check_error(("no such side", lambda jnp, x: jnp.searchsorted(x, 1, side="up"), VECTOR))
    check_error(("no such method", lambda jnp, x: jnp.searchsorted(x, 1, method="guess"), VECTOR))
    check_error(("bins in two axes", lambda jnp, x: jnp.digitize(x[0], x), MATRIX))


@pytest.mark.parametrize("reps", [-1, (2, -1)])
def test_tile_refuses_negative_repetitions(reps):
    """JAX traces them, and XLA's text is refused when it is read."""
    for way in (lambda f: f, jitkit.jit, jitkit.make_jaxpr):
        with pytest.raises(ValueError, match="negative number of times"):
            way(lambda x: jitkit.numpy.tile(x, reps))(np.ones(3))
