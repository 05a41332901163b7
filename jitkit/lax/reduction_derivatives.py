"""Derivatives of reductions.

They stand apart from the reductions because they are written with what is made of those.

JAX: jax/_src/lax/lax.py:_reduce_chooser_jvp_rule
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..interpreters import ad
from ..interpreters.ad_rules import defjvp, defjvp_zero, deflinear, primitive_jvps
from .convert import convert_element_type
from .creation import full
from .elementwise import div, eq, mul
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
    """What was summed counts as much as the sum."""
    return [broadcast_in_dim(ct, x.aval.shape, tuple(np.delete(np.arange(x.aval.ndim), axes)))]


def jvp_extreme(g: Any, out: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    """The tangent of `out`, the maximum or minimum of x along `axes`, where that of x is `g`.

    It is the tangent of that element which is the extreme. Where several are, neither of them is more so than the others:
    it is the mean of their tangents. `reshape` puts the axes back that `out` lacks, with size 1.
    """
    shape = [1 if i in axes else size for i, size in enumerate(x.shape)]
    is_extreme = convert_element_type(eq(x, reshape(out, shape)), g.dtype)
    count = reduce_sum(is_extreme, axes)
    return div(reduce_sum(mul(g, is_extreme), axes), count)


def _jvp_prod(primals: Sequence[Any], tangents: Sequence[Any], *, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """The product as a tree of products of two halves, so that no element is divided by."""
    x, kept = primals[0], [i for i in range(primals[0].ndim) if i not in axes]
    shape = [x.shape[i] for i in kept]
    flat = (math.prod(x.shape[i] for i in axes), *shape)
    one = constant_like(x, 1)

    def by_halves(x: Any) -> list[Any]:
        while x.shape[0] > 1:
            half = (x.shape[0] + 1) // 2
            first, second = slice_in_dim(x, 0, half), slice_in_dim(x, half, None)
            if second.shape != first.shape:
                second = pad(second, one, [(0, 1, 0), *[(0, 0, 0)] * len(shape)])
            x = mul(first, second)
        return [squeeze(x, (0,)) if x.shape[0] else full(shape, one)]

    moved = [[reshape(x, flat, (*axes, *kept)) for x in values] for values in (primals, tangents)]
    [out], [tangent] = ad.jvp(by_halves, *moved)
    return out, tangent


deflinear(reduce_sum_p, _transpose_sum)
defjvp(reduce_max_p, jvp_extreme)
defjvp(reduce_min_p, jvp_extreme)
primitive_jvps[reduce_prod_p] = _jvp_prod
defjvp_zero(reduce_and_p, reduce_or_p, reduce_xor_p, argmin_p, argmax_p)
