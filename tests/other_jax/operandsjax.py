"""myjax: a JIT of my own.

There is no current trace. An operation looks at its operands: a tracer knows the trace that it belongs to, and the youngest
trace among the operands writes the operation down. With no tracer among them it is computed at once, with numpy.
All transformations are functions from programs to programs, or interpreters of programs; nothing but the writer makes tracers.
"""

import functools
import inspect
import itertools
import types
import weakref
from typing import NamedTuple

import numpy as np
import xla

# ---------------------------------------------------------------- errors

TracerBoolConversionError = type("TracerBoolConversionError", (TypeError,), {})
TracerIntegerConversionError = type("TracerIntegerConversionError", (TypeError,), {})
TracerArrayConversionError = type("TracerArrayConversionError", (TypeError,), {})
ConcretizationTypeError = type("ConcretizationTypeError", (TypeError,), {})
UnexpectedTracerError = type("UnexpectedTracerError", (TypeError,), {})

errors = types.SimpleNamespace(
    TracerBoolConversionError=TracerBoolConversionError,
    TracerIntegerConversionError=TracerIntegerConversionError,
    TracerArrayConversionError=TracerArrayConversionError,
    ConcretizationTypeError=ConcretizationTypeError,
    UnexpectedTracerError=UnexpectedTracerError,
)

# ---------------------------------------------------------------- types and values


class Aval(NamedTuple):
    """What is known of an array without its numbers."""

    shape: tuple
    dtype: np.dtype
    weak_type: bool = False


NARROW = {np.dtype(a): np.dtype(b) for a, b in (("f8", "f4"), ("i8", "i4"), ("u8", "u4"))}
KINDS = {"b": 0, "i": 1, "u": 1, "f": 2}
FLOAT, INT, BOOL = np.dtype(np.float32), np.dtype(np.int32), np.dtype(bool)


def narrow(dtype):
    dtype = np.dtype(dtype)
    return NARROW.get(dtype, dtype)


class Operators:
    """Arrays and tracers have operators and methods; they are filled in below, where the functions are."""

    __array_ufunc__ = None
    __hash__ = None
    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    weak_type = property(lambda self: self.aval.weak_type)
    ndim = property(lambda self: len(self.aval.shape))
    size = property(lambda self: int(np.prod(self.aval.shape)))

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))


class Array(Operators):
    """Numbers: a numpy array that nobody else changes, or a buffer of XLA's."""

    def __init__(self, numbers, aval):
        self.numbers, self.aval = numbers, aval

    def __array__(self, dtype=None, copy=None):
        x = np.asarray(self.numbers)
        return np.array(x, dtype) if copy or dtype not in (None, x.dtype) else x

    def item(self):
        return np.asarray(self).item()

    def tolist(self):
        return np.asarray(self).tolist()

    def __bool__(self):
        return bool(np.asarray(self))

    def __float__(self):
        return float(np.asarray(self))

    def __int__(self):
        return int(np.asarray(self))

    def __index__(self):
        return np.asarray(self).__index__()

    def __repr__(self):
        return f"Array({np.array2string(np.asarray(self), separator=', ')}, dtype={self.dtype})"


class Tracer(Operators):
    """Stands for an array: a variable in the program that a trace is writing."""

    def __init__(self, trace, var):
        self.trace, self.var, self.aval = trace, var, var.aval

    def refuse(error, what):
        def method(self, *args, **kwargs):
            raise error(f"{what} of {self!r}, which has a type and no numbers while the function is traced")

        return method

    __bool__ = refuse(TracerBoolConversionError, "the truth value")
    __float__ = refuse(ConcretizationTypeError, "float()")
    __int__ = refuse(ConcretizationTypeError, "int()")
    item = refuse(ConcretizationTypeError, "item()")
    __index__ = refuse(TracerIntegerConversionError, "the whole number")
    __array__ = refuse(TracerArrayConversionError, "the numpy array")
    del refuse

    def __repr__(self):
        return f"Tracer<{show_type(self.aval)}>"


class Literal:
    """A number that stands in a program."""

    def __init__(self, val, aval):
        self.val, self.aval = val, aval


class Var:
    def __init__(self, aval):
        self.aval = aval


def lift(x, copy=True):
    """An operand: whatever is an array or a number. A Python number becomes a literal, weak unless it is a bool."""
    if isinstance(x, (Array, Tracer, Literal)):
        return x
    if isinstance(x, bool):
        return Literal(x, Aval((), BOOL))
    if isinstance(x, int) and not isinstance(x, np.generic):
        return Literal(x, Aval((), INT, True))
    if isinstance(x, float) and not isinstance(x, np.generic):
        return Literal(x, Aval((), FLOAT, True))
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in KINDS:
        return array_of(np.array(x, narrow(x.dtype)) if copy else np.asarray(x, narrow(x.dtype)))
    raise TypeError(f"{x!r} of {type(x)} is no array and no number")


def array_of(numbers, weak_type=False):
    numbers = np.asarray(numbers)
    if numbers.flags.owndata:
        numbers.flags.writeable = False
    return Array(numbers, Aval(numbers.shape, numbers.dtype, weak_type))


def settle(x):
    """A result: a literal becomes an array."""
    x = lift(x)
    return array_of(np.array(x.val, x.aval.dtype), x.aval.weak_type) if isinstance(x, Literal) else x


def numbers(x):
    return np.asarray(x.val, x.aval.dtype) if isinstance(x, Literal) else np.asarray(x.numbers)


# ---------------------------------------------------------------- the door

# by primitive: types of results; numbers of results; for operations with programs in them
TYPES, NUMPY, RUN = ({}, {}, {})


def bind(name, /, *operands, **params):
    """Every operation goes through here, and who answers is found among its operands."""
    types_ = TYPES[name](*[x.aval for x in operands], **params)
    tracers = [x for x in operands if isinstance(x, Tracer)]
    for t in tracers:
        check_alive(t)
    if tracers:
        return write(max((t.trace for t in tracers), key=lambda t: t.level), name, operands, params, types_)
    if name in RUN:
        return RUN[name](*operands, **params)
    with np.errstate(all="ignore"):
        result = NUMPY[name](*map(numbers, operands), **params)
    return Array(np.asarray(result, types_.dtype), types_)


def check_alive(tracer):
    if not tracer.trace.alive:
        raise UnexpectedTracerError(f"{tracer!r} was left behind by a function whose trace has ended")


# ---------------------------------------------------------------- writing programs down


class Primitive(NamedTuple):
    name: str


class Equation(NamedTuple):
    primitive: Primitive
    invars: list
    params: dict
    outvars: list


class Jaxpr:
    def __init__(self, constvars, invars, eqns, outvars):
        self.constvars, self.invars, self.eqns, self.outvars = constvars, invars, eqns, outvars

    def __str__(self):
        return show(self)

    __repr__ = __str__


class ClosedJaxpr:
    def __init__(self, jaxpr, consts):
        self.jaxpr, self.consts = jaxpr, consts

    in_avals = property(lambda self: [v.aval for v in self.jaxpr.invars])
    out_avals = property(lambda self: [v.aval for v in self.jaxpr.outvars])

    def __str__(self):
        return show(self.jaxpr)

    __repr__ = __str__


LEVELS = itertools.count()  # a trace that begins later is an inner one


def write(trace, name, operands, params, types_):
    outvars = [Var(t) for t in ([types_] if isinstance(types_, Aval) else types_)]
    trace.eqns.append(Equation(Primitive(name), [atom(trace, x) for x in operands], params, outvars))
    results = [Tracer(trace, v) for v in outvars]
    return results[0] if isinstance(types_, Aval) else results


def atom(trace, x):
    """How an operand stands in the program of this trace: its variable, a literal, or a constant from outside."""
    if isinstance(x, Literal):
        return x
    if isinstance(x, Tracer):
        check_alive(x)
        if x.trace is trace:
            return x.var
    elif not x.shape:
        return Literal(x.item(), x.aval)
    return trace.consts.setdefault(id(x), (Var(x.aval), x))[0]


def trace_flat(f, avals):
    """The program of a function of a list of arrays; its constants may be tracers of traces around it."""
    trace = types.SimpleNamespace(level=next(LEVELS), alive=True, eqns=[], consts={})
    invars = [Var(a) for a in avals]
    try:
        outvars = [atom(trace, lift(x)) for x in f(*[Tracer(trace, v) for v in invars])]
    finally:
        trace.alive = False
    constvars, consts = [v for v, _ in trace.consts.values()], [c for _, c in trace.consts.values()]
    return ClosedJaxpr(Jaxpr(constvars, invars, trace.eqns, outvars), consts)


def trace_tree(f, in_tree, avals):
    """The same for a function of trees (args, kwargs); and the tree of its results."""
    out_tree = []

    def flat(*leaves):
        args, kwargs = tree_unflatten(in_tree, leaves)
        results, tree = tree_flatten(f(*args, **kwargs))
        out_tree.append(tree)
        return results

    return trace_flat(flat, avals), out_tree[0]


def make_jaxpr(f):
    def traced(*args, **kwargs):
        leaves, tree = tree_flatten((args, kwargs))
        return trace_tree(f, tree, [lift(x).aval for x in leaves])[0]

    return traced


def eval_jaxpr(jaxpr, consts, *args):
    env = dict(zip(jaxpr.constvars + jaxpr.invars, map(lift, [*consts, *args]), strict=True))

    def read(v):
        return v if isinstance(v, Literal) else env[v]

    for eqn in jaxpr.eqns:
        results = bind(eqn.primitive.name, *map(read, eqn.invars), **eqn.params)
        env.update(zip(eqn.outvars, results if isinstance(results, list) else [results], strict=False))
    return [settle(read(v)) for v in jaxpr.outvars]


core = types.SimpleNamespace(eval_jaxpr=eval_jaxpr)


def show_type(aval):
    kind = "bool" if aval.dtype == BOOL else f"{aval.dtype.kind}{aval.dtype.itemsize * 8}"
    return f"{kind}[{','.join(map(str, aval.shape))}]"


def show(jaxpr):
    """As JAX prints it."""
    used = {v for e in jaxpr.eqns for v in e.invars} | set(jaxpr.outvars)
    names, count = {}, itertools.count()

    def letters(n):
        return (letters(n // 26) if n >= 26 else "") + chr(ord("a") + n % 26)

    def new(v):
        names[v] = letters(next(count)) if v in used or v not in computed else "_"
        return f"{names[v]}:{show_type(v.aval)}"

    def name(v):
        return f"{v.val}:{show_type(v.aval)}" if isinstance(v, Literal) else names[v]

    def param(key, x):
        return f"{key}={{ {show(getattr(x, 'jaxpr', x))[2:-2]} }}" if hasattr(x, "jaxpr") else f"{key}={x}"

    computed = {v for e in jaxpr.eqns for v in e.outvars}
    head = f"{{ lambda {' '.join(map(new, jaxpr.constvars))}; {' '.join(map(new, jaxpr.invars))}. let\n"
    lines = []
    for e in jaxpr.eqns:
        params = f"[{' '.join(param(k, x) for k, x in e.params.items())}]" if e.params else ""
        operands = "".join(" " + name(v) for v in e.invars)
        lines.append(f"    {' '.join(map(new, e.outvars))} = {e.primitive.name}{params}{operands}\n")
    outs = [name(v) for v in jaxpr.outvars]
    return f"{head}{''.join(lines)}  in ({', '.join(outs)}{',' if len(outs) == 1 else ''}) }}"


# ---------------------------------------------------------------- trees


class Tree(NamedTuple):
    """A structure: the type of a container, what it says about itself, its children. `kind` of a leaf is None."""

    kind: type
    data: object = None
    children: tuple = ()


LEAF = Tree(None)
CONTAINERS = {
    list: (lambda x: (x, None), lambda data, xs: list(xs)),
    tuple: (lambda x: (x, None), lambda data, xs: tuple(xs)),
    type(None): (lambda x: ((), None), lambda data, xs: None),
    dict: (lambda x: ([x[k] for k in sorted(x)], tuple(sorted(x))), lambda keys, xs: dict(zip(keys, xs, strict=True))),
}


def register_pytree_node(cls, flatten, unflatten):
    CONTAINERS[cls] = flatten, unflatten


def tree_flatten(tree):
    if type(tree) not in CONTAINERS:
        return [tree], LEAF
    children, data = CONTAINERS[type(tree)][0](tree)
    parts = [tree_flatten(c) for c in children]
    return [x for leaves, _ in parts for x in leaves], Tree(type(tree), data, tuple(t for _, t in parts))


def tree_unflatten(treedef, leaves):
    leaves = list(leaves)
    if len(leaves) != count_leaves(treedef):
        raise ValueError(f"{len(leaves)} leaves for a structure of {count_leaves(treedef)}: {treedef}")
    leaves = iter(leaves)

    def build(t):
        return next(leaves) if t.kind is None else CONTAINERS[t.kind][1](t.data, [build(c) for c in t.children])

    return build(treedef)


def count_leaves(treedef):
    return 1 if treedef.kind is None else sum(map(count_leaves, treedef.children))


def tree_map(f, tree, *trees):
    leaves, treedef = tree_flatten(tree)
    others = [tree_flatten(t) for t in trees]
    for _, other in others:
        if other != treedef:
            raise ValueError(f"trees that are not built alike: {treedef} and {other}")
    return tree_unflatten(treedef, [f(*xs) for xs in zip(leaves, *[xs for xs, _ in others], strict=False)])


def tree_leaves(tree):
    return tree_flatten(tree)[0]


def tree_structure(tree):
    return tree_flatten(tree)[1]


tree_util = types.SimpleNamespace(
    tree_flatten=tree_flatten,
    tree_unflatten=tree_unflatten,
    tree_map=tree_map,
    tree_leaves=tree_leaves,
    tree_structure=tree_structure,
    register_pytree_node=register_pytree_node,
)

# ---------------------------------------------------------------- element by element


def common_type(*xs):
    """The dtype where operands meet, and whether it is weak: the highest kind wins, among those the strong."""

    def rank(x):
        return KINDS[x.aval.dtype.kind]

    top = max(map(rank, xs))
    strong = [x.aval.dtype for x in xs if rank(x) == top and not x.aval.weak_type]
    if strong:
        return narrow(np.result_type(*strong)), False
    return (INT, FLOAT)[top - 1], True


def convert(x, dtype, weak_type=False):
    dtype = narrow(dtype)
    if (x.aval.dtype, x.aval.weak_type) == (dtype, weak_type):
        return x
    if isinstance(x, Literal):
        return Literal(np.asarray(x.val).astype(dtype).item(), Aval((), dtype, weak_type))
    return bind("convert_element_type", x, new_dtype=dtype, weak_type=weak_type)


def promote(*xs):
    xs = [lift(x) for x in xs]
    return [convert(x, *common_type(*xs)) for x in xs]


def inexact(*xs):
    """As floats: what is one stays what it is."""
    return [lift(x) if lift(x).aval.dtype.kind == "f" else convert(lift(x), FLOAT, lift(x).aval.weak_type) for x in xs]


def broadcast_shapes(name, *shapes):
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise TypeError(f"{name} got incompatible shapes for broadcasting: {', '.join(map(str, shapes))}.") from None


def elementwise(name, compute, dtype=None):
    def type_rule(*avals):
        for a in avals:
            if a.dtype != avals[0].dtype:
                raise TypeError(f"{name} got operands of different dtypes: {[str(a.dtype) for a in avals]}")
        shape = broadcast_shapes(name, *[a.shape for a in avals])
        return Aval(shape, dtype or avals[0].dtype, not dtype and all(a.weak_type for a in avals))

    TYPES[name], NUMPY[name] = type_rule, compute
    return functools.partial(bind, name)


for name, compute in {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "floor": np.floor,
    "not": np.logical_not,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.logical_and,
    "or": np.logical_or,
}.items():
    elementwise(name, compute)
COMPARISONS = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
for name, compute in COMPARISONS.items():
    elementwise(name, compute, BOOL)

TYPES["convert_element_type"] = lambda x, new_dtype, weak_type: Aval(x.shape, new_dtype, weak_type)
NUMPY["convert_element_type"] = lambda x, new_dtype, weak_type: x.astype(new_dtype)


def of_floats(name):
    return lambda x: bind(name, *inexact(x))


def of_one(name):
    return lambda x: bind(name, lift(x))


def of_two(name):
    return lambda x, y: bind(name, *promote(x, y))


sin, cos, tan, tanh, exp, log, sqrt = map(of_floats, ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt"))
negative, abs_, sign, floor = map(of_one, ("neg", "abs", "sign", "floor"))
add, subtract, multiply, power, maximum, minimum = map(of_two, ("add", "sub", "mul", "pow", "max", "min"))
less, less_equal, greater, greater_equal, equal, not_equal = map(of_two, ("lt", "le", "gt", "ge", "eq", "ne"))


def divide(x, y):
    return bind("div", *inexact(*promote(x, y)))


def truth(x):
    return lift(x) if lift(x).aval.dtype == BOOL else not_equal(x, 0)


def logical_and(x, y):
    return bind("and", truth(x), truth(y))


def logical_or(x, y):
    return bind("or", truth(x), truth(y))


def logical_not(x):
    return bind("not", truth(x))


def asarray(x, dtype=None):
    if isinstance(x, (list, tuple)):
        x = np.array(x)
    x = settle(x)
    return x if dtype is None else convert(x, dtype)


for name, f in {
    "add": add,
    "sub": subtract,
    "mul": multiply,
    "truediv": divide,
    "pow": power,
    "and": logical_and,
    "or": logical_or,
}.items():
    setattr(Operators, f"__{name}__", lambda self, other, f=f: f(self, other))
    setattr(Operators, f"__r{name}__", lambda self, other, f=f: f(other, self))
for name, f in {"lt": less, "le": less_equal, "gt": greater, "ge": greater_equal, "eq": equal, "ne": not_equal}.items():
    setattr(Operators, f"__{name}__", lambda self, other, f=f: f(self, other))
for name, f in {"neg": negative, "abs": abs_, "invert": logical_not}.items():
    setattr(Operators, f"__{name}__", lambda self, f=f: f(self))
Operators.astype = lambda self, dtype: convert(self, dtype)

numpy = types.SimpleNamespace(
    asarray=asarray,
    array=asarray,
    sin=sin,
    cos=cos,
    tan=tan,
    tanh=tanh,
    exp=exp,
    log=log,
    sqrt=sqrt,
    negative=negative,
    abs=abs_,
    sign=sign,
    floor=floor,
    add=add,
    subtract=subtract,
    multiply=multiply,
    divide=divide,
    power=power,
    maximum=maximum,
    minimum=minimum,
    less=less,
    less_equal=less_equal,
    greater=greater,
    greater_equal=greater_equal,
    equal=equal,
    not_equal=not_equal,
    logical_and=logical_and,
    logical_or=logical_or,
    logical_not=logical_not,
)

# ---------------------------------------------------------------- StableHLO

LOWER = {}  # by primitive: (emit, operands as (name, aval), avals of results, **params) -> names of results


def mlir_type(aval):
    kind = (
        "i1" if aval.dtype == BOOL else {"f": "f", "i": "i", "u": "ui"}[aval.dtype.kind] + str(aval.dtype.itemsize * 8)
    )
    return f"tensor<{''.join(f'{n}x' for n in aval.shape)}{kind}>"


def mlir_types(avals):
    return ", ".join(map(mlir_type, avals))


def constant(emit, x):
    """An array by its bytes, a single number by its bits."""
    x = np.asarray(x)
    aval = Aval(x.shape, x.dtype)
    if x.size == 0:
        text = ""
    elif x.dtype == BOOL:
        text = str(x.tolist()).lower()
    elif x.size > 1 and (x != x.flat[0]).any():
        text = f'"0x{x.astype(x.dtype.newbyteorder("<")).tobytes().hex().upper()}"'
    elif x.dtype.kind == "f":
        text = f"0x{x.flat[0].view(f'u{x.dtype.itemsize}'):0{x.dtype.itemsize * 2}X}"
    else:
        text = str(x.flat[0])
    return emit(f"stablehlo.constant dense<{text}> : {mlir_type(aval)}", [aval])[0], aval


def spread(emit, operand, shape, dims=None):
    """Broadcasting, written out: as in numpy, unless it is said which axes of the result the operand's axes are."""
    name, aval = operand
    out = Aval(tuple(shape), aval.dtype)
    if aval.shape == out.shape:
        return operand
    dims = range(len(shape) - len(aval.shape), len(shape)) if dims is None else dims
    types_ = f"({mlir_type(aval)}) -> {mlir_type(out)}"
    return emit(f"stablehlo.broadcast_in_dim {name}, dims = {list(dims)} : {types_}", [out])[0], out


def simple(word):
    """Element by element: operands and result have one type."""

    def rule(emit, operands, outs):
        names = [spread(emit, x, outs[0].shape)[0] for x in operands]
        return emit(f"stablehlo.{word} {', '.join(names)} : {mlir_type(outs[0])}", outs)

    return rule


def comparing(word):
    def rule(emit, operands, outs):
        xs = [spread(emit, x, outs[0].shape) for x in operands]
        types_ = mlir_types([a for _, a in xs])
        return emit(f"stablehlo.compare {word}, {xs[0][0]}, {xs[1][0]} : ({types_}) -> {mlir_type(outs[0])}", outs)

    return rule


LOWER.update(
    {
        name: simple(word)
        for name, word in {
            "sin": "sine",
            "cos": "cosine",
            "tan": "tan",
            "tanh": "tanh",
            "exp": "exponential",
            "log": "log",
            "sqrt": "sqrt",
            "neg": "negate",
            "abs": "abs",
            "sign": "sign",
            "floor": "floor",
            "not": "not",
            "add": "add",
            "sub": "subtract",
            "mul": "multiply",
            "div": "divide",
            "pow": "power",
            "max": "maximum",
            "min": "minimum",
            "and": "and",
            "or": "or",
        }.items()
    }
)
LOWER.update({name: comparing(name.upper()) for name in COMPARISONS})


def plain(word, attributes=lambda **params: ""):
    """`word operands, attributes : (types) -> type`"""

    def rule(emit, operands, outs, **params):
        names, types_ = ", ".join(n for n, _ in operands), mlir_types([a for _, a in operands])
        return emit(f"stablehlo.{word} {names}{attributes(**params)} : ({types_}) -> {mlir_type(outs[0])}", outs)

    return rule


LOWER["convert_element_type"] = plain("convert")


def lower_body(jaxpr, consts, operands, lines, module):
    """The lines of a program, appended to `lines`; what it returns, as (name, aval)."""

    def emit(line, avals):
        """One operation: a line, and names for its results."""
        name = f"%{next(module.count)}"
        heads = {0: "", 1: f"{name} = "}.get(len(avals), f"{name}:{len(avals)} = ")
        lines.append(heads + line)
        return [name] if len(avals) == 1 else [f"{name}#{i}" for i in range(len(avals))]

    emit.module, emit.lines = module, lines
    env = dict(zip(jaxpr.invars, operands, strict=True))
    env.update({v: constant(emit, numbers(c)) for v, c in zip(jaxpr.constvars, consts, strict=False)})

    def read(v):
        return constant(emit, numbers(v)) if isinstance(v, Literal) else env[v]

    for e in jaxpr.eqns:
        outs = [v.aval for v in e.outvars]
        names = LOWER[e.primitive.name](emit, [read(v) for v in e.invars], outs, **e.params)
        env.update(zip(e.outvars, zip(names, outs, strict=False), strict=False))
    return [read(v) for v in jaxpr.outvars]


def lower_function(head, jaxpr, consts, module):
    operands = [(f"%arg{i}", v.aval) for i, v in enumerate(jaxpr.invars)]
    lines, args = [], ", ".join(f"{n}: {mlir_type(a)}" for n, a in operands)
    results = lower_body(jaxpr, consts, operands, lines, module)
    names, types_ = ", ".join(n for n, _ in results), mlir_types([a for _, a in results])
    lines.append(f"return {names} : {types_}" if results else "return")
    body = "".join(f"    {line}\n" for line in lines)
    return f"  func.func {head}({args}) -> ({types_}) {{\n{body}  }}\n"


def lower_program(closed):
    module = types.SimpleNamespace(count=itertools.count(), functions=[], names={})
    main = lower_function("public @main", closed.jaxpr, closed.consts, module)
    return f"module {{\n{main}{''.join(module.functions)}}}\n"


def lower(f, *args, **kwargs):
    return lower_program(make_jaxpr(f)(*args, **kwargs))


# ---------------------------------------------------------------- jit

EXECUTABLES = weakref.WeakKeyDictionary()  # of a program: what XLA made of it
PROGRAMS = weakref.WeakKeyDictionary()  # of a function: signature -> (program, tree of results)


def buffer(x):
    if isinstance(x, Literal):
        return xla.put(numbers(x))
    if isinstance(x.numbers, np.ndarray):
        x.numbers = xla.put(x.numbers)
    return x.numbers


def run_jit(*operands, name, jaxpr):
    if jaxpr not in EXECUTABLES:
        EXECUTABLES[jaxpr] = xla.compile(lower_program(jaxpr))
    return [Array(b, a) for b, a in zip(EXECUTABLES[jaxpr](list(map(buffer, operands))), jaxpr.out_avals, strict=False)]


def lower_jit(emit, operands, outs, name, jaxpr):
    """A call of a private function, which is written when it is first called."""
    module = emit.module
    if jaxpr not in module.names:
        module.names[jaxpr] = f"f{len(module.names)}"
        head = f"private @{module.names[jaxpr]}"
        module.functions.append(lower_function(head, jaxpr.jaxpr, jaxpr.consts, module))
    args, types_ = ", ".join(n for n, _ in operands), mlir_types([a for _, a in operands])
    return emit(f"func.call @{module.names[jaxpr]}({args}) : ({types_}) -> ({mlir_types(outs)})", outs)


TYPES["jit"], RUN["jit"], LOWER["jit"] = lambda *avals, name, jaxpr: jaxpr.out_avals, run_jit, lower_jit


def hoist(closed):
    """Constants that are tracers become arguments, the first ones: the program, and what to hand it beforehand."""
    pairs = list(zip(closed.jaxpr.constvars, closed.consts, strict=False))
    out, kept = [p for p in pairs if isinstance(p[1], Tracer)], [p for p in pairs if not isinstance(p[1], Tracer)]
    jaxpr = closed.jaxpr
    jaxpr = Jaxpr([v for v, _ in kept], [v for v, _ in out] + jaxpr.invars, jaxpr.eqns, jaxpr.outvars)
    return ClosedJaxpr(jaxpr, [c for _, c in kept]), [c for _, c in out]


def as_tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def static_places(f, argnums, argnames):
    """Numbers and names of static arguments: a number says which name, and a name which number."""
    nums, names = set(as_tuple(argnums)), set(as_tuple(argnames))
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return nums, names
    places = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    nums = {n % len(places) if -len(places) <= n < 0 else n for n in nums}
    nums_of_names = {places.index(name) for name in names if name in places}
    return nums | nums_of_names, names | {places[n] for n in nums if n < len(places)}


def static_key(place, value):
    try:
        hash(value)
    except TypeError:
        raise ValueError(f"the static argument {place!r} does not hash: {value!r} of {type(value)}") from None
    return place, type(value), value


def jit(f, static_argnums=(), static_argnames=()):
    function_name = getattr(f, "__name__", type(f).__name__)
    nums, names = static_places(f, static_argnums, static_argnames)

    @functools.wraps(f)
    def jitted(*args, **kwargs):
        static_args = {i: x for i, x in enumerate(args) if i in nums}
        static_kwargs = {k: x for k, x in kwargs.items() if k in names}
        data = [x for i, x in enumerate(args) if i not in nums], {k: x for k, x in kwargs.items() if k not in names}
        leaves, tree = tree_flatten(data)
        leaves = [lift(x, copy=False) for x in leaves]
        avals = tuple(x.aval for x in leaves)
        statics = [*static_args.items(), *sorted(static_kwargs.items())]
        key = tree, avals, tuple(static_key(place, x) for place, x in statics)

        def with_statics(*data_args, **data_kwargs):
            rest = iter(data_args)
            whole = [static_args[i] if i in static_args else next(rest) for i in range(len(args))]
            return f(*whole, **data_kwargs, **static_kwargs)

        programs, outer = PROGRAMS.setdefault(f, {}), []
        entry = programs.get(key)
        if entry is None:
            closed, out_tree = trace_tree(with_statics, tree, avals)
            closed, outer = hoist(closed)
            entry = closed, out_tree
            if not outer:  # what was closed over in one trace is nothing for the next
                programs[key] = entry
        closed, out_tree = entry
        return tree_unflatten(out_tree, bind("jit", *outer, *leaves, name=function_name, jaxpr=closed))

    return jitted


# ---------------------------------------------------------------- reduce, multiply, move


def tidy_axes(axis, ndim):
    axes = range(ndim) if axis is None else as_tuple(axis)
    for a in axes:
        if not -ndim <= a < ndim:
            raise ValueError(f"axis {a} is out of bounds for an array with {ndim} axes")
    return tuple(sorted(a % ndim for a in axes))


def reduction(name, compute, word, start):
    """A sum, a maximum...: `start(dtype)` is the value to begin with, which changes nothing."""

    def lower_rule(emit, operands, outs, axes):
        (x, aval), (init, init_aval) = operands[0], constant(emit, np.array(start(outs[0].dtype), outs[0].dtype))
        types_ = f"({mlir_types([aval, init_aval])}) -> {mlir_type(outs[0])}"
        where_ = f"across dimensions = {list(axes)}"
        return emit(f"stablehlo.reduce({x} init: {init}) applies stablehlo.{word} {where_} : {types_}", outs)

    def numpy_rule(x, axes):
        return compute(x, axis=axes, dtype=x.dtype, initial=start(x.dtype)) if axes else x

    def reduce(x, axis=None, keepdims=False):
        x = lift(x)
        if name == "reduce_sum" and x.aval.dtype == BOOL:
            x = convert(x, INT)
        axes = tidy_axes(axis, len(x.aval.shape))
        result = bind(name, x, axes=axes)
        kept = [1 if i in axes else n for i, n in enumerate(x.aval.shape)]
        return reshape(result, kept) if keepdims else result

    TYPES[name] = lambda x, axes: x._replace(shape=tuple(n for i, n in enumerate(x.shape) if i not in axes))
    NUMPY[name], LOWER[name] = numpy_rule, lower_rule
    return reduce


def smallest(dtype):
    return -np.inf if dtype.kind == "f" else False if dtype == BOOL else np.iinfo(dtype).min


def largest(dtype):
    return np.inf if dtype.kind == "f" else True if dtype == BOOL else np.iinfo(dtype).max


sum_ = reduction("reduce_sum", np.add.reduce, "add", lambda dtype: 0)
max_ = reduction("reduce_max", np.maximum.reduce, "maximum", smallest)
min_ = reduction("reduce_min", np.minimum.reduce, "minimum", largest)
any_ = reduction("reduce_or", np.logical_or.reduce, "or", lambda dtype: False)


def mean(x, axis=None, keepdims=False):
    (x,) = inexact(x)
    n = int(np.prod([x.aval.shape[a] for a in tidy_axes(axis, len(x.aval.shape))]))
    return divide(sum_(x, axis, keepdims), float(n))


def dot_labels(a_ndim, b_ndim, dimension_numbers):
    """A letter (a number, here) for each axis, as in einsum: of both operands and the result."""
    (a_sum, b_sum), (a_batch, b_batch) = dimension_numbers
    pairs = {**dict(zip(b_sum, a_sum, strict=False)), **dict(zip(b_batch, a_batch, strict=False))}
    la, lb = list(range(a_ndim)), [pairs.get(i, a_ndim + i) for i in range(b_ndim)]
    free = [i for i in la if i not in a_sum and i not in a_batch] + [i for i in lb if i >= a_ndim]
    return la, lb, list(a_batch) + free


def contract(a, la, b, lb, lo):
    """A product by labels. Each label stands in two of the three lists, or in all of them: then it is a batch's."""
    batch = [i for i in lo if i in la and i in lb]
    summed = [i for i in la if i in lb and i not in lo]

    def places(labels, wanted):
        return tuple(labels.index(i) for i in wanted)

    numbers_ = (places(la, summed), places(lb, summed)), (places(la, batch), places(lb, batch))
    result = bind("dot_general", a, b, dimension_numbers=numbers_)
    free = [i for i in la + lb if i not in batch and i not in summed]
    return transpose(result, places(batch + free, lo))


def dot_types(a, b, dimension_numbers):
    la, lb, lo = dot_labels(len(a.shape), len(b.shape), dimension_numbers)
    sizes = dict(zip(la, a.shape, strict=False))
    for label, n in zip(lb, b.shape, strict=False):
        if sizes.setdefault(label, n) != n:
            raise TypeError(f"dot_general got incompatible shapes: {a.shape} and {b.shape}, with {dimension_numbers}")
    return Aval(tuple(sizes[i] for i in lo), a.dtype, a.weak_type and b.weak_type)


def dot_numpy(a, b, dimension_numbers):
    la, lb, lo = dot_labels(a.ndim, b.ndim, dimension_numbers)
    return np.einsum(a, la, b, lb, lo)


def dot_attributes(dimension_numbers):
    (a_sum, b_sum), (a_batch, b_batch) = dimension_numbers
    return f", batching_dims = {list(a_batch)} x {list(b_batch)}, contracting_dims = {list(a_sum)} x {list(b_sum)}"


TYPES["dot_general"], NUMPY["dot_general"] = dot_types, dot_numpy
LOWER["dot_general"] = plain("dot_general", dot_attributes)


def matmul(a, b):
    a, b = promote(a, b)
    (*a_batch, a_k), (*b_batch, b_k) = (a.aval.shape or [None]), (b.aval.shape or [None])
    if a_k is None or b_k is None:
        raise TypeError("matmul got an operand without axes")
    la, lb = ["k"], ["k"]
    if a_batch:
        *a_batch, _i = a_batch
        la = ["i", "k"]
    if b_batch:
        *b_batch, b_k, _j = *b_batch, b_k
        lb = ["k", "j"]
    if a_k != b_k:
        raise TypeError(f"matmul got incompatible shapes: {a.aval.shape} and {b.aval.shape}")
    batch = broadcast_shapes("matmul", tuple(a_batch), tuple(b_batch))
    letters = list(range(len(batch)))
    if a_batch:
        a, la = broadcast_to(a, (*batch, *a.aval.shape[len(a_batch) :])), letters + la
    if b_batch:
        b, lb = broadcast_to(b, (*batch, *b.aval.shape[len(b_batch) :])), letters + lb
    lo = letters + [i for i in ("i", "j") if i in la or i in lb]
    return contract(a, la, b, lb, lo)


def dot(a, b):
    a, b = promote(a, b)
    a_ndim, b_ndim = len(a.aval.shape), len(b.aval.shape)
    if a_ndim == 0 or b_ndim == 0:
        return multiply(a, b)
    return bind("dot_general", a, b, dimension_numbers=(((a_ndim - 1,), (max(b_ndim - 2, 0),)), ((), ())))


def outer(a, b):
    return reshape(a, (-1, 1)) * reshape(b, (1, -1))


TYPES["reshape"] = lambda x, new_sizes: x._replace(shape=new_sizes)
NUMPY["reshape"] = lambda x, new_sizes: x.reshape(new_sizes)
LOWER["reshape"] = plain("reshape", lambda new_sizes: "")
TYPES["transpose"] = lambda x, permutation: x._replace(shape=tuple(x.shape[i] for i in permutation))
NUMPY["transpose"] = lambda x, permutation: x.transpose(permutation)
LOWER["transpose"] = plain("transpose", lambda permutation: f", dims = {list(permutation)}")


def reshape(x, shape):
    x, shape = lift(x), as_tuple(shape)
    size, known = int(np.prod(x.aval.shape)), int(np.prod([n for n in shape if n != -1]))
    if -1 in shape and known and size % known == 0:
        shape = tuple(size // known if n == -1 else n for n in shape)
    if int(np.prod(shape)) != size or -1 in shape:
        raise TypeError(f"cannot reshape an array of shape {x.aval.shape} (size {size}) into shape {shape}")
    return settle(x) if shape == x.aval.shape else bind("reshape", x, new_sizes=shape)


def transpose(x, axes=None):
    x = lift(x)
    ndim = len(x.aval.shape)
    axes = tuple(reversed(range(ndim))) if axes is None else tuple(a % ndim for a in axes)
    if sorted(axes) != list(range(ndim)):
        raise TypeError(f"{axes} is no order of the axes of an array of shape {x.aval.shape}")
    return settle(x) if axes == tuple(range(ndim)) else bind("transpose", x, permutation=axes)


def broadcast_numpy(x, shape, broadcast_dimensions):
    sizes = dict(zip(broadcast_dimensions, x.shape, strict=False))
    return np.broadcast_to(x.reshape([sizes.get(i, 1) for i in range(len(shape))]), shape)


TYPES["broadcast_in_dim"] = lambda x, shape, broadcast_dimensions: x._replace(shape=shape)
NUMPY["broadcast_in_dim"] = broadcast_numpy
LOWER["broadcast_in_dim"] = lambda emit, operands, outs, shape, broadcast_dimensions: [
    spread(emit, operands[0], shape, broadcast_dimensions)[0]
]


def broadcast_in_dim(x, shape, dims):
    x, shape = lift(x), tuple(shape)
    return (
        settle(x)
        if x.aval.shape == shape
        else bind("broadcast_in_dim", x, shape=shape, broadcast_dimensions=tuple(dims))
    )


def broadcast_to(x, shape):
    x, shape = lift(x), as_tuple(shape)
    if broadcast_shapes("broadcast_to", x.aval.shape, shape) != shape:
        raise TypeError(f"broadcast_to got incompatible shapes for broadcasting: {x.aval.shape}, {shape}.")
    return broadcast_in_dim(x, shape, range(len(shape) - len(x.aval.shape), len(shape)))


def select_types(which, *cases):
    return TYPES["add"](*cases)._replace(shape=broadcast_shapes("select_n", which.shape, *[c.shape for c in cases]))


def select_lower(emit, operands, outs):
    which, no, yes = [spread(emit, x, outs[0].shape) for x in operands]
    types_ = mlir_types([which[1], outs[0]])
    return emit(f"stablehlo.select {which[0]}, {yes[0]}, {no[0]} : {types_}", outs)


TYPES["select_n"], LOWER["select_n"] = select_types, select_lower
NUMPY["select_n"] = lambda which, no, yes: np.where(which, yes, no)


def where(condition, x, y):
    x, y = promote(x, y)
    return bind("select_n", truth(condition), y, x)


def make(shape, value, dtype):
    return array_of(np.full(as_tuple(shape), value, narrow(dtype)))


def zeros(shape, dtype=FLOAT):
    return make(shape, 0, dtype)


def ones(shape, dtype=FLOAT):
    return make(shape, 1, dtype)


def zeros_like(x):
    return make(lift(x).aval.shape, 0, lift(x).aval.dtype)


def ones_like(x):
    return make(lift(x).aval.shape, 1, lift(x).aval.dtype)


def full(shape, value, dtype=None):
    return broadcast_to(asarray(value, dtype), shape)


def arange(*args, dtype=None):
    return lift(np.arange(*args, dtype=dtype))


def clamped(starts, sizes, shape):
    return [min(max(int(i), 0), n - size) for i, size, n in zip(starts, sizes, shape, strict=True)]


def window(starts, sizes, shape):
    return tuple(slice(i, i + n) for i, n in zip(clamped(starts, sizes, shape), sizes, strict=False))


def update_numpy(x, update, *starts):
    x = x.copy()
    x[window(starts, update.shape, x.shape)] = update
    return x


TYPES["dynamic_slice"] = lambda x, *starts, slice_sizes: x._replace(shape=slice_sizes)
NUMPY["dynamic_slice"] = lambda x, *starts, slice_sizes: x[window(starts, slice_sizes, x.shape)]
LOWER["dynamic_slice"] = plain("dynamic_slice", lambda slice_sizes: f", sizes = {list(slice_sizes)}")
TYPES["dynamic_update_slice"] = lambda x, update, *starts: x
NUMPY["dynamic_update_slice"] = update_numpy
LOWER["dynamic_update_slice"] = plain("dynamic_update_slice")


def dynamic_slice(x, starts, sizes):
    return bind("dynamic_slice", x, *[convert(lift(i), INT) for i in starts], slice_sizes=tuple(sizes))


def dynamic_update_slice(x, update, starts):
    return bind("dynamic_update_slice", x, update, *[convert(lift(i), INT) for i in starts])


def index(x, item):
    """x[item]: whole numbers, which may be traced, slices of step 1, None, and three dots."""
    item = item if isinstance(item, tuple) else (item,)
    missing = len(x.shape) - sum(i is not None and i is not Ellipsis for i in item)
    if missing < 0:
        raise IndexError(f"too many indices for an array of shape {x.shape}")
    dots = [n for n, i in enumerate(item) if i is Ellipsis] or [len(item)]
    item = (*item[: dots[0]], *[slice(None)] * missing, *item[dots[0] + 1 :])
    starts, sizes, shape, axes = [], [], [], iter(x.shape)
    for i in item:
        if i is None:
            shape.append(1)
            continue
        n = next(axes)
        if isinstance(i, slice):
            start, stop, step = i.indices(n)
            if step != 1:
                raise NotImplementedError("slices have step 1")
            starts.append(start)
            sizes.append(max(stop - start, 0))
            shape.append(sizes[-1])
        else:
            i = lift(i)
            if i.aval.shape or i.aval.dtype.kind not in "iu":
                raise TypeError(f"an index is a whole number, not {show_type(i.aval)}")
            starts.append(where(i < 0, i + n, i) if not isinstance(i, Literal) else i.val + n * (i.val < 0))
            sizes.append(1)
    same = tuple(sizes) == x.shape
    return reshape(x if same else dynamic_slice(x, starts, sizes), tuple(shape))


def reshape_method(x, *shape):
    return reshape(x, shape[0] if len(shape) == 1 else shape)


def transpose_method(x, *axes):
    return transpose(x, axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes or None)


for name, f in {
    "__matmul__": matmul,
    "__rmatmul__": lambda a, b: matmul(b, a),
    "__getitem__": index,
    "T": property(transpose),
    "sum": sum_,
    "max": max_,
    "min": min_,
    "mean": mean,
    "reshape": reshape_method,
    "transpose": transpose_method,
    "dot": dot,
    "ravel": lambda x: reshape(x, -1),
}.items():
    setattr(Operators, name, f)
numpy.__dict__.update(
    sum=sum_,
    max=max_,
    min=min_,
    any=any_,
    mean=mean,
    matmul=matmul,
    dot=dot,
    outer=outer,
    reshape=reshape,
    transpose=transpose,
    broadcast_to=broadcast_to,
    where=where,
    zeros=zeros,
    ones=ones,
    zeros_like=zeros_like,
    ones_like=ones_like,
    full=full,
    arange=arange,
    float32=np.float32,
    int32=np.int32,
    bool_=np.bool_,
    pi=np.pi,
    inf=np.inf,
)

# ---------------------------------------------------------------- choose, repeat


def call(closed, *args):
    """A program as a function of arrays."""
    return eval_jaxpr(closed.jaxpr, closed.consts, *args)


def trace_part(f, in_tree, avals):
    """The program of a branch or a body; what it closed over comes first. Also: the tracers to hand it, and the tree."""
    closed, out_tree = trace_tree(f, in_tree, avals)
    return *hoist(closed), out_tree


def retyped(closed, avals):
    """The same program with these types of results (the first ones, if there are fewer types)."""
    if all(a == b for a, b in zip(closed.out_avals, avals, strict=False)):
        return closed

    def fit(x, a):
        return convert(x, a.dtype, a.weak_type)

    def outs(*args):
        return call(closed, *args)

    return trace_flat(lambda *args: [*map(fit, (o := outs(*args)), avals), *o[len(avals) :]], closed.in_avals)


def same_trees(what, *trees):
    for t in trees:
        if t != trees[0]:
            raise TypeError(f"{what}: {t} is not {trees[0]}")


def block(emit, closed, outside, arguments=()):
    """A region of the text: its first operands come from outside, the others are arguments of it, of these types."""
    lines, inside = [], [(f"%a{next(emit.module.count)}", a) for a in arguments]
    if inside:
        lines.append(f"^bb0({', '.join(f'{n}: {mlir_type(a)}' for n, a in inside)}):")
    outs = lower_body(closed.jaxpr, closed.consts, [*outside, *inside], lines, emit.module)
    names, types_ = ", ".join(n for n, _ in outs), mlir_types([a for _, a in outs])
    lines.append(f"stablehlo.return {names} : {types_}" if outs else "stablehlo.return")
    return "{\n" + "".join(f"      {line}\n" for line in lines) + "    }"


def run_cond(which, *operands, branches):
    return call(branches[int(numbers(which))], *operands)


def lower_cond(emit, operands, outs, branches):
    (which, aval), *operands = operands
    regions = ", ".join(block(emit, b, operands) for b in branches)
    return emit(f'"stablehlo.case"({which}) ({regions}) : ({mlir_type(aval)}) -> ({mlir_types(outs)})', outs)


TYPES["cond"] = lambda which, *avals, branches: branches[0].out_avals
RUN["cond"], LOWER["cond"] = run_cond, lower_cond


def choose(which, functions, operands):
    """One of several functions, by a whole number that is in range."""
    leaves, tree = tree_flatten((tuple(operands), {}))
    leaves = [lift(x) for x in leaves]
    parts = [trace_part(f, tree, [x.aval for x in leaves]) for f in functions]
    same_trees("branches return different structures", *[t for _, _, t in parts])
    avals = []
    for outs in zip(*[closed.out_avals for closed, _, _ in parts], strict=False):
        if len({(o.shape, o.dtype) for o in outs}) > 1:
            raise TypeError(f"branches return different types: {', '.join(map(show_type, outs))}")
        avals.append(outs[0]._replace(weak_type=all(o.weak_type for o in outs)))
    branches = [with_others(retyped(c, avals), i, [o for _, o, _ in parts]) for i, (c, _, _) in enumerate(parts)]
    closed_over = [x for _, outer, _ in parts for x in outer]
    return tree_unflatten(parts[0][2], bind("cond", which, *closed_over, *leaves, branches=branches))


def with_others(closed, i, outers):
    """All branches have the same arguments: with what this one closed over goes what the others did."""
    own, jaxpr = len(outers[i]), closed.jaxpr
    news = [[Var(x.aval) for x in o] for o in outers]
    news[i] = jaxpr.invars[:own]
    invars = [v for vs in news for v in vs] + jaxpr.invars[own:]
    return ClosedJaxpr(Jaxpr(jaxpr.constvars, invars, jaxpr.eqns, jaxpr.outvars), closed.consts)


def scalar(x, what, kinds):
    x = lift(x)
    if x.aval.shape or x.aval.dtype.kind not in kinds:
        raise TypeError(f"{what}, and not {show_type(x.aval)}")
    return x


def cond(pred, true_fun, false_fun, *operands):
    which = convert(truth(scalar(pred, "the pred of cond is one truth value", "biuf")), INT)
    return choose(which, [false_fun, true_fun], operands)


def switch(index, branches, *operands):
    index = convert(scalar(index, "the index of switch is one whole number", "iu"), INT)
    return choose(clip(index, 0, len(branches) - 1), branches, operands)


def clip(x, low, high):
    return minimum(maximum(x, low), high)


def fixed_point(what, trace_body, avals):
    """The body of a loop, traced with types of the carry that it returns, too: what is weak may become strong."""
    while True:
        closed, outer, out_tree = trace_body(avals)
        if len(closed.out_avals) < len(avals):
            raise TypeError(f"{what}: {len(closed.out_avals)} results for a carry of {len(avals)}")
        wanted = []
        for a, o in zip(avals, closed.out_avals, strict=False):
            if (a.shape, a.dtype) == (o.shape, o.dtype):
                wanted.append(a._replace(weak_type=a.weak_type and o.weak_type))
                continue
            dtype, weak = common_type(types.SimpleNamespace(aval=a), types.SimpleNamespace(aval=o))
            if a.shape != o.shape or not a.weak_type or dtype == a.dtype:
                raise TypeError(f"{what}: it is {show_type(a)} and becomes {show_type(o)}")
            wanted.append(Aval(a.shape, dtype, weak))
        if wanted == avals:
            return retyped(closed, avals), outer, out_tree, avals
        avals = wanted


def fitted(leaves, avals):
    return [convert(x, a.dtype, a.weak_type) for x, a in zip(leaves, avals, strict=False)]


def while_loop(cond_fun, body_fun, init):
    leaves, tree = tree_flatten(((init,), {}))
    leaves = [lift(x) for x in leaves]
    carry_tree = tree.children[0].children[0]

    def trace_body(avals):
        body, outer, out_tree = trace_part(body_fun, tree, avals)
        same_trees("the carry of a while_loop changes its structure", carry_tree, out_tree)
        return body, outer, out_tree

    body, body_outer, _, avals = fixed_point(
        "the carry of a while_loop changes its type", trace_body, [x.aval for x in leaves]
    )
    test, test_outer, test_tree = trace_part(cond_fun, tree, avals)
    same_trees("the test of a while_loop is one truth value", LEAF, test_tree)
    if test.out_avals[0][:2] != ((), BOOL):
        raise TypeError(f"the test of a while_loop is one truth value, and not {show_type(test.out_avals[0])}")
    operands = *test_outer, *body_outer, *fitted(leaves, avals)
    sizes = {"cond_nconsts": len(test_outer), "body_nconsts": len(body_outer)}
    return tree_unflatten(carry_tree, bind("while", *operands, cond_jaxpr=test, body_jaxpr=body, **sizes))


def split(xs, *sizes):
    """The first so many, the next so many, ..., the rest."""
    xs, parts = list(xs), []
    for n in sizes:
        parts.append(xs[:n])
        xs = xs[n:]
    return [*parts, xs]


def run_while(*operands, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
    test_consts, body_consts, carry = split(operands, cond_nconsts, body_nconsts)
    while call(cond_jaxpr, *test_consts, *carry)[0]:
        carry = call(body_jaxpr, *body_consts, *carry)
    return [settle(x) for x in carry]


def lower_while(emit, operands, outs, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
    test_consts, body_consts, carry = split(operands, cond_nconsts, body_nconsts)
    regions = f"{block(emit, cond_jaxpr, test_consts, outs)}, {block(emit, body_jaxpr, body_consts, outs)}"
    types_ = mlir_types(outs)
    return emit(f'"stablehlo.while"({", ".join(n for n, _ in carry)}) ({regions}) : ({types_}) -> ({types_})', outs)


TYPES["while"] = lambda *avals, body_jaxpr, **params: body_jaxpr.out_avals
RUN["while"], LOWER["while"] = run_while, lower_while

# ---------------------------------------------------------------- scan


def scan_types(*avals, jaxpr, num_consts, num_carry, length, reverse):
    carry, rows = split(jaxpr.out_avals, num_carry)
    return carry + [a._replace(shape=(length, *a.shape)) for a in rows]


def run_scan(*operands, jaxpr, num_consts, num_carry, length, reverse):
    consts, carry, xs = split(operands, num_consts, num_carry)
    xs, rows = [numbers(x) for x in xs], []
    for i in reversed(range(length)) if reverse else range(length):
        avals = jaxpr.in_avals[len(operands) - len(xs) :]
        outs = call(jaxpr, *consts, *carry, *[Array(np.asarray(x[i]), a) for x, a in zip(xs, avals, strict=False)])
        carry, row = split(outs, num_carry)
        rows.append([numbers(y) for y in row])
    columns = (
        zip(*(reversed(rows) if reverse else rows), strict=False) if rows else [()] * (len(jaxpr.out_avals) - num_carry)
    )
    ys = [
        np.array(ys, a.dtype).reshape(length, *a.shape)
        for ys, a in zip(columns, jaxpr.out_avals[num_carry:], strict=False)
    ]
    return [settle(x) for x in carry] + [array_of(y) for y in ys]


def scan_by_while(*operands, jaxpr, num_consts, num_carry, length, reverse):
    """The same, in words that XLA has."""
    consts, carry, xs = split(operands, num_consts, num_carry)
    ys = [zeros((length, *a.shape), a.dtype) for a in jaxpr.out_avals[num_carry:]]
    if length == 0:
        return [*carry, *ys]

    def body(state):
        turn, carry, ys = state
        i = length - 1 - turn if reverse else turn
        carry, rows = split(call(jaxpr, *consts, *carry, *[index(x, i) for x in xs]), num_carry)

        def place(y, row):
            return dynamic_update_slice(y, index(row, None), [i] + [0] * len(row.shape))

        return turn + 1, carry, list(map(place, ys, rows))

    _, carry, ys = while_loop(lambda state: state[0] < length, body, (0, carry, ys))
    return [*carry, *ys]


def lower_scan(emit, operands, outs, **params):
    loop = trace_flat(functools.partial(scan_by_while, **params), [a for _, a in operands])
    return [n for n, _ in lower_body(loop.jaxpr, loop.consts, operands, emit.lines, emit.module)]


TYPES["scan"], RUN["scan"], LOWER["scan"] = scan_types, run_scan, lower_scan


def scan(f, init, xs=None, length=None, reverse=False):
    carry, carry_tree = tree_flatten(init)
    rows, tree = tree_flatten(((init, xs), {}))
    carry, rows = [lift(x) for x in carry], [lift(x) for x in rows[len(carry) :]]
    if any(not x.aval.shape for x in rows):
        raise ValueError("scan got a number where it wants rows")
    lengths = {x.aval.shape[0] for x in rows} | ({length} - {None})
    if len(lengths) != 1:
        raise ValueError(
            f"scan got different numbers of rows: {lengths}" if lengths else "scan got no rows, and no length"
        )
    (length,) = lengths
    row_avals = [x.aval._replace(shape=x.aval.shape[1:]) for x in rows]

    def trace_body(avals):
        body, outer, out_tree = trace_part(f, tree, avals + row_avals)
        if out_tree.kind is not tuple or len(out_tree.children) != 2:
            raise TypeError(f"the function of a scan returns a carry and a row of results, and not {out_tree}")
        same_trees("the carry of a scan changes its structure", carry_tree, out_tree.children[0])
        return body, outer, out_tree

    body, outer, out_tree, avals = fixed_point(
        "the carry of a scan changes its type", trace_body, [x.aval for x in carry]
    )
    operands = *outer, *fitted(carry, avals), *rows
    sizes = {"num_consts": len(outer), "num_carry": len(carry), "length": length, "reverse": bool(reverse)}
    return tree_unflatten(out_tree, bind("scan", *operands, jaxpr=body, **sizes))


def fori_loop(lower, upper, body, init):
    def whole(n):
        return isinstance(n, (int, np.integer))

    if whole(lower) and whole(upper):

        def turn(state, _):
            return ((state[0] + 1, body(*state)), None)

        return scan(turn, (int(lower), init), None, length=max(int(upper) - int(lower), 0))[0][1]
    upper = lift(upper)
    state = lower, init
    return while_loop(lambda s: s[0] < upper, lambda s: (s[0] + 1, body(*s)), state)[1]


lax = types.SimpleNamespace(cond=cond, switch=switch, while_loop=while_loop, scan=scan, fori_loop=fori_loop)

# ---------------------------------------------------------------- forward

JVP = {}  # by primitive: (operands, their tangents, **params) -> result, tangent. The tangent None is zero.
MADE = weakref.WeakKeyDictionary()  # of a program: what was made of it


def made_of(make):
    """A function from a program to a program, which remembers."""

    @functools.wraps(make)
    def remembering(closed, *key):
        made = MADE.setdefault(closed, {})
        if (make, *key) not in made:
            made[make, *key] = make(closed, *key)
        return made[make, *key]

    return remembering


def fit(x, aval):
    """This array, with exactly that type."""
    return convert(broadcast_to(x, aval.shape), aval.dtype, aval.weak_type)


def instantiate(tangent, aval):
    return fit(0.0, aval) if tangent is None else tangent


def plus(x, y):
    return y if x is None else x if y is None else add(x, y)


def jvp_eval(closed, primals, tangents):
    """Runs a program with the rules: results, and their tangents."""
    jaxpr = closed.jaxpr
    env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*closed.consts, *primals], strict=True))
    moves = dict(zip(jaxpr.invars, tangents, strict=True))

    def read(v):
        return v if isinstance(v, Literal) else env[v]

    for e in jaxpr.eqns:
        xs, ts = [read(v) for v in e.invars], [moves.get(v) for v in e.invars]
        if all(t is None for t in ts):
            outs, touts = bind(e.primitive.name, *xs, **e.params), None
        else:
            outs, touts = JVP[e.primitive.name](xs, ts, **e.params)
        if not isinstance(outs, list):
            outs, touts = [outs], [touts]
        env.update(zip(e.outvars, outs, strict=False))
        for v, t in zip(e.outvars, touts or [], strict=False):
            if t is not None and v.aval.dtype.kind == "f":
                moves[v] = fit(t, v.aval)
    return [settle(read(v)) for v in jaxpr.outvars], [moves.get(v) for v in jaxpr.outvars]


def with_slope(name, slope):
    """One operand: the result moves by `slope(x, result)` times as much."""

    def rule(xs, ts):
        y = bind(name, *xs)
        return y, ts[0] * slope(xs[0], y)

    JVP[name] = rule


for name, slope in {
    "sin": lambda x, y: cos(x),
    "cos": lambda x, y: -sin(x),
    "tan": lambda x, y: 1.0 + y * y,
    "tanh": lambda x, y: 1.0 - y * y,
    "exp": lambda x, y: y,
    "log": lambda x, y: 1.0 / x,
    "sqrt": lambda x, y: 0.5 / y,
    "abs": lambda x, y: sign(x),
}.items():
    with_slope(name, slope)


def with_slopes(name, *slopes):
    """Two operands: each moves the result by `slope(t, x, y, result)`."""

    def rule(xs, ts):
        out = bind(name, *xs)
        moved = [slope(t, *map(of_value, xs), out) for slope, t in zip(slopes, ts, strict=False) if t is not None]
        return out, functools.reduce(add, moved)

    JVP[name] = rule


def of_value(x):
    return settle(x) if isinstance(x, Literal) else x


def half_at_ties(x, y, larger):
    return where(larger(x, y), 1.0, where(equal(x, y), 0.5, 0.0))


def pow_slope(x, y):
    return y * power(x, where(equal(y, 0), 1, y - 1))


with_slopes("add", lambda t, *_: t, lambda t, *_: t)
with_slopes("sub", lambda t, *_: t, lambda t, *_: -t)
with_slopes("mul", lambda t, x, y, out: t * y, lambda t, x, y, out: x * t)
with_slopes("div", lambda t, x, y, out: t / y, lambda t, x, y, out: t * -(out / y))
with_slopes("max", *[lambda t, x, y, out, s=s: t * half_at_ties(*(x, y)[::s], greater) for s in (1, -1)])
with_slopes("min", *[lambda t, x, y, out, s=s: t * half_at_ties(*(x, y)[::s], less) for s in (1, -1)])
with_slopes(
    "pow", lambda t, x, y, out: t * pow_slope(x, y), lambda t, x, y, out: t * (log(where(equal(x, 0), 1, x)) * out)
)
for name in ("sign", "floor", "lt", "le", "gt", "ge", "eq", "ne"):
    JVP[name] = lambda xs, ts, name=name: (bind(name, *xs), None)


def same_for_tangent(name):
    """Linear in the first operand, the only one that moves: the tangent goes the same way."""
    JVP[name] = lambda xs, ts, **params: (bind(name, *xs, **params), bind(name, ts[0], *xs[1:], **params))


for name in ("neg", "reduce_sum", "reshape", "transpose", "broadcast_in_dim", "dynamic_slice"):
    same_for_tangent(name)


def jvp_convert(xs, ts, new_dtype, weak_type):
    moved = convert(ts[0], new_dtype, weak_type) if new_dtype.kind == "f" else None
    return bind("convert_element_type", *xs, new_dtype=new_dtype, weak_type=weak_type), moved


def jvp_largest(name):
    def rule(xs, ts, axes):
        (x,), (t,) = xs, ts
        out = bind(name, x, axes=axes)
        there = convert(
            equal(x, reshape(out, [1 if i in axes else n for i, n in enumerate(x.aval.shape)])), out.aval.dtype
        )
        return out, sum_(t * there, axes) / sum_(there, axes)

    JVP[name] = rule


def jvp_dot(xs, ts, **params):
    pairs = [(ts[0], xs[1]), (xs[0], ts[1])]
    moved = [
        bind("dot_general", a, b, **params) if t is not None else None for (a, b), t in zip(pairs, ts, strict=False)
    ]
    return bind("dot_general", *xs, **params), plus(*moved)


def jvp_select(xs, ts):
    which, _no, _yes = xs
    return bind("select_n", *xs), where(which, *[0.0 if t is None else t for t in (ts[2], ts[1])])


def jvp_update(xs, ts):
    moved = [instantiate(t, x.aval) for t, x in zip(ts[:2], xs[:2], strict=False)]
    return bind("dynamic_update_slice", *xs), bind("dynamic_update_slice", *moved, *xs[2:])


jvp_largest("reduce_max")
jvp_largest("reduce_min")
JVP.update(
    {
        "convert_element_type": jvp_convert,
        "dot_general": jvp_dot,
        "select_n": jvp_select,
        "dynamic_update_slice": jvp_update,
    }
)


def pick(xs, flags):
    return [x for x, flag in zip(xs, flags, strict=True) if flag]


def spread_out(xs, flags, default=None):
    """The reverse: each where its flag is, and the default elsewhere."""
    xs = iter(xs)
    return [next(xs) if flag else default for flag in flags]


def moving_flags(ts):
    return tuple(t is not None for t in ts)


@made_of
def tangent_of(closed, moving, forced=()):
    """A program from operands, and tangents of those that move, to tangents of results. Also: which results move."""
    flags = []

    def tangents(*args):
        xs, ts = split(args, len(moving))
        _, touts = jvp_eval(closed, xs, spread_out(ts, moving))
        flags.extend(t is not None or (i < len(forced) and forced[i]) for i, t in enumerate(touts))
        return pick(map(instantiate, touts, closed.out_avals), flags)

    return trace_flat(tangents, closed.in_avals + pick(closed.in_avals, moving)), tuple(flags)


def jvp_jit(xs, ts, name, jaxpr):
    tangents, flags = tangent_of(jaxpr, moving_flags(ts))
    moved = bind("jit", *xs, *pick(ts, moving_flags(ts)), name=f"jvp_{name}", jaxpr=tangents)
    return bind("jit", *xs, name=name, jaxpr=jaxpr), spread_out(moved, flags)


def jvp_cond(xs, ts, branches):
    moving = moving_flags(ts[1:])
    flags = tuple(map(any, zip(*[tangent_of(b, moving)[1] for b in branches], strict=False)))
    tangents = [tangent_of(b, moving, flags)[0] for b in branches]
    moved = bind("cond", *xs, *pick(ts[1:], moving), branches=tangents)
    return bind("cond", *xs, branches=branches), spread_out(moved, flags)


def carry_that_moves(body, consts, carry, rows=()):
    """Whatever moves in the carry after a turn moves in the next one."""
    while True:
        _, flags = tangent_of(body, (*consts, *carry, *rows), carry)
        if flags[: len(carry)] == carry:
            return tangent_of(body, (*consts, *carry, *rows), carry), carry
        carry = flags[: len(carry)]


def jvp_while(xs, ts, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
    test_consts, consts, carry = split(xs, cond_nconsts, body_nconsts)
    _, tconsts, tcarry = split(ts, cond_nconsts, body_nconsts)
    (tangents, _), flags = carry_that_moves(body_jaxpr, moving_flags(tconsts), moving_flags(tcarry))
    tconsts = pick(tconsts, moving_flags(tconsts))
    tcarry = [instantiate(t, x.aval) for t, x in pick(zip(tcarry, carry, strict=False), flags)]

    def body(state):
        carry, tcarry = state
        return call(body_jaxpr, *consts, *carry), call(tangents, *consts, *carry, *tconsts, *tcarry)

    _, moved = while_loop(lambda state: call(cond_jaxpr, *test_consts, *state[0])[0], body, (carry, tcarry))
    outs = bind(
        "while", *xs, cond_jaxpr=cond_jaxpr, body_jaxpr=body_jaxpr, cond_nconsts=cond_nconsts, body_nconsts=body_nconsts
    )
    return outs, spread_out(moved, flags)


@made_of
def with_carry_kept(body, num_consts, num_carry):
    """The body of a scan whose rows of results have the carry that came in, too."""
    return trace_flat(lambda *args: [*call(body, *args), *args[num_consts : num_consts + num_carry]], body.in_avals)


@made_of
def scan_tangent_body(body, moving, carry, num_consts):
    """In the order of a scan: constants, their tangents; tangents of the carry; the carry, rows, tangents of rows."""
    tangents, _ = tangent_of(body, moving, carry)
    num_carry = len(carry)
    consts_move, carry_moves, rows_move = split(moving, num_consts, num_carry)
    consts, carries, rows = split(body.in_avals, num_consts, num_carry)
    groups = [consts, pick(consts, consts_move), pick(carries, carry_moves), carries, rows, pick(rows, rows_move)]

    def tangent_body(*args):
        consts, tconsts, tcarry, carry, rows, trows = split(args, *map(len, groups[:-1]))
        return call(tangents, *consts, *carry, *rows, *tconsts, *tcarry, *trows)

    return trace_flat(tangent_body, [a for group in groups for a in group])


def jvp_scan(xs, ts, jaxpr, num_consts, num_carry, length, reverse):
    consts, carry, rows = split(xs, num_consts, num_carry)
    tconsts, tcarry, trows = split(ts, num_consts, num_carry)
    consts_move, rows_move = moving_flags(tconsts), moving_flags(trows)
    (_, flags), carry_moves = carry_that_moves(jaxpr, consts_move, moving_flags(tcarry), rows_move)
    turns = {"length": length, "reverse": reverse}
    keeping = with_carry_kept(jaxpr, num_consts, num_carry)
    outs = bind("scan", *xs, jaxpr=keeping, num_consts=num_consts, num_carry=num_carry, **turns)
    outs, kept = split(outs, len(jaxpr.out_avals))
    tcarry = [instantiate(t, x.aval) for t, x in pick(zip(tcarry, carry, strict=False), carry_moves)]
    tconsts, trows = pick(tconsts, consts_move), pick(trows, rows_move)
    body = scan_tangent_body(jaxpr, (*consts_move, *carry_moves, *rows_move), carry_moves, num_consts)
    sizes = {"num_consts": num_consts + len(tconsts), "num_carry": len(tcarry)}
    moved = bind("scan", *consts, *tconsts, *tcarry, *kept, *rows, *trows, jaxpr=body, **sizes, **turns)
    return outs, spread_out(moved, flags)


JVP.update({"jit": jvp_jit, "cond": jvp_cond, "while": jvp_while, "scan": jvp_scan})


def tangent_leaf(x, t):
    """What was given as the tangent of this argument: of what is no float it is nothing."""
    if x.aval.dtype.kind != "f":
        return None
    t = lift(t)
    if t.aval.shape != x.aval.shape:
        raise ValueError(f"a tangent of shape {t.aval.shape} for an array of shape {x.aval.shape}")
    if t.aval.dtype != x.aval.dtype:
        raise TypeError(f"a tangent of dtype {t.aval.dtype} for an array of dtype {x.aval.dtype}")
    return settle(fit(t, x.aval))


def jvp(f, primals, tangents):
    leaves, tree = tree_flatten((tuple(primals), {}))
    tangent_leaves, tangent_tree = tree_flatten((tuple(tangents), {}))
    same_trees("primals and tangents are not built alike", tree, tangent_tree)
    xs = [settle(x) for x in leaves]
    ts = list(map(tangent_leaf, xs, tangent_leaves))
    closed, out_tree = trace_tree(f, tree, [x.aval for x in xs])
    outs, touts = jvp_eval(closed, xs, ts)
    touts = [settle(instantiate(t, x.aval)) for t, x in zip(touts, outs, strict=False)]
    return tree_unflatten(out_tree, outs), tree_unflatten(out_tree, touts)


# ---------------------------------------------------------------- backward

TRANSPOSE = {}  # by primitive: (cotangents of the results, operands, **params) -> cotangents of operands. None is zero.


def linear(x):
    """In a linear program that is read backward an operand without a value is its variable itself."""
    return isinstance(x, Var)


def backward(closed, args, cotangents):
    """From cotangents of results to cotangents of those arguments that have no value."""
    jaxpr = closed.jaxpr
    env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*closed.consts, *args], strict=True))
    env |= {v: v for v, x in zip(jaxpr.invars, args, strict=True) if linear(x)}

    def read(v):
        return v if isinstance(v, Literal) else env[v]

    for e in jaxpr.eqns:
        xs = [read(v) for v in e.invars]
        outs = e.outvars if any(map(linear, xs)) else bind(e.primitive.name, *xs, **e.params)
        env.update(zip(e.outvars, outs if isinstance(outs, list) else [outs], strict=False))
    found = {}
    for v, ct in zip(jaxpr.outvars, cotangents, strict=True):
        found[v] = plus(found.get(v), ct)
    for e in reversed(jaxpr.eqns):
        xs, cts = [read(v) for v in e.invars], [found.get(v) for v in e.outvars]
        if not any(map(linear, xs)) or all(ct is None for ct in cts):
            continue
        if len(cts) > 1 or e.primitive.name in RUN:
            cts = [instantiate(ct, v.aval) for ct, v in zip(cts, e.outvars, strict=False)]
        else:
            (cts,) = cts
        for v, x, ct in zip(e.invars, xs, TRANSPOSE[e.primitive.name](cts, xs, **e.params), strict=True):
            if linear(x) and ct is not None:
                found[v] = plus(found.get(v), gather_up(ct, v.aval))
    return [found.get(v) for v, x in zip(jaxpr.invars, args, strict=False) if linear(x)]


def gather_up(ct, aval):
    """What was broadcast is summed; then the cotangent has the type of its operand."""
    ct = lift(ct)
    extra = len(ct.aval.shape) - len(aval.shape)
    wide = [i for i, n in enumerate(ct.aval.shape) if i < extra or n != aval.shape[i - extra]]
    return fit(reshape(sum_(ct, wide), aval.shape) if wide else ct, aval)


def transpose_reduce_sum(ct, xs, axes):
    shape = xs[0].aval.shape
    return [broadcast_in_dim(ct, shape, [i for i in range(len(shape)) if i not in axes])]


def transpose_broadcast(ct, xs, shape, broadcast_dimensions):
    own = xs[0].aval.shape
    ct = sum_(ct, [i for i in range(len(shape)) if i not in broadcast_dimensions])
    return [sum_(ct, [i for i, n in enumerate(own) if n != ct.aval.shape[i]], keepdims=True)]


def transpose_dot(ct, xs, dimension_numbers):
    a, b = xs
    la, lb, lo = dot_labels(len(a.aval.shape), len(b.aval.shape), dimension_numbers)
    return [contract(ct, lo, b, lb, la) if linear(a) else None, contract(ct, lo, a, la, lb) if linear(b) else None]


def transpose_window(ct, xs, slice_sizes):
    x, *starts = xs
    return [dynamic_update_slice(zeros(x.aval.shape, x.aval.dtype), ct, starts), *[None] * len(starts)]


def transpose_update(ct, xs):
    _, update, *starts = xs
    rest = dynamic_update_slice(ct, zeros(update.aval.shape, update.aval.dtype), starts)
    return [rest, dynamic_slice(ct, starts, update.aval.shape), *[None] * len(starts)]


def transpose_while(*args, **params):
    raise ValueError("a while_loop has no derivative backward: nobody knows how many turns to remember. Try scan")


@made_of
def transposed(closed, flags):
    """A program, linear in the flagged arguments: from the others, and cotangents, to cotangents of the flagged."""
    known = [a for a, flag in zip(closed.in_avals, flags, strict=False) if not flag]
    unknown = pick(closed.in_avals, flags)

    def cotangents(*args):
        values, cts = split(args, len(known))
        args = spread_out(values, [not flag for flag in flags])
        args = [Var(a) if flag else x for x, flag, a in zip(args, flags, closed.in_avals, strict=False)]
        return list(map(instantiate, backward(closed, args, cts), unknown))

    return trace_flat(cotangents, known + closed.out_avals)


def known_and_flags(xs):
    return [x for x in xs if not linear(x)], tuple(map(linear, xs))


def transpose_jit(cts, xs, name, jaxpr):
    known, flags = known_and_flags(xs)
    return spread_out(bind("jit", *known, *cts, name=f"transpose_{name}", jaxpr=transposed(jaxpr, flags)), flags)


def transpose_cond(cts, xs, branches):
    which, *xs = xs
    known, flags = known_and_flags(xs)
    found = bind("cond", which, *known, *cts, branches=[transposed(b, flags) for b in branches])
    return [None, *spread_out(found, flags)]


def transpose_scan(cts, xs, jaxpr, num_consts, num_carry, length, reverse):
    """From the last turn to the first; cotangents of constants add up on the way. All of the carry is linear."""
    consts, _carry, rows = split(xs, num_consts, num_carry)
    (consts, const_flags), (rows, row_flags) = known_and_flags(consts), known_and_flags(rows)
    body = transposed(jaxpr, (*const_flags, *[True] * num_carry, *row_flags))
    const_avals, _, _row_avals = split(jaxpr.in_avals, num_consts, num_carry)
    const_avals, ct_carry, ct_rows = pick(const_avals, const_flags), *split(cts, num_carry)

    def turn(state, row):
        sums, ct_carry = state
        known_rows, ct_row = row
        found = call(body, *consts, *known_rows, *ct_carry, *ct_row)
        more, ct_carry, ct_rows = split(found, len(sums), num_carry)
        return (list(map(add, sums, more)), ct_carry), ct_rows

    init = [instantiate(None, a) for a in const_avals], ct_carry
    (sums, ct_carry), ct_rows = scan(turn, init, (rows, ct_rows), length=length, reverse=not reverse)
    return [*spread_out(sums, const_flags), *ct_carry, *spread_out(ct_rows, row_flags)]


TRANSPOSE.update(
    {
        "neg": lambda ct, xs: [-ct],
        "add": lambda ct, xs: [ct, ct],
        "sub": lambda ct, xs: [ct, -ct],
        "mul": lambda ct, xs: [ct * xs[1] if linear(xs[0]) else None, xs[0] * ct if linear(xs[1]) else None],
        "div": lambda ct, xs: [ct / xs[1], None],
        "convert_element_type": lambda ct, xs, **params: [ct],
        "select_n": lambda ct, xs: [None, where(xs[0], 0.0, ct), where(xs[0], ct, 0.0)],
        "reduce_sum": transpose_reduce_sum,
        "reshape": lambda ct, xs, new_sizes: [reshape(ct, xs[0].aval.shape)],
        "transpose": lambda ct, xs, permutation: [transpose(ct, [int(i) for i in np.argsort(permutation)])],
        "broadcast_in_dim": transpose_broadcast,
        "dot_general": transpose_dot,
        "dynamic_slice": transpose_window,
        "dynamic_update_slice": transpose_update,
        "jit": transpose_jit,
        "cond": transpose_cond,
        "scan": transpose_scan,
        "while": transpose_while,
    }
)


def linearized(closed, xs):
    """The results, and a function from their cotangents to those of xs: tangents without a value are written down."""
    results = []

    def tangents(*ts):
        outs, touts = jvp_eval(closed, xs, list(ts))
        results.extend([outs, moving_flags(touts)])
        return pick(touts, results[1])

    program = trace_flat(tangents, [x.aval for x in xs])
    outs, flags = results

    def pull(cts):
        found = backward(program, [Var(x.aval) for x in xs], pick(cts, flags))
        return [settle(instantiate(ct, x.aval)) for ct, x in zip(found, xs, strict=False)]

    return outs, pull


def value_and_grad(f, argnums=0, has_aux=False):
    def with_value(*args, **kwargs):
        nums = [n % len(args) for n in as_tuple(argnums)]
        leaves, tree = tree_flatten((tuple(args[n] for n in nums), {}))
        xs = [settle(x) for x in leaves]
        for x in xs:
            if x.aval.dtype.kind != "f":
                raise TypeError(f"grad is by floats, and not by {show_type(x.aval)}")

        def of_some(*some):
            return f(*[some[nums.index(n)] if n in nums else x for n, x in enumerate(args)], **kwargs)

        closed, out_tree = trace_tree(of_some, tree, [x.aval for x in xs])
        loss = closed.out_avals[0] if closed.out_avals else None
        scalar_tree = out_tree.children[0] if has_aux else out_tree
        if scalar_tree != LEAF or loss.shape or loss.dtype.kind != "f":
            raise TypeError(
                f"grad is of one float, and not of {show_type(loss) if scalar_tree == LEAF else scalar_tree}"
            )
        outs, pull = linearized(closed, xs)
        found = pull([fit(1.0, loss)] + [None] * (len(outs) - 1))
        grads, _ = tree_unflatten(tree, found)
        return tree_unflatten(out_tree, outs), grads if isinstance(argnums, (tuple, list)) else grads[0]

    return with_value


def grad(f, argnums=0, has_aux=False):
    def gradient(*args, **kwargs):
        value, grads = value_and_grad(f, argnums, has_aux)(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return gradient


# ---------------------------------------------------------------- batch

BATCH = {}  # by primitive: (size, operands, which have a batch, **params) -> results, which have one. It is axis 0.


def one_example(x, batched):
    """The shape that one example has."""
    return x.aval.shape[1:] if batched else x.aval.shape


def batch_eval(closed, size, args, flags):
    """Runs a program for a batch: results, and which of them have the batch as their axis 0."""
    jaxpr = closed.jaxpr
    env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*closed.consts, *args], strict=True))
    has_batch = dict(zip(jaxpr.invars, flags, strict=True))

    def read(v):
        return v if isinstance(v, Literal) else env[v]

    for e in jaxpr.eqns:
        xs, batched = [read(v) for v in e.invars], tuple(has_batch.get(v, False) for v in e.invars)
        if any(batched):
            outs, batched = BATCH[e.primitive.name](size, xs, batched, **e.params)
        else:
            outs, batched = bind(e.primitive.name, *xs, **e.params), False
        if not isinstance(outs, list):
            outs, batched = [outs], [batched]
        env.update(zip(e.outvars, outs, strict=False))
        has_batch.update(zip(e.outvars, batched or [False] * len(outs), strict=False))
    return [settle(read(v)) for v in jaxpr.outvars], tuple(has_batch.get(v, False) for v in jaxpr.outvars)


def with_batch(x, batched, size):
    return x if batched else broadcast_to(x, (size, *x.aval.shape))


@made_of
def batched_program(closed, size, flags, forced=()):
    """The same program for batches of the flagged arguments. Also: which results are batches; forced ones are."""
    out_flags = []

    def program(*args):
        outs, found = batch_eval(closed, size, args, flags)
        out_flags.extend(f or (i < len(forced) and forced[i]) for i, f in enumerate(found))
        return [with_batch(x, f, size) if o else x for x, f, o in zip(outs, found, out_flags, strict=False)]

    avals = [a._replace(shape=(size, *a.shape)) if f else a for a, f in zip(closed.in_avals, flags, strict=False)]
    return trace_flat(program, avals), tuple(out_flags)


def batch_elementwise(name):
    def rule(size, xs, flags, **params):
        ndim = max(len(one_example(x, f)) for x, f in zip(xs, flags, strict=False))

        def ones_for(x):
            return (1,) * (ndim - len(x.aval.shape) + 1)

        xs = [reshape(x, (size, *ones_for(x), *x.aval.shape[1:])) if f else x for x, f in zip(xs, flags, strict=False)]
        return bind(name, *xs, **params), True

    BATCH[name] = rule


def batch_reduction(name):
    BATCH[name] = lambda size, xs, flags, axes: (bind(name, *xs, axes=tuple(a + 1 for a in axes)), True)


def batch_broadcast(size, xs, flags, shape, broadcast_dimensions):
    return broadcast_in_dim(xs[0], (size, *shape), [0] + [d + 1 for d in broadcast_dimensions]), True


def batch_dot(size, xs, flags, dimension_numbers):
    (a, b), ndims = xs, [len(one_example(x, f)) for x, f in zip(xs, flags, strict=False)]
    la, lb, lo = dot_labels(*ndims, dimension_numbers)
    return contract(a, ["batch"] * flags[0] + la, b, ["batch"] * flags[1] + lb, ["batch", *lo]), True


def one_by_one(name, size, xs, flags, **params):
    """A scan over the examples, for what XLA can do for one only."""

    def turn(_, row):
        row = iter(row)
        return None, bind(name, *[next(row) if f else x for x, f in zip(xs, flags, strict=False)], **params)

    return scan(turn, None, pick(xs, flags))[1], True


def batch_window(size, xs, flags, slice_sizes):
    if any(flags[1:]):
        return one_by_one("dynamic_slice", size, xs, flags, slice_sizes=slice_sizes)
    return dynamic_slice(xs[0], [0, *xs[1:]], (size, *slice_sizes)), True


def batch_update(size, xs, flags):
    if any(flags[2:]):
        return one_by_one("dynamic_update_slice", size, xs, flags)
    x, update = [with_batch(x, f, size) for x, f in zip(xs[:2], flags[:2], strict=False)]
    return dynamic_update_slice(x, update, [0, *xs[2:]]), True


def batch_jit(size, xs, flags, name, jaxpr):
    program, out_flags = batched_program(jaxpr, size, flags)
    return bind("jit", *xs, name=f"vmap_{name}", jaxpr=program), out_flags


def batch_cond(size, xs, flags, branches):
    (which, *xs), (differs, *flags) = xs, flags
    found = [batched_program(b, size, tuple(flags))[1] for b in branches]
    out_flags = tuple(differs or any(fs) for fs in zip(*found, strict=False))
    programs = [batched_program(b, size, tuple(flags), out_flags)[0] for b in branches]
    if not differs:
        return bind("cond", which, *xs, branches=programs), out_flags
    outs = call(programs[0], *xs)
    for i, program in enumerate(programs[1:], 1):
        outs = [take(equal(which, i), x, y) for x, y in zip(call(program, *xs), outs, strict=False)]
    return outs, out_flags


def take(flags, x, y):
    """For each example its own: x where its flag is true."""
    return where(reshape(flags, (-1, *[1] * (len(x.aval.shape) - 1))), x, y)


def carry_with_batch(body, size, consts, carry, rows=()):
    """Whatever has a batch after a turn has one in the next."""
    while True:
        program, flags = batched_program(body, size, (*consts, *carry, *rows), carry)
        if flags[: len(carry)] == carry:
            return program, flags, carry
        carry = flags[: len(carry)]


def batch_while(size, xs, flags, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
    test_consts, consts, carry = split(xs, cond_nconsts, body_nconsts)
    test_flags, const_flags, carry_flags = map(tuple, split(flags, cond_nconsts, body_nconsts))
    while True:
        body, _, found = carry_with_batch(body_jaxpr, size, const_flags, carry_flags)
        test, (differs,) = batched_program(cond_jaxpr, size, test_flags + found)
        if not differs or all(found):
            break
        carry_flags = (True,) * len(carry)
    of_carry = zip(carry, flags[cond_nconsts + body_nconsts :], found, strict=False)
    carry = [with_batch(x, f, size) if wanted else x for x, f, wanted in of_carry]

    def wants(state):
        return call(test, *test_consts, *state)[0]

    def turn(state):
        new = call(body, *consts, *state)
        return [take(wants(state), x, y) for x, y in zip(new, state, strict=False)] if differs else new

    return while_loop(lambda state: any_(wants(state)) if differs else wants(state), turn, carry), found


def batch_scan(size, xs, flags, jaxpr, num_consts, num_carry, length, reverse):
    consts, carry, rows = split(xs, num_consts, num_carry)
    const_flags, carry_flags, row_flags = map(tuple, split(flags, num_consts, num_carry))
    body, out_flags, found = carry_with_batch(jaxpr, size, const_flags, carry_flags, row_flags)
    carry = [with_batch(x, f, size) if wanted else x for x, f, wanted in zip(carry, carry_flags, found, strict=False)]
    rows = [swap(x) if f else x for x, f in zip(rows, row_flags, strict=False)]
    sizes = {"num_consts": num_consts, "num_carry": num_carry, "length": length, "reverse": reverse}
    carry, ys = split(bind("scan", *consts, *carry, *rows, jaxpr=body, **sizes), num_carry)
    return [*carry, *[swap(y) if f else y for y, f in zip(ys, out_flags[num_carry:], strict=False)]], out_flags


def swap(x):
    """The first two axes, the other way round: rows of batches, batches of rows."""
    return transpose(x, (1, 0, *range(2, len(x.aval.shape))))


for name in (
    "sin",
    "cos",
    "tan",
    "tanh",
    "exp",
    "log",
    "sqrt",
    "neg",
    "abs",
    "sign",
    "floor",
    "not",
    "add",
    "sub",
    "mul",
    "div",
    "pow",
    "max",
    "min",
    "and",
    "or",
    *COMPARISONS,
    "select_n",
    "convert_element_type",
):
    batch_elementwise(name)
for name in ("reduce_sum", "reduce_max", "reduce_min", "reduce_or"):
    batch_reduction(name)
BATCH.update(
    {
        "reshape": lambda size, xs, flags, new_sizes: (reshape(xs[0], (size, *new_sizes)), True),
        "transpose": lambda size, xs, flags, permutation: (transpose(xs[0], (0, *[i + 1 for i in permutation])), True),
        "broadcast_in_dim": batch_broadcast,
        "dot_general": batch_dot,
        "dynamic_slice": batch_window,
        "dynamic_update_slice": batch_update,
        "jit": batch_jit,
        "cond": batch_cond,
        "while": batch_while,
        "scan": batch_scan,
    }
)


def axes_of_leaves(axes, tree):
    """An axis or None for each leaf; one that stands for a container is meant for all in it."""
    if axes is None or isinstance(axes, int):
        return [axes] * count_leaves(tree)
    parts, data = (axes, None) if isinstance(axes, (tuple, list)) else CONTAINERS[type(axes)][0](axes)
    both_rows = {type(axes), tree.kind} <= {list, tuple}
    if len(parts) != len(tree.children) or (not both_rows and (type(axes), data) != (tree.kind, tree.data)):
        raise ValueError(f"axes {axes} for a structure {tree}")
    return [a for part, child in zip(parts, tree.children, strict=False) for a in axes_of_leaves(part, child)]


def move_axis(x, source, target):
    order = [i for i in range(len(x.aval.shape)) if i != source]
    order.insert(target, source)
    return transpose(x, order)


def vmap(f, in_axes=0, out_axes=0):
    def batched(*args):
        leaves, tree = tree_flatten((args, {}))
        xs, axes = [settle(x) for x in leaves], axes_of_leaves(in_axes, tree.children[0])
        for x, a in zip(xs, axes, strict=False):
            if a is not None and not -len(x.aval.shape) <= a < len(x.aval.shape):
                raise ValueError(f"vmap over axis {a} of an array of shape {x.aval.shape}")
        flags = tuple(a is not None for a in axes)
        sizes = {x.aval.shape[a] for x, a in zip(xs, axes, strict=False) if a is not None}
        if len(sizes) != 1:
            raise ValueError(f"vmap got batches of different sizes: {sizes}" if sizes else "vmap got nothing to batch")
        (size,) = sizes
        xs = [x if a is None else move_axis(x, a % len(x.aval.shape), 0) for x, a in zip(xs, axes, strict=False)]
        avals = [x.aval._replace(shape=one_example(x, f)) for x, f in zip(xs, flags, strict=False)]
        closed, out_tree = trace_tree(f, tree, avals)
        outs, found = batch_eval(closed, size, xs, flags)
        results = []
        for x, has_batch, a in zip(outs, found, axes_of_leaves(out_axes, out_tree), strict=False):
            if a is None and has_batch:
                raise ValueError("vmap got None as the axis of a result that has a batch")
            x = x if a is None else with_batch(x, has_batch, size)
            results.append(x if a is None else move_axis(x, 0, a % len(x.aval.shape)))
        return tree_unflatten(out_tree, results)

    return batched


# ---------------------------------------------------------------- all of it: words


def var(x, axis=None, keepdims=False):
    away = x - mean(x, axis, keepdims=True)
    return mean(away * away, axis, keepdims)


def expand_dims(x, axis):
    shape = list(lift(x).aval.shape)
    shape.insert(axis % (len(shape) + 1), 1)
    return reshape(x, tuple(shape))


def concatenate(arrays, axis=0):
    """Each is laid where the one before it ends."""
    arrays = promote(*arrays)
    shapes = [list(x.aval.shape) for x in arrays]
    axis = axis % len(shapes[0])
    if len({tuple(s[:axis] + s[axis + 1 :]) for s in shapes}) > 1:
        raise TypeError(f"concatenate got shapes that differ beside axis {axis}: {shapes}")
    ends = list(itertools.accumulate(s[axis] for s in shapes))
    result = zeros([*shapes[0][:axis], ends[-1], *shapes[0][axis + 1 :]], arrays[0].aval.dtype)
    for x, start in zip(arrays, [0, *ends], strict=False):
        result = dynamic_update_slice(result, x, [start if i == axis else 0 for i in range(len(shapes[0]))])
    return result


def stack(arrays, axis=0):
    return concatenate([expand_dims(x, axis) for x in arrays], axis)


def linspace(start, stop, num=50):
    way = arange(num) / max(num - 1, 1)
    return start * (1.0 - way) + stop * way


def shifted(x, axis):
    return x - max_(x, axis, keepdims=True)


def softmax(x, axis=-1):
    powers = exp(shifted(x, axis))
    return powers / sum_(powers, axis, keepdims=True)


def log_softmax(x, axis=-1):
    x = shifted(x, axis)
    return x - log(sum_(exp(x), axis, keepdims=True))


def selu(x):
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return scale * where(greater(x, 0), x, alpha * (exp(where(greater(x, 0), 0.0, x)) - 1.0))


def sigmoid(x):
    return 0.5 * tanh(multiply(0.5, x)) + 0.5


def jacfwd(f, argnums=0):
    """A column for each number of the argument: all of them in one batch."""

    def jacobian(*args):
        x = settle(args[argnums])

        def of_one_argument(y):
            return f(*args[:argnums], y, *args[argnums + 1 :])

        basis = reshape(asarray(np.eye(x.size, dtype=x.dtype)), (x.size, *x.shape))
        columns = vmap(lambda t: jvp(of_one_argument, (x,), (t,))[1], out_axes=-1)(basis)
        return tree_map(lambda y: reshape(y, (*y.shape[:-1], *x.shape)), columns)

    return jacobian


def jacrev(f, argnums=0):
    """A row for each number of the result."""

    def jacobian(*args):
        x = settle(args[argnums])

        def of_one_argument(y):
            return f(*args[:argnums], y, *args[argnums + 1 :])

        closed, out_tree = trace_tree(of_one_argument, tree_structure(((x,), {})), [x.aval])
        outs, pull = linearized(closed, [x])
        rows = []
        for i, y in enumerate(outs):
            basis = reshape(asarray(np.eye(y.size, dtype=y.dtype)), (y.size, *y.shape))
            row = vmap(lambda ct, i=i: pull([ct if j == i else None for j in range(len(outs))])[0])(basis)
            rows.append(reshape(row, (*y.shape, *x.shape)))
        return tree_unflatten(out_tree, rows)

    return jacobian


def hessian(f, argnums=0):
    return jacfwd(jacrev(f, argnums), argnums)


numpy.__dict__.update(
    var=var,
    std=lambda *args, **kwargs: sqrt(var(*args, **kwargs)),
    concatenate=concatenate,
    stack=stack,
    linspace=linspace,
    clip=clip,
    square=lambda x: multiply(x, x),
    outer=outer,
    expand_dims=expand_dims,
    ravel=lambda x: reshape(x, -1),
)
nn = types.SimpleNamespace(
    relu=lambda x: where(greater(x, 0), x, 0.0),
    sigmoid=sigmoid,
    silu=lambda x: x * sigmoid(x),
    selu=selu,
    softmax=softmax,
    softplus=lambda x: maximum(x, 0.0) + log(1.0 + exp(-abs_(x))),
    log_softmax=log_softmax,
    one_hot=lambda labels, n: convert(equal(expand_dims(labels, -1), arange(n)), FLOAT),
)
