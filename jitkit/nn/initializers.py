"""Initial weights of networks: each function returns an initializer, a function of a key, a shape and a dtype.

    init = initializers.he_normal()
    w = init(random.key(0), (784, 128))

The ones named after people are `variance_scaling` with a choice of scale, mode and distribution: the variance of the
weights is `scale` over the number of inputs of a unit ("fan_in"), of its outputs ("fan_out"), or a mean of both.
`glorot_*` is also called `xavier_*` (http://proceedings.mlr.press/v9/glorot10a.html), and `he_*` also `kaiming_*`
(https://arxiv.org/abs/1502.01852); `lecun_*` keeps the variance of the inputs.

JAX: jax/_src/nn/initializers.py:variance_scaling
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .. import lax, random
from .. import numpy as jnp
from ..base.jax_version import since
from ..core import dtypes
from ..lax.utils import canonicalize_shape

# --- the same number everywhere, or numbers of one distribution --------------------------------------------------------


@runtime_checkable
class Initializer(Protocol):
    """The result of the functions below: called with a key, a shape and perhaps a dtype, it returns an array."""

    def __call__(self, key: Any, shape: Any, dtype: Any = None) -> Any:
        """Return the array; float32 by default, or float64 in x64 mode."""


def _float(dtype: Any) -> Any:
    return dtypes.default_float_dtype() if dtype is None else dtype


def zeros(key: Any, shape: Any, dtype: Any = None) -> Any:
    """Return zeros for any key: this is itself an initializer."""
    return jnp.zeros(shape, _float(dtype))


def ones(key: Any, shape: Any, dtype: Any = None) -> Any:
    """Return ones for any key: this is itself an initializer."""
    return jnp.ones(shape, _float(dtype))


def constant(value: Any, dtype: Any = None) -> Initializer:
    """Return an initializer that fills with `value`, which broadcasts to the shape."""

    def init(key: Any, shape: Any, dtype: Any = dtype) -> Any:
        return jnp.full(shape, value, dtype=_float(dtype))

    return init


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Return an initializer of uniform numbers between 0 and `scale`."""

    def init(key: Any, shape: Any, dtype: Any = dtype) -> Any:
        dtype = _float(dtype)
        return random.uniform(key, shape, dtype) * jnp.array(scale, dtype)

    return init


def _scaled_normal(key: Any, shape: Any, dtype: Any, stddev: Callable[[], Any]) -> Any:
    """Return normal numbers multiplied by `stddev()`. Since JAX 0.12, for real dtypes, `stddev()` is first multiplied
    by the factor sqrt(2) of the normal distribution, which rounds differently.
    """
    if not (since(0, 12) and dtypes.issubdtype(dtype, np.floating)):
        return random.normal(key, shape, dtype) * stddev()
    above_minus_one = np.nextafter(np.array(-1.0, dtype), np.array(0.0, dtype), dtype=dtype)
    scale = stddev()
    uniform = random.uniform(key, shape, dtype, above_minus_one, np.array(1.0, dtype))
    return (jnp.array(np.sqrt(2), scale.dtype) * scale) * lax.erf_inv(uniform)


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Return an initializer of normal numbers of mean 0 and standard deviation `stddev`."""

    def init(key: Any, shape: Any, dtype: Any = dtype) -> Any:
        dtype = _float(dtype)
        return _scaled_normal(key, shape, dtype, lambda: jnp.array(stddev, dtype))

    return init


def truncated_normal(stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0) -> Initializer:
    """Return an initializer of normal numbers between `lower` and `upper`, then multiplied by `stddev`. Their standard
    deviation is less than `stddev`, since the tails are missing.
    """

    def init(key: Any, shape: Any, dtype: Any = dtype) -> Any:
        dtype = _float(dtype)
        return random.truncated_normal(key, lower, upper, shape, dtype) * jnp.array(stddev, dtype)

    return init


# --- a variance that fits the shape ------------------------------------------------------------------------------------

# The standard deviation of a normal distribution cut off at twice it, real and (the modulus) complex.
_TRUNCATED_STDDEV = {"real": 0.87962566103423978, "complex": 0.95311164380491208}


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (),
    dtype: Any = None,
) -> Initializer:
    """Return an initializer of weights of mean 0, whose variance depends on the number of inputs or outputs of a unit.

    Args:
      scale: the variance is this over the number that `mode` selects.
      mode: "fan_in", inputs; "fan_out", outputs; "fan_avg", the mean of both; "fan_geo_avg", their geometric mean.
      distribution: "normal"; "truncated_normal", cut off at two standard deviations; or "uniform", for complex numbers
        on a disk.
      in_axis, out_axis, batch_axis: the axes of inputs, the axes of outputs, and axes to ignore. Other axes are those of a
        convolution's window.
      dtype: used if the initializer is not given one.

    Raises, when called:
      ValueError: for another mode or distribution, or a shape without these axes.
    """

    def init(key: Any, shape: Any, dtype: Any = dtype) -> Any:
        shape = canonicalize_shape(shape)
        dtype = _float(dtype)
        fan_in, fan_out = _fans(shape, in_axis, out_axis, batch_axis)
        counts = {
            "fan_in": fan_in,
            "fan_out": fan_out,
            "fan_avg": (fan_in + fan_out) / 2,
            "fan_geo_avg": (fan_in * fan_out) ** 0.5,
        }
        if mode not in counts:
            raise ValueError(f"invalid mode for variance scaling initializer: {mode}")
        inputs = counts[mode]
        variance = jnp.array(0 if inputs == 0 and since(0, 11) else scale / inputs, dtype=dtype)
        is_real = dtypes.issubdtype(dtype, np.floating)
        if distribution == "truncated_normal":
            stddev = jnp.sqrt(variance) / jnp.array(_TRUNCATED_STDDEV["real" if is_real else "complex"], dtype)
            if is_real:
                return random.truncated_normal(key, -2, 2, shape, dtype) * stddev
            return _complex_truncated_normal(key, 2, shape, dtype) * stddev
        if distribution == "normal":
            return _scaled_normal(key, shape, dtype, lambda: jnp.sqrt(variance))
        if distribution == "uniform":
            if is_real:
                return random.uniform(key, shape, dtype, -1) * jnp.sqrt(3 * variance)
            return _complex_uniform(key, shape, dtype) * jnp.sqrt(variance)
        raise ValueError(f"invalid distribution for variance scaling initializer: {distribution}")

    return init


def _fans(
    shape: tuple[int, ...], in_axis: int | Sequence[int], out_axis: int | Sequence[int], batch_axis: int | Sequence[int]
) -> tuple[float, float]:
    """Return the number of weights that lead to each output ("fan in"), and from each input ("fan out"). Raise
    ValueError for the default `in_axis` and fewer than 2 axes.
    """
    if isinstance(in_axis, int) and in_axis == -2 and len(shape) <= 1:
        raise ValueError(
            f"Can't compute input and output sizes of a {len(shape)}-dimensional weights tensor with default in_axis. Must "
            "be at least 2D or specify in_axis explicitly."
        )

    def size(axes: int | Sequence[int]) -> int:
        return math.prod(shape[i] for i in ([axes] if isinstance(axes, int) else axes))

    inputs, outputs = size(in_axis), size(out_axis)
    counted = inputs * outputs * size(batch_axis)
    if counted == 0 and since(0, 11):
        return 0.0, 0.0
    window = math.prod(shape) / counted
    return inputs * window, outputs * window


def _complex_uniform(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return complex numbers, uniformly distributed in a disk, with variance 1."""
    return _complex(key, shape, dtype, lambda u, _: jnp.sqrt(2 * u))


def _complex_truncated_normal(key: Any, upper: float, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return complex normal numbers of variance 1, then truncated to a modulus below `upper`."""

    def modulus(u: Any, dtype: Any) -> Any:
        t = (1 - jnp.exp(jnp.array(-(upper**2), dtype))) * u.astype(dtype)
        return jnp.sqrt(-jnp.log(1 - t))

    return _complex(key, shape, dtype, modulus)


def _complex(key: Any, shape: tuple[int, ...], dtype: Any, modulus: Any) -> Any:
    """Return complex numbers with uniformly distributed angles and the moduli `modulus(uniform numbers, dtype)`."""
    key_r, key_theta = random.split(key)
    real = np.array(0, dtype).real.dtype
    dtype = dtypes.to_complex_dtype(real)
    r = modulus(random.uniform(key_r, shape, real), dtype).astype(dtype)
    theta = 2 * np.pi * random.uniform(key_theta, shape, real).astype(dtype)
    return r * jnp.exp(1j * theta)


def _scaled(name: str, scale: float, mode: str, distribution: str) -> Any:
    def make(
        in_axis: int | Sequence[int] = -2,
        out_axis: int | Sequence[int] = -1,
        batch_axis: int | Sequence[int] = (),
        dtype: Any = None,
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f'`variance_scaling({scale}, "{mode}", "{distribution}", in_axis, out_axis, batch_axis, dtype)`.'
    return make


glorot_uniform = xavier_uniform = _scaled("glorot_uniform", 1.0, "fan_avg", "uniform")
glorot_normal = xavier_normal = _scaled("glorot_normal", 1.0, "fan_avg", "truncated_normal")
lecun_uniform = _scaled("lecun_uniform", 1.0, "fan_in", "uniform")
lecun_normal = _scaled("lecun_normal", 1.0, "fan_in", "truncated_normal")
he_uniform = kaiming_uniform = _scaled("he_uniform", 2.0, "fan_in", "uniform")
he_normal = kaiming_normal = _scaled("he_normal", 2.0, "fan_in", "truncated_normal")


# --- matrices that keep lengths ----------------------------------------------------------------------------------------


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Return an initializer of `scale` times random matrices whose rows or columns, whichever are fewer, are orthogonal
    unit vectors. `column_axis` counts the columns; the other axes together count the rows. The initializer raises
    ValueError for fewer than two axes.
    """

    def init(key: Any, shape: Any, dtype: Any = dtype) -> Any:
        dtype = _float(dtype)
        if len(shape) < 2:
            raise ValueError("orthogonal initializer requires at least a 2D shape")
        if 0 in shape:
            return jnp.zeros(shape, dtype)
        columns = shape[column_axis]
        q = random.orthogonal(key, math.prod(shape) // columns, (), dtype, columns)
        q = jnp.reshape(q, (*np.delete(shape, column_axis), columns))
        return jnp.array(scale, dtype) * jnp.moveaxis(q, -1, column_axis)

    return init


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Return an initializer of convolution kernels, whose windows have one to three axes, with a matrix of `orthogonal`
    in the middle of the window and 0 elsewhere (https://arxiv.org/abs/1806.05393). The last two axes count inputs and
    outputs. The initializer raises ValueError for other shapes, and for more inputs than outputs.
    """

    def init(key: Any, shape: Any, dtype: Any = dtype) -> Any:
        dtype = _float(dtype)
        if len(shape) not in (3, 4, 5):
            raise ValueError("Delta orthogonal initializer requires a 3D, 4D or 5D shape.")
        if shape[-1] < shape[-2]:
            raise ValueError("`fan_in` must be less or equal than `fan_out`. ")
        matrix = orthogonal(scale, column_axis, dtype)(key, shape[-2:])
        middle = tuple((size - 1) // 2 for size in shape[:-2])
        return jnp.zeros(shape, dtype).at[(*middle, ...)].set(matrix)

    return init
