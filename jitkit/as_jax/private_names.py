"""The few names of `jax._src` that libraries use, with ours, and which libraries; and modules that are imported but not
used

A line has a JAX module, the names in it, and the library that uses them. Other names are not provided: JAX does not
promise private names, and the list should stay short.

JAX: jax/version.py:__version__
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

from ..base import missing_names
from . import refusals

# JAX module: name in it -> our module and name
_NAMES: dict[str, dict[str, str]] = {
    "jax._src": {},
    "jax._src.api_util": {  # e3nn
        "infer_argnums_and_argnames": "jitkit.signature.argument_spec:infer_argnums_and_argnames"
    },
    "jax._src.ad_util": {"stop_gradient_p": "jitkit.lax:stop_gradient_p"},  # lineax
    "jax._src.checkify": {  # used by flax, and by chex's tests
        **{
            name: f"jitkit.experimental.checkify:{name}"
            for name in ("Error", "JaxException", "JaxRuntimeError", "check", "checkify", "init_error", "user_checks")
        },
        "Out": "jitkit.experimental.checkify.functional:Out",
    },
    "jax._src.compiler": {},  # chex: its `restrict_backends` looks for a function to restrict here, and finds none
    "jax._src.core": {  # used by flax (for floats of 8 bits) and numpyro
        name: f"jitkit.core:{name}" for name in ("Primitive", "ShapedArray", "physical_aval", "trace_state_clean")
    },
    "jax._src.dispatch": {},  # equinox looks for a function that waits at exit, and works without
    "jax._src.distributed": {"global_state": "jitkit.distributed:global_state"},  # orbax
    "jax._src.dtypes": {  # used by equinox and flax (for floats of 8 bits), tinygp
        "to_complex_dtype": "jitkit.core.dtypes:to_complex_dtype",
        "TypePromotionError": "jitkit.dtypes:TypePromotionError",
        "extended": "jitkit.dtypes:extended",
        "finfo": "jitkit.dtypes:finfo",
        "supports_inf": "jitkit.core.element_types:supports_inf",
        "DType": "jitkit.numpy:dtype",
        "ExtendedDType": "jitkit.core.element_types:ExtendedDType",
    },
    "jax._src.flatten_util": {"ravel_pytree": "jitkit.flatten_util:ravel_pytree"},  # blackjax
    "jax._src.numpy": {},
    "jax._src.numpy.ufuncs": {"ufunc": "jitkit.numpy:ufunc"},  # esquilax, and so jumanji
    "jax._src.numpy.util": {"promote_dtypes_complex": "jitkit.numpy.promotion:promote_dtypes_complex"},  # s2fft
    "jax._src.scipy": {},
    "jax._src.scipy.special": {  # jaxns
        name: f"jitkit.scipy.special:{name}" for name in ("gammaln", "logsumexp")
    },
    "jax._src.state": {},
    "jax._src.state.types": {"AbstractRef": "jitkit.core.references:AbstractRef"},  # flax
    "jax._src.tree_util": {  # used by flax and its tests, jaxlie and orbax
        "flatten_one_level": "jitkit.tree_util.registry:flatten_one_level",
        "_registry": "jitkit.tree_util.registry:registered",
        "prefix_errors": "jitkit.tree_util.paths:prefix_errors",
    },
    "jax._src.traceback_util": {  # flax, equinox
        "_exclude_paths": "jitkit.base.traceback_util:hidden",
        "api_boundary": "jitkit.base.traceback_util:api_boundary",
        "include_frame": "jitkit.base.traceback_util:include_frame",
        "register_exclusion": "jitkit.extend.source_info_util:register_exclusion",
    },
    "jax._src.literals": {},  # equinox
    "jax._src.typing": {  # jaxctx; annotations
        **{name: f"jitkit.typing:{name}" for name in ("Array", "ArrayLike", "DTypeLike", "SupportsDType")},
        "DType": "jitkit.numpy:dtype",
    },
    "jax._src.public_test_util": {"check_close": "jitkit.test_util:_check_close"},  # tinygp's tests
    # chex checks this before it asks for more CPUs
    "jax._src.xla_bridge": {"_backends": "jitkit.runtime.devices:clients"},
    # keras imports a kernel of Pallas that it uses on TPUs
    "jax.experimental.pallas.ops": {},
    "jax.experimental.pallas.ops.tpu": {},
    "jax.experimental.pallas.ops.tpu.splash_attention": {},
    "jax.experimental.pallas.ops.tpu.splash_attention.splash_attention_kernel": {},
    "jax.experimental.pallas.ops.tpu.splash_attention.splash_attention_mask": {},
    "jax.version": {"__version__": "jitkit:__version__", "__version_info__": "jitkit:__version_info__"},
}  # fmt: skip
_made: dict[str, types.ModuleType] = {}


def module(name: str) -> types.ModuleType | None:
    """Return a module with the listed names, each looked up at use; None for a module that is not listed."""
    if name not in _NAMES:
        return None
    if name not in _made:
        made = _made[name] = types.ModuleType(name, f"Names of `{name}` that libraries take: see `{__name__}`.")
        if any(other.startswith(f"{name}.") for other in _NAMES):
            made.__path__ = []
        vars(made)["__getattr__"] = _look_up(name)
    return _made[name]


def _look_up(inside: str) -> Any:
    def look_up(name: str) -> Any:
        if f"{inside}.{name}" in _NAMES:  # the submodule may have been imported by somebody else
            return importlib.import_module(f"{inside}.{name}")
        if name not in _NAMES.get(inside, {}):
            if missing_names.is_import_from(sys._getframe(1)):
                raise ImportError(refusals.no_module(f"{inside}.{name}"), name=inside)
            raise AttributeError(refusals.no_private_name(inside, name), name=name, obj=None)
        place, _, original = _NAMES[inside][name].partition(":")
        return getattr(importlib.import_module(place), original)

    return look_up
