"""Imports all modules that have primitives or their rules. Otherwise each is imported when it is first used."""

from __future__ import annotations

import importlib
import pkgutil


def enter():
    """Import all of these modules."""
    for room in ("lax", "numpy", "random", "pjit", "derivatives", "custom_derivatives", "experimental"):
        for found in pkgutil.walk_packages(importlib.import_module(f"jitkit.{room}").__path__, f"jitkit.{room}."):
            importlib.import_module(found.name)
    for room in ("custom_batching", "debug", "export", "ffi", "nn", "ops", "scipy"):
        importlib.import_module(f"jitkit.{room}")
