"""Wrong versions of rung 07, each with what its author believes: an edit of the solution up to this rung."""

from jitkit.kata.ladder.wrong import edit

edit(
    'numpy computes, in the place of XLA',
    'The result is right. Who computed it?',
    '        return unflatten(out_tree, compile_closed(closed)(*leaves))',
    '        return unflatten(out_tree, as_function(closed)(*leaves))',
)
edit(
    'keywords are left out',
    'f(x, scale=3.0): where does 3.0 go?',
    '        leaves, tree = flatten((args, kwargs))\n        return (tree,), leaves',
    '        leaves, tree = flatten((args, {}))\n        return (tree,), leaves',
)
edit(
    'results do not stay on the machine',
    'The result of one call is the argument of another, or of an eager operation.',
    '        return [Array(b, a) for b, a in zip(run([on_machine(x) for x in args]), avals, strict=True)]',
    '        return run([on_machine(x) for x in args])',
)
edit(
    'an error leaves the tracer at the door',
    'The traced function raised. Who stands at the door?',
    '    def __exit__(self, *error):\n        current.trace = self.before',
    '    def __exit__(self, *error):\n        current.trace = current.trace if error[0] else self.before',
)
