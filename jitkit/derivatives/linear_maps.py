"""function + point -> its derivative there, a linear map: `jvp`, `linearize`, `vjp`, `linear_transpose`

`jvp` applies the map to one tangent. `linearize` returns the map, a function of tangents; `vjp` returns the transposed
map, a function of cotangents. `interpreters/ad`, `ad_linearize` and `ad_transpose` do the work on flat lists; this
module flattens trees, and refuses tangents and cotangents that do not fit the function.

    vjp(f, x)                 y, program = linearize(f, x);  transpose the program

JAX: jax/_src/api.py:linearize
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import core
from ..base import edits, errors, source_info, traceback_util
from ..base.jax_version import since
from ..core import dtypes
from ..interpreters import ad, ad_linearize, ad_transpose, partial_eval, partial_values
from ..interpreters.ad_linearize import LinearProgram
from ..interpreters.ad_rules import UndefinedPrimal, Zero, instantiate_zeros, tangent_aval
from ..interpreters.partial_values import PartialVal
from ..jaxpr import DebugInfo, Var, dce_jaxpr, eval_jaxpr
from ..lax.utils import derivatives
from ..signature import api_util
from ..signature.shape_struct import aval_of_argument
from ..tree_util import Partial, PyTreeDef, keystr, tree_flatten, tree_unflatten
from ..tree_util.paths import equality_errors_pytreedef


@traceback_util.api_boundary
def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """Return `fun(*primals)`, and the tangent of this result for the given `tangents` of `primals`.

    Args:
      primals: the arguments, a tuple or list of trees.
      tangents: a tree like `primals`, of the same shapes and dtypes; the tangent of integers has the dtype float0.
      has_aux: `fun` returns a pair: the result to differentiate, and other data, which comes third.

    Raises:
      TypeError: for trees or dtypes that do not match.
      ValueError: for shapes that do not match.
    """
    api_util.check_callable(fun)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            "primal and tangent arguments to jax.jvp must be tuples or lists; found "
            f"{type(primals).__name__} and {type(tangents).__name__}.{edits.PRIMALS}"
        )
    leaves, tree = tree_flatten(partial_eval.with_stand_ins_in(primals))
    tangent_leaves, tangent_tree = tree_flatten(partial_eval.with_stand_ins_in(tangents))
    if tree != tangent_tree:
        raise TypeError(
            "primal and tangent arguments to jax.jvp must have the same tree structure; primals have tree structure "
            f"{tree} whereas tangents have tree structure {tangent_tree}.{edits.PRIMALS}"
        )
    for x, t in zip(leaves, tangent_leaves, strict=True):
        _check_tangent(core.typeof(x), core.typeof(t))
    flat = _Flat(fun, tree, has_aux)
    with source_info.transform("jvp"):
        outs, out_tangents = ad.jvp(flat, leaves, list(map(_as_zero, tangent_leaves)), flat.aux)
    made = [instantiate_zeros(t) for t in out_tangents]
    return flat.unflatten(outs), flat.unflatten(made), *flat.unflatten_aux()


def _as_zero(tangent: Any) -> Any:
    aval = core.get_aval(tangent)
    return Zero(aval) if aval.dtype == dtypes.float0 else tangent


def _check_tangent(aval: Any, tangent: Any) -> None:
    expected = tangent_aval(aval).dtype
    gap = " " if since(0, 12) else ""  # JAX's messages differ in a space
    if tangent.dtype != expected:
        raise TypeError(
            "primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in case of int/bool primal "
            f"dtype the tangent dtype must be float0.{gap}Got primal dtype {aval.dtype} and so expected tangent dtype "
            f"{expected}, but got tangent dtype {tangent.dtype} instead.{edits.TANGENTS}"
        )
    if aval.shape != tangent.shape:
        raise ValueError(
            f"jvp called with different primal and tangent shapes;{gap}"
            f"Got primal shape {aval.shape} and tangent shape as {tangent.shape}{edits.TANGENTS}"
        )


class _Flat:
    """Turns a function of trees into a function of flat lists. After a call, `out_tree` is the tree of its result; with
    `has_aux`, `aux` has the leaves of its other data.
    """

    def __init__(self, fun: Callable[..., Any], in_tree: PyTreeDef, has_aux: bool) -> None:
        self.fun = fun
        self.in_tree = in_tree
        self.has_aux = has_aux
        self.out_tree: PyTreeDef = in_tree  # until it is known
        self.aux_tree: PyTreeDef | None = None
        self.aux: list[Any] = []

    def __call__(self, *leaves: Any) -> list[Any]:
        out = self.fun(*tree_unflatten(self.in_tree, leaves))
        if self.has_aux:
            if not isinstance(out, (list, tuple)) or len(out) != 2:
                raise TypeError(
                    "expected function with aux output to return a two-element tuple, but got type "
                    f"{type(out)} with value {out!r}{edits.PAIR_WITH_AUX}"
                )
            out, aux = out
            self.aux[:], self.aux_tree = tree_flatten(aux)
        outs, self.out_tree = tree_flatten(out)
        return outs

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """Return a tree like the result."""
        return tree_unflatten(self.out_tree, leaves)

    def unflatten_aux(self) -> list[Any]:
        """Return the other data in a list; [] if there is none."""
        return [] if self.aux_tree is None else [tree_unflatten(self.aux_tree, self.aux)]


def _linearize(
    fun: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool, check: Callable[[Any], Any] = core.typeof
) -> tuple[_Flat, list[Any], list[Any], LinearProgram]:
    """Linearise `fun` at `primals`. Return `fun` as a flat function, the leaves of its arguments and of its results,
    and the linear program. `check` raises an error for a leaf that is not an array.
    """
    api_util.check_callable(fun)
    leaves, tree = tree_flatten(partial_eval.with_stand_ins_in(primals))
    for x in leaves:
        check(x)
    flat = _Flat(fun, tree, has_aux)
    info = DebugInfo("linearize", api_util.source_of(fun))
    with source_info.transform("jvp"):
        outs, program = ad_linearize.linearize(flat, leaves, info, flat.aux)
    return flat, leaves, outs, program


@traceback_util.api_boundary
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return `fun(*primals)`, and a function from tangents of `primals` to the tangent of the result.

    The function of tangents keeps the values that it needs in memory, and does not compute them again. It raises
    TypeError for another tree than that of `primals`, ValueError for other shapes or dtypes. With `has_aux`, `fun`
    returns a pair, whose second part comes third.
    """
    flat, leaves, outs, program = _linearize(fun, primals, has_aux)
    avals = [core.get_aval(x) for x in leaves]
    out_avals = [core.get_aval(x) for x in outs]
    push = functools.partial(_push_forward, program, flat.in_tree, flat.out_tree, avals, out_avals)
    return flat.unflatten(outs), Partial(push, program.jaxpr.consts), *flat.unflatten_aux()


def _push_forward(
    program: LinearProgram,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    avals: Sequence[Any],
    out_avals: Sequence[Any],
    residuals: list[Any],
    *tangents: Any,
) -> Any:
    leaves, tree = tree_flatten(tangents)
    if tree != in_tree:
        raise TypeError(f"expected {in_tree}, got {tree}")
    for aval, t in zip(avals, leaves, strict=True):
        given, expected = core.typeof(t), tangent_aval(aval)
        if (given.shape, given.dtype) != (expected.shape, expected.dtype):
            raise ValueError(
                "linearized function called on tangent values inconsistent with the original primal values:\n"
                f"Got tangent aval {given} for primal aval {aval} but expected {expected}.{edits.TANGENTS}"
            )
    outs = ad.with_zeros(eval_jaxpr(program.jaxpr, residuals, *leaves), program.nonzero, out_avals)
    return tree_unflatten(out_tree, [instantiate_zeros(t) for t in outs])


@traceback_util.api_boundary
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return `fun(*primals)`, and a function from a cotangent of this result to a tuple of cotangents of `primals`.

    A cotangent is a tree like the result, with a weight for each of its elements. With `has_aux`, `fun` returns a pair,
    whose second part comes third.

    Raise InvalidInputException for a primal that is not an array. The function of cotangents raises TypeError unless it
    gets one argument, ValueError if that has another tree, shapes or dtypes than the result.
    """
    leaves, tree = tree_flatten(primals)
    primals = tree_unflatten(tree, core.with_dtypes(leaves))
    flat, _, outs, program = _linearize(fun, primals, has_aux, _check_primal)
    out_avals = [core.get_aval(x) for x in outs]
    pull = functools.partial(_pull_back, program, flat.in_tree, flat.out_tree, out_avals)
    return flat.unflatten(outs), Partial(pull, program.jaxpr.consts), *flat.unflatten_aux()


def _check_primal(x: Any) -> None:
    """Raise InvalidInputException for a leaf that is not an array, as JAX does in `vjp` only."""
    try:
        core.typeof(x)
    except TypeError:
        about = errors.about_value_of_jax(x)
        raise errors.InvalidInputException(
            f"Argument '{x}' of type {type(x)} is not a valid JAX type.{about or edits.NOT_DATA}"
        ) from None


@traceback_util.api_boundary
def _pull_back(
    program: LinearProgram,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    out_avals: Sequence[Any],
    residuals: list[Any],
    *cotangents: Any,
    **keywords: Any,
) -> Any:
    info = program.jaxpr.debug_info
    if "out_ct" in keywords and not cotangents:
        cotangents = (keywords.pop("out_ct"),)
    if keywords:
        raise TypeError(f"VJP.__call__() got an unexpected keyword argument {next(iter(keywords))!r}")
    if not cotangents:
        raise TypeError("VJP.__call__() missing 1 required positional argument: 'out_ct'")
    if len(cotangents) != 1:
        raise TypeError(
            f"\nThe function returned by `jax.vjp` applied to {info.func_name} was called with {len(cotangents)} "
            "arguments,\nbut functions returned by `jax.vjp` must be called with a single argument\ncorresponding to the "
            "single value returned by the function being differentiated\n(even if that returned value is a tuple or "
            "other container).\n\nPass one value like the result, a tuple for a tuple: `f_vjp((ct_1, ct_2))`."
        )
    cts, tree = tree_flatten(cotangents[0])
    if tree != out_tree:
        raise ValueError(
            "unexpected tree structure.\n\nThe argument to a VJP function returned by `jax.vjp` must match the pytree "
            f"structure of the differentiated function {info.func_src_info}.\n\nBut the tree structures differ:\n"
            + "\n".join(
                f"  * out{keystr(path)} was a {one} in the original output, but a {two} here, so {reason}."
                for path, one, two, reason in equality_errors_pytreedef(out_tree, tree)
            )
        )
    for ct, aval in zip(cts, out_avals, strict=True):
        given, expected = core.typeof(ct), tangent_aval(aval)
        agree = expected.dtype in (given.dtype, dtypes.float0)  # as in JAX
        if given.shape != expected.shape or not agree:
            raise ValueError(
                "unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got "
                f"{given.str_short()}, but expected {expected.str_short()} because the corresponding output of the "
                f"differentiated function had JAX type {aval.str_short()}{edits.COTANGENTS}"
            )
    jaxpr = program.jaxpr
    inputs = [UndefinedPrimal(aval) for aval in jaxpr.in_avals]
    given_cts = [ct for ct, nonzero in zip(cts, program.nonzero, strict=True) if nonzero]
    not_linear = AssertionError(
        f"the derivative of {info.func_src_info} is not linear in its tangents, so it has no transpose.\n"
        "A JVP rule may add tangents and multiply them by what it computes from the primals, and nothing else."
    )
    arg_cts = _transposed(jaxpr, residuals, inputs, given_cts, not_linear)
    return tree_unflatten(in_tree, [instantiate_zeros(ct) for ct in arg_cts])


def _transposed(
    jaxpr: Any, consts: Sequence[Any], inputs: Sequence[Any], cts: Sequence[Any], not_linear: Exception
) -> Any:
    """Return what `backward_pass` returns. Raise `not_linear` if a transpose rule, which allows one linear operand, gets two."""
    try:
        with source_info.transform("transpose"):
            return ad_transpose.backward_pass(jaxpr, consts, inputs, cts)
    except (AttributeError, TypeError) as error:
        if UndefinedPrimal.__name__ not in str(error):
            raise  # the user's own error, from a function with its own transpose
        raise not_linear from error


@traceback_util.api_boundary
def linear_transpose(fun: Callable[..., Any], *primals: Any) -> Callable[..., Any]:
    """Return the transpose of a linear function: it takes a cotangent of the result, and returns a tuple of cotangents
    of the arguments.

    Args:
      fun: a linear function; this is checked only when the transpose is called.
      primals: arguments, of which only shapes and dtypes matter: arrays or `ShapeDtypeStruct`s.

    Raises:
      TypeError: unless arguments and results are all floats (or complex), or all integers. When the transpose is called:
        if the cotangent has another structure or type than the result, or if `fun` is not linear, as in `x * x`.
      NotImplementedError: when the transpose is called, if an operation in `fun` is not linear in any operand, such as `sin`.
    """
    leaves, in_tree = tree_flatten(primals)
    avals = [aval_of_argument(x) for x in leaves]
    flat = _Flat(fun, in_tree, False)
    info = DebugInfo("linear_transpose", api_util.source_of(fun))
    outer = core.current_trace()
    is_inlined = outer is not None and not outer.keeps_calls  # equations of library functions are not in calls
    linear, _, _ = partial_values.trace_the_rest(flat, list(map(PartialVal.unknown, avals)), info, True)
    jaxpr, _ = dce_jaxpr(linear, True, instantiate=True)
    kinds = [aval.dtype for aval in (*avals, *jaxpr.out_avals)]
    if not any(all(dtypes.issubdtype(d, kind) for d in kinds) for kind in (np.inexact, np.integer)):
        given, made = [aval.dtype for aval in avals], [aval.dtype for aval in jaxpr.out_avals]
        inexact = "[float, complex, or float0]" if since(0, 11) else "[float or complex]"
        raise TypeError(
            f"linear_transpose only supports {inexact} -> {inexact}, and integer -> integer functions, "
            f"but got {given} -> {made}."
        )

    @traceback_util.api_boundary
    def transposed_fun(consts: list[Any], out_cotangent: Any) -> Any:
        cts, tree = tree_flatten(out_cotangent)
        if tree != flat.out_tree:
            raise TypeError(f"cotangent tree does not match function output, expected {flat.out_tree} but got {tree}")
        types = [core.typeof(ct) for ct in cts]
        if any((a.shape, a.dtype) != (b.shape, b.dtype) for a, b in zip(types, jaxpr.out_avals, strict=True)):
            raise TypeError(
                f"cotangent type does not match function output, expected {tuple(jaxpr.out_avals)} but got {cts}"
            )
        inputs = [UndefinedPrimal(aval) for aval in avals]
        refusal = TypeError(f"linear_transpose takes a linear function, and {info.func_src_info} is not one.")
        trace = core.current_trace()
        if is_inlined and trace is not None and trace.writer is not None and jaxpr.eqns:
            # In JAX, the transpose of a library function takes first the function's own constants.
            known = dict(zip(jaxpr.constvars, consts, strict=True))
            trace.writer.note([known[x] for x in jaxpr.eqns[-1].invars if isinstance(x, Var) and x in known])
        arg_cts = _transposed(jaxpr, consts, inputs, cts, refusal)
        return tree_unflatten(in_tree, [instantiate_zeros(ct) for ct in arg_cts])

    return Partial(transposed_fun, jaxpr.consts)


derivatives.linearize, derivatives.linear_transpose = linearize, linear_transpose
