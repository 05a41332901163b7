"""Arrays from values, shapes and ranges: `jitkit.numpy` against `jax.numpy`."""

from __future__ import annotations

import enum

import jax.numpy
import ml_dtypes
import numpy as np
import pytest
from lax_oracle import JAXPRS_ARE_OURS
from numpy_oracle import accepted, check, check_error

import jitkit
import jitkit.numpy as jnp
from jitkit.base import config

VALUES = {
    "a float": 3.0,
    "an int": 3,
    "a bool": True,
    "a complex": 1j,
    "a numpy float32": np.float32(2),
    "a numpy float64": np.float64(2),
    "a numpy int64": np.int64(2),
    "a list of ints": [1, 2, 3],
    "a list of ints and floats": [1, 2.0],
    "a list of bools": [True, False],
    "nested lists": [[1, 2], [3, 4]],
    "a tuple": (1, 2.5),
    "float32s": np.float32([1, 2]),
    "int64s": np.arange(3),
    "float64s": np.arange(3.0),
    "an empty list": [],
    "two empty lists": [[], []],
    "a list with a numpy scalar": [1, np.float32(2)],
    "an int8 and an int": [np.int8(1), 2],
    "a range": range(3),
    "bfloat16s": np.array([1.5, 2], ml_dtypes.bfloat16),
    "a list of arrays": [np.float32([1, 2]), np.float32([3, 4])],
}
FLOATS = np.float32([0.1, 0.5, 0.9, 0.25])
INTS = np.int32([3, -4, 0])


@pytest.mark.parametrize("kind", VALUES)
def test_array_and_asarray_take_values_as_jax_does(kind):
    value = VALUES[kind]
    targets = [None] if kind == "a complex" else [None, "float32", "int8"]
    check(
        [
            (f"{name} {target}", lambda j, name=name, target=target: getattr(j, name)(value, dtype=target))
            for name in ("array", "asarray")
            for target in targets
        ]
    )


def test_array_of_traced_values_is_stacked_by_equations():
    check(
        [
            ("array of a tracer", lambda j, x: j.array(x), 1.0),
            ("array of a traced array", lambda j, x: j.array(x), FLOATS),
            ("asarray of a tracer", lambda j, x: j.asarray(x), FLOATS),
            ("array of a tracer, converted", lambda j, x: j.array(x, j.float32), INTS),
            ("asarray of a tracer, converted", lambda j, x: j.asarray(x, j.float32), INTS),
            ("list with a tracer", lambda j, x: j.array([x, 1.0]), 1.0),
            ("list with a strongly typed tracer", lambda j, x: j.array([x, 1]), np.float32(1)),
            ("nested lists with tracers", lambda j, x: j.array([[x, 1], [2.5, x]]), 1),
            ("a long list of tracers", lambda j, x: j.array([x] * 20), 1.0),
            ("list of traced arrays", lambda j, x: j.array([x, x]), FLOATS),
            ("rows without tracers", lambda j, x: j.array([[x, 1], [2, 3]]), 1.0),
            ("a row beside a traced one", lambda j, x: j.array([x, [1, 2, 3, 4]]), FLOATS),
            ("a row of numpy scalars", lambda j, x: j.array([[x, x], [np.int8(1), INTS[0]]]), 1),
            ("nothing beside nothing", lambda j, x: j.array([x, []]), FLOATS[:0]),
            ("new axes", lambda j, x: j.array(x, ndmin=3), FLOATS),
            ("copy", lambda j, x: j.copy(x), FLOATS),
            ("copy method", lambda j, x: x.copy(), FLOATS),
        ]
    )


class Colour(enum.IntEnum):
    RED = 1
    FAR = 2**31


def test_numbers_beyond_int32_have_the_dtype_that_they_are_given():
    rows = [
        (f"{name}({value})", lambda j, name=name, value=value: getattr(j, name)(value))
        for name in ("uint32", "float32", "float16", "complex64", "bool_", "int32", "uint8")
        for value in (2**31, 2**32 - 1, 2**32, -1, 300)
    ]
    check([row for row in rows if accepted(row)])
    for row in rows:
        if not accepted(row):
            check_error(row)
    check([("full of 2**31", lambda j, x: j.full(2, 2**31, "uint32") + x, np.uint32([1, 2]))])
    for name, program in {
        "added": lambda j, x: x + 2**31,
        "masked": lambda j, x: x & 0xFFFFFFFF,
        "compared": lambda j, x: x < 2**32 - 1,
        "chosen": lambda j, x: j.where(x > 0, x, 2**31),
    }.items():
        check_error((f"2**31 {name}", program, np.uint32([1])))


def test_members_of_an_int_enum_are_weak_integers():
    check(
        [
            ("an int8 times a member", lambda j, x: x * Colour.RED, np.int8([1])),
            ("floats plus a member", lambda j, x: j.add(x, Colour.RED), FLOATS),
            ("a member as an array", lambda j: j.asarray(Colour.RED)),
            ("a member as an argument", lambda j, x: x + 1, Colour.RED),
            ("a list of members", lambda j: j.array([Colour.RED, Colour.RED])),
        ]
    )
    check_error(("a member that does not fit", lambda j, x: x + Colour.FAR, INTS))


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint8", "int32", "float16", "bfloat16", "float32", "complex64", float, int, bool, None],
    ids=str,
)
def test_astype_agrees_with_jax(dtype):
    check(
        [
            (f"floats to {dtype}", lambda j, x: x.astype(dtype), FLOATS),
            (f"integers to {dtype}", lambda j, x: x.astype(dtype), INTS),
            (f"a copy of {dtype}", lambda j, x: x.astype(dtype, copy=True), INTS),
            (f"complex to {dtype}", lambda j, x: x.astype(dtype), np.complex64([1 + 2j, 0])),
        ]
    )


@pytest.mark.parametrize("name", ["bool_", "int8", "uint8", "int32", "float16", "bfloat16", "float32", "complex64"])
def test_dtype_names_make_arrays(name):
    check(
        [
            (name, lambda j: getattr(j, name)(1)),
            (f"{name} of a tracer", lambda j, x: getattr(j, name)(x), 3),
            (f"{name} of a list", lambda j: getattr(j, name)([1, 0])),
        ]
    )


@pytest.mark.parametrize(
    "name", ["bool_", "int8", "uint32", "int64", "float32", "float64", "bfloat16", "complex64", "float8_e4m3fn", "int4"]
)
def test_dtype_names_are_equal_to_and_hash_like_numpy_types(name):
    ours, theirs = getattr(jnp, name), getattr(jax.numpy, name)
    assert ours == np.dtype(theirs)
    assert np.dtype(ours) == np.dtype(theirs)
    assert ours.dtype == theirs.dtype
    assert hash(ours) == hash(theirs)
    assert (ours == theirs.dtype.type) == (theirs == theirs.dtype.type)
    assert ours.__name__ == theirs.__name__
    assert isinstance(theirs.dtype.type(1), ours)


@pytest.mark.parametrize("shape", [(2, 3), 3, (), [2, 2], (0, 3)], ids=str)
def test_fills_agree_with_jax(shape):
    check(
        [
            *[
                (f"{name} {dtype}", lambda j, name=name, dtype=dtype: getattr(j, name)(shape, dtype=dtype))
                for name in ("zeros", "ones", "empty")
                for dtype in (None, int, "bfloat16", bool)
            ],
            ("full", lambda j: j.full(shape, 7)),
            ("full of floats", lambda j: j.full(shape, 7, float)),
            ("full of a traced value", lambda j, x: j.full(shape, x), 2.5),
        ]
    )


def test_fills_like_another_array_agree_with_jax():
    likes = {"floats": FLOATS, "ints": INTS, "a Python float": 2.5, "a Python int": 2, "bools": np.array([True])}
    check(
        [
            *[
                (f"{name} {kind} {options}", lambda j, x, name=name, options=options: getattr(j, name)(x, **options), x)
                for name in ("zeros_like", "ones_like", "empty_like")
                for kind, x in likes.items()
                for options in ({}, {"dtype": "int8"}, {"shape": (2,)})
            ],
            ("full of an array", lambda j, x: j.full((2, 4), x), FLOATS),
            ("full_like", lambda j, x: j.full_like(x, 2.5), INTS),
            ("full_like with a dtype", lambda j, x: j.full_like(x, 2.5, dtype=float), INTS),
            ("full_like of an array", lambda j, x, y: j.full_like(x, y), np.ones((2, 3), np.float32), FLOATS[:3]),
        ],
        eager=False,
    )


def test_arange_agrees_with_jax():
    arguments = [
        (3,),
        (1, 3),
        (0, 3, 2),
        (0, 3, 0.5),
        (3.5,),
        (0.5, 3),
        (5, 0, -2),
        (0,),
        (-3,),
        (np.int8(3),),
        (np.float32(3),),
    ]
    check(
        [
            (f"arange {args} {dtype}", lambda j, args=args, dtype=dtype: j.arange(*args, dtype=dtype))
            for args in arguments
            for dtype in (None, float, "bfloat16")
        ]
    )


def test_ranges_agree_with_jax():
    check(
        [
            *[
                (f"linspace {args} {options}", lambda j, args=args, options=options: j.linspace(*args, **options))
                for args in ((0, 1, 5), (0.0, 2.0), (0, 1, 1), (0, 1, 0), (1, 10, 4))
                for options in ({}, {"endpoint": False}, {"dtype": int}, {"retstep": True})
            ],
            ("linspace of arrays", lambda j, x, y: j.linspace(x, y, 4), FLOATS, FLOATS + 1),
            ("linspace along the last axis", lambda j, x, y: j.linspace(x, y, 4, axis=-1), FLOATS, 2.0),
            ("linspace of a traced stop", lambda j, x: j.linspace(0, x, 5), 2.0),
            ("logspace", lambda j: j.logspace(0, 2, 3)),
            ("geomspace", lambda j: j.geomspace(1, 1000, 4)),
        ]
    )


def test_grids_and_triangles_agree_with_jax():
    matrix, cube = np.ones((2, 3), np.float32), np.ones((2, 3, 4), np.float32)
    check(
        [
            *[
                (f"eye {args}", lambda j, args=args: j.eye(*args))
                for args in ((3,), (3, 4), (3, 4, 1), (3, 3, -1), (0,))
            ],
            *[(f"tri {args}", lambda j, args=args: j.tri(*args)) for args in ((3,), (3, 4), (3, 4, 1), (3, 3, -1))],
            ("eye of ints", lambda j: j.eye(3, dtype=int)),
            ("identity", lambda j: j.identity(3)),
            ("meshgrid", lambda j, x, y: j.meshgrid(x, y), FLOATS, INTS),
            ("meshgrid ij", lambda j, x, y: j.meshgrid(x, y, indexing="ij"), FLOATS, INTS),
            ("meshgrid sparse", lambda j, x, y: j.meshgrid(x, y, sparse=True), FLOATS, INTS),
            ("indices", lambda j: j.indices((2, 3))),
            ("indices sparse", lambda j: j.indices((2, 3), sparse=True)),
            ("ix_", lambda j, x: j.ix_(x, x), INTS),
            ("tril", lambda j, x: j.tril(x), matrix),
            ("tril below", lambda j, x: j.tril(x, -1), matrix),
            ("triu", lambda j, x: j.triu(x, 1), cube),
            ("diag of a vector", lambda j, x: j.diag(x, 1), FLOATS),
            ("diag of a matrix", lambda j, x: j.diag(x), matrix),
            ("diag below", lambda j, x: j.diag(x, -1), matrix),
            ("diagonal", lambda j, x: j.diagonal(x, 1, 0, 2), cube),
            ("trace", lambda j, x: j.trace(x), matrix),
            ("trace of other axes", lambda j, x: j.trace(x, 1, 1, 2), cube),
        ]
    )


def test_an_array_of_a_numpy_array_does_not_change_with_it():
    value = np.zeros(3, np.float32)
    made = jnp.array(value)
    value[0] = 1
    assert made.tolist() == [0, 0, 0]


def test_a_loss_of_64_bits_is_said_aloud():
    with pytest.warns(UserWarning, match="Explicitly requested dtype float64 requested in zeros is not available"):
        assert jnp.zeros(3, dtype="float64").dtype == np.float32
    with pytest.warns(UserWarning, match="Explicitly requested dtype int64 requested in astype is not available"):
        assert jnp.ones(3).astype("int64").dtype == np.int32


def test_64_bits_are_kept_in_x64_mode():
    with config.override(enable_x64=True):
        assert jnp.arange(3).dtype == np.int64
        assert jnp.ones(3).dtype == np.float64
        assert (jnp.ones(3, np.float32) * 2.0).dtype == np.float32
        assert jnp.array([1.5]).dtype == np.float64
        assert (
            str(jitkit.make_jaxpr(lambda x: x * 2)(1.0))
            == "{ lambda ; a:f64[]. let b:f64[] = mul a 2.0:f64[] in (b,) }"
        )


def test_an_array_is_not_copied_when_it_is_one_already():
    x = jnp.ones(3)
    assert jnp.asarray(x) is x
    assert jnp.array(x) is not x


def test_a_python_number_stays_as_it_is_written():
    check(
        [
            ("a number as an array", lambda j: (j.asarray(0.1), j.array(2.7 + 0.1j), j.asarray(1e300))),
            ("a number as an array among others", lambda j, x: j.asarray(0.1) * x, np.int32([1, 2])),
            ("an update of ints by a float", lambda j, x: x.at[0].set(0.1), np.int32([1, 2])),
            ("a choice of numbers", lambda j, x: j.select([x > 0], [0.1], 0.2), FLOATS),
            ("a number of a dtype", lambda j: j.asarray(0.1, dtype="float32")),
        ]
    )


def test_an_array_of_numpys_is_one_constant_however_often_it_is_met():
    found = []
    c = np.ones(3, np.float32)
    for lib in (jitkit, jax):
        xp = lib.numpy
        jaxpr = lib.make_jaxpr(
            lambda x, xp=xp: xp.array(c) * xp.array(c) + xp.asarray(c) + xp.sin(c) + xp.array(c, ndmin=2) * x
        )(c)
        found.append((len(jaxpr.consts), str(jaxpr)))
        shared = lib.jit(lambda x, xp=xp: xp.array(c) + x)
        before = np.asarray(shared(1.0))
        c[:] = 5.0  # the compiled program keeps the old values
        found[-1] += (before.tolist(), np.asarray(shared(1.0)).tolist())
        c[:] = 1.0
        eager = lib.vmap(lambda x, xp=xp: (xp.array(c), x))(np.ones(2))[0]
        c[:] = 7.0
        found[-1] += (np.asarray(eager).tolist(),)
        c[:] = 1.0
    assert found[0][2:] == found[1][2:]
    if JAXPRS_ARE_OURS:
        assert found[0][:2] == found[1][:2]
        assert found[0][0] == 1
