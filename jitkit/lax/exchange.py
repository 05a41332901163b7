"""More collectives: elements of a batch exchange values.

`all_to_all` transposes: part i of element j becomes part j of element i. For batches it just swaps the batch axis and
an axis of the elements.

JAX: jax/_src/lax/parallel.py:all_to_all
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ..core import Primitive, ShapedArray
from ..interpreters.ad_rules import deflinear
from ..interpreters.batching import AxisData, Dims, Vals, moveaxis, register_batcher
from ..tree_util import tree_map
from .creation import full_like
from .elementwise import eq
from .parallel import Axes, _axes, _check_bound, axis_index, axis_size, psum
from .selection import select
from .shaping import broadcast, expand_dims, squeeze

# --- all_to_all: part i of element j becomes part j of element i --------------------------------------------

all_to_all_p = Primitive("all_to_all", pure_shape_rule=False)


@all_to_all_p.def_abstract_eval
def _(
    x: ShapedArray, *, axis_index_groups: None, axis_name: Any, concat_axis: int, split_axis: int, tiled: bool
) -> ShapedArray:
    _check_bound(_axes(axis_name), "all_to_all")
    shape, size = list(x.shape), axis_size(axis_name)
    shape[split_axis] //= size
    shape[concat_axis] *= size
    return x.update(shape=shape, weak_type=False)


@register_batcher(all_to_all_p, even_unmapped=True)
def _(
    axis: AxisData, vals: Vals, dims: Dims, *, axis_name: Any, concat_axis: int, split_axis: int, **params: Any
) -> Any:
    [x], [dim], names = vals, dims, _axes(axis_name)
    if axis.name is None or axis.name not in names:
        if dim is not None:
            concat_axis, split_axis = concat_axis + (dim <= concat_axis), split_axis + (dim <= split_axis)
        out = all_to_all_p.bind(x, axis_name=axis_name, concat_axis=concat_axis, split_axis=split_axis, **params)
        return out, dim
    if dim is None:
        x, dim = broadcast(x, (axis.size,)), 0
    if len(names) > 1:
        return _along_several(x, dim, axis, names, split_axis, concat_axis, params)
    if split_axis != concat_axis:
        joined = _fold(moveaxis(x, dim, concat_axis), concat_axis)
        return _split(joined, split_axis, axis.size), split_axis
    at = split_axis + (dim <= split_axis)
    parts, batch = _split(x, at, axis.size), dim + (at <= dim)
    order = list(range(parts.ndim))
    order[at], order[batch] = batch, at
    return _fold(parts.transpose(order), at), dim


def _along_several(
    x: Any, dim: int, axis: AxisData, names: Axes, split_axis: int, concat_axis: int, params: dict[str, Any]
) -> Any:
    """Return x, exchanged along several named axes, the last of which varies fastest, and its batch axis.

    This trace exchanges along `axis.name`, other traces along the names before and after it. The received chunks lie
    along three new axes in front: for the names before, this one, and those after it; finally these are merged into
    `concat_axis`.
    """
    place = names.index(axis.name)
    before, behind = names[:place], names[place + 1 :]
    x = expand_dims(moveaxis(x, dim, 0), (0, 2))
    split_axis, concat_axis = split_axis + 3, concat_axis + 3
    if before:
        x = all_to_all_p.bind(x, axis_name=before, split_axis=split_axis, concat_axis=0, **params)
    x, new_dim = _split(x, split_axis, axis.size), split_axis
    concat_axis, split_axis = concat_axis + (split_axis <= concat_axis), split_axis + 1
    if behind:
        x = all_to_all_p.bind(x, axis_name=behind, split_axis=split_axis, concat_axis=2, **params)
    x = _fold(_fold(x, 0), 0)
    return _fold(moveaxis(x, 0, concat_axis - 3), concat_axis - 3), new_dim - 3


def _split(x: Any, axis: int, outer: int) -> Any:
    return x.reshape((*x.shape[:axis], outer, x.shape[axis] // outer, *x.shape[axis + 1 :]))


def _fold(x: Any, axis: int) -> Any:
    return x.reshape((*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2 :]))


def all_to_all(
    x: Any, axis_name: Any, split_axis: int, concat_axis: int, *, axis_index_groups: None = None, tiled: bool = False
) -> Any:
    """Return x with parts exchanged: part i of element j becomes part j of element i.

    Args:
      x: an array, or a tree of them.
      axis_name: the name of an axis, or several.
      split_axis: the axis along which x is split, a part for each element.
      concat_axis: the axis along which the received parts are joined.
      axis_index_groups: not supported.
      tiled: whether both axes stay: then the size of `split_axis` is divided by that of the named axis, and the size of
        `concat_axis` is multiplied by it. Otherwise `split_axis` is removed, and `concat_axis` is a new axis.

    Raises:
      NameError: there is no axis of this name.
      ValueError: the size of `split_axis` is not that of the named axis, or, with `tiled`, not a multiple of it.
      NotImplementedError: with `axis_index_groups`.
    """
    if axis_index_groups is not None:
        raise NotImplementedError("axis_index_groups not supported in vmap")
    size = axis_size(axis_name)

    def bind(x: Any, split_axis: int, concat_axis: int) -> Any:
        return all_to_all_p.bind(
            x, split_axis=split_axis, concat_axis=concat_axis, axis_name=axis_name, axis_index_groups=None, tiled=tiled
        )

    def leaf(x: Any) -> Any:
        given = x.shape[split_axis]
        if tiled:
            if given % size:
                raise ValueError(
                    f"The size of all_to_all split_axis ({given}) has to be divisible by the size of the named axis "
                    f"{axis_name} ({size})"
                )
            return bind(x, split_axis, concat_axis)
        if given != size:
            raise ValueError(
                "all_to_all requires the size of the mapped axis axis_name to equal x.shape[split_axis], but they are "
                f"{size} and {given} respectively."
            )
        if split_axis == concat_axis:
            return bind(x, split_axis, concat_axis)
        new = concat_axis + (split_axis < concat_axis)
        old = split_axis + (concat_axis < split_axis)
        return squeeze(bind(expand_dims(x, (new,)), old, new), (old,))

    return tree_map(leaf, x)


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: None = None) -> Any:
    """Return x with the named axis and an axis of the same size swapped; for arguments and errors see `all_to_all`."""
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def _transpose_all_to_all(ct: Any, x: Any, *, concat_axis: int, split_axis: int, **params: Any) -> list[Any]:
    return [all_to_all_p.bind(ct, concat_axis=split_axis, split_axis=concat_axis, **params)]


deflinear(all_to_all_p, _transpose_all_to_all)

# --- pbroadcast: the value of one element, for all ----------------------------------------------------------

pbroadcast_p = Primitive("pbroadcast", pure_shape_rule=False)


@pbroadcast_p.def_abstract_eval
def _(x: ShapedArray, *, axis_name: Any, source: int) -> ShapedArray:
    _check_bound(_axes(axis_name), "pbroadcast")
    return x


@register_batcher(pbroadcast_p, even_unmapped=True)
def _(axis: AxisData, vals: Vals, dims: Dims, *, axis_name: Any, source: int) -> Any:
    [x], [dim], names = vals, dims, _axes(axis_name)
    if axis.name is None or axis.name not in names:
        return pbroadcast_p.bind(x, axis_name=axis_name, source=source), dim
    if len(names) > 1:
        raise NotImplementedError("pbroadcast batcher only supports a single axis")
    if not 0 <= source < axis.size:
        raise ValueError(f"pbroadcast from place {source} of the axis {axis.name!r}, whose size is {axis.size}")
    return (x, None) if dim is None else (x.take(np.array([source] * axis.size), dim), dim)


def pbroadcast(x: Any, axis_name: Hashable, source: int) -> Any:
    """Return, for every element, the value of element number `source`. Raise NameError if there is no such axis,
    ValueError if it has no such element, NotImplementedError for several names.
    """
    return tree_map(lambda leaf: pbroadcast_p.bind(leaf, axis_name=axis_name, source=source), x)


def _transpose_pbroadcast(ct: Any, x: Any, *, axis_name: Any, source: int) -> list[Any]:
    total = psum(ct, axis_name)
    return [select(eq(axis_index(axis_name), np.int32(source)), total, full_like(ct, 0))]


deflinear(pbroadcast_p, _transpose_pbroadcast)


# --- ppermute: the value of another element -----------------------------------------------------------------

ppermute_p = Primitive("ppermute", pure_shape_rule=False)


@ppermute_p.def_abstract_eval
def _(x: ShapedArray, *, axis_name: Axes, perm: Sequence[tuple[int, int]]) -> ShapedArray:
    _check_bound(axis_name, "ppermute")
    return x


@register_batcher(ppermute_p, even_unmapped=True)
def _(axis: AxisData, vals: Vals, dims: Dims, *, axis_name: Axes, perm: Sequence[tuple[int, int]]) -> Any:
    [x], [dim] = vals, dims
    if axis.name is None or axis.name not in axis_name:
        return ppermute_p.bind(x, axis_name=axis_name, perm=perm), dim
    others = tuple(name for name in axis_name if name != axis.name)
    if others:
        return ppermute_p.bind(x, axis_name=others, perm=perm), dim
    if len(perm) != axis.size:
        raise AssertionError(
            f"Permutation doesn't match the axis size!\nppermute got {len(perm)} pairs (source, destination), and the axis "
            f"{axis.name!r} has {axis.size} elements: under vmap, each of them needs a pair."
        )
    if dim is None:
        return x, None
    sources = np.zeros(axis.size, int)
    for source, destination in perm:
        sources[destination] = source
    return x.take(sources, dim), dim


def _transpose_ppermute(ct: Any, x: Any, *, axis_name: Axes, perm: Sequence[tuple[int, int]]) -> list[Any]:
    back = tuple((destination, source) for source, destination in perm)
    return [ppermute_p.bind(ct, axis_name=axis_name, perm=back)]


deflinear(ppermute_p, _transpose_ppermute)


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Return, for each element, the value that another one sends to it: `perm` has a pair (source, destination) for
    each element.

    Raises:
      NameError: there is no axis of this name.
      AssertionError: there is not one pair for each element.
    """
    pairs = tuple((source, destination) for source, destination in perm)
    return tree_map(lambda leaf: ppermute_p.bind(leaf, axis_name=_axes(axis_name), perm=pairs), x)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Return, for each element i, the value of element `perm[i]`. Raise ValueError unless `perm` is a permutation."""
    if set(perm) != set(range(len(perm))):
        raise ValueError(f"`perm` does not represent a permutation: {perm}")
    return ppermute(x, axis_name, [(source, i) for i, source in enumerate(perm)])
