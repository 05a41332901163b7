import dataclasses
import itertools
import string

import numpy as np

from . import faults
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
    """The equations and constants of a function while it is traced."""

    depths = itertools.count()

    def __init__(self):
        self.lines, self.closed, self.constants, self.depth = [], False, {}, next(self.depths)

    def operand(self, x):
        if isinstance(x, Symbol) and x.page is self:
            return x
        if isinstance(x, Symbol) and x.page.closed:
            raise faults.UnexpectedTracerError("a value was left behind by a trace that is over")
        if isinstance(x, Number) and x.aval.shape == ():
            return Constant(np.asarray(x.numbers), x.aval)
        if id(x) not in self.constants:
            self.constants[id(x)] = (Symbol(self, x.aval), x)
        return self.constants[id(x)][0]

    def write(self, primitive, xs, avals):
        outs = [Symbol(self, aval) for aval in avals]
        self.lines.append(Line(primitive, [self.operand(x) for x in xs], outs, primitive.params))
        return outs


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


def hoisted(*programs):
    """Return the symbols of enclosing traces that the programs close over, and the programs with these as their first arguments."""
    outer = {id(x): x for p in programs for x in p.consts if isinstance(x, Symbol)}
    found = []
    for p in programs:
        own = {id(x): v for v, x in zip(p.jaxpr.constvars, p.consts, strict=True)}
        first = [own[i] if i in own else Symbol(None, x.aval) for i, x in outer.items()]
        kept = [(v, x) for v, x in zip(p.jaxpr.constvars, p.consts, strict=True) if id(x) not in outer]
        body = dataclasses.replace(p.jaxpr, constvars=[v for v, _ in kept], invars=first + p.jaxpr.invars)
        found.append(Program(body, [x for _, x in kept]))
    return list(outer.values()), found if outer else programs


def call(program, args):
    return run(program.jaxpr, program.consts, *args)


def run(jaxpr, consts, *args):
    env = {id(v): x for v, x in zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *map(thing, args)], strict=True)}

    def read(v):
        return Number(v.val, v.aval.weak_type) if isinstance(v, Constant) else env[id(v)]

    for line in jaxpr.eqns:
        outs = line.primitive.all(*map(read, line.invars))
        env.update(zip(map(id, line.outvars), outs, strict=True))
    return [read(v) for v in jaxpr.outvars]


def word(n):
    return (word(n // 26) if n > 25 else "") + string.ascii_lowercase[n % 26]


def printed(b):
    names = {}

    def name(v):
        if isinstance(v, Constant):
            return f"{v.val.item()}:{v.aval}"
        return word(names.setdefault(id(v), len(names)))

    used = {id(v) for line in b.eqns for v in line.invars} | {id(v) for v in b.outvars}

    def binders(vs):
        return " ".join(f"{name(v)}:{v.aval}" for v in vs)

    text = f"{{ lambda {binders(b.constvars)}; {binders(b.invars)}. let\n"
    for line in b.eqns:
        outs = " ".join(binders([v]) if id(v) in used else f"_:{v.aval}" for v in line.outvars)
        operands = " ".join(map(name, line.invars))
        text += f"    {outs} = {line.primitive.name} {operands}\n"
    outs = [name(v) for v in b.outvars]
    return text + f"  in ({', '.join(outs)}{',' if len(outs) == 1 else ''}) }}"
