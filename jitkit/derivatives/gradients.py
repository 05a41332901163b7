"""function -> its derivative

The derivatives that users ask for: `grad` and `value_and_grad`, and what they are made of, `jvp`, `linearize`, `vjp` and
`linear_transpose`. The work is done on flat lists in `interpreters/ad`, `ad_linearize` and `ad_transpose`; what is here
takes trees apart, says which arguments are meant, and refuses what has no derivative.

    value_and_grad(f)(x)      y, f_vjp = vjp(f, x);  y, f_vjp(1.0)
    vjp(f, x)                 y, program = linearize(f, x);  transpose the program

JAX: jax/_src/api.py:value_and_grad
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import core, lax
from ..base import errors, source_info, traceback_util
from ..core import dtypes
from ..interpreters import ad, ad_linearize, ad_transpose, partial_eval
from ..interpreters.ad_linearize import LinearProgram
from ..interpreters.ad_rules import UndefinedPrimal, Zero, instantiate_zeros, tangent_aval
from ..jaxpr import DebugInfo, dce_jaxpr, eval_jaxpr
from ..lax.control_flow import solves
from ..pjit.jit import jit
from ..signature import api_util
from ..signature.shape_struct import aval_of_argument
from ..tree_util import Partial, PyTreeDef, keystr, tree_flatten, tree_leaves, tree_unflatten
from ..tree_util.paths import equality_errors_pytreedef

Argnums = int | Sequence[int]


# --- gradients --------------------------------------------------------------------------------------------------------


@traceback_util.api_boundary
def grad(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """A function that takes the arguments of `fun` and returns its gradient: how the result, one number, changes with
    each element of an argument.

    Args:
      fun: returns a float scalar.
      argnums: the argument to differentiate by, or a sequence of them. They are trees of floats.
      has_aux: `fun` returns a pair: the number, and other data, which is returned as it is.
      holomorphic: `fun` is a holomorphic function of complex numbers.
      allow_int: accept integers; their gradient is an array of dtype float0, which has no bytes.

    Returns:
      A function that returns a tree like the argument, or a tuple of them for a sequence of `argnums`; with `has_aux` a
      pair of that and the other data.

    Raises (when the function is called):
      TypeError: for arguments or a result of other types, whose dtype it names (`int32`), and for a result that is no
        scalar, whose shape it names (`(4,)`).
    """
    value_and_gradient = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)

    @functools.wraps(fun)
    @traceback_util.api_boundary
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, grads = value_and_gradient(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return gradient


@traceback_util.api_boundary
def value_and_grad(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., tuple[Any, Any]]:
    """Like `grad`, for a pair: the result of `fun`, and its gradient."""
    api_util.check_callable(fun)
    numbers = as_argnums(argnums)

    @functools.wraps(fun)
    @traceback_util.api_boundary
    def value_and_gradient(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        fun_of_some, some = fix_others(fun, numbers, argnums, args, kwargs)
        for leaf in tree_leaves(some):
            check_input("grad", leaf, holomorphic, allow_int)
        value, fun_vjp, *aux = vjp(fun_of_some, *some, has_aux=has_aux)
        check_scalar(value)
        check_output("grad", value, holomorphic)
        grads = fun_vjp(lax.full_like(value, 1, shape=()))
        grads = grads if isinstance(numbers, tuple) else grads[0]
        return ((value, *aux) if has_aux else value), grads

    return value_and_gradient


@traceback_util.api_boundary
def fwd_and_bwd(
    fun: Callable[..., Any], argnums: Argnums, has_aux: bool = False, jitted: bool = True
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The two passes of `vjp` as functions that are compiled once, each for itself.

        fwd, bwd = fwd_and_bwd(f, argnums=(0, 1))
        y, residuals = fwd(x, w)                # with `has_aux`, what `fun` returns beside y comes third
        ct_x, ct_w = bwd(residuals, ct_y)       # of one argument for an int, and a tuple otherwise

    `jitted=False` leaves them to whoever jits what they are in.
    """
    api_util.check_callable(fun)
    numbers = as_argnums(argnums)

    def fwd(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        fun_of_some, some = split_arguments(fun, numbers, args, kwargs)
        return vjp(fun_of_some, *some, has_aux=has_aux)

    def bwd(residuals: Callable[..., Any], cotangents: Any) -> Any:
        cts = residuals(cotangents)
        return cts if isinstance(numbers, tuple) else cts[0]

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)


def as_argnums(argnums: Any) -> int | tuple[int, ...]:
    """`argnums` as an int, or a tuple of ints. ConcretizationTypeError for a tracer, TypeError for what holds anything but ints."""
    if isinstance(argnums, core.Tracer):
        raise errors.ConcretizationTypeError(argnums, "expected a static index or sequence of indices.")
    try:
        return operator.index(argnums)
    except TypeError:
        return tuple(map(operator.index, argnums))


def fix_others(
    fun: Callable[..., Any], numbers: int | tuple[int, ...], argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], list[Any]]:
    """`fun` as a function of some of its arguments, and these. TypeError where the call has too few of them."""
    highest = max(numbers) if isinstance(numbers, tuple) else numbers
    if highest >= len(args):
        raise TypeError(
            f"differentiating with respect to {argnums=} requires at least {highest + 1} positional arguments to be "
            f"passed by the caller, but got only {len(args)} positional arguments."
        )
    return split_arguments(fun, numbers, args, kwargs)


def split_arguments(
    fun: Callable[..., Any], numbers: int | tuple[int, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], list[Any]]:
    """`fun` as a function of some of its arguments, and these. ValueError for a position that the call does not have."""
    positions = api_util.counted_from_zero(numbers if isinstance(numbers, tuple) else (numbers,), len(args))
    others, chosen = list(args), []
    for i in positions:
        chosen.append(others[i])
        others[i] = None  # so what a position is that is named again, as in JAX

    @functools.wraps(fun)
    def fun_of_some(*some: Any) -> Any:
        merged = list(others)
        for i, x in zip(positions, some, strict=True):
            merged[i] = x
        return fun(*merged, **kwargs)

    return fun_of_some, partial_eval.with_stand_ins_in(chosen)


def check_scalar(value: Any) -> None:
    """TypeError for a result that has no gradient: what is no array, or not a single number."""
    message = "Gradient only defined for scalar-output functions. Output"
    try:
        aval = core.typeof(value)
    except TypeError as error:
        raise TypeError(f"{message} was {value}.\n{_instead_of(value)}") from error
    if aval.shape != ():
        mend = "Reduce it to one number (`.sum()`, `.mean()`), or use jacrev for all derivatives of an array."
        raise TypeError(f"{message} had shape: {aval.shape}.\n{mend}")


def _instead_of(value: Any) -> str:
    """What to return instead of something that is not one number."""
    if value is None:
        return "The function returns None: is a `return` missing?"
    if isinstance(value, tuple) and len(value) == 2:
        return "If the second part is not to be differentiated, say so: grad(f, has_aux=True) takes the gradient of the first."
    return "Return one number, and what else there is beside it as a pair, with has_aux=True: `return loss, others`."


def dtype_of_input(x: Any) -> Any:
    """The dtype of a leaf of an argument; TypeError for what is no array of numbers."""
    try:
        return core.typeof(x).dtype
    except TypeError:
        about = errors.about_value_of_jax(x)
        raise TypeError(f"Argument '{x}' of type {type(x)} is not a valid JAX type.{about}") from None


def check_input(name: str, x: Any, holomorphic: bool, allow_int: bool) -> None:
    """TypeError for an argument by which `name` ("grad", "jacrev") cannot differentiate."""
    dtype = dtype_of_input(x)
    if holomorphic and not dtypes.issubdtype(dtype, np.complexfloating):
        raise TypeError(f"{name} with holomorphic=True requires inputs with complex dtype, but got {dtype.name}.")
    if not dtypes.issubdtype(dtype, np.inexact) and not allow_int:
        raise TypeError(
            f"{name} requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got "
            f"{dtype.name}. If you want to use Boolean- or integer-valued inputs, use vjp or set allow_int to True."
        )


def check_output(name: str, x: Any, holomorphic: bool) -> None:
    """TypeError for a result that `name` cannot differentiate."""
    for leaf in tree_leaves(x):
        dtype = core.typeof(leaf).dtype
        is_complex = dtypes.issubdtype(dtype, np.complexfloating)
        if isinstance(dtype, dtypes.ExtendedDType):
            raise TypeError(f"{name} with output element type {dtype.name}")
        if holomorphic:
            if not is_complex:
                raise TypeError(
                    f"{name} with holomorphic=True requires outputs with complex dtype, but got {dtype.name}."
                )
        elif not dtypes.issubdtype(dtype, np.floating):
            what = "functions with integer outputs, use jax.vjp directly."
            if is_complex:
                what = "non-holomorphic functions involving complex outputs, use jax.vjp directly."
            hint = "For holomorphic differentiation, pass holomorphic=True. " if is_complex else ""
            raise TypeError(
                f"{name} requires real-valued outputs (output dtype that is a sub-dtype of np.floating), but got "
                f"{dtype.name}. {hint}For differentiation of {what}"
            )


# --- forward ----------------------------------------------------------------------------------------------------------


@traceback_util.api_boundary
def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """The result of `fun(*primals)`, and how it changes when `primals` change by `tangents`.

    Args:
      primals: the arguments, a tuple or list of trees.
      tangents: a tree like `primals`, of the same shapes and dtypes; for integers of dtype float0.
      has_aux: `fun` returns a pair: what is differentiated, and other data, which comes third.

    Raises:
      TypeError: for trees or dtypes that do not belong together.
      ValueError: for shapes that do not.
    """
    api_util.check_callable(fun)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            "primal and tangent arguments to jax.jvp must be tuples or lists; found "
            f"{type(primals).__name__} and {type(tangents).__name__}."
        )
    leaves, tree = tree_flatten(partial_eval.with_stand_ins_in(primals))
    tangent_leaves, tangent_tree = tree_flatten(partial_eval.with_stand_ins_in(tangents))
    if tree != tangent_tree:
        raise TypeError(
            "primal and tangent arguments to jax.jvp must have the same tree structure; primals have tree structure "
            f"{tree} whereas tangents have tree structure {tangent_tree}."
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
    if tangent.dtype != expected:
        raise TypeError(
            "primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in case of int/bool primal "
            f"dtype the tangent dtype must be float0.Got primal dtype {aval.dtype} and so expected tangent dtype "
            f"{expected}, but got tangent dtype {tangent.dtype} instead."
        )
    if aval.shape != tangent.shape:
        raise ValueError(
            "jvp called with different primal and tangent shapes;"
            f"Got primal shape {aval.shape} and tangent shape as {tangent.shape}"
        )


class _Flat:
    """A function of trees as one of flat lists. The tree of its result is known after a call; with `has_aux` so are the
    leaves of what it returns beside, `aux`.
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
                    f"{type(out)} with value {out!r}"
                )
            out, aux = out
            self.aux[:], self.aux_tree = tree_flatten(aux)
        outs, self.out_tree = tree_flatten(out)
        return outs

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """A tree like the result."""
        return tree_unflatten(self.out_tree, leaves)

    def unflatten_aux(self) -> list[Any]:
        """The other data, in a list; an empty list where there are none."""
        return [] if self.aux_tree is None else [tree_unflatten(self.aux_tree, self.aux)]


# --- linear programs --------------------------------------------------------------------------------------------------


def _linearize(
    fun: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool
) -> tuple[_Flat, list[Any], list[Any], LinearProgram]:
    """The flat function, its arguments, its results, and its linear program."""
    api_util.check_callable(fun)
    leaves, tree = tree_flatten(partial_eval.with_stand_ins_in(primals))
    for x in leaves:
        core.typeof(x)
    flat = _Flat(fun, tree, has_aux)
    info = DebugInfo("linearize", api_util.source_of(fun))
    with source_info.transform("jvp"):
        outs, program = ad_linearize.linearize(flat, leaves, info, flat.aux)
    return flat, leaves, outs, program


@traceback_util.api_boundary
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The result of `fun(*primals)`, and a function from tangents of `primals` to the tangent of the result.

    The function does not compute again what does not depend on tangents: it costs memory for that. With `has_aux`,
    `fun` returns a pair, and its second part comes third.
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
                f"Got tangent aval {given} for primal aval {aval} but expected {expected}."
            )
    outs = ad.with_zeros(eval_jaxpr(program.jaxpr, residuals, *leaves), program.nonzero, out_avals)
    return tree_unflatten(out_tree, [instantiate_zeros(t) for t in outs])


@traceback_util.api_boundary
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The result of `fun(*primals)`, and a function from a cotangent of it to cotangents of `primals`, a tuple.

    A cotangent is a tree like the result, of numbers that say how much each element of it counts. With `has_aux`, `fun`
    returns a pair, and its second part comes third.
    """
    flat, _, outs, program = _linearize(fun, primals, has_aux)
    out_avals = [core.get_aval(x) for x in outs]
    pull = functools.partial(_pull_back, program, flat.in_tree, flat.out_tree, out_avals)
    return flat.unflatten(outs), Partial(pull, program.jaxpr.consts), *flat.unflatten_aux()


@traceback_util.api_boundary
def _pull_back(
    program: LinearProgram,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    out_avals: Sequence[Any],
    residuals: list[Any],
    *cotangents: Any,
) -> Any:
    info = program.jaxpr.debug_info
    if len(cotangents) != 1:
        raise TypeError(
            f"The function returned by `jax.vjp` applied to {info.func_name} was called with {len(cotangents)} "
            "arguments, but functions returned by `jax.vjp` must be called with a single argument corresponding to the "
            "single value returned by the function being differentiated (even if that returned value is a tuple or "
            "other container)."
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
        agree = given.dtype == expected.dtype or dtypes.float0 in (given.dtype, expected.dtype)  # as JAX has it
        if given.shape != expected.shape or not agree:
            raise ValueError(
                "unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got "
                f"{given.str_short()}, but expected {expected.str_short()} because the corresponding output of the "
                f"differentiated function had JAX type {aval.str_short()}"
            )
    jaxpr = program.jaxpr
    inputs = [UndefinedPrimal(aval) for aval in jaxpr.in_avals]
    given_cts = [ct for ct, nonzero in zip(cts, program.nonzero, strict=True) if nonzero]
    with source_info.transform("transpose"):
        arg_cts = ad_transpose.backward_pass(jaxpr, residuals, inputs, given_cts)
    return tree_unflatten(in_tree, [instantiate_zeros(ct) for ct in arg_cts])


@traceback_util.api_boundary
def linear_transpose(fun: Callable[..., Any], *primals: Any) -> Callable[..., Any]:
    """The transpose of a linear function: from a cotangent of its result to a tuple of cotangents of its arguments.

    Args:
      fun: a linear function; that it is one, is a promise.
      primals: arguments, of which only shapes and dtypes count: arrays or `ShapeDtypeStruct`s.

    Raises:
      TypeError: floats become integers, a cotangent has another structure or type than the result, or (when the transpose is
        called) `fun` is not linear, as in `x * x`.
      NotImplementedError: an operation in `fun` is linear in nothing, such as `sin`.
    """
    leaves, in_tree = tree_flatten(primals)
    avals = [aval_of_argument(x) for x in leaves]
    flat = _Flat(fun, in_tree, False)
    info = DebugInfo("linear_transpose", api_util.source_of(fun))
    jaxpr, _ = dce_jaxpr(partial_eval.trace_to_jaxpr(flat, avals, info), True, instantiate=True)
    kinds = [aval.dtype for aval in (*avals, *jaxpr.out_avals)]
    if not any(all(dtypes.issubdtype(d, kind) for d in kinds) for kind in (np.inexact, np.integer)):
        given, made = [aval.dtype for aval in avals], [aval.dtype for aval in jaxpr.out_avals]
        raise TypeError(
            "linear_transpose only supports [float or complex] -> [float or complex], and integer -> integer "
            f"functions, but got {given} -> {made}."
        )

    @traceback_util.api_boundary
    def transposed(consts: list[Any], cotangent: Any) -> Any:
        cts, tree = tree_flatten(cotangent)
        if tree != flat.out_tree:
            raise TypeError(f"cotangent tree does not match function output, expected {flat.out_tree} but got {tree}")
        types = [core.typeof(ct) for ct in cts]
        if any((a.shape, a.dtype) != (b.shape, b.dtype) for a, b in zip(types, jaxpr.out_avals, strict=True)):
            raise TypeError(f"cotangent type does not match function output, expected {jaxpr.out_avals} but got {cts}")
        inputs = [UndefinedPrimal(aval) for aval in avals]
        try:
            with source_info.transform("transpose"):
                arg_cts = ad_transpose.backward_pass(jaxpr, consts, inputs, cts)
        except (AttributeError, TypeError) as error:  # a rule was given two linear operands, and is linear in one
            raise TypeError(
                f"linear_transpose takes a linear function, and {info.func_src_info} is not one."
            ) from error
        return tree_unflatten(in_tree, [instantiate_zeros(ct) for ct in arg_cts])

    return Partial(transposed, jaxpr.consts)


solves.derivatives.linearize, solves.derivatives.linear_transpose = linearize, linear_transpose
