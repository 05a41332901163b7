"""Random programs as data, and a function that runs them on jitkit or on JAX.

A program is a list of instructions: each is an operation, with the numbers of the values that it takes. The values are the
arguments, then the results of the instructions, in order. The same program runs with `jitkit.numpy` and with `jax.numpy`.
`random_strategies` writes them.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple


class Layout(NamedTuple):
    """The shape of a pytree: `kind` is leaf, none, tuple, list, dict or pair; `keys` are those of a dict."""

    kind: str
    parts: tuple[Layout, ...] = ()
    keys: tuple[str, ...] = ()


LEAF = Layout("leaf")
Pair = collections.namedtuple("Pair", "left right")


def pack(layout: Layout, leaves: Iterator[Any]) -> Any:
    """Return a tree of this layout, made of the next leaves."""
    if layout.kind == "leaf":
        return next(leaves)
    if layout.kind == "none":
        return None
    parts = [pack(part, leaves) for part in layout.parts]
    if layout.kind == "dict":
        return dict(zip(layout.keys, parts, strict=True))
    return Pair(*parts) if layout.kind == "pair" else {"tuple": tuple, "list": list}[layout.kind](parts)


def unpack(layout: Layout, tree: Any) -> list[Any]:
    """Return the leaves of a tree, in the order in which they were packed."""
    if layout.kind == "leaf":
        return [tree]
    if layout.kind == "none":
        return []
    parts = [tree[key] for key in layout.keys] if layout.kind == "dict" else list(tree)
    return [leaf for i, part in enumerate(layout.parts) for leaf in unpack(part, parts[i])]


class Instruction(NamedTuple):
    """An operation on values.

    Attributes:
      op: its name.
      operands: the numbers of the values.
      params: Python values.
      body: the program inside: of a nested jit, of a vmap, of a loop or of a branch.
      other: the program of the other branch, or of the values that a scan stacks.
      layout: the tree in which a nested function takes its operands.
    """

    op: str
    operands: tuple[int, ...]
    params: tuple[Any, ...] = ()
    body: Program | None = None
    other: Program | None = None
    layout: Layout = LEAF


class Program(NamedTuple):
    """Instructions over `arity` arguments, and the numbers of the values that are returned."""

    arity: int
    instructions: tuple[Instruction, ...]
    results: tuple[int, ...]


class Setting(NamedTuple):
    """What a program needs in order to run: a library and its numpy, a log of what is traced, and the static number `n`. If `failed` is
    a set, an instruction that fails is left out, and its id is added to the set; if it is None, the error ends the program.
    """

    lib: Any
    jnp: Any
    log: list[Any]
    n: int = 2
    failed: set[int] | None = None


UNARY = (
    "sin",
    "cos",
    "exp",
    "tanh",
    "abs",
    "negative",
    "floor",
    "square",
    "sign",
    "isnan",
    "logical_not",
    "ravel",
    "sqrt",
    "log1p",
    "reciprocal",
)
BINARY = (
    "add",
    "subtract",
    "multiply",
    "maximum",
    "minimum",
    "true_divide",
    "less",
    "greater_equal",
    "equal",
    "logical_and",
    "arctan2",
    "floor_divide",
    "remainder",
)
OPERATORS = ("+", "-", "*", "/", "<", "==", "%", "//", "&", "|")
REDUCTIONS = ("sum", "max", "min", "prod", "any", "mean", "argmax")
DTYPES = ("float32", "int32", "bool", "bfloat16", "uint8", "int8", "float16", "complex64")
SCALARS = (2, 0.5, True, -3, 1.0, 0, 0.1, 1e-6)


CONTROL_FLOW = ("cond", "switch", "while", "fori", "scan", "map")
STATIC = ("times n", "n times", "first n", "iota n", "n decides")


def like(setting: Setting, value: Any, model: Any) -> Any:
    """Return a value with the shape and dtype of another one, computed from the value, so that a loop can carry it."""
    jnp = setting.jnp
    return jnp.broadcast_to(jnp.sum(value), jnp.shape(model)).astype(jnp.result_type(model))


def apply_control_flow(setting: Setting, instruction: Instruction, xs: list[Any]) -> Any:
    """Run a conditional or a loop on values. The first value is the carry.

    `params` are a number, whether the carry keeps its type by construction, and whether the other values are closed over. If
    not, they are passed, or carried, beside the first value, all in one tree.
    """
    jnp, lax = setting.jnp, setting.lib.lax
    op, (number, agree, closed) = instruction.op, instruction.params
    body, other = instruction.body, instruction.other
    layout = LEAF if closed else instruction.layout
    first, rest = xs[0], xs[1:]

    def packed(values: Sequence[Any]) -> Any:
        return pack(layout, iter(values))

    def part(name: str, program: Any, args: Sequence[Any], model: Any) -> Any:
        setting.log.append(name)
        (value,) = run(setting, program, tuple(args))
        return like(setting, value, model) if agree else value

    def step(name: str, state: Any, *more: Any) -> Any:
        """Return the next carry: the first leaf becomes what the body makes of it, the others stay."""
        leaves = unpack(layout, state)
        known = leaves[1:] if not closed else rest
        return packed([part(name, body, [leaves[0], *more, *known], leaves[0]), *leaves[1:]])

    carry = packed(xs)
    if op in ("cond", "switch"):

        def branch(name: str, program: Any) -> Callable[..., Any]:
            return lambda *tree: packed([part(name, program, unpack(layout, *tree) if tree else xs, first), *xs[1:]])

        one, two = branch("one", body), branch("two", other)
        operands = () if closed else (carry,)
        if op == "cond":
            return unpack(layout, lax.cond(jnp.any(xs[-1]), one, two, *operands))[0]
        return unpack(layout, lax.switch((xs[-1] == xs[-1]).sum() - number, [one, two, one], *operands))[0]
    if op == "while":
        end = lax.while_loop(lambda s: s[0] < number, lambda s: (s[0] + 1, step("while", s[1])), (0, carry))[1]
        return unpack(layout, end)[0]
    if op == "fori":
        upper = (xs[-1] == xs[-1]).sum() if closed else number
        return unpack(layout, lax.fori_loop(0, upper, lambda i, s: step("fori", s, i), carry))[0]
    if op == "map":
        return lax.map(lambda x: part("map", body, [x, *rest], x), first)

    def collect(state: Any, x: Any) -> Any:
        value = unpack(layout, state)[0]
        collected = part("collect", other, [x["x"], value, *rest], x["x"])
        return step("scan", state, x["x"]), {"y": collected, "x": x["x"]}

    end, ys = lax.scan(collect, carry, {"x": xs[-1]}, reverse=closed, unroll=number or 1)
    return ys["y"] if closed else unpack(layout, end)[0]


def apply_jit(setting: Setting, instruction: Instruction, xs: list[Any]) -> Any:
    """Call a function made by jit, with the operands in a tree, and the static number one greater.

    `params` are whether the static number is passed by position, and whether the last operand is closed over instead.
    """
    by_position, closed = instruction.params
    layout = instruction.layout

    def inner(tree: Any, n: int) -> Any:
        setting.log.append(("inner", n))
        values = unpack(layout, tree)
        values = [*values[:-1], xs[-1]] if closed else values
        (result,) = run(setting._replace(n=n), instruction.body, tuple(values))
        return {"result": result}

    jitted = setting.lib.jit(inner, static_argnames="n")
    tree, n = pack(layout, iter(xs)), setting.n + 1
    return (jitted(tree, n) if by_position else jitted(tree, n=n))["result"]


def apply_vmap(setting: Setting, instruction: Instruction, xs: list[Any]) -> Any:
    """Map a program over an axis of the first value, and of others that have one of this size.

    `params` are the axis, its position in the result, whether other values are mapped over, too, and whether the elements'
    results are summed over the named axis. If the first value has no axes, it is the same for three elements.
    """
    axis, out_axis, others_too, summed = instruction.params
    jnp, lib = setting.jnp, setting.lib
    size = jnp.shape(xs[0])[axis] if jnp.ndim(xs[0]) else 3

    def is_mapped(i: int, x: Any) -> bool:
        return (i == 0 or others_too) and bool(jnp.ndim(x)) and jnp.shape(x)[axis] == size

    def element(*values: Any) -> Any:
        setting.log.append("vmap")
        (result,) = run(setting, instruction.body, values)
        return lib.lax.psum(result, "i") if summed else result

    in_axes = tuple(axis if is_mapped(i, x) else None for i, x in enumerate(xs))
    return lib.vmap(element, in_axes, out_axis, axis_name="i", axis_size=size)(*xs)


def apply_static(setting: Setting, op: str, x: Any) -> Any:
    """Return a value computed from x and the static number, which is a count, a size, or decides which branch Python
    takes.
    """
    n = setting.n
    if op == "n times":
        return functools.reduce(lambda value, _: setting.jnp.sin(value), range(n), x)
    if op == "first n":
        return setting.jnp.ravel(x)[:n]
    if op == "iota n":
        return setting.jnp.arange(n) + setting.jnp.sum(x)
    return x * n if op == "times n" else x if n % 2 else -x


def apply(setting: Setting, instruction: Instruction, values: list[Any]) -> Any:
    """Run one instruction on the values so far, and return its result."""
    jnp = setting.jnp
    op, params = instruction.op, instruction.params
    xs = [values[i] for i in instruction.operands]
    x = xs[0]
    if op == "jit":
        return apply_jit(setting, instruction, xs)
    if op == "vmap":
        return apply_vmap(setting, instruction, xs)
    if op in CONTROL_FLOW:
        return apply_control_flow(setting, instruction, xs)
    if op in STATIC:
        return apply_static(setting, op, x)
    if op in OPERATORS:
        y = params[0] if params else xs[1]
        left, right = (y, x) if len(params) > 1 and params[1] else (x, y)
        return eval(f"left {op} right", {"left": left, "right": right})
    if op in REDUCTIONS:
        return getattr(jnp, op)(x, axis=params[0], keepdims=params[1])
    simple = {
        "same": lambda: x,
        "astype": lambda: x.astype(params[0]),
        "index": lambda: x[params[0]],
        "gather": lambda: x[xs[1].astype("int32")],
        "at_set": lambda: x.at[params[0]].set(params[1]),
        "at_add": lambda: x.at[params[0]].add(xs[1]),
        "where": lambda: jnp.where(xs[0], xs[1], params[0] if params else xs[2]),
        "reshape": lambda: jnp.reshape(x, params[0]),
        "transpose": lambda: x.T,
        "broadcast_to": lambda: jnp.broadcast_to(x, params[0]),
        "concatenate": lambda: jnp.concatenate(xs, axis=params[0]),
        "stack": lambda: jnp.stack(xs),
        "matmul": lambda: xs[0] @ xs[1],
        "zeros_like": lambda: jnp.zeros_like(x),
        "full": lambda: jnp.full((2, 3), x),
        "scalar": lambda: jnp.asarray(params[0]),
        "clip": lambda: jnp.clip(x, params[0], params[1]),
        "cumsum": lambda: jnp.cumsum(x),
        "expand": lambda: x[None, ..., None],
        "arange": lambda: jnp.arange(params[0]) + x,
    }
    if op in simple:
        return simple[op]()
    return getattr(jnp, op)(*xs)


def run(setting: Setting, program: Program, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Run a program on arguments, and return its results. The value of an instruction that is left out is its first operand."""
    values = list(args)
    for instruction in program.instructions:
        try:
            values.append(apply(setting, instruction, values))
        except Exception:
            if setting.failed is None:
                raise
            setting.failed.add(id(instruction))
            values.append(values[instruction.operands[0]])
    return tuple(values[i] for i in program.results)


def without(program: Program, failed: set[int]) -> Program:
    """Return the program, in which instructions with these ids do nothing but return their first operand."""

    def mended(instruction: Instruction) -> Instruction:
        if id(instruction) in failed:
            return Instruction("same", instruction.operands)
        parts = (part and without(part, failed) for part in (instruction.body, instruction.other))
        return instruction._replace(**dict(zip(("body", "other"), parts, strict=True)))

    return program._replace(instructions=tuple(map(mended, program.instructions)))
