"""A program that learns: a network of two layers, its gradient jitted into one program, and the loss as it falls."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

import jitkit
import jitkit.numpy as jnp
from jitkit.base import stage_log

from ..screens.terminal import Screen, duration
from . import example as tour_example
from .arrows import count_equations, source_of

STEPS = 1000
POINTS = 500
_WIDTH = 32
_SHOWN = 8  # lines of the loss that the screen shows


class Training(NamedTuple):
    """The results of a training."""

    losses: list[float]  # the loss before each step
    before: float  # the share of points on the right side before the training
    after: float  # the same share after it
    first: float  # seconds of the first step
    rest: float  # seconds of all other steps together
    traces: int  # how often the step was traced
    compiles: int  # how often it was compiled
    equations: tuple[int, int]  # the number of equations of the loss, and of the step
    slopes: tuple[float, float]  # the slope along one direction, by the gradient and by differences


def points() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return points of two rings, one around the other: their places in the plane, and +1 for the inner ring or -1 for the outer."""
    random = np.random.default_rng(0)
    kind = np.where(np.arange(POINTS) % 2, 1.0, -1.0)
    radius = np.where(kind > 0, 0.8, 2.0) * random.uniform(0.7, 1.1, POINTS)
    angle = random.uniform(0, 2 * np.pi, POINTS)
    places = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return places.astype(np.float32), kind.astype(np.float32)


def weights() -> dict[str, np.ndarray[Any, Any]]:
    """Return the untrained network: random weights, and biases of 0."""
    random = np.random.default_rng(1)
    return {
        "w1": random.normal(size=(2, _WIDTH)).astype(np.float32),
        "b1": np.zeros(_WIDTH, np.float32),
        "w2": (random.normal(size=_WIDTH) / np.sqrt(_WIDTH)).astype(np.float32),
    }


def measure() -> Training:
    """Train for `STEPS` steps; return losses, times, and how often the step was traced and compiled."""
    x, y = map(jnp.asarray, points())
    params = jitkit.tree.map(jnp.asarray, weights())
    equations = tuple(
        count_equations(jitkit.make_jaxpr(f)(params, x, y)) for f in (tour_example.loss, tour_example.step)
    )
    slopes = _slopes(params, x, y)
    before = _share(params, x, y)
    jitkit.clear_caches()
    train = jitkit.jit(tour_example.step)
    values = []
    with stage_log.listen() as events:
        start = time.perf_counter()
        value, params = train(params, x, y)
        value.block_until_ready()
        first = time.perf_counter() - start
        values.append(value)
        start = time.perf_counter()
        for _ in range(STEPS - 1):
            value, params = train(params, x, y)
            values.append(value)
        value.block_until_ready()
        rest = time.perf_counter() - start
    stages = [event.stage for event in events if event.function == "step"]
    return Training(
        [float(value) for value in values],
        before,
        _share(params, x, y),
        first,
        rest,
        stages.count("tracing"),
        stages.count("compilation"),
        (equations[0], equations[1]),
        slopes,
    )


def _share(params: Any, x: Any, y: Any) -> float:
    return float(jnp.mean(tour_example.network(params, x) * y > 0))


def _slopes(params: Any, x: Any, y: Any) -> tuple[float, float]:
    """Return the slope of the loss if all parameters grow in proportion to themselves: computed by `grad`, and by
    differences.
    """
    gradient = jitkit.grad(tour_example.loss)(params, x, y)
    products = jitkit.tree.map(lambda g, p: float(jnp.vdot(g, p)), gradient, params)

    def moved(scale: float) -> float:
        return float(tour_example.loss(jitkit.tree.map(lambda p: p * scale, params), x, y))

    return sum(products.values()), (moved(1.01) - moved(0.99)) / 0.02


def show(screen: Screen, training: Training) -> None:
    """Show the program, how the loss fell, and what it cost."""
    screen.heading("A program that learns", f"{POINTS} points, {len(training.losses)} steps")
    for function in (tour_example.network, tour_example.loss, tour_example.step):
        screen.code(source_of(function))
    inside, whole = training.equations
    by_gradient, by_differences = training.slopes
    screen.text(
        f"grad wrote the reverse pass as more equations: {inside} became {whole}, with the step. Along one "
        f"direction the gradient says {by_gradient:.4f}, differences say {by_differences:.4f}.",
        2,
    )
    screen.line()
    last = len(training.losses) - 1
    turns = sorted({round(last * i / (_SHOWN - 1)) for i in range(_SHOWN)})
    rows = [(turn, training.losses[turn]) for turn in turns]
    highest = max(value for _, value in rows)
    for turn, value in rows:
        bar = screen.bar(value / highest, screen.width - 36)
        screen.line(f"  loss before step {turn + 1:>5}  {value:6.4f}  {bar}".rstrip())
    screen.line()
    each = training.rest / max(last, 1)
    screen.text(
        f"The first step took {duration(training.first)}: traced {_times(training.traces)}, compiled "
        f"{_times(training.compiles)}. Each of the others took {duration(each)}, {duration(training.rest)} in all.",
        2,
    )
    screen.text(
        f"Of the points, {training.before:.0%} were on the right side before, and {training.after:.0%} are now.",
        2,
        "bold",
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
