"""`sparsify`: function of dense arrays -> function that takes sparse arrays, too

The function is traced on dense types. Then the jaxpr is evaluated equation by equation: one with a sparse operand by
the rule for its primitive, which works on the entries; any other as usual. An operation that would turn zeros into
other numbers has no rule, except for the sum with a dense array, which is dense.

JAX: jax/experimental/sparse/transform.py:sparsify
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ... import core, lax
from ...core import Primitive, ShapedArray
from ...custom_derivatives.jvp import custom_jvp_call_p
from ...interpreters.partial_eval import trace_to_jaxpr
from ...jaxpr import DebugInfo, Jaxpr, Literal, Var
from ...jaxpr.language import literal_value
from ...pjit.jit_call import jit_p
from ...tree_util import tree_flatten, tree_unflatten
from .base import JAXSparse, refuse
from .bcoo import BCOO, bcoo_dot_general, bcoo_multiply_sparse, bcoo_reduce_sum, bcoo_transpose
from .bcsr import BCSR, bcsr_dot_general

_Rule = Callable[..., Any]  # operands, dense or sparse, and parameters -> the result, or a list of results
_for_bcoo: dict[Primitive, _Rule] = {}
_for_bcsr: dict[Primitive, _Rule] = {}


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """Return a function like `f` that also takes sparse arrays: BCOO, and BCSR in products with dense arrays.

        sparsify(lambda M, v: 2 * M.T @ v)(BCOO.fromdense(x), y)

    `f` may use sums, products, transposes, functions that map 0 to 0, and `jit`. `use_tracer` is not used.

    Raises:
      NotImplementedError: when the function is called, for an operation without a rule.
    """

    @functools.wraps(f)
    def sparsified(*args: Any, **params: Any) -> Any:
        leaves, in_tree = tree_flatten(args, is_leaf=_is_sparse)
        out_trees: list[Any] = []

        def flat(*dense: Any) -> list[Any]:
            outs, out_tree = tree_flatten(f(*tree_unflatten(in_tree, dense), **params))
            out_trees.append(out_tree)
            return outs

        avals = [ShapedArray(x.shape, x.dtype) if _is_sparse(x) else core.get_aval(x) for x in leaves]
        jaxpr = trace_to_jaxpr(flat, avals, DebugInfo("sparsify", getattr(f, "__name__", str(f))))
        return tree_unflatten(out_trees[0], _evaluate(jaxpr, jaxpr.consts, leaves))

    return sparsified


def _is_sparse(x: Any) -> bool:
    return isinstance(x, JAXSparse)


def _evaluate(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    """Run a jaxpr on values, some of which are sparse; return the results."""
    env: dict[Var, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))

    def read(atom: Any) -> Any:
        return literal_value(atom) if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        operands = [read(atom) for atom in eqn.invars]
        results = eqn.perform(_rule_for(eqn.primitive, operands), *operands)
        env.update(zip(eqn.outvars, results if eqn.primitive.multiple_results else [results], strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _rule_for(primitive: Primitive, operands: Sequence[Any]) -> Callable[..., Any]:
    """Return the function that performs an operation on these operands. Raise NotImplementedError if there is no rule
    for sparse ones.
    """
    if not any(map(_is_sparse, operands)):
        return primitive.bind
    rule = (_for_bcsr if any(isinstance(x, BCSR) for x in operands) else _for_bcoo).get(primitive)
    if rule is not None:
        return rule
    because = ""
    if primitive in _DENSE:
        because = (
            " because it would result in dense output. If this is your intent, use sparse.todense() to convert your arguments to dense "
            "matrices"
        )
    raise NotImplementedError(f"sparse rule for {primitive} is not implemented{because}.")


# --- operations on each element ---------------------------------------------------------------------------------------

_LINEAR = (lax.conj_p, lax.copy_p, lax.imag_p, lax.neg_p, lax.real_p)
_ZERO_TO_ZERO = (
    lax.abs_p, lax.asin_p, lax.asinh_p, lax.atan_p, lax.atanh_p, lax.bessel_i1e_p, lax.convert_element_type_p, lax.expm1_p, lax.log1p_p,
    lax.sign_p, lax.sin_p, lax.sinh_p, lax.sqrt_p, lax.square_p, lax.tan_p, lax.tanh_p,
)  # fmt: skip
_DENSE = frozenset((
    lax.acos_p, lax.acosh_p, lax.bessel_i0e_p, lax.cos_p, lax.cosh_p, lax.eq_p, lax.exp_p, lax.ge_p, lax.gt_p, lax.le_p, lax.lt_p,
    lax.log_p, lax.ne_p, lax.xor_p,
))  # fmt: skip


def _of_entries(primitive: Primitive, x: Any, **params: Any) -> Any:
    """Apply an operation to the entries."""
    return x.with_data(primitive.bind(x.data, **params))


def _of_unique_entries(primitive: Primitive, x: Any, **params: Any) -> Any:
    """Apply an operation that is not linear to the entries, after entries at one place have been added."""
    if not x.unique_indices:
        x = x.sum_duplicates(nse=x.nse, remove_zeros=False)
    return _of_entries(primitive, x, **params)


for _primitive in _LINEAR:
    _for_bcoo[_primitive] = _for_bcsr[_primitive] = functools.partial(_of_entries, _primitive)
for _primitive in _ZERO_TO_ZERO:
    _for_bcoo[_primitive] = _for_bcsr[_primitive] = functools.partial(_of_unique_entries, _primitive)


def _power(x: Any, *, y: int) -> Any:
    if y <= 0:
        raise NotImplementedError(
            f"sparse rule for {lax.integer_pow_p} with non-positive exponent {y} is not implemented because it would result in dense "
            "output. If this is your intent, use sparse.todense() to convert your argument to a dense array."
        )
    return _of_unique_entries(lax.integer_pow_p, x, y=y)


_for_bcoo[lax.integer_pow_p] = _for_bcsr[lax.integer_pow_p] = _power


# --- sums and products -----------------------------------------------------------------------------------------------


def _sum_of_two(x: Any, y: Any) -> Any:
    if _is_sparse(x) and _is_sparse(y):
        if x.shape == y.shape and x.indices is y.indices:
            return x.with_data(lax.add(x.data, y.data))
        return x + y
    sparse, dense = (x, y) if _is_sparse(x) else (y, x)
    if dense.shape != lax.broadcast_shapes(sparse.shape, dense.shape):
        raise NotImplementedError(
            "Addition between a sparse array X and a dense array Y is not implemented when the output shape is larger than Y.shape. "
            "This is to prevent silent densification of a large sparse array. If this is your intent, you can explicitly cast the "
            "sparse array to a dense matrix."
        )
    return sparse.todense() + dense


def _difference(x: Any, y: Any) -> Any:
    if not (_is_sparse(x) and _is_sparse(y)):
        raise NotImplementedError("Subtraction between sparse and dense array.")
    return _sum_of_two(x, -y)


def _product(x: Any, y: Any, **params: Any) -> Any:
    if not (_is_sparse(x) and _is_sparse(y)):
        return x * y if _is_sparse(x) else y * x
    if x.indices is y.indices and x.unique_indices:
        return x.with_data(lax.mul(x.data, y.data))
    return bcoo_multiply_sparse(x, y)


def _quotient(x: Any, y: Any) -> Any:
    if _is_sparse(y):
        raise NotImplementedError(
            "Division by a sparse array is not implemented because it would result in dense output. If this is your intent, use "
            "sparse.todense() to convert your arguments to a dense array."
        )
    return x * (1.0 / y)


def _sum(x: BCOO, *, axes: Sequence[int], **params: Any) -> Any:
    total = bcoo_reduce_sum(x, axes=axes)
    return total if total.shape else total.data.sum()


def _dot(x: Any, y: Any, *, dimension_numbers: Any, preferred_element_type: Any = None, **params: Any) -> Any:
    """Return the product over pairs of axes. If the second operand is the sparse one, swap both, and then the axes of the result."""
    if isinstance(x, BCSR) and _is_sparse(y):
        refuse("a matrix product of a BCSR array and a sparse one")
    how = {"preferred_element_type": preferred_element_type}
    if _is_sparse(x):
        product = bcsr_dot_general if isinstance(x, BCSR) else bcoo_dot_general
        return product(x, y, dimension_numbers=dimension_numbers, **how)
    (of_x, of_y), (batch_x, batch_y) = dimension_numbers
    swapped = _dot(y, x, dimension_numbers=((of_y, of_x), (batch_y, batch_x)), **how)
    own = y.ndim - len(of_y)
    return lax.transpose(swapped, (*range(own, swapped.ndim), *range(own)))


_for_bcoo.update({
    lax.add_p: _sum_of_two,
    lax.sub_p: _difference,
    lax.mul_p: _product,
    lax.div_p: _quotient,
    lax.reduce_sum_p: _sum,
    lax.transpose_p: lambda x, *, permutation: bcoo_transpose(x, permutation=permutation),
    lax.dot_general_p: _dot,
})  # fmt: skip
_for_bcsr[lax.dot_general_p] = _dot


# --- calls -----------------------------------------------------------------------------------------------------------


def _inline(*operands: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
    """Evaluate the jaxpr of a call on its operands."""
    return _evaluate(jaxpr, jaxpr.consts, operands)


for _table in (_for_bcoo, _for_bcsr):
    _table[jit_p] = _inline
    _table[custom_jvp_call_p] = lambda *operands, call_jaxpr, **params: _inline(*operands, jaxpr=call_jaxpr)
