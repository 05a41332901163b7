"""Converts from one dtype to another: values, bits read as another type, and Python scalars to arrays.

`convert_element_type` also carries the weak type, which may change without any of the bits changing. A scalar that is
known while tracing becomes another literal, without an equation.

JAX: jax/_src/lax/lax.py:_convert_element_type
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import core
from ..base import errors, traceback_util
from ..base.jax_version import since
from ..core import Primitive, ShapedArray, dtypes
from ..core.operators import Operators
from ..interpreters.batching import AxisData, Vals, defvectorized, moveaxis, register_batcher
from ..interpreters.mlir import LoweringContext, register_lowering
from ..interpreters.partial_eval import DynamicJaxprTrace, DynamicJaxprTracer, staging_rules
from ..jaxpr import Literal
from ..runtime import array
from .elementwise_rules import COMPLEX, FLOAT, check_operand, converted
from .utils import is_a, is_array

# --- convert_element_type ------------------------------------------------------------------------------
convert_element_type_p = Primitive("convert_element_type")
defvectorized(convert_element_type_p)


@convert_element_type_p.def_abstract_eval
def _(x: ShapedArray, *, new_dtype: Any, weak_type: bool) -> ShapedArray:
    return ShapedArray(x.shape, new_dtype, weak_type)


@register_lowering(convert_element_type_p)
def _(ctx: LoweringContext, x: str, *, new_dtype: Any, weak_type: bool) -> str:
    return converted(ctx, x, ctx.avals_in[0], new_dtype)


def _stage_convert(trace: DynamicJaxprTrace, operands: list[DynamicJaxprTracer], params: dict[str, Any]) -> Any:
    """Staging rule: return the operand if it has this type, a converted literal for a literal, else NotImplemented:
    then the equation is recorded. The value of an Array is not read, since it may not be computed yet.
    """
    (x,) = operands
    if x.dtype == params["new_dtype"] and x.weak_type == params["weak_type"]:
        return x
    value = x.atom.val if isinstance(x.atom, Literal) else None
    if not isinstance(value, (bool, int, float, complex, np.generic, np.ndarray)):
        return NotImplemented
    out = ShapedArray((), params["new_dtype"], params["weak_type"])
    known = np.asarray(value)
    if is_a(known.dtype, *COMPLEX) and not is_a(out.dtype, *COMPLEX):
        known = known.real
    return trace.literal(known.astype(out.dtype)[()], out)


staging_rules[convert_element_type_p] = _stage_convert


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """Return the values of `operand` in another dtype, strongly typed.

    Floats become integers by truncation; for a float out of range the result depends on the target. As a bool, anything
    but 0 is True. Complex numbers that become real lose their imaginary part, with a warning.

    Args:
      operand: an array or scalar.
      new_dtype: narrowed to 32 bits unless x64 mode is on.

    Raises:
      TypeError: for a dtype that arrays cannot have.
      ValueError: for None, and between keys and numbers.
    """
    return _convert_element_type(operand, dtypes.check_and_canonicalize_user_dtype(new_dtype, "convert_element_type"))


def _convert_element_type(
    operand: Any, new_dtype: Any = None, weak_type: bool = False, warn_on_complex_to_real_cast: bool = True
) -> Any:
    """Return `operand` as an array of this dtype (None: its own) and weak type, unchanged if it is such an array. Raise
    ValueError for a conversion between keys and numbers. Warn where complex numbers become real, unless told not to.
    """
    if not is_array(operand) and core.has_jax_array(operand):
        operand = operand.__jax_array__()
    old_dtype, old_weak_type = dtypes.dtype(operand), dtypes.is_weakly_typed(operand)
    if new_dtype is None:
        new_dtype = old_dtype
    elif not isinstance(new_dtype, dtypes.ExtendedDType):
        new_dtype = np.dtype(new_dtype)
    if new_dtype != old_dtype and any(isinstance(d, dtypes.ExtendedDType) for d in (old_dtype, new_dtype)):
        raise ValueError(f"Cannot convert_element_type from {old_dtype} to {new_dtype}")
    if warn_on_complex_to_real_cast and is_a(old_dtype, *COMPLEX) and not is_a(new_dtype, *COMPLEX):
        message = "Casting complex values to real discards the imaginary part"
        warnings.warn(message, np.exceptions.ComplexWarning, stacklevel=traceback_util.stacklevel())
    if type(operand) is int:  # an int that does not fit into int32 wraps around in the new dtype
        return _known_scalar(np.asarray(operand).astype(new_dtype)[()], new_dtype, weak_type)
    if isinstance(operand, np.ndarray) and since(0, 11):
        # Known now: make a constant of the new type, without an equation. Constants are told apart by identity, so each
        # is a new object.
        operand = operand.astype(new_dtype, copy=False).view()
        if weak_type and operand.ndim:
            operand = array.from_host(operand, ShapedArray(operand.shape, new_dtype, weak_type))
        return stage(operand) if operand.ndim else _known_scalar(operand[()], new_dtype, weak_type)
    if isinstance(operand, (bool, int, float, complex, np.generic)):
        if (old_dtype, old_weak_type) == (new_dtype, weak_type):
            return _known_scalar(operand, new_dtype, weak_type)
        if not weak_type and (np.isfinite(operand) or not is_a(new_dtype, np.integer)):
            try:
                return _known_scalar(np.asarray(operand, new_dtype)[()], new_dtype, weak_type)
            except OverflowError:
                pass  # a float beyond the integers of NumPy: XLA clamps it
    elif is_array(operand) and (old_dtype, old_weak_type) == (new_dtype, weak_type):
        return operand.converted() if isinstance(operand, core.Tracer) else stage(operand)
    return convert_element_type_p.bind(operand, new_dtype=new_dtype, weak_type=weak_type)


def _known_scalar(value: Any, dtype: Any, weak_type: bool) -> Any:
    """Return a scalar of known value: a literal under a trace, otherwise an Array."""
    if core.current_trace() is None:
        return array.from_host(value, ShapedArray((), dtype, weak_type))
    return convert_element_type_p.bind(value, new_dtype=dtype, weak_type=weak_type)


def asarray(x: Any) -> Any:
    """Return a scalar or array as a jitkit array of JAX's dtype for it; Python numbers, except bools, become weakly
    typed.

    Raises:
      TypeError: for anything else, such as a list.
      OverflowError: for a Python int that does not fit.
    """
    if is_array(x):
        return stage(x)
    if type(x) in dtypes.python_scalar_types:
        return _convert_element_type(dtypes.coerce_to_array(x)[()], weak_type=type(x) is not bool)
    if dtypes.is_number_of_subclass(x):
        return asarray(dtypes.plain_number(x))
    if core.is_array_type(type(x)):
        return _convert_element_type(x)
    raise TypeError(f"asarray: expected ArrayLike, got {x} of type {type(x)}.{errors.about_value_of_jax(x)}")


# --- stage ---------------------------------------------------------------------------------------------
stage_p = Primitive("stage")
defvectorized(stage_p)
staging_rules[stage_p] = lambda trace, operands, params: operands[0]


@stage_p.def_abstract_eval
def _(x: ShapedArray) -> ShapedArray:
    return x


@register_lowering(stage_p)
def _(ctx: LoweringContext, x: str) -> str:
    return x


def stage(x: Any, /) -> Any:
    """Return x as a value of the current trace, a tracer, or without a trace as an Array. No equation is written."""
    if isinstance(x, Operators):
        return x
    return array.as_array(x) if core.current_trace() is None else stage_p.bind(x)


# --- bitcast_convert_type ------------------------------------------------------------------------------
bitcast_convert_type_p = Primitive("bitcast_convert_type")


@bitcast_convert_type_p.def_abstract_eval
def _(x: ShapedArray, *, new_dtype: Any) -> ShapedArray:
    old_bits, new_bits = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(new_dtype)
    shape = x.shape
    if old_bits > new_bits:
        shape = (*shape, old_bits // new_bits)
    elif old_bits < new_bits:
        last = shape[-1] if shape else 1
        if last * old_bits != new_bits:
            raise ValueError(
                f"Attempting to convert array of shape {shape} from {x.dtype} of size {old_bits} bits to "
                f"{new_dtype} of size {new_bits}, bits but {last} * {old_bits} != {new_bits}"
            )
        shape = shape[:-1]
    if x.dtype != new_dtype and any(is_a(dtype, np.bool_, *COMPLEX) for dtype in (x.dtype, new_dtype)):
        raise TypeError(
            "lax.bitcast_convert_type does not support bool or complex values unless the operand and "
            f"destination types match. Got operand dtype={x.dtype}, new_dtype={new_dtype!r}. "
            "Consider using the arr.view() method instead."
        )
    return ShapedArray(shape, new_dtype)


@register_lowering(bitcast_convert_type_p)
def _(ctx: LoweringContext, x: str, *, new_dtype: Any) -> str:
    return ctx.emit("stablehlo.bitcast_convert", [x], signature=True)


@register_batcher(bitcast_convert_type_p)
def _(axis: AxisData, vals: Vals, dims: Sequence[int], *, new_dtype: Any) -> Any:
    """Batching rule: the element's last axis may be added or removed, so the batch axis is never the last one."""
    [x], [dim] = vals, dims
    if dim == x.ndim - 1 and dtypes.itemsize_bits(x.dtype) < dtypes.itemsize_bits(new_dtype):
        x, dim = moveaxis(x, dim, 0), 0
    return bitcast_convert_type_p.bind(x, new_dtype=new_dtype), dim


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """Return the same bits, read as another dtype.

    With a narrower dtype, the parts of each element form a new last axis, lowest bits first; with a wider one, the last
    axis must have the right size, and is removed.

    Raises:
      ValueError: the last axis has another size.
      TypeError: for bools and complex numbers, unless the dtype stays the same, and for a dtype that arrays cannot have.
    """
    new_dtype = dtypes.check_and_canonicalize_user_dtype(new_dtype, "bitcast_convert_type")
    return bitcast_convert_type_p.bind(operand, new_dtype=new_dtype)


# --- reduce_precision ----------------------------------------------------------------------------------
reduce_precision_p = Primitive("reduce_precision")
defvectorized(reduce_precision_p)


@reduce_precision_p.def_abstract_eval
def _(x: ShapedArray, *, exponent_bits: int, mantissa_bits: int) -> ShapedArray:
    if exponent_bits < 1:
        raise ValueError(f"reduce_precision: exponent_bits must be positive; got {exponent_bits}")
    if mantissa_bits < 0:
        raise ValueError(f"reduce_precision: mantissa_bits must be non-negative; got {mantissa_bits}")
    check_operand("reduce_precision", FLOAT, x)
    return x


@register_lowering(reduce_precision_p)
def _(ctx: LoweringContext, x: str, *, exponent_bits: int, mantissa_bits: int) -> str:
    return ctx.emit("stablehlo.reduce_precision", [x], f", format = e{exponent_bits}m{mantissa_bits}")


def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """Return floats, rounded to the values of a type with these numbers of exponent bits and mantissa bits.

    Raises:
      TypeError: for dtypes other than floats.
      ValueError: for fewer than one bit of exponent, or a negative number of mantissa bits.
    """
    context = "bits argument of lax.reduce_precision"
    return reduce_precision_p.bind(
        operand,
        exponent_bits=core.concrete_or_error(operator.index, exponent_bits, f"exponent_{context}"),
        mantissa_bits=core.concrete_or_error(operator.index, mantissa_bits, f"mantissa_{context}"),
    )
