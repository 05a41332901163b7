"""Collectives: communication between the elements of a batch, each of which runs a function by itself.

Inside of `vmap(f, axis_name="i")`, an element does not see the others; `psum(x, "i")` gives each the sum of all their
x. Batching rules make that an operation along the batch axis: `psum` of a batch is a sum along its axis, `axis_index`
an iota, `all_gather` the batch itself as an ordinary array. An operand that is the same for all elements counts once
for each.

Other named axes stay in the parameters, for outer batches, and so do axes of an element, given by number. In the end a
`psum` has only numbers, and is lowered as a reduction.

In JAX the same functions also communicate between devices (`shard_map`).

JAX: jax/_src/lax/parallel.py:psum
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from .. import core
from ..base import config
from ..base.jax_version import since
from ..core import Primitive, ShapedArray, dtypes
from ..interpreters.ad_rules import deflinear
from ..interpreters.batching import AxisData, Dims, Vals, moveaxis, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering
from ..tree_util import tree_map
from .convert import convert_element_type
from .creation import iota
from .reducers import inline_function
from .reduction import reduce_max, reduce_min, reduce_sum
from .shaping import broadcast_in_dim, reshape
from .utils import canonicalize_axis, constant_like

Axes = tuple[Any, ...]  # names, and numbers of an element's axes


def _axes(axis_name: Any) -> Axes:
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def _check_bound(axes: Axes, function: str) -> None:
    """Raise NameError for a name that no enclosing `vmap` has; the message names the caller's `function`. Numbers are not checked."""
    known = dict(config.local.state.axis_env)
    for name in axes:
        if not isinstance(name, int) and name not in known:
            raise NameError(
                f"Found an unbound axis name: {name}. To fix this, please call {function} under `jax.shard_map`.\n"
                f"In jitkit, call it in a function that is mapped by `vmap(f, axis_name={name!r})`."
            )


def axis_size(axis_name: Any) -> int:
    """Return the number of elements along a named axis, or along several. Raise NameError for an unknown name,
    ValueError for an int.
    """
    known = dict(config.local.state.axis_env)
    for name in _axes(axis_name):
        if isinstance(name, int):
            raise ValueError(f"axis {name} is out of bounds for array of dimension 0")
        if name not in known:
            raise NameError(f"unbound axis name: {name}\nThe name is given by `vmap(f, axis_name={name!r})` around.")
    return math.prod(known[name] for name in _axes(axis_name))


# --- psum, pmax, pmin: one value of all elements ------------------------------------------------------------


def _define_reduction(
    name: str, reduce: Callable[[Any, Sequence[int]], Any], of_equals: Callable[[Any, int], Any]
) -> Primitive:
    """Return a new primitive, a reduction over named axes, and over an element's own axes, by number. `reduce(x, axes)` reduces an array
    along axes; `of_equals(x, n)` returns the reduction of n copies of the same x.
    """
    primitive = Primitive(name, pure_shape_rule=False)

    @primitive.def_abstract_eval
    def _(x: ShapedArray, *, axes: Axes, axis_index_groups: None) -> ShapedArray:
        _check_bound(axes, "psum")
        numbers = [axis for axis in axes if isinstance(axis, int)]
        return ShapedArray([n for axis, n in enumerate(x.shape) if axis not in numbers], x.dtype)

    @register_lowering(primitive)
    def _(ctx: LoweringContext, x: str, *, axes: Axes, axis_index_groups: None) -> str:
        return inline_function(ctx, lambda array: [reduce(array, axes)], [x], ctx.avals_in)[0]

    @register_batcher(primitive, even_unmapped=True)
    def _(axis: AxisData, vals: Vals, dims: Dims, *, axes: Axes, axis_index_groups: None) -> Any:
        [x], [dim] = vals, dims
        bind = functools.partial(primitive.bind, axis_index_groups=axis_index_groups)
        if axis.name is None or axis.name not in axes:
            if dim is None or not any(isinstance(a, int) for a in axes):
                return bind(x, axes=axes), dim
            return bind(moveaxis(x, dim, 0), axes=_renamed(axes, axis)), 0
        if dim is None:
            rest = tuple(a for a in axes if a != axis.name)
            return of_equals(bind(x, axes=rest) if rest else x, axis.size), None
        return bind(moveaxis(x, dim, 0), axes=_renamed(axes, axis)), None

    return primitive


def _renamed(axes: Axes, axis: AxisData) -> Axes:
    """Return an element's axes, renumbered for a batch whose axis comes first, with this axis in place of its name."""
    return tuple(0 if a == axis.name else a + 1 if isinstance(a, int) else a for a in axes)


def _times(x: Any, count: int) -> Any:
    return constant_like(x, count) * x


psum_p = _define_reduction("psum", reduce_sum, _times)


def _transpose_psum(ct: Any, x: Any, *, axes: Axes, axis_index_groups: None) -> list[Any]:
    """Transpose rule: each element contributes to every element's sum, so sum all cotangents."""
    numbers = [axis for axis in axes if isinstance(axis, int)]
    if numbers:
        kept = tuple(np.delete(np.arange(x.aval.ndim), numbers))
        ct = broadcast_in_dim(ct, x.aval.shape, kept)
    names = tuple(axis for axis in axes if not isinstance(axis, int))
    return [psum_p.bind(ct, axes=names, axis_index_groups=axis_index_groups)]  # also over no names, as in JAX


deflinear(psum_p, _transpose_psum)
pmax_p = _define_reduction("pmax", reduce_max, lambda x, count: x)
pmin_p = _define_reduction("pmin", reduce_min, lambda x, count: x)


def _reduce_leaf(primitive: Primitive, x: Any, axis_name: Any, axis_index_groups: Any) -> Any:
    if axis_index_groups is not None:
        raise NotImplementedError("axis_index_groups not supported in vmap collectives. Please open a feature request!")
    return primitive.bind(x, axes=_axes(axis_name), axis_index_groups=None)


def psum(x: Any, axis_name: Any, *, axis_index_groups: None = None) -> Any:
    """Return the sum of all elements' x; for bools as int32. A value known while tracing is multiplied by the number of
    elements: `psum(1, "i")` is a Python int.

    Args:
      x: an array, or a tree of them.
      axis_name: the name of an axis, or several in a tuple, which may include numbers of an element's own axes.
      axis_index_groups: not supported.

    Raises:
      NameError: there is no axis of this name.
      NotImplementedError: with `axis_index_groups`.
    """
    axes = _axes(axis_name)
    if not axes:
        return x

    def leaf(x: Any) -> Any:
        if dtypes.dtype(x) == np.bool_:
            x = convert_element_type(x, np.int32)
        if isinstance(x, core.Tracer) or axis_index_groups is not None:
            return _reduce_leaf(psum_p, x, axis_name, axis_index_groups)
        size = axis_size([axis for axis in axes if not isinstance(axis, int)])
        numbers = [canonicalize_axis(axis, np.ndim(x)) for axis in axes if isinstance(axis, int)]
        total = reduce_sum(x, numbers) if numbers else x
        return total * size if isinstance(total, (int, float, complex)) else _times(total, size)

    return tree_map(leaf, x)


def pmean(x: Any, axis_name: Any, *, axis_index_groups: None = None) -> Any:
    """Return the mean of all elements' x; for arguments and errors see `psum`."""
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    count = psum(1, axis_name, axis_index_groups=axis_index_groups)
    return tree_map(lambda leaf: leaf / count, total)


def pmax(x: Any, axis_name: Any, *, axis_index_groups: None = None) -> Any:
    """Return the greatest of all elements' x, elementwise; for arguments and errors see `psum`."""
    return tree_map(lambda leaf: _reduce_leaf(pmax_p, leaf, axis_name, axis_index_groups), x)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: None = None) -> Any:
    """Return the least of all elements' x, elementwise; for arguments and errors see `psum`."""
    return tree_map(lambda leaf: _reduce_leaf(pmin_p, leaf, axis_name, axis_index_groups), x)


# --- axis_index: which element this is ----------------------------------------------------------------------

axis_index_p = Primitive("axis_index", pure_shape_rule=False)


@axis_index_p.def_abstract_eval
def _(*, axis_name: Hashable) -> ShapedArray:
    _check_bound((axis_name,), "axis_index")
    return ShapedArray((), np.int32)


@register_batcher(axis_index_p, even_unmapped=True)
def _(axis: AxisData, vals: Vals, dims: Dims, *, axis_name: Hashable) -> Any:
    if axis_name != axis.name:
        return axis_index_p.bind(axis_name=axis_name), None
    return iota(np.int32, axis.size), 0


def axis_index(axis_name: Any) -> Any:
    """Return the number of this element along a named axis; along several, the last counts fastest. Raise NameError for
    an unknown name.
    """
    if not isinstance(axis_name, (tuple, list)):
        return axis_index_p.bind(axis_name=axis_name)
    index: Any = convert_element_type(0, np.int32)
    size = 1
    for name in reversed(axis_name):
        index += axis_index(name) * size
        size *= axis_size(name)
    return index


# --- all_gather: the values of all elements -----------------------------------------------------------------

all_gather_p = Primitive("all_gather", pure_shape_rule=False)


@all_gather_p.def_abstract_eval
def _(
    x: ShapedArray, *, all_gather_dimension: int, axis_name: Axes, axis_index_groups: None, axis_size: int, tiled: bool
) -> ShapedArray:
    _check_bound(axis_name, "all_gather")
    shape = list(x.shape)
    if tiled:
        shape[all_gather_dimension] *= axis_size
    else:
        shape.insert(all_gather_dimension, axis_size)
    return x.update(shape=shape)


@register_batcher(all_gather_p, even_unmapped=True)
def _(
    axis: AxisData, vals: Vals, dims: Dims, *, all_gather_dimension: int, axis_name: Axes, tiled: bool, **params: Any
) -> Any:
    [x], [dim], to = vals, dims, all_gather_dimension
    if axis.name is None or axis.name not in axis_name:
        if dim is not None:
            to, dim = to + (dim <= to), dim + (dim > to and not tiled)
        return all_gather_p.bind(x, all_gather_dimension=to, axis_name=axis_name, tiled=tiled, **params), dim
    if len(axis_name) > 1:
        raise NotImplementedError("all_gather along several named axes at once: gather along one after the other")
    if dim is None:
        shape = (*np.shape(x)[:to], axis.size, *np.shape(x)[to:])
        gathered = broadcast_in_dim(x, shape, [i for i in range(len(shape)) if i != to])
    else:
        gathered = moveaxis(x, dim, to)
    if tiled:
        shape = gathered.shape
        gathered = reshape(gathered, (*shape[:to], shape[to] * shape[to + 1], *shape[to + 2 :]))
    return gathered, None


def all_gather(x: Any, axis_name: Any, *, axis_index_groups: None = None, axis: int = 0, tiled: bool = False) -> Any:
    """Return the values of all elements, stacked along a new axis; with `tiled`, concatenated along an existing axis.

    Args:
      x: an array, or a tree of them.
      axis_name: the name of an axis.
      axis_index_groups: not supported.
      axis: the place of the new axis, or with `tiled` the existing axis.
      tiled: whether the values are concatenated along `axis`, and not stacked.

    Raises:
      NameError: there is no axis of this name.
      ValueError: `axis` is out of range.
      NotImplementedError: with `axis_index_groups`, or for several names at once.
    """
    if axis_index_groups is not None:
        raise NotImplementedError("axis_index_groups not supported in vmap")
    names, size = _axes(axis_name), axis_size(axis_name)

    def leaf(x: Any) -> Any:
        to = canonicalize_axis(axis, np.ndim(x) + (not tiled))
        return all_gather_p.bind(
            x, all_gather_dimension=to, axis_name=names, axis_index_groups=None, axis_size=size, tiled=tiled
        )

    return tree_map(leaf, x)


# --- psum_scatter: a part of the sum for each element -------------------------------------------------------

reduce_scatter_p = Primitive("reduce_scatter", pure_shape_rule=False)


@reduce_scatter_p.def_abstract_eval
def _(
    x: ShapedArray, *, axis_index_groups: None, axis_name: Axes, axis_size: int, scatter_dimension: int, tiled: bool
) -> ShapedArray:
    _check_bound(axis_name, "reduce_scatter")
    shape, size = list(x.shape), x.shape[scatter_dimension]
    if tiled and size % axis_size:
        raise ValueError(
            f"tiled reduce_scatter operand scatter dimension size {size} must be divisible by shard_count {axis_size}"
        )
    if not tiled and size != axis_size:
        raise ValueError(f"reduce_scatter operand scatter dimension size {size} must match shard count {axis_size}")
    shape[scatter_dimension : scatter_dimension + 1] = [size // axis_size] if tiled else []
    return x.update(shape=shape)


@register_batcher(reduce_scatter_p, even_unmapped=True)
def _(
    axis: AxisData, vals: Vals, dims: Dims, *, axis_name: Axes, scatter_dimension: int, tiled: bool, **params: Any
) -> Any:
    [x], [dim], at = vals, dims, scatter_dimension
    if at >= (ndim := x.ndim - (dim is not None)):
        if since(0, 12):
            raise ValueError(f"axis {at} is out of bounds for array of dimension {ndim}")
        raise IndexError(f"tuple index out of range\nThere is no axis {at} (`scatter_dimension`) in x.")
    if axis.name is None or axis.name not in axis_name:
        if dim is not None:
            at, dim = at + (dim <= at), dim - (dim > at and not tiled)
        return reduce_scatter_p.bind(x, axis_name=axis_name, scatter_dimension=at, tiled=tiled, **params), dim
    if len(axis_name) > 1:
        raise NotImplementedError("psum_scatter along several named axes at once: go along one after the other")
    total = x * axis.size if dim is None else reduce_sum(x, (dim,))
    if tiled:
        shape = total.shape
        total = reshape(total, (*shape[:at], axis.size, shape[at] // axis.size, *shape[at + 1 :]))
    return total, at


def psum_scatter(
    x: Any, axis_name: Any, *, scatter_dimension: int = 0, axis_index_groups: None = None, tiled: bool = False
) -> Any:
    """Return part i of the sum of all elements' x, for element i.

    Args:
      x: an array, or a tree of them.
      axis_name: the name of an axis.
      scatter_dimension: the axis along which x is split. Its size must be the number of elements, and the axis is removed.
        With `tiled`, its size may be a multiple of that, and the axis stays.
      axis_index_groups: not supported.
      tiled: whether `scatter_dimension` stays, with the size of a part.

    Raises:
      NameError: there is no axis of this name.
      ValueError: x has another size along `scatter_dimension`.
      IndexError: x has no axis `scatter_dimension`; ValueError since JAX 0.12.
      NotImplementedError: with `axis_index_groups`, or for several names at once.
    """
    if axis_index_groups is not None:
        raise NotImplementedError("axis_index_groups not supported in vmap")
    names, size = _axes(axis_name), axis_size(axis_name)

    def leaf(x: Any) -> Any:
        return reduce_scatter_p.bind(
            x, axis_name=names, scatter_dimension=scatter_dimension, axis_index_groups=None, axis_size=size, tiled=tiled
        )

    return tree_map(leaf, x)


def _transpose_all_gather(ct: Any, x: Any, *, all_gather_dimension: int, axis_size: int, **params: Any) -> list[Any]:
    return [reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension, axis_size=axis_size, **params)]


def _transpose_reduce_scatter(ct: Any, x: Any, *, scatter_dimension: int, axis_size: int, **params: Any) -> list[Any]:
    return [all_gather_p.bind(ct, all_gather_dimension=scatter_dimension, axis_size=axis_size, **params)]


deflinear(all_gather_p, _transpose_all_gather)
deflinear(reduce_scatter_p, _transpose_reduce_scatter)


# --- pcast: how a value of a mapped function varies ---------------------------------------------------------


def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """Return a tree of values unchanged. In JAX this changes whether types vary along axes of a mesh; jitkit's types do
    not say that, and its `shard_map` runs on one device.

    Raises:
      TypeError: `axis_name` is a set.
      ValueError: no enclosing function maps an axis of this name; `to` is not "varying", "unreduced" or "reduced".
    """
    if isinstance(axis_name, (set, frozenset)):
        raise TypeError(f"axis_name={axis_name!r} must be a tuple or a str. Got {axis_name}")
    if axis_name == ():
        return x
    if to not in ("varying", "unreduced", "reduced"):
        raise ValueError("Got unexpected `to` value. Allowed `to` values are: {'varying', 'unreduced', 'reduced'}")
    known = dict(config.local.state.axis_env)
    if any(name not in known for name in _axes(axis_name)):
        raise ValueError("pvary should be called under jax.shard_map.")
    return x
