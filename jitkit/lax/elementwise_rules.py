"""Checks the operands of elementwise primitives and lowers them: the columns of the table in `elementwise`.

This module turns a row of that table into a shape rule, a lowering, a batching rule, and a public function. Nothing is
converted, and only scalars and axes of size 1 are broadcast: promotion is done in `jitkit.numpy`. The result is weakly
typed when all operands are.

JAX: jax/_src/lax/lax.py:naryop
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import config, edits
from ..core import Primitive, ShapedArray, dtypes
from ..core.dtypes import extended
from ..interpreters import batching, mlir
from ..interpreters.mlir import LoweringContext, LoweringRule
from ..runtime.array import as_array
from .accuracy import AccuracyMode, Tolerance, accuracy_attribute
from .utils import broadcast_equal_ranks, check_same_dtypes, is_a

Kinds = tuple[type, ...]  # kinds of dtypes, as numpy names them: `(np.floating, np.integer)`
DTypeRule = Callable[..., Any]  # a function from the avals of the operands to the dtype of the result

INTEGER: Kinds = (np.integer,)
SIGNED: Kinds = (np.signedinteger,)
FLOAT: Kinds = (np.floating,)
COMPLEX: Kinds = (np.complexfloating,)
PART_OF_COMPLEX: Kinds = (np.float32, np.float64)
INEXACT: Kinds = (np.floating, np.complexfloating)
NUMBER: Kinds = (np.integer, np.floating, np.complexfloating)
ORDERED: Kinds = (np.integer, np.floating, np.bool_)
ANY: Kinds = (np.integer, np.floating, np.complexfloating, np.bool_)
BITS: Kinds = (np.integer, np.bool_)
EQUATABLE: Kinds = (*ANY, extended)

# --- dtypes of results ---------------------------------------------------------------------------------


def same_dtype(x: ShapedArray, *others: ShapedArray, **params: Any) -> Any:
    """Return the dtype of the (first) operand."""
    return x.dtype


def bool_dtype(*operands: ShapedArray, **params: Any) -> Any:
    """Return bool, the dtype of a comparison of any operands."""
    return np.dtype(bool)


def real_dtype(x: ShapedArray, **params: Any) -> Any:
    """Return the dtype of a complex number's parts, and any other dtype unchanged."""
    return np.zeros((), x.dtype).real.dtype


def complex_dtype(x: ShapedArray, *others: ShapedArray, **params: Any) -> Any:
    """Return the complex dtype with parts of this dtype: complex64 for 32 bits, complex128 for 64."""
    return np.result_type(x.dtype, np.complex64)


# --- checks --------------------------------------------------------------------------------------------


_FLOAT0 = (
    "float0s do not support any operations by design, because they are not compatible with non-trivial vector spaces. "
    "No implicit dtype conversion is done. You can use np.zeros_like(arr, dtype=np.float) to cast a float0 array to a "
    "regular zeros array. \nIf you didn't expect to get a float0 you might have accidentally taken a gradient with respect "
    "to an integer argument."
)


def check_operand(name: str, accepts: Kinds, x: ShapedArray) -> None:
    """Raise TypeError unless the operand of a unary operation has an accepted dtype."""
    if not is_a(x.dtype, *accepts):
        if x.dtype == dtypes.float0:
            raise TypeError(f"Called {name} with a float0 array. {_FLOAT0}")
        raise TypeError(
            f"{name} does not accept dtype {x.dtype.name}. Accepted dtypes are subtypes of {_names(accepts)}.{_of_bits(name)}"
        )


def check_operands(name: str, accepts: tuple[Kinds, ...], *operands: ShapedArray) -> None:
    """Raise TypeError unless every operand has a dtype that is accepted at its position."""
    for i, (x, kinds) in enumerate(zip(operands, accepts, strict=True)):
        if not is_a(x.dtype, *kinds):
            if x.dtype == dtypes.float0:
                raise TypeError(f"Called {name} with a float0 at position {i}. {_FLOAT0}")
            raise TypeError(
                f"{name} does not accept dtype {x.dtype.name} at position {i}. "
                f"Accepted dtypes at position {i} are subtypes of {_names(kinds)}.{_of_bits(name)}"
            )


def _of_bits(name: str) -> str:
    return edits.BITS if name in ("and", "or", "xor", "not") else edits.SHIFTED if name.startswith("shift") else ""


def _names(kinds: Kinds) -> str:
    return ", ".join(kind.__name__ for kind in kinds)


def elementwise_aval(
    name: str, accepts: tuple[Kinds, ...], result: DTypeRule, one_dtype: bool, operands: Sequence[ShapedArray]
) -> ShapedArray:
    """Return the aval of the result of an elementwise primitive.

    Its shape is the one to which the operands broadcast (`broadcast_operands`), its dtype is `result(*operands)`, and it
    is weakly typed if every operand is.

    Args:
      name: the primitive's name, for messages.
      accepts: for each operand the kinds of dtype that are accepted in its place.
      result: a function of the operands' avals that returns the dtype of the result.
      one_dtype: whether the operands must have one dtype: nothing is converted here.
      operands: their avals.

    Raises:
      TypeError: for shapes that do not fit, for dtypes that are not accepted (`check_operands`), for different dtypes
        (`check_same_dtypes`), in this order.
    """
    shape = broadcast_operands(name, *operands)
    check_operands(name, accepts, *operands)
    if one_dtype:
        check_same_dtypes(name, *operands)
    return ShapedArray(shape, result(*operands), all(x.weak_type for x in operands))


def broadcast_operands(name: str, *operands: ShapedArray) -> tuple[int, ...]:
    """Return the shape of the result. Scalars fit everything; raise TypeError unless arrays have one rank, and equal sizes or 1."""
    shapes = [x.shape for x in operands if x.shape]
    return broadcast_equal_ranks(name, shapes) if shapes else ()


# --- lowering ------------------------------------------------------------------------------------------


def one_op(op: str) -> LoweringRule:
    """Return the lowering rule of a primitive that is one operation of StableHLO, or of CHLO, which XLA expands."""

    def rule(ctx: LoweringContext, *operands: str, **params: Any) -> str:
        asked = accuracy_attribute(params.get("accuracy")) if params else ""
        taken, out = ctx.avals_in[0].dtype, ctx.avals_out[0].dtype
        return ctx.emit(op, operands, asked, signature=taken is not out and taken != out)

    def rule_of_chlo(ctx: LoweringContext, *operands: str, **params: Any) -> str:  # CHLO has types without parentheses
        types = ", ".join(map(mlir.type_of, ctx.avals_in))
        return ctx.emit_text(f"{op} {', '.join(operands)} : {types} -> {mlir.type_of(ctx.avals_out[0])}")

    return rule_of_chlo if op.startswith("chlo.") else rule


def compare(ctx: LoweringContext, direction: str, x: str, y: str, aval: ShapedArray, total_order: bool = False) -> str:
    """Write one comparison (EQ, NE, LT, ...) of two values of the same aval; return its name. In the `total_order`,
    -0.0 is below 0.0, and nans are at the ends.
    """
    if is_a(aval.dtype, *INEXACT):
        kind = "TOTALORDER" if total_order else "FLOAT"
    else:
        kind = "SIGNED" if is_a(aval.dtype, *SIGNED) else "UNSIGNED"
    text = f"stablehlo.compare {direction}, {x}, {y}, {kind}"
    return ctx.emit_op(text, [aval, aval], aval.update(dtype=bool))


def comparison(direction: str, total_order: bool = False) -> LoweringRule:
    """Return the lowering rule of a primitive that is one comparison; see `compare`."""

    def rule(ctx: LoweringContext, x: str, y: str) -> str:
        return compare(ctx, direction, x, y, ctx.avals_in[0], total_order)

    return rule


def converted(ctx: LoweringContext, x: str, aval: ShapedArray, dtype: Any) -> str:
    """Write the conversion of a value to another dtype; return the result's name. For a real dtype or bool, take a
    complex number's real part; as a bool, a value is true if it is not 0.
    """
    if is_a(aval.dtype, *COMPLEX) and not is_a(dtype, *COMPLEX):
        part = aval.update(dtype=real_dtype(aval))
        x, aval = ctx.emit_op(f"stablehlo.real {x}", [aval], part), part
    if dtype == np.bool_ and aval.dtype != np.bool_:
        return compare(ctx, "NE", x, ctx.splat(0, aval), aval)  # StableHLO would keep the lowest bit
    return ctx.convert(x, aval, dtype)


def select(ctx: LoweringContext, predicate: str, on_true: str, on_false: str, shape: Any, aval: Any) -> str:
    """Write a selection between two values of one aval, by a predicate of this shape, theirs or (); return its name."""
    types = f"{mlir.tensor_type(shape, bool)}, {mlir.type_of(aval)}"
    return ctx.emit_text(f"stablehlo.select {predicate}, {on_true}, {on_false} : {types}")


def extremum(op: str, direction: str) -> LoweringRule:
    """Return the lowering rule of max or min; complex numbers are ordered by real part, then by imaginary part."""
    simple = one_op(op)

    def rule(ctx: LoweringContext, x: str, y: str) -> str:
        aval = ctx.avals_in[0]
        if not is_a(aval.dtype, *COMPLEX):
            return str(simple(ctx, x, y))
        part = aval.update(dtype=real_dtype(aval))
        real_x, real_y = (ctx.emit_op(f"stablehlo.real {z}", [aval], part) for z in (x, y))
        imag_x, imag_y = (ctx.emit_op(f"stablehlo.imag {z}", [aval], part) for z in (x, y))
        tie = compare(ctx, "EQ", real_x, real_y, part)
        by_real = compare(ctx, direction, real_x, real_y, part)
        by_imag = compare(ctx, direction, imag_x, imag_y, part)
        x_wins = select(ctx, tie, by_imag, by_real, aval.shape, aval.update(dtype=bool))
        return select(ctx, x_wins, x, y, aval.shape, aval)

    return rule


# --- rows ----------------------------------------------------------------------------------------------


def unary(
    name: str, accepts: Kinds, lowering: str | LoweringRule, doc: str, result: DTypeRule = same_dtype, called: str = ""
) -> tuple[Callable[[Any], Any], Primitive]:
    """Return function and primitive of a row of one operand.

    Args:
      name: the primitive's name; `called` is the function's, by default the same.
      accepts: the kinds of dtypes that the operand may have.
      lowering: the name of an operation (`one_op`), or the lowering rule itself.
      doc: what the function returns, for its docstring.
      result: gives the result's dtype for the operand's aval.
    """
    primitive = Primitive(name)

    @primitive.def_abstract_eval
    def shape_rule(x: ShapedArray, **params: Any) -> ShapedArray:
        check_operand(name, accepts, x)
        return x.update(dtype=result(x, **params))

    mlir.register_lowering(primitive)(one_op(lowering) if isinstance(lowering, str) else lowering)
    batching.defvectorized(primitive)

    def function(x: Any) -> Any:
        return primitive.bind(x)

    return _documented(function, called or name, doc, accepts, "other dtypes"), primitive


def unary_of_accuracy(name: str, accepts: Kinds, lowering: str | LoweringRule, doc: str) -> tuple[Any, Primitive]:
    """Return function and primitive of a row of one operand, with the parameter `accuracy`, which its lowering gets."""
    primitive = unary(name, accepts, lowering, doc)[1]

    def function(x: Any, *, accuracy: Tolerance | AccuracyMode | None = None) -> Any:
        return primitive.bind(x) if accuracy is None else primitive.bind(x, accuracy=accuracy)

    doc = f"{doc} `accuracy` is an `AccuracyMode` or a `Tolerance`, for compilers that have a choice."
    return _documented(function, name, doc, accepts, "other dtypes"), primitive


def binary(
    name: str, accepts: Kinds, lowering: str | LoweringRule, doc: str, result: DTypeRule = same_dtype, called: str = ""
) -> tuple[Callable[..., Any], Primitive]:
    """Return function and primitive of a row of two operands of one dtype; the arguments are those of `unary`. In the
    function, a 64-bit numpy scalar beside a 64-bit array keeps its width (`with_its_width`).
    """
    primitive = nary_primitive(name, (accepts, accepts), lowering, result)

    def function(x: Any, y: Any) -> Any:
        try:
            return primitive.bind(x, y)
        except TypeError:
            wide = with_its_width(x, y), with_its_width(y, x)
            if all(kept is None for kept in wide):
                raise
        return primitive.bind(*(given if kept is None else kept for kept, given in zip(wide, (x, y), strict=True)))

    problems = "other dtypes, for different ones, and for shapes that do not fit"
    return _documented(function, called or name, f"{doc} Scalars broadcast.", accepts, problems), primitive


def binary_of_dtype(name: str, accepts: Kinds, op: str, doc: str) -> tuple[Callable[..., Any], Primitive]:
    """Return function and primitive of a row of two operands, with a parameter for the result's dtype. If it is given,
    operands may have different dtypes, and are converted to it first.
    """
    function_of_one, primitive = binary(name, accepts, op, doc)
    lowered = one_op(op)

    @primitive.def_abstract_eval
    def shape_rule(*operands: ShapedArray, out_dtype: Any = None) -> ShapedArray:
        def asked(*operands: ShapedArray) -> Any:
            return dtypes.canonicalize_dtype(out_dtype)

        result = same_dtype if out_dtype is None else asked
        return elementwise_aval(name, (accepts, accepts), result, out_dtype is None, operands)

    @mlir.register_lowering(primitive)
    def rule(ctx: LoweringContext, x: str, y: str, out_dtype: Any = None) -> Any:
        if out_dtype is None:
            return lowered(ctx, x, y)
        out = ctx.avals_out[0]
        x, y = (converted(ctx, z, aval, out.dtype) for z, aval in zip((x, y), ctx.avals_in, strict=True))
        ctx.avals_in = [out, out]
        return lowered(ctx, x, y)

    def function(x: Any, y: Any, *, out_dtype: Any = None) -> Any:
        return function_of_one(x, y) if out_dtype is None else primitive.bind(x, y, out_dtype=out_dtype)

    doc = f"{doc} Scalars broadcast. `out_dtype` is the dtype of the result, to which operands, then of any, are converted first."
    return _documented(function, name, doc, accepts, "other dtypes, and for shapes that do not fit"), primitive


def with_its_width(x: Any, other: Any) -> Any:
    """Return x as a 64-bit Array if it is a 64-bit numpy scalar of the dtype of `other` and x64 mode is off; else None.

    Without x64 mode a numpy value counts as one of 32 bits. But an `other` from a block of x64 mode keeps its 64 bits,
    and constants that the library uses with it must have its type.
    """
    if not isinstance(x, np.generic) or dtypes.canonicalize_dtype(x.dtype) == x.dtype:
        return None
    if getattr(other, "dtype", None) != x.dtype:
        return None
    with config.override(enable_x64=True):
        return as_array(x)


def scalar_like(x: Any, value: Any) -> Any:
    """Return a constant of exactly the dtype of x."""
    scalar = x.dtype.type(value)
    kept = with_its_width(scalar, x)
    return scalar if kept is None else kept


def nary_primitive(
    name: str,
    accepts: tuple[Kinds, ...],
    lowering: str | LoweringRule,
    result: DTypeRule = same_dtype,
    one_dtype: bool = True,
) -> Primitive:
    """Return a new primitive of operands that broadcast. `accepts` has the kinds of dtypes for each operand; with
    `one_dtype=False`, `result` decides which dtypes match. The other arguments are those of `unary`.
    """
    primitive = Primitive(name)

    @primitive.def_abstract_eval
    def shape_rule(*operands: ShapedArray) -> ShapedArray:
        return elementwise_aval(name, accepts, result, one_dtype, operands)

    mlir.register_lowering(primitive)(one_op(lowering) if isinstance(lowering, str) else lowering)
    mlir.rank_polymorphic.add(primitive)
    batching.defbroadcasting(primitive)
    return primitive


_NAMES_OF_KINDS = {
    np.integer: "integers", np.signedinteger: "signed integers", np.floating: "floats",
    np.complexfloating: "complex", np.bool_: "bool", np.float32: "float32", np.float64: "float64",
    extended: "extended types",
}  # fmt: skip


def _documented(function: Any, name: str, doc: str, accepts: Kinds, problems: str) -> Any:
    kinds = ", ".join(_NAMES_OF_KINDS[kind] for kind in accepts)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}\n\nElementwise, for {kinds}.\n\nRaises:\n  TypeError: for {problems}."
    return function
