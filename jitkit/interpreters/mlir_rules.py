"""primitive -> its lowering rule: `mlir` looks rules up in this table, and each primitive's module enters one

    @register_lowering(sin_p)
    def _(ctx, x):
        return ctx.emit("stablehlo.sine", [x])

JAX: jax/_src/interpreters/mlir.py:register_lowering
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import Primitive

LoweringRule = Callable[..., Any]
lowering_rules: dict[Primitive, LoweringRule] = {}
rank_polymorphic: set[Primitive] = set()


def register_lowering(*primitives: Any) -> Callable[[LoweringRule], LoweringRule]:
    """Decorator: register the rule that lowers these primitives. It is called as `rule(ctx, *operand_names, **params)`.

    It returns the name of the result, or a list of names when the primitive has `multiple_results`. Libraries give
    the rule as the last argument, as to JAX's function of this name.
    """

    def register(rule: LoweringRule) -> LoweringRule:
        for primitive in primitives:
            lowering_rules[primitive] = rule
        return rule

    if len(primitives) > 1 and not isinstance(primitives[-1], Primitive):
        rule, primitives = primitives[-1], primitives[:-1]
        register(rule)
    return register


def lowering_rule(primitive: Primitive) -> LoweringRule | None:
    """Return the registered lowering rule of a primitive; None if there is none."""
    return lowering_rules.get(primitive)
