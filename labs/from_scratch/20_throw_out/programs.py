"""Rung 20: a program that returns the same, and computes less."""

import itertools

import numpy as np
from behind import behind, optimised, own
from climbing import program
from drawing import pick


def floats(rng, *shape):
    return rng.uniform(0.5, 2.0, shape).astype(np.float32)


@program(
    "20",
    "What nobody needs is gone, with all that only it needed.",
    against=["only the last one is dead", "nothing is dead", "the program that goes in is made smaller"],
)
def dead(jk, rng):
    def f(x, y):
        z = jk.numpy.exp(jk.numpy.sin(x) * y)
        jk.numpy.log(z + 1.0)
        return x * y, y

    return optimised(jk, f, floats(rng, 3), floats(rng, 3), left=["mul"])


@program("20", "What is asked for twice is computed once.", against=["each equation is another one"])
def twice(jk, rng):
    f = lambda x: jk.numpy.sin(x) * jk.numpy.sin(x) + jk.numpy.exp(jk.numpy.sin(x))
    return optimised(jk, f, floats(rng, 3), left=["sin", "mul", "exp", "add"])


@program(
    "20",
    "Equal operations on equal results are equal; other parameters make another equation.",
    against=["parameters do not count", "each equation is another one"],
)
def parameters(jk, rng):
    def f(x):
        i, j, k = x.astype(np.int32), x.astype(np.int8), x.astype(np.int32)
        return i + 1, j + j, k + 1

    return optimised(jk, f, floats(rng, 3) * 9, left=["convert_element_type", "convert_element_type", "add", "add"])


@program("20", "The order of operands counts.", against=["operands are a set"])
def order(jk, rng):
    return optimised(
        jk, lambda x, y: (x - y, y - x, x / y, y / x), floats(rng, 3), floats(rng, 3), left=["sub", "sub", "div", "div"]
    )


@program(
    "20",
    "Other operations on the same operands are other equations: each is there once.",
    against=["operands are a set", "questions of the same operands are one"],
)
def same_operands(jk, rng):
    n, two = jk.numpy, ("lt", "le", "gt", "ge", "eq", "ne", "add", "mul", "max", "min", "sub", "div")
    one = ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "log1p", "expm1", "abs", "sign", "floor")
    ask = lambda x, y: [x < y, x <= y, x > y, x >= y, x == y, x != y]
    pairs = lambda x, y: [*ask(x, y), x + y, x * y, n.maximum(x, y), n.minimum(x, y), x - y, x / y, *ask(x, y)]
    each = lambda x: [getattr(n, name)(x) for name in one] + [n.sum(x), n.max(x), -x, n.sum(x)]
    x, y = floats(rng, 3), floats(rng, 3)
    return optimised(jk, pairs, x, y, left=two), optimised(jk, each, x, left=[*one, "reduce_sum", "reduce_max", "neg"])


@program("20", "x * 1, x / 1, x - 0 are x, in any number of layers.", against=["x * 1 is computed"])
def idle(jk, rng):
    f = lambda x: jk.numpy.sin(((1.0 * x) * 1.0 / 1.0 - 0.0).astype(np.float32)) * 1.0
    return optimised(jk, f, floats(rng, 3), left=["sin"])


@program("20", "x + 0 is x for integers. For floats it is not: of -0.0 it makes 0.0.", against=["x + 0.0 is x"])
def zeros(jk, rng):
    x = np.float32([-0.0, 0.0, float(rng.uniform())])
    return (
        optimised(jk, lambda i: (i + 0) - 0 + 0, rng.integers(0, 9, 3).astype(np.int32), left=[]),
        optimised(jk, lambda x: 1.0 / (x + 0.0), x, left=["add", "div"]),
        optimised(jk, lambda x: 1.0 / (x - 0.0), x, left=["div"]),
    )


@program("20", "x - x is not always 0, and x * 0 is not, either.", against=["x - x is 0"])
def no_zero(jk, rng):
    x = np.float32([np.inf, np.nan, -1.0, float(rng.uniform())])
    return optimised(jk, lambda x: (x - x, x * 0.0, x / x), x, left=["sub", "mul", "div"])


@program(
    "20",
    "The same holds for numbers without axes: x - x, x / x and x == x, where x is nan or inf.",
    against=["x / x of a number is 1"],
)
def no_shape(jk, rng):
    f = lambda x: (x - x, x / x, x == x, x >= x, jk.numpy.maximum(x, x))
    left = ["sub", "div", "eq", "ge", "max"]
    return [optimised(jk, f, np.float32(x), left=left) for x in (np.nan, np.inf, float(rng.uniform(1, 2)))]


@program("20", "Only 1 is 1, and only 0 is 0: x * -1 and x - -0.0 are not x.", against=["-1 is as good as 1"])
def negative(jk, rng):
    x = np.float32([-0.0, 0.0, float(rng.uniform(1, 2))])
    f = lambda x: (x * -1.0, x / -1.0, 1.0 / (x - -0.0))
    whole = optimised(jk, lambda i: (i * -1, 0 + i, 0 - i), np.int32([1, 2, -3]), left=["mul", "sub"])
    return optimised(jk, f, x, left=["mul", "div", "sub", "div"]), whole, own(jk, lambda x: 1.0 / (x + -0.0))(x)


@program("20", "Sums along other axes are other sums.", against=["parameters do not count"])
def sums(jk, rng):
    n = jk.numpy
    f = lambda x: (n.sum(x, 0), n.sum(x, 1), n.sum(x, 0), n.reshape(x, (9,)), n.reshape(x, (1, 9)))
    return optimised(jk, f, floats(rng, 3, 3), left=["reduce_sum", "reduce_sum", "reshape", "reshape"])


@program(
    "20",
    "Numbers that are equal are not always the same: 0.0 and -0.0.",
    against=["equal numbers are the same", "a nan is never the same number", "a number is its value"],
)
def equal_numbers(jk, rng):
    f = lambda x: (x * 0.0, x * -0.0, x * 2.0, x * 2.0)
    nan = optimised(
        jk, lambda x: (x - float("nan"), x - float("nan"), x / np.float32(np.nan)), floats(rng, 3), left=["sub", "div"]
    )
    result = optimised(jk, f, floats(rng, 3), left=["mul", "mul", "mul"])
    return result, own(jk, lambda x: (1.0 / (x * 0.0), 1.0 / (x * -0.0)))(floats(rng, 3)), nan


@program("20", "Operations on numbers alone are numbers.", against=["numbers are computed when it runs"])
def constants(jk, rng):
    c = float(rng.uniform(1, 2))
    f = lambda x: x * (jk.numpy.sin(c) + jk.numpy.exp(c) * 2.0)
    return optimised(jk, f, floats(rng, 3), left=["mul"])


@program("20", "An operation that changes shape, dtype or weakness stays.", against=["types do not count"])
def types(jk, rng):
    x, n, half = floats(rng, 3), float(rng.uniform()), np.float16([1, 2])
    strong = optimised(jk, lambda y: y.astype(np.float32), n, left=["convert_element_type"])
    return (
        optimised(jk, lambda x, y: x - y * 1.0, x, n, left=["convert_element_type", "sub"]),
        optimised(jk, lambda i: i * 1.0 + 1.0, np.int32([1, 2]), left=["convert_element_type", "add"]),
        strong["result"][0] * half,
        optimised(jk, lambda y: y * 1.0, n, left=[])["result"][0] * half,
        optimised(jk, lambda y: (jk.numpy.sin(1.5) * 2.0, y), n, left=[])["result"][0] * half,
    )


@program("20", "Calls are replaced by what they call, which may call others; their needless equations go, too.",
         against=["a call within a call stays"])  # fmt: skip
def calls(jk, rng):
    g = jk.jit(lambda x, c: jk.numpy.sin(x) * c)
    f = lambda x: g(x, 1.0) + g(x, 2.0) + g(x, 2.0)
    deep = jk.jit(lambda x, c: (jk.numpy.exp(x), jk.jit(lambda y: g(y, c))(x))[1])
    return optimised(jk, f, floats(rng, 3), left=["sin", "mul", "add", "add"]), optimised(
        jk, lambda x: (deep(x, 1.0), deep(x, 3.0), g(x, 3.0)), floats(rng, 3), left=["sin", "mul"]
    )


@program(
    "20",
    "A program keeps its arguments and its constants, also those that it does not need.",
    against=["a constant that nobody needs goes"],
)
def arguments(jk, rng):
    c = jk.numpy.asarray(floats(rng, 3))
    return (
        optimised(jk, lambda x, y, z: (y, y, y * c), floats(rng), floats(rng, 3), floats(rng, 2), left=["mul"]),
        optimised(jk, lambda x: (x * 1.0, x), floats(rng, 2), left=[]),
        optimised(jk, lambda x: (x + c, c * 2.0)[1] * 0.5 + x, floats(rng, 3), left=["mul", "mul", "add"]),
        optimised(jk, lambda x: (x + c, x)[1] * 2.0, floats(rng, 3), left=["mul"]),
    )


@program(
    "20",
    "A program is optimised before its C is written: the C has one sine, and no exponential.",
    against=["only `optimise` optimises"],
)
def in_c(jk, rng):
    def f(x):
        y = x
        for _ in range(4):
            y = y * jk.numpy.sin(x)
        jk.numpy.exp(y)
        return y + jk.numpy.sin(x)

    return behind(own(jk, f), floats(rng, 4), loops=1, evaluations={"sin": 4, "exp": 0})


@program(
    "20",
    "A number is its type, too: 1 and 1.0, 1.0 and float32(1.0). What goes through a smaller type is changed; nan * 0.0 is nan.",
    against=[
        "a number is its value",
        "a weak number is a strong one",
        "a conversion there and back is nothing",
        "a number times 0 is 0",
    ],
)
def types_of_numbers(jk, rng):
    n, half, f32 = jk.numpy, np.float16([1, 2]), np.float32
    x = f32([1.1, 65.7, -2.75, rng.uniform(1, 2)])
    pairs = lambda p: [n.where(p, a, 2 * a) for a in (1, 1.0, f32(1), np.int8(1), np.int32(1))]
    there = lambda x: (
        x.astype(np.float16).astype(f32),
        x.astype(np.int32).astype(f32),
        x.astype(np.int8).astype(np.int32),
    )
    closed = jk.make_jaxpr(pairs)(True)
    closed = closed if not hasattr(jk.core, "optimise") else jk.core.optimise(closed)
    chosen = [jk.core.eval_jaxpr(closed.jaxpr, closed.consts, p) for p in (True, False)]
    return (
        [[y, y * half] for ys in chosen for y in ys],
        optimised(jk, there, x, left=["convert_element_type"] * 6),
        [optimised(jk, lambda c: c * 0.0, f32(c), left=["mul"]) for c in (np.nan, np.inf, -1.0)],
    )


@program(
    "20",
    "What is computed of numbers alone is rounded as it would be when the program runs, and integers wrap.",
    against=["numbers are computed with more digits", "whole numbers have no end"],
)
def rounded(jk, rng):
    n, large, m = jk.numpy, np.float32(2**24), np.int32(rng.integers(1, 99))
    return (
        optimised(jk, lambda x: x * (n.add(large, np.float32(1)) - large), floats(rng, 2), left=["mul"]),
        optimised(jk, lambda i: i + (n.add(np.int32(2**31 - 1), m) + m), np.int32([1, 2]), left=["add"]),
    )


@program(
    "20",
    "Sines, roots and powers of numbers alone are those to the bit that the program would compute.",
    against=["functions of numbers are computed in double"],
)
def to_the_bit(jk, rng):
    n, some = jk.numpy, rng.uniform(0.25, 3.0, 12).astype(np.float32)
    names = ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "log1p", "expm1")
    fs = [lambda x, f=f: [f(np.float32(c)) * float(c) for c in some] for f in [getattr(n, name) for name in names]]
    fs.append(lambda x: [n.power(np.float32(c), d) / d for c, d in itertools.pairwise(some)])
    return [optimised(jk, f, 1.0, left=[]) for f in fs]


# --- random programs ----------------------------------------------------------------------------------------------------
# A variable has a type: x, y are float32[3], i int32[3], h float16[3], s float32[], w a weak number, b bool[3], k int8[].

UNARY = ("sin", "cos", "neg", "abs")
BINARY = ("add", "sub", "mul", "max")
FUNCTIONS = {"neg": "negative", "add": "add", "sub": "subtract", "mul": "multiply", "max": "maximum", "abs": "abs"}
QUESTIONS = {"lt": "<", "gt": ">", "ge": ">=", "le": "<=", "eq": "==", "ne": "!="}
IDLE = {
    **dict.fromkeys("xhsw", ("{} * 1.0", "1.0 * {}", "{} / 1.0", "{} - 0.0", "{} * n.cos(0.0)", "{} * 1")),
    **dict.fromkeys("ik", ("{} + 0", "0 + {}", "{} * 1", "1 * {}", "{} - 0", "{} + (2 - 2)")),
    "b": ("{}.astype(bool)",),
}
SAME = {
    "x": "{}.astype(np.float32)",
    "h": "{}.astype(np.float16)",
    "s": "{}.astype(np.float32)",
    "i": "{}.astype(np.int32)",
}
NUMBERS = ("2.5", "n.sin(2.0)", "(n.exp(0.5) * 2.0)", "-1.0", "0.0", "-0.0", "float('nan')", "float('-inf')")
START = {"x": "x", "y": "x", "i": "i", "h": "h", "s": "s", "w": "w", "b": "b", "k": "k", "c": "x"}


def drawn(rng, count):
    """Draw a program whose needless equations are known: lines, results, and the primitives that have to be left. The value of a line
    has a key, of its operation and its operands' keys: lines of one key are one equation, and one that changes nothing has its
    operand's key.
    """
    keys, kinds, lines, pairs = {name: (name,) for name in START}, dict(START), [], []
    of = lambda *wanted: pick(rng, *[v for v in keys if kinds[v] in wanted])

    def two(*wanted):
        """Draw two operands of one type, often two that another operation has already."""
        known = [pair for pair in pairs if kinds[pair[0]] in wanted]
        if not known or rng.integers(2):
            a = of(*wanted)
            known = [(a, of(kinds[a]))]
        pairs.append(pick(rng, *known))
        return pairs[-1]

    for at in range(count):
        kind = pick(
            rng,
            "unary",
            "binary",
            "binary",
            "idle",
            "again",
            "idle",
            "number",
            "call",
            "integer",
            "type",
            "sum",
            "question",
        )
        name, text, result = f"v{at}", "", "x"
        if kind == "unary":
            a, op = of("x", "x", "s", "w", "h"), pick(rng, *UNARY)
            text, key, result = f"n.{FUNCTIONS.get(op, op)}({a})", (op, keys[a]), kinds[a]
            if op in ("neg", "abs") and keys[a][0] in ("neg", "abs"):
                continue
        elif kind == "binary":
            (a, b), op = two(*"xhsi"), pick(rng, *BINARY)
            if keys[a] != keys[b]:
                a, b = (b, a) if op != "sub" and str(keys[a]) > str(keys[b]) else (a, b)  # always in one order
                text, key, result = f"n.{FUNCTIONS[op]}({a}, {b})", (op, keys[a], keys[b]), kinds[a]
        elif kind == "again" and lines:  # a line that there is already
            first, text = lines[int(rng.integers(len(lines)))]
            key, result = keys[first], kinds[first]
        elif kind == "idle":
            a = of(*"xxhswikb")
            result, key = kinds[a], keys[a]
            text = pick(rng, *IDLE[result], SAME.get(result, IDLE[result][0])).format(a)
        elif kind == "number":
            a, c = of("x", "s"), pick(rng, *NUMBERS)
            op = pick(rng, "mul", "sub") if c != "0.0" else "mul"
            text, key, result = f"{a} {'*' if op == 'mul' else '-'} {c}", (op, keys[a], c), kinds[a]
        elif kind == "call":
            a = of("x")
            sine = ("sin", keys[a])
            text, key = f"{pick(rng, 'g', 'g', 'h_')}({a})", ("sub", sine, ("mul", sine, "0.75"))
        elif kind == "integer":
            a, c = of("i", "i", "k"), pick(rng, "{} * 3", "{} - 2")
            op = {"3": "mul", "2": "sub"}[c[-1]]
            text, key, result = c.format(a), (op, keys[a], c[-1]), kinds[a]
        elif kind == "type":
            dtype, result = pick(rng, ("float32", "x"), ("int32", "i"), ("float16", "h"))
            a = of("x", "i", "h") if result != "i" else pick(rng, "x", "y", "c", "h")  # as an integer, nan is anything
            if kinds[a] != result:
                text, key = f"{a}.astype(np.{dtype})", ("convert_element_type", keys[a], dtype)
        elif kind == "sum":
            a, result = of("x"), "s"
            op = pick(rng, "sum", "max")
            text, key = f"n.{op}({a})", (f"reduce_{op}", keys[a])
        elif kind == "question":
            (a, b), op, result = two(*"xhi"), pick(rng, *QUESTIONS), "b"
            if keys[a] != keys[b]:
                a, b = (b, a) if str(keys[a]) > str(keys[b]) else (a, b)
                text, key = f"{a} {QUESTIONS[op]} {b}", (op, keys[a], keys[b])
        if text:
            lines.append((name, text))
            keys[name], kinds[name] = key, result
    found = [v for v in keys if keys[v] != ("w",)]  # `eval_jaxpr` may return a Python number as it came
    results = [pick(rng, *found), *(pick(rng, *found[-9:]) for _ in range(4))]
    left = set()

    def need(key):
        if len(key) > 1 and key not in left:
            left.add(key)
            for operand in key[1:]:
                if type(operand) is tuple:
                    need(operand)

    for name in results:
        need(keys[name])
    return lines, results, [key[0] for key in left]


def thinned(jk, rng, count, lines):
    """Return what is left of random programs, by their strings."""
    found, g = {}, jk.jit(lambda x: jk.numpy.sin(x) - jk.numpy.sin(x) * 0.75)
    h_ = jk.jit(lambda x: (jk.numpy.exp(x), jk.jit(lambda x: g(x) * 1.0)(x - 0.0))[1])
    x, y, i, h = floats(rng, 3), floats(rng, 3) - 1.5, np.int32([1, -2, 3]), np.float16([0.5, -2, 3])
    given = x, y, i, h, np.float32(0.75), 1.5, x > y, np.int8(100)
    names = {"n": jk.numpy, "np": np, "g": g, "h_": h_, "c": jk.numpy.asarray(floats(rng, 3))}
    for _ in range(count):
        every, results, left = drawn(rng, lines)
        body = "".join(f"    {name} = {text}\n" for name, text in every)
        exec(f"def f(x, y, i, h, s, w, b, k):\n{body}    return [{', '.join(results)}]", names)
        found[f"{body}    return {', '.join(results)}"] = optimised(jk, names["f"], *given, left=left)
    return found


@program("20", "From random programs, what is dead, there twice, unchanged or a number is removed, and nothing else.")
def random_programs(jk, rng):
    return thinned(jk, rng, 30, 20)


@program("20", "From hundreds of random programs, what need not be computed is removed, and nothing else.", hidden=True)
def many_random_programs(jk, rng):
    return thinned(jk, rng, 150, 26)
