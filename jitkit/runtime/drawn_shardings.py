"""A sharding -> a drawing of the array in the terminal, with the devices that have each part

    jitkit.debug.visualize_array_sharding(x)

The package `rich` draws it, in colours if the terminal has them. In a traced function the drawing appears once, when
the program is lowered for one device: then the sharding is known.

JAX: jax/_src/debugging.py:visualize_sharding
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..base.jax_version import since
from .devices import Sharding

# matplotlib's `tab20b`
_COLORS = (
    "393B79", "5254A3", "6B6ECF", "9C9EDE", "637939", "8CA252", "B5CF6B", "CEDB9C", "8C6D31", "BD9E39", "E7BA52", "E7CB94", "843C39",
    "AD494A", "D6616B", "E7969C", "7B4173", "A55194", "CE6DBD", "DE9ED6",
)  # fmt: skip
_COLUMNS_PER_LINE = 2.5  # a character of a terminal is about this many times as high as wide


def visualize_sharding(
    shape: Sequence[int],
    sharding: Sharding,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: Callable[[float], Any] | None = None,
) -> None:
    """Print how a sharding divides an array of this shape, of one or two axes, among its devices.

    Args:
      use_color: whether each part gets a colour, if the terminal has colours.
      scale: 1 for a drawing of ten lines.
      min_width, max_width: the least width of a part, and the width of the drawing, in characters.
      color_map: a number from 0 to 1 -> red, green and blue from 0 to 1; twenty colours if it is None.

    Raises:
      ValueError: `rich` is not installed, or the shape has no axes or more than two.
    """
    if importlib.util.find_spec("rich") is None:
        raise ValueError("`visualize_sharding` requires `rich` to be installed.")
    if len(shape) not in (1, 2):
        raise ValueError("`visualize_sharding` only works for shapes with 1 and 2 dimensions.")
    box, console, table = (importlib.import_module(f"rich.{name}") for name in ("box", "console", "table"))
    screen = console.Console(width=max_width)
    colors = (color_map or _twenty_colors) if use_color and screen.color_system is not None else None
    how = {"box": None} if colors else {"box": box.SQUARE}
    drawing = table.Table(
        show_header=False, show_lines=not colors, padding=0, highlight=not colors, pad_edge=False, **how
    )
    parts, counts = _parts(shape, sharding)
    painted = None if colors is None else _painted(colors, counts)
    width, height = _size_of_part(shape, counts, scale)
    width = min(max(width, min_width), max_width)
    kind = next(iter(sharding.device_set)).platform.upper()
    for row in range(counts[0]):
        texts = [f"{kind} {','.join(map(str, sorted(parts[row, column])))}" for column in range(counts[1])]
        drawing.add_row(*[_cell(text, width, height, next(painted) if painted else None) for text in texts])
    screen.print(drawing, end="\n\n")


def _twenty_colors(x: float) -> str:
    """Return one of twenty colours for a number from 0 to 1: five hues, four shades of each."""
    return f"#{_COLORS[min(int(x * len(_COLORS)), len(_COLORS) - 1)]}"


def _parts(shape: Sequence[int], sharding: Sharding) -> tuple[dict[tuple[int, int], set[int]], tuple[int, int]]:
    """Return the numbers of the devices that have each part, by row and column, and the numbers of rows and columns."""
    parts: dict[tuple[int, int], set[int]] = {}
    for device, slices in sharding.devices_indices_map(tuple(shape)).items():
        place = [_place(size, part) for size, part in zip(shape, slices, strict=True)]
        row, column = (0, *place)[-2:]
        parts.setdefault((row, column), set()).add(device.id)
    return parts, (max(row for row, _ in parts) + 1, max(column for _, column in parts) + 1)


def _place(size: int, part: Any) -> int:
    """Return which part of an axis a slice is."""
    start, stop, _ = part.indices(size)
    return int(start // max(stop - start, 1))


def _size_of_part(shape: Sequence[int], counts: tuple[int, int], scale: float) -> tuple[int, int]:
    """Return the width and height of a part in characters and lines; an array with one axis is one line high."""
    lines = int(10 * scale)
    columns = int(lines * ((shape[1] if len(shape) == 2 else 1) / shape[0]))
    width = int(1 / counts[1] * columns * _COLUMNS_PER_LINE)
    return width, int(1 / counts[0] * lines) if len(shape) == 2 else 1


def _cell(text: str, width: int, height: int, color: str | None) -> Any:
    """Return a part of the drawing, with its text in the middle."""
    align, padding, style = (importlib.import_module(f"rich.{name}") for name in ("align", "padding", "style"))
    left, odd = divmod(width - len(text) - 2, 2)
    top, odd_line = divmod(height - 2, 2)
    more = 1 if color else 0
    space = (top + more, left + odd + more, top + odd_line + more, left + more)
    return padding.Padding(
        align.Align(text, "center", vertical="middle"),
        tuple(max(each, 0) for each in space),
        style=style.Style(bgcolor=color, color=_readable_on(color) if color else None),
    )


def _painted(colors: Callable[[float], Any], counts: tuple[int, int]) -> Iterator[str]:
    """Yield a colour for each part, such that neighbours differ."""
    count = counts[0] * counts[1]
    values, place = np.linspace(0, 1, count), 0
    step = count // 2 + (count % 2 == 0) + (since(0, 12) and count % 4 == 2)  # from JAX 0.12 on, each colour comes once
    for _ in range(count):
        color = colors(values[place])
        yield color if isinstance(color, str) else "#" + "".join(f"{int(part * 255):02X}" for part in color[:3])
        place = (place + step) % count


def _readable_on(color: str) -> str:
    """Return black or white, the one that can be read on this colour."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return "#000000" if red * 0.299 + green * 0.587 + blue * 0.114 > 186 else "#ffffff"
