"""Wrong versions of rung 06, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "division is multiplication",
    "Which word does XLA have for `/`?",
    '    "neg": "negate", "sin"',
    '    "div": "multiply", "neg": "negate", "sin"',
)
edit(
    "%f is enough for a float",
    "1e-30 as text with six digits: what is left of it?",
    'f\'"0x{data.tobytes().hex()}"\' if x.size else ""',
    'f"{data:f}" if x.shape == () and abs(data) < 1e9 and x.dtype == F32 else f\'"0x{data.tobytes().hex()}"\' if x.size else ""',
)
edit(
    "constants are zero in the text",
    "An array was closed over. Which numbers does the text have?",
    "        data = np.asarray(x)\n",
    "        data = np.asarray(x) if x.shape == () else np.zeros(x.shape, x.dtype)\n",
)
edit(
    "XLA broadcasts",
    "Does StableHLO add tensors of different shapes?",
    "        if x.aval.shape == shape:\n            return x\n        axes",
    "        return x\n        axes",
)
edit("every comparison is LT", "Which direction does `>=` have?", 'f"compare {name.upper()},"', '"compare LT,"')
edit(
    "only equations have results",
    "The function returns its argument, or a number, or nothing. What does your last line return?",
    "        outs = [self.named(x) for x in asked(self, as_function(jaxpr), *xs)]\n",
    "        outs = [self.named(x) for x in asked(self, as_function(jaxpr), *xs) if not any(x is y for y in xs)]\n",
)
edit(
    "axes are counted from the front",
    "Vectors of 3 and a matrix of shape (2, 3): which axis of the matrix is the vector's?",
    "        axes = list(range(len(shape) - x.ndim, len(shape)))",
    "        axes = list(range(x.ndim))",
)
edit(
    "a number is written as Python prints it",
    "How does Python print infinity? And 1e-30: is there a point?",
    """        digits = str(data.tolist()).lower() if x.dtype == BOOL else f'"0x{data.tobytes().hex()}"' if x.size else ""
""",
    """        digits = str(data.tolist()).lower() if x.dtype == BOOL else f'"0x{data.tobytes().hex()}"' if x.size else ""
        digits = repr(data.item()) if x.shape == () and x.dtype.kind == "f" else digits
""",
)
edit(
    "the maximum is the one that is larger",
    "Is nan larger than 1, or 1 larger than nan? What is their maximum?",
    """lowerings[convert_p] = one_line("convert")
""",
    """lowerings[convert_p] = one_line("convert")


def larger(text, outs, x, y):
    bools = [Aval(outs[0].shape, BOOL)]
    [c] = elementwise_line("compare GT,", text, bools, x, y)
    x, y = text.spread(x, outs[0].shape), text.spread(y, outs[0].shape)
    return text.line(f"stablehlo.select {c.data}, {x.data}, {y.data} : {tensor(c.aval)}, {tensor(outs[0])}", outs)


lowerings[elementwise_primitives["max"]] = larger
""",
)
edit(
    "x ** y is exp(y log x)",
    "(-2.0) ** 2.0: what is the logarithm of -2?",
    """lowerings[convert_p] = one_line("convert")
""",
    """lowerings[convert_p] = one_line("convert")


def by_logarithm(text, outs, x, y):
    [a] = elementwise_line("log", text, [Aval(x.shape, x.dtype)], x)
    [m] = elementwise_line("multiply", text, outs, a, y)
    return elementwise_line("exponential", text, outs, m)


lowerings[elementwise_primitives["pow"]] = by_logarithm
""",
)
edit(
    "`expm1` is written as `exp` and `- 1`",
    "What is left of 1e-6 after 1 was added and taken away?",
    """lowerings[convert_p] = one_line("convert")
""",
    """lowerings[convert_p] = one_line("convert")


def less_one(text, outs, x):
    [e] = elementwise_line("exponential", text, outs, x)
    one = text.named(as_value(np.ones((), outs[0].dtype)))
    return elementwise_line("subtract", text, outs, e, one)


lowerings[elementwise_primitives["expm1"]] = less_one
""",
)
edit(
    "`-x` is written as `0 - x`",
    "What is 1 divided by -x, if x is 0.0?",
    """lowerings[convert_p] = one_line("convert")
""",
    """lowerings[convert_p] = one_line("convert")


def from_zero(text, outs, x):
    return elementwise_line("subtract", text, outs, text.named(as_value(np.zeros((), outs[0].dtype))), x)


lowerings[elementwise_primitives["neg"]] = from_zero
""",
)
edit(
    "seven digits are enough",
    "How many digits does 16777215.0 need, and which float32 is 1.677722e+07?",
    '        digits = str(data.tolist()).lower() if x.dtype == BOOL else f\'"0x{data.tobytes().hex()}"\' if x.size else ""',
    '        digits = str(data.tolist()).lower() if x.dtype == BOOL or x.shape == () and np.isfinite(data) and x.dtype != np.float16 and not float(data) < 0 else f\'"0x{data.tobytes().hex()}"\' if x.size else ""\n        if x.shape == () and x.dtype == F32 and np.isfinite(data) and not float(data) < 0: digits = f"{float(data):.6e}"',
)
edit(
    "truth values stand in one row",
    "Which brackets does `dense<...>` need for a matrix of truth values?",
    "str(data.tolist()).lower()",
    "str(data.ravel().tolist() if data.ndim else data.tolist()).lower()",
)
edit(
    "truth values are compared with a sign",
    "If one bit is read as a number with a sign, it is 0 or -1. Is True then less than False?",
    """# => }
# => }
""",
    """# => }
# => }

for _n in QUESTIONS:
    lowerings[elementwise_primitives[_n]] = lambda text, outs, x, y, n=_n: text.line(f"stablehlo.compare {n.upper()}, {text.spread(x, outs[0].shape).data}, {text.spread(y, outs[0].shape).data}, {'FLOAT' if x.dtype.kind == 'f' else 'SIGNED'} : ({tensors([resized(x, outs[0].shape), resized(y, outs[0].shape)])}) -> {tensor(outs[0])}", outs)
""",
)
edit(
    "a power of integers goes by floats",
    "Can a float32 hold 7 ** 9 exactly?",
    """# => }
# => }
""",
    """# => }
# => }

_lp = lowerings[elementwise_primitives['pow']]
def lp(text, outs, x, y):
    if x.dtype.kind != 'i': return _lp(text, outs, x, y)
    f = [resized(Aval((), F32), v.shape) for v in (x, y)]
    xs = [lowerings[convert_p](text, [a], v, new_dtype=F32, weak_type=False)[0] for a, v in zip(f, (x, y))]
    r = _lp(text, [Aval(outs[0].shape, F32)], *xs)
    return lowerings[convert_p](text, outs, *r, new_dtype=I32, weak_type=False)
lowerings[elementwise_primitives['pow']] = lp
""",
)
edit(
    "`~` of integers is `-`",
    "`~5` flips all bits of an int32. Which number is that?",
    """# => }
# => }
""",
    """# => }
# => }

_ln = lowerings[elementwise_primitives['not']]
lowerings[elementwise_primitives['not']] = lambda text, outs, x: _ln(text, outs, x) if x.dtype == BOOL else lowerings[elementwise_primitives['neg']](text, outs, x)
""",
)
edit(
    "bytes lie in memory row after row",
    "How do the bytes of a transposed numpy array lie?",
    "data.tobytes().hex()",
    'data.tobytes("A").hex()',
)
edit(
    "what is not used is not an argument",
    "Nothing uses x. How many arrays does the caller pass?",
    '        head = f"func.func {visibility}',
    """        used = {id(v) for eqn in jaxpr.eqns for v in eqn.invars} | set(map(id, jaxpr.outvars))
        declared = ", ".join([d for d, v in zip(declared.split(", "), jaxpr.invars) if id(v) in used])
        head = f"func.func {visibility}""",
)
edit(
    "numbers that are equal are written once",
    "0.0 == -0.0. Is 1 / 0.0 also 1 / -0.0?",
    "        data = np.asarray(x)\n        digits",
    "        data = np.asarray(x)\n        data = self.known.setdefault((x.dtype, data.item()), data) if x.shape == () else data\n        digits",
)
edit(
    "unsigned integers have a sign in the text",
    "200 is a uint8. Which number do its bits stand for, as an i8?",
    '.replace("u", "ui")',
    '.replace("u", "i")',
)
edit(
    "a number of Python is no argument",
    "lower(f, x, 2): how many arguments has @main?",
    "    return lower_jaxpr(make_jaxpr(f)(*args))",
    """    given = [x for x in args if type(x) not in (bool, int, float)]

    def without_numbers(*xs):
        rest = iter(xs)
        return f(*[x if type(x) in (bool, int, float) else next(rest) for x in args])

    return lower_jaxpr(make_jaxpr(without_numbers)(*given))""",
)
edit(
    "numpy prints every number of an array",
    "Print an array of 2000 truth values. What stands in the middle?",
    "str(data.tolist()).lower() if",
    'np.array2string(data, separator=", ").lower() if',
)
edit(
    "a root is a power",
    "The root of minus infinity is nan. What is its power by 0.5?",
    """lowerings[convert_p] = one_line("convert")
""",
    """lowerings[convert_p] = one_line("convert")
lowerings[elementwise_primitives["sqrt"]] = lambda text, outs, x: elementwise_line(
    "power", text, outs, x, text.spread(text.named(as_value(np.asarray(0.5, x.dtype))), x.shape))
""",
)
edit(
    "tanh is a quotient of exponentials",
    "If tanh(100.0) is computed from exp(200.0): how large is that in float32?",
    """lowerings[convert_p] = one_line("convert")
""",
    """lowerings[convert_p] = one_line("convert")


def by_exponentials(text, outs, x):
    e = elementwise_line("exponential", text, outs, *elementwise_line("add", text, outs, x, x))[0]
    one = text.spread(text.named(as_value(np.asarray(1, x.dtype))), x.shape)
    pair = [elementwise_line(op, text, outs, e, one)[0] for op in ("subtract", "add")]
    return elementwise_line("divide", text, outs, *pair)


lowerings[elementwise_primitives["tanh"]] = by_exponentials
""",
)
