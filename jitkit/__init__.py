"""jitkit: a small, complete, fast re-implementation of `jax.jit`, to be read and to be written again.

It carries JAX's public names: `import jitkit as jax`, `import jitkit.numpy as jnp`. To read it, follow one
call:

    pjit                         function -> Wrapped: the dispatcher, and the way of a first call
    api_util                     call -> signature + leaves
    tree_util                    value -> leaves + treedef
    interpreters/partial_eval    function + avals -> Jaxpr
    interpreters/mlir            Jaxpr -> StableHLO
    compiler                     StableHLO -> executable
    compilation_cache            signature -> executable

`import jitkit` does not import jax: the gate to jaxlib (`runtime`) opens with the first array or executable.
"""

from __future__ import annotations

from . import config as config
from . import core as core
from . import custom_derivatives as custom_derivatives
from . import debug as debug
from . import dtypes as dtypes
from . import errors as errors
from . import experimental as experimental
from . import flatten_util as flatten_util
from . import lax as lax
from . import nn as nn
from . import numpy as numpy
from . import random as random
from . import sharding as sharding
from . import stages as stages
from . import tree as tree
from . import tree_util as tree_util
from . import typing as typing
from .api import block_until_ready as block_until_ready
from .api import check_tracer_leaks as check_tracer_leaks
from .api import checking_leaks as checking_leaks
from .api import debug_key_reuse as debug_key_reuse
from .api import debug_nans as debug_nans
from .api import default_backend as default_backend
from .api import default_device as default_device
from .api import default_matmul_precision as default_matmul_precision
from .api import device_count as device_count
from .api import device_get as device_get
from .api import device_put as device_put
from .api import devices as devices
from .api import disable_jit as disable_jit
from .api import enable_x64 as enable_x64
from .api import eval_shape as eval_shape
from .api import local_device_count as local_device_count
from .api import local_devices as local_devices
from .api import make_jaxpr as make_jaxpr
from .api import named_scope as named_scope
from .api import numpy_rank_promotion as numpy_rank_promotion
from .api import process_count as process_count
from .api import process_index as process_index
from .api import process_indices as process_indices
from .array import Array as Array
from .callback import pure_callback as pure_callback
from .compilation_cache import clear_caches as clear_caches
from .core import ensure_compile_time_eval as ensure_compile_time_eval
from .core import typeof as typeof
from .custom_derivatives import custom_jvp as custom_jvp
from .dispatch import apply_primitive as apply_primitive
from .explain import explain as explain
from .explain import explain_cache_misses as explain_cache_misses
from .jit_call import Inline as Inline
from .pjit import jit as jit
from .report import log_compiles as log_compiles
from .shape_struct import ShapeDtypeStruct as ShapeDtypeStruct
from .tokens import effects_barrier as effects_barrier

__version__ = "0.1.0"

# What code written for JAX may ask for, and gets an honest answer about.
_NOT_YET = (
    "grad", "value_and_grad", "jvp", "vjp", "linearize", "jacfwd", "jacrev", "jacobian", "hessian", "vmap",
    "custom_vjp", "checkpoint", "pmap", "shard_map",
)  # fmt: skip


def __getattr__(name: str) -> object:
    if name in _NOT_YET:
        raise AttributeError(f'jitkit has no `{name}`, or not yet: see "What is not here yet" in its README.')
    raise AttributeError(f"module 'jitkit' has no attribute {name!r}")
