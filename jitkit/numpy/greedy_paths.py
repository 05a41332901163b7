"""Finds an order in which many operands are contracted, without trying other orders.

First, operands with equal labels are multiplied. Then each step contracts the pair that frees the most memory, among
pairs that share a label to be summed over. Last, the other terms are multiplied, the smallest first. Candidates wait in
a heap; each new product adds one candidate, the pair of itself and its best partner. This is opt_einsum's search
"greedy", which JAX uses from fifteen operands on.

JAX: jax/_src/numpy/einsum.py:einsum
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Sequence

Labels = frozenset[str]
# memory that a product adds, the two numbers of its factors (which break ties), the factors and the product
_Candidate = tuple[tuple[int, int, int], Labels, Labels, Labels]


def greedy_order(inputs: Sequence[Labels], result: Labels, sizes: dict[str, int]) -> list[tuple[int, int]]:
    """Return pairs of operands' numbers, in the order of contraction. Products get the numbers after the operands'."""
    return _Terms(inputs, result, sizes).path


class _Terms:
    """Finds the path, from the remaining terms, a dict from labels to number.

    A label of all operands counts as one of the result: it is never summed over before the last step.
    """

    def __init__(self, inputs: Sequence[Labels], result: Labels, sizes: dict[str, int]) -> None:
        self.sizes, self.path = sizes, list[tuple[int, int]]()
        self.result = result | frozenset.intersection(*inputs)
        self.numbers = itertools.count(len(inputs))
        self.remaining: dict[Labels, int] = {}
        for number, term in enumerate(inputs):
            self.add(term, number)
        self.holders: dict[str, set[Labels]] = {}  # a label to be summed over -> the terms that have it
        for term in self.remaining:
            self.hold(term)
        self.heap: list[_Candidate] = []
        for terms in self.holders.values():
            in_order = sorted(terms, key=self.remaining.__getitem__)
            for i, term in enumerate(in_order[:-1]):
                self.push_best(term, in_order[i + 1 :])
        self.contract_pairs()
        self.multiply_the_rest()

    def add(self, term: Labels, number: int) -> None:
        """Add a term; the product with a term of the same labels, if there is one, takes its place."""
        if term in self.remaining:
            self.path.append((self.remaining[term], number))
            number = next(self.numbers)
        self.remaining[term] = number

    def hold(self, term: Labels) -> None:
        for label in term - self.result:
            self.holders.setdefault(label, set()).add(term)

    def size(self, labels: Labels) -> int:
        return math.prod(self.sizes[label] for label in labels)

    def held_by(self, label: str, count: int) -> bool:
        return len(self.holders.get(label, ())) >= count

    def candidate(self, one: Labels, two: Labels) -> _Candidate:
        """Return the candidate for two terms. A label stays in their product if the result has it, or a third term."""
        either, both = one | two, one & two
        product = frozenset(
            label for label in either if label in self.result or self.held_by(label, 3 if label in both else 2)
        )
        adds = self.size(product) - self.size(one) - self.size(two)
        if self.remaining[one] > self.remaining[two]:
            one, two = two, one
        return (adds, self.remaining[two], self.remaining[one]), one, two, product

    def push_best(self, term: Labels, partners: Iterable[Labels]) -> None:
        candidates = [self.candidate(term, partner) for partner in partners]
        if candidates:
            heapq.heappush(self.heap, min(candidates, key=lambda candidate: candidate[0]))

    def contract_pairs(self) -> None:
        while self.heap:
            _, one, two, product = heapq.heappop(self.heap)
            if one not in self.remaining or two not in self.remaining:
                continue
            self.path.append((self.remaining.pop(one), self.remaining.pop(two)))
            for term in (one, two):
                for label in term - self.result:
                    self.holders[label].discard(term)
            self.add(product, next(self.numbers))
            self.hold(product)
            partners = {term for label in product for term in self.holders.get(label, ())} - {product}
            self.push_best(product, partners)

    def multiply_the_rest(self) -> None:
        """Multiply the terms without a common label to be summed over, the smallest two first."""
        heap = [(self.size(term & self.result), number, term) for term, number in self.remaining.items()]
        heapq.heapify(heap)
        _, number, term = heapq.heappop(heap)
        while heap:
            _, other, two = heapq.heappop(heap)
            self.path.append((min(number, other), max(number, other)))
            term = (term | two) & self.result
            _, number, term = heapq.heappushpop(heap, (self.size(term), next(self.numbers), term))
