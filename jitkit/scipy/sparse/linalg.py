"""Solves systems of linear equations iteratively: conjugate gradients, for positive matrices; BiCGSTAB and GMRES, for any.

The matrix is an array, or a function that multiplies with it; unknowns may be a tree of arrays. Derivatives are those of the solution
(`custom_linear_solve`), not of the steps. The algorithms: Saad, "Iterative methods for sparse linear systems", 2nd ed., 9.2, 7.4.2 and 6.5.

JAX: jax/_src/scipy/sparse/linalg.py:cg
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import lax
from ...core import dtypes
from ...lax.placing import device_put
from ...numpy import isnan, logical_and, maximum, minimum, square, where, zeros_like
from ...numpy.util import is_array
from ...tree_util import tree_leaves, tree_map, tree_structure
from .minimal_residual import METHODS, norm_of, normalized
from .tree_vectors import add, mul, precise_dot, product, real_product, sub

# --- the algorithms -----------------------------------------------------------------------------------------------------------


def _identity(x: Any) -> Any:
    return x


def _smallest(b: Any, tol: float, atol: float) -> Any:
    """Return the square of the residual norm at which to stop."""
    size = real_product(b, b)
    return maximum(square(tol) * size, square(atol))


def _cg_solve(A: Any, b: Any, x0: Any, *, maxiter: Any, tol: float, atol: float, M: Any) -> Any:
    enough = _smallest(b, tol, atol)

    def cond_fun(value: Any) -> Any:
        _, r, gamma, _, k = value
        size = gamma.real if M is _identity else real_product(r, r)
        return (size > enough) & (k < maxiter)

    def body_fun(value: Any) -> Any:
        x, r, gamma, p, k = value
        image = A(p)
        alpha = gamma / real_product(p, image).astype(dtype)
        x_next = add(x, mul(alpha, p))
        r_next = sub(r, mul(alpha, image))
        z_next = M(r_next)
        gamma_next = real_product(r_next, z_next).astype(dtype)
        p_next = add(z_next, mul(gamma_next / gamma, p))
        return x_next, r_next, gamma_next, p_next, k + 1

    r0 = sub(b, A(x0))
    p0 = z0 = M(r0)
    dtype = dtypes.result_type(*tree_leaves(p0))
    gamma0 = real_product(r0, z0).astype(dtype)
    return lax.while_loop(cond_fun, body_fun, (x0, r0, gamma0, p0, 0))[0]


def _bicgstab_solve(A: Any, b: Any, x0: Any, *, maxiter: Any, tol: float, atol: float, M: Any) -> Any:
    enough = _smallest(b, tol, atol)

    def cond_fun(value: Any) -> Any:
        _, r, *_, k = value
        return (real_product(r, r) > enough) & (k < maxiter) & (k >= 0)

    def body_fun(value: Any) -> Any:
        x, r, shadow, alpha, omega, rho, p, q, k = value
        rho_next = product(shadow, r)
        beta = rho_next / rho * alpha / omega
        p_next = add(r, mul(beta, sub(p, mul(omega, q))))
        p_hat = M(p_next)
        q_next = A(p_hat)
        alpha_next = rho_next / product(shadow, q_next)
        s = sub(r, mul(alpha_next, q_next))
        is_enough = real_product(s, s) < enough
        s_hat = M(s)
        t = A(s_hat)
        omega_next = product(t, s) / product(t, t)

        def choose(half: Any, whole: Any) -> Any:
            return tree_map(functools.partial(where, is_enough), half, whole)

        half = add(x, mul(alpha_next, p_hat))
        whole = add(x, add(mul(alpha_next, p_hat), mul(omega_next, s_hat)))
        x_next = choose(half, whole)
        r_next = choose(s, sub(s, mul(omega_next, t)))
        k_next = where((omega_next == 0) | (alpha_next == 0), -11, k + 1)  # it broke down, so the loop ends
        k_next = where(rho_next == 0, -10, k_next)
        return x_next, r_next, shadow, alpha_next, omega_next, rho_next, p_next, q_next, k_next

    r0 = sub(b, A(x0))
    dtype, weak = dtypes.lattice_result_type(*(x.aval for x in tree_leaves(b)))
    one = lax._convert_element_type(1, dtype, weak)
    return lax.while_loop(cond_fun, body_fun, (x0, r0, r0, one, one, one, r0, r0, 0))[0]


# --- what users call ----------------------------------------------------------------------------------------------------------


def _as_function(f: Any) -> Callable[[Any], Any]:
    """Return a function that multiplies with the matrix `f`; a function `f` unchanged. Raise TypeError for other
    values, ValueError for a matrix that is not square.
    """
    if callable(f):
        function: Callable[[Any], Any] = f
        return function
    if not (is_array(f) or isinstance(f, np.ndarray) or hasattr(f, "__matmul__")):
        raise TypeError(f"linear operator must be either a function or ndarray: {f}")
    if len(f.shape) != 2 or f.shape[0] != f.shape[1]:
        raise ValueError(f"linear operator must be a square matrix, but has shape: {f.shape}")
    is_dense = is_array(f) or isinstance(f, np.ndarray)
    return functools.partial(precise_dot if is_dense else operator.matmul, f)


def _solve(
    algorithm: Any, A: Any, b: Any, x0: Any, tol: float, atol: float, maxiter: Any, M: Any, is_symmetric: bool
) -> tuple[Any, None]:
    x0 = tree_map(zeros_like, b) if x0 is None else x0
    b, x0 = device_put((b, x0))
    if maxiter is None:
        maxiter = 10 * sum(x.size for x in tree_leaves(b))
    matvec, preconditioner = _as_function(A), _as_function(_identity if M is None else M)
    if tree_structure(x0) != tree_structure(b):
        raise ValueError(f"x0 and b must have matching tree structure: {tree_structure(x0)} vs {tree_structure(b)}")
    shapes = [[np.shape(x) for x in tree_leaves(tree)] for tree in (x0, b)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"arrays in x0 and b must have matching shapes: {shapes[0]} vs {shapes[1]}")
    solve = functools.partial(algorithm, x0=x0, tol=tol, atol=atol, maxiter=maxiter, M=preconditioner)
    is_real = not any(dtypes.issubdtype(x.dtype, np.complexfloating) for x in tree_leaves(b))
    x = lax.custom_linear_solve(matvec, b, solve, solve, symmetric=is_symmetric and is_real)
    return x, None


def cg(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """Return `(x, None)`, where x nearly solves A x = b, by conjugate gradients: A is Hermitian and positive.

    Args:
      A: a matrix, or a function that multiplies with it.
      b: the right side: an array, or a tree of arrays.
      x0: the starting point; zeros by default.
      tol, atol: stop when the residual's norm is at most tol times the norm of b, or at most atol.
      maxiter: the maximum number of steps; by default ten times the number of unknowns.
      M: multiplies with an approximate inverse of A (a preconditioner).

    Raises:
      ValueError: if shapes, or trees, do not fit.
      TypeError: if A is neither a function nor a matrix.
    """
    return _solve(_cg_solve, A, b, x0, tol, atol, maxiter, M, True)


def bicgstab(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """Return `(x, None)`, where x nearly solves A x = b, by the method BiCGSTAB, for any A. Arguments and errors are as for `cg`."""
    return _solve(_bicgstab_solve, A, b, x0, tol, atol, maxiter, M, False)


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, Any]:
    """Return `(x, info)`, where x nearly solves A x = b, by the method GMRES, for any A. `info` is -1 if x is nan, else
    0. Other arguments are as for `cg`.

    Args:
      restart: how many vectors to make before starting again with the x that they give; `maxiter` counts those starts.
      solve_method: "incremental" stops earlier if fewer vectors are enough; "batched" makes `restart` vectors, as far as there
        are independent ones, with less work for each.

    Raises:
      ValueError: for another `solve_method`.
      ValueError, TypeError: as for `cg`.
    """
    x0 = tree_map(zeros_like, b) if x0 is None else x0
    matvec, preconditioner = _as_function(A), _as_function(_identity if M is None else M)
    b, x0 = device_put((b, x0))
    size = sum(x.size for x in tree_leaves(b))
    max_starts = 10 * size if maxiter is None else maxiter
    restart = min(restart, size)
    if tree_structure(x0) != tree_structure(b):
        raise ValueError(f"x0 and b must have matching tree structure: {tree_structure(x0)} vs {tree_structure(b)}")
    b_norm = norm_of(b)
    smallest = maximum(tol * b_norm, atol)
    enough = norm_of(preconditioner(b)) * minimum(1.0, smallest / b_norm)
    if solve_method not in METHODS:
        raise ValueError(f"invalid solve_method {solve_method}, must be either 'incremental' or 'batched'")
    improve = METHODS[solve_method]

    def solve(A: Any, b: Any) -> Any:
        def goes_on(state: Any) -> Any:
            return logical_and(state[1] < max_starts, state[3] > smallest)

        def start(state: Any) -> Any:
            x, k, unit, norm = state
            x, unit, norm = improve(A, b, x, unit, norm, enough, restart, preconditioner)
            return x, k + 1, unit, norm

        unit, norm = normalized(preconditioner(sub(b, A(x0))))
        return lax.while_loop(goes_on, start, (x0, 0, unit, norm))[0]

    x = lax.custom_linear_solve(matvec, b, solve, solve)
    return x, where(isnan(norm_of(x)), -1, 0)
