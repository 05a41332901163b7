"""`pmap` and `shard_map`, which in JAX spread a function over devices, run on one device here, and refuse several; `make_mesh`
makes meshes of any number of devices

On one device `pmap` is `vmap` over an axis of one element, and `shard_map` gives the device each argument whole.

JAX: jax/_src/shard_map.py:shard_map
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any

import numpy as np

from .. import runtime
from ..base.util import wraps
from ..interpreters.vmap import vmap
from ..tree_util import tree_leaves, tree_map
from .jit import jit

_ONE_DEVICE = (
    "{} runs on one device here, and this asks for {}.\n"
    "jitkit spreads an array over devices by `jit` with shardings (`jax.sharding`)."
)


def pmap(
    fun: Callable[..., Any],
    axis_name: Hashable | None = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Sequence[int] = (),
    devices: Sequence[Any] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:
    """Return a function that maps `fun` over an axis with one element. JAX runs each element on another device; jitkit
    runs on one device.

    Arguments at `static_broadcasted_argnums` stay Python values. `axis_name`, `in_axes`, `out_axes` and `axis_size` are those
    of `vmap`. `devices`, `backend` and `donate_argnums` are not used.

    Raises:
      NotImplementedError: at a call, if the axis does not have exactly one element.
    """
    static = (
        (static_broadcasted_argnums,)
        if isinstance(static_broadcasted_argnums, int)
        else tuple(static_broadcasted_argnums)
    )

    @wraps(fun)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        axes = [in_axes] * len(args) if in_axes is None or isinstance(in_axes, int) else [*in_axes]
        axes = [None if i in static else axis for i, axis in enumerate(axes)]
        sizes = {
            np.shape(leaf)[axis]
            for x, axis in zip(args, axes, strict=True)
            if isinstance(axis, int)
            for leaf in tree_leaves(x)
        }
        if sizes - {1}:
            raise NotImplementedError(
                _ONE_DEVICE.format("pmap", f"{max(sizes)}: the arguments have that many elements along the mapped axis")
            )
        held = {i: args[i] for i in static}

        def on_one(*dynamic: Any, **by_name: Any) -> Any:
            rest = iter(dynamic)
            return fun(*(held[i] if i in held else next(rest) for i in range(len(args))), **by_name)

        dynamic = [i for i in range(len(args)) if i not in held]
        mapping = vmap(on_one, tuple(axes[i] for i in dynamic), out_axes, axis_name=axis_name, axis_size=axis_size or 1)
        return jit(mapping)(*(args[i] for i in dynamic), **kwargs)

    return mapped


def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = None,
    mesh: Any = None,
    axis_names: Collection[Hashable] = frozenset(),
    check_vma: bool = True,
) -> Callable[..., Any]:
    """Return a function that runs `f` on each device of a mesh, with that device's part of the arguments. In jitkit
    there is one device, which gets the whole arguments; each axis of the mesh has one element.

    Without a function, return a decorator. On one device the specs, `axis_names` and `check_vma` do not matter.

    Raises:
      NotImplementedError: at a call, without a `mesh`, or if it has more than one device.
    """
    if f is None:
        return functools.partial(shard_map, mesh=mesh, in_specs=in_specs, out_specs=out_specs)

    @wraps(f)
    def on_one(*args: Any) -> Any:
        if mesh is None or mesh.size > 1:
            size = "a mesh of the context" if mesh is None else f"a mesh of {mesh.size}"
            raise NotImplementedError(_ONE_DEVICE.format("shard_map", size))
        whole: Callable[..., Any] = f
        for name in mesh.axis_names:
            whole = vmap(whole, None, axis_name=name, axis_size=1)
        return tree_map(lambda x: x.reshape(np.shape(x)[len(mesh.axis_names) :]), whole(*args))

    return on_one


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[str],
    axis_types: Any = None,
    *,
    devices: Sequence[Any] | None = None,
) -> Any:
    """Return a mesh of the first devices, in the order of the list: `make_mesh((1,), ("batch",))`. Without
    `axis_types`, the axes are explicit, as in JAX; jitkit has no shardings in types, so all axes behave alike.

    Raises:
      ValueError: the mesh needs more devices than there are.
    """
    there = list(runtime.devices() if devices is None else devices)
    size = int(np.prod(axis_shapes, dtype=int))
    if size > len(there):
        raise ValueError(
            f"Number of devices {len(there)} must be >= the product of mesh_shape {tuple(axis_shapes)}\n"
            "Ask for as many as `jax.devices()` lists."
        )
    of_jax = runtime.jax().sharding
    types = (of_jax.AxisType.Explicit,) * len(tuple(axis_shapes)) if axis_types is None else axis_types
    return of_jax.Mesh(np.array(there[:size]).reshape(tuple(axis_shapes)), tuple(axis_names), axis_types=types)
