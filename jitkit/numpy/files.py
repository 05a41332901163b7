"""Reads arrays from numpy's files, from bytes and texts, and from the memory of other libraries.

JAX: jax/_src/numpy/lax_numpy.py:load
"""

from __future__ import annotations

import os
from typing import IO, Any

import numpy as np

from .. import runtime
from ..base.jax_version import since
from ..core.element_types import bfloat16, is_array_dtype
from ..runtime.array import Array, wrap
from .creation import asarray


def load(file: IO[bytes] | str | os.PathLike[Any], *args: Any, **kwargs: Any) -> Any:
    """Return the array in a file that `np.save` wrote; anything else, such as an archive of `np.savez`, as numpy
    returns it. Unnamed two-byte data are read as bfloat16, since files store it so.
    """
    found = np.load(file, *args, **kwargs)
    if not isinstance(found, np.ndarray):
        return found
    if found.dtype == "V2":
        found = found.view(bfloat16)
    return asarray(found) if is_array_dtype(found.dtype) else found


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Any:
    """Return the numbers in a buffer, such as bytes, one after another: `count` of them (-1: all) from byte `offset` on."""
    return asarray(np.frombuffer(buffer=buffer, dtype=dtype, count=count, offset=offset))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Any:
    """Return the numbers in a text between separators, at most `count` of them (-1: all)."""
    return asarray(np.fromstring(string=string, dtype=dtype, count=count, sep=sep))


def fromfile(*args: Any, **kwargs: Any) -> Any:
    """Raise NotImplementedError: reading changes the state of a file, and a traced function would read once."""
    raise NotImplementedError(_impure("fromfile", "file"))


def fromiter(*args: Any, **kwargs: Any) -> Any:
    """Raise NotImplementedError: reading uses up an iterator, and a traced function would read once."""
    raise NotImplementedError(_impure("fromiter", "iterable"))


def _impure(name: str, what: str) -> str:
    later = "101/transformations.html#consequence-1-transformations-require-traceable-functions"
    page = later if since(0, 12) else "notebooks/Common_Gotchas_in_JAX.html#pure-functions"
    return (
        f"jnp.{name}() is not implemented because it may be non-pure and thus unsafe for use with JIT and other JAX "
        f"transformations. Consider using jnp.asarray(np.{name}(...)) instead, although care should be taken if np.{name} "
        f"is used within a jax transformations because of its potential side-effect of consuming the {what} object; for more "
        f"information see https://docs.jax.dev/en/latest/{page}"
    )


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """Return an Array on the memory of anything that supports DLPack (torch tensors, cupy and numpy arrays,
    `jax.Array`s), committed to its device, or to `device`. `copy` goes to `jax.dlpack.from_dlpack`. Raise TypeError for
    other values.
    """
    return wrap(runtime.from_dlpack(x, device, copy))
