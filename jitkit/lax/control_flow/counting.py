"""Finds the number of steps of a scan, and of one trip of its loop, from `xs`, `length` and `unroll`.

JAX: jax/_src/lax/control_flow/loops.py:scan
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from typing import Any

from ... import core
from ...base import edits
from ...base.errors import ConcretizationTypeError


def scan_length(xs: Sequence[Any], length: Any) -> int:
    """Return the number of steps of a scan over the leading axes of `xs`, as an int. The arrays give it, or `length`, or both:

        xs                      length
        f32[3], i32[3, 2]       None        3
        f32[3]                  3           3
        nothing                 5           5
        f32[0]                  None        0
        nothing                 None        ValueError: unknown
        f32[3]                  0           ValueError: 0 is a length, and differs
        f32[3], f32[4]          None        ValueError: they do not agree
        f32[3], f32[4]          4           ValueError, about `length`: it differs from a size
        f32[3], 1.0             3           ValueError: no axes, and no `shape` (`no_leading_axis(xs)`)
        f32[3], f32[]           4           IndexError: no axes; it is Python's own, of `shape[0]`
        f32[3]                  a tracer    ConcretizationTypeError (`traced_length(length)`)

    If several things are wrong, raise the error about leaves without an axis first, and the one about a traced length before
    any comparison.

    Args:
      xs: the leaves: arrays, or whatever was passed in their place; there may be none.
      length: None, or a value that converts to an int.
    """
    if not all(hasattr(x, "shape") for x in xs):
        raise no_leading_axis(xs)
    sizes: list[int] = [x.shape[0] for x in xs]
    if length is not None:
        if isinstance(length, core.Tracer):
            raise traced_length(length)
        if any(size != int(length) for size in sizes):
            raise ValueError(
                f"scan got `length` argument of {length} which disagrees with leading axis sizes {sizes}.\n"
                "Leave `length` out: there are as many steps as the leading axis has elements."
            )
        return int(length)
    if not sizes:
        raise ValueError("scan got no values to scan over and `length` not provided.\nSay how many steps: `length=n`.")
    if len(set(sizes)) > 1:
        listed = ", ".join(map(str, sizes))
        raise ValueError(
            f"scan got values with different leading axis sizes: {listed}.\n"
            "Step i gets x[i] of each array. Do not scan over what all steps share: the body can use it directly, or carry it."
        )
    return sizes[0]


def no_leading_axis(xs: Sequence[Any]) -> ValueError:
    """Return the error for leaves without a shape, such as Python numbers."""
    scalars = ", ".join(str(x) for x in xs if not hasattr(x, "shape"))
    return ValueError(f"scan got value with no leading axis to scan over: {scalars}.{edits.SCANNED}")


def traced_length(length: core.Tracer) -> ConcretizationTypeError:
    """Return the error for a number of steps that is not known while tracing."""
    return ConcretizationTypeError(
        length,
        "The `length` argument to `scan` expects a concrete `int` value. For scan-like iteration with a "
        "dynamic length, use `while_loop` or `fori_loop`.",
    )


def steps_at_once(unroll: Any, length: int) -> int:
    """Return `unroll` as a number of steps, where 0 means all. True is all steps, at least 1; False is 1. If `length` is 0, return
    a float as it is, as JAX does. Raise ValueError if `unroll` or `length` is negative, TypeError if `unroll` is neither a bool nor
    an int.
    """
    if length < 0:
        raise ValueError(f"scan got `length` argument of {length}: a number of steps must be 0 or more.")
    message = "The `unroll` argument to `scan` expects a concrete `int` or `bool` value."
    steps: Any = core.concrete_or_error(_as_it_is, unroll, message)
    if isinstance(steps, bool):
        return builtins.max(length, 1) if steps else 1
    if steps < 0:
        raise ValueError("`unroll` must be a `bool` or a non-negative `int`.")
    at_once: int = steps
    if length == 0 and isinstance(steps, float):
        return at_once
    try:
        return operator.index(steps)
    except TypeError:
        raise TypeError(
            f"`unroll` must be a `bool` or a non-negative `int`, got {steps!r} of type {type(steps)}."
        ) from None


def _as_it_is(x: Any) -> Any:
    return x
