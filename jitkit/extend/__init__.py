"""The names of `jax.extend`: what libraries take that write transformations of their own. They hand on our own classes.

    core                Jaxpr, Var, Primitive and what else a jaxpr is made of
    linear_util         functions that are wrapped in transformations, layer by layer
    random              implementations of random keys, and the hash of the one that is here
    source_info_util    where in the user's program an equation comes from

JAX: jax/_src/core.py:Jaxpr
"""

from __future__ import annotations

import sys

from ..base import late_rooms, missing_names

late_rooms.attach(__name__)

missing_names.explain("extend", sys.modules[__name__])
