"""A hypothesis strategy that writes programs, and a function that runs them on jitkit or on JAX.

A program is data: a list of instructions, each an operation with the numbers of the values it takes. Values are the arguments,
then the results of the instructions, in order. The same program runs with `jitkit.numpy` and with `jax.numpy`; nothing in it
knows which.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np
from hypothesis import strategies as st

import jitkit


class Instruction(NamedTuple):
    """`op` applied to values by number; `params` are Python values; `body` is the program of a nested jit, or of the body of
    a loop, or of a branch, and `other` that of another branch, or of what a scan collects."""

    op: str
    operands: tuple[int, ...]
    params: tuple[Any, ...] = ()
    body: Program | None = None
    other: Program | None = None


class Program(NamedTuple):
    """Instructions over `arity` arguments, and the numbers of the values that are returned."""

    arity: int
    instructions: tuple[Instruction, ...]
    results: tuple[int, ...]


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


def like(jnp: Any, value: Any, model: Any) -> Any:
    """A value of the shape and dtype of another one, made of the value: what a loop may carry on with."""
    return jnp.broadcast_to(jnp.sum(value), jnp.shape(model)).astype(jnp.result_type(model))


def apply_control_flow(jnp: Any, jit: Any, instruction: Instruction, xs: list[Any], log: list[str]) -> Any:
    """Run a conditional or a loop on values, of which the first is the carry.

    `params` are a number, whether the types agree by construction, and whether values are closed over or passed.
    """
    lax = jitkit.lax if jnp is jitkit.numpy else jax.lax
    op, (number, agree, closed) = instruction.op, instruction.params
    body, other = instruction.body, instruction.other

    def part(name: str, program: Any, args: tuple[Any, ...], model: Any = None) -> Any:
        log.append(name)
        (value,) = run(jnp, jit, program, args, log)
        return like(jnp, value, args[0] if model is None else model) if agree else value

    first, rest = xs[0], tuple(xs[1:])
    if op in ("cond", "switch"):
        operands = () if closed else tuple(xs)

        def branch(name: str, program: Any) -> Any:
            return lambda *args: part(name, program, tuple(args or xs), first)

        one, two = branch("one", body), branch("two", other)
        if op == "cond":
            return lax.cond(jnp.any(xs[-1]), one, two, *operands)
        return lax.switch((xs[-1] == xs[-1]).sum() - number, [one, two, one], *operands)
    if op == "while":

        def step(state: Any) -> Any:
            return state[0] + 1, part("while", body, (state[1], *rest))

        return lax.while_loop(lambda state: state[0] < number, step, (0, first))[1]
    if op == "fori":
        upper = (xs[-1] == xs[-1]).sum() if closed else number
        return lax.fori_loop(0, upper, lambda i, v: part("fori", body, (v, i, *rest)), first)
    if op == "map":
        return lax.map(lambda x: part("map", body, (x, *rest)), first)

    def collect(carry: Any, x: Any) -> Any:
        return part("scan", body, (carry, x)), part("collect", other, (x, carry))

    carry, ys = lax.scan(collect, first, xs[-1], reverse=closed, unroll=number or 1)
    return ys if closed else carry


def apply(jnp: Any, jit: Any, instruction: Instruction, values: list[Any], log: list[str]) -> Any:
    """Run one instruction."""
    op, params = instruction.op, instruction.params
    xs = [values[i] for i in instruction.operands]
    x = xs[0]
    if op == "jit":

        def inner(*args: Any) -> Any:
            log.append("inner")
            return run(jnp, jit, instruction.body, args, log)

        return jit(inner)(*xs)[0]
    if op in CONTROL_FLOW:
        return apply_control_flow(jnp, jit, instruction, xs, log)
    if op in OPERATORS:
        y = params[0] if params else xs[1]
        left, right = (y, x) if len(params) > 1 and params[1] else (x, y)
        return eval(f"left {op} right", {"left": left, "right": right})
    if op in REDUCTIONS:
        return getattr(jnp, op)(x, axis=params[0], keepdims=params[1])
    simple = {
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


def run(jnp: Any, jit: Any, program: Program, args: tuple[Any, ...], log: list[str]) -> tuple[Any, ...]:
    """Run a program on arguments."""
    values = list(args)
    for instruction in program.instructions:
        values.append(apply(jnp, jit, instruction, values, log))
    return tuple(values[i] for i in program.results)


@st.composite
def instructions(draw: Any, known: int, depth: int) -> Instruction:
    """One instruction over `known` values."""
    value = st.integers(max(0, known - 5), known - 1) if draw(st.booleans()) else st.integers(0, known - 1)
    index = st.sampled_from(
        (0, -1, slice(None, None, 2), slice(1, None), (Ellipsis, 0), None, slice(None, None, -1), [0, 1, 0])
    )
    kinds = ["unary"] * 4 + ["binary"] * 5 + ["operator"] * 6 + ["reduction"] * 2 + ["other"] * 6
    kind = draw(st.sampled_from(kinds + ["jit"] * 3 + ["control flow"] * 5 if depth > 0 else kinds))
    if kind == "control flow":
        op = draw(st.sampled_from(CONTROL_FLOW))
        operands = tuple(draw(value) for _ in range(draw(st.integers(2 if op == "scan" else 1, 2 if op == "scan" else 3))))
        arity = len(operands) + (op == "fori")
        params = (draw(st.integers(0, 3)), draw(st.integers(0, 4)) > 0, draw(st.booleans()))
        body = draw(programs(arity, depth - 1, single=True))
        other = draw(programs(arity, depth - 1, single=True)) if op in ("cond", "switch", "scan") else None
        return Instruction(op, operands, params, body, other)
    if kind == "jit":
        arity = draw(st.integers(1, 3))
        operands = tuple(draw(value) for _ in range(arity))
        return Instruction("jit", operands, (), draw(programs(arity, depth - 1, single=True)))
    if kind == "unary":
        return Instruction(draw(st.sampled_from(UNARY)), (draw(value),))
    if kind == "binary":
        return Instruction(draw(st.sampled_from(BINARY)), (draw(value), draw(value)))
    if kind == "operator":
        op = draw(st.sampled_from(OPERATORS))
        if draw(st.booleans()):
            return Instruction(op, (draw(value),), (draw(st.sampled_from(SCALARS)), draw(st.booleans())))
        return Instruction(op, (draw(value), draw(value)))
    if kind == "reduction":
        axis = draw(st.sampled_from((None, 0, -1)))
        return Instruction(draw(st.sampled_from(REDUCTIONS)), (draw(value),), (axis, draw(st.booleans())))
    other = draw(
        st.sampled_from(
            (
                "astype",
                "index",
                "gather",
                "at_set",
                "at_add",
                "where",
                "where2",
                "reshape",
                "transpose",
                "broadcast_to",
                "concatenate",
                "stack",
                "matmul",
                "zeros_like",
                "full",
                "scalar",
                "clip",
                "cumsum",
                "expand",
                "arange",
            )
        )
    )
    a, b, c = draw(value), draw(value), draw(value)
    scalar = draw(st.sampled_from(SCALARS))
    made = {
        "astype": lambda: Instruction("astype", (a,), (draw(st.sampled_from(DTYPES)),)),
        "index": lambda: Instruction("index", (a,), (draw(index),)),
        "gather": lambda: Instruction("gather", (a, b)),
        "at_set": lambda: Instruction("at_set", (a,), (draw(index), scalar)),
        "at_add": lambda: Instruction("at_add", (a, b), (draw(index),)),
        "where": lambda: Instruction("where", (a, b, c)),
        "where2": lambda: Instruction("where", (a, b), (scalar,)),
        "reshape": lambda: Instruction(
            "reshape", (a,), (draw(st.sampled_from((-1, (1, -1), (-1, 1), (3, 2), ()))),)
        ),
        "broadcast_to": lambda: Instruction("broadcast_to", (a,), ((2, 3),)),
        "concatenate": lambda: Instruction("concatenate", (a, b), (draw(st.sampled_from((0, -1))),)),
        "stack": lambda: Instruction("stack", (a, b)),
        "matmul": lambda: Instruction("matmul", (a, b)),
        "scalar": lambda: Instruction("scalar", (a,), (scalar,)),
        "clip": lambda: Instruction("clip", (a,), (-1, draw(st.sampled_from((1, 2.5))))),
        "arange": lambda: Instruction("arange", (a,), (3,)),
    }
    return made[other]() if other in made else Instruction(other, (a,))


@st.composite
def programs(draw: Any, arity: int, depth: int = 2, single: bool = False) -> Program:
    """A program over `arity` arguments, with jits, conditionals and loops inside of each other up to `depth`."""
    written: list[Instruction] = []
    for _ in range(draw(st.integers(1, 4 if single else 8))):
        written.append(draw(instructions(arity + len(written), depth)))
    last = arity + len(written) - 1
    if single:
        return Program(arity, tuple(written), (last,))
    rest = draw(st.lists(st.integers(0, last), max_size=2))
    return Program(arity, tuple(written), (last, *rest))


SHAPES = ((), (3,), (2, 3), (1, 3), (3, 3), (0,))


@st.composite
def arguments(draw: Any) -> Any:
    """An argument: a numpy array of some dtype and shape, or a Python scalar."""
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from((2, 0.5, True, -1)))
    shape = draw(st.sampled_from(SHAPES))
    dtype = np.dtype(
        draw(st.sampled_from(("float32", "float32", "int32", "bool", "uint8", "float16", "complex64")))
    )
    size = int(np.prod(shape))
    numbers = draw(st.lists(st.integers(-3, 3), min_size=size, max_size=size))
    values = np.asarray(numbers, np.float32).reshape(shape)
    return (np.abs(values) if dtype.kind == "u" else values * (1.5 if dtype.kind in "fc" else 1)).astype(
        dtype
    )
