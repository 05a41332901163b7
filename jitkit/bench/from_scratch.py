"""a package -> times, as JSON: run as a script, `python from_scratch.py FOLDER NAME MACHINE`, or `... jax`

It measures tracing and lowering of a chain of a few hundred equations, per equation, and a warm call of the compiled
program, each as the best of several rounds, because a disturbance only adds time. It also measures a training step of
two layers, the first and a later one, and runs the race of rung 23: six programs by the package's own compiler, by XLA
and by numpy.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

EQUATIONS = 300
CALLS_OF_A_SIZE = 20
_ROUNDS = 7
_CALLS = 300


def chain(x: Any) -> Any:
    """Compute a chain of three hundred equations."""
    for _ in range(EQUATIONS // 3):
        x = (x * x - x) + x
    return x


def best(action: Callable[[], Any], times: int = 1) -> float:
    """Return the seconds of one call: the best of several rounds of `times` calls each."""
    rounds = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        for _ in range(times):
            action()
        rounds.append((time.perf_counter() - start) / times)
    return min(rounds)


def of_package(jk: Any) -> dict[str, Any]:
    """Measure a package that has `lower` and `jit`, and return the figures by name."""
    x = jk.numpy.asarray(np.ones(8, np.float32))
    found: dict[str, Any] = {"lower": best(lambda: jk.lower(chain, x)) / EQUATIONS}
    f = jk.jit(lambda x: x * 2.0 + 1.0)
    y = f(f(x))
    found |= {"call": best(lambda: f(y), _CALLS), "training": training(jk)}
    return found | {"every call": every_call(jk), "race": race(jk)}


def training(jk: Any) -> dict[str, float]:
    """Train two layers of 64 by `jit` and `grad`. Return the seconds of the first step, and of a later one; {} for a
    package without `grad`.
    """
    n, rng = jk.numpy, np.random.default_rng(0)
    x, y, *weights = (n.asarray(rng.normal(size=(64, 64)).astype(np.float32)) for _ in range(4))

    def loss(weights: Any, x: Any, y: Any) -> Any:
        apart = n.tanh(x @ weights[0]) @ weights[1] - y
        return n.sum(apart * apart)

    def step(weights: Any, x: Any, y: Any) -> Any:
        return [w - 0.001 * g for w, g in zip(weights, jk.grad(loss)(weights, x, y), strict=True)]

    try:
        compiled = jk.jit(step)
        start = time.perf_counter()
        np.asarray(compiled(weights, x, y)[0])
        first = time.perf_counter() - start
        return {"first": first, "later": best(lambda: np.asarray(compiled(weights, x, y)[0]), 50)}
    except Exception:  # a learner's package may lack it, and raise any error
        return {}


def every_call(jk: Any) -> list[float]:
    """Return the seconds of each call of one jitted function: with eight numbers, with nine, with eight again."""
    f = jk.jit(lambda x: jk.numpy.sin(x) * 2.0 + 1.0)
    seconds = []
    for size in (8, 9, 8):
        x = jk.numpy.asarray(np.ones(size, np.float32))
        for _ in range(CALLS_OF_A_SIZE):
            start = time.perf_counter()
            f(x)
            seconds.append(time.perf_counter() - start)
    return seconds


def elementwise(n: Any, repeat: Any, x: Any) -> Any:
    """Return the result of ten operations of arithmetic."""
    for _ in range(5):
        x = x * x - 0.5
    return x


def activation(n: Any, repeat: Any, x: Any) -> Any:
    """Return an approximation of GELU: a hyperbolic tangent among other arithmetic."""
    return 0.5 * x * (1.0 + n.tanh(0.8 * (x + 0.04 * x * x * x)))


def softmax(n: Any, repeat: Any, x: Any) -> Any:
    """Return the softmax of each row."""
    e = n.exp(x - n.max(x, 1, keepdims=True))
    return e / n.sum(e, 1, keepdims=True)


def layer_norm(n: Any, repeat: Any, x: Any) -> Any:
    """Return the rows shifted and scaled to mean 0 and deviation 1."""
    x = x - n.mean(x, 1, keepdims=True)
    return x / n.sqrt(n.mean(x * x, 1, keepdims=True) + 1e-5)


def layers(n: Any, repeat: Any, x: Any) -> Any:
    """Return the result of two dense layers, whose weights are the input itself."""
    return n.tanh(n.tanh(x @ x) @ x)


def repetition(n: Any, repeat: Any, x: Any) -> Any:
    """Return the result of twenty turns of a loop, each with a sum."""
    return repeat(20, lambda x: x / (1.0 + n.sum(x * x)), x)


RACE: dict[str, tuple[Callable[[Any, Any, Any], Any], tuple[int, ...]]] = {
    "ten operations": (elementwise, (1000, 1000)),
    "gelu": (activation, (1000, 1000)),
    "softmax": (softmax, (1000, 1000)),
    "layer norm": (layer_norm, (1000, 1000)),
    "two layers": (layers, (256, 256)),
    "twenty turns": (repetition, (100_000,)),
}


def in_turns(turns: int, body: Callable[[Any], Any], x: Any) -> Any:
    """Run `body` `turns` times in a Python loop, and return the last x: numpy has no `fori_loop`."""
    for _ in range(turns):
        x = body(x)
    return x


def race(jk: Any) -> dict[str, dict[str, float]]:
    """Return, for each program, the passes over memory and the bytes of the package's own compiler, and the seconds with
    this compiler, with XLA and with numpy. A program that this compiler refuses is left out; without a compiler, all are.
    """

    def seconds(f: Callable[[Any], Any], x: Any) -> float:
        return best(lambda: np.asarray(f(x)), 2)

    def repeat(turns: int, body: Callable[[Any], Any], x: Any) -> Any:
        return jk.lax.fori_loop(0, turns, lambda _, x: body(x), x)

    found = {}
    for name, (program, shape) in RACE.items():
        f = functools.partial(program, jk.numpy, repeat)
        numbers = np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
        x = jk.numpy.asarray(numbers)
        try:
            own = jk.jit(f, backend="own")
            own(x)
            cc: Any = sys.modules["cc"]
            loops = sum(map(cc.outermost_loops, cc.texts[-1:]))
            before = cc.most = cc.alive
            own(x)
        except Exception:  # a learner's package may lack it, and raise any error
            continue
        found[name] = {
            "loops": loops,
            "bytes": cc.most - before,
            "own": seconds(own, x),
            "xla": seconds(jk.jit(f), x),
            "numpy": seconds(functools.partial(program, np, in_turns), numbers),
        }
    return found


def of_jax() -> dict[str, Any]:
    """Return the measurements of JAX that `of_package` makes of a package, without `every_call` and `race`."""
    jax: Any = importlib.import_module("jax")
    x = jax.numpy.ones(8, np.float32)
    found: dict[str, Any] = {"lower": best(lambda: jax.jit(functools.partial(chain)).lower(x).as_text()) / EQUATIONS}
    f = jax.jit(lambda x: x * 2.0 + 1.0)
    y = f(f(x))
    return found | {"call": best(lambda: f(y), _CALLS), "training": training(jax)}


def main(arguments: list[str]) -> int:
    """Measure, and print."""
    if arguments == ["jax"]:
        found: dict[str, Any] = of_jax()
    else:
        path = pathlib.Path(__file__).resolve().parents[1] / "kata" / "engine" / "climbing.py"
        spec = importlib.util.spec_from_file_location("climbing", path)
        if spec is None or spec.loader is None:
            raise ImportError(f"cannot load {path}")
        climbing: Any = importlib.util.module_from_spec(spec)
        sys.modules["climbing"] = climbing
        spec.loader.exec_module(climbing)
        found = of_package(climbing.import_package(*arguments))
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
