"""Convolves and correlates arrays with any number of axes, directly or by Fourier transforms.

JAX: jax/_src/scipy/signal.py:_convolve_nd
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import lax
from ...interpreters.vmap import vmap
from ...lax.utils import canonicalize_axis
from ...numpy import fft, flip
from ...numpy.promotion import promote_dtypes_inexact
from ...numpy.util import check_arraylike, iscomplexobj

_MODES = ("same", "full", "valid")


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Any:
    """Return the convolution of two arrays of the same rank.

    Args:
      mode: "full" has every position where they meet; "same" the middle of these, with the shape of `in1`; "valid" the
        positions where the smaller array lies inside the other.
      method: "direct" (also "auto") or "fft".

    Raises:
      ValueError: for another mode or method, other ranks, an empty array, or if neither array fits into the other.
    """
    if method == "fft":
        return fftconvolve(in1, in2, mode=mode)
    if method in ("direct", "auto"):
        return _convolve_nd(in1, in2, mode, precision)
    raise ValueError(f"Got {method=}; expected 'auto', 'fft', or 'direct'.")


def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0, precision: Any = None
) -> Any:
    """Return the convolution of two matrices, with zeros around them; `mode` is as for `convolve`. Raise
    NotImplementedError for another `boundary` or `fillvalue`, ValueError for another number of axes.
    """
    _check_2d("convolve2d", in1, in2, boundary, fillvalue)
    return _convolve_nd(in1, in2, mode, precision)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Any:
    """Return the correlation of two arrays: `convolve` with the second one reversed and conjugated, and the same arguments."""
    return convolve(in1, flip(in2.conj()), mode, precision=precision, method=method)


def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0, precision: Any = None
) -> Any:
    """Return the correlation of two matrices, with zeros around them; `mode` is as for `convolve`. Raise
    NotImplementedError for another `boundary` or `fillvalue`, ValueError for another number of axes.
    """
    _check_2d("correlate2d", in1, in2, boundary, fillvalue)
    fits = all(m <= n for m, n in zip(in1.shape, in2.shape, strict=True))
    if mode == "valid" and fits and in1.shape != in2.shape:
        return _convolve_nd(flip(in2), in1.conj(), mode, precision)
    if mode not in ("same", "valid") and fits:
        return _convolve_nd(flip(in2), in1.conj(), mode, precision).conj()
    return flip(_convolve_nd(flip(in1), in2.conj(), mode, precision))


def _check_2d(name: str, in1: Any, in2: Any, boundary: str, fillvalue: float) -> None:
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(f"{name}() only supports boundary='fill', fillvalue=0")
    if np.ndim(in1) != 2 or np.ndim(in2) != 2:
        raise ValueError(f"{name}() only supports 2-dimensional inputs.")


def _convolve_nd(in1: Any, in2: Any, mode: str, precision: Any) -> Any:
    if mode not in _MODES:
        raise ValueError("mode must be one of ['full', 'same', 'valid']")
    if in1.ndim != in2.ndim:
        raise ValueError("in1 and in2 must have the same number of dimensions")
    if in1.size == 0 or in2.size == 0:
        raise ValueError(f"zero-size arrays not supported in convolutions, got shapes {in1.shape} and {in2.shape}.")
    in1, in2 = promote_dtypes_inexact(in1, in2)
    second = in2.shape
    if not (_is_in(in2, in1) or _is_in(in1, in2)):
        raise ValueError("One input must be smaller than the other in every dimension.")
    if _is_in(in1, in2):
        in1, in2 = in2, in1
    shape = in2.shape
    in2 = flip(in2)  # XLA's convolution is a correlation in mathematics
    paddings = {
        "valid": [(0, 0) for _ in shape],
        "same": [(n - 1 - (m - 1) // 2, n - m + (m - 1) // 2) for n, m in zip(shape, second, strict=True)],
        "full": [(n - 1, n - 1) for n in shape],
    }
    strides = (1,) * len(shape)
    return lax.conv_general_dilated(in1[None, None], in2[None, None], strides, paddings[mode], precision=precision)[
        0, 0
    ]


def _is_in(small: Any, large: Any) -> bool:
    return all(m <= n for m, n in zip(small.shape, large.shape, strict=True))


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Sequence[int] | int | None = None) -> Any:
    """Return the convolution of two arrays of the same rank, by Fourier transforms: cheaper if both are large.

    Args:
      mode: as for `convolve`.
      axes: the axes to convolve along, all by default; along the others both have the same size.

    Raises:
      ValueError: for another mode, other ranks, other sizes, or with "valid" if neither array fits into the other.
    """
    check_arraylike("fftconvolve", in1, in2)
    in1, in2 = promote_dtypes_inexact(in1, in2)
    if in1.ndim != in2.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if mode not in _MODES:
        raise ValueError("mode must be one of ['same', 'full', 'valid']")
    function: Callable[..., Any] = functools.partial(_by_fourier, mode=mode)
    if axes is None:
        return function(in1, in2)
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    axes = tuple(canonicalize_axis(axis, in1.ndim) for axis in axes)
    mapped = sorted(set(range(in1.ndim)) - set(axes))
    if any(in1.shape[i] != in2.shape[i] for i in mapped):
        raise ValueError(f"mapped axes must have same shape; got {in1.shape=} {in2.shape=} {axes=}")
    for axis in mapped:
        function = vmap(function, in_axes=axis, out_axes=axis)
    return function(in1, in2)


def _by_fourier(in1: Any, in2: Any, mode: str) -> Any:
    pairs = list(zip(in1.shape, in2.shape, strict=True))
    full = tuple(m + n - 1 for m, n in pairs)
    if mode == "valid":
        if not (_is_in(in2, in1) or _is_in(in1, in2)):
            raise ValueError("For 'valid' mode, One input must be at least as large as the other in every dimension.")
        if _is_in(in1, in2):
            in1, in2 = in2, in1
    if all(1 in pair for pair in pairs):
        product = in1 * in2
    else:
        there, back = (fft.fftn, fft.ifftn) if iscomplexobj(in1) else (fft.rfftn, fft.irfftn)
        product = back(there(in1, full) * there(in2, full), full)
    shapes = {
        "full": full,
        "same": in1.shape,
        "valid": tuple(m - n + 1 for m, n in zip(in1.shape, in2.shape, strict=True)),
    }
    starts = tuple((m - n) // 2 for m, n in zip(full, shapes[mode], strict=True))
    return lax.dynamic_slice(product, starts, shapes[mode])
