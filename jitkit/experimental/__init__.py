"""The names of `jax.experimental`: `io_callback` and `enable_x64` are here, the rest in modules

    array_serialization  the base class of checkpoint managers, which orbax uses in `isinstance`
    checkify     errors as values: checks within traced code
    colocated_python  functions that run where the devices of their arguments are: in this process
    compilation_cache  the folder where executables are kept
    hijax        names for libraries' own types with state, which jitkit does not support
    jet          derivatives of high order, by Taylor series
    layout       the layout and the sharding of an array
    mesh_utils   devices as meshes
    multihost_utils  messages between processes: here there is one process
    ode          ordinary differential equations
    pallas       a language of kernels: only its name, so that programs can import it
    pjit         `jit` under its older name
    serialize_executable  executables as bytes, for another process
    shard_map    `shard_map` under its older name
    sparse       sparse arrays

JAX: jax/_src/callback.py:io_callback
"""

from __future__ import annotations

import sys

from ..base import late_rooms, missing_names

late_rooms.attach(__name__)
missing_names.explain("experimental", sys.modules[__name__])
