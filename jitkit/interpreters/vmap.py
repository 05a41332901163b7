"""function of elements -> function of batches

`vmap` returns a function of arrays with one more axis, which does for all elements along this axis what the given
function does to one. Each call of the new function calls the given one once, on tracers (`batching`); under `jit` that
happens once for each signature.

This module does the bookkeeping: which axis of which leaf is mapped, whether the sizes of these axes agree, and where
the axis goes in the results.

JAX: jax/_src/api.py:vmap
"""

from __future__ import annotations

import collections
import inspect
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from .. import core
from ..base import edits, source_info, traceback_util
from ..base.util import wraps
from ..signature import api_util
from ..tree_util import (
    PyTreeDef,
    broadcast_over,
    keystr,
    note_keys,
    prefix_errors,
    skeleton,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_unflatten,
)
from . import partial_eval
from .batching import AxisData, Dim, batch, move_to
from .library_rules import check_vmappable


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable = None,
) -> Callable[..., Any]:
    """Return a function that maps `fun` over an axis of its arguments, all elements at once.

        vv = lambda x, y: jnp.vdot(x, y)            #  ([a], [a]) -> []
        mv = vmap(vv, in_axes=(0, None))            #  ([b,a], [a]) -> [b]
        mm = vmap(mv, in_axes=(None, 1), out_axes=1)  #  ([b,a], [a,c]) -> [b,c]

    Args:
      fun: a function of arrays, or of trees of arrays.
      in_axes: which axis of each positional argument is mapped over: an int, also negative, or None for an argument that
        is the same for all elements. Give one for all arguments, or a tuple with an entry for each; an entry may be a tree,
        which may end above the leaves. Keyword arguments are mapped over axis 0.
      out_axes: where the axis goes in the results: an int, or None for a result that is the same for all elements. Give one
        for all results, or a tree, which may end above the leaves.
      axis_name: for collectives inside of `fun`, such as `lax.psum(x, axis_name)`.
      axis_size: the number of elements; needed if no argument is mapped.
      spmd_axis_name: ignored. In JAX it says over which axis of a mesh sharding constraints inside of `fun` spread the
        mapped axis; here XLA decides that.

    Raises:
      TypeError: an axis is not an int or None.
      ValueError: axes that do not fit the arguments or results, out of range, or of different sizes.
      NotImplementedError: an operation in `fun` has no batching rule.
    """
    api_util.check_callable(fun)
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    if in_axes is not None and type(in_axes) not in (int, tuple):
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments passed to "
            f"the function, but got {in_axes}."
            + (
                f"\nWrite a tuple with an entry for each argument: in_axes=({in_axes},)."
                if type(in_axes) is dict
                else edits.APPLIED_TWICE.format("vmap")
            )
        )
    for name, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        if any(type(axis) is not int for axis in tree_leaves(axes)):
            raise TypeError(
                f"vmap {name} must be an int, None, or (nested) container with those types as leaves, but got {axes}."
            )

    may_be_refused = None in tree_leaves(out_axes, _is_none)
    called = _noting_keys_of_result(fun) if may_be_refused else fun

    @wraps(fun)
    @traceback_util.api_boundary
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                "vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments passed "
                f"to the function, but got len(in_axes)={len(in_axes)}, len(args)={len(args)}\n"
                "Give an axis for each argument, and None for one that is the same for all elements: in_axes=(0, None)."
                + " `in_axes` has no entry for keyword arguments: all are mapped along axis 0."
                * bool(kwargs)
            )
        args, kwargs = partial_eval.with_stand_ins_in((args, kwargs))
        check_vmappable((args, kwargs))
        with source_info.transform("vmap"):
            return call_on_batches(called, args, kwargs, in_axes, out_axes, axis_name, axis_size)

    mapped.__doc__ = _documentation(fun)
    return mapped


def call_on_batches(
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_axes: Any,
    out_axes: Any,
    axis_name: Hashable = None,
    axis_size: int | None = None,
) -> Any:
    """Call `fun` once for all elements of its arguments; return its result, a tree, with the batch axes where
    `out_axes` says.

    The arguments are a tree, `(args, kwargs)`. Each of its leaves has an axis that is mapped over, or None
    (`axis_of_each_argument`), and these axes have one size (`mapped_size`). An axis may be negative: -1 is the last one
    of that very leaf. `batch(fun, axis, vals, dims)` calls `fun`, which takes and returns flat lists, on these values;
    it returns the results, and the batch axis of each. `moved` puts these axes into place.
    """
    leaves, in_tree = tree_flatten((args, kwargs))
    dims = axis_of_each_argument(in_tree, in_axes)
    axis = AxisData(axis_name, mapped_size(fun, in_tree, leaves, dims, axis_size))
    dims = [None if dim is None else dim % np.ndim(x) for x, dim in zip(leaves, dims, strict=True)]
    out_trees: list[PyTreeDef] = []

    def flat_fun(*leaves: Any) -> list[Any]:
        args, kwargs = tree_unflatten(in_tree, leaves)
        outs, out_tree = tree_flatten(fun(*args, **kwargs))
        out_trees.append(out_tree)
        return outs

    outs, out_dims = batch(flat_fun, axis, leaves, dims)
    return tree_unflatten(out_trees[0], moved(axis, outs, out_dims, out_trees[0], out_axes))


def _noting_keys_of_result(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return `fun`, which now also stores the key paths of its results: `not_the_same_for_all` names a leaf by its path."""

    @wraps(fun)
    def noting(*args: Any, **kwargs: Any) -> Any:
        result = fun(*args, **kwargs)
        note_keys(result)
        return result

    return noting


def _documentation(fun: Callable[..., Any]) -> str:
    name = getattr(fun, "__name__", repr(fun))
    text = (
        f"Vectorized version of {name}. Takes similar arguments as {name} but with additional array axes over which {name} "
        "is mapped."
    )
    return f"{text}\n\nOriginal documentation:\n\n{fun.__doc__}" if getattr(fun, "__doc__", None) else text


def _is_none(x: Any) -> bool:
    return x is None


def axis_of_each_leaf(name: str, axes: Any, tree: PyTreeDef) -> list[Dim]:
    """Return an axis, or None, for each leaf of `tree`. `axes` is a tree of axes; an axis in place of a subtree holds
    for all its leaves. Raise ValueError if `axes` is not a prefix of `tree`; its message begins with `name`.
    """
    try:
        return broadcast_over(axes, tree, _is_none)
    except ValueError:
        errors = prefix_errors(axes, skeleton(tree), _is_none)
    details = "\n  ".join(error(name).args[0] for error in errors)
    raise ValueError(
        f"{name} specification must be a tree prefix of the corresponding value; \n"
        f"  Mismatch details ({len(errors)} found):\n  {details}{edits.AXES_OF_A_TREE}"
    )


def axis_of_each_argument(tree: PyTreeDef, in_axes: Any) -> list[Dim]:
    """Return the mapped axis of each leaf of `(args, kwargs)`: keyword arguments are mapped over axis 0."""
    args, kwargs = tree.children()
    axes = axis_of_each_leaf("vmap in_axes", in_axes, args)
    return axes + [0] * kwargs.num_leaves


# --- one size -----------------------------------------------------------------------------------------------


def mapped_size(
    fun: Callable[..., Any], tree: PyTreeDef, leaves: Sequence[Any], dims: Sequence[Dim], axis_size: int | None
) -> int:
    """Return the size of all mapped axes. A negative axis counts from the end of its leaf. Raise ValueError if sizes
    differ, from each other or from `axis_size`, or if no axis is mapped and `axis_size` is None.
    """
    if not leaves and axis_size is None:
        args, kwargs = tree_unflatten(tree, leaves)
        raise ValueError(
            "vmap wrapped function must be passed at least one argument containing an array or axis_size must be specified, "
            f"got empty *args={args} and **kwargs={kwargs}"
        )
    sizes = [None if dim is None else _size_along(x, dim) for x, dim in zip(leaves, dims, strict=True)]
    try:
        different = {size for size in (*sizes, axis_size) if size is not None}
    except TypeError:  # an `axis_size` that is not a number
        raise _inconsistent_sizes(_names_of_leaves(fun, tree, leaves), dims, sizes, axis_size) from None
    if len(different) == 1:
        return different.pop()
    if not different:
        raise ValueError(
            "vmap must have at least one non-None value in in_axes or axis_size must be specified\n"
            "None marks an argument that is the same for all elements. Map over at least one (in_axes=0), or say how "
            "many elements there are (axis_size=3)."
        )
    raise _inconsistent_sizes(_names_of_leaves(fun, tree, leaves), dims, sizes, axis_size)


def _size_along(x: Any, dim: int) -> int:
    """Return the size of an axis. Raise ValueError if an array has too few axes, TypeError if x is not an array."""
    shape = core.typeof(x).shape
    if not -len(shape) <= dim < len(shape):
        advice = (
            f"Its axes are numbered from 0: the last one is {len(shape) - 1}."
            if shape
            else "For an argument that is the same for all elements, write None among the axes: vmap(f, in_axes=(0, None))."
        )
        raise ValueError(
            f"vmap was requested to map its argument along axis {dim}, which implies that its rank should be at least "
            f"{dim + 1 if dim >= 0 else -dim}, but is only {len(shape)} (its shape is {shape})\n{advice}"
        )
    return int(shape[dim])


def _inconsistent_sizes(
    names: Sequence[str], dims: Sequence[Dim], sizes: Sequence[int | None], axis_size: int | None
) -> ValueError:
    """Return the error for mapped axes of several sizes, with an example of each size, the most frequent first."""
    lines = ["vmap got inconsistent sizes for array axes to be mapped:"]
    if axis_size is not None:
        lines.append(f"  * the `axis_size` argument was {axis_size};")
    counts = collections.Counter(size for size in sizes if size is not None).most_common()
    for place, (size, count) in enumerate(counts):
        example = sizes.index(size)
        many = "one axis" if count == 1 else f"{'some' if place else 'most'} axes ({count} of them)"
        lines.append(
            f"  * {many} had size {size}{'' if count == 1 else ', e.g.'}"
            f"{':' if count == 1 else ''} axis {dims[example]} of {names[example]};"
        )
    first = "\n".join(lines).removesuffix(";")
    return ValueError(
        f"{first}\nAll arguments that are mapped need the same size along their mapped axis. For an argument that is "
        "the same for all elements, write None: in_axes=(0, None)."
    )


def _names_of_leaves(fun: Callable[..., Any], tree: PyTreeDef, leaves: Sequence[Any]) -> list[str]:
    """Return a name for each leaf of the arguments: `argument x['w'] of type float32[3]`."""
    args, kwargs = tree_unflatten(tree, leaves)
    try:
        parameters = list(inspect.signature(fun).bind(*args, **kwargs).signature.parameters)
    except (TypeError, ValueError):
        parameters = []

    def name(path: Any) -> str:
        position = path[0].idx
        if position >= len(parameters):
            return f"args{keystr(path)}"
        return f"argument {parameters[position]}{keystr(path[1:])}"

    named = [(name(path), x) for path, x in tree_flatten_with_path(args)[0]]
    named += [(f"kwargs{keystr(path)}", x) for path, x in tree_flatten_with_path(kwargs)[0]]
    return [f"{called} of type {_type_of(x)}" for called, x in named]


def _type_of(x: Any) -> str:
    """Return the type of an array as text; "unknown" for anything else, which is not mapped."""
    try:
        return str(core.get_aval(x).str_short())
    except TypeError:
        return "unknown"


# --- results ------------------------------------------------------------------------------------------------


def moved(axis: AxisData, outs: Sequence[Any], dims: Sequence[Dim], tree: PyTreeDef, out_axes: Any) -> list[Any]:
    """Return the results with their batch axes where `out_axes` wants them.

    Args:
      axis: the mapped axis: its size, and its name or None.
      outs, dims: the leaves of the result, as the outer trace knows them, and the batch axis of each; None for one that
        is the same for all elements.
      tree: the tree of the result.
      out_axes: a tree of axes that may end above the leaves: `axis_of_each_leaf` gives one for each. An int is a
        position among the axes of the result, from the end if negative; a leaf that is not a batch is broadcast to it
        (`move_to`). None is for a leaf that is not a batch, which is returned unchanged.

    Raises:
      TypeError: a leaf is not an array (`core.is_array_value`).
      ValueError: a position that the result does not have; or None for a batch (`not_the_same_for_all` makes the
        error).
    """
    wanted = axis_of_each_leaf("vmap out_axes", out_axes, tree)
    results = []
    for i, (x, dim, to) in enumerate(zip(outs, dims, wanted, strict=True)):
        if not core.is_array_value(x):
            raise TypeError(
                f"Output from batched function {x!r} with type {type(x)} is not a valid JAX type{edits.RETURN_ARRAYS}"
            )
        if to is not None:
            rank = np.ndim(x) + (dim is None)
            if not -rank <= to < rank:
                raise ValueError(
                    f"axis {to} is out of bounds for array of dimension {rank}\nout_axes={to} says where the batch goes in the "
                    f"result, which has {rank} ax{'is' if rank == 1 else 'es'} with it: {', '.join(map(str, range(rank)))}."
                )
            x = move_to(x, dim, to % rank, axis.size)
        elif dim is not None:
            raise not_the_same_for_all(axis, tree, i, dim)
        results.append(x)
    return results


def not_the_same_for_all(axis: AxisData, tree: PyTreeDef, i: int, dim: int) -> ValueError:
    """Return the error for the i-th leaf of the result, a batch along `dim` whose `out_axes` is None."""
    if axis.name is not None:
        return ValueError(f"vmap has mapped output (axis_name={axis.name}) but out_axes is None")
    paths, _ = tree_flatten_with_path(skeleton(tree))
    return ValueError(
        f"at vmap out_axes{keystr(paths[i][0])}, got axis spec None but output was batched on axis {dim}\n"
        "None marks a result that is the same for all elements. Say where the batch goes, such as axis 0."
    )
