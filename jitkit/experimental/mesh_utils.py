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
    """Return an array of devices of this shape, for `jax.sharding.Mesh`. How the chips of a TPU are wired is not looked at,
    so the last two arguments change nothing.

    Raise ValueError unless there are as many devices as places.
    """
    there = list(runtime.devices() if devices is None else devices)
    shape = tuple(map(operator.index, mesh_shape))
    if math.prod(shape) != len(there):
        raise ValueError(f"Number of devices {len(there)} must equal the product of mesh_shape {shape}")
    return np.array(there, dtype=object).reshape(shape)


missing_names.explain("experimental.mesh_utils", sys.modules[__name__])
