"""jitted function + types -> Exported: its StableHLO in portable form, and the types and trees of arguments and results

JAX: jax/_src/export/_export.py:Exported
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import runtime
from ..base.late_rooms import Slots
from ..core import ShapedArray, dtypes
from ..core.effects import ordered_effects
from ..derivatives.linear_maps import vjp
from ..pjit.jit import jit
from ..signature.shape_struct import ShapeDtypeStruct
from ..tree_util import PyTreeDef, tree_leaves, tree_unflatten

minimum_supported_calling_convention_version = 9
maximum_supported_calling_convention_version = 10


class _Later(Slots):
    """Slots for functions of modules that import this one."""

    call: Callable[..., Any]
    serialize: Callable[..., bytearray]


later = _Later()


@dataclasses.dataclass(frozen=True)
class DisabledSafetyCheck:
    """A check that is left out: `platform()` or `custom_call(name)`."""

    _impl: str

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """Let a function be called on another platform than that of its export."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """Let a function call a routine whose name may change. jitkit does not check these names."""
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """Return the name of the routine; None if this is another check."""
        found = re.match(r"custom_call:(.+)$", self._impl)
        return found.group(1) if found else None

    def __repr__(self) -> str:
        return self._impl


@dataclasses.dataclass(frozen=True, eq=False)
class Exported:
    """A function as StableHLO, with the types and trees of its arguments and results.

    `mlir_module_serialized` is the module in portable form. Its `main` takes the arrays `constants`, then the arguments
    whose numbers are in `module_kept_var_idx`; it does not need the other arguments.
    """

    fun_name: str
    in_tree: PyTreeDef
    in_avals: tuple[ShapedArray, ...]
    out_tree: PyTreeDef
    out_avals: tuple[ShapedArray, ...]
    platforms: tuple[str, ...]
    disabled_safety_checks: tuple[DisabledSafetyCheck, ...]
    mlir_module_serialized: bytes
    module_kept_var_idx: tuple[int, ...]
    constants: tuple[np.ndarray[Any, Any], ...] = ()
    _get_vjp: Callable[[], Exported] | None = None

    nr_devices = 1
    ordered_effects = ()
    unordered_effects = ()
    calling_convention_version = maximum_supported_calling_convention_version
    uses_global_constants = False

    def mlir_module(self) -> str:
        """Return the StableHLO text of the module."""
        return runtime.text_of_artifact(self.mlir_module_serialized)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result of the function. This works in `jit`, too, and in `grad` if `has_vjp()`. Raise ValueError
        for a tree, shapes or dtypes other than those of the export, or another platform.
        """
        return later.call(self, *args, **kwargs)

    def has_vjp(self) -> bool:
        """Return whether the function's reverse pass is known."""
        return self._get_vjp is not None

    def vjp(self) -> Exported:
        """Return the reverse pass as an Exported: it takes the leaves of the arguments, then a cotangent for each leaf
        of the result. Raise ValueError if it is not known.
        """
        if self._get_vjp is None:
            raise ValueError("No VJP is available")
        return self._get_vjp()

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """Return the function as bytes for `deserialize`, with its reverse passes up to the order `vjp_order`. Raise
        NotImplementedError for a tree with a type of node that `serialize` does not know, ValueError for a reverse pass
        that is not known.
        """
        return later.serialize(self, vjp_order)

    def __str__(self) -> str:
        return f"Exported(fun_name={self.fun_name}, ...)"


def default_export_platform() -> str:
    """Return the platform of the default device: "cpu", "cuda" or "tpu"."""
    platform = runtime.lowering_platform()
    return "cuda" if platform == "gpu" else platform


def is_symbolic_dim(p: Any) -> bool:
    """Return False: in jitkit each size is a known number."""
    return False


def export(
    fun_jit: Any, *, platforms: Sequence[str] | None = None, disabled_checks: Sequence[DisabledSafetyCheck] = ()
) -> Callable[..., Exported]:
    """Return a function that takes arguments, or their types (`ShapeDtypeStruct`), and returns the `Exported` for these
    types.

    Args:
      fun_jit: the result of `jit`.
      platforms: a list with one of "cpu", "cuda", "rocm" and "tpu"; by default the platform of the default device.
      disabled_checks: checks to leave out.

    Raises:
      NotImplementedError: when the returned function is called: for several platforms, callbacks and ordered effects.
      ValueError: for a function that is not jitted.
    """
    if not callable(getattr(fun_jit, "trace", None)):
        raise ValueError(f"Function to be exported must be the result of `jit` but is: {fun_jit}")
    chosen = tuple(platforms) if platforms is not None else (default_export_platform(),)

    def exporting(*args: Any, **kwargs: Any) -> Exported:
        return _exported(fun_jit, chosen, tuple(disabled_checks), args, kwargs)

    return exporting


def _exported(
    fun_jit: Any, platforms: tuple[str, ...], checks: tuple[DisabledSafetyCheck, ...], args: Any, kwargs: Any
) -> Exported:
    traced = fun_jit.trace(*args, **kwargs)
    lowered = traced.lower(lowering_platforms=platforms)
    jaxpr, module = traced.jaxpr, lowered._module
    if module.host_callbacks:
        raise NotImplementedError("serialization of host_callbacks is not yet implemented")
    if ordered := ordered_effects(jaxpr.effects):
        raise NotImplementedError(f"jitkit exports no function with ordered effects; this has {ordered}.")
    in_avals, out_avals = tuple(jaxpr.in_avals), tuple(jaxpr.out_avals)

    def reverse() -> Exported:
        backward = _reverse(fun_jit, traced.in_tree, in_avals, out_avals)
        types = [ShapeDtypeStruct(aval.shape, aval.dtype) for aval in (*in_avals, *out_avals)]
        return _exported(backward, platforms, checks, types, {})

    return Exported(
        traced.fun_name, traced.in_tree, in_avals, traced.out_tree, out_avals, platforms, checks,
        runtime.portable_artifact(lowered.as_text()), tuple(lowered._kept),
        tuple(np.asarray(each) for each in module.hoisted.values()), reverse,
    )  # fmt: skip


def _reverse(fun_jit: Any, in_tree: PyTreeDef, in_avals: Sequence[Any], out_avals: Sequence[Any]) -> Any:
    """Return the reverse pass of the function of leaves: leaves and cotangents -> cotangents. Bools replace cotangents
    that are float0 in JAX.
    """

    def forward(*leaves: Any) -> list[Any]:
        args, kwargs = tree_unflatten(in_tree, leaves)
        return tree_leaves(fun_jit(*args, **kwargs))

    def backward(*leaves: Any) -> list[Any]:
        primals, cts = leaves[: len(in_avals)], leaves[len(in_avals) :]
        _, pull = vjp(forward, *primals)
        of_floats = [
            ct if is_differentiable(aval) else float0_zeros(aval) for ct, aval in zip(cts, out_avals, strict=True)
        ]
        found = pull(of_floats)
        return [
            ct if is_differentiable(aval) else np.zeros(aval.shape, np.bool_)
            for ct, aval in zip(found, in_avals, strict=True)
        ]

    backward.__name__ = f"fun_vjp_{getattr(fun_jit, '__name__', 'function')}"
    return jit(backward)


def is_differentiable(aval: Any) -> bool:
    """Return whether values of a type have cotangents that are numbers."""
    return dtypes.issubdtype(aval.dtype, np.inexact)


def float0_zeros(aval: Any) -> np.ndarray[Any, Any]:
    """Return the cotangent of a value of integers or bools."""
    return np.zeros(aval.shape, dtypes.float0)
