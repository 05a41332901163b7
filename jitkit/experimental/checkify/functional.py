"""jaxpr + error -> error + results: `checkify`

A function is traced to a jaxpr, which is evaluated again, equation by equation. Beside the values goes an Error. A
primitive with a rule in `error_checks` can add to it: `check` does, operations that can fail do if they were asked to,
and equations that hold jaxprs carry the Error through them.

JAX: jax/_src/checkify.py:checkify_jaxpr_flat
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from ...base import traceback_util
from ...core import Primitive
from ...interpreters import partial_eval
from ...jaxpr import DebugInfo, Jaxpr, JaxprEqn, Literal, Var, last_uses, literal_value, remembered
from ...signature import api_util
from ...tree_util import PyTreeDef, tree_flatten, tree_unflatten
from .checking import check_p
from .errors import Error, ErrorCategory, ErrorEffect, init_error, update, user_checks

Out = TypeVar("Out")
Enabled = frozenset[ErrorCategory]

# rule(error, enabled, *operands, **params) -> error, results
ErrorCheckRule = Callable[..., tuple[Error, Any]]
error_checks: dict[Primitive, ErrorCheckRule] = {}


def register_rule(*primitives: Primitive) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: set the rule of some primitives, which is called with the primitive first."""

    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        for primitive in primitives:
            error_checks[primitive] = functools.partial(rule, primitive)
        return rule

    return register


@traceback_util.api_boundary
def checkify(f: Callable[..., Out], errors: frozenset[ErrorCategory] = user_checks) -> Callable[..., tuple[Error, Out]]:
    """Return a function that returns an Error, with the first error found of each kind in `errors`, and the result of
    `f`.

        err, y = checkify.checkify(f, errors=checkify.nan_checks)(x)
        err.throw()

    Args:
      f: may call `check`, also inside of jitted functions, branches and loops. The returned function can be jitted and
        vmapped.
      errors: the kinds to find: `user_checks` are calls of `check`; `nan_checks` operations that return a nan;
        `div_checks` divisions by zero; `index_checks` indices out of bounds; or a union of these, such as `float_checks`
        (nan and division), `automatic_checks` (these and indices) and `all_checks`.

    Raises:
      ValueError: when called, if `f` has a while loop that was vmapped and whose elements have their own conditions.
    """

    @traceback_util.api_boundary
    def checked_fun(*args: Any, **kwargs: Any) -> tuple[Error, Out]:
        out_trees: list[PyTreeDef] = []

        def flat_fun() -> list[Any]:
            outs, out_tree = tree_flatten(f(*args, **kwargs))
            out_trees.append(out_tree)
            return outs

        jaxpr = partial_eval.trace_to_jaxpr(flat_fun, [], DebugInfo("checkify", api_util.source_of(f)))
        error, outs = checked(jaxpr, errors, init_error)
        out: Out = tree_unflatten(out_trees[0], outs)
        return error, out

    return checked_fun


def checked(jaxpr: Jaxpr, enabled: Enabled, error: Error, *args: Any) -> tuple[Error, list[Any]]:
    """Evaluate a jaxpr; return the Error, extended by errors found here, and the jaxpr's results."""
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom: Any) -> Any:
        return literal_value(atom) if isinstance(atom, Literal) else env[atom]

    for eqn, dead in zip(jaxpr.eqns, last_uses(jaxpr), strict=True):
        error, outs = _one_equation(eqn, error, enabled, map(read, eqn.invars))
        env.update(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs], strict=True))
        for var in dead:
            del env[var]
    return error, list(map(read, jaxpr.outvars))


def _one_equation(eqn: JaxprEqn, error: Error, enabled: Enabled, operands: Any) -> tuple[Error, Any]:
    rule = error_checks.get(eqn.primitive)
    if rule is None:
        return error, eqn.perform(eqn.primitive.bind, *operands)
    found: tuple[Error, Any] = eqn.perform(functools.partial(rule, error, enabled), *operands)
    return found


class Checked(NamedTuple):
    """A jaxpr whose first inputs and outputs are the leaves of an Error."""

    jaxpr: Jaxpr
    out_tree: PyTreeDef  # the tree of the pair of an Error and a list of results
    effects: frozenset[ErrorEffect]  # the kinds of exceptions for which the Error has arrays


@remembered
def checked_jaxpr(jaxpr: Jaxpr, enabled: Enabled, err_tree: PyTreeDef, *avals: Any) -> Checked:
    """Return the jaxpr of `checked`, for an error of this tree. `avals` are the types of its leaves and of the
    arguments. The constants of `jaxpr` stay constants.
    """
    made: list[Any] = []

    def flat_fun(*leaves: Any) -> Sequence[Any]:
        count = err_tree.num_leaves
        error, outs = checked(jaxpr, enabled, tree_unflatten(err_tree, leaves[:count]), *leaves[count:])
        found, out_tree = tree_flatten((error, outs))
        made[:] = out_tree, error.effects
        return found

    found = partial_eval.trace_to_jaxpr(flat_fun, avals, jaxpr.debug_info.with_unknown_names())
    return Checked(found, *made)


def _discharge(error: Error, enabled: Enabled, *args: Any, err_tree: PyTreeDef, debug: bool) -> tuple[Error, list[Any]]:
    """Rule of `check`: add the check's error to the Error, and return the Error and no results. Kinds of errors that
    `checkify` was not asked for are dropped, as in JAX.
    """
    new: Error = tree_unflatten(err_tree, args)
    for effect, pred in new._pred.items():
        if effect.error_type in enabled:
            error = update(error, effect, pred, new._code[effect], new._payload[effect])
    return Error(error._pred, error._code, {**new._metadata, **error._metadata}, error._payload), []


error_checks[check_p] = _discharge
