"""call -> TracedCall

`Traceable` flattens the arguments of a call, traces the function once per signature, and records why it had to. The
stages for users (`trace`, `lower`, `eval_shape`) begin here; `jitted` adds the calls.

JAX: jax/_src/pjit.py:JitWrapped
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import core, runtime
from ..base import config, late_rooms, stage_log, traceback_util
from ..base.util import fewer_collections
from ..compiler import shardings as jit_shardings
from ..compiler.placement import Placement, placed_as_asked, placement_of, with_memories
from ..compiler.program import Program
from ..compiler.shardings import ShardingTree
from ..core import Tracer, has_jax_array
from ..interpreters import partial_eval
from ..jaxpr import DebugInfo, Jaxpr
from ..misses.record import CallRecord, aval_of, record_call
from ..signature import api_util, argument_errors
from ..signature.api_util import Arguments, ArgumentSpec
from ..signature.shape_struct import ShapeDtypeStruct, aval_of_argument, key_of_argument
from ..tree_util import PyTreeDef, keystr, note_keys, tree_flatten, tree_flatten_with_path, tree_unflatten
from . import stages
from .compilation_cache import FunctionCache, Table, TracedCall, cache_of
from .jit_call import Inline, shardings_inside


class JitOptions(NamedTuple):
    """The options of `jit`. Different options have different tables."""

    spec: ArgumentSpec
    keep_unused: bool
    inline: Inline
    compiler_options: tuple[tuple[str, Any], ...]
    in_shardings: ShardingTree | None = None
    out_shardings: ShardingTree | None = None
    backend: str | None = None  # "c": compiled as C, by the package `loops`; None: by XLA

    def sharing(self) -> tuple[Any, ...]:
        """Return the options that two `jit`s of one function must have in common for JAX to count their caches as one."""
        donation = self.spec.donate_argnums, self.spec.donate_argnames
        return (*donation, self.compiler_options, self.in_shardings, self.out_shardings, self.backend)


class Traceable:
    """A function with its `jit` options and its caches."""

    def __init__(self, fun: Callable[..., Any], options: JitOptions) -> None:
        self.fun = fun  # the user's function
        self.options = options  # the options of `jit`
        self.name = api_util.name_of(fun)  # the function's printed name
        self.cache: FunctionCache = cache_of(fun)  # everything cached for the function, under all options
        self.cache.misses.note_making(fun)
        self.table: Table = self.cache.table(options)  # the entries of calls under these options
        # whether `jit` was given shardings
        self.is_placed = options.in_shardings is not None or options.out_shardings is not None

    # --- the stages that a user can stop at -----------------------------------------------------------------

    @traceback_util.api_boundary
    def trace(self, *args: Any, **kwargs: Any) -> stages.Traced:
        """Return the function, traced for the signature of these arguments, which may be `ShapeDtypeStruct`s."""
        arguments, tree, avals = self.signature(args, kwargs)
        donated = api_util.donated_leaves(self.options.spec, arguments)
        leaves, _ = tree_flatten((arguments.args, arguments.kwargs))
        traced = self.traced_alone(arguments, tree, avals)
        keys = [key_of_argument(x) for x in leaves]
        placement = None
        if self.is_placed or any(isinstance(key, runtime.Placed) for key in keys) or shardings_inside(traced.jaxpr):
            names = api_util.argument_names(self.fun, arguments)
            placement = self.placement(keys, arguments, traced, avals, names)
        return stages.Traced(self.program(traced, tree, donated), placement, self.table)

    @traceback_util.api_boundary
    def lower(self, *args: Any, **kwargs: Any) -> stages.Lowered:
        """Return the function, traced and lowered for the signature of these arguments."""
        return self.trace(*args, **kwargs).lower()

    @traceback_util.api_boundary
    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Return a `ShapeDtypeStruct` for each leaf of the result, in its tree, without computing the result."""
        return self.trace(*args, **kwargs).out_info

    def placement(
        self, keys: Sequence[Any], arguments: Arguments, traced: TracedCall, avals: Sequence[Any], names: Sequence[str]
    ) -> Placement:
        """Return where a call runs: the keys of the leaves say where these are, and `jit` may have been given shardings.
        `avals` and `names` are those of the leaves; errors use the names.
        """
        asked, results = self.shardings(arguments, traced, avals, names)
        if asked:
            keys = [placed_as_asked(*each) for each in zip(keys, avals, asked, strict=True)]
        function = getattr(self.fun, "__qualname__", self.name)
        placement = placement_of(keys, function, names, results, shardings_inside(traced.jaxpr))
        return with_memories(placement, traced.jaxpr)

    def shardings(
        self, arguments: Arguments, traced: TracedCall, avals: Sequence[Any], names: Sequence[str] | None = None
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return the shardings that `jit` was given, for each leaf of the arguments and of the results; empty tuples if
        there are none.
        """
        names = api_util.argument_names(self.fun, arguments) if names is None else names
        options = self.options
        asked = jit_shardings.of_arguments(options.in_shardings, arguments.args, arguments.kwargs, avals, names)
        return asked, jit_shardings.of_results(options.out_shardings, traced.out_tree, traced.jaxpr.out_avals)

    def cache_size(self) -> int:
        """Return the number of signatures of calls, counted as in JAX: also signatures whose tracing failed, and those
        of every other `jit` of the function with the same donation and compiler options, even if other arguments are
        static there.
        """
        mine = self.options.sharing()
        alike = [(o.spec, table) for o, table in self.cache.tables.items() if o.sharing() == mine]
        return len({(spec, config.of_traces(key[0]), key[1:]) for spec, table in alike for key in table.signatures()})

    # --- what they are made of ------------------------------------------------------------------------------

    def signature(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Arguments, PyTreeDef, list[Any]]:
        """Return a call's arguments, split into static and dynamic ones, the tree of the dynamic ones, and the avals of
        its leaves. For a leaf without an aval, raise the error from `refusal`.
        """
        arguments = api_util.split_call(self.options.spec, args, kwargs)
        leaves, tree = tree_flatten((arguments.args, arguments.kwargs))
        avals = []
        for i, x in enumerate(leaves):
            try:
                avals.append(aval_of_argument(x))
            except (TypeError, OverflowError, ValueError) as error:
                raise self.refusal(arguments, i, x, error) from None
        return arguments, tree.exact, avals

    def refusal(self, arguments: Arguments, i: int, x: Any, error: Exception) -> Exception:
        """Return the error to raise for `x`, the i-th leaf of a call, if taking its aval or its key raised `error`: because it
        is not an array, or an array that cannot be used now.
        """
        if isinstance(x, Tracer) or (isinstance(error, ValueError) and not has_jax_array(x)):
            return error  # it is about a tracer or a masked array, and says enough
        name = api_util.argument_name(self.fun, arguments, i)
        if isinstance(x, ShapeDtypeStruct):
            return TypeError(
                f"Argument '{name}' of shape {aval_of_argument(x).str_short()} of type {type(x)} is "
                "not a valid JAX type.\nIt stands for an array without values, and is an argument for `trace`, "
                "`lower`, `eval_shape` and `make_jaxpr`; to call the function, pass an array."
            )
        return argument_errors.not_an_array(self.fun, name, x, error)

    def traced(
        self, arguments: Arguments, tree: PyTreeDef, avals: Sequence[Any], names: tuple[str, ...]
    ) -> tuple[TracedCall, bool]:
        """Return the function traced for the types of a call, and whether it was traced now.

        Calls with one `trace_key` share a trace, even if they come from different `jit`s of the function: `trace_now`,
        which runs the Python function, is called once for all of them:

            f(x), then f(y) with y like x          (traced, True); then (the same object, False)
            f(x), again after f raised an error    f runs again: a failure is not kept
            f calls itself, with the same key      RecursionError with the name of f, at once
            f calls itself, with another key       is traced like any other call

        One exception: f closes over a tracer of an enclosing function. When that function is traced again, the key is
        the same, but the kept jaxpr holds a tracer whose trace has ended. It is not current any more, so trace f again.

        `cache.traces` maps keys to kept traces; `cache.remember_trace` adds one, and keeps their number within its limit.
        """
        key = self.trace_key(arguments, tree, avals)
        known = self.cache.traces.get(key)
        if known is not None and known.is_current():
            return known, False
        with self.cache.tracing(key, self.name):
            traced = self.trace_now(arguments, tree, avals, names)
        self.cache.remember_trace(key, traced)
        return traced, True

    def trace_now(
        self, arguments: Arguments, tree: PyTreeDef, avals: Sequence[Any], names: tuple[str, ...]
    ) -> TracedCall:
        """Return the traced call: run the function on tracers of these types, and log the time. Raise RuntimeError with
        the option `no_tracing`.
        """
        if config.value("no_tracing"):
            raise RuntimeError(
                f"re-tracing function {api_util.source_of(self.fun)} for `jit`, but 'no_tracing' is set\n"
                "The cache does not know this call. `jitkit.explain_cache_misses()`, or `jitkit.explain(f)` after a call without "
                "`no_tracing`, says why."
            )
        start = time.perf_counter()
        info = DebugInfo("jit", api_util.source_of(self.fun), names)
        traced = trace_call(self.fun, arguments, tree, avals, info)
        if config.local.state.options.debug_key_reuse:
            late_rooms.import_room("jitkit.interpreters.key_reuse").signature(traced.jaxpr)
        stage_log.log_stage("tracing", self.name, time.perf_counter() - start)
        return traced

    def trace_key(self, arguments: Arguments, tree: PyTreeDef, avals: Sequence[Any]) -> tuple[Any, ...]:
        """Return what decides how the function is traced, as a hashable tuple: two calls with one key share a jaxpr.

        It contains everything that may change which equations are recorded, or their types, and nothing else:

            f(1.0), f(2.0)                             one key: numbers are not seen while tracing
            f(x), f(x) with x on another device        one key: the same program may run there
            f(1.0), f(1)                               two keys
            f((x, y)), f([x, y])                       two keys
            power(x, 2), power(x, 3), n being static   two keys
            f(x), and f(x) under another `default_matmul_precision`    two keys: options are read while tracing

        The options of this thread are `config.local.state.options`; the static arguments, as a part of a key, are
        `api_util.static_key(arguments.statics)`.
        """
        return (config.local.state.options, tree, api_util.static_key(arguments.statics), *avals)

    def traced_alone(self, arguments: Arguments, tree: PyTreeDef, avals: Sequence[Any]) -> TracedCall:
        """Return the traced call, and record a miss if it was traced now: for callers that do not compile at once."""
        start = time.perf_counter()
        names = api_util.argument_names(self.fun, arguments)
        traced, was_traced = self.traced(arguments, tree, avals, names)
        if was_traced:
            self.note_miss(start, arguments, tree, avals, names, True, False)
        return traced

    def note_miss(
        self,
        start: float,
        arguments: Arguments,
        tree: PyTreeDef,
        keys: Sequence[Any],
        names: tuple[str, ...],
        was_traced: bool,
        was_compiled: bool,
    ) -> CallRecord:
        """Record a call that missed the cache, and why; return its record. `start` is when the call began, by
        `time.perf_counter`; `keys` has the key of each leaf of the dynamic arguments, or only its aval; `names` has each
        leaf's name. `was_traced` and `was_compiled` say what the call did.
        """
        seconds = time.perf_counter() - start
        record = record_call(self.fun, self.options, config.local.state.run_options, arguments, tree, keys, names)
        known = self.cache.known_records(self.table)
        record = self.cache.misses.add(
            self.fun, record, known, traced=was_traced, compiled=was_compiled, seconds=seconds
        )
        if was_traced:
            avals = avals_of(keys)
            self.cache.remember_record(self.trace_key(arguments, tree, avals), record)
        return record

    def program(self, traced: TracedCall, tree: PyTreeDef, donated: tuple[bool, ...]) -> Program:
        """Return the Program of a traced call, for the later stages. With `backend="c"`, raise NotImplementedError for
        an operation that the package `loops` cannot write in C.
        """
        if self.options.backend is not None:
            late_rooms.import_room("jitkit.loops.source").refuse_unknown(self.name, traced.jaxpr)
        return Program(
            self.name,
            traced.jaxpr,
            tree.plain,
            traced.out_tree,
            donated,
            self.options.keep_unused,
            self.options.compiler_options,
            self.options.backend,
        )


def avals_of(keys: Sequence[Any]) -> list[Any]:
    """Return the avals in the keys of leaves, which may also have a place."""
    return [aval_of(key) for key in keys]


def trace_call(
    fun: Callable[..., Any], arguments: Arguments, tree: PyTreeDef, avals: Sequence[Any], debug_info: DebugInfo
) -> TracedCall:
    """Return `fun`, traced for these arguments: their tree, the leaves' avals, and static values."""
    out_trees: list[PyTreeDef] = []

    def flat_fun(*leaves: Any) -> list[Any]:
        args, kwargs = arguments.merged_with(*tree_unflatten(tree, leaves))
        result = fun(*args, **kwargs)
        outs, out_tree = tree_flatten(result)
        out_trees.append(out_tree)
        if not out_tree.is_plain:
            note_keys(result)
        if any(not core.is_array_type(type(x)) for x in outs):
            info = debug_info._replace(
                result_paths=tuple(f"result{keystr(path)}" for path, _ in tree_flatten_with_path(result)[0])
            )
            outs = list(partial_eval.with_stand_ins(outs))
            partial_eval.check_results(outs, info)
        return outs

    with fewer_collections():
        jaxpr = partial_eval.trace_to_jaxpr(flat_fun, avals, debug_info)
    if any(
        type(x) is np.ndarray and x.dtype != v.aval.dtype for v, x in zip(jaxpr.constvars, jaxpr.consts, strict=True)
    ):
        jaxpr = jaxpr.replace(consts=_in_32_bits(jaxpr))
    return TracedCall(jaxpr, out_trees[0])


def _in_32_bits(jaxpr: Jaxpr) -> tuple[Any, ...]:
    """Return constants in their types in the program: without x64 mode, numpy arrays of 64 bits become 32 bits wide."""
    pairs = zip(jaxpr.constvars, jaxpr.consts, strict=True)
    return tuple(x.astype(v.aval.dtype) if type(x) is np.ndarray else x for v, x in pairs)
