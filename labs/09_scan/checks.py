"""The programs that the exercises of lab 09 must run like the reference."""

from __future__ import annotations

import itertools

import numpy as np

from jitkit.kata.checking import Stablehlo, check, of_arrays, of_loops, raised, random_programs, run_by_numpy


def number(rng):
    """Return a random Python float, which nobody can guess."""
    return float(np.float32(rng.uniform(1.0, 9.0)))


def row(rng, n=4):
    return rng.normal(size=n).astype("float32")


# --- 09.1 What a scan means ---------------------------------------------------------------------------------------


def by_python(jk, f, *arguments):
    """Trace a function with `disable_jit`, so that Python runs its scans. Return what the program computes, the names of the loops
    that are in it nevertheless (none, if the scan is right), and the tree of the function's result.
    """
    trees = []

    def without_jit(*arguments):
        with jk.disable_jit():
            result = f(*arguments)
        trees.append(jk.tree_util.tree_structure(result))
        return result

    program = jk.make_jaxpr(without_jit)(*arguments)
    loops = [eqn.primitive.name for eqn in program.eqns if eqn.primitive.name in ("scan", "while")]
    return run_by_numpy(program, *jk.tree_util.tree_leaves(arguments)), loops, trees


@check(
    "09.1",
    "The carry goes from step to step, the outputs are stacked, and each step is one call.",
    against=[
        "`ys` holds the carries",
        "outputs are joined end to end",
        "the carry need not be handed on",
        "one more call of `f` does no harm",
        "an element has a shape",
    ],
)
def plain_scan(jk, rng):
    a, calls = number(rng), []

    def f(xs):
        return jk.lax.scan(lambda c, x: (calls.append(1), (c + x, c * a))[1], 1.5, xs)

    return by_python(jk, f, row(rng, 3)), len(calls)


@check(
    "09.1",
    "Each step gets one element of each array in the tree `xs`, and returns a tree; the carry may be a tree, too.",
    against=[
        "a step gets all of `xs`",
        "`reverse` reverses the elements' own axes",
        "`xs` is one array",
        "a carry that is a tree comes back as a list of its leaves",
    ],
)
def trees(jk, rng):
    xs = {"a": rng.normal(size=(3, 2)).astype("float32"), "b": rng.integers(9, size=3)}

    def f(xs):
        return jk.lax.scan(lambda c, x: (c * x["a"], {"sum": x["a"].sum() + x["b"], "c": c}), xs["a"][0], xs)

    def swaps(a, xs):
        return jk.lax.scan(lambda c, x: ({"a": c["b"][0], "b": (c["a"] * x,)}, None), {"a": a, "b": (xs[0],)}, xs)

    carried = by_python(jk, swaps, np.float32(number(rng)), row(rng, 3))
    return by_python(jk, f, xs), jk.tree_util.tree_structure(jk.eval_shape(f, xs)), carried


@check(
    "09.1",
    "In reverse the last element comes first, and each output stands where its element does.",
    against=[
        "with `reverse`, the outputs come in reverse order",
        "`reverse` reverses only the outputs",
        "the outputs stand in the order in which they were made",
    ],
)
def in_reverse(jk, rng):
    def f(xs):
        return jk.lax.scan(lambda c, x: (c * x, c - x), 1.5, xs, reverse=True)

    return by_python(jk, f, row(rng, 3))


@check("09.1", "Without arrays, `length` says how many steps there are; the element is None then.")
def without_arrays(jk, rng):
    a, n = number(rng), int(rng.integers(2, 5))

    def f(x):
        return jk.lax.scan(lambda c, x: (c * a, (c, x)), x, None, n)

    return by_python(jk, f, np.float32(1)), jk.tree_util.tree_structure(jk.eval_shape(f, np.float32(1)))


@check(
    "09.1",
    "Without steps `scan_in_python` raises an error: there is nothing to stack.",
    against=["without steps, an empty list of outputs will do"],
    fixed="an error of fixed words",
)
def no_steps(jk, rng):
    def f(xs):
        with jk.disable_jit():
            return jk.lax.scan(lambda c, x: (c + x, c), number(rng), xs)

    return raised(f, np.zeros((0, 2), "float32"))


@check(
    "09.1", "Stacked arrays have a new leading axis, whatever their shape.", against=["outputs are joined end to end"]
)
def stacked(jk, rng):
    parts = rng.normal(size=(3, 2, 2)).astype("float32")
    scalars = rng.normal(size=3).astype("float32")
    stack = jk.lax.control_flow.stepping.stack_elements
    return [
        run_by_numpy(jk.make_jaxpr(lambda *ys: stack(ys))(*parts), *parts),
        run_by_numpy(jk.make_jaxpr(lambda *ys: stack(ys, True))(*scalars), *scalars),
    ]


# --- 09.2 How many steps ------------------------------------------------------------------------------------------


@check(
    "09.2",
    "The leading axes say how many steps there are; other axes are free.",
    against=["the last axis gives the number of steps"],
)
def from_arrays(jk, rng):
    n = int(rng.integers(2, 9))
    length = jk.lax.control_flow.counting.scan_length
    shaped = jk.ShapeDtypeStruct
    return [
        length([np.zeros((n, 3)), np.zeros(n), shaped((n, 1, 7), "int32")], None),
        length([np.zeros((n, 3))], n),
        length([np.zeros((0, n))], None),
    ]


@check(
    "09.2",
    "All arrays must have the same number of elements; none is cut.",
    against=[
        "the shortest array counts",
        "the first array decides about the number of steps",
        "the other arrays need not be compared with the first",
        "a size of 1 stretches to the number of steps",
    ],
    fixed="an error of fixed words",
)
def different_sizes(jk, rng):
    n = int(rng.integers(2, 9))
    f = jk.make_jaxpr(lambda a, b: jk.lax.scan(lambda c, x: (c, x), 0, (a, b)))
    return [raised(f, row(rng, n), row(rng, other)) for other in (n + 1, n - 1, 1)], raised(f, row(rng, 1), row(rng, n))


@check(
    "09.2",
    "A `length` beside arrays has to agree with them.",
    against=[
        "`length` cuts the arrays",
        "`length` is never needed",
        "an array of one element fits every `length`",
        "`length=1` agrees with every array",
    ],
    fixed="an error of fixed words",
)
def disagreeing(jk, rng):
    n = int(rng.integers(3, 9))
    length = jk.lax.control_flow.counting.scan_length
    return [
        raised(length, xs, n)
        for xs, n in (
            ([row(rng, n)], n - 1),
            ([row(rng, n)], n + 1),
            ([row(rng, n), row(rng, n - 1)], n),
            ([row(rng, n)], 1),
            ([row(rng, n), row(rng, 1)], n),
        )
    ]


@check(
    "09.2",
    "Where there are no arrays, `length` is needed. The number of steps is an int, whatever `length` was.",
    against=["`length` is never needed", "`length` is an int already", "only integers can be a `length`"],
)
def no_arrays(jk, rng):
    n = int(rng.integers(2, 9))
    length = jk.lax.control_flow.counting.scan_length
    found = [length([], n), length([], np.int64(n)), length([row(rng, n)], np.int8(n)), length([], float(n))]
    return found, [type(steps).__name__ for steps in found], raised(length, [], None)


@check(
    "09.2",
    "A number of steps that is data is refused.",
    against=["the number of steps may be data", "`length=0` is the same as no `length`"],
    fixed="an error of fixed words",
)
def traced_length(jk, rng):
    f = jk.make_jaxpr(lambda n: jk.lax.scan(lambda c, _: (c * 2, c), 1.0, None, n))
    return raised(f, int(rng.integers(9)), parts=["The `length` argument to `scan` expects a concrete `int`"])


@check(
    "09.2",
    "A Python number is not an array to scan over.",
    against=["a number has one element", "a leaf without axes is given to each step"],
)
def numbers(jk, rng):
    x = number(rng)
    f = jk.make_jaxpr(lambda xs: jk.lax.scan(lambda c, y: (c, y), 0, (xs, x)))
    length = jk.lax.control_flow.counting.scan_length
    first = raised(length, [x, row(rng)], None, parts=["no leading axis to scan over"])
    return raised(f, row(rng), parts=["no leading axis to scan over", str(x)]), first


@check(
    "09.2",
    "If several things are wrong, the error is about the first one in the docstring's list; `length` may be 0.",
    fixed="an error of fixed words",
    against=["arrays are compared with each other first"],
)
def order_of_errors(jk, rng):
    length, tracers = jk.lax.control_flow.counting.scan_length, []
    jk.make_jaxpr(lambda n: (tracers.append(n), n)[1])(3)
    scalar, xs, n = np.float32(number(rng)), row(rng, 3), tracers[0]
    no_axis, traced = ["no leading axis to scan over"], ["expects a concrete `int`"]
    told = [
        raised(length, arrays, None, parts=no_axis) for arrays in ([2.0, scalar], [xs, 2.0], [xs, row(rng, 4), 2.0])
    ]
    told += [raised(length, arrays, n, parts=no_axis) for arrays in ([2.0], [xs, 2.0])]
    told += [raised(length, arrays, n, parts=traced) for arrays in ([xs, row(rng, 4)], [xs], [])]
    told += [raised(length, [xs], 0), raised(length, [xs, row(rng, 4)], 3)]
    told += [raised(length, [xs, row(rng, 4)], None)]
    return told, length([row(rng, 0)], 0), refused_without_axes(length, scalar, xs, n)


def refused_without_axes(length, scalar, xs, n):
    """Return the classes of the errors for an array without axes, beside other arrays and a traced length. Python words them itself."""
    found = [
        raised(length, *given) for given in (([scalar], None), ([scalar], 4), ([xs, scalar], 3), ([scalar, xs], n))
    ]
    return [type(error.error).__name__ if hasattr(error, "error") else "no error" for error in found]


# --- 09.3 One equation --------------------------------------------------------------------------------------------


@check(
    "09.3",
    "A scan is one equation: its body is traced for one element of each array.",
    against=["a step gets all of `xs`"],
)
def one_equation(jk, rng):
    a = number(rng)

    def f(c, xs):
        return jk.lax.scan(lambda c, x: (c + x["a"].sum(), (c * a, x["b"])), c, xs)

    xs = {"a": np.ones((5, 2), "float32"), "b": np.arange(5)}
    return jk.make_jaxpr(f)(np.float32(1), xs)


@check(
    "09.3",
    "Python calls the body once for each trace, not for each step.",
    against=["the body is called for each step"],
)
def traced_once(jk, rng):
    calls = []

    def step(c, x):
        calls.append((str(c.aval), str(x.aval)))
        return c + x, c

    n = int(rng.integers(3, 9))
    program = jk.make_jaxpr(lambda c, xs: jk.lax.scan(step, c, xs))(np.float32(1), row(rng, n))
    return calls, program


@check(
    "09.3",
    "A weakly typed start is promoted, and the body is traced for its new type.",
    against=[
        "a start value keeps its type",
        "one trace is enough",
        "the carry comes last",
        "the equation gets the carry as the caller passed it",
    ],
)
def weak_starts(jk, rng):
    def f(xs):
        return jk.lax.scan(lambda c, x: ((c[0] + x, c[1] + 1), c[0]), (0, int(rng.integers(9))), xs)

    return jk.make_jaxpr(f)(row(rng))


@check(
    "09.3",
    "A carry that comes out as something else is refused; outputs are free.",
    against=[
        "the carry's type may drift",
        "the outputs must agree with the inputs, too",
        "weak parts are promoted until all parts agree",
    ],
)
def drift(jk, rng):
    xs = rng.integers(9, size=int(rng.integers(2, 9)))
    c = np.float32(number(rng))

    def f(step):
        return jk.make_jaxpr(lambda c, xs: jk.lax.scan(step, c, xs))

    parts = ["scan body function carry input and carry output must have"]
    return [
        f(lambda c, x: (c * 2, (x, c > 0, None)))(c, xs),
        raised(f(lambda c, x: (x, c)), c, xs, parts=[*parts, "equal types", "float32[]"]),
        # the first part becomes a float only after the second one has
        raised(
            f(lambda c, x: ((c[1], c[1] + 0.5), x)), (0, 0), xs, parts=[*parts, "equal types", "int32[]", "float32[]"]
        ),
        raised(f(lambda c, x: ((c, c), x)), c, xs, parts=[*parts, "the same pytree structure"]),
        raised(f(lambda c, x: c), c, xs, parts=["scan body output must be a pair"]),
    ]


@check(
    "09.3",
    "The equation's parameters are the length, the direction, and the number of steps for each trip.",
    against=["`unroll` is True or False"],
)
def parameters(jk, rng):
    n = int(rng.integers(3, 9))

    def f(xs, **options):
        return jk.make_jaxpr(lambda c, xs: jk.lax.scan(lambda c, x: (c * x, c), c, xs, **options))(1.5, xs)

    xs = row(rng, n)
    return [f(xs, reverse=True), f(xs, unroll=2), f(xs, unroll=True), f(xs, unroll=False, length=n)]


@check(
    "09.3",
    "With jit disabled, Python runs the loop, also in reverse.",
    against=[
        "there is always a program",
        "with jit disabled, the loop runs forwards",
        "the steps are counted before the types are checked",
        "with jit disabled, `length` need not be checked",
        "with jit disabled, the user's function is what `scan` calls",
    ],
)
def disabled(jk, rng):
    calls = []
    n = int(rng.integers(2, 6))

    def step(c, x):
        calls.append(c)
        return c + 1, None

    body = jk.lax.control_flow.common.Body(step, step, "scan")
    run_scan, xs = jk.lax.control_flow.scanning.run_scan, [row(rng, n), row(rng, n + 1)]
    with jk.disable_jit():
        jk.lax.scan(step, 0, None, n)
        refused = [raised(run_scan, body, 0, xs, None, False, 1), raised(run_scan, body, 0, ["text"], None, False, 1)]
        refused.append(raised(run_scan, body, 0, xs[:1], n - 1, False, 1))
    c, array = np.float32(number(rng)), row(rng, n)
    back = by_python(jk, lambda c, xs: jk.lax.scan(lambda c, x: (c * 0.5 + x, c), c, xs, reverse=True), c, array)
    counting = by_python(jk, lambda c: jk.lax.fori_loop(1, n, lambda i, c: c * 0.5 + i, c), c)
    return calls, refused, back, counting


@check(
    "09.3",
    "The carry is a tree, and a list of as many leaves is not the same tree; outputs are a tree as well.",
    against=["outputs are a list"],
)
def trees_of_carries(jk, rng):
    a = number(rng)

    trees = []

    def f(step, start, xs):
        def keeps_trees(c, xs):
            both = jk.lax.scan(step, c, xs)
            trees.extend(jk.tree_util.tree_structure(each) for each in both)
            return both

        return jk.make_jaxpr(keeps_trees)(start, xs)

    start = {"a": np.float32(1), "b": (np.float32(2), 3)}
    fine = f(lambda c, x: ({"a": c["a"] * a, "b": (c["b"][1] + x, c["b"][0])}, {"x": (x, None)}), start, row(rng))
    parts = ["scan body function carry input and carry output must have", "the same pytree structure"]
    fewer = raised(f, lambda c, x: (c["a"], None), start, row(rng), parts=parts)
    return fine, trees, raised(f, lambda c, x: ([c["a"], *c["b"]], x), start, row(rng), parts=parts), fewer


# --- 09.4 A scan is a while loop ----------------------------------------------------------------------------------


def looped(jk, step, carry, xs, y_avals, length, reverse=False):
    """Return the program that `loop_over` writes."""
    loop_over = jk.lax.control_flow.stepping.loop_over
    return jk.make_jaxpr(lambda carry, xs: loop_over(step, carry, xs, y_avals, length, reverse))(carry, xs)


def lowered(jk, f, *arguments):
    """Return the program as StableHLO, which is run on the arguments."""
    return Stablehlo(jk.jit(f).lower(*arguments).as_text(), arguments)


@check(
    "09.4",
    "The scan becomes a `while`, which counts, reads elements, and writes outputs into arrays that go round.",
    against=["the arrays are shortened and carried", "the loop begins at 1"],
)
def as_while(jk, rng):
    a, n = number(rng), int(rng.integers(2, 9))
    aval = jk.core.ShapedArray((), "float32")

    def step(carry, x):
        return [carry[0] + x[0]], [carry[0] * a, x[1]]

    xs = [row(rng, n), row(rng, n)]
    return parts_of_the_loop(looped(jk, step, [np.float32(1)], xs, [aval, aval], n))


def parts_of_the_loop(program):
    """Return facts about the only loop of a program: the types of its carry, how many values its condition and body close over, what
    these are traced for, and how often the body reads and writes an element, also at a negative index.
    """
    [loop] = [eqn for eqn in program.eqns if eqn.primitive.name == "while"]
    body, cond = loop.params["body_jaxpr"], loop.params["cond_jaxpr"]
    names = [eqn.primitive.name for eqn in body.eqns]
    return {
        "goes round": [var.aval for var in loop.outvars],
        "closed over": (loop.params["cond_nconsts"], loop.params["body_nconsts"]),
        "traced for": (cond.debug_info.traced_for, body.debug_info.traced_for),
        "reads and writes": [names.count(f"dynamic_{name}slice") for name in ("", "update_")],
        "looks for negative indices": "select_n" in names,
    }


@check(
    "09.4",
    "The compiled program returns the last carry and all outputs.",
    against=["`ys` holds the carries", "the loop begins at 1", "the last trip is one too many"],
)
def runs(jk, rng):
    def f(c, xs):
        return jk.lax.scan(lambda c, x: (c * x, c - x), c, xs)

    return lowered(jk, f, np.float32(number(rng)), row(rng, int(rng.integers(2, 9))))


@check(
    "09.4",
    "In reverse, elements are read from the end, and their outputs are written to the same places.",
    against=[
        "with `reverse`, the outputs come in reverse order",
        "`reverse` reverses only the outputs",
        "in reverse the last element is at `length`",
    ],
)
def runs_in_reverse(jk, rng):
    def f(c, xs):
        return jk.lax.scan(lambda c, x: (c * x[0], c - x), c, xs, reverse=True)

    xs = rng.normal(size=(5, 2)).astype("float32")
    return lowered(jk, f, np.float32(number(rng)), xs)


@check(
    "09.4",
    "With zero steps there is no loop: the carry comes back unchanged, and the outputs are empty. With one step there is a loop.",
    against=[
        "a loop of no trips can be written like any other",
        "one step needs no loop",
        "an output has the dtype of the elements",
        "a scan with an empty carry has no outputs",
    ],
)
def no_trips(jk, rng):
    aval = jk.core.ShapedArray((int(rng.integers(2, 9)),), "int32")
    one_step, x = np.float32([number(rng)]), np.float32(number(rng))
    program = looped(jk, lambda c, x: ([c[0] * x[0]], c), [x], [one_step], [aval.update(shape=(), dtype="float32")], 1)
    no_carry = looped(
        jk, lambda c, x: (c, [x[0] * 2.0]), [], [row(rng, 3)], [aval.update(shape=(), dtype="float32")], 3
    )
    return (
        run_by_numpy(program, x, one_step),
        run_by_numpy(no_carry, row(rng, 3)),
        looped(jk, lambda c, x: (c, x), [np.float32(1)], [np.zeros((0, 3), "float32")], [aval], 0),
    )


@check(
    "09.4",
    "An element has one axis less than its array, and goes back to its place.",
    against=["an element keeps its axis", "an index may be negative"],
)
def elements(jk, rng):
    stepping = jk.lax.control_flow.stepping
    n = int(rng.integers(2, 9))
    read, write = stepping.read_element, stepping.write_element
    matrix = rng.normal(size=(n, 3)).astype("float32")
    i = np.int32(rng.integers(n))
    calls = [(read, (matrix, i)), (read, (row(rng, n), i)), (write, (matrix, row(rng, 3), i))]
    calls.append((write, (row(rng, n), np.float32(2), i)))
    flat = rng.normal(size=(n, 1, 2, 1)).astype("float32")  # axes of size 1 are axes
    calls += [(read, (flat, i)), (write, (flat, flat[0] + 1, i))]
    selects = ["select_n" in str(jk.make_jaxpr(f)(*arguments)) for f, arguments in calls]
    return selects, [jk.jit(f)(*arguments) for f, arguments in calls]


# --- 09.5 Unroll --------------------------------------------------------------------------------------------------


def scanned(jk, n, unroll, reverse=False):
    """Return a function that runs a scan of `n` steps, whose carry depends on the order of the steps."""
    return lambda c, xs: jk.lax.scan(lambda c, x: (c * 0.5 + x, c - x), c, xs, length=n, reverse=reverse, unroll=unroll)


@check(
    "09.5",
    "The results are those of the plain loop, also when something is left over.",
    against=[
        "unroll divides the length",
        "what is left over comes first",
        "steps that do not fill a block are dropped",
        "the steps that are left over begin with the first carry",
    ],
)
def same_results(jk, rng):
    c = np.float32(number(rng))
    return [lowered(jk, scanned(jk, n, unroll), c, row(rng, n)) for n, unroll in ((8, 4), (10, 4), (3, 5))]


@check(
    "09.5",
    "In reverse, the first elements are left over.",
    against=[
        "in reverse the last elements are left over",
        "what is left over comes first",
        "an element is a number",
        "blocks are cut from the beginning",
        "what is left over are the last elements",
        "a block always goes forwards",
    ],
)
def left_over_in_reverse(jk, rng):
    c = row(rng, 2)
    return [lowered(jk, scanned(jk, n, unroll, True), c, row(rng, (n, 2))) for n, unroll in ((8, 3), (9, 2))]


def blocks(jk, n, unroll, reverse=False):
    """Return the program that `loop_in_blocks` writes for n steps, without dead code."""
    loop_in_blocks = jk.lax.control_flow.stepping.loop_in_blocks
    y_avals = [jk.core.ShapedArray((), "float32")]

    def step(carry, x):
        return [jk.numpy.sin(carry[0]) + x[0]], [carry[0] * x[0]]

    def f(c, xs):
        return loop_in_blocks(step, [c], [xs], y_avals, n, reverse, unroll)

    program = jk.make_jaxpr(f)(np.float32(1), np.ones(n, "float32"))
    return jk.jaxpr.dce_jaxpr(program, [True, True])[0]


@check(
    "09.5",
    "Blocks go round in a loop; only what is left over is written after it.",
    against=["all steps may be unrolled", "unroll divides the length"],
)
def a_loop_of_blocks(jk, rng):
    unroll = int(rng.integers(2, 5))
    return [blocks(jk, 3 * unroll, unroll), blocks(jk, 3 * unroll + 1, unroll, True)]


@check(
    "09.5",
    "A single block needs no loop, and 0 means all steps.",
    against=["unrolling needs a loop", "0 means no unrolling"],
)
def no_loop(jk, rng):
    n = int(rng.integers(2, 5))
    c, xs = np.float32(number(rng)), row(rng, n)
    loops = [
        sum(eqn.primitive.name == "while" for eqn in blocks(jk, n, unroll, reverse).eqns)
        for unroll in (n, n + 2, 0)
        for reverse in (False, True)
    ]
    return loops, [lowered(jk, scanned(jk, n, unroll), c, xs) for unroll in (n, True)]


@check(
    "09.5",
    "A scan of no steps returns the carry as it was, and empty outputs, however many steps a trip would do.",
    against=[
        "no steps can be treated as steps that are left over",
        "no steps can be treated as steps that are left over",
    ],
)
def no_steps_at_all(jk, rng):
    def f(c, xs, unroll, reverse):
        return jk.lax.scan(lambda c, x: (c + x.sum(), (x * 2, c)), c, xs, unroll=unroll, reverse=reverse)

    xs = np.zeros((0, int(rng.integers(2, 9))), "float32")
    c, unroll = np.float32(number(rng)), int(rng.integers(2, 9))
    return [lowered(jk, lambda c, xs, r=r: f(c, xs, unroll, r), c, xs) for r in (False, True)]


@check(
    "09.5",
    "Each output keeps its type and all of its axes, though it was computed in blocks.",
    against=["every output is a float32", "every output has one axis"],
)
def outputs_of_all_types(jk, rng):
    n, unroll, shape = int(rng.integers(5, 9)), int(rng.integers(2, 4)), tuple(rng.integers(1, 4, size=2).tolist())

    def f(c, xs, reverse):
        def step(c, x):
            whole = (x * 9).astype("int8")
            return c + x.sum(), (whole, x > c, jk.numpy.stack([x, -x]).astype("float16"), (whole[0], c))

        return jk.lax.scan(step, c, xs, unroll=unroll, reverse=reverse)

    c, xs = np.float32(0.1), row(rng, (n, *shape))
    return [lowered(jk, lambda c, xs, r=r: f(c, xs, r), c, xs) for r in (False, True)]


# --- 09.6 Dead code in a loop -------------------------------------------------------------------------------------


def needed(jk, step, carry, xs, *used):
    """Return the needed parts of a scan's carry for each choice of used results (parts of the last carry, and outputs)."""
    program = jk.make_jaxpr(lambda carry, xs: jk.lax.scan(step, carry, xs))(carry, xs)
    params = program.eqns[-1].params
    ask = jk.lax.control_flow.scanning.needed_carry
    return [ask(params["jaxpr"], params["num_consts"], list(carry), list(ys)) for carry, ys in used]


@check(
    "09.6",
    "A part of the carry that no output and no needed part reads is not needed.",
    against=[
        "everything is needed",
        "a part is needed if the step reads it, whatever for",
        "a part that only outputs read is not needed",
        "all outputs are used",
        "if one part is needed, all are",
        "an output needs the whole carry",
    ],
)
def independent(jk, rng):
    def step(c, x):
        return (c[0] + x, c[1] * x), (c[0], c[1] - 1)

    choices = [((True, False), (False, False)), ((False, False), (False, True)), ((False, True), (True, False))]
    carry = (np.float32(1), np.float32(number(rng)))
    return needed(jk, step, carry, row(rng), *(choices[i] for i in rng.permutation(3)))


@check(
    "09.6",
    "A part whose last value is not used may be needed by a step.",
    against=[
        "a carry is needed when its last value is used",
        "a part is needed only if a step reads it",
        "what a second look does not find is not needed",
    ],
)
def for_an_output(jk, rng):
    def step(c, x):
        return (c[0] + x, c[1] * x), c[0] * 2

    def ends(c, x):  # a part that is only used at the end
        return (c[1], x), c[0] * 2

    start, choices = (np.float32(1), np.float32(number(rng))), [((False, False), (True,)), ((False, True), (True,))]
    all_choices = [((a, b), (y,)) for a in (True, False) for b in (True, False) for y in (True, False)]
    all_choices = [all_choices[i] for i in rng.permutation(8)]
    return needed(jk, step, start, row(rng), *choices), needed(jk, ends, start, row(rng), *all_choices)


@check(
    "09.6",
    "If a part is needed, so is every part that it is computed from.",
    against=["going over the parts once is enough", "going over the parts twice is enough"],
)
def chains(jk, rng):
    n = int(rng.integers(4, 7))

    def step(c, x):
        return (*(a + b for a, b in itertools.pairwise(c)), c[-1] * x), c[1]

    start = tuple(row(rng, n))
    first = ((True,) + (False,) * (n - 1), (False,))
    last = ((False,) * (n - 1) + (True,), (False,))
    return needed(jk, step, start, row(rng), first, last, ((False,) * n, (True,)))


@check(
    "09.6",
    "Needed parts are found through chains of any length, wherever they begin; and the caller's lists stay as they are.",
    against=["going over the parts three times is enough", "the caller's list of used parts may be changed"],
)
def longer_chains(jk, rng):
    n = int(rng.integers(6, 9))
    order = rng.permutation(n).tolist()
    before = dict(itertools.pairwise(order))  # part -> the part from which a step computes it

    def step(c, x):
        return tuple(c[before.get(i, i)] * (2.0 if rng.random() < 0.5 else 1.0) for i in range(n)), c[order[-2]]

    program = jk.make_jaxpr(lambda carry, xs: jk.lax.scan(step, carry, xs))(tuple(row(rng, n)), row(rng))
    params, found = program.eqns[-1].params, []
    for i in [order[0], order[n // 2], None]:
        carry, ys = [i == k for k in range(n)], [i is None]
        answer = jk.lax.control_flow.scanning.needed_carry(params["jaxpr"], params["num_consts"], carry, ys)
        found.append((list(answer), carry, ys))
    return found


@check(
    "09.6",
    "The constants of the body come before its carry.",
    against=["the carry is the first input", "constants come after the carry"],
)
def after_constants(jk, rng):
    a, b = row(rng, 2), row(rng, 2)

    def step(c, x):
        return (c[0] * a, c[1] + b * x), c[1]

    choices = [((a, b), (y,)) for a in (True, False) for b in (True, False) for y in (True, False)]
    return needed(jk, step, (a + 1, b + 1), row(rng), *(choices[i] for i in rng.permutation(8)))


@check(
    "09.6",
    "Dead code elimination works through loops.",
    against=["everything is needed", "going over the parts once is enough"],
)
def dead_code(jk, rng):
    a = number(rng)

    def f(xs):
        def step(c, x):
            x0, x1, x2 = c
            return (x0 + x1, x1 * x, jk.numpy.sin(x2)), (x0 * a, x2)

        return jk.lax.scan(step, (xs[0], xs[1], xs[2]), xs)

    program = jk.make_jaxpr(f)(row(rng))
    dce = jk.jaxpr.dce_jaxpr
    return [dce(program, used)[0] for used in ([True] + [False] * 4, [False] * 4 + [True], [True] * 5)]


# --- Programs that nobody wrote before ----------------------------------------------------------------------------

NEW = "Random programs, new ones at each save."


@check("09.2", NEW, drawn=True)
def programs_2(jk, rng):
    return random_programs(jk, rng, of_loops.unsettled("scan"), 8, types=True)


@check("09.3", NEW, drawn=True)
def programs_3(jk, rng):
    return random_programs(jk, rng, of_loops.unsettled("scan", "scan", "fori"), 8, types=True)


@check("09.4", NEW, drawn=True, tolerance=1e-4)
def programs_4(jk, rng):
    return random_programs(
        jk, rng, of_arrays.plain("scan scan scan unary", way="jax.jit(f)({args})"), 3, graded=20, by_numpy=False
    )


@check("09.1", NEW, drawn=True)
def programs_1(jk, rng):
    return random_programs(jk, rng, of_arrays.plain("scan unary binary scan", way=of_arrays.IN_PYTHON), 5)


@check("09.5", NEW, drawn=True, tolerance=1e-4)
def programs_5(jk, rng):
    write = of_arrays.plain("unrolled unary unrolled", way="jax.jit(f)({args})")
    return random_programs(jk, rng, write, 2, graded=20, by_numpy=False)


@check("09.6", NEW, drawn=True)
def programs_6(jk, rng):
    write = of_arrays.plain("scan unary scan counted binary", way=of_arrays.PARTLY_USED)
    return random_programs(jk, rng, write, 5, by_numpy=False)
