"""The names of `jax.ad_checkpoint`: what a gradient saves. They are defined in `derivatives`.

JAX: jax/_src/ad_checkpoint.py:checkpoint_name
"""

from __future__ import annotations

from .derivatives.policies import Offloadable as Offloadable
from .derivatives.policies import Recompute as Recompute
from .derivatives.policies import Saveable as Saveable
from .derivatives.policies import checkpoint_policies as checkpoint_policies
from .derivatives.residuals import checkpoint_name as checkpoint_name
from .derivatives.residuals import name_p as name_p
from .derivatives.residuals import print_saved_residuals as print_saved_residuals
from .derivatives.residuals import saved_residuals as saved_residuals
