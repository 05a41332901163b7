"""`jitkit.scipy.cluster`: `vq`, which finds the nearest of some points.

Input: observations, and points (the code book). Output: which point is nearest to each observation, and how far.

    vq      the nearest point

JAX: jax/_src/scipy/cluster/vq.py:vq
"""

from __future__ import annotations

import sys

from ...base import missing_names
from . import vq as vq

missing_names.explain("scipy.cluster", sys.modules[__name__])
missing_names.explain("scipy.cluster.vq", vq)
