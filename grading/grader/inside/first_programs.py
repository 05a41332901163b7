"""Programs that run once in a process before it forks, so that the programs of the forks take less time

The first program that is traced makes tables, and Python adapts the code that it runs. In a fork each of these changes
also costs a copy of a page of memory. Measured: a check that traces and does not compile takes 3 ms less processor time
(otherwise 9 to 15 ms). The programs are the same for everybody. If the functions of an exercise are missing, a program
goes as far as it can, and its error is ignored. Nothing is compiled here: that would start threads, and a fork does not
have its parent's threads.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable, Iterator
from typing import Any


def run_first_programs() -> None:
    """Run the programs. Raise RuntimeError if one of them has started a thread."""
    for program in _programs():
        with contextlib.suppress(Exception):
            program()
    if os.path.isdir("/proc/self/task") and len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("the first programs have started a thread")


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
