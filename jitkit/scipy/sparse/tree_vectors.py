"""Trees of arrays as vectors: sums, multiples and products, which are computed as exactly as possible.

JAX: jax/_src/scipy/sparse/linalg.py:_vdot_tree
"""

from __future__ import annotations

import functools
import operator
from typing import Any

from ... import lax
from ...numpy import dot, iscomplexobj, vdot
from ...tree_util import tree_leaves, tree_map

precise_dot = functools.partial(dot, precision=lax.Precision.HIGHEST)
precise_vdot = functools.partial(vdot, precision=lax.Precision.HIGHEST)
add = functools.partial(tree_map, operator.add)
sub = functools.partial(tree_map, operator.sub)


def mul(scalar: Any, tree: Any) -> Any:
    """Return a multiple of a tree."""
    return tree_map(functools.partial(operator.mul, scalar), tree)


def real_product(x: Any, y: Any) -> Any:
    """Return the real part of the inner product of two trees."""
    return sum(tree_leaves(tree_map(real_part, x, y)))


def real_part(x: Any, y: Any) -> Any:
    """Return the real part of the inner product of two arrays, where x is conjugated."""
    result = precise_vdot(x.real, y.real)
    return result + precise_vdot(x.imag, y.imag) if iscomplexobj(x) or iscomplexobj(y) else result


def product(x: Any, y: Any) -> Any:
    """Return the inner product of two trees, where x is conjugated."""
    return sum(tree_leaves(tree_map(precise_vdot, x, y)))
