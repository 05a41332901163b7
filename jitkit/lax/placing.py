"""Puts a tree of values on a device, as Arrays: `device_put`, now or by an equation.

Eagerly the values move. Under a trace, `device_put` is recorded like any operation. A compiled program moves nothing
between devices: its call decides where it runs, and it computes in its device's memory; only a result put into another
memory is stored there. An eager derivative or `vmap` moves its values. The reverse pass moves a cotangent back to the
place of the value.

JAX: jax/_src/dispatch.py:device_put_p
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import core, runtime
from ..base import traceback_util
from ..base.late_rooms import import_room
from ..core import Primitive, Tracer
from ..interpreters.ad_rules import Zero, deflinear, is_undefined, primitive_transposes
from ..interpreters.batching import AxisData, Dims, Vals, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering
from ..interpreters.partial_eval import DynamicJaxprTrace, DynamicJaxprTracer, staging_rules
from ..jaxpr import Literal
from ..runtime.array import Array, as_array
from ..runtime.devices import is_spec
from ..runtime.putting import check_place, check_put, device_put_leaf
from ..tree_util import broadcast_prefix, tree_flatten, tree_unflatten
from .creation import MemorySpace


class ArrayCopySemantics(enum.Enum):
    """Says whether a value's memory is reused, copied or given away."""

    REUSE_INPUT = enum.auto()  # the result may share the value's memory
    DONATE_INPUT = enum.auto()  # the value is not needed any more
    ALWAYS_COPY = enum.auto()  # the value stays, and the result has memory of its own

    def __repr__(self) -> str:
        return f"ArrayCopySemantics.{self.name}"


REUSE_INPUT, DONATE_INPUT, ALWAYS_COPY = ArrayCopySemantics


class _DevicePut(Primitive):
    """The primitive of `device_put`: without a trace it moves the values, without compiling a program."""

    __slots__ = ()

    def bind(self, *args: Any, **params: Any) -> Any:
        """Return the values, moved, or what the current trace makes of them."""
        if core.current_trace() is not None or core.innermost_trace(args) is not None:
            return super().bind(*args, **params)
        return list(map(_put, args, params["devices"], params["copy_semantics"]))


def _put(x: Any, device: Any, copies: ArrayCopySemantics) -> Any:
    """Return one value, put on a device now."""
    if isinstance(x, Tracer):
        raise core.escaped_tracer_error(x)
    new = device_put_leaf(x, _in_space(x, device) if isinstance(device, MemorySpace) else device)
    return new if new is not x or copies is REUSE_INPUT else new.copy()


def _in_space(x: Any, space: MemorySpace) -> runtime.Sharding:
    """Return the sharding of a value, or its default one, in another memory. Raise ValueError for `MemorySpace.Any`."""
    if space is MemorySpace.Any:
        raise ValueError("device_put: MemorySpace.Any is no place. Say MemorySpace.Device or MemorySpace.Host.")
    sharding = as_array(x).sharding
    return (
        runtime.in_device_memory(sharding)
        if space is MemorySpace.Device
        else runtime.in_memory(sharding, "pinned_host")
    )


device_put_p = _DevicePut("device_put", multiple_results=True)


@device_put_p.def_abstract_eval
def _(*operands: Any, devices: Any, srcs: Any, copy_semantics: Any) -> list[Any]:
    return list(operands)


@register_lowering(device_put_p)
def _(ctx: LoweringContext, *operands: str, **params: Any) -> list[str]:
    return list(operands)


def _put_nothing(trace: DynamicJaxprTrace, operands: list[DynamicJaxprTracer], params: dict[str, Any]) -> Any:
    """Staging rule: return the operands, and record nothing, if all are numpy constants that need not be moved or
    copied. Otherwise return NotImplemented: then the equation is recorded.
    """
    if set(params["devices"]) != {None} or set(params["copy_semantics"]) != {REUSE_INPUT}:
        return NotImplemented
    values = [x.atom.val if isinstance(x.atom, Literal) else trace.consts.get(x.atom) for x in operands]
    return operands if all(isinstance(value, np.ndarray | np.generic) for value in values) else NotImplemented


staging_rules[device_put_p] = _put_nothing


def _transpose(
    cts: Sequence[Any], *operands: Any, devices: Any, srcs: Any, copy_semantics: Sequence[ArrayCopySemantics]
) -> list[Any]:
    """Transpose rule: a cotangent goes back to the place of the value; zeros stay. Raise ValueError if the operand was donated."""
    moving = [i for i, x in enumerate(operands) if is_undefined(x) and type(cts[i]) is not Zero]
    results = [Zero(x.aval) if is_undefined(x) else None for x in operands]
    if any(copy_semantics[i] is DONATE_INPUT for i in moving):
        raise ValueError(
            "donate=True is not allowed during tranposition of device_put. Please file an issue if you want this to be supported."
            "\nThe reverse pass reads what the forward pass has put. Take `donate=True` away in what is differentiated."
        )
    if moving:
        back = device_put_p.bind(
            *[cts[i] for i in moving],
            devices=tuple(srcs[i] for i in moving),
            srcs=tuple(devices[i] for i in moving),
            copy_semantics=(ALWAYS_COPY,) * len(moving),
        )
        for i, ct in zip(moving, back, strict=True):
            results[i] = ct
    return results


deflinear(device_put_p, _transpose)
primitive_transposes[device_put_p] = _transpose


@register_batcher(device_put_p)
def _(axis: AxisData, vals: Vals, dims: Dims, **params: Any) -> Any:
    return device_put_p.bind(*vals, **params), list(dims)


# --- what users call ---------------------------------------------------------------------------------------------------


@traceback_util.api_boundary
def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> Any:
    """Return the tree with its leaves on a device (or a `jax.sharding.Sharding`, or in a block of `jax.set_mesh` a
    `jax.sharding.PartitionSpec`), as Arrays committed to it. `device` may be a tree of these, a prefix of `x`. A
    `jitkit.memory.Space` moves values to the memory of their device, or to the host's memory beside it.

    Without `device`, values go to the default device and stay uncommitted: computations may move them.

    Args:
      src: where the values are, or a tree of places: a parameter of the equation, by default the sharding of a value that is
        known while tracing.
      donate: whether the arrays are not needed any more: True, False, or a tree of bools. It has no effect yet; in JAX it has
        none for an array that stays on its device.
      may_alias: with False, the result has new memory; otherwise an array in its place is returned itself. It may be a tree.

    Raises:
      TypeError: for a leaf that is not an array.
      UnexpectedTracerError: for a tracer that has outlived its trace.
      ValueError: for another `device`; for a tree of another form; for `donate` and `may_alias` at once.
    """
    leaves, tree = tree_flatten(x)
    places = list(map(_in_place, _for_each_leaf("device", device, x, len(leaves))))
    sources = _for_each_leaf("source", src, x, len(leaves))
    given = _for_each_leaf("donate", donate, x, len(leaves))
    shared = _for_each_leaf("may_alias", may_alias, x, len(leaves))
    semantics = tuple(map(_semantics, given, shared))
    for leaf, place in zip(leaves, places, strict=True):
        check_put(leaf)
        if not isinstance(place, MemorySpace):
            check_place(place)
    with runtime.explicit_transfers("device_put"):
        results = device_put_p.bind(
            *leaves, devices=tuple(places), srcs=tuple(map(_source, sources, leaves)), copy_semantics=semantics
        )
    return tree_unflatten(tree, results)


def make_array_from_process_local_data(sharding: Any, local_data: Any, global_shape: Any = None) -> Any:
    """Return the array of which this process has `local_data`, on the devices of a sharding. With one process, that is
    the whole array, as by `device_put`. `sharding` and `local_data` may be trees.

    Args:
      global_shape: the shape of the whole array, or a tree of shapes; it must be that of `local_data`, or None.

    Raises:
      ValueError: `global_shape` is another shape.
    """
    shapes = broadcast_prefix(global_shape, local_data, lambda x: x is None or isinstance(x, tuple))
    for shape, x in zip(shapes, tree_flatten(local_data)[0], strict=True):
        if shape is not None and shape != x.shape:
            raise ValueError(
                "When calling `make_array_from_process_local_data` on a single process, global_shape should be None or equal to "
                f"local_data.shape.Got global_shape={shape} and local_data.shape={x.shape}."
            )
    return device_put(local_data, sharding)


def placed(x: Any, device: Any) -> Any:
    """Return an array, put on a device; None leaves it where it is."""
    return x if device is None else device_put(x, device)


def _semantics(donate: bool | None, may_alias: bool | None) -> ArrayCopySemantics:
    if donate and may_alias:
        raise ValueError("may_alias and donate cannot be True at the same time.")
    if donate:
        return DONATE_INPUT
    return ALWAYS_COPY if may_alias is not None and not may_alias else REUSE_INPUT


def _source(said: Any, x: Any) -> Any:
    """Return `said`, or if it is None the sharding of the value; None for a value that is not known, or is on no device."""
    if said is not None:
        return said
    value = x.to_concrete_value() if isinstance(x, Tracer) else x
    return value.sharding if type(value) is Array or runtime.is_buffer(value) else None


def _in_place(place: Any) -> Any:
    """Return a place; for a partition spec, a sharding over the mesh that was set; for a format, its sharding."""
    if type(place).__name__ == "Format":
        return import_room("jitkit.runtime.layouts").sharding_of(place)
    return import_room("jitkit.runtime.meshes").in_place(place) if is_spec(place) else place


def _for_each_leaf(what: str, prefix: Any, x: Any, count: int) -> list[Any]:
    """Return a parameter of `device_put`, one value or a tree of them, as a list with a value for each leaf. Raise
    ValueError for a tree that is not a prefix of the tree of arrays.
    """
    if prefix is None or isinstance(prefix, bool):
        return [prefix] * count
    try:
        return broadcast_prefix(prefix, x, lambda value: value is None)
    except ValueError as error:
        raise ValueError(
            f"device_put {what} specification must be a tree prefix of the corresponding value; \n{error}"
        ) from None
