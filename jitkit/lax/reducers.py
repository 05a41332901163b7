"""Turns a Python function on scalars into the region of an operation.

Some operations take a small program as a parameter: `reduce` combines two elements, `scatter` an element with its
update, `sort` compares two. It is a jaxpr on scalars, in StableHLO a region, which runs inside XLA's loops and sees
only its operands: it cannot use a traced value of the enclosing function.

JAX: jax/_src/lax/lax.py:_reduction_jaxpr
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .. import core
from ..base import config, source_info
from ..interpreters import partial_eval
from ..interpreters.mlir import LoweringContext
from ..jaxpr import DebugInfo, Jaxpr

_T = TypeVar("_T")
_known: weakref.WeakKeyDictionary[Callable[..., Any], dict[Any, Any]] = weakref.WeakKeyDictionary()


def remembered(computation: Callable[..., Any], key: Any, make: Callable[[], _T]) -> _T:
    """Return `make()`, called once for each computation, key and options, and kept as long as the computation lives.
    Nothing is kept for a computation that cannot be hashed or weakly referenced. So equations with the same reducer
    share its jaxpr, which shows when they are printed.
    """
    try:
        known = _known.setdefault(computation, {})
    except TypeError:  # it cannot be hashed or weakly referenced
        known = None
    if known is None:
        return make()
    full_key = key, config.local.state.options
    if full_key not in known:
        known[full_key] = make()
    made: _T = known[full_key]
    return made


def reducer_jaxpr(
    function: Callable[..., Sequence[Any]], avals: Sequence[Any], traced_for: str, computation: Any
) -> Jaxpr:
    """Return the jaxpr of `function`, which returns a list of arrays, for values of these types. Messages name
    `computation`, the user's function. Raise NotImplementedError if the function uses a traced value from outside.
    """
    code = getattr(computation, "__code__", None)
    name = getattr(computation, "__name__", type(computation).__name__)
    where = name if code is None else f"{name} at {source_info.place(code.co_filename, code.co_firstlineno)}"
    jaxpr = partial_eval.trace_to_jaxpr(function, avals, DebugInfo(traced_for, where))
    if any(isinstance(const, core.Tracer) for const in jaxpr.consts):
        raise NotImplementedError(
            "Reduction computations can't close over Tracers. Please open an issue at https://github.com/jax-ml/jax.\n"
            f"{where} uses a traced value of the function around it, which does not exist where the region runs."
        )
    return jaxpr


def scalar_reducer(computation: Callable[..., Any], aval: core.ShapedArray, unary: bool = False) -> Jaxpr:
    """Return the jaxpr of a reducer `computation(x, y)` of two scalars of one type; with `unary`, `computation` takes
    the first only. The jaxpr is remembered.

    Raises:
      ValueError: the reducer returns anything but one array.
      NotImplementedError: it uses a traced value from outside.
    """

    def one_result(x: Any, y: Any) -> list[Any]:
        result = computation(x) if unary else computation(x, y)
        if not core.is_array_type(type(result)):
            raise ValueError(
                f"Invalid return type from reduction function: {type(result)}\n"
                "Reduction functions should only return an array.\n"
                f"Full return value: {result}"
            )
        return [result]

    return remembered(
        computation, (aval, unary), lambda: reducer_jaxpr(one_result, [aval, aval], "reduction_jaxpr", computation)
    )


def inline_function(
    ctx: LoweringContext, function: Callable[..., Sequence[Any]], names: Sequence[str], avals: Sequence[Any]
) -> list[str]:
    """Write the operations that `function` does on the values of these names and types; return the results' names."""
    return ctx.inline(reducer_jaxpr(function, avals, "lowering", function), names)


def integer_array(values: Sequence[Any]) -> str:
    """Return the text of integers as an attribute, `array<i64: 1, 4>`."""
    return f"array<i64: {', '.join(map(str, values))}>" if len(values) else "array<i64>"
