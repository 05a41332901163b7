"""function -> Wrapped

`jit` returns the function `dispatch`, below: a warm call looks up the key of its arguments in a table and runs the
entry. If there is none, the call goes this way:

    Jitted.call                       a new signature, or the first calls of a form (by keyword, with containers or static values)
      api_util.split_call               which arguments are static
      tree_util.tree_flatten            the leaves and the tree of the others
      Jitted.first_call                 one thread makes the entry, others wait
        Traceable.traced                  run the Python function once, on tracers (tracing)
        program.compile_program
          mlir_main.lower_main              write the jaxpr as StableHLO
          compiler.compile_module           let XLA compile it
        compilation_cache.Entry           how to run it: calling.runner
        compilation_cache.Table.insert    remember it under the key

Under a trace, `Jitted.bind` records the call as one equation (`jit_call`). The inner function is traced once per
signature, so two calls share one jaxpr, and later one private function of the StableHLO module.

JAX: jax/_src/pjit.py:make_jit
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from .. import core, runtime
from ..base import config, late_rooms, source_info, traceback_util
from ..base.util import wraps
from ..compiler.compiler import Executable, explain_failure
from ..compiler.placement import Placement
from ..compiler.program import Program, compile_program
from ..core import Tracer
from ..interpreters import partial_eval, replaying
from ..runtime import argument_keys
from ..runtime.array import Array
from ..signature import api_util, argument_errors
from ..signature.api_util import Arguments, CallForm
from ..tree_util import PyTreeDef, flatten_by, tree_flatten
from ..tree_util.guessing import Guesses, is_due
from .calling import Direct, in_dtype
from .compilation_cache import Entry, TracedCall, run_entry
from .function import PjitFunction, Wrapped
from .jit_call import NestedCall
from .lookup import LookUp, flat_tree, write_look_up
from .tracing import JitOptions, Traceable, avals_of

_MOST_FORMS = 256  # at most this many forms of calls are remembered for one function
_local, _key_functions, _new, _ndarray = config.local, argument_keys.key_functions, Array.__new__, np.ndarray


class Jitted(Traceable):
    """A function with one set of `jit` options. It makes the function that `jit` returns, the *dispatcher*
    (`make_dispatcher`), and handles the calls that the dispatcher cannot handle.
    """

    def __init__(self, fun: Callable[..., Any], options: JitOptions, staged: bool = True) -> None:
        super().__init__(fun, options)
        self.staged = staged  # Under a trace, is a call one equation (`jit`), or what its body records (`inlined`)?
        if not staged:  # not for users' functions: this is a reference cycle, and their caches must go with them
            self.replayed, self.replayed_by_name = replaying.Replayed(fun), replaying.Replayed(self.with_arguments)
        self.guesses = Guesses(after=1, keeps_values=True)
        self.forms: dict[tuple[Any, ...], CallForm] = {}  # forms of the calls so far, by arity and keywords
        # (arity, and keywords if any) -> the function that looks up calls of this form; and the tree of the last such call
        self.look_ups: dict[int | tuple[Any, ...], LookUp] = {}
        self.seen: dict[int | tuple[Any, ...], PyTreeDef] = {}

    def make_dispatcher(self) -> Wrapped:
        """Return the function that `jit` returns."""
        fun, table, look_ups = self.fun, self.table, self.look_ups
        under_trace = self.call_under_trace if self.staged else self.run_under_trace

        @wraps(fun)  # each variable of the closure costs 3 ns a call, used or not
        def dispatch(*args: Any, **kwargs: Any) -> Any:
            try:
                try:
                    options = _local.state.key
                    quick_options, quick = table.quick
                    if options is quick_options and not kwargs and len(args) <= 1:
                        found: Direct | None = None
                        buffers: Sequence[Any] = args
                        x: Any = None
                        try:
                            if not args:
                                found = quick.get(())
                            elif type(x := args[0]) is Array:
                                buffers = [x._buf]
                                found = quick.get(x._key)
                            elif type(x) is _ndarray:
                                # look up a numpy array by shape and dtype: making its key would take 0.2 us of a call's 6
                                found = quick.get((x.shape, x.dtype))
                            else:
                                found = quick.get(_key_functions[type(x)](x))
                        except Exception:  # another type, or not an array: `call` raises the error
                            found = None
                        if found is not None:
                            execute, handlers, dtype, aval, out_key = found
                            out = _new(Array)  # faster than `Array(...)`, which calls `__init__`
                            out.aval, out._key, out._view = aval, out_key, None
                            try:
                                if dtype is None:
                                    out._buf = execute(buffers).consume_with_handlers(handlers)[0]
                                else:
                                    out._buf = execute(x if x.dtype is dtype else in_dtype(x, dtype))
                            except (RuntimeError, ValueError) as error:
                                raise explain_failure(error, args, (), self.staged, self.staged) from None
                            return out
                    if options is None:
                        return under_trace(*args, **kwargs)
                    entry: Entry | None = None
                    leaves: Sequence[Any] = args
                    look_up = look_ups.get((len(args), *kwargs) if kwargs else len(args)) if look_ups else None
                    if look_up is not None:
                        try:
                            entry, leaves = look_up(options, args, kwargs)
                        except Exception:  # not found; if the call is wrong, `self.call` raises the error
                            entry = None
                    if entry is None:
                        return self.call(args, kwargs)
                    run = entry.run
                    try:
                        return run(leaves)
                    except (RuntimeError, ValueError) as error:
                        warm = self.staged and bool(entry.is_warm)
                        in_cpp = warm and entry.executable.is_pure
                        raise explain_failure(error, leaves, entry.executable.consts, warm, in_cpp) from None
                except (TypeError, OverflowError, FloatingPointError) as error:
                    better = late_rooms.import_room(".better_errors", __package__).better_error(
                        self, self.staged, error, args, kwargs
                    )
                    if better is error:
                        raise
                    raise better from None
            except BaseException as error:
                traceback_util.filter_traceback(error)
                raise

        wrapped = cast(Any, dispatch)
        wrapped.__wrapped__ = fun
        for name in ("__name__", "__qualname__"):
            if not hasattr(fun, name):  # a partial, or a callable object
                setattr(wrapped, name, self.name)
        wrapped.trace = self.trace
        wrapped.lower = self.lower
        wrapped.eval_shape = self.eval_shape
        wrapped.clear_cache = self.clear_cache
        wrapped._cache_size = self.cache_size
        wrapped._jitted = self
        return cast(Wrapped, PjitFunction(dispatch) if self.staged else dispatch)

    def run_under_trace(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result of an `inlined` function under a trace: record its operations, or one call if the trace `keeps_calls`."""
        trace = _local.state.trace
        if trace is not None and trace.keeps_calls and not config.local.state.options.disable_jit:
            return self.bind(args, kwargs)
        finish = None if trace is None else trace.note(args)
        try:
            out = self.replayed_by_name(args, tuple(kwargs), tuple(kwargs.values())) if kwargs else self.replayed(*args)
        except TypeError:
            if not any(type(x) in core.aval_without_value for x in tree_flatten((args, kwargs))[0]):
                raise  # no argument is a ShapeDtypeStruct, so this is the function's own error
            args, kwargs = partial_eval.with_stand_ins_in((args, kwargs))
            out = self.fun(*args, **kwargs)
        return out if finish is None else finish(out)

    def with_arguments(self, args: Sequence[Any], names: Sequence[str], values: Sequence[Any]) -> Any:
        """Return the function's result for these arguments by position and by name."""
        return self.fun(*args, **dict(zip(names, values, strict=True)))

    # --- calls ----------------------------------------------------------------------------------------------

    def form(self, arity: int, *names: str) -> CallForm:
        """Return which arguments are static, in calls with `arity` arguments by position and `names` by keyword; remember it."""
        form = self.forms.get((arity, *names))
        if form is None:
            if len(self.forms) >= _MOST_FORMS:
                self.forms.clear()
            form = self.forms[arity, *names] = api_util.form_of(self.options.spec, arity, names)
        return form

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call that the dispatcher did not find: find or make the entry of its signature, and run it."""
        arguments = api_util.split_call(self.options.spec, args, kwargs)
        leaves, tree = tree_flatten((arguments.args, arguments.kwargs))
        trace = core.innermost_trace(leaves)
        if trace is not None:  # in `ensure_compile_time_eval`, an argument may still be a tracer
            with core.set_current_trace(trace):
                return self.call_under_trace(*args, **kwargs)
        keys, tree = self.keys_of(arguments, leaves), tree.exact
        key = self.key_of_call(arguments, tree, keys)
        try:
            entry = self.table.entries.get(key)
        except Exception as error:
            values = [static.value for _, static in arguments.statics]
            raise argument_errors.incomparable_static(values, error) from None
        if entry is None:
            entry = self.first_call(key, arguments, leaves, tree, keys)
        elif self.table.crowded:
            self.table.touch(key, entry)
        result = run_entry(entry, leaves)
        if not entry.is_warm:
            return result
        is_flat = len(key) == 1 + len(keys)
        if is_flat and len(keys) <= 1 and not kwargs:
            x = args[0] if args else None
            asked_for = (x.shape, x.dtype) if type(x) is _ndarray else keys[0] if keys else ()
            self.table.make_quick(key[0], asked_for, entry)
        self.learn(arguments.arity, tuple(kwargs), tree, is_flat)
        return result

    def learn(self, arity: int, names: tuple[str, ...], tree: PyTreeDef, is_flat: bool) -> None:
        """Write a function that looks up later calls of the same form, if the last two had the same tree and it pays (`is_due`)."""
        form = (arity, *names) if names else arity
        if self.seen.get(form) is tree and is_due(tree, 0):
            if len(self.look_ups) >= _MOST_FORMS:
                self.look_ups.clear()
            look_up = write_look_up(self.table, self.form(arity, *names), tree, is_flat)
            if look_up is not None:
                self.look_ups[form] = look_up
        elif len(self.seen) >= _MOST_FORMS:
            self.seen.clear()
        self.seen[form] = tree

    def key_of_call(self, arguments: Arguments, tree: PyTreeDef, keys: Sequence[Any]) -> tuple[Any, ...]:
        """Return the key under which the entry of a call is in the table, and under which the dispatcher looks it up:

            (options, key of leaf, key of leaf, ...)                           all leaves, none static
            (options, tree, static values, key of leaf, key of leaf, ...)      everything else

        Most calls have the first form, whose key is made without flattening. `tree` is then `flat_tree(len(keys))`, the
        same object: trees are interned. `options` is `config.local.state.key`, the static values are
        `api_util.static_key(arguments.statics)`, and `keys` are those of the leaves, in order.
        """
        options = config.local.state.key
        if not arguments.statics and tree is flat_tree(len(keys)):
            return (options, *keys)
        return (options, tree, api_util.static_key(arguments.statics), *keys)

    def call_under_trace(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result of a call while a trace is active, or while `jit` is switched off."""
        if config.local.state.options.disable_jit or not self.staged:
            return self.fun(*args, **kwargs)
        return self.bind(args, kwargs)

    def keys_of(self, arguments: Arguments, leaves: Sequence[Any]) -> list[Any]:
        """Return the key of each leaf. Raise TypeError for a leaf that is not an array, with its name."""
        keys = []
        for i, x in enumerate(leaves):
            try:
                keys.append(x._key if type(x) is Array else argument_keys.key_of(x))
            except (TypeError, OverflowError, ValueError) as error:
                raise self.refusal(arguments, i, x, error) from None
        return keys

    def first_call(
        self, key: tuple[Any, ...], arguments: Arguments, leaves: Sequence[Any], tree: PyTreeDef, keys: Sequence[Any]
    ) -> Entry:
        """Return the entry for a new key. One thread makes it, others wait. Raise RecursionError if this thread is making it already."""
        runtime.default_device()  # the first time, this imports jaxlib: before the clock starts
        start = time.perf_counter()
        with self.table.first_call(key, self.name) as is_mine:
            entry = self.table.entries.get(key)
            if entry is not None:
                return entry
            if not is_mine:  # the thread that we waited for failed: try here
                return self.first_call(key, arguments, leaves, tree, keys)
            self.check_statics(arguments)
            entry = self.make_entry(start, key, arguments, tree, keys)
            self.table.slow_if_crowded()
            return entry

    def make_entry(
        self, start: float, key: tuple[Any, ...], arguments: Arguments, tree: PyTreeDef, keys: Sequence[Any]
    ) -> Entry:
        """Make the entry for a new key. Do not trace or compile again what was traced or compiled for another key:

            f(x), where x is a numpy array          trace and compile
            f(device_put(x))                        neither: another key, but the same type
            f(device_put(x, device))                compile: results have to stay on that device
            f(x), after f.trace(x)                  compile

        Insert it in the table only when it is complete: a step that raises leaves no entry behind, and the next call
        tries again.

        Tracing needs the types only, `avals_of(keys)`; the placement and the entry need the keys, which say where each
        leaf is. Call `note_miss` with the start time and whether tracing and compiling happened now; insert the record that
        it returns. With the option `debug_key_reuse`, and only then, replace the entry's `run` by `checked(entry.run, traced.jaxpr,
        "jit-compiled function")`, a function of the module `late_rooms.import_room("jitkit.interpreters.key_reuse")`.

        Args:
          start: when the call began.
          tree, keys: the tree of the dynamic arguments, and the keys of their leaves.
        """
        avals = avals_of(keys)
        names = api_util.argument_names(self.fun, arguments)
        traced, was_traced = self.traced(arguments, tree, avals, names)
        placement = self.placement(keys, arguments, traced, avals, names)
        executable, was_compiled = self.compiled(self.program(traced, tree, self.donated(arguments)), placement)
        record = self.note_miss(start, arguments, tree, keys, names, was_traced, was_compiled)
        entry = Entry(executable, traced.out_tree, keys)
        if config.local.state.options.debug_key_reuse:
            key_reuse = late_rooms.import_room("jitkit.interpreters.key_reuse")
            entry.run = key_reuse.checked(entry.run, traced.jaxpr, "jit-compiled function")
        self.table.insert(key, entry, record)
        return entry

    def compiled(self, program: Program, placement: Placement) -> tuple[Executable, bool]:
        """Return a program compiled for these places, and whether it was compiled now.

        The table's `executables` have the key `(jaxpr, donated, placement)`, which is all that matters to XLA: several entries may share
        an executable. A compilation that fails leaves nothing there.
        """
        slot = (program.jaxpr, program.donated, placement)
        executable = self.table.executables.get(slot)
        if executable is not None:
            return executable, False
        executable = self.table.executables[slot] = compile_program(program, placement)
        return executable, True

    def donated(self, arguments: Arguments) -> tuple[bool, ...]:
        """Return for each leaf whether it is donated (`api_util.donated_leaves`); an empty tuple if none is. With
        `debug_nans` or `debug_infs` none is: the call may have to run again.
        """
        options = config.local.state.run_options
        if options.debug_nans or options.debug_infs:
            return ()
        return api_util.donated_leaves(self.options.spec, arguments)

    def check_statics(self, arguments: Arguments) -> None:
        """Raise ValueError if a static argument of this call is in a cached key and has been changed since."""
        if not arguments.statics:
            return
        for record in list(self.table.records.values()):
            for (where, old), (_, new) in zip(record.statics, arguments.statics, strict=False):
                if old.value is new.value and old.hash != new.hash:
                    raise argument_errors.mutated_static(self.name, where, new.value)

    def clear_cache(self) -> None:
        """Forget the function's traces, and the entries and executables of those of its `jit`s that `cache_size` counts with this one."""
        mine = self.options.sharing()
        self.cache.clear([table for options, table in self.cache.tables.items() if options.sharing() == mine])

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call under a trace: record an equation that applies the traced function to the tracers
        that it closed over and to the arguments.
        """
        call, leaves = self.find_nested(args, kwargs)
        if call is None:
            call, leaves = self.nested_call(args, kwargs), partial_eval.with_stand_ins(leaves)
        return call.bind(leaves)

    def find_nested(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[NestedCall | None, Sequence[Any]]:
        """Return how an earlier call of this signature was recorded (None if no trace of one is current), and this call's leaves."""
        dynamic: tuple[tuple[Any, ...], dict[str, Any]] = (args, kwargs)
        statics: tuple[Any, ...] = ()
        if self.options.spec.has_statics:
            dynamic, statics = self.form(len(args), *kwargs).split(args, kwargs)
        leaves, tree = flatten_by(self.guesses, dynamic)
        try:
            avals = [x.aval if isinstance(x, Tracer) else core.get_aval(x) for x in leaves]
            call = self.table.nested.get((config.local.state.options, tree.exact, statics, *avals))
        except (TypeError, ValueError, OverflowError):  # the general way, below, raises the error
            return None, leaves
        return (call if call is not None and call.is_current() else None), leaves

    def trace_now(
        self, arguments: Arguments, tree: PyTreeDef, avals: Sequence[Any], names: tuple[str, ...]
    ) -> TracedCall:
        """Return the traced call, as `Traceable` does. An inlined function's equations get no source line, since all
        its callers share them.
        """
        with contextlib.nullcontext() if self.staged else source_info.nowhere():
            return super().trace_now(arguments, tree, avals, names)

    def nested_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NestedCall:
        """Return how to record a call with these arguments, and remember it: by `remember_nested`, under the
        `trace_key`.

        A `signature` that any call has traced before is not traced again (`traced_alone`). The equation says which
        leaves are donated:

            jit(f, donate_argnums=1)(x, y)      (False, True)
            jit(f)(x, y)                        (False, False)

        If `jit` was given shardings (`self.is_placed`), pass `self.shardings(arguments, traced, avals)` to
        `NestedCall.place`.
        """
        arguments, tree, avals = self.signature(args, kwargs)
        traced = self.traced_alone(arguments, tree, avals)
        donated = api_util.donated_leaves(self.options.spec, arguments) or (False,) * len(avals)
        call = NestedCall(traced, donated, self.options.inline, self.options.keep_unused, self.name)
        if self.is_placed:
            call.place(*self.shardings(arguments, traced, avals))
        self.table.remember_nested(self.trace_key(arguments, tree, avals), call)
        return call
