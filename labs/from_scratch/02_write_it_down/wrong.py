"""Wrong versions of rung 02, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    'an expression is a tree',
    'A value is used twice. Is it computed twice?',
    '        return [Tracer(self, v.aval, v) for v in outvars]',
    '        self.eqns.append(Equation(primitive, invars, params, [Var(v.aval) for v in outvars]))\n        return [Tracer(self, v.aval, v) for v in outvars]',
)
edit(
    'the result is what was computed last',
    'The function returns (cos(y), x). What does your program return?',
    '        outvars = [x.data if belongs(x, self) else self.constant(x) for x in outs]',
    '        outvars = self.eqns[-1].outvars * len(outs)',
)
edit(
    'constants are forgotten',
    'The function closes over an array. Where is its value?',
    '        return Jaxpr(variables, self.invars, self.eqns, outvars, values)',
    '        return Jaxpr([], self.invars, self.eqns, outvars, [])',
)
edit(
    'the operands are swapped',
    'In which order are the operands of `x - y`?',
    '        invars = [x.data if type(x) is Tracer and x.trace is self else self.constant(x) for x in args]',
    '        invars = [x.data if type(x) is Tracer and x.trace is self else self.constant(x) for x in args][::-1]',
)
edit(
    'the printer leaves types out',
    'What stands after the colon of each variable?',
    '        return " ".join([f"{atom(v)}:{v.aval}" for v in variables])',
    '        return " ".join([atom(v) for v in variables])',
)
edit(
    'whoever writes never leaves the door',
    'The function raised. Who stands at the door now?',
    '    try:\n        yield\n    finally:\n        current.trace = before',
    '    yield\n    current.trace = before',
)
