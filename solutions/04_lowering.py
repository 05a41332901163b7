"""04 Lowering: the solutions, as the reference has them, and why."""

from __future__ import annotations

import numpy as np
from collections.abc import Callable, Sequence
from typing import Any

from jitkit import runtime
from jitkit.compiler import disk_cache
from jitkit.compiler.compiler import CompilerOptions, Executable
from jitkit.compiler.placement import Placement
from jitkit.compiler.program import Program, _by_loops, build_executable, lower_program
from jitkit.core import ShapedArray, dtypes
from jitkit.core.effects import ordered_effects
from jitkit.interpreters.mlir import with_dtype, with_shape, write_body
from jitkit.interpreters.mlir_module import Function, Module
from jitkit.interpreters.mlir_rules import lowering_rules, rank_polymorphic
from jitkit.interpreters.mlir_text import DECIMAL, all_same, element_type, nested_text, type_of
from jitkit.jaxpr import Jaxpr, JaxprEqn, Literal, Var
from jitkit.lax import DotDimensionNumbers
from jitkit.lax.dot_products import dtypes_computed_with
from jitkit.lax.precision import CanonicalPrecision, precision_pair
from jitkit.lax.reducers import integer_array


# --- 04.1 Types and constants -------------------------------------------------------------------------------
# A compiler that gets 1/3 in six digits computes with another number than numpy, and nobody finds out why
# results differ in the last place. So we write decimals only where they are exact, for human readers, and
# bits everywhere else. The forms of `dense` keep the text short: a thousand zeros are one number (from 1024
# elements on nobody looks whether all are the same), and a table of a thousand weights is 8000 characters,
# which XLA's parser reads as bytes.
#
# Usual mistakes:
#   - `str(x)`: MLIR has no words True, nan and inf.
#   - Forgetting that 0.0 == -0.0, and that nan is not equal to itself.
#   - The bytes of a single number in memory order, or those of an array in reversed order.
#   - `value.tobytes('A')`, or `.ravel('K')`: a transposed array is then written as the one it was made of.
#
# In JAX: jax/_src/interpreters/mlir.py:_ndarray_constant_handler


def tensor_type(shape: Sequence[int], dtype: Any) -> str:
    """Return the MLIR type of an array: `tensor<3x4xf32>`, and of a scalar `tensor<f32>`."""
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element_type(dtype)}>"


def scalar_text(x: Any) -> str:
    """Return the text of one number, a numpy scalar, such that MLIR reads exactly that number:

        true, false               a bool; false also for a float0, which is stored as one
        -12                       an integer
        (1.000000e+00, 0x...)     a complex number: its parts
        1.500000e+00              a float, with six digits after the point
        0x3EAAAAAB                any float: its bytes in hexadecimal capitals, the highest first

    Decimals are for readers. Write one only if it has the form of `DECIMAL`, from end to end, and is exact: reading it
    in the number's own dtype gives the number back. That holds for 0.1, and not for 1/3.
    """
    dtype = x.dtype
    if dtype == np.bool_:
        return "true" if x else "false"
    if dtype == dtypes.float0:
        return "false"  # a float0 is stored as a bool
    if dtypes.issubdtype(dtype, np.complexfloating):
        return f"({scalar_text(x.real)}, {scalar_text(x.imag)})"
    if dtypes.issubdtype(dtype, np.integer):
        return str(int(x))
    decimal = f"{float(x):.6e}"
    if DECIMAL.fullmatch(decimal) and dtype.type(float(decimal)) == x:
        return decimal
    # the bit pattern: exact, and the only way to write nan and inf
    return f"0x{np.asarray(x).tobytes()[::-1].hex().upper()}"


def dense(value: np.ndarray[Any, Any]) -> str:
    """Return the elements of an array as a `dense<...>` attribute. MLIR reads four forms of it; write the first one that
    fits:

        dense<>                     no elements
        dense<1.000000e+00>         a scalar, or less than 1024 elements of the same bits (`all_same`)
        dense<[[1, 2], [3, 4]]>     up to 64 elements, or bools: row by row (`nested_text`)
        dense<"0x0100...">          more: the bytes in row-major order, in hexadecimal capitals

    Arrays of 1024 elements or more need not be searched for equal elements. An integer of 2 or 4 bits, which numpy
    stores one to a byte, is written as an int8.
    """
    if value.dtype.name in ("int2", "int4", "uint2", "uint4"):
        value = value.astype(np.int8)
    if value.ndim == 0 or (value.size > 0 and value.size < 1024 and all_same(value)):
        return f"dense<{scalar_text(value.reshape(-1)[0])}>"
    if value.size == 0:
        return "dense<>"
    if value.size <= 64 or value.dtype == np.bool_:
        return f"dense<{nested_text(value)}>"
    return f'dense<"0x{np.ascontiguousarray(value).tobytes().hex().upper()}">'


# --- 04.2 Operands ------------------------------------------------------------------------------------------
# Implicit broadcasting is convenient for people and a burden for compilers: every pass would have to handle
# it. So StableHLO has none, and lowering writes down what numpy's rules mean. Nothing is lost: XLA fuses a
# broadcast into what reads it, so that the copies never exist.
#
# Usual mistakes:
#   - Making the constant in Python's dtype: float64 beside a float16 array.
#   - Remembering constants by value: -0.0 is found where 0.0 was written, and 2 where 2.0 was.
#   - Remembering them for the whole function: a value that was defined in a branch does not exist after it.
#
# In JAX: jax/_src/interpreters/mlir.py:multi_broadcast_in_dim


class LoweringContext:
    def read(self, atom: Var | Literal, env: dict[Var, str]) -> str:
        """Return the name of an atom's value: for a variable, its name in `env`; for a literal, the name of a constant of
        its type (`splat`).
        """
        if isinstance(atom, Literal):
            return self.splat(atom.val, atom.aval)
        return env[atom]

    def read_spread(self, atom: Var | Literal, env: dict[Var, str], shape: tuple[int, ...]) -> str:
        """Return the name of an atom's value, broadcast to `shape` if it has another shape: a scalar, or size 1 where `shape` has more.
        Write a literal as a constant of `shape`, and for a variable a line that broadcasts it.
        """
        if atom.aval.shape == shape:
            return self.read(atom, env)
        if isinstance(atom, Literal):
            return self.splat(atom.val, with_shape(atom.aval, shape))
        return self.broadcast_in_dim(env[atom], atom.aval, shape, range(atom.aval.ndim))

    def splat(self, value: Any, aval: Any) -> str:
        """Write an array of the aval's type, filled with one scalar; return its name.

        Write it once per block: `_constants` has the names of the constants known here, and of scalars under `(bytes
        of the scalar, aval)`.
        """
        scalar = np.asarray(value, aval.dtype)[()]
        key = (scalar.tobytes(), aval)  # by bits: 0.0 and -0.0 are two constants
        name = self._constants.get(key)
        if name is None:
            name = self._constants[key] = self.emit_constant(f"dense<{scalar_text(scalar)}>", type_of(aval))
        return name


# --- 04.3 Equation by equation ------------------------------------------------------------------------------
# This is an interpreter again, whose values are names. Front ends of compilers work like this: they walk the
# program in order, and do for each equation what its primitive says. The rules stand beside their primitives,
# so a new operation needs nothing here. Every line is written together with the equation that it came from,
# so an error of XLA, or a profile, can name the line of Python.
#
# Usual mistakes:
#   - Telling from the number of results whether the rule returns a list: a sort of one array has one result,
#     and its rule returns a list.
#   - Leaving `avals_in` as the jaxpr has it: then a comparison says that it takes a scalar, but it gets an
#     array.
#   - Taking outputs for variables: some are literals.
#
# In JAX: jax/_src/interpreters/mlir.py:jaxpr_subcomp


class LoweringContext:
    def lower_equation(self, eqn: JaxprEqn, env: dict[Var, str]) -> None:
        """Call the rule of an equation on the names of its operands, and enter the names of its results in `env`.

        While the rule runs, `primitive`, `avals_in` and `avals_out` are the equation's, and so is the `origin` of
        lines, `(self.name_stack, eqn)`; except while `_inlining`, when lines belong to the enclosing equation. First
        bring operands of a `rank_polymorphic` primitive to the shape of the result, also in `avals_in`.

        Raises:
          NotImplementedError: the primitive has no rule. The message has its name.
        """
        primitive, invars, outvars = eqn.primitive, eqn.invars, eqn.outvars
        rule = lowering_rules.get(primitive)
        if rule is None:
            raise NotImplementedError(f"primitive {primitive} has no lowering to StableHLO")
        self.primitive = primitive
        if not self._inlining:
            self.origin = (self.name_stack, eqn)
        self.avals_out = [var.aval for var in outvars]
        self.avals_in = avals_in = []
        names = []
        shape = outvars[0].aval.shape if primitive in rank_polymorphic else None
        for atom in invars:
            aval = atom.aval
            if shape is None or aval.shape == shape:
                names.append(env[atom] if type(atom) is Var else self.read(atom, env))
                avals_in.append(aval)
            else:
                names.append(self.read_spread(atom, env, shape))
                avals_in.append(with_shape(aval, shape))
        out = rule(self, *names, **eqn.params)
        if primitive.multiple_results:
            env.update(zip(outvars, out, strict=True))
        else:
            env[outvars[0]] = out

    def lower_jaxpr(self, jaxpr: Jaxpr, args: Sequence[str]) -> list[str]:
        """Write the equations of a jaxpr here, one after the other; return the names of its results.

        `args` are the names of the values that its invars have. Its constants become names by `array_constant`. An output
        may be a literal, or an argument.
        """
        env: dict[Var, str] = dict(zip(jaxpr.invars, args, strict=True))
        for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=True):
            env[var] = self.array_constant(value, var.aval)
        for eqn in jaxpr.eqns:
            self.lower_equation(eqn, env)
        return [self.read(atom, env) for atom in jaxpr.outvars]


# --- 04.4 A matrix product ----------------------------------------------------------------------------------
# One operation covers vectors, matrices, batches and every einsum, and so does one line of StableHLO. The
# types are written out because nothing is implied: a sum may be wider than what is summed, which is what
# makes int8 and bfloat16 products useful.
#
# Usual mistakes:
#   - Forgetting the conversion back: the product is then of another type than the equation says.
#   - Leaving out `batching_dims` when there are batch axes: they then count as axes that both operands keep,
#     and the result's type does not fit.
#
# In JAX: jax/_src/lax/lax.py:_dot_general_lower


def lower_dot_general(
    ctx: LoweringContext,
    lhs: str,
    rhs: str,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: CanonicalPrecision,
    preferred_element_type: Any,
) -> str:
    """Write one `stablehlo.dot_general`; return the name of the product. `lhs` and `rhs` are names of values of the
    types `ctx.avals_in`; the product must have the type `ctx.avals_out[0]`, which includes `preferred_element_type`.

        stablehlo.dot_general %0, %1, batching_dims = [0] x [0],
            contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT]

    Write all of it in one line; `ctx.emit_op` appends the types of operands and result. Leave out `batching_dims` where there
    are none; `precision_pair` gives the words of `precision`. The machine may multiply and sum in other dtypes, which
    `dtypes_computed_with` gives: convert the operands before, and the sum after. It also gives the text of an algorithm (often
    ""), which stands directly after the precision.
    """
    lhs_aval, rhs_aval = ctx.avals_in
    [out] = ctx.avals_out
    lhs_dtype, rhs_dtype, sum_dtype, algorithm = dtypes_computed_with(
        ctx.module.platform, lhs_aval.dtype, rhs_aval.dtype, out.dtype, precision
    )
    lhs, rhs = ctx.convert(lhs, lhs_aval, lhs_dtype), ctx.convert(rhs, rhs_aval, rhs_dtype)
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    batching = f", batching_dims = {list(lhs_batch)} x {list(rhs_batch)}" if lhs_batch else ""
    precisions = ", ".join([chosen.name for chosen in precision_pair(precision)])
    text = (
        f"stablehlo.dot_general {lhs}, {rhs}{batching}, "
        f"contracting_dims = {list(lhs_contract)} x {list(rhs_contract)}, "
        f"precision = [{precisions}]{algorithm}"
    )
    summed = with_dtype(out, sum_dtype)
    result = ctx.emit_op(text, [with_dtype(lhs_aval, lhs_dtype), with_dtype(rhs_aval, rhs_dtype)], summed)
    return ctx.convert(result, summed, out.dtype)


# --- 04.5 A reduction with its region -----------------------------------------------------------------------
# In StableHLO a reduction carries its function as a region, and `cond`, `while` and `sort` do the same.
# Because XLA may fold in any order, it is fast; for the same reason the function has to be associative, and
# sums of floats differ in the last bits from machine to machine.
#
# Usual mistakes:
#   - 0 as the beginning of a maximum: right for positive numbers.
#   - `np.array(-np.inf).astype('int8')`: numpy gives some number, or an error.
#   - Giving the arguments of the region the types of the arrays: they are scalars.
#
# In JAX: jax/_src/lax/lax.py:_unary_reduce_lower


def max_identity(dtype: Any) -> np.ndarray[Any, Any]:
    """Return the neutral element of `max`, an array without axes: the least value of the dtype. That is -inf, or the
    lowest finite value where there is no infinity (`dtypes.supports_inf`); the least integer; False for bools.
    """
    if dtypes.issubdtype(dtype, np.inexact):
        return np.array(-np.inf if dtypes.supports_inf(dtype) else dtypes.finfo(dtype).min, dtype)
    return np.array(dtypes.iinfo(dtype).min if dtypes.issubdtype(dtype, np.integer) else False, dtype)


def emit_reduce(
    ctx: LoweringContext,
    operands: Sequence[str],
    inits: Sequence[str],
    axes: Sequence[int],
    avals_out: Sequence[ShapedArray],
    reducer: Callable[..., Sequence[str]],
) -> list[str]:
    """Write `"stablehlo.reduce"`, which folds one or several arrays of one shape together, along `axes`; return the
    names of the results.

        %4:2 = "stablehlo.reduce"(%2, %3, %0, %1) <{dimensions = array<i64: 1>}> ({region}) : (...) -> (...)

    Args:
      operands: names of the arrays, whose types are the first of `ctx.avals_in`.
      inits: names of as many scalars, of the operands' dtypes: the neutral elements, which XLA may fold in any
        number of times.
      axes: the axes to fold. The results do not have them.
      avals_out: the types of the results.
      reducer: `reducer(*accumulated, *elements)` writes how two scalars become one, for each of the arrays, and
        returns the names. It is called while the region is written (`emit_regions`), on the names of the region's
        arguments.
    """
    scalars = [aval.update(shape=()) for aval in avals_out]
    types_in = [type_of(aval) for aval in (*ctx.avals_in[: len(operands)], *scalars)]
    types_out = [type_of(aval) for aval in avals_out]
    return ctx.emit_regions(
        f'"stablehlo.reduce"({", ".join([*operands, *inits])}) <{{dimensions = {integer_array(axes)}}}>',
        [([*scalars, *scalars], lambda *args: list(zip(reducer(*args), scalars, strict=True)))],
        f"({', '.join(types_in)}) -> ({', '.join(types_out)})",
        len(operands),
    )


# --- 04.6 Functions that call functions ---------------------------------------------------------------------
# If a function that is called a hundred times is written once, the text is much shorter, and is parsed in
# less time. XLA can inline calls later, so the program is not slower. A name alone identifies nothing: two
# lambdas are both called `<lambda>`. So the jaxpr belongs to the key; and if the module has a function of
# this name already, the new one gets a number behind its name.
#
# Usual mistakes:
#   - Remembering the function by its name.
#   - Writing the jaxpr in place at each call: correct, and long.
#   - Passing the constants under the callee's names: in the calling function they have other names.
#
# In JAX: jax/_src/interpreters/mlir.py:lower_jaxpr_to_fun


def lower_function(module: Module, name: str, jaxpr: Jaxpr, name_stack: str) -> Function:
    """Write a jaxpr as a private function of the module, add it to the module's `functions`, and return it.

    Its name is `name`, with a suffix if that is taken (`Module.symbol`). Its `arguments` are `%arg0: type` and so on, and its `results`
    the types of what it returns. Pass the jaxpr's `ordered_effects` to `Function`: it adds a token for each, in front of the arguments and
    in front of the results, so you write neither. `name_stack` goes to the `LoweringContext` in which the body is written.
    """
    function = Function(module, module.symbol(name), "private", ordered_effects(jaxpr.effects))
    names = [f"%arg{i}" for i in range(len(jaxpr.invars))]
    function.arguments = [f"{n}: {type_of(v.aval)}" for n, v in zip(names, jaxpr.invars, strict=True)]
    function.results = [type_of(aval) for aval in jaxpr.out_avals]
    write_body(LoweringContext(function, name_stack), jaxpr, names)
    module.functions.append(function)
    return function


class LoweringContext:
    def call_jaxpr(self, name: str, jaxpr: Jaxpr, args: Sequence[str]) -> list[str]:
        """Call a jaxpr as a private function of the module; return the names of its results.

        The function is written the first time (`lower_function`, with an empty name stack) and kept in
        the module's `function_of_jaxpr` under `(name, jaxpr)`, for all later calls. The call passes, in this order: the
        latest token of each effect in the called function's `ordered`, the large constants in its `hoisted`, and `args`.
        Such a constant is also an argument of the function that calls: `self.function.take_hoisted(key, type)` returns
        its name there. The results begin with a new token for each effect, which `take_tokens` removes and keeps.
        """
        function = self.module.function_of_jaxpr.get((name, jaxpr))
        if function is None:
            function = lower_function(self.module, name, jaxpr, "")
            self.module.function_of_jaxpr[name, jaxpr] = function
        tokens = [self.tokens[effect] for effect in function.ordered]
        hoisted = function.hoisted.items()
        consts = [self.function.take_hoisted(key, kind) for key, (_, kind) in hoisted]
        names = self.emit_call(function, [*tokens, *consts, *args], jaxpr.in_avals)
        return self.take_tokens(function.ordered, names)


# --- 04.7 Compile -------------------------------------------------------------------------------------------
# Seen from Python, compiling is simple: a text goes in, and something that can be called on buffers comes
# out. It takes XLA much longer than tracing and lowering take together. So the next lab is all about doing it
# once.
#
# Usual mistakes:
#   - Looking an executable up by the text that has the lines of Python: then an empty line at the top of a
#     file compiles everything anew.
#   - Storing an executable that was just loaded from the cache: it is there already.
#   - Giving XLA the text without the lines of Python: its errors then name no line.
#
# In JAX: jax/_src/compiler.py:compile_or_get_cached


def compile_program(program: Program, placement: Placement) -> Executable:
    """Return the executable of a traced program: lower it (`lower_program`) for the platform of its placement, and compile
    it for the placement's devices with the program's own options (`build_executable`).

    If no argument is committed to a device, the text must not mention devices: lower without a placement.
    """
    if program.backend is not None:
        return _by_loops(program, placement, program.options)
    module, kept = lower_program(program, placement.platform, placement if placement.committed else None)
    return build_executable(program, module, kept, placement, program.options)


def load_or_compile(module: Module, owners: Sequence[runtime.Device], options: CompilerOptions) -> Any:
    """Turn StableHLO text into machine code: load it from the disk cache, or else call `runtime.compile_text`.

    If the cache is `enabled`, call `load` first, which returns None if the program is not there; then compile, and call
    `store`. The cache's key is `module.text()`, which does not depend on where the function is in its file. XLA compiles
    `module.text(debug_info=True)`, in which each line names its line of Python. If the cache is not enabled, do not call
    `module.text()`: writing a text takes time.
    """
    known_by = module.text() if disk_cache.enabled() else ""
    loaded = disk_cache.load(known_by, owners, options) if known_by else None
    if loaded is None:
        loaded = runtime.compile_text(module.text(debug_info=True), owners, options)
        if known_by:
            disk_cache.store(known_by, owners, options, loaded)
    return loaded
