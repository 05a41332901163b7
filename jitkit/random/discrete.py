"""Draws random orders, and random choices.

JAX: jax/_src/random/core.py:choice
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import core, lax
from .. import numpy as jnp
from ..core import dtypes
from ..lax.utils import canonicalize_axis, canonicalize_shape, refuse_sharding
from ..numpy.promotion import promote_dtypes_inexact
from ..numpy.util import check_arraylike
from ..pjit.jit import jit
from . import prng
from .arguments import Shape, check_shape
from .inverse import gumbel
from .keys import check_key, split_typed
from .uniform import randint, uniform

# --- permutation --------------------------------------------------------------------------------------------


def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None) -> Any:
    """Return `x` in random order along an axis; for an integer x, the integers from 0 to x - 1 in random order.

    Args:
      x: an array, or an integer that is known while tracing.
      axis: along which to shuffle.
      independent: whether to shuffle each vector along the axis independently.

    Raises:
      TypeError: for a scalar that is not an integer.
    """
    refuse_sharding("permutation", out_sharding)
    key, _ = check_key("permutation", key)
    check_arraylike("permutation", x)
    axis = canonicalize_axis(axis, np.ndim(x) or 1)
    if not np.ndim(x):
        if not dtypes.issubdtype(dtypes.dtype(x), np.integer):
            raise TypeError("x must be an integer or at least 1-dimensional")
        count = core.concrete_or_error(int, x, "argument x of jax.random.permutation()")
        return _shuffle(key, jnp.arange(count), axis)
    if independent or np.ndim(x) == 1:
        return _shuffle(key, x, axis)
    order = _shuffle(key, jnp.arange(x.shape[axis]), 0)
    return jnp.take(x, order, axis, unique_indices=True)


@functools.partial(jit, static_argnums=(2,))
def _shuffle(key: Any, x: Any, axis: int) -> Any:
    """Return x in random order: sort its elements by random 32-bit numbers. In a large array some of these are equal.
    So sort several times, until probably no two elements had equal numbers each time. (The swaps of Fisher and Yates
    would run one after the other.)
    """
    exponent = 3  # the probability of failure is below about size**-exponent
    rounds = int(np.ceil(exponent * np.log(max(1, x.size)) / np.log(np.iinfo(np.uint32).max)))
    for _ in range(rounds):
        key, subkey = split_typed(key)
        _, x = lax.sort_key_val(prng.random_bits(subkey, 32, x.shape), x, axis)
    return x


# --- choice -------------------------------------------------------------------------------------------------


def choice(
    key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0, mode: str | None = None
) -> Any:
    """Draw elements of `a`, or rows along an axis.

    Args:
      a: an array, or an integer n for the numbers below n.
      shape: of the draws; it replaces the axis in the result. If there are no draws, the result has this shape alone, as in
        JAX, and `p` is ignored.
      replace: whether an element may be drawn more than once.
      p: the probability of each element; by default all are equal.
      axis: of `a`, along which the elements are.
      mode: the `mode` of `gumbel`, used only for draws with `p` and without replacement.

    Raises:
      TypeError: for a shape that is not a sequence.
      ValueError: for more draws than elements without replacement, for no elements, and for `p` of another size.
    """
    key, _ = check_key("choice", key)
    if not isinstance(shape, Sequence):
        raise TypeError(f"shape argument of jax.random.choice must be a sequence, got {shape}")
    check_arraylike("choice", a)
    array = jnp.asarray(a)
    if array.ndim == 0:
        count = core.concrete_or_error(int, a, "The error occurred in jax.random.choice()")
    else:
        axis = canonicalize_axis(axis, array.ndim)
        count = array.shape[axis]
    draws = math.prod(shape)
    if draws == 0:
        return jnp.zeros(shape, dtype=array.dtype)
    if count <= 0:
        raise ValueError("a must be greater than 0 unless no samples are taken")
    if not replace and draws > count:
        raise ValueError(
            f"Cannot take a larger sample (size {draws}) than population (size {count}) when 'replace=False'"
        )
    if p is None and not replace:
        first = (slice(None),) * axis + (slice(draws),)
        result = permutation(key, count if array.ndim == 0 else array, axis)[first]
    elif p is None:
        result = _taken(array, randint(key, tuple(shape), 0, count), axis)
    else:
        result = _taken(array, _by_probability(key, p, count, tuple(shape), replace, mode), axis)
    if array.ndim == 0:
        return result.reshape(shape)
    return result.reshape(array.shape[:axis] + tuple(shape) + array.shape[axis + 1 :])


def _taken(array: Any, index: Any, axis: int) -> Any:
    return index if array.ndim == 0 else jnp.take(array, index, axis)


def _by_probability(key: Any, p: Any, count: int, shape: Shape, replace: bool, mode: str | None) -> Any:
    """Draw indices below `count`, each with its probability. Raise ValueError unless `p` is a vector of `count` numbers."""
    check_arraylike("choice", p)
    [p] = promote_dtypes_inexact(p)
    if p.shape != (count,):
        raise ValueError(
            "p must be None or a 1D vector with the same size as a.shape[axis]. "
            f"p has shape {p.shape} and a.shape[axis] is {count}."
        )
    if replace:
        below = jnp.cumsum(p)
        drawn = below[-1] * (1 - uniform(key, shape, dtype=below.dtype))
        return jnp.searchsorted(below, drawn).astype(int)
    # The largest log(p) + gumbel is a draw by p; the next largest ones are draws without replacement.
    perturbed = gumbel(key, (count,), dtype=p.dtype, mode=mode) + jnp.log(p)
    return lax.top_k(perturbed, k=math.prod(shape))[1].astype(int)


# --- categorical --------------------------------------------------------------------------------------------


def categorical(
    key: Any,
    logits: Any,
    axis: int = -1,
    shape: Any = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Draw indices of categories, each with the probability `softmax(logits)` along an axis.

    Args:
      logits: logarithms of probabilities, up to a constant.
      axis: along which the categories are.
      shape: of the result: any further axes, then the shape of `logits` without `axis`; by default the latter alone.
      replace: whether the draws along these further axes may be equal.
      mode: the `mode` of `gumbel`.

    Raises:
      ValueError: for a shape that does not fit, and for too many samples without replacement.
    """
    refuse_sharding("categorical", out_sharding)
    key, _ = check_key("categorical", key)
    check_arraylike("categorical", logits)
    logits = jnp.asarray(logits)
    batch: Shape = tuple(int(size) for size in np.delete(logits.shape, axis))
    if shape is None:
        shape = batch
    else:
        shape = canonicalize_shape(shape)
        check_shape("categorical", shape, batch)
    lead = shape[: len(shape) - len(batch)]
    if replace:
        from_end = axis - logits.ndim if axis >= 0 else axis
        sizes = list(shape[len(shape) - len(batch) :])
        sizes.insert(from_end % logits.ndim, logits.shape[axis])
        noise = gumbel(key, (*lead, *sizes), logits.dtype, mode=mode)
        return jnp.argmax(noise + lax.expand_dims(logits, tuple(range(len(lead)))), axis=from_end)
    logits = logits + gumbel(key, logits.shape, logits.dtype, mode=mode)
    count = math.prod(lead)
    if count > logits.shape[axis]:
        raise ValueError(
            f"Number of samples without replacement ({count}) cannot exceed number of categories "
            f"({logits.shape[axis]})."
        )
    _, indices = lax.top_k(jnp.moveaxis(logits, axis, -1), count)
    return lax.reshape(indices, shape, (indices.ndim - 1, *range(indices.ndim - 1)))
