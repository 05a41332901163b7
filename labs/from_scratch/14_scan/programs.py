"""Rung 14: `scan` and `fori_loop`."""

import numpy as np
from climbing import Raised, counted, jaxpr, program, raised
from drawing import carry, deck, fill, pick, told


def floats(rng, *shape):
    return rng.uniform(-1.0, 1.0, shape).astype(np.float32)


@program(
    "14",
    "A scan hands the carry from row to row, and returns a row of results for each turn.",
    against=["results are stacked in the wrong order", "the carry that is returned is the first one"],
)
def sums(jk, rng):
    f = lambda x: jk.lax.scan(lambda c, r: (c + r, c * r), 0.0, x)
    x = floats(rng, 5)
    return f(x), jk.jit(f)(x)


@program("14", "Rows may be matrices; rows and results may be trees.")
def trees(jk, rng):
    def f(init, xs):
        return jk.lax.scan(lambda c, x: ({"s": c["s"] @ x["m"]}, (c["s"], [x["v"].sum()])), init, xs)

    args = {"s": floats(rng, 2)}, {"m": floats(rng, 4, 2, 2), "v": floats(rng, 4, 3)}
    return f(*args), jk.jit(f)(*args)


@program(
    "14",
    "In reverse the last row comes first, and results have the places of their rows.",
    against=["reversed results are in the order of computation", "a loop down begins at the length"],
)
def backward(jk, rng):
    f = lambda x: jk.lax.scan(lambda c, r: (c * 0.5 + r, c), 1.0, x, reverse=True)
    x = floats(rng, 4)
    return f(x), jk.jit(f)(x)


@program("14", "A scan without rows has a length.")
def length(jk, rng):
    f = lambda x: jk.lax.scan(lambda c, _: (c * 2.0, c), x, None, length=4)
    return f(floats(rng, 2)), jk.jit(f)(floats(rng, 2))


@program("14", "The body is in the program once, for a thousand rows as for two.", against=["the loop is unrolled"])
def flat(jk, rng):
    traces = []

    def body(c, r):
        traces.append(1)
        return jk.numpy.sin(c) + r, c

    closed = jk.make_jaxpr(lambda x: jk.lax.scan(body, 0.0, x))(floats(rng, 1000))
    return {"equations": len(closed.jaxpr.eqns), "one trace, or two": len(traces) <= 2}


@program("14", "It is one program, run once.")
def one_program(jk, rng):
    f = jk.jit(lambda x: jk.lax.scan(lambda c, r: (c + r, c), 0.0, x))
    return counted(f, floats(rng, 50), compiled=1, executed=1)


@program("14", "The body closes over tracers.", against=["loops close over nothing"])
def closures(jk, rng):
    f = jk.jit(lambda w, xs: jk.lax.scan(lambda h, x: (jk.numpy.tanh(w @ h + x), h.sum()), xs[0], xs))
    return f(floats(rng, 3, 3), floats(rng, 4, 3))


@program(
    "14",
    "Different numbers of rows, a carry that changes, and a missing length are errors.",
    against=["the shortest of the rows decides", "one row goes with many"],
)
def wrong(jk, rng):
    x, y = floats(rng, 3), floats(rng, 4)
    scan = jk.lax.scan
    return [
        raised(lambda: scan(lambda c, r: (c, r[0]), 0.0, (x, y))),
        raised(lambda: scan(lambda c, r: (c, r[0]), 0.0, (x[:1], y))),
        raised(lambda: scan(lambda c, r: (c > 0, r), np.float32(0), x)),
        raised(lambda: scan(lambda c, r: (c, r), 0.0)),
    ]


@program(
    "14",
    "`fori_loop` with bounds that Python knows is a scan; otherwise it is a while loop.",
    against=["fori_loop counts from one", "the carry that is returned is the first one", "a loop counts from 0"],
)
def fori(jk, rng):
    f = lambda x, n: (
        jk.lax.fori_loop(2, 6, lambda i, c: c + i * x, x),
        jk.lax.fori_loop(0, n, lambda i, c: c * 2.0, x),
    )
    x, n = floats(rng, 2), int(rng.integers(1, 6))
    names = [[e.primitive.name for e in jk.make_jaxpr(f)(x, n).jaxpr.eqns].count(p) for p in ("scan", "while")]
    return {"results": [f(x, n), jk.jit(f)(x, n)], "equations scan, while": names}


@program("14", "With no turn at all the carry stays as it is.", against=["no turns is an error"])
def none(jk, rng):
    x = floats(rng, 2)
    return jk.jit(lambda x: jk.lax.fori_loop(3, 3, lambda i, c: c * 2.0, x))(x), jk.jit(
        lambda c, x: jk.lax.scan(lambda c, r: (c, r), c, x)
    )(1.5, np.zeros((0, 2), np.float32))


@program("14", "A scan may contain a scan, a choice or a jitted function, at once and compiled.")
def nested(jk, rng):
    g = jk.jit(lambda a, b: a + b * b)

    def row(c, r):
        inner, _ = jk.lax.scan(lambda a, b: (g(a, b), None), c, r)
        return jk.lax.cond(inner > 0, lambda v: g(v, 0.5), lambda v: -v, inner), inner

    x = floats(rng, 4, 3)
    return [f(x) for f in (lambda x: jk.lax.scan(row, 0.0, x), jk.jit(lambda x: jk.lax.scan(row, 0.0, x)))]


@program(
    "14",
    "A running sum's program has one equation: the body takes closed-over values, the carry and a row, and returns carry and row.",
    against=["the carry stands in front of closed-over values"],
)
def written(jk, rng):
    closed = jk.make_jaxpr(lambda x: jk.lax.scan(lambda c, r: (c + r, c), np.float32(0), x)[1])(floats(rng, 3))
    equations = [e.primitive.name for e in closed.jaxpr.eqns]
    over = jk.make_jaxpr(lambda w, c, x: jk.lax.scan(lambda c, r: (c - w.sum() * r, r * c), c, x))
    upon = over(floats(rng, 2, 2), np.float32(0), floats(rng, 3))
    return {
        "equations": equations,
        "the body": jaxpr(closed.jaxpr.eqns[-1].params["jaxpr"]),
        "the types with a value that it closes over": [
            v.aval.shape for e in upon.jaxpr.eqns for v in (*e.invars, *e.params["jaxpr"].jaxpr.invars)
        ],
    }


@program(
    "14",
    "`fori_loop` counts from its lower to its upper bound, whether Python or the program knows them.",
    against=[
        "fori_loop counts from one",
        "a loop with a traced bound counts from zero",
        "the index is a strong int32",
        "bounds that go down turn as often",
        "a loop counts from 0, unless the bound is small",
    ],
)
def counts(jk, rng):
    x = floats(rng, 2)
    f = lambda a, b, x: jk.lax.fori_loop(a, b, lambda i, c: c * 2.0 + i, x)
    n = np.float16([1.5, 2.5])
    bounds = [(2, 6), (0, 1), (3, 3), (5, 2), (-2, 2)]
    return {
        "known": [f(a, b, x) for a, b in bounds],
        "of numpy": [f(np.int32(a), np.int32(b), x) for a, b in bounds],
        "traced": [jk.jit(f)(a, b, x) for a, b in bounds],
        "the first traced": [jk.jit(lambda a, x: f(a, 6, x))(2, x), jk.jit(lambda b, x: f(2, b, x))(6, x)],
        "small integers": [
            jk.lax.fori_loop(0, 3, lambda i, c: c + i, np.int8(1)),
            jk.lax.fori_loop(1, 4, lambda i, c: c * i, n),
        ],
        "integers": [jk.jit(lambda n: jk.lax.fori_loop(1, n, lambda i, c: c + i, 0))(5)],
    }


@program(
    "14",
    "A scan that is called at once has its body traced, not called for each row.",
    against=["the loop is unrolled"],
)
def at_once(jk, rng):
    seen = []

    def body(c, r):
        seen.append(1)
        return c + r, c

    return jk.lax.scan(body, np.float32(0), floats(rng, 7)), "one trace, or two" if len(seen) <= 2 else len(seen)


@program(
    "14",
    "A length given with rows must be their number; otherwise it is a ValueError.",
    against=["a length beside rows need not agree"],
)
def two_lengths(jk, rng):
    x = floats(rng, 3)
    return raised(lambda: jk.lax.scan(lambda c, r: (c, r), 0.0, x, length=7)), jk.lax.scan(
        lambda c, r: (c + r, r), 0.0, x, length=3
    )


@program("14", "There may be a single row, or rows of several dtypes; the carry's parts may change places, and "
    "results may be the carry or the row.",
         against=["results are stacked in the wrong order", "results are numbers", "stacks are float32"])  # fmt: skip
def rotated(jk, rng):
    def f(init, xs, **how):
        return jk.lax.scan(
            lambda c, x: ((c[1], c[0] * x["f"], c[2] + x["n"]), (c[0], x["n"], c[2] * 2, x["f"] > c[0], None)),
            init,
            xs,
            **how,
        )

    init = floats(rng), floats(rng), np.int32(1)
    rows = lambda n: {"f": floats(rng, n), "n": rng.integers(0, 9, n).astype(np.int32)}
    few, many = rows(1), rows(5)
    return [
        f(init, few),
        f(init, many),
        f(init, many, reverse=True),
        jk.jit(lambda c, x: f(c, x, reverse=True))(init, many),
    ]


@program("14", "Whole numbers stay whole in a scan and in a loop over an index.", tolerance=1e-9)
def whole_numbers(jk, rng):
    x = jk.numpy.asarray(rng.integers(1, 5, 4).astype(np.float32))
    f = lambda x: (
        jk.lax.scan(lambda c, r: (c + r, c * r), 0.0, x),
        jk.lax.scan(lambda c, r: (c * 0.5 + r, c), x, x, reverse=True),
        jk.lax.fori_loop(0, 4, lambda i, c: c + x[i] * 2.0, 1.0),
    )
    return f(x), jk.jit(f)(x)


@program(
    "14",
    "A row of results may be a number of Python, a constant or nothing; a length and bounds may be numpy's numbers or arrays.",
    against=[
        "a result of a turn is a tracer",
        "stacked numbers are strong",
        "rows of results are float32",
        "a turn without a result returns its carry",
        "arrays as bounds are data",
        "a length is a number of Python",
    ],
)
def numbers(jk, rng):
    x, c = floats(rng, 3), jk.numpy.asarray(floats(rng, 2))
    one, four = jk.numpy.asarray(1), jk.numpy.asarray(np.int32(4))
    f = lambda x: (
        jk.lax.scan(lambda s, r: (s + r, (2, 1.5, True, c, None)), 0.0, x),
        jk.lax.scan(lambda s, _: (s * 2.0, s), x[0], length=np.int32(3)),
        [jk.lax.fori_loop(a, b, lambda i, s: s * 2.0 + i, x) for a, b in (
            (np.int32(1), np.int32(4)), (np.int32(1), 4), (one, four), (np.int64(1), 4),
        )],
    )  # fmt: skip
    names = [e.primitive.name for e in jk.make_jaxpr(f)(x).jaxpr.eqns]
    h = np.ones(3, np.float16)
    kinds = lambda x: (
        [y * h for y in f(x)[0][1][:3]] + [y * h[:0] for y in jk.lax.scan(lambda s, r: (s, 2.5), 1, x[:0])]
    )
    return (
        f(x),
        jk.jit(f)(x),
        [names.count(name) for name in ("scan", "while")],
        kinds(x),
        jk.jit(kinds)(x),
        jk.lax.scan(lambda s, r: (s, None), x[0], x),
    )


@program(
    "14",
    "A body that fails leaves the outer function traced: it may catch the error, and go on.",
    against=["when a body fails, nobody stands at the door"],
)
def caught(jk, rng):
    def broken(c, r):
        raise KeyError("mine")

    def f(x):
        for loop in (lambda x: jk.lax.scan(broken, 0.0, x), lambda x: jk.lax.fori_loop(0, 3, broken, x)):
            try:
                loop(x)
            except KeyError:
                x = jk.numpy.sin(x)
        return x * 2.0

    x = floats(rng, 2)
    return [e.primitive.name for e in jk.make_jaxpr(f)(x).jaxpr.eqns], jk.jit(f)(x)


@program(
    "14",
    "In reverse the last result comes first, also without rows. A list of numbers is not rows. The bounds say whether an index is weak.",
    against=[
        "without rows there is nothing to reverse",
        "a list of numbers is an array",
        "with a traced bound the index is weak",
        "the index is a strong int32",
        "an index is as strong as its bound",
        "a strong upper bound makes the index strong",
        "a number among the rows is a row of its own",
        "a number has a length",
    ],
)
def without_rows(jk, rng):
    lax, x = jk.lax, floats(rng, 2)
    down = lambda x: lax.scan(lambda c, _: (c * 0.5, (c, c + 1.0)), x, None, length=3, reverse=True)

    def dtype_of_index(a, n, is_traced):
        seen = []
        f = lambda n: lax.fori_loop(a, n, lambda i, c: (seen.append((i + np.int8(1)).dtype.name), c * 2.0)[1], x)
        return (jk.jit(f) if is_traced else f)(n), seen[-1]

    bounds = [(0, 3), (np.int32(0), 3), (0, np.int32(3)), (np.int32(0), np.int32(3))]
    indices = [dtype_of_index(*each, is_traced) for each in bounds for is_traced in (True, False)]
    return down(x), jk.jit(down)(x), raised(lambda: lax.scan(lambda c, r: (c + r, r), 0.0, [1.0, 2.0])), indices


# --- random scans -------------------------------------------------------------------------------------------------------
# A scan is a string, such as `jk.lax.scan(lambda c, r: (c + r[0], c * y), x, (m, y))`, which is the key of its result.

CARRIES = (
    "0", "1.5", "True", "np.float32(2)", "np.int8(2)", "np.float16(2)", "(1.5,)", "[1.5]", "None", "()", "{'a': 1}",
    "np.ones(2, np.float32)",
)  # fmt: skip
ROWS = (
    "np.ones(3, np.float32)", "np.ones((3, 2), np.float32)", "np.ones(2, np.float32)", "np.ones((0, 2), np.float32)", "None", "()",
    "2.5", "np.ones(3, np.int8)", "np.ones(1, np.float32)", "np.ones((1, 2), np.float32)",
)  # fmt: skip
WITHOUT = "None", "()", "{'a': None}", "[(), []]"
WEAK = "jk.numpy.full(3, 1.5)", "jk.numpy.full((3, 1), 2)"
LENGTHS = ("", "", "length=3", "length=0", "length=2", "length=np.int64(3)", "length=1")


def unlike(rng, count):
    """Draw scans whose carry may come out with another type, or whose rows and lengths may not go together."""
    yield from (f"jk.lax.scan(lambda c, r: (c, r), {one}, {pick(rng, *ROWS[:4])})" for one in CARRIES)
    yield f"jk.lax.scan(lambda c, r: (2, r), np.int32(5), {pick(rng, 'np.ones((0, 2), np.float32)', 'None, 0')})"
    for rows in (*ROWS, *WITHOUT, *WEAK):
        lengths = ["length=3", "length=np.int32(3)"] if rows in (*WITHOUT, *WEAK) else LENGTHS
        yield f"jk.lax.scan(lambda c, r: (c, r), {pick(rng, *CARRIES)}, {rows}, {pick(rng, *lengths)})"
    for turn in range(count):
        one, other = (pick(rng, *CARRIES) for _ in range(2))
        how = ", ".join([pick(rng, "", "reverse=True"), pick(rng, *LENGTHS)]).strip(", ")
        if turn % 2:
            yield f"jk.lax.scan(lambda c, r: ({other}, {pick(rng, 'r', 'c', '1.5')}), {one}, {pick(rng, *ROWS[:3])}, {how})"
        else:
            both = pick(rng, "({}, {})", "[{}, {}]", "{'a': {}, 'b': {}}")
            rows = fill(both, lambda: pick(rng, *ROWS)) if turn % 4 else pick(rng, *ROWS)
            yield f"jk.lax.scan(lambda c, r: (c, r), 0.5, {rows}, {how})"


PARTS = [
    ("x", "old * 0.5 + r['v']"), ("x", "next"), ("y", "next * 0.5"), ("1.5", "old * 2.0"), ("0", "old + r['n']"),
    ("np.int8(3)", "old + 1"), ("0.0", "old + r['f']"), ("np.float16(2)", "old * r['h']"), ("1.5", "old + r['v'].sum()"), ("0", "old"),
    ("True", "old == (r['n'] > 1)"), ("x", "g(old) - r['v']"), ("y", "x * r['f']"),
    ("y", "jk.lax.cond(r['n'] > 1, lambda: old, lambda: old * y)"),
    ("x", "jk.lax.scan(lambda k, q: (k * q + r['f'], None), old, y)[0]"), ("np.float32(5)", "2.0"), ("np.int32(5)", "2"),
    ("np.uint16(3)", "old + 1"), ("None", "None"), ("()", "()"), ("1.5", "old * x[0]"), ("2", "old * 1.5"), ("x[:0]", "old * 2.0"),
    ("x", "caught(old)"), ("y", "jk.jit(lambda: old * x + r['f'])()"), ("x", "x"), ("[0, (None, y)]",
    "[old[0] + 1, (None, old[1][1] * r['f'])]"),
    ("x[None]", "old * y"), ("x > y", "old == False"), ("y", "jk.lax.fori_loop(0, 2, lambda k, d: d * 0.5 + old, x)"),
    ("x", "jk.lax.while_loop(lambda d: d.sum() < r['f'], lambda d: d + 1.0, old)"), ("(1, 2.5)", "(old[0] * 2, old[1] * r['f'])"),
]  # fmt: skip
YS = (
    "r['v']", "r['n']", "r['h']", "r['f'] > 0.5", "old", "old", "(old, r['h'] * 2)", "[r['n'] * 2, None]", "2", "1.5", "np.float32(2)",
    "None", "y", "x * r['v']", "np.float16(1)", "{'b': True, 'a': old}", "()", "jk.numpy.ones((2, 3))", "r", "r['v'][None]",
    "(old, old)", "x[:0]", "np.uint16(3)", "r['n'] > 1", "[r['f'], [r['f']]]",
)  # fmt: skip


def scan(rng, at, parts):
    """Draw a scan with a carry of one to four parts, rows of four dtypes, and three results of each turn."""
    first, new, put = carry(rng, parts)
    ys = ", ".join([put(int(rng.integers(len(new))), YS[(at + k) % len(YS)]) for k in range(3)])
    how = pick(rng, "", ", reverse=True", ", length=4", ", reverse=True")
    rows = pick(rng, "rows", "rows", "rows", "few(rows, 1)", "few(rows, 0)") if "length" not in how else "rows"
    call = f"jk.lax.scan(lambda c, r: (({', '.join(new)},), ({ys})), ({', '.join(first)},), {rows}{how})"
    return pick(rng, call, call, call, f"jk.jit(lambda y: {call})(y * 0.5)")


TURNS = (  # of a loop over an index: what becomes of the carry, and how it begins
    ("c * 0.5 + i", "x"), ("c + i", "np.int8(1)"), ("c + i", "0"), ("c * i", "np.float16(2)"), ("c + i * np.int8(1)", "np.int8(1)"),
    ("c * 2.0 + y", "x"), ("(c[1] + i, c[0])", "(x, y)"), ("c + i", "1.5"), ("jk.lax.fori_loop(0, i, lambda j, d: d + j, c)", "0"),
    ("c + x[i]", "0.0"), ("{'a': c['a'] + i}", "{'a': 1.5}"), ("jk.lax.cond(i > 1, lambda: c, lambda: c + y)", "x"), ("c", "1.5"),
)  # fmt: skip


def loop(rng, at, turns):
    """Draw a `fori_loop`. Its bounds are numbers of Python or numpy, arrays, or traced."""
    kinds = "{}", "np.int32({})", "np.int64({})", "weak[{}]", "strong[{}]", "n + {} - 2", "n - {}"
    bounds = ", ".join([pick(rng, *kinds).format(int(k)) for k in rng.integers(-2, 6, 2)])
    body, init = next(turns)
    if at == 0:
        return "jk.lax.fori_loop(np.int32(-1), 3, lambda i, c: c + i, np.int8(1))"
    return f"jk.lax.fori_loop({bounds}, lambda i, c: {body}, {init})"


def answers(jk, rng, count):
    """Return the results of random scans by their strings: scans of `unlike` run eagerly, the others both eagerly and in one program."""
    n, bounds = jk.numpy, range(-2, 6)
    arrays = [{i: n.asarray(as_number(i)) for i in bounds} for as_number in (int, np.int32)]

    def caught(x):
        """Return a result after a scan that was refused."""
        error = raised(lambda: jk.lax.scan(lambda c, r: (jk.numpy.sin(c)[None], r), x, x))
        return x * 0.5 if type(error) is Raised else x

    names = {
        "np": np,
        "jk": jk,
        "g": jk.jit(lambda x: x * 0.25 + 1.0),
        "weak": arrays[0],
        "strong": arrays[1],
        "caught": caught,
    }
    names["few"] = lambda rows, size: {name: x[:size] for name, x in rows.items()}
    parts, turns = deck(rng, PARTS), deck(rng, TURNS)
    texts = [make(rng, 3 * i, of) for i in range(count) for make, of in ((scan, parts), (loop, turns))]
    fs = {text: eval(f"lambda x, y, n, rows: {text}", names) for text in texts}
    size = 4
    whole, numbers = rng.integers(0, 4, size).astype(np.int32), floats(rng, size)
    rows = {"v": floats(rng, size, 3), "n": whole, "h": numbers.astype(np.float16), "f": numbers}
    given = [n.asarray(floats(rng, 3)) for _ in range(2)]

    def compiled(*given):
        """Return the results; None in the place of an error."""
        found = {text: raised(f, *given) for text, f in fs.items()}
        return {text: None if type(x) is Raised else x for text, x in found.items()}

    # JAX keeps results weak that were weak before the carry became strong: only results of a carry that stays are told
    tell = lambda text, f: told(jk, f(), "(c, r)," in text)
    found = {text: raised(tell, text, eval("lambda: " + text, names)) for text in unlike(rng, 2 * count)}
    at_once = {text: raised(lambda f: told(jk, f(*given, 2, rows), False), f) for text, f in fs.items()}
    return found, at_once, told(jk, jk.jit(compiled)(*given, 3, rows), False)


@program(
    "14",
    "Random scans and loops run or are refused: rows, carries and results of many types, any bounds, lengths that agree or not.",
    against=[
        "rows of results are float32",
        "the index is a strong int32",
        "a turn without a result returns its carry",
        "a number among the rows is a row of its own",
        "an index is as strong as its bound",
        "a number has a length",
        "a scan needs a carry",
        "rows are strong",
        "rows without an array are missing rows",
        "a scan of no rows returns what it was given",
    ],
    tolerance=1e-3,
)
def random_scans(jk, rng):
    return answers(jk, rng, 13)


@program("14", "A hundred random scans and loops run or are refused.", hidden=True, tolerance=1e-3)
def many_random_scans(jk, rng):
    return answers(jk, rng, 40)
