"""01 Tracers: the solutions, as the reference has them, and why."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from jitkit import core
from jitkit.base import config, edits, errors
from jitkit.base.traceback_util import filter_traceback
from jitkit.core import ShapedArray, check_arrays, check_integer_conversion, eager
from jitkit.core.operators import _takes_part, takes_part
from jitkit.core.promotion import Node, TypePromotionError, no_promotion_path, upper_bounds
from jitkit.interpreters.partial_eval import check_lives, literal_form
from jitkit.jaxpr import Literal, Var
from jitkit.lax.elementwise_rules import DTypeRule, Kinds, broadcast_operands, check_operands
from jitkit.lax.utils import Shape, check_same_dtypes


# --- 01.1 Bind a primitive ----------------------------------------------------------------------------------
# One function, called once for each operation, is the whole border between eager and traced execution. As the
# current trace decides, and not the operands, a traced function is recorded completely: constants that are
# computed inside become part of the program, where XLA folds them. Operands are checked only after something
# went wrong, since a check in front would slow down every operation.
#
# Usual mistakes:
#   - Looking for a tracer among the operands: then an operation on known numbers runs at once, and never
#     reaches the program.
#   - Passing parameters with `**params` to the trace: `process_primitive` takes them as a dict.
#   - Hiding the shape rule's TypeError: the user then reads only an error about operands.
#
# In JAX: jax/_src/core.py:Primitive


class Primitive:
    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive to operands, and return what the current trace makes of it.

        The thread's current trace is `config.local.state.trace`. Its method `process_primitive` receives the primitive,
        the operands as a tuple and the parameters as a dict. If the trace is None, `eager.apply`, which takes the same
        arguments, runs the operation now.

        Raise TypeError if an operand is not an array: after any TypeError call `check_arrays`, which raises a better one
        if an operand is to blame.
        """
        trace = config.local.state.trace
        try:
            if trace is None:
                return eager.apply(self, args, params)
            return trace.process_primitive(self, args, params)
        except TypeError:
            check_arrays(self, args)
            raise


# --- 01.2 The type of a result ------------------------------------------------------------------------------
# Shape rules are what makes tracing possible: they compute with types as the operation will with numbers.
# They convert nothing and put no axes in front; `jitkit.numpy` does that. So an equation means one thing, and
# a lowering never has to guess. Shapes are checked before dtypes, as in JAX, so that the same mistake has the
# same message.
#
# Usual mistakes:
#   - Taking shape or dtype from the first operand.
#   - Taking the maximum of the sizes: of 1 and 0 it is 1, and should be 0.
#   - Making the result weak when any operand is: then an array that was added to a Python number would give
#     way to other arrays, as the number does.
#
# In JAX: jax/_src/lax/lax.py:naryop


def broadcast_equal_ranks(name: str, shapes: Sequence[Shape]) -> Shape:
    """Return the shape of an elementwise operation, called `name`, on one or more arrays of these shapes.

    All must have the same number of axes; a shorter shape is not extended. Along each axis the sizes must be equal,
    except that size 1 stretches. Otherwise raise TypeError, which names the operation.
    """
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    ranks = {len(shape) for shape in shapes}
    if len(ranks) != 1:
        raise TypeError(f"{name}: arrays must have the same number of dimensions, got {ranks}{edits.ONE_RANK}")
    result = []
    for sizes in zip(*shapes, strict=True):
        others = {size for size in sizes if size != 1}
        if len(others) > 1:
            given = ", ".join(map(str, shapes))
            raise TypeError(f"{name} got incompatible shapes for broadcasting: {given}.{edits.BROADCAST}")
        result.append(others.pop() if others else 1)
    return tuple(result)


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


# --- 01.3 Where two types meet ------------------------------------------------------------------------------
# A lattice makes promotion associative and commutative: it does not matter in which order operands meet, nor
# on which side they stand. For a long time numpy's rules did not have that. And weak types can be nodes like
# any other: `int*` lies above bool and below int8, so `x + 1` is int8 for an int8 array x.
#
# Usual mistakes:
#   - Taking the type with more bits: for int32 and float16 that is the wrong one, and for uint8 and int8
#     neither is right.
#   - Treating `float` as float32: then a Python number widens a float16 array.
#   - Taking any common type: complex128 is above nearly everything.
#
# In JAX: jax/_src/dtypes.py:_least_upper_bound


def least_upper_bound(x64: bool, *nodes: Node) -> Node:
    """Return the lowest node of the lattice that is above all of `nodes`: the type that operands of these types are
    converted to. A node is a dtype, or `int`, `float`, `complex` for a weak type.

    `upper_bounds(x64)` has for each node of the lattice the set of the nodes that are reached going up from it, including
    itself. A node above all of `nodes` is in all of their sets; the lowest such node is the one from which all other such
    nodes are reached.

    Raises:
      ValueError: a node is not in the lattice.
      TypePromotionError: there is no such node; `no_promotion_path(nodes)` is the message.
    """
    bounds = upper_bounds(x64)
    for node in nodes:
        if node not in bounds:
            raise ValueError(f"dtype={node!r} is not a valid dtype for JAX type promotion.")
    common = frozenset.intersection(*(bounds[node] for node in nodes))
    for candidate in common:
        if common <= bounds[candidate]:
            return candidate
    raise TypePromotionError(no_promotion_path(nodes))


# --- 01.4 2 - x ---------------------------------------------------------------------------------------------
# Without the reflected methods, `x * 2` would work and `2 * x` would not. The library asks `takes_part`
# before it computes. So a list is refused (numpy would convert it silently, number by number), and for an
# object of another library the method returns NotImplemented, so that the object gets its chance.
#
# Usual mistakes:
#   - Calling `function(self, other)`: right for + and *, wrong for -, /, ** and the comparisons.
#   - Raising NotImplemented, or a TypeError: then the other operand is never asked.
#
# In JAX: jax/_src/numpy/array_methods.py:_operator_rsub


def reflected_method(symbol: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the method that Python calls for `other <symbol> self`, such as `__rsub__`, when `other` is on the left
    and does not know what to do with an array.

    The method returns `function` of the two operands, in the order in which they are written. Errors pass through
    `filter_traceback`, which removes this library's frames.

    `takes_part(other, symbol, left, right)` says whether `other` is an array or a scalar, and raises the TypeError for
    a container. `_takes_part` caches the answers by the type of `other`. If `other` is neither, but has a method
    `__jax_array__` (in JAX's tracers that attribute is None), the method's result takes its place. For anything else
    the result is NotImplemented, as Python requires.
    """

    def backward(self: Any, other: Any) -> Any:
        t = type(other)
        if _takes_part[t] if t in _takes_part else takes_part(other, symbol, other, self):
            try:
                return function(other, self)
            except BaseException as error:
                filter_traceback(error)
                raise
        give = getattr(other, "__jax_array__", None)
        return NotImplemented if give is None else backward(self, give())

    return backward


# --- 01.5 Constants -----------------------------------------------------------------------------------------
# An `id` is unique only as long as the object lives: `consts` keeps the object, which makes `constvar_of_id`
# safe. A tracer of an outer trace has a value only when the outer program runs, so it is kept as a constant
# too; the caller of the inner function knows the outer trace, and passes the tracer as an argument.
#
# Usual mistakes:
#   - A new variable each time: the table is in the program three times.
#   - Looking constants up by type, or by equality.
#   - Taking the atom of an outer tracer: that variable belongs to another program.
#   - Literals for arrays: a program of a million numbers in text.
#
# In JAX: jax/_src/interpreters/partial_eval.py:DynamicJaxprTrace


class DynamicJaxprTrace:
    def lift(self, x: Any) -> Var | Literal:
        """Return the atom that stands in an equation for x, a value that is not a tracer of this trace.

        `literal_form(x)` is how a scalar is written, and None for everything else. A scalar becomes a Literal of that
        value and of x's aval.

        Everything else, such as an array or a tracer of another trace, becomes a constant: a fresh variable, whose value
        `consts` keeps. If the same object came before, return its variable: `constvar_of_id` finds it by the object's
        `id`.

        Raise UnexpectedTracerError for a tracer that outlived its trace (`check_lives`).
        """
        if isinstance(x, Tracer):
            check_lives(x)
        elif (value := literal_form(x)) is not None:
            return Literal(value, core.get_aval(x))
        var = self.constvar_of_id.get(id(x))
        if var is None:
            var = Var(core.aval_of_constant(x))
            self.constvar_of_id[id(x)] = var
            self.consts[var] = x  # keeps x alive, and so its id unique
        return var


# --- 01.6 When Python asks for the value --------------------------------------------------------------------
# A tracer that answered `True` would compile one branch into the program, for all calls to come, and nobody
# would notice. An error is the only honest answer. It has to come from the methods that Python calls, since
# nothing else can notice an `if`.
#
# Usual mistakes:
#   - Returning True, or NotImplemented, which is true as well.
#   - Telling somebody who wrote `if array_of_three:` to use `lax.cond`.
#   - Requiring a scalar: an array of shape (1, 1) has a truth value.
#
# In JAX: jax/_src/core.py:Tracer


def check_bool_conversion(x: Any) -> None:
    """Raise ValueError unless `x` has exactly one element: the truth of no element, or of several, is ambiguous."""
    if x.size == 0:
        raise ValueError(
            "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not empty."
        )
    if x.size > 1:
        raise ValueError(
            f"The truth value of an array with more than one element is ambiguous. Use a.any() or a.all(){edits.ONE_BY_ONE}"
        )


class Tracer:
    def __bool__(self) -> bool:
        """Refuse to be a bool: Python asks which way to go, in `if x:` or `not x`, and the value is not known.

        If an array would be refused, too, raise the same error: ValueError for f32[3] or f32[0]. If only tracing is the
        reason, as for f32[] or f32[1], raise TracerBoolConversionError.
        """
        check_bool_conversion(self)
        raise errors.TracerBoolConversionError(self)

    def __index__(self) -> int:
        """Refuse to be an int, as in `range(x)` or `items[x]`.

        As in `__bool__`: an array of type f32[] or i32[3] is not an index either, so raise TypeError; for i32[] only the
        value is missing, so raise TracerIntegerConversionError.
        """
        check_integer_conversion(self)
        raise errors.TracerIntegerConversionError(self)


def concrete_or_error(force: Callable[[Any], Any], x: Any, context: str = "") -> Any:
    """Return `force(x)`, where `force` needs the value of x: `int`, `bool`, `operator.index` or any other function.

        concrete_or_error(int, np.float32(2.5))              2
        concrete_or_error(operator.index, t)                 TracerIntegerConversionError, for a tracer t
        concrete_or_error(operator.index, t, "It is an axis.")    the same
        concrete_or_error(int, t, "It is a stack's size.")    ConcretizationTypeError, which says so
        concrete_or_error(bool, t)                           ConcretizationTypeError, as there is no `if`

    Refuse a tracer without calling `force`, whatever `force` is. An error that `force` raises for a value passes through.
    """
    if isinstance(x, Tracer):
        if force is operator.index:
            raise errors.TracerIntegerConversionError(x)
        raise errors.ConcretizationTypeError(x, context)
    return force(x)
