"""pad: adds a margin of constants, or of the array's own elements.

JAX: jax/_src/numpy/lax_numpy.py:pad
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import core, lax
from ..base import errors
from ..core import dtypes
from ..pjit.jit import jit
from . import reductions
from .creation import asarray, empty_like
from .joining import repeat
from .mapping import apply_along_axis
from .promotion import broadcast_to, convert
from .quantiles import median
from .ranges import linspace
from .selection import round as round_
from .shaping import flip, squeeze
from .statistics import mean
from .util import check_arraylike, given_array

Pairs = tuple[tuple[Any, Any], ...]  # before and after, for each axis

_OPTIONS = {
    "empty": (), "edge": (), "wrap": (), "constant": ("constant_values",), "linear_ramp": ("end_values",), "maximum": ("stat_length",),
    "mean": ("stat_length",), "median": ("stat_length",), "minimum": ("stat_length",), "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
}  # fmt: skip
_STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": reductions.amax,
    "minimum": reductions.amin,
    "mean": mean,
    "median": median,
}


def pad(array: Any, pad_width: Any, mode: str | Callable[..., Any] = "constant", **kwargs: Any) -> Any:
    """Return `array` with a margin along each axis.

    Args:
      pad_width: the margin before and after: an int or a pair for all axes, or a sequence with a pair for each axis.
      mode: "constant" (with `constant_values`), "edge", "wrap", "reflect" and "symmetric" (with `reflect_type`), "linear_ramp" (with
        `end_values`), "maximum", "minimum", "mean", "median" (with `stat_length`), "empty". A function
        `mode(vector, margins, axis, kwargs)` gets each vector along each axis in turn, with margins of zeros, and
        returns it with its own margins.

    Raises:
      TypeError: for margins that are not ints.
      ValueError: for margins that are negative or of another shape, for options of another mode, and for
        "edge", "wrap", "reflect" and "symmetric" along an axis without elements.
      NotImplementedError: for an unknown mode.
    """
    check_arraylike("pad", array)
    array = given_array(array)
    widths = _pairs(pad_width, np.ndim(array), "pad_width")
    if any(not isinstance(n, int | np.integer) for pair in widths for n in pair):
        raise TypeError("`pad_width` must be of integral type.")
    if callable(mode):
        array = _pad_constant(asarray(array), widths, asarray(0))
        for axis, margins in enumerate(widths):
            array = apply_along_axis(mode, axis, array, margins, axis, kwargs)
        return array
    if not isinstance(mode, str) or mode not in _OPTIONS:
        raise NotImplementedError(f"Unimplemented padding mode '{mode}' for np.pad.")
    unsupported = set(kwargs) - set(_OPTIONS[mode])
    if unsupported:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unsupported}")
    nd = np.ndim(array)
    stat_length = kwargs.get("stat_length")
    return _pad(
        array,
        widths,
        mode,
        kwargs.get("constant_values", 0),
        None if stat_length is None else _pairs(stat_length, nd, "stat_length"),
        _pairs(kwargs.get("end_values", 0), nd, "end_values"),
        kwargs.get("reflect_type", "even"),
    )


def _pairs(values: Any, nd: int, name: str) -> Pairs:
    """Return one pair for each axis, from one number, one pair, or all pairs. Raise ValueError for another shape,
    TypeError for ragged lists, ConcretizationTypeError for a tracer.
    """
    if isinstance(values, core.Tracer):
        raise errors.ConcretizationTypeError(values, f"{name} argument of jnp.pad")
    try:
        known = np.asarray(values)
    except ValueError as error:
        raise TypeError(f"`{name}` entries must be the same shape: {values}") from error
    if known.shape not in ((nd, 2), (1, 2), (2,), (1,), ()):
        raise ValueError(
            f"jnp.pad: {name} with {nd=} has unsupported shape {known.shape}. Valid shapes are ({nd}, 2), (1, 2), (2,), (1,), "
            "or ()."
        )
    return tuple((pair[0], pair[1]) for pair in np.broadcast_to(known, (nd, 2)))


@jit(static_argnums=(1, 2, 4, 5, 6))
def _pad(
    array: Any,
    pad_width: Pairs,
    mode: str,
    constant_values: Any,
    stat_length: Pairs | None,
    end_values: Pairs,
    reflect_type: str,
) -> Any:
    array = asarray(array)
    if array.ndim == 0:
        return array
    if any(n < 0 for pair in pad_width for n in pair):
        raise ValueError("index can't contain negative values")
    if mode == "constant":
        return _pad_constant(array, pad_width, asarray(constant_values))
    for axis, (before, after) in enumerate(pad_width):
        if mode in ("wrap", "symmetric", "reflect", "edge") and array.shape[axis] == 0:
            if before > 0 or after > 0:
                raise ValueError(f"Cannot apply '{mode}' padding to empty axis")
        elif mode == "wrap":
            array = _pad_wrap(array, axis, int(before), int(after))
        elif mode in ("symmetric", "reflect"):
            if before or after:
                array = _mirror(array, axis, int(before), mode, reflect_type, at_start=True)
                array = _mirror(array, axis, int(after), mode, reflect_type, at_start=False)
        elif mode == "edge":
            first = repeat(_slice(array, axis, 0, 1), int(before), axis=axis)
            last = repeat(_slice(array, axis, array.shape[axis] - 1, array.shape[axis]), int(after), axis=axis)
            array = _surround(array, axis, first, last)
        elif mode == "linear_ramp":
            array = _surround(array, axis, *_ramps(array, axis, (int(before), int(after)), end_values[axis]))
        elif mode == "empty":
            array = _surround(
                array, axis, *[empty_like(array, shape=_with_size(array, axis, int(n))) for n in (before, after)]
            )
        else:
            lengths = None if stat_length is None else stat_length[axis]
            values = _statistics(array, axis, lengths, _STATISTICS[mode])
            array = _surround(
                array, axis, repeat(values[0], int(before), axis=axis), repeat(values[1], int(after), axis=axis)
            )
    return array


def _slice(array: Any, axis: int, start: int | None, stop: int | None) -> Any:
    return lax.slice_in_dim(array, start, stop, axis=axis)


def _with_size(array: Any, axis: int, size: int) -> tuple[int, ...]:
    return (*array.shape[:axis], size, *array.shape[axis + 1 :])


def _surround(array: Any, axis: int, before: Any, after: Any) -> Any:
    return lax.concatenate([before, array, after], axis)


def _pad_constant(array: Any, pad_width: Pairs, values: Any) -> Any:
    values = lax._convert_element_type(values, array.dtype, array.aval.weak_type)
    if values.ndim == 0:
        return lax.pad(array, values, [(low, high, 0) for low, high in pad_width])
    if values.shape == (1,):
        return lax.pad(array, squeeze(values), [(low, high, 0) for low, high in pad_width])
    if values.ndim == 1 and values.shape[-1] != 2:
        raise ValueError(
            f"jnp.pad: constant_values has unsupported shape {values.shape}. If the shape is 1D or 2D, the last dimension must be "
            "of size 1 or 2."
        )
    values = broadcast_to(values, (array.ndim, 2))
    for axis, widths in enumerate(pad_width):
        for side, width in enumerate(widths):
            if width != 0:
                margins: list[Any] = [(0, 0, 0)] * array.ndim
                margins[axis] = (0, width, 0) if side else (width, 0, 0)
                array = lax.pad(array, values[axis, side], margins)
    return array


def _pad_wrap(array: Any, axis: int, before: int, after: int) -> Any:
    size = array.shape[axis]
    whole_before, rest_before = divmod(before, size)
    whole_after, rest_after = divmod(after, size)
    parts = [array] * (whole_before + whole_after + 1)
    if rest_before:
        parts.insert(0, _slice(array, axis, size - rest_before, size))
    if rest_after:
        parts.append(_slice(array, axis, 0, rest_after))
    return lax.concatenate(parts, axis)


def _mirror(array: Any, axis: int, width: int, mode: str, reflect_type: str, at_start: bool) -> Any:
    """Return the array with one margin of mirrored elements, mirrored repeatedly if the margin is wider than the array."""
    size = array.shape[axis]
    offset = 1 if mode == "reflect" and size > 1 else 0  # whether the edge itself is left out
    edge = _slice(array, axis, 0, 1) if at_start else _slice(array, axis, -1, None)
    while width > 0:
        part = min(width, size - offset)
        width -= part
        if at_start:
            mirrored = _slice(array, axis, offset, offset + part)
        else:
            mirrored = _slice(array, axis, -(part + offset), None if mode == "symmetric" or size == 1 else -1)
        mirrored = flip(mirrored, axis=axis)
        if reflect_type == "odd":  # also mirrored at the edge's value
            mirrored = 2 * edge - mirrored
            if size > 1:
                edge = _slice(mirrored, axis, 0, 1) if at_start else _slice(mirrored, axis, -1, None)
        array = lax.concatenate([mirrored, array] if at_start else [array, mirrored], axis)
    return array


def _ramps(array: Any, axis: int, widths: tuple[int, int], ends: tuple[Any, Any]) -> tuple[Any, Any]:
    edges = _slice(array, axis, 0, 1), _slice(array, axis, -1, None)
    ramps = []
    for end, edge, width in zip(ends, edges, widths, strict=True):
        ramp = linspace(end, edge.squeeze(axis), num=width, endpoint=False, dtype=array.dtype, axis=axis)
        ramps.append(lax._convert_element_type(ramp, weak_type=array.aval.weak_type))
    return ramps[0], flip(ramps[1], axis)


def _statistics(
    array: Any, axis: int, lengths: tuple[Any, Any] | None, statistic: Callable[..., Any]
) -> tuple[Any, Any]:
    """Return the values of the two margins: a statistic of the whole axis, or of `lengths` elements at each end. Raise
    ValueError for a length of 0.
    """
    if lengths is None:
        before = after = statistic(array, axis=axis, keepdims=True)
    elif lengths[0] == 0 or lengths[1] == 0:
        raise ValueError("stat_length of 0 yields no value for padding")
    else:
        first, last = (min(int(length), array.shape[axis]) for length in lengths)
        at_start, at_end = _slice(array, axis, 0, first), _slice(array, axis, -last, None)
        before, after = (statistic(at_start, axis=axis, keepdims=True), statistic(at_end, axis=axis, keepdims=True))
    if dtypes.issubdtype(array.dtype, np.integer):
        before, after = round_(before), round_(after)
    dtype, weak_type = array.dtype, array.aval.weak_type
    return convert(before, dtype, weak_type), convert(after, dtype, weak_type)
