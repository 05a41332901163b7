import builtins
import functools
import itertools

import numpy as np

from .control import Cond, JitCall, Scan, While, scan, switch, while_loop
from .jaxprs import Page, call, hoisted, trace_tree
from .movers import (
    Broadcast,
    Dot,
    Max,
    Mover,
    Reshape,
    Select,
    Sum,
    Transpose,
    Window,
    broadcast_to,
    max,
    reshape,
    sum,
    transpose,
    where,
    zeros_like,
)
from .primitives import ALL, Convert, Primitive, convert, user
from .trees import NODES, flatten, unflatten
from .values import Symbol, Type, thing

FLOAT = np.dtype("float32")


class Put(Mover):
    """Writes a window."""

    name = word = "dynamic_update_slice"

    def compute(self, x, y, *corner):
        at = [int(np.clip(c, 0, n - size)) for c, n, size in zip(corner, x.shape, y.shape, strict=True)]
        x = x.copy()
        x[tuple(slice(a, a + n) for a, n in zip(at, y.shape, strict=True))] = y
        return x

    def type(self, x, y, *corner):
        return x


def is_float(x):
    return x.aval.dtype.kind == "f"


def filled(ts, xs):
    return [None if not is_float(x) else zeros_like(x) if t is None else t for t, x in zip(ts, xs, strict=True)]


def at_once(f, *args):
    """Record a call of a function of trees as one equation, like a call of a jitted function."""
    leaves, s = flatten(args)
    program, out = trace_tree(f, s, [x.aval for x in leaves])
    outer, [program] = hoisted(program)
    return unflatten(out, JitCall(program, "f").all(*outer, *leaves))


# --- forward mode: a pair of value and tangent; a primitive's class has its rule


class Dual(Symbol):
    def __init__(self, page, value, tangent):
        super().__init__(page, value.aval)
        self.value, self.tangent = value, tangent


class Maker:
    """A trace that records no equations: its subclasses process each operation at once."""

    closed = False

    def __init__(self):
        self.depth = next(Page.depths)

    def mine(self, x):
        return isinstance(x, Symbol) and x.page is self


class Forward(Maker):
    def pair(self, x):
        return (x.value, x.tangent) if self.mine(x) else (x, None)

    def dual(self, x, t):
        return x if t is None else Dual(self, x, t)

    def write(self, p, xs, avals):
        pairs = [self.pair(x) for x in xs]
        return list(map(self.dual, *p.jvp([x for x, _ in pairs], [t for _, t in pairs])))


def forward(f, xs, ts):
    maker = Forward()
    pairs = [maker.pair(thing(y)) for y in f(*map(maker.dual, xs, ts))]
    return [y for y, _ in pairs], [t for _, t in pairs]


def jvp(f, primals, tangents):
    (xs, s), (ts, other) = flatten(tuple(primals)), flatten(tuple(tangents))
    if s != other:
        raise TypeError("primals and tangents are built differently")
    out = []

    def flat(*xs):
        ys, form = flatten(f(*unflatten(s, xs)))
        out[:] = [form]
        return ys

    xs, ts = [thing(x) for x in xs], [thing(t) for t in ts]
    for x, t in zip(xs, ts, strict=True):
        if x.shape != t.shape:
            raise ValueError(f"{x.aval} moves by {t.aval}: the shapes differ")
        if x.dtype != t.dtype or not is_float(x):
            raise TypeError(f"{x.aval} moves by {t.aval}: both are to be the same floats")
    ys, ts = forward(flat, xs, ts)
    ts = [zeros_like(y) if t is None else t for t, y in zip(ts, ys, strict=True)]
    return unflatten(out[0], ys), unflatten(out[0], ts)


u = {name: user(name, name in ("log", "sqrt", "cos", "sin")) for name in ALL}


def half(x, y, out, t):
    return t * where(u["eq"](x, out), where(u["eq"](y, out), 0.5, 1.0), 0.0)


PARTIALS = {
    "neg": [lambda x, o, t: -t], "abs": [lambda x, o, t: t * where(x < 0, -1, 1)], "sin": [lambda x, o, t: t * u["cos"](x)],
    "cos": [lambda x, o, t: -t * u["sin"](x)], "tan": [lambda x, o, t: t * (1 + o * o)], "tanh": [lambda x, o, t: t * (1 - o * o)],
    "exp": [lambda x, o, t: t * o], "log": [lambda x, o, t: t / x], "sqrt": [lambda x, o, t: t / (o * 2)],
    "add": [lambda x, y, o, t: t] * 2, "sub": [lambda x, y, o, t: t, lambda x, y, o, t: -t],
    "mul": [lambda x, y, o, t: t * y, lambda x, y, o, t: t * x], "div": [lambda x, y, o, t: t / y, lambda x, y, o, t: -t * o / y],
    "pow": [lambda x, y, o, t: t * y * x ** (y - 1), lambda x, y, o, t: t * o * u["log"](where(x == 0, 1, x))],
    "log1p": [lambda x, o, t: t / (1 + x)], "expm1": [lambda x, o, t: t * (o + 1)],
    "max": [half, lambda x, y, o, t: half(y, x, o, t)], "min": [half, lambda x, y, o, t: half(y, x, o, t)],
}  # fmt: skip


def total(terms):
    return functools.reduce(lambda a, b: a + b, terms)


def fit(ct, x):
    """Return the cotangent, summed to the shape of x."""
    extra = len(ct.shape) - len(x.shape)
    axes = [i for i in range(len(ct.shape)) if i < extra or x.shape[i - extra] != ct.shape[i]]
    return reshape(sum(ct, axes) if axes else ct, x.shape)


def jvp_elementwise(p, xs, ts):
    [out] = p.all(*xs)
    if p.name not in PARTIALS:
        return [out], [None]
    moved = [d(*xs, out, t) for d, t in zip(PARTIALS[p.name], ts, strict=True) if t is not None]
    return [out], [broadcast_to(total(moved), out.shape)]


def vjp_elementwise(p, cts, xs, outs):
    """Return the cotangents of the operands. The derivative of an elementwise operation multiplies tangents and cotangents alike."""
    rules = PARTIALS.get(p.name, [None] * len(xs))
    return [fit(d(*xs, outs[0], cts[0]), x) if d and is_float(x) else None for d, x in zip(rules, xs, strict=True)]


def jvp_linear(p, xs, ts):
    return p.all(*xs), p.all(*[x if t is None else t for t, x in zip(filled(ts, xs), xs, strict=True)])


def jvp_convert(p, xs, ts):
    return p.all(*xs), [convert(ts[0], p.to, False) if p.to.kind == "f" else None]


def jvp_dot(p, xs, ts):
    (x, y), (dx, dy) = xs, ts
    return p.all(x, y), [total([p.do(a, b) for a, b in ((dx, y), (x, dy)) if a is not None and b is not None])]


def largest(p, x, out):
    there = convert(u["eq"](x, reshape(out, [1 if i in p.axes else n for i, n in enumerate(x.shape)])), FLOAT, False)
    return there / sum(there, p.axes, keepdims=True)


def jvp_max(p, xs, ts):
    [out] = p.all(*xs)
    return [out], [sum(ts[0] * largest(p, xs[0], out), p.axes)]


def tangents(program):
    def f(xs, ts):
        ys, ts = forward(lambda *xs: call(program, xs), xs, ts)
        return filled(ts, ys)

    return f


def jvp_jit(p, xs, ts):
    return p.all(*xs), at_once(tangents(p.program), xs, ts)


def jvp_cond(p, xs, ts):
    return p.all(*xs), switch(xs[0], [tangents(b) for b in p.branches], xs[1:], ts[1:])


def jvp_while(p, xs, ts):
    (for_test, consts, carry), (_, const_ts, carry_ts) = p.parts(xs), p.parts(ts)

    def turn(state):
        ys, ts = forward(lambda *xs: call(p.body, xs), consts + state[0], const_ts + state[1])
        return ys, filled(ts, ys)

    return while_loop(lambda state: call(p.test, for_test + state[0])[0], turn, (carry, filled(carry_ts, carry)))


def jvp_scan(p, xs, ts):
    (consts, carry, rows), (const_ts, carry_ts, row_ts) = p.parts(xs), p.parts(ts)

    def turn(state, row):
        ys, ts = forward(lambda *xs: call(p.program, xs), consts + state[0] + row[0], const_ts + state[1] + row[1])
        ts = filled(ts, ys)
        return (ys[: p.m], ts[: p.m]), (ys[p.m :], ts[p.m :])

    (a, da), (b, db) = scan(turn, (carry, filled(carry_ts, carry)), (rows, row_ts), p.length, p.reverse)
    return a + b, da + db


# --- reverse mode: a tape of operations; programs inside of operations are run again in the backward pass


class Taped(Symbol):
    def __init__(self, page, value):
        super().__init__(page, value.aval)
        self.value = value


class Tape(Maker):
    def __init__(self):
        super().__init__()
        self.done = []

    def value(self, x):
        return x.value if self.mine(x) else x

    def write(self, p, xs, avals):
        values = [self.value(x) for x in xs]
        outs = p.all(*values)
        symbols = [Taped(self, y) for y in outs]
        self.done.append((p, xs, values, outs, symbols))
        return symbols

    def back(self, symbols, ys, cts):
        found = {}

        def give(x, ct):
            if ct is not None and self.mine(x):
                found[id(x)] = found[id(x)] + ct if id(x) in found else ct

        for y, ct in zip(ys, cts, strict=True):
            give(y, ct)
        for p, xs, values, outs, made in reversed(self.done):
            if any(id(y) in found for y in made):
                cts = filled([found.get(id(y)) for y in made], outs)
                for x, ct in zip(xs, p.vjp(cts, values, outs), strict=True):
                    give(x, ct)
        return [found.get(id(x)) if is_float(x) else None for x in symbols]


def pull(program):
    """Return a function from arguments and cotangents of results to cotangents of the arguments."""

    def f(xs, cts):
        tape = Tape()
        symbols = [Taped(tape, x) for x in xs]
        return filled(tape.back(symbols, [thing(y) for y in call(program, symbols)], cts), symbols)

    return f


def vjp_convert(p, cts, xs, outs):
    return [convert(cts[0], xs[0].aval.dtype, False) if is_float(xs[0]) and cts[0] is not None else None]


def vjp_sum(p, cts, xs, outs):
    return [broadcast_to(reshape(cts[0], [1 if i in p.axes else n for i, n in enumerate(xs[0].shape)]), xs[0].shape)]


def vjp_max(p, cts, xs, outs):
    return [vjp_sum(p, cts, xs, outs)[0] * largest(p, xs[0], outs[0])]


def vjp_window(p, cts, xs, outs):
    return [Put().do(zeros_like(xs[0]), cts[0], *xs[1:]), *[None] * (len(xs) - 1)]


def vjp_put(p, cts, xs, outs):
    _, y, *corner = xs
    hole = Put().do(cts[0], zeros_like(y), *corner)
    return [hole, Window(sizes=y.shape).do(cts[0], *corner), *[None] * len(corner)]


def vjp_dot(p, cts, xs, outs):
    (x, y), ct = xs, cts[0]
    ins, out = p.letters.split("->")
    a, b = ins.split(",")
    return [Dot(letters=f"{out},{b}->{a}").do(ct, y), Dot(letters=f"{out},{a}->{b}").do(ct, x)]


def vjp_cond(p, cts, xs, outs):
    return [None, *switch(xs[0], [pull(b) for b in p.branches], xs[1:], cts)]


def vjp_while(p, cts, xs, outs):
    raise ValueError("a while loop has no derivative backward: nobody remembers its turns")


def vjp_scan(p, cts, xs, outs):
    consts, carry, rows = p.parts(xs)

    def again(carry, row):
        return call(p.program, consts + carry + row)[: p.m], carry

    _, befores = scan(again, carry, rows, p.length, p.reverse)

    def turn(state, row):
        (sums, cts), (before, row, ct_ys) = state, row
        found = pull(p.program)(consts + before + row, cts + ct_ys)
        a, b, c = p.parts(found)
        return ([s if t is None else s + t for s, t in zip(sums, a, strict=True)], b), c

    state = (filled([None] * len(consts), consts), cts[: p.m])
    (a, b), c = scan(turn, state, (befores, rows, cts[p.m :]), p.length, not p.reverse)
    return a + b + c


def value_and_grad(f, argnums=0, has_aux=False):
    def go(*args, **kwargs):
        nums = [argnums] if isinstance(argnums, int) else list(argnums)
        if any(not -len(args) <= n < len(args) for n in nums):
            raise TypeError(f"argnums={argnums} is beyond the {len(args)} arguments")
        nums = [n % len(args) for n in nums]
        leaves, s = flatten([args[i] for i in nums])
        leaves = [thing(x) for x in leaves]
        if not all(map(is_float, leaves)):
            raise TypeError("an integer has no derivative")
        tape = Tape()
        symbols = [Taped(tape, x) for x in leaves]
        chosen = dict(zip(nums, unflatten(s, symbols), strict=True))
        out = f(*[chosen.get(i, x) for i, x in enumerate(args)], **kwargs)
        out, aux = out if has_aux else (out, None)
        out = thing(out)
        if out.shape != () or not is_float(out):
            raise TypeError(f"{out.aval} is no loss")
        one = convert(thing(1.0), out.aval.dtype, False)
        grads = filled(tape.back(symbols, [out], [one]), symbols)
        grads = unflatten(s, [convert(g, g.dtype, x.aval.weak_type) for g, x in zip(grads, leaves, strict=True)])
        aux_leaves, aux_s = flatten(aux)
        out, aux = tape.value(out), unflatten(aux_s, [tape.value(x) for x in aux_leaves])
        return ((out, aux) if has_aux else out), grads[0] if isinstance(argnums, int) else tuple(grads)

    return go


def grad(f, argnums=0, has_aux=False):
    def go(*args, **kwargs):
        out, grads = value_and_grad(f, argnums, has_aux)(*args, **kwargs)
        return (grads, out[1]) if has_aux else grads

    return go


# --- batches: the batch axis is the first axis of `value`


class Batched(Symbol):
    def __init__(self, page, value):
        super().__init__(page, Type(value.shape[1:], value.aval.dtype, value.aval.weak_type))
        self.value = value


class Batch(Maker):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def write(self, p, xs, avals):
        flags = [self.mine(x) for x in xs]
        values = [x.value if b else x for x, b in zip(xs, flags, strict=True)]
        return [Batched(self, y) for y in p.batch(self.size, flags, values)]


def repeated(x, size):
    return broadcast_to(x, (size, *x.shape))


def whole(size, flags, xs):
    return [x if b else repeated(x, size) for x, b in zip(xs, flags, strict=True)]


def batched(f, size, flags, xs):
    """Return each result, and whether its first axis is the batch axis."""
    maker = Batch(size)
    ys = [thing(y) for y in f(*[Batched(maker, x) if b else x for x, b in zip(xs, flags, strict=True)])]
    return [(y.value, True) if maker.mine(y) else (y, False) for y in ys]


def over(f, size, flags):
    return lambda *xs: [y if b else repeated(y, size) for y, b in batched(f, size, flags, xs)]


def program_over(program, size, flags):
    return over(lambda *xs: call(program, xs), size, flags)


def stretched(x, ndim):
    return reshape(x, (x.shape[0], *[1] * (ndim + 1 - len(x.shape)), *x.shape[1:]))


def batch_elementwise(p, size, flags, xs):
    ndim = builtins.max(len(x.shape) - b for x, b in zip(xs, flags, strict=True))
    return p.all(*[stretched(x, ndim) if b else x for x, b in zip(xs, flags, strict=True)])


def batch_reduce(p, size, flags, xs):
    return type(p)(axes=tuple(i + 1 for i in p.axes)).all(*xs)


def batch_select(p, size, flags, xs):
    which, no, yes = whole(size, flags, xs)
    return [pick(which, yes, no)]


def pick(which, yes, no):
    return where(reshape(which, which.shape + (1,) * (len(no.shape) - len(which.shape))), yes, no)


def batch_windows(n):
    def batch(p, size, flags, xs):
        if any(flags[n:]):
            return scan(lambda _, row: (None, p.all(*row)), None, whole(size, flags, xs))[1]
        wide = Window(sizes=(size, *p.sizes)) if n == 1 else p
        return wide.all(*whole(size, flags[:n], xs[:n]), thing(np.int32(0)), *xs[n:])

    return batch


def batch_dot(p, size, flags, xs):
    ins, out = p.letters.split("->")
    new = next(c for c in "zyxwvut" if c not in p.letters)
    a, b = (new * flag + s for flag, s in zip(flags, ins.split(","), strict=True))
    return Dot(letters=f"{a},{b}->{new}{out}").all(*xs)


def batch_jit(p, size, flags, xs):
    return at_once(program_over(p.program, size, flags), *xs)


def batch_cond(p, size, flags, xs):
    functions = [program_over(b, size, flags[1:]) for b in p.branches]
    if not flags[0]:
        return switch(xs[0], functions, *xs[1:])
    results = [f(*xs[1:]) for f in functions]
    for i, more in enumerate(results[1:], 1):
        results[0] = [pick(xs[0] >= i, new, old) for new, old in zip(more, results[0], strict=True)]
    return results[0]


def batch_while(p, size, flags, xs):
    (a, b, c), (for_test, consts, carry) = p.parts(flags), p.parts(xs)
    test = program_over(p.test, size, a + [True] * len(c))
    body = program_over(p.body, size, b + [True] * len(c))

    def turn(carry):
        [on] = test(*for_test, *carry)
        return [pick(on, new, old) for new, old in zip(body(*consts, *carry), carry, strict=True)]

    return while_loop(lambda carry: max(test(*for_test, *carry)[0]), turn, whole(size, c, carry))


def swapped(x):
    return transpose(x, [1, 0, *range(2, len(x.shape))])


def batch_scan(p, size, flags, xs):
    (a, b, c), (consts, carry, rows) = p.parts(flags), p.parts(xs)
    body = program_over(p.program, size, a + [True] * len(b) + c)

    def turn(carry, row):
        ys = body(*consts, *carry, *row)
        return ys[: p.m], ys[p.m :]

    carry, ys = scan(
        turn, whole(size, b, carry), [swapped(x) if f else x for x, f in zip(rows, c, strict=True)], p.length, p.reverse
    )
    return carry + [swapped(y) for y in ys]


def moved(x, a, b):
    order = [i for i in range(len(x.shape)) if i != a % len(x.shape)]
    order.insert(b % len(x.shape), a % len(x.shape))
    return transpose(x, order)


def axes_of_leaves(axis, x):
    if isinstance(axis, (dict, list, tuple)):
        pairs = zip(NODES[type(axis)][0](axis)[0], NODES[type(x)][0](x)[0], strict=True)
        return list(itertools.chain.from_iterable(axes_of_leaves(a, b) for a, b in pairs))
    return [axis] * len(flatten(x)[0])


def vmap(f, in_axes=0, out_axes=0):
    def go(*args, **kwargs):
        (leaves, s), out = flatten((args, kwargs)), []
        axes = axes_of_leaves(in_axes, args) + axes_of_leaves(0, kwargs)
        leaves = [thing(x) for x in leaves]
        if any(a is not None and not -len(x.shape) <= a < len(x.shape) for x, a in zip(leaves, axes, strict=True)):
            raise ValueError("an argument has no such axis")
        sizes = {x.shape[a] for x, a in zip(leaves, axes, strict=True) if a is not None}
        if len(sizes) != 1:
            raise ValueError(f"sizes of batches: {sizes}")
        [size] = sizes

        def flat(*xs):
            args, kwargs = unflatten(s, xs)
            ys, form = flatten(f(*args, **kwargs))
            out[:] = [form]
            return ys

        leaves = [x if a is None else moved(x, a, 0) for x, a in zip(leaves, axes, strict=True)]
        ys = batched(flat, size, [a is not None for a in axes], leaves)
        axes = axes_of_leaves(out_axes, unflatten(out[0], [y for y, _ in ys]))
        if any(b and a is None for (_, b), a in zip(ys, axes, strict=True)):
            raise ValueError(f"out_axes={out_axes}, and a result without an axis differs from example to example")
        ys = [
            y if a is None else moved(y if b else repeated(y, size), 0, a) for (y, b), a in zip(ys, axes, strict=True)
        ]
        return unflatten(out[0], ys)

    return go


# --- the rules of each class

Primitive.jvp, Primitive.vjp, Primitive.batch = jvp_elementwise, vjp_elementwise, batch_elementwise
Convert.jvp, Convert.vjp = jvp_convert, vjp_convert
for kind in (Sum, Reshape, Transpose, Broadcast, Select, Window, Put):
    kind.jvp = jvp_linear
Dot.jvp, Max.jvp, JitCall.jvp, Cond.jvp, While.jvp, Scan.jvp = jvp_dot, jvp_max, jvp_jit, jvp_cond, jvp_while, jvp_scan
Sum.vjp, Max.vjp, Window.vjp, Put.vjp, Dot.vjp = vjp_sum, vjp_max, vjp_window, vjp_put, vjp_dot
Reshape.vjp = lambda p, cts, xs, outs: [reshape(cts[0], xs[0].shape)]
Transpose.vjp = lambda p, cts, xs, outs: [transpose(cts[0], np.argsort(p.permutation).tolist())]
Broadcast.vjp = lambda p, cts, xs, outs: [fit(cts[0], xs[0])]
Select.vjp = lambda p, cts, xs, outs: [None, where(xs[0], 0, cts[0]), where(xs[0], cts[0], 0)]
JitCall.vjp = lambda p, cts, xs, outs: at_once(pull(p.program), xs, cts)
Cond.vjp, While.vjp, Scan.vjp = vjp_cond, vjp_while, vjp_scan
Sum.batch, Select.batch, Dot.batch, Window.batch, Put.batch = (
    batch_reduce, batch_select, batch_dot, batch_windows(1), batch_windows(2))  # fmt: skip
Reshape.batch = lambda p, size, flags, xs: [reshape(xs[0], (size, *p.new_sizes))]
Transpose.batch = lambda p, size, flags, xs: [transpose(xs[0], (0, *[i + 1 for i in p.permutation]))]
Broadcast.batch = lambda p, size, flags, xs: [broadcast_to(stretched(xs[0], len(p.shape)), (size, *p.shape))]
JitCall.batch, Cond.batch, While.batch, Scan.batch = batch_jit, batch_cond, batch_while, batch_scan
