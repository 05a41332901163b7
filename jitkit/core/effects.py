"""Defines effects: what an operation does besides returning results.

In a jaxpr, an equation whose results are not read may be dropped, and XLA runs the others in any order that their
operands allow. An operation that prints is needed anyway: it declares an *effect*. An equation has the effects of its
primitive, and a jaxpr those of its equations.

Two guarantees hold:
- dead code elimination keeps an equation with effects;
- operations with the same *ordered* effect happen in the order of the program, also across calls. XLA respects data
  dependencies only, so each of these operations takes a token and returns one. Tokens are not part of a jaxpr.
  Lowering passes one for each ordered effect through functions, branches and loops (`interpreters/mlir`), and
  `runtime.tokens` keeps the last one between calls.

JAX: jax/_src/effects.py:Effect
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet


class Effect:
    """One kind of effect: its name, and whether its operations keep their order. A library's subclass without a name
    has the name of its class.
    """

    __slots__ = ("name", "ordered")

    def __init__(self, name: str = "", ordered: bool = False) -> None:
        self.name = name or type(self).__name__
        self.ordered = ordered

    def __repr__(self) -> str:
        return self.name


Effects = AbstractSet[Effect]
no_effects = frozenset[Effect]()  # an equation without effects has this; a jaxpr has an empty `set`, as in JAX

io_effect = Effect("IO")  # the effect of `io_callback`; loops check for it
ordered_io_effect = Effect("OrderedIO", ordered=True)
debug_effect = Effect("Debug")  # the effect of prints, which happen again where values are recomputed
ordered_debug_effect = Effect("OrderedDebug", ordered=True)
no_dce_effect = Effect("NoDCE")  # the effect of `dce_sink`, which keeps its argument from being dropped


def ordered_effects(effects: Effects) -> list[Effect]:
    """Return the ordered effects among these, always in the same sequence, that of their tokens."""
    return sorted((effect for effect in effects if effect.ordered), key=str)
