"""primitive -> its lowering rule: `mlir` looks rules up in this table, and each primitive's module enters one

    @register_lowering(sin_p)
    def _(ctx, x):
        return ctx.emit("stablehlo.sine", [x])

JAX: jax/_src/interpreters/mlir.py:register_lowering
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core import Primitive

LoweringRule = Callable[..., Any]
lowering_rules: dict[Primitive, LoweringRule] = {}  # primitive -> the rule that writes its StableHLO
rank_polymorphic: set[Primitive] = set()  # primitives whose operands must be broadcast to the shape of the result first


def register_lowering(*primitives: Any, platform: str | None = None) -> Callable[[LoweringRule], LoweringRule]:
    """Decorator: register the rule that lowers these primitives, `rule(ctx, *operand_names, **params)`. It returns the
    name of the result, or a list of names for `multiple_results`. Libraries give the rule as the last argument, as in
    JAX.

    With `platform` ("cpu", "gpu", "cuda", "rocm" or "tpu"), the rule is for programs for this platform only, and goes
    before a rule for all platforms.
    """

    def register(rule: LoweringRule) -> LoweringRule:
        for primitive in primitives:
            if platform is None and primitive not in _of_platforms:
                lowering_rules[primitive] = rule
                continue
            if primitive not in _of_platforms:
                _of_platforms[primitive] = {None: lowering_rules[primitive]} if primitive in lowering_rules else {}
            rules = _of_platforms[primitive]
            rules[platform] = rule
            lowering_rules[primitive] = _by_platform(primitive, rules)
        return rule

    if len(primitives) > 1 and not isinstance(primitives[-1], Primitive):
        rule, primitives = primitives[-1], primitives[:-1]
        register(rule if primitives[0].multiple_results else _without_list(rule))
    return register


def _without_list(rule: LoweringRule) -> LoweringRule:
    """Return the rule of a library for a primitive with one result: as in JAX, it may return that result in a list."""

    @functools.wraps(rule)
    def lowered(ctx: Any, *operands: str, **params: Any) -> Any:
        out = rule(ctx, *operands, **params)
        return out[0] if isinstance(out, list | tuple) else out

    return lowered


_of_platforms: dict[Primitive, dict[str | None, LoweringRule]] = {}
_NAMES = {
    "cuda": ("cuda", "gpu"),
    "gpu": ("cuda", "gpu"),
    "rocm": ("rocm", "gpu"),
}  # a program's platform -> names of rules for it


def _by_platform(primitive: Primitive, rules: dict[str | None, LoweringRule]) -> LoweringRule:
    """Return a rule that calls the rule for the program's platform, or else the rule for all; it raises
    NotImplementedError without either.
    """

    def rule(ctx: Any, *operands: str, **params: Any) -> Any:
        names = _NAMES.get(ctx.module.platform, (ctx.module.platform,))
        for name in (*names, None):
            if name in rules:
                return rules[name](ctx, *operands, **params)
        platform = names[0]
        raise NotImplementedError(
            f"MLIR translation rule for primitive '{primitive}' not found for platform {platform}\n"
            f"Register one: `register_lowering(primitive, rule, platform={platform!r})`."
        )

    return rule


def lowering_rule(primitive: Primitive) -> LoweringRule | None:
    """Return the registered lowering rule of a primitive; None if there is none."""
    return lowering_rules.get(primitive)
