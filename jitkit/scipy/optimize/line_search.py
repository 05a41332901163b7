"""Finds how far to go from a position in a direction: a step size that fulfils the strong Wolfe conditions.

phi(a) is the function at `x + a * p`, and dphi(a) its slope along p. A step is good if phi has decreased by a share of
the decrease that the slope promised (the first condition) and the slope is flatter than before (the second). The search
doubles the step until it is good or a good one must be between the last two; then a zoom shrinks that interval.

JAX: jax/_src/scipy/optimize/line_search.py:line_search
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ... import lax
from ... import numpy as jnp
from ...core import dtypes
from ...derivatives.gradients import value_and_grad
from ...numpy.promotion import promote_dtypes_inexact

dot = partial(jnp.dot, precision=lax.Precision.HIGHEST)

_MOST_ZOOMS = 30
_State = TypeVar("_State", bound=Any)


class _Zoom(NamedTuple):
    """The interval, with values and slopes at its ends; the last discarded point (rec); and the result (star)."""

    done: Any
    failed: Any
    j: Any
    a_lo: Any
    phi_lo: Any
    dphi_lo: Any
    a_hi: Any
    phi_hi: Any
    dphi_hi: Any
    a_rec: Any
    phi_rec: Any
    a_star: Any
    phi_star: Any
    dphi_star: Any
    g_star: Any
    nfev: Any
    ngev: Any


class _Search(NamedTuple):
    """The last tried step (i1), and the result (star)."""

    done: Any
    failed: Any
    i: Any
    a_i1: Any
    phi_i1: Any
    dphi_i1: Any
    nfev: Any
    ngev: Any
    a_star: Any
    phi_star: Any
    dphi_star: Any
    g_star: Any


class LineSearchResults(NamedTuple):
    """The step `a_k`, with value and gradient there. `status` is 0 for a good step, 1 if a zoom failed (its interval
    got too small, or it took too many steps), and 3 after too many steps of the search.
    """

    failed: Any  # whether no good step was found
    nit: Any  # how many step sizes the search tried, without those of the zooms
    nfev: Any  # how often the function was evaluated
    ngev: Any  # how often its gradient was
    k: Any  # nit + 1
    a_k: Any
    f_k: Any  # the value there
    g_k: Any  # the gradient there
    status: Any


def _replace_where(pred: Any, state: _State, **new: Any) -> _State:
    replaced: _State = state._replace(**{name: jnp.where(pred, x, getattr(state, name)) for name, x in new.items()})
    return replaced


def _cubic_minimum(a: Any, fa: Any, slope: Any, b: Any, fb: Any, c: Any, fc: Any) -> Any:
    """Return the minimum point of the cubic with these values at a, b, c, and this slope at a; nan if it has none."""
    dtype = dtypes.result_type(a, fa, slope, b, fb, c, fc)
    to_b, to_c = b - a, c - a
    denominator = (to_b * to_c) ** 2 * (to_b - to_c)
    matrix = jnp.array([[to_c**2, -(to_b**2)], [-(to_c**3), to_b**3]], dtype=dtype)
    values = jnp.array([fb - fa - slope * to_b, fc - fa - slope * to_c], dtype=dtype)
    cubic, square = dot(matrix, values) / denominator
    radical = square * square - 3.0 * cubic * slope
    return a + (-square + jnp.sqrt(radical)) / (3.0 * cubic)


def _quadratic_minimum(a: Any, fa: Any, slope: Any, b: Any, fb: Any) -> Any:
    """Return the minimum point of the parabola with values `fa` at a and `fb` at b, and with this slope at a."""
    to_b = b - a
    square = (fb - fa - slope * to_b) / (to_b**2)
    return a - slope / (2.0 * square)


class _Along:
    """The function along a direction, and the conditions on a step."""

    def __init__(self, fun: Callable[..., Any], x: Any, p: Any, c1: float, c2: float) -> None:
        self.fun, self.x, self.p, self.c1, self.c2 = fun, x, p, c1, c2
        self.phi_0: Any = None
        self.dphi_0: Any = None
        self.g_0: Any = None

    def at(self, a: Any) -> tuple[Any, Any, Any]:
        """Return value, slope and gradient after a step of size `a`."""
        phi, g = value_and_grad(self.fun)(self.x + jnp.array(a, dtype=self.p.dtype) * self.p)
        return phi, jnp.real(dot(g, self.p)), g

    def begin(self, phi: Any, dphi: Any, g: Any) -> None:
        self.phi_0, self.dphi_0, self.g_0 = phi, dphi, g

    def is_too_high(self, a: Any, phi: Any) -> Any:
        return phi > self.phi_0 + self.c1 * a * self.dphi_0

    def is_flat(self, dphi: Any) -> Any:
        return jnp.abs(dphi) <= -self.c2 * self.dphi_0

    def zoom(self, low: tuple[Any, Any, Any], high: tuple[Any, Any, Any], is_skipped: Any) -> _Zoom:
        """Return the zoom into the interval between two steps, each given with value and slope; with `is_skipped`, without any step."""
        (a_lo, phi_lo, dphi_lo), (a_hi, phi_hi, _) = low, high
        middle, mean = (a_lo + a_hi) / 2.0, (phi_lo + phi_hi) / 2.0
        start = _Zoom(False, False, 0, *low, *high, middle, mean, 1.0, phi_lo, dphi_lo, self.g_0, 0, 0)
        found: _Zoom = lax.while_loop(lambda s: (~s.done) & (~is_skipped) & (~s.failed), self._zoom_once, start)
        return found

    def _zoom_once(self, state: _Zoom) -> _Zoom:
        """Return the state after trying the minimum of a cubic, of a parabola, or the middle: the first that is well
        inside the interval.
        """
        width = state.a_hi - state.a_lo
        left, right = jnp.minimum(state.a_hi, state.a_lo), jnp.maximum(state.a_hi, state.a_lo)
        cubic_margin, quadratic_margin = 0.2 * width, 0.1 * width
        least = jnp.where(dtypes.finfo(width.dtype).bits < 64, 1e-5, 1e-10)
        state = state._replace(failed=state.failed | (width <= least))

        by_cubic = _cubic_minimum(
            state.a_lo, state.phi_lo, state.dphi_lo, state.a_hi, state.phi_hi, state.a_rec, state.phi_rec
        )
        is_cubic = (state.j > 0) & (by_cubic > left + cubic_margin) & (by_cubic < right - cubic_margin)
        by_parabola = _quadratic_minimum(state.a_lo, state.phi_lo, state.dphi_lo, state.a_hi, state.phi_hi)
        is_parabola = (~is_cubic) & (by_parabola > left + quadratic_margin) & (by_parabola < right - quadratic_margin)
        middle = (state.a_lo + state.a_hi) / 2.0
        is_middle = (~is_cubic) & (~is_parabola)
        a = jnp.where(is_cubic, by_cubic, state.a_rec)
        a = jnp.where(is_parabola, by_parabola, a)
        a = jnp.where(is_middle, middle, a)

        phi, dphi, g = self.at(a)
        phi, dphi = phi.astype(state.phi_lo.dtype), dphi.astype(state.dphi_lo.dtype)
        g = g.astype(state.g_star.dtype)
        state = state._replace(nfev=state.nfev + 1, ngev=state.ngev + 1)

        becomes_high = self.is_too_high(a, phi) | (phi >= state.phi_lo)
        is_found = self.is_flat(dphi) & (~becomes_high)
        turns = (dphi * (state.a_hi - state.a_lo) >= 0.0) & (~becomes_high) & (~is_found)
        becomes_low = (~becomes_high) & (~is_found)
        high = {"a_hi": a, "phi_hi": phi, "dphi_hi": dphi, "a_rec": state.a_hi, "phi_rec": state.phi_hi}
        state = _replace_where(becomes_high, state, **high)
        is_done = is_found | state.done
        state = _replace_where(is_found, state, a_star=a, phi_star=phi, dphi_star=dphi, g_star=g)
        state = state._replace(done=is_done)
        low = {"a_hi": state.a_lo, "phi_hi": state.phi_lo, "dphi_hi": state.dphi_lo}
        state = _replace_where(turns, state, **low, a_rec=state.a_hi, phi_rec=state.phi_hi)
        state = _replace_where(becomes_low & ~turns, state, a_rec=state.a_lo, phi_rec=state.phi_lo)
        state = _replace_where(becomes_low, state, a_lo=a, phi_lo=phi, dphi_lo=dphi)
        state = state._replace(j=state.j + 1)
        return state._replace(failed=state.failed | (state.j >= _MOST_ZOOMS))


def line_search(
    fun: Callable[..., Any],
    xk: Any,
    pk: Any,
    old_fval: Any = None,
    old_old_fval: Any = None,
    gfk: Any = None,
    c1: float = 1e-4,
    c2: float = 0.9,
    maxiter: int = 20,
) -> LineSearchResults:
    """Return a step from `xk` along `pk`, a direction in which the function decreases.

    Args:
      fun: a function of an array like `xk`, which returns a number.
      xk, pk: the position and the direction, arrays of one shape.
      old_fval, gfk: value and gradient at `xk`, if they are known.
      old_old_fval: the value one step before, from which the first step is guessed.
      c1, c2: the required share of the promised decrease, and the allowed share of the slope.
      maxiter: how many step sizes the search tries at most, without those of the zooms.
    """
    xk, pk = promote_dtypes_inexact(xk, pk)
    along = _Along(fun, xk, pk, c1, c2)
    evaluations = 0
    if old_fval is None or gfk is None:
        along.begin(*along.at(0))
        evaluations = 1
    else:
        along.begin(old_fval, jnp.real(dot(gfk, pk)), gfk)
    phi_0, dphi_0, g_0 = along.phi_0, along.dphi_0, along.g_0
    first: Any = 1
    if old_old_fval is not None:
        guess = 1.01 * 2 * (phi_0 - old_old_fval) / dphi_0
        first = jnp.where(guess > 1, 1.0, guess)

    def step(state: _Search) -> _Search:
        a = jnp.where(state.i == 1, first, state.a_i1 * 2.0)
        phi, dphi, g = along.at(a)
        state = state._replace(nfev=state.nfev + 1, ngev=state.ngev + 1)
        is_beyond = along.is_too_high(a, phi) | ((phi >= state.phi_i1) & (state.i > 1))
        is_found = along.is_flat(dphi) & (~is_beyond)
        is_rising = (dphi >= 0.0) & (~is_beyond) & (~is_found)
        last, this = (state.a_i1, state.phi_i1, state.dphi_i1), (a, phi, dphi)

        back = along.zoom(last, this, ~is_beyond)
        state = state._replace(nfev=state.nfev + back.nfev, ngev=state.ngev + back.ngev)
        forth = along.zoom(this, last, ~is_rising)
        state = state._replace(nfev=state.nfev + forth.nfev, ngev=state.ngev + forth.ngev)

        state = _with_result_of(is_beyond, state, back)
        is_done = is_found | state.done
        state = _replace_where(is_found, state, a_star=a, phi_star=phi, dphi_star=dphi, g_star=g)
        state = _with_result_of(is_rising, state._replace(done=is_done), forth)
        return state._replace(i=state.i + 1, a_i1=a, phi_i1=phi, dphi_i1=dphi)

    never = jnp.array(False, dtype=bool), jnp.array(False, dtype=bool)
    start = _Search(*never, 1, 0.0, phi_0, dphi_0, evaluations, evaluations, 0.0, phi_0, dphi_0, g_0)
    state = lax.while_loop(lambda s: (~s.done) & (s.i <= maxiter) & (~s.failed), step, start)
    zoom_failed, in_time = jnp.array(1), (jnp.array(3), jnp.array(0))
    status = jnp.where(state.failed, zoom_failed, jnp.where(state.i > maxiter, *in_time))
    # Without 64 bits, a step other than 0 has at least the size 1e-8: a smaller one would do nothing.
    a = jnp.asarray(state.a_star)
    a = jnp.where((dtypes.finfo(a.dtype).bits != 64) & (jnp.abs(a) < 1e-8), jnp.sign(a) * 1e-8, a)
    is_failed = state.failed | (~state.done)
    return LineSearchResults(
        is_failed, state.i - 1, state.nfev, state.ngev, state.i, a, state.phi_star, state.g_star, status
    )


def _with_result_of(pred: Any, state: _Search, zoomed: _Zoom) -> _Search:
    """Return the state, with the result of a zoom where `pred` holds."""
    is_done, is_failed = pred | state.done, (pred & zoomed.failed) | state.failed
    names = ("a_star", "phi_star", "dphi_star", "g_star")
    state = _replace_where(pred, state, **{name: getattr(zoomed, name) for name in names})
    return state._replace(done=is_done, failed=is_failed)
