"""Lays devices out as meshes, in the order in which they are listed

JAX: jax/_src/mesh_utils.py:create_device_mesh
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import runtime
from ..base import missing_names


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """Return an array of devices of this shape, for `jax.sharding.Mesh`. The wiring of a TPU's chips is ignored, so the
    last two arguments change nothing. Raise ValueError unless there are as many devices as places.
    """
    there = list(runtime.devices() if devices is None else devices)
    shape = tuple(map(operator.index, mesh_shape))
    if math.prod(shape) != len(there):
        raise ValueError(f"Number of devices {len(there)} must equal the product of mesh_shape {shape}")
    return np.array(there, dtype=object).reshape(shape)


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """Return an array of devices of the shape `mesh_shape * dcn_mesh_shape`, for `jax.sharding.Mesh`. Devices of one
    group are neighbours.

    A group is a slice of a TPU; with `process_is_granule`, the devices of one process. `mesh_shape` is the shape within
    a group, `dcn_mesh_shape` that of the groups. `allow_split_physical_axes` changes nothing.

    Raise ValueError unless there are as many groups, and devices in each, as places, or if devices have no slices.
    """
    there = list(runtime.devices() if devices is None else devices)
    key = "process_index" if process_is_granule else "slice_index"
    if not hasattr(there[0], key):
        raise ValueError(f"Device {there[0]} does not have attribute {key}. See `process_is_granule` option.")
    groups: dict[int, list[Any]] = {}
    for device in there:
        groups.setdefault(getattr(device, key), []).append(device)
    keys = sorted(groups) if should_sort_granules_by_key else list(groups)
    if math.prod(dcn_mesh_shape) != len(keys):
        raise ValueError(
            f"Number of slices {len(keys)} must equal the product of dcn_mesh_shape {tuple(dcn_mesh_shape)}"
        )
    within = np.stack([create_device_mesh(mesh_shape, groups[each]) for each in keys])
    pairs = within.reshape(*dcn_mesh_shape, *mesh_shape)
    rank = len(dcn_mesh_shape)
    order = [axis for i in range(rank) for axis in (i, rank + i)]
    return pairs.transpose(order).reshape([a * b for a, b in zip(dcn_mesh_shape, mesh_shape, strict=True)])


missing_names.explain("experimental.mesh_utils", sys.modules[__name__])
