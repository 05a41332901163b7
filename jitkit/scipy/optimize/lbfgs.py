"""Minimizes a function from a starting point, by BFGS with limited memory.

The estimate of the inverse Hessian is not stored as a matrix: the last steps are applied to the gradient in turn.
Positions may be complex: the gradient is then JAX's, conjugated to give a direction.

JAX: jax/_src/scipy/optimize/_lbfgs.py:_minimize_lbfgs
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...core import dtypes
from ...derivatives.gradients import value_and_grad
from .line_search import dot, line_search


class LbfgsResults(NamedTuple):
    """The state of the search: position, value and gradient at step k; the last steps (`s`), changes of the gradient (`y`), and 1
    over their products (`rho`).
    """

    converged: Any  # whether the gradient is small enough
    failed: Any  # whether a limit ended the search, or a line search failed
    k: Any  # the number of steps so far
    nfev: Any  # the number of evaluations
    ngev: Any  # the number of gradients
    x_k: Any
    f_k: Any
    g_k: Any
    s_history: Any
    y_history: Any
    rho_history: Any
    gamma: Any  # the size of the inverse Hessian before it is corrected by the last steps
    status: Any  # see `minimize_lbfgs`
    ls_status: Any  # the status of the last line search


def minimize_lbfgs(
    fun: Callable[..., Any],
    x0: Any,
    maxiter: float | None = None,
    norm: Any = np.inf,
    maxcor: int = 10,
    ftol: float = 2.220446049250313e-09,
    gtol: float = 1e-05,
    maxfun: float | None = None,
    maxgrad: float | None = None,
    maxls: int = 20,
) -> LbfgsResults:
    """Return the state of the search at its end: when the gradient's norm, of the order `norm`, is below `gtol`,
    when a limit is reached, or when a line search fails.

    `status` is 0 if the gradient is small enough; 1, 2 and 3 after `maxiter` steps, `maxfun` evaluations and `maxgrad`
    gradients; 4 if the value decreased by less than `ftol`; 5 if the line search, of `maxls` steps, failed. `maxcor`
    steps are kept. Without any of these three limits, `maxiter` is 200 for each element of `x0`.
    """
    size, dtype = len(x0), dtypes.dtype(x0)
    if maxiter is None and maxfun is None and maxgrad is None:
        maxiter = size * 200
    maxiter, maxfun, maxgrad = (np.inf if limit is None else limit for limit in (maxiter, maxfun, maxgrad))
    f, g = value_and_grad(fun)(x0)
    start = LbfgsResults(
        converged=jnp.array(False, dtype=bool),
        failed=jnp.array(False, dtype=bool),
        k=0,
        nfev=1,
        ngev=1,
        x_k=x0,
        f_k=f,
        g_k=g,
        s_history=jnp.zeros((maxcor, size), dtype=dtype),
        y_history=jnp.zeros((maxcor, size), dtype=dtype),
        rho_history=jnp.zeros((maxcor,), dtype=dtype),
        gamma=1.0,
        status=0,
        ls_status=0,
    )

    def step(state: LbfgsResults) -> LbfgsResults:
        direction = _direction(state)
        found = line_search(fun, state.x_k, direction, old_fval=state.f_k, gfk=state.g_k, maxiter=maxls)
        moved = jnp.asarray(found.a_k).astype(direction.dtype) * direction
        x = state.x_k + moved
        turned = found.g_k - state.g_k
        product = jnp.real(dot(turned, moved))
        rho = jnp.reciprocal(product).astype(turned.dtype)
        gamma = product / jnp.real(dot(jnp.conj(turned), turned))

        status = jnp.array(0)
        status = jnp.where(state.f_k - found.f_k < ftol, 4, status)
        status = jnp.where(state.ngev >= maxgrad, 3, status)
        status = jnp.where(state.nfev >= maxfun, 2, status)
        status = jnp.where(state.k >= maxiter, 1, status)
        status = jnp.where(found.failed, 5, status)
        converged = jnp.linalg.norm(found.g_k, ord=norm) < gtol
        return LbfgsResults(
            converged=converged,
            failed=(status > 0) & (~converged),
            k=state.k + 1,
            nfev=state.nfev + found.nfev,
            ngev=state.ngev + found.ngev,
            x_k=x.astype(state.x_k.dtype),
            f_k=found.f_k.astype(state.f_k.dtype),
            g_k=found.g_k.astype(state.g_k.dtype),
            s_history=_shifted(state.s_history, (-1, slice(None)), moved),
            y_history=_shifted(state.y_history, (-1, slice(None)), turned),
            rho_history=_shifted(state.rho_history, -1, rho),
            gamma=gamma.astype(state.g_k.dtype),
            status=jnp.where(converged, 0, status),
            ls_status=found.status,
        )

    ended: LbfgsResults = lax.while_loop(lambda state: (~state.converged) & (~state.failed), step, start)
    return ended


def _direction(state: LbfgsResults) -> Any:
    """Return the direction of the next step: minus the estimated inverse Hessian times the gradient, by a loop over the
    kept steps from the last to the first, and another one back.
    """
    dtype, kept = state.rho_history.dtype, len(state.rho_history)
    count = jnp.where(state.k < kept, state.k, kept)

    def back(j: Any, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        i = kept - 1 - j
        q, shares = carry
        share = state.rho_history[i] * dot(jnp.conj(state.s_history[i]), q).real.astype(dtype)
        shares = shares.at[i].set(share)
        return q - share * jnp.conj(state.y_history[i]), shares

    def forth(j: Any, q: Any) -> Any:
        i = kept - count + j
        share = state.rho_history[i] * dot(state.y_history[i], q).real.astype(dtype)
        return q + (shares[i] - share) * state.s_history[i]

    q, shares = lax.fori_loop(0, count, back, (-jnp.conj(state.g_k), jnp.zeros_like(state.rho_history)))
    return lax.fori_loop(0, count, forth, state.gamma * q)


def _shifted(history: Any, place: Any, new: Any) -> Any:
    """Return the history without the oldest entry, and with a new one at its end."""
    return jnp.roll(history, -1, axis=0).at[place].set(new)
