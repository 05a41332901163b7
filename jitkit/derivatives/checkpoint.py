"""function -> the same function, which keeps fewer residuals

`checkpoint`, also called `remat`, recomputes the function's intermediate values from its arguments in the reverse pass instead of saving
them. It trades time for memory.

A call is one equation, `remat2`, which has the function as a jaxpr. To linearise it, its results are computed as usual, and the linear
program is another `remat2`: it takes the arguments and the tangents, and recomputes the values by which tangents are multiplied. A policy
may name operations whose results are saved nevertheless.

JAX: jax/_src/ad_checkpoint.py:checkpoint
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Any

import numpy as np

from .. import core
from ..base import source_info, traceback_util
from ..base.jax_version import since
from ..base.util import merge_lists, partition_list, wraps
from ..core import Primitive, dtypes
from ..interpreters import ad
from ..interpreters.ad_linearize import PartialTrace, partial_eval_rules, split_jaxpr
from ..interpreters.ad_rules import (
    UndefinedPrimal,
    Zero,
    is_undefined,
    primitive_jvps,
    primitive_transposes,
    tangent_aval,
)
from ..interpreters.ad_transpose import backward_pass
from ..interpreters.batching import AxisData, Dims, Vals, batch_jaxpr, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering, type_of
from ..interpreters.partial_eval import trace_to_jaxpr, with_stand_ins_in
from ..jaxpr import (
    Jaxpr,
    JaxprEqn,
    Var,
    convert_constvars_jaxpr,
    dce_jaxpr,
    dce_rules,
    eval_jaxpr,
    jaxpr_as_fun,
    remembered,
)
from ..lax.control_flow.common import Body, trace_anew, trace_body
from ..lax.convert import reduce_precision_p
from ..signature import api_util
from ..tree_util import broadcast_prefix, tree_flatten, tree_unflatten
from .policies import Policy, nothing_saveable
from .saving import Parts, check_effects, not_there, split_by_policy, split_rules

remat_p = Primitive("remat2", multiple_results=True, pure_shape_rule=False)
remat_p.effects = lambda params: params["jaxpr"].effects
remat_p.impl = lambda *args, jaxpr, **params: core.with_dtypes(eval_jaxpr(jaxpr, (), *args))  # one by one, as JAX


@remat_p.def_abstract_eval
def _(*avals: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
    return jaxpr.out_avals


@register_lowering(remat_p)
def _(
    ctx: LoweringContext,
    *args: str,
    jaxpr: Jaxpr,
    prevent_cse: bool | tuple[bool, ...],
    differentiated: bool,
    policy: Any,
) -> list[str]:
    """Lowering rule: write the jaxpr; if it recomputes, behind a barrier, so that XLA's CSE does not merge it with the original."""
    hidden = (prevent_cse,) * len(args) if isinstance(prevent_cse, bool) else prevent_cse
    if not (differentiated and any(hidden)):
        return ctx.lower_region(jaxpr, list(args), "checkpoint")
    seen, behind = partition_list(hidden, args)
    types = ", ".join(type_of(aval) for aval in compress(ctx.avals_in, hidden))
    found = ctx.emit_text(f"stablehlo.optimization_barrier {', '.join(behind)} : {types}", len(behind))
    names = [found] if len(behind) == 1 else [f"{found}#{i}" for i in range(len(behind))]
    return ctx.lower_region(jaxpr, merge_lists(hidden, seen, names), "checkpoint")


def _preventing(
    prevent_cse: bool | tuple[bool, ...], before: int = 0, kept: Sequence[bool] | None = None, after: int = 0
) -> Any:
    """Return `prevent_cse` for a new list of inputs: `before` new ones, then the old ones that are `kept`, then `after` new ones."""
    if isinstance(prevent_cse, bool):
        return prevent_cse
    old = prevent_cse if kept is None else tuple(compress(prevent_cse, kept))
    return (True,) * before + old + (True,) * after


@register_batcher(remat_p, even_unmapped=True)
def _(axis: AxisData, vals: Vals, dims: Dims, *, jaxpr: Jaxpr, **params: Any) -> Any:
    on_batches, out_dims = batch_jaxpr(jaxpr, axis, dims, [None] * len(jaxpr.outvars))
    params["prevent_cse"] = _preventing(params["prevent_cse"], before=len(on_batches.consts))
    outs = remat_p.bind(*on_batches.consts, *vals, jaxpr=convert_constvars_jaxpr(on_batches), **params)
    return outs, out_dims


def _dce(used_results: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    if not any(used_results) and not eqn.effects:
        return [False] * len(eqn.invars), None
    jaxpr, used = dce_jaxpr(eqn.params["jaxpr"], used_results)
    left = eqn.replace(
        invars=list(compress(eqn.invars, used)),
        outvars=list(compress(eqn.outvars, used_results)),
        params=eqn.params | {"jaxpr": jaxpr, "prevent_cse": _preventing(eqn.params["prevent_cse"], kept=used)},
        effects=jaxpr.effects,
    )
    return used, left


dce_rules[remat_p] = _dce

# --- derivatives ------------------------------------------------------------------------------------------------------


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: Jaxpr, **params: Any
) -> tuple[list[Any], list[Any]]:
    nonzero = tuple(type(t) is not Zero for t in tangents)
    pairs, nonzero_out = ad.jvp_jaxpr(jaxpr, nonzero, False)
    params["prevent_cse"] = _preventing(params["prevent_cse"], len(pairs.consts), after=sum(nonzero))
    args = [*pairs.consts, *primals, *compress(tangents, nonzero)]
    outs = remat_p.bind(*args, jaxpr=convert_constvars_jaxpr(pairs), **params)
    count = len(jaxpr.outvars)
    return outs[:count], ad.with_zeros(outs[count:], nonzero_out, jaxpr.out_avals)


def _partial_eval(trace: PartialTrace, *operands: Any, jaxpr: Jaxpr, policy: Policy | None, **params: Any) -> list[Any]:
    """Partial evaluation rule: compute the results now; later recompute what operations on tangents need, from the operands and the
    values that the policy saves.
    """
    check_effects(jaxpr)
    known = tuple(not trace.is_tangent(x) for x in operands)
    first, second, known_out = split_for_later(jaxpr, known, policy)
    with core.set_current_trace(trace.parent):
        values = eval_jaxpr(first, [], *compress(operands, known))
    count = sum(known_out)
    prevent_cse = _preventing(params["prevent_cse"], before=len(values) - count)
    with core.set_current_trace(trace.tangents):
        later = remat_p.bind(
            *values[count:], *operands, jaxpr=second, policy=policy, prevent_cse=prevent_cse, differentiated=True
        )
    return merge_lists([not k for k in known_out], values[:count], later)


@remembered
def split_for_later(jaxpr: Jaxpr, known: tuple[bool, ...], policy: Policy | None) -> tuple[Jaxpr, Jaxpr, list[bool]]:
    """Split a jaxpr in two; also return which outputs are known. The first takes the known inputs, and returns the known outputs and the
    saved values; the second takes the saved values and all inputs, and returns the other outputs.
    """
    count = len(known)
    split = split_by_policy(
        jaxpr,
        tuple(not k for k in known),
        (True,) * count,
        (False,) * len(jaxpr.outvars),
        False,
        policy or nothing_saveable,
    )
    later = list(compress(split.unknown, split.there))
    is_fixed = (False,) * split.num_residuals + (True,) * count
    second, used = dce_jaxpr(split.second, later, instantiate=is_fixed)
    kept = used[: split.num_residuals]
    known_out = [not u for u in split.unknown]
    first, _ = dce_jaxpr(split.first, [True] * sum(known_out) + kept, instantiate=True)
    return _with_exact_residuals(first, first.outvars[sum(known_out) :]), second, known_out


def _with_exact_residuals(jaxpr: Jaxpr, residuals: Sequence[Any]) -> Jaxpr:
    """Return the jaxpr, changed to round residuals to their types before it reads them itself. Otherwise XLA might compute with more bits
    than it saves, and the recomputation, which begins with the saved values, would give other results.
    """
    read = {x for eqn in jaxpr.eqns for x in eqn.invars if isinstance(x, Var)}
    exact = {v: Var(v.aval) for v in residuals if v in read and dtypes.issubdtype(v.aval.dtype, np.inexact)}
    eqns = [_rounding(exact[v], v) for v in reversed(residuals) if v in exact and v in jaxpr.invars]
    for eqn in jaxpr.eqns:
        rounded = [v for v in eqn.outvars if v in exact and eqn.primitive is not reduce_precision_p]
        eqns.append(eqn.replace(outvars=[exact[v] if v in rounded else v for v in eqn.outvars]))
        eqns += [_rounding(exact[v], v, eqn) for v in rounded]
    return jaxpr.replace(invars=[exact.get(v, v) for v in jaxpr.invars], eqns=eqns)


def _rounding(rough: Var, exact: Var, made_by: JaxprEqn | None = None) -> JaxprEqn:
    info = dtypes.finfo(exact.aval.dtype)
    params = {"exponent_bits": info.nexp, "mantissa_bits": info.nmant}
    source = source_info.UNKNOWN if made_by is None else made_by.source_info
    return JaxprEqn([rough], [exact], reduce_precision_p, params, source_info=source)


def _split(policy: Policy, unknown: list[bool], there: list[bool], eqn: JaxprEqn) -> Parts:
    """Split rule of a checkpoint inside another one: split its jaxpr by the outer one's policy."""
    jaxpr = eqn.params["jaxpr"]
    split = split_by_policy(jaxpr, tuple(unknown), tuple(there), (False,) * len(jaxpr.outvars), False, policy)
    residuals = [Var(aval) for aval in split.second.in_avals[: split.num_residuals]]
    known, _ = partition_list(unknown, eqn.invars)
    results, _ = partition_list(split.unknown, eqn.outvars)
    prevent_cse = eqn.params["prevent_cse"]
    first = eqn.replace(
        invars=known,
        outvars=[*results, *residuals],
        params=eqn.params
        | {"jaxpr": split.first, "prevent_cse": _preventing(prevent_cse, kept=[not u for u in unknown])},
        effects=split.first.effects,
    )
    second = eqn.replace(
        invars=[*residuals, *compress(eqn.invars, there)],
        outvars=list(compress(eqn.outvars, split.there)),
        params=eqn.params
        | {
            "jaxpr": split.second,
            "prevent_cse": _preventing(prevent_cse, before=len(residuals), kept=there),
            "differentiated": True,
        },
        effects=split.second.effects,
    )
    return Parts(first, second, split.unknown, split.there, [*not_there(eqn, there), *residuals])


split_rules[remat_p] = _split


def _transpose(cts: Sequence[Any], *operands: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
    linear = tuple(map(is_undefined, operands))
    known = [x for x in operands if not is_undefined(x)]
    transposed, nonzero = _transpose_anew(jaxpr, linear, tuple(type(ct) is not Zero for ct in cts))
    given = [ct for ct in cts if type(ct) is not Zero]
    args = [*transposed.consts, *known, *given]
    params["prevent_cse"] = _preventing(
        params["prevent_cse"], len(transposed.consts), [not is_linear for is_linear in linear], len(given)
    )
    made = remat_p.bind(*args, jaxpr=convert_constvars_jaxpr(transposed), **params)
    found = iter(ad.with_zeros(made, nonzero, list(compress(jaxpr.in_avals, linear))))
    return [next(found) if is_linear else None for is_linear in linear]


@remembered
def _transpose_anew(jaxpr: Jaxpr, linear: tuple[bool, ...], given: tuple[bool, ...]) -> tuple[Jaxpr, tuple[bool, ...]]:
    """Transpose a jaxpr with nonlinear parts, which are recomputed. Return the same as `transpose_jaxpr`."""
    count = len(linear) - sum(linear)
    of_known = [aval for aval, is_linear in zip(jaxpr.in_avals, linear, strict=True) if not is_linear]
    nonzero: list[bool] = []

    def transposed(*values: Any) -> list[Any]:
        known = values[:count]
        parts = split_jaxpr(jaxpr, linear)
        computed = jaxpr_as_fun(parts.primal)(*known)
        residuals = parts.residuals([*jaxpr.consts, *known], computed[parts.nonzero.count(False) :])
        cotangents = compress(ad.with_zeros(values[count:], given, jaxpr.out_avals), parts.nonzero)
        inputs = [UndefinedPrimal(tangent_aval(aval)) for aval in compress(jaxpr.in_avals, linear)]
        found = backward_pass(parts.tangent, parts.tangent.consts, [*residuals, *inputs], list(cotangents))
        outs = found[len(residuals) :]
        nonzero.extend(type(ct) is not Zero for ct in outs)
        return [ct for ct in outs if type(ct) is not Zero]

    avals = [*of_known, *(tangent_aval(aval) for aval in compress(jaxpr.out_avals, given))]
    made = trace_to_jaxpr(transposed, avals, jaxpr.debug_info.with_unknown_names())
    return made, tuple(nonzero)


primitive_jvps[remat_p] = _jvp
partial_eval_rules[remat_p] = _partial_eval
primitive_transposes[remat_p] = _transpose

# --- the function -----------------------------------------------------------------------------------------------------


@traceback_util.api_boundary
def checkpoint(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool | Sequence[Any] = True,
    policy: Policy | None = None,
    static_argnums: int | tuple[int, ...] = (),
    static_argnames: str | Iterable[str] = (),
    concrete: Any = None,
) -> Callable[..., Any]:
    """Return the same function, whose gradient saves only the arguments, and recomputes everything else in the reverse pass.

    Args:
      fun: a function of trees of arrays. If it cannot be called, raise TypeError.
      prevent_cse: whether to keep XLA from merging the recomputation with the original (CSE). False makes better code if
        the call is in the body of a scan. A tuple has a bool, or a tree of bools, for each argument: with False, XLA may
        merge operations on that argument alone, such as weights.
      policy: which results are saved, too: one of `checkpoint_policies`; by default none.
      static_argnums: the positions of arguments that are Python values; ValueError if a call lacks one. Equal values share a trace.
      static_argnames: not used: JAX uses it only with an option that jitkit lacks.
      concrete: an old option. As in JAX, anything but None raises NotImplementedError.
    """
    if concrete is not None:
        raise NotImplementedError(
            "The `concrete` option to `jax.checkpoint` was deprecated in JAX v0.8.2, and removed in JAX v0.10.0. In its place "
            "please use `static_argnums`; for details refer to "
            "https://docs.jax.dev/en/latest/jep/11830-new-remat-checkpoint.html."
        )
    api_util.check_callable(fun)
    if isinstance(prevent_cse, Sequence):
        prevent_cse = tuple(prevent_cse)
    if not isinstance(prevent_cse, (tuple, bool)):
        raise TypeError(f"prevent_cse must be a bool or tuple of bools, got type(prevent_cse)={type(prevent_cse)!r}")
    given: Any = (static_argnums,) if isinstance(static_argnums, int) else static_argnums

    @wraps(fun)
    @traceback_util.api_boundary
    def call(*args: Any, **kwargs: Any) -> Any:
        statics = {i % len(args): args[i] for i in _positions(given, len(args))}
        dynamic = tuple(x for i, x in enumerate(args) if i not in statics)
        leaves, in_tree = tree_flatten(with_stand_ins_in((dynamic, kwargs)))

        def merged(dynamic: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
            values = iter(dynamic)
            return tuple(statics[i] if i in statics else next(values) for i in range(len(args)))

        body = Body(
            lambda dynamic, keywords: fun(*merged(dynamic, keywords), **keywords),
            fun,
            "checkpoint / remat",
            merged,
            tuple((i, _Static(x)) for i, x in sorted(statics.items())),
        )
        closes_over = any(isinstance(x, core.Tracer) for x in statics.values())
        trace = trace_anew if closes_over else trace_body
        traced = trace(body, in_tree, [core.typeof(x) for x in leaves])
        hidden: bool | tuple[bool, ...] = prevent_cse
        if isinstance(prevent_cse, tuple):
            among = broadcast_prefix(prevent_cse, (dynamic, kwargs) if kwargs else dynamic)
            hidden = (False,) * len(traced.consts) + tuple(among)
        outs = remat_p.bind(
            *traced.consts, *leaves, jaxpr=traced.jaxpr, prevent_cse=hidden, differentiated=False, policy=policy
        )
        return tree_unflatten(traced.out_tree, outs)

    return call


def _positions(given: Any, count: int) -> tuple[int, ...]:
    """Return the positions of the static arguments in a call with `count` arguments. Raise TypeError for anything but a tuple of ints,
    and ValueError for a position that the call lacks.
    """
    fits = [
        -count <= i if since(0, 12) else i >= -count for i in given
    ]  # raises Python's TypeError for anything but an integer
    if not all(fits) and not since(0, 12):
        raise ValueError(
            "Positional argument indices, e.g. for `static_argnums`, must have value greater than or equal to -len(args) "
            f"and less than len(args), but got value {given[fits.index(False)]} for len(args) == {count}."
        )
    if type(given) is not tuple or not all(type(i) is int for i in given):
        raise TypeError(
            "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` must be an int, tuple of ints or, bool, but got "
            f"value {given}"
        )
    if not all(-count <= i < count for i in given):
        raise ValueError(
            "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take integer values greater than or "
            f"equal to `-len(args)` and less than `len(args)`, but got {given}, while `len(args)` = {count}"
        )
    return given


class _Static:
    """A static argument in a key: its type and value, or the object itself if it has no hash."""

    def __init__(self, value: Any) -> None:
        self.value = value
        try:
            self.hash = hash(value)
            self.is_hashable = True
        except TypeError:
            self.hash = id(value)
            self.is_hashable = False

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Static) or type(self.value) is not type(other.value):
            return False
        if self.is_hashable and other.is_hashable:
            return bool(self.value == other.value)
        return self.value is other.value


def remat(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool | Sequence[Any] = True,
    policy: Policy | None = None,
    static_argnums: int | tuple[int, ...] = (),
    concrete: Any = None,
) -> Callable[..., Any]:
    """Return `checkpoint(fun)`; the parameters are the same, without `static_argnames`."""
    return checkpoint(fun, prevent_cse=prevent_cse, policy=policy, static_argnums=static_argnums, concrete=concrete)
