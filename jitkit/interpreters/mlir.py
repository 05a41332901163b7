"""Jaxpr -> StableHLO

Lowering turns each equation into one or a few lines of StableHLO text. A rule is registered next to its primitive
(`mlir_rules`) and looks like this:

    @register_lowering(sin_p)
    def _(ctx, x):
        return ctx.emit("stablehlo.sine", [x])

`x` is the name of an SSA value (`%3`, `%arg0`); `ctx.avals_in` and `ctx.avals_out` are the types; `emit` writes the
line and returns the name of the result. XLA parses text, too, and writing it costs a fifth of building MLIR objects.

What is worth knowing:
- StableHLO broadcasts nothing by itself. Primitives listed in `rank_polymorphic` accept scalars beside arrays in a jaxpr; their operands
  are brought to one shape here, before the rule sees them (a literal is written as a constant of that shape right away).
- A nested `jit` becomes a private function, which is written once for each jaxpr and called wherever the jaxpr occurs.
- Constants above `HOISTED_BYTES` do not appear in the text: each becomes one more argument of the functions that need it, up to `main`.
- Each ordered effect of a function is a token that it takes before its arguments and returns before its results;
  `LoweringContext.tokens` has the latest one of each, at the place that is being written.
- Every line knows the Python line that it came from; `text(debug_info=True)`, the profiler and the HLO show it.

JAX: jax/_src/interpreters/mlir.py:lower_jaxpr_to_module
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import core
from ..base import missing_names
from ..core import Primitive
from ..core.effects import Effect, ordered_effects
from ..jaxpr import Jaxpr, JaxprEqn, Literal, Var
from .library_rules import lower_fun
from .mlir_module import FIRST_DEVICE, Function, Module, Origin, joined
from .mlir_rules import LoweringRule, lowering_rule, lowering_rules, rank_polymorphic, register_lowering
from .mlir_text import dense, element_type, scalar_text, symbol_text, tensor_type, to_numpy, type_of

__all__ = [
    "FIRST_DEVICE", "HOISTED_BYTES", "Function", "LoweringContext", "LoweringRule", "LoweringRuleContext", "Module", "element_type",
    "lower_fun", "lower_function", "lowering_rule", "lowering_rules", "rank_polymorphic", "register_lowering", "tensor_type", "to_numpy",
    "type_of",
]  # fmt: skip

# A constant up to this size is part of the text, where XLA may fold it; a larger one becomes an argument.
HOISTED_BYTES = 1 << 14


# --- lowering equations -------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def with_shape(aval: Any, shape: tuple[int, ...]) -> Any:
    """Return the aval with another shape."""
    return aval.update(shape=shape)


@functools.lru_cache(maxsize=4096)
def with_dtype(aval: Any, dtype: Any) -> Any:
    """Return the aval with another dtype."""
    return aval.update(dtype=dtype)


class LoweringContext:
    """What a lowering rule gets: the avals of its equation, and methods that write lines."""

    def __init__(self, function: Function, name_stack: str) -> None:
        self.function = function  # the function being written
        self.module = function.module  # its module, with all functions
        self.name_stack = name_stack  # the functions and scopes around the equation, as text
        self.avals_in: Sequence[Any] = ()  # the avals of the equation's operands
        self.avals_out: Sequence[Any] = ()  # the avals of the equation's results
        self.primitive: Primitive | None = None  # the equation's primitive
        self.origin: Origin | None = None  # the equation's origin, for `loc`
        # the name of the latest token of each ordered effect
        self.tokens = {effect: f"%token{i}" for i, effect in enumerate(function.ordered)}
        self._constants: dict[Any, str] = {}  # names of constants already written
        self._inlining = False  # whether the origin of a line is the enclosing equation, not the line's own

    # writing

    def emit(
        self, op: str, operands: Sequence[str], attributes: str = "", out: Any = None, signature: bool = False
    ) -> str:
        """Write `%n = op operands attributes : types` and return `%n`. The result has the type `out`, by default the
        equation's.

        `types` is the result's type alone, or with `signature=True` `(ins) -> out`, with the types of the equation's
        operands.
        """
        types = type_of(self.avals_out[0] if out is None else out)
        if signature:
            types = f"({', '.join(map(type_of, self.avals_in))}) -> {types}"
        return self.function.define(f"{op} {', '.join(operands)}{attributes} : {types}", self.origin)

    def emit_text(self, text: str, results: int = 1) -> str:
        """Write `%n = text` and return `%n`. With several results (`%n:2 = text`), the i-th is `%n#i`."""
        return self.function.define(text, self.origin, results)

    def emit_op(self, text: str, operand_avals: Sequence[Any], out: Any) -> str:
        """Write `%n = text : (types of operand_avals) -> type of out`, and return `%n`. `text` has the operands and attributes."""
        types = f"({', '.join(map(type_of, operand_avals))}) -> {type_of(out)}"
        return self.function.define(f"{text} : {types}", self.origin)

    def write(self, line: str) -> None:
        """Write a line that has no result, such as a `return` or a brace."""
        self.function.write(line, None)

    def emit_regions(
        self,
        head: str,
        regions: Sequence[tuple[Sequence[Any], Callable[..., Sequence[tuple[str, Any]]]]],
        signature: str,
        results: int,
    ) -> list[str]:
        """Write an operation with regions, in MLIR's generic form: `%n:k = "op"(...) <{...}> ({region},
        {region}) : signature`.

        `head` is everything up to the regions. Each region is `(avals of its block arguments, body)`; `body(*names)`
        writes lines and returns pairs `(name, aval)` to yield. Values from outside may be used inside. Returns the
        names of the results.
        """
        name = self.function.fresh()
        function = self.function
        lead = f"{name}{f':{results}' if results != 1 else ''} = " if results else ""
        function.write(f"{lead}{head} ({{", None)
        for i, (avals, body) in enumerate(regions):
            if i:
                function.write("}, {", None)
            names = [function.fresh().replace("%", "%r") for _ in avals]
            if avals:
                function.write(
                    f"^bb0({', '.join(f'{n}: {type_of(a)}' for n, a in zip(names, avals, strict=True))}):", None
                )
            with self.indented():
                yields = body(*names)
                types = ", ".join(type_of(aval) for _, aval in yields)
                values = ", ".join(value for value, _ in yields)
                function.write(f"stablehlo.return {values} : {types}" if yields else "stablehlo.return", None)
        function.write(f"}}) : {signature}", self.origin)
        return [name] if results == 1 else [f"{name}#{i}" for i in range(results)]

    @contextlib.contextmanager
    def indented(self) -> Iterator[None]:
        """Indent the lines of the block; constants made in it are not used after it."""
        function = self.function
        before, known = function.indent, dict(self._constants)
        function.indent += "  "
        try:
            yield
        finally:
            function.indent = before
            self._constants = known

    # values

    def constant(self, value: Any, dtype: Any = None) -> str:
        """Write a constant, a scalar or numpy array, of its own dtype or `dtype`; return its name."""
        array = np.asarray(value) if dtype is None else np.asarray(value, dtype)
        return self.emit_constant(dense(array), tensor_type(array.shape, array.dtype))

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

    def emit_constant(self, text: str, type_text: str) -> str:
        """Return the name of a constant with this text and type. Write `%cst = stablehlo.constant text : type_text` if
        the block has no such line yet.
        """
        key = (text, type_text)
        if key not in self._constants:
            name = self.function.fresh_constant(type_text)
            # If XLA merges a constant into an operation, the operation gets the constant's source line: so give it the
            # line of the equation that reads it.
            self.function.write(f"{name} = stablehlo.constant {text} : {type_text}", self.origin)
            self._constants[key] = name
        return self._constants[key]

    def broadcast_in_dim(self, x: str, aval: Any, shape: Sequence[int], dims: Sequence[int]) -> str:
        """Write a broadcast and return its name, or x if it has the shape. Axis i of x becomes axis `dims[i]` of the result; the
        other axes are new.
        """
        shape = tuple(shape)
        if aval.shape == shape:
            return x
        out = core.physical_aval(with_shape(aval, shape))
        dims = [*dims, *range(len(shape), out.ndim)]  # the axes of an extended dtype's element stay last
        return self.emit_text(
            f"stablehlo.broadcast_in_dim {x}, dims = [{', '.join(map(str, dims))}] : "
            f"({type_of(aval)}) -> {type_of(out)}"
        )

    def convert(self, x: str, aval: Any, dtype: Any) -> str:
        """Write the conversion of x to a dtype; return its name, or x if it has this dtype."""
        if aval.dtype is dtype or aval.dtype == np.dtype(dtype):
            return x
        return self.emit_op(f"stablehlo.convert {x}", [aval], with_dtype(aval, dtype))

    def reshape(self, x: str, aval: Any, shape: Sequence[int]) -> str:
        """Write a reshape, in row-major order; return its name, or x if it has this shape."""
        shape = tuple(shape)
        if aval.shape == shape:
            return x
        return self.emit_op(f"stablehlo.reshape {x}", [aval], with_shape(aval, shape))

    # equations

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

    def inline(self, jaxpr: Jaxpr, args: Sequence[str]) -> list[str]:
        """Write a jaxpr that is part of a rule, such as a region's body; return the names of its results. Its lines
        belong to the rule's own equation, whose avals are restored afterwards.
        """
        before = self.primitive, self.avals_in, self.avals_out, self.origin, self._inlining
        self._inlining = True
        try:
            return self.lower_jaxpr(jaxpr, args)
        finally:
            self.primitive, self.avals_in, self.avals_out, self.origin, self._inlining = before

    def lower_region(
        self, jaxpr: Jaxpr, args: Sequence[str], scope: str = "", own_lines: bool | None = None
    ) -> list[str]:
        """Write the jaxpr of a user's function, such as a loop's body; return the names of its results. With
        `own_lines`, each line has the source of its own equation; with False, of the rule's equation; None keeps the
        enclosing setting. `scope` goes into the names of the lines. The context is restored afterwards.
        """
        before = self.primitive, self.avals_in, self.avals_out, self.origin, self._inlining, self.name_stack
        # with the equation's scopes, unless an enclosing region has added them
        is_next = self.origin is not None and self.origin[0] == self.name_stack
        self.name_stack = joined(self.name_stack, self.origin[1] if self.origin and is_next else None, scope)
        if own_lines is not None:
            self._inlining = not own_lines
        try:
            return self.lower_jaxpr(jaxpr, args)
        finally:
            self.primitive, self.avals_in, self.avals_out, self.origin, self._inlining, self.name_stack = before

    def array_constant(self, value: Any, aval: Any) -> str:
        """Return the name of a captured array: a small one is written into the text, a large one becomes an argument of
        the function. For a captured token, make a new one, for which the program does not wait. Raise TypeError for a
        `ShapeDtypeStruct`, which has no value.
        """
        if aval is core.abstract_token:
            return self.emit_text("stablehlo.create_token : !stablehlo.token")
        if type(value) in core.aval_without_value:
            raise TypeError(
                f"A {type(value).__name__} does not have a value and cannot be used as a constant in a JAX function.\n"
                "It is good for `eval_shape` and `make_jaxpr`; to run the function, pass an array."
            )
        if aval.size * aval.dtype.itemsize > HOISTED_BYTES:
            return self.function.hoist(value, type_of(aval))
        return self.constant(to_numpy(value))

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

    def emit_call(self, function: Function, operands: Sequence[str], arg_avals: Sequence[Any]) -> list[str]:
        """Write `call @function(operands)` with its types; return the names of its results. `arg_avals` are the types
        of the arguments without tokens and constants.
        """
        types = function.call_types(arg_avals)
        text = f"call @{symbol_text(function.symbol)}({', '.join(operands)}) : {types}"
        results = len(function.ordered) + len(function.results)
        if not results:
            self.function.write(text, self.origin)
            return []
        called = self.emit_text(text, results)
        return [called] if results == 1 else [f"{called}#{i}" for i in range(results)]

    def take_tokens(self, ordered: Sequence[Effect], names: Sequence[str]) -> list[str]:
        """Store the first of these names, one for each ordered effect, as the latest tokens; return the other names."""
        if ordered:
            self.tokens.update(zip(ordered, names, strict=False))
        return list(names[len(ordered) :])


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


def write_body(ctx: LoweringContext, jaxpr: Jaxpr, names: Sequence[str]) -> None:
    """Write the lines between a function's braces, up to its `return`. `names` are the names of its arguments."""
    outs = ctx.lower_jaxpr(jaxpr, names)
    tokens = [ctx.tokens[effect] for effect in ctx.function.ordered]
    types = ["!stablehlo.token"] * len(tokens) + [type_of(aval) for aval in jaxpr.out_avals]
    ctx.write(f"return {', '.join([*tokens, *outs])} : {', '.join(types)}" if types else "return")


LoweringRuleContext = LoweringContext  # the name in JAX, for annotations of a library's rules
missing_names.explain("interpreters.mlir", sys.modules[__name__])
