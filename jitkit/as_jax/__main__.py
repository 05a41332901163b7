"""`python -m jitkit.as_jax`: runs a program written for JAX on jitkit

JAX: jax/_src/traceback_util.py:api_boundary
"""

from __future__ import annotations

import sys

from jitkit.as_jax.arguments import parsed, run

if __name__ == "__main__":
    run(parsed(sys.argv[1:]))
