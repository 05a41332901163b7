"""The programs that the exercises of lab 02 must run like the reference."""

from __future__ import annotations

import importlib
import weakref

import numpy as np

from jitkit.kata.checking import check, raised


def vector(rng, size=None):
    return rng.normal(size=size or int(rng.integers(2, 9))).astype("float32")


# --- 02.1 Write one equation down ---------------------------------------------------------------------------------


@check("02.1", "An equation reads its operands in their order.", against=["operand order does not matter"])
def operands(jk, rng):
    x, y = rng.normal(size=(2, 3)).astype("float32")
    return jk.make_jaxpr(lambda x, y: (x - y) / y)(x, y)


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


@check(
    "02.1", "An operation that is done twice is two equations.", against=["equal operations are one equation"]
)
def the_same_twice(jk, rng):
    return jk.make_jaxpr(lambda x: jk.numpy.sin(x) + jk.numpy.sin(x))(vector(rng))


@check("02.1", "An equation may have several results.", against=["an equation has one result"])
def several_results(jk, rng):
    return jk.make_jaxpr(lambda x: jk.lax.sort([x, -x], num_keys=1)[::-1])(vector(rng))


@check("02.1", "An equation has its parameters.")
def parameters(jk, rng):
    axis = int(rng.integers(2))
    return jk.make_jaxpr(lambda x: jk.lax.cumsum(x, axis=axis))(np.ones((2, 3), "float32"))


@check("02.1", "An equation has the effects of its primitive.", against=["an operation only computes"])
def effects(jk, rng):
    program = jk.make_jaxpr(lambda x: (jk.debug.print("{}", x), x * 2)[1])(vector(rng))
    return [sorted(map(str, eqn.effects)) for eqn in program.eqns]


@check(
    "02.1",
    "An equation knows the line that it comes from.",
    against=["where it came from can be found later"],
)
def lines(jk, rng):
    def f(x):
        y = x + 1
        return y * x

    program = jk.make_jaxpr(f)(vector(rng))
    return [eqn.source_info.position.line for eqn in program.eqns]


# --- 02.2 Close the program ---------------------------------------------------------------------------------------


@check(
    "02.2",
    "An output may be an argument, a number, or the same thing twice.",
    against=["every output is a result of an equation"],
)
def outputs(jk, rng):
    number = float(rng.normal())
    return jk.make_jaxpr(lambda x, y: (y, number, jk.numpy.sin(x), x, y))(1.0, 2.0)


@check("02.2", "Arrays from outside are constants.", against=["closed-over arrays are inputs"])
def closed_over_arrays(jk, rng):
    table, other = rng.normal(size=(2, 3)).astype("float32")
    return jk.make_jaxpr(lambda x: x * other - table)(table)


@check(
    "02.2",
    "An array that is only returned is a constant, too.",
    against=["constants are what equations read"],
)
def returned_arrays(jk, rng):
    table, x = vector(rng), vector(rng)
    program = jk.make_jaxpr(lambda x: (x + 1, table))(x)
    return program, len(program.constvars), program.consts


@check(
    "02.2", "A constant that nobody reads is left out.", against=["what the trace has seen is in the program"]
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


@check("02.2", "The effects of a program are those of its equations.", against=["a program only computes"])
def effects_of_a_program(jk, rng):
    printing = jk.make_jaxpr(lambda x: (jk.debug.print("{}", x), x)[1])(vector(rng))
    silent = jk.make_jaxpr(lambda x: x + 1)(vector(rng))
    return sorted(map(str, printing.effects)), sorted(map(str, silent.effects))


# --- 02.3 Trace a function ----------------------------------------------------------------------------------------


@check(
    "02.3",
    "The function runs once, on tracers, and its loops leave only what they did.",
    against=["a function is traced on example values", "print runs at every call"],
)
def runs_once(jk, rng):
    seen = []
    turns = int(rng.integers(3, 9))

    def f(x):
        for i in range(turns):
            seen.append(i)
            x = x * 2
        return x

    return jk.make_jaxpr(f)(vector(rng)), seen


@check(
    "02.3",
    "After an error, nothing is traced any more, and what was traced before goes on.",
    against=["after an error the trace is over"],
)
def after_an_error(jk, rng):
    number = float(rng.normal())

    def inner(x):
        raise ValueError(number)

    def outer(x):
        error = raised(jk.eval_shape, inner, x)
        return (x + number, type(error).__name__ == "Raised")[0]

    program = jk.make_jaxpr(outer)(1.0)
    return program, raised(jk.make_jaxpr(inner), 1.0, parts=[str(number)]), jk.core.trace_state_clean()


@check(
    "02.3",
    "A tracer that was hidden in a list is dead after its function, also when that ends in an error.",
    against=["a tracer can be used for ever", "after an error there is nothing to be tidied up"],
)
def hidden_tracers(jk, rng):
    kept = []

    def returns(x):
        kept.append(x)
        return x

    def fails(x):
        kept.append(x * 2)
        raise ValueError

    x = vector(rng)
    jk.make_jaxpr(returns)(x)
    raised(jk.make_jaxpr(fails), x)
    use = jk.make_jaxpr(lambda y, i: y + kept[i], static_argnums=1)
    return [raised(use, 1.0, i, parts=["unexpected tracer"]) for i in (0, 1)]


@check(
    "02.3",
    "A result that is no array is an error with the function's name.",
    against=["whatever comes back is a result"],
)
def refused_results(jk, rng):
    debug_info = jk.jaxpr.DebugInfo("jit", f"f{rng.integers(10, 99)}")
    trace, avals = jk.interpreters.partial_eval.trace_to_jaxpr, [jk.core.get_aval(1.0)]
    return raised(trace, lambda x: [x, "text"], avals, debug_info, parts=[debug_info.func_name, "str"])


@check(
    "02.3",
    "A function in a function: the inner program is a parameter of the outer one.",
    against=["there is one trace at a time"],
)
def nested(jk, rng):
    table = vector(rng)
    return jk.make_jaxpr(lambda x: jk.jit(lambda y: y * x + table)(x + 1))(table)


@check(
    "02.3",
    "Those who look for leaks find the tracer that was kept, and none where there is none.",
    against=["leaks show themselves", "a local variable is no reference"],
)
def looking_for_leaks(jk, rng):
    kept = []
    with jk.checking_leaks():
        clean = jk.make_jaxpr(lambda x: (x * 2, x))(vector(rng))
        return clean, raised(jk.make_jaxpr(lambda x: kept.append(x) or x), vector(rng), parts=["Leaked"])


# --- 02.4 Run a jaxpr ---------------------------------------------------------------------------------------------


@check("02.4", "It computes what the function computes.", against=["operand order does not matter"])
def computes(jk, rng):
    x, y = rng.normal(size=(2, 3)).astype("float32")
    program = jk.make_jaxpr(lambda x, y: (x - y) / y)(x, y)
    return jk.jaxpr.eval_jaxpr(program, [], x, y)


@check("02.4", "Under a trace, running a jaxpr records it.", against=["jaxprs hold values"])
def under_a_trace(jk, rng):
    x = vector(rng)
    program = jk.make_jaxpr(lambda x: jk.numpy.sin(x) * 2)(x)
    return jk.make_jaxpr(lambda x: jk.jaxpr.eval_jaxpr(program, [], x + 1))(x)


@check(
    "02.4",
    "Constants have their values, and literals are their own.",
    against=["closed-over arrays are inputs"],
)
def constants_and_literals(jk, rng):
    table, x = vector(rng, 4), vector(rng, 4)
    program = jk.make_jaxpr(lambda x: (x * table + 2.0, 3.0))(x)
    return jk.make_jaxpr(lambda x: jk.jaxpr.eval_jaxpr(program, program.consts, x))(x)


@check("02.4", "An equation may have several results.", against=["an equation has one result"])
def several_results_at_once(jk, rng):
    x = vector(rng)
    program = jk.make_jaxpr(lambda x: jk.lax.sort([x, -x], num_keys=1))(x)
    return jk.make_jaxpr(lambda x: jk.jaxpr.eval_jaxpr(program, [], x))(x)


@check("02.4", "A value is let go when nothing reads it any more.", against=["a value stays until the end"])
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

    turns = int(rng.integers(5, 20))
    program = jk.make_jaxpr(f)(1.0)
    with jk.core.set_current_trace(Counting(None)):
        jk.jaxpr.eval_jaxpr(program, [], 1.0)
    return len(most), max(most)


@check(
    "02.4",
    "Too few values are a TypeError that says how many there should be.",
    against=["who calls it counts"],
)
def too_few_values(jk, rng):
    program = jk.make_jaxpr(lambda x, y: x + y)(1.0, 2.0)
    return raised(jk.jaxpr.eval_jaxpr, program, [], 1.0, parts=["2"])


# --- 02.5 Three laws ----------------------------------------------------------------------------------------------


def law(jk, program, *parts):
    """What `check_jaxpr` says about a program."""
    check_jaxpr = importlib.import_module(f"{jk.__name__}.jaxpr.check").check_jaxpr
    return raised(check_jaxpr, program, parts=parts)


def chain(jk, rng):
    """A program of three equations, each of which reads the one before."""
    x = vector(rng)
    return jk.make_jaxpr(lambda x: jk.numpy.exp(jk.numpy.sin(x) * 2.0))(x)


@check("02.5", "A variable is bound before it is read.", against=["the order of equations does not matter"])
def read_too_early(jk, rng):
    program = chain(jk, rng)
    order = list(rng.permutation(3))
    swapped = program.replace(eqns=[program.eqns[i] for i in order])
    backwards = program.replace(eqns=program.eqns[::-1])
    return law(jk, program), law(jk, backwards, "not defined", "R1"), law(jk, swapped)


@check("02.5", "Outputs are read, too; literals are never bound.", against=["only equations read"])
def unbound_outputs(jk, rng):
    program = chain(jk, rng)
    stranger = jk.jaxpr.Var(program.out_avals[0])
    literal = jk.jaxpr.Literal(1.0, jk.core.get_aval(1.0))
    fine = law(jk, program.replace(outvars=[literal, *program.outvars]))
    return fine, law(jk, program.replace(outvars=[stranger]), "not defined", "R1")


@check(
    "02.5",
    "Variables of one type are still two.",
    against=["variables of one type are one variable"],
)
def another_of_that_type(jk, rng):
    program = chain(jk, rng)
    first = program.eqns[0]
    stranger = jk.jaxpr.Var(program.invars[0].aval)
    misread = program.replace(eqns=[first.replace(invars=[stranger]), *program.eqns[1:]])
    return law(jk, misread, "Variable", "not defined")


@check(
    "02.5",
    "No variable is bound twice: neither by two equations, nor by one.",
    against=["a variable can be assigned again"],
)
def bound_again(jk, rng):
    program = chain(jk, rng)
    again = program.replace(eqns=[*program.eqns, program.eqns[int(rng.integers(3))]])
    inputs = program.replace(invars=program.invars * 2)
    return law(jk, again, "already bound", "R2"), law(jk, inputs, "already bound", "R2")


@check(
    "02.5",
    "Also not when one equation binds it to two of its results.",
    against=["one equation cannot bind twice"],
)
def bound_twice_at_once(jk, rng):
    x = vector(rng)
    program = jk.make_jaxpr(lambda x: jk.lax.sort([x, -x], num_keys=1))(x)
    eqn = program.eqns[-1]
    twice = program.replace(
        eqns=[*program.eqns[:-1], eqn.replace(outvars=eqn.outvars[:1] * 2)], outvars=eqn.outvars[:1]
    )
    return law(jk, twice, "already bound", "R2")


@check(
    "02.5",
    "A variable has the type of its result, up to weakness.",
    against=["the type beside a variable is a remark", "weak types must agree"],
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


# --- 02.6 Dead code -----------------------------------------------------------------------------------------------


@check(
    "02.6",
    "What no output needs goes, and what only that needed.",
    against=["operands of a dropped equation are needed"],
)
def chains(jk, rng):
    def f(x):
        y = jk.numpy.sin(x)
        jk.numpy.exp(y * 2)
        return x + 1

    return jk.jaxpr.dce_jaxpr(jk.make_jaxpr(f)(vector(rng)), True)


@check("02.6", "What is needed stays, in its order.", against=["equations can stand in any order"])
def order(jk, rng):
    program = jk.make_jaxpr(lambda x: jk.numpy.exp(jk.numpy.sin(x) - x))(vector(rng))
    pruned, used = jk.jaxpr.dce_jaxpr(program, True)
    return pruned, [eqn.primitive.name for eqn in pruned.eqns], used


@check(
    "02.6",
    "Only the outputs of interest count, and inputs may be left over.",
    against=["all outputs are of interest"],
)
def some_outputs(jk, rng):
    wanted = [bool(b) for b in rng.permutation([True, False])]
    program = jk.make_jaxpr(lambda x, y: (jk.numpy.sin(x), jk.numpy.cos(y) * 2))(vector(rng), vector(rng))
    return jk.jaxpr.dce_jaxpr(program, wanted)


@check(
    "02.6",
    "An equation with an effect stays, though nobody reads its result.",
    against=["what nobody reads is dead"],
)
def prints(jk, rng):
    def f(x):
        jk.debug.print("{}", x * 2)
        jk.numpy.sin(x)
        return x

    return jk.jaxpr.dce_jaxpr(jk.make_jaxpr(f)(vector(rng)), True)


@check(
    "02.6",
    "One live result keeps an equation of several.",
    against=["all results of an equation are needed, or none"],
)
def one_of_two_results(jk, rng):
    program = jk.make_jaxpr(lambda x: jk.lax.sort([x, jk.numpy.sin(x)], num_keys=1)[1])(vector(rng))
    return jk.jaxpr.dce_jaxpr(program, True)


@check(
    "02.6", "An inner program loses what nobody needs, too.", against=["an equation is kept whole or dropped"]
)
def inner_programs(jk, rng):
    inner = jk.jit(lambda x, y: (jk.numpy.sin(x), jk.numpy.cos(y)))
    program = jk.make_jaxpr(lambda x, y: inner(x, jk.numpy.exp(y))[0])(vector(rng), vector(rng))
    return jk.jaxpr.dce_jaxpr(program, True)
