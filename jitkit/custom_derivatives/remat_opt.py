"""Replaces fwd of a custom_vjp function by the function itself if nobody reads the residuals:
`defvjp(optimize_remat=True)`.

    b:f32[] c:f32[] = remat_opt[fun_jaxpr_thunk=... fwd_jaxpr={ lambda ; ... } num_consts=0 num_res=1] a

Under `checkpoint`, only the recomputation needs residuals; the first computation needs results only, for which the
undecorated function may be faster than `fwd`. For ordinary operations XLA's dead code elimination achieves that, but
not for a kernel, which is one operation. So `fwd` is one equation, which is replaced if only its results are read.

JAX: jax/_src/custom_derivatives.py:optimize_remat_of_custom_vjp_fwd
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, NoReturn

from .. import core
from ..base.util import split_list
from ..core import Primitive
from ..derivatives.saving import closed_call_p
from ..interpreters import ad, mlir
from ..interpreters.ad_rules import Zero, instantiate_zeros, primitive_jvps, primitive_transposes
from ..interpreters.batching import AxisData, Dims, Vals, batch_jaxpr, register_batcher
from ..interpreters.partial_eval import trace_to_jaxpr
from ..jaxpr import DebugInfo, Jaxpr, JaxprEqn, convert_constvars_jaxpr, dce_jaxpr, dce_rules, in_order
from ..signature import api_util
from ..tree_util import PyTreeDef, tree_leaves
from .vjp_rule import VjpRule

# () -> the function's closed jaxpr, traced when needed
Thunk = Callable[[], Jaxpr]


@dataclasses.dataclass(frozen=True, eq=False)
class DroppableVjpRule(VjpRule):
    """A rule whose `fwd` can be replaced by the function."""

    fun: Callable[..., Any] = dataclasses.field(kw_only=True)

    def forward(
        self, primals: Sequence[Any], perturbed: Sequence[bool]
    ) -> tuple[list[Any], PyTreeDef, list[Any], PyTreeDef]:
        """Return the results and the residuals. If operations are recorded, record one equation; raise
        NotImplementedError if `fwd` has effects.
        """
        trace = core.current_trace()
        if trace is None or not trace.writes_down:
            return super().forward(primals, perturbed)
        trees: list[PyTreeDef] = []
        given: list[int | None] = []  # for each residual, the position of the argument that it equals, or None

        def fwd(*leaves: Any) -> list[Any]:
            outs, out_tree, residuals, res_tree = VjpRule.forward(self, leaves, perturbed)
            places = {id(x): i for i, x in enumerate(leaves)}
            given[:] = [places.get(id(x)) for x in residuals]
            trees[:] = out_tree, res_tree
            return [*(x for x, place in zip(residuals, given, strict=True) if place is None), *outs]

        avals = [core.typeof(x) for x in primals]
        jaxpr = trace_to_jaxpr(fwd, avals, DebugInfo("custom_vjp fwd", api_util.source_of(self.fwd)))
        if jaxpr.effects:
            raise NotImplementedError(
                "remat optimization for custom_vjp does not support forward functions with these side effects: "
                f"{set(jaxpr.effects)}"
            )

        @functools.cache
        def fun_jaxpr_thunk() -> Jaxpr:
            info = DebugInfo("custom_vjp fun", api_util.source_of(self.fun))
            return trace_to_jaxpr(lambda *leaves: tree_leaves(self.call(self.fun, leaves)), avals, info)

        num_res = given.count(None)
        found = remat_opt_p.bind(
            *jaxpr.consts,
            *primals,
            fun_jaxpr_thunk=fun_jaxpr_thunk,
            fwd_jaxpr=convert_constvars_jaxpr(jaxpr),
            num_consts=len(jaxpr.consts),
            num_res=num_res,
        )
        made = iter(found[:num_res])
        residuals = [next(made) if place is None else primals[place] for place in given]
        return found[num_res:], trees[0], residuals, trees[1]


# --- the primitive ----------------------------------------------------------------------------------------------------

remat_opt_p = Primitive("remat_opt", multiple_results=True, pure_shape_rule=False)


@remat_opt_p.def_abstract_eval
def _(*avals: Any, fwd_jaxpr: Jaxpr, **params: Any) -> list[Any]:
    return fwd_jaxpr.out_avals


@mlir.register_lowering(remat_opt_p)
def _(ctx: mlir.LoweringContext, *args: str, fwd_jaxpr: Jaxpr, **params: Any) -> list[str]:
    return ctx.lower_region(fwd_jaxpr, args)


@register_batcher(remat_opt_p, even_unmapped=True)
def _(
    axis: AxisData, vals: Vals, dims: Dims, *, fun_jaxpr_thunk: Thunk, fwd_jaxpr: Jaxpr, num_consts: int, num_res: int
) -> Any:
    """Batching rule: make all results batches, since the function and `fwd` must have the same batch axes."""
    of_results = (0,) * (len(fwd_jaxpr.outvars) - num_res)
    on_batches, out_dims = batch_jaxpr(fwd_jaxpr, axis, dims, (*[None] * num_res, *of_results))

    @functools.cache
    def batched_thunk() -> Jaxpr:
        return batch_jaxpr(fun_jaxpr_thunk(), axis, dims[num_consts:], of_results)[0]

    consts = on_batches.consts
    outs = remat_opt_p.bind(
        *consts,
        *vals,
        fun_jaxpr_thunk=batched_thunk,
        fwd_jaxpr=convert_constvars_jaxpr(on_batches),
        num_consts=len(consts) + num_consts,
        num_res=num_res,
    )
    return outs, out_dims


def _jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    fun_jaxpr_thunk: Thunk,
    fwd_jaxpr: Jaxpr,
    num_consts: int,
    num_res: int,
) -> tuple[list[Any], list[Any]]:
    """JVP rule: give all arguments and results tangents, so that the function can replace `fwd`."""
    count, outs = len(primals) - num_consts, len(fwd_jaxpr.outvars)
    given = [type(t) is not Zero for t in tangents[:num_consts]]
    nonzero = (*given, *[True] * count)
    pairs, _ = ad.jvp_jaxpr(fwd_jaxpr, nonzero, True)
    of_consts = sum(given)
    # consts, their tangents, arguments, their tangents -> residuals, their tangents, results, their tangents
    consts, args, const_dots, arg_dots = _ranges(num_consts, count, of_consts, count)
    res, out, res_dots, out_dots = _ranges(num_res, outs - num_res, num_res, outs - num_res)
    ordered = in_order(pairs, (*consts, *const_dots, *args, *arg_dots), (*res, *res_dots, *out, *out_dots))

    @functools.cache
    def thunk_of_pairs() -> Jaxpr:
        return ad.jvp_jaxpr(fun_jaxpr_thunk(), (True,) * count, True)[0]

    found = remat_opt_p.bind(
        *pairs.consts,
        *primals[:num_consts],
        *compress(tangents[:num_consts], given),
        *primals[num_consts:],
        *map(instantiate_zeros, tangents[num_consts:]),
        fun_jaxpr_thunk=thunk_of_pairs,
        fwd_jaxpr=convert_constvars_jaxpr(ordered),
        num_consts=len(pairs.consts) + num_consts + of_consts,
        num_res=2 * num_res,
    )
    residuals, residual_dots, results, result_dots = split_list(found, [num_res, num_res, outs - num_res])
    return [*residuals, *results], [*residual_dots, *result_dots]


def _ranges(*sizes: int) -> list[range]:
    """Return ranges of these sizes, one after the other, from 0."""
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return [range(end - size, end) for end, size in zip(ends, sizes, strict=True)]


def _transpose(cts: Sequence[Any], *operands: Any, **params: Any) -> NoReturn:
    raise NotImplementedError("remat optimization for custom_vjp does not support higher-order AD")


def _dce(used_results: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """DCE rule: if no residual is read, call the function itself; otherwise call `fwd`, with all its arguments, for the
    results that are read.
    """
    num_consts, num_res = eqn.params["num_consts"], eqn.params["num_res"]
    if not any(used_results):
        return [False] * len(eqn.invars), None
    outvars = list(compress(eqn.outvars, used_results))
    of_consts, of_args = [False] * num_consts, [True] * (len(eqn.invars) - num_consts)
    if any(used_results[:num_res]):
        left, used = dce_jaxpr(eqn.params["fwd_jaxpr"], used_results, instantiate=[*of_consts, *of_args])
        params = eqn.params | {
            "fwd_jaxpr": left,
            "num_consts": sum(used[:num_consts]),
            "num_res": sum(used_results[:num_res]),
        }
        return used, eqn.replace(invars=list(compress(eqn.invars, used)), outvars=outvars, params=params)
    fun, used = dce_jaxpr(eqn.params["fun_jaxpr_thunk"](), used_results[num_res:])
    used = [*of_consts, *used]
    invars = list(compress(eqn.invars, used))
    call = JaxprEqn(invars, outvars, closed_call_p, {"call_jaxpr": fun}, fun.effects, eqn.source_info)
    return used, call


primitive_jvps[remat_opt_p] = _jvp
primitive_transposes[remat_opt_p] = _transpose
dce_rules[remat_opt_p] = _dce
