"""Behind the door: a compiler of one's own, in five sections.

`from_scratch.py` ends at `xla.compile(text)`. This file shows what a compiler does with a program, and is small enough to be
read: it makes loops of a program, and C of the loops. The machine's C compiler does the rest; `cc.py`, which is given, calls
it. A program knows how it is run (`Jaxpr.run`), so `jit(f, backend="own")` only makes programs of another class, and nothing
in `from_scratch.py` has to change.

The numbers of the sections continue those of `from_scratch.py`. Sections 19 to 21 need its sections up to 11.
"""

import functools
import itertools
import math
import weakref

import numpy as np

import cc
from from_scratch import (
    BOOL, Array, Jaxpr, JaxprTrace, StaticJit, as_function, asked, broadcast_p, cond_p, convert_p, core, dot_p,
    elementwise_primitives, hoist, impl, jit, jit_p, lax, lowest, numpy, reduce_max_p, reduce_sum_p, reshape_p,
    scan_as_while, scan_p, select_p, split_list, transpose_p, types, while_p,
)  # fmt: skip

# === 19 One loop ======================================================================================================
# An elementwise program is one loop. Its body computes one number of the result from one number of each operand. What is in
# between are variables of C, so only results are stored. That is all that fusion is: nothing is stored in between.
# Broadcasting is not an operation either. It is an index in which an axis has the stride 0.

C_TYPES = {"bool": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int", "uint8": "unsigned char",
           "uint16": "unsigned short", "uint32": "unsigned", "float32": "float"}  # fmt: skip
PRELUDE = """#include <math.h>
static int power(int x, int n) { return n < 1 ? 1 : power(x * x, n / 2) * (n % 2 ? x : 1); }
"""


def c_type(aval):
    """Return the C type of an element."""
    if aval.dtype.name not in C_TYPES:
        raise NotImplementedError(f"there is no C for {aval}: {', '.join(C_TYPES)} have some.")
    return C_TYPES[aval.dtype.name]


FORMULAS = {  # name of the primitive -> the C of one number of the result, from one number of each operand
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "neg": "-{0}", "and": "{0} & {1}",
    "or": "{0} | {1}", "max": "{0} > {1} || {0} != {0} ? {0} : {1}", "min": "{0} < {1} || {0} != {0} ? {0} : {1}",
    "lt": "{0} < {1}", "le": "{0} <= {1}", "gt": "{0} > {1}", "ge": "{0} >= {1}", "eq": "{0} == {1}", "ne": "{0} != {1}",
    "sign": "{0} > 0 ? 1 : {0} < 0 ? -1 : {0}"}  # fmt: skip
OF_INTEGERS = {"abs": "{0} < 0 ? -{0} : {0}", "not": "~{0}", "pow": "power({0}, {1})", "floor": "{0}"}
OF_FLOATS = {  # all other operations of floats are functions of C with the primitive's name, such as `sinf`
    "pow": "powf({0}, {1})", "abs": "fabsf({0})", "max": "{0} > {1} || {0} != {0} || {0} == {1} && signbit({1}) ? {0} : {1}",
    "min": "{0} < {1} || {0} != {0} || {0} == {1} && signbit({0}) ? {0} : {1}"}  # fmt: skip


def conversion(eqn):
    """Return the C of a conversion. A float out of range becomes the nearest integer of the type, and nan becomes 0."""
    aval = eqn.outvars[0].aval
    if eqn.invars[0].aval.dtype.kind != "f" or aval.dtype.kind not in "iu":
        return "{0}"
    low, high = np.iinfo(aval.dtype).min, np.iinfo(aval.dtype).max
    return f"{{0}} != {{0}} ? 0 : {{0}} <= {low}.f ? {low}ll : {{0}} >= {high}.f ? {high} : ({c_type(aval)}){{0}}"


formulas = {convert_p: conversion, broadcast_p: lambda eqn: "{0}", select_p: lambda eqn: "{0} ? {1} : {2}"}


def formula(eqn):
    """Return the C of an elementwise operation, which depends on its name and on the kind of its operands."""
    name, kind = eqn.primitive.name, eqn.invars[0].aval.dtype.kind
    special = {"f": OF_FLOATS, "b": {"not": "!{0}", "abs": "{0}"}}.get(kind, OF_INTEGERS)
    return special.get(name) or FORMULAS.get(name, f"{name}f({{0}})")


formulas |= dict.fromkeys(elementwise_primitives.values(), formula)
index_maps = {}  # primitive that only reads elsewhere -> function from the index of the result to that of the operand
folds, enders = {}, {}  # primitives that end a loop: -> how a reduction combines numbers; -> who writes another one


def literal(x):
    """Write a number in C, with all of its digits."""
    n = np.asarray(x).item()
    if isinstance(n, float) and not math.isfinite(n):
        return f"({'-' * (n < 0)}{'NAN' if math.isnan(n) else 'INFINITY'})"
    return f"({c_type(x.aval)})({n.hex() if isinstance(n, float) else int(n)})"


def spread(shape, at):
    """Return the index in an array of this shape, broadcast to a result with index `at`: axes of size 1 stay at 0."""
    return tuple(["0" if n == 1 else i for i, n in zip(at[len(at) - len(shape) :], shape)])


def index(shape, at):
    """Return the place of an index in memory, where the numbers of an array lie row after row."""
    strides = itertools.accumulate(shape[::-1], int.__mul__, initial=1)
    return " + ".join([f"{i} * {s}" for i, s in zip(at[::-1], strides) if i != "0"]) or "0"


def nest(shape, axes, lines):
    """Write loops around some lines, one loop in the other."""
    heads = [f"for (long {i} = 0; {i} < {n}; {i}++)" for i, n in zip(axes, shape, strict=True)]
    return [*heads, "{", *lines, "}"]


counters = lambda shape: [f"i{axis}" for axis in range(len(shape))]


class Writer:
    """Writes the C of a program. `memory` has the name of each array in C, `lines` the body of the C function `run`. A
    primitive without C is a NotImplementedError."""

    def __init__(self, jaxpr):
        for eqn in jaxpr.eqns:
            if not any([eqn.primitive in table for table in (formulas, folds, enders)]):
                raise NotImplementedError(f"there is no C for the primitive {eqn.primitive.name!r}")
        self.jaxpr, self.lines, self.work = jaxpr, [], 0  # bytes of memory for what is neither given nor returned
        self.memory = {v: f"in{i}" for i, v in enumerate(jaxpr.invars)}
        self.outs = list(zip(jaxpr.outvars, [f"out{i}" for i in range(len(jaxpr.outvars))], strict=True))

    def text(self):
        """Return the whole text of C."""
        self.write()
        named = [(f"in{i}", v.aval) for i, v in enumerate(self.jaxpr.invars)] + [(name, v.aval) for v, name in self.outs]
        parameters = [f"{c_type(aval)} *restrict {name}" for name, aval in named]
        return "\n".join([f"{PRELUDE}void run({', '.join([*parameters, 'char *work'])}) {{", *self.lines, "}\n"])

    def write(self):
        """Write the body of `run`: a loop for each shape that a result has."""
        for shape in dict.fromkeys([v.aval.shape for v, _ in self.outs]):
            self.store([out for out in self.outs if out[0].aval.shape == shape], shape)

    def chain(self, roots):
        """Return the equations that compute these variables, if they are not in memory; and all variables that occur."""
        wanted, found = dict.fromkeys([v for v in roots if type(v) is not Array]), []
        for eqn in reversed(self.jaxpr.eqns):
            if any([v in wanted and v not in self.memory for v in eqn.outvars]):
                found.append(eqn)
                wanted |= dict.fromkeys([v for v in eqn.invars if type(v) is not Array])
        return found[::-1], list(wanted)

    def body(self, roots, axes):
        """Return the lines of one turn of a loop, which compute a number of each root, and the names of these numbers."""
        eqns, _ = self.chain(roots)
        wanted, names, places, lines = {}, {}, {}, []  # a variable can be wanted at several indices; `places` have names, too
        name = lambda v, at: literal(v) if type(v) is Array else names[v, spread(v.aval.shape, at)]
        operand = lambda eqn, at: index_maps[eqn.primitive](eqn, at, places) if eqn.primitive in index_maps else at
        want = lambda vs, at: [
            wanted.setdefault(v, {}).setdefault(spread(v.aval.shape, at)) for v in vs if type(v) is not Array]  # fmt: skip

        def line(v, at, said):
            names[v, at] = f"v{len(names)}"
            lines.append(f"{c_type(v.aval)} {names[v, at]} = {said}{' != 0' * (v.aval.dtype == BOOL)};")

        want(roots, axes)
        for eqn in reversed(eqns):
            for at in wanted[eqn.outvars[0]]:
                want(eqn.invars, operand(eqn, at))
        for v, at in [(v, at) for v in wanted if v in self.memory for at in wanted[v]]:
            line(v, at, f"{self.memory[v]}[{index(v.aval.shape, at)}]")
        for eqn, at in [(eqn, at) for eqn in eqns for at in wanted[eqn.outvars[0]]]:
            operands = [name(v, operand(eqn, at)) for v in eqn.invars]
            line(eqn.outvars[0], at, f"({formulas[eqn.primitive](eqn).format(*operands)})")
        return [*[f"long {k} = {said};" for said, k in places.items()], *lines], [name(v, axes) for v in roots]

    def store(self, targets, shape):
        """Write one loop over a shape, which computes and stores a number of each target in each turn."""
        axes = counters(shape)
        lines, names = self.body([v for v, _ in targets], axes)
        lines += [f"{memory}[{index(shape, axes)}] = {n};" for (_, memory), n in zip(targets, names, strict=True)]
        self.lines += nest(shape, axes, lines)


inlined = {jit_p: lambda *args, jaxpr, name: as_function(jaxpr)(*args)}  # primitive -> function that is called in its place


class Inliner(JaxprTrace):
    """The interpreter that writes a program down, with the equations of called programs in the place of calls."""

    def process(self, primitive, args, params):
        if primitive in inlined:
            return inlined[primitive](*args, **params)  # its operations come to the door, where this interpreter stands
        return super().process(primitive, args, params)


def rewritten(trace, jaxpr):
    """Run a program with a trace of this class at the door, and return the program that the trace has written."""
    trace = trace(jaxpr.in_avals)
    return trace.jaxpr(asked(trace, as_function(jaxpr), *trace.tracers))


passes = [functools.partial(rewritten, Inliner)]  # functions from a program to a program


class Own(Jaxpr):
    """A program that our own compiler compiles."""

    def run(self, args):
        if not hasattr(self, "executable"):
            self.executable = compile_own(self)
        for x in args:
            if not isinstance(x.data, cc.Buffer):
                x.data = cc.put(x.data)
        return list(map(Array, self.executable([x.data for x in args]), self.out_avals))


def compile_own(jaxpr):
    """Compile a program; return a function from buffers to buffers."""
    for improve in passes:
        jaxpr = improve(jaxpr)
    writer = Writer(jaxpr)
    run = cc.compile(writer.text())

    def executable(buffers):
        outs = [cc.alloc(v.aval.shape, v.aval.dtype) for v in jaxpr.outvars]
        run(*buffers, *outs, cc.alloc(writer.work, np.uint8))
        return outs

    return executable


own_memories = weakref.WeakKeyDictionary()  # like `memories`, which has the programs for XLA


class OwnJit(StaticJit):
    """`jit(f)` whose programs our own compiler compiles."""

    def __init__(self, f, **static):
        super().__init__(f, **static)
        self.known = own_memories.setdefault(f, {})

    def trace(self, tree, avals):
        found = consts, jaxpr, out_tree = super().trace(tree, avals)
        if type(jaxpr) is not Own:
            found = consts, Own([], jaxpr.invars, jaxpr.eqns, jaxpr.outvars, []), out_tree
            if (tree, avals) in self.known:
                self.known[tree, avals] = found
        return found


jit_by_xla = jit


def jit(f, backend="xla", **static):
    """`jit(f)`, or `jit(f, backend="own")`."""
    return OwnJit(f, **static) if backend == "own" else jit_by_xla(f, **static)

# >>> x = np.ones((2, 3), np.float32)
# >>> print(jit(lambda x, y: numpy.sin(x) * y + 1.0, backend="own")(x, x[0]), cc.loops)
# => Array([[1.841471 1.841471 1.841471]
# =>  [1.841471 1.841471 1.841471]], dtype=float32) 1

# === 20 Throw out =====================================================================================================
# Until now XLA left out what need not be computed. An interpreter at the door can do that: the program is run once more,
# and what is known already is returned, and not written down. An operation on numbers is computed now. An operation that
# was written down before has its results. And `x * 1` is `x`, as `x + 0` is for integers; but -0.0 + 0.0 is 0.0, and inf -
# inf is not 0: only what is exact is replaced. Then the equations that nobody needs are dropped, from the end to the
# beginning.


IDLE = {  # which second operands leave the first as it is
    "add": lambda n, is_float: n == 0 and (math.copysign(1, n) < 0 if is_float else True),
    "sub": lambda n, is_float: n == 0 and math.copysign(1, n) > 0,
    **dict.fromkeys(("mul", "div", "pow"), lambda n, is_float: n == 1)}  # fmt: skip


def unchanged(primitive, args, aval):
    """Return the operand that equals the result, which has this type; None if the result has to be computed."""
    pairs = [args] + [args[::-1]] * (primitive.name in ("add", "mul"))
    if primitive in (convert_p, broadcast_p):
        return args[0] if args[0].aval == aval else None
    if primitive.name in IDLE:
        for x, y in pairs:
            if type(y) is Array and x.aval == aval and IDLE[primitive.name](np.asarray(y).item(), y.dtype.kind == "f"):
                return x


def identity(x):
    """Return a key that only equal operands share: the variable, or a number's type and bytes, since 0.0 == -0.0."""
    return (x.aval, np.asarray(x).tobytes()) if type(x) is Array else x.data


class Thrifty(Inliner):
    """The interpreter that writes down only what has to be computed."""

    def __init__(self, avals):
        super().__init__(avals)
        self.known = {}  # primitive, operands and parameters -> the results

    def process(self, primitive, args, params):
        if primitive in inlined:
            return super().process(primitive, args, params)
        [aval, *more] = types[primitive](*[x.aval for x in args], **params)
        if primitive in formulas and aval.shape == () and all([type(x) is Array for x in args]):
            return impl[primitive](*args, **params)
        if not more and (same := unchanged(primitive, args, aval)) is not None:
            return [same]
        key = primitive, tuple(map(identity, args)), tuple(sorted(params.items()))
        if key not in self.known:
            self.known[key] = super().process(primitive, args, params)
        return self.known[key]


def without_dead(jaxpr):
    """Return a program without the equations whose results nobody needs."""
    needed, eqns = {v for v in jaxpr.outvars if type(v) is not Array}, []
    for eqn in reversed(jaxpr.eqns):
        if not needed.isdisjoint(eqn.outvars):
            eqns.append(eqn)
            needed.update([v for v in eqn.invars if type(v) is not Array])
    return Jaxpr(jaxpr.constvars, jaxpr.invars, eqns[::-1], jaxpr.outvars, jaxpr.consts)


passes = [functools.partial(rewritten, Thrifty), without_dead]


def optimise(jaxpr):
    """Return a program of `make_jaxpr` without needless equations, and with calls replaced by what they call."""
    consts, [whole] = hoist(jaxpr)
    for improve in passes:
        whole = improve(whole)
    return Jaxpr(whole.invars[: len(consts)], whole.invars[len(consts) :], whole.eqns, whole.outvars, consts)


core.optimise = optimise

# >>> print(core.optimise(make_jaxpr(lambda x: (numpy.sin(x) * 1.0 + numpy.sin(x), numpy.exp(x))[0])(1.0)))
# => { lambda ; a:f32[]. let
# =>     b:f32[] = sin a
# =>     c:f32[] = add b b
# =>   in (c,) }

# === 21 Who dies here =================================================================================================
# A sum ends a loop: nobody knows it before the last turn. So a program becomes several loops, and what a later loop needs
# from an earlier one lies in memory, between the loop that writes it and the last one that reads it. Two arrays that never
# live at one time can have the same bytes. Memory is a register file, only larger; so a chain of any length needs two.

folds |= {reduce_sum_p: ("{0} + {1}", lambda dtype: 0), reduce_max_p: (FORMULAS["max"], lowest)}


def plan(lives):
    """Place each array in memory, from its life (first step, last step, bytes): at the lowest place free all that time."""
    offsets, ends = {}, [0]
    for name, (first, last, size) in lives.items():
        others = [(offsets[o], offsets[o] + lives[o][2]) for o in offsets if lives[o][0] <= last and first <= lives[o][1]]
        at = 0
        for begin, end in sorted(others):
            if at + size <= begin:
                break
            at = max(at, end)
        offsets[name] = at
        ends.append(at + size)
    return offsets, max(ends)


bytes_of = lambda v: v.aval.size * v.aval.dtype.itemsize


class Planner(Writer):
    """Writes several loops, and decides where the arrays lie that they share. A step is one loop, a triple: the equation
    that ends it, or None; the variables that it computes for this equation, or stores; its shape."""

    room = "work"  # the memory in which arrays lie that are neither arguments nor results

    def steps(self):
        found, made = [], set(self.memory)
        for eqn in self.jaxpr.eqns:
            if eqn.primitive in enders:  # it reads numbers more than once: they are stored first
                found += self.storing([v for v in eqn.invars if type(v) is not Array and v not in made])
            if eqn.primitive in enders or eqn.primitive in folds:
                found.append((eqn, eqn.invars, eqn.invars[0].aval.shape if eqn.primitive in folds else None))
                made.update(eqn.outvars)
        return found + self.storing([v for v, _ in self.outs])

    def storing(self, vs):
        """Return steps that store these variables: one for each shape."""
        shapes = dict.fromkeys([v.aval.shape for v in vs])
        return [(None, [v for v in vs if v.aval.shape == shape], shape) for shape in shapes]

    def take(self, c_type, size):
        """Take memory for this step, and for later ones that read it; return its name."""
        name = f"{self.room}_{len(self.lives)}"
        self.lives[name], self.types[name] = [self.number, self.number, -(-size // 64) * 64], c_type
        return name

    def write(self):
        self.lives, self.types = {}, {}  # of arrays in `room`, by name: lives, as `plan` takes them; types of C
        places = {v: name for v, name in self.outs[::-1] if type(v) is not Array and v not in self.memory}
        steps = self.steps()
        kept = self.shared(steps)
        for self.number, (eqn, roots, shape) in enumerate(steps):
            made = [v for v, first in kept.items() if first == self.number] + (eqn.outvars if eqn is not None else [])
            for v in made:
                if v not in places:
                    places[v] = self.take(c_type(v.aval), bytes_of(v))
            targets = [(v, places[v]) for v in made]
            if eqn is None:
                results = [out for out in self.outs if any([out[0] is v for v in roots]) and out not in targets]
                targets += [(v, name) for v, name in results if type(v) is Array or self.memory.get(v) != name]
            for v in self.chain([*roots, *[v for v, _ in targets]])[1]:
                if self.memory.get(v) in self.lives:
                    self.lives[self.memory[v]][1] = self.number  # it is read here, and perhaps not again
            if eqn is not None:
                (enders.get(eqn.primitive) or Planner.fold)(self, eqn, targets, shape)
            elif targets:  # not all are there already
                self.store(targets, shape)
            self.memory |= dict(targets[: len(made)])
        offsets, self.work = plan(self.lives)
        self.lines = [f"{self.types[t]} *{t} = (void *)({self.room} + {at});" for t, at in offsets.items()] + self.lines

    def shared(self, steps):
        """Return the variables that are stored because several steps need them, with the step that stores each: the first
        that can. A variable that only serves another such variable is not stored."""
        needed = {}  # variable -> the steps that compute it, if nothing is stored
        results = {v: "" for eqn, *_ in steps if eqn is not None for v in eqn.outvars}
        memory, self.memory = self.memory, self.memory | results
        for number, (_, roots, _) in enumerate(steps):
            for eqn in self.chain([v for v in roots if type(v) is Array or v not in results])[0]:
                needed.setdefault(eqn.outvars[0], []).append(number)
        self.memory = memory
        parted = {v for _, roots, _ in steps for v in roots if type(v) is not Array}
        for eqn in self.jaxpr.eqns:
            out = eqn.outvars[0]
            parted |= {v for v in eqn.invars if out in needed and type(v) is not Array and needed.get(v) != needed[out]}
        firsts = {v: next((n for n in needed[v] if steps[n][2] == v.aval.shape), None) for v in needed if v in parted}
        return {v: first for v, first in firsts.items() if first is not None and first != needed[v][-1]}

    def fold(self, eqn, targets, shape):
        """Write a loop that combines numbers along some axes, the inner ones, and stores what it computes besides."""
        *stored, (out, memory) = targets
        axes, inner = counters(shape), eqn.params["axis"]
        outer = [i for i in range(len(shape)) if i not in inner]
        lines, [n, *names] = self.body([eqn.invars[0], *[v for v, _ in stored]], axes)
        lines += [f"{place}[{index(shape, axes)}] = {name};" for (_, place), name in zip(stored, names, strict=True)]
        combine, first = folds[eqn.primitive]
        begin = literal(Array(np.asarray(first(out.aval.dtype), out.aval.dtype)))
        turns = nest([shape[i] for i in inner], [axes[i] for i in inner], [*lines, f"a = {combine.format('a', n)};"])
        if len(inner) > 0 and eqn.primitive is reduce_sum_p:  # whose order is free, as XLA's is
            turns.insert(len(inner) - 1, "#pragma omp simd reduction(+:a)")
        kept = [axes[i] for i in outer]
        lines = [f"{c_type(out.aval)} a = {begin};", *turns, f"{memory}[{index(out.aval.shape, kept)}] = a;"]
        self.lines += nest([shape[i] for i in outer], kept, lines)


Writer = Planner

# >>> f = jit(lambda x: numpy.exp(x) / numpy.sum(numpy.exp(x)), backend="own")
# >>> print(f(numpy.zeros(4)), cc.loops)
# => Array([0.25 0.25 0.25 0.25], dtype=float32) 2

# === 22 Loops that end ================================================================================================
# A reshape or a transpose computes nothing: the operand is read at another index, and the loop goes on. So an equation may
# be needed at several indices in one turn, and has a line for each. A product is a loop of its own, and its operands are
# stored before it, since it reads each number many times. It goes tile by tile, so that a number that was loaded is used
# for many results while it is near. `cond` and `while` are C's `if` and `for`. In their braces stands a program with loops,
# and memory, of its own.


def reshape_index(eqn, at, places):
    """Return the index in the operand of a reshape. If other axes than those of size 1 change, it is computed from the
    place in memory, which gets a name."""
    [x], [out] = eqn.invars, eqn.outvars
    known = [i for i, n in zip(at, out.aval.shape, strict=True) if n != 1]
    if [n for n in x.aval.shape if n != 1] == [n for n in out.aval.shape if n != 1]:
        return ["0" if n == 1 else known.pop(0) for n in x.aval.shape]
    place = places.setdefault(index(out.aval.shape, at), f"k{len(places)}")
    return [f"{place} / {math.prod(x.aval.shape[axis + 1 :])} % {n}" for axis, n in enumerate(x.aval.shape)]


index_maps |= {
    transpose_p: lambda eqn, at, places: [at[eqn.params["axes"].index(axis)] for axis in range(len(at))],
    reshape_p: reshape_index}  # fmt: skip
formulas |= dict.fromkeys(index_maps, lambda eqn: "{0}")
inlined[scan_p] = scan_as_while
TILE = 4, 32  # rows and columns


def inner(writer, jaxpr, operands, outs):
    """Return the lines of a program within another one. Its operands are in memory, and its results have names already."""
    trace = Thrifty([x.aval for x in operands])  # operands that are numbers stay numbers in it
    given = [x if type(x) is Array else tracer for x, tracer in zip(operands, trace.tracers, strict=True)]
    within = Writer(without_dead(trace.jaxpr(asked(trace, as_function(jaxpr), *given))))
    within.memory = {v: writer.memory[x] for v, x in zip(trace.invars, operands, strict=True) if type(x) is not Array}
    within.outs = list(zip(within.jaxpr.outvars, outs, strict=True))
    within.room = writer.take("char", 0)
    within.write()
    writer.lives[within.room][2] = within.work
    return ["{", *within.lines, "}"]


def write_dot(writer, eqn, targets, shape):
    """Write a product, in tiles of the last two axes of the result. Each tile is summed up completely, then stored."""
    (xs, ys, zs), [x, y], [(v, out)] = eqn.params["letters"], eqn.invars, targets
    sizes = dict(zip(xs + ys, x.aval.shape + y.aval.shape, strict=True))
    tile = {c: max(1, min(n, sizes[c])) for c, n in zip(zs[-2:], TILE[-len(zs[-2:]) :], strict=False)}
    at = {c: f"(l{c} + j{c})" if c in tile else f"l{c}" for c in sizes}  # tile by tile, and within the tile
    place = lambda memory, letters: f"{memory}[{index([sizes[c] for c in letters], [at[c] for c in letters])}]"
    add, times = ("or", "and") if v.aval.dtype == BOOL else ("add", "mul")
    product = FORMULAS[times].format(place(writer.memory[x], xs), place(writer.memory[y], ys))
    a, summed = "a" + "".join([f"[j{c}]" for c in tile]), [c for c in sizes if c not in zs]
    within = lambda ends, line: nest(ends, [f"j{c}" for c in tile], [line])
    adding = lambda ends: nest([sizes[c] for c in summed], [f"l{c}" for c in summed],
                               within(ends, f"{a} = {FORMULAS[add].format(a, product)};"))  # fmt: skip
    ends = [f"n{c}" for c in tile]
    lines = [f"long n{c} = {sizes[c]} - l{c} < {n} ? {sizes[c]} - l{c} : {n};" for c, n in tile.items()]
    lines += [f"{c_type(v.aval)} a{''.join([f'[{n}]' for n in tile.values()])} = {{0}};"]
    if tile:  # a whole tile has loops whose ends the compiler knows: it keeps the tile in registers
        lines += [f"if ({' && '.join([f'n{c} == {n}' for c, n in tile.items()])})", *adding(tile.values()), "else"]
    lines += [*adding(ends), *within(ends, f"{place(out, zs)} = {a};")]
    heads = [f"for (long l{c} = 0; l{c} < {sizes[c]}; l{c} += {tile.get(c, 1)})" for c in zs]
    writer.lines += [*heads, "{", *lines, "}"]


def write_cond(writer, eqn, targets, shape):
    """Write an `if` of C for each branch."""
    chosen, *operands = eqn.invars
    which = literal(chosen) if type(chosen) is Array else f"{writer.memory[chosen]}[0]"
    for number, branch in enumerate(eqn.params["branches"]):
        writer.lines += [f"if ({which} == {number})", *inner(writer, branch, operands, [out for _, out in targets])]


def write_while(writer, eqn, targets, shape):
    """Write a loop of C. The carry lies in the memory of the results; each turn computes the next carry beside it."""
    consts, carry = split_list(eqn.invars, eqn.params["num_consts"])
    for x, (_, out) in zip(carry, targets, strict=True):
        writer.store([(x, out)], x.aval.shape)
    writer.memory |= dict(targets)
    operands, goes_on = [*consts, *eqn.outvars], writer.take("unsigned char", 1)
    following = [writer.take(c_type(v.aval), bytes_of(v)) for v in eqn.outvars]
    test = inner(writer, eqn.params["cond_jaxpr"], operands, [goes_on])
    body = inner(writer, eqn.params["body_jaxpr"], operands, following)
    moves = [f"__builtin_memcpy({out}, {new}, {bytes_of(v)});" for (v, out), new in zip(targets, following, strict=True)]
    writer.lines += ["for (;;) {", *test, f"if (!{goes_on}[0]) break;", *body, *moves, "}"]


enders |= {dot_p: write_dot, cond_p: write_cond, while_p: write_while}

# >>> f = jit(lambda x: lax.while_loop(lambda x: numpy.max(x) < 100, lambda x: x * x, x), backend="own")
# >>> print(f(numpy.asarray([2.0, 3.0])), cc.loops)
# => Array([ 256. 6561.], dtype=float32) 2

# === 23 The race ======================================================================================================
# C's `expf` and `tanhf` take one number, and a call each time. A polynomial takes as many numbers as a register holds, and
# is a part of the loop. e**x is 2**n e**r, with n whole and r between -0.35 and 0.35; log 2 is written as the sum of two
# numbers; the first one has so few digits that n times it is exact. `-ffast-math` would vectorise them, too, but it also
# says that there is no nan and no infinity, that sums may be made in any order, and that x / y is x * (1 / y). That changes
# what a program means: whether the results are still right is for whoever wrote it to know, not for a compiler.

PRELUDE += """
static inline float two_to(int n) { union { int bits; float x; } two = {(n + 127) << 23}; return two.x; }
static inline float own_exp(float x) {
  x = x > 89 ? 89 : x < -104 ? -104 : x;
  float n = rintf(x * 1.44269504f), r = x - n * 0.693359375f + n * 2.12194440e-4f, p = 1.9875691500e-4f;
  p = (((p * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f) * r + 1.6666665459e-1f;
  return ((p * r + 0.5f) * r * r + r + 1) * two_to((int)n >> 1) * two_to((int)n - ((int)n >> 1)); }
static inline float own_tanh(float x) {
  float z = x * x, far = 1 - 2 / (own_exp(2 * fabsf(x)) + 1), p = -5.70498872745e-3f;
  p = (((p * z + 2.06390887954e-2f) * z - 5.37397155531e-2f) * z + 1.33314422036e-1f) * z - 3.33332819422e-1f;
  return copysignf(fabsf(x) < 0.625f ? p * z * x + x : far, x); }
"""  # the numbers: S. Moshier, Cephes Mathematical Library, expf and tanhf
OF_FLOATS |= {"exp": "own_exp({0})", "tanh": "own_tanh({0})"}

# >>> print(jit(lambda x: numpy.tanh(x), backend="own")(numpy.asarray([0.0, 9.5, np.inf, np.nan])), "expf(" in cc.texts[-1])
# => Array([ 0.  1.  1. nan], dtype=float32) False
