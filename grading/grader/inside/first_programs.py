"""Programs that run once in a process before it forks, so that the programs of the forks take less time

The first program that is traced makes tables, and Python adapts the code that it runs. In a fork each of these changes
also costs a copy of a page of memory. Measured: a check that traces and does not compile takes 3 ms less processor time
(otherwise 9 to 15 ms), and one of random programs a third less. The programs are the same for everybody: some are written here, and some
are drawn as those of checks are, from a seed that is not secret. If the functions of an exercise are missing, a program goes as far
as it can, and its error is ignored. Nothing is compiled here: that would start threads, and a fork does not have its parent's threads.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

_OF_EACH = 3  # programs of each writer


def run_first_programs() -> None:
    """Run the programs. Raise RuntimeError if one of them has started a thread."""
    with _without_devices():
        for program in _programs():
            with contextlib.suppress(Exception):
                program()
    if os.path.isdir("/proc/self/task") and len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("the first programs have started a thread")


def compile_patterns() -> None:
    """Compile the patterns by which jitkit finds the advice for an error: Python remembers them, and a fork need not compile them."""
    for row in importlib.import_module("jitkit.base.pythons_errors").__dict__["_ROWS"]:
        for pattern in (row.message, row.line):
            re.compile(pattern)
    errors = importlib.import_module("jitkit.base.errors")
    for table in vars(errors).values():
        if isinstance(table, errors.__dict__["_Table"]):
            for row in table.rows:
                re.compile(row[2] if len(row) > 2 else "")


@contextlib.contextmanager
def _without_devices() -> Iterator[None]:
    """Within the block, there is no device: a program that needs one ends with an error, before XLA starts its threads."""
    devices: Any = importlib.import_module("jitkit.runtime.devices")
    config: Any = importlib.import_module("jitkit.base.config")
    made, read = devices.cpu_client, set(config.read_once)

    def refuse(make: Callable[[], Any]) -> Any:
        raise RuntimeError("there are no devices before the forks")

    devices.cpu_client = refuse
    try:
        yield
    finally:
        devices.cpu_client = made
        config.read_once.intersection_update(read)


def _drawn() -> Iterator[Callable[[], object]]:
    """Yield random programs: what the last checks of many exercises do."""
    np: Any = importlib.import_module("numpy")
    jk: Any = importlib.import_module("jitkit")
    engine: Any = importlib.import_module("jitkit.kata.engine.random_programs")
    choices: Any = importlib.import_module("jitkit.kata.engine.choices")
    arrays: Any = importlib.import_module("jitkit.kata.programs.transformed")
    loops: Any = importlib.import_module("jitkit.kata.programs.loops")
    writers = [
        arrays.plain("unary binary moved reduction jit"),
        arrays.plain("repeated counted constant unary"),
        arrays.plain("branches unary binary scan constant"),
        arrays.mapped("unary binary scaled reduction moved jit branches scan"),
        arrays.mapped("product moved unary product"),
        arrays.gradients,
        loops.operators,
        loops.unsettled("while", "scan", "fori"),
        loops.unsettled("cond", "switch"),
    ]
    rng = np.random.Generator(np.random.PCG64(0))
    for write in writers:
        for _ in range(_OF_EACH):
            yield functools.partial(engine.random_programs, jk, choices.Choices.drawn(rng), write, 1, types=True)


def _programs() -> Iterator[Callable[[], object]]:
    jk: Any = importlib.import_module("jitkit")
    np: Any = importlib.import_module("numpy")
    plain: Any = importlib.import_module("jitkit.kata.engine.plain")
    by_numpy = importlib.import_module("jitkit.kata.engine.numpy_jaxpr").run_by_numpy
    jnp, lax, x = jk.numpy, jk.lax, np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)

    def fun(x: Any, n: Any) -> Any:
        y = jnp.where(x > 0, jnp.sin(x) * n + 1, -x)
        carry, rows = lax.scan(lambda c, row: (c + row, c * 2), y[0], y)
        turned = lax.cond(carry.sum() > 0, lambda a: a.T, lambda a: a.T + 1, x)
        _, last = lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2), (n, carry))
        return {"a": rows, "b": [turned, (last @ turned.T[0], jk.jit(lambda q: q.mean())(y))]}

    def traced() -> None:
        jaxpr, shapes = jk.make_jaxpr(fun, return_shape=True)(x, 2)
        str(jaxpr)
        plain.to_plain([jaxpr, x, str(jk.tree_util.tree_structure(shapes))])
        by_numpy(jaxpr, x, 2)

    yield traced
    yield lambda: jk.make_jaxpr(jk.grad(lambda x: fun(x, 2.0)["a"].sum()))(x)
    yield lambda: jk.make_jaxpr(jk.vmap(lambda row: jnp.cumsum(row) * 2))(x)
    yield lambda: jk.tree_util.tree_map(lambda leaf: leaf, {"a": (1, [2])})
    yield lambda: jk.eval_shape(fun, x, 2)
    yield from _drawn()
