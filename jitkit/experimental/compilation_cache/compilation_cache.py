"""Sets the folder where executables are kept between processes, as the option `jax_compilation_cache_dir` does

JAX: jax/_src/compilation_cache.py:set_cache_dir
"""

from __future__ import annotations

from ...base import config


def set_cache_dir(path: str) -> None:
    """Keep executables in this folder from now on."""
    config.update("compilation_cache_dir", path)


def reset_cache() -> None:
    """Return None: in JAX the folder is asked for once, and this makes it be asked for anew; jitkit asks for it at each compilation."""
