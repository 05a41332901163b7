"""The names of `jax.experimental.sparse` that libraries ask for at import. jitkit has no sparse matrices: none can be made

JAX: jax/experimental/sparse/bcoo.py:BCOO
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from ..base import missing_names


class JAXSparse:
    """A sparse matrix. Libraries ask whether something is one; none can be made."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """NotImplementedError."""
        raise NotImplementedError(
            f"`jax.experimental.sparse.{cls.__name__}` is not here: jitkit has no sparse matrices. Use a dense array, or a function of "
            "vectors, which `jax.scipy.sparse.linalg.cg` takes, too."
        )

    @classmethod
    def fromdense(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """NotImplementedError."""
        cls(*args, **kwargs)


class BCOO(JAXSparse):
    """Entries and their coordinates. None can be made."""


class BCSR(JAXSparse):
    """Entries by rows. None can be made."""


missing_names.explain("experimental.sparse", sys.modules[__name__])
