"""scatter: writes many windows of one array, or combines them with its elements. `x.at[i].set(y)` and its relatives use
it.

It mirrors gather: the last axis of the indices is an index vector, whose entry i says where the window starts along the
operand's axis `scatter_dims_to_operand_dims[i]`. The axes `update_window_dims` of the updates are the window, the
others select it. The operand's axes `inserted_window_dims` have size 1 in the window and are left out of the updates.

A region, a jaxpr on two scalars, combines an element and its update. Where windows overlap, XLA combines them in any
order, so the result of a plain scatter is then undefined, and sums of floats differ in their last bits.

JAX: jax/_src/lax/slicing.py:_scatter_shape_rule
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from .. import core
from ..base import edits
from ..core import Primitive, ShapedArray, dtypes
from ..interpreters.batching import AxisData, Dims, Vals, bdim_at_front, moveaxis, register_batcher, shifted_by_numpy
from ..interpreters.mlir import LoweringContext, register_lowering, type_of
from ..jaxpr import Jaxpr
from .creation import full
from .elementwise import add, max, min, mul, sub
from .index_checks import AxisChecks, GatherScatterMode, dimension_list
from .reducers import inline_function, scalar_reducer
from .selection import clamp
from .shaping import broadcast_in_dim
from .utils import check_same_dtypes


class ScatterDimensionNumbers(NamedTuple):
    """Says which axes of operand, indices and updates correspond in a scatter; see the module's text.
    `update_window_dims`, `inserted_window_dims` and `operand_batching_dims` ascend.
    """

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


# --- shape rule ---------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def _check_scatter(
    operand: ShapedArray, indices: ShapedArray, updates: ShapedArray, dnums: ScatterDimensionNumbers
) -> None:
    if indices.ndim < 1:
        raise TypeError(
            "Scatter index leaf dimension must be within [0, rank(indices) + 1). "
            "rank(indices) is 0 and scatter index leaf dimension is -1."
        )
    expected_rank = indices.ndim - 1 + len(dnums.update_window_dims)
    if updates.ndim != expected_rank:
        raise TypeError(f"Updates tensor must be of rank {expected_rank}; got {updates.ndim}.")
    _check_axes(operand, indices, updates, dnums)
    _check_windows(operand, indices, updates, dnums)
    if not dtypes.issubdtype(indices.dtype, np.integer):
        raise ValueError(f"indices must have an integer type{edits.INTEGER_INDICES}")
    check_same_dtypes("scatter", operand, updates)


def _check_axes(
    operand: ShapedArray, indices: ShapedArray, updates: ShapedArray, dnums: ScatterDimensionNumbers
) -> None:
    check = AxisChecks("scatter")
    check.ascending("update_window_dims", dnums.update_window_dims, updates.ndim)
    check.ascending("inserted_window_dims", dnums.inserted_window_dims, operand.ndim)
    check.ascending("operand_batching_dims", dnums.operand_batching_dims, operand.ndim)
    for name in ("inserted_window_dims", "scatter_dims_to_operand_dims"):
        check.disjoint(name, getattr(dnums, name), "operand_batching_dims", dnums.operand_batching_dims)
    sizes = check.batching(
        operand,
        indices,
        dnums.operand_batching_dims,
        "scatter_indices_batching_dims",
        dnums.scatter_indices_batching_dims,
    )
    which_axes = [axis for axis in range(updates.ndim) if axis not in dnums.update_window_dims]
    update_sizes = tuple(updates.shape[which_axes[axis]] for axis in dnums.scatter_indices_batching_dims)
    if sizes != update_sizes:
        raise TypeError(
            "Scatter op requires operand batching dimensions and updates batching dimensions to have the same "
            f"shape, got {sizes} and {update_sizes}."
        )
    window = len(dnums.update_window_dims) + len(dnums.inserted_window_dims) + len(dnums.operand_batching_dims)
    if operand.ndim != window:
        raise TypeError(f"Scatter op has window of size {window}; doesn't match operand of rank {operand.ndim}.")
    if len(dnums.scatter_dims_to_operand_dims) != indices.shape[-1]:
        raise TypeError(
            f"Scatter op has {len(dnums.scatter_dims_to_operand_dims)} elements in scatter_dims_to_operand_dims and the bound of "
            f"dimension index_vector_dim={indices.ndim - 1} of indices is {indices.shape[-1]}. These two numbers must be equal"
        )
    for i, axis in enumerate(dnums.scatter_dims_to_operand_dims):
        if not 0 <= axis < operand.ndim:
            raise TypeError(
                f"Invalid scatter_dims_to_operand_dims mapping; domain is [0, {operand.ndim}), got: {i}->{axis}."
            )
    check.distinct("scatter_dims_to_operand_dims", dnums.scatter_dims_to_operand_dims)


def _check_windows(
    operand: ShapedArray, indices: ShapedArray, updates: ShapedArray, dnums: ScatterDimensionNumbers
) -> None:
    for axis, limit in zip(dnums.update_window_dims, _window_limits(operand.shape, dnums), strict=True):
        if updates.shape[axis] > limit:
            raise TypeError(
                "Bounds of the window dimensions of updates must not exceed the bounds of the corresponding dimensions of operand. "
                f"For dimension {axis}, updates bound is {updates.shape[axis]}, operand bound is {limit}."
            )
    which_axes = [axis for axis in range(updates.ndim) if axis not in dnums.update_window_dims]
    for axis, size in zip(which_axes, indices.shape[:-1], strict=True):
        if updates.shape[axis] != size:
            raise TypeError(
                "Bounds of the scatter dimensions of updates must be the same as the bounds of the corresponding dimensions of "
                f"scatter indices. For scatter dimension {axis}, updates bound is {updates.shape[axis]}, indices bound is {size}."
            )


def _window_limits(shape: Sequence[int], dnums: ScatterDimensionNumbers) -> list[int]:
    left_out = {*dnums.inserted_window_dims, *dnums.operand_batching_dims}
    return [size for axis, size in enumerate(shape) if axis not in left_out]


# --- the primitives -----------------------------------------------------------------------------------------


def _define_scatter(name: str) -> Primitive:
    """Define and return a scatter primitive. The primitives differ in their derivatives, so they need different names;
    the parameter `update_jaxpr` says how an update is combined with an element.
    """
    primitive = Primitive(name, pure_shape_rule=False)

    @primitive.def_abstract_eval
    def _(
        operand: ShapedArray,
        indices: ShapedArray,
        updates: ShapedArray,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        **params: Any,
    ) -> ShapedArray:
        _check_scatter(operand, indices, updates, dimension_numbers)
        return operand

    register_lowering(primitive)(_lower_scatter)
    register_batcher(primitive)(functools.partial(batch_scatter, primitive))
    return primitive


def _lower_scatter(
    ctx: LoweringContext,
    operand: str,
    indices: str,
    updates: str,
    *,
    update_jaxpr: Jaxpr | None,
    update_consts: tuple[Any, ...],
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode,
) -> str:
    dnums = dimension_numbers
    if update_jaxpr is not None and update_jaxpr.out_avals[0].dtype != ctx.avals_out[0].dtype:
        raise ValueError(
            "Cannot lower jaxpr with verifier errors:\n"
            f"The function of an update takes {update_jaxpr.in_avals[0].str_short()} and returns "
            f"{update_jaxpr.out_avals[0].str_short()}. What it returns is stored in place of what it takes: convert it there."
        )
    if update_jaxpr is not None and update_jaxpr.effects:
        raise NotImplementedError("Cannot lower effectful `scatter`.")
    if mode is GatherScatterMode.CLIP:
        [indices] = inline_function(
            ctx, functools.partial(_clamped, dnums=dnums), [operand, indices, updates], ctx.avals_in
        )
    axes = dimension_list(
        update_window_dims=dnums.update_window_dims,
        inserted_window_dims=dnums.inserted_window_dims,
        input_batching_dims=dnums.operand_batching_dims,
        scatter_indices_batching_dims=dnums.scatter_indices_batching_dims,
        scatter_dims_to_operand_dims=dnums.scatter_dims_to_operand_dims,
    )
    vector_axis = f"index_vector_dim = {ctx.avals_in[1].ndim - 1}"
    attributes = (
        f"indices_are_sorted = {str(indices_are_sorted).lower()}, "
        f"scatter_dimension_numbers = #stablehlo.scatter<{', '.join(filter(None, [axes, vector_axis]))}>, "
        f"unique_indices = {str(unique_indices).lower()}"
    )

    def combine(old: str, update: str) -> str:
        return update if update_jaxpr is None else ctx.inline(update_jaxpr, [old, update])[0]

    of_parts = {scatter_add_p: "add", scatter_sub_p: "subtract"}.get(cast(Primitive, ctx.primitive))
    if of_parts and ctx.module.platform == "gpu" and ctx.avals_in[0].dtype == np.complex128:
        return _scatter_by_parts(ctx, operand, indices, updates, attributes, of_parts)
    return _emit_scatter(ctx, [operand, indices, updates], ctx.avals_in, attributes, combine)


def _emit_scatter(
    ctx: LoweringContext,
    operands: Sequence[str],
    avals: Sequence[Any],
    attributes: str,
    combine: Callable[[str, str], str],
) -> str:
    scalar = ShapedArray((), avals[0].dtype)
    listed = ", ".join(operands)
    [out] = ctx.emit_regions(
        f'"stablehlo.scatter"({listed}) <{{{attributes}}}>',
        [([scalar, scalar], lambda old, update: [(combine(old, update), scalar)])],
        f"({', '.join(map(type_of, avals))}) -> {type_of(avals[0])}",
        1,
    )
    return out


def _scatter_by_parts(
    ctx: LoweringContext, operand: str, indices: str, updates: str, attributes: str, operation: str
) -> str:
    """Write a scatter that adds or subtracts complex numbers of 128 bits, real and imaginary parts separately, since no
    GPU can update 128 bits in one step. Return the result's name.
    """
    whole, places, changes = ctx.avals_in
    avals = [whole.update(dtype=np.float64), places, changes.update(dtype=np.float64)]
    scalar = type_of(ShapedArray((), np.float64))

    def combine(old: str, update: str) -> str:
        return ctx.emit_text(f"stablehlo.{operation} {old}, {update} : {scalar}")

    results = []
    for part in ("real", "imag"):
        old = ctx.emit_op(f"stablehlo.{part} {operand}", [whole], avals[0])
        update = ctx.emit_op(f"stablehlo.{part} {updates}", [changes], avals[2])
        results.append(_emit_scatter(ctx, [old, indices, update], avals, attributes, combine))
    return ctx.emit("stablehlo.complex", results, out=whole)


def _clamped(operand: Any, indices: Any, updates: Any, *, dnums: ScatterDimensionNumbers) -> list[Any]:
    """Return the indices, clamped so that every window fits; XLA would drop a window that does not."""
    left_out = {*dnums.inserted_window_dims, *dnums.operand_batching_dims}
    sizes = iter([updates.shape[axis] for axis in dnums.update_window_dims])
    room = [size - (1 if axis in left_out else next(sizes)) for axis, size in enumerate(operand.shape)]
    last = np.array([room[axis] for axis in dnums.scatter_dims_to_operand_dims], np.int64)
    last = np.minimum(last, np.iinfo(indices.dtype).max).astype(indices.dtype)
    return [clamp(indices.dtype.type(0), indices, broadcast_in_dim(last, indices.shape, (indices.ndim - 1,)))]


def batch_scatter(
    primitive: Primitive, axis: AxisData, vals: Vals, dims: Dims, *, dimension_numbers: ScatterDimensionNumbers,
    **params: Any,
) -> Any:  # fmt: skip
    """Batching rule of scatters. Operand and updates become batches. If all elements have the same indices, the window
    gets the whole batch axis; otherwise the axis becomes a batching dimension.
    """
    (operand, indices, updates), (dim, indices_dim, updates_dim) = vals, dims
    operand, updates = bdim_at_front(operand, dim, axis.size), bdim_at_front(updates, updates_dim, axis.size)
    window, inserted, to_operand, batching, indices_batching = dimension_numbers
    window, inserted, to_operand, batching = (shifted_by_numpy(a, 0) for a in (window, inserted, to_operand, batching))
    if indices_dim is None:
        window = (0, *window)
    else:
        indices = moveaxis(indices, indices_dim, 0)
        batching, indices_batching = (0, *batching), (0, *shifted_by_numpy(indices_batching, 0))
    numbers = ScatterDimensionNumbers(window, inserted, to_operand, batching, indices_batching)
    return primitive.bind(operand, indices, updates, dimension_numbers=numbers, **params), 0


scatter_p = _define_scatter("scatter")
scatter_add_p = _define_scatter("scatter-add")
scatter_sub_p = _define_scatter("scatter-sub")
scatter_mul_p = _define_scatter("scatter-mul")
scatter_min_p = _define_scatter("scatter-min")
scatter_max_p = _define_scatter("scatter-max")

# --- public functions ---------------------------------------------------------------------------------------

Mode = str | GatherScatterMode | None


def _bind_scatter(
    primitive: Primitive,
    update_jaxpr: Jaxpr | None,
    operands: tuple[Any, Any, Any],
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Mode,
) -> Any:
    return primitive.bind(
        *operands,
        update_jaxpr=update_jaxpr,
        update_consts=() if update_jaxpr is None else tuple(update_jaxpr.consts),
        dimension_numbers=dimension_numbers,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=GatherScatterMode.from_any(mode),
    )


def scatter(
    operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: ScatterDimensionNumbers, *,
    indices_are_sorted: bool = False, unique_indices: bool = False, mode: Mode = None,
) -> Any:  # fmt: skip
    """Return `operand` with windows replaced by `updates`. Most programs write `x.at[indices].set(y)`.

    Args:
      operand: an array.
      scatter_indices: integers; the last axis is the index vector.
      updates: an array of the operand's dtype.
      dimension_numbers: which axes correspond.
      indices_are_sorted, unique_indices: promises that may make it faster.
      mode: for indices out of bounds, see `GatherScatterMode`; by default such windows are dropped.

    Raises:
      TypeError: dimension numbers, shapes and dtypes do not fit together.
      ValueError: the indices are not integers, or the mode is unknown.
    """
    operands = operand, scatter_indices, updates
    return _bind_scatter(scatter_p, None, operands, dimension_numbers, indices_are_sorted, unique_indices, mode)


def _combining(primitive: Primitive, combine: Callable[[Any, Any], Any], name: str, doc: str) -> Callable[..., Any]:
    """Return the public function of a combining scatter. `doc` stands in its docstring between "windows" and "updates"."""

    def function(
        operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: ScatterDimensionNumbers, *,
        indices_are_sorted: bool = False, unique_indices: bool = False, mode: Mode = None,
    ) -> Any:  # fmt: skip
        reducer = scalar_reducer(combine, ShapedArray((), dtypes.dtype(operand)))
        operands = operand, scatter_indices, updates
        return _bind_scatter(primitive, reducer, operands, dimension_numbers, indices_are_sorted, unique_indices, mode)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return `operand` with windows {doc} `updates`; for arguments and errors see `scatter`."
    return function


scatter_add = _combining(scatter_add_p, add, "scatter_add", "to which are added the")
scatter_sub = _combining(scatter_sub_p, sub, "scatter_sub", "from which are subtracted the")
scatter_mul = _combining(scatter_mul_p, mul, "scatter_mul", "multiplied by the")
scatter_min = _combining(scatter_min_p, min, "scatter_min", "that become the elementwise minimum of themselves and the")
scatter_max = _combining(scatter_max_p, max, "scatter_max", "that become the elementwise maximum of themselves and the")


def scatter_apply(
    operand: Any, scatter_indices: Any, func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers, *, update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False, unique_indices: bool = False, mode: Mode = None,
) -> Any:  # fmt: skip
    """Return `operand` with `func`, a function of one scalar, applied to the elements of windows, once for each time
    they are indexed.

    Args:
      update_shape: the shape that updates would have.

    For the other arguments see `scatter`. Raise ValueError if `func` returns anything but an array, NotImplementedError
    if it uses a traced value from outside.
    """
    aval = core.get_aval(operand)
    unused = full(tuple(update_shape), 0, aval.dtype)
    scalar = aval.update(shape=())
    reducer = scalar_reducer(func, scalar, unary=True)
    operands = operand, scatter_indices, unused
    return _bind_scatter(scatter_p, reducer, operands, dimension_numbers, indices_are_sorted, unique_indices, mode)
