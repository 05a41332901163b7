"""Wrong versions of rung 11, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    'the inner function is inlined',
    'What is the equation of a call?',
    'class NestedJit(StaticJit):\n',
    'class NestedJit(StaticJit):\n    def __call__(self, *args, **kwargs):\n        eager = type(current.trace) is Eager\n        return super().__call__(*args, **kwargs) if eager else self.f(*args, **kwargs)\n\n',
)
edit(
    'each inner call is traced',
    'Three calls with one signature: how many traces?',
    'class NestedJit(StaticJit):\n',
    'class NestedJit(StaticJit):\n    def trace(self, tree, avals):\n        return Jit.trace(self, tree, avals)\n\n',
)
edit(
    'the text has the body at each call',
    'How often does `sine` stand in the text?',
    '    if jaxpr not in text.known:\n',
    '    return text.block(jaxpr, xs)\n    if jaxpr not in text.known:\n',
)
edit(
    'nothing is closed over',
    'The inner function uses a tracer of the outer one. How does its value come into the inner program?',
    '        tracers, [jaxpr] = hoist(jaxpr)\n',
    '        tracers = []\n        jaxpr.consts = [as_value(0.0) if type(x) is Tracer else x for x in jaxpr.consts]\n',
)
edit(
    'programs with tracers of others are kept',
    'Your memory holds a program with a tracer of a trace that is over. Who may use it?',
    '            if any(type(x) is Tracer for x in jaxpr.consts):',
    '            if False:',
)
