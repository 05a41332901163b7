"""The exit statuses of a command, the errors that a user can fix, and the versions for a bug report."""

from __future__ import annotations

import platform

import jitkit
from jitkit.base import jax_version

OK, FAILED, USAGE, OUR_BUG, INTERRUPTED = 0, 1, 2, 3, 130


class Problem(Exception):
    """Something that the user can fix. Only its text is shown."""

    status = FAILED


class WrongUsage(Problem):
    """Arguments that make no sense as a command."""

    status = USAGE


def versions() -> str:
    """Return the versions for a bug report: `jitkit 0.1.0 (jax 0.10.2, jaxlib 0.10.2, numpy 2.4.6; Python 3.11.7 on Linux x86_64)`."""
    known = {name: jax_version.installed(name) for name in ("jax", "jaxlib", "numpy")}
    found = [f"{name} {version}" if version else f"no {name}" for name, version in known.items()]
    return f"jitkit {jitkit.__version__} ({', '.join(found)}; Python {platform.python_version()} on {machine()})"


def machine() -> str:
    """Return the system and the processor: `Linux x86_64`."""
    return f"{platform.system()} {platform.machine()}"
