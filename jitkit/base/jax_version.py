"""The installed JAX -> the version whose ways are followed.

Releases of JAX change how jaxprs are printed, which equations a function records, and the last bits of what it
computes. Programs are compared with the JAX that stands beside them, so jitkit does as that one does: where two
releases differ, both ways are here, and the code asks `since(0, 11)`. What is not followed is listed in
`docs/parity.md`.

The version is read from the name of what is written beside the installed package, not by importing it, and only when it is first
asked for. Without JAX, the newest release that is known is followed.

JAX: jax/version.py:__version_info__
"""

from __future__ import annotations

import functools
import importlib.machinery
import os
import re

NEWEST_KNOWN = (0, 12)
_ORIGINAL = "jax"  # looked for, and not imported


@functools.cache
def followed() -> tuple[int, ...]:
    """Major and minor number of the JAX that is installed, or of the newest that is known."""
    return tuple(int(number) for number in re.findall(r"\d+", text())[:2])


@functools.cache
def text() -> str:
    """The version as JAX writes it: "0.10.2"."""
    spec = importlib.machinery.PathFinder.find_spec(_ORIGINAL)
    if spec is not None and spec.origin is not None:
        beside = os.listdir(os.path.dirname(os.path.dirname(spec.origin)))
        named = next(filter(None, (re.match(r"jax-([^-]+)\.dist-info$", name) for name in beside)), None)
        if named is not None:
            return named[1]
    # A JAX in a folder of its own, or none. This import takes a third of what all others of a first call do.
    metadata = importlib.import_module("importlib.metadata")
    try:
        installed: str = metadata.version(_ORIGINAL)
    except metadata.PackageNotFoundError:
        return f"{NEWEST_KNOWN[0]}.{NEWEST_KNOWN[1]}.0"
    return installed


def since(major: int, minor: int) -> bool:
    """Whether things are done as JAX does them from this release on."""
    return followed() >= (major, minor)
