"""Reductions of `jitkit.numpy` against `jax.numpy`: of every kind of operand, over every kind of axis."""

from __future__ import annotations

import jax
import jax.numpy
import ml_dtypes
import numpy as np
import pytest
from numpy_oracle import accepted, check, check_error
from tails import one_in
from twin import raised, same_as_jax

import jitkit

REDUCTIONS = [
    "sum", "prod", "max", "min", "all", "any", "mean", "var", "std", "ptp", "amax", "amin", "nansum",
    "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "median", "count_nonzero", "average",
]  # fmt: skip
POSITIONS = ["argmax", "argmin"]
RUNNING = ["cumsum", "cumprod", "nancumsum", "nancumprod"]
METHODS = [
    "sum", "prod", "max", "min", "all", "any", "mean", "var", "std", "ptp", "argmax", "argmin", "cumsum",
    "cumprod",
]  # fmt: skip

SMALL = np.float32([0.1, 0.5, 0.9, 0.25])
MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
MASK = np.array([True, False, True])
OPERANDS = {
    "floats": SMALL,
    "a matrix": MATRIX,
    "integers": np.int32([3, -4, 0, 7]),
    "int8": np.int8([1, -2, 3]),
    "uint8": np.uint8([3, 200, 0]),
    "bools": MASK,
    "bfloat16": np.array([1.5, 2, -3], ml_dtypes.bfloat16),
    "float16": np.float16([1.5, 2, -3]),
    "a Python float": 2.5,
    "a Python int": 3,
    "nan": np.float32([1, np.nan, np.inf]),
    "complex numbers": np.complex64([1 + 2j, -3 - 1j]),
    "nothing": np.zeros((0, 3), np.float32),
}


def reducing(name, **options):
    return lambda jnp, x: getattr(jnp, name)(x, **options)


RUN = {"floats", "integers", "uint8", "bools", "float16", "nan", "a Python int"}  # these are run: equal jaxprs agree


@pytest.mark.parametrize("kind", one_in(2, list(OPERANDS)))
def test_reductions_of_all_elements_agree_with_jax(kind):
    rows = [(name, reducing(name), OPERANDS[kind]) for name in REDUCTIONS + POSITIONS + RUNNING]
    if kind == "complex numbers":  # both libraries trace comparisons of complex numbers, but XLA cannot compile them
        rows = [row for row in rows if row[0] not in POSITIONS]
    if kind == "nothing":  # later versions of JAX word the error of `median` differently
        rows = [row for row in rows if row[0] != "median"]
    good = [row for row in rows if accepted(row)]
    check(good, run=kind in RUN, eager=kind == "floats")
    for row in rows:
        if row not in good:
            check_error(row)


@pytest.mark.parametrize("name", REDUCTIONS + POSITIONS + RUNNING)
def test_reductions_over_axes_agree_with_jax(name):
    rows = [(f"{name} over {axis}", reducing(name, axis=axis), MATRIX) for axis in (0, 1, -1)]
    if name in REDUCTIONS:
        rows.append((f"{name} over two axes", reducing(name, axis=(0, 2)), CUBE))
    if name not in RUNNING:
        rows.append((f"{name} keeping axes", reducing(name, axis=0, keepdims=True), MATRIX))
        rows.append((f"{name} keeping all axes", reducing(name, keepdims=True), MATRIX))
    if name in METHODS:
        rows.append((f"{name} as a method", lambda jnp, x: getattr(x, name)(0), MATRIX))
    check(rows, eager=False)


def test_reductions_in_another_dtype_agree_with_jax():
    check(
        [
            (f"{name} in {dtype}", reducing(name, dtype=dtype), SMALL)
            for name in ("sum", "prod", "mean", "var", "cumsum", "cumprod", "nansum", "nanmean", "nanvar")
            for dtype in ("float16", int)
        ],
        eager=False,
    )


def test_reductions_with_a_mask_and_an_initial_value_agree_with_jax():
    check(
        [
            *[
                (f"{name} where", lambda jnp, x, m, name=name: getattr(jnp, name)(x, where=m), MATRIX, MASK)
                for name in ("sum", "prod", "all", "any", "mean", "var", "std", "nansum", "nanmean")
            ],
            *[
                (f"{name} from 2", lambda jnp, x, name=name: getattr(jnp, name)(x, initial=2), SMALL)
                for name in ("sum", "prod", "max", "min", "nansum", "nanmax")
            ],
            *[
                (
                    f"{name} where, from 2.5",
                    lambda jnp, x, m, name=name: getattr(jnp, name)(x, initial=2.5, where=m),
                    MATRIX,
                    MASK,
                )
                for name in ("sum", "prod", "max", "min")
            ],
            ("variance of a sample", lambda jnp, x: jnp.var(x, ddof=1), SMALL),
            ("deviation with a correction", lambda jnp, x: x.std(correction=1), SMALL),
            ("variance around a mean", lambda jnp, x: jnp.var(x, mean=x.mean(keepdims=True)), SMALL),
            ("weighted average", lambda jnp, x, w: jnp.average(x, weights=w), SMALL, SMALL),
            (
                "weighted average over an axis",
                lambda jnp, x, w: jnp.average(x, axis=1, weights=w, returned=True),
                MATRIX,
                MATRIX[0],
            ),
            ("sum without promotion", lambda jnp, x: jnp.sum(x, promote_integers=False), np.int8([1, -2])),
        ]
    )


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_quantiles_agree_with_jax(method):
    check(
        [
            ("one quantile", lambda jnp, x: jnp.quantile(x, 0.25, method=method), SMALL),
            (
                "two quantiles",
                lambda jnp, x: jnp.quantile(x, jnp.array([0.25, 0.75]), axis=1, keepdims=True, method=method),
                MATRIX,
            ),
            (
                "a quantile over two axes",
                lambda jnp, x: jnp.quantile(x, 0.5, axis=(0, 2), keepdims=True, method=method),
                CUBE,
            ),
            ("a percentile", lambda jnp, x: jnp.percentile(x, 30, method=method), SMALL),
        ]
    )


def test_counting_agrees_with_jax():
    values = np.arange(5, dtype=np.float32)
    positions = np.int32([0, 2, 1, 3])
    check(
        [
            ("bincount", lambda jnp, x: jnp.bincount(x, length=5), positions),
            ("weighted bincount", lambda jnp, x, w: jnp.bincount(x, w, length=5), positions, SMALL),
        ]
    )
    check(
        [
            ("nonzero of known size", lambda jnp, x: jnp.nonzero(x, size=3), values),
            ("positions where", lambda jnp, x: jnp.where(x > 2, size=3, fill_value=-1), values),
            ("flatnonzero", lambda jnp, x: jnp.flatnonzero(x, size=2), values),
        ]
    )


def test_the_rarer_reductions_agree_with_jax():
    nan = np.float32([[1, np.nan, 3], [np.nan, np.nan, np.nan]])
    check(
        [
            *[
                (f"{name} {axis}", lambda jnp, x, name=name, axis=axis: getattr(jnp, name)(x, axis=axis), nan)
                for name in ("nanargmax", "nanargmin")
                for axis in (None, 0, 1)
            ],
            ("nanargmax of integers", lambda jnp, x: jnp.nanargmax(x, axis=1, keepdims=True), MATRIX.astype(int)),
            ("cumulative_sum", lambda jnp, x: jnp.cumulative_sum(x), np.int8([1, -2, 3])),
            ("cumulative_sum from 0", lambda jnp, x: jnp.cumulative_sum(x, axis=1, include_initial=True), MATRIX),
        ]
    )


@pytest.mark.parametrize("name", [*POSITIONS, "nanargmax", "nanargmin"])
def test_an_axis_that_is_not_there_is_refused_with_the_class_that_it_has_in_jax(name):
    for lib in (jitkit.numpy, jax.numpy):
        for x, axis in ((MATRIX, 2), (MATRIX, -3), (np.float32(1), 0)):
            with pytest.raises(IndexError):
                getattr(lib, name)(x, axis=axis)


@pytest.mark.parametrize(
    "axis", ["i", ("i",), ("i", 0), ["i"], (-1, "i"), ("i", "j"), "ij", ("i", "i"), (0, 0, "i")], ids=repr
)
@pytest.mark.parametrize("name", ["sum", "max", "mean", "var", "nansum", "ptp", "prod", "any", "average", "flip"])
@same_as_jax
def test_reductions_over_named_axes(jax, jnp, name, axis):
    """At once, where there are none; of a batch, and of what is the same for all, for which an unknown name has another sentence."""
    reduce = getattr(jnp, name)
    x = jnp.arange(6.0).reshape(3, 2)
    return [
        raised(lambda: reduce(x, axis=axis)),
        raised(lambda: str(jax.make_jaxpr(jax.vmap(lambda x: reduce(x, axis=axis), axis_name="i"))(x))),
        raised(lambda: jax.vmap(lambda x: reduce(x, axis=axis), axis_name="i")(x)),
        raised(lambda: jax.vmap(lambda x: reduce(jnp.arange(2), axis=axis) + x[0], axis_name="i")(x))
        if "j" not in axis
        else None,
    ]


@same_as_jax
def test_options_and_functions_of_reductions_over_named_axes(jax, jnp):
    x = jnp.arange(6.0).reshape(3, 2)

    def mapped(f):
        return jax.vmap(f, axis_name="i")(x)

    return [
        mapped(lambda x: jnp.sum(x, axis=("i", 0), where=x > 1, initial=3.0, keepdims=True)),
        mapped(lambda x: jnp.mean(x, axis=("i", 0), where=x > 1)),
        mapped(lambda x: x.astype("float16").sum("i")),
        mapped(lambda x: jax.nn.softmax(x, "i")),
        mapped(lambda x: jax.nn.logsumexp(x, ("i", 0))),
        jax.grad(lambda x: jax.vmap(lambda x: jnp.sum(x**2, "i"), axis_name="i")(x).sum())(x),
        jax.vmap(jax.vmap(lambda x: jnp.max(x, ("i", "j", 0)), axis_name="i"), axis_name="j")(jnp.ones((3, 2, 2))),
    ]
