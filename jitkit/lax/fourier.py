"""Computes Fourier transforms along up to three last axes, by an operation of XLA's own.

JAX: jax/_src/lax/fft.py:fft
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import Primitive, ShapedArray, dtypes
from ..interpreters.ad_rules import deflinear
from ..interpreters.batching import AxisData, Dims, Vals, bdim_at_front, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering, type_of
from ..pjit.jit import jit
from .convert import convert_element_type
from .creation import full_like
from .dynamic_slicing import dynamic_update_slice
from .elementwise import conj
from .shaping import expand_dims
from .utils import is_a


class FftType(enum.IntEnum):
    """The transforms: FFT of complex numbers, RFFT of real ones, which returns only the non-redundant half, and their
    inverses IFFT and IRFFT.
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


# --- fft: linear, so the tangent of the result is the fft of the tangent ----------------------------------------------

fft_p = Primitive("fft")


@fft_p.def_abstract_eval
def _(x: ShapedArray, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> ShapedArray:
    count = len(fft_lengths)
    if count > x.ndim:
        raise ValueError(
            f"FFT input shape {x.shape} must have at least as many input dimensions as fft_lengths {fft_lengths}."
        )
    if fft_type == FftType.RFFT:
        if x.dtype not in (np.float32, np.float64):
            raise ValueError(f"RFFT input must be float32 or float64, got {x.dtype}")
        _check_lengths("RFFT", x.shape, fft_lengths)
        shape = (*x.shape[:-count], *fft_lengths[:-1], fft_lengths[-1] // 2 + 1)
        return x.update(shape=shape, dtype=np.result_type(x.dtype, np.complex64))
    kind = "IRFFT" if fft_type == FftType.IRFFT else "FFT"
    if not is_a(x.dtype, np.complexfloating):
        raise ValueError(f"{kind} input must be complex64 or complex128, got {x.dtype}")
    if fft_type != FftType.IRFFT:
        _check_lengths("FFT", x.shape, fft_lengths)
        return x
    if x.shape[-count:-1] != fft_lengths[:-1]:
        raise ValueError(
            f"IRFFT input shape {x.shape} minor dimensions must be equal to all except the last fft_length, got "
            f"{fft_lengths=}"
        )
    return x.update(shape=(*x.shape[:-count], *fft_lengths), dtype=np.finfo(x.dtype).dtype)


def _check_lengths(kind: str, shape: tuple[int, ...], fft_lengths: tuple[int, ...]) -> None:
    if shape[-len(fft_lengths) :] != fft_lengths:
        raise ValueError(f"{kind} input shape {shape} minor dimensions must be equal to fft_lengths {fft_lengths}")


@register_lowering(fft_p)
def _(ctx: LoweringContext, x: str, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> str:
    """Lowering rule: write an `fft`. cuFFT assumes that a half spectrum is symmetric along all axes, other libraries
    along the last only: so on GPUs the other axes are transformed first, each moved to the end.
    """
    if fft_type == FftType.IRFFT and len(fft_lengths) > 1 and ctx.module.platform == "gpu":
        aval = ctx.avals_in[0]
        last, first = aval.ndim - 1, aval.ndim - len(fft_lengths)
        there = [*range(first), last, *range(first, last)]
        turned = aval.update(shape=[aval.shape[i] for i in there])
        x = _transposed(ctx, x, aval, turned, there)
        x = _transform(ctx, x, turned, turned, FftType.IFFT, fft_lengths[:-1])
        x = _transposed(ctx, x, turned, aval, [there.index(i) for i in range(aval.ndim)])
        fft_lengths = fft_lengths[-1:]
    return _transform(ctx, x, ctx.avals_in[0], ctx.avals_out[0], fft_type, fft_lengths)


def _transform(
    ctx: LoweringContext, x: str, aval: ShapedArray, out: ShapedArray, fft_type: FftType, lengths: Sequence[int]
) -> str:
    return ctx.emit_text(
        f"stablehlo.fft {x}, type = {fft_type.name}, length = [{', '.join(map(str, lengths))}] : "
        f"({type_of(aval)}) -> {type_of(out)}"
    )


def _transposed(ctx: LoweringContext, x: str, aval: ShapedArray, out: ShapedArray, permutation: Sequence[int]) -> str:
    return ctx.emit_text(
        f"stablehlo.transpose {x}, dims = [{', '.join(map(str, permutation))}] : ({type_of(aval)}) -> {type_of(out)}"
    )


def _transpose(ct: Any, x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> list[Any]:
    if fft_type == FftType.RFFT:
        return [_rfft_transpose(ct, fft_lengths)]
    return [(_irfft_transpose if fft_type == FftType.IRFFT else fft)(ct, fft_type, fft_lengths)]


@jit(static_argnums=1)
def _rfft_transpose(t: Any, fft_lengths: tuple[int, ...]) -> Any:
    mask = expand_dims(_times_in_whole(t, t.shape[-1], fft_lengths[-1]), range(t.ndim - 1))
    return math.prod(fft_lengths) * fft(conj(t) / mask, FftType.IRFFT, fft_lengths)


def _irfft_transpose(t: Any, _: FftType, fft_lengths: tuple[int, ...]) -> Any:
    x = fft(t, FftType.RFFT, fft_lengths)
    mask = _times_in_whole(x, x.shape[-1], fft_lengths[-1])
    return conj(1 / math.prod(fft_lengths) * expand_dims(mask, range(x.ndim - 1)) * x)


def _times_in_whole(x: Any, count: int, length: int) -> Any:
    """Return how often each of the `count` numbers of a half spectrum occurs in the whole spectrum of this `length`:
    the first once, the last once if `length` is even, all others twice, since their conjugates occur, too.
    """
    mask = full_like(x, 2.0, shape=(count,))
    one = full_like(x, 1.0, shape=(1,))
    mask = dynamic_update_slice(mask, one, (0,))
    return mask if length % 2 else dynamic_update_slice(mask, full_like(x, 1.0, shape=(1,)), (count - 1,))


deflinear(fft_p, _transpose)


@register_batcher(fft_p)
def _(axis: AxisData, vals: Vals, dims: Dims, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Any:
    return fft(bdim_at_front(vals[0], dims[0], axis.size), fft_type, fft_lengths), 0


@jit(static_argnums=(1, 2))
def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Any:
    """Return the discrete Fourier transform along the last axes, one for each of `fft_lengths`.

    Args:
      x: numbers, of any type; real ones for `RFFT`.
      fft_type: an `FftType`, or its name. Inverses divide by the product of the lengths.
      fft_lengths: the lengths on the real side: an `IRFFT` to n numbers takes n // 2 + 1 along the last axis.

    Raises:
      ValueError: the lengths do not fit the shape, the name of the transform is unknown, or x is complex for `RFFT`.
      TypeError: for an `fft_type` that is neither an `FftType` nor a name.
    """
    if isinstance(fft_type, str):
        if fft_type not in FftType.__members__ and fft_type not in [name.lower() for name in FftType.__members__]:
            raise ValueError(f"Unknown FFT type '{fft_type}'")
        kind = FftType[fft_type.upper()]
    elif isinstance(fft_type, FftType):
        kind = fft_type
    else:
        raise TypeError(f"Unknown FFT type value '{fft_type}'")
    if kind == FftType.RFFT:
        if np.iscomplexobj(x):
            raise ValueError("only real valued inputs supported for rfft")
        x = convert_element_type(x, dtypes.to_inexact_dtype(dtypes.dtype(x)))
    else:
        x = convert_element_type(x, dtypes.to_complex_dtype(dtypes.dtype(x)))
    return fft_p.bind(x, fft_type=kind, fft_lengths=tuple(fft_lengths)) if len(fft_lengths) else x
