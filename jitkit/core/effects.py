"""What an operation does besides returning results.

A jaxpr is a program of values: an equation whose results nobody reads may be dropped, and XLA runs the others in any
order that their operands allow. An operation that prints has another purpose than its results. It says so by an
*effect*, and the effects of an equation are those of its primitive, those of a jaxpr the ones of its equations.

Two promises are made for them:
- dead code elimination keeps an equation with effects;
- operations of one *ordered* effect happen in the order of the program, across calls too. That order is written as
  what XLA respects, a dependency of data: each of them takes a token and returns one. Tokens are no part of a jaxpr.
  Lowering threads one for each ordered effect through functions, branches and loops (`interpreters/mlir`), and
  between calls the last one waits in `tokens`.

JAX: jax/_src/effects.py:Effect
"""

from __future__ import annotations


class Effect:
    """One kind of effect: its name, and whether the operations that have it keep their order. A library's own class of effects
    is called without a name.
    """

    __slots__ = ("name", "ordered")

    def __init__(self, name: str = "", ordered: bool = False) -> None:
        self.name = name or type(self).__name__
        self.ordered = ordered

    def __repr__(self) -> str:
        return self.name


Effects = frozenset[Effect]
no_effects: Effects = frozenset()

io_effect = Effect("IO")  # of `io_callback`: the loops ask for it
ordered_io_effect = Effect("OrderedIO", ordered=True)


def ordered_effects(effects: Effects) -> list[Effect]:
    """Those whose operations keep their order, always in the same sequence: that of their tokens."""
    return sorted((effect for effect in effects if effect.ordered), key=str)
