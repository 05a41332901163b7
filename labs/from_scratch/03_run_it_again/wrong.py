"""Wrong versions of rung 03, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "constants are zero",
    "What are the values of constvars when the program is run again?",
    "    env = dict(zip(jaxpr.constvars, consts, strict=True))\n    env.update(zip(jaxpr.invars, map",
    "    env = dict(zip(jaxpr.constvars, [as_value(0.0) for _ in consts], strict=True))\n    env.update(zip(jaxpr.invars, map",
)
edit(
    "operands come in any order",
    "Which operand is divided by which?",
    "process(primitive, operands, params)",
    "process(primitive, operands[::-1], params)",
)
edit(
    "only what an equation computed can be returned",
    "The function returns its argument. Does your program?",
    "for v in jaxpr.outvars]\n\n\nas_function",
    "for v in jaxpr.outvars if any(v in e.outvars for e in jaxpr.eqns)]\n\n\nas_function",
)
edit(
    "the function is called again",
    "A program is data. Does it need the function that it came from?",
    "    return trace.jaxpr(asked(trace, flat, *trace.tracers)), flat.out_tree\n",
    "    jaxpr = trace.jaxpr(asked(trace, flat, *trace.tracers))\n    again = JaxprTrace(avals)\n    asked(again, flat, *again.tracers)\n    return jaxpr, flat.out_tree\n",
)
edit(
    "the interpreter always computes",
    "Who stands at the door when your interpreter is itself traced? And is a literal still a number when it goes through the door, or an array, which is a constant?",
    "process(primitive, operands, params)",
    "impl[primitive](*operands, **params)",
)
