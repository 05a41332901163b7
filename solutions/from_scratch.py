"""A JIT in one sitting: JAX from an empty file, in eighteen sections.

Each section adds one ability, and none changes a line of an earlier one: what stands above any of the headings is a working
package. That is possible since everything that will grow is a table: what a primitive computes (`impl`), the types of its results
(`types`), its text for XLA (`lowerings`), its derivative (`jvps`, `transposes`), what it does to batches (`batchers`). A
primitive is a name; all that is known of it stands in tables, and a later section is a new table.

The other idea is the door. Every operation goes through `Primitive.bind`, and whoever stands at the door decides what the operation
means: to compute it, to write it down, to differentiate it, to do it for a whole batch.

It needs numpy, and `xla.py` for the machine. `jitkit` beside it does the same for all dtypes and devices, with better messages.
"""

import functools
import inspect
import itertools
import math
import threading
import weakref
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import xla

numpy, lax, core = SimpleNamespace(), SimpleNamespace(), SimpleNamespace()

# === 01 One door ==========================================================================================================
# Why not call `np.sin` and be done? Because then it is done: numpy computes, and nothing is left to be asked what it did. So
# `sin` does not compute. It names what is wanted, and asks whoever is at the door. At first that is `Eager`, which computes
# with numpy at once. Eager execution is an interpretation, too; others will follow.


class Aval:
    """The type of an array: what can be known without its numbers. A weak type is that of a Python number, and gives way."""

    __slots__ = ("dtype", "ndim", "shape", "size", "weak_type")

    def __init__(self, shape, dtype, weak_type):
        self.shape, self.dtype, self.weak_type = shape, np.dtype(dtype), weak_type
        self.ndim, self.size = len(shape), math.prod(shape)

    def __repr__(self):
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"


interned = functools.cache(Aval)


def typed(shape, dtype, weak_type=False):
    """The one Aval of this shape and dtype: equal types are the same object, so that comparing them costs nothing."""
    return interned(shape, dtype, weak_type)


F32, I32, BOOL = map(np.dtype, ("float32", "int32", "bool"))
NARROW = {np.dtype("float64"): F32, np.dtype("int64"): I32, np.dtype("uint64"): np.dtype("uint32")}


class Value:
    """What can be calculated with: something with a type. Its operators go through the door like everything else."""

    __slots__ = ("__weakref__", "aval")
    __array_ufunc__ = None  # numpy leaves `np_array + value` to us
    __hash__ = None  # since == compares elementwise
    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)
    weak_type = property(lambda self: self.aval.weak_type)


class Array(Value):
    """A value with numbers: a numpy array, or (from section 7 on) a buffer of XLA, which numpy can look into."""

    __slots__ = ("data",)

    def __init__(self, data, aval):
        self.data, self.aval = data, aval

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.data).astype(dtype or self.aval.dtype, copy=bool(copy))

    def __repr__(self):
        return f"Array({np.asarray(self)}, dtype={self.dtype.name})"

    def __bool__(self):
        return bool(np.asarray(self))

    def __float__(self):
        return float(np.asarray(self))

    def __int__(self):
        return int(np.asarray(self))

    def __index__(self):
        return np.asarray(self)[()].__index__()

    def item(self):
        return np.asarray(self).item()

    def block_until_ready(self):
        np.asarray(self)
        return self


def as_value(x):
    """A Value from what users hand us. 64 bits become 32, as in JAX."""
    if isinstance(x, Value):
        return x
    if type(x) in PYTHON_TYPES:
        dtype = PYTHON_TYPES[type(x)]
        return Array(np.asarray(x, dtype), typed((), dtype, dtype is not BOOL))
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biuf":
        x = np.array(x, NARROW.get(x.dtype, x.dtype))  # a copy: an Array never changes
        return Array(x, typed(x.shape, x.dtype))
    raise TypeError(f"{x!r} of type {type(x)} is not a valid JAX type: an array or a number is needed here")


PYTHON_TYPES = {bool: BOOL, int: I32, float: F32}


class Primitive:
    """An operation, by name. `bind` is the door: it returns the list of results; calling returns the only one."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def bind(self, *args, **params):
        return current.trace.process(self, args, params)

    def __call__(self, *args, **params):
        return current.trace.process(self, args, params)[0]

    def __repr__(self):
        return self.name


class Eager:
    """Whoever stands at the door first: computes, now."""

    def process(self, primitive, args, params):
        return impl[primitive](*args, **params)


class Current(threading.local):
    """Who stands at the door, in this thread."""

    trace: Any = Eager()


class At:
    """Within the block, `trace` stands at the door."""

    def __init__(self, trace):
        self.trace = trace

    def __enter__(self):
        self.before, current.trace = current.trace, self.trace

    def __exit__(self, *error):
        current.trace = self.before


current = Current()
impl = {}  # primitive -> a function of Arrays, which returns a list of Arrays


def by_numpy(f):
    """The `impl` of an operation that numpy has. A result is weak if all operands are."""

    def run(*args, **params):
        with np.errstate(all="ignore"):
            result = np.asarray(f(*map(np.asarray, args), **params))
        dtype = NARROW.get(result.dtype, result.dtype)
        weak = params.get("weak_type", dtype is not BOOL and all(x.aval.weak_type for x in args))
        return [Array(result.astype(dtype, copy=False), typed(result.shape, dtype, weak))]

    return run


convert_p = Primitive("convert_element_type")
impl[convert_p] = by_numpy(lambda x, new_dtype, weak_type: x.astype(new_dtype))


def convert(x, dtype, weak_type=False):
    """A Value with another dtype; itself if it has that one. A Python number simply becomes one of that type."""
    if x.aval.dtype == dtype and x.aval.weak_type == weak_type:
        return x
    if type(x) is Array and x.aval.weak_type and x.aval.shape == ():
        return Array(np.asarray(x.data).astype(dtype), typed((), np.dtype(dtype), weak_type))
    return convert_p(x, new_dtype=np.dtype(dtype), weak_type=weak_type)


def promote(xs, to_float=False):
    """Values of one dtype: the highest kind (bool, integer, float) wins, and within a kind a weak type gives way."""
    xs = [x if isinstance(x, Value) else as_value(x) for x in xs]
    dtype, weak = common_type(tuple([x.aval for x in xs]), to_float)
    return [x if x.aval.dtype is dtype and x.aval.weak_type is weak else convert(x, dtype, weak) for x in xs]


@functools.cache
def common_type(avals, to_float=False):
    kinds = ["biuf".index(a.dtype.kind) + (a.dtype.kind == "i") for a in avals]  # i and u are one kind
    top = [a for a, kind in zip(avals, kinds, strict=True) if kind == max(kinds)]
    strong = [a.dtype for a in top if not a.weak_type]
    dtype = functools.reduce(np.promote_types, strong) if strong else top[0].dtype
    if to_float and max(kinds) < 3:
        return F32, not strong and max(kinds) > 0
    return np.dtype(NARROW.get(dtype, dtype)), not strong


def elementwise(name, by, to_float=False):
    """A primitive that works number by number, and the function that users call, which promotes first."""
    primitive = elementwise_primitives[name] = Primitive(name)
    impl[primitive] = by_numpy(by)

    def function(*xs):
        return primitive(*promote(xs, to_float))

    return function


elementwise_primitives = {}
for name, by in [("neg", np.negative), ("abs", np.abs), ("sign", np.sign), ("floor", np.floor), ("not", np.invert)]:
    setattr(numpy, {"neg": "negative", "not": "logical_not"}.get(name, name), elementwise(name, by))
for name, by in [("sin", np.sin), ("cos", np.cos), ("tan", np.tan), ("tanh", np.tanh), ("exp", np.exp), ("log", np.log),
                 ("sqrt", np.sqrt), ("log1p", np.log1p), ("expm1", np.expm1)]:  # fmt: skip
    setattr(numpy, name, elementwise(name, by, to_float=True))
for name, public, by in [("add", "add", np.add), ("sub", "subtract", np.subtract), ("mul", "multiply", np.multiply),
                         ("max", "maximum", np.maximum), ("min", "minimum", np.minimum), ("pow", "power", np.power),
                         ("lt", "less", np.less), ("le", "less_equal", np.less_equal), ("gt", "greater", np.greater),
                         ("ge", "greater_equal", np.greater_equal), ("eq", "equal", np.equal),
                         ("ne", "not_equal", np.not_equal), ("and", "logical_and", np.bitwise_and),
                         ("or", "logical_or", np.bitwise_or)]:  # fmt: skip
    setattr(numpy, public, elementwise(name, by))
numpy.divide = elementwise("div", np.divide, to_float=True)
P = SimpleNamespace(**elementwise_primitives)  # the primitives by name: P.sin


def operators(function, name):
    """Let `x + y` mean `function(x, y)`, with the Value on either side."""
    for method, call in [(name, lambda x, y: function(x, y)), (f"r{name}", lambda x, y: function(y, x))]:
        setattr(Value, f"__{method}__", call)


for name, public in [("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("truediv", "divide"), ("pow", "power"),
                     ("and", "logical_and"), ("or", "logical_or")]:  # fmt: skip
    operators(getattr(numpy, public), name)
for name, public in [("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal"), ("eq", "equal"),
                     ("ne", "not_equal")]:  # fmt: skip
    setattr(Value, f"__{name}__", lambda x, y, f=getattr(numpy, public): f(x, y))
for name, public in [("neg", "negative"), ("abs", "abs"), ("invert", "logical_not")]:
    setattr(Value, f"__{name}__", lambda x, f=getattr(numpy, public): f(x))
Value.astype = lambda self, dtype: convert(self, NARROW.get(np.dtype(dtype), np.dtype(dtype)))
numpy.float32, numpy.int32, numpy.bool_, numpy.pi, numpy.inf = np.float32, np.int32, np.bool_, np.pi, np.inf


def asarray(x, dtype=None):
    """An Array from an array, a number, or nested lists of numbers."""
    x = as_value(np.asarray(x) if isinstance(x, (list, tuple)) else x)
    return convert(x, NARROW.get(np.dtype(dtype), np.dtype(dtype)) if dtype is not None else x.dtype)


numpy.array = numpy.asarray = asarray


# === 02 Write it down =====================================================================================================
# Hand a function something that has a type and no numbers, a tracer, and put somebody at the door who writes. The function runs
# as it always does, and what it asked for stands in a list of equations. Python's own doings leave no trace.


class Tracer(Value):
    """A value that only `trace` knows something of: `data`."""

    __slots__ = ("data", "trace")

    def __init__(self, trace, aval, data):
        self.trace, self.aval, self.data = trace, aval, data

    def __repr__(self):
        return f"Tracer<{self.aval}>"


class Var:
    """A variable: its identity, and a type."""

    __slots__ = ("aval",)

    def __init__(self, aval):
        self.aval = aval


class Literal:
    """A number that stands in the program."""

    __slots__ = ("aval", "val")

    def __init__(self, val):
        self.val, self.aval = val, val.aval


class Equation(NamedTuple):
    primitive: Primitive
    invars: list
    params: dict
    outvars: list


class Jaxpr(NamedTuple):
    """A program: names for what it closes over and for what it is given, equations, and what it returns."""

    constvars: list
    invars: list
    eqns: list
    outvars: list


class ClosedJaxpr:
    """A Jaxpr, with the values of its constvars."""

    def __init__(self, jaxpr, consts):
        self.jaxpr, self.consts = jaxpr, consts

    def __repr__(self):
        return show(self.jaxpr)

    @property
    def eqns(self):
        return self.jaxpr.eqns

    @property
    def in_avals(self):
        return [v.aval for v in self.jaxpr.invars]

    @property
    def out_avals(self):
        return [v.aval for v in self.jaxpr.outvars]


class JaxprTrace:
    """Whoever writes down what is asked for."""

    def __init__(self, avals):
        self.eqns, self.constants, self.is_over = [], {}, False
        self.invars = [Var(aval) for aval in avals]
        self.tracers = [Tracer(self, v.aval, v) for v in self.invars]

    def process(self, primitive, args, params):
        invars = [x.data if type(x) is Tracer and x.trace is self else self.constant(x) for x in args]
        outvars = [Var(aval) for aval in type_of(primitive, [x.aval for x in args], params)]
        self.eqns.append(Equation(primitive, invars, params, outvars))
        return [Tracer(self, v.aval, v) for v in outvars]

    def constant(self, x):
        """What a value that is not ours is called: a number by its digits, everything else by a variable."""
        if type(x) is Array and x.aval.shape == ():
            return Literal(x)
        if type(x) is Tracer and getattr(x.trace, "is_over", False):
            raise UnexpectedTracerError(
                f"Encountered an unexpected tracer, {x!r}: the function that it belongs to was traced some time ago, and has "
                "left it behind, in a global, a list or an attribute. Return values instead of storing them."
            )
        return self.constants.setdefault(id(x), (Var(x.aval), x))[0]


class UnexpectedTracerError(Exception):
    """A tracer outlived its trace."""


def trace_to_jaxpr(f, avals):
    """The program of `f`, a function of Values that returns a list of Values."""
    trace = JaxprTrace(avals)
    with At(trace):
        outs = [as_value(x) for x in f(*trace.tracers)]
        outvars = [x.data if type(x) is Tracer and x.trace is trace else trace.constant(x) for x in outs]
    trace.is_over = True
    constants = list(trace.constants.values())
    return ClosedJaxpr(Jaxpr([v for v, _ in constants], trace.invars, trace.eqns, outvars), [x for _, x in constants])


types = {}  # primitive -> a function of avals, which returns the list of its results' avals


def type_of(primitive, avals, params):
    """The types of an equation's results. The laziest way to find out is to try: with zeros. Section 4 is not as lazy."""
    if primitive in types:
        return types[primitive](*avals, **params)
    return [x.aval for x in impl[primitive](*[Array(np.zeros(a.shape, a.dtype), a) for a in avals], **params)]


# A function has arguments in some arrangement; a program has a list of them. `flatten` takes an arrangement apart: into its leaves,
# and a TreeDef which can put leaves together again. The one container that it knows so far is the tuple of arguments.


class TreeDef(NamedTuple):
    kind: type | None
    data: Any
    children: tuple


LEAF = TreeDef(None, None, ())
containers = {tuple: (lambda t: (t, None), lambda data, children: tuple(children))}  # type -> (take apart, put together)


def flatten(tree):
    """The leaves of a tree, and its TreeDef."""
    leaves = []
    return leaves, take_apart(tree, leaves)


def take_apart(tree, leaves):
    if type(tree) not in containers:
        leaves.append(tree)
        return LEAF
    children, data = containers[type(tree)][0](tree)
    return TreeDef(type(tree), data, tuple([take_apart(child, leaves) for child in children]))


def unflatten(treedef, leaves):
    """The tree with these leaves."""
    return put_together(treedef, iter(leaves))


def put_together(treedef, leaves):
    if treedef is LEAF or treedef.kind is None:
        return next(leaves)
    children = [put_together(child, leaves) for child in treedef.children]
    return containers[treedef.kind][1](treedef.data, children)


def trace_tree(f, tree, avals):
    """The program of `f(*args)`, whose arguments are a tree with leaves of these types; and the TreeDef of its result."""
    out_tree = None

    def flat(*leaves):
        nonlocal out_tree
        outs, out_tree = flatten(f(*unflatten(tree, leaves)))
        return outs

    return trace_to_jaxpr(flat, avals), out_tree


def make_jaxpr(f):
    """`make_jaxpr(f)(*args)` is the program of `f` for arguments of these types."""

    def traced(*args):
        leaves, tree = flatten(args)
        return trace_tree(f, tree, [as_value(x).aval for x in leaves])[0]

    return traced


LETTERS = "abcdefghijklmnopqrstuvwxyz"
SHORT = {"float32": "f32", "int32": "i32", "bool": "bool", "float16": "f16", "uint32": "u32", "int8": "i8", "uint8": "u8"}


def show(jaxpr, indent="", names=None):
    """A program as JAX prints it, variables called a, b, c in the order of appearance."""
    names = {} if names is None else names
    used = {v for eqn in jaxpr.eqns for v in eqn.invars} | set(jaxpr.outvars)

    def type_(aval):
        return f"{SHORT.get(aval.dtype.name, aval.dtype.name)}[{','.join(map(str, aval.shape))}]"

    def atom(v):
        if type(v) is Literal:
            return f"{v.val.item()}:{type_(v.aval)}"
        n = names.setdefault(v, len(names))
        return ("" if n < 26 else LETTERS[n // 26]) + LETTERS[n % 26]

    def binders(variables):
        return " ".join([f"{atom(v)}:{type_(v.aval)}" for v in variables])

    def param(v):
        if isinstance(v, ClosedJaxpr):
            return show(v.jaxpr, indent + "        ")
        if isinstance(v, tuple) and v and isinstance(v[0], ClosedJaxpr):
            return f"({' '.join(map(param, v))})"
        return v.name if isinstance(v, np.dtype) else str(v)

    lines = [f"{{ lambda {binders(jaxpr.constvars)}; {binders(jaxpr.invars)}. let"]
    for eqn in jaxpr.eqns:
        params = " ".join([f"{k}={param(v)}" for k, v in sorted(eqn.params.items())])
        inputs = " ".join(map(atom, eqn.invars))
        results = " ".join([binders([v]) if v in used else f"_:{type_(v.aval)}" for v in eqn.outvars])
        lines.append(f"{indent}    {results} = {eqn.primitive}{f'[{params}]' if params else ''} {inputs}")
    outs = ", ".join(map(atom, jaxpr.outvars)) + ("," if len(jaxpr.outvars) == 1 else "")
    return "\n".join([*lines, f"{indent}  in ({outs}) }}"])


# === 03 Run it again ======================================================================================================
# A program is data. An interpreter for it is ten lines: an environment, and the door again. Whoever stands there decides what
# it means to run it, so this interpreter also differentiates, batches, and writes programs down anew.


def eval_jaxpr(jaxpr, consts, *args):
    """The results of a program, as a list."""
    env = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, map(as_value, args), strict=True))

    def read(v):
        return v.val if type(v) is Literal else env[v]

    for eqn in jaxpr.eqns:
        env.update(zip(eqn.outvars, eqn.primitive.bind(*map(read, eqn.invars), **eqn.params), strict=True))
    return [read(v) for v in jaxpr.outvars]


def as_function(closed):
    """A ClosedJaxpr as the function that it is."""
    return lambda *args: eval_jaxpr(closed.jaxpr, closed.consts, *args)


core.eval_jaxpr = eval_jaxpr


# === 04 Types =============================================================================================================
# To compute with zeros in order to know a shape is slow, and says nothing useful when shapes do not go together. A rule for
# types needs no numbers, is asked while Python still knows which line is to blame, and remembers its answers.


@functools.cache
def elementwise_type(primitive, avals):
    shapes = [a.shape for a in avals]
    dtypes = [a.dtype for a in avals]
    if len(set(dtypes)) > 1:
        raise TypeError(f"{primitive} requires arguments to have equal dtypes, got {', '.join(d.name for d in dtypes)}.")
    shape = shapes[0]
    for other in shapes[1:]:
        if other != shape:
            try:
                shape = np.broadcast_shapes(*shapes)
            except ValueError:
                raise TypeError(
                    f"{primitive} got incompatible shapes for broadcasting: {', '.join(map(str, shapes))}."
                ) from None
    is_question = primitive.name in ("lt", "le", "gt", "ge", "eq", "ne")
    weak = not is_question and all(a.weak_type for a in avals)
    return [typed(shape, BOOL if is_question else dtypes[0], weak)]


for primitive in elementwise_primitives.values():
    types[primitive] = lambda *avals, p=primitive: elementwise_type(p, avals)
types[convert_p] = lambda x, new_dtype, weak_type: [typed(x.shape, new_dtype, weak_type)]

# And a tracer has no number to give to Python. It says so, before Python takes just any object for true.


class ConcretizationTypeError(TypeError):
    """Python asked for a number, and there is none yet."""


class TracerBoolConversionError(ConcretizationTypeError):
    """The same, for `if` and `while`."""


class TracerIntegerConversionError(TypeError):
    """The same, for an index or a size."""


class TracerArrayConversionError(TypeError):
    """The same, for a function of numpy's."""


def refuse(error, what, instead):
    def method(self, *args, **kwargs):
        raise error(
            f"{what} of a traced array, {self.aval}: while a function is traced, its arguments have types, and no values. {instead}"
        )

    return method


Tracer.__bool__ = refuse(
    TracerBoolConversionError, "Attempted boolean conversion", "Instead of `if`, use `where` or `lax.cond`."
)
Tracer.__float__ = refuse(ConcretizationTypeError, "Attempted conversion to float", "Keep it an array.")
Tracer.__int__ = refuse(ConcretizationTypeError, "Attempted conversion to int", "Keep it an array.")
Tracer.__index__ = refuse(TracerIntegerConversionError, "Attempted use as an index", "A size must be known: a static argument.")
Tracer.__array__ = refuse(TracerArrayConversionError, "Attempted conversion to numpy", "Use the functions of `numpy` here.")
errors = SimpleNamespace(
    ConcretizationTypeError=ConcretizationTypeError, TracerBoolConversionError=TracerBoolConversionError,
    TracerIntegerConversionError=TracerIntegerConversionError, TracerArrayConversionError=TracerArrayConversionError,
    UnexpectedTracerError=UnexpectedTracerError,
)  # fmt: skip


# === 05 Trees =============================================================================================================
# Parameters of a model are dicts of lists. `flatten` is there; it only has to hear of more containers. Keys of a dict are
# sorted: two dicts with the same entries are the same arguments, in whatever order they were filled.

containers[list] = (lambda x: (x, None), lambda data, children: children)
containers[type(None)] = (lambda x: ((), None), lambda data, children: None)


def dict_apart(x):
    keys = tuple(sorted(x))
    return [x[key] for key in keys], keys


containers[dict] = (dict_apart, lambda keys, children: dict(zip(keys, children, strict=True)))


def register_pytree_node(kind, apart, together):
    """Make a class a container. `apart(x)` is its children and the rest, which must hash; `together(rest, children)` undoes it."""
    containers[kind] = (apart, together)


def tree_map(f, tree, *rest):
    """The tree with `f` of each leaf, and of the leaves at its place in the others."""
    leaves, treedef = flatten(tree)
    others = [flatten(other) for other in rest]
    for _, other in others:
        if other != treedef:
            raise ValueError(f"the trees are not built alike: {treedef} and {other}")
    return unflatten(treedef, [f(*xs) for xs in zip(leaves, *[ls for ls, _ in others], strict=True)])


tree_util = SimpleNamespace(
    tree_flatten=flatten, tree_unflatten=unflatten, tree_map=tree_map, tree_leaves=lambda tree: flatten(tree)[0],
    tree_structure=lambda tree: flatten(tree)[1], register_pytree_node=register_pytree_node,
)  # fmt: skip


# === 06 Speak StableHLO ===================================================================================================
# XLA reads text. A program becomes a function with one line an equation, more or less; each primitive has a rule which writes
# it. Types are part of every line: `tensor<2x3xf32>`.

lowerings = {}  # primitive -> rule(out, avals of operands, avals of results, *names of operands, **params) -> names of results
HLO = {"float32": "f32", "int32": "i32", "bool": "i1", "float16": "f16", "uint32": "ui32", "int8": "i8", "uint8": "ui8"}


@functools.cache
def tensor(aval):
    """`tensor<2x3xf32>`."""
    return f"tensor<{''.join([f'{n}x' for n in aval.shape])}{HLO[aval.dtype.name]}>"


def tensors(avals):
    return ", ".join([tensor(a) for a in avals])


class Text:
    """A module's text, while it is written: lines of the function at hand, and the functions that are done."""

    def __init__(self):
        self.lines, self.functions, self.names, self.known = [], [], itertools.count(), {}

    def op(self, text, count=1):
        """Write a line; the names of its results."""
        n = next(self.names)
        self.lines.append(f"%{n}{f':{count}' if count > 1 else ''} = {text}")
        return [f"%{n}"] if count == 1 else [f"%{n}#{i}" for i in range(count)]

    def constant(self, x):
        """The name of an array's value, written by its bytes, so that no digit is lost."""
        x, aval = np.asarray(x), typed(x.shape, x.dtype)
        if aval.dtype == BOOL:
            digits = str(x.tolist()).lower()
        elif x.size and not x.tobytes().strip(b"\0"):
            digits = "0x" + "00" * x.dtype.itemsize if x.dtype.kind == "f" else "0"
        elif x.shape == ():
            digits = f"0x{x.tobytes()[::-1].hex()}" if x.dtype.kind == "f" else str(int(x))
        else:
            digits = f'"0x{x.tobytes().hex()}"' if x.size else ""
        return self.op(f"stablehlo.constant dense<{digits}> : {tensor(aval)}")[0]

    def spread(self, name, aval, shape):
        """An operand with the shape of the result: numpy's broadcasting, written out."""
        if aval.shape == shape:
            return name
        axes = list(range(len(shape) - aval.ndim, len(shape)))
        kept = [i for i, n in enumerate(aval.shape) if n == shape[axes[i]]]
        if len(kept) < aval.ndim:  # axes of size 1 are dropped, and made anew
            less = typed(tuple([aval.shape[i] for i in kept]), aval.dtype)
            name = self.op(f"stablehlo.reshape {name} : ({tensor(aval)}) -> {tensor(less)}")[0]
            aval, axes = less, [axes[i] for i in kept]
        to = tensor(typed(shape, aval.dtype))
        return self.op(f"stablehlo.broadcast_in_dim {name}, dims = {axes} : ({tensor(aval)}) -> {to}")[0]

    def block(self, closed, arguments):
        """Write a program's lines here; the names of its results."""
        jaxpr = closed.jaxpr
        env = dict(zip(jaxpr.constvars, map(self.constant, closed.consts), strict=True))
        env.update(zip(jaxpr.invars, arguments, strict=True))
        for primitive, invars, params, outvars in jaxpr.eqns:
            operands = [self.constant(v.val) if type(v) is Literal else env[v] for v in invars]
            names = lowerings[primitive](self, [v.aval for v in invars], [v.aval for v in outvars], *operands, **params)
            env.update(zip(outvars, names, strict=True))
        return [self.constant(v.val) if type(v) is Literal else env[v] for v in jaxpr.outvars]

    def function(self, name, closed, visibility="private"):
        """Write a function of its own."""
        outside, self.lines = self.lines, []
        arguments = [f"%arg{i}" for i in range(len(closed.in_avals))]
        results = self.block(closed, arguments)
        inputs = ", ".join([f"{n}: {tensor(a)}" for n, a in zip(arguments, closed.in_avals, strict=True)])
        outputs = tensors(closed.out_avals)
        body = "\n".join([f"    {line}" for line in self.lines])
        last = f"return {', '.join(results)} : {outputs}" if results else "return"
        self.functions.append(f"  func.func {visibility} @{name}({inputs}) -> ({outputs}) {{\n{body}\n    {last}\n  }}")
        self.lines = outside


def lower_closed(closed):
    """The text of a program."""
    text = Text()
    text.function("main", closed, "public")
    return "module @program {\n" + "\n".join(text.functions) + "\n}\n"


def lower(f, *args):
    """The text of `f` for arguments of these types."""
    return lower_closed(make_jaxpr(f)(*args))


def by_hlo(op):
    """The rule of an elementwise operation."""

    def rule(text, avals, outs, *xs):
        shape = outs[0].shape
        xs = [x if a.shape == shape else text.spread(x, a, shape) for x, a in zip(xs, avals, strict=True)]
        return text.op(f"stablehlo.{op} {', '.join(xs)} : {tensor(outs[0])}")

    return rule


def by_compare(direction):
    def rule(text, avals, outs, x, y):
        x, y = (text.spread(name, a, outs[0].shape) for name, a in zip((x, y), avals, strict=True))
        type_ = tensor(typed(outs[0].shape, avals[0].dtype))
        return text.op(f"stablehlo.compare {direction}, {x}, {y} : ({type_}, {type_}) -> {tensor(outs[0])}")

    return rule


for name, op in {
    "neg": "negate", "abs": "abs", "sign": "sign", "floor": "floor", "not": "not", "sin": "sine", "cos": "cosine",
    "tan": "tan", "tanh": "tanh", "exp": "exponential", "log": "log", "sqrt": "sqrt", "log1p": "log_plus_one",
    "expm1": "exponential_minus_one", "add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "max": "maximum",
    "min": "minimum", "pow": "power", "and": "and", "or": "or",
}.items():  # fmt: skip
    lowerings[elementwise_primitives[name]] = by_hlo(op)
for name in ("lt", "le", "gt", "ge", "eq", "ne"):
    lowerings[elementwise_primitives[name]] = by_compare(name.upper())


@functools.partial(lowerings.__setitem__, convert_p)
def lower_convert(text, avals, outs, x, new_dtype, weak_type):
    if avals[0].dtype == new_dtype:
        return [x]
    return text.op(f"stablehlo.convert {x} : ({tensor(avals[0])}) -> {tensor(outs[0])}")


# === 07 Let XLA ===========================================================================================================
# Now the program can go to a compiler, which sees all of it at once: it computes a chain of operations in one pass over memory,
# where numpy makes one for each of them. The result is an Array around a buffer of XLA.


def compile_closed(closed):
    """A program as a function of Arrays, compiled."""
    run, avals = xla.compile(lower_closed(closed)), closed.out_avals

    def program(*args):
        return [Array(b, a) for b, a in zip(run([on_machine(x) for x in args]), avals, strict=True)]

    return program


def on_machine(x):
    """An Array's buffer. Its numbers are copied there once."""
    if isinstance(x.data, np.ndarray):
        x.data = xla.put(x.data)
    return x.data


class Jit:
    """`jit(f)`: a call finds the program of `f` for its arguments, and has XLA run it. Later sections find it faster."""

    def __init__(self, f):
        functools.update_wrapper(self, f)
        self.f = f

    def __get__(self, instance, owner):
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args, **kwargs):
        spec, leaves = self.split(args, kwargs)
        leaves = [as_value(x) for x in leaves]
        return self.call(spec, leaves) if isinstance(current.trace, Eager) else self.call_traced(spec, leaves)

    def split(self, args, kwargs):
        """A call's arguments as what the program depends on, and the leaves that it is given."""
        leaves, tree = flatten((args, kwargs))
        return (tree,), leaves

    def apply(self, spec, leaves):
        """Call `f` with arguments that `split` took apart."""
        args, kwargs = unflatten(spec[0], leaves)
        return self.f(*args, **kwargs)

    def trace(self, spec, avals):
        """The program, and the TreeDef of what it returns."""
        return trace_tree(lambda *leaves: self.apply(spec, leaves), TreeDef(tuple, None, (LEAF,) * len(avals)), avals)

    def call(self, spec, leaves):
        closed, out_tree = self.trace(spec, tuple([x.aval for x in leaves]))
        return unflatten(out_tree, compile_closed(closed)(*leaves))

    def call_traced(self, spec, leaves):
        """The call when it is itself traced: as if `jit` were not there, until section 11."""
        return self.apply(spec, leaves)


jit = Jit


# === 08 Remember ==========================================================================================================
# Tracing costs microseconds an equation, compiling milliseconds; running costs nearly nothing. So programs are kept, and the art is
# in the key. It must have everything that the program depends on: the tree, and each leaf's shape, dtype and weakness. XLA looks
# at sizes only, so whatever is missing in the key is a wrong result. And it must have nothing else, no values above all.
#
# The programs of `f` are kept as long as `f` is: a lambda that is made in a loop takes its programs with it.

memories = weakref.WeakKeyDictionary()


class RememberingJit(Jit):
    def __init__(self, f):
        super().__init__(f)
        try:
            self.known = memories.setdefault(f, {})
        except TypeError:  # a callable object that cannot be referred to weakly
            self.known = {}
        self.fast = {}

    def __call__(self, *args, **kwargs):
        if not kwargs and type(current.trace) is Eager:
            try:  # arrays only, as nearly always: their types are the key, and nothing has to be taken apart
                run, avals, out_tree = self.fast[tuple([x.aval for x in args])]
                outs = run([x.data for x in args])
            except (KeyError, AttributeError, TypeError):  # a first call, a number or a container, data not on the machine yet
                return super().__call__(*args, **kwargs)
            if out_tree is LEAF:
                return Array(outs[0], avals[0])
            return unflatten(out_tree, map(Array, outs, avals))
        return super().__call__(*args, **kwargs)

    def trace(self, spec, avals):
        key = (spec, avals)
        if key not in self.known:
            closed, out_tree = super().trace(spec, avals)
            if any(isinstance(x, Tracer) for x in closed.consts):  # it belongs to a trace that goes on around it, and ends
                return closed, out_tree
            self.known[key] = closed, out_tree
        return self.known[key]

    def call(self, spec, leaves):
        avals = tuple([x.aval for x in leaves])
        closed, out_tree = self.trace(spec, avals)
        outs = program_of(closed)(*leaves)
        if spec == (TreeDef(tuple, None, (TreeDef(tuple, None, (LEAF,) * len(avals)), NO_KEYWORDS)),):
            self.fast[avals] = closed.run, closed.out_avals, out_tree if out_tree.kind is not None else LEAF
        return unflatten(out_tree, outs)


NO_KEYWORDS = flatten({})[1]


def program_of(closed):
    """A program, compiled at the first call."""
    if not hasattr(closed, "run"):
        closed.run = xla.compile(lower_closed(closed))
    return lambda *args: list(map(Array, closed.run([on_machine(x) for x in args]), closed.out_avals))


jit = RememberingJit


# === 09 Numbers that are not data =========================================================================================
# Some arguments are for Python: a number of layers, the name of an activation. Such a static argument is part of the key, by hash and
# equality, and the function sees the value itself.


class StaticJit(RememberingJit):
    def __init__(self, f, static_argnums=(), static_argnames=()):
        super().__init__(f)
        nums = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
        names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
        try:
            parameters = list(inspect.signature(f).parameters)
        except (TypeError, ValueError):
            parameters = []
        self.nums = {n % len(parameters) if n < 0 else n for n in nums} | {parameters.index(n) for n in names if n in parameters}
        self.names = {*names, *(parameters[n] for n in self.nums if n < len(parameters))}

    def split(self, args, kwargs):
        if not self.nums and not self.names:
            return super().split(args, kwargs)
        statics = [(i, args[i]) for i in sorted(self.nums) if i < len(args)]
        statics += [(name, kwargs[name]) for name in sorted(self.names) if name in kwargs]
        for where, value in statics:
            try:
                hash(value)
            except TypeError:
                raise ValueError(
                    f"Non-hashable static arguments are used in a jit function: argument {where!r} of "
                    f"{getattr(self.f, '__name__', 'f')} is {value!r}, of {type(value)}. It is a part of the key under which the "
                    "program is kept: hand over a tuple for a list."
                ) from None
        dynamic = tuple([x for i, x in enumerate(args) if i not in self.nums])
        leaves, tree = flatten((dynamic, {k: v for k, v in kwargs.items() if k not in self.names}))
        return (tree, tuple([(where, type(value), value) for where, value in statics])), leaves

    def apply(self, spec, leaves):
        args, kwargs = unflatten(spec[0], leaves)
        args = list(args)
        for where, _, value in spec[1] if len(spec) > 1 else ():
            if isinstance(where, str):
                kwargs[where] = value
            else:
                args.insert(where, value)
        return self.f(*args, **kwargs)


jit = StaticJit


# === 10 Reduce, multiply, move ============================================================================================
# Eight more primitives, and most of numpy can be said. Each is one paragraph: what it computes, its type, its text.


def primitive(name, by, type_, lowering):
    """A primitive, with all that is known of it so far."""
    p = Primitive(name)
    impl[p], types[p], lowerings[p] = by_numpy(by), type_, lowering
    return p


def reduction(name, by, op, first):
    """Sums and maxima: XLA wants the operation, and the value to begin with."""

    def lowering(text, avals, outs, x, axes):
        begin = text.constant(np.asarray(first(avals[0].dtype), avals[0].dtype))
        to = f"({tensor(avals[0])}, {tensor(typed((), avals[0].dtype))}) -> {tensor(outs[0])}"
        return text.op(
            f"stablehlo.reduce({x} init: {begin}) applies stablehlo.{op} across dimensions = {list(axes)} : {to}"
        )

    return primitive(
        name, by, lambda x, axes: [typed(without(x.shape, axes), x.dtype, x.weak_type)], lowering
    )  # fmt: skip


def without(sequence, positions):
    return tuple([x for i, x in enumerate(sequence) if i not in positions])


def lowest(dtype):
    return -np.inf if dtype.kind == "f" else False if dtype == BOOL else np.iinfo(dtype).min


reduce_sum_p = reduction("reduce_sum", lambda x, axes: np.sum(x, axes, x.dtype), "add", lambda dtype: 0)
reduce_max_p = reduction("reduce_max", lambda x, axes: np.max(x, axes, initial=lowest(x.dtype)), "maximum", lowest)


def one_line(op, attributes):
    """The rule of an operation that is one line: operands, attributes, types."""

    def rule(text, avals, outs, *xs, **params):
        said = attributes(*avals, **params)
        return text.op(f"stablehlo.{op} {', '.join(xs)}{said} : ({tensors(avals)}) -> {tensor(outs[0])}")

    return rule


reshape_p = primitive(
    "reshape", lambda x, new_sizes: np.reshape(x, new_sizes),
    lambda x, new_sizes: [typed(new_sizes, x.dtype, x.weak_type)], one_line("reshape", lambda x, new_sizes: ""),
)  # fmt: skip
transpose_p = primitive(
    "transpose", lambda x, permutation: np.transpose(x, permutation),
    lambda x, permutation: [typed(tuple([x.shape[i] for i in permutation]), x.dtype, x.weak_type)],
    one_line("transpose", lambda x, permutation: f", dims = {list(permutation)}"),
)  # fmt: skip
broadcast_p = primitive(
    "broadcast_in_dim",
    lambda x, shape, broadcast_dimensions: np.broadcast_to(
        x.reshape([n if i in broadcast_dimensions else 1 for i, n in enumerate(shape)]), shape
    ),
    lambda x, shape, broadcast_dimensions: [typed(shape, x.dtype, x.weak_type)],
    one_line("broadcast_in_dim", lambda x, shape, broadcast_dimensions: f", dims = {list(broadcast_dimensions)}"),
)  # fmt: skip
concatenate_p = primitive(
    "concatenate", lambda *xs, dimension: np.concatenate(xs, dimension),
    lambda *xs, dimension: [typed((*xs[0].shape[:dimension], sum(x.shape[dimension] for x in xs), *xs[0].shape[dimension + 1 :]),
                                  xs[0].dtype, all(x.weak_type for x in xs))],
    one_line("concatenate", lambda *xs, dimension: f", dim = {dimension}"),
)  # fmt: skip
select_p = primitive(
    "select_n", lambda which, no, yes: np.where(which, yes, no),
    lambda which, no, yes: [typed(no.shape, no.dtype, no.weak_type and yes.weak_type)],
    lambda text, avals, outs, which, no, yes: text.op(
        f"stablehlo.select {which}, {yes}, {no} : {tensor(avals[0])}, {tensor(outs[0])}"),
)  # fmt: skip


# A window whose corner is data, and whose size is not. It is moved back where it would look over the edge.
def corner(x, starts, sizes):
    return [int(np.clip(int(s), 0, n - size)) for s, n, size in zip(starts, x.shape, sizes, strict=True)]


def write_window(x, update, *starts):
    x = x.copy()
    x[tuple([slice(s, s + n) for s, n in zip(corner(x, starts, update.shape), update.shape, strict=True)])] = update
    return x


dynamic_slice_p = primitive(
    "dynamic_slice",
    lambda x, *starts, slice_sizes: x[
        tuple([slice(s, s + n) for s, n in zip(corner(x, starts, slice_sizes), slice_sizes, strict=True)])],
    lambda x, *starts, slice_sizes: [typed(slice_sizes, x.dtype, x.weak_type)],
    one_line("dynamic_slice", lambda x, *starts, slice_sizes: f", sizes = {list(slice_sizes)}"),
)  # fmt: skip
dynamic_update_slice_p = primitive(
    "dynamic_update_slice", write_window, lambda x, update, *starts: [x],
    one_line("dynamic_update_slice", lambda *avals: ""),
)  # fmt: skip


# A product of two arrays: axes are multiplied and summed, or kept side by side ("batch"), or free. With a letter for each axis
# this is as easy to say as in `einsum`, and its derivative and its batches will be the same sentence with other letters.
def letters_of(x, y, dimension_numbers):
    (x_sum, y_sum), (x_batch, y_batch) = dimension_numbers
    xs = list(LETTERS[: x.ndim])
    ys = list(LETTERS[x.ndim : x.ndim + y.ndim])
    for i, j in zip((*x_sum, *x_batch), (*y_sum, *y_batch), strict=True):
        ys[j] = xs[i]
    out = [xs[i] for i in x_batch] + list(without(xs, (*x_sum, *x_batch))) + list(without(ys, (*y_sum, *y_batch)))
    return "".join(xs), "".join(ys), "".join(out)


def dot_type(x, y, dimension_numbers, preferred_element_type=None):
    xs, ys, out = letters_of(x, y, dimension_numbers)
    for c in xs:
        if c in ys and x.shape[xs.index(c)] != y.shape[ys.index(c)]:
            raise TypeError(
                "dot_general requires contracting dimensions to have the same shape, got "
                f"{[x.shape[i] for i in dimension_numbers[0][0]]} and {[y.shape[i] for i in dimension_numbers[0][1]]}."
            )
    sizes = dict(zip(ys, y.shape, strict=True)) | dict(zip(xs, x.shape, strict=True))
    return [typed(tuple([sizes[c] for c in out]), x.dtype, x.weak_type and y.weak_type)]


def dot_by_numpy(x, y, dimension_numbers, preferred_element_type=None):
    xs, ys, out = letters_of(x, y, dimension_numbers)
    return np.einsum(f"{xs},{ys}->{out}", x, y)


def dot_attributes(x, y, dimension_numbers, preferred_element_type=None):
    (x_sum, y_sum), (x_batch, y_batch) = dimension_numbers
    batch = f", batching_dims = {list(x_batch)} x {list(y_batch)}" if x_batch else ""
    return f"{batch}, contracting_dims = {list(x_sum)} x {list(y_sum)}"


dot_p = primitive("dot_general", dot_by_numpy, dot_type, one_line("dot_general", dot_attributes))


def contract(x, xs, y, ys, out):
    """`contract(x, "ij", y, "jk", "ik")`: multiply, and sum over the letters that are not in `out`."""
    both = [c for c in xs if c in ys]
    summed, batch = [c for c in both if c not in out], [c for c in both if c in out]
    numbers = tuple([(tuple(map(xs.index, cs)), tuple(map(ys.index, cs))) for cs in (summed, batch)])
    result = dot_p(x, y, dimension_numbers=numbers, preferred_element_type=x.dtype)
    have = batch + [c for c in xs if c not in both] + [c for c in ys if c not in both]
    return transpose(result, [have.index(c) for c in out])


# What users say, in these terms.
def as_axes(axis, ndim):
    axes = range(ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return tuple(sorted(i % ndim for i in axes))


def reduce(p, x, axis, keepdims=False):
    x = asarray(x)
    if x.dtype == BOOL and p is reduce_sum_p:
        x = convert(x, I32)
    axes = as_axes(axis, x.ndim)
    result = p(x, axes=axes)
    return reshape(result, [1 if i in axes else n for i, n in enumerate(x.shape)]) if keepdims else result


def reshape(x, *shape):
    x = asarray(x)
    shape = list(shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)
    if -1 in shape:
        shape[shape.index(-1)] = x.size // max(-math.prod(shape), 1)
    if math.prod(shape) != x.size:
        raise TypeError(f"cannot reshape array of shape {x.shape} (size {x.size}) into shape {tuple(shape)}")
    return x if tuple(shape) == x.shape else reshape_p(x, new_sizes=tuple(shape))


def transpose(x, axes=None):
    permutation = tuple(range(x.ndim))[::-1] if axes is None else tuple(axes)
    return x if permutation == tuple(range(x.ndim)) else transpose_p(asarray(x), permutation=permutation)


def broadcast_to(x, shape):
    x, shape = asarray(x), tuple(shape)
    if x.shape == shape:
        return x
    axes = [(i, i + len(shape) - x.ndim) for i, n in enumerate(x.shape) if n == shape[i + len(shape) - x.ndim]]
    x = reshape(x, [x.shape[i] for i, _ in axes])
    return broadcast_p(x, shape=shape, broadcast_dimensions=tuple([j for _, j in axes]))


def where(which, yes, no):
    which, (yes, no) = asarray(which), promote([yes, no])
    shape = np.broadcast_shapes(which.shape, yes.shape, no.shape)
    which, yes, no = (broadcast_to(x, shape) if x.shape != shape else x for x in (which, yes, no))
    return select_p(which if which.dtype == BOOL else which != 0, no, yes)


def matmul(x, y):
    x, y = promote([x, y])
    if x.ndim == 0 or y.ndim == 0:
        raise TypeError("matmul requires arrays with at least one axis: multiply by a number with *")
    rest = max(x.ndim, y.ndim) - 2
    batch = LETTERS[3 : 3 + max(rest, 0)]
    xs = ("a" if x.ndim == 1 else batch[len(batch) - x.ndim + 2 :] + "ba")[-x.ndim :]
    ys = "a" if y.ndim == 1 else (batch[len(batch) - y.ndim + 2 :] + "ac")[-y.ndim :]
    return contract(x, xs, y, ys, batch + ("b" if x.ndim > 1 else "") + ("c" if y.ndim > 1 else ""))


def dot(x, y):
    x, y = promote([x, y])
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    xs, ys = LETTERS[: x.ndim], list(LETTERS[x.ndim : x.ndim + y.ndim])
    ys[-2 if y.ndim > 1 else 0] = xs[-1]
    return contract(x, xs, y, "".join(ys), xs[:-1] + "".join(c for c in ys if c not in xs))


def concatenate(xs, axis=0):
    xs = promote(list(xs))
    return concatenate_p(*xs, dimension=axis % xs[0].ndim)


def getitem(x, index):
    """`x[i, 2:5, None, ...]`: whole numbers, which may be data, and slices of step 1."""
    index = index if isinstance(index, tuple) else (index,)
    used = sum(i is not None and i is not Ellipsis for i in index)
    at = next((n for n, i in enumerate(index) if i is Ellipsis), len(index))
    index = (*index[:at], *[slice(None)] * (x.ndim - used), *index[at + 1 :])
    starts, sizes, shape, axes = [], [], [], iter(x.shape)
    for i in index:
        if i is None:
            shape.append(1)
            continue
        n = next(axes)
        if isinstance(i, slice):
            start, stop, step = i.indices(n)
            if step != 1:
                raise NotImplementedError(f"a slice of step {step}")
            starts.append(start)
            sizes.append(max(stop - start, 0))
            shape.append(sizes[-1])
        else:
            i = asarray(i)
            starts.append(where(i < 0, i + n, i) if isinstance(i, Tracer) else int(i) % n)
            sizes.append(1)
    if tuple(sizes) != x.shape:
        x = dynamic_slice_p(x, *[convert(as_value(s), I32) for s in starts], slice_sizes=tuple(sizes))
    return reshape(x, shape)


def full(shape, value, dtype=None):
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    value = as_value(value)
    value = convert(value, dtype or value.dtype)
    return value if shape == () else broadcast_p(value, shape=shape, broadcast_dimensions=())


numpy.sum = lambda x, axis=None, keepdims=False: reduce(reduce_sum_p, x, axis, keepdims)
numpy.max = lambda x, axis=None, keepdims=False: reduce(reduce_max_p, x, axis, keepdims)
numpy.min = lambda x, axis=None, keepdims=False: -numpy.max(-x, axis, keepdims)
numpy.mean = lambda x, axis=None, keepdims=False: numpy.sum(x, axis, keepdims) / math.prod(
    [x.shape[i] for i in as_axes(axis, x.ndim)]
)
numpy.reshape, numpy.transpose, numpy.where, numpy.broadcast_to, numpy.matmul, numpy.dot, numpy.concatenate, numpy.full = (
    reshape, transpose, where, broadcast_to, matmul, dot, concatenate, full)  # fmt: skip
numpy.zeros = lambda shape, dtype=F32: full(shape, 0, dtype)
numpy.ones = lambda shape, dtype=F32: full(shape, 1, dtype)
numpy.zeros_like = lambda x: full(x.shape, 0, x.dtype)
numpy.ones_like = lambda x: full(x.shape, 1, x.dtype)
numpy.arange = lambda *args: asarray(np.arange(*args))
operators(matmul, "matmul")
Value.__getitem__, Value.reshape, Value.sum, Value.max, Value.mean = getitem, reshape, numpy.sum, numpy.max, numpy.mean
Value.T, Value.transpose, Value.dot = property(transpose), lambda x, *axes: transpose(x, axes or None), dot
Value.__len__ = lambda x: x.shape[0]
Value.__iter__ = lambda x: iter([x[i] for i in range(x.shape[0])])
lax.dynamic_slice = lambda x, starts, sizes: dynamic_slice_p(x, *map(as_value, starts), slice_sizes=tuple(sizes))
lax.dynamic_update_slice = lambda x, update, starts: dynamic_update_slice_p(x, update, *map(as_value, starts))


# === 11 Jit in jit ========================================================================================================
# A jitted function that is called while another one is traced becomes one equation, whose parameter is a program: a primitive
# can contain programs. XLA gets one private function, however often it is called.

jit_p = Primitive("jit")
impl[jit_p] = lambda *args, jaxpr, name: program_of(jaxpr)(*args)
types[jit_p] = lambda *avals, jaxpr, name: jaxpr.out_avals


def hoist(*closeds):
    """Programs which closed over tracers of the trace around them: these become their first arguments, the same for each."""
    tracers = {id(x): x for closed in closeds for x in closed.consts if isinstance(x, Tracer)}
    hoisted = []
    for closed in closeds:
        variables = {id(x): v for v, x in zip(closed.jaxpr.constvars, closed.consts, strict=True)}
        first = [variables.get(i) or Var(x.aval) for i, x in tracers.items()]
        own = [(v, x) for v, x in zip(closed.jaxpr.constvars, closed.consts, strict=True) if id(x) not in tracers]
        jaxpr = closed.jaxpr._replace(constvars=[v for v, _ in own], invars=first + closed.jaxpr.invars)
        hoisted.append(ClosedJaxpr(jaxpr, [x for _, x in own]) if tracers else closed)
    return list(tracers.values()), hoisted


class NestedJit(StaticJit):
    def call_traced(self, spec, leaves):
        closed, out_tree = self.trace(spec, tuple([x.aval for x in leaves]))
        tracers, [closed] = hoist(closed)
        return unflatten(out_tree, jit_p.bind(*tracers, *leaves, jaxpr=closed, name=getattr(self.f, "__name__", "f")))


@functools.partial(lowerings.__setitem__, jit_p)
def lower_jit(text, avals, outs, *xs, jaxpr, name):
    if jaxpr not in text.known:
        text.known[jaxpr] = f"f{len(text.known)}"
        text.function(text.known[jaxpr], jaxpr)
    return text.op(
        f"func.call @{text.known[jaxpr]}({', '.join(xs)}) : ({tensors(avals)}) -> ({tensors(outs)})", len(outs)
    ) if outs else []  # fmt: skip


jit = NestedJit


# === 12 Choose ============================================================================================================
# `if` is decided while tracing. For a decision that depends on data both branches are traced, into two programs which must return
# the same types, and XLA runs one of them.

cond_p = Primitive("cond")
impl[cond_p] = lambda index, *args, branches: as_function(branches[np.clip(int(index), 0, len(branches) - 1)])(*args)
types[cond_p] = lambda index, *avals, branches: [
    typed(outs[0].shape, outs[0].dtype, all(o.weak_type for o in outs))
    for outs in zip(*[b.out_avals for b in branches], strict=True)
]


def switch(index, branches, *operands):
    """`branches[index](*operands)`; an index out of range takes the nearest."""
    leaves, tree = flatten(operands)
    leaves = [as_value(x) for x in leaves]
    traced = [trace_tree(branch, tree, [x.aval for x in leaves]) for branch in branches]
    for i, (closed, out_tree) in enumerate(traced):
        if out_tree != traced[0][1]:
            raise TypeError(f"branch 0 and branch {i} outputs must have the same type structure: {traced[0][1]} and {out_tree}.")
        for a, b in zip(traced[0][0].out_avals, closed.out_avals, strict=True):
            if (a.shape, a.dtype) != (b.shape, b.dtype):
                raise TypeError(f"branch 0 and branch {i} outputs must have equal types, but one returns {a}, the other {b}.")
    tracers, closeds = hoist(*[closed for closed, _ in traced])
    index = convert(as_value(index), I32)
    return unflatten(traced[0][1], cond_p.bind(index, *tracers, *leaves, branches=tuple(closeds)))


def cond(pred, true_fun, false_fun, *operands):
    """`true_fun(*operands)` if `pred`, else `false_fun(*operands)`."""
    pred = as_value(pred)
    if pred.shape != ():
        raise TypeError(f"Pred must be a scalar, got {pred.aval}: one decision is made, not one for each number.")
    return switch(pred if pred.dtype == BOOL else pred != 0, [false_fun, true_fun], *operands)


lax.cond, lax.switch = cond, switch


def region(text, closed, arguments):
    """A program as a region: lines within braces, which see the names around them."""
    outside, text.lines = text.lines, []
    results = text.block(closed, arguments)
    text.lines.append(f"stablehlo.return {', '.join(results)} : {tensors(closed.out_avals)}")
    inside, text.lines = text.lines, outside
    return "\n      ".join(inside)


@functools.partial(lowerings.__setitem__, cond_p)
def lower_cond(text, avals, outs, index, *xs, branches):
    if not outs:
        return []
    last = text.constant(np.int32(len(branches) - 1))
    index = text.op(f"stablehlo.minimum {index}, {last} : tensor<i32>")[0]
    index = text.op(f"stablehlo.maximum {index}, {text.constant(np.int32(0))} : tensor<i32>")[0]
    regions = ", ".join([f"{{\n      {region(text, branch, xs)}\n    }}" for branch in branches])
    return text.op(f'"stablehlo.case"({index}) ({regions}) : (tensor<i32>) -> ({tensors(outs)})', len(outs))


# === 13 Repeat ============================================================================================================
# A loop whose number of turns depends on data. What goes from turn to turn, the carry, keeps its type: it goes round in one
# place. A number that comes in weak and goes out strong is made strong beforehand: the type of a carry is a fixed point.

while_p = Primitive("while")
types[while_p] = lambda *avals, cond_nconsts, body_nconsts, cond_jaxpr, body_jaxpr: body_jaxpr.out_avals


@functools.partial(impl.__setitem__, while_p)
def run_while(*args, cond_nconsts, body_nconsts, cond_jaxpr, body_jaxpr):
    cond_consts, body_consts, carry = split_list(args, [cond_nconsts, body_nconsts])
    while as_function(cond_jaxpr)(*cond_consts, *carry)[0]:
        carry = as_function(body_jaxpr)(*body_consts, *carry)
    return carry


def split_list(xs, sizes):
    """Pieces of a list, of these sizes, and the rest."""
    ends = [0, *itertools.accumulate(sizes), len(xs)]
    return [list(xs[a:b]) for a, b in itertools.pairwise(ends)]


def trace_body(name, f, carry, carry_tree, others=(), pick=lambda out: out):
    """The program of a loop's body `f(carry, *others)`, with the carry as strong as it has to be; and the TreeDef of the result."""
    tree = TreeDef(tuple, None, (carry_tree, *[t for _, t in others]))
    rest = [aval for avals, _ in others for aval in avals]
    while True:
        closed, out_tree = trace_tree(f, tree, [x.aval for x in carry] + rest)
        if pick(out_tree) != carry_tree:
            raise TypeError(f"{name} carry input and carry output must have the same structure: {carry_tree}, {pick(out_tree)}.")
        stronger = []
        for i, (x, out) in enumerate(zip(carry, closed.out_avals, strict=False)):
            if (x.aval.shape, x.aval.dtype) != (out.shape, out.dtype) and not (x.aval.weak_type and x.shape == out.shape):
                raise TypeError(f"{name} carry input and carry output must have equal types, but leaf {i} of the carry goes in as "
                                f"{x.aval} and comes out as {out}.")  # fmt: skip
            weak = x.aval.weak_type and out.weak_type
            stronger.append(x if x.aval.weak_type == weak and x.aval.dtype == out.dtype else convert(x, out.dtype, weak))
        if all(x is y for x, y in zip(carry, stronger, strict=True)):
            return closed, out_tree, carry
        carry = stronger


def while_loop(cond_fun, body_fun, init):
    """The carry after as many turns of `body_fun` as `cond_fun` asks for."""
    carry, tree = flatten(init)
    body, _, carry = trace_body("body_fun", body_fun, [as_value(x) for x in carry], tree)
    test, _ = trace_tree(cond_fun, TreeDef(tuple, None, (tree,)), [x.aval for x in carry])
    if [(a.shape, a.dtype) for a in test.out_avals] != [((), BOOL)]:
        raise TypeError(f"cond_fun must return a boolean scalar, but got {test.out_avals}.")
    test_consts, [test] = hoist(test)
    body_consts, [body] = hoist(body)
    outs = while_p.bind(*test_consts, *body_consts, *carry, cond_nconsts=len(test_consts), body_nconsts=len(body_consts),
                        cond_jaxpr=test, body_jaxpr=body)  # fmt: skip
    return unflatten(tree, outs)


lax.while_loop = while_loop


def write_while(text, carry, avals, test, body):
    """A loop in text; `test` and `body` write a region for the names of the carry."""
    n = next(text.names)
    inside = [f"%loop{n}_{i}" for i in range(len(carry))]
    starts = ", ".join([f"{name} = {x}" for name, x in zip(inside, carry, strict=True)])
    return text.op(
        f"stablehlo.while({starts}) : {tensors(avals)}\n    cond {{\n      {test(inside)}\n    }} do {{\n      {body(inside)}\n    }}",
        len(carry),
    )  # fmt: skip


@functools.partial(lowerings.__setitem__, while_p)
def lower_while(text, avals, outs, *xs, cond_nconsts, body_nconsts, cond_jaxpr, body_jaxpr):
    cond_consts, body_consts, carry = split_list(xs, [cond_nconsts, body_nconsts])
    return write_while(
        text, carry, avals[len(avals) - len(carry) :],
        lambda names: region(text, cond_jaxpr, cond_consts + names), lambda names: region(text, body_jaxpr, body_consts + names),
    )  # fmt: skip


# === 14 Scan ==============================================================================================================
# A loop over the rows of arrays, which also stacks a row of results each turn. The program has the body once, so compiling takes
# as long for a thousand turns as for two; and the number of turns is known, so a scan can be run backwards, in section 16.

scan_p = Primitive("scan")


@functools.partial(types.__setitem__, scan_p)
def scan_type(*avals, jaxpr, length, reverse, num_consts, num_carry):
    carry, ys = split_list(jaxpr.out_avals, [num_carry])
    return carry + [typed((length, *y.shape), y.dtype, y.weak_type) for y in ys]


@functools.partial(impl.__setitem__, scan_p)
def run_scan(*args, jaxpr, length, reverse, num_consts, num_carry):
    consts, carry, xs = split_list(args, [num_consts, num_carry])
    rows = []
    for i in range(length)[:: -1 if reverse else 1]:
        outs = as_function(jaxpr)(*consts, *carry, *[as_value(np.asarray(x)[i]) for x in xs])
        carry = outs[:num_carry]
        rows.append([np.asarray(y) for y in outs[num_carry:]])
    avals = jaxpr.out_avals[num_carry:]
    columns = zip(*rows[:: -1 if reverse else 1], strict=True) if rows else [[] for _ in avals]
    return carry + [as_value(np.reshape(np.asarray(c, a.dtype), (length, *a.shape))) for c, a in zip(columns, avals, strict=True)]


def scan(f, init, xs=None, length=None, reverse=False):
    """`carry, y = f(carry, x)` for each row x of `xs`: the last carry, and the ys as rows of arrays."""
    carry, tree = flatten(init)
    rows, xs_tree = flatten(xs)
    rows = [as_value(x) for x in rows]
    lengths = {x.shape[0] for x in rows} | ({length} if length is not None else set())
    if len(lengths) != 1:
        raise ValueError(f"scan got values with different leading axis sizes: {sorted(lengths)}." if lengths else
                         "scan needs xs, or a length, to know how often to run.")  # fmt: skip
    row_avals = [typed(x.shape[1:], x.dtype, x.aval.weak_type) for x in rows]
    body, out_tree, carry = trace_body(
        "scan body function", f, [as_value(x) for x in carry], tree, [(row_avals, xs_tree)], lambda out: out.children[0]
    )
    consts, [body] = hoist(body)
    outs = scan_p.bind(*consts, *carry, *rows, jaxpr=body, length=lengths.pop(), reverse=reverse, num_consts=len(consts),
                       num_carry=len(carry))  # fmt: skip
    return unflatten(out_tree, outs)


def fori_loop(lower, upper, body, init):
    """`for i in range(lower, upper): carry = body(i, carry)`: a scan without rows where Python knows the bounds, else a `while`."""
    if isinstance(lower, int) and isinstance(upper, int):
        turn = lambda carry, _: ((carry[0] + 1, body(*carry)), None)
        return scan(turn, (numpy.int32(lower), init), length=max(upper - lower, 0))[0][1]
    lower, upper = (convert(as_value(x), I32) for x in (lower, upper))
    return while_loop(lambda c: c[0] < upper, lambda c: (c[0] + 1, body(*c)), (lower, init))[1]


lax.scan, lax.fori_loop = scan, fori_loop


@functools.partial(lowerings.__setitem__, scan_p)
def lower_scan(text, avals, outs, *xs, jaxpr, length, reverse, num_consts, num_carry):
    consts, carry, rows = split_list(xs, [num_consts, num_carry])
    row_avals, y_avals, number = avals[num_consts + num_carry :], outs[num_carry:], typed((), I32)
    zero, one, end = (text.constant(np.int32(n)) for n in (0, 1, length))
    stacks = [text.spread(text.constant(np.zeros((), y.dtype)), typed((), y.dtype), y.shape) for y in y_avals]
    if length == 0:
        return carry + stacks

    def body(names):
        outside, text.lines = text.lines, []
        i, carry, ys = names[0], names[1 : 1 + num_carry], names[1 + num_carry :]
        at = i
        if reverse:
            at = text.op(f"stablehlo.subtract {end}, {i} : tensor<i32>")[0]
            at = text.op(f"stablehlo.subtract {at}, {one} : tensor<i32>")[0]
        xs = []
        for x, a in zip(rows, row_avals, strict=True):
            zeros, window = [zero] * (a.ndim - 1), typed((1, *a.shape[1:]), a.dtype)
            starts = [typed(a.shape, a.dtype), *[number] * a.ndim]
            [row] = lowerings[dynamic_slice_p](text, starts, [window], x, at, *zeros, slice_sizes=window.shape)
            xs += lowerings[reshape_p](text, [window], [typed(a.shape[1:], a.dtype)], row, new_sizes=a.shape[1:])
        results = text.block(jaxpr, consts + carry + xs)
        for k, a in enumerate(y_avals):
            window = typed((1, *a.shape[1:]), a.dtype)
            [row] = lowerings[reshape_p](text, [typed(a.shape[1:], a.dtype)], [window], results[num_carry + k], new_sizes=None)
            operands = [ys[k], row, at, *[zero] * (a.ndim - 1)]
            types_ = [a, window, *[number] * a.ndim]
            results[num_carry + k] = lowerings[dynamic_update_slice_p](text, types_, [a], *operands)[0]
        following = text.op(f"stablehlo.add {i}, {one} : tensor<i32>")[0]
        text.lines.append(f"stablehlo.return {', '.join([following, *results])} : {tensors([number, *outs])}")
        inside, text.lines = text.lines, outside
        return "\n      ".join(inside)

    test = f"%going = stablehlo.compare LT, {{}}, {end} : (tensor<i32>, tensor<i32>) -> tensor<i1>\n      stablehlo.return %going : tensor<i1>"
    names = write_while(text, [zero, *carry, *stacks], [number, *outs], lambda names: test.format(names[0]), body)
    return names[1:] if outs else []


# === 15 Forward ===========================================================================================================
# A derivative is one more interpretation: with each value goes its tangent, the direction in which it moves. A rule for each
# primitive says how the result moves when the operands do; the chain rule is that the program is run with these rules. None is the
# tangent of what does not move. Programs within equations are rewritten: one that computes both.

jvps = {}  # primitive -> rule(primals, tangents, **params) -> (results, their tangents)


class JVPTrace:
    """Whoever computes tangents beside values, by asking for both at the door behind."""

    def __init__(self, behind):
        self.behind = behind

    def process(self, primitive, args, params):
        pairs = [x.data if type(x) is Tracer and x.trace is self else (x, None) for x in args]
        primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
        with At(self.behind):
            if all(t is None for t in tangents):
                return primitive.bind(*primals, **params)
            outs, dots = jvps[primitive](primals, tangents, **params)
        return [x if t is None else Tracer(self, x.aval, (x, t)) for x, t in zip(outs, dots, strict=True)]


def jvp_flat(f, primals, tangents):
    """Results of `f`, a function of Values, and their tangents."""
    trace = JVPTrace(current.trace)
    with At(trace):
        args = [x if t is None else Tracer(trace, x.aval, (x, t)) for x, t in zip(primals, tangents, strict=True)]
        outs = [as_value(x) for x in f(*args)]
    pairs = [x.data if type(x) is Tracer and x.trace is trace else (x, None) for x in outs]
    return [p for p, _ in pairs], [t for _, t in pairs]


def jvp(f, primals, tangents):
    """`f(*primals)`, and how it moves when the arguments move along `tangents`."""
    (xs, tree), (dots, dots_tree) = flatten(tuple(primals)), flatten(tuple(tangents))
    if tree != dots_tree:
        raise TypeError("primal and tangent arguments to jvp must have the same tree structure")
    xs, dots, out_tree = [as_value(x) for x in xs], [as_value(t) for t in dots], None

    def flat(*leaves):
        nonlocal out_tree
        outs, out_tree = flatten(f(*unflatten(tree, leaves)))
        return outs

    outs, out_dots = jvp_flat(flat, xs, [convert(t, x.dtype) for x, t in zip(xs, dots, strict=True)])
    out_dots = [numpy.zeros_like(x) if t is None else t for x, t in zip(outs, out_dots, strict=True)]
    return unflatten(out_tree, outs), unflatten(out_tree, out_dots)


def by_partials(*partials):
    """The rule of an elementwise operation, from its derivatives by each operand, as functions of the operands and the result."""

    def rule(primitive, primals, tangents):
        [out] = primitive.bind(*primals)
        moved = [d(*primals, out, t) for d, t in zip(partials, tangents, strict=True) if t is not None]
        moved = functools.reduce(lambda a, b: a + b, moved)
        return [out], [moved if moved.shape == out.shape else broadcast_to(moved, out.shape)]

    return rule


def share(x, y, out, t):
    """Of a maximum, to the operand that has it; half of it where both do."""
    return t * where(x == out, where(y == out, 0.5, 1.0), 0.0)


def none_moves(primitive, primals, tangents, **params):
    """The rule of what only jumps: its derivative is zero."""
    outs = primitive.bind(*primals, **params)
    return outs, [None] * len(outs)


for name, rule in {
    "neg": by_partials(lambda x, out, t: -t),
    "abs": by_partials(lambda x, out, t: t * numpy.sign(x)),
    "sin": by_partials(lambda x, out, t: t * numpy.cos(x)),
    "cos": by_partials(lambda x, out, t: -t * numpy.sin(x)),
    "tan": by_partials(lambda x, out, t: t * (1 + out * out)),
    "tanh": by_partials(lambda x, out, t: t * (1 - out * out)),
    "exp": by_partials(lambda x, out, t: t * out),
    "log": by_partials(lambda x, out, t: t / x),
    "sqrt": by_partials(lambda x, out, t: t * (0.5 / out)),
    "log1p": by_partials(lambda x, out, t: t / (1 + x)),
    "expm1": by_partials(lambda x, out, t: t * (out + 1)),
    "add": by_partials(lambda x, y, out, t: t, lambda x, y, out, t: t),
    "sub": by_partials(lambda x, y, out, t: t, lambda x, y, out, t: -t),
    "mul": by_partials(lambda x, y, out, t: t * y, lambda x, y, out, t: x * t),
    "div": by_partials(lambda x, y, out, t: t / y, lambda x, y, out, t: -t * (out / y)),
    "pow": by_partials(
        lambda x, y, out, t: t * (y * x ** where(y == 0, 1, y - 1)),
        lambda x, y, out, t: t * (out * numpy.log(where(x == 0, 1, x))),
    ),
    "max": by_partials(share, lambda x, y, out, t: share(y, x, out, t)),
    "min": by_partials(share, lambda x, y, out, t: share(y, x, out, t)),
    **dict.fromkeys(("sign", "floor", "not", "and", "or", "lt", "le", "gt", "ge", "eq", "ne"), none_moves),
}.items():
    jvps[P.__dict__[name]] = functools.partial(rule, P.__dict__[name])


def moves_alike(p):
    """The rule of a linear operation of one operand: the tangent goes the way of the value."""
    jvps[p] = lambda primals, tangents, **params: (p.bind(*primals, **params), p.bind(*tangents, **params))


for p in (reduce_sum_p, reshape_p, transpose_p, broadcast_p):
    moves_alike(p)


def zero_for_none(t, x):
    return numpy.zeros_like(x) if t is None else t


def moves_where(p, moving):
    """The rule of an operation that is linear in some operands together, which `moving` tells from the others."""

    def rule(primals, tangents, **params):
        dots = [zero_for_none(t, x) if moving(i) else x for i, (x, t) in enumerate(zip(primals, tangents, strict=True))]
        return p.bind(*primals, **params), p.bind(*dots, **params)

    jvps[p] = rule


moves_where(concatenate_p, lambda i: True)
moves_where(select_p, lambda i: i > 0)
moves_where(dynamic_slice_p, lambda i: i == 0)
moves_where(dynamic_update_slice_p, lambda i: i < 2)
jvps[convert_p] = lambda primals, tangents, new_dtype, weak_type: (
    convert_p.bind(*primals, new_dtype=new_dtype, weak_type=weak_type),
    [convert(tangents[0], new_dtype) if new_dtype.kind == "f" else None],
)


@functools.partial(jvps.__setitem__, reduce_max_p)
def max_jvp(primals, tangents, axes):
    [x], [t] = primals, tangents
    out = reduce_max_p(x, axes=axes)
    is_there = convert(x == reshape(out, [1 if i in axes else n for i, n in enumerate(x.shape)]), x.dtype)
    return [out], [numpy.sum(t * is_there, axes) / numpy.sum(is_there, axes)]


@functools.partial(jvps.__setitem__, dot_p)
def dot_jvp(primals, tangents, **params):
    (x, y), (dx, dy) = primals, tangents
    moved = [dot_p(a, b, **params) for a, b in ((dx, y), (x, dy)) if a is not None and b is not None]
    return [dot_p(x, y, **params)], [functools.reduce(lambda a, b: a + b, moved)]


# Programs within equations. `jvp_closed` writes the program for values and tangents, which come after all values. Which of
# the results move depends on which arguments do; `wanted` ones move in any case, if by zero.


def jvp_closed(closed, moving, wanted=None):
    moves = []

    def both(*args):
        primals, dots = args[: len(moving)], iter(args[len(moving) :])
        outs, out_dots = jvp_flat(as_function(closed), primals, [next(dots) if m else None for m in moving])
        is_wanted = wanted or [False] * len(outs)
        can_move = [x.dtype.kind == "f" for x in outs]
        moves[:] = [c and (w or t is not None) for c, w, t in zip(can_move, is_wanted, out_dots, strict=True)]
        return outs + [zero_for_none(t, x) for t, x, m in zip(out_dots, outs, moves, strict=True) if m]

    avals = closed.in_avals
    dots = [typed(a.shape, a.dtype) for a, m in zip(avals, moving, strict=True) if m]
    return trace_to_jaxpr(both, avals + dots), moves


def present(xs):
    return [x for x in xs if x is not None]


def is_moving(tangents):
    return [t is not None for t in tangents]


def spread_out(xs, moves):
    """The values and tangents that such a program returned: tangents in the places where there are some."""
    outs, dots = xs[: len(moves)], iter(xs[len(moves) :])
    return outs, [next(dots) if m else None for m in moves]


@functools.partial(jvps.__setitem__, jit_p)
def jit_jvp(primals, tangents, jaxpr, name):
    both, moves = jvp_closed(jaxpr, is_moving(tangents))
    return spread_out(jit_p.bind(*primals, *present(tangents), jaxpr=both, name=f"jvp({name})"), moves)


@functools.partial(jvps.__setitem__, cond_p)
def cond_jvp(primals, tangents, branches):
    moving = is_moving(tangents[1:])
    wanted = [any(ms) for ms in zip(*[jvp_closed(branch, moving)[1] for branch in branches], strict=True)]
    both = tuple([jvp_closed(branch, moving, wanted)[0] for branch in branches])
    return spread_out(cond_p.bind(*primals, *present(tangents[1:]), branches=both), wanted)


def moving_carry(body, consts, carry, rows=()):
    """Which parts of a carry move, once those that the body makes move do."""
    while True:
        out = jvp_closed(body, consts + carry + list(rows))[1][: len(carry)]
        more = [a or b for a, b in zip(carry, out, strict=True)]
        if more == carry:
            return carry
        carry = more


def permuted(closed, ins, outs):
    """The same program, with arguments and results in another order, or some of them left out."""
    j = closed.jaxpr
    j = j._replace(invars=[j.invars[i] for i in ins], outvars=[j.outvars[i] for i in outs])
    return ClosedJaxpr(j, closed.consts)


def beside(groups, flags):
    """The order in which each group of values is followed by its tangents, which so far come after all values."""
    count, tangent = 0, itertools.count(sum(groups))
    order = []
    for n, moving in zip(groups, flags, strict=True):
        order += [*range(count, count + n), *[next(tangent) for m in moving if m]]
        count += n
    return order


@functools.partial(jvps.__setitem__, while_p)
def while_jvp(primals, tangents, cond_nconsts, body_nconsts, cond_jaxpr, body_jaxpr):
    cond_consts, consts, carry = split_list(primals, [cond_nconsts, body_nconsts])
    _, const_dots, dots = split_list(tangents, [cond_nconsts, body_nconsts])
    moving = moving_carry(body_jaxpr, is_moving(const_dots), is_moving(dots))
    both = jvp_closed(body_jaxpr, is_moving(const_dots) + moving, moving)[0]
    order = beside([len(consts), len(carry)], [is_moving(const_dots), moving])
    both = permuted(both, order, range(len(both.out_avals)))
    j = cond_jaxpr.jaxpr
    more = [Var(typed(x.shape, x.dtype)) for x, m in zip(carry, moving, strict=True) if m]
    test = ClosedJaxpr(j._replace(invars=j.invars + more), cond_jaxpr.consts)
    dots = [zero_for_none(t, x) for t, x, m in zip(dots, carry, moving, strict=True) if m]
    outs = while_p.bind(
        *cond_consts, *consts, *present(const_dots), *carry, *dots, cond_nconsts=cond_nconsts,
        body_nconsts=body_nconsts + len(present(const_dots)), cond_jaxpr=test, body_jaxpr=both,
    )  # fmt: skip
    return spread_out(outs, moving)


@functools.partial(jvps.__setitem__, scan_p)
def scan_jvp(primals, tangents, jaxpr, length, reverse, num_consts, num_carry):
    consts, carry, rows = split_list(primals, [num_consts, num_carry])
    const_dots, dots, row_dots = split_list(tangents, [num_consts, num_carry])
    moving = moving_carry(jaxpr, is_moving(const_dots), is_moving(dots), is_moving(row_dots))
    flags = [is_moving(const_dots), moving, is_moving(row_dots)]
    ys = len(jaxpr.out_avals) - num_carry
    both, moves = jvp_closed(jaxpr, sum(flags, []), moving + [False] * ys)
    outs_order = beside([num_carry, ys], [moves[:num_carry], moves[num_carry:]])
    both = permuted(both, beside([num_consts, num_carry, len(rows)], flags), outs_order)
    dots = [zero_for_none(t, x) for t, x, m in zip(dots, carry, moving, strict=True) if m]
    outs = scan_p.bind(
        *consts, *present(const_dots), *carry, *dots, *rows, *present(row_dots), jaxpr=both, length=length, reverse=reverse,
        num_consts=num_consts + len(present(const_dots)), num_carry=num_carry + len(dots),
    )  # fmt: skip
    back = sorted(range(len(outs)), key=outs_order.__getitem__)
    return spread_out([outs[i] for i in back], moves)


# === 16 Backward ==========================================================================================================
# The tangent of the loss is a linear function of the tangents of the parameters. Forward, it answers "what if this one moves?";
# for a million parameters we want it read backward: "whence does this come?" So `grad` (1) writes down the program for values
# and tangents, (2) splits it: what can be computed without tangents, and the rest, which is linear; (3) goes through the rest from
# its end, where each equation hands the cotangent of its result back to its operands. What was used twice gets two, and adds them.

splits = {}  # primitive with a program in it -> rule(equation, which operands are unknown): see `split`
transposes = {}  # primitive -> rule(cotangents of results, *operands, **params) -> cotangents of the linear operands


class Linear(NamedTuple):
    """An operand that has no value here: the program is linear in it."""

    aval: Aval


def split(closed, unknown, wanted=None):
    """A program in two: what depends on known arguments only, and the rest.

    The first returns the known results and then what the second needs of it; the second takes that, and then the unknown
    arguments. Also: which results are unknown (those that are `wanted` to be are in any case), and how much is handed over.
    """
    jaxpr, wanted = closed.jaxpr, wanted or [False] * len(closed.out_avals)
    hidden = {v for v, u in zip(jaxpr.invars, unknown, strict=True) if u}
    first, second = [], []
    for eqn in jaxpr.eqns:
        flags = [type(v) is Var and v in hidden for v in eqn.invars]
        if not any(flags):
            first.append(eqn)
        elif eqn.primitive in splits:
            known, rest, out_flags = splits[eqn.primitive](eqn, flags)
            first.append(known)
            second.append(rest)
            hidden.update([v for v, u in zip(eqn.outvars, out_flags, strict=True) if u])
        else:
            second.append(eqn)
            hidden.update(eqn.outvars)
    outs = [w or (type(v) is Var and v in hidden) for v, w in zip(jaxpr.outvars, wanted, strict=True)]
    unknown_outs = [v for v, u in zip(jaxpr.outvars, outs, strict=True) if u]
    made = hidden | {v for eqn in second for v in eqn.outvars}
    used = dict.fromkeys(v for vs in [*[eqn.invars for eqn in second], unknown_outs] for v in vs if type(v) is Var)
    handed = [v for v in used if v not in made]
    known_in = [v for v, u in zip(jaxpr.invars, unknown, strict=True) if not u]
    unknown_in = [v for v, u in zip(jaxpr.invars, unknown, strict=True) if u]
    known_outs = [v for v, u in zip(jaxpr.outvars, outs, strict=True) if not u]
    one = ClosedJaxpr(Jaxpr(jaxpr.constvars, known_in, first, known_outs + handed), closed.consts)
    return one, ClosedJaxpr(Jaxpr([], handed + unknown_in, second, unknown_outs), []), outs, len(handed)


def backward(closed, args, cotangents):
    """The cotangents of those arguments of a linear program that are Linear, from those of its results."""
    jaxpr, values, cts = closed.jaxpr, {}, {}
    values.update(zip(jaxpr.constvars, closed.consts, strict=True))
    values.update((v, x) for v, x in zip(jaxpr.invars, args, strict=True) if type(x) is not Linear)

    def give(v, ct):
        if ct is not None and type(v) is Var:
            cts[v] = cts[v] + ct if v in cts else ct  # fan-out: what was used twice has two cotangents

    for v, ct in zip(jaxpr.outvars, cotangents, strict=True):
        give(v, ct)
    for eqn in reversed(jaxpr.eqns):
        outs = [cts.pop(v, None) for v in eqn.outvars]
        if any(ct is not None for ct in outs):
            operands = [v.val if type(v) is Literal else values.get(v, Linear(v.aval)) for v in eqn.invars]
            outs = [ct if len(outs) == 1 else zero_for_none(ct, v.aval) for ct, v in zip(outs, eqn.outvars, strict=True)]
            for v, ct in zip(eqn.invars, transposes[eqn.primitive](outs, *operands, **eqn.params), strict=True):
                give(v, ct)
    return [cts.get(v) for v, x in zip(jaxpr.invars, args, strict=True) if type(x) is Linear]


def vjp(f, *primals):
    """`f(*primals)`, and the function from the cotangents of its results to those of the arguments."""
    xs, tree = flatten(primals)
    xs = [as_value(x) for x in xs]
    avals = [x.aval for x in xs]
    closed, out_tree = trace_tree(f, tree, avals)
    moving = [a.dtype.kind == "f" for a in avals]
    both, moves = jvp_closed(closed, moving)
    known, linear, outs_unknown, handed = split(both, [False] * len(xs) + [True] * sum(moving))
    results = as_function(known)(*xs)
    n = len(results) - handed
    results, residuals = results[:n], results[n:]
    is_unknown = iter(outs_unknown[len(moves) :])
    useful = [m and next(is_unknown) for m in moves]

    def pullback(cotangent):
        cts, ct_tree = flatten(cotangent)
        if ct_tree != out_tree:
            raise TypeError(f"Tree structure of cotangent input {ct_tree} does not match structure of primal output {out_tree}")
        cts = [as_value(ct) for ct, u in zip(cts, useful, strict=True) if u]
        found = iter(backward(linear, residuals + [Linear(a) for a, m in zip(avals, moving, strict=True) if m], cts))
        grads = [next(found) if m else None for m in moving]
        return unflatten(tree, [zero_for_none(g, a) for g, a in zip(grads, avals, strict=True)])

    return unflatten(out_tree, results[: len(moves)]), pullback


def value_and_grad(f, argnums=0, has_aux=False):
    """A function that returns `f(*args)`, a number, and its derivatives by one argument, or by several."""

    def with_gradient(*args, **kwargs):
        nums = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        aux = None

        def of_chosen(*chosen):
            nonlocal aux
            rest = list(args)
            for i, x in zip(nums, chosen, strict=True):
                rest[i] = x
            out = f(*rest, **kwargs)
            out, aux = out if has_aux else (out, None)
            return out, aux

        for x in flatten(tuple([args[i] for i in nums]))[0]:
            if as_value(x).dtype.kind != "f":
                raise TypeError(f"grad requires real-valued inputs (input dtype that is a sub-dtype of np.floating), but got "
                                f"{as_value(x).dtype.name}.")  # fmt: skip
        (out, aux), pullback = vjp(of_chosen, *[args[i] for i in nums])
        out = as_value(out)
        if out.shape != ():
            raise TypeError(f"Gradient only defined for scalar-output functions. Output had shape: {out.shape}.")
        zeros = tree_map(numpy.zeros_like, aux)
        grads = pullback((numpy.ones_like(out), zeros))
        return ((out, aux) if has_aux else out), grads[0] if isinstance(argnums, int) else grads

    return with_gradient


def grad(f, argnums=0, has_aux=False):
    """The derivative of a function that returns a number."""

    def gradient(*args, **kwargs):
        value, grads = value_and_grad(f, argnums, has_aux)(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return gradient


def linear_in(p):
    """Register the transpose of a primitive: `rule(ct, *operands)` for each operand that is Linear."""

    def register(rules):
        transposes[p] = lambda cts, *xs, **params: [
            rule(cts[0], *xs, **params) if type(x) is Linear else None for rule, x in zip(rules, xs, strict=True)
        ]

    return register


def gather_up(ct, aval):
    """The transpose of broadcasting: a sum."""
    extra = ct.ndim - aval.ndim
    axes = [*range(extra), *[i + extra for i, n in enumerate(aval.shape) if n != ct.shape[i + extra]]]
    return reshape(numpy.sum(ct, axes) if axes else ct, aval.shape)


linear_in(P.neg)([lambda ct, x: -ct])
linear_in(P.add)([lambda ct, x, y: gather_up(ct, x.aval), lambda ct, x, y: gather_up(ct, y.aval)])
linear_in(P.sub)([lambda ct, x, y: gather_up(ct, x.aval), lambda ct, x, y: gather_up(-ct, y.aval)])
linear_in(P.mul)([lambda ct, x, y: gather_up(ct * y, x.aval), lambda ct, x, y: gather_up(ct * x, y.aval)])
linear_in(P.div)([lambda ct, x, y: gather_up(ct / y, x.aval), None])
linear_in(convert_p)([lambda ct, x, new_dtype, weak_type: convert(ct, x.aval.dtype)])
linear_in(reduce_sum_p)([lambda ct, x, axes: broadcast_p(
    ct, shape=x.aval.shape, broadcast_dimensions=without(range(x.aval.ndim), axes))])  # fmt: skip
linear_in(reshape_p)([lambda ct, x, new_sizes: reshape(ct, x.aval.shape)])
linear_in(transpose_p)([lambda ct, x, permutation: transpose(ct, np.argsort(permutation).tolist())])
linear_in(broadcast_p)([lambda ct, x, shape, broadcast_dimensions: numpy.sum(
    ct, without(range(len(shape)), broadcast_dimensions))])  # fmt: skip
linear_in(select_p)([None, lambda ct, which, no, yes: where(which, 0, ct), lambda ct, which, no, yes: where(which, ct, 0)])


@functools.partial(transposes.__setitem__, concatenate_p)
def concatenate_transpose(cts, *xs, dimension):
    ends = list(itertools.accumulate([x.aval.shape[dimension] for x in xs]))
    windows = [(slice(None),) * dimension + (slice(a, b),) for a, b in itertools.pairwise([0, *ends])]
    return [cts[0][w] if type(x) is Linear else None for x, w in zip(xs, windows, strict=True)]


@functools.partial(transposes.__setitem__, dynamic_slice_p)
def dynamic_slice_transpose(cts, x, *starts, slice_sizes):
    return [dynamic_update_slice_p(numpy.zeros_like(x.aval), cts[0], *starts), *[None] * len(starts)]


@functools.partial(transposes.__setitem__, dynamic_update_slice_p)
def dynamic_update_slice_transpose(cts, x, update, *starts):
    hole = dynamic_update_slice_p(cts[0], numpy.zeros_like(update.aval), *starts)
    window = dynamic_slice_p(cts[0], *starts, slice_sizes=update.aval.shape)
    return [hole if type(x) is Linear else None, window if type(update) is Linear else None, *[None] * len(starts)]


@functools.partial(transposes.__setitem__, dot_p)
def dot_transpose(cts, x, y, dimension_numbers, preferred_element_type=None):
    xs, ys, out = letters_of(x.aval, y.aval, dimension_numbers)
    if type(x) is Linear:
        return [contract(cts[0], out, y, ys, xs), None]
    return [None, contract(cts[0], out, x, xs, ys)]


# Programs within equations: each is split, or read backward, as a whole.


def part(eqn, flags, unknown):
    """Those operands, or results, of an equation that are unknown, or that are not."""
    return [v for v, u in zip(eqn, flags, strict=True) if u == unknown]


def transposed(closed, args):
    """The program from known operands and cotangents of results to cotangents of the Linear operands."""
    known = [x.aval for x in args if type(x) is not Linear]

    def program(*values):
        values = iter(values)
        operands = [x if type(x) is Linear else next(values) for x in args]
        linear = [x.aval for x in args if type(x) is Linear]
        return [zero_for_none(ct, a) for ct, a in zip(backward(closed, operands, list(values)), linear, strict=True)]

    return trace_to_jaxpr(program, known + [typed(a.shape, a.dtype) for a in closed.out_avals])


def at_linear(args, found):
    """Cotangents in the places of the Linear operands."""
    found = iter(found)
    return [next(found) if type(x) is Linear else None for x in args]


@functools.partial(splits.__setitem__, jit_p)
def jit_split(eqn, unknown):
    one, two, outs, handed = split(eqn.params["jaxpr"], unknown)
    between = [Var(a) for a in one.out_avals[len(one.out_avals) - handed :]]
    name = eqn.params["name"]
    return (
        Equation(jit_p, part(eqn.invars, unknown, False), {"jaxpr": one, "name": name}, part(eqn.outvars, outs, False) + between),
        Equation(jit_p, between + part(eqn.invars, unknown, True), {"jaxpr": two, "name": name}, part(eqn.outvars, outs, True)),
        outs,
    )


@functools.partial(transposes.__setitem__, jit_p)
def jit_transpose(cts, *args, jaxpr, name):
    known = [x for x in args if type(x) is not Linear]
    return at_linear(args, jit_p.bind(*known, *cts, jaxpr=transposed(jaxpr, args), name=f"transpose({name})"))


@functools.partial(splits.__setitem__, cond_p)
def cond_split(eqn, unknown):
    """What the branches hand over differs: each hands over what all do, and zeros for what is not its own."""
    if unknown[0]:
        raise NotImplementedError("the derivative by the index of a cond")
    branches, unknown = eqn.params["branches"], unknown[1:]
    wanted = [any(us) for us in zip(*[split(b, unknown)[2] for b in branches], strict=True)]
    halves = [split(b, unknown, wanted) for b in branches]
    between = [[Var(a) for a in one.out_avals[len(one.out_avals) - n :]] for one, _, _, n in halves]
    ones, twos = [], []
    for i, (one, two, _, n) in enumerate(halves):
        j, count = one.jaxpr, len(one.out_avals) - n
        handed = [[Literal(Array(np.zeros(v.aval.shape, v.aval.dtype), v.aval)) for v in vs] for vs in between]
        handed[i] = j.outvars[count:]
        ones.append(ClosedJaxpr(j._replace(outvars=j.outvars[:count] + sum(handed, [])), one.consts))
        taken = [[Var(v.aval) for v in vs] for vs in between]
        taken[i] = two.jaxpr.invars[:n]
        twos.append(ClosedJaxpr(two.jaxpr._replace(invars=sum(taken, []) + two.jaxpr.invars[n:]), two.consts))
    index, *operands = eqn.invars
    between = sum(between, [])
    return (
        Equation(cond_p, [index, *part(operands, unknown, False)], {"branches": tuple(ones)},
                 part(eqn.outvars, wanted, False) + between),
        Equation(cond_p, [index, *between, *part(operands, unknown, True)], {"branches": tuple(twos)},
                 part(eqn.outvars, wanted, True)),
        wanted,
    )  # fmt: skip


@functools.partial(transposes.__setitem__, cond_p)
def cond_transpose(cts, index, *args, branches):
    known = [x for x in args if type(x) is not Linear]
    backwards = tuple([transposed(b, args) for b in branches])
    return [None, *at_linear(args, cond_p.bind(index, *known, *cts, branches=backwards))]


@functools.partial(splits.__setitem__, while_p)
def while_split(eqn, unknown):
    raise ValueError(
        "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with dynamic start/stop values: nobody "
        "knows how many turns must be remembered. Use lax.scan, or lax.fori_loop with bounds that Python knows."
    )


@functools.partial(splits.__setitem__, scan_p)
def scan_split(eqn, unknown):
    """Each turn hands over what the linear part needs of it, as one more row."""
    p = eqn.params
    closed, n, m = p["jaxpr"], p["num_consts"], p["num_carry"]
    consts, carry, rows = split_list(unknown, [n, m])
    while True:
        one, two, outs, handed = split(closed, consts + carry + rows, carry + [False] * (len(closed.out_avals) - m))
        if outs[:m] == carry:
            break
        carry = [a or b for a, b in zip(carry, outs, strict=False)]
    unknown = consts + carry + rows
    between = [Var(typed((p["length"], *a.shape), a.dtype)) for a in one.out_avals[len(one.out_avals) - handed :]]
    k = sum(consts) + sum(carry)
    two = permuted(two, [*range(handed, handed + k), *range(handed), *range(handed + k, len(two.in_avals))],
                   range(len(two.out_avals)))  # fmt: skip
    operands = part(eqn.invars, unknown, True)
    return (
        Equation(scan_p, part(eqn.invars, unknown, False),
                 p | {"jaxpr": one, "num_consts": n - sum(consts), "num_carry": m - sum(carry)},
                 part(eqn.outvars, outs, False) + between),
        Equation(scan_p, operands[:k] + between + operands[k:],
                 p | {"jaxpr": two, "num_consts": sum(consts), "num_carry": sum(carry)}, part(eqn.outvars, outs, True)),
        outs,
    )  # fmt: skip


@functools.partial(transposes.__setitem__, scan_p)
def scan_transpose(cts, *args, jaxpr, length, reverse, num_consts, num_carry):
    """The loop run backward: cotangents of the constants add up from turn to turn, those of the carry go from the last to the first."""
    rows = args[num_consts + num_carry :]
    known = [x for x in rows if type(x) is not Linear]
    inside = [typed(x.aval.shape[1:], x.aval.dtype) for x in rows]
    inside = [Linear(a) if type(x) is Linear else SimpleNamespace(aval=a) for x, a in zip(rows, inside, strict=True)]
    step = transposed(jaxpr, [*[Linear(x.aval) for x in args[: num_consts + num_carry]], *inside])
    ct_carry, ct_ys = split_list(cts, [num_carry])

    def body(*values):
        sums, carry, row = split_list(values, [num_consts, num_carry])
        residuals, ys = split_list(row, [len(known)])
        found = as_function(step)(*residuals, *carry, *ys)
        return [a + b for a, b in zip(sums, found, strict=False)] + found[num_consts:]

    sums = [numpy.zeros_like(x.aval) for x in args[:num_consts]]
    start = [*sums, *ct_carry]
    avals = [typed(x.shape, x.dtype) for x in start] + [typed(x.shape[1:], x.dtype) for x in (*known, *ct_ys)]
    outs = scan_p.bind(
        *[convert(x, x.dtype) for x in start], *known, *ct_ys, jaxpr=trace_to_jaxpr(body, avals), length=length,
        reverse=not reverse, num_consts=0, num_carry=len(start),
    )  # fmt: skip
    first, xs = [x for x, y in zip(outs, args, strict=False) if type(y) is Linear], outs[num_consts + num_carry :]
    return at_linear(args, [*first[: sum(type(x) is Linear for x in args) - len(xs)], *xs])


# === 17 Batch =============================================================================================================
# `vmap(f)` does for a whole batch what `f` does for one example: not in a loop, but with operations that are larger by one axis.
# That axis is always the first here. What is not a tracer of the batch is the same for every example.

batchers = {}  # primitive -> rule(size, which are batched, *operands, **params) -> results, all of them batched


class BatchTrace:
    def __init__(self, behind, size):
        self.behind, self.size = behind, size

    def process(self, primitive, args, params):
        flags = [type(x) is Tracer and x.trace is self for x in args]
        with At(self.behind):
            values = [x.data if b else x for x, b in zip(args, flags, strict=True)]
            if not any(flags):
                return primitive.bind(*values, **params)
            outs = batchers[primitive](self.size, flags, *values, **params)
        return [self.wrap(x) for x in outs]

    def wrap(self, x):
        return Tracer(self, typed(x.shape[1:], x.dtype, x.aval.weak_type), x)


def vmap(f, in_axes=0, out_axes=0):
    """`f` for each example along an axis of the arguments (None: the same for all), results along an axis, too."""

    def batched(*args):
        axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
        per_leaf = [axis_of for x, axis in zip(args, axes, strict=True) for axis_of in axes_of_leaves(axis, x)]
        leaves, tree = flatten(args)
        leaves = [as_value(x) for x in leaves]
        sizes = {x.shape[axis] for x, axis in zip(leaves, per_leaf, strict=True) if axis is not None}
        if len(sizes) != 1:
            raise ValueError(f"vmap got inconsistent sizes for array axes to be mapped: {sorted(sizes)}." if sizes else
                             "vmap must have at least one non-None value in in_axes")  # fmt: skip
        leaves = [x if axis is None else move_axis(x, axis, 0) for x, axis in zip(leaves, per_leaf, strict=True)]
        out_tree = None

        def flat(*xs):
            nonlocal out_tree
            outs, out_tree = flatten(f(*unflatten(tree, xs)))
            return outs

        outs = vmap_flat(flat, sizes.pop(), [axis is not None for axis in per_leaf], leaves)
        out_per_leaf = axes_of_leaves(out_axes, unflatten(out_tree, outs))
        return unflatten(out_tree, [move_axis(x, 0, axis) for x, axis in zip(outs, out_per_leaf, strict=True)])

    return batched


def axes_of_leaves(axis, x):
    """The axis of each leaf, from one for all of them, or a tree of axes like x."""
    if isinstance(axis, (dict, list, tuple)):
        children, parts = (containers[type(t)][0](t)[0] for t in (axis, x))
        return [a for one, other in zip(children, parts, strict=True) for a in axes_of_leaves(one, other)]
    return [axis] * len(flatten(x)[0])


def move_axis(x, source, to):
    order = [i for i in range(x.ndim) if i != source % x.ndim]
    order.insert(to % x.ndim, source % x.ndim)
    return transpose(x, order)


def vmap_flat(f, size, flags, leaves):
    """Results of `f` for a batch, all with the batch as their first axis."""
    trace = BatchTrace(current.trace, size)
    with At(trace):
        outs = [as_value(x) for x in f(*[trace.wrap(x) if b else x for x, b in zip(leaves, flags, strict=True)])]
    return [x.data if type(x) is Tracer and x.trace is trace else repeated(x, size) for x in outs]


def repeated(x, size):
    return broadcast_p(x, shape=(size, *x.shape), broadcast_dimensions=tuple(range(1, x.ndim + 1)))


def batch_all(size, flags, xs):
    return [x if b else repeated(x, size) for x, b in zip(xs, flags, strict=True)]


def batch_elementwise(p):
    """Axes of size 1 go between the batch and the others, so that numpy's broadcasting finds them."""

    def rule(size, flags, *xs):
        ndim = max(x.ndim - b for x, b in zip(xs, flags, strict=True))
        return p.bind(*[reshape(x, (size, *[1] * (ndim + 1 - x.ndim), *x.shape[1:])) if b else x
                        for x, b in zip(xs, flags, strict=True)])  # fmt: skip

    batchers[p] = rule


for p in P.__dict__.values():
    batch_elementwise(p)


def shifted(axes):
    return tuple([i + 1 for i in axes])


batchers[convert_p] = lambda size, flags, x, **params: convert_p.bind(x, **params)
for p in (reduce_sum_p, reduce_max_p):
    batchers[p] = lambda size, flags, x, axes, p=p: p.bind(x, axes=shifted(axes))
batchers[reshape_p] = lambda size, flags, x, new_sizes: [reshape(x, (size, *new_sizes))]
batchers[transpose_p] = lambda size, flags, x, permutation: [transpose(x, (0, *shifted(permutation)))]
batchers[broadcast_p] = lambda size, flags, x, shape, broadcast_dimensions: broadcast_p.bind(
    x, shape=(size, *shape), broadcast_dimensions=(0, *shifted(broadcast_dimensions))
)
batchers[concatenate_p] = lambda size, flags, *xs, dimension: concatenate_p.bind(
    *batch_all(size, flags, xs), dimension=dimension + 1
)


@functools.partial(batchers.__setitem__, select_p)
def select_batch(size, flags, *xs):
    which, no, yes = batch_all(size, flags, xs)
    return [where(reshape(which, which.shape + (1,) * (no.ndim - which.ndim)), yes, no)]


def batch_window(p, leading):
    """A window whose corner is the same for all is larger by an axis; else the windows are taken one after the other, by a scan."""

    def rule(size, flags, *xs, **params):
        if not any(flags[leading:]):
            arrays = batch_all(size, flags[:leading], xs[:leading])
            if "slice_sizes" in params:
                params = {"slice_sizes": (size, *params["slice_sizes"])}
            return p.bind(*arrays, as_value(0), *xs[leading:], **params)
        rows = batch_all(size, flags, xs)
        body = trace_to_jaxpr(lambda *row: p.bind(*row, **params), [typed(x.shape[1:], x.dtype) for x in rows])
        return scan_p.bind(*rows, jaxpr=body, length=size, reverse=False, num_consts=0, num_carry=0)

    batchers[p] = rule


batch_window(dynamic_slice_p, 1)
batch_window(dynamic_update_slice_p, 2)


@functools.partial(batchers.__setitem__, dot_p)
def dot_batch(size, flags, x, y, dimension_numbers, preferred_element_type=None):
    without_batch = [typed(a.shape[1:], a.dtype) if b else a.aval for a, b in zip((x, y), flags, strict=True)]
    xs, ys, out = letters_of(*without_batch, dimension_numbers)
    return [contract(x, "z" * flags[0] + xs, y, "z" * flags[1] + ys, "z" + out)]


# Programs within equations.


def batched_closed(closed, size, flags):
    """The program for a batch: its results are all batched."""
    avals = [typed((size, *a.shape), a.dtype, a.weak_type) if b else a for a, b in zip(closed.in_avals, flags, strict=True)]
    return trace_to_jaxpr(lambda *xs: vmap_flat(as_function(closed), size, flags, xs), avals)


@functools.partial(batchers.__setitem__, jit_p)
def jit_batch(size, flags, *xs, jaxpr, name):
    return jit_p.bind(*xs, jaxpr=batched_closed(jaxpr, size, flags), name=f"vmap({name})")


@functools.partial(batchers.__setitem__, cond_p)
def cond_batch(size, flags, index, *xs, branches):
    """When the decision differs from example to example, both sides are computed, and each takes its own."""
    closeds = [batched_closed(b, size, flags[1:]) for b in branches]
    if not flags[0]:
        return cond_p.bind(index, *xs, branches=tuple(closeds))
    results = [as_function(closed)(*xs) for closed in closeds]
    index = numpy.minimum(numpy.maximum(index, 0), len(branches) - 1)
    outs = results[0]
    for i, more in enumerate(results[1:], 1):
        outs = [pick(index == i, new, old) for new, old in zip(more, outs, strict=True)]
    return outs


def pick(which, yes, no):
    """For each example, one or the other."""
    return where(reshape(which, which.shape + (1,) * (no.ndim - 1)), yes, no)


@functools.partial(batchers.__setitem__, while_p)
def while_batch(size, flags, *xs, cond_nconsts, body_nconsts, cond_jaxpr, body_jaxpr):
    """The loop goes on as long as one example wants it; those that are done stay as they are."""
    cond_flags, body_flags, _ = split_list(flags, [cond_nconsts, body_nconsts])
    cond_consts, body_consts, carry = split_list(xs, [cond_nconsts, body_nconsts])
    carry = batch_all(size, flags[cond_nconsts + body_nconsts :], carry)
    whole = [True] * len(carry)
    test, body = batched_closed(cond_jaxpr, size, cond_flags + whole), batched_closed(body_jaxpr, size, body_flags + whole)
    n = len(cond_consts)

    def going(*args):
        return [numpy.max(as_function(test)(*args)[0])]

    def turn(*args):
        for_test, for_body, now = split_list(args, [n, len(body_consts)])
        which = as_function(test)(*for_test, *now)[0]
        return [pick(which, new, old) for new, old in zip(as_function(body)(*for_body, *now), now, strict=True)]

    avals = [typed(x.shape, x.dtype, x.aval.weak_type) for x in (*cond_consts, *body_consts, *carry)]
    return while_p.bind(
        *cond_consts, *cond_consts, *body_consts, *carry, cond_nconsts=n, body_nconsts=n + len(body_consts),
        cond_jaxpr=trace_to_jaxpr(going, avals[:n] + avals[n + len(body_consts) :]), body_jaxpr=trace_to_jaxpr(turn, avals),
    )  # fmt: skip


@functools.partial(batchers.__setitem__, scan_p)
def scan_batch(size, flags, *xs, jaxpr, length, reverse, num_consts, num_carry):
    """Rows come with the batch inside: the loop's axis stays first."""
    const_flags, carry_flags, row_flags = split_list(flags, [num_consts, num_carry])
    consts, carry, rows = split_list(xs, [num_consts, num_carry])
    carry = batch_all(size, carry_flags, carry)
    rows = [move_axis(x, 0, 1) if b else x for x, b in zip(rows, row_flags, strict=True)]
    body = batched_closed(jaxpr, size, const_flags + [True] * num_carry + row_flags)
    outs = scan_p.bind(*consts, *carry, *rows, jaxpr=body, length=length, reverse=reverse, num_consts=num_consts,
                       num_carry=num_carry)  # fmt: skip
    return outs[:num_carry] + [move_axis(y, 1, 0) for y in outs[num_carry:]]


# === 18 All of it =========================================================================================================
# Nothing is left to build, only to say: the words that programs use cost a line each, written in the language that is there. They
# are traced, compiled, differentiated and batched without one more rule.

nn = SimpleNamespace(
    relu=lambda x: numpy.maximum(x, 0),
    sigmoid=lambda x: 1 / (1 + numpy.exp(-x)),
    silu=lambda x: x / (1 + numpy.exp(-x)),
    softplus=lambda x: numpy.maximum(x, 0) + numpy.log1p(numpy.exp(-numpy.abs(x))),
    selu=lambda x: 1.0507009873554805 * where(x > 0, x, 1.6732632423543772 * numpy.expm1(numpy.minimum(x, 0))),
    softmax=lambda x, axis=-1: numpy.exp(x - logsumexp(x, axis)),
    log_softmax=lambda x, axis=-1: x - logsumexp(x, axis),
    one_hot=lambda labels, n: (asarray(labels)[..., None] == numpy.arange(n)).astype(F32),
)


def logsumexp(x, axis=-1):
    largest = numpy.max(x, axis, keepdims=True)
    return numpy.log(numpy.sum(numpy.exp(x - largest), axis, keepdims=True)) + largest


def var(x, axis=None):
    return numpy.mean(numpy.square(x - numpy.mean(x, axis, keepdims=True)), axis)


numpy.square, numpy.var, numpy.std = lambda x: x * x, var, lambda x, axis=None: numpy.sqrt(var(x, axis))
numpy.stack = lambda xs, axis=0: concatenate([numpy.expand_dims(x, axis) for x in xs], axis)
numpy.expand_dims = lambda x, axis: reshape(x, [*x.shape[:axis], 1, *x.shape[axis:]] if axis >= 0 else [*x.shape, 1])
numpy.ravel = lambda x: reshape(x, -1)
numpy.outer = lambda x, y: reshape(x, (-1, 1)) * reshape(y, -1)
numpy.linspace = lambda start, stop, num=50: asarray(np.linspace(start, stop, num))
numpy.clip = lambda x, low, high: numpy.minimum(numpy.maximum(x, low), high)
jacfwd = lambda f: lambda x: vmap(lambda t: jvp(f, (x,), (t,))[1], out_axes=-1)(asarray(np.eye(x.size)).reshape(x.size, *x.shape))
jacrev = lambda f: lambda x: vmap(vjp(f, x)[1])(asarray(np.eye(f(x).size)))[0]
hessian = lambda f: jacfwd(grad(f))
