"""rule that a library wrote for JAX -> rule with our signature

A library that defines a primitive enters its batching rule in one of JAX's tables, and makes its lowering rule with
`lower_fun`.

JAX: jax/_src/interpreters/mlir.py:lower_fun
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import Primitive, set_current_trace
from ..jaxpr import DebugInfo
from ..tree_util import tree_leaves
from .partial_eval import trace_to_jaxpr


class BatchingRules(dict[Primitive, Callable[..., Any]]):
    """A table in which libraries enter batching rules: `table[primitive] = rule`.

    JAX has three such tables. Their rules begin with different arguments about the mapped axis: none, its size and
    name, or all of `AxisData`; `told(axis)` returns them. The adapted rule, `rule(axis, vals, dims, **params)`, goes
    into the table `into`, by default this one.
    """

    def __init__(
        self, told: Callable[[Any], tuple[Any, ...]], into: dict[Primitive, Callable[..., Any]] | None = None
    ) -> None:
        super().__init__()
        self._told, self._into = told, self if into is None else into

    def __setitem__(self, primitive: Primitive, rule: Callable[..., Any]) -> None:
        told = self._told
        self._into.update(
            {primitive: lambda axis, vals, dims, **params: rule(*told(axis), tuple(vals), tuple(dims), **params)}
        )


_vmappables: set[type] = set()


def register_vmappable(
    data_type: type,
    spec_type: type,
    axis_size_type: type,
    to_elt: Callable[..., Any],
    from_elt: Callable[..., Any],
    make_iota: Callable[..., Any] | None,
) -> None:
    """Note that a library maps over a class in a way of its own, which jitkit lacks: `vmap` refuses its instances
    (`check_vmappable`). Brax registers such a class at import, for simulations by another program than XLA.
    """
    _vmappables.add(data_type)


def check_vmappable(tree: Any) -> None:
    """Raise NotImplementedError if a tree has an instance of a class registered by `register_vmappable`."""
    if not _vmappables:
        return
    for x in tree_leaves(tree, is_leaf=lambda x: type(x) in _vmappables):
        if type(x) in _vmappables:
            raise NotImplementedError(
                f"jax.interpreters.batching.register_vmappable of {type(x).__name__}: jitkit maps over arrays, in trees, and not over "
                "types with axes of their own.\nMap over its arrays: vmap(lambda leaves: ...)(jax.tree.leaves(x))."
            )


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> Callable[..., Any]:
    """Return a lowering rule that writes the equations of `fun`, a function of operands and parameters. With
    `multiple_results`, `fun` returns a sequence of results, otherwise one.
    """

    def rule(ctx: Any, *operands: str, **params: Any) -> Any:
        def results(*xs: Any) -> list[Any]:
            out = fun(*xs, **params)
            return list(out) if multiple_results else [out]

        with set_current_trace(None):
            jaxpr = trace_to_jaxpr(results, ctx.avals_in, DebugInfo("lower_fun", getattr(fun, "__name__", "fun")))
        names = ctx.inline(jaxpr, operands)
        return names if multiple_results else names[0]

    return rule
