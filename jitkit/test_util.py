"""Derivatives beside finite differences: for tests of rules that users write.

A direction is drawn for the arguments, and one for the results. Forward, the tangent must be what two calls of the
function a small step apart differ by. In reverse, what the cotangents of the arguments count of their direction must be
what the direction of the results counts of that difference.

JAX: jax/_src/public_test_util.py:check_grads
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import core
from .base import traceback_util
from .derivatives.gradients import jvp, linearize, vjp
from .interpreters.ad_rules import tangent_aval
from .tree_util import tree_leaves, tree_map

EPS = 1e-4
_TOLERANCES = {"float64": 1e-5, "complex128": 1e-5, "float32": 2e-3, "complex64": 1e-3, "float16": 1e-2}


@traceback_util.api_boundary
def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Compare the derivatives of `f(*args)` with finite differences, along one direction.

    Args:
      order: 1 for first derivatives, 2 for those of the first derivatives besides, and so on.
      modes: "fwd" and "rev", and "lin" for `linearize`.
      atol, rtol: how far numbers may be apart; by dtype, if not given.
      eps: the step.

    Raises:
      AssertionError: where they differ.
    """
    check = functools.partial(_check, atol=atol, rtol=rtol, eps=eps or EPS)
    args = tuple(args)
    if "fwd" in modes:
        check(f, args, lambda tangents: jvp(f, args, tangents)[1], None)
    if "lin" in modes:
        check(f, args, lambda tangents: linearize(f, *args)[1](*tangents), None)
    if "rev" in modes:
        check(f, args, None, vjp(f, *args)[1])
    if order < 2:
        return
    if "fwd" in modes:
        check_grads(lambda *both: jvp(f, *both), (args, args), order - 1, modes, atol, rtol, eps)
    if "rev" in modes:
        check_grads(functools.partial(_pull_result, f), args, order - 1, modes, atol, rtol, eps)


def _pull_result(f: Callable[..., Any], *args: Any) -> Any:
    out, pull = vjp(f, *args)
    return pull(out)


def _check(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    push: Callable[..., Any] | None,
    pull: Callable[..., Any] | None,
    *,
    atol: float | None,
    rtol: float | None,
    eps: float,
) -> None:
    rng = np.random.default_rng(0)
    direction = tree_map(functools.partial(_random_like, rng), args)
    change = _difference(f, args, direction, eps)
    if push is not None:
        for t, wanted in zip(tree_leaves(push(direction)), tree_leaves(change), strict=True):
            _assert_close(np.asarray(t), wanted, atol, rtol, "tangents")
    if pull is not None:
        weights = tree_map(functools.partial(_random_like, rng), f(*args))
        found = pull(tree_map(np.conj, weights))
        ours, wanted = _inner(direction, tree_map(np.conj, found)), _inner(change, weights)
        _assert_close(ours, wanted, atol, rtol, "cotangents")


def _random_like(rng: np.random.Generator, x: Any) -> Any:
    aval = tangent_aval(core.typeof(x))
    if aval.dtype == core.dtypes.float0:
        return np.zeros(aval.shape, aval.dtype)
    drawn = rng.standard_normal(aval.shape)
    if np.issubdtype(aval.dtype, np.complexfloating):
        return (drawn + 1j * rng.standard_normal(aval.shape)).astype(aval.dtype)
    return np.asarray(drawn).astype(aval.dtype)


def _difference(f: Callable[..., Any], args: Any, direction: Any, eps: float) -> Any:
    """How the result changes when the arguments change along the direction, by two calls."""

    def moved(step: float) -> Any:
        return f(
            *tree_map(
                lambda x, t: x if _is_fixed(t) else np.asarray(x) + t.dtype.type(step) * t, args, direction
            )
        )

    return tree_map(
        lambda a, b: (np.asarray(a, _wide(a)) - np.asarray(b, _wide(b))) / (2 * eps), moved(eps), moved(-eps)
    )


def _is_fixed(tangent: Any) -> bool:
    return bool(tangent.dtype == core.dtypes.float0)


def _wide(x: Any) -> Any:
    return np.complex128 if np.issubdtype(x.dtype, np.complexfloating) else np.float64


def _inner(xs: Any, ys: Any) -> Any:
    pairs = zip(tree_leaves(xs), tree_leaves(ys), strict=True)
    return np.asarray(
        sum(np.sum(np.asarray(x) * np.asarray(y)) for x, y in pairs if not _is_fixed(np.asarray(y)))
    ).real


def _assert_close(found: Any, wanted: Any, atol: float | None, rtol: float | None, what: str) -> None:
    if _is_fixed(found):
        return
    usual = _TOLERANCES.get(found.dtype.name, 1e-1)
    absolute = (usual if atol is None else atol) * max(1, found.size)
    relative = (usual if rtol is None else rtol) * max(1, found.size)
    np.testing.assert_allclose(
        found, wanted, relative, absolute, err_msg=f"{what} differ from finite differences"
    )
