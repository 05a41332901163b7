"""The primitive `jit`: a call of a jitted function inside of a function that is being traced.

    b:f32[3] = jit[name=f jaxpr={ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }] a

One equation, whose parameter is the jaxpr of the function. Lowering makes it a call of a private function,
shared by all calls of the same jaxpr; eagerly it is compiled like every other primitive; with `inline` it is
replaced by its equations.

JAX: jax/_src/pjit.py:jit_p
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import Primitive, Tracer, current_trace
from ..interpreters import mlir
from ..jaxpr import Jaxpr, JaxprEqn, convert_constvars_jaxpr, dce_jaxpr, dce_rules, eval_jaxpr
from ..jaxpr import printer as jaxpr_printer
from ..tree_util import tree_unflatten
from .compilation_cache import TracedCall, all_alive

jit_p = Primitive("jit", multiple_results=True, pure_shape_rule=False)
jit_p.effects = lambda params: params["jaxpr"].effects


@jit_p.def_abstract_eval
def _(*avals: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
    return jaxpr.out_avals


@mlir.register_lowering(jit_p)
def _(ctx: mlir.LoweringContext, *args: str, jaxpr: Jaxpr, name: str, **params: Any) -> list[str]:
    return ctx.call_jaxpr(name, jaxpr, args)


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


class NestedCall:
    """A traced call of a function, ready to be recorded: as often as the call occurs, the equation has this jaxpr.

    A jaxpr that closed over tracers of an enclosing trace has them as arguments in the equation. Such a call is
    `is_current` as long as that trace lasts.
    """

    __slots__ = ("inline", "out_tree", "outer", "params")

    def __init__(
        self, traced: TracedCall, donated: tuple[bool, ...], inline: bool, keep_unused: bool, name: str
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
        """Record the call on these arguments, or with `inline` what the function does; return the tree of its results."""
        if self.inline:
            return tree_unflatten(self.out_tree, self.bind_inline(leaves))
        return tree_unflatten(self.out_tree, jit_p.bind(*self.outer, *leaves, **self.params))

    def bind_inline(self, leaves: Sequence[Any]) -> list[Any]:
        """Record the equations of the function, one by one."""
        trace, jaxpr = current_trace(), self.params["jaxpr"]
        if trace is not None:
            trace.note(leaves)
        return eval_jaxpr(jaxpr, jaxpr.consts, *self.outer, *leaves)
