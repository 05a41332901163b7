"""The names of `jax.example_libraries`, for small programs that train networks

    stax          layers: pairs of a function that makes parameters and one that applies them
    optimizers    triples of functions: state from parameters, the next state, parameters from a state

JAX: jax/example_libraries/stax.py:serial
"""

from __future__ import annotations

import sys

from ..base import missing_names

missing_names.explain("example_libraries", sys.modules[__name__])
