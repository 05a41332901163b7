"""Activation functions of neural networks, softmax and similar functions, one-hot encoding.

Functions whose derivative differs from that of their equations, at a corner or for accuracy, have their own rule
(`custom_jvp`), as in JAX; jaxprs have an equation around the function.

JAX: jax/_src/nn/functions.py:relu
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .. import lax
from .. import numpy as jnp
from ..base import traceback_util
from ..core import dtypes
from ..custom_derivatives import custom_jvp
from ..lax.utils import canonicalize_axis
from ..numpy import reductions, statistics
from ..numpy.promotion import promote_inexact
from ..numpy.util import check_arraylike, check_arraylike_or_none, concrete_index, ensure_arraylike
from ..pjit.jit import inlined, jit

# --- activations -----------------------------------------------------------------------------------------------------


@jit
def identity(x: Any) -> Any:
    """Return x as an array."""
    return ensure_arraylike("identity", x)


@custom_jvp
@jit
def relu(x: Any) -> Any:
    """Return the larger of x and 0, elementwise, with the shape and the dtype of x; nan stays nan."""
    return jnp.maximum(x, 0)


relu.defjvps(lambda g, ans, x: lax.select(x > 0, g, lax.full_like(g, 0)))


@custom_jvp
@jit
def relu6(x: Any) -> Any:
    """Return x, limited to [0, 6]."""
    return jnp.minimum(jnp.maximum(x, 0), 6.0)


relu6.defjvps(lambda g, ans, x: lax.select((x > 0) & (x < 6), g, lax.full_like(g, 0)))


@jit
def squareplus(x: Any, b: Any = 4) -> Any:
    """Return (x + sqrt(x**2 + b)) / 2."""
    x = ensure_arraylike("squareplus", x)
    b = ensure_arraylike("squareplus", b)
    return (x + jnp.sqrt(jnp.square(x) + b)) / 2


@jit
def softplus(x: Any) -> Any:
    """Return log(1 + e**x), a smooth relu."""
    return jnp.logaddexp(x, 0)


@jit
def sparse_plus(x: Any) -> Any:
    """Return 0 for x <= -1, x for x >= 1, and a parabola in between."""
    x = ensure_arraylike("sparse_plus", x)
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


@jit
def soft_sign(x: Any) -> Any:
    """Return x / (|x| + 1)."""
    x = ensure_arraylike("soft_sign", x)
    return x / (jnp.abs(x) + 1)


@inlined
def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + e**-x)."""
    return lax.logistic(x)


@jit
def sparse_sigmoid(x: Any) -> Any:
    """Return 0 for x <= -1, 1 for x >= 1, and a line in between."""
    return 0.5 * jnp.clip(x + 1.0, 0.0, 2.0)


@jit
def silu(x: Any) -> Any:
    """Return x * sigmoid(x), also called swish."""
    x = ensure_arraylike("silu", x)
    return x * sigmoid(x)


swish = silu


@jit
def mish(x: Any) -> Any:
    """Return x * tanh(softplus(x))."""
    x = ensure_arraylike("mish", x)
    return x * jnp.tanh(softplus(x))


@jit
def log_sigmoid(x: Any) -> Any:
    """Return log(sigmoid(x)), accurate also where sigmoid(x) is near 0."""
    x = ensure_arraylike("log_sigmoid", x)
    return -softplus(-x)


@jit
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """Return x where it is positive, alpha * (e**x - 1) elsewhere."""
    x = ensure_arraylike("elu", x)
    is_positive = x > 0
    return jnp.where(is_positive, x, alpha * jnp.expm1(jnp.where(x > 0, 0.0, x)))


@jit
def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Any:
    """Return x where it is positive, negative_slope * x elsewhere."""
    x = ensure_arraylike("leaky_relu", x)
    return jnp.where(x >= 0, x, negative_slope * x)


@jit
def hard_tanh(x: Any) -> Any:
    """Return x, limited to [-1, 1]."""
    x = ensure_arraylike("hard_tanh", x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


@jit
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """Return max(x, 0) + alpha * (e**(min(x, 0) / alpha) - 1): elu with a continuous derivative."""
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)


@jit
def selu(x: Any) -> Any:
    """Return a scaled elu, with the constants of "Self-Normalizing Neural Networks" (https://arxiv.org/abs/1706.02515)."""
    alpha = 1.6732632423543772848170429916717
    scale = 1.0507009873554804934193349852946
    return scale * elu(x, alpha)


def gelu(x: Any, approximate: bool = True) -> Any:
    """Return x * P(X <= x) for a standard normal X. `approximate` uses tanh instead of erf (https://arxiv.org/abs/1606.08415)."""
    dtype, (x,) = promote_inexact("gelu", x)
    x = ensure_arraylike("gelu", x)
    if approximate:
        sqrt_2_over_pi = np.sqrt(2 / np.pi).astype(dtype)
        return x * (0.5 * (1.0 + jnp.tanh(sqrt_2_over_pi * (x + 0.044715 * (x**3)))))
    sqrt_half = np.sqrt(0.5).astype(dtype)
    return jnp.array(0.5 * x * lax.erfc(-x * sqrt_half), dtype=dtype)


@jit(static_argnames=("axis",))
def glu(x: Any, axis: int = -1) -> Any:
    """Return the first half along `axis`, times the sigmoid of the second. Raise ValueError for an axis of odd size."""
    x = ensure_arraylike("glu", x)
    if x.shape[axis] % 2 != 0:
        raise ValueError("axis size must be divisible by 2")
    x1, x2 = jnp.split(x, 2, axis)
    return x1 * sigmoid(x2)


@jit
def hard_sigmoid(x: Any) -> Any:
    """Return relu6(x + 3) / 6."""
    return relu6(x + 3.0) / 6.0


@jit
def hard_silu(x: Any) -> Any:
    """Return x * hard_sigmoid(x), also called hard_swish."""
    x = ensure_arraylike("hard_silu", x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@custom_jvp
@jit
def log1mexp(x: Any) -> Any:
    """Return log(1 - e**-x) for positive x, accurate near 0 and far from it (https://cran.r-project.org/package=Rmpfr,
    log1mexp-note).
    """
    x = ensure_arraylike("log1mexp", x)
    c = jnp.log(2.0)
    return jnp.where(x < c, jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x)))


log1mexp.defjvps(lambda g, ans, x: g / jnp.expm1(x))


# --- over an axis ----------------------------------------------------------------------------------------------------


def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False, where: Any = None
) -> Any:
    """Return log(sum(b * e**a)) over `axis`, without overflow: the largest element is factored out first.

    With `where`, only elements where it is True count. With `return_sign`, return the logarithm of the sum's absolute
    value, and its sign; otherwise the result is nan if a real sum is negative.
    """
    if where is not None:
        a = jnp.where(where, a, 0)
    if b is not None:
        _, (a, b) = promote_inexact("logsumexp", a, b)
        a, b = ensure_arraylike("logsumexp", a), ensure_arraylike("logsumexp", b)
        a = jnp.where(b != 0, a, -np.inf)
    else:
        a = ensure_arraylike("logsumexp", promote_inexact("logsumexp", a)[1][0])
    axes = reductions.reduced_axes(a.ndim, axis)
    largest = jnp.max(jnp.real(a), axis=axes, keepdims=keepdims, where=where, initial=-np.inf)
    largest = lax.stop_gradient(lax.select(jnp.isfinite(largest), largest, lax.full_like(largest, 0)))
    spread = largest if keepdims else lax.expand_dims(largest, reductions.own_axes(axes))
    sizes = lax.exp(lax.sub(a, spread.astype(a.dtype)))
    if b is not None:
        sizes = lax.mul(sizes, b)
    total = jnp.sum(sizes, axis=axes, keepdims=keepdims, where=where)
    sign = lax.sign(total)
    is_complex = dtypes.issubdtype(a.dtype, np.complexfloating)
    if return_sign or not is_complex:
        total = jnp.abs(total)
    out = lax.add(lax.log(total), largest.astype(total.dtype))
    if return_sign:
        return out, sign
    if b is not None and not is_complex:
        return jnp.where(sign < 0, jnp.array(np.nan, dtype=out.dtype), out)
    return out


@jit(static_argnames=("axis", "keepdims"))
def logmeanexp(x: Any, axis: Any = None, where: Any = None, keepdims: bool = False) -> Any:
    """Return log(mean(e**x)) over `axis`, without overflow. With `where`, only elements where it is True count."""
    total = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    return total - jnp.log(statistics.number_of(x, axis, keepdims, where, total.dtype))


@jit(static_argnames=("axis",))
def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """Return log(softmax(x)), without overflow. Elements where `where` is False are -inf."""
    x = ensure_arraylike("log_softmax", x)
    largest = jnp.max(x, axis, where=where, initial=-np.inf, keepdims=True)
    safe = x if where is None else jnp.where(where, x, -np.inf)
    shifted = safe - lax.stop_gradient(largest)
    result = shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis, where=where, keepdims=True))
    return result if where is None else jnp.where(where, result, -np.inf)


def softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """Return e**x, divided by its sum over `axis`, without overflow. Elements where `where` is False are 0."""
    largest = jnp.max(x, axis, where=where, initial=-np.inf, keepdims=True)
    safe = x if where is None else jnp.where(where, x, -np.inf)
    sizes = jnp.exp(jnp.subtract(safe, lax.stop_gradient(largest)))
    result = sizes / jnp.sum(sizes, axis, where=where, keepdims=True)
    return result if where is None else jnp.where(where, result, 0)


@jit(static_argnames=("axis", "algorithm"))
def standardize(
    x: Any,
    axis: Any = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Any:
    """Return x minus its mean over `axis`, divided by its standard deviation there.

    Args:
      mean, variance: by default, those over `axis` of the elements of x where `where` holds.
      epsilon: added to the variance.
      algorithm: the variance as the mean of squares minus the square of the mean ("fast"), or as the mean squared
        distance ("stable").

    Raises:
      ValueError: for another algorithm.
    """
    check_arraylike("standardize", x)
    check_arraylike_or_none("standardize", mean, variance, where)
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        if algorithm == "stable":
            variance = jnp.mean(jnp.square(jnp.subtract(x, mean)), axis, keepdims=True, where=where)
        elif algorithm == "fast":
            variance = jnp.mean(jnp.square(x), axis, keepdims=True, where=where) - jnp.square(mean)
            variance = jnp.clip(variance, 0)  # rounding may have made it negative
        else:
            raise ValueError(f"Unknown algorithm '{algorithm}'. Expected 'fast' or 'stable'.")
    return jnp.subtract(x, mean) * lax.rsqrt(variance + epsilon)


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: Any = -1) -> Any:
    """Return, for each index in x, a vector of `num_classes` numbers along the new axis `axis`: 1 at the index and 0
    elsewhere; all 0 for an index out of bounds.

    `axis` may be the name of a `vmap` axis with `num_classes` elements: each computes its own entry. Raise ValueError
    for another size. Warn unless x has an integer type.
    """
    num_classes = concrete_index(num_classes, "The error arose in jax.nn.one_hot argument `num_classes`.")
    x = jnp.asarray(x)
    if not dtypes.issubdtype(x.dtype, np.integer):
        warnings.warn(
            f"jax.nn.one_hot input should be integer-typed; got dtype={x.dtype}",
            DeprecationWarning,
            stacklevel=traceback_util.stacklevel(),
        )
    return _one_hot(x, num_classes, dtype=dtypes.default_float_dtype() if dtype is None else dtype, axis=axis)


@jit(static_argnames=("num_classes", "dtype", "axis"))
def _one_hot(x: Any, num_classes: int, *, dtype: Any, axis: Any) -> Any:
    try:
        position = canonicalize_axis(axis, x.ndim + 1)
    except TypeError:  # the axis is given by name
        size = lax.axis_size(axis)
        if num_classes != size:
            raise ValueError(
                f"Expected num_classes to match the size of axis {axis}, but {num_classes} != {size}"
            ) from None
        return jnp.asarray(x == lax.axis_index(axis), dtype=dtype)
    spread = lax.expand_dims(x, (axis,))
    classes = lax.broadcasted_iota(x.dtype, [num_classes if i == position else 1 for i in range(spread.ndim)], position)
    return (spread == classes).astype(dtype)
