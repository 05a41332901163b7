"""11 grad: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 11.1` helps, one
step further each time. You may add helpers and imports: functions, classes, constants. Other
statements at the top are not run. The parameters stay as they are: other code calls these
functions. A class has only those methods that are yours to write; the others are the
reference's.
"""

from __future__ import annotations

import functools
import jitkit as jax
import jitkit.numpy as jnp
import numpy as np
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

from jitkit import core, lax
from jitkit.base import traceback_util
from jitkit.base.util import split_list, wraps
from jitkit.core import Primitive
from jitkit.derivatives.gradients import (
    Argnums, as_argnums, check_input, check_output, check_scalar, fix_others,
)
from jitkit.derivatives.linear_maps import vjp
from jitkit.interpreters import ad, partial_eval
from jitkit.interpreters.ad import JVPTrace, with_zeros
from jitkit.interpreters.ad_linearize import LinearProgram, LinearizeTrace, finish
from jitkit.interpreters.ad_rules import (
    Share, UndefinedPrimal, Zero, add_tangents, instantiate_zeros, is_undefined, tangent_aval,
    zero_tangent,
)
from jitkit.interpreters.ad_transpose import linear_equations, read, transpose_rule
from jitkit.interpreters.partial_eval import DynamicJaxprTrace, trace_to_jaxpr
from jitkit.jaxpr import Atom, DebugInfo, Jaxpr, Var, jaxpr_as_fun
from jitkit.lax import convert_element_type, div, eq, mul, reduce_sum, reshape, sub
from jitkit.lax.control_flow.scanning import element_of, scan_p
from jitkit.lax.creation import zeros_like_aval
from jitkit.lax.utils import constant_like
from jitkit.signature import api_util
from jitkit.tree_util import tree_leaves


# --- 11.1 Rules for pairs (3 points) ------------------------------------------------------------------------
# A JVP rule says what an operation does to a value and its tangent. Write the rule of the logistic function,
# the rule of a maximum (several elements may be equal to it), and a helper for operations with several
# operands, whose tangent is a sum of one share for each operand. (Use the operations of `lax`; `jnp` will do
# as well.)


def jvp_logistic(g: Any, y: Any, x: Any) -> Any:
    """Return the tangent of `y = logistic(x)`, which is 1 / (1 + exp(-x)), if the tangent of x is
    `g`.

    The derivative of the logistic function is y (1 - y): it needs only y, which is known.
    `constant_like(y, 1)` is a 1 of y's dtype.
    """
    raise NotImplementedError("11.1")


def jvp_extreme(g: Any, out: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    """Return the tangent of `out`, the maximum or minimum of x along `axes`, if the tangent of x is
    `g`.

    It is the tangent of the extreme element; if several are extreme, the mean of their tangents.
    `reshape` gives `out` the missing axes back, with size 1.
    """
    raise NotImplementedError("11.1")


def sum_of_shares(
    primitive: Primitive,
    shares: Sequence[Share | None],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    **params: Any,
) -> tuple[Any, Any]:
    """JVP rule of an operation whose tangent is a sum of one share per operand: return the result
    and its tangent.

    Args:
      shares: one for each operand: `share(tangent, result, *primals, **params)` is the tangent if
        only this operand changes; None for an operand that contributes nothing.
      primals: the operands; `primitive.bind` takes them, with `params`.
      tangents: the operands' tangents. Do not call the share of a `Zero`.

    The tangent is the sum of the shares (`add_tangents`). If no share is called, it is
    `zero_tangent(result)`.
    """
    raise NotImplementedError("11.1")


# --- 11.2 A function of pairs (4 points) --------------------------------------------------------------------
# Differentiate a whole function forward: write the trace in which each operation meets pairs, the function
# that starts the trace, and the function that makes a jaxpr of pairs.


class DualTrace:
    def process_primitive(
        self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]
    ) -> Any:
        """Return the results of one operation, with their tangents. Operands are tracers of this
        trace, pairs of a primal and a tangent, or values that do not change.

        If all tangents are `Zero`, bind the primitive on the primals under the outer trace,
        `self.parent`. Otherwise `self.differentiate` gives the results and their tangents (lists
        for a primitive of `multiple_results`); pair each result with its tangent (`with_tangent`).
        """
        raise NotImplementedError("11.2")


def jvp(
    fun: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    aux: list[Any] | None = None,
) -> tuple[list[Any], list[Any]]:
    """Call `fun` once, on primals with tangents; return its results and their tangents, some of
    which may be Zero.

    `fun` is called under a `JVPTrace` inside of the current trace. End that trace when the call
    ends, also by an error, so that later use of its tracers is an error.

    Args:
      fun: takes values, and returns a list of them.
      primals, tangents: its arguments, and how each changes; Zero for one that does not.
      aux: a list into which `fun` may put more values. They lose their tangents.
    """
    raise NotImplementedError("11.2")


def jvp_jaxpr(
    jaxpr: Jaxpr, nonzero: tuple[bool, ...], instantiate: tuple[bool, ...] | bool
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """Return the JVP of a jaxpr: its inputs are the primals, then the tangents of the `nonzero`
    inputs; its outputs are the primals, then the tangents that are not Zero. Also return, for each
    output, whether it has a tangent.

    Args:
      jaxpr: with a value for each of its constants (`consts`).
      nonzero: for each input, whether it has a tangent. The others do not change.
      instantiate: for each output, or for all, whether a Zero tangent becomes an array
        (`instantiate_zeros`), and so counts as nonzero.
    """
    raise NotImplementedError("11.2")


# --- 11.3 What is known goes, what is linear stays (4 points) -----------------------------------------------
# Run a function on its values, and meanwhile write a program of what happens to the tangents. That program is
# linear, and leaves out everything that can be computed now.


class PartialTrace:
    def process_primitive(
        self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]
    ) -> Any:
        """Return the results of one operation of a JVP rule. If no operand is a tangent, bind it
        now under the outer trace, `self.parent`; else record it (`self.write_down`), since tangents
        have no values yet.
        """
        raise NotImplementedError("11.3")


def linearize(
    fun: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    debug_info: DebugInfo,
    aux: list[Any] | None = None,
) -> tuple[list[Any], LinearProgram]:
    """Call `fun` once on primals, and record what it does to tangents.

    It takes two traces inside of the current one: a `DynamicJaxprTrace` for tangents, and a
    `LinearizeTrace` for the function. The function's arguments are pairs of a primal and a tangent,
    which is a new argument of the first trace (`trace.new_arg(value, type of its tangent)`).
    `finish` makes the program from the recorded equations. End both traces when the call ends, also
    by an error.

    Args:
      fun: takes values, and returns a list of them.
      primals: its arguments.
      debug_info: names for the program.
      aux: a list into which `fun` may put more values. They lose their tangents.

    Returns:
      The results of `fun`, and the program for tangents.
    """
    raise NotImplementedError("11.3")


# --- 11.4 Backwards (5 points) ------------------------------------------------------------------------------
# Transpose a linear program: from the cotangents of its results compute those of its inputs. Values that were
# used twice count twice.


def backward_pass(
    jaxpr: Jaxpr,
    consts: Sequence[Any],
    inputs: Sequence[Any],
    cotangents: Sequence[Any],
    before: Sequence[Any] = (),
) -> list[Any]:
    """Return the cotangents of those inputs in which the jaxpr is linear, and None for the others.

    The linear equations are read from the last to the first. The rule of a primitive,
    `transpose_rule(primitive)`, is called with the cotangent of its result (a list for
    `multiple_results`) and with its operands, an UndefinedPrimal for each linear one. It returns a
    list with an entry for each operand: its cotangent, or None. The cotangent of a value is the sum
    (`add_tangents`) of what the equations that read the value return for it, and, for an output, of
    what the caller gives. If there is nothing to add, it is a Zero of the type
    `tangent_aval(var.aval)`.

    Args:
      jaxpr: a linear program; `consts` are the values of its constvars (not always those in
        `jaxpr.consts`).
      inputs: an UndefinedPrimal for each linear input, values for the others.
      cotangents: the cotangents of the outputs. Some may be Zero; if all are, and no equation has
        effects, do not call any rule.
      before: cotangents that the first linear inputs have already; what is found here is added to
        them.
    """
    raise NotImplementedError("11.4")


def unbroadcast(aval: Any, ct: Any) -> Any:
    """Return the cotangent of an operand of this type from the cotangent of its broadcast.

    Each element of the operand was used in several places, so its cotangent is their sum
    (`reduce_sum(ct, axes)`) along the axes that were broadcast. An operand is a scalar, which is
    broadcast to any shape, or has as many axes as the result; axes of size 1 may be stretched. The
    cotangent has the operand's shape. If nothing was broadcast, return `ct` itself, and write
    nothing; `ct` may be a Python number (`np.shape` takes those, too).
    """
    raise NotImplementedError("11.4")


# --- 11.5 grad (3 points) -----------------------------------------------------------------------------------
# Write the function that users call. It takes trees, and argument numbers (`argnums`); it returns the value
# beside the gradient, and other data (`has_aux`); and it raises clear errors.


def grad(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """Return a function that takes the arguments of `fun` and returns its gradient: how the result,
    one number, changes with each element of an argument.

    Args:
      fun: returns a float scalar.
      argnums: the position of the argument with respect to which to differentiate, or a sequence of
        positions. These arguments are trees of floats.
      has_aux: `fun` returns a pair: the number, and other data, which is returned unchanged.
      holomorphic: `fun` is a holomorphic function of complex numbers.
      allow_int: accept integers; their gradient is an array of dtype float0, which has no bytes.

    Returns:
      A function that returns a tree like the argument, or a tuple of them for a sequence of
      `argnums`; with `has_aux` a pair of that and the other data. Its name and its docstring are
      those of `fun` (`wraps`).

    Raises (when the function is called):
      TypeError: for arguments of other types, before `fun` is called, or a result of other types,
        naming the dtype (`int32`); for a result that is not a scalar, naming its shape (`(4,)`);
        for fewer arguments than `argnums` counts on. It comes at once if `fun` cannot be called
        (`check_callable`).
      ValueError: for a negative number in `argnums` that the call does not have.
    """
    raise NotImplementedError("11.5")


def value_and_grad(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., tuple[Any, Any]]:
    """Return a function like `grad(fun)` that returns a pair: what `fun` returns (with `has_aux` a
    pair itself), and the gradient. The parameters are those of `grad`. The pullback (`vjp`) takes a
    1 of the result's type, weak if the result is.
    """
    raise NotImplementedError("11.5")


# --- 11.6 A loop, backwards (5 points) ----------------------------------------------------------------------
# The transpose of a scan is a scan in the other direction, over what each step kept. Write it.


def transpose_scan(
    cts: Sequence[Any],
    *operands: Any,
    reverse: bool,
    jaxpr: Jaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> list[Any]:
    """Transpose a scan that is linear in some constants, in its carry and in some of its `xs`: bind
    a scan in the other direction, with the body `transposed_body` (see there for its inputs and
    outputs). The constants of the new scan are the shared residuals; its carry are the sums, and
    the cotangents of the carry; its `xs` are the cotangents of outputs, except those that are a
    Zero, and the rows of residuals.

    Args:
      cts: the cotangents of the last carry and of the stacked outputs; some may be Zero.
      operands: constants, carry, and `xs`. The linear ones, which need a cotangent, are
        UndefinedPrimals; the other constants are the shared residuals, and the other `xs` the rows
        of residuals. A part of the carry may be an array, and is carried like the others.
      params: the parameters of `scan_p` that do not change, `length` and `unroll`.

    Returns:
      A cotangent for each operand that is an UndefinedPrimal, and None for each that is not.
    """
    raise NotImplementedError("11.6")


def transposed_body(
    jaxpr: Jaxpr,
    num_shared: int,
    num_sums: int,
    num_carry: int,
    num_rows: int,
    nonzero_ys: tuple[bool, ...],
    avals: tuple[Any, ...],
) -> Jaxpr:
    """Return the body of the loop that runs backwards: one step of the linear loop, transposed
    (`backward_pass`).

        linear loop     shared residuals, linear constants, carry, linear elements, rows of residuals
                            -> carry, ys
        transposed      shared residuals, sums, cotangents of carry, cotangents of ys, rows of residuals
                            -> sums, cotangents of carry, cotangents of elements

    All steps read the same constants: the cotangent of a constant is the sum over all steps, and
    this sum is carried.

    Args:
      jaxpr: the body of the linear loop, with a value for each of its constants (`consts`).
      num_shared, num_sums, num_carry, num_rows: how many shared residuals, linear constants, parts
        of the carry, and rows of residuals there are.
      nonzero_ys: for each of the ys, whether it has a cotangent; those without one are not inputs.
      avals: the types of the inputs of the new body.

    Returns:
      A jaxpr, all of whose outputs are arrays.
    """
    raise NotImplementedError("11.6")


# --- 11.7 Programs that have a gradient (3 points) ----------------------------------------------------------
# Three programs compute the right values. The gradient of one is nan, that of another is refused, that of the
# third needs seven times as much memory as it has to. Fix them.


def entropy(p: Any) -> Any:
    """Return the sum of -p log(p) over the elements of p, where 0 log(0) counts as 0.

    Its gradient is -log(p) - 1 at a positive element, and 0 at an element that is 0. Neither the
    gradient nor a higher derivative has a nan. The version to mend, whose value is right:

        return -jnp.sum(jnp.where(p > 0, p * jnp.log(p), 0.0))

    Args:
      p: of float32 and any shape; none of its elements is negative.

    Returns:
      A float32 scalar.
    """
    raise NotImplementedError("11.7")


def cube_root(a: Any, steps: int) -> Any:
    """Return the cube root of a by `steps` steps of Newton's method, `x - (x**3 - a) / (3 * x**2)`,
    from x = 1.

    It has a gradient, and its jaxpr and the jaxpr of its gradient have as many equations for 5
    steps as for 500. The version to mend:

        def goes_on(state):
            return state[0] < steps

        def step(state):
            i, x = state
            return i + 1, x - (x**3 - a) / (3 * x**2)

        return lax.while_loop(goes_on, step, (0, jnp.ones_like(a)))[1]

    Args:
      a: of float32 and any shape; positive.
      steps: an int, known while tracing.

    Returns:
      An array like a.
    """
    raise NotImplementedError("11.7")


def through_layers(x: Any, weights: Any) -> Any:
    """Return x after a row of layers: for each w of `weights` in turn,
    `x = jnp.sin(jnp.tanh(w * x) * jnp.exp(-(x**2)))`.

    It has a gradient with respect to both arguments. For the reverse pass, each layer keeps only
    its input x and its w: everything else is recomputed there. The version to mend keeps seven
    arrays a layer:

        def layer(x, w):
            return jnp.sin(jnp.tanh(w * x) * jnp.exp(-(x**2))), None

        return lax.scan(layer, x, weights)[0]

    Args:
      x: of float32, shape (n,).
      weights: of float32, shape (layers, n).

    Returns:
      An array like x.
    """
    raise NotImplementedError("11.7")
