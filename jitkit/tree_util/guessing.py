"""tree -> leaves + treedef, by a guess

Nearly every tree has the structure of an earlier one: the parameters of a model, the arguments of a function. The
structure is guessed from the root, since checking a guess is faster than flattening: functions written for a structure
(`compiled`) flatten 400 leaves in 30 us, JAX's C++ in 60, `flatten_into` in 200.

Writing them takes milliseconds, so only a structure that came `AFTER` times gets them, and only as long as it lives;
one with thousands of different parts, for which it takes a tenth of a second, must come more often (`is_due`). A
program whose trees change all the time only pays for looking at the root.

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
    """Slots for functions that write code for a structure, which `compiled` fills; `guess` and `paths` return None if they cannot."""

    guess: Callable[[PyTreeDef], TakeApart | None]  # tree -> leaves, or None for a tree of another structure
    put_together: Callable[[PyTreeDef], Any]  # exactly as many leaves as needed -> tree
    paths: Callable[[PyTreeDef], Any]  # the key paths of the leaves, a list
    patience: Callable[[PyTreeDef], int]  # how often a structure must come before anything is written for it


writers = _Writers()


def is_due(treedef: PyTreeDef, after: int = AFTER) -> bool:
    """Count one more use of a structure. Return whether functions should be written for it: it came at least `after`
    times before, and if they are long, as often as writing them pays (`compiled.patience`).
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
    """Return the function or list `what` written for a structure: `guess`, `put_together` or `paths`. Return None
    before it is due, and if it cannot be written.
    """
    texts: dict[str, Any] | None = treedef.written
    if texts is None or what not in texts:
        if not is_due(treedef, after) or treedef.written is None:
            return None
        texts = treedef.written
        texts[what] = getattr(writers, what)(treedef)
    return texts[what]


class Guesses:
    """The structures that came often, by their roots (`_root`): for each kind of root, the last two. With
    `keeps_values=False`, no guess keeps the user's metadata alive.
    """

    __slots__ = ("_after", "_by_root", "_keeps_values", "_lately")

    def __init__(self, after: int = AFTER, keeps_values: bool = False) -> None:
        self._after = after
        self._keeps_values = keeps_values
        self._by_root: dict[Any, list[tuple[TakeApart, PyTreeDef]]] = {}
        # keeps the latest structures alive: otherwise their counts of uses would be lost with them
        self._lately: collections.deque[PyTreeDef] = collections.deque(maxlen=8)

    def flatten(self, tree: Any) -> tuple[list[Any], PyTreeDef] | None:
        """Return the leaves and the structure of a tree, if it has one of the frequent structures; else None."""
        for take_apart, treedef in self._by_root.get(_root(tree), ()):
            leaves = take_apart(tree)
            if leaves is not None:
                return leaves, treedef
        return None

    def learn(self, tree: Any, treedef: PyTreeDef) -> None:
        """Keep a guess for a tree whose structure was not guessed, once that structure has come often enough."""
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
    """Return the visible facts of a tree's root: its type, and for a tuple or list with items its length and the type
    of the first item; for a dict with items, its length and first key.
    """
    cls = type(tree)
    if cls is dict:
        for key in tree:
            return len(tree), key  # the first key
    elif (cls is tuple or cls is list) and tree:
        return len(tree), cls, type(tree[0])
    return cls


everywhere = Guesses()
