"""Windows of batches: `dynamic_slice` and `dynamic_update_slice`, where each element has a corner of its own.

One corner makes a slice; many make a gather, and where they are written, a scatter. So these two rules stand above the four
primitives that they are about.

JAX: jax/_src/lax/slicing.py:_dynamic_slice_batching_rule
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..interpreters.batching import AxisData, Dim, Dims, Vals, register_batcher
from .gather import GatherDimensionNumbers, batch_gather
from .index_checks import GatherScatterMode
from .joining import concatenate
from .scatter import ScatterDimensionNumbers, batch_scatter, scatter_p
from .shaping import broadcast, broadcast_in_dim
from .slicing import dynamic_slice_p, dynamic_update_slice_p


@register_batcher(dynamic_slice_p)
def _(axis: AxisData, vals: Vals, dims: Dims, *, slice_sizes: tuple[int, ...]) -> Any:
    """A window for each element, each with its own corner: what gather is for."""
    (x, *corner), (dim, *corner_dims) = vals, dims
    axes = tuple(range(len(corner)))
    indices, indices_dim = _index_vectors(axis, corner, corner_dims)
    return batch_gather(
        axis, [x, indices], [dim, indices_dim],
        dimension_numbers=GatherDimensionNumbers(offset_dims=axes, collapsed_slice_dims=(), start_index_map=axes),
        slice_sizes=slice_sizes, unique_indices=True, indices_are_sorted=True, mode=GatherScatterMode.CLIP,
        fill_value=None,
    )  # fmt: skip


@register_batcher(dynamic_update_slice_p)
def _(axis: AxisData, vals: Vals, dims: Dims) -> Any:
    (x, update, *corner), (dim, update_dim, *corner_dims) = vals, dims
    axes = tuple(range(len(corner)))
    indices, indices_dim = _index_vectors(axis, corner, corner_dims)
    return batch_scatter(
        scatter_p, axis, [x, indices, update], [dim, indices_dim, update_dim],
        dimension_numbers=ScatterDimensionNumbers(
            update_window_dims=axes, inserted_window_dims=(), scatter_dims_to_operand_dims=axes
        ),
        indices_are_sorted=True, unique_indices=True, mode=GatherScatterMode.CLIP, update_jaxpr=None, update_consts=(),
    )  # fmt: skip


def _index_vectors(axis: AxisData, corner: Sequence[Any], dims: Dims) -> tuple[Any, Dim]:
    """The indices of corners as index vectors: one, or where any index is a batch, one for each element."""
    if not corner:
        return np.array([], "int32"), None
    if all(dim is None for dim in dims):
        return concatenate([broadcast(index, (1,)) for index in corner], 0), None
    columns = [
        broadcast_in_dim(index, (axis.size, 1), () if dim is None else (0,))
        for index, dim in zip(corner, dims, strict=True)
    ]
    return concatenate(columns, 1), 0
