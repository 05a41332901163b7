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

UNARY = ("sin", "cos", "neg", "abs")
BINARY = ("add", "sub", "mul", "max")
FUNCTIONS = {"neg": "negative", "add": "add", "sub": "subtract", "mul": "multiply", "max": "maximum", "abs": "abs"}


def drawn(rng, count):
    """Draw a program whose needless equations are known: lines, results, and the primitives that have to be left. The value of a line
    has a key, of its operation and its operands' keys: lines of one key are one equation, and one that changes nothing has its
    operand's key.
    """
    keys, lines = {"x": ("x",), "y": ("y",), "i": ("i",)}, []
    for at in range(count):
        kind = pick(rng, "unary", "binary", "binary", "idle", "again", "idle", "number", "call", "integer")
        a, b = (pick(rng, *[v for v in keys if v[0] != "i"]) for _ in range(2))
        name, text = f"v{at}", ""
        if kind == "unary":
            op = pick(rng, *UNARY)
            text, key = f"n.{FUNCTIONS.get(op, op)}({a})", (op, keys[a])
            if op in ("neg", "abs") and keys[a][0] in ("neg", "abs"):
                continue
        elif kind in ("binary", "again"):
            op = pick(rng, *BINARY)
            if kind == "again" and lines:  # a line that there is already
                name, text = f"w{at}", lines[int(rng.integers(len(lines)))]
                name, text, key = ("i" if text[0][0] == "i" else "") + name, text[1], keys[text[0]]
            elif keys[a] != keys[b]:
                a, b = (b, a) if op != "sub" and str(keys[a]) > str(keys[b]) else (a, b)  # always in one order
                text, key = f"n.{FUNCTIONS[op]}({a}, {b})", (op, keys[a], keys[b])
        elif kind == "idle":
            text, key = (
                pick(
                    rng, "{} * 1.0", "1.0 * {}", "{} / 1.0", "{} - 0.0", "{}.astype(np.float32)", "{} * n.cos(0.0)"
                ).format(a),
                keys[a],
            )
        elif kind == "number":
            c = pick(
                rng, "2.5", "n.sin(2.0)", "(n.exp(0.5) * 2.0)", "-1.0", "0.0", "-0.0", "float('nan')", "float('-inf')"
            )
            op = pick(rng, "mul", "sub") if c != "0.0" else "mul"
            text, key = f"{a} {'*' if op == 'mul' else '-'} {c}", (op, keys[a], c)
        elif kind == "call":
            sine = ("sin", keys[a])
            text, key = f"{pick(rng, 'g', 'g', 'h')}({a})", ("sub", sine, ("mul", sine, "0.75"))
        else:
            a, name = pick(rng, *[v for v in keys if v[0] == "i"]), f"i{at}"
            c = pick(rng, "{} + 0", "0 + {}", "{} * 1", "{} - 0", "{} * 3", "{} - 2")
            text, key = c.format(a), ({"3": "mul", "2": "sub"}[c[-1]], keys[a], c[-1]) if c[-1] in "23" else keys[a]
        if text:
            lines.append((name, text))
            keys[name] = key
    results = [pick(rng, *keys) for _ in range(3)]
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
    """Return what is left of random programs, by their texts."""
    found, g = {}, jk.jit(lambda x: jk.numpy.sin(x) - jk.numpy.sin(x) * 0.75)
    h = jk.jit(lambda x: (jk.numpy.exp(x), jk.jit(lambda x: g(x) * 1.0)(x - 0.0))[1])
    x, y, i = floats(rng, 3), floats(rng, 3) - 1.5, np.int32([1, -2, 3])
    for _ in range(count):
        every, results, left = drawn(rng, lines)
        body = "".join(f"    {name} = {text}\n" for name, text in every)
        names = {"n": jk.numpy, "np": np, "g": g, "h": h}
        exec(f"def f(x, y, i):\n{body}    return [{', '.join(results)}]", names)
        found[f"{body}    return {', '.join(results)}"] = optimised(jk, names["f"], x, y, i, left=left)
    return found


@program("20", "Random programs: what is dead, there twice, unchanged or a number is gone, and nothing else.")
def random_programs(jk, rng):
    return thinned(jk, rng, 30, 14)


@program("20", "Hundreds of random programs.", hidden=True)
def many_random_programs(jk, rng):
    return thinned(jk, rng, 150, 18)
