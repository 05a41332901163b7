"""The primitive `jit`: a call of a jitted function inside of a function that is being traced.

    b:f32[3] = jit[name=f jaxpr={ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }] a

One equation, whose parameter is the jaxpr of the function. Lowering makes it a call of a private function,
shared by all calls of the same jaxpr; eagerly it is compiled like every other primitive. `Inline` says whether its
equations take its place, and when.

JAX: jax/_src/pjit.py:jit_p
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

from ..base.jax_version import since
from ..base.util import merge_lists, partition_list
from ..core import Primitive, Tracer, current_trace, get_aval, set_current_trace
from ..interpreters import ad, mlir
from ..interpreters.ad_linearize import (
    PartialTrace,
    linearize_jaxpr,
    linearize_rules,
    partial_eval_rules,
    split_jaxpr,
)
from ..interpreters.ad_rules import Zero, is_undefined, primitive_jvps, primitive_transposes
from ..interpreters.ad_transpose import transpose_jaxpr
from ..interpreters.batching import AxisData, Dims, Vals, batch_jaxpr, register_batcher
from ..jaxpr import (
    Jaxpr,
    JaxprEqn,
    convert_constvars_jaxpr,
    dce_jaxpr,
    dce_rules,
    eval_jaxpr,
    forwarded_inputs,
    keep_outputs,
    move_inputs_to_front,
)
from ..jaxpr import printer as jaxpr_printer
from ..tree_util import tree_unflatten
from .compilation_cache import TracedCall, all_alive


class Inline(enum.Enum):
    """When a call inside of a traced function is replaced by the equations of the function that is called."""

    JAX_EARLY = "jax_early"  # while tracing: there is no equation for the call
    JAX_LATE = "jax_late"  # while lowering: there is no private function for it
    XLA_EARLY = "xla_early"  # XLA decides about this one,
    XLA_LATE = "xla_late"  # and this one,
    AUTO = "auto"  # and this one


def inline_mode(option: bool | Inline) -> Inline:
    """What `jit(inline=option)` means. True is early up to JAX 0.10, and late since. ValueError for anything else."""
    if isinstance(option, Inline):
        return option
    if option is True:
        return Inline.JAX_LATE if since(0, 11) else Inline.JAX_EARLY
    if option is False:
        return Inline.AUTO
    raise ValueError(f"Invalid inline option: {option!r}")


jit_p = Primitive("jit", multiple_results=True, pure_shape_rule=False)
jit_p.effects = lambda params: params["jaxpr"].effects


@jit_p.def_abstract_eval
def _(*avals: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
    return jaxpr.out_avals


@mlir.register_lowering(jit_p)
def _(ctx: mlir.LoweringContext, *args: str, jaxpr: Jaxpr, name: str, inline: Inline, **params: Any) -> list[str]:
    if inline is Inline.JAX_LATE:
        return ctx.lower_region(jaxpr, args, f"jit({name})")
    return ctx.call_jaxpr(name, jaxpr, args)


@register_batcher(jit_p, even_unmapped=True)
def _(axis: AxisData, vals: Vals, dims: Dims, *, jaxpr: Jaxpr, **params: Any) -> Any:
    on_batches, out_dims = batch_jaxpr(jaxpr, axis, dims)
    return jit_p.bind(*vals, jaxpr=on_batches, **params), out_dims


def _dce(used_results: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """Dead code inside of a nested call is dropped with the results that nobody reads."""
    if not any(used_results) and not eqn.effects:
        return [False] * len(eqn.invars), None
    jaxpr, used_inputs = dce_jaxpr(eqn.params["jaxpr"], used_results)
    kept = [x for x, is_used in zip(eqn.invars, used_inputs, strict=True) if is_used]
    donated = tuple(
        d for d, is_used in zip(eqn.params["donated_invars"], used_inputs, strict=True) if is_used
    )
    outs = [x for x, is_used in zip(eqn.outvars, used_results, strict=True) if is_used]
    params = eqn.params | {"jaxpr": jaxpr, "donated_invars": donated}
    return used_inputs, eqn.replace(invars=kept, outvars=outs, params=params, effects=jaxpr.effects)


dce_rules[jit_p] = _dce


def _pp(eqn: JaxprEqn, context: Any, settings: Any) -> Any:
    """Show only what is not as usual."""
    params = {
        k: v
        for k, v in eqn.params.items()
        if k != "inline" and v is not False and not (k == "donated_invars" and not any(v))
    }
    return jaxpr_printer.pp_call(eqn, context, settings, params)


jaxpr_printer.pp_eqn_rules[jit_p] = _pp


# --- derivatives ------------------------------------------------------------------------------------------------------


def _jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    jaxpr: Jaxpr,
    donated_invars: Sequence[bool],
    **params: Any,
) -> tuple[list[Any], list[Any]]:
    """One call, of the jaxpr of pairs."""
    nonzero = tuple(type(t) is not Zero for t in tangents)
    pairs, nonzero_out = ad.jvp_jaxpr(jaxpr, nonzero, False)
    outs = jit_p.bind(
        *primals,
        *compress(tangents, nonzero),
        **params | {"donated_invars": (*donated_invars, *compress(donated_invars, nonzero)), "jaxpr": pairs},
    )
    count = len(jaxpr.outvars)
    return outs[:count], ad.with_zeros(outs[count:], nonzero_out, jaxpr.out_avals)


def _linearize(
    nonzero: Sequence[bool], *primals: Any, jaxpr: Jaxpr, donated_invars: Sequence[bool], **params: Any
) -> tuple[list[Any], Callable[..., list[Any]]]:
    """Two calls: one now, of values and residuals, and one of tangents. What the first passes through, or returns twice,
    it need not return.
    """
    both = linearize_jaxpr(jaxpr, tuple(nonzero))
    count = len(jaxpr.outvars)
    outs = call_without_forwarding(both.primal, primals, count, params | {"donated_invars": donated_invars})
    residuals = both.residuals([*jaxpr.consts, *primals], outs[count:])

    def linear(*tangents: Any) -> list[Any]:
        donated = (False,) * len(residuals) + tuple(compress(donated_invars, nonzero))
        made = jit_p.bind(
            *residuals,
            *compress(tangents, nonzero),
            **params | {"donated_invars": donated, "jaxpr": both.tangent},
        )
        return ad.with_zeros(made, both.nonzero, jaxpr.out_avals)

    return outs[:count], linear


def _partial_eval(
    trace: PartialTrace, *operands: Any, jaxpr: Jaxpr, donated_invars: Sequence[bool], **params: Any
) -> list[Any]:
    """Two calls: one now, of what depends on no tangent, and one that is written down."""
    unknown = tuple(map(trace.is_tangent, operands))
    both = split_jaxpr(jaxpr, unknown)
    known, later = partition_list(unknown, operands)
    count = len(jaxpr.outvars) - sum(both.nonzero)
    donated, donated_later = partition_list(unknown, donated_invars)
    with set_current_trace(trace.parent):
        outs = call_without_forwarding(both.primal, known, count, params | {"donated_invars": tuple(donated)})
    residuals = both.residuals([*jaxpr.consts, *known], outs[count:])
    rest = move_inputs_to_front(both.tangent, (False,) * len(residuals) + (True,) * len(later))
    donated_invars = (*donated_later, *[False] * len(residuals))
    with set_current_trace(trace.tangents):
        made = jit_p.bind(*later, *residuals, **params | {"donated_invars": donated_invars, "jaxpr": rest})
    return merge_lists(both.nonzero, outs[:count], made)


def call_without_forwarding(
    jaxpr: Jaxpr, args: Sequence[Any], count: int, params: dict[str, Any]
) -> list[Any]:
    """The outputs of a call of a jaxpr whose first `count` outputs are results, and the others residuals. The call does
    not return a result that is an argument, nor a residual that is a result.
    """
    places = forwarded_inputs(jaxpr)[:count] + [None] * (len(jaxpr.outvars) - count)
    results = {x for x, place in zip(jaxpr.outvars[:count], places, strict=False) if place is None}
    keep = tuple(
        place is None and (k < count or x not in results)
        for k, (x, place) in enumerate(zip(jaxpr.outvars, places, strict=True))
    )
    made = iter(jit_p.bind(*args, **params | {"jaxpr": keep_outputs(jaxpr, keep)}))
    values: dict[Any, Any] = {}
    for x, place, kept in zip(jaxpr.outvars, places, keep, strict=True):
        values[x] = next(made) if kept else args[place] if place is not None else values[x]
    return [values[x] for x in jaxpr.outvars]


def _transpose(
    cts: Sequence[Any], *operands: Any, jaxpr: Jaxpr, donated_invars: Sequence[bool], **params: Any
) -> list[Any]:
    """One call, of the transposed jaxpr."""
    linear = tuple(map(is_undefined, operands))
    known = [x for x in operands if not is_undefined(x)]
    avals = (*map(get_aval, known), *(None if type(ct) is Zero else get_aval(ct) for ct in cts))
    transposed, nonzero = transpose_jaxpr(jaxpr, linear, avals)
    args = [*known, *(ct for ct in cts if type(ct) is not Zero)]
    made = jit_p.bind(*args, **params | {"donated_invars": (False,) * len(args), "jaxpr": transposed})
    found = iter(ad.with_zeros(made, nonzero, list(compress(jaxpr.in_avals, linear))))
    return [next(found) if is_linear else None for is_linear in linear]


primitive_jvps[jit_p] = _jvp
linearize_rules[jit_p] = _linearize
partial_eval_rules[jit_p] = _partial_eval
primitive_transposes[jit_p] = _transpose


# --- a call -----------------------------------------------------------------------------------------------------------


class NestedCall:
    """A traced call of a function, ready to be recorded: as often as the call occurs, the equation has this jaxpr.

    A jaxpr that closed over tracers of an enclosing trace has them as arguments in the equation. Such a call is
    `is_current` as long as that trace lasts.
    """

    __slots__ = ("inline", "out_tree", "outer", "params")

    def __init__(
        self, traced: TracedCall, donated: tuple[bool, ...], inline: Inline, keep_unused: bool, name: str
    ) -> None:
        """`params` are what the equations of the call will have, in the order of their names; its operands are `outer`, the
        tracers that the function closed over, and then the arguments. When there are such tracers among the constants
        of the jaxpr, all of its constants become arguments (`convert_constvars_jaxpr`), the first ones, which are not donated.
        """
        jaxpr = traced.jaxpr
        self.out_tree = traced.out_tree
        self.outer: Sequence[Any] = ()
        if any(isinstance(const, Tracer) for const in jaxpr.consts):
            self.outer, jaxpr = jaxpr.consts, convert_constvars_jaxpr(jaxpr)
        self.inline = inline
        self.params: dict[str, Any] = {
            "donated_invars": (False,) * len(self.outer) + donated,
            "inline": inline,
            "jaxpr": jaxpr,
            "keep_unused": keep_unused,
            "name": name,
        }

    def is_current(self) -> bool:
        """Whether the trace of the tracers that the function closed over, if any, goes on."""
        return not self.outer or all_alive(self.outer)

    def bind(self, leaves: Sequence[Any]) -> Any:
        """Record the call on these arguments, or what the function does; return the tree of its results."""
        if self.inline is Inline.JAX_EARLY:
            return tree_unflatten(self.out_tree, self.bind_inline(leaves))
        return tree_unflatten(self.out_tree, jit_p.bind(*self.outer, *leaves, **self.params))

    def bind_inline(self, leaves: Sequence[Any]) -> list[Any]:
        """Record the equations of the function, one by one."""
        trace, jaxpr = current_trace(), self.params["jaxpr"]
        if trace is not None:
            trace.note(leaves)
        return eval_jaxpr(jaxpr, jaxpr.consts, *self.outer, *leaves)
