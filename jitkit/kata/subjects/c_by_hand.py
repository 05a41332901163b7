"""A function as C, and the C run line by line in Python: what the checks of lab 14 look at.

>>> from jitkit.kata.subjects.c_by_hand import ran
>>> ran(lambda x: jnp.tanh(x) * 2 + x, np.ones(5, "float32")).passes
1
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import jitkit as jax
from jitkit.loops.source import write

from .run_c import run_c


class Ran(NamedTuple):
    """What a run of a function's C did.

    Attributes:
      results: the leaves of the function's result.
      loops: the number of outermost loops in the C: the nests.
      passes: the number of innermost loops in the C.
      workspace: the bytes of memory that the C uses besides arguments and results.
      reads, writes: how many elements the run read from memory and wrote to memory.
    """

    results: list[np.ndarray[Any, Any]]
    loops: int
    passes: int
    workspace: int
    reads: int
    writes: int


def text_of(fun: Callable[..., Any], *args: Any) -> str:
    """Return the C of `fun(*args)`, without what precedes its loops; the whole text if it has no loop."""
    text = write("f", jax.make_jaxpr(fun)(*args)).text
    first = re.search(r"^(//.*\n)*LOOP ", text, re.MULTILINE)  # from the loop's comments on
    return text[first.start() :] if first else text


def ran(fun: Callable[..., Any], *args: Any) -> Ran:
    """Write `fun(*args)` as C with jitkit's own compiler, and run that line by line in Python. No C compiler is needed."""
    jaxpr = jax.make_jaxpr(fun)(*args)
    source = write("f", jaxpr)
    inputs = [np.asarray(x) for x in (*source.consts, *jax.tree_util.tree_leaves(args))]
    avals = [*(jax.typeof(x) for x in source.consts), *jaxpr.in_avals]
    inputs = [np.asarray(x, aval.dtype) for x, aval in zip(inputs, avals, strict=True)]
    done = run_c(source.text, source.workspace, inputs, [(tuple(a.shape), a.dtype) for a in jaxpr.out_avals])
    return Ran(done.results, source.text.count("\nLOOP "), source.loops, source.workspace, done.reads, done.writes)
