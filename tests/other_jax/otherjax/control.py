import numpy as np

from .jaxprs import call, hoisted, trace_tree
from .movers import INT, index
from .primitives import Primitive, convert
from .trees import flatten, unflatten
from .values import Number, Symbol, Type, thing


class Within(Primitive):
    """A primitive whose parameters are programs."""

    def outs(self, program):
        return [v.aval for v in program.jaxpr.outvars]


class JitCall(Within):
    name = "jit"

    def __init__(self, program, label):
        self.program, self.params = program, {"jaxpr": program, "name": label}

    def types(self, *avals):
        return self.outs(self.program)

    def now(self, *xs):
        return call(self.program, xs)

    def text(self, w, names, ins, *outs):
        if self.program not in w.known:
            w.known[self.program] = f"f{len(w.known)}"
            w.function(w.known[self.program], self.program)
        return w.put(f"func.call @{w.known[self.program]}({', '.join(names)})", ins, outs)


class Cond(Within):
    name = "cond"

    def __init__(self, branches):
        self.branches, self.params = branches, {"branches": branches}

    def types(self, i, *avals):
        return self.outs(self.branches[0])

    def now(self, i, *xs):
        ys = call(self.branches[min(max(int(np.asarray(i)), 0), len(self.branches) - 1)], xs)
        return [convert(y, a.dtype, a.weak_type) for y, a in zip(ys, self.types(i), strict=True)]

    def text(self, w, names, ins, *outs):
        i, *xs = names
        for word, limit in (("minimum", len(self.branches) - 1), ("maximum", 0)):
            [i] = w.put(f"stablehlo.{word} {i}, {w.const(np.int32(limit))}", [ins[0]] * 2, [ins[0]])
        regions = ", ".join(f"{{\n{w.apart(lambda b=b: (w.block(b, xs), outs))}\n}}" for b in self.branches)
        return w.put(f'"stablehlo.case"({i}) ({regions})', [ins[0]], outs)


def switch(i, branches, *operands):
    leaves, s = flatten(operands)
    leaves = [thing(x) for x in leaves]
    traced = [trace_tree(b, s, [x.aval for x in leaves]) for b in branches]
    kinds = [(out, [(v.aval.shape, v.aval.dtype) for v in p.jaxpr.outvars]) for p, out in traced]
    if any(kind != kinds[0] for kind in kinds):
        raise TypeError(f"branches return different things: {kinds}")
    outer, programs = hoisted(*[p for p, _ in traced])
    return unflatten(traced[0][1], Cond(programs).all(convert(thing(i), INT, False), *outer, *leaves))


def cond(pred, yes, no, *operands):
    pred = thing(pred)
    if pred.shape != ():
        raise TypeError(f"one decision, not {pred.shape}")
    return switch(pred != 0 if pred.dtype != bool else pred, [no, yes], *operands)


class While(Within):
    name = "while"

    def __init__(self, test, body, counts):
        self.test, self.body, self.counts = test, body, counts
        self.params = {"cond_jaxpr": test, "body_jaxpr": body}

    def parts(self, xs):
        n, m = self.counts
        return list(xs[:n]), list(xs[n : n + m]), list(xs[n + m :])

    def types(self, *avals):
        return self.outs(self.body)

    def now(self, *xs):
        for_test, for_body, carry = self.parts(xs)
        while call(self.test, for_test + carry)[0]:
            carry = call(self.body, for_body + carry)
        return carry

    def text(self, w, names, ins, *outs):
        for_test, for_body, carry = self.parts(names)

        def test(names):
            return w.block(self.test, for_test + names), self.outs(self.test)

        return w.loop(carry, outs, test, lambda names: (w.block(self.body, for_body + names), outs))


def steady(f, carry, s, rows, rows_s):
    """Trace the body of a loop. Where the body returns an element of a weakly typed carry with a strong type, convert that element,
    and trace again, once. Return the body's program, the carry and the result's structure.
    """
    for is_last in (False, True):
        program, out = trace_tree(f, (tuple, None, (s, rows_s)), [x.aval for x in carry] + rows)
        avals = [v.aval for v in program.jaxpr.outvars][: len(carry)]
        if out[2][:1] != (s,):
            raise TypeError(f"the carry goes in as {s} and comes out as {out}")
        for x, a in zip(carry, avals, strict=True):
            is_lower = "biuf".index(a.dtype.kind) < "biuf".index(x.dtype.kind)
            if x.shape != a.shape or (x.dtype != a.dtype and (is_last or is_lower or not x.aval.weak_type)):
                raise TypeError(f"the carry goes in as {x.aval} and comes out as {a}")
        stronger = [convert(x, a.dtype, x.aval.weak_type and a.weak_type) for x, a in zip(carry, avals, strict=True)]
        if is_last or all(x is y for x, y in zip(carry, stronger, strict=True)):
            break
        carry = stronger
    return program, out, carry


def while_loop(test, body, init):
    carry, s = flatten(init)
    program, out, carry = steady(lambda c, _: (body(c), None), [thing(x) for x in carry], s, [], flatten(None)[1])
    asks, tree = trace_tree(test, (tuple, None, (s,)), [x.aval for x in carry])
    types = [(v.aval.shape, v.aval.dtype) for v in asks.jaxpr.outvars]
    if types != [((), np.dtype(bool))] or tree != flatten(True)[1]:
        raise TypeError("the test is no truth value")
    (a, [asks]), (b, [program]) = hoisted(asks), hoisted(program)
    return unflatten(out, While(asks, program, (len(a), len(b))).all(*a, *b, *carry))[0]


class Scan(Within):
    name = "scan"

    def __init__(self, program, length, reverse, n, m):
        self.program, self.length, self.reverse, self.n, self.m = program, length, reverse, n, m
        self.params = {"jaxpr": program, "length": length, "reverse": reverse}

    def parts(self, xs):
        return list(xs[: self.n]), list(xs[self.n : self.n + self.m]), list(xs[self.n + self.m :])

    def types(self, *avals):
        outs = self.outs(self.program)
        return outs[: self.m] + [Type((self.length, *a.shape), a.dtype, a.weak_type) for a in outs[self.m :]]

    def now(self, *xs):
        consts, carry, rows = self.parts(xs)
        stacks = [np.zeros(a.shape, a.dtype) for a in self.types()[self.m :]]
        for i in range(self.length)[:: -1 if self.reverse else 1]:
            outs = call(self.program, consts + carry + [index(x, i) for x in rows])
            carry = outs[: self.m]
            for stack, y in zip(stacks, outs[self.m :], strict=True):
                stack[i] = np.asarray(y)
        return carry + [Number(x) for x in stacks]

    def text(self, w, names, ins, *outs):
        consts, carry, rows = self.parts(names)
        row_avals, ys, number = ins[self.n + self.m :], list(outs[self.m :]), Type((), INT)
        stacks = [w.spread(w.const(np.zeros((), y.dtype)), Type((), y.dtype), y.shape) for y in ys]
        if not self.length:
            return carry + stacks
        zero, one, end = (w.const(np.int32(n)) for n in (0, 1, self.length))

        def turn(names):
            i, carry, stacks = names[0], names[1 : 1 + self.m], names[1 + self.m :]
            at = i
            if self.reverse:
                [at] = w.put(f"stablehlo.subtract {end}, {at}", [number] * 2, [number])
                [at] = w.put(f"stablehlo.subtract {at}, {one}", [number] * 2, [number])
            given = []
            for x, a in zip(rows, row_avals, strict=True):
                flat, thin = Type(a.shape[1:], a.dtype), Type((1, *a.shape[1:]), a.dtype)
                corner = ", ".join([at, *[zero] * len(flat.shape)])
                said = f"stablehlo.dynamic_slice {x}, {corner}, sizes = {list(thin.shape)}"
                [row] = w.put(said, [a, *[number] * len(a.shape)], [thin])
                given += w.put(f"stablehlo.reshape {row}", [thin], [flat])
            found = w.block(self.program, consts + carry + given)
            for k, (stack, a) in enumerate(zip(stacks, ys, strict=True), self.m):
                flat, thin = Type(a.shape[1:], a.dtype), Type((1, *a.shape[1:]), a.dtype)
                [row] = w.put(f"stablehlo.reshape {found[k]}", [flat], [thin])
                corner = ", ".join([at, *[zero] * len(flat.shape)])
                said = f"stablehlo.dynamic_update_slice {stack}, {row}, {corner}"
                [found[k]] = w.put(said, [a, thin, *[number] * len(a.shape)], [a])
            return [*w.put(f"stablehlo.add {i}, {one}", [number] * 2, [number]), *found], [number, *outs]

        def test(names):
            return w.put(f"stablehlo.compare LT, {names[0]}, {end}", [number] * 2, [Type((), np.dtype(bool))]), [
                Type((), np.dtype(bool))
            ]

        return w.loop([zero, *carry, *stacks], [number, *outs], test, turn)[1:]


def scan(f, init, xs=None, length=None, reverse=False):
    carry, s = flatten(init)
    rows, rows_s = flatten(xs)
    rows = [thing(x) for x in rows]
    lengths = {x.shape[0] if x.shape else None for x in rows} | ({length} - {None})
    if len(lengths) != 1 or None in lengths:
        raise ValueError(f"how many turns? {lengths}")
    avals = [Type(x.shape[1:], x.dtype, x.aval.weak_type) for x in rows]
    program, out, carry = steady(f, [thing(x) for x in carry], s, avals, rows_s)
    outer, [program] = hoisted(program)
    p = Scan(program, lengths.pop(), reverse, len(outer), len(carry))
    return unflatten(out, p.all(*outer, *carry, *rows))


def fori_loop(lower, upper, body, init):
    if not any(isinstance(n, Symbol) for n in (lower, upper)):

        def turn(c, _):
            return (c[0] + 1, body(*c)), None

        return scan(turn, (int(lower), init), length=max(int(upper) - int(lower), 0))[0][1]
    lower, upper = (convert(thing(n), INT, thing(n).aval.weak_type) for n in (lower, upper))
    return while_loop(lambda c: c[0] < upper, lambda c: (c[0] + 1, body(*c)), (lower, init))[1]


def is_traced(program, leaves):
    return any(isinstance(x, Symbol) for x in (*leaves, *program.consts))
