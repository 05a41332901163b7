"""a package -> times, as JSON: run as a script, `python from_scratch.py FOLDER NAME MACHINE`, or `... jax`

Of a chain of a few hundred equations: tracing and lowering, per equation; of its compiled program, a warm call. Each is the best of several
rounds, since what disturbs only ever adds.
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
    """Three hundred equations."""
    for _ in range(EQUATIONS // 3):
        x = (x * x - x) + x
    return x


def best(action: Callable[[], Any], times: int = 1) -> float:
    """Seconds, of one of `times` calls, in the best round."""
    rounds = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        for _ in range(times):
            action()
        rounds.append((time.perf_counter() - start) / times)
    return min(rounds)


def of_package(jk: Any) -> dict[str, Any]:
    """The times of a package with `lower` and `jit`."""
    x = jk.numpy.asarray(np.ones(8, np.float32))
    found = {"lower": best(lambda: jk.lower(chain, x)) / EQUATIONS}
    f = jk.jit(lambda x: x * 2.0 + 1.0)
    y = f(f(x))
    return found | {"call": best(lambda: f(y), _CALLS), "every call": every_call(jk)}


def every_call(jk: Any) -> list[float]:
    """Seconds of each of some calls of one jitted function: with eight numbers, with nine, with eight again."""
    f = jk.jit(lambda x: jk.numpy.sin(x) * 2.0 + 1.0)
    seconds = []
    for size in (8, 9, 8):
        x = jk.numpy.asarray(np.ones(size, np.float32))
        for _ in range(CALLS_OF_A_SIZE):
            start = time.perf_counter()
            f(x)
            seconds.append(time.perf_counter() - start)
    return seconds


def of_jax() -> dict[str, float]:
    """The same times of JAX."""
    jax: Any = importlib.import_module("jax")
    x = jax.numpy.ones(8, np.float32)
    found = {"lower": best(lambda: jax.jit(functools.partial(chain)).lower(x).as_text()) / EQUATIONS}
    f = jax.jit(lambda x: x * 2.0 + 1.0)
    y = f(f(x))
    return found | {"call": best(lambda: f(y), _CALLS)}


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
