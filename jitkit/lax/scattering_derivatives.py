"""Derivatives of gather and scatter, which are each other's transposes.

Where windows of a plain scatter overlap, it is unspecified which update stays, and the tangent must be that update's.
So the rule numbers the updates, scatters the numbers, too, and reads them back.

JAX: jax/_src/lax/slicing.py:_scatter_jvp
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import Primitive
from ..interpreters.ad_rules import (
    Zero,
    defjvp,
    instantiate_zeros,
    is_undefined,
    no_cotangents,
    primitive_jvps,
    primitive_transposes,
)
from .creation import full, full_like, iota
from .elementwise import add, div, eq, mul, neg
from .gathering import GatherDimensionNumbers, gather, gather_p
from .scattering import (
    ScatterDimensionNumbers,
    scatter,
    scatter_add,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from .selection import select
from .shaping import reshape
from .utils import Shape

# --- gather -----------------------------------------------------------------------------------------------------------


def _transpose_gather(
    ct: Any,
    operand: Any,
    indices: Any,
    *,
    dimension_numbers: GatherDimensionNumbers,
    unique_indices: bool,
    indices_are_sorted: bool,
    mode: Any,
    **params: Any,
) -> list[Any]:
    """Transpose rule: add each window's cotangent to zeros, at the window's position."""
    if type(ct) is Zero:
        return no_cotangents((operand, indices))
    total = scatter_add(
        full(operand.aval.shape, 0, ct.dtype),
        indices,
        ct,
        ScatterDimensionNumbers(*dimension_numbers),
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        mode=mode,
    )
    return [total, None]


defjvp(gather_p, lambda g, out, x, i, **params: gather_p.bind(g, i, **_filled_with_zeros(params)), None)
primitive_transposes[gather_p] = _transpose_gather


def _filled_with_zeros(params: dict[str, Any]) -> dict[str, Any]:
    return params | {"fill_value": None if params["fill_value"] is None else 0}


def _windows(x: Any, indices: Any, shape: Shape, numbers: ScatterDimensionNumbers, **params: Any) -> Any:
    """Return the windows of x that a scatter of updates of this shape would overwrite."""
    left_out = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    sizes = iter([shape[axis] for axis in numbers.update_window_dims])
    window = [1 if axis in left_out else next(sizes) for axis in range(x.ndim)]
    return gather(x, indices, GatherDimensionNumbers(*map(tuple, numbers)), window, **params)


def _shape_of(updates: Any) -> Shape:
    shape: Shape = updates.aval.shape if is_undefined(updates) else updates.shape
    return shape


# --- scatter-add, scatter-sub, scatter-mul ----------------------------------------------------------------------------


def _jvp_sum(primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    operand, indices, updates = primals
    out = primitive.bind(operand, indices, updates, **params)
    of_operand, of_updates = instantiate_zeros(tangents[0]), instantiate_zeros(tangents[2])
    return out, primitive.bind(of_operand, indices, of_updates, **params)


def _transpose_sum(
    primitive: Primitive,
    ct: Any,
    operand: Any,
    indices: Any,
    updates: Any,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    mode: Any,
    **params: Any,
) -> list[Any]:
    if type(ct) is Zero:
        return no_cotangents((operand, indices, updates))
    of_updates = None
    if is_undefined(updates):
        of_updates = _windows(ct, indices, _shape_of(updates), dimension_numbers, mode=mode, fill_value=0)
        if primitive is scatter_sub_p:
            of_updates = neg(of_updates)
    return [ct if is_undefined(operand) else None, None, of_updates]


for _sum in (scatter_add_p, scatter_sub_p):
    primitive_jvps[_sum] = functools.partial(_jvp_sum, _sum)
    primitive_transposes[_sum] = functools.partial(_transpose_sum, _sum)


def _require_unique(unique_indices: bool) -> None:
    if not unique_indices:
        raise NotImplementedError("scatter_mul gradients are only implemented if `unique_indices=True`")


def _jvp_factors(g: Any, out: Any, x: Any, indices: Any, updates: Any, *, unique_indices: bool, **params: Any) -> Any:
    _require_unique(unique_indices)
    rest = {name: params[name] for name in ("dimension_numbers", "indices_are_sorted", "mode")}
    return mul(x, scatter_add(full_like(x, 0), indices, g, unique_indices=True, **rest))


def _transpose_product(
    ct: Any,
    operand: Any,
    indices: Any,
    updates: Any,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Any,
    **params: Any,
) -> list[Any]:
    if type(ct) is Zero:
        return no_cotangents((operand, indices, updates))
    if is_undefined(operand):
        promises = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices}
        return [scatter_mul(ct, indices, updates, dimension_numbers, mode=mode, **promises), None, None]
    _require_unique(unique_indices)
    product = mul(ct, operand)
    return [None, None, _windows(product, indices, _shape_of(updates), dimension_numbers, mode=mode, fill_value=0)]


defjvp(scatter_mul_p, lambda g, out, x, i, y, **params: scatter_mul_p.bind(g, i, y, **params), None, _jvp_factors)
primitive_transposes[scatter_mul_p] = _transpose_product

# --- scatter ----------------------------------------------------------------------------------------------------------


def _jvp_scatter(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    update_jaxpr: Any,
    update_consts: Any,
    dimension_numbers: ScatterDimensionNumbers,
    **params: Any,
) -> tuple[Any, Any]:
    if update_jaxpr is not None:
        raise NotImplementedError("scatter_apply JVP not implemented")
    operand, indices, updates = primals
    of_operand, of_updates = instantiate_zeros(tangents[0]), instantiate_zeros(tangents[2])
    if params["unique_indices"]:
        out = scatter(operand, indices, updates, dimension_numbers, **params)
        return out, scatter(of_operand, indices, of_updates, dimension_numbers, **params)
    shape = list(updates.shape)
    for axis in dimension_numbers.update_window_dims:
        shape[axis] = 1
    count = math.prod(shape)
    dtype = np.dtype(np.uint32 if count <= np.iinfo(np.uint32).max else np.uint64)
    ids = add(reshape(iota(dtype, count), shape), full_like(updates, 1, dtype=dtype))
    written = scatter(full(operand.shape, 0, dtype), indices, ids, dimension_numbers, **params)
    found = _windows(written, indices, updates.shape, dimension_numbers)

    def total(x: Any, changes: Any) -> tuple[Any, Any]:
        return (
            select(eq(written, full_like(written, 0)), x, full_like(x, 0)),
            select(eq(ids, found), changes, full_like(changes, 0)),
        )

    masked, masked_tangents = total(operand, updates), total(of_operand, of_updates)
    out, tangent = (
        scatter_add(x, indices, changes, dimension_numbers, **params) for x, changes in (masked, masked_tangents)
    )
    return out, tangent


def _transpose_scatter(
    ct: Any,
    operand: Any,
    indices: Any,
    updates: Any,
    *,
    update_jaxpr: Any,
    update_consts: Any,
    dimension_numbers: ScatterDimensionNumbers,
    **params: Any,
) -> list[Any]:
    if not params["unique_indices"]:
        raise NotImplementedError("scatter transpose is only implemented where unique_indices=True")
    if type(ct) is Zero:
        return no_cotangents((operand, indices, updates))
    shape, of_operand, of_updates = _shape_of(updates), None, None
    if is_undefined(operand):
        of_operand = scatter(ct, indices, full(shape, 0, ct.dtype), dimension_numbers, **params)
    if is_undefined(updates):
        of_updates = _windows(ct, indices, shape, dimension_numbers, mode=params["mode"], fill_value=0)
    return [of_operand, None, of_updates]


primitive_jvps[scatter_p] = _jvp_scatter
primitive_transposes[scatter_p] = _transpose_scatter

# --- scatter-min, scatter-max -----------------------------------------------------------------------------------------


def _jvp_extreme(
    primitive: Primitive,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    dimension_numbers: ScatterDimensionNumbers,
    update_jaxpr: Any,
    update_consts: Any,
    **params: Any,
) -> tuple[Any, Any]:
    """JVP rule: the tangent of an element is the mean of the tangents of all updates that are the extreme, and of the
    operand's element if that is the extreme, too.
    """
    operand, indices, updates = primals
    out = primitive.bind(
        operand,
        indices,
        updates,
        update_jaxpr=update_jaxpr,
        update_consts=update_consts,
        dimension_numbers=dimension_numbers,
        **params,
    )
    of_operand, of_updates = instantiate_zeros(tangents[0]), instantiate_zeros(tangents[2])

    def windows(x: Any) -> Any:
        return _windows(x, indices, updates.shape, dimension_numbers)

    def count(make: Callable[[], Any]) -> Any:
        return windows(scatter_add(full_like(operand, 0), indices, make(), dimension_numbers))

    before, after = windows(operand), windows(out)
    wins, stays = eq(updates, after), eq(before, after)
    winners = count(lambda: select(wins, full_like(updates, 1), full_like(updates, 0)))
    named = count(lambda: full_like(updates, 1))
    one = winners.dtype.type(1)
    share = select(stays, div(one, add(winners, one)), div(one, winners))
    of_update = select(wins, share, full_like(updates, 0))
    kept = select(stays, div(one, add(winners, one)), full_like(winners, 0))
    of_old = div(add(winners.dtype.type(-1), kept), named)
    change = add(mul(windows(of_operand), of_old), mul(of_updates, of_update))
    return out, scatter_add(of_operand, indices, change, dimension_numbers, **params)


for _extreme in (scatter_min_p, scatter_max_p):
    primitive_jvps[_extreme] = functools.partial(_jvp_extreme, _extreme)
