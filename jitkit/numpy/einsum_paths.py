"""Finds the order in which several operands are contracted, two at a time.

A path is a list of pairs of positions; the product of a pair is appended to the remaining operands. The orders are
opt_einsum's, which JAX uses. By default, for up to four operands all orders are tried, for up to fourteen the promising
ones, and for more `greedy_paths` finds one.

JAX: jax/_src/numpy/einsum.py:einsum
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

from .greedy_paths import greedy_order

Path = list[tuple[int, ...]]
_Labels = frozenset[str]

_MOST_TRIED_ALL = 4  # operands; with more, "auto" skips bad-looking orders
BRANCHES = {"branch-all": None, "branch-2": 2, "branch-1": 1}  # how many pairs are tried for each step; None: all
_HOPELESS = 4  # skip an order that takes this many times the operations of another one with as many terms left


_GREEDY = ("greedy", "eager", "opportunistic")  # three words for one search
_MOST_BRANCHES = 14  # operands; with more, "auto" is "greedy"
_OTHERS = ("auto-hq", "dp", "dynamic-programming", "random-greedy", "random-greedy-128")


def check_word(word: str) -> None:
    """Raise KeyError for a word that is not the name of a search, NotImplementedError for a search that jitkit lacks."""
    here = ("auto", "optimal", *BRANCHES, *_GREEDY)
    if word.lower() in _OTHERS:
        raise NotImplementedError(f"einsum_path(optimize={word!r}) is not supported. jitkit has {', '.join(here)}.")
    if word.lower() not in here:
        raise KeyError(f"Path optimizer '{word.lower()}' not found, valid options are { {*here, *_OTHERS} }.")


def order(optimize: Any, inputs: Sequence[str], result: str, sizes: dict[str, int]) -> Path:
    """Return the path that `optimize` means: a path itself, or the one that the search of this name finds (see
    `einsum_path`). An unknown name counts as "auto". For False, and for two operands, each step multiplies the first
    two remaining operands.
    """
    if isinstance(optimize, list | tuple):
        return [tuple(step) for step in optimize if not isinstance(step, str)]
    if len(inputs) == 1:
        return [(0,)]
    if len(inputs) == 2 or optimize is False:
        return [(0, 1)] * (len(inputs) - 1)
    search = _Search(frozenset(result), sizes)
    terms = tuple(map(frozenset, inputs))
    word = "optimal" if optimize is True else str(optimize).lower()
    if word in _GREEDY or (word not in ("optimal", *BRANCHES) and len(inputs) > _MOST_BRANCHES):
        return _positions(greedy_order(terms, frozenset(result), sizes), len(inputs))
    if word == "optimal" or (word not in BRANCHES and len(inputs) <= _MOST_TRIED_ALL):
        search.all_orders([], terms, set(range(len(terms))), 0)
    else:
        width = None if len(inputs) <= 6 else 2 if len(inputs) <= 8 else 1
        search.promising_orders([], terms, 0, 0, BRANCHES.get(word, width))
    return search.path


def _positions(path: Iterable[tuple[int, ...]], operands: int) -> Path:
    """Return a path whose pairs are positions among the remaining terms. In the given path, terms have fixed numbers:
    first the operands, then the products.
    """
    places, found = list(range(operands)), []
    for number, step in enumerate(path):
        found.append(tuple(sorted(places.index(place) for place in step)))
        places = [place for place in places if place not in step] + [operands + number]
    return found


class _Search:
    """A search for an order, with the best one found so far: its `cost` in operations, and its largest intermediate
    array.

    As in opt_einsum, the cost of multiplying two sets of labels is computed once, although it depends on the other
    remaining terms. So the order found is opt_einsum's, but not always the cheapest.
    """

    def __init__(self, result: _Labels, sizes: dict[str, int]) -> None:
        self.result, self.sizes = result, sizes
        self.path: Path = []
        self.cost: float = math.inf
        self.largest: float = math.inf
        self.known: dict[tuple[_Labels, _Labels], tuple[_Labels, int]] = {}
        # number of remaining terms -> the fewest operations with which an order has got there
        self.least: dict[int, int] = {}

    def size(self, labels: _Labels) -> int:
        return math.prod(self.sizes[label] for label in labels)

    def pair(self, terms: tuple[_Labels, ...], i: int, j: int) -> tuple[_Labels, int, tuple[_Labels, ...]]:
        """Return the labels of the product of a pair, its operations, and the terms that remain after it."""
        rest = (*terms[:i], *terms[i + 1 : j], *terms[j + 1 :])
        left, operations = self.product(terms[i], terms[j], rest)
        return left, operations, (*rest, left)

    def product(self, one: _Labels, two: _Labels, rest: Iterable[_Labels]) -> tuple[_Labels, int]:
        """Return those labels of a product that the result or other terms need, and the number of its operations."""
        if (one, two) not in self.known:
            alive = self.result.union(*rest)
            adds = not one & two <= alive  # one addition for each multiplication
            self.known[one, two] = (one | two) & alive, self.size(one | two) * (1 + adds)
        return self.known[one, two]

    def all_orders(self, path: Path, terms: tuple[_Labels, ...], left: set[int], cost: int) -> None:
        """Try each order that can still be the cheapest. `left` are the places of the terms that are not contracted
        yet.

        Of equally cheap orders the first is kept. The order of a set depends on how it was made, so the sets are made
        as in opt_einsum.
        """
        if len(left) == 1:
            self.path, self.cost = _positions(path, len(terms) - len(path)), cost
        for pair in itertools.combinations(left, 2):
            i, j = sorted(pair)
            kept, operations = self.product(terms[i], terms[j], [terms[k] for k in left if k not in pair])
            if cost + operations < self.cost:
                after = left - {i, j} | {len(terms)}
                self.all_orders([*path, (i, j)], (*terms, kept), after, cost + operations)

    def promising_orders(
        self, path: Path, terms: tuple[_Labels, ...], cost: int, largest: int, width: int | None
    ) -> None:
        """Try the pairs that may lead to a better order, or the first `width` of them, those that free the most memory
        first. Pairs without a common label are tried only if no other pair may lead to one.
        """
        if len(terms) == 1:
            self.path, self.cost, self.largest = path, cost, largest
            return
        pairs = list(itertools.combinations(range(len(terms)), 2))
        found = self._candidates(terms, cost, largest, [(i, j) for i, j in pairs if terms[i] & terms[j]])
        for _, _, total, size, pair in sorted(found or self._candidates(terms, cost, largest, pairs))[:width]:
            self.promising_orders([*path, pair], self.pair(terms, *pair)[2], total, size, width)

    def _candidates(
        self, terms: tuple[_Labels, ...], cost: int, largest: int, pairs: Sequence[tuple[int, int]]
    ) -> list[tuple[int, int, int, int, tuple[int, int]]]:
        """Return, for each pair that may lead to a better order: the memory that its product adds, its operations, the
        operations and the largest product of the whole path with it, and the pair.
        """
        found = []
        for i, j in pairs:
            left, operations, _ = self.pair(terms, i, j)
            total, size = cost + operations, max(largest, self.size(left))
            if (total, size) >= (self.cost, self.largest):
                continue
            least = self.least.setdefault(len(terms), total)
            if total > _HOPELESS * least:
                continue
            self.least[len(terms)] = min(total, least)
            taken = self.size(left) - self.size(terms[i]) - self.size(terms[j])
            found.append((taken, operations, total, size, (i, j)))
        return found
