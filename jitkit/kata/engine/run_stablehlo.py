"""StableHLO text + arguments -> results: checks compare two programs by what they compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitkit import core, runtime


def run_stablehlo(text: str, arguments: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """Return the results of a module's `main` on the default device, as numpy arrays. XLA's errors are raised."""
    device = runtime.default_device()
    sharding = runtime.single_device_sharding(device)
    values = [np.asarray(x) for x in arguments]
    buffers = [runtime.put(x, core.get_aval(x), sharding, False) for x in values]
    loaded = runtime.compile_text(text, [device])
    avals = runtime.avals_of_results(loaded)
    handlers = runtime.result_handlers(avals, [sharding] * len(avals), False)
    return [np.asarray(buffer) for buffer in loaded.execute_sharded(buffers).consume_with_handlers(handlers)]
