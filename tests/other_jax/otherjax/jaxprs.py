import dataclasses
import itertools
import string

import numpy as np

from .primitives import Convert
from .trees import flatten, unflatten
from .values import Number, Symbol, Type, thing


@dataclasses.dataclass
class Line:
    primitive: object
    invars: list
    outvars: list
    params: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Constant:
    val: object
    aval: Type


@dataclasses.dataclass
class Body:
    constvars: list
    invars: list
    eqns: list
    outvars: list


class Program:
    def __init__(self, body, consts):
        self.jaxpr, self.consts = body, consts

    def __str__(self):
        return printed(self.jaxpr)


class Page:
    """What is written while one function runs."""

    depths = itertools.count()

    def __init__(self):
        self.lines, self.closed, self.constants, self.depth = [], False, {}, next(self.depths)

    def operand(self, x):
        if isinstance(x, Symbol) and x.page is self:
            return x
        if isinstance(x, Number) and x.aval.shape == ():
            return Constant(np.asarray(x.numbers), x.aval)
        if id(x) not in self.constants:
            self.constants[id(x)] = (Symbol(self, x.aval), x)
        return self.constants[id(x)][0]

    def write(self, primitive, xs, aval):
        out = Symbol(self, aval)
        self.lines.append(Line(primitive, [self.operand(x) for x in xs], [out]))
        return out


def trace(f, avals):
    page = Page()
    arguments = [Symbol(page, a) for a in avals]
    try:
        outs = [page.operand(thing(x)) for x in f(*arguments)]
    finally:
        page.closed = True
    pairs = list(page.constants.values())
    return Program(Body([v for v, _ in pairs], arguments, page.lines, outs), [x for _, x in pairs])


def trace_tree(f, structure, avals):
    found = []

    def flat(*leaves):
        outs, s = flatten(f(*unflatten(structure, leaves)))
        found[:] = [s]
        return outs

    return trace(flat, avals), found[0]


def make_jaxpr(f):
    def make(*args):
        leaves, s = flatten(args)
        return trace_tree(f, s, [thing(x).aval for x in leaves])[0]

    return make


def run(jaxpr, consts, *args):
    env = {
        id(v): x for v, x in zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *map(thing, args)], strict=True)
    }

    def read(v):
        return Number(v.val, v.aval.weak_type) if isinstance(v, Constant) else env[id(v)]

    for line in jaxpr.eqns:
        env[id(line.outvars[0])] = line.primitive.do(*map(read, line.invars))
    return [read(v) for v in jaxpr.outvars]


def printed(b):
    names = {}

    def name(v):
        if isinstance(v, Constant):
            return f"{v.val.item()}:{v.aval}"
        n = names.setdefault(id(v), len(names))
        return (string.ascii_lowercase[n // 26] if n > 25 else "") + string.ascii_lowercase[n % 26]

    used = {id(v) for line in b.eqns for v in line.invars} | {id(v) for v in b.outvars}

    def binders(vs):
        return " ".join(f"{name(v)}:{v.aval}" for v in vs)

    text = f"{{ lambda {binders(b.constvars)}; {binders(b.invars)}. let\n"
    for line in b.eqns:
        [out] = line.outvars
        operands = " ".join(map(name, line.invars))
        text += f"    {binders([out]) if id(out) in used else f'_:{out.aval}'} = {line.primitive.name} {operands}\n"
    outs = [name(v) for v in b.outvars]
    return text + f"  in ({', '.join(outs)}{',' if len(outs) == 1 else ''}) }}"


KINDS = {"float32": "f32", "int32": "i32", "bool": "i1", "float16": "f16"}


def tensor(shape, dtype):
    return f"tensor<{''.join(f'{n}x' for n in shape)}{KINDS[dtype.name]}>"


def constant_text(x):
    if x.dtype == bool:
        return str(x.tolist()).lower()
    if x.shape == ():
        return f"0x{x.tobytes()[::-1].hex()}" if x.dtype.kind == "f" else str(x)
    return f'"0x{x.tobytes().hex()}"'


def text_of(program):
    """One function, a line at a time."""
    b, lines, count = program.jaxpr, [], itertools.count()
    names = {id(v): f"%a{i}" for i, v in enumerate(b.invars)}

    def put(text):
        lines.append(f"%{(n := next(count))} = {text}")
        return f"%{n}"

    def const(x):
        return put(f"stablehlo.constant dense<{constant_text(x)}> : {tensor(x.shape, x.dtype)}")

    def read(v, shape=None):
        name = const(np.asarray(v.val)) if isinstance(v, Constant) else names[id(v)]
        own = v.aval.shape
        if shape is None or shape == own:
            return name
        kept = [i for i in range(len(own)) if own[i] != 1 or shape[i + len(shape) - len(own)] == 1]
        small = tuple(own[i] for i in kept)
        if small != own:
            name = put(
                f"stablehlo.reshape {name} : ({tensor(own, v.aval.dtype)}) -> {tensor(small, v.aval.dtype)}"
            )
        dims = [i + len(shape) - len(own) for i in kept]
        types = f"({tensor(small, v.aval.dtype)}) -> {tensor(shape, v.aval.dtype)}"
        return put(f"stablehlo.broadcast_in_dim {name}, dims = {dims} : {types}")

    for v, x in zip(b.constvars, program.consts, strict=True):
        names[id(v)] = const(np.asarray(x))
    for line in b.eqns:
        p, out = line.primitive, line.outvars[0].aval
        given = line.invars[0].aval.dtype
        xs = [read(v, out.shape) for v in line.invars]
        to, of = tensor(out.shape, out.dtype), tensor(out.shape, given)
        if isinstance(p, Convert):
            name = xs[0] if given == out.dtype else put(f"stablehlo.convert {xs[0]} : ({of}) -> {to}")
        elif p.word.startswith("compare"):
            name = put(f"stablehlo.{p.word} {', '.join(xs)} : ({of}, {of}) -> {to}")
        else:
            name = put(f"stablehlo.{p.word} {', '.join(xs)} : {to}")
        names[id(line.outvars[0])] = name
    results = [read(v) for v in b.outvars]
    types = ", ".join(tensor(v.aval.shape, v.aval.dtype) for v in b.outvars)
    arguments = ", ".join(f"{names[id(v)]}: {tensor(v.aval.shape, v.aval.dtype)}" for v in b.invars)
    last = f"return {', '.join(results)} : {types}" if results else "return"
    inside = "\n".join([*lines, last])
    return f"module @m {{\nfunc.func public @main({arguments}) -> ({types}) {{\n{inside}\n}}\n}}"


def lower(f, *args):
    return text_of(make_jaxpr(f)(*args))
