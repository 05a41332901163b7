"""Lets the primitives that only move elements work on arrays whose elements are small arrays.

A random key is one element to the user, and two uint32 to a device: `key<fry>[3]` is stored as `u32[3,2]`. The
element's axes come last, so an operation on the array is the same operation on its storage, with more axes, along which
it does nothing. Each row below is such an operation, and extends the parameters that have an entry for each axis; the
lowering rule is then used with the types and parameters of the storage.

Two operands need more: `dynamic_slice` gets an index 0 for each of these axes, and a choice of `select_n` for each
element is repeated for each part of it.

Other operations (except in `random`) refuse such arrays, because they would have to look into the elements. `eq` and
`ne` accept them: elements are equal if all their parts are.

JAX: jax/_src/core.py:physical_aval
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core import Primitive, ShapedArray, physical_aval
from ..core.dtypes import ExtendedDType
from ..interpreters import mlir
from ..interpreters.mlir import LoweringContext
from .creation import empty_p
from .dynamic_slicing import dynamic_slice_p, dynamic_update_slice_p
from .elementwise import eq, eq_p, ne, ne_p
from .gathering import gather_p
from .joining import concatenate_p, split_p, stack_p, tile_p, unstack_p
from .reducers import inline_function
from .reduction import reduce_and, reduce_or
from .scattering import scatter_p
from .selection import select_n_p
from .shaping import broadcast_in_dim_p, reshape_p, rev_p, squeeze_p, transpose_p
from .slicing import slice_p

# --- how a parameter is extended to the storage --------------------------------------------------------
# Called as `go_on(value, ctx)`; the context still has the types that the user sees.

_GoOn = Callable[[Any, LoweringContext], Any]


def _element_axes(aval: ShapedArray) -> range:
    """Return the axes of the elements in the storage of an array of this type."""
    return range(aval.ndim, physical_aval(aval).ndim)


def _element_shape(ctx: LoweringContext) -> tuple[int, ...]:
    shape: tuple[int, ...] = ctx.avals_out[0].dtype.physical_shape
    return shape


def _sizes(sizes: Sequence[int], ctx: LoweringContext) -> tuple[int, ...]:
    return (*sizes, *_element_shape(ctx))


def _starts(starts: Sequence[int], ctx: LoweringContext) -> tuple[int, ...]:
    return (*starts, *[0] * len(_element_shape(ctx)))


def _steps(steps: Sequence[int] | None, ctx: LoweringContext) -> tuple[int, ...] | None:
    return None if steps is None else (*steps, *[1] * len(_element_shape(ctx)))


def _axes_of_operand(axes: Sequence[int], ctx: LoweringContext) -> tuple[int, ...]:
    return (*axes, *_element_axes(ctx.avals_in[0]))


def _axes_of_result(axes: Sequence[int], ctx: LoweringContext) -> tuple[int, ...]:
    return (*axes, *_element_axes(ctx.avals_out[0]))


def _gathered_windows(axes: Any, ctx: LoweringContext) -> Any:
    return axes._replace(offset_dims=(*axes.offset_dims, *_element_axes(ctx.avals_out[0])))


def _scattered_windows(axes: Any, ctx: LoweringContext) -> Any:
    return axes._replace(update_window_dims=(*axes.update_window_dims, *_element_axes(ctx.avals_in[2])))


# --- the rows ------------------------------------------------------------------------------------------

_ROWS: dict[Primitive, dict[str, _GoOn]] = {
    broadcast_in_dim_p: {"shape": _sizes, "broadcast_dimensions": _axes_of_result},
    concatenate_p: {},
    dynamic_slice_p: {"slice_sizes": _sizes},
    dynamic_update_slice_p: {},
    empty_p: {},
    gather_p: {"slice_sizes": _sizes, "dimension_numbers": _gathered_windows},
    reshape_p: {"new_sizes": _sizes},
    rev_p: {},
    scatter_p: {"dimension_numbers": _scattered_windows},
    select_n_p: {},
    slice_p: {"start_indices": _starts, "limit_indices": _sizes, "strides": _steps},
    split_p: {},
    squeeze_p: {},
    stack_p: {},
    tile_p: {"reps": _steps},
    transpose_p: {"permutation": _axes_of_operand},
    unstack_p: {},
}


def _extend(primitive: Primitive, row: dict[str, _GoOn]) -> None:
    """Extend the primitive's lowering rule to arrays of extended dtypes, by their storage."""
    rule = mlir.lowering_rule(primitive)
    assert rule is not None, f"{primitive} has a rule: the module that defines it stands below"

    @mlir.register_lowering(primitive)
    def lower(ctx: LoweringContext, *operands: str, **params: Any) -> Any:
        if not ctx.avals_out or not isinstance(ctx.avals_out[0].dtype, ExtendedDType):
            return rule(ctx, *operands, **params)
        params.update({name: go_on(params[name], ctx) for name, go_on in row.items()})
        stored = [(x, physical_aval(aval)) for x, aval in zip(operands, ctx.avals_in, strict=True)]
        if primitive in (dynamic_slice_p, dynamic_update_slice_p):
            stored += _rest_of_corner(ctx, stored)
        elif primitive is select_n_p:
            stored[0] = _choice_for_each_part(ctx, *stored[0], stored[1][1].shape)
        ctx.avals_in = [aval for _, aval in stored]
        ctx.avals_out = [physical_aval(aval) for aval in ctx.avals_out]
        return rule(ctx, *[x for x, _ in stored], **params)


def _rest_of_corner(ctx: LoweringContext, operands: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return an index 0 for each axis of the element, of the dtype of the other indices."""
    last = operands[-1][1]
    index = last if not last.ndim else ShapedArray((), "int32")  # without axes, there are no other indices
    return [(ctx.splat(0, index), index)] * len(_element_shape(ctx))


def _choice_for_each_part(
    ctx: LoweringContext, which: str, aval: ShapedArray, shape: tuple[int, ...]
) -> tuple[str, ShapedArray]:
    """Return the choices, each repeated for every part of its element, and their type; a single choice for all stays unchanged."""
    if not aval.shape:
        return which, aval
    return ctx.broadcast_in_dim(which, aval, shape, range(aval.ndim)), aval.update(shape=shape)


for _primitive, _row in _ROWS.items():
    _extend(_primitive, _row)


# --- equality ------------------------------------------------------------------------------------------


def _compare_parts(primitive: Primitive, compare: Callable[..., Any], join: Callable[..., Any]) -> None:
    rule = mlir.lowering_rule(primitive)
    assert rule is not None, f"{primitive} has a rule: the module that defines it stands below"

    @mlir.register_lowering(primitive)
    def lower(ctx: LoweringContext, x: str, y: str) -> Any:
        if not isinstance(ctx.avals_in[0].dtype, ExtendedDType):
            return rule(ctx, x, y)
        axes = _element_axes(ctx.avals_in[0])
        stored = [physical_aval(aval) for aval in ctx.avals_in]
        return inline_function(ctx, lambda a, b: [join(compare(a, b), axes)], [x, y], stored)[0]


_compare_parts(eq_p, eq, reduce_and)
_compare_parts(ne_p, ne, reduce_or)
