"""The names of `jax.extend`, for libraries with their own transformations. They refer to our own classes.

    backend             jaxlib's clients of this machine
    core                Jaxpr, Var, Primitive and the other parts of a jaxpr
    ifrt_programs       programs of plugins, which orbax imports
    linear_util         functions wrapped in layers of transformations
    random              implementations of random keys, and the hash of ours
    sharding            shardings in XLA's form
    source_info_util    where in the user's program an equation comes from

JAX: jax/_src/core.py:Jaxpr
"""

from __future__ import annotations

import sys

from ..base import late_rooms, missing_names

late_rooms.attach(__name__)

missing_names.explain("extend", sys.modules[__name__])
