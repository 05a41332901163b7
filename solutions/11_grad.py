"""11 grad: the solutions, as the reference has them, and why."""

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


# --- 11.1 Rules for pairs -----------------------------------------------------------------------------------
# For each operation only this rule is written by hand, and it is enough for both directions and for every
# order of derivative. The rule of logistic uses the result, which has been computed already. Zeros have a
# class of their own since most operands never change, and a tangent that is known to be zero while tracing
# costs nothing when the program runs.
#
# Usual mistakes:
#   - Returning the derivative, without the tangent.
#   - Summing the tangents of all maxima: if both grow by 1, the maximum grows by 1, not by 2.
#   - Making an array of zeros the tangent of each constant: correct, but twice the work.
#
# In JAX: jax/_src/interpreters/ad.py:standard_jvp2


def jvp_logistic(g: Any, y: Any, x: Any) -> Any:
    """Return the tangent of `y = logistic(x)`, which is 1 / (1 + exp(-x)), if the tangent of x is `g`.

    The derivative of the logistic function is y (1 - y): it needs only y, which is known. `constant_like(y, 1)` is a 1
    of y's dtype.
    """
    return mul(g, mul(y, sub(constant_like(y, 1), y)))


def jvp_extreme(g: Any, out: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    """Return the tangent of `out`, the maximum or minimum of x along `axes`, if the tangent of x is `g`.

    It is the tangent of the extreme element; if several are extreme, the mean of their tangents. `reshape` gives `out`
    the missing axes back, with size 1.
    """
    shape = [1 if i in axes else size for i, size in enumerate(x.shape)]
    is_extreme = convert_element_type(eq(x, reshape(out, shape)), g.dtype)
    count = reduce_sum(is_extreme, axes)
    return div(reduce_sum(mul(g, is_extreme), axes), count)


def sum_of_shares(
    primitive: Primitive, shares: Sequence[Share | None], primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """JVP rule of an operation whose tangent is a sum of one share per operand: return the result and its tangent.

    Args:
      shares: one for each operand: `share(tangent, result, *primals, **params)` is the tangent if only this operand
        changes; None for an operand that contributes nothing.
      primals: the operands; `primitive.bind` takes them, with `params`.
      tangents: the operands' tangents. Do not call the share of a `Zero`.

    The tangent is the sum of the shares (`add_tangents`). If no share is called, it is `zero_tangent(result)`.
    """
    out = primitive.bind(*primals, **params)
    parts = [
        share(t, out, *primals, **params)
        for share, t in zip(shares, tangents, strict=True)
        if share is not None and type(t) is not Zero
    ]
    return out, functools.reduce(add_tangents, parts, zero_tangent(out))


# --- 11.2 A function of pairs -------------------------------------------------------------------------------
# Higher orders need nothing more: the operations of a rule go to the enclosing trace. If that is another
# derivative, they are differentiated; if it writes a jaxpr, they are written. The classical mistake of such
# systems, perturbation confusion, is to take the pair of an outer derivative for one's own. So a trace asks
# to which trace a tracer belongs, and not which type it has.
#
# Usual mistakes:
#   - Asking `isinstance(x, DualTracer)`: in nested derivatives the outer pairs are DualTracers, too.
#   - Running rules under the same trace: they would call their own rules for ever.
#   - Forgetting `aux`: those values are pairs of a trace that has ended.
#
# In JAX: jax/_src/interpreters/ad.py:JVPTrace


class DualTrace:
    def process_primitive(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Return the results of one operation, with their tangents. Operands are tracers of this trace, pairs of a primal and
        a tangent, or values that do not change.

        If all tangents are `Zero`, bind the primitive on the primals under the outer trace, `self.parent`. Otherwise
        `self.differentiate` gives the results and their tangents (lists for a primitive of `multiple_results`);
        pair each result with its tangent (`with_tangent`).
        """
        primals, tangents = self.pairs(args)
        if all(type(t) is Zero for t in tangents):
            with core.set_current_trace(self.parent):
                return primitive.bind(*primals, **params)
        out, tangent = self.differentiate(primitive, primals, tangents, params)
        if primitive.multiple_results:
            return [self.with_tangent(x, t) for x, t in zip(out, tangent, strict=True)]
        return self.with_tangent(out, tangent)


def jvp(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any], aux: list[Any] | None = None
) -> tuple[list[Any], list[Any]]:
    """Call `fun` once, on primals with tangents; return its results and their tangents, some of which may be Zero.

    `fun` is called under a `JVPTrace` inside of the current trace. End that trace when the call ends, also by an error, so
    that later use of its tracers is an error.

    Args:
      fun: takes values, and returns a list of them.
      primals, tangents: its arguments, and how each changes; Zero for one that does not.
      aux: a list into which `fun` may put more values. They lose their tangents.
    """
    trace = JVPTrace(core.current_trace())
    try:
        with core.set_current_trace(trace):
            outs = fun(*[trace.with_tangent(x, t) for x, t in zip(primals, tangents, strict=True)])
        if aux is not None:
            aux[:] = map(trace.strip, aux)
        return trace.pairs(outs)
    finally:
        trace.end()


def jvp_jaxpr(
    jaxpr: Jaxpr, nonzero: tuple[bool, ...], instantiate: tuple[bool, ...] | bool
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """Return the JVP of a jaxpr: its inputs are the primals, then the tangents of the `nonzero` inputs; its outputs are
    the primals, then the tangents that are not Zero. Also return, for each output, whether it has a tangent.

    Args:
      jaxpr: with a value for each of its constants (`consts`).
      nonzero: for each input, whether it has a tangent. The others do not change.
      instantiate: for each output, or for all, whether a Zero tangent becomes an array (`instantiate_zeros`), and so
        counts as nonzero.
    """
    count, avals = len(jaxpr.invars), jaxpr.in_avals
    always = (instantiate,) * len(jaxpr.outvars) if isinstance(instantiate, bool) else instantiate
    nonzero_out: list[bool] = []

    def pairs(*values: Any) -> list[Any]:
        tangents = with_zeros(values[count:], nonzero, avals)
        outs, out_tangents = jvp(jaxpr_as_fun(jaxpr), values[:count], tangents)
        made = [instantiate_zeros(t) if inst else t for t, inst in zip(out_tangents, always, strict=True)]
        nonzero_out.extend(type(t) is not Zero for t in made)
        return [*outs, *(t for t in made if type(t) is not Zero)]

    in_avals = [*avals, *(tangent_aval(aval) for aval, nz in zip(avals, nonzero, strict=True) if nz)]
    made = partial_eval.trace_to_jaxpr(pairs, in_avals, jaxpr.debug_info.with_unknown_names())
    return made, tuple(nonzero_out)


# --- 11.3 What is known goes, what is linear stays ----------------------------------------------------------
# This step makes reverse mode possible. Tangents flow forward with the values, and cannot be turned round
# while values are still to be computed. After this step no values are left to compute: there is only a linear
# program whose constants are known, and such a program can be read backwards. Reverse mode is notorious for
# the memory that it needs: the residuals take it.
#
# Usual mistakes:
#   - Writing down everything that a rule does: correct, but every cosine is computed again at each use of the
#     linear program.
#   - Deciding by the primitive, and not by the operands: `mul` is on both sides.
#   - Giving the traces no parent: then only the outermost function can be linearised.
#
# In JAX: jax/_src/interpreters/ad.py:linearize_jaxpr


class PartialTrace:
    def process_primitive(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Return the results of one operation of a JVP rule. If no operand is a tangent, bind it now under the outer trace,
        `self.parent`; else record it (`self.write_down`), since tangents have no values yet.
        """
        if any(map(self.is_tangent, args)):
            return self.write_down(primitive, args, params)
        with core.set_current_trace(self.parent):
            return primitive.bind(*args, **params)


def linearize(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], debug_info: DebugInfo, aux: list[Any] | None = None
) -> tuple[list[Any], LinearProgram]:
    """Call `fun` once on primals, and record what it does to tangents.

    It takes two traces inside of the current one: a `DynamicJaxprTrace` for tangents, and a `LinearizeTrace` for the
    function. The function's arguments are pairs of a primal and a tangent, which is a new argument of the first trace
    (`trace.new_arg(value, type of its tangent)`). `finish` makes the program from the recorded equations. End both
    traces when the call ends, also by an error.

    Args:
      fun: takes values, and returns a list of them.
      primals: its arguments.
      debug_info: names for the program.
      aux: a list into which `fun` may put more values. They lose their tangents.

    Returns:
      The results of `fun`, and the program for tangents.
    """
    parent = core.current_trace()
    tangent_trace = DynamicJaxprTrace(parent, debug_info)
    trace = LinearizeTrace(parent, tangent_trace)
    try:
        tracers = [trace.new_arg(x, tangent_aval(core.get_aval(x))) for x in primals]
        with core.set_current_trace(trace):
            outs, tangents = trace.pairs(fun(*tracers))
        if aux is not None:
            aux[:] = map(trace.strip, aux)
        return outs, finish(tangent_trace, tangents, debug_info)
    finally:
        trace.end()
        tangent_trace.end()


# --- 11.4 Backwards -----------------------------------------------------------------------------------------
# A linear program is a matrix, which nobody writes down: the product of one matrix for each equation. The
# transpose of a product is the product of the transposes in the other order. Copying is a column of ones,
# adding is a row of ones. All of backpropagation is in the one word `reversed` and the one call of
# `add_tangents`.
#
# Usual mistakes:
#   - Overwriting instead of adding: correct as long as each value is used once, as in most first tests.
#   - Adding a cotangent to operands that are values.
#   - Calling rules although all cotangents are Zero: there is nothing to do.
#
# In JAX: jax/_src/interpreters/ad.py:backward_pass3


def backward_pass(
    jaxpr: Jaxpr, consts: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any], before: Sequence[Any] = ()
) -> list[Any]:
    """Return the cotangents of those inputs in which the jaxpr is linear, and None for the others.

    The linear equations are read from the last to the first. The rule of a primitive, `transpose_rule(primitive)`, is
    called with the cotangent of its result (a list for `multiple_results`) and with its operands, an UndefinedPrimal
    for each linear one. It returns a list with an entry for each operand: its cotangent, or None. The cotangent of a
    value is the sum (`add_tangents`) of what the equations that read the value return for it, and, for an output, of
    what the caller gives. If there is nothing to add, it is a Zero of the type `tangent_aval(var.aval)`.

    Args:
      jaxpr: a linear program; `consts` are the values of its constvars (not always those in `jaxpr.consts`).
      inputs: an UndefinedPrimal for each linear input, values for the others.
      cotangents: the cotangents of the outputs. Some may be Zero; if all are, and no equation has effects, do not call
        any rule.
      before: cotangents that the first linear inputs have already; what is found here is added to them.
    """
    if all(type(ct) is Zero for ct in cotangents) and not jaxpr.effects:
        known = iter(before)
        return [next(known, Zero(x.aval)) if is_undefined(x) else None for x in inputs]
    values, linear = linear_equations(jaxpr, consts, inputs)
    linear_inputs = [var for var, x in zip(jaxpr.invars, inputs, strict=True) if is_undefined(x)]
    totals: dict[Var, Any] = dict(zip(linear_inputs, before, strict=False))

    def add(atom: Atom, ct: Any) -> None:
        if ct is not None and isinstance(atom, Var) and is_undefined(values[atom]):
            totals[atom] = add_tangents(totals[atom], ct) if atom in totals else ct

    def transpose(cts: Any, *operands: Any, **params: Any) -> None:
        for atom, ct in zip(eqn.invars, transpose_rule(eqn.primitive)(cts, *operands, **params), strict=True):
            add(atom, ct)

    def total(var: Var) -> Any:
        return totals.pop(var) if var in totals else Zero(tangent_aval(var.aval))

    for atom, ct in zip(jaxpr.outvars, cotangents, strict=True):
        add(atom, ct)
    for eqn in reversed(linear):
        cts = [total(var) for var in eqn.outvars]
        given = cts if eqn.primitive.multiple_results else cts[0]
        operands = [read(values, atom) for atom in eqn.invars]
        eqn.perform(transpose, given, *operands)  # the sums, too, are recorded at the equation's line
    return [total(var) if is_undefined(x) else None for var, x in zip(jaxpr.invars, inputs, strict=True)]


def unbroadcast(aval: Any, ct: Any) -> Any:
    """Return the cotangent of an operand of this type from the cotangent of its broadcast.

    Each element of the operand was used in several places, so its cotangent is their sum (`reduce_sum(ct, axes)`) along
    the axes that were broadcast. An operand is a scalar, which is broadcast to any shape, or has as many axes as the
    result; axes of size 1 may be stretched. The cotangent has the operand's shape. If nothing was broadcast, return
    `ct` itself, and write nothing; `ct` may be a Python number (`np.shape` takes those, too).
    """
    shape = np.shape(ct)
    if aval.shape == shape:
        return ct
    if not aval.shape:
        return reduce_sum(ct, range(len(shape)))
    axes = [i for i, (new, old) in enumerate(zip(shape, aval.shape, strict=True)) if new != old]
    return reshape(reduce_sum(ct, axes), aval.shape)


# --- 11.5 grad ----------------------------------------------------------------------------------------------
# The method is not limited to scalars: `vjp` takes any result, and asks how much each element counts. Only
# for a single number the answer is obvious. People who write `.sum()` to please `grad` say that each element
# counts 1. The value costs nothing, since the function had to run anyway.
#
# Usual mistakes:
#   - Calling `fun` again for the value: the derivative has computed it already.
#   - Returning a tuple for a single argument number: an int gives `grads[0]`, and a sequence gives a tuple,
#     even a sequence of one.
#   - Accepting the shape (1,): then nobody notices a forgotten axis.
#
# In JAX: jax/_src/api.py:value_and_grad


def grad(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """Return a function that takes the arguments of `fun` and returns its gradient: how the result, one number, changes
    with each element of an argument.

    Args:
      fun: returns a float scalar.
      argnums: the position of the argument with respect to which to differentiate, or a sequence of positions. These
        arguments are trees of floats.
      has_aux: `fun` returns a pair: the number, and other data, which is returned unchanged.
      holomorphic: `fun` is a holomorphic function of complex numbers.
      allow_int: accept integers; their gradient is an array of dtype float0, which has no bytes.

    Returns:
      A function that returns a tree like the argument, or a tuple of them for a sequence of `argnums`; with `has_aux` a
      pair of that and the other data. Its name and its docstring are those of `fun` (`wraps`).

    Raises (when the function is called):
      TypeError: for arguments of other types, before `fun` is called, or a result of other types, naming the dtype
        (`int32`); for a result that is not a scalar, naming its shape (`(4,)`); for fewer arguments than `argnums`
        counts on. It comes at once if `fun` cannot be called (`check_callable`).
      ValueError: for a negative number in `argnums` that the call does not have.
    """
    value_and_gradient = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)

    @wraps(fun)
    @traceback_util.api_boundary
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, grads = value_and_gradient(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return gradient


def value_and_grad(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., tuple[Any, Any]]:
    """Return a function like `grad(fun)` that returns a pair: what `fun` returns (with `has_aux` a pair itself), and
    the gradient. The parameters are those of `grad`. The pullback (`vjp`) takes a 1 of the result's type, weak if the
    result is.
    """
    api_util.check_callable(fun)
    numbers = as_argnums(argnums)

    @wraps(fun)
    @traceback_util.api_boundary
    def value_and_gradient(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        fun_of_some, some = fix_others(fun, numbers, argnums, args, kwargs)
        for leaf in tree_leaves(some):
            check_input("grad", leaf, holomorphic, allow_int)
        value, fun_vjp, *aux = vjp(fun_of_some, *some, has_aux=has_aux)
        check_scalar(value)
        check_output("grad", value, holomorphic)
        grads = fun_vjp(lax.full_like(value, 1, shape=()))
        grads = grads if isinstance(numbers, tuple) else grads[0]
        return ((value, *aux) if has_aux else value), grads

    return value_and_gradient


# --- 11.6 A loop, backwards ---------------------------------------------------------------------------------
# The program for the gradient has the same length for any number of steps. Memory grows: there is one row for
# each step. Because of these rows the number of steps must be known: they are arrays, and arrays have shapes.
# A `while_loop` has no such number, so it has no transpose.
#
# Usual mistakes:
#   - Looping in the direction of the original scan: cotangents go the other way.
#   - Taking the cotangents of constants from the last trip, or stacking them as if they were elements.
#   - Scanning over zeros for outputs that nobody used.
#
# In JAX: jax/_src/lax/control_flow/loops.py:_scan_transpose


def transpose_scan(
    cts: Sequence[Any], *operands: Any, reverse: bool, jaxpr: Jaxpr, num_consts: int, num_carry: int, **params: Any
) -> list[Any]:
    """Transpose a scan that is linear in some constants, in its carry and in some of its `xs`: bind a scan in the other
    direction, with the body `transposed_body` (see there for its inputs and outputs). The constants of the new scan are
    the shared residuals; its carry are the sums, and the cotangents of the carry; its `xs` are the cotangents of outputs,
    except those that are a Zero, and the rows of residuals.

    Args:
      cts: the cotangents of the last carry and of the stacked outputs; some may be Zero.
      operands: constants, carry, and `xs`. The linear ones, which need a cotangent, are UndefinedPrimals; the other
        constants are the shared residuals, and the other `xs` the rows of residuals. A part of the carry may be an
        array, and is carried like the others.
      params: the parameters of `scan_p` that do not change, `length` and `unroll`.

    Returns:
      A cotangent for each operand that is an UndefinedPrimal, and None for each that is not.
    """
    consts, carry, xs = split_list(operands, [num_consts, num_carry])
    ct_carry, ct_ys = split_list(cts, [num_carry])
    ct_carry = [instantiate_zeros(ct) for ct in ct_carry]
    shared = [x for x in consts if not is_undefined(x)]
    rows = [x for x in xs if not is_undefined(x)]
    sums = [zeros_like_aval(tangent_aval(x.aval)) for x in consts if is_undefined(x)]
    start = [*sums, *ct_carry]
    nonzero = tuple(type(ct) is not Zero for ct in ct_ys)
    scanned = [*compress(ct_ys, nonzero), *rows]
    avals = (*map(core.get_aval, (*shared, *start)), *(element_of(core.get_aval(x)) for x in scanned))
    body = transposed_body(jaxpr, len(shared), len(sums), num_carry, len(rows), nonzero, avals)
    made = iter(
        scan_p.bind(
            *shared,
            *start,
            *scanned,
            reverse=not reverse,
            jaxpr=body,
            num_consts=len(shared),
            num_carry=len(start),
            **params,
        )
    )
    of_consts = [next(made) if is_undefined(x) else None for x in consts]
    of_carry = [ct if is_undefined(x) else None for x, ct in zip(carry, made, strict=False)]
    return [*of_consts, *of_carry, *(next(made) if is_undefined(x) else None for x in xs)]


def transposed_body(
    jaxpr: Jaxpr,
    num_shared: int,
    num_sums: int,
    num_carry: int,
    num_rows: int,
    nonzero_ys: tuple[bool, ...],
    avals: tuple[Any, ...],
) -> Jaxpr:
    """Return the body of the loop that runs backwards: one step of the linear loop, transposed (`backward_pass`).

        linear loop     shared residuals, linear constants, carry, linear elements, rows of residuals
                            -> carry, ys
        transposed      shared residuals, sums, cotangents of carry, cotangents of ys, rows of residuals
                            -> sums, cotangents of carry, cotangents of elements

    All steps read the same constants: the cotangent of a constant is the sum over all steps, and this sum is carried.

    Args:
      jaxpr: the body of the linear loop, with a value for each of its constants (`consts`).
      num_shared, num_sums, num_carry, num_rows: how many shared residuals, linear constants, parts of the carry, and
        rows of residuals there are.
      nonzero_ys: for each of the ys, whether it has a cotangent; those without one are not inputs.
      avals: the types of the inputs of the new body.

    Returns:
      A jaxpr, all of whose outputs are arrays.
    """

    def body(*args: Any) -> list[Any]:
        sizes = [num_shared, num_sums, num_carry, sum(nonzero_ys)]
        shared, sums, ct_carry, ct_ys, rows = split_list(args, sizes)
        elements = jaxpr.in_avals[num_shared + num_sums + num_carry : len(jaxpr.invars) - num_rows]
        # A cotangent of the carry is weakly typed if the incoming cotangent is; it does not matter whether the carry was.
        linear = [*map(core.get_aval, [*sums, *ct_carry]), *map(tangent_aval, elements)]
        inputs = [*shared, *map(UndefinedPrimal, linear), *rows]
        cts = [*ct_carry, *ad.with_zeros(ct_ys, nonzero_ys, jaxpr.out_avals[num_carry:])]
        found = backward_pass(jaxpr, jaxpr.consts, inputs, cts, before=sums)
        return [instantiate_zeros(ct) for ct in found if ct is not None]

    return trace_to_jaxpr(body, avals, jaxpr.debug_info.with_unknown_names())


# --- 11.7 Programs that have a gradient ---------------------------------------------------------------------
# Most questions about gradients are about one of these three. A nan in the gradient of a loss that looks
# healthy nearly always comes from a masked value. If reverse mode through `while_loop` is refused, there are
# two ways out: a fixed number of steps, or a custom rule (`custom_vjp`) by the implicit function theorem. And
# the memory of training is residuals: checkpointing a layer trades them for a second run of that layer.
#
# Usual mistakes:
#   - `p + 1e-6`: it is another function, and its gradient near 0 is still wrong.
#   - Unrolling: 500 steps make the program 500 times as long.
#   - A checkpoint around the whole loop: the first run keeps nothing, but the second one keeps everything.
#
# In JAX: jax/_src/ad_checkpoint.py:checkpoint


def entropy(p: Any) -> Any:
    """Return the sum of -p log(p) over the elements of p, where 0 log(0) counts as 0.

    Its gradient is -log(p) - 1 at a positive element, and 0 at an element that is 0. Neither the gradient nor a higher derivative has
    a nan.
    The version to mend, whose value is right:

        return -jnp.sum(jnp.where(p > 0, p * jnp.log(p), 0.0))

    Args:
      p: of float32 and any shape; none of its elements is negative.

    Returns:
      A float32 scalar.
    """
    is_positive = p > 0
    safe = jnp.where(is_positive, p, 1.0)
    return -jnp.sum(jnp.where(is_positive, p * jnp.log(safe), 0.0))


def cube_root(a: Any, steps: int) -> Any:
    """Return the cube root of a by `steps` steps of Newton's method, `x - (x**3 - a) / (3 * x**2)`, from x = 1.

    It has a gradient, and its jaxpr and the jaxpr of its gradient have as many equations for 5 steps as for 500. The version to mend:

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

    def step(i: Any, x: Any) -> Any:
        return x - (x**3 - a) / (3 * x**2)

    return lax.fori_loop(0, steps, step, jnp.ones_like(a))


def through_layers(x: Any, weights: Any) -> Any:
    """Return x after a row of layers: for each w of `weights` in turn, `x = jnp.sin(jnp.tanh(w * x) * jnp.exp(-(x**2)))`.

    It has a gradient with respect to both arguments. For the reverse pass, each layer keeps only its input x and its w:
    everything else is recomputed there. The version to mend keeps seven arrays a layer:

        def layer(x, w):
            return jnp.sin(jnp.tanh(w * x) * jnp.exp(-(x**2))), None

        return lax.scan(layer, x, weights)[0]

    Args:
      x: of float32, shape (n,).
      weights: of float32, shape (layers, n).

    Returns:
      An array like x.
    """

    @jax.checkpoint
    def layer(x: Any, w: Any) -> Any:
        return jnp.sin(jnp.tanh(w * x) * jnp.exp(-(x**2)))

    return lax.scan(lambda x, w: (layer(x, w), None), x, weights)[0]
