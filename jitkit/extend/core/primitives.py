"""`add_p`, `jit_p` and the others: looked up in the packages that define primitives

JAX: jax/_src/core.py:Primitive
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from ...base import missing_names
from ...core import Primitive

# Primitives that `jitkit.lax` does not re-export: name -> module and name there.
_ELSEWHERE = {
    "jit_p": "jitkit.pjit.jit_call:jit_p",
    "remat_p": "jitkit.derivatives.checkpoint:remat_p",
    "name_p": "jitkit.derivatives.residuals:name_p",
    "closed_call_p": "jitkit.derivatives.saving:closed_call_p",
    "custom_lin_p": "jitkit.custom_derivatives.vjp:custom_lin_p",
    "custom_jvp_call_p": "jitkit.custom_derivatives.jvp:custom_jvp_call_p",
    "custom_vjp_call_p": "jitkit.custom_derivatives.vjp:custom_vjp_call_p",
    "random_bits_p": "jitkit.random.prng:random_bits_p",
    "random_fold_in_p": "jitkit.random.prng:random_fold_in_p",
    "random_seed_p": "jitkit.random.prng:random_seed_p",
    "random_split_p": "jitkit.random.prng:random_split_p",
    "random_unwrap_p": "jitkit.random.prng:random_unwrap_p",
    "random_wrap_p": "jitkit.random.prng:random_wrap_p",
    "threefry2x32_p": "jitkit.random.threefry2x32:threefry2x32_p",
}  # fmt: skip

# JAX's older call of a function. Libraries check for it; none of our equations has it.
call_p = Primitive("call", multiple_results=True)


def __getattr__(name: str) -> Any:
    if not name.endswith("_p"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _ELSEWHERE:
        place, _, original = _ELSEWHERE[name].partition(":")
        return getattr(importlib.import_module(place), original)
    for place in ("jitkit.lax", "jitkit.lax.linalg"):
        found = getattr(importlib.import_module(place), name, None)
        if isinstance(found, Primitive):
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


missing_names.explain("extend.core.primitives", sys.modules[__name__])
