"""An empty module: orbax looks in it for a function of JAX's that sends random keys to other processes, and works without

JAX: jax/experimental/colocated_python/func.py:make_callable
"""

from __future__ import annotations
