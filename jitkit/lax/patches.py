"""Extracts the window at each position as features, and convolves with a different kernel at each position.

JAX: jax/_src/lax/other.py:conv_general_dilated_patches
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .convert import asarray, convert_element_type
from .convolution import conv_general_dilated
from .convolution_shapes import conv_dimension_numbers
from .creation import broadcasted_iota
from .dot_products import dot_general
from .elementwise import add, eq
from .precision import Precision, canonicalize_precision
from .shaping import broadcast_in_dim, reshape, transpose


def _moved(x: Any, sources: Sequence[int], destinations: Sequence[int]) -> Any:
    """Return x with axes moved from `sources` to `destinations`, by one transposition."""
    sources = [axis % x.ndim for axis in sources]
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for destination, source in sorted(zip(destinations, sources, strict=True)):
        order.insert(destination, source)
    return transpose(x, order) if order != [*range(x.ndim)] else x


def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Return, for each position, the window there as features: one for each pair of a feature of `lhs` and an element of the
    window.

    It is a convolution with one kernel for each element of the window, 1 there and 0 elsewhere. It takes the arguments of
    `conv_general_dilated`, with the window's spatial shape in place of the kernel.
    """
    lhs, window = asarray(lhs), tuple(filter_shape)
    numbers = conv_dimension_numbers(lhs.shape, (1, 1, *window), dimension_numbers)
    size, features = math.prod(window), lhs.shape[numbers.lhs_spec[1]]
    # + 0 as in JAX, whose identity matrix has an offset, here 0, and adds it
    rows = add(broadcasted_iota(np.int32, (size, size), 0), np.int32(0))
    ones = convert_element_type(eq(rows, broadcasted_iota(np.int32, (size, size), 1)), lhs.dtype)
    kernels = reshape(broadcast_in_dim(ones, (features, size, size), (1, 2)), (features * size, 1, *window))
    return conv_general_dilated(
        lhs,
        _moved(kernels, (0, 1), numbers.rhs_spec[:2]),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        features,
        precision=None if precision is None else (precision, Precision.DEFAULT),
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_local(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
) -> Any:
    """Return the convolution of `lhs` with a kernel of its own at each position ("locally connected").

    Args:
      rhs: the kernels. It has an axis for the features of the result, one for the features of the patches (see
        `conv_general_dilated_patches`), and an axis for each axis of positions, in the place of the window's axes.

    Raises:
      ValueError: for a precision that is not one for both operands or a pair.
    """
    lhs, both = asarray(lhs), canonicalize_precision(precision)
    if both is not None and not (isinstance(both, tuple) and len(both) == 2):
        raise ValueError(f"Unsupported precision for conv_general_dilated_local: {precision}")
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        dimension_numbers,
        None if both is None else both[0],
    )
    numbers = conv_dimension_numbers(lhs.shape, (1, 1, *filter_shape), dimension_numbers)
    out, kernel = numbers.out_spec, numbers.rhs_spec
    positions = sorted(zip(out[2:], kernel[2:], strict=True))
    batch = [place for place, _ in positions], [place for _, place in positions]
    result = dot_general(patches, rhs, (((out[1],), (kernel[1],)), batch), precision=precision)
    return _moved(result, (-2, -1), out[:2])
