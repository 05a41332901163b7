"""Minimizes a function from a starting point, by the method of Broyden, Fletcher, Goldfarb and Shanno.

Each step goes along `-H @ g`, where H estimates the inverse of the Hessian. The change of the gradient over a step
corrects H.

JAX: jax/_src/scipy/optimize/bfgs.py:minimize_bfgs
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...derivatives.gradients import value_and_grad
from .line_search import dot, line_search

_einsum = partial(jnp.einsum, precision=lax.Precision.HIGHEST)


class BfgsResults(NamedTuple):
    """The state of the search: the numbers of steps (k), evaluations, gradients and Hessians; position, value, gradient
    and the estimate of the inverse Hessian at step k; and how the search ended.
    """

    converged: Any
    failed: Any
    k: Any
    nfev: Any
    ngev: Any
    nhev: Any
    x_k: Any
    f_k: Any
    g_k: Any
    H_k: Any
    old_old_fval: Any  # the value one step before
    status: Any  # see `minimize_bfgs`
    line_search_status: Any  # the status of the last line search


def minimize_bfgs(
    fun: Callable[..., Any],
    x0: Any,
    maxiter: int | None = None,
    norm: Any = np.inf,
    gtol: float = 1e-5,
    line_search_maxiter: int = 10,
) -> BfgsResults:
    """Return the state of the search at its end: when the gradient's norm, of the order `norm`, is below `gtol`, when a
    line search (of at most `line_search_maxiter` steps) fails, or after `maxiter` steps.

    `status` is 0 if the gradient is small enough, 1 after `maxiter` steps (by default 200 for each element of `x0`), and if
    a line search failed, 2 more than the `status` of its result.
    """
    limit = np.size(x0) * 200 if maxiter is None else maxiter
    size = x0.shape[0]
    identity = jnp.eye(size, dtype=x0.dtype)
    f, g = value_and_grad(fun)(x0)
    start = BfgsResults(
        converged=jnp.linalg.norm(g, ord=norm) < gtol,
        failed=False,
        k=0,
        nfev=1,
        ngev=1,
        nhev=0,
        x_k=x0,
        f_k=f,
        g_k=g,
        H_k=identity,
        old_old_fval=f + jnp.linalg.norm(g) / 2,
        status=0,
        line_search_status=0,
    )

    def goes_on(state: BfgsResults) -> Any:
        return jnp.logical_not(state.converged) & jnp.logical_not(state.failed) & (state.k < limit)

    def step(state: BfgsResults) -> BfgsResults:
        direction = -dot(state.H_k, state.g_k)
        found = line_search(
            fun,
            state.x_k,
            direction,
            old_fval=state.f_k,
            old_old_fval=state.old_old_fval,
            gfk=state.g_k,
            maxiter=line_search_maxiter,
        )
        counted = state.nfev + found.nfev, state.ngev + found.ngev
        moved = found.a_k * direction
        x = state.x_k + moved
        turned = found.g_k - state.g_k
        rho = jnp.reciprocal(dot(turned, moved))
        both = moved[:, np.newaxis] * turned[np.newaxis, :]
        w = jnp.eye(size, dtype=rho.dtype) - rho * both
        estimate = _einsum("ij,jk,lk", w, state.H_k, w) + rho * moved[:, np.newaxis] * moved[np.newaxis, :]
        estimate = jnp.where(jnp.isfinite(rho), estimate, state.H_k)
        converged = jnp.linalg.norm(found.g_k, ord=norm) < gtol
        return BfgsResults(
            converged, found.failed, state.k + 1, *counted, state.nhev, x, found.f_k, found.g_k, estimate, state.f_k,
            state.status, found.status,
        )  # fmt: skip

    state = lax.while_loop(goes_on, step, start)
    is_last = state.k == limit
    status = jnp.where(state.failed, 2 + state.line_search_status, -1)
    status = jnp.where(state.converged, 0, jnp.where(is_last, 1, status))
    ended: BfgsResults = state._replace(status=status)
    return ended
