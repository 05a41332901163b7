"""Solves equations with any solver, and differentiates the solution: custom_root and custom_linear_solve.

The derivative of a solution follows from the equation alone. If the root x(p) of f(p, x) = 0 depends on parameters p,
then df/dp + (df/dx) x' = 0, which is a linear equation for x'. If A x = b, then dx is the solution of A dx = db - dA x:
the same system with another right side. So the solver is never differentiated.

A linear system is one equation of a jaxpr, with four jaxprs: the products with the matrix and with its transpose, and
the solutions of both systems. To transpose it, swap the two of each pair.

JAX: jax/_src/lax/control_flow/solves.py:custom_linear_solve
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import core
from ...base import traceback_util
from ...base.util import split_list
from ...core import Primitive
from ...interpreters import ad
from ...interpreters.ad_rules import (
    Zero,
    add_tangents,
    instantiate_zeros,
    is_float0,
    is_undefined,
    primitive_jvps,
    primitive_transposes,
    zero_tangent,
)
from ...interpreters.batching import AxisData, Dims, Vals, batch_jaxpr_if, move_to, moveaxis, register_batcher
from ...interpreters.mlir import LoweringContext, register_lowering
from ...interpreters.partial_eval import with_stand_ins_in
from ...jaxpr import jaxpr_as_fun
from ...tree_util import PyTreeDef, tree_flatten, tree_leaves, tree_unflatten
from ..elementwise import neg
from ..utils import derivatives
from .common import Body, Traced, avals_of, trace_anew, trace_body

Solver = Callable[[Callable[[Any], Any], Any], Any]  # (f, first guess of its root), or (f, b) -> x: f(x) = b


def _check_tree(who: str, what: str, found: PyTreeDef, expected: PyTreeDef, has_aux: bool = False) -> None:
    if has_aux:
        if len(found.children()) != 2:
            raise ValueError(
                f"{who}() produced a pytree with structure {found}, but a pytree tuple with auxiliary output was expected "
                "because has_aux was set to True."
            )
        found = found.children()[0]
    if found != expected:
        raise TypeError(f"{who}() output pytree structure must match {what}, got {found} and {expected}.")


# --- custom_root -------------------------------------------------------------------------------------------------------


class _Root(NamedTuple):
    """Three values: one for the function, one for its solver, one (`l_and_s`) for the solver of its linearisation at
    the root.
    """

    f: Any
    solve: Any
    l_and_s: Any


@traceback_util.api_boundary
def custom_root(
    f: Callable[[Any], Any], initial_guess: Any, solve: Solver, tangent_solve: Solver, has_aux: bool = False
) -> Any:
    """Return a root of `f`, found by `solve(f, initial_guess)`. Derivatives with respect to values that `f` closes over
    follow from the equation `f(root) = 0`.

    Args:
      f: takes a tree, and returns one of the same structure.
      initial_guess: the tree that the search begins with.
      solve: returns a tree x with `f(x) = 0`; this is not checked. It need not be differentiable.
      tangent_solve: takes a linear function g, which is `f` linearized at the root, and a tree y, and returns x with `g(x) = y`.
        For a scalar it is `lambda g, y: y / g(1.0)`.
      has_aux: `solve` returns a pair: the root, and other data, which is returned beside it.

    Raises:
      TypeError: a function returns a tree of another structure.
      ValueError: with `has_aux`, `solve` does not return a pair.
    """
    guess, tree = tree_flatten(with_stand_ins_in(initial_guess))
    avals = avals_of(guess)
    arguments, pair = tree_flatten((initial_guess,))[1], tree_flatten((initial_guess, initial_guess))[1]

    def linearize_and_solve(x: Any, b: Any) -> Any:
        return tangent_solve(derivatives.linearize(f, x)[1], b)

    of_f = trace_body(Body(f, f, "custom_root"), arguments, avals)
    _check_tree("f", "initial_guess", of_f.out_tree, tree)
    of_solve = trace_anew(
        Body(functools.partial(solve, f), solve, "custom_root solve", lambda x: (f, x)), arguments, avals
    )
    _check_tree("solve", "initial_guess", of_solve.out_tree, tree, has_aux)
    of_tangents = trace_anew(
        Body(linearize_and_solve, tangent_solve, "custom_root tangent_solve"), pair, [*avals, *avals]
    )
    _check_tree("tangent_solve", "x", of_tangents.out_tree, tree)

    parts = _Root(of_f, of_solve, of_tangents)
    lengths, jaxprs = _Root(*(len(each.consts) for each in parts)), _Root(*(each.jaxpr for each in parts))
    consts = [x for each in parts for x in each.consts]
    return tree_unflatten(of_solve.out_tree, _with_rule()(lengths, jaxprs, *consts, *guess))


@functools.cache
def _with_rule() -> Any:
    """Return `_custom_root` with its JVP rule."""
    function = derivatives.custom_jvp(_custom_root, nondiff_argnums=(0, 1))
    function.defjvp(_root_jvp)
    return function


def _custom_root(lengths: _Root, jaxprs: _Root, *args: Any) -> list[Any]:
    _, solve, _, guess = split_list(args, lengths)
    return jaxpr_as_fun(jaxprs.solve)(*solve, *guess)


def _root_jvp(
    lengths: _Root, jaxprs: _Root, primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """JVP rule: the tangent t of the root x solves (df/dx) t = -(df/dp) p', where p are the values that `f` closes
    over, and p' their tangents. Other data from `solve` have the tangent 0.
    """
    of_f, _, of_tangents, _ = split_list(primals, lengths)
    dots = [zero_tangent(x) if is_float0(t) else t for x, t in zip(of_f, tangents, strict=False)]
    found = _with_rule()(lengths, jaxprs, *primals)
    root, aux = split_list(found, [len(jaxprs.f.out_avals)])
    _, by_parameters = ad.jvp(lambda *params: jaxpr_as_fun(jaxprs.f)(*params, *root), of_f, dots)
    right_side = map(instantiate_zeros, by_parameters)
    solution = jaxpr_as_fun(jaxprs.l_and_s)(*of_tangents, *root, *right_side)
    return found, [*map(neg, solution), *(instantiate_zeros(zero_tangent(x)) for x in aux)]


# --- custom_linear_solve: A x = b ----------------------------------------------------------------------------------------


class _LinearSolveTuple(NamedTuple):
    """Four values, one for each of the functions x -> A x, y -> A^T y, and the two that solve these systems."""

    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any

    def transpose(self) -> _LinearSolveTuple:
        """Return the four values for the transposed system."""
        return _LinearSolveTuple(self.vecmat, self.matvec, self.transpose_solve, self.solve)


def flat(parts: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the parts, concatenated in their order."""
    return [x for part in parts for x in part]


linear_solve_p = Primitive("custom_linear_solve", multiple_results=True, pure_shape_rule=False)
linear_solve_p.effects = lambda params: params["jaxprs"].solve.effects


@linear_solve_p.def_abstract_eval
def _(*avals: Any, const_lengths: _LinearSolveTuple, jaxprs: _LinearSolveTuple) -> list[Any]:
    """Shape rule: a solution has the type of the right side."""
    b = avals[sum(const_lengths) :]
    return [*b, *jaxprs.solve.out_avals[len(b) :]]


@register_lowering(linear_solve_p)
def _(ctx: LoweringContext, *args: str, const_lengths: _LinearSolveTuple, jaxprs: _LinearSolveTuple) -> list[str]:
    *consts, b = split_list(args, const_lengths)
    for solution, aval in zip(jaxprs.solve.out_avals, ctx.avals_in[len(args) - len(b) :], strict=False):
        if solution.dtype != aval.dtype:
            raise ValueError(
                "Cannot lower jaxpr with verifier errors:\n"
                f"custom_linear_solve: the solution is {solution.str_short()}, and the right side is {aval.str_short()}.\n"
                f"Convert the right side first: `b.astype({solution.dtype.name!r})`."
            )
    return ctx.lower_region(jaxprs.solve, [*consts[2], *b])


def _bind(*args: Any, const_lengths: _LinearSolveTuple, jaxprs: _LinearSolveTuple) -> list[Any]:
    """Bind the equation. Outside of any trace, if the solution has another dtype than the right side, only call
    `solve`, as JAX does.
    """
    *consts, b = split_list(args, const_lengths)
    dtypes = [aval.dtype for aval in jaxprs.solve.out_avals[: len(b)]]
    if core.current_trace() is None and dtypes != [core.typeof(x).dtype for x in b]:
        return jaxpr_as_fun(jaxprs.solve)(*consts[2], *b)
    return list(linear_solve_p.bind(*args, const_lengths=const_lengths, jaxprs=jaxprs))


@register_batcher(linear_solve_p, even_unmapped=True)
def _(axis: AxisData, vals: Vals, dims: Dims, *, const_lengths: _LinearSolveTuple, jaxprs: _LinearSolveTuple) -> Any:
    """Batching rule: batch the functions again until nothing changes, since an array of the right side or of the
    solution that is a batch in one of the four must be a batch in all. All batch axes come first.
    """
    *consts, b = split_list(vals, const_lengths)
    *const_dims, b_dims = split_list(dims, const_lengths)
    of_consts = _LinearSolveTuple(*([dim is not None for dim in part] for part in const_dims))
    count = len(b)
    b_now, x_now = [dim is not None for dim in b_dims], [False] * len(jaxprs.solve.out_avals)
    while True:
        solve, x_out = batch_jaxpr_if(jaxprs.solve, axis, [*of_consts.solve, *b_now], x_now)
        found, vecmat, transpose_solve = x_out, None, None
        if jaxprs.vecmat is not None:
            vecmat, of_vecmat = batch_jaxpr_if(jaxprs.vecmat, axis, [*of_consts.vecmat, *b_now], b_now)
            of_aux = [True] * (len(x_out) - count)
            found = [one or other for one, other in zip(x_out, [*of_vecmat, *of_aux], strict=True)]
        matvec, b_out = batch_jaxpr_if(jaxprs.matvec, axis, [*of_consts.matvec, *found[:count]], b_now)
        if jaxprs.transpose_solve is not None:
            inputs = [*of_consts.transpose_solve, *found[:count]]
            transpose_solve, of_transposed = batch_jaxpr_if(jaxprs.transpose_solve, axis, inputs, found)
            b_out = [one or other for one, other in zip(b_out, of_transposed, strict=False)]
        b_out = [one or other for one, other in zip(b_out, b_now, strict=True)]
        if (found, b_out) == (x_now, b_now):
            break
        x_now, b_now = found, b_out
    operands = [
        x if dim is None else moveaxis(x, dim, 0) for x, dim in zip(flat(consts), flat(const_dims), strict=True)
    ]
    operands += [move_to(x, dim, 0, axis.size) if now else x for x, dim, now in zip(b, b_dims, b_now, strict=True)]
    batched = _LinearSolveTuple(matvec, vecmat, solve, transpose_solve)
    outs = _bind(*operands, const_lengths=const_lengths, jaxprs=batched)
    return outs, [0 if is_batched else None for is_batched in x_out]


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, const_lengths: _LinearSolveTuple, jaxprs: _LinearSolveTuple
) -> tuple[list[Any], list[Any]]:
    """JVP rule: the solution's tangent dx solves A dx = db - dA x, where dA and db are the tangents of the matrix and of b."""
    *consts, _ = split_list(primals, const_lengths)
    *const_dots, right_side = split_list(tangents, const_lengths)
    params: dict[str, Any] = {"const_lengths": const_lengths, "jaxprs": jaxprs}
    outs = linear_solve_p.bind(*primals, **params)
    x, aux = split_list(outs, [len(right_side)])
    if any(type(t) is not Zero for t in const_dots[0]):
        dots = [*const_dots[0], *map(zero_tangent, x)]
        _, change = ad.jvp(jaxpr_as_fun(jaxprs.matvec), [*consts[0], *x], dots)
        right_side = [add_tangents(db, neg(instantiate_zeros(dy))) for db, dy in zip(right_side, change, strict=True)]
    solved = linear_solve_p.bind(*flat(consts), *map(instantiate_zeros, right_side), **params)
    return outs, [*solved[: len(x)], *map(zero_tangent, aux)]


def _transpose(
    cts: Sequence[Any], *operands: Any, const_lengths: _LinearSolveTuple, jaxprs: _LinearSolveTuple
) -> list[Any]:
    """Transpose rule: solve the transposed system for the cotangent of the solution. Raise TypeError without a
    `transpose_solve`, NotImplementedError if the equation is linear in other operands.
    """
    if jaxprs.transpose_solve is None:
        raise TypeError(
            "transpose_solve required for backwards mode automatic differentiation of custom_linear_solve\n"
            "Pass it, or say `symmetric=True` if the function is its own transpose."
        )
    *consts, b = split_list(operands, const_lengths)
    if any(map(is_undefined, flat(consts))):
        raise NotImplementedError(
            "custom_linear_solve is linear in its right side only, and something else is linear here"
        )
    transposed = _LinearSolveTuple(*consts).transpose()
    found = linear_solve_p.bind(
        *flat(transposed),
        *map(instantiate_zeros, cts[: len(b)]),
        const_lengths=const_lengths.transpose(),
        jaxprs=jaxprs.transpose(),
    )
    return [*[None] * sum(const_lengths), *found[: len(b)]]


primitive_jvps[linear_solve_p] = _jvp
primitive_transposes[linear_solve_p] = _transpose


@traceback_util.api_boundary
def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Solver,
    transpose_solve: Solver | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Return the solution x of `matvec(x) = b`, found by `solve(matvec, b)`. Its derivatives follow from the equation.

    Args:
      matvec: a linear function of trees like `b`, differentiable with respect to what it closes over.
      b: the right side, a tree of arrays.
      solve: returns x with `matvec(x) = b`; this is not checked. It need not be differentiable.
      transpose_solve: takes the transpose of `matvec` and a right side, and returns the solution; needed for reverse-mode derivatives,
        unless `symmetric`.
      symmetric: whether `matvec` is its own transpose; then `solve` is also the `transpose_solve`, unless one is given.
      has_aux: `solve` and `transpose_solve` return a pair: the solution, and other data, which is returned beside it.

    Raises:
      TypeError: a function returns a tree of another structure; a reverse-mode derivative has no `transpose_solve`.
      ValueError: a function returns arrays of other shapes; with `has_aux`, `solve` does not return a pair.
    """
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    right_side, tree = tree_flatten(with_stand_ins_in(b))
    avals, arguments = avals_of(right_side), tree_flatten((b,))[1]
    shapes = [aval.shape for aval in avals]

    def checked(name: str, fun: Callable[[Any], Any], user: Callable[..., Any], traced_for: str, aux: bool) -> Traced:
        def with_check(x: Any) -> Any:
            y = fun(x)
            solution, _ = y if aux else (y, None)
            given = [np.shape(leaf) for leaf in tree_leaves(solution)]
            if given != shapes:
                raise ValueError(f"{name}() output shapes must match b, got {given} and {shapes}")
            return y

        view = (lambda x: (x,)) if user is fun else lambda x: (fun, x)
        traced = trace_anew(Body(with_check, user, traced_for, view), arguments, avals)
        _check_tree(name, "b", traced.out_tree, tree, aux)
        return traced

    of_matvec = checked("matvec", matvec, matvec, "custom_linear_solve", False)
    of_solve = checked("solve", functools.partial(solve, matvec), solve, "custom_linear_solve solve", has_aux)
    found = of_solve
    parts = _LinearSolveTuple(of_matvec, None, of_solve, None)
    if transpose_solve is not None:
        what, vecmat = "custom_linear_solve transpose_solve", matvec
        of_vecmat = of_matvec
        if not symmetric:
            vecmat = functools.partial(_only_result, derivatives.linear_transpose(matvec, b))
            of_vecmat = trace_anew(Body(vecmat, transpose_solve, what, lambda x: (vecmat, x)), arguments, avals)
        found = checked("transpose_solve", functools.partial(transpose_solve, vecmat), transpose_solve, what, has_aux)
        parts = _LinearSolveTuple(of_matvec, of_vecmat, of_solve, found)
    outs = _bind(
        *(x for each in parts if each for x in each.consts),
        *right_side,
        const_lengths=_LinearSolveTuple(*(len(each.consts) if each else 0 for each in parts)),
        jaxprs=_LinearSolveTuple(*(each and each.jaxpr for each in parts)),
    )
    return tree_unflatten(found.out_tree, outs)


def _only_result(function: Callable[[Any], tuple[Any]], x: Any) -> Any:
    (result,) = function(x)
    return result
