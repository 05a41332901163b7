"""Differentiates convolutions: the transposes are convolutions again.

With respect to the input, the transpose convolves the cotangent with the flipped kernel, with strides and the input's
dilation swapped. With respect to the kernel, it convolves the input with the cotangent, with strides and the kernel's
dilation swapped, and batch and features swapped.

JAX: jax/_src/lax/convolution.py:_conv_general_dilated_transpose_lhs
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..interpreters.ad_rules import Zero, defbilinear
from .convert import convert_element_type
from .convolution import conv_general_dilated, conv_general_dilated_p, split_axis
from .convolution_shapes import ConvDimensionNumbers
from .shaping import reshape, rev

Pads = list[tuple[int, int]]


def _swap(spec: Sequence[int]) -> tuple[int, ...]:
    return (spec[1], spec[0], *spec[2:])


def _dilated(shape: Sequence[int], spec: Sequence[int], dilation: Sequence[int]) -> list[int]:
    """Return the sizes of the spatial axes, with `step - 1` holes between neighbours."""
    sizes = [shape[axis] for axis in spec[2:]]
    return [1 + (n - 1) * step if n else 0 for n, step in zip(sizes, dilation, strict=True)]


def _merge_axis(x: Any, source: int, target: int) -> Any:
    """Return x with the axis `source` merged into the axis `target`, which is counted without `source`."""
    order = [i for i in range(x.ndim) if i != source]
    shape = [x.shape[i] for i in order]
    shape[target] *= x.shape[source]
    order.insert(target, source)
    return reshape(x, shape, order)


def _transpose_lhs(
    ct: Any,
    lhs: Any,
    rhs: Any,
    *,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **params: Any,
) -> Any:
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    groups = feature_group_count if feature_group_count > 1 else batch_group_count
    window = _dilated(rhs.shape, rhs_spec, rhs_dilation)
    image = _dilated(lhs.aval.shape, lhs_spec, lhs_dilation)
    result = _dilated(ct.shape, out_spec, window_strides)
    pads: Pads = []
    for size, total, made, (low, _) in zip(window, image, result, padding, strict=True):
        before = size - low - 1
        pads.append((before, total + size - 1 - made - before))
    if groups > 1:
        rhs = _merge_axis(split_axis(rhs, rhs_spec[0], groups), rhs_spec[0], rhs_spec[1])
    kernel = rev(rhs, rhs_spec[2:])
    if ct.dtype != kernel.dtype:
        kernel = convert_element_type(kernel, ct.dtype)
    out = conv_general_dilated(
        ct,
        kernel,
        window_strides=lhs_dilation,
        padding=pads,
        lhs_dilation=window_strides,
        rhs_dilation=rhs_dilation,
        dimension_numbers=ConvDimensionNumbers(out_spec, _swap(rhs_spec), lhs_spec),
        feature_group_count=groups,
        batch_group_count=1,
        precision=params["precision"],
        preferred_element_type=params["preferred_element_type"],
    )
    if out.dtype != lhs.aval.dtype:
        out = convert_element_type(out, lhs.aval.dtype)
    if batch_group_count > 1:
        out = _merge_axis(split_axis(out, lhs_spec[1], batch_group_count), lhs_spec[1], lhs_spec[0])
    return out


def _transpose_rhs(
    ct: Any,
    lhs: Any,
    rhs: Any,
    *,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **params: Any,
) -> Any:
    if np.size(ct) == 0:
        return Zero(rhs.aval)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    window = _dilated(rhs.aval.shape, rhs_spec, rhs_dilation)
    image = _dilated(lhs.shape, lhs_spec, lhs_dilation)
    result = _dilated(ct.shape, out_spec, window_strides)
    pads = [
        (low, made - total + size - low - 1)
        for size, total, made, (low, _) in zip(window, image, result, padding, strict=True)
    ]
    by_batch = batch_group_count > 1
    if ct.dtype != lhs.dtype:
        lhs = convert_element_type(lhs, ct.dtype)
    out = conv_general_dilated(
        lhs,
        ct,
        window_strides=rhs_dilation,
        padding=pads,
        lhs_dilation=lhs_dilation,
        rhs_dilation=window_strides,
        dimension_numbers=ConvDimensionNumbers(*map(_swap, (lhs_spec, out_spec, rhs_spec))),
        feature_group_count=batch_group_count if by_batch else 1,
        batch_group_count=1 if by_batch else feature_group_count,
        precision=params["precision"],
        preferred_element_type=params["preferred_element_type"],
    )
    return out if out.dtype == rhs.aval.dtype else convert_element_type(out, rhs.aval.dtype)


defbilinear(conv_general_dilated_p, _transpose_lhs, _transpose_rhs)
