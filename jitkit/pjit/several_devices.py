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
from ..interpreters.vmap import axis_of_each_argument, axis_of_each_leaf, vmap
from ..signature.api_util import check_callable
from ..tree_util import tree_flatten, tree_leaves, tree_map, tree_structure
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

    Args:
      in_axes, out_axes: as for `vmap`, but that a result with the axis None need not be the same for all elements: it is the first
        element's.
      axis_name, axis_size: as for `vmap`.
      static_broadcasted_argnums: arguments that stay Python values.
      devices, backend, donate_argnums: not used.

    Raises:
      NotImplementedError: at a call, if the axis does not have exactly one element.
      ValueError: `devices` is empty; at a call, if no argument has a mapped axis, or `in_axes` are not as many as the arguments.
      TypeError: `fun` is not callable, or `in_axes` or `out_axes` are not trees of integers and None.
    """
    check_callable(fun)
    if devices is not None and not devices:
        raise ValueError("'devices' argument to pmap must be non-empty, or None.")
    for name, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        if not all(type(axis) is int for axis in tree_leaves(axes)):
            raise TypeError(
                f"pmap {name} must be an int, None, or (nested) container with those types as leaves, but got {axes}."
            )
    positions = static_broadcasted_argnums
    static = (positions,) if isinstance(positions, int) else tuple(positions)

    @jit(static_argnums=static)
    def on_one(*args: Any, **kwargs: Any) -> Any:
        dynamic = [i for i in range(len(args)) if i not in static]
        axes = [in_axes] * len(args) if in_axes is None or isinstance(in_axes, int) else [*in_axes]

        def of_dynamic(*values: Any, **by_name: Any) -> Any:
            given = dict(enumerate(args)) | dict(zip(dynamic, values, strict=True))
            return fun(*given.values(), **by_name)

        if len(axes) != len(args):
            raise ValueError(f"pmap got {len(args)} positional arguments, and in_axes of length {len(axes)}.")
        places = tuple(axes[i] for i in dynamic)
        mapped_axes = axis_of_each_argument(tree_structure((tuple(args[i] for i in dynamic), kwargs)), places)
        leaves = tree_leaves(([args[i] for i in dynamic], kwargs))
        sizes = {
            np.shape(x)[axis] for x, axis in zip(leaves, mapped_axes, strict=True) if axis is not None and np.ndim(x)
        }
        if not sizes:
            raise ValueError("pmap requires at least one argument with a mapped axis.")
        if sizes - {1}:
            raise NotImplementedError(
                _ONE_DEVICE.format("pmap", f"{max(sizes)}: the arguments have that many elements along the mapped axis")
            )
        whole = tree_map(lambda axis: 0 if axis is None else axis, out_axes, is_leaf=lambda axis: axis is None)
        results = vmap(of_dynamic, places, whole, axis_name=axis_name, axis_size=axis_size)(
            *(args[i] for i in dynamic), **kwargs
        )
        leaves, tree = tree_flatten(results)
        kept = axis_of_each_leaf("pmap out_axes", out_axes, tree)
        return tree.unflatten([x[0] if axis is None else x for x, axis in zip(leaves, kept, strict=True)])

    @wraps(fun)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        return on_one(*args, **kwargs)

    vars(mapped)["lower"] = on_one.lower
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
