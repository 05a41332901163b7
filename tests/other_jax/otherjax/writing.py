import itertools

import numpy as np

from .jaxprs import Constant, make_jaxpr
from .values import Type

KINDS = {"float32": "f32", "int32": "i32", "bool": "i1", "float16": "f16", "int8": "i8"}


def tensor(a):
    return f"tensor<{''.join(f'{n}x' for n in a.shape)}{KINDS[a.dtype.name]}>"


def tensors(avals):
    return ", ".join(map(tensor, avals))


class Writer:
    """Writes StableHLO, one line for each operation. Private functions and regions are collected separately."""

    def __init__(self):
        self.lines, self.functions, self.known, self.count = [], [], {}, itertools.count()

    def put(self, said, ins, outs):
        n = next(self.count)
        left = f"%{n}:{len(outs)} = " if outs else ""
        self.lines.append(f"{left}{said} : ({tensors(ins)}) -> ({tensors(outs)})")
        return [f"%{n}#{i}" for i in range(len(outs))]

    def const(self, x):
        x = np.asarray(x)
        digits = str(x.tolist()).lower() if x.dtype == bool else f'"0x{x.tobytes().hex()}"' if x.size else ""
        aval = Type(x.shape, x.dtype)
        return self.put(f'"stablehlo.constant"() {{value = dense<{digits}> : {tensor(aval)}}}', [], [aval])[0]

    def spread(self, name, aval, shape):
        if aval.shape == shape:
            return name
        dims = list(range(len(shape) - len(aval.shape), len(shape)))
        return self.put(f"stablehlo.broadcast_in_dim {name}, dims = {dims}", [aval], [Type(shape, aval.dtype)])[0]

    def block(self, program, arguments):
        b = program.jaxpr
        names = {id(v): self.const(np.asarray(x)) for v, x in zip(b.constvars, program.consts, strict=True)}
        names.update(zip(map(id, b.invars), arguments, strict=True))

        def read(v):
            return self.const(v.val) if isinstance(v, Constant) else names[id(v)]

        for line in b.eqns:
            outs = [v.aval for v in line.outvars]
            found = line.primitive.text(self, list(map(read, line.invars)), [v.aval for v in line.invars], *outs)
            names.update(zip(map(id, line.outvars), found, strict=True))
        return list(map(read, b.outvars))

    def apart(self, write, last="stablehlo.return"):
        outside, self.lines = self.lines, []
        names, avals = write()
        self.lines.append(f"{last} {', '.join(names)} : {tensors(avals)}" if names else last)
        inside, self.lines = self.lines, outside
        return "\n".join(inside)

    def function(self, name, program, kind="private"):
        ins, outs = ([v.aval for v in vs] for vs in (program.jaxpr.invars, program.jaxpr.outvars))
        names = [f"%a{i}" for i in range(len(ins))]
        inside = self.apart(lambda: (self.block(program, names), outs), "return")
        declared = ", ".join(f"{n}: {tensor(a)}" for n, a in zip(names, ins, strict=True))
        self.functions.append(f"func.func {kind} @{name}({declared}) -> ({tensors(outs)}) {{\n{inside}\n}}")

    def loop(self, carry, avals, test, turn):
        """Write a while loop. `test` and `turn` write its regions, given the names of the carry, and return names and types."""
        n = next(self.count)
        names = [f"%l{n}_{i}" for i in range(len(carry))]
        declared = ", ".join(f"{name}: {tensor(a)}" for name, a in zip(names, avals, strict=True))
        regions = ", ".join(f"{{\n^bb0({declared}):\n{self.apart(lambda f=f: f(names))}\n}}" for f in (test, turn))
        return self.put(f'"stablehlo.while"({", ".join(carry)}) ({regions})', avals, avals)


def text_of(program):
    w = Writer()
    w.function("main", program, "public")
    inside = "\n".join(w.functions)
    return f"module @m {{\n{inside}\n}}"


def lower(f, *args):
    return text_of(make_jaxpr(f)(*args))
