"""function of elements -> function of batches

`vmap`. The function that it returns takes arrays with one axis more, and does to all elements along it what the given
function does to one. It calls that function once, on tracers (`interpreters/batching`), each time that it is called
itself: under `jit` once per signature, and eagerly each time.

What is here is the bookkeeping around it: which axis of which leaf, whether these have one size, and where the axis goes
in the results.

JAX: jax/_src/api.py:vmap
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from . import api_util, core, traceback_util
from .interpreters.batching import AxisData, Dim, batch, move_to
from .tree_util import (
    PyTreeDef,
    broadcast_prefix,
    keystr,
    prefix_errors,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_unflatten,
)


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable = None,
) -> Callable[..., Any]:
    """A function that maps `fun` over an axis of its arguments, all elements at once.

        vv = lambda x, y: jnp.vdot(x, y)            #  ([a], [a]) -> []
        mv = vmap(vv, in_axes=(0, None))            #  ([b,a], [a]) -> [b]
        mm = vmap(mv, in_axes=(None, 1), out_axes=1)  #  ([b,a], [a,c]) -> [b,c]

    Args:
      fun: a function of arrays, or of trees of arrays.
      in_axes: which axis of each positional argument is mapped over: an int, also negative, or None for an argument that
        every call gets as it is; one for all arguments, or a tuple with an entry for each, which may be a tree that ends
        above the leaves. Keyword arguments are mapped over axis 0.
      out_axes: where the axis goes in the results: an int, or None for what is the same for all elements; one for all, or
        a tree that ends above the leaves.
      axis_name: for collectives inside of `fun`, such as `lax.psum(x, axis_name)`.
      axis_size: the number of elements; needed where no argument has them.
      spmd_axis_name: not supported.

    Raises:
      TypeError: axes that are none.
      ValueError: axes that do not fit the arguments or results, out of range, or of different sizes.
      NotImplementedError: an operation in `fun` has no batching rule.
    """
    api_util.check_callable(fun)
    if spmd_axis_name is not None:
        raise NotImplementedError(
            "vmap: spmd_axis_name is not supported: jitkit has no sharding constraints inside of a function that such a "
            "name would extend.\nLeave it out: XLA finds a sharding by itself."
        )
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    if in_axes is not None and type(in_axes) not in (int, tuple):
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments passed to "
            f"the function, but got {in_axes}."
        )
    for name, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        if any(type(axis) is not int for axis in tree_leaves(axes)):
            raise TypeError(
                f"vmap {name} must be an int, None, or (nested) container with those types as leaves, but got {axes}."
            )

    @functools.wraps(fun)
    @traceback_util.api_boundary
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                "vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments passed "
                f"to the function, but got len(in_axes)={len(in_axes)}, len(args)={len(args)}"
            )
        leaves, in_tree = tree_flatten((args, kwargs))
        dims = _axis_of_each_argument(in_tree, in_axes)
        size = _mapped_size(fun, in_tree, leaves, dims, axis_size)
        dims = [
            None if dim is None else dim % len(_shape(x)) for x, dim in zip(leaves, dims, strict=True)
        ]
        out_trees: list[PyTreeDef] = []

        def flat_fun(*leaves: Any) -> list[Any]:
            args, kwargs = tree_unflatten(in_tree, leaves)
            outs, out_tree = tree_flatten(fun(*args, **kwargs))
            out_trees.append(out_tree)
            return outs

        axis = AxisData(axis_name, size)
        outs, out_dims = batch(flat_fun, axis, leaves, dims)
        return tree_unflatten(out_trees[0], _moved(axis, outs, out_dims, out_trees[0], out_axes))

    mapped.__doc__ = _documentation(fun)
    return mapped


def _documentation(fun: Callable[..., Any]) -> str:
    name = getattr(fun, "__name__", repr(fun))
    text = (
        f"Vectorized version of {name}. Takes similar arguments as {name} but with additional array axes over which {name} "
        "is mapped."
    )
    return f"{text}\n\nOriginal documentation:\n\n{fun.__doc__}" if getattr(fun, "__doc__", None) else text
