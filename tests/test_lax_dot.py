"""Dot products and convolutions of `jitkit.lax` against those of `jax.lax`."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from lax_oracle import DTYPES, EACH_DTYPE, accepted_by_jax, assert_same, assert_same_error, dtype_of, error_of
from tails import some_of

import jitkit
from jitkit import lax
from jitkit.base import config


def numbers(shape, dtype=np.float32):
    """Return an array of small integers, whose products are exact in every dtype."""
    return np.random.default_rng(0).integers(0, 3, shape).astype(dtype)


# --- dot ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", EACH_DTYPE)
@pytest.mark.parametrize(
    ("lhs", "rhs"), [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((2, 0), (0, 4)), ((0, 3), (3, 2))]
)
def test_products_of_vectors_and_matrices_agree(dtype, lhs, rhs):
    assert_same(
        lambda lax_, x, y: lax_.dot(x, y),
        numbers(lhs, dtype_of(dtype)),
        numbers(rhs, dtype_of(dtype)),
        eager=dtype == "float32",
    )


@pytest.mark.parametrize("lhs", EACH_DTYPE)
def test_operands_of_two_dtypes_give_the_wider_one_or_are_refused(lhs):
    for rhs in some_of(DTYPES):
        args = numbers((2, 3), dtype_of(lhs)), numbers((3, 2), dtype_of(rhs))

        def program(lax_, x, y):
            return lax_.dot(x, y)

        check = assert_same if accepted_by_jax(program, *args) else assert_same_error
        check(program, *args, **({"eager": False} if check is assert_same else {}))


DOTS = {
    "an outer product": ((3,), (4,), (((), ()), ((), ()))),
    "all axes contracted": ((3, 4), (3, 4), (((0, 1), (0, 1)), ((), ()))),
    "axes contracted crosswise": ((3, 4), (4, 3), (((0, 1), (1, 0)), ((), ()))),
    "a batch": ((5, 2, 3), (5, 3, 4), (((2,), (1,)), ((0,), (0,)))),
    "batches at different places": ((2, 5, 3), (3, 4, 5), (((2,), (0,)), ((1,), (2,)))),
    "two batches": ((5, 6, 2, 3), (5, 6, 3, 4), (((3,), (2,)), ((0, 1), (0, 1)))),
    "batches only": ((3, 4), (3, 4), (((), ()), ((0, 1), (0, 1)))),
    "lists and bare axes": ((3, 4), (4, 5), (([1], 0), ([], []))),
    "scalars": ((), (), (((), ()), ((), ()))),
    "an empty contraction": ((2, 0), (0, 3), (((1,), (0,)), ((), ()))),
}


@pytest.mark.parametrize("name", DOTS)
def test_general_products_agree(name):
    lhs, rhs, dims = DOTS[name]
    assert_same(lambda lax_, x, y: lax_.dot_general(x, y, dims), numbers(lhs), numbers(rhs))
    assert_same(lambda lax_, x, y: lax_.dot(x, y, dimension_numbers=dims), numbers(lhs, np.int8), numbers(rhs, np.int8))


DOTS_REFUSED = {
    "a contracting axis out of range": ((3, 4), (4, 5), (((2,), (0,)), ((), ()))),
    "a negative contracting axis": ((3, 4), (4, 5), (((1,), (-2,)), ((), ()))),
    "batches of different numbers": ((3, 4), (3, 4), (((1,), (1,)), ((0,), ()))),
    "a batch axis twice on the left": ((3, 3), (3, 3), (((), ()), ((0, 0), (0, 1)))),
    "a batch axis twice on the right": ((3, 3), (3, 3), (((), ()), ((0, 1), (1, 1)))),
    "a contracting axis twice on the left": ((3, 3), (3, 3), (((0, 0), (0, 1)), ((), ()))),
    "a contracting axis twice on the right": ((3, 3), (3, 3), (((0, 1), (0, 0)), ((), ()))),
    "a left axis in both roles": ((3, 3), (3, 3), (((0,), (0,)), ((0,), (1,)))),
    "a right axis in both roles": ((3, 3), (3, 3), (((0,), (0,)), ((1,), (0,)))),
    "batches of different sizes": ((3, 4), (5, 4), (((1,), (1,)), ((0,), (0,)))),
    "contractions of different sizes": ((3, 4), (5, 4), (((0,), (0,)), ((), ()))),
}


@pytest.mark.parametrize("name", DOTS_REFUSED)
def test_general_products_that_do_not_fit_are_refused(name):
    lhs, rhs, dims = DOTS_REFUSED[name]
    assert_same_error(lambda lax_, x, y: lax_.dot_general(x, y, dims), numbers(lhs), numbers(rhs))


@pytest.mark.parametrize(("lhs", "rhs"), [((2, 3), (2, 3)), ((), (3,)), ((2, 3, 4), (4, 5)), ((3,), (4,))])
def test_simple_products_that_do_not_fit_are_refused(lhs, rhs):
    assert_same_error(lambda lax_, x, y: lax_.dot(x, y), numbers(lhs), numbers(rhs))


@pytest.mark.parametrize("dtype", EACH_DTYPE)
def test_the_sum_has_the_dtype_preferred_or_that_is_refused(dtype):
    args = numbers((2, 3), dtype_of(dtype)), numbers((3, 2), dtype_of(dtype))
    for preferred in some_of(["int32", "bfloat16", "float32", "int8", "complex64"], 2):

        def program(lax_, x, y, preferred=preferred):
            return lax_.dot(x, y, preferred_element_type=preferred)

        if not accepted_by_jax(program, *args):
            assert_same_error(program, *args)
        elif error_of(jax.jit(lambda x, y: program(jax.lax, x, y)), *args) is None:
            assert_same(program, *args, eager=False)


def test_a_product_of_weakly_typed_arrays_is_weak():
    assert_same(lambda lax_, x: lax_.dot(lax_.broadcast(x, (3,)), lax_.broadcast(x, (3,))), 2.0)
    assert_same(lambda lax_, x, y: lax_.dot(lax_.broadcast(x, (3,)), y), 2.0, numbers((3,)))


def test_matrices_are_multiplied_in_batches():
    assert_same(lambda lax_, x, y: lax_.batch_matmul(x, y), numbers((5, 2, 3)), numbers((5, 3, 4)))
    assert_same(lambda lax_, x, y: lax_.batch_matmul(x, y, precision="highest"), numbers((2, 3)), numbers((3, 4)))
    assert_same_error(lambda lax_, x, y: lax_.batch_matmul(x, y), numbers((3,)), numbers((3, 4)))
    assert_same_error(lambda lax_, x, y: lax_.batch_matmul(x, y), numbers((5, 2, 3)), numbers((3, 4)))


# --- precision ----------------------------------------------------------------------------------------------

PRECISIONS = {
    "a name": lambda lax_: "highest",
    "another name": lambda lax_: "bfloat16_3x",
    "a value": lambda lax_: lax_.Precision.HIGH,
    "a pair of names": lambda lax_: ("default", "tensorfloat32"),
    "a pair of values": lambda lax_: (lax_.Precision.HIGHEST, lax_.Precision.DEFAULT),
    "the name of an algorithm": lambda lax_: "F32_F32_F32",
    "an algorithm": lambda lax_: lax_.DotAlgorithmPreset.BF16_BF16_F32,
    "the default algorithm": lambda lax_: lax_.DotAlgorithmPreset.DEFAULT,
}


@pytest.mark.parametrize("name", PRECISIONS)
def test_precisions_are_recorded_and_obeyed(name):
    assert_same(lambda lax_, x, y: lax_.dot(x, y, precision=PRECISIONS[name](lax_)), numbers((2, 3)), numbers((3, 2)))


@pytest.mark.parametrize("precision", ["best", 3, ("high",), ("high", "best"), ("high", "low", "high")])
def test_an_unknown_precision_is_refused(precision):
    assert_same_error(lambda lax_, x, y: lax_.dot(x, y, precision=precision), numbers((2, 3)), numbers((3, 2)))


@pytest.mark.parametrize("default", ["float32", "high", "BF16_BF16_F32"])
def test_the_option_sets_the_precision_of_products_without_one(default):
    with jax.default_matmul_precision(default), config.override(default_matmul_precision=default):
        assert_same(
            lambda lax_, x, y: [lax_.dot(x, y), lax_.dot(x, y, precision="default")], numbers((2, 3)), numbers((3, 2))
        )


@pytest.mark.parametrize("name", ["TF32_TF32_F32", "ANY_F8_ANY_F8_F32"])
def test_an_algorithm_that_the_target_lacks_is_refused_when_it_is_compiled(name):
    args = numbers((2, 3)), numbers((3, 2))
    expected = error_of(jax.jit(lambda x, y: jax.lax.dot(x, y, precision=name)), *args)
    assert expected.startswith("ValueError")
    assert error_of(jitkit.jit(lambda x, y: lax.dot(x, y, precision=name)), *args) == expected


def test_precisions_have_names_and_print_as_in_jax():
    for name in ("HIGHEST", "HIGH", "DEFAULT"):
        ours, theirs = lax.Precision[name], jax.lax.Precision[name]
        assert (repr(ours), str(ours), ours.value) == (repr(theirs), str(theirs), theirs.value)
    assert lax.Precision("fastest") is lax.Precision.DEFAULT
    assert [p.name for p in lax.DotAlgorithmPreset] == [p.name for p in jax.lax.DotAlgorithmPreset]


# --- convolutions -------------------------------------------------------------------------------------------

IMAGES, KERNEL = (2, 3, 8, 7), (4, 3, 3, 2)
CONVOLUTIONS = {
    "plain": lambda lax_, x, k: lax_.conv(x, k, (1, 1), "VALID"),
    "padded": lambda lax_, x, k: lax_.conv(x, k, (2, 1), "SAME"),
    "padded below": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (2, 3), "SAME_LOWER"),
    "padded by hand": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 2), [(1, 2), (0, -1)]),
    "an input with holes": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), [(1, 1), (0, 0)], lhs_dilation=(2, 3)),
    "a kernel with holes": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), "SAME", rhs_dilation=(2, 3)),
    "general padding": lambda lax_, x, k: lax_.conv_with_general_padding(x, k, (1, 1), [(1, 1), (1, 1)], (1, 2), (2, 1)),
    "precise": lambda lax_, x, k: lax_.conv(x, k, (1, 1), "VALID", precision="highest", preferred_element_type=np.float32),
    "given by strings": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), "same", dimension_numbers=("NCHW", "OIHW", "NHWC")),
    "spatial axes in another order": lambda lax_, x, k: lax_.conv_general_dilated(
        x, k, (1, 2), "SAME", dimension_numbers=("NCHW", "OIWH", "NCHW")),
    "given by numbers": lambda lax_, x, k: lax_.conv_general_dilated(
        x, k, (1, 1), "VALID", dimension_numbers=lax_.ConvDimensionNumbers((0, 1, 2, 3), (0, 1, 2, 3), (1, 0, 3, 2))),
}  # fmt: skip


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_of_images_agree(name):
    assert_same(CONVOLUTIONS[name], numbers(IMAGES), numbers(KERNEL))


GROUPED = {
    "two groups of features": ((2, 4, 6, 6), (8, 2, 3, 3), {"feature_group_count": 2}),
    "each feature alone": ((2, 4, 6, 6), (4, 1, 3, 3), {"feature_group_count": 4}),
    "two groups of the batch": ((4, 3, 6, 6), (6, 3, 3, 3), {"batch_group_count": 2}),
}


@pytest.mark.parametrize("name", GROUPED)
def test_grouped_convolutions_agree(name):
    lhs, rhs, groups = GROUPED[name]
    assert_same(
        lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), "SAME", **groups), numbers(lhs), numbers(rhs)
    )


@pytest.mark.parametrize(
    ("lhs", "rhs", "strides"),
    [
        ((2, 3, 9), (4, 3, 3), (2,)),
        ((2, 3), (4, 3), ()),
        ((1, 2, 4, 4, 4), (3, 2, 2, 2, 2), (1, 2, 1)),
        ((0, 3, 5), (4, 3, 2), (1,)),
        ((2, 3, 1), (4, 3, 5), (1,)),
    ],
)
def test_convolutions_have_any_number_of_spatial_axes(lhs, rhs, strides):
    assert_same(lambda lax_, x, k: lax_.conv_general_dilated(x, k, strides, "VALID"), numbers(lhs), numbers(rhs))


@pytest.mark.parametrize("dtype", ["int8", "int32", "float16", "bfloat16", "complex64"])
def test_convolutions_agree_in_each_dtype(dtype):
    x, k = numbers((1, 2, 6), dtype_of(dtype)), numbers((3, 2, 3), dtype_of(dtype))
    if dtype == "complex64":
        x, k = x + 1j * x[:, ::-1], k - 2j * k[::-1]
    assert_same(
        lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1,), "SAME"),
        x.astype(dtype_of(dtype)),
        k.astype(dtype_of(dtype)),
    )


TRANSPOSED = {
    "same": lambda lax_, x, k: lax_.conv_transpose(x, k, (2, 2), "SAME"),
    "valid": lambda lax_, x, k: lax_.conv_transpose(x, k, (2, 3), "VALID"),
    "by hand": lambda lax_, x, k: lax_.conv_transpose(x, k, (2, 1), [(1, 2), (0, 1)]),
    "long steps": lambda lax_, x, k: lax_.conv_transpose(x, k, (5, 5), "SAME"),
    "a kernel with holes": lambda lax_, x, k: lax_.conv_transpose(x, k, (2, 2), "SAME", rhs_dilation=(2, 1)),
}


@pytest.mark.parametrize("name", TRANSPOSED)
def test_transposed_convolutions_agree(name):
    assert_same(TRANSPOSED[name], numbers((1, 4, 5, 2)), numbers((3, 2, 2, 3)))


def test_a_transposed_convolution_can_flip_its_kernel():
    assert_same(
        lambda lax_, x, k: lax_.conv_transpose(x, k, (2, 2), "SAME", transpose_kernel=True),
        numbers((1, 4, 5, 3)),
        numbers((3, 2, 2, 3)),
    )


CONVOLUTIONS_REFUSED = {
    "an unknown padding": lambda lax_, x, k: lax_.conv(x, k, (1, 1), "FULL"),
    "a padding that is no pair": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), [1, 1]),
    "too few paddings": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), [(1, 1)]),
    "too few strides": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1,), [(1, 1), (1, 1)]),
    "a name of a padding with holes": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), "SAME", lhs_dilation=(2, 1)),
    "no positive hole": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), "SAME", rhs_dilation=(0, 1)),
    "groups that do not divide": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), "SAME", feature_group_count=2),
    "groups that need fewer features": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), "SAME", feature_group_count=3),
    "no group": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), "SAME", feature_group_count=0),
    "no batch group": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), "SAME", batch_group_count=0),
    "batch groups that do not divide": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), "SAME", batch_group_count=3),
    "other features": lambda lax_, x, k: lax_.conv(x, lax_.slice_in_dim(k, 0, 2, axis=1), (1, 1), "SAME"),
    "other ranks": lambda lax_, x, k: lax_.conv(x, lax_.index_in_dim(k, 0, keepdims=False), (1, 1), "SAME"),
    "other dtypes": lambda lax_, x, k: lax_.conv(x, lax_.convert_element_type(k, np.int32), (1, 1), "SAME"),
    "a narrower sum": lambda lax_, x, k: lax_.conv(x, k, (1, 1), "SAME", preferred_element_type=np.float16),
    "a sum of integers": lambda lax_, x, k: lax_.conv(x, k, (1, 1), "SAME", preferred_element_type=np.int32),
    "a negative padding too large": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), [(-9, 0), (0, 0)]),
    "two strings": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW")),
    "numbers instead of strings": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=(0, 1, 2)),
    "strings too short": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NCH", "OIH", "NCH")),
    "strings without a batch": lambda lax_, x, k: lax_.conv_general_dilated(
        x, k, (1, 1), "SAME", dimension_numbers=("XCHW", "OIHW", "NCHW")),
    "a letter twice": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NCHH", "OIHW", "NCHW")),
    "other letters": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHD", "NCHW")),
    "one string": lambda lax_, x, k: lax_.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers="NCHW"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONVOLUTIONS_REFUSED)
def test_convolutions_that_do_not_fit_are_refused(name):
    assert_same_error(CONVOLUTIONS_REFUSED[name], numbers(IMAGES), numbers(KERNEL))
