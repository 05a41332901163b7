"""04 Lowering: the exercises. README.md beside this file tells what they are about.

Write the functions. `jitkit` checks each one when you save; `jitkit hint 04.1` helps, one
step further each time. You may add helpers and imports: functions, classes, constants. Other
statements at the top are not run. The parameters stay as they are: other code calls these
functions. A class has only those methods that are yours to write; the others are the
reference's.
"""

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


# --- 04.1 Types and constants (3 points) --------------------------------------------------------------------
# XLA reads text. Write down the type of an array, a single number, and all the numbers of an array, so that
# XLA reads exactly the numbers that you had.


def tensor_type(shape: Sequence[int], dtype: Any) -> str:
    """Return the MLIR type of an array: `tensor<3x4xf32>`, and of a scalar `tensor<f32>`."""
    raise NotImplementedError("04.1")


def scalar_text(x: Any) -> str:
    """Return the text of one number, a numpy scalar, such that MLIR reads exactly that number:

        true, false               a bool; false also for a float0, which is stored as one
        -12                       an integer
        (1.000000e+00, 0x...)     a complex number: its parts
        1.500000e+00              a float, with six digits after the point
        0x3EAAAAAB                any float: its bytes in hexadecimal capitals, the highest first

    Decimals are for readers. Write one only if it has the form of `DECIMAL`, from end to end, and
    is exact: reading it in the number's own dtype gives the number back. That holds for 0.1, and
    not for 1/3.
    """
    raise NotImplementedError("04.1")


def dense(value: np.ndarray[Any, Any]) -> str:
    """Return the elements of an array as a `dense<...>` attribute. MLIR reads four forms of it;
    write the first one that fits:

        dense<>                     no elements
        dense<1.000000e+00>         a scalar, or less than 1024 elements of the same bits (`all_same`)
        dense<[[1, 2], [3, 4]]>     up to 64 elements, or bools: row by row (`nested_text`)
        dense<"0x0100...">          more: the bytes in row-major order, in hexadecimal capitals

    Arrays of 1024 elements or more need not be searched for equal elements. An integer of 2 or 4
    bits, which numpy stores one to a byte, is written as an int8.
    """
    raise NotImplementedError("04.1")


# --- 04.2 Operands (2 points) -------------------------------------------------------------------------------
# An operand is a variable or a literal. Return the name under which it stands in the text, with the shape
# that the operation needs: StableHLO broadcasts nothing, so write a line that does.


class LoweringContext:
    def read(self, atom: Var | Literal, env: dict[Var, str]) -> str:
        """Return the name of an atom's value: for a variable, its name in `env`; for a literal, the
        name of a constant of its type (`splat`).
        """
        raise NotImplementedError("04.2")

    def read_spread(self, atom: Var | Literal, env: dict[Var, str], shape: tuple[int, ...]) -> str:
        """Return the name of an atom's value, broadcast to `shape` if it has another shape: a
        scalar, or size 1 where `shape` has more. Write a literal as a constant of `shape`, and for
        a variable a line that broadcasts it.
        """
        raise NotImplementedError("04.2")

    def splat(self, value: Any, aval: Any) -> str:
        """Write an array of the aval's type, filled with one scalar; return its name.

        Write it once per block: `_constants` has the names of the constants known here, and of
        scalars under `(bytes of the scalar, aval)`.
        """
        raise NotImplementedError("04.2")


# --- 04.3 Equation by equation (3 points) -------------------------------------------------------------------
# The heart of the stage: go through a jaxpr, call the rule of each equation, and keep the names of the
# results.


class LoweringContext:
    def lower_equation(self, eqn: JaxprEqn, env: dict[Var, str]) -> None:
        """Call the rule of an equation on the names of its operands, and enter the names of its
        results in `env`.

        While the rule runs, `primitive`, `avals_in` and `avals_out` are the equation's, and so is
        the `origin` of lines, `(self.name_stack, eqn)`; except while `_inlining`, when lines belong
        to the enclosing equation. First bring operands of a `rank_polymorphic` primitive to the
        shape of the result, also in `avals_in`.

        Raises:
          NotImplementedError: the primitive has no rule. The message has its name.
        """
        raise NotImplementedError("04.3")

    def lower_jaxpr(self, jaxpr: Jaxpr, args: Sequence[str]) -> list[str]:
        """Write the equations of a jaxpr here, one after the other; return the names of its
        results.

        `args` are the names of the values that its invars have. Its constants become names by
        `array_constant`. An output may be a literal, or an argument.
        """
        raise NotImplementedError("04.3")


# --- 04.4 A matrix product (2 points) -----------------------------------------------------------------------
# Write the rule of `dot_general`, the operation behind every matrix product: which axes are paired, in which
# dtypes it is computed, and how precisely.


def lower_dot_general(
    ctx: LoweringContext,
    lhs: str,
    rhs: str,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: CanonicalPrecision,
    preferred_element_type: Any,
) -> str:
    """Write one `stablehlo.dot_general`; return the name of the product. `lhs` and `rhs` are names
    of values of the types `ctx.avals_in`; the product must have the type `ctx.avals_out[0]`, which
    includes `preferred_element_type`.

        stablehlo.dot_general %0, %1, batching_dims = [0] x [0],
            contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT]

    Write all of it in one line; `ctx.emit_op` appends the types of operands and result. Leave out
    `batching_dims` where there are none; `precision_pair` gives the words of `precision`. The
    machine may multiply and sum in other dtypes, which `dtypes_computed_with` gives: convert the
    operands before, and the sum after. It also gives the text of an algorithm (often ""), which
    stands directly after the precision.
    """
    raise NotImplementedError("04.4")


# --- 04.5 A reduction with its region (3 points) ------------------------------------------------------------
# A reduction contains a little program: how two numbers become one. Write the operation with this region, and
# say what a maximum begins with.


def max_identity(dtype: Any) -> np.ndarray[Any, Any]:
    """Return the neutral element of `max`, an array without axes: the least value of the dtype.
    That is -inf, or the lowest finite value where there is no infinity (`dtypes.supports_inf`); the
    least integer; False for bools.
    """
    raise NotImplementedError("04.5")


def emit_reduce(
    ctx: LoweringContext,
    operands: Sequence[str],
    inits: Sequence[str],
    axes: Sequence[int],
    avals_out: Sequence[ShapedArray],
    reducer: Callable[..., Sequence[str]],
) -> list[str]:
    """Write `"stablehlo.reduce"`, which folds one or several arrays of one shape together, along
    `axes`; return the names of the results.

        %4:2 = "stablehlo.reduce"(%2, %3, %0, %1) <{dimensions = array<i64: 1>}> ({region}) : (...) -> (...)

    Args:
      operands: names of the arrays, whose types are the first of `ctx.avals_in`.
      inits: names of as many scalars, of the operands' dtypes: the neutral elements, which XLA may
        fold in any number of times.
      axes: the axes to fold. The results do not have them.
      avals_out: the types of the results.
      reducer: `reducer(*accumulated, *elements)` writes how two scalars become one, for each of the
        arrays, and returns the names. It is called while the region is written (`emit_regions`), on
        the names of the region's arguments.
    """
    raise NotImplementedError("04.5")


# --- 04.6 Functions that call functions (3 points) ----------------------------------------------------------
# A `jit` inside of a `jit` is an equation with a program. Write the program once, as a function of the
# module, and call it wherever it occurs.


def lower_function(module: Module, name: str, jaxpr: Jaxpr, name_stack: str) -> Function:
    """Write a jaxpr as a private function of the module, add it to the module's `functions`, and
    return it.

    Its name is `name`, with a suffix if that is taken (`Module.symbol`). Its `arguments` are
    `%arg0: type` and so on, and its `results` the types of what it returns. Pass the jaxpr's
    `ordered_effects` to `Function`: it adds a token for each, in front of the arguments and in
    front of the results, so you write neither. `name_stack` goes to the `LoweringContext` in which
    the body is written.
    """
    raise NotImplementedError("04.6")


class LoweringContext:
    def call_jaxpr(self, name: str, jaxpr: Jaxpr, args: Sequence[str]) -> list[str]:
        """Call a jaxpr as a private function of the module; return the names of its results.

        The function is written the first time (`lower_function`, with an empty name stack) and kept
        in the module's `function_of_jaxpr` under `(name, jaxpr)`, for all later calls. The call
        passes, in this order: the latest token of each effect in the called function's `ordered`,
        the large constants in its `hoisted`, and `args`. Such a constant is also an argument of the
        function that calls: `self.function.take_hoisted(key, type)` returns its name there. The
        results begin with a new token for each effect, which `take_tokens` removes and keeps.
        """
        raise NotImplementedError("04.6")


# --- 04.7 Compile (2 points) --------------------------------------------------------------------------------
# In the next stage StableHLO becomes an executable. XLA compiles it, which takes long; so look first whether
# that was done before, perhaps by another process. A program whose `backend` is "c" is not for XLA:
# `_by_loops(program, placement, program.options)` compiles it, without lowering.


def compile_program(program: Program, placement: Placement) -> Executable:
    """Return the executable of a traced program: lower it (`lower_program`) for the platform of its
    placement, and compile it for the placement's devices with the program's own options
    (`build_executable`).

    If no argument is committed to a device, the text must not mention devices: lower without a
    placement.
    """
    raise NotImplementedError("04.7")


def load_or_compile(
    module: Module, owners: Sequence[runtime.Device], options: CompilerOptions
) -> Any:
    """Turn StableHLO text into machine code: load it from the disk cache, or else call
    `runtime.compile_text`.

    If the cache is `enabled`, call `load` first, which returns None if the program is not there;
    then compile, and call `store`. The cache's key is `module.text()`, which does not depend on
    where the function is in its file. XLA compiles `module.text(debug_info=True)`, in which each
    line names its line of Python. If the cache is not enabled, do not call `module.text()`: writing
    a text takes time.
    """
    raise NotImplementedError("04.7")
