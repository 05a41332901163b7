"""Conversion, creation, shaping and joining: the rest of `jitkit.lax` against `jax.lax`."""

from __future__ import annotations

import warnings

import jax
import numpy as np
import pytest
from lax_oracle import (
    DTYPES,
    DTYPES_X64,
    NARROW_DTYPES,
    accepted_by_jax,
    assert_same,
    assert_same_error,
    assert_same_values,
    dtype_of,
    edge_values,
    x64,
)  # fmt: skip
from tails import keeping, one_in

import jitkit

ALL_DTYPES = [*DTYPES, *NARROW_DTYPES]


def array(*shape, dtype="float32"):
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype_of(dtype))


# --- convert_element_type ------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", one_in(2, ALL_DTYPES))
def test_conversion_to_every_dtype_agrees_on_edge_values(source):
    targets = [dtype_of(name) for name in ALL_DTYPES]

    def program(lax, x):
        return [lax.convert_element_type(x, target) for target in targets]

    assert_same(program, edge_values(source), labels=targets, eager=False)


@pytest.mark.parametrize("source", [*DTYPES_X64, "int32", "float32", "complex64"])
def test_conversion_from_and_to_64_bits_agrees(source):
    targets = [dtype_of(name) for name in [*DTYPES, *DTYPES_X64]]

    def program(lax, x):
        return [lax.convert_element_type(x, target) for target in targets]

    with x64():
        assert_same(program, edge_values(source), labels=targets, eager=False)


@pytest.mark.parametrize("target", [np.float32, np.int8, bool, complex, float, int, "bfloat16"], ids=str)
def test_conversion_agrees_when_called_eagerly(target):
    assert_same(lambda lax, x: lax.convert_element_type(x, target), np.float32([0, 1.5, -2]))
    assert_same(lambda lax, x: lax.convert_element_type(x, target), 1)
    assert_same(lambda lax, x: lax.convert_element_type(x, target), 2.5)


SCALARS = [True, 2, 300, -1, 2.5, 1j, np.float32(2), np.int64(7), np.float64(0.1), np.bool_(True), np.uint8(3)]


@pytest.mark.parametrize(
    "target", keeping(["bool", "uint8", "int32", "bfloat16", "float32", "complex64"], "bool", "uint8", "bfloat16")
)
@pytest.mark.parametrize("scalar", SCALARS, ids=repr)
def test_known_scalars_become_literals_of_the_new_dtype(scalar, target):
    def program(lax):
        return lax.convert_element_type(scalar, dtype_of(target))

    check = assert_same if accepted_by_jax(program) else assert_same_error
    check(program)


def test_python_ints_beyond_the_dtype_wrap_around():
    assert_same(lambda lax: [lax.convert_element_type(2**40 + 5, np.int32), lax.convert_element_type(-1, np.uint16)])
    assert_same_error(lambda lax: lax.convert_element_type(2**80, np.int8))


def test_zero_dimensional_numpy_arrays_are_folded_and_others_are_constants():
    one, many = np.array(2.5, np.float32), np.float32([1, 2])

    def program(lax, x):
        return [
            lax.convert_element_type(one, np.float16),
            lax.convert_element_type(many, np.float16),
            lax.convert_element_type(many, np.float32),
            lax.mul(x, lax.convert_element_type(2, np.float32)),
        ]

    assert_same(program, many)


def test_conversion_to_what_a_value_is_already_writes_no_equation():
    x = np.float32([1])
    assert_same(lambda lax, x: lax.convert_element_type(x, np.float32), x)
    assert_same(lambda lax, x: lax.convert_element_type(lax.convert_element_type(x, np.int32), np.int32), x)
    mine = jitkit.lax.sin(x)
    assert jitkit.lax.convert_element_type(mine, np.float32) is mine


@pytest.mark.parametrize("scalar", [1, 2.5, True, 1j], ids=repr)
def test_conversion_makes_weakly_typed_values_strong(scalar):
    assert_same(lambda lax, x: lax.convert_element_type(x, lax.dtype(x)), scalar)


@pytest.mark.parametrize("weak", [False, True])
@pytest.mark.parametrize("dtype", keeping([None, "int32", "float32", "bfloat16", "bool"], None, "int32", "bfloat16"))
@pytest.mark.parametrize("operand", [1, 2.5, True, np.float32(2), np.float32([1, 2]), np.int8([3])], ids=repr)
def test_weak_types_can_be_asked_for(operand, dtype, weak):
    new_dtype = dtype and dtype_of(dtype)

    def program(lax, x):
        convert = jax._src.lax.lax._convert_element_type if lax is jax.lax else lax._convert_element_type
        return [convert(x, new_dtype, weak), convert(operand, new_dtype, weak)]

    assert_same(program, operand)


def test_dropping_an_imaginary_part_is_warned_of():
    with pytest.warns(np.exceptions.ComplexWarning, match="Casting complex values to real discards the imaginary part"):
        jitkit.lax.convert_element_type(np.complex64([1j]), np.float32)


@pytest.mark.parametrize(
    "bad", [("text", np.float32), (np.float32([1]), "str"), (np.float32([1]), None), (1.0, object)], ids=str
)
def test_what_cannot_be_converted_is_refused(bad):
    assert_same_error(lambda lax: lax.convert_element_type(*bad))


@pytest.mark.parametrize("x", [1, 2.5, True, 1j, np.float64(1), np.int64([1, 2]), np.float32([1])], ids=repr)
def test_asarray_and_stage_give_arrays_of_the_dtype_that_jax_gives(x):
    def program(lax):
        asarray = jax._src.lax.lax.asarray if lax is jax.lax else lax.asarray
        return [asarray(x), lax.stage(x)]

    assert_same(program)


def test_arrays_of_jax_are_taken_and_never_handed_back():
    theirs = jax.numpy.ones((2, 3))
    lax = jitkit.lax
    same = [
        lambda x: lax.stage(x), lambda x: lax.asarray(x), lambda x: lax.broadcast(x, ()), lambda x: lax.squeeze(x, ()),
        lambda x: lax.reshape(x, (2, 3)), lambda x: lax.transpose(x, (0, 1)), lambda x: lax.concatenate([x], 0),
        lambda x: lax.convert_element_type(x, np.float32), lambda x: lax.broadcast_to(x, (2, 3)),
    ]  # fmt: skip
    for function in same:
        assert type(function(theirs)) is jitkit.Array
        jaxpr = jitkit.make_jaxpr(lambda function=function: lax.neg(function(theirs)))()
        assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["neg"]
    assert np.asarray(lax.add(theirs, 1.0)).tolist() == [[2.0] * 3] * 2


def test_asarray_refuses_lists():
    with pytest.raises(TypeError, match=r"asarray: expected ArrayLike, got \[1\] of type <class 'list'>"):
        jitkit.lax.asarray([1])
    with pytest.raises(OverflowError):
        jitkit.lax.asarray(2**40)


# --- bits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtypes", [
    ("float32", "int32"), ("float32", "uint32"), ("float32", "int16"), ("float32", "uint8"), ("int32", "float32"),
    ("bfloat16", "uint16"), ("bfloat16", "float16"), ("uint8", "int8"), ("bool", "bool"), ("complex64", "complex64"),
], ids=str)  # fmt: skip
def test_bits_are_read_as_another_dtype(dtypes):
    source, target = dtypes
    assert_same(lambda lax, x: lax.bitcast_convert_type(x, dtype_of(target)), edge_values(source))


def test_narrow_elements_of_the_last_axis_become_one_wide_element():
    assert_same(lambda lax, x: lax.bitcast_convert_type(x, np.float32), array(3, 4, dtype="uint8"))
    assert_same(lambda lax, x: lax.bitcast_convert_type(x, np.int32), array(2, 2, dtype="int16"))


@pytest.mark.parametrize("case", [
    (np.bool_([1]), np.int8), (np.int8([1]), np.bool_), (np.uint8([[1, 2, 3]]), np.int16), (np.uint8(1), np.int16),
    (np.float32([1]), np.complex64), (np.complex64([1]), np.float32),
], ids=str)  # fmt: skip
def test_bits_that_do_not_fit_are_refused(case):
    assert_same_error(lambda lax, x: lax.bitcast_convert_type(x, case[1]), case[0])


@pytest.mark.parametrize("bits", [(5, 10), (8, 7), (4, 3), (8, 23), (2, 0)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_reduce_precision_agrees(bits, dtype):
    assert_same(lambda lax, x: lax.reduce_precision(x, *bits), edge_values(dtype))


@pytest.mark.parametrize("case", [(np.float32([1]), 0, 1), (np.float32([1]), 1, -1), (np.int32([1]), 5, 5)], ids=str)
def test_reduce_precision_refuses_integers_and_too_few_bits(case):
    assert_same_error(lambda lax, x: lax.reduce_precision(x, case[1], case[2]), case[0])


# --- broadcasting --------------------------------------------------------------------------------------------

BROADCASTS = {
    "new axes": lambda lax, x: lax.broadcast(x, (4, 1)),
    "no new axes": lambda lax, x: lax.broadcast(x, ()),
    "an empty axis": lambda lax, x: lax.broadcast(x, (0,)),
    "axes in the middle": lambda lax, x: lax.broadcast_in_dim(x, (2, 4, 3), (0, 2)),
    "a list for a shape": lambda lax, x: lax.broadcast_in_dim(x, [2, 3], [0, 1]),
    "stretched axes": lambda lax, x: lax.broadcast_in_dim(lax.expand_dims(x, (1,)), (2, 5, 3), (0, 1, 2)),
    "rank": lambda lax, x: lax.broadcast_to_rank(x, 4),
    "the same rank": lambda lax, x: lax.broadcast_to_rank(x, 2),
    "like": lambda lax, x: lax.broadcast_like(x, np.ones((4, 2, 3), np.int8)),
    "scalars": lambda lax, x: [lax.broadcast(1.5, (2,)), lax.broadcast(np.float32(2), (0, 2)), lax.broadcast(3, ())],
}


@pytest.mark.parametrize("program", BROADCASTS.values(), ids=BROADCASTS)
def test_broadcasts_agree(program):
    assert_same(program, array(2, 3))


def test_operands_that_have_the_shape_already_come_back_themselves():
    x, scalar = jitkit.lax.sin(array(2, 3)), jitkit.lax.sin(1.0)
    lax = jitkit.lax
    assert lax.broadcast(x, ()) is x
    assert lax.broadcast_to(x, (2, 3)) is x
    assert lax.broadcast_in_dim(scalar, (), ()) is scalar
    assert lax.reshape(x, (2, 3)) is x
    assert lax.squeeze(x, ()) is x
    assert lax.transpose(x, (0, 1)) is x
    assert lax.concatenate([x], 0) is x


BAD_BROADCASTS = {
    "too few dimensions": lambda lax, x: lax.broadcast_in_dim(x, (2, 3), (0,)),
    "a lower rank": lambda lax, x: lax.broadcast_in_dim(x, (2,), (0, 1)),
    "dimensions out of range": lambda lax, x: lax.broadcast_in_dim(x, (2, 3), (0, 2)),
    "a negative dimension": lambda lax, x: lax.broadcast_in_dim(x, (2, 3), (0, -1)),
    "a negative size": lambda lax, x: lax.broadcast_in_dim(x, (2, -3), (0, 1)),
    "other sizes": lambda lax, x: lax.broadcast_in_dim(x, (2, 4), (0, 1)),
    "duplicates": lambda lax, x: lax.broadcast_in_dim(x, (3, 3), (1, 1)),
    "a fraction": lambda lax, x: lax.broadcast_in_dim(x, (2.5, 3), (0, 1)),
    "like, with other sizes": lambda lax, x: lax.broadcast_like(x, np.ones((2, 4))),
    "like, with fewer axes": lambda lax, x: lax.broadcast_like(x, np.ones(3)),
    "no sequence": lambda lax, x: lax.broadcast(x, 3),
}


@pytest.mark.parametrize("program", BAD_BROADCASTS.values(), ids=BAD_BROADCASTS)
def test_broadcasts_that_do_not_fit_are_refused(program):
    assert_same_error(program, np.ones((1, 3) if "dup" in str(program) else (2, 3), np.float32))


@pytest.mark.parametrize("shapes", [
    [(2, 3)], [(2, 3), (3,)], [(), (4,)], [(2, 1), (1, 3), ()], [(0,), (1,)], [(), ()], [(1, 1), (5, 0)],
], ids=str)  # fmt: skip
def test_broadcast_shapes_agrees(shapes):
    assert jitkit.lax.broadcast_shapes(*shapes) == jax.lax.broadcast_shapes(*shapes)


@pytest.mark.parametrize("shapes", [[(2,), (3,)], [(2, 3), (2,)], [(-2,), (3,)], [(2, 3), (1, 4), (2, 3)]], ids=str)
def test_broadcast_shapes_refuses_shapes_that_do_not_fit(shapes):
    assert_same_error(lambda lax: lax.broadcast_shapes(*shapes))


# --- other shapes --------------------------------------------------------------------------------------------

SHAPINGS = {
    "reshape": lambda lax, x: lax.reshape(x, (3, 2)),
    "reshape to one axis": lambda lax, x: lax.reshape(x, 6),
    "reshape by dimensions": lambda lax, x: lax.reshape(x, (6,), (1, 0)),
    "reshape by dimensions in order": lambda lax, x: lax.reshape(x, (3, 2), (0, 1)),
    "reshape to the same shape": lambda lax, x: lax.reshape(x, (2, 3)),
    "reshape to the same shape, transposed": lambda lax, x: lax.reshape(x, (2, 3), (1, 0)),
    "reshape of a scalar": lambda lax, x: [lax.reshape(1.5, (1, 1)), lax.reshape(2, ())],
    "reshape to ones": lambda lax, x: lax.reshape(x, (1, 2, 1, 3)),
    "collapse": lambda lax, x: [lax.collapse(x, 0), lax.collapse(x, 0, 2), lax.collapse(x, 1), lax.collapse(x, 1, 1)],
    "collapse counted from the end": lambda lax, x: lax.collapse(x, -2, None),
    "expand_dims": lambda lax, x: [lax.expand_dims(x, (0,)), lax.expand_dims(x, (-1, 1)), lax.expand_dims(x, ())],
    "expand_dims of a scalar": lambda lax, x: lax.expand_dims(1.0, [0, 1]),
    "squeeze": lambda lax, x: lax.squeeze(lax.reshape(x, (1, 2, 1, 3)), (-2, 0)),
    "squeeze nothing": lambda lax, x: [lax.squeeze(x, ()), lax.squeeze(1.5, ())],
    "transpose": lambda lax, x: [
        lax.transpose(x, (1, 0)),
        lax.transpose(x, np.array([1, 0])),
        lax.transpose(x, [0, 1]),
    ],
    "rev": lambda lax, x: [lax.rev(x, (0,)), lax.rev(x, [0, 1]), lax.rev(x, ())],
}


@pytest.mark.parametrize("program", SHAPINGS.values(), ids=SHAPINGS)
def test_shapings_agree(program):
    assert_same(program, array(2, 3))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "bfloat16", "complex64", "float8_e4m3fn"])
def test_shapings_agree_for_other_dtypes(dtype):
    names = ["reshape", "transpose", "rev", "expand_dims"]
    assert_same(lambda lax, x: [SHAPINGS[name](lax, x) for name in names[:1]], array(2, 3, dtype=dtype))
    assert_same(
        lambda lax, x: [lax.transpose(x, (1, 0)), lax.rev(x, (1,)), lax.tile(x, (2, 2))], array(2, 3, dtype=dtype)
    )


@pytest.mark.parametrize("program", [SHAPINGS["transpose"], SHAPINGS["rev"], lambda lax, x: lax.reshape(x, (5, 0))])
def test_shapings_of_empty_arrays_agree(program):
    assert_same(program, array(0, 3))


BAD_SHAPINGS = {
    "reshape to a negative size": lambda lax, x: lax.reshape(x, (-1,)),
    "reshape to floats": lambda lax, x: lax.reshape(x, (2.0, 3)),
    "reshape to a string": lambda lax, x: lax.reshape(x, "a"),
    "reshape by other dimensions": lambda lax, x: lax.reshape(x, (6,), (0, 0)),
    "collapse backwards": lambda lax, x: lax.collapse(x, 2, 1),
    "expand_dims twice": lambda lax, x: lax.expand_dims(x, (0, 0)),
    "expand_dims twice, once from the end": lambda lax, x: lax.expand_dims(x, (0, -4)),
    "expand_dims out of range": lambda lax, x: lax.expand_dims(x, (9,)),
    "squeeze an axis of another size": lambda lax, x: lax.squeeze(x, (0,)),
    "squeeze out of range": lambda lax, x: lax.squeeze(x, (5,)),
    "squeeze twice": lambda lax, x: lax.squeeze(lax.expand_dims(x, (0,)), (0, -3)),
    "transpose by too few": lambda lax, x: lax.transpose(x, (0,)),
    "transpose twice by one": lambda lax, x: lax.transpose(x, (0, 0)),
    "transpose by a number": lambda lax, x: lax.transpose(x, 3),
    "rev out of range": lambda lax, x: lax.rev(x, (2,)),
    "rev of a negative axis": lambda lax, x: lax.rev(x, (-1,)),
    "rev twice": lambda lax, x: lax.rev(x, (0, 0)),
    "rev of a float": lambda lax, x: lax.rev(x, (0.5,)),
}


@pytest.mark.parametrize("program", BAD_SHAPINGS.values(), ids=BAD_SHAPINGS)
def test_shapings_that_do_not_fit_are_refused(program):
    assert_same_error(program, array(2, 3))


def test_reshape_to_another_number_of_elements_is_refused_while_tracing():
    # JAX traces this, and fails in MLIR's verifier when it lowers.
    with pytest.raises(
        TypeError, match=r"reshape total size must be unchanged, got new_sizes=\(5,\) for shape \(2, 3\)"
    ):
        jitkit.make_jaxpr(lambda x: jitkit.lax.reshape(x, (5,)))(array(2, 3))


def test_a_traced_shape_is_refused_and_the_way_out_is_named():
    with pytest.raises(TypeError, match="Shapes must be 1D sequences of concrete values of integer type") as info:
        jitkit.jit(lambda n: jitkit.lax.full((n,), 1.0))(3)
    assert "static_argnums" in str(info.value)


# --- joining -------------------------------------------------------------------------------------------------

JOININGS = {
    "concatenate": lambda lax, x: [lax.concatenate([x, x], 0), lax.concatenate((x, x, x), 1)],
    "concatenate one": lambda lax, x: lax.concatenate([x], 0),
    "concatenate different sizes": lambda lax, x: lax.concatenate([x, lax.broadcast(np.float32(1), (2, 0))], 1),
    "concatenate more than sixteen": lambda lax, x: lax.concatenate([x] * 40, 1),
    "stack": lambda lax, x: [lax.stack([x, x]), lax.stack([x, x], 1), lax.stack([x], axis=-1)],
    "stack scalars": lambda lax, x: [lax.stack([1.0, 2.0]), lax.stack([np.float32(1), 2.0])],
    "unstack": lambda lax, x: [*lax.unstack(x), *lax.unstack(x, 1), *lax.unstack(x, axis=-1)],
    "split": lambda lax, x: [*lax.split(x, (1, 2), 1), *lax.split(x, [1, 1]), *lax.split(x, (0, 3, 0), -1)],
    "tile": lambda lax, x: [lax.tile(x, (2, 3)), lax.tile(x, [1, 1]), lax.tile(x, (0, 2)), lax.tile(1.5, ())],
    "pad": lambda lax, x: lax.pad(x, 1.0, [(1, 2, 0), (0, 0, 2)]),
    "pad by lists": lambda lax, x: lax.pad(x, np.float32(1), ((0, 0, 0), (3, 0, 1))),
    "pad by negative numbers": lambda lax, x: lax.pad(x, 0.0, [(-1, 0, 0), (1, -2, 0)]),
    "pad away everything": lambda lax, x: lax.pad(x, 0.0, [(0, 0, 0), (-3, 0, 0)]),
    "pad by nothing": lambda lax, x: lax.pad(x, 0.0, [(0, 0, 0)] * 2),
    "pad a scalar": lambda lax, x: lax.pad(1.5, 2.5, ()),
}


@pytest.mark.parametrize("program", JOININGS.values(), ids=JOININGS)
def test_joinings_agree(program):
    assert_same(program, array(2, 3))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "bfloat16", "complex64"])
def test_joinings_agree_for_other_dtypes(dtype):
    x = array(2, 3, dtype=dtype)

    def program(lax, x):
        padded = lax.pad(x, x.dtype.type(1), [(1, 0, 1), (0, 1, 0)])
        return [lax.concatenate([x, x], 1), lax.stack([x, x]), *lax.split(x, (1, 1)), *lax.unstack(x), padded]

    assert_same(program, x, eager=False)


def test_joinings_of_empty_arrays_agree():
    x = array(0, 3)
    assert_same(
        lambda lax, x: [lax.concatenate([x, x], 0), lax.stack([x, x]), lax.tile(x, (2, 2)), *lax.unstack(x, 0)], x
    )
    assert_same(lambda lax, x: [lax.pad(x, 1.0, [(2, 0, 5), (0, 0, 0)]), *lax.split(x, (0, 0), 0)], x)


BAD_JOININGS = {
    "concatenate nothing": lambda lax, x: lax.concatenate([], 0),
    "concatenate different ranks": lambda lax, x: lax.concatenate([x, np.ones(3, np.float32)], 0),
    "concatenate different dtypes": lambda lax, x: lax.concatenate([x, np.ones((2, 3), np.int32)], 0),
    "concatenate out of range": lambda lax, x: lax.concatenate([x, x], 2),
    "concatenate along a negative axis": lambda lax, x: lax.concatenate([x, x], -1),
    "concatenate different sizes": lambda lax, x: lax.concatenate([x, np.ones((2, 2), np.float32)], 0),
    "stack different ranks": lambda lax, x: lax.stack([x, np.ones(3, np.float32)]),
    "stack different shapes": lambda lax, x: lax.stack([x, np.ones((2, 2), np.float32)]),
    "stack different dtypes": lambda lax, x: lax.stack([x, np.ones((2, 3), np.int32)]),
    "stack out of range": lambda lax, x: lax.stack([x, x], 5),
    "unstack a scalar": lambda lax, x: lax.unstack(1.0),
    "split into too little": lambda lax, x: lax.split(x, (1,), 0),
    "split out of range": lambda lax, x: lax.split(x, (1, 1), 5),
    "split into less than nothing": lambda lax, x: lax.split(x, (3, -1), 0),
    "tile by too few": lambda lax, x: lax.tile(x, (1,)),
    "pad with another dtype": lambda lax, x: lax.pad(x, 1, [(0, 0, 0)] * 2),
    "pad with an array": lambda lax, x: lax.pad(x, x, [(0, 0, 0)] * 2),
    "pad too few axes": lambda lax, x: lax.pad(x, 1.0, [(0, 0, 0)]),
    "pad by less than nothing in between": lambda lax, x: lax.pad(x, 1.0, [(0, 0, -1), (0, 0, 0)]),
    "pad below zero": lambda lax, x: lax.pad(x, 1.0, [(-3, 0, 0), (0, 0, 0)]),
}


@pytest.mark.parametrize("program", BAD_JOININGS.values(), ids=BAD_JOININGS)
def test_joinings_that_do_not_fit_are_refused(program):
    assert_same_error(program, array(2, 3))


# --- creation ------------------------------------------------------------------------------------------------

CREATIONS = {
    "iota": lambda lax: [lax.iota(dtype_of(name), 4) for name in ALL_DTYPES if name != "bool"],
    "iota of Python types": lambda lax: [lax.iota(int, 3), lax.iota(float, 3), lax.iota(complex, 0)],
    "broadcasted_iota": lambda lax: [lax.broadcasted_iota(np.int8, (2, 3), axis) for axis in (0, 1)],
    "full": lambda lax: [lax.full((2, 3), 1), lax.full((), 2.5), lax.full(3, True), lax.full((0,), 1j)],
    "full of a dtype": lambda lax: [lax.full((2,), 1, dtype_of(name)) for name in ALL_DTYPES],
    "full of numpy scalars": lambda lax: [lax.full((2,), np.float32(1)), lax.full((2,), np.array(2, np.int8))],
    "full of nan and inf": lambda lax: [lax.full((2,), float("nan")), lax.full((2,), -np.inf, np.float16)],
    "full_like": lambda lax: [lax.full_like(np.ones((2, 3), np.int8), 2), lax.full_like(1.0, 2), lax.full_like(True, 0)],
    "full_like of a dtype": lambda lax: lax.full_like(np.ones((2, 3), np.int8), 2, np.float32),
    "full_like of a shape": lambda lax: [lax.full_like(np.ones(3, np.int8), 2, shape=(2, 2)), lax.full_like(2, 1, shape=(1,))],
    "empty": lambda lax: lax.empty((2, 3), np.dtype("float32")),
    "shape_as_value": lambda lax: lax.full((2,), 1.0) if lax.shape_as_value((2, 3)).tolist() == [2, 3] else None,
}  # fmt: skip


@pytest.mark.parametrize("program", CREATIONS.values(), ids=CREATIONS)
def test_creations_agree(program):
    assert_same(program)


def test_full_like_takes_the_weak_type_of_tracers():
    assert_same(
        lambda lax, x, y: [lax.full_like(x, 2), lax.full_like(y, 2.7), lax.full_like(x, 1.5, np.float16)],
        3.0,
        np.int32([1]),
    )


def test_wide_dtypes_are_narrowed_and_kept_in_x64_mode():
    def program(lax):
        return [lax.iota(np.int64, 2), lax.full((2,), 1.0, np.float64), lax.full((2,), 1)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(program)
    with x64():
        assert_same(program)


def test_the_shape_of_nothing_as_a_value_is_an_empty_vector():
    assert_same(lambda lax: lax.shape_as_value(()))


BAD_CREATIONS = {
    "iota of bools": lambda lax: lax.iota(bool, 3),
    "iota of a fractional size": lambda lax: lax.iota(np.float32, 3.0),
    "iota of no dtype": lambda lax: lax.iota(None, 2),
    "iota along an axis out of range": lambda lax: lax.broadcasted_iota(int, (2,), 1),
    "iota of a negative size": lambda lax: lax.iota(int, -2),
    "full of an array": lambda lax: lax.full((2,), np.ones(2)),
    "full of a negative size": lambda lax: lax.full((-2,), 1.0),
    "full of a string": lambda lax: lax.full((2,), "a"),
    "full_like of a string": lambda lax: lax.full_like("a", 1),
}


@pytest.mark.parametrize("program", BAD_CREATIONS.values(), ids=BAD_CREATIONS)
def test_creations_that_make_no_sense_are_refused(program):
    assert_same_error(program)


# --- order ---------------------------------------------------------------------------------------------------


def test_barriers_keep_values_and_trees():
    x = array(2, 3)
    assert_same(lambda lax, x: lax.optimization_barrier([x, lax.sin(x)]), x)
    assert_same(lambda lax, x: lax.optimization_barrier(x), x)
    assert jitkit.lax.optimization_barrier({"a": None}) == {"a": None}


def test_a_barrier_is_in_the_program_that_is_compiled():
    text = jitkit.jit(jitkit.lax.optimization_barrier).lower((array(2), array(3))).as_text()
    assert text.count("stablehlo.optimization_barrier") == 1


def test_tokens_are_traced_and_lowered():
    def program(lax, x):
        lax.after_all(lax.create_token(), lax.create_token(x))
        return x

    assert_same(program, array(2), eager=False)


def test_only_tokens_are_waited_for():
    assert_same_error(lambda lax, x: lax.after_all(x), array(2))


def test_a_copy_is_an_array_of_its_own():
    x = jitkit.lax.sin(array(3))
    before = np.array(x)
    y = jitkit.lax.copy(x)
    x.delete()
    assert_same_values(y, before)
