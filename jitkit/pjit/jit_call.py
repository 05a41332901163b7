"""Defines the primitive `jit`: a call of a jitted function inside of a function that is being traced.

    b:f32[3] = jit[name=f jaxpr={ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }] a

The call is one equation, with the function's jaxpr as parameter. Lowering makes it a call of a private function, shared
by all calls of the same jaxpr; outside of a trace it is compiled like every other primitive. `Inline` says whether and
when the function's equations replace it.

JAX: jax/_src/pjit.py:jit_p
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Any

from .. import runtime
from ..base.jax_version import since
from ..core import Primitive, Tracer, current_trace, physical_aval
from ..interpreters import mlir
from ..interpreters.batching import AxisData, Dims, Vals, batch_jaxpr, register_batcher
from ..jaxpr import (
    Jaxpr,
    JaxprEqn,
    convert_constvars_jaxpr,
    dce_jaxpr,
    dce_rules,
    eval_jaxpr,
    jaxprs_in_params,
    pp_eqn_rules,
    printing,
)
from ..tree_util import tree_unflatten
from .compilation_cache import TracedCall, all_alive


class Inline(enum.Enum):
    """When a call inside of a traced function is replaced by the equations of the called function."""

    JAX_EARLY = "jax_early"  # while tracing: there is no equation for the call
    JAX_LATE = "jax_late"  # while lowering: there is no private function for it
    XLA_EARLY = "xla_early"  # jitkit writes the call, and XLA decides
    XLA_LATE = "xla_late"  # the same
    AUTO = "auto"  # the same


def inline_mode(option: bool | Inline) -> Inline:
    """Return the meaning of `jit(inline=option)`. True is early up to JAX 0.10, and late since. Raise ValueError for anything else."""
    if isinstance(option, Inline):
        return option
    if option is True:
        return Inline.JAX_LATE if since(0, 11) else Inline.JAX_EARLY
    if option is False:
        return Inline.AUTO
    raise ValueError(f"Invalid inline option: {option!r}")


class _Call(Primitive):
    """The primitive of calls. With `inline=JAX_EARLY`, `bind` records the function's equations in place of the call, unless the
    trace keeps calls.
    """

    def bind(self, *args: Any, **params: Any) -> Any:
        trace = current_trace()
        if params["inline"] is not Inline.JAX_EARLY or trace is None or trace.keeps_calls:
            return super().bind(*args, **params)
        trace.note(args)
        return eval_jaxpr(params["jaxpr"], params["jaxpr"].consts, *args)


jit_p = _Call("jit", multiple_results=True, pure_shape_rule=False)
jit_p.effects = lambda params: params["jaxpr"].effects


@jit_p.def_abstract_eval
def _(*avals: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
    return jaxpr.out_avals


@mlir.register_lowering(jit_p)
def _(ctx: mlir.LoweringContext, *args: str, jaxpr: Jaxpr, name: str, inline: Inline, **params: Any) -> list[str]:
    ins, outs = take_shardings(params, jaxpr)
    names = _all_constrained(ctx, args, jaxpr.in_avals, ins)
    found = (
        ctx.lower_region(jaxpr, names, f"jit({name})")
        if inline is Inline.JAX_LATE
        else ctx.call_jaxpr(name, jaxpr, names)
    )
    return _all_constrained(ctx, found, jaxpr.out_avals, outs)


def _all_constrained(
    ctx: mlir.LoweringContext, names: Sequence[str], avals: Sequence[Any], shardings: Any
) -> list[str]:
    """Write a sharding constraint for each value that has a sharding; return the values' names."""
    if not NestedCall.some_are_placed:
        return list(names)
    return [constrained(ctx, *each) for each in zip(names, avals, shardings, strict=True)]


def constrained(ctx: mlir.LoweringContext, x: str, aval: Any, sharding: Any) -> str:
    """Write a line that gives a value its sharding; return the result's name. For None, or one device without a mesh,
    write nothing, and return `x`.
    """
    if sharding is None or not runtime.is_over_mesh(sharding):
        return x
    ctx.module.mesh = runtime.mesh_text(sharding)
    aval = physical_aval(aval)
    text = runtime.sharding_text(sharding, aval.ndim).removeprefix("#sdy.sharding")
    return ctx.emit_text(f"sdy.sharding_constraint {x} {text} : {mlir.type_of(aval)}")


@register_batcher(jit_p, even_unmapped=True)
def _(axis: AxisData, vals: Vals, dims: Dims, *, jaxpr: Jaxpr, **params: Any) -> Any:
    on_batches, out_dims = batch_jaxpr(jaxpr, axis, dims)
    ins, outs = take_shardings(params, jaxpr)
    params |= placed(map(_of_batch, ins, dims), map(_of_batch, outs, out_dims))
    return jit_p.bind(*vals, jaxpr=on_batches, **params), out_dims


def _of_batch(sharding: Any, dim: int | None) -> Any:
    """Return the sharding of a batch, with batch axis `dim`, of values with this sharding: every device holds its part of
    every element. Return None, or the sharding itself if `dim` is None, unchanged.
    """
    return sharding if sharding is None or dim is None else runtime.with_whole_axis(sharding, dim)


# --- where its operands and results are to be --------------------------------------------------------------------------


def take_shardings(params: dict[str, Any], jaxpr: Jaxpr) -> tuple[Sequence[Any], Sequence[Any]]:
    """Take the shardings of operands and results out of the parameters of a call; return both, with None for a value without one."""
    ins = params.pop("in_shardings", (None,) * len(jaxpr.invars))
    return ins, params.pop("out_shardings", (None,) * len(jaxpr.outvars))


def placed(ins: Iterable[Any], outs: Iterable[Any]) -> dict[str, Any]:
    """Return the parameters `in_shardings` and `out_shardings` of a call, from the sharding of each operand and each result,
    or None for one without; an empty dict if all are None.
    """
    if not NestedCall.some_are_placed:
        return {}
    both = {"in_shardings": tuple(ins), "out_shardings": tuple(outs)}
    return both if any(x is not None for each in both.values() for x in each) else {}


# primitives that say where a value is -> the function that finds its sharding in their parameters
places: dict[Primitive, Callable[[dict[str, Any]], Any]] = {}


def shardings_inside(jaxpr: Jaxpr) -> list[Any]:
    """Return the shardings that calls and constraints in a program have."""
    # this is the usual case; looking for shardings takes a tenth of the time of tracing
    if not NestedCall.some_are_placed:
        return []
    found = []
    for eqn in jaxpr.eqns:
        if eqn.primitive in places:
            found.append(places[eqn.primitive](eqn.params))
        for which in ("in_shardings", "out_shardings"):
            found += [x for x in eqn.params.get(which, ()) if x is not None] if eqn.primitive is jit_p else []
        for inner in jaxprs_in_params(eqn.params):
            found += shardings_inside(inner)
    return found


class _Unspecified:
    """Stands for "no sharding" in a call's parameters, with the `repr` of JAX's value."""

    def __repr__(self) -> str:
        return "UnspecifiedValue"


def _dce(used_results: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """DCE rule: drop the dead code inside of a nested call, with its unused operands and results; drop a call that has
    neither used results nor effects.
    """
    if not any(used_results) and not eqn.effects:
        return [False] * len(eqn.invars), None
    jaxpr, used_inputs = dce_jaxpr(eqn.params["jaxpr"], used_results)
    kept = [x for x, is_used in zip(eqn.invars, used_inputs, strict=True) if is_used]
    donated = tuple(d for d, is_used in zip(eqn.params["donated_invars"], used_inputs, strict=True) if is_used)
    outs = [x for x, is_used in zip(eqn.outvars, used_results, strict=True) if is_used]
    params = eqn.params | {"jaxpr": jaxpr, "donated_invars": donated}
    of_ins, of_outs = take_shardings(params, eqn.params["jaxpr"])
    params |= placed(compress(of_ins, used_inputs), compress(of_outs, used_results))
    return used_inputs, eqn.replace(invars=kept, outvars=outs, params=params, effects=jaxpr.effects)


dce_rules[jit_p] = _dce


def _pp(eqn: JaxprEqn, context: Any, settings: Any) -> Any:
    """Return the text of an equation, without `inline`, parameters that are False, and shardings and donation that no value has."""
    params = {
        k: v
        for k, v in eqn.params.items()
        if k != "inline" and v is not False and not (k == "donated_invars" and not any(v))
    }
    for which in ("in_shardings", "out_shardings"):
        shown = params.pop(which, ())
        if any(x is not None for x in shown):
            params[which] = tuple(_Unspecified() if x is None else x for x in shown)
    return printing.pp_call(eqn, context, settings, params)


pp_eqn_rules[jit_p] = _pp


# --- a call -----------------------------------------------------------------------------------------------------------


class NestedCall:
    """A traced call of a function, ready to be recorded: each occurrence becomes an equation with this jaxpr.

    Tracers of an enclosing trace that the function closed over become arguments of the equation; the call `is_current`
    as long as that trace lasts.
    """

    __slots__ = ("out_tree", "outer", "params")

    some_are_placed = False  # whether this process has used a sharding in a program; if not, nobody looks for shardings

    def __init__(
        self, traced: TracedCall, donated: tuple[bool, ...], inline: Inline, keep_unused: bool, name: str
    ) -> None:
        """Prepare what every equation of the call has: `params`, the dict of its parameters, and `outer`, the operands
        before the arguments. In this example the only argument is donated, x is a tracer of the enclosing function, and
        `a` is an array:

            closed over    the parameter `jaxpr`           `outer`    the parameter `donated_invars`
            nothing        the traced one, unchanged       ()         (True,)
            a              unchanged: a is a constant      ()         (True,)
            x              its first input is x            (x,)       (False, True)
            x and a        its first inputs are x and a    (x, a)     (False, False, True)

        A tracer is not a value, so it must not stay among a jaxpr's constants: `convert_constvars_jaxpr` turns them all
        into inputs. The parameters are in the order of their names: `donated_invars`, `inline`, `jaxpr`, `keep_unused`,
        `name`. Keep `out_tree`, the structure of the result, too. The class has `__slots__` for these three, and so no
        other attributes.
        """
        jaxpr = traced.jaxpr
        self.out_tree = traced.out_tree  # the structure of the result
        self.outer: Sequence[Any] = ()  # the operands before the arguments
        if any(isinstance(const, Tracer) for const in jaxpr.consts):
            self.outer, jaxpr = jaxpr.consts, convert_constvars_jaxpr(jaxpr)
        # the parameters of the equation
        self.params: dict[str, Any] = {
            "donated_invars": (False,) * len(self.outer) + donated,
            "inline": inline,
            "jaxpr": jaxpr,
            "keep_unused": keep_unused,
            "name": name,
        }

    def place(self, ins: Sequence[Any], outs: Sequence[Any]) -> None:
        """Keep the shardings that `jit` was given: one for each argument and each result, or an empty sequence for none."""
        NestedCall.some_are_placed = True
        count = len(self.params["jaxpr"].invars) - len(self.outer)
        ins, outs = ins or (None,) * count, outs or (None,) * len(self.params["jaxpr"].outvars)
        self.params |= placed((*[None] * len(self.outer), *ins), outs)

    def is_current(self) -> bool:
        """Return whether the traces whose tracers the function closed over are active."""
        return not self.outer or all_alive(self.outer)

    def bind(self, leaves: Sequence[Any]) -> Any:
        """Record the call on these arguments, as one equation, and return what the function returns, in its tree.

        `jit_p.bind` returns the results as a list. If the function is to be inlined while tracing (`Inline.JAX_EARLY`),
        `jit_p.bind` itself records the function's equations, in place of the call.
        """
        return tree_unflatten(self.out_tree, jit_p.bind(*self.outer, *leaves, **self.params))
