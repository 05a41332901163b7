"""what XLA made for the reference's programs -> what students' programs use again, where they are equal"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Collection, Mapping

from jitkit.kata.engine.processes import CHEAP_COMPILES
from jitkit.runtime.compiling import cpu_features


def reused(compiled: Mapping[str, Mapping[str, str]], failing: Collection[str]) -> dict[str, str]:
    """Return the executables of all checks except `failing`, those that the reference fails if executables are reused: a check that
    looks at XLA's compilation needs XLA to compile.

    Args:
      compiled: for each check its executables, by name.
    """
    left_out = {name for check in failing for name in compiled.get(check, ())}
    return {name: data for made in compiled.values() for name, data in made.items() if name not in left_out}


@functools.cache
def machine() -> str:
    """Return a hash of what executables depend on besides jaxlib: the processor, and the options of the compiler."""
    return hashlib.sha256(f"{cpu_features()} {CHEAP_COMPILES}".encode()).hexdigest()[:12]
