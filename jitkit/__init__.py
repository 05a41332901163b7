"""jitkit: a complete and fast re-implementation of `jax.jit` in plain Python, to be read and rewritten.

It carries JAX's public names: `import jitkit as jax`, `import jitkit.numpy as jnp`. To read it, follow one
call:

    pjit                         function -> Wrapped: the dispatcher, and what a first call does
    signature                    call -> signature + leaves
    tree_util                    value -> leaves + treedef
    interpreters/partial_eval    function + avals -> Jaxpr
    interpreters/mlir            Jaxpr -> StableHLO
    compiler                     StableHLO -> executable
    pjit/compilation_cache       signature -> executable

From the ground up: `base`, `core`, `tree_util`, `jaxpr`, `runtime`, `signature`, `interpreters`, `loops`, `compiler`,
`targets`, `misses`, `pjit`, `lax`, `derivatives`, `custom_derivatives`; above them the user's vocabulary, `numpy`,
`random`, `nn`, `scipy`, `ops`, `debug`, `tree`, `image`, `custom_batching`, `experimental`, `example_libraries`, `export`, `ffi`,
`extend`, `api_util`, `profiler`, `monitoring`, `distributed`, `lib`, `dlpack`, `flatten_util`, `test_util`, `explorer`;
modules that re-export under JAX's names:
`ad_checkpoint`, `dtypes`, `errors`, `sharding`, `stages`, `typing`; and on top of it all `as_jax`, `bench` and `kata`.
Each folder is a room, and its `__init__` is the plate: it says what comes in, what goes out, and in which order to read.
`import jitkit` imports only the options. `__init__.pyi` has all public names; each is imported, with the rooms that it
needs, on first use. `runtime` imports jaxlib when the first array or executable is made, and JAX only for what jaxlib
alone cannot do, such as several devices or accelerators. `explorer` and `bench` import JAX to explore and measure it.
"""

from __future__ import annotations

import sys

from .base import config as config
from .base import late_rooms, missing_names

__version__ = "0.1.0"

# What lower rooms call and higher rooms define: slot -> the room that fills it on first use.
late_rooms.fillers.update(
    apply="jitkit.pjit.dispatch", aval_function="jitkit.runtime.buffers", node_type="jitkit.runtime.foreign_nodes",
    operators="jitkit.numpy.array_methods", rows="jitkit.lax.joining", unstack="jitkit.lax.joining",
    index_in_dim="jitkit.lax.slicing", broadcast_in_dim="jitkit.lax.shaping", like_aval="jitkit.lax.creation",
    jaxpr_to_text="jitkit.jaxpr.printer", eqn_to_text="jitkit.jaxpr.printer", pp_call="jitkit.jaxpr.printer",
    jaxpr_to_html="jitkit.jaxpr.html", guess="jitkit.tree_util.compiled",
    put_together="jitkit.tree_util.compiled", paths="jitkit.tree_util.compiled", patience="jitkit.tree_util.compiled",
    custom_jvp="jitkit.custom_derivatives.jvp", linearize="jitkit.derivatives.linear_maps",
    linear_transpose="jitkit.derivatives.linear_maps",
    unspecified="jitkit.runtime.devices", in_type="jitkit.runtime.meshes",
    dynamic_slice_p="jitkit.lax.dynamic_slicing", logaddexp="jitkit.numpy.log_sums", ufunc_of="jitkit.numpy.ufunc_objects",
)  # fmt: skip

late_rooms.attach(__name__)
missing_names.explain("", sys.modules[__name__])
