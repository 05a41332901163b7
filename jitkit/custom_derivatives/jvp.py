"""Functions with their own JVP rule: the decorator `custom_jvp`, and its primitive.

    b:f32[3] = custom_jvp_call[name=f call_jaxpr={ lambda ; c:f32[3]. let ... } jvp=f_jvp symbolic_zeros=False] a

Called eagerly, such a function does what the undecorated one does. Under a trace the call is one equation with the
function as a jaxpr and the user's rule: derivatives use the rule, all other transformations the jaxpr. Lowering writes
the equations of the jaxpr in place.

JAX: jax/_src/custom_derivatives.py:custom_jvp
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import core
from ..base import edits, traceback_util
from ..base.jax_version import since
from ..base.util import safe_zip
from ..core import Tracer
from ..core.primitive import check_arrays
from ..interpreters import partial_eval
from ..interpreters.ad_linearize import PartialTrace, partial_eval_rules
from ..interpreters.ad_rules import add_tangents, primitive_jvps, primitive_transposes, zero_tangent
from ..interpreters.ad_transpose import backward_pass
from ..interpreters.batching import AxisData, BatchTrace, Dims, Vals, batch_jaxpr, register_batcher
from ..jaxpr import DebugInfo, Jaxpr, JaxprEqn, convert_constvars_jaxpr, dce_rules, eval_jaxpr, pp_eqn_rules
from ..jaxpr import printer as jaxpr_printer
from ..lax import stop_gradient
from ..lax.utils import derivatives
from ..signature import api_util
from ..tree_util import PyTreeDef, tree_map
from .calling import (
    CustomCall,
    FlatFun,
    Ways,
    arguments_at,
    by_position,
    call_with_rule,
    dce_of_call,
    method_of_function,
    numbers_of,
)
from .jvp_rule import JvpRule, batched_rule, part_of_rule

# --- the primitive ---------------------------------------------------------------------------------------------------


custom_jvp_call_p = CustomCall("custom_jvp_call")


@register_batcher(custom_jvp_call_p, even_unmapped=True)
def _(
    axis: AxisData, vals: Vals, dims: Dims, *, call_jaxpr: Jaxpr, jvp_jaxpr_fun: JvpRule, num_consts: int, **params: Any
) -> Any:
    """Batching rule: batch the jaxpr now, and the JVP rule when it is called. A tangent has its primal's batch axis."""
    on_batches, out_dims = batch_jaxpr(call_jaxpr, axis, dims)
    rule = batched_rule(jvp_jaxpr_fun, axis, dims[num_consts:], list(out_dims))
    outs = custom_jvp_call_p.bind(*vals, call_jaxpr=on_batches, jvp_jaxpr_fun=rule, num_consts=num_consts, **params)
    return outs, out_dims


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, jvp_jaxpr_fun: JvpRule, num_consts: int, **params: Any
) -> tuple[list[Any], list[Any]]:
    """JVP rule: call the user's rule on the arguments; closed-over values count as constant."""
    return jvp_jaxpr_fun.in_jaxpr(primals[num_consts:], tangents[num_consts:])


def _transpose(cts: Sequence[Any], *operands: Any, call_jaxpr: Jaxpr, **params: Any) -> list[Any]:
    """Transpose rule, for a function that is linear in tangents and was called inside another rule."""
    return backward_pass(call_jaxpr, call_jaxpr.consts, operands, cts)


def _dce(used_results: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    return dce_of_call(used_results, eqn, "jvp_jaxpr_fun", part_of_rule)


def _partial_eval(trace: PartialTrace, *operands: Any, call_jaxpr: Jaxpr, **params: Any) -> list[Any]:
    """Partial evaluation rule: inline the call, because its rule is no longer needed. JAX 0.11 and later keep the call."""
    if since(0, 11):
        with core.set_current_trace(trace.tangents):
            outs: list[Any] = custom_jvp_call_p.bind(*operands, call_jaxpr=call_jaxpr, **params)
        return outs
    return eval_jaxpr(call_jaxpr, call_jaxpr.consts, *operands)


primitive_jvps[custom_jvp_call_p] = _jvp
partial_eval_rules[custom_jvp_call_p] = _partial_eval
dce_rules[custom_jvp_call_p] = _dce
primitive_transposes[custom_jvp_call_p] = _transpose


def _pp(eqn: JaxprEqn, context: Any, settings: Any) -> Any:
    """Return the equation, printed with the function's name first and only the name of its rule."""
    params = {"name": eqn.params["call_jaxpr"].debug_info.func_name, "call_jaxpr": eqn.params["call_jaxpr"]}
    params["jvp"] = eqn.params["jvp_jaxpr_fun"]
    if eqn.params["num_consts"]:
        params["num_consts"] = eqn.params["num_consts"]
    params["symbolic_zeros"] = eqn.params["symbolic_zeros"]
    return jaxpr_printer.pp_eqn_plain(eqn, context, settings, params)


pp_eqn_rules[custom_jvp_call_p] = _pp


# --- the decorator ---------------------------------------------------------------------------------------------------


class custom_jvp:
    """Give a function a JVP rule: how its results change when its arguments change a little.

        @custom_jvp
        def f(x, y):
            return jnp.sin(x) * y

        @f.defjvp
        def f_jvp(primals, tangents):
            (x, y), (dx, dy) = primals, tangents
            return f(x, y), jnp.cos(x) * dx * y + jnp.sin(x) * dy

    Args:
      fun: the function. Keyword arguments of a call are passed on by position.
      nondiff_argnums, nondiff_argnames: arguments that are not differentiated, and may be any Python values. The rule
        gets them before the other two.
    """

    __name__: str

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
    ) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = numbers_of(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    __getattr__ = method_of_function

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule: `jvp(*nondiff_args, primals, tangents)` returns the results and their tangents. Return `jvp`,
        as a decorator.

        `primals` and `tangents` are tuples with an entry for each differentiated argument. With `symbolic_zeros`, a
        tangent that is known to be zero is passed as a `SymbolicZero`.
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set the rule by parts, one for each argument: `jvp(tangent, result, *primals)` is the argument's contribution
        to the result's tangent; None for no contribution. Raise TypeError with `nondiff_argnums`. A later call raises
        ValueError unless there is one part for each argument.
        """
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            out = self(*primals)
            parts = [
                part(tangent, out, *primals) if part else tree_map(zero_tangent, out)
                for tangent, part in safe_zip(tangents, jvps)
            ]
            total = tree_map(lambda *each: functools.reduce(add_tangents, each), *parts)
            return out, total

        self.defjvp(jvp)

    @traceback_util.api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's results. Under a derivative, call the rule instead; while tracing, record the call with
        its rule. Raise AttributeError if there is no rule yet, TypeError for arguments that do not fit.
        """
        name, jvp = api_util.name_of(self.fun), self.jvp
        if jvp is None:
            raise AttributeError(f"No JVP defined for custom_jvp function {name} using defjvp.{edits.NO_JVP_RULE}")
        args = by_position("custom_jvp", self.fun, args, kwargs)
        statics = {i: tree_map(_undifferentiated, x) for i, x in arguments_at(self.nondiff_argnums, args).items()}

        def rule(leaves: list[Any], in_tree: PyTreeDef) -> JvpRule:
            if core.current_trace() is None:
                check_arrays(custom_jvp_call_p, tuple(leaves))
            return JvpRule(name, jvp, tuple(statics.values()), in_tree, self.symbolic_zeros)

        return call_with_rule(self.fun, args, statics, rule, _WAYS, "custom_jvp fun")


def _record(rule: JvpRule, trace: core.Trace, fun: FlatFun, leaves: Sequence[Any], info: DebugInfo) -> list[Any]:
    trace.note(leaves)
    jaxpr = partial_eval.trace_to_jaxpr(fun, [core.get_aval(x) for x in leaves], info)
    outs: list[Any] = custom_jvp_call_p.record(
        *jaxpr.consts,
        *leaves,
        call_jaxpr=convert_constvars_jaxpr(jaxpr),
        jvp_jaxpr_fun=rule,
        num_consts=len(jaxpr.consts),
        symbolic_zeros=rule.symbolic_zeros,
    )
    return outs


def _batched(rule: JvpRule, trace: BatchTrace, vals: Vals, dims: Dims, out_dims: list[Any]) -> JvpRule:
    return batched_rule(rule, trace.axis, dims, out_dims, trace.tag)


_WAYS = Ways(_batched, lambda rule, primals, tangents: rule(primals, tangents), _record)


def _undifferentiated(x: Any) -> Any:
    """Return a traced value through `stop_gradient`, since the rule does not differentiate it; any other value unchanged."""
    return stop_gradient(x) if isinstance(x, Tracer) else x


derivatives.custom_jvp = custom_jvp
