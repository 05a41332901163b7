"""01 Tracers: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 01.1` helps, one
step further each time. You may add helpers and imports: functions, classes, constants. Other
statements at the top are not run. The parameters stay as they are: other code calls these
functions. A class has only those methods that are yours to write; the others are the
reference's.
"""

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


# --- 01.1 Bind a primitive (2 points) -----------------------------------------------------------------------
# Every operation of the library ends in `bind`. Hand the operation to the current trace, or run it if there
# is no trace.


class Primitive:
    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive to operands, and return what the current trace makes of it.

        The thread's current trace is `config.local.state.trace`. Its method `process_primitive`
        receives the primitive, the operands as a tuple and the parameters as a dict. If the trace
        is None, `eager.apply`, which takes the same arguments, runs the operation now.

        Raise TypeError if an operand is not an array: after any TypeError call `check_arrays`,
        which raises a better one if an operand is to blame.
        """
        raise NotImplementedError("01.1")


# --- 01.2 The type of a result (3 points) -------------------------------------------------------------------
# While a function is traced, a result has no numbers; its shape and dtype follow from those of the operands.
# Say how, for operations that go element by element: first the shape, then the whole type.


def broadcast_equal_ranks(name: str, shapes: Sequence[Shape]) -> Shape:
    """Return the shape of an elementwise operation, called `name`, on one or more arrays of these
    shapes.

    All must have the same number of axes; a shorter shape is not extended. Along each axis the
    sizes must be equal, except that size 1 stretches. Otherwise raise TypeError, which names the
    operation.
    """
    raise NotImplementedError("01.2")


def elementwise_aval(
    name: str,
    accepts: tuple[Kinds, ...],
    result: DTypeRule,
    one_dtype: bool,
    operands: Sequence[ShapedArray],
) -> ShapedArray:
    """Return the aval of the result of an elementwise primitive.

    Its shape is the one to which the operands broadcast (`broadcast_operands`), its dtype is
    `result(*operands)`, and it is weakly typed if every operand is.

    Args:
      name: the primitive's name, for messages.
      accepts: for each operand the kinds of dtype that are accepted in its place.
      result: a function of the operands' avals that returns the dtype of the result.
      one_dtype: whether the operands must have one dtype: nothing is converted here.
      operands: their avals.

    Raises:
      TypeError: for shapes that do not fit, for dtypes that are not accepted (`check_operands`),
        for different dtypes (`check_same_dtypes`), in this order.
    """
    raise NotImplementedError("01.2")


# --- 01.3 Where two types meet (2 points) -------------------------------------------------------------------
# `x * 2` works whatever the dtype of x. The types form a lattice: find the lowest one above all that are
# given.


def least_upper_bound(x64: bool, *nodes: Node) -> Node:
    """Return the lowest node of the lattice that is above all of `nodes`: the type that operands of
    these types are converted to. A node is a dtype, or `int`, `float`, `complex` for a weak type.

    `upper_bounds(x64)` has for each node of the lattice the set of the nodes that are reached going
    up from it, including itself. A node above all of `nodes` is in all of their sets; the lowest
    such node is the one from which all other such nodes are reached.

    Raises:
      ValueError: a node is not in the lattice.
      TypePromotionError: there is no such node; `no_promotion_path(nodes)` is the message.
    """
    raise NotImplementedError("01.3")


# --- 01.4 2 - x (2 points) ----------------------------------------------------------------------------------
# In `2 - x` Python asks the 2 first, which knows nothing about arrays; then it calls a method of x. Make that
# method.


def reflected_method(symbol: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the method that Python calls for `other <symbol> self`, such as `__rsub__`, when
    `other` is on the left and does not know what to do with an array.

    The method returns `function` of the two operands, in the order in which they are written.
    Errors pass through `filter_traceback`, which removes this library's frames.

    `takes_part(other, symbol, left, right)` says whether `other` is an array or a scalar, and
    raises the TypeError for a container. `_takes_part` caches the answers by the type of `other`.
    If `other` is neither, but has a method `__jax_array__` (in JAX's tracers that attribute is
    None), the method's result takes its place. For anything else the result is NotImplemented, as
    Python requires.
    """
    raise NotImplementedError("01.4")


# --- 01.5 Constants (3 points) ------------------------------------------------------------------------------
# A traced function also uses values that are not its arguments: a number, an array from outside. Give them
# their place in the program.


class DynamicJaxprTrace:
    def lift(self, x: Any) -> Var | Literal:
        """Return the atom that stands in an equation for x, a value that is not a tracer of this
        trace.

        `literal_form(x)` is how a scalar is written, and None for everything else. A scalar becomes
        a Literal of that value and of x's aval.

        Everything else, such as an array or a tracer of another trace, becomes a constant: a fresh
        variable, whose value `consts` keeps. If the same object came before, return its variable:
        `constvar_of_id` finds it by the object's `id`.

        Raise UnexpectedTracerError for a tracer that outlived its trace (`check_lives`).
        """
        raise NotImplementedError("01.5")


# --- 01.6 When Python asks for the value (2 points) ---------------------------------------------------------
# `if x > 0`, `range(n)`, `int(x)`: each needs a value, and a tracer has none. Refuse, and say so in the right
# words.


def check_bool_conversion(x: Any) -> None:
    """Raise ValueError unless `x` has exactly one element: the truth of no element, or of several,
    is ambiguous.
    """
    raise NotImplementedError("01.6")


class Tracer:
    def __bool__(self) -> bool:
        """Refuse to be a bool: Python asks which way to go, in `if x:` or `not x`, and the value is
        not known.

        If an array would be refused, too, raise the same error: ValueError for f32[3] or f32[0]. If
        only tracing is the reason, as for f32[] or f32[1], raise TracerBoolConversionError.
        """
        raise NotImplementedError("01.6")

    def __index__(self) -> int:
        """Refuse to be an int, as in `range(x)` or `items[x]`.

        As in `__bool__`: an array of type f32[] or i32[3] is not an index either, so raise
        TypeError; for i32[] only the value is missing, so raise TracerIntegerConversionError.
        """
        raise NotImplementedError("01.6")


def concrete_or_error(force: Callable[[Any], Any], x: Any, context: str = "") -> Any:
    """Return `force(x)`, where `force` needs the value of x: `int`, `bool`, `operator.index` or any
    other function.

        concrete_or_error(int, np.float32(2.5))              2
        concrete_or_error(operator.index, t)                 TracerIntegerConversionError, for a tracer t
        concrete_or_error(operator.index, t, "It is an axis.")    the same
        concrete_or_error(int, t, "It is a stack's size.")    ConcretizationTypeError, which says so
        concrete_or_error(bool, t)                           ConcretizationTypeError, as there is no `if`

    Refuse a tracer without calling `force`, whatever `force` is. An error that `force` raises for a
    value passes through.
    """
    raise NotImplementedError("01.6")
