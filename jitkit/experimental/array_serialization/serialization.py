"""The base class of JAX's checkpoint managers, which write while the program goes on. orbax uses it in `isinstance`

orbax writes checkpoints itself, and works on jitkit; JAX's own manager, which orbax replaced, is not here.

JAX: jax/experimental/array_serialization/serialization.py:GlobalAsyncCheckpointManagerBase
"""

from __future__ import annotations

import abc
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ...base import missing_names


class GlobalAsyncCheckpointManagerBase(abc.ABC):
    """The methods of a checkpoint manager; a library may derive its own class from this one."""

    @abc.abstractmethod
    def check_for_errors(self) -> None:
        """Raise the error of the write that runs, if it has failed."""

    @abc.abstractmethod
    def wait_until_finished(self) -> None:
        """Wait for the write that runs."""

    @abc.abstractmethod
    def serialize(self, arrays: Any, tensorstore_specs: Any, *, on_commit_callback: Callable[[], None]) -> None:
        """Begin to write arrays; call the function when all are written."""

    @abc.abstractmethod
    def deserialize(
        self,
        shardings: Sequence[Any],
        tensorstore_specs: Sequence[dict[str, Any]],
        global_shapes: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None,
    ) -> Any:
        """Return the arrays of a store, one for each sharding and specification."""


_STORES = "'{0}' is not here: jitkit does not write arrays to stores itself. Use `orbax.checkpoint`, which runs here, or `jax.numpy.save`."
missing_names.explain(
    "experimental.array_serialization.serialization",
    sys.modules[__name__],
    {
        name: _STORES.format(f"jax.experimental.array_serialization.serialization.{name}")
        for name in ("AsyncManager", "GlobalAsyncCheckpointManager", "run_deserialization", "run_serialization")
    },
)
