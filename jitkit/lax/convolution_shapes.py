"""Determines which axis of a convolution is which, and the shape of its result.

JAX: jax/_src/lax/convolution.py:conv_dimension_numbers
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base import edits
from ..core import ShapedArray

Shape = tuple[int, ...]


class ConvDimensionNumbers(NamedTuple):
    """Where the axes of a convolution are.

    lhs_spec: batch, feature, and spatial axes of the input.
    rhs_spec: output feature, input feature, and spatial axes of the kernel.
    out_spec: batch, feature, and spatial axes of the output.
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


ConvGeneralDilatedDimensionNumbers = None | ConvDimensionNumbers | tuple[str, str, str]  # what users pass


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """Return a user's dimension numbers as ConvDimensionNumbers.

    Args:
      dimension_numbers: ConvDimensionNumbers, which are returned unchecked; None for batch, feature, spatial axes in this order; or three
        strings such as ("NHWC", "HWIO", "NHWC"), with N (batch), C (feature), O and I (output and input feature of the
        kernel), and any letters for spatial axes.

    Raises:
      TypeError: for anything else, or for different ranks of input and kernel.
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    rank = len(lhs_shape)
    if rank != len(rhs_shape):
        raise TypeError(f"convolution requires lhs and rhs ndim to be equal, got {rank} and {len(rhs_shape)}.")
    if dimension_numbers is None:
        in_order = tuple(range(rank))
        return ConvDimensionNumbers(in_order, in_order, in_order)
    if not isinstance(dimension_numbers, (list, tuple)):
        raise TypeError(f"convolution dimension_numbers must be tuple/list or None, got {type(dimension_numbers)}.")
    if len(dimension_numbers) != 3:
        raise TypeError(f"convolution dimension_numbers list/tuple must be length 3, got {len(dimension_numbers)}.")
    if not all(isinstance(spec, str) for spec in dimension_numbers):
        raise TypeError(
            f"convolution dimension_numbers elements must be strings, got {tuple(map(type, dimension_numbers))}."
        )
    for i, spec in enumerate(dimension_numbers):
        if len(spec) != rank:
            raise TypeError(
                f"convolution dimension_numbers[{i}] must have len equal to the ndim of lhs and rhs, "
                f"got {len(spec)} for lhs and rhs shapes {lhs_shape} and {rhs_shape}."
            )
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[Shape, Shape, Shape]:
    """Return the axes that three strings name: two special letters first, then the spatial ones in the kernel's order.
    Raise TypeError if a string lacks a special letter, repeats a letter, or has other spatial letters.
    """
    pairs = ("N", "C"), ("O", "I"), ("N", "C")
    for i, (spec, (a, b)) in enumerate(zip(dimension_numbers, pairs, strict=True)):
        if not spec.count(a) == spec.count(b) == 1:
            raise TypeError(
                f"convolution dimension_numbers[{i}] must contain the characters '{a}' and '{b}' exactly once, got {spec}."
            )
        if len(spec) != len(set(spec)):
            raise TypeError(f"convolution dimension_numbers[{i}] cannot have duplicate characters, got {spec}.")
    spatial = [set(spec) - set(pair) for spec, pair in zip(dimension_numbers, pairs, strict=True)]
    if not spatial[0] == spatial[1] == spatial[2]:
        raise TypeError(
            f"convolution dimension_numbers elements must each have the same set of spatial characters, got {dimension_numbers}."
        )
    order = [letter for letter in dimension_numbers[1] if letter in spatial[1]]
    lhs, rhs, out = (
        tuple(map(spec.index, (*pair, *order))) for spec, pair in zip(dimension_numbers, pairs, strict=True)
    )
    return lhs, rhs, out


def check_groups(
    lhs: ShapedArray, rhs: ShapedArray, dnums: ConvDimensionNumbers, feature_groups: int, batch_groups: int
) -> None:
    """Raise ValueError unless the kernel has as many axes as the input and the features of one group, one of the
    numbers of groups is 1, and they divide the features and the batch.
    """
    if lhs.ndim != rhs.ndim:
        raise ValueError(
            "conv_general_dilated lhs and rhs must have the same number of dimensions, "
            f"but got {lhs.shape} and {rhs.shape}."
        )
    if feature_groups <= 0:
        raise ValueError(f"conv_general_dilated feature_group_count must be a positive integer, got {feature_groups}.")
    batch, features = lhs.shape[dnums.lhs_spec[0]], lhs.shape[dnums.lhs_spec[1]]
    out_features, in_features = rhs.shape[dnums.rhs_spec[0]], rhs.shape[dnums.rhs_spec[1]]
    if features % feature_groups:
        raise ValueError(
            "conv_general_dilated feature_group_count must divide lhs feature dimension size, "
            f"but {feature_groups} does not divide {features}."
        )
    if features // feature_groups != in_features:
        raise ValueError(
            "conv_general_dilated lhs feature dimension size divided by feature_group_count must equal the rhs input "
            f"feature dimension size, but {features} // {feature_groups} != {in_features}.{edits.FEATURES}"
        )
    if out_features % feature_groups:
        raise ValueError(
            "conv_general_dilated rhs output feature dimension size must be a multiple of feature_group_count, "
            f"but {out_features} is not a multiple of {feature_groups}."
        )
    if batch_groups <= 0:
        raise ValueError(f"conv_general_dilated batch_group_count must be a positive integer, got {batch_groups}.")
    if batch % batch_groups:
        raise ValueError(
            "conv_general_dilated batch_group_count must divide lhs batch dimension size, "
            f"but {batch_groups} does not divide {batch}."
        )
    if out_features % batch_groups:
        raise ValueError(
            "conv_general_dilated rhs output feature dimension size must be a multiple of batch_group_count, "
            f"but {out_features} is not a multiple of {batch_groups}."
        )
    if batch_groups > 1 and feature_groups > 1:
        raise ValueError(
            "At most one of batch_group_count and feature_group_count may be > 1, "
            f"got batch_group_count={batch_groups} and feature_group_count={feature_groups}"
        )


# --- padding ------------------------------------------------------------------------------------------------


class PaddingType(enum.Enum):
    """How much zero padding a window gets.

    VALID: none, so the window stays inside. SAME: as much as is needed for ceil(size / stride) positions; if it cannot be
    halved, the larger half comes after. SAME_LOWER: the larger half comes before.
    """

    VALID = 1
    SAME = 2
    SAME_LOWER = 3


def padtype_to_pads(
    in_shape: Any, window_shape: Any, window_strides: Any, padding: str | PaddingType
) -> list[tuple[int, int]]:
    """Return the padding (before, after) of each axis for a named padding. Raise RuntimeError for an unknown name,
    TypeError for anything but a name or a PaddingType.
    """
    if isinstance(padding, str):
        if padding.upper() not in PaddingType.__members__:
            raise RuntimeError(f"Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', got {padding}.")
        padding = PaddingType[padding.upper()]
    if padding is PaddingType.VALID:
        return [(0, 0)] * len(in_shape)
    if not isinstance(padding, PaddingType):
        raise TypeError(f"Unknown padding type: {padding}.")
    positions = -np.floor_divide(np.negative(in_shape), window_strides)
    pads = np.maximum((positions - 1) * np.array(window_strides) + np.array(window_shape) - np.array(in_shape), 0)
    halves = [(pad // 2, pad - pad // 2) for pad in pads.tolist()]
    return halves if padding is PaddingType.SAME else [(after, before) for before, after in halves]


# --- sizes --------------------------------------------------------------------------------------------------


def dilate(size: int, dilation: int) -> int:
    """Return the size of an axis with `dilation - 1` holes between neighbours."""
    return size if dilation == 1 else max(1 + dilation * (size - 1), 0)


def dilate_shape(shape: Sequence[int], dilation: Sequence[int]) -> Shape:
    """Return a shape with its last axes dilated. Raise TypeError for a dilation that is not positive."""
    if not np.all(np.greater(dilation, 0)):
        raise TypeError(f"All dilations must be positive, got {dilation}.")
    factors = (1,) * (len(shape) - len(dilation)) + tuple(dilation)
    return tuple(map(dilate, shape, factors))


def conv_shape_tuple(
    lhs_shape: Shape,
    rhs_shape: Shape,
    strides: Sequence[int],
    pads: str | Sequence[tuple[int, int]],
    batch_group_count: int = 1,
) -> Shape:
    """Return the shape of a convolution with axes in the order batch, feature, spatial. Raise TypeError for another
    number of padding pairs, ValueError where negative padding is larger than the axis.
    """
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    if len(pads) != len(lhs_shape) - 2:
        raise TypeError(
            f"Wrong number of explicit pads for convolution: expected {len(lhs_shape) - 2}, got {len(pads)}."
        )
    padded = [size + before + after for size, (before, after) in zip(lhs_shape[2:], pads, strict=True)]
    if any(size < 0 for size in padded):
        raise ValueError(
            "Negative padding is larger than the size of the corresponding dimension: "
            f"got padding={pads} for lhs_shape[2:]={lhs_shape[2:]}"
        )
    positions = [
        max((size - window) // stride + 1, 0)
        for size, window, stride in zip(padded, rhs_shape[2:], strides, strict=True)
    ]
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *positions)


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: Sequence[str],
) -> Shape:
    """Return the shape of a convolution whose axes are named by three strings."""
    lhs, rhs, order = _in_order(lhs_shape, rhs_shape, dimension_numbers)
    return tuple(np.take(conv_shape_tuple(lhs, rhs, window_strides, padding), order))


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: Sequence[str],
) -> Shape:
    """Return the shape of a transposed convolution whose axes are named by three strings."""
    lhs, rhs, order = _in_order(lhs_shape, rhs_shape, dimension_numbers)
    if isinstance(padding, str):
        padding = [transposed_padding(k, s, padding) for k, s in zip(rhs[2:], window_strides, strict=False)]
    sizes = [
        (size - 1) * stride - window + 2 + sum(pads)
        for size, window, stride, pads in zip(lhs[2:], rhs[2:], window_strides, padding, strict=True)
    ]
    return tuple(np.take((lhs[0], rhs[0], *map(int, sizes)), order))


def _in_order(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Sequence[str]
) -> tuple[Shape, Shape, Any]:
    """Return both shapes with their spatial axes last, and the permutation from this order to the result's."""
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    return tuple(np.take(lhs_shape, lhs)), tuple(np.take(rhs_shape, rhs)), np.argsort(out)


def transposed_padding(window: int, stride: int, padding: str | tuple[int, int]) -> tuple[int, int]:
    """Return the padding (before, after) of the dilated input of a transposed convolution, from the convolution's: a
    tuple of two, "SAME" or "VALID". With it the result has the size of the convolution's input. Raise ValueError for
    anything else.
    """
    if isinstance(padding, tuple):
        before, after = (window - 1 - part for part in padding)
        return before, after
    if padding == "SAME":
        total = window + stride - 2
        before = window - 1 if stride > window - 1 else -(-total // 2)
    elif padding == "VALID":
        total = window + stride - 2 + max(window - stride, 0)
        before = window - 1
    else:
        raise ValueError(f"Invalid padding mode: {padding}")
    return before, total - before
