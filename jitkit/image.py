"""`jitkit.image`: resizes images, by weights along each axis

A pixel of the result is a sum of the image's pixels, weighted by the distance of their centres: each axis has a matrix
of weights, and the result is a product with all of them. A *kernel* gives the weight for a distance.

JAX: jax/_src/image/scale.py:resize
"""

from __future__ import annotations

import enum
import functools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import lax
from . import numpy as jnp
from .base import missing_names
from .core import concrete_or_error, dtypes
from .lax.utils import canonicalize_axis, canonicalize_shape
from .numpy.promotion import promote_dtypes_inexact
from .pjit.jit import jit

Kernel = Callable[[Any], Any]

# --- kernels: weight by distance --------------------------------------------------------------------------------------


def _triangle(x: Any) -> Any:
    return jnp.maximum(0, 1 - jnp.abs(x))


def _lanczos(radius: float, x: Any) -> Any:
    y = radius * jnp.sin(np.pi * x) * jnp.sin(np.pi * x / radius)
    out = jnp.where(x > 1e-3, jnp.divide(y, jnp.where(x != 0, np.pi**2 * x**2, 1)), 1)
    return jnp.where(x > radius, 0.0, out)


def _keys_cubic(x: Any) -> Any:
    """Return weights of R. Keys, Cubic convolution interpolation for digital image processing, 1981: a cubic kernel
    with the parameter a = -1/2.
    """
    out = ((1.5 * x - 2.5) * x) * x + 1.0
    out = jnp.where(x >= 1.0, ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0, out)
    return jnp.where(x >= 2.0, 0.0, out)


def _cubic_of_pytorch(x: Any) -> Any:
    """Return weights of Keys' cubic kernel with the parameter a = -3/4."""
    a = -0.75
    out = ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    out = jnp.where(x >= 1.0, ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a, out)
    return jnp.where(x >= 2.0, 0.0, out)


class ResizeMethod(enum.Enum):
    """How to compute pixels in between: from the nearest one; by a kernel; or as the mean of the area that a pixel covers."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """Return the method with this name. Raise ValueError for an unknown name."""
        if s not in _METHODS:
            raise ValueError(f'Unknown resize method "{s}"')
        return _METHODS[s]


_METHODS = {
    **dict.fromkeys(["linear", "bilinear", "trilinear", "triangle"], ResizeMethod.LINEAR),
    **dict.fromkeys(["cubic", "bicubic", "tricubic"], ResizeMethod.CUBIC),
    **dict.fromkeys(["cubic-pytorch", "bicubic-pytorch"], ResizeMethod.CUBIC_PYTORCH),
    "nearest": ResizeMethod.NEAREST,
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    "area": ResizeMethod.AREA,
}
# The distance up to which weights are not 0, and the kernel; None where weights are areas.
_KERNELS: dict[ResizeMethod, tuple[int, Kernel | None]] = {
    ResizeMethod.LINEAR: (1, _triangle),
    ResizeMethod.LANCZOS3: (3, functools.partial(_lanczos, 3.0)),
    ResizeMethod.LANCZOS5: (5, functools.partial(_lanczos, 5.0)),
    ResizeMethod.CUBIC: (2, _keys_cubic),
    ResizeMethod.CUBIC_PYTORCH: (2, _cubic_of_pytorch),
    ResizeMethod.AREA: (1, None),
}


# --- weights along one axis -------------------------------------------------------------------------------------------


def _pixels_beyond(radius: int, scale: Any, antialias: bool) -> int:
    """Return how many pixels outside the image, where its edge is repeated, have weights."""
    if not antialias:
        return radius
    known: float = concrete_or_error(float, scale, "Antialiasing with edge padding requires a static scale.")
    return math.ceil(radius * max(1.0 / known, 1.0))


def _normalised(weights: Any) -> Any:
    """Return the weights, scaled to a sum of one for each pixel of the result; zeros where their sum is nearly zero."""
    total = jnp.sum(weights, axis=0, keepdims=True)
    is_large = jnp.abs(total) > 1000.0 * float(np.finfo(np.float32).eps)
    return jnp.where(is_large, jnp.divide(weights, jnp.where(total != 0, total, 1)), 0)


def _weights(
    size: int,
    new_size: int,
    scale: Any,
    translation: Any,
    radius: int,
    kernel: Kernel | None,
    antialias: bool,
    repeats_edge: bool,
) -> Any:
    """Return the matrix that makes `new_size` pixels from `size` pixels."""
    dtype = dtypes.result_type(scale, translation)
    step = 1.0 / scale
    width = jnp.maximum(step, 1.0) if antialias else 1.0
    centres = (jnp.arange(new_size, dtype=dtype) + 0.5) * step - translation * step - 0.5
    beyond = _pixels_beyond(radius, scale, antialias) if repeats_edge else 0
    pixels = jnp.arange(-beyond, size + beyond, dtype=dtype)
    if kernel is None:
        begin = jnp.arange(new_size, dtype=dtype) * step - translation * step
        end = begin + step
        left = jnp.arange(size, dtype=dtype)
        right = left + 1.0
        nearer = jnp.minimum(end[np.newaxis, :], right[:, np.newaxis])
        weights = jnp.maximum(0.0, nearer - jnp.maximum(begin[np.newaxis, :], left[:, np.newaxis]))
    else:
        distance = jnp.abs(centres[np.newaxis, :] - pixels[:, np.newaxis])
        weights = kernel(distance / width)
    if repeats_edge:
        rows = jnp.clip(pixels.astype(np.int32), 0, size - 1)
        columns = jnp.arange(new_size)
        matrix = jnp.zeros((size, new_size), dtype=dtype)
        columns = lax.broadcast_in_dim(columns, (pixels.shape[0], new_size), (1,))
        return _normalised(matrix.at[rows[:, np.newaxis], columns].add(weights))
    weights = _normalised(weights)
    is_inside = jnp.logical_and(centres >= -0.5, centres <= size - 0.5)[np.newaxis, :]
    return jnp.where(is_inside, weights, 0)


def _resampled(
    x: Any, shape: Sequence[int], axes: Sequence[int], scale: Any, translation: Any, method: ResizeMethod, antialias: bool, precision: Any
) -> Any:  # fmt: skip
    if not axes:
        return x
    radius, kernel = _KERNELS[method]
    repeats_edge = method == ResizeMethod.CUBIC_PYTORCH and not antialias
    factors: list[Any] = []
    result = list(range(x.ndim))
    for i, given in enumerate(axes):
        axis = canonicalize_axis(given, x.ndim)
        matrix = _weights(
            x.shape[axis], shape[axis], scale[i], translation[i], radius, kernel, antialias, repeats_edge
        ).astype(x.dtype)  # fmt: skip
        factors += [matrix, [axis, x.ndim + i]]
        result[axis] = x.ndim + i
    return jnp.einsum(x, list(range(x.ndim)), *factors, result, precision=precision)


def _method_for(shape: Sequence[int], image: Any, method: str | ResizeMethod, antialias: bool) -> ResizeMethod:
    if len(shape) != image.ndim:
        raise ValueError(f"shape must have length equal to the number of dimensions of x;  {shape} vs {image.shape}")
    found = ResizeMethod.from_string(method) if isinstance(method, str) else method
    if not isinstance(found, ResizeMethod):
        raise ValueError(f"Unknown resize method {method!r}: pass one of {', '.join(_METHODS)}, or a ResizeMethod.")
    return ResizeMethod.CUBIC if found == ResizeMethod.CUBIC_PYTORCH and antialias else found


def scale_and_translate(
    image: Any, shape: Any, spatial_dims: Sequence[int], scale: Any, translation: Any, method: str | ResizeMethod, antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Any:  # fmt: skip
    """Return the image, resized so that a point `p` along one of `spatial_dims` moves to `p * scale + translation`.

    Values outside the image are zero. `shape` is the shape of the result; for the other arguments see `resize`.

    Raises:
      ValueError: the shape has another length than the image's, scale or translation another length than `spatial_dims`, or
        the method is unknown or "nearest".
    """
    shape = canonicalize_shape(shape)
    method = _method_for(shape, image, method, antialias)
    if method == ResizeMethod.NEAREST:
        raise ValueError("Nearest neighbor resampling is not currently supported for scale_and_translate.")
    (image,) = promote_dtypes_inexact(image)
    scale, translation = promote_dtypes_inexact(scale, translation)
    for name, numbers in (("scale", scale), ("translation", translation)):
        if len(numbers) != len(spatial_dims):
            raise ValueError(
                f"{name} has {len(numbers)} elements, and there are {len(spatial_dims)} spatial_dims: give one for each."
            )
    return _resampled(image, shape, spatial_dims, scale, translation, method, antialias, precision)


def _nearest(image: Any, shape: Sequence[int]) -> Any:
    for axis, (size, new_size) in enumerate(zip(image.shape, shape, strict=True)):
        if size != new_size:
            places = (jnp.arange(new_size, dtype=np.float32) + 0.5) * size / new_size
            places = jnp.floor(places.astype(np.float32)).astype(np.int32)
            image = image[(*[slice(None)] * axis, places)]
    return image


@jit(static_argnums=(1, 2, 3, 4))
def _resize(image: Any, shape: Sequence[int], method: str | ResizeMethod, antialias: bool, precision: Any) -> Any:
    method = _method_for(shape, image, method, antialias)
    if method == ResizeMethod.NEAREST:
        return _nearest(image, shape)
    (image,) = promote_dtypes_inexact(image)
    axes = tuple(axis for axis, size in enumerate(shape) if size != image.shape[axis])
    scale = [1.0 if shape[axis] == 0 else shape[axis] / image.shape[axis] for axis in axes]
    return _resampled(image, shape, axes, scale, [0.0] * len(axes), method, antialias, precision)


def resize(
    image: Any, shape: Any, method: str | ResizeMethod, antialias: bool = True, precision: Any = lax.Precision.HIGHEST
) -> Any:
    """Return the image, resized to `shape`.

    Args:
      shape: the shape of the result, with a size for each axis of the image.
      method: a ResizeMethod, or "nearest"; "linear", also called "bilinear", "trilinear" or "triangle"; "cubic", also
        "bicubic" or "tricubic"; "cubic-pytorch", also "bicubic-pytorch"; "lanczos3", "lanczos5" or "area".
      antialias: whether a pixel of a smaller result uses all pixels that it covers.
      precision: the precision of the products with weights.

    Raises:
      ValueError: for a shape of another length than the image's, and for an unknown method.
    """
    return _resize(image, canonicalize_shape(shape), method, antialias, precision)


missing_names.explain("image", sys.modules[__name__])
