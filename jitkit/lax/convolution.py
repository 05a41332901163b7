"""Computes convolutions, as in neural networks (the kernel is not flipped), of any number of spatial axes.

Input and kernel have a feature axis each; the output at a position is the sum over the window and over the input
features. `lhs_dilation` puts holes into the input (a transposed convolution), `rhs_dilation` into the kernel. With
`feature_group_count` the features fall into independent groups, with `batch_group_count` the batch does.

JAX: jax/_src/lax/convolution.py:conv_general_dilated
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import core
from ..core import Primitive, ShapedArray, dtypes
from ..interpreters.batching import AxisData, Dims, Vals, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering
from .convolution_shapes import (
    ConvDimensionNumbers,
    check_groups,
    conv_dimension_numbers,
    conv_shape_tuple,
    dilate,
    dilate_shape,
    padtype_to_pads,
    transposed_padding,
)
from .creation import full
from .elementwise import add, complex, imag, real, sub
from .elementwise_rules import ANY, check_operands
from .precision import canonicalize_precision, precision_pair
from .reducers import inline_function
from .shaping import reshape, rev, transpose
from .utils import check_same_dtypes, is_a, refuse_sharding

conv_general_dilated_p = Primitive("conv_general_dilated")

# --- shape rule ---------------------------------------------------------------------------------------------


@conv_general_dilated_p.def_abstract_eval
def _(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: None,
) -> ShapedArray:
    check_groups(lhs, rhs, dimension_numbers, feature_group_count, batch_group_count)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    if len(rhs_spec) - 2 != len(window_strides):
        raise ValueError(
            "conv_general_dilated window and window_strides must have the same number of dimensions, "
            f"but got {len(rhs_spec) - 2} and {len(window_strides)}"
        )
    lhs_shape = dilate_shape(tuple(np.take(lhs.shape, lhs_spec)), lhs_dilation)
    rhs_shape = dilate_shape(tuple(np.take(rhs.shape, rhs_spec)), rhs_dilation)
    sizes = conv_shape_tuple(lhs_shape, rhs_shape, window_strides, padding, batch_group_count)
    shape = tuple(np.take(sizes, np.argsort(out_spec)))
    check_operands("conv_general_dilated", (ANY, ANY), lhs, rhs)
    check_same_dtypes("conv_general_dilated", lhs, rhs)
    dtype = lhs.dtype
    if preferred_element_type is not None:
        _check_preferred_element_type(dtype, preferred_element_type)
        dtype = preferred_element_type
    return ShapedArray(shape, dtype, lhs.weak_type and rhs.weak_type)


def _check_preferred_element_type(dtype: Any, preferred: Any) -> None:
    if not (is_a(dtype, np.integer) and is_a(preferred, np.floating)):
        if any(
            is_a(dtype, kind) and not is_a(preferred, kind) for kind in (np.integer, np.floating, np.complexfloating)
        ):
            raise TypeError(
                "Input type is incompatible with `preferred_element_type`. The compatible combinations of "
                "(input_type, preferred_element_type) are (integral, integral), (integral, floating), (floating, floating), "
                "(complex, complex."
            )
        if is_a(dtype, np.signedinteger) and not is_a(preferred, np.signedinteger):
            raise TypeError("`preferred_element_type` must have the same signedness as the original type.")
    if np.dtype(preferred).itemsize < np.dtype(dtype).itemsize:
        raise TypeError("`preferred_element_type` must not be narrower than the original type.")


# --- lowering -----------------------------------------------------------------------------------------------


@register_lowering(conv_general_dilated_p)
def _(ctx: LoweringContext, lhs: str, rhs: str, **params: Any) -> str:
    if is_a(ctx.avals_in[0].dtype, np.complexfloating) and ctx.module.platform != "tpu":
        [by_parts] = inline_function(ctx, functools.partial(_complex_convolution, **params), [lhs, rhs], ctx.avals_in)
        return by_parts
    dnums: ConvDimensionNumbers = params["dimension_numbers"]
    lhs_axes, rhs_axes, out_axes = map(_axis_names, dnums, ("bf", "oi", "bf"))
    window = (
        f"stride = {list(params['window_strides'])}, pad = {[list(pads) for pads in params['padding']]}, "
        f"lhs_dilate = {list(params['lhs_dilation'])}, rhs_dilate = {list(params['rhs_dilation'])}"
    )
    precisions = ", ".join(f"#stablehlo<precision {precision}>" for precision in precision_pair(params["precision"]))
    text = (
        f"stablehlo.convolution({lhs}, {rhs}) dim_numbers = {lhs_axes}x{rhs_axes}->{out_axes}, window = {{{window}}} "
        f"{{batch_group_count = {params['batch_group_count']} : i64, "
        f"feature_group_count = {params['feature_group_count']} : i64, "
        f"precision_config = [{precisions}]}}"
    )
    return ctx.emit_op(text, ctx.avals_in, ctx.avals_out[0])


def _axis_names(spec: Sequence[int], special: str) -> str:
    """Return the names of the axes as text, spatial ones by number: `[b, 0, 1, f]`."""
    names = dict(zip(spec, [*special, *map(str, range(len(spec) - 2))], strict=True))
    return f"[{', '.join(names[axis] for axis in range(len(spec)))}]"


def _complex_convolution(lhs: Any, rhs: Any, *, preferred_element_type: Any, **params: Any) -> list[Any]:
    """Return a complex convolution by three real ones instead of four (Gauss's trick), for targets that convolve only real numbers."""
    if preferred_element_type is not None:
        preferred_element_type = np.zeros((), preferred_element_type).real.dtype

    def convolve(x: Any, y: Any) -> Any:
        return conv_general_dilated_p.bind(x, y, preferred_element_type=preferred_element_type, **params)

    x_real, x_imag, y_real, y_imag = real(lhs), imag(lhs), real(rhs), imag(rhs)
    both = convolve(add(x_real, x_imag), y_real)
    for_imag = convolve(x_real, sub(y_imag, y_real))
    for_real = convolve(x_imag, add(y_real, y_imag))
    return [complex(sub(both, for_real), add(both, for_imag))]


# --- batching -----------------------------------------------------------------------------------------------


@register_batcher(conv_general_dilated_p)
def batch_convolution(
    axis: AxisData, vals: Vals, dims: Dims, *, dimension_numbers: ConvDimensionNumbers, feature_group_count: int,
    batch_group_count: int, **params: Any,
) -> Any:  # fmt: skip
    """Batching rule of convolutions. A batch of inputs is merged into the convolution's batch axis, a batch of kernels
    into the output's features. Batches of both become groups of features, or of the batch, one for each element.
    Existing groups stay outermost.
    """
    (lhs, rhs), (lhs_dim, rhs_dim) = vals, dims
    lhs_spec, rhs_spec, out_spec = dimension_numbers

    def convolve(x: Any, y: Any, more_groups: int = 1) -> Any:
        of_batch = batch_group_count > 1
        return conv_general_dilated_p.bind(
            x, y,
            dimension_numbers=dimension_numbers,
            feature_group_count=feature_group_count * (1 if of_batch else more_groups),
            batch_group_count=batch_group_count * (more_groups if of_batch else 1),
            **params,
        )  # fmt: skip

    if axis.size == 0:
        elements = [
            core.get_aval(x).update(shape=[n for i, n in enumerate(x.shape) if i != dim])
            for x, dim in zip(vals, dims, strict=True)
        ]
        out = conv_general_dilated_p.abstract_eval(
            *elements, dimension_numbers=dimension_numbers, feature_group_count=feature_group_count,
            batch_group_count=batch_group_count, **params,
        )  # fmt: skip
        return full((0, *out.shape), 0, out.dtype), 0
    if rhs_dim is None:
        assert lhs_dim is not None, "the rule is asked where an operand is a batch"
        lhs = _merge_axis(lhs, lhs_dim, lhs_spec[0], batch_group_count)
        return split_axis(convolve(lhs, rhs), out_spec[0], axis.size), out_spec[0]
    if lhs_dim is not None:
        lhs = _merge_axis(lhs, lhs_dim, lhs_spec[0 if batch_group_count > 1 else 1])
        rhs = _merge_axis(rhs, rhs_dim, rhs_spec[0])
        return split_axis(convolve(lhs, rhs, axis.size), out_spec[1], axis.size), out_spec[1]
    groups = max(feature_group_count, batch_group_count)
    out = convolve(lhs, _merge_axis(rhs, rhs_dim, rhs_spec[0], groups))
    if groups == 1:
        return split_axis(out, out_spec[1], axis.size), out_spec[1]
    out = split_axis(split_axis(out, out_spec[1], groups), out_spec[1] + 1, axis.size)
    return _merge_axis(out, out_spec[1], out_spec[1] + 1), out_spec[1]


def _merge_axis(x: Any, source: int, destination: int, groups: int = 1) -> Any:
    """Return x with the axis `source` merged into the axis `destination`, which is counted without `source`. An axis of
    size groups * n becomes one of size groups * s * n: groups vary slowest, then the s elements of `source`, then the
    n.
    """
    if groups > 1:
        x = split_axis(x, destination + (source <= destination), groups)
        x = _merge_axis(x, source + (destination < source), destination + 1)
        source = destination
    axes = [axis for axis in range(x.ndim) if axis != source]
    axes.insert(destination, source)
    sizes = [size for axis, size in enumerate(x.shape) if axis != source]
    sizes[destination] *= x.shape[source]
    return reshape(x, sizes, axes)


def split_axis(x: Any, axis: int, outer: int) -> Any:
    """Return x with an axis split in two, the first of size `outer`."""
    return reshape(x, (*x.shape[:axis], outer, x.shape[axis] // outer, *x.shape[axis + 1 :]))


# --- public functions ---------------------------------------------------------------------------------------


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return a convolution of n spatial axes, with strides, padding, dilations and groups.

    Args:
      lhs: the input, of rank n + 2.
      rhs: the kernel, of rank n + 2 and the same dtype.
      window_strides: n steps of the window.
      padding: "SAME", "SAME_LOWER", "VALID", or n pairs (before, after): how many zeros to add; a negative number removes elements.
      lhs_dilation, rhs_dilation: n factors; 1 by default.
      dimension_numbers: see `conv_dimension_numbers`.
      feature_group_count, batch_group_count: the number of groups of features, or of the batch; at most one is above 1.
      precision: see `Precision`.
      preferred_element_type: dtype of the sum and the result; by default that of the operands.
      out_sharding: None, or a sharding over a mesh without axes.

    Returns:
      The output, of rank n + 2.

    Raises:
      ValueError, TypeError: where shapes, groups or dtypes do not fit together.
      ValueError: for a named padding with an `lhs_dilation` other than 1.
      RuntimeError: for an unknown name of a padding.
      NotImplementedError: for any other `out_sharding`.
    """
    refuse_sharding("conv_general_dilated", out_sharding)
    dnums = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    if lhs_dilation is None:
        lhs_dilation = (1,) * (lhs.ndim - 2)
    elif isinstance(padding, str) and any(factor != 1 for factor in lhs_dilation):
        raise ValueError(
            "String padding is not implemented for transposed convolution using this op. Please either exactly specify "
            "the required padding or use conv_transpose."
        )
    if rhs_dilation is None:
        rhs_dilation = (1,) * (rhs.ndim - 2)
    if isinstance(padding, str):
        window = [
            dilate(rhs.shape[axis], factor) for axis, factor in zip(dnums.rhs_spec[2:], rhs_dilation, strict=False)
        ]
        padding = padtype_to_pads([lhs.shape[axis] for axis in dnums.lhs_spec[2:]], window, window_strides, padding)
    else:
        try:
            padding = [(operator.index(before), operator.index(after)) for before, after in padding]
        except (ValueError, TypeError) as error:
            raise ValueError(
                "padding argument to conv_general_dilated should be a string or a sequence of (low, high) pairs, "
                f"got {padding}"
            ) from error
    if preferred_element_type is not None:
        preferred_element_type = dtypes.check_and_canonicalize_user_dtype(
            preferred_element_type, "conv_general_dilated"
        )
    return conv_general_dilated_p.bind(
        lhs,
        rhs,
        window_strides=tuple(window_strides),
        padding=tuple(padding),
        lhs_dilation=tuple(lhs_dilation),
        rhs_dilation=tuple(rhs_dilation),
        dimension_numbers=dnums,
        feature_group_count=feature_group_count,
        batch_group_count=batch_group_count,
        precision=canonicalize_precision(precision),
        preferred_element_type=preferred_element_type,
        out_sharding=None,
    )


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Return `conv_general_dilated` with axes in the order batch, feature, spatial, and neither dilations nor groups."""
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, precision=precision, preferred_element_type=preferred_element_type
    )


def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Return `conv_general_dilated` with axes in the order batch, feature, spatial, and no groups."""
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, precision=precision,
        preferred_element_type=preferred_element_type,
    )  # fmt: skip


_CHANNELS_LAST = {
    2: ("NC", "IO", "NC"),
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Any:
    """Return a transposed convolution, which makes the input larger by `strides`: the gradient of a convolution with
    respect to its input.

    Args:
      padding: "SAME", "VALID", or pairs, which are applied to the dilated input.
      use_consistent_padding: whether pairs are the padding of the forward convolution, as "SAME" and "VALID" always are.
      dimension_numbers: features come last by default.
      transpose_kernel: whether to flip the kernel and swap its feature axes; then the result is exactly the gradient.

    For the other arguments see `conv_general_dilated`.

    Raises:
      ValueError: for operands of different ranks or less than 2 axes, or for more than 5 without `dimension_numbers`.
    """
    if lhs.ndim != rhs.ndim or lhs.ndim < 2:
        raise ValueError(
            f"conv_transpose takes input and kernel of one rank, at least 2, got shapes {lhs.shape} and {rhs.shape}."
        )
    if dimension_numbers is None:
        if lhs.ndim not in _CHANNELS_LAST:
            raise ValueError("No 4+ dimensional dimension_number defaults.")
        dimension_numbers = _CHANNELS_LAST[lhs.ndim]
    dnums = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    spatial = dnums.rhs_spec[2:]
    if rhs_dilation is None:
        rhs_dilation = (1,) * (rhs.ndim - 2)
    pads: str | Sequence[tuple[int, int]] = padding
    if use_consistent_padding or (isinstance(padding, str) and padding in ("SAME", "VALID")):
        windows = [dilate(rhs.shape[axis], factor) for axis, factor in zip(spatial, rhs_dilation, strict=False)]
        each: Sequence[Any] = [padding] * len(strides) if isinstance(padding, str) else padding
        pads = [transposed_padding(*axis) for axis in zip(windows, strides, each, strict=False)]
    if transpose_kernel:
        for axis in spatial:
            rhs = rev(rhs, (axis,))
        order = list(range(rhs.ndim))
        order[dnums.rhs_spec[0]], order[dnums.rhs_spec[1]] = dnums.rhs_spec[1], dnums.rhs_spec[0]
        rhs = transpose(rhs, order)
    ones = (1,) * (lhs.ndim - 2)
    return conv_general_dilated(
        lhs,
        rhs,
        ones,
        pads,
        strides,
        rhs_dilation,
        dnums,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
