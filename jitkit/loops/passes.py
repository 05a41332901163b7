"""Block -> Block: removes operations that are not needed

Dead operations are removed, equal operations are merged, and operations that change nothing are left out: `x * 1`, `x +
0` of integers, a broadcast to the same shape, a conversion to the same type. For floats only exact changes are made: `x
+ 0.0` stays, since it turns -0.0 into 0.0, but `x - 0.0` is removed. Operations on known numbers are computed.

JAX: jax/_src/interpreters/partial_eval.py:dce_jaxpr
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .language import Atom, Block, Constant, Op, Value

Env = dict[Value, Atom]


def optimised(block: Block) -> Block:
    """Return the block after all passes."""
    return without_dead(simplified(block, {}))


def simplified(block: Block, outer: Env) -> Block:
    """Return the block with equal operations merged, and without operations that change nothing."""
    env: Env = dict(outer)
    known: dict[Any, Op] = {}
    ops: list[Op] = []

    def atom(x: Atom) -> Atom:
        return env.get(x, x) if isinstance(x, Value) else x

    for op in block.ops:
        ins = [atom(x) for x in op.ins]
        blocks = tuple(simplified(inner, env) for inner in op.blocks)
        op = Op(op.name, op.params, ins, op.outs, op.source, blocks)
        same = None if blocks else _unchanged(op)
        if same is not None:
            env[op.outs[0]] = same
            continue
        key = None if blocks else (op.name, repr(sorted(op.params.items())), tuple(map(_key, ins)), op.outs[0].aval)
        if key is not None and key in known:
            env.update(zip(op.outs, known[key].outs, strict=True))
            continue
        if key is not None:
            known[key] = op
        ops.append(op)
    return Block(block.ins, ops, [atom(x) for x in block.outs])


def _key(x: Atom) -> Any:
    """Return a key that is equal for equal operands. The key of a number has its bytes, which distinguish 0.0 and -0.0."""
    return id(x) if isinstance(x, Value) else (x.number.dtype, x.number.tobytes())


def without_dead(block: Block) -> Block:
    """Return the block without operations whose results nobody reads."""
    live = {x for x in block.outs if isinstance(x, Value)}
    ops: list[Op] = []
    for op in reversed(block.ops):
        if not live.isdisjoint(op.outs):
            op = Op(op.name, op.params, op.ins, op.outs, op.source, tuple(map(without_dead, op.blocks)))
            live |= {x for x in op.ins if isinstance(x, Value)} | _free(op.blocks)
            ops.append(op)
    return Block(block.ins, ops[::-1], block.outs)


def _free(blocks: tuple[Block, ...]) -> set[Value]:
    """Return the values of enclosing blocks that these blocks read."""
    found: set[Value] = set()
    for block in blocks:
        made = {*block.ins, *(out for op in block.ops for out in op.outs)}
        read = {x for op in block.ops for x in op.ins if isinstance(x, Value)}
        read |= {x for x in block.outs if isinstance(x, Value)}
        for op in block.ops:
            read |= _free(op.blocks)
        found |= read - made
    return found


# --- operations that change nothing -----------------------------------------------------------------------------


def _unchanged(op: Op) -> Atom | None:
    """Return the value that an operation's result equals if the operation changes nothing or its operands are known; else None."""
    out = op.outs[0].aval
    x = op.ins[0] if op.ins else None
    if x is None:
        return None
    if op.name in _MOVES and x.shape == out.shape and (op.name != "transpose" or _is_in_order(op)):
        return x
    if op.name == "convert_element_type" and x.aval.dtype == out.dtype:
        return x
    if len(op.ins) == 2 and op.name in _NEUTRAL:
        y = op.ins[1]
        if isinstance(y, Constant) and x.shape == out.shape and _NEUTRAL[op.name](y.number):
            return x
        commutes = op.name in ("add", "mul", "add_any") and y.shape == out.shape
        if commutes and isinstance(x, Constant) and _NEUTRAL[op.name](x.number):
            return y
    if op.name in _EXACT and all(isinstance(y, Constant) for y in op.ins):
        numbers = [y.number for y in op.ins if isinstance(y, Constant)]
        with np.errstate(all="ignore"):
            return Constant(np.asarray(_EXACT[op.name](*numbers)).astype(out.dtype)[()], out)
    return None


_MOVES = {"broadcast_in_dim", "reshape", "squeeze", "transpose"}


def _is_in_order(op: Op) -> bool:
    return list(op.params["permutation"]) == list(range(len(op.outs[0].shape)))


def _is_zero_of_integers(y: Any) -> bool:
    return bool(y.dtype.kind in "iu" and y == 0)


def _is_one(y: Any) -> bool:
    return bool(y.dtype.kind in "iuf" and y == 1)


_NEUTRAL: dict[str, Callable[[Any], bool]] = {
    "add": lambda y: _is_zero_of_integers(y) or bool(y.dtype.kind == "f" and y == 0 and np.signbit(y)),
    "add_any": lambda y: _is_zero_of_integers(y) or bool(y.dtype.kind == "f" and y == 0 and np.signbit(y)),
    "sub": lambda y: _is_zero_of_integers(y) or bool(y.dtype.kind == "f" and y == 0 and not np.signbit(y)),
    "mul": _is_one,
    "div": _is_one,
}
_EXACT: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "eq": np.equal, "ne": np.not_equal,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
