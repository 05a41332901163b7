"""Wrong versions of rung 02, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "an expression is a tree",
    "A value is used twice. Is it computed twice?",
    "        return outs\n\n    def atom",
    "        self.eqns.append(self.eqns[-1]._replace(outvars=[Var(x.aval) for x in outs]))\n        return outs\n\n    def atom",
)
edit(
    "the result is what was computed last",
    "The function returns (cos(y), x). What does your program return?",
    "        outvars = [self.atom(as_value(x)) for x in outs]",
    "        outvars = self.eqns[-1].outvars * len(outs)",
)
edit(
    "constants are forgotten",
    "The function closes over an array. Where is its value?",
    "        return Jaxpr(variables, self.invars, self.eqns, outvars, values)",
    "        return Jaxpr([], self.invars, self.eqns, outvars, [])",
)
edit(
    "the operands are swapped",
    "In which order are the operands of `x - y`?",
    "Equation(primitive, invars, params",
    "Equation(primitive, invars[::-1], params",
)
edit(
    "the printer leaves types out",
    "What stands after the colon of each variable?",
    '        return " ".join([f"{atom(v) if id(v) in used else \'_\'}:{v.aval}" for v in variables])',
    '        return " ".join([atom(v) if id(v) in used else "_" for v in variables])',
)
edit(
    "the writer never leaves the door",
    "The function raised an error. Who stands at the door now?",
    "    try:\n        return f(*args, **kwargs)\n    finally:\n        door.trace = before",
    "    found = f(*args, **kwargs)\n    door.trace = before\n    return found",
)
