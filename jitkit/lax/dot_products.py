"""Computes dot products of vectors and matrices, and their general form.

`dot_general` pairs axes of two arrays. *Contracting* axes are multiplied and summed, *batch* axes are paired and kept.
The result's axes are the batch axes, then the left operand's other axes, then the right's. So matrix multiplication
contracts one axis and batches none, and `einsum` is a `dot_general` and a transposition.

JAX: jax/_src/lax/lax.py:dot_general
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import core
from ..base.pretty_printer import Doc
from ..core import Primitive, ShapedArray, dtypes
from ..interpreters.ad_rules import defbilinear
from ..interpreters.batching import AxisData, Dim, Dims, Vals, register_batcher, shifted
from ..interpreters.mlir import LoweringContext, register_lowering, with_dtype
from ..jaxpr import JaxprEqn, pp_eqn_rules
from ..jaxpr.printer import JaxprPpContext, JaxprPpSettings, pp_eqn_plain
from .convert import _convert_element_type
from .precision import (
    CanonicalPrecision,
    DotAlgorithm,
    DotAlgorithmPreset,
    algorithm_types,
    canonicalize_precision,
    precision_pair,
)
from .shaping import transpose
from .utils import index_tuple, is_a, refuse_sharding

Axes = tuple[int, ...]
DotDimensionNumbers = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]  # contracting (lhs, rhs), batch (lhs, rhs)

dot_general_p = Primitive("dot_general")


# --- shape rule ---------------------------------------------------------------------------------------------


@dot_general_p.def_abstract_eval
def _dot_general_shape_rule(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: CanonicalPrecision,
    preferred_element_type: Any,
) -> ShapedArray:
    _check_dimension_numbers(lhs, rhs, dimension_numbers)
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    batch = tuple(lhs.shape[axis] for axis in lhs_batch)
    lhs_kept = tuple(size for axis, size in enumerate(lhs.shape) if axis not in (*lhs_contract, *lhs_batch))
    rhs_kept = tuple(size for axis, size in enumerate(rhs.shape) if axis not in (*rhs_contract, *rhs_batch))
    dtype = _wider_dtype(lhs.dtype, rhs.dtype)
    if preferred_element_type is not None and preferred_element_type != dtype:
        exact = isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)) or dtypes.issubdtype(dtype, np.floating)
        if not exact and _bits(preferred_element_type) < _bits(dtype):
            raise TypeError(
                "`preferred_element_type` must not be narrower than the original type, got preferred_element_type of "
                f"{preferred_element_type} for result type of {dtype}."
            )
        dtype = preferred_element_type
    return ShapedArray(batch + lhs_kept + rhs_kept, dtype, lhs.weak_type and rhs.weak_type)


def _check_dimension_numbers(lhs: ShapedArray, rhs: ShapedArray, dimension_numbers: DotDimensionNumbers) -> None:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    sides = (("lhs", lhs, lhs_contract, lhs_batch), ("rhs", rhs, rhs_contract, rhs_batch))
    for side, aval, contract, batch in sides:
        if not all(0 <= axis < aval.ndim for axis in (*contract, *batch)):
            raise TypeError(
                f"dot_general requires {side} dimension numbers to be nonnegative and less than the number of axes of the {side} "
                f"value, got {side}_batch of {batch} and {side}_contracting of {contract} for {side} of rank {aval.ndim}"
            )
    if len(lhs_batch) != len(rhs_batch):
        raise TypeError(
            "dot_general requires equal numbers of lhs_batch and rhs_batch dimensions, "
            f"got lhs_batch {lhs_batch} and rhs_batch {rhs_batch}."
        )
    for side, kind, axes in (
        ("lhs", "batch", lhs_batch), ("rhs", "batch", rhs_batch),
        ("lhs", "contracting", lhs_contract), ("rhs", "contracting", rhs_contract),
    ):  # fmt: skip
        if len(set(axes)) != len(axes):
            raise TypeError(f"dot_general requires {side} {kind} dimensions to be distinct, got {side}_{kind} {axes}.")
    for side, _, contract, batch in sides:
        if set(contract) & set(batch):
            raise TypeError(
                f"dot_general requires {side} batch dimensions to be disjoint from contracting dimensions, "
                f"got {side}_batch {batch} and {side}_contracting {contract}."
            )
    lhs_sizes, rhs_sizes = (tuple(lhs.shape[axis] for axis in lhs_batch), tuple(rhs.shape[axis] for axis in rhs_batch))
    if lhs_sizes != rhs_sizes:
        raise TypeError(
            "dot_general requires lhs batch dimensions and rhs batch dimensions to have the same shape, "
            f"got {lhs_sizes} and {rhs_sizes}."
        )
    lhs_sizes, rhs_sizes = (
        tuple(lhs.shape[axis] for axis in lhs_contract),
        tuple(rhs.shape[axis] for axis in rhs_contract),
    )
    if lhs_sizes != rhs_sizes:
        raise TypeError(
            f"dot_general requires contracting dimensions to have the same shape, got {lhs_sizes} and {rhs_sizes}.\n"
            f"The operands have shapes {lhs.shape} and {rhs.shape}; the sum runs over axis "
            f"{', '.join(map(str, lhs_contract))} of the first, and axis {', '.join(map(str, rhs_contract))} of the second. "
            + (
                "Two vectors must have one length; `jnp.outer(x, y)` multiplies each with each."
                if lhs.ndim == rhs.ndim == 1
                else "`x @ w` takes the last axis of x and the last but one of w: perhaps you need a transpose, `w.T`."
            )
        )


def _wider_dtype(lhs: Any, rhs: Any) -> Any:
    """Return the wider of two dtypes, as XLA orders them: complex types before real ones, floats before integers; then
    by range, precision, width, and signedness. Raise TypeError if neither is wider.
    """
    lhs_rank, rhs_rank = _rank(lhs), _rank(rhs)
    if lhs_rank == rhs_rank and lhs != rhs:
        raise TypeError(f"lax.dot_general argument type error: {lhs}, {rhs}")
    return lhs if lhs_rank >= rhs_rank else rhs


def _rank(dtype: Any) -> tuple[Any, ...]:
    is_complex = dtypes.issubdtype(dtype, np.complexfloating)
    part = np.zeros((), dtype).real.dtype if is_complex else dtype
    is_float = dtypes.issubdtype(part, np.floating)
    return (
        is_complex,
        dtypes.finfo(part).maxexp if is_float else -1,
        dtypes.finfo(part).nmant if is_float else -1,
        _bits(part),
        not dtypes.issubdtype(part, np.unsignedinteger),
    )


def _bits(dtype: Any) -> int:
    """Return the width that XLA compares: the bits of a number, or of one part of a complex number; 1 for bool."""
    if dtype == np.bool_:
        return 1
    return dtypes.itemsize_bits(dtype) // (2 if is_a(dtype, np.complexfloating) else 1)


# --- printing and lowering ----------------------------------------------------------------------------------


def _pp_dot_general(eqn: JaxprEqn, context: JaxprPpContext, settings: JaxprPpSettings) -> Doc:
    """Return the equation as JAX prints it: without parameters that are None, and with axes as lists."""
    params = {name: value for name, value in sorted(eqn.params.items()) if value is not None}
    contract, batch = eqn.params["dimension_numbers"]
    params["dimension_numbers"] = tuple(map(list, contract)), tuple(map(list, batch))
    return pp_eqn_plain(eqn, context, settings, params)


pp_eqn_rules[dot_general_p] = _pp_dot_general


@register_lowering(dot_general_p)
def lower_dot_general(
    ctx: LoweringContext,
    lhs: str,
    rhs: str,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: CanonicalPrecision,
    preferred_element_type: Any,
) -> str:
    """Write one `stablehlo.dot_general`; return the name of the product. `lhs` and `rhs` are names of values of the
    types `ctx.avals_in`; the product must have the type `ctx.avals_out[0]`, which includes `preferred_element_type`.

        stablehlo.dot_general %0, %1, batching_dims = [0] x [0],
            contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT]

    Write all of it in one line; `ctx.emit_op` appends the types of operands and result. Leave out `batching_dims` where there
    are none; `precision_pair` gives the words of `precision`. The machine may multiply and sum in other dtypes, which
    `dtypes_computed_with` gives: convert the operands before, and the sum after. It also gives the text of an algorithm (often
    ""), which stands directly after the precision.
    """
    lhs_aval, rhs_aval = ctx.avals_in
    [out] = ctx.avals_out
    lhs_dtype, rhs_dtype, sum_dtype, algorithm = dtypes_computed_with(
        ctx.module.platform, lhs_aval.dtype, rhs_aval.dtype, out.dtype, precision
    )
    lhs, rhs = ctx.convert(lhs, lhs_aval, lhs_dtype), ctx.convert(rhs, rhs_aval, rhs_dtype)
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    batching = f", batching_dims = {list(lhs_batch)} x {list(rhs_batch)}" if lhs_batch else ""
    precisions = ", ".join([chosen.name for chosen in precision_pair(precision)])
    text = (
        f"stablehlo.dot_general {lhs}, {rhs}{batching}, "
        f"contracting_dims = {list(lhs_contract)} x {list(rhs_contract)}, "
        f"precision = [{precisions}]{algorithm}"
    )
    summed = with_dtype(out, sum_dtype)
    result = ctx.emit_op(text, [with_dtype(lhs_aval, lhs_dtype), with_dtype(rhs_aval, rhs_dtype)], summed)
    return ctx.convert(result, summed, out.dtype)


def _transpose_lhs(ct: Any, lhs: Any, rhs: Any, *, dimension_numbers: Any, swapped: bool = False, **params: Any) -> Any:
    """Return the cotangent of `lhs`: the cotangent of the product, contracted with `rhs` over the axes that only `rhs`
    has. In a `swapped` product, the axes of `rhs` come before those of `lhs`.
    """
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    lhs_kept = [i for i in range(lhs.aval.ndim) if i not in (*lhs_contract, *lhs_batch)]
    rhs_kept = [i for i in range(np.ndim(rhs)) if i not in (*rhs_contract, *rhs_batch)]
    first = len(lhs_batch) + (0 if swapped else len(lhs_kept))
    ct_rhs = range(first, first + len(rhs_kept))
    product = dot_general(
        ct,
        rhs,
        ((ct_rhs, rhs_kept), (range(len(lhs_batch)), rhs_batch)),
        precision=params["precision"],
        preferred_element_type=params["preferred_element_type"],
    )
    by_rhs = [lhs_contract[i] for i in np.argsort(rhs_contract)]
    out = transpose(product, np.argsort([*lhs_batch, *lhs_kept, *by_rhs]))
    if out.dtype == lhs.aval.dtype:
        return out
    return _convert_element_type(out, lhs.aval.dtype, lhs.aval.weak_type, warn_on_complex_to_real_cast=False)


def _transpose_rhs(ct: Any, lhs: Any, rhs: Any, *, dimension_numbers: Any, **params: Any) -> Any:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    numbers = ((rhs_contract, lhs_contract), (rhs_batch, lhs_batch))
    return _transpose_lhs(ct, rhs, lhs, dimension_numbers=numbers, swapped=True, **params)


defbilinear(dot_general_p, _transpose_lhs, _transpose_rhs)


def dtypes_computed_with(
    platform: str, lhs: Any, rhs: Any, out: Any, precision: CanonicalPrecision
) -> tuple[Any, Any, Any, str]:
    """Return the dtypes in which a product of these dtypes is computed (of each operand, and of the sum), and the text
    of its algorithm, by default `""`.
    """
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return algorithm_types(precision, lhs, rhs, out, platform)
    if lhs != rhs and not _takes_mixed_operands(platform, lhs, rhs):
        return out, out, out, ""
    return lhs, rhs, out, ""


def _takes_mixed_operands(platform: str, lhs: Any, rhs: Any) -> bool:
    """Return whether the platform can multiply operands of different dtypes without converting them."""
    if platform == "tpu":
        return all(is_a(dtype, np.integer, np.floating) for dtype in (lhs, rhs))
    return all(np.dtype(dtype).name.startswith("float8") for dtype in (lhs, rhs))


# --- batching -----------------------------------------------------------------------------------------------


@register_batcher(dot_general_p)
def batch_dot_general(
    axis: AxisData, vals: Vals, dims: Dims, *, dimension_numbers: DotDimensionNumbers, **params: Any
) -> Any:
    """Batching rule of products. If both operands are batches, the axis becomes the product's first batch axis; if one
    is, it is among the kept axes of this operand.
    """
    (lhs, rhs), (lhs_dim, rhs_dim) = vals, dims
    numbers, dim = batched_dimension_numbers(np.ndim(lhs), np.ndim(rhs), lhs_dim, rhs_dim, dimension_numbers)
    return dot_general(lhs, rhs, numbers, **params), dim


def batched_dimension_numbers(
    lhs_ndim: int, rhs_ndim: int, lhs_dim: Dim, rhs_dim: Dim, dimension_numbers: DotDimensionNumbers
) -> tuple[DotDimensionNumbers, int]:
    """Return the dimension numbers of a product of batches, and which axis of the product is the batch axis.

    `lhs_ndim` and `rhs_ndim` count the axes of the operands, batch axes included; `lhs_dim` and `rhs_dim` are their
    batch axes, None for an operand that is not a batch. At least one of them is.
    """
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    if lhs_dim is not None:
        lhs_contract, lhs_batch = tuple(shifted(lhs_contract, lhs_dim)), tuple(shifted(lhs_batch, lhs_dim))
    if rhs_dim is not None:
        rhs_contract, rhs_batch = tuple(shifted(rhs_contract, rhs_dim)), tuple(shifted(rhs_batch, rhs_dim))
    if lhs_dim is not None and rhs_dim is not None:
        contract, batch = (lhs_contract, rhs_contract), ((lhs_dim, *lhs_batch), (rhs_dim, *rhs_batch))
        return (contract, batch), 0
    if lhs_dim is not None:
        kept = [a for a in range(lhs_ndim) if a not in (*lhs_contract, *lhs_batch)]
        place = len(lhs_batch) + kept.index(lhs_dim)
    else:
        assert rhs_dim is not None, "the rule is asked where an operand is a batch"
        kept = [a for a in range(rhs_ndim) if a not in (*rhs_contract, *rhs_batch)]
        place = lhs_ndim - len(lhs_contract) + kept.index(rhs_dim)
    return ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch)), place


# --- public functions ---------------------------------------------------------------------------------------


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return the dot product of two arrays over any pairs of axes.

    Args:
      lhs, rhs: arrays; if their dtypes differ, the wider one is used.
      dimension_numbers: `((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))`, sequences of axes.
      precision: see `Precision`.
      preferred_element_type: dtype of the sum and the result; by default the operands' wider dtype.
      out_sharding: None, or a sharding over a mesh without axes.

    Returns:
      An array of shape batch axes + kept axes of lhs + kept axes of rhs.

    Raises:
      TypeError: for axes that are out of range, used twice, or do not match in number or size; for dtypes neither of which is
        wider; for a `preferred_element_type` that is narrower, unless the operands are floats or `precision` is an algorithm.
      NotImplementedError: for any other `out_sharding`.
    """
    return dot(
        lhs,
        rhs,
        dimension_numbers=dimension_numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )


def dot(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return the product of vectors and matrices: (n)(n) -> (), (m,n)(n) -> (m), (n)(n,k) -> (k), (m,n)(n,k) -> (m,k).

    With `dimension_numbers` it is `dot_general`.

    Raises:
      ValueError: for other ranks or unequal sizes, without `dimension_numbers`.
      TypeError, NotImplementedError: as `dot_general` does.
    """
    refuse_sharding("dot_general", out_sharding)
    if dimension_numbers is None:
        lhs_shape, rhs_shape = np.shape(lhs), np.shape(rhs)
        if not (1 <= len(lhs_shape) <= 2 and 1 <= len(rhs_shape) <= 2 and lhs_shape[-1] == rhs_shape[0]):
            raise ValueError(
                "jax.lax.dot: dimension_numbers must be specified when not performing simple un-batched matrix-matrix, "
                f"matrix-vector, or vector-vector products; got {lhs_shape=} {rhs_shape=}"
            )
        dimension_numbers = (((len(lhs_shape) - 1,), (0,)), ((), ()))
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    contract = _static_axes(lhs_contract), _static_axes(rhs_contract)
    batch = _static_axes(lhs_batch), _static_axes(rhs_batch)
    if preferred_element_type is not None:
        preferred_element_type = dtypes.check_and_canonicalize_user_dtype(preferred_element_type, "dot")
    return dot_general_p.bind(
        lhs, rhs,
        dimension_numbers=(contract, batch),
        precision=canonicalize_precision(precision),
        preferred_element_type=preferred_element_type,
    )  # fmt: skip


def _static_axes(axes: Any) -> Axes:
    """Return one axis, or a sequence of axes, as a tuple. Raise ConcretizationTypeError for a tracer."""
    known = core.concrete_or_error(lambda x: x, axes, "expected a static index or sequence of indices.")
    return index_tuple(known)


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Any:
    """Return matrix products along all axes but the last two: (..., m, n)(..., n, k) -> (..., m, k).

    Raises:
      ValueError: for arrays of fewer than two axes, or of different ranks.
    """
    if min(lhs.ndim, rhs.ndim) < 2:
        raise ValueError(f"Arguments to batch_matmul must be at least 2D, got {lhs.ndim}, {rhs.ndim}")
    if lhs.ndim != rhs.ndim:
        raise ValueError(f"Arguments to batch_matmul must have same ndim, got {lhs.ndim}, {rhs.ndim}")
    batch = tuple(range(lhs.ndim - 2))
    return dot_general(lhs, rhs, (((lhs.ndim - 1,), (rhs.ndim - 2,)), (batch, batch)), precision=precision)
