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
    '        outvars = [x.data if type(x) is Tracer and x.trace is trace else trace.constant(x) for x in outs]',
    '        outvars = trace.eqns[-1].outvars * len(outs)',
)
edit(
    'constants are forgotten',
    'The function closes over an array. Where is its value?',
    '    return ClosedJaxpr(Jaxpr([v for v, _ in constants], trace.invars, trace.eqns, outvars), [x for _, x in constants])',
    '    return ClosedJaxpr(Jaxpr([], trace.invars, trace.eqns, outvars), [])',
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
    '        return " ".join([f"{atom(v)}:{type_(v.aval)}" for v in variables])',
    '        return " ".join([atom(v) for v in variables])',
)
edit(
    'whoever writes never leaves the door',
    'The function raised. Who stands at the door now?',
    '    def __exit__(self, *error):\n        current.trace = self.before',
    '    def __exit__(self, *error):\n        current.trace = current.trace if error[0] else self.before',
)
