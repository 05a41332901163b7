"""Functions whose derivative rule the user writes.

Input: a function, and a rule that the user wrote. Output: the function, which follows the rule under a derivative, and
otherwise computes the same. In the order of reading:

    calling     a call of such a function, under each transformation
    jvp_rule    the user's JVP rule as a function of flat lists, also for batches
    jvp         custom_jvp: a JVP rule
    vjp_rule    the user's VJP rule as functions of flat lists, also for batches
    remat_opt   fwd as one equation, which the function replaces within `checkpoint`
    vjp         custom_vjp: a VJP rule, for the reverse pass; custom_gradient
    linear      linear_call: a linear function with its own transpose
    closures    closure_convert: closed-over values become arguments

JAX: jax/_src/custom_derivatives.py:custom_jvp
"""

from __future__ import annotations

import sys

from ..base import late_rooms, missing_names

late_rooms.attach(__name__)

missing_names.explain("custom_derivatives", sys.modules[__name__])
