"""Wrong versions of rung 06, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    'division is multiplication',
    'Which word does XLA have for `/`?',
    '"div": "divide"',
    '"div": "multiply"',
)
edit(
    '%f is enough for a float',
    '1e-30 as text with six digits: what is left of it?',
    '            digits = f"0x{x.tobytes()[::-1].hex()}" if x.dtype.kind == "f" else str(int(x))',
    '            digits = f"{float(x):f}" if x.dtype.kind == "f" else str(int(x))',
)
edit(
    'constants are zero in the text',
    'An array was closed over. Which numbers stand in the text?',
    '        env = dict(zip(jaxpr.constvars, map(self.constant, closed.consts), strict=True))',
    '        env = dict(zip(jaxpr.constvars, [self.constant(np.zeros(c.shape, c.dtype)) for c in closed.consts], strict=True))',
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
    'stablehlo.compare {direction}',
    'stablehlo.compare LT',
)
edit(
    'only equations have results',
    'The function returns its argument, or a number.',
    '        last = f"return',
    '        results = [r for r in results if not r.startswith(\'%arg\')]\n        last = f"return',
)
