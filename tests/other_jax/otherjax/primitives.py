import types

import numpy as np

from . import faults
from .values import Number, Symbol, Thing, Type, thing


class Primitive:
    """An operation: its implementation, its type rule and its name in StableHLO. `do` finds the trace among the operands."""

    name = word = ""
    params = types.MappingProxyType({})

    def compute(self, *xs):
        raise NotImplementedError

    def type(self, *avals):
        if len({a.dtype for a in avals}) > 1:
            raise TypeError(f"{self.name}: dtypes differ")
        try:
            shape = np.broadcast_shapes(*[a.shape for a in avals])
        except ValueError:
            shapes = ", ".join(str(a.shape) for a in avals)
            raise TypeError(f"{self.name} got incompatible shapes for broadcasting: {shapes}.") from None
        return Type(shape, avals[0].dtype, all(a.weak_type for a in avals))

    def types(self, *avals):
        return [self.type(*avals)]

    def now(self, *xs):
        [aval] = self.types(*[x.aval for x in xs])
        with np.errstate(all="ignore"):
            numbers = np.asarray(self.compute(*[np.asarray(x.numbers) for x in xs]))
        return [Number(numbers.astype(aval.dtype), aval.weak_type)]

    def text(self, w, names, ins, out):
        xs = [w.spread(name, a, out.shape) for name, a in zip(names, ins, strict=True)]
        return w.put(f"stablehlo.{self.word} {', '.join(xs)}", [Type(out.shape, a.dtype) for a in ins], [out])

    def do(self, *xs):
        return self.all(*xs)[0]

    def all(self, *xs):
        pages = [x.page for x in xs if isinstance(x, Symbol)]
        if not pages:
            return self.now(*xs)
        avals = self.types(*[x.aval for x in xs])
        page = max(pages, key=lambda page: page.depth)
        if any(page.closed for page in pages):
            raise faults.UnexpectedTracerError(f"an operand of {self.name} was left behind by a trace that is over")
        return page.write(self, xs, avals)


class Comparison(Primitive):
    def type(self, *avals):
        return Type(super().type(*avals).shape, np.dtype(bool))


class Convert(Primitive):
    name, word = "convert_element_type", "convert"

    def __init__(self, dtype, weak):
        self.to, self.weak = np.dtype(dtype), weak

    def compute(self, x):
        return x

    def type(self, x):
        return Type(x.shape, self.to, self.weak)


def convert(x, dtype, weak):
    if (x.aval.dtype, x.aval.weak_type) == (dtype, weak):
        return x
    if isinstance(x, Number) and x.aval.weak_type and x.aval.shape == ():
        return Number(np.asarray(x.numbers).astype(dtype), weak)
    return Convert(dtype, weak).do(x)


def common(xs, floating=False):
    xs = [thing(x) for x in xs]
    rank = {"b": 0, "i": 1, "u": 1, "f": 2}
    top = max(rank[x.aval.dtype.kind] for x in xs)
    best = [x.aval for x in xs if rank[x.aval.dtype.kind] == top]
    strong = [a.dtype for a in best if not a.weak_type]
    dtype = np.dtype(best[0].dtype) if not strong else np.result_type(*strong)
    if floating and top < 2:
        dtype = np.dtype("float32")
    return [convert(x, dtype, not strong) for x in xs]


def define(name, compute, word, kind=Primitive):
    cls = type(name, (kind,), {"name": name, "word": word, "compute": lambda self, *xs: compute(*xs)})
    return cls()


ALL = {}
for name, f, word in [
    ("neg", np.negative, "negate"), ("abs", np.abs, "abs"), ("sign", np.sign, "sign"), ("floor", np.floor, "floor"),
    ("not", np.invert, "not"), ("sin", np.sin, "sine"), ("cos", np.cos, "cosine"), ("tan", np.tan, "tan"),
    ("tanh", np.tanh, "tanh"), ("exp", np.exp, "exponential"), ("log", np.log, "log"), ("sqrt", np.sqrt, "sqrt"),
    ("log1p", np.log1p, "log_plus_one"), ("expm1", np.expm1, "exponential_minus_one"),
    ("add", np.add, "add"), ("sub", np.subtract, "subtract"), ("mul", np.multiply, "multiply"), ("div", np.divide, "divide"),
    ("max", np.maximum, "maximum"), ("min", np.minimum, "minimum"), ("pow", np.power, "power"), ("and", np.bitwise_and, "and"),
    ("or", np.bitwise_or, "or"),
]:  # fmt: skip
    ALL[name] = define(name, f, word)
for name, f in [
    ("lt", np.less),
    ("le", np.less_equal),
    ("gt", np.greater),
    ("ge", np.greater_equal),
    ("eq", np.equal),
    ("ne", np.not_equal),
]:
    ALL[name] = define(name, f, f"compare {name.upper()},", Comparison)


def user(name, floating=False):
    return lambda *xs: ALL[name].do(*common(xs, floating))


def truth(x):
    x = thing(x)
    return x if x.dtype == bool else ALL["ne"].do(*common([x, 0]))


def logical(name):
    return lambda *xs: ALL[name].do(*map(truth, xs))


for name, op, floating in [
    ("add", "add", False),
    ("sub", "sub", False),
    ("mul", "mul", False),
    ("div", "truediv", True),
    ("pow", "pow", False),
    ("and", "and", False),
    ("or", "or", False),
]:
    f = user(name, floating)
    setattr(Thing, f"__{op}__", lambda x, y, f=f: f(x, y))
    setattr(Thing, f"__r{op}__", lambda x, y, f=f: f(y, x))
for name in ("lt", "le", "gt", "ge", "eq", "ne"):
    f = user(name)
    for cls in (Number, Symbol):
        setattr(cls, f"__{name}__", lambda x, y, f=f: f(x, y))
Thing.__neg__, Thing.__abs__, Thing.__invert__ = user("neg"), user("abs"), user("not")
