"""The programs that the exercises of lab 01 must run like the reference."""

from __future__ import annotations

import concurrent.futures
import contextlib
import itertools
import operator

import numpy as np

from jitkit.kata.checking import check, modules_of_jax, of_arrays, of_loops, of_tracers, raised, random_programs

# --- 01.1 Bind a primitive ----------------------------------------------------------------------------------------


def recording_trace(jk, name):
    """Return a trace that keeps the operations that it receives. The result of each is how many it has received so far."""

    class Recorder(jk.core.Trace):
        def process_primitive(self, primitive, args, params):
            self.received.append((name, primitive.name, args, params))
            return len(self.received)

    trace = Recorder(None)
    trace.received = []
    return trace


@contextlib.contextmanager
def recording_eager(jk, received):
    """Within the block, append operations to the list `received` instead of running them at once."""
    run = jk.core.eager.apply
    jk.core.eager.apply = lambda primitive, args, params: received.append((primitive.name, args, params))
    try:
        yield
    finally:
        jk.core.eager.apply = run


@check(
    "01.1",
    "Without a trace the operation runs now, with its operands and its parameters.",
    against=["parameters are operands", "there is always a trace", "`process_primitive` takes the operands one by one"],
)
def without_a_trace(jk, rng):
    scale_p = jk.core.Primitive("scale")
    received = []
    with recording_eager(jk, received):
        scale_p.bind(rng.normal(size=2), float(rng.normal()), by=int(rng.integers(9)))
    return received


@check(
    "01.1",
    "Under a trace, the trace receives the operation, and what the trace returns is the result of `bind`.",
    against=["parameters are operands"],
)
def under_a_trace(jk, rng):
    scale_p = jk.core.Primitive("scale")
    trace = recording_trace(jk, "only")
    with jk.core.set_current_trace(trace):
        results = [scale_p.bind(float(rng.normal()), by=int(rng.integers(9))) for _ in range(3)]
    return results, trace.received


@check(
    "01.1",
    "An operation on a known number is part of the program, when it is in a traced function.",
    against=["an operation on known numbers runs at once", "an operation without operands runs while tracing"],
)
def known_operand(jk, rng):
    number, n = np.float32(rng.normal()), int(rng.integers(2, 9))
    return jk.make_jaxpr(lambda x: x * jk.lax.sin(number) + jk.lax.iota("float32", n)[0])(1.0)


@check(
    "01.1",
    "Operands are checked only after something went wrong, since a check in front would slow down every operation.",
    against=["operands are checked before every operation"],
)
def looked_at_in_trouble(jk, rng):
    scale_p = jk.core.Primitive("scale")
    trace = recording_trace(jk, "only")
    word = f"text {int(rng.integers(99))}"
    with jk.core.set_current_trace(trace):
        result = scale_p.bind(word)
    return result, trace.received


@check(
    "01.1",
    "The current trace decides, and not the trace that an operand belongs to.",
    against=[
        "the operands say which trace is the current one",
        "the trace is the one that was current when the module was loaded",
        "all threads have one trace",
    ],
)
def the_current_trace_decides(jk, rng):
    first, second, third = rng.integers(99, size=3).tolist()
    scale_p, at_once = jk.core.Primitive("scale"), []
    outer, inner = recording_trace(jk, "outer"), recording_trace(jk, "inner")
    x = jk.core.Tracer(outer, jk.core.ShapedArray((), "float32"))
    with jk.core.set_current_trace(outer):
        scale_p.bind(x, by=first)
        with jk.core.set_current_trace(inner):
            scale_p.bind(x, by=second)
        scale_p.bind(x, by=third)
        with recording_eager(jk, at_once), concurrent.futures.ThreadPoolExecutor(1) as another_thread:
            another_thread.submit(scale_p.bind, x, by=first).result()
    return [(name, params) for name, _, _, params in outer.received + inner.received], [p for *_, p in at_once]


@check(
    "01.1",
    "The error about an operand that is not an array names the operation and the position.",
    against=["any error message will do"],
)
def refused_operand(jk, rng):
    position = int(rng.integers(2))
    operands = [1.0, 2.0]
    operands[position] = "text"
    parts = ["add", f"at position {position}", "str"]
    trace = jk.make_jaxpr(lambda x: jk.lax.add_p.bind(*operands))
    return raised(trace, 1.0, parts=parts), raised(jk.lax.add_p.bind, *operands, parts=parts)


@check(
    "01.1",
    "Any other error passes unchanged: a TypeError whose operands are arrays, and whatever is not a TypeError.",
    against=["every TypeError is about operands", "every error is about the operands"],
)
def other_errors(jk, rng):
    strange_p = jk.core.Primitive("strange")
    number = int(rng.integers(999))

    class Refusing(jk.core.Trace):
        def process_primitive(self, primitive, args, params):
            raise error

    found = []
    for operand, error in [(1.0, TypeError(f"no {number}")), ("text", ValueError(f"not {number}"))]:
        with jk.core.set_current_trace(Refusing(None)):
            try:
                strange_p.bind(operand)
            except (TypeError, ValueError) as other:
                found.append((other is error, str(other)))
    return found


# --- 01.2 The type of a result ------------------------------------------------------------------------------------


def aval(jk, shape, dtype="float32", weak=False):
    return jk.core.ShapedArray(tuple(map(int, shape)), dtype, weak)


@check("01.2", "If all operands have one type, the result has that type, too.")
def one_type(jk, rng):
    x = aval(jk, rng.integers(2, 9, size=3))
    return jk.lax.add_p.abstract_eval(x, x), jk.lax.mul_p.abstract_eval(aval(jk, ()), aval(jk, ()))


@check(
    "01.2",
    "Axes of size 1 stretch, in every operand, also to size 0.",
    against=["the shape is the first operand's", "the larger size wins", "a shape may be a list"],
)
def stretching(jk, rng):
    m, n = rng.integers(2, 9, size=2)
    shapes = [(m, 1), (1, n), (m, n), (1, 1), (0, n), (0, 1)]
    pairs = [((m, 1), (1, n)), ((1, 1), (m, n)), ((m, n), (m, 1)), ((1, n), (0, n)), ((1, 1), (0, 1))]
    stretched = [jk.lax.add_p.abstract_eval(aval(jk, a), aval(jk, b)) for a, b in pairs]
    shapes = [tuple(map(int, s)) for s in shapes]
    columns = [shape_of(jk, [(1, 1), (1, 1), s]) for s in shapes]
    kind = type(jk.lax.utils.broadcast_equal_ranks("f", [shapes[0], shapes[1]])).__name__
    return stretched, columns, [shape_of(jk, [s, (1, 1), s]) for s in shapes], kind


def shape_of(jk, shapes, name="f"):
    """Return the shape to which the shapes broadcast, as Python's ints."""
    return tuple(map(int, jk.lax.utils.broadcast_equal_ranks(name, shapes)))


@check(
    "01.2",
    "A scalar fits beside an array of any shape, on either side.",
    against=["the shape is the first operand's", "a scalar must have as many axes as the other operands"],
)
def scalars(jk, rng):
    x, number = aval(jk, rng.integers(2, 9, size=2)), aval(jk, ())
    return jk.lax.add_p.abstract_eval(x, number), jk.lax.add_p.abstract_eval(number, x)


@check("01.2", "A comparison of floats is a bool.", against=["the dtype of a result is that of its operands"])
def comparisons(jk, rng):
    x = aval(jk, rng.integers(2, 9, size=2))
    return [p.abstract_eval(x, x) for p in (jk.lax.lt_p, jk.lax.eq_p)], jk.lax.complex_p.abstract_eval(x, x)


@check(
    "01.2",
    "The result is weakly typed when all operands are, and only then.",
    against=["one weak operand makes the result weak", "weak types do not matter"],
)
def weakness(jk, rng):
    shape = rng.integers(2, 9, size=1)
    pairs = list(itertools.product([False, True], repeat=2))
    triples = [[aval(jk, shape, weak=w) for w in weak] for weak in itertools.product([False, True], repeat=3)]
    of_two = [jk.lax.mul_p.abstract_eval(aval(jk, shape, weak=a), aval(jk, (), weak=b)) for a, b in pairs]
    rules = jk.lax.elementwise_rules

    def of_three(operands):
        return rules.elementwise_aval("f", (rules.NUMBER,) * 3, lambda *avals: avals[0].dtype, True, operands)

    return of_two, [of_three(triple) for triple in triples]


@check(
    "01.2",
    "Some operations take operands of different dtypes; each says which dtypes it takes, and which one its result has.",
)
def rules_of_its_own(jk, rng):
    rules = jk.lax.elementwise_rules
    x, y = aval(jk, (int(rng.integers(2, 9)),), "float32"), aval(jk, (), "int32")

    def of(accepts, one_dtype):
        return rules.elementwise_aval("f", accepts, lambda *avals: avals[-1].dtype, one_dtype, (x, y))

    refused = raised(of, (rules.FLOAT, rules.FLOAT), False, parts=["f", "position 1", "int32"])
    kinds_come_first = raised(of, (rules.INTEGER, rules.INTEGER), True, parts=["position 0"])
    return of((rules.NUMBER, rules.NUMBER), False), refused, kinds_come_first


@check(
    "01.2",
    "Operands of two dtypes are an error: nothing is converted here.",
    against=[
        "the dtype comes from the left operand",
        "numpy's error for shapes that do not fit will do",
        "dtypes are checked before shapes",
    ],
)
def two_dtypes(jk, rng):
    left, right = map(str, rng.permutation(["float32", "int32", "float16", "uint8", "int64"])[:2])
    x, y = aval(jk, (2,), left), aval(jk, (2,), right)
    n = int(rng.integers(3, 9))
    found = [raised(jk.lax.add_p.abstract_eval, x, y, parts=[f"{left}, {right}"])]
    for other in (aval(jk, (3, n), "int32"), aval(jk, (3, n), "bool")):  # the error is about the shape
        try:
            jk.lax.add_p.abstract_eval(aval(jk, (2, n)), other)
        except TypeError as error:
            found.append("float32, int32" in str(error) or "at position" in str(error))
    return found


@check(
    "01.2",
    "Shapes that do not fit are an error, and so are shapes of different ranks.",
    against=[
        "a missing axis is put in front, as in numpy",
        "it is enough to compare each size with the next one",
        "size 0 fits beside every size",
    ],
)
def misfits(jk, rng):
    n, name = int(rng.integers(3, 9)), str(rng.choice(["fold", "mix", "weigh", "join"]))
    add, x = jk.lax.add_p.abstract_eval, aval(jk, (2, n))
    return [
        raised(add, x, aval(jk, (2, n + 1)), parts=["add"]),
        raised(add, x, aval(jk, (n,)), parts=["add"]),
        raised(shape_of, jk, [(2, n), (1, n), (2, n + 1)], name, parts=[name]),
        raised(shape_of, jk, [(2, n), (2, 1), (2, n + 1)], name, parts=[name]),
        raised(shape_of, jk, [(2,), (2, n), (2, n)], name, parts=[name]),
        raised(shape_of, jk, [(0, n), (2, n)], name, parts=[name]),
        raised(shape_of, jk, [(n, 2), (1, 1), (n, 0)], name, parts=[name]),
    ]


# --- 01.3 Where two types meet ------------------------------------------------------------------------------------


def meet(jk, *types, x64=False):
    """Return the name of the least upper bound; for a weak type it is `int`, `float` or `complex`."""
    nodes = [t if isinstance(t, type) else np.dtype(t) for t in types]
    found = jk.core.dtypes.least_upper_bound(x64, *nodes)
    return found.__name__ if isinstance(found, type) else found.name


@check(
    "01.3",
    "The order of the types does not matter.",
    against=["the dtype comes from the left operand", "any node above all of them is the lowest such node"],
)
def both_sides(jk, rng):
    types = list(rng.permutation(["int8", "int16", "float16", "float32"]))
    return [meet(jk, str(a), str(b)) for a, b in itertools.permutations(types, 2)]


@check(
    "01.3",
    "A Python number gives way to the type of the array.",
    against=["weak types do not matter", "one of two types is always above the other"],
)
def weak_types(jk, rng):
    pairs = [("float16", float), ("int8", int), ("int32", float), ("bool", int), ("float32", complex)]
    return [meet(jk, a, b) for a, b in rng.permutation(np.array(pairs, object))]


@check("01.3", "The result may be a type of fewer bits.", against=["the type with more bits wins"])
def fewer_bits(jk, rng):
    halves = [str(name) for name in rng.choice(["float16", "bfloat16"], size=6)]
    widths = rng.permutation([8, 16, 32, 8, 16, 32])
    return [meet(jk, f"int{w}", half) for w, half in zip(widths, halves, strict=True)]


@check("01.3", "The result may be neither of the two types.", against=["the type with more bits wins"])
def a_third_type(jk, rng):
    pairs = [("uint8", "int8"), ("uint16", "int16"), ("float16", "bfloat16"), ("uint8", "int16", "uint16")]
    return [meet(jk, *pairs[i]) for i in rng.permutation(4)], meet(jk, int, "uint8", "int16", float)


@check(
    "01.3",
    "The result is the lowest of the types that are above all operands' types.",
    against=["any type above all will do"],
)
def the_lowest(jk, rng):
    types = [str(t) for t in rng.permutation(["bool", "uint8", "int32", "float32"])]
    return [meet(jk, *types[:n]) for n in (1, 2, 3, 4)]


@check(
    "01.3",
    "Without 64-bit types, int32 and uint32 meet in int32; with them, in int64.",
    against=["the lattice is the same with and without 64-bit types"],
    fixed="there is one pair of such types",
)
def two_lattices(jk, rng):
    a, b = (str(t) for t in rng.permutation(["int32", "uint32"]))
    return meet(jk, a, b), meet(jk, a, b, x64=True)


@check(
    "01.3",
    "Types without a common upper bound are an error, and so are types outside of the lattice.",
    fixed="errors, whose words are free",
    against=[
        "a node that is not in the lattice is its own upper bound",
        "there is always a common upper bound",
        "the common type can be found two types at a time",
    ],
)
def no_bound(jk, rng):
    bound = jk.core.dtypes.least_upper_bound
    floats = [np.dtype(getattr(jk.numpy, n)) for n in rng.permutation(["float8_e4m3fn", "float8_e5m2"])]
    int32 = np.dtype("int32")
    unknown = [raised(bound, False, *nodes) for nodes in ((int32, str), (str, int32), (str,), (str, str))]
    three = raised(bound, False, np.dtype("uint16"), *floats, parts=["uint16", "float8_e4m3fn", "float8_e5m2"])
    return raised(bound, False, *floats, parts=["float8"]), unknown, three


@check(
    "01.3",
    "The function finds the bound itself, and asks neither JAX nor numpy.",
    against=["JAX may be asked"],
    fixed="nobody is asked",
)
def without_jax(jk, rng):
    # A value that nobody has asked about before, for every seed: JAX remembers its answers, and then calls none of its functions.
    types = np.random.default_rng().choice(["int8", "uint16", "float16", "bfloat16", "float32"], size=24)
    nodes = [np.dtype(getattr(jk.numpy, str(t))) for t in types]
    return modules_of_jax(lambda: jk.core.dtypes.least_upper_bound(False, *nodes))


# --- 01.4 2 - x ---------------------------------------------------------------------------------------------------

OPERATORS = (operator.sub, operator.truediv, operator.pow, operator.floordiv, operator.mod)


@check(
    "01.4",
    "A number may stand on the left.",
    against=["`2 * x` needs no reflection", "an object whose type is not in the cache is not an operand"],
)
def numbers_on_the_left(jk, rng):
    number, x = int(rng.integers(2, 9)), np.ones(3, "float32")
    return jk.make_jaxpr(lambda x: number * x)(x), jk.make_jaxpr(lambda x: number + x)(x)


@check("01.4", "The operands keep their places.", against=["in a reflected method, `self` is the left operand"])
def places(jk, rng):
    number, x = int(rng.integers(2, 9)), rng.integers(2, 9, size=3).astype("int32")
    return [jk.make_jaxpr(lambda x, f=f: f(number, x))(x) for f in OPERATORS]


@check(
    "01.4",
    "A numpy number may stand on the left, too.",
    against=["only Python's numbers stand on the left", "an object whose type is not in the cache is not an operand"],
)
def numpy_numbers(jk, rng):
    number = np.float32(rng.normal())
    x = rng.normal(size=3).astype("float32")
    return jk.make_jaxpr(lambda x: number - x)(x), jk.make_jaxpr(lambda x: number / x)(x[0])


@check(
    "01.4",
    "For an operand of an unknown class, the method returns NotImplemented: then Python asks that operand.",
    against=[
        "a method that cannot help raises",
        "an object of an unknown class is refused at once",
        "the type of `self` decides whether `other` is an operand",
    ],
)
def unknown_operands(jk, rng):
    class Money:
        pass

    symbol, operation = [("-", operator.sub), ("/", operator.truediv), ("//", operator.floordiv)][rng.integers(3)]
    method = jk.core.operators.reflected_method(symbol, lambda left, right: "a result")
    says = (
        method(np.float32(rng.normal()), Money()) is NotImplemented,
        method(np.float32(1.0), Money()) is NotImplemented,
    )
    return says, raised(
        jk.make_jaxpr(lambda x: operation("text", x)), 1.0, parts=["unsupported operand", symbol, "str"]
    )


@check(
    "01.4",
    "A list is refused: converting it would be slow, and nobody would notice.",
    against=["whatever numpy can convert may be an operand", "the message's operands are self and other"],
)
def lists(jk, rng):
    symbol, do = [("-", operator.sub), ("/", operator.truediv), ("**", operator.pow)][rng.integers(3)]
    numbers = rng.normal(size=2).tolist()
    message = raised(jk.make_jaxpr(lambda x: do(numbers, x)), np.ones(2), parts=[symbol, "'list'", "'list' and '"])
    others = [
        raised(jk.make_jaxpr(lambda x, c=c: do(c, x)), np.ones(2), parts=[symbol]) for c in ((1.0,), {"a": 1.0}, {2.0})
    ]
    return message, others


@check(
    "01.4",
    "An error of the function passes through, without this library's frames in its traceback.",
    against=["an error needs no filtering"],
)
def errors_of_the_function(jk, rng):
    operators, seen = jk.core.operators, []
    error = ValueError(f"no {int(rng.integers(99))}")

    def function(left, right):
        raise error

    def filter_traceback(error):
        seen.append(error)

    kept, operators.filter_traceback = operators.filter_traceback, filter_traceback
    try:
        found = raised(operators.reflected_method("-", function), np.float32(1.0), 2.0, parts=[str(error)])
    finally:
        operators.filter_traceback = kept
    return found, [e is error for e in seen]


# --- 01.5 Constants -----------------------------------------------------------------------------------------------


def make_trace(jk):
    """Return a new trace, which has not ended."""
    debug_info = jk.jaxpr.DebugInfo("jit", "f")
    return jk.interpreters.partial_eval.DynamicJaxprTrace(None, debug_info)


@check(
    "01.5",
    "A number is written into the equation, with its type.",
    against=[
        "every constant is an array",
        "the scalar 0 has no literal form",
        "the atom of an object can be kept under its `id`",
        "a literal holds the value as it came",
    ],
)
def numbers(jk, rng):
    number = float(rng.normal())
    zeros = [jk.make_jaxpr(lambda x, z=z: jk.lax.convert_element_type(z, "int32") + x)(1) for z in (0.0, False)]
    weak = jk.make_jaxpr(lambda x: jk.lax.mul(x, number))(1.0)
    strong = jk.make_jaxpr(lambda x: jk.lax.mul(x, np.float32(number)))(np.float32(1.0))
    scalars = [np.float32(scalar) for scalar in rng.normal(size=4)]

    def made_on_the_way(x):
        for i in range(4):
            x = jk.lax.mul(x, scalars[i] + 0)  # nobody keeps this scalar: the next one may have its id
        return x

    trace = make_trace(jk)
    written = [trace.lift(x).val for x in (number, np.float64(number), np.array(number), np.int64(2))]
    kinds = [type(value).__name__ for value in written]
    return weak, strong, zeros, jk.make_jaxpr(made_on_the_way)(np.float32(1.0)), list(zip(kinds, written, strict=True))


@check(
    "01.5",
    "An array from outside is a constant, with its value.",
    against=["arrays of one type are one constant", "every array without axes is a literal"],
)
def arrays(jk, rng):
    table, other = rng.normal(size=(2, 3)).astype("float32")
    on_device = jk.numpy.asarray(table[0])
    with_scalar = jk.make_jaxpr(lambda x: x * on_device)(table)
    return jk.make_jaxpr(lambda x: (x * table) + other)(table), with_scalar, len(with_scalar.consts)


@check("01.5", "An array that is used three times is one constant.", against=["every use is a constant of its own"])
def one_array_thrice(jk, rng):
    table = rng.normal(size=3).astype("float32")
    program = jk.make_jaxpr(lambda x: (x + table) * table - table)(table)
    return program, len(program.consts)


@check(
    "01.5",
    "Two arrays that happen to be equal are two constants.",
    against=[
        "equal arrays are one constant",
        "a constant's `id` is enough, without the object",
        "a copy is as good as the array",
    ],
)
def equal_arrays(jk, rng):
    table = rng.normal(size=3).astype("float32")
    copies = [table, table.copy(), jk.numpy.asarray(table)]
    trace = make_trace(jk)
    atoms = [trace.lift(copies[i]) for i in (0, 1, 0, 2)]
    values = list(trace.consts.values())
    # the object itself is kept: else another one might be given its id
    return [[a is b for b in atoms] for a in atoms], values, [a is b for a, b in zip(values, copies, strict=False)]


@check(
    "01.5",
    "In the program of an inner function, a tracer of the outer function is a constant.",
    against=["an outer tracer has its variable already", "the tracers of an outer trace are dead"],
)
def outer_tracers(jk, rng):
    outer, inner = make_trace(jk), make_trace(jk)
    x = outer.new_arg(jk.core.ShapedArray((int(rng.integers(2, 9)),), "float32", True))
    first, again = inner.lift(x), inner.lift(x)
    return first.aval, first is again, first is x.atom, [value is x for value in inner.consts.values()]


@check(
    "01.5",
    "A tracer whose trace has ended is an error.",
    against=["a tracer can be used for ever", "a tracer is good for ever"],
)
def leaked_tracers(jk, rng):
    outer, inner = make_trace(jk), make_trace(jk)
    met_before = outer.new_arg(jk.core.ShapedArray((), "float32"))
    inner.lift(met_before)
    outer.end()
    later = raised(inner.lift, met_before)
    kept = []
    shape = (int(rng.integers(2, 9)),)
    jk.make_jaxpr(lambda x: kept.append(x + 1) or x)(np.ones(shape, "float32"))
    return later, raised(jk.make_jaxpr(lambda y: y * kept[0]), 1.0, parts=["unexpected tracer", f"float32[{shape[0]}]"])


# --- 01.6 When Python asks for the value --------------------------------------------------------------------------


def truth(x):
    return bool(x)


@check("01.6", "`if x > 0` is an error in a traced function.", against=["`if x > 0` works on tracers"])
def branches(jk, rng):
    i = int(rng.integers(6))

    def absolute(*, u, v, w, x, y, z):
        return x if (u, v, w, x, y, z)[i] > 0 else -x

    numbers = dict(zip("uvwxyz", rng.normal(size=6).tolist(), strict=True))
    return raised(jk.make_jaxpr(absolute), **numbers, parts=["bool[]", "absolute", f"argument {'uvwxyz'[i]}"])


@check(
    "01.6",
    "The truth value of an array with no element, or with several, is ambiguous, traced or not.",
    against=[
        "an array of several elements is wrong because it is a tracer",
        "an array without elements is false",
        "the length of the first axis is the number of elements",
        "every tracer raises the same error",
    ],
    fixed="the words are numpy's",
)
def several(jk, rng):
    program = jk.make_jaxpr(truth)
    arrays = [np.zeros(shape, "float32") for shape in ((int(rng.integers(2, 9)),), (3, 0), (2,), (1, 3), (3, 1))]
    return [raised(program, x) for x in arrays] + [raised(jk.core.tracer.check_bool_conversion, x) for x in arrays]


@check(
    "01.6",
    "One element has a truth value, whatever its axes.",
    against=["only a scalar has a truth value", "only an array without axes has a truth value"],
)
def one_element(jk, rng):
    ndim = int(rng.integers(1, 5))
    x = rng.normal(size=(1,) * ndim)
    parts = ["boolean conversion", f"float32[{','.join('1' * ndim)}]"]
    return jk.core.tracer.check_bool_conversion(x), raised(jk.make_jaxpr(truth), x, parts=parts)


@check(
    "01.6",
    "`range` of a traced number is an error.",
    against=["a traced integer is an integer", "an index may be any number"],
)
def ranges(jk, rng):
    kind, n = str(rng.choice(["int8", "int16", "int32", "uint8"])), int(rng.integers(2, 9))
    trace = jk.make_jaxpr(lambda n: [0.0 for _ in range(n)])
    whole = raised(trace, np.dtype(kind).type(n), parts=["__index__()", f"{kind}[]"])
    return whole, raised(trace, 1.5, parts=["Only integer scalar arrays"])


@check(
    "01.6",
    "`concrete_or_error` accepts a known value, and refuses a traced one.",
    against=["a tracer can be forced", "with a context, any number is an index"],
)
def must_be_known(jk, rng):
    number = float(rng.normal()) * 100
    known = jk.core.concrete_or_error(int, number, "the size")
    traced = raised(jk.make_jaxpr(lambda x: jk.core.concrete_or_error(int, x, "the size")), 1.0, parts=["the size"])
    index = [
        raised(jk.make_jaxpr(lambda x, c=c: jk.core.concrete_or_error(operator.index, x, *c)), 1, parts=["__index__()"])
        for c in ((), ("the size",))
    ]
    truth = raised(jk.make_jaxpr(lambda x: jk.core.concrete_or_error(bool, x, "the flag")), True, parts=["the flag"])
    seen = []  # `concrete_or_error` takes any function, such as `seen.append`
    anything = raised(
        jk.make_jaxpr(lambda x: jk.core.concrete_or_error(seen.append, x, "the list")), 1.0, parts=["the list"]
    )
    return known, traced, index, type(getattr(truth, "error", None)).__name__, anything, len(seen)


# --- Programs that nobody wrote before ----------------------------------------------------------------------------

NEW = "Random programs, new ones at each save."


@check("01.1", NEW, drawn=True)
def programs_1(jk, rng):
    return random_programs(jk, rng, of_arrays.plain("unary binary moved reduction jit"), 6, types=True)


ALONE = "Your function alone, called with random arguments, new ones at each save."


@check(
    "01.2",
    ALONE,
    drawn=True,
    against=[
        "there are always two operands",
        "`broadcast_equal_ranks` accepts a scalar beside an array",
        "a result with a dtype of its own is never weakly typed",
        "dtypes need comparing only if there are two operands",
        "a weakly typed operand is converted",
    ],
)
def alone_2(jk, rng):
    return random_programs(jk, rng, of_tracers.shapes, 24, graded=60, by_numpy=False)


@check("01.2", NEW, drawn=True)
def programs_2(jk, rng):
    return random_programs(jk, rng, of_loops.operators, 12, graded=40, types=True)


@check("01.3", ALONE, drawn=True, against=["nodes that compare equal are the same node"])
def alone_3(jk, rng):
    return random_programs(jk, rng, of_tracers.bounds, 24, graded=60, by_numpy=False)


@check("01.3", NEW, drawn=True)
def programs_3(jk, rng):
    return random_programs(jk, rng, of_loops.operators, 12, types=True)


@check(
    "01.4",
    ALONE,
    drawn=True,
    against=[
        "whatever has the attribute `__jax_array__` can convert itself",
        "`__jax_array__` is looked for first",
        "if `__jax_array__` raises an error, the method returns NotImplemented",
        "`function` wants arrays",
        "the array that `other` converts to is the right operand",
        "objects of one class convert to the same array",
        "after a TypeError, the other operand should be asked",
    ],
)
def alone_4(jk, rng):
    return random_programs(jk, rng, of_tracers.reflected, 24, graded=60, by_numpy=False)


@check("01.4", NEW, drawn=True)
def programs_4(jk, rng):
    return random_programs(jk, rng, of_loops.operators, 12, graded=40, types=True)


@check("01.5", NEW, drawn=True)
def programs_5(jk, rng):
    return random_programs(jk, rng, of_arrays.plain("constant unary binary jit scan constant"), 6, types=True)


@check(
    "01.6",
    ALONE,
    drawn=True,
    against=[
        "an integer array of any shape is an index",
        "a truth value is an index",
        "one integer is an index, whatever its axes",
        "only signed integers are indices",
        "only int32 is an index",
        "`force` can be recognised by its name",
        "if `force` fails, the value was traced",
        "whatever has an `aval` is a tracer",
        "`force` need not be called for None",
    ],
)
def alone_6(jk, rng):
    return random_programs(jk, rng, of_tracers.questions, 24, graded=60, by_numpy=False)


@check("01.6", NEW, drawn=True)
def programs_6(jk, rng):
    return random_programs(jk, rng, of_loops.conversions, 6, by_numpy=False)
