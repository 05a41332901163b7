"""The programs that the exercises of lab 02 must run like the reference."""

from __future__ import annotations

import contextlib
import weakref

import numpy as np

from jitkit.kata.checking import check, module, of_arrays, of_tracers, raised, random_programs


def vector(rng, size=None):
    return rng.normal(size=size or int(rng.integers(2, 9))).astype("float32")


# --- 02.1 Write one equation down ---------------------------------------------------------------------------------


@check(
    "02.1",
    "An equation reads its operands in their order.",
    against=[
        "operand order does not matter",
        "weak types are for Python's numbers only",
        "the newest argument is the first",
    ],
)
def operands(jk, rng):
    x, y = rng.normal(size=(2, int(rng.integers(2, 9)))).astype("float32")
    weak = jk.make_jaxpr(lambda x: (x * 2.0 - 1, x * 3))(float(rng.normal()))
    return jk.make_jaxpr(lambda x, y: (x - y) / y)(x, y), weak, [aval.weak_type for aval in weak.out_avals]


@check(
    "02.1",
    "Every argument and every result has a variable of its own.",
    against=["variables of one type are one variable"],
)
def own_variables(jk, rng):
    x = vector(rng)
    program = jk.make_jaxpr(lambda x, y: (x * y, y * x))(x, x)
    bound = [*program.invars, *(var for eqn in program.eqns for var in eqn.outvars)]
    return program, len(set(bound))


@check("02.1", "An operation that is done twice becomes two equations.", against=["equal operations are one equation"])
def the_same_twice(jk, rng):
    return jk.make_jaxpr(lambda x: jk.numpy.sin(x) + jk.numpy.sin(x))(vector(rng))


@check("02.1", "A result has the type that `emit` was passed, whatever the types of the operands are.")
def types_of_results_of(jk, rng):
    x = rng.normal(size=(int(rng.integers(2, 9)), 3)).astype("float32")
    return jk.make_jaxpr(lambda x: (x > 0, x.astype("int32"), x.sum(axis=0), x.argmax()))(x)


def lists_of(jk, count):
    """Return a primitive that returns a list of `count` arrays of one axis, whose sizes are 0, 1, 2, and so on."""
    list_p = jk.core.Primitive("list")
    list_p.multiple_results = True
    list_p.def_abstract_eval(lambda x: [x.update(shape=(n,)) for n in range(count)])
    return list_p


@check(
    "02.1",
    "A primitive may have several results: then they are a list, also when it is a list of one.",
    against=[
        "an equation has one result",
        "a list of one result is that result",
        "an operation without results leaves nothing",
    ],
)
def several_results(jk, rng):
    found = []

    def f(x):
        for count in (3, 1, 0):
            results = lists_of(jk, count).bind(x)
            found.append((type(results).__name__, [r.source_info.position.line - first for r in results]))
        return jk.lax.sort([x, -x], num_keys=1)[::-1]

    first = f.__code__.co_firstlineno
    return jk.make_jaxpr(f)(vector(rng)), found


@check("02.1", "An equation keeps the parameters of its operation.")
def parameters(jk, rng):
    axis, n = int(rng.integers(2)), int(rng.integers(2, 9))
    return jk.make_jaxpr(lambda x: jk.lax.cumsum(x, axis=axis))(np.ones((2, n), "float32"))


@check(
    "02.1",
    "An equation has the effects of its primitive.",
    against=["no operation has an effect", "an operation of one result has no effects"],
)
def effects(jk, rng):
    loud = [True, *rng.integers(2, size=5).tolist()]

    def f(x):
        for prints in loud:
            x = (jk.debug.print("{}", x), x)[1] if prints else x * 2
        return x

    program = jk.make_jaxpr(f)(vector(rng))
    known = next(eqn.effects for eqn in program.eqns if eqn.effects)
    speaks = jk.core.Primitive("speaks")  # of one result
    speaks.def_abstract_eval(lambda x, aloud: x)
    speaks.effects = lambda params: known if params["aloud"] else frozenset()
    other = jk.make_jaxpr(lambda x: speaks.bind(x, aloud=True) * speaks.bind(x, aloud=False))(vector(rng))
    return [sorted(map(str, eqn.effects)) for eqn in (*program.eqns, *other.eqns)]


@check(
    "02.1",
    "An equation knows the line that it comes from.",
    against=["the line of an operation can be found later"],
    fixed="the lines are those of this function",
)
def lines(jk, rng):
    tracers = []

    def f(x):
        y = x + 1
        tracers.extend([x, y])
        return y * x

    program = jk.make_jaxpr(f)(vector(rng))
    positions = [t.source_info.position for t in tracers]
    return [eqn.source_info.position.line for eqn in program.eqns], [p and p.line for p in positions]


# --- 02.2 Close the program ---------------------------------------------------------------------------------------


@check(
    "02.2",
    "An output may be an argument, a number, or the same thing twice.",
    against=["every output is a result of an equation", "a result that comes twice is one result"],
)
def outputs(jk, rng):
    number = float(rng.normal())
    return jk.make_jaxpr(lambda x, y: (y, number, jk.numpy.sin(x), x, y))(1.0, 2.0)


@check(
    "02.2",
    "Arrays from outside are constants.",
    against=["closed-over arrays are inputs", "arrays that look alike are one constant"],
)
def closed_over_arrays(jk, rng):
    tables = list(rng.normal(size=(4, 3)).astype("float32"))

    def f(x):
        return (tables[1] / (x * tables[0]) - tables[2], tables[3])

    program = jk.make_jaxpr(f)(tables[2])
    return program, program.consts, program.debug_info.func_src_info.partition(" ")[0]


@check(
    "02.2",
    "An array that is only returned is a constant, too.",
    against=["constants are what equations read", "every returned tracer belongs to this trace"],
)
def returned_arrays(jk, rng):
    table, x = vector(rng), vector(rng)
    program = jk.make_jaxpr(lambda x: (x + 1, table))(x)
    of_outer = jk.make_jaxpr(lambda x: jk.jit(lambda y: (y, x))(x * 2))(x)
    return program, len(program.constvars), program.consts, of_outer


@check(
    "02.2", "A constant that nobody reads is left out.", against=["every constant of the trace belongs to the program"]
)
def unused_constants(jk, rng):
    table, other = rng.normal(size=(2, 3)).astype("float32")

    def f(x):
        jk.core.current_trace().lift(table)
        return x + other

    program = jk.make_jaxpr(f)(table)
    return program, len(program.constvars), program.consts


@check(
    "02.2",
    "Arguments and equations that nobody reads stay.",
    against=["dead code vanishes by itself", "unused arguments vanish by themselves"],
)
def unused_equations(jk, rng):
    def f(x, y):
        jk.numpy.cos(x)
        return x * 2

    return jk.make_jaxpr(f)(vector(rng), 1.0)


@check(
    "02.2",
    "Constants are in the order in which they came, wherever an operation reads them; each output has its place.",
    against=[
        "the order of constants does not matter",
        "an operation has two operands",
        "the outputs are in reverse order",
        "constants are in the order of their readers",
    ],
)
def order_of_constants(jk, rng):
    a, b, c, d, x = rng.normal(size=(5, int(rng.integers(2, 9)))).astype("float32")

    def f(x):
        return jk.lax.select(x > 0, a, b), jk.lax.clamp(a, x, c), c - d

    def read_later(x):
        jk.core.current_trace().lift(d)  # d is the first constant, and is read last
        return x * c - x * d

    program, other = jk.make_jaxpr(f)(x), jk.make_jaxpr(read_later)(x)
    return [np.asarray(value) for value in (*program.consts, *other.consts)], program


@check(
    "02.2",
    "The effects of a program are those of all its equations.",
    against=["no program has an effect", "the effects are those of the last equation"],
)
def effects_of_a_program(jk, rng):
    printing = jk.make_jaxpr(lambda x: (jk.debug.print("{}", x), x)[1])(vector(rng))
    silent = jk.make_jaxpr(lambda x: x + 1)(vector(rng))

    def several(x):
        jk.debug.print("{}", x)
        jk.debug.print("{}", x * 2, ordered=True)
        return x * 3

    both = jk.make_jaxpr(several)(vector(rng))
    programs = [printing, silent, both]
    return [sorted(map(str, programs[i].effects)) for i in rng.permutation(3)]


# --- 02.3 Trace a function ----------------------------------------------------------------------------------------


@check(
    "02.3",
    "The function runs once, on tracers; a loop in it leaves one equation for each operation of each turn.",
    against=[
        "a function is traced on example values",
        "print runs at every call",
        "the function may be called once before it is traced",
        "the jaxpr of a function can be kept, and returned whenever the types are the same",
    ],
)
def runs_once(jk, rng):
    seen = []
    avals = [jk.core.ShapedArray((n,), dtype) for n, dtype in enumerate(["float32", "int32", "bool"])]
    trace_to_jaxpr = jk.interpreters.partial_eval.trace_to_jaxpr
    three = trace_to_jaxpr(lambda x, y, z: [z, x, y], avals, jk.jaxpr.DebugInfo("jit", "f"))
    turns = int(rng.integers(3, 9))

    def f(x):
        for i in range(turns):
            seen.append(i)
            x = x * 2
        return x

    log, again = [], jk.jaxpr.DebugInfo("jit", "g")

    def g(x):
        log.append(len(log))
        return [x * len(log)]

    twice = [trace_to_jaxpr(g, avals[:1], again) for _ in range(2)]
    return jk.make_jaxpr(f)(vector(rng)), seen, three, twice, log


@check(
    "02.3",
    "The parent of the new trace is the current one, and its scopes begin anew; afterwards the earlier trace and scopes are current.",
    against=[
        "the scopes around the call name the inner function's equations, too",
        "the outermost trace is the one to go back to",
    ],
)
def inside_and_afterwards(jk, rng):
    trace_to_jaxpr, aval = jk.interpreters.partial_eval.trace_to_jaxpr, jk.core.get_aval(1.0)
    found, name = [], f"scope{rng.integers(999)}"

    def inner(x):
        found.append(jk.core.current_trace().parent is outer_traces[-1])
        with jk.named_scope(name):
            return [jk.numpy.sin(x)]

    def interrupted(x):
        raise KeyboardInterrupt

    def outer(x):
        outer_traces.append(jk.core.current_trace())
        with jk.named_scope("outside"):
            program = trace_to_jaxpr(inner, [aval], jk.jaxpr.DebugInfo("jit", "inner"))
            found.append([str(eqn.source_info.name_stack) for eqn in program.eqns])
            found.append(jk.core.current_trace() is outer_traces[-1])
            try:
                trace_to_jaxpr(interrupted, [aval], jk.jaxpr.DebugInfo("jit", "inner"))
            except KeyboardInterrupt:
                found.append(jk.core.current_trace() is outer_traces[-1])
        return x

    outer_traces = []
    jk.make_jaxpr(outer)(float(rng.normal()))
    return found


@check(
    "02.3",
    "After an error in the function, its trace has ended, and the trace from before is the current one again.",
    against=["after an error the trace is over"],
)
def after_an_error(jk, rng):
    number, errors = float(rng.normal()), []

    def inner(x):
        raise ValueError(number)

    def outer(x):
        errors.append(raised(jk.eval_shape, inner, x, parts=[str(number)]))
        return x + number

    program = jk.make_jaxpr(outer)(1.0)
    return program, raised(jk.make_jaxpr(inner), 1.0, parts=[str(number)]), jk.core.trace_state_clean(), errors


@check(
    "02.3",
    "What the function raises passes through, whatever it is.",
    against=["errors of tracing are TypeErrors", "an error of the function may be changed"],
)
def errors_pass_through(jk, rng):
    kinds = [ZeroDivisionError, LookupError, NotImplementedError, KeyError, OSError, RuntimeError, AssertionError]
    word = f"word{rng.integers(999)}"

    def ends_in(kind):
        def f(x):
            raise errors[kind]

        errors[kind] = kind(word)
        try:
            jk.make_jaxpr(f)(float(rng.normal()))
        except Exception as error:
            if error is not errors[kind]:
                raise
            return kind.__name__
        return "no error"

    errors = {}
    return [ends_in(kinds[i]) for i in rng.permutation(len(kinds))]


@check(
    "02.3",
    "A tracer that the function hid in a list is dead when the function has ended, also by an error.",
    against=[
        "a tracer can be used for ever",
        "after an error there is nothing to be tidied up",
        "only an Exception ends a function early",
    ],
    fixed="an error of one kind",
)
def hidden_tracers(jk, rng):
    kept = []

    def returns(x):
        kept.append(x)
        return x

    def fails(x, kind):
        kept.append(x * 2)
        raise kind

    x = vector(rng)
    jk.make_jaxpr(returns)(x)
    for kind in (ValueError, KeyboardInterrupt, GeneratorExit):
        with contextlib.suppress(kind):
            jk.make_jaxpr(fails, static_argnums=1)(x, kind)
    use = jk.make_jaxpr(lambda y, i: y + kept[i], static_argnums=1)
    return [raised(use, 1.0, i, parts=["unexpected tracer"]) for i in range(4)]


@check(
    "02.3",
    "A result that is not an array is an error with the function's name.",
    against=["whatever the function returns can be a result"],
)
def refused_results(jk, rng):
    debug_info = jk.jaxpr.DebugInfo("jit", f"f{rng.integers(10, 99)}")
    trace, avals = jk.interpreters.partial_eval.trace_to_jaxpr, [jk.core.get_aval(1.0)]
    return raised(trace, lambda x: [x, "text"], avals, debug_info, parts=[debug_info.func_name, "str"])


@check(
    "02.3",
    "A jitted function that is called in a traced one is one equation, with the inner program as a parameter.",
    against=["there is one trace at a time"],
)
def nested(jk, rng):
    table = vector(rng)
    return jk.make_jaxpr(lambda x: jk.jit(lambda y: y * x + table)(x + 1))(table)


@check(
    "02.3",
    "With `check_tracer_leaks`, a tracer that was kept is found, and no error is raised if none was kept.",
    against=["a leaked tracer shows itself", "the function's own variables do not keep tracers alive"],
)
def looking_for_leaks(jk, rng):
    kept = []
    with jk.checking_leaks():
        clean = jk.make_jaxpr(lambda x: (x * 2, x))(vector(rng))
        leaked = raised(jk.make_jaxpr(lambda x: kept.append(x) or x), vector(rng), parts=["Leaked"])
        own_error = raised(jk.make_jaxpr(lambda x: kept.append(x) or {}["its own"]), vector(rng), parts=["its own"])
        return clean, leaked, own_error


# --- 02.4 Run a jaxpr ---------------------------------------------------------------------------------------------


@check(
    "02.4",
    "Running the jaxpr gives what the function gives.",
    against=[
        "operand order does not matter",
        "a single result is returned without a list",
        "literals are the last operands",
    ],
)
def computes(jk, rng):
    x, y = rng.normal(size=(2, 3)).astype("float32")
    program = jk.make_jaxpr(lambda x, y: (3.0 - x) / y - y)(x, y)
    return jk.jaxpr.eval_jaxpr(program, [], x, y)


@check(
    "02.4",
    "Under a trace, running a jaxpr records it, equation by equation.",
    against=["the values can always be converted to numpy", "only what is returned is run"],
)
def under_a_trace(jk, rng):
    x = vector(rng)
    program = jk.make_jaxpr(lambda x: (jk.numpy.cos(x), jk.numpy.sin(x) * 2)[1])(x)  # nobody reads the cosine
    again = jk.make_jaxpr(lambda x: jk.jaxpr.eval_jaxpr(program, [], x + 1))(x)
    return again, [eqn.primitive.name for eqn in again.eqns]


@check(
    "02.4",
    "The values of constants come from `consts`; a literal brings its own value.",
    against=["closed-over arrays are inputs"],
)
def constants_and_literals(jk, rng):
    table, x = vector(rng, 4), vector(rng, 4)
    program = jk.make_jaxpr(lambda x: (x * table + 2.0, 3.0, np.float32(4.0)))(x)
    others = jk.make_jaxpr(lambda x: jk.jaxpr.eval_jaxpr(program, [2.0 * table], x))(x)
    weak = program.replace(outvars=[jk.jaxpr.Literal(np.float32(5.0), jk.core.get_aval(5.0))])  # numpy's, and yet weak
    kept = jk.make_jaxpr(lambda x: jk.jaxpr.eval_jaxpr(weak, program.consts, x))(x).out_avals[0].weak_type
    return jk.make_jaxpr(lambda x: jk.jaxpr.eval_jaxpr(program, program.consts, x))(x), others, {"weak": kept}


@check("02.4", "An equation may have several results.", against=["an equation has one result"])
def several_results_at_once(jk, rng):
    x = vector(rng)
    one_of_a_list = jk.jit(jk.numpy.sin)
    program = jk.make_jaxpr(lambda x: (one_of_a_list(x), *jk.lax.sort([x, -x], num_keys=1)))(x)
    return jk.make_jaxpr(lambda x: jk.jaxpr.eval_jaxpr(program, [], x))(x)


@check(
    "02.4",
    "A value is freed when nothing reads it any more.",
    against=["a value stays until the end", "a result that nobody reads takes no memory"],
)
def lets_go(jk, rng):
    alive = weakref.WeakSet()
    most = []

    class Value:
        pass

    class Counting(jk.core.Trace):
        def process_primitive(self, primitive, args, params):
            result = Value()
            alive.add(result)
            most.append(len(alive))
            return result

    def f(x):
        for _ in range(turns):
            x = jk.numpy.sin(x)
        return x

    def with_unread_results(x):
        for _ in range(turns):
            jk.numpy.cos(x)
            x = jk.numpy.sin(x)
        return x

    turns = int(rng.integers(5, 20))
    program = jk.make_jaxpr(f)(1.0)
    pairs = jk.make_jaxpr(lambda x: f(jk.numpy.sin(x) * jk.numpy.cos(x)))(1.0)  # two values die at once
    with jk.core.set_current_trace(Counting(None)):
        jk.jaxpr.eval_jaxpr(program, [], 1.0)
        found = len(most), max(most)
        most.clear()
        alive.clear()  # if the learner's function made a reference cycle, values of the run before are still there
        jk.jaxpr.eval_jaxpr(pairs, [], 1.0)
        found += (most[-1],)
        most.clear()
        alive.clear()
        jk.jaxpr.eval_jaxpr(jk.make_jaxpr(with_unread_results)(1.0), [], 1.0)
    few = max(most) < 5
    return {"values computed": found[0], "alive at once": found[1], "alive at the end": found[2], "few if unread": few}


@check(
    "02.4",
    "Too few values, or too many, are a TypeError that says how many there should be; of constants, too.",
    against=[
        "the caller passes the right number of values",
        "only the sum of constants and arguments matters",
        "only arguments are counted",
    ],
)
def too_few_values(jk, rng):
    table = vector(rng, 3)
    numbers = rng.normal(size=int(rng.integers(2, 7))).tolist()
    program = jk.make_jaxpr(lambda *xs: sum(xs) * table)(*numbers)
    calls = [([table], numbers[1:]), ([table], [*numbers, 3.0]), ([], numbers), ([table, table], numbers)]
    calls += [([], [table, *numbers]), ([table, 1.0], numbers[1:])]
    return [
        raised(jk.jaxpr.eval_jaxpr, program, consts, *args, parts=[str(len(numbers)) if len(consts) == 1 else "1"])
        for consts, args in calls
    ]


@check(
    "02.4",
    "Every equation is run, also one whose results nobody reads: it may have an effect.",
    against=["what nobody reads need not be run"],
)
def effects_happen(jk, rng):
    x, seen = vector(rng), []

    def f(x, y):
        jk.debug.callback(lambda *values: seen.append([np.asarray(value) for value in values]), x * 2, y)
        jk.debug.callback(lambda: seen.append("nothing"))
        return x - y

    program = jk.make_jaxpr(f)(x, x)
    result = jk.jaxpr.eval_jaxpr(program, program.consts, x, 3 * x)
    jk.effects_barrier()
    return result, sorted(seen, key=len)


# --- 02.5 Three laws ----------------------------------------------------------------------------------------------


def law(jk, program, *parts):
    """Return the message of `check_jaxpr` about a program."""
    check_jaxpr = module(jk, "jaxpr.check").check_jaxpr
    return raised(check_jaxpr, program, parts=parts)


def chain(jk, rng):
    """Return a program of three equations, each of which reads the result of the one before."""
    x = vector(rng)
    return jk.make_jaxpr(lambda x: jk.numpy.exp(jk.numpy.sin(x) * 2.0))(x)


@check(
    "02.5",
    "A variable is bound before it is read.",
    against=[
        "the order of equations does not matter",
        "a literal has to be bound, too",
        "an equation may read what it binds itself",
    ],
    fixed="a law has its own words",
)
def read_too_early(jk, rng):
    program = chain(jk, rng)
    order = list(rng.permutation(3))
    swapped = program.replace(eqns=[program.eqns[i] for i in order])
    backwards = program.replace(eqns=program.eqns[::-1])
    k = int(rng.integers(3))
    own = program.eqns[k].replace(
        invars=[program.eqns[k].outvars[0], *program.eqns[k].invars[1:]]
    )  # this equation reads the variable that it binds
    itself = program.replace(eqns=[*program.eqns[:k], own, *program.eqns[k + 1 :]])
    told = [law(jk, wrong, "not defined", "R1") for wrong in (backwards, itself)]
    return law(jk, program), told, law(jk, swapped)


@check(
    "02.5",
    "Outputs are read, too; literals are never bound.",
    against=["only equations read variables"],
    fixed="a law has its own words",
)
def unbound_outputs(jk, rng):
    program = chain(jk, rng)
    stranger = jk.jaxpr.Var(program.out_avals[0])
    literal = jk.jaxpr.Literal(1.0, jk.core.get_aval(1.0))
    fine = law(jk, program.replace(outvars=[literal, *program.outvars]))
    return fine, law(jk, program.replace(outvars=[stranger]), "not defined", "R1")


@check(
    "02.5",
    "Two variables of one type are different variables.",
    against=["variables of one type are one variable"],
    fixed="a law has its own words",
)
def another_of_that_type(jk, rng):
    program = chain(jk, rng)
    first = program.eqns[0]
    stranger = jk.jaxpr.Var(program.invars[0].aval)
    misread = program.replace(eqns=[first.replace(invars=[stranger]), *program.eqns[1:]])
    number = program.replace(eqns=[first.replace(invars=[float(rng.normal())]), *program.eqns[1:]])
    return law(jk, misread, "Variable", "not defined"), law(jk, number, "neither a variable nor a literal", "R4")


@check(
    "02.5",
    "No variable is bound twice: neither by two equations, nor as two inputs.",
    against=["a variable can be assigned again"],
    fixed="a law has its own words",
)
def bound_again(jk, rng):
    program = chain(jk, rng)
    again = program.replace(eqns=[*program.eqns, program.eqns[int(rng.integers(3))]])
    inputs = program.replace(invars=program.invars * 2)
    return law(jk, again, "already bound", "R2"), law(jk, inputs, "already bound", "R2")


@check(
    "02.5",
    "That includes one equation that binds a variable to two of its results, also if another one is between them.",
    against=["one equation cannot bind twice", "a variable is bound twice only if its two places are neighbours"],
    fixed="a law has its own words",
)
def bound_twice_at_once(jk, rng):
    x = vector(rng)
    program = jk.make_jaxpr(lambda x: jk.lax.sort([x, -x], num_keys=1))(x)
    eqn = program.eqns[-1]
    twice = program.replace(
        eqns=[*program.eqns[:-1], eqn.replace(outvars=eqn.outvars[:1] * 2)], outvars=eqn.outvars[:1]
    )
    sort = jk.make_jaxpr(lambda x: jk.lax.sort([x, -x, x * 2], num_keys=1))(x)
    last = sort.eqns[-1]
    first, second, _ = last.outvars
    apart = sort.replace(eqns=[*sort.eqns[:-1], last.replace(outvars=[first, second, first])], outvars=[first])
    return law(jk, twice, "already bound", "R2"), law(jk, apart, "already bound", "R2")


@check(
    "02.5",
    "A variable has the type of its result, up to weakness.",
    against=[
        "the type of a variable need not be checked",
        "weak types must agree",
        "the message names the variable's type first",
    ],
    fixed="a law has its own words",
)
def types_of_results(jk, rng):
    program = chain(jk, rng)
    i = int(rng.integers(3))
    eqn = program.eqns[i]
    aval = eqn.outvars[0].aval

    def with_type(other):
        var = jk.jaxpr.Var(other)
        new = {eqn.outvars[0]: var}
        changed = [
            e.replace(invars=[new.get(a, a) if isinstance(a, jk.jaxpr.Var) else a for a in e.invars])
            for e in program.eqns
        ]
        changed[i] = changed[i].replace(outvars=[var])
        return program.replace(eqns=changed, outvars=[new.get(v, v) for v in program.outvars])

    wrong = with_type(aval.update(dtype="int32"))
    return law(jk, wrong, "inconsistently typed as f32", "type i32", "R9"), law(
        jk, with_type(aval.update(weak_type=True))
    )


@check(
    "02.5",
    "A law yields one message for each place where it is broken, and changes nothing.",
    against=[
        "a variable is known by its printed name",
        "one message is enough",
        "only the type of the first result needs checking",
    ],
)
def all_messages(jk, rng):
    laws = module(jk, "jaxpr.check")
    program = jk.make_jaxpr(lambda x: jk.lax.sort([x * i for i in range(int(rng.integers(2, 7)))], num_keys=1))(
        vector(rng)
    )
    eqn = program.eqns[-1]
    strange = [jk.jaxpr.Var(aval.update(shape=(99,))) for aval in (v.aval for v in eqn.outvars)]
    known = jk.jaxpr.Var(strange[0].aval)

    def place(eqn, reads, binds):
        return laws.Place(program, 0, eqn, reads, binds, {known}, set())

    places = [
        place(None, [strange[0], known, *strange[1:]], []),
        place(None, [], [known, strange[0], strange[0]]),
        place(eqn.replace(outvars=strange), [], strange),
        place(None, [], [known, *strange]),
    ]
    rules = (laws.unbound_reads, laws.second_bindings, laws.ill_typed_results)
    return [[len(list(rule(p))) for rule in rules] for p in places], [len(p.bound) for p in places]


# --- 02.6 Dead code -----------------------------------------------------------------------------------------------


@check(
    "02.6",
    "Equations that no output needs are dropped, and so are those whose results only dropped equations read.",
    against=["operands of a dropped equation are needed"],
)
def chains(jk, rng):
    def f(x):
        y = jk.numpy.sin(x)
        jk.numpy.exp(y * 2)
        return x + 1

    return jk.jaxpr.dce_jaxpr(jk.make_jaxpr(f)(vector(rng)), True)


@check(
    "02.6",
    "Needed equations stay, in their order.",
    against=[
        "equations can stand in any order",
        "the equations are returned from the last to the first",
        "an equation without operands is not needed",
    ],
)
def order(jk, rng):
    x = vector(rng)
    program = jk.make_jaxpr(lambda x: jk.numpy.exp(jk.numpy.sin(x) - x) * jk.lax.iota("float32", len(x)))(x)
    pruned, used = jk.jaxpr.dce_jaxpr(program, True)
    return pruned, [eqn.primitive.name for eqn in pruned.eqns], used


@check(
    "02.6",
    "Only the outputs that are asked for are needed; inputs may be left unused.",
    against=["all outputs are of interest"],
)
def some_outputs(jk, rng):
    wanted = [bool(b) for b in rng.permutation([True, False])]
    program = jk.make_jaxpr(lambda x, y: (jk.numpy.sin(x), jk.numpy.cos(y) * 2))(vector(rng), vector(rng))
    return jk.jaxpr.dce_jaxpr(program, wanted)


@check(
    "02.6",
    "An equation with an effect stays, though nobody reads its result.",
    against=["an equation whose results nobody reads is dead"],
)
def prints(jk, rng):
    def f(x):
        jk.debug.print("{}", x * 2)
        jk.numpy.sin(x)
        return x

    return jk.jaxpr.dce_jaxpr(jk.make_jaxpr(f)(vector(rng)), True)


@check(
    "02.6",
    "One live result is enough to keep an equation with several results.",
    against=["an equation is needed only if all of its results are"],
)
def one_of_two_results(jk, rng):
    program = jk.make_jaxpr(lambda x: jk.lax.sort([x, jk.numpy.sin(x)], num_keys=1)[1])(vector(rng))
    return jk.jaxpr.dce_jaxpr(program, True)


@check(
    "02.6",
    "Dead equations are removed from inner programs, too, also from one that has an effect.",
    against=[
        "an equation is kept whole or dropped",
        "an equation with an effect is kept whole",
        "an equation with a live result stays as it is",
        "the rule's list is about the operands of the equation that is left",
    ],
)
def inner_programs(jk, rng):
    inner = jk.jit(lambda x, y: (jk.numpy.sin(x), jk.numpy.cos(y)))
    program = jk.make_jaxpr(lambda x, y: inner(x, jk.numpy.exp(y))[0])(vector(rng), vector(rng))
    dead_inside = jk.jit(lambda x, y: (jk.numpy.sin(x), jk.numpy.cos(y))[0])
    one_result = jk.make_jaxpr(lambda x, y: dead_inside(x, jk.numpy.exp(y)))(vector(rng), vector(rng))
    with_effect = jk.jit(lambda x, y: (jk.debug.print("{}", x), jk.numpy.sin(x), jk.numpy.cos(y))[1:])
    printed = jk.make_jaxpr(lambda x, y: with_effect(x, jk.numpy.exp(y))[0])(vector(rng), vector(rng))
    last = jk.jit(lambda x, y: (jk.numpy.sin(x), jk.numpy.cos(y)))
    second = jk.make_jaxpr(lambda x, y: last(jk.numpy.exp(x), jk.numpy.exp(y))[1])(vector(rng), vector(rng))
    return [jk.jaxpr.dce_jaxpr(each, True) for each in (program, one_result, printed, second)]


@check(
    "02.6",
    "The live variables are returned, too, as a set: the outputs, and what the remaining equations read.",
    against=[
        "`outputs` can be iterated over many times",
        "a list is as good as a set",
        "only what an equation reads is live",
        "the caller's set of outputs may be changed",
    ],
)
def all_that_lives(jk, rng):
    def f(x, y):
        a, b = jk.numpy.sin(x), jk.numpy.cos(y)
        return a * 2.0, b * a, jk.numpy.exp(b)

    program = jk.make_jaxpr(f)(vector(rng, 3), vector(rng, 3))
    variables = [*program.invars, *(var for eqn in program.eqns for var in eqn.outvars)]
    found = []
    choices = [[program.outvars[0]], program.outvars[1:], [program.invars[1]], []]
    for outputs in [choices[i] for i in rng.permutation(4)]:
        left, live = jk.jaxpr.pruning.live_equations(program.eqns, iter(outputs))  # any iterable
        assert isinstance(live, set), f"the live variables are a set, and here they are a {type(live).__name__}"
        found.append(([e.primitive.name for e in left], [v in live for v in variables], len(live)))
    inner = jk.jit(lambda x, n: (x * n, x))
    call = jk.make_jaxpr(lambda x: inner(x, 2.0)[0])(vector(rng))  # with a literal among its operands
    left, live = jk.jaxpr.pruning.live_equations(call.eqns, call.outvars)
    given = set(call.outvars)
    jk.jaxpr.pruning.live_equations(call.eqns, given)
    return found, len(left), sorted(type(atom).__name__ for atom in live), len(given)


# --- 02.7 An operation arrives ------------------------------------------------------------------------------------


@check(
    "02.7",
    "Each operation is an equation, and reads what the one before it made.",
    against=["every operand comes from outside", "the same operand twice is one operand"],
)
def one_after_the_other(jk, rng):
    n = int(rng.integers(2, 9))
    squares = jk.make_jaxpr(lambda x: x * x - (x + x))(vector(rng, n))
    return squares, jk.make_jaxpr(lambda x, y: jk.numpy.sin(x - y) / (y - x))(vector(rng, n), vector(rng, n))


@check(
    "02.7",
    "Numbers become literals, arrays from outside constants, one for each array.",
    against=["an operand is a tracer", "an operation on known values is computed at once"],
)
def from_outside(jk, rng):
    table = vector(rng, 4)
    known = jk.make_jaxpr(lambda x: x * jk.lax.sin(table))(vector(rng, 4))  # sin is not computed while tracing
    return jk.make_jaxpr(lambda x: (x * 2.0 - table) / table)(vector(rng, 4)), [e.primitive.name for e in known.eqns]


@check(
    "02.7",
    "A value of an outer trace is a constant of the inner program.",
    against=["every tracer belongs to this trace"],
)
def of_outer_trace(jk, rng):
    inner = []

    def f(x):
        y = jk.numpy.sin(x)
        inner.append(jk.make_jaxpr(lambda z: z * y - x)(2.0))
        return y

    jk.make_jaxpr(f)(vector(rng))
    (program,) = inner
    names = [eqn.primitive.name for eqn in program.eqns]
    return names, [v.aval for v in program.constvars], len(program.invars)


@check(
    "02.7",
    "The shape rule gets types and the parameters, in the order of the operands.",
    against=[
        "a shape rule needs values",
        "parameters are for running only",
        "only the shape rule needs the parameters",
        "the type of a result follows from the operands alone",
    ],
)
def asked(jk, rng):
    seen = []
    mine_p = jk.core.Primitive("mine")

    def rule(*avals, **params):
        seen.append(([type(aval).__name__ for aval in avals], [str(aval) for aval in avals], params))
        return avals[0].update(shape=(params["n"],))

    mine_p.def_abstract_eval(rule)
    table, n = vector(rng, 3), int(rng.integers(9))
    program = jk.make_jaxpr(lambda x: [mine_p.bind(x, 2, table, n=n + i, name="m") for i in range(2)])(1.0)
    return seen, [(eqn.params, [v.aval for v in eqn.outvars]) for eqn in program.eqns]


@check("02.7", "A primitive with several results gives a list.", against=["an operation has one result"])
def lists_of_results(jk, rng):
    return jk.make_jaxpr(lambda x: [y * 2 for y in jk.lax.sort([x, -x], num_keys=1)])(vector(rng))


@check(
    "02.7",
    "A conversion to the dtype that x has leaves no equation; a conversion to another dtype does, and so does `x * 1.0`.",
    against=["an operation with a rule is never recorded"],
)
def staged(jk, rng):
    def f(x):
        same = x.astype("float32")
        return same is x, x.astype("int32"), same * 1.0

    flags = []

    def g(x):
        flag, *rest = f(x)
        flags.append(flag)
        return rest

    return jk.make_jaxpr(g)(vector(rng)), flags


@check(
    "02.7",
    "A rule gets a tracer for each operand, and whatever it answers is the result, unless it is NotImplemented.",
    against=[
        "a result that is false means that the rule declined",
        "a rule takes operands of any kind",
        "every operation leaves an equation",
    ],
)
def rules(jk, rng):
    seen, answers = [], [NotImplemented, None, 0, []]
    mine_p = jk.core.Primitive("mine")
    mine_p.def_abstract_eval(lambda x, y, **_: x)
    table = vector(rng)

    def rule(trace, operands, params):
        seen.append(([type(x).__name__ for x in operands], [x.aval for x in operands], params))
        return answers[params["i"]]

    def f(x):
        found = [mine_p.bind(x, table, i=i) for i in range(4)]
        results.extend(isinstance(y, jk.core.Tracer) or y for y in found)
        return x

    results, staging_rules = [], module(jk, "interpreters.partial_eval").staging_rules
    staging_rules[mine_p] = rule
    try:
        program = jk.make_jaxpr(f)(vector(rng, len(table)))
    finally:
        del staging_rules[mine_p]
    return results, seen, len(program.eqns)


# --- Programs that nobody wrote before ----------------------------------------------------------------------------

NEW = "Random programs, new ones at each save."


@check("02.1", NEW, drawn=True)
def programs_1(jk, rng):
    return random_programs(
        jk,
        rng,
        of_arrays.plain(
            "unary binary scaled reduction moved constant numbered jit branches scan", way="jax.make_jaxpr(f)({args})"
        ),
        4,
        by_numpy=False,
    )


@check("02.2", NEW, drawn=True)
def programs_2(jk, rng):
    return random_programs(
        jk,
        rng,
        of_arrays.plain(
            "unary binary scaled reduction moved constant numbered jit branches scan", way="jax.make_jaxpr(f)({args})"
        ),
        4,
        by_numpy=False,
    )


@check("02.3", NEW, drawn=True)
def programs_3(jk, rng):
    return random_programs(
        jk,
        rng,
        of_arrays.plain(
            "unary binary scaled reduction moved constant numbered jit branches scan", way="jax.make_jaxpr(f)({args})"
        ),
        4,
        by_numpy=False,
    )


@check("02.4", NEW, drawn=True)
def programs_4(jk, rng):
    return random_programs(
        jk,
        rng,
        of_arrays.plain(
            "unary binary scaled reduction moved constant numbered jit branches scan",
            way="made = jax.make_jaxpr(f)({args})\n(lambda *xs: jax.jaxpr.eval_jaxpr(made, made.consts, *xs))({args})",
        ),
        5,
    )


@check("02.7", NEW, drawn=True)
def programs_7(jk, rng):
    return random_programs(
        jk,
        rng,
        of_arrays.plain(
            "unary binary scaled reduction moved constant numbered jit branches scan", way="jax.make_jaxpr(f)({args})"
        ),
        4,
        by_numpy=False,
    )


@check(
    "02.5",
    "Each law alone gives the right messages for random places, new ones at each save.",
    drawn=True,
    against=[
        "a variable is bound twice only if its two places are neighbours",
        "shapes with the same number of elements are the same",
    ],
)
def alone_5(jk, rng):
    return random_programs(jk, rng, of_tracers.laws, 16, by_numpy=False)


@check("02.5", NEW, drawn=True)
def programs_5(jk, rng):
    write = of_arrays.plain("unary binary scaled reduction moved", way=of_arrays.BROKEN)
    return random_programs(jk, rng, write, 6, by_numpy=False)


@check("02.6", NEW, drawn=True)
def programs_6(jk, rng):
    write = of_arrays.plain(
        "unary binary scaled reduction moved constant numbered jit branches scan", way=of_arrays.PARTLY_USED
    )
    return random_programs(jk, rng, write, 4, graded=40, by_numpy=False)
