"""A JIT in one sitting: JAX from an empty file, in eighteen sections.

Each section adds one ability, and none changes a line of an earlier one: what stands above any of the headings is a
working package. (A few names, such as `jit`, are replaced by a better version later.) That is possible since
everything that grows is a table: what a primitive computes (`impl`), the types of its results (`types`), its text
for XLA (`lowerings`), its derivative (`jvps`, `transposes`), what it does to batches (`batchers`). A primitive is a
name; everything known about it stands in tables, and later sections add more tables.

The other idea is the door. Every operation goes through `Primitive.bind`, and whoever stands at the door decides what
the operation means: compute it, write it down, lower it to text, differentiate it, or do it for a whole batch.

The package needs numpy, and `xla.py` to compile and run. `jitkit` does the same for all dtypes and devices, with better
messages. The package begins with its imports, and four empty namespaces, `numpy`, `lax`, `core` and `errors`: each section
puts into them the names that JAX has there.
"""

import functools
import inspect
import itertools
import math
import operator
import weakref
from collections import namedtuple
from types import SimpleNamespace

import numpy as np

import xla

numpy, lax, core, errors = [SimpleNamespace() for _ in range(4)]

# === 01 One door ======================================================================================================
# Why not simply call `np.sin`? Because numpy returns numbers, and afterwards nobody can know that a sine was taken.
# So `sin` does not compute. It hands its name and its operands to one function, `bind`, the door, and the interpreter
# that stands at the door decides. The first one is `Eager`, which computes with numpy at once. Others will follow.


class Aval(namedtuple("Aval", "shape dtype weak_type", defaults=[False])):
    """The type of an array. That of a Python number is weak: its dtype gives way to an array's."""

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))

    def __repr__(self):
        return f"{short(self.dtype)}[{','.join(map(str, self.shape))}]"


def resized(x, shape):
    """Return the type of `x`, with another shape."""
    return Aval(tuple(shape), x.dtype, x.weak_type)


F32, I32, BOOL = map(np.dtype, ("float32", "int32", "bool"))
short = lambda dtype: "bool" if dtype == BOOL else f"{dtype.kind}{8 * dtype.itemsize}"  # `f32`, `i8`, `bool`
narrow = lambda dtype: np.dtype(np.dtype(dtype).str.replace("8", "4"))  # 64 bits become 32, as in JAX: 8 bytes become 4


class Value:
    """Something with a type that one can calculate with. Its operators go through the door, too."""

    __array_ufunc__ = None  # numpy leaves `np_array + value` to us
    __hash__ = None  # since == compares elementwise


for name in ("shape", "dtype", "ndim", "size", "weak_type"):
    setattr(Value, name, property(operator.attrgetter(f"aval.{name}")))


class Array(Value):
    """A value with numbers: a numpy array, or (from section 7 on) an XLA buffer, which numpy can read."""

    def __init__(self, data, aval=None, weak_type=False):
        self.data, self.aval = data, aval or Aval(data.shape, data.dtype, weak_type)

    def __array__(self, dtype=None, copy=None):
        numbers = np.asarray(self.data).astype(dtype or self.dtype, copy=bool(copy))
        numbers.setflags(write=bool(copy))  # an Array never changes, so only a copy can be written to
        return numbers

    def __repr__(self):
        return f"Array({np.asarray(self)}, dtype={self.dtype.name})"


for name in ("__bool__", "__float__", "__int__", "__index__"):  # only `bool` takes an array with axes, if it has one number
    setattr(Array, name, lambda x, name=name: getattr(np.broadcast_to(x, x.shape if name == "__bool__" else ()), name)())


def as_value(x):
    """Make a Value of what users pass. Arrays are copied: if a user's array changes later, the Value does not."""
    if isinstance(x, Value):
        return x
    if isinstance(x, (bool, int, float, np.ndarray, np.generic)) and np.asarray(x).dtype.kind in "biuf":
        return Array(np.array(x, narrow(np.asarray(x).dtype)), weak_type=type(x) in (int, float))
    raise TypeError(f"{x!r} of type {type(x)} is not a valid JAX type: an array or a number is needed here")


class Primitive:
    """An operation, which is only a name. `bind` is the door: it returns the list of results; a call returns the only
    one."""

    def __init__(self, name):
        self.name = name

    def bind(self, *args, **params):
        return door.trace.process(self, args, params)

    def __call__(self, *args, **params):
        return door.trace.process(self, args, params)[0]


impl = {}  # primitive -> a function of Arrays, which returns a list of Arrays


class Eager:
    """The interpreter that stands at the door first: it computes at once."""

    def process(self, primitive, args, params):
        return impl[primitive](*args, **params)


door = SimpleNamespace(trace=Eager())  # `jitkit` has one for each thread


def asked(trace, f, *args, **kwargs):
    """Call `f` with `trace` at the door, and return its result."""
    before, door.trace = door.trace, trace
    try:
        return f(*args, **kwargs)
    finally:
        door.trace = before


def by_numpy(f):
    """The `impl` of an operation that numpy has. A result is weak if all operands are."""

    def run(*args, **params):
        with np.errstate(all="ignore"):
            result = np.asarray(f(*map(np.asarray, args), **params))
        weak_type = result.dtype != BOOL and all(x.weak_type for x in args if x.dtype != BOOL)
        return [Array(result.astype(narrow(result.dtype), copy=False), weak_type=weak_type)]

    return run


convert_p = Primitive("convert_element_type")
impl[convert_p] = lambda x, new_dtype, weak_type: [Array(np.asarray(x).astype(new_dtype), None, weak_type)]


def convert(x, dtype, weak_type=False):
    """Convert a Value to a dtype and a weakness, unless it has them. A Python number is converted at once: it does not go
    through the door, so no equation is written for it."""
    if x.aval.dtype == dtype and x.aval.weak_type == weak_type:
        return x
    is_number = type(x) is Array and x.weak_type and x.shape == ()
    return (impl[convert_p] if is_number else convert_p.bind)(x, new_dtype=narrow(dtype), weak_type=weak_type)[0]


KINDS = {"b": 0, "i": 1, "u": 1, "f": 2}


@functools.cache
def common_type(avals, to_float):
    """Return the common dtype, whether it is weak, and whether all have this type already. The highest kind (bool,
    integer, float) wins, and within a kind a weak type gives way."""
    top = max(KINDS[a.dtype.kind] for a in avals)
    highest = [a for a in avals if KINDS[a.dtype.kind] == top]
    strong = [a.dtype for a in highest if not a.weak_type]
    dtype = F32 if to_float and top < KINDS["f"] else narrow(np.result_type(*(strong or [highest[0].dtype])))
    return dtype, not strong, all(a.dtype == dtype and a.weak_type == (not strong) for a in avals)


def promote(xs, to_float=False):
    """Convert operands to their common dtype."""
    xs = [x if isinstance(x, Value) else as_value(x) for x in xs]
    dtype, weak, are_alike = common_type(tuple([x.aval for x in xs]), to_float)
    return xs if are_alike else [convert(x, dtype, weak) for x in xs]


def elementwise(name, public, to_float):
    """Define a primitive that works number by number, the function that users call, which promotes first, and the
    operator."""
    primitive = elementwise_primitives[name] = Primitive(name)
    impl[primitive] = by_numpy(getattr(np, public))
    function = lambda *xs: primitive(*promote(xs, to_float))
    setattr(numpy, public, function)
    setattr(Value, f"__{name}__", function)  # `x + y` with x a Value, and, if it is only y:
    setattr(Value, f"__r{name}__", lambda x, y: function(y, x))


TO_FLOAT = ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "log1p", "expm1")
QUESTIONS = dict(lt="less", le="less_equal", gt="greater", ge="greater_equal", eq="equal", ne="not_equal")
ELEMENTWISE = {  # JAX's name of the primitive -> numpy's name of the function
    **{name: name for name in ("abs", "sign", "floor", "add", *TO_FLOAT)}, "neg": "negative", "sub": "subtract",
    "mul": "multiply", "div": "divide", "max": "maximum", "min": "minimum", "pow": "power", "not": "invert",
    "and": "bitwise_and", "or": "bitwise_or", **QUESTIONS}
elementwise_primitives = {}
for name, public in ELEMENTWISE.items():
    elementwise(name, public, name in (*TO_FLOAT, "div"))
Value.__truediv__, Value.__rtruediv__, Value.__invert__ = Value.__div__, Value.__rdiv__, Value.__not__


def truth(x):
    """Return truth values: which numbers differ from 0."""
    x = as_value(x)
    return x if x.dtype == BOOL else x != 0


for name in ("and", "or", "not"):
    setattr(numpy, f"logical_{name}", lambda *xs, p=elementwise_primitives[name]: p(*map(truth, xs)))


def asarray(x, dtype=None):
    """Make an Array of an array, a number, or nested lists of numbers. A Python number stays weak."""
    x = as_value(np.asarray(x) if isinstance(x, (list, tuple)) else x)
    return convert(x, narrow(dtype or x.dtype), dtype is None and x.weak_type)


numpy.array, numpy.asarray, Value.astype = asarray, asarray, asarray

# >>> print(3 - numpy.sqrt(4) * numpy.asarray([1.0, 2.0]))
# => Array([ 1. -1.], dtype=float32)

# === 02 Write it down =================================================================================================
# Call a function with tracers, which have a type and no numbers, and put an interpreter at the door that writes
# operations down. The function runs as always, and its operations end up in a list of equations. What Python itself
# does leaves no trace.


class Tracer(Value):
    """A value without numbers. What its trace knows about it is in `data`."""

    def __init__(self, trace, aval, data):
        self.trace, self.aval, self.data = trace, aval, data

    def __repr__(self):
        return f"Tracer<{self.aval}>"


class Var:
    """A variable of a program: it has a type, and is equal only to itself."""

    def __init__(self, aval):
        self.aval = aval


Array.val = property(lambda self: self)  # JAX's name for a number that stands in a program where a variable could
Equation = namedtuple("Equation", "primitive invars params outvars")


class Jaxpr:
    """A program: variables for what it closed over and for its arguments, equations, results, and the closed-over
    values.

    JAX keeps these values apart, in a `ClosedJaxpr`, whose program is its `.jaxpr`. Here `.jaxpr` is the object
    itself."""

    jaxpr = property(lambda self: self)

    def __init__(self, constvars, invars, eqns, outvars, consts):
        self.constvars, self.invars, self.eqns, self.outvars, self.consts = constvars, invars, eqns, outvars, consts
        self.in_avals, self.out_avals = [v.aval for v in invars], [v.aval for v in outvars]


errors.UnexpectedTracerError = type("UnexpectedTracerError", (Exception,), {})
is_dead = lambda x: type(x) is Tracer and getattr(x.trace, "is_over", False)


class JaxprTrace:
    """The interpreter that writes operations down."""

    def __init__(self, avals):
        self.eqns, self.constants, self.is_over, self.invars = [], {}, False, [Var(aval) for aval in avals]
        self.tracers = [Tracer(self, v.aval, v) for v in self.invars]

    def process(self, primitive, args, params):
        outs = [Tracer(self, aval, Var(aval)) for aval in types[primitive](*[x.aval for x in args], **params)]
        invars = [x.data if type(x) is Tracer and x.trace is self else self.atom(x) for x in args]
        self.eqns.append(Equation(primitive, invars, params, [x.data for x in outs]))
        return outs

    def atom(self, x):
        """Return what stands for a value in an equation: its variable, if it is a tracer of this trace; itself, if it is
        a number; else the variable of a constant."""
        if type(x) is Tracer and x.trace is self:
            return x.data
        if type(x) is Array and x.shape == ():
            return x
        if is_dead(x):
            raise errors.UnexpectedTracerError(f"Encountered an unexpected tracer, {x!r}: its trace is over. Return values.")
        return self.constants.setdefault(id(x), (Var(x.aval), x))[0]

    def jaxpr(self, outs):
        """Return the program that returns these values."""
        outvars = [self.atom(as_value(x)) for x in outs]
        variables, values = unzip(self.constants.values())
        return Jaxpr(variables, self.invars, self.eqns, outvars, values)


def unzip(pairs):
    """Turn a list of pairs into a pair of lists."""
    return [list(column) for column in zip(*pairs, strict=True)] or [[], []]


def by_trying(primitive, *avals, **params):
    """Return the types of an equation's results, by computing with zeros. Section 4 has a better way."""
    return [x.aval for x in impl[primitive](*[Array(np.zeros(a.shape, a.dtype), a) for a in avals], **params)]


types = {p: functools.partial(by_trying, p) for p in impl}  # primitive -> rule(*avals, **params) -> avals of results


# A function has nested arguments; a program has a list of them. `flatten` takes a nested value apart: into its
# leaves, and a TreeDef, which can put leaves together again. So far it knows one container, the tuple of arguments.


TreeDef = namedtuple("TreeDef", "kind data children")
LEAF = TreeDef(None, None, ())
containers = {tuple: (lambda xs: (xs, None), lambda data, xs: tuple(xs))}  # type -> (take apart, put together)


def flatten(tree):
    """Return the leaves of a tree, and its TreeDef."""
    if type(tree) not in containers:
        return [tree], LEAF
    children, data = containers[type(tree)][0](tree)
    parts, treedefs = unzip(map(flatten, children))
    return [leaf for part in parts for leaf in part], TreeDef(type(tree), data, tuple(treedefs))


def flatten_values(tree):
    """`flatten`, with leaves made Values."""
    leaves, treedef = flatten(tree)
    return [as_value(x) for x in leaves], treedef


def unflatten(treedef, leaves):
    """Put a tree together. `leaves` is a list, or an iterator that is read as far as needed."""
    leaves = iter(leaves)
    if treedef.kind is None:
        return next(leaves)
    return containers[treedef.kind][1](treedef.data, [unflatten(child, leaves) for child in treedef.children])


class Flat:
    """Make a function of leaves of `f`, which returns leaves. After the call its `out_tree` is the TreeDef of the
    result."""

    def __init__(self, f, tree):
        self.f, self.tree = f, tree

    def __call__(self, *leaves):
        outs, self.out_tree = flatten(self.f(*unflatten(self.tree, leaves)))
        return outs


def trace_tree(f, tree, avals):
    """Trace `f(*args)`, for a tree of arguments whose leaves have these types. Return the program, and the TreeDef of
    its result."""
    flat, trace = Flat(f, tree), JaxprTrace(avals)
    try:
        return trace.jaxpr(asked(trace, flat, *trace.tracers)), flat.out_tree
    finally:
        trace.is_over = True  # also if `f` raised an error


def make_jaxpr(f):
    """`make_jaxpr(f)(*args)` returns the program of `f` for arguments of these types."""

    def traced(*args):
        leaves, tree = flatten_values(args)
        return trace_tree(f, tree, [x.aval for x in leaves])[0]

    return traced


LETTERS = "abcdefghijklmnopqrstuvwxyz"
letters = lambda n: (letters(n // 26) if n >= 26 else "") + LETTERS[n % 26]  # a, ... z, ba, ... zz, baa


def show(jaxpr):
    """Print a program as JAX does, with variables called a, b, c in the order of appearance."""
    operands = [v for eqn in jaxpr.eqns for v in eqn.invars]
    names, used = {}, set(map(id, jaxpr.constvars + jaxpr.invars + operands + jaxpr.outvars))

    def atom(v):
        if type(v) is Array:
            return f"{np.asarray(v).item()}:{v.aval}"
        return letters(names.setdefault(v, len(names)))

    def binders(variables):
        return " ".join([f"{atom(v) if id(v) in used else '_'}:{v.aval}" for v in variables])

    lines = [f"{{ lambda {binders(jaxpr.constvars)}; {binders(jaxpr.invars)}. let"]
    for primitive, operands, params, results in jaxpr.eqns:
        said = " ".join([f"{k}={v}" for k, v in sorted(params.items())]).replace("\n", "\n        ")
        said = f"{primitive.name}{f'[{said}]' if said else ''} {' '.join(map(atom, operands))}"
        lines.append(f"    {binders(results)} = {said}")
    outs = ", ".join(map(atom, jaxpr.outvars)) + ("," if len(jaxpr.outvars) == 1 else "")
    return "\n".join([*lines, f"  in ({outs}) }}"])


Jaxpr.__repr__ = show

# >>> print(make_jaxpr(lambda x: 3 - numpy.sqrt(x) * x)(4.0))
# => { lambda ; a:f32[]. let
# =>     b:f32[] = sqrt a
# =>     c:f32[] = mul b a
# =>     d:f32[] = sub 3.0:f32[] c
# =>   in (d,) }

# === 03 Run it again ==================================================================================================
# A program is data. An interpreter for it has ten lines: an environment from variables to values, and for each equation
# an operation that goes through the door. Whoever stands at the door decides what it means to run the program, so this
# function also lowers programs to text, differentiates and batches them, and writes them down anew.


def eval_jaxpr(jaxpr, consts, *args):
    """Run a program, and return the list of its results."""
    env = dict(zip(jaxpr.constvars + jaxpr.invars, map(as_value, [*consts, *args]), strict=True))

    process = door.trace.process  # looked up once: nobody else comes to the door meanwhile
    for primitive, invars, params, outvars in jaxpr.eqns:
        operands = [v if type(v) is Array else env[v] for v in invars]
        env.update(zip(outvars, process(primitive, operands, params)))
    return [v if type(v) is Array else env[v] for v in jaxpr.outvars]


core.eval_jaxpr, as_function = eval_jaxpr, lambda jaxpr: functools.partial(eval_jaxpr, jaxpr, jaxpr.consts)

# >>> program = make_jaxpr(lambda x: 3 - numpy.sqrt(x) * x)(4.0)
# >>> print(eval_jaxpr(program, program.consts, 16.0))
# => [Array(-61.0, dtype=float32)]
# >>> print(make_jaxpr(lambda x: as_function(program)(x)[0])(1.0))
# => { lambda ; a:f32[]. let
# =>     b:f32[] = sqrt a
# =>     c:f32[] = mul b a
# =>     d:f32[] = sub 3.0:f32[] c
# =>   in (d,) }

# === 04 Types =========================================================================================================
# Computing with zeros in order to know a shape is slow, and its errors say nothing useful when shapes do not fit. A
# type rule needs no numbers, runs while Python still knows which line is to blame, and can remember its answers.


@functools.cache
def elementwise_type(primitive, *avals):
    """Return the type of an elementwise result: its shape by numpy's broadcasting; bool for comparisons."""
    shapes = [a.shape for a in avals]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise TypeError(f"{primitive.name} got incompatible shapes for broadcasting: {str(shapes)[1:-1]}.") from None
    dtype = BOOL if primitive.name in QUESTIONS else avals[0].dtype
    return [Aval(shape, dtype, dtype != BOOL and all(a.weak_type for a in avals))]


for primitive in elementwise_primitives.values():
    types[primitive] = functools.partial(elementwise_type, primitive)
types[convert_p] = lambda x, new_dtype, weak_type: [Aval(x.shape, new_dtype, weak_type)]

# A tracer has no number to give to Python, and must say so: Python takes any object without `__bool__` for true.


def refuse(method, error, what, instead):
    """Make a Python method of tracers raise one of `errors`."""
    error = vars(errors).setdefault(error, type(error, (TypeError,), {}))

    def ask(self, *args, **kwargs):
        raise error(f"Attempted {what} of a traced array, {self.aval}: a tracer has a type, and no numbers. {instead}")

    setattr(Tracer, method, ask)


refuse("__bool__", "TracerBoolConversionError", "boolean conversion", "Instead of `if`, use `where` or `lax.cond`.")
refuse("__float__", "ConcretizationTypeError", "conversion to float", "Keep it an array.")
refuse("__int__", "ConcretizationTypeError", "conversion to int", "Keep it an array.")
refuse("__index__", "TracerIntegerConversionError", "use as an index", "A size must be known: make it a static argument.")
refuse("__array__", "TracerArrayConversionError", "conversion to numpy", "Use the functions of `numpy` here.")

# A tracer whose trace has ended may turn up where operations are computed at once. No trace knows it: `atom` raises an error.

Eager.process = lambda self, p, xs, params: impl[p](*[JaxprTrace.atom(None, x) if is_dead(x) else x for x in xs], **params)

# >>> print(make_jaxpr(lambda n: n * 2.5 + n)(np.int32([1, 2, 3])))
# => { lambda ; a:i32[3]. let
# =>     b:f32[3] = convert_element_type[new_dtype=float32 weak_type=True] a
# =>     c:f32[3] = mul b 2.5:f32[]
# =>     d:f32[3] = convert_element_type[new_dtype=float32 weak_type=True] a
# =>     e:f32[3] = add c d
# =>   in (e,) }

# === 05 Trees =========================================================================================================
# Parameters of a model are dicts of lists. `flatten` exists; it only has to know more containers. Keys of a dict are
# sorted: two dicts with the same entries are the same arguments, in whatever order they were filled.

containers[list] = (lambda xs: (xs, None), lambda data, xs: xs)
containers[type(None)] = (lambda x: ((), None), lambda data, xs: None)
containers[dict] = (lambda x: ([x[key] for key in sorted(x)], tuple(sorted(x))),
                    lambda keys, xs: dict(zip(keys, xs, strict=True)))


def tree_map(f, tree, *rest):
    """Apply `f` to each leaf of a tree, and to the leaves at the same place in the others."""
    columns, treedefs = unzip(map(flatten, (tree, *rest)))
    if any(treedef != treedefs[0] for treedef in treedefs):
        raise ValueError(f"the trees are not built alike: {treedefs}")
    return unflatten(treedefs[0], map(f, *columns))


tree_util = SimpleNamespace(
    tree_flatten=flatten, tree_leaves=lambda tree: flatten(tree)[0], tree_structure=lambda tree: flatten(tree)[1],
    tree_unflatten=unflatten, tree_map=tree_map,
    register_pytree_node=lambda kind, apart, together: containers.update({kind: (apart, together)}))

# >>> print(tree_map(lambda x, y: x + y, {'b': 1, 'a': [2, None]}, {'a': [30, None], 'b': 40}))
# => {'a': [32, None], 'b': 41}

# === 06 Speak StableHLO ===============================================================================================
# XLA reads text: about one line for each operation, with the types of its operands and results. To write it, run the
# program once more, with an interpreter at the door that knows the name of each value in the text, `%3`.

lowerings = {}  # primitive -> rule(text, avals of results, *operands, **params) -> results: tracers that have names


@functools.cache
def tensor(aval):
    """`tensor<2x3xf32>`."""
    kind = short(aval.dtype).replace("bool", "i1").replace("u", "ui")
    return f"tensor<{''.join([f'{n}x' for n in aval.shape])}{kind}>"


tensors = lambda avals: ", ".join([tensor(a) for a in avals])  # the types of several values
names = lambda xs: ", ".join([x.data for x in xs])


class Text:
    """The interpreter that writes StableHLO: the lines of the current function, and the finished functions."""

    def __init__(self):
        self.lines, self.functions, self.numbers, self.known = [], [], itertools.count(), {}

    def process(self, primitive, args, params):
        outs = types[primitive](*[x.aval for x in args], **params)
        return lowerings[primitive](self, outs, *[x if type(x) is Tracer else self.named(x) for x in args], **params)

    def named(self, x):
        """Return a value named in the text. A constant gets its name by a line with its bytes, so no digit is lost."""
        if type(x) is Tracer:
            return x
        data = np.asarray(x)
        digits = str(data.tolist()).lower() if x.dtype == BOOL else f'"0x{data.tobytes().hex()}"' if x.size else ""
        return self.line(f"stablehlo.constant dense<{digits}> : {tensor(x.aval)}", [x.aval])[0]

    def op(self, said, xs, outs):
        """Write a line: an operation and its types."""
        return self.line(f"{said} : ({tensors([x.aval for x in xs])}) -> ({tensors(outs)})", outs)

    def line(self, said, outs):
        """Write a line, and give its results their names."""
        name = f"%{next(self.numbers)}"
        if len(outs) == 1:
            self.lines.append(f"{name} = {said}")
            return [Tracer(self, outs[0], name)]
        self.lines.append(f"{name}:{len(outs)} = {said}" if outs else said)
        return [Tracer(self, aval, f"{name}#{i}") for i, aval in enumerate(outs)]

    def spread(self, x, shape):
        """Broadcast an operand to the shape of the result, by a line of its own."""
        if x.aval.shape == shape:
            return x
        axes = list(range(len(shape) - x.ndim, len(shape)))
        return self.op(f"stablehlo.broadcast_in_dim {x.data}, dims = {axes}", [x], [resized(x, shape)])[0]

    def arguments(self, avals):
        """Return tracers with names for a function's arguments, and the text that declares them."""
        xs = [Tracer(self, aval, f"%arg{next(self.numbers)}") for aval in avals]
        return xs, ", ".join([f"{x.data}: {tensor(x.aval)}" for x in xs])

    def body(self, jaxpr, xs, last):
        """Return the lines of a program as text, for a function or a region; `last` is the operation that returns
        its results."""
        outside, self.lines = self.lines, []
        outs = [self.named(x) for x in asked(self, as_function(jaxpr), *xs)]
        lines, self.lines = self.lines, outside
        return "\n".join([*lines, f"{last} {names(outs)} : {tensors(jaxpr.out_avals)}" if outs else last])

    def function(self, name, jaxpr, visibility="private"):
        """Write a function of the module."""
        xs, declared = self.arguments(jaxpr.in_avals)
        head = f"func.func {visibility} @{name}({declared}) -> ({tensors(jaxpr.out_avals)})"
        self.functions.append(f"{head} {{\n{self.body(jaxpr, xs, 'return')}\n}}")


def lower_jaxpr(jaxpr):
    """Write a whole module for a program."""
    text = Text()
    text.function("main", jaxpr, "public")
    return "\n".join(["module @program {", *text.functions, "}"])


def lower(f, *args):
    """Return the StableHLO of `f` for arguments of these types."""
    return lower_jaxpr(make_jaxpr(f)(*args))


def one_line(op, attributes=lambda *xs, **params: ""):
    """Make the rule of an operation that is one line: operands, attributes, types."""
    return lambda text, outs, *xs, **params: text.op(f"stablehlo.{op} {names(xs)}{attributes(*xs, **params)}", xs, outs)


def elementwise_line(op, text, outs, *xs):
    """Write the line of an elementwise operation. Operands get the shape of the result; a type that all share is
    written once."""
    shape, kind = outs[0].shape, tensor(outs[0])
    operands = ", ".join([x.data if x.aval.shape == shape else text.spread(x, shape).data for x in xs])
    if "compare" in op:  # the result has another type than the operands
        kind = f"({tensors([resized(x, shape) for x in xs])}) -> {kind}"
    return text.line(f"stablehlo.{op} {operands} : {kind}", outs)


WORDS = {  # StableHLO has numpy's names, except for these
    "neg": "negate", "sin": "sine", "cos": "cosine", "exp": "exponential", "expm1": "exponential_minus_one",
    "log1p": "log_plus_one", "and": "and", "or": "or", "not": "not",
    **{name: f"compare {name.upper()}," for name in QUESTIONS}}
for name, primitive in elementwise_primitives.items():
    lowerings[primitive] = functools.partial(elementwise_line, WORDS.get(name, ELEMENTWISE[name]))
lowerings[convert_p] = one_line("convert")

# >>> print(lower(lambda x: numpy.sin(x) * 2.0, np.ones(3, np.float32)))
# => module @program {
# => func.func public @main(%arg0: tensor<3xf32>) -> (tensor<3xf32>) {
# => %1 = stablehlo.sine %arg0 : tensor<3xf32>
# => %2 = stablehlo.constant dense<"0x00000040"> : tensor<f32>
# => %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> (tensor<3xf32>)
# => %4 = stablehlo.multiply %1, %3 : tensor<3xf32>
# => return %4 : tensor<3xf32>
# => }
# => }

# === 07 Let XLA =======================================================================================================
# Now the program goes to a compiler, which sees all of it at once: it computes a chain of operations in one pass over
# memory, where numpy makes one pass for each. Calling a program is an operation, too, with the program as its
# parameter, and it goes through the door; there `Eager` has XLA run it. What the program closed over is passed in
# front of its arguments.

jit_p = Primitive("jit")
impl[jit_p] = lambda *args, jaxpr, name: jaxpr.run(args)


def run(jaxpr, args):
    """Have XLA run a program, which is compiled at its first call."""
    if not hasattr(jaxpr, "executable"):
        jaxpr.executable = xla.compile(lower_jaxpr(jaxpr))
    for x in args:
        if isinstance(x.data, np.ndarray):
            x.data = xla.put(x.data)  # copied to XLA's memory once: later calls find it there
    return list(map(Array, jaxpr.executable([x.data for x in args]), jaxpr.out_avals))


def hoist(*jaxprs):
    """Return all values that some programs closed over, and the programs with additional first arguments for them."""
    variables, consts = unzip([pair for jaxpr in jaxprs for pair in zip(jaxpr.constvars, jaxpr.consts, strict=True)])
    return consts, [Jaxpr([], variables + jaxpr.invars, jaxpr.eqns, jaxpr.outvars, []) for jaxpr in jaxprs]


class Jit:
    """`jit(f)`: a call traces `f` for its arguments, and calls the program. Later sections find the program
    faster."""

    def __init__(self, f):
        functools.update_wrapper(self, f)  # its name, its docstring; and itself, as `__wrapped__`

    def __call__(self, *args, **kwargs):
        leaves, tree = flatten_values((args, kwargs))
        consts, jaxpr, out_tree = self.trace(tree, tuple([x.aval for x in leaves]))
        return unflatten(out_tree, jit_p.bind(*consts, *leaves, jaxpr=jaxpr, name=getattr(self, "__name__", "f")))

    def trace(self, tree, avals):
        """Return what the program closed over, the program, and the TreeDef of its result."""
        jaxpr, out_tree = trace_tree(lambda args, kwargs: self.__wrapped__(*args, **kwargs), tree, avals)
        consts, [jaxpr] = hoist(jaxpr)
        return consts, jaxpr, out_tree


Jaxpr.run, jit = run, Jit  # a method: rungs 19 to 23 have a class of programs with another `run`, which runs C

# >>> print(jit(lambda x: x * 2.0 + 1.0)(1.5), xla.compiled, xla.executed)
# => Array(4.0, dtype=float32) 1 1

# === 08 Remember ======================================================================================================
# Tracing takes microseconds for each equation, compiling milliseconds, running nearly nothing. So programs are kept,
# and the art is in the key. It must contain everything that the program depends on: the tree, and each leaf's shape,
# dtype and weakness. If something is missing from the key, results are wrong: at a call XLA only compares how many
# bytes each argument has, so a program for float32[2,3] takes int32[2,3] without an error. And the key must contain
# nothing else, above all no data. What `f` reads besides its arguments, a global or a closed-over list, is not in the
# key: `jit` assumes that it never changes.
#
# The programs of `f` live as long as `f`: a lambda that is made in a loop takes its programs with it.

memories = weakref.WeakKeyDictionary()  # function -> key -> what `trace` returned


class RememberingJit(Jit):
    """`jit(f)` that traces once for each signature."""

    def __init__(self, f):
        super().__init__(f)
        self.known = memories.setdefault(f, {})

    def trace(self, tree, avals):
        key = tree, avals
        found = consts, *_ = self.known.get(key) or super().trace(tree, avals)
        if not any(type(x) is Tracer for x in consts):  # a tracer is dead when its trace has ended
            self.known[key] = found
        return found

    def __call__(self, *args, **kwargs):
        if kwargs or type(door.trace) is not Eager or not all([type(x) is Array for x in args]):
            return super().__call__(*args, **kwargs)
        # The usual case: all arguments are Arrays, so their types are the key, and nothing has to be taken apart; and
        # no trace goes on, so `f` cannot close over its tracers.
        avals = tuple([x.aval for x in args])
        consts, jaxpr, out_tree = self.known.get(avals) or self.known.setdefault(
            avals, self.trace(flatten((args, {}))[1], avals))
        return unflatten(out_tree, jaxpr.run([*consts, *args]))


jit = RememberingJit

# >>> f = jit(lambda x: print('traced for', x.aval) or x * 2.0)
# >>> _ = f(np.ones(3)), f(np.zeros(3)), f(np.ones(4)), f(1.0)
# => traced for f32[3]
# => traced for f32[4]
# => traced for f32[]

# === 09 Numbers that are not data =====================================================================================
# Some arguments are not numbers to compute with, but say what Python does while it traces: a number of layers, the name
# of an activation. The function gets the value itself, and the value is part of the key, by hash and equality, and by
# its type, since `True == 1 == 1.0`. The tree has a place for it already: a container without leaves, whose data is the
# value.


Static = namedtuple("Static", "value")
containers[Static] = (lambda x: ((), (type(x.value), x.value)), lambda data, children: data[1])


class StaticJit(RememberingJit):
    """`jit(f)` with some static arguments, given by number or by name."""

    def __init__(self, f, static_argnums=(), static_argnames=()):
        super().__init__(f)
        numbers, chosen = (np.ravel(x).tolist() for x in (static_argnums, static_argnames))  # one, or several
        self.parameters = list(inspect.signature(f).parameters)
        self.parameters += range(len(self.parameters), 1 + max(numbers, default=0))  # items of `*args` have numbers only
        self.chosen = {*chosen, *[self.parameters[n] for n in numbers]}

    def __call__(self, *args, **kwargs):
        args = itertools.zip_longest(self.parameters[: len(args)], args)
        kwargs = {name: self.marked(name, x) for name, x in kwargs.items()}
        return super().__call__(*[self.marked(*named) for named in args], **kwargs)

    def marked(self, name, x):
        """Wrap an argument in a container without leaves, if it is static."""
        if name not in self.chosen:
            return x
        try:
            hash(x)
        except TypeError:
            raise ValueError(f"Non-hashable static arguments are used in a jit function: {name!r} is {x!r}, and has "
                             "to be part of a key. Hand over a tuple for a list.") from None
        return Static(x)


def jit(f, **static):
    return StaticJit(f, **static) if static else RememberingJit(f)

# >>> times = jit(lambda x, n: [x * i for i in range(n)], static_argnums=1)
# >>> print(times(2.0, 3))
# => [Array(0.0, dtype=float32), Array(2.0, dtype=float32), Array(4.0, dtype=float32)]

# === 10 Reduce, multiply, move ========================================================================================
# With nine more primitives, most of numpy can be written. Each has one paragraph of code, which says what the primitive
# computes, the type of its result, and its StableHLO.


def define(name, run, type_, lowering):
    """Define a primitive with all the rules that exist so far."""
    p = Primitive(name)
    impl[p], types[p], lowerings[p] = run, type_, lowering
    return p


def primitive(name, by, type_, lowering):
    """Define a primitive with one result, which numpy can compute. The result has the type that the rule says, at once, too."""
    run = lambda *xs, **params: [Array(aval=type_(*[x.aval for x in xs], **params), data=by_numpy(by)(*xs, **params)[0].data)]
    return define(name, run, lambda *avals, **params: [type_(*avals, **params)], lowering)


def as_axes(axis, ndim):
    """Return axes as a tuple. None means all; there may be one or several; negative ones count from the end."""
    return tuple(np.arange(ndim)[slice(None) if axis is None else np.ravel(axis).astype(int)].tolist())


def without(shape, axes, ones=False):
    """Return a shape without some axes; with `ones`, these get size 1 instead."""
    return tuple([1 if i in axes else n for i, n in enumerate(shape) if ones or i not in axes])


def reduction(name, by, op, first):
    """Define a sum or a maximum. XLA needs the operation, and the value to begin with."""

    def lowering(text, outs, x, axis):
        begin = text.named(as_value(np.asarray(first(x.dtype), x.dtype)))
        said = f"stablehlo.reduce({x.data} init: {begin.data}) applies stablehlo.{op} across dimensions = {list(axis)}"
        return text.op(said, [x, begin], outs)

    def reduce(x, axis=None, keepdims=False):
        x = asarray(x)  # a result is strong, and truth values are counted
        x = convert(x, narrow(np.sum(np.zeros(0, x.dtype)).dtype) if op == "add" else x.dtype)
        axes = as_axes(axis, x.ndim)
        return reshape(p(x, axis=axes), without(x.shape, axes, keepdims))

    p = primitive(name, by, lambda x, axis: resized(x, without(x.shape, axis)), lowering)
    return p, reduce


lowest = lambda dtype: -np.inf if dtype.kind == "f" else False if dtype == BOOL else np.iinfo(dtype).min


reduce_sum_p, numpy.sum = reduction("reduce_sum", np.sum, "add", lambda dtype: 0)
reduce_max_p, numpy.max = reduction("reduce_max", np.max, "maximum", lowest)


def mean(x, axis=None, keepdims=False):
    return numpy.sum(x, axis, keepdims) / math.prod([np.shape(x)[i] for i in as_axes(axis, np.ndim(x))])


reshape_p = primitive("reshape", lambda x, shape: np.reshape(x, shape), resized, one_line("reshape"))


def reshape(x, *shape):
    x, shape = asarray(x), list(shape[0] if isinstance(shape[0], (tuple, list)) else shape)
    shape = [x.size // max(-math.prod(shape), 1) if n == -1 else n for n in shape]
    if math.prod(shape) != x.size:
        raise TypeError(f"cannot reshape array of shape {x.shape} (size {x.size}) into shape {tuple(shape)}")
    return x if tuple(shape) == x.shape else reshape_p(x, shape=tuple(shape))


transpose_p = primitive("transpose", np.transpose, lambda x, axes: resized(x, [x.shape[i] for i in axes]),
                        one_line("transpose", lambda x, axes: f", dims = {list(axes)}"))


def transpose(x, axes=None):
    x, axes = asarray(x), as_axes(range(np.ndim(x))[::-1] if axes is None else axes, np.ndim(x))
    return x if axes == tuple(range(x.ndim)) else transpose_p(x, axes=axes)


broadcast_p = primitive("broadcast_in_dim", np.broadcast_to, resized, lambda text, outs, x, shape: [text.spread(x, shape)])


def broadcast_to(x, shape):
    x = asarray(x)
    return x if x.shape == tuple(shape) else broadcast_p(x, shape=tuple(shape))


full = lambda shape, value, dtype=None: broadcast_to(asarray(value, dtype), (shape,) if isinstance(shape, int) else shape)


select_p = primitive("select", np.where, lambda which, yes, no: yes, one_line("select"))


def where(which, yes, no):
    which, (yes, no) = asarray(which), promote([yes, no])
    shape = np.broadcast_shapes(which.shape, yes.shape, no.shape)
    which, yes, no = [broadcast_to(x, shape) for x in (which, yes, no)]
    return select_p(truth(which), yes, no)


# The corner of a window may be data; its size may not. A window that would reach over the edge is moved back.
def window(x, *corner, sizes):
    starts = np.clip(corner, 0, np.subtract(x.shape, sizes))
    return x[tuple(map(slice, starts, starts + sizes))]


def write_window(x, update, *corner):
    x = x.copy()
    window(x, *corner, sizes=update.shape)[...] = update
    return x


dynamic_slice_p = primitive("dynamic_slice", window, lambda x, *corner, sizes: resized(x, sizes),
                            one_line("dynamic_slice", lambda x, *corner, sizes: f", sizes = {list(sizes)}"))
dynamic_update_slice_p = primitive(
    "dynamic_update_slice", write_window, lambda x, update, *corner: x, one_line("dynamic_update_slice"))


def getitem(x, index):
    """`x[i, 2:5, None]`: integers, which may be data; slices of step 1; None makes an axis."""
    index = index if isinstance(index, tuple) else (index,)
    rest = x.ndim - sum(i is not None for i in index)
    if rest < 0:
        raise IndexError(f"Too many indices: {x.aval} has {x.ndim} axes, and {len(index)} are asked for.")
    index, lengths = [*index, *[slice(None)] * rest], iter(x.shape)
    x = reshape(x, [1 if i is None else next(lengths) for i in index])
    corner, sizes = unzip(map(place, index, x.shape))
    if tuple(sizes) != x.shape:
        x = dynamic_slice_p(x, *[convert(as_value(i), I32) for i in corner], sizes=tuple(sizes))
    return reshape(x, [n for i, n in zip(index, sizes, strict=True) if i is None or isinstance(i, slice)])


def place(i, n):
    """Where an index begins on an axis of size n, and how many elements it takes. An index out of range is moved to the
    nearest element later, by `dynamic_slice`, as in JAX."""
    if i is None or isinstance(i, slice):
        taken = range(n)[i or slice(None)]
        if taken.step != 1:
            raise NotImplementedError(f"a slice of step {taken.step}")
        return taken.start, len(taken)
    if as_value(i).dtype.kind not in "iu" or np.ndim(i):
        raise TypeError(f"{i!r} is not an index: here it has to be one whole number, or a slice.")
    return i + n * (i < 0) if isinstance(i, int) else where(i < 0, i + n, i), 1


# A product of two arrays gives each axis a letter, as `einsum` does: letters that are missing from the result are
# summed over. So its derivative and its batches are products with other letters.
def dot_type(x, y, letters):
    xs, ys, out = letters
    sizes = dict(zip(xs + ys, x.shape + y.shape, strict=True))
    if [sizes[letter] for letter in xs] != [*x.shape]:
        raise TypeError(f"dot_general requires contracting dimensions to have the same shape, got {x} and {y}.")
    return resized(x, [sizes[letter] for letter in out])


def lower_dot(text, outs, x, y, letters):
    """XLA gets the numbers of the axes that x and y share: those that the result keeps (batching), and those that are
    summed over (contracting). In XLA's result the batching axes come first, then the other axes of x, then those of y.
    For `ij,jk->ik`: batching [] x [], contracting [1] x [0]. For `bij,bjk->bik`: batching [0] x [0], contracting
    [2] x [1]."""
    xs, ys, out = letters
    batch, summed = [[c for c in xs if c in ys and (c in out) == kept] for kept in (True, False)]
    have = [*batch, *[c for c in xs if c not in ys], *[c for c in ys if c not in xs]]
    numbers = [f"_dims = {list(map(xs.index, both))} x {list(map(ys.index, both))}" for both in (batch, summed)]
    said = f"stablehlo.dot_general {x.data}, {y.data}, batching{numbers[0]}, contracting{numbers[1]}"
    [product] = text.op(said, [x, y], [resized(x, [outs[0].shape[out.index(c)] for c in have])])
    return [transpose(product, [have.index(c) for c in out])]


dot_p = primitive("dot_general", lambda x, y, letters: np.einsum("{},{}->{}".format(*letters), x, y), dot_type, lower_dot)


def matmul(x, y):
    """`x @ y`: sum over the axis k; the axes before the last two are a batch."""
    x, y = promote([x, y])
    batch = LETTERS[: max(x.ndim, y.ndim, 2) - 2].upper()
    xs, ys = ("k" if z.ndim == 1 else (batch + last)[-z.ndim :] for z, last in ((x, "ik"), (y, "kj")))
    return dot_p(x, y, letters=(xs, ys, batch + "i" * (x.ndim > 1) + "j" * (y.ndim > 1)))


def dot(x, y):
    """Multiply all rows of x with all columns of y: this is `@` only if one of them has one axis or both have two."""
    x, y = promote([x, y])
    rows, columns = LETTERS.upper()[: x.ndim - 1], LETTERS.upper()[x.ndim - 1 :][: y.ndim - 1]
    return dot_p(x, y, letters=(rows + "k", columns[:-1] + "k" + columns[-1:], rows + columns)) if x.ndim and y.ndim else x * y


vars(numpy).update(reshape=reshape, transpose=transpose, where=where, broadcast_to=broadcast_to, full=full, mean=mean,
                   matmul=matmul, dot=dot)
turned = lambda x: -x if x.dtype.kind == "f" else ~x  # the order of the numbers, turned around
numpy.min = lambda x, axis=None, keepdims=False: turned(numpy.max(turned(asarray(x)), axis, keepdims))
numpy.zeros, numpy.ones = [lambda shape, dtype=F32, n=n: full(shape, n, dtype) for n in (0, 1)]
zeros_of = lambda aval: broadcast_to(convert(as_value(0), aval.dtype, aval.weak_type), aval.shape)
numpy.zeros_like = lambda x: zeros_of(as_value(x))
numpy.arange = lambda *args: asarray(np.arange(*args))
Value.__matmul__, Value.__rmatmul__ = matmul, lambda x, y: matmul(y, x)
Value.__getitem__, Value.reshape, Value.sum, Value.max, Value.mean = getitem, reshape, numpy.sum, numpy.max, mean
Value.T, Value.__len__, Value.__iter__ = property(transpose), lambda x: x.shape[0], lambda x: map(x.__getitem__, range(len(x)))

# === 11 Jit in jit ====================================================================================================
# If a jitted function is called while another one is traced, a JaxprTrace stands at the door: the call becomes one
# equation, with a program as its parameter. What the program closed over is among its arguments already (section 7).
# XLA gets one private function for each program, however often it is called.

types[jit_p] = lambda *avals, jaxpr, name: jaxpr.out_avals


def lower_jit(text, outs, *xs, jaxpr, name):
    if jaxpr not in text.known:
        text.known[jaxpr] = f"f{len(text.known)}"
        text.function(text.known[jaxpr], jaxpr)
    return text.op(f"func.call @{text.known[jaxpr]}({names(xs)})", xs, outs)


lowerings[jit_p] = lower_jit

# === 12 Choose ========================================================================================================
# Python decides an `if` while tracing. For a decision that depends on data both branches are traced, into two
# programs, which must return the same types; one of them runs.


def must_agree(what, avals, others, tree, other_tree):
    """Raise a TypeError if the trees differ, or if types differ in shape or dtype."""
    if tree != other_tree or [(a.shape, a.dtype) for a in avals] != [(a.shape, a.dtype) for a in others]:
        raise TypeError(f"{what} must have equal types: here are {avals} in {tree}, there {others} in {other_tree}")


def cond(pred, true_fun, false_fun, *operands):
    """`true_fun(*operands)` if `pred`, else `false_fun(*operands)`."""
    pred = as_value(pred)
    if pred.shape != ():
        raise TypeError(f"Pred must be a scalar, got {pred.aval}: one decision is made, not one for each number.")
    return choose(convert(truth(pred), I32), [false_fun, true_fun], operands)


def switch(index, branches, *operands):
    """`branches[index](*operands)`; an index below 0 calls the first branch, one that is too large the last."""
    return choose(convert(numpy.minimum(numpy.maximum(index, 0), len(branches) - 1), I32), branches, operands)


def choose(index, branches, operands):
    """Do the work of `cond` and `switch`, for an index that is in range."""
    leaves, tree = flatten_values(operands)
    jaxprs, out_trees = unzip([trace_tree(branch, tree, [x.aval for x in leaves]) for branch in branches])
    for jaxpr, out_tree in zip(jaxprs, out_trees, strict=True):
        must_agree("branch outputs", jaxprs[0].out_avals, jaxpr.out_avals, out_trees[0], out_tree)
    consts, jaxprs = hoist(*jaxprs)
    return unflatten(out_trees[0], cond_p.bind(index, *consts, *leaves, branches=tuple(jaxprs)))


lax.cond, lax.switch = cond, switch


def region(text, jaxpr, xs, head=""):
    """Return a program's lines in braces. They may use the names around them."""
    return f"{{\n{head}{text.body(jaxpr, xs, 'stablehlo.return')}\n}}"


def lower_cond(text, outs, index, *xs, branches):
    regions = ", ".join([region(text, branch, xs) for branch in branches])
    return text.op(f'"stablehlo.case"({index.data}) ({regions})', [index], outs)


def run_cond(index, *args, branches):
    outs = as_function(branches[int(index)])(*args)
    return [convert(x, a.dtype, a.weak_type) for x, a in zip(outs, branches[0].out_avals, strict=True)]


# As in JAX, the first branch decides whether a result is weak; for `cond` that is the branch for False.
cond_p = define("cond", run_cond, lambda index, *avals, branches: branches[0].out_avals, lower_cond)

# >>> print(make_jaxpr(lambda x: cond(x > 0, lambda: x, lambda: -x))(2.0))
# => { lambda ; a:f32[]. let
# =>     b:bool[] = gt a 0.0:f32[]
# =>     c:i32[] = convert_element_type[new_dtype=int32 weak_type=False] b
# =>     d:f32[] = cond[branches=({ lambda ; a:f32[] b:f32[]. let
# =>             c:f32[] = neg a
# =>           in (c,) }, { lambda ; a:f32[] b:f32[]. let
# =>           in (b,) })] c a a
# =>   in (d,) }

# === 13 Repeat ========================================================================================================
# The number of turns of a loop may depend on data. Its body is one program for all turns, so the carry, which goes from
# turn to turn, has one type. If a weak number of the first carry comes out of the body strong, it is made strong before
# the loop; then each part has to come out as it went in.


def split_list(xs, *sizes):
    """Cut a list into pieces of these sizes, and the rest."""
    ends = [0, *itertools.accumulate(sizes), len(xs)]
    return [list(xs[a:b]) for a, b in itertools.pairwise(ends)]


def run_while(*args, num_consts, cond_jaxpr, body_jaxpr):
    consts, carry = split_list(args, num_consts)
    while as_function(cond_jaxpr)(*consts, *carry)[0]:
        carry = as_function(body_jaxpr)(*consts, *carry)
    return [convert(x, a.dtype, a.weak_type) for x, a in zip(carry, body_jaxpr.out_avals, strict=True)]


# `x` is a weak part of the carry, and `a` the type with which the body returns it: convert `x` to the type of both.
strengthened = lambda x, a: convert(x, common_type((x.aval, a), False)[0], a.weak_type and a.dtype == x.dtype)


def trace_body(name, f, init, row_avals, rows_tree, again=True):
    """Trace a loop's body, `carry, y = f(carry, row)`. Return its program, the TreeDef of its result, and the first
    carry."""
    carry, tree = flatten_values(init)
    jaxpr, out_tree = trace_tree(f, TreeDef(tuple, None, (tree, rows_tree)), [*[x.aval for x in carry], *row_avals])
    outs, returned = jaxpr.out_avals[: len(carry)], out_tree.children[:1]
    # If a weak number comes out with a higher type, let it go in with that type, and trace again: once, as in JAX.
    strong = [strengthened(x, a) if x.weak_type else x for x, a in zip(carry, outs, strict=False)]
    if again and returned == (tree,) and any(x is not y for x, y in zip(carry, strong, strict=True)):
        return trace_body(name, f, unflatten(tree, strong), row_avals, rows_tree, again=False)
    must_agree(f"{name} carry input and carry output", [x.aval for x in carry], outs, (tree,), returned)
    return jaxpr, out_tree, carry


def while_loop(cond_fun, body_fun, init):
    """Run `body_fun` on the carry as long as `cond_fun` is true."""
    body, out_tree, carry = trace_body("body_fun", lambda carry, _: (body_fun(carry), None), init, [], flatten(None)[1])
    test, tree = trace_tree(cond_fun, TreeDef(tuple, None, out_tree.children[:1]), [x.aval for x in carry])
    must_agree("cond_fun output and a boolean scalar", test.out_avals, [Aval((), BOOL)], tree, LEAF)
    consts, [test, body] = hoist(test, body)
    outs = while_p.bind(*consts, *carry, num_consts=len(consts), cond_jaxpr=test, body_jaxpr=body)
    return unflatten(out_tree, outs)[0]


lax.while_loop = while_loop


def lower_while(text, outs, *xs, num_consts, cond_jaxpr, body_jaxpr):
    """Write two regions, each with the carry as its arguments."""
    (consts, carry), (xs, declared) = split_list(xs, num_consts), text.arguments(outs)
    regions = [region(text, jaxpr, consts + xs, f"^bb0({declared}):\n") for jaxpr in (cond_jaxpr, body_jaxpr)]
    return text.op(f'"stablehlo.while"({names(carry)}) ({", ".join(regions)})', carry, outs)


while_p = define("while", run_while, lambda *avals, body_jaxpr, **params: body_jaxpr.out_avals, lower_while)

# === 14 Scan ==========================================================================================================
# A scan loops over the rows of arrays, and stacks a row of results in each turn. For XLA it is a `while` that reads its
# rows and writes its results at an index. We write that with our own `while_loop`. When a scan is lowered, `while_loop`
# is called with the Text at the door, so the values that its functions close over have names. The program contains the
# body once, so compiling takes as long for a thousand turns as for two. Why is it a primitive? Because the number of
# turns is known: section 16 runs a scan backward.


def scan_type(*avals, jaxpr, length, num_carry, **params):
    return [resized(a, (length,) * (i >= num_carry) + a.shape) for i, a in enumerate(jaxpr.out_avals)]


def scan_as_while(*args, jaxpr, length, reverse, num_consts, num_carry):
    consts, carry, rows = split_list(args, num_consts, num_carry)
    stacks = [zeros_of(resized(a, (length, *a.shape))) for a in jaxpr.out_avals[num_carry:]]

    def turn(state):
        i, carry, stacks = state
        at = length - 1 - i if reverse else i
        carry, ys = split_list(as_function(jaxpr)(*consts, *carry, *[x[at] for x in rows]), num_carry)
        zeros = [as_value(np.int32(0))] * max(map(np.ndim, ys), default=0)
        return i + 1, carry, [dynamic_update_slice_p(x, y[None], at, *zeros[: y.ndim]) for x, y in zip(stacks, ys, strict=True)]

    if length > 0:
        _, carry, stacks = while_loop(lambda state: state[0] < length, turn, (np.int32(0), carry, stacks))
    return [convert(x, a.dtype, a.weak_type) for x, a in zip(carry, jaxpr.out_avals, strict=False)] + stacks


scan_p = define("scan", scan_as_while, scan_type, lambda text, outs, *xs, **params: scan_as_while(*xs, **params))


def scan(f, init, xs=None, length=None, reverse=False):
    """Run `carry, y = f(carry, x)` for each row x of `xs`. Return the last carry, and the ys as rows of arrays."""
    rows, tree = flatten_values(xs)
    lengths = {x.shape[:1] for x in rows} | ({(length,)} - {(None,)})
    if len(lengths) != 1 or () in lengths:
        raise ValueError(f"scan needs one length, of all rows or its own, and got {lengths or 'none'}")
    body, out_tree, carry = trace_body("scan body function", f, init, [resized(x, x.shape[1:]) for x in rows], tree)
    consts, [body] = hoist(body)
    outs = scan_p.bind(*consts, *carry, *rows, jaxpr=body, length=lengths.pop()[0], reverse=reverse,
                       num_consts=len(consts), num_carry=len(carry))
    return unflatten(out_tree, outs)


def fori_loop(lower, upper, body, init):
    """`for i in range(lower, upper): carry = body(i, carry)`, as a scan if Python knows the bounds, else as a
    `while`."""
    lower, upper = [convert(x, I32, x.weak_type) for x in map(as_value, (lower, upper))]
    if type(lower) is type(upper) is Array:
        turn = lambda carry, _: ((carry[0] + 1, body(*carry)), None)
        return scan(turn, (int(lower), init), length=max(int(upper) - int(lower), 0))[0][1]
    return while_loop(lambda carry: carry[0] < upper, lambda carry: (carry[0] + 1, body(*carry)), (lower, init))[1]


lax.scan, lax.fori_loop = scan, fori_loop

# >>> print(scan(lambda total, x: (total + x, total * x), 0.0, numpy.arange(4.0)))
# => (Array(6.0, dtype=float32), Array([0. 0. 2. 9.], dtype=float32))

# === 15 Forward =======================================================================================================
# A derivative is one more interpretation. Each value is paired with its tangent, the direction in which it moves. The
# JVP rule of a primitive says how the result moves when the operands do. Running the program with these rules is the
# chain rule. The tangent of a value that does not move is None.

jvps = {}  # primitive -> rule(primals, tangents, **params) -> (results, their tangents)


def belongs(x, trace):
    """Whether `x` is a tracer of this trace: several may be nested, and each knows its own tracers."""
    return type(x) is Tracer and x.trace is trace


class InFront:
    """A trace that turns each operation on its own tracers into operations for the trace behind it, the one that stood
    at the door before. An operation without a tracer of its own goes to that trace unchanged."""

    def __init__(self, *args):
        super().__init__(*args)  # of a second base class, as in section 16
        self.behind = door.trace

    def process(self, primitive, args, params):
        mine = any([belongs(x, self) for x in args])
        answer = functools.partial(self.interpret, primitive) if mine else primitive.bind
        return asked(self.behind, answer, *args, **params)


class JVPTrace(InFront):
    """The trace that computes tangents beside values."""

    def interpret(self, primitive, *args, **params):
        primals, tangents = unzip(map(self.apart, args))
        return list(map(self.join, *jvps[primitive](primals, tangents, **params)))

    def join(self, x, t):
        return x if t is None else Tracer(self, x.aval, (x, t))

    def apart(self, x):
        return x.data if belongs(x, self) else (x, None)


def jvp_flat(f, primals, tangents):
    """Return the results of `f`, a function of Values, and their tangents."""
    trace = JVPTrace()
    outs = asked(trace, f, *map(trace.join, primals, tangents))
    return unzip([trace.apart(as_value(x)) for x in outs])


def zero_for_none(t, x):
    return zeros_of(x) if t is None else t


def filled(tangents, xs):
    """Return tangents with zeros in place of None, where the value is a float."""
    return [zero_for_none(t, x) if x.dtype.kind == "f" else None for t, x in zip(tangents, xs, strict=True)]


def jvp(f, primals, tangents):
    """Return `f(*primals)`, and how it moves when the arguments move along `tangents`."""
    (xs, tree), (dots, dots_tree) = flatten_values(tuple(primals)), flatten_values(tuple(tangents))
    if tree != dots_tree:
        raise TypeError("primal and tangent arguments to jvp must have the same tree structure")
    for x, t in zip(xs, dots, strict=True):
        if x.dtype.kind != "f" or t.dtype != x.dtype:
            raise TypeError(f"primal and tangent arguments to jvp must be floats of one dtype: {x.aval}, {t.aval}")
        if x.shape != t.shape:
            raise ValueError(f"jvp called with different primal and tangent shapes: {x.shape} and {t.shape}")
    flat = Flat(f, tree)
    outs, dots = jvp_flat(flat, xs, dots)
    return unflatten(flat.out_tree, outs), unflatten(flat.out_tree, map(zero_for_none, dots, outs))


def by_partials(p, *partials):
    """Register the JVP rule of an elementwise operation. One function per operand returns that operand's share of the
    tangent. Without such functions the tangent is None: the result is constant except where it jumps."""

    def rule(primals, tangents):
        [out] = p.bind(*primals)
        moved = [d(*primals, out, t) for d, t in zip(partials, tangents, strict=False) if t is not None]
        return [out], [broadcast_to(functools.reduce(numpy.add, moved), out.shape) if moved else None]

    jvps[p] = rule


def share(x, y, out, t):
    """Return the share of x in the tangent of a maximum or minimum: all of it if x is chosen, half if x equals y."""
    return t * where(x == out, where(y == out, 0.5, 1.0), 0.0)


P = SimpleNamespace(**elementwise_primitives)  # `P.sin` is the primitive
for p in elementwise_primitives.values():
    by_partials(p)
by_partials(P.neg, lambda x, out, t: -t)
by_partials(P.abs, lambda x, out, t: where(x >= 0, t, -t))
by_partials(P.sin, lambda x, out, t: t * numpy.cos(x))
by_partials(P.cos, lambda x, out, t: -t * numpy.sin(x))
by_partials(P.tan, lambda x, out, t: t * (1 + out * out))
by_partials(P.tanh, lambda x, out, t: t * (1 - out * out))
by_partials(P.exp, lambda x, out, t: t * out)
by_partials(P.log, lambda x, out, t: t / x)
by_partials(P.sqrt, lambda x, out, t: t * (0.5 / out))
by_partials(P.log1p, lambda x, out, t: t / (1 + x))
by_partials(P.expm1, lambda x, out, t: t * (out + 1))
by_partials(P.add, lambda x, y, out, t: t, lambda x, y, out, t: t)
by_partials(P.sub, lambda x, y, out, t: t, lambda x, y, out, t: -t)
by_partials(P.mul, lambda x, y, out, t: t * y, lambda x, y, out, t: x * t)
by_partials(P.div, lambda x, y, out, t: t / y, lambda x, y, out, t: -t * (out / y))
by_partials(P.pow, lambda x, y, out, t: t * (y * x ** (y - 1)),
            lambda x, y, out, t: t * (out * numpy.log(where(x == 0, 1, x))))
by_partials(P.max, share, lambda x, y, out, t: share(y, x, out, t))
by_partials(P.min, share, lambda x, y, out, t: share(y, x, out, t))


def moves_alike(p):
    """The JVP rule of an operation that is linear in all its floats together: apply it to the tangents. Operands
    without a tangent, such as the predicate of `select`, stay as they are."""

    def rule(primals, tangents, **params):
        dots = [x if t is None else t for t, x in zip(filled(tangents, primals), primals, strict=True)]
        return p.bind(*primals, **params), p.bind(*dots, **params)

    jvps[p] = rule


for p in (reduce_sum_p, reshape_p, transpose_p, broadcast_p, select_p, dynamic_slice_p, dynamic_update_slice_p):
    moves_alike(p)


def convert_jvp(primals, tangents, new_dtype, weak_type):
    dot = convert(*tangents, new_dtype) if new_dtype.kind == "f" else None
    return convert_p.bind(*primals, new_dtype=new_dtype, weak_type=weak_type), [dot]


def max_jvp(primals, tangents, axis):
    [x], [t] = primals, tangents
    out = reduce_max_p(x, axis=axis)
    is_there = convert(x == reshape(out, without(x.shape, axis, ones=True)), x.dtype)
    return [out], [numpy.sum(t * is_there, axis) / numpy.sum(is_there, axis)]


def dot_jvp(primals, tangents, **params):
    (x, y), (dx, dy) = primals, tangents
    moved = [dot_p(a, b, **params) for a, b in ((dx, y), (x, dy)) if a is not None and b is not None]
    return dot_p.bind(x, y, **params), [functools.reduce(numpy.add, moved)]


# An equation with an inner program becomes two: one for values, and one for tangents, which is linear in them. The
# second one recomputes the values that it needs. XLA removes what is computed twice, but not in loops: so a while loop
# computes values and tangents together, and a scan keeps its carries for the second one.


# `jit` below keeps programs by function. A function that is made anew at each call would be compiled at each call,
# like the lambda in the loop of section 8. So we keep the functions that are made of a program, here and in sections
# 16 and 17.
@functools.lru_cache(256)
def tangents_of(jaxpr):
    """Make a function from values and tangents to the tangents of the results."""

    def tangents(primals, dots):
        outs, dots = jvp_flat(as_function(jaxpr), primals, dots)
        return filled(dots, outs)

    return tangents


def jit_jvp(primals, tangents, jaxpr, name):
    return jit_p.bind(*primals, jaxpr=jaxpr, name=name), jit(tangents_of(jaxpr))(primals, tangents)


def cond_jvp(primals, tangents, branches):
    moved = choose(primals[0], [tangents_of(branch) for branch in branches], (primals[1:], tangents[1:]))
    return cond_p.bind(*primals, branches=branches), moved


def while_jvp(primals, tangents, num_consts, cond_jaxpr, body_jaxpr):
    (consts, carry), (const_dots, dots) = split_list(primals, num_consts), split_list(tangents, num_consts)

    def turn(state):
        outs, moved = jvp_flat(as_function(body_jaxpr), consts + state[0], const_dots + state[1])
        return outs, filled(moved, outs)

    return while_loop(lambda state: as_function(cond_jaxpr)(*consts, *state[0])[0], turn, (carry, filled(dots, carry)))


def scan_jvp(primals, tangents, jaxpr, length, reverse, num_consts, num_carry):
    """Make two scans. The first, of values, also stacks the carry with which each turn began; the second, of
    tangents, reads it."""
    consts, carry, rows = split_list(primals, num_consts, num_carry)
    const_dots, dots, row_dots = split_list(tangents, num_consts, num_carry)

    def turn(carry, row):
        outs, ys = split_list(as_function(jaxpr)(*consts, *carry, *row), num_carry)
        return outs, (ys, carry)

    def moved(dots, row):
        carry, row, row_dots = row
        return split_list(tangents_of(jaxpr)(consts + carry + row, const_dots + dots + row_dots), num_carry)

    outs, (ys, carries) = scan(turn, carry, rows, length, reverse)
    dots, y_dots = scan(moved, filled(dots, carry), (carries, rows, row_dots), length, reverse)
    return outs + ys, dots + y_dots


jvps |= {convert_p: convert_jvp, reduce_max_p: max_jvp, dot_p: dot_jvp, jit_p: jit_jvp, cond_p: cond_jvp,
         while_p: while_jvp, scan_p: scan_jvp}

# >>> print(make_jaxpr(lambda x, t: jvp(lambda x: x * numpy.sin(x), (x,), (t,)))(2.0, 1.0))
# => { lambda ; a:f32[] b:f32[]. let
# =>     c:f32[] = sin a
# =>     d:f32[] = cos a
# =>     e:f32[] = mul b d
# =>     f:f32[] = mul a c
# =>     g:f32[] = mul b c
# =>     h:f32[] = mul a e
# =>     i:f32[] = add g h
# =>   in (f, i) }

# === 16 Backward ======================================================================================================
# The tangent of the loss is a linear function of the tangents of the parameters. Read forward, it says how the loss
# moves when one parameter moves; read backward, it says how much each of a million parameters matters. So `grad` does
# two things. (1) It runs the function with tangents that have no value yet: a LinearTrace writes down the operations
# on tangents, and everything else is computed. (2) It goes through the written equations from the end: each one hands
# the cotangent of its result on to its operands. A value that was used twice gets two cotangents, which are added.

transposes = {}  # primitive -> rule(cotangents of results, *operands, **params) -> cotangents of the linear operands


Linear = namedtuple("Linear", "aval")  # an operand without a value: the program is linear in it


def rule_for(primitive):
    if primitive not in transposes:
        raise ValueError(f"Reverse-mode differentiation does not work for {primitive.name}: nobody knows how many turns "
                         "to remember. Use `lax.scan`, or `lax.fori_loop` with bounds that Python knows.")
    return transposes[primitive]


class LinearTrace(InFront, JaxprTrace):
    """The trace that writes down operations on tangents, and hands everything else to the trace behind it."""

    def interpret(self, primitive, *args, **params):
        rule_for(primitive)
        return JaxprTrace.process(self, primitive, args, params)


# Who stands at the door while `x * sin(x)` is linearised? A JVPTrace, behind it a LinearTrace, and behind that Eager.
# The JVPTrace computes values: sin(x), cos(x), x * sin(x). Their operands are not tracers of the LinearTrace, so
# Eager computes them. It also computes tangents: a = t * sin(x), b = t * cos(x), c = x * b, a + c. Here `t` is a
# tracer of the LinearTrace, which writes these four down, with the values as constants. Read them backward from a +
# c, whose cotangent is 1: a and c have 1, b has x, and t gets 1 * sin(x) + x * cos(x).


def linearize(f, primals):
    """Return the results of `f`, and the linear program from tangents of arguments to tangents of results."""
    trace = LinearTrace([x.aval for x in primals])
    tangents = [t if x.dtype.kind == "f" else None for x, t in zip(primals, trace.tracers, strict=True)]
    outs, dots = asked(trace, jvp_flat, f, primals, tangents)
    trace.is_over = True
    return outs, trace.jaxpr([0.0 if t is None else t for t in dots])  # `backward` ignores numbers


def backward(jaxpr, args, cotangents):
    """Return the cotangents of a program's Linear arguments, from those of its results; None for other arguments."""
    values, cts, linear = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True)), {}, []
    values.update((v, x) for v, x in zip(jaxpr.invars, args, strict=True) if type(x) is not Linear)

    def read(v):
        return v if type(v) is Array else values[v] if v in values else Linear(v.aval)

    def give(v, ct):
        if ct is not None and type(v) is Var:
            cts[v] = cts[v] + ct if v in cts else ct  # fan-out: what was used twice has two cotangents

    # Forward: compute what does not depend on a Linear; the other equations wait.
    for eqn in jaxpr.eqns:
        operands = list(map(read, eqn.invars))
        if any(type(x) is Linear for x in operands):
            linear.append((eqn, operands))
        else:
            values.update(zip(eqn.outvars, eqn.primitive.bind(*operands, **eqn.params), strict=True))
    # Backward: each waiting equation hands the cotangents of its results on to its operands.
    for v, ct in zip(jaxpr.outvars, cotangents, strict=True):
        give(v, ct)
    for eqn, operands in reversed(linear):
        if any(v in cts for v in eqn.outvars):
            outs = [zero_for_none(cts.get(v), v.aval) for v in eqn.outvars]
            for v, ct in zip(eqn.invars, rule_for(eqn.primitive)(outs, *operands, **eqn.params), strict=True):
                give(v, ct)
    return [zero_for_none(cts.get(v), v.aval) if type(x) is Linear else None
            for v, x in zip(jaxpr.invars, args, strict=True)]


def vjp(f, *primals):
    """Return `f(*primals)`, and the function from the cotangents of its results to those of the arguments."""
    xs, tree = flatten_values(primals)
    flat = Flat(f, tree)
    outs, linear = linearize(flat, xs)

    def pullback(cotangent):
        cts, ct_tree = flatten_values(cotangent)
        if ct_tree != flat.out_tree:
            raise TypeError(f"Tree structure of cotangent input {ct_tree} is not that of the output, {flat.out_tree}")
        return unflatten(tree, backward(linear, list(map(Linear, linear.in_avals)), cts))

    return unflatten(flat.out_tree, outs), pullback


def value_and_grad(f, argnums=0, has_aux=False):
    """Make a function that returns `f(*args)`, a number, and its derivatives with respect to one argument or
    several."""

    def with_gradient(*args, **kwargs):
        nums = [n if n >= len(args) else range(len(args))[n] for n in np.ravel(argnums).tolist()]
        if max(nums) >= len(args):
            raise TypeError(f"differentiating by argnums={argnums} needs more than {len(args)} positional arguments")
        for x in flatten_values([args[i] for i in nums])[0]:
            if x.dtype.kind != "f":
                raise TypeError("grad requires real-valued inputs (input dtype that is a sub-dtype of np.floating), "
                                f"but got {x.dtype.name}.")

        def of_chosen(*chosen):
            chosen = dict(zip(nums, chosen, strict=True))
            out = f(*[chosen.get(i, x) for i, x in enumerate(args)], **kwargs)
            return tuple(out) if has_aux else (out, None)

        (out, aux), pullback = vjp(of_chosen, *[args[i] for i in nums])
        if not isinstance(out, (Value, float)) or np.ndim(out) or as_value(out).dtype.kind != "f":
            raise TypeError(f"Gradient only defined for scalar-output functions that return a float, not {out!r}.")
        grads = pullback((convert(as_value(1), out.dtype, out.weak_type), tree_map(numpy.zeros_like, aux)))
        return ((out, aux) if has_aux else out), grads[0] if isinstance(argnums, int) else grads

    return with_gradient


def grad(f, argnums=0, has_aux=False):
    """Make the gradient function of a function that returns a number."""

    def gradient(*args, **kwargs):
        value, grads = value_and_grad(f, argnums, has_aux)(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return gradient


def gather_up(ct, x):
    """Bring a cotangent to the shape of its operand: sum over the axes that were broadcast."""
    extra = ct.ndim - x.aval.ndim
    axes = [*range(extra), *[i + extra for i, n in enumerate(x.aval.shape) if n != ct.shape[i + extra]]]
    return reshape(reduce_sum_p(ct, axis=tuple(axes)) if axes else ct, x.aval.shape)


def linear_in(p, *rules):
    """Register the transpose rule of a primitive: for each operand a `rule(ct, *operands)`, called if the operand is
    Linear."""
    transposes[p] = lambda cts, *xs, **params: [
        gather_up(rule(cts[0], *xs, **params), x) if type(x) is Linear else None
        for rule, x in itertools.zip_longest(rules, xs)]


linear_in(P.neg, lambda ct, x: -ct)
linear_in(P.add, lambda ct, x, y: ct, lambda ct, x, y: ct)
linear_in(P.mul, lambda ct, x, y: ct * y, lambda ct, x, y: ct * x)
linear_in(P.div, lambda ct, x, y: ct / y)
linear_in(convert_p, lambda ct, x, **params: convert(ct, x.aval.dtype, x.aval.weak_type))
linear_in(broadcast_p, lambda ct, x, shape: ct)
linear_in(reshape_p, lambda ct, x, shape: reshape(ct, x.aval.shape))
linear_in(transpose_p, lambda ct, x, axes: transpose(ct, np.argsort(axes).tolist()))
linear_in(reduce_sum_p, lambda ct, x, axis: broadcast_to(
    reshape(ct, without(x.aval.shape, axis, ones=True)), x.aval.shape))
linear_in(select_p, None, lambda ct, which, yes, no: where(which, ct, 0), lambda ct, which, yes, no: where(which, 0, ct))
linear_in(dynamic_slice_p, lambda ct, x, *corner, sizes: dynamic_update_slice_p(zeros_of(x.aval), ct, *corner))
linear_in(
    dynamic_update_slice_p,
    lambda ct, x, update, *corner: dynamic_update_slice_p(ct, zeros_of(update.aval), *corner),
    lambda ct, x, update, *corner: dynamic_slice_p(ct, *corner, sizes=update.aval.shape))
# The cotangent of `ij,jk->ik` has the letters `ik`. Its product with y, `ik,jk->ij`, is the cotangent of x; its product
# with x, `ik,ij->jk`, is the cotangent of y.
linear_in(dot_p, lambda ct, x, y, letters: dot_p(ct, y, letters=letters[::-1]),
          lambda ct, x, y, letters: dot_p(ct, x, letters=(letters[2], *letters[:2])))

# An equation with a program inside (`jit`, `cond`, `scan`) is transposed with that program as a whole.


@functools.lru_cache(256)
def transposed(jaxpr):
    """Make a function from operands (None for the linear ones) and the cotangents of results to cotangents of the
    linear ones."""
    return lambda operands, cts: backward(
        jaxpr, [Linear(a) if x is None else x for x, a in zip(operands, jaxpr.in_avals, strict=True)], cts)


def known(xs):
    return [None if type(x) is Linear else x for x in xs]


def jit_transpose(cts, *args, jaxpr, name):
    return jit(transposed(jaxpr))(known(args), cts)


def cond_transpose(cts, index, *args, branches):
    return [None, *choose(index, [transposed(branch) for branch in branches], (known(args), cts))]


def scan_transpose(cts, *args, jaxpr, length, reverse, num_consts, num_carry):
    """Transpose a scan: a scan from the last turn to the first. Its carry has the cotangents of the constants, to
    which each turn adds, and of the carry. Its rows are those of the forward scan, and the cotangents of the ys."""
    consts, _, rows = split_list(known(args), num_consts, num_carry)
    ct_carry, ct_ys = split_list(cts, num_carry)

    def turn(state, row):
        (sums, cts), (row, ct_ys) = state, row
        # None: the carry is linear, even if it began with zeros, which are values
        found = transposed(jaxpr)(consts + [None] * num_carry + row, cts + ct_ys)
        ct_consts, cts, ct_rows = split_list(found, num_consts, num_carry)
        return (tree_map(numpy.add, sums, ct_consts), cts), ct_rows

    sums = [zeros_of(x.aval) if type(x) is Linear else None for x in args[:num_consts]]
    (sums, ct_carry), ct_rows = scan(turn, (sums, ct_carry), (rows, ct_ys), length, not reverse)
    return sums + ct_carry + ct_rows


transposes |= {jit_p: jit_transpose, cond_p: cond_transpose, scan_p: scan_transpose}

# >>> _, linear = linearize(lambda x: [x * numpy.sqrt(x)], [as_value(4.0)])
# >>> print(linear)
# => { lambda ; a:f32[]. let
# =>     b:f32[] = mul a 0.25:f32[]
# =>     c:f32[] = mul a 2.0:f32[]
# =>     d:f32[] = mul 4.0:f32[] b
# =>     e:f32[] = add c d
# =>   in (e,) }
# >>> print(backward(linear, [Linear(Aval((), F32))], [as_value(1.0)]))
# => [Array(3.0, dtype=float32)]

# === 17 Batch =========================================================================================================
# `vmap(f)` does for a whole batch what `f` does for one example: not in a loop, but with operations on arrays with
# one more axis. Here that axis is always the first. A value that is not a tracer of the batch is the same for every
# example.

batchers = {}  # primitive -> rule(size, which are batched, *operands, **params) -> results, all of them batched


class BatchTrace(InFront):
    """The trace that does operations for a whole batch, by larger operations for the trace behind it."""

    def __init__(self, size):
        super().__init__()
        self.size = size

    def interpret(self, primitive, *args, **params):
        flags = tuple([belongs(x, self) for x in args])
        values = [x.data if b else x for x, b in zip(args, flags, strict=True)]
        return list(map(self.wrap, batchers[primitive](self.size, flags, *values, **params)))

    def wrap(self, x, is_batched=True):
        return Tracer(self, resized(x, x.shape[1:]), x) if is_batched else x


def vmap_flat(f, size, flags, leaves):
    """Return the results of `f` for a batch, and which of them have the batch axis, as their first axis."""
    trace = BatchTrace(size)
    outs = list(map(as_value, asked(trace, f, *map(trace.wrap, leaves, flags))))
    return unzip([(x.data, True) if belongs(x, trace) else (x, False) for x in outs])


def vmap(f, in_axes=0, out_axes=0):
    """Apply `f` to each example along an axis of each argument (None: the same for all; keyword arguments: the first
    axis); results are stacked along an axis, too (None: the same for all)."""

    def batched(*args, **kwargs):
        leaves, tree = flatten_values((args, kwargs))
        flat = Flat(lambda args, kwargs: f(*args, **kwargs), tree)
        axes = axes_of_leaves(in_axes, args) + axes_of_leaves(0, kwargs)
        if any(axis is not None and not -x.ndim <= axis < x.ndim for x, axis in zip(leaves, axes, strict=True)):
            raise ValueError(f"vmap was requested to map {leaves} along the axes {axes}, and not each has its axis")
        sizes = {x.shape[axis] for x, axis in zip(leaves, axes, strict=True) if axis is not None}
        if len(sizes) != 1:
            raise ValueError(f"vmap got inconsistent sizes for array axes to be mapped: {sorted(sizes)}." if sizes else
                             "vmap must have at least one non-None value in in_axes")
        leaves = [x if axis is None else move_axis(x, axis, 0) for x, axis in zip(leaves, axes, strict=True)]
        size = sizes.pop()
        outs, flags = vmap_flat(flat, size, [axis is not None for axis in axes], leaves)
        axes = axes_of_leaves(out_axes, unflatten(flat.out_tree, outs))
        if any(axis is None and b for axis, b in zip(axes, flags, strict=True)):
            raise ValueError("vmap: a result whose axis in out_axes is None must be the same for all examples")
        return unflatten(flat.out_tree, [
            x if axis is None else move_axis(x if b else repeated(x, size), 0, axis)
            for x, b, axis in zip(outs, flags, axes, strict=True)])

    return batched


def axes_of_leaves(axis, x):
    """Return the axis of each leaf of x; `axis` is one for all, or a tree of axes like x."""
    if isinstance(axis, (dict, list, tuple)):
        children, parts = (containers[type(tree)][0](tree)[0] for tree in (axis, x))
        return [a for one, other in zip(children, parts, strict=True) for a in axes_of_leaves(one, other)]
    return [axis] * len(flatten(x)[0])


def move_axis(x, source, to):
    order = [i for i in range(x.ndim) if i != source % x.ndim]
    order.insert(to % x.ndim, source % x.ndim)
    return transpose(x, order)


def repeated(x, size):
    return broadcast_to(x, (size, *x.shape))


def batch_all(size, flags, xs):
    return [x if b else repeated(x, size) for x, b in zip(xs, flags, strict=True)]


def aligned(flags, xs, ndim):
    """Put axes of size 1 between the batch axis and the others, so that numpy's broadcasting pairs the others."""
    return [reshape(x, (len(x), *[1] * (ndim + 1 - x.ndim), *x.shape[1:])) if b else x
            for x, b in zip(xs, flags, strict=True)]


def batch_elementwise(p, size, flags, *xs):
    return p.bind(*aligned(flags, xs, max(x.ndim - b for x, b in zip(xs, flags, strict=True))))


for p in elementwise_primitives.values():
    batchers[p] = functools.partial(batch_elementwise, p)


def batch_select(size, flags, *xs):
    return [pick(*batch_all(size, flags, xs))]


def pick(which, yes, no):
    """Select one or the other for each example."""
    return where(reshape(which, which.shape + (1,) * (no.ndim - which.ndim)), yes, no)


def batch_dot(size, flags, x, y, letters):
    xs, ys, out = letters
    new = next(letter for letter in LETTERS if letter not in xs + ys)
    return dot_p.bind(x, y, letters=(new * flags[0] + xs, new * flags[1] + ys, new + out))


def batch_window(p, arrays, size, flags, *xs, **params):
    """If each example has its own corner, a scan takes the windows one after the other; otherwise the window gets one
    more axis."""
    if any(flags[arrays:]):
        return scan(lambda _, row: (None, p.bind(*row, **params)), None, batch_all(size, flags, xs))[1]
    params = {name: (size, *sizes) for name, sizes in params.items()}  # sizes, if there are
    return p.bind(*batch_all(size, flags[:arrays], xs[:arrays]), as_value(np.int32(0)), *xs[arrays:], **params)


def shifted(axes):
    return tuple([i + 1 for i in axes])


batchers |= {
    convert_p: lambda size, flags, x, **params: convert_p.bind(x, **params),
    reduce_sum_p: lambda size, flags, x, axis: reduce_sum_p.bind(x, axis=shifted(axis)),
    reduce_max_p: lambda size, flags, x, axis: reduce_max_p.bind(x, axis=shifted(axis)),
    reshape_p: lambda size, flags, x, shape: [reshape(x, (size, *shape))],
    transpose_p: lambda size, flags, x, axes: [transpose(x, (0, *shifted(axes)))],
    broadcast_p: lambda size, flags, x, shape: [broadcast_to(*aligned(flags, [x], len(shape)), (size, *shape))],
    select_p: batch_select, dot_p: batch_dot, dynamic_slice_p: functools.partial(batch_window, dynamic_slice_p, 1),
    dynamic_update_slice_p: functools.partial(batch_window, dynamic_update_slice_p, 2)}

# An equation with inner programs is batched by batching these programs.


@functools.lru_cache(256)
def vmapped(jaxpr, size, flags):
    """Make a function of a batch of a program."""
    return lambda *xs: batch_all(size, *vmap_flat(as_function(jaxpr), size, flags, xs)[::-1])


def batch_jit(size, flags, *xs, jaxpr, name):
    return jit(vmapped(jaxpr, size, flags))(*xs)


def batch_cond(size, flags, index, *xs, branches):
    """If the decision differs from example to example, compute both branches, and let each example take its own."""
    functions = [vmapped(branch, size, flags[1:]) for branch in branches]
    if not flags[0]:
        return choose(index, functions, xs)
    outs, *others = [function(*xs) for function in functions]
    for i, more in enumerate(others, 1):
        outs = [pick(index >= i, new, old) for new, old in zip(more, outs, strict=True)]
    return outs


def batch_while(size, flags, *xs, num_consts, cond_jaxpr, body_jaxpr):
    """Batch a loop: it goes on as long as any example needs it, and examples that are done keep their values."""
    (consts, carry), (const_flags, carry_flags) = split_list(xs, num_consts), split_list(flags, num_consts)
    whole = (*const_flags, *[True] * len(carry))
    test, body = vmapped(cond_jaxpr, size, whole), vmapped(body_jaxpr, size, whole)

    def turn(carry):
        [going] = test(*consts, *carry)
        return [pick(going, new, old) for new, old in zip(body(*consts, *carry), carry, strict=True)]

    return while_loop(lambda carry: numpy.sum(*test(*consts, *carry)) > 0, turn, batch_all(size, carry_flags, carry))


def batch_scan(size, flags, *xs, jaxpr, length, reverse, num_consts, num_carry):
    """Batch a scan. In its rows the loop's axis stays first, and the batch axis comes second."""
    const_flags, carry_flags, row_flags = split_list(flags, num_consts, num_carry)
    consts, carry, rows = split_list(xs, num_consts, num_carry)
    rows = [move_axis(x, 0, 1) if b else x for x, b in zip(rows, row_flags, strict=True)]
    body = vmapped(jaxpr, size, (*const_flags, *[True] * num_carry, *row_flags))
    turn = lambda carry, row: split_list(body(*consts, *carry, *row), num_carry)
    carry, ys = scan(turn, batch_all(size, carry_flags, carry), rows, length, reverse)
    return carry + [move_axis(y, 1, 0) for y in ys]


batchers |= {jit_p: batch_jit, cond_p: batch_cond, while_p: batch_while, scan_p: batch_scan}

# >>> print(make_jaxpr(vmap(lambda x, w: numpy.sum(x * w), in_axes=(0, None)))(np.ones((4, 3)), np.ones(3)))
# => { lambda ; a:f32[4,3] b:f32[3]. let
# =>     c:f32[4,3] = mul a b
# =>     d:f32[4] = reduce_sum[axis=(1,)] c
# =>   in (d,) }

# === 18 All of it =====================================================================================================
# All parts are built. The other functions that programs use take one line each, which calls functions from above. They
# need no rules of their own to be traced, compiled, differentiated and batched.

nn = SimpleNamespace(
    relu=lambda x: where(x <= 0, 0, x),
    sigmoid=lambda x: 0.5 * (numpy.tanh(0.5 * x) + 1),  # its derivative is not nan far from 0
    silu=lambda x: x * nn.sigmoid(x),
    softplus=lambda x: where(x >= 0, x, 0) + numpy.log1p(numpy.exp(-numpy.abs(x))),
    selu=lambda x: 1.0507009873554805 * where(x > 0, x, 1.6732632423543772 * numpy.expm1(where(x > 0, 0, x))),
    softmax=lambda x, axis=-1: numpy.exp(x - logsumexp(x, axis)),
    log_softmax=lambda x, axis=-1: x - logsumexp(x, axis),
    one_hot=lambda labels, n: convert(numpy.expand_dims(asarray(labels), -1) == numpy.arange(n), F32))


def concatenate(xs, axis=0):
    """Join arrays, by writing each into its place."""
    xs = promote(list(xs))
    axis, ends = axis % xs[0].ndim, list(itertools.accumulate([x.shape[axis] for x in xs], initial=0))
    out = numpy.zeros([ends[-1] if i == axis else n for i, n in enumerate(xs[0].shape)], xs[0].dtype)
    for x, start in zip(xs, ends, strict=False):
        out = dynamic_update_slice_p(out, x, *[as_value(np.int32(start if i == axis else 0)) for i in range(x.ndim)])
    return out


def logsumexp(x, axis=-1):
    largest = numpy.max(x, axis, keepdims=True)
    return numpy.log(numpy.sum(numpy.exp(x - largest), axis, keepdims=True)) + largest


def var(x, axis=None):
    return mean(numpy.square(x - mean(x, axis, keepdims=True)), axis)


numpy.concatenate, numpy.square, numpy.var = concatenate, lambda x: numpy.multiply(x, x), var
numpy.std = lambda x, axis=None: numpy.sqrt(var(x, axis))
numpy.stack = lambda xs, axis=0: concatenate([numpy.expand_dims(x, axis) for x in xs], axis)
numpy.expand_dims = lambda x, axis: reshape(x, np.expand_dims(np.empty(np.shape(x)), axis).shape)
numpy.ravel = lambda x: reshape(x, -1)
numpy.outer = lambda x, y: reshape(x, (-1, 1)) * reshape(y, -1)
spaced = lambda start, stop, at: start * (1 - at) + stop * at
numpy.linspace = lambda start, stop, num=50: spaced(start, stop, asarray(np.linspace(0, 1, num)))
numpy.clip = lambda x, low, high: numpy.minimum(numpy.maximum(x, low), high)
# These are the derivatives of functions from vectors to vectors. `basis(x)` returns the unit vectors for the shape of
# x.
basis = lambda x: reshape(asarray(np.eye(x.size), x.dtype), (x.size, *x.shape))
by_axes = lambda rows, *shapes: reshape(rows, [n for shape in shapes for n in shape])


def jacfwd(f):
    def jacobian(x):
        x = as_value(x)
        columns = vmap(lambda t: jvp(f, (x,), (t,))[1], out_axes=-1)(basis(x))
        return by_axes(columns, columns.shape[:-1], x.shape)

    return jacobian


def jacrev(f):
    def jacobian(x):
        out, pullback = vjp(f, as_value(x))
        return by_axes(vmap(pullback)(basis(out))[0], out.shape, np.shape(x))

    return jacobian


hessian = lambda f: jacfwd(grad(f))
