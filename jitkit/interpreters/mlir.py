"""Jaxpr -> StableHLO

Lowering: each equation becomes one or a few lines of StableHLO text. A rule is registered next to its
primitive and looks like this:

    @register_lowering(sin_p)
    def _(ctx, x):
        return ctx.emit("stablehlo.sine", [x])

`x` is the name of an SSA value (`%3`, `%arg0`); `ctx.avals_in` and `ctx.avals_out` are the types; `emit`
writes the line and returns the name of the result. Text is also what XLA's parser takes, and writing it costs a
fifth of building MLIR objects.

What is worth knowing:
- StableHLO broadcasts nothing by itself. Primitives listed in `rank_polymorphic` accept scalars beside arrays
  in a jaxpr; their operands are brought to one shape here, before the rule sees them (a literal is written as
  a constant of that shape right away).
- A nested `jit` becomes a private function, written once a jaxpr and called wherever the jaxpr is.
- Constants above `HOISTED_BYTES` do not appear in the text: each becomes one more argument of the functions
that need it, up to `main`.
- Each ordered effect of a function is a token that it takes before its arguments and returns before its results;
`LoweringContext.tokens` has the latest one of each, at the place that is being written.
- Every line knows the Python line that it came from; `text(debug_info=True)` shows it as `loc(...)`, and so
do the profiler and the HLO.

JAX: jax/_src/interpreters/mlir.py:lower_jaxpr_to_module
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import core, dtypes
from ..core import Primitive, ShapedArray
from ..effects import Effect, ordered_effects
from ..jaxpr import Jaxpr, JaxprEqn, Literal, Var

HOISTED_BYTES = (
    1 << 14
)  # a constant up to this size is part of the text, where XLA may fold it; a larger one is passed in

FIRST_DEVICE = "maximal_mesh_0"  # the mesh, in a program for several devices, of what runs on one of them

LoweringRule = Callable[..., Any]
_rules: dict[Primitive, LoweringRule] = {}
rank_polymorphic: set[Primitive] = set()


def register_lowering(*primitives: Primitive) -> Callable[[LoweringRule], LoweringRule]:
    """Decorator: the rule that lowers these primitives. It is called as `rule(ctx, *operand_names,
    **params)`.

    It returns the name of the result, or a list of names when the primitive has `multiple_results`.
    """

    def register(rule: LoweringRule) -> LoweringRule:
        for primitive in primitives:
            _rules[primitive] = rule
        return rule

    return register


# --- types and constants ------------------------------------------------------------------------------------

_ELEMENT_TYPES = {
    "bool": "i1", "int2": "i2", "int4": "i4", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint2": "ui2", "uint4": "ui4", "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64",
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "complex64": "complex<f32>", "complex128": "complex<f64>",
    "float4_e2m1fn": "f4E2M1FN", "float8_e3m4": "f8E3M4", "float8_e4m3": "f8E4M3",
    "float8_e8m0fnu": "f8E8M0FNU", "float8_e4m3b11fnuz": "f8E4M3B11FNUZ", "float8_e4m3fn": "f8E4M3FN",
    "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2": "f8E5M2", "float8_e5m2fnuz": "f8E5M2FNUZ",
}  # fmt: skip
_WHOLE_NUMBERS = re.compile(r"[<x]u?i\d+>$")  # the type of a tensor of them
_type_of_aval: dict[Any, str] = {}


def element_type(dtype: Any) -> str:
    """`f32`, `i1`, `complex<f32>`: a dtype as MLIR writes it."""
    return _ELEMENT_TYPES[np.dtype(dtype).name]


def tensor_type(shape: Sequence[int], dtype: Any) -> str:
    """`tensor<3x4xf32>`."""
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element_type(dtype)}>"


def type_of(aval: Any) -> str:
    """The MLIR type of an aval: of an extended dtype, that of what it is stored as."""
    known = _type_of_aval.get(aval)
    if known is None:
        if aval is core.abstract_token:
            return "!stablehlo.token"
        if len(_type_of_aval) > 16384:  # random shapes must not fill the memory
            _type_of_aval.clear()
        physical = core.physical_aval(aval)
        known = _type_of_aval[aval] = tensor_type(physical.shape, physical.dtype)
    return known


def dense(value: np.ndarray[Any, Any]) -> str:
    """The elements of an array as a `dense<...>` attribute: readable where that is exact, bytes in hex where
    it is not.
    """
    if value.dtype.name in ("int2", "int4", "uint2", "uint4"):
        value = value.astype(np.int8)
    if value.ndim == 0 or (value.size > 0 and value.size < 1024 and _all_same(value)):
        return f"dense<{_scalar_text(value.reshape(-1)[0])}>"
    if value.size == 0:
        return "dense<>"
    if value.size <= 64 or value.dtype == np.bool_:
        return f"dense<{_nested_text(value)}>"
    return f'dense<"0x{np.ascontiguousarray(value).tobytes().hex().upper()}">'


def _all_same(value: np.ndarray[Any, Any]) -> bool:
    flat = np.ascontiguousarray(value).reshape(-1)
    width = flat.dtype.itemsize
    raw = flat.view(np.uint8).reshape(-1, width)
    return bool((raw == raw[0]).all())


def _nested_text(value: np.ndarray[Any, Any]) -> str:
    if value.ndim == 0:
        return _scalar_text(value[()])
    return f"[{', '.join(_nested_text(row) for row in value)}]"


_DECIMAL = re.compile(r"-?\d\.\d+e[+-]\d\d")


def _scalar_text(x: Any) -> str:
    dtype = x.dtype
    if dtype == np.bool_:
        return "true" if x else "false"
    if dtypes.issubdtype(dtype, np.complexfloating):
        return f"({_scalar_text(x.real)}, {_scalar_text(x.imag)})"
    if dtypes.issubdtype(dtype, np.integer):
        return str(int(x))
    decimal = f"{float(x):.6e}"
    if _DECIMAL.fullmatch(decimal) and dtype.type(float(decimal)) == x and (x != 0 or not np.signbit(x)):
        return decimal
    # the bit pattern: exact, and the only way to write nan and inf
    return f"0x{np.asarray(x).tobytes()[::-1].hex().upper()}"


@functools.lru_cache(maxsize=4096)
def _with_shape(aval: Any, shape: tuple[int, ...]) -> Any:
    return aval.update(shape=shape)


def to_numpy(x: Any) -> np.ndarray[Any, Any]:
    """A concrete value (Array, `jax.Array`, numpy, Python scalar) as a numpy array of its canonical dtype; one
    of an extended dtype as it is stored.
    """
    dtype = core.get_aval(x).dtype
    return np.asarray(x._stored) if isinstance(dtype, dtypes.ExtendedDType) else np.asarray(x, dtype)


# Where a line comes from: the functions around its equation ("jit(f)/jit(g)"), and the equation. It is put into words
# only when they are asked for.
Origin = tuple[str, JaxprEqn]


def origin_text(origin: Origin) -> str:
    """The location as MLIR writes it, with the name that profiles and HLO show, and the Python line."""
    name_stack, eqn = origin
    scopes = "".join(f"{scope}/" for scope in eqn.source_info.name_stack)
    name = _quoted(f"{name_stack}/{scopes}{eqn.primitive.name}")
    position = eqn.source_info.position
    if position is None:
        return f'loc("{name}")'
    return f'loc(fused["{name}", "{_quoted(position.file)}":{position.line}:{position.column}])'


def _symbol_text(name: str) -> str:
    """A name after `@`: in quotes when it is not an identifier."""
    return name if _IDENTIFIER.fullmatch(name) else f'"{_quoted(name)}"'


_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")


def _location_suffix(line: str, origin: Origin | None, numbers: dict[str, int]) -> str:
    """What stands behind a line that came from an equation; other values are from nowhere, braces need nothing."""
    if origin is not None:
        return f" loc(#loc{numbers.setdefault(origin_text(origin), len(numbers))})"
    return " loc(unknown)" if " = stablehlo.constant " in line else ""


# --- a module and its functions -----------------------------------------------------------------------------


class Module:
    """What is shared by the functions of one program: their texts, symbol names, and the locations of their
    lines.
    """

    def __init__(self, name: str, platform: str) -> None:
        self.name = name
        self.platform = platform
        self.functions: list[Function] = []
        self.symbols: set[str] = set()
        self.renamed = 0
        self.function_of_jaxpr: dict[Any, Function] = {}
        self.hoisted: dict[int, Any] = {}  # id -> constant, in the order of the arguments of main
        self.host_callbacks: list[Callable[..., Any]] = []  # Python functions that the program calls
        self.partitions = 1  # devices that the program is spread over
        self.mesh = ""  # how they are arranged, as Shardy has it

    def symbol(self, name: str) -> str:
        """A function name that is not taken: `f`, then `f_0`, `f_1`."""
        found = name
        while found in self.symbols:
            found = f"{name}_{self.renamed}"
            self.renamed += 1
        self.symbols.add(found)
        return found

    def text(self, debug_info: bool = False) -> str:
        """The whole module. With `debug_info` every line ends in the Python line that it came from."""
        attributes = f"mhlo.num_partitions = {self.partitions} : i32, mhlo.num_replicas = 1 : i32"
        head = f"module @{_symbol_text(self.name)} attributes {{{attributes}}} {{"
        mesh = [f"  sdy.mesh @mesh = {self.mesh}"] if self.mesh else []
        if self.host_callbacks:
            mesh.append(f"  sdy.mesh @{FIRST_DEVICE} = <[], device_ids=[0]>")
        numbers: dict[str, int] | None = {} if debug_info else None  # of the locations, each written once
        body = [line for function in self.functions for line in function.text(numbers)]
        tail = [f"#loc{n} = {text}" for text, n in (numbers or {}).items()]
        return "\n".join([head, *mesh, *body, "}", *tail]) + "\n"


class Function:
    """A function being written: the lines of its body so far, and the constants that it needs from its
    caller.
    """

    def __init__(self, module: Module, symbol: str, visibility: str, ordered: Sequence[Effect] = ()) -> None:
        self.module = module
        self.symbol = symbol
        self.visibility = visibility
        self.ordered = ordered  # the effects whose tokens it takes before all arguments, and returns
        self.arguments: list[str] = []  # `%arg0: tensor<f32>`, with attributes
        self.argument_names: Sequence[str] = ()  # what the user calls them: shown where locations are
        self.results: list[str] = []
        self.hoisted: dict[int, tuple[str, str]] = {}  # id of the constant -> name and type of the argument
        self.lines: list[str] = []
        self.origins: list[Origin | None] = []
        self.counter = 0
        self.constant_stems: set[str] = set()
        self.renamed_constants = 0
        self.indent = "    "

    def fresh(self) -> str:
        """A new SSA name."""
        self.counter += 1
        return f"%{self.counter - 1}"

    def fresh_constant(self, type_text: str) -> str:
        """A new name for a constant, as MLIR gives them: `%c` for whole numbers, `%cst` for others, then `%c_0`, `%cst_1`."""
        stem = "%c" if _WHOLE_NUMBERS.search(type_text) else "%cst"
        if stem not in self.constant_stems:
            self.constant_stems.add(stem)
            return stem
        self.renamed_constants += 1
        return f"{stem}_{self.renamed_constants - 1}"

    def write(self, line: str, origin: Origin | None) -> None:
        """Append one line to the body."""
        self.lines.append(self.indent + line)
        self.origins.append(origin)

    def hoist(self, value: Any, type_text: str) -> str:
        """The name under which a large constant arrives as an argument."""
        key = id(value)
        if key not in self.hoisted:
            # The memory of a numpy array is its owner's, to be changed later: we copy.
            self.module.hoisted.setdefault(key, value.copy() if isinstance(value, np.ndarray) else value)
            self.hoisted[key] = f"%const{len(self.hoisted)}", type_text
        return self.hoisted[key][0]

    def text(self, numbers: dict[str, int] | None) -> list[str]:
        """The lines of the function. With `numbers`, lines carry locations, which are entered there."""
        own = self.arguments
        if numbers is not None and self.argument_names:
            located_names = zip(own, self.argument_names, strict=True)
            own = [
                f'{argument} loc("{_quoted(name)}")' if name else argument for argument, name in located_names
            ]
        tokens = [f"%token{i}: !stablehlo.token" for i in range(len(self.ordered))]
        arguments = ", ".join([*tokens, *(f"{name}: {t}" for name, t in self.hoisted.values()), *own])
        types = ["!stablehlo.token"] * len(tokens) + self.results
        results = ", ".join(types)
        if len(types) > 1 or "{" in results:
            results = f"({results})"
        arrow = " -> " if results else ""
        head = f"  func.func {self.visibility} @{_symbol_text(self.symbol)}({arguments}){arrow}{results} {{"
        if numbers is None:
            return [head, *self.lines, "  }"]
        located = [
            f"{line}{_location_suffix(line, origin, numbers)}"
            for line, origin in zip(self.lines, self.origins, strict=True)
        ]
        return [head, *located, "  }"]


# --- lowering equations -------------------------------------------------------------------------------------


class LoweringContext:
    """What a lowering rule sees: the types around its equation, and the means to write lines."""

    def __init__(self, function: Function, name_stack: str) -> None:
        self.function = function
        self.module = function.module
        self.name_stack = name_stack
        self.avals_in: Sequence[Any] = ()
        self.avals_out: Sequence[Any] = ()
        self.primitive: Primitive | None = None
        self.origin: Origin | None = None
        self.tokens = {effect: f"%token{i}" for i, effect in enumerate(function.ordered)}
        self._constants: dict[Any, str] = {}
        self._inlining = False

    # writing

    def emit(
        self, op: str, operands: Sequence[str], attributes: str = "", out: Any = None, signature: bool = False
    ) -> str:
        """Write `%n = op operands attributes : types` and return `%n`. Result type: `out`, else the
        equation's.

        Operations whose operands all have the result's type write that type once; `signature=True` writes
        `(ins) -> out`, with the types of the equation's operands.
        """
        result = type_of(self.avals_out[0] if out is None else out)
        types = f"({', '.join(map(type_of, self.avals_in))}) -> {result}" if signature else result
        return self.emit_text(f"{op} {', '.join(operands)}{attributes} : {types}")

    def emit_text(self, text: str, results: int = 1) -> str:
        """Write `%n = text`. With several results (`%n:2 = text`) the name of the i-th is `{returned}#i`."""
        name = self.function.fresh()
        self.function.write(f"{name}{f':{results}' if results != 1 else ''} = {text}", self.origin)
        return name

    def emit_op(self, text: str, operand_avals: Sequence[Any], out: Any) -> str:
        """Write `%n = text : (types of operand_avals) -> type of out`, for text that names operands and
        attributes itself.
        """
        return self.emit_text(f"{text} : ({', '.join(map(type_of, operand_avals))}) -> {type_of(out)}")

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

        `head` is everything up to the regions. Each region is `(avals of its block arguments, body)`;
        `body(*names)` writes lines and returns what it yields as pairs `(name, aval)`. Values from outside
        may be used inside. Returns the names of the results.
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
                    f"^bb0({', '.join(f'{n}: {type_of(a)}' for n, a in zip(names, avals, strict=True))}):",
                    None,
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
        """Lines of the block are indented; constants made inside are not used after it."""
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
        """A constant: a scalar or numpy array of its own dtype, or of the one given."""
        array = np.asarray(value) if dtype is None else np.asarray(value, dtype)
        return self._constant(dense(array), tensor_type(array.shape, array.dtype))

    def splat(self, value: Any, aval: Any) -> str:
        """An array of the aval's type, filled with one scalar."""
        scalar = np.asarray(value, aval.dtype)[()]
        key = (scalar.tobytes(), aval)  # by bits: 0.0 and -0.0 are two constants
        name = self._constants.get(key)
        if name is None:
            name = self._constants[key] = self._constant(f"dense<{_scalar_text(scalar)}>", type_of(aval))
        return name

    def _constant(self, text: str, type_text: str) -> str:
        key = (text, type_text)
        if key not in self._constants:
            name = self.function.fresh_constant(type_text)
            # Where XLA merges a constant into an operation, its line is the operation's: so it has the right one.
            self.function.write(f"{name} = stablehlo.constant {text} : {type_text}", self.origin)
            self._constants[key] = name
        return self._constants[key]

    def broadcast_in_dim(self, x: str, aval: Any, shape: Sequence[int], dims: Sequence[int]) -> str:
        """Broadcast: axis i of x becomes axis `dims[i]` of the result, the others are new."""
        if tuple(aval.shape) == tuple(shape):
            return x
        out = core.physical_aval(ShapedArray(shape, aval.dtype))
        dims = [*dims, *range(len(shape), out.ndim)]  # the axes of an element stay the last ones
        return self.emit_text(
            f"stablehlo.broadcast_in_dim {x}, dims = [{', '.join(map(str, dims))}] : "
            f"({type_of(aval)}) -> {type_of(out)}"
        )

    def convert(self, x: str, aval: Any, dtype: Any) -> str:
        """Convert x to another dtype."""
        if aval.dtype == np.dtype(dtype):
            return x
        return self.emit_op(f"stablehlo.convert {x}", [aval], aval.update(dtype=dtype))

    def reshape(self, x: str, aval: Any, shape: Sequence[int]) -> str:
        """The same elements, in row-major order, in another shape."""
        if tuple(aval.shape) == tuple(shape):
            return x
        return self.emit_op(f"stablehlo.reshape {x}", [aval], ShapedArray(shape, aval.dtype))

    # equations

    def lower_jaxpr(
        self, jaxpr: Jaxpr, args: Sequence[str], consts: Sequence[Any] | None = None
    ) -> list[str]:
        """Write the equations of a jaxpr in place, with these values for its invars. Used for regions and for
        functions.
        """
        env: dict[Var, str] = dict(zip(jaxpr.invars, args, strict=True))
        for var, value in zip(jaxpr.constvars, jaxpr.consts if consts is None else consts, strict=True):
            env[var] = self.array_constant(value, var.aval)
        for eqn in jaxpr.eqns:
            self._lower_equation(eqn, env)
        return [self.read(atom, env) for atom in jaxpr.outvars]

    def inline(self, jaxpr: Jaxpr, args: Sequence[str]) -> list[str]:
        """Write a jaxpr that a rule is made of, such as the body of a region. Its lines belong to the rule's
        own equation, whose types are the context's again afterwards.
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
        """Write a jaxpr that a function of the user became, such as the body of a loop. With `own_lines`, its
        lines keep the places that they come from; without, they belong to the rule's equation; None leaves it
        at what holds around. `scope` goes into the names of the lines. The context is the equation's again
        afterwards.
        """
        before = self.primitive, self.avals_in, self.avals_out, self.origin, self._inlining, self.name_stack
        if scope:
            scopes = self.origin[1].source_info.name_stack if self.origin and not self._inlining else ()
            self.name_stack = "/".join([self.name_stack, *scopes, scope])
        if own_lines is not None:
            self._inlining = not own_lines
        try:
            return self.lower_jaxpr(jaxpr, args)
        finally:
            self.primitive, self.avals_in, self.avals_out, self.origin, self._inlining, self.name_stack = (
                before
            )

    def array_constant(self, value: Any, aval: Any) -> str:
        """A captured array: written into the text when small, an argument of the function otherwise."""
        if aval.size * aval.dtype.itemsize > HOISTED_BYTES:
            return self.function.hoist(value, type_of(aval))
        return self.constant(to_numpy(value))

    def read(self, atom: Var | Literal, env: dict[Var, str]) -> str:
        """The name of a variable's value; a literal becomes a constant."""
        if isinstance(atom, Literal):
            return self.splat(atom.val, atom.aval)
        return env[atom]

    def _read_spread(self, atom: Var | Literal, env: dict[Var, str], shape: tuple[int, ...]) -> str:
        """Like `read`, with a scalar, or axes of size 1, brought to `shape`."""
        if atom.aval.shape == shape:
            return self.read(atom, env)
        if isinstance(atom, Literal):
            return self.splat(atom.val, _with_shape(atom.aval, shape))
        return self.broadcast_in_dim(env[atom], atom.aval, shape, range(atom.aval.ndim))

    def _lower_equation(self, eqn: JaxprEqn, env: dict[Var, str]) -> None:
        rule = _rules.get(eqn.primitive)
        if rule is None:
            raise NotImplementedError(f"primitive {eqn.primitive} has no lowering to StableHLO")
        self.primitive = eqn.primitive
        if not self._inlining:
            self.origin = (self.name_stack, eqn)
        avals_in = [atom.aval for atom in eqn.invars]
        avals_out = self.avals_out = [var.aval for var in eqn.outvars]
        if eqn.primitive in rank_polymorphic:
            shape = avals_out[0].shape
            names = [self._read_spread(atom, env, shape) for atom in eqn.invars]
            self.avals_in = [aval if aval.shape == shape else _with_shape(aval, shape) for aval in avals_in]
        else:
            names = [self.read(atom, env) for atom in eqn.invars]
            self.avals_in = avals_in
        out = rule(self, *names, **eqn.params)
        if eqn.primitive.multiple_results:
            env.update(zip(eqn.outvars, out, strict=True))
        else:
            env[eqn.outvars[0]] = out

    def call_jaxpr(self, name: str, jaxpr: Jaxpr, args: Sequence[str]) -> list[str]:
        """Call a jaxpr as a private function; it is written the first time, and shared by all later calls."""
        function = self.module.function_of_jaxpr.get((name, jaxpr))
        if function is None:
            function = lower_function(self.module, name, jaxpr, f"{self.name_stack}/jit({name})")
            self.module.function_of_jaxpr[name, jaxpr] = function
        consts = [
            self.function.hoist(self.module.hoisted[key], t) for key, (_, t) in function.hoisted.items()
        ]
        operands = [*(self.tokens[effect] for effect in function.ordered), *consts, *args]
        tokens = ["!stablehlo.token"] * len(function.ordered)
        const_types = (t for _, t in function.hoisted.values())
        types_in = ", ".join([*tokens, *const_types, *(type_of(aval) for aval in jaxpr.in_avals)])
        types_out = [*tokens, *(type_of(aval) for aval in jaxpr.out_avals)]
        out_text = types_out[0] if len(types_out) == 1 else f"({', '.join(types_out)})"
        text = f"call @{_symbol_text(function.symbol)}({', '.join(operands)}) : ({types_in}) -> {out_text}"
        if not types_out:
            self.function.write(text, self.origin)
            return []
        called = self.emit_text(text, len(types_out))
        outs = [called] if len(types_out) == 1 else [f"{called}#{i}" for i in range(len(types_out))]
        return self.take_tokens(function.ordered, outs)

    def take_tokens(self, ordered: Sequence[Effect], names: Sequence[str]) -> list[str]:
        """From here on, the first of these names are the tokens of the ordered effects. Returns the others."""
        self.tokens.update(zip(ordered, names, strict=False))
        return list(names[len(ordered) :])


def lower_function(module: Module, name: str, jaxpr: Jaxpr, name_stack: str) -> Function:
    """Write a jaxpr as a private function of the module."""
    function = Function(module, module.symbol(name), "private", ordered_effects(jaxpr.effects))
    names = [f"%arg{i}" for i in range(len(jaxpr.invars))]
    function.arguments = [f"{n}: {type_of(v.aval)}" for n, v in zip(names, jaxpr.invars, strict=True)]
    function.results = [type_of(aval) for aval in jaxpr.out_avals]
    _write_body(LoweringContext(function, name_stack), jaxpr, names)
    module.functions.append(function)
    return function


def lower_main(
    name: str,
    jaxpr: Jaxpr,
    platform: str,
    argument_attributes: Sequence[str] | None = None,
    result_names: Sequence[str] | None = None,
    result_attributes: Sequence[str] | None = None,
) -> Module:
    """Write a whole program: `jaxpr` as the public function `main`, and what it calls.

    `argument_attributes` are MLIR attributes per argument (donation, sharding), `result_attributes` per result
    (sharding), `result_names` what the results are called in the text. The constants that became arguments of
    `main` are in the module's `hoisted`, in order, and come first.
    """
    module = Module(re.sub(r"[^\w.-]", "_", f"jit({name})").rstrip("_"), platform)
    module.symbols.add("main")
    function = Function(module, "main", "public", ordered_effects(jaxpr.effects))
    names = [f"%arg{i}" for i in range(len(jaxpr.invars))]
    attributes = argument_attributes or [""] * len(names)
    function.arguments = [
        f"{n}: {type_of(v.aval)}{f' {{{a}}}' if a else ''}"
        for n, v, a in zip(names, jaxpr.invars, attributes, strict=True)
    ]
    function.argument_names = jaxpr.debug_info.safe_arg_names(len(names))
    labels = result_names or ["result"] * len(jaxpr.outvars)
    more = [f", {a}" if a else "" for a in result_attributes or [""] * len(labels)]
    function.results = [
        f'{type_of(aval)} {{jax.result_info = "{_quoted(label)}"{attribute}}}'
        for aval, label, attribute in zip(jaxpr.out_avals, labels, more, strict=True)
    ]
    module.functions.append(function)
    _write_body(LoweringContext(function, f"jit({name})"), jaxpr, names)
    return module


def _quoted(text: str) -> str:
    """What stands between quotes for a text: all that is not plain ASCII byte by byte, in hex."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return text
    plain = frozenset(range(ord(" "), 127)) - {ord('"')}
    doubled = text.replace("\\", "\\\\").encode(errors="replace")
    return "".join([chr(c) if c in plain else f"\\{c:02X}" for c in doubled])


def _write_body(ctx: LoweringContext, jaxpr: Jaxpr, names: Sequence[str]) -> None:
    outs = ctx.lower_jaxpr(jaxpr, names)
    tokens = [ctx.tokens[effect] for effect in ctx.function.ordered]
    types = ["!stablehlo.token"] * len(tokens) + [type_of(aval) for aval in jaxpr.out_avals]
    ctx.write(f"return {', '.join([*tokens, *outs])} : {', '.join(types)}" if types else "return")


def lowering_rule(primitive: Primitive) -> LoweringRule | None:
    """The registered rule of a primitive, if any."""
    return _rules.get(primitive)
