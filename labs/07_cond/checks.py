"""The programs that the exercises of lab 07 must run like the reference."""

from __future__ import annotations

import numpy as np

from jitkit.kata.checking import Stablehlo, check, of_arrays, of_loops, raised, random_programs


def scalar(rng):
    """Return a random float32, which nobody can guess."""
    return np.float32(rng.uniform(1.0, 9.0))


def row(rng, n=3):
    return rng.normal(size=n).astype("float32")


# --- 07.1 cond ----------------------------------------------------------------------------------------------------


@check(
    "07.1",
    "cond is one equation, whose index is the predicate as int32.",
    against=[
        "the index is the predicate",
        "in the equation, the true branch comes first",
        "the index is a truth value",
        "a cond with the same function twice is not a choice",
    ],
)
def plain_cond(jk, rng):
    limit, a = float(scalar(rng)), float(scalar(rng))
    both = [lambda x: x * a] * 2  # one function twice is a choice, too
    program = jk.make_jaxpr(lambda x: jk.lax.cond(x > limit, lambda x: x * a, lambda x: x - a, x))(1.0)
    return program, jk.make_jaxpr(lambda x: jk.lax.cond(x > limit, *both, x))(1.0)


@check("07.1", "Both functions are traced, whichever is going to run.", against=["only the taken branch is traced"])
def both_are_traced(jk, rng):
    traced = []
    flag = bool(rng.integers(2))

    def remember(name):
        return lambda x: (traced.append(name), x + 1)[1]

    program = jk.make_jaxpr(lambda x: jk.lax.cond(flag, remember("true"), remember("false"), x))(scalar(rng))
    differ = jk.make_jaxpr(lambda x: jk.lax.cond(flag, lambda: 1.0, lambda: 2))
    names = raised(differ, 1.0, parts=["output of true_fun has type float32[]", "output of false_fun"])
    return traced, program, names


@check(
    "07.1",
    "A number is true when it is not 0; it is not an index.",
    against=["a number is an index", "a number is true when it is positive"],
)
def numbers_are_predicates(jk, rng):
    a = float(scalar(rng))

    def f(n, x):
        return jk.lax.cond(n, lambda x: x + a, lambda x: x * a, x)

    return [jk.make_jaxpr(f)(number, 1.0) for number in (2, 0.5, np.uint8(7))]


@check(
    "07.1",
    "An array of several truth values is refused, and so is None.",
    against=["a predicate may be an array", "with jit disabled, any predicate will do"],
    fixed="an error of fixed words",
)
def bad_predicates(jk, rng):
    def f(pred):
        return jk.lax.cond(pred, lambda: 1.0, lambda: 2.0)

    return [
        raised(jk.make_jaxpr(f), row(rng) > 0, parts=["Pred must be a scalar"]),
        raised(jk.make_jaxpr(lambda: f(None)), parts=["cond predicate is None"]),
        raised(jk.make_jaxpr(lambda: f(1j)), parts=["Pred type must be either boolean or number"]),
        *by_python(jk, f, row(rng)[:1]),
    ]


def by_python(jk, f, x):
    """Return the errors for an array and for None as the predicate if jit is disabled, so that Python chooses the branch."""
    with jk.disable_jit():
        return [raised(f, x, parts=["Pred must be a scalar"]), raised(f, None, parts=["cond predicate is None"])]


@check(
    "07.1",
    "An operand may be passed by keyword, or, as in old programs, one before each function.",
    against=[
        "cond can be called in one way only",
        "a tree of operands is spread",
        "`operand=None` means that there is no operand",
        "an operand that is a tuple is spread over the parameters",
        "only the first function need be callable",
    ],
)
def other_forms(jk, rng):
    a, b = row(rng), scalar(rng)

    def by_keyword(x):
        return jk.lax.cond(x > 0, lambda t: t[0] + t[1], lambda t: t[0] - t[1], operand=(x, b))

    def old(x):
        return jk.lax.cond(x > 0, a, lambda a: a.sum(), x, lambda x: x * b)

    twice = raised(jk.lax.cond, True, abs, abs, 1.0, operand=2.0, parts=["operand"])
    none = [raised(jk.lax.cond, True, *fs, 1.0, parts=["should be callable"]) for fs in ((abs, 3), (3, abs), (3, 3))]
    with jk.disable_jit():
        none += [raised(jk.lax.cond, p, *fs, 1.0) for p, fs in ((True, (abs, 3)), (False, (3, abs)))]
    with_none = jk.make_jaxpr(lambda x: jk.lax.cond(x > b, lambda t: (t, x), lambda t: (t, a[0]), operand=None))
    return [jk.make_jaxpr(by_keyword)(1.0), jk.make_jaxpr(old)(1.0), twice, none, with_none(1.0)]


@check(
    "07.1",
    "Where jit is disabled Python calls one of the functions, and not the other.",
    against=[
        "both functions always run",
        "there is always a program",
        "with jit disabled, the value of a tracer is known",
        "with jit disabled, both functions are called, to compare them",
        "with jit disabled, a function gets one operand",
    ],
)
def without_jit(jk, rng):
    called = []

    def remember(name):
        return lambda x: (called.append(name), x)[1]

    def traced(flag):
        with jk.disable_jit():  # the flag is a tracer even without jit
            return jk.lax.cond(flag, lambda: 1.0, lambda: 2.0)

    with jk.disable_jit():
        for flag in rng.integers(2, size=5):
            jk.lax.cond(bool(flag), remember("true"), remember("false"), 1.0)
        for predicate in (2, 0.0, np.bool_(True), np.float32(0.5)):
            jk.lax.cond(predicate, remember("true"), remember("false"), 1.0)
        several = [jk.lax.cond(flag, lambda x, y: x - y, lambda x, y: y, *row(rng)[:2]) for flag in (True, False)]
    return called, jk.make_jaxpr(traced)(True), several


# --- 07.2 switch --------------------------------------------------------------------------------------------------


@check(
    "07.2",
    "switch is one equation with a branch for each function.",
    against=["a switch of two branches is a cond", "all branches may have the same name in messages"],
)
def plain_switch(jk, rng):
    a = float(scalar(rng))
    branches = [lambda x: x * a, lambda x: x - a, jk.numpy.sin]
    n = int(rng.integers(2, 4))
    by_keyword = jk.make_jaxpr(lambda i, x: jk.lax.switch(i, branches[:n], operand=x))(1, 1.0)
    types = raised(
        jk.make_jaxpr(lambda i: jk.lax.switch(i, [lambda: 1.0, lambda: 2])),
        0,
        parts=["output of branch 0 has type float32[]"],
    )
    index_types = [within(jk, branches[:n], dtype) for dtype in ("uint8", "int8", "int32")]
    program = jk.make_jaxpr(lambda i, x: jk.lax.switch(i, branches[:n], x))(1, 1.0)
    return choices(program), choices(by_keyword), types, index_types


def choices(program):
    """Return, for each `cond` in a program, its branches and the types of its operands; the first operand is the index."""
    chosen = [eqn for eqn in program.eqns if eqn.primitive.name == "cond"]
    return [(eqn.params["branches"], [atom.aval for atom in eqn.invars]) for eqn in chosen]


def within(jk, branches, dtype):
    """Return the type that the index has in the `cond` equation if `switch` is called with an index of this dtype."""
    program = jk.make_jaxpr(lambda i, x: jk.lax.switch(i, branches, x))(np.dtype(dtype).type(1), 1.0)
    return next(eqn.invars[0].aval for eqn in program.eqns if eqn.primitive.name == "cond")


@check(
    "07.2",
    "An index that is too large means the last branch, and a negative one the first.",
    against=[
        "the index is used as it is",
        "a bad index raises",
        "a negative index counts from the end",
        "a bad index wraps around",
        "an index too large is the first branch",
        "the index is clamped after it is converted to its width",
    ],
)
def out_of_bounds(jk, rng):
    numbers = rng.uniform(1.0, 9.0, size=3).tolist()
    branches = [lambda number=number: number for number in numbers]
    run = jk.jit(lambda i: jk.lax.switch(i, branches))
    far = [int(i) for i in rng.integers(130, 1 << 24, size=2)]
    unsigned = [np.uint32((1 << 31) - 1), np.uint8(rng.integers(200, 256))]
    return [run(i) for i in (-5, -1, 0, 1, 2, 3, 4, far[0], -far[1], *unsigned)]


@check(
    "07.2",
    "Where jit is disabled the same branches are chosen, and Python calls no other.",
    against=[
        "a negative index counts from the end",
        "there is always a program",
        "with jit disabled, an index works as in a Python list",
        "an index that is known needs no clamp",
    ],
)
def switch_without_jit(jk, rng):
    called = []
    branches = [lambda k=k: called.append(k) for k in range(5)]
    with jk.disable_jit():
        for i in (-1, *rng.integers(5, size=3).tolist(), 7):
            jk.lax.switch(np.int32(i), branches)

    def traced(i):
        with jk.disable_jit():  # the index is a tracer even without jit
            return jk.lax.switch(i, [lambda: 1.0, lambda: 2.0])

    program = jk.make_jaxpr(traced)(1)
    return called, sum(eqn.primitive.name == "cond" for eqn in program.eqns)


@check(
    "07.2",
    "The index is one integer: floats, truth values and arrays are refused.",
    against=["any number is an index"],
    fixed="an error of fixed words",
)
def bad_indices(jk, rng):
    def f(i):
        return jk.lax.switch(i, [lambda: 1.0, lambda: 2.0])

    return [
        raised(jk.make_jaxpr(f), float(scalar(rng)), parts=["Index type must be an integer", "float32"]),
        raised(jk.make_jaxpr(f), True, parts=["Index type must be an integer", "bool"]),
        raised(jk.make_jaxpr(f), rng.integers(9, size=3), parts=["Branch index must be scalar"]),
    ]


@check(
    "07.2",
    "A single branch is called: there is nothing to choose. Without branches there is nothing to call.",
    against=[
        "even a single branch needs a switch",
        "a single branch needs no index",
        "without branches there is no result, and no error",
    ],
)
def one_and_none(jk, rng):
    a = float(scalar(rng))
    return [
        jk.make_jaxpr(lambda i, x: jk.lax.switch(i, [lambda x: x * a], x))(1, 1.0),
        jk.make_jaxpr(lambda x: jk.lax.switch(7, [lambda x: x * a], operand=x))(1.0),
        raised(jk.lax.switch, 0, [], 1.0),
        *[raised(jk.lax.switch, 0, branches, 1.0) for branches in ([abs, 3], [3, abs], [abs, abs, 3], [3])],
        raised(jk.lax.switch, 0.5, [abs], 1.0, parts=["Index type must be an integer"]),
    ]


@check(
    "07.2",
    "Also where the index is known, all branches are traced, unless jit is disabled; the index is the number of a branch, and the "
    "branches are any sequence.",
    against=["the largest index is the number of branches", "equal branches are merged", "`branches` is a list"],
)
def known_numbers(jk, rng):
    conditionals, received = jk.lax.control_flow.conditionals, []
    kept = conditionals.choose

    def choose(what, index, functions, operands):
        received.append((what, int(index), list(functions)))
        return operands

    conditionals.choose = choose
    count = int(rng.integers(2, 9))
    try:
        for index in (0, count - 1, count, count + int(rng.integers(1, 9)), -int(rng.integers(1, 9))):
            jk.lax.switch(np.int32(index), (abs,) * count, 1.0)
    finally:
        conditionals.choose = kept
    return received


# --- 07.3 All branches, one equation ------------------------------------------------------------------------------


@check(
    "07.3",
    "All functions are traced, each once, in the order in which they were given.",
    against=[
        "only the taken branch is traced",
        "the functions are put in the equation's order before they are traced",
        "functions are compared in the equation's order",
        "functions are compared while they are traced",
        "every function is traced anew",
    ],
)
def traced_in_order(jk, rng):
    traced = []

    def remember(name):
        return lambda x: (traced.append(name), x * 2)[1]

    n = int(rng.integers(3, 6))
    names = [f"branch {k}" for k in range(n)]
    jk.make_jaxpr(lambda i, x: jk.lax.switch(i, [remember(name) for name in names], x))(0, 1.0)
    jk.make_jaxpr(lambda x: jk.lax.cond(x > 0, remember("true_fun"), remember("false_fun"), x))(1.0)
    try:
        jk.make_jaxpr(lambda x: jk.lax.cond(x > 0, lambda x: x, lambda x: (x, n), x))(1.0)
    except TypeError as error:
        traced += sorted(("true_fun output", "false_fun output"), key=str(error).find)

    def other(x):
        traced.append("another type")
        return n

    one, two = remember("one"), remember("two")
    refused = raised(jk.make_jaxpr(lambda i: jk.lax.switch(i, [one, other, two], 1.0)), 0)
    jk.make_jaxpr(lambda x: [jk.lax.cond(x > i, one, two, x) for i in range(n)])(
        2.0
    )  # known functions are not traced anew
    return traced, refused


@check(
    "07.3",
    "Also where the index is known already, all are traced, and must agree: what runs later is one equation.",
    against=["only the taken branch is traced"],
)
def known_index(jk, rng):
    conditionals, traced = jk.lax.control_flow.conditionals, []

    def remember(name):
        return lambda x: (traced.append(name), x * 2)[1]

    functions = {f"branch {k}": remember(k) for k in range(int(rng.integers(2, 5)))}
    kept, received = conditionals.bind_branches, []

    def bind_branches(index, branches, operands):  # nothing is compiled here
        received.append((len(branches), len(operands), [b.debug_info.traced_for for b in branches]))
        return [np.float32(0)]

    conditionals.bind_branches = bind_branches
    both = {"true_fun": remember("true"), "false_fun": remember("false")}
    try:
        conditionals.choose("switch", np.int32(1), functions, (np.float32(1),))
        conditionals.choose("cond", np.int32(rng.integers(2)), both, (np.float32(1),))
    finally:
        conditionals.bind_branches = kept
    return traced, received


@check(
    "07.3",
    "Two arrays that happen to be equal are two constants; each branch gets both, and uses its own.",
    against=[
        "a branch that closes over nothing gets no constants",
        "equal arrays are one constant",
        "operands come before constants",
        "when the branches are reversed, the index is, too",
        "constants are those of the first function",
        "no operand is weakly typed",
    ],
)
def equal_constants(jk, rng):
    table = row(rng)
    copy = table.copy()
    program = jk.make_jaxpr(lambda x: jk.lax.cond(x > 0, lambda x: x * table, lambda x: x - copy, x))(1.0)
    return len(program.eqns[-1].invars), program


@check(
    "07.3",
    "In the equation of cond the false branch is the first, as False is 0; switch keeps the order.",
    against=["the true branch comes first"],
)
def order_of_branches(jk, rng):
    a = float(scalar(rng))
    functions = [lambda x: x * a, lambda x: x - a]
    chosen_by_cond = jk.make_jaxpr(lambda x: jk.lax.cond(x > 0, *functions, x))(1.0)
    chosen_by_switch = jk.make_jaxpr(lambda i, x: jk.lax.switch(i, functions, x))(0, 1.0)
    return chosen_by_cond, chosen_by_switch


@check(
    "07.3",
    "What any branch closes over is an operand of the equation, and an input of every branch.",
    against=["a branch brings along what it closes over"],
)
def closures(jk, rng):
    a, b = row(rng), row(rng)

    def f(x, y):
        return jk.lax.cond(x > 0, lambda z: z * a + y, lambda z: z * b, x)

    return jk.make_jaxpr(f)(1.0, scalar(rng))


@check("07.3", "What several branches close over is one operand.", against=["each branch brings operands of its own"])
def shared_closures(jk, rng):
    table = row(rng)

    def f(i, x):
        branches = [lambda z: z * table, lambda z: z + table * x, lambda z: table - x]
        return jk.lax.switch(i, branches, x)

    return jk.make_jaxpr(f)(0, 1.0)


@check(
    "07.3",
    "Operands and results are trees; None is a tree without leaves.",
    against=[
        "a result is a list of arrays",
        "None is an operand of the equation",
        "the result has the tree of the operands",
    ],
)
def trees(jk, rng):
    tree = {"a": row(rng, int(rng.integers(2, 9))), "b": (scalar(rng), np.int32(rng.integers(9)))}
    nothing = jk.make_jaxpr(lambda x: jk.lax.cond(x > 0, lambda _, x: (x, _), lambda _, x: (x * 2, _), None, x))(1.0)

    def f(tree, x):
        return jk.lax.cond(
            x > 0,
            lambda t, x: {"sum": t["a"] + x, "rest": t["b"]},
            lambda t, x: {"sum": t["a"] * x, "rest": t["b"]},
            tree,
            x,
        )

    calls = [(f, (tree, 1.0))]  # one operand and one result, and two of each
    calls += [(lambda x, g=g: jk.lax.cond(x > 0, g, g, x), (1.0,)) for g in (lambda x: x * 2, lambda x: {"y": x})]
    calls += [(lambda x, y: jk.lax.cond(x > 0, lambda *xs: [*xs], lambda *xs: [*xs], x, y), (1.0, 2.0))]
    structures = [jk.tree_util.tree_structure(jk.eval_shape(g, *arguments)) for g, arguments in calls]
    return jk.make_jaxpr(f, return_shape=True)(tree, 1.0)[0], structures, nothing


@check(
    "07.3",
    "Branches that return different types are refused, by the names of their functions.",
    against=["branch types may differ"],
    fixed="an error of fixed words",
)
def disagreement(jk, rng):
    n = int(rng.integers(2, 9))

    def f(x):
        return jk.lax.cond(x > 0, lambda x: x, lambda x: n, x)

    return raised(jk.make_jaxpr(f), 1.0, parts=["cond branches must have equal output types", "true_fun", "false_fun"])


# --- 07.4 Branches agree ------------------------------------------------------------------------------------------


def trace_switch(jk, *branches):
    """Return a function that traces a switch between the branches for an index and an operand; `raised` can call it."""
    return jk.make_jaxpr(lambda i, x: jk.lax.switch(i, list(branches), x))


@check(
    "07.4",
    "Results of different dtypes are refused; nothing is converted.",
    against=["branch types may differ", "branches are promoted to a common type", "dtypes of the same kind agree"],
)
def different_dtypes(jk, rng):
    n = int(rng.integers(2, 9))
    kinds = [str(kind) for kind in rng.permutation(["int32", "int16", "float16", "uint8", "bool"])]
    programs = [trace_switch(jk, lambda x: x * 2, lambda x, kind=kind: np.dtype(kind).type(n)) for kind in kinds]
    return [
        raised(program, 0, 1.0, parts=["equal output types", "float32[]", f"{kind}[]"])
        for kind, program in zip(kinds, programs, strict=True)
    ]


@check(
    "07.4",
    "Results of different shapes are refused.",
    against=["branch types may differ", "types with the same dtype agree", "shapes of the same size agree"],
)
def different_shapes(jk, rng):
    n, zeros = int(rng.integers(2, 9)), jk.numpy.zeros
    program = trace_switch(jk, lambda x: x, lambda x: zeros(n))
    longer = trace_switch(jk, lambda x: zeros(n), lambda x: zeros(n + 1))
    turned = trace_switch(jk, lambda x: zeros((n, 1)), lambda x: zeros((1, n)))
    return [
        raised(program, 0, 1.0, parts=["equal output types", f"float32[{n}]"]),
        raised(longer, 0, 1.0, parts=["equal output types", f"float32[{n + 1}]"]),
        raised(turned, 0, 1.0, parts=["equal output types", f"float32[1,{n}]"]),
    ]


@check(
    "07.4",
    "The tree structure is compared, too, and before the types.",
    against=[
        "results with the same leaves agree",
        "results without leaves agree",
        "trees that print the same are the same",
    ],
    fixed="an error of fixed words",
)
def different_structures(jk, rng):
    n = int(rng.integers(2, 9))
    return [
        raised(trace_switch(jk, first, second), 0, 1.0, parts=["must have the same pytree structure", "branch1"])
        for first, second in [
            (lambda x: (x, x), lambda x: [x, x]),
            (lambda x: {"a": x}, lambda x: {"b": n}),
            (lambda x: (x, None), lambda x: (x, x)),
            (lambda x: None, lambda x: ()),
            own_classes(jk),
        ]
    ]


def own_classes(jk):
    """Return two functions, whose results are nodes of two different classes with the same name."""
    classes = [type("Box", (), {}) for _ in range(2)]
    for box in classes:
        jk.tree_util.register_pytree_node(box, lambda b: ((b.x,), None), lambda _, leaves: leaves)

    def boxed(box):
        def function(x):
            made = box()
            made.x = x
            return made

        return function

    return [boxed(box) for box in classes]


@check("07.4", "A weak type and a strong one of the same dtype agree.", against=["a weak type is another type"])
def weakness(jk, rng):
    number = float(scalar(rng))
    program = trace_switch(jk, lambda x: x, lambda x: number, jk.numpy.sin)
    return program(0, np.float32(1.0))


@check(
    "07.4",
    "Every branch is compared, and the message names the one that differs.",
    against=[
        "it is enough to compare two branches",
        "it is enough to compare each branch with the next one",
        "all trees are compared before any types",
        "the error is about the last branch that differs",
        "the message counts branches from the second one",
        "the error is about the last branch that differs",
    ],
)
def a_later_branch(jk, rng):
    count = int(rng.integers(3, 6))
    same = [lambda x: x * 2 for _ in range(count - 1)]
    last = [
        raised(
            trace_switch(jk, *before, lambda x: 1), 0, 1.0, parts=[f"output of branch{len(before)} has type int32[]"]
        )
        for before in (same, [*same, same[0]])
    ]
    return last, [
        raised(
            trace_switch(jk, *same, lambda x: 1),
            0,
            1.0,
            parts=["branch 0", f"output of branch{count - 1} has type int32[]"],
        ),
        raised(trace_switch(jk, *same, lambda x: (x,)), 0, 1.0, parts=["structure", f"branch{count - 1}"]),
        raised(trace_switch(jk, same[0], lambda x: 1, *same), 0, 1.0, parts=["output of branch1 has type int32[]"]),
        raised(trace_switch(jk, same[0], lambda x: (x,), *same), 0, 1.0, parts=["structure", "branch1"]),
        raised(trace_switch(jk, same[0], lambda x: 1, lambda x: (x,)), 0, 1.0, parts=["equal output types", "branch1"]),
    ]


@check(
    "07.4",
    "Every leaf is compared.",
    against=[
        "branches agree if one leaf does",
        "it is enough to compare the first leaf",
        "the same types in another order agree",
    ],
)
def every_leaf(jk, rng):
    kind = str(rng.choice(["int32", "int16", "float16", "uint8"]))
    n = np.dtype(kind).type(rng.integers(2, 9))

    def first(x):
        return (x, {"a": x, "b": x})

    others = [lambda x: (x, {"a": x, "b": n}), lambda x: (n, {"a": x, "b": x}), lambda x: (x, {"a": n, "b": x})]
    pairs = [(first, other) for other in others] + [(lambda x: (x, n), lambda x: (n, x))]
    return [raised(trace_switch(jk, *pair), 0, 1.0, parts=["equal output types", f"{kind}[]"]) for pair in pairs]


# --- 07.5 case ----------------------------------------------------------------------------------------------------


def lowered(jk, f, *arguments):
    """Return the program as StableHLO, which is run on the arguments."""
    return Stablehlo(jk.jit(f).lower(*arguments).as_text(), arguments)


@check(
    "07.5",
    "The index says which branch computes the result.",
    against=[
        "the index is known when the text is written",
        "the true branch comes first",
        "a region of `case` takes the operands as arguments",
        "`case` takes the operands beside the index",
        "there are always two branches",
        "the index has the type of the last operand",
    ],
)
def chooses(jk, rng):
    a, x = float(scalar(rng)), scalar(rng)

    def f(i, x):
        return jk.lax.switch(i, [lambda x: x * a, lambda x: x - a, jk.numpy.sin], x)

    return [lowered(jk, f, np.int32(i), x) for i in range(3)]


@check(
    "07.5",
    "There may be several results, of several types, and none of the operands needs to be used.",
    against=["an operation has one result", "results have the operands' types"],
)
def several_results(jk, rng):
    x, n = row(rng), np.int32(rng.integers(9))

    def f(x, n):
        return jk.lax.cond(n > 4, lambda x, n: (x * 2, n, x.sum() > 0), lambda x, n: (-x, n - 1, x[0] < 0), x, n)

    return lowered(jk, f, x, n)


@check(
    "07.5",
    "The program is one `case`, with the work of each branch in a region of its own.",
    against=["both functions always run", "the operation returns the tokens of every branch"],
)
def one_case(jk, rng):
    a, more = float(scalar(rng)), int(rng.integers(5))

    def f(i, x):
        return jk.lax.switch(i, [lambda x: jk.numpy.sin(x * a), jk.numpy.tanh, lambda x: x] + [jk.numpy.tanh] * more, x)

    text = jk.jit(f).lower(0, 1.0).as_text()
    inside = text.partition("stablehlo.case")[2]
    words = ("stablehlo.case", "stablehlo.sine", "stablehlo.tanh", "stablehlo.return", "stablehlo.select")
    return {word: text.count(word) for word in words}, inside.count("stablehlo.sine"), results_of_case(jk, more)


def results_of_case(jk, more):
    """Return how many results a `case` of 2 + `more` branches has, if each of them prints in order."""

    def tell(x):
        jk.debug.callback(print, x, ordered=True)
        return x

    text = jk.jit(lambda i, x: jk.lax.switch(i, [tell] * (2 + more), x + 1)).lower(0, 1.0).as_text()
    name = text.partition(' = "stablehlo.case"')[0].rpartition("%")[2]
    return int(name.partition(":")[2] or "1")


@check("07.5", "Only the branch that is chosen runs.", against=["both functions always run"])
def one_runs(jk, rng):
    ran = []

    def branch(k):
        return lambda x: (jk.debug.callback(lambda x: ran.append((k, float(x))), x), x + k)[1]

    run = jk.jit(lambda i, x: jk.lax.switch(i, [branch(k) for k in range(3)], x))
    for i in rng.integers(3, size=4):
        jk.block_until_ready(run(int(i), 1.0))
        jk.effects_barrier()
    return ran


@check(
    "07.5",
    "Ordered effects of a branch keep their place among those around it, also when another branch has none.",
    against=[
        "a branch without prints returns no token",
        "each branch returns only the tokens of its own effects",
        "tokens are among the results of the equation",
        "the results come before the tokens",
        "the number of results is that of the equation",
    ],
)
def ordered(jk, rng):
    seen = []

    def tell(word, x):
        jk.debug.callback(lambda x: seen.append((word, float(x))), x, ordered=True)

    def f(x):
        tell("before", x)
        y = jk.lax.cond(x > 0, lambda x: (tell("inside", x), x * 2)[1], lambda x: x, x)
        tell("after", y)
        return y

    def other_way(x):
        return jk.lax.cond(x > 0, lambda x: x, lambda x: (tell("else", x), x * 2)[1], x)

    runs = [jk.jit(f), jk.jit(other_way)]
    for x in (float(scalar(rng)), -float(scalar(rng))):
        for run in runs:
            jk.block_until_ready(run(x))
            jk.effects_barrier()
    return seen


@check(
    "07.5",
    "The position of a line says which branch it belongs to.",
    against=["all branches have the scope of the first", "the scopes of the branches are counted from 1"],
)
def scopes(jk, rng):
    a, more = float(scalar(rng)), int(rng.integers(5))

    def f(i, x):
        return jk.lax.switch(
            i, [lambda x: jk.numpy.sin(x * a), jk.numpy.tanh, lambda x: x - a] + [jk.numpy.cos] * more, x
        )

    text = jk.jit(f).lower(0, 1.0).as_text(debug_info=True)
    return [f"cond/branch_{i}_fun" in text for i in range(9)]


@check(
    "07.2", "Where jit is disabled, the chosen function gets the operands; and all branches must be callable even so."
)
def chosen_by_python(jk, rng):
    switch, x, y = jk.lax.switch, *rng.normal(size=2).tolist()
    with jk.disable_jit():
        chosen = [switch(i, [lambda a, b: a - b, lambda a, b: a * b], x, y) for i in (-1, 0, 1, 7)]
        found = [raised(switch, i, branches, x) for i in (0, 1) for branches in ([abs, 3], [3, abs], [abs, 3, abs])]
    return chosen, [(type(e.error).__name__ if hasattr(e, "error") else "no error") for e in found]


# --- Programs that nobody wrote before ----------------------------------------------------------------------------

NEW = "Random programs, new ones at each save."


@check("07.1", NEW, drawn=True)
def programs_1(jk, rng):
    return random_programs(jk, rng, of_loops.unsettled("cond"), 8, types=True)


@check("07.2", NEW, drawn=True)
def programs_2(jk, rng):
    return random_programs(jk, rng, of_loops.unsettled("switch"), 8, types=True)


@check("07.3", NEW, drawn=True, against=["the constants are those of the first two branches"])
def programs_3(jk, rng):
    return random_programs(jk, rng, of_arrays.plain("branches unary binary branches"), 5, graded=40, types=True)


@check("07.4", NEW, drawn=True)
def programs_4(jk, rng):
    return random_programs(jk, rng, of_loops.unsettled("cond", "switch"), 8, graded=40, types=True)


@check("07.5", NEW, drawn=True, tolerance=1e-4)
def programs_5(jk, rng):
    return random_programs(
        jk, rng, of_arrays.plain("branches unary binary", way="jax.jit(f)({args})"), 2, graded=20, by_numpy=False
    )
