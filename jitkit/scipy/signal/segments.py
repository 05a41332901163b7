"""Cuts a signal into overlapping segments, and transforms each; puts segments together again.

JAX: jax/_src/scipy/signal.py:_spectral_helper
"""

from __future__ import annotations

import functools
import importlib
import math
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import lax
from ...core import concrete_or_error, dtypes
from ...interpreters.vmap import vmap
from ...lax.utils import canonicalize_axis
from ...numpy import (
    arange,
    array,
    asarray,
    broadcast_shapes,
    concatenate,
    conjugate,
    fft,
    flip,
    linspace,
    moveaxis,
    pad,
    sin,
    sqrt,
    zeros,
    zeros_like,
)
from ...numpy.promotion import promote_dtypes_complex, promote_dtypes_inexact
from ...numpy.util import check_arraylike, iscomplexobj
from .trends import detrend

# --- windows ------------------------------------------------------------------------------------------------------------


def hann(size: int) -> Any:
    """Return the default window: the square of a sine, periodic with `size`."""
    return array([1.0]) if size == 1 else sin(linspace(0, np.pi, size, endpoint=False)) ** 2


def named_window(window: Any, size: int) -> Any:
    """Return a window by its name, or by a tuple of a name and numbers. All but "hann" come from scipy: raise
    ImportError if that is not installed.
    """
    if window == "hann":
        return hann(size)
    try:
        get_window = importlib.import_module("scipy.signal").get_window
    except ImportError as error:
        raise ImportError(f"scipy must be available to use {window=}") from error
    return get_window(window, size)


def _window_of(window: Any, nperseg: int | None, length: int, dtype: Any) -> tuple[Any, int]:
    """Return the window and its size, which is the size of a segment. Warn if a window given by its name would be
    longer than the signal, and shorten it. Raise ValueError for an array that is not a vector, is longer than the
    signal, or does not have the size `nperseg`.
    """
    if isinstance(window, (str, tuple)):
        size = length if nperseg is None else nperseg
        if size > length:
            warnings.warn(f"nperseg={size} is greater than input_length={length}, using nperseg={length}", stacklevel=4)
            size = length
        return array(named_window(window, size), dtype=dtype), size
    window = asarray(window, dtype=dtype)
    size = window.size if nperseg is None else nperseg
    if window.ndim != 1:
        raise ValueError("window must be 1-D")
    if length < window.size:
        raise ValueError("window is longer than input signal")
    if size != window.size:
        raise ValueError("value specified for nperseg is different from length of window")
    return window, size


# --- what is before and after a signal ----------------------------------------------------------------------------------


def _padded(mode: str, **options: Any) -> Callable[[Any, int], Any]:
    def extend(x: Any, n: int) -> Any:
        return pad(x, [*[(0, 0)] * (x.ndim - 1), (n, n)], mode, **options)

    return extend


def _odd(x: Any, n: int) -> Any:
    """Return a signal, extended by n samples on either side: by itself, rotated by 180 degrees around each end. Raise
    ValueError if it is too short.
    """
    if n < 1:
        return x
    if n > x.shape[-1] - 1:
        raise ValueError(
            f"The extension length n ({n}) is too big. It must not exceed x.shape[axis]-1, which is {x.shape[-1] - 1}."
        )
    part = functools.partial(lax.slice_in_dim, x, axis=-1)
    left, first = part(0, 1), flip(part(1, n + 1), axis=-1)
    right, last = part(-1, None), flip(part(-(n + 1), -1), axis=-1)
    return concatenate((2 * left - first, x, 2 * right - last), axis=-1)


_BOUNDARIES: dict[str | None, Callable[[Any, int], Any]] = {
    "even": _padded("reflect"),
    "odd": _odd,
    "constant": _padded("edge"),
    "zeros": _padded("constant", constant_values=0.0),
    None: lambda x, n: x,
}


# --- transforms ---------------------------------------------------------------------------------------------------------


def spectra_of_segments(
    x: Any,
    y: Any,
    fs: Any,
    window: Any,
    nperseg: int | None,
    noverlap: int | None,
    nfft: int | None,
    detrend_type: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
    mode: str,
    boundary: str | None = None,
    padded: bool = False,
) -> tuple[Any, Any, Any]:
    """Return the frequencies, the times of the segments, and for each segment its spectrum (`mode` "stft") or its power
    density (`mode` "psd"; with `y` the cross power density). The last axis counts the segments.

    Args:
      fs: samples in a unit of time.
      window: the factor of each segment: a name or an array.
      nperseg, noverlap, nfft: the sizes of segments, of their overlaps, and of transforms.
      detrend_type: the trend to subtract from each segment first: a type of `detrend`, a function, or False for nothing.
      return_onesided: whether to leave out negative frequencies of real input. For complex input, warn and keep them.
      scaling: "density" or "spectrum".
      boundary: how the signal is extended at both ends, or None.
      axis: the axis of x and y along which time goes.
      padded: whether zeros are appended, so that the segments fill the signal.

    Raises:
      ValueError: for an unknown word, and for sizes or shapes that do not fit each other.
    """
    if mode not in ("psd", "stft"):
        raise ValueError(f"Unknown value for mode {mode}, must be one of: ('psd', 'stft')")
    if boundary not in _BOUNDARIES:
        raise ValueError(f"Unknown boundary option '{boundary}', must be one of: {list(_BOUNDARIES)}")
    axis = canonicalize_axis(concrete_or_error(operator.index, axis, "axis of windowed-FFT"), x.ndim)
    x, y, outer = _operands(x, y, axis, mode)
    result_dtype = dtypes.to_complex_dtype(x.dtype)
    freq_dtype = np.finfo(result_dtype).dtype
    if nperseg is not None:
        nperseg = concrete_or_error(int, nperseg, "nperseg of windowed-FFT")
        if nperseg < 1:
            raise ValueError("nperseg must be a positive integer")
    win, size = _window_of(window, nperseg, x.shape[axis], x.dtype)
    overlap = size // 2 if noverlap is None else concrete_or_error(int, noverlap, "noverlap of windowed-FFT")
    length = size if nfft is None else concrete_or_error(int, nfft, "nfft of windowed-FFT")
    if x.size == 0 or (y is not None and y.size == 0):
        shape = x.shape
        if y is not None:
            shape = (*outer[:axis], min(x.shape[axis], y.shape[axis]), *outer[axis:])
        return zeros(shape, freq_dtype), zeros(shape, freq_dtype), zeros(shape, result_dtype)
    x = moveaxis(x, axis, -1)
    if y is not None:
        x, y = _of_one_length(x, moveaxis(y, axis, -1) if y.ndim > 1 else y)
    if length < size:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    if overlap >= size:
        raise ValueError("noverlap must be less than nperseg.")
    signals = [x] if y is None else [x, y]
    if boundary is not None:
        signals = [_BOUNDARIES[boundary](each, size // 2) for each in signals]
    if padded:
        missing = (-(signals[0].shape[-1] - size) % (size - overlap)) % size
        signals = [
            concatenate((each, zeros_like(signals[0], shape=(*each.shape[:-1], missing))), axis=-1) for each in signals
        ]
    scale = _scale(scaling, fs, win)
    (scale,) = promote_dtypes_complex(sqrt(scale) if mode == "stft" else scale)
    one_sided = return_onesided
    if return_onesided and (iscomplexobj(x) or iscomplexobj(y)):
        one_sided = False
        warnings.warn("Input data is complex, switching to return_onesided=False", stacklevel=3)
    freqs = (fft.rfftfreq if one_sided else fft.fftfreq)(length, 1 / fs, dtype=freq_dtype)
    function = _detrending(detrend_type, axis)
    spectra = [_transformed(each, win, function, size, overlap, length, one_sided) for each in signals]
    result = spectra[0]
    if y is not None or mode == "psd":
        result = conjugate(result) * spectra[-1]
    result = result * scale
    if one_sided and mode == "psd":  # the negative frequencies have the same power
        result = result.at[..., 1 : None if length % 2 else -1].mul(2)
    times = arange(size / 2, signals[0].shape[-1] - size / 2 + 1, size - overlap, dtype=freq_dtype) / fs
    if boundary is not None:
        times = times - (size / 2) / fs
    result = result.astype(result_dtype)
    if y is None and mode != "stft":
        result = result.real
    return freqs, times, moveaxis(result, -1, axis)


def _operands(x: Any, y: Any, axis: int, mode: str) -> tuple[Any, Any, tuple[int, ...]]:
    """Return both signals with one inexact dtype, and the shape to which their other axes broadcast; without y, None
    and (). Raise ValueError for signals of different ranks, axes that do not broadcast, or a mode that takes one
    signal.
    """
    if y is None:
        check_arraylike("spectral_helper", x)
        (x,) = promote_dtypes_inexact(x)
        return x, None, ()
    if mode != "psd":
        raise ValueError("two-argument mode is available only when mode=='psd'")
    check_arraylike("spectral_helper", x, y)
    x, y = promote_dtypes_inexact(x, y)
    if x.ndim != y.ndim:
        raise ValueError("two-arguments must have the same rank ({x.ndim} vs {y.ndim}).")
    try:
        outer = broadcast_shapes(*((*each.shape[:axis], *each.shape[axis + 1 :]) for each in (x, y)))
    except ValueError as error:
        raise ValueError("x and y cannot be broadcast together.") from error
    return x, y, outer


def _of_one_length(x: Any, y: Any) -> tuple[Any, Any]:
    """Return both signals with one length: the shorter one is followed by zeros."""
    missing = x.shape[-1] - y.shape[-1]
    if missing < 0:
        x = concatenate((x, zeros_like(x, shape=(*x.shape[:-1], -missing))), -1)
    elif missing > 0:
        y = concatenate((y, zeros_like(x, shape=(*y.shape[:-1], missing))), -1)
    return x, y


def _detrending(kind: Any, axis: int) -> Callable[[Any], Any]:
    if isinstance(kind, str):
        return functools.partial(detrend, type=kind, axis=-1)
    if callable(kind):
        return kind if axis == -1 else lambda x: moveaxis(kind(moveaxis(x, axis, -1)), -1, axis)
    if kind:
        raise ValueError(f"Unsupported detrend type: {kind}")
    return lambda x: x


def _scale(scaling: str, fs: Any, win: Any) -> Any:
    if scaling == "density":
        return 1.0 / (fs * (win * win).sum())
    if scaling == "spectrum":
        return 1.0 / win.sum() ** 2
    raise ValueError(f"Unknown scaling: {scaling}")


def _transformed(
    x: Any, win: Any, function: Callable[[Any], Any], size: int, overlap: int, length: int, one_sided: bool
) -> Any:
    """Return the Fourier transform of each segment."""
    if x.dtype.kind == "i":
        x = x.astype(win.dtype)
    if size == 1 and overlap == 0:
        segments = x[..., np.newaxis]
    else:
        starts = arange(x.shape[-1] - size + 1, step=size - overlap)
        cut = functools.partial(lax.dynamic_slice_in_dim, operand=x, slice_size=size, axis=-1)
        segments = vmap(cut, out_axes=-2)(start_index=starts)
    segments = function(segments)
    if iscomplexobj(win):
        (segments,) = promote_dtypes_complex(segments)
    segments = win.reshape((1,) * (x.ndim - 1) + (1, size)) * segments
    return fft.rfft(segments.real, n=length) if one_sided else fft.fft(segments, n=length)


def overlap_and_add(x: Any, step: int) -> Any:
    """Return the signal that is the sum of overlapping segments. The last two axes of `x` are the segments and their
    samples; each segment begins `step` samples after the one before.
    """
    *batch, count, size = x.shape
    x = x.reshape((math.prod(batch), count, size))
    steps = 1 + (size - 1) // step  # the number of steps in a segment
    x = pad(x, ((0, 0), (0, 0), (0, steps * step - size)))
    x = x.reshape((math.prod(batch), count, steps, step)).transpose((0, 2, 1, 3))
    x = pad(x, ((0, 0), (0, 0), (0, count), (0, 0)))  # so that each row is one step behind the one before
    rows = x.shape[2] - 1
    x = x.reshape((math.prod(batch), -1))[:, : steps * rows * step]
    x = x.reshape((math.prod(batch), steps, rows * step)).sum(axis=1)[:, : step * (count - 1) + size]
    return x.reshape((*batch, -1))
