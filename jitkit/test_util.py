"""Compares derivatives with finite differences, to test users' rules.

Random directions are drawn for the arguments and for the results. In forward mode the tangent must equal the difference
of two calls a small step apart. In reverse mode the inner product of the arguments' cotangents and direction must equal
that of the results' direction and this difference. Random numbers, step and tolerances are JAX's, so that the same
tests pass.

JAX: jax/_src/public_test_util.py:check_grads
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .base import missing_names, traceback_util
from .core import dtypes
from .derivatives.linear_maps import jvp, linearize, vjp
from .tree_util import tree_leaves, tree_map, tree_structure

EPS = 1e-4
_TOLERANCES = {
    **dict.fromkeys(("float64", "complex128"), 1e-5),
    "float32": 2e-3,
    "complex64": 1e-3,
    "float16": 1e-2,
    "bfloat16": 1e-1,
}
Tolerance = float | Mapping[Any, float] | None  # for all dtypes, or for some; None: the defaults


@traceback_util.api_boundary
def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
) -> None:
    """Compare the derivatives of `f(*args)` with finite differences, along one direction.

    Args:
      order: 1 for first derivatives, 2 for second ones as well, and so on.
      modes: "fwd" and "rev", and "lin" for `linearize`.
      atol, rtol: how far numbers may be apart: a number, or a dict of them by dtype.
      eps: the step.

    Raises:
      AssertionError: they differ.
    """
    numbers = {"atol": atol, "rtol": rtol, "eps": eps or EPS}

    def check(f: Callable[..., Any], args: tuple[Any, ...], order: int, of: str) -> None:
        for mode, (name, compare, derivative, again) in _MODES.items():
            if mode not in modes:
                continue
            what = f"{name} of {of}" if of else name
            compare(f, functools.partial(derivative, f), args, err_msg=what, **numbers)
            if order > 1:
                of_f, of_args = again(f, args)
                check(of_f, of_args, order - 1, what)

    check(f, tuple(args), order, "")


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float = EPS,
    err_msg: str = "",
) -> None:
    """Compare `f_jvp(args, tangents)`, a result and its tangent, with `f`. Raise AssertionError if they differ."""
    tangents = tree_map(functools.partial(_random_like, np.random.RandomState(0)), args)
    out, tangent = f_jvp(args, tangents)
    close = functools.partial(_assert_close, atol=atol, rtol=rtol, what=err_msg)
    close(out, f(*args), part="primal")
    close(tangent, _difference(f, args, tangents, eps), part="tangent")


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float = EPS,
    err_msg: str = "",
) -> None:
    """Compare `f_vjp(*args)`, a result and a function of cotangents, with `f`. Raise AssertionError if they differ."""
    draw = functools.partial(_random_like, np.random.RandomState(0))
    out, pull = f_vjp(*args)
    close = functools.partial(_assert_close, atol=atol, rtol=rtol, what=err_msg)
    close(out, f(*args), part="primal")
    tangents = tree_map(draw, args)
    change = _difference(f, args, tangents, eps)
    weights = tree_map(draw, out)
    found = tree_map(np.conj, pull(tree_map(_conj_like, weights)))
    close(_inner(tangents, found), _inner(change, weights), part="cotangent projection")


def _by_linearize(f: Callable[..., Any], args: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    out, push = linearize(f, *args)
    return out, push(*tangents)


def _pull_result(f: Callable[..., Any], *args: Any) -> Any:
    out, pull = vjp(f, *args)
    return pull(out)


def _twice(derivative: Callable[..., Any], f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return functools.partial(derivative, f), (args, args)


# For each mode: its name, the comparison, the transformation, and the function and arguments of the next order.
_MODES: dict[str, tuple[str, Callable[..., None], Callable[..., Any], Callable[..., Any]]] = {
    "fwd": ("JVP", check_jvp, jvp, functools.partial(_twice, jvp)),
    "rev": ("VJP", check_vjp, vjp, lambda f, args: (functools.partial(_pull_result, f), args)),
    "lin": ("LIN", check_jvp, _by_linearize, functools.partial(_twice, _by_linearize)),
}

# --- numbers ----------------------------------------------------------------------------------------------------------


def _dtype(x: Any) -> Any:
    """Return the dtype of an array; a Python number has Python's width."""
    return getattr(x, "dtype", None) or np.asarray(x).dtype


def _like(x: Any, number: Any) -> Any:
    """Return `number`, converted to a Python scalar if x is one."""
    return number if hasattr(x, "dtype") or isinstance(x, np.ndarray) else np.asarray(number).item()


def _random_like(rng: np.random.RandomState, x: Any) -> Any:
    dtype, shape = _dtype(x), np.shape(x)
    if not dtypes.issubdtype(dtype, np.inexact):
        return np.zeros(shape, dtypes.float0)
    drawn = np.asarray(rng.randn(*shape), dtype)
    if dtypes.issubdtype(dtype, np.complexfloating):
        drawn = drawn + dtype.type(1j) * np.asarray(rng.randn(*shape), dtype)
    return _like(x, drawn)


def _conj_like(x: Any) -> Any:
    return x if _dtype(x) == dtypes.float0 else _like(x, np.asarray(np.conj(x), _dtype(x)))


def _difference(f: Callable[..., Any], args: Any, tangents: Any, eps: float) -> Any:
    """Return the change of the result along the direction, from two calls; 0 if both results are the same infinity."""

    def moved(sign: int) -> Any:
        def move(x: Any, t: Any) -> Any:
            if _dtype(t) == dtypes.float0:
                return x
            step = np.multiply(t, np.array(eps, _dtype(t)), dtype=_dtype(t))
            return _like(x, np.array(np.asarray(x) + sign * step, _dtype(x)))

        return f(*tree_map(move, tuple(args), tuple(tangents)))

    def change(above: Any, below: Any) -> Any:
        dtype = _dtype(above)
        if not dtypes.issubdtype(dtype, np.inexact):
            return np.zeros(np.shape(above), dtypes.float0)
        above, below = np.asarray(above), np.asarray(below)
        with np.errstate(invalid="ignore"):
            apart = np.where(above == below, np.array(0, dtype), np.subtract(above, below, dtype=dtype))
        return np.multiply(apart, np.array(0.5 / eps, dtype), dtype=dtype)

    return tree_map(change, moved(1), moved(-1))


def _inner(xs: Any, ys: Any) -> Any:
    pairs = zip(tree_leaves(xs), tree_leaves(ys), strict=True)
    products = [
        np.real(np.dot(np.conj(x).reshape(-1), np.asarray(y).reshape(-1)))
        for x, y in pairs
        if _dtype(x) != dtypes.float0
    ]
    return functools.reduce(np.add, products) if products else np.float32(0)


def _assert_close(found: Any, wanted: Any, *, atol: Tolerance, rtol: Tolerance, what: str, part: str) -> None:
    for a, b in zip(tree_leaves(found), tree_leaves(wanted), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape, f"{what} {part}: shapes {a.shape} and {b.shape} differ"
        if a.dtype == dtypes.float0:
            continue
        absolute, relative = (max(_tolerance(a.dtype, tol), _tolerance(b.dtype, tol)) * a.size for tol in (atol, rtol))
        a, b = (x.astype(np.float32) if x.dtype.name == "bfloat16" else x for x in (a, b))
        np.testing.assert_allclose(a, b, relative, absolute, err_msg=f"{what} {part}".strip())


def _check_close(xs: Any, ys: Any, atol: Tolerance = None, rtol: Tolerance = None, err_msg: str = "") -> None:
    """Raise AssertionError unless two trees of arrays are nearly equal. (tinygp takes it from a private module of JAX.)"""
    assert tree_structure(xs) == tree_structure(ys), f"the trees {tree_structure(xs)} and {tree_structure(ys)} differ"
    _assert_close(xs, ys, atol=atol, rtol=rtol, what=err_msg, part="")


def _tolerance(dtype: Any, given: Tolerance) -> float:
    if given is not None and not isinstance(given, Mapping):
        return float(given)
    by_name = {np.dtype(key).name: value for key, value in (given or {}).items()}
    name = dtypes.canonicalize_dtype(dtype).name
    return by_name.get(name, _TOLERANCES.get(name, 0.0))


missing_names.explain("test_util", sys.modules[__name__])
