"""Sets the folder where executables are kept between processes, as the option `jax_compilation_cache_dir` does

JAX: jax/_src/compilation_cache.py:set_cache_dir
"""

from __future__ import annotations

from ...base import config


def set_cache_dir(path: str) -> None:
    """Keep executables in this folder from now on."""
    config.update("compilation_cache_dir", path)


def reset_cache() -> None:
    """Do nothing: jitkit reads the folder at each compilation. In JAX the folder is read once, and again after this function."""
