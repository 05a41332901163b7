"""tree -> leaves + treedef, by a guess

Nearly every tree has the structure of one that came before: the parameters of a model, the arguments of a function. What a
structure is can be guessed from the root, and a guess is sooner checked than a structure is found: functions that are written
for it (`compiled`) take 400 leaves apart in 30 us, JAX's C++ in 60, `flatten_into` in 200.

To write them takes Python milliseconds, so only a structure that came `AFTER` times has them, and only as long as it lives; one of
thousands of different parts, for which it takes a tenth of a second, has to come more often (`is_due`).
A program whose trees change all the time pays for the look at the root, and no more.

JAX: jax/_src/tree_util.py:tree_flatten
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from ..base.late_rooms import Slots
from .treedef import LEAF, PyTreeDef

AFTER = 8
_MOST_GUESSES = 64

TakeApart = Callable[[Any], list[Any] | None]


class _Writers(Slots):
    """Slots for what can be written for a structure, each None where it cannot: `compiled` fills them."""

    guess: Callable[[PyTreeDef], TakeApart | None]  # tree -> leaves, or None for a tree of another structure
    put_together: Callable[[PyTreeDef], Any]  # as many leaves as there must be -> tree
    paths: Callable[[PyTreeDef], Any]  # the key paths of the leaves, a list
    patience: Callable[[PyTreeDef], int]  # how often a structure has to come before anything is written for it


writers = _Writers()


def is_due(treedef: PyTreeDef, after: int = AFTER) -> bool:
    """Note that a structure has come, and say whether it has come often enough for functions to be written for it: `after` times,
    and if it is long, as often as takes as much time as to write them (`compiled.patience`).
    """
    texts: dict[str, Any] | None = treedef.written
    if texts is None:
        treedef.uses += 1
        if treedef.uses <= after:
            return False
        texts = treedef.written = {"patience": writers.patience(treedef)}
    if treedef.uses < texts["patience"]:
        treedef.uses += 1
        return False
    return True


def written(what: str, treedef: PyTreeDef, after: int = AFTER) -> Any:
    """What is written for a structure: `guess`, `put_together` or `paths`. None until that is due."""
    texts: dict[str, Any] | None = treedef.written
    if texts is None or what not in texts:
        if not is_due(treedef, after) or treedef.written is None:
            return None
        texts = treedef.written
        texts[what] = getattr(writers, what)(treedef)
    return texts[what]


class Guesses:
    """Structures that came often, by what the root of such a tree looks like: of each kind of root, the last two.

    With `keeps_values=False`, no metadata of the user's are kept alive for a guess.
    """

    __slots__ = ("_after", "_by_root", "_keeps_values", "_lately")

    def __init__(self, after: int = AFTER, keeps_values: bool = False) -> None:
        self._after = after
        self._keeps_values = keeps_values
        self._by_root: dict[Any, list[tuple[TakeApart, PyTreeDef]]] = {}
        # or else they may die before they come again
        self._lately: collections.deque[PyTreeDef] = collections.deque(maxlen=8)

    def flatten(self, tree: Any) -> tuple[list[Any], PyTreeDef] | None:
        """The leaves and the structure of a tree, if it has one of the structures that came often."""
        for take_apart, treedef in self._by_root.get(_root(tree), ()):
            leaves = take_apart(tree)
            if leaves is not None:
                return leaves, treedef
        return None

    def learn(self, tree: Any, treedef: PyTreeDef) -> None:
        """Note that a tree came that was not guessed, and has this structure."""
        if treedef is LEAF or not (treedef.is_plain or self._keeps_values):
            return
        self._lately.append(treedef)
        take_apart = written("guess", treedef, self._after)
        if take_apart is not None:
            root = _root(tree)
            if root not in self._by_root and len(self._by_root) >= _MOST_GUESSES:
                self._by_root.clear()
            self._by_root[root] = [(take_apart, treedef), *self._by_root.get(root, ())[:1]]


def _root(tree: Any) -> Any:
    """What is seen of a tree at once."""
    cls = type(tree)
    if cls is dict:
        for key in tree:
            return len(tree), key  # the first one
    elif (cls is tuple or cls is list) and tree:
        return len(tree), cls, type(tree[0])
    return cls


everywhere = Guesses()
