"""Wrong versions of rung 11, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    'the inner function is inlined',
    'What is the equation of a call?',
    '    def call_traced(self, spec, leaves):\n        closed, out_tree = self.trace',
    '    def call_traced(self, spec, leaves):\n        return self.apply(spec, leaves)\n        closed, out_tree = self.trace',
)
edit(
    'each inner call is traced',
    'Three calls with one signature: how many traces?',
    '        closed, out_tree = self.trace(spec, tuple([x.aval for x in leaves]))\n        tracers, [closed]',
    '        closed, out_tree = Jit.trace(self, spec, tuple([x.aval for x in leaves]))\n        tracers, [closed]',
)
edit(
    'the text has the body at each call',
    'How often does `sine` stand in the text?',
    '        text.known[jaxpr] = f"f{len(text.known)}"\n        text.function(text.known[jaxpr], jaxpr)\n    return',
    '        pass\n    return text.block(jaxpr, xs)\n    return',
)
edit(
    'nothing is closed over',
    'The inner function uses a tracer of the outer one.',
    '        tracers, [closed] = hoist(closed)\n',
    '        tracers = []\n        closed = ClosedJaxpr(closed.jaxpr, [as_value(0.0) if isinstance(c, Tracer) else c for c in closed.consts])\n',
)
edit(
    'programs with tracers of others are kept',
    'A program that holds a tracer of a trace that is over.',
    '            if any(isinstance(x, Tracer) for x in closed.consts):',
    '            if False:',
)
