"""Calls a function on Taylor series: on tracers that have a value and coefficients, with a rule for each operation

JAX: jax/experimental/jet.py:JetTrace
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import core, lax
from ... import numpy as jnp
from ...core import Primitive, Tracer
from ...tree_util import tree_flatten, tree_structure, tree_unflatten, treedef_is_leaf

Series = list[Any]
Rule = Callable[..., tuple[Any, Any]]

jet_rules: dict[Primitive, Rule] = {}  # rule(primals, series, **params) -> primal, series; None is a series of zeros


def jet(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    series: Sequence[Sequence[Any]],
    factorial_scaled: bool = True,
    **_: Any,
) -> tuple[Any, Any]:
    """Return the value of a function at `primals`, and its derivatives along a path whose derivatives are `series`.

    Args:
      fun: takes arrays, returns a tree of arrays.
      primals: the arguments.
      series: for each argument, its first, second, ... derivative along the path; as many for each.
      factorial_scaled: whether these, and those of the result, are derivatives. With False they are coefficients of the
        Taylor series: the n-th derivative, divided by n!.

    Returns:
      The value, and for each of its leaves a list of as many derivatives.

    Raises:
      NotImplementedError: for an operation without a rule, such as a loop.
      ValueError: for series of different lengths, or arguments that are not arrays.
    """
    lengths = set(map(len, series))
    if len(lengths) != 1:
        raise ValueError("jet terms have inconsistent lengths for different arguments")
    for i, (primal, terms) in enumerate(zip(primals, series, strict=True)):
        if not treedef_is_leaf(tree_structure(primal)):
            raise ValueError(f"primal value at position {i} is not an array")
        for j, term in enumerate(terms):
            if not treedef_is_leaf(tree_structure(term)):
                raise ValueError(f"term {j} for argument {i} is not an array")
    [order] = lengths
    coefficients = [list(terms) for terms in series]
    if factorial_scaled:
        coefficients = [[term / _factorial(k + 1) for k, term in enumerate(terms)] for terms in series]
    tree, values, found = along(fun, list(primals), coefficients, order)
    if factorial_scaled:
        found = [[term * _factorial(k + 1) for k, term in enumerate(terms)] for terms in found]
    return tree_unflatten(tree, values), tree_unflatten(tree, found)


def coefficients_of(fun: Callable[..., Any], primals: Sequence[Any], series: Sequence[Any]) -> tuple[Any, Any]:
    """Return the result of `jet` with coefficients in place of derivatives."""
    return jet(fun, primals, series, factorial_scaled=False)


def _factorial(n: int) -> Any:
    return lax.exp(lax.lgamma(n + 1.0))


def along(
    fun: Callable[..., Any], primals: list[Any], series: list[Any], order: int
) -> tuple[Any, list[Any], list[Any]]:
    """Call a function on tracers. Return the tree of its result, its leaves, and the coefficients of each."""
    trace = _JetTrace(core.current_trace(), order)
    tracers = [_JetTracer(trace, primal, terms) for primal, terms in zip(primals, series, strict=True)]
    try:
        with core.set_current_trace(trace):
            leaves, tree = tree_flatten(fun(*tracers))
    finally:
        trace.end()
    pairs = [trace.pair(x) for x in leaves]
    values = [value for value, _ in pairs]
    return tree, values, [_filled(value, terms, order) for value, terms in pairs]


def _filled(value: Any, terms: Any, order: int) -> Series:
    return [jnp.zeros_like(value)] * order if terms is None else list(terms)


class _JetTracer(Tracer):
    """A value and the coefficients of its Taylor series, from order 1 on."""

    __slots__ = ("primal", "terms")

    def __init__(self, trace: core.Trace, primal: Any, terms: Any) -> None:
        super().__init__(trace, core.get_aval(primal))
        self.primal = primal
        self.terms = terms


class _JetTrace(core.Trace):
    """The trace that computes coefficients beside values."""

    __slots__ = ("order",)

    def __init__(self, parent: core.Trace | None, order: int) -> None:
        super().__init__(parent)
        self.order = order

    def pair(self, x: Any) -> tuple[Any, Any]:
        """Return a value and its coefficients; None for coefficients of a value that does not change along the path."""
        return (x.primal, x.terms) if isinstance(x, _JetTracer) and x._trace is self else (x, None)

    def in_words(self) -> str:
        """Return the transformation's name."""
        return "jet"

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Return the results of an operation, with their coefficients, by its rule. Raise NotImplementedError without one."""
        pairs = [self.pair(x) for x in args]
        primals = [primal for primal, _ in pairs]
        with core.set_current_trace(self.parent):
            if all(terms is None for _, terms in pairs):
                return primitive.bind(*primals, **params)
            if primitive not in jet_rules:
                raise NotImplementedError(f"jet has no rule for '{primitive}'.\nAdd one to `jet.jet_rules`.")
            series = [
                [jnp.zeros(np.shape(x), jnp.result_type(x))] * self.order if terms is None else list(terms)
                for x, terms in pairs
            ]
            out, terms_out = jet_rules[primitive](primals, series, **params)
        if not primitive.multiple_results:
            return self._wrap(out, terms_out)
        return [self._wrap(x, terms) for x, terms in zip(out, terms_out or [None] * len(out), strict=True)]

    def _wrap(self, x: Any, terms: Any) -> Any:
        return x if terms is None else _JetTracer(self, x, terms)


# --- rules of kinds of operations -----------------------------------------------------------------------------


def defzero(*primitives: Primitive) -> None:
    """Define the rule of primitives whose results do not change along a path, except by jumps: no coefficients."""
    for each in primitives:
        jet_rules[each] = lambda primals, series, _p=each, **params: (_p.bind(*primals, **params), None)


def deflinear(*primitives: Primitive) -> None:
    """Define the rule of linear primitives: the operation itself is applied to each coefficient."""
    for each in primitives:
        jet_rules[each] = lambda primals, series, _p=each, **params: _linear(_p, primals, series, params)


def _linear(primitive: Primitive, primals: Any, series: Any, params: dict[str, Any]) -> tuple[Any, Any]:
    out = primitive.bind(*primals, **params)
    terms = [primitive.bind(*each, **params) for each in zip(*series, strict=True)]
    return out, list(zip(*terms, strict=True)) if primitive.multiple_results else terms


def def_deriv(primitive: Primitive, deriv: Callable[[Any], Any]) -> None:
    """Make the rule of a primitive of one operand from its derivative."""

    def rule(primals: Any, series: Any, **params: Any) -> tuple[Any, Series]:
        value = primitive.bind(*primals, **params)
        first, rest = coefficients_of(deriv, primals, series)
        return integral(value, [first, *rest], [*primals, *series[0]])

    jet_rules[primitive] = rule


def def_comp(primitive: Primitive, comp: Callable[..., Any]) -> None:
    """Make the rule of a primitive from a function of simpler operations."""
    jet_rules[primitive] = lambda primals, series, **params: coefficients_of(comp, primals, series)


def integral(value: Any, c: Series, u: Series) -> tuple[Any, Series]:
    """Return the coefficients of v, where v' = c u'."""
    return value, [moment(c, u, k) / k for k in range(1, len(u))]


def moment(c: Series, u: Series, k: int) -> Any:
    """Return k times the coefficient k of v, where v' = c u'."""
    return sum(j * c[k - j] * u[j] for j in range(1, k + 1))
