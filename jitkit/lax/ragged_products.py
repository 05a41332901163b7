"""Computes products of a matrix whose rows are in groups: each group is multiplied by a matrix of its own.

`ragged_dot` multiplies the first `group_sizes[0]` rows of `lhs` by `rhs[0]`, the next `group_sizes[1]` by `rhs[1]`, and
so on, as the layers of a mixture of experts do. Rows after the last group give zero. The product is a `dot_general` of
a copy of `lhs` for each group, in which the rows of other groups are zero. (JAX uses XLA's operation for it only on
request.)

The *ragged* axis of `lhs`, which has the groups, may be kept, contracted or a batch axis. If it is contracted, each
group gives a product of its own.

JAX: jax/_src/lax/lax.py:ragged_dot_general
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..core import Primitive, ShapedArray, dtypes
from ..interpreters.ad_rules import Zero, is_undefined, primitive_jvps, primitive_transposes, zero_tangent
from ..interpreters.batching import AxisData, Dims, Vals, bdim_at_front, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering
from .convert import _convert_element_type
from .creation import broadcasted_iota, full_like
from .cumulative import cumsum
from .dot_products import _dot_general_shape_rule, batched_dimension_numbers, dot_general
from .elementwise import add, bitwise_and, le, lt
from .joining import concatenate
from .precision import canonicalize_precision
from .reducers import inline_function
from .selection import select
from .shaping import broadcast, broadcast_in_dim, transpose
from .slicing import slice_in_dim
from .utils import refuse_sharding

ragged_dot_general_p = Primitive("ragged_dot_general")


@dataclasses.dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """Says which axes of a ragged product are contracted and batched, which axis of `lhs` is ragged, and which axis of
    `rhs`, if any, has the groups.
    """

    dot_dimension_numbers: Any
    lhs_ragged_dimensions: tuple[int, ...]
    rhs_group_dimensions: tuple[int, ...]

    def __init__(
        self, dot_dimension_numbers: Any, lhs_ragged_dimensions: Iterable[int], rhs_group_dimensions: Iterable[int]
    ) -> None:
        numbers = tuple(tuple(tuple(axes) for axes in pair) for pair in dot_dimension_numbers)
        object.__setattr__(self, "dot_dimension_numbers", numbers)
        object.__setattr__(self, "lhs_ragged_dimensions", tuple(lhs_ragged_dimensions))
        object.__setattr__(self, "rhs_group_dimensions", tuple(rhs_group_dimensions))


_ROWS_IN_GROUPS = RaggedDotDimensionNumbers((([1], [1]), ([], [])), [0], [0])
_KEPT, _CONTRACTED, _BATCHED = "RAGGED_NONCONTRACTING", "RAGGED_CONTRACTING", "RAGGED_BATCH"  # JAX's names of the modes


def _rest(ndim: int, *taken: Iterable[int]) -> list[int]:
    without = {axis for axes in taken for axis in axes}
    return [axis for axis in range(ndim) if axis not in without]


def _mode(lhs_ndim: int, numbers: RaggedDotDimensionNumbers) -> tuple[str, list[int]]:
    """Return how the ragged axis is used (`_KEPT`, `_CONTRACTED` or `_BATCHED`), and the axes of `lhs` along which
    `group_sizes` may differ.
    """
    ragged = numbers.lhs_ragged_dimensions[0]
    (contract, _), (batch, _) = numbers.dot_dimension_numbers
    kept = _rest(lhs_ndim, contract, batch)
    if ragged in kept:
        return _KEPT, [*batch, *kept[: kept.index(ragged)]]
    if ragged in contract:
        return _CONTRACTED, [*batch, *contract[: contract.index(ragged)]]
    return _BATCHED, list(batch[: batch.index(ragged)])


# --- shape rule ---------------------------------------------------------------------------------------------


def _check_axis(axis: int, ndim: int, kind: str, side: str) -> None:
    if not 0 <= axis < ndim:
        raise TypeError(
            f"ragged_dot_general requires {kind} numbers to be nonnegative and less than the number of axes of the {side} value, "
            f"got {axis} for {side} of rank {ndim}."
        )


@ragged_dot_general_p.def_abstract_eval
def _shape_rule(
    lhs: ShapedArray,
    rhs: ShapedArray,
    group_sizes: ShapedArray,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any,
    preferred_element_type: Any,
    group_offset: None,
    out_sharding: None,
) -> ShapedArray:
    numbers = ragged_dot_dimension_numbers
    if len(numbers.lhs_ragged_dimensions) != 1:
        raise TypeError("ragged_dot_general expects exactly one lhs ragged dimension.")
    _check_axis(numbers.lhs_ragged_dimensions[0], lhs.ndim, "lhs ragged dimension", "lhs")
    mode, prefix = _mode(lhs.ndim, numbers)
    _check_group_sizes(group_sizes, tuple(lhs.shape[axis] for axis in prefix))
    _check_groups(mode, rhs, group_sizes.shape[-1], numbers)
    (contract, rhs_contract), (batch, rhs_batch) = numbers.dot_dimension_numbers
    groups = list(numbers.rhs_group_dimensions)
    if not dtypes.issubdtype(group_sizes.dtype, np.integer):
        raise TypeError("ragged_dot_general requires that group_sizes.dtype is subtype of np.integer.")
    # A group axis is neither contracted nor in the product: the shape is that of a product with the matrix of one group.
    where = [axis - sum(group < axis for group in groups) for axis in range(rhs.ndim)]
    one = rhs.update(shape=tuple(size for axis, size in enumerate(rhs.shape) if axis not in groups))
    dot_numbers = (
        (contract, tuple(where[axis] for axis in rhs_contract)),
        (batch, tuple(where[axis] for axis in rhs_batch)),
    )
    out: ShapedArray = _dot_general_shape_rule(
        lhs, one, dimension_numbers=dot_numbers, precision=precision, preferred_element_type=preferred_element_type
    )
    return out.update(shape=(group_sizes.shape[-1], *out.shape)) if mode == _CONTRACTED else out


def _check_group_sizes(group_sizes: ShapedArray, prefix: tuple[int, ...]) -> None:
    if group_sizes.ndim == 0:
        raise TypeError("expected rank of group_sizes to be >=1.")
    if group_sizes.ndim != 1 and group_sizes.shape != (*prefix, group_sizes.shape[-1]):
        raise TypeError(
            f"expected group_sizes to have shape {(*prefix, group_sizes.shape[-1])}, got {group_sizes.shape}."
        )


def _check_groups(mode: str, rhs: ShapedArray, count: int, numbers: RaggedDotDimensionNumbers) -> None:
    axes = numbers.rhs_group_dimensions
    if mode != _KEPT:
        if axes:
            raise TypeError(
                "ragged_dot_general requires zero group dimensions in the rhs when lhs ragged dimension is contracting or batch."
            )
        return
    if len(axes) != 1:
        raise TypeError(
            "ragged_dot_general requires exactly one rhs group dimension when lhs ragged dimension is noncontracting."
        )
    _check_axis(axes[0], rhs.ndim, "rhs group dimension", "rhs")
    (_, contract), (_, batch) = numbers.dot_dimension_numbers
    if axes[0] in (*contract, *batch):
        raise TypeError(
            "ragged_dot_general requires rhs group dimension numbers to be distinct from contracting and batch dimensions."
        )
    if rhs.shape[axes[0]] != count:
        raise TypeError(f"expected rhs group dimension size to be {count}, got {rhs.shape[axes[0]]}.")


# --- lowering: a copy for each group ------------------------------------------------------------------------


def _copies(x: Any, axis: int, group_sizes: Any, prefix: list[int]) -> Any:
    """Return a copy of x for each group, along a new first axis, with zeros outside the group along `axis`. The sizes
    of the groups may differ along the axes `prefix`.
    """
    count = group_sizes.shape[-1]
    shape = (count, *x.shape)
    ends = cumsum(group_sizes, group_sizes.ndim - 1)
    zeros = full_like(slice_in_dim(ends, 0, 1, axis=-1), 0)
    starts = concatenate([zeros, slice_in_dim(ends, 0, count - 1, axis=-1)], ends.ndim - 1)
    dims = [*(1 + each for each in prefix), 0]
    place = broadcasted_iota(group_sizes.dtype, shape, axis + 1)
    starts, ends = (_spread(bound, shape, dims) for bound in (starts, ends))
    copies = broadcast_in_dim(x, shape, range(1, len(shape)))
    return select(bitwise_and(le(starts, place), lt(place, ends)), copies, full_like(copies, 0))


def _spread(bounds: Any, shape: tuple[int, ...], dims: list[int]) -> Any:
    order = np.argsort(dims)
    return broadcast_in_dim(transpose(bounds, order), shape, [dims[i] for i in order])


def _product(lhs: Any, rhs: Any, group_sizes: Any, numbers: RaggedDotDimensionNumbers, **params: Any) -> Any:
    mode, prefix = _mode(lhs.ndim, numbers)
    (contract, rhs_contract), (batch, rhs_batch) = numbers.dot_dimension_numbers
    if mode == _BATCHED:
        return dot_general(lhs, rhs, numbers.dot_dimension_numbers, **params)
    if group_sizes.ndim == 1:
        group_sizes = broadcast(group_sizes, [lhs.shape[axis] for axis in prefix])
    copies = _copies(lhs, numbers.lhs_ragged_dimensions[0], group_sizes, prefix)
    contract_1, batch_1 = [axis + 1 for axis in contract], [axis + 1 for axis in batch]
    if mode == _KEPT:
        contracting = ([*contract_1, 0], [*rhs_contract, numbers.rhs_group_dimensions[0]])
        return dot_general(copies, rhs, (contracting, (batch_1, rhs_batch)), **params)
    position = contract.index(numbers.lhs_ragged_dimensions[0])
    rhs_copies = _copies(rhs, rhs_contract[position], group_sizes, [*rhs_batch, *rhs_contract[:position]])
    rhs_axes = [axis + 1 for axis in rhs_contract], [0, *(axis + 1 for axis in rhs_batch)]
    return dot_general(copies, rhs_copies, ((contract_1, rhs_axes[0]), ([0, *batch_1], rhs_axes[1])), **params)


@register_lowering(ragged_dot_general_p)
def _(
    ctx: LoweringContext,
    lhs: str,
    rhs: str,
    group_sizes: str,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any,
    preferred_element_type: Any,
    group_offset: None,
    out_sharding: None,
) -> str:
    params = {"precision": precision, "preferred_element_type": preferred_element_type}

    def compute(x: Any, y: Any, sizes: Any) -> list[Any]:
        return [_product(x, y, sizes, ragged_dot_dimension_numbers, **params)]

    return inline_function(ctx, compute, [lhs, rhs, group_sizes], ctx.avals_in)[0]


# --- derivatives and batching -------------------------------------------------------------------------------


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    bind = ragged_dot_general_p.bind
    lhs, rhs, group_sizes = primals
    lhs_dot, rhs_dot, _ = tangents
    out = bind(lhs, rhs, group_sizes, **params)
    shares = []
    if not isinstance(lhs_dot, Zero):
        shares.append(bind(lhs_dot, rhs, group_sizes, **params))
    if not isinstance(rhs_dot, Zero):
        shares.append(bind(lhs, rhs_dot, group_sizes, **params))
    if not shares:
        return out, zero_tangent(out)
    return out, shares[0] if len(shares) == 1 else add(*shares)


primitive_jvps[ragged_dot_general_p] = _jvp


def _transpose(
    ct: Any, lhs: Any, rhs: Any, group_sizes: Any, *, ragged_dot_dimension_numbers: Any, **params: Any
) -> list[Any]:
    if is_undefined(lhs):
        return [_cotangent_of_lhs(ct, lhs, rhs, group_sizes, ragged_dot_dimension_numbers, params), None, None]
    return [None, _cotangent_of_rhs(ct, lhs, rhs, group_sizes, ragged_dot_dimension_numbers, params), None]


primitive_transposes[ragged_dot_general_p] = _transpose


def _cotangent_of_lhs(ct: Any, lhs: Any, rhs: Any, group_sizes: Any, numbers: Any, params: Any) -> Any:
    _refuse_other_modes("grad_x_dims", lhs.aval.ndim, numbers)
    (contract, rhs_contract), (batch, rhs_batch) = numbers.dot_dimension_numbers
    kept = _rest(lhs.aval.ndim, contract, batch)
    rhs_kept = _rest(rhs.ndim, rhs_contract, rhs_batch, numbers.rhs_group_dimensions)
    first = len(batch) + len(kept)
    dims = RaggedDotDimensionNumbers(
        ((range(first, first + len(rhs_kept)), rhs_kept), (range(len(batch)), rhs_batch)),
        [len(batch) + kept.index(numbers.lhs_ragged_dimensions[0])],
        numbers.rhs_group_dimensions,
    )
    product = ragged_dot_general_p.bind(ct, rhs, group_sizes, ragged_dot_dimension_numbers=dims, **params)
    by_rhs = [contract[i] for i in np.argsort(rhs_contract)]
    return _as(transpose(product, np.argsort([*batch, *kept, *by_rhs])), lhs.aval)


def _cotangent_of_rhs(ct: Any, lhs: Any, rhs: Any, group_sizes: Any, numbers: Any, params: Any) -> Any:
    _refuse_other_modes("grad_y_dims", lhs.ndim, numbers)
    (contract, rhs_contract), (batch, rhs_batch) = numbers.dot_dimension_numbers
    kept = _rest(lhs.ndim, contract, batch)
    rhs_kept = _rest(rhs.aval.ndim, rhs_contract, rhs_batch, numbers.rhs_group_dimensions)
    dims = RaggedDotDimensionNumbers(
        ((kept, range(len(batch), len(batch) + len(kept))), (batch, range(len(batch)))),
        numbers.lhs_ragged_dimensions,
        [],
    )
    product = ragged_dot_general_p.bind(lhs, ct, group_sizes, ragged_dot_dimension_numbers=dims, **params)
    by_lhs = [rhs_contract[i] for i in np.argsort(contract)]
    order = [*numbers.rhs_group_dimensions, *rhs_batch, *by_lhs, *rhs_kept]
    return _as(transpose(product, np.argsort(order)), rhs.aval)


def _refuse_other_modes(name: str, lhs_ndim: int, numbers: RaggedDotDimensionNumbers) -> None:
    mode, _ = _mode(lhs_ndim, numbers)
    if mode != _KEPT:
        raise NotImplementedError(f"Unimplemented {name} for ragged dot general in mode {mode}.")


def _as(x: Any, aval: Any) -> Any:
    return x if x.dtype == aval.dtype else _convert_element_type(x, aval.dtype, aval.weak_type)


@register_batcher(ragged_dot_general_p)
def _(
    axis: AxisData, vals: Vals, dims: Dims, *, ragged_dot_dimension_numbers: RaggedDotDimensionNumbers, **params: Any
) -> Any:
    numbers = ragged_dot_dimension_numbers
    lhs, rhs, sizes = (bdim_at_front(x, dim, axis.size) for x, dim in zip(vals, dims, strict=True))
    mode, prefix = _mode(lhs.ndim - 1, numbers)
    if (
        sizes.ndim == 2 and prefix and mode != _BATCHED
    ):  # one list of sizes for each element of the batch: repeat it along the axes `prefix`
        shape = (axis.size, *(lhs.shape[1 + each] for each in prefix), sizes.shape[-1])
        sizes = broadcast_in_dim(sizes, shape, (0, len(shape) - 1))
    dot_numbers, dim = batched_dimension_numbers(lhs.ndim, rhs.ndim, 0, 0, numbers.dot_dimension_numbers)
    shifted = RaggedDotDimensionNumbers(
        dot_numbers,
        [each + 1 for each in numbers.lhs_ragged_dimensions],
        [each + 1 for each in numbers.rhs_group_dimensions],
    )
    out = ragged_dot_general_p.bind(lhs, rhs, sizes, ragged_dot_dimension_numbers=shifted, **params)
    return out, dim + (mode == _CONTRACTED)


# --- public functions ---------------------------------------------------------------------------------------


def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return the products of groups of rows with a matrix for each group: (m, k), (g, k, n), (g,) -> (m, n).

    `group_sizes` are integers; rows after the last group give zero. For `precision` and `preferred_element_type` see
    `dot_general`. Raise NotImplementedError for a `group_offset` and for an `out_sharding` over a mesh with axes,
    TypeError if the shapes do not fit.
    """
    return ragged_dot_general(
        lhs, rhs, group_sizes, _ROWS_IN_GROUPS, precision, preferred_element_type, group_offset, out_sharding
    )


def ragged_dot_general(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return a dot product over any pairs of axes, where one axis of `lhs`, the ragged one, consists of groups of
    `group_sizes` elements.

    If the ragged axis is kept, `rhs` has an axis of groups, and each row is multiplied by its group's matrix. If it is
    contracted, the result has a first axis of groups. If it is a batch axis, the product is that of `dot_general`.
    `group_sizes` has an axis of groups, and perhaps before it the batch axes and the axes before the ragged one. Raise
    NotImplementedError for a `group_offset` and for an `out_sharding` over a mesh with axes, TypeError if the shapes do
    not fit.
    """
    refuse_sharding("ragged_dot_general", out_sharding)
    if group_offset is not None:
        raise NotImplementedError("Unimplemented group_offset support.")
    if preferred_element_type is not None:
        preferred_element_type = dtypes.check_and_canonicalize_user_dtype(preferred_element_type, "ragged_dot_general")
    return ragged_dot_general_p.bind(
        lhs, rhs, group_sizes,
        ragged_dot_dimension_numbers=ragged_dot_dimension_numbers,
        precision=canonicalize_precision(precision),
        preferred_element_type=preferred_element_type,
        group_offset=None,
        out_sharding=None,
    )  # fmt: skip
