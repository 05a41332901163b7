"""Wrong versions of rung 03, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "constants are zero",
    "What are the values of constvars when the program is run again?",
    "map(as_value, [*consts, *args])",
    "map(as_value, [*[0.0 for _ in consts], *args])",
)
edit(
    "operands come in any order",
    "In `x / y`, which operand comes first in the equation?",
    "process(primitive, operands, params)",
    "process(primitive, operands[::-1], params)",
)
edit(
    "only what an equation computed can be returned",
    "The program returns its argument, which no equation computed. Where do you find that value?",
    "for v in jaxpr.outvars]\n\n\ncore",
    "for v in jaxpr.outvars if any(v in e.outvars for e in jaxpr.eqns)]\n\n\ncore",
)
edit(
    "the function is called again",
    "A program is data. Does it need the function that it came from?",
    "        return trace.jaxpr(asked(trace, flat, *trace.tracers)), flat.out_tree\n",
    "        jaxpr = trace.jaxpr(asked(trace, flat, *trace.tracers))\n        again = JaxprTrace(avals)\n        asked(again, flat, *again.tracers)\n        return jaxpr, flat.out_tree\n",
)
edit(
    "the interpreter always computes",
    "Who stands at the door when your interpreter is itself traced? And is a literal still a number when it goes through the door, or an array, which is a constant?",
    "process(primitive, operands, params)",
    "impl[primitive](*operands, **params)",
)
edit(
    "a result is a variable",
    "`lambda x: 2.0` has a program, too. What does it return?",
    "    return [v if type(v) is Array else env[v] for v in jaxpr.outvars]",
    "    return [env[v] for v in jaxpr.outvars]",
)
edit(
    "what is not needed is not run",
    "The program is written down while it runs. Does the new program have the line that nobody needs?",
    """    for primitive, invars, params, outvars in jaxpr.eqns:
        operands =""",
    """    used = {id(v) for eqn in jaxpr.eqns for v in eqn.invars} | set(map(id, jaxpr.outvars))
    for primitive, invars, params, outvars in [e for e in jaxpr.eqns if any(id(v) in used for v in e.outvars)]:
        operands =""",
)
edit(
    "a program has its results",
    "Run the program with one number, then with another. May anything be kept from the first run?",
    "core.eval_jaxpr, as_function = eval_jaxpr, lambda",
    """def kept(jaxpr, consts, *args):
    if door.trace.__class__ is not Eager:
        return eval_jaxpr(jaxpr, consts, *args)
    if not hasattr(jaxpr, "kept"):
        jaxpr.kept = eval_jaxpr(jaxpr, consts, *args)
    return jaxpr.kept


core.eval_jaxpr, as_function = kept, lambda""",
)
edit(
    "the constants are those of the trace",
    "Why does `eval_jaxpr` take the constants, if they are known?",
    "core.eval_jaxpr, as_function = eval_jaxpr, lambda",
    """of_the_trace = lambda jaxpr, consts, *args: eval_jaxpr(jaxpr, jaxpr.consts, *args)
core.eval_jaxpr, as_function = of_the_trace, lambda""",
)
edit(
    "one result needs no list",
    "A program with one result: what is `eval_jaxpr(...)[0]`?",
    "core.eval_jaxpr, as_function = eval_jaxpr, lambda",
    """alone = lambda *args: (lambda outs: outs[0] if len(outs) == 1 else outs)(eval_jaxpr(*args))
core.eval_jaxpr, as_function = alone, lambda""",
)
edit(
    "results are numpy's",
    "May the result of `eval_jaxpr` be an operand of `+`, also in a function that is traced?",
    "    return [v if type(v) is Array else env[v] for v in jaxpr.outvars]",
    "    return [np.asarray(v if type(v) is Array else env[v]) for v in jaxpr.outvars]",
)
edit(
    "a value is needed once",
    "`x * x`: how often is x read? And when may it be forgotten?",
    "        operands = [v if type(v) is Array else env[v] for v in invars]",
    "        operands = [v if type(v) is Array else env.pop(v) for v in invars]",
)
edit(
    "arguments are arrays of numpy",
    "A Python number is handed to the program. Is its type weak, as it was when the program was traced?",
    "map(as_value, [*consts, *args])",
    "[x if isinstance(x, Value) else as_value(np.asarray(x)) for x in [*consts, *args]]",
)
edit(
    "an equation has operands only",
    "Which equation turns True into 1, and which of its parameters says to which dtype?",
    "process(primitive, operands, params)",
    "process(primitive, operands, params if primitive is not convert_p else dict(new_dtype=F32, weak_type=False))",
)
edit(
    "an equation that was run before has its result",
    "The program has the same equation twice. How often is it written down, if somebody traces this run?",
    "        env.update(zip(outvars, process(primitive, operands, params)))\n",
    "        key = primitive, tuple(map(id, operands)), str(params)\n        if key not in env:\n            env[key] = process(primitive, operands, params)\n        env.update(zip(outvars, env[key]))\n",
)
edit(
    "a conversion is to a dtype, and strong",
    "Which parameters does `convert_element_type` have?",
    "        env.update(zip(outvars, process(primitive, operands, params)))\n",
    """        params = params | {"weak_type": False} if "weak_type" in params else params
        env.update(zip(outvars, process(primitive, operands, params)))
""",
)
edit(
    "constants are numbers",
    "A constant that is handed over may be traced. Can it be made a numpy array?",
    "map(as_value, [*consts, *args])",
    "[*map(as_value, map(np.asarray, consts)), *map(as_value, args)]",
)
