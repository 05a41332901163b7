"""jitkit and JAX under one interface: the same names, the same few lines."""

from __future__ import annotations

from typing import Any, NamedTuple

import jitkit
import jitkit.lax
import jitkit.numpy
import jitkit.tree_util
from jitkit import runtime

jax = runtime.jax()  # not by `import`, so that plugins for missing accelerators stay silent


class Library(NamedTuple):
    """The functions and modules that a program needs of a library."""

    name: str
    jit: Any
    np: Any  # its numpy
    lax: Any
    trees: Any  # its functions on trees
    clear_caches: Any  # forgets everything compiled
    value_and_grad: Any
    vmap: Any
    jvp: Any

    def array(self, x: Any) -> Any:
        """Return a value as an array of this library, on the device."""
        return self.np.asarray(x).block_until_ready()


OURS = Library(
    "jitkit",
    jitkit.jit,
    jitkit.numpy,
    jitkit.lax,
    jitkit.tree_util,
    jitkit.clear_caches,
    jitkit.value_and_grad,
    jitkit.vmap,
    jitkit.jvp,
)
THEIRS = Library(
    "jax", jax.jit, jax.numpy, jax.lax, jax.tree_util, jax.clear_caches, jax.value_and_grad, jax.vmap, jax.jvp
)
LIBRARIES = (OURS, THEIRS)


def wait(result: Any) -> Any:
    """Wait for a result (for a dict or a list, for its items, but not for their contents), and return it."""
    for array in result.values() if isinstance(result, dict) else result if type(result) is list else (result,):
        if hasattr(array, "block_until_ready"):
            array.block_until_ready()
    return result
