"""Rules of equations that hold jaxprs: the error goes in as their first operands, and comes out as their first results

The errors that a branch or a step may find are known once its jaxpr has been checked. The error that goes in must have
places for all of them, so that it comes out with the same type; then the jaxpr is checked again.

JAX: jax/_src/checkify.py:cond_error_check
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

from ... import lax
from ...base.util import split_list
from ...core import Primitive, current_trace, typeof
from ...custom_derivatives.calling import fields_of
from ...custom_derivatives.jvp import custom_jvp_call_p
from ...custom_derivatives.jvp_rule import JvpRule
from ...custom_derivatives.vjp import custom_vjp_call_p
from ...custom_derivatives.vjp_rule import VjpRule
from ...derivatives.checkpoint import remat_p
from ...interpreters import partial_eval
from ...interpreters.ad_rules import Zero, tangent_aval, zero_tangent
from ...jaxpr import Jaxpr, convert_constvars_jaxpr, eval_jaxpr, keep_outputs, move_inputs_to_front, remembered
from ...pjit.jit_call import jit_p
from ...tree_util import PyTreeDef, tree_flatten, tree_structure, tree_unflatten, treedef_tuple
from .errors import Error, ErrorEffect
from .functional import Checked, Enabled, checked, checked_jaxpr, register_rule


def _types(values: Sequence[Any]) -> list[Any]:
    return list(map(typeof, values))


def _leaves(error: Error) -> tuple[list[Any], PyTreeDef]:
    return tree_flatten(error)


def _checked_for(jaxpr: Jaxpr, enabled: Enabled, error: Error, avals: Sequence[Any]) -> Checked:
    leaves, tree = _leaves(error)
    return checked_jaxpr(jaxpr, enabled, tree, *_types(leaves), *avals)


def _result(out_tree: PyTreeDef, values: Sequence[Any]) -> tuple[Error, list[Any]]:
    error, outs = tree_unflatten(out_tree, values)
    return error, outs


# --- branches ---------------------------------------------------------------------------------------------------------


@register_rule(lax.cond_p)
def _(
    primitive: Primitive,
    error: Error,
    enabled: Enabled,
    index: Any,
    *operands: Any,
    branches: tuple[Jaxpr, ...],
    **params: Any,
) -> tuple[Error, list[Any]]:
    avals = _types(operands)
    first = [_checked_for(branch, enabled, error, avals) for branch in branches]
    error = error.with_places_for(frozenset().union(*(each.effects for each in first)))
    again = [_checked_for(branch, enabled, error, avals) for branch in branches]
    jaxprs = tuple(each.jaxpr for each in again)
    outs = primitive.bind(index, *_leaves(error)[0], *operands, branches=jaxprs, **params)
    error, results = _result(again[0].out_tree, outs)
    for branch in again[1:]:
        error = error.with_metadata(_result(branch.out_tree, outs)[0]._metadata)
    return error, results


# --- loops ------------------------------------------------------------------------------------------------------------


@register_rule(lax.scan_p)
def _(
    primitive: Primitive,
    error: Error,
    enabled: Enabled,
    *operands: Any,
    jaxpr: Jaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> tuple[Error, list[Any]]:
    consts, carry, xs = split_list(operands, [num_consts, num_carry])
    avals = _types([*consts, *carry]) + jaxpr.in_avals[num_consts + num_carry :]
    error = error.with_places_for(_checked_for(jaxpr, enabled, error, avals).effects)
    leaves = _leaves(error)[0]
    step = _checked_for(jaxpr, enabled, error, avals)
    to_front = (False,) * len(leaves) + (True,) * num_consts + (False,) * (num_carry + len(xs))
    outs = primitive.bind(
        *consts,
        *leaves,
        *carry,
        *xs,
        jaxpr=move_inputs_to_front(step.jaxpr, to_front),
        num_consts=num_consts,
        num_carry=num_carry + len(leaves),
        **params,
    )
    return _result(step.out_tree, outs)


@register_rule(lax.while_p)
def _(
    primitive: Primitive,
    error: Error,
    enabled: Enabled,
    *operands: Any,
    cond_jaxpr: Jaxpr,
    body_jaxpr: Jaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> tuple[Error, list[Any]]:
    """Rule of loops: evaluate the condition, with its checks, once before the loop, and at the end of each step for the
    next one. Raise ValueError for a condition that is a batch.
    """
    if cond_jaxpr.out_avals[0].shape:
        raise ValueError(
            "Checkify does not support batched while-loops (checkify-of-vmap-of-while). \nHint: if possible, move the vmap to "
            "the outer level to get vmap-of-checkify-of-while."
        )
    cond_consts, body_consts, carry = split_list(operands, [cond_nconsts, body_nconsts])
    error, _ = checked(cond_jaxpr, enabled, error, *cond_consts, *carry)
    body = _body_and_condition(cond_jaxpr, body_jaxpr, cond_nconsts)
    error = error.with_places_for(_checked_for(body, enabled, error, body.in_avals).effects)
    leaves = _leaves(error)[0]
    step = _checked_for(body, enabled, error, body.in_avals)
    condition = _checked_for(cond_jaxpr, enabled, error, _types([*cond_consts, *carry])).jaxpr
    condition = keep_outputs(condition, (False,) * (len(condition.outvars) - 1) + (True,))
    stay, go = (False,) * len(leaves), (False,) * len(carry)
    outs = primitive.bind(
        *cond_consts,
        *cond_consts,
        *body_consts,
        *leaves,
        *carry,
        cond_nconsts=cond_nconsts,
        cond_jaxpr=move_inputs_to_front(condition, (*stay, *[True] * cond_nconsts, *go)),
        body_nconsts=cond_nconsts + body_nconsts,
        body_jaxpr=move_inputs_to_front(step.jaxpr, (*stay, *[True] * (cond_nconsts + body_nconsts), *go)),
    )
    return _result(step.out_tree, outs)


@remembered
def _body_and_condition(cond_jaxpr: Jaxpr, body_jaxpr: Jaxpr, cond_nconsts: int) -> Jaxpr:
    """Return a body that also evaluates the condition on its results. Its first arguments are the constants of the condition."""

    def both(*args: Any) -> list[Any]:
        outs = eval_jaxpr(body_jaxpr, body_jaxpr.consts, *args[cond_nconsts:])
        lax.dce_sink(eval_jaxpr(cond_jaxpr, cond_jaxpr.consts, *args[:cond_nconsts], *outs))
        return outs

    avals = [*cond_jaxpr.in_avals[:cond_nconsts], *body_jaxpr.in_avals]
    return partial_eval.trace_to_jaxpr(both, avals, body_jaxpr.debug_info.with_unknown_names())


# --- calls ------------------------------------------------------------------------------------------------------------


@register_rule(jit_p)
def _(
    primitive: Primitive,
    error: Error,
    enabled: Enabled,
    *operands: Any,
    jaxpr: Jaxpr,
    donated_invars: tuple[bool, ...],
    **params: Any,
) -> tuple[Error, list[Any]]:
    leaves = _leaves(error)[0]
    call = _checked_for(jaxpr, enabled, error, _types(operands))
    more = len(call.jaxpr.outvars) - len(jaxpr.outvars)
    for which, count in (("in_shardings", len(leaves)), ("out_shardings", more)):
        if which in params:
            params[which] = (None,) * count + params[which]
    donated = (False,) * len(leaves) + donated_invars
    outs = primitive.bind(*leaves, *operands, jaxpr=call.jaxpr, donated_invars=donated, **params)
    return _result(call.out_tree, outs)


@register_rule(remat_p)
def _(
    primitive: Primitive,
    error: Error,
    enabled: Enabled,
    *operands: Any,
    jaxpr: Jaxpr,
    prevent_cse: bool | tuple[bool, ...],
    **params: Any,
) -> tuple[Error, list[Any]]:
    leaves = _leaves(error)[0]
    call = _checked_for(jaxpr, enabled, error, _types(operands))
    consts, hidden = call.jaxpr.consts, prevent_cse
    if isinstance(hidden, tuple):
        hidden = (True,) * (len(consts) + len(leaves)) + hidden
    outs = primitive.bind(
        *consts, *leaves, *operands, jaxpr=convert_constvars_jaxpr(call.jaxpr), prevent_cse=hidden, **params
    )
    return _result(call.out_tree, outs)


# --- functions with their own derivatives -----------------------------------------------------------------------------


@register_rule(custom_jvp_call_p)
def _(
    primitive: Primitive,
    error: Error,
    enabled: Enabled,
    *operands: Any,
    call_jaxpr: Jaxpr,
    jvp_jaxpr_fun: JvpRule,
    num_consts: int,
    symbolic_zeros: bool,
) -> tuple[Error, list[Any]]:
    """Rule of functions with a JVP rule. The JVP rule is not checked, as its errors would be lost: to check it, differentiate first."""
    if current_trace() is None:
        return checked(call_jaxpr, enabled, error, *operands)
    leaves, tree = _leaves(error)
    call = _checked_for(call_jaxpr, enabled, error, _types(operands))
    rule = _JvpOfChecked(
        **fields_of(jvp_jaxpr_fun, JvpRule), inner=jvp_jaxpr_fun, added=_Added(tree, call.effects, num_consts)
    )
    outs = primitive.bind(
        *call.jaxpr.consts,
        *leaves,
        *operands,
        call_jaxpr=convert_constvars_jaxpr(call.jaxpr),
        jvp_jaxpr_fun=rule,
        num_consts=len(call.jaxpr.consts),
        symbolic_zeros=symbolic_zeros,
    )
    return _result(call.out_tree, outs)


@register_rule(custom_vjp_call_p)
def _(
    primitive: Primitive,
    error: Error,
    enabled: Enabled,
    *operands: Any,
    call_jaxpr: Jaxpr,
    rule: VjpRule,
    num_consts: int,
) -> tuple[Error, list[Any]]:
    """Rule of functions with a VJP rule, which is not checked, either."""
    if current_trace() is None:
        return checked(call_jaxpr, enabled, error, *operands)
    leaves, tree = _leaves(error)
    call = _checked_for(call_jaxpr, enabled, error, _types(operands))
    fields = fields_of(rule, VjpRule) | {"in_avals": tuple(_types([*leaves, *operands]))}
    outs = primitive.bind(
        *call.jaxpr.consts,
        *leaves,
        *operands,
        call_jaxpr=convert_constvars_jaxpr(call.jaxpr),
        rule=_VjpOfChecked(**fields, inner=rule, added=_Added(tree, call.effects, num_consts)),
        num_consts=len(call.jaxpr.consts),
    )
    return _result(call.out_tree, outs)


class _Added(NamedTuple):
    """The arguments before those of a user's rule, which does not know them: the leaves of an error, then the values
    that the function closed over.
    """

    err_tree: PyTreeDef
    effects: frozenset[ErrorEffect]  # the effects of the error that the function returns
    num_consts: int

    @property
    def size(self) -> int:
        """The number of arguments for the error and for the values closed over."""
        return self.err_tree.num_leaves + self.num_consts

    def error_of(self, primals: Sequence[Any]) -> list[Any]:
        """Return the error that the rule returns: the given error, with places for those that the function may find."""
        error: Error = tree_unflatten(self.err_tree, primals[: self.err_tree.num_leaves])
        return _leaves(error.with_places_for(self.effects))[0]


@dataclasses.dataclass(frozen=True, eq=False)
class _JvpOfChecked(JvpRule):
    """A JVP rule for a function that also takes and returns an error. The rule returns the error that it got."""

    inner: JvpRule
    added: _Added

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any], PyTreeDef]:
        """Return the leaves of the error and the results; their tangents, zero for the error; and the tree of all of these."""
        outs, out_tangents = self.inner.in_jaxpr(primals[self.added.size :], tangents[self.added.size :])
        error = self.added.error_of(primals)
        outs = [*error, *outs]
        return outs, [*map(zero_tangent, error), *out_tangents], tree_structure([0] * len(outs))


@dataclasses.dataclass(frozen=True, eq=False)
class _VjpOfChecked(VjpRule):
    """The VJP rule of a custom function whose checked program also takes and returns the error."""

    inner: VjpRule
    added: _Added

    def forward(
        self, primals: Sequence[Any], perturbed: Sequence[bool]
    ) -> tuple[list[Any], PyTreeDef, list[Any], PyTreeDef]:
        """Return the leaves of the error and the results, their tree, the residuals, and the tree of the residuals."""
        given = primals[self.added.size :], perturbed[self.added.size :]
        outs, out_tree, residuals, res_tree = self.inner.forward_in_jaxpr(*given)
        error, tree = tree_flatten(self.added.error_of(primals))
        return [*error, *outs], treedef_tuple((tree, out_tree)), residuals, res_tree

    def backward(self, residuals: Any, cotangents: Any) -> list[Any]:
        """Return the cotangents of the arguments; the error and constants have none."""
        nothing = [Zero(tangent_aval(aval)) for aval in self.in_avals[: self.added.size]]
        return [*nothing, *self.inner.backward(residuals, cotangents[1])]
