"""`jitkit.experimental.ode`: solves ordinary differential equations by a pair of Runge-Kutta methods, with adaptive
steps

A step evaluates the derivative at seven places, and gives the state by a formula of order 5 and its error by one of
order 4. It is accepted if the error is within the tolerance; in any case the error determines the size of the next
step. Between the ends of a step, a polynomial of degree 4 gives the state. The reverse pass does not go through the
steps: the cotangents follow their own differential equation, which is solved backwards in time (R. Chen et al., Neural
Ordinary Differential Equations, 2018).

JAX: jax/experimental/ode.py:odeint
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import lax
from .. import numpy as jnp
from ..base import missing_names
from ..base.switches import default_matmul_precision
from ..core import dtypes, is_array_value
from ..custom_derivatives import closure_convert, custom_vjp
from ..derivatives.linear_maps import vjp
from ..flatten_util import ravel_pytree
from ..interpreters.vmap import vmap
from ..numpy.promotion import promote_dtypes_inexact
from ..pjit.jit import jit
from ..tree_util import tree_leaves, tree_map

# --- one step: J. Dormand, P. Prince, A family of embedded Runge-Kutta formulae, 1980 ---------------------------------

_TIMES = [1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0, 0]
_STAGES = [
    [1 / 5, 0, 0, 0, 0, 0, 0],
    [3 / 40, 9 / 40, 0, 0, 0, 0, 0],
    [44 / 45, -56 / 15, 32 / 9, 0, 0, 0, 0],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0, 0],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0, 0],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0],
]
_SOLUTION = [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0]
_ERROR = [
    35 / 384 - 1951 / 21600, 0, 500 / 1113 - 22642 / 50085, 125 / 192 - 451 / 720, -2187 / 6784 - -12231 / 42400, 11 / 84 - 649 / 6300,
    -1.0 / 60.0,
]  # fmt: skip
_MIDDLE = [  # the weights that give the state in the middle of a step
    6025192743 / 30085553152 / 2, 0, 51252292925 / 65400821598 / 2, -2691868925 / 45128329728 / 2, 187940372067 / 1594534317056 / 2,
    -1776094331 / 19743644256 / 2, 11237099 / 235043384 / 2,
]  # fmt: skip


def _step(func: Callable[..., Any], y0: Any, f0: Any, t0: Any, dt: Any) -> tuple[Any, Any, Any, Any]:
    """Return the state after a step of size `dt` from the state `y0` at the time `t0`, where the derivative is `f0`; the derivative
    at the new state, the error, and the derivatives at all seven places. `func(y, t)` is the derivative.
    """
    times = jnp.array(_TIMES, dtype=dt.dtype)
    stages = jnp.array(_STAGES, dtype=f0.dtype)
    solution = jnp.array(_SOLUTION, dtype=f0.dtype)
    error = jnp.array(_ERROR, dtype=f0.dtype)

    def stage(i: Any, k: Any) -> Any:
        time = t0 + dt * times[i - 1]
        state = y0 + dt.astype(f0.dtype) * jnp.dot(stages[i - 1, :], k)
        derivative = func(state, time)
        return k.at[i, :].set(derivative)

    k = jnp.zeros((7, f0.shape[0]), f0.dtype).at[0, :].set(f0)
    k = lax.fori_loop(1, 7, stage, k)
    y1 = dt.astype(f0.dtype) * jnp.dot(solution, k) + y0
    y1_error = dt.astype(f0.dtype) * jnp.dot(error, k)
    return y1, k[-1], y1_error, k


def _polynomial(y0: Any, y1: Any, k: Any, dt: Any) -> Any:
    """Return the coefficients, highest power first, of the polynomial with the states and derivatives at the ends of a
    step of size `dt`, and the state in its middle. It is a function of the passed share of the step, from 0 to 1. The
    states are `y0` and `y1`; `k` has the derivatives of `_step`.
    """
    middle = jnp.array(_MIDDLE, dtype=y0.dtype)
    y_mid = y0 + dt.astype(y0.dtype) * jnp.dot(middle, k)
    dy0, dy1 = k[0], k[-1]
    dt = dt.astype(y0.dtype)
    a = -2.0 * dt * dy0 + 2.0 * dt * dy1 - 8.0 * y0 - 8.0 * y1 + 16.0 * y_mid
    b = 5.0 * dt * dy0 - 3.0 * dt * dy1 + 18.0 * y0 + 14.0 * y1 - 32.0 * y_mid
    c = -4.0 * dt * dy0 + dt * dy1 - 11.0 * y0 - 5.0 * y1 + 16.0 * y_mid
    d = dt * dy0
    return jnp.asarray((a, b, c, d, y0))


# --- how long a step is -----------------------------------------------------------------------------------------------


def _first_step(func: Callable[..., Any], t0: Any, y0: Any, order: int, rtol: Any, atol: Any, f0: Any) -> Any:
    """Return the size of the first step: E. Hairer, S. Norsett, G. Wanner, Solving Ordinary Differential Equations I, II.4."""
    y0, f0 = promote_dtypes_inexact(y0, f0)
    scale = atol + jnp.abs(y0) * rtol
    d0 = jnp.linalg.norm(y0 / scale.astype(y0.dtype))
    d1 = jnp.linalg.norm(f0 / scale.astype(y0.dtype))
    h0 = jnp.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / d1)
    y1 = y0 + h0.astype(y0.dtype) * f0
    f1 = func(y1, t0 + h0)
    d2 = jnp.linalg.norm((f1 - f0) / scale.astype(y0.dtype)) / h0
    is_flat = (d1 <= 1e-15) & (d2 <= 1e-15)
    h1 = jnp.where(is_flat, jnp.maximum(1e-6, h0 * 1e-3), (0.01 / jnp.maximum(d1, d2)) ** (1.0 / (order + 1.0)))
    return jnp.minimum(100.0 * h0, h1)


def _error_ratio(error: Any, rtol: Any, atol: Any, y0: Any, y1: Any) -> Any:
    """Return the root mean square, over the state, of the error divided by the tolerated error. At most 1 accepts the step."""
    tolerated = atol + rtol * jnp.maximum(jnp.abs(y0), jnp.abs(y1))
    ratio = error / tolerated.astype(error.dtype)
    square = ratio.real**2 + ratio.imag**2 if jnp.iscomplexobj(ratio) else ratio**2
    return jnp.sqrt(jnp.mean(square))


def _next_step(last: Any, ratio: Any) -> Any:
    """Return the size of the next step: a tenth less than the error allows, but at most ten times and at least a fifth
    of the last size. If `ratio`, that of the error to the tolerance, is below 1, the next step is not shorter than the last.
    """
    least = jnp.where(ratio < 1, 1.0, 0.2)
    factor = jnp.minimum(10.0, jnp.maximum(ratio ** (-1.0 / 5.0) * 0.9, least))
    return jnp.where(ratio == 0, last * 10.0, last * factor)


# --- from time to time ------------------------------------------------------------------------------------------------


def odeint(
    func: Callable[..., Any], y0: Any, t: Any, *args: Any, rtol: Any = 1.4e-8, atol: Any = 1.4e-8, mxstep: Any = np.inf, hmax: Any = np.inf
) -> Any:  # fmt: skip
    """Solve dy/dt = func(y, t, *args), with the state `y0` at the first of the times `t`; return the state at each
    time.

    Args:
      func: takes a state, a time and `args`, and returns the derivative of the state by time.
      y0: an array, or a tree of arrays. `func` returns a tree like it, and `odeint` one with a new first axis for the
        times.
      t: an array of floats, each larger than the one before.
      args: further arguments of `func`, trees of arrays; they have derivatives, too.
      rtol, atol: the tolerated error of a step, relative to the state and absolute.
      mxstep: the maximum number of steps from one time to the next. If they are not enough, the last step's polynomial is continued.
      hmax: the maximum size of a step.

    Raises:
      TypeError: for times that are not floats, and for `args` that are not arrays.
    """
    for arg in tree_leaves(args):
        if not is_array_value(arg):
            raise TypeError(f"The contents of odeint *args must be arrays or scalars, but got {arg}.")
    if not dtypes.issubdtype(t.dtype, np.floating):
        raise TypeError(f"t must be an array of floats, but got {t}.")
    converted, consts = closure_convert(func, y0, t[0], *args)
    return _odeint_wrapper(converted, rtol, atol, mxstep, hmax, y0, t, *args, *consts)


@jit(static_argnums=(0, 1, 2, 3, 4))
def _odeint_wrapper(
    func: Callable[..., Any], rtol: Any, atol: Any, mxstep: Any, hmax: Any, y0: Any, ts: Any, *args: Any
) -> Any:
    with default_matmul_precision("highest"):
        flat, unravel = ravel_pytree(y0)

        def of_vectors(y: Any, *more: Any) -> Any:
            return ravel_pytree(func(unravel(y), *more))[0]

        return vmap(unravel)(_odeint(of_vectors, rtol, atol, mxstep, hmax, flat, ts, *args))


@functools.partial(custom_vjp, nondiff_argnums=(0, 1, 2, 3, 4))
def _odeint(
    func: Callable[..., Any], rtol: Any, atol: Any, mxstep: Any, hmax: Any, y0: Any, ts: Any, *args: Any
) -> Any:
    def derivative(y: Any, t: Any) -> Any:
        return func(y, t, *args)

    def up_to(carry: Sequence[Any], target: Any) -> tuple[list[Any], Any]:
        def goes_on(state: Sequence[Any]) -> Any:
            i, _, _, t, dt, _, _ = state
            return (t < target) & (i < mxstep) & (dt > 0)

        def step(state: Sequence[Any]) -> list[Any]:
            i, y, f, t, dt, last_t, polynomial = state
            next_y, next_f, error, k = _step(derivative, y, f, t, dt)
            next_t = t + dt
            ratio = _error_ratio(error, rtol, atol, y, next_y)
            next_polynomial = _polynomial(y, next_y, k, dt)
            dt = jnp.clip(_next_step(dt, ratio), min=0.0, max=hmax)
            good = [i + 1, next_y, next_f, next_t, dt, t, next_polynomial]
            again = [i + 1, y, f, t, dt, last_t, polynomial]
            is_good = ratio <= 1.0
            return [jnp.where(is_good, new, old) for new, old in zip(good, again, strict=True)]

        _, *after = lax.while_loop(goes_on, step, [0, *carry])
        _, _, t, _, last_t, polynomial = after
        share = (target - last_t) / (t - last_t)
        return after, jnp.polyval(polynomial, share.astype(polynomial.dtype))

    with default_matmul_precision("highest"):
        f0 = derivative(y0, ts[0])
        dt = jnp.clip(_first_step(derivative, ts[0], y0, 4, rtol, atol, f0), min=0.0, max=hmax)
        polynomial = jnp.array([y0] * 5)
        _, ys = lax.scan(up_to, [y0, f0, ts[0], dt, ts[0], polynomial], ts[1:])
        return jnp.concatenate((y0[None], ys))


def _odeint_fwd(
    func: Callable[..., Any], rtol: Any, atol: Any, mxstep: Any, hmax: Any, y0: Any, ts: Any, *args: Any
) -> Any:
    ys = _odeint(func, rtol, atol, mxstep, hmax, y0, ts, *args)
    return ys, (ys, ts, args)


def _odeint_rev(func: Callable[..., Any], rtol: Any, atol: Any, mxstep: Any, hmax: Any, res: Any, g: Any) -> Any:
    """Return the cotangents, from the last time to the first. Time runs backwards in their equation, so it is negated there."""
    ys, ts, args = res

    def backwards(state: Any, t: Any, *args: Any) -> Any:
        y, y_bar, *_ = state
        y_dot, pull = vjp(func, y, -t, *args)
        return (-y_dot, *pull(y_bar))

    def one_time_back(carry: Any, i: Any) -> Any:
        y_bar, t0_bar, args_bar = carry
        t_bar = jnp.dot(func(ys[i], ts[i], *args), g[i]).real  # the cotangent of this result's time
        t0_bar = t0_bar - t_bar
        state = (ys[i], y_bar, t0_bar, args_bar)
        between = jnp.array([-ts[i], -ts[i - 1]])
        _, *bars = odeint(backwards, state, between, *args, rtol=rtol, atol=atol, mxstep=mxstep, hmax=hmax)
        y_bar, t0_bar, args_bar = tree_map(lambda x: x[1], tuple(bars))
        return (y_bar + g[i - 1], t0_bar, args_bar), t_bar

    with default_matmul_precision("highest"):
        start = (g[-1], 0.0, tree_map(jnp.zeros_like, args))
        (y_bar, t0_bar, args_bar), bars = lax.scan(one_time_back, start, jnp.arange(len(ts) - 1, 0, -1))
        return (y_bar, jnp.concatenate([jnp.array([t0_bar]), bars[::-1]]), *args_bar)


_odeint.defvjp(_odeint_fwd, _odeint_rev)

missing_names.explain("experimental.ode", sys.modules[__name__])
