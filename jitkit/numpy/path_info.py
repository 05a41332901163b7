"""Describes the order in which operands are contracted: each step's product and cost.

JAX: jax/_src/numpy/einsum.py:einsum_path
"""

from __future__ import annotations

import dataclasses
import decimal
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

_MOST_LISTED = 20  # operands; the text of a step does not list more

Shape = tuple[int, ...]


class Contraction(NamedTuple):
    """A step of a path."""

    positions: tuple[int, ...]  # of its operands, in descending order
    summed: frozenset[str]  # the labels that it sums over
    einsum_str: str  # its subscripts
    remaining: tuple[str, ...] | None  # the labels of all terms that remain; None if they are too many to list
    blas: str | bool  # the routine of BLAS that computes it, or False


@dataclasses.dataclass
class PathInfo:
    """The steps of a path, and their cost. `print` shows a table, as opt_einsum does."""

    contraction_list: list[Contraction]
    input_subscripts: str
    output_subscript: str
    path: Any
    indices: frozenset[str]
    scale_list: list[int]
    naive_cost: decimal.Decimal
    opt_cost: decimal.Decimal
    size_list: list[int]
    size_dict: dict[str, int]

    @property
    def eq(self) -> str:
        """The labels of all operands and of the result: "ij,jk->ik"."""
        return f"{self.input_subscripts}->{self.output_subscript}"

    @property
    def shapes(self) -> list[Shape]:
        """The shape of each operand."""
        return [tuple(self.size_dict[label] for label in term) for term in self.input_subscripts.split(",")]

    @property
    def speedup(self) -> decimal.Decimal:
        """The number of operations of one loop over all labels, divided by that of the path."""
        return self.naive_cost / max(self.opt_cost, decimal.Decimal(1))

    @property
    def largest_intermediate(self) -> decimal.Decimal:
        """The number of elements of the largest product."""
        return decimal.Decimal(max(self.size_list, default=1))

    def __repr__(self) -> str:
        facts = {
            "Complete contraction": self.eq,
            "Naive scaling": len(self.indices),
            "Optimized scaling": max(self.scale_list, default=0),
            "Naive FLOP count": f"{self.naive_cost:.3e}",
            "Optimized FLOP count": f"{self.opt_cost:.3e}",
            "Theoretical speedup": f"{self.speedup:.3e}",
            "Largest intermediate": f"{self.largest_intermediate:.3e} elements",
        }
        line = "-" * 80
        head = f"{'scaling':>6} {'BLAS':>11} {'current':>22} {'remaining':>37}"
        return "\n".join([*[f"{name:>22}:  {fact}" for name, fact in facts.items()], line, head, line, *self._rows()])

    def _rows(self) -> list[str]:
        rows = []
        for scale, step in zip(self.scale_list, self.contraction_list, strict=True):
            left = "..." if step.remaining is None else f"{','.join(step.remaining)}->{self.output_subscript}"
            width = max(0, 56 - max(22, len(step.einsum_str)))
            rows.append(f"{scale:>4} {step.blas:>14} {step.einsum_str:>22}    {left:>{width}}")
        return rows


def describe(
    inputs: Sequence[str], result: str, shapes: Sequence[Shape], sizes: dict[str, int], path: Sequence[Sequence[int]]
) -> PathInfo:
    """Return the steps of a path, and their cost."""
    terms, sets, dims = list(inputs), [frozenset(term) for term in inputs], list(shapes)
    labels = frozenset("".join(inputs))
    steps, scales, counts, costs = [], [], [], []
    for number, positions in enumerate(path):
        chosen = tuple(sorted(positions, reverse=True))
        met = frozenset[str]().union(*[sets.pop(i) for i in chosen])
        kept = met & frozenset(result).union(*sets)
        sets.append(kept)
        costs.append(_operations(met, bool(met - kept), len(chosen), sizes))
        scales.append(len(met))
        counts.append(math.prod(sizes[label] for label in kept))
        words, their_shapes = [terms.pop(i) for i in chosen], [dims.pop(i) for i in chosen]
        blas = _blas(words, kept, met - kept, their_shapes)
        made = result if number == len(path) - 1 else "".join(sorted(kept, key="".join(words).find))
        terms.append(made)
        dims.append(_broadcast(words, their_shapes, made))
        remaining = tuple(terms) if len(terms) <= _MOST_LISTED else None
        steps.append(Contraction(chosen, met - kept, f"{','.join(words)}->{made}", remaining, blas))
    is_summed = sum(len(set(term)) for term in inputs) > len(labels)
    naive = _operations(labels, is_summed, len(inputs), sizes)
    return PathInfo(
        steps, ",".join(inputs), result, path, labels, scales, decimal.Decimal(naive), decimal.Decimal(sum(costs)), counts, sizes
    )  # fmt: skip


def _operations(labels: frozenset[str], is_summed: bool, operands: int, sizes: dict[str, int]) -> int:
    """Return the number of operations of a contraction over these labels: at each position `operands` - 1
    multiplications (at least 1), and one addition if a label is summed over.
    """
    return math.prod(sizes[label] for label in labels) * (max(1, operands - 1) + is_summed)


def _broadcast(terms: Sequence[str], shapes: Sequence[Shape], result: str) -> Shape:
    pairs = list(zip(terms, shapes, strict=True))
    return tuple(max(shape[term.find(label)] for term, shape in pairs if label in term) for label in result)


def _blas(terms: Sequence[str], kept: frozenset[str], summed: frozenset[str], shapes: Sequence[Shape]) -> str | bool:
    """Return the BLAS routine for this product, or False. If its name ends in "/EINSUM", einsum itself is faster."""
    if len(terms) != 2:
        return False
    left, right = terms
    for label in {*left, *right}:
        if max(left.count(label), right.count(label)) > 1 or (label in left and label in right) == (label in kept):
            return False
    if any(shapes[0][left.find(label)] != shapes[1][right.find(label)] for label in summed):
        return False
    if not summed:
        return "OUTER/EINSUM"
    if set(left) == set(right):
        return "DOT" if left == right else "DOT/EINSUM"
    n = len(summed)
    if {left[:n], left[-n:]} & {right[:n], right[-n:]}:
        return "GEMM"
    return "TDOT" if set(left) - summed and set(right) - summed else "GEMV/EINSUM"
