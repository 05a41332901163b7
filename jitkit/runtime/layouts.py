"""Defines `Layout` and `Format`: how an array lies in memory, and on which devices. Users of jitkit cannot choose a
layout: arrays are row-major, and XLA chooses the layouts within a program.

JAX: jax/_src/layout.py:Format
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..core import ShapedArray, dtypes, physical_aval

_NOT_HERE = (
    "{} is not here: jitkit leaves it to XLA how arrays lie in memory, and their layout is row-major. "
    "Give a sharding, or a Format without a layout."
)
_PARTS = ("major_to_minor", "tiling", "sub_byte_element_size_in_bits")


class _Auto:
    def __repr__(self) -> str:
        return "AUTO"


class Layout:
    """The order of axes in memory, the one with the largest stride first, and the tiles into which an array is cut."""

    AUTO: ClassVar[_Auto] = _Auto()  # XLA chooses

    def __init__(
        self,
        major_to_minor: tuple[int, ...],
        tiling: tuple[tuple[int, ...], ...] | None = None,
        sub_byte_element_size_in_bits: int = 0,
    ) -> None:
        self.major_to_minor = tuple(major_to_minor)
        self.tiling = None if tiling is None else tuple(map(tuple, tiling))
        self.sub_byte_element_size_in_bits = sub_byte_element_size_in_bits

    def _parts(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in _PARTS)

    def __repr__(self) -> str:
        return f"Layout({', '.join(f'{name}={part}' for name, part in zip(_PARTS, self._parts(), strict=True))})"

    def __hash__(self) -> int:
        return hash(self._parts())

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same layout. One of JAX's can be: JAX compares that of an argument with its default."""
        return all(hasattr(other, name) for name in _PARTS) and self._parts() == tuple(
            getattr(other, name) for name in _PARTS
        )


class Format:
    """A layout and a sharding; None leaves the choice to XLA.

    Raises:
      ValueError: there is a layout, and no sharding.
      TypeError: the layout or the sharding is something else.
    """

    def __init__(self, layout: Layout | _Auto | None = None, sharding: Any = None) -> None:
        if isinstance(layout, Layout) and sharding is None:
            raise ValueError(
                f"Sharding has to be concrete when layout is of type {type(layout)}. Please pass a `jax.sharding.NamedSharding` or "
                f"`jax.sharding.SingleDeviceSharding` to the sharding argument. Got sharding {sharding}"
            )
        if not isinstance(layout, Layout | _Auto | None):
            raise TypeError(
                "Invalid value received for the layout argument. Expected values are `None`, `Layout.AUTO` or an instance of `Layout`. "
                f"Got {layout} of type {type(layout)}"
            )
        if sharding is not None and not hasattr(sharding, "device_set"):
            raise TypeError(
                "Invalid value received for the sharding argument. Expected values are `None` or an instance of `jax.Sharding`. "
                f"Got {sharding} of type {type(sharding)}"
            )
        self.layout, self.sharding = layout, sharding

    def __repr__(self) -> str:
        return f"Format(layout={self.layout}, sharding={self.sharding})"

    def __hash__(self) -> int:
        return hash((self.layout, self.sharding))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Format) and (self.layout, self.sharding) == (other.layout, other.sharding)


def format_of_type(x: Any, sharding: Any) -> Format:
    """Return the layout and the sharding of a program's argument or result with the shape and dtype of x: row-major."""
    aval = physical_aval(ShapedArray(x.shape, x.dtype))
    is_number = not dtypes.issubdtype(aval.dtype, np.bool_) and aval.dtype != dtypes.float0
    info = dtypes.iinfo if dtypes.issubdtype(aval.dtype, np.integer) else dtypes.finfo
    bits = info(aval.dtype).bits if is_number else 8
    return Format(Layout(tuple(range(aval.ndim)), (), bits if bits < 8 else 0), sharding)


def format_of(array: Any) -> Format:
    """Return the layout and the sharding of an array; no layout if it is deleted."""
    if array.is_deleted():
        return Format(None, array.sharding)
    return Format(Layout(tuple(range(physical_aval(array.aval).ndim)), ()), array.sharding)


def sharding_of(place: Any) -> Any:
    """Return the sharding of a Format (None if it has none), and anything else unchanged. Raise NotImplementedError for
    a layout that is not row-major.
    """
    if not isinstance(place, Format):
        return place
    layout = place.layout
    if isinstance(layout, Layout) and (layout.tiling or layout.major_to_minor != tuple(sorted(layout.major_to_minor))):
        raise NotImplementedError(_NOT_HERE.format(layout))
    return place.sharding
