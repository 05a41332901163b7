"""Prints versions, devices and variables of the environment, for a report of a bug

JAX: jax/_src/environment_info.py:print_environment_info
"""

from __future__ import annotations

import importlib
import os
import platform
import subprocess
import sys

import numpy as np

from ..base import jax_version
from .devices import devices

_PREFIXES = ("JITKIT_", "JAX_", "XLA_")


def print_environment_info(return_string: bool = False) -> str | None:
    """Print the versions of jitkit, JAX, jaxlib, numpy and Python, the devices, the machine, the variables of the
    environment that begin with JITKIT_, JAX_ or XLA_, and the output of `nvidia-smi` if it is installed. With
    `return_string`, return the text instead.
    """
    found = devices()
    lines = [
        f"jitkit: {_own_version()}",
        f"jax:    {jax_version.text()}",
        f"jaxlib: {jax_version.installed('jaxlib')}",
        f"numpy:  {np.__version__}",
        f"python: {sys.version.replace(chr(10), ' ')}",
        f'device info: {found[0].device_kind}-{len(found)}, {len(found)} local devices"',
        "process_count: 1",
        f"platform: {platform.uname()}",
        *(f"{name}={value}" for name, value in os.environ.items() if name.startswith(_PREFIXES)),
    ]
    if about_gpus := _nvidia_smi():
        lines += ["", "$ nvidia-smi", about_gpus]
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None


def _own_version() -> str:
    """Return jitkit's version."""
    version: str = importlib.import_module(__name__.partition(".")[0]).__version__
    return version


def _nvidia_smi() -> str | None:
    """Return the output of the driver's tool, or None if it is missing or fails."""
    try:
        return subprocess.check_output(["nvidia-smi"]).decode()
    except (OSError, subprocess.CalledProcessError):
        return None
