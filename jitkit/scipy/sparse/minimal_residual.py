"""GMRES: adds to x the sum of multiples of r, A r, A^2 r, ..., where r is the residual b - A x, that leaves the
smallest residual.

JAX: jax/_src/scipy/sparse/linalg.py:_gmres_solve
"""

from __future__ import annotations

import functools
import operator
from typing import Any

from ... import lax
from ...core import dtypes
from ...numpy import einsum, eye, logical_and, logical_not, pad, sqrt, where, zeros, zeros_like
from ...tree_util import tree_leaves, tree_map, tree_reduce
from ..linalg import solve as solve_matrix
from ..linalg import solve_triangular
from .tree_vectors import add, precise_dot, real_part, sub


def norm_of(x: Any) -> Any:
    """Return the norm of a tree."""
    leaves = tree_leaves(x)
    return sqrt(sum(list(map(real_part, leaves, leaves))))


def normalized(x: Any, smallest: Any = None) -> tuple[Any, Any]:
    """Return x divided by its norm, and the norm; zeros and 0 if the norm is not above `smallest`, by default the eps of its dtype."""
    norm = norm_of(x)
    dtype, weak = dtypes.lattice_result_type(*tree_leaves(x))
    smallest = dtypes.finfo(norm.dtype).eps if smallest is None else smallest
    is_large = norm > smallest.astype(dtype).real
    divisor = lax._convert_element_type(norm, dtype, weak)
    unit = tree_map(lambda y: where(is_large, y / divisor, 0.0), x)
    return unit, where(is_large, norm, 0.0)


def _coefficients(V: Any, x: Any) -> Any:
    """Return the products of x with each vector of the basis."""
    product = functools.partial(einsum, "...n,...->n", precision=lax.Precision.HIGHEST)
    return tree_reduce(operator.add, tree_map(lambda v, y: product(v.conj(), y), V, x))


def _orthogonalized(V: Any, x: Any, norm: Any) -> tuple[Any, Any]:
    """Return x without its part in the space of V, and the coefficients of that part. A second pass follows if the
    first left little of x, and so lost digits.
    """
    max_passes = 2
    first = tree_leaves(V)[0]
    none = zeros(first.shape[-1], dtype=first.dtype)

    def once(state: Any) -> Any:
        k, x, total, scaled = state
        found = _coefficients(V, x)
        part = tree_map(lambda v: precise_dot(v, found), V)
        x = sub(x, part)
        total = add(total, found)

        def measure(state: Any) -> Any:
            k, _, x, _ = state
            return k, False, x, normalized(x)[1] / sqrt(2.0)

        def is_to_measure(state: Any) -> Any:
            return logical_and(state[1], state[0] < (max_passes - 1))

        _, _, x, scaled = lax.while_loop(is_to_measure, measure, (k, True, x, scaled))
        return k + 1, x, total, scaled

    def goes_on(state: Any) -> Any:
        k, _, total, scaled = state
        _, size = normalized(total)
        return logical_and(k < (max_passes - 1), size < scaled)

    _, x, total, _ = lax.while_loop(goes_on, once, once((0, x, none, norm / sqrt(2.0))))
    return x, total


def _extend_basis(k: Any, A: Any, M: Any, V: Any, H: Any) -> tuple[Any, Any, Any]:
    """Return V with the image of its k-th vector, made orthogonal, as one more vector; H with the coefficients of the
    image in row k (Arnoldi); and whether nothing was left of the image.
    """
    dtype, _ = dtypes.lattice_result_type(*tree_leaves(V))
    eps = dtypes.finfo(dtype).eps
    image = M(A(tree_map(lambda x: x[..., k], V)))
    _, norm = normalized(image)
    rest, h = _orthogonalized(V, image, norm)
    unit, rest_norm = normalized(rest, eps * norm)
    V = tree_map(lambda v, y: v.at[..., k + 1].set(y), V, unit)
    h = h.at[k + 1].set(rest_norm.astype(dtype))
    return V, H.at[k, :].set(h), rest_norm == 0.0


def _rotated(x: Any, i: Any, cs: Any, sn: Any) -> Any:
    """Return x with its elements i and i + 1 rotated."""
    a, b = x[i], x[i + 1]
    first = cs.conj() * a - sn.conj() * b
    second = sn * a + cs * b
    return x.at[i].set(first).at[i + 1].set(second)


def _rotation_to_zero(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the (Givens) rotation that makes b zero, by its cosine and its sine."""
    is_zero = abs(b) == 0
    is_less = abs(a) < abs(b)
    t = -where(is_less, a, b) / where(is_less, b, a)
    r = lax.rsqrt(1 + abs(t) ** 2).astype(t.dtype)
    cs = where(is_zero, 1, where(is_less, r * t, r))
    return cs, where(is_zero, 0, where(is_less, r, r * t))


def _basis(unit: Any, restart: int) -> Any:
    """Return the basis with its first vector, and room for `restart` more."""
    return tree_map(lambda x: pad(x[..., None], ((0, 0),) * x.ndim + ((0, restart),)), unit)


def _improved(A: Any, M: Any, b: Any, x: Any, V: Any, y: Any) -> tuple[Any, Any, Any]:
    """Return x plus the vector with coefficients y; its residual, with norm 1; and the residual's norm."""
    x = add(x, tree_map(lambda v: precise_dot(v[..., :-1], y), V))
    return x, *normalized(M(sub(b, A(x))))


def _gmres_incremental(A: Any, b: Any, x0: Any, unit: Any, norm: Any, enough: Any, restart: int, M: Any) -> Any:
    """Return a better x, its residual with norm 1, and the residual's norm. Each row of H is rotated into a triangle at
    once, which gives the residual's norm, so that the loop may end early.
    """
    V = _basis(unit, restart)
    dtype = dtypes.result_type(*tree_leaves(b))
    R = eye(restart, restart + 1, dtype=dtype)  # not zeros, which would be singular after an early end
    rotations = zeros((restart, 2), dtype=dtype)
    right = zeros((restart + 1), dtype=dtype)
    right = right.at[0].set(norm.astype(dtype))

    def goes_on(state: Any) -> Any:
        return logical_and(state[0] < restart, state[1] > enough)

    def step(state: Any) -> Any:
        k, _, V, R, right, rotations = state
        V, H, _ = _extend_basis(k, A, M, V, R)
        row = lax.fori_loop(0, k, lambda i, row: _rotated(row, i, *rotations[i, :]), H[k, :])
        rotation = _rotation_to_zero(row[k], row[k + 1])
        rotations = rotations.at[k, :].set(rotation)
        R = R.at[k, :].set(_rotated(row, k, *rotation))
        right = _rotated(right, k, *rotations[k, :])
        size = abs(right[k + 1])
        return k + 1, size, V, R, right, rotations

    _, _, V, R, right, _ = lax.while_loop(goes_on, step, (0, norm, V, R, right, rotations))
    return _improved(A, M, b, x0, V, solve_triangular(R[:, :-1].T, right[:-1]))


def _gmres_batched(A: Any, b: Any, x0: Any, unit: Any, norm: Any, enough: Any, restart: int, M: Any) -> Any:
    """Return a better x, its residual with norm 1, and the residual's norm. The whole basis is made first, then the
    coefficients are solved for.
    """
    V = _basis(unit, restart)
    dtype, weak = dtypes.lattice_result_type(*tree_leaves(b))
    H = lax._convert_element_type(eye(restart, restart + 1, dtype=dtype), weak_type=weak)

    def goes_on(state: Any) -> Any:
        return logical_and(state[3] < restart, logical_not(state[2]))

    def step(state: Any) -> Any:
        V, H, _, k = state
        V, H, is_complete = _extend_basis(k, A, M, V, H)
        return V, H, is_complete, k + 1

    V, H, _, _ = lax.while_loop(goes_on, step, (V, H, False, 0))
    right = zeros_like(H, shape=(restart + 1,)).at[0].set(norm.astype(dtype))
    a = H.T
    squared = precise_dot(a.T.conj(), a)
    y = solve_matrix(squared, precise_dot(a.T.conj(), right), assume_a="pos")
    return _improved(A, M, b, x0, V, y)


METHODS = {"incremental": _gmres_incremental, "batched": _gmres_batched}
