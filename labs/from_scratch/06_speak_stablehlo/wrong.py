"""Wrong versions of rung 06, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    "division is multiplication",
    "Which word does XLA have for `/`?",
    '    "neg": "negate", "sin"',
    '    "div": "multiply", "neg": "negate", "sin"',
)
edit(
    "%f is enough for a float",
    "1e-30 as text with six digits: what is left of it?",
    'f\'"0x{data.tobytes().hex()}"\' if x.size else ""',
    'f"{data:f}" if x.shape == () and abs(data) < 1e9 and x.dtype == F32 else f\'"0x{data.tobytes().hex()}"\' if x.size else ""',
)
edit(
    "constants are zero in the text",
    "An array was closed over. Which numbers does the text have?",
    "        data = np.asarray(x)\n",
    "        data = np.asarray(x) if x.shape == () else np.zeros(x.shape, x.dtype)\n",
)
edit(
    "XLA broadcasts",
    "Does StableHLO add tensors of different shapes?",
    "        if x.aval.shape == shape:\n            return x\n        axes",
    "        return x\n        axes",
)
edit("every comparison is LT", "Which direction does `>=` have?", 'f"compare {name.upper()},"', '"compare LT,"')
edit(
    "only equations have results",
    "The function returns its argument, or a number, or nothing. What does your last line return?",
    "        outs = [self.named(x) for x in asked(self, as_function(jaxpr), *xs)]\n",
    "        outs = [self.named(x) for x in asked(self, as_function(jaxpr), *xs) if not any(x is y for y in xs)]\n",
)
