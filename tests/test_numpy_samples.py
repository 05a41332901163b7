"""Convolutions, derivatives and integrals of samples, histograms, sets, grids: `jitkit.numpy` against `jax.numpy`."""

from __future__ import annotations

import jax
import jax.numpy
import numpy as np
import pytest
from numpy_oracle import check, check_error
from tails import one_in

import jitkit
import jitkit.numpy

VECTOR = np.float32([1, 2, 4, 2, -1])
INTS = np.int32([3, 1, 2, 3, 1])
MATRIX = np.arange(12, dtype=np.float32).reshape(3, 4)
COMPLEX = np.complex64([1 + 2j, -1j, 3])
POSITIONS = np.float32([0, 1, 3, 4, 8])


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_agree_with_jax(mode):
    operands = [
        (VECTOR, VECTOR[:3]),
        (VECTOR[:2], VECTOR),
        (INTS, INTS[:2]),
        (INTS[:2], VECTOR),
        (COMPLEX, COMPLEX[:2]),
        (COMPLEX[:2], COMPLEX),
        (VECTOR > 1, INTS),
    ]
    rows = []
    for i, (a, v) in enumerate(operands):
        rows.append((f"convolve {i}", lambda jnp, a, v: jnp.convolve(a, v, mode=mode), a, v))
        rows.append((f"correlate {i}", lambda jnp, a, v: jnp.correlate(a, v, mode=mode), a, v))
    check(rows, eager=False)
    check(
        [
            ("convolve by default", lambda jnp, a, v: (jnp.convolve(a, v), jnp.correlate(a, v)), VECTOR, INTS),
            (
                "convolve in a dtype",
                lambda jnp, a, v: jnp.convolve(a, v, preferred_element_type="float32", precision="high"),
                VECTOR,
                INTS,
            ),
        ]
    )


def test_derivatives_and_integrals_agree_with_jax():
    check(
        [
            ("gradient", lambda jnp, x: jnp.gradient(x), VECTOR),
            ("gradient of ints", lambda jnp, x: jnp.gradient(x, 2), INTS),
            ("gradient at positions", lambda jnp, x, h: jnp.gradient(x, h), VECTOR, POSITIONS),
            ("gradient along all axes", lambda jnp, x: jnp.gradient(x), MATRIX),
            ("gradient along all axes at a distance", lambda jnp, x: jnp.gradient(x, 0.5), MATRIX),
            ("gradient along an axis", lambda jnp, x: jnp.gradient(x, axis=1), MATRIX),
            (
                "gradient with several distances",
                lambda jnp, x, h: jnp.gradient(x, h, 2.0, axis=(0, -1)),
                MATRIX,
                POSITIONS[:3],
            ),
            ("gradient along no axis", lambda jnp, x: jnp.gradient(x, axis=()), MATRIX),
            ("trapezoid", lambda jnp, y: jnp.trapezoid(y), VECTOR),
            ("trapezoid of ints", lambda jnp, y: jnp.trapezoid(y, dx=3), INTS),
            ("trapezoid at positions", lambda jnp, y, x: jnp.trapezoid(y, x), VECTOR, POSITIONS),
            ("trapezoid along an axis", lambda jnp, y: jnp.trapezoid(y, axis=0), MATRIX),
            ("trapezoid at positions of each row", lambda jnp, y, x: jnp.trapezoid(y, x, axis=0), MATRIX, MATRIX + 1),
            ("trapezoid with distances", lambda jnp, y, x: jnp.trapezoid(y, dx=x), MATRIX, POSITIONS[:3]),
            ("trapezoid with one distance", lambda jnp, y, x: jnp.trapezoid(y, dx=x), MATRIX, POSITIONS[1:2]),
            ("ediff1d", lambda jnp, x: jnp.ediff1d(x), MATRIX),
            ("ediff1d with ends", lambda jnp, x: jnp.ediff1d(x, to_end=INTS, to_begin=0.5), VECTOR),
        ]
    )


def test_interpolation_agrees_with_jax():
    points = np.float32([-1, 0, 0.5, 2.9, 3, 7, 9])
    check(
        [
            ("interp", lambda jnp, x, xp, fp: jnp.interp(x, xp, fp), points, POSITIONS, VECTOR),
            ("interp of a number", lambda jnp, xp, fp: jnp.interp(2, xp, fp), POSITIONS, VECTOR),
            ("interp of ints", lambda jnp, x, xp, fp: jnp.interp(x, xp, fp), INTS, POSITIONS, INTS),
            (
                "interp with ends",
                lambda jnp, x, xp, fp: jnp.interp(x, xp, fp, left=-5, right=2.5),
                points,
                POSITIONS,
                VECTOR,
            ),
            (
                "interp beyond the ends",
                lambda jnp, x, xp, fp: jnp.interp(x, xp, fp, left="extrapolate", right="extrapolate"),
                points,
                POSITIONS,
                VECTOR,
            ),
            (
                "interp of a periodic function",
                lambda jnp, x, xp, fp: jnp.interp(x, xp, fp, period=5),
                points,
                POSITIONS[[0, 3, 1, 2]],
                VECTOR[:4],
            ),
            ("interp of complex values", lambda jnp, x, xp, fp: jnp.interp(x, xp, fp), points, POSITIONS[:3], COMPLEX),
        ]
    )


def test_covariances_and_histograms_agree_with_jax():
    data = np.float32([[1, 2, 4, 8], [1, -1, 1, -1], [3, 1, 4, 1]])
    check(
        [
            ("cov", lambda jnp, x: jnp.cov(x), data),
            ("cov of columns", lambda jnp, x: jnp.cov(x, rowvar=False, bias=True), data),
            ("cov of one variable", lambda jnp, x: jnp.cov(x), VECTOR),
            ("cov of two", lambda jnp, x, y: jnp.cov(x, y, ddof=0), VECTOR, INTS),
            ("cov in a dtype", lambda jnp, x: jnp.cov(x, dtype="float16"), VECTOR),
            ("cov with counts", lambda jnp, x, w: jnp.cov(x, fweights=w), data, np.int32([1, 2, 0, 1])),
            ("cov with weights", lambda jnp, x, w: jnp.cov(x, aweights=w), data, np.float32([1, 2, 0, 1])),
            (
                "cov with both",
                lambda jnp, x, w: jnp.cov(x, fweights=w, aweights=w, ddof=2),
                data,
                np.int32([1, 2, 1, 1]),
            ),
            ("cov of complex variables", lambda jnp, x: jnp.cov(x), np.stack([COMPLEX, COMPLEX[::-1]])),
            ("cov of nothing", lambda jnp, x: jnp.cov(x), data[:0]),
            ("cov of no observations", lambda jnp, x: jnp.cov(x), data[:, :0]),
            ("corrcoef", lambda jnp, x: jnp.corrcoef(x), data),
            ("corrcoef of one variable", lambda jnp, x: jnp.corrcoef(x), VECTOR),
            ("corrcoef of complex variables", lambda jnp, x: jnp.corrcoef(x), np.stack([COMPLEX, COMPLEX[::-1]])),
            ("histogram", lambda jnp, x: jnp.histogram(x, bins=4), VECTOR),
            ("histogram of ints", lambda jnp, x: jnp.histogram(x), INTS),
            ("histogram of equal values", lambda jnp, x: jnp.histogram(x * 0, bins=2), INTS),
            ("histogram in a range", lambda jnp, x: jnp.histogram(x, bins=3, range=(0, 4)), VECTOR),
            ("histogram of given bins", lambda jnp, x, b: jnp.histogram(x, b), VECTOR, POSITIONS),
            ("histogram with weights", lambda jnp, x, w: jnp.histogram(x, 3, weights=w, density=True), VECTOR, INTS),
            ("edges of a histogram", lambda jnp, x: jnp.histogram_bin_edges(x, 5), MATRIX),
        ]
    )


def test_divisors_and_polynomials_agree_with_jax():
    check(
        [
            ("gcd", lambda jnp, x, y: jnp.gcd(x, y), np.int32([12, -18, 0, 7, 0]), np.int32([18, 12, 5, 1, 0])),
            ("gcd with a number", lambda jnp, x: jnp.gcd(x, 6), INTS),
            ("gcd of bytes", lambda jnp, x: jnp.gcd(x, x.T), np.uint8([[2, 4], [6, 9]])),
            ("lcm", lambda jnp, x, y: jnp.lcm(x, y), np.int32([4, -6, 0, 0]), np.int32([6, 4, 5, 0])),
            ("polyval", lambda jnp, p, x: jnp.polyval(p, x), VECTOR, MATRIX),
            ("polyval of ints", lambda jnp, p, x: jnp.polyval(p, x), INTS, INTS),
            ("polyval of polynomials", lambda jnp, p: jnp.polyval(p, 2.0), MATRIX),
            ("polyval unrolled less", lambda jnp, p, x: jnp.polyval(p, x, unroll=1), VECTOR, VECTOR),
        ]
    )


NANS = np.float32([np.nan, 1, -0.0, 0.0, np.nan, 1])


def test_sets_under_jit_agree_with_jax():
    everything = {"return_index": True, "return_inverse": True, "return_counts": True}
    check(
        [
            ("unique", lambda jnp, x: jnp.unique(x, size=4), INTS),
            ("unique with a fill value", lambda jnp, x: jnp.unique(x, size=4, fill_value=-1), INTS),
            ("unique of fewer", lambda jnp, x: jnp.unique(x, size=2, **everything), INTS),
            ("unique with everything", lambda jnp, x: jnp.unique(x, size=6, **everything), MATRIX % 5),
            (
                "unique rows",
                lambda jnp, x: jnp.unique(x, size=3, axis=0, fill_value=9, **everything),
                INTS[[[0, 1], [3, 4], [1, 1]]],
            ),
            ("unique columns", lambda jnp, x: jnp.unique(x, size=2, axis=1), INTS[[[0, 3], [1, 4]]]),
            ("unique nans", lambda jnp, x: jnp.unique(x, size=6), NANS),
            ("unique nans that differ", lambda jnp, x: jnp.unique(x, size=6, equal_nan=False, fill_value=7), NANS),
            ("unique of nothing", lambda jnp, x: jnp.unique(x, size=2, fill_value=3, **everything), INTS[:0]),
            ("unique complex", lambda jnp, x: jnp.unique(x, size=3, **everything), COMPLEX[[0, 1, 0]]),
            ("union1d", lambda jnp, x, y: jnp.union1d(x, y, size=7), INTS, VECTOR),
            ("isin", lambda jnp, x: jnp.isin(x, x[:1, 1:3]), MATRIX),
            ("isin nothing", lambda jnp, x, y: (jnp.isin(x, y), jnp.isin(x, y, invert=True)), INTS, INTS[:0]),
            *[
                (
                    f"isin {method} {invert}",
                    lambda jnp, x, y, m=method, i=invert: jnp.isin(x, y, invert=i, method=m),
                    INTS,
                    np.float32([3, 2, 2.5]),
                )
                for method in ("auto", "compare_all", "binary_search", "sort")
                for invert in (False, True)
            ],
            (
                "isin of unique elements",
                lambda jnp, x, y: jnp.isin(x, y, method="sort", assume_unique=True),
                np.int32([5, 1, 2]),
                INTS[:3],
            ),
        ],
        eager=False,
    )


@pytest.mark.parametrize("of", one_in(2, [INTS, COMPLEX[[0, 1, 0]], NANS, INTS[:0], MATRIX % 5, INTS > 1]), ids=str)
def test_distinct_values_agree_with_jax(of):
    for options in (
        {},
        {"return_counts": True},
        {"return_index": True, "return_inverse": True},
        {"size": 4, "fill_value": 0},
    ):
        theirs = jax.numpy.unique(of, **options)
        ours = jitkit.numpy.unique(of, **options)
        for a, b in zip(jitkit.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_grids_and_positions_agree_with_jax():
    check(
        [
            ("mgrid of a slice", lambda jnp: jnp.mgrid[0:4]),
            ("mgrid", lambda jnp: jnp.mgrid[:2, 1:7:2]),
            ("r_", lambda jnp: jnp.r_[jnp.arange(3), 0, 1:7:2]),
            ("r_ of numbers between", lambda jnp: jnp.r_[-1:1:5j, [0.0] * 2]),
            ("r_ along the last axis", lambda jnp: jnp.r_["-1", [[1, 2]], [[3]]]),
            ("r_ with more axes", lambda jnp: jnp.r_["0,2", [1, 2], [3, 4]]),
            ("r_ with columns", lambda jnp: jnp.r_["1,2,0", [1, 2], 5:7]),
            ("r_ as a row", lambda jnp: jnp.r_["r", 1:3, 4]),
            ("r_ as a column", lambda jnp: jnp.r_["c", 1:3, 4]),
            ("c_", lambda jnp: jnp.c_[jnp.arange(3), 3:6]),
            ("c_ of matrices", lambda jnp: jnp.c_[jnp.ones((2, 2)), jnp.zeros((2, 1))]),
            ("mgrid of floats", lambda jnp: jnp.mgrid[:2, 0:1:3j]),
            ("ogrid of one axis", lambda jnp: jnp.ogrid[0:1:4j]),
            ("ogrid", lambda jnp: jnp.ogrid[:2, :3]),
            ("tril_indices", lambda jnp: jnp.tril_indices(3)),
            ("tril_indices below", lambda jnp: jnp.tril_indices(4, -1, 3)),
            ("triu_indices", lambda jnp: jnp.triu_indices(3, 1)),
            ("triu_indices of a wide matrix", lambda jnp: jnp.triu_indices(2, k=-1, m=5)),
            (
                "triangles of a matrix",
                lambda jnp, x: (jnp.tril_indices_from(x), jnp.triu_indices_from(x, 2)),
                MATRIX,
            ),
            ("diag_indices_from", lambda jnp, x: jnp.diag_indices_from(x), MATRIX[:3, :3]),
            ("diagflat", lambda jnp, x: jnp.diagflat(x), VECTOR),
            ("diagflat above", lambda jnp, x: jnp.diagflat(x, 2), MATRIX[:2]),
            ("diagflat below", lambda jnp, x: jnp.diagflat(x, -1), INTS),
            ("fill_diagonal", lambda jnp, x: jnp.fill_diagonal(x, 7, inplace=False), MATRIX),
            ("fill_diagonal with fewer", lambda jnp, x, v: jnp.fill_diagonal(x, v, inplace=False), MATRIX, INTS[:2]),
            ("fill_diagonal with more", lambda jnp, x, v: jnp.fill_diagonal(x, v, inplace=False), MATRIX, INTS),
        ]
    )  # fmt: skip


ERRORS = [
    ("convolve a matrix", lambda jnp, x: jnp.convolve(x, x), MATRIX),
    ("convolve nothing", lambda jnp, x: jnp.convolve(x, x[:0]), VECTOR),
    ("correlate in another mode", lambda jnp, x: jnp.correlate(x, x, mode="half"), VECTOR),
    ("convolve a list", lambda jnp, x: jnp.convolve([1, 2], x), VECTOR),
    ("gradient of one sample", lambda jnp, x: jnp.gradient(x[:1]), VECTOR),
    ("gradient with too many distances", lambda jnp, x: jnp.gradient(x, 1.0, 2.0), VECTOR),
    ("gradient at too few positions", lambda jnp, x: jnp.gradient(x, x[:2]), VECTOR),
    ("gradient at a matrix", lambda jnp, x: jnp.gradient(x[0], x), MATRIX),
    ("gradient of a higher order", lambda jnp, x: jnp.gradient(x, edge_order=2), VECTOR),
    ("trapezoid of a list", lambda jnp, x: jnp.trapezoid([1, 2]), VECTOR),
    ("interp of other sizes", lambda jnp, x: jnp.interp(x, x, x[1:]), VECTOR),
    ("interp of complex positions", lambda jnp, x: jnp.interp(x, x, x), COMPLEX),
    ("interp with another word", lambda jnp, x: jnp.interp(x, x, x, left="clamp"), VECTOR),
    ("interp with a vector for a period", lambda jnp, x: jnp.interp(x, x, x, period=x), VECTOR),
    ("cov of a cube", lambda jnp, x: jnp.cov(x[None]), MATRIX),
    ("cov with a cube", lambda jnp, x: jnp.cov(x, x[None]), MATRIX),
    ("cov in an integer dtype", lambda jnp, x: jnp.cov(x, dtype=int), MATRIX),
    ("cov with float counts", lambda jnp, x: jnp.cov(x, fweights=x), VECTOR),
    ("cov with too few weights", lambda jnp, x: jnp.cov(x, aweights=x[1:]), VECTOR),
    ("cov with a matrix of weights", lambda jnp, x: jnp.cov(x, fweights=x), MATRIX),
    ("corrcoef in an integer dtype", lambda jnp, x: jnp.corrcoef(x, dtype=int), MATRIX),
    ("histogram with other weights", lambda jnp, x: jnp.histogram(x, weights=x[1:]), VECTOR),
    ("histogram in a range of one", lambda jnp, x: jnp.histogram(x, range=(1,)), VECTOR),
    ("histogram with named bins", lambda jnp, x: jnp.histogram_bin_edges(x, "auto"), VECTOR),
    ("gcd of floats", lambda jnp, x: jnp.gcd(x, 2), VECTOR),
    ("lcm of floats", lambda jnp, x: jnp.lcm(x, 2), VECTOR),
    ("isin by guessing", lambda jnp, x: jnp.isin(x, x, method="guess"), VECTOR),
    ("unique of nothing without a fill value", lambda jnp, x: jnp.unique(x[:0], size=1), VECTOR),
    ("tril_indices of a vector", lambda jnp, x: jnp.tril_indices_from(x), VECTOR),
    ("diag_indices_from a vector", lambda jnp, x: jnp.diag_indices_from(x), VECTOR),
    ("diag_indices_from a wide matrix", lambda jnp, x: jnp.diag_indices_from(x), MATRIX),
    ("fill_diagonal in place", lambda jnp, x: jnp.fill_diagonal(x, 1), MATRIX),
    ("fill_diagonal of a vector", lambda jnp, x: jnp.fill_diagonal(x, 1, inplace=False), VECTOR),
    ("fill_diagonal wrapped", lambda jnp, x: jnp.fill_diagonal(x, 1, True, inplace=False), MATRIX),
]


@pytest.mark.parametrize("row", ERRORS, ids=lambda row: row[0])
def test_bad_input_is_refused_as_in_jax(row):
    check_error(row)


@pytest.mark.parametrize(
    "row",
    [
        ("unique of a traced array", lambda jnp, x: jnp.unique(x), INTS),
        ("union of traced arrays", lambda jnp, x: jnp.union1d(x, x), INTS),
        ("unique of a traced size", lambda jnp, x: jnp.unique(x, size=x[0]), INTS),
        ("histogram of a traced number of bins", lambda jnp, x: jnp.histogram_bin_edges(x, x[0]), INTS),
        ("a triangle of a traced size", lambda jnp, x: jnp.tril_indices(x[0]), INTS),
        ("a grid of a traced size", lambda jnp, x: jnp.mgrid[: x[0]], INTS),
    ],
    ids=lambda row: row[0],
)  # fmt: skip
def test_a_size_must_be_known_while_tracing(row):
    check_error(row)
