"""operation + operands -> result: values, their types, and the one function through which every operation goes, `bind`.

Input: an operation and its operands. Output: whatever the current trace makes of it. In the order of reading:

    primitive        `Primitive.bind`, and which values are operands
    avals            what is known of a value while tracing: shape, dtype, weak type
    trace            what handles operations while a function is traced
    tracer           stands for a value while tracing; it belongs to a trace
    dtypes           the types of elements: re-exports `element_types`, `default_types` (32 bits) and `promotion`
    operators        `x + y`, `x[i]`, `x.sum()`: what Array and Tracer share
    references       JAX's names for mutable references, which jitkit does not have
    effects          what an operation does besides returning results

JAX: jax/_src/core.py:Primitive
"""

from __future__ import annotations

import sys

from ..base import late_rooms, missing_names
from .avals import AbstractToken as AbstractToken
from .avals import AbstractValue as AbstractValue
from .avals import ShapedArray as ShapedArray
from .avals import abstract_token as abstract_token
from .avals import is_of_arrays as is_of_arrays
from .avals import physical_aval as physical_aval
from .primitive import Primitive as Primitive
from .primitive import aval_of_constant as aval_of_constant
from .primitive import aval_of_type as aval_of_type
from .primitive import aval_without_value as aval_without_value
from .primitive import check_arrays as check_arrays
from .primitive import eager as eager
from .primitive import foreign as foreign
from .primitive import get_aval as get_aval
from .primitive import has_jax_array as has_jax_array
from .primitive import is_array_type as is_array_type
from .primitive import is_array_value as is_array_value
from .primitive import not_arrays as not_arrays
from .primitive import typeof as typeof
from .primitive import with_dtypes as with_dtypes
from .trace import Trace as Trace
from .trace import current_trace as current_trace
from .trace import ensure_compile_time_eval as ensure_compile_time_eval
from .trace import set_current_trace as set_current_trace
from .trace import trace_state_clean as trace_state_clean
from .tracer import Tracer as Tracer
from .tracer import check_bool_conversion as check_bool_conversion
from .tracer import check_integer_conversion as check_integer_conversion
from .tracer import check_scalar_conversion as check_scalar_conversion
from .tracer import concrete_or_error as concrete_or_error
from .tracer import escaped_tracer_error as escaped_tracer_error
from .tracer import innermost_trace as innermost_trace
from .tracer import is_concrete as is_concrete
from .tracer import unstacking as unstacking
from .tracer import value_if_known as value_if_known

pytype_aval_mappings = aval_of_type  # JAX's name: libraries add their types to it

# `jax.core` has these names, too. They are defined in rooms above this one: JAX moved them to `jax.extend.core`, and
# still hands them on.
_OF_EXTEND = (
    "DebugInfo", "DropVar", "Effect", "Effects", "JaxprTypeError", "check_jaxpr", "find_top_trace", "gensym", "get_opaque_trace_state",
    "jaxprs_in_params", "new_jaxpr_eqn", "no_effects", "primal_dtype_to_tangent_dtype", "valid_jaxtype",
)  # fmt: skip
late_rooms.hand_on(
    __name__,
    eval_jaxpr="jitkit.jaxpr:eval_jaxpr",
    Atom="jitkit.jaxpr:Atom",
    **{name: f"jitkit.extend.core:{name}" for name in _OF_EXTEND},
)

missing_names.explain("core", sys.modules[__name__])
