"""Sets the mesh of the context, and reads what shardings over a mesh say about each axis

    with set_mesh(mesh): ...      in the block, PartitionSpec("x") means NamedSharding(mesh, PartitionSpec("x"))

The classes are JAX's. The mesh of a block is among the options, so that what is traced in one block is not used in another.

JAX: jax/_src/sharding_impls.py:set_mesh
"""

from __future__ import annotations

import math
from types import TracebackType
from typing import Any

from ..base import config
from ..base.jax_version import since
from ..core.avals import places
from .beside_jax import jax, module_of_jax
from .devices import Sharding, is_spec


class _Block:
    """The result of `set_mesh`: the mesh is set, and the end of the block restores the earlier one."""

    def __init__(self, before: Any) -> None:
        self.before = before

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        _set(self.before)


def _set(mesh: Any) -> None:
    state = config.local.state
    state.mesh = mesh
    state.refresh()


def set_mesh(mesh: Any) -> _Block:
    """Set this thread's mesh: from now on, or in a block, `with set_mesh(mesh): ...`. None removes it. Raise ValueError
    for anything but a mesh, and inside of a traced function.
    """
    if mesh is not None and not isinstance(mesh, jax().sharding.Mesh):
        raise ValueError(f"Expected mesh of type `jax.sharding.Mesh`. Got {type(mesh)}")
    if config.local.state.trace is not None:
        raise ValueError("`set_mesh` can only be used outside of `jax.jit`.")
    block = _Block(config.local.state.mesh)
    _set(mesh)
    return block


def get_mesh() -> Any:
    """Return the mesh that was set, or one without axes. Raise ValueError inside of a traced function."""
    if config.local.state.trace is not None:
        raise ValueError(
            "`get_mesh` can only be used outside of `jax.jit`. Maybe you want `jax.sharding.get_abstract_mesh()`?"
        )
    return _mesh() or module_of_jax("jax._src.mesh").empty_concrete_mesh


def get_abstract_mesh() -> Any:
    """Return the mesh that was set as an AbstractMesh, without its devices; by default one without axes."""
    mesh = _mesh()
    return jax().sharding.AbstractMesh((), ()) if mesh is None else mesh.abstract_mesh


def _mesh() -> Any:
    return config.local.state.mesh


def mesh_of_context() -> Any:
    """Return the mesh whose axes a PartitionSpec names: the one that was set, or else that of a block `with mesh:` (the older form)."""
    if _mesh() is not None:
        return _mesh().abstract_mesh
    return module_of_jax("jax._src.mesh").thread_resources.env.physical_mesh


def devices_of_context() -> Any:
    """Return the mesh of the context, with its devices; by default one without axes."""
    return module_of_jax("jax._src.mesh").thread_resources.env.physical_mesh if _mesh() is None else _mesh()


def in_place(place: Any) -> Any:
    """Return `place` for `device_put`; a `PartitionSpec` becomes a sharding over the mesh that was set. Raise
    ValueError if none was set.
    """
    if not is_spec(place):
        return place
    if _mesh() is None:
        raise ValueError(
            "Please set a mesh via `jax.set_mesh` if a PartitionSpec is passed to device_put\n"
            f"Or put it on `NamedSharding(mesh, {place})`."
        )
    return jax().sharding.NamedSharding(_mesh(), place)


def with_devices(sharding: Sharding) -> Sharding:
    """Return a sharding whose mesh has no devices as a sharding over the mesh that was set, any other unchanged. Raise
    ValueError if none was set.
    """
    if not hasattr(sharding, "mesh") or isinstance(sharding.mesh, jax().sharding.Mesh):
        return sharding
    if _mesh() is None:
        raise ValueError(f"{sharding} has a mesh without devices. Set one with devices: `jax.set_mesh(mesh)`.")
    return jax().sharding.NamedSharding(_mesh(), sharding.spec)


def _in_type(sharding: Sharding, shape: tuple[int, ...]) -> Sharding:
    """Return the sharding in a type of this shape: with an entry for each axis, which names only Explicit mesh axes;
    None for a mesh without axes. Raise ValueError for a mesh with devices, a spec that is too long, or an axis that
    cannot be divided.
    """
    spec, mesh = sharding.spec, sharding.mesh
    if not isinstance(mesh, jax().sharding.AbstractMesh):
        raise ValueError(f"Mesh of an aval must be an AbstractMesh. Got {mesh} of type {type(mesh)}")
    explicit = [name for name, kind in zip(mesh.axis_names, mesh.axis_types, strict=True) if kind.name == "Explicit"]
    axes: list[Any] = []
    for names in spec:
        if isinstance(names, tuple):
            axes.append(tuple(name for name in names if name in explicit))
        else:
            axes.append(names if names in explicit else None)
    axes += [None] * (len(shape) - len(axes))
    longer = axes[len(shape) :]
    if any(names is not None for names in longer) or (longer and explicit and since(0, 11)):
        raise ValueError(
            f"Length of sharding.spec must be equal to aval's ndim. Got sharding.spec {spec}, aval.ndim {len(shape)}"
        )
    found = jax().sharding.NamedSharding(mesh, jax().sharding.PartitionSpec(*axes[: len(shape)]))
    for i, (names, size) in enumerate(zip(found.spec, shape, strict=True)):
        names = names if isinstance(names, tuple) else () if names is None else (names,)
        parts = math.prod(mesh.shape[name] for name in names)
        if size % parts:
            raise ValueError(
                f"Sharding spec {names} implies that array axis {i} is partitioned {parts} times, but does not evenly "
                f"divide the dimension size {size}. Got shape: {shape} and sharding {found}"
            )
    return found if mesh.axis_names else None


places.in_type = _in_type


# --- axis by axis -------------------------------------------------------------------------------------------------------


def _axes(sharding: Sharding, ndim: int) -> list[Any]:
    return [*sharding.spec, *[None] * (ndim - len(sharding.spec))]


def open_axes(sharding: Sharding) -> frozenset[int]:
    """Return the axes of an array that a sharding leaves to XLA."""
    is_open = jax().sharding.PartitionSpec.UNCONSTRAINED
    return frozenset(i for i, names in enumerate(getattr(sharding, "spec", ())) if names is is_open)


def with_open_axis(sharding: Sharding, axis: int, ndim: int) -> Sharding:
    """Return the sharding of arrays with `ndim` axes: the new one, `axis`, is left to XLA, the others are spread as
    before. A sharding without a spec is returned unchanged.
    """
    if not hasattr(sharding, "spec"):
        return sharding
    spec = jax().sharding.PartitionSpec
    axes = _axes(sharding, ndim - 1)
    if sharding.is_fully_replicated:  # as in JAX, which moves no axes here
        axes = _axes(sharding, ndim)
        axes[axis] = spec.UNCONSTRAINED
    else:
        axes.insert(axis, spec.UNCONSTRAINED)
    return jax().sharding.NamedSharding(sharding.mesh, spec(*axes))


def with_axes_of(sharding: Sharding, there: Sharding, ndim: int) -> Sharding:
    """Return a sharding in which the axes that were left to XLA are split as in the sharding `there`, or not at all if
    that is over another mesh.
    """
    found = _axes(there, ndim) if getattr(there, "mesh", None) == sharding.mesh else [None] * ndim
    axes = [found[i] if i in open_axes(sharding) else names for i, names in enumerate(_axes(sharding, ndim))]
    return jax().sharding.NamedSharding(sharding.mesh, jax().sharding.PartitionSpec(*axes))


def check_axes_are_automatic(sharding: Sharding, what: str) -> None:
    """Raise ValueError if a sharding names mesh axes that are not Auto: their sharding is a part of types."""
    if not hasattr(sharding, "mesh"):
        return
    mesh = sharding.mesh.abstract_mesh
    kinds = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
    named = [names if isinstance(names, tuple) else (names,) for names in sharding.spec]
    if any(name in kinds and kinds[name].name != "Auto" for names in named for name in names):
        raise ValueError(
            f"The spec of NamedSharding passed to {what} can only refer to Auto axes of the mesh. Got spec={sharding.spec} and "
            f"mesh={mesh}. You probably meant to use `reshard` API?\n"
            "jitkit has no shardings in types: make the mesh with axis_types=(jax.sharding.AxisType.Auto,) for each axis."
        )
