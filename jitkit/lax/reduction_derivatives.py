"""Derivatives of reductions. They use functions that are built from reductions, so they have a module of their own.

JAX: jax/_src/lax/lax.py:_reduce_chooser_jvp_rule
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..interpreters import ad
from ..interpreters.ad_rules import Zero, defjvp, defjvp_zero, deflinear, instantiate_zeros, primitive_jvps
from ..interpreters.batching import AxisData, batch, bdim_at_front
from ..jaxpr import Jaxpr, jaxpr_as_fun
from .convert import convert_element_type
from .creation import full
from .elementwise import div, eq, mul
from .generic_reduction import reduce_p
from .joining import pad
from .reduction import (
    argmax_p,
    argmin_p,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
    reduce_sum,
    reduce_sum_p,
    reduce_xor_p,
)
from .shaping import broadcast_in_dim, reshape, squeeze
from .slicing import slice_in_dim
from .utils import constant_like


def _transpose_sum(ct: Any, x: Any, *, axes: tuple[int, ...], out_sharding: None) -> list[Any]:
    """Transpose rule: each summed element gets the sum's cotangent."""
    return [broadcast_in_dim(ct, x.aval.shape, tuple(np.delete(np.arange(x.aval.ndim), axes)))]


def jvp_extreme(g: Any, out: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    """Return the tangent of `out`, the maximum or minimum of x along `axes`, if the tangent of x is `g`.

    It is the tangent of the extreme element; if several are extreme, the mean of their tangents. `reshape` gives `out`
    the missing axes back, with size 1.
    """
    shape = [1 if i in axes else size for i, size in enumerate(x.shape)]
    is_extreme = convert_element_type(eq(x, reshape(out, shape)), g.dtype)
    count = reduce_sum(is_extreme, axes)
    return div(reduce_sum(mul(g, is_extreme), axes), count)


def _jvp_prod(primals: Sequence[Any], tangents: Sequence[Any], *, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """JVP rule: compute the product as a tree of products of two halves, which needs no division."""
    one = constant_like(primals[0], 1)
    [out], [tangent] = _jvp_by_halves(lambda x, y: [mul(x, y)], [one], primals, tangents, axes)
    return out, tangent


def _jvp_by_halves(
    combine: Callable[..., Sequence[Any]],
    starts: Sequence[Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    axes: Sequence[int],
) -> tuple[list[Any], list[Any]]:
    """Return the results of a reduction along `axes`, and their tangents: the JVP of a function that applies `combine`
    to the first and the second half of the elements, then to the halves of the result, and so on. `starts`, one for
    each operand, are the results for no elements. They fill up a half that lacks an element, so they must be neutral.
    """
    x = primals[0]
    kept = [i for i in range(x.ndim) if i not in axes]
    shape = [x.shape[i] for i in kept]
    flat = (math.prod(x.shape[i] for i in axes), *shape)

    def by_halves(*xs: Any) -> list[Any]:
        while xs[0].shape[0] > 1:
            half = (xs[0].shape[0] + 1) // 2
            firsts = [slice_in_dim(x, 0, half) for x in xs]
            seconds = [slice_in_dim(x, half, None) for x in xs]
            if seconds[0].shape != firsts[0].shape:
                sides = [(0, 1, 0), *[(0, 0, 0)] * len(shape)]
                seconds = [pad(x, start, sides) for x, start in zip(seconds, starts, strict=True)]
            xs = tuple(combine(*firsts, *seconds))
        if not xs[0].shape[0]:
            return [full(shape, start) for start in starts]
        return [squeeze(x, (0,)) for x in xs]

    moved = [[reshape(x, flat, (*axes, *kept)) for x in values] for values in (primals, tangents)]
    outs, out_tangents = ad.jvp(by_halves, *moved)
    return outs, list(map(instantiate_zeros, out_tangents))


def _jvp_reduce(
    primals: Sequence[Any], tangents: Sequence[Any], *, computation: Any, jaxpr: Jaxpr, dimensions: tuple[int, ...]
) -> tuple[list[Any], list[Any]]:
    """JVP rule. `computation` takes scalars, so batch it along the kept axes and the halves. Raise NotImplementedError
    if initial values have tangents.
    """
    count = len(primals) // 2
    if any(type(t) is not Zero for t in tangents[count:]):
        raise NotImplementedError(
            "Gradient of general lax.reduce with non-zero tangents for initial values to reduction not implemented"
        )
    depth = primals[0].ndim - len(dimensions) + 1
    combine: Callable[..., Sequence[Any]] = jaxpr_as_fun(jaxpr)
    for _ in range(depth):
        combine = functools.partial(_along_the_first_axis, combine)
    given = [instantiate_zeros(t) for t in tangents[:count]]
    return _jvp_by_halves(combine, primals[count:], primals[:count], given, dimensions)


def _along_the_first_axis(fun: Callable[..., Sequence[Any]], *args: Any) -> list[Any]:
    axis = AxisData(None, args[0].shape[0])
    outs, dims = batch(fun, axis, args, [0] * len(args))
    return [bdim_at_front(x, dim, axis.size) for x, dim in zip(outs, dims, strict=True)]


deflinear(reduce_sum_p, _transpose_sum)
defjvp(reduce_max_p, jvp_extreme)
defjvp(reduce_min_p, jvp_extreme)
primitive_jvps[reduce_prod_p] = _jvp_prod
primitive_jvps[reduce_p] = _jvp_reduce
defjvp_zero(reduce_and_p, reduce_or_p, reduce_xor_p, argmin_p, argmax_p)
