"""The structure of the arguments is part of the signature: another tree is another program."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np

import jitkit as jax
import jitkit.numpy as jnp

from .pair import CALLS, Counts, Pitfall

W = np.linspace(1.0, 2.0, 4, dtype=np.float32)
B = np.linspace(-1.0, 0.5, 4, dtype=np.float32)
ROWS = np.arange(4.0 * CALLS, dtype=np.float32).reshape(CALLS, 4)


# --- a list of varying length ---------------------------------------------------------------------------------


@jax.jit
def total(arrays: Any) -> Any:
    return sum(jnp.sum(x) for x in arrays)  # unrolled: one sum an element


def lists_slow() -> Iterator[Any]:
    for i in range(CALLS):
        yield total(list(ROWS[: i + 1]))


@jax.jit
def total_of_rows(rows: Any, count: Any) -> Any:
    is_used = jnp.arange(rows.shape[0])[:, None] < count
    return jnp.sum(jnp.where(is_used, rows, 0.0))


def lists_mended() -> Iterator[Any]:
    rows = np.zeros((CALLS, 4), np.float32)
    for i in range(CALLS):
        rows[i] = ROWS[i]
        yield total_of_rows(rows, i + 1)


# --- the order of the keys ------------------------------------------------------------------------------------


PARAMS = {"w": W, "b": B}


@jax.jit
def difference(params: Any) -> Any:
    return params["w"] - params["b"]


def order_slow() -> Iterator[Any]:
    for i in range(CALLS):
        names = ("w", "b") if i % 2 else ("b", "w")
        yield difference(OrderedDict((name, PARAMS[name]) for name in names))  # its order is part of the tree


def order_mended() -> Iterator[Any]:
    for i in range(CALLS):
        names = ("w", "b") if i % 2 else ("b", "w")
        yield difference({name: PARAMS[name] for name in names})  # the keys of a dict are sorted first


# --- a key that comes and goes --------------------------------------------------------------------------------


@jax.jit
def loss(batch: Any) -> Any:
    weights = batch.get("weights")
    return jnp.sum(batch["x"] if weights is None else batch["x"] * weights)


def optional_slow() -> Iterator[Any]:
    for i in range(CALLS):
        yield loss({"x": B, "weights": W} if i % 3 else {"x": B})


def optional_mended() -> Iterator[Any]:
    for i in range(CALLS):
        weights = W if i % 3 else np.ones_like(W)  # weights of 1 where none are given
        yield loss({"x": B, "weights": weights})


# --- a list or a tuple ----------------------------------------------------------------------------------------


@jax.jit
def added(pair: Any) -> Any:
    return pair[0] + pair[1]


def kinds_slow() -> Iterator[Any]:
    for i in range(CALLS):
        yield added([W, B] if i % 2 else (W, B))


def kinds_mended() -> Iterator[Any]:
    for _ in range(CALLS):
        yield added((W, B))


# --- one call, written in several ways ----------------------------------------------------------------------------


@jax.jit
def scaled(x: Any, by: Any = 2.0) -> Any:
    return x * by


def forms_slow() -> Iterator[Any]:
    for i in range(CALLS):
        if i % 3 == 0:
            yield scaled(W)  # a default that is left out is not an argument: its value is compiled in
        elif i % 3 == 1:
            yield scaled(W, 2.0)
        else:
            yield scaled(W, by=2.0)  # positional and keyword arguments are two trees


def forms_mended() -> Iterator[Any]:
    for _ in range(CALLS):
        yield scaled(W, 2.0)


PITFALLS = (
    Pitfall(
        "lists",
        "a list that is a little longer every time",
        lists_slow,
        lists_mended,
        Counts(CALLS, CALLS),
        Counts(1, 1),
        "A list of arrays is a tree, and its length is structure. Stack the arrays, and say how many are used.",
    ),
    Pitfall(
        "key-order",
        "the order of keys in an OrderedDict",
        order_slow,
        order_mended,
        Counts(2, 2),
        Counts(1, 1),
        "The keys of a dict are sorted, so that their order does not matter; those of an OrderedDict are not.",
    ),
    Pitfall(
        "optional-key",
        "a key that is there in some calls only",
        optional_slow,
        optional_mended,
        Counts(2, 2),
        Counts(1, 1),
        "Two structures, two programs. Pass a neutral value in the calls that have none.",
    ),
    Pitfall(
        "list-or-tuple",
        "a list in one call, a tuple in the next",
        kinds_slow,
        kinds_mended,
        Counts(2, 2),
        Counts(1, 1),
        "The kind of a container is structure, too.",
    ),
    Pitfall(
        "call-forms",
        "one call, written in several ways",
        forms_slow,
        forms_mended,
        Counts(3, 3),
        Counts(1, 1),
        "An argument by position, by keyword, and left to its default makes three signatures. Write all calls one way.",
    ),
)
