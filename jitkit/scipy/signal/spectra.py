"""stft, csd and welch: how much of each frequency is in a signal; istft: the signal again.

JAX: jax/_src/scipy/signal.py:stft
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...core import concrete_or_error, dtypes
from ...lax.utils import canonicalize_axis
from ...numpy import arange, array, asarray, fft, imag, median, moveaxis, real, repeat, reshape, transpose, where
from ...numpy import sum as sum_
from ...numpy.util import ensure_arraylike, iscomplexobj
from .segments import hann, named_window, overlap_and_add, spectra_of_segments


def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Any, Any, Any]:
    """Return frequencies, times, and the Fourier transforms of overlapping segments of a signal, with the segments
    along the last axis.

    Args:
      x: signals along `axis`, with `fs` samples in a unit of time.
      window: the factor of each segment: a name ("hann" needs no scipy), or an array.
      nperseg, noverlap, nfft: the sizes of segments, of their overlaps (by default half), and of transforms.
      detrend: the trend to subtract from each segment: "constant", "linear", a function, or False for nothing.
      return_onesided: whether to leave out the negative frequencies of a real signal.
      boundary: how the signal is extended at both ends: "zeros", "even", "odd", "constant", or None.
      padded: whether zeros are added at the end, so that segments fill the signal.

    Raises:
      ValueError: for an unknown word, or sizes that do not fit each other.
    """
    given = x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided
    return spectra_of_segments(*given, "spectrum", axis, "stft", boundary, padded)


def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """Return frequencies and the cross power spectral density of two signals; if y is None, the power spectral density
    of x. It is the mean over segments (`average="mean"`), or the median ("median"), corrected for its bias.

    `scaling` is "density" or "spectrum"; other arguments are as for `stft`. Raise ValueError for an unknown word.
    """
    given = x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided
    freqs, _, power = spectra_of_segments(*given, scaling, axis, "psd")
    if y is not None:
        power = power + 0j
    if power.ndim < 2 or power.size == 0:
        return freqs, power
    count = power.shape[-1]
    if count == 1:
        return freqs, reshape(power, power.shape[:-1])
    if average == "mean":
        return freqs, power.mean(axis=-1)
    if average != "median":
        raise ValueError(f'average must be "median" or "mean", got {average}')
    bias = _bias_of_median(count).astype(power.dtype)
    if not iscomplexobj(power):
        return freqs, median(power, axis=-1) / bias
    return freqs, (median(real(power), axis=-1) + 1j * median(imag(power), axis=-1)) / bias


def _bias_of_median(n: int) -> Any:
    """Return the median of n periodograms of noise, divided by their mean."""
    even = arange(2.0, n, 2)
    return 1 + sum_(1.0 / (even + 1) - 1.0 / even)


def welch(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """Return frequencies and the power spectral density of a signal, by Welch's method; arguments are as for `csd`."""
    given = fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average
    freqs, power = csd(x, None, *given)
    return freqs, power.real


def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Any, Any]:
    """Return times and the signal with the given `stft`, of the same window and sizes.

    `input_onesided` and `boundary` are the `return_onesided` and `boundary` of `stft`. As in JAX, there are as many
    times as the first axis of the result is long. Raise ValueError for sizes or axes that do not fit.
    """
    Zxx = ensure_arraylike("istft", Zxx)
    if Zxx.ndim < 2:
        raise ValueError("Input stft must be at least 2d!")
    freq_axis, time_axis = canonicalize_axis(freq_axis, Zxx.ndim), canonicalize_axis(time_axis, Zxx.ndim)
    if freq_axis == time_axis:
        raise ValueError("Must specify differing time and frequency axes!")
    Zxx = asarray(Zxx, dtype=dtypes.to_complex_dtype(Zxx.dtype))
    default = 2 * (Zxx.shape[freq_axis] - 1) if input_onesided else Zxx.shape[freq_axis]
    size = concrete_or_error(int, nperseg or default, "nperseg: segment length of STFT")
    if size < 1:
        raise ValueError("nperseg must be a positive integer")
    length = default + (input_onesided and size == default + 1)
    length = length if nfft is None else concrete_or_error(int, nfft, "nfft of STFT")
    if length < size:
        raise ValueError(f"FFT length ({length}) must be longer than nperseg ({size}).")
    overlap = concrete_or_error(int, noverlap or size // 2, "noverlap of STFT")
    if overlap >= size:
        raise ValueError("noverlap must be less than nperseg.")
    step = size - overlap
    if time_axis != Zxx.ndim - 1 or freq_axis != Zxx.ndim - 2:
        outer = tuple(i for i in range(Zxx.ndim) if i not in (time_axis, freq_axis))
        Zxx = transpose(Zxx, (*outer, freq_axis, time_axis))
    back = fft.irfft if input_onesided else fft.ifft
    segments = back(Zxx, axis=-2, n=nfft)[..., :size, :]
    win = _window_again(window, size, segments.dtype)
    segments = segments * win.sum()
    win = lax.expand_dims(win, (*range(segments.ndim - 2), -1))
    x = overlap_and_add((segments * win).swapaxes(-2, -1), step)
    weights = overlap_and_add(repeat(win * win, segments.shape[-1], axis=-1).swapaxes(-2, -1), step)
    if boundary:
        inside = slice(size // 2, -(size // 2))
        x, weights = x[..., inside], weights[..., inside]
    x = x / where(weights > 1e-10, weights, 1.0)
    if x.ndim > 1 and time_axis != Zxx.ndim - 1:
        x = moveaxis(x, -1, time_axis - (freq_axis < time_axis))
    return arange(x.shape[0], dtype=np.finfo(x.dtype).dtype) / fs, x


def _window_again(window: Any, size: int, dtype: Any) -> Any:
    if isinstance(window, str) and window == "hann":
        return hann(size).astype(dtype)
    if isinstance(window, (str, tuple)):
        return array(named_window(window, size), dtype=dtype)
    window = asarray(window)
    if window.ndim != 1:
        raise ValueError("window must be 1-D")
    if window.shape[0] != size:
        raise ValueError(f"window must have length of {size}")
    return window
