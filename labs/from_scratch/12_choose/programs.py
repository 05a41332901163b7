"""Rung 12: `cond` and `switch`."""

import itertools

import numpy as np
from climbing import Raised, program, raised, text
from drawing import deck, pick, told


def floats(rng, *shape):
    return rng.uniform(-2.0, 2.0, shape).astype(np.float32)


@program(
    "12",
    "`cond` returns the result of its branch, at once and compiled.",
    against=["the branches are the wrong way round", "the decision is made while tracing", "only one branch is traced"],
)
def sides(jk, rng):
    f = lambda p, x: jk.lax.cond(p, lambda x: x * 2.0, lambda x: -x, x)
    x = floats(rng, 3)
    return [g(p, x) for g in (f, jk.jit(f)) for p in (True, False)]


@program(
    "12",
    "The data decide which branch runs: one trace serves for both.",
    against=["the decision is made while tracing", "the branches are the wrong way round", "only one branch is traced"],
)
def by_data(jk, rng):
    traces = []

    def f(x):
        traces.append(1)
        return jk.lax.cond(x.sum() > 0, lambda x: x + 1.0, lambda x: x - 1.0, x)

    g, x = jk.jit(f), abs(floats(rng, 3))
    return {"results": [g(x), g(-x)], "traces": len(traces)}


@program(
    "12",
    "Both branches are traced, each of them once.",
    against=["only one branch is traced", "branches are traced to see their types, and again for the program",
             "a switch tries its first branch", "branches are a list"],
)  # fmt: skip
def traced(jk, rng):
    order = []

    def branch(name):
        def f(x):
            order.append(name)
            return x

        return f

    names = "yes", "no", "first", "second", "third", "one", "other", "last"
    jk.make_jaxpr(lambda x: jk.lax.cond(x > 0, branch("yes"), branch("no"), x))(1.0)
    jk.make_jaxpr(lambda i, x: jk.lax.switch(i, [*map(branch, names[2:5])], x))(1, 1.0)
    jk.lax.switch(2, tuple(map(branch, names[5:])), 1.0)
    return {f"traces of {name}": order.count(name) for name in names}


@program(
    "12",
    "Only one branch runs: the text has a `case` and no `select`.",
    against=["both branches run", "the branches are the wrong way round", "only one branch is traced"],
)
def one_runs(jk, rng):
    lowered = text(
        jk, lambda x: jk.lax.cond(x[0] > 0, lambda x: jk.numpy.sin(x), lambda x: jk.numpy.exp(x), x), floats(rng, 3)
    )
    has_region = "stablehlo.case" in lowered.text or "stablehlo.if" in lowered.text
    return {"text": lowered, "it has a case": has_region, "it has a select": "stablehlo.select" in lowered.text}


@program(
    "12",
    "`switch` chooses among several; an index out of range means the nearest.",
    against=[
        "an index out of range means the last",
        "an index out of range is an error",
        "only one branch is traced",
        "a negative index counts from the end",
    ],
)
def several(jk, rng):
    f = lambda i, x: jk.lax.switch(i, [lambda x: x, lambda x: x * 2.0, lambda x: x * 3.0], x)
    x, g = floats(rng, 2), jk.jit(f)
    return [h(i, x) for h in (f, g) for i in (-5, -2, -1, 0, 1, 2, 3, 9)]


@program(
    "12",
    "Branches close over tracers, each over other ones. One branch may return a weak number where the other returns a strong one.",
    against=["branches close over nothing", "each branch has its own operands"],
)
def closures(jk, rng):
    f = lambda x, y: jk.lax.cond(x[0] > 0, lambda: x * y, lambda: y - 1.0)
    x, y = floats(rng, 3), floats(rng, 3)
    weak = lambda x: jk.lax.cond(x > 0, lambda: x, lambda: 0.0)
    return jk.jit(f)(x, y), jk.jit(f)(-x, y), jk.jit(weak)(x[0])


@program(
    "12",
    "Trees go in and come out.",
    against=["the branches are the wrong way round", "the decision is made while tracing", "the result is a list"],
)
def trees(jk, rng):
    f = jk.jit(lambda d: jk.lax.cond(d["x"][0] > 0, lambda d: (d["x"], [d["n"]]), lambda d: (-d["x"], [d["n"] + 1]), d))
    return f({"x": floats(rng, 2), "n": int(rng.integers(9))})


@program(
    "12",
    "Branches that return other types are a TypeError.",
    against=["the first branch decides what all return", "only the number of results is compared"],
)
def unlike(jk, rng):
    x = floats(rng, 3)
    return [
        raised(jk.make_jaxpr(lambda x: jk.lax.cond(x[0] > 0, lambda x: x, lambda x: x > 0, x)), x),
        raised(jk.make_jaxpr(lambda x: jk.lax.cond(x[0] > 0, lambda x: x, lambda x: (x, x), x)), x),
    ]


@program(
    "12",
    "A predicate is one truth value without axes; an array with axes is a TypeError.",
    against=["a predicate may be of one element"],
)
def not_scalar(jk, rng):
    f = lambda x: jk.lax.cond(x > 0, lambda x: x, lambda x: -x, x)
    return [raised(g, jk.numpy.asarray(floats(rng, n))) for n in (3, 1) for g in (f, jk.make_jaxpr(f))]


@program("12", "A branch may contain another choice.")
def nested(jk, rng):
    f = jk.jit(
        lambda x: jk.lax.cond(x > 0, lambda x: jk.lax.cond(x > 1, lambda x: x, lambda x: x * x, x), lambda x: -x, x)
    )
    return [f(float(c)) for c in floats(rng, 6)]


@program("12", "Every number but 0 is true, at once and compiled.", against=["a number is true when it is 1"])
def truths(jk, rng):
    f = lambda p: jk.lax.cond(p, lambda: 1.0, lambda: 0.0)
    ps = [0.5, -1.0, -1, 0, 0.0, 7, np.float32(0.25)]
    return [f(p) for p in ps], [jk.jit(f)(p) for p in ps]


@program(
    "12",
    "If `cond` is called at once, both branches are traced, too, each only once.",
    against=["only one branch is traced"],
)
def at_once(jk, rng):
    seen = []
    yes, no = (lambda x, n=n: (seen.append(n), x * float(n))[1] for n in (2, 3))
    result = jk.lax.cond(True, yes, no, floats(rng, 2))
    return result, sorted(seen)


@program("12", "The first branch says whether a result is weak; for `cond` that is the branch for False. Branches may return nothing.",
         against=["a choice without results has a name"])  # fmt: skip
def weak(jk, rng):
    x, h = np.float32(rng.uniform()), floats(rng, 2).astype(np.float16)
    fs = [lambda p: jk.lax.cond(p, lambda: x, lambda: 0.5), lambda p: jk.lax.cond(p, lambda: 0.5, lambda: x)]
    nothing = lambda p: jk.lax.cond(p, lambda: None, lambda: None)
    return [g(p) * h for f in fs for g in (f, jk.jit(f)) for p in (True, False)], nothing(True), jk.jit(nothing)(True)


@program("12", "Other structures and other types are TypeErrors at once, too: a list is not a tuple, and an integer is not a float.",
         against=["only the number of results is compared", "lists and tuples are the same"])  # fmt: skip
def unlike_at_once(jk, rng):
    cond = jk.lax.cond
    return [
        raised(lambda: cond(True, lambda: [1.0, 2.0], lambda: (1.0, 2.0))),
        raised(lambda: cond(True, lambda: 1, lambda: 1.5)),
        raised(lambda: cond(True, lambda: {"a": 1.0}, lambda: {"b": 1.0})),
        raised(lambda: cond(True, lambda: np.ones(2, np.float32), lambda: np.ones(3, np.float32))),
        raised(lambda: jk.lax.switch(1, [lambda: 1.0, lambda: 2.0, lambda: None])),
    ]


@program("12", "Four branches close over different values, and share some of them.")
def many(jk, rng):
    def f(i, x, y):
        z = x * y
        return jk.lax.switch(i, [lambda: x, lambda: z + y, lambda: jk.numpy.sin(z), lambda: x[::1] - 2.0 * y])

    x, y = floats(rng, 3), floats(rng, 3)
    return [jk.jit(f)(i, x, y) for i in range(4)], [
        f(np.int32(i), jk.numpy.asarray(x), jk.numpy.asarray(y)) for i in range(4)
    ]


@program("12", "Whole numbers stay whole in branches.", tolerance=1e-9)
def whole_numbers(jk, rng):
    x, y = (jk.numpy.asarray(rng.integers(1, 9, 3).astype(np.float32)) for _ in range(2))
    f = lambda i, x, y: [
        jk.lax.cond(i > 0, lambda x, y: x * y, lambda x, y: x - y, x, y),
        jk.lax.switch(i, [lambda x: x, lambda x: x / 2.0, lambda x: x.sum()[None] + x], x),
    ]
    return [g(i, x, y) for g in (f, jk.jit(f)) for i in range(3)]


@program(
    "12",
    "A nan is true, since it is not 0; each branch is compared with the first, also one in the middle.",
    against=["a nan is false", "only the last branch is compared"],
)
def in_the_middle(jk, rng):
    lax, x = jk.lax, floats(rng, 2)
    odd = [lambda: 1, lambda: [1.0], lambda: x, lambda: (1.0, 1.0)]
    f = lambda p: lax.cond(p, lambda: 1.0, lambda: 0.0)
    wrong = [raised(lambda o=o: lax.switch(0, [lambda: 1.0, o, lambda: 3.0])) for o in odd]
    return wrong, [g(p) for g in (f, jk.jit(f)) for p in (float("nan"), float("inf"), -0.0, 1e-30)]


@program(
    "12",
    "Two branches that are one function are a choice all the same; a branch that fails leaves the tracing to the outer function.",
    against=["a function that is given twice is no choice", "when a branch fails, nobody stands at the door"],
)
def twice_and_caught(jk, rng):
    def broken(x):
        raise KeyError("mine")

    def f(p, x):
        try:
            return jk.lax.cond(p, broken, jk.numpy.sin, x)
        except KeyError:
            return jk.lax.cond(p, jk.numpy.sin, jk.numpy.sin, x) * x

    p, x = True, floats(rng, 2)
    names = [e.primitive.name for e in jk.make_jaxpr(f)(p, x).jaxpr.eqns]
    return [name for name in names if name in ("sin", "mul")], jk.jit(f)(p, x)


# --- random choices -----------------------------------------------------------------------------------------------------
# A choice is a string, such as `jk.lax.switch(i, [lambda: x * y, lambda: x])`, which is the key of its result.

RESULTS = (
    "1", "1.5", "True", "np.float32(2)", "np.int8(2)", "np.float16(2)", "[1.5]", "(1.5,)", "[[1.5]]", "{'a': 1.5}", "{'b': 1.5}", "None",
    "()", "[]", "{}", "(1.5, None)", "(None, 1.5)", "np.ones((2, 3), np.float32)", "np.ones((3, 2), np.float32)", "np.ones(6, np.float32)",
    "np.ones(1, np.float32)", "np.ones((1, 1), np.float32)", "(1.5, 1)", "(1, 1.5)",
)  # fmt: skip
TRUTHS = ("True", "False", "0", "-2", "0.25", "-0.0", "float('nan')", "np.float16(0.5)", "np.float16(0)", "np.int8(-128)", "np.uint8(128)",
          "np.bool_(True)", "x[0] > 0", "x.sum()", "i", "jk.numpy.max(y) < 1", "np.ones(1, bool)", "np.zeros((), np.float32)")  # fmt: skip
INDICES = ("i", "i - 1", "-1", "1", "2", "9", "np.int8(-100)", "np.uint8(200)", "np.int16(300)", "np.uint8(1)", "1 - i")
VALUES = (
    "x",
    "x * y",
    "x - 1.0",
    "c * x",
    "y + c",
    "x * 0.0 + x.sum()",
    "jk.numpy.sin(x)",
    "x.astype(np.float32)",
    "g(x)",
    "g(y) - x",
    "caught(x) * y",
)
ALIKE = (  # results of the same types, some of them weak
    ("1.5", "c", "np.float32(2)", "x[0]", "2.5", "jk.numpy.asarray(0.5)"), ("2", "np.int32(3)", "n", "n + 1", "-n"),
    ("True", "x[0] > 0", "c < 1", "np.bool_(False)", "n == 1"), ("(x, 1.5)", "(y, c)", "(c * x, 0.5)", "(x, np.float32(2))"),
    ("{'a': n, 'b': None}", "{'b': None, 'a': 2}", "dict(a=np.int32(1), b=None)"), ("np.float16(2)", "c.astype(np.float16)"),
    ("[x[0], [y, ()]]", "[c, [x, ()]]", "[1.5, [x * y, ()]]"), ("np.uint16(3)", "n.astype(np.uint16)"), ("x[:0]", "y[3:]"), ("x[None]",
    "y[None] * c"),
    ("(x, x, x)", "(x, y, x)", "(y, x, c * y)"), ("(n, 1.5)", "(2, c)", "(np.int32(2), 2.5)"), ("x > y", "y > 0", "x == x"), ("()",
    "tuple([])"),
)  # fmt: skip


def pairs(rng, count):
    """Draw choices between two results that may not go together: one branch returns the first, another branch the second."""
    near = [*itertools.pairwise(RESULTS)]  # beside each stands what is nearly the same
    for one, other in near + [(pick(rng, *RESULTS), pick(rng, *RESULTS)) for _ in range(count)]:
        yield pick(rng,
            f"jk.lax.cond({pick(rng, True, False)}, lambda: {one}, lambda: {other})",
            f"jk.lax.switch(1, [lambda: {one}, lambda: {one}, lambda: {other}])",
            f"jk.lax.cond({pick(rng, *TRUTHS[:12])}, lambda: {one}, lambda: {one})",
        )  # fmt: skip


def branch(rng, depth):
    """Draw the result of a branch, which may itself be a choice."""
    if depth and rng.integers(3) == 0:
        return choice(rng, depth - 1)
    return pick(rng, *VALUES)


OPERANDS = (
    ("", ""),
    (", x, c", "x, c"),
    (", {'k': n, 'm': (y, None)}", "t"),
    (", y, 2.5", "x, c"),
    (", None, x, 2", "_, y, n"),
    (", 1, (), y", "n, _, x"),
)


def typed(rng, alike, operands):
    """Return the text of a choice between results of the same types, which may be trees, or differ in weakness; it may stand in a jitted
    function that closes over the operands.
    """
    some, (given, names) = next(alike), next(operands)
    branches = [f"lambda {names}: {pick(rng, *some)}" for _ in range(int(rng.integers(2, 5)))]
    chosen = (
        f"jk.lax.cond({pick(rng, *TRUTHS[:-2])}, {branches[0]}, {branches[1]}{given})"
        if rng.integers(2)
        else f"jk.lax.switch({pick(rng, *INDICES)}, {pick(rng, '[{}]', '({})').format(', '.join(branches))}{given})"
    )
    return pick(rng, chosen, chosen, f"jk.jit(lambda y: {chosen})(y + x)", f"jk.jit(lambda: {chosen})()")


def choice(rng, depth=1):
    """Return the text of a random `cond` or `switch` between arrays like x. Some branches take operands, and some are the same function."""
    way = int(rng.integers(4))
    if way == 0:
        return f"jk.lax.cond({pick(rng, *TRUTHS[:-2])}, lambda: {branch(rng, depth)}, lambda: {branch(rng, depth)})"
    if way == 1:
        one, other = branch(rng, depth), pick(rng, *VALUES)
        operands = pick(rng, "x, y", "y, x", "x * 2.0, y", "y, y")
        return f"jk.lax.cond({pick(rng, *TRUTHS[:-2])}, lambda x, y: {one}, lambda a, b: (lambda x: {other})(a) - b, {operands})"
    branches = [f"lambda: {branch(rng, depth)}" for _ in range(int(rng.integers(1, 5)))]
    if way == 2:
        branches = [pick(rng, "f", "h", "jk.numpy.negative") for _ in branches] + ["f"] * int(rng.integers(2))
        return f"jk.lax.switch({pick(rng, *INDICES)}, [{', '.join(branches)}], {pick(rng, 'x', 'y + x')})"
    return f"jk.lax.switch({pick(rng, *INDICES)}, [{', '.join(branches)}])"


def answers(jk, rng, count):
    """Return the results of random choices by their strings: `pairs` are computed eagerly, the others both eagerly and by one program."""

    def caught(x):
        """Return a result after a choice that was refused."""
        error = raised(lambda: jk.lax.cond(x[0] > 0, lambda: jk.numpy.sin(x), lambda: (x, x)))
        return x * 2.0 if type(error) is Raised else x

    names = {
        "np": np,
        "jk": jk,
        "f": lambda x: x * 3.0,
        "h": lambda x: x + 1.0,
        "g": jk.jit(lambda x: x * 0.5),
        "caught": caught,
    }
    found = {text: raised(lambda f: told(jk, f()), eval("lambda: " + text, names)) for text in pairs(rng, count)}
    few = [
        "jk.lax.switch(i, [lambda a, b: b - a], x, y)",
        "jk.lax.switch(i, [f, f, h], x)",
        "jk.lax.switch(1, [h, h, f], x)",
        "jk.lax.cond(i > 1, lambda a: a, lambda a: a * 2.0, 1.5)",
        "jk.lax.switch(i, (lambda a, b: b, lambda a, b: b * 2), None, 2)",
    ]
    alike, operands = deck(rng, ALIKE), deck(rng, OPERANDS)
    texts = [*few, *[choice(rng) for _ in range(count)], *[typed(rng, alike, operands) for _ in range(count)]]
    fs = {text: eval(f"lambda x, y, c, i, n: {text}", names) for text in texts}
    given = [jk.numpy.asarray(v) for v in (floats(rng, 3), floats(rng, 3), np.float32(rng.uniform()))] + [1]
    compiled, n = jk.jit(lambda *given: {text: f(*given) for text, f in fs.items()}), jk.numpy.asarray(np.int32(4))
    at_once = {text: told(jk, f(*given, n)) for text, f in fs.items()}
    return found, at_once, [told(jk, compiled(*given[:3], i, n)) for i in (1, 3)]


@program(
    "12",
    "Random choices are right: predicates, indices and results of many types, functions that are given twice, choices in branches.",
    against=[
        "one branch is called without a choice",
        "a function that is given twice is one branch",
        "arrays of one size are alike",
        "None is an empty tuple",
        "an index is converted before it is in range",
        "operands become strong",
        "None is no operand",
    ],
    tolerance=1e-3,
)
def random_choices(jk, rng):
    return answers(jk, rng, 24)


@program("12", "Hundreds of random choices are right.", hidden=True, tolerance=1e-3)
def many_random_choices(jk, rng):
    return answers(jk, rng, 50)
