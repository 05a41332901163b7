"""Jaxpr -> Block: the program with its calls inlined

    { lambda a. let b = jit[jaxpr={ lambda c. let d = sin c in (d,) }] a in (b,) }        block: [sin] a -> b

Calls of a jitted function, of one with its own derivative, or of a checkpoint are inlined; control flow keeps its
jaxprs, as blocks. Arrays that a jaxpr closed over become inputs of the whole program. An operation that the backend
cannot compile is refused here, with its name and Python line.

JAX: jax/_src/core.py:eval_jaxpr
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..base.source_info import SourceInfo
from ..core import ShapedArray
from ..jaxpr import Jaxpr, JaxprEqn, Literal

CALLS = {"jit", "custom_jvp_call", "custom_vjp_call", "remat2", "closed_call"}
# operations that return their operands
SAME = {"stop_gradient", "copy", "copy_p", "device_put", "name", "stage", "optimization_barrier", "pvary"}
CONTROL = {"cond", "while", "scan"}
ELEMENTS = {
    "bool": "u8", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float32": "f32", "float64": "f64",
}  # fmt: skip


class Value:
    """A result of an operation, or an input. Two values are the same only if they are one object."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return self.aval.shape


class Constant:
    """A number written into the program."""

    __slots__ = ("aval", "number")
    shape = ()

    def __init__(self, number: Any, aval: ShapedArray) -> None:
        self.number = number
        self.aval = aval


Atom = Value | Constant


@dataclasses.dataclass(eq=False)
class Op:
    """One operation, `outs = name[params] ins`; `blocks` are the programs inside control flow."""

    name: str
    params: dict[str, Any]
    ins: list[Atom]
    outs: list[Value]
    source: SourceInfo
    blocks: tuple[Block, ...] = ()

    @property
    def line(self) -> str:
        """The source line, such as `model.py:12`, with the name of the innermost scope, if any; "" if the line is not known."""
        position = self.source.position
        scopes = "".join(f"  {scope.replace(' ', '_')}" for scope in self.source.name_stack[-1:])
        return f"{os.path.basename(position.file)}:{position.line}{scopes}" if position else scopes[2:]


@dataclasses.dataclass(eq=False)
class Block:
    """A program: operations in order, with inputs and outputs. It may read values of enclosing blocks."""

    ins: list[Value]
    ops: list[Op]
    outs: list[Atom]


class Reader:
    """Reads a jaxpr, and collects the arrays that it, or one inside, closed over: `consts`."""

    def __init__(self) -> None:
        self.consts: list[Any] = []
        self.const_values: list[Value] = []

    def block(self, jaxpr: Jaxpr, call: SourceInfo | None = None) -> Block:
        """Return the block of a jaxpr with its own inputs. `call` is the place of the call that the jaxpr is in, if
        any: the operations get its line, since their own may belong to another call, for which the callee was traced.
        """
        ins = [Value(var.aval) for var in jaxpr.invars]
        ops: list[Op] = []
        outs = self.read(jaxpr, ins, ops, call)
        return Block(ins, ops, outs)

    def read(self, jaxpr: Jaxpr, ins: Sequence[Atom], ops: list[Op], call: SourceInfo | None = None) -> list[Atom]:
        """Add the operations of a jaxpr on these inputs to `ops`, and return its outputs."""
        env: dict[Any, Atom] = dict(zip(jaxpr.invars, ins, strict=True))
        for var, const in zip(jaxpr.constvars, jaxpr.consts, strict=True):
            env[var] = self.const(const, var.aval)

        def atom(x: Any) -> Atom:
            return Constant(np.asarray(x.val, x.aval.dtype)[()], x.aval) if isinstance(x, Literal) else env[x]

        for eqn in jaxpr.eqns:
            operands = [atom(x) for x in eqn.invars]
            name, source = eqn.primitive.name, eqn.source_info
            if call is not None:  # the call's line, but the equation's own scopes
                source = SourceInfo(call.code, call.instruction, source.name_stack)
            if name in CALLS:
                results: Sequence[Atom] = self.read(_called(eqn), operands, ops, source)
            elif name in SAME:
                results = operands
            else:
                outs = [Value(var.aval) for var in eqn.outvars]
                if "out_dtype" in eqn.params:  # a product in another dtype: convert the operands first
                    operands = [self.converted(x, outs[0].aval.dtype, ops, source) for x in operands]
                blocks = tuple(self.block(inner, call) for inner in _inner(eqn))
                if name == "reshape" and _without_ones(operands[0].shape) == _without_ones(outs[0].shape):
                    name = "expand"  # a reshape that only adds or removes axes of size 1: an index map
                ops.append(Op(name, eqn.params, operands, outs, source, blocks))
                results = outs
            env.update(zip(eqn.outvars, results, strict=True))
        return [atom(x) for x in jaxpr.outvars]

    def converted(self, x: Atom, dtype: Any, ops: list[Op], where: SourceInfo) -> Atom:
        """Return the operand in another dtype."""
        out = Value(ShapedArray(x.shape, dtype))
        ops.append(Op("convert_element_type", {"new_dtype": dtype, "weak_type": False}, [x], [out], where, ()))
        return out

    def const(self, value: Any, aval: ShapedArray) -> Value:
        """Return the input that stands for an array that the program closed over."""
        for known, stands_for in zip(self.consts, self.const_values, strict=True):
            if known is value:
                return stands_for
        self.consts.append(value)
        self.const_values.append(Value(aval))
        return self.const_values[-1]


def _without_ones(shape: tuple[int, ...]) -> list[int]:
    return [size for size in shape if size != 1]


def _called(eqn: JaxprEqn) -> Jaxpr:
    found: Jaxpr = eqn.params["jaxpr"] if "jaxpr" in eqn.params else eqn.params["call_jaxpr"]
    return found


def _inner(eqn: JaxprEqn) -> Sequence[Jaxpr]:
    name, params = eqn.primitive.name, eqn.params
    if name == "while":
        return params["cond_jaxpr"], params["body_jaxpr"]
    return params["branches"] if name == "cond" else (params["jaxpr"],) if name == "scan" else ()


# --- what is refused --------------------------------------------------------------------------------------------


def check(function: str, jaxpr: Jaxpr, known: Iterable[str]) -> None:
    """Raise NotImplementedError, with the line, if a program has an operation or an element type without C."""
    known = {*known, *CALLS, *SAME, *CONTROL}
    avals = [*jaxpr.in_avals, *(var.aval for var in jaxpr.constvars)]
    _check_types(function, "its arguments", avals, "")
    waiting: list[tuple[Jaxpr, str | None]] = [(jaxpr, None)]
    while waiting:
        inside, called_at = waiting.pop()
        for eqn in inside.eqns:
            name = eqn.primitive.name
            position = eqn.source_info.position
            # The callee may have been traced for another call, so its lines may belong to that call.
            where = called_at or (f", at {position.file}:{position.line}" if position else "")
            if name not in known:
                raise NotImplementedError(
                    f'jit({function}, backend="c") has no C for the primitive {name!r}{where}.\n'
                    "Leave `backend` out: XLA compiles it. docs/what_xla_did_for_us.md lists the primitives that have C."
                )
            if name in CALLS:  # its own equations are checked instead
                waiting.append((_called(eqn), where or None))
                continue
            _check_types(function, f"the primitive {name!r}", [var.aval for var in eqn.outvars], where)
            waiting += [(each, called_at) for each in _inner(eqn)]


def _check_types(function: str, what: str, avals: Sequence[Any], where: str) -> None:
    for aval in avals:
        if getattr(aval, "dtype", None) is None or aval.dtype.name not in ELEMENTS:
            raise NotImplementedError(
                f'jit({function}, backend="c") has no C for the type {aval.str_short()} of {what}{where}.\n'
                "It has bools, integers of 8 to 64 bits, float32 and float64. Leave `backend` out: XLA compiles it."
            )
