"""`jitkit.experimental.jet`: derivatives of high order, by arithmetic on truncated Taylor series

    jet(jnp.sin, (0.5,), ((1.0, 0.0),))     the value at 0.5, and the first two derivatives along the path 0.5 + t

n derivatives cost about n^2 operations, not 2^n as by `jvp` of `jvp`: a product gives a convolution of coefficients,
and a function whose derivative is known gives a recurrence. As in JAX, loops have no rules, and the rules of users'
functions with their own derivatives are not used. In the order of reading:

    series       calls a function on series; kinds of rules; `jet_rules`, to which libraries may add
    rules        the rule of each operation

JAX: jax/experimental/jet.py:jet
"""

from __future__ import annotations

import sys

from ...base import missing_names
from . import rules as rules
from .series import def_comp as def_comp
from .series import def_deriv as def_deriv
from .series import deflinear as deflinear
from .series import defzero as defzero
from .series import jet as jet
from .series import jet_rules as jet_rules

missing_names.explain("experimental.jet", sys.modules[__name__])
