"""Finds devices, and says which of them hold which part of an array.

Devices come from PJRT, and shardings are JAX's own objects, which buffers carry. This module also has the cache keys of
values that are committed (`Placed`), not on a device yet (`OnHost`), or uncommitted on another device than the first
(`Elsewhere`).

JAX: jax/_src/named_sharding.py:NamedSharding
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from ..base import config
from ..core.avals import places
from . import accelerators
from .beside_jax import cpu_client, is_here, jax, module_of_jax
from .jaxlib import gate

Device = Any  # a PJRT device
Sharding = Any  # jax.sharding.Sharding: which devices hold which part


def is_spec(x: Any) -> bool:
    """Return whether a value's class, or a base of it, is called `PartitionSpec` or `P`: so JAX need not be imported."""
    return any(kind.__name__ in ("P", "PartitionSpec") for kind in type(x).__mro__)


def devices(backend: str | None = None) -> list[Device]:
    """Return the devices of a platform ("cpu", "gpu", "tpu", ...), or of the default one. Raise RuntimeError if it has none."""
    client = _own_client()
    if client is None or (backend not in (None, "cpu") and is_here()):
        return list(jax().devices(backend))
    if backend not in (None, "cpu"):
        raise RuntimeError(f"Unknown backend {backend}. Available backends are ['cpu']")
    return list(client.devices())


@functools.cache
def _own_client() -> Any:
    """Return our CPU client, or None if JAX chooses the devices, because it is loaded or has to be loaded."""
    make = gate().xla_client.make_cpu_client
    config.read_once.add("num_cpu_devices")
    count = config.value("num_cpu_devices")
    if is_here() or accelerators.jax_has_to_choose():
        if count != -1:
            jax().config.update("jax_num_cpu_devices", count)
        return None
    return cpu_client(make if count == -1 else functools.partial(make, num_devices=count))


@functools.cache
def first_device() -> Device:
    """Return the device where uncommitted values live, outside any block of `default_device`."""
    return devices()[0]


def default_device() -> Device:
    """Return the device for uncommitted values: that of the option `default_device`, or else the first device."""
    chosen = config.local.state.run_options.default_device
    if chosen is None:
        return first_device()
    return devices(chosen)[0] if isinstance(chosen, str) else chosen


class _Clients(Mapping[str, Any]):
    """Maps platforms to the clients that jitkit has made: none before the first device is needed, or if JAX makes the clients."""

    def __getitem__(self, platform: str) -> Any:
        if platform == "cpu" and _own_client.cache_info().currsize and (client := _own_client()) is not None:
            return client
        raise KeyError(platform)

    def __iter__(self) -> Iterator[str]:
        return iter(["cpu"] if "cpu" in self else [])

    def __len__(self) -> int:
        return int("cpu" in self)


clients = _Clients()


def default_backend() -> str:
    """Return the platform of the first device, "cpu", "gpu" or "tpu", also in a block of `default_device`."""
    platform: str = "cpu" if _own_client() is not None else jax().default_backend()
    return platform


def lowering_platform() -> str:
    """Return the platform to lower for: the default device's; without jaxlib, "cpu", since writing text needs no device."""
    try:
        is_first = config.local.state.run_options.default_device is None
        return default_backend() if is_first else str(default_device().platform)
    except ModuleNotFoundError:
        return "cpu"


@functools.lru_cache(maxsize=1024)
def single_device_sharding(device: Device) -> Sharding:
    """Return the sharding that puts a whole array on one device."""
    return gate().ext.SingleDeviceSharding(device)


@functools.lru_cache(maxsize=1024)
def in_device_memory(sharding: Sharding) -> Sharding:
    """Return the sharding with its devices' own memory, where programs read arguments and write results."""
    return in_memory(sharding, sharding_devices(sharding)[0].default_memory().kind)


def in_memory(sharding: Sharding, kind: str) -> Sharding:
    """Return the sharding with another kind of memory: "device", "pinned_host", "unpinned_host". A sharding without a kind stays."""
    if sharding.memory_kind in (None, kind):
        return sharding
    if is_over_mesh(sharding):
        return sharding.with_memory_kind(kind)
    return gate().ext.SingleDeviceSharding(*sharding_devices(sharding), memory_kind=kind)


def sharding_devices(sharding: Sharding) -> tuple[Device, ...]:
    """Return the devices of a sharding, in the order of their assignment."""
    return tuple(sharding._device_assignment)


def is_equivalent(a: Sharding, b: Sharding, ndim: int) -> bool:
    """Return whether two shardings put the same part of an array of `ndim` axes on the same device."""
    return bool(a.is_equivalent_to(b, ndim))


class Placed:
    """The cache key of a committed value: its aval and its sharding. Keys are interned: equal ones are one object."""

    __slots__ = ("aval", "sharding")

    def __init__(self, aval: Any, sharding: Sharding) -> None:
        self.aval = aval
        self.sharding = sharding

    def __repr__(self) -> str:
        return f"{self.aval.str_short()} on {describe_sharding(self.sharding)}"


class OnHost:
    """The cache key of a value that is not on a device yet (numpy, Python scalar): its aval. Keys are interned.
    `of_python` tells Python's bool from numpy's; other numbers of Python and numpy differ in their avals.
    """

    __slots__ = ("aval", "of_python")

    def __init__(self, aval: Any, of_python: bool = False) -> None:
        self.aval = aval
        self.of_python = of_python or aval.weak_type

    def __repr__(self) -> str:
        return f"{self.aval.str_short()} on the host"


class Elsewhere(OnHost):
    """The cache key of an uncommitted value on another device than the first, where a block of `default_device` has put
    it: its aval and its sharding. Keys are interned. Like a host value, it has to be copied to the device of a program.
    """

    __slots__ = ("sharding",)

    def __init__(self, aval: Any, sharding: Sharding) -> None:
        self.aval, self.of_python, self.sharding = aval, False, sharding

    def __repr__(self) -> str:
        return f"{self.aval.str_short()} uncommitted on {describe_sharding(self.sharding)}"


_placed: dict[tuple[Any, Sharding], Placed] = {}
_on_host: dict[Any, OnHost] = {}
_elsewhere: dict[tuple[Any, Sharding], Elsewhere] = {}
LIMIT = 1 << 14  # a table has at most this many interned keys; a full one is emptied, which only costs cache misses


def placed(aval: Any, sharding: Sharding) -> Placed:
    """Return the interned key of a committed value."""
    key = (aval, sharding)
    found = _placed.get(key)
    if found is None:
        make_room(_placed)
        found = _placed.setdefault(key, Placed(aval, sharding))
    return found


def uncommitted(aval: Any, sharding: Sharding) -> Any:
    """Return the interned key of an uncommitted value on one device: for the first device, the aval itself."""
    if is_first(sharding):
        return aval
    key = (aval, sharding)
    found = _elsewhere.get(key)
    if found is None:
        make_room(_elsewhere)
        found = _elsewhere.setdefault(key, Elsewhere(aval, sharding))
    return found


@functools.cache
def has_several() -> bool:
    """Return whether there are devices besides the first one: others of its platform, or, if that is not the CPU, those of the CPU."""
    return len(devices()) > 1 or default_backend() != "cpu"


def is_first(sharding: Sharding) -> bool:
    """Return whether a sharding puts arrays on the first device alone."""
    first = _first_sharding()
    return sharding is first or tuple(sharding._device_assignment) == (first_device(),)


@functools.cache
def _first_sharding() -> Sharding:
    return single_device_sharding(first_device())


def on_host(aval: Any) -> OnHost:
    """Return the interned key of a host value."""
    found = _on_host.get(aval)
    if found is None:
        make_room(_on_host)
        found = _on_host.setdefault(aval, OnHost(aval))
    return found


def make_room(table: dict[Any, Any]) -> None:
    """Empty an interning table that is full."""
    if len(table) >= LIMIT:
        table.clear()


def describe_sharding(sharding: Sharding) -> str:
    """Return `cpu:0`, or the sharding's own text when it has several devices."""
    owners = sharding_devices(sharding)
    return f"{owners[0].platform}:{owners[0].id}" if len(owners) == 1 else str(sharding)


# --- several devices ------------------------------------------------------------------------------------------


def is_over_mesh(sharding: Sharding) -> bool:
    """Return whether a sharding has a mesh, which may have one device."""
    return hasattr(sharding, "mesh")


def replicated(sharding: Sharding) -> Sharding:
    """Return the sharding that puts a whole array on each device of a sharding. Raise NotImplementedError for shardings
    of several devices without a mesh, which Shardy's text cannot express.
    """
    owners = sharding_devices(sharding)
    if not is_over_mesh(sharding) and len(owners) == 1:
        return single_device_sharding(owners[0])
    if not is_over_mesh(sharding):
        raise NotImplementedError(
            f"arrays sharded by {type(sharding).__name__}: jitkit knows `jax.sharding.NamedSharding` only"
        )
    return jax().sharding.NamedSharding(sharding.mesh, jax().sharding.PartitionSpec())


def mesh_text(sharding: Sharding) -> str:
    """Return the mesh of a sharding in Shardy's text: `<["x"=4, "y"=2]>`."""
    axes = ", ".join(f'"{name}"={size}' for name, size in sharding.mesh.shape.items())
    return f"<[{axes}]>"


def sharding_text(sharding: Sharding, ndim: int) -> str:
    """Return a sharding of an array in Shardy's text: for each axis the mesh axes that split it, or `?` if XLA decides."""
    is_open = jax().sharding.PartitionSpec.UNCONSTRAINED
    axes = [axis if isinstance(axis, tuple) else () if axis is None else (axis,) for axis in sharding.spec]
    axes += [()] * (ndim - len(axes))
    listed = ", ".join(
        "{?}" if names == (is_open,) else "{" + ", ".join(f'"{name}"' for name in names) + "}" for names in axes
    )
    return f"#sdy.sharding<@mesh, [{listed}]>"


@functools.cache
def _unspecified(ndim: int) -> Sharding:
    """Return the sharding of a traced array of `ndim` axes: over a mesh without axes."""
    of_jax = jax().sharding
    return of_jax.NamedSharding(of_jax.AbstractMesh((), ()), of_jax.PartitionSpec(*[None] * ndim))


places.unspecified = _unspecified


def with_whole_axis(sharding: Sharding, axis: int) -> Sharding:
    """Return the sharding for arrays with one more axis, at position `axis`, which is not split. A sharding without a spec stays."""
    if not hasattr(sharding, "spec"):
        return sharding
    axes = [*sharding.spec]
    axes += [None] * (axis - len(axes))
    axes.insert(axis, None)
    while axes and axes[-1] is None:
        axes.pop()
    return sharding.update(spec=jax().sharding.PartitionSpec(*axes))


def result_shardings(executable: Any, sharding: Sharding, count: int) -> list[Sharding]:
    """Return the shardings that the partitioner chose for the `count` results of a program for several devices, or
    `sharding` for each if the executable does not tell.
    """
    found = executable.get_output_shardings()
    if found is None:
        return [sharding] * count
    parse = module_of_jax("jax._src.sharding_impls").parse_flatten_op_sharding
    named = jax().sharding.NamedSharding
    return [named(sharding.mesh, parse(each, sharding.mesh)[0]) for each in found]
