"""Defines the primitive `check`, which stands for an error that a program may find

    check[debug=False] a b c

Its operands are the leaves of an Error. Without a trace it raises that error. `checkify` adds the error to the one that
it carries through the function. A `check` that is left when a program is compiled is refused, since a program cannot
raise; with `debug=True` it is dropped.

JAX: jax/_src/checkify.py:check_p
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...base import source_info, traceback_util
from ...base.source_info import UNKNOWN
from ...core import Primitive, Tracer, get_aval, is_array_value
from ...interpreters.ad_rules import primitive_jvps
from ...interpreters.batching import AxisData, Dims, Vals, bdim_at_front, register_batcher
from ...interpreters.mlir import LoweringContext, register_lowering
from ...jaxpr import JaxprEqn, pp_eqn_rules
from ...jaxpr import printer as jaxpr_printer
from ...runtime.array import Array
from ...tree_util import PyTreeDef, tree_flatten, tree_leaves, tree_map, tree_unflatten
from .errors import Error, FailedCheckError, JaxRuntimeError, found_if, here, init_error, raising

check_p = Primitive("check", multiple_results=True)
check_p.effects = lambda params: set(_error_of(params["err_tree"]).effects)
check_p.def_abstract_eval(lambda *avals, err_tree, debug: [])


def _error_of(err_tree: PyTreeDef) -> Error:
    error: Error = tree_unflatten(err_tree, [False] * err_tree.num_leaves)
    return error


@check_p.def_impl
def _(*args: Any, err_tree: PyTreeDef, debug: bool) -> list[Any]:
    found = None if debug else tree_unflatten(err_tree, args).get_exception()
    if found is None:
        return []
    if found.traceback_info is not UNKNOWN:
        found.add_note(f"The check is at {source_info.summarize(found.traceback_info)}.")
    raise JaxRuntimeError(str(found)) from found


@register_lowering(check_p)
def _(ctx: LoweringContext, *args: str, err_tree: PyTreeDef, debug: bool) -> list[str]:
    if debug:
        return []
    raise ValueError(
        "Cannot abstractly evaluate a checkify.check which was not functionalized. This probably means you tried to stage "
        "(jit/scan/pmap/...) a `check` without functionalizing it through `checkify.checkify`."
    )


@register_batcher(check_p)
def _(axis: AxisData, vals: Vals, dims: Dims, *, err_tree: PyTreeDef, debug: bool) -> Any:
    """Batching rule: record a check of the whole batch of errors."""
    vals = [bdim_at_front(x, dim, axis.size) for x, dim in zip(vals, dims, strict=True)]
    _record(tree_unflatten(err_tree, vals), debug)
    return [], []


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[list[Any], list[Any]]:
    """JVP rule: check the primals."""
    check_p.bind(*primals, **params)
    return [], []


primitive_jvps[check_p] = _jvp


def _pp(eqn: JaxprEqn, context: Any, settings: Any) -> Any:
    return jaxpr_printer.pp_eqn_plain(eqn, context, settings, {"debug": eqn.params["debug"]})


pp_eqn_rules[check_p] = _pp


def _record(error: Error, debug: bool = False) -> None:
    """Bind `check` to an error; for a batch of errors, to one of them."""
    if any(map(np.shape, error._pred.values())):
        error = _one_of(error)
    leaves, tree = tree_flatten(error)
    check_p.bind(*leaves, err_tree=tree, debug=debug)


def _one_of(batch: Error) -> Error:
    """Return one error for a batch of errors along the first axis: of each kind, one that was found, if any."""
    error = init_error.with_metadata(batch._metadata)
    for effect, preds in batch._pred.items():
        last = jnp.argsort(preds)[-1]
        pred, code, payload = tree_map(lambda x, i=last: x[i], (preds, batch._code[effect], batch._payload[effect]))
        error = error.with_effect(effect, pred, code, payload)
    return error


raising.throw = _record


# --- what users call --------------------------------------------------------------------------------------------------


@traceback_util.api_boundary
def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Raise JaxRuntimeError with a formatted message if `pred` is false. In a traced function, record a check, which
    `checkify` makes part of an Error; without `checkify`, the function cannot be compiled.

        checkify.check(x > 0, "{x} must be positive", x=x)

    Args:
      pred: a Python bool, or an Array or a tracer of bool without axes; not numpy's bool.
      msg: a message, in which `{}` and `{name}` stand for the other arguments.
      fmt_args, fmt_kwargs: trees of Arrays, tracers or numpy arrays; no numpy scalars, no Python numbers.
      debug: whether to drop the check without `checkify`.

    Raises:
      JaxRuntimeError: without `debug`, if a value that is known is false.
      TypeError: if `pred` is not a scalar bool, or a value of the message is not an array.
      ValueError: without `debug`, when a traced function is compiled that was not given to `checkify`.
    """
    _check(pred, msg, debug, fmt_args, fmt_kwargs)


@traceback_util.api_boundary
def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """Check as `check` does, but only in a function given to `checkify`; elsewhere do nothing. Raise TypeError if
    `pred` is not a scalar bool, or a value of the message is not an array.
    """
    _check(pred, msg, True, fmt_args, fmt_kwargs)


def _check(pred: Any, msg: str, debug: bool, fmt_args: tuple[Any, ...], fmt_kwargs: dict[str, Any]) -> None:
    if not _is_scalar_bool(pred):
        name = "debug_check" if debug else "check"
        raise TypeError(
            f"{name} takes a scalar pred as argument, got {pred}\nCompare, and reduce an array with `.all()` or `.any()`."
        )
    for x in tree_leaves((fmt_args, fmt_kwargs)):
        if not isinstance(x, (Array, Tracer, np.ndarray)) or not is_array_value(x):
            raise TypeError(
                f"Formatting arguments to checkify.check need to be PyTrees of arrays, but got {x!r} of type {type(x)}.\n"
                "What is known while tracing can be written into the message: f'...'."
            )
    exception = FailedCheckError(here(), msg, *fmt_args, **fmt_kwargs)
    _record(found_if(init_error, jnp.logical_not(pred), exception), debug)


def _is_scalar_bool(pred: Any) -> bool:
    if not isinstance(pred, (Array, Tracer)):
        return isinstance(pred, bool)
    aval = get_aval(pred)
    return bool(aval.shape == () and aval.dtype == np.bool_)


@traceback_util.api_boundary
def check_error(error: Error) -> None:
    """Raise the error of a checked function's result, if there is one. In a traced function, record a check of it: so
    an error that left one `checkify` can enter the next. Of a batch of errors, one is raised.

    Raises:
      JaxRuntimeError: if there is an error.
      TypeError: if `error` is not an Error.
      ValueError: when a traced function is compiled that was not given to `checkify`.
    """
    if not isinstance(error, Error):
        raise TypeError(f"check_error takes an Error as argument, got type {type(error)} instead.")
    _record(error)
