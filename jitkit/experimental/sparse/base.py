"""What sparse arrays have in common; and the names that libraries import and that are not here

JAX: jax/experimental/sparse/_base.py:JAXSparse
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

from ... import core

_NOT_HERE = (
    "`jax.experimental.sparse.{}` is not here: of sparse arrays, jitkit has BCOO without batch dimensions, with its products and sums. "
    "Use that, a dense array, or a function of vectors, which `jax.scipy.sparse.linalg.cg` takes, too."
)


def refuse(what: str) -> NoReturn:
    """Raise NotImplementedError for a part of JAX's sparse arrays that is not here."""
    raise NotImplementedError(_NOT_HERE.format(what))


class JAXSparse:
    """A sparse array: its `shape`, the entries in `data`, and where they stand."""

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
        """How many elements the dense array has."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """How many axes the array has."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def parts(self) -> dict[str, int]:
        """Return the numbers that the array's text shows."""
        return {}

    def __repr__(self) -> str:
        numbers = "".join(f", {name}={number}" for name, number in self.parts().items())
        text = f"{type(self).__name__}({self.dtype}{list(self.shape)}{numbers})"
        return f"{type(self.data).__name__}[{text}]" if isinstance(self.data, core.Tracer) else text


class BCSR(JAXSparse):
    """A sparse array in compressed rows. It is not supported: there are no instances."""

    def __new__(cls, *args: Any, **kwargs: Any) -> BCSR:
        """Raise NotImplementedError."""
        refuse(cls.__name__)

    @classmethod
    def fromdense(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise NotImplementedError."""
        refuse(cls.__name__)


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """Return a function that raises NotImplementedError when it is called; libraries decorate functions at import. In JAX it takes
    sparse arrays where `f` takes dense ones.
    """

    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        refuse(f"sparsify of {getattr(f, '__name__', f)}")

    return refused
