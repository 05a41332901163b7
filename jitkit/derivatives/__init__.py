"""The derivatives that users call.

Input: a function of trees. Output: its derivative, a function of trees. `interpreters` (`ad`, `ad_linearize`,
`ad_transpose`) does the work on flat lists and jaxprs. Derivative rules stand beside their primitives in `lax`; this
package imports the modules there that contain only such rules, such as `lax.powers_derivatives`. In the order of
reading:

    linear_maps   jvp, linearize, vjp, linear_transpose
    gradients     grad, value_and_grad
    jacobians     jacfwd, jacrev, jacobian, hessian
    checkpoint    a function that keeps fewer residuals
    policies      operation -> whether its result is saved
    saving        jaxpr + policy -> what is computed now, and what is computed again
    residuals     what a gradient saves, printed

JAX: jax/_src/api.py:value_and_grad
"""

from __future__ import annotations

from ..lax import bessel as bessel
from ..lax import convert_derivatives as convert_derivatives
from ..lax import convolution_derivatives as convolution_derivatives
from ..lax import elementwise_derivatives as elementwise_derivatives
from ..lax import powers_derivatives as powers_derivatives
from ..lax import reduction_derivatives as reduction_derivatives
from ..lax import scattering_derivatives as scattering_derivatives
from ..lax import selection_derivatives as selection_derivatives
from ..lax import windows_derivatives as windows_derivatives
from ..lax.control_flow import conditionals_derivatives as conditionals_derivatives
from ..lax.control_flow import loops_derivatives as loops_derivatives
from ..lax.control_flow import scanning_derivatives as scanning_derivatives
from ..lax.linalg import derivatives as derivatives
from ..pjit import jit_call_derivatives as jit_call_derivatives
