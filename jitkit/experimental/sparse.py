"""The names of `jax.experimental.sparse` that libraries import. jitkit has no sparse matrices: creating one raises NotImplementedError

JAX: jax/experimental/sparse/bcoo.py:BCOO
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from ..base import missing_names


class JAXSparse:
    """A sparse matrix. Libraries test for instances; there are none."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise NotImplementedError."""
        raise NotImplementedError(
            f"`jax.experimental.sparse.{cls.__name__}` is not here: jitkit has no sparse matrices. Use a dense array, or a function of "
            "vectors, which `jax.scipy.sparse.linalg.cg` takes, too."
        )

    @classmethod
    def fromdense(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise NotImplementedError."""
        cls(*args, **kwargs)


class BCOO(JAXSparse):
    """Entries and their coordinates. There are no instances."""


class BCSR(JAXSparse):
    """Entries by rows. There are no instances."""


missing_names.explain("experimental.sparse", sys.modules[__name__])
