"""`jax.experimental.compilation_cache`: the folder where executables are kept between processes

    compilation_cache    sets the folder

JAX: jax/_src/compilation_cache.py:set_cache_dir
"""

from __future__ import annotations

from . import compilation_cache as compilation_cache
