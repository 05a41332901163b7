"""The installed JAX -> the version whose ways are followed.

Releases of JAX change how jaxprs are printed, which equations a function records, and the last bits of what it
computes. Programs are compared with the JAX that stands beside them, so jitkit does as that one does: where two
releases differ, both ways are here, and the code asks `since(0, 11)`. What is not followed is listed in
`docs/parity.md`.

The version is read from what is written beside the installed package, not by importing it, and only when it is first
asked for. Without JAX, the newest release that is known is followed.

JAX: jax/version.py:__version_info__
"""

from __future__ import annotations

import functools
import importlib
import re

NEWEST_KNOWN = (0, 12)


@functools.cache
def followed() -> tuple[int, ...]:
    """Major and minor number of the JAX that is installed, or of the newest that is known."""
    return tuple(int(number) for number in re.findall(r"\d+", text())[:2])


@functools.cache
def text() -> str:
    """The version as JAX writes it: "0.10.2"."""
    metadata = importlib.import_module("importlib.metadata")  # late: it takes a fifth of what importing jitkit does
    try:
        installed: str = metadata.version("jax")
    except metadata.PackageNotFoundError:
        return f"{NEWEST_KNOWN[0]}.{NEWEST_KNOWN[1]}.0"
    return installed


def since(major: int, minor: int) -> bool:
    """Whether things are done as JAX does them from this release on."""
    return followed() >= (major, minor)
