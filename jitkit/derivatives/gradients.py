"""function -> its gradient: `grad`, `value_and_grad`

The result is a single number, so one reverse pass gives its derivative by each element of an argument. This module
selects the arguments, and refuses functions without a gradient; `linear_maps` does the pass.

    value_and_grad(f)(x)      y, f_vjp = vjp(f, x);  y, f_vjp(1.0)

JAX: jax/_src/api.py:value_and_grad
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import core, lax
from ..base import edits, errors, traceback_util
from ..base.jax_version import since
from ..base.util import wraps
from ..core import dtypes
from ..interpreters import partial_eval
from ..pjit.jit import jit
from ..signature import api_util
from ..tree_util import tree_leaves
from .linear_maps import vjp

Argnums = int | Sequence[int]


@traceback_util.api_boundary
def grad(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """Return a function that takes the arguments of `fun` and returns its gradient: how the result, one number, changes
    with each element of an argument.

    Args:
      fun: returns a float scalar.
      argnums: the position of the argument with respect to which to differentiate, or a sequence of positions. These
        arguments are trees of floats.
      has_aux: `fun` returns a pair: the number, and other data, which is returned unchanged.
      holomorphic: `fun` is a holomorphic function of complex numbers.
      allow_int: accept integers; their gradient is an array of dtype float0, which has no bytes.

    Returns:
      A function that returns a tree like the argument, or a tuple of them for a sequence of `argnums`; with `has_aux` a
      pair of that and the other data. Its name and its docstring are those of `fun` (`wraps`).

    Raises (when the function is called):
      TypeError: for arguments of other types, before `fun` is called, or a result of other types, naming the dtype
        (`int32`); for a result that is not a scalar, naming its shape (`(4,)`); for fewer arguments than `argnums`
        counts on. It comes at once if `fun` cannot be called (`check_callable`).
      ValueError: for a negative number in `argnums` that the call does not have.
    """
    value_and_gradient = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)

    @wraps(fun)
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
    """Return a function like `grad(fun)` that returns a pair: what `fun` returns (with `has_aux` a pair itself), and
    the gradient. The parameters are those of `grad`. The pullback (`vjp`) takes a 1 of the result's type, weak if the
    result is.
    """
    api_util.check_callable(fun)
    numbers = as_argnums(argnums)

    @wraps(fun)
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
    """Return the two passes of `vjp` as functions, each under `jit`.

        fwd, bwd = fwd_and_bwd(f, argnums=(0, 1))
        y, residuals = fwd(x, w)                # with `has_aux`, what `fun` returns beside y comes third
        ct_x, ct_w = bwd(residuals, ct_y)       # one cotangent if `argnums` is an int, else a tuple of them

    With `jitted=False` they are not jitted, to be called inside another `jit`.
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
    """Return `argnums` as an int, or a tuple of ints. Raise ConcretizationTypeError for a tracer, TypeError for anything else."""
    if isinstance(argnums, core.Tracer):
        raise errors.ConcretizationTypeError(argnums, "expected a static index or sequence of indices.")
    try:
        return operator.index(argnums)
    except TypeError:
        pass
    try:
        return tuple(map(operator.index, argnums))
    except TypeError as error:
        is_data = any(hasattr(x, "shape") for x in tree_leaves(argnums))
        raise TypeError(f"{error}{edits.APPLIED_TWICE.format('grad') if is_data else edits.ARGNUMS}") from None


def fix_others(
    fun: Callable[..., Any], numbers: int | tuple[int, ...], argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], list[Any]]:
    """Return a function of the arguments `argnums`, with all others fixed, and the values of these arguments in this call.
    Raise TypeError if the call has too few arguments.
    """
    highest = max(numbers) if isinstance(numbers, tuple) else numbers
    if highest >= len(args):
        advice = edits.BY_POSITION if kwargs or not args else edits.TOO_FEW.format(len(args) - 1)
        raise TypeError(
            f"differentiating with respect to {argnums=} requires at least {highest + 1} positional arguments to be "
            f"passed by the caller, but got only {len(args)} positional arguments.{advice}"
        )
    return split_arguments(fun, numbers, args, kwargs)


def split_arguments(
    fun: Callable[..., Any], numbers: int | tuple[int, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], list[Any]]:
    """Return a function of the arguments `numbers`, with all others fixed, and the values of these arguments in this call.
    Raise ValueError for a position that the call lacks.
    """
    positions = api_util.counted_from_zero(numbers if isinstance(numbers, tuple) else (numbers,), len(args))
    others, chosen = list(args), []
    for i in positions:
        chosen.append(others[i])
        others[i] = None  # a position named twice is None the second time, as in JAX

    @wraps(fun)
    def fun_of_some(*some: Any) -> Any:
        merged = list(others)
        for i, x in zip(positions, some, strict=True):
            merged[i] = x
        return fun(*merged, **kwargs)

    return fun_of_some, partial_eval.with_stand_ins_in(chosen)


def check_scalar(value: Any) -> None:
    """Raise TypeError for a result without a gradient: anything but an array of one number without axes."""
    message = "Gradient only defined for scalar-output functions. Output"
    try:
        aval = core.typeof(value)
    except TypeError as error:
        raise TypeError(f"{message} was {value}.\n{_instead_of(value)}") from error
    if aval.shape != ():
        if since(0, 12):
            mend = (
                " To get the gradient, reduce the output to a scalar with output.sum(), or use jax.jacobian to differentiate a "
                "function with a non-scalar output."
            )
        else:
            mend = "\nReduce it to one number (`.sum()`, `.mean()`), or use jacrev for all derivatives of an array."
        raise TypeError(f"{message} had shape: {aval.shape}.{mend}")


def _instead_of(value: Any) -> str:
    """Return advice for a function whose result is not one number."""
    if value is None:
        return "The function returns None: is a `return` missing?"
    if isinstance(value, tuple) and len(value) == 2:
        return "If the second part is not to be differentiated, say so: grad(f, has_aux=True) takes the gradient of the first."
    return "Return one number, and what else there is beside it as a pair, with has_aux=True: `return loss, others`."


def dtype_of_input(x: Any) -> Any:
    """Return the dtype of an argument's leaf. Raise TypeError for one that is not an array of numbers."""
    try:
        return core.typeof(x).dtype
    except TypeError:
        about = errors.about_value_of_jax(x)
        raise TypeError(f"Argument '{x}' of type {type(x)} is not a valid JAX type.{about or edits.NOT_DATA}") from None


def check_input(name: str, x: Any, holomorphic: bool, allow_int: bool) -> None:
    """Raise TypeError for an argument by which `name` ("grad", "jacrev") cannot differentiate: if `holomorphic`, one
    that is not complex; otherwise integers and bools, unless `allow_int`.
    """
    dtype = dtype_of_input(x)
    if holomorphic and not dtypes.issubdtype(dtype, np.complexfloating):
        raise TypeError(f"{name} with holomorphic=True requires inputs with complex dtype, but got {dtype.name}.")
    if not dtypes.issubdtype(dtype, np.inexact) and not allow_int:
        raise TypeError(
            f"{name} requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got "
            f"{dtype.name}. If you want to use Boolean- or integer-valued inputs, use vjp or set allow_int to True.{edits.FLOAT_INPUT}"
        )


def check_output(name: str, x: Any, holomorphic: bool) -> None:
    """Raise TypeError for a result that `name` cannot differentiate: if `holomorphic`, one that is not complex;
    otherwise one that is not real.
    """
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
                f"{dtype.name}. {hint}For differentiation of {what}{'' if is_complex else edits.FLOAT_OUTPUT}"
            )
