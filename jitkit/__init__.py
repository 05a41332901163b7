"""jitkit: a small, complete, fast re-implementation of `jax.jit`, to be read and to be written again.

It carries JAX's public names: `import jitkit as jax`, `import jitkit.numpy as jnp`. To read it, follow one
call:

    pjit                         function -> Wrapped: the dispatcher, and the way of a first call
    signature                    call -> signature + leaves
    tree_util                    value -> leaves + treedef
    interpreters/partial_eval    function + avals -> Jaxpr
    interpreters/mlir            Jaxpr -> StableHLO
    compiler                     StableHLO -> executable
    pjit/compilation_cache       signature -> executable

Each folder is a room, and its `__init__` the plate on the door: what comes in, what goes out, in which order to read.
`import jitkit` does not import jax: the gate to jaxlib (`runtime`) opens with the first array or executable.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from . import core as core
from . import custom_derivatives as custom_derivatives
from . import debug as debug
from . import dtypes as dtypes
from . import errors as errors
from . import experimental as experimental
from . import lax as lax
from . import numpy as numpy
from . import sharding as sharding
from . import stages as stages
from . import test_util as test_util
from . import tree as tree
from . import tree_util as tree_util
from . import typing as typing
from .base import config as config
from .base import late_rooms as late_rooms
from .base import missing_names as missing_names
from .base.report import log_compiles as log_compiles
from .core import ensure_compile_time_eval as ensure_compile_time_eval
from .core import typeof as typeof
from .custom_derivatives import closure_convert as closure_convert
from .custom_derivatives import custom_gradient as custom_gradient
from .custom_derivatives import custom_jvp as custom_jvp
from .custom_derivatives import custom_vjp as custom_vjp
from .derivatives.checkpoint import checkpoint as checkpoint
from .derivatives.checkpoint import checkpoint_policies as checkpoint_policies
from .derivatives.checkpoint import remat as remat
from .derivatives.gradients import grad as grad
from .derivatives.gradients import jvp as jvp
from .derivatives.gradients import linear_transpose as linear_transpose
from .derivatives.gradients import linearize as linearize
from .derivatives.gradients import value_and_grad as value_and_grad
from .derivatives.gradients import vjp as vjp
from .derivatives.jacobians import hessian as hessian
from .derivatives.jacobians import jacfwd as jacfwd
from .derivatives.jacobians import jacobian as jacobian
from .derivatives.jacobians import jacrev as jacrev
from .lax.callback import pure_callback as pure_callback
from .misses.sentences import explain as explain
from .misses.sentences import explain_cache_misses as explain_cache_misses
from .pjit.api import block_until_ready as block_until_ready
from .pjit.api import check_tracer_leaks as check_tracer_leaks
from .pjit.api import checking_leaks as checking_leaks
from .pjit.api import debug_key_reuse as debug_key_reuse
from .pjit.api import debug_nans as debug_nans
from .pjit.api import default_backend as default_backend
from .pjit.api import default_device as default_device
from .pjit.api import default_matmul_precision as default_matmul_precision
from .pjit.api import device_count as device_count
from .pjit.api import device_get as device_get
from .pjit.api import device_put as device_put
from .pjit.api import devices as devices
from .pjit.api import disable_jit as disable_jit
from .pjit.api import enable_x64 as enable_x64
from .pjit.api import eval_shape as eval_shape
from .pjit.api import local_device_count as local_device_count
from .pjit.api import local_devices as local_devices
from .pjit.api import make_jaxpr as make_jaxpr
from .pjit.api import named_scope as named_scope
from .pjit.api import no_execution as no_execution
from .pjit.api import numpy_rank_promotion as numpy_rank_promotion
from .pjit.api import process_count as process_count
from .pjit.api import process_index as process_index
from .pjit.api import process_indices as process_indices
from .pjit.compilation_cache import clear_caches as clear_caches
from .pjit.dispatch import apply_primitive as apply_primitive
from .pjit.jit import jit as jit
from .pjit.jit_call import Inline as Inline
from .pjit.mapping import vmap as vmap
from .runtime import foreign_nodes as foreign_nodes
from .runtime.array import Array as Array
from .runtime.tokens import effects_barrier as effects_barrier
from .signature.shape_struct import ShapeDtypeStruct as ShapeDtypeStruct

if TYPE_CHECKING:  # imported when they are asked for
    from . import flatten_util as flatten_util
    from . import nn as nn
    from . import ops as ops
    from . import random as random
    from . import scipy as scipy

__version__ = "0.1.0"

# What code written for JAX may ask for, and gets an honest answer about.
_NOT_YET = (
    "pmap", "shard_map",
)  # fmt: skip

_README = 'jitkit has no `{}`, or not yet: see "What is not here yet" in its README.'
late_rooms.attach(__name__, missing_names.LATE)  # a tenth less to read and run at every start
missing_names.explain("", sys.modules[__name__], {name: _README.format(name) for name in _NOT_YET})
for _name, _module in {
    "debug": debug, "errors": errors, "lax": lax, "lax.linalg": lax.linalg, "numpy": numpy, "numpy.linalg": numpy.linalg,
    "numpy.fft": numpy.fft, "sharding": sharding, "stages": stages, "tree": tree, "tree_util": tree_util,
}.items():  # fmt: skip
    missing_names.explain(_name, _module)
