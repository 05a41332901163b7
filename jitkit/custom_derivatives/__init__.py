"""Functions with derivatives of their own.

Comes in: a function, and a rule that the user wrote. Goes out: the function, which under a derivative does what the rule
says, and otherwise what it did before. In the order of reading:

    calling     a call of such a function, in the way of each transformation
    jvp_rule    what a user wrote, as a function of flat lists; of elements, as one for batches
    jvp         custom_jvp: a rule for values with tangents
    vjp_rule    the same of a rule for the way back
    remat_opt   fwd as one equation, which gives way to the function within `checkpoint`
    vjp         custom_vjp: a rule for the way back, from cotangents; custom_gradient
    linear      linear_call: a linear function with a transpose of its own
    closures    closure_convert: values that a function closed over, as arguments

JAX: jax/_src/custom_derivatives.py:custom_jvp
"""

from __future__ import annotations

import sys

from ..base import late_rooms, missing_names

late_rooms.attach(__name__)

missing_names.explain("custom_derivatives", sys.modules[__name__])
