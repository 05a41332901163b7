"""Bytes that are moved against the length of a program: rows that are normalised n times, and a chain of elementwise operations,
by your loops and by XLA."""

from __future__ import annotations

import importlib

_ROWS, _COLUMNS = 1000, 1000
_TURNS = (1, 2, 3, 4, 6, 8, 12)
_LOOKS = {"rows, XLA": ("#0072B2", "o-"), "rows, yours": ("#D55E00", "s-"), "one by one": ("#999999", "^:")}


def measure(jk, quick: bool) -> dict[str, list[float]]:
    """Count the megabytes that each program moves, for each number of turns."""
    write = importlib.import_module(f"{jk.__name__}.loops.source").write
    x = jk.ShapeDtypeStruct((_ROWS, _COLUMNS), "float32")
    turns = _TURNS[::2] if quick else _TURNS
    data: dict[str, list[float]] = {
        "turns": [float(n) for n in turns],
        "rows, XLA": [],
        "rows, yours": [],
        "one by one": [],
    }
    for n in turns:

        def rows(y, n=n):
            for _ in range(n):
                y = (y - y.mean(axis=1, keepdims=True)) * 1.1
            return y

        data["rows, XLA"].append(jk.jit(rows).lower(x).compile().cost_analysis()["bytes accessed"] / 1e6)
        data["rows, yours"].append(write("rows", jk.make_jaxpr(rows)(x)).costs["bytes accessed"] / 1e6)
        data["one by one"].append(5 * n * 4 * _ROWS * _COLUMNS / 1e6)  # mean reads; - and * read and write
    return data


def plot(data: dict[str, list[float]], axes) -> None:
    """Draw lines over the number of turns."""
    turns = data["turns"]
    for name, (color, style) in _LOOKS.items():
        axes.plot(turns, data[name], style, color=color, label=name)
    axes.set_xlabel("times that rows are centred and scaled")
    axes.set_ylabel("megabytes moved")
    axes.set_ylim(bottom=0)
    axes.set_title("A reduction ends a fusion, but not a nest")
    axes.legend()
