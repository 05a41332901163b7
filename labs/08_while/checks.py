"""The programs that the exercises of lab 08 must run like the reference."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jitkit.kata.checking import Stablehlo, check, of_arrays, of_loops, raised, random_programs


def number(rng):
    """Return a random Python float, which nobody can guess."""
    return float(np.float32(rng.uniform(1.0, 9.0)))


def row(rng, n=3):
    return rng.normal(size=n).astype("float32")


# --- 08.1 The loop ------------------------------------------------------------------------------------------------


@check(
    "08.1",
    "A loop is one equation, with condition and body as jaxprs of the carry.",
    against=["a carry that is a tuple is several arguments"],
)
def plain_loop(jk, rng):
    a, limit = number(rng), number(rng)

    def f(x):
        return jk.lax.while_loop(lambda v: v < limit, lambda v: v * a, x)

    def pair(x, n):
        return jk.lax.while_loop(lambda c: c[1] > 0, lambda c: (c[0] + a, c[1] - 1), (x, n))

    return jk.make_jaxpr(f)(np.float32(1)), jk.make_jaxpr(pair)(np.float32(1), np.int32(5))


@check(
    "08.1",
    "The carry is a tree, and comes back as one.",
    against=[
        "a result is a list of arrays",
        "the carry is a tuple of leaves",
        "a single leaf needs no tree",
        "a carry without leaves needs no loop",
    ],
)
def tree(jk, rng):
    start = {"x": row(rng, int(rng.integers(2, 9))), "rest": (np.int32(rng.integers(9)), np.float32(number(rng)))}

    def f(start):
        def step(c):
            n, y = c["rest"]
            return {"x": c["x"] * y, "rest": (n + 1, y / 2)}

        return jk.lax.while_loop(lambda c: c["rest"][0] < 9, step, start)

    def one(x):
        return jk.lax.while_loop(lambda c: c[0] < 9, lambda c: (c[0] * 2,), (x,))

    nothing = jk.make_jaxpr(lambda: jk.lax.while_loop(lambda _: False, lambda _: [], []))
    kept = jk.make_jaxpr(lambda: jk.lax.while_loop(lambda _: False, lambda _: None, ()))
    trees = [jk.tree_util.tree_structure(jk.eval_shape(g, x)) for g, x in ((f, start), (one, start["rest"][1]))]
    return jk.make_jaxpr(f)(start), trees, nothing(), raised(kept, parts=["the same pytree structure"])


@check(
    "08.1",
    "Python calls condition and body once for each trace, however many steps there will be.",
    against=["Python calls the body for each step"],
    fixed="each of them once, whatever the numbers are",
)
def traced_once(jk, rng):
    called = []

    def more(v):
        called.append("condition")
        return v < 1000

    def step(v):
        called.append("body")
        return v + 1

    program = jk.make_jaxpr(lambda n: jk.lax.while_loop(more, step, n))(np.int32(rng.integers(9)))
    counting = jk.make_jaxpr(lambda n: jk.lax.fori_loop(0, n, lambda i, v: v + i, 1.0))(int(rng.integers(9)))
    loops = [loop.eqns[-1].params for loop in (program, counting)]
    return called, [loop[name].debug_info.traced_for for loop in loops for name in ("cond_jaxpr", "body_jaxpr")]


@check(
    "08.1",
    "A loop that starts from a Python number is traced again, if the body returns another type, for the type to which both promote.",
    against=[
        "a start value keeps its type",
        "one trace is enough",
        "condition and body are traced for the types that came in",
    ],
)
def weak_start(jk, rng):
    a, limit = number(rng), number(rng)

    def f(x):
        return jk.lax.while_loop(lambda c: c[0] < limit, lambda c: (c[0] + x * a, c[1] + 1), (0, 1))

    return jk.make_jaxpr(f)(np.float32(1))


@check(
    "08.1",
    "A carry that comes out as another tree, or with another shape or dtype, is refused.",
    against=["the carry's type may drift", "the result has the tree that the body returns"],
    fixed="an error of fixed words",
)
def drift(jk, rng):
    start = np.int32(rng.integers(9))

    def f(step):
        return jk.make_jaxpr(lambda n: jk.lax.while_loop(lambda c: True, step, n))

    parts = ["while_loop body function carry input and carry output must have"]
    return [
        raised(f(lambda n: n * 0.5), start, parts=[*parts, "equal types", "int32[]", "float32[]"]),
        raised(f(lambda n: (n, n)), start, parts=[*parts, "the same pytree structure"]),
    ]


@check("08.1", "What condition and body close over are operands, those of the condition first.")
def closures(jk, rng):
    a, b = row(rng), row(rng)

    def f(x, y):
        return jk.lax.while_loop(lambda v: (v < a).all() & (y > 0), lambda v: v * b + x, a)

    return jk.make_jaxpr(f)(np.float32(1), np.float32(2))


# --- 08.2 Starting from 0 -----------------------------------------------------------------------------------------


def promote(jk, leaves, out_avals):
    """Return the results of `promote_weak_inputs` as data: the types of the values, which values are the given objects, and the flag."""
    found = []

    def f():
        avals = [jk.core.get_aval(x) for x in leaves]
        values, changed = jk.lax.control_flow.agreement.promote_weak_inputs(leaves, avals, out_avals)
        found.extend([jk.core.get_aval(x) for x in values])
        found.append([new is old for new, old in zip(values, leaves, strict=True)])
        found.append(changed)
        return ()

    jk.make_jaxpr(f)()
    return found


@check(
    "08.2",
    "A loop may start from 0 and add floats to it.",
    against=["a start value keeps its type", "only numbers are weak"],
)
def starts_from_zero(jk, rng):
    a = number(rng)
    f = jk.make_jaxpr(lambda x: jk.lax.while_loop(lambda v: v < a, lambda v: v + x, 0))
    both = promote(jk, [0, int(rng.integers(9))], [jk.core.ShapedArray((), "float32")] * 2)
    n = int(rng.integers(9))

    def from_three(x):
        start = jk.numpy.full(3, n)  # nobody chose its dtype either
        return jk.lax.while_loop(lambda v: v[0] < a, lambda v: v + x, start)

    return f(np.float32(1)), both, jk.make_jaxpr(from_three)(np.float32(1))


@check("08.2", "A value with a dtype of its own keeps it, whatever the body returns.", against=["any start gives way"])
def strong_starts(jk, rng):
    kind = str(rng.choice(["int32", "int16", "int8", "uint8"]))
    n = np.dtype(kind).type(rng.integers(9))
    f = jk.make_jaxpr(lambda x: jk.lax.while_loop(lambda v: v < 9, lambda v: v + x, n))
    refused = raised(f, np.float32(1), parts=[f"{kind}[]", "float32[]"])
    return refused, promote(jk, [n, row(rng)], [jk.core.ShapedArray((), "float32")] * 2)


@check(
    "08.2",
    "The new dtype is the one to which the start's type and the body's result promote, and not simply that of the result.",
    against=["the start takes the dtype that came out"],
)
def where_they_meet(jk, rng):
    shaped = jk.core.ShapedArray
    kinds = rng.permutation(["int32", "float16", "bool", "complex64", "float32", "bfloat16"])[:4]
    outs = [shaped((), np.dtype(getattr(jk.numpy, kind))) for kind in map(str, kinds)]
    return promote(jk, [number(rng), number(rng), int(rng.integers(9)), number(rng)], outs)


@check(
    "08.2",
    "Types differ if their dtypes or their shapes do; weakness alone makes no difference.",
    against=[
        "the start takes the dtype that came out",
        "two types differ only if their dtypes do",
        "a value that keeps its dtype stays weak",
    ],
)
def any_two_types(jk, rng):
    def drawn(choices):
        return choices[rng.integers(len(choices))]

    leaves = [
        drawn([number(rng), int(rng.integers(9)), row(rng, 2), np.int32(3), 1j, jk.numpy.full(2, 3), True])
        for _ in range(24)
    ]
    kinds = [
        np.dtype(getattr(jk.numpy, kind))
        for kind in ("int32", "float16", "bool_", "complex64", "float32", "bfloat16", "int8", "uint32")
    ]
    outs = [jk.core.ShapedArray(drawn([(), (), (2,)]), drawn(kinds), bool(rng.integers(2))) for _ in leaves]
    leaves.append(number(rng))  # differs in its shape alone; among the leaves above such a one is in half of all draws
    outs.append(jk.core.ShapedArray((2,), np.dtype(jk.numpy.float32), bool(rng.integers(2))))
    return promote(jk, leaves, outs)


@check(
    "08.2",
    "A weak value whose type came out again is not touched: it is the same object, still weak.",
    against=["a weak start becomes strong", "everything is converted"],
)
def untouched(jk, rng):
    shaped = jk.core.ShapedArray
    n = int(rng.integers(2, 9))
    leaves = [number(rng), int(rng.integers(9)), row(rng, n)]
    outs = [shaped((), "float32", True), shaped((), "int32"), shaped((n,), "float32")]
    return promote(jk, leaves, outs)


@check(
    "08.2", "The flag says whether any value was converted.", against=["the flag may always say that something is new"]
)
def flag(jk, rng):
    traced, kind = [], str(rng.choice(["float32", "float16", "int16", "complex64"]))

    def step(v):
        traced.append(str(v.aval))
        return v * 2

    jk.make_jaxpr(lambda: jk.lax.while_loop(lambda v: v < 100, step, int(rng.integers(1, 9))))()
    return traced, promote(jk, [], []), promote(jk, [1], [jk.core.ShapedArray((), kind)])


# --- 08.3 The carry agrees with itself ----------------------------------------------------------------------------


def looped(jk, step, start):
    """Return a function that traces a loop with this step, and its argument, `start`: `raised` takes both."""
    return jk.make_jaxpr(lambda start: jk.lax.while_loop(lambda c: True, step, start)), start


@check(
    "08.3",
    "Another dtype is refused, in any part of the carry.",
    against=[
        "the carry's type may drift",
        "it is enough to check the first part of the carry",
        "it is enough to check the last part of the carry",
        "only the parts that disagree are passed to the error",
    ],
)
def other_dtype(jk, rng):
    a = number(rng)

    def first(c):
        return c[0] * a, c[1]

    def last(c):
        return c[0], c[1] * a

    def names(i):
        return [f"component c[{i}] has type int32[]", "component has type float32[]"]

    x, n = np.float32(a), np.int32(rng.integers(9))
    refused = [(last, (x, n), 1), (last, (n, n), 1), (first, (n, x), 0), (first, (n, n), 0)]
    right = [(last, (n, x)), (first, (x, n))]
    return (
        [raised(*looped(jk, step, start), parts=["equal types", *names(i)]) for step, start, i in refused],
        [looped(jk, step, start)[0](start) for step, start in right],
    )


@check(
    "08.3",
    "Another shape is refused: a carry cannot grow.",
    against=["the carry may grow", "shapes with as many elements are the same"],
)
def other_shape(jk, rng):
    n = int(rng.integers(2, 9))

    def grow(v):
        return jk.numpy.append(v, 1.0)

    parts = ["equal types", f"float32[{n}]", f"float32[{n + 1}]", "The input carry v has type"]
    f, start = looped(jk, grow, np.zeros(n, "float32"))
    turn, turned = looped(jk, lambda v: v.reshape(v.shape[::-1]), np.zeros((n, n + 1), "float32"))
    return raised(f, start, parts=parts), raised(turn, turned, parts=["equal types", f"float32[{n + 1},{n}]"])


@check(
    "08.3",
    "The structure is compared first: a list is not a tuple, and keys matter.",
    against=["trees with as many leaves are the same", "types come before trees", "None need not be compared"],
    fixed="an error of fixed words",
)
def other_tree(jk, rng):
    x, n = np.float32(number(rng)), np.int32(rng.integers(9))
    return [
        raised(*looped(jk, step, start), parts=["the same pytree structure"])
        for step, start in [
            (list, (x, x)),
            (lambda c: {"b": c["a"]}, {"a": x}),
            (lambda c: (c[0], None), (x, x)),
            (lambda c: (c,), x),
            (lambda c: None, x),
            (lambda c: [c[0], c[1] * 0.5], (x, n)),
        ]
    ]


@check("08.3", "What the body closes over is not part of the carry.", against=["the carry is the first input"])
def after_the_constants(jk, rng):
    table = rng.integers(9, size=4).astype("int32")
    f, start = looped(jk, lambda v: v * table.sum() + jk.numpy.asarray(table)[0], np.float32(number(rng)))
    g, _ = looped(jk, lambda v: v + jk.numpy.asarray(table)[0], start)
    return f(start), raised(g, np.int8(1), parts=["carry v has type int8[]", "int32[]"])


@check("08.3", "A weak type and a strong one of the same dtype agree.", against=["a weak type is another type"])
def weakness(jk, rng):
    a = number(rng)
    f, start = looped(jk, lambda c: (c[1], c[0] * a), (np.float32(a), a))
    return f(start)


@check(
    "08.3",
    "In the body of a scan, only the first of the two arguments and of the two results is the carry.",
    against=["the whole input of a body must have the types of its output"],
)
def in_a_scan(jk, rng):
    xs = rng.integers(9, size=int(rng.integers(2, 9))).astype("int32")
    f = jk.make_jaxpr(lambda c, xs: jk.lax.scan(lambda c, x: (c * 2, (c > x, x)), c, xs))
    g = jk.make_jaxpr(lambda c, xs: jk.lax.scan(lambda total, x: (x, total), c, xs))
    c = np.float32(number(rng))
    return f(c, xs), raised(g, c, xs, parts=["scan body function carry", "total", "int32[]"])


# --- 08.4 What never changes --------------------------------------------------------------------------------------


@check(
    "08.4",
    "A part that the body returns as it came is a constant of the body, and is not carried.",
    against=[
        "every part of the carry goes round",
        "the parts that were taken out are the last inputs of the body",
        "the body still returns the parts that were taken out",
    ],
)
def constant(jk, rng):
    limit = number(rng)

    def f(x, y):
        return jk.lax.while_loop(lambda c: c[1] < limit, lambda c: (c[0], c[1] * 2 + c[0], c[2]), (x, y, row(rng)))

    return jk.make_jaxpr(f)(np.float32(1), np.float32(2))


@check("08.4", "What the condition reads stays in the carry.", against=["the condition reads nothing"])
def read_by_the_condition(jk, rng):
    def f(x, limit, a):
        return jk.lax.while_loop(
            lambda c: c["x"][0] < c["limit"], lambda c: c | {"x": c["x"] * c["a"]}, {"x": x, "limit": limit, "a": a}
        )

    return jk.make_jaxpr(f)(row(rng, int(rng.integers(2, 9))), np.float32(number(rng)), np.float32(2))


@check(
    "08.4",
    "Parts that change places do change, so they stay in the carry.",
    against=["a part that no equation computes stays the same", "any forwarded input is unchanged"],
)
def change_places(jk, rng):
    a = number(rng)

    def f(x, y):
        return jk.lax.while_loop(lambda c: c[2] < a, lambda c: (c[1], c[0], c[2] + 1), (x, y, 0.0))

    return jk.make_jaxpr(f)(np.float32(1), np.float32(2))


@check(
    "08.4",
    "The carry comes after what the functions close over.",
    against=[
        "the carry is the first input",
        "the first input of the body is a part of the carry",
        "the constants that the condition does not read are dropped",
    ],
)
def beside_closures(jk, rng):
    a, b = row(rng), row(rng)

    def f(x, y):
        return jk.lax.while_loop(lambda c: (c[1] < a).all() & (y > 0), lambda c: (c[0], c[1] * b + y + c[0]), (x, a))

    program = jk.make_jaxpr(lambda x, b: jk.lax.while_loop(unread_of(b), lambda c: (c[0], c[1] + c[0]), (x, x)))
    return jk.make_jaxpr(f)(np.float32(1), np.float32(2)), program(np.float32(1), b)


def unread_of(b):
    """Return a condition that closes over b but does not read it."""
    return lambda c: (b * 2.0, c[1] < 9.0)[1]


@check(
    "08.4",
    "The result has the two jaxprs, and a truth value for each part of the carry.",
    against=["every part of the carry goes round", "a part that no equation computes stays the same"],
)
def the_answer(jk, rng):
    a = number(rng)

    def step(c):
        return c[0], c[1], c[3], c[2], c[4] * a

    return smaller(jk, lambda c: c[4] < a, step, ("int32", "int32", "float32", "float32", "float32"))


@check(
    "08.4",
    "If nothing is taken out, the jaxprs that came are returned, the same objects.",
    against=["the condition's dead equations may be dropped in any case"],
)
def nothing_to_take(jk, rng):
    a = number(rng)

    def more(c):
        return (c[1] * a, c[0] < a)[1]

    return smaller(jk, more, lambda c: (c[1], c[0] * a), ("float32", "float32"))


@check(
    "08.4",
    "A condition reads what it returns, but not what only dead equations use. A constant that the body "
    "returns is not an unchanged part of the carry.",
    against=[
        "only operations read a part",
        "every part that occurs in the condition is needed",
        "what the body closes over does not change",
    ],
)
def reads_and_constants(jk, rng):
    a, table = number(rng), jk.numpy.asarray(row(rng, 1))[0]
    flag, unread = ("bool", "float32", "float32"), ("float32", "float32")
    return [
        smaller(jk, lambda c: c[0], lambda c: (c[0], c[1] * a, c[2]), flag),
        smaller(jk, lambda c: (c[0] * a, c[1] < a)[1], lambda c: (c[0], c[1] + c[0]), unread),
        smaller(jk, lambda c: c[1] < a, lambda c: (table, c[1] * table), unread),
    ]


def smaller(jk, more, step, dtypes):
    """Return the results of `without_constant_carry` for a carry of scalars of these dtypes, the mask as a list."""
    common = jk.lax.control_flow.common
    tree = jk.tree_util.tree_structure((tuple(dtypes),))
    avals = [jk.core.ShapedArray((), name) for name in dtypes]
    cond = common.trace_body(common.Body(more, more, "while_cond"), tree, avals)
    body = common.trace_body(common.Body(step, step, "while_body"), tree, avals)
    smaller_cond, smaller_body, mask = jk.lax.control_flow.loops.without_constant_carry(cond, body)
    return smaller_cond, smaller_body, list(mask)


# --- 08.5 stablehlo.while -----------------------------------------------------------------------------------------


def lowered(jk, f, *arguments):
    """Return the program as StableHLO, which is run on the arguments."""
    return Stablehlo(jk.jit(f).lower(*arguments).as_text(), arguments)


@check("08.5", "The body repeats as long as the condition holds.", against=["the body runs at least once"])
def repeats(jk, rng):
    a, limit = 1 + number(rng), 10 * number(rng)

    def f(x):
        return jk.lax.while_loop(lambda v: v < limit, lambda v: v * a, x)

    return [lowered(jk, f, np.float32(start)) for start in (0.5, 1000.0)]


@check(
    "08.5",
    "Constants of the condition and of the body go round with the carry, each for its own function.",
    against=["only the carry goes round", "both functions have the same constants"],
)
def constants(jk, rng):
    x, step = np.float32(number(rng)), np.abs(row(rng)) + 1

    def f(limit, step, x):
        start = (x * step, np.int32(0))
        return jk.lax.while_loop(lambda c: c[0].sum() < limit, lambda c: (c[0] + step + x, c[1] + 1), start)

    return lowered(jk, f, np.float32(20 * x), step, x)


@check(
    "08.5",
    "The regions read nothing but their own arguments.",
    against=["a region may read what is around it"],
    fixed="nothing is read",
)
def own_arguments(jk, rng):
    a = number(rng)

    def f(limit, factor, x):
        return jk.lax.while_loop(lambda v: v * a < limit, lambda v: v * factor, x)

    arguments = [np.float32(number(rng)) for _ in range(3)]
    lines = jk.jit(f).lower(*arguments).as_text().splitlines()
    start = next(i for i, line in enumerate(lines) if "stablehlo.while" in line)
    end = next(i for i, line in enumerate(lines) if line.strip().startswith("})"))
    return [line.strip() for line in lines[start + 1 : end] if "%arg" in line]


@check(
    "08.5", "The position of a line says which region it belongs to.", against=["the scopes of the lines do not matter"]
)
def scopes(jk, rng):
    a, functions = number(rng), ["sin", "cos", "tanh", "exp"]
    asked, done = (functions[i] for i in rng.permutation(4)[:2])

    def f(x):
        return jk.lax.while_loop(lambda v: getattr(jk.numpy, asked)(v) < 1, lambda v: getattr(jk.numpy, done)(v) * a, x)

    text = jk.jit(f).lower(np.float32(1)).as_text(debug_info=True)
    return [[f"while/{scope}/{name}" in text for name in functions] for scope in ("cond", "body")]


@check("08.5", "The parts of the carry keep their places.", against=["the parts of the carry may change places"])
def places(jk, rng):
    n = np.int32(rng.integers(5, 20))

    def fibonacci(n):
        def step(c):
            return (c[0] - 1, c[2], c[1] + c[2])

        return jk.lax.while_loop(lambda c: c[0] > 0, step, (n, 0, 1))

    return lowered(jk, fibonacci, n)


@check("08.5", "The program has one loop, and the body in it once.", against=["the body is written once for each step"])
def one_loop(jk, rng):
    n, times = int(rng.integers(5, 50)), int(rng.integers(1, 5))

    def step(i, v):
        for _ in range(times):
            v = jk.numpy.sin(v)
        return v + i

    def f(x):
        return jk.lax.fori_loop(0, n, step, x)

    text = jk.jit(f).lower(np.float32(1)).as_text()
    return {word: text.count(word) for word in ("stablehlo.while", "stablehlo.sine", "stablehlo.return")}


@check("08.5", "Effects of the body happen in every step, and in order.", against=["an effect in a loop happens once"])
def effects(jk, rng):
    seen = []

    def step(v):
        jk.debug.callback(lambda v: seen.append(int(v)), v, ordered=True)
        return v + 2

    run = jk.jit(lambda n, v: jk.lax.while_loop(lambda v: v < n, step, v))
    jk.block_until_ready(run(int(rng.integers(10, 20)), 3))
    jk.effects_barrier()
    return seen


# --- 08.6 fori_loop -----------------------------------------------------------------------------------------------


@check(
    "08.6",
    "With known bounds, `fori_loop` is a scan with that number of steps.",
    against=[
        "fori_loop is always a while loop",
        "a loop counts from 0",
        "only Python ints are known bounds",
        "a single step needs no loop",
    ],
)
def known_bounds(jk, rng):
    lower, steps = (int(k) for k in rng.integers(1, 9, size=2))
    f = jk.make_jaxpr(lambda x: jk.lax.fori_loop(lower, lower + steps, lambda i, v: v * i, x))
    none = jk.make_jaxpr(lambda x: jk.lax.fori_loop(lower, lower - steps, lambda i, v: v * i, x))
    of_numpy = jk.make_jaxpr(
        lambda x: jk.lax.fori_loop(np.int32(lower), np.int32(lower + steps), lambda i, v: v * i, x)
    )
    once = jk.make_jaxpr(lambda x: jk.lax.fori_loop(lower, lower + 1, lambda i, v: v * i, x))
    return f(np.float32(1)), none(np.float32(1)), of_numpy(np.float32(1)), once(np.float32(1))


@check(
    "08.6",
    "With a traced bound, `fori_loop` is a while loop, whose carry is the index, the bound and the value.",
    against=["the trip count must be known", "the upper bound is included", "1 added to a weak index makes it strong"],
)
def traced_bounds(jk, rng):
    a = number(rng)

    def f(m, n, x):
        up = jk.lax.fori_loop(2, n, lambda i, v: v * a + i, x)
        both = jk.lax.fori_loop(m, n, lambda i, v: (v[0] + i, v[1]), (x, up))
        return both, jk.lax.fori_loop(m, 9, lambda i, v: v - i, x)

    return jk.make_jaxpr(f)(1, 5, np.float32(1))


@check("08.6", "The body takes the index, then the value.", against=["the value comes first"])
def argument_order(jk, rng):
    seen = []

    def step(i, v):
        seen.extend([str(i.aval), str(v.aval)])
        return v * 2

    program = jk.make_jaxpr(lambda n, x: jk.lax.fori_loop(0, n, step, x))(
        int(rng.integers(9)), row(rng, int(rng.integers(2, 9)))
    )
    loop = program.eqns[-1].params
    return seen, [loop[name].debug_info.traced_for for name in ("cond_jaxpr", "body_jaxpr")]


@check(
    "08.6",
    "With a traced bound, both bounds and the index get the dtype of the bound that is not weak; two strong dtypes are refused.",
    against=["the index is always an int32", "known bounds are Python numbers", "only Python ints are weakly typed"],
)
def dtypes(jk, rng):
    x = np.float32(number(rng))

    def f(n):
        return jk.lax.fori_loop(0, n, lambda i, v: v + i, x)

    def g(n):
        return jk.lax.fori_loop(n, 9, lambda i, v: v + i, x)

    narrow = [jk.make_jaxpr(h)(np.dtype(name).type(5)) for h in (f, g) for name in ("int8", "int16")]
    mixed = jk.make_jaxpr(lambda n: jk.lax.fori_loop(np.int8(0), n, lambda i, v: v, x))
    narrow.append(jk.make_jaxpr(lambda m, n: jk.lax.fori_loop(m, n, lambda i, v: v + i, x))(0, np.int16(5)))
    known = raised(jk.lax.fori_loop, np.int8(0), np.int16(5), lambda i, v: v, x)
    return narrow, raised(mixed, np.int16(5), parts=["must have equal types, got int8 and int16"]), known


@check(
    "08.6",
    "To unroll more than one step, the bounds must be known; `unroll=0` means all steps, as in `scan`.",
    against=["any loop can be unrolled", "`unroll=0` is the same as no `unroll`"],
)
def unrolling(jk, rng):
    k = int(rng.integers(2, 5))

    def f(n, unroll):
        return jk.make_jaxpr(lambda m: jk.lax.fori_loop(0, n or m, lambda i, v: v + i, 1.0, unroll=unroll))

    return [f(9, k)(9), f(9, True)(9), f(9, 0)(9), f(0, 1)(9), f(0, False)(9)], raised(f(0, k), 9)


@check(
    "08.6",
    "An error about the carry names the user's function and its parameters.",
    against=["an error may name the parameters of my own step"],
    fixed="an error of fixed words",
)
def names(jk, rng):
    n = int(rng.integers(2, 9))

    def accumulate(index, total):
        return total.sum()

    def f(n):
        return jk.lax.fori_loop(0, n, accumulate, row(rng))

    parts = ["equal types", "carry total has type float32[3]", "component has type float32[]"]
    with jk.disable_jit():
        nothing_to_call = raised(jk.lax.fori_loop, 0, 0, 3, 1.0)
    return nothing_to_call, raised(jk.make_jaxpr(f), n, parts=parts), raised(jk.lax.fori_loop, 0, n, 3, 1.0)


# --- What learners wrote ------------------------------------------------------------------------------------------


@check(
    "08.1",
    "The carry is checked, too, when a part of it was promoted.",
    against=["a carry that was promoted need not be checked", "weak parts are promoted until all parts agree"],
    fixed="an error of fixed words",
)
def drift_beside_a_promotion(jk, rng):
    n, a = np.int32(rng.integers(1, 9)), number(rng)

    def f(x):
        return jk.lax.while_loop(lambda c: c[0] < a, lambda c: (c[0] + x, c[1] * 0.5), (0, n))

    def late(x):  # the first part becomes a float only after the second one has
        return jk.lax.while_loop(lambda c: c[0] < a, lambda c: (c[1], c[1] + x), (0, 0))

    parts = ["while_loop body function carry", "int32[]", "float32[]"]
    return [raised(jk.make_jaxpr(g), np.float32(1), parts=parts) for g in (f, late)]


@check(
    "08.2",
    "The flag says whether any value was converted, and not only whether the last one was.",
    against=["the flag is about the last value"],
)
def flags(jk, rng):
    shaped = jk.core.ShapedArray
    new, old = shaped((), "float32"), shaped((), "int32", True)
    choices = [[new, old], [old, new], [old, old]]
    return [promote(jk, rng.integers(9, size=2).tolist(), choices[i]) for i in rng.permutation(3)]


@check("08.1", "None may be a part of the carry: it has no leaf.", against=["None is a leaf of the carry"])
def nothing_in_the_carry(jk, rng):
    a, keys = number(rng), ["x", f"k{rng.integers(99)}"]

    def f(x):
        start = {keys[0]: x, keys[1]: (None, 1)}
        return jk.lax.while_loop(
            lambda c: c["x"] < a, lambda c: {keys[0]: c["x"] + 1, keys[1]: (None, c[keys[1]][1] * 2)}, start
        )

    return str(jk.tree_util.tree_structure(jk.eval_shape(f, np.float32(1)))), jk.make_jaxpr(f)(np.float32(1))


@check(
    "08.2",
    "One number may be the start of several parts, and each part has a type of its own.",
    against=["one object is converted once, to one type"],
)
def one_start_of_several_parts(jk, rng):
    start, kinds = int(rng.integers(9)), rng.permutation(["float16", "float32", "int16", "complex64"])
    return promote(jk, [start] * 4, [jk.core.ShapedArray((), str(kind)) for kind in kinds])


@check(
    "08.3",
    "Two classes of one name are two structures, though they print alike.",
    against=["trees that print alike are the same"],
)
def classes_of_one_name(jk, rng):
    name = f"Pair{rng.integers(99)}"
    one, other = (NamedTuple(name, [("x", object), ("y", object)]) for _ in range(2))
    x, n = row(rng, int(rng.integers(2, 9))), np.int32(rng.integers(9))
    right, _ = looped(jk, lambda c: one(c.x * 2, c.y), one(x, n))
    return right(one(x, n)), raised(*looped(jk, lambda c: other(*c), one(x, n)), parts=["the same pytree structure"])


@check(
    "08.3",
    "A size of 1 agrees with no other size, whether it goes in or comes out.",
    against=["a size of 1 agrees with every size"],
)
def sizes_of_one(jk, rng):
    n = int(rng.integers(2, 9))
    one, many = np.zeros(1, "float32"), np.zeros(n, "float32")
    return [
        raised(*looped(jk, lambda v: v[:1], many), parts=["equal types", f"float32[{n}]", "float32[1]"]),
        raised(*looped(jk, lambda v: v + many, one), parts=["equal types", f"float32[{n}]", "float32[1]"]),
        raised(*looped(jk, lambda v: v.sum(), one), parts=["equal types", "float32[1]", "float32[]"]),
    ]


@check(
    "08.4",
    "All parts may be taken out, and parts of a loop that prints, too.",
    against=["something is always left in the carry", "a condition reads everything if the body prints"],
)
def all_parts(jk, rng):
    a, kinds = number(rng), ("float32", "int32", "float32")

    def prints(c):
        jk.debug.print("{}", c[0])
        return c[0], c[1] + 1, c[2]

    return [
        smaller(jk, lambda c: True, lambda c: c, kinds[: int(rng.integers(1, 4))]),
        smaller(jk, lambda c: a < 0, lambda c: c, kinds),
        smaller(jk, lambda c: c[1] < 9, prints, kinds)[2],
    ]


@check(
    "08.6",
    "Between equal bounds there are no steps, and the body is traced all the same.",
    against=["equal bounds need no loop and no check"],
)
def equal_bounds(jk, rng):
    n, x = int(rng.integers(9)), np.float32(number(rng))
    step = jk.make_jaxpr(lambda n: jk.lax.fori_loop(n, n, lambda i, v: v * i, x))
    wrong = jk.make_jaxpr(lambda n: jk.lax.fori_loop(n, n, lambda i, v: (v, v), x))
    return step(n), raised(wrong, n), raised(jk.lax.fori_loop, n, n, lambda i, v: (v, v), x)


# --- Programs that nobody wrote before ----------------------------------------------------------------------------

NEW = "Random programs, new ones at each save."


@check("08.1", NEW, drawn=True)
def programs_1(jk, rng):
    return random_programs(jk, rng, of_loops.unsettled("while"), 8, types=True)


@check("08.2", NEW, drawn=True)
def programs_2(jk, rng):
    return random_programs(jk, rng, of_loops.unsettled("while", "scan", "fori"), 8, types=True)


@check("08.3", NEW, drawn=True)
def programs_3(jk, rng):
    return random_programs(jk, rng, of_loops.unsettled("while", "scan", "fori"), 8, graded=40, types=True)


@check("08.4", NEW, drawn=True)
def programs_4(jk, rng):
    return random_programs(jk, rng, of_arrays.plain("repeated counted constant unary"), 5, graded=40, types=True)


@check("08.5", NEW, drawn=True, tolerance=1e-4)
def programs_5(jk, rng):
    return random_programs(
        jk, rng, of_arrays.plain("repeated counted unary", way="jax.jit(f)({args})"), 2, graded=20, by_numpy=False
    )


@check("08.6", NEW, drawn=True)
def programs_6(jk, rng):
    return random_programs(jk, rng, of_loops.unsettled("fori"), 8, types=True)
