"""The primitive `jit`: a call of a jitted function inside of a function that is being traced.

    b:f32[3] = jit[name=f jaxpr={ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }] a

One equation, whose parameter is the jaxpr of the function. Lowering makes it a call of a private function,
shared by all calls of the same jaxpr; eagerly it is compiled like every other primitive; with `inline` it is
replaced by its equations.

JAX: jax/_src/pjit.py:jit_p
"""

from __future__ import annotations

from typing import Any

from . import jaxpr_printer
from .core import Primitive, Tracer
from .interpreters import mlir, partial_eval
from .jaxpr import Jaxpr, JaxprEqn, convert_constvars_jaxpr, dce_jaxpr, dce_rules, eval_jaxpr

jit_p = Primitive("jit", multiple_results=True, pure_shape_rule=False)
jit_p.effects = lambda params: params["jaxpr"].effects


@jit_p.def_abstract_eval
def _(*avals: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
    return jaxpr.out_avals


@mlir.register_lowering(jit_p)
def _(ctx: mlir.LoweringContext, *args: str, jaxpr: Jaxpr, name: str, **params: Any) -> list[str]:
    return ctx.call_jaxpr(name, jaxpr, args)


def _stage(trace: Any, tracers: list[Any], params: dict[str, Any]) -> Any:
    """Record a nested call; with `inline`, record the equations of the function instead."""
    if params["inline"]:
        jaxpr = params["jaxpr"]
        return eval_jaxpr(jaxpr, jaxpr.consts, *tracers)
    return NotImplemented


partial_eval.staging_rules[jit_p] = _stage


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


def separate_tracers(jaxpr: Jaxpr) -> tuple[Jaxpr, list[Any]]:
    """When a jaxpr closed over tracers of an enclosing trace, make its constants arguments, and return them
    to be passed.
    """
    if any(isinstance(const, Tracer) for const in jaxpr.consts):
        return convert_constvars_jaxpr(jaxpr), jaxpr.consts
    return jaxpr, []
