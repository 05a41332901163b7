"""Rung 13: `while_loop`."""

import itertools

import numpy as np
from climbing import Raised, counted, program, raised
from drawing import carry, deck, pick, told


def floats(rng, *shape):
    return rng.uniform(0.5, 2.0, shape).astype(np.float32)


@program(
    "13",
    "The data decide how many turns there are, at once and compiled.",
    against=["the test is made after the turn", "a loop turns once at least"],
)
def turns(jk, rng):
    f = lambda x: jk.lax.while_loop(lambda x: x < 100.0, lambda x: x * 2.0, x)
    return [g(c) for g in (f, jk.jit(f)) for c in (float(rng.uniform(1, 9)), 200.0)]


@program(
    "13",
    "The body is traced once, however many turns there are.",
    against=[
        "the loop is unrolled while tracing",
        "loops close over nothing",
        "a carry is a list of leaves",
        "the carry is written in the order of the dict",
    ],
)
def one_trace(jk, rng):
    traces = []

    def body(c):
        traces.append(1)
        return c[0] + 1, c[1] * 1.5

    f = jk.jit(lambda n, x: jk.lax.while_loop(lambda c: c[0] < n, body, (0, x)))
    x = floats(rng, 2)
    return {"results": [f(3, x), f(50, x * 0.001)], "one trace, or two": len(traces) <= 2}


@program("13", "It is one program, run once.")
def one_program(jk, rng):
    f = jk.jit(lambda x: jk.lax.while_loop(lambda x: x.sum() < 50.0, lambda x: x * x + 1.0, x))
    return counted(f, floats(rng, 3), compiled=1, executed=1)


@program("13", "The carry is a tree.")
def trees(jk, rng):
    f = jk.jit(
        lambda d: jk.lax.while_loop(lambda d: d["n"] > 0, lambda d: {"n": d["n"] - 1, "x": [d["x"][0] * 2.0]}, d)
    )
    return f({"n": int(rng.integers(1, 6)), "x": [floats(rng, 2)]})


@program("13", "Test and body close over tracers.", against=["loops close over nothing"])
def closures(jk, rng):
    f = jk.jit(lambda x, y, n: jk.lax.while_loop(lambda c: c[1] < n, lambda c: (c[0] + y, c[1] + 1), (x, 0)))
    return f(floats(rng, 3), floats(rng, 3), int(rng.integers(1, 9)))


@program(
    "13",
    "If a number goes in weak and comes out strong, it is made strong; if 0 comes out as a float, it is made a float.",
    against=["the carry always has the type that it came in with"],
)
def fixed_point(jk, rng):
    x = floats(rng)
    f = lambda x: jk.lax.while_loop(lambda c: c < 10.0, lambda c: c * 2.0 + x, 0.0)
    aval = jk.make_jaxpr(f)(x).jaxpr.outvars[0].aval
    g = lambda x: jk.lax.while_loop(lambda c: c < 5.0, lambda c: c + x, 0)
    results = [f(x), jk.jit(f)(x), g(x), jk.jit(g)(x)]
    return {"results": results, "weak_type": bool(aval.weak_type)}


@program(
    "13",
    "A carry that changes its type is a TypeError.",
    against=[
        "the carry always has the type that it came in with",
        "a strong number gives way, too",
        "a shape is not a type",
        "a carry's structure is its leaves",
    ],
)
def changing(jk, rng):
    loops = [lambda x: x > 0, lambda x: (x, x), lambda x: x[None]]
    return [
        raised(jk.make_jaxpr(lambda x, b=b: jk.lax.while_loop(lambda x: True, b, x)), floats(rng, 3)) for b in loops
    ]


@program(
    "13",
    "A test that is not a single truth value is a TypeError, too.",
    against=["any test that Python takes for true will do", "one condition for many examples"],
)
def no_truth_value(jk, rng):
    return [
        raised(jk.make_jaxpr(lambda x, t=t: jk.lax.while_loop(t, lambda x: x, x)), floats(rng, 3))
        for t in (lambda x: x > 0, lambda x: x[0])
    ]


@program("13", "A loop may contain a loop.")
def nested(jk, rng):
    def inner(x):
        return jk.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + x), (0, x))[1]

    return jk.jit(lambda x: jk.lax.while_loop(lambda x: x.sum() < 40.0, inner, x))(floats(rng, 2))


@program(
    "13",
    "If the loop is called at once, its body is traced, too, and not called for each turn.",
    against=["the loop is unrolled while tracing"],
)
def at_once(jk, rng):
    turns = []
    n = int(rng.integers(7, 12))
    result = jk.lax.while_loop(lambda c: c < n, lambda c: (turns.append(1), c + 1)[1], 0)
    return result, "one trace, or two" if len(turns) <= 2 else len(turns)


@program("13", "An integer of numpy is strong: if it comes out as a float, that is a TypeError. A Python number gives way.",
         against=["the carry always has the type that it came in with"])  # fmt: skip
def strong(jk, rng):
    x = np.float32(1.5)
    loop = lambda init: jk.lax.while_loop(lambda c: c < 5, lambda c: c + x, init)
    return raised(loop, np.int32(0)), loop(0), loop(np.float32(0)), raised(jk.jit(loop), np.int32(0)), jk.jit(loop)(0)


@program("13", "Weak numbers are made strong once: a part that would have to be after the second trace is a TypeError.",
         against=["weak numbers are made strong until none changes"])  # fmt: skip
def once(jk, rng):
    x = floats(rng)
    chain = lambda x: jk.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + c[2], c[2] + x), (0, 0, 0))
    pair = lambda x: jk.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + x, c[2] + x), (0, 0, 0))
    return raised(chain, x), raised(jk.jit(chain), x), pair(x), jk.jit(pair)(x)


@program("13", "The parts of a carry may change places, be half floats or truth values; a carry may be empty.")
def rotated(jk, rng):
    h, b = floats(rng, 2).astype(np.float16), True
    f = lambda x, y: jk.lax.while_loop(
        lambda c: c[0] < 5,
        lambda c: (c[0] + 1, c[2], c[1] * 2.0, ~c[3], c[4] * 2, ()),
        (0, x, y, jk.numpy.asarray(b), h, ()),
    )
    x, y = floats(rng, 2), floats(rng, 2)
    return f(x, y), jk.jit(f)(x, y)


@program("13", "Whole numbers stay whole in loops.", tolerance=1e-9)
def whole_numbers(jk, rng):
    x = jk.numpy.asarray(rng.integers(1, 5, 3).astype(np.float32))
    turn = lambda c: (c[0] + c[1], c[0] * 0.5, c[2] + 1)
    f = lambda x: jk.lax.while_loop(lambda c: c[2] < 4, turn, (x, x * 2.0, 0))
    return f(x), jk.jit(f)(x)


@program(
    "13",
    "A weak number takes the dtype that comes out, also float16; one that comes out weak stays weak, with or without a turn.",
    against=[
        "a weak number becomes a float32",
        "all parts become strong",
        "a loop that does not turn is not traced",
        "a weak number takes any type",
    ],
)
def weak_parts(jk, rng):
    h, n = np.float16(rng.uniform(1, 2)), int(rng.integers(2, 5))
    loops = [
        lambda n: jk.lax.while_loop(lambda c: c < 9, lambda c: c + h, 1.0),
        lambda n: jk.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2.0, c[2] * h), (0, 1.5, 2)),
        lambda n: jk.lax.while_loop(lambda c: c > 50, lambda c: c * h, 1.0),
        lambda n: jk.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 1.5), (0, 1)),
    ]
    results = [f(n) for loop in loops for f in (loop, jk.jit(loop))]
    leaves = jk.tree_util.tree_leaves(results)
    return results, [x * h for x in leaves]


@program(
    "13",
    "What does not keep its type is a TypeError, also where the loop would not turn: a list for a tuple, a float32 for a float16.",
    against=[
        "a list is as good as a tuple",
        "what comes out is converted back",
        "a loop that does not turn is not traced",
    ],
)
def other_types(jk, rng):
    x, loop = floats(rng, 1), jk.lax.while_loop
    return [
        raised(lambda: loop(lambda c: c[0] < 3, lambda c: [c[0] + 1, c[1]], (0, 1.0))),
        raised(lambda: loop(lambda c: c < 3, lambda c: c + np.float32(1), np.float16(0))),
        raised(lambda: loop(lambda c: c < 0, lambda c: c + 0.5, np.int32(1))),
        raised(lambda: loop(lambda c: False, lambda c: (c, c), 1.0)),
        raised(lambda: loop(lambda c: c < 9, lambda c: c * 2, x)),
        raised(lambda: loop(lambda c: c[0] + 1, lambda c: c, x)),
    ]


@program(
    "13",
    "The test may be a truth value of Python, and closes over other values than the body does.",
    against=["the test is a tracer", "test and body close over the same"],
)
def tests(jk, rng):
    f = lambda a, b, c: [
        jk.lax.while_loop(lambda x: x < a, lambda x: x + b, 0.0),
        jk.lax.while_loop(lambda x: x * b < a, lambda x: x + c, 1.0),
        jk.lax.while_loop(lambda x: False, lambda x: x + a, c),
        jk.lax.while_loop(lambda x: x < 5.0, lambda x: x + b, c),
        jk.lax.while_loop(lambda x: x < a, lambda x: x + 1.0, c),
    ]
    numbers = [float(x) for x in rng.uniform(0.5, 1.0, 3) * (9, 1, 2)]
    return f(*map(np.float32, numbers)), jk.jit(f)(*numbers)


@program(
    "13",
    "A body that fails leaves the outer function traced: it may catch the error, and go on.",
    against=["when a body fails, nobody stands at the door"],
)
def caught(jk, rng):
    def broken(c):
        raise KeyError("mine")

    def f(x):
        for test, body in ((lambda c: c < 9, broken), (broken, lambda c: c)):
            try:
                jk.lax.while_loop(test, body, x)
            except KeyError:
                x = jk.numpy.sin(x)
        return x * 2.0

    x = floats(rng)
    return [e.primitive.name for e in jk.make_jaxpr(f)(x).jaxpr.eqns], jk.jit(f)(x)


@program(
    "13",
    "A carry may be one truth value, contain None, or be a dict that was filled in any order; a strong "
    "number that comes out weak keeps its type.",
    against=["a strong number that comes out weak is another type", "None is no part of a carry", "a truth value goes round as an integer",
             "a dict comes back in the caller's order"],
)  # fmt: skip
def kinds_of_carries(jk, rng):
    loop, x = jk.lax.while_loop, floats(rng, 2)
    f = lambda x: [
        loop(lambda c: c, lambda c: ~c, True),
        loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, None, c[2] * 2.0), (0, None, x)),
        loop(
            lambda d: d["n"] < 3,
            lambda d: {"a": d["b"], "b": d["a"] * 2.0, "n": d["n"] + 1},
            {"n": 0, "b": x, "a": x + 1.0},
        ),
        loop(lambda c: c < 3, lambda c: 5.0, np.float32(0)),
        loop(lambda c: c[1] < 3, lambda c: (2, c[1] + 1), (np.int32(0), np.int32(0))),
        loop(lambda c: c["z"] < 9, lambda c: {"z": c["z"] + 5, "y": c["y"]}, {"z": 1, "y": [x, ()]}),
    ]
    return f(x), jk.jit(f)(x)


@program(
    "13",
    "Test and body may close over several values of one type, and share some of them.",
    against=["values of one type come in any order"],
)
def several_closed_over(jk, rng):
    def f(a, b, c, d):
        loop = jk.lax.while_loop
        return [
            loop(lambda x: x * 2.0 - 1.0 < 40.0, lambda x: x * a + b, c),
            loop(lambda x: x * a - b < 40.0, lambda x: x * 2.0, c),
            loop(lambda x: x - b < 9.0, lambda x: x * a + d, c),
            loop(lambda x: x * d - a < 9.0, lambda x: x + b * a, c),
        ]

    numbers = [np.float32(x) for x in rng.uniform(1.2, 2.0, 4) * (1, 3, 1, 2)]
    return f(*numbers), jk.jit(f)(*numbers)


@program("13", "Where nothing has to become strong, one trace is enough, at once and within a function.",
         against=["each body is traced twice"])  # fmt: skip
def only_one_trace(jk, rng):
    x = floats(rng, 2)

    def f(c):
        traces = []
        body = lambda c: (traces.append(1), (c[0] + 1, c[1] * 0.5, c[2]))[1]
        return jk.lax.while_loop(lambda c: c[0] < 3, body, c), len(traces)

    init = (np.int32(0), x, [None, x])
    return f(init), jk.jit(f)(init)


@program(
    "13",
    "Two traces are enough, also where a weak number has to become strong.",
    against=["after a change one more trace"],
)
def two_traces(jk, rng):
    traces = []

    def body(c):
        traces.append(1)
        return c[0] + 1, c[1] + np.float16(1.5), c[2] * c[3], c[3]

    result = jk.lax.while_loop(lambda c: c[0] < 4, body, (0, 0.0, 1.0, floats(rng, 1)[0]))
    return result, "one trace, or two" if len(traces) <= 2 else len(traces)


# --- random loops -------------------------------------------------------------------------------------------------------
# A loop is a string, such as `jk.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * y), (0, x))`, the key of its result.

CARRIES = (
    "0", "True", "1.5", "np.ones(1, np.float32)", "np.float32(2)", "1", "np.int32(2)", "np.int8(2)", "np.float16(2)", "0.5", "[1.5]",
    "(1.5,)", "{'a': 1.5}", "{'b': 1.5}", "None", "()", "[]", "(1.5, None)", "(0, 1.5)", "(1.5, 0)", "np.ones((2, 3), np.float32)",
    "np.ones((3, 2), np.float32)", "np.ones(1, np.float32)", "2.5", "jk.numpy.asarray(1.5)", "jk.numpy.asarray(2)", "np.bool_(True)",
    "jk.numpy.sin(1.0)",
)  # fmt: skip
TESTS = (
    "True", "np.bool_(True)", "1", "0.0", "None", "(True,)", "np.ones(1, bool)", "np.int8(1)", "jk.numpy.asarray(True)", "[]",
    "np.float32(1)",
)  # fmt: skip


def unlike(rng, count):
    """Draw loops whose carry may come out with another type, or whose test may not be a truth value. No body ever runs."""
    for pair in itertools.pairwise(CARRIES):  # beside each stands what is nearly the same
        for one, other in (pair, pair[::-1]):
            yield f"jk.lax.while_loop(lambda c: False, lambda c: {other}, {one})"
    for turn in range(count):
        one, other = (pick(rng, *CARRIES) for _ in range(2))
        if turn % 2 == 0:
            within = f"lambda c: {pick(rng, *TESTS)}, lambda c: c, ({one}, z)"
            yield f"jk.make_jaxpr(lambda z: jk.lax.while_loop({within}))(1.0).jaxpr.outvars[:0]"
        else:
            yield f"jk.lax.while_loop(lambda c: False, lambda c: {other}, {one})"


PARTS = [
    ("x", "old * 0.5 + y"), ("x", "next"), ("y", "next * 0.5"), ("1.5", "old * 2.0"), ("0", "old + turn"), ("np.int8(3)", "old + 1"),
    ("x", "old - y * turn"), ("np.float16(2)", "old * 0.5"), ("1.5", "old + np.float32(1)"), ("0", "old + np.float16(1)"),
    ("1.5", "old"), ("True", "old == (turn > 1)"), ("0", "turn * 2"),
    ("{'a': x, 'b': (1.5, None)}", "{'a': old['a'] + y, 'b': (old['b'][0] * turn, None)}"), ("[x, y]", "[old[1], old[0] * 0.5]"),
    ("np.int32(5)", "old - turn"), ("x", "g(old)"), ("x", "jk.lax.cond(turn > 1, lambda: old, lambda: old * y)"),
    ("y", "jk.lax.while_loop(lambda z: z.sum() < turn, lambda z: z + 1.0, old)"), ("np.float32(5)", "2.0"), ("np.int32(5)", "2"),
    ("np.uint16(3)", "old + 1"), ("None", "None"), ("()", "()"), ("1.5", "old * x[0]"), ("2", "old * 1.5"),
    ("x[:0]", "old * 2.0"), ("x > y", "old == False"), ("x", "caught(old)"), ("y", "jk.jit(lambda: old * x + turn)()"), ("x", "x"),
    ("{'b': 0, 'a': [None]}", "{'a': [None], 'b': old['b'] + turn}"), ("(1, 2.5)", "(old[0] * 2, old[1] * y[0])"), ("x[None]", "old * y"),
    ("1", "old + x[0].astype(np.float16)"), ("np.int8(-3)", "old * old"), ("y", "jk.lax.switch(turn, [lambda: old, lambda: x])"),
]  # fmt: skip


def loop(rng, parts):
    """Draw a loop of a few turns, or of none. Its carry has a counter and one to four parts, and a vector may take another one's place."""
    first, new, _ = carry(rng, parts, at=1)
    begin = pick(rng, "0", "0", "np.int32(0)", "1")
    both, none = "jk.numpy.logical_and(c[0] < n, y.sum() > -9.0)", "jk.numpy.logical_not(c[0] >= n)"
    test = pick(rng, "c[0] < n", "c[0] < 3", both, none, "c[0] < 0", "n > c[0]")
    lists = pick(rng, "({},)", "[{}]")
    step = lists.format(", ".join(["c[0] + 1", *(text.replace("turn", "c[0]") for text in new)]))
    init = lists.format(", ".join([begin, *first]))
    loop = f"jk.lax.while_loop(lambda c: {test}, lambda c: {step}, {init})"
    return pick(rng, loop, loop, loop, f"jk.jit(lambda y: {loop})(y * 0.5)")


def answers(jk, rng, count):
    """Return the results of random loops by their strings: loops of `unlike` run eagerly, the others both eagerly and in one program."""

    def caught(x):
        """Return a result after a loop that was refused."""
        error = raised(lambda: jk.lax.while_loop(lambda c: True, lambda c: jk.numpy.sin(c)[None], x))
        return x * 0.5 if type(error) is Raised else x

    names = {"np": np, "jk": jk, "g": jk.jit(lambda x: x * 0.25 + 1.0), "caught": caught}
    found = {text: raised(eval("lambda: " + text, names)) for text in unlike(rng, 2 * count)}
    parts = deck(rng, PARTS)
    fs = {text: eval(f"lambda x, y, n: {text}", names) for text in [loop(rng, parts) for _ in range(count)]}
    x, y = (jk.numpy.asarray(floats(rng, 3)) for _ in range(2))
    compiled = jk.jit(lambda *given: {text: f(*given) for text, f in fs.items()})
    at_once = {text: [told(jk, f(x, y, n)) for n in (2, 0)] for text, f in fs.items()}
    return found, at_once, [told(jk, compiled(x, y, n)) for n in (0, 3)]


@program(
    "13",
    "Random loops run or are refused: carries that keep their types or not, tests that are truth values or not, loops in loops.",
    against=[
        "a weak number takes any type",
        "a weak number that comes out with a shape gets it",
        "a truth value may become a number",
        "a result is as weak as what went in",
        "without a turn a result is as weak as what went in",
    ],
    tolerance=1e-3,
)
def random_loops(jk, rng):
    return answers(jk, rng, 20)


@program("13", "A hundred random loops run or are refused.", hidden=True, tolerance=1e-3)
def many_random_loops(jk, rng):
    return answers(jk, rng, 80)
