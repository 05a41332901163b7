"""The parts of a jaxpr, and primitives: our own classes under the names of `jax.extend.core`

Our Jaxpr includes its constants, so it is a ClosedJaxpr as well.

    primitives    `add_p`, `jit_p` and the others: looked up in the packages that define primitives

JAX: jax/_src/core.py:get_opaque_trace_state
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ...base import missing_names
from ...base.errors import JaxprTypeError as JaxprTypeError
from ...core import Primitive as Primitive
from ...core import Trace, Tracer, dtypes, is_array_value
from ...core import concrete_or_error as concrete_or_error
from ...core import current_trace as _current_trace
from ...core import set_current_trace as set_current_trace
from ...core.avals import AbstractToken as AbstractToken
from ...core.effects import Effect as Effect
from ...core.effects import Effects as Effects
from ...core.effects import no_effects as no_effects
from ...jaxpr import DebugInfo as DebugInfo
from ...jaxpr import Jaxpr as Jaxpr
from ...jaxpr import JaxprEqn as JaxprEqn
from ...jaxpr import Literal as Literal
from ...jaxpr import Var as Var
from ...jaxpr import jaxpr_as_fun as jaxpr_as_fun
from ...jaxpr import jaxprs_in_params as jaxprs_in_params
from ...jaxpr import subjaxprs as subjaxprs
from ...jaxpr.check import check_jaxpr as check_jaxpr
from ...runtime.array import Array
from . import primitives as primitives

ClosedJaxpr = Jaxpr

# Types of array arguments.
array_types = frozenset({Array, np.ndarray, *dtypes.numpy_scalar_types})


class DropVar(Var):
    """A result that nobody reads. Our jaxprs use an ordinary Var for it, or a `DropVar` of `jaxpr.language`: this class
    has no instances.
    """


class OpaqueTraceState(NamedTuple):
    """The result of `get_opaque_trace_state`: two are equal while the same trace is current."""

    trace: Trace | None


def get_opaque_trace_state(convention: str | None = None) -> OpaqueTraceState:
    """Return a value that compares equal as long as the thread is in the same trace. `convention` is not used."""
    return OpaqueTraceState(_current_trace())


def find_top_trace(values: Any) -> Trace | None:
    """Return the thread's current trace, whatever the values; None if there is none."""
    return _current_trace()


def valid_jaxtype(x: Any) -> bool:
    """Return whether a value is accepted as an array: a Tracer, an Array, numpy's, a number."""
    return isinstance(x, Tracer) or is_array_value(x)


@contextlib.contextmanager
def take_current_trace() -> Iterator[Trace | None]:
    """Yield the thread's trace (None if there is none), and run the block outside it."""
    trace = _current_trace()
    with set_current_trace(None):
        yield trace


class TraceTag:
    """Marks the tracers of one transformation: equal only to itself."""


def new_jaxpr_eqn(
    invars: list[Any], outvars: list[Var], primitive: Primitive, params: dict[str, Any], effects: Effects = no_effects
) -> JaxprEqn:
    """Return an equation with these parts, without a source line."""
    return JaxprEqn(list(invars), list(outvars), primitive, params, effects)


def gensym(suffix: str = "") -> Callable[[Any], Var]:
    """Return a function that makes a new variable for each aval. Ours get names when they are printed, so `suffix` is ignored."""
    return Var


def primal_dtype_to_tangent_dtype(dtype: Any) -> Any:
    """Return the dtype of a tangent for a primal of this dtype: the same for floats and complex numbers, `float0` for others."""
    return dtype if dtypes.issubdtype(dtype, np.inexact) else dtypes.float0


def mapped_aval(size: int, axis: int | None, aval: Any) -> Any:
    """Return the aval of one element of an array mapped over an axis of `size` elements; for None, the aval itself."""
    return aval if axis is None else aval.update(shape=(*aval.shape[:axis], *aval.shape[axis + 1 :]))


def unmapped_aval(size: int, axis: int | None, aval: Any) -> Any:
    """Return the aval with an axis of `size` elements added at this place; for None, the aval itself."""
    return aval if axis is None else aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


missing_names.explain("extend.core", sys.modules[__name__])
