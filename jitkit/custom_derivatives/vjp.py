"""Functions with their own VJP rule: the decorator `custom_vjp`, and its primitives.

A call under a derivative runs `fwd`, which returns the results and the residuals that `bwd` will need. The tangents go
through one equation, `custom_lin`, which stands for an unknown linear function: `bwd` transposes it, but nothing can
compute it. So such functions have no forward-mode derivative.

JAX: jax/_src/custom_derivatives.py:custom_vjp
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from .. import core
from ..base import edits, traceback_util
from ..base.errors import UnexpectedTracerError
from ..core import Primitive, Tracer
from ..interpreters import mlir, partial_eval
from ..interpreters.ad_linearize import PartialTrace, linearize_rules, partial_eval_rules
from ..interpreters.ad_rules import Zero, instantiate_zeros, primitive_jvps, primitive_transposes, tangent_aval
from ..interpreters.batching import AxisData, BatchTrace, Dims, Vals, batch_jaxpr, register_batcher
from ..jaxpr import DebugInfo, Jaxpr, JaxprEqn, convert_constvars_jaxpr, dce_rules, eval_jaxpr, pp_eqn_rules
from ..jaxpr import printer as jaxpr_printer
from ..signature import api_util
from ..tree_util import Partial, PyTreeDef, tree_flatten, tree_leaves, tree_structure, tree_unflatten, treedef_is_leaf
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
from .jvp_rule import SymbolicZero
from .remat_opt import DroppableVjpRule
from .vjp_rule import VjpRule, batched_vjp_rule, part_of_vjp_rule

_Forward = tuple[
    list[Any], PyTreeDef, list[Any], PyTreeDef
]  # what `fwd` returns: results and residuals, each as leaves and tree

# --- the primitives ---------------------------------------------------------------------------------------------------

custom_vjp_call_p = CustomCall("custom_vjp_call")
custom_lin_p = Primitive("custom_lin", multiple_results=True, pure_shape_rule=False)


@custom_lin_p.def_abstract_eval
def _(*avals: Any, out_avals: Sequence[Any], **params: Any) -> Sequence[Any]:
    return out_avals


@mlir.register_lowering(custom_lin_p)
def _(ctx: mlir.LoweringContext, *args: str, **params: Any) -> NoReturn:
    raise TypeError(f"can't apply forward-mode autodiff (jvp) to a custom_vjp function.{edits.JVP_OF_VJP}")


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, rule: VjpRule, num_consts: int, **params: Any
) -> tuple[list[Any], list[Any]]:
    outs, linear = _linearize([type(t) is not Zero for t in tangents], *primals, rule=rule, num_consts=num_consts)
    return outs, linear(*tangents)


def _linearize(
    nonzero: Sequence[bool], *primals: Any, rule: VjpRule, num_consts: int, **params: Any
) -> tuple[list[Any], Callable[..., list[Any]]]:
    if any(nonzero[:num_consts]):
        raise NotImplementedError(
            "Detected differentiation of a custom_vjp function with respect to a closed-over value. That isn't supported "
            "because the custom VJP rule only specifies how to differentiate the custom_vjp function with respect to explicit "
            "input parameters. Try passing the closed-over value into the custom_vjp function as an argument, and adapting "
            "the custom_vjp fwd and bwd rules."
        )
    forward = rule.forward_in_jaxpr(primals[num_consts:], nonzero[num_consts:])
    return forward[0], lambda *tangents: _linear(rule, forward, tangents[num_consts:])


def _by_rule(rule: VjpRule, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any], PyTreeDef]:
    """Run `fwd`; return the results, their tangents, and their tree."""
    forward = rule.forward(primals, [type(t) is not Zero for t in tangents])
    return forward[0], _linear(rule, forward, tangents), forward[1]


def _linear(rule: VjpRule, forward: _Forward, tangents: Sequence[Any]) -> list[Any]:
    """Return the tangents of the results by a `custom_lin` equation."""
    outs, out_tree, residuals, res_tree = forward
    out_tangents: list[Any] = custom_lin_p.bind(
        *residuals,
        *(t for t in tangents if type(t) is not Zero),
        num_res=len(residuals),
        bwd=_Backward(rule, res_tree, out_tree),
        out_avals=tuple(tangent_aval(core.typeof(x)) for x in outs),
        symbolic_zeros=rule.symbolic_zeros,
        in_zeros=tuple(type(t) is Zero for t in tangents),
    )
    return out_tangents


class _Backward(NamedTuple):
    """`bwd` and the trees of its arguments."""

    rule: VjpRule
    res_tree: PyTreeDef
    out_tree: PyTreeDef

    def __str__(self) -> str:
        return api_util.name_of(self.rule.bwd)


def _transpose(
    cts: Sequence[Any], *operands: Any, num_res: int, bwd: _Backward, in_zeros: Sequence[bool], **params: Any
) -> list[Any]:
    show = SymbolicZero.show if bwd.rule.symbolic_zeros else instantiate_zeros
    residuals = tree_unflatten(bwd.res_tree, core.with_dtypes(operands[:num_res]))
    found = bwd.rule.backward(residuals, tree_unflatten(bwd.out_tree, list(map(show, cts))))
    return [None] * num_res + [ct for ct, zero in zip(found, in_zeros, strict=True) if not zero]


@register_batcher(custom_vjp_call_p, even_unmapped=True)
def _(axis: AxisData, vals: Vals, dims: Dims, *, call_jaxpr: Jaxpr, rule: VjpRule, num_consts: int) -> Any:
    on_batches, out_dims = batch_jaxpr(call_jaxpr, axis, dims)
    in_avals = tuple(on_batches.in_avals[num_consts:])
    batched = batched_vjp_rule(rule, axis, dims[num_consts:], list(out_dims), in_avals)
    outs = custom_vjp_call_p.bind(*vals, call_jaxpr=on_batches, rule=batched, num_consts=num_consts)
    return outs, out_dims


@register_batcher(custom_lin_p)
def _(axis: AxisData, vals: Vals, dims: Dims, **params: Any) -> NoReturn:
    raise TypeError(f"can't apply forward-mode autodiff (jvp) to a custom_vjp function.{edits.JVP_OF_VJP}")


def _dce(used_results: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    return dce_of_call(used_results, eqn, "rule", part_of_vjp_rule)


def _partial_eval(trace: PartialTrace, *operands: Any, call_jaxpr: Jaxpr, num_consts: int, **params: Any) -> list[Any]:
    """Partial evaluation rule: record the whole call for later. An enclosing trace that writes a jaxpr gets a call of
    an empty program, as in JAX.
    """
    if trace.parent is not None and trace.parent.writes_down:
        nothing = Jaxpr((), (), (), (), debug_info=call_jaxpr.debug_info.filter((), ()))
        with core.set_current_trace(trace.parent):
            custom_vjp_call_p.bind(call_jaxpr=nothing, num_consts=0, **params)
    with core.set_current_trace(trace.tangents):
        outs: list[Any] = custom_vjp_call_p.bind(*operands, call_jaxpr=call_jaxpr, num_consts=num_consts, **params)
    return outs


primitive_jvps[custom_vjp_call_p] = _jvp
linearize_rules[custom_vjp_call_p] = _linearize
partial_eval_rules[custom_vjp_call_p] = _partial_eval
dce_rules[custom_vjp_call_p] = _dce
primitive_transposes[custom_lin_p] = _transpose


def _pp_call(eqn: JaxprEqn, context: Any, settings: Any) -> Any:
    """Return the equation, printed with the function's name first and only the names of its rule."""
    rule: VjpRule = eqn.params["rule"]
    params = {"name": eqn.params["call_jaxpr"].debug_info.func_name, "bwd": api_util.name_of(rule.bwd)}
    params |= {"call_jaxpr": eqn.params["call_jaxpr"], "fwd": api_util.name_of(rule.fwd)}
    if eqn.params["num_consts"]:
        params["num_consts"] = eqn.params["num_consts"]
    return jaxpr_printer.pp_eqn_plain(eqn, context, settings, params | {"symbolic_zeros": rule.symbolic_zeros})


def _pp_linear(eqn: JaxprEqn, context: Any, settings: Any) -> Any:
    params = {name: eqn.params[name] for name in ("bwd", "in_zeros", "num_res", "symbolic_zeros")}
    return jaxpr_printer.pp_eqn_plain(
        eqn, context, settings, params | {"bwd": str(params["bwd"]), "in_zeros": list(params["in_zeros"])}
    )


pp_eqn_rules[custom_vjp_call_p] = _pp_call
pp_eqn_rules[custom_lin_p] = _pp_linear


# --- the decorator ----------------------------------------------------------------------------------------------------


class custom_vjp:
    """Give a function a VJP rule: how cotangents of its results become cotangents of its arguments.

        @custom_vjp
        def f(x, y):
            return jnp.sin(x) * y

        def f_fwd(x, y):
            return f(x, y), (jnp.cos(x), jnp.sin(x), y)

        def f_bwd(residuals, g):
            cos_x, sin_x, y = residuals
            return cos_x * g * y, sin_x * g

        f.defvjp(f_fwd, f_bwd)

    Args:
      fun: the function. Keyword arguments of a call are passed on by position.
      nondiff_argnums, nondiff_argnames: arguments that are not differentiated: any Python values, and no tracers. `fwd`
        gets them in their places, `bwd` before its other arguments.
    """

    __name__: str

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
    ) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = numbers_of(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = self.optimize_remat = False

    __getattr__ = method_of_function

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the rule.

        Args:
          fwd: takes the arguments of the function, returns a pair: its result, and a tree of arrays for `bwd`.
          bwd: takes the arguments that are not differentiated, then that tree, then the cotangents, a tree like the result; returns a
              tuple with a cotangent for each other argument: a tree like the argument, or None for zero.
          symbolic_zeros: `fwd` gets pairs with the fields `value` and `perturbed` instead of arrays, and `bwd`
            objects of the class `SymbolicZero` for cotangents that are known to be zero.
          optimize_remat: within `checkpoint`, compute the results the first time with the function, not with `fwd`.
            Useful if `fwd` is a kernel, from which XLA cannot remove the residuals.

        Raise NotImplementedError for the last two together.
        """
        if symbolic_zeros and optimize_remat:
            raise NotImplementedError("remat optimization for custom_vjp does not support symbolic zeros")
        self.fwd, self.bwd = fwd, bwd
        self.symbolic_zeros, self.optimize_remat = symbolic_zeros, optimize_remat

    @traceback_util.api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's results; under a derivative, use its rule.

        Raise AttributeError if there is no rule yet, TypeError for arguments that do not fit, UnexpectedTracerError for
        a tracer as an argument that is not differentiated.
        """
        name, fwd, bwd = api_util.name_of(self.fun), self.fwd, self.bwd
        if fwd is None or bwd is None:
            raise AttributeError(
                f"No VJP defined for custom_vjp function {name} using defvjp.\nGive it its rules: {name}.defvjp(fwd, bwd)."
            )
        args = by_position("custom_vjp", self.fun, args, kwargs)
        statics = arguments_at(self.nondiff_argnums, args)
        if any(isinstance(x, Tracer) for x in tree_leaves(tuple(statics.values()))):
            raise UnexpectedTracerError(
                "Found a JAX Tracer object passed as an argument to a custom_vjp function in a position indicated by "
                "nondiff_argnums as non-differentiable. Tracers cannot be passed as non-differentiable arguments to custom_vjp "
                "functions; instead, nondiff_argnums should only be used for arguments that can't be or contain JAX tracers, "
                "e.g. function-valued arguments. In particular, array-valued arguments should typically not be indicated as "
                "nondiff_argnums."
            )

        def rule(leaves: list[Any], in_tree: PyTreeDef) -> VjpRule:
            avals = tuple(core.typeof(x) for x in leaves)
            of_call = name, fwd, bwd, statics, in_tree, avals, self.symbolic_zeros
            return DroppableVjpRule(*of_call, fun=self.fun) if self.optimize_remat else VjpRule(*of_call)

        return call_with_rule(self.fun, args, statics, rule, _WAYS, "custom_vjp fun")


def _record(rule: VjpRule, trace: core.Trace, fun: FlatFun, leaves: Sequence[Any], info: DebugInfo) -> list[Any]:
    jaxpr = partial_eval.trace_to_jaxpr(fun, rule.in_avals, info)
    outs: list[Any] = custom_vjp_call_p.record(
        *jaxpr.consts, *leaves, call_jaxpr=convert_constvars_jaxpr(jaxpr), rule=rule, num_consts=len(jaxpr.consts)
    )
    return outs


def _batched(rule: VjpRule, trace: BatchTrace, vals: Vals, dims: Dims, out_dims: list[Any]) -> VjpRule:
    return batched_vjp_rule(rule, trace.axis, dims, out_dims, tuple(map(core.get_aval, vals)), trace.tag)


_WAYS = Ways(_batched, _by_rule, _record)


# --- custom_gradient --------------------------------------------------------------------------------------------------


def custom_gradient(fun: Callable[..., Any]) -> custom_vjp:
    """Give a function its VJP rule in one piece: `fun` returns its result, and a function from cotangents of the result
    to cotangents of the arguments, which may close over intermediate values.

        @custom_gradient
        def f(x):
            return x**2, lambda g: g * x
    """

    def wrapped_fun(*args: Any) -> Any:
        return fun(*args)[0]

    def fwd(*args: Any) -> tuple[Any, Any]:
        out, rule = fun(*args)
        leaves, out_tree = tree_flatten(out)
        rule_trees: list[PyTreeDef] = []

        def flat_rule(*cts: Any) -> list[Any]:
            found, tree = tree_flatten(rule(tree_unflatten(out_tree, cts)))
            rule_trees.append(tree)
            return found

        avals = [tangent_aval(core.typeof(x)) for x in leaves]
        info = DebugInfo("custom_gradient fwd", api_util.source_of(rule))
        jaxpr = partial_eval.trace_to_jaxpr(flat_rule, avals, info)
        consts = jaxpr.consts
        return out, Partial(functools.partial(_run_rule, convert_constvars_jaxpr(jaxpr), rule_trees[0]), consts)

    def bwd(rule: Callable[..., Any], cotangent: Any) -> tuple[Any, ...]:
        found = rule(cotangent)
        return (found,) if treedef_is_leaf(tree_structure(found)) else found

    wrapped = custom_vjp(wrapped_fun)
    wrapped.defvjp(fwd, bwd)
    return wrapped


def _run_rule(jaxpr: Jaxpr, tree: PyTreeDef, consts: list[Any], cotangent: Any) -> Any:
    return tree_unflatten(tree, eval_jaxpr(jaxpr, [], *consts, *tree_leaves(cotangent)))
