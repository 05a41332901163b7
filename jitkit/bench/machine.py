"""The machine of a measurement: the processor, the system, the versions, the day."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from pathlib import Path
from typing import Any

import jitkit


def machine() -> dict[str, Any]:
    """Return this machine as plain data. `load` is None if the system does not tell."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "device": str(jitkit.devices()[0].device_kind),
        "python": platform.python_version(),
        "numpy": importlib.metadata.version("numpy"),
        "jax": importlib.metadata.version("jax"),
        "jaxlib": importlib.metadata.version("jaxlib"),
        "jitkit": jitkit.__version__,
        "date": time.strftime("%Y-%m-%d"),
        "load": _load(),
    }


def in_words(known: dict[str, Any]) -> list[str]:
    """Return the machine in two lines, with a third if it was busy."""
    versions = ", ".join(f"{name} {known[name]}" for name in ("jitkit", "jax", "jaxlib", "numpy"))
    lines = [
        f"{known['processor']}, {known['cores']} cores, {known['system']}, device {known['device']}",
        f"Python {known['python']}, {versions}, {known['date']}",
    ]
    return [*lines, busy(known)] if busy(known) else lines


def busy(known: dict[str, Any]) -> str:
    """Return a warning if, before the measurement, more processes wanted to run than the machine has cores; else ""."""
    if known["load"] is None or known["load"] <= known["cores"]:
        return ""
    return f"The machine was busy (load {known['load']} on {known['cores']} cores): these figures are rough."


def _load() -> float | None:
    """Return the average number of processes that wanted to run in the last minute; None if the system does not tell."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
