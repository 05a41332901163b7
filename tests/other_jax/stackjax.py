"""myjax: a JIT of my own, with the current traces in an explicit stack.

`bind` finds the highest trace in the stack that an operation has to do with, lifts the operands to it, and lets it process the
operation.
"""

import contextlib
import functools
import inspect
import math
import operator
import types
import weakref
from typing import NamedTuple

import numpy as np
import xla

# ---------------------------------------------------------------------------------------------------------------- errors


class ConcretizationTypeError(TypeError):
    pass


class TracerBoolConversionError(ConcretizationTypeError):
    pass


class TracerIntegerConversionError(TypeError):
    pass


class TracerArrayConversionError(TypeError):
    pass


class UnexpectedTracerError(TypeError):
    pass


# ----------------------------------------------------------------------------------------------------------------- types


class Aval(NamedTuple):
    """The abstract value of an operand: its type, without its numbers."""

    shape: tuple
    dtype: np.dtype
    weak_type: bool = False

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return math.prod(self.shape)

    def __str__(self):
        return SHORT[self.dtype.name] + "[" + ",".join(map(str, self.shape)) + "]"

    __repr__ = __str__


SHORT = {
    "float16": "f16",
    "float32": "f32",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "bool": "bool",
    "complex64": "c64",
    "float64": "f64",
    "int64": "i64",
    "uint64": "u64",
    "complex128": "c128",
}
BOOL, INT, FLOAT, COMPLEX = np.dtype(bool), np.dtype(np.int32), np.dtype(np.float32), np.dtype(np.complex64)
NARROW = {
    np.dtype(np.float64): FLOAT,
    np.dtype(np.int64): INT,
    np.dtype(np.uint64): np.dtype(np.uint32),
    np.dtype(np.complex128): COMPLEX,
}
KINDS = "biufc"
SCALARS = {
    bool: Aval((), BOOL, False),
    int: Aval((), INT, True),
    float: Aval((), FLOAT, True),
    complex: Aval((), COMPLEX, True),
}


def narrow(dtype):
    dtype = np.dtype(dtype)
    if dtype.kind not in KINDS:
        raise TypeError(f"arrays of dtype {dtype} are not supported")
    return NARROW.get(dtype, dtype)


def aval_of(x):
    if isinstance(x, Operators):
        return x.aval
    if type(x) in SCALARS:
        return SCALARS[type(x)]
    if isinstance(x, (np.ndarray, np.generic)):
        return Aval(x.shape, narrow(x.dtype), False)
    for kind, aval in SCALARS.items():
        if isinstance(x, kind):
            return aval
    raise TypeError(f"{x!r} of type {type(x).__name__} is no array and no number")


def is_number(x):
    """Return whether x is a Python number, which has a weak type (a bool has a strong one)."""
    return isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic)


def kind(dtype):
    return {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}[dtype.kind]


def promoted(avals):
    """Return the dtype to which these promote, and whether it is weak."""
    highest = max(kind(a.dtype) for a in avals)
    strong = [a.dtype for a in avals if not a.weak_type]
    decisive = [d for d in strong if kind(d) == highest]
    if decisive:
        return narrow(functools.reduce(np.promote_types, decisive)), False
    return next(narrow(a.dtype) for a in avals if kind(a.dtype) == highest), True


def inexact(dtype):
    return kind(dtype) >= 2


# ----------------------------------------------------------------------------------------------- arrays and their operators


class Operators:
    """The operators of Array and Tracer, each of which is a function of `numpy`."""

    __array_ufunc__ = None  # numpy leaves the operation to this class if an array of numpy is on the left
    __array_priority__ = 100
    __hash__ = None

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    weak_type = property(lambda self: self.aval.weak_type)
    ndim = property(lambda self: len(self.aval.shape))
    size = property(lambda self: math.prod(self.aval.shape))
    T = property(lambda self: jnp.transpose(self))

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index):
        return indexed(self, index)

    def astype(self, dtype):
        return convert(self, narrow(dtype), False)

    def reshape(self, *shape):
        return jnp.reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes):
        return jnp.transpose(self, (axes[0] if len(axes) == 1 else axes) or None)

    def ravel(self):
        return jnp.reshape(self, -1)


def operators():
    words = {
        "add": "add",
        "sub": "subtract",
        "mul": "multiply",
        "truediv": "divide",
        "pow": "power",
        "matmul": "matmul",
        "and": "bitwise_and",
        "or": "bitwise_or",
    }
    for word, name in words.items():
        setattr(Operators, f"__{word}__", lambda x, y, name=name: operated(name, x, y))
        setattr(Operators, f"__r{word}__", lambda x, y, name=name: operated(name, y, x))
    for word, name in {
        "lt": "less",
        "le": "less_equal",
        "gt": "greater",
        "ge": "greater_equal",
        "eq": "equal",
        "ne": "not_equal",
    }.items():
        setattr(Operators, f"__{word}__", lambda x, y, name=name: operated(name, x, y))
    for word, name in {"neg": "negative", "abs": "abs", "invert": "invert"}.items():
        setattr(Operators, f"__{word}__", lambda x, name=name: getattr(jnp, name)(x))
    for name in ("sum", "max", "min", "mean", "var", "std"):
        setattr(
            Operators,
            name,
            lambda x, axis=None, keepdims=False, name=name: getattr(jnp, name)(x, axis, keepdims=keepdims),
        )


def operated(name, x, y):
    for operand in (x, y):
        if not isinstance(operand, (Operators, np.ndarray, np.generic, bool, int, float, complex)):
            return NotImplemented
    return getattr(jnp, name)(x, y)


class Array(Operators):
    """An array: its numbers are in a numpy array, in a buffer of XLA, or in both."""

    def __init__(self, value=None, aval=None, buffer=None):
        self._value, self._buffer = value, buffer
        self.aval = Aval(value.shape, value.dtype) if aval is None else aval

    @property
    def value(self):
        if self._value is None:
            self._value = np.asarray(self._buffer)
        return self._value

    @property
    def buffer(self):
        if self._buffer is None:
            self._buffer = xla.put(self._value)
        return self._buffer

    def __array__(self, dtype=None, copy=None):
        if copy:
            return np.array(self.value, dtype)
        seen = np.asarray(self.value, dtype).view()
        seen.flags.writeable = False  # an Array is immutable
        return seen

    def __bool__(self):
        return bool(self.value)

    def __float__(self):
        return float(self.value)

    def __int__(self):
        return int(self.value)

    def __index__(self):
        return operator.index(self.value[()])

    def item(self):
        return self.value.item()

    def __repr__(self):
        return f"Array({np.array2string(self.value, separator=', ')}, dtype={self.dtype}{', weak_type=True' * self.weak_type})"


def concrete(x):
    """Return a number or a numpy array as an Array."""
    if isinstance(x, Array):
        return x
    aval = aval_of(x)
    return Array(np.array(x, aval.dtype), aval)


# -------------------------------------------------------------------------------------- the stack of traces, and `bind`


class Main:
    """An entry in the stack of traces. Its tracers are valid as long as it is there."""

    def __init__(self, level, trace_type, data):
        self.level, self.data, self.trace = level, data, None
        self.trace = trace_type(self)


class Trace:
    """A trace: it processes operations, one subclass for each transformation."""

    def __init__(self, main):
        self.main = main


class EvalTrace(Trace):
    """The trace at the bottom of the stack: numpy computes at once."""

    def lift(self, x):
        return concrete(x)

    def process(self, primitive, arrays, params):
        if primitive.multiple:
            return primitive.impl(*arrays, **params)
        aval = primitive.type(*[x.aval for x in arrays], **params)
        with np.errstate(all="ignore"):
            return Array(np.asarray(primitive.impl(*[x.value for x in arrays], **params), aval.dtype), aval)


class Tracer(Operators):
    """A value of a trace."""

    main = None

    def refused(self, what, error):
        return error(
            f"{what} needs a number, and this is a tracer: {self.aval} of {type(self.main.trace).__name__}. "
            "It has a type, and its number is known only when the program runs."
        )

    def __bool__(self):
        raise self.refused("bool(), as in `if` and `while`,", TracerBoolConversionError)

    def __float__(self):
        raise self.refused("float()", ConcretizationTypeError)

    def __int__(self):
        raise self.refused("int()", ConcretizationTypeError)

    def __index__(self):
        raise self.refused("an index of Python's", TracerIntegerConversionError)

    def __array__(self, dtype=None, copy=None):
        raise self.refused("a numpy array", TracerArrayConversionError)

    def item(self):
        raise self.refused("item()", ConcretizationTypeError)

    def __repr__(self):
        return f"Tracer({self.aval})"


stack = [Main(0, EvalTrace, None)]
dynamic = []  # entries of the stack that process all operations, whatever their operands


@contextlib.contextmanager
def new_main(trace_type, data=None, takes_all=False):
    main = Main(len(stack), trace_type, data)
    stack.append(main)
    if takes_all:
        dynamic.append(main)
    try:
        yield main
    finally:
        assert stack.pop() is main
        if takes_all:
            dynamic.pop()


def top_main(args):
    """Return the highest entry in the stack that takes everything or has one of these operands as its tracer."""
    top = dynamic[-1] if dynamic else stack[0]
    for x in args:
        if isinstance(x, Tracer):
            main = x.main
            if main.level >= len(stack) or stack[main.level] is not main:
                raise UnexpectedTracerError(f"the tracer {x} was left behind by a trace that has ended")
            if main.level > top.level:
                top = main
    return top


class Primitive:
    """An operation with its rules, one for each transformation.

    impl(*numpy arrays) -> numpy array; type(*avals) -> aval; lower(writer, values, avals) -> values; jvp(primals, tangents) ->
    (result, tangent); transpose(cotangent, *operands) -> cotangents; batch(size, operands, batched) -> (result, batched).
    """

    impl = type = lower = jvp = linearize = transpose = batch = None

    def __init__(self, name, multiple=False, **rules):
        self.name, self.multiple = name, multiple
        self.__dict__.update(rules)

    def __repr__(self):
        return self.name

    def bind(self, *args, **params):
        trace = top_main(args).trace
        return trace.process(self, [trace.lift(x) for x in args], params)


# ------------------------------------------------------------------------------------------------------------------ jaxprs


class Var:
    __slots__ = ("aval",)

    def __init__(self, aval):
        self.aval = aval


class Literal:
    __slots__ = ("aval", "val")

    def __init__(self, val, aval):
        self.val, self.aval = val, aval


class Eqn(NamedTuple):
    primitive: Primitive
    invars: list
    params: dict
    outvars: list


class Jaxpr:
    def __init__(self, constvars, invars, eqns, outvars):
        self.constvars, self.invars, self.eqns, self.outvars = constvars, invars, eqns, outvars

    def __str__(self):
        return "{ " + Printer().jaxpr(self) + " }"

    __repr__ = __str__


class ClosedJaxpr:
    def __init__(self, jaxpr, consts):
        self.jaxpr, self.consts = jaxpr, consts
        self.executable = None

    in_avals = property(lambda self: [v.aval for v in self.jaxpr.invars])
    out_avals = property(lambda self: [v.aval for v in self.jaxpr.outvars])
    eqns = property(lambda self: self.jaxpr.eqns)

    def __str__(self):
        return str(self.jaxpr)

    __repr__ = __str__


class Printer:
    """Prints jaxprs as JAX prints them."""

    def __init__(self):
        self.names = {}

    def name(self, v):
        if isinstance(v, Literal):
            return f"{v.val}:{v.aval}"
        if v not in self.names:
            n, word = len(self.names), ""
            while n or not word:
                n, digit = divmod(n, 26)
                word = chr(97 + digit) + word
            self.names[v] = word
        return self.names[v]

    def typed(self, v):
        return f"{self.name(v)}:{v.aval}"

    def jaxpr(self, jaxpr):
        used = {v for e in jaxpr.eqns for v in e.invars} | set(jaxpr.outvars)
        head = " ".join(map(self.typed, jaxpr.constvars)), " ".join(map(self.typed, jaxpr.invars))
        lines = []
        for e in jaxpr.eqns:
            params = ""
            if e.params:
                params = "[" + " ".join(f"{k}={self.param(e.params[k])}" for k in sorted(e.params)) + "]"
            operands = " ".join(map(self.name, e.invars))
            results = " ".join(self.typed(v) if v in used else f"_:{v.aval}" for v in e.outvars)
            lines.append(f"\n    {results} = {e.primitive.name}{params} {operands}")
        outs = (
            "("
            + ", ".join(map(self.name, jaxpr.outvars))
            + ",)" * (len(jaxpr.outvars) == 1)
            + ")" * (len(jaxpr.outvars) != 1)
        )
        return f"lambda {head[0]}{' ' * bool(head[0])}; {head[1]}{'. ' if head[1] else ' . '}let{''.join(lines)}\n  in {outs}"

    def param(self, value):
        if isinstance(value, ClosedJaxpr):
            return "{ " + self.jaxpr(value.jaxpr) + " }"
        if isinstance(value, tuple) and any(isinstance(v, ClosedJaxpr) for v in value):
            return "(" + ", ".join(map(self.param, value)) + ")"
        return str(value)


class JaxprTracer(Tracer):
    def __init__(self, main, var):
        self.main, self.var = main, var

    aval = property(lambda self: self.var.aval)


class Frame:
    """The equations and constants of a jaxpr while it is written."""

    def __init__(self):
        self.eqns, self.constants, self.literals = [], {}, {}

    def finish(self, invars, outs):
        constvars, consts = [v for v, _ in self.constants.values()], [c for _, c in self.constants.values()]
        return ClosedJaxpr(Jaxpr(constvars, invars, self.eqns, [t.var for t in outs]), consts)


class JaxprTrace(Trace):
    """A trace that records equations."""

    def argument(self, aval):
        return JaxprTracer(self.main, Var(aval))

    def lift(self, x):
        if isinstance(x, JaxprTracer) and x.main is self.main:
            return x
        if not isinstance(x, Tracer):
            if isinstance(x, (Array, np.ndarray)) and x.shape:
                pass
            else:  # a scalar becomes a literal
                aval = aval_of(x)
                return JaxprTracer(self.main, Literal(np.asarray(x, aval.dtype).item(), aval))
        constants = self.main.data.constants
        if id(x) not in constants:
            value = x if isinstance(x, Tracer) else concrete(x)
            constants[id(x)] = Var(value.aval), value
            self.main.data.literals[id(x)] = x  # keeps x alive while its id is a key
        return JaxprTracer(self.main, constants[id(x)][0])

    def process(self, primitive, tracers, params):
        avals = primitive.type(*[t.aval for t in tracers], **params)
        outvars = [Var(a) for a in (avals if primitive.multiple else [avals])]
        self.main.data.eqns.append(Eqn(primitive, [t.var for t in tracers], params, outvars))
        results = [JaxprTracer(self.main, v) for v in outvars]
        return results if primitive.multiple else results[0]


def trace(f, avals):
    """Return the jaxpr of a function from leaves to a list of leaves."""
    with new_main(JaxprTrace, Frame(), takes_all=True) as main:
        args = [main.trace.argument(a) for a in avals]
        outs = [main.trace.lift(x) for x in check_leaves(f(*args))]
        return main.data.finish([t.var for t in args], outs)


def check_leaves(leaves):
    top_main(leaves)  # raises for a tracer whose trace has ended
    for x in leaves:
        aval_of(x)
    return leaves


def eval_jaxpr(jaxpr, consts, *args):
    """Evaluate a jaxpr, equation by equation, by `bind`."""
    env = dict(zip(jaxpr.constvars, consts, strict=True)) | dict(zip(jaxpr.invars, args, strict=True))

    def read(v):
        return literal_value(v) if isinstance(v, Literal) else env[v]

    for e in jaxpr.eqns:
        results = e.primitive.bind(*map(read, e.invars), **e.params)
        env.update(zip(e.outvars, results if e.primitive.multiple else [results], strict=True))
    return [read(v) for v in jaxpr.outvars]


def literal_value(v):
    return Array(np.asarray(v.val, v.aval.dtype), v.aval)


def run(closed, *args):
    return eval_jaxpr(closed.jaxpr, closed.consts, *args)


def flat_function(f, treedef, kwargs_too=False):
    """Return a function of leaves, and a list that holds the structure of its result after a call."""
    out = []

    def flat(*leaves):
        tree = tree_unflatten(treedef, leaves)
        args, kwargs = tree if kwargs_too else (tree, {})
        leaves, out_tree = tree_flatten(f(*args, **kwargs))
        out[:] = [out_tree]
        return leaves

    return flat, out


def make_jaxpr(f):
    @functools.wraps(f)
    def made(*args, **kwargs):
        leaves, treedef = tree_flatten((args, kwargs))
        flat, _ = flat_function(f, treedef, kwargs_too=True)
        return trace(flat, [aval_of(x) for x in leaves])

    return made


# ----------------------------------------------------------------------------------------------------------------- trees


class TreeDef(NamedTuple):
    kind: object  # a type, or "leaf"
    data: object
    children: tuple
    leaves: int

    def __repr__(self):
        if self.kind == "leaf":
            return "*"
        if self.kind is dict:
            return "{" + ", ".join(f"{k!r}: {c!r}" for k, c in zip(self.data, self.children, strict=True)) + "}"
        if self.kind is type(None):
            return "None"
        inside = ", ".join(map(repr, self.children))
        if self.kind is list:
            return f"[{inside}]"
        if self.kind is tuple:
            return f"({inside}{',' * (len(self.children) == 1)})"
        return f"{self.kind.__name__}({inside})"


LEAF = TreeDef("leaf", None, (), 1)


def dict_apart(d):
    keys = tuple(sorted(d))
    return [d[k] for k in keys], keys


containers = {  # type -> (flatten, unflatten)
    list: (lambda x: (x, None), lambda data, children: list(children)),
    tuple: (lambda x: (x, None), lambda data, children: tuple(children)),
    dict: (dict_apart, lambda keys, children: dict(zip(keys, children, strict=True))),
    type(None): (lambda x: ((), None), lambda data, children: None),
}


def register_pytree_node(cls, flatten, unflatten):
    containers[cls] = (flatten, unflatten)


def tree_flatten(tree):
    leaves = []

    def apart(x):
        if type(x) not in containers:
            leaves.append(x)
            return LEAF
        children, data = containers[type(x)][0](x)
        children = tuple(map(apart, children))
        return TreeDef(type(x), data, children, sum(c.leaves for c in children))

    treedef = apart(tree)
    return leaves, treedef


def tree_unflatten(treedef, leaves):
    leaves = list(leaves)
    if len(leaves) != treedef.leaves:
        raise ValueError(f"{len(leaves)} leaves for a tree of {treedef.leaves}: {treedef}")
    leaves = iter(leaves)

    def together(t):
        return next(leaves) if t is LEAF else containers[t.kind][1](t.data, [together(c) for c in t.children])

    return together(treedef)


def tree_leaves(tree):
    return tree_flatten(tree)[0]


def tree_structure(tree):
    return tree_flatten(tree)[1]


def tree_map(f, tree, *trees):
    leaves, treedef = tree_flatten(tree)
    columns = [leaves]
    for other in trees:
        others, structure = tree_flatten(other)
        if structure != treedef:
            raise ValueError(f"trees are not built alike: {treedef} and {structure}")
        columns.append(others)
    return tree_unflatten(treedef, [f(*row) for row in zip(*columns, strict=True)])


# ------------------------------------------------------------------------------- primitives: elementwise, with all their rules


def broadcast_shapes(name, shapes):
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise TypeError(f"{name} got incompatible shapes for broadcasting: {', '.join(map(str, shapes))}.") from None


def elementwise(name, impl, word, result=None, **rules):
    """Return an elementwise primitive. Axes of size 1 and scalars are broadcast."""

    def type_rule(*avals):
        dtype = result or avals[0].dtype
        if any(a.dtype != avals[0].dtype for a in avals):
            raise TypeError(f"{name} requires operands of the same dtype, got {', '.join(map(str, avals))}")
        weak = result is None and all(a.weak_type for a in avals)
        return Aval(broadcast_shapes(name, [a.shape for a in avals]), dtype, weak)

    def lower(w, values, outs):
        values = [w.broadcast(v, outs[0].shape) for v in values]
        names, t = ", ".join(v.name for v in values), w.type(values[0].aval)
        if result is BOOL:
            return [w.line(f"stablehlo.compare {word}, {names} : ({t}, {t}) -> {w.type(outs[0])}", outs[0])]
        return [w.line(f"stablehlo.{word} {names} : {t}", outs[0])]

    return Primitive(name, impl=impl, type=type_rule, lower=lower, elementwise=True, **rules)


Primitive.elementwise = False

sin_p = elementwise("sin", np.sin, "sine")
cos_p = elementwise("cos", np.cos, "cosine")
tan_p = elementwise("tan", np.tan, "tan")
tanh_p = elementwise("tanh", np.tanh, "tanh")
exp_p = elementwise("exp", np.exp, "exponential")
log_p = elementwise("log", np.log, "log")
sqrt_p = elementwise("sqrt", np.sqrt, "sqrt")
log1p_p = elementwise("log1p", np.log1p, "log_plus_one")
expm1_p = elementwise("expm1", np.expm1, "exponential_minus_one")
neg_p = elementwise("neg", np.negative, "negate")
abs_p = elementwise("abs", np.abs, "abs")
sign_p = elementwise("sign", np.sign, "sign")
floor_p = elementwise("floor", np.floor, "floor")  # of floats
not_p = elementwise("not", np.invert, "not")
add_p = elementwise("add", np.add, "add")
sub_p = elementwise("sub", np.subtract, "subtract")
mul_p = elementwise("mul", np.multiply, "multiply")
div_p = elementwise("div", np.divide, "divide")
pow_p = elementwise("pow", lambda x, y: np.power(x, y) if x.dtype.kind in "fc" else np.float64(x) ** y, "power")
max_p = elementwise("max", np.maximum, "maximum")
min_p = elementwise("min", np.minimum, "minimum")
and_p = elementwise("and", np.bitwise_and, "and")
or_p = elementwise("or", np.bitwise_or, "or")
lt_p = elementwise("lt", np.less, "LT", BOOL)
le_p = elementwise("le", np.less_equal, "LE", BOOL)
gt_p = elementwise("gt", np.greater, "GT", BOOL)
ge_p = elementwise("ge", np.greater_equal, "GE", BOOL)
eq_p = elementwise("eq", np.equal, "EQ", BOOL)
ne_p = elementwise("ne", np.not_equal, "NE", BOOL)


def integer_pow_lower(w, values, outs, y):
    power, result, n = values[0].name, None, abs(y)
    t = w.type(outs[0])
    while n:
        if n & 1:
            result = power if result is None else w.line(f"stablehlo.multiply {result}, {power} : {t}", outs[0]).name
        n >>= 1
        if n:
            power = w.line(f"stablehlo.multiply {power}, {power} : {t}", outs[0]).name
    one = w.broadcast(w.constant(np.ones((), outs[0].dtype)), outs[0].shape)
    if result is None:
        return [one]
    if y < 0:
        return [w.line(f"stablehlo.divide {one.name}, {result} : {t}", outs[0])]
    return [Value(result, outs[0])]


integer_pow_p = Primitive(
    "integer_pow", impl=lambda x, y: np.power(x, y), type=lambda a, y: a, lower=integer_pow_lower, elementwise=True
)

convert_p = Primitive(
    "convert_element_type",
    impl=lambda x, new_dtype, weak_type: x.astype(new_dtype),
    type=lambda a, new_dtype, weak_type: Aval(a.shape, new_dtype, weak_type),
    lower=lambda w, values, outs, new_dtype, weak_type: [w.convert(values[0], outs[0])],
    elementwise=True,
)


def convert(x, dtype, weak):
    """Return x with this dtype. A Python number needs no equation."""
    aval = aval_of(x)
    if is_number(x):
        return Array(np.asarray(x).astype(dtype), Aval((), dtype, weak))
    if (aval.dtype, aval.weak_type) == (dtype, weak):
        return x
    return convert_p.bind(x, new_dtype=dtype, weak_type=weak)


broadcast_p = Primitive(
    "broadcast_in_dim",
    impl=lambda x, shape, broadcast_dimensions: np.broadcast_to(
        x.reshape(
            [x.shape[broadcast_dimensions.index(i)] if i in broadcast_dimensions else 1 for i in range(len(shape))]
        ),
        shape,
    ),
    type=lambda a, shape, broadcast_dimensions: Aval(shape, a.dtype, a.weak_type),
    lower=lambda w, values, outs, shape, broadcast_dimensions: [
        w.broadcast_in_dim(values[0], shape, broadcast_dimensions)
    ],
)


def broadcast_to(x, shape):
    """Return x, broadcast to a shape by numpy's rules: new axes are added on the left, and axes of size 1 are repeated."""
    aval, shape = aval_of(x), tuple(shape)
    if aval.shape == shape:
        return x
    if broadcast_shapes("broadcast_to", [aval.shape, shape]) != shape:
        raise TypeError(f"broadcast_to got incompatible shapes for broadcasting: {aval.shape}, {shape}.")
    return broadcast_p.bind(x, shape=shape, broadcast_dimensions=tuple(range(len(shape) - aval.ndim, len(shape))))


# ------------------------------------------------------------------------------------------------- numpy: names and promotion

jnp = types.SimpleNamespace()


def word(f):
    """Decorator: add a function to `numpy`."""
    setattr(jnp, f.__name__.rstrip("_"), f)
    return f


def promote(xs, to_float=False):
    """Return the operands with one dtype and, except for scalars, one rank; and their shapes before that."""
    avals = [aval_of(x) for x in xs]
    dtype, weak = promoted(avals)
    if to_float and not inexact(dtype):
        dtype = FLOAT
    xs = [convert(x, dtype, weak) for x in xs]
    most = max(a.ndim for a in avals)
    shapes = [a.shape for a in avals]
    return [x if a.ndim in (0, most) else left_pad(x, a, most) for x, a in zip(xs, avals, strict=True)], shapes


def left_pad(x, a, ndim):
    shape = (1,) * (ndim - a.ndim) + a.shape
    return broadcast_p.bind(x, shape=shape, broadcast_dimensions=tuple(range(ndim - a.ndim, ndim)))


def named(name, primitive, to_float=False, wants=None):
    def f(*xs):
        if len(xs) != arity:
            raise TypeError(f"{name} takes {arity} operands, got {len(xs)}")
        xs, shapes = promote(xs, to_float)
        if wants == "bool":
            xs = [truth(x) for x in xs]
        broadcast_shapes(primitive.name, shapes)
        return primitive.bind(*xs)

    arity = 1 if primitive in UNARY else 2
    f.__name__ = f.__qualname__ = name
    setattr(jnp, name, f)


UNARY = {sin_p, cos_p, tan_p, tanh_p, exp_p, log_p, sqrt_p, log1p_p, expm1_p, neg_p, abs_p, sign_p, floor_p, not_p}


def truth(x):
    return x if aval_of(x).dtype == BOOL else jnp.not_equal(x, 0)


for _name, _p in {
    "sin": sin_p,
    "cos": cos_p,
    "tan": tan_p,
    "tanh": tanh_p,
    "exp": exp_p,
    "log": log_p,
    "sqrt": sqrt_p,
    "log1p": log1p_p,
    "expm1": expm1_p,
    "divide": div_p,
}.items():
    named(_name, _p, to_float=True)
for _name, _p in {
    "negative": neg_p,
    "sign": sign_p,
    "floor": floor_p,
    "less": lt_p,
    "less_equal": le_p,
    "greater": gt_p,
    "greater_equal": ge_p,
    "equal": eq_p,
    "not_equal": ne_p,
    "maximum": max_p,
    "minimum": min_p,
    "bitwise_and": and_p,
    "bitwise_or": or_p,
    "invert": not_p,
    "add": add_p,
    "subtract": sub_p,
    "multiply": mul_p,
}.items():
    named(_name, _p)
for _name, _p in {"logical_and": and_p, "logical_or": or_p, "logical_not": not_p}.items():
    named(_name, _p, wants="bool")

floor_words, add_words, mul_words = jnp.floor, jnp.add, jnp.multiply
named("absolute", abs_p)


@word
def floor(x):
    return floor_words(x) if inexact(aval_of(x).dtype) else jnp.asarray(x)


@word
def abs_(x):
    return x if aval_of(x).dtype == BOOL else jnp.absolute(x)


@word
def add(x, y):
    return jnp.logical_or(x, y) if aval_of(x).dtype == aval_of(y).dtype == BOOL else add_words(x, y)


@word
def multiply(x, y):
    return jnp.logical_and(x, y) if aval_of(x).dtype == aval_of(y).dtype == BOOL else mul_words(x, y)


@word
def power(x, y):
    if isinstance(y, int) and not isinstance(y, bool) and not is_number(x) and (y >= 0 or inexact(aval_of(x).dtype)):
        return integer_pow_p.bind(x, y=y)
    (x, y), shapes = promote([x, y])
    broadcast_shapes("pow", shapes)
    return pow_p.bind(x, y)


@word
def asarray(x, dtype=None):
    if isinstance(x, (list, tuple)):
        is_traced = any(isinstance(leaf, Tracer) for leaf in tree_leaves(x))
        x = jnp.stack([asarray(row) for row in x]) if is_traced else np.array(x)
    if not isinstance(x, Operators):
        x = concrete(x)
    return x if dtype is None else x.astype(dtype)


jnp.array = asarray
jnp.float32, jnp.int32, jnp.bool_, jnp.float16 = np.float32, np.int32, np.bool_, np.float16
jnp.pi, jnp.inf, jnp.e = math.pi, math.inf, math.e
operators()


# ------------------------------------------------------------------------------------------------------------- StableHLO


class Value(NamedTuple):
    """A value in StableHLO: its name and its type."""

    name: str
    aval: Aval


class Module:
    """A module of StableHLO: the function @main, and a private function for each jaxpr that is called."""

    def __init__(self):
        self.texts, self.called = [], {}

    def function(self, closed, name, visibility):
        w = Writer(self)
        args = [Value(f"%arg{i}", a) for i, a in enumerate(closed.in_avals)]
        outs = w.program(closed, args)
        head = ", ".join(f"{v.name}: {w.type(v.aval)}" for v in args)
        types = ", ".join(w.type(v.aval) for v in outs)
        w.lines.append(f"    return {', '.join(v.name for v in outs)} : {types}" if outs else "    return")
        lines = [f"  func.func {visibility} @{name}({head}) -> ({types}) {{", *w.lines, "  }"]
        self.texts.append("\n".join(lines))

    def private(self, closed, name):
        """Return the name of the private function of this jaxpr; write the function at the first call."""
        if id(closed) not in self.called:
            name = "".join(c if c.isalnum() else "_" for c in name).strip("_") or "f"
            taken = {n for n, _ in self.called.values()} | {"main"}
            unique = next(n for n in (name, *(f"{name}_{i}" for i in range(len(taken) + 1))) if n not in taken)
            self.called[id(closed)] = unique, closed
            self.function(closed, unique, "private")
        return self.called[id(closed)][0]

    def text(self):
        return "module @myjax {\n" + "\n".join(reversed(self.texts)) + "\n}\n"


class Writer:
    """Writes the lines of a function. Most methods write one operation, and return its result as a Value."""

    names = types.MappingProxyType(
        {"bool": "i1", "complex64": "complex<f32>", "uint8": "ui8", "uint16": "ui16", "uint32": "ui32"}
    )

    def __init__(self, module):
        self.module, self.lines, self.count, self.depth = module, [], 0, 2

    def type(self, aval):
        kind = self.names.get(aval.dtype.name, SHORT[aval.dtype.name])
        return "tensor<" + "".join(f"{n}x" for n in aval.shape) + kind + ">"

    def types(self, values):
        return ", ".join(self.type(v.aval) for v in values)

    def fresh(self):
        self.count += 1
        return f"%{self.count - 1}"

    def write(self, text):
        self.lines.append("  " * self.depth + text)

    def line(self, text, aval):
        name = self.fresh()
        self.write(f"{name} = {text}")
        return Value(name, aval)

    def several(self, avals):
        """Return the left side of an operation with several results, and the results as Values."""
        name = self.fresh()
        if len(avals) == 1:
            return f"{name} = ", [Value(name, avals[0])]
        return f"{name}:{len(avals)} = " if avals else "", [Value(f"{name}#{i}", a) for i, a in enumerate(avals)]

    def constant(self, x):
        x = np.asarray(x)
        aval = Aval(x.shape, x.dtype)
        if x.dtype == bool:
            dense = str(x.tolist()).lower() if x.size else ""
        elif x.size == 0:
            dense = ""
        elif x.ndim == 0 and x.dtype.kind in "iu":
            dense = str(x)
        elif x.ndim == 0 and x.dtype.kind == "f":
            dense = f"0x{int.from_bytes(x.tobytes(), 'little'):0{2 * x.itemsize}X}"
        else:
            dense = f'"0x{x.tobytes().hex().upper()}"'
        return self.line(f"stablehlo.constant dense<{dense}> : {self.type(aval)}", aval)

    def broadcast_in_dim(self, v, shape, dims):
        aval = Aval(tuple(shape), v.aval.dtype, v.aval.weak_type)
        return self.line(
            f"stablehlo.broadcast_in_dim {v.name}, dims = {list(dims)} : ({self.type(v.aval)}) -> {self.type(aval)}",
            aval,
        )

    def broadcast(self, v, shape):
        n = len(shape)
        return v if v.aval.shape == tuple(shape) else self.broadcast_in_dim(v, shape, range(n - v.aval.ndim, n))

    def convert(self, v, aval):
        if aval.dtype == v.aval.dtype:
            return Value(v.name, aval)
        t = self.type(v.aval)
        if aval.dtype == BOOL:
            zero = self.broadcast(self.constant(np.zeros((), v.aval.dtype)), v.aval.shape)
            return self.line(f"stablehlo.compare NE, {v.name}, {zero.name} : ({t}, {t}) -> {self.type(aval)}", aval)
        return self.line(f"stablehlo.convert {v.name} : ({t}) -> {self.type(aval)}", aval)

    def program(self, closed, args):
        """Write the equations of a jaxpr, and return its results."""
        jaxpr = closed.jaxpr
        env = dict(zip(jaxpr.invars, args, strict=True))
        for v, const in zip(jaxpr.constvars, closed.consts, strict=True):
            env[v] = self.constant(concrete(const).value)

        def read(v):
            return self.constant(np.asarray(v.val, v.aval.dtype)) if isinstance(v, Literal) else env[v]

        for e in jaxpr.eqns:
            values = [read(v) for v in e.invars]
            results = e.primitive.lower(self, values, [v.aval for v in e.outvars], **e.params)
            env.update(zip(e.outvars, results, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def region(self, closed, args):
        """Write a jaxpr as a region, which ends in a return."""
        self.depth += 1
        outs = self.program(closed, args)
        self.write(f"stablehlo.return {', '.join(v.name for v in outs)} : {self.types(outs)}")
        self.depth -= 1


def lower_closed(closed):
    module = Module()
    module.function(closed, "main", "public")
    return module.text()


def lower(f, *args, **kwargs):
    return lower_closed(make_jaxpr(f)(*args, **kwargs))


# ------------------------------------------------------------------------------------------------------------------- jit


def jit_impl(*arrays, jaxpr, name):
    if jaxpr.executable is None:
        jaxpr.executable = xla.compile(lower_closed(jaxpr)), jaxpr.out_avals
    program, avals = jaxpr.executable
    return [Array(None, a, b) for a, b in zip(avals, program([x.buffer for x in arrays]), strict=True)]


def jit_lower(w, values, outs, jaxpr, name):
    callee = w.module.private(jaxpr, name)
    left, results = w.several(outs)
    w.write(
        f"{left}func.call @{callee}({', '.join(v.name for v in values)}) : ({w.types(values)}) -> ({', '.join(map(w.type, outs))})"
    )
    return results


jit_p = Primitive(
    "jit", multiple=True, impl=jit_impl, type=lambda *avals, jaxpr, name: jaxpr.out_avals, lower=jit_lower
)


def hoisted(closed):
    """Return the jaxpr with its constants as its first arguments."""
    jaxpr = closed.jaxpr
    return ClosedJaxpr(Jaxpr([], jaxpr.constvars + jaxpr.invars, jaxpr.eqns, jaxpr.outvars), [])


memories = weakref.WeakKeyDictionary()  # function -> {signature: traced program}, as long as the function lives


def memory_of(f):
    try:
        return memories.setdefault(f, {})
    except TypeError:  # it cannot be hashed or weakly referenced
        return {}


class Static(NamedTuple):
    """A static argument in a key. The type is part of it, since 1, 1.0 and True are equal."""

    place: object  # its position, or its name
    type: type
    value: object


def static_places(f, argnums, argnames):
    """Return the positions and the names of static arguments; those that are not given are inferred from the others."""
    if argnums is None and argnames is None:
        return frozenset(), frozenset()
    nums = () if argnums is None else (argnums,) if isinstance(argnums, int) else tuple(argnums)
    names = () if argnames is None else (argnames,) if isinstance(argnames, str) else tuple(argnames)
    try:
        params = inspect.signature(f).parameters.values()
    except (ValueError, TypeError):
        return frozenset(nums), frozenset(names)
    positional = [p.name for p in params if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    open_end = any(p.kind is p.VAR_POSITIONAL for p in params)
    if any(not -len(positional) <= n < len(positional) for n in nums) and not open_end:
        raise ValueError(f"static_argnums {nums} for a function of {len(positional)} positional arguments")
    nums = [n + len(positional) if n < 0 else n for n in nums]
    if argnames is None:
        names = [positional[n] for n in nums if n < len(positional)]
    if argnums is None:
        nums = [positional.index(n) for n in names if n in positional]
    return frozenset(nums), frozenset(names)


def jit(f, *, static_argnums=None, static_argnames=None):
    nums, names = static_places(f, static_argnums, static_argnames)
    memory, f_name = memory_of(f), getattr(f, "__name__", type(f).__name__)

    @functools.wraps(f, updated=())
    def call(*args, **kwargs):
        statics, moving = (), (args, kwargs)
        if nums or names:
            statics = tuple(
                [Static(i, type(x), x) for i, x in enumerate(args) if i in nums]
                + [Static(k, type(kwargs[k]), kwargs[k]) for k in sorted(kwargs) if k in names]
            )
            moving = (
                [x for i, x in enumerate(args) if i not in nums],
                {k: x for k, x in kwargs.items() if k not in names},
            )
        leaves, treedef = tree_flatten(moving)
        key = treedef, tuple(map(aval_of, leaves)), statics
        try:
            known = memory.get(key)
        except TypeError as error:
            raise ValueError(
                f"a static argument has to hash, since it is part of a key: {error}, in {statics or treedef}"
            ) from None
        if known is None:
            known = write(leaves, treedef, statics)
            if not any(isinstance(c, Tracer) for c in known[1]):
                memory[key] = known
        jaxpr, consts, out_tree = known
        return tree_unflatten(out_tree, jit_p.bind(*consts, *leaves, jaxpr=jaxpr, name=f_name))

    def write(leaves, treedef, statics):
        def whole(args, kwargs):
            args = list(args)
            for s in statics:  # positions are in ascending order
                if isinstance(s.place, int):
                    args.insert(s.place, s.value)
            return f(*args, **kwargs, **{s.place: s.value for s in statics if isinstance(s.place, str)})

        flat, out = flat_function(whole, treedef)
        closed = trace(flat, [aval_of(x) for x in leaves])
        return hoisted(closed), closed.consts, out[0]

    return call


# --------------------------------------------------------------------------------------- primitives that reduce, multiply, move


def reduction(name, impl, word, begin):
    def lower(w, values, outs, axes):
        (x,), init = values, w.constant(np.asarray(begin(values[0].aval.dtype), values[0].aval.dtype))
        return [
            w.line(
                f"stablehlo.reduce({x.name} init: {init.name}) applies stablehlo.{word} across dimensions = {list(axes)} : "
                f"({w.types([x, init])}) -> {w.type(outs[0])}",
                outs[0],
            )
        ]

    def type_rule(a, axes):
        return Aval(tuple(n for i, n in enumerate(a.shape) if i not in axes), a.dtype, a.weak_type)

    return Primitive(name, impl=lambda x, axes: impl(x, axis=axes), type=type_rule, lower=lower)


def smallest(dtype):
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def largest(dtype):
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


reduce_sum_p = reduction("reduce_sum", np.sum, "add", lambda dtype: 0)
reduce_max_p = reduction("reduce_max", np.max, "maximum", smallest)
reduce_min_p = reduction("reduce_min", np.min, "minimum", largest)


def moving(name, impl, type_rule, words):
    """Return a primitive that rearranges the elements of one array."""

    def lower(w, values, outs, **params):
        (x,) = values
        return [
            w.line(f"stablehlo.{name} {x.name}{words(**params)} : ({w.type(x.aval)}) -> {w.type(outs[0])}", outs[0])
        ]

    return Primitive(name, impl=impl, type=type_rule, lower=lower)


def reshape_type(a, new_sizes):
    if math.prod(new_sizes) != a.size:
        raise TypeError(
            f"cannot reshape array of shape {a.shape} (size {a.size}) into shape {new_sizes} (size {math.prod(new_sizes)})"
        )
    return Aval(new_sizes, a.dtype, a.weak_type)


reshape_p = moving("reshape", lambda x, new_sizes: x.reshape(new_sizes), reshape_type, lambda new_sizes: "")
transpose_p = moving(
    "transpose",
    lambda x, permutation: np.transpose(x, permutation),
    lambda a, permutation: Aval(tuple(a.shape[i] for i in permutation), a.dtype, a.weak_type),
    lambda permutation: f", dims = {list(permutation)}",
)


def free_axes(ndim, *taken):
    return [i for i in range(ndim) if not any(i in t for t in taken)]


def dot_type(a, b, contracting, batch):
    (ca, cb), (ba, bb) = contracting, batch
    for what, da, db in (("contracting", ca, cb), ("batch", ba, bb)):
        sa, sb = tuple(a.shape[i] for i in da), tuple(b.shape[i] for i in db)
        if sa != sb:
            raise TypeError(f"dot_general requires {what} dimensions to have the same shape, got {sa} and {sb}.")
    shape = (
        [a.shape[i] for i in ba]
        + [a.shape[i] for i in free_axes(a.ndim, ca, ba)]
        + [b.shape[i] for i in free_axes(b.ndim, cb, bb)]
    )
    return Aval(tuple(shape), a.dtype, a.weak_type and b.weak_type)


def dot_impl(a, b, contracting, batch):
    (ca, cb), (ba, bb) = contracting, batch
    names_a, names_b = list(range(a.ndim)), [a.ndim + i for i in range(b.ndim)]
    for i, j in zip((*ca, *ba), (*cb, *bb), strict=True):
        names_b[j] = names_a[i]
    out = (
        [names_a[i] for i in ba]
        + [names_a[i] for i in free_axes(a.ndim, ca, ba)]
        + [names_b[i] for i in free_axes(b.ndim, cb, bb)]
    )
    return np.einsum(a, names_a, b, names_b, out)


def dot_lower(w, values, outs, contracting, batch):
    a, b = values
    axes = f"contracting_dims = {list(contracting[0])} x {list(contracting[1])}"
    if batch[0]:
        axes = f"batching_dims = {list(batch[0])} x {list(batch[1])}, {axes}"
    return [
        w.line(f"stablehlo.dot_general {a.name}, {b.name}, {axes} : ({w.types(values)}) -> {w.type(outs[0])}", outs[0])
    ]


dot_p = Primitive("dot_general", impl=dot_impl, type=dot_type, lower=dot_lower)


def select_type(pred, no, yes):
    if no.shape != yes.shape or no.dtype != yes.dtype or pred.dtype != BOOL or pred.shape not in ((), no.shape):
        raise TypeError(f"select_n got {pred}, {no}, {yes}")
    return Aval(no.shape, no.dtype, no.weak_type and yes.weak_type)


def select_lower(w, values, outs):
    which, no, yes = values
    return [
        w.line(
            f"stablehlo.select {which.name}, {yes.name}, {no.name} : {w.type(which.aval)}, {w.type(outs[0])}", outs[0]
        )
    ]


select_p = Primitive(
    "select_n", impl=lambda pred, no, yes: np.where(pred, yes, no), type=select_type, lower=select_lower
)


def clamped(x, starts, sizes):
    return tuple(
        slice(c, c + s)
        for c, s in ((min(max(int(i), 0), n - s), s) for i, n, s in zip(starts, x.shape, sizes, strict=True))
    )


def slice_type(a, *starts, slice_sizes):
    if len(slice_sizes) != a.ndim or any(s > n for s, n in zip(slice_sizes, a.shape, strict=True)):
        raise TypeError(f"a window of {slice_sizes} in an array of {a.shape}")
    return Aval(slice_sizes, a.dtype, a.weak_type)


def update(x, u, *starts):
    x = np.array(x)
    x[clamped(x, starts, u.shape)] = u
    return x


dynamic_slice_p = Primitive(
    "dynamic_slice",
    impl=lambda x, *starts, slice_sizes: x[clamped(x, starts, slice_sizes)],
    type=slice_type,
    lower=lambda w, values, outs, slice_sizes: [
        w.line(
            f"stablehlo.dynamic_slice {', '.join(v.name for v in values)}, sizes = {list(slice_sizes)} : ({w.types(values)}) -> "
            f"{w.type(outs[0])}",
            outs[0],
        )
        if values[1:]
        else values[0]
    ],
)
dynamic_update_slice_p = Primitive(
    "dynamic_update_slice",
    impl=update,
    type=lambda a, u, *starts: Aval(a.shape, a.dtype, a.weak_type and u.weak_type),
    lower=lambda w, values, outs: [
        w.line(
            f"stablehlo.dynamic_update_slice {', '.join(v.name for v in values)} : ({w.types(values)}) -> {w.type(outs[0])}",
            outs[0],
        )
        if values[2:]
        else values[1]
    ],
)
iota_p = Primitive(
    "iota",
    impl=lambda dtype, shape, dimension: np.broadcast_to(
        np.arange(shape[dimension], dtype=dtype).reshape([-1 if i == dimension else 1 for i in range(len(shape))]),
        shape,
    ),
    type=lambda dtype, shape, dimension: Aval(shape, dtype, False),
    lower=lambda w, values, outs, dtype, shape, dimension: [
        w.line(f"stablehlo.iota dim = {dimension} : {w.type(outs[0])}", outs[0])
    ],
)


# ------------------------------------------------------------------------------------------------------- numpy, with axes


def axes_of(axis, ndim):
    axes = range(ndim) if axis is None else (axis,) if isinstance(axis, (int, np.integer)) else tuple(axis)
    for i in axes:
        if not -ndim <= i < ndim:
            raise ValueError(f"axis {i} is out of bounds for array of dimension {ndim}")
    return tuple(sorted({i % ndim for i in axes}))


def reduced(primitive, x, axis, keepdims):
    aval = aval_of(x)
    axes = axes_of(axis, aval.ndim)
    x = convert(x, aval.dtype, False)  # a sum is strong, also that of a Python number
    result = primitive.bind(x, axes=axes) if axes else x
    return jnp.reshape(result, [1 if i in axes else n for i, n in enumerate(aval.shape)]) if keepdims else result


@word
def sum_(x, axis=None, keepdims=False):
    return reduced(reduce_sum_p, convert(x, INT, False) if aval_of(x).dtype == BOOL else x, axis, keepdims)


def extreme(primitive, x, axis, keepdims):
    aval = aval_of(x)
    if any(aval.shape[i] == 0 for i in axes_of(axis, aval.ndim)):
        raise ValueError(f"zero-size array to reduction operation {primitive} which has no identity")
    if aval.dtype == BOOL:
        return convert(reduced(primitive, convert(x, INT, False), axis, keepdims), BOOL, False)
    return reduced(primitive, x, axis, keepdims)


@word
def max_(x, axis=None, keepdims=False):
    return extreme(reduce_max_p, x, axis, keepdims)


@word
def min_(x, axis=None, keepdims=False):
    return extreme(reduce_min_p, x, axis, keepdims)


@word
def mean(x, axis=None, keepdims=False):
    aval = aval_of(x)
    x = x if inexact(aval.dtype) else convert(x, FLOAT, False)
    return jnp.sum(x, axis, keepdims) / math.prod(aval.shape[i] for i in axes_of(axis, aval.ndim))


@word
def reshape(x, shape):
    aval = aval_of(x)
    shape = [operator.index(n) for n in ((shape,) if isinstance(shape, (int, np.integer)) else shape)]
    if shape.count(-1) == 1:
        rest = -math.prod(shape)
        if rest == 0 or aval.size % rest:
            raise TypeError(f"cannot reshape array of shape {aval.shape} (size {aval.size}) into shape {tuple(shape)}")
        shape[shape.index(-1)] = aval.size // rest
    return x if aval.shape == tuple(shape) and isinstance(x, Operators) else reshape_p.bind(x, new_sizes=tuple(shape))


@word
def transpose(x, axes=None):
    n = aval_of(x).ndim
    axes = tuple(range(n))[::-1] if axes is None else tuple(i % n for i in axes)
    if sorted(axes) != list(range(n)):
        raise ValueError(f"{axes} is no order of {n} axes")
    return transpose_p.bind(x, permutation=axes)


jnp.broadcast_to = broadcast_to


@word
def where(condition, x, y):
    (x, y), _ = promote([x, y])
    condition = truth(condition)
    shape = broadcast_shapes("select", [aval_of(v).shape for v in (condition, x, y)])
    return select_p.bind(*(broadcast_to(v, shape) for v in (condition, y, x)))


@word
def matmul(a, b):
    if not aval_of(a).shape or not aval_of(b).shape:
        raise ValueError("matmul needs operands with axes")
    (dtype, weak), flat_a, _flat_b = promoted([aval_of(a), aval_of(b)]), aval_of(a).ndim == 1, aval_of(b).ndim == 1
    a, b = convert(a, dtype, weak), convert(b, dtype, weak)
    sa, sb = aval_of(a).shape, aval_of(b).shape
    if flat_a and len(sb) > 2:
        return jnp.reshape(matmul(jnp.reshape(a, (1, *sa)), b), (*sb[:-2], sb[-1]))
    if len(sb) <= 2:
        return dot_p.bind(a, b, contracting=((len(sa) - 1,), (0,)), batch=((), ()))
    batch = broadcast_shapes("matmul", [sa[:-2], sb[:-2]])
    a, b, axes = broadcast_to(a, batch + sa[-2:]), broadcast_to(b, batch + sb[-2:]), tuple(range(len(batch)))
    return dot_p.bind(a, b, contracting=((len(axes) + 1,), (len(axes),)), batch=(axes, axes))


@word
def dot(a, b):
    if not aval_of(a).shape or not aval_of(b).shape:
        return jnp.multiply(a, b)
    if aval_of(b).ndim <= 2:
        return matmul(a, b)
    (dtype, weak) = promoted([aval_of(a), aval_of(b)])
    a, b = convert(a, dtype, weak), convert(b, dtype, weak)
    return dot_p.bind(a, b, contracting=((aval_of(a).ndim - 1,), (aval_of(b).ndim - 2,)), batch=((), ()))


@word
def full(shape, value, dtype=None):
    aval = aval_of(value)
    value = concrete(value) if is_number(value) else value
    value = value if dtype is None else convert(value, narrow(dtype), False)
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    return broadcast_to(value, shape) if shape != aval.shape else value


@word
def zeros(shape, dtype=FLOAT):
    return full(shape, 0, dtype)


@word
def ones(shape, dtype=FLOAT):
    return full(shape, 1, dtype)


@word
def zeros_like(x, dtype=None):
    aval = aval_of(x)
    weak = dtype is None and aval.weak_type
    return jnp.broadcast_to(convert(0, dtype or aval.dtype, weak), aval.shape)


@word
def ones_like(x, dtype=None):
    return full(aval_of(x).shape, 1, dtype or aval_of(x).dtype)


@word
def arange(start, stop=None, step=1, dtype=None):
    start, stop = (0, start) if stop is None else (start, stop)
    if any(isinstance(x, Tracer) for x in (start, stop, step)):
        raise ConcretizationTypeError("the bounds of arange say a shape, and a shape is not data")
    like = np.arange(start, stop, step, dtype)
    if (start, step) == (0, 1):
        return iota_p.bind(dtype=narrow(like.dtype), shape=like.shape, dimension=0)
    return concrete(like)


def indexed(x, index):
    """Return x[index]: take a window, then remove and insert axes."""
    index = index if isinstance(index, tuple) else (index,)
    missing = x.ndim - sum(i is not None and i is not Ellipsis for i in index)
    if missing < 0:
        raise IndexError(f"too many indices for an array of shape {x.shape}: {index}")
    if not any(i is Ellipsis for i in index):
        index = (*index, Ellipsis)
    at = next(k for k, i in enumerate(index) if i is Ellipsis)
    index = index[:at] + (slice(None),) * missing + index[at + 1 :]
    starts, sizes, kept, sizes_of_x = [], [], [], iter(x.shape)
    for i in index:
        if i is None:
            kept.append(1)
            continue
        n = next(sizes_of_x)
        if isinstance(i, slice):
            start, stop, step = i.indices(n)
            if step != 1:
                raise NotImplementedError(f"slices have step 1, not {step}")
            size = max(stop - start, 0)
            kept.append(size)
        else:
            aval = aval_of(i)
            if aval.shape or kind(aval.dtype) != 1:
                raise TypeError(f"an index is a whole number, a slice or None, not {i!r}")
            size = 1
            start = i + n * (i < 0) if isinstance(i, (int, np.integer)) else where(i < 0, i + n, i)
        starts.append(convert(start, INT, False))
        sizes.append(size)
    if tuple(sizes) != x.shape:
        x = dynamic_slice_p.bind(x, *starts, slice_sizes=tuple(sizes))
    return jnp.reshape(x, kept)


# ------------------------------------------------------------------------------------------------ choices and loops: `lax`


def traced(f, treedef, avals):
    """Trace a function of trees. Return the jaxpr with its constants as first arguments, the constants, and the result's structure."""
    flat, out = flat_function(f, treedef)
    closed = trace(flat, avals)
    return hoisted(closed), closed.consts, out[0]


def with_results(closed, avals):
    """Return the jaxpr with its results converted to these types, which differ in weakness and, where weak, in dtype."""
    if closed.out_avals == list(avals):
        return closed
    return trace(
        lambda *xs: [convert(r, a.dtype, a.weak_type) for r, a in zip(run(closed, *xs), avals, strict=True)],
        closed.in_avals,
    )


def cond(pred, true_fun, false_fun, *operands):
    try:
        aval = aval_of(pred)
    except TypeError:
        aval = None
    if aval is None or aval.shape:
        raise TypeError(f"the predicate of cond is one truth value, not {pred!r}")
    return choose(convert(truth(pred), INT, False), [false_fun, true_fun], operands)


def switch(index, branches, *operands):
    aval = aval_of(index)
    if aval.shape or kind(aval.dtype) != 1:
        raise TypeError(f"the index of switch is one whole number, not {index!r}")
    if len(branches) == 1:
        return branches[0](*operands)
    return choose(jnp.minimum(jnp.maximum(convert(index, INT, False), 0), len(branches) - 1), branches, operands)


def choose(index, branches, operands):
    leaves, treedef = tree_flatten(operands)
    avals = [aval_of(x) for x in leaves]
    programs = [traced(f, treedef, avals) for f in branches]
    structure, first = programs[0][2], programs[0][0].out_avals
    for closed, _, out_tree in programs:
        if out_tree != structure or [a[:2] for a in closed.out_avals] != [a[:2] for a in first]:
            raise TypeError(
                f"branches have to return the same types: {structure} of {first}, and {out_tree} of {closed.out_avals}"
            )
    consts = [c for _, cs, _ in programs for c in cs]
    closeds = []
    for k, (closed, cs, _) in enumerate(programs):  # each branch takes the constants of all branches
        jaxpr, n = closed.jaxpr, len(cs)
        others = [[Var(aval_of(c)) for c in p[1]] for p in programs]
        others[k] = jaxpr.invars[:n]
        invars = [v for vs in others for v in vs] + jaxpr.invars[n:]
        closeds.append(with_results(ClosedJaxpr(Jaxpr([], invars, jaxpr.eqns, jaxpr.outvars), []), first))
    return tree_unflatten(structure, cond_p.bind(index, *consts, *leaves, branches=tuple(closeds)))


def cond_lower(w, values, outs, branches):
    left, results = w.several(outs)
    w.write(f'{left}"stablehlo.case"({values[0].name}) ({{')
    for i, branch in enumerate(branches):
        if i:
            w.write("}, {")
        w.region(branch, values[1:])
    w.write(f"}}) : ({w.type(values[0].aval)}) -> ({', '.join(map(w.type, outs))})")
    return results


cond_p = Primitive(
    "cond",
    multiple=True,
    impl=lambda index, *args, branches: run(branches[int(index)], *args),
    type=lambda index, *avals, branches: branches[0].out_avals,
    lower=cond_lower,
)


def fixed_carry(leaves, write):
    """Return the initial carry, its types, and the program of a loop. An element of the carry that is weakly typed, and that the
    body returns with another type, is converted to that type before the loop.

    `write(avals)` -> (program, constants, types of the carry that the body returns).
    """
    avals = [aval_of(x) for x in leaves]
    written = write(avals)
    stronger = [
        b._replace(weak_type=b.weak_type and b.dtype == a.dtype)
        if a.weak_type and a != b and a.shape == b.shape and promoted([a, b]) == b[1:]
        else a
        for a, b in zip(avals, written[2], strict=True)
    ]
    if stronger != avals:
        leaves = [convert(x, a.dtype, a.weak_type) for x, a in zip(leaves, stronger, strict=True)]
        avals, written = stronger, write(stronger)
    outs = written[2]
    for a, b in zip(avals, outs, strict=True):
        if a[:2] != b[:2]:
            raise TypeError(f"the carry of a loop keeps its type: {a} went in, and {b} came out")
    return leaves, avals, written


def same_structure(before, after):
    if before != after:
        raise TypeError(f"the carry of a loop keeps its structure: {before} went in, and {after} came out")


def while_loop(cond_fun, body_fun, init):
    leaves, treedef = tree_flatten(init)
    args = TreeDef(tuple, None, (treedef,), treedef.leaves)

    def write(avals):
        body, consts, out_tree = traced(body_fun, args, avals)
        same_structure(treedef, out_tree)
        return body, consts, body.out_avals

    leaves, avals, (body, body_consts, _) = fixed_carry(leaves, write)
    test, test_consts, test_tree = traced(cond_fun, args, avals)
    if [a[:2] for a in test.out_avals] != [((), BOOL)] or test_tree != tree_flatten(True)[1]:
        raise TypeError(f"the test of a while_loop is one truth value, not {test.out_avals}")
    outs = while_p.bind(
        *test_consts,
        *body_consts,
        *leaves,
        cond_jaxpr=test,
        body_jaxpr=with_results(body, avals),
        cond_nconsts=len(test_consts),
        body_nconsts=len(body_consts),
    )
    return tree_unflatten(treedef, outs)


def apart(args, *counts):
    """Return the operands in groups of these sizes; the last group has the rest."""
    groups, args = [], list(args)
    for n in counts:
        groups.append(args[:n])
        args = args[n:]
    return *groups, args


def while_impl(*args, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
    test, body, carry = apart(args, cond_nconsts, body_nconsts)
    while run(cond_jaxpr, *test, *carry)[0]:
        carry = run(body_jaxpr, *body, *carry)
    return carry


def while_lower(w, values, outs, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
    test, body, carry = apart(values, cond_nconsts, body_nconsts)
    left, results = w.several(outs)
    inside = [Value(w.fresh(), a) for a in outs]
    w.write(
        f"{left}stablehlo.while({', '.join(f'{i.name} = {v.name}' for i, v in zip(inside, carry, strict=True))}) : {w.types(carry)}"
    )
    w.write("cond {")
    w.region(cond_jaxpr, test + inside)
    w.write("} do {")
    w.region(body_jaxpr, body + inside)
    w.write("}")
    return results


while_p = Primitive(
    "while",
    multiple=True,
    impl=while_impl,
    type=lambda *avals, body_jaxpr, **_: body_jaxpr.out_avals,
    lower=while_lower,
)


def scan(f, init, xs=None, length=None, reverse=False):
    carry, carry_tree = tree_flatten(init)
    rows, rows_tree = tree_flatten(xs)
    lengths = {aval_of(x).shape[0] for x in rows if aval_of(x).shape} | ({length} if length is not None else set())
    if any(not aval_of(x).shape for x in rows) or len(lengths) > 1:
        raise ValueError(f"scan got rows of different numbers: {sorted(lengths)}, of {[aval_of(x) for x in rows]}")
    if not lengths:
        raise ValueError("scan without rows needs a length")
    length = operator.index(lengths.pop())
    row_avals = [Aval(a.shape[1:], *a[1:]) for a in map(aval_of, rows)]
    args, found = TreeDef(tuple, None, (carry_tree, rows_tree), len(carry) + len(rows)), []

    def write(avals):
        def body(c, x):
            result = f(c, x)
            if not (isinstance(result, (tuple, list)) and len(result) == 2):
                raise TypeError(f"the body of a scan returns (carry, y), not {result!r}")
            (leaves, tree), (ys, ys_tree) = map(tree_flatten, result)
            same_structure(carry_tree, tree)
            found[:] = [ys_tree]
            return leaves + ys

        body, consts, _ = traced(body, args, avals + row_avals)
        return body, consts, body.out_avals[: len(carry)]

    carry, avals, (body, consts, _) = fixed_carry(carry, write)
    body = with_results(body, avals + body.out_avals[len(carry) :])
    outs = scan_p.bind(
        *consts, *carry, *rows, jaxpr=body, num_consts=len(consts), num_carry=len(carry), length=length, reverse=reverse
    )
    return tree_unflatten(carry_tree, outs[: len(carry)]), tree_unflatten(found[0], outs[len(carry) :])


def scan_type(*avals, jaxpr, num_carry, length, **_):
    outs = jaxpr.out_avals
    return outs[:num_carry] + [Aval((length, *a.shape), *a[1:]) for a in outs[num_carry:]]


def scan_impl(*args, jaxpr, num_consts, num_carry, length, reverse):
    consts, carry, xs = apart(args, num_consts, num_carry)
    ys = [np.zeros((length, *a.shape), a.dtype) for a in jaxpr.out_avals[num_carry:]]
    for i in reversed(range(length)) if reverse else range(length):
        rows = [Array(x.value[i], Aval(x.shape[1:], *x.aval[1:])) for x in xs]
        carry, outs = apart(run(jaxpr, *consts, *carry, *rows), num_carry)
        for y, out in zip(ys, outs, strict=True):
            y[i] = np.asarray(out)
    return carry + [Array(y, Aval(y.shape, *a[1:])) for y, a in zip(ys, jaxpr.out_avals[num_carry:], strict=True)]


def scan_as_while(*args, jaxpr, num_consts, num_carry, length, reverse):
    """Compute a scan by a while loop, which slices `xs` and updates `ys`; for XLA, which has no scan."""
    consts, carry, xs = apart(args, num_consts, num_carry)
    ys = [jnp.zeros((length, *a.shape), a.dtype) for a in jaxpr.out_avals[num_carry:]]
    if not length:
        return carry + ys
    zero = np.int32(0)

    def body(state):
        i, carry, ys = state
        at = length - 1 - i if reverse else i
        rows = [x[at] for x in xs]
        carry, outs = apart(run(jaxpr, *consts, *carry, *rows), num_carry)
        ys = [
            dynamic_update_slice_p.bind(y, out[None], at, *[zero] * out.ndim) for y, out in zip(ys, outs, strict=True)
        ]
        return i + 1, carry, ys

    _, carry, ys = while_loop(lambda state: state[0] < length, body, (zero, carry, ys))
    return carry + ys


def lower_fun(f):
    """Return a lowering rule: trace a function, and write its equations."""
    return lambda w, values, outs, **params: w.program(
        trace(lambda *xs: f(*xs, **params), [v.aval for v in values]), values
    )


scan_p = Primitive("scan", multiple=True, impl=scan_impl, type=scan_type, lower=lower_fun(scan_as_while))


def known_number(x):
    """Return x as an int; None for a tracer."""
    if isinstance(x, Tracer):
        return None
    return operator.index(x)


def fori_loop(lower, upper, body, init):
    first, last = known_number(lower), known_number(upper)
    if first is not None and last is not None:
        return scan(lambda c, _: ((c[0] + 1, body(*c)), None), (first, init), None, length=max(last - first, 0))[0][1]
    (lower, upper), _ = promote([lower, upper])
    return while_loop(lambda c: c[0] < c[1], lambda c: (c[0] + 1, c[1], body(c[0], c[2])), (lower, upper, init))[2]


# --------------------------------------------------------------------------------------------------- derivatives, forward


class JVPTracer(Tracer):
    """A primal and its tangent, which is None if it is zero. Both belong to traces below this one in the stack."""

    def __init__(self, main, primal, tangent):
        self.main, self.primal, self.tangent = main, primal, tangent

    aval = property(lambda self: aval_of(self.primal))


class JVPTrace(Trace):
    def lift(self, x):
        return x if isinstance(x, JVPTracer) and x.main is self.main else JVPTracer(self.main, x, None)

    def process(self, primitive, tracers, params):
        primals, tangents = [t.primal for t in tracers], [t.tangent for t in tracers]
        if all(t is None for t in tangents) or primitive.jvp is None:
            outs = primitive.bind(*primals, **params)
            moved = [None] * len(outs) if primitive.multiple else None
        else:
            outs, moved = self.rule(primitive)(primals, tangents, **params)
        if primitive.multiple:
            return [JVPTracer(self.main, x, t) for x, t in zip(outs, moved, strict=True)]
        return JVPTracer(self.main, outs, moved)

    def rule(self, primitive):
        return primitive.jvp


def jvp_flat(f, primals, tangents):
    """Return results and their tangents; None for a tangent that is zero."""
    with new_main(JVPTrace) as main:
        outs = f(*[JVPTracer(main, x, t) for x, t in zip(primals, tangents, strict=True)])
        outs = [main.trace.lift(x) for x in check_leaves(outs)]
    return [o.primal for o in outs], [o.tangent for o in outs]


def jvp(f, primals, tangents):
    leaves, treedef = tree_flatten(tuple(primals))
    moves, moves_tree = tree_flatten(tuple(tangents))
    if treedef != moves_tree:
        raise TypeError(f"primals and tangents have to be built alike: {treedef} and {moves_tree}")
    for i, (x, t) in enumerate(zip(leaves, moves, strict=True)):
        a, b = aval_of(x), aval_of(t)
        if a.shape != b.shape:
            raise ValueError(f"a tangent has the shape of its primal, and {b} is not that of {a}")
        if a.dtype != b.dtype or not inexact(a.dtype):
            raise TypeError(f"a tangent is a float of the type of its primal, and {b} is not that of {a}")
        moves[i] = convert(t, a.dtype, a.weak_type) if inexact(a.dtype) else None
    flat, out = flat_function(f, treedef)
    outs, moved = jvp_flat(flat, leaves, moves)
    moved = [jnp.zeros_like(x) if t is None else t for x, t in zip(outs, moved, strict=True)]
    return tree_unflatten(out[0], map(jnp.asarray, outs)), tree_unflatten(out[0], moved)


def spread(t, like):
    """Return a tangent, broadcast to the shape of the result: an operand may have been smaller."""
    return t if t is None or aval_of(t).shape == aval_of(like).shape else broadcast_to(t, aval_of(like).shape)


def together(*tangents):
    """Return the sum; None counts as zero."""
    return functools.reduce(lambda s, t: t if s is None else s if t is None else s + t, tangents)


def derivative(primitive, *partials):
    """Set the JVP rule of an elementwise primitive: `partials[i](t, result, *operands)` is the result's tangent if operand i has the
    tangent t and the others have zero.
    """

    def rule(primals, tangents, **params):
        result = primitive.bind(*primals, **params)
        terms = [d(t, result, *primals, **params) for d, t in zip(partials, tangents, strict=True) if t is not None]
        return result, together(*(spread(t, result) for t in terms))

    primitive.jvp = rule


def larger(x, y):
    """Return 1 where x is larger than y, 1/2 where they are equal, and 0 elsewhere."""
    return jnp.where(jnp.equal(x, y), 0.5, jnp.where(jnp.greater(x, y), 1.0, 0.0)).astype(aval_of(x).dtype)


derivative(sin_p, lambda t, r, x: t * jnp.cos(x))
derivative(cos_p, lambda t, r, x: -(t * jnp.sin(x)))
derivative(tan_p, lambda t, r, x: t * (1.0 + r * r))
derivative(tanh_p, lambda t, r, x: t * (1.0 - r * r))
derivative(exp_p, lambda t, r, x: t * r)
derivative(log_p, lambda t, r, x: t / x)
derivative(log1p_p, lambda t, r, x: t / (1.0 + x))
derivative(expm1_p, lambda t, r, x: t * (r + 1.0))
derivative(sqrt_p, lambda t, r, x: t * (0.5 / r))
derivative(neg_p, lambda t, r, x: -t)
derivative(abs_p, lambda t, r, x: t * jnp.where(jnp.less(x, 0), -1.0, 1.0))
derivative(add_p, lambda t, r, x, y: t, lambda t, r, x, y: t)
derivative(sub_p, lambda t, r, x, y: t, lambda t, r, x, y: -t)
derivative(mul_p, lambda t, r, x, y: t * y, lambda t, r, x, y: t * x)
derivative(div_p, lambda t, r, x, y: t / y, lambda t, r, x, y: -(t * (r / y)))
derivative(max_p, lambda t, r, x, y: t * larger(x, y), lambda t, r, x, y: t * larger(y, x))
derivative(min_p, lambda t, r, x, y: t * larger(y, x), lambda t, r, x, y: t * larger(x, y))
derivative(
    pow_p,
    lambda t, r, x, y: t * (y * jnp.power(x, y - 1.0)),
    lambda t, r, x, y: t * (r * jnp.log(jnp.where(jnp.equal(x, 0.0), 1.0, x))),
)
derivative(
    integer_pow_p, lambda t, r, x, y: t * (float(y) * integer_pow_p.bind(x, y=y - 1)) if y else jnp.zeros_like(t)
)


def convert_jvp(primals, tangents, new_dtype, weak_type):
    result, (t,) = convert_p.bind(*primals, new_dtype=new_dtype, weak_type=weak_type), tangents
    return result, convert(t, new_dtype, weak_type) if inexact(new_dtype) else None


def same_for_the_tangent(primitive):
    """Set the JVP rule of a primitive that is linear in its first operand: apply it to the tangent of that."""

    def rule(primals, tangents, **params):
        (x, *rest), (t, *_) = primals, tangents
        return primitive.bind(x, *rest, **params), None if t is None else primitive.bind(t, *rest, **params)

    primitive.jvp = rule


def extreme_jvp(primitive):
    def rule(primals, tangents, axes):
        (x,), (t,) = primals, tangents
        result = primitive.bind(x, axes=axes)
        kept = jnp.reshape(result, [1 if i in axes else n for i, n in enumerate(aval_of(x).shape)])
        here = convert(jnp.equal(x, kept), aval_of(x).dtype, False)
        return result, jnp.sum(t * here, axes) / jnp.sum(here, axes)

    primitive.jvp = rule


def dot_jvp(primals, tangents, **params):
    (a, b), (da, db) = primals, tangents
    return dot_p.bind(a, b, **params), together(
        None if da is None else dot_p.bind(da, b, **params), None if db is None else dot_p.bind(a, db, **params)
    )


def filled(t, x):
    return jnp.zeros_like(x) if t is None else t


def select_jvp(primals, tangents):
    pred, no, yes = primals
    return select_p.bind(pred, no, yes), select_p.bind(pred, filled(tangents[1], no), filled(tangents[2], yes))


def update_jvp(primals, tangents):
    x, u, *starts = primals
    return dynamic_update_slice_p.bind(x, u, *starts), dynamic_update_slice_p.bind(
        filled(tangents[0], x), filled(tangents[1], u), *starts
    )


convert_p.jvp, dot_p.jvp, select_p.jvp, dynamic_update_slice_p.jvp = convert_jvp, dot_jvp, select_jvp, update_jvp
for _p in (broadcast_p, reshape_p, transpose_p, reduce_sum_p, dynamic_slice_p):
    same_for_the_tangent(_p)
for _p in (reduce_max_p, reduce_min_p):
    extreme_jvp(_p)


# ------------------------------------------------------------------------------ derivatives of equations that contain jaxprs


def derived(make):
    """Decorator: cache what is made of a jaxpr in the jaxpr itself."""

    @functools.wraps(make)
    def made(closed, *key):
        memory = closed.__dict__.setdefault("derived", {})
        if (make, key) not in memory:
            memory[make, key] = make(closed, *key)
        return memory[make, key]

    return made


def self_contained(closed):
    assert not closed.consts, "a program that is made of a program closes over nothing"
    return closed


def chosen(mask, xs):
    return [x for x, m in zip(xs, mask, strict=True) if m]


def placed(mask, xs, otherwise=None):
    """Return the inverse of `chosen`: the next of `xs` where the mask holds, `otherwise` elsewhere."""
    xs = iter(xs)
    return [next(xs) if m else otherwise for m in mask]


@derived
def jvp_closed(closed, moving, wanted):
    """Return a jaxpr from primals and the nonzero tangents to results and tangents, and a bool for each result: whether it has a
    tangent there, because that is not zero or is wanted.
    """
    found = []

    def f(*args):
        primals, tangents = apart(args, len(moving))
        outs, moved = jvp_flat(functools.partial(run, closed), primals, placed(moving, tangents))
        found[:] = [t is not None or w for t, w in zip(moved, wanted, strict=True)]
        return outs + [filled(t, x) for x, t, m in zip(outs, moved, found, strict=True) if m]

    program = trace(f, closed.in_avals + chosen(moving, closed.in_avals))
    return self_contained(program), tuple(found)


def nothing_wanted(closed):
    return (False,) * len(closed.jaxpr.outvars)


def moves(tangents):
    return tuple(t is not None for t in tangents)


def present(tangents):
    return [t for t in tangents if t is not None]


def either(*masks):
    return tuple(map(any, zip(*masks, strict=True)))


def jit_jvp(primals, tangents, jaxpr, name):
    program, moved = jvp_closed(jaxpr, moves(tangents), nothing_wanted(jaxpr))
    outs, out_tangents = apart(jit_p.bind(*primals, *present(tangents), jaxpr=program, name="jvp_" + name), len(moved))
    return outs, placed(moved, out_tangents)


def cond_jvp(primals, tangents, branches):
    moving = moves(tangents[1:])
    wanted = either(*(jvp_closed(b, moving, nothing_wanted(b))[1] for b in branches))
    programs = tuple(jvp_closed(b, moving, wanted)[0] for b in branches)
    programs = tuple(with_results(p, programs[0].out_avals) for p in programs)
    outs, moved = apart(cond_p.bind(*primals, *present(tangents), branches=programs), len(wanted))
    return outs, placed(wanted, moved)


def moving_carry(body, before, carry, after, find):
    """Return which elements of a carry have a tangent (or a batch) in some iteration, given those that have one at the start.
    `find(program, moving, wanted)[1]` says which results have one if these arguments have.
    """
    while True:
        moved = find(body, (*before, *carry, *after), nothing_wanted(body))[1][: len(carry)]
        if either(carry, moved) == carry:
            return carry
        carry = either(carry, moved)


def while_jvp(primals, tangents, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
    test, body, carry = apart(primals, cond_nconsts, body_nconsts)
    _, body_t, carry_t = apart(tangents, cond_nconsts, body_nconsts)
    moving = moving_carry(body_jaxpr, moves(body_t), moves(carry_t), (), jvp_closed)
    program, _ = jvp_closed(body_jaxpr, moves(body_t) + moving, moving)
    carry_t = [filled(t, x) for t, x, m in zip(carry_t, carry, moving, strict=True) if m]
    avals = [v.aval for v in body_jaxpr.jaxpr.invars[body_nconsts:]]
    n, n_body_t = len(carry), len(present(body_t))

    def turn(*args):
        consts, consts_t, carry, carry_t = apart(args, body_nconsts, n_body_t, n)
        return run(program, *consts, *carry, *consts_t, *carry_t)

    def go_on(*args):
        return run(cond_jaxpr, *args[: cond_nconsts + n])

    in_avals = (
        body_jaxpr.in_avals[:body_nconsts] + [aval_of(t) for t in present(body_t)] + avals + chosen(moving, avals)
    )
    turning = with_results(trace(turn, in_avals), avals + chosen(moving, avals))
    testing = trace(go_on, cond_jaxpr.in_avals + chosen(moving, avals))
    outs = while_p.bind(
        *test,
        *body,
        *present(body_t),
        *carry,
        *carry_t,
        cond_jaxpr=testing,
        body_jaxpr=turning,
        cond_nconsts=cond_nconsts,
        body_nconsts=body_nconsts + n_body_t,
    )
    return outs[:n], placed(moving, outs[n:])


def scan_jvp(primals, tangents, jaxpr, num_consts, num_carry, length, reverse):
    consts, carry, xs = apart(primals, num_consts, num_carry)
    consts_t, carry_t, xs_t = apart(tangents, num_consts, num_carry)
    moving = moving_carry(jaxpr, moves(consts_t), moves(carry_t), moves(xs_t), jvp_closed)
    wanted = moving + (False,) * (len(jaxpr.out_avals) - num_carry)
    program, moved = jvp_closed(jaxpr, moves(consts_t) + moving + moves(xs_t), wanted)
    carry_t = [filled(t, x) for t, x, m in zip(carry_t, carry, moving, strict=True) if m]
    consts_t, xs_t = present(consts_t), present(xs_t)
    n_out, n_moving = len(jaxpr.out_avals), len(carry_t)

    def body(*args):
        c, ct, h, ht, x, xt = apart(args, len(consts), len(consts_t), len(carry), n_moving, len(xs))
        outs, outs_t = apart(run(program, *c, *h, *x, *ct, *ht, *xt), n_out)
        return outs[:num_carry] + outs_t[:n_moving] + outs[num_carry:] + outs_t[n_moving:]

    c, h, x = apart(jaxpr.in_avals, num_consts, num_carry)

    def row(t):
        return Aval(aval_of(t).shape[1:], *aval_of(t)[1:])

    fixed = h + chosen(moving, h)
    written = trace(body, c + [aval_of(t) for t in consts_t] + fixed + x + [row(t) for t in xs_t])
    written = with_results(written, fixed + written.out_avals[len(fixed) :])
    outs = scan_p.bind(
        *consts,
        *consts_t,
        *carry,
        *carry_t,
        *xs,
        *xs_t,
        jaxpr=written,
        num_consts=num_consts + len(consts_t),
        num_carry=len(fixed),
        length=length,
        reverse=reverse,
    )
    carry, carry_t, ys, ys_t = apart(outs, num_carry, n_moving, n_out - num_carry)
    return carry + ys, placed(moved, carry_t + ys_t)


jit_p.jvp, cond_p.jvp, while_p.jvp, scan_p.jvp = jit_jvp, cond_jvp, while_jvp, scan_jvp


# -------------------------------------------------------------------------------------------------- derivatives, backward


class LinearizeTrace(JVPTrace):
    """A JVPTrace whose tangents have no values yet: they are tracers of a JaxprTrace, one lower in the stack.

    Operations on primals are processed by the traces below that; operations on tangents are recorded, and form a linear jaxpr.
    """

    def rule(self, primitive):
        return primitive.linearize or primitive.jvp


def linearize_flat(f, primals, moving, wanted=None):
    """Return the results, the linear jaxpr from tangents to tangents, with its constants, and which results have tangents."""
    with new_main(JaxprTrace, Frame()) as linear, new_main(LinearizeTrace) as main:
        tangents = [linear.trace.argument(aval_of(x)) if m else None for x, m in zip(primals, moving, strict=True)]
        outs = f(*[x if t is None else JVPTracer(main, x, t) for x, t in zip(primals, tangents, strict=True)])
        outs = [main.trace.lift(x) for x in check_leaves(outs)]
        moved = tuple(o.tangent is not None for o in outs)
        if wanted is not None:
            moved = either(moved, wanted)
        results = [linear.trace.lift(filled(o.tangent, o.primal)) for o in chosen(moved, outs)]
        program = linear.data.finish([t.var for t in present(tangents)], results)
    return [o.primal for o in outs], program, moved


@derived
def linearize_closed(closed, moving, wanted):
    """Return a jaxpr from values to results and residuals; the linear jaxpr from residuals and tangents to tangents; and which results
    have tangents.
    """
    found = []

    def f(*primals):
        outs, linear, moved = linearize_flat(functools.partial(run, closed), primals, moving, wanted)
        found[:] = [hoisted(linear), moved]
        return outs + linear.consts

    forward = self_contained(trace(f, closed.in_avals))
    return forward, *found


def find_linear(closed, moving, wanted):
    return None, linearize_closed(closed, moving, wanted)[2]


def jit_linearize(primals, tangents, jaxpr, name):
    forward, linear, moved = linearize_closed(jaxpr, moves(tangents), nothing_wanted(jaxpr))
    outs, residuals = apart(jit_p.bind(*primals, jaxpr=forward, name=name), len(moved))
    return outs, placed(moved, jit_p.bind(*residuals, *present(tangents), jaxpr=linear, name="linear_" + name))


def cond_linearize(primals, tangents, branches):
    moving = moves(tangents[1:])
    wanted = either(*(find_linear(b, moving, nothing_wanted(b))[1] for b in branches))
    parts = [linearize_closed(b, moving, wanted) for b in branches]
    kept = [p[0].out_avals[len(wanted) :] for p in parts]  # the types of each branch's residuals

    def forward_of(k):
        def f(*args):
            outs, residuals = apart(run(parts[k][0], *args), len(wanted))
            empty = [[jnp.zeros(a.shape, a.dtype) for a in avals] for avals in kept]
            return outs + [r for i, zeros in enumerate(empty) for r in (residuals if i == k else zeros)]

        return trace(f, branches[k].in_avals)

    def linear_of(k):
        linear, n = parts[k][1], sum(map(len, kept[:k]))

        def f(*args):
            residuals, tangents = apart(args, sum(map(len, kept)))
            return run(linear, *residuals[n : n + len(kept[k])], *tangents)

        return trace(f, [a for avals in kept for a in avals] + chosen(moving, branches[k].in_avals))

    forwards = [forward_of(k) for k in range(len(branches))]
    forwards = tuple(with_results(f, [Aval(*a[:2], False) for a in forwards[0].out_avals]) for f in forwards)
    outs, residuals = apart(cond_p.bind(*primals, branches=forwards), len(wanted))
    linears = tuple(linear_of(k) for k in range(len(branches)))
    return outs, placed(wanted, cond_p.bind(primals[0], *residuals, *present(tangents), branches=linears))


def while_linearize(primals, tangents, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
    _, body_t, carry_t = apart(tangents, cond_nconsts, body_nconsts)
    if any(moving_carry(body_jaxpr, moves(body_t), moves(carry_t), (), jvp_closed)):
        raise ValueError(
            "a while_loop has no derivative backward: nobody knows how many turns to remember. "
            "Take scan, or fori_loop with bounds that Python knows."
        )
    outs = while_p.bind(
        *primals, cond_jaxpr=cond_jaxpr, body_jaxpr=body_jaxpr, cond_nconsts=cond_nconsts, body_nconsts=body_nconsts
    )
    return outs, [None] * len(outs)


def scan_linearize(primals, tangents, jaxpr, num_consts, num_carry, length, reverse):
    _, carry, _ = apart(primals, num_consts, num_carry)
    consts_t, carry_t, xs_t = apart(tangents, num_consts, num_carry)
    moving = moving_carry(jaxpr, moves(consts_t), moves(carry_t), moves(xs_t), find_linear)
    n_out = len(jaxpr.out_avals)
    wanted = moving + (False,) * (n_out - num_carry)
    forward, linear, moved = linearize_closed(jaxpr, moves(consts_t) + moving + moves(xs_t), wanted)
    carry_avals = jaxpr.in_avals[num_consts : num_consts + num_carry]
    forward = with_results(forward, carry_avals + forward.out_avals[num_carry:])
    outs = scan_p.bind(
        *primals, jaxpr=forward, num_consts=num_consts, num_carry=num_carry, length=length, reverse=reverse
    )
    outs, residuals = apart(outs, n_out)
    carry_t = [filled(t, x) for t, x, m in zip(carry_t, carry, moving, strict=True) if m]
    consts_t, xs_t = present(consts_t), present(xs_t)
    r, c, h, x = apart(linear.jaxpr.invars, len(residuals), len(consts_t), len(carry_t))
    body = ClosedJaxpr(Jaxpr([], c + h + r + x, linear.jaxpr.eqns, linear.jaxpr.outvars), [])
    outs_t = scan_p.bind(
        *consts_t,
        *carry_t,
        *residuals,
        *xs_t,
        jaxpr=body,
        num_consts=len(consts_t),
        num_carry=len(carry_t),
        length=length,
        reverse=reverse,
    )
    return outs, placed(moved, outs_t)


jit_p.linearize, cond_p.linearize, while_p.linearize, scan_p.linearize = (
    jit_linearize,
    cond_linearize,
    while_linearize,
    scan_linearize,
)


class Linear(NamedTuple):
    """An operand without a value, whose cotangent is to be computed."""

    aval: Aval


def is_linear(x):
    return type(x) is Linear


def backward(closed, args, cotangents):
    """Transpose a linear jaxpr, from its last equation to the first. Return the cotangents of the arguments that are Linear; None for
    zero.
    """
    jaxpr = closed.jaxpr
    env = dict(zip(jaxpr.constvars, closed.consts, strict=True)) | dict(zip(jaxpr.invars, args, strict=True))
    for e in jaxpr.eqns:
        env |= {v: Linear(v.aval) for v in e.outvars}
    found = {}

    def read(v):
        return literal_value(v) if isinstance(v, Literal) else env[v]

    def give(v, ct):
        if ct is not None and is_linear(read(v)):
            found[v] = together(found.get(v), ct)

    for v, ct in zip(jaxpr.outvars, cotangents, strict=True):
        give(v, ct)
    for e in reversed(jaxpr.eqns):
        cts = [found.pop(v, None) for v in e.outvars]
        if all(ct is None for ct in cts):
            continue
        operands = [read(v) for v in e.invars]
        for v, ct in zip(
            e.invars, e.primitive.transpose(cts if e.primitive.multiple else cts[0], *operands, **e.params), strict=True
        ):
            give(v, ct)
    return [found.get(v) for v, x in zip(jaxpr.invars, args, strict=True) if is_linear(x)]


def gathered(ct, aval):
    """Return a cotangent, summed over the axes along which an operand of this type was broadcast."""
    shape = aval_of(ct).shape
    extra = len(shape) - aval.ndim
    axes = tuple(range(extra)) + tuple(extra + i for i, n in enumerate(aval.shape) if n != shape[extra + i])
    return jnp.reshape(jnp.sum(ct, axes), aval.shape) if axes else ct


def transposed(primitive):
    def put(rule):
        primitive.transpose = rule
        return rule

    return put


def linear_elementwise(primitive, *rules):
    """Set the transpose rule of an elementwise primitive: `rules[i](ct, *operands)` is the cotangent of operand i where it is linear."""

    @transposed(primitive)
    def rule(ct, *operands):
        return [
            gathered(r(ct, *operands), x.aval) if is_linear(x) else None for r, x in zip(rules, operands, strict=True)
        ]


linear_elementwise(neg_p, lambda ct, x: -ct)
linear_elementwise(add_p, lambda ct, x, y: ct, lambda ct, x, y: ct)
linear_elementwise(sub_p, lambda ct, x, y: ct, lambda ct, x, y: -ct)
linear_elementwise(mul_p, lambda ct, x, y: ct * y, lambda ct, x, y: ct * x)
linear_elementwise(div_p, lambda ct, x, y: ct / y, None)


@transposed(convert_p)
def _(ct, x, new_dtype, weak_type):
    return [convert(ct, x.aval.dtype, x.aval.weak_type)]


@transposed(broadcast_p)
def _(ct, x, shape, broadcast_dimensions):
    axes = tuple(i for i in range(len(shape)) if i not in broadcast_dimensions)
    return [gathered(jnp.sum(ct, axes) if axes else ct, x.aval)]


@transposed(reshape_p)
def _(ct, x, new_sizes):
    return [jnp.reshape(ct, x.aval.shape)]


@transposed(transpose_p)
def _(ct, x, permutation):
    return [transpose_p.bind(ct, permutation=tuple(permutation.index(i) for i in range(len(permutation))))]


@transposed(reduce_sum_p)
def _(ct, x, axes):
    kept = tuple(i for i in range(x.aval.ndim) if i not in axes)
    return [broadcast_p.bind(ct, shape=x.aval.shape, broadcast_dimensions=kept)]


@transposed(dot_p)
def _(ct, a, b, contracting, batch):
    (ca, cb), (ba, bb) = contracting, batch
    first = is_linear(a)
    (x, cx, bx), (y, cy, by) = ((a, ca, ba), (b, cb, bb)) if first else ((b, cb, bb), (a, ca, ba))
    x_free, y_free = free_axes(x.aval.ndim, cx, bx), free_axes(aval_of(y).ndim, cy, by)
    n = len(ba)
    at = n + len(x_free) if first else n  # the position of y's free axes in the result
    result = dot_p.bind(
        ct, y, contracting=(tuple(range(at, at + len(y_free))), tuple(y_free)), batch=(tuple(range(n)), tuple(by))
    )
    # the axes of `result`: batch axes, free axes of x, and contracted axes in the order that they have in y
    order = sorted(range(len(cy)), key=lambda i: cy[i])
    axes = [*bx, *x_free, *(cx[i] for i in order)]
    result = transpose_p.bind(result, permutation=tuple(axes.index(i) for i in range(len(axes))))
    return [result, None] if first else [None, result]


@transposed(select_p)
def _(ct, pred, no, yes):
    zero = jnp.zeros_like(ct)
    return [
        None,
        jnp.where(pred, zero, ct) if is_linear(no) else None,
        jnp.where(pred, ct, zero) if is_linear(yes) else None,
    ]


@transposed(dynamic_slice_p)
def _(ct, x, *starts, slice_sizes):
    return [dynamic_update_slice_p.bind(jnp.zeros(x.aval.shape, x.aval.dtype), ct, *starts), *[None] * len(starts)]


@transposed(dynamic_update_slice_p)
def _(ct, x, u, *starts):
    window = u.aval if is_linear(u) else aval_of(u)
    return [
        dynamic_update_slice_p.bind(ct, jnp.zeros(window.shape, window.dtype), *starts) if is_linear(x) else None,
        dynamic_slice_p.bind(ct, *starts, slice_sizes=window.shape) if is_linear(u) else None,
        *[None] * len(starts),
    ]


@derived
def backward_closed(closed, linear, given):
    """Return a jaxpr from values and the given cotangents of results to cotangents of the linear arguments."""
    n = linear.count(False)

    def f(*args):
        values, cts = apart(args, n)
        operands = [Linear(a) if m else values.pop(0) for m, a in zip(linear, closed.in_avals, strict=True)]
        found = backward(closed, operands, placed(given, cts))
        return [
            jnp.zeros(a.shape, a.dtype) if ct is None else ct
            for ct, a in zip(found, chosen(linear, closed.in_avals), strict=True)
        ]

    values = [a for a, m in zip(closed.in_avals, linear, strict=True) if not m]
    return self_contained(trace(f, values + chosen(given, closed.out_avals)))


def values_of(args):
    return [x for x in args if not is_linear(x)]


@transposed(jit_p)
def _(cts, *args, jaxpr, name):
    linear = tuple(map(is_linear, args))
    program = backward_closed(jaxpr, linear, moves(cts))
    return placed(linear, jit_p.bind(*values_of(args), *present(cts), jaxpr=program, name="backward_" + name))


@transposed(cond_p)
def _(cts, index, *args, branches):
    linear = tuple(map(is_linear, args))
    programs = tuple(backward_closed(b, linear, moves(cts)) for b in branches)
    programs = tuple(with_results(p, [Aval(*a[:2], False) for a in p.out_avals]) for p in programs)
    return [None, *placed(linear, cond_p.bind(index, *values_of(args), *present(cts), branches=programs))]


@transposed(scan_p)
def _(cts, *args, jaxpr, num_consts, num_carry, length, reverse):
    consts, _carry, xs = apart(args, num_consts, num_carry)
    consts_l, xs_l = [is_linear(x) for x in consts], [is_linear(x) for x in xs]
    avals = scan_type(jaxpr=jaxpr, num_carry=num_carry, length=length)
    cts = [jnp.zeros(a.shape, a.dtype) if ct is None else ct for ct, a in zip(cts, avals, strict=True)]
    c, h, x = apart(jaxpr.in_avals, num_consts, num_carry)
    sums = [jnp.zeros(a.shape, a.dtype) for a in chosen(consts_l, c)]
    linear = (*consts_l, *[True] * num_carry, *xs_l)
    program = backward_closed(jaxpr, linear, (True,) * len(jaxpr.out_avals))

    def body(*args):
        values, sums, carry_ct, rows, ys_ct = apart(
            args, len(values_of(consts)), consts_l.count(True), num_carry, len(values_of(xs))
        )
        consts_ct, carry_ct, xs_ct = apart(run(program, *values, *rows, *carry_ct, *ys_ct), len(sums), num_carry)
        return [s + ct for s, ct in zip(sums, consts_ct, strict=True)] + carry_ct + xs_ct

    fixed = [Aval(*a[:2], False) for a in chosen(consts_l, c) + h]

    def values(mask, avals):
        return [a for a, m in zip(avals, mask, strict=True) if not m]

    written = trace(body, values(consts_l, c) + fixed + values(xs_l, x) + jaxpr.out_avals[num_carry:])
    written = with_results(written, fixed + written.out_avals[len(fixed) :])
    outs = scan_p.bind(
        *values_of(consts),
        *sums,
        *cts[:num_carry],
        *values_of(xs),
        *cts[num_carry:],
        jaxpr=written,
        num_consts=len(values_of(consts)),
        num_carry=len(fixed),
        length=length,
        reverse=not reverse,
    )
    sums, carry_ct, xs_ct = apart(outs, len(sums), num_carry)
    return placed(consts_l, sums) + carry_ct + placed(xs_l, xs_ct)


def pulled_back(f, primals, moving):
    """Return the results, and a function from their cotangents to the cotangents of the arguments that are `moving`. The cotangent of an
    argument that no result depends on is zeros.
    """
    outs, program, moved = linearize_flat(f, primals, moving)

    def pull(cts):
        args = [Linear(a) for a in program.in_avals]
        found = backward(program, args, chosen(moved, cts))
        return [
            convert(jnp.zeros(a.shape, a.dtype) if ct is None else ct, a.dtype, a.weak_type)
            for ct, a in zip(found, program.in_avals, strict=True)
        ]

    return outs, pull


def moved_arguments(args, argnums):
    """Return the leaves of all arguments, their structure, which leaves to differentiate by, and a function that turns a list with a
    derivative for each of these into trees like the arguments.
    """
    nums = [argnums] if isinstance(argnums, int) else list(argnums)
    if any(not -len(args) <= n < len(args) for n in nums):
        raise TypeError(f"argnums={argnums} is beyond the {len(args)} arguments")
    nums = [n % len(args) for n in nums]
    leaves, treedef = tree_flatten(args)
    owners = [i for i, x in enumerate(args) for _ in tree_leaves(x)]
    moving = tuple(i in nums for i in owners)
    for x in chosen(moving, leaves):
        if not inexact(aval_of(x).dtype):
            raise TypeError(
                f"derivatives are by floats, and {aval_of(x)} is an argument that does not move continuously"
            )

    def by_argument(found):
        """Return leaves as trees, in the order of argnums."""
        found = placed(moving, found)
        trees = [
            tree_unflatten(tree_structure(args[n]), [x for x, o in zip(found, owners, strict=True) if o == n])
            for n in nums
        ]
        return trees[0] if isinstance(argnums, int) else tuple(trees)

    return leaves, treedef, moving, by_argument


def value_and_grad(f, argnums=0, has_aux=False):
    @functools.wraps(f, updated=())
    def both(*args, **kwargs):
        leaves, treedef, moving, by_argument = moved_arguments(args, argnums)
        flat, out = flat_function(functools.partial(f, **kwargs), treedef)
        outs, pull = pulled_back(flat, leaves, moving)
        structure = out[0]
        if has_aux and not (structure.kind is tuple and len(structure.children) == 2):
            raise TypeError("with has_aux the function returns (loss, something else)")
        loss = structure.children[0] if has_aux else structure
        if loss is not LEAF or aval_of(outs[0]).shape or not inexact(aval_of(outs[0]).dtype):
            raise TypeError(
                f"grad is of functions whose result is one float, and this one returned {loss} of {[aval_of(x) for x in outs]}"
            )
        one = jnp.ones_like(outs[0])
        grads = by_argument(pull([one] + [None] * (len(outs) - 1)))
        return tree_unflatten(structure, map(jnp.asarray, outs)), grads

    return both


def grad(f, argnums=0, has_aux=False):
    @functools.wraps(f, updated=())
    def derivative(*args, **kwargs):
        value, grads = value_and_grad(f, argnums, has_aux)(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return derivative


# ------------------------------------------------------------------------------------------------------------------ batches


class BatchTracer(Tracer):
    """A value for each element of a batch: `value` has the batch as its first axis, unless the value is the same for all elements."""

    def __init__(self, main, value, batched):
        self.main, self.value, self.batched = main, value, batched

    @property
    def aval(self):
        aval = aval_of(self.value)
        return Aval(aval.shape[1:], *aval[1:]) if self.batched else aval


class BatchTrace(Trace):
    def lift(self, x):
        return x if isinstance(x, BatchTracer) and x.main is self.main else BatchTracer(self.main, x, False)

    def process(self, primitive, tracers, params):
        values, batched = [t.value for t in tracers], tuple(t.batched for t in tracers)
        if not any(batched):
            outs = primitive.bind(*values, **params)
            out_batched = (False,) * len(outs) if primitive.multiple else False
        elif primitive.elementwise:
            outs, out_batched = batch_elementwise(primitive, values, batched, params), True
        else:
            outs, out_batched = primitive.batch(self.main.data, values, batched, **params)
        if primitive.multiple:
            return [BatchTracer(self.main, x, b) for x, b in zip(outs, out_batched, strict=True)]
        return BatchTracer(self.main, outs, out_batched)


def batch_flat(f, size, values, batched):
    with new_main(BatchTrace, size) as main:
        outs = f(*[BatchTracer(main, x, b) for x, b in zip(values, batched, strict=True)])
        outs = [main.trace.lift(x) for x in check_leaves(outs)]
    return [o.value for o in outs], tuple(o.batched for o in outs)


def with_batch(size, x, batched):
    """Return x with the batch as its first axis."""
    return x if batched else broadcast_to(x, (size, *aval_of(x).shape))


def moved_axis(x, source, to):
    n = aval_of(x).ndim
    source, to = source % n, to % n
    order = [i for i in range(n) if i != source]
    order.insert(to, source)
    return x if source == to else transpose_p.bind(x, permutation=tuple(order))


def vmap(f, in_axes=0, out_axes=0):
    @functools.wraps(f, updated=())
    def call(*args, **kwargs):
        leaves, treedef = tree_flatten(args)
        axes = leaf_axes(in_axes, treedef, "in_axes")
        more, more_tree = tree_flatten(kwargs)
        leaves, axes = leaves + more, axes + [0] * len(more)
        for x, axis in zip(leaves, axes, strict=True):
            if axis is not None and not -aval_of(x).ndim <= axis < aval_of(x).ndim:
                raise ValueError(f"vmap: there is no axis {axis} in {aval_of(x)}")
        sizes = {aval_of(x).shape[axis] for x, axis in zip(leaves, axes, strict=True) if axis is not None}
        if len(sizes) != 1:
            raise ValueError(
                f"vmap got batches of different sizes: {sorted(sizes)}" if sizes else "vmap needs at least one batch"
            )
        values = [x if axis is None else moved_axis(x, axis, 0) for x, axis in zip(leaves, axes, strict=True)]
        whole = TreeDef(tuple, None, (treedef, more_tree), len(leaves))
        flat, out = flat_function(f, whole, kwargs_too=True)
        outs, batched = batch_flat(flat, *sizes, values, [axis is not None for axis in axes])
        results = []
        for x, b, axis in zip(outs, batched, leaf_axes(out_axes, out[0], "out_axes"), strict=True):
            if axis is None and b:
                raise ValueError("vmap has out_axes None for a result that differs from example to example")
            results.append(jnp.asarray(x) if axis is None else moved_axis(with_batch(*sizes, x, b), 0, axis))
        return tree_unflatten(out[0], results)

    return call


def leaf_axes(axes, treedef, what):
    """Return an axis for each leaf. An axis in the place of a subtree is the axis of all its leaves."""
    if axes is None or isinstance(axes, int):
        return [axes] * treedef.leaves
    children, data = containers[type(axes)][0](axes) if type(axes) in containers else ((), None)
    kind = tuple if type(axes) is list and treedef.kind is tuple else type(axes)
    if (kind, data, len(children)) != (treedef.kind, treedef.data, len(treedef.children)):
        raise ValueError(f"{what} {axes!r} are not built as {treedef}")
    return [axis for a, t in zip(children, treedef.children, strict=True) for axis in leaf_axes(a, t, what)]


def batch_elementwise(primitive, values, batched, params):
    """Apply an elementwise primitive to a batch, which is the first axis. Operands of lower rank get axes of size 1 after it."""
    ndims = [aval_of(x).ndim - b for x, b in zip(values, batched, strict=True)]
    most = max(ndims)
    aligned = []
    for x, b, n in zip(values, batched, ndims, strict=True):
        shape = aval_of(x).shape
        if b and n < most:
            x = jnp.reshape(x, (shape[0],) + (1,) * (most - n) + shape[1:])
        elif not b and n:
            x = left_pad(x, aval_of(x), most + 1)
        aligned.append(x)
    return primitive.bind(*aligned, **params)


def batching(primitive):
    def put(rule):
        primitive.batch = rule
        return rule

    return put


@batching(broadcast_p)
def _(size, values, batched, shape, broadcast_dimensions):
    return broadcast_p.bind(
        *values, shape=(size, *shape), broadcast_dimensions=(0, *(i + 1 for i in broadcast_dimensions))
    ), True


@batching(reshape_p)
def _(size, values, batched, new_sizes):
    return reshape_p.bind(*values, new_sizes=(size, *new_sizes)), True


@batching(transpose_p)
def _(size, values, batched, permutation):
    return transpose_p.bind(*values, permutation=(0, *(i + 1 for i in permutation))), True


def batch_reduction(primitive):
    @batching(primitive)
    def _(size, values, batched, axes):
        return primitive.bind(*values, axes=tuple(i + 1 for i in axes)), True


for _p in (reduce_sum_p, reduce_max_p, reduce_min_p):
    batch_reduction(_p)


@batching(dot_p)
def _(size, values, batched, contracting, batch):
    a, b = values
    ca, cb, ba, bb = [
        tuple(i + m for i in axes) for axes, m in zip((*contracting, *batch), (*batched, *batched), strict=True)
    ]
    if all(batched):
        return dot_p.bind(a, b, contracting=(ca, cb), batch=((0, *ba), (0, *bb))), True
    # the position of the batch axis in the result
    at = len(ba) if batched[0] else len(ba) + len(free_axes(aval_of(a).ndim, ca, ba))
    return moved_axis(dot_p.bind(a, b, contracting=(ca, cb), batch=(ba, bb)), at, 0), True


@batching(select_p)
def _(size, values, batched):
    pred, no, yes = values
    no, yes = with_batch(size, no, batched[1]), with_batch(size, yes, batched[2])
    if batched[0]:
        shape = aval_of(pred).shape
        pred = jnp.reshape(pred, shape + (1,) * (aval_of(no).ndim - len(shape)))
    return select_p.bind(broadcast_to(pred, aval_of(no).shape), no, yes), True


def one_by_one(primitive, values, batched, params):
    """Apply a primitive to one element of the batch after the other, in a scan."""

    def body(_, rows):
        rows = iter(rows)
        return None, primitive.bind(*[next(rows) if b else x for x, b in zip(values, batched, strict=True)], **params)

    return scan(body, None, chosen(batched, values))[1], True


@batching(dynamic_slice_p)
def _(size, values, batched, slice_sizes):
    if any(batched[1:]):
        return one_by_one(dynamic_slice_p, values, batched, {"slice_sizes": slice_sizes})
    x, *starts = values
    return dynamic_slice_p.bind(x, np.int32(0), *starts, slice_sizes=(size, *slice_sizes)), True


@batching(dynamic_update_slice_p)
def _(size, values, batched):
    if any(batched[2:]):
        return one_by_one(dynamic_update_slice_p, values, batched, {})
    x, u, *starts = values
    return dynamic_update_slice_p.bind(
        with_batch(size, x, batched[0]), with_batch(size, u, batched[1]), np.int32(0), *starts
    ), True


def with_size(aval, size, batched):
    return Aval((size, *aval.shape), *aval[1:]) if batched else aval


@derived
def batch_closed(closed, size, batched, wanted):
    """Return the jaxpr for a batch, and which of its results are batches, because they have to be or are wanted so."""
    found = []

    def f(*args):
        outs, out_batched = batch_flat(functools.partial(run, closed), size, args, batched)
        found[:] = either(out_batched, wanted)
        return [with_batch(size, x, b) if w else x for x, b, w in zip(outs, out_batched, found, strict=True)]

    program = trace(f, [with_size(a, size, b) for a, b in zip(closed.in_avals, batched, strict=True)])
    return self_contained(program), tuple(found)


@batching(jit_p)
def _(size, values, batched, jaxpr, name):
    program, out = batch_closed(jaxpr, size, batched, nothing_wanted(jaxpr))
    return jit_p.bind(*values, jaxpr=program, name="batched_" + name), out


@batching(cond_p)
def _(size, values, batched, branches):
    index, *operands = values
    if batched[0]:  # compute all branches, and select for each element
        every = (True,) * len(branches[0].out_avals)
        sides = [run(batch_closed(b, size, batched[1:], every)[0], *operands) for b in branches]
        outs = []
        for column in zip(*sides, strict=True):
            result = column[0]
            for k, side in enumerate(column[1:], 1):
                mine = jnp.reshape(jnp.equal(index, k), (size,) + (1,) * (aval_of(side).ndim - 1))
                result = jnp.where(mine, side, result)
            outs.append(result)
        return outs, every
    wanted = either(*(batch_closed(b, size, batched[1:], nothing_wanted(b))[1] for b in branches))
    return cond_p.bind(
        index, *operands, branches=tuple(batch_closed(b, size, batched[1:], wanted)[0] for b in branches)
    ), wanted


def batched_carry(size, body, before, carry, after):
    """Return which elements of a carry are batches in some iteration."""
    return moving_carry(
        body, before, carry, after, lambda closed, batched, wanted: batch_closed(closed, size, batched, wanted)
    )


@batching(while_p)
def _(size, values, batched, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
    test, body, carry = apart(values, cond_nconsts, body_nconsts)
    test_b, body_b, carry_b = map(tuple, apart(batched, cond_nconsts, body_nconsts))
    carry_b = batched_carry(size, body_jaxpr, body_b, carry_b, ())
    testing, (differs,) = batch_closed(cond_jaxpr, size, test_b + carry_b, (False,))
    if differs:  # elements of the batch end in different iterations, so the whole carry is a batch
        carry_b = (True,) * len(carry)
        testing, _ = batch_closed(cond_jaxpr, size, test_b + carry_b, (False,))
    turning, _ = batch_closed(body_jaxpr, size, body_b + carry_b, carry_b)
    carry = [
        with_batch(size, x, b) if m else x
        for x, b, m in zip(carry, batched[cond_nconsts + body_nconsts :], carry_b, strict=True)
    ]
    avals = [aval_of(x) for x in carry]
    n = len(body)

    def any_wants(*args):
        (wants,) = run(testing, *args)
        return [jnp.max(wants) if differs else wants]

    def turn(*args):  # `args`: the constants of the condition and of the body, and the carry
        consts_test, consts, carry = apart(args, cond_nconsts, n)
        new = run(turning, *consts, *carry)
        if not differs:
            return new
        (wants,) = run(testing, *consts_test, *carry)
        return [
            jnp.where(jnp.reshape(wants, (size,) + (1,) * (x.ndim - 1)), x, old)
            for x, old in zip(new, carry, strict=True)
        ]

    written = with_results(trace(turn, testing.in_avals[:cond_nconsts] + turning.in_avals[:n] + avals), avals)
    outs = while_p.bind(
        *test,
        *test,
        *body,
        *carry,
        cond_jaxpr=self_contained(trace(any_wants, testing.in_avals[:cond_nconsts] + avals)),
        body_jaxpr=written,
        cond_nconsts=cond_nconsts,
        body_nconsts=cond_nconsts + n,
    )
    return outs, carry_b


@batching(scan_p)
def _(size, values, batched, jaxpr, num_consts, num_carry, **params):
    consts, carry, xs = apart(values, num_consts, num_carry)
    consts_b, before, xs_b = map(tuple, apart(batched, num_consts, num_carry))
    carry_b = batched_carry(size, jaxpr, consts_b, before, xs_b)
    wanted = carry_b + (False,) * (len(jaxpr.out_avals) - num_carry)
    program, out = batch_closed(jaxpr, size, consts_b + carry_b + xs_b, wanted)
    carry = [with_batch(size, x, b) if m else x for x, b, m in zip(carry, before, carry_b, strict=True)]
    program = with_results(program, [aval_of(x) for x in carry] + program.out_avals[num_carry:])
    # the scanned axis first, then the batch
    xs = [moved_axis(x, 0, 1) if b else x for x, b in zip(xs, xs_b, strict=True)]
    outs = scan_p.bind(*consts, *carry, *xs, jaxpr=program, num_consts=num_consts, num_carry=num_carry, **params)
    carry, ys = apart(outs, num_carry)
    return carry + [moved_axis(y, 1, 0) if b else y for y, b in zip(ys, out[num_carry:], strict=True)], out


# -------------------------------------------------------------------------------------------------- more functions of `numpy`


@word
def square(x):
    return jnp.multiply(x, x)


@word
def var(x, axis=None, keepdims=False):
    return jnp.mean(jnp.square(x - jnp.mean(x, axis, keepdims=True)), axis, keepdims)


@word
def std(x, axis=None, keepdims=False):
    return jnp.sqrt(jnp.var(x, axis, keepdims))


@word
def concatenate(arrays, axis=0):
    dtype, weak = promoted([aval_of(x) for x in arrays])
    arrays = [convert(x, dtype, weak) for x in arrays]
    shapes = [aval_of(x).shape for x in arrays]
    axis = axis % len(shapes[0])
    if any(s[:axis] + s[axis + 1 :] != shapes[0][:axis] + shapes[0][axis + 1 :] for s in shapes):
        raise TypeError(f"cannot concatenate along axis {axis}: {shapes}")
    result, at = jnp.zeros((*shapes[0][:axis], sum(s[axis] for s in shapes), *shapes[0][axis + 1 :]), dtype), 0
    for x, shape in zip(arrays, shapes, strict=True):
        result = dynamic_update_slice_p.bind(result, x, *[np.int32(at if i == axis else 0) for i in range(len(shape))])
        at += shape[axis]
    return result


@word
def expand_dims(x, axis):
    shape = list(aval_of(x).shape)
    shape.insert(axis % (len(shape) + 1), 1)
    return jnp.reshape(x, shape)


@word
def stack_(arrays, axis=0):
    return jnp.concatenate([jnp.expand_dims(x, axis) for x in arrays], axis)


@word
def ravel(x):
    return jnp.reshape(x, -1)


@word
def linspace(start, stop, num=50):
    return start + jnp.arange(num) * ((stop - start) / max(num - 1, 1))


@word
def clip(x, low=None, high=None):
    x = x if low is None else jnp.maximum(x, low)
    return x if high is None else jnp.minimum(x, high)


@word
def outer(x, y):
    return jnp.ravel(x)[:, None] * jnp.ravel(y)[None, :]


@word
def eye(n):
    return jnp.where(jnp.arange(n)[:, None] == jnp.arange(n)[None, :], 1.0, 0.0).astype(FLOAT)


def relu(x):
    return jnp.where(jnp.less_equal(x, 0), jnp.zeros_like(x), x)


def sigmoid(x):
    return 0.5 * jnp.tanh(0.5 * x) + 0.5


def silu(x):
    return x * sigmoid(x)


def softplus(x):
    return jnp.where(x >= 0, x, 0.0) + jnp.log(1.0 + jnp.exp(-jnp.abs(x)))


def selu(x):
    below = 1.6732632423543772 * (jnp.exp(jnp.where(x > 0, 0.0, x)) - 1.0)
    return 1.0507009873554805 * jnp.where(jnp.greater(x, 0), x, below)


def softmax(x, axis=-1):
    x = jnp.exp(x - jnp.max(x, axis, keepdims=True))
    return x / jnp.sum(x, axis, keepdims=True)


def log_softmax(x, axis=-1):
    x = x - jnp.max(x, axis, keepdims=True)
    return x - jnp.log(jnp.sum(jnp.exp(x), axis, keepdims=True))


def one_hot(x, num_classes):
    return convert(jnp.equal(jnp.asarray(x)[..., None], jnp.arange(num_classes)), FLOAT, False)


def basis(x):
    """Return a tangent for each element of x, along the first axis: 1 there, and 0 elsewhere."""
    n, shape = aval_of(x).size, aval_of(x).shape
    return jnp.reshape(jnp.eye(n).astype(aval_of(x).dtype), (n, *shape))


def jacfwd(f, argnums=0):
    def jacobian(*args):
        x = args[argnums]

        def of(x):
            return f(*args[:argnums], x, *args[argnums + 1 :])

        def push(t):
            return jvp(of, (x,), (t,))[1]

        def split(y):
            return jnp.reshape(moved_axis(y, 0, -1), (*aval_of(y).shape[1:], *aval_of(x).shape))

        return tree_map(split, vmap(push)(basis(x)))

    return jacobian


def jacrev(f, argnums=0):
    def jacobian(*args):
        leaves, treedef, moving, by_argument = moved_arguments(args, argnums)
        flat, out = flat_function(f, treedef)
        outs, pull = pulled_back(flat, leaves, moving)
        rows = []
        for k, y in enumerate(outs):
            found = vmap(lambda ct, k=k: pull([ct if i == k else None for i in range(len(outs))]))(basis(y))
            rows.append(by_argument([jnp.reshape(g, (*aval_of(y).shape, *aval_of(g).shape[1:])) for g in found]))
        return tree_unflatten(out[0], rows)

    return jacobian


def hessian(f, argnums=0):
    return jacfwd(jacrev(f, argnums), argnums)


# ------------------------------------------------------------------------------------------------------------ the package

numpy = jnp
core = types.SimpleNamespace(eval_jaxpr=eval_jaxpr)
errors = types.SimpleNamespace(
    ConcretizationTypeError=ConcretizationTypeError,
    TracerBoolConversionError=TracerBoolConversionError,
    TracerIntegerConversionError=TracerIntegerConversionError,
    TracerArrayConversionError=TracerArrayConversionError,
    UnexpectedTracerError=UnexpectedTracerError,
)
tree_util = types.SimpleNamespace(
    tree_flatten=tree_flatten,
    tree_unflatten=tree_unflatten,
    tree_map=tree_map,
    tree_leaves=tree_leaves,
    tree_structure=tree_structure,
    register_pytree_node=register_pytree_node,
)
lax = types.SimpleNamespace(cond=cond, switch=switch, while_loop=while_loop, scan=scan, fori_loop=fori_loop)
nn = types.SimpleNamespace(
    relu=relu,
    sigmoid=sigmoid,
    silu=silu,
    softplus=softplus,
    selu=selu,
    softmax=softmax,
    log_softmax=log_softmax,
    one_hot=one_hot,
)
