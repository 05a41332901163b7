"""`jitkit.scipy.fft`: cosine transforms, of type 2, computed by Fourier transforms of the same length.

Take the elements at even positions, followed by those at odd positions in reverse. Their Fourier transform only has to
be turned by a quarter of a step for each frequency (J. Makhoul, A Fast Cosine Transform in One and Two Dimensions,
1980).

JAX: jax/_src/scipy/fft.py:dct
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import lax
from ..base import missing_names
from ..core import dtypes
from ..lax.utils import canonicalize_axis
from ..numpy import arange, array, exp, flip, roll, zeros
from ..numpy import fft as transforms
from ..numpy.promotion import promote_dtypes_complex, promote_dtypes_inexact
from ..numpy.util import ensure_arraylike


def _check(name: str, type: int, norm: str | None) -> None:
    if type != 2:
        raise NotImplementedError("Only DCT type 2 is implemented.")
    if norm is not None and norm not in ["backward", "ortho"]:
        raise ValueError(f"jax.scipy.fft.{name}: norm={norm!r} is not implemented")


def _along(values: Any, axis: int, ndim: int) -> Any:
    """Return a vector as an array of `ndim` axes, with its elements along `axis`."""
    return lax.expand_dims(values, [a for a in range(ndim) if a != axis])


def _turned(n: int, k: Any) -> Any:
    """Return exp(-i pi k / 2n): the factors that turn frequency k back by a quarter of a step."""
    count, k = promote_dtypes_complex(n, k)
    return exp(-0.5j * np.pi * k / count)


def _interleaved(x: Any, axis: int) -> Any:
    even = lax.slice_in_dim(x, None, None, 2, axis)
    odd = lax.rev(lax.slice_in_dim(x, 1, None, 2, axis), (axis,))
    return lax.concatenate([even, odd], axis)


def _deinterleaved(x: Any, axis: int) -> Any:
    def at(*places: Any) -> tuple[slice, ...]:
        return tuple(slice(*places) if a == axis else slice(None) for a in range(x.ndim))

    half = -(-x.shape[axis] // 2)
    even = x[at(None, half, 1)]
    odd = lax.rev(x[at(half, None, 1)], (axis,))
    out = zeros(x.shape, dtype=x.dtype)
    return out.at[at(None, None, 2)].set(even).at[at(1, None, 2)].set(odd)


def _orthonormal(x: Any, axis: int) -> Any:
    factor = lax.concatenate([lax.full((1,), 4, x.dtype), lax.full((x.shape[axis] - 1,), 2, x.dtype)], 0)
    return x / lax.sqrt(_along(factor, axis, x.ndim) * x.shape[axis])


def _of_lengths(x: Any, lengths: dict[int, int]) -> Any:
    """Return x, cut or filled with zeros to these lengths, by axis."""
    return lax.pad(x, array(0, x.dtype), [(0, lengths.get(a, size) - size, 0) for a, size in enumerate(x.shape)])


def _of_parts(transform: Callable[[Any], Any], x: Any) -> Any:
    """Return the transform of complex numbers, from the transforms of their real and imaginary parts."""
    return lax.complex(transform(x.real), transform(x.imag))


def dct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the cosine transform of x along an axis: `2 * sum(x[j] * cos(pi * k * (2 * j + 1) / (2 * n)))` for each k.

    Args:
      type: must be 2; the other types are not implemented.
      n: the length, to which x is cut or filled with zeros.
      norm: "ortho" makes the transform orthonormal; None and "backward" leave it as above.

    Raises:
      NotImplementedError: for another `type`.
      ValueError: for another norm.
    """
    x = ensure_arraylike("dct", x)
    _check("dct", type, norm)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return _of_parts(lambda part: dct(part, type=type, n=n, norm=norm, axis=axis), x)
    axis = canonicalize_axis(axis, x.ndim)
    if n is not None:
        x = _of_lengths(x, {axis: n})
    size = x.shape[axis]
    spectrum = transforms.fft(_interleaved(x, axis), axis=axis)
    k = _along(arange(size, dtype=spectrum.real.dtype), axis, x.ndim)
    out = 2 * (spectrum * _turned(size, k)).real
    return _orthonormal(out, axis) if norm == "ortho" else out


def idct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the inverse of `dct`, with the same arguments and errors."""
    x = ensure_arraylike("idct", x)
    _check("idct", type, norm)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return _of_parts(lambda part: idct(part, type=type, n=n, norm=norm, axis=axis), x)
    axis = canonicalize_axis(axis, x.ndim)
    if n is not None:
        x = _of_lengths(x, {axis: n})
    size = x.shape[axis]
    (x,) = promote_dtypes_inexact(x)
    if norm is None or norm == "backward":
        x = _orthonormal(x, axis)
    x = _orthonormal(x, axis)
    k = _along(arange(size, dtype=x.dtype), axis, x.ndim)
    turn = _turned(size, k)
    x = x.astype(turn.dtype)
    x = x / _turned(size, k)
    x = x * 2 * size
    return _deinterleaved(transforms.ifft(x, axis=axis).real, axis)


def _in_two_axes(x: Any, axes: Sequence[int], norm: str | None) -> Any:
    """Return the cosine transform along two axes from one Fourier transform: the result for a pair of frequencies
    combines the Fourier transform at that pair, and at the pair with one frequency negated.
    """
    one, other = (canonicalize_axis(axis, x.ndim) for axis in axes)
    m, n = x.shape[one], x.shape[other]
    spectrum = transforms.fftn(_interleaved(_interleaved(x, one), other), axes=axes)
    j = _along(arange(m, dtype=spectrum.dtype), one, x.ndim)
    k = _along(arange(n, dtype=spectrum.dtype), other, x.ndim)
    turned = _turned(m, j)
    opposite = (_turned(n, k) * spectrum, _turned(n, -k), roll(flip(spectrum, axis=other), shift=1, axis=other))
    out = 2 * (turned * (opposite[0] + opposite[1] * opposite[2])).real
    return _orthonormal(_orthonormal(out, one), other) if norm == "ortho" else out


def _axes_and_lengths(x: Any, s: Any, axes: Any) -> tuple[tuple[int, ...], list[int] | None]:
    if s is not None:
        s = list(s) if hasattr(s, "__iter__") else [operator.index(s)]
        if len(s) > x.ndim:
            raise ValueError(f"s must have at most x.ndim ({x.ndim}) elements, got {len(s)}")
    if axes is not None:
        return tuple(canonicalize_axis(axis, x.ndim) for axis in (axes if hasattr(axes, "__iter__") else [axes])), s
    return tuple(range(0 if s is None else x.ndim - len(s), x.ndim)), s


def dctn(x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """Return `dct` along `axes`, with the lengths `s`; without `axes`, along the last axes, one for each length;
    without `s` either, along all axes. Raise NotImplementedError for another `type` than 2, ValueError for another
    norm, or more lengths than x has axes.
    """
    x = ensure_arraylike("dctn", x)
    _check("dctn", type, norm)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return _of_parts(lambda part: dctn(part, type=type, s=s, norm=norm, axes=axes), x)
    chosen, lengths = _axes_and_lengths(x, s, axes)
    if len(chosen) == 1:
        return dct(x, n=None if lengths is None else lengths[0], axis=chosen[0], norm=norm)
    if lengths is not None:
        x = _of_lengths(x, dict(zip(chosen, lengths, strict=False)))
    if len(chosen) == 2:
        return _in_two_axes(x, chosen, norm)
    for i in range(0, len(chosen), 2):
        x = dctn(x, axes=chosen[i : i + 2], norm=norm)
    return x


def idctn(x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """Return the inverse of `dctn`, with its arguments and errors."""
    x = ensure_arraylike("idctn", x)
    _check("idctn", type, norm)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return _of_parts(lambda part: idctn(part, type=type, s=s, norm=norm, axes=axes), x)
    chosen, lengths = _axes_and_lengths(x, s, axes)
    if len(chosen) == 1:
        return idct(x, n=None if lengths is None else lengths[0], axis=chosen[0], norm=norm)
    if lengths is not None:
        x = _of_lengths(x, dict(zip(chosen, lengths, strict=False)))
    for axis in chosen:
        x = idct(x, axis=axis, norm=norm)
    return x


missing_names.explain("scipy.fft", sys.modules[__name__])
