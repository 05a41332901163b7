"""function -> its matrices of derivatives

A Jacobian has the derivative of each element of the result by each element of the arguments. `jacfwd` computes its
columns from tangents, `jacrev` its rows from cotangents, all at once, as a batch (`vmap`). `hessian`, the second
derivatives, is `jacfwd` of `jacrev`.

JAX: jax/_src/api.py:jacrev
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import core, lax
from ..base import edits, traceback_util
from ..base.jax_version import since
from ..base.util import wraps
from ..core import dtypes
from ..interpreters.partial_eval import DynamicJaxprTrace
from ..interpreters.vmap import vmap
from ..signature import api_util
from ..tree_util import tree_flatten, tree_leaves, tree_map, tree_structure, tree_transpose, tree_unflatten
from .gradients import Argnums, as_argnums, check_input, check_output, dtype_of_input, split_arguments
from .linear_maps import jvp, vjp


@traceback_util.api_boundary
def jacfwd(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """Return a function that takes the arguments of `fun` and returns its Jacobian, computed in forward mode: best for
    few arguments and many results.

    Args:
      fun: a function of trees of floats.
      argnums: the position of the argument by which to differentiate, or a sequence of positions.
      has_aux: `fun` returns a pair: the result to differentiate, and other data, which is returned beside the Jacobian.
      holomorphic: `fun` is a holomorphic function of complex numbers.

    Returns:
      A function that returns the Jacobian: each leaf of the result is replaced by a tree like the argument (by a tuple of such
      trees for a sequence of `argnums`), of arrays with the axes of the result first, then those of the argument.

    Raises (when the function is called):
      TypeError: for an argument that is not of floats, or with `holomorphic` an argument or a result that is not complex.
      ValueError: for a number in `argnums` that the call lacks.
    """
    api_util.check_callable(fun)
    numbers = as_argnums(argnums)

    @wraps(fun)
    @traceback_util.api_boundary
    def jacobian_of_call(*args: Any, **kwargs: Any) -> Any:
        fun_of_some, some = split_arguments(fun, numbers, args, kwargs)
        primals = tuple(some)
        for x in tree_leaves(primals):
            _check_forward_input(x, holomorphic)

        def push(*tangents: Any) -> tuple[Any, ...]:
            return jvp(fun_of_some, primals, tangents, has_aux)

        out_axes = (None, -1, None) if has_aux else (None, -1)
        y, columns, *aux = vmap(push, out_axes=out_axes)(*basis_of(primals))
        if holomorphic:
            check_output("jacfwd", y, holomorphic)
        example = primals if isinstance(numbers, tuple) else primals[0]
        jacobian_tree = tree_map(lambda out, block: split_like(example, -1, block, out), y, columns)
        return (jacobian_tree, *aux) if has_aux else jacobian_tree

    return jacobian_of_call


def _check_forward_input(x: Any, holomorphic: bool) -> None:
    dtype = dtype_of_input(x)
    if isinstance(dtype, dtypes.ExtendedDType):
        raise TypeError(f"jacfwd with input element type {dtype.name}")
    if holomorphic:
        check_input("jacfwd", x, holomorphic, False)
    elif not dtypes.issubdtype(dtype, np.floating):
        raise TypeError(
            f"jacfwd requires real-valued inputs (input dtype that is a sub-dtype of np.floating), but got {dtype.name}. For "
            "holomorphic differentiation, pass holomorphic=True. For differentiation of non-holomorphic functions involving "
            "complex inputs or integer inputs, use jax.jvp directly."
            f"{edits.FLOAT_INPUT if np.dtype(dtype).kind in 'iub' else ''}"
        )


@traceback_util.api_boundary
def jacrev(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """Return a function like `jacfwd(fun)` that computes the Jacobian in reverse mode: best for few results and many
    arguments. `allow_int` is as for `grad`, the other parameters as for `jacfwd`.
    """
    api_util.check_callable(fun)
    numbers = as_argnums(argnums)

    @wraps(fun)
    @traceback_util.api_boundary
    def jacobian_of_call(*args: Any, **kwargs: Any) -> Any:
        fun_of_some, some = split_arguments(fun, numbers, args, kwargs)
        for x in tree_leaves(some):
            check_input("jacrev", x, holomorphic, allow_int)
        y, pullback, *aux = vjp(fun_of_some, *some, has_aux=has_aux)
        check_output("jacrev", y, holomorphic)
        rows = vmap(pullback)(basis_of(y))
        is_one = isinstance(argnums, int)  # a numpy integer counts as a tuple of one, as in JAX
        example = some[0] if is_one else tuple(some)
        rows = rows[0] if is_one else rows
        by_argument = tree_map(lambda x, block: split_like(y, 0, block, x), example, rows)
        jacobian_tree = tree_transpose(tree_structure(example), tree_structure(y), by_argument)
        return (jacobian_tree, *aux) if has_aux else jacobian_tree

    return jacobian_of_call


jacobian = jacrev


def hessian(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """Return a function that takes the arguments of `fun` and returns all second derivatives: a tree like the result,
    of trees like the argument, of trees like the argument. Parameters are those of `jacfwd`.
    """
    rows = jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic)
    return jacfwd(rows, argnums, has_aux=has_aux, holomorphic=holomorphic)


def basis_of(tree: Any) -> Any:
    """Return a batch of trees like this one, each with 1 in another element, and 0 in all others."""
    leaves, _ = tree_flatten(tree)
    count = sum(map(np.size, leaves))
    return split_like(tree, 1, _identity(count, dtypes.result_type(*leaves)), None)


def _of_leaf(block: Any, leaf: Any) -> Any:
    """Return a part of the basis, converted to its leaf's type. Following a JAX before 0.11, record the conversion as
    that JAX does: even if the part has this type, unless the leaf is weakly typed.
    """
    block = _of_type(block, leaf)
    trace, aval = core.current_trace(), core.get_aval(leaf)
    while trace is not None and not isinstance(trace, DynamicJaxprTrace):
        trace = trace.parent
    if trace is None or aval.weak_type or since(0, 11):
        return block
    params = {"new_dtype": aval.dtype, "weak_type": False}
    return trace.emit(lax.convert_element_type_p, [trace.to_tracer(block).atom], params, core.get_aval(block))


def _identity(count: int, dtype: Any) -> Any:
    """Return the identity matrix, by the operations that `jnp.eye` records."""
    kind = dtypes.default_int_dtype()
    rows, columns = (lax.broadcasted_iota(kind, (count, count), axis) for axis in (0, 1))
    return lax.convert_element_type(lax.eq(lax.add(rows, kind.type(0)), columns), dtype)


def split_like(tree: Any, axis: int, x: Any, example: Any) -> Any:
    """Split an axis of x into parts, one for each leaf of a tree; return a tree of the parts. The axes of the leaf
    replace the axis. A part is converted to the type of `example`, or if that is None, of its leaf; a real type drops
    the imaginary part.
    """
    leaves, treedef = tree_flatten(tree)
    axis %= x.ndim
    parts = lax.split(x, tuple(np.array([np.size(leaf) for leaf in leaves])), axis)
    made = []
    for part, leaf in zip(parts, leaves, strict=True):
        block = lax.reshape(part, (*x.shape[:axis], *np.shape(leaf), *x.shape[axis + 1 :]))
        made.append(_of_leaf(block, leaf) if example is None else _of_type(block, example))
    return tree_unflatten(treedef, made)


def _of_type(x: Any, example: Any) -> Any:
    aval = core.get_aval(example)
    if dtypes.issubdtype(x.dtype, np.complexfloating) and not dtypes.issubdtype(aval.dtype, np.complexfloating):
        x = lax.real(x)
    return lax._convert_element_type(x, aval.dtype, aval.weak_type)
