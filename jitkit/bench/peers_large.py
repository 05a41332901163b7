"""The rows of `jitkit bench peers` about large things: trees of thousands of leaves, and the trace of a model."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import programs
from .libraries import Library
from .peers_rows import Effort, Measured, Row, clocked, once_a_round, repeated
from .timing import Action

_OFTEN = 200  # uses after which code is written for a tree of 4,000 leaves


def _after_many_uses(action: Action) -> Action:
    for _ in range(_OFTEN):
        action()
    return action


def flatten(leaves: int) -> Callable[[Library], Action]:
    """Return a function: library -> action that flattens a tree of parts."""
    tree = programs.tree_of_parts(leaves)
    return lambda library: _after_many_uses(functools.partial(library.trees.tree_flatten, tree))


def map_leaves(leaves: int) -> Callable[[Library], Action]:
    """Return a function: library -> action that maps a tree by the identity."""
    tree = programs.tree_of_parts(leaves)
    return lambda library: _after_many_uses(functools.partial(library.trees.tree_map, lambda leaf: leaf, tree))


def flatten_with_path(leaves: int) -> Callable[[Library], Action]:
    """Return a function: library -> action that flattens a tree, with the path of each leaf."""
    tree = programs.tree_of_parts(leaves)
    return lambda library: _after_many_uses(functools.partial(library.trees.tree_flatten_with_path, tree))


def call_in_and_out(leaves: int) -> Callable[[Library], Action]:
    """Return a function: library -> action, a call that takes a dict of arrays and returns one."""

    def prepare(library: Library) -> Action:
        x = library.array(np.ones(4, np.float32))
        params = {f"layer_{i:05}": x for i in range(leaves)}
        return functools.partial(library.jit(programs.step_all(library.np)), params)

    return prepare


def _call_to_one(library: Library) -> Action:
    x = library.array(np.ones(4, np.float32))
    params = {f"layer_{i:05}": x for i in range(1000)}
    jitted = library.jit(lambda params: params["layer_00003"] + params["layer_00999"])
    return functools.partial(jitted, params)


def traced_model(library: Library, what: str, blocks: int) -> Callable[[], Any]:
    """Return an action that traces a new transformer: its `loss`, `grad`, `vmap(grad)` of a batch, or `hvp`, the
    Hessian times a vector.
    """
    params, x, classes = programs.transformer_data(blocks)
    blocks_of = [{name: library.array(value) for name, value in block.items()} for block in params]
    loss = programs.transformer(library.np, library.lax)

    def grad(*arguments: Any) -> Any:
        return library.value_and_grad(loss)(*arguments)[1]

    def batch(blocks: Any, xs: Any, classes: Any) -> Any:
        return library.vmap(grad, (None, 0, None))(blocks, xs, classes)

    def hvp(blocks: Any, x: Any, classes: Any) -> Any:
        return library.jvp(lambda blocks: grad(blocks, x, classes), (blocks,), (blocks,))[1]

    of = {"loss": loss, "grad": grad, "vmap(grad)": batch, "hvp": hvp}[what]
    text = library.array(np.stack([x] * 3) if what == "vmap(grad)" else x)
    return functools.partial(library.jit(of).trace, blocks_of, text, library.array(classes))


def _trace_model(what: str) -> Callable[[Effort], Measured]:
    def act(library: Library) -> float:
        return clocked(traced_model(library, what, 12))[1]

    return lambda effort: once_a_round(act, effort.once, effort.seconds)


def _trace_scan(effort: Effort) -> Measured:
    def act(library: Library) -> float:
        def rnn(params: Any, xs: Any) -> Any:
            def step(state: Any, x: Any) -> Any:
                state = library.np.tanh(state @ params["w"] + x)
                return state, library.np.sum(state**2)

            return library.np.sum(library.lax.scan(step, xs[0], xs)[1])

        params, xs = {"w": library.array(np.ones((8, 8), np.float32))}, library.array(np.ones((10, 8), np.float32))
        return clocked(functools.partial(library.jit(library.value_and_grad(rnn)).trace, params, xs))[1]

    return once_a_round(act, effort.once, effort.seconds)


_TREES = "trees of thousands of leaves"
_MODEL = "trace of a transformer of 12 blocks"

LARGE_ROWS = (
    Row(_TREES, "warm call, 1,000 in and out", 1.20, repeated(call_in_and_out(1000))),
    Row(_TREES, "warm call, 1,000 to one", 1.20, repeated(_call_to_one)),
    Row(_TREES, "tree_flatten of 4,000", 1.30, repeated(flatten(4000))),
    Row(_TREES, "tree_map of 4,000", 1.30, repeated(map_leaves(4000))),
    Row(_TREES, "flatten_with_path of 4,000", 1.30, repeated(flatten_with_path(4000))),
    Row(_MODEL, "loss", 0.25, _trace_model("loss")),
    Row(_MODEL, "grad", 0.25, _trace_model("grad")),
    Row(_MODEL, "vmap(grad)", 0.25, _trace_model("vmap(grad)")),
    Row(_MODEL, "hvp", 0.25, _trace_model("hvp")),
    Row(_MODEL, "grad of a scan", 0.25, _trace_scan),
)
