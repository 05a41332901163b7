"""The programs that the exercises of lab 11 must run like the reference."""

from __future__ import annotations

import contextlib

import numpy as np

from jitkit.kata.checking import check, module, of_arrays, raised, random_programs, run_by_numpy


def interpreters(jk):
    """Return `jk.interpreters` with all derivative rules: the room `derivatives` brings them, when it is first used."""
    return jk.derivatives and jk.interpreters


def row(rng, n=4):
    """Return numbers of float32, none of them near 0."""
    return (rng.choice([-1, 1], size=n) * rng.uniform(0.2, 1.5, size=n)).astype("float32")


def pairs_of(jk, f, *pairs):
    """Return the results of f for values with tangents, and the tangents of the results: numpy computes them from the jaxpr."""
    primals, tangents = zip(*pairs, strict=True)
    program = jk.make_jaxpr(lambda *both: jk.jvp(f, both[: len(primals)], both[len(primals) :]))
    return run_by_numpy(program(*primals, *tangents), *primals, *tangents)


def gradient(jk, f, *arguments, argnums=0):
    """Return the gradient, which numpy computes from its jaxpr."""
    return run_by_numpy(jk.make_jaxpr(jk.grad(f, argnums))(*arguments), *arguments)


def count(program, *names):
    """Count the equations of these primitives (without names, of all) in a jaxpr, and in the jaxprs inside of it."""
    total = 0
    for eqn in program.eqns:
        total += eqn.primitive.name in names or not names
        for value in eqn.params.values():
            inner = value if isinstance(value, tuple) else (value,)
            total += sum(count(x, *names) for x in inner if type(x).__name__ == "Jaxpr")
    return total


# --- 11.1 Rules for pairs -----------------------------------------------------------------------------------------


@check(
    "11.1",
    "The tangent of logistic(x) is y (1 - y) times that of x.",
    against=["the chain rule is somebody else's job", "the formula y (1 - y) is about x"],
)
def logistic(jk, rng):
    return pairs_of(jk, jk.lax.logistic, (row(rng), row(rng)))


@check(
    "11.1",
    "Far from 0 the tangent of logistic(x) is as small as it should be.",
    against=["the derivative of logistic needs an added 1e-6", "the derivative of logistic is never 0"],
)
def logistic_far_from_zero(jk, rng):
    far = np.float32([*-rng.uniform(8, 16, size=3), rng.uniform(20, 30)])
    return pairs_of(jk, lambda x: jk.lax.logistic(x) * 1e6, (far, row(rng) + np.float32(4)))


@check(
    "11.1",
    "The derivative is computed from the result, without another exponential.",
    against=["a derivative is computed from x alone"],
)
def from_the_result(jk, rng):
    x, times = row(rng), int(rng.integers(1, 6))

    def f(x):
        for _ in range(times):
            x = jk.lax.logistic(x)
        return x

    program = jk.make_jaxpr(lambda x, t: jk.jvp(f, (x,), (t,)))(x, x)
    return count(program, "exp", "exp2", "expm1", "logistic", "tanh", "cosh", "pow")


@check(
    "11.1",
    "The tangent of a maximum is the tangent of the maximal element, if there is only one.",
    against=[
        "the tangent of a maximum is the largest tangent",
        "infinities are never equal",
        "the maximum is the element with the largest absolute value",
        "an empty tuple of axes means the first axis",
    ],
)
def of_a_maximum(jk, rng):
    x, t = row(rng, 12).reshape(3, 4), row(rng, 12).reshape(3, 4)
    signs = rng.permutation(np.float32([3, -3, 1, -2]))
    return [
        pairs_of(jk, lambda x: jk.lax.reduce_max(x, (0,)), (signs, t[0])),
        pairs_of(jk, lambda x: jk.lax.reduce_max(x, (0,)), (np.where(signs == 3, np.float32(np.inf), signs), t[0])),
        pairs_of(jk, lambda x: jk.lax.reduce_min(x, (0,)), (np.where(signs == 1, np.float32(-np.inf), signs), t[0])),
        pairs_of(jk, lambda x: jk.lax.reduce_max(x, (0,)), (x, t)),
        pairs_of(jk, lambda x: jk.lax.reduce_min(x, (1,)), (x, t)),
        pairs_of(jk, lambda x: jk.lax.reduce_max(x, (0, 1)), (x, t)),
        pairs_of(jk, lambda x: jk.lax.reduce_max(x, ()), (x, t)),
    ]


@check(
    "11.1",
    "Where one element is the maximum, the tangent is exactly that element's.",
    against=["the number of maxima needs an added 1e-6"],
    tolerance=0.5,
)
def of_one_maximum(jk, rng):
    x, t = rng.permutation(12).astype("float32"), rng.uniform(1.0, 1.5, size=12).astype("float32")
    its_own = t[int(np.argmax(x))]

    def millionths(x, t):
        _, tangent = jk.jvp(lambda x: jk.lax.reduce_max(x, (0,)), (x,), (t,))
        return tangent * 10.0, (tangent - its_own) * 1e6

    return run_by_numpy(jk.make_jaxpr(millionths)(x, t), x, t)


@check(
    "11.1",
    "Where several elements are the maximum, the tangent is the mean of their tangents.",
    against=[
        "the tangents of all maxima are added",
        "of several equal maxima, only the first one counts",
        "a count fits into a byte",
    ],
)
def ties(jk, rng):
    top = float(rng.uniform(2, 3))
    many = np.full(int(rng.integers(200, 250)), top, "float32"), rng.uniform(1, 2, size=256).astype("float32")
    x, t = row(rng, 12).reshape(3, 4), row(rng, 12).reshape(3, 4)
    x[1, :3] = x[2, 0] = top
    of_many = pairs_of(jk, lambda x: jk.lax.reduce_max(x, (0,)), (many[0], many[1][: len(many[0])]))
    return [pairs_of(jk, lambda x, a=axes: jk.lax.reduce_max(x, a), (x, t)) for axes in ((1,), (0,), (0, 1))], of_many


@check(
    "11.1",
    "The tangent is the sum of the operands' shares.",
    against=[
        "only the last operand has a share",
        "the shares are multiplied",
        "the same value as two operands has one share",
        "the operands after one without a share have none, either",
    ],
)
def shares_are_added(jk, rng):
    x, y = (row(rng), row(rng)), (row(rng), row(rng))
    lax, sums = jk.lax, interpreters(jk).ad_rules.sum_of_shares

    def second(g, y, *xs):
        return g * xs[0]

    late = jk.make_jaxpr(lambda x, t: sums(lax.mul_p, [None, second], [x, x], [t, t])[1])
    return [
        run_by_numpy(late(*x), *x),
        pairs_of(jk, lambda x: lax.mul(x, x), x),
        *[pairs_of(jk, lambda x, y, f=f: f(x, y), x, y) for f in (lax.mul, lax.div, lax.atan2, lax.max)],
    ]


@check(
    "11.1", "An operation may have any number of operands, and parameters.", against=["there are always two operands"]
)
def shares_of_four(jk, rng):
    rules, rows = interpreters(jk).ad_rules, [row(rng) for _ in range(8)]
    primitive = type("P", (), {"bind": staticmethod(lambda *xs, times: (sum(xs) * times).sum())})
    shares = [lambda g, y, *xs, times, k=k: (g * xs[k] * times).sum() + y for k in range(4)]
    missing = int(rng.integers(4))

    def of_four(*both):
        tangents = list(both[4:])
        tangents[missing] = rules.zero_tangent(both[missing])
        return rules.sum_of_shares(primitive, shares, both[:4], tangents, times=3.0)

    return run_by_numpy(jk.make_jaxpr(of_four)(*rows), *rows)


@check(
    "11.1",
    "An operand whose tangent is Zero has no share, and nothing is computed for it.",
    against=["the tangent of a constant is an array of zeros"],
)
def constants(jk, rng):
    a, x, times = row(rng), row(rng), int(rng.integers(1, 6))

    def f(x):
        for _ in range(times):
            x = x * a
        return x

    program = jk.make_jaxpr(lambda x, t: jk.jvp(f, (x,), (t,)))(x, x)
    asked = []
    zero = interpreters(jk).ad_rules.Zero(jk.core.typeof(a))
    sums = interpreters(jk).ad_rules.sum_of_shares
    shares = [lambda g, y, *xs: asked.append("first") or g, lambda g, y, *xs: asked.append("second") or g]
    jk.make_jaxpr(lambda x, t: sums(jk.lax.mul_p, shares, [x, a], [t, zero])[1])(x, x)
    return {"equations": count(program), "shares that are asked": asked}


@check(
    "11.1",
    "Without any share the tangent is a Zero of the result's type, neither None nor an array.",
    against=[
        "a result without shares has no tangent",
        "every operand has a function in `shares`",
        "a result has the type of its first operand",
    ],
)
def no_shares(jk, rng):
    rules = interpreters(jk).ad_rules
    x, made = row(rng, int(rng.integers(2, 9))), []

    def f(x, t):
        made.append(rules.sum_of_shares(jk.lax.add_p, [None, None], [x, x], [t, t])[1])
        made.append(rules.sum_of_shares(jk.lax.sign_p, [None], [x], [rules.zero_tangent(x)])[1])
        made.append(rules.sum_of_shares(jk.lax.gt_p, [None, None], [x, x], [t, t])[1])
        made.append(rules.sum_of_shares(jk.lax.reduce_sum_p, [None], [x], [t], axes=(0,))[1])
        return x

    jk.make_jaxpr(f)(x, x)
    _, t = jk.eval_shape(lambda x: jk.jvp(jk.lax.floor, (x,), (x,)), x)
    return [(type(t).__name__, str(t.aval)) for t in made], t.shape


# --- 11.2 A function of pairs -------------------------------------------------------------------------------------


@check(
    "11.2",
    "`jvp` returns the values and the tangents of a function's results.",
    against=["the operands of an operation are their tangents"],
)
def through_a_function(jk, rng):
    np_ = jk.numpy

    def f(x, y):
        z = np_.sin(x) * y
        return z / (x * x + 1), np_.where(z > 0, z, x)

    return pairs_of(jk, f, (row(rng), row(rng)), (row(rng), row(rng)))


@check(
    "11.2",
    "If a value is used twice, both uses add to the tangent.",
    against=["the operands of an operation are their tangents"],
)
def used_twice(jk, rng):
    n = int(rng.integers(2, 5))

    def f(x):
        for _ in range(n):
            x = x * x + x
        return x

    return pairs_of(jk, f, (row(rng), row(rng)))


@check(
    "11.2",
    "An operation on values that do not change goes to the enclosing trace: no tangent is computed for it.",
    against=["every operation has a tangent"],
)
def unchanged(jk, rng):
    a, x = row(rng), row(rng)
    asked = []
    rules = interpreters(jk).ad_rules.primitive_jvps
    known = dict(rules)
    for primitive, rule in known.items():
        rules[primitive] = lambda *xs, r=rule, p=primitive, **params: asked.append(p.name) or r(*xs, **params)

    def f(x, a):
        b = jk.lax.exp(jk.lax.sin(a))
        return jk.lax.mul(x, b), b

    try:
        program = jk.make_jaxpr(lambda x, t, a: jk.jvp(lambda x: f(x, a), (x,), (t,)))(x, x, a)
    finally:
        rules.update(known)
    return asked, run_by_numpy(program, x, x, a)


@check(
    "11.2",
    "An operation with several results has as many tangents; an operation in an inner program is recorded in that program.",
    against=["an operation has one result", "there is only one trace at a time"],
)
def several_results(jk, rng):
    x = row(rng, int(rng.integers(2, 9)))

    def f(x):
        keys, values = jk.lax.sort((x, x * 2), num_keys=1)
        return jk.lax.cond(x[0] > 0, lambda: (keys * x, values), lambda: (values, x))

    return jk.make_jaxpr(lambda x, t: jk.jvp(f, (x,), (t,)))(x, x)


@check(
    "11.2", "Derivatives nest: a derivative is a program, and has one.", against=["every pair belongs to this trace"]
)
def nested(jk, rng):
    np_ = jk.numpy
    x, t = row(rng), row(rng)

    def dot(f, x, t):
        return jk.jvp(f, (x,), (t,))[1]

    def second(x):
        return dot(lambda x: dot(lambda y: np_.sin(y) * x * y, x, t), x, t)

    confusion = jk.make_jaxpr(lambda x: dot(lambda x: x * dot(lambda y: x + y, x, x), x, x))
    return run_by_numpy(jk.make_jaxpr(second)(x), x), run_by_numpy(confusion(x), x)


@check(
    "11.2",
    "The function is called once; what it puts into `aux` has no tangents.",
    against=["`aux` may hold pairs", "the function may be called twice, for values and for tangents"],
)
def other_data(jk, rng):
    calls, x = [], row(rng)

    def f(x):
        calls.append(1)
        return x * x, {"twice": x * 2, "n": 3}

    program = jk.make_jaxpr(lambda x, t: jk.jvp(f, (x,), (t,), has_aux=True))(x, x)
    return len(calls), run_by_numpy(program, x, x)


@check(
    "11.2",
    "The trace ends with the call: a tracer that got away is refused, also where the call ended in an error.",
    against=["a trace ends by itself"],
)
def ends(jk, rng):
    x, kept = row(rng, int(rng.integers(2, 9))), []

    def f(x):
        kept.append(x)
        return x * 2

    def g(x):
        kept.append(x)
        raise KeyError("mine")

    def use(f):
        first = raised(jk.make_jaxpr(lambda x, t: jk.jvp(f, (x,), (t,))), x, x, parts=["mine"])
        return first, raised(jk.make_jaxpr(lambda y: kept[-1] + y), x)

    return [use(f), use(g)]


@check(
    "11.2",
    "A jaxpr of pairs: inputs, then tangents of those that have one; outputs, then their tangents.",
    against=["all inputs have tangents", "each output is followed by its tangent"],
)
def jaxpr_of_pairs(jk, rng):
    a, x, y = float(rng.uniform(1, 2)), row(rng), row(rng)
    jaxpr = jk.make_jaxpr(lambda x, y: (x * a, x * y, y + 1))(x, y)
    results = []
    for nonzero, arguments in (((True, False), (x, y, x)), ((True, True), (x, y, x, y)), ((False, True), (x, y, y))):
        made, out = interpreters(jk).ad.jvp_jaxpr(jaxpr, nonzero, False)
        results.append((made.in_avals, out, run_by_numpy(made, *arguments)))
    return results


@check(
    "11.2",
    "Outputs that do not change have no tangent, unless one is asked for.",
    against=[
        "every output must have a tangent",
        "a tangent that is Zero is never wanted as an array",
        "a tangent has the type of its value",
    ],
)
def instantiated(jk, rng):
    n = int(rng.integers(2, 9))
    x, y = row(rng, n), row(rng, n)
    jaxpr = jk.make_jaxpr(lambda x, y: (x * 2, y + 1, y > 0))(x, y)
    results = []
    for instantiate in (False, True, (False, True, False), (True, False, False)):
        made, out = interpreters(jk).ad.jvp_jaxpr(jaxpr, (True, False), instantiate)
        results.append((made.out_avals, out))
    of_ints = jk.make_jaxpr(lambda k, x: (k, x * 2))(np.arange(n, dtype="int32"), x)
    for nonzero in ((False, True), (True, True)):
        made, out = interpreters(jk).ad.jvp_jaxpr(of_ints, nonzero, True)
        results.append((made.in_avals, made.out_avals, out))
    return results


# --- 11.3 What is known goes, what is linear stays ----------------------------------------------------------------


def linearized(jk, f, x, t):
    """Return the results of f and of its linear program for the tangent t, which numpy computes, and the linear program."""
    programs = []

    def both(x, t):
        y, push = jk.linearize(f, x)
        programs.append(jk.make_jaxpr(push)(x))
        return y, push(t)

    program = jk.make_jaxpr(both)(x, t)
    return run_by_numpy(program, x, t), programs[0]


@check(
    "11.3",
    "Results are computed at once; the program for tangents gives their derivative.",
    against=["everything is written down", "values are computed later"],
)
def results_and_tangents(jk, rng):
    np_ = jk.numpy
    return linearized(jk, lambda x: np_.sin(x) * np_.exp(x) + x, row(rng), row(rng))[0]


@check(
    "11.3",
    "Operations that touch no tangent are not in the linear program: it has multiplications, and no sine.",
    against=["everything is written down", "an operation without operands belongs to the linear program"],
)
def only_what_is_linear(jk, rng):
    np_, n = jk.numpy, int(rng.integers(2, 5))

    def f(x):
        for _ in range(n):
            x = np_.sin(x)
        return x

    weighted = jk.custom_jvp(lambda x: x * 2)
    weighted.defjvp(lambda primals, tangents: (primals[0] * 2, tangents[0] * jk.lax.iota("float32", 4)))
    program = linearized(jk, f, row(rng), row(rng))[1]
    other = linearized(jk, weighted, row(rng), row(rng))[1]
    return count(program, "sin", "cos"), count(program, "mul"), count(other, "iota"), count(other)


@check(
    "11.3",
    "Operations that touch a tangent are in the linear program, and are not computed now.",
    against=["tangents already have values"],
)
def linear_equations_stay(jk, rng):
    x, times = row(rng), int(rng.integers(1, 6))

    def power(x):
        y = x
        for _ in range(times):
            y = y * x
        return y * 3.0

    seen = []

    def f(x):
        y, push = jk.linearize(power, x)
        seen.append(count(jk.make_jaxpr(push)(x)))
        return y

    return {"products": count(jk.make_jaxpr(f)(x), "mul"), "equations that stay": seen}


@check(
    "11.3",
    "The function is called once, and where Python asks for a value, as in `if x > 0`, there is one.",
    against=["the function may be called twice, for values and for tangents"],
)
def called_once(jk, rng):
    calls = []

    def f(x):
        calls.append(1)
        y = x * x
        return (y * 2, {"y": y, "k": 7}) if len(calls) else None

    x = row(rng)

    def g(x, t):
        y, push, aux = jk.linearize(f, x, has_aux=True)
        return y, push(t), aux

    return run_by_numpy(jk.make_jaxpr(g)(x, x), x, x), len(calls)


@check(
    "11.3",
    "Each argument has a tangent of its own, even if two of them are one array.",
    against=[
        "every result has a tangent",
        "everything is written down",
        "two arguments that are the same array share a tangent",
    ],
)
def several_arguments(jk, rng):
    arguments = {"x": row(rng), "y": row(rng)}

    def f(d, t):
        push = jk.linearize(lambda d: d["x"] * jk.numpy.sin(d["y"]), d)[1]
        both = jk.linearize(lambda x, y: x * jk.numpy.sin(y), d["x"], d["x"])[1]
        return push(t), push({"x": t["x"], "y": t["y"] * 0}), both(t["x"], t["y"])

    program = jk.make_jaxpr(f)(arguments, arguments)
    return run_by_numpy(program, *jk.tree_util.tree_leaves((arguments, arguments)))


@check("11.3", "Results that do not change have no tangent in the program.", against=["every result has a tangent"])
def nonzero_results(jk, rng):
    x, a = row(rng), row(rng)
    linearize, found = interpreters(jk).ad_linearize.linearize, []

    def f(x):
        info = jk.make_jaxpr(lambda x: x)(x).debug_info
        outs, program = linearize(lambda x: [x * a, x > 0, jk.lax.sin(a), x], [x], info)
        found.append((program.nonzero, count(program.jaxpr), len(program.jaxpr.outvars)))
        return outs

    return jk.make_jaxpr(f)(x), found


@check("11.3", "Both traces end with the call, also where it ends in an error.", against=["a trace ends by itself"])
def both_end(jk, rng):
    x, kept = row(rng, int(rng.integers(2, 9))), []

    def f(x):
        kept.append(x)
        return x * 2

    def g(x):
        kept.append(x)
        raise KeyError("mine")

    def use(f):
        first = raised(jk.make_jaxpr(lambda x: jk.linearize(f, x)[0]), x, parts=["mine"])
        return first, raised(jk.make_jaxpr(lambda y: kept[-1] + y), x)

    def tangent_of(f):
        raised(jk.make_jaxpr(lambda x: jk.linearize(f, x)[0]), x)
        return raised(jk.make_jaxpr(lambda y: kept[-1].tangent + y), x)

    return [use(f), use(g), tangent_of(f), tangent_of(g)]


@check(
    "11.3",
    "The trace that was current before is the parent of both traces.",
    against=["there is only one trace at a time"],
    fixed="one trace, or another",
)
def around_both(jk, rng):
    parents = []

    def f(x):
        parents.extend([x._trace.parent, x.tangent._trace.parent])
        return x * 2

    def program(x):
        parents.append(jk.core.current_trace())
        return jk.linearize(f, x)[0]

    jk.make_jaxpr(program)(row(rng))
    return [trace is parents[0] for trace in parents]


@check(
    "11.3",
    "Linearising nests: an operation without tangents is left to the enclosing trace.",
    against=["there is only one trace at a time"],
)
def twice(jk, rng):
    np_, x, t = jk.numpy, row(rng), row(rng)

    def slope(x, t):
        return jk.linearize(lambda x: np_.sin(x) * x + np_.tanh(np.float32(2)), x)[1](t)

    def f(x, t):
        y, push = jk.linearize(lambda x: slope(x, x) * np_.tanh(np.float32(1)), x)
        return y, push(t)

    program = jk.make_jaxpr(f)(x, t)
    return run_by_numpy(program, x, t), count(program, "tanh")


# --- 11.4 Backwards -----------------------------------------------------------------------------------------------


@check(
    "11.4",
    "If a value is used twice, its two cotangents are added.",
    against=["a second cotangent replaces the first", "only the first cotangent counts"],
)
def fan_out(jk, rng):
    n = int(rng.integers(2, 5))

    def f(x):
        for _ in range(n):
            x = x * 2.0 + x - x * 0.5
        return x.sum()

    return gradient(jk, f, row(rng))


@check("11.4", "The equations are transposed from the last to the first.", against=["programs are read from the start"])
def in_reverse(jk, rng):
    np_ = jk.numpy
    return gradient(jk, lambda x: (np_.exp(np_.sin(x) * 2.0) / x).sum(), row(rng))


@check(
    "11.4",
    "An input that is returned as it is, or twice, gets those cotangents.",
    against=["outputs are made by equations"],
)
def outputs_that_are_inputs(jk, rng):
    x, y = row(rng), row(rng)

    def f(x, y):
        back = jk.vjp(lambda x, y: (x, x * y, x, y), x, y)[1]
        return back((x, y, x * 2.0, y * 3.0))

    return run_by_numpy(jk.make_jaxpr(f)(x, y), x, y)


@check(
    "11.4",
    "An input that the result does not depend on has a cotangent of zeros.",
    against=["an unused input has no cotangent", "a Zero has the type of the value, not of its tangent"],
)
def independent(jk, rng):
    x, y = row(rng), row(rng)
    backward_pass = interpreters(jk).ad_transpose.backward_pass
    rules, found = interpreters(jk).ad_rules, []
    jaxpr = jk.make_jaxpr(lambda x, y: (x * 2.0, x * 3.0))(x, y)
    unknown = [rules.UndefinedPrimal(jk.core.typeof(v)) for v in (x, y)]
    of_ints = jk.make_jaxpr(lambda k, x: x * 2.0)(np.arange(4, dtype="int32"), x)
    no_bytes = rules.UndefinedPrimal(rules.tangent_aval(of_ints.in_avals[0]))

    def f(ct):
        cts = backward_pass(jaxpr, jaxpr.consts, unknown, [ct, rules.zero_tangent(y)])
        found.extend(type(ct).__name__ for ct in cts[1:])
        none = backward_pass(jaxpr, jaxpr.consts, unknown, [rules.zero_tangent(y)] * 2)
        found.extend(type(ct).__name__ for ct in none)
        of_int = backward_pass(of_ints, of_ints.consts, [no_bytes, unknown[0]], [ct])[0]
        found.append((type(of_int).__name__, str(of_int.aval)))
        return cts[0], backward_pass(jaxpr, jaxpr.consts, unknown, [rules.zero_tangent(y), ct])[0]

    return (run_by_numpy(jk.make_jaxpr(f)(x), x), found, gradient(jk, lambda x, y: x.sum(), x, y, argnums=(0, 1)))


@check(
    "11.4",
    "Where all cotangents are Zero, no rule is called; but effects of the program still happen.",
    against=[
        "the rule is called in any case",
        "an equation without cotangents need not be run",
        "an equation without cotangents does nothing",
    ],
)
def nothing_counts(jk, rng):
    a, x, times = row(rng), row(rng), int(rng.integers(1, 6))
    rules, asked = interpreters(jk).ad_rules, []
    backward_pass, zero = interpreters(jk).ad_transpose.backward_pass, rules.zero_tangent(x)
    undefined, mul_p = rules.UndefinedPrimal(jk.core.typeof(x)), jk.lax.mul_p

    def prints(a, x):
        for _ in range(times):
            jk.debug.print("{}", a)
        return x * 2.0

    quiet, loud = jk.make_jaxpr(lambda a, x: x * 2.0)(a, x), jk.make_jaxpr(prints)(a, x)
    known = rules.primitive_transposes[mul_p]
    rules.primitive_transposes[mul_p] = lambda *xs, **params: asked.append("mul") or known(*xs, **params)
    try:
        backward_pass(quiet, quiet.consts, [a, undefined], [zero])
    finally:
        rules.primitive_transposes[mul_p] = known
    program = jk.make_jaxpr(lambda a: backward_pass(loud, loud.consts, [a, undefined], [zero])[:0])(a)

    def prints_and_scales(a, x):
        jk.debug.print("{}", a)
        return a * x

    some = jk.make_jaxpr(lambda a, x: (jk.jit(prints_and_scales)(a, x), x * 3.0))(a, x)  # one of two results counts
    other = jk.make_jaxpr(lambda a, ct: backward_pass(some, some.consts, [a, undefined], [zero, ct])[1])(a, x)
    return asked, count(program), count(other, "debug_print")


@check(
    "11.4",
    "Operands that are values get no cotangent, and are passed to the rule as they are.",
    against=["all operands are linear", "`consts` need not be used"],
)
def known_operands(jk, rng):
    x, a = row(rng), row(rng)
    transpose = interpreters(jk).ad_transpose
    undefined = interpreters(jk).ad_rules.UndefinedPrimal(jk.core.typeof(x))
    jaxpr = jk.make_jaxpr(lambda a, x: jk.lax.sin(a) * x * a)(a, x)
    missing = []

    def f(a, ct):
        first, second = transpose.backward_pass(jaxpr, jaxpr.consts, [a, undefined], [ct])
        missing.append(first is None)
        return second

    constant, table = row(rng), row(rng)
    of_constants = jk.make_jaxpr(lambda x: x * constant)(x)
    other = jk.make_jaxpr(lambda ct, c: transpose.backward_pass(of_constants, [c], [undefined], [ct]))(x, table)
    return run_by_numpy(jk.make_jaxpr(f)(a, x), a, x), missing, run_by_numpy(other, x, table)


@check(
    "11.4",
    "The cotangents in `before` are part of the sums. The caller's lists stay as they are.",
    against=["all cotangents start from zero", "the caller's list `before` may be changed"],
)
def begun_before(jk, rng):
    x, y = row(rng), row(rng)
    undefined = interpreters(jk).ad_rules.UndefinedPrimal(jk.core.typeof(x))
    backward_pass = interpreters(jk).ad_transpose.backward_pass
    jaxpr = jk.make_jaxpr(lambda x, y, z: x * 2.0 + y)(x, x, x)

    kept = []

    def f(ct, before):
        lists = [], [undefined] * 3, [ct], [before, before]
        copies = [list(given) for given in lists]
        found = backward_pass(jaxpr, *lists)[:2]
        kept.extend(
            len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))
            for a, b in zip(lists, copies, strict=True)
        )
        return found

    return run_by_numpy(jk.make_jaxpr(f)(x, y), x, y), kept


@check(
    "11.4",
    "The rule of an operation with several results is called once, with the cotangents of all of them.",
    against=["an operation has one result"],
)
def several_cotangents(jk, rng):
    x, a = row(rng), float(np.float32(rng.normal()))

    def f(x):
        y, zs = jk.lax.scan(lambda c, x: (c * 0.5 + x, c), 1.0, x)
        return y * a + zs.sum()

    return gradient(jk, f, x)


@check(
    "11.4",
    "The cotangent of a broadcast operand is a sum, with the operand's shape.",
    against=[
        "a scalar counts once",
        "the sum removes an axis of size 1",
        "the mean is as good as the sum",
        "a broadcast axis is longer than 1",
        "shapes with as many elements are the same",
    ],
)
def sums_of_what_was_broadcast(jk, rng):
    unbroadcast, aval = jk.lax.elementwise_derivatives.unbroadcast, jk.core.ShapedArray
    ct = rng.normal(size=(2, 3, 4)).astype("float32")
    shapes = [(), (2, 3, 4), (1, 3, 4), (2, 1, 1), (1, 1, 1)]
    cases = [(ct, shape) for shape in shapes]
    cases += [(np.zeros((0, 3), "float32"), shape) for shape in ((), (1, 3), (0, 1), (1, 1), (0, 3))]
    programs = [jk.make_jaxpr(lambda ct, s=s: unbroadcast(aval(s, "float32"), ct))(ct) for ct, s in cases]
    return [run_by_numpy(program, ct) for program, (ct, _) in zip(programs, cases, strict=True)]


@check(
    "11.4",
    "Where nothing was broadcast, the cotangent is returned unchanged, even a Python number: no equation is written.",
    against=["a sum over no axes does no harm", "a cotangent is an array"],
    fixed="as it came",
)
def nothing_broadcast(jk, rng):
    unbroadcast, aval = jk.lax.elementwise_derivatives.unbroadcast, jk.core.ShapedArray
    ct, number = row(rng), float(np.float32(rng.normal()))
    as_it_came = [unbroadcast(aval(np.shape(x), "float32"), x) is x for x in (ct, number, ct[0])]
    written = jk.make_jaxpr(lambda ct: unbroadcast(aval(ct.shape, "float32"), ct))(ct)
    return as_it_came, len(written.eqns)


# --- 11.5 grad ----------------------------------------------------------------------------------------------------


@check(
    "11.5",
    "The gradient is a tree like the argument, with leaves of the same types.",
    against=["an argument is one array", "a gradient is always a float32"],
)
def trees(jk, rng):
    w = {"w": row(rng), "b": [row(rng, 2), np.float32(2)]}

    def loss(w, x):
        return (w["w"] * x).sum() * w["b"][1] + jk.numpy.sin(w["b"][0]).sum()

    x = row(rng)
    program = jk.make_jaxpr(jk.value_and_grad(loss))(w, x)
    leaves = jk.tree_util.tree_leaves((w, x))
    shape = jk.eval_shape(jk.grad(loss), w, x)
    halves = [jk.make_jaxpr(f(lambda x: (x * x).sum()))(x.astype("float16")) for f in (jk.grad, jk.value_and_grad)]
    return run_by_numpy(program, *leaves), jk.tree_util.tree_structure(shape), [half.out_avals for half in halves]


@check(
    "11.5",
    "A gradient is weakly typed if the argument and the result are.",
    against=["the cotangent 1 only needs the dtype of the result"],
)
def weakly_typed(jk, rng):
    number, x, n = float(rng.uniform(1, 2)), np.float32(rng.uniform(1, 2)), int(rng.integers(2, 9))

    def f(x, y):
        return x * x + y * y * x, jk.numpy.ones(n)

    slope = jk.value_and_grad(f, (0, 1), has_aux=True)
    programs = [jk.make_jaxpr(slope)(*each) for each in ((number, number), (x, number), (number, x))]
    return [program.out_avals for program in programs]


@check(
    "11.5",
    "The gradient is computed anew in each call: other arguments have another gradient.",
    against=["gradients can be kept under the first argument"],
)
def called_again(jk, rng):
    x, y = row(rng), row(rng)
    value = jk.value_and_grad(lambda x, k: (x * k).sum())
    slope = jk.grad(lambda x, k: (x * k).sum())
    program = jk.make_jaxpr(lambda x, y: [g(x, k) for g in (value, slope) for k in (2.0, y, 3.0)])
    return run_by_numpy(program(x, y), x, y)


@check(
    "11.5",
    "What cannot be called is refused at once; the new function has the name and the docstring of the old one.",
    against=[
        "an object that cannot be called is refused when the gradient is computed",
        "a new function has no name",
        "grad needs no name",
    ],
)
def made(jk, rng):
    def loss(x):
        """Return the loss."""
        return x.sum()

    loss.__name__ = f"loss_{rng.integers(99)}"
    found = [made(loss) for made in (jk.grad, jk.value_and_grad)]
    refused = [raised(made, 3, parts=["callable"]) for made in (jk.grad, jk.value_and_grad)]
    return refused, [(f.__name__, f.__doc__) for f in found]


@check(
    "11.5",
    "The gradient may be with respect to another argument than the first, or to several.",
    against=["the first argument is meant", "an argnum and a tuple of one argnum are the same"],
)
def numbers_of_arguments(jk, rng):
    x, y, z = row(rng), row(rng), row(rng)

    def f(x, y, z=1.0):
        return (x * y * y * z).sum()

    trees = [jk.tree_util.tree_structure(jk.eval_shape(jk.grad(f, n), x, y)) for n in (1, (1,), [0, 1], (1, 0), -1)]
    values = [gradient(jk, f, x, y, z, argnums=n) for n in (0, 1, -1, (2, 0))]
    return trees, values


@check(
    "11.5",
    "`value_and_grad` also returns the value, from the same run of the function.",
    against=["the value is computed again", "grad returns the value as well"],
)
def the_value(jk, rng):
    x, calls = row(rng), []

    def f(x, *, k):
        calls.append(1)
        return (x * x * k).sum()

    both = jk.make_jaxpr(lambda x: jk.value_and_grad(f)(x, k=3.0))(x)
    only = jk.make_jaxpr(lambda x: jk.grad(f)(x, k=3.0))(x)
    return run_by_numpy(both, x), run_by_numpy(only, x), len(calls)


@check(
    "11.5",
    "With `has_aux` other data come along unchanged.",
    against=[
        "the other data are differentiated, too",
        "with `has_aux`, the other data stand beside value and gradient",
    ],
)
def with_aux(jk, rng):
    x, n = row(rng), int(rng.integers(9))

    def f(x):
        return (x * x).sum(), {"n": n, "double": x * 2, "is": x > 0}

    g, v = jk.grad(f, has_aux=True), jk.value_and_grad(f, has_aux=True)
    tree = jk.tree_util.tree_structure
    shapes = jk.eval_shape(g, x), jk.eval_shape(v, x)
    return [run_by_numpy(jk.make_jaxpr(h)(x), x) for h in (g, v)], [tree(shape) for shape in shapes]


@check(
    "11.5",
    "Only a scalar result has a gradient.",
    against=["the gradient of an array is that of its sum", "an array of shape (1,) is a scalar"],
)
def not_a_number(jk, rng):
    n = int(rng.integers(2, 9))

    def refused(f, *parts):
        return raised(jk.make_jaxpr(jk.grad(f)), row(rng, n), parts=parts)

    return [
        refused(lambda x: x, f"({n},)"),
        refused(lambda x: x[:1], "(1,)"),
        refused(lambda x: (x[0], x[1])),
        refused(lambda x: x > 0),
    ]


@check(
    "11.5",
    "An integer cannot change a little, so there is no gradient with respect to it, unless `allow_int` accepts zeros of dtype float0.",
    against=["the tangent of an integer is an integer", "the arguments' types can be checked after the call"],
)
def integers(jk, rng):
    n, x = rng.integers(1, 9, size=4).astype("int32"), row(rng)

    def f(n, x):
        return (n * x).sum()

    ran = []

    def notes(n):
        ran.append("called")
        return {}[0]

    refused = [
        raised(jk.make_jaxpr(jk.grad(notes)), n, parts=["int32"]),
        raised(jk.make_jaxpr(jk.grad(f)), n, x, parts=["int32"]),
        raised(jk.make_jaxpr(jk.grad(lambda d: f(d["n"], d["a"]))), {"a": x, "n": n}, parts=["int32"]),
    ]
    found = []

    def g(x):
        found.append(str(jk.grad(f, allow_int=True)(n, x).dtype))
        return jk.grad(f, argnums=1)(n, x)

    return refused, ran, run_by_numpy(jk.make_jaxpr(g)(x), x), found


@check(
    "11.5",
    "A result that is an integer has no gradient, and complex numbers need `holomorphic`.",
    against=["whatever comes out can be differentiated", "`holomorphic` is only about the result"],
)
def other_types(jk, rng):
    x, z = row(rng), (row(rng) + 1j * row(rng)).astype("complex64")

    def square(z):
        return (z * z).sum()

    def kind(dtype, f, x, **options):
        return raised(jk.make_jaxpr(jk.grad(f, **options)), x, parts=[dtype])

    program = jk.make_jaxpr(jk.grad(square, holomorphic=True))(z)
    return [
        kind("int32", jk.numpy.argmax, x),
        kind("complex64", lambda x: (x + 1j).sum(), x),
        kind("float32", square, x, holomorphic=True),
        kind("float32", lambda x: (x + 1j).sum(), x, holomorphic=True),
        run_by_numpy(program, z),
    ]


# --- 11.6 A loop, backwards ---------------------------------------------------------------------------------------


def scan_gradient(jk, f, *arguments, argnums=0):
    """Return the gradient, and for each scan in its program whether it runs in reverse, how many steps it has, and how many of them one
    trip of the loop does (`unroll`).
    """
    program = jk.make_jaxpr(jk.grad(f, argnums))(*arguments)
    scans = [eqn for eqn in program.eqns if eqn.primitive.name == "scan"]
    told = [(eqn.params["reverse"], eqn.params["length"], eqn.params["unroll"]) for eqn in scans]
    return run_by_numpy(program, *jk.tree_util.tree_leaves(arguments)), told


@check(
    "11.6",
    "The last step is transposed first: the new loop runs in the other direction.",
    against=[
        "the loop of cotangents runs in the same direction",
        "the loop of cotangents always has `reverse=True`",
        "the loop of cotangents is not unrolled",
    ],
)
def directions(jk, rng):
    x, unroll = row(rng, int(rng.integers(3, 6))), int(rng.integers(2, 4))

    def f(x, reverse):
        return jk.lax.scan(lambda c, x: (jk.numpy.sin(c * x), None), 0.5, x, reverse=reverse, unroll=unroll)[0]

    return [scan_gradient(jk, lambda x, r=r: f(x, r), x) for r in (False, True)]


@check(
    "11.6",
    "The cotangent of the start is what comes out of the loop at its end.",
    against=["the start of the loop has no cotangent"],
)
def of_the_start(jk, rng):
    xs = row(rng)

    def f(c):
        last, _ = jk.lax.scan(lambda c, x: ((c[0] * x, c[1] + c[0]), None), c, xs)
        return last[0] * 2.0 + jk.numpy.sin(last[1])

    return scan_gradient(jk, f, (np.float32(0.3), np.float32(0.7)))


@check("11.6", "The cotangent of each output enters in its own step.", against=["only the last carry has a cotangent"])
def of_the_outputs(jk, rng):
    xs, ws = row(rng), row(rng)

    def f(xs):
        _, (ys, zs, _) = jk.lax.scan(lambda c, x: (c * x, (c, x * x, c)), 0.5, xs)
        return (ys * ws).sum() + zs.sum()

    return scan_gradient(jk, f, xs)


@check(
    "11.6",
    "The cotangent of a value that all steps use is the sum over the steps, which goes round with the carry.",
    against=["a constant of the body gets one cotangent only", "a second cotangent replaces the first"],
)
def of_constants(jk, rng):
    xs, a = rng.normal(size=(3, 2)).astype("float32"), row(rng, 2)

    def f(a, b, xs):
        return jk.lax.scan(lambda c, x: (c * a + x * b, None), xs[0], xs)[0].sum()

    return scan_gradient(jk, f, a, np.float32(0.5), xs, argnums=(0, 1, 2))


@check(
    "11.6",
    "A missing cotangent is a Zero, and the loop does not scan over it.",
    against=[
        "every output has a cotangent",
        "if no output has a cotangent, there is nothing to do",
        "all parts of the carry have the same type",
    ],
)
def zero_cotangents(jk, rng):
    xs, rules = row(rng), interpreters(jk).ad_rules
    linear = jk.make_jaxpr(lambda xs: jk.lax.scan(lambda c, x: (c * 2.0 + x, (c * 3.0, x * 4.0)), 0.0, xs))(xs)
    undefined = rules.UndefinedPrimal(jk.core.typeof(xs))
    last, first, second = map(rules.Zero, linear.out_avals)

    def f(ct):
        backward_pass = interpreters(jk).ad_transpose.backward_pass
        each = (last, first, ct), (last, ct, second), (ct[0], first, second)
        found = [backward_pass(linear, linear.consts, [undefined], cts) for cts in each]
        zeros = [*map(rules.Zero, two.out_avals)]
        for k, of in ((0, ct[0]), (1, ct[:3]), (2, ct)):
            found.append(backward_pass(two, two.consts, [undefined], [*zeros[:k], of, *zeros[k + 1 :]]))
        return found

    def of_two(xs):  # the carry is a number and a row
        start = 0.0, np.zeros(3, "float32")
        return jk.lax.scan(lambda c, x: ((c[0] * 2.0 + x, c[1] * 3.0 + x), c[0] * 4.0), start, xs)

    two = jk.make_jaxpr(of_two)(xs)
    program = jk.make_jaxpr(f)(xs)
    told = [(len(e.invars), len(e.outvars), e.params["num_carry"]) for e in program.eqns if e.primitive.name == "scan"]
    return run_by_numpy(program, xs), told


@check(
    "11.6",
    "An operand that is a value has no cotangent, though its place in the carry goes round.",
    against=["every operand has a cotangent"],
)
def values_in_the_carry(jk, rng):
    xs, rules, missing = row(rng), interpreters(jk).ad_rules, []
    [eqn] = jk.make_jaxpr(lambda c, xs: jk.lax.scan(lambda c, x: (c * 2.0 + x, None), c, xs))(xs[0], xs).eqns

    def f(ct):
        undefined = rules.UndefinedPrimal(jk.core.typeof(xs))
        rule = rules.primitive_transposes[eqn.primitive]
        of_start, of_xs = rule([ct], np.float32(0), undefined, **eqn.params)
        missing.append(of_start is None)
        return of_xs

    return run_by_numpy(jk.make_jaxpr(f)(xs[0]), xs[0]), missing


@check("11.6", "The body may have constants, as any jaxpr.", against=["the body's jaxpr has no constants"])
def constants_of_the_body(jk, rng):
    table, x = row(rng, 3), row(rng, 3)
    jaxpr = jk.make_jaxpr(lambda c, x: (c * table + x, c * 2.0))(x, x)
    aval = jk.core.typeof(x)
    body = jk.lax.control_flow.scanning_derivatives.transposed_body
    made = body(jaxpr, 0, 0, 1, 0, (True,), (aval, aval))
    return made.out_avals, run_by_numpy(made, x, x)


@check(
    "11.6",
    "A loop of no steps, a loop in a loop, and the derivative of a derivative.",
    against=["all cotangents start from zero"],
)
def more_loops(jk, rng):
    m = rng.normal(size=(2, 3)).astype("float32")

    def f(m, a):
        def step(c, r):
            inner, ys = jk.lax.scan(lambda d, x: (d * x + a, d), c, r, reverse=True)
            return inner * a, ys.sum()

        c, ys = jk.lax.scan(step, 0.5, m)
        return c + ys.sum()

    def slope(a):
        return jk.grad(f, 1)(m, a)

    program = jk.make_jaxpr(jk.grad(slope))(np.float32(0.3))
    return (gradient(jk, f, m, np.float32(0.3)), gradient(jk, f, m[:0], np.float32(0.3)), run_by_numpy(program, 0.3))


# --- 11.7 Programs that have a gradient ---------------------------------------------------------------------------


def mended(jk):
    """Return the module of these exercises."""
    return module(jk, "kata.subjects.gradients")


@check(
    "11.7",
    "Where all probabilities are positive, the entropy and its gradient keep their values.",
    against=["a small number makes logarithms safe", "an added 1e-6 in the logarithm does no harm"],
)
def entropy(jk, rng):
    p = rng.uniform(0.1, 1, size=5).astype("float32")
    small = np.float32([1e-12, 1e-7, 0.5])
    f = mended(jk).entropy
    return [run_by_numpy(jk.make_jaxpr(jk.value_and_grad(f))(p), p) for p in (p, small)]


@check(
    "11.7",
    "An element that is 0 adds nothing to the entropy, and its gradient is 0, not nan.",
    against=[
        "a masked nan is harmless",
        "a small number makes logarithms safe",
        "the gradient can be corrected afterwards",
    ],
)
def entropy_of_zeros(jk, rng):
    p = rng.uniform(0.1, 1, size=(2, 3)).astype("float32")
    p[0, int(rng.integers(3))] = p[1, 1] = 0
    f = mended(jk).entropy
    second = jk.make_jaxpr(jk.grad(lambda p: (jk.grad(f)(p) * p).sum()))(p)
    return run_by_numpy(jk.make_jaxpr(jk.value_and_grad(f))(p), p), run_by_numpy(second, p)


@check(
    "11.7",
    "The cube root has its value, and a gradient in forward and in reverse mode.",
    against=[
        "a while loop can be reversed",
        "a loop can be treated as a constant",
        "the number of steps does not matter",
    ],
)
def cube_root(jk, rng):
    a, n = rng.uniform(3, 9, size=3).astype("float32"), int(rng.integers(2, 4))
    f = mended(jk).cube_root
    back = jk.make_jaxpr(jk.value_and_grad(lambda a: f(a, n).sum()))(a)
    forward = jk.make_jaxpr(lambda a: jk.jvp(lambda a: f(a, 2 * n), (a,), (a,)))(a)
    return run_by_numpy(back, a), run_by_numpy(forward, a)


@check(
    "11.7",
    "`cube_root` takes as many steps of the given rule as `steps` says, even if the result is still far from the root.",
    against=[
        "the divisor of Newton's method needs an added 1e-6",
        "twenty steps are always enough",
        "the divisor of Newton's method needs an added 1e-6",
        "twenty steps are always enough",
    ],
    tolerance=1e-3,
)
def far_from_the_root(jk, rng):
    f, a = mended(jk).cube_root, rng.uniform(1, 9, size=3).astype("float32")
    small, large = a * np.float32(1e-12), a * np.float32(1e9)

    def program(small, large):
        return f(small, 23) * 1e4, [f(large, n) for n in (18, 26, 60)]

    return run_by_numpy(jk.make_jaxpr(program)(small, large), small, large)


@check(
    "11.7",
    "The program of the cube root is as long for 5 steps as for 50, and so is that of its gradient.",
    against=["the compiler will not mind"],
    fixed="as long for any number",
)
def as_long(jk, rng):
    a, n = np.float32([2, 3]), int(rng.integers(3, 9))
    f = mended(jk).cube_root
    sizes = [
        count(jk.make_jaxpr(g)(a))
        for n in (n, 10 * n)
        for g in (lambda a, n=n: f(a, n), jk.grad(lambda a, n=n: f(a, n).sum()))
    ]
    return sizes[0] == sizes[2], sizes[1] == sizes[3]


@check(
    "11.7",
    "`through_layers` returns the right result, and has gradients with respect to both arguments.",
    against=["a loop can be treated as a constant"],
)
def layers(jk, rng):
    x, w = row(rng, 3), rng.normal(size=(4, 3)).astype("float32")
    f = mended(jk).through_layers
    program = jk.make_jaxpr(jk.grad(lambda x, w: (f(x, w) * x).sum(), (0, 1)))(x, w)
    return run_by_numpy(jk.make_jaxpr(f)(x, w), x, w), run_by_numpy(program, x, w)


@check(
    "11.7",
    "For the reverse pass only the input of each layer and the weights are kept.",
    against=["values that are kept cost nothing", "nothing needs to be kept"],
    fixed="only a bound is asked for",
)
def kept(jk, rng):
    n = int(rng.integers(3, 9))
    f = mended(jk).through_layers

    def residuals(x, w):
        return jk.tree_util.tree_leaves(jk.vjp(f, x, w)[1])

    x, w = np.ones(3, "float32"), np.ones((n, 3), "float32")
    numbers = sum(int(np.prod(aval.shape)) for aval in jk.make_jaxpr(residuals)(x, w).out_avals)
    stacked = most_stacked(jk.make_jaxpr(jk.grad(lambda x, w: f(x, w).sum(), (0, 1)))(x, w))
    return [
        "an x and a w for each layer" if numbers <= 2 * 3 * n + 3 else f"{numbers / 3 / n:.1f} arrays a layer",
        "one array a step at most" if stacked <= 1 else f"a scan stacks {stacked} arrays",
    ]


def most_stacked(program):
    """Return the largest number of arrays that a scan in the program stacks."""
    most = 0
    for eqn in program.eqns:
        if eqn.primitive.name == "scan":
            most = max(most, len(eqn.outvars) - eqn.params["num_carry"])
        inner = [x for x in eqn.params.values() if type(x).__name__ == "Jaxpr"]
        most = max([most, *map(most_stacked, inner)])
    return most


# --- What learners wrote ------------------------------------------------------------------------------------------


@check(
    "11.1",
    "An element that is nearly the maximum is not the maximum.",
    against=["an element near the maximum is a maximum", "floats are never equal"],
)
def nearly_the_maximum(jk, rng):
    step = np.float32(10.0 ** -int(rng.integers(4, 6)))
    near = (np.arange(4) * step).astype("float32")
    last = np.float32([1.0, 1.0000005, 0.5])
    return [pairs_of(jk, lambda x: jk.lax.reduce_max(x, (0,)), (x, row(rng, len(x)))) for x in (near, last)]


@check(
    "11.1",
    "The tangent of a float16 is a float16.",
    against=["a mask is always a float32", "the number 1 is always a float32"],
)
def halves(jk, rng):
    x, t = row(rng).astype("float16"), row(rng).astype("float16")
    lax = jk.lax
    return [
        pairs_of(jk, f, (x, t))
        for f in (lax.logistic, lambda x: lax.reduce_max(x, (0,)), lambda x: lax.reduce_min(x, (0,)))
    ]


@check(
    "11.3",
    "An integer has a tangent, of dtype float0.",
    against=["a tangent has the type of its value", "integers have no tangent"],
)
def integers_have_tangents_of_no_bytes(jk, rng):
    n, x, kinds = np.int32(rng.integers(2, 9)), row(rng), []

    def f(n, x):
        return (x * n).sum()

    def g(n, x):
        by_n, by_x = jk.grad(f, (0, 1), allow_int=True)(n, x)
        kinds.append((str(by_n.dtype), str(by_x.dtype)))
        return by_x

    return run_by_numpy(jk.make_jaxpr(g)(n, x), n, x), kinds


@check(
    "11.4",
    "An equation is transposed if at least one of its results has a cotangent.",
    against=["an equation is transposed only if all of its results have cotangents"],
)
def one_of_several_results(jk, rng):
    x = row(rng)
    f = jk.make_jaxpr(jk.grad(lambda x: jk.lax.scan(lambda c, x: (c * 0.5 + x, c * x), 1.0, x)[1].sum()))
    g = jk.make_jaxpr(jk.grad(lambda x: jk.lax.cond(x[0] > 0, lambda: (x * 2, x), lambda: (x, -x))[1].sum()))
    return run_by_numpy(f(x), x), run_by_numpy(g(x), x)


@check(
    "11.4",
    "An operand that an equation reads twice gets two cotangents.",
    against=["an equation has each operand only once"],
)
def read_twice(jk, rng):
    undefined = interpreters(jk).ad_rules.UndefinedPrimal(jk.core.typeof(np.float32(1)))
    backward_pass = interpreters(jk).ad_transpose.backward_pass
    jaxpr = jk.make_jaxpr(lambda x: x + x)(np.float32(1))
    ct = np.float32(rng.normal())
    return run_by_numpy(jk.make_jaxpr(lambda ct: backward_pass(jaxpr, [], [undefined], [ct]))(ct), ct)


@check(
    "11.4",
    "`before` has one entry for each *linear* input, in order, and is returned even if nothing is added.",
    against=["`before` has an entry for each input", "if all cotangents are Zero, `before` does not matter"],
)
def begun_before_among_values(jk, rng):
    x, y = row(rng), row(rng)
    undefined = interpreters(jk).ad_rules.UndefinedPrimal(jk.core.typeof(x))
    zero = interpreters(jk).ad_rules.Zero(jk.core.typeof(x))
    backward_pass = interpreters(jk).ad_transpose.backward_pass
    jaxpr = jk.make_jaxpr(lambda a, x: x * a)(x, x)

    def f(a, ct, before):
        told = backward_pass(jaxpr, [], [a, undefined], [ct], before=[before])[1]
        return told, backward_pass(jaxpr, [], [a, undefined], [zero], before=[before])[1]

    return run_by_numpy(jk.make_jaxpr(f)(x, y, y), x, y, y)


@check("11.4", "A cotangent has the dtype of its value, also for float16.", against=["a sum is always a float32"])
def halves_broadcast(jk, rng):
    x, y = row(rng).astype("float16"), np.float16(rng.uniform(1, 2))
    f = jk.make_jaxpr(jk.grad(lambda y, x: (x * y + y).sum(), (0, 1)))
    g = jk.make_jaxpr(jk.grad(lambda y: jk.lax.scan(lambda c, x: (c * y + x, None), y, x)[0]))
    return run_by_numpy(f(y, x), y, x), run_by_numpy(g(y), y)


@check(
    "11.5",
    "The other data (`has_aux`) are not converted to arrays: a Python number stays one, and a string is allowed.",
    against=["the other data are arrays"],
)
def aux_as_it_is(jk, rng):
    x, kinds, name = row(rng), [], f"abc{rng.integers(99)}"

    def f(x):
        return x.sum(), {"n": int(rng.integers(9)), "name": name, "none": None}

    def g(x):
        data = jk.grad(f, has_aux=True)(x)[1], jk.value_and_grad(f, has_aux=True)(x)[0][1]
        kinds.extend((type(both["n"]).__name__, both["name"], both["none"]) for both in data)
        return x

    jk.make_jaxpr(g)(x)
    return kinds


@check(
    "11.6",
    "The sum for a shared value is as large as one cotangent: nothing is stacked for it.",
    against=["cotangents of constants are stacked, and summed up later"],
)
def one_sum(jk, rng):
    n, w = int(rng.integers(5, 9)), row(rng, 30)
    xs = rng.normal(size=n).astype("float32")
    program = jk.make_jaxpr(jk.grad(lambda w: jk.lax.scan(lambda c, x: (c + x * w, None), w, xs)[0].sum()))(w)
    sizes = [
        aval.size for eqn in program.eqns if eqn.primitive.name == "scan" for aval in (v.aval for v in eqn.outvars)
    ]
    return run_by_numpy(program, w), "small" if max(sizes) <= 30 else f"{max(sizes)} numbers of 30"


@check(
    "11.2",
    "A result that does not change has a Zero for a tangent, even if it was computed from what does change.",
    against=["a rule always returns an array"],
)
def tangents_that_are_zero(jk, rng):
    x, jvp = row(rng, int(rng.integers(2, 9))), interpreters(jk).ad.jvp
    found = []

    def f(x, t):
        _, tangents = jvp(lambda x: [jk.lax.sign(x), x * 2.0, jk.lax.sign(x) * 3.0], [x], [t])
        found.extend(type(each).__name__ == "Zero" for each in tangents)
        found.extend(str(each.aval) for each in tangents)
        return x

    jk.make_jaxpr(f)(x, x)
    return found


@check(
    "11.2",
    "After the call the trace is the one before it, also after an error.",
    against=["`end` restores the trace that was current before"],
)
def the_trace_before(jk, rng):
    jvp, x = interpreters(jk).ad.jvp, row(rng, int(rng.integers(2, 9)))

    def fails(x):
        raise KeyError("mine")

    def f(x, t):
        before, same = jk.core.current_trace(), []
        for fun in (lambda x: [x * 2.0], fails):
            with contextlib.suppress(KeyError):
                jvp(fun, [x], [t])
            same.append(jk.core.current_trace() is before)
        found.append(same)
        return x

    found = []
    with jk.core.set_current_trace(jk.core.current_trace()):
        jk.make_jaxpr(f)(x, x)
    return found, x


@check(
    "11.2",
    "The constants of a jaxpr keep their values; they are not among the inputs.",
    against=["constants are the first inputs"],
)
def constants_of_a_jaxpr(jk, rng):
    a, x, t = row(rng, 3000), row(rng, 3000), row(rng, 3000)
    made, out = interpreters(jk).ad.jvp_jaxpr(jk.make_jaxpr(lambda x: x * a + a)(x), (True,), False)
    return made.in_avals, out, run_by_numpy(made, x, t)


# --- Programs that nobody wrote before ----------------------------------------------------------------------------

NEW = "Derivatives of random functions, new ones at each save."


@check("11.1", NEW, drawn=True)
def programs_1(jk, rng):
    return random_programs(
        jk,
        rng,
        of_arrays.differentiated("reduction unary binary scaled reduction", dtypes=("float32", "float16"), ways=(2, 0)),
        6,
        graded=40,
    )


@check("11.2", NEW, drawn=True)
def programs_2(jk, rng):
    return random_programs(
        jk,
        rng,
        of_arrays.differentiated(
            "unary binary scaled reduction moved jit branches scan", dtypes=("float32",), ways=(2,)
        ),
        6,
    )


@check("11.3", NEW, drawn=True)
def programs_3(jk, rng):
    return random_programs(
        jk,
        rng,
        of_arrays.differentiated(
            "unary binary scaled reduction moved jit branches scan", dtypes=("float32",), ways=(4, 5)
        ),
        6,
    )


@check("11.4", NEW, drawn=True)
def programs_4(jk, rng):
    return random_programs(
        jk,
        rng,
        of_arrays.differentiated(
            "unary binary scaled reduction moved jit branches scan", dtypes=("float32", "float16"), ways=(0, 5)
        ),
        6,
    )


@check("11.5", NEW, drawn=True)
def programs_5(jk, rng):
    return random_programs(
        jk,
        rng,
        of_arrays.differentiated("unary binary scaled reduction moved", dtypes=("float32", "float16"), ways=(0, 1, 3)),
        6,
    )


@check("11.6", NEW, drawn=True)
def programs_6(jk, rng):
    return random_programs(
        jk, rng, of_arrays.differentiated("scan unary binary product counted scan", dtypes=("float32",), ways=(0, 5)), 6
    )


@check("11.7", NEW, drawn=True, tolerance=1e-4)
def programs_7(jk, rng):
    return random_programs(jk, rng, of_arrays.gradients, 8)
