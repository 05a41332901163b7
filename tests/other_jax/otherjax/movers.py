import builtins
import math
import string

import numpy as np

from .primitives import ALL, Primitive, common, convert, truth
from .values import NARROW, Number, Symbol, Thing, Type, thing

INT = np.dtype("int32")


class Mover(Primitive):
    """A primitive that is not elementwise. The keyword arguments are its parameters, and attributes, too."""

    def __init__(self, **set):
        self.params = set
        vars(self).update(set)

    def line(self, names):
        return f"stablehlo.{self.word} {', '.join(names)}{self.said()}"

    def said(self):
        return ""

    def text(self, w, names, ins, out):
        return w.put(self.line(names), ins, [out])


class Sum(Mover):
    name, word, begin = "reduce_sum", "add", 0

    def compute(self, x):
        return np.sum(x, self.axes)

    def type(self, x):
        return Type(tuple(n for i, n in enumerate(x.shape) if i not in self.axes), x.dtype, x.weak_type)

    def text(self, w, names, ins, out):
        first = self.first(out.dtype)
        said = f"stablehlo.reduce({names[0]} init: {w.const(first)}) applies stablehlo.{self.word}"
        return w.put(f"{said} across dimensions = {list(self.axes)}", [ins[0], Type((), out.dtype)], [out])

    def first(self, dtype):
        return np.zeros((), dtype)


class Max(Sum):
    name, word = "reduce_max", "maximum"

    def compute(self, x):
        return np.max(x, self.axes)

    def first(self, dtype):
        low = -np.inf if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min
        return np.asarray(low, dtype)


class Reshape(Mover):
    name = word = "reshape"

    def compute(self, x):
        return x.reshape(self.new_sizes)

    def type(self, x):
        return Type(self.new_sizes, x.dtype, x.weak_type)


class Transpose(Mover):
    name = word = "transpose"

    def compute(self, x):
        return x.transpose(self.permutation)

    def type(self, x):
        return Type(tuple(x.shape[i] for i in self.permutation), x.dtype, x.weak_type)

    def said(self):
        return f", dims = {list(self.permutation)}"


class Broadcast(Mover):
    name = "broadcast_in_dim"

    def compute(self, x):
        return np.broadcast_to(x, self.shape)

    def type(self, x):
        return Type(self.shape, x.dtype, x.weak_type)

    def text(self, w, names, ins, out):
        return [w.spread(names[0], ins[0], out.shape)]


class Select(Mover):
    name, word = "select_n", "select"

    def compute(self, which, no, yes):
        return np.where(which, yes, no)

    def type(self, which, no, yes):
        return no

    def text(self, w, names, ins, out):
        which, no, yes = names
        return w.put(self.line([which, yes, no]), ins, [out])


class Window(Mover):
    name = word = "dynamic_slice"

    def compute(self, x, *corner):
        at = [int(np.clip(c, 0, n - size)) for c, n, size in zip(corner, x.shape, self.sizes, strict=True)]
        return x[tuple(slice(a, a + size) for a, size in zip(at, self.sizes, strict=True))]

    def type(self, x, *corner):
        return Type(self.sizes, x.dtype, x.weak_type)

    def said(self):
        return f", sizes = {list(self.sizes)}"


class Dot(Mover):
    name = "dot_general"

    def compute(self, x, y):
        return np.einsum(self.letters, x, y)

    def type(self, x, y):
        ins, out = self.letters.split("->")
        sizes = {}
        for letter, n in zip(ins.replace(",", ""), x.shape + y.shape, strict=True):
            if sizes.setdefault(letter, n) != n:
                raise TypeError(f"the products of {x} and {y}: {letter} is {sizes[letter]} and {n}")
        return Type(tuple(sizes[c] for c in out), x.dtype, x.weak_type)

    def text(self, w, names, ins, out):
        xs, ys = self.letters.split("->")[0].split(",")
        result = self.letters.split("->")[1]
        batch = [c for c in xs if c in ys and c in result]
        summed = [c for c in xs if c in ys and c not in result]
        have = batch + [c for c in xs if c not in ys] + [c for c in ys if c not in xs]
        sides = [[[s.index(c) for c in cs] for s in (xs, ys)] for cs in (batch, summed)]
        (a, b), (c, d) = sides
        between = Type(tuple(out.shape[result.index(c)] for c in have), out.dtype)
        said = f"stablehlo.dot_general {names[0]}, {names[1]}, batching_dims = {a} x {b}, contracting_dims = {c} x {d}"
        product = w.put(said, ins, [between])
        return Transpose(permutation=[have.index(c) for c in result]).text(w, product, [between], out)


def axes_of(x, axis):
    axes = range(len(x.shape)) if axis is None else [axis] if isinstance(axis, int) else axis
    return tuple(sorted(i % len(x.shape) for i in axes))


def reducing(kind):
    def reduce(x, axis=None, keepdims=False):
        x = thing(x)
        if kind is Sum and x.dtype.kind == "b":
            x = convert(x, INT, False)
        axes = axes_of(x, axis)
        out = kind(axes=axes).do(x)
        return reshape(out, [1 if i in axes else n for i, n in enumerate(x.shape)]) if keepdims else out

    return reduce


sum, max = reducing(Sum), reducing(Max)


def min(x, axis=None, keepdims=False):
    x = thing(x)
    return -max(-x, axis, keepdims) if x.dtype.kind == "f" else ~max(~x, axis, keepdims)


def mean(x, axis=None, keepdims=False):
    x = thing(x)
    return sum(x, axis, keepdims) / math.prod(x.shape[i] for i in axes_of(x, axis))


def reshape(x, *shape):
    x, shape = thing(x), list(shape[0] if isinstance(shape[0], (list, tuple)) else shape)
    size = math.prod(x.shape)
    shape = [size // -math.prod(shape) if n == -1 else n for n in shape]
    if math.prod(shape) != size:
        raise TypeError(f"{x.shape} does not fit into {shape}")
    return x if tuple(shape) == x.shape else Reshape(new_sizes=tuple(shape)).do(x)


def transpose(x, axes=None):
    x = thing(x)
    order = tuple(i % len(x.shape) for i in axes or range(len(x.shape))[::-1])
    return x if order == tuple(range(len(x.shape))) else Transpose(permutation=order).do(x)


def broadcast_to(x, shape):
    x = thing(x)
    return x if x.shape == tuple(shape) else Broadcast(shape=tuple(shape)).do(x)


def where(which, yes, no):
    which, (yes, no) = truth(which), common([yes, no])
    shape = np.broadcast_shapes(which.shape, yes.shape, no.shape)
    return Select().do(*[broadcast_to(x, shape) for x in (which, no, yes)])


def matmul(x, y):
    x, y = common([x, y])
    many = string.ascii_uppercase[: builtins.max(2, len(x.shape), len(y.shape)) - 2]
    xs, ys = (
        "k" if len(a.shape) == 1 else many[len(many) + 2 - len(a.shape) :] + last for a, last in ((x, "ik"), (y, "kj"))
    )
    return Dot(letters=f"{xs},{ys}->{many}{'i' * (len(x.shape) > 1)}{'j' * (len(y.shape) > 1)}").do(x, y)


def dot(x, y):
    x, y = common([x, y])
    if () in (x.shape, y.shape):
        return ALL["mul"].do(x, y)
    rows = string.ascii_uppercase[: len(x.shape) - 1]
    others = string.ascii_lowercase[: len(y.shape) - 1]
    ys = others[:-1] + "k" + others[-1:] if others else "k"
    return Dot(letters=f"{rows}k,{ys}->{rows}{others}").do(x, y)


def index(x, wanted):
    wanted = list(wanted) if isinstance(wanted, tuple) else [wanted]
    if len([w for w in wanted if w is not None]) > len(x.shape):
        raise IndexError(f"{wanted} are too many for {x.aval}")
    wanted += [slice(None)] * (len(x.shape) - len([w for w in wanted if w is not None]))
    corner, sizes, shape, axis = [], [], [], 0
    for w in wanted:
        if w is None:
            shape.append(1)
            continue
        n, axis = x.shape[axis], axis + 1
        if isinstance(w, slice):
            start, stop, step = w.indices(n)
            assert step == 1
            corner.append(thing(np.int32(start)))
            sizes.append(len(range(start, stop)))
            shape.append(sizes[-1])
        else:
            w = thing(w)
            if w.shape != () or w.dtype.kind not in "iu":
                raise TypeError(f"an index is one integer, not {w.aval}")
            w = convert(w, INT, False)
            corner.append(where(w < 0, w + n, w))
            sizes.append(1)
    return reshape(Window(sizes=tuple(sizes)).do(x, *corner), shape)


def full(shape, value, dtype=None):
    value = thing(value)
    value = value if dtype is None else convert(value, np.dtype(dtype), False)
    return broadcast_to(value, (shape,) if isinstance(shape, int) else shape)


def zeros(shape, dtype="float32"):
    return full(shape, 0, dtype)


def ones(shape, dtype="float32"):
    return full(shape, 1, dtype)


def zeros_like(x):
    x = thing(x)
    return full(x.shape, 0, x.dtype)


def arange(*args):
    return thing(np.arange(*args))


Thing.__matmul__, Thing.__rmatmul__ = matmul, lambda x, y: matmul(y, x)
Thing.reshape, Thing.sum, Thing.max, Thing.mean, Thing.T = reshape, sum, max, mean, property(transpose)
Thing.astype = lambda x, dtype: convert(x, np.dtype(NARROW.get(np.dtype(dtype).name, dtype)), False)
Thing.__len__ = lambda x: x.shape[0]
for cls in (Number, Symbol):
    cls.__getitem__ = index
__all__ = ["arange", "broadcast_to", "dot", "full", "matmul", "max", "mean", "min", "ones", "reshape", "sum", "transpose", "where",
           "zeros", "zeros_like"]  # fmt: skip
