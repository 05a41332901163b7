"""error of a call -> a more helpful error, if there is one

The error for a nan names the operation that made it. The error for a wrong argument of a library function names the
argument, with the shapes of one element if `vmap` maps the caller.

JAX: jax/_src/pjit.py:_run_python_pjit
"""

from __future__ import annotations

import inspect
from typing import Any

from ..base import config
from ..core import current_trace
from ..interpreters.batching import BatchTrace
from .dispatch import DE_OPTIMIZED
from .tracing import Traceable

_NOT_FOUND = """

Called once more, operation by operation, the function made none. It may be an argument, or a number in the program
such as `jnp.nan`; or only the compiled program makes it."""


def better_error(
    function: Traceable, staged: bool, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Exception:
    """Return the exception to raise for an error of a call: a better one, or `error` itself. `staged` says whether
    `jit` made the function; if not, it is a library function that is inlined.
    """
    if isinstance(error, FloatingPointError):
        error.__traceback__ = find_nan(function, args, kwargs, error)
    elif not staged:
        try:
            inspect.signature(function.fun).bind(*args, **kwargs)
        except TypeError:
            return error
        try:
            arguments, tree, avals = function.signature(args, kwargs)
            if _is_batched():
                function.traced_alone(arguments, tree, avals)
        except (TypeError, OverflowError) as refusal:
            return refusal
    return error


def _is_batched() -> bool:
    """Return whether a `vmap` is active: shapes in errors of operations then have a batch axis that the mapped function
    does not see.
    """
    trace = current_trace()
    while trace is not None and not isinstance(trace, BatchTrace):
        trace = trace.parent
    return trace is not None


def find_nan(function: Traceable, args: tuple[Any, ...], kwargs: dict[str, Any], error: FloatingPointError) -> Any:
    """Run the function again, operation by operation, to find which of them makes the nan or infinity (with
    `debug_nans` or `debug_infs`). Return the traceback to raise the error with.

    The error then names this operation, and has the traceback of the user's line; or it says that no operation made
    one. As in JAX, print a message first, and another for each jitted function that is called inside.
    """
    options = config.local.state.run_options
    if (options.debug_nans or options.debug_infs) and not options.disable_jit:
        print(DE_OPTIMIZED)
        try:
            function.fun(*args, **kwargs)
        except FloatingPointError as found:
            error.args = found.args
            return found.__traceback__
        error.args = (f"{error}{_NOT_FOUND}",)
    return error.__traceback__
