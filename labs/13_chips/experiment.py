"""Bytes that are moved, over the least: a transpose that is multiplied, and the polynomial, for each compiler that is installed."""

from __future__ import annotations

import importlib

_TARGETS = ("cpu", "gpu:h100", "tpu:v5e", "tpu:v6e")
_SHAPE = (1024, 512)
_LOOKS = (("#D55E00", ""), ("#0072B2", "//"), ("#E69F00", ".."))


def measure(jk, quick: bool) -> dict[str, list[float]]:
    """Measure, for each target, the bytes of the compiled program divided by `least_bytes`; nan if its compiler is not installed."""
    chips = importlib.import_module(f"{jk.__name__}.kata.subjects.chips")
    targets = importlib.import_module(f"{jk.__name__}.targets")
    x, coefficients = jk.ShapeDtypeStruct(_SHAPE, "float32"), jk.ShapeDtypeStruct((6,), "float32")

    def in_a_loop(x, c):
        return jk.lax.fori_loop(0, c.shape[0], lambda i, y: y * x + c[i], jk.numpy.zeros_like(x))

    programs = {
        "transpose(x) * 2": (lambda x: jk.numpy.transpose(x) * 2, (x,)),
        "your polynomial": (chips.polynomial, (x, coefficients)),
        "in a loop, one turn": (in_a_loop, (x, coefficients)),
    }
    data = {"target": [float(i) for i in range(len(_TARGETS))]}
    for name, (fun, args) in programs.items():
        least, lowered = chips.least_bytes(fun, *args), jk.jit(fun).lower(*args)
        data[name] = [moved(lowered, targets, target) / least for target in _TARGETS]
    return data


def moved(lowered, targets, target: str) -> float:
    """Return the bytes that the compiler counts; nan if it is not installed."""
    if target == "cpu":
        return float(lowered.compile().cost_analysis()["bytes accessed"])
    if targets.obstacle(targets.find(target)):
        return float("nan")
    return float(lowered.compile(target=target).cost_analysis()["bytes accessed"])


def plot(data: dict[str, list[float]], axes) -> None:
    """Draw bars, in a group for each target."""
    places, *series = data.values()
    for i, (name, values) in enumerate(zip(list(data)[1:], series, strict=True)):
        at = [place + 0.26 * (i - 1) for place in places]
        color, hatch = _LOOKS[i]
        axes.bar(at, values, width=0.24, label=name, color=color, hatch=hatch, edgecolor="white")
    for place, value in zip(places, series[0], strict=True):
        if value != value:
            axes.text(place, 0.1, "not installed", ha="center", va="bottom", rotation=90, color="#666666")
    axes.axhline(1.0, color="#222222", linewidth=1)
    axes.set_xticks(places, ["this CPU", "H100", "TPU v5e", "TPU v6e"])
    axes.set_ylabel("bytes moved, over the least")
    axes.set_title("How far from one pass over memory?")
    axes.legend()
