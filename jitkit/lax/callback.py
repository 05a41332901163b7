"""Calls of Python functions from inside of a compiled program.

XLA calls a Python function through one custom call. Its target depends on the platform, and its attribute is an index
into the list of functions that the program was compiled with, which the executable keeps alive. XLA passes numpy
copies; the function gets them as Arrays on the CPU, and must return arrays of the types that the program was told.

Side effects are declared as effects (`effects`). `pure_callback` has none: XLA may call it twice, or not at all if its
result is not used. `io_callback` is called as often as the program says, and if ordered, in its order. The callbacks of
`debug` are called, but nothing depends on them.

The function runs in a thread of XLA's or in the one that called the program, which waits. An exception ends the
program: the caller gets a JaxRuntimeError with the traceback in its text.

JAX: jax/_src/callback.py:emit_python_callback
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from .. import core, runtime
from ..base import traceback_util
from ..core import Primitive, ShapedArray, abstract_token, dtypes
from ..core.effects import Effect, io_effect, ordered_io_effect
from ..interpreters.ad_rules import primitive_jvps, primitive_transposes
from ..interpreters.batching import AxisData, Dims, Vals, moveaxis, register_batcher
from ..interpreters.mlir import FIRST_DEVICE, LoweringContext, register_lowering, type_of
from ..runtime.array import Array
from ..runtime.putting import device_put_leaf
from ..tree_util import PyTreeDef, tree_flatten, tree_leaves, tree_unflatten
from .control_flow import map as lax_map
from .control_flow import scan
from .shaping import broadcast

_TARGETS = {"cpu": "cpu", "gpu": "gpu", "cuda": "gpu", "rocm": "gpu"}


def target_name(platform: str, partitioned: bool) -> str:
    """Return the name of the custom call that calls Python on a platform; raise NotImplementedError if there is none."""
    if platform not in _TARGETS:
        raise NotImplementedError(
            f"`EmitPythonCallback` not supported on {platform} backend.\nA program for {platform} cannot call Python "
            f"functions, so it can hold no `debug.print` and no other callback; programs for {', '.join(_TARGETS)} can."
        )
    return f"xla_ffi{'_partitioned' if partitioned else ''}_python_{_TARGETS[platform]}_callback"


def call_python(
    ctx: LoweringContext,
    function: Callable[..., Sequence[Any]],
    args: Sequence[str],
    *,
    effect: Effect | None,
    partitioned: bool = False,
) -> list[str]:
    """Write a call of `function`, which takes Arrays and returns an array-like for each result of the equation that is
    being lowered. `args` are the names of its arguments in the text. Return the names of the results.

    With an ordered `effect`, the call takes its token and returns the next one. If `partitioned`, each device of a
    program for several devices makes the call, with its part of the arrays.
    """
    target = target_name(ctx.module.platform, partitioned)
    ordered = [effect] if effect is not None and effect.ordered else []
    avals_in = [abstract_token] * len(ordered) + [core.physical_aval(aval) for aval in ctx.avals_in]
    avals_out = [abstract_token] * len(ordered) + [core.physical_aval(aval) for aval in ctx.avals_out]
    attributes = [
        f"api_version = 4 : i32, backend_config = {{index = {len(ctx.module.host_callbacks)} : ui64}}",
        f"has_side_effect = {'false' if effect is None else 'true'}",
        f"operand_layouts = [{', '.join(map(_row_major, avals_in))}]",
        f"result_layouts = [{', '.join(map(_row_major, avals_out))}]",
    ]
    # in a program for several devices, one device makes the call, with the whole arrays
    if not ordered and not partitioned:
        places = ", ".join([f"<@{FIRST_DEVICE}, []>"] * max(1, len(avals_out)))
        attributes.append(f"sdy.sharding = #sdy.sharding_per_value<[{places}]>")
    ctx.module.host_callbacks.append(_with_tokens(function, avals_out, len(ordered)))
    operands = ", ".join([*(ctx.tokens[e] for e in ordered), *args])
    types = f"({', '.join(map(type_of, avals_in))}) -> ({', '.join(map(type_of, avals_out))})"
    text = f"stablehlo.custom_call @{target}({operands}) {{{', '.join(attributes)}}} : {types}"
    if not avals_out:
        ctx.function.write(text, ctx.origin)
        return []
    name = ctx.emit_text(text, len(avals_out))
    outs = [name] if len(avals_out) == 1 else [f"{name}#{i}" for i in range(len(avals_out))]
    return ctx.take_tokens(ordered, outs)


def _row_major(aval: Any) -> str:
    axes = range(len(aval.shape))
    return f"dense<{list(reversed(axes)) if axes else ''}> : tensor<{len(axes)}xindex>"


def _with_tokens(
    function: Callable[..., Sequence[Any]], avals_out: Sequence[Any], tokens: int
) -> Callable[..., tuple[Any, ...]]:
    """Return the function as XLA calls it: with a None for each of `tokens` before the arrays, which it returns before the
    results. `avals_out` are the types of tokens and results (`_checked`).
    """

    def called_by_xla(*args: Any) -> tuple[Any, ...]:  # `runtime.explained` looks for this name in a traceback
        return (*args[:tokens], *_checked(function(*map(on_cpu, args[tokens:])), avals_out[tokens:]))

    return called_by_xla


def on_cpu(x: Any) -> Any:
    """Return a value as an Array committed to the CPU, as callbacks get it."""
    sharding = runtime.single_device_sharding(runtime.devices("cpu")[0])
    if not isinstance(x, np.ndarray):
        return device_put_leaf(x, sharding)
    aval = ShapedArray(x.shape, x.dtype)
    return Array(runtime.put(x, aval, sharding, True), aval, runtime.placed(aval, sharding))


def _checked(results: Sequence[Any], avals: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """Return a function's results as numpy arrays. Raise RuntimeError if their number, a shape or a dtype is not as expected."""
    if len(results) != len(avals):
        raise RuntimeError(
            f"Mismatched number of outputs from callback. Expected: {len(avals)}, Actual: {len(results)}"
        )
    arrays = []
    for i, (x, aval) in enumerate(zip(results, avals, strict=True)):
        value = np.asarray(x)
        value = value.astype(dtypes.canonicalize_dtype(value.dtype), copy=False)
        for what in ("shape", "dtype"):
            expected, actual = getattr(aval, what), getattr(value, what)
            if actual != expected:
                raise RuntimeError(
                    f"Incorrect output {what} for return value #{i}: Expected: {expected}, Actual: {actual}"
                )
        arrays.append(value)
    return arrays


def reported(what: str, function: Callable[..., Any], *args: Any) -> Any:
    """Return `function(*args)`. If it raises, log the error, since XLA may lose it or its traceback; then raise it. `what` names
    the caller in the log, such as "pure_callback".
    """
    try:
        return function(*args)
    except BaseException as error:
        traceback_util.filter_traceback(error)
        importlib.import_module("logging").getLogger(__name__).exception("jax.%s failed", what)
        raise


# --- pure_callback, io_callback -----------------------------------------------------------------------------

pure_callback_p = Primitive("pure_callback", multiple_results=True, pure_shape_rule=False)
io_callback_p = Primitive("io_callback", multiple_results=True, pure_shape_rule=False)
io_callback_p.effects = lambda params: {ordered_io_effect if params["ordered"] else io_effect}


@dataclasses.dataclass(frozen=True, slots=True)
class _FlatCallback:
    """Turns a function of trees into one of leaves. Two are equal if their functions and trees are, so that a compiled
    program is found again.
    """

    callback_func: Callable[..., Any]
    in_tree: PyTreeDef

    def __call__(self, *leaves: Any) -> list[Any]:
        args, kwargs = tree_unflatten(self.in_tree, leaves)
        return tree_leaves(self.callback_func(*args, **kwargs))


def _result_types(*avals: Any, result_avals: tuple[Any, ...], **params: Any) -> list[Any]:
    return list(result_avals)


def _refuse(message: str) -> Callable[..., NoReturn]:
    def rule(*_: Any, **params: Any) -> NoReturn:
        raise ValueError(message)

    return rule


pure_callback_p.def_abstract_eval(_result_types)
io_callback_p.def_abstract_eval(_result_types)
primitive_jvps[io_callback_p] = _refuse("IO callbacks do not support JVP.")
primitive_jvps[pure_callback_p] = _refuse(
    "Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while taking gradients."
)
primitive_transposes[io_callback_p] = _refuse("IO callbacks do not support transpose.")
primitive_transposes[pure_callback_p] = _refuse(
    "Pure callbacks do not support transpose. Please use `jax.custom_vjp` to use callbacks while taking gradients."
)


@register_lowering(pure_callback_p)
def _(ctx: LoweringContext, *args: str, callback: _FlatCallback, **params: Any) -> list[str]:
    return call_python(ctx, lambda *xs: reported("pure_callback", callback, *xs), args, effect=None)


@register_lowering(io_callback_p)
def _(ctx: LoweringContext, *args: str, callback: _FlatCallback, ordered: bool, **params: Any) -> list[str]:
    effect = ordered_io_effect if ordered else io_effect
    return call_python(ctx, lambda *xs: reported("io_callback", callback, *xs), args, effect=effect)


@register_batcher(pure_callback_p)
def _(axis: AxisData, vals: Vals, dims: Dims, *, result_avals: Any, vmap_method: str | None, **params: Any) -> Any:
    """Batching rule, by `vmap_method`: a call for each element, or one call with whole batches, batch axes first. Raise
    NotImplementedError for any other method.
    """
    vals = [x if dim is None else moveaxis(x, dim, 0) for x, dim in zip(vals, dims, strict=True)]
    if vmap_method in ("sequential", "sequential_unrolled"):

        def call_once(elements: list[Any]) -> Any:
            avals = {"result_avals": result_avals, "vmap_method": vmap_method}
            return pure_callback_p.bind(*_with_elements(vals, dims, elements), **avals, **params)

        batches = [x for x, dim in zip(vals, dims, strict=True) if dim is not None]
        unroll = vmap_method == "sequential_unrolled"
        outs = scan(lambda _, elements: ((), call_once(elements)), (), batches, unroll=unroll)[1]
    elif vmap_method in ("expand_dims", "broadcast_all", "legacy_vectorized"):
        if vmap_method != "legacy_vectorized":
            size = axis.size if vmap_method == "broadcast_all" else 1
            vals = [broadcast(x, (size,)) if dim is None else x for x, dim in zip(vals, dims, strict=True)]
        avals = tuple(aval.update(shape=(axis.size, *aval.shape)) for aval in result_avals)
        outs = pure_callback_p.bind(*vals, result_avals=avals, vmap_method=vmap_method, **params)
    else:
        raise NotImplementedError(
            "vmap is only supported for the pure_callback primitive when vmap_method is one of 'sequential', "
            f"'sequential_unrolled', 'expand_dims', 'broadcast_all', or 'legacy_vectorized'. Got vmap_method={vmap_method}."
        )
    return outs, [0] * len(outs)


def _with_elements(vals: Vals, dims: Dims, elements: Sequence[Any]) -> list[Any]:
    """Return a call's operands for one element: `elements` in place of the batches."""
    rest = iter(elements)
    return [x if dim is None else next(rest) for x, dim in zip(vals, dims, strict=True)]


@register_batcher(io_callback_p)
def _(axis: AxisData, vals: Vals, dims: Dims, *, ordered: bool, **params: Any) -> Any:
    """Batching rule: call once for each element, one after the other. Raise ValueError for ordered calls."""
    if ordered:
        raise ValueError("Cannot `vmap` ordered IO callback.")
    batches = [moveaxis(x, dim, 0) for x, dim in zip(vals, dims, strict=True) if dim is not None]
    outs = lax_map(
        lambda elements: io_callback_p.bind(*_with_elements(vals, dims, elements), ordered=False, **params), batches
    )
    return outs, [0] * len(outs)


_VMAP_METHODS = [*("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"), None]


@traceback_util.api_boundary
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Return the results of `callback(*args, **kwargs)`, which is called when the compiled program runs.

    The function must be pure: XLA may call it more than once, or not at all if its result is not needed.

    Args:
      callback: takes trees of Arrays, returns a tree of arrays with the shapes and dtypes of `result_shape_dtypes`.
      result_shape_dtypes: a tree of `ShapeDtypeStruct`s, or of anything with a shape and a dtype.
      args, kwargs: trees of arrays.
      sharding: None, or a sharding of one device, which changes nothing.
      vmap_method: what `vmap` does. "sequential": a call for each element, in a loop; "sequential_unrolled": the same
        without a loop; "expand_dims": one call with batches, and axes of size 1 in front of the other arguments;
        "broadcast_all": one call, with everything as a batch; "legacy_vectorized": one call with batches, and the other
        arguments unchanged; None: an error.

    Returns:
      A tree of Arrays, of the structure of `result_shape_dtypes`.

    Raises:
      ValueError: 64-bit results without x64 mode, or an unknown `vmap_method`; the call is differentiated.
      NotImplementedError: a sharding of several devices.
      JaxRuntimeError: when run: the function raised, or returned other shapes or dtypes.
    """
    if vmap_method not in _VMAP_METHODS:
        raise ValueError(f"vmap_method must be on of the allowed methods {_VMAP_METHODS}, but got: {vmap_method}")
    placed = {"sharding": _of_one_device("pure_callback", sharding)}
    return _bind(pure_callback_p, callback, result_shape_dtypes, args, kwargs, vmap_method=vmap_method, **placed)


@traceback_util.api_boundary
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the results of `callback(*args, **kwargs)`, which is called each time that the program gets there.

    Like `pure_callback`, for functions with side effects. With `ordered`, the calls happen in the order of the program,
    and `vmap` raises ValueError; otherwise `vmap` makes a call for each element. The other arguments, the result and the
    errors are those of `pure_callback`.
    """
    placed = {"sharding": _of_one_device("io_callback", sharding)}
    return _bind(io_callback_p, callback, result_shape_dtypes, args, kwargs, ordered=ordered, **placed)


def _of_one_device(name: str, sharding: Any) -> Any:
    """Return the sharding; raise NotImplementedError if it has several devices."""
    if len(getattr(sharding, "device_set", ())) > 1:
        raise NotImplementedError(f"{name}(sharding={sharding!r}) is not here: a callback runs on one device.")
    return sharding


def _bind(primitive: Primitive, function: Callable[..., Any], types: Any, args: Any, kwargs: Any, **params: Any) -> Any:
    leaves, in_tree = tree_flatten((args, kwargs))
    results, out_tree = tree_flatten(types)
    avals = map(_result_aval, results)
    outs = primitive.bind(*leaves, callback=_FlatCallback(function, in_tree), result_avals=tuple(avals), **params)
    return tree_unflatten(out_tree, outs)


def _result_aval(x: Any) -> ShapedArray:
    if dtypes.canonicalize_dtype(x.dtype) != np.dtype(x.dtype):
        raise ValueError("result_shape_dtypes cannot specify 64-bit types when `jax_enable_x64` is disabled")
    return ShapedArray(x.shape, x.dtype)
