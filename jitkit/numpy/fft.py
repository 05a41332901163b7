"""`jitkit.numpy.fft`: discrete Fourier transforms along any axes, of any lengths.

Input: arrays. Output: arrays, computed by `lax.fft`, which transforms at most three last axes. All transforms raise
ValueError as `fftn` does; those along one axis also for a list of axes, those along two axes for another number of
axes.

JAX: jax/_src/numpy/fft.py:fft
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
from ..lax.fourier import FftType
from .creation import array, asarray
from .padding import pad
from .promotion import promote_dtypes_inexact
from .ranges import arange
from .reductions import prod
from .shaping import moveaxis, roll
from .ufuncs import conj, sqrt
from .util import ensure_arraylike

# --- along several axes -------------------------------------------------------------------------------------------------


def _transform(name: str, kind: FftType, a: Any, s: Any, axes: Any, norm: str | None) -> Any:
    x = ensure_arraylike(f"jax.numpy.fft.{name}", a)
    if s is not None:
        s = tuple(map(operator.index, s))
        if any(length <= 0 for length in s):
            raise ValueError("Shape should be positive.")
        if axes is not None and len(s) != len(axes):
            raise ValueError("Shape and axes have different lengths.")
    given = axes
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    if len(axes) != len(set(axes)):
        raise ValueError(f"jax.numpy.fft.{name} does not support repeated axes. Got axes {axes}.")
    if given is not None:
        axes = tuple(range(x.ndim - len(axes), x.ndim))
        x = moveaxis(x, given, axes)
    if s is not None:
        x = _of_lengths(x, axes, s, kind)
    else:
        s = [x.shape[axis] for axis in axes]
        if kind == FftType.IRFFT and s:
            s[-1] = max(0, 2 * (s[-1] - 1))
    out = _along_last_axes(x, kind, tuple(s))
    if norm is not None:
        out = out * _factor(array(s, dtype=out.dtype), name.startswith("i"), norm)
    return out if given is None else moveaxis(out, axes, given)


def _of_lengths(x: Any, axes: Sequence[int], s: Sequence[int], kind: FftType) -> Any:
    """Return the array, cut or filled with zeros for a transform of these lengths."""
    sizes = list(x.shape)
    for axis, length in zip(axes, s, strict=True):
        sizes[axis] = length
    if kind == FftType.IRFFT:
        sizes[-1] = sizes[-1] // 2 + 1
    x = x[tuple(slice(size) for size in sizes)]
    return pad(x, [(0, size - has) for size, has in zip(sizes, x.shape, strict=True)])


def _along_last_axes(x: Any, kind: FftType, s: tuple[int, ...]) -> Any:
    """Return the transform along the last `len(s)` axes, by `lax.fft` along up to three at once (for four: two, twice)."""
    if len(s) <= 3:
        return lax.fft(x, kind, s)
    n = 2 if len(s) == 4 else 3
    first = tuple(range(x.ndim - len(s), x.ndim - n))
    last = tuple(range(x.ndim - len(s) + n, x.ndim))
    if kind in (FftType.RFFT, FftType.FFT):
        x = moveaxis(lax.fft(x, kind, s[-n:]), first, last)
        return moveaxis(_along_last_axes(x, FftType.FFT, s[:-n]), last, first)
    x = moveaxis(_along_last_axes(moveaxis(x, first, last), FftType.IFFT, s[:-n]), last, first)
    return lax.fft(x, kind, s[-n:])


def _factor(s: Any, is_inverse: bool, norm: str) -> Any:
    """Return the factor for a norm other than XLA's `backward`, where inverses divide by the product of the lengths.
    Raise ValueError for an unknown norm.
    """
    if norm == "backward":
        return array(1)
    (s,) = promote_dtypes_inexact(s)
    if norm not in ("ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')
    whole = sqrt(prod(s)) if norm == "ortho" else prod(s)
    return whole if is_inverse else 1 / whole


def fftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Any:
    """Return the Fourier transform along several axes.

    Args:
      a: numbers; the result is complex.
      s: the lengths along the axes, to which `a` is cut or filled with zeros. None keeps its lengths.
      axes: the axes; None means the last `len(s)`, or all.
      norm: which result is divided by the number n of elements: with `backward` (None) that of the inverse transform,
        with `forward` that of the transform; `ortho` divides both by sqrt(n).

    Raises:
      ValueError: a length is not positive, an axis is repeated, `s` and `axes` differ in length, or the norm is unknown.
    """
    return _transform("fftn", FftType.FFT, a, s, axes, norm)


def ifftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Any:
    """Return the inverse of `fftn`."""
    return _transform("ifftn", FftType.IFFT, a, s, axes, norm)


def rfftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Any:
    """Return `fftn` of real numbers, with only the non-redundant half of the last axis. Raise ValueError for complex ones."""
    return _transform("rfftn", FftType.RFFT, a, s, axes, norm)


def irfftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Any:
    """Return the inverse of `rfftn`; the last axis has even length unless `s` says otherwise."""
    return _transform("irfftn", FftType.IRFFT, a, s, axes, norm)


# --- along one axis -----------------------------------------------------------------------------------------------------


def _along_one(name: str, kind: FftType, a: Any, n: int | None, axis: int | None, norm: str | None) -> Any:
    _check_axis(name, axis)
    return _transform(name, kind, a, None if n is None else [n], None if axis is None else [axis], norm)


def _check_axis(name: str, axis: Any) -> None:
    if isinstance(axis, (list, tuple)):
        full = f"jax.numpy.fft.{name}"
        raise ValueError(f"{full} does not support multiple axes. Please use {full}n. Got axis = {axis!r}.")


def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the Fourier transform along one axis, of length n; see `fftn`."""
    return _along_one("fft", FftType.FFT, a, n, axis, norm)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the inverse of `fft`."""
    return _along_one("ifft", FftType.IFFT, a, n, axis, norm)


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return `fft` of real numbers: its first n // 2 + 1 elements, which determine the others. Raise ValueError for complex ones."""
    return _along_one("rfft", FftType.RFFT, a, n, axis, norm)


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the inverse of `rfft`, of length n; for m elements, n is 2 (m - 1) by default."""
    return _along_one("irfft", FftType.IRFFT, a, n, axis, norm)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return `fft` of n numbers with Hermitian symmetry, of which `a` holds one half; for m elements n is 2 (m - 1) by
    default. The result is real.
    """
    mirrored = conj(a)
    _check_axis("hfft", axis)
    length = (mirrored.shape[axis] - 1) * 2 if n is None else n
    return _along_one("hfft", FftType.IRFFT, mirrored, n, axis, norm) * length


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the inverse of `hfft`."""
    _check_axis("ihfft", axis)
    x = asarray(a)
    length = x.shape[axis] if n is None else n
    return conj(_along_one("ihfft", FftType.RFFT, x, n, axis, norm)) * (1 / length)


# --- along two axes -----------------------------------------------------------------------------------------------------


def _along_two(name: str, kind: FftType, a: Any, s: Any, axes: Sequence[int], norm: str | None) -> Any:
    if len(axes) != 2:
        raise ValueError(f"jax.numpy.fft.{name} only supports 2 axes. Got axes = {axes!r}.")
    return _transform(name, kind, a, s, axes, norm)


def fft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """Return `fftn` along two axes."""
    return _along_two("fft2", FftType.FFT, a, s, axes, norm)


def ifft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """Return `ifftn` along two axes."""
    return _along_two("ifft2", FftType.IFFT, a, s, axes, norm)


def rfft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """Return `rfftn` along two axes."""
    return _along_two("rfft2", FftType.RFFT, a, s, axes, norm)


def irfft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """Return `irfftn` along two axes."""
    return _along_two("irfft2", FftType.IRFFT, a, s, axes, norm)


# --- frequencies, and their order ---------------------------------------------------------------------------------------


def _check_frequencies(name: str, n: Any, d: Any) -> None:
    if isinstance(n, (list, tuple)):
        raise ValueError(f"The n argument of jax.numpy.fft.{name} only takes an int. Got n = {list(n)}.")
    if isinstance(d, (list, tuple)):
        raise ValueError(f"The d argument of jax.numpy.fft.{name} only takes a single value. Got d = {list(d)}.")


def fftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """Return the frequencies of the n results of `fft`, for samples at distances `d`: 0 and upwards, then the negative
    ones. Raise ValueError for a list as `n` or `d`.
    """
    out_dtype = dtype or dtypes.default_float_dtype()
    _check_frequencies("fftfreq", n, d)
    dtype = dtypes.to_inexact_dtype(out_dtype)
    dtype = np.zeros((), dtype).real.dtype
    k = (arange(n, dtype=dtype, device=device) + n // 2) % n - n // 2
    return (k.astype(dtype) / array(d * n, dtype=dtype, device=device)).astype(out_dtype)


def rfftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """Return the frequencies of the n // 2 + 1 results of `rfft`, for samples at distances `d`. Raise ValueError as `fftfreq` does."""
    dtype = dtype or dtypes.default_float_dtype()
    _check_frequencies("rfftfreq", n, d)
    k = arange(0, (n if n % 2 == 0 else n - 1) // 2 + 1, dtype=dtype)
    out = k / array(d * n, dtype=dtype)
    return out if device is None else out.to_device(device)


def fftshift(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """Return x, rotated along the axes (all by default) so that the first element, of frequency 0, is in the middle."""
    return _shifted(x, axes, lambda size: size // 2)


def ifftshift(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """Return the inverse of `fftshift`."""
    return _shifted(x, axes, lambda size: -(size // 2))


def _shifted(x: Any, axes: int | Sequence[int] | None, by: Callable[[int], int]) -> Any:
    x = ensure_arraylike("fftshift" if by(2) > 0 else "ifftshift", x)
    if axes is None:
        axes = tuple(range(x.ndim))
    shift = by(x.shape[axes]) if isinstance(axes, int) else [by(x.shape[axis]) for axis in axes]
    return roll(x, shift, axes)


missing_names.explain("numpy.fft", sys.modules[__name__])
