"""tree of arrays -> one vector, and back

JAX: jax/_src/flatten_util.py:ravel_pytree
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import lax
from .base import missing_names
from .core import dtypes
from .lax.convert import _convert_element_type
from .tree_util import PyTreeDef, tree_flatten, tree_unflatten


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the leaves of a tree as one vector, of the dtype that they promote to, and the function back.

    Returns:
      The vector, float32 and empty for a tree without leaves; and a function from such a vector to a tree, with leaves of
      the original shapes and dtypes. If all leaves had one dtype, it also accepts and keeps any other dtype. Two such
      functions are equal if they do the same, so that one can be a static argument.

    Raises, in that function:
      TypeError: for a vector of another dtype, if dtypes were different.
      ValueError: for a vector of another length, unless the tree has no leaves.
    """
    leaves, treedef = tree_flatten(pytree)
    if not leaves:
        return lax.full([0], 0, np.float32), Unravel(treedef, (), None, None)
    shapes = tuple(tuple(np.shape(x)) for x in leaves)
    leaf_dtypes = tuple(dtypes.dtype(x) for x in leaves)
    common = dtypes.result_type(*leaf_dtypes)
    if all(dtype == common for dtype in leaf_dtypes):
        parts = [lax.reshape(x, (np.size(x),)) for x in leaves]
        unravel = Unravel(treedef, shapes, None, None)
    else:
        parts = [lax.convert_element_type(x, common).ravel() for x in leaves]
        unravel = Unravel(treedef, shapes, leaf_dtypes, common)
    return lax.concatenate(parts, dimension=0), unravel


@dataclasses.dataclass(frozen=True)
class Unravel:
    """A function from a vector to a tree: the inverse of `ravel_pytree`. `leaf_dtypes` and `common` are None if the
    leaves take the vector's dtype.
    """

    treedef: PyTreeDef
    shapes: tuple[tuple[int, ...], ...]
    leaf_dtypes: tuple[Any, ...] | None
    common: Any

    def __call__(self, flat: Any) -> Any:
        """Return the tree with the elements of `flat`. Raise TypeError or ValueError for another vector, as `ravel_pytree` says."""
        if not self.shapes:
            return tree_unflatten(self.treedef, [])
        if self.leaf_dtypes is not None and dtypes.dtype(flat) != self.common:
            raise TypeError(
                f"unravel function given array of dtype {dtypes.dtype(flat)}, but expected dtype {self.common}"
            )
        chunks = lax.split(flat, [int(np.prod(shape)) for shape in self.shapes])
        leaves = []
        for i, chunk in enumerate(chunks):
            leaf = chunk.reshape(self.shapes[i])
            if self.leaf_dtypes is not None:
                leaf = _convert_element_type(leaf, self.leaf_dtypes[i], warn_on_complex_to_real_cast=False)
            leaves.append(leaf)
        return tree_unflatten(self.treedef, leaves)


missing_names.explain("flatten_util", sys.modules[__name__])
