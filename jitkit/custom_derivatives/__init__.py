"""Functions with derivatives of their own.

Comes in: a function, and a rule that the user wrote. Goes out: the function, which under a derivative does what the rule
says, and otherwise what it did before. In the order of reading:

    calling     a call of such a function, in the way of each transformation
    jvp_rule    what a user wrote, as a function of flat lists; of elements, as one for batches
    jvp         custom_jvp: a rule for values with tangents
    vjp_rule    the same of a rule for the way back
    remat_opt   fwd as one equation, which gives way to the function within `checkpoint`
    vjp         custom_vjp: a rule for the way back, from cotangents; custom_gradient
    closures    closure_convert: values that a function closed over, as arguments

JAX: jax/_src/custom_derivatives.py:custom_jvp
"""

from __future__ import annotations

from .closures import closure_convert as closure_convert
from .jvp import custom_jvp as custom_jvp
from .jvp import custom_jvp_call_p as custom_jvp_call_p
from .jvp_rule import SymbolicZero as SymbolicZero
from .jvp_rule import zero_from_primal as zero_from_primal
from .remat_opt import remat_opt_p as remat_opt_p
from .vjp import custom_gradient as custom_gradient
from .vjp import custom_vjp as custom_vjp
from .vjp import custom_vjp_call_p as custom_vjp_call_p
from .vjp_rule import CustomVJPPrimal as CustomVJPPrimal
from .vjp_rule import custom_vjp_primal_tree_values as custom_vjp_primal_tree_values
