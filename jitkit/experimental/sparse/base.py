"""The common part of sparse arrays

JAX: jax/experimental/sparse/_base.py:JAXSparse
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

from ... import core

_NOT_HERE = (
    "`jax.experimental.sparse.{}` is not here: of sparse arrays, jitkit has BCOO and BCSR without batch dimensions, with products and "
    "sums. Use that, a dense array, or a function of vectors, which `jax.scipy.sparse.linalg.cg` takes, too."
)


def refuse(what: str) -> NoReturn:
    """Raise NotImplementedError for a part of JAX's sparse arrays that jitkit lacks."""
    raise NotImplementedError(_NOT_HERE.format(what))


class JAXSparse:
    """A sparse array: its `shape`, the entries in `data`, and their places."""

    data: Any
    shape: tuple[int, ...]

    def __hash__(self) -> int:
        raise TypeError(f"unhashable type: {type(self).__name__!r}")

    @property
    def dtype(self) -> Any:
        """The dtype of the entries."""
        return self.data.dtype

    @property
    def size(self) -> int:
        """The number of elements of the dense array."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of axes of the array."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def todense(self) -> Any:
        """Return the dense array."""
        raise NotImplementedError

    def parts(self) -> dict[str, int]:
        """Return the numbers that the array's text shows."""
        return {}

    def __repr__(self) -> str:
        numbers = "".join(f", {name}={number}" for name, number in self.parts().items())
        text = f"{type(self).__name__}({self.dtype}{list(self.shape)}{numbers})"
        return f"{type(self.data).__name__}[{text}]" if isinstance(self.data, core.Tracer) else text


def _without(name: str) -> Callable[..., NoReturn]:
    """Return a method that raises NotImplementedError, for a method that JAX's class lacks, too."""

    def lacking(self: JAXSparse, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{type(self)}.{name}")

    return lacking


for _name in (
    "sum", "__neg__", "__pos__", "__matmul__", "__rmatmul__", "__mul__", "__rmul__", "__add__", "__radd__", "__sub__", "__rsub__",
    "__getitem__",
):  # fmt: skip
    setattr(JAXSparse, _name, _without(_name))
