"""`python -m jitkit.as_jax`: a program that was written for JAX, run on jitkit

JAX: jax/__init__.py:jit
"""

from __future__ import annotations

import sys

from jitkit.as_jax.arguments import parsed, run

if __name__ == "__main__":
    run(parsed(sys.argv[1:]))
