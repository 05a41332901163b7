"""Builds fori_loop and map from other loops, and associative_scan without a loop.

JAX: jax/_src/lax/control_flow/loops.py:fori_loop
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import core
from ...base import config, edits, traceback_util
from ...core import dtypes
from ...interpreters.partial_eval import with_stand_ins_in
from ...interpreters.vmap import vmap
from ...tree_util import tree_flatten, tree_map, tree_unflatten
from ..convert import convert_element_type
from ..elementwise import add, bitwise_or, lt
from ..joining import concatenate, pad
from ..shaping import rev
from ..slicing import slice_in_dim
from ..utils import canonicalize_axis, constant_like
from .common import Body, is_call_of_ours
from .loops import run_while
from .scanning import run_scan, scan

# --- fori_loop ----------------------------------------------------------------------------------------------


@traceback_util.api_boundary
def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *, unroll: int | bool | None = None
) -> Any:
    """Compute `val = body_fun(i, val)` for `i` from `lower` to `upper - 1`, beginning with `val = init_val`; return the last `val`.

    With bounds that are known while tracing it is a `scan` of `known_trips(lower, upper)` steps (`count_by_scan`),
    otherwise a `while_loop` (`count_by_while`). For the `while_loop`, convert a bound whose dtype is not
    `dtype_of_bounds(lower, upper)`; leave the other bound as it is, weak if it was weak.

    Args:
      lower, upper: integer scalars of one dtype. With `upper <= lower` there are no steps.
      body_fun: takes the index and the carry, returns the carry with the same structure and types.
      init_val: the carry, a tree of arrays.
      unroll: as in `scan`, by default False; only for known bounds.

    Raises:
      TypeError: `body_fun` is not a function, the bounds are of different types, or the carry changes its type.
      ValueError: the bounds are traced, and `unroll` is a number of steps other than 1.
    """
    if not callable(body_fun):
        raise TypeError(f"lax.fori_loop: body_fun argument should be callable.{edits.FORI_ORDER}")
    dtype = dtype_of_bounds(lower, upper)
    trips = known_trips(lower, upper)
    if trips is not None:
        return count_by_scan(lower, trips, body_fun, init_val, False if unroll is None else unroll)
    if unroll not in (None, 1) and unroll is not False:
        raise ValueError(
            "Can only use `unroll` in `fori_loop` if the loop bounds are statically known.\n"
            "Leave `unroll` out, or make the bounds static: jit(f, static_argnames='n')."
        )
    lower, upper = (
        bound if dtypes.dtype(bound) == dtype else convert_element_type(bound, dtype) for bound in (lower, upper)
    )
    return count_by_while(lower, upper, body_fun, init_val)


def count_by_scan(
    lower: Any, trips: int, body_fun: Callable[[Any, Any], Any], init_val: Any, unroll: int | bool
) -> Any:
    """Return the last value of a `fori_loop`, by a scan of `trips` steps without `xs`; its carry is the pair (index, value)."""

    def step(carry: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], None]:
        i, val = carry
        return (i + 1, body_fun(i, val)), None

    if trips == 0 and config.local.state.options.disable_jit:
        return init_val
    body = Body(step, body_fun, "fori_loop", lambda carry, _: carry)
    (_, val), _ = run_scan(body, (int(lower), init_val), None, trips, False, unroll)
    return val


def count_by_while(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """Return the last value of a `fori_loop`, computed by a while loop, whose carry is (index, upper bound, value).

    `run_while(cond, body, init_val)` writes the loop; `cond` and `body` are a `Body` each. The condition is `below_upper`,
    traced for `while_cond`. The `fun` of the body takes the carry; its `user` is the user's function, traced for
    `fori_loop`; its `view` returns the arguments of `user`: the index and the value. The index is counted up by
    `add(index, one)`, where `constant_like` makes a `one` of the same dtype, which is weak if the index is.
    """

    def step(carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        i, upper, val = carry
        return add(i, constant_like(i, 1)), upper, body_fun(i, val)

    body = Body(step, body_fun, "fori_loop", lambda carry: (carry[0], carry[2]))
    cond = Body(below_upper, below_upper, "while_cond")
    _, _, val = run_while(cond, body, (lower, upper, init_val))
    return val


def below_upper(carry: tuple[Any, Any, Any]) -> Any:
    """Return whether the index, first of the carry, is below the upper bound, the second."""
    i, upper, _ = carry
    return lt(i, upper)


def dtype_of_bounds(lower: Any, upper: Any) -> Any:
    """Return the dtype of the index: the dtype of both bounds, or, if both are signed integers and one is weakly typed,
    the dtype of the other. Raise TypeError for other pairs.
    """
    lower_dtype, upper_dtype = dtypes.dtype(lower), dtypes.dtype(upper)
    if lower_dtype == upper_dtype:
        return lower_dtype
    if all(dtypes.issubdtype(dtype, np.signedinteger) for dtype in (lower_dtype, upper_dtype)):
        lower_weak, upper_weak = dtypes.is_weakly_typed(lower), dtypes.is_weakly_typed(upper)
        if lower_weak != upper_weak:
            return upper_dtype if lower_weak else lower_dtype
    raise TypeError(
        f"lower and upper arguments to fori_loop must have equal types, got {lower_dtype.name} and "
        f"{upper_dtype.name}\nBoth must be integers of one type: `int(n)`, or `n.astype(jnp.int32)` for arrays."
    )


def known_trips(lower: Any, upper: Any) -> int | None:
    """Return the number of steps of the loop, or None if a bound is not known while tracing or does not convert to an int."""
    lower, upper = core.value_if_known(lower), core.value_if_known(upper)
    if not (core.is_concrete(lower) and core.is_concrete(upper)):
        return None
    try:
        return max(0, int(upper) - int(lower))
    except TypeError:
        return None


# --- map ----------------------------------------------------------------------------------------------------


@traceback_util.api_boundary
def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Return the results of `f` for each element of arrays along their leading axes, stacked. By default it is a
    `scan`.

    Args:
      f: takes a tree of elements, returns a tree of arrays.
      xs: a tree of arrays with leading axes of one size.
      batch_size: how many elements one step of the loop takes, all at once (`vmap`); by default one, without `vmap`. With 0, or a
        size above the number of elements, there is no loop. If elements are left over, `f` is traced again for them.
    """
    if batch_size is None:
        return scan(lambda _, x: ((), f(x)), (), xs)[1]
    leaves, tree = tree_flatten(xs)
    size = leaves[0].shape[0] if leaves else 0
    batches = size // batch_size if batch_size else 0
    in_loop = batches * batch_size
    if batches == 0:
        return vmap(f)(xs)
    blocks, rest = [], []
    for x in leaves:
        blocks.append(x[:in_loop].reshape(batches, batch_size, *x.shape[1:]))
        rest.append(x[in_loop:] if in_loop < size else None)
    ys = scan(lambda _, block: ((), vmap(f)(block)), (), tree_unflatten(tree, blocks))[1]
    if in_loop == size:
        return tree_map(_joined, ys)
    last = vmap(f)(tree_unflatten(tree, rest))
    return tree_map(lambda y, z: concatenate([_joined(y), z], 0), ys, last)


def _joined(y: Any) -> Any:
    """Return the results of blocks, joined along the axis of blocks."""
    return y.reshape(-1, *y.shape[2:])


# --- associative_scan ---------------------------------------------------------------------------------------


@traceback_util.api_boundary
def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Return all prefixes of `elems`, combined by an associative function: `x0`, `fn(x0, x1)`, `fn(fn(x0, x1), x2)`,
    ...

    Neighbours are combined to pairs, whose prefixes, found by the same method, are every second result. Each other
    result takes one more combination. So the depth is logarithmic, and the work linear.

    Args:
      fn: takes two trees like `elems`, returns one; elementwise along `axis`.
      elems: a tree of arrays that have one size along `axis`.
      reverse: combine from the end.
      axis: the axis along which to go.

    Returns:
      A tree like `elems`.

    Raises:
      TypeError: `fn` is not a function, or `axis` is negative with `reverse`.
      ValueError: the sizes along `axis` differ, or `axis` is out of range.
      IndexError: `elems` has no arrays.

    Source: G. E. Blelloch, Prefix Sums and Their Applications, CMU-CS-90-190, 1990.
    """
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn argument should be callable.")
    leaves, tree = tree_flatten(with_stand_ins_in(elems))
    if reverse:
        leaves = [rev(x, [axis]) for x in leaves]
    axis = canonicalize_axis(axis, leaves[0].ndim)
    size = leaves[0].shape[axis]
    if any(x.shape[axis] != size for x in leaves):
        raise ValueError(
            f"Array inputs to associative_scan must have the same first dimension. (saw: {[x.shape for x in leaves]})"
        )

    def combine(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
        try:
            made = fn(tree_unflatten(tree, first), tree_unflatten(tree, second))
        except TypeError as error:
            if is_call_of_ours(error):
                error.args = (f"{error}{edits.OF_TWO_ELEMENTS}",)
            raise
        return tree_flatten(made)[0]

    prefixes = _prefixes(combine, leaves, axis)
    return tree_unflatten(tree, [rev(x, [axis]) for x in prefixes] if reverse else prefixes)


def _prefixes(
    combine: Callable[[Sequence[Any], Sequence[Any]], list[Any]], elems: Sequence[Any], axis: int
) -> list[Any]:
    """Return arrays like `elems`, with the combination of all elements up to each position along the axis."""
    size = elems[0].shape[axis]
    if size < 2:
        return list(elems)

    def cut(arrays: Sequence[Any], start: int, stop: int | None, step: int = 1) -> list[Any]:
        return [slice_in_dim(x, start, stop, step, axis) for x in arrays]

    pairs = combine(cut(elems, 0, -1, 2), cut(elems, 1, None, 2))
    odd = _prefixes(combine, pairs, axis)
    before = cut(odd, 0, -1) if size % 2 == 0 else odd
    even = combine(before, cut(elems, 2, None, 2))
    even = [concatenate([*cut([x], 0, 1), rest], axis) for x, rest in zip(elems, even, strict=True)]
    return [_interleave(a, b, axis) for a, b in zip(even, odd, strict=True)]


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """Return the elements of both in turn, beginning with `even`, which may have one more: both are spread by zeros and added."""
    extra = even.shape[axis] - odd.shape[axis]

    def spread(x: Any, low: int, high: int) -> Any:
        padding = [(0, 0, 0)] * x.ndim
        padding[axis] = (low, high, 1)
        return pad(x, np.array(0, x.dtype), padding)

    join = bitwise_or if even.dtype == np.bool_ else add
    return join(spread(even, 0, 1 - extra), spread(odd, 1, extra))
