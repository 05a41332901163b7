"""primitive + values -> values, now

Eager execution: `Primitive.bind` without a trace. The primitive becomes a program of one equation, compiled once for
each combination of parameters and operand types, and run. `jit` uses the same pipeline, so "eager against jit" compares
one system with itself.

JAX: jax/_src/dispatch.py:apply_primitive
"""

from __future__ import annotations

import threading
from typing import Any

from .. import core
from ..base import config, late_rooms
from ..compiler.compiler import explain_failure
from ..compiler.placement import placed_as_asked, placement_of
from ..compiler.program import Program, compile_program
from ..core import Primitive, Tracer
from ..core.effects import no_effects
from ..jaxpr import DebugInfo, Jaxpr, JaxprEqn, Var, eval_jaxpr
from ..runtime import argument_keys
from ..runtime.array import Array
from ..tree_util import tree_structure
from . import compilation_cache
from .compilation_cache import Entry
from .jit_call import jit_p, shardings_inside

_LEAF = tree_structure(0)
DE_OPTIMIZED = "Invalid nan value encountered in the output of a jax.jit function. Calling the de-optimized version."
_LIMIT = 8192  # at most this many compiled operations are kept


class _Programs:
    """Maps a primitive, its parameters and the types of its operands to a compiled operation."""

    def __init__(self) -> None:
        self.entries: dict[tuple[Any, ...], Entry] = {}
        self.lock = threading.RLock()  # reentrant: compiling may run a user's destructor, which may run an operation

    def clear(self) -> None:
        """Forget all compiled operations."""
        self.entries.clear()


_programs = _Programs()
compilation_cache.register_clearable(_programs)


def apply_primitive(primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Run a primitive on concrete values: Arrays, numpy arrays, scalars, `jax.Array`s. Return an Array, or a list of them."""
    trace = core.innermost_trace(args)
    if trace is not None:  # in `ensure_compile_time_eval`, an operand may be a tracer: then record the operation
        with core.set_current_trace(trace):
            return trace.process_primitive(primitive, args, params)
    if primitive.impl is not None:
        return primitive.impl(*args, **params)
    keys = tuple([x._key if type(x) is Array else _key_of(x) for x in args])
    key = (
        (config.local.state.run_options, primitive, keys, *params.items())
        if params
        else (config.local.state.run_options, primitive, keys)
    )
    entry = _programs.entries.get(key)
    is_new = entry is None
    if entry is None:
        with _programs.lock:
            entry = _programs.entries.get(key)
            if entry is None:
                entry = _compile(primitive, keys, params)
                if len(_programs.entries) >= _LIMIT:
                    _programs.entries.clear()
                _programs.entries[key] = entry
    try:
        return entry.run(args)
    except FloatingPointError:
        if primitive is jit_p:
            print(DE_OPTIMIZED)
            eval_jaxpr(params["jaxpr"], params["jaxpr"].consts, *args)  # its error names the operation
        raise
    except (RuntimeError, ValueError) as error:
        if is_new:  # forget a program whose first run failed, so that the next call raises the same error
            _programs.entries.pop(key, None)
        in_cpp = not is_new and entry.executable.is_pure
        raise explain_failure(error, args, entry.executable.consts, in_cpp=in_cpp) from None


def _key_of(x: Any) -> Any:
    if isinstance(x, Tracer):
        raise core.escaped_tracer_error(x)
    return argument_keys.key_of(x)


def _compile(primitive: Primitive, keys: tuple[Any, ...], params: dict[str, Any]) -> Entry:
    """Return the entry of the program of one equation, compiled."""
    invars = [Var(key if isinstance(key, core.ShapedArray) else key.aval) for key in keys]
    out = primitive.abstract_eval(*[v.aval for v in invars], **params)
    outvars = [Var(aval) for aval in (out if primitive.multiple_results else [out])]
    effects = no_effects if primitive.effects is None else primitive.effects(params)
    eqn = JaxprEqn(list(invars), outvars, primitive, params, effects)
    jaxpr = Jaxpr([], invars, outvars, [eqn], effects, DebugInfo("eager", primitive.name))
    out_tree = tree_structure([0] * len(outvars)) if primitive.multiple_results else _LEAF
    in_tree = tree_structure(((0,) * len(invars), {}))
    # only the equation of a nested call has donated operands, in a derivative or a `vmap` outside of `jit`
    donated = params.get("donated_invars", ())
    program = Program(primitive.name, jaxpr, in_tree, out_tree, donated)
    where = keys
    if asked := params.get("in_shardings"):  # only the equation of a nested call has them
        where = tuple(placed_as_asked(*each) for each in zip(keys, jaxpr.in_avals, asked, strict=True))
    placement = placement_of(where, primitive.name, (), params.get("out_shardings", ()), shardings_inside(jaxpr))
    executable = compile_program(program, placement)
    entry = Entry(executable, out_tree, keys)
    if config.local.state.options.debug_key_reuse:
        key_reuse = late_rooms.import_room("jitkit.interpreters.key_reuse")
        entry.run = key_reuse.checked(entry.run, jaxpr, primitive.name)
    return entry


core.eager.apply = apply_primitive
