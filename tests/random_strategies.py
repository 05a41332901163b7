"""Hypothesis strategies that write random programs, their arguments, and the trees in which those are passed."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from random_programs import (
    BINARY,
    CONTROL_FLOW,
    DTYPES,
    LEAF,
    OPERATORS,
    REDUCTIONS,
    SCALARS,
    STATIC,
    UNARY,
    Instruction,
    Layout,
    Program,
)


@st.composite
def layouts(draw: Any, leaves: int, depth: int = 2) -> Layout:
    """Return a tree of this many leaves, in containers that are nested at most `depth` deep."""
    if leaves == 1 and (depth == 0 or draw(st.booleans())):
        return LEAF
    if depth == 0:
        return Layout("tuple", (LEAF,) * leaves)
    kind = draw(st.sampled_from(("tuple", "list", "dict", "pair") if leaves > 1 else ("tuple", "list", "dict")))
    cut = draw(st.integers(1, leaves - 1)) if leaves > 1 else 1
    parts = [draw(layouts(count, depth - 1)) for count in (cut, leaves - cut) if count]
    if kind != "pair" and draw(st.integers(0, 3)) == 0:
        parts.insert(draw(st.integers(0, len(parts))), Layout("none"))
    keys = draw(st.permutations("abcd"))[: len(parts)] if kind == "dict" else ()
    return Layout(kind, tuple(parts), tuple(keys))


@st.composite
def instructions(draw: Any, known: int, depth: int) -> Instruction:
    """Return one instruction over `known` values."""
    value = st.integers(max(0, known - 5), known - 1) if draw(st.booleans()) else st.integers(0, known - 1)
    index = st.sampled_from(
        (0, -1, slice(None, None, 2), slice(1, None), (Ellipsis, 0), None, slice(None, None, -1), [0, 1, 0])
    )
    kinds = ["unary"] * 4 + ["binary"] * 5 + ["operator"] * 6 + ["reduction"] * 2 + ["static"] + ["other"] * 6
    kind = draw(st.sampled_from(kinds + ["jit"] * 3 + ["vmap"] * 3 + ["control flow"] * 5 if depth > 0 else kinds))
    if kind == "control flow":
        op = draw(st.sampled_from(CONTROL_FLOW))
        operands = tuple(draw(value) for _ in range(2 if op == "scan" else draw(st.integers(1, 3))))
        arity = len(operands) + (op in ("fori", "scan"))
        params = (draw(st.integers(0, 3)), draw(st.integers(0, 4)) > 0, draw(st.booleans()))
        body = draw(programs(arity, depth - 1, single=True))
        other = draw(programs(arity, depth - 1, single=True)) if op in ("cond", "switch", "scan") else None
        return Instruction(op, operands, params, body, other, draw(layouts(len(operands))))
    if kind == "jit":
        arity = draw(st.integers(1, 3))
        operands = tuple(draw(value) for _ in range(arity))
        params = draw(st.booleans()), draw(st.booleans())
        body = draw(programs(arity, depth - 1, single=True))
        return Instruction("jit", operands, params, body, layout=draw(layouts(arity)))
    if kind == "vmap":
        operands = tuple(draw(value) for _ in range(draw(st.integers(1, 3))))
        params = (
            *(draw(st.sampled_from((0, -1))) for _ in range(2)),
            draw(st.booleans()),
            draw(st.integers(0, 3)) == 0,
        )
        return Instruction("vmap", operands, params, draw(programs(len(operands), depth - 1, single=True)))
    if kind == "static":
        return Instruction(draw(st.sampled_from(STATIC)), (draw(value),))
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
        "reshape": lambda: Instruction("reshape", (a,), (draw(st.sampled_from((-1, (1, -1), (-1, 1), (3, 2), ()))),)),
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
    """Return a program over `arity` arguments. Its jits, batches, conditionals and loops are nested at most `depth`
    deep.
    """
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
    """Return an argument: a numpy array of some dtype and shape, or a Python scalar."""
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from((2, 0.5, True, -1)))
    shape = draw(st.sampled_from(SHAPES))
    dtype = np.dtype(draw(st.sampled_from(("float32", "float32", "int32", "bool", "uint8", "float16", "complex64"))))
    size = int(np.prod(shape))
    numbers = draw(st.lists(st.integers(-3, 3), min_size=size, max_size=size))
    values = np.asarray(numbers, np.float32).reshape(shape)
    return (np.abs(values) if dtype.kind == "u" else values * (1.5 if dtype.kind in "fc" else 1)).astype(dtype)
