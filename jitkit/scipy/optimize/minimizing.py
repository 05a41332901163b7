"""Minimizes a function from a starting point, by a named method.

JAX: jax/_src/scipy/optimize/minimize.py:minimize
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...numpy import logical_not
from .bfgs import minimize_bfgs
from .lbfgs import minimize_lbfgs

LBFGS = "l-bfgs-experimental-do-not-rely-on-this"


class OptimizeResults(NamedTuple):
    """The result of a minimization."""

    x: Any  # the last position
    success: Any  # whether the gradient is small enough, and no line search failed
    status: Any  # how the search ended: see `minimize_bfgs` and `minimize_lbfgs`
    fun: Any  # the value at x
    jac: Any  # the gradient at x
    hess_inv: Any  # the estimate of the inverse Hessian; None for L-BFGS
    nfev: Any  # the number of evaluations
    njev: Any  # the number of gradients
    nit: Any  # the number of steps


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """Return the result of the search for a minimum of `fun(x, *args)`, a real scalar, from `x0`, an array of floats of
    shape (n,).

    Args:
      method: "BFGS", or "l-bfgs-experimental-do-not-rely-on-this".
      tol: not used, as in JAX; the tolerances are among the options.
      options: the method's options. For BFGS: `maxiter` (200 n by default), `norm`, `gtol`, `line_search_maxiter`; for
        L-BFGS: `maxiter`, `norm`, `maxcor` (how many steps are kept), `ftol`, `gtol`, `maxfun`, `maxgrad`, `maxls`.

    Raises:
      TypeError: if `args` is not a tuple.
      ValueError: for a method of another name.
    """
    if not isinstance(args, tuple):
        raise TypeError(
            f"args argument to jax.scipy.optimize.minimize must be a tuple, got {args}\nWrite args=(a,) for one."
        )

    def fun_of_x(x: Any) -> Any:
        return fun(x, *args)

    name, options = method.lower(), options or {}
    if name == "bfgs":
        found: Any = minimize_bfgs(fun_of_x, x0, **options)
        inverse = found.H_k
    elif name == LBFGS:
        found = minimize_lbfgs(fun_of_x, x0, **options)
        inverse = None
    else:
        raise ValueError(f"Method {method} not recognized\nThere are 'BFGS' and '{LBFGS}'.")
    success = found.converged & logical_not(found.failed)
    return OptimizeResults(
        found.x_k, success, found.status, found.f_k, found.g_k, inverse, found.nfev, found.ngev, found.k
    )
