"""Looks into a compiled program while it runs, with `print` and `callback`; and at the shardings of arrays

In a traced function Python's `print` runs once, while tracing, and shows tracers. The two functions here record an
equation without results but with an effect, so that nothing drops it. When the program gets there, it calls Python with
the values. Neither changes what the program computes.

    x:f32[] = ...
    debug_print[fmt=x is {} ordered=False ...] x

Two such equations may run in any order, unless both have `ordered=True`. Without a trace, both functions act immediately.

JAX: jax/_src/debugging.py:debug_callback
"""

from __future__ import annotations

import functools
import string
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import core
from .base import edits, errors, late_rooms, missing_names, traceback_util
from .core import Primitive, Tracer
from .core.effects import Effect, Effects, debug_effect, ordered_debug_effect
from .interpreters.ad_rules import primitive_jvps, primitive_transposes
from .interpreters.batching import AxisData, Dims, Vals, register_batcher
from .interpreters.mlir import LoweringContext, register_lowering
from .lax import index_in_dim
from .lax.callback import call_python, on_cpu, reported
from .runtime.array import as_array
from .runtime.devices import devices, single_device_sharding
from .tree_util import PyTreeDef, tree_flatten, tree_map, tree_unflatten

# Leaves that are not arrays, such as strings, and so are known while tracing; by position.
_Statics = Mapping[int, Any]


def _effect(ordered: bool) -> Effect:
    return ordered_debug_effect if ordered else debug_effect


class _DebugPrimitive(Primitive):
    """A primitive without results that calls `function_of(**params)` on its operands. Without a trace it calls the
    function at once, without a compiled program.
    """

    __slots__ = ("function_of",)

    def __init__(self, name: str, function_of: Callable[..., Callable[..., Any]]) -> None:
        super().__init__(name, multiple_results=True, pure_shape_rule=False)
        self.function_of = function_of
        self.def_abstract_eval(lambda *avals, **params: [])
        # Under a derivative, the function is called with the primals.
        primitive_jvps[self] = lambda primals, tangents, **params: (self.bind(*primals, **params), [])
        primitive_transposes[self] = lambda cts, *operands, **params: [None] * len(operands)

    def bind(self, *args: Any, **params: Any) -> Any:
        if core.current_trace() is not None or core.innermost_trace(args) is not None:
            return super().bind(*args, **params)
        for x in args:
            if isinstance(x, Tracer):
                raise core.escaped_tracer_error(x)
        reported(self.name.replace("_", "."), self.function_of(**params), *map(on_cpu, args))
        return []


# --- callback -----------------------------------------------------------------------------------------------

debug_callback_p = _DebugPrimitive("debug_callback", lambda *, callback, **params: callback)
debug_callback_p.effects = lambda params: {params["effect"]}


@register_lowering(debug_callback_p)
def _(ctx: LoweringContext, *args: str, callback: Callable[..., Any], effect: Effect, partitioned: bool) -> list[str]:
    return _lower(ctx, args, "debug.callback", callback, effect, partitioned)


def _lower(
    ctx: LoweringContext,
    args: Sequence[str],
    what: str,
    function: Callable[..., Any],
    effect: Effect,
    partitioned: bool,
) -> list[str]:
    def call(*values: Any) -> tuple[Any, ...]:
        reported(what, function, *values)
        return ()

    return call_python(ctx, call, args, effect=effect, partitioned=partitioned)


@traceback_util.api_boundary
def debug_callback(
    callback: Callable[..., Any] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Callable[..., None] | None:
    """Call a Python function with the values that a program has at this point.

    Also in two steps: `callback(ordered=True)(function, *args, **kwargs)`.

    Args:
      callback: a function, whose result is ignored.
      args, kwargs: trees of arrays, which it gets as Arrays; other leaves, such as strings, are passed as they are.
      ordered: in the order of the program, among all ordered calls.
      partitioned: in a program for several devices, call it on each device with that device's part, instead of once.

    Raises:
      TypeError: `callback` is not a function.
    """

    def _debug_callback(callback: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        if not callable(callback):
            raise TypeError(
                f"first argument to jax.debug.callback must be callable, but got an object of type {type(callback)}"
            )
        in_tree, dynamic, statics = _split(args, kwargs)

        def _flat_callback(*leaves: Any) -> None:
            args, kwargs = _merge(in_tree, leaves, statics)
            callback(*args, **kwargs)

        effect = _effect(ordered)
        debug_callback_p.bind(*dynamic, callback=_flat_callback, effect=effect, partitioned=partitioned)

    if callback is None:
        _refuse_arguments("debug_callback", args, kwargs)
        return _debug_callback
    _debug_callback(callback, *args, **kwargs)
    return None


def _split(args: Any, kwargs: Any) -> tuple[PyTreeDef, list[Any], dict[int, Any]]:
    """Return the tree of the arguments, the leaves that are arrays, and the others by position."""
    leaves, in_tree = tree_flatten((args, kwargs))
    dynamic, statics = [], {}
    for i, x in enumerate(leaves):
        try:
            core.get_aval(x)
            dynamic.append(x)
        except TypeError:
            if errors.about_value_of_jax(x):  # a value that cannot be shown
                raise
            statics[i] = x
    return in_tree, dynamic, statics


def _merge(in_tree: PyTreeDef, dynamic: Sequence[Any], statics: _Statics) -> Any:
    """Return the arguments, with values for the leaves that are arrays."""
    values = iter(dynamic)
    return tree_unflatten(in_tree, [statics[i] if i in statics else next(values) for i in range(in_tree.num_leaves)])


def _refuse_arguments(name: str, args: Any, kwargs: Any) -> None:
    if args or kwargs:
        raise TypeError(f"{name} received unexpected arguments in the two-call form: {args=} {kwargs=}")


# --- print --------------------------------------------------------------------------------------------------


def _printer(
    *,
    fmt: str,
    in_tree: PyTreeDef,
    static_args: tuple[tuple[int, Any], ...],
    np_printoptions: tuple[tuple[str, Any], ...],
    has_placeholders: bool,
    **params: Any,
) -> Callable[..., None]:
    """Return the function that prints the values of the leaves."""

    def write(*leaves: Any) -> None:
        args, kwargs = _merge(in_tree, leaves, dict(static_args))
        if has_placeholders:
            with np.printoptions(**dict(np_printoptions)):
                text = _naming(fmt, fmt.format, *args, **kwargs)
        else:
            text = " ".join((fmt, *map(str, args)))
        sys.stdout.write(text + "\n")

    return write


def _naming(fmt: str, fill_in: Callable[..., str], *args: Any, **kwargs: Any) -> str:
    """Return `fill_in(*args, **kwargs)`. To its error add a note that names the format, and remove the frames of
    Python's formatter; frames of a user's `__format__` stay.
    """
    try:
        return fill_in(*args, **kwargs)
    except Exception as error:
        error.add_note(f"in jax.debug.print({fmt!r})")
        theirs = error.__traceback__
        while theirs is not None and theirs.tb_frame.f_code.co_filename in (__file__, string.__file__):
            theirs = theirs.tb_next
        error.__traceback__ = theirs
        raise


def _print_effects(params: dict[str, Any]) -> Effects:
    return {_effect(params["ordered"])}


debug_print_p = _DebugPrimitive("debug_print", _printer)
debug_print_p.effects = _print_effects


@register_lowering(debug_print_p)
def _(ctx: LoweringContext, *args: str, ordered: bool, partitioned: bool, **params: Any) -> list[str]:
    return _lower(ctx, args, "debug.print", _printer(**params), _effect(ordered), partitioned)


def _call_for_each(primitive: Primitive, axis: AxisData, vals: Vals, dims: Dims, **params: Any) -> Any:
    """Batching rule: make a call for each element, in order."""
    for i in range(axis.size):
        operands = [
            x if dim is None else index_in_dim(x, i, dim, keepdims=False) for x, dim in zip(vals, dims, strict=True)
        ]
        primitive.bind(*operands, **params)
    return [], []


for _primitive in (debug_callback_p, debug_print_p):
    register_batcher(_primitive)(functools.partial(_call_for_each, _primitive))


@traceback_util.api_boundary
def debug_print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Callable[..., None] | None:
    """Print values when the program gets there: `fmt.format(*args, **kwargs)` and a newline.

    The format is filled in at run time; an f-string would be filled in while tracing. Also in two steps:
    `print(ordered=True)(fmt, *args, **kwargs)`.

    Args:
      fmt: a format as `str.format` takes it: "{}", "{x:.2f}". If it has no placeholder, arguments follow it, but only with
        `skip_format_check`.
      args, kwargs: trees of arrays, or of other values that can be formatted.
      ordered: in the order of the program, among all ordered effects.
      partitioned: in a program for several devices, print on each device that device's part, instead of once.
      skip_format_check: do not compare the format with the arguments now.

    Raises:
      IndexError, KeyError: a placeholder has no argument.
      ValueError: an argument has no placeholder, or `fmt` is not a format.
      TypeError: without `fmt`, there are other arguments than the options.
    """

    def _debug_print(fmt: str, *args: Any, **kwargs: Any) -> None:
        if not skip_format_check:
            _naming(fmt, _checker.format, fmt, *args, **kwargs)
        in_tree, dynamic, statics = _split(args, kwargs)
        debug_print_p.bind(
            *dynamic,
            fmt=fmt,
            ordered=ordered,
            partitioned=partitioned,
            in_tree=in_tree,
            static_args=tuple(statics.items()),
            np_printoptions=tuple(np.get_printoptions().items()),
            has_placeholders=bool(fmt) and next(iter(string.Formatter().parse(fmt)))[1] is not None,
            logging_record=None,
        )

    if fmt is None:
        _refuse_arguments("debug_print", args, kwargs)
        return _debug_print
    _debug_print(fmt, *args, **kwargs)
    return None


class _Checker(string.Formatter):
    """Formats nothing: checks that a format and its arguments fit."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def check_unused_args(self, used_args: set[int | str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        unused = [x for i, x in enumerate(args) if i not in used_args]
        if unused:
            raise ValueError(f"Unused positional arguments to `jax.debug.print`: {unused}{edits.NOT_AN_F_STRING}")
        names = [name for name in kwargs if name not in used_args]
        if names:
            raise ValueError(
                f"Unused keyword arguments to `jax.debug.print`: {names}. You may be passing an f-string (i.e, "
                '`f"{x}"`) into `jax.debug.print` and instead should pass in a regular string.'
            )


_checker = _Checker()

# --- inspect_sharding: calls Python with the sharding of an array, when that is known ----------------------------------

inspect_sharding_p = Primitive("inspect_sharding", multiple_results=True, pure_shape_rule=False)
inspect_sharding_p.def_abstract_eval(lambda aval, *, callback: [])
inspect_sharding_p.effects = lambda params: {debug_effect}
primitive_jvps[inspect_sharding_p] = lambda primals, tangents, **params: (
    inspect_sharding_p.bind(*primals, **params),
    [],
)


@inspect_sharding_p.def_impl
def _(x: Any, *, callback: Callable[[Any], None]) -> list[Any]:
    callback(as_array(x).sharding)
    return []


@register_batcher(inspect_sharding_p)
def _(axis: AxisData, vals: Vals, dims: Dims, *, callback: Callable[[Any], None]) -> Any:
    return inspect_sharding_p.bind(*vals, callback=callback), []


@register_lowering(inspect_sharding_p)
def _(ctx: LoweringContext, x: str, *, callback: Callable[[Any], None]) -> list[str]:
    if ctx.module.partitions > 1:
        raise NotImplementedError(
            f"The program is for {ctx.module.partitions} devices: jitkit does not know the shardings that XLA chooses within it. Return "
            "the array, and look at its `sharding`."
        )
    callback(single_device_sharding(devices(ctx.module.platform)[0]))
    return []


def inspect_array_sharding(value: Any, *, callback: Callable[[Any], None]) -> None:
    """Call `callback` with the sharding of each array in a tree: now, or in a traced function when it is lowered for
    one device. Lowering for several devices raises NotImplementedError.
    """
    tree_map(lambda x: inspect_sharding_p.bind(x, callback=callback), value)


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Draw how an array of one or two axes is divided among devices. For the keywords see `visualize_sharding`."""

    def _visualize(sharding: Any) -> None:
        late_rooms.import_room("jitkit.runtime.drawn_shardings").visualize_sharding(arr.shape, sharding, **kwargs)

    inspect_array_sharding(arr, callback=_visualize)


callback = debug_callback
print = debug_print

late_rooms.hand_on(__name__, visualize_sharding="jitkit.runtime.drawn_shardings:visualize_sharding")
missing_names.explain("debug", sys.modules[__name__])
