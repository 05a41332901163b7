"""The installed JAX -> the version to behave like

Releases of JAX change how jaxprs are printed, which equations a function records, and the last bits of results. Users
compare with the JAX that they have installed, so jitkit behaves like that one: where two releases differ, both
behaviours are here, and the code checks `since(0, 11)`. `docs/parity.md` lists what is not followed.

The version is read from the name of the folder with the package's metadata, at first use. Without JAX, jitkit behaves
like the newest release that it knows.

JAX: jax/version.py:__version_info__
"""

from __future__ import annotations

import functools
import importlib.machinery
import os
import re

NEWEST_KNOWN = (0, 12)
_ORIGINAL = "jax"  # searched, not imported


@functools.cache
def followed() -> tuple[int, ...]:
    """Return major and minor number of the installed JAX, or of the newest known one."""
    return tuple(int(number) for number in re.findall(r"\d+", text())[:2])


@functools.cache
def text() -> str:
    """Return the version of the installed JAX, or of the newest known one: "0.10.2"."""
    return installed(_ORIGINAL) or f"{NEWEST_KNOWN[0]}.{NEWEST_KNOWN[1]}.0"


def installed(package: str) -> str | None:
    """Return the version of a package, without importing it; None if it is not installed."""
    spec = importlib.machinery.PathFinder.find_spec(package)
    if spec is not None and spec.origin is not None:
        beside = os.listdir(os.path.dirname(os.path.dirname(spec.origin)))
        named = next(filter(None, (re.match(rf"{package}-([^-]+)\.dist-info$", name) for name in beside)), None)
        if named is not None:
            return named[1]
    # The package is installed in another way, or not at all. This import takes a third of the time of a first call's
    # other imports.
    metadata = importlib.import_module("importlib.metadata")
    try:
        version: str = metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
    return version


def since(major: int, minor: int) -> bool:
    """Return whether to behave like JAX from this release on."""
    return followed() >= (major, minor)
