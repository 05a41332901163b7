"""Wrong versions of rung 06, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    'division is multiplication',
    'Which word does XLA have for `/`?',
    '"mul": "multiply", "div": "divide", "max": "maximum", "min": "minimum",\n    "pow": "power", **{',
    '"mul": "multiply", "div": "multiply", "max": "maximum", "min": "minimum",\n    "pow": "power", **{',
)
edit(
    '%f is enough for a float',
    '1e-30 as text with six digits: what is left of it?',
    'f\'"0x{x.tobytes().hex()}"\' if x.size else ""',
    'f"{float(x):f}" if x.shape == () else f\'"0x{x.tobytes().hex()}"\' if x.size else ""',
)
edit(
    'constants are zero in the text',
    'An array was closed over. Which numbers stand in the text?',
    '        env = dict(zip(jaxpr.constvars, map(self.constant, jaxpr.consts), strict=True))',
    '        zeros = [self.constant(np.zeros(x.shape, x.dtype)) for x in jaxpr.consts]\n        env = dict(zip(jaxpr.constvars, zeros, strict=True))',
)
edit(
    'XLA broadcasts',
    'Does StableHLO add tensors of different shapes?',
    '        if aval.shape == shape:\n            return name\n        axes',
    '        return name\n        axes',
)
edit(
    'every comparison is LT',
    'Which direction has `>=`?',
    'f"compare {name.upper()},"',
    '"compare LT,"',
)
edit(
    'only equations have results',
    'The function returns its argument, or a number, or nothing. What does your last line return?',
    '        results = self.block(jaxpr, arguments)\n',
    '        results = [name for name in self.block(jaxpr, arguments) if not name.startswith("%arg")]\n',
)
